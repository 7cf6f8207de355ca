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
    ("ng.erfc", |m, x| erfc(m, given(x)?)),
    ("ng.erfcx", |m, x| erfcx(m, given(x)?)),
    ("ng.expm1", |m, x| expm1(m, given(x)?)),
    ("ng.exprel", |m, x| exprel(m, given(x)?)),
    ("ng.exprel2", |m, x| exprel2(m, given(x)?)),
    ("ng.exprel_slope", |m, x| exprel_slope(m, given(x)?)),
    ("ng.hypot", |m, x| hypot(m, given(x)?)),
    ("ng.log10", |m, x| over_logarithm(m, given(x)?, std::f64::consts::LN_10)),
    ("ng.log1p", |m, x| log1p(m, given(x)?)),
    ("ng.log2", |m, x| over_logarithm(m, given(x)?, std::f64::consts::LN_2)),
    ("ng.logaddexp", |m, x| logaddexp(m, given(x)?)),
    ("ng.sinc", |m, x| sinc(m, given(x)?)),
    ("ng.stirling_error", |m, x| stirling_error(m, given(x)?)),
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

    /// The nested series 1 + x/d₁ (1 + x/d₂ (...)).
    fn nested(&mut self, x: Value, divisors: impl DoubleEndedIterator<Item = f64>) -> Result<Value> {
        let mut bracket = self.number(1.0, x)?;
        for divisor in divisors.rev() {
            let divisor = self.number(divisor, x)?;
            let step = self.binary("ng.div", x, divisor)?;
            let term = self.binary("ng.mul", step, bracket)?;
            bracket = self.plus(1.0, term)?;
        }
        Ok(bracket)
    }

    /// c₀ + x (c₁ + x (c₂ + ...)).
    fn polynomial(&mut self, coefficients: &[f64], x: Value) -> Result<Value> {
        let (last, others) = coefficients.split_last().ok_or("a polynomial has coefficients")?;
        let mut sum = self.number(*last, x)?;
        for &coefficient in others.iter().rev() {
            let product = self.binary("ng.mul", sum, x)?;
            sum = self.plus(coefficient, product)?;
        }
        Ok(sum)
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

/// e^(x/2), the number itself but finite above, and their quotient: e^x overflows before what is divided by x does.
fn half_exponential(m: &mut Math<'_, '_>, x: Value) -> Result<[Value; 3]> {
    let half = m.times(0.5, x)?;
    let root = m.unary("ng.exp", half)?;
    let most = m.number(1e30, x)?;
    let divisor = m.binary("ng.min", x, most)?;
    Ok([root, divisor, m.binary("ng.div", root, divisor)?])
}

/// (e^x - 1) / x, and 1 at 0; from 1 on by e^(x/2), which overflows later, and by a divisor that stays finite.
fn exprel(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let power = m.unary("ng.expm1", x)?;
    let quotient = m.binary("ng.div", power, x)?;
    let origin = m.compare("EQ", x, zero)?;
    let near = m.select(origin, one, quotient)?;
    let [root, _, part] = half_exponential(m, x)?;
    let whole = m.binary("ng.mul", root, part)?;
    let reciprocal = m.unary("ng.reciprocal", x)?;
    let far = m.binary("ng.sub", whole, reciprocal)?;
    let small = m.compare("LT", x, one)?;
    m.select(small, near, far)
}

/// The series Σ x^i / (i + 2)! where |x| < 2, nested, else (e^(x/2) / x)² - (1 + 1/x) / x with a divisor that stays finite.
fn exprel2(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let bracket = m.nested(x, (3..27).map(f64::from))?;
    let near = m.times(0.5, bracket)?;
    let [_, _, part] = half_exponential(m, x)?;
    let power = m.binary("ng.mul", part, part)?;
    let reciprocal = m.unary("ng.reciprocal", x)?;
    let sum = m.plus(1.0, reciprocal)?;
    let line = m.binary("ng.mul", sum, reciprocal)?;
    let far = m.binary("ng.sub", power, line)?;
    let small = m.within(x, 2.0)?;
    m.select(small, near, far)
}

/// The series Σ x^i / (i! (i + 2)) where |x| < 2, nested, else (e^(x/2) / x)² (x - 1) + 1/x² with numbers that stay finite.
fn exprel_slope(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let bracket = m.nested(x, (0..28).map(f64::from).map(|i| (i + 1.0) * (i + 3.0) / (i + 2.0)))?;
    let near = m.times(0.5, bracket)?;
    let [_, below, part] = half_exponential(m, x)?;
    let (least, one) = (m.number(-1e30, x)?, m.number(1.0, x)?);
    let finite = m.binary("ng.max", below, least)?;
    let rest = m.binary("ng.sub", finite, one)?;
    let product = m.binary("ng.mul", part, rest)?;
    let power = m.binary("ng.mul", product, part)?;
    let reciprocal = m.unary("ng.reciprocal", x)?;
    let square = m.binary("ng.mul", reciprocal, reciprocal)?;
    let far = m.binary("ng.add", power, square)?;
    let small = m.within(x, 2.0)?;
    m.select(small, near, far)
}

/// Powers of u = 2 t - 1 in log(erfc(x) e^(x²) / t) with t = 1 / (1 + x / 2), for x ≥ 0: its interpolation at 28 Chebyshev
/// nodes, which is right to 6.3e-18 before the coefficients are rounded.
const ERFCX: [f64; 28] = [
    -0.6717940840566923,
    0.6726432239776567,
    0.04734330684190473,
    -0.046895610231182674,
    -0.009872689366406727,
    0.008824938557327763,
    0.001758933558165434,
    -0.002345812504982584,
    -0.00014624686754045134,
    0.0006736788382506061,
    -9.373500301998985e-05,
    -0.00017430319942974635,
    7.140089189099235e-05,
    3.174616564355679e-05,
    -3.0187528842243815e-05,
    1.3509102932957954e-07,
    8.56191490492248e-06,
    -2.9430926821341833e-06,
    -1.271343067023655e-06,
    1.2437191416721655e-06,
    -1.6939237579995655e-07,
    -2.4404662375581676e-07,
    1.538760666928522e-07,
    -1.711069646695314e-09,
    -3.9356533447809914e-08,
    1.2225710551260416e-08,
    4.089222480896167e-09,
    -2.0464670329192375e-09,
];

/// An error function in f64, of which f32 keeps its digits far out: t e^(p(u)) for |x|, which is e^(x²) erfc(|x|), and
/// e^(x²) or e^(-x²), from which `join` makes the value where x is negative or is not.
fn by_scaled(
    m: &mut Math<'_, '_>,
    x: Value,
    sign: f64,
    join: impl FnOnce(&mut Math<'_, '_>, Value, Value) -> Result<[Value; 2]>,
) -> Result<Value> {
    let own = m.b.ty(x).elem().ok_or("has no element type")?;
    let (f32, f64) = (DType::Float(Format::F32), DType::Float(Format::F64));
    let x = convert(m.b, x, f64)?;
    let size = m.unary("ng.abs", x)?;
    let half = m.times(0.5, size)?;
    let divisor = m.plus(1.0, half)?;
    let t = m.unary("ng.reciprocal", divisor)?;
    let double = m.binary("ng.add", t, t)?;
    let u = m.plus(-1.0, double)?;
    let p = m.polynomial(&ERFCX, u)?;
    let power = m.unary("ng.exp", p)?;
    let scaled = m.binary("ng.mul", t, power)?;
    // The square of half the digits is exact; the rest of the square is small. From 64 on neither exponential changes.
    let most = m.number(64.0, x)?;
    let size = m.binary("ng.min", size, most)?;
    let short = convert(m.b, size, f32)?;
    let short = convert(m.b, short, f64)?;
    let (rest, sum) = (m.binary("ng.sub", size, short)?, m.binary("ng.add", size, short)?);
    let (square, rest) = (m.binary("ng.mul", short, short)?, m.binary("ng.mul", sum, rest)?);
    let (square, rest) = (m.times(sign, square)?, m.times(sign, rest)?);
    let (square, rest) = (m.unary("ng.exp", square)?, m.unary("ng.exp", rest)?);
    let gauss = m.binary("ng.mul", square, rest)?;
    let [right, left] = join(m, scaled, gauss)?;
    let zero = m.number(0.0, x)?;
    let negative = m.compare("LT", x, zero)?;
    let value = m.select(negative, left, right)?;
    convert(m.b, value, own)
}

/// e^(-x²) times what is scaled, from 2 for negative x.
fn erfc(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    by_scaled(m, x, -1.0, |m, scaled, gauss| {
        let right = m.binary("ng.mul", scaled, gauss)?;
        let two = m.number(2.0, right)?;
        Ok([right, m.binary("ng.sub", two, right)?])
    })
}

/// What is scaled, from 2 e^(x²) for negative x.
fn erfcx(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    by_scaled(m, x, 1.0, |m, scaled, gauss| {
        let twice = m.binary("ng.add", gauss, gauss)?;
        Ok([scaled, m.binary("ng.sub", twice, scaled)?])
    })
}

/// Powers of v = 1 - 2 / (x + 1/2) in x times what Stirling's formula lacks, for x ≥ 1/2: its interpolation at 24 Chebyshev nodes,
/// which is right to 1.5e-17 before the coefficients are rounded.
const STIRLING: [f64; 24] = [
    0.08222118157787649,
    0.0027028397150717235,
    -0.0021244285025754745,
    0.0005897429157812293,
    -6.453986213523393e-05,
    1.6869926950161997e-05,
    -8.620127123260763e-06,
    3.617042084940956e-07,
    -3.7236351535325607e-07,
    2.2057738911809043e-07,
    5.141157445444165e-08,
    3.391805112093227e-08,
    9.47104925430535e-10,
    -2.8655273835250116e-09,
    -3.6322150043114363e-09,
    -1.743219273853043e-09,
    -3.765259662733431e-10,
    -3.696217013811642e-11,
    -2.0295338627440663e-10,
    5.380942433191637e-11,
    2.8636698115150066e-10,
    1.0185774489519246e-10,
    -5.920566054734947e-11,
    -3.07503601451985e-11,
];

/// A polynomial over x; below 1/2 by the value at x + 1, to which (x + 1/2) log(1 + 1/x) - 1 is added.
fn stirling_error(m: &mut Math<'_, '_>, [x]: [Value; 1]) -> Result<Value> {
    let (one, half) = (m.number(1.0, x)?, m.number(0.5, x)?);
    let next = m.binary("ng.add", x, one)?;
    let low = m.compare("LT", x, half)?;
    let y = m.select(low, next, x)?;
    let two = m.number(2.0, x)?;
    let above = m.plus(0.5, y)?;
    let part = m.binary("ng.div", two, above)?;
    let v = m.binary("ng.sub", one, part)?;
    let p = m.polynomial(&STIRLING, v)?;
    let far = m.binary("ng.div", p, y)?;
    let (over, under) = (log1p(m, [x])?, m.unary("ng.log", x)?);
    let log = m.binary("ng.sub", over, under)?;
    let middle = m.plus(0.5, x)?;
    let product = m.binary("ng.mul", middle, log)?;
    let step = m.plus(-1.0, product)?;
    let near = m.binary("ng.add", far, step)?;
    m.select(low, near, far)
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
    let divisors = (0..9).map(f64::from).map(|i| -(2.0 * i + 4.0) * (2.0 * i + 5.0));
    let bracket = m.nested(square, divisors)?;
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
