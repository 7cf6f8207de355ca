//! The error functional of every op: ranges, sensitivities, rounding errors, conditions and curvature.
//!
//! One transfer function an op serves all analyses. An op defined by a formula is bounded by interval arithmetic and
//! automatic differentiation of that formula; one defined by a decomposition by running the decomposition and composing
//! its steps; a primitive by the hook in its declaration, which an op of the other kinds may have too where it is
//! sharper.

use std::sync::OnceLock;

use ngc_ir::op_def::Elementwise;
use ngc_ir::{
    Attr, Block, Body, Builder, Context, Dim, Loc, Op, Resources, Semantics, Signature, Type, Value,
};
use ngc_numerics::dual::{self, Jet};
use ngc_numerics::figures::{self, WHOLE, add, div, half_ulp, intersect, magnitude, mignitude, mul, widen};
use ngc_numerics::functional;
use ngc_numerics::program::Step;
use ngc_numerics::{
    Binary64, ConstantFacts, DType, Enclosure, Extent, Figures, Flags, Form, Format, Interval, Mixed,
    Operands, Prim, Range, Sensitivity, Tensor, weights,
};
use smallvec::SmallVec;

use crate::known::{self, Known};
use crate::ng::infer;
use crate::relative::{self, Term};
use crate::weighted;

/// The figures of the results of an op on operands of the given ranges.
pub fn transfer(s: &Signature<'_>, operands: &[Range], results: &[Type]) -> Vec<Figures> {
    let alone: SmallVec<[usize; 4]> = (0..operands.len()).collect();
    transfer_aliased(s, operands, &alone, results)
}

/// As [`transfer`], where operand `i` is the same value as operand `alias[i]` (its own number if it is no repetition).
pub fn transfer_aliased(
    s: &Signature<'_>,
    operands: &[Range],
    alias: &[usize],
    results: &[Type],
) -> Vec<Figures> {
    transfer_known(s, &Operands::of_ranges(operands), alias, results)
}

/// As [`transfer_aliased`], where more may be known of the operands than their ranges.
pub fn transfer_known(
    s: &Signature<'_>,
    operands: &Operands<'_>,
    alias: &[usize],
    results: &[Type],
) -> Vec<Figures> {
    let ranges = populated(s, operands);
    let operands = &Operands { ranges: &ranges, ..*operands };
    let own = s.def.transfer.and_then(|hook| hook(s, operands, results));
    let found = own.or_else(|| match s.def.semantics {
        Semantics::Elementwise(of) => {
            let function = of(s).ok()?;
            let [ty] = results else { return None };
            (operands.len() == function.function.arity)
                .then(|| vec![elementwise(s, &function, operands, alias, *ty)])
        }
        Semantics::Decomposition(_) => decomposed(s, operands, results),
        _ => None,
    });
    let mut found = found.unwrap_or_default();
    found.resize_with(results.len(), || Figures::unknown(operands.len()));
    for (figures, ty) in found.iter_mut().zip(results) {
        figures.sensitivity.resize(operands.len(), Sensitivity::NONE);
        within_type(figures, *ty);
    }
    found
}

/// A tensor without elements has no values, so whatever was found of them, 0 serves as well; a rule for no terms need
/// then not look out for infinite or undefined ones.
fn populated(s: &Signature<'_>, operands: &[Range]) -> SmallVec<[Range; 4]> {
    let empty = |i: usize| {
        s.operands.get(i).and_then(|ty| ty.shape()).is_some_and(|shape| shape.contains(&Dim::Static(0)))
    };
    let nothing = Range::both(Enclosure::point(0.0));
    operands.iter().enumerate().map(|(i, &range)| if empty(i) { nothing } else { range }).collect()
}

/// No integer leaves its type, and nothing else is known of a value that is no number.
fn within_type(figures: &mut Figures, ty: Type) {
    let Some(elem) = ty.elem() else { return };
    if !elem.is_float() {
        let (lo, hi) = elem.int_range();
        let all =
            if elem == DType::BOOL { Enclosure::new(0.0, 1.0) } else { Enclosure::new(lo as f64, hi as f64) };
        let cut = |x: Interval| {
            if x.is_undefined() || x.may_be_nan || x.lo < all.lo || x.hi > all.hi { all } else { x }
        };
        figures.range = Range { exact: cut(figures.range.exact), computed: cut(figures.range.computed) };
        figures.delta = figures.delta.min(figures::add(all.hi, -all.lo));
    }
}

/// What is known of the values of a body: ranges, and bounds of the error of each computed value, absolute and relative.
///
/// An error that is finite says: where the exact value is finite, the computed one is finite and no farther from it;
/// where it is infinite, so is the computed one, alike.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    known: Known,
    ranges: Vec<Range>,
    errors: Vec<f64>,
    mixed: Vec<Mixed>,
}

impl Flow {
    /// Of a function's body: its constants may lie in the resources of its module, and `arg_attrs`, the function's
    /// attribute of that name, may bound extents of its arguments.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>, resources: &Resources) -> Flow {
        let mut flow = Flow { known: Known::new(resources.clone()), ..Flow::default() };
        let dicts = arg_attrs.and_then(Attr::as_array).unwrap_or_default();
        let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
        for (&argument, dict) in arguments.iter().zip(dicts) {
            if let Attr::Dict(dict) = dict {
                flow.known.state_extents(argument, body.ty(argument), dict.get("ng.dim_range"));
            }
        }
        flow
    }

    /// The tensor of a constant; of one whose elements are all alike a single one, with 1 for each extent.
    pub fn constant(&self, value: Value) -> Option<&Tensor> {
        self.known.constant(value).map(|tensor| &**tensor)
    }

    /// Facts of a constant, in all and by channel.
    pub fn constant_facts(&self, value: Value) -> Option<ConstantFacts> {
        self.constant(value).map(ConstantFacts::of)
    }

    /// What a value may be, exact or computed.
    pub fn flags(&self, value: Value) -> Flags {
        self.known.flags(value, &self.range(value))
    }

    /// Estimate of the 2-norm of a constant matrix of type `ty`, of the largest in a stack; no bound.
    pub fn norm2_estimate(&self, value: Value, ty: Type) -> Option<f64> {
        let (tensor, shape) = (self.constant(value)?, ty.static_shape()?);
        let &[.., rows, columns] = &shape[..] else { return None };
        match tensor.as_floats()? {
            // All elements alike: a product of two vectors.
            [w] => w.is_finite().then(|| w.abs() * ((rows * columns) as f64).sqrt()),
            _ => weights::norm2_estimate(tensor),
        }
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

    fn set_mixed(&mut self, value: Value, range: Range, error: f64, mixed: Mixed) {
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

    /// Bounds the results of an op from what is known of its operands; returns the op's own figures.
    pub fn step(&mut self, body: &Body, op: Op) -> Option<Vec<Figures>> {
        let values = body.operands(op);
        let operands: SmallVec<[Range; 4]> = values.iter().map(|&v| self.range(v)).collect();
        let errors: SmallVec<[f64; 4]> = values.iter().map(|&v| self.error(v)).collect();
        let alias: SmallVec<[usize; 4]> =
            values.iter().map(|v| values.iter().position(|w| w == v).unwrap_or(0)).collect();
        let results = body.result_types(op);
        if let Some((tensor, facts)) = self.known.read(body, op) {
            let figures = Figures::constant(facts.interval);
            let value = body.result(op, 0);
            self.set(value, figures.range, 0.0);
            self.known.set_constant(value, tensor, facts.flags);
            return Some(vec![figures]);
        }
        let lent = self.known.lend(values, &operands);
        let x = lent.operands(&operands);
        let mut found = body.with_signature(op, |s| transfer_known(s, &x, &alias, &results))?;
        let terms: SmallVec<[Term; 4]> = values.iter().map(|&v| self.term(v)).collect();
        let steps = body.with_signature(op, |s| followed(s, &x, &terms)).flatten();
        drop(lent);
        for (n, (figures, value)) in found.iter_mut().zip(body.results(op)).enumerate() {
            if let Some(fact) = relation(body, op, &operands).or_else(|| relative::shifted_sum(body, op)) {
                figures.range.exact = intersect(&figures.range.exact, &fact);
                figures.range.computed = intersect(&figures.range.computed, &fact);
            }
            let ty = results[n];
            let mut error = figures.error(&errors);
            let mut mixed = body
                .with_signature(op, |s| relative::through(s, figures, &terms, &alias, ty))
                .unwrap_or(Mixed::UNBOUNDED);
            if let (Some((inner, ends)), Some(format)) = (&steps, ty.format()) {
                error = error.min(inner.error(ends[n]));
                mixed = mixed.better(inner.relative(ends[n]), &figures.range.exact, format.min_normal());
            }
            let Range { exact, computed } = figures.range;
            figures.range.computed = intersect(&computed, &relative::reach(&exact, &mixed));
            if mixed.is_finite() {
                error = error.min(mixed.at_most(magnitude(&exact)));
            }
            let error = settle(&mut figures.range, error);
            self.set_mixed(value, figures.range, error, mixed);
        }
        self.known.step(body, op, &operands, &found);
        Some(found)
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

/// What intervals lose, NaN aside: a value less its own maximum is not positive, and a term over the sum of all is at most 1.
fn relation(body: &Body, op: Op, operands: &[Range]) -> Option<Interval> {
    let ([x, y], [range, _]) = (body.operands(op), operands) else { return None };
    let whole = |of: Op| {
        let keeps = body.with_signature(of, |s| s.flag("keepdims")) == Some(true);
        keeps || body.ty(body.result(of, 0)).shape().is_some_and(<[_]>::is_empty)
    };
    let reduction = body.defining_op(*y)?;
    if body.operands(reduction) != [*x] || !whole(reduction) {
        return None;
    }
    let finite = |x: Interval| !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite();
    match (body.name(op), body.name(reduction)) {
        ("ng.sub", "ng.reduce_max") => Some(Enclosure { lo: f64::NEG_INFINITY, hi: 0.0, may_be_nan: true }),
        ("ng.sub", "ng.reduce_min") => Some(Enclosure { lo: 0.0, hi: f64::INFINITY, may_be_nan: true }),
        ("ng.div", "ng.reduce_sum") if finite(range.hull()) && range.hull().lo >= 0.0 => {
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

fn dialects() -> &'static Context {
    static DIALECTS: OnceLock<Context> = OnceLock::new();
    DIALECTS.get_or_init(crate::context)
}

/// The steps of an op's decomposition as a body of one block, and the values that are its results.
fn steps(s: &Signature<'_>) -> Option<(Body, Block, Vec<Value>)> {
    let Semantics::Decomposition(decompose) = s.def.semantics else { return None };
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let arguments: Vec<Value> =
        s.operands.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    let mut builder = Builder::at_end(dialects(), &mut body, block, Loc::Unknown);
    let ends = decompose(&mut builder, s, &arguments).ok()?;
    Some((body, block, ends))
}

/// The steps of a decomposition, run on what is known of the operands. Operands without errors, and no hook beside the
/// decomposition, leave nothing to learn from it: then [`decomposed`] has said all.
fn followed(s: &Signature<'_>, x: &Operands<'_>, operands: &[Term]) -> Option<(Flow, Vec<Value>)> {
    if s.def.transfer.is_none() && operands.iter().all(|x| x.absolute == 0.0) {
        return None;
    }
    let (body, block, ends) = steps(s)?;
    let mut flow = Flow::default();
    // A hook has looked at constants already.
    let constants = if s.def.transfer.is_some() { &[] } else { x.constants };
    flow.known.enter(body.arguments(block), s.operands, &Operands { constants, ..*x });
    for (&v, x) in body.arguments(block).iter().zip(operands) {
        flow.set_mixed(v, Range { exact: x.exact, computed: x.moved }, x.absolute, x.mixed);
    }
    for op in body.ops(block) {
        flow.step(&body, op)?;
    }
    Some((flow, ends))
}

/// The figures of an op from its decomposition: its steps are composed, paths summed for each operand.
pub fn decomposed(s: &Signature<'_>, operands: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let (body, block, ends) = steps(s)?;
    let arguments = body.arguments(block).to_vec();
    if ends.len() != results.len() || arguments.len() != operands.len() {
        return None;
    }
    // The steps are run on exact inputs from exact and computed operands alike: what they add is the op's own error.
    let mut flow = Flow::default();
    flow.known.enter(&arguments, s.operands, operands);
    let mut paths: Vec<SmallVec<[Sensitivity; 3]>> =
        vec![SmallVec::from_elem(Sensitivity::NONE, operands.len()); body.num_values()];
    let mut conditions = vec![0.0f64; body.num_values()];
    let mut curvatures = vec![0.0f64; body.num_values()];
    for (i, (&v, range)) in arguments.iter().zip(operands.ranges).enumerate() {
        flow.set(v, Range::both(range.hull()), 0.0);
        paths[v.index()][i] = Sensitivity::ONE;
        conditions[v.index()] = 1.0;
    }
    for op in body.ops(block) {
        let found = flow.step(&body, op)?;
        let inputs = body.operands(op);
        for (figures, value) in found.iter().zip(body.results(op)) {
            let before = inputs.iter().map(|v| &paths[v.index()][..]);
            paths[value.index()] = functional::along(&figures.sensitivity, before, operands.len());
            let worst = |of: &[f64]| inputs.iter().map(|v| of[v.index()]).fold(0.0, f64::max);
            conditions[value.index()] = mul(figures.condition, worst(&conditions));
            curvatures[value.index()] = add(figures.curvature, worst(&curvatures));
        }
    }
    let end = |v: &Value| Figures {
        range: flow.range(*v),
        sensitivity: paths[v.index()].clone(),
        delta: flow.error(*v),
        relative: flow.relative(*v),
        form: Form::General,
        condition: conditions[v.index()],
        curvature: curvatures[v.index()],
    };
    Some(ends.iter().map(end).collect())
}

/// The figures of a correctly rounded function of corresponding elements.
fn elementwise(
    s: &Signature<'_>,
    e: &Elementwise,
    known: &Operands<'_>,
    alias: &[usize],
    ty: Type,
) -> Figures {
    let x = known.ranges;
    if x.iter().any(|r| r.exact.is_undefined() || r.computed.is_undefined()) {
        return Figures::unknown(x.len());
    }
    let Some(format) = ty.format() else { return integral(e, x, alias) };
    let params: SmallVec<[Interval; 2]> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
    // A range knows no signs of zeros: where a value may only be zero, it may be either.
    let zeros =
        |x: Interval| if x.lo == 0.0 && x.hi == 0.0 { Enclosure { lo: -0.0, hi: 0.0, ..x } } else { x };
    let side =
        |of: fn(&Range) -> Interval| -> SmallVec<[Interval; 3]> { x.iter().map(|r| zeros(of(r))).collect() };
    let (exact, computed, hull) = (side(|r| r.exact), side(|r| r.computed), side(Range::hull));
    let at_hull = Analysed::new(e, &params, &hull, alias);
    let value = |args: &[Interval]| {
        let value =
            if args == &hull[..] { at_hull.value } else { Analysed::new(e, &params, args, alias).value };
        // NaN in, NaN out, even where the formula does not look at it.
        let value = Enclosure { may_be_nan: value.may_be_nan || args.iter().any(|x| x.may_be_nan), ..value };
        // At a pole the sign of a zero decides between the infinities, and an interval does not know it.
        if value.is_undefined() || value.may_be_nan && (value.lo.is_infinite() || value.hi.is_infinite()) {
            WHOLE
        } else {
            value
        }
    };
    let image = Range { exact: value(&exact), computed: value(&computed) };
    let exact = weighted::holds_integers(format, magnitude(&image.computed)) && known::integral(s, known);
    let delta = if exact { 0.0 } else { rounding(s, e, &computed, alias, &image.computed, format) };
    let rounded = figures::round(format, &image.computed);
    let mut sensitivity = at_hull.sensitivity(e);
    for (way, x) in sensitivity.iter_mut().zip(&hull) {
        if x.may_be_nan {
            *way = Sensitivity::UNBOUNDED;
        }
    }
    Figures {
        range: Range { exact: image.exact, computed: rounded },
        sensitivity,
        delta,
        relative: relative::rounding(s, e, format, mignitude(&rounded)),
        form: Form::General,
        condition: at_hull.condition,
        curvature: at_hull.curvature,
    }
}

/// A function over a box: its values, steepest slopes, condition and curvature.
struct Analysed {
    value: Interval,
    slopes: SmallVec<[f64; 3]>,
    condition: f64,
    curvature: f64,
}

/// Ends of the pieces into which the argument of a formula is cut: where activations bend.
const CUTS: [f64; 19] = [
    -1e3, -100.0, -32.0, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0,
    100.0, 1e3,
];
/// Equal pieces between two cuts at most this far apart.
const PIECES: usize = 4;

impl Analysed {
    fn new(e: &Elementwise, params: &[Interval], args: &[Interval], alias: &[usize]) -> Analysed {
        let f = e.function;
        let simple = f.as_primitive().is_some() || args.len() > 1;
        if simple
            || args[0].may_be_nan
            || args[0].lo == args[0].hi
            || args[0].lo.is_infinite()
            || args[0].hi.is_infinite()
        {
            let jet = dual::differentiate(f, params, args, alias);
            let mut value = f.enclose(&Binary64, params, args);
            if alias.iter().enumerate().any(|(i, &a)| i != a) {
                value = intersect(&value, &jet.value);
            }
            return Analysed::of_jet(e, args, &jet, value);
        }
        // A formula of one argument is bounded piece by piece, and by its ends where it is monotone.
        let x = args[0];
        let mut ends: SmallVec<[f64; 32]> = SmallVec::new();
        ends.push(x.lo);
        ends.extend(CUTS.into_iter().filter(|&c| x.lo < c && c < x.hi));
        ends.push(x.hi);
        let mut total: Option<Analysed> = None;
        for pair in ends.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let pieces = if to - from <= 8.0 && ends.len() < 14 { PIECES } else { 1 };
            let mut lo = from;
            for k in 1..=pieces {
                let hi = if k == pieces { to } else { from + (to - from) * k as f64 / pieces as f64 };
                let part = [Enclosure::new(lo, hi)];
                let jet = dual::differentiate(f, params, &part, alias);
                let mut value = f.enclose(&Binary64, params, &part);
                let d = jet.slope[0];
                if !d.may_be_nan && !d.is_undefined() && (d.lo >= 0.0 || d.hi <= 0.0) {
                    let at = |x: f64| f.enclose(&Binary64, params, &[Enclosure::point(x)]);
                    value = intersect(&value, &at(lo).hull(at(hi)));
                }
                let piece = Analysed::of_jet(e, &part, &jet, value);
                total = Some(match total {
                    None => piece,
                    Some(total) => total.hull(piece),
                });
                lo = hi;
            }
        }
        total
            .unwrap_or_else(|| Analysed::of_jet(e, args, &dual::differentiate(f, params, args, alias), WHOLE))
    }

    fn of_jet(e: &Elementwise, args: &[Interval], jet: &Jet, value: Interval) -> Analysed {
        let slopes: SmallVec<[f64; 3]> = jet.slope.iter().map(magnitude).collect();
        let second = jet.curve.iter().fold(0.0, |sum, c| add(sum, magnitude(c)));
        let prim = e.function.as_primitive();
        let curvature = match prim {
            Some(Prim::Exp) => mul(magnitude(&value), magnitude(&value)),
            Some(Prim::Log) => {
                let x = mignitude(&args[0]);
                div(1.0, (x * x).next_down().max(0.0))
            }
            Some(Prim::Div) => {
                let d = mignitude(&args[1]);
                div(1.0, ((d * d).next_down() * d).next_down().max(0.0))
            }
            _ => second,
        };
        let general = || {
            let rise = args.iter().zip(&slopes).fold(0.0, |sum, (x, &d)| add(sum, mul(magnitude(x), d)));
            let through_zero = || {
                // A function that vanishes at 0: f(x) = x f'(ξ).
                let [x] = args else { return f64::INFINITY };
                let at_zero = e.function.enclose(
                    &Binary64,
                    &e.params.iter().map(|&p| Enclosure::point(p)).collect::<SmallVec<[Interval; 2]>>(),
                    &[Enclosure::point(0.0)],
                );
                let vanishes = at_zero.lo == 0.0 && at_zero.hi == 0.0 && x.lo <= 0.0 && x.hi >= 0.0;
                if vanishes { div(slopes[0], mignitude(&jet.slope[0])) } else { f64::INFINITY }
            };
            let least = mignitude(&value);
            if rise == 0.0 {
                0.0
            } else if least > 0.0 {
                div(rise, least)
            } else {
                through_zero()
            }
        };
        let condition = match prim {
            Some(Prim::Exp) => magnitude(&args[0]),
            Some(Prim::Square | Prim::Mul | Prim::Div) => 2.0,
            Some(Prim::Neg | Prim::Abs | Prim::Min | Prim::Max) => 1.0,
            Some(Prim::Sqrt) => 0.5,
            Some(Prim::Cbrt) => (1.0f64 / 3.0).next_up(),
            _ => general(),
        };
        Analysed { value, slopes, condition, curvature }
    }

    fn hull(self, other: Analysed) -> Analysed {
        Analysed {
            value: self.value.hull(other.value),
            slopes: self.slopes.iter().zip(&other.slopes).map(|(a, b)| a.max(*b)).collect(),
            condition: self.condition.max(other.condition),
            curvature: self.curvature.max(other.curvature),
        }
    }

    /// By the slopes; by the extent of the values where there is no bound of them.
    fn sensitivity(&self, e: &Elementwise) -> SmallVec<[Sensitivity; 3]> {
        let extent = if self.value.may_be_nan { f64::INFINITY } else { add(self.value.hi, -self.value.lo) };
        let steps = matches!(
            e.function.as_primitive(),
            Some(Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc)
        );
        let of = |&slope: &f64| match slope {
            f64::INFINITY if steps => Sensitivity { lipschitz: 1.0, jump: 1.0 },
            f64::INFINITY if extent.is_finite() => Sensitivity { lipschitz: 0.0, jump: extent },
            f64::INFINITY => Sensitivity::UNBOUNDED,
            slope => Sensitivity::lipschitz(slope),
        };
        self.slopes.iter().map(of).collect()
    }
}

/// The largest rounding error of a correctly rounded function whose values lie in `image`.
fn rounding(
    s: &Signature<'_>,
    e: &Elementwise,
    args: &[Interval],
    alias: &[usize],
    image: &Interval,
    format: Format,
) -> f64 {
    let unbounded = |x: &Interval| x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite();
    // Neither the operands nor the values may be beyond what is finite.
    if unbounded(image) || args.iter().any(unbounded) {
        return f64::INFINITY;
    }
    // All operands are values of the format of the result, but for integers.
    let representable = s.operands.iter().all(|t| t.format() == Some(format));
    let size = magnitude(image);
    if !representable {
        return half_ulp(format, size);
    }
    if is_exact(e, format) {
        return 0.0;
    }
    let prim = e.function.as_primitive();
    let repeated = alias.len() == 2 && alias[0] == alias[1];
    match (prim, args) {
        (Some(Prim::Add | Prim::Sub), _) if size <= 2.0 * format.min_normal() => 0.0,
        (Some(Prim::Sub | Prim::Div), _) if repeated => 0.0,
        (Some(Prim::Sub), [x, y]) if cancels(x, y) => 0.0,
        (Some(Prim::Add), [x, y]) if cancels(x, &Enclosure::new(-y.hi, -y.lo)) => 0.0,
        (Some(Prim::Mul), [x, y]) if is_scale(x) || is_scale(y) => scaling(format, size),
        (Some(Prim::Div), [_, y]) if is_scale(y) => scaling(format, size),
        _ => half_ulp(format, size),
    }
}

/// Scaling by a power of two rounds in the subnormal range only.
fn scaling(format: Format, size: f64) -> f64 {
    if size > format.max_finite() { f64::INFINITY } else { half_ulp(format, format.min_normal().min(size)) }
}

fn is_scale(x: &Interval) -> bool {
    x.lo == x.hi && x.lo.is_normal() && x.lo.to_bits() & ((1 << 52) - 1) == 0
}

/// Whether every difference is exact: `y / 2 ≤ x ≤ 2 y` (P. Sterbenz, Floating-Point Computation, 1974).
fn cancels(x: &Interval, y: &Interval) -> bool {
    let positive = x.lo > 0.0 && y.lo > 0.0 && y.hi <= 2.0 * x.lo && x.hi <= 2.0 * y.lo;
    let negative = x.hi < 0.0 && y.hi < 0.0 && y.lo >= 2.0 * x.hi && x.lo >= 2.0 * y.hi;
    positive || negative
}

/// Whether every value of the function at values of the format is one of the format.
fn is_exact(e: &Elementwise, format: Format) -> bool {
    use Prim::{Abs, Ceil, Floor, Max, Min, Neg, Rem, RoundEven, Sign, Trunc};
    let program = e.function.program();
    let small = |i: &usize| {
        let value = ngc_numerics::enclosure::constant(&Binary64, &program.constants()[*i]);
        value.lo == value.hi && format.contains(value.lo)
    };
    program.steps().iter().all(|step| match step {
        Step::Var(_) => true,
        Step::Const(i) => small(i),
        Step::Apply(Neg | Abs | Sign | Floor | Ceil | RoundEven | Trunc | Min | Max | Rem, _) => true,
        Step::Select(..) => true,
        _ => false,
    })
}

/// Integers wrap and are exact otherwise.
fn integral(e: &Elementwise, x: &[Range], alias: &[usize]) -> Figures {
    use Prim::{Abs, Add, Div, Max, Min, Mul, Neg, Rem, Sign, Square, Sub};
    let exact = matches!(
        e.function.as_primitive(),
        Some(Add | Sub | Mul | Neg | Abs | Min | Max | Sign | Square | Rem | Div)
    ) || e.function.name == "clamp";
    let params: SmallVec<[Interval; 2]> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
    let hull: SmallVec<[Interval; 3]> = x.iter().map(Range::hull).collect();
    let found = Analysed::new(e, &params, &hull, alias);
    let mut value = if exact { found.value } else { WHOLE };
    let mut sensitivity = found.sensitivity(e);
    if e.function.as_primitive() == Some(Div) {
        value = Enclosure { lo: value.lo - 1.0, hi: value.hi + 1.0, ..value };
        sensitivity.iter_mut().for_each(|s| s.jump = add(s.jump, 1.0));
    }
    // Beyond 2^53 the ends may not be exact, and beyond the type they wrap.
    let certain = !value.may_be_nan && magnitude(&value) <= (1u64 << 53) as f64;
    if !certain {
        value = WHOLE;
    }
    Figures {
        range: Range::both(value),
        sensitivity: if certain { sensitivity } else { SmallVec::from_elem(Sensitivity::UNBOUNDED, x.len()) },
        delta: 0.0,
        relative: Mixed::UNBOUNDED,
        form: Form::General,
        condition: found.condition,
        curvature: found.curvature,
    }
}

/// The extent of a dimension of an operand.
pub(crate) fn extent(s: &Signature<'_>, x: &Operands<'_>, operand: usize, dimension: usize) -> Extent {
    let shape = s.operands.get(operand).and_then(|ty| ty.shape()).unwrap_or_default();
    match shape.get(dimension).and_then(|dim| dim.known()) {
        Some(n) => Extent::exactly(n as f64),
        None => x.extent(operand, dimension),
    }
}

/// The number of elements that a reduction over `axes` takes together.
pub(crate) fn counted(s: &Signature<'_>, x: &Operands<'_>) -> Extent {
    let rank = s.operands.first().and_then(|ty| ty.shape()).map_or(0, <[_]>::len);
    let Ok(axes) = infer::axes(s, rank) else { return Extent::UNKNOWN };
    axes.iter().map(|&a| extent(s, x, 0, a)).fold(Extent::exactly(1.0), Extent::times)
}

/// The extent of the attribute `axis` of the first operand.
pub(crate) fn along(s: &Signature<'_>, x: &Operands<'_>) -> Extent {
    let rank = s.operands.first().and_then(|ty| ty.shape()).map_or(0, <[_]>::len);
    infer::axis(s, rank).map_or(Extent::UNKNOWN, |axis| extent(s, x, 0, axis))
}

/// The number of elements that a reduction over `axes` takes together, if it is known.
pub(crate) fn count(s: &Signature<'_>) -> Option<f64> {
    let shape = s.operands.first()?.shape()?;
    let axes = infer::axes(s, shape.len()).ok()?;
    axes.iter().map(|&a| shape[a].known().map(|n| n as f64)).product()
}
