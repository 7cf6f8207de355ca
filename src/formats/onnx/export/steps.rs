//! Ops that ONNX lacks, by steps that are as accurate to a few units in the last place: no step cancels or overflows
//! where the op itself does not. Steps of narrow formats are taken in f32.

use ngc_ir::{Attr, AttrDict, Builder, Dim, Type, Value};
use ngc_numerics::{DType, Format};

use crate::functions::{self, Math};
use crate::step::{Step, Steps, convert, is_narrow, widened};

type Result<T> = std::result::Result<T, String>;

/// The steps of an op that ONNX does not have, or not of these elements.
pub(super) fn of(step: &Step) -> Option<Steps> {
    match step.elem(0)? {
        DType::Int(1 | 8 | 16) | DType::Unsigned(8 | 16) => return Some(widened(DType::Int(32))),
        DType::Unsigned(_) => return Some(widened(DType::Int(64))),
        DType::Float(Format::F8E4M3FN | Format::F8E5M2) => return Some(widened(DType::Float(Format::F32))),
        _ => {}
    }
    let Some((_, steps)) = STEPS.iter().find(|(name, _)| *name == step.def.name) else {
        return functions::of(step);
    };
    if step.def.name != "ng.topk" && step.format().is_some_and(is_narrow) {
        return Some(widened(DType::Float(Format::F32)));
    }
    Some(Box::new(steps))
}

type Emit = fn(&mut Builder<'_>, &Step) -> Result<Vec<Value>>;

const STEPS: &[(&str, Emit)] = &[
    ("ng.adaptive_avg_pool", |b, s| adaptive(b, s, "ng.avg_pool", "ng.reduce_mean")),
    ("ng.adaptive_max_pool", |b, s| adaptive(b, s, "ng.max_pool", "ng.reduce_max")),
    ("ng.avg_pool", pool),
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
    ("ng.exp2", |b, s| {
        let two = b.scalar(2.0, s.operands[0])?;
        Ok(vec![b.emit("ng.pow", &[two, s.operands[0]], AttrDict::EMPTY)?])
    }),
    ("ng.fma", fma),
    ("ng.hardsigmoid", |b, s| {
        let (mut m, get) = (Math { b }, |name| s.signature().float(name).unwrap_or_default());
        let scaled = m.times(get("alpha"), s.operands[0])?;
        let line = m.plus(get("beta"), scaled)?;
        let (zero, one) = (m.number(0.0, line)?, m.number(1.0, line)?);
        Ok(vec![m.b.emit("ng.clamp", &[line, zero, one], AttrDict::EMPTY)?])
    }),
    ("ng.is_finite", |b, s| {
        let mut m = Math { b };
        let (infinite, nan) = (m.unary("ng.is_inf", s.operands[0])?, m.unary("ng.is_nan", s.operands[0])?);
        let neither = m.binary("ng.or", infinite, nan)?;
        Ok(vec![m.unary("ng.not", neither)?])
    }),
    ("ng.leaky_relu", |b, s| {
        let mut m = Math { b };
        let below = m.times(s.signature().float("alpha").unwrap_or_default(), s.operands[0])?;
        Ok(vec![m.unless_negative(s.operands[0], below)?])
    }),
    ("ng.log_sigmoid", |b, s| {
        let mut m = Math { b };
        let negative = m.unary("ng.neg", s.operands[0])?;
        let softplus = m.unary("ng.softplus", negative)?;
        Ok(vec![m.unary("ng.neg", softplus)?])
    }),
    ("ng.max_pool", pool),
    ("ng.prelu", |b, s| {
        let mut m = Math { b };
        let below = m.binary("ng.mul", s.operands[1], s.operands[0])?;
        Ok(vec![m.unless_negative(s.operands[0], below)?])
    }),
    ("ng.rsqrt", |b, s| {
        let mut m = Math { b };
        let root = m.unary("ng.sqrt", s.operands[0])?;
        Ok(vec![m.unary("ng.reciprocal", root)?])
    }),
    ("ng.selu", |b, s| elu(&mut Math { b }, s, s.signature().float("gamma").unwrap_or(1.0))),
    ("ng.sigmoid", |b, s| {
        let mut m = Math { b };
        let negative = m.unary("ng.neg", s.operands[0])?;
        let power = m.unary("ng.exp", negative)?;
        let above = m.plus(1.0, power)?;
        Ok(vec![m.unary("ng.reciprocal", above)?])
    }),
    ("ng.silu", |b, s| {
        let mut m = Math { b };
        let gate = m.unary("ng.sigmoid", s.operands[0])?;
        Ok(vec![m.binary("ng.mul", s.operands[0], gate)?])
    }),
    ("ng.square", |b, s| Ok(vec![b.emit("ng.mul", &[s.operands[0], s.operands[0]], AttrDict::EMPTY)?])),
    ("ng.topk", topk_in_place),
];

/// gamma times x, or times alpha (e^x - 1) below zero.
fn elu(m: &mut Math<'_, '_>, s: &Step, gamma: f64) -> Result<Vec<Value>> {
    let x = s.operands[0];
    let power = m.unary("ng.expm1", x)?;
    let below = m.times(s.signature().float("alpha").unwrap_or(1.0), power)?;
    let value = m.unless_negative(x, below)?;
    Ok(vec![if gamma == 1.0 { value } else { m.times(gamma, value)? }])
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
