//! The function that an implementation is of, exactly: the formula that the type of a term says, or that of the op of `ng` with its
//! name, where nothing is said of its parameters.

use std::sync::Arc;

use ngc_ir::op_def::{AttrDef, AttrKind, Elementwise, Semantics};
use ngc_ir::{Attr, AttrDict, Context, Diagnostic, OpDef, Signature, Type};
use ngc_numerics::program::Program;
use ngc_numerics::{Big, Binary64, Domain, Enclosure, Expr, Format, Interval, Prim, ScalarFn};
use rug::Float;

use crate::function::format_of;
use crate::text::Text;

/// Bits at which an error is measured where `f64` does not decide.
const BITS: u32 = 160;

/// A function of real numbers, and the format of its arguments and results.
#[derive(Clone)]
pub struct Reference {
    function: Exact,
    /// The format.
    pub format: Format,
}

#[derive(Clone)]
enum Exact {
    /// That of an op.
    Op {
        function: &'static ScalarFn,
        /// Those that it has.
        params: [f64; MOST_PARAMS],
        prim: Option<Prim>,
    },
    /// That of a formula, and its constants in `f64`.
    Formula(Arc<(Program, Vec<Interval>)>, Expr),
}

/// The most bits of an exact value before the middle of its enclosure is taken.
const MOST_BITS: u32 = 1 << 12;

/// The most parameters that a function has.
const MOST_PARAMS: usize = 4;

impl Reference {
    /// The function that an implementation is of.
    ///
    /// # Errors
    /// When no op of `ng` with as many operands has its name.
    pub fn of(context: &Context, text: &Text) -> Result<Reference, Diagnostic> {
        let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
        let format = format_of(text);
        if let Some(formula) = &text.formula {
            return Ok(Reference { function: Exact::formula(formula), format });
        }
        let operands = vec![Type::float(format); text.arguments.len()];
        let of = |def: &'static OpDef, attrs: &AttrDict| match def.semantics {
            Semantics::Elementwise(meaning) => meaning(&Signature { def, operands: &operands, attrs }).ok(),
            _ => None,
        };
        // The op of its name, or one that is this function where an attribute says so, such as `gelu_tanh`.
        let plain = context.op(&format!("ng.{}", text.name)).and_then(|def| of(def, &AttrDict::EMPTY));
        let found = plain.or_else(|| {
            let spoken = context.ops().into_iter().filter(|def| def.operands.len() == operands.len());
            let mut ways =
                spoken.flat_map(|def| said(def).into_iter().filter_map(move |attrs| of(def, &attrs)));
            ways.find(|e| e.function.name == text.name)
        });
        let found = found.filter(|e| e.params.len() <= MOST_PARAMS && e.function.arity == operands.len());
        let Elementwise { function, params: given } = found.ok_or_else(|| {
            fail(format!(
                "'{}' is no function that ngc knows exactly: name it as an op of `ng` with {} operands, or say it: --formula \
                 'log(1 + exp(x))'",
                text.name,
                operands.len()
            ))
        })?;
        let mut params = [0.0; MOST_PARAMS];
        params[..given.len()].copy_from_slice(&given);
        let prim = function.as_primitive();
        Ok(Reference { function: Exact::Op { function, params, prim }, format })
    }

    /// The function as a formula of one number, where it is one.
    pub fn formula(&self) -> Option<Expr> {
        match &self.function {
            Exact::Op { function, .. } if function.arity == 1 && function.params == 0 => {
                Some(function.expr())
            }
            Exact::Op { .. } => None,
            Exact::Formula(_, formula) => Some(formula.clone()),
        }
    }

    /// Encloses the value at a number.
    #[inline]
    pub fn enclose(&self, x: f64) -> Interval {
        match &self.function {
            Exact::Op { prim: Some(prim), .. } => {
                let (lo, hi) = Binary64.unary(*prim, &x);
                Enclosure { lo, hi, may_be_nan: lo.is_nan() || hi.is_nan() }
            }
            function => function.over(&[Enclosure::point(x)]),
        }
    }

    /// Encloses all values between two numbers.
    pub fn enclose_between(&self, a: f64, b: f64) -> Interval {
        self.function.over(&[Enclosure::new(a, b)])
    }

    /// Encloses the value at numbers.
    pub fn enclose_at(&self, x: &[f64]) -> Interval {
        let points: Vec<Interval> = x.iter().map(|&x| Enclosure::point(x)).collect();
        self.function.over(&points)
    }

    /// The correctly rounded value.
    pub fn round(&self, x: f64) -> f64 {
        self.round_at(&[x])
    }

    /// The correctly rounded value at numbers.
    pub fn round_at(&self, x: &[f64]) -> f64 {
        match &self.function {
            Exact::Op { function, params, .. } => {
                function.round_correctly(&params[..function.params], x, self.format)
            }
            Exact::Formula(known, _) => {
                let decided = |value: &Enclosure<Float>| {
                    let [lo, hi] = [&value.lo, &value.hi].map(|end| self.format.round_real(end));
                    (lo.to_bits() == hi.to_bits()).then(|| value.lo.clone())
                };
                self.format.round_real(&exactly(&known.0, x, decided))
            }
        }
    }

    /// The error of a value, in units in the last place of the exact one, at [`BITS`] bits; none where the exact value is no
    /// number other than 0.
    pub fn exact_error(&self, x: f64, y: f64) -> Option<f64> {
        self.exact_error_at(&[x], y)
    }

    /// As [`exact_error`](Self::exact_error), at numbers.
    pub fn exact_error_at(&self, x: &[f64], y: f64) -> Option<f64> {
        self.error(&self.exact(x), y)
    }

    /// The exact value, at [`BITS`] bits.
    pub fn exact(&self, x: &[f64]) -> Float {
        match &self.function {
            Exact::Op { function, params, .. } => {
                let x: Vec<Float> = x.iter().map(|&x| Float::with_val(53, x)).collect();
                function.eval_real(&params[..function.params], &x, BITS)
            }
            Exact::Formula(known, _) => {
                let decided = |value: &Enclosure<Float>| {
                    let [lo, hi] = [&value.lo, &value.hi].map(|end| Float::with_val(BITS, end));
                    (lo == hi).then_some(lo)
                };
                exactly(&known.0, x, decided)
            }
        }
    }

    /// As [`Reference::exact_error`], where the exact value is known.
    pub fn error(&self, exact: &Float, y: f64) -> Option<f64> {
        if !exact.is_finite() || exact.is_zero() {
            return None;
        }
        let exponent = exact.get_exp()? - 1;
        if exponent > self.format.emax() {
            return Some(if y == f64::INFINITY.copysign(exact.to_f64()) { 0.0 } else { f64::INFINITY });
        }
        let ulp = exponent.max(self.format.emin()) - self.format.precision() as i32 + 1;
        let limit = || Float::with_val(2 * BITS, 1) << (self.format.emax() + 1) as u32;
        let size = if y.is_infinite() { limit() } else { Float::with_val(2 * BITS, y.abs()) };
        let near = if y.is_sign_negative() { -size } else { size };
        let error = (near - exact).abs() >> ulp;
        Some(error.to_f64())
    }
}

impl Exact {
    fn formula(formula: &Expr) -> Exact {
        let program = Program::new(formula);
        let constants = program.enclose_constants(&Binary64);
        Exact::Formula(Arc::new((program, constants)), formula.clone())
    }

    /// Its values where its arguments have these.
    fn over(&self, x: &[Interval]) -> Interval {
        match self {
            Exact::Op { function, params, .. } => {
                let params = params.map(Enclosure::point);
                function.enclose(&Binary64, &params[..function.params], x)
            }
            Exact::Formula(known, _) => known.0.enclose(&Binary64, &known.1, &[], x),
        }
    }
}

/// The value of a formula at numbers, in as many bits as it takes to decide something of it; NaN where it has none.
fn exactly(formula: &Program, x: &[f64], decided: impl Fn(&Enclosure<Float>) -> Option<Float>) -> Float {
    let mut bits = BITS;
    loop {
        let domain = Big::new(bits);
        let points: Vec<Enclosure<Float>> = x.iter().map(|&x| Enclosure::point(domain.embed(x))).collect();
        let value = formula.enclose(&domain, &formula.enclose_constants(&domain), &[], &points);
        if value.is_undefined() {
            return value.lo;
        }
        if !value.may_be_nan
            && let Some(found) = decided(&value)
        {
            return found;
        }
        if bits >= MOST_BITS {
            return Float::with_val(bits, &value.lo + &value.hi) / 2u32;
        }
        bits *= 2;
    }
}

/// What attributes of an op that are words may say, one at a time.
fn said(def: &'static OpDef) -> Vec<AttrDict> {
    let words = |attribute: &'static AttrDef| match attribute.kind {
        AttrKind::Enum(words) => {
            words.iter().map(|&word| AttrDict::from([(attribute.name, Attr::from(word))])).collect()
        }
        _ => Vec::new(),
    };
    def.attributes.iter().flat_map(words).collect()
}

/// What an infinite result counts as: the first number of the format that it does not have.
pub fn overflow(format: Format) -> f64 {
    2f64.powi(format.emax()) * 2.0
}
