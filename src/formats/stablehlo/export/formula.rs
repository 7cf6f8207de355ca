//! Elementwise ops: those that StableHLO has, and the others by their formulas.

use ngc_dialects::ng::compare::direction_name;
use ngc_ir::op_def::Elementwise;
use ngc_ir::{AttrDict, Type, Value};
use ngc_numerics::expr::{Constant, Node as Formula};
use ngc_numerics::{DType, Expr, Prim};

use super::Table;
use super::emit::Emitter;
use super::op::Node;
use crate::error::{FormatError, Result, unsupported};
use crate::step;

pub(super) const OPS: Table = &[
    ("ng.sigmoid", |n| unary(n, "stablehlo.logistic")),
    ("ng.rsqrt", |n| unary(n, "stablehlo.rsqrt")),
    ("ng.not", |n| unary(n, "stablehlo.not")),
    ("ng.and", |n| binary(n, "stablehlo.and")),
    ("ng.or", |n| binary(n, "stablehlo.or")),
    ("ng.xor", |n| binary(n, "stablehlo.xor")),
    ("ng.clamp", |n| {
        let (x, low, high) = (n.broadcast(0)?, n.broadcast(1)?, n.broadcast(2)?);
        Ok(vec![n.emitter.op("stablehlo.clamp", &[low, x, high], n.types[0], AttrDict::EMPTY)])
    }),
    ("ng.compare", |n| {
        let (x, y) = (n.broadcast(0)?, n.broadcast(1)?);
        let direction = n.s.string("direction").unwrap_or("EQ");
        Ok(vec![n.emitter.compare(direction, x, y)])
    }),
    ("ng.select", choose),
    ("ng.where", choose),
    ("ng.is_nan", |n| {
        let x = n.operand(0)?;
        Ok(vec![n.emitter.compare("NE", x, x)])
    }),
    ("ng.is_finite", |n| {
        let x = n.operand(0)?;
        Ok(vec![n.emitter.op("stablehlo.is_finite", &[x], n.types[0], AttrDict::EMPTY)])
    }),
    ("ng.is_inf", |n| {
        let x = n.operand(0)?;
        let magnitude = n.emitter.unary("stablehlo.abs", x);
        let infinity = n.emitter.splat(f64::INFINITY, n.emitter.ty(x));
        Ok(vec![n.emitter.compare("EQ", magnitude, infinity)])
    }),
    ("ng.convert", |n| {
        let mut x = n.operand(0)?;
        let (from, to) = (n.emitter.elem(x), n.types[0].elem().unwrap_or(DType::Index));
        // StableHLO leaves open what a number beyond the type becomes.
        if let (Some(ends), DType::Float(format)) = (step::ends(from, to), from)
            && !n.emitter.is_limited(x, ends)
        {
            x = n.emitter.convert(x, DType::Float(step::computed_in(format)));
            let ty = n.emitter.ty(x);
            let (low, high) = (n.emitter.splat(ends.0, ty), n.emitter.splat(ends.1, ty));
            x = n.emitter.op("stablehlo.clamp", &[low, x, high], ty, AttrDict::EMPTY);
        }
        Ok(vec![n.emitter.convert(x, to)])
    }),
];

fn unary(n: &mut Node<'_, '_>, name: &str) -> Result<Vec<Value>> {
    let x = n.operand(0)?;
    Ok(vec![n.emitter.unary(name, x)])
}

fn binary(n: &mut Node<'_, '_>, name: &str) -> Result<Vec<Value>> {
    let (x, y) = (n.broadcast(0)?, n.broadcast(1)?);
    Ok(vec![n.emitter.binary(name, x, y)])
}

fn choose(n: &mut Node<'_, '_>) -> Result<Vec<Value>> {
    let (condition, x, y) = (n.broadcast(0)?, n.broadcast(1)?, n.broadcast(2)?);
    Ok(vec![n.emitter.select(condition, x, y)])
}

/// An elementwise op by its formula; one that takes several steps rounds at each of them.
pub(super) fn elementwise(
    e: &mut Emitter<'_>,
    name: &'static str,
    elementwise: &Elementwise,
    operands: &[Value],
    result: Type,
) -> Result<Value> {
    let formula = elementwise.function.expr();
    let shape = result.static_shape().unwrap_or_default();
    let operands: Vec<Value> = operands.iter().map(|&v| e.broadcast(v, &shape)).collect();
    let is_one_step = match &*formula.0 {
        Formula::Apply(prim, parts) => {
            !composed(*prim) && parts.iter().all(|p| matches!(&*p.0, Formula::Var(_) | Formula::Const(_)))
        }
        _ => true,
    };
    if !is_one_step {
        e.stepwise.insert(name);
    }
    Writer { e, operands: &operands, params: &elementwise.params, result }.write(&formula)
}

/// Primitives that StableHLO has no op for.
fn composed(prim: Prim) -> bool {
    matches!(prim, Prim::Hypot | Prim::Fma | Prim::Trunc | Prim::Exp2 | Prim::Log2 | Prim::Log10)
}

struct Writer<'e, 'a> {
    e: &'e mut Emitter<'a>,
    operands: &'e [Value],
    params: &'e [f64],
    result: Type,
}

impl Writer<'_, '_> {
    fn splat(&mut self, value: f64) -> Value {
        self.e.splat(value, self.result)
    }

    fn write(&mut self, formula: &Expr) -> Result<Value> {
        if let Some(value) = constant(formula, self.params) {
            return Ok(self.splat(value));
        }
        match &*formula.0 {
            Formula::Var(i) => self
                .operands
                .get(*i)
                .copied()
                .ok_or_else(|| FormatError::Invalid(format!("operand {i} is missing"))),
            Formula::Param(_) | Formula::Const(_) => unsupported(format!("the constant {formula}")),
            Formula::Apply(prim, parts) => {
                let x: Vec<Value> = parts.iter().map(|p| self.write(p)).collect::<Result<_>>()?;
                self.apply(*prim, &x)
            }
            Formula::Select(cmp, [a, b, then, other]) => {
                let (a, b) = (self.write(a)?, self.write(b)?);
                let (then, other) = (self.write(then)?, self.write(other)?);
                let direction = direction_name(*cmp);
                let condition = self.e.compare(direction, a, b);
                Ok(self.e.select(condition, then, other))
            }
        }
    }

    fn apply(&mut self, prim: Prim, x: &[Value]) -> Result<Value> {
        let name = match prim {
            Prim::Add => "stablehlo.add",
            Prim::Sub => "stablehlo.subtract",
            Prim::Mul => "stablehlo.multiply",
            Prim::Div => "stablehlo.divide",
            Prim::Rem => "stablehlo.remainder",
            Prim::Min => "stablehlo.minimum",
            Prim::Max => "stablehlo.maximum",
            Prim::Pow => "stablehlo.power",
            Prim::Atan2 => "stablehlo.atan2",
            Prim::Neg => "stablehlo.negate",
            Prim::Abs => "stablehlo.abs",
            Prim::Sign => "stablehlo.sign",
            Prim::Floor => "stablehlo.floor",
            Prim::Ceil => "stablehlo.ceil",
            Prim::RoundEven => "stablehlo.round_nearest_even",
            Prim::Sqrt => "stablehlo.sqrt",
            Prim::Cbrt => "stablehlo.cbrt",
            Prim::Exp => "stablehlo.exponential",
            Prim::Expm1 => "stablehlo.exponential_minus_one",
            Prim::Log => "stablehlo.log",
            Prim::Log1p => "stablehlo.log_plus_one",
            Prim::Sin => "stablehlo.sine",
            Prim::Cos => "stablehlo.cosine",
            Prim::Tan => "stablehlo.tan",
            Prim::Tanh => "stablehlo.tanh",
            Prim::Asin => "chlo.asin",
            Prim::Acos => "chlo.acos",
            Prim::Atan => "chlo.atan",
            Prim::Sinh => "chlo.sinh",
            Prim::Cosh => "chlo.cosh",
            Prim::Asinh => "chlo.asinh",
            Prim::Acosh => "chlo.acosh",
            Prim::Atanh => "chlo.atanh",
            Prim::Erf => "chlo.erf",
            Prim::Erfc => "chlo.erfc",
            Prim::Lgamma => "chlo.lgamma",
            Prim::Digamma => "chlo.digamma",
            Prim::Square => return Ok(self.e.binary("stablehlo.multiply", x[0], x[0])),
            Prim::Fma => {
                let product = self.e.binary("stablehlo.multiply", x[0], x[1]);
                return Ok(self.e.binary("stablehlo.add", product, x[2]));
            }
            Prim::Exp2 => {
                let two = self.splat(2.0);
                return Ok(self.e.binary("stablehlo.power", two, x[0]));
            }
            Prim::Log2 | Prim::Log10 => {
                let base = if prim == Prim::Log2 { std::f64::consts::LN_2 } else { std::f64::consts::LN_10 };
                let (log, base) = (self.e.unary("stablehlo.log", x[0]), self.splat(base));
                return Ok(self.e.binary("stablehlo.divide", log, base));
            }
            Prim::Trunc => {
                let zero = self.splat(0.0);
                let negative = self.e.compare("LT", x[0], zero);
                let (up, down) =
                    (self.e.unary("stablehlo.ceil", x[0]), self.e.unary("stablehlo.floor", x[0]));
                return Ok(self.e.select(negative, up, down));
            }
            Prim::Hypot => return Ok(self.hypot(x[0], x[1])),
            other => return unsupported(format!("StableHLO has no {}", other.name())),
        };
        Ok(match *x {
            [x] => self.e.unary(name, x),
            [x, y] => self.e.binary(name, x, y),
            _ => return unsupported(format!("StableHLO has no {}", prim.name())),
        })
    }

    /// The greater times `√(1 + (lesser / greater)²)`, so that only the result overflows.
    fn hypot(&mut self, x: Value, y: Value) -> Value {
        let (x, y) = (self.e.unary("stablehlo.abs", x), self.e.unary("stablehlo.abs", y));
        let (great, less) =
            (self.e.binary("stablehlo.maximum", x, y), self.e.binary("stablehlo.minimum", x, y));
        let (zero, one, infinity) = (self.splat(0.0), self.splat(1.0), self.splat(f64::INFINITY));
        let ratio = self.e.binary("stablehlo.divide", less, great);
        let square = self.e.binary("stablehlo.multiply", ratio, ratio);
        let sum = self.e.binary("stablehlo.add", one, square);
        let root = self.e.unary("stablehlo.sqrt", sum);
        let length = self.e.binary("stablehlo.multiply", great, root);
        let is_zero = self.e.compare("EQ", great, zero);
        let length = self.e.select(is_zero, zero, length);
        let (a, b) = (self.e.compare("EQ", x, infinity), self.e.compare("EQ", y, infinity));
        let infinite = self.e.binary("stablehlo.or", a, b);
        self.e.select(infinite, infinity, length)
    }
}

/// The value of a formula without variables, to the digits of f64.
fn constant(formula: &Expr, params: &[f64]) -> Option<f64> {
    match &*formula.0 {
        Formula::Var(_) | Formula::Select(..) => None,
        Formula::Param(i) => params.get(*i).copied(),
        Formula::Const(Constant::Rational(r)) => Some(r.to_f64()),
        Formula::Const(Constant::Pi) => Some(std::f64::consts::PI),
        Formula::Const(Constant::E) => Some(std::f64::consts::E),
        Formula::Const(Constant::Infinity { negative }) => {
            Some(if *negative { f64::NEG_INFINITY } else { f64::INFINITY })
        }
        Formula::Const(Constant::Nan) => Some(f64::NAN),
        Formula::Apply(prim, parts) => {
            let x: Vec<f64> = parts.iter().map(|p| constant(p, params)).collect::<Option<_>>()?;
            match (prim, &x[..]) {
                (Prim::Add, [a, b]) => Some(a + b),
                (Prim::Sub, [a, b]) => Some(a - b),
                (Prim::Mul, [a, b]) => Some(a * b),
                (Prim::Div, [a, b]) => Some(a / b),
                (Prim::Neg, [a]) => Some(-a),
                (Prim::Sqrt, [a]) => Some(a.sqrt()),
                _ => None,
            }
        }
    }
}
