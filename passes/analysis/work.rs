//! What an op costs, in operations on elements.

use ngc_ir::{OpDef, Semantics, Type};
use ngc_numerics::Prim;
use ngc_numerics::program::Step;

/// Operations on elements that an op takes, roughly; extents that are not known count as one.
pub fn work(def: &'static OpDef, operands: &[Type], result: Type) -> f64 {
    let (all, most) = (count(&result), operands.iter().map(count).fold(0.0, f64::max));
    match def.semantics {
        _ if def.traits.constant => 0.0,
        Semantics::Elementwise(of) => {
            let attrs = ngc_ir::AttrDict::EMPTY;
            let s = ngc_ir::Signature { def, operands, attrs: &attrs };
            all * of(&s).map_or(4.0, |e| e.function.program().steps().iter().map(steps).sum::<f64>().max(1.0))
        }
        _ if def.traits.contraction => 2.0 * elements(def, operands, result),
        Semantics::Decomposition(_) => 12.0 * most.max(all),
        _ => most.max(all),
    }
}

fn count(ty: &Type) -> f64 {
    ty.shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1) as f64).product()
}

/// Elements that an op goes over: those of its largest operand or its result, of a contraction its products. Extents that
/// are not known count as one.
fn elements(def: &OpDef, operands: &[Type], result: Type) -> f64 {
    if def.traits.contraction {
        let inner = operands.first().and_then(|t| t.shape()?.last()?.known()).unwrap_or(1) as f64;
        return count(&result).max(1.0) * inner;
    }
    operands.iter().map(count).fold(count(&result), f64::max)
}

fn steps(step: &Step) -> f64 {
    match step {
        Step::Apply(
            Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg | Prim::Abs | Prim::Square | Prim::Fma,
            _,
        ) => 1.0,
        Step::Apply(Prim::Min | Prim::Max, _) | Step::Select(..) => 1.0,
        Step::Apply(Prim::Div | Prim::Sqrt, _) => 4.0,
        Step::Apply(..) => 12.0,
        _ => 0.0,
    }
}
