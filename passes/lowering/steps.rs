//! Writing the steps of a formula.

use ngc_dialects::ng::compare::{self, direction_name};
use ngc_ir::{Attr, AttrDict, Context, OpDef, Semantics, Signature, Value};
use ngc_numerics::primitives::primitive;
use ngc_numerics::program::Step;
use ngc_numerics::{DType, Format, Prim, ScalarFn};

use super::emit::{Emitted, Emitter};
use super::formula::{Formula, Means};
use crate::digits::up;

impl Emitter<'_> {
    /// A function by the steps of its formula, rounded to `format`.
    pub fn by_steps(
        &mut self,
        operands: &[Value],
        function: &'static ScalarFn,
        params: &[f64],
        format: Format,
    ) -> Emitted<Value> {
        let functions = self.functions;
        let (formula, units) = Formula::stable(function, params, format, functions).map_err(|least| {
            let hint = match least.is_finite() {
                true => {
                    format!("; by its steps it is off by up to {}", up(least, |x| format!("{x:.4}")))
                }
                false => String::new(),
            };
            let most = functions.most;
            format!("no implementation of {} in {format} within --max-ulp={most}{hint}", function.name)
        })?;
        self.inlined.set(format!("{}_{format}", function.name).as_str(), units);
        let working = DType::Float(formula.working);
        let mut values: Vec<Value> = Vec::new();
        for (n, step) in formula.program.steps().iter().enumerate() {
            let value = match step {
                Step::Var(n) => self.convert(operands[*n], working)?,
                Step::Param(_) | Step::Const(_) => {
                    let number = formula.number(n).ok_or("a number of a formula is missing")?;
                    self.number(number, working)?
                }
                Step::Select(cmp, [a, b, yes, no]) => {
                    let holds = self.compare(direction_name(*cmp), values[*a], values[*b])?;
                    self.apply(&compare::WHERE, &[holds, values[*yes], values[*no]])?
                }
                Step::Apply(prim, of) => {
                    let of = &of[..prim.arity()];
                    let means = formula.means(n).ok_or("a step of a formula has no means")?;
                    let (of, prim): (Vec<Value>, Prim) = match means {
                        Means::Fused(of) => (of.iter().map(|&n| values[n]).collect(), Prim::Fma),
                        _ => (of.iter().map(|&n| values[n]).collect(), *prim),
                    };
                    match means {
                        Means::Inlined(own, format) => {
                            let error = own.max_ulp.map_or(Attr::Unit, Attr::from);
                            self.inlined.set(format!("{}_{format}", prim.name()).as_str(), error);
                            let narrowed = of.into_iter().map(|v| self.convert(v, DType::Float(format)));
                            let narrowed = narrowed.collect::<Emitted<Vec<Value>>>()?;
                            let value = self.inline(&own.body, &narrowed)?;
                            self.convert(value, working)?
                        }
                        Means::Op | Means::Fused(_) => {
                            let def = operation(self.context, prim).ok_or("a step of a formula has no op")?;
                            self.apply(def, &of)?
                        }
                    }
                }
            };
            values.push(value);
        }
        let value = values.pop().ok_or("a formula without steps")?;
        let value = self.convert(value, DType::Float(format))?;
        self.beside(operands, function, value)
    }

    /// The value of a formula, and those that the function has beside it.
    fn beside(
        &mut self,
        operands: &[Value],
        function: &'static ScalarFn,
        mut value: Value,
    ) -> Emitted<Value> {
        let elem = self.body.ty(value).elem().ok_or("a formula of no number")?;
        let own = |e: &Self, v: Value| e.body.ty(v).elem().ok_or("a formula of no number");
        let mut put = |e: &mut Self, holds: Value, number: f64| -> Emitted<()> {
            let number = e.number(number, elem)?;
            value = e.apply(&compare::WHERE, &[holds, number, value])?;
            Ok(())
        };
        for (limit, infinity) in
            function.declared_limits().into_iter().zip([f64::NEG_INFINITY, f64::INFINITY])
        {
            let Some(limit) = limit else { continue };
            let infinity = self.number(infinity, own(self, operands[0])?)?;
            let there = self.compare("EQ", operands[0], infinity)?;
            put(self, there, limit)?;
        }
        // Arithmetic passes NaN on, a choice need not.
        if function.program().steps().iter().any(|step| matches!(step, Step::Select(..))) {
            for &x in operands {
                let undefined = self.compare("NE", x, x)?;
                put(self, undefined, f64::NAN)?;
            }
        }
        // The first that holds goes before the others.
        for special in function.declared_specials().iter().rev() {
            let mut all: Option<Value> = None;
            for (&x, at) in operands.iter().zip(special.at) {
                let Some(at) = at else { continue };
                let at = self.number(at, own(self, x)?)?;
                let here = self.compare("EQ", x, at)?;
                all = Some(match all {
                    Some(all) => self.apply(&compare::AND, &[all, here])?,
                    None => here,
                });
            }
            if let Some(all) = all {
                put(self, all, special.value)?;
            }
        }
        Ok(value)
    }
}

/// The op that is a primitive of formulas.
pub(super) fn operation(context: &Context, prim: Prim) -> Option<&'static OpDef> {
    let is = |def: &&'static OpDef| match def.semantics {
        Semantics::Elementwise(of) if def.operands.len() == prim.arity() => {
            let signature = Signature { def, operands: &[], attrs: &AttrDict::EMPTY };
            of(&signature).is_ok_and(|e| std::ptr::eq(e.function, primitive(prim)))
        }
        _ => false,
    };
    context.ops().into_iter().find(is)
}
