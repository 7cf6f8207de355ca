//! The structures of ops (see [`ngc_ir::structure`]): that of an elementwise op follows from its function, and others
//! are declared with the vocabulary of this module.

use ngc_ir::structure::{Element, Function, Index, Size, Structure, Test, place, read};
use ngc_ir::{AttrDict, Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::program::Step;
use ngc_numerics::{Format, Prim, Reduce, ScalarFn, primitives};

/// The structures of the results of an op whose operands have these extents: declared, or that of an elementwise
/// function. Of integers they hold modulo `2^width`.
pub fn structures(s: &Signature<'_>, operands: &[Vec<Size>]) -> Option<Vec<Structure>> {
    match (s.def.structure, s.def.semantics) {
        (Some(declared), _) => declared(s, operands),
        (None, Semantics::Elementwise(of)) => {
            let e = of(s).ok()?;
            let of_integers = s.operands.first().is_some_and(|ty| ty.format().is_none());
            if of_integers && !is_whole(e.function) {
                return (e.function.as_primitive() == Some(Prim::Div)).then(|| quotient(operands))?;
            }
            pointwise(operands, Function::Real(e.function, e.params))
        }
        _ => None,
    }
}

/// The function of an elementwise op with these attributes, of floats.
pub fn function_of(def: &'static OpDef, attrs: &AttrDict) -> Option<&'static ScalarFn> {
    let Semantics::Elementwise(meaning) = def.semantics else { return None };
    let operands = vec![Type::float(Format::F32); def.operands.len()];
    meaning(&Signature { def, operands: &operands, attrs }).ok().map(|meaning| meaning.function)
}

/// Whether a function of integers is an integer: then modulo `2^width` it is what it is over the reals.
fn is_whole(function: &ScalarFn) -> bool {
    use Prim::{Abs, Add, Ceil, Floor, Fma, Max, Min, Mul, Neg, Rem, RoundEven, Sign, Square, Sub, Trunc};
    function.program().steps().iter().all(|step| match step {
        Step::Apply(prim, _) => matches!(
            prim,
            Abs | Add
                | Ceil
                | Floor
                | Fma
                | Max
                | Min
                | Mul
                | Neg
                | Rem
                | RoundEven
                | Sign
                | Square
                | Sub
                | Trunc
        ),
        Step::Var(_) | Step::Select(..) => true,
        Step::Param(_) | Step::Const(_) => false,
    })
}

/// A quotient of integers is cut towards zero.
fn quotient(operands: &[Vec<Size>]) -> Option<Vec<Structure>> {
    let mut found = pointwise(operands, Function::Real(&primitives::DIV, Vec::new()))?;
    for structure in &mut found {
        let whole = std::mem::replace(&mut structure.element, Element::Number(0.0));
        structure.element = apply(&primitives::TRUNC, [whole]);
    }
    Some(found)
}

/// A function of corresponding elements of all operands, which broadcast.
pub fn pointwise(operands: &[Vec<Size>], function: Function) -> Option<Vec<Structure>> {
    let extents = broadcast(operands)?;
    let parts = (0..operands.len()).map(|n| broadcast_read(n, &operands[n], &extents)).collect();
    Some(vec![Structure::new(extents, Element::Apply(function, parts))])
}

/// NumPy's rule. Of two extents that must be equal the known one counts.
pub(crate) fn broadcast(operands: &[Vec<Size>]) -> Option<Vec<Size>> {
    let rank = operands.iter().map(Vec::len).max()?;
    let mut extents = vec![Size::ONE; rank];
    for operand in operands {
        for (known, own) in extents[rank - operand.len()..].iter_mut().zip(operand) {
            let settled = !known.is_one() && (own.is_one() || own.number().is_none());
            if !settled {
                *known = own.clone();
            }
        }
    }
    Some(extents)
}

/// The element of an operand that broadcasting puts at each place of a result.
pub(crate) fn broadcast_read(n: usize, operand: &[Size], result: &[Size]) -> Element {
    let lead = result.len() - operand.len();
    read(n, operand.iter().enumerate().map(|(k, extent)| along(lead + k, extent)))
}

/// The place along the n-th dimension, of an extent: 0 where that is 1.
pub(crate) fn along(n: usize, extent: &Size) -> Index {
    if extent.is_one() { Index::ZERO } else { place(n) }
}

/// Every place, along dimensions of these extents.
pub(crate) fn all_places(extents: &[Size]) -> Vec<Index> {
    extents.iter().enumerate().map(|(n, extent)| along(n, extent)).collect()
}

/// The extents of a type, if all are known.
pub(crate) fn known(ty: Type) -> Option<Vec<Size>> {
    Some(ty.static_shape()?.into_iter().map(Size::from).collect())
}

/// An extent of a type, where it is known.
pub(crate) fn of_dim(dim: Dim) -> Option<Size> {
    dim.known().map(Size::from)
}

/// The product of extents; nothing where it has no size.
pub fn product(extents: &[Size]) -> Option<Size> {
    extents.iter().try_fold(Size::ONE, |n, e| n.times(e))
}

/// The number of an element in row-major order.
pub(crate) fn row_major(places: &[Index], extents: &[Size]) -> Option<Index> {
    let step = |flat: Index, (at, extent): (&Index, &Size)| flat.times(extent)?.plus(at);
    places.iter().zip(extents).try_fold(Index::ZERO, step)
}

/// The elements in row-major order, in another shape.
pub(crate) fn reshaped(from: &[Size], to: Vec<Size>) -> Option<Vec<Structure>> {
    let flat = row_major(&all_places(&to), &to)?;
    let mut at = Vec::with_capacity(from.len());
    for (k, extent) in from.iter().enumerate() {
        let stride = product(&from[k + 1..])?;
        // Nothing is above the first of the dimensions that are longer than 1.
        let modulus = from[..k].iter().any(|e| !e.is_one()).then_some(extent);
        at.push(if extent.is_one() { Index::ZERO } else { flat.digit(&stride, modulus, &to)? });
    }
    Structure::moved(to, at)
}

/// A reduction of the elements of the first operand over axes.
pub(crate) fn reduced(kind: Reduce, from: &[Size], axes: &[usize], keepdims: bool) -> Option<Vec<Structure>> {
    let mut extents = Vec::new();
    let mut at = Vec::with_capacity(from.len());
    let (kept, mut bound) = (from.len() - axes.len(), 0);
    let rank = if keepdims { from.len() } else { kept };
    for (k, extent) in from.iter().enumerate() {
        let reduces = axes.contains(&k);
        let n = if reduces { rank + bound } else { extents.len() };
        at.push(along(n, extent));
        bound += usize::from(reduces);
        if !reduces {
            extents.push(extent.clone());
        } else if keepdims {
            extents.push(Size::ONE);
        }
    }
    let over = axes.iter().map(|&k| from[k].clone()).collect();
    Some(vec![Structure::new(extents, Element::Reduce { kind, over, body: Box::new(read(0, at)) })])
}

/// A real function of expressions.
pub(crate) fn apply(function: &'static ScalarFn, parts: impl IntoIterator<Item = Element>) -> Element {
    Element::Apply(Function::Real(function, Vec::new()), parts.into_iter().collect())
}

/// One of two expressions, by the place alone.
pub(crate) fn either(tests: Vec<Test>, yes: Element, no: Element) -> Element {
    if tests.is_empty() { yes } else { Element::Where { tests, yes: Box::new(yes), no: Box::new(no) } }
}

/// Tests of whether an index lies in `0 .. extent`, as far as that is not plain.
pub(crate) fn inside(at: &Index, extent: &Size, space: &[Size]) -> Option<Vec<Test>> {
    let (low, high) = at.range(space).unzip();
    let mut tests = Vec::new();
    if low.is_none_or(|low| low < 0) {
        tests.push(Test::AtLeastZero(at.clone()));
    }
    if high.zip(extent.number()).is_none_or(|(high, n)| high >= i128::from(n)) {
        let last = Index::size(extent).plus(&Index::number(-1))?;
        tests.push(Test::AtLeastZero(last.plus(&at.scaled(-1)?)?));
    }
    Some(tests)
}
