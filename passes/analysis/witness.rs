//! Inputs on which an op really makes an infinity or a NaN: a seeded search, limited by counts.
//!
//! Patterns of extreme values come first, then each op that is still without a witness is approached: single elements
//! move to the ends of their ranges while the op comes nearer to going wrong, and between two inputs on whose values
//! an operand changes sign a zero is bisected.

use std::sync::Mutex;

use ngc_interp::Interpreter;
use ngc_ir::{Attr, Body, Context, Module, Op, Type};
use ngc_numerics::{DType, Evaluator, Format, Interval, Mode, Random, Tensor};

use super::cause::Goal;

/// An op that may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The op.
    pub op: Op,
    /// How it goes wrong.
    pub goal: Goal,
}

/// Inputs on which an op goes wrong.
#[derive(Clone, Debug)]
pub struct Witness {
    /// One for each argument.
    pub inputs: Vec<Tensor>,
    /// What the op does with them.
    pub effect: Effect,
}

/// How an op goes wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// It makes this infinity or NaN.
    Value(f64),
    /// It cannot be evaluated, as a quotient of integers by zero.
    Refused,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By target.
    pub witnesses: Vec<Option<Witness>>,
    /// Inputs tried.
    pub tries: usize,
}

/// Extents of `?` in inputs.
const EXTENT: usize = 2;
/// Operations on elements that a search may take, roughly.
const WORK: usize = 20_000_000;
/// Elements of an argument that are moved one by one; of a longer one, as many runs of elements.
const PARTS: usize = 64;
/// Halvings between two inputs: more than the bits of a number.
const HALVINGS: usize = 70;

/// The values of the arguments.
type Point = Vec<Vec<f64>>;

/// What a trial shows of a target.
#[derive(Clone, Debug, Default)]
struct Seen {
    hit: Option<Effect>,
    /// How near the op is to going wrong; greater is nearer.
    score: f64,
    /// The operand of the goal.
    operand: Vec<f64>,
}

/// An argument: what it may be.
struct Argument {
    dtype: DType,
    shape: Vec<usize>,
    /// The least and the greatest finite value.
    lo: f64,
    hi: f64,
    /// Whether it may be `-inf`, and `inf`.
    infinite: [bool; 2],
}

impl Argument {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The nearest value of the type in the range.
    fn fit(&self, x: f64) -> f64 {
        if x.is_infinite() && self.infinite[usize::from(x > 0.0)] {
            return x;
        }
        let x = x.clamp(self.lo, self.hi);
        match self.dtype {
            DType::Float(f) => f.round(x).clamp(self.lo, self.hi),
            _ => x.round_ties_even().clamp(self.lo, self.hi),
        }
    }

    fn tensor(&self, values: &[f64]) -> Option<Tensor> {
        match self.dtype {
            DType::Float(f) => Tensor::floats(f, self.shape.clone(), values.to_vec()),
            dtype => Tensor::ints(
                dtype,
                self.shape.clone(),
                values.iter().map(|&x| dtype.wrap(x as i64)).collect(),
            ),
        }
        .ok()
    }
}

/// The least and the greatest value of a type in a range; nothing where there is none.
fn ends(dtype: DType, range: Interval) -> Option<(f64, f64)> {
    if range.is_undefined() {
        return None;
    }
    let (lo, hi) = match dtype {
        DType::Float(f) => inward(f, range),
        _ => {
            let (least, greatest) = if dtype == DType::BOOL { (0, 1) } else { dtype.int_range() };
            (range.lo.max(least as f64).ceil(), range.hi.min(greatest as f64).floor())
        }
    };
    (lo <= hi).then_some((lo, hi))
}

fn inward(format: Format, range: Interval) -> (f64, f64) {
    let max = format.max_finite();
    let (lo, hi) = (range.lo.clamp(-max, max), range.hi.clamp(-max, max));
    let (below, above) = (format.round(lo), format.round(hi));
    (
        if below < lo { format.next_up(below) } else { below },
        if above > hi { format.next_down(above) } else { above },
    )
}

/// The shape of an input; a `?` has an extent in its stated range.
fn shape(ty: Type, ranges: Option<&Attr>) -> Vec<usize> {
    let dims = ty.shape().unwrap_or(&[]);
    let ranges = ranges.and_then(Attr::as_array).unwrap_or_default();
    let open = dims.iter().filter(|d| d.known().is_none()).count();
    let mut seen = 0;
    let mut extents = Vec::with_capacity(dims.len());
    for (d, dim) in dims.iter().enumerate() {
        // In the order of the open dimensions, or of all.
        let range = if ranges.len() == open { ranges.get(seen) } else { ranges.get(d) };
        seen += usize::from(dim.known().is_none());
        let end = |i: usize| usize::try_from(range?.as_array()?.get(i)?.as_int()?).ok();
        let (least, most) = (end(0).unwrap_or(0), end(1).unwrap_or(usize::MAX));
        extents.push(dim.known().unwrap_or(EXTENT.min(most).max(least)));
    }
    extents
}

/// Searches inputs of the function `function`, in the given ranges, on which the targets go wrong; tries at most `limit`.
pub fn search(
    context: &Context,
    module: &Module,
    function: Op,
    ranges: &[Interval],
    targets: &[Target],
    limit: usize,
) -> Outcome {
    let nothing = || Outcome { witnesses: vec![None; targets.len()], tries: 0 };
    let Some(body) = module.body.body(function) else { return nothing() };
    let name = module.body.attr(function, "sym_name").and_then(Attr::as_str).unwrap_or("");
    let dicts = module.body.attr(function, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let values = body.entry().map_or(&[][..], |b| body.arguments(b));
    let arguments: Option<Vec<Argument>> = values
        .iter()
        .zip(ranges)
        .enumerate()
        .map(|(n, (&v, &range))| {
            let ty = body.ty(v);
            let dtype = ty.elem()?;
            let extents = match dicts.get(n) {
                Some(Attr::Dict(dict)) => dict.get("ng.dim_range"),
                _ => None,
            };
            let (lo, hi) = ends(dtype, range)?;
            let infinite = [range.lo, range.hi].map(|x| dtype.is_float() && x.is_infinite());
            Some(Argument { dtype, shape: shape(ty, extents), lo, hi, infinite })
        })
        .collect();
    let Some(arguments) = arguments.filter(|_| !targets.is_empty()) else { return nothing() };
    let limit = limit.min(WORK / cost(body).max(1));
    let seen = Mutex::new((vec![None; targets.len()], None));
    let observe = |op: Op, operands: &[&Tensor], results: &[Tensor]| {
        let mut state = seen.lock().unwrap_or_else(|e| e.into_inner());
        state.1 = Some(op);
        for (slot, target) in state.0.iter_mut().zip(targets) {
            if target.op == op {
                *slot = Some(look(target.goal, operands, results));
            }
        }
    };
    let interpreter =
        Interpreter::new(context, module, Evaluator { mode: Mode::Rounded }).with_observer(&observe);
    let run = |point: &Point| -> Option<Vec<Option<Seen>>> {
        let inputs: Vec<Tensor> =
            arguments.iter().zip(point).map(|(a, values)| a.tensor(values)).collect::<Option<_>>()?;
        *seen.lock().unwrap_or_else(|e| e.into_inner()) = (vec![None; targets.len()], None);
        let failed = interpreter.call(name, &inputs).is_err();
        let (mut found, last) = seen.lock().unwrap_or_else(|e| e.into_inner()).clone();
        if failed {
            // The op after the last that was shown.
            let next = last.map_or_else(|| body.entry().and_then(|b| body.first_op(b)), |op| body.next(op));
            for (slot, target) in found.iter_mut().zip(targets) {
                if Some(target.op) == next && matches!(target.goal, Goal::Zero(_) | Goal::Below(..)) {
                    *slot = Some(Seen { hit: Some(Effect::Refused), ..Seen::default() });
                }
            }
        }
        Some(found)
    };
    let mut hunt = Hunt {
        arguments: &arguments,
        targets,
        run: &run,
        best: vec![None; targets.len()],
        found: vec![None; targets.len()],
        sides: vec![(None, None); targets.len()],
        tries: 0,
        limit,
    };
    let mut random = Random::seeded(name);
    hunt.patterns(&mut random);
    for target in 0..targets.len() {
        // Each gets its part of what is left.
        let open = hunt.found[target..].iter().filter(|f| f.is_none()).count().max(1);
        hunt.limit = hunt.tries + (limit - hunt.tries) / open;
        hunt.bisect(target);
        hunt.climb(target);
        hunt.bisect(target);
    }
    let witness = |found: &Option<(Point, Effect)>| {
        let (point, effect) = found.as_ref()?;
        let inputs = arguments.iter().zip(point).map(|(a, v)| a.tensor(v)).collect::<Option<_>>()?;
        Some(Witness { inputs, effect: *effect })
    };
    Outcome { witnesses: hunt.found.iter().map(witness).collect(), tries: hunt.tries }
}

/// The elements that one evaluation touches, and for contractions their products.
fn cost(body: &Body) -> usize {
    let size = |v| {
        let shape = body.ty(v).shape().unwrap_or(&[]);
        shape.iter().map(|d| d.known().unwrap_or(EXTENT)).fold(1usize, usize::saturating_mul)
    };
    let of = |op: Op| {
        let results: usize = body.results(op).map(size).sum();
        let operands: usize = body.operands(op).iter().map(|&v| size(v)).sum();
        let name = body.name(op);
        let contracts = ["matmul", "dot", "conv", "einsum", "attention", "linear", "gemm"];
        if contracts.iter().any(|c| name.contains(c)) {
            let inner = body
                .operands(op)
                .first()
                .map_or(1, |&v| body.ty(v).shape().and_then(|s| s.last()?.known()).unwrap_or(EXTENT));
            operands.saturating_add(results.saturating_mul(inner.max(operands / results.max(1))))
        } else {
            operands.saturating_add(results)
        }
    };
    body.walk().into_iter().map(of).fold(0, usize::saturating_add)
}

/// What one evaluation of a target shows.
fn look(goal: Goal, operands: &[&Tensor], results: &[Tensor]) -> Seen {
    let made: Vec<f64> = results.iter().filter(|t| t.dtype.is_float()).flat_map(Tensor::to_f64s).collect();
    let nan_before = operands.iter().any(|t| t.dtype.is_float() && t.to_f64s().iter().any(|x| x.is_nan()));
    let infinite_before =
        operands.iter().any(|t| t.dtype.is_float() && t.to_f64s().iter().any(|x| x.is_infinite()));
    // What an operand has already is not the op's doing.
    let hit = made
        .iter()
        .copied()
        .find(|x| !nan_before && (x.is_nan() || x.is_infinite() && !infinite_before))
        .map(Effect::Value);
    let operand = |i: usize| operands.get(i).map(|t| t.to_f64s()).unwrap_or_default();
    let (operand, score) = match goal {
        Goal::Large => {
            let size = made.iter().fold(0.0f64, |m, x| if x.is_nan() { m } else { m.max(x.abs()) });
            (Vec::new(), size)
        }
        Goal::Zero(i) => {
            let x = operand(i);
            let least = x.iter().fold(f64::INFINITY, |m, x| m.min(x.abs()));
            (x, -least)
        }
        Goal::Below(i, bound) => {
            let x = operand(i);
            let least = x.iter().fold(f64::INFINITY, |m, x| m.min(*x));
            (x, bound - least)
        }
        Goal::Above(i, bound) => {
            let x = operand(i);
            let greatest = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
            (x, greatest - bound)
        }
    };
    Seen { hit, score, operand }
}

/// Evaluates inputs; by target what was seen of it.
type Run<'a> = &'a dyn Fn(&Point) -> Option<Vec<Option<Seen>>>;

/// A value of an operand's element, by number, and the inputs that gave it.
type Side = Option<(Point, Vec<f64>)>;

struct Hunt<'a> {
    arguments: &'a [Argument],
    targets: &'a [Target],
    run: Run<'a>,
    best: Vec<Option<(Point, f64)>>,
    found: Vec<Option<(Point, Effect)>>,
    /// By target: inputs on which the operand of the goal is negative and positive somewhere.
    sides: Vec<(Side, Side)>,
    tries: usize,
    limit: usize,
}

/// An input of a kind: the value of element `.1` of argument `.0`.
type Pattern<'a> = dyn Fn(usize, usize, &Argument) -> f64 + 'a;

impl Hunt<'_> {
    fn done(&self) -> bool {
        self.tries >= self.limit || self.found.iter().all(Option::is_some)
    }

    /// Evaluates; what was seen of `target`.
    fn attempt(&mut self, point: &Point, target: usize) -> Option<Seen> {
        if self.tries >= self.limit {
            return None;
        }
        self.tries += 1;
        let seen = (self.run)(point)?;
        for (i, one) in seen.iter().enumerate() {
            let Some(one) = one else { continue };
            if let (Some(effect), None) = (one.hit, &self.found[i]) {
                self.found[i] = Some((point.clone(), effect));
            }
            if self.best[i].as_ref().is_none_or(|(_, score)| one.score > *score) {
                self.best[i] = Some((point.clone(), one.score));
            }
            if matches!(self.targets[i].goal, Goal::Zero(_)) {
                let (negative, positive) = &mut self.sides[i];
                if negative.is_none() && one.operand.iter().any(|x| *x < 0.0) {
                    *negative = Some((point.clone(), one.operand.clone()));
                }
                if positive.is_none() && one.operand.iter().any(|x| *x > 0.0) {
                    *positive = Some((point.clone(), one.operand.clone()));
                }
            }
        }
        seen.into_iter().nth(target).flatten()
    }

    /// Values for all elements of all arguments, by argument and element.
    fn point(&self, mut value: impl FnMut(usize, usize, &Argument) -> f64) -> Point {
        let of = |(n, a): (usize, &Argument)| (0..a.len()).map(|i| a.fit(value(n, i, a))).collect();
        self.arguments.iter().enumerate().map(of).collect()
    }

    fn patterns(&mut self, random: &mut Random) {
        let tiny = |a: &Argument| match a.dtype {
            DType::Float(f) => f.min_subnormal(),
            _ => 1.0,
        };
        let middle = |a: &Argument| a.lo / 2.0 + a.hi / 2.0;
        let fixed: [&Pattern<'_>; 16] = [
            &|_, _, a| a.hi,
            &|_, _, a| a.lo,
            &|_, _, _| 0.0,
            &|_, i, a| if i % 2 == 0 { a.hi } else { a.lo },
            &|_, i, a| if i % 2 == 0 { a.lo } else { a.hi },
            &|n, _, a| if n % 2 == 0 { a.hi } else { a.lo },
            &|n, _, a| if n % 2 == 0 { a.lo } else { a.hi },
            &|_, _, a| tiny(a),
            &|_, _, a| -tiny(a),
            &|_, _, a| middle(a),
            &|_, _, _| 1.0,
            &|_, _, _| -1.0,
            &|_, i, a| if i == 0 { a.hi } else { a.lo },
            &|_, _, _| f64::NEG_INFINITY,
            &|_, _, _| f64::INFINITY,
            &|_, i, a| a.lo + (a.hi - a.lo) * i as f64 / (a.len() - 1).max(1) as f64,
        ];
        for pattern in fixed {
            if self.done() {
                return;
            }
            let point = self.point(pattern);
            self.attempt(&point, 0);
        }
        // The ends of the arguments in all combinations, or in as many.
        let count = self.arguments.len();
        for n in 0..(1usize << count.min(4)) {
            if count > 1 && !self.done() {
                let point = self.point(|k, _, a| if n >> (k % 4) & 1 == 1 { a.hi } else { a.lo });
                self.attempt(&point, 0);
            }
        }
        for round in 0..self.limit / 3 {
            if self.done() {
                return;
            }
            let common: Vec<f64> = self.arguments.iter().map(|a| random.uniform(a.lo, a.hi)).collect();
            let point = self.point(|n, _, a| match round % 4 {
                // All elements alike, or nearly.
                0 => common[n],
                1 => common[n] * (1.0 + 1e-3 * random.unit()),
                2 => random.uniform(a.lo, a.hi),
                _ => random.pick(&[a.lo, a.hi, 0.0, tiny(a)]),
            });
            self.attempt(&point, 0);
        }
    }

    /// Moves parts of the arguments to the ends of their ranges, one after the other, and keeps what helps.
    fn climb(&mut self, target: usize) {
        for _ in 0..2 {
            let Some((mut point, mut score)) = self.best[target].clone() else { return };
            let start = score;
            for n in 0..self.arguments.len() {
                let (len, lo, hi) = (self.arguments[n].len(), self.arguments[n].lo, self.arguments[n].hi);
                let step = len.div_ceil(PARTS).max(1);
                for from in (0..len).step_by(step) {
                    let to = (from + step).min(len);
                    for end in [lo, hi] {
                        if self.found[target].is_some() || self.tries >= self.limit {
                            return;
                        }
                        let kept = point[n][from..to].to_vec();
                        point[n][from..to].fill(end);
                        match self.attempt(&point, target) {
                            Some(seen) if seen.score > score => score = seen.score,
                            _ => point[n][from..to].copy_from_slice(&kept),
                        }
                    }
                }
            }
            if score <= start {
                return;
            }
        }
    }

    /// Halves the way between inputs on which an element of the operand has different signs.
    fn bisect(&mut self, target: usize) {
        if self.found[target].is_some() {
            return;
        }
        let (Some((mut below, negative)), Some((mut above, positive))) = self.sides[target].clone() else {
            return;
        };
        let pairs = negative.iter().zip(&positive);
        let Some(element) = pairs.into_iter().position(|(a, b)| *a < 0.0 && *b > 0.0) else { return };
        for _ in 0..HALVINGS {
            let middle: Point = self
                .arguments
                .iter()
                .zip(below.iter().zip(&above))
                .map(|(a, (x, y))| x.iter().zip(y).map(|(x, y)| a.fit(x / 2.0 + y / 2.0)).collect())
                .collect();
            if middle == below || middle == above {
                return;
            }
            let Some(seen) = self.attempt(&middle, target) else { return };
            match seen.operand.get(element) {
                _ if seen.hit.is_some() => return,
                Some(x) if *x < 0.0 => below = middle,
                Some(x) if *x > 0.0 => above = middle,
                _ => return,
            }
        }
    }
}
