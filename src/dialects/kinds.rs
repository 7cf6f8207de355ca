//! Tensors whose elements are of two kinds, by their places.
//!
//! A mask is 0 where something counts, and elsewhere -inf or as far as the format goes; one interval for both says nothing. But of
//! which kind an element is, its place decides, for exact and computed values alike. So what is made of elements of one place is
//! bounded for each kind apart, and where every line has an element of a kind, its greatest is not below the least of that kind.

use ngc_ir::structure::Index;
use ngc_ir::{Body, Dim, Op, Signature, Type, Value};
use ngc_numerics::figures::{intersect, meet};
use ngc_numerics::{Enclosure, Interval, Kind, Kinds, Mixed, Range, Reduce};

use crate::bounds::summation;
use crate::facts;
use crate::flow::{Concluded, Flow};
use crate::lemmas::plain;

/// The kinds of a computed operand as if it were exact.
pub(crate) fn exact(kinds: Kinds) -> Kinds {
    kinds.map(|kind| Kind::exact(kind.range.hull(), kind.lines))
}

/// Sharpens what was found of the results of an op by the kinds of its operands; the kinds of the first result.
pub(crate) fn step(flow: &mut Flow, body: &Body, op: Op, found: &mut [Concluded]) -> Option<Kinds> {
    let operands = body.operands(op);
    let candidates: Vec<(usize, Kinds)> =
        operands.iter().enumerate().filter_map(|(i, &v)| Some((i, of_value(flow, v)?))).collect();
    // Truth values come first, for they decide; then what reaches farthest.
    let width = |(i, kinds): &(usize, Kinds)| match body.ty(operands[*i]).format() {
        Some(_) => {
            let both = kinds[0].range.hull().hull(kinds[1].range.hull());
            both.hi - both.lo
        }
        None => f64::INFINITY,
    };
    if candidates.is_empty() || found.len() != 1 {
        return None;
    }
    let ty = body.result_types(op)[0];
    let is_pointwise = body.with_signature(op, facts::is_pointwise)?;
    if is_pointwise {
        let (operand, kinds) = *candidates.iter().max_by(|a, b| width(a).total_cmp(&width(b)))?;
        return apart(flow, body, op, (operand, &kinds), &mut found[0]);
    }
    let &(0, kinds) = candidates.first()? else { return None };
    body.with_signature(op, |s| {
        reduced(s, &kinds, &mut found[0], flow.is_reference());
        moved(s, &kinds, ty)
    })?
}

/// The kinds of a value, as far as they lie in its range.
fn of_value(flow: &Flow, value: Value) -> Option<Kinds> {
    let (range, kinds) = (flow.range(value), flow.kinds(value)?);
    // What was found otherwise narrows each kind; a kind that has no elements stays as it is.
    let within = |x: &Interval, y: &Interval| meet(x, y).unwrap_or(*x);
    Some(kinds.map(|kind| {
        let Range { exact, computed } = kind.range;
        let range =
            Range { exact: within(&exact, &range.exact), computed: within(&computed, &range.computed) };
        Kind { range, ..kind }
    }))
}

/// An op that makes each element of one of an operand: of the elements of each kind apart.
fn apart(
    flow: &mut Flow,
    body: &Body,
    op: Op,
    (operand, kinds): (usize, &Kinds),
    found: &mut Concluded,
) -> Option<Kinds> {
    let from = body.operands(op)[operand];
    let mut of = |kind: &Kind| flow.concluded(body, op, Some((from, kind)))?.pop();
    let (a, b) = (of(&kinds[0])?, of(&kinds[1])?);
    found.figures.narrow(&a.figures, &b.figures);
    found.error = found.error.min(a.error.max(b.error));
    found.relative = found.relative.better(worse(&a, &b), &found.figures.range.exact, f64::MIN_POSITIVE);
    let lines = |kind: &Kind| kind.lines & alike(body.ty(from), body.ty(body.result(op, 0)));
    let kind = |of: &Concluded, kind: &Kind| Kind {
        range: of.figures.range,
        error: of.error,
        relative: own(of),
        lines: lines(kind),
    };
    Some([kind(&a, &kinds[0]), kind(&b, &kinds[1])])
}

/// The better form of an error.
fn own(of: &Concluded) -> Mixed {
    of.relative.better(Mixed::absolute(of.error), &of.figures.range.exact, f64::MIN_POSITIVE)
}

/// What bounds the errors of both.
fn worse(a: &Concluded, b: &Concluded) -> Mixed {
    let (a, b) = (own(a), own(b));
    Mixed { rho: a.rho.max(b.rho), eta: a.eta.max(b.eta) }
}

/// The axes from the end along which both types have the same extent.
fn alike(a: Type, b: Type) -> u32 {
    let (Some(a), Some(b)) = (a.shape(), b.shape()) else { return 0 };
    let same = |(x, y): (&Dim, &Dim)| x.known().is_some() && x == y;
    let pairs = a.iter().rev().zip(b.iter().rev()).take(32);
    pairs.enumerate().map(|(k, pair)| u32::from(same(pair)) << k).sum()
}

/// The kinds of elements that an op takes to other places.
fn moved(s: &Signature<'_>, kinds: &Kinds, ty: Type) -> Option<Kinds> {
    let at = facts::places(s, ty)?;
    let (from, to) = (s.operands[0].shape()?, ty.shape()?);
    let is_simple = at.iter().all(|index| index.as_axis().is_some() || *index == Index::ZERO);
    // A line stays whole where its axis becomes an axis of the same extent.
    let line = |bit: u32| {
        let axis = from.len().checked_sub(bit as usize + 1)?;
        let onto = at.get(axis)?.as_axis()?.0 as usize;
        let whole = to.get(onto)?.known().is_some() && to[onto] == from[axis];
        let alone =
            at.iter().filter(|index| index.as_axis().is_some_and(|a| a.0 as usize == onto)).count() == 1;
        let place = to.len() - 1 - onto;
        (is_simple && whole && alone && place < 32).then(|| 1u32 << place)
    };
    let lines =
        |of: u32| (0..32).filter(|bit| of >> bit & 1 == 1).filter_map(line).fold(0, |lines, bit| lines | bit);
    Some(kinds.map(|kind| Kind { lines: lines(kind.lines), ..kind }))
}

/// A reduction along axes where every line has an element of a kind.
fn reduced(s: &Signature<'_>, kinds: &Kinds, found: &mut Concluded, reference: bool) -> Option<()> {
    let rank = s.operands.first()?.shape()?.len();
    let (how, axes) = facts::lines(s)?;
    let axes: u32 =
        axes.iter().map(|&axis| rank - 1 - axis).filter(|&bit| bit < 32).map(|bit| 1 << bit).sum();
    let least =
        |x: &mut Interval, lo: f64| *x = intersect(x, &Enclosure { lo, hi: f64::INFINITY, may_be_nan: true });
    let most = |x: &mut Interval, hi: f64| {
        *x = intersect(x, &Enclosure { lo: f64::NEG_INFINITY, hi, may_be_nan: true })
    };
    let Concluded { figures, error, relative } = found;
    let Range { exact, computed } = &mut figures.range;
    for (kind, other) in [(&kinds[0], &kinds[1]), (&kinds[1], &kinds[0])] {
        if kind.lines & axes == 0 {
            continue;
        }
        let chosen = match how {
            Reduce::Max => {
                least(exact, kind.range.exact.lo);
                least(computed, kind.range.computed.lo);
                kind.is_above(other)
            }
            Reduce::Min => {
                most(exact, kind.range.exact.hi);
                most(computed, kind.range.computed.hi);
                other.is_above(kind)
            }
            Reduce::Sum => {
                let is_positive = |x: Interval| !x.may_be_nan && x.lo >= 0.0;
                let all = |k: &Kind| is_positive(k.range.exact) && is_positive(k.range.computed);
                // Sums of integers wrap.
                if let Some(format) = s.operands[0].format().filter(|_| all(kind) && all(other)) {
                    least(exact, kind.range.exact.lo);
                    // Rounding is monotone, so no partial sum without compensation is below one of its terms.
                    let sum = summation(s, format, f64::INFINITY);
                    if reference && plain(&sum) {
                        least(computed, format.round(sum.format.round(kind.range.computed.lo)));
                    }
                }
                false
            }
            Reduce::Prod => false,
        };
        if chosen {
            *exact = intersect(exact, &kind.range.exact);
            *computed = intersect(computed, &kind.range.computed);
            *error = error.min(kind.error);
            *relative = relative.better(kind.relative, exact, f64::MIN_POSITIVE);
        }
    }
    Some(())
}
