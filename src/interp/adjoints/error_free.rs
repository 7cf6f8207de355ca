//! What is known of error-free transformations: what rounding adds to the first result is missing in the second one, so that in what
//! is made of the sum of both it cancels.

use std::sync::Arc;

use ngc_dialects::structure::pointwise;
use ngc_ir::op_def::ErrorFree;
use ngc_ir::structure::{Function, Size};
use ngc_numerics::tensor::broadcast_index;
use ngc_numerics::{Format, Prim, SumMethod, Tensor};

use super::Known;
use super::local::{Code, Rounding, unit};

/// What an element of the first result is made of.
pub fn made(of: &ErrorFree, shapes: &[&[usize]], to: Format) -> Option<(Code, Rounding)> {
    let extents = |shape: &&[usize]| shape.iter().map(|&n| Size::from(n)).collect::<Vec<Size>>();
    let extents: Vec<Vec<Size>> = shapes.iter().map(extents).collect();
    let element = pointwise(&extents, Function::Real(of.of, Vec::new()))?.pop()?.element;
    let operands = vec![Some(to); shapes.len()];
    let rounding =
        Rounding { of: to, to, method: SumMethod::Naive, operands, backwards: false, correct: true };
    Some((Code::new(&element, shapes)?, rounding))
}

/// Bounds of what each element of the second result lacks of what rounding took from the first. Of a sum it lacks nothing (Knuth 1969,
/// Dekker 1971), and of a product what underflows (Boldo 2006).
pub fn left(of: &ErrorFree, operands: &[Known], results: &[Arc<Tensor>], to: Format) -> Vec<f64> {
    let [high, low] = results else { return Vec::new() };
    let numbers = |tensor: &Tensor| -> Option<Vec<f64>> {
        let index = broadcast_index(&tensor.shape, &high.shape).ok()?;
        let values = tensor.as_floats()?;
        Some(index.into_iter().map(|n| values[n]).collect())
    };
    let operand = |n: usize| operands.get(n).and_then(|known| numbers(&known.tensor));
    let (Some(x), Some(y), Some(high), Some(low)) = (operand(0), operand(1), numbers(high), numbers(low))
    else {
        return vec![f64::INFINITY; high.len()];
    };
    let one = |n: usize| {
        let (x, y, high, low) = (x[n], y[n], high[n], low[n]);
        if !(high.is_finite() && low.is_finite()) {
            return f64::INFINITY;
        }
        match of.of.as_primitive() {
            Some(Prim::Add) if of.ordered && x != 0.0 && x.abs() < y.abs() => {
                unit(to, x.abs() + high.abs()) + unit(to, low)
            }
            Some(Prim::Add) => 0.0,
            // A format's products are exact in f64, and its own are fused.
            Some(Prim::Mul) => (low - x.mul_add(y, -high)).abs() + to.min_subnormal(),
            _ => f64::INFINITY,
        }
    };
    (0..high.len()).map(one).collect()
}
