//! What is asked of an assignment.

use ngc_ir::pass::{OptionDef, OptionKind, Options};
use ngc_sheaf::Level;

use super::memory::Use;
use crate::analysis::error::Errors;
use crate::analysis::range::reach;

/// The option of a pass that says which error is allowed.
pub const TARGET: OptionDef = OptionDef {
    name: "target",
    kind: OptionKind::Float { default: 0.0, min: 0.0 },
    doc: "the error bound that each result may have; 0 asks for nothing but that values fit",
};
/// The option that says in what it is measured.
pub const MEASURE: OptionDef = OptionDef {
    name: "measure",
    kind: OptionKind::Choice(&["absolute", "relative"]),
    doc: "whether `target` is in units of the result, or relative to its greatest magnitude",
};

/// What is asked for.
pub struct Wanted {
    /// The error that each result may have.
    pub target: Option<f64>,
    /// Whether it is relative to the result's greatest magnitude.
    pub relative: bool,
    /// Levels that one instruction converts across.
    pub levels: Level,
    /// The bytes that all must fit.
    pub memory: Option<u64>,
    /// Whether the curvature of each op decides, and not the bound.
    pub by_curvature: bool,
    /// What a memory is told for.
    pub used: Use,
}

impl Wanted {
    /// By the options of a pass.
    pub fn of(options: &Options, levels: Level) -> Wanted {
        Wanted {
            target: Some(options.float("target")).filter(|target| *target > 0.0),
            relative: options.string("measure") == "relative",
            levels,
            memory: None,
            by_curvature: false,
            used: Use::Inference,
        }
    }

    /// By result: the error that it may have, in units of the result; nothing where nothing is asked.
    pub fn allowed(&self, errors: &Errors) -> Option<Vec<f64>> {
        if self.by_curvature {
            return None;
        }
        // What is to be as accurate as fits is measured by the magnitudes of the results.
        let target = self.target.or(self.memory.map(|_| 1.0))?;
        let most = |v| reach(&errors.range(v).exact);
        let allowed = |&v| if self.relative || self.target.is_none() { target * most(v) } else { target };
        Some(errors.results().iter().map(allowed).collect())
    }

    /// What is asked, beside a bound.
    pub fn told(&self) -> String {
        match self.target {
            Some(target) if self.relative => format!(" (asked: {target:e} of the greatest magnitude)"),
            Some(target) => format!(" (asked: {target:e})"),
            None => String::new(),
        }
    }
}
