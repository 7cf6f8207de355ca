//! Functions of real numbers that types speak of.

use std::fmt;

use ngc_dialects::ng::constant::{CONSTANT, attr_to_tensor};
use ngc_ir::op_def::Semantics;
use ngc_ir::{AttrDict, Block, Body, Context, Loc, Signature, Type, Value};
use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::program::Program;
use ngc_numerics::{Big, Enclosure, Expr, Format, Prim};
use rug::{Float, Rational};

use super::real::Real;
use crate::expand::Steps;
use crate::fit::expression;

/// The longest formula that is read.
const LONGEST: usize = 1000;

/// A function of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// What it is, of variable 0; nothing of a function that is known by its name alone.
    pub formula: Option<Expr>,
}

impl Function {
    /// A function by its name: a primitive, or an op of `ng` with one operand.
    pub fn named(context: &Context, name: &str) -> Option<Function> {
        let prim = Prim::ALL.iter().find(|p| p.arity() == 1 && p.name() == name);
        let formula = match prim {
            Some(&prim) => Expr::apply(prim, vec![Expr::var(0)]),
            None => {
                let def = context.op(&format!("ng.{name}"))?;
                let operands = [Type::float(Format::F32)];
                let Semantics::Elementwise(meaning) = def.semantics else { return None };
                let found = meaning(&Signature { def, operands: &operands, attrs: &AttrDict::EMPTY }).ok()?;
                if !found.params.is_empty() || found.function.arity != 1 {
                    return None;
                }
                found.function.expr()
            }
        };
        Some(Function { name: Some(name.into()), formula: Some(formula) })
    }

    /// A function of which nothing but the name is known.
    pub fn opaque(name: &str) -> Function {
        Function { name: Some(name.into()), formula: None }
    }

    /// The function of a formula, which has a name where it is that of a primitive.
    pub fn of(formula: Expr) -> Function {
        let name = match &*formula.0 {
            Node::Apply(prim, x) if matches!(&x[..], [x] if *x == Expr::var(0)) => {
                Some(prim.name().to_string())
            }
            _ => None,
        };
        Function { name, formula: Some(formula) }
    }

    /// Reads a function: a name, or a formula of `x`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn read(context: &Context, text: &str) -> Result<Function, String> {
        if text.len() > LONGEST {
            return Err(format!("a formula has at most {LONGEST} characters"));
        }
        if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && let Some(found) = Function::named(context, text)
        {
            return Ok(found);
        }
        expression::read_of(text, &["x"]).map(Function::of)
    }

    /// The function of one number that steps compute, over the reals: whatever they round.
    ///
    /// # Errors
    /// Names what has no formula.
    pub fn of_steps(context: &Context, body: &Body) -> Result<Function, String> {
        let entry = body.entry().ok_or("has no steps")?;
        let [_] = body.arguments(entry) else {
            return Err(format!(
                "has {} arguments, and functions of one number are implemented",
                body.arguments(entry).len()
            ));
        };
        let [formula] = &results(context, body, entry, &[Expr::var(0)], None)?[..] else {
            return Err("has more than one result".into());
        };
        if has_cases(formula) {
            return Err(
                "is a function with cases (`if`), which has no formula that polynomials approach".into()
            );
        }
        Ok(Function::of(formula.clone()))
    }

    /// The value at a formula.
    pub fn at(&self, x: &Expr) -> Option<Expr> {
        Some(substituted(self.formula.as_ref()?, std::slice::from_ref(x)))
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.formula) {
            (Some(name), _) => f.write_str(name),
            (None, Some(formula)) => write!(f, "{formula}"),
            (None, None) => f.write_str("?"),
        }
    }
}

/// Reads a formula of variables.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn read_formula(text: &str, variables: &[&str]) -> Result<Expr, String> {
    if text.len() > LONGEST {
        return Err(format!("a formula has at most {LONGEST} characters"));
    }
    expression::read_of(text, variables)
}

/// Reads a number of the extended line.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn read_real(text: &str) -> Result<Real, String> {
    match text {
        "inf" | "+inf" => Ok(super::real::INFINITY),
        "-inf" => Ok(super::real::MINUS_INFINITY),
        _ => Real::of(&read_formula(text, &[])?),
    }
}

/// The formulas of values of steps, where the arguments have these: those that `ends` names, or the terminator.
fn results(
    context: &Context,
    body: &Body,
    block: Block,
    arguments: &[Expr],
    ends: Option<&[Value]>,
) -> Result<Vec<Expr>, String> {
    let mut values: Vec<Option<Expr>> = vec![None; body.num_values()];
    let of = |values: &[Option<Expr>], wanted: &[Value]| -> Option<Vec<Expr>> {
        wanted.iter().map(|v| values[v.index()].clone()).collect()
    };
    for (&v, x) in body.arguments(block).iter().zip(arguments) {
        values[v.index()] = Some(x.clone());
    }
    for op in body.ops(block) {
        let (data, operands) = (body.op(op), body.operands(op));
        let x = of(&values, operands);
        let x = x.ok_or_else(|| format!("'{}' takes what has no formula", body.name(op)))?;
        let def = data.def.ok_or_else(|| format!("'{}' is not registered", body.name(op)))?;
        if def.traits.terminator {
            return Ok(x);
        }
        let types: Vec<Type> = operands.iter().map(|&v| body.ty(v)).collect();
        let found = value_of(context, &Signature { def, operands: &types, attrs: &data.attrs }, &x);
        for (v, value) in body.results(op).zip(found.map_err(|m| format!("'{}': {m}", def.name))?) {
            values[v.index()] = Some(value);
        }
    }
    ends.and_then(|ends| of(&values, ends)).ok_or_else(|| "does not end in a return".into())
}

/// The formulas of the results of an op.
fn value_of(context: &Context, s: &Signature<'_>, x: &[Expr]) -> Result<Vec<Expr>, String> {
    let number = |x: f64| Rational::from_f64(x).map(|x| Expr::from(Node::Const(Constant::Rational(x))));
    if s.def.name == CONSTANT.name {
        let value = attr_to_tensor(s.attr("value").ok_or("has no value")?)?;
        let [value] = value.to_f64s()[..] else { return Err("is no single number".into()) };
        return Ok(vec![number(value).ok_or("is no number of the real line")?]);
    }
    match s.def.semantics {
        Semantics::Elementwise(meaning) => {
            let meaning = meaning(s)?;
            let params: Option<Vec<Expr>> = meaning.params.iter().map(|&p| number(p)).collect();
            let params = params.ok_or("has a parameter that is infinite")?;
            Ok(vec![replaced(&meaning.function.expr(), x, &params)])
        }
        Semantics::Decomposition(decompose) => {
            let Steps { body, block, ends } = Steps::of(context, s, decompose, &Loc::Unknown)?;
            results(context, &body, block, x, Some(&ends))
        }
        _ => Err("has no formula".into()),
    }
}

/// A formula with others in the place of its variables.
pub fn substituted(formula: &Expr, by: &[Expr]) -> Expr {
    replaced(formula, by, &[])
}

/// A formula with others in the place of its variables and of its parameters.
fn replaced(formula: &Expr, variables: &[Expr], params: &[Expr]) -> Expr {
    let of = |x: &Expr| replaced(x, variables, params);
    match &*formula.0 {
        Node::Var(n) => variables.get(*n).unwrap_or(formula).clone(),
        Node::Param(n) => params.get(*n).unwrap_or(formula).clone(),
        Node::Const(_) => formula.clone(),
        Node::Apply(prim, x) => Expr::apply(*prim, x.iter().map(of).collect()),
        Node::Select(cmp, [a, b, t, e]) => Expr::select(*cmp, of(a), of(b), of(t), of(e)),
    }
}

fn has_cases(formula: &Expr) -> bool {
    match &*formula.0 {
        Node::Var(_) | Node::Param(_) | Node::Const(_) => false,
        Node::Apply(_, x) => x.iter().any(has_cases),
        Node::Select(..) => true,
    }
}

/// Whether a formula speaks of a variable.
pub fn mentions(formula: &Expr, variable: usize) -> bool {
    match &*formula.0 {
        Node::Var(n) => *n == variable,
        Node::Param(_) | Node::Const(_) => false,
        Node::Apply(_, x) => x.iter().any(|x| mentions(x, variable)),
        Node::Select(_, parts) => parts.iter().any(|x| mentions(x, variable)),
    }
}

/// A formula of variable 0, ready to be enclosed.
pub struct Enclosed {
    program: Program,
    constants: Vec<Enclosure<Float>>,
    domain: Big,
}

impl Enclosed {
    /// A formula, enclosed in so many bits.
    pub fn new(formula: &Expr, bits: u32) -> Enclosed {
        let (program, domain) = (Program::new(formula), Big::new(bits));
        Enclosed { constants: program.enclose_constants(&domain), program, domain }
    }

    /// Its values where the variable has these.
    pub fn over(&self, x: &Enclosure<Float>) -> Enclosure<Float> {
        self.program.enclose(&self.domain, &self.constants, &[], std::slice::from_ref(x))
    }
}

/// How often a range is halved on the way to a property of the function on all of it.
const HALVINGS: u32 = 10;

/// Whether a property holds of a formula's values on all parts of a range, which is cut as often as it takes.
pub fn everywhere(
    formula: &Enclosed,
    range: &Enclosure<Float>,
    bits: u32,
    holds: &dyn Fn(&Enclosure<Float>) -> bool,
) -> bool {
    let mut open = vec![(range.clone(), 0)];
    while let Some((part, depth)) = open.pop() {
        if holds(&formula.over(&part)) {
            continue;
        }
        if depth == HALVINGS {
            return false;
        }
        let middle = middle(&part, bits);
        open.push((Enclosure::new(part.lo, middle.clone()), depth + 1));
        open.push((Enclosure::new(middle, part.hi), depth + 1));
    }
    true
}

/// Between the ends, by their exponents where these lie far apart.
fn middle(part: &Enclosure<Float>, bits: u32) -> Float {
    let far = |a: &Float, b: &Float| *a > 0.0 && Float::with_val(bits, a << 8u32) < *b;
    if far(&part.lo, &part.hi) {
        return Float::with_val(bits, &part.lo * &part.hi).sqrt();
    }
    let (low, high) = (-part.lo.clone(), -part.hi.clone());
    if far(&high, &low) {
        return -Float::with_val(bits, &low * &high).sqrt();
    }
    Float::with_val(bits, &part.lo + &part.hi) / 2u32
}
