//! `stabilize`: replaces unstable spellings by equal ones with better error bounds.

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Body, Diagnostics, Loc};

use super::library::{self, Library};
use super::{directed, egraph};

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
        "Searches the forms that the rewrite rules of the chosen sets make of the function for those with the better \
         bounds: finite where the others may not be, else of less error relative to the value, else of less absolute \
         error; by a hundredth at least. The search is by equality saturation, region by region; regions that are alike \
         are searched once. Where no range is stated and bounds say nothing, terms are compared on nominal ranges \
         (|x| <= 8, doubled until the form as written fails); where they do not decide either, rules are applied in \
         the direction in which they are written. Every rule is an identity over the reals; its conditions must be \
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
                kind: OptionKind::Str("stability,precision"),
                doc: "categories of rules to use, separated by commas; 'all' is every one",
            },
            OptionDef {
                name: "search",
                kind: OptionKind::Choice(&["egraph", "directed"]),
                doc: "egraph: equality saturation, choosing by error bounds; directed: every rule as it is written, \
                      wherever it matches",
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
                doc: "files with rules to add to the bundled ones, separated by commas",
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
        let rules = match text("rules").as_str() {
            "" => super::bundled()?,
            files => cx.supply::<Library>().and_then(|all| all.get(files)).ok_or_else(|| {
                library::failed(format!("the rules of '{files}' were not read: the driver supplies them"))
            })?,
        };
        let sets = text("rule-set");
        let categories = library::categories(&sets, rules).map_err(library::failed)?;
        let rules = rules.select(&categories);
        let report = match text("search").as_str() {
            "directed" => directed::stabilize(cx.context, function, &rules),
            _ => egraph::drive::stabilize(cx.context, function, &rules, &Default::default()),
        };
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
            cx.remark(RemarkKind::Passed, &step.rule, step.loc.clone(), step.message.clone());
        }
        for step in &report.missed {
            cx.remark(RemarkKind::Missed, &step.rule, step.loc.clone(), step.message.clone());
        }
        cx.count("rewrites", report.applied.len());
        cx.count("erased", report.erased);
        Ok(Changed::from(!report.applied.is_empty() || !masked.is_empty()))
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
