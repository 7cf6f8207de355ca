//! Checks rules: no rule is believed.
//!
//! A rule is tried on random instances: shapes, formats, attributes, constants and points ([`draw`]), and on instances
//! aimed at the edges of its conditions and of the formats ([`probe`]). The left side is built as a function, and the
//! rule is applied to it by the very matcher, conditions and builder that the searches use ([`instance`]). Where it
//! applies, both sides are evaluated at [`BITS`] bits ([`values`]) and must agree ([`compare`]), and no term of the right side may lack a value where
//! all of the left have one ([`defined`]); and what each side computes in the format of the
//! instance must lie within the error bound that the analysis gives for it ([`bounds`]), and within the one that the rule
//! states, if it does ([`stated`]).

mod bounds;
mod compare;
mod defined;
pub mod draw;
mod fit;
pub(super) mod instance;
mod probe;
mod stated;
mod values;

use std::sync::Arc;

use ngc_ir::{Context, Diagnostics, Type};
use ngc_numerics::{Format, Random};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use self::compare::BITS;
use self::compare::Points;
use self::draw::{Aim, Extents, LIMIT};
use self::instance::Instance;
use super::compile::{CompiledRule, OneSided, RuleSet};
use super::rule::Pattern;

/// Formats in which every rule is tried.
pub const FORMATS: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];

/// How much evidence is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Points that must agree.
    pub points: usize,
    /// Instances that must agree: one may have hundreds of points.
    pub instances: usize,
    /// Different combinations of argument types that must occur.
    pub shapes: usize,
    /// Instances to draw before giving up.
    pub trials: usize,
    /// Instances in each format of which the error bounds are checked.
    pub bounded: usize,
    /// Instances to draw for each edge before it counts as excluded by the conditions.
    pub probes: usize,
    /// Whether to look for a derivation from the axioms.
    pub derive: bool,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            points: 1000,
            instances: 200,
            shapes: 5,
            trials: 160_000,
            bounded: 12,
            probes: 48,
            derive: false,
        }
    }
}

/// How the equality of the two sides was established.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Established {
    /// Both sides were evaluated at [`BITS`] bits or more.
    Evaluation,
    /// That, and equality saturation led from one side to the other by the axioms alone.
    Derivation,
}

impl Established {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Established::Evaluation => "evaluation",
            Established::Derivation => "derivation from the axioms, and evaluation",
        }
    }
}

/// An edge of the domain of a rule, and at how many points there the two sides agreed: at none where the conditions
/// exclude it, or the left side is undefined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// In words.
    pub at: String,
    /// Points.
    pub points: usize,
}

/// What was found of a rule.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its name.
    pub rule: String,
    /// How it was established, if it was.
    pub established: Established,
    /// Instances that it applied to.
    pub instances: usize,
    /// Points at which both sides were defined and agreed.
    pub points: usize,
    /// Of these, points at which they agreed within the rounding of the constants that the rule computes.
    pub rounded: usize,
    /// Points at which one side is undefined and the other is not: with finite inputs, and with infinite ones.
    pub one_sided: [usize; 2],
    /// Different combinations of argument types among the instances.
    pub shapes: usize,
    /// For each of [`FORMATS`] values that were held against their error bound, both sides together.
    pub bounded: [usize; FORMATS.len()],
    /// Values that were held against the bounds that the rule states.
    pub stated: usize,
    /// Edges that were looked for.
    pub edges: Vec<Edge>,
    /// Whether the failure is an instance at which the sides differ or a bound is violated.
    pub refuted: bool,
    /// An instance at which the sides differ, or why there was no evidence.
    pub failure: Option<String>,
}

impl Report {
    /// Whether the rule stands.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }

    /// Edges at which there were points.
    pub fn edges_reached(&self) -> usize {
        self.edges.iter().filter(|e| e.points > 0).count()
    }
}

/// Checks rules in parallel; the reports are in the order of the rules. `done` hears of each rule that is finished.
/// The reports depend on the rules and the effort alone.
pub fn verify_rules(
    context: &Context,
    set: &RuleSet,
    rules: &[&CompiledRule],
    effort: Effort,
    done: &(dyn Fn() + Sync),
) -> Vec<Report> {
    let one = |rule: &&CompiledRule| {
        let report = verify_rule(context, set, rule, effort);
        done();
        report
    };
    // One by one: some rules take a hundred times longer than others.
    rules.par_iter().with_max_len(1).map(one).collect()
}

/// By the names of rules, where one side may be undefined and the other not, as far as that was seen now or before.
pub fn domains(rules: &[&CompiledRule], reports: &[Report]) -> FxHashMap<String, OneSided> {
    let mut domains = FxHashMap::default();
    for (c, report) in rules.iter().zip(reports) {
        let seen = match report.one_sided {
            // Of a normal form instances are drawn where the left side has values.
            _ if matches!(c.rule.right, Pattern::Rational(..)) => OneSided::Somewhere,
            [0, 0] => OneSided::Nowhere,
            [0, _] => OneSided::Infinite,
            _ => OneSided::Somewhere,
        };
        let seen = c.one_sided.map_or(seen, |known| known.max(seen));
        let known = domains.entry(c.rule.name.clone()).or_insert(seen);
        *known = seen.max(*known);
    }
    domains
}

/// What is wrong with those rules that do not stand, each at its place.
pub fn errors(rules: &[&CompiledRule], reports: &[Report]) -> Diagnostics {
    let mut errors = Diagnostics::default();
    for (n, report) in reports.iter().enumerate() {
        let Some(why) = &report.failure else { continue };
        let name = directed_name(rules, n);
        let message = match report.refuted {
            true => format!("rule '{name}' does not hold: {why}"),
            false => format!(
                "rule '{name}' is not established: {why}; it is tried on tensors of up to four dimensions of 1 to 3, and \
                 on numbers up to {LIMIT:e}: its conditions must admit enough of them"
            ),
        };
        errors.error(rules[n].rule.loc.clone(), message);
    }
    errors
}

/// The name of the n-th rule, and that it is the way back of the one before it.
pub fn directed_name(rules: &[&CompiledRule], n: usize) -> String {
    let name = &rules[n].rule.name;
    let back = n > 0 && rules[n - 1].rule.name == *name;
    if back { format!("{name}, from right to left") } else { name.clone() }
}

/// Compares the two sides of a rule at random instances. The result depends on the rule and the effort alone.
pub fn verify_rule(context: &Context, rules: &RuleSet, rule: &CompiledRule, effort: Effort) -> Report {
    Check::new(context, rules, rule, effort).run(probe::probes(context, &rule.rule))
}

/// The same for a rule whose n-th condition is replaced by its negation: if the report is not refuted, nothing shows that
/// the condition is needed.
pub fn verify_without(
    context: &Context,
    rules: &RuleSet,
    rule: &CompiledRule,
    condition: usize,
    effort: Effort,
) -> Report {
    let mut weaker = rule.clone();
    if condition < weaker.rule.conditions.len() {
        Arc::make_mut(&mut weaker.rule).conditions.remove(condition);
    }
    let mut check = Check::new(context, rules, &weaker, effort);
    check.random = Random::seeded(&format!("{} without {condition}", rule.rule.name));
    check.whole = Some(rule);
    check.run(probe::probes(context, &rule.rule))
}

/// A rule under examination.
struct Check<'a> {
    context: &'a Context,
    rules: &'a RuleSet,
    rule: &'a CompiledRule,
    /// The rule with all of its conditions, where one was negated: it is this one that must refuse.
    whole: Option<&'a CompiledRule>,
    effort: Effort,
    random: Random,
    report: Report,
    /// Combinations of argument types that occurred.
    seen: Vec<Vec<Type>>,
    /// Instances in each format whose bounds were checked.
    bounded: [usize; FORMATS.len()],
    last_refusal: Option<String>,
}

impl<'a> Check<'a> {
    fn new(context: &'a Context, rules: &'a RuleSet, rule: &'a CompiledRule, effort: Effort) -> Check<'a> {
        let report = Report {
            rule: rule.rule.name.clone(),
            established: Established::Evaluation,
            instances: 0,
            points: 0,
            rounded: 0,
            one_sided: [0; 2],
            shapes: 0,
            bounded: [0; FORMATS.len()],
            stated: 0,
            edges: Vec::new(),
            refuted: false,
            failure: None,
        };
        Check {
            context,
            rules,
            rule,
            whole: None,
            effort,
            random: Random::seeded(&rule.rule.name),
            report,
            seen: Vec::new(),
            bounded: [0; FORMATS.len()],
            last_refusal: None,
        }
    }

    fn run(mut self, probes: Vec<probe::Probe>) -> Report {
        if let Err(why) = self.examine(probes) {
            self.report.failure = Some(why);
        }
        self.report
    }

    fn examine(&mut self, probes: Vec<probe::Probe>) -> Result<(), String> {
        for probe in probes {
            // What is true of one shape says little of the next, and one shape may have many points.
            let about_shapes = matches!(probe.aim.extents, Extents::Twos | Extents::Uneven);
            let (mut points, mut instances) = (0, 0);
            for trial in 0..self.effort.probes {
                // A different format each time, for an edge may lie elsewhere in each.
                let found = self.instance(&Aim { format: FORMATS[trial % FORMATS.len()], ..probe.aim })?;
                points += found;
                instances += usize::from(found > 0);
                if points >= PROBE_POINTS && (instances >= PROBE_SHAPES || !about_shapes) {
                    break;
                }
            }
            self.report.edges.push(Edge { at: probe.at, points });
        }
        for _ in 0..self.effort.trials {
            let Report { points, instances, shapes, .. } = self.report;
            let Effort { points: p, instances: i, shapes: s, .. } = self.effort;
            if points >= p && instances >= i && shapes >= s {
                return self.formats();
            }
            let format = self.random.pick(&FORMATS);
            self.instance(&Aim::at_random(format))?;
        }
        let Report { points, instances, shapes, .. } = self.report;
        Err(if points == 0 {
            let why = self.last_refusal.take().map(|w| format!(" (last refusal: {w})")).unwrap_or_default();
            format!("no instance was found to which the rule applies{why}")
        } else {
            format!("only {points} points of {instances} instances on {shapes} shapes were found")
        })
    }

    /// Draws on until the bounds of enough instances in every format were checked; some formats may be excluded by the
    /// conditions.
    fn formats(&mut self) -> Result<(), String> {
        for (n, format) in FORMATS.into_iter().enumerate() {
            for _ in 0..self.effort.bounded * FORMAT_TRIALS {
                if self.bounded[n] >= self.effort.bounded {
                    break;
                }
                self.instance(&Aim::at_random(format))?;
            }
        }
        Ok(())
    }

    /// Draws an instance; the number of points at which the sides agree.
    fn instance(&mut self, aim: &Aim) -> Result<usize, String> {
        let Some(mut instance) = Instance::draw(self.context, self.rule, &mut self.random, aim) else {
            return Ok(0);
        };
        match instance.apply(self.context, self.rules, self.rule) {
            Ok(true) => {}
            Ok(false) => return Ok(0),
            Err(why) => {
                self.last_refusal = Some(why);
                return Ok(0);
            }
        }
        // A normal form is tried on terms that were grown, with quotients by zero inside.
        let grown = matches!(self.rule.rule.right, Pattern::Rational(..));
        if grown && !defined::left_has_values(self.context, &instance) {
            return Ok(0);
        }
        if self.whole.is_some_and(|whole| !instance.refuses(self.context, self.rules, whole)) {
            return Ok(0);
        }
        let compared = compare::check(self.context, &instance);
        self.report.refuted |= compared.is_err();
        let Points { exact, rounded, mut one_sided } = compared?;
        // More is not asked for, once it was seen with finite inputs.
        if self.report.one_sided[0] == 0 && (0..2).any(|n| one_sided[n] > 0 && self.report.one_sided[n] == 0)
        {
            one_sided = compare::one_sided(self.context, &instance, one_sided);
        }
        (0..2).for_each(|n| self.report.one_sided[n] += one_sided[n]);
        let points = exact + rounded;
        self.report.points += points;
        self.report.rounded += rounded;
        self.report.instances += 1;
        if points == 0 {
            return Ok(0);
        }
        let defined = defined::check(self.context, &instance);
        self.report.refuted |= defined.is_err();
        defined?;
        if std::mem::take(&mut self.effort.derive) && instance.is_derived(self.context) {
            self.report.established = Established::Derivation;
        }
        let types = instance.types();
        if !self.seen.contains(&types) {
            self.seen.push(types);
            self.report.shapes = self.seen.len();
        }
        let format = FORMATS.iter().position(|&f| f == aim.format);
        if let Some(n) = format.filter(|&n| self.bounded[n] < self.effort.bounded) {
            let values = bounds::check(self.context, &instance);
            self.report.refuted |= values.is_err();
            let values = values?;
            self.report.bounded[n] += values;
            self.bounded[n] += usize::from(values > 0);
            let stated = stated::check(self.context, &instance, &self.rule.rule);
            self.report.refuted |= stated.is_err();
            self.report.stated += stated?;
        }
        Ok(points)
    }
}

/// Points that are enough at one edge.
const PROBE_POINTS: usize = 64;

/// Instances that are enough at an edge of shapes.
const PROBE_SHAPES: usize = 24;

/// Instances drawn for one whose bounds are checked, before a format counts as excluded.
const FORMAT_TRIALS: usize = 40;
