//! One instance of a rule: a function with both sides, and inputs.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::op_def::AttrKind;
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Dim, Ident, InsertPoint, Loc, Module, OpState, Type, Value,
};
use ngc_numerics::{Enclosure, Evaluator, Format, Interval, Mode, Tensor};

use super::super::egraph::derive::derive;
use super::draw::{Aim, Draw, Variables, wants_rank_one};
use super::fit::{self, Choice};
use super::values::Values;
use crate::analysis::range::Ranges;
use crate::rewrite::apply::{Refusal, Replacement, instantiate};
use crate::rewrite::compile::{CompiledRule, RuleSet};
use crate::rewrite::conditions::{Bindings, Bound, val};
use crate::rewrite::graph::{Emitted, Graph, Term};
use crate::rewrite::matcher::{Attempt, Match, Matcher};
use crate::rewrite::rule::{Expr, Infix, Label, Pattern};

/// A function with both sides of a rule, and inputs.
pub struct Instance {
    /// The ops of both sides.
    pub body: Body,
    arguments: Vec<Value>,
    /// Names of the arguments.
    pub names: Vec<Ident>,
    /// Values of the arguments.
    pub inputs: Vec<Tensor>,
    /// Constants and attributes with their values.
    chosen: Vec<(Ident, String)>,
    /// Ranges of the arguments: the least ones that hold the inputs, unless others are stated.
    pub given: Vec<Interval>,
    left: Value,
    right: Option<Value>,
    /// The right side with one of its computed constants moved up and down by more than its own rounding, in pairs.
    pub moved: Vec<[Value; 2]>,
    /// The left side with the numbers that its constants are roundings of.
    pub unrounded: Option<Value>,
    /// Variables of the left side.
    pub bindings: Bindings,
    /// Made when it is first evaluated.
    module: OnceCell<Option<Module>>,
    /// Exact values by their bits.
    known: RefCell<Vec<(u32, Option<Rc<Values>>)>>,
}

impl Instance {
    /// Whether the axioms lead from the left side to the right.
    pub fn is_derived(&self, context: &Context) -> bool {
        self.right.is_some_and(|right| derive(context, &self.body, self.left, right).is_some())
    }

    /// The left side on random shapes, attributes, constants and inputs; nothing if they do not fit together.
    pub fn draw(
        context: &Context,
        rule: &CompiledRule,
        random: &mut ngc_numerics::Random,
        aim: &Aim,
    ) -> Option<Instance> {
        let variables = Variables::of(context, &rule.rule.left);
        let has_axes = variables.attrs.iter().any(|(_, kind, _)| *kind != AttrKind::Float);
        let mut draw = Draw { random, aim: *aim };
        let base = draw.base(usize::from(has_axes));
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut m = Match::default();
        let (mut arguments, mut inputs, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
        let Choice { terms, constants, attrs } = fit::choose(context, &mut draw, &base, &rule.rule)?;
        let mut names = Vec::new();
        for (name, dtype, shape) in terms {
            if wants_rank_one(&rule.rule.conditions, name) {
                let kernel = draw.kernel(aim.format, &shape)?;
                chosen.push((name, format!("{:?} : {shape:?}", kernel.to_f64s())));
                let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
                let value = b.constant(tensor_to_attr(&kernel)).ok()?;
                m.bindings.bind(name, Bound::Term(Term::Value(value)));
                continue;
            }
            names.push(name);
            let input = draw.tensor(name, dtype, shape)?;
            let value = body.add_argument(block, tensor_type(&input), Loc::Unknown);
            m.bindings.bind(name, Bound::Term(Term::Value(value)));
            arguments.push(value);
            inputs.push(input);
        }
        for (name, shape) in constants {
            let value = draw.constant(name, &base, &rule.rule.conditions);
            chosen.push((name, format!("{value:?}")));
            let value = Tensor::scalar(aim.format, value).broadcast_to(&shape).ok()?;
            let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
            let value = b.constant(tensor_to_attr(&value)).ok()?;
            m.bindings.bind(name, Bound::Term(Term::Value(value)));
        }
        for (name, value) in attrs {
            let text = value.as_ref().map_or_else(
                || "absent".into(),
                |attr| val(attr).map_or_else(|| format!("{attr:?}"), |v| v.to_string()),
            );
            chosen.push((name, text));
            m.bindings.bind(name, value.map_or(Bound::Absent, Bound::Attr));
        }
        if matches!(rule.rule.right, Pattern::Rational(..)) {
            let grown = |body: &mut Body, random: &mut ngc_numerics::Random| {
                let mut b = Builder::at_end(context, body, block, Loc::Unknown);
                grown(&mut b, random, &arguments, aim.format, 3)
            };
            let mut bindings = Bindings::default();
            for (name, _) in m.bindings.iter() {
                bindings.bind(*name, Bound::Term(Term::Value(grown(&mut body, draw.random)?)));
            }
            m.bindings = bindings;
        }
        let ranges = Ranges::default();
        let mut sides = Vec::new();
        for pattern in std::iter::once(&rule.rule.left).chain(&rule.rule.left.exact()) {
            let (plan, term) = {
                let mut graph = Graph::new(context, &body, &ranges);
                let with = Replacement { bindings: &m.bindings, accumulate: None };
                let term = instantiate(&mut graph, pattern, &with).ok()?;
                (graph.plan(term), term)
            };
            let mut b = Builder { context, body: &mut body, at: InsertPoint::End(block), loc: Loc::Unknown };
            sides.push(plan.emit(&mut b, term, &mut Emitted::default()).ok()?);
        }
        // Of no elements nothing is said.
        let hull = |t: &Tensor| {
            let defined = t.to_f64s().into_iter().filter(|x| !x.is_nan());
            defined.map(Enclosure::point).reduce(Enclosure::hull)
        };
        let given = inputs.iter().map(|t| hull(t).unwrap_or(Enclosure::point(0.0))).collect();
        Some(Instance {
            body,
            arguments,
            names,
            inputs,
            chosen,
            given,
            left: *sides.first()?,
            right: None,
            moved: Vec::new(),
            unrounded: sides.get(1).copied(),
            bindings: m.bindings,
            module: OnceCell::new(),
            known: RefCell::default(),
        })
    }

    /// Applies the rule to the left side; false if its pattern does not stand there.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn apply(&mut self, context: &Context, rules: &RuleSet, rule: &CompiledRule) -> Result<bool, String> {
        let asks = !rule.rule.conditions.is_empty() || matches!(rule.rule.right, Pattern::Rational(..));
        let ranges = if asks { Ranges::of_body(&self.body, &self.given) } else { Ranges::default() };
        let mut graph = Graph::new(context, &self.body, &ranges);
        let (m, term) =
            match (Matcher { graph: &mut graph, rules }).attempt(rule, Term::Value(self.left), true) {
                Attempt::Applies(m, term) => (m, term),
                Attempt::Refused(_, Refusal::Unproven(why) | Refusal::Pointless(why)) => return Err(why),
                Attempt::None => return Ok(false),
            };
        let mut terms = vec![term];
        if rule.rule.label == Label::ErrorBounded {
            let with = Replacement { bindings: &m.bindings, accumulate: None };
            for pattern in moved(context, &rule.rule.right) {
                terms.push(instantiate(&mut graph, &pattern, &with)?);
            }
        }
        let plans: Vec<_> = terms.iter().map(|&t| graph.plan(t)).collect();
        let Some(block) = self.body.entry() else { return Ok(false) };
        let mut b = Builder { context, body: &mut self.body, at: InsertPoint::End(block), loc: Loc::Unknown };
        let mut values = Vec::new();
        for (plan, term) in plans.iter().zip(terms) {
            values.push(plan.emit(&mut b, term, &mut Emitted::default())?);
        }
        self.right = values.first().copied();
        self.moved = values[1..].chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        Ok(true)
    }

    /// Whether another rule with the same left side is refused here.
    pub fn refuses(&self, context: &Context, rules: &RuleSet, rule: &CompiledRule) -> bool {
        let ranges = Ranges::of_body(&self.body, &self.given);
        let mut graph = Graph::new(context, &self.body, &ranges);
        let attempt = (Matcher { graph: &mut graph, rules }).attempt(rule, Term::Value(self.left), true);
        !matches!(attempt, Attempt::Applies(..))
    }

    /// Types of the arguments.
    pub fn types(&self) -> Vec<Type> {
        self.arguments.iter().map(|&v| self.body.ty(v)).collect()
    }

    /// The values of all terms for these inputs; nothing where some op has none.
    pub fn evaluate(&self, context: &Context, mode: Mode, inputs: &[Tensor]) -> Option<Values> {
        let module = self.module.get_or_init(|| {
            let body = self.returning(context, &[self.left]).ok()?;
            module(context, body, &self.types()).ok()
        });
        Values::of(context, module.as_ref()?, &self.body, Evaluator { mode }, inputs)
    }

    /// The exact values of all terms, computed once.
    pub fn exact(&self, context: &Context, bits: u32) -> Option<Rc<Values>> {
        let known = self.known.borrow().iter().find(|(b, _)| *b == bits).map(|(_, values)| values.clone());
        known.unwrap_or_else(|| {
            let values = self.evaluate(context, Mode::Real { bits }, &self.inputs).map(Rc::new);
            self.known.borrow_mut().push((bits, values.clone()));
            values
        })
    }

    /// Inputs, constants and attributes.
    pub fn describe(&self) -> String {
        let inputs = self.names.iter().zip(&self.inputs).map(|(name, t)| {
            let values = t.to_f64s();
            match &t.shape[..] {
                [] => format!("?{name} = {:?} : {}", values.first().copied().unwrap_or(f64::NAN), t.dtype),
                shape => format!("?{name} = {values:?} : {} {shape:?}", t.dtype),
            }
        });
        let chosen = self.chosen.iter().map(|(name, value)| format!("?{name} = {value}"));
        inputs.chain(chosen).collect::<Vec<_>>().join("; ")
    }

    /// Both sides, the left one first; nothing before the rule was applied.
    pub fn sides(&self) -> Option<[Value; 2]> {
        Some([self.left, self.right?])
    }

    /// The shape of the result.
    pub fn shape(&self) -> Vec<usize> {
        let shape = self.body.ty(self.left).shape().unwrap_or_default();
        shape.iter().map(|d| d.known().unwrap_or(0)).collect()
    }

    /// The body with a return of these values.
    pub fn returning(&self, context: &Context, results: &[Value]) -> Result<Body, String> {
        let mut body = self.body.clone();
        let block = body.entry().ok_or("the instance has no block")?;
        let mut b = Builder { context, body: &mut body, at: InsertPoint::End(block), loc: Loc::Unknown };
        b.op("func.return", results, AttrDict::EMPTY)?;
        Ok(body)
    }

    /// The least normal number of a value's format: what relative errors are relative to at least.
    pub fn format_floor(&self, value: Value) -> f64 {
        self.body.ty(value).format().map_or(1.0, Format::min_normal)
    }
}

/// A random term of sums, products and quotients of arguments and small numbers.
fn grown(
    b: &mut Builder<'_>,
    random: &mut ngc_numerics::Random,
    arguments: &[Value],
    format: Format,
    depth: usize,
) -> Option<Value> {
    const OPS: [&str; 9] =
        ["ng.add", "ng.sub", "ng.mul", "ng.add", "ng.sub", "ng.mul", "ng.div", "ng.square", "ng.neg"];
    if depth == 0 || random.chance(20) {
        if random.chance(70) {
            return Some(random.pick(arguments));
        }
        let number = Tensor::scalar(format, random.pick(&[1.0, 2.0, -1.0, 0.5, 3.0]));
        return b.constant(tensor_to_attr(&number)).ok();
    }
    let op = random.pick(&OPS);
    let count = if matches!(op, "ng.square" | "ng.neg") { 1 } else { 2 };
    let operands: Option<Vec<Value>> =
        (0..count).map(|_| grown(b, random, arguments, format, depth - 1)).collect();
    b.emit(op, &operands?, AttrDict::EMPTY).ok()
}

/// A module whose only function, `instance`, has this body.
fn module(context: &Context, body: Body, arguments: &[Type]) -> Result<Module, String> {
    let end = body.entry().and_then(|b| body.last_op(b)).ok_or("the instance returns nothing")?;
    let results: Vec<Type> = body.operands(end).iter().map(|&v| body.ty(v)).collect();
    let def = context.op("func.func").ok_or("func.func is not registered")?;
    let mut state = OpState::new(def, Loc::Unknown);
    state.attrs.set("sym_name", "instance");
    state.attrs.set("function_type", Attr::Type(Type::function(arguments, &results)));
    let mut module = Module::new();
    let op = module.body.create(state);
    module.body.set_body(op, body);
    let top = module.body.entry().ok_or("the module has no block")?;
    module.body.append(top, op);
    Ok(module)
}

fn tensor_type(t: &Tensor) -> Type {
    match t.rank() {
        0 => Type::scalar(t.dtype),
        _ => Type::tensor(t.shape.iter().map(|&n| Dim::Static(n)), t.dtype),
    }
}

/// The right side with each of its computed numbers, one after the other, moved up and down.
///
/// A number is computed in f64 by `k` operations, each with a relative error of at most 2^-53; it is moved by
/// `(k + 1) 2^-52`, more than twice that, so that to first order the difference between the sides that rounding explains is
/// at most half of what the move makes. An expression that cancels loses more, and its rule is refused.
fn moved(context: &Context, right: &Pattern) -> Vec<Pattern> {
    let mut count = 0;
    each_computed(context, &mut right.clone(), &mut |_| count += 1);
    let mut all = Vec::new();
    for n in 0..count {
        for sign in [1.0, -1.0] {
            let (mut pattern, mut at) = (right.clone(), 0);
            each_computed(context, &mut pattern, &mut |e| {
                if at == n {
                    let by = 1.0 + sign * (operations(e) + 1) as f64 * f64::EPSILON;
                    let old = std::mem::replace(e, Expr::Number(by));
                    *e = Expr::Binary(Infix::Mul, Box::new(old), Box::new(Expr::Number(by)));
                }
                at += 1;
            });
            all.push(pattern);
        }
    }
    all
}

/// Calls `f` for every real number of a right side that is computed with at least one rounding.
fn each_computed(context: &Context, pattern: &mut Pattern, f: &mut dyn FnMut(&mut Expr)) {
    match pattern {
        Pattern::Computed(e, _) if operations(e) > 0 => f(e),
        Pattern::Op(op) => {
            let def = context.op(op.op.as_str());
            for (name, e) in &mut op.attrs {
                let kind = def.and_then(|d| d.attribute(name.as_str())).map(|a| a.kind);
                if kind == Some(AttrKind::Float) && operations(e) > 0 {
                    f(e);
                }
            }
            op.args.iter_mut().for_each(|arg| each_computed(context, arg, f));
        }
        _ => {}
    }
}

/// Roundings in the evaluation of an expression.
fn operations(e: &Expr) -> usize {
    match e {
        Expr::Binary(_, a, b) => 1 + operations(a) + operations(b),
        Expr::Neg(e) | Expr::Not(e) => operations(e),
        Expr::Call(name, args, _) => {
            let exact = matches!(name.as_str(), "value" | "abs" | "count" | "size" | "length" | "rank");
            usize::from(!exact) + args.iter().map(operations).sum::<usize>()
        }
        Expr::List(items) => items.iter().map(operations).sum(),
        Expr::Number(_) | Expr::Word(_) | Expr::Var(..) => 0,
    }
}
