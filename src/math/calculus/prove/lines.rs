//! Lines, of which the values on a range are known exactly.

use ngc_numerics::expr::Node;
use ngc_numerics::{Expr, Prim};
use rug::Rational;

use super::super::function::{mentions, substituted};
use super::super::real::{Range, Real};

/// The slope and the value at 0 of a formula that is a line.
fn line(u: &Expr) -> Option<(Rational, Real)> {
    let at = |x: i32| Real::of(&substituted(u, &[x.into()])).ok();
    let (zero, one) = (at(0)?, at(1)?);
    let slope = one.minus(&zero)?.as_rational()?;
    is_line(u).then_some((slope, zero))
}

/// Whether a formula is made of sums and of products with numbers.
fn is_line(u: &Expr) -> bool {
    let constant = |x: &Expr| !mentions(x, 0);
    constant(u)
        || match &*u.0 {
            Node::Var(_) => true,
            Node::Apply(Prim::Add | Prim::Sub, x) => x.iter().all(is_line),
            Node::Apply(Prim::Neg, x) => is_line(&x[0]),
            Node::Apply(Prim::Mul, x) => {
                constant(&x[0]) && is_line(&x[1]) || constant(&x[1]) && is_line(&x[0])
            }
            Node::Apply(Prim::Div, x) => constant(&x[1]) && is_line(&x[0]),
            _ => false,
        }
}

/// The values of a line on a range.
pub fn image(u: &Expr, range: &Range) -> Option<Range> {
    let (slope, zero) = line(u)?;
    let at = |end: &Real| end.times(&slope).plus(&zero);
    let (a, b) = (at(&range.from)?, at(&range.to)?);
    match slope.cmp0() {
        std::cmp::Ordering::Greater => Some(Range::new(a, b)),
        std::cmp::Ordering::Less => Some(Range::new(b, a)),
        std::cmp::Ordering::Equal => None,
    }
}

/// Where a line lies in a range.
pub fn preimage(u: &Expr, range: &Range) -> Option<Range> {
    let (slope, zero) = line(u)?;
    if slope.is_zero() {
        return None;
    }
    let back = |end: &Real| Some(end.minus(&zero)?.times(&slope.clone().recip()));
    let (a, b) = (back(&range.from)?, back(&range.to)?);
    Some(if slope.is_positive() { Range::new(a, b) } else { Range::new(b, a) })
}

/// Whether a line takes a range into another one.
pub(super) fn maps_into(u: &Expr, range: &Range, into: &Range) -> bool {
    preimage(u, into).is_some_and(|whole| whole.contains(range))
}
