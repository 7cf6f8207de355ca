//! The values of a function on some samples, whole: for what looks at several values together.

use ngc_interp::{Execution, Interpreter};
use ngc_ir::pass::Function;
use ngc_ir::{Context, Module, OpState, Value};
use ngc_numerics::tensor::{broadcast_shapes, element_count};
use ngc_numerics::{Evaluator, Mode, Random, StoredTensor, Tensor};

use super::Samples;

/// Elements that are kept of all values and samples together, about.
const ELEMENTS: usize = 1 << 22;

/// Samples that are looked at, at most.
const MOST: usize = 64;

/// Elements of a value with its extents.
type Elements = (Vec<usize>, Vec<f64>);

/// What each value of a function is on some samples.
#[derive(Debug)]
pub struct Seen {
    /// By sample, then by the index of the value.
    samples: Vec<Vec<Option<Elements>>>,
}

impl Samples {
    /// The values of the function as it stands, on samples spread over all of them; nothing if it is another function than
    /// the one that the samples are for, or cannot be evaluated by itself.
    pub fn seen(&self, context: &Context, function: &Function) -> Option<Seen> {
        if function.name() != self.function() || self.count() == 0 {
            return None;
        }
        let def = context.op("func.func")?;
        let mut module = Module::new();
        let state = OpState { attrs: function.attrs.clone(), ..OpState::new(def, function.loc.clone()) };
        let op = module.body.create(state);
        module.body.set_body(op, function.body.clone());
        let top = module.body.entry()?;
        module.body.append(top, op);
        module.resources = function.resources.clone();
        let interpreter = Interpreter::new(context, &module, Evaluator::new(Mode::Rounded));
        let constants = interpreter.constants(self.function()).ok()?;
        let mut seen = Seen { samples: Vec::new() };
        let (mut wanted, mut done) = (MOST.min(self.count()), 0);
        while done < wanted {
            let inputs = self.inputs(done * self.count() / wanted);
            let run = Interpreter::start(&interpreter, self.function(), &inputs).ok()?;
            let values = evaluated(run.with_constants(&constants), function, &inputs)?;
            let size: usize = values.iter().flatten().map(|(_, x)| x.len()).sum();
            if done == 0 {
                wanted = wanted.min(ELEMENTS / size.max(1)).max(1);
            }
            seen.samples.push(values);
            done += 1;
        }
        Some(seen)
    }

    /// The least and the greatest value of each argument, in order.
    pub fn ranges(&self) -> Vec<(f64, f64)> {
        let mut out: Vec<(f64, f64)> = Vec::new();
        for set in &self.sets {
            for (n, (tensor, _)) in set.arguments.iter().enumerate() {
                let own = StoredTensor::of(tensor).facts().interval;
                let own = (own.lo, own.hi);
                match out.get_mut(n) {
                    Some(known) => *known = (known.0.min(own.0), known.1.max(own.1)),
                    None => out.push(own),
                }
            }
        }
        out
    }
}

fn evaluated(
    mut run: Execution<'_>,
    function: &Function,
    inputs: &[Tensor],
) -> Option<Vec<Option<Elements>>> {
    let body = &function.body;
    let mut values: Vec<Option<Elements>> = vec![None; body.num_values()];
    let elements = |t: &Tensor| (t.shape.clone(), t.to_f64s());
    for (v, input) in body.arguments(body.entry()?).iter().zip(inputs) {
        values[v.index()] = Some(elements(input));
    }
    while let Some(step) = run.step().ok()? {
        for (v, found) in body.results(step.op).zip(&step.results) {
            values[v.index()] = Some(elements(found));
        }
    }
    Some(values)
}

impl Seen {
    /// What some values are together at `count` random places: of one sample each, and of one element to which their
    /// extents broadcast. Nothing where they do not. One column for each value.
    pub fn columns(&self, values: &[Value], count: usize) -> Option<Vec<Vec<f64>>> {
        let mut random = Random::seeded("places");
        let mut columns: Vec<Vec<f64>> = vec![Vec::with_capacity(count); values.len()];
        for _ in 0..count {
            let sample = &self.samples[random.below(self.samples.len())];
            let found = values.iter().map(|v| sample.get(v.index())?.as_ref()).collect::<Option<Vec<_>>>()?;
            let common =
                found.iter().try_fold(vec![], |all, (shape, _)| broadcast_shapes(&all, shape)).ok()?;
            let size = element_count(&common).ok().filter(|n| *n > 0)?;
            let place = random.below(size);
            for (column, (shape, elements)) in columns.iter_mut().zip(found) {
                column.push(*elements.get(within(place, &common, shape))?);
            }
        }
        Some(columns)
    }
}

/// Where an operand of extents `shape` keeps the element at `place` of the extents that it broadcasts to.
pub fn within(mut place: usize, common: &[usize], shape: &[usize]) -> usize {
    let (mut at, mut stride) = (0, 1);
    for (axis, &extent) in common.iter().enumerate().rev() {
        let own = (axis + shape.len()).checked_sub(common.len()).map_or(1, |n| shape[n]);
        if own > 1 {
            at += place % extent * stride;
            stride *= own;
        }
        place /= extent;
    }
    at
}
