//! What each rounding of a run becomes in the results: element by element, backwards through the ops (the reverse mode of
//! differentiation).
//!
//! A [`Tape`] is one run of a function, taken apart into primitive ops. Of each op it knows a bound of what the op's own roundings
//! add to each element, at the magnitudes of the run (a running error bound: N. Higham, Accuracy and Stability of Numerical
//! Algorithms, 3.3). [`Tape::shares`] multiplies these bounds by the magnitudes of the derivatives of elements of the results, and sums
//! the products by op of the function; and the same of one rounding, and of an error of 1, in each element of the op's own results, for
//! ops that are not computed as they are defined. What cancels between two paths to a result cancels here too, which no product of
//! Lipschitz constants sees.
//!
//! Derivatives are those between the values of the run and the exact ones, which a second run gives: by the mean value theorem, op by
//! op, the sums bound the errors of the run itself. Where a derivative hardly varies between the two its middle stands for it; elsewhere it is
//! the slope of the chord from one value to the other, and where that is not known (jumps, poles) it is enclosed. The two runs must choose alike.

mod error_free;
mod expand;
mod local;
mod moved;
mod slopes;

use std::sync::Arc;

use ngc_dialects::structure::structures;
use ngc_ir::structure::Size;
use ngc_ir::{Body, Context, Module, Op, Semantics, Value};
use ngc_numerics::{Data, Evaluator, Format, Mode, Tensor};
use rayon::prelude::*;
use rug::Float;
use rug::float::Round;
use rustc_hash::FxHashSet;

use crate::Interpreter;
use expand::{Ends, Expanded};
use local::{Code, Element, Rounding};
use slopes::{Slope, product};

/// Elements of results that are followed together.
const LANES: usize = 32;
/// Derivatives and sums may be too small by this part.
const SLACK: f64 = 1.0 + 1.0 / 128.0;

/// A run of a function, op by op.
pub struct Tape {
    values: usize,
    steps: Vec<Step>,
    results: Vec<(usize, usize)>,
    origins: Vec<Op>,
    /// By op of the function: whether its results are not followed as such.
    hidden: Vec<bool>,
    /// By op of the function: the greatest magnitude that it reads.
    reach: Vec<f64>,
    work: usize,
}

/// A value whose elements may differ from the exact ones.
struct Step {
    value: usize,
    /// The number of the op of the function that it comes from.
    origin: usize,
    /// Bounds of what the op's roundings add to each element; empty where they add nothing.
    errors: Vec<f64>,
    /// What one rounding adds to each element of a result of the op of the function; nothing of what lies within that.
    units: Option<Vec<f64>>,
    /// How its elements depend on operands that are not exact; nothing where all are.
    source: Option<Source>,
    operands: Vec<Known>,
    /// The value that has what rounding took from each element, and bounds of what is missing of that.
    low: Option<(usize, Vec<f64>)>,
}

enum Source {
    Made(Code, Vec<usize>),
    /// The operand and the element of it that each element is.
    Moved(Vec<(usize, usize)>),
}

/// A value of the run.
#[derive(Clone)]
struct Known {
    value: usize,
    /// As floating-point data, whatever the type is.
    tensor: Arc<Tensor>,
    /// What it would be without rounding; nothing where it is that.
    reference: Option<Arc<Tensor>>,
}

impl Known {
    fn new(value: usize, tensor: &Arc<Tensor>, reference: Option<&Arc<Tensor>>) -> Known {
        let floats = |tensor: &Arc<Tensor>| match &tensor.data {
            Data::Float(_) => tensor.clone(),
            _ => Arc::new(Tensor { data: Data::Float(tensor.to_f64s()), ..(**tensor).clone() }),
        };
        let tensor = floats(tensor);
        let reference = reference.map(|exact| match &exact.data {
            Data::Real(exact) => {
                let run = tensor.as_floats().unwrap_or(&[]).iter();
                let away = |(x, exact): (&f64, &Float)| {
                    exact.to_f64_round(if *exact < *x { Round::Down } else { Round::Up })
                };
                let data = Data::Float(run.zip(exact).map(away).collect());
                Arc::new(Tensor { data, ..(*tensor).clone() })
            }
            _ => floats(exact),
        });
        Known { value, tensor, reference }
    }

    fn is_exact(&self) -> bool {
        self.reference.is_none()
    }

    fn data(&self) -> local::Data<'_> {
        let run = self.tensor.as_floats().unwrap_or(&[]);
        (run, self.reference.as_ref().map_or(run, |exact| exact.as_floats().unwrap_or(&[])))
    }
}

impl Tape {
    /// Of the function `name` of a module on inputs, which are exact. What the run computes is held against a run in the mode
    /// `reference`, so far as it is a choice.
    ///
    /// # Errors
    /// A sentence that says what the run cannot be taken through: an op without derivatives, an overflow, or a choice that falls
    /// otherwise in the other run, which no derivative sees.
    pub fn record(
        context: &Context,
        module: &Module,
        name: &str,
        inputs: &[Tensor],
        reference: Mode,
    ) -> Result<Tape, String> {
        let Expanded { module, origins, of, ends } = expand::expand(context, module, name, inputs)?;
        let body = module.symbol(name).and_then(|f| module.body.body(f)).ok_or("it has no body")?;
        let interpreter = Interpreter::new(context, &module, Evaluator::new(Mode::Rounded));
        let mut run = interpreter.start(name, inputs).map_err(|d| d.message)?;
        let exact = Interpreter::new(context, &module, Evaluator::new(reference));
        let mut exact = exact.start(name, inputs).map_err(|d| d.message)?;
        let mut known: Vec<Option<Known>> = vec![None; body.num_values()];
        let entry = body.entry().ok_or("it is a declaration")?;
        for (&v, input) in body.arguments(entry).iter().zip(inputs) {
            known[v.index()] = Some(Known::new(v.index(), &Arc::new(input.clone()), None));
        }
        let (mut steps, mut work): (Vec<Step>, usize) = (Vec::new(), 0);
        while let Some(step) = run.step().map_err(|d| d.message)? {
            let operands: Option<Vec<Known>> =
                body.operands(step.op).iter().map(|v| known[v.index()].clone()).collect();
            let operands = operands.ok_or("a value is read before it is there")?;
            let beside = exact.step().map_err(|d| d.message)?.map_or_else(Vec::new, |step| step.results);
            let name = body.name(step.op);
            if let Some(how) = parting(&step.results, &beside) {
                return Err(format!("at a sample '{name}' {how}"));
            }
            let free = body.op(step.op).def.and_then(|def| def.error_free.as_ref());
            for (n, (v, tensor)) in body.results(step.op).zip(&step.results).enumerate() {
                // What rounding took is known with the first result.
                let first = if free.is_some() { 0 } else { n };
                let found = followed(context, body, step.op, first, &step.results, &operands)
                    .map_err(|why| format!("'{name}' {why}"))?;
                let reference = beside.get(n).filter(|_| found.is_some());
                known[v.index()] = Some(Known::new(v.index(), tensor, reference));
                let Some((errors, source)) = found.filter(|_| n == first) else { continue };
                let low = free.map(|of| {
                    let format = body.ty(v).format().unwrap_or(Format::F64);
                    (body.result(step.op, 1).index(), error_free::left(of, &operands, &step.results, format))
                });
                work = work.saturating_add(source.as_ref().map_or(0, |s| s.terms(tensor.len())));
                let operands = if source.is_some() { operands.clone() } else { Vec::new() };
                let origin = of[&step.op];
                let format = body.ty(v).format().filter(|_| ends[origin].made.contains(&v));
                let units = format.zip(tensor.as_floats());
                let units =
                    units.map(|(format, values)| values.iter().map(|&x| local::unit(format, x)).collect());
                steps.push(Step { value: v.index(), origin, errors, units, source, operands, low });
            }
        }
        let end = body.last_op(entry).ok_or("it does not end")?;
        let size = |v: usize| known[v].as_ref().map_or(0, |known| known.tensor.len());
        let results = body.operands(end).iter().map(|v| (v.index(), size(v.index()))).collect();
        let seen: FxHashSet<(usize, usize)> = steps.iter().map(|step| (step.origin, step.value)).collect();
        let hidden = |(origin, ends): (usize, &Ends)| {
            let mut floats = ends.made.iter().filter(|v| body.ty(**v).format().is_some());
            floats.any(|v| !seen.contains(&(origin, v.index())))
        };
        let most = |known: &Known| known.data().0.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let reach = |ends: &Ends| {
            ends.read.iter().filter_map(|v| known[v.index()].as_ref()).map(most).fold(0.0, f64::max)
        };
        let (hidden, reach) =
            (ends.iter().enumerate().map(hidden).collect(), ends.iter().map(reach).collect());
        Ok(Tape { values: body.num_values(), steps, results, origins, hidden, reach, work })
    }

    /// At least as many terms as a run of the function `name` has ([`Tape::work`]), which extents alone say: of all elements that
    /// roundings may reach.
    ///
    /// # Errors
    /// A sentence that says which op cannot be taken apart.
    pub fn terms(context: &Context, module: &Module, name: &str, inputs: &[Tensor]) -> Result<usize, String> {
        let Expanded { module, .. } = expand::expand(context, module, name, inputs)?;
        let body = module.symbol(name).and_then(|f| module.body.body(f)).ok_or("it has no body")?;
        let entry = body.entry().ok_or("it is a declaration")?;
        let (mut inexact, mut terms) = (vec![false; body.num_values()], 0usize);
        for op in body.ops(entry) {
            let operands = body.operands(op);
            let reached = operands.iter().any(|v| inexact[v.index()]);
            let shapes: Option<Vec<Vec<usize>>> =
                operands.iter().map(|v| body.ty(*v).static_shape()).collect();
            let shapes =
                shapes.ok_or_else(|| format!("'{}' has operands of unknown extents", body.name(op)))?;
            let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
            for (n, v) in body.results(op).enumerate().filter(|(_, v)| follows(body, op, *v)) {
                // What rounding took from the first result is no more exact than that.
                let free = body.op(op).def.is_some_and(|def| def.error_free.is_some());
                let made = made(body, op, if free { 0 } else { n }, &shapes);
                let each = made.map_or(1, |(code, _)| code.terms());
                let elements = body.ty(v).static_shape().map_or(0, |shape| shape.iter().product());
                terms = terms.saturating_add(if reached { each.saturating_mul(elements) } else { 0 });
                inexact[v.index()] = true;
            }
        }
        Ok(terms)
    }

    /// Terms of all elements on the way, each of which costs a multiplication for each element of a result that is followed.
    pub fn work(&self) -> usize {
        self.work
    }

    /// The ops of the function, in order.
    pub fn ops(&self) -> &[Op] {
        &self.origins
    }

    /// By op of the function: the greatest magnitude that it reads.
    pub fn reach(&self) -> &[f64] {
        &self.reach
    }

    /// The number of results of the function.
    pub fn results(&self) -> usize {
        self.results.len()
    }

    /// The number of elements of the n-th result.
    pub fn elements(&self, result: usize) -> usize {
        self.results.get(result).map_or(0, |(_, size)| *size)
    }

    /// By element of the n-th result, given by its number in row-major order, then by op of the function: what the roundings of
    /// the run become in the element.
    pub fn shares(&self, result: usize, elements: &[usize], done: &(dyn Fn() + Sync)) -> Vec<Vec<Share>> {
        let of = elements.par_chunks(LANES).with_max_len(1).flat_map_iter(|lanes| {
            let sums = self.follow(result, lanes);
            done();
            let of = move |lane: usize| {
                let part = |sums: &Sums| Part { most: sums.most[lane] * SLACK, squares: sums.squares[lane] };
                let share =
                    |[own, unit, one]: &[Sums; 3]| Share { own: part(own), unit: part(unit), one: part(one) };
                sums.iter().map(share).collect()
            };
            (0..lanes.len()).map(of)
        });
        of.collect()
    }

    /// By op.
    fn follow(&self, result: usize, lanes: &[usize]) -> Vec<[Sums; 3]> {
        let unknown = Sums { most: [f64::INFINITY; LANES], squares: [f64::INFINITY; LANES] };
        let start = |hidden: &bool| {
            let of = if *hidden { unknown.clone() } else { Sums::default() };
            [Sums::default(), of.clone(), of]
        };
        let mut sums: Vec<[Sums; 3]> = self.hidden.iter().map(start).collect();
        let mut adjoints: Vec<Vec<Lanes>> = vec![Vec::new(); self.values];
        let (end, size) = self.results[result];
        adjoints[end] = vec![Lanes::default(); size];
        for (lane, &element) in lanes.iter().enumerate() {
            adjoints[end][element].mid[lane] = 1.0;
        }
        for step in self.steps.iter().rev() {
            let mut own = std::mem::take(&mut adjoints[step.value]);
            let low = step.low.as_ref().map_or_else(Vec::new, |(low, _)| std::mem::take(&mut adjoints[*low]));
            if own.is_empty() && low.is_empty() {
                continue;
            }
            own.resize_with(own.len().max(low.len()), Lanes::default);
            let [sum, unit, one] = &mut sums[step.origin];
            for (adjoint, &error) in own.iter().zip(step.units.iter().flatten()) {
                adjoint.add_parts(error, unit);
                adjoint.add_parts(1.0, one);
            }
            for (n, &error) in step.errors.iter().enumerate().filter(|(_, error)| **error != 0.0) {
                match low.get(n) {
                    // What rounding adds to one is missing in the other.
                    Some(low) => own[n].less(low).add_parts(error, sum),
                    None => own[n].add_parts(error, sum),
                }
            }
            let left = step.low.as_ref().map_or(&[][..], |(_, left)| left);
            for (adjoint, &error) in low.iter().zip(left).filter(|(_, error)| **error != 0.0) {
                adjoint.add_parts(error, sum);
            }
            let Some(source) = &step.source else { continue };
            for known in step.operands.iter().filter(|known| !known.is_exact()) {
                let to = &mut adjoints[known.value];
                if to.is_empty() {
                    *to = vec![Lanes::default(); known.tensor.len()];
                }
            }
            let data: Vec<local::Data<'_>> = step.operands.iter().map(Known::data).collect();
            for (n, adjoint) in own.iter().enumerate().filter(|(_, x)| !x.is_nothing()) {
                source.onward(&data, n, &mut |operand, element, slope| {
                    let known = &step.operands[operand];
                    if !known.is_exact() && slope != Slope::NONE {
                        adjoints[known.value][element].add(adjoint, slope);
                    }
                });
            }
        }
        sums
    }
}

/// What errors become in an element of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// At most so much: the sum of magnitudes.
    pub most: f64,
    /// The sum of squares. Were the errors independent, and each anywhere within its bound with the same probability, a third
    /// of it would be the variance.
    pub squares: f64,
}

/// What errors of an op become in an element of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Those of its roundings, as it is defined.
    pub own: Part,
    /// Those of one rounding of each element of its results.
    pub unit: Part,
    /// An error of 1 in each element of its results.
    pub one: Part,
}

/// What errors become, by lane.
#[derive(Clone, Default)]
struct Sums {
    most: [f64; LANES],
    squares: [f64; LANES],
}

/// Derivatives of elements of a result by one number.
#[derive(Clone)]
struct Lanes {
    mid: [f64; LANES],
    /// How far they may be from that.
    rad: Option<Box<[f64; LANES]>>,
}

impl Default for Lanes {
    fn default() -> Lanes {
        Lanes { mid: [0.0; LANES], rad: None }
    }
}

impl Lanes {
    fn is_nothing(&self) -> bool {
        self.rad.is_none() && self.mid.iter().all(|x| *x == 0.0)
    }

    /// The derivatives by a number that is taken from another one.
    fn less(&self, other: &Lanes) -> Lanes {
        let mut less = self.clone();
        axpy(&mut less.mid, -1.0, &other.mid);
        if let Some(rad) = &other.rad {
            axpy(&mut less.rad.get_or_insert_with(|| Box::new([0.0; LANES]))[..], 1.0, &rad[..]);
        }
        less
    }

    /// Adds what an error of the number becomes.
    fn add_parts(&self, error: f64, sums: &mut Sums) {
        let Sums { most, squares } = sums;
        for (lane, (most, squares)) in most.iter_mut().zip(squares).enumerate() {
            let rad = self.rad.as_ref().map_or(0.0, |rad| rad[lane]);
            let part = product(self.mid[lane].abs() + rad, error);
            *most += part;
            *squares += part * part;
        }
    }

    /// Adds the derivatives through a number of which these are the derivatives.
    fn add(&mut self, of: &Lanes, slope: Slope) {
        axpy(&mut self.mid, slope.mid, &of.mid);
        if slope.rad == 0.0 && of.rad.is_none() {
            return;
        }
        let to = self.rad.get_or_insert_with(|| Box::new([0.0; LANES]));
        if slope.rad.is_finite() {
            axpy(&mut to[..], slope.rad, &of.mid.map(f64::abs));
        } else {
            to.iter_mut().zip(&of.mid).for_each(|(to, x)| *to += product(x.abs(), slope.rad));
        }
        if let Some(rad) = &of.rad {
            axpy(&mut to[..], slope.mid.abs() + slope.rad, &rad[..]);
        }
    }
}

/// Not inlined, so that it stays a loop, and becomes one of vectors: the work of all derivatives is done here.
#[inline(never)]
fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

impl Source {
    /// Tells of each element of the operands of which an element is made, and of the derivative by it.
    fn onward(
        &self,
        operands: &[local::Data<'_>],
        element: usize,
        tell: &mut dyn FnMut(usize, usize, Slope),
    ) {
        match self {
            Source::Moved(from) => {
                let (operand, element) = from[element];
                tell(operand, element, Slope::ONE);
            }
            Source::Made(code, shape) => {
                Element::new(operands, shape, element).slopes(code, Slope::ONE, tell)
            }
        }
    }

    fn terms(&self, elements: usize) -> usize {
        match self {
            Source::Moved(_) => elements,
            Source::Made(code, _) => code.terms().saturating_mul(elements),
        }
    }
}

/// How the results of an op part from the exact ones such that no derivative sees it; nothing where they do not.
fn parting(results: &[Arc<Tensor>], exact: &[Arc<Tensor>]) -> Option<&'static str> {
    let both = || results.iter().zip(exact);
    let finite = |exact: &Tensor, n: usize| match &exact.data {
        Data::Float(exact) => exact[n].is_finite(),
        Data::Real(exact) => exact[n].is_finite(),
        Data::Int(_) => true,
    };
    let overflows = |(own, exact): (&Arc<Tensor>, &Arc<Tensor>)| {
        let mut own = own.as_floats().unwrap_or(&[]).iter().enumerate();
        own.any(|(n, x)| !x.is_finite() && finite(exact, n))
    };
    match () {
        () if both().any(|(own, exact)| own.as_ints() != exact.as_ints()) => {
            Some("falls otherwise over the reals")
        }
        () if both().any(overflows) => Some("is infinite or NaN where the exact value is a number"),
        () => None,
    }
}

/// Whether a result of an op may have errors: constants have none, and integers are as they fell.
fn follows(body: &Body, op: Op, result: Value) -> bool {
    body.ty(result).format().is_some() && !body.is_constant(op)
}

/// What an element of the n-th result of an op on operands of these extents is made of, and how it is rounded; nothing where places
/// depend on data.
fn made(body: &Body, op: Op, n: usize, shapes: &[&[usize]]) -> Option<(Code, Rounding)> {
    let to = body.ty(body.result(op, n)).format()?;
    if let Some(of) = body.op(op).def?.error_free.as_ref() {
        return error_free::made(of, shapes, to).filter(|_| n == 0);
    }
    let extents: Vec<Vec<Size>> =
        shapes.iter().map(|shape| shape.iter().map(|&n| Size::from(n)).collect()).collect();
    body.with_signature(op, |s| {
        let structure = structures(s, &extents)?.into_iter().nth(n)?;
        let rounding = Rounding {
            of: s.accumulate(to),
            to,
            method: s.sum_method(),
            operands: s.operands.iter().map(|ty| ty.format()).collect(),
            backwards: s.flag("reverse"),
            correct: matches!(s.def.semantics, Semantics::Elementwise(_)),
        };
        Some((Code::new(&structure.element, shapes)?, rounding))
    })?
}

/// The errors of a result of an op, and where its elements come from.
type Follow = (Vec<f64>, Option<Source>);

/// Of the n-th result of an op; nothing where it has no errors. What is exact as the op is defined need not be so where it is computed
/// otherwise.
fn followed(
    context: &Context,
    body: &Body,
    op: Op,
    n: usize,
    results: &[Arc<Tensor>],
    operands: &[Known],
) -> Result<Option<Follow>, String> {
    let (data, tensor) = (body.op(op), &*results[n]);
    let def = data.def.ok_or("is not registered")?;
    if !follows(body, op, body.result(op, n)) {
        return Ok(None);
    }
    let inexact = operands.iter().any(|known| !known.is_exact());
    let shapes: Vec<&[usize]> = operands.iter().map(|x| &x.tensor.shape[..]).collect();
    let Some((code, rounding)) = made(body, op, n, &shapes) else {
        let from = moved::sources(context, def, &data.attrs, n, results, operands)?;
        return Ok(Some((Vec::new(), inexact.then_some(Source::Moved(from)))));
    };
    let numbers: Vec<local::Data<'_>> = operands.iter().map(Known::data).collect();
    let mut errors = Vec::new();
    if code.rounds(&rounding) {
        let values = tensor.as_floats().ok_or("has no numbers")?;
        values
            .par_iter()
            .enumerate()
            .map(|(n, &value)| Element::new(&numbers, &tensor.shape, n).rounded(&code, &rounding, value))
            .collect_into_vec(&mut errors);
    }
    if errors.iter().all(|error| *error == 0.0) {
        errors = Vec::new();
    }
    Ok(Some((errors, inexact.then(|| Source::Made(code, tensor.shape.clone())))))
}
