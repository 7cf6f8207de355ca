//! How a module stands, in a few numbers: how many values may be no finite number, and how far results may be off.

use std::fmt;

use ngc_dialects::transfer::has_elements;
use ngc_ir::{Body, Module, Value};

use super::figures::{LEAST, bound, spelled};
use crate::analysis::nonfinite::is_finite;
use crate::analysis::range::Ranges;

/// How a module stands, for inputs in the stated ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Floating-point values that ops compute.
    pub values: usize,
    /// What may become of them for any finite input of which nothing is stated.
    pub any: Worst,
    /// What may become of them where these inputs lie in a nominal range.
    pub nominal: Worst,
    /// Floating-point arguments of which no range is stated, by function and number.
    pub unstated: Vec<(String, usize)>,
}

/// What may become of the values of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// Values of which an element may be infinite or NaN.
    pub lost: usize,
    /// The greatest bound of the error of a result.
    pub error: f64,
}

impl State {
    /// Of the functions of a module that have a body.
    pub fn of(module: &Module) -> State {
        let mut state = State::default();
        for function in module.functions() {
            let attrs = &module.body.op(function).attrs;
            let Some(body) = module.body.body(function) else { continue };
            let name = attrs.get("sym_name").and_then(|a| a.as_str()).unwrap_or_default();
            let (arg_attrs, resources) = (attrs.get("arg_attrs"), &module.resources);
            let ranges = Ranges::of_function(body, arg_attrs, resources);
            state.values += computed(body).count();
            state.any.add(body, &ranges);
            let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
            let is_unstated = |v: &Value| is_counted(body, *v) && ranges.is_unknown(body, *v);
            let unstated = arguments.iter().enumerate().filter(|(_, v)| is_unstated(v));
            state.unstated.extend(unstated.map(|(n, _)| (name.to_string(), n)));
            if !arguments.iter().any(is_unstated) {
                state.nominal.add(body, &ranges);
                continue;
            }
            // An empty range assumes nothing.
            let nominal = arguments
                .iter()
                .map(|v| if is_unstated(v) { LEAST } else { (f64::INFINITY, f64::NEG_INFINITY) });
            let nominal: Vec<(f64, f64)> = nominal.collect();
            state.nominal.add(body, &Ranges::assuming(body, arg_attrs, resources, &nominal));
        }
        state
    }
}

impl Worst {
    fn add(&mut self, body: &Body, ranges: &Ranges) {
        self.lost += computed(body).filter(|&v| !is_finite(&ranges.of(v).computed)).count();
        let last = body.entry().and_then(|b| body.last_op(b));
        let results = last.map_or(&[][..], |op| body.operands(op));
        self.error = results.iter().map(|&v| ranges.error(v)).fold(self.error, f64::max);
    }
}

fn is_counted(body: &Body, value: Value) -> bool {
    body.ty(value).format().is_some() && has_elements(body.ty(value))
}

/// The floating-point values that ops compute.
fn computed(body: &Body) -> impl Iterator<Item = Value> {
    let ops = body.walk().into_iter();
    let ops = ops.filter(|&op| !body.is_constant(op));
    ops.flat_map(|op| body.results(op)).filter(|&v| is_counted(body, v))
}

/// A state and what became of it.
pub struct Verdict {
    /// What it was.
    pub before: State,
    /// What it is.
    pub after: State,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { before, after } = self;
        let lost = |of: fn(&State) -> &Worst| {
            format!("{} of {} -> {} of {}", of(before).lost, before.values, of(after).lost, after.values)
        };
        let error =
            |of: fn(&State) -> &Worst| format!("{} -> {}", bound(of(before).error), bound(of(after).error));
        write!(f, "values that may be infinite or NaN: {}", lost(|s| &s.any))?;
        write!(f, "; error bound of the worst result: {}", error(|s| &s.any))?;
        if !before.unstated.is_empty() {
            let (lost, error) = (lost(|s| &s.nominal), error(|s| &s.nominal));
            write!(
                f,
                "\n  where inputs of which nothing is stated have {}: {lost}; {error}",
                spelled(LEAST)
            )?;
        }
        Ok(())
    }
}
