//! Matrix products and attention.

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;

use super::super::extent::Extent;
use super::Table;
use super::index::reached;
use super::node::Node;
use super::number::Number;
use super::slice::rolled;
use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table = &[
    ("_grouped_mm", |n| grouped(n, "self", "mat2")),
    ("_scaled_dot_product_flash_attention_for_cpu", attention),
    ("_trilinear", trilinear),
    ("addbmm", addbmm),
    ("addmm", addmm),
    ("addmv", |n| added(n, "mat", "vec")),
    ("addr", addr),
    ("baddbmm", |n| added(n, "batch1", "batch2")),
    ("bilinear", bilinear),
    ("bmm", bmm),
    ("cross", |n| {
        let (dim, extents) = (n.opt_int("dim")?, n.declared(0)?.1);
        // Without a dimension it is the first one of three.
        let first = || extents.iter().position(|e| e.known() == Some(3)).map(|axis| axis as i64);
        cross(n, dim.or_else(first).unwrap_or(-1))
    }),
    ("chain_matmul", |n| chain(n, "matrices")),
    ("dot", |n| product(n, "self", "tensor")),
    ("einsum", |n| {
        n.ignore(&["path"]);
        let (equation, values) = (n.string("equation", "")?.to_string(), n.tensors("tensors")?);
        Ok(vec![crate::einsum::einsum(n, &equation, &values)?])
    }),
    ("inner", inner),
    ("kron", kron),
    ("linalg_cross", |n| {
        let dim = n.int("dim", -1)?;
        cross(n, dim)
    }),
    ("linalg_matrix_power", power),
    ("linalg_multi_dot", |n| chain(n, "tensors")),
    ("linalg_vecdot", |n| {
        let (a, b) = super::arithmetic::operands(n, "x", "y")?;
        let axis = n.dim("dim", -1, n.rank(a).max(n.rank(b)))?;
        let product = n.op("ng.mul", &[a, b])?;
        Ok(vec![n.emit_sum("ng.reduce_sum", &[product], [("axes", Attr::ints([axis as i64]))], a)?])
    }),
    ("linear", linear),
    ("matmul", |n| product(n, "self", "other")),
    ("matrix_power", power),
    ("mm", mm),
    ("mv", |n| product(n, "self", "vec")),
    ("outer", outer),
    ("scaled_dot_product_attention", attention),
    ("tensordot", tensordot),
    ("transformers.grouped_mm_fallback", |n| grouped(n, "input", "weight")),
    ("vdot", |n| product(n, "self", "other")),
];

/// Rows times matrices, of which each has the rows from where the last one's end to an offset: experts and their tokens. Rows
/// behind the last offset are 0.
fn grouped(n: &mut Node<'_, '_>, rows: &str, matrices: &str) -> Result<Vec<Value>> {
    let (x, w) = (n.tensor(rows)?, n.tensor(matrices)?);
    let offsets = n.opt_tensor("offs")?;
    let has_bias = n.opt_tensor("bias")?.is_some();
    let dtype = n.opt_dtype("out_dtype")?;
    let Some(offsets) = offsets.filter(|&offsets| n.rank(offsets) == 1) else {
        return unsupported("no offsets of groups");
    };
    if n.rank(x) != 2 || n.rank(w) != 3 || has_bias || dtype.is_some() {
        return unsupported(format!("rows {} with matrices {}, a bias or another format", n.ty(x), n.ty(w)));
    }
    let integers = DType::Int(64);
    let [count, width] = [n.extents(x).swap_remove(0), n.extents(w).swap_remove(2)];
    let known = n.extents(w)[0].known().zip(count.known()).filter(|(groups, _)| *groups > 0);
    let Some((groups, length)) = known else { return unsupported("an unknown number of groups or rows") };
    let all = n.emit_sum("ng.matmul", &[x, w], AttrDict::EMPTY, x)?;
    let all = n.reshape(all, &[Extent::Known(groups * length), width])?;
    // The group of a row is how many end before it.
    let offsets = n.convert(offsets, integers)?;
    let places = n.count(&count, integers)?;
    let group = reached(n, offsets, places)?;
    let last = n.scalar(Number::Int(groups as i64 - 1), integers)?;
    let none = n.emit("ng.compare", &[group, last], [("direction", Attr::from("GT"))])?;
    let group = n.op("ng.min", &[group, last])?;
    let length = n.scalar(Number::Int(length as i64), integers)?;
    let place = n.op("ng.mul", &[group, length])?;
    let place = n.op("ng.add", &[place, places])?;
    let value = n.emit("ng.gather", &[all, place], [("axis", Attr::int(0))])?;
    let elem = n.elem(value)?;
    let (none, zero) = (n.unsqueeze(none, [1])?, n.scalar(Number::Int(0), elem)?);
    Ok(vec![n.op("ng.where", &[none, zero, value])?])
}

fn product(n: &mut Node<'_, '_>, a: &str, b: &str) -> Result<Vec<Value>> {
    let (a, b) = (n.tensor(a)?, n.tensor(b)?);
    Ok(vec![n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?])
}

/// Sums over the last dimension of both, for all places of the one and of the other.
fn inner(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b) = (n.tensor("self")?, n.tensor("other")?);
    let value = match (n.rank(a), n.rank(b)) {
        (0, _) | (_, 0) => n.op("ng.mul", &[a, b])?,
        (_, 1) => n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?,
        (1, _) => n.emit_sum("ng.matmul", &[b, a], AttrDict::EMPTY, a)?,
        (_, 2) => {
            let turned = n.transpose(b, &[1, 0])?;
            n.emit_sum("ng.matmul", &[a, turned], AttrDict::EMPTY, a)?
        }
        _ => return unsupported(format!("sums of {} with {}", n.ty(a), n.ty(b))),
    };
    Ok(vec![value])
}

/// The product of several matrices in the order that takes the fewest multiplications. The first and the last may be vectors.
fn chain(n: &mut Node<'_, '_>, name: &str) -> Result<Vec<Value>> {
    let matrices = n.tensors(name)?;
    let mut extents = Vec::new();
    for (place, &matrix) in matrices.iter().enumerate() {
        let own: Option<Vec<usize>> = n.extents(matrix).iter().map(Extent::known).collect();
        match (own.as_deref(), place) {
            (Some([rows, columns]), 0) => extents.extend([*rows, *columns]),
            (Some([length]), 0) => extents.extend([1, *length]),
            (Some([_, columns]), _) => extents.push(*columns),
            (Some([_]), last) if last + 1 == matrices.len() => extents.push(1),
            _ => return unsupported(format!("a chain with {}", n.ty(matrix))),
        }
    }
    let count = matrices.len();
    if count > 32 {
        return unsupported(format!("a chain of {count} matrices"));
    }
    // By length, the fewest multiplications of the part from one matrix to another, and where it is cut.
    let mut best = vec![vec![(0u128, 0); count]; count];
    for length in 1..count {
        for from in 0..count - length {
            let to = from + length;
            let cost = |cut: usize| {
                let ends = [extents[from], extents[cut + 1], extents[to + 1]];
                best[from][cut].0 + best[cut + 1][to].0 + ends.iter().map(|&e| e as u128).product::<u128>()
            };
            let least = (from..to).map(|cut| (cost(cut), cut)).min();
            best[from][to] = least.unwrap_or_default();
        }
    }
    fn product(
        n: &mut Node<'_, '_>,
        of: &[Value],
        best: &[Vec<(u128, usize)>],
        (from, to): (usize, usize),
    ) -> Result<Value> {
        if from == to {
            return Ok(of[from]);
        }
        let cut = best[from][to].1;
        let (a, b) = (product(n, of, best, (from, cut))?, product(n, of, best, (cut + 1, to))?);
        n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)
    }
    match count {
        0 => invalid("a chain of no matrices"),
        _ => Ok(vec![product(n, &matrices, &best, (0, count - 1))?]),
    }
}

/// A matrix times itself, by squares.
fn power(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let name = if n.has("A") { "A" } else { "self" };
    let (x, times) = (n.tensor(name)?, n.int("n", 1)?);
    let mut product = |a, b| n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a);
    let value = match times {
        0 => {
            let (dtype, extents) = n.declared(0)?;
            let Some(extent) = extents.last() else { return invalid(format!("{} is no matrix", n.ty(x))) };
            let places = n.count(extent, DType::Int(64))?;
            let rows = n.unsqueeze(places, [1])?;
            let on = n.emit("ng.compare", &[rows, places], [("direction", Attr::from("EQ"))])?;
            let unit = n.convert(on, dtype)?;
            n.broadcast(unit, &extents)?
        }
        1 => x,
        3 => {
            let square = product(x, x)?;
            product(square, x)?
        }
        2..=1024 => {
            let (mut left, mut square, mut value) = (times, x, None);
            while left > 0 {
                if left % 2 == 1 {
                    value = Some(match value {
                        Some(value) => product(value, square)?,
                        None => square,
                    });
                }
                left /= 2;
                if left > 0 {
                    square = product(square, square)?;
                }
            }
            value.unwrap_or(x)
        }
        _ => return unsupported(format!("a matrix to the power {times}")),
    };
    Ok(vec![value])
}

fn outer(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, b) = (n.tensor("self")?, n.tensor("vec2")?);
    let a = n.unsqueeze(a, [1])?;
    Ok(vec![n.op("ng.mul", &[a, b])?])
}

/// Products of all pairs, those of a dimension of both tensors as one dimension.
fn kron(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (mut a, mut b) = super::arithmetic::operands(n, "self", "other")?;
    let rank = n.rank(a).max(n.rank(b)) as i64;
    a = n.unsqueeze(a, 0..rank - n.rank(a) as i64)?;
    b = n.unsqueeze(b, 0..rank - n.rank(b) as i64)?;
    a = n.unsqueeze(a, (0..rank).map(|axis| 2 * axis + 1))?;
    b = n.unsqueeze(b, (0..rank).map(|axis| 2 * axis))?;
    let products = n.op("ng.mul", &[a, b])?;
    let (_, declared) = n.declared(0)?;
    Ok(vec![n.reshape(products, &declared)?])
}

/// Sums of products over dimensions of both tensors; what is left of the first comes first.
fn tensordot(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut values = [n.tensor("self")?, n.tensor("other")?];
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let ranks = values.map(|v| n.rank(v));
    if ranks[0] + ranks[1] > letters.len() {
        return unsupported("more dimensions than there are letters");
    }
    let (first, second) = (n.ints("dims_self")?, n.ints("dims_other")?);
    if first.len() != second.len() {
        return invalid(format!("dimensions {first:?} beside {second:?}"));
    }
    let own = letters[..ranks[0]].to_vec();
    let mut other = letters[ranks[0]..][..ranks[1]].to_vec();
    for (a, b) in first.into_iter().zip(second) {
        let (a, b) = (n.axis(a, ranks[0])?, n.axis(b, ranks[1])?);
        other[b] = own[a];
        // A dimension of one element beside one of several is repeated: those are added.
        let one = Extent::Known(1);
        let pair = [(0, a), (1, b)].map(|(which, axis)| (which, axis, n.extents(values[which])[axis] == one));
        if pair[0].2 != pair[1].2 {
            let (which, axis, _) = pair[usize::from(pair[0].2)];
            let mut attrs: AttrDict = [("axes", Attr::ints([axis as i64]))].into();
            attrs.set("keepdims", true);
            values[which] = n.emit_sum("ng.reduce_sum", &[values[which]], attrs, values[which])?;
        }
    }
    let left = own.iter().filter(|c| !other.contains(c)).chain(other.iter().filter(|c| !own.contains(c)));
    let text = |of: &[char]| of.iter().collect::<String>();
    let equation = format!("{},{}->{}", text(&own), text(&other), left.collect::<String>());
    Ok(vec![crate::einsum::einsum(n, &equation, &values)?])
}

/// a × b along a dimension of three.
fn cross(n: &mut Node<'_, '_>, dim: i64) -> Result<Vec<Value>> {
    let (_, extents) = n.declared(0)?;
    let axis = n.axis(dim, extents.len())?;
    if extents.get(axis).and_then(Extent::known) != Some(3) {
        return invalid("a cross product along a dimension that is not 3");
    }
    let mut turned = Vec::new();
    for name in ["self", "other"] {
        let x = n.tensor(name)?;
        let x = n.broadcast(x, &extents)?;
        turned.push([rolled(n, x, axis, 1)?, rolled(n, x, axis, 2)?]);
    }
    let plus = n.op("ng.mul", &[turned[0][0], turned[1][1]])?;
    let minus = n.op("ng.mul", &[turned[0][1], turned[1][0]])?;
    Ok(vec![n.op("ng.sub", &[plus, minus])?])
}

/// x wᵀ + b.
fn linear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut operands = vec![n.tensor("input")?, n.tensor("weight")?];
    let bias = n.opt_tensor("bias")?;
    if n.rank(operands[1]) == 1 {
        // One feature, which has no dimension.
        let y = n.emit_sum("ng.matmul", &operands, AttrDict::EMPTY, operands[0])?;
        return Ok(vec![match bias {
            Some(bias) => n.op("ng.add", &[y, bias])?,
            None => y,
        }]);
    }
    operands.extend(bias);
    let attrs: AttrDict = [("transpose_w", Attr::from(true))].into();
    let vector = n.rank(operands[0]) == 1;
    if vector {
        operands[0] = n.unsqueeze(operands[0], [0])?;
    }
    let mut y = n.emit_sum("ng.affine", &operands, attrs, operands[0])?;
    if vector {
        y = n.emit("ng.squeeze", &[y], [("axes", Attr::ints([0]))])?;
    }
    Ok(vec![y])
}

/// x1ᵀ W x2 + b for the matrix W of each feature.
fn bilinear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let operands = [n.tensor("input1")?, n.tensor("weight")?, n.tensor("input2")?];
    let y = crate::einsum::einsum(n, "...i,oij,...j->...o", &operands)?;
    Ok(vec![match n.opt_tensor("bias")? {
        Some(bias) => n.op("ng.add", &[y, bias])?,
        None => y,
    }])
}

/// The product of three tensors, each with dimensions of its own inserted, summed over some dimensions.
fn trilinear(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    n.ignore(&["unroll_dim"]);
    let mut factors = Vec::new();
    for (tensor, inserted) in [("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")] {
        let (x, axes) = (n.tensor(tensor)?, n.ints(inserted)?);
        factors.push(n.unsqueeze(x, axes)?);
    }
    let pair = n.op("ng.mul", &factors[..2])?;
    let all = n.op("ng.mul", &[pair, factors[2]])?;
    let axes = n.ints("sumdim")?;
    if axes.is_empty() {
        return Ok(vec![all]);
    }
    Ok(vec![n.emit_sum("ng.reduce_sum", &[all], [("axes", Attr::from(axes))], all)?])
}

/// The matrix that a weight is the transpose of, if it is one.
fn untransposed(n: &Node<'_, '_>, w: Value) -> Option<Value> {
    let (w, attrs) = n.operand_of(w, "ng.transpose")?;
    (attrs.get("permutation")?.as_ints()? == [1, 0]).then_some(w)
}

/// The left factor of a product of matrices. Where it joins the leading dimensions of another value, the product is
/// taken with that value, and the same dimensions are joined afterwards.
fn left(n: &mut Node<'_, '_>, name: &str) -> Result<(Value, Option<Vec<Extent>>)> {
    let (base, seen) = n.viewed(name)?;
    let extents = n.extents(base);
    match (extents.split_last(), seen.last()) {
        (Some((last, lead)), Some(own)) if seen.len() == 2 && lead.len() > 1 && last == own => {
            Ok((base, Some(lead.to_vec())))
        }
        _ => Ok((n.tensor(name)?, None)),
    }
}

/// Says that the result has further extents than the program sees.
fn joined(n: &mut Node<'_, '_>, y: Value, lead: Option<Vec<Extent>>) -> Result<Vec<Value>> {
    if let Some(mut extents) = lead {
        extents.extend(n.declared(0)?.1.last().cloned());
        n.reshaped = Some(extents);
    }
    Ok(vec![y])
}

fn mm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, lead) = left(n, "self")?;
    let b = n.tensor("mat2")?;
    let y = match untransposed(n, b).filter(|_| n.elem(a).is_ok_and(|e| e.is_float())) {
        Some(w) => n.emit_sum("ng.affine", &[a, w], [("transpose_w", Attr::from(true))], a)?,
        None => n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?,
    };
    joined(n, y, lead)
}

/// beta self + alpha mat1 mat2.
fn addmm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let offset = added_to(n)?;
    // A matrix of offsets has the joined dimensions.
    let (a, lead) = match offset.map_or(0, |offset| n.rank(offset)) {
        0 | 1 => left(n, "mat1")?,
        _ => (n.tensor("mat1")?, None),
    };
    let b = n.tensor("mat2")?;
    let attrs = factors(n)?;
    let y = affine(n, a, b, offset, attrs)?;
    joined(n, y, lead)
}

fn affine(
    n: &mut Node<'_, '_>,
    a: Value,
    b: Value,
    offset: Option<Value>,
    mut attrs: AttrDict,
) -> Result<Value> {
    let mut w = b;
    if let Some(weight) = untransposed(n, b) {
        w = weight;
        attrs.set("transpose_w", true);
    }
    let operands: Vec<Value> = [a, w].into_iter().chain(offset).collect();
    n.emit_sum("ng.affine", &operands, attrs, a)
}

/// What a product is added to. torch leaves a term with the factor 0 out, NaN and all.
fn added_to(n: &mut Node<'_, '_>) -> Result<Option<Value>> {
    if n.float("beta", 1.0)? == 0.0 {
        n.ignore(&["self"]);
        return Ok(None);
    }
    n.tensor("self").map(Some)
}

fn factors(n: &mut Node<'_, '_>) -> Result<AttrDict> {
    let mut attrs = AttrDict::EMPTY;
    for name in ["alpha", "beta"] {
        let factor = n.float(name, 1.0)?;
        if factor == 0.0 && name == "alpha" {
            return unsupported("alpha = 0");
        }
        if factor != 1.0 && factor != 0.0 {
            attrs.set(name, factor);
        }
    }
    Ok(attrs)
}

fn added(n: &mut Node<'_, '_>, a: &str, b: &str) -> Result<Vec<Value>> {
    let (a, b) = (n.tensor(a)?, n.tensor(b)?);
    let operands: Vec<Value> = [a, b].into_iter().chain(added_to(n)?).collect();
    let attrs = factors(n)?;
    Ok(vec![n.emit_sum("ng.affine", &operands, attrs, a)?])
}

/// The sum of the products of a batch, and an offset: one product of joined matrices.
fn addbmm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let batches = [n.tensor("batch1")?, n.tensor("batch2")?];
    let product = crate::einsum::einsum(n, "bij,bjk->ik", &batches)?;
    let product = times(n, product, "alpha")?;
    offset(n, product)
}

/// The product of a column and a row, and an offset; every step is rounded.
fn addr(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (column, row) = (n.tensor("vec1")?, n.tensor("vec2")?);
    let column = times(n, column, "alpha")?;
    let column = n.unsqueeze(column, [1])?;
    let product = n.op("ng.mul", &[column, row])?;
    offset(n, product)
}

/// A value times the factor of a name.
fn times(n: &mut Node<'_, '_>, x: Value, name: &str) -> Result<Value> {
    let factor = n.float(name, 1.0)?;
    if factor == 1.0 {
        return Ok(x);
    }
    let factor = n.scalar(Number::Float(factor), n.elem(x)?)?;
    n.op("ng.mul", &[x, factor])
}

/// What a product is added to, times its factor, and the product.
fn offset(n: &mut Node<'_, '_>, product: Value) -> Result<Vec<Value>> {
    let Some(own) = added_to(n)? else { return Ok(vec![product]) };
    let own = times(n, own, "beta")?;
    Ok(vec![n.op("ng.add", &[own, product])?])
}

/// Products of matrices in batches. Where a factor joins the leading dimensions of another value, they stay apart, in the
/// other factor too.
fn bmm(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (a, seen_a) = n.viewed("self")?;
    let (b, seen_b) = n.viewed("mat2")?;
    let ([batch_a, matrix_a @ ..], [batch_b, matrix_b @ ..]) = (&seen_a[..], &seen_b[..]) else {
        return invalid("its factors have no dimensions");
    };
    for (base, matrix) in [(a, matrix_a), (b, matrix_b)] {
        let extents = n.extents(base);
        let lead = &extents[..extents.len().saturating_sub(2)];
        if batch_a != batch_b || lead.len() < 2 || !extents.ends_with(matrix) {
            continue;
        }
        let apart = |matrix: &[Extent]| [lead, matrix].concat();
        let (Ok(a), Ok(b)) = (n.reshape(a, &apart(matrix_a)), n.reshape(b, &apart(matrix_b))) else {
            continue;
        };
        let y = n.emit_sum("ng.matmul", &[a, b], AttrDict::EMPTY, a)?;
        let (_, declared) = n.declared(0)?;
        n.reshaped = Some([lead, declared.get(1..).unwrap_or(&[])].concat());
        return Ok(vec![y]);
    }
    product(n, "self", "mat2")
}

/// Scaled dot-product attention. A query whose keys are all masked gives 0, as in torch.
fn attention(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let mut operands = vec![n.tensor("query")?, n.tensor("key")?, n.tensor("value")?];
    let mut attrs = AttrDict::EMPTY;
    if let Some(mask) = n.opt_tensor("attn_mask")? {
        operands.push(mask);
        attrs.set("masked_rows", "zero");
    }
    if n.float("dropout_p", 0.0)? != 0.0 {
        return unsupported("dropout");
    }
    if n.flag("is_causal", false)? {
        attrs.set("causal", true);
    }
    if let Some(scale) = n.opt_number("scale")? {
        attrs.set("scale", scale.to_f64());
    }
    let grouped = n.flag("enable_gqa", false)?;
    let heads = |v: Value| n.extents(v).iter().rev().nth(2).cloned();
    let (q, k) = (heads(operands[0]), heads(operands[1]));
    if !grouped && q != k && k != Some(Extent::Known(1)) {
        return invalid("queries and keys have different numbers of heads, and enable_gqa is not set");
    }
    let shape = n.extents(operands[0]);
    if shape.len() <= 4 {
        return Ok(vec![n.emit_sum("ng.attention", &operands, attrs, operands[0])?]);
    }
    let (lead, own) = shape.split_at(shape.len() - 3);
    let width = n.extents(operands[2]).pop();
    for x in &mut operands {
        *x = merged(n, *x, lead)?;
    }
    let value = n.emit_sum("ng.attention", &operands, attrs, operands[0])?;
    let to: Vec<Extent> = lead.iter().chain(&own[..2]).cloned().chain(width).collect();
    Ok(vec![n.reshape(value, &to)?])
}

/// All dimensions before the last three, which others broadcast to, as one.
fn merged(n: &mut Node<'_, '_>, x: Value, lead: &[Extent]) -> Result<Value> {
    let shape = n.extents(x);
    if shape.len() <= 3 {
        return Ok(x);
    }
    let own = &shape[shape.len() - 3..];
    let x = n.broadcast(x, &[lead, own].concat())?;
    n.reshape(x, &[&[Extent::product(lead)], own].concat())
}
