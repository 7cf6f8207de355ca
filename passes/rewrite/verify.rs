//! Checks rules: no rule is believed.
//!
//! A rule is tried on random instances: shapes, formats, attributes, constants and points. The left side is built as a
//! function, and the rule is applied to it by the very matcher, conditions and builder that the searches use. Where it
//! applies, both sides are evaluated at [`BITS`] bits and must agree.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_interp::Interpreter;
use ngc_ir::op_def::{AttrKind, ValueKind};
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Dim, Ident, InsertPoint, Loc, Module, OpState, Type, Value,
};
use ngc_numerics::{DType, Data, Enclosure, Evaluator, Format, Mode, Tensor};
use rug::Float;

use super::apply::{Replacement, instantiate};
use super::compile::{CompiledRule, RuleSet};
use super::conditions::Bound;
use super::graph::{Graph, Term};
use super::matcher::{Attempt, Match, Matcher};
use super::rule::{Expr, Label, Pattern};
use crate::analysis::range::Ranges;

/// Precision of the evaluation: what equality to 1e-80 takes (266 bits), and what cancellation of numbers as large as
/// e^30 may lose on the way.
pub const BITS: u32 = 400;

/// Largest relative difference of two sides that count as equal, and the absolute one below which both count as zero.
const RELATIVE: f64 = 1e-80;
const ABSOLUTE: f64 = 1e-84;

/// How much evidence is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Points that must agree.
    pub points: usize,
    /// Different combinations of argument types that must occur.
    pub shapes: usize,
    /// Instances to draw before giving up.
    pub trials: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { points: 1000, shapes: 5, trials: 160_000 }
    }
}

/// What was found of a rule.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its name.
    pub rule: String,
    /// Instances that it applied to.
    pub instances: usize,
    /// Points at which both sides were defined and agreed.
    pub points: usize,
    /// Different combinations of argument types among the instances.
    pub shapes: usize,
    /// An instance at which the sides differ, or why there was no evidence.
    pub failure: Option<String>,
}

impl Report {
    /// Whether the rule stands.
    pub fn passed(&self) -> bool {
        self.failure.is_none()
    }
}

/// Compares the two sides of a rule at random instances. The result depends on the rule and the effort alone.
pub fn verify_rule(context: &Context, rules: &RuleSet, rule: &CompiledRule, effort: Effort) -> Report {
    let mut random = Random::seeded(&rule.rule.name);
    let mut report =
        Report { rule: rule.rule.name.clone(), instances: 0, points: 0, shapes: 0, failure: None };
    let mut seen: Vec<Vec<Type>> = Vec::new();
    let mut last_refusal = None;
    for _ in 0..effort.trials {
        if report.points >= effort.points && report.shapes >= effort.shapes {
            return report;
        }
        let Some(mut instance) = Instance::draw(context, rule, &mut random) else { continue };
        match instance.apply(context, rules, rule) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => {
                last_refusal = Some(why);
                continue;
            }
        }
        match instance.compare(context) {
            Ok(points) => {
                report.points += points;
                report.instances += 1;
                if points > 0 && !seen.contains(&instance.types()) {
                    seen.push(instance.types());
                    report.shapes = seen.len();
                }
            }
            Err(why) => {
                report.failure = Some(why);
                return report;
            }
        }
    }
    if report.points == 0 {
        let why = last_refusal.map(|w| format!(" (last refusal: {w})")).unwrap_or_default();
        report.failure = Some(format!("no instance was found to which the rule applies{why}"));
    } else {
        report.failure =
            Some(format!("only {} points on {} shapes were found", report.points, report.shapes));
    }
    report
}

/// A function with both sides of a rule, and inputs.
struct Instance {
    body: Body,
    arguments: Vec<Value>,
    inputs: Vec<Tensor>,
    left: Value,
    right: Option<Value>,
}

impl Instance {
    /// The left side on random shapes, attributes, constants and inputs; nothing if they do not fit together.
    fn draw(context: &Context, rule: &CompiledRule, random: &mut Random) -> Option<Instance> {
        let mut variables = Variables::default();
        variables.collect(context, &rule.rule.left);
        let format = *random.pick(&[Format::F64, Format::F64, Format::F32, Format::F16, Format::Bf16]);
        let rank = random.below(4)
            + usize::from(variables.attrs.iter().any(|(_, kind, _)| *kind != AttrKind::Float));
        let base: Vec<usize> = (0..rank.min(4)).map(|_| *random.pick(&[1, 2, 3, 2])).collect();
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut m = Match::default();
        let (mut arguments, mut inputs) = (Vec::new(), Vec::new());
        for &(name, kind) in &variables.terms {
            let shape = random.shape(&base);
            let dtype = match kind {
                ValueKind::Int => DType::Int(64),
                ValueKind::Bool => DType::Int(1),
                _ => DType::Float(format),
            };
            let input = random.tensor(dtype, shape)?;
            let ty = tensor_type(&input);
            let value = body.add_argument(block, ty, Loc::Unknown);
            m.bindings.bind(name, Bound::Term(Term::Value(value)));
            arguments.push(value);
            inputs.push(input);
        }
        for &name in &variables.constants {
            let mut value = random.constant(&base, format);
            if rule.rule.label == Label::ErrorBounded {
                // What the rule computes of a power of two is exact, so that its algebra can be compared.
                value = value.signum() * 2f64.powi(value.abs().max(0.125).log2().round() as i32);
            }
            // A constant may be written as a tensor, and then takes part in broadcasting.
            let shape = if random.below(3) == 0 { random.shape(&base) } else { vec![] };
            let value = Tensor::scalar(format, value).broadcast_to(&shape).ok()?;
            let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
            let value = b.constant(tensor_to_attr(&value)).ok()?;
            m.bindings.bind(name, Bound::Term(Term::Value(value)));
        }
        for (name, kind, of) in &variables.attrs {
            let value = random.attribute(*kind, of.as_str(), &base, format);
            m.bindings.bind(*name, Bound::Attr(value));
        }
        let ranges = Ranges::default();
        let plan = {
            let mut graph = Graph::new(context, &body, &ranges);
            let with = Replacement { bindings: &m.bindings, accumulate: None };
            let left = instantiate(&mut graph, &rule.rule.left, &with).ok()?;
            (graph.plan(left), left)
        };
        let mut b = Builder { context, body: &mut body, at: InsertPoint::End(block), loc: Loc::Unknown };
        let left = plan.0.emit(&mut b, plan.1).ok()?;
        Some(Instance { body, arguments, inputs, left, right: None })
    }

    /// Applies the rule to the left side; false if its pattern does not stand there.
    fn apply(&mut self, context: &Context, rules: &RuleSet, rule: &CompiledRule) -> Result<bool, String> {
        let hull = |t: &Tensor| t.to_f64s().into_iter().map(Enclosure::point).reduce(Enclosure::hull);
        let given: Option<Vec<_>> = self.inputs.iter().map(hull).collect();
        let Some(given) = given else { return Ok(false) };
        let ranges = Ranges::of_body(&self.body, &given);
        let mut graph = Graph::new(context, &self.body, &ranges);
        let (plan, term) =
            match (Matcher { graph: &mut graph, rules }).attempt(rule, Term::Value(self.left), true) {
                Attempt::Applies(_, term) => (graph.plan(term), term),
                Attempt::Refused(_, why) => return Err(format!("{why:?}")),
                Attempt::None => return Ok(false),
            };
        let Some(block) = self.body.entry() else { return Ok(false) };
        let mut b = Builder { context, body: &mut self.body, at: InsertPoint::End(block), loc: Loc::Unknown };
        self.right = Some(plan.emit(&mut b, term)?);
        Ok(true)
    }

    fn types(&self) -> Vec<Type> {
        self.arguments.iter().map(|&v| self.body.ty(v)).collect()
    }

    /// The number of points at which the sides agree; the message shows one where they do not.
    fn compare(&self, context: &Context) -> Result<usize, String> {
        let right = self.right.ok_or("the rule was not applied")?;
        let module = self.module(context, right)?;
        let evaluator = Evaluator { mode: Mode::Real { bits: BITS } };
        let Ok(outputs) = Interpreter::new(context, &module, evaluator).call("instance", &self.inputs) else {
            // Such as a class index out of range: the left side has no value, and there is no point to compare.
            return Ok(0);
        };
        let [left, right] = &outputs[..] else { return Err("two results were expected".into()) };
        if left.shape != right.shape {
            return Err(format!("the shape changes from {:?} to {:?}", left.shape, right.shape));
        }
        let (a, b) = (reals(left), reals(right));
        let mut points = 0;
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            if a.is_nan() || a.is_infinite() {
                // The left side is undefined here.
                continue;
            }
            if !agree(a, b) {
                let inputs: Vec<String> =
                    self.inputs.iter().map(|t| format!("{:?} {:?}", t.shape, t.to_f64s())).collect();
                return Err(format!(
                    "element {i}: left {:.20e}, right {:.20e}, at {}",
                    a.to_f64(),
                    b.to_f64(),
                    inputs.join("; ")
                ));
            }
            points += 1;
        }
        Ok(points)
    }

    /// A module whose function returns both sides.
    fn module(&self, context: &Context, right: Value) -> Result<Module, String> {
        let mut body = self.body.clone();
        let block = body.entry().ok_or("the instance has no block")?;
        let mut b = Builder { context, body: &mut body, at: InsertPoint::End(block), loc: Loc::Unknown };
        b.op("func.return", &[self.left, right], AttrDict::EMPTY)?;
        let results = [body.ty(self.left), body.ty(right)];
        let def = context.op("func.func").ok_or("func.func is not registered")?;
        let mut state = OpState::new(def, Loc::Unknown);
        state.attrs.set("sym_name", "instance");
        state.attrs.set("function_type", Attr::Type(Type::function(&self.types(), &results)));
        let mut module = Module::new();
        let op = module.body.create(state);
        module.body.set_body(op, body);
        let top = module.body.entry().ok_or("the module has no block")?;
        module.body.append(top, op);
        Ok(module)
    }
}

fn tensor_type(t: &Tensor) -> Type {
    match t.rank() {
        0 => Type::scalar(t.dtype),
        _ => Type::tensor(t.shape.iter().map(|&n| Dim::Static(n)), t.dtype),
    }
}

fn reals(t: &Tensor) -> Vec<Float> {
    match &t.data {
        Data::Real(v) => v.clone(),
        _ => t.to_f64s().into_iter().map(|x| Float::with_val(BITS, x)).collect(),
    }
}

fn agree(a: &Float, b: &Float) -> bool {
    if b.is_nan() || b.is_infinite() {
        return false;
    }
    let difference = Float::with_val(BITS, a - b).abs();
    let scale = a.clone().abs().max(&b.clone().abs());
    difference <= scale * RELATIVE || difference <= ABSOLUTE
}

/// What must be chosen for an instance.
#[derive(Default)]
struct Variables {
    /// Term variables with the kind of their elements.
    terms: Vec<(Ident, ValueKind)>,
    constants: Vec<Ident>,
    /// Attribute variables with their kind and the attribute's name; an item of a list is an integer.
    attrs: Vec<(Ident, AttrKind, Ident)>,
}

impl Variables {
    fn collect(&mut self, context: &Context, pattern: &Pattern) {
        let Pattern::Op(op) = pattern else { return };
        let Some(def) = context.op(op.op.as_str()) else { return };
        for (i, arg) in op.args.iter().enumerate() {
            match arg {
                Pattern::Var(name, _) if self.subterm(pattern, *name) => {}
                Pattern::Var(name, _) => {
                    let kind = def.operands.get(i).map_or(ValueKind::Float, |o| o.kind);
                    if !self.terms.iter().any(|(n, _)| n == name) {
                        self.terms.push((*name, kind));
                    }
                }
                Pattern::Const(name, _) if !self.constants.contains(name) => self.constants.push(*name),
                _ => self.collect(context, arg),
            }
        }
        for (name, value) in &op.attrs {
            let kind = def.attribute(name.as_str()).map_or(AttrKind::Any, |a| a.kind);
            match value {
                Expr::Var(v, _) => self.attribute(*v, kind, *name),
                Expr::List(items) => items.iter().for_each(|i| {
                    if let Expr::Var(v, _) = i {
                        self.attribute(*v, AttrKind::Int, *name);
                    }
                }),
                _ => {}
            }
        }
    }

    fn subterm(&self, pattern: &Pattern, name: Ident) -> bool {
        pattern.root().is_some_and(|op| {
            op.args.iter().any(|a| a.root().is_some_and(|o| o.bind == Some(name)) || self.subterm(a, name))
        })
    }

    fn attribute(&mut self, name: Ident, kind: AttrKind, of: Ident) {
        if !self.attrs.iter().any(|(n, ..)| *n == name) {
            self.attrs.push((name, kind, of));
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn seeded(text: &str) -> Random {
        Random(
            text.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The base shape most often; else one that broadcasts with it, or lacks a dimension, or has the last two swapped,
    /// or a column that a matrix of the base shape may be multiplied by.
    fn shape(&mut self, base: &[usize]) -> Vec<usize> {
        let mut shape = base.to_vec();
        match self.below(10) {
            0 if !shape.is_empty() => {
                let axis = self.below(shape.len());
                shape[axis] = 1;
            }
            1 if !shape.is_empty() => {
                shape.remove(0);
            }
            2 if !shape.is_empty() => {
                let axis = self.below(shape.len());
                shape.remove(axis);
            }
            3 if shape.len() >= 2 => {
                let n = shape.len();
                shape.swap(n - 1, n - 2);
            }
            4 if !shape.is_empty() => {
                let n = shape.len();
                shape[n - 1] = *self.pick(&[1, 2, 3]);
            }
            5 => shape.clear(),
            6 => shape = base.last().map_or_else(Vec::new, |&n| vec![n, 1]),
            _ => {}
        }
        shape
    }

    /// Points of one of several kinds: around zero, positive, in the unit interval, tiny, large, all equal.
    fn tensor(&mut self, dtype: DType, shape: Vec<usize>) -> Option<Tensor> {
        let count: usize = shape.iter().product();
        let DType::Float(format) = dtype else {
            let values = (0..count).map(|_| self.below(2) as i64).collect();
            return Tensor::ints(dtype, shape, values).ok();
        };
        let (lo, hi) =
            *self.pick(&[(-3.0, 3.0), (0.1, 3.0), (0.0, 1.0), (-1e-3, 1e-3), (-30.0, 30.0), (2.0, 2.0)]);
        let values = (0..count).map(|_| self.uniform(lo, hi)).collect();
        Tensor::floats(format, shape, values).ok()
    }

    /// A constant that conditions may ask for: a number of elements, one less, one, a power of two, a small
    /// number.
    fn constant(&mut self, base: &[usize], format: Format) -> f64 {
        let count: usize = base.iter().filter(|_| self.below(2) == 0).product();
        let count = count as f64;
        format.round(*self.pick(&[count, count, count - 1.0, 1.0, 0.125, 0.5, 2.0, 4.0, -2.0, 1e-3]))
    }

    fn attribute(&mut self, kind: AttrKind, name: &str, base: &[usize], format: Format) -> Attr {
        let rank = base.len().max(1);
        match kind {
            AttrKind::Int => Attr::int(self.below(rank) as i64),
            AttrKind::Float => Attr::float(*self.pick(&[0.5, 1e-3, 2.0])),
            AttrKind::Bool => Attr::Bool(self.below(2) == 0),
            AttrKind::Enum(words) => (*self.pick(words)).into(),
            AttrKind::ElemType | AttrKind::Format => {
                Attr::Type(Type::float(*self.pick(&[format, Format::F32])))
            }
            _ if name == "permutation" => {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                if rank >= 2 {
                    let (i, j) = if self.below(4) > 0 { (rank - 1, rank - 2) } else { (0, rank - 1) };
                    order.swap(i, j);
                }
                order.into()
            }
            _ if name == "shape" => {
                let mut shape = base.to_vec();
                if !shape.is_empty() && self.below(3) > 0 {
                    let axis = self.below(shape.len());
                    shape[axis] = 1;
                }
                Attr::ints(shape.into_iter().map(|n| n as i64))
            }
            _ => {
                let mut axes: Vec<i64> = (0..rank as i64).filter(|_| self.below(2) == 0).collect();
                if axes.is_empty() {
                    axes.push(self.below(rank) as i64);
                }
                axes.into()
            }
        }
    }
}
