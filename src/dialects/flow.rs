//! Runs the transfer functions of ops over a body.

use std::collections::BTreeSet;
use std::sync::Arc;

use ngc_ir::{Attr, Body, InternalError, Op, Resources, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{intersect, magnitude, widen};
use ngc_numerics::{
    Enclosure, Figures, Flags, Format, Interval, Kind, Kinds, Mixed, Operands, Prim, Range, Reduce,
    StoredTensor,
};
use smallvec::SmallVec;

use crate::facts::{self, Fact, Pointwise, Store};
use crate::kinds;
use crate::memo::{Answer, Memo, Question};
use crate::ng::constant;
use crate::ng::convert::is_exact;
use crate::normalised::normalised;
use crate::relative::{self, Term};
use crate::runtime::Runtime;
use crate::transfer::{followed, has_elements, transfer_known};

/// What is known of the values of a body: ranges, and bounds of the error of each computed value, absolute and relative.
///
/// An error that is finite says: where the exact value is finite, the computed one is finite and no farther from it;
/// where it is infinite, so is the computed one, alike.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub(crate) known: Store,
    ranges: Vec<Range>,
    errors: Vec<f64>,
    mixed: Vec<Mixed>,
    /// What was found before, where that is kept.
    memo: Option<Memo>,
    /// Where the ops run, if not as they are written.
    runtime: Option<&'static Runtime>,
    /// Ops and formats of which its table says nothing.
    unmeasured: BTreeSet<(&'static str, Format)>,
}

impl Flow {
    /// Of a function's body: its constants may lie in the resources of its module, and `arg_attrs`, the function's
    /// attribute of that name, may bound extents of its arguments.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>, resources: &Resources) -> Flow {
        let mut flow = Flow { known: Store::new(resources.clone()), ..Flow::default() };
        let dicts = arg_attrs.and_then(Attr::as_array).unwrap_or_default();
        let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
        for (&argument, dict) in arguments.iter().zip(dicts) {
            if let Attr::Dict(dict) = dict {
                flow.known.state_extents(argument, body.ty(argument), dict.get("ng.dim_range"));
            }
        }
        flow
    }

    /// Keeps what is found of ops, beside what `before` has kept.
    pub fn remembering(mut self, before: Flow) -> Flow {
        self.memo = Some(before.memo.unwrap_or_default());
        self
    }

    /// Bounds what the ops are in a runtime, given its table.
    pub fn in_runtime(mut self, runtime: Option<&'static Runtime>) -> Flow {
        self.runtime = runtime;
        self
    }

    /// Ops and formats of which the table of the runtime says nothing, so that nothing is known of their results.
    pub fn unmeasured(&self) -> &BTreeSet<(&'static str, Format)> {
        &self.unmeasured
    }

    /// The tensor of a constant; of one whose elements are all alike a single one, with 1 for each extent.
    pub fn constant(&self, value: Value) -> Option<&StoredTensor> {
        self.known.constant(value).map(|tensor| &**tensor)
    }

    /// What a value may be, exact or computed.
    pub fn flags(&self, value: Value) -> Flags {
        self.known.flags(value, &self.range(value))
    }

    /// What is known of a value over the reals.
    pub fn fact(&self, value: Value) -> Fact {
        self.known.fact(value, &self.range(value))
    }

    /// Estimate of the 2-norm of a constant matrix of type `ty`, of the largest in a stack; no bound.
    pub fn norm2_estimate(&self, value: Value, ty: Type) -> Option<f64> {
        let (tensor, shape) = (self.constant(value)?, ty.static_shape()?);
        let &[.., rows, columns] = &shape[..] else { return None };
        if tensor.len() == 1 {
            // All elements alike: a product of two vectors.
            let w = tensor.number(0).filter(|w| w.is_finite() && tensor.dtype.is_float())?;
            return Some(w.abs() * ((rows * columns) as f64).sqrt());
        }
        tensor.norm2_estimate()
    }

    /// The kinds of the elements of a value, where it has two.
    pub(crate) fn kinds(&self, value: Value) -> Option<Kinds> {
        self.known.kinds(value)
    }

    /// Whether ops run as they are written.
    pub(crate) fn is_reference(&self) -> bool {
        self.runtime.is_none()
    }

    /// Sets what is known of a value.
    pub fn set(&mut self, value: Value, range: Range, error: f64) {
        self.set_mixed(value, range, error, Mixed::absolute(error));
    }

    /// Narrows what is known of a value by what was found otherwise: its values, exact and computed, and its error,
    /// absolute and relative.
    pub fn narrow(&mut self, value: Value, values: &Interval, error: f64, relative: Mixed) {
        let Range { exact, computed } = self.range(value);
        let mut range = Range { exact: intersect(&exact, values), computed: intersect(&computed, values) };
        let error = settle(&mut range, self.error(value).min(error));
        let relative = relative.better(self.relative(value), &range.exact, f64::MIN_POSITIVE);
        self.set_mixed(value, range, error, relative);
    }

    pub(crate) fn set_mixed(&mut self, value: Value, range: Range, error: f64, mixed: Mixed) {
        if self.ranges.len() <= value.index() {
            self.ranges.resize(value.index() + 1, Range::WHOLE);
            self.errors.resize(value.index() + 1, f64::INFINITY);
            self.mixed.resize(value.index() + 1, Mixed::UNBOUNDED);
        }
        self.ranges[value.index()] = range;
        self.errors[value.index()] = error;
        self.mixed[value.index()] = mixed;
    }

    /// The range of a value.
    pub fn range(&self, value: Value) -> Range {
        self.ranges.get(value.index()).copied().unwrap_or(Range::WHOLE)
    }

    /// The bound of the absolute error of a value.
    pub fn error(&self, value: Value) -> f64 {
        self.errors.get(value.index()).copied().unwrap_or(f64::INFINITY)
    }

    /// The bound of the error of a value in relative form. Of all such bounds the one that says most of the values
    /// nearest to zero; [`error`](Self::error) says more of the greatest.
    pub fn relative(&self, value: Value) -> Mixed {
        self.mixed.get(value.index()).copied().unwrap_or(Mixed::UNBOUNDED)
    }

    fn term(&self, value: Value) -> Term {
        Term::new(self.range(value), self.error(value), self.relative(value))
    }

    fn read(&mut self, body: &Body, op: Op) -> Option<Arc<StoredTensor>> {
        if !body.op(op).def?.traits.constant {
            return None;
        }
        let Some(memo) = &mut self.memo else { return self.known.read(body, op) };
        let attrs = &body.op(op).attrs;
        if let Some(known) = memo.constants.get(attrs) {
            return Some(known.clone());
        }
        let read = self.known.read(body, op)?;
        memo.constants.insert(attrs.clone(), read.clone());
        Some(read)
    }

    /// Bounds the results of an op from what is known of its operands; returns the op's own figures.
    pub fn step(&mut self, body: &Body, op: Op) -> Option<Vec<Figures>> {
        let what = format_args!("the bounds of '{}'", body.name(op));
        InternalError::located(&body.op(op).loc, what, || self.bounded(body, op))
    }

    fn bounded(&mut self, body: &Body, op: Op) -> Option<Vec<Figures>> {
        if let Some(tensor) = self.read(body, op) {
            let figures = constant::figures(tensor.facts().interval, constant::error(&body.op(op).attrs));
            let value = body.result(op, 0);
            self.set(value, figures.range, figures.delta);
            self.known.set_kinds(value, tensor.kinds().filter(|_| figures.delta == 0.0));
            self.known.set_constant(value, tensor);
            return Some(vec![figures]);
        }
        let mut found = self.concluded(body, op, None)?;
        let kinds = kinds::step(self, body, op, &mut found);
        for (value, Concluded { figures, error, relative }) in body.results(op).zip(&found) {
            self.set_mixed(value, figures.range, *error, *relative);
        }
        let found: Vec<Figures> = found.into_iter().map(|of| of.figures).collect();
        let operands: SmallVec<[Range; 4]> = body.operands(op).iter().map(|&v| self.range(v)).collect();
        self.known.step(body, op, &operands, &found);
        if let &[value] = &body.results(op).collect::<SmallVec<[Value; 1]>>()[..] {
            // What is computed from constants is as good as a constant, where it does not round.
            let kinds = kinds.or_else(|| {
                (self.error(value) == 0.0).then(|| self.known.compute(body, op)?.kinds()).flatten()
            });
            self.known.set_kinds(value, kinds);
        }
        Some(found)
    }

    /// What is known of the results of an op; of those whose elements are made of one kind of elements of an operand, if that is given.
    pub(crate) fn concluded(
        &mut self,
        body: &Body,
        op: Op,
        given: Option<(Value, &Kind)>,
    ) -> Option<Vec<Concluded>> {
        let values = body.operands(op);
        let given = |v: Value| given.and_then(|(of, kind)| (of == v).then_some(kind));
        let term = |&v: &Value| match given(v) {
            Some(kind) => Term::new(kind.range, kind.error, kind.relative),
            None => self.term(v),
        };
        let terms: SmallVec<[Term; 4]> = values.iter().map(term).collect();
        let operands: SmallVec<[Range; 4]> =
            terms.iter().map(|x| Range { exact: x.exact, computed: x.moved }).collect();
        let errors: SmallVec<[f64; 4]> = terms.iter().map(|x| x.absolute).collect();
        let alias: SmallVec<[usize; 4]> =
            values.iter().map(|v| values.iter().position(|w| w == v).unwrap_or(0)).collect();
        let results = body.result_types(op);
        let mut lent = self.known.lend(values, &operands);
        (0..values.len()).filter(|&i| given(values[i]).is_some()).for_each(|i| lent.forget(i));
        let x = lent.operands(&operands);
        let (mut found, steps) = body.with_signature(op, |s| {
            let found = || answer(s, &x, &alias, &terms, &results);
            let Some(memo) = self.memo.as_mut() else { return found() };
            memo.answers.entry(Question::new(s, &x, &alias, &terms, &results)).or_insert_with(found).clone()
        })?;
        drop(lent);
        let steps = steps.filter(|_| self.runtime.is_none());
        if self.runtime.is_some() {
            for (figures, &ty) in found.iter_mut().zip(&results) {
                self.worsen(body, op, &operands, figures, ty);
            }
        }
        let mut all = Vec::with_capacity(found.len());
        for (n, mut figures) in found.into_iter().enumerate().take(results.len()) {
            let ty = results[n];
            let fact = || relation(body, op, &operands).or_else(|| relative::shifted_sum(body, op));
            if let Some(fact) = has_elements(ty).then(fact).flatten() {
                figures.range.exact = intersect(&figures.range.exact, &fact);
                figures.range.computed = intersect(&figures.range.computed, &fact);
                round_within(&mut figures);
            }
            if let Some(fact) =
                normalised(self, body, op).filter(|_| has_elements(ty) && ty.format().is_some())
            {
                // As computed it is what the bound of its error says.
                figures.range.exact = intersect(&figures.range.exact, &fact);
            }
            // What is known of the elements of a constant is known of what it was rounded to.
            for ((way, &v), &error) in figures.sensitivity.iter().zip(values).zip(&errors) {
                if error > 0.0 && self.known.constant(v).is_some() {
                    figures.range.exact = widen(&figures.range.exact, way.pass(error));
                }
            }
            let mut error = figures.error(&errors);
            let mut relative = body
                .with_signature(op, |s| relative::through(s, &figures, &terms, &alias, ty))
                .unwrap_or(Mixed::UNBOUNDED);
            if let (Some(ends), Some(format)) = (&steps, ty.format()) {
                let (by_steps, mixed) = ends[n];
                error = error.min(by_steps);
                relative = relative.better(mixed, &figures.range.exact, format.min_normal());
            }
            let Range { exact, computed } = figures.range;
            figures.range.computed = intersect(&computed, &relative::reach(&exact, &relative));
            if relative.is_finite() {
                error = error.min(relative.at_most(magnitude(&exact)));
            }
            let error = settle(&mut figures.range, error);
            all.push(Concluded { figures, error, relative });
        }
        Some(all)
    }
}

/// What is known of a result of an op.
pub(crate) struct Concluded {
    pub figures: Figures,
    /// The error, with those of the operands.
    pub error: f64,
    /// The same in relative form.
    pub relative: Mixed,
}

impl Flow {
    /// Makes the figures of a result of an op those that it has in the runtime.
    fn worsen(&mut self, body: &Body, op: Op, operands: &[Range], figures: &mut Figures, ty: Type) {
        let Some(runtime) = self.runtime else { return };
        let known = body.with_signature(op, |s| (runtime.worsen(s, operands, figures, ty), s.def.name));
        if let (Some((false, name)), Some(format)) = (known, ty.format()) {
            self.unmeasured.insert((name, format));
        }
    }
}

/// What an op's transfer function and its decomposition say.
fn answer(s: &Signature<'_>, x: &Operands<'_>, alias: &[usize], terms: &[Term], results: &[Type]) -> Answer {
    let errors = |(inner, ends): (Flow, Vec<Value>)| {
        ends.iter().map(|&end| (inner.error(end), inner.relative(end))).collect()
    };
    (transfer_known(s, x, alias, results), followed(s, x, terms).map(errors))
}

/// What intervals alone let overflow rounds by as little as the numbers of its range do: the exact function of the computed
/// operands is at most as far from 0 as a number of the range and its own rounding are.
fn round_within(figures: &mut Figures) {
    let (Mixed { rho, .. }, most) = (figures.relative, magnitude(&figures.range.computed));
    if figures.delta.is_infinite() && relative::is_defined(&figures.range.computed) && rho < 1.0 {
        figures.delta = figures.relative.at_most((most / (1.0 - rho)).next_up());
    }
}

/// Narrows the range by the error, and the error by the range.
pub fn settle(range: &mut Range, error: f64) -> f64 {
    let Range { exact, computed } = *range;
    if error.is_finite() {
        range.computed = intersect(&computed, &widen(&exact, error));
    }
    let defined = |x: &Interval| !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite();
    if !defined(&exact) || !defined(&range.computed) {
        return error;
    }
    let apart = |a: f64, b: f64| if a == b { 0.0 } else { (a - b).next_up() };
    error.min(apart(exact.hi, range.computed.lo).max(apart(range.computed.hi, exact.lo)).max(0.0))
}

/// The value of which this is the same number in a wider format, or itself.
pub(crate) fn unwidened(body: &Body, value: Value) -> Value {
    let Some(op) = body.defining_op(value) else { return value };
    let &[from] = body.operands(op) else { return value };
    let widens = body.ty(from).elem().zip(body.ty(value).elem()).is_some_and(|(from, to)| is_exact(from, to));
    let same = || matches!(body.with_signature(op, Pointwise::of), Some(Some(Pointwise::Same)));
    if widens && body.ty(from).shape() == body.ty(value).shape() && same() {
        unwidened(body, from)
    } else {
        value
    }
}

/// What intervals lose, NaN aside: a value less its own maximum is not positive, and a term over the sum of all is at most 1.
fn relation(body: &Body, op: Op, operands: &[Range]) -> Option<Interval> {
    let ([x, y], [range, _]) = (body.operands(op), operands) else { return None };
    // Differences and sums of integers wrap.
    body.ty(*x).format()?;
    let prim = body.with_signature(op, |s| match s.def.semantics {
        Semantics::Elementwise(of) => of(s).ok()?.function.as_primitive(),
        _ => None,
    })?;
    if !matches!(prim, Some(Prim::Sub | Prim::Div)) {
        return None;
    }
    let whole = |of: Op| {
        let keeps = body.with_signature(of, |s| s.flag("keepdims")) == Some(true);
        keeps || body.ty(body.result(of, 0)).shape().is_some_and(<[_]>::is_empty)
    };
    let reduction = body.defining_op(unwidened(body, *y))?;
    let [of] = *body.operands(reduction) else { return None };
    if unwidened(body, of) != unwidened(body, *x) || !whole(reduction) {
        return None;
    }
    let finite = |x: Interval| !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite();
    match (prim?, body.with_signature(reduction, facts::reduction)??) {
        (Prim::Sub, Reduce::Max) => Some(Enclosure { lo: f64::NEG_INFINITY, hi: 0.0, may_be_nan: true }),
        (Prim::Sub, Reduce::Min) => Some(Enclosure { lo: 0.0, hi: f64::INFINITY, may_be_nan: true }),
        (Prim::Div, Reduce::Sum)
            if of == *x
                && body.result(reduction, 0) == *y
                && finite(range.hull())
                && range.hull().lo >= 0.0 =>
        {
            // Rounding is monotone, so no partial sum of an order without compensation is below a term of it.
            let plain = body.with_signature(reduction, |s| {
                s.attr("accumulate").is_none()
                    && matches!(
                        s.sum_method(),
                        ngc_numerics::SumMethod::Naive | ngc_numerics::SumMethod::Pairwise
                    )
            });
            // A quotient 0 / 0 keeps its flag; an infinite sum gives 0.
            (plain == Some(true)).then_some(Enclosure { lo: 0.0, hi: 1.0, may_be_nan: true })
        }
        _ => None,
    }
}
