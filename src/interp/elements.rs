//! Single elements of the values of a body, evaluated lazily and at many points at once.
//!
//! A search that compares many ways to compute one value needs few of its elements, and each at dozens of points. Ops are
//! therefore read as what an element of their results is made of ([`ngc_ir::structure`]), and only what is asked for is
//! evaluated, once for all points. In [`Mode::Formats`] every value is the one that the
//! [interpreter](crate::Interpreter) computes, bit for bit; in [`Mode::Near`] and [`Mode::Real`] it is enclosed over the reals.

mod column;
mod graph;
mod reduce;

use std::rc::Rc;

use ngc_dialects::ng::constant::stored_tensor;
use ngc_ir::module::Resources;
use ngc_ir::structure::{Coordinate, Element, Function, Index, Test};
use ngc_ir::{Attr, Body, Context, Value};
use ngc_numerics::{DType, StoredTensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use column::Arithmetic;
pub use column::Column;
use graph::{Graph, Made, Meaning};

/// Elements are read through so many others at once, for each takes a part of the stack.
const DEEPEST: usize = 128;
/// Scalar operations after which no more elements are given, unless another limit is set.
const WORK: usize = 1 << 26;

/// How numbers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each in the format of its type.
    Formats,
    /// Each to the precision of its own format, but with exponents without end: nothing overflows and nothing is flushed.
    WideRange,
    /// Enclosed over the reals by ends in `f64`, rounded outward: at a hundredth of the cost of [`Mode::Real`], and wide where
    /// much cancels or leaves the range of `f64`.
    Near,
    /// Enclosed over the reals.
    Real {
        /// Bits of the ends of the enclosures.
        bits: u32,
    },
}

/// The element of an argument at a place, at each point.
pub type Leaf<'a> = Box<dyn Fn(Value, &[i64]) -> Vec<f64> + 'a>;
/// The extent that the type of an argument leaves open, by dimension.
pub type Extent<'a> = Box<dyn Fn(Value, usize) -> usize + 'a>;

/// The elements of the values of a body at points.
///
/// The body is given with each question, so that values may be added to it in between; what is there must stay.
pub struct Elements<'a> {
    leaf: Leaf<'a>,
    points: usize,
    arithmetic: Arithmetic,
    graph: Graph<'a>,
    /// By node and number of the element in row-major order; nothing where there is no value.
    known: FxHashMap<(usize, usize), Option<Rc<Column>>>,
    depth: usize,
    /// One that lies too deep, and is to be evaluated before what reads it.
    deeper: Option<(usize, usize)>,
    work: usize,
    limit: usize,
}

impl<'a> Elements<'a> {
    /// Of the values of a body. `extents` gives the extents that the types of its arguments leave open, by dimension, and
    /// `leaf` an element of an argument at each point.
    pub fn new(
        context: &'a Context,
        resources: &'a Resources,
        mode: Mode,
        points: usize,
        extents: Extent<'a>,
        leaf: Leaf<'a>,
    ) -> Elements<'a> {
        Elements {
            leaf,
            points,
            arithmetic: Arithmetic::new(mode),
            graph: Graph::new(context, resources, extents),
            known: FxHashMap::default(),
            depth: 0,
            deeper: None,
            work: 0,
            limit: WORK,
        }
    }

    /// With another limit of the scalar operations.
    pub fn with_limit(self, limit: usize) -> Elements<'a> {
        Elements { limit, ..self }
    }

    /// The scalar operations so far, over all points.
    pub fn work(&self) -> usize {
        self.work
    }

    /// The extents of a value; nothing where they are not known.
    pub fn shape(&mut self, body: &Body, value: Value) -> Option<Vec<usize>> {
        let id = self.graph.node(body, value)?;
        Some(self.graph.nodes[id].shape.clone())
    }

    /// An element at all points; nothing where an op on the way is opaque, the place lies outside, or the limit is reached.
    pub fn at(&mut self, body: &Body, value: Value, place: &[i64]) -> Option<Rc<Column>> {
        let id = self.graph.node(body, value)?;
        let flat = flat(&self.graph.nodes[id].shape, place.iter().copied())?;
        let mut open = vec![(id, flat)];
        while let Some(&(id, flat)) = open.last() {
            let found = self.node(id, flat);
            match self.deeper.take() {
                Some(deeper) => open.push(deeper),
                None if open.len() > 1 => drop(open.pop()),
                None => {
                    let repeats =
                        |x: Rc<Column>| if x.len() == self.points { x } else { x.repeated(self.points) };
                    return found.map(repeats);
                }
            }
        }
        None
    }

    fn node(&mut self, id: usize, flat: usize) -> Option<Rc<Column>> {
        if let Some(known) = self.known.get(&(id, flat)) {
            return known.clone();
        }
        if self.depth == DEEPEST {
            self.deeper = Some((id, flat));
        }
        if self.deeper.is_some() || self.work > self.limit {
            return None;
        }
        let node = self.graph.nodes[id].clone();
        self.depth += 1;
        let found = match &node.meaning {
            Meaning::Argument(value) => {
                let values = (self.leaf)(*value, &place(&node.shape, flat));
                (values.len() == self.points).then(|| Rc::new(self.arithmetic.given(values, node.elem)))
            }
            Meaning::Constant(tensor) => self.arithmetic.constant(tensor, flat).map(Rc::new),
            Meaning::Made(made) => {
                let mut at = place(&node.shape, flat);
                let found = self.element(made, &made.element, &mut at, made.format);
                found.map(|x| self.arithmetic.cast(x, node.elem))
            }
            Meaning::Picked(places, operands) => self.picked(places, operands, &place(&node.shape, flat)),
            Meaning::Opaque => None,
        };
        self.depth -= 1;
        if self.deeper.is_none() {
            self.known.insert((id, flat), found.clone());
        }
        found
    }

    /// The element of the first of some operands at a place that others give; nothing where it differs from point to point.
    fn picked(
        &mut self,
        places: &[Coordinate],
        operands: &[Option<usize>],
        at: &Place,
    ) -> Option<Rc<Column>> {
        let data = (*operands.first()?)?;
        let shape = self.graph.nodes[data].shape.clone();
        let mut picked: SmallVec<[i64; 4]> = SmallVec::new();
        for (coordinate, &extent) in places.iter().zip(&shape) {
            let place = match coordinate {
                Coordinate::Place(index) => number(index, at)?,
                Coordinate::Entry { operand, at: entry } => {
                    let id = operands.get(*operand).copied().flatten()?;
                    let entry: Option<SmallVec<[i64; 4]>> =
                        entry.iter().map(|index| number(index, at)).collect();
                    let entry = flat(&self.graph.nodes[id].shape, entry?.into_iter())?;
                    match &*self.node(id, entry)? {
                        Column::Integers(all) if all.iter().all(|x| *x == all[0]) => (*all.first()?)?,
                        _ => return None,
                    }
                }
            };
            // Counted from the end.
            picked.push(if place < 0 { place + extent as i64 } else { place });
        }
        self.node(data, flat(&shape, picked.into_iter())?)
    }

    /// An expression at a place, its numbers of a type.
    fn element(&mut self, of: &Made, element: &Element, at: &mut Place, elem: DType) -> Option<Rc<Column>> {
        match element {
            Element::Number(x) => Some(Rc::new(self.arithmetic.number(*x, elem))),
            Element::Place(index) => Some(Rc::new(Column::Integers(vec![Some(number(index, at)?)]))),
            Element::Read { operand, at: places } => {
                let id = of.operands.get(*operand).copied().flatten()?;
                let places: Option<SmallVec<[i64; 4]>> =
                    places.iter().map(|index| number(index, at)).collect();
                let found = self.node(id, flat(&self.graph.nodes[id].shape, places?.into_iter())?)?;
                // What is accumulated is first rounded to the format of the sum.
                Some(if of.rounds { self.arithmetic.cast_floats(found, elem) } else { found })
            }
            Element::Where { tests, yes, no } => {
                let branch = if holds(tests, at)? { yes } else { no };
                self.element(of, branch, at, elem)
            }
            Element::Apply(function, parts) => {
                let parts: Option<SmallVec<[Rc<Column>; 3]>> =
                    parts.iter().map(|part| self.element(of, part, at, elem)).collect();
                let parts = parts?;
                self.work += parts.iter().map(|x| x.len()).max().unwrap_or(1);
                self.apply(function, &parts, [elem, of.integers])
            }
            Element::Reduce { kind, over, body } => self.reduce(of, *kind, over, body, at, elem),
        }
    }

    fn apply(&self, function: &Function, x: &[Rc<Column>], elem: [DType; 2]) -> Option<Rc<Column>> {
        let a = &self.arithmetic;
        Some(Rc::new(match (function, x) {
            (Function::Real(f, params), x) => a.real(f, params, x, elem),
            (Function::Compare(cmp), [x, y]) => a.compare(*cmp, x, y),
            (Function::Logical(logical), [x, y]) => column::logical(*logical, x, y)?,
            (Function::Not, [x]) => column::not(x, elem[0])?,
            (Function::Choose, [condition, x, y]) => return a.choose(condition, x, y),
            (Function::Classify(class), [x]) => column::classify(*class, x),
            (Function::Convert(_, to), [x]) => a.convert(x, *to),
            _ => return None,
        }))
    }
}

/// A place along the dimensions of a result, and along those that reductions bind.
type Place = SmallVec<[i64; 6]>;

fn number(index: &Index, at: &Place) -> Option<i64> {
    match index.as_axis() {
        Some(axis) => at.get(axis.0 as usize).copied(),
        None => index.value(at, &|_| None),
    }
}

fn holds(tests: &[Test], at: &Place) -> Option<bool> {
    for test in tests {
        let value = number(test.index(), at)?;
        let holds = match test {
            Test::AtLeastZero(_) => value >= 0,
            Test::Zero(_) => value == 0,
        };
        if !holds {
            return Some(false);
        }
    }
    Some(true)
}

/// The number of an element in row-major order, if it is one.
fn flat(shape: &[usize], places: impl ExactSizeIterator<Item = i64>) -> Option<usize> {
    if places.len() != shape.len() {
        return None;
    }
    shape.iter().zip(places).try_fold(0, |flat, (&n, place)| {
        let place = usize::try_from(place).ok().filter(|&place| place < n)?;
        Some(flat * n + place)
    })
}

fn place(shape: &[usize], mut flat: usize) -> Place {
    let mut place: Place = shape.iter().rev().map(|&n| (flat % n, flat /= n).0 as i64).collect();
    place.reverse();
    place
}

/// The tensor of a constant op.
fn tensor(value: &Attr, resources: &Resources) -> Option<StoredTensor> {
    stored_tensor(value, |key| resources.get(key).map(|blob| &blob.bytes)).ok()
}
