//! Values of a window at points: as they are computed, and as they are over the reals.

use std::rc::Rc;

use ngc_interp::elements::{Column, Elements, Mode};
use ngc_ir::{Body, Context, Resources, Value};
use ngc_numerics::{Enclosure, Format};
use rug::{Float, Rational};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cancellation;
use super::exact::{Exact, Leaves};
use super::ladder::{Ladder, Move, Point, Use};
use super::order::{self, Errors, Place};
use super::steps::{FEW, steps};
use super::window::{Leaf, Window};

/// What an open extent is where values are evaluated.
pub const OPEN: usize = 3;

/// Ways to move the leaves, each up or down, every second one the opposite of the one before. Mostly the first tells how far a
/// value moves; in others it may not move, where what leaves do cancels, or leave its domain.
const MOVES: usize = 6;

/// As many roundings on the way to an element add up to one unit in the last place of each leaf: what is summed in any order
/// strays like a random walk.
const ROUNDINGS: f64 = 16.0;

/// Scalar operations over all points that the value of a window may take.
const WORK: usize = 30_000;
/// Points on about each rung of the ladder three.
const ENOUGH: usize = 54;
/// Points at most, and at least: a value of which fewer can be afforded is not judged.
const POINTS: (usize, usize) = (256, 6);

/// Points that are kept of those at which a form is worse than the given one.
const WORST: usize = 8;

/// So many times as many points hold the form that was chosen against the given one.
const MORE: usize = 4;

/// By less than this of themselves products with a number differ by their rounding, in more bits than `f64` has.
const SLACK: f64 = 1e-40;

/// An element of a value: which, and where.
type Key = (Value, SmallVec<[i64; 4]>);

/// How far an element moves at a point, by so many ways to move the leaves.
#[derive(Clone, Copy)]
struct Reach {
    far: f64,
    tried: usize,
    /// The least distance that was asked for: what is far nearer than that counts as none.
    asked: f64,
}

impl Reach {
    const UNKNOWN: Reach = Reach { far: 0.0, tried: 0, asked: f64::INFINITY };
}

/// The values of a window at points. Values may be added to its body meanwhile.
pub struct Judge<'a> {
    format: Format,
    ladder: Rc<Ladder>,
    computed: Elements<'a>,
    exact: Exact<'a>,
    /// Over the reals, of leaves that are moved by what as many roundings amount to.
    moved: [Exact<'a>; MOVES],
    /// Whether the value is few operations on single numbers.
    pub few: bool,
    /// Rungs on which values are ordinary, by number.
    pub ordinary: Vec<bool>,
    known: FxHashMap<Key, Rc<Vec<Option<f64>>>>,
    reaches: FxHashMap<Key, Vec<Reach>>,
}

impl<'a> Judge<'a> {
    /// Of what a value of a window is made of, near some numbers and at `further` points as well; nothing where the value has no format, or its ops
    /// cannot be evaluated, or only at great cost.
    pub fn new(
        context: &'a Context,
        resources: &'a Resources,
        window: &Window,
        root: Value,
        (to, near, further): (Use, &[f64], &[Point]),
    ) -> Option<Judge<'a>> {
        let format = window.format(root)?;
        let leaves = Rc::new(Leaves::new(context, resources, window));
        let count = leaves.count();
        let one = Rc::new(Ladder::new(format, count, near, 1, Use::Search, &[]));
        let mut trial = leaves.elements(Mode::Formats, &one, None).with_limit(WORK / POINTS.1);
        let shape = trial.shape(&window.body, root)?;
        let middle: Vec<i64> = shape.iter().map(|n| (n / 2) as i64).collect();
        trial.at(&window.body, root, &middle)?;
        let more = if to == Use::Check { MORE } else { 1 };
        let points = (WORK / trial.work().max(1)).min(POINTS.0);
        if points < POINTS.1 {
            return None;
        }
        let points = more * points;
        let cancelling = match to {
            Use::Check if trial.work() <= FEW => cancellation::points(&leaves, window, root, format),
            _ => Vec::new(),
        };
        let further = [further, &cancelling].concat();
        let ladder = Rc::new(Ladder::new(format, count, near, points, to, &further));
        if ladder.points.is_empty() {
            return None;
        }
        let computed = leaves.elements(Mode::Formats, &ladder, None);
        let few = steps(&window.body, root) <= FEW;
        let exact = Exact::new(&leaves, &ladder, format, None, few);
        let places = (trial.work() as f64 / ROUNDINGS).sqrt().max(1.0);
        let moved = std::array::from_fn(|n| {
            let (seed, opposite) = (n as u64 / 2, n % 2 == 1);
            Exact::new(&leaves, &ladder, format, Some(Move { seed, places, opposite }), few)
        });
        let open = |leaf: &Leaf| {
            let format = window.body.ty(leaf.value).format();
            format.is_some_and(|f| leaf.range.lo <= -f.max_finite() || leaf.range.hi >= f.max_finite())
        };
        let ordinary = ladder.ordinary(!window.leaves.iter().any(open));
        Some(Judge {
            format,
            ladder,
            few,
            ordinary,
            computed,
            exact,
            moved,
            known: FxHashMap::default(),
            reaches: FxHashMap::default(),
        })
    }

    /// Whether there are points on each rung of the ladder: a value that is right at few may be lost at others.
    pub fn sees_enough(&self) -> bool {
        self.ladder.points.len() >= ENOUGH
    }

    /// An element as it is computed, at every point.
    pub fn computed(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Vec<f64>> {
        match &*self.computed.at(body, value, place)? {
            Column::Floats(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// Whether an element holds as it is computed, at every point.
    pub fn holds(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Vec<Option<bool>>> {
        match &*self.computed.at(body, value, place)? {
            Column::Truths(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// An element over the reals at every point, to the nearest `f64`; NaN where it has no value, nothing where it is not
    /// certain.
    pub fn exact(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Rc<Vec<Option<f64>>>> {
        let key = (value, SmallVec::from_slice(place));
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        let found = Rc::new(self.exact.at(body, value, place)?);
        self.known.insert(key, found.clone());
        Some(found)
    }

    /// The points at which a new form of a value is worse than the given one at a place, the worst first; nothing where that cannot be known.
    pub fn worse_at(
        &mut self,
        window: &Window,
        place: &[i64],
        [given, new]: [Value; 2],
    ) -> Option<Vec<Point>> {
        let (body, held) = (&window.body, window.format(given)?);
        let exact = self.exact(body, given, place)?;
        let (given, new) = (self.computed(body, given, place)?, self.computed(body, new, place)?);
        let by = |n: usize| order::by_how_many((self.format, held), exact[n], given[n], new[n]);
        let all = (0..exact.len()).map(|n| (n, by(n)));
        let mut worse: Vec<(usize, f64)> = all.filter(|(_, by)| *by > 1.0).collect();
        worse.sort_by(|(m, a), (n, b)| b.total_cmp(a).then(m.cmp(n)));
        Some(worse.into_iter().take(WORST).map(|(n, _)| self.ladder.points[n]).collect())
    }

    /// How far an element over the reals moves where the leaves do, at some points: tried until it is as far as is asked, there;
    /// elsewhere, and where nothing is known, 0.
    fn reach(
        &mut self,
        body: &Body,
        (value, place): (Value, &[i64]),
        asked: &[(usize, f64)],
    ) -> Option<Vec<f64>> {
        let key = (value, SmallVec::from_slice(place));
        let exact = self.exact(body, value, place)?;
        let mut known = self.reaches.remove(&key).unwrap_or_else(|| vec![Reach::UNKNOWN; exact.len()]);
        for &(at, far) in asked {
            if far < known[at].asked {
                known[at] = Reach { tried: 0, asked: far, ..known[at] };
            }
        }
        for (n, moved) in self.moved.iter_mut().enumerate() {
            let short = |&(at, far): &(usize, f64)| known[at].tried == n && known[at].far < far;
            let open: Vec<(usize, f64)> = asked.iter().copied().filter(short).collect();
            if open.is_empty() {
                continue;
            }
            let far = moved.distances(body, (value, place), (&exact, &open))?;
            for (at, _) in open {
                known[at].far = known[at].far.max(far[at].unwrap_or(0.0));
                known[at].tried = n + 1;
            }
        }
        let reach = known.iter().map(|reach| reach.far).collect();
        self.reaches.insert(key, known);
        Some(reach)
    }

    /// Whether an element times a number may be another one over the reals, at every point at which both have a value, but for
    /// those that `voids` says.
    pub fn same(
        &mut self,
        body: &Body,
        (a, at, by): (Value, &[i64], &Rational),
        (b, there): (Value, &[i64]),
        voids: &[bool],
    ) -> bool {
        let exact = &mut self.exact;
        let (Some(a), Some(b)) = (exact.enclosed(body, a, at), exact.enclosed(body, b, there)) else {
            return true;
        };
        a.iter().zip(&b).all(|((points, a), (_, b))| {
            let mut needed = (0..points.len()).filter(|&n| voids.get(points[n]) != Some(&true));
            match (&**a, &**b) {
                (Column::Near(a), Column::Near(b)) => !needed.any(|n| differ(&a[n], &b[n], by.to_f64())),
                (Column::Reals(a), Column::Reals(b)) => !needed.any(|n| apart(&a[n], &b[n], by)),
                _ => true,
            }
        })
    }

    /// The errors of an element that stands for a number of times another one, in values that `held` holds, but for the points
    /// that `voids` says. It is still to be multiplied by `times`: the digits that it lacks near 0 the product lacks, too.
    pub fn errors(
        &mut self,
        body: &Body,
        held: Format,
        (value, at, by): (Value, &[i64], f64),
        (computed, there, times): (Value, &[i64], f64),
        voids: &[bool],
    ) -> Option<Errors> {
        let mut exact = self.exact(body, value, at)?;
        let mut computed = self.computed(body, computed, there)?;
        let lift = times.abs().max(1.0).log2().floor().exp2();
        let near_zero = |x: f64| x != 0.0 && (x * by).abs() < held.min_normal();
        let lifted = |x: &Option<f64>| if x.is_some_and(near_zero) { lift } else { 1.0 };
        let lifts: Vec<f64> = exact.iter().map(lifted).collect();
        computed.iter_mut().zip(&lifts).for_each(|(x, lift)| *x *= lift);
        if by != 1.0 || lift != 1.0 || !voids.is_empty() {
            let needed = |(n, x): (usize, &Option<f64>)| x.filter(|_| voids.get(n) != Some(&true));
            let own = exact.iter().enumerate().map(needed).zip(&lifts);
            exact = Rc::new(own.map(|(x, lift)| x.map(|x| x * by * lift)).collect());
        }
        let formats = (self.format, held);
        let ladder = self.ladder.clone();
        let place = |p: &Point| Place {
            rung: p.rung,
            strict: self.few || self.ordinary[p.rung],
            marked: p.is_marked(),
            bound: p.is_bound(),
        };
        let places: Vec<Place> = ladder.points.iter().map(place).collect();
        let open = Errors::open(formats, &exact, &computed);
        let mut reach = Vec::new();
        if !open.is_empty() {
            let times = |n: usize| by.abs() * lifts[n];
            let asked: Vec<(usize, f64)> = open.into_iter().map(|(n, far)| (n, far / times(n))).collect();
            reach = self.reach(body, (value, at), &asked)?;
            reach.iter_mut().enumerate().for_each(|(n, x)| *x *= times(n));
        }
        Some(Errors::of(formats, &exact, &computed, &reach, &places))
    }
}

/// Whether a number times another one, to the nearest `f64`, and a third have no value in common.
fn differ(a: &Enclosure<f64>, b: &Enclosure<f64>, by: f64) -> bool {
    let (low, high) = if by < 0.0 { (a.hi * by, a.lo * by) } else { (a.lo * by, a.hi * by) };
    let slack = 4.0 * f64::EPSILON;
    let known = !a.may_be_nan && !b.may_be_nan;
    known && (high + high.abs() * slack < b.lo || b.hi < low - low.abs() * slack)
}

/// As [`differ`], for enclosures with more bits.
fn apart(a: &Enclosure<Float>, b: &Enclosure<Float>, by: &Rational) -> bool {
    // The product with the number is rounded: what differs by less than this is no other value.
    let times = |x: &Float, slack: f64| {
        let product = Float::with_val(x.prec(), x * by);
        let slack = Float::with_val(x.prec(), product.abs_ref()) * slack;
        product + slack
    };
    let known = !a.may_be_nan && !b.may_be_nan;
    let (low, high) = if *by < 0 { (&a.hi, &a.lo) } else { (&a.lo, &a.hi) };
    known && (times(high, SLACK) < b.lo || b.hi < times(low, -SLACK))
}
