//! Terms of the index form.

use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_numerics::{Class, Cmp, DType, Logical, Prim, Reduce};
use rug::Rational;
use smallvec::SmallVec;

/// A term in a [`Store`](crate::Store).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

/// A place for every slot of a term.
pub type Map = SmallVec<[Index; 2]>;

/// A term, read at places along dimensions of its user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Use {
    /// The term.
    pub id: Id,
    /// The place along each of its slots.
    pub map: Map,
}

/// A number without rounding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// A rational number.
    Finite(Rational),
    /// An infinity: an empty maximum, or what a mask adds.
    Infinite {
        /// Whether it is `-inf`.
        negative: bool,
    },
    /// No value.
    Nan,
    /// π
    Pi,
    /// e
    E,
}

impl Number {
    /// Exactly this `f64`.
    pub fn of(x: f64) -> Number {
        match Rational::from_f64(x) {
            Some(x) => Number::Finite(x),
            None if x.is_nan() => Number::Nan,
            None => Number::Infinite { negative: x < 0.0 },
        }
    }
}

/// A function of numbers that no other node expresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// A primitive that is no sum, product, power or extreme.
    Prim(Prim),
    /// A relation: `=`, `<` or `≤`, as a truth value.
    Compare(Cmp),
    /// A connective of truth values.
    Logical(Logical),
    /// The negation of a truth value.
    Not,
    /// The second argument where the first holds, else the third.
    Choose,
    /// Whether a value is of a class.
    Classify(Class),
    /// A change of type that is no identity.
    Convert(DType, DType),
}

/// What a term is made of. Places are those along its own slots; the dimensions that a reduction binds follow them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number.
    Number(Number),
    /// An unknown extent as a number.
    Size(Size),
    /// The place along the only slot as a number.
    Place,
    /// A value that is read as it is: an argument, or a result of an op that has no index form.
    Leaf(u32),
    /// A constant and a sum of terms with factors other than 0.
    Linear(Rational, Vec<(Rational, Use)>),
    /// A product of powers with exponents other than 0.
    Product(Vec<(Use, Rational)>),
    /// The greatest of several values.
    Max(Vec<Use>),
    /// A function.
    Apply(Function, Vec<Use>),
    /// All values over bound dimensions of these extents, as one.
    Reduce(Reduce, Vec<Size>, Use),
    /// Whether all tests of the place hold, as a truth value.
    Holds(Vec<Test>),
    /// One of two values, by the place alone.
    Where(Vec<Test>, Use, Use),
}

impl Node {
    /// The terms that it is made of, in order.
    pub fn children(&self) -> SmallVec<[&Use; 4]> {
        match self {
            Node::Number(_) | Node::Size(_) | Node::Place | Node::Leaf(_) | Node::Holds(_) => SmallVec::new(),
            Node::Linear(_, terms) => terms.iter().map(|(_, x)| x).collect(),
            Node::Product(factors) => factors.iter().map(|(x, _)| x).collect(),
            Node::Max(parts) | Node::Apply(_, parts) => parts.iter().collect(),
            Node::Reduce(_, _, body) => SmallVec::from_slice(&[body]),
            Node::Where(_, yes, no) => SmallVec::from_slice(&[yes, no]),
        }
    }

    /// The terms that it is made of, to be replaced.
    pub(crate) fn children_mut(&mut self) -> SmallVec<[&mut Use; 4]> {
        match self {
            Node::Number(_) | Node::Size(_) | Node::Place | Node::Leaf(_) | Node::Holds(_) => SmallVec::new(),
            Node::Linear(_, terms) => terms.iter_mut().map(|(_, x)| x).collect(),
            Node::Product(factors) => factors.iter_mut().map(|(x, _)| x).collect(),
            Node::Max(parts) | Node::Apply(_, parts) => parts.iter_mut().collect(),
            Node::Reduce(_, _, body) => std::iter::once(body).collect(),
            Node::Where(_, yes, no) => [yes, no].into_iter().collect(),
        }
    }

    /// Its tests of places.
    pub fn tests(&self) -> &[Test] {
        match self {
            Node::Holds(tests) | Node::Where(tests, ..) => tests,
            _ => &[],
        }
    }

    pub(crate) fn tests_mut(&mut self) -> &mut [Test] {
        match self {
            Node::Holds(tests) | Node::Where(tests, ..) => tests,
            _ => &mut [],
        }
    }

    /// The extents of the dimensions that it binds.
    pub fn bound(&self) -> &[Size] {
        match self {
            Node::Reduce(_, over, _) => over,
            _ => &[],
        }
    }

    /// Whether it is the same if its n-th child is replaced by the negative.
    pub(crate) fn is_even_in(&self, n: usize) -> bool {
        match self {
            Node::Product(factors) => is_even(&factors[n].1),
            Node::Apply(Function::Prim(Prim::Abs | Prim::Cos | Prim::Cosh), _) => true,
            _ => false,
        }
    }

    /// Whether its children stand in no order.
    pub(crate) fn is_commutative(&self) -> bool {
        matches!(
            self,
            Node::Linear(..)
                | Node::Product(_)
                | Node::Max(_)
                | Node::Apply(Function::Logical(_) | Function::Compare(Cmp::Eq), _)
        )
    }
}

/// Whether a power with this exponent has no sign.
pub(crate) fn is_even(exponent: &Rational) -> bool {
    *exponent.denom() == 1 && exponent.numer().is_even()
}

/// The place along a dimension.
pub(crate) fn at(axis: usize) -> Index {
    Index::axis(Axis(axis as u32))
}

/// The place of an element that is numbered in row-major order.
pub(crate) fn unflattened(mut flat: usize, extents: &[usize]) -> Vec<i64> {
    let mut place: Vec<i64> = extents.iter().rev().map(|n| ((flat % n) as i64, flat /= n).0).collect();
    place.reverse();
    place
}
