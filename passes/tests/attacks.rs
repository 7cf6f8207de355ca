//! The figures of every op are attacked one op at a time: not by inputs that are drawn, but by such as are climbed to, from
//! ranges whose ends lie where conditions turn (ratios near 1, 2 and 4, ends of integer types, numbers that cancel).
//!
//! For operands that are exact (`e`) and computed (`c`) in the stated ranges, the transfer function promises that values lie
//! in their enclosures, that the op itself errs by Δ at most at `c`, absolute and relative, that `f(c)` is no farther from
//! `f(e)` than the sensitivities allow, and that `log f` moves no farther than the condition number times what the logarithms
//! of operands move: along a path between them that stays in their ranges it is the bound of the slope. Each promise is
//! climbed against by itself.
//!
//! `NGC_ATTACK_GRAPHS` sets from how many graphs ops are taken (default 160), `NGC_ATTACK_ROUNDS` on how many ranges
//! functions of elements are tried (default 40), `NGC_ATTACK_SEED` which.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::random_graphs::values::{BITS, inside, reals};
use crate::random_graphs::{Graph, module, numbers, ops};
use crate::support::evidence;
use ngc_dialects::transfer::Flow;
use ngc_interp::Interpreter;
use ngc_ir::{
    AttrDict, Body, Builder, Context, InternalError, Loc, Module, Op, OpDef, Semantics, Type, Value,
};
use ngc_numerics::{
    DType, Data, Enclosure, Evaluator, Figures, Format, Mode, Random, Range, StoredTensor, Tensor,
};
use rayon::prelude::*;
use rug::Float;

/// Steps of a climb.
const STEPS: usize = 24;
/// A reference that differs at one of these is none.
const OTHER_BITS: [u32; 2] = [410, 801];

/// One op as a function of its operands, which lie in ranges.
struct Target {
    name: &'static str,
    module: Module,
    types: Vec<(DType, Vec<usize>)>,
    ranges: Vec<(f64, f64)>,
    figures: Vec<Figures>,
}

/// The exponential of the opposite number is below all numbers that MPFR has.
const VANISHING: f64 = 1e18;

/// A range with ends where conditions of bounds turn.
fn range(r: &mut Random, elem: DType) -> (f64, f64) {
    let DType::Float(format) = elem else {
        let (least, greatest) = elem.int_range();
        let (least, greatest) = (least.max(-(1 << 62)) as f64, greatest.min(1 << 62) as f64);
        let root = greatest.sqrt().floor();
        return match elem {
            DType::BOOL => (0.0, 1.0),
            _ => r
                .pick(&[
                    (-3.0, 7.0),
                    (1.0, 5.0),
                    (0.0, root),
                    (-root - 2.0, root),
                    (greatest / 2.0 - 3.0, greatest / 2.0 + 3.0),
                    (greatest - 3.0, greatest),
                    (least, least + 2.0),
                    (least, greatest),
                ])
                .into_whole(least, greatest),
        };
    };
    if r.chance(35) {
        return numbers::range(r, elem);
    }
    // From a number of any mantissa to a small multiple of it, of either sign.
    let from = r.uniform(1.0, 2.0) * 2f64.powi(r.below(7) as i32 - 3);
    let ratio = match r.below(4) {
        0 => r.pick(&[1.0, 1.0625, 1.5, 2.0, 4.0, 8.0]),
        _ => r.uniform(1.0, 4.0),
    };
    let (lo, hi) = (format.round(from), format.round(from * ratio));
    match r.below(4) {
        0 => (-hi, -lo),
        1 => (-lo, hi),
        _ => (lo, hi.max(lo)),
    }
}

trait Whole {
    /// Whole ends within those of a type.
    fn into_whole(self, least: f64, greatest: f64) -> (f64, f64);
}

impl Whole for (f64, f64) {
    fn into_whole(self, least: f64, greatest: f64) -> (f64, f64) {
        (self.0.floor().max(least), self.1.floor().min(greatest))
    }
}

impl Target {
    /// An op of a graph by itself, with its figures on drawn ranges.
    fn of(r: &mut Random, context: &Context, graph: &Graph, op: Op) -> Option<Result<Target, String>> {
        let body = &graph.body;
        let mut ranges: Vec<(f64, f64)> = Vec::new();
        for &v in body.operands(op) {
            let elem = body.ty(v).elem()?;
            let drawn = body.defining_op(v).and_then(|made| constant(body, made));
            // Indices and divisors are valid between those that were drawn.
            let own = match drawn {
                Some(tensor) if !elem.is_float() => {
                    let all = StoredTensor::of(&tensor).facts().interval;
                    (all.lo, all.hi)
                }
                _ => range(r, elem),
            };
            ranges.push(own);
        }
        Target::on(context, body.name(op), &body.operand_types(op), body.op(op).attrs.clone(), ranges)
    }

    /// An op on operands of types and ranges; nothing where it does not fit them.
    fn on(
        context: &Context,
        name: &str,
        of: &[Type],
        attrs: AttrDict,
        ranges: Vec<(f64, f64)>,
    ) -> Option<Result<Target, String>> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut flow = Flow::default();
        let operands: Vec<Value> = of.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
        for (&v, &(lo, hi)) in operands.iter().zip(&ranges) {
            flow.set(v, Range::both(Enclosure::new(lo, hi)), 0.0);
        }
        let types = of.iter().map(|ty| Some((ty.elem()?, ty.static_shape()?))).collect::<Option<_>>()?;
        let op = Builder::at_end(context, &mut body, block, Loc::Unknown).op(name, &operands, attrs).ok()?;
        let results: Vec<Value> = body.results(op).collect();
        let figures = match catch_unwind(AssertUnwindSafe(|| flow.step(&body, op))) {
            Ok(figures) => figures?,
            Err(payload) => {
                let message = payload.downcast_ref::<InternalError>().map(|e| e.0.message.clone());
                return Some(Err(format!("{name} on {ranges:?}: {message:?}")));
            }
        };
        let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
        b.op("func.return", &results, AttrDict::EMPTY).ok()?;
        Some(Ok(Target {
            name: context.op(name)?.name,
            module: module(context, &body),
            types,
            ranges,
            figures,
        }))
    }

    fn draw(&self, r: &mut Random) -> Vec<Tensor> {
        self.types
            .iter()
            .zip(&self.ranges)
            .map(|((elem, shape), &range)| numbers::tensor(r, *elem, shape, range))
            .collect()
    }

    fn run(&self, context: &Context, mode: Mode, x: &[Tensor]) -> Option<Vec<Tensor>> {
        Interpreter::new(context, &self.module, Evaluator::new(mode)).call("f", x).ok()
    }
}

fn constant(body: &Body, op: Op) -> Option<Tensor> {
    body.op(op).def?.traits.constant.then_some(())?;
    ngc_dialects::ng::constant::attr_to_tensor(body.attr(op, "value")?).ok()
}

/// The promises that a climb is against.
#[derive(Clone, Copy, Debug)]
enum Promise {
    Exact,
    Computed,
    Delta,
    Relative,
    Sensitivity,
    Condition,
}

const PROMISES: [Promise; 6] = [
    Promise::Exact,
    Promise::Computed,
    Promise::Delta,
    Promise::Relative,
    Promise::Sensitivity,
    Promise::Condition,
];

/// How far the logarithms of magnitudes are apart; infinitely where a sign differs or one number alone is 0.
fn apart_in_logarithm(a: &Float, b: &Float) -> Float {
    let one_sided = a.is_sign_negative() != b.is_sign_negative() || a.is_zero() || b.is_zero();
    match a == b {
        true => Float::new(BITS),
        false if one_sided || !a.is_finite() || !b.is_finite() => {
            Float::with_val(BITS, rug::float::Special::Infinity)
        }
        false => Float::with_val(BITS, a / b).ln().abs(),
    }
}

/// How much of its bound a figure takes at operands `e` and `c`, or by how much it is missed: a promise is broken above 1.
fn taken(
    t: &Target,
    context: &Context,
    bits: u32,
    promise: Promise,
    e: &[Tensor],
    c: &[Tensor],
) -> Option<f64> {
    let mode = Mode::Real { bits };
    let exact = t.run(
        context,
        mode,
        match promise {
            Promise::Delta | Promise::Relative => c,
            _ => e,
        },
    )?;
    let other = match promise {
        Promise::Exact => None,
        Promise::Sensitivity | Promise::Condition => Some(t.run(context, mode, c)?),
        _ => Some(t.run(context, Mode::Rounded, c)?),
    };
    let distance = |a: &Tensor, b: &Tensor| {
        let apart = reals(a).into_iter().zip(reals(b)).map(|(a, b)| match a == b {
            true => 0.0,
            false => Float::with_val(BITS, a - b).abs().to_f64_round(rug::float::Round::Up),
        });
        apart.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { f64::max(most, x) })
    };
    let in_logarithm = matches!(promise, Promise::Condition).then(|| {
        let pairs = e.iter().zip(c).flat_map(|(e, c)| reals(e).into_iter().zip(reals(c)));
        pairs.fold(Float::new(BITS), |most, (a, b)| most.max(&apart_in_logarithm(&a, &b)))
    });
    let distances: Vec<f64> = e.iter().zip(c).map(|(e, c)| distance(e, c)).collect();
    let size = exact.iter().chain(e).chain(c).flat_map(reals).filter(Float::is_finite);
    let size = size.fold(Float::new(64), |a, b| a.max(&Float::with_val(64, b.abs())));
    let slack = Float::with_val(64, &size >> 240u32);
    let mut most: f64 = 0.0;
    for (n, figures) in t.figures.iter().enumerate() {
        let reals_of = |t: &Tensor| reals(t);
        let all = reals_of(&exact[n]);
        let others = other.as_ref().map(|o| reals_of(&o[n]));
        for (i, x) in all.iter().enumerate() {
            let y = others.as_ref().map(|o| &o[i]);
            let near = |bound: Float| -> f64 {
                let Some(y) = y else { return 0.0 };
                if x.is_nan() || !x.is_finite() && *y == *x {
                    return 0.0;
                }
                let error = Float::with_val(BITS, y - x).abs();
                match error.is_finite() {
                    false => f64::INFINITY,
                    true if error <= slack => 0.0,
                    true => Float::with_val(BITS, error / (bound + &slack)).to_f64(),
                }
            };
            let part = match promise {
                Promise::Exact => excess(inside(x, &figures.range.exact, &slack)),
                Promise::Computed => excess(inside(y?, &figures.range.computed, &Float::new(64))),
                Promise::Delta if figures.delta.is_finite() => near(Float::with_val(BITS, figures.delta)),
                Promise::Relative if figures.delta.is_finite() && figures.relative.is_finite() => {
                    near(Float::with_val(BITS, x.abs_ref()) * figures.relative.rho + figures.relative.eta)
                }
                Promise::Sensitivity => {
                    // The sign of a zero is no distance, but decides at a pole and beside a cut.
                    let jumps = figures.sensitivity.iter().any(|way| way.jump > 0.0);
                    if (jumps || figures.delta.is_infinite()) && distances.iter().all(|&d| d == 0.0) {
                        continue;
                    }
                    // Of infinite operands nothing is claimed where the op's own error is unbounded: 0 times infinity is no number.
                    if figures.delta.is_infinite() && distances.iter().any(|d| d.is_infinite()) {
                        continue;
                    }
                    let ways = figures.sensitivity.iter().zip(&distances);
                    let bound = ways.fold(0.0, |sum, (way, &d)| ngc_numerics::figures::add(sum, way.pass(d)));
                    if bound.is_finite() { near(Float::with_val(BITS, bound)) } else { 0.0 }
                }
                Promise::Condition if figures.condition.is_finite() && x.is_finite() && y?.is_finite() => {
                    // Across a jump there is no slope.
                    let ways = figures.sensitivity.iter().zip(&distances);
                    let jumps = ways.into_iter().any(|(way, &d)| way.jump > 0.0 && d > 0.0);
                    let most = in_logarithm.as_ref().filter(|most| most.is_finite() && !jumps);
                    let Some(most) = most else { continue };
                    if size > VANISHING && x.is_zero() != y?.is_zero() {
                        continue;
                    }
                    let found = apart_in_logarithm(x, y?);
                    let bound = Float::with_val(BITS, most * figures.condition) + &slack;
                    if found.is_zero() { 0.0 } else { Float::with_val(BITS, found / bound).to_f64() }
                }
                _ => 0.0,
            };
            most = most.max(part);
        }
    }
    Some(most)
}

fn excess(holds: bool) -> f64 {
    if holds { 0.0 } else { f64::INFINITY }
}

/// One element moved: to an end, to a neighbour, to a number that cancels, or anywhere.
fn moved(r: &mut Random, x: &mut Tensor, (lo, hi): (f64, f64)) {
    let format = x.dtype.format();
    match (&mut x.data, format) {
        (Data::Float(v), Some(format)) if !v.is_empty() => {
            let i = r.below(v.len());
            let (least, greatest) = (lo.max(-format.max_finite()), hi.min(format.max_finite()));
            let old = v[i];
            let new = match r.below(8) {
                0 => lo,
                1 => hi,
                2 => format.next_up(old),
                3 => format.next_down(old),
                4 => old * 0.5,
                5 => old + (r.unit() - 0.5) * 2f64.powi(-(r.below(24) as i32)) * (greatest - least),
                6 => v[r.below(v.len())],
                _ => r.uniform(least, greatest),
            };
            if !new.is_nan() {
                v[i] = if new == lo || new == hi { new } else { format.round(new.clamp(least, greatest)) };
            }
        }
        (Data::Int(v), _) if !v.is_empty() => {
            let i = r.below(v.len());
            let (lo, hi) = (lo as i64, hi as i64);
            v[i] = match r.below(4) {
                0 => lo,
                1 => hi,
                2 => v[i].saturating_add(r.below(3) as i64 - 1).clamp(lo, hi),
                _ => lo.wrapping_add(r.below(hi.abs_diff(lo).max(1) as usize) as i64),
            };
        }
        _ => {}
    }
}

/// All elements of an operand moved by one distance, each up or down.
fn shaken(r: &mut Random, e: &Tensor, (lo, hi): (f64, f64)) -> Tensor {
    let mut c = e.clone();
    let far = r.unit() * 2f64.powi(-(r.below(12) as i32));
    let width = (hi - lo).min(8.0);
    let format = c.dtype.format();
    match (&mut c.data, format) {
        (Data::Float(v), Some(format)) => {
            let (least, greatest) = (lo.max(-format.max_finite()), hi.min(format.max_finite()));
            for x in v.iter_mut().filter(|x| x.is_finite()) {
                let by = if r.chance(50) { far * width } else { -far * width };
                *x = format.round((*x + by).clamp(least, greatest));
            }
        }
        (Data::Int(v), _) => {
            for x in v.iter_mut() {
                let by = if r.chance(50) { r.below(5) as i64 - 2 } else { 0 };
                *x = x.saturating_add(by).clamp(lo as i64, hi as i64);
            }
        }
        _ => {}
    }
    c
}

/// All elements of an operand but zeros multiplied or divided by one number.
fn stretched(r: &mut Random, e: &Tensor, (lo, hi): (f64, f64)) -> Tensor {
    let mut c = e.clone();
    let by = (r.unit() * 2f64.powi(-(r.below(12) as i32))).exp();
    if let (Data::Float(v), Some(format)) = (&mut c.data, c.dtype.format()) {
        let (least, greatest) = (lo.max(-format.max_finite()), hi.min(format.max_finite()));
        for x in v.iter_mut().filter(|x| x.is_finite()) {
            let new = format.round((if r.chance(50) { *x * by } else { *x / by }).clamp(least, greatest));
            if (new < 0.0) == (*x < 0.0) && (new == 0.0) == (*x == 0.0) {
                *x = new;
            }
        }
    }
    c
}

/// Climbs against each promise. The first that is broken, in words.
fn attack(r: &mut Random, t: &Target, context: &Context, best: &mut [f64; 6]) -> Option<String> {
    for (n, promise) in PROMISES.into_iter().enumerate() {
        let mut e = t.draw(r);
        let pair = |r: &mut Random, e: &[Tensor]| -> Vec<Tensor> {
            e.iter()
                .zip(&t.ranges)
                .map(|(e, &range)| match promise {
                    _ if r.chance(25) => e.clone(),
                    Promise::Condition => stretched(r, e, range),
                    _ => shaken(r, e, range),
                })
                .collect()
        };
        let mut c = pair(r, &e);
        let mut reached = -1.0;
        for _ in 0..STEPS {
            let (mut f, mut d) = (e.clone(), c.clone());
            match r.below(4) {
                0 => {
                    (f, d) = {
                        let f = t.draw(r);
                        let d = pair(r, &f);
                        (f, d)
                    }
                }
                1 => d = pair(r, &f),
                _ if !f.is_empty() => {
                    let i = r.below(f.len());
                    if r.chance(50) {
                        moved(r, &mut f[i], t.ranges[i])
                    } else {
                        moved(r, &mut d[i], t.ranges[i])
                    }
                }
                _ => {}
            }
            let Some(found) = taken(t, context, BITS, promise, &f, &d) else { continue };
            if found > 1.0 {
                let certain =
                    |bits| taken(t, context, bits, promise, &f, &d).is_some_and(|found| found > 1.0);
                if OTHER_BITS.into_iter().all(certain) {
                    let inputs = |x: &[Tensor]| {
                        x.iter().map(|t| format!("{:?}", t.data)).collect::<Vec<_>>().join("; ")
                    };
                    return Some(format!(
                        "{promise:?} of {}: {found} of its bound\n  on {:?}\n  {:?}\n  exact    {}\n  computed {}",
                        t.name,
                        t.ranges,
                        t.figures,
                        inputs(&f),
                        inputs(&d)
                    ));
                }
            }
            if found >= reached {
                (reached, e, c) = (found, f, d);
            }
        }
        best[n] = best[n].max(reached);
    }
    None
}

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The shares of their bounds that were reached by op, and the promises that were broken.
#[derive(Default)]
struct Found {
    best: BTreeMap<&'static str, [f64; 6]>,
    broken: Vec<String>,
}

impl Found {
    fn attack(&mut self, r: &mut Random, context: &Context, target: Option<Result<Target, String>>) {
        match target {
            None => {}
            Some(Err(message)) => self.broken.push(message),
            Some(Ok(target)) => {
                let best = self.best.entry(target.name).or_default();
                self.broken.extend(attack(r, &target, context, best));
            }
        }
    }

    fn and(mut self, other: Found) -> Found {
        for (name, parts) in other.best {
            let best = self.best.entry(name).or_default();
            best.iter_mut().zip(parts).for_each(|(a, b)| *a = a.max(b));
        }
        self.broken.extend(other.broken);
        self
    }

    fn holds(&self) {
        for (name, [_, _, delta, relative, sensitivity, condition]) in &self.best {
            println!(
                "{name:28} Δ {delta:6.3}  relative {relative:6.3}  sensitivity {sensitivity:6.3}  condition {condition:6.3}"
            );
        }
        let broken = &self.broken;
        assert!(broken.is_empty(), "{} broken\n{}", broken.len(), broken[..broken.len().min(12)].join("\n"));
    }
}

#[test]
fn figures_of_ops_hold_under_attack() {
    let whole = evidence::whole("attacks");
    let (graphs, seed) =
        (setting("NGC_ATTACK_GRAPHS", if whole { 160 } else { 8 }), setting("NGC_ATTACK_SEED", 1));
    let (context, ops) = (ngc_dialects::context(), ops());
    let each = |number: u64| {
        let mut r = Random::new(seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number));
        let format = r.pick(&Format::ALL);
        let graph = Graph::draw(&mut r, &context, &ops, format);
        let mut found = Found::default();
        for op in graph.body.walk() {
            if graph.body.name(op) != "func.return" && constant(&graph.body, op).is_none() {
                let target = Target::of(&mut r, &context, &graph, op);
                found.attack(&mut r, &context, target);
            }
        }
        found
    };
    let found: Vec<Found> = (0..graphs).into_par_iter().map(each).collect();
    let all = found.into_iter().fold(Found::default(), Found::and);
    all.holds();
    for op in ops.iter().filter(|_| whole) {
        assert!(all.best.contains_key(op.name), "{} was never attacked", op.name);
    }
    println!("certificate: figures of {} ops hold in {graphs} graphs", all.best.len());
}

/// Functions of corresponding elements on many more ranges, of which those of two operands are often alike: where
/// differences cancel, and where integers begin to wrap.
#[test]
fn figures_of_elementwise_ops_hold_under_attack() {
    let whole = evidence::whole("attacks");
    let (rounds, seed) =
        (setting("NGC_ATTACK_ROUNDS", if whole { 40 } else { 2 }), setting("NGC_ATTACK_SEED", 1));
    let (context, ops) = (ngc_dialects::context(), ops());
    let elementwise = ops.into_iter().filter(|op| matches!(op.semantics, Semantics::Elementwise(_)));
    let elementwise: Vec<&'static OpDef> = elementwise.collect();
    let each = |def: &&'static OpDef| {
        let mut r = Random::seeded(&format!("{} {seed}", def.name));
        let mut found = Found::default();
        let arity = def.operands.len();
        for _ in 0..rounds * if arity == 2 { 4 } else { 1 } {
            let elem = match r.below(6) {
                0 => r.pick(&[DType::Int(8), DType::Int(16), DType::Int(32), DType::Int(64)]),
                _ => DType::Float(r.pick(&Format::ALL)),
            };
            let own = range(&mut r, elem);
            let ranges = (0..arity).map(|_| if r.chance(60) { own } else { range(&mut r, elem) }).collect();
            let types = vec![Type::tensor([12.into()], elem); arity];
            let target = Target::on(&context, def.name, &types, AttrDict::EMPTY, ranges);
            found.attack(&mut r, &context, target);
        }
        found
    };
    let found: Vec<Found> = elementwise.par_iter().map(each).collect();
    let all = found.into_iter().fold(Found::default(), Found::and);
    all.holds();
    println!("certificate: figures of {} functions of elements hold on {rounds} ranges", all.best.len());
}
