//! The function that an implementation is of, exactly: that of the op of `ng` with its name, where nothing is said of its
//! parameters.

use ngc_ir::op_def::{AttrDef, AttrKind, Elementwise, Semantics};
use ngc_ir::{Attr, AttrDict, Context, Diagnostic, OpDef, Signature, Type};
use ngc_numerics::{Binary64, Domain, Enclosure, Format, Interval, Prim, ScalarFn};
use rug::Float;

use crate::function::format_of;
use crate::text::Text;

/// Bits at which an error is measured where `f64` does not decide.
const BITS: u32 = 160;

/// A function of real numbers, and the format of its arguments and results.
#[derive(Clone, Copy)]
pub struct Reference {
    /// The function.
    pub function: &'static ScalarFn,
    /// The format.
    pub format: Format,
    /// Those that it has.
    params: [f64; MOST_PARAMS],
    prim: Option<Prim>,
}

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
                "'{}' is no function that ngc knows exactly: name it as an op of `ng` with {} operands",
                text.name,
                operands.len()
            ))
        })?;
        let mut params = [0.0; MOST_PARAMS];
        params[..given.len()].copy_from_slice(&given);
        Ok(Reference { function, format, params, prim: function.as_primitive() })
    }

    fn points(&self) -> [Interval; MOST_PARAMS] {
        self.params.map(Enclosure::point)
    }

    fn params(&self) -> &[f64] {
        &self.params[..self.function.params]
    }

    /// Encloses the value at a number.
    #[inline]
    pub fn enclose(&self, x: f64) -> Interval {
        match self.prim {
            Some(prim) => {
                let (lo, hi) = Binary64.unary(prim, &x);
                Enclosure { lo, hi, may_be_nan: lo.is_nan() || hi.is_nan() }
            }
            None => self.function.enclose(
                &Binary64,
                &self.points()[..self.function.params],
                &[Enclosure::point(x)],
            ),
        }
    }

    /// Encloses all values between two numbers.
    pub fn enclose_between(&self, a: f64, b: f64) -> Interval {
        self.function.enclose(&Binary64, &self.points()[..self.function.params], &[Enclosure::new(a, b)])
    }

    /// Encloses the value at numbers.
    pub fn enclose_at(&self, x: &[f64]) -> Interval {
        let points: Vec<Interval> = x.iter().map(|&x| Enclosure::point(x)).collect();
        self.function.enclose(&Binary64, &self.points()[..self.function.params], &points)
    }

    /// The correctly rounded value.
    pub fn round(&self, x: f64) -> f64 {
        self.round_at(&[x])
    }

    /// The correctly rounded value at numbers.
    pub fn round_at(&self, x: &[f64]) -> f64 {
        self.function.round_correctly(self.params(), x, self.format)
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
        let x: Vec<Float> = x.iter().map(|&x| Float::with_val(53, x)).collect();
        self.function.eval_real(self.params(), &x, BITS)
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
