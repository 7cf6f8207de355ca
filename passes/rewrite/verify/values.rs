//! The values of all terms of an instance, and which of them are none.

use std::borrow::Cow;
use std::sync::Arc;

use ngc_interp::Interpreter;
use ngc_ir::{Body, Context, Module, Semantics, Value};
use ngc_numerics::tensor::broadcast_index;
use ngc_numerics::{Data, Evaluator, Tensor};
use rug::Float;

/// Ops with infinite results that are limits, which the reals with infinities have: the logarithm at 0, masks of -inf. A
/// quotient by 0 is none: the sign of a zero is not a number's.
const LIMITS: [&str; 7] =
    ["ng.constant", "ng.log", "ng.log2", "ng.log10", "ng.log1p", "ng.atanh", "ng.xlogy"];

/// The values of arguments and terms, by their numbers.
pub struct Values(Vec<Option<Arc<Tensor>>>);

impl Values {
    /// Of the function `instance` of a module, whose body is a copy of this one; nothing where some op has none, such as a
    /// class index out of range.
    pub fn of(
        context: &Context,
        module: &Module,
        body: &Body,
        evaluator: Evaluator,
        inputs: &[Tensor],
    ) -> Option<Values> {
        let interpreter = Interpreter::new(context, module, evaluator);
        let mut run = interpreter.start("instance", inputs).ok()?;
        let mut values = vec![None; body.num_values()];
        for (argument, input) in body.arguments(body.entry()?).iter().zip(inputs) {
            values[argument.index()] = Some(Arc::new(evaluator.lift(input)));
        }
        while let Some(step) = run.step().ok()? {
            for (value, tensor) in body.results(step.op).zip(step.results) {
                values[value.index()] = Some(tensor);
            }
        }
        Some(Values(values))
    }

    /// The value of a term.
    pub fn get(&self, term: Value) -> Option<&Tensor> {
        self.0.get(term.index())?.as_deref()
    }

    /// The elements of a term, as big floats of `bits` bits where they are not yet.
    pub fn reals(&self, term: Value, bits: u32) -> Cow<'_, [Float]> {
        match self.get(term) {
            Some(Tensor { data: Data::Real(v), .. }) => Cow::Borrowed(v),
            Some(t) => t.to_f64s().into_iter().map(|x| Float::with_val(bits, x)).collect(),
            None => Cow::Borrowed(&[]),
        }
    }

    /// Whether all elements of a term are finite.
    pub fn are_finite(&self, term: Value) -> bool {
        self.floats(term).iter().all(Float::is_finite)
    }

    /// Which elements of a term have a value over the reals with infinities: numbers and limits; of integers nothing is said.
    pub fn defined(&self, body: &Body, term: Value) -> Vec<bool> {
        let x = self.floats(term);
        let Some(op) = body.defining_op(term) else { return x.iter().map(|x| !x.is_nan()).collect() };
        if self.are_finite(term) {
            return vec![true; x.len()];
        }
        let name = body.name(op);
        let pointwise = body.op(op).def.is_some_and(|d| matches!(d.semantics, Semantics::Elementwise(_)));
        let shape = self.get(term).filter(|_| pointwise).map(|t| &t.shape[..]);
        let operand = |&v: &Value| Operand {
            x: self.floats(v),
            defined: self.defined(body, v),
            places: shape.and_then(|to| broadcast_index(&self.get(v)?.shape, to).ok()),
        };
        let operands: Vec<Operand<'_>> = body.operands(op).iter().map(operand).collect();
        let by = match name {
            "ng.div" => operands.get(1),
            "ng.pow" => operands.first(),
            _ => None,
        };
        let has_value = |(i, x): (usize, &Float)| {
            let infinite = operands.iter().flat_map(|o| o.at(i)).filter(|(y, _)| y.is_infinite());
            let from: Vec<bool> = infinite.map(|(_, has)| has).collect();
            let is_limit = if from.is_empty() { LIMITS.contains(&name) } else { !from.contains(&false) };
            let is_pole = || by.is_some_and(|by| by.at(i).any(|(y, _)| y.is_zero()));
            x.is_finite() || (x.is_infinite() && is_limit && !is_pole())
        };
        x.iter().enumerate().map(has_value).collect()
    }

    /// The elements of a term of numbers over the reals.
    fn floats(&self, term: Value) -> &[Float] {
        match self.get(term) {
            Some(Tensor { data: Data::Real(v), .. }) => v,
            _ => &[],
        }
    }
}

/// An operand of an op.
struct Operand<'v> {
    x: &'v [Float],
    defined: Vec<bool>,
    /// Which element the op takes for each of the result; nothing if it may take all.
    places: Option<Vec<usize>>,
}

impl Operand<'_> {
    /// The elements that an element of the result may depend on, and whether they have values.
    fn at(&self, i: usize) -> impl Iterator<Item = (&Float, bool)> {
        let all = self.x.iter().zip(self.defined.iter().copied());
        let (skip, take) = self.places.as_ref().map_or((0, usize::MAX), |places| (places[i], 1));
        all.skip(skip).take(take)
    }
}
