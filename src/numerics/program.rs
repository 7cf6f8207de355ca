//! Formulas made ready for evaluation: a list of steps with common subexpressions shared.

use smallvec::SmallVec;

use crate::enclosure::{self, Domain, Enclosure};
use crate::expr::{Cmp, Constant, Expr, Node, Prim};

/// One step; operands are the numbers of earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An argument.
    Var(usize),
    /// A parameter.
    Param(usize),
    /// A constant, by its place in [`Program::constants`].
    Const(usize),
    /// A primitive; operands past its arity repeat the first.
    Apply(Prim, [usize; 3]),
    /// `if a cmp b then t else e`.
    Select(Cmp, [usize; 4]),
}

/// A formula as steps, the last of which is its value.
#[derive(Clone, Debug, Default)]
pub struct Program {
    steps: Vec<Step>,
    constants: Vec<Constant>,
}

impl Program {
    /// Flattens a formula. A product of a term with itself becomes a square, which intervals bound better.
    pub fn new(formula: &Expr) -> Program {
        let mut program = Program::default();
        program.add(formula);
        program
    }

    /// The steps in order of evaluation.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The constants that the steps name.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }

    /// The primitive and its arity, if the formula is just that primitive of the arguments in order.
    pub fn as_primitive(&self) -> Option<Prim> {
        let (last, rest) = self.steps.split_last()?;
        let Step::Apply(prim, operands) = last else { return None };
        let in_order = rest.iter().enumerate().all(|(i, step)| *step == Step::Var(i) && operands[i] == i);
        (in_order && rest.len() == prim.arity()).then_some(*prim)
    }

    fn add(&mut self, formula: &Expr) -> usize {
        let step = match &*formula.0 {
            Node::Var(i) => Step::Var(*i),
            Node::Param(i) => Step::Param(*i),
            Node::Const(constant) => {
                let known = self.constants.iter().position(|other| other == constant);
                Step::Const(known.unwrap_or_else(|| {
                    self.constants.push(constant.clone());
                    self.constants.len() - 1
                }))
            }
            Node::Apply(prim, args) => {
                let operands: SmallVec<[usize; 3]> = args.iter().map(|arg| self.add(arg)).collect();
                let operand = |i: usize| operands.get(i).copied().unwrap_or(operands[0]);
                let squared = *prim == Prim::Mul && operands[0] == operands[1];
                let prim = if squared { Prim::Square } else { *prim };
                Step::Apply(prim, std::array::from_fn(|i| operand(if squared { 0 } else { i })))
            }
            Node::Select(cmp, parts) => {
                let mut operands = [0; 4];
                for (operand, part) in operands.iter_mut().zip(parts) {
                    *operand = self.add(part);
                }
                Step::Select(*cmp, operands)
            }
        };
        // The value must be the last step, so a formula that repeats an earlier term cannot end on it: it contains it.
        self.steps.iter().position(|other| *other == step).unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        })
    }

    /// Enclosures of the constants, to be computed once for a domain.
    pub fn enclose_constants<D: Domain>(&self, d: &D) -> Vec<Enclosure<D::Number>> {
        self.constants.iter().map(|constant| enclosure::constant(d, constant)).collect()
    }

    /// An enclosure of the formula's value over enclosures of its parameters and arguments.
    ///
    /// # Panics
    /// When there are fewer of them than the formula names.
    pub fn enclose<D: Domain>(
        &self,
        d: &D,
        constants: &[Enclosure<D::Number>],
        params: &[Enclosure<D::Number>],
        args: &[Enclosure<D::Number>],
    ) -> Enclosure<D::Number> {
        let mut values: SmallVec<[Enclosure<D::Number>; 16]> = SmallVec::new();
        for step in &self.steps {
            let value = match step {
                Step::Var(i) => args[*i].clone(),
                Step::Param(i) => params[*i].clone(),
                Step::Const(i) => constants[*i].clone(),
                Step::Apply(prim, [x, y, z]) => {
                    let operands = [&values[*x], &values[*y], &values[*z]];
                    enclosure::apply(d, *prim, &operands[..prim.arity()])
                }
                Step::Select(cmp, [a, b, t, e]) => {
                    enclosure::select::<D>(*cmp, &values[*a], &values[*b], &values[*t], &values[*e])
                }
            };
            values.push(value);
        }
        values.pop().unwrap_or_else(|| Enclosure::point(d.embed(f64::NAN)))
    }
}
