//! Terms that may be undefined where a result is defined all the same, and the rules that may be used beside them.

use egg::Id;
use ngc_ir::op_def::Semantics;
use ngc_ir::{Op, Value};

use super::Scope;
use super::language::{Egraph, Facts, facts};
use crate::analysis::range::is_bounded;
use crate::rewrite::compile::{CompiledRule, OneSided};
use crate::rewrite::conditions::{Bindings, Bound};
use crate::rewrite::graph::{Graph, Term, Terms};

/// Whether a term may be undefined where some element of a result is defined all the same. If none can, as in most functions
/// of numbers with one result, every law that holds where its terms are defined may be used.
pub fn is_partial(scope: &Scope<'_>, ops: &[Op], outputs: &[Value]) -> bool {
    let body = &scope.function.body;
    let graph = Graph::new(scope.context, body, scope.ranges);
    let number = |v: Value| graph.uniform(Term::Value(v));
    // Whether the result is undefined wherever an operand is.
    let strict = |op: &Op| {
        let operands = body.operands(*op);
        match body.name(*op) {
            "ng.where" | "ng.select" | "ng.xlogy" => false,
            // x^0 and 1^y are 1.
            "ng.pow" => {
                number(operands[1]).is_some_and(|y| y != 0.0) || number(operands[0]).is_some_and(|x| x != 1.0)
            }
            // An infinite leg decides.
            "ng.hypot" => operands.iter().all(|&v| scope.group.all(v, |v| scope.ranges.is_real(v))),
            // Truth values and integers are never undefined.
            _ => body.ty(body.result(*op, 0)).format().is_some(),
        }
    };
    // An element of a result of elementwise ops depends on one element of every term.
    let pointwise = |op: &Op| {
        let def = body.op(*op).def;
        def.is_some_and(|d| d.traits.constant || matches!(d.semantics, Semantics::Elementwise(_)))
            || body.name(*op) == "ng.convert"
    };
    let all = outputs.len() <= 1 && ops.iter().all(|op| pointwise(op) && strict(op));
    let undefined = |v: Value| scope.group.exact(v, scope.ranges).may_be_nan;
    !all && ops
        .iter()
        .any(|&op| undefined(body.result(op, 0)) || body.operands(op).iter().any(|&v| undefined(v)))
}

/// Whether both sides of a match are undefined at the same inputs: by the rule, or as all terms are proven to have values. Otherwise
/// one rule could say of a term that has none what it might be, and another one something else, `sqrt(x) sqrt(x) = |x|` and
/// `sqrt(x) sqrt(x) = x`, which together make terms equal that always have values.
pub fn keeps_domain(egraph: &Egraph<'_>, rule: &CompiledRule, class: Id, bindings: &Bindings) -> bool {
    let all = |holds: fn(&Facts) -> bool| {
        bindings.iter().all(|(_, bound)| match bound {
            Bound::Term(Term::Made(n)) => facts(egraph, Id::from(*n as usize)).is_none_or(holds),
            _ => true,
        })
    };
    let defined = |f: &Facts| !f.exact.may_be_nan;
    match rule.one_sided {
        OneSided::Nowhere => true,
        OneSided::Infinite if all(|f| f.real || is_bounded(&f.exact)) => true,
        _ => all(defined) && facts(egraph, class).is_some_and(defined),
    }
}
