//! What the steps of an implementation cost, before anything is measured.

use ngc_ir::{Module, Op};
use ngc_numerics::{DType, Format};

/// Slots of a vector unit that an op takes, of float; conversions, bits and constants included.
const COSTS: &[(&str, f64)] = &[
    ("ng.constant", 0.0),
    ("ng.div", 8.0),
    ("ng.sqrt", 9.0),
    ("ng.round", 2.0),
    ("ng.min", 1.5),
    ("ng.max", 1.5),
    ("num.bitcast", 0.0),
    ("num.table", 4.0),
    ("ng.convert", 2.0),
];

/// The cost of the first function of a module: what works on 64 bits counts twice, as half as many fit into a vector.
pub fn cost(machine: &Module) -> f64 {
    let Some(body) = machine.functions().first().and_then(|&f| machine.body.body(f)) else { return 0.0 };
    let of = |op: &Op| {
        let name = body.name(*op);
        let slots = COSTS.iter().find(|c| c.0 == name).map_or(1.0, |c| c.1);
        let wide = body
            .results(*op)
            .any(|v| matches!(body.ty(v).elem(), Some(DType::Float(Format::F64) | DType::Int(64))));
        if wide { 2.0 * slots } else { slots }
    };
    body.walk().iter().map(of).sum()
}
