//! An op's own transfer hook is never looser than its decomposition: on random operands, every figure of the one is at
//! most that of the other.

use std::collections::BTreeMap;

use crate::random_graphs::{Graph, ops};
use crate::support::evidence;
use ngc_dialects::transfer::{Flow, decomposed, transfer};
use ngc_ir::{Semantics, Signature, Type};
use ngc_numerics::{Enclosure, Figures, Format, Interval, Operands, Random, Range};

/// Where the certificate is fresh, one graph in so many is looked at.
const STEP: usize = 6;

/// What two ways of rounding the same formula up may differ by.
const ROUNDING: f64 = 1e-12;

fn at_most(a: f64, b: f64) -> bool {
    a <= b || a - b <= ROUNDING * b.abs()
}

fn within(a: &Interval, b: &Interval) -> bool {
    // Nothing but NaN is in any range that may be NaN.
    if a.is_undefined() {
        return b.may_be_nan;
    }
    (b.may_be_nan || !a.may_be_nan) && at_most(-a.lo, -b.lo) && at_most(a.hi, b.hi)
}

/// The names of the figures that are looser.
fn looser(own: &Figures, steps: &Figures) -> Vec<String> {
    let mut found = Vec::new();
    if !within(&own.range.exact, &steps.range.exact) {
        found.push(format!("exact range {:?} against {:?}", own.range.exact, steps.range.exact));
    }
    if !within(&own.range.computed, &steps.range.computed) {
        found.push(format!("computed range {:?} against {:?}", own.range.computed, steps.range.computed));
    }
    if !at_most(own.delta, steps.delta) {
        found.push(format!("delta {:e} against {:e}", own.delta, steps.delta));
    }
    for (i, (a, b)) in own.sensitivity.iter().zip(&steps.sensitivity).enumerate() {
        // A bounded jump may take the place of an infinite slope, and the reverse.
        let better = a.lipschitz.is_finite() && b.lipschitz.is_infinite() || a.jump < b.jump;
        if !(at_most(a.lipschitz, b.lipschitz) && at_most(a.jump, b.jump) || better) {
            found.push(format!("sensitivity {i} {a:?} against {b:?}"));
        }
    }
    found
}

#[test]
fn own_hooks_are_never_looser_than_decompositions() {
    let context = ngc_dialects::context();
    let both = ops()
        .into_iter()
        .filter(|op| op.transfer.is_some() && matches!(op.semantics, Semantics::Decomposition(_)));
    let mut failures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let step = if evidence::whole("boundaries") { 1 } else { STEP };
    for op in both {
        let mut compared = 0;
        for number in (0..60).step_by(step) {
            let mut r = Random::new(3003 + number);
            let format = r.pick(&Format::ALL);
            let graph = Graph::draw(&mut r, &context, &[op], format);
            let body = &graph.body;
            let mut flow = Flow::default();
            let entry = body.entry().expect("a block");
            for (&v, a) in body.arguments(entry).iter().zip(&graph.arguments) {
                flow.set(v, Range::both(Enclosure::new(a.range.0, a.range.1)), 0.0);
            }
            for step in body.walk() {
                flow.step(body, step);
                if body.name(step) != op.name {
                    continue;
                }
                let types: Vec<Type> = body.operands(step).iter().map(|&v| body.ty(v)).collect();
                let ranges: Vec<Range> = body.operands(step).iter().map(|&v| flow.range(v)).collect();
                let results = body.result_types(step);
                let s = Signature { def: op, operands: &types, attrs: &body.op(step).attrs };
                // Nothing is said of no elements.
                let none = |ty: &Type| ty.static_shape().is_some_and(|shape| shape.contains(&0));
                if types.iter().chain(&results).any(none) {
                    continue;
                }
                let Some(steps) = decomposed(&s, &Operands::of_ranges(&ranges), &results) else { continue };
                for (own, steps) in transfer(&s, &ranges, &results).iter().zip(&steps) {
                    compared += 1;
                    for what in looser(own, steps) {
                        failures.entry(op.name).or_default().push(format!(
                            "{what}\n    {:?} {types:?}\n    of {ranges:?}",
                            body.op(step).attrs
                        ));
                    }
                }
            }
        }
        println!("{:24} {compared}", op.name);
        assert!(compared > 0, "{} was never compared", op.name);
    }
    let shown: Vec<String> = failures
        .iter()
        .map(|(name, all)| {
            format!("{name}, {} times, as\n  {}", all.len(), all[..all.len().min(3)].join("\n  "))
        })
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}
