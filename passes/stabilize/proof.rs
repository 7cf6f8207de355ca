//! Why the form of a value equals it: a chain of terms, of which each is another spelling of the one before.

use std::collections::VecDeque;
use std::fmt::Write;

use ngc_ir::Value;
use ngc_reals::form::OpForm;
use ngc_reals::{Form, Use};
use rug::Rational;
use rustc_hash::FxHashSet;

use super::catalogue::{READING, REGROUPED};
use super::plan::{Plan, Terms};
use super::search::Choice;

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
            Form::Plain | Form::Ordered(_) => None,
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
