//! Type inference shared by op families: broadcasting, axes, element types.

use ngc_ir::{Dim, Signature, Type};
use ngc_numerics::DType;

/// One result of the type of the first operand.
pub fn same_as_first(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    Ok(vec![s.operand(0)?])
}

/// Elementwise: operands of one element type, broadcast together; the result keeps the element type.
pub fn elementwise(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 0..s.operands.len())?;
    Ok(vec![broadcast(s.operands, elem)?])
}

/// Elementwise with truth values as results.
pub fn predicate(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    same_elem(s, 0..s.operands.len())?;
    Ok(vec![broadcast(s.operands, DType::Int(1))?])
}

/// The common element type of a range of operands, or a sentence that names the two that differ.
pub fn same_elem(s: &Signature<'_>, range: std::ops::Range<usize>) -> Result<DType, String> {
    let first = s.operand(range.start)?;
    let elem = first.elem().ok_or_else(|| format!("operand type {first} has no elements"))?;
    for i in range {
        let ty = s.operand(i)?;
        if ty.elem() != Some(elem) {
            return Err(format!("operands must have one element type, but #0 is {first} and #{i} is {ty}"));
        }
    }
    Ok(elem)
}

/// NumPy's rule over any number of types: a scalar if all are scalars, else a tensor (or a vector, of vectors alone). A `?` matches `?` and any
/// static extent other than 1; it never broadcasts itself, so `?` against 1 is `?`.
pub fn broadcast(types: &[Type], elem: DType) -> Result<Type, String> {
    // Vectors do not broadcast: all operands are as long.
    if let Some(vector) = types.iter().find_map(|ty| ty.as_vector()) {
        return match types.iter().find(|ty| ty.as_vector().is_none_or(|v| v.lanes != vector.lanes)) {
            Some(other) => Err(format!("type {other} does not go with vectors of {} elements", vector.lanes)),
            None => Ok(Type::vector(vector.lanes, elem)),
        };
    }
    let mut shape: Vec<Dim> = Vec::new();
    for &ty in types {
        let other = ty.shape().ok_or_else(|| format!("type {ty} cannot be broadcast"))?;
        shape = broadcast_shapes(&shape, other)?;
    }
    if types.iter().all(|t| t.as_tensor().is_none()) {
        return Ok(Type::scalar(elem));
    }
    Ok(Type::tensor(shape, elem))
}

/// NumPy's rule for two shapes.
pub fn broadcast_shapes(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>, String> {
    let rank = a.len().max(b.len());
    let at = |s: &[Dim], i: usize| (i + s.len()).checked_sub(rank).map_or(Dim::Static(1), |k| s[k]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Ok(x),
            (Dim::Static(1), y) => Ok(y),
            (x, Dim::Static(1)) => Ok(x),
            (Dim::Dynamic, Dim::Static(n)) | (Dim::Static(n), Dim::Dynamic) => Ok(Dim::Static(n)),
            (x, y) => Err(format!(
                "cannot broadcast {} with {}: dimension {i} is {x} against {y}",
                show(a),
                show(b)
            )),
        })
        .collect()
}

/// A shape in messages: `[2, ?, 3]`.
pub fn show(shape: &[Dim]) -> String {
    format!("[{}]", ngc_ir::types::comma(shape))
}

/// A tensor of the given shape, or a scalar when `like` is one and the shape is empty.
pub fn shaped(like: Type, shape: Vec<Dim>, elem: DType) -> Type {
    if like.as_tensor().is_none() && shape.is_empty() {
        Type::scalar(elem)
    } else {
        Type::tensor(shape, elem)
    }
}

/// An axis in -rank .. rank as an index.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize, String> {
    let r = rank as i64;
    if axis < -r || axis >= r {
        return Err(format!("axis {axis} is out of range for rank {rank}"));
    }
    Ok((if axis < 0 { axis + r } else { axis }) as usize)
}

/// The attribute `axis`, as an index.
pub fn axis(s: &Signature<'_>, rank: usize) -> Result<usize, String> {
    normalize_axis(s.int("axis").unwrap_or(-1), rank)
}

/// The attribute `axes`, sorted, without repetition; absent means all axes.
pub fn axes(s: &Signature<'_>, rank: usize) -> Result<Vec<usize>, String> {
    let Some(list) = s.ints("axes") else { return Ok((0..rank).collect()) };
    let mut out = Vec::with_capacity(list.len());
    for a in list {
        let a = normalize_axis(a, rank)?;
        if out.contains(&a) {
            return Err(format!("axis {a} appears twice"));
        }
        out.push(a);
    }
    out.sort_unstable();
    Ok(out)
}

/// A shape with the given axes reduced: dropped, or kept with extent 1.
pub fn reduced(shape: &[Dim], axes: &[usize], keepdims: bool) -> Vec<Dim> {
    let kept = shape.iter().enumerate();
    if keepdims {
        kept.map(|(i, &d)| if axes.contains(&i) { Dim::Static(1) } else { d }).collect()
    } else {
        kept.filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d).collect()
    }
}

/// Two extents that must be equal; a `?` takes the other's extent.
pub fn unify(a: Dim, b: Dim, what: &str) -> Result<Dim, String> {
    match (a, b) {
        (x, y) if x == y => Ok(x),
        (Dim::Dynamic, x) | (x, Dim::Dynamic) => Ok(x),
        (x, y) => Err(format!("{what} must be equal, but are {x} and {y}")),
    }
}
