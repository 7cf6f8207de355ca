//! Facts through the steps of a decomposition.

use ngc_ir::{Resources, Signature};
use ngc_numerics::Range;
use smallvec::SmallVec;

use super::{Fact, Traced, traced};
use crate::facts::Store;
use crate::transfer;

/// What is known of the results of an op by its decomposition.
pub(super) fn follow(s: &Signature<'_>, operands: &[Traced]) -> Option<SmallVec<[Traced; 1]>> {
    let steps = transfer::steps(s)?;
    let (body, block, ends) = &*steps;
    let mut values = vec![Traced::of(Fact::UNKNOWN); body.num_values()];
    for (argument, operand) in body.arguments(*block).iter().zip(operands) {
        values[argument.index()] = *operand;
    }
    let constants = Store::new(Resources::default());
    for op in body.ops(*block) {
        if let Some(tensor) = constants.read(body, op) {
            let facts = tensor.facts();
            values[body.result(op, 0).index()] = Traced::of(Fact::of_constant(&facts));
            continue;
        }
        let own: SmallVec<[Traced; 4]> = body.operands(op).iter().map(|v| values[v.index()]).collect();
        let results = body.result_types(op);
        let found = body.with_signature(op, |s| {
            let mut found = traced(s, &own, &results);
            // A transfer function of its own is sharper than the declaration.
            if s.def.transfer.is_some() {
                let ranges: SmallVec<[Range; 4]> = own.iter().map(|x| Range::both(x.fact.range)).collect();
                for (found, figures) in found.iter_mut().zip(transfer::transfer(s, &ranges, &results)) {
                    let exact = Fact { integer: false, ..Fact::of_range(figures.range.exact) };
                    found.fact = found.fact.and(exact);
                }
            }
            found
        })?;
        for (value, found) in body.results(op).zip(found) {
            values[value.index()] = found;
        }
    }
    Some(ends.iter().map(|v| values[v.index()]).collect())
}
