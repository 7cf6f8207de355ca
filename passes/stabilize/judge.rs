//! Values of a window at points: as they are computed, and as they are over the reals.

use std::rc::Rc;

use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_interp::elements::{Column, Elements, Mode};
use ngc_ir::{Body, Context, Resources, Value};
use ngc_numerics::{DType, Enclosure, Format};
use rug::{Float, Rational};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ladder::{Ladder, Use};
use super::order::Errors;
use super::window::{Leaf, Window};

/// What an open extent is where values are evaluated.
pub const OPEN: usize = 3;

/// Bits of enclosures over the reals, tried in this order.
const BITS: [u32; 2] = [320, 1400];

/// Ways to move the leaves by a last place, each up or down.
const MOVES: [u64; 3] = [1, 2, 3];

/// One point of so many may stay undecided.
const FEW: usize = 5;

/// Scalar operations over all points that the value of a window may take.
const WORK: usize = 30_000;
/// Points at most, and at least: a value of which fewer can be afforded is not judged.
const POINTS: (usize, usize) = (256, 6);

/// So many times as many points hold the form that was chosen against the given one.
const MORE: usize = 4;

/// An element of a value: which, and where.
type Key = (Value, SmallVec<[i64; 4]>);

/// The values of a window at points. Values may be added to its body meanwhile.
pub struct Judge<'a> {
    format: Format,
    ladder: Rc<Ladder>,
    computed: Elements<'a>,
    exact: [Elements<'a>; BITS.len()],
    /// Over the reals, of leaves that are moved by one unit in the last place.
    moved: [Elements<'a>; MOVES.len()],
    /// Rungs on which values are ordinary, by number; all of them where ranges are stated.
    pub ordinary: Vec<bool>,
    known: FxHashMap<Key, Rc<Vec<Option<f64>>>>,
    reaches: FxHashMap<Key, Rc<Vec<f64>>>,
}

impl<'a> Judge<'a> {
    /// Of what a value of a window is made of; nothing where the value has no format, or its ops cannot be evaluated, or only
    /// at great cost.
    pub fn new(
        context: &'a Context,
        resources: &'a Resources,
        window: &Window,
        root: Value,
        to: Use,
    ) -> Option<Judge<'a>> {
        let format = window.body.ty(root).format()?;
        let near = numbers(&window.body);
        let leaves: Rc<[_]> = window.leaves.iter().map(|leaf| (leaf.value, leaf.range)).collect();
        let types: Rc<FxHashMap<Value, DType>> = Rc::new(
            window.leaves.iter().filter_map(|l| Some((l.value, window.body.ty(l.value).elem()?))).collect(),
        );
        let elements = |mode: Mode, ladder: &Rc<Ladder>, moved: Option<u64>| {
            let (ladder, leaves, types) = (ladder.clone(), leaves.clone(), types.clone());
            let points = ladder.points.len();
            let leaf = move |value: Value, place: &[i64]| {
                let Some(n) = leaves.iter().position(|(leaf, _)| *leaf == value) else { return Vec::new() };
                let range = &leaves[n].1;
                match types.get(&value) {
                    Some(DType::Float(format)) => ladder.column(n, range, *format, place, moved),
                    Some(_) => ladder.integers(n, range, place),
                    None => Vec::new(),
                }
            };
            Elements::new(context, resources, mode, points, Box::new(|_, _| OPEN), Box::new(leaf))
        };
        let one = Rc::new(Ladder::new(format, &near, 1, to));
        let mut trial = elements(Mode::Formats, &one, None).with_limit(WORK / POINTS.1);
        let shape = trial.shape(&window.body, root)?;
        let middle: Vec<i64> = shape.iter().map(|n| (n / 2) as i64).collect();
        trial.at(&window.body, root, &middle)?;
        let more = if to == Use::Check { MORE } else { 1 };
        let count = (more * WORK / trial.work().max(1)).min(more * POINTS.0);
        if count < POINTS.1 {
            return None;
        }
        let ladder = Rc::new(Ladder::new(format, &near, count, to));
        let computed = elements(Mode::Formats, &ladder, None);
        let exact = BITS.map(|bits| elements(Mode::Real { bits }, &ladder, None));
        let moved = MOVES.map(|seed| elements(Mode::Real { bits: BITS[0] }, &ladder, Some(seed)));
        let open = |leaf: &Leaf| {
            let format = window.body.ty(leaf.value).format();
            format.is_some_and(|f| leaf.range.lo <= -f.max_finite() && leaf.range.hi >= f.max_finite())
        };
        let mut ordinary = ladder.ordinary();
        if !window.leaves.iter().any(open) {
            ordinary.fill(true);
        }
        Some(Judge {
            format,
            ladder,
            ordinary,
            computed,
            exact,
            moved,
            known: FxHashMap::default(),
            reaches: FxHashMap::default(),
        })
    }

    /// An element as it is computed, at every point.
    pub fn computed(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Vec<f64>> {
        match &*self.computed.at(body, value, place)? {
            Column::Floats(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// An element over the reals at every point, to the nearest `f64`; nothing where it has no value, or is not certain.
    pub fn exact(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Rc<Vec<Option<f64>>>> {
        let key = (value, SmallVec::from_slice(place));
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        let mut found: Vec<Option<f64>> = vec![None; self.ladder.points.len()];
        let mut open = true;
        for level in &mut self.exact {
            if !open {
                break;
            }
            let column = level.at(body, value, place)?;
            let Column::Reals(values) = &*column else { return None };
            let mut undecided = 0;
            for (found, x) in found.iter_mut().zip(values).filter(|(found, _)| found.is_none()) {
                *found = certain(x);
                undecided += usize::from(found.is_none() && !x.is_undefined());
            }
            open = undecided * FEW > self.ladder.points.len();
        }
        let found = Rc::new(found);
        self.known.insert(key, found.clone());
        Some(found)
    }

    /// How far an element over the reals moves where the leaves move by one unit in the last place, at every point; nothing
    /// is known as 0.
    pub fn reach(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Rc<Vec<f64>>> {
        let key = (value, SmallVec::from_slice(place));
        if let Some(known) = self.reaches.get(&key) {
            return Some(known.clone());
        }
        let exact = self.exact(body, value, place)?;
        let mut reach = vec![0.0_f64; exact.len()];
        for moved in &mut self.moved {
            let column = moved.at(body, value, place)?;
            let Column::Reals(values) = &*column else { return None };
            for ((reach, exact), x) in reach.iter_mut().zip(&*exact).zip(values) {
                let moved = exact.zip(certain(x)).map_or(0.0, |(exact, x)| (x - exact).abs());
                *reach = reach.max(moved);
            }
        }
        let reach = Rc::new(reach);
        self.reaches.insert(key, reach.clone());
        Some(reach)
    }

    /// Whether an element times a number may be another one over the reals, at every point at which both have a value.
    pub fn same(
        &mut self,
        body: &Body,
        (a, at, by): (Value, &[i64], &Rational),
        (b, there): (Value, &[i64]),
    ) -> bool {
        let coarse = &mut self.exact[0];
        let (Some(a), Some(b)) = (coarse.at(body, a, at), coarse.at(body, b, there)) else { return true };
        let (Column::Reals(a), Column::Reals(b)) = (&*a, &*b) else { return true };
        // The product with the number is rounded: what differs by less than this is no other value.
        let times = |x: &Float, slack: f64| {
            let product = Float::with_val(x.prec(), x * by);
            let slack = Float::with_val(x.prec(), product.abs_ref()) * slack;
            product + slack
        };
        let apart = |a: &Enclosure<Float>, b: &Enclosure<Float>| {
            let known = !a.may_be_nan && !b.may_be_nan;
            let (low, high) = (times(&a.lo, -1e-60), times(&a.hi, 1e-60));
            let (low, high) = if *by < 0 { (times(&a.hi, -1e-60), times(&a.lo, 1e-60)) } else { (low, high) };
            known && (high < b.lo || b.hi < low)
        };
        !a.iter().zip(b).any(|(a, b)| apart(a, b))
    }

    /// The errors of an element that stands for a number of times another one, in values that `held` holds.
    pub fn errors(
        &mut self,
        body: &Body,
        held: Format,
        (value, at, by): (Value, &[i64], f64),
        (computed, there): (Value, &[i64]),
    ) -> Option<Errors> {
        let mut exact = self.exact(body, value, at)?;
        let computed = self.computed(body, computed, there)?;
        if by != 1.0 {
            exact = Rc::new(exact.iter().map(|x| x.map(|x| x * by)).collect());
        }
        let formats = (self.format, held);
        let ladder = self.ladder.clone();
        let rungs = || ladder.points.iter().map(|p| p.rung);
        let errors = Errors::of(formats, &exact, &computed, None, rungs());
        if errors.is_fine() {
            return Some(errors);
        }
        let mut reach = self.reach(body, value, at)?;
        if by != 1.0 {
            reach = Rc::new(reach.iter().map(|x| x * by.abs()).collect());
        }
        Some(Errors::of(formats, &exact, &computed, Some(&reach), rungs()))
    }
}

/// A number whose enclosure is narrow beside itself.
fn certain(x: &Enclosure<Float>) -> Option<f64> {
    if x.may_be_nan || x.is_undefined() {
        return None;
    }
    let (lo, hi) = (x.lo.to_f64(), x.hi.to_f64());
    if lo == hi {
        return Some(lo);
    }
    let narrow = (hi - lo).abs() <= lo.abs().max(hi.abs()) * f64::EPSILON * 4.0;
    (lo.is_finite() && hi.is_finite() && narrow).then_some(lo)
}

/// Numbers that a body speaks of.
fn numbers(body: &Body) -> Vec<f64> {
    let constant = |op: &ngc_ir::Op| body.op(*op).def.is_some_and(|def| def.traits.constant);
    let value = |op: ngc_ir::Op| {
        let tensor = attr_to_tensor(body.attr(op, "value")?).ok()?;
        (tensor.len() == 1).then(|| tensor.to_f64s()[0])
    };
    body.walk().into_iter().filter(constant).filter_map(value).collect()
}
