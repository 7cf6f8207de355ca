//! What the searches compare: how wrong a value can be, then what it costs to compute.

use std::cmp::Ordering;
use std::sync::Arc;

use ngc_dialects::transfer::Flow;
use ngc_ir::{OpDef, Semantics, Type, Value};
use ngc_numerics::figures::{magnitude, mignitude};
use ngc_numerics::program::Step;
use ngc_numerics::{Figures, Format, Interval, Prim};

use super::target::Target;
use crate::analysis::range::reach;

/// How good a term is; the least is the best. Errors count in steps, eight from one power of two to the next, so that what
/// differs by less is settled by the terms behind them: a few hundredths of a bound are not worth a second product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Key {
    /// Whether a value that is not finite cannot be excluded.
    pub non_finite: bool,
    /// Bound of the error, relative to the value or to the floor of its format and range.
    pub relative: f64,
    /// Bound of the error, absolute.
    pub absolute: f64,
    /// What it costs to compute, and how it bends and amplifies.
    pub additive: f64,
}

fn step(x: f64) -> u64 {
    x.abs().to_bits() >> 49
}

impl Key {
    /// The total order of keys.
    pub fn compare(&self, other: &Key) -> Ordering {
        self.non_finite
            .cmp(&other.non_finite)
            .then_with(|| step(self.relative).cmp(&step(other.relative)))
            .then_with(|| step(self.absolute).cmp(&step(other.absolute)))
            .then_with(|| self.additive.total_cmp(&other.additive))
    }

    /// Whether the errors of both count as the same.
    pub fn same_errors(&self, other: &Key) -> bool {
        let errors = |k: &Key| Key { additive: 0.0, ..*k };
        errors(self).compare(&errors(other)) == Ordering::Equal
    }

    /// Whether this betters the other by a step at least, or is finite where the other may not be.
    pub fn betters(&self, other: &Key) -> bool {
        let errors = |k: &Key| Key { additive: 0.0, ..*k };
        errors(self).compare(&errors(other)) == Ordering::Less
    }
}

/// How good a value is: its error relative to its least magnitude, or to a floor where that is less: the least normal
/// number of its format, and for a value that may be 0 its greatest magnitude times the root of the unit roundoff. The
/// value over the reals lies in `exact`.
pub fn key(format: Option<Format>, flow: &Flow, value: Value, exact: &Interval, additive: f64) -> Key {
    let error = flow.error(value);
    let Some(format) = format else {
        return Key { non_finite: false, relative: error, absolute: error, additive };
    };
    let computed = flow.range(value).computed;
    let max = format.max_finite();
    let inside = |x: &Interval| !x.may_be_nan && x.lo >= -max && x.hi <= max;
    let non_finite = !inside(&computed) || error.is_nan();
    let least = mignitude(exact);
    let floor = if least > 0.0 { 0.0 } else { format.unit_roundoff().sqrt() * reach(exact).min(max) };
    let floor = least.max(floor).max(format.min_normal());
    let relative = flow.relative(value).from(floor).min(error / floor);
    Key { non_finite, relative: if error == 0.0 { 0.0 } else { relative }, absolute: error, additive }
}

/// Weights of the terms behind the errors.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Of the logarithm of the Lipschitz constant.
    pub lipschitz: f64,
    /// Of the op's own rounding, in units in the last place of its result.
    pub delta: f64,
    /// Of the logarithm of the condition number.
    pub condition: f64,
    /// Of the logarithm of the curvature.
    pub curvature: f64,
    /// Of the work, an element times a simple operation.
    pub work: f64,
    /// How much more the other terms weigh at the results of the function than at its arguments.
    pub late: f64,
    /// The machine whose cycles are the work; none counts operations.
    pub target: Option<Arc<Target>>,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            lipschitz: 1.0,
            delta: 1.0,
            condition: 1.0,
            curvature: 0.1,
            work: 1e-3,
            late: 1.0,
            target: None,
        }
    }
}

impl Weights {
    /// What an op adds to the cost of a term; `depth` is 0 at the arguments of the function and 1 at its results.
    pub fn of(
        &self,
        def: &'static OpDef,
        operands: &[Type],
        result: Type,
        figures: &Figures,
        depth: f64,
    ) -> f64 {
        let steepest = figures.sensitivity.iter().map(|s| s.lipschitz).fold(0.0, f64::max);
        let log = |x: f64| (1.0 + x.min(1e300)).log2();
        let ulp = result.format().map_or(1.0, |f| f.ulp(magnitude(&figures.range.exact).min(f.max_finite())));
        let delta = (figures.delta / ulp).min(1e6);
        let numerical = self.lipschitz * log(steepest)
            + self.delta * delta
            + self.condition * log(figures.condition)
            + self.curvature * log(figures.curvature);
        let work = match &self.target {
            Some(target) => target.cycles(def, operands, result),
            None => work(def, operands, result),
        };
        (1.0 + self.late * depth) * numerical + self.work * work
    }
}

/// Operations on elements that an op takes, roughly; extents that are not known count as one.
pub fn work(def: &'static OpDef, operands: &[Type], result: Type) -> f64 {
    let (all, most) = (count(&result), operands.iter().map(count).fold(0.0, f64::max));
    match def.semantics {
        _ if def.traits.constant => 0.0,
        Semantics::Elementwise(of) => {
            let attrs = ngc_ir::AttrDict::EMPTY;
            let s = ngc_ir::Signature { def, operands, attrs: &attrs };
            all * of(&s).map_or(4.0, |e| e.function.program().steps().iter().map(steps).sum::<f64>().max(1.0))
        }
        _ if def.traits.contraction => 2.0 * elements(def, operands, result),
        Semantics::Decomposition(_) => 12.0 * most.max(all),
        _ => most.max(all),
    }
}

fn count(ty: &Type) -> f64 {
    ty.shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1) as f64).product()
}

/// Elements that an op goes over: those of its largest operand or its result, of a contraction its products. Extents that
/// are not known count as one.
pub fn elements(def: &OpDef, operands: &[Type], result: Type) -> f64 {
    if def.traits.contraction {
        let inner = operands.first().and_then(|t| t.shape()?.last()?.known()).unwrap_or(1) as f64;
        return count(&result).max(1.0) * inner;
    }
    operands.iter().map(count).fold(count(&result), f64::max)
}

fn steps(step: &Step) -> f64 {
    match step {
        Step::Apply(
            Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg | Prim::Abs | Prim::Square | Prim::Fma,
            _,
        ) => 1.0,
        Step::Apply(Prim::Min | Prim::Max, _) | Step::Select(..) => 1.0,
        Step::Apply(Prim::Div | Prim::Sqrt, _) => 4.0,
        Step::Apply(..) => 12.0,
        _ => 0.0,
    }
}
