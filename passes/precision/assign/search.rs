//! The search for the cheapest assignment whose bounds are within what is allowed.

use ngc_ir::{Body, Op, Value};
use ngc_numerics::Format;
use ngc_numerics::figures::half_ulp;
use ngc_sheaf::budget::{Budgeted, Chosen, Refused};
use ngc_sheaf::consistency::consistent;
use ngc_sheaf::cut::Program;
use ngc_sheaf::{Level, Network};
use rustc_hash::{FxHashMap, FxHashSet};

use super::accumulation::Form;
use super::apply::apply;
use super::chain::Chain;
use super::evidence::{Bound, Evidence, Facts};
use super::explain::title;
use super::memory::Profile;
use super::node::{Known, Node, Nodes, worst};
use super::program;
use super::report::Assigned;
use super::told::Told;
use super::wanted::{Criterion, Wanted};
use crate::analysis::calibrate::Depth;
use crate::analysis::error::Errors;
use crate::analysis::range::reach;
use crate::analysis::report::{down, up};
use crate::precision::conversion;
use crate::precision::storage::Storage;

/// A body in chosen formats, and what is told of it.
pub(super) struct Found {
    pub body: Body,
    pub assigned: Assigned,
}

/// Times that a budget is tried: what errors add up to is not the bound that is computed of what was written.
const TRIES: usize = 8;
/// The same where each bound is followed from samples.
const FOLLOWED: usize = 5;
/// By what a budget rises or falls while no other end of it is known.
const STEP: f64 = 4.0;
/// Budgets, and bounds and what is allowed, that differ by less than so many times are not told apart.
const NEAR: f64 = 1.02;
/// Where functions have more ops, fewer budgets are tried.
const LARGE: usize = 2000;

/// The cheapest assignment that serves, of formats of a chain.
///
/// # Errors
/// Why there is none.
pub(super) fn assign(
    evidence: &Evidence<'_>,
    facts: &Facts,
    chain: &Chain,
    wanted: &Wanted,
) -> Result<Found, String> {
    let (function, errors) = (evidence.function, &facts.errors);
    let allowed = wanted.allowed(errors);
    let allowed = allowed.as_deref();
    let nodes = Nodes::of(&Known {
        context: evidence.context,
        body: &function.body,
        facts,
        allowed,
        chain,
        curvature: wanted.target.filter(|_| wanted.criterion == Criterion::Curvature),
        // A runtime sums as it does, a memory holds no accumulators, and what is estimated is not what methods are chosen by.
        accumulates: wanted.criterion == Criterion::Error
            && evidence.runtime.is_none()
            && wanted.memory.is_none()
            && !chain.has_double(),
    });
    let network = program::network(&function.body, &nodes, wanted.levels);
    if let Err(emptied) = consistent(&network) {
        let edges = emptied.edges.iter().flat_map(|&edge| network.edges[edge].ends);
        let mut ops: Vec<usize> = [emptied.node].into_iter().chain(edges).collect();
        let mut seen = FxHashSet::default();
        ops.retain(|v| seen.insert(*v));
        let ops: Vec<String> = ops.iter().map(|&v| name(&function.body, nodes.nodes[v].op)).collect();
        let levels = wanted.levels;
        let ops = ops.join(", ");
        return Err(format!(
            "no formats go together, where one instruction converts across {levels} levels: {ops}"
        ));
    }
    let program = program::program(&function.body, &nodes, &network, wanted.objective);
    let search = Search {
        evidence,
        chain,
        nodes: &nodes,
        errors,
        allowed,
        target: wanted.target.is_some(),
        criterion: wanted.criterion,
    };
    let profile = Profile::of(&function.body, chain, &nodes, wanted.used);
    let within = match wanted.memory {
        Some(memory) => search.fitted(program, &profile.as_ref().map_err(String::clone)?.fit(memory)?),
        None => search.within(program, &network),
    };
    let within = within.map_err(|refused| match refused {
        Refusal::Bound(bound) => impossible(&search, &network, wanted, &bound),
        Refusal::Other(why) => why,
    })?;
    let Within { chosen, body, bound, budget } = within;
    let told = Told { evidence, facts, nodes: &nodes, network: &network, chain };
    let unfit = results(&function.body, errors, &[]).into_iter().map(|(_, why)| why).collect();
    let mut assigned = told.assigned(wanted, (&chosen, budget), bound, unfit);
    assigned.memory = profile.ok().map(|profile| profile.taken(&chosen.levels[..nodes.nodes.len()]));
    Ok(Found { body, assigned })
}

/// What assignments are made of, and written to.
struct Search<'a> {
    evidence: &'a Evidence<'a>,
    chain: &'a Chain,
    nodes: &'a Nodes,
    errors: &'a Errors,
    /// By result: the error that it may have.
    allowed: Option<&'a [f64]>,
    /// Whether the bounds must be within that.
    target: bool,
    /// What of the bounds must be.
    criterion: Criterion,
}

/// An assignment, the body with it, and by result the bound of its error.
struct Within {
    chosen: Chosen,
    /// The budget that it was chosen within.
    budget: f64,
    body: Body,
    bound: Bound,
}

/// Why there is no assignment.
enum Refusal {
    /// With every op in its widest format the results have these bounds.
    Bound(Bound),
    /// As it says.
    Other(String),
}

impl Search<'_> {
    /// An assignment written, with the bounds of its errors.
    fn written(&self, chosen: Chosen, budget: f64, depth: Depth) -> Result<Within, Refusal> {
        let body = written(self.evidence, self.nodes.forms(&chosen.levels)).map_err(Refusal::Other)?;
        let bound = self.evidence.bound(&body, depth);
        Ok(Within { chosen, budget, body, bound })
    }

    /// By how many times what adds up to a bound is more than is allowed, at most.
    fn over(&self, bound: &Bound) -> f64 {
        let of = bound.of(self.criterion).iter().zip(self.allowed.unwrap_or_default());
        let ratios = of
            .map(|(e, a)| if e <= a { e / a.max(f64::MIN_POSITIVE) } else { (e / a).max(1.0f64.next_up()) });
        worst(ratios).powi(self.criterion.power())
    }

    /// The cheapest assignment that is found whose bounds are within what is allowed.
    fn within(&self, program: Program, network: &Network) -> Result<Within, Refusal> {
        let errors = self.errors_of(&program);
        let mut budgeted =
            Budgeted { program, errors, crossings: self.nodes.crossings(), budget: f64::INFINITY };
        let none = |_| Refusal::Other("no assignment is admissible".into());
        let cheapest = budgeted.choose().map_err(none)?;
        if self.allowed.is_none() {
            return self.written(cheapest, f64::INFINITY, Depth::Whole);
        }
        let finest = self.finest(&budgeted, network, cheapest.least);
        let mut cheapest = self.written(cheapest, f64::INFINITY, Depth::Few)?;
        if self.serves(&mut cheapest) {
            return Ok(cheapest);
        }
        let mut finest = self.written(finest, f64::INFINITY, Depth::Few)?;
        if self.over(&finest.bound) <= 1.0 {
            let best = self.tried(&mut budgeted)?.filter(|best| best.chosen.cost < finest.chosen.cost);
            if let Some(best) = best {
                return Ok(best);
            }
        }
        if self.serves(&mut finest) { Ok(finest) } else { Err(Refusal::Bound(finest.bound)) }
    }

    /// Whether an assignment is within what is allowed, of which the bound is from a few elements: from all it is no less.
    fn serves(&self, one: &mut Within) -> bool {
        if self.over(&one.bound) <= 1.0 && self.evidence.samples.is_some() {
            one.bound = self.evidence.bound(&one.body, Depth::Whole);
        }
        self.over(&one.bound) <= 1.0
    }

    /// The cheapest of some assignments whose bounds are within what is allowed. What errors add up to, op by op, is not the bound of
    /// what is written, but nearly in proportion to it: the budget is searched for which the bound is just within.
    fn tried(&self, budgeted: &mut Budgeted) -> Result<Option<Within>, Refusal> {
        let tries = if self.evidence.samples.is_some() { FOLLOWED } else { TRIES };
        let tries = if self.evidence.function.body.num_ops() > LARGE { tries / 2 } else { tries };
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        let mut best: Option<Within> = None;
        budgeted.budget = 1.0;
        for _ in 0..tries {
            let budget = budgeted.budget;
            let mut guess = f64::NAN;
            match budgeted.choose() {
                // What was found within a smaller budget serves.
                Ok(chosen) if best.as_ref().is_some_and(|best| best.chosen.levels == chosen.levels) => {
                    low = budget
                }
                Ok(chosen) => {
                    let found = self.written(chosen, budget, Depth::Whole)?;
                    let (over, error) = (self.over(&found.bound), found.chosen.error);
                    guess = error / over / NEAR.sqrt();
                    if over <= 1.0 {
                        low = budget;
                        if best.as_ref().is_none_or(|best| found.chosen.cost < best.chosen.cost) {
                            best = Some(found);
                        }
                        if over * NEAR >= 1.0 {
                            break;
                        }
                    } else {
                        // Every budget down to what its errors add up to would give it again.
                        high = error.min(budget);
                    }
                }
                Err(Refused::TooCoarse(..)) => low = budget,
                Err(Refused::Empty) => break,
            }
            budgeted.budget = match (low > 0.0, high.is_finite()) {
                (true, true) if low * NEAR >= high => break,
                _ if guess > low && guess < high => guess,
                (true, true) => (low * high).sqrt(),
                (true, false) => STEP * low,
                _ => high / STEP,
            };
        }
        Ok(best)
    }

    /// The assignment of these levels; conversions as cheap as they can be.
    fn fitted(&self, mut program: Program, levels: &[Level]) -> Result<Within, Refusal> {
        for (costs, level) in program.costs.iter_mut().zip(levels) {
            costs.retain(|(own, _)| own == level);
        }
        let mut errors = self.errors_of(&program);
        for ((own, node), level) in errors.iter_mut().zip(&self.nodes.nodes).zip(levels) {
            *own = node.errors.iter().filter(|(of, _)| of == level).map(|(_, error)| *error).collect();
        }
        let none = |_| {
            Refusal::Other(
                "what fits the memory needs conversions across more levels than one instruction has".into(),
            )
        };
        let chosen = Budgeted { program, errors, crossings: self.nodes.crossings(), budget: f64::INFINITY };
        let chosen = chosen.choose().map_err(none)?;
        let found = self.written(chosen, f64::INFINITY, Depth::Whole)?;
        if self.target && self.over(&found.bound) > 1.0 {
            let bound: Vec<String> = found.bound.of(self.criterion).iter().map(|e| up(*e)).collect();
            return Err(Refusal::Other(format!(
                "the most accurate assignment found that fits the memory has an error bound of {}, which is more than was asked",
                bound.join(", ")
            )));
        }
        Ok(found)
    }

    /// By node of a program and level: the error that it adds.
    fn errors_of(&self, program: &Program) -> Vec<Vec<f64>> {
        let by_level = |node: &Node| node.errors.iter().map(|(_, error)| *error).collect();
        let by_way = |node: &Node| node.accumulates.iter().map(|way| way.error).collect();
        let mut errors: Vec<Vec<f64>> = self.nodes.nodes.iter().map(by_level).collect();
        errors.extend(self.nodes.accumulators().map(by_way));
        let further = errors.len();
        errors.extend(program.costs[further..].iter().map(|costs| vec![0.0; costs.len()]));
        errors
    }

    /// Every op in its widest format.
    fn finest(&self, budgeted: &Budgeted, network: &Network, least: f64) -> Chosen {
        let mut levels = program::fixed(self.nodes, network, self.chain.len() - 1);
        let further = &budgeted.program.costs[levels.len()..];
        levels.extend(further.iter().map(|costs| costs.last().map_or(0, |(level, _)| *level)));
        let cost = budgeted.program.cost(&levels).unwrap_or(u64::MAX);
        Chosen { error: budgeted.error(&levels), levels, cost, least }
    }
}

/// The function with nodes in these forms.
///
/// # Errors
/// What an op says against its format.
pub fn written<'a>(
    evidence: &Evidence<'_>,
    forms: impl Iterator<Item = (&'a Node, Form)>,
) -> Result<Body, String> {
    let given = &evidence.function.body;
    // A conversion reads what is stored, in whatever format that is.
    let changes = |(node, form): &(&Node, Form)| {
        node.given != form.storage || form.told().is_some() || conversion(given, node.op).is_some()
    };
    let forms: FxHashMap<Op, Form> = forms.filter(changes).map(|(node, form)| (node.op, form)).collect();
    apply(evidence.context, given, &forms)
}

/// Why no assignment serves: what the results have where all is in the widest format, and which ops add most to it.
fn impossible(search: &Search<'_>, network: &Network, wanted: &Wanted, found: &Bound) -> String {
    let bound = found.of(search.criterion);
    let Search { chain, nodes, allowed, .. } = search;
    let function = search.evidence.function;
    let top = program::fixed(nodes, network, chain.len() - 1);
    let mut worst: Vec<(f64, usize)> = nodes
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(v, node)| Some((node.errors.iter().find(|(level, _)| *level == top[v])?.1, v)))
        .collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let ops = worst.iter().take(3).filter(|(error, _)| *error > 0.0).map(|(error, v)| {
        let node = &nodes.nodes[*v];
        format!("{} ({} of what is allowed)", name(&function.body, node.op), up(*error))
    });
    let ops: Vec<String> = ops.collect();
    let allowed = allowed.unwrap_or_default();
    let n = bound.iter().zip(allowed).position(|(e, a)| e > a || e.is_nan()).unwrap_or(0);
    let of = if wanted.relative { " relative to its greatest magnitude" } else { "" };
    let asked = format!("no assignment has an error of at most {:e}{of}", wanted.target.unwrap_or(0.0));
    let figure = match wanted.criterion {
        Criterion::Deviation => "estimated error",
        _ => "error bound",
    };
    let own = results(&function.body, search.errors, allowed).into_iter().find(|(result, _)| *result == n);
    if let Some((_, why)) = own {
        return format!("{asked}: {why}; give the result a wider type");
    }
    let worst = if ops.is_empty() { String::new() } else { format!(", most of it from {}", ops.join(", ")) };
    let unfollowed = found.unfollowed.as_ref();
    let unfollowed =
        unfollowed.map(|why| format!("; what roundings become at the samples is not known: {why}"));
    let unfollowed = unfollowed.unwrap_or_default();
    let wider = if chain.level(Storage::Word(Format::F64)).is_some() {
        String::new()
    } else {
        format!(", or allow a wider format (formats={chain}|f64)")
    };
    format!(
        "{asked}: with every op in its widest format the {figure} of result {n} is {}{worst}; state narrower ranges \
         (--range), stabilize first{wider}{unfollowed}",
        up(bound.get(n).copied().unwrap_or(f64::INFINITY)),
    )
}

/// Results whose types alone do not serve, whatever is computed inside, by number: where the value over the reals leaves the type, or
/// rounding to the type is more than is allowed.
pub(super) fn results(body: &Body, errors: &Errors, allowed: &[f64]) -> Vec<(usize, String)> {
    let end = body.entry().and_then(|block| body.last_op(block));
    let values = end.map(|op| body.operands(op)).unwrap_or_default();
    let why = |(n, &v): (usize, &Value)| {
        let (format, most) = (body.ty(v).format()?, reach(&errors.range(v).exact));
        if !format.round(most).is_finite() && most.is_finite() {
            let end = format.max_finite();
            return Some((
                n,
                format!(
                    "result {n} may reach {} over the reals, and its type {format} ends at {}",
                    up(most),
                    down(end)
                ),
            ));
        }
        let rounding = half_ulp(format, most);
        let most = allowed.get(n).filter(|allowed| rounding.is_finite() && rounding > **allowed)?;
        Some((
            n,
            format!(
                "rounding result {n} to its type {format} alone may add {}, and {} is allowed",
                up(rounding),
                up(*most)
            ),
        ))
    };
    values.iter().enumerate().filter_map(why).collect()
}

/// An op's name with the name of its location.
pub fn name(body: &Body, op: Op) -> String {
    title(body.name(op), &body.op(op).loc)
}
