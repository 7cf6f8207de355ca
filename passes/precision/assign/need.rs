//! Which values do not fit their formats where that matters.

use ngc_dialects::facts::{self, Pointwise};
use ngc_dialects::transfer::transfer_aliased;
use ngc_ir::structure::Function as Meaning;
use ngc_ir::{Body, Op, Value};
use ngc_numerics::figures::{magnitude, mignitude};
use ngc_numerics::{Enclosure, Figures, Format, Interval, Prim, Range, Reduce};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::range::Ranges;
use crate::precision::{constant, conversion};
use crate::stabilize::observed::observed;
use crate::stabilize::telling::shown;

/// By so many units in the last place a result varies that is lost with what it was computed from.
const LOST: f64 = 8.0;

/// What becomes of the op's result where an operand does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// The result fits again, and is wrong.
    Wrong,
    /// The result does not fit either.
    Passed,
    /// The result is what it would be.
    Right,
}

/// What is known of a value of the function.
#[derive(Clone, Copy, Default, Debug)]
struct Need {
    /// Comes of an argument of which no range is stated.
    guessed: bool,
    /// May lie beyond the greatest number.
    above: bool,
    /// May be flushed to 0, or be made of what may.
    below: bool,
    /// Is beyond, or flushed, where that makes a difference.
    matters: [bool; 2],
}

/// The needs of a function's values.
pub struct Needs<'a> {
    body: &'a Body,
    /// Where its values lie.
    pub ranges: &'a Ranges,
    /// Ops in order.
    pub ops: Vec<Op>,
    /// Ops that stay as they are.
    pub stays: FxHashSet<Op>,
    users: Vec<SmallVec<[Op; 2]>>,
    needs: Vec<Need>,
}

/// The ops that are there for what they round to, or whose numbers are asked about.
pub fn stays(body: &Body, ranges: &Ranges) -> FxHashSet<Op> {
    let mut stays = observed(body, ranges);
    let ops: Vec<Op> = body.entry().map(|b| body.ops(b).collect()).unwrap_or_default();
    stays.extend(roundings(body, &ops));
    stays
}

impl<'a> Needs<'a> {
    /// The needs of a body's values.
    pub fn of(body: &'a Body, ranges: &'a Ranges) -> Needs<'a> {
        let ops: Vec<Op> = body.entry().map(|b| body.ops(b).collect()).unwrap_or_default();
        let mut users = vec![SmallVec::new(); body.num_values()];
        for &op in &ops {
            body.operands(op).iter().for_each(|v| users[v.index()].push(op));
        }
        let stays = stays(body, ranges);
        let needs = vec![Need::default(); body.num_values()];
        let mut found = Needs { body, ranges, ops, stays, users, needs };
        found.forwards();
        found.backwards();
        found
    }

    /// Which values may not fit.
    fn forwards(&mut self) {
        let arguments = self.body.entry().map_or(&[][..], |b| self.body.arguments(b));
        for &v in arguments {
            self.needs[v.index()].guessed = self.ranges.is_unknown(self.body, v);
        }
        for op in self.ops.clone() {
            let operands = self.body.operands(op);
            let guessed = operands.iter().any(|v| self.needs[v.index()].guessed);
            let small = operands.iter().any(|v| self.needs[v.index()].below);
            for v in self.body.results(op) {
                let need = Need { guessed, ..Need::default() };
                self.needs[v.index()] = need;
                let held = |format: &Format| self.is_open(op) && !is_quantised(*format);
                let Some(format) = self.body.ty(v).format().filter(held) else { continue };
                let exact = self.ranges.of(v).exact;
                let tiny = exact.lo < format.min_normal() && exact.hi > -format.min_normal();
                let zero = exact.lo == 0.0 && exact.hi == 0.0;
                self.needs[v.index()] = Need {
                    above: self.ranges.of(v).may_overflow(format),
                    below: tiny && !zero && (small || self.flushes(op)),
                    ..need
                };
            }
        }
    }

    /// Which of these matter to what is made of them.
    fn backwards(&mut self) {
        for op in self.ops.clone().into_iter().rev() {
            for v in self.body.results(op) {
                let need = self.needs[v.index()];
                let mut matters = [false; 2];
                for &user in &self.users[v.index()] {
                    let after = self.body.results(user).next().map(|r| self.needs[r.index()]);
                    let after = after.unwrap_or_default();
                    if need.above && !matters[0] {
                        matters[0] = match self.beyond(user, v) {
                            Outcome::Wrong => true,
                            Outcome::Passed => after.above && after.matters[0],
                            Outcome::Right => false,
                        };
                    }
                    if need.below && !matters[1] {
                        matters[1] = match self.flushed(user, v) {
                            Outcome::Wrong => true,
                            Outcome::Passed => after.below && after.matters[1],
                            Outcome::Right => false,
                        };
                    }
                }
                self.needs[v.index()].matters = matters;
            }
        }
    }

    /// Why a value must be held in a wider format, if it must.
    pub fn why(&self, v: Value, format: Format) -> Option<String> {
        let need = self.needs[v.index()];
        let reach = || shown(magnitude(&self.ranges.of(v).exact));
        match () {
            () if need.above && need.matters[0] => {
                Some(format!("may reach {}, and {format} ends at {:.2e}", reach(), format.max_finite()))
            }
            () if need.below && need.matters[1] => {
                Some(format!("may be smaller than {:.2e}, which is 0 in {format}", format.min_subnormal()))
            }
            () => None,
        }
    }

    /// The ops that compute with a value that may not fit, and read it as it is computed.
    pub fn readers(&self, v: Value) -> impl Iterator<Item = Op> {
        let moves = |user: Op| self.body.results(user).next().is_some_and(|r| self.moves(user, r));
        let users = self.users[v.index()].iter().copied();
        users.filter(move |&user| self.misfits(v, user) && !moves(user))
    }

    /// Whether a value may not fit its format, and an op reads it as it is computed, not as it is stored.
    pub fn misfits(&self, v: Value, user: Op) -> bool {
        let need = self.needs[v.index()];
        // Sums of products take no notice of what is small.
        need.above && !self.is_border(user, v) || need.below && !self.contracts(user)
    }

    /// Whether an op may be computed in another format at all.
    pub fn is_open(&self, op: Op) -> bool {
        let body = self.body;
        let pure = body.op(op).def.is_some_and(|def| def.traits.pure && !def.traits.constant);
        let one = body.num_results(op) == 1 && body.regions(op).is_empty();
        // What a user rounds an argument to is what the user wants it to be.
        let rounds = |(from, to): (Value, Option<Format>)| {
            let own = body.ty(from).format().zip(to);
            own.is_some_and(|(own, to)| to.width() < own.width()) && self.is_given(from)
        };
        let stated = || conversion(body, op).is_some_and(rounds);
        pure && one && !self.stays.contains(&op) && !stated()
    }

    /// Whether a value is an argument, or made of elements of arguments and constants alone.
    fn is_given(&self, v: Value) -> bool {
        let (mut seen, mut open) = (FxHashSet::default(), vec![v]);
        while let Some(v) = open.pop() {
            let Some(op) = self.body.defining_op(v).filter(|_| seen.insert(v) && !constant(self.body, v))
            else {
                continue;
            };
            let Some(from) = self.moved(op, v) else { return false };
            open.extend(from.into_iter().map(|n| self.body.operands(op)[n]));
        }
        !constant(self.body, v)
    }

    fn contracts(&self, op: Op) -> bool {
        self.body.op(op).def.is_some_and(|def| def.traits.contraction)
    }

    /// Whether an op reads a value as it is stored: a factor of a contraction of which only its type is known.
    fn is_border(&self, user: Op, v: Value) -> bool {
        self.contracts(user) && self.needs[v.index()].guessed
    }

    fn moves(&self, op: Op, result: Value) -> bool {
        self.moved(op, result).is_some()
    }

    /// The operands of which a result has the elements, as they are.
    fn moved(&self, op: Op, result: Value) -> Option<SmallVec<[usize; 2]>> {
        let ty = self.body.ty(result);
        let place = self.body.results(op).position(|r| r == result)?;
        self.body.with_signature(op, |s| facts::moved(s, place, ty)).flatten()
    }

    fn primitive(&self, op: Op) -> Option<Prim> {
        primitive(self.body, op)
    }

    /// Whether an op may make 0 of what is not 0. Sums of numbers of a format are never too small for it.
    fn flushes(&self, op: Op) -> bool {
        let Some(v) = self.body.results(op).next() else { return false };
        let sums = matches!(self.primitive(op), Some(Prim::Add | Prim::Sub))
            || self.body.with_signature(op, facts::reduction).flatten().is_some_and(|r| r != Reduce::Prod);
        let exact = || {
            let own = |v: Value| self.ranges.of(v).exact;
            self.figures(op, own).is_some_and(|f| f.delta == 0.0)
        };
        !sums && !self.moves(op, v) && !exact()
    }

    /// The figures of an op's result where its operands lie elsewhere.
    fn figures(&self, op: Op, range: impl Fn(Value) -> Interval) -> Option<Figures> {
        let operands = self.body.operands(op);
        let ranges: SmallVec<[Range; 4]> = operands.iter().map(|&v| Range::both(range(v))).collect();
        let alias: SmallVec<[usize; 4]> =
            operands.iter().map(|v| operands.iter().position(|w| w == v).unwrap_or(0)).collect();
        let results = self.body.result_types(op);
        self.body
            .with_signature(op, |s| transfer_aliased(s, &ranges, &alias, &results).into_iter().next())
            .flatten()
    }

    /// What becomes of the result of an op that reads numbers beyond the format.
    fn beyond(&self, user: Op, v: Value) -> Outcome {
        let Some(result) = self.body.results(user).next() else { return Outcome::Right };
        let Some(format) = self.body.ty(v).format().filter(|_| self.is_open(user)) else {
            return Outcome::Right;
        };
        if self.is_border(user, v) {
            return Outcome::Right;
        }
        if self.moves(user, result) {
            return Outcome::Passed;
        }
        let (max, exact) = (format.max_finite(), self.ranges.of(v).exact);
        let limit = self.body.ty(result).format().map_or(f64::INFINITY, Format::max_finite);
        let fits = |x: &Interval| !(x.lo > limit || x.hi < -limit);
        match self.body.with_signature(user, facts::reduction).flatten() {
            Some(Reduce::Max | Reduce::Min) => return Outcome::Passed,
            Some(Reduce::Sum) => {
                let one_sided = exact.lo >= 0.0 || exact.hi <= 0.0;
                return if one_sided { Outcome::Passed } else { Outcome::Wrong };
            }
            Some(Reduce::Prod) => return Outcome::Wrong,
            None => {}
        }
        if self.body.with_signature(user, facts::is_pointwise) != Some(true) {
            // One element may lie beyond the format and the others not.
            return if fits(&self.ranges.of(result).exact) { Outcome::Wrong } else { Outcome::Passed };
        }
        let mut outcome = Outcome::Right;
        // What is rounded to infinity.
        let least = max + format.ulp(max) / 2.0;
        let pieces = [
            (exact.hi > max).then(|| Enclosure::new(least, f64::INFINITY)),
            (exact.lo < -max).then(|| Enclosure::new(f64::NEG_INFINITY, -least)),
        ];
        for piece in pieces.into_iter().flatten() {
            let own = |w: Value| if w == v { piece } else { self.ranges.of(w).exact };
            let Some(found) = self.figures(user, own).map(|f| f.range.exact) else { return Outcome::Wrong };
            let round = |x: f64| self.body.ty(result).format().map_or(x, |f| f.round(x));
            outcome = match () {
                () if found.may_be_nan => Outcome::Wrong,
                () if !fits(&found) && outcome == Outcome::Right => Outcome::Passed,
                () if !fits(&found) || round(found.lo) == round(found.hi) => outcome,
                () => Outcome::Wrong,
            };
        }
        outcome
    }

    /// What becomes of the result of an op that reads 0 for a number that is too small for the format.
    fn flushed(&self, user: Op, v: Value) -> Outcome {
        let Some(result) = self.body.results(user).next() else { return Outcome::Right };
        let formats = (self.body.ty(v).format(), self.body.ty(result).format());
        let (Some(format), Some(to)) = formats else { return Outcome::Right };
        // What is stored in a format, and converted to a wider one, has the digits of the first.
        let stored = conversion(self.body, user).is_some() && to.precision() > format.precision();
        if stored || self.contracts(user) || !self.is_open(user) {
            return Outcome::Right;
        }
        if self.moves(user, result) {
            return Outcome::Passed;
        }
        let near = near_zero(&self.ranges.of(v).exact, format.min_subnormal());
        let own = |w: Value| if w == v { near } else { ordinary(&self.ranges.of(w).exact) };
        let Some(x) = self.figures(user, own).map(|f| f.range.exact) else { return Outcome::Right };
        let (size, varies) = (magnitude(&x), x.hi - x.lo);
        match () {
            () if x.may_be_nan || !size.is_finite() => Outcome::Wrong,
            () if varies <= LOST * to.unit_roundoff() * size => Outcome::Right,
            () if size >= to.min_normal() => Outcome::Wrong,
            () => Outcome::Passed,
        }
    }
}

/// Whether numbers of a format are quantised ones: what is rounded to them is a function of its own, and held in no other format.
pub fn is_quantised(format: Format) -> bool {
    format.width() < Format::F16.width()
}

/// The part of a range that is nearest to 0, as wide as the least number of a format.
fn near_zero(x: &Interval, least: f64) -> Interval {
    let distance = mignitude(x);
    let (lo, hi) = match () {
        () if x.lo > 0.0 => (distance, (distance + least).min(x.hi)),
        () if x.hi < 0.0 => ((-distance - least).max(x.lo), -distance),
        () => (x.lo.max(-least), x.hi.min(least)),
    };
    Enclosure::new(lo, hi)
}

/// The number of a range that is nearest to 1.
fn ordinary(x: &Interval) -> Interval {
    Enclosure::point(1f64.max(x.lo).min(x.hi))
}

fn primitive(body: &Body, op: Op) -> Option<Prim> {
    match body.with_signature(op, Pointwise::of).flatten()? {
        Pointwise::Function(Meaning::Real(f, _)) => f.as_primitive(),
        _ => None,
    }
}

/// Sums of which one of their own terms is subtracted again, with the sums that they are made of: over the reals nothing but
/// the other terms is left, so they are there for their rounding.
fn roundings(body: &Body, ops: &[Op]) -> FxHashSet<Op> {
    /// Sums of more terms are not looked through.
    const MOST: usize = 8;
    type Terms = SmallVec<[(Value, i32); 4]>;
    let mut sums: FxHashMap<Value, (Terms, SmallVec<[Op; 4]>)> = FxHashMap::default();
    let mut found = FxHashSet::default();
    for &op in ops {
        let sign = match primitive(body, op) {
            Some(Prim::Add) => [1, 1],
            Some(Prim::Sub) => [1, -1],
            Some(Prim::Neg) => [-1, 0],
            _ => continue,
        };
        let (mut terms, mut made, mut cancels) = (Terms::new(), SmallVec::from_slice(&[op]), false);
        for (&v, sign) in body.operands(op).iter().zip(sign) {
            let single = (Terms::from_slice(&[(v, 1)]), SmallVec::new());
            let (inner, by) = sums.get(&v).unwrap_or(&single);
            made.extend_from_slice(by);
            for &(leaf, times) in inner {
                match terms.iter_mut().find(|(own, _)| *own == leaf) {
                    Some((_, own)) => {
                        cancels |= *own == -sign * times && body.operands(op)[0] != body.operands(op)[1];
                        *own += sign * times;
                    }
                    None => terms.push((leaf, sign * times)),
                }
            }
        }
        terms.retain(|(_, times)| *times != 0);
        if cancels {
            found.extend(made.iter().copied());
        }
        if terms.len() <= MOST && made.len() <= MOST * MOST {
            sums.insert(body.result(op, 0), (terms, made));
        }
    }
    found
}
