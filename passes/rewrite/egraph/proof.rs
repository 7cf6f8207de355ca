//! From egg's explanations to the rules that were applied.

use std::collections::BTreeSet;
use std::rc::Rc;

use egg::{Id, TreeTerm};
use rustc_hash::FxHashSet;

use super::language::{Egraph, Node, facts, parts};
use crate::rewrite::proof::{applied, value};
use crate::rewrite::rule::Pattern;

/// The applications, by number, that a proof of the equality of two terms rests on, in the order in which they were made.
pub fn applications(egraph: &mut Egraph<'_>, from: Id, to: Id) -> BTreeSet<usize> {
    let explanation = egraph.explain_id_equivalence(from, to);
    let mut out = BTreeSet::new();
    let mut seen: FxHashSet<*const TreeTerm<Node>> = FxHashSet::default();
    let mut stack: Vec<Rc<TreeTerm<Node>>> = explanation.explanation_trees.clone();
    while let Some(term) = stack.pop() {
        if !seen.insert(Rc::as_ptr(&term)) {
            continue;
        }
        for rule in term.forward_rule.iter().chain(&term.backward_rule) {
            out.extend(rule.as_str().parse::<usize>());
        }
        stack.extend(term.child_proofs.iter().flatten().cloned());
    }
    out
}

/// Ops of a term that are written out before a proof leaves the rest away.
const MOST_DEEP: usize = 5;

/// A class in a proof: a value of the body that is known to be in it, a number, or an op that stands in it.
pub fn spelled(egraph: &Egraph<'_>, class: Id, depth: usize) -> Pattern {
    let rest = || Pattern::Var("...".into(), ngc_ir::Loc::Unknown);
    let Some(known) = facts(egraph, class) else { return rest() };
    if let Some(number) = known.uniform {
        return Pattern::Number(number, ngc_ir::Loc::Unknown);
    }
    if let Some(&v) = known.values.first() {
        return value(v);
    }
    let found = egraph[class].nodes.iter().find_map(|node| parts(egraph, node));
    match found.filter(|_| depth < MOST_DEEP) {
        Some(p) => applied(p.def.name, p.operands.iter().map(|&o| spelled(egraph, o, depth + 1)).collect()),
        None => rest(),
    }
}
