//! What each rounding of a run becomes in the results: element by element, backwards through the ops (the reverse mode of
//! differentiation).
//!
//! A [`Tape`] is one run of a function, taken apart into primitive ops. Of each op it knows a bound of what the op's own roundings
//! add to each element, at the magnitudes of the run (a running error bound: N. Higham, Accuracy and Stability of Numerical
//! Algorithms, 3.3). [`Tape::shares`] multiplies these bounds by the magnitudes of the derivatives of elements of the results, and sums
//! the products by op of the function. What cancels between two paths to a result cancels here too, which no product of Lipschitz
//! constants sees.
//!
//! Choices (comparisons, maxima, branches, conversions to integers) count as they fell in the run.

mod expand;
mod local;
mod moved;

use std::sync::Arc;

use ngc_dialects::structure::structures;
use ngc_ir::structure::Size;
use ngc_ir::{Body, Context, Module, Op, Semantics};
use ngc_numerics::{Data, Evaluator, Mode, Tensor};
use rayon::prelude::*;

use crate::Interpreter;
use expand::Expanded;
use local::{Code, Element, Rounding};

/// Elements of results that are followed together.
const LANES: usize = 32;
/// Sums of this many terms in `f64` are below their exact values by less than this part.
const SLACK: f64 = 1.0 + 1e-6;

/// A run of a function, op by op.
pub struct Tape {
    values: usize,
    steps: Vec<Step>,
    results: Vec<(usize, usize)>,
    origins: Vec<Op>,
    work: usize,
}

/// A value whose elements may differ from the exact ones.
struct Step {
    value: usize,
    /// The number of the op of the function that it comes from.
    origin: usize,
    /// Bounds of what the op's roundings add to each element; empty where they add nothing.
    errors: Vec<f64>,
    /// How its elements depend on operands that are not exact; nothing where all are.
    source: Option<Source>,
    operands: Vec<Known>,
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
    exact: bool,
}

impl Known {
    fn new(value: usize, tensor: &Arc<Tensor>, exact: bool) -> Known {
        let tensor = match &tensor.data {
            Data::Float(_) => tensor.clone(),
            _ => Arc::new(Tensor { data: Data::Float(tensor.to_f64s()), ..(**tensor).clone() }),
        };
        Known { value, tensor, exact }
    }

    fn data(&self) -> &[f64] {
        self.tensor.as_floats().unwrap_or(&[])
    }
}

impl Tape {
    /// Of the function `name` of a module on inputs, which are exact.
    ///
    /// # Errors
    /// A sentence that says what the run cannot be taken through.
    pub fn record(context: &Context, module: &Module, name: &str, inputs: &[Tensor]) -> Result<Tape, String> {
        let Expanded { module, origins, of } = expand::expand(context, module, name, inputs)?;
        let body = module.symbol(name).and_then(|f| module.body.body(f)).ok_or("it has no body")?;
        let interpreter = Interpreter::new(context, &module, Evaluator::new(Mode::Rounded));
        let mut run = interpreter.start(name, inputs).map_err(|d| d.message)?;
        let mut known: Vec<Option<Known>> = vec![None; body.num_values()];
        let entry = body.entry().ok_or("it is a declaration")?;
        for (&v, input) in body.arguments(entry).iter().zip(inputs) {
            known[v.index()] = Some(Known::new(v.index(), &Arc::new(input.clone()), true));
        }
        let (mut steps, mut work) = (Vec::new(), 0usize);
        while let Some(step) = run.step().map_err(|d| d.message)? {
            let operands: Option<Vec<Known>> =
                body.operands(step.op).iter().map(|v| known[v.index()].clone()).collect();
            let operands = operands.ok_or("a value is read before it is there")?;
            for (n, (v, tensor)) in body.results(step.op).zip(&step.results).enumerate() {
                let found = (context, body).step(step.op, n, tensor, &operands);
                let found = found.map_err(|why| format!("'{}' {why}", body.name(step.op)))?;
                known[v.index()] = Some(Known::new(v.index(), tensor, found.is_none()));
                let Some((errors, source)) = found else { continue };
                work = work.saturating_add(source.as_ref().map_or(0, |s| s.terms(tensor.len())));
                let operands = if source.is_some() { operands.clone() } else { Vec::new() };
                steps.push(Step { value: v.index(), origin: of[&step.op], errors, source, operands });
            }
        }
        let end = body.last_op(entry).ok_or("it does not end")?;
        let size = |v: usize| known[v].as_ref().map_or(0, |known| known.tensor.len());
        let results = body.operands(end).iter().map(|v| (v.index(), size(v.index()))).collect();
        Ok(Tape { values: body.num_values(), steps, results, origins, work })
    }

    /// Terms of all elements on the way, each of which costs a multiplication for each element of a result that is followed.
    pub fn work(&self) -> usize {
        self.work
    }

    /// The ops of the function, in order.
    pub fn ops(&self) -> &[Op] {
        &self.origins
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
    /// the run become in the element, summed.
    pub fn shares(&self, result: usize, elements: &[usize], done: &(dyn Fn() + Sync)) -> Vec<Vec<f64>> {
        let of = elements.par_chunks(LANES).with_max_len(1).flat_map_iter(|lanes| {
            let sums = self.follow(result, lanes);
            done();
            let ops = self.origins.len();
            (0..lanes.len()).map(move |lane| (0..ops).map(|op| sums[op * LANES + lane] * SLACK).collect())
        });
        of.collect()
    }

    /// By op and lane.
    fn follow(&self, result: usize, lanes: &[usize]) -> Vec<f64> {
        let mut sums = vec![0.0; self.origins.len() * LANES];
        let mut adjoints: Vec<Vec<[f64; LANES]>> = vec![Vec::new(); self.values];
        let (end, size) = self.results[result];
        adjoints[end] = vec![[0.0; LANES]; size];
        for (lane, &element) in lanes.iter().enumerate() {
            adjoints[end][element][lane] = 1.0;
        }
        for step in self.steps.iter().rev() {
            let own = std::mem::take(&mut adjoints[step.value]);
            if own.is_empty() {
                continue;
            }
            let sum = &mut sums[step.origin * LANES..][..LANES];
            for (adjoint, &error) in own.iter().zip(&step.errors).filter(|(_, error)| **error != 0.0) {
                sum.iter_mut().zip(adjoint).for_each(|(sum, x)| *sum += product(x.abs(), error));
            }
            let Some(source) = &step.source else { continue };
            for known in step.operands.iter().filter(|known| !known.exact) {
                let to = &mut adjoints[known.value];
                if to.is_empty() {
                    *to = vec![[0.0; LANES]; known.tensor.len()];
                }
            }
            let data: Vec<&[f64]> = step.operands.iter().map(Known::data).collect();
            for (n, adjoint) in own.iter().enumerate().filter(|(_, x)| x.iter().any(|x| *x != 0.0)) {
                source.onward(&data, n, &mut |operand, element, slope| {
                    let known = &step.operands[operand];
                    if !known.exact && slope != 0.0 {
                        let to = &mut adjoints[known.value][element];
                        to.iter_mut().zip(adjoint).for_each(|(to, x)| *to += product(*x, slope));
                    }
                });
            }
        }
        sums
    }
}

/// What is exactly 0 has no part in what is unbounded.
fn product(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * y }
}

impl Source {
    /// Tells of each element of the operands of which an element is made, and of the derivative by it.
    fn onward(&self, operands: &[&[f64]], element: usize, tell: &mut dyn FnMut(usize, usize, f64)) {
        match self {
            Source::Moved(from) => {
                let (operand, element) = from[element];
                tell(operand, element, 1.0);
            }
            Source::Made(code, shape) => Element::new(operands, shape, element).slopes(code, 1.0, tell),
        }
    }

    fn terms(&self, elements: usize) -> usize {
        match self {
            Source::Moved(_) => elements,
            Source::Made(code, _) => code.terms().saturating_mul(elements),
        }
    }
}

trait Steps {
    type Found;
    fn step(&self, op: Op, n: usize, tensor: &Tensor, operands: &[Known]) -> Result<Self::Found, String>;
}

impl Steps for (&Context, &Body) {
    type Found = Option<(Vec<f64>, Option<Source>)>;

    /// The errors of the n-th result of an op and where its elements come from; nothing where it is exact.
    fn step(&self, op: Op, n: usize, tensor: &Tensor, operands: &[Known]) -> Result<Self::Found, String> {
        let (context, body) = *self;
        let data = body.op(op);
        let def = data.def.ok_or("is not registered")?;
        // Integers are as they fell.
        let Some(format) = tensor.dtype.format().filter(|_| !def.traits.constant) else { return Ok(None) };
        let inexact = operands.iter().any(|known| !known.exact);
        let extents: Vec<Vec<Size>> =
            operands.iter().map(|x| x.tensor.shape.iter().map(|&n| Size::from(n)).collect()).collect();
        let found = body.with_signature(op, |s| {
            let structure = structures(s, &extents)?.into_iter().nth(n)?;
            let rounding = Rounding {
                of: s.accumulate(format),
                to: format,
                method: s.sum_method(),
                operands: operands.iter().map(|x| x.tensor.dtype.format()).collect(),
                rounds: s.attr("accumulate").is_some(),
                correct: matches!(def.semantics, Semantics::Elementwise(_)),
            };
            let shapes: Vec<&[usize]> = operands.iter().map(|x| &x.tensor.shape[..]).collect();
            Some((Code::new(&structure.element, &shapes)?, rounding))
        });
        let Some((code, rounding)) = found.flatten() else {
            let from = moved::sources(context, def, &data.attrs, n, tensor, operands)?;
            return Ok(inexact.then_some((Vec::new(), Some(Source::Moved(from)))));
        };
        let numbers: Vec<&[f64]> = operands.iter().map(Known::data).collect();
        let mut errors = Vec::new();
        if !code.only_moves() || rounding.narrows() {
            let values = tensor.as_floats().ok_or("has no numbers")?;
            values
                .par_iter()
                .enumerate()
                .map(|(n, &value)| Element::new(&numbers, &tensor.shape, n).rounded(&code, &rounding, value))
                .collect_into_vec(&mut errors);
        }
        let rounds = errors.iter().any(|error| *error != 0.0);
        if !rounds {
            errors = Vec::new();
        }
        let source = inexact.then(|| Source::Made(code, tensor.shape.clone()));
        Ok((rounds || inexact).then_some((errors, source)))
    }
}
