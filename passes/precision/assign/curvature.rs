//! The bits that the curvature of an op demands: `p >= log2(κ D² / ε)`, an estimate of what it takes to keep an error below ε. It
//! orders ops by how far they are from linear, and may ask for far more than an error bound does, or for less.

use ngc_ir::{Body, Op, Semantics};
use ngc_numerics::figures::{Interval, mul};
use ngc_numerics::{Figures, Prim};

use crate::analysis::error::Errors;
use crate::analysis::range::reach;
use crate::stabilize::primitive;

/// The bits that an op demands for an error of ε, of what is known of its operands and of its figures.
///
/// A contraction has the product of the condition numbers of its factors, of which those that are not known count as 1, times the
/// product of the diameters of its factors. What divides exponentials by their sum, or takes the logarithm of it, has the
/// curvature of these: `e^(2 max |x|)`. Every other op has its own curvature, times the square of the diameter of its operands.
pub fn bits(body: &Body, op: Op, figures: &Figures, errors: &Errors, epsilon: f64) -> f64 {
    let operands: Vec<Interval> = body.operands(op).iter().map(|v| errors.range(*v).exact).collect();
    let def = body.op(op).def;
    let demand = match () {
        () if def.is_some_and(|def| def.traits.contraction) => {
            operands.iter().take(2).map(diameter).fold(1.0, mul)
        }
        () if is_exponential(body, op) => operands.first().map_or(0.0, |x| (2.0 * reach(x)).exp()),
        () => {
            // A product with what does not vary is linear.
            let vary = operands.iter().filter(|x| diameter(x) > 0.0).count();
            let linear = figures.curvature == 0.0 || vary < 2 && primitive(body, op) == Some(Prim::Mul);
            let widest = operands.iter().map(diameter).fold(0.0, f64::max);
            if linear { 0.0 } else { mul(figures.curvature, mul(widest, widest)) }
        }
    };
    (demand / epsilon).log2().ceil().max(0.0)
}

fn diameter(x: &Interval) -> f64 {
    x.hi - x.lo
}

/// Whether an op is made of exponentials of its operand and sums of these.
fn is_exponential(body: &Body, op: Op) -> bool {
    let Some(def) = body.op(op).def else { return false };
    match def.semantics {
        Semantics::Decomposition(_) => ["ng.softmax", "ng.log_softmax", "ng.logsumexp"].contains(&def.name),
        Semantics::Elementwise(_) => primitive(body, op) == Some(Prim::Exp),
        _ => false,
    }
}
