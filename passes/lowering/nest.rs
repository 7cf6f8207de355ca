//! Loop nests: each stores all elements of one value, and some share their outer loops.

use ngc_dialects::ng::compare;
use ngc_ir::structure::{Axis, Element, Function, Index, Size, Test, place};
use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::DType;
use rustc_hash::FxHashMap;

use super::emit::{Count, Emitted, Emitter};
use super::graph::{Graph, Meaning};
use super::lanes;
use super::plan::{Group, Nest, Place, Plan, splat};
use super::steps::operation;

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

/// Where an element is computed.
pub(super) struct Scope {
    /// The places along the dimensions of the nest.
    pub at: FxHashMap<Axis, Count>,
    /// The extents of these dimensions.
    pub space: Vec<Size>,
    /// The dimension along which elements are computed side by side, and how many.
    pub vector: Option<(Axis, usize)>,
    /// Places along the dimension before the last, whose elements are computed at once.
    pub rows: Vec<Count>,
    /// What must hold for a read to lie in its buffer.
    pub guard: Option<Value>,
    /// Elements computed already, from outer loops to inner ones.
    pub known: Vec<FxHashMap<(Value, Vec<Index>), Value>>,
}

impl Scope {
    /// One element after another, at places in a space.
    pub fn of(at: FxHashMap<Axis, Count>, space: Vec<Size>) -> Scope {
        let known = vec![FxHashMap::default()];
        Scope { at, space, vector: None, rows: Vec::new(), guard: None, known }
    }

    /// How many elements side by side are read at a place.
    pub fn width_at(&self, at: &[Index]) -> usize {
        self.vector.filter(|(axis, _)| at.iter().any(|i| i.mentions(*axis))).map_or(1, |(_, lanes)| lanes)
    }
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
            let mut scope = Scope::of(at.clone(), extents.clone());
            self.outer(e, &mut scope, nest, n, extents.len(), &extents)?;
            if let (None, Meaning::Scattered(scatter)) = (nest.copies, &graph.meanings[nest.value.index()]) {
                self.scatter(e, scatter, nest, &extents)?;
            }
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
        // Along it the loop is innermost.
        if nest.copies.is_none() && self.graph.meanings[nest.value.index()].along() == Some(axis) {
            scope.vector = None;
            return self.outer(e, scope, nest, axis + 1, rank, extents);
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
        let values = match (nest.copies, &self.graph.meanings[nest.value.index()]) {
            (Some(_), _) => vec![self.element(e, scope, nest.value, &at)?],
            (None, Meaning::Reduce(reduction)) => self.reduce(e, scope, reduction, nest)?,
            (None, Meaning::Scan(scan)) => return self.scan(e, scope, scan, nest, extents),
            (None, Meaning::Ranked(ranking)) => return self.rank(e, scope, ranking, nest, extents),
            (None, Meaning::Scattered(s)) => {
                vec![self.element(e, scope, self.graph.body.operands(s.op)[0], &at)?]
            }
            (None, _) => vec![self.computed(e, scope, nest.value, &at)?],
        };
        values
            .into_iter()
            .enumerate()
            .try_for_each(|(row, value)| self.put(e, scope, nest, extents, row, value))
    }

    /// Stores a value at the places in hand, of the row of a block.
    pub(super) fn put(
        &self,
        e: &mut Emitter<'_>,
        scope: &Scope,
        nest: &Nest,
        extents: &[Size],
        row: usize,
        value: Value,
    ) -> Emitted<()> {
        let (buffer, shared) = match (nest.copies, self.plan.places[nest.value.index()]) {
            (Some(n), _) | (None, Place::Result(n)) => (self.results[n], 0),
            (None, Place::Arena(n)) => (self.arena[n], self.plan.buffers[n].shared),
            _ => return Err("a value without a buffer is stored".into()),
        };
        let value = e.widened(value, scope.vector.map_or(1, |(_, lanes)| lanes))?;
        let mut operands = vec![value, buffer];
        for n in 0..extents.len() {
            let own = scope.rows.get(row).filter(|_| n + 2 == extents.len());
            let place = own.copied().unwrap_or(scope.at[&Axis(n as u32)]);
            operands.push(e.value(if n < shared { Count::Known(0) } else { place })?);
        }
        e.op("kernel.store", &operands, AttrDict::EMPTY)?;
        Ok(())
    }

    /// An element of a value: read, if it is stored, else computed.
    pub(super) fn element(
        &self,
        e: &mut Emitter<'_>,
        scope: &mut Scope,
        value: Value,
        at: &[Index],
    ) -> Emitted<Value> {
        let key = (value, at.to_vec());
        if let Some(&known) = scope.known.iter().find_map(|known| known.get(&key)) {
            return Ok(known);
        }
        let element = match self.plan.places[value.index()] {
            Place::Inline => self.computed(e, scope, value, at)?,
            _ => {
                let width = scope.width_at(at);
                let places = at.iter().map(|index| e.index(index, &scope.at, &scope.space));
                let places = places.collect::<Emitted<Vec<Count>>>()?;
                self.stored(e, scope, value, places, width)?
            }
        };
        if let Some(known) = scope.known.last_mut() {
            known.insert(key, element);
        }
        Ok(element)
    }

    /// An element, or so many side by side, of a value that has a buffer or is a number.
    pub(super) fn stored(
        &self,
        e: &mut Emitter<'_>,
        scope: &Scope,
        value: Value,
        mut places: Vec<Count>,
        width: usize,
    ) -> Emitted<Value> {
        let (buffer, shared) = match self.plan.places[value.index()] {
            Place::Inline => return Err("a value that has no buffer is read".into()),
            Place::Argument(n) if e.body.ty(self.arguments[n]).as_memref().is_none() => {
                return Ok(self.arguments[n]);
            }
            Place::Argument(n) => (self.arguments[n], 0),
            Place::Result(n) => (self.results[n], 0),
            Place::Arena(n) => (self.arena[n], self.plan.buffers[n].shared),
            Place::Constant => {
                let Meaning::Constant(attr) = &self.graph.meanings[value.index()] else {
                    return Err("a constant without a value".into());
                };
                if splat(self.graph, value) {
                    return number_of(e, attr);
                }
                (e.global((self.resource)(attr))?, 0)
            }
        };
        places[..shared].fill(Count::Known(0));
        let places = places.into_iter().map(|place| e.value(place)).collect::<Emitted<Vec<Value>>>()?;
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
            Meaning::Picked { of, at: coordinates } => self.picked(e, scope, of, coordinates, at),
            Meaning::Reduce(_) | Meaning::Scan(_) | Meaning::Ranked(_) | Meaning::Scattered(_) => {
                Err("a value that must be stored is not".into())
            }
        }
    }

    /// An expression of elements of operands without arithmetic, where the element at `at` is asked for; its numbers are of a type.
    pub(super) fn chosen(
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
            Element::Apply(function, parts) => {
                // Integers are places, so that nothing is too large for them.
                let of = |part: &Element| {
                    let mut found = None;
                    part.each(&mut |part| {
                        if let Element::Read { operand, .. } = part {
                            found = found.or(self.graph.body.ty(operands[*operand]).elem());
                        }
                    });
                    found.filter(|elem| elem.is_float()).unwrap_or(DType::Index)
                };
                let mut each = |e: &mut Emitter<'_>, part: &Element, elem: DType| {
                    let value = self.chosen(e, scope, part, operands, at, elem)?;
                    e.convert(value, elem)
                };
                match (function, &parts[..]) {
                    (Function::Compare(cmp), [a, b]) => {
                        let common = if of(a).is_float() { of(a) } else { of(b) };
                        let (a, b) = (each(e, a, common)?, each(e, b, common)?);
                        e.compare(compare::direction_name(*cmp), a, b)
                    }
                    (Function::Choose, [c, a, b]) => {
                        let c = each(e, c, DType::BOOL)?;
                        let (a, b) = (each(e, a, elem)?, each(e, b, elem)?);
                        e.apply(&compare::WHERE, &[c, a, b])
                    }
                    (Function::Not, [a]) => {
                        let a = each(e, a, DType::BOOL)?;
                        e.apply(&compare::NOT, &[a])
                    }
                    (Function::Real(f, _), parts) => {
                        let def = f.as_primitive().and_then(|prim| operation(e.context, prim));
                        let def = def.ok_or("an expression of integers has a step that is no op")?;
                        let parts = parts.iter().map(|part| each(e, part, DType::Index));
                        let parts = parts.collect::<Emitted<Vec<Value>>>()?;
                        e.apply(def, &parts)
                    }
                    _ => Err("an element that is more than moved".into()),
                }
            }
            Element::Reduce { .. } => Err("an element that is more than moved".into()),
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
}

/// The number that all elements of a constant are.
fn number_of(e: &mut Emitter<'_>, attr: &Attr) -> Emitted<Value> {
    let scalar = match attr {
        Attr::Dense(_) => {
            let element = ngc_dialects::ng::constant::constant_elements(attr)?;
            ngc_dialects::ng::constant::tensor_to_attr(&element)
        }
        attr => attr.clone(),
    };
    e.constant(scalar)
}

fn both(e: &mut Emitter<'_>, a: Option<Value>, b: Value) -> Emitted<Value> {
    match a {
        Some(a) => e.apply(&compare::AND, &[a, b]),
        None => Ok(b),
    }
}

/// Indices over the dimensions of a value, as indices over those of the nest, where its element at `at` is asked for.
pub(super) fn moved(inner: &[Index], at: &[Index], scope: &Scope) -> Emitted<Vec<Index>> {
    let by = |axis: Axis| at.get(axis.0 as usize).cloned().unwrap_or_else(|| Index::axis(axis));
    let moved = inner.iter().map(|index| index.substituted(&by, &scope.space));
    moved.collect::<Option<Vec<_>>>().ok_or_else(|| "its places are too large to be held".into())
}
