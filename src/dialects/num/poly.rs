//! Polynomials with constant coefficients.

use ngc_ir::op_def::{AttrKind, Default, ValueKind, attribute, operand, required, result};
use ngc_ir::{Attr, Builder, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Format};

use crate::ng::constant::{attr_to_tensor, attr_type};
use crate::ng::infer::same_as_first;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&POLY];

/// The highest power.
const HIGHEST: i64 = 64;

/// `num.poly`.
pub static POLY: OpDef = OpDef {
    name: "num.poly",
    summary: "a polynomial with constant coefficients",
    description: "`Σ c_i x^(n_i)`, of the powers `exponents` in rising order and as many `coefficients` in the format of `x`. \
        Where the powers are `o, o + s, o + 2s, ...` (even and odd polynomials have s = 2), a polynomial in `x^s` is \
        evaluated and multiplied by `x^o`. `scheme` says how: `horner` multiplies and adds from the highest power \
        down; `estrin` joins neighbours by `x^s`, pairs of them by `x^2s` and so on, for short chains; `split` is \
        `estrin` for all but the first term, which is added last to the rest, so that its rounding alone counts: \
        `c x^o + x^(o+s) (...)`. Each product with a sum behind it is one `fma`.",
    example: "%0 = num.poly %x {coefficients = dense<[1.0, -0.166]> : tensor<2xf32>, exponents = [1, 3]} : tensor<4xf32>",
    operands: &[operand("x", ValueKind::Float)],
    attributes: &[
        required("exponents", AttrKind::Ints, "the powers, rising"),
        required("coefficients", AttrKind::Elements, "the factors of the powers"),
        attribute(
            "scheme",
            AttrKind::Enum(&["horner", "estrin", "split"]),
            Default::Str("horner"),
            "order of evaluation",
        ),
    ],
    results: &[result("result", ValueKind::Float)],
    infer: |s| terms(s).and_then(|_| same_as_first(s)),
    semantics: Semantics::Decomposition(|b, s, x| {
        let terms = terms(s)?;
        let format = s.operand(0)?.format().ok_or("takes a floating-point value")?;
        let mut steps = Steps { b, format, powers: vec![(1, x[0])] };
        let (first, stride) = (terms[0].0, stride(&terms));
        let value = match s.string("scheme") {
            Some("split") if terms.len() > 1 => {
                let rest = steps.estrin(&terms[1..], stride)?;
                let power = steps.power(terms[1].0)?;
                if first == 0 {
                    let constant = steps.number(terms[0].1)?;
                    steps.fma(power, rest, constant)?
                } else {
                    let lead = steps.power(first)?;
                    let lead = if terms[0].1 == 1.0 {
                        lead
                    } else {
                        let constant = steps.number(terms[0].1)?;
                        steps.mul(lead, constant)?
                    };
                    steps.fma(power, rest, lead)?
                }
            }
            scheme => {
                let sum = match scheme {
                    Some("estrin") => steps.estrin(&terms, stride)?,
                    _ => steps.horner(&terms)?,
                };
                if first == 0 {
                    sum
                } else {
                    let power = steps.power(first)?;
                    steps.mul(power, sum)?
                }
            }
        };
        Ok(vec![value])
    }),
    ..OpDef::BASE
};

/// A power and its factor.
type Term = (i64, f64);

/// The terms, checked.
fn terms(s: &Signature<'_>) -> Result<Vec<Term>, String> {
    let exponents = s.ints("exponents").ok_or("requires attribute 'exponents'")?;
    let coefficients = s.attr("coefficients").ok_or("requires attribute 'coefficients'")?;
    let (given, wanted) = (attr_type(coefficients)?.elem(), s.operand(0)?.elem());
    if given != wanted {
        let of = |elem: Option<DType>| elem.map_or("?", DType::name);
        return Err(format!("has coefficients of {} for a value of {}", of(given), of(wanted)));
    }
    let coefficients = attr_to_tensor(coefficients)?.to_f64s();
    if exponents.is_empty() || exponents.len() != coefficients.len() {
        return Err(format!("has {} exponents and {} coefficients", exponents.len(), coefficients.len()));
    }
    if exponents[0] < 0 || exponents.iter().any(|&n| n > HIGHEST) || !exponents.is_sorted_by(|a, b| a < b) {
        return Err(format!("takes exponents that rise from 0 at least to {HIGHEST} at most"));
    }
    if let Some(c) = coefficients.iter().find(|c| !c.is_finite()) {
        return Err(format!("has the coefficient {c}"));
    }
    Ok(exponents.into_iter().zip(coefficients).collect())
}

/// The distance by which all powers lie apart, or its greatest divisor.
fn stride(terms: &[Term]) -> i64 {
    let divisor = |mut a: i64, mut b: i64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    terms.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0, divisor).max(1)
}

/// The steps of one polynomial; each power of the variable is made once.
struct Steps<'b, 'a> {
    b: &'b mut Builder<'a>,
    format: Format,
    powers: Vec<(i64, Value)>,
}

impl Steps<'_, '_> {
    fn number(&mut self, value: f64) -> Result<Value, String> {
        self.b.constant(Attr::Float(value, Type::float(self.format)))
    }

    fn mul(&mut self, x: Value, y: Value) -> Result<Value, String> {
        self.b.emit("ng.mul", &[x, y], [])
    }

    fn fma(&mut self, x: Value, y: Value, z: Value) -> Result<Value, String> {
        self.b.emit("ng.fma", &[x, y, z], [])
    }

    /// `x^n`, of halves that are made already where there are.
    fn power(&mut self, n: i64) -> Result<Value, String> {
        if let Some(&(_, value)) = self.powers.iter().find(|(known, _)| *known == n) {
            return Ok(value);
        }
        let part = self.powers.iter().map(|p| p.0).filter(|&p| p < n && n - p <= p).max().unwrap_or(n / 2);
        let (x, y) = (self.power(part)?, self.power(n - part)?);
        let value = self.mul(x, y)?;
        self.powers.push((n, value));
        Ok(value)
    }

    /// The sum of the terms, divided by the power of the first.
    fn horner(&mut self, terms: &[Term]) -> Result<Value, String> {
        let (&(mut above, last), lower) = terms.split_last().ok_or("has no terms")?;
        let mut sum = self.number(last)?;
        for &(n, c) in lower.iter().rev() {
            let (gap, c) = (self.power(above - n)?, self.number(c)?);
            sum = self.fma(sum, gap, c)?;
            above = n;
        }
        Ok(sum)
    }

    /// As [`horner`](Self::horner), by halves whose lower one has a power of two of places, `stride` apart.
    fn estrin(&mut self, terms: &[Term], stride: i64) -> Result<Value, String> {
        if let [(_, c)] = terms {
            return self.number(*c);
        }
        let base = terms.first().ok_or("has no terms")?.0;
        let span = (terms.last().ok_or("has no terms")?.0 - base) / stride;
        let half = stride << span.ilog2();
        let (low, high) = terms.split_at(terms.partition_point(|&(n, _)| n - base < half));
        let (sum, upper) = (self.estrin(low, stride)?, self.estrin(high, stride)?);
        let gap = self.power(high.first().ok_or("has no terms")?.0 - base)?;
        self.fma(upper, gap, sum)
    }
}
