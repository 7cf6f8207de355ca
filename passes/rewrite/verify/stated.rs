//! Holds both sides of a rule against the error bounds that the rule states.

use ngc_ir::{Context, Ident};
use ngc_numerics::{Format, Mode, Tensor};
use rug::Float;

use super::compare::with_enough_bits;
use super::instance::Instance;
use crate::analysis::range::Ranges;
use crate::rewrite::conditions::{Env, Val};
use crate::rewrite::graph::Graph;
use crate::rewrite::rule::{Expr, Infix, Rule, Side, Stated};

/// Evaluates both sides in the format of the instance and exactly; the number of values that were held against a bound.
///
/// # Errors
/// A value whose error exceeds what is stated.
pub fn check(context: &Context, instance: &Instance, rule: &Rule) -> Result<usize, String> {
    if rule.bounds.is_empty() {
        return Ok(0);
    }
    let sides = instance.sides().ok_or("the rule was not applied")?;
    let format =
        instance.body.ty(sides[0]).format().ok_or("a bound is stated of floating-point values alone")?;
    let Some(computed) = instance.evaluate(context, Mode::Rounded, &instance.inputs) else { return Ok(0) };
    let ranges = Ranges::of_body(&instance.body, &instance.given);
    let graph = Graph::new(context, &instance.body, &ranges);
    let env = Env::new(&graph, &instance.bindings);
    with_enough_bits(|bits| {
        let Some(exact) = instance.exact(context, bits) else { return Ok(0) };
        let exact = sides.map(|side| exact.reals(side, bits).into_owned());
        let computed = sides.map(|side| computed.reals(side, bits));
        let most = Float::with_val(bits, format.max_finite());
        let mut values = 0;
        for (i, (left, right)) in exact[0].iter().zip(&exact[1]).enumerate() {
            if !left.is_finite() || !right.is_finite() || Float::with_val(bits, right.abs_ref()) > most {
                continue;
            }
            let at = Element {
                env: &env,
                instance,
                format,
                exact: [left, right].map(|x| Float::with_val(64, x)),
                index: i,
            };
            for bound in &rule.bounds {
                let error = match bound.of {
                    Side::Left => Float::with_val(bits, &computed[0][i] - left).abs(),
                    Side::Right => Float::with_val(bits, &computed[1][i] - right).abs(),
                    Side::Difference => Float::with_val(bits, left - right).abs(),
                };
                let Some(allowed) = at.value(&bound.at_most)? else { continue };
                values += 1;
                // The bound itself is evaluated to 64 bits.
                let allowed = allowed * (1.0 + 1e-12);
                if error.is_nan() || error > allowed {
                    return Err(violated(bound, &error, &allowed, &at));
                }
            }
        }
        Ok(values)
    })
}

fn violated(bound: &Stated, error: &Float, allowed: &Float, at: &Element<'_>) -> String {
    format!(
        "'bound {bound}' does not hold: element {} of the {} side is off by {:.3e}, more than {:.3e}, at {}",
        at.index,
        bound.of.name(),
        error.to_f64(),
        allowed.to_f64(),
        at.instance.describe()
    )
}

/// One element of the result.
struct Element<'a> {
    env: &'a Env<'a>,
    instance: &'a Instance,
    format: Format,
    /// Exact values of both sides.
    exact: [Float; 2],
    index: usize,
}

impl Element<'_> {
    /// The value of a bound here; nothing where an input in it is not finite.
    fn value(&self, e: &Expr) -> Result<Option<Float>, String> {
        let real = |x: f64| Float::with_val(64, x);
        let size = |x: &Float| match x.clone().abs() < self.format.min_normal() {
            true => real(self.format.min_normal()).copysign(x),
            false => x.clone(),
        };
        Ok(Some(match e {
            Expr::Number(n) => real(*n),
            Expr::Word(w) => match w.as_str() {
                "u" => real(self.format.unit_roundoff()),
                "left" => size(&self.exact[0]),
                _ => size(&self.exact[1]),
            },
            Expr::Var(name, _) => match self.input(*name)? {
                x if x.is_finite() => real(x),
                _ => return Ok(None),
            },
            Expr::Neg(e) => return Ok(self.value(e)?.map(|x| -x)),
            Expr::Binary(op, a, b) => match (self.value(a)?, self.value(b)?) {
                (Some(a), Some(b)) => match op {
                    Infix::Add => a + b,
                    Infix::Sub => a - b,
                    Infix::Mul => a * b,
                    _ => a / b,
                },
                _ => return Ok(None),
            },
            Expr::Call(name, args, _) if matches!(name.as_str(), "abs" | "sqrt") => {
                let x = self.value(args.first().ok_or("an argument is missing")?)?;
                return Ok(x.map(|x| if name.as_str() == "abs" { x.abs() } else { x.sqrt() }));
            }
            e => match self.env.eval(e)? {
                Val::Number(n) => real(n),
                other => return Err(format!("'{e}' is {other}, not a number")),
            },
        }))
    }

    /// The element of an input that broadcasts to this one.
    fn input(&self, name: Ident) -> Result<f64, String> {
        let place = self.instance.names.iter().position(|n| *n == name);
        let input: &Tensor = place
            .and_then(|n| self.instance.inputs.get(n))
            .ok_or_else(|| format!("a bound may speak of inputs; ?{name} is none"))?;
        let shape = self.instance.shape();
        let broadcast = input.broadcast_to(&shape)?;
        broadcast.to_f64s().get(self.index).copied().ok_or_else(|| "the input has fewer elements".into())
    }
}
