//! The pass `stabilize`: options in, remarks, figures and proofs out.

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, Property, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Body, Diagnostics, Loc};
use ngc_reals::laws::Laws;

use super::allowed::Allowed;
use super::catalogue;
use super::catalogue::library::{Library, failed};
use super::telling::{Effect, Report, Rewriting};
use super::{Wanted, stabilize};
use crate::analysis;

/// The pass.
pub struct Stabilize;

impl Pass for Stabilize {
    fn name(&self) -> &'static str {
        "stabilize"
    }

    fn summary(&self) -> &'static str {
        "Replace numerically unstable spellings by equal, stable ones"
    }

    fn description(&self) -> &'static str {
        "Reads what each value is over the reals, so that its spelling leaves no trace, and computes it in the best way that \
         laws (identities), charts (a value carried as its logarithm, its distance from 1 or from a mean, a multiple of a \
         scale) and the definitions of ops allow. Forms are compared at points on a ladder over the whole format, within the \
         ranges of the arguments (`ng.range`, or else all finite numbers), and on the samples of `--calibrate` where there \
         are any: points rank equal forms and prove nothing. The given form stays unless another one is better by a step \
         somewhere and trades nothing for it anywhere: nowhere more than twice the error and four units in the last place, \
         and finite wherever the given form is. A condition of a law is proven from the ranges, or asked when the program \
         runs. Values whose ranges leave their format are held in a wider one in the end (`assign-precision`). A replacement has the \
         type of what it replaces, and its location. Each rewrite is a remark. A second run changes nothing."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "rule-set",
                kind: OptionKind::Str("all"),
                doc: "families of laws to use, and `charts`, separated by commas; 'all' is every one",
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
                doc: "files with laws to add to the bundled ones, separated by commas",
            },
            OptionDef {
                name: "fuse",
                kind: OptionKind::Bool(false),
                doc: "cover what was given, too, by the largest ops whose definitions it is, where nothing gets worse: a                       softmax that was written as a shift, exponentials and a quotient becomes one op",
            },
            OptionDef {
                name: "target",
                kind: OptionKind::Str(""),
                doc: "file that says which ops and formats the machine has: no other one is brought in",
            },
        ]
    }

    fn invalidates(&self) -> &'static [Property] {
        &[Property::Formats]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "rewrites", doc: "values computed in a better way" },
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
        let library = cx.supply::<Library>();
        let laws = match library.and_then(|all| all.get(&files)) {
            Some(laws) => laws,
            None if files.is_empty() => Laws::bundled(),
            None => {
                return Err(failed(format!("the laws of '{files}' were not read: the driver supplies them")));
            }
        };
        let target = match text("target").as_str() {
            "" => None,
            file => Some(library.and_then(|all| all.target(file)).ok_or_else(|| {
                failed(format!("the target '{file}' was not read: the driver supplies it"))
            })?),
        };
        let allowed = Allowed::new(laws, &text("rule-set"), target).map_err(failed)?;
        let exchange = cx.supply::<Rewriting>();
        let proofs = exchange.and_then(|e| e.proofs.as_ref());
        let samples = cx.supply::<analysis::report::Exchange>().and_then(|e| e.samples.as_ref());
        let wanted = Wanted {
            allowed: &allowed,
            fuse: cx.options.flag("fuse"),
            samples,
            assume_calibrated: exchange.is_some_and(|e| e.assume_calibrated),
            figures: exchange.is_some_and(|e| e.figures),
            proofs: proofs.is_some(),
            watch: exchange.and_then(|e| e.watch.as_deref()),
        };
        let report = stabilize(cx.context, function, laws, wanted);
        debug_assert_eq!(catalogue::without_entry(cx.context, laws, &report), None, "is in no catalogue");
        // Another format is no other function: there is nothing to prove.
        let rewritten = report.applied.iter().filter(|rewrite| rewrite.rule != "widen");
        debug_assert!(!wanted.proofs || report.proofs.len() == rewritten.count(), "a rewrite has no proof");
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
        tell(&report, &function.loc, cx);
        if let Some(proofs) = proofs {
            let mut all = proofs.lock().unwrap_or_else(|e| e.into_inner());
            all.entry(function.op.index()).or_default().extend(report.proofs);
        }
        cx.count("rewrites", report.applied.len());
        cx.count("erased", report.erased);
        Ok(Changed::from(!report.applied.is_empty() || report.erased > 0 || !masked.is_empty()))
    }
}

/// Remarks about each rewrite, what was missed, and what all of them did together.
fn tell(report: &Report, function: &Loc, cx: &mut PassContext<'_>) {
    for rewrite in &report.applied {
        let remark = cx.remark(RemarkKind::Passed, &rewrite.rule, rewrite.loc.clone(), rewrite.text());
        remark.details = rewrite.details();
        if let Effect::Change(change) = &rewrite.effect {
            remark.args.extend(change.args());
        }
    }
    for rewrite in &report.missed {
        cx.remark(RemarkKind::Missed, &rewrite.rule, rewrite.loc.clone(), rewrite.message.clone());
    }
    let Some(totals) = &report.totals else { return };
    let rewrites = report.applied.len();
    for (n, outcome) in totals.results.iter().enumerate() {
        let remark = cx.remark(RemarkKind::Analysis, "BOUND", function.clone(), outcome.text(n));
        remark.details = outcome.details();
        remark.args.extend(outcome.args(n));
    }
    let message = format!("{}, rewrites {rewrites}", totals.saved);
    let remark = cx.remark(RemarkKind::Analysis, "SAVED", function.clone(), message);
    remark.args.extend(totals.saved.args());
    remark.arg("rewrites", rewrites);
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
