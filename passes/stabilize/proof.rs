//! Why the form of a value equals it: a chain of terms, of which each is another spelling of the one before.

use std::collections::VecDeque;
use std::fmt::Write;

use ngc_ir::{Body, Loc, Sources, Value};
use ngc_reals::form::OpForm;
use ngc_reals::{Form, Use};
use rug::Rational;
use rustc_hash::{FxHashMap, FxHashSet};

use super::catalogue::{READING, REGROUPED};
use super::plan::{Plan, Terms};
use super::search::Choice;

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
    /// The steps, each with the name of what it is owed to, the place, and the equality.
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

/// The steps from a value to its form, from the value inwards: each with the law, chart or op that it is owed to, and the
/// equality. `name` says what a value of the window is called.
pub fn steps(plan: &Plan, terms: &Terms, name: &dyn Fn(Value) -> String) -> Vec<(String, String)> {
    let leaf = |n: u32| terms.leaves.get(&n).map_or_else(|| format!("x{n}"), |&v| name(v));
    let show = |of: &Use| terms.store.show_named(of, &leaf);
    let mut steps = vec![(READING.to_string(), format!("over the reals the value is  {}", show(&plan.root)))];
    let (mut seen, mut queue) = (FxHashSet::default(), VecDeque::from([plan.root.id]));
    while let Some(id) = queue.pop_front() {
        let Some(choice) = plan.choices.get(&id).filter(|_| seen.insert(id)) else { continue };
        let whole = terms.itself(id);
        let form = match choice {
            Choice::Source(_) => continue,
            Choice::Form(form) => form,
        };
        let step = match form {
            Form::Plain | Form::Ordered(_) | Form::Inside => None,
            Form::Equal(equal) => Some((equal.law.as_str().to_string(), show(&equal.term))),
            Form::Op(op) => Some((op_name(op), shown_op(op, &show))),
            Form::Sum(parts) => {
                let part = |(c, x): &(Rational, Use)| format!("{}[{}]", factor(c), show(x));
                Some((REGROUPED.into(), parts.iter().map(part).collect::<Vec<_>>().join(" + ")))
            }
            Form::Product(parts) => {
                let part = |(x, e): &(Use, Rational)| match *e == 1 {
                    true => format!("[{}]", show(x)),
                    false => format!("[{}]^({e})", show(x)),
                };
                Some((REGROUPED.into(), parts.iter().map(part).collect::<Vec<_>>().join(" ")))
            }
        };
        steps.extend(step.map(|(law, other)| (law, format!("{}  =  {other}", show(&whole)))));
        queue.extend(terms.parts(id, form));
    }
    steps
}

/// What remarks and proofs call an op.
pub fn op_name(op: &OpForm) -> String {
    op.name.as_str().trim_start_matches("ng.").to_string()
}

fn factor(c: &Rational) -> String {
    if *c == 1 { String::new() } else { format!("{c} ") }
}

/// An op of terms; an op along dimensions names them.
fn shown_op(op: &OpForm, show: &dyn Fn(&Use) -> String) -> String {
    let operands: Vec<String> = op.operands.iter().map(show).collect();
    let mut text = format!("{}{}({})", factor(&op.factor), op_name(op), operands.join(", "));
    let along: Vec<String> = op.over.iter().map(ToString::to_string).collect();
    if !along.is_empty() {
        let _ = write!(text, " along {}", along.join(", "));
    }
    text
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
