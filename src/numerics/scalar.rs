//! Scalar functions defined by a real formula, and their correctly rounded values.
//!
//! Rounding follows Ziv: enclose the real value, first in `f64`, then in big floats of 80, 160, ... bits, until both ends
//! of the enclosure round to the same value of the format. An exactly representable result encloses itself at some
//! precision, so the search ends; what is still open at [`MAX_BITS`] (a formula that cancels to exactly zero by way of
//! irrational numbers) rounds the middle of the last enclosure.

use std::fmt;
use std::sync::OnceLock;

use rug::Float;

use crate::big::Big;
use crate::binary64::Binary64;
use crate::enclosure::{Domain, Enclosure, Number};
use crate::expr::{Expr, Prim};
use crate::format::Format;
use crate::program::Program;

/// The precision at which the search for a correctly rounded value in a format ends.
pub const MAX_BITS: u32 = 2560;

/// An evaluation in `f64`, and where it is correctly rounded.
#[derive(Clone, Copy)]
pub enum Native {
    /// There is none.
    None,
    /// For operands and results of every format: exact, or one of + - * / √, which survive a second rounding because
    /// 53 ≥ 2·24 + 2 (Figueroa 1995).
    Always(fn(&[f64]) -> f64),
    /// For f64 results only.
    Binary64(fn(&[f64]) -> f64),
}

/// A value defined beside a formula: where the first arguments are these numbers, whatever an argument without one is, NaN
/// included.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    /// The numbers of the arguments that decide.
    pub at: [Option<f64>; 2],
    /// The value there.
    pub value: f64,
}

impl Special {
    /// The value where the arguments are these numbers.
    pub const fn at(x: Option<f64>, y: Option<f64>, value: f64) -> Special {
        Special { at: [x, y], value }
    }
}

/// A scalar function: a name, a real formula, and what the formula leaves open.
///
/// Declare as a `static`: the flattened formula is kept inside.
pub struct ScalarFn {
    /// The name, for messages.
    pub name: &'static str,
    /// The number of arguments.
    pub arity: usize,
    /// The number of parameters.
    pub params: usize,
    formula: fn(&[Expr], &[Expr]) -> Expr,
    native: Native,
    limits: [Option<f64>; 2],
    specials: &'static [Special],
    ready: OnceLock<Ready>,
}

struct Ready {
    program: Program,
    constants: Vec<Enclosure<f64>>,
}

impl ScalarFn {
    /// A function of `arity` arguments and `params` parameters; `formula` takes the arguments, then the parameters.
    pub const fn new(
        name: &'static str,
        arity: usize,
        params: usize,
        formula: fn(&[Expr], &[Expr]) -> Expr,
    ) -> ScalarFn {
        ScalarFn {
            name,
            arity,
            params,
            formula,
            native: Native::None,
            limits: [None; 2],
            specials: &[],
            ready: OnceLock::new(),
        }
    }

    /// With an `f64` evaluation. It sees the arguments only, so the function must not depend on parameters.
    pub const fn native(mut self, native: Native) -> ScalarFn {
        self.native = native;
        self
    }

    /// With the limits of a unary function at -∞ and +∞, where evaluating the formula there gives none (∞ - ∞, 0·∞).
    pub const fn limits(mut self, at_minus_infinity: f64, at_infinity: f64) -> ScalarFn {
        self.limits = [Some(at_minus_infinity), Some(at_infinity)];
        self
    }

    /// With values that go before all else, even for NaN arguments.
    pub const fn specials(mut self, specials: &'static [Special]) -> ScalarFn {
        self.specials = specials;
        self
    }

    /// The limits of a unary function at -∞ and +∞ that are declared beside its formula.
    pub const fn declared_limits(&self) -> [Option<f64>; 2] {
        self.limits
    }

    /// The values that go before all else.
    pub const fn declared_specials(&self) -> &'static [Special] {
        self.specials
    }

    /// The defining formula.
    pub fn expr(&self) -> Expr {
        let args: Vec<Expr> = (0..self.arity).map(Expr::var).collect();
        let params: Vec<Expr> = (0..self.params).map(Expr::param).collect();
        (self.formula)(&args, &params)
    }

    /// The flattened formula.
    pub fn program(&self) -> &Program {
        &self.ready().program
    }

    fn ready(&self) -> &Ready {
        self.ready.get_or_init(|| {
            let program = Program::new(&self.expr());
            let constants = program.enclose_constants(&Binary64);
            Ready { program, constants }
        })
    }

    /// The primitive, if the function is nothing but one.
    pub fn as_primitive(&self) -> Option<Prim> {
        self.program().as_primitive()
    }

    /// An enclosure of the function over enclosures of its parameters and arguments. Where the function has limits of its
    /// own, an infinite end of the argument counts as that one value beside the finite `f64`.
    pub fn enclose<D: Domain>(
        &self,
        d: &D,
        params: &[Enclosure<D::Number>],
        args: &[Enclosure<D::Number>],
    ) -> Enclosure<D::Number> {
        let by_formula = |args: &[Enclosure<D::Number>]| {
            self.program().enclose(d, &self.program().enclose_constants(d), params, args)
        };
        let ([at_minus, at_plus], [x]) = (self.limits, args) else {
            return by_formula(args);
        };
        let at_minus = at_minus.filter(|_| x.lo == f64::NEG_INFINITY);
        let at_plus = at_plus.filter(|_| x.hi == f64::INFINITY);
        let limits = [at_minus, at_plus].into_iter().flatten().map(|limit| Enclosure::point(d.embed(limit)));
        let mut finite = x.clone();
        if at_minus.is_some() {
            finite.lo = d.embed(f64::MIN);
        }
        if at_plus.is_some() {
            finite.hi = d.embed(f64::MAX);
        }
        if finite.lo > finite.hi {
            // The argument is one infinity.
            return limits
                .reduce(Enclosure::hull)
                .map_or_else(|| by_formula(args), |limit| limit.flagged(x.may_be_nan));
        }
        limits.fold(by_formula(&[finite]), Enclosure::hull)
    }

    /// The value at arguments for which the formula does not decide: a NaN, or a limit at infinity.
    fn before_formula(&self, params: &[f64], args: &[f64]) -> Option<f64> {
        let holds = |s: &&Special| s.at.iter().zip(args).all(|(at, x)| at.is_none_or(|at| at == *x));
        if let Some(special) = self.specials.iter().find(holds) {
            return Some(special.value);
        }
        if args.iter().chain(params).any(|x| x.is_nan()) {
            return Some(f64::NAN);
        }
        match args {
            [x] if x.is_infinite() => self.limits[usize::from(*x > 0.0)],
            _ => None,
        }
    }

    /// The correctly rounded value in `format`.
    ///
    /// NaN arguments give NaN; infinite ones the limit of the real function where there is one, else NaN. A zero is -0
    /// where the real value is negative and underflows, or where IEEE 754 makes it so.
    ///
    /// # Panics
    /// When there are fewer parameters or arguments than the function has.
    pub fn round_correctly(&self, params: &[f64], args: &[f64], format: Format) -> f64 {
        if let Some(value) = self.before_formula(params, args) {
            return format.round(value);
        }
        match self.native {
            Native::Always(f) if format == Format::F64 || args.iter().all(|&x| Format::F32.contains(x)) => {
                return format.round(f(args));
            }
            Native::Binary64(f) if format == Format::F64 => return f(args),
            _ => {}
        }
        let ready = self.ready();
        let points = |values: &[f64]| -> smallvec::SmallVec<[Enclosure<f64>; 4]> {
            values.iter().map(|&x| Enclosure::point(x)).collect()
        };
        let value = ready.program.enclose(&Binary64, &ready.constants, &points(params), &points(args));
        match settle(&value, |&x| format.round(x)) {
            Settled::Value(value) => value,
            Settled::Open | Settled::ZeroOfUnknownSign => self.round_slowly(params, args, format),
        }
    }

    #[cold]
    fn round_slowly(&self, params: &[f64], args: &[f64], format: Format) -> f64 {
        let mut bits = 80;
        loop {
            let d = Big::new(bits);
            let points =
                |values: &[f64]| -> Vec<_> { values.iter().map(|&x| Enclosure::point(d.embed(x))).collect() };
            let value = self.enclose(&d, &points(params), &points(args));
            match settle(&value, |x| format.round_real(x)) {
                Settled::Value(value) => return value,
                _ if bits < MAX_BITS => bits *= 2,
                Settled::ZeroOfUnknownSign => return 0.0,
                Settled::Open => return format.round_real(&middle(value, bits)),
            }
        }
    }

    /// The value to nearest in `bits` bits, at arguments of any precision; otherwise as
    /// [`round_correctly`](Self::round_correctly). The search ends at four times the bits, and at least 2560 more.
    ///
    /// # Panics
    /// As [`round_correctly`](Self::round_correctly).
    pub fn eval_real(&self, params: &[f64], args: &[Float], bits: u32) -> Float {
        let nearest: smallvec::SmallVec<[f64; 4]> = args.iter().map(special_or_nearest).collect();
        if let Some(value) = self.before_formula(params, &nearest) {
            return Float::with_val(bits, value);
        }
        let last = bits.saturating_mul(4).max(bits.saturating_add(MAX_BITS));
        let mut working = bits.saturating_add(32);
        loop {
            let d = Big::new(working);
            let params: Vec<_> = params.iter().map(|&x| Enclosure::point(d.embed(x))).collect();
            let args: Vec<_> = args.iter().map(|x| Enclosure::point(x.clone())).collect();
            let value = self.enclose(&d, &params, &args);
            if value.is_undefined() {
                return value.lo;
            }
            let (lo, hi) = (Float::with_val(bits, &value.lo), Float::with_val(bits, &value.hi));
            if lo == hi && !value.may_be_nan {
                return if lo.is_sign_negative() && !hi.is_sign_negative() && value.lo.is_zero() {
                    hi
                } else {
                    lo
                };
            }
            if working >= last {
                return Float::with_val(bits, middle(value, working));
            }
            working = working.saturating_mul(2).min(last);
        }
    }
}

/// A finite big float stays finite in `f64` here: only NaN, infinities, zeros and small integers matter to special values.
fn special_or_nearest(x: &Float) -> f64 {
    let nearest = x.to_f64();
    if x.is_finite() && nearest.is_infinite() {
        f64::MAX.copysign(nearest)
    } else if nearest == 0.0 && !x.is_zero() {
        f64::MIN_POSITIVE.copysign(nearest)
    } else if nearest.is_finite() && *x != nearest && nearest.fract() == 0.0 {
        if *x > nearest { nearest.next_up() } else { nearest.next_down() }
    } else {
        nearest
    }
}

impl fmt::Debug for ScalarFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScalarFn({} = {})", self.name, self.expr())
    }
}

enum Settled {
    Value(f64),
    ZeroOfUnknownSign,
    Open,
}

/// The value to which all of the enclosure rounds.
#[inline]
fn settle<N: Number>(value: &Enclosure<N>, round: impl Fn(&N) -> f64) -> Settled {
    if value.is_undefined() {
        return Settled::Value(f64::NAN);
    }
    if value.may_be_nan {
        return Settled::Open;
    }
    let (lo, hi) = (round(&value.lo), round(&value.hi));
    let straddles = value.lo < 0.0 && value.hi > 0.0;
    if lo.is_nan() && hi.is_nan() && !straddles {
        // Overflow in a format without infinities.
        return Settled::Value(f64::NAN);
    }
    if lo != hi {
        return Settled::Open;
    }
    if lo != 0.0 {
        return Settled::Value(lo);
    }
    if straddles {
        return Settled::ZeroOfUnknownSign;
    }
    let negative = value.lo < 0.0 || (value.hi == 0.0 && value.lo.is_negative() && value.hi.is_negative());
    Settled::Value(if negative { -0.0 } else { 0.0 })
}

fn middle(value: Enclosure<Float>, bits: u32) -> Float {
    if value.may_be_nan { Float::with_val(bits, f64::NAN) } else { (value.lo + value.hi) / 2 }
}
