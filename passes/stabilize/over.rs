//! Better forms of a value beside each other: found in windows that reach far or less far, or the given form over better forms
//! of what it is made of.
//!
//! All are better than the given one. Where one is far longer than another and gains nothing over it, the other takes its place;
//! where that is because it computes anew what other values keep, what it gains on ordinary numbers counts alone. One that
//! no law gave, but that is put together from what was given, gives way to what is more exact by a bit, and any other to what is
//! better by a step and shorter, or more exact by far.

use ngc_ir::{Body, Builder, Context, Loc, Op, Resources, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Better;
use super::judge::Judge;
use super::ladder;
use super::numbers;
use super::plan::Plan;
use super::search::cover::computed;
use super::search::{errors, judged};
use super::steps::made_of;

/// So many times as many ops are many more; what is a little longer may turn out to be one op in the end.
const LONGER: usize = 2;

/// By so many bits what is longer must be more exact.
const FAR: f64 = 2.0;

/// What tells comparisons apart: the plan, and the others by what they stand for. Groups that are alike have one plan.
type Compared = (*const Plan, Vec<(Value, *const Plan)>);

/// Of better forms, in the order in which they were looked for, leaves one of each value, and of values whose parts are better
/// alone none. What shows nowhere takes the place of what shows, at most.
pub fn choose(context: &Context, resources: &Resources, better: &mut Vec<Better<'_>>) {
    let shown = better.iter().filter(|better| !better.hidden).map(|better| better.member.value);
    let shown: FxHashSet<Value> = shown.collect();
    better.retain(|better| shown.contains(&better.member.value));
    let own = (0..better.len()).filter(|&n| better[n].plan.itself);
    let all: Vec<_> = own.map(|n| (n, others(n, better))).collect();
    let mut known: FxHashMap<Compared, bool> = FxHashMap::default();
    let mut left = FxHashSet::default();
    // What is left itself takes no place.
    loop {
        let before = left.len();
        for (n, others) in &all {
            let own = &better[*n];
            let others = others.iter().filter(|(_, m)| !left.contains(m)).map(|&(v, m)| (v, better[m]));
            let (same, mut parts): (Vec<_>, Vec<_>) =
                others.partition(|(value, _)| *value == own.member.inner);
            parts.dedup_by_key(|(value, _)| *value);
            let gives_way = |others: &[(Value, Better<'_>)]| {
                let key = others.iter().map(|(value, other)| (*value, std::ptr::from_ref(other.plan)));
                let compared = (std::ptr::from_ref(own.plan), key.collect());
                let gains = || gains_nothing(context, resources, own, others) == Some(true);
                !others.is_empty() && *known.entry(compared).or_insert_with(gains)
            };
            if same.chunks(1).chain([&parts[..]]).any(gives_way) {
                left.insert(*n);
            }
        }
        if left.len() == before {
            break;
        }
    }
    let (mut n, mut seen) = (0, FxHashSet::default());
    better.retain(|better| {
        n += 1;
        !left.contains(&(n - 1)) && seen.insert(better.member.value)
    });
}

/// The better forms of a value's parts within the window of one, and those of the value that were found later, by the values of
/// the window that they stand for.
fn others(n: usize, better: &[Better<'_>]) -> Vec<(Value, usize)> {
    let (own, window) = (&better[n], &better[n].group.window);
    let body = &window.body;
    let mut within = FxHashMap::from_iter([(own.member.value, own.member.inner)]);
    let mut open = vec![own.member.inner];
    while let Some(value) = open.pop() {
        for &v in body.defining_op(value).iter().flat_map(|&op| body.operands(op)) {
            if within.insert(window.origin[&v], v).is_none() {
                open.push(v);
            }
        }
    }
    let other = |m: usize| {
        let other = &better[m];
        let value = *within.get(&other.member.value)?;
        let origin = |v: Value| other.group.window.origin[&v];
        let known = other.plan.reads(other.terms).all(|v| within.contains_key(&origin(v)));
        let is_other = if other.member.value == own.member.value { m > n } else { !other.hidden };
        (other.plan.itself && known && is_other).then_some((value, m))
    };
    let mut found: Vec<(Value, usize)> = (0..better.len()).filter_map(other).collect();
    found.sort_by_key(|&(value, m)| (value.index(), m));
    found
}

/// Whether a better form of a value is far longer than what others make of the value, or less exact, and gains nothing by that;
/// nothing where that cannot be known.
fn gains_nothing(
    context: &Context,
    resources: &Resources,
    own: &Better<'_>,
    others: &[(Value, Better<'_>)],
) -> Option<bool> {
    let mut window = own.group.window.clone();
    let inner: FxHashMap<Value, Value> =
        window.origin.iter().map(|(&inner, &value)| (value, inner)).collect();
    let mut write = |better: &Better<'_>| {
        let block = window.body.entry()?;
        let builder = Builder::at_end(context, &mut window.body, block, Loc::Unknown);
        better.plan.write(builder, better.terms, &|v| inner[&better.group.window.origin[&v]]).ok()
    };
    let others = others.iter().map(|(value, other)| Some((*value, write(other)?)));
    let others = others.collect::<Option<FxHashMap<Value, Value>>>()?;
    let (value, new) = (own.member.inner, write(own)?);
    let over = *window.given_over(context, &own.group.window.body, others)?.get(&value)?;
    let kept = kept(own);
    let lengths =
        |value: Value| [&FxHashSet::default(), &kept].map(|kept| computed(&window.body, value, kept));
    let ([all, own_ops], [others_all, others_ops]) = (lengths(new), lengths(over));
    let longer = all >= LONGER * others_all;
    let anew = own_ops > others_ops && all - own_ops < others_all - others_ops;
    let contracts = contractions(&window.body, new, &kept) > contractions(&window.body, over, &kept);
    let (put_together, shorter) = (own.plan.laws.is_empty(), others_all < all);
    // What is exact to a few bits, and no longer, gives way to none.
    if !anew && !put_together && !shorter && own.plan.bits.is_some_and(|bits| bits <= FAR) {
        return Some(false);
    }
    let near = numbers::of_term(&own.terms.store, own.plan.root.id);
    let to = (ladder::Use::Check, &near[..], &[][..]);
    let mut judge = Judge::new(context, resources, &window, value, to)?;
    let places = judged(&own.group.window, &own.terms.store, &own.plan.root, &own.plan.extents);
    let mut of = |new| errors(&window, &mut judge, &places, [value, new]);
    let (given, new, over) = (of(value)?, of(new)?, of(over)?);
    let ordinary = &judge.ordinary;
    let gains = match () {
        // What is summed over again in another order is more exact by luck.
        () if contracts => false,
        () if anew => new.gains_on(ordinary, &over),
        () if longer => new.betters(&over),
        () if put_together => over.bits() + 1.0 >= new.bits(),
        () => !over.betters(&new) || !shorter && over.bits() + FAR >= new.bits(),
    };
    Some(over.keeps(&given, ordinary) && !gains)
}

/// Sums of products on the way from some values to another one.
fn contractions(body: &Body, value: Value, from: &FxHashSet<Value>) -> usize {
    let within = made_of(body, [value], |value| from.contains(&value));
    let contracts = |op: &Op| body.op(*op).def.is_some_and(|def| def.traits.contraction);
    within.into_iter().filter_map(|value| body.defining_op(value)).filter(contracts).count()
}

/// The values of the window of a better form that stay whatever becomes of its value: those that are read outside of it or for
/// other values, and all that they are made of.
fn kept(better: &Better<'_>) -> FxHashSet<Value> {
    let body = &better.group.window.body;
    let within = made_of(body, [better.member.inner], |_| false);
    let others = body.walk().into_iter().filter(|op| !body.results(*op).any(|v| within.contains(&v)));
    let read = better.group.read.iter().chain(others.flat_map(|op| body.operands(op)));
    made_of(body, read.copied().filter(|value| *value != better.member.inner), |_| false)
}
