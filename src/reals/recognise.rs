//! Which ops a term is.
//!
//! An op's definition is its recogniser. The places where the definition speaks of its operands propose them: where it
//! has `exp(-x)` and the term has `exp(u)`, `x` may be `-u`. The definition is then read on what was proposed, and the
//! term is the op if both are the same term. A sum or a product of which the definition is a part is computed in parts.

mod exponentials;
mod gauge;
mod pattern;
mod rows;

use std::sync::Arc;

use ngc_ir::op_def::AttrKind;
use ngc_ir::structure::Size;
use ngc_ir::{Attr, AttrDict, Context, Ident, OpDef, Semantics, Signature, Type};
use ngc_numerics::expr::{Expr, cos, erf, exp, log, sin, sqrt, square};
use ngc_numerics::{DType, Format, Prim};
use rug::Rational;
use rustc_hash::FxHashMap;

use crate::form::{Form, OpForm};
use crate::store::Store;
use crate::term::{Id, Node, Use, at};
use pattern::{Head, Pattern};
use rows::Row;

/// Operands that are tried for one op.
const MOST_TRIED: usize = 64;

/// A function of corresponding elements, as one of the ops computes it.
struct Pointwise {
    name: Ident,
    attrs: AttrDict,
    formula: Expr,
    params: Vec<f64>,
    pattern: Pattern,
    /// The number of the definition.
    number: usize,
}

impl Pointwise {
    /// The definition on some operands.
    fn on(&self, store: &mut Store, operands: &[Use], space: &[Size]) -> Use {
        let key = (self.number, operands.to_vec(), space.into());
        if let Some(known) = store.defined.get(&key) {
            return known.clone();
        }
        let value = self.read(store, operands, space);
        store.defined.insert(key, value.clone());
        value
    }

    fn read(&self, store: &mut Store, operands: &[Use], space: &[Size]) -> Use {
        store.formula(&self.formula, &self.params, operands, space)
    }
}

/// The definitions of the ops of the dialect.
pub struct Definitions<'a> {
    context: &'a Context,
    pointwise: FxHashMap<Head, Vec<Arc<Pointwise>>>,
    rows: Vec<Row>,
}

impl<'a> Definitions<'a> {
    /// The definitions of all ops that are more than one step of a term.
    pub fn new(context: &'a Context) -> Definitions<'a> {
        let mut pointwise: FxHashMap<Head, Vec<Arc<Pointwise>>> = FxHashMap::default();
        let mut number = 0;
        for def in context.ops() {
            for attrs in variants(def) {
                for (formula, params) in formulas(def, &attrs) {
                    let Some(pattern) = Pattern::of(&formula, &params, def.operands.len()) else { continue };
                    let name = Ident::new(def.name);
                    let attrs = attrs.clone();
                    let own = Arc::new(Pointwise { name, attrs, formula, params, pattern, number });
                    number += 1;
                    for head in &own.pattern.heads {
                        pointwise.entry(*head).or_default().push(own.clone());
                    }
                }
            }
        }
        let rows = context.ops().into_iter().filter_map(|def| Row::of(def, context)).collect();
        Definitions { context, pointwise, rows }
    }

    /// The ways to compute a term by an op, as a whole or in part. `target` says which ops there are.
    pub fn forms(&self, store: &mut Store, id: Id, target: &dyn Fn(&str) -> bool) -> Vec<Form> {
        let mut found = Vec::new();
        let space = store.sizes(id).to_vec();
        let whole = whole(store, id);
        let functions = store.functions(id);
        if let Some(all) = Head::of(store.node(id)).and_then(|head| self.pointwise.get(&head)) {
            let mut parts = pattern::parts(store, &whole, &space);
            parts.extend(pattern::roots(store, &whole, &space));
            for op in all.iter().filter(|op| target(op.name.as_str())) {
                for x in op.pattern.proposals(store, &parts, &space, MOST_TRIED) {
                    if x.iter().any(|x| x.id == id) || !op.pattern.may_be(functions, store, &x) {
                        continue;
                    }
                    let (name, attrs) = (op.name, op.attrs.clone());
                    let (over, factor) = (Vec::new(), Rational::from(1));
                    let mut values = vec![op.on(store, &x, &space)];
                    if x.iter().any(|x| store.is_log(x)) {
                        values.push(store.literally(|store| op.read(store, &x, &space)));
                    }
                    let form = OpForm { name, attrs, operands: x, over, at: None, factor };
                    for value in values {
                        note(store, &whole, &value, &space, form.clone(), &mut found);
                    }
                }
            }
        }
        if target(exponentials::SUM) {
            found.extend(exponentials::parted(store, &whole, &space));
        }
        self.rows(store, id, target, &mut found);
        let whole = |form: &Form| matches!(form, Form::Op(op) if op.factor.clone().abs() == 1);
        if found.iter().any(whole) {
            // A multiple of another op is no better; of an odd function the negative of the negative is.
            found.retain(|form| !matches!(form, Form::Op(_)) || whole(form));
        }
        found
    }
}

/// A term along its own slots.
fn whole(store: &Store, id: Id) -> Use {
    store.settle(Use { id, map: (0..store.sizes(id).len()).map(at).collect() })
}

/// Notes an op whose definition gives a term or a part of it, once for any order of its operands.
fn note(store: &mut Store, whole: &Use, value: &Use, space: &[Size], form: OpForm, found: &mut Vec<Form>) {
    let part = match part(store, whole, value, space) {
        _ if value == whole => Form::Op(form),
        // The whole as a multiple is computed by the op at once: as a term of its own the part would lead back.
        Some(Form::Sum(parts)) if parts.len() == 1 => Form::Op(OpForm { factor: parts[0].0.clone(), ..form }),
        Some(part) => part,
        None => return,
    };
    let known = found.iter().any(|known| match (known, &part) {
        (Form::Sum(known), Form::Sum(part)) => known == part,
        (Form::Product(known), Form::Product(part)) => known == part,
        (Form::Op(known), Form::Op(part)) => {
            (known.name, &known.attrs, &known.factor) == (part.name, &part.attrs, &part.factor)
                && known.operands.iter().all(|x| part.operands.contains(x))
        }
        _ => false,
    });
    if !known {
        found.push(part);
    }
}

/// A sum as a multiple of a part of it and the rest, or a product as a power of a part and the rest.
fn part(store: &mut Store, whole: &Use, part: &Use, space: &[Size]) -> Option<Form> {
    let one = || Rational::from(1);
    if part.id == whole.id {
        return None;
    }
    match (store.node(whole.id).clone(), store.node(part.id).clone()) {
        (Node::Linear(constant, terms), Node::Linear(own, inner)) => {
            let terms = store.placed_terms(&terms, whole, space)?;
            let inner = store.placed_terms(&inner, part, space)?;
            let (by, rest) = remainder(terms, inner)?;
            let constant = constant - Rational::from(&own * &by);
            // A constant is taken whole or not at all.
            (own.is_zero() || constant.is_zero()).then_some(())?;
            let rest = store.linear(constant, rest, space);
            let zero = store.as_rational(&rest).is_some_and(|x| x.is_zero());
            let rest = (!zero).then(|| (one(), rest));
            Some(Form::Sum([(by, part.clone())].into_iter().chain(rest).collect()))
        }
        (Node::Product(factors), Node::Product(inner)) => {
            let placed = |store: &Store, all: Vec<(Use, Rational)>, of: &Use| {
                let place = |(x, e): (Use, Rational)| Some((e, store.compose(&x, &of.map, space)?));
                all.into_iter().map(place).collect::<Option<Vec<_>>>()
            };
            let factors = placed(store, factors, whole)?;
            let inner = placed(store, inner, part)?;
            let (by, rest) = remainder(factors, inner)?;
            let rest: Vec<(Use, Rational)> = rest.into_iter().map(|(e, x)| (x, e)).collect();
            let mut all = vec![(part.clone(), by)];
            if !rest.is_empty() {
                all.push((store.product(one(), rest, space), one()));
            }
            Some(Form::Product(all))
        }
        (_, Node::Linear(constant, inner)) if constant.is_zero() => {
            // A multiple of the term.
            let [(by, inner)] = &store.placed_terms(&inner, part, space)?[..] else { return None };
            let by = Rational::from(by.recip_ref());
            (inner == whole).then(|| Form::Sum(vec![(by, part.clone())]))
        }
        _ => None,
    }
}

type Terms = Vec<(Rational, Use)>;

/// What is left of terms without a multiple of others, and the multiple.
fn remainder(all: Terms, part: Terms) -> Option<(Rational, Terms)> {
    let coefficient = |x: &Use| all.iter().find(|(_, y)| y == x).map(|(c, _)| c.clone());
    let (own, first) = part.first()?;
    let by = coefficient(first)? / own;
    let matches = |(c, x): &(Rational, Use)| coefficient(x) == Some(Rational::from(c * &by));
    part.iter().all(matches).then_some(())?;
    let rest = all.into_iter().filter(|(_, x)| !part.iter().any(|(_, y)| x == y)).collect();
    Some((by, rest))
}

/// The settings of the attributes of an op that make functions of their own: numbers as they are by default.
fn variants(def: &OpDef) -> Vec<AttrDict> {
    let mut all = vec![AttrDict::EMPTY];
    for attribute in def.attributes {
        if let AttrKind::Enum(values) = attribute.kind {
            let others = values.iter().skip(1).flat_map(|value| {
                all.iter().map(|attrs| {
                    let mut attrs = attrs.clone();
                    attrs.set(attribute.name, Attr::from(*value));
                    attrs
                })
            });
            let others: Vec<AttrDict> = others.collect();
            all.extend(others);
        }
    }
    all
}

/// What an elementwise op computes: its formula, and of a primitive what it is made of.
fn formulas(def: &'static OpDef, attrs: &AttrDict) -> Vec<(Expr, Vec<f64>)> {
    let Semantics::Elementwise(of) = def.semantics else { return Vec::new() };
    let number = Type::scalar(DType::Float(Format::F64));
    let operands = vec![number; def.operands.len()];
    let signature = Signature { def, operands: &operands, attrs };
    let Ok(own) = of(&signature) else { return Vec::new() };
    let spelled = own.function.as_primitive().and_then(spelled);
    let formula = (own.function.expr(), own.params);
    let quotient = (def.name == "ng.stumpff2").then(|| {
        let x = Expr::var(0);
        (1 - cos(&x)) / square(&x)
    });
    [formula].into_iter().chain(spelled.into_iter().chain(quotient).map(|e| (e, Vec::new()))).collect()
}

/// What a primitive is made of, where it has a value.
fn spelled(prim: Prim) -> Option<Expr> {
    let x = &Expr::var(0);
    let opposite = || exp(-x);
    Some(match prim {
        Prim::Sinh => (exp(x) - opposite()) / 2,
        Prim::Cosh => (exp(x) + opposite()) / 2,
        Prim::Tanh => (exp(x) - opposite()) / (exp(x) + opposite()),
        Prim::Asinh => log(x + sqrt(square(x) + 1)),
        Prim::Acosh => log(x + sqrt(square(x) - 1)),
        Prim::Atanh => log((1 + x) / (1 - x)) / 2,
        Prim::Exprel => (exp(x) - 1) / x,
        Prim::Exprel2 => (exp(x) - 1 - x) / square(x),
        Prim::ExprelSlope => (1 - exp(x) * (1 - x)) / square(x),
        Prim::Erfcx => exp(square(x)) * (1 - erf(x)),
        Prim::Sinc => sin(x) / x,
        Prim::Stumpff3 => (x - sin(x)) / (x * square(x)),
        _ => return None,
    })
}
