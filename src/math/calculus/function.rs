//! Functions of real numbers that types speak of.

use std::fmt;

use ngc_ir::op_def::Semantics;
use ngc_ir::{AttrDict, Context, Signature, Type};
use ngc_numerics::expr::Node;
use ngc_numerics::program::Program;
use ngc_numerics::{Big, Enclosure, Expr, Format, Prim};
use rug::Float;

use super::real::Real;
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

/// A formula with others in the place of its variables.
pub fn substituted(formula: &Expr, by: &[Expr]) -> Expr {
    match &*formula.0 {
        Node::Var(n) => by.get(*n).unwrap_or(formula).clone(),
        Node::Param(_) | Node::Const(_) => formula.clone(),
        Node::Apply(prim, x) => Expr::apply(*prim, x.iter().map(|x| substituted(x, by)).collect()),
        Node::Select(cmp, parts) => {
            let [a, b, t, e] = parts;
            let of = |x| substituted(x, by);
            Expr::select(*cmp, of(a), of(b), of(t), of(e))
        }
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
