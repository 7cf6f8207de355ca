//! `stabilize`: replaces unstable spellings by equal ones with better error bounds.

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Body, Diagnostics, Loc, Sources};

use super::compile::RuleSet;
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
                doc: "file with rules to add to the bundled ones",
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
        let categories = text("rule-set");
        let categories: Vec<&str> = categories.split(',').map(str::trim).collect();
        let loaded;
        let rules = match text("rules").as_str() {
            "" => super::bundled()?,
            path => {
                loaded = load(path, cx)?;
                &loaded
            }
        };
        let known = rules.categories();
        if let Some(unknown) = categories.iter().find(|c| !known.contains(*c)) {
            let known: Vec<&str> = known.into_iter().collect();
            return Err(failed(format!("there is no rule set '{unknown}'; there are: {}", known.join(", "))));
        }
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

/// An error without a place.
fn failed(message: String) -> Diagnostics {
    let mut errors = Diagnostics::default();
    errors.error(Loc::Unknown, message);
    errors
}

/// The bundled rules and those of a file.
fn load(path: &str, cx: &PassContext<'_>) -> Result<RuleSet, Diagnostics> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| failed(format!("cannot read the rule file '{path}': {e}")))?;
    let mut sources = Sources::new();
    super::load(cx.context, &[(path, &text)], &mut sources).map_err(|errors| {
        // The rule file is not among the sources of the module, so its places are spelt out.
        let mut located = Diagnostics::default();
        for e in errors.0 {
            let place = sources.resolve(&e.loc);
            let loc = place.map_or(Loc::Unknown, |(file, at)| {
                Loc::explicit(ngc_ir::LocKind::FileLineCol {
                    file: file.as_str().into(),
                    line: at.line,
                    column: at.column,
                    end: None,
                })
            });
            located.error(loc, e.message);
        }
        located
    })
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
