//! Products of tensors: `dot_general` as a batched matrix product, `convolution`.

use ngc_ir::{Attr, AttrDict, Dim, Value};
use ngc_numerics::DType;

use super::graph::Table;
use super::node::{Node, axes};
use super::shape::spread;
use crate::emit::{Emit, inverse};
use crate::error::{Result, invalid, unsupported};

pub(super) const OPS: Table =
    &[("stablehlo.dot_general", dot_general), ("stablehlo.dot", dot), ("stablehlo.convolution", convolution)];

fn dot(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (lhs, rhs) = operands(n)?;
    if !(1..=2).contains(&n.rank(lhs)) || !(1..=2).contains(&n.rank(rhs)) {
        return invalid("its operands are vectors or matrices");
    }
    Ok(vec![n.emit_sum("ng.matmul", &[lhs, rhs], AttrDict::EMPTY, lhs)?])
}

/// Both operands in the element type of the result. Products of narrower formats are exact in wider ones, so a product
/// with `preferred_element_type` is one of converted operands.
fn operands(n: &mut Node<'_, '_>) -> Result<(Value, Value)> {
    let (lhs, rhs) = (n.exact(0)?, n.exact(1)?);
    let Some(to) = n.result(0)?.elem() else { return invalid("its result is no tensor") };
    for operand in [lhs, rhs] {
        let from = n.elem(operand)?;
        let narrower = match (from, to) {
            (DType::Float(a), DType::Float(b)) => a.precision() <= b.precision() && a.emax() <= b.emax(),
            (DType::Int(a), DType::Int(b)) | (DType::Unsigned(a), DType::Unsigned(b)) => a <= b,
            (DType::Unsigned(a), DType::Int(b)) => a < b,
            _ => false,
        };
        if !narrower {
            return unsupported(format!("a product of {from} in {to}"));
        }
    }
    Ok((n.convert(lhs, to)?, n.convert(rhs, to)?))
}

fn dot_general(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (lhs, rhs) = operands(n)?;
    let numbers = |n: &Node<'_, '_>, name: &str, rank: usize| {
        let structured = n.attr("dot_dimension_numbers").is_some();
        let found = if structured {
            n.field("dot_dimension_numbers", name)?
        } else {
            n.opt_ints(name)?.unwrap_or_default()
        };
        axes(&found, rank)
    };
    let (l_rank, r_rank) = (n.rank(lhs), n.rank(rhs));
    let l_batch = numbers(n, "lhs_batching_dimensions", l_rank)?;
    let r_batch = numbers(n, "rhs_batching_dimensions", r_rank)?;
    let l_sum = numbers(n, "lhs_contracting_dimensions", l_rank)?;
    let r_sum = numbers(n, "rhs_contracting_dimensions", r_rank)?;
    if l_batch.len() != r_batch.len() || l_sum.len() != r_sum.len() {
        return invalid("the operands differ in the number of batching or contracting dimensions");
    }
    let free = |rank: usize, batch: &[usize], sum: &[usize]| -> Vec<usize> {
        (0..rank).filter(|d| !batch.contains(d) && !sum.contains(d)).collect()
    };
    let (l_free, r_free) = (free(l_rank, &l_batch, &l_sum), free(r_rank, &r_batch, &r_sum));
    if l_free.len() + l_batch.len() + l_sum.len() != l_rank
        || r_free.len() + r_batch.len() + r_sum.len() != r_rank
    {
        return invalid("a dimension is both batching and contracting");
    }
    let lhs = n.transpose(lhs, &[&l_batch[..], &l_free, &l_sum].concat())?;
    let rhs = n.transpose(rhs, &[&r_batch[..], &r_sum, &r_free].concat())?;
    let batch = l_batch.len();
    // A matrix on the right takes any number of rows on the left, and vectors stand for themselves.
    let l_groups = if batch == 0 { vec![1; l_free.len()] } else { vec![l_free.len()] };
    let r_groups = if batch == 0 && r_free.is_empty() { vec![] } else { vec![r_free.len()] };
    let lhs = merge(n, lhs, batch, &[&l_groups[..], &[l_sum.len()]].concat())?;
    let rhs = merge(n, rhs, batch, &[&[r_sum.len()], &r_groups[..]].concat())?;
    let product = n.emit_sum("ng.matmul", &[lhs, rhs], AttrDict::EMPTY, lhs)?;
    let Some(to) = n.result(0)?.shape() else { return invalid("its result is no tensor") };
    Ok(vec![n.reshape(product, to)?])
}

/// Joins the dimensions after the first `keep` in groups of these sizes; an empty group becomes a dimension of extent 1.
fn merge(n: &mut Node<'_, '_>, value: Value, keep: usize, groups: &[usize]) -> Result<Value> {
    if groups.iter().all(|&g| g == 1) {
        return Ok(value);
    }
    let dims = n.shape(value);
    let mut to = dims[..keep].to_vec();
    let mut at = keep;
    for &group in groups {
        let part = &dims[at..at + group];
        at += group;
        to.push(match part {
            [one] => *one,
            _ => {
                let known: Option<Vec<usize>> = part.iter().map(|d| d.known()).collect();
                let product = known.and_then(|k| k.into_iter().try_fold(1usize, usize::checked_mul));
                match product {
                    Some(product) => Dim::Static(product),
                    None => {
                        return unsupported("joining dimensions whose extents are only known when running");
                    }
                }
            }
        });
    }
    n.reshape(value, &to)
}

/// The dimensions of `[b, f, 0, 1]` in the order batch, feature, spatial.
fn layout(text: &str, first: char, second: char) -> Option<Vec<usize>> {
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    let place = |name: &str| items.iter().position(|i| *i == name);
    let mut order = vec![place(&first.to_string())?, place(&second.to_string())?];
    for spatial in 0..items.len().checked_sub(2)? {
        order.push(place(&spatial.to_string())?);
    }
    Some(order)
}

fn convolution(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, w) = operands(n)?;
    let numbers = match n.attr("dimension_numbers") {
        Some(Attr::Str(text) | Attr::Opaque(text)) => text,
        _ => return invalid("attribute 'dimension_numbers' is missing"),
    };
    let lists: Vec<&str> = numbers.split('[').skip(1).filter_map(|t| Some(t.split_once(']')?.0)).collect();
    let layouts = match lists[..] {
        [input, kernel, output] => {
            layout(input, 'b', 'f').zip(layout(kernel, 'o', 'i')).zip(layout(output, 'b', 'f'))
        }
        _ => None,
    };
    let Some(((input, kernel), output)) = layouts else {
        return invalid(format!(
            "dimension_numbers '{numbers}' is not of the form [b, f, 0]x[o, i, 0]->[b, f, 0]"
        ));
    };
    let rank = n.rank(x);
    if rank < 2 || [input.len(), kernel.len(), output.len(), n.rank(w)].iter().any(|&r| r != rank) {
        return invalid("dimension_numbers does not fit the operands");
    }
    if n.opt_int("batch_group_count")?.unwrap_or(1) != 1 {
        return unsupported("batch_group_count");
    }
    let spatial = rank - 2;
    let window = |n: &Node<'_, '_>, name: &str, default: i64, count: usize| -> Result<Vec<i64>> {
        match n.opt_ints(name)? {
            None => Ok(vec![default; count]),
            Some(found) if found.len() == count => Ok(found),
            Some(found) => invalid(format!("{name} {found:?} does not have {count} entries")),
        }
    };
    let strides = window(n, "window_strides", 1, spatial)?;
    let (spread_by, dilations) =
        (window(n, "lhs_dilation", 1, spatial)?, window(n, "rhs_dilation", 1, spatial)?);
    let mut pads = window(n, "padding", 0, 2 * spatial)?;
    let reversal = window(n, "window_reversal", 0, spatial)?;
    if strides.iter().chain(&spread_by).chain(&dilations).any(|&s| s < 1) {
        return invalid("a stride or a dilation is not positive");
    }
    let mut x = n.transpose(x, &input)?;
    let mut w = n.transpose(w, &kernel)?;
    let turned: Vec<i64> = (2..).zip(&reversal).filter(|(_, r)| **r != 0).map(|(i, _)| i).collect();
    if !turned.is_empty() {
        w = n.emit("ng.reverse", &[w], [("axes", Attr::from(turned))])?;
    }
    x = spread(n, x, &[&[1, 1], &spread_by[..]].concat(), 0.0)?;
    if pads.iter().any(|&p| p < 0) {
        let side = |i: usize| [vec![0, 0], pads.chunks(2).map(|p| p[i]).collect()].concat();
        let (low, high) = (side(0), side(1));
        x = n.pad(x, low, high, 0.0)?;
        pads = vec![0; 2 * spatial];
    }
    let mut attrs = AttrDict::EMPTY;
    if strides.iter().any(|&s| s != 1) {
        attrs.set("strides", strides);
    }
    if dilations.iter().any(|&d| d != 1) {
        attrs.set("dilations", dilations);
    }
    if pads.iter().any(|&p| p != 0) {
        attrs.set("pads", Attr::Array(pads.chunks(2).map(|p| Attr::ints(p.iter().copied())).collect()));
    }
    let groups = n.opt_int("feature_group_count")?.unwrap_or(1);
    if groups != 1 {
        attrs.set("groups", groups);
    }
    let y = n.emit_sum("ng.conv", &[x, w], attrs, x)?;
    Ok(vec![n.transpose(y, &inverse(&output))?])
}
