//! What rewrites save: memory, work, and formats in which every value is finite.

use std::fmt;
use std::sync::Arc;

use ngc_dialects::ng::constant::{constant_elements, tensor_to_attr};
use ngc_dialects::transfer::Flow;
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Dense, Loc, Op, Type, Value};
use ngc_numerics::figures::meet;
use ngc_numerics::{DType, Enclosure, Format, Range, Tensor};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::figures::{Snapshot, number};
use crate::analysis::range::stated;
use crate::analysis::work::work;

/// Before and after, of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct Saved {
    /// Bytes of the results of ops that are alive at once, at the most, in program order; extents that are not known count
    /// as one. Constants and arguments are not counted.
    pub memory: (f64, f64),
    /// Simple operations on elements, roughly.
    pub flops: (f64, f64),
    /// Whether every value is proven finite where the formats of the arguments are replaced by one. Nothing where they
    /// cannot be.
    pub finite: Vec<(Format, Option<bool>, Option<bool>)>,
}

/// Functions of more ops are not retyped.
const MOST_OPS: usize = 20_000;

/// Formats that are tried.
const FORMATS: [Format; 3] = [Format::F32, Format::Bf16, Format::F16];

/// Compares a function before and after.
pub fn saved(context: &Context, before: &Snapshot, after: &Snapshot) -> Saved {
    let finite = |s: &Snapshot, f| (s.body.num_ops() <= MOST_OPS).then(|| finite_in(context, s, f)).flatten();
    let both = |&f: &Format| {
        let (before, after) = rayon::join(|| finite(before, f), || finite(after, f));
        (f, before, after)
    };
    Saved {
        memory: (peak(&before.body), peak(&after.body)),
        flops: (flops(&before.body), flops(&after.body)),
        finite: FORMATS.par_iter().map(both).collect(),
    }
}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = |(before, after): (f64, f64)| format!("{} -> {}", whole(before), whole(after));
        write!(f, "peak memory {} bytes, flops {}", change(self.memory), change(self.flops))?;
        let word = |known: Option<bool>| known.map_or("n/a", |yes| if yes { "yes" } else { "no" });
        for (n, (format, before, after)) in self.finite.iter().enumerate() {
            let lead = if n == 0 { ", finite in" } else { "," };
            write!(f, "{lead} {format}: {} -> {}", word(*before), word(*after))?;
        }
        Ok(())
    }
}

impl Saved {
    /// Names and values, for programs.
    pub fn args(&self) -> Vec<(&'static str, String)> {
        vec![
            ("memory-before", whole(self.memory.0)),
            ("memory-after", whole(self.memory.1)),
            ("flops-before", whole(self.flops.0)),
            ("flops-after", whole(self.flops.1)),
        ]
    }
}

fn whole(x: f64) -> String {
    if x < 1e15 { format!("{x:.0}") } else { number(x) }
}

fn ops(body: &Body) -> impl Iterator<Item = Op> {
    body.entry().into_iter().flat_map(|b| body.ops(b))
}

fn bytes(ty: Type) -> f64 {
    let extents = ty.shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1) as f64);
    extents.product::<f64>() * ty.elem().map_or(0, DType::storage_bytes) as f64
}

fn peak(body: &Body) -> f64 {
    let mut last: FxHashMap<Value, usize> = FxHashMap::default();
    for (n, op) in ops(body).enumerate() {
        last.extend(body.operands(op).iter().copied().chain(body.results(op)).map(|v| (v, n)));
    }
    let counts = |v: &Value| body.defining_op(*v).is_some_and(|op| !body.is_constant(op));
    let (mut alive, mut most) = (0.0f64, 0.0f64);
    for (n, op) in ops(body).enumerate() {
        alive += body.results(op).filter(counts).map(|v| bytes(body.ty(v))).sum::<f64>();
        most = most.max(alive);
        let results: Vec<Value> = body.results(op).collect();
        let mut ends: SmallVec<[Value; 4]> = body.operands(op).iter().chain(&results).copied().collect();
        ends.sort();
        ends.dedup();
        alive -= ends.iter().filter(|v| counts(v) && last[*v] == n).map(|&v| bytes(body.ty(v))).sum::<f64>();
    }
    most
}

fn flops(body: &Body) -> f64 {
    let of = |op: Op| {
        let types: SmallVec<[Type; 4]> = body.operands(op).iter().map(|&v| body.ty(v)).collect();
        let def = body.op(op).def.filter(|def| def.traits.pure);
        def.filter(|_| body.num_results(op) == 1)
            .map_or(0.0, |def| work(def, &types, body.ty(body.result(op, 0))))
    };
    ops(body).map(of).sum()
}

/// Whether every value of a copy, in which a format takes the place of those of the arguments, is proven finite. Formats
/// that ops convert to stay if they are wider.
fn finite_in(context: &Context, function: &Snapshot, format: Format) -> Option<bool> {
    let from = &function.body;
    let entry = from.entry()?;
    let given: Vec<Format> = from.arguments(entry).iter().filter_map(|&v| from.ty(v).format()).collect();
    let replaces = |f: Format| given.contains(&f) || f.precision() < format.precision();
    let retyped = |ty: Type| match ty.format() {
        Some(f) if replaces(f) => ty.with_elem(DType::Float(format)),
        _ => ty,
    };
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let mut flow = Flow::of_function(&body, None, &function.resources);
    let mut values: FxHashMap<Value, Value> = FxHashMap::default();
    for (&v, range) in from.arguments(entry).iter().zip(stated(from, function.attrs.get("arg_attrs"))) {
        let ty = retyped(from.ty(v));
        let argument = body.add_argument(block, ty, Loc::Unknown);
        let all = Enclosure::new(-format.max_finite(), format.max_finite());
        // No input of the format lies in a range beyond it.
        let range = if ty == from.ty(v) { range } else { meet(&range, &all).ok()? };
        flow.set(argument, Range::both(range), 0.0);
        values.insert(v, argument);
    }
    let mut finite = true;
    for op in ops(from) {
        let data = from.op(op);
        let def = data.def?;
        if def.traits.terminator {
            break;
        }
        let operands: Option<SmallVec<[Value; 4]>> =
            from.operands(op).iter().map(|v| values.get(v).copied()).collect();
        let attrs = attributes(&data.attrs, def.traits.constant, &retyped)?;
        let new =
            Builder::at_end(context, &mut body, block, Loc::Unknown).op(def.name, &operands?, attrs).ok()?;
        flow.step(&body, new)?;
        for (old, new) in from.results(op).zip(body.results(new).collect::<Vec<_>>()) {
            values.insert(old, new);
            if let Some(f) = body.ty(new).format() {
                let (x, max) = (flow.range(new).computed, f.max_finite());
                finite &= !x.may_be_nan && x.lo >= -max && x.hi <= max;
            }
        }
    }
    Some(finite)
}

/// Attributes with the formats of constants and conversions replaced; nothing where that cannot be done.
fn attributes(attrs: &AttrDict, constant: bool, retyped: &impl Fn(Type) -> Type) -> Option<AttrDict> {
    let mut out = attrs.clone();
    if let Some(Attr::Type(ty)) = attrs.get("to") {
        out.set("to", Attr::Type(retyped(*ty)));
    }
    if let Some(given) = attrs.get("value").filter(|_| constant) {
        out.set("value", value(given, retyped)?);
    }
    Some(out)
}

fn value(value: &Attr, retyped: &impl Fn(Type) -> Type) -> Option<Attr> {
    let ty = match value {
        Attr::Float(_, ty) | Attr::Resource(_, ty) => *ty,
        Attr::Dense(dense) => dense.ty,
        _ => return Some(value.clone()),
    };
    let new = retyped(ty);
    let Some(format) = new.format().filter(|_| new != ty) else { return Some(value.clone()) };
    match value {
        Attr::Float(x, _) => Some(Attr::Float(format.round(*x), new)),
        // Blobs are not read here: they may be large.
        Attr::Resource(..) => None,
        _ => {
            let tensor = constant_elements(value).ok()?;
            let values = tensor.to_f64s().into_iter().map(|x| format.round(x)).collect();
            let tensor = Tensor::floats(format, tensor.shape, values).ok()?;
            Some(match value {
                Attr::Dense(d) if d.splat => {
                    Attr::Dense(Arc::new(Dense { ty: new, bytes: tensor.to_bytes().into(), splat: true }))
                }
                _ => tensor_to_attr(&tensor),
            })
        }
    }
}
