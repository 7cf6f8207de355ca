//! Terms that may be undefined where a result is defined all the same, and the rules that may be used beside them.

use egg::Id;
use ngc_dialects::facts::{self, Fact, Strict};
use ngc_ir::op_def::Signature;
use ngc_ir::{Op, Type, Value};
use ngc_numerics::Enclosure;
use ngc_numerics::figures::Range;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::Scope;
use super::saturate::{Classes, term};
use crate::analysis::range::{Ranges, transfer};
use crate::rewrite::compile::{CompiledRule, OneSided};
use crate::rewrite::conditions::{Bindings, Bound};
use crate::rewrite::graph::{Term, Terms};

/// Whether a term may be undefined where some element of a result is defined all the same. If none can, as in most functions
/// of numbers with one result, every law that holds where its terms are defined may be used.
pub fn is_partial(scope: &Scope<'_>, ops: &[Op], outputs: &[Value]) -> bool {
    let body = &scope.function.body;
    let ranges = scope.proven.unwrap_or(scope.ranges);
    let undefined = |v: &Value| scope.group.exact(*v, ranges).may_be_nan;
    let within: FxHashSet<Value> = ops.iter().map(|&op| body.result(op, 0)).collect();
    let outside =
        ops.iter().flat_map(|&op| body.operands(op).iter().copied()).filter(|v| !within.contains(v));
    let made = ops.iter().filter(|&&op| !is_total(scope, ranges, op)).map(|&op| body.result(op, 0));
    let open: FxHashSet<Value> = outside.chain(made).filter(undefined).collect();
    if open.is_empty() {
        return false;
    }
    // An element of a result of such ops depends on one element of every term.
    let pointwise = |op: &Op| {
        let is_constant = body.op(*op).def.is_some_and(|def| def.traits.constant);
        is_constant || body.with_signature(*op, facts::is_pointwise) == Some(true)
    };
    if !ops.iter().all(pointwise) {
        return true;
    }
    // Every result must pass on that a term is undefined.
    outputs.iter().any(|&output| {
        let passing = passing(scope, ranges, ops, output);
        open.iter().any(|v| !passing.contains(v))
    })
}

/// The terms with which a result is undefined.
fn passing(scope: &Scope<'_>, ranges: &Ranges, ops: &[Op], output: Value) -> FxHashSet<Value> {
    let body = &scope.function.body;
    let mut found = FxHashSet::from_iter([output]);
    for &op in ops.iter().rev() {
        if !found.contains(&body.result(op, 0)) {
            continue;
        }
        let strict = strict(scope, ranges, op);
        let operands = body.operands(op).iter().enumerate();
        found.extend(operands.filter(|&(n, _)| strict.has(n)).map(|(_, &v)| v));
    }
    found
}

/// Whether an op has a result wherever its operands have values.
fn is_total(scope: &Scope<'_>, ranges: &Ranges, op: Op) -> bool {
    let body = &scope.function.body;
    let data = body.op(op);
    // Constants of several values differ from copy to copy.
    let Some(def) = data.def.filter(|def| !def.traits.constant) else { return false };
    let types: SmallVec<[Type; 4]> = body.operands(op).iter().map(|&v| body.ty(v)).collect();
    let defined = |v: &Value| {
        let exact = scope.group.exact(*v, ranges);
        Enclosure { may_be_nan: exact.is_undefined(), ..exact }
    };
    let operands: SmallVec<[Range; 4]> = body.operands(op).iter().map(|v| Range::both(defined(v))).collect();
    let signature = Signature { def, operands: &types, attrs: &data.attrs };
    !transfer(&signature, &operands, body.ty(body.result(op, 0))).exact.may_be_nan
}

/// The operands of an op without which its result is undefined.
fn strict(scope: &Scope<'_>, ranges: &Ranges, op: Op) -> Strict {
    let body = &scope.function.body;
    let fact = |&v: &Value| {
        let signs = scope.group.signs(v, ranges);
        Fact::of_range(scope.group.exact(v, ranges)).and(Fact { signs, ..Fact::UNKNOWN })
    };
    let operands: SmallVec<[Fact; 4]> = body.operands(op).iter().map(fact).collect();
    let result = [body.ty(body.result(op, 0))];
    body.with_signature(op, |s| facts::of_results(s, &operands, &result)[0].strict).unwrap_or(Strict::NONE)
}

/// Whether both sides of a match are undefined at the same inputs: by the rule, or as all terms are known to have values. Otherwise
/// one rule could say of a term that has none what it might be, and another one something else, `sqrt(x) sqrt(x) = |x|` and
/// `sqrt(x) sqrt(x) = x`, which together make terms equal that always have values.
pub fn keeps_domain(terms: &Classes<'_, '_>, rule: &CompiledRule, class: Id, bindings: &Bindings) -> bool {
    let all = |holds: &dyn Fn(Term) -> bool| {
        bindings.iter().all(|(_, bound)| match bound {
            Bound::Term(term @ Term::Made(_)) => holds(*term),
            _ => true,
        })
    };
    let defined = |t: Term| !terms.range(t).exact.may_be_nan;
    match rule.one_sided {
        Some(OneSided::Nowhere) => true,
        Some(OneSided::Infinite) if all(&|t| terms.is_real(t)) => true,
        _ => all(&defined) && defined(term(class)),
    }
}
