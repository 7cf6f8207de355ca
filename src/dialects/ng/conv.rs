//! Convolution.

use ngc_ir::op_def::{
    ACCUMULATE, AttrKind, Default, SUM, Traits, ValueKind, attribute, operand, optional, result,
};
use ngc_ir::structure::{Element, Index, Size, Structure, place, read};
use ngc_ir::{Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::{DType, Evaluator, Extent, Reduce, Tensor, primitives};

use super::infer::{same_elem, show, unify};
use super::shape::result_shape;
use super::windows::{DILATIONS, PADS, STRIDES, Window, all_reads, index_for};
use crate::structure::{along, apply, either, of_dim};
use crate::transfer::extent;
use crate::weighted::{self, Contraction};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&CONV];

/// Convolution.
pub static CONV: OpDef = OpDef {
    name: "ng.conv",
    summary: "Convolution over one or more spatial dimensions",
    description: "\
Cross-correlation, as ONNX and PyTorch define convolution, of `x` [N, C, ...] with `w` [M, C / groups, ...] over the \
spatial dimensions, of which there may be any number:

    y[n, m, i] = Σ_c Σ_k w[m, c, k] * x[n, c', i * strides + k * dilations - before] + b[m]

c' is channel c of the group of m: with `groups` > 1 the channels of `x` and of the result fall into as many \
consecutive groups that do not mix. Elements in the padding are 0. The result has \
floor((extent + before + after - dilations * (kernel - 1) - 1) / strides) + 1 windows a dimension.

Each product and each partial sum is rounded to the format `accumulate`, channels outermost, in the order and with the \
compensation that `sum` names; the bias is added in that format, and the total is rounded to the element type.",
    example: "%0 = ng.conv %x, %w, %b {pads = [[1, 1], [1, 1]], strides = [2, 2]} \
              : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32> -> tensor<1x4x4x4xf32>",
    operands: &[operand("x", ValueKind::Float), operand("w", ValueKind::Float), optional("b", ValueKind::Float)],
    attributes: &[
        STRIDES,
        PADS,
        DILATIONS,
        attribute("groups", AttrKind::Int, Default::Int(1), "groups of channels that do not mix"),
        ACCUMULATE,
        SUM,
    ],
    results: &[result("y", ValueKind::Float)],
    traits: Traits::CONTRACTION,
    infer,
    semantics: Semantics::Primitive(evaluate),
    structure: Some(conv_structure),
    transfer: Some(|s, x, results| {
        let kernel = s.operand(1).ok()?.shape()?;
        let rank = kernel.len();
        let terms = (1..rank).map(|axis| extent(s, x, 1, axis)).fold(Extent::exactly(1.0), Extent::times);
        // Windows take the elements of the data apart, so only weights have channels.
        let of = Contraction { terms, padded: true, axes: [0..rank, 1..rank], bias_axis: Some(0), weights: 1 };
        weighted::contraction(s, x, results, &of)
    }),
    ..OpDef::BASE
};

fn infer(s: &Signature<'_>) -> Result<Vec<Type>, String> {
    let elem = same_elem(s, 0..s.operands.len())?;
    let shape = |n: usize| Ok::<_, String>(s.operand(n)?.shape().unwrap_or_default());
    let (x, w) = (shape(0)?, shape(1)?);
    let ([batch, channels, spatial @ ..], [outputs, inputs, kernel @ ..]) = (x, w) else {
        return Err(format!(
            "needs x [N, C, ...] and w [M, C / groups, ...], but they are {} and {}",
            show(x),
            show(w)
        ));
    };
    if spatial.is_empty() || spatial.len() != kernel.len() {
        return Err(format!(
            "x {} has {} spatial dimensions and w {} has {}: they must be as many, at least one",
            show(x),
            spatial.len(),
            show(w),
            kernel.len()
        ));
    }
    let groups = groups(s)?;
    if let (Dim::Static(c), Dim::Static(i)) = (*channels, *inputs)
        && i.checked_mul(groups) != Some(c)
    {
        return Err(format!(
            "dimension 1 of x {} must be groups ({groups}) times dimension 1 of w {}, but {c} is not {groups} * {i}",
            show(x),
            show(w)
        ));
    }
    if outputs.known().is_some_and(|m| !m.is_multiple_of(groups)) {
        return Err(format!("{groups} groups do not divide dimension 0 of w {}", show(w)));
    }
    if s.operands.len() > 2 {
        let [extent] = shape(2)? else {
            return Err(format!("operand 'b' must have rank 1, but is {}", s.operand(2)?));
        };
        unify(*outputs, *extent, "dimension 0 of w and of b")?;
    }
    // An unknown kernel extent still needs its attributes checked; any extent serves.
    let extents: Vec<usize> = kernel.iter().map(|k| k.known().unwrap_or(1)).collect();
    let windows = Window::all(s, &extents)?;
    let mut result = vec![*batch, *outputs];
    for (i, window) in windows.iter().enumerate() {
        result.push(match (spatial[i], kernel[i]) {
            (Dim::Static(n), Dim::Static(_)) => Dim::Static(window.count(n, i + 2, false)?),
            _ => Dim::Dynamic,
        });
    }
    Ok(vec![Type::tensor(result, elem)])
}

fn groups(s: &Signature<'_>) -> Result<usize, String> {
    let groups = s.int("groups").unwrap_or(1);
    usize::try_from(groups)
        .ok()
        .filter(|&g| g > 0)
        .ok_or_else(|| format!("attribute 'groups' must be positive, but is {groups}"))
}

/// `y[n, m, i] = Σ_c Σ_k w[m, c, k] x[n, c', position(i, k)] + b[m]`, with 0 in the padding.
fn conv_structure(s: &Signature<'_>, operands: &[Vec<Size>]) -> Option<Vec<Structure>> {
    let (x, w) = (&operands[0], &operands[1]);
    let mut extents = vec![x[0].clone(), w[0].clone()];
    extents
        .extend(s.infer().ok()?.pop()?.shape()?[2..].iter().map(|&d| of_dim(d)).collect::<Option<Vec<_>>>()?);
    let (rank, groups) = (extents.len(), groups(s).ok()?);
    let kernel: Vec<usize> = w[2..].iter().map(|e| Some(e.number()? as usize)).collect::<Option<_>>()?;
    let windows = Window::all(s, &kernel).ok()?;
    let over = w[1..].to_vec();
    let space = [extents.clone(), over.clone()].concat();
    let inner = |n: usize| along(rank + n, &over[n]);
    let group = match groups {
        1 => Index::ZERO,
        _ => place(1).digit(&w[0].divided_by(&Size::from(groups))?, None, &space)?.times(&w[1])?,
    };
    let mut at = vec![along(0, &x[0]), group.plus(&inner(0))?];
    let mut tests = Vec::new();
    for (n, window) in windows.iter().enumerate() {
        let position = window.position(&along(n + 2, &extents[n + 2]), &inner(n + 1))?;
        tests.extend(window.inside(&position, &x[n + 2], &space)?[0].clone());
        at.push(position);
    }
    let weight = read(1, [along(1, &w[0])].into_iter().chain((0..over.len()).map(inner)));
    let term = apply(&primitives::MUL, [weight, either(tests, read(0, at), Element::Number(0.0))]);
    let sum = Element::Reduce { kind: Reduce::Sum, over, body: Box::new(term) };
    let element = match operands.len() {
        2 => sum,
        _ => apply(&primitives::ADD, [sum, read(2, [along(1, &w[0])])]),
    };
    Some(vec![Structure::new(extents, element)])
}

/// Every window as a column of a matrix, groups apart; then one product of the weights with it.
fn evaluate(e: &Evaluator, s: &Signature<'_>, args: &[&Tensor]) -> Result<Vec<Tensor>, String> {
    let result = result_shape(s)?;
    let (x, w) = (args[0], args[1]);
    let storage = x.dtype.format().ok_or("convolves floating-point numbers")?;
    let accumulate = s.accumulate(storage);
    let groups = groups(s)?;
    let (batch, channels, spatial) = (x.shape[0], x.shape[1] / groups, &x.shape[2..]);
    let windows = Window::all(s, &w.shape[2..])?;
    let reads = all_reads(&windows, spatial, &result[2..])?;

    let kernel: usize = w.shape[2..].iter().product();
    let size: usize = spatial.iter().product();
    let (inner, columns) = (channels * kernel, batch * reads.len());
    let mut index = index_for(&[groups, inner, columns])?;
    for channel in 0..groups * channels {
        for k in 0..kernel {
            for n in 0..batch {
                let plane = (n * groups * channels + channel) * size;
                index.extend(reads.iter().map(|window| window[k].map(|at| plane + at)));
            }
        }
    }
    let unfolded = x.select_or(vec![groups, inner, columns], &index, &Tensor::scalar(storage, 0.0))?;
    let outputs = w.shape[0] / groups;
    let wide = DType::Float(accumulate);
    let weights = e.convert(w, wide).reshape(vec![groups, outputs, inner])?;
    let sums = e
        .contract(&weights, &e.convert(&unfolded, wide), accumulate, s.sum_method())?
        .reshape(vec![w.shape[0], batch, reads.len()])?
        .transpose(&[1, 0, 2])?;
    let total = match args.get(2) {
        Some(bias) => {
            let bias = e.convert(bias, wide).reshape(vec![w.shape[0], 1])?;
            e.map(&primitives::ADD, &[], &[&sums, &bias], wide)?
        }
        None => sums,
    };
    Ok(vec![e.convert(&total, x.dtype).reshape(result)?])
}
