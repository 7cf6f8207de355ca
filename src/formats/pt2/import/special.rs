//! Special functions without an op of their own. Kernels of torch round once, what it composes of stored ops rounds each step.

use ngc_ir::Value;

use super::Table;
use super::arithmetic::{by, floats, operands};
use super::compare::compared;
use super::loss::number;
use super::node::Node;
use super::number::{Number, Operand, common, floating, kernel};
use crate::emit::Emit;
use crate::error::{Result, unsupported};

pub(super) const OPS: Table = &[
    ("heaviside", heaviside),
    ("logaddexp2", logaddexp2),
    ("mvlgamma", log_gamma_of_matrices),
    ("sinc", sinc),
    ("special_entr", entropy),
    ("special_log_ndtr", log_normal),
    ("special_ndtr", normal),
    ("special_xlog1py", xlog1py),
];

/// 0 below zero, 1 above it, and `values` there; 0 of NaN.
fn heaviside(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, at_zero) = operands(n, "self", "values")?;
    let dtype = n.elem(x)?;
    let (zero, one) = (n.scalar(Number::Int(0), dtype)?, n.scalar(Number::Int(1), dtype)?);
    let (above, level) = (compared(n, x, "GT", zero)?, compared(n, x, "EQ", zero)?);
    let step = n.op("ng.where", &[above, one, zero])?;
    Ok(vec![n.op("ng.where", &[level, at_zero, step])?])
}

/// log2(2^x + 2^y).
fn logaddexp2(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y) = operands(n, "self", "other")?;
    let value = kernel(n, n.elem(x)?, &[x, y].map(Operand::Tensor), |n, v| {
        let unit = number(n, std::f64::consts::LN_2, n.elem(v[0])?)?;
        let (x, y) = (n.op("ng.mul", &[v[0], unit])?, n.op("ng.mul", &[v[1], unit])?);
        let sum = n.op("ng.logaddexp", &[x, y])?;
        n.op("ng.div", &[sum, unit])
    })?;
    Ok(vec![value])
}

/// log of p (p - 1) / 4 powers of π, and of Γ at x, x - 1/2, and so on to x - (p - 1)/2.
fn log_gamma_of_matrices(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, p) = (floats(n, "self")?, n.int("p", 1)?);
    if !(1..=64).contains(&p) {
        return unsupported(format!("the multivariate gamma function of dimension {p}"));
    }
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let dtype = n.elem(v[0])?;
        let mut sum = number(n, (p * (p - 1)) as f64 / 4.0 * std::f64::consts::PI.ln(), dtype)?;
        for j in 0..p {
            let back = number(n, j as f64 / 2.0, dtype)?;
            let at = n.op("ng.sub", &[v[0], back])?;
            let log = n.op("ng.lgamma", &[at])?;
            sum = n.op("ng.add", &[log, sum])?;
        }
        Ok(sum)
    })?;
    Ok(vec![value])
}

/// sin(π x) / (π x), 1 at zero.
fn sinc(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let dtype = n.elem(v[0])?;
        let pi = number(n, std::f64::consts::PI, dtype)?;
        let x = n.op("ng.mul", &[v[0], pi])?;
        let (zero, one) = (number(n, 0.0, dtype)?, number(n, 1.0, dtype)?);
        let level = compared(n, x, "EQ", zero)?;
        let sine = n.op("ng.sin", &[x])?;
        let quotient = n.op("ng.div", &[sine, x])?;
        n.op("ng.where", &[level, one, quotient])
    })?;
    Ok(vec![value])
}

/// -x log x, 0 at zero, -inf below it.
fn entropy(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let (x, dtype) = (v[0], n.elem(v[0])?);
        let (zero, least) = (number(n, 0.0, dtype)?, number(n, f64::NEG_INFINITY, dtype)?);
        let (negative, log) = (n.op("ng.neg", &[x])?, n.op("ng.log", &[x])?);
        let product = n.op("ng.mul", &[negative, log])?;
        let (below, level) = (compared(n, x, "LT", zero)?, compared(n, x, "EQ", zero)?);
        let value = n.op("ng.where", &[level, zero, product])?;
        n.op("ng.where", &[below, least, value])
    })?;
    Ok(vec![value])
}

/// (1 + erf(x / √2)) / 2.
fn normal(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let dtype = n.elem(x)?;
    let root = Operand::Number(Number::Float(std::f64::consts::FRAC_1_SQRT_2));
    let (one, half) = (number(n, 1.0, dtype)?, number(n, 0.5, dtype)?);
    let scaled = by(n, "ng.mul", dtype, Operand::Tensor(x), root)?;
    let erf = n.op("ng.erf", &[scaled])?;
    let sum = n.op("ng.add", &[erf, one])?;
    Ok(vec![n.op("ng.mul", &[sum, half])?])
}

/// log((1 + erf(x / √2)) / 2): with t = x / √2, log(erfcx(-t) / 2) - t² below -1 and log1p(-erfc(t) / 2) from there on.
fn log_normal(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let x = floats(n, "self")?;
    let value = kernel(n, n.elem(x)?, &[Operand::Tensor(x)], |n, v| {
        let (x, dtype) = (v[0], n.elem(v[0])?);
        let (root, half) = (number(n, std::f64::consts::FRAC_1_SQRT_2, dtype)?, number(n, 0.5, dtype)?);
        let t = n.op("ng.mul", &[x, root])?;
        let opposite = n.op("ng.neg", &[t])?;
        let scaled = n.op("ng.erfcx", &[opposite])?;
        let part = n.op("ng.mul", &[scaled, half])?;
        let (log, square) = (n.op("ng.log", &[part])?, n.op("ng.mul", &[t, t])?);
        let below = n.op("ng.sub", &[log, square])?;
        let tail = n.op("ng.erfc", &[t])?;
        let part = n.op("ng.mul", &[tail, half])?;
        let part = n.op("ng.neg", &[part])?;
        let above = n.op("ng.log1p", &[part])?;
        let seam = number(n, -1.0, dtype)?;
        let far = compared(n, x, "LT", seam)?;
        n.op("ng.where", &[far, below, above])
    })?;
    Ok(vec![value])
}

/// x log(1 + y), and 0 where x is 0 and y a number.
fn xlog1py(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (x, y): (Operand, Operand) = (n.operand("self")?, n.operand("other")?);
    let dtype = floating(common(n, &[x, y])?);
    let (x, y) = (n.in_type(x, dtype)?, n.in_type(y, dtype)?);
    let value = kernel(n, dtype, &[x, y].map(Operand::Tensor), |n, v| {
        let (x, y) = (v[0], v[1]);
        let zero = number(n, 0.0, n.elem(x)?)?;
        let log = n.op("ng.log1p", &[y])?;
        let product = n.op("ng.mul", &[x, log])?;
        let (nothing, is_number) = (compared(n, x, "EQ", zero)?, compared(n, y, "EQ", y)?);
        let empty = n.op("ng.and", &[nothing, is_number])?;
        n.op("ng.where", &[empty, zero, product])
    })?;
    Ok(vec![value])
}
