//! Derivations: whether two terms are equal by the axioms alone.

use std::sync::OnceLock;

use ngc_ir::pass::Function;
use ngc_ir::{AttrDict, Body, Context, Diagnostics, Loc, Op, Sources, Value};
use rustc_hash::FxHashSet;

use super::saturate::{Limits, saturate};
use super::{Region, Scope, proof};
use crate::analysis::range::Ranges;
use crate::rewrite::compile::RuleSet;
use crate::rewrite::parse;
use crate::rewrite::region::Cut;

const AXIOMS: &str = include_str!("../rules/axioms.ngr");

/// Enough for a dozen steps of algebra.
const LIMITS: Limits = Limits { nodes: 2500, rounds: 7, matches: 512 };

/// The axioms, read when first asked for.
///
/// # Errors
/// What is wrong with them; a test keeps this from happening.
pub fn axioms() -> Result<&'static RuleSet, Diagnostics> {
    static SET: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    let read = || {
        let file = Sources::new().add("axioms.ngr", AXIOMS, 1);
        let rules = parse::parse(AXIOMS, file).map_err(|e| Diagnostics(vec![e]))?;
        RuleSet::compile(&ngc_dialects::context(), rules)
    };
    SET.get_or_init(read).as_ref().map_err(Clone::clone)
}

/// The names of the axioms that lead from one value of a body to another, in the order in which they were applied; nothing
/// if none were found to. Values are equal wherever both are defined.
pub fn derive(context: &Context, body: &Body, left: Value, right: Value) -> Option<Vec<String>> {
    let axioms = axioms().ok()?;
    let ops: Vec<Op> = body.ops(body.entry()?).collect();
    let root = body.defining_op(left)?;
    let function = Function {
        op: root,
        loc: Loc::Unknown,
        attrs: AttrDict::EMPTY,
        body: body.clone(),
        resources: Default::default(),
    };
    let ranges = Ranges::default();
    let cut = Cut::new(&function, &ranges, &FxHashSet::default(), ops.len() + 2, false);
    let scope = Scope {
        context,
        function: &function,
        ranges: &ranges,
        proven: None,
        seen: None,
        cut: &cut,
        group: cut.groups.first()?,
    };
    let mut region = Region::build(&scope, cut.regions.first()?);
    let growth = saturate(&mut region.egraph, axioms, LIMITS);
    let (a, b) = (*region.ids.get(&left)?, *region.ids.get(&right)?);
    if region.egraph.find(a) != region.egraph.find(b) {
        return None;
    }
    let steps = proof::applications(&mut region.egraph, a, b);
    let name = |k: usize| Some(axioms.rules()[growth.applied.get(k)?.rule].rule.name.clone());
    Some(steps.into_iter().filter_map(name).collect())
}
