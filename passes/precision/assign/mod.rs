//! `assign-precision`: a format for each value, chosen by ranges, errors and costs.
//!
//! Formats are levels of a chain. An op takes a level if the numbers that it reads and makes fit the format ([`node`]). The
//! errors that ops add to the results are to add up to no more than is allowed; the cheapest such choice is a minimum cut with a
//! Lagrange multiplier ([`program`], `ngc_sheaf`). The choice is written ([`apply`]), and the error bound of what was written is
//! computed anew: that figure is the bound, and decides whether a choice is taken. How sums are summed is chosen beside the formats
//! ([`accumulation`]).
//!
//! Where nothing is asked, the demand is that nothing overflows or is flushed inside ([`hold`], [`need`]). `stabilize` ends with it.

mod accumulation;
mod apply;
pub mod chain;
mod curvature;
mod double;
pub(super) mod evidence;
pub mod explain;
mod export;
pub mod hold;
pub mod memory;
mod modules;
pub mod need;
pub(super) mod node;
mod probe;
pub(super) mod program;
pub mod report;
pub(super) mod search;
mod told;
pub mod wanted;

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, Options, Pass, PassContext, Property, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Diagnostic, Diagnostics, Loc, Module, Severity};
use ngc_sheaf::{Level, Levels};

use self::chain::Chain;
use self::evidence::Evidence;
use self::hold::{Held, Hold};
use self::memory::Use;
use self::report::{Assigned, Assignments, Row};
use self::search::{Found, assign};
use self::wanted::{Criterion, MEASURE, Objective, TARGET, Wanted};
use crate::analysis::range::Ranges;
use crate::analysis::report::Exchange;

/// The pass.
pub struct AssignPrecision;

impl Pass for AssignPrecision {
    fn name(&self) -> &'static str {
        "assign-precision"
    }

    fn summary(&self) -> &'static str {
        "Choose a format for each value, by ranges, errors and costs"
    }

    fn description(&self) -> &'static str {
        "Where nothing is asked, by none of `formats`, `target` and `memory`, the demand is that nothing overflows and nothing is \
         flushed to 0 inside. A value of f16 that may, where a number of f16 may come of it in the end, is computed in f32, and so is \
         what is computed with it; it is rounded where it fits again, or must. Ops between are as wide as is the cheapest. Where \
         arguments or results are f64, so is f32. Ranges are those that are stated (`ng.range`), or else the whole finite range of \
         the type; factors of contractions stay as they are where ranges are not stated. Accumulators of f16 and bf16 become f32. \
         All others keep their formats, no op takes a narrower one, over the reals nothing changes, and a second run changes \
         nothing. `stabilize` ends with this.\n\n\
         Else each op that computes in a format takes one of `formats`, for its operands and its result; reductions and contractions \
         accumulate in f32 at least. With `target` it is chosen, too, how each of them sums: one term after another, by pairs, or with a \
         compensation, or in f64 where that is one of `formats`; what the program states stays, and a runtime sums as it does. An op may take a format if all that it reads and makes over the reals fits; an argument of \
         which no range is stated lies anywhere in its type, and what fits no format stays as it was given. With `target` the error bound of each \
         result, in units of the result (or relative to its greatest magnitude, with `measure=relative`), is no more than \
         that: the errors that ops add in their formats, times what becomes of them in the results, are held against it, and the \
         bound of what was written is computed anew (`analyze` gives the same figure). Among the assignments within it the \
         cheapest is searched by minimum cuts with a Lagrange multiplier: bytes of values, operations, and conversions, once \
         for each value and direction. The gap says by how much any assignment with the same sum of errors may be cheaper. Without \
         `target` no op takes a narrower format than it was given in. Arguments and results of the function keep their types. With \
         `--calibrate inputs.npz --assume-calibrated` values lie where the samples showed them, and the bound is the one of `analyze` for that: \
         conditional, and labelled so. \
         With `memory` the most accurate assignment is searched that fits, not the cheapest; the peak is taken from when values are \
         made and read last, and parameters and activations are told apart. \
         Of formats of which neither holds the other one, as f16 and bf16, each chain is tried, and the cheaper assignment taken. \
         Where no assignment serves, the pass fails and says which ops are to blame.\n\n\
         The table on the standard error stream gives for each op that may not take the cheapest format its range, headroom, \
         demanded bits (those that its own rounding alone needs), format, and why it takes no lower one; then the bound, the \
         bytes beside those of each format alone, and what the sheaf of formats says: whether one format serves all, how many \
         assignments there are, and the edges whose ends have no format in common."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "formats",
                kind: OptionKind::Str(""),
                doc: "formats to choose from, with bars between them, out of f16, bf16, f32 and f64, and of f32x2 and f64x2, the \
                      unevaluated sums of two numbers; none stands for f16|f32 with `target` or `memory`, and without for the format \
                      of each op and those that reach further",
            },
            TARGET,
            MEASURE,
            OptionDef {
                name: "criterion",
                kind: OptionKind::Choice(Criterion::NAMES),
                doc: "what `target` is held against: error bounds; or four standard deviations of the error at samples, roundings \
                      taken as independent and each anywhere within its bound with the same probability, an estimate; or the curvature \
                      of each op, an estimate: log2(curvature * diameter^2 / target) bits",
            },
            OptionDef {
                name: "objective",
                kind: OptionKind::Choice(Objective::NAMES),
                doc: "what is to be the least: the time that operations, and the bytes of values and of conversions, take; or bytes alone",
            },
            OptionDef {
                name: "levels",
                kind: OptionKind::Int { default: Levels::MOST as i64, min: 0 },
                doc: "formats of the chain that one instruction converts across",
            },
            OptionDef {
                name: "memory",
                kind: OptionKind::Str(""),
                doc: "a memory that all values must fit, such as 24GiB: the most accurate assignment that does is searched, not \
                      the cheapest",
            },
            OptionDef {
                name: "use",
                kind: OptionKind::Choice(Use::NAMES),
                doc: "what the memory holds: in training gradients, what the optimiser keeps, and all activations until the end",
            },
        ]
    }

    fn establishes(&self) -> &'static [Property] {
        &[Property::Formats]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "assigned", doc: "ops that were given a format" },
            StatisticDef {
                name: "changed",
                doc: "ops whose format is another one than before, or that of their accumulators",
            },
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let levels = cx.options.int("levels").clamp(0, i64::from(Levels::MOST)) as Level;
        let fails = |why| Diagnostics(vec![Diagnostic::new(Severity::Error, Loc::Unknown, why)]);
        let wanted = Wanted::all(cx.options, levels).map_err(fails)?;
        if !asks(cx.options) {
            return hold(module, &wanted, cx).map_err(fails);
        }
        let formats = Some(cx.options.string("formats")).filter(|formats| !formats.is_empty());
        let chains = Chain::parse(formats.as_deref().unwrap_or("f16|f32")).map_err(fails)?;
        Evidence::each(module, cx, |evidence, cx| {
            let Found { body, assigned } = cheapest(evidence, &chains, &wanted)?;
            let changed = tell(&assigned, evidence.function, cx);
            if let Some(sink) = cx.supply::<Assignments>() {
                sink.push(assigned);
            }
            Ok(changed.then_some(body))
        })
    }
}

/// Whether anything is asked of an assignment but that values fit.
pub fn asks(options: &Options) -> bool {
    ["formats", "memory"].iter().any(|name| !options.string(name).is_empty()) || options.float("target") > 0.0
}

/// Holds the values of each function, where they are assumed to lie if samples show that.
fn hold(module: &mut Module, wanted: &Wanted, cx: &mut PassContext<'_>) -> Result<Changed, String> {
    let exchange = cx.supply::<Exchange>();
    let samples = exchange.filter(|e| e.assume_calibrated).and_then(|e| e.samples.as_ref());
    let ranges = |function: &Function| {
        let sampled = samples.filter(|samples| samples.function() == function.name());
        let sampled = sampled.map(|samples| samples.ranges()).unwrap_or_default();
        let Function { attrs, body, resources, .. } = function;
        Ranges::assuming(body, attrs.get("arg_attrs"), resources, &sampled)
    };
    let (context, objective, levels) = (cx.context, wanted.objective, wanted.levels);
    let hold = Hold { context, allowed: &|_| true, objective, levels, ranges: &ranges };
    let mut changed = Changed::No;
    for op in module.functions() {
        let Some(mut function) = Function::take(module, op) else { continue };
        let given = ranges(&function);
        let held = hold.function(&mut function, &given);
        function.put_back(module);
        let held = held?;
        cx.count("changed", held.len());
        if !held.is_empty() {
            changed = Changed::Yes;
        }
        for Held { loc, message } in held {
            cx.remark(RemarkKind::Passed, "widen", loc, message);
        }
    }
    Ok(changed)
}

/// The cheapest assignment of formats of one of some chains.
fn cheapest(evidence: &Evidence<'_>, chains: &[Chain], wanted: &Wanted) -> Result<Found, String> {
    if wanted.criterion == Criterion::Deviation && evidence.samples.is_none() {
        return Err(
            "criterion=deviation is what roundings become at samples: add --calibrate inputs.npz --assume-calibrated".into(),
        );
    }
    if evidence.samples.is_none() && chains.iter().any(Chain::has_double) {
        return Err("what rounding takes from a double word is in its second word, which only samples show: add --calibrate \
             inputs.npz --assume-calibrated, or leave f32x2 and f64x2 out of the formats"
            .into());
    }
    let facts = evidence.facts(wanted.asked())?;
    let mut best: Option<Found> = None;
    let mut refused = Vec::new();
    for chain in chains {
        match assign(evidence, &facts, chain, wanted) {
            Ok(found) => {
                let rank = |found: &Found| (found.assigned.cost, found.assigned.error());
                if best.as_ref().is_none_or(|best| rank(&found) < rank(best)) {
                    best = Some(found);
                }
            }
            Err(why) => refused.push(format!("with formats {chain}: {why}")),
        }
    }
    best.ok_or_else(|| refused.join("\n"))
}

/// Remarks of an assignment; whether a format is another one than before.
fn tell(assigned: &Assigned, function: &Function, cx: &mut PassContext<'_>) -> bool {
    let is_changed = |row: &Row| row.format != row.given || row.accumulation.is_some();
    let changed = assigned.rows.iter().filter(|row| is_changed(row)).count();
    cx.count("assigned", assigned.rows.len());
    cx.count("changed", changed);
    for row in &assigned.rows {
        let kind = if is_changed(row) { RemarkKind::Passed } else { RemarkKind::Analysis };
        cx.remark(kind, "format", row.loc.clone(), row.text())
            .arg("format", row.format.name())
            .arg("given", row.given.name())
            .arg("lo", row.range.lo)
            .arg("hi", row.range.hi);
    }
    cx.remark(RemarkKind::Analysis, "totals", function.loc.clone(), assigned.totals().join("; "));
    changed > 0
}
