//! Functions of elements that a runtime may lack, by steps that are as accurate to a few units in the last place: no step
//! cancels or overflows where the function itself does not. Steps of narrow formats are taken in f32.

use ngc_ir::{Attr, AttrDict, Builder, Value};
use ngc_numerics::{DType, Format};

use crate::step::{Step, Steps, convert, is_narrow};

type Result<T> = std::result::Result<T, String>;

/// The steps of an op that is one of the functions.
pub(crate) fn of(step: &Step) -> Option<Steps> {
    let (_, function) = FUNCTIONS.iter().find(|(name, _)| *name == step.def.name)?;
    Some(Box::new(|b, s| Ok(vec![apply(b, *function, &s.operands)?])))
}

/// The value of the function that an op is.
pub(crate) fn emit(b: &mut Builder<'_>, op: &str, operands: &[Value]) -> Result<Value> {
    let found = FUNCTIONS.iter().find(|(name, _)| *name == op);
    let (_, function) = found.ok_or_else(|| format!("'{op}' is no function of elements"))?;
    apply(b, *function, operands)
}

fn apply(b: &mut Builder<'_>, function: Function, operands: &[Value]) -> Result<Value> {
    let own = operands.first().and_then(|&x| b.ty(x).elem());
    let narrow = own.filter(|elem| matches!(elem, DType::Float(f) if is_narrow(*f)));
    let Some(narrow) = narrow else { return function(&mut Math { b }, operands) };
    let wide =
        operands.iter().map(|&x| convert(b, x, DType::Float(Format::F32))).collect::<Result<Vec<Value>>>()?;
    let value = function(&mut Math { b }, &wide)?;
    convert(b, value, narrow)
}

type Function = fn(&mut Math<'_, '_>, &[Value]) -> Result<Value>;

const FUNCTIONS: &[(&str, Function)] = &[
    ("ng.atan2", |m, x| atan2(m, given(x)?)),
    ("ng.cbrt", |m, x| cbrt(m, given(x)?)),
    ("ng.expm1", |m, x| expm1(m, given(x)?)),
    ("ng.exprel", |m, x| exprel(m, given(x)?)),
    ("ng.hypot", |m, x| hypot(m, given(x)?)),
    ("ng.log10", |m, x| over_logarithm(m, given(x)?, std::f64::consts::LN_10)),
    ("ng.log1p", |m, x| log1p(m, given(x)?)),
    ("ng.log2", |m, x| over_logarithm(m, given(x)?, std::f64::consts::LN_2)),
    ("ng.logaddexp", |m, x| logaddexp(m, given(x)?)),
    ("ng.sinc", |m, x| sinc(m, given(x)?)),
    ("ng.stumpff2", |m, x| stumpff2(m, given(x)?)),
    ("ng.stumpff3", |m, x| stumpff3(m, given(x)?)),
    ("ng.xlogy", |m, x| xlogy(m, given(x)?)),
];

fn given<const N: usize>(operands: &[Value]) -> Result<[Value; N]> {
    operands.try_into().map_err(|_| format!("has {} operands, not {N}", operands.len()))
}

/// Emits elementwise ops.
pub(crate) struct Math<'x, 'b> {
    pub b: &'x mut Builder<'b>,
}

impl Math<'_, '_> {
    pub fn unary(&mut self, name: &str, x: Value) -> Result<Value> {
        self.b.emit(name, &[x], AttrDict::EMPTY)
    }

    pub fn binary(&mut self, name: &str, x: Value, y: Value) -> Result<Value> {
        self.b.emit(name, &[x, y], AttrDict::EMPTY)
    }

    pub fn compare(&mut self, direction: &str, x: Value, y: Value) -> Result<Value> {
        self.b.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
    }

    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Result<Value> {
        self.b.emit("ng.where", &[condition, yes, no], AttrDict::EMPTY)
    }

    pub fn number(&mut self, value: f64, like: Value) -> Result<Value> {
        self.b.scalar(value, like)
    }

    pub fn times(&mut self, factor: f64, x: Value) -> Result<Value> {
        let factor = self.number(factor, x)?;
        self.binary("ng.mul", factor, x)
    }

    pub fn plus(&mut self, summand: f64, x: Value) -> Result<Value> {
        let summand = self.number(summand, x)?;
        self.binary("ng.add", x, summand)
    }

    /// x, or another value where x is negative.
    pub fn unless_negative(&mut self, x: Value, below: Value) -> Result<Value> {
        let zero = self.number(0.0, x)?;
        let above = self.compare("GE", x, zero)?;
        self.select(above, x, below)
    }

    /// Whether |x| < bound.
    pub fn within(&mut self, x: Value, bound: f64) -> Result<Value> {
        let (size, bound) = (self.unary("ng.abs", x)?, self.number(bound, x)?);
        self.compare("LT", size, bound)
    }
}

/// 2 t / (1 - t) with t = tanh(x / 2) where |x| < 1, else e^x - 1.
fn expm1(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let half = m.times(0.5, x)?;
    let t = m.unary("ng.tanh", half)?;
    let (double, one) = (m.binary("ng.add", t, t)?, m.number(1.0, x)?);
    let rest = m.binary("ng.sub", one, t)?;
    let near = m.binary("ng.div", double, rest)?;
    let power = m.unary("ng.exp", x)?;
    let far = m.binary("ng.sub", power, one)?;
    let small = m.within(x, 1.0)?;
    m.select(small, near, far)
}

/// (e^x - 1) / x, and 1 at 0; from 1 on by e^(x/2), which overflows later, and by a divisor that stays finite.
fn exprel(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let power = m.unary("ng.expm1", x)?;
    let quotient = m.binary("ng.div", power, x)?;
    let origin = m.compare("EQ", x, zero)?;
    let near = m.select(origin, one, quotient)?;
    let half = m.times(0.5, x)?;
    let root = m.unary("ng.exp", half)?;
    let most = m.number(1e30, x)?;
    let divisor = m.binary("ng.min", x, most)?;
    let part = m.binary("ng.div", root, divisor)?;
    let whole = m.binary("ng.mul", root, part)?;
    let reciprocal = m.unary("ng.reciprocal", x)?;
    let far = m.binary("ng.sub", whole, reciprocal)?;
    let small = m.compare("LT", x, one)?;
    m.select(small, near, far)
}

/// sin(x) / x, 1 at 0, and 0 at the infinities.
fn sinc(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let sine = m.unary("ng.sin", x)?;
    let quotient = m.binary("ng.div", sine, x)?;
    let origin = m.compare("EQ", x, zero)?;
    let near = m.select(origin, one, quotient)?;
    let infinite = m.unary("ng.is_inf", x)?;
    m.select(infinite, zero, near)
}

/// (1 - cos x) / x², the half of the square of sin(x / 2) / (x / 2).
fn stumpff2(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let half = m.times(0.5, x)?;
    let root = sinc(m, [half])?;
    let square = m.binary("ng.mul", root, root)?;
    m.times(0.5, square)
}

/// The series Σ (-x²)^i / (2i + 3)! where |x| < 1, nested, else (x - sin x) / x³; 0 at the infinities.
fn stumpff3(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let (zero, square) = (m.number(0.0, x)?, m.binary("ng.mul", x, x)?);
    let mut bracket = m.number(1.0, x)?;
    for i in (0..9).rev().map(f64::from) {
        let divisor = m.number(-(2.0 * i + 4.0) * (2.0 * i + 5.0), x)?;
        let step = m.binary("ng.div", square, divisor)?;
        let term = m.binary("ng.mul", step, bracket)?;
        bracket = m.plus(1.0, term)?;
    }
    let six = m.number(6.0, x)?;
    let near = m.binary("ng.div", bracket, six)?;
    let sine = m.unary("ng.sin", x)?;
    let mut far = m.binary("ng.sub", x, sine)?;
    for _ in 0..3 {
        far = m.binary("ng.div", far, x)?;
    }
    let small = m.within(x, 1.0)?;
    let value = m.select(small, near, far)?;
    let infinite = m.unary("ng.is_inf", x)?;
    m.select(infinite, zero, value)
}

/// log(u) + (x - (u - 1)) / u with u = 1 + x where |x| < 1, else log(u): the second term is what rounding took from u;
/// where that was all of x, x itself.
fn log1p(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let one = m.number(1.0, x)?;
    let u = m.binary("ng.add", x, one)?;
    let log = m.unary("ng.log", u)?;
    let kept = m.binary("ng.sub", u, one)?;
    let lost = m.binary("ng.sub", x, kept)?;
    let correction = m.binary("ng.div", lost, u)?;
    let near = m.binary("ng.add", log, correction)?;
    let small = m.within(x, 1.0)?;
    let value = m.select(small, near, log)?;
    let vanished = m.compare("EQ", u, one)?;
    m.select(vanished, x, value)
}

/// log x / log base.
fn over_logarithm(m: &mut Math<'_, '_>, [x]: [Value; 1], base: f64) -> Result<Value> {
    let (log, base) = (m.unary("ng.log", x)?, m.number(base, x)?);
    m.binary("ng.div", log, base)
}

/// A power, and one step of Newton's method where that has a finite value other than 0.
fn cbrt(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let size = m.unary("ng.abs", x)?;
    let third = m.number(1.0 / 3.0, x)?;
    let y = m.binary("ng.pow", size, third)?;
    let square = m.binary("ng.mul", y, y)?;
    let quotient = m.binary("ng.div", size, square)?;
    let double = m.binary("ng.add", y, y)?;
    let sum = m.binary("ng.add", double, quotient)?;
    let three = m.number(3.0, x)?;
    let better = m.binary("ng.div", sum, three)?;
    let (zero, infinity) = (m.number(0.0, x)?, m.number(f64::INFINITY, x)?);
    let (positive, finite) = (m.compare("GT", y, zero)?, m.compare("LT", y, infinity)?);
    let regular = m.binary("ng.and", positive, finite)?;
    let root = m.select(regular, better, y)?;
    let sign = m.unary("ng.sign", x)?;
    m.binary("ng.mul", sign, root)
}

/// a √(1 + (b / a)²) with a the greater size.
fn hypot(m: &mut Math<'_, '_>, [x, y]: [Value; 2]) -> Result<Value> {
    let (x, y) = (m.unary("ng.abs", x)?, m.unary("ng.abs", y)?);
    let (great, less) = (m.binary("ng.max", x, y)?, m.binary("ng.min", x, y)?);
    let ratio = m.binary("ng.div", less, great)?;
    let square = m.binary("ng.mul", ratio, ratio)?;
    let sum = m.plus(1.0, square)?;
    let root = m.unary("ng.sqrt", sum)?;
    let product = m.binary("ng.mul", great, root)?;
    let (zero, infinity) = (m.number(0.0, x)?, m.number(f64::INFINITY, x)?);
    let none = m.compare("EQ", great, zero)?;
    let regular = m.select(none, great, product)?;
    // Infinite beside NaN too.
    let (first, second) = (m.compare("EQ", x, infinity)?, m.compare("EQ", y, infinity)?);
    let infinite = m.binary("ng.or", first, second)?;
    m.select(infinite, infinity, regular)
}

/// max(x, y) + softplus(-|x - y|); of equal values x + log 2, which holds for infinities.
fn logaddexp(m: &mut Math<'_, '_>, [x, y]: [Value; 2]) -> Result<Value> {
    let difference = m.binary("ng.sub", x, y)?;
    let size = m.unary("ng.abs", difference)?;
    let negative = m.unary("ng.neg", size)?;
    let more = m.unary("ng.softplus", negative)?;
    let greatest = m.binary("ng.max", x, y)?;
    let sum = m.binary("ng.add", greatest, more)?;
    let doubled = m.plus(std::f64::consts::LN_2, greatest)?;
    let equal = m.compare("EQ", x, y)?;
    m.select(equal, doubled, sum)
}

/// x log y, and 0 where x is 0 and y is a number.
fn xlogy(m: &mut Math<'_, '_>, [x, y]: [Value; 2]) -> Result<Value> {
    let log = m.unary("ng.log", y)?;
    let product = m.binary("ng.mul", x, log)?;
    let zero = m.number(0.0, x)?;
    let none = m.compare("EQ", x, zero)?;
    let number = m.compare("EQ", y, y)?;
    let vanishes = m.binary("ng.and", none, number)?;
    m.select(vanishes, zero, product)
}

/// The arc tangent of |y / x|, mirrored into the quadrant of (x, y).
fn atan2(m: &mut Math<'_, '_>, [y, x]: [Value; 2]) -> Result<Value> {
    let (a, b) = (m.unary("ng.abs", y)?, m.unary("ng.abs", x)?);
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let (infinity, quotient) = (m.number(f64::INFINITY, x)?, m.binary("ng.div", a, b)?);
    // 0 / 0 is 0 here, and inf / inf is 1.
    let (no_y, both) = (m.compare("EQ", a, zero)?, m.compare("EQ", a, b)?);
    let endless = m.compare("EQ", a, infinity)?;
    let (origin, corner) = (m.binary("ng.and", no_y, both)?, m.binary("ng.and", endless, both)?);
    let quotient = m.select(origin, zero, quotient)?;
    let quotient = m.select(corner, one, quotient)?;
    let angle = m.unary("ng.atan", quotient)?;
    let left = negative(m, x)?;
    let pi = m.number(std::f64::consts::PI, x)?;
    let mirrored = m.binary("ng.sub", pi, angle)?;
    let angle = m.select(left, mirrored, angle)?;
    let below = negative(m, y)?;
    let opposite = m.unary("ng.neg", angle)?;
    m.select(below, opposite, angle)
}

/// Whether the sign is minus, that of a zero too.
fn negative(m: &mut Math<'_, '_>, x: Value) -> Result<Value> {
    let inverse = m.unary("ng.reciprocal", x)?;
    let zero = m.number(0.0, x)?;
    let (less, inverse_less) = (m.compare("LT", x, zero)?, m.compare("LT", inverse, zero)?);
    m.binary("ng.or", less, inverse_less)
}
