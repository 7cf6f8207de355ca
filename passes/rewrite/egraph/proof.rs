//! From egg's explanations to the rules that were applied.

use std::collections::BTreeSet;
use std::rc::Rc;

use egg::{Id, TreeTerm};
use rustc_hash::FxHashSet;

use super::language::{Egraph, Node};

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
