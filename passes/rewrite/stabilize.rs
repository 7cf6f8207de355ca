//! `stabilize`: replaces unstable spellings by equal ones with better error bounds.

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Body, Diagnostics, Loc};
use ngc_reals::laws::Laws;

use super::beam::Beam;
use super::compile::{CompiledRule, SPELLED_OUT};
use super::cost::Weights;
use super::drive::{self, Options, Search};
use super::egraph;
use super::egraph::saturate::Limits;
use super::greedy::Greedy;
use super::library::{self, Library};
use super::report::{Effect, Exchange};
use crate::stabilize::allowed::Allowed;
use crate::stabilize::{Wanted, catalogue, stabilize};

/// The pass.
pub struct Stabilize;

/// The categories of rules between ops that are used where nothing is said.
const SETS: &str = "stability,precision,cancellation";

impl Pass for Stabilize {
    fn name(&self) -> &'static str {
        "stabilize"
    }

    fn summary(&self) -> &'static str {
        "Replace numerically unstable spellings by equal, stable ones"
    }

    fn description(&self) -> &'static str {
        "Searches the forms that the rewrite rules of the chosen sets make of the function for those with the better \
         bounds: finite where the others may not be, else of less error relative to the value, else of less absolute \
         error; by a tenth, about, at least. The search is by equality saturation, region by region; regions that are alike \
         are searched once. Where bounds say nothing, elementwise terms are compared on points: by the mean bits of error, \
         uniform over the bit patterns of the ranges and uniform over the reals; an estimate, which ranks equal terms and \
         proves nothing. With samples (`--calibrate`) the points are theirs, and go before bounds. Other terms, where \
         no range is stated, are compared on nominal ranges (|x| <= 8, doubled until the form as written fails); where \
         they do not decide either, rules are applied in the direction in which they are written. Every rule is an identity over the reals; its conditions must be \
         proven from the ranges of the arguments (`ng.range`, or else the whole finite range of the type). A replacement has the type of what it replaces and the fused location of \
         all ops that it stands for. Each applied rewrite is a remark; a pattern that matched but whose condition was \
         not proven is a missed remark. A second run changes nothing."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "rule-set",
                kind: OptionKind::Str(SETS),
                doc: "categories of rules to use, separated by commas; 'all' is every one; with search=reals families of laws, and \
                      all of them by default",
            },
            OptionDef {
                name: "search",
                kind: OptionKind::Choice(&["auto", "reals", "egraph", "greedy", "beam", "directed"]),
                doc: "auto: reals for functions of few ops, or where laws are given, or families of them, or fuse; else egraph, \
                      which takes less time; reals: the best form of what each value is over the reals, however it is written, by laws and charts \
                      (of the other options it takes rule-set, rules, fuse, target and masked-rows); the others go by rules between \
                      ops: egraph: equality saturation; greedy: downhill from the form as written and from random ones; beam: \
                      the best forms, step by step; directed: every rule as it is written, wherever it matches, \
                      whatever bounds say",
            },
            OptionDef {
                name: "masked-rows",
                kind: OptionKind::Choice(&["nan", "zero"]),
                doc: "what softmax of a row that is -inf throughout shall be, where the op does not say: the NaN that \
                      was computed there, or 0",
            },
            OptionDef {
                name: "rules",
                kind: OptionKind::Str(""),
                doc: "files with rules to add to the bundled ones, or with laws where search=reals, separated by commas",
            },
            OptionDef {
                name: "fuse",
                kind: OptionKind::Bool(false),
                doc: "reals: cover what was given, too, by the largest ops whose definitions it is, where nothing gets worse: \
                      a softmax that was written as a shift, exponentials and a quotient becomes one op",
            },
            OptionDef {
                name: "region",
                kind: OptionKind::Int { default: 96, min: 2 },
                doc: "ops that are searched together",
            },
            OptionDef {
                name: "nodes",
                kind: OptionKind::Int { default: 4000, min: 0 },
                doc: "egraph: nodes that rules may add to a region",
            },
            OptionDef {
                name: "rounds",
                kind: OptionKind::Int { default: 8, min: 1 },
                doc: "egraph: how often all rules are tried on a region",
            },
            OptionDef {
                name: "seed",
                kind: OptionKind::Int { default: 1, min: 0 },
                doc: "greedy: of the random numbers",
            },
            OptionDef {
                name: "restarts",
                kind: OptionKind::Int { default: 10, min: 0 },
                doc: "greedy: random forms from which it starts, beside the form as written",
            },
            OptionDef {
                name: "threshold",
                kind: OptionKind::Float { default: 0.01, min: 0.0 },
                doc: "greedy: the share of a bound by which a rewrite must lower it",
            },
            OptionDef {
                name: "width",
                kind: OptionKind::Int { default: 10, min: 1 },
                doc: "beam: forms that are kept from step to step",
            },
            OptionDef {
                name: "w-lipschitz",
                kind: OptionKind::Float { default: 1.0, min: 0.0 },
                doc: "weight of the logarithm of an op's Lipschitz constant, where errors do not decide",
            },
            OptionDef {
                name: "w-delta",
                kind: OptionKind::Float { default: 1.0, min: 0.0 },
                doc: "weight of an op's own rounding in units in the last place, where errors do not decide",
            },
            OptionDef {
                name: "w-condition",
                kind: OptionKind::Float { default: 1.0, min: 0.0 },
                doc: "weight of the logarithm of an op's condition number, where errors do not decide",
            },
            OptionDef {
                name: "w-curvature",
                kind: OptionKind::Float { default: 0.1, min: 0.0 },
                doc: "weight of the logarithm of an op's curvature, where errors do not decide",
            },
            OptionDef {
                name: "w-work",
                kind: OptionKind::Float { default: 1e-3, min: 0.0 },
                doc: "weight of the work, a simple operation on one element or a cycle of the target, where errors do not \
                      decide",
            },
            OptionDef {
                name: "w-late",
                kind: OptionKind::Float { default: 1.0, min: 0.0 },
                doc: "by how much more an op weighs at the results of the function than at its arguments, but for its work",
            },
            OptionDef {
                name: "target",
                kind: OptionKind::Str(""),
                doc: "file that says which ops and formats the machine has and how many cycles they take; rules that bring in \
                      others are left out",
            },
        ]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "rewrites", doc: "rules applied" },
            StatisticDef { name: "erased", doc: "ops erased because nothing used them any more" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let text = |name: &str| match cx.options.get(name) {
            OptionValue::Str(text) => text,
            other => other.to_string(),
        };
        let files = text("rules");
        let rules = match cx.supply::<Library>().and_then(|all| all.get(&files)) {
            Some(rules) => rules,
            None if files.is_empty() => super::bundled()?,
            None => {
                let message = format!("the rules of '{files}' were not read: the driver supplies them");
                return Err(library::failed(message));
            }
        };
        let sets = text("rule-set");
        let (search, auto) = (text("search"), text("search") == "auto");
        let mut reals = if auto { prefers_reals(function, cx, &files, &sets) } else { search == "reals" };
        let named = if reals { SETS } else { &sets };
        let mut categories = library::categories(named, rules).map_err(library::failed)?;
        let target = match text("target").as_str() {
            "" => None,
            file => Some(cx.supply::<Library>().and_then(|all| all.target(file)).ok_or_else(|| {
                library::failed(format!("the target '{file}' was not read: the driver supplies it"))
            })?),
        };
        if target.is_some() && categories.contains(&"stability") {
            categories.push(SPELLED_OUT);
        }
        let chosen = rules.select(&categories);
        let allows = |rule: &CompiledRule| target.as_ref().is_none_or(|t| t.allows(rule));
        let rules = chosen.filter(|rule| allows(rule) && !chosen.has_op_for(rule, allows));
        let exchange = cx.supply::<Exchange>();
        let mut options = settings(cx.options);
        options.egraph.weights.target = target.clone();
        options.figures = exchange.is_some_and(|e| e.figures);
        options.assume = exchange.is_some_and(|e| e.assume_calibrated);
        options.samples = cx.supply::<crate::analysis::report::Exchange>().and_then(|e| e.samples.as_ref());
        let wanted = exchange.and_then(|e| e.proofs.as_ref());
        options.egraph.proofs = wanted.is_some();
        let run = |reals: bool, function: &mut Function| {
            if reals {
                let laws = match cx.supply::<catalogue::library::Library>().and_then(|all| all.get(&files)) {
                    Some(laws) => laws,
                    None if files.is_empty() => Laws::bundled(),
                    None => {
                        let message =
                            format!("the laws of '{files}' were not read: the driver supplies them");
                        return Err(library::failed(message));
                    }
                };
                let families = if sets == SETS { catalogue::ALL } else { &sets };
                let allowed = Allowed::new(laws, families, target.as_deref()).map_err(library::failed)?;
                let wanted = Wanted {
                    allowed: &allowed,
                    fuse: cx.options.flag("fuse"),
                    samples: options.samples,
                    assume_calibrated: options.assume,
                    figures: options.figures,
                    proofs: wanted.is_some(),
                };
                return Ok(stabilize(cx.context, function, laws, wanted));
            }
            Ok(drive::stabilize(cx.context, function, &rules, &options))
        };
        let mut report = run(reals, function)?;
        // What has become small or large meanwhile is searched as a second run would do it, so that there is nothing left to it.
        for _ in 0..MOST_CHANGES {
            if !auto || prefers_reals(function, cx, &files, &sets) == reals {
                break;
            }
            reals = !reals;
            report = report.then(run(reals, function)?);
        }
        let masked =
            if text("masked-rows") == "zero" { zero_masked_rows(&mut function.body) } else { Vec::new() };
        for loc in &masked {
            cx.remark(
                RemarkKind::Passed,
                "masked-rows",
                loc.clone(),
                "rows that are -inf throughout give 0, as asked",
            );
        }
        for step in &report.applied {
            let remark = cx.remark(RemarkKind::Passed, &step.rule, step.loc.clone(), step.text());
            match &step.effect {
                Effect::Unknown => {}
                Effect::StepOf(rule) => drop(remark.arg("step-of", rule)),
                Effect::Change(change) => remark.args.extend(change.args()),
            }
        }
        for step in &report.missed {
            cx.remark(RemarkKind::Missed, &step.rule, step.loc.clone(), step.message.clone());
        }
        if let Some(totals) = &report.totals {
            let (loc, rewrites) = (function.loc.clone(), report.applied.len());
            for (n, outcome) in totals.results.iter().enumerate() {
                let remark =
                    cx.remark(RemarkKind::Analysis, "BOUND", loc.clone(), outcome.text(n, &totals.rounding));
                remark.args.extend(outcome.args(n));
                if !totals.rounding.is_empty() {
                    remark.arg("uncounted-constants-of", totals.rounding.join(" "));
                }
            }
            let message = format!("{}, rewrites {rewrites}", totals.saved);
            let remark = cx.remark(RemarkKind::Analysis, "SAVED", loc, message);
            remark.args.extend(totals.saved.args());
            remark.arg("rewrites", rewrites);
        }
        if let Some(proofs) = wanted {
            let mut all = proofs.lock().unwrap_or_else(|e| e.into_inner());
            all.entry(function.op.index()).or_default().extend(report.proofs);
        }
        cx.count("rewrites", report.applied.len());
        cx.count("erased", report.erased);
        Ok(Changed::from(!report.applied.is_empty() || report.erased > 0 || !masked.is_empty()))
    }
}

/// Functions of so many ops at most are searched over the reals where nothing else is said: the search takes a second or more
/// for each ten ops.
const FEW: usize = 64;

/// How often a function may become small or large by being searched.
const MOST_CHANGES: usize = 3;

/// Whether a function is searched over the reals where that is left open.
fn prefers_reals(function: &Function, cx: &PassContext<'_>, files: &str, sets: &str) -> bool {
    let library = cx.supply::<catalogue::library::Library>().and_then(|all| all.get(files));
    let Some(laws) = library.or(files.is_empty().then(Laws::bundled)) else { return false };
    if !files.is_empty() || sets != SETS {
        return sets == SETS || catalogue::are_families(laws, sets);
    }
    let body = &function.body;
    let computes = |op: &ngc_ir::Op| body.op(*op).def.is_none_or(|def| !def.traits.constant);
    cx.options.flag("fuse") || body.walk().iter().filter(|op| computes(op)).count() <= FEW
}

/// How to search, as the options say.
fn settings(options: &ngc_ir::pass::Options) -> Options<'static> {
    let count = |name| usize::try_from(options.int(name)).unwrap_or_default();
    let limits = Limits { nodes: count("nodes"), rounds: count("rounds"), ..Limits::default() };
    let weights = Weights {
        lipschitz: options.float("w-lipschitz"),
        delta: options.float("w-delta"),
        condition: options.float("w-condition"),
        curvature: options.float("w-curvature"),
        work: options.float("w-work"),
        late: options.float("w-late"),
        target: None,
    };
    Options {
        search: match options.string("search").as_str() {
            "greedy" => Search::Greedy,
            "beam" => Search::Beam,
            "directed" => Search::Directed,
            _ => Search::Egraph,
        },
        egraph: egraph::Options { region: count("region"), limits, weights, proofs: false },
        greedy: Greedy {
            seed: options.int("seed") as u64,
            threshold: options.float("threshold"),
            restarts: count("restarts"),
        },
        beam: Beam { width: count("width") },
        figures: false,
        samples: None,
        assume: false,
    }
}

/// Sets `masked_rows = "zero"` on every op that has the attribute and does not state it; returns their locations.
fn zero_masked_rows(body: &mut Body) -> Vec<Loc> {
    let mut changed = Vec::new();
    for op in body.walk() {
        let data = body.op_mut(op);
        let declared = data.def.is_some_and(|d| d.attribute("masked_rows").is_some());
        if declared && data.attrs.get("masked_rows").is_none() {
            data.attrs.set("masked_rows", "zero");
            changed.push(data.loc.clone());
        }
    }
    changed
}
