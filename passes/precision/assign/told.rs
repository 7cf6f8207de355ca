//! Gathers what is told of an assignment.

use ngc_ir::Op;
use ngc_sheaf::budget::Chosen;
use ngc_sheaf::consistency::uniform;
use ngc_sheaf::{Level, Network, count, cycles};

use super::chain::Chain;
use super::evidence::{Bound, Evidence, Facts};
use super::node::{Known, Node, Nodes, elements};
use super::program;
use super::report::{Against, Assigned, Border, Reason, Row};
use super::search::name;
use super::wanted::{Criterion, Wanted};
use crate::analysis::report::up;
use crate::precision::amp::policy::Policy;
use crate::precision::constant;

/// What an assignment is told of.
pub(super) struct Told<'a> {
    pub evidence: &'a Evidence<'a>,
    pub facts: &'a Facts,
    pub nodes: &'a Nodes,
    pub network: &'a Network,
    pub chain: &'a Chain,
}

impl Told<'_> {
    /// What is told of a choice of levels.
    pub fn assigned(
        &self,
        wanted: &Wanted,
        (chosen, budget): (&Chosen, f64),
        bound: Bound,
        unfit: Vec<String>,
    ) -> Assigned {
        let Told { nodes, network, chain, .. } = self;
        let function = self.evidence.function;
        let cuda = Policy::of(Policy::NAMES[0]).map(|policy| policy.formats(&function.body, &nodes.nodes));
        let cuda = cuda.unwrap_or_else(|| nodes.nodes.iter().map(|node| node.given).collect());
        let rows =
            nodes.forms(&chosen.levels).zip(&chosen.levels).zip(cuda).map(|(((node, form), &level), amp)| {
                let bits = node.bits;
                let fits = wanted
                    .memory
                    .is_some()
                    .then(|| format!("the memory holds it in {}", chain.format(level)));
                let reason = self.reason(node, level, fits.as_deref(), |spared, added| {
                    wanted.target.is_some() && added >= 1.0 || chosen.error - spared + added > budget
                });
                Row {
                    name: function.body.name(node.op),
                    loc: function.body.op(node.op).loc.clone(),
                    range: node.range,
                    given: node.given,
                    format: form.storage,
                    accumulation: form.told().map(|how| {
                        let simplest = node.accumulates.first().map_or(0.0, |way| way.error);
                        (
                            how,
                            format!(
                                "a naive sum in f32 would add {} what is allowed to the error",
                                part(simplest)
                            ),
                        )
                    }),
                    elements: node.elements,
                    parameters: self.parameters(node.op),
                    amp,
                    bits,
                    reason,
                }
            });
        let rows: Vec<Row> = rows.collect();
        let alone = chain.iter().map(|(level, format)| {
            let bytes: f64 = nodes.nodes.iter().map(|node| node.elements * program::bytes(format)).sum();
            let why = nodes.nodes.iter().find_map(|node| {
                let (.., why) = node.refused.iter().find(|(own, ..)| *own == level)?;
                Some(format!("{}: {why}", name(&function.body, node.op)))
            });
            (format, bytes, why)
        });
        let mixed = uniform(network).into_iter().filter_map(Result::err).map(|mixed| {
            mixed
                .nodes
                .iter()
                .map(|&v| name(&function.body, nodes.nodes[v].op))
                .collect::<Vec<String>>()
                .join(", ")
        });
        let named = |v: usize| name(&function.body, nodes.nodes[v].op);
        let demanded: Vec<i64> = rows.iter().map(Row::whole_bits).collect();
        let apart = cycles::forced(network);
        let mut borders: Vec<Border> = cycles::gaps(network, &demanded)
            .into_iter()
            .enumerate()
            .filter(|(edge, _)| {
                let [a, b] = network.edges[*edge].ends;
                chosen.levels[a] != chosen.levels[b]
            })
            .map(|(edge, gap)| {
                let [from, to] = network.edges[edge].ends.map(named);
                Border { edge, from, to, gap, apart: apart.binary_search(&edge).is_ok() }
            })
            .collect();
        borders.sort_by_key(|border| std::cmp::Reverse(border.gap.abs()));
        /// Networks of more nodes are not counted.
        const COUNTED: usize = 400;
        let count = (network.nodes() <= COUNTED).then(|| count::sections(network)).flatten();
        Assigned {
            function: function.name().to_string(),
            loc: function.loc.clone(),
            edges: network.edges.iter().map(|edge| edge.ends).collect(),
            chain: (*chain).clone(),
            target: wanted.target,
            asked: wanted.told(),
            cost: chosen.cost,
            memory: None,
            gap: chosen.gap(),
            alone: alone.collect(),
            amp: Policy::NAMES.iter().filter_map(|name| self.amp(&Policy::of(name)?)).collect(),
            mixed: mixed.collect(),
            borders,
            count: count.map(|n| n.to_string()),
            unfit,
            given: self.evidence.given(&bound),
            estimate: bound.deviations.filter(|_| wanted.criterion == Criterion::Deviation),
            bound: bound.errors,
            rows,
        }
    }

    /// Elements of the constants of more than one that an op reads.
    fn parameters(&self, op: Op) -> f64 {
        let body = &self.evidence.function.body;
        let constants = body.operands(op).iter().filter(|v| constant(body, **v));
        constants.map(|v| elements(body.ty(*v))).filter(|count| *count > 1.0).sum()
    }

    /// What a list of AMP makes of the function: the bytes, and the first op that leaves its format.
    fn amp(&self, policy: &Policy) -> Option<(String, f64, Option<String>)> {
        let body = &self.evidence.function.body;
        let nodes = &self.nodes.nodes;
        let context = self.evidence.context;
        let known = Known {
            context,
            body,
            facts: self.facts,
            allowed: None,
            chain: self.chain,
            curvature: None,
            accumulates: false,
        };
        let formats = policy.formats(body, nodes);
        let bytes =
            nodes.iter().zip(&formats).map(|(node, format)| node.elements * program::bytes(*format)).sum();
        let why = nodes.iter().zip(&formats).find_map(|(node, &format)| {
            let why = known.leaves(node.op, format)?;
            Some(format!("{} in {format}: {why}", name(body, node.op)))
        });
        (!nodes.is_empty()).then(|| (policy.name.clone(), bytes, why))
    }

    /// Why an op takes no lower level: because a memory `fits` it, or what else there is; `over` says whether it is too much to add one error in place of another one.
    fn reason(
        &self,
        node: &Node,
        level: Level,
        fits: Option<&str>,
        over: impl Fn(f64, f64) -> bool,
    ) -> Option<Reason> {
        let reason = |level, kind, why| Some(Reason { format: self.chain.format(level), kind, why });
        if let Some((own, kind, why)) = node.refused.iter().rev().find(|(own, ..)| *own < level) {
            return reason(*own, *kind, why.clone());
        }
        let (lower, error) = *node.errors.iter().rfind(|(own, _)| *own < level)?;
        let own = node.errors.iter().find(|(own, _)| *own == level).map_or(0.0, |(_, error)| *error);
        if fits.is_some() || !over(own, error) {
            let why = fits.unwrap_or("conversions would cost more than it saves");
            return reason(lower, Against::Cost, why.to_string());
        }
        let why = format!("its rounding would add {} what is allowed to the error", part(error));
        reason(lower, Against::Error, why)
    }
}

/// A part of what is allowed, in words.
fn part(error: f64) -> String {
    if error >= 1.0 { format!("{} times", up(error)) } else { format!("{}% of", up(100.0 * error)) }
}
