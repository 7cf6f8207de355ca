//! What is known of a number on a part of the arguments: the operations behind it, and between which numbers it is computed.

use std::rc::Rc;

use ngc_numerics::{Format, Prim};
use rug::Float;

use super::term::Term;

/// Bits in which sums and products of two numbers of f64 are exact.
pub const EXACT_BITS: u32 = 2200;

/// A floating-point value.
#[derive(Clone)]
pub struct Number {
    /// The operations behind it.
    pub term: Rc<Term>,
    /// The least that is computed.
    pub lo: f64,
    /// The greatest.
    pub hi: f64,
    /// Whether it may be NaN instead.
    pub may_be_nan: bool,
    /// Its format.
    pub format: Format,
    /// Where it is a real value rounded once to the format, that value, and the power of two that it is multiplied by.
    pub unrounded: Option<(Rc<Term>, i32)>,
}

impl Number {
    /// The argument, which lies between two numbers.
    pub fn argument(lo: f64, hi: f64, format: Format) -> Number {
        Number { lo, hi, ..Number::of(Rc::new(Term::Argument(format)), format) }.settled()
    }

    /// A number itself.
    pub fn point(x: f64, format: Format) -> Number {
        Number {
            lo: x,
            hi: x,
            may_be_nan: x.is_nan(),
            ..Number::of(Rc::new(Term::Number(x, Some(format))), format)
        }
    }

    fn of(term: Rc<Term>, format: Format) -> Number {
        Number { term, lo: f64::NEG_INFINITY, hi: f64::INFINITY, may_be_nan: false, format, unrounded: None }
    }

    /// Whether only one number is computed.
    pub fn is_point(&self) -> bool {
        !self.may_be_nan && self.lo.to_bits() == self.hi.to_bits()
    }

    /// What is one number is no operation.
    fn settled(self) -> Number {
        if self.is_point() {
            Number { unrounded: self.unrounded, ..Number::point(self.lo, self.format) }
        } else {
            self
        }
    }

    /// Whether it is negative, a zero by its sign; nothing where that is open.
    pub fn is_negative(&self) -> Option<bool> {
        let sign = self.lo.is_sign_negative();
        (!self.may_be_nan && sign == self.hi.is_sign_negative()).then_some(sign)
    }

    /// The exponent, where it is a power of two.
    fn power_of_two(&self) -> Option<i32> {
        let k = exponent(self.lo);
        (self.is_point() && self.lo > 0.0 && self.lo.is_finite() && Float::with_val(53, self.lo) >> k == 1.0)
            .then_some(k)
    }

    /// The least magnitude.
    pub fn least(&self) -> f64 {
        least(self.lo, self.hi)
    }

    /// The greatest magnitude.
    pub fn size(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// An operation that is monotone in each operand, rounded to the format.
    pub fn rounded(prim: Prim, x: &[&Number], format: Format) -> Number {
        if let (Prim::Mul, [a, b]) = (prim, x) {
            // A power of two moves the exponent.
            let scaled = [(a, b), (b, a)].into_iter().find_map(|(x, by)| x.scaled(by.power_of_two()?));
            if let Some(scaled) = scaled.filter(|y| y.format == format) {
                return scaled;
            }
        }
        if let (Prim::Add, [a, b]) = (prim, x)
            && Rc::ptr_eq(&a.term, &b.term)
            && let Some(twice) = a.scaled(1)
        {
            return twice;
        }
        let terms: Vec<Rc<Term>> = x.iter().map(|x| x.term.clone()).collect();
        let (lo, hi, may_be_nan) = ends(prim, x, format);
        let unrounded = Rc::new(Term::Apply(prim, terms.clone(), None));
        let term = Rc::new(Term::Apply(prim, terms, Some(format)));
        Number { term, lo, hi, may_be_nan, format, unrounded: Some((unrounded, 0)) }.settled()
    }

    /// What rounding took to make this number of a sum or product, exactly.
    pub fn taken(&self, prim: Prim, x: &Number, y: &Number) -> Number {
        let format = self.format;
        if x.is_point() && y.is_point() {
            let low = match prim {
                Prim::Add => Float::with_val(EXACT_BITS, x.lo) + y.lo - self.lo,
                _ => Float::with_val(EXACT_BITS, x.lo) * y.lo - self.lo,
            };
            return Number::point(format.round_real(&low), format);
        }
        let whole = Rc::new(Term::Apply(prim, vec![x.term.clone(), y.term.clone()], None));
        let term = Rc::new(Term::Apply(Prim::Sub, vec![whole, self.term.clone()], None));
        let most = format.ulp(self.size()) / 2.0;
        Number { term, lo: -most, hi: most, may_be_nan: false, format, unrounded: None }
    }

    /// The value in another format.
    pub fn cast(&self, format: Format) -> Number {
        let term = Rc::new(Term::Cast(self.term.clone(), format));
        let (lo, hi) = (format.round(self.lo), format.round(self.hi));
        let unrounded = match self.format.precision() <= format.precision() {
            true => self.unrounded.clone().filter(|_| self.format == format),
            false => Some((self.term.clone(), 0)),
        };
        Number { term, lo, hi, may_be_nan: self.may_be_nan, format, unrounded }.settled()
    }

    /// The number with the other sign.
    pub fn negated(&self) -> Number {
        let negate =
            |term: &Rc<Term>, precision| Rc::new(Term::Apply(Prim::Neg, vec![term.clone()], precision));
        Number {
            term: negate(&self.term, Some(self.format)),
            lo: -self.hi,
            hi: -self.lo,
            may_be_nan: self.may_be_nan,
            format: self.format,
            unrounded: self.unrounded.as_ref().map(|(term, k)| (negate(term, None), *k)),
        }
        .settled()
    }

    /// The number times `2^k`, rounded once; nothing where the power is too far from 1.
    pub fn scaled(&self, k: i32) -> Option<Number> {
        if k == 0 {
            return Some(self.clone());
        }
        let format = self.format;
        let shifted = |x: f64| format.round_real(&(Float::with_val(53, x) << k));
        let (lo, hi) = (shifted(self.lo), shifted(self.hi));
        let is_normal = self.least() >= format.min_normal() && least(lo, hi) >= format.min_normal();
        let exact = (k > 0 || is_normal) && lo.is_finite() && hi.is_finite();
        let times = |term: &Rc<Term>, k: i32, precision| {
            let power = Rc::new(Term::Number(2f64.powi(k), precision));
            Rc::new(Term::Apply(Prim::Mul, vec![term.clone(), power], precision))
        };
        if k.abs() > 2000 {
            return None;
        }
        let single = k >= format.emin() && k <= format.emax();
        // Of two factors the first is between the number and the result.
        let (first, second) = if single { (0, k) } else { (k / 2, k - k / 2) };
        let known = |k: i32| k >= format.emin() && k <= format.emax();
        let term = if exact && known(first) && known(second) {
            let term = if first == 0 { self.term.clone() } else { times(&self.term, first, Some(format)) };
            times(&term, second, Some(format))
        } else {
            Rc::new(Term::Cast(times(&times(&self.term, k / 2, None), k - k / 2, None), format))
        };
        let unrounded = match exact {
            // A subnormal number is rounded to fewer places than its multiple has.
            true => self.unrounded.as_ref().filter(|_| is_normal).map(|(term, by)| (term.clone(), by + k)),
            false => Some((self.term.clone(), k)),
        };
        Some(Number { term, lo, hi, may_be_nan: self.may_be_nan, format, unrounded }.settled())
    }
}

/// The least magnitude between two numbers.
fn least(lo: f64, hi: f64) -> f64 {
    if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) }
}

/// Between which numbers an operation of numbers lies that is monotone in each of them, and whether it may be NaN: its least and
/// greatest are at corners, and rounding keeps the order.
fn ends(prim: Prim, x: &[&Number], format: Format) -> (f64, f64, bool) {
    let open = (f64::NEG_INFINITY, f64::INFINITY, true);
    let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
    let is_square = prim == Prim::Mul && Rc::ptr_eq(&x[0].term, &x[1].term);
    // Between corners there may be products of 0 and infinity, and differences of infinities.
    let is_infinite = |x: &&Number| x.lo.is_infinite() || x.hi.is_infinite();
    if x.iter().any(|x| x.may_be_nan)
        || !x.iter().all(|x| x.is_point()) && x.iter().any(is_infinite)
        || prim == Prim::Div && x[1].least() == 0.0
    {
        return open;
    }
    for corner in 0..1 << x.len() {
        let mut at = [0.0; 3];
        for (n, x) in x.iter().enumerate() {
            at[n] = if corner >> n & 1 == 0 { x.lo } else { x.hi };
        }
        if is_square && at[0].to_bits() != at[1].to_bits() {
            continue;
        }
        let value = apply(prim, at, format);
        if value.is_nan() {
            return open;
        }
        if value.total_cmp(&lo).is_lt() {
            lo = value;
        }
        if value.total_cmp(&hi).is_gt() {
            hi = value;
        }
    }
    if is_square && x[0].lo < 0.0 && x[0].hi > 0.0 {
        lo = 0.0;
    }
    (lo, hi, false)
}

fn apply(prim: Prim, [a, b, c]: [f64; 3], format: Format) -> f64 {
    // A second rounding to f32 changes nothing but of an fma (S. Figueroa, 1995).
    let value = match prim {
        Prim::Add => a + b,
        Prim::Sub => a - b,
        Prim::Mul => a * b,
        Prim::Div => a / b,
        Prim::Sqrt => a.sqrt(),
        Prim::Fma if format == Format::F32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        Prim::Fma => a.mul_add(b, c),
        _ => f64::NAN,
    };
    format.round(value)
}

/// The exponent of a number, that of zero as low as any.
pub fn exponent(x: f64) -> i32 {
    exponent_of(&Float::with_val(53, x))
}

/// As [`exponent`], of a number in more bits.
pub fn exponent_of(x: &Float) -> i32 {
    x.get_exp().map_or(-(1 << 20), |e| e - 1)
}
