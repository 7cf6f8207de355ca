//! Einstein sums, as transposes and matrix products.

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};
use ngc_numerics::DType;

use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

/// A value with the letter of each dimension.
struct Term {
    value: Value,
    letters: Vec<char>,
}

/// The letters of dimensions that `...` stands for, the last one first.
const ELLIPSIS: std::ops::RangeInclusive<char> = '0'..='9';

/// The sum that an equation such as `ij,jk->ik` says.
///
/// # Errors
/// Equations that do not fit the values, and extents that must be known and are not.
pub(crate) fn einsum(n: &mut impl Emit, equation: &str, values: &[Value]) -> Result<Value> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != values.len() {
        return invalid(format!("equation '{}' for {} inputs", equation.escape_debug(), values.len()));
    }
    let mut inputs = Vec::new();
    let mut widest = 0;
    for (text, &value) in terms.iter().zip(values) {
        let named = text.replacen("...", "", 1).chars().count();
        let hidden = n.rank(value).saturating_sub(named);
        let letters = letters(text, hidden)?;
        if letters.len() != n.rank(value) || hidden > 0 && !text.contains("...") {
            return invalid(format!("'{}' for an input of rank {}", text.escape_debug(), n.rank(value)));
        }
        widest = widest.max(if text.contains("...") { hidden } else { 0 });
        inputs.push(Term { value, letters });
    }
    let all: Vec<char> = inputs.iter().flat_map(|t| t.letters.iter().copied()).collect();
    let result = match right {
        Some(right) => letters(right, widest)?,
        None => {
            // Without a result: the dimensions of `...`, then all letters that stand alone, in their order.
            let mut single: Vec<char> = all
                .iter()
                .copied()
                .filter(|c| c.is_alphabetic() && all.iter().filter(|d| *d == c).count() == 1)
                .collect();
            single.sort_unstable();
            [letters("...", widest)?, single].concat()
        }
    };
    if let Some(letter) = result.iter().find(|c| !all.contains(c)) {
        return invalid(format!("the result has a dimension '{letter}' that no input has"));
    }
    let mut terms = Vec::new();
    for term in inputs {
        terms.push(single(n, term)?);
    }
    let mut rest = terms.into_iter();
    let Some(mut joined) = rest.next() else { return invalid("it has no inputs") };
    let mut rest: std::collections::VecDeque<Term> = rest.collect();
    while let Some(next) = rest.pop_front() {
        let needed = |c: char| result.contains(&c) || rest.iter().any(|t| t.letters.contains(&c));
        joined = product(n, joined, next, needed)?;
    }
    let joined = reduce(n, joined, |c| result.contains(&c))?;
    arrange(n, &joined, &result)
}

/// The letters of a term whose `...` stands for this many dimensions.
fn letters(text: &str, hidden: usize) -> Result<Vec<char>> {
    let (before, after) = text.split_once("...").unwrap_or((text, ""));
    if !before.chars().chain(after.chars()).all(|c| c.is_ascii_alphabetic()) {
        return invalid(format!("the term '{}'", text.escape_debug()));
    }
    let hidden = if text.contains("...") { hidden } else { 0 };
    let mut places: Vec<char> = ELLIPSIS.take(hidden).collect();
    if places.len() < hidden {
        return unsupported(format!("'...' for {hidden} dimensions"));
    }
    places.reverse();
    Ok([before.chars().collect(), places, after.chars().collect::<Vec<char>>()].concat())
}

/// A letter that stands twice in a term means the diagonal of both dimensions.
fn single(n: &mut impl Emit, mut term: Term) -> Result<Term> {
    while let Some((first, second)) = (0..term.letters.len()).find_map(|i| {
        let second = term.letters[i + 1..].iter().position(|c| *c == term.letters[i])?;
        Some((i, i + 1 + second))
    }) {
        let (value, order) = diagonal(n, term.value, first, second)?;
        term.value = value;
        term.letters = order.iter().map(|&i| term.letters[i]).collect();
    }
    Ok(term)
}

/// The elements that have the same place along two dimensions of one extent: that place comes first, the other dimensions
/// follow. Also where each dimension of the result stood.
pub(crate) fn diagonal(
    n: &mut impl Emit,
    value: Value,
    first: usize,
    second: usize,
) -> Result<(Value, Vec<usize>)> {
    let shape = n.shape(value);
    let (Some(extent), Some(other)) = (shape[first].known(), shape[second].known()) else {
        return unsupported(format!("a diagonal of unknown extent in {}", n.ty(value)));
    };
    if extent != other {
        return invalid(format!("a diagonal of extents {extent} and {other}"));
    }
    // Both dimensions to the front; there the elements [i, i] are picked.
    let mut order = vec![first, second];
    order.extend((0..shape.len()).filter(|i| ![first, second].contains(i)));
    let moved = transpose(n, value, &order)?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("type", Type::tensor([Dim::Static(extent), Dim::Static(2)], DType::Int(64)));
    attrs.set("axis", 0i64);
    let places = n.emit("ng.iota", &[], attrs)?;
    Ok((n.emit("ng.gather_nd", &[moved, places], AttrDict::EMPTY)?, order.split_off(1)))
}

/// Sums over the dimensions that are not needed.
fn reduce(n: &mut impl Emit, term: Term, needed: impl Fn(char) -> bool) -> Result<Term> {
    let axes: Vec<i64> = (0..).zip(&term.letters).filter(|(_, c)| !needed(**c)).map(|(i, _)| i).collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let letters = term.letters.into_iter().filter(|c| needed(*c)).collect();
    let value = n.emit_sum("ng.reduce_sum", &[term.value], [("axes", Attr::from(axes))], term.value)?;
    Ok(Term { value, letters })
}

/// The product of two terms, summed over what both have and nobody needs.
fn product(n: &mut impl Emit, a: Term, b: Term, needed: impl Fn(char) -> bool) -> Result<Term> {
    let (of_a, of_b) = (a.letters.clone(), b.letters.clone());
    let a = reduce(n, a, |c| needed(c) || of_b.contains(&c))?;
    let b = reduce(n, b, |c| needed(c) || of_a.contains(&c))?;
    let shared = |c: &char| a.letters.contains(c) && b.letters.contains(c);
    let batch: Vec<char> = a.letters.iter().copied().filter(|c| shared(c) && needed(*c)).collect();
    let inner: Vec<char> = a.letters.iter().copied().filter(|c| shared(c) && !needed(*c)).collect();
    let rows: Vec<char> = a.letters.iter().copied().filter(|c| !shared(c)).collect();
    let columns: Vec<char> = b.letters.iter().copied().filter(|c| !shared(c)).collect();
    for letters in [&batch, &inner] {
        if extents(n, &a, letters)? != extents(n, &b, letters)? {
            return invalid(format!("different extents in {} and {}", n.ty(a.value), n.ty(b.value)));
        }
    }
    let size = |extents: &[i64]| extents.iter().try_fold(1i64, |p, &e| p.checked_mul(e));
    let (row_extents, column_extents) = (extents(n, &a, &rows)?, extents(n, &b, &columns)?);
    let (batch_extents, inner_extents) = (extents(n, &a, &batch)?, extents(n, &a, &inner)?);
    let sizes = (size(&row_extents), size(&column_extents), size(&inner_extents));
    let (Some(height), Some(width), Some(depth)) = sizes else { return invalid("too many elements") };
    let left = arrange(n, &a, &[&batch[..], &rows, &inner].concat())?;
    let left = reshape(n, left, [&batch_extents[..], &[height, depth]].concat())?;
    let right = arrange(n, &b, &[&batch[..], &inner, &columns].concat())?;
    let right = reshape(n, right, [&batch_extents[..], &[depth, width]].concat())?;
    let value = n.emit_sum("ng.matmul", &[left, right], AttrDict::EMPTY, left)?;
    let value = reshape(n, value, [batch_extents, row_extents, column_extents].concat())?;
    Ok(Term { value, letters: [batch, rows, columns].concat() })
}

/// The extents of some letters of a term, which must be known.
fn extents(n: &impl Emit, term: &Term, letters: &[char]) -> Result<Vec<i64>> {
    let extent = |c: &char| {
        let axis = term.letters.iter().position(|d| d == c)?;
        n.shape(term.value).get(axis)?.known().and_then(|e| i64::try_from(e).ok())
    };
    match letters.iter().map(extent).collect() {
        Some(extents) => Ok(extents),
        None => unsupported(format!("unknown extents in {}", n.ty(term.value))),
    }
}

/// The dimensions in the order of these letters.
fn arrange(n: &mut impl Emit, term: &Term, letters: &[char]) -> Result<Value> {
    let order: Option<Vec<usize>> =
        letters.iter().map(|c| term.letters.iter().position(|d| d == c)).collect();
    match order {
        Some(order) if order.len() == term.letters.len() => transpose(n, term.value, &order),
        _ => invalid("a result that has a dimension twice, or lacks one"),
    }
}

fn transpose(n: &mut impl Emit, value: Value, order: &[usize]) -> Result<Value> {
    if order.iter().enumerate().all(|(i, &at)| i == at) {
        return Ok(value);
    }
    let permutation = Attr::ints(order.iter().map(|&at| at as i64));
    n.emit("ng.transpose", &[value], [("permutation", permutation)])
}

fn reshape(n: &mut impl Emit, value: Value, shape: Vec<i64>) -> Result<Value> {
    n.emit("ng.reshape", &[value], [("shape", Attr::from(shape))])
}
