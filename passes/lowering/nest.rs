//! Loop nests: each stores all elements of one value, and some share their outer loops.

use ngc_dialects::ng::{arith, compare};
use ngc_ir::structure::{Axis, Element, Index, Size, Test, place};
use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::{DType, SumMethod};
use rustc_hash::FxHashMap;

use super::emit::{Count, Emitted, Emitter};
use super::graph::{Graph, Meaning, Reduction};
use super::lanes;
use super::plan::{Group, Nest, Place, Plan, splat};
use super::sums::Combination;

/// What a nest is made from.
pub(super) struct Nests<'a> {
    pub graph: &'a Graph,
    pub plan: &'a Plan,
    /// Buffers and scalars of the arguments.
    pub arguments: Vec<Value>,
    pub results: Vec<Value>,
    /// Buffers in the arena.
    pub arena: Vec<Value>,
    pub resource: &'a dyn Fn(&Attr) -> Attr,
}

/// What is done with each term, and what is carried on from it.
type EachTerm<'b, N> = dyn FnMut(&N, &mut Emitter<'_>, &mut Scope, &[Value]) -> Emitted<Vec<Value>> + 'b;

/// Where an element is computed.
struct Scope {
    /// The places along the dimensions of the nest.
    at: FxHashMap<Axis, Count>,
    /// The extents of these dimensions.
    space: Vec<Size>,
    /// The dimension along which elements are computed side by side, and how many.
    vector: Option<(Axis, usize)>,
    /// Places along the dimension before the last, whose elements are computed at once.
    rows: Vec<Count>,
    /// What must hold for a read to lie in its buffer.
    guard: Option<Value>,
    /// Elements computed already, from outer loops to inner ones.
    known: Vec<FxHashMap<(Value, Vec<Index>), Value>>,
}

impl Nests<'_> {
    /// Writes the nests of a group.
    pub fn write(&self, e: &mut Emitter<'_>, group: &Group) -> Emitted<()> {
        self.shared(e, group, &mut FxHashMap::default(), 0)
    }

    /// The loops that the nests share, from the n-th on, and in them the nests one behind another.
    fn shared(
        &self,
        e: &mut Emitter<'_>,
        group: &Group,
        at: &mut FxHashMap<Axis, Count>,
        n: usize,
    ) -> Emitted<()> {
        let nests = &self.plan.nests[group.nests.clone()];
        if n < group.depth && nests.len() > 1 {
            let end = e.size(&self.graph.extents[nests[0].value.index()][n])?;
            let (zero, one) = (Count::Known(0), Count::Known(1));
            if end == one {
                at.insert(Axis(n as u32), zero);
                return self.shared(e, group, at, n + 1);
            }
            e.repeat([zero, end, one], &[], at, |e, at, place, _| {
                at.insert(Axis(n as u32), place);
                self.shared(e, group, at, n + 1)?;
                Ok(Vec::new())
            })?;
            return Ok(());
        }
        for nest in nests {
            let graph = self.graph;
            if let Some(op) = graph.body.defining_op(nest.value) {
                e.loc = graph.body.op(op).loc.clone();
            }
            let extents = graph.extents[nest.value.index()].clone();
            let mut scope = Scope {
                at: at.clone(),
                space: extents.clone(),
                vector: None,
                rows: Vec::new(),
                guard: None,
                known: vec![FxHashMap::default()],
            };
            self.outer(e, &mut scope, nest, n, extents.len(), &extents)?;
        }
        Ok(())
    }

    fn outer(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        nest: &Nest,
        axis: usize,
        rank: usize,
        extents: &[Size],
    ) -> Emitted<()> {
        if axis == rank {
            return self.store(e, scope, nest, extents);
        }
        let (own, end) = (Axis(axis as u32), e.size(&extents[axis])?);
        let (zero, one) = (Count::Known(0), Count::Known(1));
        let run =
            |e: &mut Emitter<'_>, scope: &mut Scope, bounds: [Count; 3], vector, rows: i64| -> Emitted<()> {
                scope.vector = vector;
                e.repeat(bounds, &[], scope, |e, scope, at, _| {
                    scope.at.insert(own, at);
                    if axis + 2 == rank {
                        scope.rows =
                            (0..rows).map(|n| e.plus(at, Count::Known(n))).collect::<Emitted<_>>()?;
                    }
                    scope.known.push(FxHashMap::default());
                    self.outer(e, scope, nest, axis + 1, rank, extents)?;
                    scope.known.pop();
                    Ok(Vec::new())
                })?;
                Ok(())
            };
        // What a block does not divide is computed row by row.
        if axis + 2 == rank && nest.rows > 1 {
            let step = Count::Known(nest.rows as i64);
            let rest = e.remainder(end, step)?;
            let whole = e.minus(end, rest)?;
            run(e, scope, [zero, whole, step], None, nest.rows as i64)?;
            return if rest == zero { Ok(()) } else { run(e, scope, [whole, end, one], None, 1) };
        }
        if axis + 1 < rank || nest.lanes == 1 {
            // A dimension of one place needs no loop.
            if end == one {
                scope.at.insert(own, zero);
                return self.outer(e, scope, nest, axis + 1, rank, extents);
            }
            return run(e, scope, [zero, end, one], None, 1);
        }
        let step = Count::Known(nest.lanes as i64);
        let rest = e.remainder(end, step)?;
        let whole = e.minus(end, rest)?;
        run(e, scope, [zero, whole, step], Some((own, nest.lanes)), 1)?;
        if rest != zero {
            run(e, scope, [whole, end, one], None, 1)?;
        }
        Ok(())
    }

    /// Computes and stores the element, or the elements, at the places in hand.
    fn store(&self, e: &mut Emitter<'_>, scope: &mut Scope, nest: &Nest, extents: &[Size]) -> Emitted<()> {
        let at: Vec<Index> = (0..extents.len()).map(place).collect();
        let buffer = match (nest.copies, self.plan.places[nest.value.index()]) {
            (Some(n), _) | (None, Place::Result(n)) => self.results[n],
            (None, Place::Arena(n)) => self.arena[n],
            _ => return Err("a value without a buffer is stored".into()),
        };
        let values = match (nest.copies, &self.graph.meanings[nest.value.index()]) {
            (Some(_), _) => vec![self.element(e, scope, nest.value, &at)?],
            (None, Meaning::Reduce(reduction)) => self.reduce(e, scope, reduction, nest)?,
            (None, _) => vec![self.computed(e, scope, nest.value, &at)?],
        };
        let shared = match (nest.copies, self.plan.places[nest.value.index()]) {
            (None, Place::Arena(n)) => self.plan.buffers[n].shared,
            _ => 0,
        };
        for (row, value) in values.into_iter().enumerate() {
            let value = e.widened(value, scope.vector.map_or(1, |(_, lanes)| lanes))?;
            let mut operands = vec![value, buffer];
            for n in 0..extents.len() {
                let own = scope.rows.get(row).filter(|_| n + 2 == extents.len());
                let place = own.copied().unwrap_or(scope.at[&Axis(n as u32)]);
                operands.push(e.value(if n < shared { Count::Known(0) } else { place })?);
            }
            e.op("kernel.store", &operands, AttrDict::EMPTY)?;
        }
        Ok(())
    }

    /// An element of a value: read, if it is stored, else computed.
    fn element(&self, e: &mut Emitter<'_>, scope: &mut Scope, value: Value, at: &[Index]) -> Emitted<Value> {
        let key = (value, at.to_vec());
        if let Some(&known) = scope.known.iter().find_map(|known| known.get(&key)) {
            return Ok(known);
        }
        let element = match self.plan.places[value.index()] {
            Place::Inline => self.computed(e, scope, value, at)?,
            Place::Argument(n) => match e.body.ty(self.arguments[n]).as_memref() {
                None => self.arguments[n],
                Some(_) => self.load(e, scope, self.arguments[n], at, 0)?,
            },
            Place::Constant => self.constant(e, scope, value, at)?,
            Place::Result(n) => self.load(e, scope, self.results[n], at, 0)?,
            Place::Arena(n) => self.load(e, scope, self.arena[n], at, self.plan.buffers[n].shared)?,
        };
        if let Some(known) = scope.known.last_mut() {
            known.insert(key, element);
        }
        Ok(element)
    }

    /// An element of a buffer, of which so many dimensions have one place only.
    fn load(
        &self,
        e: &mut Emitter<'_>,
        scope: &Scope,
        buffer: Value,
        at: &[Index],
        shared: usize,
    ) -> Emitted<Value> {
        let side_by_side = scope.vector.filter(|(axis, _)| at.iter().any(|i| i.mentions(*axis)));
        let width = side_by_side.map_or(1, |(_, lanes)| lanes);
        let mut places = Vec::with_capacity(at.len());
        for (n, index) in at.iter().enumerate() {
            let place = match n < shared {
                true => Count::Known(0),
                false => e.index(index, &scope.at, &scope.space)?,
            };
            places.push(e.value(place)?);
        }
        let mut operands = vec![buffer];
        let Some(guard) = scope.guard else {
            operands.extend(places);
            return e.emit("kernel.load", &operands, lanes(width));
        };
        let elem = e.body.ty(buffer).as_memref().ok_or("reads from what is no buffer")?.elem;
        let zero = e.number(0.0, elem)?;
        operands.extend([guard, e.widened(zero, width)?]);
        operands.extend(places);
        e.emit("kernel.masked_load", &operands, lanes(width))
    }

    fn constant(&self, e: &mut Emitter<'_>, scope: &Scope, value: Value, at: &[Index]) -> Emitted<Value> {
        let Meaning::Constant(attr) = &self.graph.meanings[value.index()] else {
            return Err("a constant without a value".into());
        };
        if splat(self.graph, value) {
            let scalar = match attr {
                Attr::Dense(_) => {
                    let element = ngc_dialects::ng::constant::constant_elements(attr)?;
                    ngc_dialects::ng::constant::tensor_to_attr(&element)
                }
                attr => attr.clone(),
            };
            return e.constant(scalar);
        }
        let buffer = e.global((self.resource)(attr))?;
        self.load(e, scope, buffer, at, 0)
    }

    /// An element of a value from those of the values that it is made of.
    fn computed(&self, e: &mut Emitter<'_>, scope: &mut Scope, value: Value, at: &[Index]) -> Emitted<Value> {
        match &self.graph.meanings[value.index()] {
            Meaning::Argument | Meaning::Constant(_) => self.element(e, scope, value, at),
            Meaning::Pointwise { op, reads } => {
                let mut operands = Vec::with_capacity(reads.len());
                for (v, inner) in reads {
                    let inner = moved(inner, at, scope)?;
                    operands.push(self.element(e, scope, *v, &inner)?);
                }
                let data = self.graph.body.op(*op);
                let def = data.def.ok_or("an op that is not registered")?;
                e.loc = data.loc.clone();
                e.element(def, &data.attrs, &operands)
            }
            Meaning::Moved { op, element } => {
                let operands = self.graph.body.operands(*op).to_vec();
                let elem = self.graph.body.ty(value).elem().ok_or("a value without elements")?;
                self.chosen(e, scope, element, &operands, at, elem)
            }
            Meaning::Reduce(_) => Err("a reduction that is not stored".into()),
        }
    }

    fn chosen(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        element: &Element,
        operands: &[Value],
        at: &[Index],
        elem: DType,
    ) -> Emitted<Value> {
        match element {
            Element::Number(value) => e.number(*value, elem),
            Element::Place(index) => {
                let index = &moved(std::slice::from_ref(index), at, scope)?[0];
                let place = e.index(index, &scope.at, &scope.space)?;
                let place = e.value(place)?;
                e.convert(place, elem)
            }
            Element::Read { operand, at: inner } => {
                let inner = moved(inner, at, scope)?;
                self.element(e, scope, operands[*operand], &inner)
            }
            Element::Where { tests, yes, no } => {
                let mut holds: Option<Value> = None;
                for test in tests {
                    let index = moved(std::slice::from_ref(test.index()), at, scope)?.swap_remove(0);
                    let place = e.index(&index, &scope.at, &scope.space)?;
                    let (place, zero) = (e.value(place)?, e.value(Count::Known(0))?);
                    let direction = if matches!(test, Test::Zero(_)) { "EQ" } else { "GE" };
                    let own = e.compare(direction, place, zero)?;
                    holds = Some(both(e, holds, own)?);
                }
                let Some(holds) = holds else { return self.chosen(e, scope, yes, operands, at, elem) };
                let yes =
                    self.guarded(e, scope, holds, |e, scope| self.chosen(e, scope, yes, operands, at, elem))?;
                let fails = e.apply(&compare::NOT, &[holds])?;
                let no =
                    self.guarded(e, scope, fails, |e, scope| self.chosen(e, scope, no, operands, at, elem))?;
                e.apply(&compare::WHERE, &[holds, yes, no])
            }
            Element::Apply(..) | Element::Reduce { .. } => Err("an element that is more than moved".into()),
        }
    }

    /// What is computed only where a condition holds.
    fn guarded(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        holds: Value,
        f: impl FnOnce(&mut Emitter<'_>, &mut Scope) -> Emitted<Value>,
    ) -> Emitted<Value> {
        let outer = scope.guard;
        scope.guard = Some(both(e, outer, holds)?);
        scope.known.push(FxHashMap::default());
        let value = f(e, scope);
        scope.known.pop();
        scope.guard = outer;
        value
    }

    /// The reduction at the places in hand, for each of the rows that are computed at once.
    fn reduce(
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
        let size = r.over.iter().try_fold(Size::ONE, |n, extent| n.times(extent)).ok_or("too many terms")?;
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
            let one = combination.start(e)?;
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
                        next.extend(combination.step(e, running, term)?);
                    }
                    Ok(next)
                },
                &start,
            )?;
            let finish = |running: &[Value]| combination.finish(e, running, count);
            running.chunks(one.len()).map(finish).collect::<Emitted<Vec<_>>>()?
        };
        let elem = self.graph.body.ty(nest.value).elem().ok_or("a value without elements")?;
        results.into_iter().map(|result| e.convert(result, elem)).collect()
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
        for (v, at) in &r.factors {
            let factor = self.element(e, scope, *v, at)?;
            factors.push(e.convert(factor, r.accumulate)?);
        }
        match factors[..] {
            [one] => Ok(one),
            _ => e.apply(&arith::MUL, &factors),
        }
    }
}

fn both(e: &mut Emitter<'_>, a: Option<Value>, b: Value) -> Emitted<Value> {
    match a {
        Some(a) => e.apply(&compare::AND, &[a, b]),
        None => Ok(b),
    }
}

/// Indices over the dimensions of a value, as indices over those of the nest, where its element at `at` is asked for.
fn moved(inner: &[Index], at: &[Index], scope: &Scope) -> Emitted<Vec<Index>> {
    let by = |axis: Axis| at.get(axis.0 as usize).cloned().unwrap_or_else(|| Index::axis(axis));
    let moved = inner.iter().map(|index| index.substituted(&by, &scope.space));
    moved.collect::<Option<Vec<_>>>().ok_or_else(|| "its places are too large to be held".into())
}
