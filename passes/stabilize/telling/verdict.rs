//! How a module stands, in a few numbers: how many values may be no finite number, and how far results may be off.

use std::fmt;

use ngc_dialects::transfer::has_elements;
use ngc_ir::{Body, Module, Value};

use super::figures::bound;
use crate::analysis::nonfinite::is_finite;
use crate::analysis::range::Ranges;

/// How a module stands, for all inputs in the stated ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Floating-point values that ops compute.
    pub values: usize,
    /// Those of them of which an element may be infinite or NaN.
    pub lost: usize,
    /// The greatest bound of the error of a result.
    pub error: f64,
    /// Floating-point arguments of which no range is stated, by function and number.
    pub unstated: Vec<(String, usize)>,
}

impl State {
    /// Of the functions of a module that have a body.
    pub fn of(module: &Module) -> State {
        let mut state = State::default();
        for function in module.functions() {
            let attrs = &module.body.op(function).attrs;
            let Some(body) = module.body.body(function) else { continue };
            let name = attrs.get("sym_name").and_then(|a| a.as_str()).unwrap_or_default();
            let ranges = Ranges::of_function(body, attrs.get("arg_attrs"), &module.resources);
            state.add(name, body, &ranges);
        }
        state
    }

    fn add(&mut self, function: &str, body: &Body, ranges: &Ranges) {
        let is_counted = |v: &Value| body.ty(*v).format().is_some() && has_elements(body.ty(*v));
        for op in body.walk() {
            if body.op(op).def.is_some_and(|def| def.traits.constant) {
                continue;
            }
            for value in body.results(op).filter(is_counted) {
                self.values += 1;
                self.lost += usize::from(!is_finite(&ranges.of(value).computed));
            }
        }
        let Some(entry) = body.entry() else { return };
        let results = body.last_op(entry).map_or(&[][..], |op| body.operands(op));
        self.error = results.iter().map(|&v| ranges.error(v)).fold(self.error, f64::max);
        let unknown = body.arguments(entry).iter().enumerate();
        let unknown = unknown.filter(|(_, v)| is_counted(v) && ranges.is_unknown(body, **v));
        self.unstated.extend(unknown.map(|(n, _)| (function.to_string(), n)));
    }
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
        write!(
            f,
            "values that may be infinite or NaN: {} of {} -> {} of {}; error bound of the worst result: {} -> {}",
            before.lost,
            before.values,
            after.lost,
            after.values,
            bound(before.error),
            bound(after.error)
        )
    }
}
