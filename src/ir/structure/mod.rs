//! What an element of an op's result is made of, over the reals: an expression of elements of the operands, over named
//! dimensions.
//!
//! MLIR's concept: the indexing maps and the region of a `linalg.generic`, with reductions inside. A structural op
//! (movement, reduction, contraction, window, scan) declares its [`Structure`] as data; what passes a fact on, which ops
//! only move elements, and the index form of a program (DESIGN section 4) are derived from that data, so no list of ops
//! by name exists for any of them. Formats, accumulation and the order of sums do not occur.

mod index;
mod size;

use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::{Cmp, DType, Reduce, ScalarFn};

pub use index::{Axis, Digit, Factors, Index, Space, Whole};
pub use size::{Size, Unknown};

use crate::op_def::Signature;

/// The structures of the results of an op, whose operands have these extents; nothing for attributes or types of which
/// none is known.
pub type StructureFn = fn(&Signature<'_>, &[Vec<Size>]) -> Option<Vec<Structure>>;

/// A result: its dimensions and what an element of it is made of.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Its extents; absent where one depends on more than products of the operands' extents.
    pub extents: Vec<Option<Size>>,
    /// Its element at place `Axis(0), Axis(1), ...`.
    pub element: Element,
}

/// A real number, or a truth value, as an expression over named dimensions.
#[derive(Clone, Debug)]
pub enum Element {
    /// A number; infinities are the empty maximum and minimum.
    Number(f64),
    /// A place as a number.
    Place(Index),
    /// The element of an operand at a place.
    Read {
        /// The operand.
        operand: usize,
        /// A place along each of its dimensions.
        at: Vec<Index>,
    },
    /// A function of numbers.
    Apply(Function, Vec<Element>),
    /// All values of an expression, over further dimensions, as one.
    Reduce {
        /// How they become one.
        kind: Reduce,
        /// The extents of the dimensions, which follow those that exist already in number.
        over: Vec<Size>,
        /// The expression.
        body: Box<Element>,
    },
    /// One of two expressions, by the place alone. The other need not have a value there.
    Where {
        /// All must hold.
        tests: Vec<Test>,
        /// Where they do.
        yes: Box<Element>,
        /// Where one of them does not.
        no: Box<Element>,
    },
}

/// Where each element of a result lies in the first operand of an op: the integers of others decide.
pub struct Pick {
    /// The extents of the result.
    pub extents: Vec<Size>,
    /// A place along each dimension of the operand.
    pub at: Vec<Coordinate>,
}

/// A place along a dimension.
pub enum Coordinate {
    /// By the place in the result alone.
    Place(Index),
    /// The integer that stands in an operand at a place. A negative one counts from the end, and one outside of the dimension is
    /// an error.
    Entry {
        /// The operand.
        operand: usize,
        /// A place along each of its dimensions.
        at: Vec<Index>,
    },
}

/// Where the elements of an op's result lie, whose operands have these extents.
pub type PickFn = fn(&Signature<'_>, &[Vec<Size>]) -> Option<Pick>;

/// A relation between places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// The index is not negative.
    AtLeastZero(Index),
    /// The index is 0.
    Zero(Index),
}

impl Test {
    /// The index that is asked about.
    pub fn index(&self) -> &Index {
        match self {
            Test::AtLeastZero(index) | Test::Zero(index) => index,
        }
    }

    /// The same question of another index.
    pub fn of(&self, index: Index) -> Test {
        match self {
            Test::AtLeastZero(_) => Test::AtLeastZero(index),
            Test::Zero(_) => Test::Zero(index),
        }
    }

    /// The answer, where the extents alone give it.
    pub fn known(&self, space: &(impl Space + ?Sized)) -> Option<bool> {
        let (low, high) = self.index().range(space)?;
        match self {
            Test::AtLeastZero(_) if low >= 0 => Some(true),
            Test::AtLeastZero(_) if high < 0 => Some(false),
            Test::Zero(_) if (low, high) == (0, 0) => Some(true),
            Test::Zero(_) if low > 0 || high < 0 => Some(false),
            _ => None,
        }
    }
}

/// A function of corresponding elements.
#[derive(Clone, Debug)]
pub enum Function {
    /// A real function, with the values of its parameters.
    Real(&'static ScalarFn, Vec<f64>),
    /// A relation, as a truth value.
    Compare(Cmp),
    /// A connective of truth values.
    Logical(Logical),
    /// The negation of a truth value.
    Not,
    /// The second argument where the first holds, else the third.
    Choose,
    /// Whether a value is of a class.
    Classify(Class),
    /// A change of type that over the reals is no identity.
    Convert(DType, DType),
}

/// An element of the n-th operand, at places along its dimensions.
pub fn read(operand: usize, at: impl IntoIterator<Item = Index>) -> Element {
    Element::Read { operand, at: at.into_iter().collect() }
}

/// The place along the n-th dimension.
pub fn place(n: usize) -> Index {
    Index::axis(Axis(n as u32))
}

impl Structure {
    /// A result whose extents are all known as products.
    pub fn new(extents: Vec<Size>, element: Element) -> Structure {
        Structure { extents: extents.into_iter().map(Some).collect(), element }
    }

    /// One result whose elements are elements of the first operand.
    pub fn moved(extents: Vec<Size>, at: Vec<Index>) -> Option<Vec<Structure>> {
        Some(vec![Structure::new(extents, read(0, at))])
    }
}

impl Element {
    /// Calls `f` with every part of the expression, the whole first.
    pub fn each<'a>(&'a self, f: &mut impl FnMut(&'a Element)) {
        f(self);
        match self {
            Element::Number(_) | Element::Place(_) | Element::Read { .. } => {}
            Element::Apply(_, parts) => parts.iter().for_each(|part| part.each(f)),
            Element::Reduce { body, .. } => body.each(f),
            Element::Where { yes, no, .. } => {
                yes.each(f);
                no.each(f);
            }
        }
    }

    /// Whether it is an element of an operand, a number or a place, by the place alone.
    pub fn only_chooses(&self) -> bool {
        let mut chooses = true;
        self.each(&mut |part| chooses &= !matches!(part, Element::Apply(..) | Element::Reduce { .. }));
        chooses
    }

    /// Whether it is an element of an operand as it is, or one of several, by the place alone.
    pub fn only_moves(&self) -> bool {
        let mut moves = true;
        self.each(&mut |part| moves &= matches!(part, Element::Read { .. } | Element::Where { .. }));
        moves
    }
}
