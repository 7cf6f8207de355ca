//! Left sides of laws grown into each other: what one law at a time cannot show. Operands are shared, constant, zero in
//! disguise, or the left side of another law; there may be a choice at the end, and two results. Wherever every term that a
//! result depends on has a value, be others undefined, the searched function has the same result over the reals, and in its
//! format it lies within the printed bound.

use crate::support::values::reals;
use crate::support::{evaluate_all, evidence, function, search};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Attr, AttrDict, Block, Body, Builder, Context, InsertPoint, Loc, Module, OpState, Type, Value};
use ngc_numerics::{Cmp, DType, Format, Mode, Random, Reduce, Tensor};
use ngc_reals::Number;
use ngc_reals::laws::text::{Expr, Relation};
use ngc_reals::laws::{Law, Laws};
use rayon::prelude::*;
use rug::Float;

const SHAPES: [&[usize]; 5] = [&[], &[], &[3], &[2, 3], &[2, 2]];
const RANGES: [(f64, f64); 8] = [
    (-3.0, 3.0),
    (-3.0, 3.0),
    (0.0, 1.0),
    (0.125, 3.0),
    (-1.0, 1.0),
    (-30.0, 30.0),
    (-f64::INFINITY, f64::INFINITY),
    (2.0, 2.0),
];
/// What differs at each of these precisions is different: at few bits nothing is left of small differences, such as that of the
/// squares of cosh and sinh at 20 000.
const BITS: [u32; 4] = [400, 4_000, 40_000, 400_000];

/// A function in the making.
struct Sketch<'a> {
    context: &'a Context,
    body: Body,
    block: Block,
    r: Random,
    format: Format,
    shape: &'static [usize],
    arguments: Vec<(f64, f64)>,
    /// What may be an operand.
    pool: Vec<Value>,
}

impl<'a> Sketch<'a> {
    fn new(context: &'a Context, mut r: Random) -> Sketch<'a> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let format = r.pick(&[Format::F64, Format::F32, Format::F32, Format::F16]);
        let shape = r.pick(&SHAPES);
        let mut sketch =
            Sketch { context, body, block, r, format, shape, arguments: Vec::new(), pool: Vec::new() };
        for _ in 0..1 + sketch.r.below(3) {
            let range = sketch.r.pick(&RANGES);
            let value = sketch.body.add_argument(block, ty(shape, format), Loc::Unknown);
            sketch.arguments.push(range);
            sketch.pool.push(value);
        }
        sketch
    }

    fn builder(&mut self) -> Builder<'_> {
        let at = InsertPoint::End(self.block);
        Builder { context: self.context, body: &mut self.body, at, loc: Loc::Unknown }
    }

    fn number(&mut self, n: f64) -> Value {
        let n = Tensor::scalar(self.format, self.format.round(n));
        self.builder().constant(ngc_dialects::ng::constant::tensor_to_attr(&n)).expect("a constant")
    }

    /// An operand: an earlier value as it is, or moved, turned, made zero or one in a roundabout way; or a number.
    fn operand(&mut self) -> Value {
        let (x, y) = (self.r.pick(&self.pool), self.r.pick(&self.pool));
        let n = self.r.pick(&[1.0, 2.0, -1.0, 0.5, 3.0]);
        let op = match self.r.below(24) {
            0 => return self.number(0.0),
            1 | 2 => return self.number(n),
            3 => ("ng.sub", vec![x, x]),
            4 => ("ng.sub", vec![x, y]),
            5 => ("ng.add", vec![x, y]),
            6 => ("ng.mul", vec![x, y]),
            7 => ("ng.neg", vec![x]),
            8 => ("ng.square", vec![x]),
            9 => ("ng.exp", vec![x]),
            10 => ("ng.add", vec![x, self.number(n)]),
            11 => ("ng.mul", vec![x, self.number(n)]),
            12 => ("ng.sub", vec![self.number(n), x]),
            13 => ("ng.abs", vec![x]),
            14 => ("ng.div", vec![x, y]),
            15 => ("ng.relu", vec![x]),
            _ => return x,
        };
        self.builder().emit(op.0, &op.1, AttrDict::EMPTY).unwrap_or(x)
    }

    /// The left side of a law on earlier values; false if it cannot be written.
    fn grow(&mut self, law: &Law) -> bool {
        let variables: Vec<Value> = law.text.variables.iter().map(|_| self.operand()).collect();
        let Some(value) = self.side(&law.text.left, &variables) else { return false };
        let fits = self.body.ty(value).format() == Some(self.format);
        if fits {
            self.pool.push(value);
        }
        fits
    }

    fn op(&mut self, name: &str, operands: &[Value], attrs: AttrDict) -> Option<Value> {
        self.builder().emit(&format!("ng.{name}"), operands, attrs).ok()
    }

    /// A side of a law, as it is written.
    fn side(&mut self, of: &Expr, variables: &[Value]) -> Option<Value> {
        match of {
            Expr::Number(Number::Finite(x)) => Some(self.number(x.to_f64())),
            Expr::Number(_) => None,
            Expr::Variable(n) => Some(variables[*n]),
            Expr::Sum(terms) => {
                let mut sum = None;
                for (sign, term) in terms {
                    let term = self.side(term, variables)?;
                    sum = Some(match (sum, *sign > 0) {
                        (None, true) => term,
                        (None, false) => self.op("neg", &[term], AttrDict::EMPTY)?,
                        (Some(sum), true) => self.op("add", &[sum, term], AttrDict::EMPTY)?,
                        (Some(sum), false) => self.op("sub", &[sum, term], AttrDict::EMPTY)?,
                    });
                }
                sum
            }
            Expr::Product(factors) => {
                let mut product = None;
                for (factor, exponent) in factors {
                    let factor = self.side(factor, variables)?;
                    product = Some(match (product, *exponent > 0) {
                        (None, true) => factor,
                        (None, false) => self.op("reciprocal", &[factor], AttrDict::EMPTY)?,
                        (Some(product), true) => self.op("mul", &[product, factor], AttrDict::EMPTY)?,
                        (Some(product), false) => self.op("div", &[product, factor], AttrDict::EMPTY)?,
                    });
                }
                product
            }
            Expr::Power(both) => {
                let (base, exponent) = (self.side(&both.0, variables)?, self.side(&both.1, variables)?);
                self.op("pow", &[base, exponent], AttrDict::EMPTY)
            }
            Expr::Call(prim, operands) => {
                let operands: Option<Vec<Value>> = operands.iter().map(|x| self.side(x, variables)).collect();
                self.op(prim.name(), &operands?, AttrDict::EMPTY)
            }
            Expr::Reduce(reduce, body) => {
                let body = self.side(body, variables)?;
                let rank = self.body.ty(body).shape().map_or(0, <[_]>::len) as i64;
                let name = match reduce {
                    Reduce::Sum => "reduce_sum",
                    Reduce::Max => "reduce_max",
                    Reduce::Min => "reduce_min",
                    Reduce::Prod => "reduce_prod",
                };
                let attrs = [("axes", Attr::ints([rank - 1])), ("keepdims", Attr::Bool(true))];
                if rank > 0 { self.op(name, &[body], attrs.into()) } else { None }
            }
            Expr::Where(relations, both) => {
                let [relation] = &relations[..] else { return None };
                let condition = self.relation(relation, variables)?;
                let (a, b) = (self.side(&both.0, variables)?, self.side(&both.1, variables)?);
                self.op("where", &[condition, a, b], AttrDict::EMPTY)
            }
        }
    }

    fn relation(&mut self, relation: &Relation, variables: &[Value]) -> Option<Value> {
        let difference = self.side(&relation.difference, variables)?;
        let zero = self.number(0.0);
        let direction = match relation.cmp {
            Cmp::Gt => "GT",
            Cmp::Ge => "GE",
            Cmp::Lt => "LT",
            Cmp::Le => "LE",
            Cmp::Eq => "EQ",
            Cmp::Ne => "NE",
        };
        self.op("compare", &[difference, zero], [("direction", direction.into())].into())
    }

    /// The last value where an argument, or a difference of two values, is positive, and another elsewhere.
    fn choose(&mut self) {
        let last = *self.pool.last().expect("there are arguments");
        let (asked, other) = (self.operand(), self.operand());
        let zero = self.number(0.0);
        let direction: AttrDict = [("direction", "GT".into())].into();
        let both = if self.r.chance(50) { [last, other] } else { [other, last] };
        let mut b = self.builder();
        let Ok(condition) = b.emit("ng.compare", &[asked, zero], direction) else { return };
        if let Ok(value) = b.emit("ng.where", &[condition, both[0], both[1]], AttrDict::EMPTY) {
            self.pool.push(value);
        }
    }

    /// All values of the body.
    fn values(&self) -> Vec<Value> {
        (0..self.body.num_values()).map(Value::from_index).collect()
    }

    /// Whether every term that a value depends on is finite, given what all values are. Of one number the branch that is not
    /// taken does not count.
    fn depends_on_numbers(&self, value: Value, all: &[Tensor], bits: u32) -> bool {
        let tensor = &all[value.index()];
        if tensor.dtype.is_float() && reals(tensor, bits).iter().any(|x| !x.is_finite()) {
            return false;
        }
        let Some(op) = self.body.defining_op(value) else { return true };
        let operands = self.body.operands(op);
        let condition = (self.body.name(op) == "ng.where").then(|| all[operands[0].index()].to_f64s());
        let skipped = match condition.as_deref() {
            Some([one]) if tensor.to_f64s().len() == 1 => {
                if *one == 0.0 {
                    Some(1)
                } else {
                    Some(2)
                }
            }
            _ => None,
        };
        let mut others = operands.iter().enumerate().filter(|(n, _)| Some(*n) != skipped);
        others.all(|(_, &v)| self.depends_on_numbers(v, all, bits))
    }

    /// The function `@f` that returns these values.
    fn module(&self, results: &[Value]) -> Module {
        let mut body = self.body.clone();
        let mut b = Builder::at_end(self.context, &mut body, self.block, Loc::Unknown);
        b.op("func.return", results, AttrDict::EMPTY).expect("a return");
        let types = |values: &[Value]| values.iter().map(|&v| body.ty(v)).collect::<Vec<Type>>();
        let mut state = OpState::new(self.context.op("func.func").expect("func"), Loc::Unknown);
        state.attrs.set("sym_name", "f");
        let signature = Type::function(&types(body.arguments(self.block)), &types(results));
        state.attrs.set("function_type", Attr::Type(signature));
        let ranges = self.arguments.iter().map(|&(lo, hi)| {
            let range = Attr::Array([lo, hi].map(Attr::float).into_iter().collect());
            let stated = lo.is_finite().then_some(("ng.range", range));
            Attr::Dict(stated.map_or(AttrDict::EMPTY, |stated| [stated].into()))
        });
        state.attrs.set("arg_attrs", Attr::Array(ranges.collect()));
        let mut module = Module::new();
        let op = module.body.create(state);
        module.body.set_body(op, body);
        let top = module.body.entry().expect("a block");
        module.body.append(top, op);
        module
    }

    /// Inputs in the ranges, with ends, zeros, ones and equal ones among them.
    fn inputs(&mut self) -> Vec<Tensor> {
        let count = self.shape.iter().product();
        let mut all: Vec<Tensor> = Vec::new();
        for (lo, hi) in self.arguments.clone() {
            let (lo, hi) = (lo.max(-1e3), hi.min(1e3));
            let r = &mut self.r;
            let mut one = |format: Format| {
                let x = match r.below(10) {
                    0 => lo,
                    1 => hi,
                    2 => 0.0,
                    3 => 1.0,
                    4 => -1.0,
                    5 => r.uniform(-1e-3, 1e-3),
                    _ => r.uniform(lo, hi),
                };
                format.round(x.clamp(lo, hi))
            };
            let values = (0..count).map(|_| one(self.format)).collect();
            let tensor = Tensor::floats(self.format, self.shape.to_vec(), values).expect("it fits");
            let equal = self.r.chance(15).then(|| all.last().cloned()).flatten();
            let within = |t: &Tensor| t.to_f64s().iter().all(|x| (lo..=hi).contains(x));
            all.push(equal.filter(within).unwrap_or(tensor));
        }
        all
    }
}

fn ty(shape: &[usize], format: Format) -> Type {
    match shape {
        [] => Type::float(format),
        _ => Type::tensor(shape.iter().map(|&n| n.into()), DType::Float(format)),
    }
}

/// What was found wrong with a function, or how many rewrites were made in it.
fn trial(context: &Context, laws: &[&Law], seed: u64) -> Result<usize, String> {
    let mut sketch = Sketch::new(context, Random::new(seed));
    let mut wanted = 1 + sketch.r.below(3);
    for _ in 0..40 {
        let law = laws[sketch.r.below(laws.len())];
        wanted -= usize::from(sketch.grow(law));
        if wanted == 0 {
            break;
        }
    }
    if sketch.r.chance(25) {
        sketch.choose();
    }
    let mut results = vec![*sketch.pool.last().expect("there are arguments")];
    if sketch.r.chance(25) {
        results.push(sketch.operand());
    }
    let (before, all) = (sketch.module(&results), sketch.module(&sketch.values()));
    if verify(context, &before).is_err() {
        return Ok(0);
    }
    let mut after = before.clone();
    let op = function(&after).0;
    let report = search(context, &mut after, op, true);
    let steps: Vec<&str> = report.applied.iter().map(|s| s.rule.as_str()).collect();
    let shown = |what: String| {
        let text = |m| print_module(m, &PrintOptions::default());
        format!("seed {seed}: {what}\n{}by {}:\n{}", text(&before), steps.join(", "), text(&after))
    };
    verify(context, &after).map_err(|e| shown(format!("{e:?}")))?;
    if steps.is_empty() {
        return Ok(0);
    }
    let mut twice = after.clone();
    let again = search(context, &mut twice, op, false);
    if !again.applied.is_empty() {
        let more: Vec<&str> = again.applied.iter().map(|s| s.rule.as_str()).collect();
        let into = print_module(&twice, &PrintOptions::default());
        return Err(shown(format!("TWICE a second run changes it by {} into\n{into}", more.join(", "))));
    }
    for _ in 0..6 {
        let inputs = sketch.inputs();
        let at = || inputs.iter().map(|t| format!("{:?}", t.to_f64s())).collect::<Vec<_>>().join(", ");
        for (n, &result) in results.iter().enumerate() {
            let mut different = String::new();
            for bits in BITS {
                let real = |m| evaluate_all(context, m, &inputs, Mode::Real { bits });
                if !sketch.depends_on_numbers(result, &real(&all), bits) {
                    different.clear();
                    break;
                }
                different = differences(&real(&before)[n], &real(&after)[n], bits);
                if different.is_empty() {
                    break;
                }
            }
            if !different.is_empty() {
                return Err(shown(format!("REAL {different} at {}", at())));
            }
            // In the format.
            let outcome = report.totals.as_ref().map(|t| t.results[n]).filter(|o| o.nominal.is_none());
            let Some((phi, phi2)) = outcome.map(|o| o.absolute) else { continue };
            let [a, b] =
                [&before, &after].map(|m| evaluate_all(context, m, &inputs, Mode::Rounded).swap_remove(n));
            for (a, b) in a.to_f64s().into_iter().zip(b.to_f64s()) {
                let distance = phi + phi2;
                let near = (a - b).abs() <= distance;
                if distance.is_finite() && !near {
                    return Err(shown(format!(
                        "BOUND {a} and {b} are farther apart than {distance} at {}",
                        at()
                    )));
                }
            }
        }
    }
    Ok(steps.len())
}

/// Where two results differ.
fn differences(x: &Tensor, y: &Tensor, bits: u32) -> String {
    for (x, y) in reals(x, bits).iter().zip(&reals(y, bits)) {
        let difference = Float::with_val(bits, x - y).abs();
        let scale = Float::with_val(bits, x.abs_ref());
        if !(difference <= scale.clone() * 1e-60 || difference <= 1e-70) {
            return format!("{:.20e} became {:.20e}", x.to_f64(), y.to_f64());
        }
    }
    String::new()
}

#[test]
fn laws_grown_into_each_other_keep_the_function() {
    let context = ngc_dialects::context();
    let laws: Vec<&Law> = Laws::bundled().iter().collect();
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let whole = evidence::whole("searches");
    let usual = if whole { 60 } else { 6 };
    let (graphs, seed) = (number("NGC_COMPOSITIONS_GRAPHS", usual), number("NGC_COMPOSITIONS_SEED", 1u64));
    let found: Vec<Result<usize, String>> = (0..graphs)
        .into_par_iter()
        .map(|n| trial(&context, &laws, seed + n).inspect_err(|wrong| eprintln!("{wrong}")))
        .collect();
    let rewritten = found.iter().filter(|f| f.as_ref().is_ok_and(|n| *n > 0)).count();
    let wrong: Vec<&String> = found.iter().filter_map(|f| f.as_ref().err()).collect();
    println!("certificate: {graphs} functions, {rewritten} rewritten, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {graphs} functions", wrong.len());
    assert!(!whole || 4 * rewritten as u64 > graphs, "{rewritten} of {graphs} rewritten");
}
