//! What is asked of an assignment.

use ngc_ir::pass::{OptionDef, OptionKind, Options};
use ngc_sheaf::Level;

use super::memory::{self, Use};
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

/// What `target` is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Criterion {
    /// Error bounds.
    Error,
    /// So many times the standard deviation of the error that roundings make at samples: an estimate.
    Deviation,
    /// The curvature of each op: an estimate.
    Curvature,
}

/// Standard deviations that an error is taken to be within: one of 16 000 errors of a normal distribution is larger.
pub const DEVIATIONS: f64 = 4.0;

impl Criterion {
    /// The names of all.
    pub const NAMES: &'static [&'static str] = &["error", "deviation", "curvature"];

    /// By its name.
    fn of(name: &str) -> Criterion {
        match name {
            "deviation" => Criterion::Deviation,
            "curvature" => Criterion::Curvature,
            _ => Criterion::Error,
        }
    }

    /// The power of an error that adds up over the ops: variances do, and bounds.
    pub fn power(self) -> i32 {
        if self == Criterion::Deviation { 2 } else { 1 }
    }
}

/// What is to be the least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Objective {
    /// The time that operations, and the bytes of values and of conversions, take.
    Time,
    /// Bytes alone.
    Bytes,
}

impl Objective {
    /// The names of all.
    pub const NAMES: &'static [&'static str] = &["time", "bytes"];

    /// By its name.
    fn of(name: &str) -> Objective {
        if name == "bytes" { Objective::Bytes } else { Objective::Time }
    }
}

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
    /// What the target is held against.
    pub criterion: Criterion,
    /// What is to be the least.
    pub objective: Objective,
    /// What a memory is told for.
    pub used: Use,
}

impl Wanted {
    /// By the options that say which error is allowed.
    pub fn of(options: &Options, levels: Level) -> Wanted {
        Wanted {
            target: Some(options.float("target")).filter(|target| *target > 0.0),
            relative: options.string("measure") == "relative",
            levels,
            memory: None,
            criterion: Criterion::Error,
            objective: Objective::Time,
            used: Use::Inference,
        }
    }

    /// The same, and the options that say how it is asked for.
    ///
    /// # Errors
    /// Which options do not go together.
    pub fn all(options: &Options, levels: Level) -> Result<Wanted, String> {
        let memory = Some(options.string("memory")).filter(|text| !text.is_empty());
        let memory = memory.map(|text| memory::parse(&text)).transpose()?;
        let criterion = Criterion::of(&options.string("criterion"));
        let objective = Objective::of(&options.string("objective"));
        let used = Use::of(&options.string("use"));
        let wanted = Wanted { memory, used, criterion, objective, ..Wanted::of(options, levels) };
        match criterion {
            Criterion::Curvature if wanted.target.is_none() || memory.is_some() => {
                Err("criterion=curvature needs a target, and no memory: write target=1e-2".into())
            }
            Criterion::Deviation if wanted.target.is_none() && memory.is_none() => {
                Err("criterion=deviation needs a target: write target=1e-2".into())
            }
            _ => Ok(wanted),
        }
    }

    /// What is held against what is allowed; nothing where nothing is asked.
    pub fn asked(&self) -> Option<Criterion> {
        (self.target.is_some() || self.memory.is_some()).then_some(self.criterion)
    }

    /// By result: the error that it may have, in units of the result; nothing where nothing is asked.
    pub fn allowed(&self, errors: &Errors) -> Option<Vec<f64>> {
        if self.criterion == Criterion::Curvature {
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
