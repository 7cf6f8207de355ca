//! Values of a window over the reals at points, to the nearest `f64`.
//!
//! For formats up to f32 enclosures with ends in `f64` are narrow enough at most points, and cost a hundredth of those with
//! more bits. Where much cancels, or something leaves the range of `f64`, they are not; these points alone are enclosed in more bits.

use std::rc::Rc;

use ngc_interp::elements::{Column, Elements, Mode};
use ngc_ir::{Body, Context, Resources, Value};
use ngc_numerics::{DType, Enclosure, Format, Interval};
use rug::Float;
use rustc_hash::FxHashMap;

use super::judge::OPEN;
use super::ladder::Ladder;
use super::window::Window;

/// Bits of enclosures, tried in this order.
const BITS: [u32; 2] = [320, 1400];

/// One point of so many may stay undecided before the second of these is tried.
const FEW: usize = 5;

/// An enclosure in `f64` this narrow beside its value stands for a number, in formats up to f32.
const NARROW: f64 = 1.0 / (1u64 << 42) as f64;

/// What the leaves of a window are.
pub struct Leaves<'a> {
    context: &'a Context,
    resources: &'a Resources,
    ranges: Rc<[(Value, Interval)]>,
    types: Rc<FxHashMap<Value, DType>>,
}

impl<'a> Leaves<'a> {
    /// Of a window.
    pub fn new(context: &'a Context, resources: &'a Resources, window: &Window) -> Leaves<'a> {
        let ranges = window.leaves.iter().map(|leaf| (leaf.value, leaf.range)).collect();
        let types = window.leaves.iter().filter_map(|l| Some((l.value, window.body.ty(l.value).elem()?)));
        Leaves { context, resources, ranges, types: Rc::new(types.collect()) }
    }

    /// The elements of the window's values at the points of a ladder; of leaves that are moved by one unit in the last place, if
    /// that is asked for.
    pub fn elements(&self, mode: Mode, ladder: &Rc<Ladder>, moved: Option<u64>) -> Elements<'a> {
        let (ladder, ranges, types) = (ladder.clone(), self.ranges.clone(), self.types.clone());
        let points = ladder.points.len();
        let leaf = move |value: Value, place: &[i64]| {
            let Some(n) = ranges.iter().position(|(leaf, _)| *leaf == value) else { return Vec::new() };
            let range = &ranges[n].1;
            match types.get(&value) {
                Some(DType::Float(format)) => ladder.column(n, range, *format, place, moved),
                Some(_) => ladder.integers(n, range, place),
                None => Vec::new(),
            }
        };
        Elements::new(self.context, self.resources, mode, points, Box::new(|_, _| OPEN), Box::new(leaf))
    }
}

/// Values over the reals.
pub struct Exact<'a> {
    leaves: Rc<Leaves<'a>>,
    ladder: Rc<Ladder>,
    moved: Option<u64>,
    /// In `f64`, where that serves.
    near: Option<Elements<'a>>,
    /// Points that take more bits, in order.
    hard: Vec<usize>,
    /// Enclosures in more bits at these points.
    levels: Vec<Elements<'a>>,
}

impl<'a> Exact<'a> {
    /// The values of a window whose results are of a format.
    pub fn new(
        leaves: &Rc<Leaves<'a>>,
        ladder: &Rc<Ladder>,
        format: Format,
        moved: Option<u64>,
    ) -> Exact<'a> {
        let near = (format.width() <= 32).then(|| leaves.elements(Mode::Near, ladder, moved));
        let (leaves, ladder) = (leaves.clone(), ladder.clone());
        Exact { leaves, ladder, moved, near, hard: Vec::new(), levels: Vec::new() }
    }

    /// An element at every point; nothing where it has no value, or is not certain.
    pub fn at(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Vec<Option<f64>>> {
        let points = self.ladder.points.len();
        let (mut found, mut open) = (vec![None; points], (0..points).collect::<Vec<usize>>());
        if let Some(near) = &mut self.near {
            let column = near.at(body, value, place)?;
            let Column::Near(x) = &*column else { return None };
            open.clear();
            for (n, x) in x.iter().enumerate() {
                found[n] = in_f64(x);
                open.extend((found[n].is_none() && !x.is_undefined()).then_some(n));
            }
        }
        for n in 0..BITS.len() {
            if open.is_empty() || n > 0 && open.len() * FEW <= points {
                break;
            }
            self.harden(&open);
            let column = self.levels[n].at(body, value, place)?;
            let Column::Reals(x) = &*column else { return None };
            open.retain(|point| {
                let x = &x[self.hard.binary_search(point).unwrap_or_else(|_| unreachable!("it is hard"))];
                found[*point] = certain(x);
                found[*point].is_none() && !x.is_undefined()
            });
        }
        Some(found)
    }

    /// Takes points for hard ones.
    fn harden(&mut self, points: &[usize]) {
        if points.iter().all(|point| self.hard.binary_search(point).is_ok()) {
            return;
        }
        // Once more is asked for than before, all are: levels begin anew whenever points are added.
        match self.levels.is_empty() {
            true => self.hard.extend(points),
            false => self.hard.extend(0..self.ladder.points.len()),
        }
        self.hard.sort_unstable();
        self.hard.dedup();
        let ladder = Rc::new(Ladder { points: self.hard.iter().map(|&n| self.ladder.points[n]).collect() });
        let level = |bits| self.leaves.elements(Mode::Real { bits }, &ladder, self.moved);
        self.levels = BITS.map(level).into();
    }

    /// An element enclosed at every point, as cheaply as can be.
    pub fn enclosed(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Rc<Column>> {
        if let Some(near) = &mut self.near {
            return near.at(body, value, place);
        }
        let all: Vec<usize> = (0..self.ladder.points.len()).collect();
        self.harden(&all);
        self.levels[0].at(body, value, place)
    }
}

/// A number whose enclosure with ends in `f64` is narrow beside itself.
fn in_f64(x: &Enclosure<f64>) -> Option<f64> {
    if x.may_be_nan || x.is_undefined() {
        return None;
    }
    let narrow = x.hi - x.lo <= x.lo.abs().max(x.hi.abs()) * NARROW;
    // At the least numbers of f64 ends are no longer narrow; beyond the greatest they are not finite.
    let finite = x.lo.is_finite() && x.hi.is_finite();
    (x.lo == x.hi || narrow && finite).then(|| if x.lo == x.hi { x.lo } else { x.lo + (x.hi - x.lo) / 2.0 })
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
