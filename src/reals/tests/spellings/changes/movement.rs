//! Elements moved there and back: around a value, or around an elementwise op.

use ngc_ir::{Attr, Semantics, Value};

use super::super::site::{Site, ints};
use super::{Change, plain};

pub const CHANGES: &[Change] = &[
    plain("value reshaped there and back", |s| around_value(s, reshaped)),
    plain("value transposed there and back", |s| around_value(s, transposed)),
    plain("value reversed twice", |s| around_value(s, reversed)),
    plain("value unsqueezed and squeezed", |s| around_value(s, lengthened)),
    plain("value split and joined", |s| of_operand(s, split)),
    plain("value sliced and joined", |s| of_operand(s, halves)),
    plain("value of even and odd places", |s| of_operand(s, interleaved)),
    plain("value padded and cut", |s| of_operand(s, padded)),
    plain("value tiled and cut", |s| of_operand(s, tiled)),
    plain("value beside itself and cut", |s| of_operand(s, doubled)),
    plain("value broadcast and cut", |s| of_operand(s, stretched)),
    plain("value flattened", |s| of_operand(s, flattened)),
    plain("op on reshaped values", |s| around_op(s, reshaped)),
    plain("op on transposed values", |s| around_op(s, transposed)),
    plain("op on reversed values", |s| around_op(s, reversed)),
    plain("op on unsqueezed values", |s| around_op(s, lengthened)),
    plain("op on halves", op_on_halves),
    plain("op on broadcast operands", op_on_broadcast),
    plain("reshape by another shape", through_flat),
    plain("broadcast by multiplication with ones", by_ones),
];

/// A way to move elements that can be taken back.
struct Movement {
    op: &'static str,
    attr: &'static str,
    there: Vec<i64>,
    back: (&'static str, &'static str, Vec<i64>),
}

impl Movement {
    fn there(&self, s: &mut Site<'_>, x: Value) -> Option<Value> {
        s.op(self.op, &[x], [(self.attr, ints(self.there.clone()))])
    }

    fn back(&self, s: &mut Site<'_>, x: Value) -> Option<Value> {
        let (op, attr, values) = &self.back;
        s.op(op, &[x], [(*attr, ints(values.clone()))])
    }
}

type Draw = fn(&mut Site<'_>, &[i64]) -> Option<Movement>;

fn reshaped(s: &mut Site<'_>, shape: &[i64]) -> Option<Movement> {
    let mut there = shape.to_vec();
    match s.r.below(3) {
        0 => there = vec![shape.iter().product()],
        1 => {
            let n = (0..shape.len()).find(|&n| shape[n] > 3 && shape[n] % 2 == 0)?;
            let parts = if s.r.chance(50) { [2, shape[n] / 2] } else { [shape[n] / 2, 2] };
            there.splice(n..=n, parts);
        }
        _ => {
            let n = s.r.below(shape.len().checked_sub(1)?.max(1));
            there.splice(n..(n + 2).min(shape.len()), [shape.iter().skip(n).take(2).product()]);
        }
    }
    Some(Movement { op: "reshape", attr: "shape", there, back: ("reshape", "shape", shape.to_vec()) })
}

fn transposed(s: &mut Site<'_>, shape: &[i64]) -> Option<Movement> {
    let rank = shape.len();
    let mut there: Vec<i64> = (0..rank as i64).collect();
    (0..rank).rev().for_each(|n| there.swap(n, s.r.below(n + 1)));
    let mut back = vec![0; rank];
    there.iter().enumerate().for_each(|(n, &axis)| back[axis as usize] = n as i64);
    (rank > 1).then_some(Movement {
        op: "transpose",
        attr: "permutation",
        there,
        back: ("transpose", "permutation", back),
    })
}

fn reversed(s: &mut Site<'_>, shape: &[i64]) -> Option<Movement> {
    let axis = s.r.below(shape.len().max(1)) as i64;
    (!shape.is_empty()).then(|| Movement {
        op: "reverse",
        attr: "axes",
        there: vec![axis],
        back: ("reverse", "axes", vec![axis]),
    })
}

fn lengthened(s: &mut Site<'_>, shape: &[i64]) -> Option<Movement> {
    let axis = s.r.below(shape.len() + 1) as i64;
    let back = match s.r.chance(50) {
        true => ("squeeze", "axes", vec![axis]),
        false => ("reshape", "shape", shape.to_vec()),
    };
    (shape.len() < 5).then_some(Movement { op: "unsqueeze", attr: "axes", there: vec![axis], back })
}

/// The op with one operand, a tensor, replaced.
pub fn of_operand(s: &mut Site<'_>, make: fn(&mut Site<'_>, Value) -> Option<Value>) -> Option<Value> {
    let mut x = s.x.clone();
    let n = (!x.is_empty()).then(|| s.r.below(x.len()))?;
    s.is_tensor(x[n]).then_some(())?;
    x[n] = make(s, x[n])?;
    s.again(&x)
}

fn around_value(s: &mut Site<'_>, draw: Draw) -> Option<Value> {
    let mut x = s.x.clone();
    let n = (!x.is_empty()).then(|| s.r.below(x.len()))?;
    s.is_tensor(x[n]).then_some(())?;
    let shape = s.shape(x[n]);
    let movement = draw(s, &shape)?;
    let there = movement.there(s, x[n])?;
    x[n] = movement.back(s, there)?;
    s.again(&x)
}

/// All operands of an elementwise op in the shape of its result; numbers stay.
pub fn broadcast_operands(s: &mut Site<'_>) -> Option<Vec<Value>> {
    matches!(s.def.semantics, Semantics::Elementwise(_)).then_some(())?;
    s.ty.as_tensor()?;
    let shape = super::super::site::shape_of(s.ty);
    let mut all = Vec::new();
    for v in s.x.clone() {
        let as_it_is = !s.is_tensor(v) || s.shape(v) == shape;
        all.push(if as_it_is { v } else { s.op("broadcast_to", &[v], [("shape", ints(shape.clone()))])? });
    }
    Some(all)
}

fn around_op(s: &mut Site<'_>, draw: Draw) -> Option<Value> {
    let x = broadcast_operands(s)?;
    let shape = super::super::site::shape_of(s.ty);
    let movement = draw(s, &shape)?;
    let mut moved = Vec::new();
    for v in x {
        moved.push(if s.is_tensor(v) { movement.there(s, v)? } else { v });
    }
    let value = s.again(&moved)?;
    movement.back(s, value)
}

fn op_on_halves(s: &mut Site<'_>) -> Option<Value> {
    let x = broadcast_operands(s)?;
    let long = *x.iter().find(|&&v| s.is_tensor(v))?;
    let axis = s.axis(long)?;
    let n = s.shape(long)[axis];
    let cut = 1 + s.r.below(n as usize - 1) as i64;
    let mut parts = Vec::new();
    for (start, stop) in [(0, cut), (cut, n)] {
        let mut cut = Vec::new();
        for &v in &x {
            cut.push(if s.is_tensor(v) { s.slice(v, axis, start, stop, 1)? } else { v });
        }
        parts.push(s.again(&cut)?);
    }
    s.concat(&parts, axis)
}

fn op_on_broadcast(s: &mut Site<'_>) -> Option<Value> {
    let x = broadcast_operands(s)?;
    (x != s.x).then_some(())?;
    s.again(&x)
}

fn split(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let axis = s.axis(x)?;
    let n = s.shape(x)[axis];
    let cut = 1 + s.r.below(n as usize - 1) as i64;
    let attrs = [("axis", Attr::int(axis as i64)), ("sizes", ints([cut, n - cut]))];
    let parts = s.ops("split", &[x], attrs)?;
    s.concat(&parts, axis)
}

fn halves(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let axis = s.axis(x)?;
    let n = s.shape(x)[axis];
    let cut = 1 + s.r.below(n as usize - 1) as i64;
    let parts = [s.slice(x, axis, 0, cut, 1)?, s.slice(x, axis, cut, n, 1)?];
    s.concat(&parts, axis)
}

fn interleaved(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let axis = s.axis(x)?;
    let shape = s.shape(x);
    (shape[axis] % 2 == 0 && shape.len() < 5).then_some(())?;
    let mut parts = Vec::new();
    for start in [0, 1] {
        let part = s.slice(x, axis, start, shape[axis], 2)?;
        parts.push(s.op("unsqueeze", &[part], [("axes", ints([axis as i64 + 1]))])?);
    }
    let joined = s.concat(&parts, axis + 1)?;
    s.reshape(joined, &shape)
}

fn padded(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let shape = s.shape(x);
    (s.is_float(x) && !shape.is_empty()).then_some(())?;
    let axis = s.r.below(shape.len());
    let width = |here: i64| ints((0..shape.len()).map(|n| if n == axis { here } else { 0 }));
    let (low, high) = (s.r.below(3) as i64, s.r.below(3) as i64);
    let value = s.r.pick(&[0.0, 1.0, -2.0]);
    let wide =
        s.op("pad", &[x], [("low", width(low)), ("high", width(high)), ("value", Attr::float(value))])?;
    s.slice(wide, axis, low, low + shape[axis], 1)
}

fn tiled(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let shape = s.shape(x);
    let axis = s.axis(x)?;
    let repeats = ints((0..shape.len()).map(|n| if n == axis { 2 } else { 1 }));
    let wide = s.op("tile", &[x], [("repeats", repeats)])?;
    let start = s.r.pick(&[0, shape[axis]]);
    s.slice(wide, axis, start, start + shape[axis], 1)
}

fn doubled(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let axis = s.axis(x)?;
    let n = s.shape(x)[axis];
    let wide = s.concat(&[x, x], axis)?;
    let start = s.r.pick(&[0, n]);
    s.slice(wide, axis, start, start + n, 1)
}

fn stretched(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let shape = s.shape(x);
    (shape.len() < 5).then_some(())?;
    let long = s.op("unsqueeze", &[x], [("axes", ints([0]))])?;
    let wide = s.op("broadcast_to", &[long], [("shape", ints([3].into_iter().chain(shape)))])?;
    let start = s.r.below(3) as i64;
    let one = s.slice(wide, 0, start, start + 1, 1)?;
    s.op("squeeze", &[one], [("axes", ints([0]))])
}

fn flattened(s: &mut Site<'_>, x: Value) -> Option<Value> {
    let shape = s.shape(x);
    let axis = s.r.below(shape.len() + 1) as i64;
    let flat = s.op("flatten", &[x], [("axis", Attr::int(axis))])?;
    s.reshape(flat, &shape)
}

/// An op that only changes the shape, in two steps.
fn through_flat(s: &mut Site<'_>) -> Option<Value> {
    matches!(s.name(), "reshape" | "squeeze" | "unsqueeze" | "flatten").then_some(())?;
    let x = s.x[0];
    let count: i64 = s.shape(x).iter().product();
    let flat = s.reshape(x, &[count])?;
    s.reshape(flat, &super::super::site::shape_of(s.ty))
}

fn by_ones(s: &mut Site<'_>) -> Option<Value> {
    s.is("broadcast_to")?;
    s.is_float(s.x[0]).then_some(())?;
    let ones = s.ones(&super::super::site::shape_of(s.ty), s.x[0])?;
    s.plain("mul", &[s.x[0], ones])
}
