//! Tensors that are cut into parts, as slices while a function is looked at: windows are made of ops with one result.

use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Op, Rewriter, Value};
use rustc_hash::FxHashSet;

/// A cut, and the slices in its place.
pub struct Cut {
    source: Value,
    attrs: AttrDict,
    /// A slice for each part that is read.
    slices: Vec<Option<Op>>,
}

/// Writes slices for the parts of all cuts.
pub fn open(context: &Context, body: &mut Body) -> Vec<Cut> {
    let cuts: Vec<Op> = body.walk().into_iter().filter(|&op| body.name(op) == "ng.split").collect();
    cuts.into_iter().filter_map(|op| opened(context, body, op)).collect()
}

fn opened(context: &Context, body: &mut Body, op: Op) -> Option<Cut> {
    let (source, attrs) = (*body.operands(op).first()?, body.op(op).attrs.clone());
    let rank = body.ty(source).shape()?.len() as i64;
    let axis = attrs.get("axis")?.as_int()?.rem_euclid(rank.max(1));
    let sizes = attrs.get("sizes")?.as_ints()?;
    let parts: Vec<Value> = body.results(op).collect();
    let mut rewriter = Rewriter::new(context, body);
    let read: Vec<bool> = parts.iter().map(|&part| !rewriter.users(part).is_empty()).collect();
    let mut ends = Vec::new();
    for size in sizes {
        let start = ends.last().map_or(0, |&(_, stop)| stop);
        ends.push((start, start + size));
    }
    let write = |b: &mut Builder<'_>| {
        let mut slices = Vec::new();
        for ((&part, &read), &(start, stop)) in parts.iter().zip(&read).zip(&ends) {
            let places = [("axes", axis), ("starts", start), ("stops", stop)];
            let attrs = places.map(|(name, place)| (name, Attr::ints([place])));
            let slice = if read { Some(b.emit("ng.slice", &[source], attrs)?) } else { None };
            if slice.is_some_and(|slice| b.body.ty(slice) != b.body.ty(part)) {
                return Err("a part of another type".to_string());
            }
            slices.push(slice);
        }
        Ok(slices)
    };
    let slices = rewriter.build_before(op, write).ok()?;
    for (&part, slice) in parts.iter().zip(&slices) {
        if let Some(slice) = *slice {
            rewriter.replace_value(part, slice);
        }
    }
    rewriter.erase_if_dead(op);
    let slices = slices.into_iter().map(|slice| body.defining_op(slice?)).collect();
    Some(Cut { source, attrs, slices })
}

/// Cuts again what is cut into the same parts still.
pub fn close(context: &Context, body: &mut Body, cuts: Vec<Cut>) {
    for Cut { source, attrs, slices } in cuts {
        let there: FxHashSet<Op> = body.walk().into_iter().collect();
        let stays = |op: &Op| there.contains(op) && body.operands(*op) == [source];
        let Some(first) = body.walk().into_iter().find(|op| slices.contains(&Some(*op))) else { continue };
        if !slices.iter().flatten().all(stays) {
            continue;
        }
        let mut rewriter = Rewriter::new(context, body);
        let Ok(cut) = rewriter.build_before(first, |b| b.op("ng.split", &[source], attrs)) else { continue };
        for (n, slice) in slices.into_iter().enumerate().filter_map(|(n, slice)| Some((n, slice?))) {
            let (old, new) = (rewriter.body().result(slice, 0), rewriter.body().result(cut, n));
            rewriter.replace_value(old, new);
            rewriter.erase_if_dead(slice);
        }
    }
}
