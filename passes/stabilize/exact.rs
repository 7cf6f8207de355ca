//! Values of a window over the reals at points, to the nearest `f64`.
//!
//! For formats up to f32 enclosures with ends in `f64` are narrow enough at most points, and cost a hundredth of those with
//! more bits. Where much cancels, or something leaves the range of `f64`, they are not; these points alone are enclosed in more bits.

use std::rc::Rc;

use ngc_interp::elements::{Column, Elements, Mode};
use ngc_ir::{Body, Context, Resources, Value};
use ngc_numerics::{DType, Enclosure, Format, Interval, Prim};
use rug::Float;
use rug::float::Round;
use rustc_hash::FxHashMap;

use super::domain;
use super::judge::OPEN;
use super::ladder::{Ladder, LeafCount, Move, Part, end};
use super::window::{Leaf, Window, moves, primitive};
use crate::precision::conversion;

/// Bits of enclosures, tried in this order. The first hold numbers near 1 beside parts of the least of f32 (2^-149).
const BITS: [u32; 4] = [192, 448, 1152, 2200];

/// So many of these are for all values, the others for those of few operations.
const ALL: usize = 3;

/// What has left the range of exponents does not come back, and what is divided by a number that may be 0 may: after so many
/// values that stayed open at a point, one without a finite enclosure is given up there.
const VAIN: u8 = 10;

/// So many hard points are enclosed together: of those of one kind mostly all are asked for, or none.
const TOGETHER: usize = 8;

/// Where one of so many points is asked for all are looked at.
const MANY: usize = 4;

/// One point of so many may stay undecided before the costly ones are tried, of many operations and of few. What vanishes at no
/// more points than that does so by chance, and who gives 0 there is lucky: nothing is judged by it.
const SHARE: [usize; 2] = [5, 16];

/// An enclosure in `f64` this narrow beside its value stands for a number, in formats up to f32.
const NARROW: f64 = 1.0 / (1u64 << 38) as f64;

/// Numbers beyond the greatest that a format holds by so many bits are judged nowhere, nor are parts of the least.
const MARGIN: i32 = 24;

/// What is nearer than this beside what matters is as good as nowhere else.
const NEGLIGIBLE: f64 = 1.0 / (1u64 << 10) as f64;

/// What the leaves of a window are.
pub struct Leaves<'a> {
    context: &'a Context,
    resources: &'a Resources,
    ranges: Rc<[(Value, Interval)]>,
    /// Between which two numbers each may stand that are as sure as truth values are: the stated ends, where they are ordinary
    /// numbers, or these themselves.
    ends: Rc<[[Option<f64>; 2]]>,
    /// The bounded range within which each must lie for the window's values to exist.
    domains: Rc<[Option<Interval>]>,
    /// What each is there for.
    parts: Rc<[Part]>,
    /// The extents of the dimensions of each whose places are components.
    components: Rc<[Vec<Option<i64>>]>,
    types: Rc<FxHashMap<Value, DType>>,
}

impl<'a> Leaves<'a> {
    /// Of a window.
    pub fn new(context: &'a Context, resources: &'a Resources, window: &Window) -> Leaves<'a> {
        let bounded = domain::bounded(&window.body);
        let ranges = window.leaves.iter().map(|leaf| (leaf.value, leaf.range)).collect();
        let domain = |leaf: &Leaf| {
            let own = bounded.get(&leaf.value)?;
            let (lo, hi) = (own.lo.max(leaf.range.lo), own.hi.min(leaf.range.hi));
            (lo < hi).then(|| Interval::new(lo, hi))
        };
        let domains = window.leaves.iter().map(domain).collect();
        let types = window.leaves.iter().filter_map(|l| Some((l.value, window.body.ty(l.value).elem()?)));
        let parts: Rc<[Part]> = window.leaves.iter().map(|leaf| part(&window.body, leaf.value)).collect();
        let is_alone = window.leaves.len() == 1;
        let ends = |(leaf, part): (&Leaf, &Part)| match window.body.ty(leaf.value).format() {
            Some(format) if leaf.stated => [false, true].map(|high| end(&leaf.range, format, high)),
            Some(_) if is_alone && *part == Part::Term => {
                [0.0, 1.0].map(|truth| Some(truth).filter(|x| leaf.range.contains(x)))
            }
            _ => [None; 2],
        };
        let ends = window.leaves.iter().zip(parts.iter()).map(ends).collect();
        let components = window.leaves.iter().map(|leaf| components(&window.body, leaf.value)).collect();
        Leaves {
            context,
            resources,
            ranges,
            ends,
            domains,
            parts,
            components,
            types: Rc::new(types.collect()),
        }
    }

    /// How many there are.
    pub fn count(&self) -> LeafCount {
        let floats = self.floats().count();
        let integers = self.parts.len() - floats;
        let several = self.components.iter().flatten().flatten().count();
        let terms = self.parts.iter().filter(|part| **part == Part::Term).count();
        LeafCount {
            floats: floats + several,
            masks: if self.parts.len() > 1 { terms + integers } else { 0 },
            bounded: self.ends.iter().filter(|ends| ends.iter().any(Option::is_some)).count(),
        }
    }

    /// Those that are floating-point numbers.
    pub fn floats(&self) -> impl Iterator<Item = usize> {
        let is_float = |n: &usize| matches!(self.types.get(&self.ranges[*n].0), Some(DType::Float(_)));
        (0..self.ranges.len()).filter(is_float)
    }

    /// The elements of the window's values at the points of a ladder; of leaves that are moved, if that is
    /// asked for.
    pub fn elements(&self, mode: Mode, ladder: &Rc<Ladder>, moved: Option<Move>) -> Elements<'a> {
        let (ladder, ranges, types) = (ladder.clone(), self.ranges.clone(), self.types.clone());
        let (parts, domains, ends) = (self.parts.clone(), self.domains.clone(), self.ends.clone());
        let (points, components) = (ladder.points.len(), self.components.clone());
        let leaf = move |value: Value, place: &[i64]| {
            let Some(n) = ranges.iter().position(|(leaf, _)| *leaf == value) else { return Vec::new() };
            let range = &ranges[n].1;
            match types.get(&value) {
                Some(DType::Float(format)) => {
                    let range = (range, domains[n].as_ref(), ends[n]);
                    // Components are leaves of their own.
                    let number = components[n]
                        .iter()
                        .zip(place)
                        .fold(0, |number, (extent, at)| extent.map_or(number, |extent| number * extent + at));
                    let own = n + parts.len() * number as usize;
                    ladder.column((n, own, parts[n]), range, *format, place, moved)
                }
                Some(_) => ladder.integers(n, range, place),
                None => Vec::new(),
            }
        };
        Elements::new(self.context, self.resources, mode, points, Box::new(|_, _| OPEN), Box::new(leaf))
    }
}

/// The most places along a dimension that are components: coordinates, real and imaginary parts, quaternions.
const MOST_COMPONENTS: i64 = 4;

/// The extents of the dimensions of a leaf along which a single place is taken: what stands at one need not be like what
/// stands at another, as if it had been given by itself.
fn components(body: &Body, leaf: Value) -> Vec<Option<i64>> {
    let shape = body.ty(leaf).shape().unwrap_or(&[]);
    let mut found = vec![None; shape.len()];
    for op in body.walk().into_iter().filter(|&op| body.name(op) == "ng.slice") {
        let (Some(&of), Some(taken)) = (body.operands(op).first(), body.ty(body.result(op, 0)).shape())
        else {
            continue;
        };
        if of != leaf {
            continue;
        }
        for (found, (whole, part)) in found.iter_mut().zip(shape.iter().zip(taken)) {
            let whole = whole.known().map_or(0, |n| n as i64);
            if (2..=MOST_COMPONENTS).contains(&whole) && part.known() == Some(1) {
                *found = Some(whole);
            }
        }
    }
    found
}

/// What a leaf is there for.
fn part(body: &Body, leaf: Value) -> Part {
    let ops = body.walk();
    let (mut open, mut multiplied, mut put_together) = (vec![leaf], false, false);
    while let Some(value) = open.pop() {
        for &op in ops.iter().filter(|op| body.operands(**op).contains(&value)) {
            let result = body.result(op, 0);
            match body.op(op).def {
                Some(def) if def.traits.contraction => multiplied = true,
                _ if moves(body, op) || conversion(body, op).is_some() => open.push(result),
                _ if matches!(primitive(body, op), Some(Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg)) => {
                    put_together = true;
                }
                _ => return Part::Any,
            }
        }
    }
    match (multiplied, put_together) {
        (true, false) => Part::Matrix,
        (false, true) => Part::Term,
        _ => Part::Any,
    }
}

/// The magnitudes between which a number must be known.
#[derive(Clone, Copy)]
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    /// Of values that are judged in a format, or in f32 where that reaches further.
    fn of(format: Format) -> Scale {
        let wide = if format.width() <= 32 { Format::F32 } else { format };
        let margin = f64::from(MARGIN).exp2();
        Scale { least: wide.min_subnormal() / margin, greatest: wide.max_finite() * margin }
    }

    /// A number between these that need not be known better: beyond all that is judged, or known to less than a part of the
    /// least number.
    fn coarse(&self, lo: f64, hi: f64) -> Option<f64> {
        match () {
            () if lo > self.greatest => Some(f64::INFINITY),
            () if hi < -self.greatest => Some(f64::NEG_INFINITY),
            () => (hi - lo <= self.least).then_some(lo),
        }
    }

    /// Whether a number is between two that are parts of the least number.
    fn vanishes(&self, [lo, hi]: [f64; 2]) -> bool {
        lo <= 0.0 && hi >= 0.0 && hi - lo <= self.least
    }
}

/// Values over the reals.
pub struct Exact<'a> {
    leaves: Rc<Leaves<'a>>,
    ladder: Rc<Ladder>,
    moved: Option<Move>,
    scale: Scale,
    /// Whether the value is few operations on single numbers.
    few: bool,
    /// How many values stayed open, by point.
    vain: Vec<u8>,
    /// Whether enclosures with ends in `f64` serve.
    serves: bool,
    /// Those, at points that were asked for together.
    near: Vec<(Vec<usize>, Elements<'a>)>,
    /// Points that take more bits.
    hard: Vec<Hard<'a>>,
}

/// Points at which values are enclosed in more bits.
struct Hard<'a> {
    /// The points, in order.
    points: Vec<usize>,
    /// Enclosures at them.
    levels: [Elements<'a>; BITS.len()],
}

impl<'a> Exact<'a> {
    /// The values of a window whose results are of a format.
    pub fn new(
        leaves: &Rc<Leaves<'a>>,
        ladder: &Rc<Ladder>,
        format: Format,
        moved: Option<Move>,
        few: bool,
    ) -> Exact<'a> {
        let serves = format.width() <= 32;
        let (leaves, ladder) = (leaves.clone(), ladder.clone());
        let vain = vec![0; ladder.points.len()];
        Exact {
            leaves,
            ladder,
            moved,
            scale: Scale::of(format),
            few,
            vain,
            serves,
            near: Vec::new(),
            hard: Vec::new(),
        }
    }

    /// An element at every point; NaN where it has no value, nothing where it is not certain.
    pub fn at(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Vec<Option<f64>>> {
        let points = self.ladder.points.len();
        let scale = self.scale;
        let (mut found, mut open) = (vec![None; points], (0..points).collect::<Vec<usize>>());
        if self.serves {
            for (n, x) in self.near(body, (value, place), &open)? {
                found[n] = in_f64(&x, &scale);
            }
            open.retain(|&n| found[n].is_none());
        }
        self.closer(body, (value, place), open, &mut |n, x| {
            found[n] = certain(x);
            found[n].is_some()
        })?;
        Some(found)
    }

    /// How far an element is from a number at some of the points, with the distance at which that matters; nothing where it
    /// is not known.
    pub fn distances(
        &mut self,
        body: &Body,
        (value, place): (Value, &[i64]),
        (from, asked): (&[Option<f64>], &[(usize, f64)]),
    ) -> Option<Vec<Option<f64>>> {
        let mut found = vec![None; from.len()];
        let mut open: Vec<usize> = asked.iter().map(|(n, _)| *n).collect();
        let mut matters = vec![0.0; from.len()];
        asked.iter().for_each(|&(n, far)| matters[n] = far);
        if self.serves {
            let near = self.near(body, (value, place), &open)?;
            open.clear();
            for (n, x) in near {
                found[n] = from[n].and_then(|from| distance(&x, from, matters[n]));
                open.extend((found[n].is_none() && !x.is_undefined()).then_some(n));
            }
        }
        self.closer(body, (value, place), open, &mut |n, x| {
            let certain = || Some((certain(x)? - from[n]?).abs());
            found[n] = from[n].and_then(|from| distance(&outside(x), from, matters[n])).or_else(certain);
            found[n].is_some()
        })?;
        Some(found)
    }

    /// An element at some of the points, in order, enclosed with ends in `f64`.
    fn near(
        &mut self,
        body: &Body,
        (value, place): (Value, &[i64]),
        asked: &[usize],
    ) -> Option<Vec<(usize, Enclosure<f64>)>> {
        let points = self.ladder.points.len();
        let is_new = |n: &usize| !self.near.iter().any(|(points, _)| points.binary_search(n).is_ok());
        let mut new: Vec<usize> = asked.iter().copied().filter(is_new).collect();
        if new.len() * MANY >= points {
            new = (0..points).filter(is_new).collect();
        }
        if !new.is_empty() {
            let elements = self.leaves.elements(Mode::Near, &self.part(&new), self.moved);
            self.near.push((new, elements));
        }
        let mut found = Vec::with_capacity(asked.len());
        for (points, elements) in &mut self.near {
            let own = |&n: &usize| Some((n, points.binary_search(&n).ok()?));
            let own: Vec<(usize, usize)> = asked.iter().filter_map(own).collect();
            if own.is_empty() {
                continue;
            }
            let column = elements.at(body, value, place)?;
            let Column::Near(x) = &*column else { return None };
            found.extend(own.into_iter().map(|(n, at)| (n, x[at])));
        }
        found.sort_unstable_by_key(|(n, _)| *n);
        Some(found)
    }

    /// Some of the points.
    fn part(&self, points: &[usize]) -> Rc<Ladder> {
        Rc::new(Ladder { points: points.iter().map(|&n| self.ladder.points[n]).collect() })
    }

    /// An element at points that take more bits, until each enclosure is close enough.
    fn closer(
        &mut self,
        body: &Body,
        (value, place): (Value, &[i64]),
        open: Vec<usize>,
        is_enough: &mut dyn FnMut(usize, &Enclosure<Float>) -> bool,
    ) -> Option<()> {
        let (levels, share) = if self.few { (BITS.len(), SHARE[1]) } else { (ALL, SHARE[0]) };
        // Each with its last enclosure.
        let mut open: Vec<(usize, [f64; 2])> = open.into_iter().map(|point| (point, [f64::NAN; 2])).collect();
        let mut vanishing = Vec::new();
        for n in 0..levels {
            let costly = n + 1 >= ALL;
            if costly && (open.len() + vanishing.len()) * share <= self.vain.len() {
                break;
            }
            if costly {
                let zero = Enclosure::point(Float::new(f64::MANTISSA_DIGITS));
                vanishing.retain(|&point| !is_enough(point, &zero));
            }
            if open.is_empty() {
                continue;
            }
            self.harden(&open.iter().map(|(point, _)| *point).collect::<Vec<_>>());
            let mut next = Vec::new();
            for hard in &mut self.hard {
                let own = |&(point, last): &(usize, _)| {
                    Some((point, last, hard.points.binary_search(&point).ok()?))
                };
                let own: Vec<(usize, [f64; 2], usize)> = open.iter().filter_map(own).collect();
                if own.is_empty() {
                    continue;
                }
                let column = hard.levels[n].at(body, value, place)?;
                let Column::Reals(x) = &*column else { return None };
                for (point, last, at) in own {
                    let ends = [x[at].lo.to_f64(), x[at].hi.to_f64()];
                    let finite = x[at].lo.is_finite() && x[at].hi.is_finite();
                    // What more bits have not narrowed has left the range of exponents.
                    let left = ends == last && !x[at].may_be_nan;
                    let may_close = finite || !left && self.vain[point] < VAIN;
                    match is_enough(point, &x[at]) {
                        true => {}
                        false if !x[at].may_be_nan && self.scale.vanishes(ends) => vanishing.push(point),
                        false => next.extend(may_close.then_some((point, ends))),
                    }
                }
            }
            open = next;
        }
        let open = open.into_iter().map(|(point, _)| point);
        open.chain(vanishing).for_each(|point| self.vain[point] = self.vain[point].saturating_add(1));
        Some(())
    }

    /// Takes points for hard ones.
    fn harden(&mut self, points: &[usize]) {
        let is_known = |point: &usize| self.hard.iter().any(|hard| hard.points.binary_search(point).is_ok());
        let new: Vec<usize> = points.iter().copied().filter(|point| !is_known(point)).collect();
        for points in new.chunks(TOGETHER) {
            let ladder = self.part(points);
            let level = |bits| self.leaves.elements(Mode::Real { bits }, &ladder, self.moved);
            self.hard.push(Hard { points: points.to_vec(), levels: BITS.map(level) });
        }
    }

    /// An element enclosed at every point, as cheaply as can be, in columns, each with the points that it is for.
    pub fn enclosed(
        &mut self,
        body: &Body,
        value: Value,
        place: &[i64],
    ) -> Option<Vec<(Vec<usize>, Rc<Column>)>> {
        let all: Vec<usize> = (0..self.ladder.points.len()).collect();
        if self.serves {
            let near = self.near(body, (value, place), &all)?.into_iter().map(|(_, x)| x).collect();
            return Some(vec![(all, Rc::new(Column::Near(near)))]);
        }
        self.harden(&all);
        let column =
            |hard: &mut Hard<'_>| Some((hard.points.clone(), hard.levels[0].at(body, value, place)?));
        self.hard.iter_mut().map(column).collect()
    }
}

/// A number whose enclosure with ends in `f64` is narrow beside itself; NaN where there is none.
fn in_f64(x: &Enclosure<f64>, scale: &Scale) -> Option<f64> {
    if x.may_be_nan || x.is_undefined() {
        return x.is_undefined().then_some(f64::NAN);
    }
    if let Some(number) = scale.coarse(x.lo, x.hi) {
        return Some(number);
    }
    let narrow = x.hi - x.lo <= x.lo.abs().max(x.hi.abs()) * NARROW;
    // At the least numbers of f64 ends are no longer narrow; beyond the greatest they are not finite.
    let finite = x.lo.is_finite() && x.hi.is_finite();
    (x.lo == x.hi || narrow && finite).then(|| if x.lo == x.hi { x.lo } else { x.lo + (x.hi - x.lo) / 2.0 })
}

/// How far a number is from one whose enclosure is narrow beside that; 0 where it is far nearer than matters.
fn distance(x: &Enclosure<f64>, from: f64, matters: f64) -> Option<f64> {
    if x.may_be_nan || x.is_undefined() {
        return None;
    }
    let far = (x.lo - from).abs().max((x.hi - from).abs());
    if far <= matters * NEGLIGIBLE {
        return Some(0.0);
    }
    (far.is_finite() && x.hi - x.lo <= far / 4.0).then_some(far)
}

/// An enclosure with ends in `f64`.
fn outside(x: &Enclosure<Float>) -> Enclosure<f64> {
    let (lo, hi) = (x.lo.to_f64_round(Round::Down), x.hi.to_f64_round(Round::Up));
    Enclosure { lo, hi, may_be_nan: x.may_be_nan }
}

/// A number whose enclosure is narrow beside itself; NaN where there is none.
fn certain(x: &Enclosure<Float>) -> Option<f64> {
    if x.may_be_nan || x.is_undefined() {
        return x.is_undefined().then_some(f64::NAN);
    }
    let (lo, hi) = (x.lo.to_f64(), x.hi.to_f64());
    if lo == hi {
        return Some(lo);
    }
    let narrow = (hi - lo).abs() <= lo.abs().max(hi.abs()) * f64::EPSILON * 4.0;
    (lo.is_finite() && hi.is_finite() && narrow).then_some(lo)
}
