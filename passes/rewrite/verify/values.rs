//! The values of all terms of an instance, and which of them are none.

use std::borrow::Cow;
use std::sync::Arc;

use ngc_dialects::facts::{self, Fact, Signs};
use ngc_interp::Interpreter;
use ngc_ir::{Body, Context, Module, Semantics, Value};
use ngc_numerics::tensor::broadcast_index;
use ngc_numerics::{Data, Enclosure, Evaluator, Tensor};
use rug::Float;

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
        let def = body.op(op).def;
        let pointwise = def.is_some_and(|d| matches!(d.semantics, Semantics::Elementwise(_)));
        let shape = self.get(term).filter(|_| pointwise).map(|t| &t.shape[..]);
        let operand = |&v: &Value| Operand {
            x: self.floats(v),
            defined: self.defined(body, v),
            places: shape.and_then(|to| broadcast_index(&self.get(v)?.shape, to).ok()),
        };
        let operands: Vec<Operand<'_>> = body.operands(op).iter().map(operand).collect();
        // Where the op lies, at the numbers that it is given; a quotient by 0 is no value, the logarithm of 0 is.
        let lies_at = |i: usize, x: &Float| {
            let point =
                |o: &Operand<'_>| o.at(i).next().map_or(Fact::UNKNOWN, |(y, _)| Fact::of_number(y.to_f64()));
            let facts: Vec<Fact> = operands.iter().map(point).collect();
            let at = Signs::of(&Enclosure::point(x.to_f64()));
            body.with_signature(op, |s| {
                facts::of_results(s, &facts, &[body.ty(term)])[0].fact.signs.may_be(at)
            }) == Some(true)
        };
        let has_value = |(i, x): (usize, &Float)| {
            let infinite = operands.iter().flat_map(|o| o.at(i)).filter(|(y, _)| y.is_infinite());
            let from: Vec<bool> = infinite.map(|(_, has)| has).collect();
            let is_limit = match (pointwise, from.is_empty()) {
                (true, _) => !from.contains(&false) && lies_at(i, x),
                (false, true) => def.is_some_and(|d| d.traits.constant),
                (false, false) => !from.contains(&false),
            };
            x.is_finite() || x.is_infinite() && is_limit
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
