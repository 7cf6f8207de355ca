//! Ways to compute a term.
//!
//! A term says what is computed; a form says how, in one step: as the node is written, in an order of its parts, from
//! parts of a sum or a product that are computed by themselves, by an op of the dialect whose definition the term is, or
//! by another term that a law or a chart proves equal.

use ngc_ir::structure::{Index, Size};
use ngc_ir::{AttrDict, Ident};
use ngc_numerics::Reduce;
use rug::Rational;

use crate::term::Use;

/// One step of a computation of a term, over the term's own slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// As its node says.
    Plain,
    /// As its node says, its parts taken in this order.
    Ordered(Vec<usize>),
    /// As a sum of terms that are multiplied before they are added, where its node multiplies their sum by a number, or is no
    /// greater than the greatest of them.
    Inside,
    /// As a sum of terms with factors, of which each is computed by itself: what a normal form flattened, in brackets.
    Sum(Vec<(Rational, Use)>),
    /// As a product of terms with exponents, of which each is computed by itself.
    Product(Vec<(Use, Rational)>),
    /// As another term, which equals it wherever it has a value.
    Equal(Equal),
    /// By an op of the dialect.
    Op(OpForm),
}

/// A term that equals another one wherever that has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Equal {
    /// The term, read along the slots of the other one.
    pub term: Use,
    /// The law or the chart that says so.
    pub law: Ident,
}

/// An op of the dialect whose definition gives a term.
#[derive(Clone, Debug, PartialEq)]
pub struct OpForm {
    /// The op.
    pub name: Ident,
    /// Its attributes, but for the axes along which it works.
    pub attrs: AttrDict,
    /// Its operands, read along the slots of the term and the dimensions behind them.
    pub operands: Vec<Use>,
    /// The extents of the dimensions along which the op works, behind the slots; none for a function of corresponding
    /// elements.
    pub over: Vec<Size>,
    /// Where the result is read along these dimensions; nothing where the op makes one value of all along them.
    pub at: Option<Vec<Index>>,
    /// What the result is multiplied by.
    pub factor: Rational,
}

/// The op that a reduction along dimensions is.
pub(crate) fn op_of(kind: Reduce) -> &'static str {
    match kind {
        Reduce::Sum => "ng.reduce_sum",
        Reduce::Prod => "ng.reduce_prod",
        Reduce::Max => "ng.reduce_max",
        Reduce::Min => "ng.reduce_min",
    }
}
