//! Which values get a buffer, where in the arena it lies, and which loops are over vectors.
//!
//! What is read once, or costs nothing, is computed where it is read: chains of pointwise ops become one loop, and what stands
//! before a reduction becomes part of its terms. A value is stored where it is a reduction, where computing it again would
//! repeat work, and where it is a result. Nests that need of each other only what lies at the same outer places share their loops.

use std::ops::Range;

use ngc_dialects::structure::product;
use ngc_ir::structure::{Axis, Coordinate, Element, Index, Size, place};
use ngc_ir::{Attr, Value};
use ngc_numerics::{DType, SumMethod};
use rustc_hash::FxHashSet;

use super::graph::{Graph, Meaning, Read};

/// Values computed where they are read stand at most this many deep in each other.
const DEEPEST: usize = 64;
/// Rows of a block of a matrix product: as many running sums as every machine has registers for, beside what they read.
const ROWS: usize = 4;
/// Buffers in the arena begin at multiples of this many bytes: a cache line.
pub(super) const ALIGNMENT: u64 = 64;

/// Where the elements of a value lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Place {
    /// Nowhere: they are computed where they are read.
    Inline,
    /// In an argument.
    Argument(usize),
    /// In a constant; all of its elements may be one.
    Constant,
    /// In the buffer of a result.
    Result(usize),
    /// In the n-th buffer of the arena.
    Arena(usize),
}

/// A loop nest: it stores all elements of a value.
pub(super) struct Nest {
    pub value: Value,
    /// Elements computed side by side along the last dimension, and 1 for none.
    pub lanes: usize,
    /// Places along the dimension before the last whose elements are computed at once, so that what they read is read once: a
    /// block of a matrix product.
    pub rows: usize,
    /// The buffer for the terms of a pairwise sum, or for what is merged.
    pub terms: Option<usize>,
    /// The result that it fills, if its value lies elsewhere already.
    pub copies: Option<usize>,
}

/// Nests one behind another that share their outer loops.
pub(super) struct Group {
    pub nests: Range<usize>,
    /// How many loops they share.
    pub depth: usize,
}

/// A buffer in the arena.
pub(super) struct Buffer {
    pub elem: DType,
    pub extents: Vec<Size>,
    /// So many dimensions have one place only, which each run of the shared loops uses again.
    pub shared: usize,
    /// The groups from the first to the last that use it.
    live: (usize, usize),
    /// Bytes behind the start of the arena; absent for one whose size is known when running only.
    pub offset: Option<u64>,
}

/// The plan of a function.
pub(super) struct Plan {
    /// By value.
    pub places: Vec<Place>,
    pub nests: Vec<Nest>,
    pub groups: Vec<Group>,
    pub buffers: Vec<Buffer>,
    /// Bytes of the buffers whose size is known.
    pub arena: u64,
}

impl Buffer {
    /// Its size in bytes, a product of a number and of unknown extents.
    pub fn bytes(&self) -> Option<Size> {
        let element = Size::known(self.elem.storage_bytes() as u64);
        self.extents.iter().try_fold(element, |n, e| n.times(e))
    }
}

impl Plan {
    /// Plans a function for vectors of so many bits.
    pub fn new(graph: &Graph, vector_bits: usize) -> Result<Plan, String> {
        let mut plan = Plan {
            places: places(graph),
            nests: Vec::new(),
            groups: Vec::new(),
            buffers: Vec::new(),
            arena: 0,
        };
        plan.claim_results(graph);
        let live = live(graph);
        let order = (0..graph.meanings.len()).map(Value::from_index).filter(|v| live.contains(v));
        let mut used = vec![(usize::MAX, 0); graph.meanings.len()];
        for value in order {
            let stored = matches!(plan.places[value.index()], Place::Result(_) | Place::Arena(_));
            if stored {
                plan.nest(graph, value, None, vector_bits, &mut used);
            }
        }
        for (n, &value) in graph.results.iter().enumerate() {
            if plan.places[value.index()] != Place::Result(n) {
                plan.nest(graph, value, Some(n), vector_bits, &mut used);
            }
        }
        plan.group(graph);
        plan.block(graph);
        plan.allot(graph, &used)?;
        Ok(plan)
    }

    /// Nests that need of each other only what they compute at the same outer places run side by side there: a row of a softmax is
    /// computed from its greatest element to its quotients before the next.
    fn group(&mut self, graph: &Graph) {
        let mut first = 0;
        while first < self.nests.len() {
            let mut group = Group { nests: first..first + 1, depth: self.outer(graph, first, first) };
            while group.nests.end < self.nests.len() {
                let next = group.nests.end;
                let depth =
                    group.depth.min(self.outer(graph, first, next)).min(self.common(graph, first, next));
                if depth == 0 {
                    break;
                }
                group = Group { nests: first..next + 1, depth };
            }
            first = group.nests.end;
            self.groups.push(group);
        }
    }

    /// Products of matrices are computed in blocks of rows, where these are no shared loop.
    fn block(&mut self, graph: &Graph) {
        for group in &self.groups {
            for nest in &mut self.nests[group.nests.clone()] {
                let Meaning::Reduce(r) = &graph.meanings[nest.value.index()] else { continue };
                let extents = &graph.extents[nest.value.index()];
                let Some(row) = extents.len().checked_sub(2) else { continue };
                let free = group.nests.len() == 1 || group.depth <= row;
                let long = extents[row].number().is_none_or(|n| n >= ROWS as u64);
                let running = r.factors.len() == 2 && r.method != SumMethod::Pairwise;
                if free && long && running && nest.lanes > 1 && nest.copies.is_none() {
                    nest.rows = ROWS;
                }
            }
        }
    }

    /// How many leading dimensions two nests have in common.
    fn common(&self, graph: &Graph, a: usize, b: usize) -> usize {
        let extents = |n: usize| &graph.extents[self.nests[n].value.index()];
        extents(a).iter().zip(extents(b)).take_while(|(x, y)| x == y).count()
    }

    /// How many outer loops a nest may share with those from `first` on: along them it reads of their values what lies at its own
    /// place, and no vector runs along the innermost of them.
    fn outer(&self, graph: &Graph, first: usize, nest: usize) -> usize {
        let Nest { value, lanes, copies, .. } = self.nests[nest];
        let extents = &graph.extents[value.index()];
        let most = match &graph.meanings[value.index()] {
            Meaning::Scattered(_) => return 0,
            meaning if copies.is_none() && meaning.along().is_some() => meaning.along().unwrap_or_default(),
            _ if lanes == 1 => extents.len(),
            _ => extents.len() - 1,
        };
        let at: Vec<Index> = (0..extents.len()).map(place).collect();
        let mut flow = Flow {
            graph,
            plan: self,
            axis: Axis(u32::MAX),
            bits: 8,
            space: extents.clone(),
            reads: Some(Vec::new()),
        };
        let followed = if copies.is_some() { flow.read(&(value, at)) } else { flow.meaning(value, &at) };
        if !followed {
            return 0;
        }
        let own = |v: Value| self.nests[first..nest].iter().any(|n| n.value == v && n.copies.is_none());
        let reads = flow.reads.unwrap_or_default();
        reads.iter().filter(|(v, _)| own(*v)).fold(most, |depth, (v, at)| {
            let sizes = &graph.extents[v.index()];
            let stays = |n: usize| at[n].as_axis() == Some(Axis(n as u32)) || sizes[n].is_one();
            depth.min((0..at.len()).take_while(|&n| stays(n)).count())
        })
    }

    /// A stored value that is a result lies in the buffer of the first result that it is.
    fn claim_results(&mut self, graph: &Graph) {
        for (n, value) in graph.results.iter().enumerate() {
            let place = &mut self.places[value.index()];
            if matches!(place, Place::Inline | Place::Arena(_)) {
                *place = Place::Result(n);
            }
        }
    }

    fn nest(
        &mut self,
        graph: &Graph,
        value: Value,
        copies: Option<usize>,
        vector_bits: usize,
        used: &mut [(usize, usize)],
    ) {
        let nest = self.nests.len();
        let lanes = self.lanes(graph, value, copies.is_some(), vector_bits);
        let mut terms = None;
        if let (Meaning::Reduce(r), None) = (&graph.meanings[value.index()], copies)
            && r.method == SumMethod::Pairwise
        {
            let count = product(&r.over);
            let extents = vec![count.unwrap_or(Size::known(u64::MAX)), Size::from(lanes)];
            terms = Some(self.buffers.len());
            let live = (nest, nest);
            self.buffers.push(Buffer { elem: r.accumulate, extents, shared: 0, live, offset: None });
        }
        if let (Meaning::Ranked(r), None) = (&graph.meanings[value.index()], copies) {
            terms = Some(self.buffers.len());
            let extents = vec![graph.extents[value.index()][r.axis].clone()];
            let live = (nest, nest);
            self.buffers.push(Buffer { elem: DType::Int(64), extents, shared: 0, live, offset: None });
        }
        let mut seen = FxHashSet::default();
        let mut work = vec![value];
        while let Some(v) = work.pop() {
            if !seen.insert(v) {
                continue;
            }
            let (first, last) = &mut used[v.index()];
            (*first, *last) = ((*first).min(nest), (*last).max(nest));
            if v == value && copies.is_none() || self.places[v.index()] == Place::Inline {
                each_read(graph, v, &mut |read| work.push(read));
            }
        }
        self.nests.push(Nest { value, lanes, rows: 1, terms, copies });
    }

    /// How many elements along the last dimension are computed at once.
    fn lanes(&self, graph: &Graph, value: Value, copies: bool, vector_bits: usize) -> usize {
        let extents = &graph.extents[value.index()];
        let Some((last, extent)) = extents.iter().enumerate().next_back() else { return 1 };
        let axis = Axis(last as u32);
        let at: Vec<Index> = (0..extents.len()).map(place).collect();
        let mut flow = Flow { graph, plan: self, axis, bits: 8, space: extents.clone(), reads: None };
        flow.width(value);
        let flows = if copies { flow.read(&(value, at)) } else { flow.meaning(value, &at) };
        if !flows {
            return 1;
        }
        let most = vector_bits / flow.bits;
        let fitting = extent.number().map_or(most, |n| (n as usize).min(most));
        // The greatest power of two that the dimension holds.
        if fitting < 4 { 1 } else { 1 << fitting.ilog2() }
    }

    /// Places the buffers: those whose lives overlap lie apart. Those of unknown size lie behind the others.
    fn allot(&mut self, graph: &Graph, used: &[(usize, usize)]) -> Result<(), String> {
        let groups = &self.groups;
        let group = |nest: usize| groups.iter().position(|g| g.nests.contains(&nest)).unwrap_or(0);
        for buffer in &mut self.buffers {
            buffer.live = (group(buffer.live.0), group(buffer.live.1));
        }
        for (value, place) in self.places.iter_mut().enumerate() {
            if let Place::Arena(n) = place {
                *n = self.buffers.len();
                let v = Value::from_index(value);
                let elem = graph.body.ty(v).elem().ok_or("a value without elements has no buffer")?;
                let live = (group(used[value].0), group(used[value].1));
                let mut extents = graph.extents[value].clone();
                // What only one group sees lasts for one run of its loops.
                let shared = if live.0 == live.1 { groups[live.0].depth } else { 0 };
                extents[..shared].fill(Size::ONE);
                self.buffers.push(Buffer { elem, extents, shared, live, offset: None });
            }
        }
        for n in 0..self.buffers.len() {
            let size = self.buffers[n].bytes().ok_or("an intermediate value is too large")?;
            let Some(bytes) = size.number() else { continue };
            let own = self.buffers[n].live;
            let mut taken: Vec<(u64, u64)> = self.buffers[..n]
                .iter()
                .filter(|b| b.live.0 <= own.1 && own.0 <= b.live.1)
                .filter_map(|b| Some((b.offset?, b.bytes()?.number()?)))
                .collect();
            taken.sort_unstable();
            let mut offset = 0u64;
            for (start, length) in taken {
                if offset + bytes <= start {
                    break;
                }
                offset = offset.max((start + length).next_multiple_of(ALIGNMENT));
            }
            self.buffers[n].offset = Some(offset);
            self.arena = self.arena.max((offset + bytes).next_multiple_of(ALIGNMENT));
        }
        Ok(())
    }
}

/// Which values are stored, before anything is said of where.
fn places(graph: &Graph) -> Vec<Place> {
    let (count, live) = (graph.meanings.len(), live(graph));
    let (mut uses, mut repeated) = (vec![0usize; count], vec![false; count]);
    for n in 0..count {
        let value = Value::from_index(n);
        if !live.contains(&value) {
            continue;
        }
        let axes: Vec<&Size> = graph.extents[n].iter().chain(graph.meanings[n].over()).collect();
        each_read_at(graph, value, &mut |(read, at)| {
            uses[read.index()] += 1;
            // An axis that the place does not speak of repeats the element along it.
            let speaks = |axis: usize| at.iter().any(|i| i.mentions(Axis(axis as u32)));
            repeated[read.index()] |= !(0..axes.len()).all(|n| axes[n].is_one() || speaks(n));
        });
    }
    let (mut depth, mut fixed) = (vec![0usize; count], vec![false; count]);
    let mut found = Vec::with_capacity(count);
    for n in 0..count {
        let value = Value::from_index(n);
        if !live.contains(&value) && !matches!(graph.meanings[n], Meaning::Argument) {
            found.push(Place::Inline);
            continue;
        }
        let mut inner = 0;
        let mut works = false;
        match &graph.meanings[n] {
            Meaning::Argument => {
                let argument = graph.arguments.iter().position(|&a| a == value);
                found.push(argument.map_or(Place::Inline, Place::Argument));
                continue;
            }
            Meaning::Constant(_) => {
                fixed[n] = splat(graph, value);
                found.push(Place::Constant);
                continue;
            }
            Meaning::Reduce(_) | Meaning::Scan(_) | Meaning::Ranked(_) | Meaning::Scattered(_) => {
                found.push(Place::Arena(0));
                continue;
            }
            Meaning::Moved { .. } | Meaning::Picked { .. } => {
                each_read(graph, value, &mut |v| inner = inner.max(depth[v.index()]))
            }
            Meaning::Pointwise { .. } => {
                works = true;
                each_read(graph, value, &mut |v| inner = inner.max(depth[v.index()]));
            }
        }
        // What is made of numbers alone is one when the kernel is compiled.
        let (mut reads, mut all) = (0, true);
        each_read(graph, value, &mut |v| (reads, all) = (reads + 1, all && fixed[v.index()]));
        fixed[n] = reads > 0 && all;
        // Movement costs nothing, but it repeats what it moves.
        let stored = inner >= DEEPEST || works && !fixed[n] && (uses[n] > 1 || repeated[n]);
        depth[n] = if stored { 0 } else { inner + 1 };
        found.push(if stored { Place::Arena(0) } else { Place::Inline });
    }
    spread(graph, &mut found, &uses, &repeated, &fixed);
    // What data pick from has a place for each element.
    for meaning in live.iter().map(|v| &graph.meanings[v.index()]) {
        let data = match meaning {
            Meaning::Picked { of, .. } => Some(of[0]),
            Meaning::Ranked(ranking) => Some(graph.body.operands(ranking.op)[0]),
            _ => None,
        };
        if let Some(data) = data.map(Value::index)
            && found[data] == Place::Inline
        {
            found[data] = Place::Arena(0);
        }
    }
    found
}

/// What a value that is moved about is made of is repeated as often as that value is.
fn spread(graph: &Graph, places: &mut [Place], uses: &[usize], repeated: &[bool], fixed: &[bool]) {
    let mut often: Vec<bool> = (0..places.len()).map(|n| uses[n] > 1 || repeated[n]).collect();
    for n in (0..places.len()).rev() {
        let Meaning::Moved { .. } = graph.meanings[n] else { continue };
        if places[n] != Place::Inline || !often[n] {
            continue;
        }
        each_read(graph, Value::from_index(n), &mut |v| {
            often[v.index()] = true;
            if matches!(graph.meanings[v.index()], Meaning::Pointwise { .. }) && !fixed[v.index()] {
                places[v.index()] = Place::Arena(0);
            }
        });
    }
}

/// The values that results are made of.
fn live(graph: &Graph) -> FxHashSet<Value> {
    let (mut seen, mut work) = (FxHashSet::default(), graph.results.clone());
    while let Some(value) = work.pop() {
        if seen.insert(value) {
            each_read(graph, value, &mut |read| work.push(read));
        }
    }
    seen
}

/// Calls `f` with each value whose elements those of `value` are made of.
pub(super) fn each_read(graph: &Graph, value: Value, f: &mut impl FnMut(Value)) {
    each_read_at(graph, value, &mut |(v, _)| f(v));
}

fn each_read_at(graph: &Graph, value: Value, f: &mut impl FnMut((Value, &[Index]))) {
    match &graph.meanings[value.index()] {
        Meaning::Argument | Meaning::Constant(_) => {}
        Meaning::Pointwise { reads, .. } => reads.iter().for_each(|(v, at)| f((*v, at))),
        Meaning::Picked { of: operands, at } => {
            // Where in the data is not known.
            f((operands[0], &[]));
            for coordinate in at {
                if let Coordinate::Entry { operand, at } = coordinate {
                    f((operands[*operand], at));
                }
            }
        }
        Meaning::Scattered(scatter) => {
            let operands = graph.body.operands(scatter.op);
            let at: Vec<Index> = (0..graph.extents[value.index()].len()).map(place).collect();
            f((operands[0], &at));
            // These have dimensions of their own.
            operands[1..].iter().for_each(|&v| f((v, &[])));
        }
        meaning @ (Meaning::Moved { .. } | Meaning::Reduce(_) | Meaning::Scan(_) | Meaning::Ranked(_)) => {
            let (op, elements) = meaning.elements();
            let operands = op.map_or(&[][..], |op| graph.body.operands(op));
            for element in elements {
                element.each(&mut |part| {
                    if let Element::Read { operand, at } = part {
                        f((operands[*operand], at));
                    }
                });
            }
        }
    }
}

/// Whether elements along an axis can be computed side by side: what is read lies side by side too, or does not change.
struct Flow<'a> {
    graph: &'a Graph,
    plan: &'a Plan,
    axis: Axis,
    /// Bits of the widest element on the way.
    bits: usize,
    space: Vec<Size>,
    /// What is read of stored values, where it is asked for; then movement and choices along the axis are followed all the same.
    reads: Option<Vec<Read>>,
}

impl Flow<'_> {
    fn width(&mut self, value: Value) {
        if let Some(elem) = self.graph.body.ty(value).elem() {
            self.bits = self.bits.max(8 * elem.storage_bytes());
        }
    }

    fn read(&mut self, (value, at): &Read) -> bool {
        let axis = self.axis;
        let mentions = |index: &Index| index.mentions(axis);
        if let Some(reads) = &mut self.reads
            && self.plan.places[value.index()] != Place::Inline
        {
            reads.push((*value, at.clone()));
            return true;
        }
        if self.reads.is_none() && !at.iter().any(mentions) {
            return true;
        }
        self.width(*value);
        match self.plan.places[value.index()] {
            Place::Inline => self.meaning(*value, at),
            Place::Constant if splat(self.graph, *value) => true,
            _ => {
                let Some((last, rest)) = at.split_last() else { return true };
                let (along, _) = last.partition(mentions);
                !rest.iter().any(mentions) && along.as_axis() == Some(self.axis)
            }
        }
    }

    fn meaning(&mut self, value: Value, at: &[Index]) -> bool {
        let graph = self.graph;
        let moved = |flow: &Self, (v, inner): &Read| -> Option<Read> {
            let by = |axis: Axis| at.get(axis.0 as usize).cloned().unwrap_or_else(|| Index::axis(axis));
            let inner = inner.iter().map(|i| i.substituted(&by, &flow.space)).collect::<Option<Vec<_>>>()?;
            Some((*v, inner))
        };
        match &graph.meanings[value.index()] {
            Meaning::Argument | Meaning::Constant(_) => true,
            Meaning::Pointwise { reads, .. } => {
                reads.iter().all(|read| moved(self, read).is_some_and(|read| self.read(&read)))
            }
            Meaning::Scattered(scatter) => self.read(&(graph.body.operands(scatter.op)[0], at.to_vec())),
            Meaning::Picked { of: operands, at: coordinates } => {
                let mut places = Vec::with_capacity(coordinates.len());
                for coordinate in coordinates {
                    match coordinate {
                        Coordinate::Place(index) => match moved(self, &(value, vec![index.clone()])) {
                            Some((_, index)) => places.extend(index),
                            None => return false,
                        },
                        Coordinate::Entry { operand, at } => {
                            let entry = moved(self, &(operands[*operand], at.clone()));
                            let own = |i: &Index| i.mentions(self.axis);
                            match entry {
                                Some((_, at)) if self.reads.is_none() && at.iter().any(own) => return false,
                                Some(entry) if self.reads.is_none() || self.read(&entry) => {}
                                _ => return false,
                            }
                            places.push(Index::ZERO);
                        }
                    }
                }
                self.read(&(operands[0], places))
            }
            meaning => {
                // The dimensions of terms follow those of the value.
                let extents = &graph.extents[value.index()];
                let (over, accumulate) = match meaning {
                    Meaning::Reduce(r) => (&r.over[..], Some(r.accumulate)),
                    Meaning::Scan(s) => (&extents[s.axis..=s.axis], Some(s.accumulate)),
                    Meaning::Ranked(r) => (&extents[r.axis..=r.axis], Some(DType::Index)),
                    _ => (&[][..], None),
                };
                if let Some(accumulate) = accumulate {
                    self.space.truncate(extents.len());
                    self.space.extend(over.iter().cloned());
                    self.bits = self.bits.max(8 * accumulate.storage_bytes());
                }
                if self.reads.is_none()
                    && (matches!(meaning, Meaning::Ranked(_))
                        || meaning.along().is_some_and(|axis| self.axis == Axis(axis as u32)))
                {
                    return false;
                }
                let (op, elements) = meaning.elements();
                let operands = op.map_or(&[][..], |op| graph.body.operands(op));
                elements.into_iter().all(|element| self.element(element, operands, at))
            }
        }
    }

    fn element(&mut self, element: &Element, operands: &[Value], at: &[Index]) -> bool {
        let by = |axis: Axis| at.get(axis.0 as usize).cloned().unwrap_or_else(|| Index::axis(axis));
        let moved = |index: &Index, space: &[Size]| index.substituted(&by, space);
        match element {
            Element::Number(_) => true,
            Element::Place(index) => moved(index, &self.space).is_some_and(|i| !i.mentions(self.axis)),
            Element::Read { operand, at: inner } => {
                let inner = inner.iter().map(|i| moved(i, &self.space)).collect::<Option<Vec<_>>>();
                inner.is_some_and(|inner| self.read(&(operands[*operand], inner)))
            }
            Element::Where { tests, yes, no } => {
                let stays = |i: &Index| moved(i, &self.space).is_some_and(|i| !i.mentions(self.axis));
                tests.iter().all(|t| stays(t.index()))
                    && self.element(yes, operands, at)
                    && self.element(no, operands, at)
            }
            Element::Apply(_, parts) => parts.iter().all(|part| self.element(part, operands, at)),
            Element::Reduce { .. } => false,
        }
    }
}

/// Whether all elements of a constant are one.
pub(super) fn splat(graph: &Graph, value: Value) -> bool {
    match &graph.meanings[value.index()] {
        Meaning::Constant(Attr::Dense(dense)) => dense.splat,
        Meaning::Constant(Attr::Resource(..)) => false,
        Meaning::Constant(_) => true,
        _ => false,
    }
}
