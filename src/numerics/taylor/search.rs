//! Branch and bound: the largest error over a box, boxes split where the bound is largest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::enclosure::Enclosure;
use crate::expr::Expr;
use crate::figures::intersect;
use crate::format::Format;

use super::Formula;
use super::form::{Outcome, Tape};
use super::graph::{Precision, RoundedGraph};

/// How to analyse.
#[derive(Clone, Debug)]
pub struct Options {
    /// Relative errors are relative to the exact value's magnitude, or to this where that is less; absolute, in units of
    /// the output. With 0 the bound is infinite where the exact value has a zero that is not computed exactly. By default
    /// the output format's least normal value; where the output may be zero, its largest magnitude times the square root
    /// of the unit roundoff.
    pub floor: Option<f64>,
    /// The search ends when the bound is known to be above the largest error over the box, as the analysis sees it, by no
    /// more than this, relative.
    pub tolerance: f64,
    /// The search ends after this many operations, for each of the two bounds. A count, so that results do not
    /// depend on time.
    pub effort: usize,
    /// Formulas of the inputs that are known to be at least zero over the reals.
    pub constraints: Vec<Expr>,
    /// Of each input, what is known of the exact value; all inputs are exact that have no place here.
    pub inexact: Vec<Inexact>,
}

/// The exact value that an input stands for. The box is that of the input as computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inexact {
    /// How far it lies from the input at most.
    pub error: f64,
    /// Its least and greatest value.
    pub exact: (f64, f64),
}

impl Inexact {
    /// Contains the input, which lies in `side`, and the exact value.
    pub(super) fn around(&self, side: Enclosure<f64>) -> Enclosure<f64> {
        let lo = (side.lo - self.error).next_down().max(self.exact.0).min(side.lo);
        let hi = (side.hi + self.error).next_up().min(self.exact.1).max(side.hi);
        Enclosure { may_be_nan: side.may_be_nan, ..unsigned(&(lo, hi)) }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            floor: None,
            tolerance: 0.01,
            effort: 3 << 17,
            constraints: Vec::new(),
            inexact: Vec::new(),
        }
    }
}

/// Bounds of the round-off error of a graph's output. Each holds for all inputs in the box that are values of their
/// formats and meet the constraints; infinite where nothing could be proven, in particular where an operation may
/// overflow or be undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// Of `|computed - exact|`.
    pub absolute: f64,
    /// Of `|computed - exact| / max(|exact|, floor)`.
    pub relative: f64,
    /// The floor of the relative bound.
    pub floor: f64,
    /// Least and greatest value, exact or computed, where the absolute bound is finite.
    pub range: (f64, f64),
    /// An error that the analysis attributes to one point: the bound is not sharper than this.
    pub attained: f64,
    /// The number of boxes examined.
    pub boxes: usize,
}

/// Bounds the round-off error over a box of inputs, one side `(least, greatest)` an input.
///
/// # Panics
/// When the graph is empty, a side is missing or has its ends in the wrong order, or a constraint names a parameter or an
/// input without a side.
pub fn analyze(graph: &RoundedGraph, sides: &[(f64, f64)], options: &Options) -> ErrorBound {
    assert!(!graph.nodes.is_empty(), "the graph is empty");
    assert!(graph.inputs <= sides.len(), "{} inputs need as many sides", graph.inputs);
    assert!(sides.iter().all(|(lo, hi)| lo <= hi), "the least value of a side must come first");
    let whole: Vec<Enclosure<f64>> = sides.iter().map(unsigned).collect();
    let tape = Tape::new(graph, &options.inexact);
    let range = tape.evaluate(&whole, 0.0).range;
    let floor = options.floor.unwrap_or_else(|| default_floor(graph.format(), &range));
    let search = Search {
        tape,
        constraints: options.constraints.iter().map(Formula::new).collect(),
        floor,
        tolerance: options.tolerance,
    };
    let length = search.tape.len() + search.constraints.iter().map(Formula::len).sum::<usize>();
    let budget = (options.effort / length).max(16);
    let absolute = search.maximum(&whole, budget, |outcome| outcome.absolute);
    let relative = search.maximum(&whole, budget, |outcome| outcome.relative);
    let range = [absolute.range, relative.range].iter().flatten().fold(range, |x, y| intersect(&x, y));
    let (range, boxes) = search.narrow(&whole, budget / 8, range);
    ErrorBound {
        absolute: absolute.bound,
        relative: relative.bound,
        floor,
        range: (range.lo, range.hi),
        attained: absolute.attained,
        boxes: absolute.boxes + relative.boxes + boxes,
    }
}

/// A side; a zero at its end has either sign.
fn unsigned(&(lo, hi): &(f64, f64)) -> Enclosure<f64> {
    Enclosure::new(if lo == 0.0 { -0.0 } else { lo }, if hi == 0.0 { 0.0 } else { hi })
}

fn default_floor(precision: Precision, range: &Enclosure<f64>) -> f64 {
    let format = precision.unwrap_or(Format::F64);
    let magnitude = range.lo.abs().max(range.hi.abs());
    let least = format.min_normal();
    if range.lo <= 0.0 && range.hi >= 0.0 && magnitude.is_finite() {
        least.max(format.unit_roundoff().sqrt() * magnitude)
    } else {
        least
    }
}

struct Search<'g> {
    tape: Tape<'g>,
    constraints: Vec<Formula>,
    floor: f64,
    tolerance: f64,
}

struct Maximum {
    bound: f64,
    attained: f64,
    boxes: usize,
    /// Contains the output at all inputs that count; `None` where there are none.
    range: Option<Enclosure<f64>>,
}

/// A box yet to be split, in the order of its bound; of equal ones the last made is the greater, so that plateaus are
/// searched in depth.
struct Open {
    bound: f64,
    made: usize,
    depth: usize,
    sides: Vec<Enclosure<f64>>,
    influence: Vec<f64>,
    range: Enclosure<f64>,
}

impl Search<'_> {
    /// The range of the output, its ends searched as well; and how many boxes that took.
    fn narrow(
        &self,
        whole: &[Enclosure<f64>],
        budget: usize,
        range: Enclosure<f64>,
    ) -> (Enclosure<f64>, usize) {
        if budget < 4 || range.may_be_nan || !(range.hi - range.lo).is_finite() || range.lo == range.hi {
            return (range, 0);
        }
        let above = self.maximum(whole, budget, |outcome| (outcome.range.hi - range.lo).next_up().max(0.0));
        let below = self.maximum(whole, budget, |outcome| (range.hi - outcome.range.lo).next_up().max(0.0));
        let found = Enclosure::new((range.hi - below.bound).next_down(), (range.lo + above.bound).next_up());
        (intersect(&range, &found), above.boxes + below.boxes)
    }

    fn maximum(&self, whole: &[Enclosure<f64>], budget: usize, figure: impl Fn(&Outcome) -> f64) -> Maximum {
        let mut attained: f64 = 0.0;
        let (mut boxes, mut probes) = (0, 0);
        // Boxes that cannot be split any more.
        let mut closed: f64 = 0.0;
        let mut range: Option<Enclosure<f64>> = None;
        let join = |range: Option<Enclosure<f64>>, own| Some(range.map_or(own, |range| range.hull(own)));
        let mut open = BinaryHeap::new();
        let enter = |sides: Vec<Enclosure<f64>>,
                     above: f64,
                     depth,
                     boxes: &mut usize,
                     open: &mut BinaryHeap<Open>| {
            *boxes += 1;
            if self.feasible(&sides) == Some(false) {
                return;
            }
            let outcome = self.tape.evaluate(&sides, self.floor);
            let bound = figure(&outcome).min(above);
            let Outcome { influence, range, .. } = outcome;
            open.push(Open { bound, made: *boxes, depth, sides, influence, range });
        };
        enter(whole.to_vec(), f64::INFINITY, 0, &mut boxes, &mut open);
        while boxes < budget {
            let Some(widest) = open.peek() else { break };
            if widest.bound <= attained.max(closed) * (1.0 + self.tolerance) {
                break;
            }
            let Some(top) = open.pop() else { break };
            probes += 1;
            let center: Vec<Enclosure<f64>> =
                top.sides.iter().map(|side| Enclosure::point(split_point(side).unwrap_or(side.lo))).collect();
            // Every box is probed at first, when the largest errors are found, and every fourth later.
            if (probes < 64 || probes % 4 == 0) && self.feasible(&center) == Some(true) {
                let here = figure(&self.tape.evaluate(&center, self.floor));
                boxes += 1;
                if here.is_finite() {
                    attained = attained.max(here);
                }
            }
            let Some((k, at)) = choose(&top, whole) else {
                closed = closed.max(top.bound);
                range = join(range, top.range);
                continue;
            };
            for half in [Enclosure::new(top.sides[k].lo, at), Enclosure::new(at, top.sides[k].hi)] {
                let mut sides = top.sides.clone();
                sides[k] = half;
                enter(sides, top.bound, top.depth + 1, &mut boxes, &mut open);
            }
        }
        let bound = open.peek().map_or(closed, |widest| widest.bound.max(closed));
        let range = open.iter().map(|leaf| leaf.range).fold(range, join);
        Maximum { bound, attained, boxes, range }
    }

    /// Whether all, none or some (unknown) of a box meets the constraints.
    fn feasible(&self, sides: &[Enclosure<f64>]) -> Option<bool> {
        let mut all = true;
        for constraint in &self.constraints {
            let value = constraint.enclose(sides);
            if value.hi < 0.0 {
                return Some(false);
            }
            all &= value.lo >= 0.0;
        }
        all.then_some(true)
    }
}

/// Where to halve a side: in the middle, unless its ends are neighbours.
fn split_point(side: &Enclosure<f64>) -> Option<f64> {
    let middle = side.lo / 2.0 + side.hi / 2.0;
    (side.lo < middle && middle < side.hi).then_some(middle)
}

/// The side to split, and where: that of the greatest influence; at every third level, and as long as there is no finite
/// bound, the widest for its original width, so that no side is forgotten whose influence does not show.
fn choose(open: &Open, whole: &[Enclosure<f64>]) -> Option<(usize, f64)> {
    let width = |sides: &[Enclosure<f64>], k: usize| sides[k].hi / 2.0 - sides[k].lo / 2.0;
    let share = |k: usize| width(&open.sides, k) / width(whole, k);
    let by_share = open.depth % 3 == 2 || !open.bound.is_finite();
    open.sides.iter().enumerate().filter_map(|(k, side)| Some((k, split_point(side)?))).max_by(
        |&(i, _), &(j, _)| {
            let by_influence = open.influence[i].total_cmp(&open.influence[j]);
            let by_width = share(i).total_cmp(&share(j));
            if by_share { by_width.then(by_influence) } else { by_influence.then(by_width) }
        },
    )
}

impl Ord for Open {
    fn cmp(&self, other: &Open) -> Ordering {
        self.bound.total_cmp(&other.bound).then(self.made.cmp(&other.made))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Open) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Open) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Open {}
