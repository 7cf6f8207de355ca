//! Better forms of values beside the same values as they were given, over better forms of what they are made of.
//!
//! Both are better than the given one. Where the first is far longer and gains nothing over the second, the second takes its
//! place: what is found for the value is not used, and the better forms of its parts are.

use ngc_ir::{Builder, Context, Loc, Resources, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Better;
use super::judge::Judge;
use super::ladder;
use super::plan::Plan;
use super::search::cover::computed;
use super::search::errors;

/// So many times as many ops are many more; what is a little longer may turn out to be one op in the end.
const LONGER: usize = 2;

/// What tells comparisons apart: the plan, and those of the parts by what they stand for. Groups that are alike have one plan.
type Compared = (*const Plan, Vec<(Value, *const Plan)>);

/// Values that are left to what they are made of.
pub fn left_to_parts(context: &Context, resources: &Resources, better: &[Better<'_>]) -> FxHashSet<Value> {
    let own = better.iter().filter(|own| own.plan.itself);
    let all: Vec<_> = own.map(|own| (own, parts(own, better))).collect();
    let mut known: FxHashMap<Compared, bool> = FxHashMap::default();
    let mut left = FxHashSet::default();
    // What is left itself is no better form of a part.
    loop {
        let before = left.len();
        for (own, parts) in &all {
            let stays = |(_, part): &&(Value, Better<'_>)| !left.contains(&part.member.value);
            let parts: Vec<(Value, Better<'_>)> = parts.iter().filter(stays).copied().collect();
            if parts.is_empty() {
                continue;
            }
            let key = parts.iter().map(|(value, part)| (*value, std::ptr::from_ref(part.plan))).collect();
            let gains_nothing = *known
                .entry((std::ptr::from_ref(own.plan), key))
                .or_insert_with(|| gains_nothing(context, resources, own, &parts) == Some(true));
            if gains_nothing {
                left.insert(own.member.value);
            }
        }
        if left.len() == before {
            return left;
        }
    }
}

/// Better forms of what a value is made of within its window, with the values of the window that they stand for.
fn parts<'a>(own: &Better<'_>, better: &[Better<'a>]) -> Vec<(Value, Better<'a>)> {
    let window = &own.group.window;
    let body = &window.body;
    let (mut within, mut open) = (FxHashMap::default(), vec![own.member.inner]);
    while let Some(value) = open.pop() {
        for &v in body.defining_op(value).iter().flat_map(|&op| body.operands(op)) {
            if within.insert(window.origin[&v], v).is_none() {
                open.push(v);
            }
        }
    }
    let part = |part: &Better<'a>| {
        let value = *within.get(&part.member.value).filter(|_| part.plan.itself)?;
        let origin = |v: Value| part.group.window.origin[&v];
        let known = part.plan.reads(part.terms).all(|v| within.contains_key(&origin(v)));
        known.then_some((value, *part))
    };
    better.iter().filter_map(part).collect()
}

/// Whether the better form of a value is far longer than the given one over those of its parts and gains nothing by that; nothing where
/// that cannot be known.
fn gains_nothing(
    context: &Context,
    resources: &Resources,
    own: &Better<'_>,
    parts: &[(Value, Better<'_>)],
) -> Option<bool> {
    let mut window = own.group.window.clone();
    let inner: FxHashMap<Value, Value> =
        window.origin.iter().map(|(&inner, &value)| (value, inner)).collect();
    let mut write = |better: &Better<'_>| {
        let block = window.body.entry()?;
        let builder = Builder::at_end(context, &mut window.body, block, Loc::Unknown);
        better.plan.write(builder, better.terms, &|v| inner[&better.group.window.origin[&v]]).ok()
    };
    let others = parts.iter().map(|(value, part)| Some((*value, write(part)?)));
    let others = others.collect::<Option<FxHashMap<Value, Value>>>()?;
    let (value, new) = (own.member.inner, write(own)?);
    let over = *window.given_over(context, &own.group.window.body, others)?.get(&value)?;
    let length = |value: Value| computed(&window.body, value, &FxHashSet::default());
    if length(new) < LONGER * length(over) {
        return Some(false);
    }
    let to = (ladder::Use::Check, &[][..]);
    let mut judge = Judge::new(context, resources, &window, value, to)?;
    let mut of = |new| errors(&window, &mut judge, &own.plan.extents, [value, new]);
    let (given, new, over) = (of(value)?, of(new)?, of(over)?);
    Some(over.keeps(&given) && !new.betters(&over))
}
