//! Error bounds of a whole function: `Φ(ε) = Σ L_i ε_i + Δ` forwards, and backwards what each op's rounding becomes in
//! the results.

use std::collections::{BTreeMap, BTreeSet};

use ngc_dialects::runtime::Runtime;
use ngc_dialects::transfer::Flow;
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{Attr, Body, Context, InternalError, Op, Resources, Value};
use ngc_numerics::figures::{add, div, mignitude, mul};
use ngc_numerics::{Figures, Format, Interval, Range, Sensitivity};

use super::calibrate::Calibration;
use super::chains::{Chains, EFFORT};
use super::range::{self, reach};

/// Figures of every op of one function, and bounds of the errors of its values. All are bounds, none an estimate.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    flow: Flow,
    chains: Chains,
    ops: Vec<(Op, Vec<Figures>)>,
    /// By result and value: what an error of the value becomes in the result, all paths summed.
    amplification: Vec<Vec<Sensitivity>>,
    results: Vec<Value>,
    path: f64,
    curvature: f64,
}

impl Errors {
    /// Of a function whose arguments are exact; `arg_attrs` is the function's attribute of that name, `resources` are
    /// those of its module. Chains of elementwise ops are searched with the given effort.
    pub fn of_function(
        body: &Body,
        arg_attrs: Option<&Attr>,
        resources: &Resources,
        effort: usize,
    ) -> Errors {
        Errors::given(body, arg_attrs, resources, effort, None, None)
    }

    /// As [`of_function`](Self::of_function), given that each value, exact and as computed, lies where samples showed values:
    /// bounds for inputs of which that is true; and for a run in a `runtime`, given its table.
    pub fn given(
        body: &Body,
        arg_attrs: Option<&Attr>,
        resources: &Resources,
        effort: usize,
        seen: Option<&Calibration>,
        runtime: Option<&'static Runtime>,
    ) -> Errors {
        let flow = Flow::of_function(body, arg_attrs, resources).in_runtime(runtime);
        // Chains take it that each op rounds to the nearest.
        let effort = if runtime.is_some() { 0 } else { effort };
        Errors::flowing(body, &range::stated(body, arg_attrs), effort, flow, seen)
    }

    /// Of a body whose entry block has arguments of the given ranges; chains of elementwise ops are searched with the
    /// given effort.
    pub fn of_body(body: &Body, arguments: &[Interval], effort: usize) -> Errors {
        Errors::flowing(body, arguments, effort, Flow::default(), None)
    }

    fn flowing(
        body: &Body,
        arguments: &[Interval],
        effort: usize,
        flow: Flow,
        seen: Option<&Calibration>,
    ) -> Errors {
        let mut errors = Errors { chains: Chains::new(effort), flow, ..Errors::default() };
        let entry = body.entry();
        for (&v, &interval) in entry.map_or(&[][..], |b| body.arguments(b)).iter().zip(arguments) {
            errors.flow.set(v, Range::both(interval), 0.0);
            errors.narrow(v, seen);
        }
        for op in body.walk() {
            let what = format_args!("the chain of ops before '{}'", body.name(op));
            InternalError::located(&body.op(op).loc, what, || {
                errors.chains.before(body, op, &mut errors.flow);
            });
            let figures = errors.flow.step(body, op);
            body.results(op).for_each(|v| errors.narrow(v, seen));
            if let Some(figures) = figures
                && body.num_results(op) > 0
            {
                errors.ops.push((op, figures));
            }
        }
        let end = entry
            .and_then(|b| body.last_op(b))
            .filter(|&op| body.op(op).def.is_some_and(|d| d.traits.terminator));
        errors.results = end.map_or_else(Vec::new, |op| body.operands(op).to_vec());
        errors.backwards(body);
        errors.totals(body);
        errors
    }

    /// Takes it that a value lies where samples showed it to.
    fn narrow(&mut self, value: Value, seen: Option<&Calibration>) {
        let reach = seen.and_then(|seen| seen.of(value)).filter(|s| s.not_finite == 0).and_then(|s| s.reach);
        if let Some((lo, hi)) = reach {
            let relative = self.flow.relative(value);
            self.flow.narrow(value, &Interval::new(lo, hi), f64::INFINITY, relative);
        }
    }

    fn backwards(&mut self, body: &Body) {
        self.amplification = self.results.iter().map(|&end| self.towards(body, end)).collect();
    }

    /// What an error of each value becomes in `end`.
    fn towards(&self, body: &Body, end: Value) -> Vec<Sensitivity> {
        let mut to = vec![Sensitivity::NONE; body.num_values()];
        to[end.index()] = Sensitivity::ONE;
        for (op, figures) in self.ops.iter().rev() {
            for (own, result) in figures.iter().zip(body.results(*op)) {
                let onward = to[result.index()];
                if onward == Sensitivity::NONE {
                    continue;
                }
                for (way, operand) in own.sensitivity.iter().zip(body.operands(*op)) {
                    let through = onward.after(way);
                    let total = &mut to[operand.index()];
                    *total = total.and(&through);
                }
            }
        }
        to
    }

    fn totals(&mut self, body: &Body) {
        let mut steepest = vec![1.0f64; body.num_values()];
        for (op, figures) in &self.ops {
            for (own, result) in figures.iter().zip(body.results(*op)) {
                let ways = own.sensitivity.iter().zip(body.operands(*op));
                let longest = ways.map(|(way, v)| {
                    let lipschitz = if way.jump > 0.0 { f64::INFINITY } else { way.lipschitz };
                    mul(lipschitz, steepest[v.index()])
                });
                // A value made of nothing starts a path.
                steepest[result.index()] =
                    if body.operands(*op).is_empty() { 1.0 } else { longest.fold(0.0, f64::max) };
                self.curvature = add(self.curvature, own.curvature);
            }
        }
        self.path = self.results.iter().map(|v| steepest[v.index()]).fold(0.0, f64::max);
    }

    /// Ops in order, with the figures of each result.
    pub fn ops(&self) -> &[(Op, Vec<Figures>)] {
        &self.ops
    }

    /// What is known of the values.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The range of a value.
    pub fn range(&self, value: Value) -> Range {
        self.flow.range(value)
    }

    /// Bound of the absolute error of a value, in units of the value.
    pub fn absolute(&self, value: Value) -> f64 {
        self.flow.error(value)
    }

    /// Bound of the relative error of a value, relative to its magnitude or to `floor`, whichever is greater.
    pub fn relative(&self, value: Value, floor: f64) -> f64 {
        self.relative_of(value, self.absolute(value), floor)
    }

    /// The same, from a bound of the absolute error.
    pub fn relative_of(&self, value: Value, absolute: f64, floor: f64) -> f64 {
        let least = mignitude(&self.range(value).exact).max(floor);
        let mixed = self.flow.relative(value).from(least);
        div(absolute, least).min(mixed)
    }

    /// The absolute bound in units in the last place of the greatest value.
    pub fn ulps(&self, value: Value, format: Format) -> f64 {
        self.ulps_of(value, self.absolute(value), format)
    }

    /// A bound of the absolute error, in units in the last place of the greatest value.
    pub fn ulps_of(&self, value: Value, absolute: f64, format: Format) -> f64 {
        let greatest = reach(&self.range(value).exact).min(format.max_finite());
        div(absolute, format.ulp(greatest))
    }

    /// What an error of the value becomes in each result, every path summed.
    pub fn amplification(&self, value: Value) -> impl Iterator<Item = Sensitivity> {
        let of = move |to: &Vec<Sensitivity>| to.get(value.index()).copied().unwrap_or(Sensitivity::NONE);
        self.amplification.iter().map(of)
    }

    /// Bound of what the rounding of a value, as its figures have it, adds to each result.
    pub fn contribution(&self, value: Value, figures: &Figures) -> impl Iterator<Item = f64> {
        let delta = figures.delta;
        self.amplification(value).map(move |onward| onward.pass(delta))
    }

    /// Estimates of the 2-norms of the constant matrices that contractions take, of the largest in a stack; no bounds.
    pub fn norm2_estimates(&self, body: &Body) -> BTreeMap<Value, f64> {
        let contractions =
            self.ops.iter().filter(|(op, _)| matches!(body.name(*op), "ng.matmul" | "ng.affine"));
        let factors = contractions.flat_map(|(op, _)| body.operands(*op).iter().take(2).copied());
        let estimate = |v: Value| Some((v, self.flow.norm2_estimate(v, body.ty(v))?));
        factors.collect::<BTreeSet<Value>>().into_iter().filter_map(estimate).collect()
    }

    /// Values that the function returns.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// The largest product of Lipschitz constants along a path from an argument or constant to a result.
    pub fn largest_path(&self) -> f64 {
        self.path
    }

    /// The curvatures of all ops, summed.
    pub fn total_curvature(&self) -> f64 {
        self.curvature
    }
}

impl Analysis for Errors {
    fn compute(function: &Function, _: &Context) -> Errors {
        Errors::of_function(&function.body, function.attrs.get("arg_attrs"), &function.resources, EFFORT)
    }
}
