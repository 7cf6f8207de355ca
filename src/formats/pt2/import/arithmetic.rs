//! Elementwise arithmetic, exponentials, logarithms and trigonometry, clipping and conversion.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Format};

use super::Table;
use super::node::Node;
use super::number::{Number, Operand, common, fitting, floating, holds, kernel, opmath, rounded};
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_to_copy", to_copy),
    ("abs", |n| exact(n, "ng.abs")),
    ("acos", |n| unary(n, "ng.acos")),
    ("acosh", |n| unary(n, "ng.acosh")),
    ("add", |n| scaled(n, "ng.add")),
    ("addcdiv", |n| addc(n, "ng.div")),
    ("addcmul", |n| addc(n, "ng.mul")),
    ("angle", angle),
    ("asin", |n| unary(n, "ng.asin")),
    ("asinh", |n| unary(n, "ng.asinh")),
    ("atan", |n| unary(n, "ng.atan")),
    ("atan2", |n| fractional(n, "ng.atan2")),
    ("atanh", |n| unary(n, "ng.atanh")),
    ("ceil", |n| whole(n, "ng.ceil")),
    ("clamp", clamp),
    ("clamp_max", clamp),
    ("clamp_min", clamp),
    ("copysign", copysign),
    ("cos", |n| unary(n, "ng.cos")),
    ("cosh", |n| unary(n, "ng.cosh")),
    ("deg2rad", |n| times(n, std::f64::consts::PI / 180.0)),
    ("digamma", |n| unary(n, "ng.digamma")),
    ("div", div),
    ("erf", |n| unary(n, "ng.erf")),
    ("erfc", |n| unary(n, "ng.erfc")),
    ("exp", |n| unary(n, "ng.exp")),
    ("exp2", |n| unary(n, "ng.exp2")),
    ("expm1", |n| unary(n, "ng.expm1")),
    ("float_power", float_power),
    ("floor", |n| whole(n, "ng.floor")),
    ("floor_divide", floor_divide),
    ("fmod", |n| binary(n, "ng.rem")),
    ("fmax", |n| ignoring_nan(n, "ng.max")),
    ("fmin", |n| ignoring_nan(n, "ng.min")),
    ("frac", frac),
    ("hypot", |n| fractional(n, "ng.hypot")),
    ("ldexp", ldexp),
    ("lerp", lerp),
    ("lgamma", |n| unary(n, "ng.lgamma")),
    ("log", |n| unary(n, "ng.log")),
    ("log10", |n| unary(n, "ng.log10")),
    ("log1p", |n| unary(n, "ng.log1p")),
    ("log2", |n| unary(n, "ng.log2")),
    ("logaddexp", |n| fractional(n, "ng.logaddexp")),
    ("logit", logit),
    ("maximum", |n| binary(n, "ng.max")),
    ("minimum", |n| binary(n, "ng.min")),
    ("mul", mul),
    ("neg", |n| exact(n, "ng.neg")),
    ("pow", pow),
    ("rad2deg", |n| times(n, 180.0 / std::f64::consts::PI)),
    ("reciprocal", |n| unary(n, "ng.reciprocal")),
    ("remainder", remainder),
    ("round", |n| whole(n, "ng.round")),
    ("rsqrt", |n| unary(n, "ng.rsqrt")),
    ("rsub", rsub),
    ("sign", |n| exact(n, "ng.sign")),
    ("sin", |n| unary(n, "ng.sin")),
    ("sinh", |n| unary(n, "ng.sinh")),
    ("special_erfcx", |n| unary(n, "ng.erfcx")),
    ("sqrt", |n| unary(n, "ng.sqrt")),
    ("square", |n| exact(n, "ng.square")),
    ("sub", |n| scaled(n, "ng.sub")),
    ("tan", |n| unary(n, "ng.tan")),
    ("tanh", |n| unary(n, "ng.tanh")),
    ("to", to_copy),
    ("trunc", trunc),
    ("type_as", |n| {
        let (x, other) = (n.tensor("self")?, n.tensor("other")?);
        Ok(vec![n.convert(x, n.elem(other)?)?])
    }),
    ("xlogy", xlogy),
];

/// A function with fractions: integers become f32 first.
pub(super) fn unary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    Ok(vec![n.op(op, &[x])?])
}

/// A tensor argument as floating-point numbers.
pub(super) fn floats(n: &mut Node<'_, '_>, name: &str) -> Result<Value> {
    let x = n.tensor(name)?;
    let to = floating(n.elem(x)?);
    n.convert(x, to)
}

/// A function that keeps the element type.
fn exact(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![n.op(op, &[x])?])
}

/// Rounding to integers, which leaves integers as they are.
fn whole(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let (decimals, dtype) = (n.int("decimals", 0)?, n.elem(x)?);
    match (dtype.is_float(), decimals) {
        (true, 0) => {}
        (true, _) => return decimal(n, x, decimals),
        (false, 0) => return Ok(vec![x]),
        (false, _) => return unsupported("rounding integers to decimals"),
    }
    Ok(vec![n.op(op, &[x])?])
}

/// To so many digits behind the point, or zeros before it: scaled by a power of ten, and back; every step is rounded.
fn decimal(n: &mut Node<'_, '_>, x: Value, decimals: i64) -> Result<Vec<Value>> {
    let power = n.scalar(Number::Float(10f64.powi(decimals.unsigned_abs().min(400) as i32)), n.elem(x)?)?;
    let (there, back) = if decimals > 0 { ("ng.mul", "ng.div") } else { ("ng.div", "ng.mul") };
    let scaled = n.op(there, &[x, power])?;
    let whole = n.op("ng.round", &[scaled])?;
    Ok(vec![n.op(back, &[whole, power])?])
}

/// A number times a power of two, which is a float of its own.
fn ldexp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, exponent) = (n.operand("self")?, n.operand("other")?);
    let two = Operand::Number(Number::Float(2.0));
    // A power of two by integers is of the format of what it scales.
    let like = if common(n, &[exponent])?.is_float() { exponent } else { x };
    let dtype = common(n, &[two, like])?;
    let power = Operand::Tensor(power(n, two, exponent, dtype)?);
    let (x, power) = together(n, x, power)?;
    Ok(vec![n.op("ng.mul", &[x, power])?])
}

fn times(n: &mut Node<'_, '_>, factor: f64) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let dtype = n.elem(x)?;
    Ok(vec![by(n, "ng.mul", dtype, Operand::Tensor(x), Operand::Number(Number::Float(factor)))?])
}

/// Two operands in the type in which torch computes with them.
pub(super) fn operands(n: &mut Node<'_, '_>, first: &str, second: &str) -> Result<(Value, Value)> {
    let (x, y) = (n.operand(first)?, n.operand(second)?);
    together(n, x, y)
}

/// Two operands in the type in which torch computes with them.
pub(super) fn together(n: &mut Node<'_, '_>, x: Operand, y: Operand) -> Result<(Value, Value)> {
    let dtype = common(n, &[x, y])?;
    Ok((n.in_type(x, dtype)?, n.in_type(y, dtype)?))
}

fn binary(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![n.op(op, &[x, y])?])
}

/// Products of truth values are conjunctions.
fn mul(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let dtype = common(n, &[x, y])?;
    let op = if dtype == DType::BOOL { "ng.and" } else { "ng.mul" };
    Ok(vec![by(n, op, dtype, x, y)?])
}

/// An operand without dimensions, which torch takes unrounded where it is a factor or a divisor; None where that is as
/// good as rounded.
fn unrounded(n: &mut Node<'_, '_>, y: Operand, dtype: DType) -> Result<Option<Operand>> {
    Ok(match y {
        Operand::Number(number) if !holds(dtype, number.to_f64()) => Some(y),
        Operand::Tensor(v) if n.rank(v) == 0 && dtype.is_float() && n.elem(v)? != dtype => {
            Some(Operand::Tensor(n.convert(v, opmath(dtype))?))
        }
        _ => None,
    })
}

/// A product or a quotient.
pub(super) fn by(n: &mut Node<'_, '_>, op: &str, dtype: DType, x: Operand, y: Operand) -> Result<Value> {
    let x = n.in_type(x, dtype)?;
    match unrounded(n, y, dtype)? {
        Some(y) => kernel(n, dtype, &[Operand::Tensor(x), y], |n, v| n.op(op, v)),
        None => {
            let y = n.in_type(y, dtype)?;
            n.op(op, &[x, y])
        }
    }
}

/// A function of two operands with fractions.
pub(super) fn fractional(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    Ok(vec![n.op(op, &[x, y])?])
}

/// self ± alpha other.
fn scaled(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![scaled_of(n, op, x, y)?])
}

fn scaled_of(n: &mut Node<'_, '_>, op: &str, x: Value, y: Value) -> Result<Value> {
    let dtype = n.elem(x)?;
    let alpha = n.opt_number("alpha")?.filter(|a| a.to_f64() != 1.0);
    if dtype == DType::BOOL {
        return match (op, alpha) {
            ("ng.add", None) => n.op("ng.or", &[x, y]),
            _ => unsupported("arithmetic on truth values"),
        };
    }
    let Some(alpha) = alpha else { return n.op(op, &[x, y]) };
    let DType::Float(format) = dtype else {
        let alpha = n.scalar(alpha, dtype)?;
        let y = n.op("ng.mul", &[y, alpha])?;
        return n.op(op, &[x, y]);
    };
    let alpha = rounded(fitting(alpha, dtype)?.to_f64(), format);
    let alpha = Operand::Number(Number::Float(if op == "ng.sub" { -alpha } else { alpha }));
    // torch's kernels fuse the product with the sum.
    kernel(n, dtype, &[Operand::Tensor(y), alpha, Operand::Tensor(x)], |n, v| n.op("ng.fma", v))
}

/// other - alpha self.
fn rsub(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    Ok(vec![scaled_of(n, "ng.sub", y, x)?])
}

/// self + value (tensor1 op tensor2), from left to right; a product is fused with the sum.
fn addc(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let tensors = [n.tensor("self")?, n.tensor("tensor1")?, n.tensor("tensor2")?].map(Operand::Tensor);
    let dtype = common(n, &tensors)?;
    let mut same = Vec::with_capacity(4);
    for tensor in tensors {
        same.push(Operand::Tensor(n.in_type(tensor, dtype)?));
    }
    same.extend(n.opt_number("value")?.filter(|v| v.to_f64() != 1.0).map(Operand::Number));
    let value = kernel(n, dtype, &same, |n, v| {
        let factor = match v.get(3) {
            Some(&value) => n.op("ng.mul", &[value, v[1]])?,
            None => v[1],
        };
        if op == "ng.mul" && dtype.is_float() {
            return n.op("ng.fma", &[factor, v[2], v[0]]);
        }
        let term = n.op(op, &[factor, v[2]])?;
        n.op("ng.add", &[v[0], term])
    })?;
    Ok(vec![value])
}

/// start + weight (end - start), from the nearer end, as torch does so that it is met exactly.
fn lerp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (start, end) = (Operand::Tensor(n.tensor("self")?), Operand::Tensor(n.tensor("end")?));
    let weight = n.operand("weight")?;
    let dtype = common(n, &[start, end, weight])?;
    let DType::Float(wide) = opmath(dtype) else { return unsupported(format!("elements of type {dtype}")) };
    let tensors = [n.in_type(start, dtype)?, n.in_type(end, dtype)?].map(Operand::Tensor);
    if let Operand::Number(weight) = weight {
        let weight = wide.round(weight.to_f64());
        let near = weight.abs() < 0.5;
        let weight = Operand::Number(Number::Float(if near { weight } else { weight - 1.0 }));
        let value = kernel(n, dtype, &[tensors[0], tensors[1], weight], |n, v| {
            let span = n.op("ng.sub", &[v[1], v[0]])?;
            n.op("ng.fma", &[v[2], span, v[if near { 0 } else { 1 }]])
        })?;
        return Ok(vec![value]);
    }
    let weight = n.in_type(weight, dtype)?;
    let [start, end] = [n.in_type(tensors[0], dtype)?, n.in_type(tensors[1], dtype)?];
    Ok(vec![between(n, start, end, weight)?])
}

/// The same with a weight for each element; all are of one type.
pub(super) fn between(n: &mut Node<'_, '_>, start: Value, end: Value, weight: Value) -> Result<Value> {
    let dtype = n.elem(start)?;
    let [start, end, weight] = [start, end, weight].map(Operand::Tensor);
    let (one, half) = (Operand::Number(Number::Int(1)), Operand::Number(Number::Float(0.5)));
    kernel(n, dtype, &[start, end, weight, one, half], |n, v| {
        let span = n.op("ng.sub", &[v[1], v[0]])?;
        let size = n.op("ng.abs", &[v[2]])?;
        let near = n.emit("ng.compare", &[size, v[4]], [("direction", Attr::from("LT"))])?;
        let rest = n.op("ng.sub", &[v[2], v[3]])?;
        let weight = n.op("ng.where", &[near, v[2], rest])?;
        let from = n.op("ng.where", &[near, v[0], v[1]])?;
        n.op("ng.fma", &[weight, span, from])
    })
}

fn div(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    match n.string("rounding_mode", "")? {
        "" => {
            let (x, y) = (n.operand("self")?, n.operand("other")?);
            let dtype = floating(common(n, &[x, y])?);
            Ok(vec![by(n, "ng.div", dtype, x, y)?])
        }
        "floor" => floor_divide(n),
        "trunc" => whole_quotient(n, |n, x, y| {
            let quotient = n.op("ng.div", &[x, y])?;
            truncated(n, quotient)
        }),
        other => invalid(format!("rounding_mode = '{}'", other.escape_debug())),
    }
}

/// A quotient that becomes whole in several steps: those of f16 and bf16 are rounded one by one, except where torch
/// knows the divisor to be a single number.
fn whole_quotient(
    n: &mut Node<'_, '_>,
    steps: impl FnOnce(&mut Node<'_, '_>, Value, Value) -> Result<Value>,
) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let dtype = common(n, &[x, y])?;
    let single = match y {
        Operand::Number(_) => true,
        Operand::Tensor(y) => n.shape(y).iter().all(|d| d.known() == Some(1)),
    };
    let x = n.in_type(x, dtype)?;
    if !single {
        let y = n.in_type(y, dtype)?;
        return Ok(vec![steps(n, x, y)?]);
    }
    let y = match unrounded(n, y, dtype)? {
        Some(y) => y,
        None => Operand::Tensor(n.in_type(y, dtype)?),
    };
    Ok(vec![kernel(n, dtype, &[Operand::Tensor(x), y], |n, v| steps(n, v[0], v[1]))?])
}

fn trunc(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    Ok(vec![truncated(n, x)?])
}

/// Towards zero: the sign times the floor of the size.
fn truncated(n: &mut Node<'_, '_>, x: Value) -> Result<Value> {
    if !n.elem(x)?.is_float() {
        return Ok(x);
    }
    let size = n.op("ng.abs", &[x])?;
    let floor = n.op("ng.floor", &[size])?;
    with_sign(n, floor, x)
}

/// A positive value with the sign of `like`; zeros count as positive where it is +0.
fn with_sign(n: &mut Node<'_, '_>, size: Value, like: Value) -> Result<Value> {
    let zero = n.scalar(Number::Int(0), n.elem(like)?)?;
    let below = n.emit("ng.compare", &[like, zero], [("direction", Attr::from("LT"))])?;
    let negative = n.op("ng.neg", &[size])?;
    n.op("ng.where", &[below, negative, size])
}

fn frac(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = n.tensor("self")?;
    let one = n.scalar(Number::Int(1), n.elem(x)?)?;
    Ok(vec![n.op("ng.rem", &[x, one])?])
}

/// The size of the first with the sign of the second, whose zeros must be positive.
fn copysign(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    // Zeros and NaN have a sign, too.
    let Operand::Number(sign) = y else { return super::opaque::call(n) };
    let x = n.in_type(x, floating(common(n, &[x, y])?))?;
    let size = n.op("ng.abs", &[x])?;
    Ok(vec![if sign.to_f64().is_sign_negative() { n.op("ng.neg", &[size])? } else { size }])
}

/// Of a number and NaN the number.
fn ignoring_nan(n: &mut Node<'_, '_>, op: &str) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let mut value = n.op(op, &[x, y])?;
    if n.elem(x)?.is_float() {
        for (one, other) in [(x, y), (y, x)] {
            let nan = n.op("ng.is_nan", &[one])?;
            value = n.op("ng.where", &[nan, other, value])?;
        }
    }
    Ok(vec![value])
}

/// Of a real number 0, or π where it is negative; NaN of NaN.
fn angle(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let dtype = n.elem(x)?;
    let [zero, pi] = [0.0, std::f64::consts::PI].map(|number| n.scalar(Number::Float(number), dtype));
    let (zero, pi) = (zero?, pi?);
    let below = n.emit("ng.compare", &[x, zero], [("direction", Attr::from("LT"))])?;
    let angle = n.op("ng.where", &[below, pi, zero])?;
    let nan = n.op("ng.is_nan", &[x])?;
    Ok(vec![n.op("ng.where", &[nan, x, angle])?])
}

/// log(x / (1 - x)), of x cut to [eps, 1 - eps] where there is an eps; every step is rounded.
fn logit(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut x = floats(n, "self")?;
    let dtype = n.elem(x)?;
    let one = n.scalar(Number::Int(1), dtype)?;
    if let Some(eps) = n.opt_number("eps")?.filter(|e| e.to_f64() >= 0.0) {
        let low = n.scalar(eps, dtype)?;
        let high = n.op("ng.sub", &[one, low])?;
        // An eps beyond a half leaves the lower end to what is below it alone.
        let below = n.emit("ng.compare", &[x, low], [("direction", Attr::from("LT"))])?;
        let at_most = n.op("ng.min", &[x, high])?;
        x = n.op("ng.where", &[below, low, at_most])?;
    }
    let rest = n.op("ng.sub", &[one, x])?;
    let odds = n.op("ng.div", &[x, rest])?;
    Ok(vec![n.op("ng.log", &[odds])?])
}

fn xlogy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("other")?);
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    Ok(vec![xlogy_of(n, x, y)?])
}

/// x log y, and 0 where x is 0 and y a number. In f16 and bf16 the logarithm is rounded before it is multiplied.
pub(super) fn xlogy_of(n: &mut Node<'_, '_>, x: Value, y: Value) -> Result<Value> {
    let dtype = n.elem(x)?;
    if opmath(dtype) == dtype {
        return n.op("ng.xlogy", &[x, y]);
    }
    let zero = n.scalar(Number::Int(0), dtype)?;
    let log = n.op("ng.log", &[y])?;
    let product = n.op("ng.mul", &[x, log])?;
    let nothing = n.emit("ng.compare", &[x, zero], [("direction", Attr::from("EQ"))])?;
    let number = n.emit("ng.compare", &[y, y], [("direction", Attr::from("EQ"))])?;
    let empty = n.op("ng.and", &[nothing, number])?;
    n.op("ng.where", &[empty, zero, product])
}

/// The remainder with the sign of the divisor.
fn remainder(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let rest = n.op("ng.rem", &[x, y])?;
    let moved = n.op("ng.add", &[rest, y])?;
    let differ = signs_differ(n, rest, y)?;
    Ok(vec![n.op("ng.where", &[differ, moved, rest])?])
}

/// Whether a remainder is not zero and has not the sign of the divisor.
fn signs_differ(n: &mut Node<'_, '_>, rest: Value, divisor: Value) -> Result<Value> {
    let zero = n.scalar(Number::Int(0), n.elem(rest)?)?;
    let mut relation =
        |x: Value, direction: &str| n.emit("ng.compare", &[x, zero], [("direction", Attr::from(direction))]);
    let (below, negative, some) = (relation(rest, "LT")?, relation(divisor, "LT")?, relation(rest, "NE")?);
    let differ = n.op("ng.xor", &[below, negative])?;
    n.op("ng.and", &[differ, some])
}

/// ⌊self / other⌋ by way of the exact remainder, as torch does.
fn floor_divide(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    whole_quotient(n, |n, x, y| {
        let rest = n.op("ng.rem", &[x, y])?;
        let whole = n.op("ng.sub", &[x, rest])?;
        let quotient = n.op("ng.div", &[whole, y])?;
        let dtype = n.elem(x)?;
        let one = n.scalar(Number::Int(1), dtype)?;
        let below = n.op("ng.sub", &[quotient, one])?;
        let differ = signs_differ(n, rest, y)?;
        let quotient = n.op("ng.where", &[differ, below, quotient])?;
        if !dtype.is_float() {
            return Ok(quotient);
        }
        // The division has rounded what is a whole number: the nearest one, the lower of two.
        let floor = n.op("ng.floor", &[quotient])?;
        let (over, half) = (n.op("ng.sub", &[quotient, floor])?, n.scalar(Number::Float(0.5), dtype)?);
        let up = n.emit("ng.compare", &[over, half], [("direction", Attr::from("GT"))])?;
        let above = n.op("ng.add", &[floor, one])?;
        let nearest = n.op("ng.where", &[up, above, floor])?;
        let zero = n.scalar(Number::Int(0), dtype)?;
        let pole = n.emit("ng.compare", &[y, zero], [("direction", Attr::from("EQ"))])?;
        let infinite = n.op("ng.div", &[x, y])?;
        n.op("ng.where", &[pole, infinite, nearest])
    })
}

/// Powers that torch computes by other functions are those functions. In f16 it does so for 2 alone.
fn pow(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("exponent")?);
    let dtype = common(n, &[x, y])?;
    Ok(vec![power(n, x, y, dtype)?])
}

/// In f64, whatever the operands are.
fn float_power(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = (n.operand("self")?, n.operand("exponent")?);
    Ok(vec![power(n, x, y, DType::Float(Format::F64))?])
}

fn power(n: &mut Node<'_, '_>, x: Operand, y: Operand, dtype: DType) -> Result<Value> {
    if let (Operand::Tensor(x), Operand::Number(exponent)) = (x, y) {
        let x = n.convert(x, dtype)?;
        let special = dtype.is_float() && dtype != DType::Float(Format::F16);
        let ops: &[&str] = match fitting(exponent, dtype)?.to_f64() {
            1.0 => &[],
            2.0 => &["ng.square"],
            3.0 if special => {
                let square = n.op("ng.square", &[x])?;
                return n.op("ng.mul", &[square, x]);
            }
            0.5 if special => &["ng.sqrt"],
            -0.5 if special => &["ng.rsqrt"],
            -1.0 if dtype.is_float() => &["ng.reciprocal"],
            -2.0 if special => &["ng.square", "ng.reciprocal"],
            _ => {
                let y = n.scalar(exponent, dtype)?;
                return n.op("ng.pow", &[x, y]);
            }
        };
        return ops.iter().try_fold(x, |x, op| n.op(op, &[x]));
    }
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    n.op("ng.pow", &[x, y])
}

fn clamp(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = Operand::Tensor(n.tensor("self")?);
    let (low, high) = (bound(n, "min")?, bound(n, "max")?);
    let all: Vec<Operand> = [Some(x), low, high].into_iter().flatten().collect();
    let dtype = common(n, &all)?;
    let x = n.in_type(x, dtype)?;
    let mut to = |o: Option<Operand>| o.map(|o| n.fitted(o, dtype)).transpose();
    let (low, high) = (to(low)?, to(high)?);
    let value = match (low, high) {
        (Some(low), Some(high)) => n.op("ng.clamp", &[x, low, high])?,
        (Some(low), None) => n.op("ng.max", &[x, low])?,
        (None, Some(high)) => n.op("ng.min", &[x, high])?,
        (None, None) => x,
    };
    Ok(vec![value])
}

fn bound(n: &mut Node<'_, '_>, name: &str) -> Result<Option<Operand>> {
    n.has(name).then(|| n.operand(name)).transpose()
}

fn to_copy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore_place();
    n.ignore(&["copy"]);
    let x = n.tensor("self")?;
    let to = match n.has("other") {
        true => {
            let other = n.tensor("other")?;
            Some(n.elem(other)?)
        }
        false => n.opt_dtype("dtype")?,
    };
    match to {
        Some(to) => Ok(vec![n.convert(x, to)?]),
        None => Ok(vec![x]),
    }
}
