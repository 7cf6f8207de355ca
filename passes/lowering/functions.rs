//! Implementations of real functions, as functions of ops that the processor rounds: what lowering puts in the place of an
//! op that is not one of these.

use std::collections::BTreeMap;

use ngc_dialects::ng;
use ngc_ir::op_def::Syntax;
use ngc_ir::{Attr, AttrDict, Body, Diagnostic, Diagnostics, Module, OpDef, Semantics, Signature, Type};
use ngc_numerics::expr::{Constant, Prim};
use ngc_numerics::program::Step;
use ngc_numerics::{Format, ScalarFn};

pub use ngc_dialects::num::{IMPLEMENTS, MAX_ULP};

/// An implementation.
#[derive(Clone)]
pub struct Implementation {
    /// A block of pure ops on scalars of the format, which ends in a return of one.
    pub body: Body,
    /// How many units in the last place it is off at most, where that is known.
    pub max_ulp: Option<f64>,
}

/// Implementations, by the name of the real function and the format. A driver supplies them to the pass.
pub struct Functions {
    known: BTreeMap<(String, Format), Implementation>,
    /// How many units in the last place functions may be off that are taken in several steps.
    pub most: f64,
}

impl Default for Functions {
    /// None, and nothing that is not correctly rounded.
    fn default() -> Functions {
        Functions { known: BTreeMap::new(), most: 0.5 }
    }
}

impl Functions {
    /// Adds the implementations of a module: its functions with the attribute [`IMPLEMENTS`], of scalars of one format.
    ///
    /// # Errors
    /// Located at each function that is none, or that is the second of its name and format.
    pub fn insert_all(&mut self, module: &Module) -> Result<(), Diagnostics> {
        let mut found = Diagnostics::default();
        for op in module.ops() {
            let Some(name) = module.body.attr(op, IMPLEMENTS).and_then(Attr::as_str) else { continue };
            let body = module.body.body(op).filter(|body| body.entry().is_some());
            let implemented = body.ok_or("it has no body".to_string()).and_then(|body| {
                let format = implemented(body)?;
                let max_ulp = module.body.attr(op, MAX_ULP).and_then(Attr::as_float);
                let own = Implementation { body: body.clone(), max_ulp };
                match self.known.insert((name.to_string(), format), own) {
                    None => Ok(()),
                    Some(_) => Err(format!("another function implements it in {format}")),
                }
            });
            if let Err(why) = implemented {
                let loc = module.body.op(op).loc.clone();
                found.push(Diagnostic::error(loc, format!("this is no implementation of {name}: {why}")));
            }
        }
        if found.has_errors() { Err(found) } else { Ok(()) }
    }

    /// Adds the implementations of a module for what has none.
    ///
    /// # Errors
    /// As [`Functions::insert_all`].
    pub fn complete(&mut self, library: &Module) -> Result<(), Diagnostics> {
        let mut further = Functions::default();
        further.insert_all(library)?;
        for (of, body) in further.known {
            self.known.entry(of).or_insert(body);
        }
        Ok(())
    }

    /// The implementation of a function in a format.
    pub fn find(&self, name: &str, format: Format) -> Option<&Implementation> {
        self.known.get(&(name.to_string(), format))
    }
}

/// The format of an implementation, which is a block of pure ops on scalars.
fn implemented(body: &Body) -> Result<Format, String> {
    let [block] = *body.blocks(body.root()) else { return Err("it has several blocks".into()) };
    let scalar = |ty: Type| ty.format().filter(|_| ty.as_tensor().is_none() && ty.as_vector().is_none());
    let arguments = body.arguments(block);
    let format = arguments.first().and_then(|&v| scalar(body.ty(v))).ok_or("it takes no number")?;
    let end = body.last_op(block).map_or(&[][..], |end| body.operands(end));
    if end.len() != 1 || arguments.iter().chain(end).any(|&v| scalar(body.ty(v)) != Some(format)) {
        return Err(format!("it does not take and give one number in {format}"));
    }
    let pure = |def: &OpDef| def.traits.pure || def.syntax == Syntax::Return;
    let other = body.ops(block).find(|&op| {
        let vague = body.results(op).any(|v| body.ty(v).as_tensor().is_some());
        vague || !body.op(op).def.is_some_and(pure)
    });
    match other {
        Some(op) => Err(format!("'{}' is no pure op on scalars", body.name(op))),
        None => Ok(format),
    }
}

/// Whether an op has the parameters that it has where nothing is said of them: implementations are of these.
pub fn as_declared(def: &'static OpDef, params: &[f64], format: Format) -> bool {
    let Semantics::Elementwise(meaning) = def.semantics else { return false };
    let operands = vec![Type::float(format); def.operands.len()];
    let declared = meaning(&Signature { def, operands: &operands, attrs: &AttrDict::EMPTY });
    params.is_empty() || declared.is_ok_and(|e| e.params == params)
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
pub(super) fn moves_bits(def: &'static OpDef) -> bool {
    [&ng::compare::SELECT, &ng::compare::WHERE, &ng::convert::CONVERT].iter().any(|d| std::ptr::eq(*d, def))
}
