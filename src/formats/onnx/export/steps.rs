//! Ops that ONNX lacks, by steps that are as accurate to a few units in the last place: no step cancels or overflows
//! where the op itself does not. Steps of narrow formats are taken in f32.

use ngc_ir::{Attr, AttrDict, Builder, Dim, Type, Value};
use ngc_numerics::{DType, Format};

use crate::step::{Step, Steps, convert, is_narrow, widened};

type Result<T> = std::result::Result<T, String>;

/// The steps of an op that ONNX does not have, or not of these elements.
pub(super) fn of(step: &Step) -> Option<Steps> {
    match step.elem(0)? {
        DType::Int(1 | 8 | 16) => return Some(widened(DType::Int(32))),
        DType::Float(Format::F8E4M3FN | Format::F8E5M2) => return Some(widened(DType::Float(Format::F32))),
        _ => {}
    }
    let (_, steps) = STEPS.iter().find(|(name, _)| *name == step.def.name)?;
    if step.def.name != "ng.topk" && step.format().is_some_and(is_narrow) {
        return Some(widened(DType::Float(Format::F32)));
    }
    Some(Box::new(steps))
}

type Emit = fn(&mut Builder<'_>, &Step) -> Result<Vec<Value>>;

const STEPS: &[(&str, Emit)] = &[
    ("ng.adaptive_avg_pool", |b, s| adaptive(b, s, "ng.avg_pool", "ng.reduce_mean")),
    ("ng.adaptive_max_pool", |b, s| adaptive(b, s, "ng.max_pool", "ng.reduce_max")),
    ("ng.atan2", |b, s| atan2(&mut Math { b }, s.operands[0], s.operands[1])),
    ("ng.avg_pool", pool),
    ("ng.cbrt", |b, s| cbrt(&mut Math { b }, s.operands[0])),
    ("ng.clamp", |b, s| {
        let mut m = Math { b };
        let above = m.binary("ng.max", s.operands[0], s.operands[1])?;
        Ok(vec![m.binary("ng.min", above, s.operands[2])?])
    }),
    ("ng.compare", |b, s| {
        let mut m = Math { b };
        let equal = m.compare("EQ", s.operands[0], s.operands[1])?;
        Ok(vec![m.unary("ng.not", equal)?])
    }),
    ("ng.cumprod", cumprod),
    ("ng.elu", |b, s| elu(&mut Math { b }, s, 1.0)),
    ("ng.erfc", erfc),
    ("ng.exp2", |b, s| {
        let two = b.scalar(2.0, s.operands[0])?;
        Ok(vec![b.emit("ng.pow", &[two, s.operands[0]], AttrDict::EMPTY)?])
    }),
    ("ng.expm1", |b, s| Ok(vec![expm1(&mut Math { b }, s.operands[0])?])),
    ("ng.exprel", |b, s| exprel(&mut Math { b }, s.operands[0])),
    ("ng.fma", fma),
    ("ng.hardsigmoid", |b, s| {
        let (mut m, get) = (Math { b }, |name| s.signature().float(name).unwrap_or_default());
        let scaled = m.times(get("alpha"), s.operands[0])?;
        let line = m.plus(get("beta"), scaled)?;
        let (zero, one) = (m.number(0.0, line)?, m.number(1.0, line)?);
        Ok(vec![m.b.emit("ng.clamp", &[line, zero, one], AttrDict::EMPTY)?])
    }),
    ("ng.hypot", |b, s| hypot(&mut Math { b }, s.operands[0], s.operands[1])),
    ("ng.is_finite", |b, s| {
        let mut m = Math { b };
        let (infinite, nan) = (m.unary("ng.is_inf", s.operands[0])?, m.unary("ng.is_nan", s.operands[0])?);
        let neither = m.binary("ng.or", infinite, nan)?;
        Ok(vec![m.unary("ng.not", neither)?])
    }),
    ("ng.leaky_relu", |b, s| {
        let mut m = Math { b };
        let below = m.times(s.signature().float("alpha").unwrap_or_default(), s.operands[0])?;
        m.unless_negative(s.operands[0], below)
    }),
    ("ng.log10", |b, s| over_logarithm(&mut Math { b }, s.operands[0], std::f64::consts::LN_10)),
    ("ng.log1p", |b, s| log1p(&mut Math { b }, s.operands[0])),
    ("ng.log2", |b, s| over_logarithm(&mut Math { b }, s.operands[0], std::f64::consts::LN_2)),
    ("ng.log_sigmoid", |b, s| {
        let mut m = Math { b };
        let negative = m.unary("ng.neg", s.operands[0])?;
        let softplus = m.unary("ng.softplus", negative)?;
        Ok(vec![m.unary("ng.neg", softplus)?])
    }),
    ("ng.logaddexp", |b, s| logaddexp(&mut Math { b }, s.operands[0], s.operands[1])),
    ("ng.max_pool", pool),
    ("ng.prelu", |b, s| {
        let mut m = Math { b };
        let below = m.binary("ng.mul", s.operands[1], s.operands[0])?;
        m.unless_negative(s.operands[0], below)
    }),
    ("ng.rsqrt", |b, s| {
        let mut m = Math { b };
        let root = m.unary("ng.sqrt", s.operands[0])?;
        Ok(vec![m.unary("ng.reciprocal", root)?])
    }),
    ("ng.selu", |b, s| elu(&mut Math { b }, s, s.signature().float("gamma").unwrap_or(1.0))),
    ("ng.silu", |b, s| {
        let mut m = Math { b };
        let gate = m.unary("ng.sigmoid", s.operands[0])?;
        Ok(vec![m.binary("ng.mul", s.operands[0], gate)?])
    }),
    ("ng.sinc", |b, s| Ok(vec![sinc(&mut Math { b }, s.operands[0])?])),
    ("ng.stumpff2", |b, s| {
        let mut m = Math { b };
        let half = m.times(0.5, s.operands[0])?;
        let root = sinc(&mut m, half)?;
        let square = m.binary("ng.mul", root, root)?;
        Ok(vec![m.times(0.5, square)?])
    }),
    ("ng.stumpff3", |b, s| stumpff3(&mut Math { b }, s.operands[0])),
    ("ng.square", |b, s| Ok(vec![b.emit("ng.mul", &[s.operands[0], s.operands[0]], AttrDict::EMPTY)?])),
    ("ng.topk", topk_in_place),
    ("ng.xlogy", |b, s| xlogy(&mut Math { b }, s.operands[0], s.operands[1])),
];

/// Emits elementwise ops.
struct Math<'x, 'b> {
    b: &'x mut Builder<'b>,
}

impl Math<'_, '_> {
    fn unary(&mut self, name: &str, x: Value) -> Result<Value> {
        self.b.emit(name, &[x], AttrDict::EMPTY)
    }

    fn binary(&mut self, name: &str, x: Value, y: Value) -> Result<Value> {
        self.b.emit(name, &[x, y], AttrDict::EMPTY)
    }

    fn compare(&mut self, direction: &str, x: Value, y: Value) -> Result<Value> {
        self.b.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))])
    }

    fn select(&mut self, condition: Value, yes: Value, no: Value) -> Result<Value> {
        self.b.emit("ng.where", &[condition, yes, no], AttrDict::EMPTY)
    }

    fn number(&mut self, value: f64, like: Value) -> Result<Value> {
        self.b.scalar(value, like)
    }

    fn times(&mut self, factor: f64, x: Value) -> Result<Value> {
        let factor = self.number(factor, x)?;
        self.binary("ng.mul", factor, x)
    }

    fn plus(&mut self, summand: f64, x: Value) -> Result<Value> {
        let summand = self.number(summand, x)?;
        self.binary("ng.add", x, summand)
    }

    /// x, or another value where x is negative.
    fn unless_negative(&mut self, x: Value, below: Value) -> Result<Vec<Value>> {
        let zero = self.number(0.0, x)?;
        let above = self.compare("GE", x, zero)?;
        Ok(vec![self.select(above, x, below)?])
    }

    /// Whether |x| < bound.
    fn within(&mut self, x: Value, bound: f64) -> Result<Value> {
        let (size, bound) = (self.unary("ng.abs", x)?, self.number(bound, x)?);
        self.compare("LT", size, bound)
    }
}

/// 2 t / (1 - t) with t = tanh(x / 2) where |x| < 1, else e^x - 1.
fn expm1(m: &mut Math<'_, '_>, x: Value) -> Result<Value> {
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
fn exprel(m: &mut Math<'_, '_>, x: Value) -> Result<Vec<Value>> {
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let power = expm1(m, x)?;
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
    Ok(vec![m.select(small, near, far)?])
}

/// sin(x) / x, 1 at 0, and 0 at the infinities.
fn sinc(m: &mut Math<'_, '_>, x: Value) -> Result<Value> {
    let (zero, one) = (m.number(0.0, x)?, m.number(1.0, x)?);
    let sine = m.unary("ng.sin", x)?;
    let quotient = m.binary("ng.div", sine, x)?;
    let origin = m.compare("EQ", x, zero)?;
    let near = m.select(origin, one, quotient)?;
    let infinite = m.unary("ng.is_inf", x)?;
    m.select(infinite, zero, near)
}

/// The series Σ (-x²)^i / (2i + 3)! where |x| < 1, nested, else (x - sin x) / x³; 0 at the infinities.
fn stumpff3(m: &mut Math<'_, '_>, x: Value) -> Result<Vec<Value>> {
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
    Ok(vec![m.select(infinite, zero, value)?])
}

/// log(u) + (x - (u - 1)) / u with u = 1 + x where |x| < 1, else log(u): the second term is what rounding took from u;
/// where that was all of x, x itself.
fn log1p(m: &mut Math<'_, '_>, x: Value) -> Result<Vec<Value>> {
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
    Ok(vec![m.select(vanished, x, value)?])
}

/// log x / log base.
fn over_logarithm(m: &mut Math<'_, '_>, x: Value, base: f64) -> Result<Vec<Value>> {
    let (log, base) = (m.unary("ng.log", x)?, m.number(base, x)?);
    Ok(vec![m.binary("ng.div", log, base)?])
}

/// A power, and one step of Newton's method where that has a finite value other than 0.
fn cbrt(m: &mut Math<'_, '_>, x: Value) -> Result<Vec<Value>> {
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
    Ok(vec![m.binary("ng.mul", sign, root)?])
}

/// a √(1 + (b / a)²) with a the greater size.
fn hypot(m: &mut Math<'_, '_>, x: Value, y: Value) -> Result<Vec<Value>> {
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
    Ok(vec![m.select(infinite, infinity, regular)?])
}

/// max(x, y) + softplus(-|x - y|); of equal values x + log 2, which holds for infinities.
fn logaddexp(m: &mut Math<'_, '_>, x: Value, y: Value) -> Result<Vec<Value>> {
    let difference = m.binary("ng.sub", x, y)?;
    let size = m.unary("ng.abs", difference)?;
    let negative = m.unary("ng.neg", size)?;
    let more = m.unary("ng.softplus", negative)?;
    let greatest = m.binary("ng.max", x, y)?;
    let sum = m.binary("ng.add", greatest, more)?;
    let doubled = m.plus(std::f64::consts::LN_2, greatest)?;
    let equal = m.compare("EQ", x, y)?;
    Ok(vec![m.select(equal, doubled, sum)?])
}

/// x log y, and 0 where x is 0 and y is a number.
fn xlogy(m: &mut Math<'_, '_>, x: Value, y: Value) -> Result<Vec<Value>> {
    let log = m.unary("ng.log", y)?;
    let product = m.binary("ng.mul", x, log)?;
    let zero = m.number(0.0, x)?;
    let none = m.compare("EQ", x, zero)?;
    let number = m.compare("EQ", y, y)?;
    let vanishes = m.binary("ng.and", none, number)?;
    Ok(vec![m.select(vanishes, zero, product)?])
}

/// The arc tangent of |y / x|, mirrored into the quadrant of (x, y).
fn atan2(m: &mut Math<'_, '_>, y: Value, x: Value) -> Result<Vec<Value>> {
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
    Ok(vec![m.select(below, opposite, angle)?])
}

/// Whether the sign is minus, that of a zero too.
fn negative(m: &mut Math<'_, '_>, x: Value) -> Result<Value> {
    let inverse = m.unary("ng.reciprocal", x)?;
    let zero = m.number(0.0, x)?;
    let (less, inverse_less) = (m.compare("LT", x, zero)?, m.compare("LT", inverse, zero)?);
    m.binary("ng.or", less, inverse_less)
}

/// gamma times x, or times alpha (e^x - 1) below zero.
fn elu(m: &mut Math<'_, '_>, s: &Step, gamma: f64) -> Result<Vec<Value>> {
    let x = s.operands[0];
    let power = expm1(m, x)?;
    let below = m.times(s.signature().float("alpha").unwrap_or(1.0), power)?;
    let value = m.unless_negative(x, below)?;
    if gamma == 1.0 { Ok(value) } else { Ok(vec![m.times(gamma, value[0])?]) }
}

/// Powers of u = 2 t - 1 in log(erfc(x) e^(x²) / t) with t = 1 / (1 + x / 2), for x ≥ 0: its interpolation at 17 Chebyshev
/// nodes, by which erfc is right to 1.1e-11 of its value.
const ERFC: [f64; 17] = [
    -0.6717940840566923,
    0.6726432239714466,
    0.047343307107500454,
    -0.04689561002897558,
    -0.009872702153927387,
    0.008824939028766377,
    0.0017591138990826253,
    -0.0023458527461692903,
    -0.00014739452114340213,
    0.0006740252198303692,
    -8.983651326165292e-5,
    -0.00017567170415610324,
    6.381843486253417e-5,
    3.474780306260981e-5,
    -2.1670627453988148e-5,
    -3.7398054538525517e-6,
    3.3867018582967197e-6,
];

/// t e^(p(u) - x²) of |x|, mirrored for negative x; in f64, so that f32 keeps its digits far out.
fn erfc(b: &mut Builder<'_>, s: &Step) -> Result<Vec<Value>> {
    let Some(format) = s.format().filter(|&f| f != Format::F64) else {
        return Err("cannot be written: ONNX has no erfc, and no format wider than f64".into());
    };
    let x = convert(b, s.operands[0], DType::Float(Format::F64))?;
    let mut m = Math { b };
    let size = m.unary("ng.abs", x)?;
    let half = m.times(0.5, size)?;
    let divisor = m.plus(1.0, half)?;
    let t = m.unary("ng.reciprocal", divisor)?;
    let double = m.binary("ng.add", t, t)?;
    let u = m.plus(-1.0, double)?;
    let mut p = m.number(ERFC[16], x)?;
    for &coefficient in ERFC[..16].iter().rev() {
        let product = m.binary("ng.mul", p, u)?;
        p = m.plus(coefficient, product)?;
    }
    let square = m.binary("ng.mul", x, x)?;
    let exponent = m.binary("ng.sub", p, square)?;
    let power = m.unary("ng.exp", exponent)?;
    let right = m.binary("ng.mul", t, power)?;
    let two = m.number(2.0, x)?;
    let left = m.binary("ng.sub", two, right)?;
    let zero = m.number(0.0, x)?;
    let negative = m.compare("LT", x, zero)?;
    let value = m.select(negative, left, right)?;
    Ok(vec![convert(m.b, value, DType::Float(format))?])
}

/// In f64 the product of two f32 is exact; of f64 there is no wider format.
fn fma(b: &mut Builder<'_>, s: &Step) -> Result<Vec<Value>> {
    let Some(format) = s.format().filter(|&f| f != Format::F64) else {
        return Err("cannot be written: ONNX has no fused multiply-add, and no format wider than f64".into());
    };
    let mut wide = Vec::new();
    for &value in &s.operands {
        wide.push(convert(b, value, DType::Float(Format::F64))?);
    }
    let mut m = Math { b };
    let product = m.binary("ng.mul", wide[0], wide[1])?;
    let sum = m.binary("ng.add", product, wide[2])?;
    Ok(vec![convert(m.b, sum, DType::Float(format))?])
}

/// The greatest elements in their own order: their indices, sorted, pick them again.
fn topk_in_place(b: &mut Builder<'_>, s: &Step) -> Result<Vec<Value>> {
    let axis = Attr::int(s.axis(s.signature().int("axis").unwrap_or(-1), s.rank(0)));
    let mut attrs = s.attrs.clone();
    attrs.set("sorted", true);
    let top = b.op("ng.topk", &s.operands, attrs)?;
    let indices = b.body.result(top, 1);
    let sort = b.op("ng.sort", &[indices], [("axis", axis.clone())])?;
    let indices = b.body.result(sort, 0);
    let values = b.emit("ng.gather_elements", &[s.operands[0], indices], [("axis", axis)])?;
    Ok(vec![values, indices])
}

/// More than this many partial products are not written.
const MAX_PRODUCTS: usize = 2048;

/// Each product runs over all elements, with 1 in the place of those that do not count.
fn cumprod(b: &mut Builder<'_>, s: &Step) -> Result<Vec<Value>> {
    let x = s.operands[0];
    let axis = s.axis(s.signature().int("axis").unwrap_or_default(), s.rank(0));
    let extent = s.shape(0).get(axis as usize).and_then(|d| d.known());
    let Some(n) = extent.filter(|&n| n <= MAX_PRODUCTS) else {
        return Err(format!("can be written only along a known extent of at most {MAX_PRODUCTS}"));
    };
    let mut shape = vec![Dim::Static(n), Dim::Static(n)];
    shape.extend(vec![Dim::Static(1); s.rank(0) - 1 - axis as usize]);
    let grid = Attr::Type(Type::tensor(shape, DType::Int(64)));
    let mut place = |axis: i64| b.emit("ng.iota", &[], [("type", grid.clone()), ("axis", Attr::int(axis))]);
    let (product, factor) = (place(0)?, place(1)?);
    let direction = match (s.signature().flag("reverse"), s.signature().flag("exclusive")) {
        (false, false) => "LE",
        (false, true) => "LT",
        (true, false) => "GE",
        (true, true) => "GT",
    };
    let mut m = Math { b };
    let counts = m.compare(direction, factor, product)?;
    let row = m.b.emit("ng.unsqueeze", &[x], [("axes", Attr::ints([axis]))])?;
    let one = m.number(1.0, x)?;
    let factors = m.select(counts, row, one)?;
    let mut attrs: AttrDict = [("axes", Attr::ints([axis + 1]))].into();
    if let Some(format) = s.attrs.get("accumulate") {
        attrs.set("accumulate", format.clone());
    }
    Ok(vec![m.b.emit("ng.reduce_prod", &[factors], attrs)?])
}

/// A pool over the last dimensions, with one dimension of batches and one of channels before them.
fn pool(b: &mut Builder<'_>, s: &Step) -> Result<Vec<Value>> {
    let (rank, windows) = (s.rank(0), s.signature().ints("kernel").unwrap_or_default().len());
    if rank == windows + 2 {
        return Err(format!("cannot be written of {}", s.types[0]));
    }
    if rank < windows + 2 {
        let axes = Attr::ints((0..(windows + 2 - rank) as i64).collect::<Vec<_>>());
        let wide = b.emit("ng.unsqueeze", &[s.operands[0]], [("axes", axes.clone())])?;
        let pooled = b.emit(s.def.name, &[wide], s.attrs.clone())?;
        return Ok(vec![b.emit("ng.squeeze", &[pooled], [("axes", axes)])?]);
    }
    let open = |dims: &[Dim]| -> Option<Vec<i64>> {
        let extents: Vec<i64> = dims.iter().map(|d| d.known().map_or(-1, |n| n as i64)).collect();
        (extents.iter().filter(|&&n| n == -1).count() <= 1).then_some(extents)
    };
    let (batches, spatial) = s.shape(0).split_at(rank - windows);
    let back = open(s.result_types[0].shape().unwrap_or(&[]));
    let inner = open(spatial).filter(|extents| !extents.contains(&-1) && !batches.is_empty());
    let (Some(inner), Some(back)) = (inner, back) else {
        return Err(format!("can be written only of known extents, but the type is {}", s.types[0]));
    };
    let shape = Attr::ints([-1, 1].into_iter().chain(inner));
    let flat = b.emit("ng.reshape", &[s.operands[0]], [("shape", shape)])?;
    let pooled = b.emit(s.def.name, &[flat], s.attrs.clone())?;
    Ok(vec![b.emit("ng.reshape", &[pooled], [("shape", Attr::ints(back))])?])
}

/// Windows of equal extent are those of a usual pool; others are reduced one by one, dimension after dimension.
fn adaptive(b: &mut Builder<'_>, s: &Step, pool: &str, reduce: &str) -> Result<Vec<Value>> {
    let sizes = s.signature().ints("output_size").unwrap_or_default();
    let first = s.rank(0) - sizes.len();
    let extents: Option<Vec<i64>> = s.shape(0)[first..].iter().map(|d| d.known().map(|n| n as i64)).collect();
    let Some(extents) = extents else {
        return Err(format!("can be written only of known extents, but the type is {}", s.types[0]));
    };
    let accumulate = s.attrs.get("accumulate").cloned();
    let with_format = |mut attrs: AttrDict, name: &str| {
        if let Some(format) = accumulate.clone().filter(|_| name != "ng.max_pool" && name != "ng.reduce_max")
        {
            attrs.set("accumulate", format);
        }
        attrs
    };
    if extents.iter().zip(&sizes).all(|(n, m)| *m > 0 && n % m == 0) {
        let kernel = Attr::ints(extents.iter().zip(&sizes).map(|(n, m)| n / m));
        let attrs = [("kernel", kernel.clone()), ("strides", kernel)].into();
        return Ok(vec![b.emit(pool, &[s.operands[0]], with_format(attrs, pool))?]);
    }
    let mut value = s.operands[0];
    for (i, (&n, &m)) in extents.iter().zip(&sizes).enumerate() {
        let axis = (first + i) as i64;
        let mut windows = Vec::new();
        for w in 0..m {
            let (start, stop) = (w * n / m, ((w + 1) * n + m - 1) / m);
            let window = b.emit(
                "ng.slice",
                &[value],
                [
                    ("axes", Attr::ints([axis])),
                    ("starts", Attr::ints([start])),
                    ("stops", Attr::ints([stop])),
                ],
            )?;
            let attrs = [("axes", Attr::ints([axis])), ("keepdims", Attr::Bool(true))].into();
            windows.push(b.emit(reduce, &[window], with_format(attrs, reduce))?);
        }
        value = b.emit("ng.concat", &windows, [("axis", Attr::int(axis))])?;
    }
    Ok(vec![value])
}
