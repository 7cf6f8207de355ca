//! Choices, comparisons, masks, and gathers that are slices.

use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, Tensor};

use super::super::site::{Site, ints, shape_of};
use super::{Change, lawful, plain};

pub const CHANGES: &[Change] = &[
    plain("guard that chooses equal values", |s| {
        super::movement::of_operand(s, |s, x| {
            s.is_float(x).then_some(())?;
            let zero = s.number(0.0, x)?;
            let holds = s.op("compare", &[x, zero], [("direction", Attr::from("GT"))])?;
            s.plain("where", &[holds, x, x])
        })
    }),
    plain("comparison turned", |s| {
        s.is("compare")?;
        let turned = match direction(s)? {
            "LT" => "GT",
            "LE" => "GE",
            "GT" => "LT",
            "GE" => "LE",
            other => other,
        };
        s.op("compare", &[s.x[1], s.x[0]], [("direction", Attr::from(turned))])
    }),
    plain("comparison of the difference with 0", |s| {
        s.is("compare")?;
        let (a, b) = (s.x[0], s.x[1]);
        s.is_float(a).then_some(())?;
        let difference = s.plain("sub", &[a, b])?;
        let zero = s.number(0.0, difference)?;
        s.op("compare", &[difference, zero], [("direction", Attr::from(direction(s)?))])
    }),
    plain("comparison denied", |s| {
        s.is("compare")?;
        let opposite = match direction(s)? {
            "LT" => "GE",
            "LE" => "GT",
            "GT" => "LE",
            "GE" => "LT",
            "EQ" => "NE",
            _ => "EQ",
        };
        let holds = s.op("compare", &s.x.clone(), [("direction", Attr::from(opposite))])?;
        s.plain("not", &[holds])
    }),
    plain("choice by the opposite", |s| {
        s.is("where")?;
        let [c, a, b] = s.x[..].try_into().ok()?;
        let opposite = s.plain("not", &[c])?;
        s.plain("where", &[opposite, b, a])
    }),
    plain("choice in two", |s| {
        s.is("where")?;
        let [c, a, b] = s.x[..].try_into().ok()?;
        let inner = s.plain("where", &[c, a, b])?;
        s.plain("where", &[c, inner, b])
    }),
    plain("tril by a comparison of places", |s| triangle(s, "tril")),
    plain("triu by a comparison of places", |s| triangle(s, "triu")),
    plain("tril as a product with a mask", |s| {
        matches!(s.name(), "tril" | "triu").then_some(())?;
        let ones = s.ones(&shape_of(s.ty), s.x[0])?;
        let mask = s.again(&[ones])?;
        s.plain("mul", &[s.x[0], mask])
    }),
    plain("mask by tril for a comparison of places", |s| {
        // column > row, as not tril
        s.is("compare")?;
        let (a, b) = (s.maker(s.x[0])?, s.maker(s.x[1])?);
        let axis = |of: &(&str, Vec<Value>, ngc_ir::AttrDict)| {
            (of.0 == "iota").then(|| of.2.get("axis").and_then(Attr::as_int).unwrap_or(0))
        };
        let shape = shape_of(s.ty);
        let above = axis(&a)? == 1 && axis(&b)? == 0 && direction(s)? == "GT" && shape.len() == 2;
        above.then_some(())?;
        let one =
            s.builder().constant(Attr::Float(1.0, ngc_ir::Type::float(ngc_numerics::Format::F32))).ok()?;
        let ones = s.ones(&shape, one)?;
        let low = s.plain("tril", &[ones])?;
        let zero = s.number(0.0, one)?;
        s.op("compare", &[low, zero], [("direction", Attr::from("EQ"))])
    }),
    plain("one-hot by a comparison with places", |s| {
        s.is("one_hot")?;
        let shape = shape_of(s.ty);
        let axis = s.attrs.get("axis").and_then(Attr::as_int).unwrap_or(-1);
        (axis == -1 && s.attrs.get("on").is_none() && s.attrs.get("off").is_none()).then_some(())?;
        let index = s.op("unsqueeze", &[s.x[0]], [("axes", ints([-1]))])?;
        let of = ngc_ir::Type::tensor(
            shape.iter().map(|&n| ngc_ir::Dim::Static(n as usize)),
            s.body.ty(s.x[0]).elem()?,
        );
        let axis = Attr::int(shape.len() as i64 - 1);
        let place = s.op("iota", &[], [("axis", axis), ("type", Attr::Type(of))])?;
        let holds = s.op("compare", &[index, place], [("direction", Attr::from("EQ"))])?;
        s.op("convert", &[holds], [("to", Attr::Type(ngc_ir::Type::scalar(s.ty.elem()?)))])
    }),
    lawful("value by a gather in order", "constant indices in order are a slice", |s| {
        super::movement::of_operand(s, |s, x| {
            let axis = s.axis(x)?;
            let n = s.shape(x)[axis];
            gathered(s, x, axis, (0..n).collect())
        })
    }),
    lawful("slice by a gather", "constant indices in order are a slice", |s| {
        s.is("slice")?;
        let take = |name: &str| s.attrs.get(name).and_then(Attr::as_ints);
        let (axes, starts, stops) = (take("axes")?, take("starts")?, take("stops")?);
        let step = take("steps").map_or(1, |steps| steps[0]);
        let [axis]: [i64; 1] = axes[..].try_into().ok()?;
        gathered(s, s.x[0], axis as usize, (starts[0]..stops[0]).step_by(step as usize).collect())
    }),
    lawful("concat as a sum of padded parts", "a sum of choices by place that are 0 elsewhere", |s| {
        s.is("concat")?;
        let &[a, b] = &s.x[..] else { return None };
        (s.is_float(a) && s.is_float(b)).then_some(())?;
        let rank = s.shape(a).len() as i64;
        let axis = s.attrs.get("axis").and_then(Attr::as_int)?.rem_euclid(rank);
        let width = |n: i64| ints((0..rank).map(move |k| if k == axis { n } else { 0 }));
        let (first, second) = (s.shape(a)[axis as usize], s.shape(b)[axis as usize]);
        let a = s.op("pad", &[a], [("low", width(0)), ("high", width(second))])?;
        let b = s.op("pad", &[b], [("low", width(first)), ("high", width(0))])?;
        s.plain("add", &[a, b])
    }),
    lawful("value times an identity matrix", "a sum over one place is its value there", |s| {
        super::movement::of_operand(s, |s, x| {
            let shape = s.shape(x);
            (s.is_float(x) && (2..5).contains(&shape.len())).then_some(())?;
            let n = *shape.last()?;
            let ones = s.ones(&[n, n], x)?;
            let low = s.plain("tril", &[ones])?;
            let unit = s.plain("triu", &[low])?;
            s.plain("matmul", &[x, unit])
        })
    }),
];

fn direction(s: &Site<'_>) -> Option<&'static str> {
    let own = s.attrs.get("direction").and_then(Attr::as_str)?.to_string();
    ["EQ", "NE", "LT", "LE", "GT", "GE"].into_iter().find(|d| *d == own)
}

fn triangle(s: &mut Site<'_>, name: &str) -> Option<Value> {
    s.is(name)?;
    let k = s.attrs.get("k").and_then(Attr::as_int).unwrap_or(0);
    let shape = shape_of(s.ty);
    let of = ngc_ir::Type::tensor(shape.iter().map(|&n| ngc_ir::Dim::Static(n as usize)), DType::Int(64));
    let rank = shape.len() as i64;
    let place = |s: &mut Site<'_>, axis: i64| {
        s.op("iota", &[], [("axis", Attr::int(axis)), ("type", Attr::Type(of))])
    };
    let (row, column) = (place(s, rank - 2)?, place(s, rank - 1)?);
    let k = s.number(k as f64, row)?;
    let limit = s.plain("add", &[row, k])?;
    let direction = if name == "tril" { "LE" } else { "GE" };
    let holds = s.op("compare", &[column, limit], [("direction", Attr::from(direction))])?;
    let zero = s.number(0.0, s.x[0])?;
    s.plain("where", &[holds, s.x[0], zero])
}

fn gathered(s: &mut Site<'_>, x: Value, axis: usize, places: Vec<i64>) -> Option<Value> {
    let tensor = Tensor::ints(DType::Int(64), vec![places.len()], places).ok()?;
    let places = s.builder().constant(ngc_dialects::ng::constant::tensor_to_attr(&tensor)).ok()?;
    s.op("gather", &[x, places], [("axis", Attr::int(axis as i64))])
}
