//! Reductions and scans: loops over terms that carry what these have come to.

use ngc_dialects::ng::{arith, compare};
use ngc_dialects::structure::product;
use ngc_ir::structure::{Axis, Element, Index, Size, place};
use ngc_ir::{AttrDict, Op, Value};
use ngc_numerics::{DType, Format, Reduce, SumMethod};
use rustc_hash::FxHashMap;

use super::emit::{Count, Emitted, Emitter};
use super::graph::{OfEqual, Reduction, Scan, Then};
use super::nest::{Nests, Scope};
use super::plan::Nest;
use super::sums::Combination;

/// What is counted is counted exactly.
const COUNTED: DType = DType::Float(Format::F64);

/// What is done with each term, and what is carried on from it.
type EachTerm<'b, N> = dyn FnMut(&N, &mut Emitter<'_>, &mut Scope, &[Value]) -> Emitted<Vec<Value>> + 'b;

impl Emitter<'_> {
    /// The place where a search begins.
    fn first_place(&mut self, lanes: usize) -> Emitted<Value> {
        let zero = self.value(Count::Known(0))?;
        self.widened(zero, lanes)
    }

    /// The more extreme of two terms with its place; NaN is more so than every number.
    fn extreme(
        &mut self,
        kind: Reduce,
        of_equal: OfEqual,
        known: &[Value],
        next: [Value; 2],
    ) -> Emitted<[Value; 2]> {
        let (term, best) = (next[0], known[0]);
        let beyond = match (kind, of_equal) {
            (Reduce::Min, OfEqual::First) => "LT",
            (Reduce::Min, OfEqual::Last) => "LE",
            (_, OfEqual::First) => "GT",
            (_, OfEqual::Last) => "GE",
        };
        let mut wins = self.compare(beyond, term, best)?;
        if self.body.ty(term).format().is_some() {
            let mut none = self.compare("NE", term, term)?;
            if of_equal == OfEqual::First {
                let number = self.compare("EQ", best, best)?;
                none = self.apply(&compare::AND, &[none, number])?;
            }
            wins = self.apply(&compare::OR, &[wins, none])?;
        }
        let mut both = [next[0], next[1]];
        for (new, &old) in both.iter_mut().zip(known) {
            *new = self.apply(&compare::WHERE, &[wins, *new, old])?;
        }
        Ok(both)
    }
}

impl Nests<'_> {
    /// The reduction at the places in hand, for each of the rows that are computed at once.
    pub(super) fn reduce(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Reduction,
        nest: &Nest,
    ) -> Emitted<Vec<Value>> {
        let rank = self.graph.extents[nest.value.index()].len();
        let width = scope.vector.map_or(1, |(_, lanes)| lanes);
        let combination = Combination { kind: r.kind, method: r.method, elem: r.accumulate, lanes: width };
        scope.space.truncate(rank);
        scope.space.extend(r.over.iter().cloned());
        let size = product(&r.over).ok_or("too many terms")?;
        let count = e.size(&size)?;
        let results = if r.method == SumMethod::Pairwise {
            let terms = self.arena[nest.terms.ok_or("a pairwise sum without a buffer")?];
            self.terms(
                e,
                scope,
                r,
                0,
                &mut |nests, e, scope, _| {
                    let term = nests.term(e, scope, r)?;
                    let term = e.widened(term, width)?;
                    let flat = nests.flat(e, scope, r, rank)?;
                    let (at, lane) = (e.value(flat)?, e.value(Count::Known(0))?);
                    e.op("kernel.store", &[term, terms, at, lane], AttrDict::EMPTY)?;
                    Ok(Vec::new())
                },
                &[],
            )?;
            vec![combination.tree(e, terms, count)?]
        } else {
            let rows = if nest.rows > 1 { scope.rows.clone() } else { Vec::new() };
            let one = match r.place {
                Some(_) => vec![combination.start(e)?[0], e.first_place(width)?],
                None => combination.start(e)?,
            };
            let start = one.repeat(rows.len().max(1));
            let running = self.terms(
                e,
                scope,
                r,
                0,
                &mut |nests, e, scope, running| {
                    let mut next = Vec::with_capacity(running.len());
                    for (n, running) in running.chunks(one.len()).enumerate() {
                        if let Some(&row) = rows.get(n) {
                            scope.at.insert(Axis(rank as u32 - 2), row);
                        }
                        scope.known.push(FxHashMap::default());
                        let term = nests.term(e, scope, r)?;
                        scope.known.pop();
                        let term = e.widened(term, width)?;
                        next.extend(match r.place {
                            Some(of_equal) => {
                                let at = e.value(scope.at[&Axis(rank as u32)])?;
                                let at = e.widened(at, width)?;
                                e.extreme(r.kind, of_equal, running, [term, at])?.to_vec()
                            }
                            None => combination.step(e, running, term)?,
                        });
                    }
                    Ok(next)
                },
                &start,
            )?;
            let finish = |running: &[Value]| match r.place {
                Some(_) => Ok(running[1]),
                None => combination.finish(e, running, count),
            };
            running.chunks(one.len()).map(finish).collect::<Emitted<Vec<_>>>()?
        };
        let elem = self.elem(nest.value)?;
        let mut rounded = Vec::with_capacity(results.len());
        for (n, total) in results.into_iter().enumerate() {
            if let Some(&row) = scope.rows.get(n).filter(|_| nest.rows > 1) {
                scope.at.insert(Axis(rank as u32 - 2), row);
            }
            scope.known.push(FxHashMap::default());
            let result = match &r.then {
                Some(then) => self.then(e, scope, r, then, total, elem)?,
                None => total,
            };
            scope.known.pop();
            rounded.push(e.convert(result, elem)?);
        }
        Ok(rounded)
    }

    fn elem(&self, value: Value) -> Emitted<DType> {
        self.graph.body.ty(value).elem().ok_or_else(|| "a value without elements".into())
    }

    /// The last step of a reduction.
    fn then(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Reduction,
        then: &Then,
        total: Value,
        elem: DType,
    ) -> Emitted<Value> {
        let count = match then {
            Then::Plus(element) => {
                let added = self.part(e, scope, r.op, element, elem)?;
                let added = e.convert(added, r.accumulate)?;
                return e.apply(&arith::ADD, &[total, added]);
            }
            Then::Over(element) => self.part(e, scope, r.op, element, COUNTED)?,
            Then::OverCount(element) => {
                let none = e.number(0.0, COUNTED)?;
                let mut count = |nests: &Self, e: &mut Emitter<'_>, scope: &mut Scope, count: &[Value]| {
                    let one = nests.part(e, scope, r.op, element, COUNTED)?;
                    Ok(vec![e.apply(&arith::ADD, &[count[0], one])?])
                };
                self.terms(e, scope, r, 0, &mut count, &[none])?[0]
            }
        };
        // Of a format and a count below 2^28 the quotient in double precision is nowhere so near to the middle of two neighbours
        // that a second rounding does harm.
        let total = e.convert(total, COUNTED)?;
        let quotient = e.apply(&arith::DIV, &[total, count])?;
        e.convert(quotient, r.accumulate)
    }

    /// A part of a value's elements, at the places in hand.
    pub(super) fn part(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        op: Op,
        element: &Element,
        elem: DType,
    ) -> Emitted<Value> {
        let at: Vec<Index> = (0..scope.space.len()).map(place).collect();
        self.chosen(e, scope, element, self.graph.body.operands(op), &at, elem)
    }

    /// Stores what the terms have come to at each place along the dimension of a scan.
    pub(super) fn scan(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        s: &Scan,
        nest: &Nest,
        extents: &[Size],
    ) -> Emitted<()> {
        let width = scope.vector.map_or(1, |(_, lanes)| lanes);
        let elem = self.elem(nest.value)?;
        let combination =
            Combination { kind: s.kind, method: SumMethod::Naive, elem: s.accumulate, lanes: width };
        scope.space.truncate(extents.len());
        scope.space.push(extents[s.axis].clone());
        let end = e.size(&extents[s.axis])?;
        let first = combination.start(e)?;
        e.repeat([Count::Known(0), end, Count::Known(1)], &first, scope, |e, scope, n, running| {
            let last = e.minus(end, Count::Known(1))?;
            let place = if s.reverse { e.minus(last, n)? } else { n };
            scope.at.insert(Axis(s.axis as u32), place);
            scope.at.insert(Axis(extents.len() as u32), place);
            scope.known.push(FxHashMap::default());
            let term = self.part(e, scope, s.op, &s.term, elem)?;
            let term = e.convert(term, s.accumulate)?;
            let term = e.widened(term, width)?;
            let next = combination.step(e, running, term)?;
            let shown = match s.exclusive {
                true => {
                    let (n, zero) = (e.value(n)?, e.value(Count::Known(0))?);
                    let none = e.compare("EQ", n, zero)?;
                    let none = e.widened(none, width)?;
                    let identity = e.number(s.kind.of_nothing(), s.accumulate)?;
                    let identity = e.widened(identity, width)?;
                    e.apply(&compare::WHERE, &[none, identity, running[0]])?
                }
                false => next[0],
            };
            let shown = e.convert(shown, elem)?;
            self.put(e, scope, nest, extents, 0, shown)?;
            scope.known.pop();
            Ok(next)
        })?;
        Ok(())
    }

    /// Loops over the terms, in row-major order.
    fn terms(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        r: &Reduction,
        n: usize,
        body: &mut EachTerm<'_, Self>,
        running: &[Value],
    ) -> Emitted<Vec<Value>> {
        let Some(extent) = r.over.get(n) else { return body(self, e, scope, running) };
        let end = e.size(extent)?;
        let bounds = [Count::Known(0), end, Count::Known(1)];
        // Their dimensions follow those of the value.
        let rank = scope.space.len() - r.over.len();
        let mut state = (scope, body);
        e.repeat(bounds, running, &mut state, |e, (scope, body), at, running| {
            scope.at.insert(Axis((rank + n) as u32), at);
            scope.known.push(FxHashMap::default());
            let next = self.terms(e, scope, r, n + 1, *body, running);
            scope.known.pop();
            next
        })
    }

    /// The number of a term among all.
    fn flat(&self, e: &mut Emitter<'_>, scope: &Scope, r: &Reduction, rank: usize) -> Emitted<Count> {
        let mut flat = Count::Known(0);
        for (n, extent) in r.over.iter().enumerate() {
            let extent = e.size(extent)?;
            flat = e.times(flat, extent)?;
            flat = e.plus(flat, scope.at[&Axis((rank + n) as u32)])?;
        }
        Ok(flat)
    }

    /// A term, rounded to the format of the running result.
    fn term(&self, e: &mut Emitter<'_>, scope: &mut Scope, r: &Reduction) -> Emitted<Value> {
        let mut factors = Vec::with_capacity(r.factors.len());
        let elem = self.elem(self.graph.body.result(r.op, 0))?;
        for part in &r.factors {
            let factor = self.part(e, scope, r.op, part, elem)?;
            factors.push(e.convert(factor, r.accumulate)?);
        }
        match factors[..] {
            [one] => Ok(one),
            _ => e.apply(&arith::MUL, &factors),
        }
    }
}
