//! Proofs for readers: each rule as it was applied, with the terms in place of its variables and what its conditions rest on.

use std::fmt::Write;
use std::sync::Arc;

use ngc_ir::{Body, Ident, Loc, Sources, Value};
use ngc_numerics::Interval;
use rustc_hash::FxHashMap;

use super::compile::CompiledRule;
use super::conditions::{Bindings, Bound, Env, Val};
use super::graph::{Term, Terms};
use super::measure::{bound, least};
use super::rule::{Expr, OpPattern, Pattern};

/// An equality that a rule states, at one place. Values stand as variables, see [`value`].
#[derive(Clone, Debug)]
pub struct Line {
    left: Pattern,
    right: Pattern,
    /// Conditions, each with the terms that it speaks of and their ranges over the reals.
    conditions: Vec<(Expr, Vec<(Pattern, Interval)>)>,
}

/// The proof that a value was replaced by an equal one.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The function.
    pub function: String,
    /// The round, from 1.
    pub round: usize,
    /// The value, as it is called in a print of the function before that round.
    pub value: String,
    /// The op that computed it.
    pub loc: Loc,
    /// The steps, each with the rule's name, the place, and the equality.
    pub steps: Vec<(String, Loc, String)>,
}

impl Proof {
    /// The proof as text: a line for the value, and one for each step.
    pub fn text(&self, sources: &Sources) -> String {
        let place = |loc: &Loc| match (sources.resolve(loc), loc.name_in()) {
            (Some((file, at)), _) => format!(" at {file}:{}:{}", at.line, at.column),
            (None, Some(name)) => format!(" at \"{name}\""),
            (None, None) => String::new(),
        };
        let mut out =
            format!("@{}, round {}: {}{}\n", self.function, self.round, self.value, place(&self.loc));
        for (n, (rule, loc, text)) in self.steps.iter().enumerate() {
            let _ = writeln!(out, "  {}. [{rule}]{}: {text}", n + 1, place(loc));
        }
        out
    }
}

/// The variable that stands for a value of the body.
pub fn value(value: Value) -> Pattern {
    Pattern::Var(Ident::new(&format!("%{}", value.index())), Loc::Unknown)
}

/// An op applied to terms.
pub fn applied(op: &str, args: Vec<Pattern>) -> Pattern {
    Pattern::Op(OpPattern { op: op.into(), bind: None, args, attrs: Vec::new(), loc: Loc::Unknown })
}

impl Line {
    /// A rule at a match, whose terms `spell` writes out, and that made the term `right`.
    pub fn new(
        rule: &CompiledRule,
        terms: &dyn Terms,
        bindings: &Bindings,
        right: Term,
        spell: &dyn Fn(Term) -> Pattern,
    ) -> Arc<Line> {
        let instance = |pattern: &Pattern| instance(pattern, terms, bindings, spell);
        let condition = |e: &Expr| {
            let mut names = Vec::new();
            variables(e, &mut names);
            let known = names.into_iter().filter_map(|name| match bindings.get(name)? {
                Bound::Term(t) if terms.uniform(*t).is_none() => Some((spell(*t), terms.range(*t).exact)),
                _ => None,
            });
            (e.clone(), known.collect())
        };
        let conditions = rule.rule.conditions.iter().map(condition).collect();
        let right = match &rule.rule.right {
            Pattern::Rational(..) => spell(right),
            right => instance(right),
        };
        Arc::new(Line { left: instance(&rule.rule.left), right, conditions })
    }

    /// The equality, with values called by `name`.
    pub fn text(&self, name: &dyn Fn(usize) -> String) -> String {
        let show = |p: &Pattern| named(p, name).to_string();
        let (left, right) = (show(&self.left), show(&self.right));
        let attributes = if left == right { " but for attributes" } else { "" };
        let mut out = format!("{left}  =  {right}{attributes}");
        for (n, (condition, ranges)) in self.conditions.iter().enumerate() {
            let lead = if n == 0 { "; proven: " } else { ", " };
            // Writing to a string does not fail.
            let _ = write!(out, "{lead}{condition}");
            for (n, (term, x)) in ranges.iter().enumerate() {
                let lead = if n == 0 { " (" } else { ", " };
                let nan = if x.may_be_nan { " or NaN" } else { "" };
                let _ = write!(out, "{lead}{} in [{}, {}]{nan}", show(term), least(x.lo), bound(x.hi));
            }
            out.push_str(if ranges.is_empty() { "" } else { ")" });
        }
        out
    }
}

fn instance(
    pattern: &Pattern,
    terms: &dyn Terms,
    bindings: &Bindings,
    spell: &dyn Fn(Term) -> Pattern,
) -> Pattern {
    match pattern {
        Pattern::Var(name, _) | Pattern::Const(name, _) => match bindings.get(*name) {
            Some(Bound::Term(t)) => spell(*t),
            _ => pattern.clone(),
        },
        Pattern::Computed(e, loc) => match Env::new(terms, bindings).eval(e) {
            Ok(Val::Number(n)) => Pattern::Number(n, loc.clone()),
            _ => pattern.clone(),
        },
        Pattern::Number(..) | Pattern::Rounded(..) | Pattern::Rational(..) => pattern.clone(),
        Pattern::Op(op) => {
            applied(op.op.as_str(), op.args.iter().map(|a| instance(a, terms, bindings, spell)).collect())
        }
    }
}

fn variables(e: &Expr, out: &mut Vec<Ident>) {
    match e {
        Expr::Var(name, _) if !out.contains(name) => out.push(*name),
        Expr::List(items) | Expr::Call(_, items, _) => items.iter().for_each(|e| variables(e, out)),
        Expr::Neg(e) | Expr::Not(e) => variables(e, out),
        Expr::Binary(_, a, b) => {
            variables(a, out);
            variables(b, out);
        }
        _ => {}
    }
}

fn named(pattern: &Pattern, name: &dyn Fn(usize) -> String) -> Pattern {
    match pattern {
        Pattern::Var(v, loc) => {
            let index = v.as_str().strip_prefix('%').and_then(|n| n.parse().ok());
            index.map_or_else(|| pattern.clone(), |n| Pattern::Var(Ident::new(&name(n)), loc.clone()))
        }
        Pattern::Op(op) => applied(op.op.as_str(), op.args.iter().map(|a| named(a, name)).collect()),
        _ => pattern.clone(),
    }
}

/// What values are called in a print of a function: by their index.
pub fn names(body: &Body) -> FxHashMap<usize, String> {
    let Some(entry) = body.entry() else { return FxHashMap::default() };
    let arguments = body.arguments(entry).iter().enumerate().map(|(n, v)| (v.index(), format!("%arg{n}")));
    let with_results = body.ops(entry).filter(|&op| body.num_results(op) > 0).enumerate();
    let results = with_results.flat_map(|(n, op)| {
        let several = body.num_results(op) > 1;
        let name = move |k| if several { format!("%{n}#{k}") } else { format!("%{n}") };
        body.results(op).enumerate().map(move |(k, v)| (v.index(), name(k))).collect::<Vec<_>>()
    });
    arguments.chain(results).collect()
}
