//! Ops written out by their definitions, whatever the op: its steps, or the formula of its elements.

use ngc_dialects::ng::compare::direction_name;
use ngc_ir::{Attr, Semantics, Signature, Type, Value};
use ngc_numerics::Prim;
use ngc_numerics::expr::{Constant, Expr, Node};

use super::super::site::Site;
use super::{Change, plain};

pub const CHANGES: &[Change] = &[plain("op by its steps", by_steps), plain("op by its formula", by_formula)];

fn by_steps(s: &mut Site<'_>) -> Option<Value> {
    let Semantics::Decomposition(decompose) = s.def.semantics else { return None };
    let types: Vec<Type> = s.x.iter().map(|&v| s.body.ty(v)).collect();
    let (def, attrs, x) = (s.def, s.attrs.clone(), s.x.clone());
    let signature = Signature { def, operands: &types, attrs: &attrs };
    let ends = decompose(&mut s.builder(), &signature, &x).ok()?;
    Some(ends[0])
}

fn by_formula(s: &mut Site<'_>) -> Option<Value> {
    let Semantics::Elementwise(of) = s.def.semantics else { return None };
    let like = *s.x.iter().find(|&&v| s.is_float(v))?;
    let types: Vec<Type> = s.x.iter().map(|&v| s.body.ty(v)).collect();
    let (def, attrs) = (s.def, s.attrs.clone());
    let e = of(&Signature { def, operands: &types, attrs: &attrs }).ok()?;
    if e.function.as_primitive().is_some() {
        return None;
    }
    written(s, &e.function.expr(), &e.params, like)
}

fn written(s: &mut Site<'_>, formula: &Expr, params: &[f64], like: Value) -> Option<Value> {
    match &*formula.0 {
        Node::Var(n) => Some(s.x[*n]),
        Node::Param(n) => s.number(params[*n], like),
        Node::Const(Constant::Rational(x)) => {
            let number = x.to_f64();
            (rug::Rational::from_f64(number).as_ref() == Some(x)).then(|| s.number(number, like)).flatten()
        }
        Node::Const(_) => None,
        Node::Apply(prim, parts) => {
            let parts: Vec<Value> =
                parts.iter().map(|part| written(s, part, params, like)).collect::<Option<_>>()?;
            s.plain(op_of(*prim), &parts)
        }
        Node::Select(cmp, parts) => {
            let [a, b, yes, no] = parts.each_ref().map(|part| written(s, part, params, like));
            let holds = s.op("compare", &[a?, b?], [("direction", Attr::from(direction_name(*cmp)))])?;
            s.plain("where", &[holds, yes?, no?])
        }
    }
}

/// A primitive is an op of the same name.
fn op_of(prim: Prim) -> &'static str {
    prim.name()
}
