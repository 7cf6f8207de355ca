//! What there is to say about a rule: its text, its conditions in words, bounds, examples, a drawing.

pub mod bound;
pub mod drawing;
pub mod example;
pub mod words;

use std::fmt::Write;

use ngc_ir::Context;

use self::bound::{Bound, Side};
use self::example::{Example, Examples};
use super::compile::{CompiledRule, RuleSet};
use super::rule::{Label, Rule};
use super::verify::{FORMATS, Report};
use crate::digits::up;

/// What a label means.
pub fn label(label: Label) -> &'static str {
    match label {
        Label::Exact => "the sides are equal over the reals wherever the left one is defined",
        Label::ErrorBounded => {
            "the sides are equal over the reals but for the rounding of the constants that the rule computes"
        }
        Label::DomainRestricted => "the sides are equal over the reals where the conditions hold",
    }
}

/// A rule with all that is computed for its explanation.
pub struct Explanation<'r> {
    /// The rule.
    pub rule: &'r Rule,
    /// Bounds on stated ranges; none where no ranges were found on which the conditions hold.
    pub bound: Option<Bound>,
    /// Inputs.
    pub examples: Examples,
}

impl<'r> Explanation<'r> {
    /// Computes bounds and examples. They depend on the rules alone.
    pub fn new(context: &Context, rules: &RuleSet, rule: &'r CompiledRule) -> Explanation<'r> {
        Explanation {
            rule: &rule.rule,
            bound: bound::of_rule(context, rules, rule),
            examples: example::search(context, rules, rule),
        }
    }

    /// Markdown below a heading of the rule's name.
    pub fn markdown(&self) -> String {
        let rule = self.rule;
        let mut out = String::new();
        let ways = if rule.both_ways { ", both ways" } else { "" };
        let _ = write!(out, "*{}*, *{}*{ways}: {}.\n\n", rule.category, rule.label.name(), label(rule.label));
        let doc = rule.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        if !doc.is_empty() {
            let _ = write!(out, "{doc}\n\n");
        }
        for line in rule.text.lines() {
            let _ = writeln!(out, "    {line}");
        }
        for (heading, list) in [
            ("Needed for the sides to be equal", &rule.conditions),
            ("Asked for, to be worth while", &rule.benefits),
        ] {
            if !list.is_empty() {
                let _ = write!(out, "\n{heading}:\n\n");
                for condition in list {
                    let _ = writeln!(out, "- `{condition}`: {}", words::condition(condition));
                }
            }
        }
        if !rule.bounds.is_empty() {
            out.push_str("\nStated of every element, u the unit roundoff of its format:\n\n");
            for bound in &rule.bounds {
                let _ = writeln!(out, "- {}: at most `{}`", words::side(bound.of), bound.at_most);
            }
        }
        self.bound_markdown(&mut out);
        self.examples_markdown(&mut out);
        out
    }

    fn bound_markdown(&self, out: &mut String) {
        let Some(bound) = &self.bound else {
            out.push_str("\nNo bound is shown: the conditions hold on none of the ranges that are tried.\n");
            return;
        };
        let inputs: Vec<String> = bound
            .inputs
            .iter()
            .map(|(name, ty, range)| format!("?{name} in [{}, {}] ({ty})", range.lo, range.hi))
            .collect();
        let _ = write!(out, "\nError bounds that the analysis derives for {}:\n\n", inputs.join(", "));
        out.push_str("| side | absolute | relative | derivation: op (L towards its operands; Δ) error so far |\n|---|---|---|---|\n");
        for (name, side) in ["left", "right"].into_iter().zip(&bound.sides) {
            let _ = writeln!(
                out,
                "| {name} | {} | {} | {} |",
                figure(side.absolute),
                figure(side.relative),
                derivation(side)
            );
        }
    }

    fn examples_markdown(&self, out: &mut String) {
        let show = |e: &Example| {
            format!(
                "`{}`: exact {}, left {} (relative error {}), right {} ({})",
                e.inputs,
                value(e.exact),
                value(e.left),
                figure(e.errors[0]),
                value(e.right),
                figure(e.errors[1])
            )
        };
        let Examples { better, not } = &self.examples;
        let found =
            |example: &Option<Example>, none: &str| example.as_ref().map_or_else(|| none.to_string(), show);
        let _ = write!(
            out,
            "\n- It helps: {}\n- It does not: {}\n",
            found(better, "no input was found on which the right side is better by a bit"),
            found(not, "no input was found on which the right side is not better"),
        );
    }
}

fn derivation(side: &Side) -> String {
    if side.steps.is_empty() {
        return "nothing is computed".into();
    }
    let step = |s: &bound::Step| {
        let lipschitz: Vec<String> = s.lipschitz.iter().map(|&l| figure(l)).collect();
        format!("{} ({}; {}) {}", s.op, lipschitz.join(", "), figure(s.delta), figure(s.absolute))
    };
    side.steps.iter().map(step).collect::<Vec<_>>().join(" → ")
}

/// A bound with two digits, the second rounded up.
fn figure(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if !x.is_finite() => {
            if x.is_nan() {
                "undefined".into()
            } else {
                "∞".into()
            }
        }
        x => up(x, |x| format!("{x:.1e}")),
    }
}

fn value(x: f64) -> String {
    match x {
        x if !x.is_finite() || x == 0.0 => x.to_string(),
        x if (1e-4..1e6).contains(&x.abs()) => {
            format!("{:.6}", x).trim_end_matches('0').trim_end_matches('.').to_string()
        }
        x => format!("{x:.5e}"),
    }
}

/// How a rule was verified, in one line.
pub fn verified(report: &Report) -> String {
    let bounded: Vec<String> =
        FORMATS.iter().zip(report.bounded).map(|(format, n)| format!("{format} {n}")).collect();
    let rounded = match report.rounded {
        0 => String::new(),
        n => format!(" ({n} within the rounding of its constants)"),
    };
    let stated = match report.stated {
        0 => String::new(),
        n => format!(", within the stated ones {n}"),
    };
    format!(
        "by {}: {} points{rounded} of {} instances on {} shapes; values within their error bounds: {}{stated}; edges: {} of {}",
        report.established.name(),
        report.points,
        report.instances,
        report.shapes,
        bounded.join(", "),
        report.edges_reached(),
        report.edges.len()
    )
}
