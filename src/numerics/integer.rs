//! Scalar functions on integers: two's complement arithmetic modulo 2^width, as in C and ONNX.

use rug::Float;
use smallvec::SmallVec;

use crate::expr::{Constant, Prim};
use crate::program::Step;
use crate::{DType, Format, ScalarFn};

/// The function's formula over integers of a type, each step reduced to the type. Division truncates toward zero, and
/// the remainder has the dividend's sign.
///
/// # Errors
/// On division by zero, a negative exponent, a constant or parameter that is no integer, and functions that have no
/// meaning on integers.
pub fn evaluate(f: &ScalarFn, dtype: DType, params: &[f64], args: &[i64]) -> Result<i64, String> {
    let program = f.program();
    let mut values: SmallVec<[i64; 16]> = SmallVec::new();
    for step in program.steps() {
        let value = match step {
            Step::Var(i) => args[*i],
            Step::Param(i) if params[*i].fract() == 0.0 && params[*i].abs() < 2f64.powi(63) => {
                params[*i] as i64
            }
            Step::Param(i) => {
                return Err(format!("{} of {dtype} needs an integer, not {}", f.name, params[*i]));
            }
            Step::Const(i) => match &program.constants()[*i] {
                Constant::Rational(value) if value.is_integer() => value
                    .numer()
                    .to_i64()
                    .ok_or_else(|| format!("the constant {value} of {} does not fit in {dtype}", f.name))?,
                _ => return Err(undefined(f.name, dtype)),
            },
            Step::Apply(prim, [x, y, z]) => {
                let operands = [values[*x], values[*y], values[*z]];
                primitive(*prim, operands, dtype)?.ok_or_else(|| undefined(f.name, dtype))?
            }
            Step::Select(cmp, [a, b, t, e]) => {
                let holds = cmp.holds(values[*a].partial_cmp(&values[*b]));
                values[if holds { *t } else { *e }]
            }
        };
        values.push(dtype.wrap(value));
    }
    values.pop().ok_or_else(|| undefined(f.name, dtype))
}

fn undefined(name: &str, dtype: DType) -> String {
    format!("{name} is not defined on {dtype}")
}

/// `None` where the primitive has no meaning on integers.
fn primitive(prim: Prim, [x, y, z]: [i64; 3], dtype: DType) -> Result<Option<i64>, String> {
    Ok(Some(match prim {
        Prim::Add => x.wrapping_add(y),
        Prim::Sub => x.wrapping_sub(y),
        Prim::Mul => x.wrapping_mul(y),
        Prim::Fma => x.wrapping_mul(y).wrapping_add(z),
        Prim::Square => x.wrapping_mul(x),
        Prim::Div | Prim::Rem if y == 0 => return Err(format!("division by zero in {dtype}")),
        Prim::Div => x.wrapping_div(y),
        Prim::Rem => x.wrapping_rem(y),
        Prim::Min => x.min(y),
        Prim::Max => x.max(y),
        Prim::Neg => x.wrapping_neg(),
        Prim::Abs => x.wrapping_abs(),
        Prim::Sign => x.signum(),
        Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc => x,
        Prim::Pow if y < 0 => return Err(format!("negative exponent {y} in {dtype}")),
        Prim::Pow => power(x, y),
        _ => return Ok(None),
    }))
}

/// `base^exponent` modulo 2^64.
fn power(mut base: i64, mut exponent: i64) -> i64 {
    let mut result = 1i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

/// The nearest value of a format, in one rounding.
pub fn to_float(x: i64, format: Format) -> f64 {
    if x.unsigned_abs() <= 1 << 53 {
        format.round(x as f64)
    } else {
        format.round_real(&Float::with_val(64, x))
    }
}

/// Truncates toward zero, saturating at the type's ends; NaN gives 0.
pub fn from_real(x: &Float, dtype: DType) -> i64 {
    let (least, greatest) = dtype.int_range();
    if x.is_nan() {
        return 0;
    }
    if *x <= least {
        return least;
    }
    if *x >= greatest {
        return greatest;
    }
    x.clone().trunc().to_integer().and_then(|integer| integer.to_i64()).unwrap_or(0)
}
