//! Inputs on which a rule is worth while, and others on which it is not: both sides evaluated in f16 and f32 on inputs
//! that are searched for, always the same ones.

use ngc_ir::Context;
use ngc_numerics::{Format, Mode, Random};

use crate::rewrite::compile::{CompiledRule, RuleSet};
use crate::rewrite::verify::BITS;
use crate::rewrite::verify::draw::{Aim, Extents, Points};
use crate::rewrite::verify::instance::Instance;

/// Instances that are looked at.
const TRIALS: usize = 100;

/// Elements of all inputs together: an example is to be read.
const MAX_ELEMENTS: usize = 8;

/// Both sides at one element.
#[derive(Clone, Debug)]
pub struct Example {
    /// Inputs, constants and attributes.
    pub inputs: String,
    /// What the left side computes.
    pub left: f64,
    /// What the right side computes.
    pub right: f64,
    /// The exact value, rounded to f64.
    pub exact: f64,
    /// The largest relative errors of both sides over all elements; infinite where a value is lost.
    pub errors: [f64; 2],
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// The right side is better.
    pub better: Option<Example>,
    /// It is not.
    pub not: Option<Example>,
}

/// Searches instances of the rule.
pub fn search(context: &Context, rules: &RuleSet, rule: &CompiledRule) -> Examples {
    let mut random = Random::seeded(&rule.rule.name);
    let (mut better, mut not): (Best, Best) = (None, None);
    let points = [Points::Any, Points::Large, Points::Tiny, Points::Any, Points::Special];
    for trial in 0..TRIALS {
        let aim = Aim {
            format: [Format::F16, Format::F32][trial % 2],
            points: points[trial % points.len()],
            extents: Extents::Any,
            held: None,
        };
        let Some(mut instance) = Instance::draw(context, rule, &mut random, &aim) else { continue };
        let elements: usize = instance.inputs.iter().map(|t| t.shape.iter().product::<usize>()).sum();
        if elements > MAX_ELEMENTS || instance.apply(context, rules, rule) != Ok(true) {
            continue;
        }
        let Some(example) = evaluate(context, &instance, aim.format) else { continue };
        let [before, after] = example.errors;
        // Bits gained; a value that is lost counts as all bits of the largest format and more.
        let bits = |error: f64| if error.is_finite() { error.max(1e-20).log2() } else { 64.0 };
        let gain = bits(before) - bits(after);
        let size = elements as f64;
        if gain > 1.0 {
            // Of much the same gain the smaller example.
            keep(&mut better, gain - 2.0 * size, example);
        } else if gain <= 0.0 {
            keep(&mut not, gain.max(-1.0) - size, example);
        }
    }
    Examples { better: better.map(|(_, e)| e), not: not.map(|(_, e)| e) }
}

/// The best example so far, with its score.
type Best = Option<(f64, Example)>;

fn keep(best: &mut Best, score: f64, example: Example) {
    if best.as_ref().is_none_or(|(known, _)| score > *known) {
        *best = Some((score, example));
    }
}

/// Both sides of an instance, at the element where the left one errs most; nothing where it is not defined.
fn evaluate(context: &Context, instance: &Instance, format: Format) -> Option<Example> {
    let [left, right] = instance.sides()?;
    let exact = instance.exact(context, BITS)?.get(left)?.to_f64s();
    let computed = instance.evaluate(context, Mode::Rounded, &instance.inputs)?;
    let (left, right) = (computed.get(left)?.to_f64s(), computed.get(right)?.to_f64s());
    let error = |computed: f64, exact: f64| {
        let error = (computed - exact).abs() / exact.abs().max(format.min_normal());
        if computed.is_finite() { error } else { f64::INFINITY }
    };
    let defined = exact.iter().enumerate().filter(|(_, e)| e.is_finite() && e.abs() <= format.max_finite());
    let errors: Vec<_> = defined
        .map(|(i, &e)| {
            (error(*left.get(i).unwrap_or(&f64::NAN), e), error(*right.get(i).unwrap_or(&f64::NAN), e), i)
        })
        .collect();
    let &(_, _, at) = errors.iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.2.cmp(&a.2)))?;
    let largest = |side: fn(&(f64, f64, usize)) -> f64| errors.iter().map(side).fold(0.0, f64::max);
    Some(Example {
        inputs: instance.describe(),
        left: left[at],
        right: right[at],
        exact: exact[at],
        errors: [largest(|e| e.0), largest(|e| e.1)],
    })
}
