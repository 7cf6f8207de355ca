//! Elements in the order of their sizes, by merging runs that are in order, each twice as long as those before: stable, and as many
//! comparisons as there need be.

use ngc_dialects::ng::{arith, compare};
use ngc_ir::structure::{Axis, Size};
use ngc_ir::{AttrDict, Value};
use ngc_numerics::DType;
use rustc_hash::FxHashMap;

use super::emit::{Count, Emitted, Emitter};
use super::graph::Ranking;
use super::nest::{Nests, Scope};
use super::plan::Nest;

/// Lengths of runs where the extent is not known: no buffer holds more than 2^48 elements.
const MOST: u32 = 48;

impl Nests<'_> {
    /// Stores where the elements along the dimension of a ranking are found, in their order.
    pub(super) fn rank(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Ranking,
        nest: &Nest,
        extents: &[Size],
    ) -> Emitted<()> {
        let own = Axis(r.axis as u32);
        scope.space.truncate(extents.len());
        scope.space.push(extents[r.axis].clone());
        let end = e.size(&extents[r.axis])?;
        let (zero, one) = (Count::Known(0), Count::Known(1));
        let each = |e: &mut Emitter<'_>,
                    scope: &mut Scope,
                    end: Count,
                    found: &dyn Fn(&mut Emitter<'_>, Value) -> Emitted<Value>| {
            e.repeat([zero, end, one], &[], scope, |e, scope, n, _| {
                scope.at.insert(own, n);
                let n = e.value(n)?;
                let found = found(e, n)?;
                self.put(e, scope, nest, extents, 0, found)?;
                Ok(Vec::new())
            })
        };
        each(e, scope, end, &|e, n| e.convert(n, DType::Int(64)))?;
        let rounds = match extents[r.axis].number() {
            Some(n) => n.max(1).next_power_of_two().ilog2(),
            None => MOST,
        };
        let first = e.value(one)?;
        e.repeat([zero, Count::Known(rounds.into()), one], &[first], scope, |e, scope, _, width| {
            let width = Count::Value(width[0]);
            let twice = e.plus(width, width)?;
            // A run as long as all is in order.
            let open = {
                let (width, all, none) = (e.value(width)?, e.value(end)?, e.value(zero)?);
                let more = e.compare("LT", width, all)?;
                Count::Value(e.apply(&compare::WHERE, &[more, all, none])?)
            };
            e.repeat([zero, open, twice], &[], scope, |e, scope, start, _| {
                self.merge(e, scope, r, nest, extents, [start, width, end])?;
                Ok(Vec::new())
            })?;
            let buffer = self.arena[nest.terms.ok_or("a ranking without a buffer")?];
            each(e, scope, open, &|e, n| e.emit("kernel.load", &[buffer, n], AttrDict::EMPTY))?;
            Ok(vec![e.value(twice)?])
        })?;
        Ok(())
    }

    /// Two runs of at most `width` from `start` on as one, in the buffer beside.
    fn merge(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Ranking,
        nest: &Nest,
        extents: &[Size],
        [start, width, all]: [Count; 3],
    ) -> Emitted<()> {
        let buffer = self.arena[nest.terms.ok_or("a ranking without a buffer")?];
        let all = e.value(all)?;
        let least = |e: &mut Emitter<'_>, x: Count, y: Value| -> Emitted<Value> {
            let x = e.value(x)?;
            e.apply(&arith::MIN, &[x, y])
        };
        let middle = e.plus(start, width)?;
        let middle = least(e, middle, all)?;
        let end = e.plus(Count::Value(middle), width)?;
        let end = least(e, end, all)?;
        let first = e.value(start)?;
        let bounds = [start, Count::Value(end), Count::Known(1)];
        e.repeat(bounds, &[first, middle], scope, |e, scope, n, heads| {
            let mut runs = Vec::with_capacity(2);
            for (&head, stop) in heads.iter().zip([middle, end]) {
                let last = e.minus(Count::Value(stop), Count::Known(1))?;
                let at = least(e, last, head)?;
                let left = e.compare("LT", head, stop)?;
                runs.push((left, self.ranked(e, scope, r, nest, extents, at)?));
            }
            let [(left_a, (a, x)), (left_b, (b, y))] = [runs[0], runs[1]];
            // Of equal ones that of the first run comes first.
            let before = e.precedes(y, x, r.descending)?;
            let over = e.apply(&compare::NOT, &[left_a])?;
            let second = e.apply(&compare::OR, &[before, over])?;
            let second = e.apply(&compare::AND, &[second, left_b])?;
            let next = e.apply(&compare::WHERE, &[second, b, a])?;
            let n = e.value(n)?;
            e.op("kernel.store", &[next, buffer, n], AttrDict::EMPTY)?;
            let second = e.convert(second, DType::Index)?;
            let taken = e.plus(Count::Value(heads[1]), Count::Value(second))?;
            let kept = e.plus(Count::Value(heads[0]), Count::Known(1))?;
            let kept = e.minus(kept, Count::Value(second))?;
            Ok(vec![e.value(kept)?, e.value(taken)?])
        })?;
        Ok(())
    }

    /// What is stored at a place along the dimension, and the element that is found there.
    fn ranked(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Ranking,
        nest: &Nest,
        extents: &[Size],
        at: Value,
    ) -> Emitted<(Value, Value)> {
        let places: Vec<Count> = (0..extents.len())
            .map(|n| if n == r.axis { Count::Value(at) } else { scope.at[&Axis(n as u32)] })
            .collect();
        let found = self.stored(e, scope, nest.value, places, 1)?;
        let place = e.convert(found, DType::Index)?;
        scope.at.insert(Axis(extents.len() as u32), Count::Value(place));
        scope.known.push(FxHashMap::default());
        let elem = self.graph.body.ty(self.graph.body.operands(r.op)[0]).elem();
        let term = self.part(e, scope, r.op, &r.term, elem.ok_or("a ranking of no elements")?)?;
        scope.known.pop();
        Ok((found, term))
    }
}

impl Emitter<'_> {
    /// Whether an element comes before another one, NaN being above all numbers.
    fn precedes(&mut self, x: Value, y: Value, descending: bool) -> Emitted<Value> {
        let before = self.compare(if descending { "GT" } else { "LT" }, x, y)?;
        if self.body.ty(x).format().is_none() {
            return Ok(before);
        }
        let (above, below) = if descending { (x, y) } else { (y, x) };
        let none = self.compare("NE", above, above)?;
        let number = self.compare("EQ", below, below)?;
        let none = self.apply(&compare::AND, &[none, number])?;
        self.apply(&compare::OR, &[before, none])
    }
}
