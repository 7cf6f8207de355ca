//! Finds where the left side of a rule stands in a graph of terms.
//!
//! A pattern is matched modulo the normal forms: where it asks for an op, a normal-form rule that has this op on its
//! right may show another op as it, for example `mul(x, reciprocal(y))` as `div(x, y)`. Such a view is a made term; the
//! body does not change unless a rule that needed the view is applied.

use ngc_ir::{Ident, Op, Type};
use smallvec::SmallVec;

use super::apply::{Refusal, Replacement, replace};
use super::compile::{CompiledRule, RuleSet};
use super::conditions::{Bindings, Bound, unify};
use super::graph::{Graph, Term, Terms, Views, is_default};
use super::rule::{OpPattern, Pattern, is_rounding};

/// How many normal-form rules may follow one another in a view.
const MAX_VIEWS: usize = 3;

/// The most ways in which one pattern is matched at one place.
const MAX_MATCHES: usize = 64;

/// Attributes that say how an op rounds, not what it means. Patterns that do not mention them do not look at them.
pub const ROUNDING: &[&str] = &["accumulate", "sum"];

/// A match of a pattern.
#[derive(Clone, Default, Debug)]
pub struct Match {
    /// What the variables stand for.
    pub bindings: Bindings,
    /// Ops of the body that the pattern covers, its root first.
    pub ops: SmallVec<[Op; 8]>,
}

/// The outcome of trying a rule at a term.
pub enum Attempt {
    /// The pattern does not stand here.
    None,
    /// It does, and the replacement is this term.
    Applies(Match, Term),
    /// It does, but this is against it.
    Refused(Match, Refusal),
}

/// Matches patterns in a graph.
pub struct Matcher<'g, 'a> {
    /// The graph.
    pub graph: &'g mut Graph<'a>,
    /// Where views come from.
    pub rules: &'g RuleSet,
}

/// Whether a tensor that stands where a pattern has a number makes the result wider than the other operands do. A rule
/// does not see that shape, which matters as soon as the elements are added up.
pub fn widens(args: &[Pattern], operands: impl Fn() -> SmallVec<[Type; 4]>) -> bool {
    let is_number = |arg: &Pattern| matches!(arg, Pattern::Number(..) | Pattern::Rounded(..));
    if !args.iter().any(is_number) {
        return false;
    }
    let operands = operands();
    let shapes = |numbers: bool| {
        let of = args.iter().zip(&operands).filter(move |(arg, _)| is_number(arg) == numbers);
        of.map(|(_, ty)| ty.shape().unwrap_or_default())
    };
    // From the last dimension on: whether some other operand has more than one element there, or a dimension at all.
    let covers = |n: usize, one: bool| {
        shapes(false).any(|s| s.len() > n && (one || s[s.len() - 1 - n].known() != Some(1)))
    };
    shapes(false).next().is_some()
        && shapes(true).any(|s| s.iter().rev().enumerate().any(|(n, d)| !covers(n, d.known() == Some(1))))
}

impl Matcher<'_, '_> {
    /// Tries a rule at a term. `when` clauses count unless `always`.
    pub fn attempt(&mut self, rule: &CompiledRule, term: Term, always: bool) -> Attempt {
        let mut refused = Attempt::None;
        let root = rule.spellings[0].op;
        if self.graph.name(term) != Some(root) && self.views(root, term, 1).is_empty() {
            return refused;
        }
        for spelling in rule.spellings.iter() {
            for m in self.op(spelling, term, &Match::default(), 0) {
                match self.replacement(rule, term, &m, always) {
                    Ok(right) => return Attempt::Applies(m, right),
                    Err(why) if matches!(refused, Attempt::None) => refused = Attempt::Refused(m, why),
                    Err(_) => {}
                }
            }
        }
        refused
    }

    /// The right side of a rule for a match at `term`.
    fn replacement(
        &mut self,
        rule: &CompiledRule,
        term: Term,
        m: &Match,
        always: bool,
    ) -> Result<Term, Refusal> {
        let with = self.with(m);
        replace(self.graph, rule, term, &with, always)
    }

    fn with<'m>(&self, m: &'m Match) -> Replacement<'m> {
        let body = self.graph.body;
        let formats = m.ops.iter().filter_map(|&op| body.attr(op, "accumulate")?.as_type()?.format());
        Replacement { bindings: &m.bindings, accumulate: formats.max_by_key(|f| f.precision()) }
    }

    fn pattern(&mut self, pattern: &Pattern, term: Term, m: &Match, views: usize) -> Vec<Match> {
        let bound = |name: Ident| {
            let mut m = m.clone();
            if m.bindings.bind(name, Bound::Term(term)) { vec![m] } else { Vec::new() }
        };
        match pattern {
            Pattern::Var(name, _) => bound(*name),
            Pattern::Const(name, _) if self.graph.uniform(term).is_some() => bound(*name),
            Pattern::Number(n, _) if self.graph.uniform(term) == Some(*n) => vec![m.clone()],
            Pattern::Rounded(n, ..) => {
                let format = self.graph.ty(term).format();
                let constant = self.graph.uniform(term).zip(format);
                if constant.is_some_and(|(c, f)| is_rounding(c, *n, f)) {
                    vec![m.clone()]
                } else {
                    Vec::new()
                }
            }
            Pattern::Op(op) => self.op(op, term, m, views),
            _ => Vec::new(),
        }
    }

    fn op(&mut self, pattern: &OpPattern, term: Term, m: &Match, views: usize) -> Vec<Match> {
        let rules = self.rules;
        let Some(root) = self.graph.name(term) else { return Vec::new() };
        if !rules.may_be_seen_as(root, pattern.op) {
            return Vec::new();
        }
        let mut found = if root == pattern.op { self.node(pattern, term, m, views) } else { Vec::new() };
        if views < MAX_VIEWS {
            for (ops, seen) in self.views(pattern.op, term, views + 1).iter() {
                let mut m = m.clone();
                m.ops.extend(ops.iter().copied());
                found.extend(self.node(pattern, *seen, &m, views + 1));
                if found.len() >= MAX_MATCHES {
                    break;
                }
            }
        }
        if let Some(name) = pattern.bind {
            found.retain_mut(|m| m.bindings.bind(name, Bound::Term(term)));
        }
        found.truncate(MAX_MATCHES);
        found
    }

    /// The terms of an op that normal-form rules show a term as.
    fn views(&mut self, wanted: Ident, term: Term, depth: usize) -> Views {
        let key = (wanted, term, depth);
        if let Some(known) = self.graph.views.get(&key) {
            return known.clone();
        }
        let rules = self.rules;
        let mut seen = Vec::new();
        for (rule, spelling) in rules.views_as(wanted).flat_map(|r| r.spellings.iter().map(move |s| (r, s))) {
            for view in self.op(spelling, term, &Match::default(), depth) {
                if let Ok(as_this) = self.replacement(rule, term, &view, false) {
                    seen.push((view.ops, as_this));
                }
            }
        }
        let seen: Views = seen.into();
        self.graph.views.insert(key, seen.clone());
        seen
    }

    /// Matches an op pattern with the very op that computes the term.
    fn node(&mut self, pattern: &OpPattern, term: Term, m: &Match, views: usize) -> Vec<Match> {
        let node = if self.graph.name(term) == Some(pattern.op) { self.graph.node(term) } else { None };
        let Some(node) = node.filter(|node| node.operands.len() == pattern.args.len()) else {
            return Vec::new();
        };
        let fits = |(arg, &operand): (&Pattern, &Term)| match arg {
            Pattern::Op(op) => {
                self.graph.name(operand).is_some_and(|name| self.rules.may_be_seen_as(name, op.op))
            }
            _ => true,
        };
        if !pattern.args.iter().zip(&node.operands).all(fits) {
            return Vec::new();
        }
        let mut m = m.clone();
        m.ops.extend(node.op);
        let (graph, operands) = (&*self.graph, node.operands.clone());
        for (name, expr) in &pattern.attrs {
            if !unify(expr, graph.attribute(&node, name.as_str()).as_ref(), &mut m.bindings) {
                return Vec::new();
            }
        }
        // An attribute that the pattern does not mention must be at its default.
        let plain = node.attrs.iter().all(|(name, value)| {
            let mentioned = pattern.attrs.iter().any(|(n, _)| n == name);
            mentioned
                || ROUNDING.contains(&name.as_str())
                || name.as_str().contains('.')
                || node.def.attribute(name.as_str()).is_some_and(|a| is_default(value, a.default))
        });
        if !plain {
            return Vec::new();
        }
        if widens(&pattern.args, || operands.iter().map(|&t| graph.ty(t)).collect()) {
            return Vec::new();
        }
        let mut found = vec![m];
        for (arg, operand) in pattern.args.iter().zip(operands) {
            found =
                found.iter().flat_map(|m| self.pattern(arg, operand, m, views)).take(MAX_MATCHES).collect();
        }
        found
    }
}
