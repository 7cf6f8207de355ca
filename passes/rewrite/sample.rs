//! Points at which terms of corresponding elements are compared where their bounds do not decide.
//!
//! A region of elementwise ops is a function of scalars, whatever the shapes. Points are drawn from the ranges of its
//! leaves, half of them uniform over the bit patterns of the format and half over the reals; those stay at which a value
//! is defined and certain over the reals. The measure is the mean of the bits of error there: an estimate, which ranks
//! terms that are proven to be equal and proves nothing. Seeds are fixed and counts limited, so results are the same on
//! every run.

use std::fmt;

use ngc_interp::evaluate_op;
use ngc_interp::real::{Known, Meaning};
use ngc_ir::{AttrDict, Body, Context, Op, OpDef, Signature, Type, Value};
use ngc_numerics::spread::bits_of_error;
use ngc_numerics::{Big, DType, Evaluator, Format, Interval, Mode, Random, Spread, Tensor};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::calibrate::Seen;

/// Points of each spread.
const POINTS: usize = 96;
/// Points drawn for one that is defined and certain, before no more are sought.
const TRIES: usize = 12;
/// With fewer points than this nothing is said.
const FEWEST: usize = 16;
/// Bits of the enclosures, tried in this order; sums of values of binary64 are exact in the last.
const LEVELS: [u32; 3] = [128, 512, 2304];
/// Ops of a value that is sampled, at most.
const MOST_OPS: usize = 64;

/// Mean bits of error. An estimate.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Figure {
    /// By [`Spread::ALL`]; on samples of the user's the first alone.
    pub bits: [f64; 2],
    /// Whether the points are the user's.
    pub calibrated: bool,
}

impl Figure {
    /// By how much a figure must fall under one spread to be better, and may rise under the other.
    const GAIN: f64 = 0.5;
    const LOSS: f64 = 0.1;
    /// What a gain may cost: a share of it, and never a whole bit.
    const PRICE: f64 = 1.0 / 16.0;
    const MOST_LOSS: f64 = 0.75;

    /// Both spreads together.
    pub fn total(&self) -> f64 {
        self.bits[0] + self.bits[1]
    }

    /// Whether there are no bits to gain.
    pub fn is_healthy(&self) -> bool {
        self.bits.iter().all(|b| *b < Figure::GAIN)
    }

    /// Whether it is not noticeably worse than another under either spread.
    pub fn keeps(&self, other: &Figure) -> bool {
        self.bits.iter().zip(&other.bits).all(|(new, old)| *new <= old + Figure::LOSS)
    }

    /// Whether it is no worse than another by more than a cure of infinities may cost.
    pub fn affords(&self, other: &Figure) -> bool {
        self.bits.iter().zip(&other.bits).all(|(new, old)| *new <= old + Figure::MOST_LOSS)
    }

    /// Whether it is noticeably better than another under one spread, and under the other at most a little worse.
    pub fn betters(&self, other: &Figure) -> bool {
        let gains = [0, 1].map(|n| other.bits[n] - self.bits[n]);
        let most = gains[0].max(gains[1]);
        let price = (most * Figure::PRICE).clamp(Figure::LOSS, Figure::MOST_LOSS);
        most >= Figure::GAIN && gains.iter().all(|gain| *gain >= -price)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calibrated {
            true => write!(f, "{:.1} on the samples", self.bits[0]),
            false => write!(f, "{:.1} (over the reals {:.1})", self.bits[0], self.bits[1]),
        }
    }
}

/// An op of a sampled value.
struct Step {
    value: Value,
    def: &'static OpDef,
    attrs: AttrDict,
    operands: SmallVec<[Value; 4]>,
    meaning: Meaning,
}

/// Values of a region with points at which they are defined.
pub struct Sample {
    steps: Vec<Step>,
    leaves: Vec<(Value, DType, Interval)>,
    /// The values that are compared.
    pub outputs: Vec<Value>,
    /// By point: its spread, and the bits that make its values certain.
    pub points: Vec<(usize, u32)>,
    /// What each leaf is at the points.
    pub columns: FxHashMap<Value, Vec<f64>>,
    /// By output and point: the value, rounded to its format; NaN where there is none.
    exact: Vec<Vec<f64>>,
    /// Whether the points are the user's.
    pub calibrated: bool,
}

/// The meaning of an op, if it is one of corresponding elements.
pub fn meaning(
    context: &Context,
    def: &'static OpDef,
    operands: &[Type],
    attrs: &AttrDict,
) -> Option<Meaning> {
    Meaning::of(context, &Signature { def, operands, attrs }).ok()
}

/// What an op of corresponding elements computes at points, correctly rounded.
pub fn compute(context: &Context, def: &'static OpDef, attrs: &AttrDict, x: &[Tensor]) -> Option<Tensor> {
    match (def.short_name(), x) {
        ("broadcast_to", [x]) => return Some(x.clone()),
        // Of a constant alone there is one value.
        ("select", _) => return compute(context, context.op("ng.where")?, attrs, x),
        _ => {}
    }
    let found = evaluate_op(context, &Evaluator::new(Mode::Rounded), def, attrs, x).ok()?;
    found.into_iter().next()
}

/// Whether values of a type are drawn: numbers and truths.
fn is_drawn(dtype: DType) -> bool {
    matches!(dtype, DType::Float(_)) || dtype == DType::BOOL
}

impl Sample {
    /// Of those of `wanted` that are of corresponding elements of the leaves; nothing if there are none, or no points.
    pub fn new(
        context: &Context,
        body: &Body,
        ops: &[Op],
        leaves: &[(Value, Interval)],
        wanted: &[Value],
        seen: Option<&Seen>,
    ) -> Option<Sample> {
        let mut known: FxHashMap<Value, Option<usize>> = FxHashMap::default();
        let drawn = leaves.iter().filter_map(|&(v, x)| Some((v, body.ty(v).elem()?, x)));
        let leaves: Vec<(Value, DType, Interval)> = drawn.filter(|(_, dtype, _)| is_drawn(*dtype)).collect();
        known.extend(leaves.iter().map(|(v, ..)| (*v, None)));
        let mut steps: Vec<Step> = Vec::new();
        for &op in ops {
            let value = body.result(op, 0);
            let data = body.op(op);
            let Some(def) = data.def.filter(|_| !known.contains_key(&value)) else { continue };
            let operands: SmallVec<[Value; 4]> = body.operands(op).into();
            if !operands.iter().all(|v| known.contains_key(v)) || !body.ty(value).elem().is_some_and(is_drawn)
            {
                continue;
            }
            let types: SmallVec<[Type; 4]> = operands.iter().map(|&v| body.ty(v)).collect();
            let Some(meaning) = meaning(context, def, &types, &data.attrs) else { continue };
            known.insert(value, Some(steps.len()));
            steps.push(Step { value, def, attrs: data.attrs.clone(), operands, meaning });
        }
        let cone = |value: Value| {
            let (mut seen, mut stack) = (FxHashSet::default(), vec![value]);
            while let Some(v) = stack.pop() {
                if seen.insert(v)
                    && let Some(&Some(n)) = known.get(&v)
                {
                    stack.extend(steps[n].operands.iter().copied());
                }
            }
            seen
        };
        let (mut outputs, mut needed) = (Vec::new(), FxHashSet::default());
        for &value in wanted.iter().filter(|v| matches!(known.get(v), Some(Some(_)))) {
            let cone = cone(value);
            if cone.len() <= MOST_OPS && body.ty(value).format().is_some() {
                outputs.push(value);
                needed.extend(cone);
            }
        }
        steps.retain(|s| needed.contains(&s.value));
        let mut leaves: Vec<_> = leaves.into_iter().filter(|(v, ..)| needed.contains(v)).collect();
        // Arguments first, so that a rewrite between leaves the points as they were.
        leaves.sort_by_key(|(v, ..)| *v);
        let mut sample = Sample {
            steps,
            leaves,
            outputs,
            points: Vec::new(),
            columns: FxHashMap::default(),
            exact: Vec::new(),
            calibrated: false,
        };
        if !seen.is_some_and(|seen| sample.take(body, seen)) {
            sample.draw(body);
        }
        (!sample.outputs.is_empty() && sample.points.len() >= FEWEST).then_some(sample)
    }

    /// Points of the user's samples; false where there are too few.
    fn take(&mut self, body: &Body, seen: &Seen) -> bool {
        let values: Vec<Value> = self.leaves.iter().map(|(v, ..)| *v).collect();
        let most = Spread::ALL.len() * POINTS;
        let Some(columns) = seen.columns(&values, 2 * most) else { return false };
        let point = |n: usize| columns.iter().map(|column| column[n]).collect();
        self.add(body, 0, most, (0..2 * most).map(point).collect());
        self.calibrated = self.points.len() >= FEWEST;
        if !self.calibrated {
            (self.points, self.columns, self.exact) = Default::default();
        }
        self.calibrated
    }

    /// Points drawn from the ranges of the leaves.
    fn draw(&mut self, body: &Body) {
        for (number, spread) in Spread::ALL.into_iter().enumerate() {
            let mut random: Vec<Random> =
                (0..self.leaves.len()).map(|n| Random::seeded(&format!("{n}, {spread:?}"))).collect();
            let mut left = POINTS;
            for _ in 0..TRIES {
                let point =
                    |_| self.leaves.iter().zip(&mut random).map(|(leaf, r)| one(r, spread, leaf)).collect();
                let candidates: Vec<Vec<f64>> = (0..POINTS).map(point).collect();
                left -= self.add(body, number, left, candidates);
                if left == 0 {
                    break;
                }
            }
        }
    }

    /// Adds at most so many of the candidates, those at which an output is defined and certain; how many.
    fn add(&mut self, body: &Body, spread: usize, most: usize, candidates: Vec<Vec<f64>>) -> usize {
        let found: Vec<_> = candidates.par_iter().map(|x| self.certain(body, x)).collect();
        let defined =
            candidates.into_iter().zip(found).filter(|(_, (_, values))| values.iter().any(|v| !v.is_nan()));
        self.exact.resize(self.outputs.len(), Vec::new());
        let before = self.points.len();
        for (x, (bits, values)) in defined.take(most) {
            self.points.push((spread, bits));
            for ((leaf, ..), x) in self.leaves.iter().zip(x) {
                self.columns.entry(*leaf).or_default().push(x);
            }
            self.exact.iter_mut().zip(values).for_each(|(column, v)| column.push(v));
        }
        self.points.len() - before
    }

    /// The outputs at a point, rounded, with the bits that make them certain; NaN where they are undefined or stay
    /// uncertain.
    fn certain(&self, body: &Body, x: &[f64]) -> (u32, Vec<f64>) {
        let mut values = Vec::new();
        for bits in LEVELS {
            let d = Big::new(bits);
            let mut known: FxHashMap<Value, Known> = FxHashMap::default();
            for ((value, dtype, _), &x) in self.leaves.iter().zip(x) {
                known.insert(*value, lifted(&d, *dtype, x));
            }
            for step in &self.steps {
                let x: SmallVec<[Known; 3]> = step.operands.iter().map(|v| known[v].clone()).collect();
                known.insert(step.value, step.meaning.enclose(&d, &x));
            }
            let rounded = self.outputs.iter().map(|v| {
                let value = &known[v];
                if value.is_undefined() { Some(f64::NAN) } else { value.rounded(body.ty(*v).format()?) }
            });
            let rounded: Vec<Option<f64>> = rounded.collect();
            let open = rounded.iter().any(Option::is_none);
            values = rounded.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect();
            if !open {
                return (bits, values);
            }
        }
        (LEVELS[LEVELS.len() - 1], values)
    }

    /// The value of a leaf at the points, as a tensor.
    pub fn leaf(&self, value: Value) -> Option<Tensor> {
        let (_, dtype, _) = self.leaves.iter().find(|(v, ..)| *v == value)?;
        let column = self.columns.get(&value)?;
        match dtype {
            DType::Float(format) => Tensor::floats(*format, vec![column.len()], column.clone()).ok(),
            _ => Tensor::ints(*dtype, vec![column.len()], column.iter().map(|&x| x as i64).collect()).ok(),
        }
    }

    /// The figures of the outputs as they are written.
    pub fn originals(&self, context: &Context, body: &Body) -> Option<Vec<Figure>> {
        let mut known: FxHashMap<Value, Tensor> = FxHashMap::default();
        for (value, ..) in &self.leaves {
            known.insert(*value, self.leaf(*value)?);
        }
        for step in &self.steps {
            let x: SmallVec<[Tensor; 3]> = step.operands.iter().map(|v| known[v].clone()).collect();
            let found = compute(context, step.def, &step.attrs, &x)?;
            known.insert(step.value, found);
        }
        let each = self.outputs.iter().enumerate();
        each.map(|(n, v)| Some(self.figure(body.ty(*v).format()?, &known[v], &self.exact[n]))).collect()
    }

    /// The figure of a term for an output, by its place.
    pub fn of_output(&self, n: usize, format: Format, found: &Tensor) -> Figure {
        self.figure(format, found, &self.exact[n])
    }

    /// Mean bits of error of computed values where the exact ones are known.
    pub fn figure(&self, format: Format, found: &Tensor, exact: &[f64]) -> Figure {
        let found = found.to_f64s();
        let mut sums = [(0.0, 0usize); 2];
        for (i, (&exact, (spread, _))) in exact.iter().zip(&self.points).enumerate() {
            let Some(&value) = found.get(i).or(found.first()).filter(|_| !exact.is_nan()) else { continue };
            let (sum, count) = &mut sums[*spread];
            (*sum, *count) = (*sum + bits_of_error(format, value, exact), *count + 1);
        }
        Figure { bits: sums.map(|(sum, count)| sum / count.max(1) as f64), calibrated: self.calibrated }
    }

    /// Whether a term for an output is not finite at some point at which the output is over the reals.
    pub fn fails(&self, n: usize, found: &Tensor) -> bool {
        let found = found.to_f64s();
        let at = |i: usize| found.get(i).or(found.first()).copied();
        (0..self.exact[n].len())
            .any(|i| self.exact[n][i].is_finite() && at(i).is_some_and(|x| !x.is_finite()))
    }

    /// The values that the outputs are computed from, themselves included, but for leaves.
    pub fn covered(&self) -> impl Iterator<Item = Value> {
        self.steps.iter().map(|s| s.value)
    }
}

/// A leaf's value at a point.
fn one(random: &mut Random, spread: Spread, (_, dtype, range): &(Value, DType, Interval)) -> f64 {
    let DType::Float(format) = dtype else { return random.below(2) as f64 };
    let max = format.max_finite();
    let end = |x: f64, or: f64| if x.is_finite() { x.clamp(-max, max) } else { or };
    spread.draw(random, *format, format.round(end(range.lo, -max)), format.round(end(range.hi, max)))
}

/// A leaf's value among the enclosures.
pub fn lifted(d: &Big, dtype: DType, x: f64) -> Known {
    if dtype == DType::BOOL { Known::Truth(Some(x != 0.0)) } else { Known::number(d, x) }
}
