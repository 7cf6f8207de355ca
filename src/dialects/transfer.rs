//! The error functional of every op: ranges, sensitivities, rounding errors, conditions and curvature.
//!
//! One transfer function an op serves all analyses. An op defined by a formula is bounded by interval arithmetic and
//! automatic differentiation of that formula; one defined by a decomposition by running the decomposition and composing
//! its steps; a primitive by the hook in its declaration, which an op of the other kinds may have too where it is
//! sharper.

use std::rc::Rc;
use std::sync::OnceLock;

use ngc_ir::{Block, Body, Builder, Context, Dim, Loc, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{self, add, mul};
use ngc_numerics::{
    Enclosure, Extent, Figures, Form, Format, Kinds, Operands, Range, Sensitivity, functional,
};
use smallvec::SmallVec;

pub use crate::flow::{Flow, settle};
use crate::integers;
use crate::kept::Kept;
use crate::kinds;
use crate::ng::infer;
use crate::pointwise::elementwise;
use crate::relative::Term;

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
    if !results.is_empty() && results.iter().all(|&ty| !has_elements(ty)) {
        // All that is said of no values holds; to say the same for every op keeps it from being contradicted.
        let nothing = Figures::constant(Enclosure::point(0.0));
        let sensitivity = SmallVec::from_elem(Sensitivity::NONE, operands.len());
        return results
            .iter()
            .map(|_| Figures { sensitivity: sensitivity.clone(), ..nothing.clone() })
            .collect();
    }
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
        integers::within_type(figures, *ty);
    }
    found
}

/// Whether a value of the type may have elements.
pub fn has_elements(ty: Type) -> bool {
    ty.shape().is_none_or(|shape| !shape.contains(&Dim::Static(0)))
}

/// The ranges of operands as they are computed. A tensor without elements has no values, so whatever was found of them, 0
/// serves as well; a rule for no terms need then not look out for infinite or undefined ones. And where no number of its
/// format lies in a range, as in one of a real number that is stated or assumed, the nearest is meant: what an op leaves
/// exact for numbers of the format it does not leave exact for others.
fn populated(s: &Signature<'_>, operands: &[Range]) -> SmallVec<[Range; 4]> {
    let nothing = Range::both(Enclosure::point(0.0));
    let possible = |(i, &range): (usize, &Range)| match s.operands.get(i) {
        Some(&ty) if !has_elements(ty) => nothing,
        Some(ty) => ty.format().map_or(range, |format| representable(format, range)),
        None => range,
    };
    operands.iter().enumerate().map(possible).collect()
}

/// A range, or one that holds a number of the format where this holds none.
pub fn representable(format: Format, range: Range) -> Range {
    let x = range.computed;
    if x.may_be_nan || !x.lo.is_finite() || !x.hi.is_finite() {
        return range;
    }
    let nearest = format.round(x.lo);
    let least = if nearest < x.lo { format.next_up(nearest) } else { nearest };
    if least <= x.hi {
        return range;
    }
    let hull = range.hull().hull(figures::round(format, &x));
    Range::both(hull)
}

fn dialects() -> &'static Context {
    static DIALECTS: OnceLock<Context> = OnceLock::new();
    DIALECTS.get_or_init(crate::context)
}

/// The steps of an op's decomposition as a body of one block, and the values that are its results.
type Steps = (Body, Block, Vec<Value>);

/// The steps of an op's decomposition.
pub fn steps(s: &Signature<'_>) -> Option<Rc<Steps>> {
    thread_local! {
        static STEPS: Kept<Steps> = Kept::new();
    }
    STEPS.with(|kept| kept.of(s, || decompose(s)))
}

fn decompose(s: &Signature<'_>) -> Option<Steps> {
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
pub(crate) fn followed(s: &Signature<'_>, x: &Operands<'_>, operands: &[Term]) -> Option<(Flow, Vec<Value>)> {
    if s.def.transfer.is_none() && operands.iter().all(|x| x.absolute == 0.0) {
        return None;
    }
    let steps = steps(s)?;
    let (body, block, ends) = &*steps;
    let mut flow = Flow::default();
    // A hook has looked at constants already.
    let constants = if s.def.transfer.is_some() { &[] } else { x.constants };
    flow.known.enter(body.arguments(*block), s.operands, &Operands { constants, ..*x });
    for (&v, x) in body.arguments(*block).iter().zip(operands) {
        flow.set_mixed(v, Range { exact: x.exact, computed: x.moved }, x.absolute, x.mixed);
    }
    for op in body.ops(*block) {
        flow.step(body, op)?;
    }
    Some((flow, ends.clone()))
}

/// The figures of an op from its decomposition: its steps are composed, paths summed for each operand.
pub fn decomposed(s: &Signature<'_>, operands: &Operands<'_>, results: &[Type]) -> Option<Vec<Figures>> {
    let steps = steps(s)?;
    let (body, block, ends) = &*steps;
    let arguments = body.arguments(*block).to_vec();
    if ends.len() != results.len() || arguments.len() != operands.len() {
        return None;
    }
    // The steps are run on exact inputs from exact and computed operands alike: what they add is the op's own error.
    let mut flow = Flow::default();
    let kinds: SmallVec<[Option<Kinds>; 4]> = operands.kinds.iter().map(|of| of.map(kinds::exact)).collect();
    flow.known.enter(&arguments, s.operands, &Operands { kinds: &kinds, ..*operands });
    let mut paths: Vec<SmallVec<[Sensitivity; 3]>> =
        vec![SmallVec::from_elem(Sensitivity::NONE, operands.len()); body.num_values()];
    let mut conditions = vec![0.0f64; body.num_values()];
    let mut curvatures = vec![0.0f64; body.num_values()];
    for (i, (&v, range)) in arguments.iter().zip(operands.ranges).enumerate() {
        flow.set(v, Range::both(range.hull()), 0.0);
        paths[v.index()][i] = Sensitivity::ONE;
        conditions[v.index()] = 1.0;
    }
    for op in body.ops(*block) {
        let found = flow.step(body, op)?;
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

/// The extent of a dimension of an operand.
pub(crate) fn extent(s: &Signature<'_>, x: &Operands<'_>, operand: usize, dimension: usize) -> Extent {
    let shape = s.operands.get(operand).and_then(|ty| ty.shape()).unwrap_or_default();
    match shape.get(dimension).and_then(|dim| dim.known()) {
        Some(n) => Extent::exactly(n as f64),
        None => x.extent(operand, dimension),
    }
}

/// The extents of all dimensions of an operand.
pub(crate) fn extents(s: &Signature<'_>, x: &Operands<'_>, operand: usize) -> impl Iterator<Item = Extent> {
    let rank = s.operands.get(operand).and_then(|ty| ty.shape()).map_or(0, <[_]>::len);
    (0..rank).map(move |dimension| extent(s, x, operand, dimension))
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
