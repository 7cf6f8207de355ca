//! Implementations of real functions, as functions of ops that the processor rounds: what lowering puts in the place of an
//! op that is not one of these.

use std::collections::BTreeMap;

use ngc_dialects::ng;
use ngc_ir::Body;
use ngc_numerics::expr::{Constant, Prim};
use ngc_numerics::program::Step;
use ngc_numerics::{Format, ScalarFn};

/// Bodies of functions of scalars, by the name of the real function and the format. A driver supplies them to the pass.
#[derive(Default)]
pub struct Functions {
    known: BTreeMap<(String, Format), Body>,
}

impl Functions {
    /// Adds an implementation: a body of one block of pure ops on scalars of the format, which ends in a return of one.
    pub fn insert(&mut self, name: &str, format: Format, body: Body) {
        self.known.insert((name.to_string(), format), body);
    }

    /// The implementation of a function in a format.
    pub fn find(&self, name: &str, format: Format) -> Option<&Body> {
        self.known.get(&(name.to_string(), format))
    }
}

/// How much of a step's value is known to be what the formula says.
#[derive(Clone, Copy, PartialEq)]
enum Precision {
    /// The real value.
    Exact,
    /// The real value, rounded once.
    Rounded,
}

/// Whether taking a formula step by step, each rounded by itself, gives its correctly rounded value: at most one step rounds
/// on the way to the result, and those behind it commute with rounding.
pub fn rounds_once(function: &ScalarFn, params: &[f64], format: Format) -> bool {
    let program = function.program();
    let mut known: Vec<Precision> = Vec::new();
    for step in program.steps() {
        let exact = |operands: &[usize]| operands.iter().all(|&n| known[n] == Precision::Exact);
        let worst = |operands: &[usize]| match exact(operands) {
            true => Precision::Exact,
            false => Precision::Rounded,
        };
        let found = match step {
            Step::Var(_) => Some(Precision::Exact),
            Step::Param(n) => params.get(*n).filter(|&&p| format.contains(p)).map(|_| Precision::Exact),
            Step::Const(n) => constant(&program.constants()[*n], format).map(|_| Precision::Exact),
            Step::Apply(prim, operands) => {
                let operands = &operands[..prim.arity()];
                match prim {
                    Prim::Neg | Prim::Abs | Prim::Min | Prim::Max => Some(worst(operands)),
                    Prim::Sign | Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc => {
                        exact(operands).then_some(Precision::Exact)
                    }
                    Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::Square | Prim::Sqrt | Prim::Fma => {
                        exact(operands).then_some(Precision::Rounded)
                    }
                    _ => None,
                }
            }
            Step::Select(_, [a, b, yes, no]) => exact(&[*a, *b]).then(|| worst(&[*yes, *no])),
        };
        match found {
            Some(precision) => known.push(precision),
            None => return false,
        }
    }
    // Values beside the formula would be lost.
    function.declared_specials().is_empty()
        && (function.declared_limits() == [None; 2] || function.as_primitive().is_some())
}

/// Whether a formula of integers is made of what wraps modulo 2^width and of choices.
pub fn wraps(function: &ScalarFn) -> bool {
    function.program().steps().iter().all(|step| match step {
        Step::Apply(prim, _) => matches!(
            prim,
            Prim::Add
                | Prim::Sub
                | Prim::Mul
                | Prim::Square
                | Prim::Neg
                | Prim::Abs
                | Prim::Sign
                | Prim::Min
                | Prim::Max
        ),
        Step::Var(_) | Step::Select(..) => true,
        Step::Param(_) | Step::Const(_) => false,
    })
}

/// The number that a constant of a formula is, if the format has it.
pub fn constant(constant: &Constant, format: Format) -> Option<f64> {
    let value = match constant {
        Constant::Rational(value) => {
            let nearest = value.to_f64();
            (*value == nearest).then_some(nearest)?
        }
        Constant::Infinity { negative: true } => f64::NEG_INFINITY,
        Constant::Infinity { negative: false } => f64::INFINITY,
        Constant::Nan | Constant::Pi | Constant::E => return None,
    };
    format.contains(value).then_some(value)
}

/// Whether an op on elements is done in their own format without loss, by moving bits.
pub(super) fn moves_bits(def: &'static ngc_ir::OpDef) -> bool {
    [&ng::compare::SELECT, &ng::compare::WHERE, &ng::convert::CONVERT].iter().any(|d| std::ptr::eq(*d, def))
}
