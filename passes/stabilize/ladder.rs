//! Points on a ladder of magnitudes: what the leaves of a window are where forms of its value are compared.
//!
//! A rung is a magnitude, from the least to the greatest numbers of the format. On each rung leaves take both signs, are
//! all positive, and are nearly equal; beside the ladder every leaf stands on a rung of its own, near the numbers that the
//! window itself speaks of, and where it is only added and multiplied, at truth values. A leaf whose range is stated stays
//! within it, at its ends as well as inside; where a form is checked, points at the ends are rungs of their own, as are those
//! at which a sum within the given form cancels ([`super::cancellation`]). What an
//! element is follows from the point, the leaf and the place alone, so no tensor is ever made, and every run draws the
//! same.

use ngc_numerics::{Format, Interval};

/// How the values of a point lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// About one magnitude, of both signs.
    Spread,
    /// About one magnitude, positive.
    Positive,
    /// Nearly one number.
    Near,
    /// Every leaf has a magnitude of its own.
    Mixed,
    /// Every leaf has an ordinary magnitude of its own: a number and what it is divided by need not be alike.
    Apart,
    /// Some leaves hold truth values, in this turn of several, and the others are ordinary: masks, one-hot rows, labels.
    Marked(usize),
    /// Leaves stand at ends that are sure, in this turn of several.
    Bound(usize),
    /// Near a number.
    About,
    /// The greatest and the least numbers among ordinary ones.
    Ends,
    /// One leaf is as great as may be, or as small, and the others are ordinary.
    Lone,
    /// One leaf is what makes a sum vanish, or nearly, and the others are ordinary.
    Cancelling(usize),
}

impl Kind {
    /// How the elements of any matrix lie.
    fn of_matrix(self) -> Kind {
        if matches!(self, Kind::Near | Kind::About) { Kind::Spread } else { self }
    }
}

/// What a ladder is drawn for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// To choose among many forms.
    Search,
    /// To hold the one that was chosen against the given one: other points, on more rungs.
    Check,
    /// To hold both against each other where leaves stand at ends that are sure, on rungs behind all others.
    Ends,
}

/// Numbers of so great or so small a binary exponent are no ordinary ones: in f32 sums of their squares overflow.
pub const ORDINARY: i32 = 30;

/// A point.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    kind: Kind,
    /// The binary exponent of the magnitude, or of how near the neighbour is.
    exponent: i32,
    about: f64,
    seed: u64,
    /// Points of one rung are judged together.
    pub rung: usize,
}

/// The points of a window.
pub struct Ladder {
    /// The points.
    pub points: Vec<Point>,
}

/// What a leaf is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Matrix products alone: it is any matrix, and its elements have nothing to do with each other.
    Matrix,
    /// Sums and products alone: it may be a mask.
    Term,
    /// Anything.
    Any,
}

/// How many leaves of a kind a window has.
#[derive(Clone, Copy, Debug)]
pub struct LeafCount {
    /// Floating-point numbers.
    pub floats: usize,
    /// Leaves that may hold truth values beside others.
    pub masks: usize,
    /// Those of them that have ends that are sure.
    pub bounded: usize,
}

/// How leaves are moved.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// By which each of them goes up or down.
    pub seed: u64,
    /// Whether each goes the other way.
    pub opposite: bool,
    /// By how many units in the last place.
    pub places: f64,
}

/// How great and how small the ordinary magnitudes of single leaves are, in powers of two.
const APART: i32 = 8;
/// The same beside truth values, least and greatest: exponentials of what a mask leaves out overflow beside those of the others.
const MARKED: (f64, f64) = (-4.0, 6.0);
/// A number differs by so many bits at least from the one at which a sum vanishes.
const LEFT: f64 = 3.0;
/// Which leaves hold truth values, in turn.
const TURNS: usize = 6;
/// At which ends leaves stand, in turn: all at the lower, all at the upper, and every second one at the other.
const BOUNDS: usize = 4;
/// The first of their rungs.
const BEHIND: usize = 100;
/// One point of so many is one at which they have nothing to do with each other, and so many are.
const SHARE: usize = 10;
const FEWEST: usize = 6;

/// Rungs over the whole format where a form is checked.
const CHECKED: i32 = 32;

/// Leaves of which one is at the ends of the format while the others are not.
const LEAVES: usize = 6;
/// Points at which one is.
const ALONE: usize = 3;

/// Numbers that conditions, poles and zeros often stand at.
const NUMBERS: [f64; 4] = [0.0, 1.0, -1.0, 0.5];
/// Numbers of the value's own beside these, at most.
const OWN: usize = 6;
/// How near to them points lie, in powers of two.
const DEPTHS: [i32; 4] = [-3, -7, -12, -20];

impl Ladder {
    /// About `count` points for leaves of a format, and `further` ones on rungs of their own; `near` are
    /// numbers that the value speaks of.
    pub fn new(
        format: Format,
        leaves: LeafCount,
        near: &[f64],
        count: usize,
        to: Use,
        further: &[Point],
    ) -> Ladder {
        if to == Use::Ends {
            return Ladder::at_ends(leaves);
        }
        let (low, high) = (format.min_normal().log2() as i32, format.max_finite().log2() as i32);
        let mut rungs: Vec<i32> =
            vec![0, 1, 3, -1, -4, 5, 7, -10, -20, 10, high / 2, high * 9 / 10, low * 9 / 10];
        rungs.extend([low / 2, 15, -30, high / 3, low / 3]);
        let check = to == Use::Check;
        if check {
            rungs.extend((1..CHECKED).map(|n| low + (high - low) * n / CHECKED));
        }
        rungs.retain(|&r| r > low && r < high);
        let mut seen = Vec::new();
        rungs.retain(|r| !seen.contains(r) && (seen.push(*r), true).1);
        let kinds = [Kind::Spread, Kind::Positive, Kind::Near];
        let mut points = Vec::new();
        let mut draw = |kind, exponent, about, rung| {
            let seed = mix((points.len() as u64 + if check { 0x5EED_0000 } else { 1 })
                .wrapping_mul(0x9E37_79B9_7F4A_7C15));
            points.push(Point { kind, exponent, about, seed, rung });
        };
        let each = (count / (2 * kinds.len() * rungs.len())).max(1);
        for (rung, &exponent) in rungs.iter().enumerate() {
            for kind in (0..each).flat_map(|_| kinds) {
                draw(kind, exponent, 0.0, rung);
            }
        }
        let beside = rungs.len();
        for about in NUMBERS {
            for depth in DEPTHS {
                draw(Kind::About, depth, about, beside);
            }
        }
        for _ in 0..if check { count / 10 } else { 4 } {
            draw(Kind::Ends, 0, 0.0, beside + 2);
        }
        // Every leaf in turn, on a rung of its own; few windows have more.
        for n in 0..if check { 2 * LEAVES } else { 0 } {
            for _ in 0..ALONE {
                draw(Kind::Lone, if n % 2 == 0 { high } else { low }, (n / 2) as f64, beside + 3 + n);
            }
        }
        for n in 0..(count / 5).max(12) {
            draw(Kind::Mixed, rungs[(5 * n) % rungs.len()], 0.0, beside + 1);
        }
        // Last, so that all others are the same whatever the numbers are.
        for &about in near.iter().filter(|x| !NUMBERS.contains(x)).take(OWN) {
            for depth in DEPTHS {
                draw(Kind::About, depth, about, beside);
            }
        }
        if points.len() > count {
            // Evenly from all of them, the first of each stretch.
            let step = points.len() as f64 / count.max(1) as f64;
            points = (0..count).map(|n| points[(n as f64 * step) as usize]).collect();
        }
        let mut last = points.iter().map(|p| p.rung).max().unwrap_or(0);
        let few = (count / SHARE).max(FEWEST.min(count / 2));
        let mut beside = |kind, exponent, rung, seed: u64, count: usize| {
            let seeds = (0..count as u64)
                .map(|n| mix(n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (seed + u64::from(check))));
            points.extend(seeds.map(|seed| Point { kind, exponent, about: 0.0, seed, rung }));
        };
        if leaves.floats > 1 {
            last += 1;
            beside(Kind::Apart, APART, last, 0xA9A7, few);
        }
        // What is right where leaves hold truth values must stay so, however often it is lost where they do not.
        if leaves.masks > 0 {
            for turn in 0..TURNS {
                last += 1;
                beside(Kind::Marked(turn), 0, last, 0xB0B0 + 2 * turn as u64, few.div_ceil(TURNS));
            }
        }
        points.extend(further.iter().map(|p| Point { rung: last + 1 + p.rung, ..*p }));
        Ladder { points }
    }

    /// The points at which leaves stand at ends that are sure. Where all have ends those of a turn are one.
    fn at_ends(leaves: LeafCount) -> Ladder {
        let (turns, each) = match leaves.bounded {
            0 => (0, 0),
            n if n < leaves.floats => (BOUNDS, FEWEST),
            _ => (BOUNDS, 1),
        };
        let point = |n: usize| {
            let (kind, seed) =
                (Kind::Bound(n / each), mix((n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
            Point { kind, exponent: 0, about: 0.0, seed, rung: BEHIND + n / each }
        };
        Ladder { points: (0..turns * each).map(point).collect() }
    }

    /// Whether the points of each rung are ordinary numbers: where ranges are stated all are, but for those whose magnitudes
    /// have nothing to do with each other.
    pub fn ordinary(&self, stated: bool) -> Vec<bool> {
        let rungs = self.points.iter().map(|p| p.rung + 1).max().unwrap_or(0);
        let mut ordinary = vec![true; rungs];
        for point in &self.points {
            ordinary[point.rung] &= match point.kind {
                Kind::Spread | Kind::Positive | Kind::Near => stated || point.exponent.abs() <= ORDINARY,
                Kind::About | Kind::Apart | Kind::Marked(_) | Kind::Bound(_) | Kind::Cancelling(_) => true,
                Kind::Ends | Kind::Lone => stated,
                Kind::Mixed => false,
            };
        }
        ordinary
    }

    /// The element of a leaf at a place, at every point, in a format; of any matrix, of both signs and many magnitudes where
    /// others are nearly one number: the product with one that is the same everywhere is no product. At every other point it lies
    /// in the domain, if there is one. It is moved if that is asked for, within its range unless that is narrower than the move.
    /// Elements of components have numbers of their own, as leaves have.
    pub fn column(
        &self,
        (leaf, own, part): (usize, usize, Part),
        (range, domain, ends): (&Interval, Option<&Interval>, [Option<f64>; 2]),
        format: Format,
        place: &[i64],
        moved: Option<Move>,
    ) -> Vec<f64> {
        let at =
            place.iter().fold(mix(leaf as u64 + 1), |hash, &p| mix(hash ^ (p as u64).wrapping_add(0x51)));
        let one = |point: &Point| {
            let kind = if part == Part::Matrix { point.kind.of_matrix() } else { point.kind };
            let marked = part == Part::Term && point.marks(leaf);
            let inside = mix(point.seed ^ 0xD0).is_multiple_of(2);
            let range = domain.filter(|_| inside).unwrap_or(range);
            let end = point.end(leaf, ends);
            let x = match end {
                Some(end) => end,
                None if marked => point.truth(at, range),
                None => Point { kind, ..*point }.value(own, at, range, format),
            };
            // What is a truth value was not rounded.
            let Some(moved) = moved.filter(|_| x != 0.0 && !marked) else { return x };
            let up = (mix(point.seed ^ at ^ moved.seed) & 1 == 0) != moved.opposite;
            let by = if up { moved.places } else { -moved.places };
            let (one, other) = (x + by * format.ulp(x), x - by * format.ulp(x));
            if range.contains(&other) && !range.contains(&one) { other } else { one }
        };
        self.points.iter().map(one).collect()
    }

    /// The integer element of a leaf at a place.
    pub fn integers(&self, leaf: usize, range: &Interval, place: &[i64]) -> Vec<f64> {
        let at =
            place.iter().fold(mix(leaf as u64 + 1), |hash, &p| mix(hash ^ (p as u64).wrapping_add(0x51)));
        let one = |p: &Point| {
            if p.marks(leaf) {
                return p.truth(at, range).round();
            }
            // Small ones, such as places, and at every other point some as large as positions and times are.
            let reach = if mix(p.seed).is_multiple_of(2) {
                8.0
            } else {
                (3.0 + 17.0 * unit(mix(p.seed ^ 0x55))).exp2().floor()
            };
            let (low, high) = (range.lo.max(-reach).ceil(), range.hi.min(reach).floor());
            let (low, high) = if low <= high { (low, high) } else { (range.lo.ceil(), range.lo.ceil()) };
            low + (unit(mix(p.seed ^ at)) * (high - low + 1.0)).floor().min(high - low)
        };
        self.points.iter().map(one).collect()
    }
}

impl Point {
    /// Whether some leaves hold truth values here.
    pub fn is_marked(&self) -> bool {
        matches!(self.kind, Kind::Marked(_))
    }

    /// Whether leaves stand here at ends that are sure.
    pub fn is_bound(&self) -> bool {
        matches!(self.kind, Kind::Bound(_))
    }

    /// The point of so many at which a leaf is to make a sum vanish, on a rung.
    pub fn cancelling(leaf: usize, rung: usize, n: usize) -> Point {
        let seed = mix((n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix((leaf << 16 | rung) as u64));
        Point { kind: Kind::Cancelling(leaf), exponent: APART, about: 0.0, seed, rung }
    }

    /// Ordinary numbers of both signs, from the least to the greatest, of which that leaf may be any.
    pub fn scale(&self, format: Format) -> Vec<f64> {
        let size = |n: i32| format.round((f64::from(n) + unit(mix(self.seed ^ 0x77))).exp2());
        let positive = (-APART..APART).map(size);
        positive.clone().rev().map(|x| -x).chain(positive).collect()
    }

    /// The same where that leaf is a number.
    pub fn at(&self, about: f64) -> Point {
        Point { about, ..*self }
    }

    /// The same where that leaf is another number by a few bits, or by the last one: one of several of about one distance.
    pub fn left(&self, format: Format, n: usize) -> Point {
        let bits = LEFT + (f64::from(format.precision()) - LEFT) * unit(mix(self.seed ^ 0x33));
        let by = (unit(mix(self.seed ^ n as u64)) - bits).exp2();
        self.at(self.about * if mix(self.seed ^ 0x99) & 1 == 0 { 1.0 + by } else { 1.0 - by })
    }

    /// Whether a leaf holds truth values here: one of three leaves in turn, or the two others.
    fn marks(&self, leaf: usize) -> bool {
        let Kind::Marked(turn) = self.kind else { return false };
        (leaf + turn).is_multiple_of(3) == (turn < TURNS / 2)
    }

    /// The end at which a leaf stands here.
    fn end(&self, leaf: usize, ends: [Option<f64>; 2]) -> Option<f64> {
        let Kind::Bound(turn) = self.kind else { return None };
        let high = turn == 1 || turn > 1 && leaf.is_multiple_of(2) == (turn == 2);
        ends[usize::from(high)]
    }

    /// A truth value within a range; at every fourth point all hold.
    fn truth(&self, at: u64, range: &Interval) -> f64 {
        let (all, bits) = (mix(self.seed ^ 0x99).is_multiple_of(4), mix(self.seed ^ at));
        within(f64::from(all || bits & 1 == 0), range, bits)
    }

    fn value(&self, leaf: usize, at: u64, range: &Interval, format: Format) -> f64 {
        let (a, b, c) =
            (mix(self.seed ^ at), mix(self.seed ^ at ^ 0xABCD), mix(self.seed ^ leaf as u64 ^ 0x77));
        let sign = |bits: u64| if bits & 1 == 0 { 1.0 } else { -1.0 };
        let power = |e: f64| e.exp2();
        // How far apart nearly equal numbers are: from a few bits to the last one.
        let apart = || {
            let bits = 2.0 + (f64::from(format.precision()) - 2.0) * unit(mix(self.seed ^ 0x33));
            (2.0 * unit(a) - 1.0) * power(-bits)
        };
        let x = match self.kind {
            Kind::Spread => sign(b) * power(f64::from(self.exponent) + 2.0 * unit(a) - 1.0),
            Kind::Positive => power(f64::from(self.exponent) + 2.0 * unit(a) - 1.0),
            Kind::Near => {
                let size = power(f64::from(self.exponent) + unit(self.seed));
                // Every fourth time equal, or opposite from leaf to leaf; every other fourth time near each other in a stated range
                // as well.
                match mix(self.seed ^ 0x99) % 4 {
                    0 => sign(c) * size,
                    1 => {
                        let (size, apart) =
                            (within(sign(self.seed) * size, range, mix(self.seed)), 1.0 + apart());
                        if range.contains(&(size * apart)) { size * apart } else { size / apart }
                    }
                    _ => sign(self.seed) * size * (1.0 + apart()),
                }
            }
            Kind::About => self.about + sign(b) * power(f64::from(self.exponent) - 4.0 * unit(a)),
            Kind::Ends => match mix(a) % 8 {
                0 => sign(b) * format.max_finite(),
                1 => sign(b) * format.min_normal(),
                _ => sign(b) * power(2.0 * unit(a) - 1.0),
            },
            Kind::Lone if leaf % LEAVES == self.about as usize => {
                sign(self.seed) * power(f64::from(self.exponent) + unit(a))
            }
            Kind::Lone => sign(b) * power(2.0 * unit(a) - 1.0),
            Kind::Marked(_) => sign(b) * power(MARKED.0 + (MARKED.1 - MARKED.0) * unit(c) + unit(a)),
            Kind::Cancelling(alone) if alone == leaf => self.about,
            Kind::Apart | Kind::Cancelling(_) => {
                sign(b) * power(f64::from(self.exponent) * (2.0 * unit(c) - 1.0) + unit(a))
            }
            Kind::Bound(_) => sign(b) * power(2.0 * unit(a) - 1.0),
            Kind::Mixed => {
                // At most points over the whole range, as numbers drawn by their bits are.
                let (least, greatest) = magnitudes(range, format);
                let part = if mix(self.seed).is_multiple_of(4) { unit(mix(c)) } else { 1.0 };
                sign(b) * power((least + (greatest - least) * unit(c)) * part + unit(a))
            }
        };
        let x = within(x, range, a);
        let x = format.round(x);
        // Rounding must not leave a range that ends at a number of the format.
        let (low, high) = (range.lo.max(-format.max_finite()), range.hi.min(format.max_finite()));
        // A range may have no finite number.
        if low <= high { x.clamp(low, high) } else { range.lo.max(range.hi.min(x)) }
    }
}

/// The binary exponents of a range's numbers, not quite to the ends of the format.
fn magnitudes(range: &Interval, format: Format) -> (f64, f64) {
    let (least, greatest) = (format.min_normal().log2() * 0.95, format.max_finite().log2() * 0.95);
    let (a, b) = (range.lo.abs(), range.hi.abs());
    let low = if range.contains(&0.0) { least } else { a.min(b).log2().clamp(least, greatest) };
    (low, (a.max(b).log2() - 1.0).clamp(low, greatest))
}

/// An end of a range, if it is an ordinary number: the last number of a format that the range holds.
pub fn end(range: &Interval, format: Format, high: bool) -> Option<f64> {
    let (bound, inward) = if high { (range.hi, -1.0) } else { (range.lo, 1.0) };
    let x = format.round(bound);
    let x = if range.contains(&x) { x } else { x + inward * format.ulp(x) };
    let ordinary = x == 0.0 || x.is_finite() && x.abs().log2().abs() <= f64::from(ORDINARY);
    (ordinary && range.contains(&x)).then_some(x)
}

/// A number of a stated range for one that lies outside of it: as far from the one end or from the other, or anywhere.
fn within(x: f64, range: &Interval, bits: u64) -> f64 {
    if range.contains(&x) {
        return x;
    }
    let (low, high, size) = (range.lo, range.hi, x.abs());
    let inside = low + (high - low) * unit(mix(bits));
    let found = match bits % 8 {
        0 | 1 => low,
        2 | 3 => high,
        4 => low + size,
        5 => high - size,
        _ => inside,
    };
    if range.contains(&found) { found } else { inside }
}

/// A number in [0, 1) of bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The bits of a number, spread (the finalizer of splitmix64).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
