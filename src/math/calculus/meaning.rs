//! What terms compute over the reals where their polynomials and functions of libraries are exact; and whether that is what their
//! types say, at points. Points prove nothing: they are there to find what is wrong with a combinator.

use ngc_numerics::{Cmp, Enclosure, Expr, Prim};
use rug::Float;

use super::function::{Enclosed, substituted};
use super::prove::points;
use super::real::Range;
use super::types::{Combined, Impl, Node, Type, Typed};

/// Bits at which a term and its function agree.
pub const BITS: u32 = 300;
/// Bits of evaluation: what cancels is seen, and leaves as many.
const WORKING: u32 = 2000;

/// What a term computes, as formulas of x; nothing of what is known by its name alone.
pub fn meaning(term: &Typed) -> Option<Vec<Expr>> {
    read(term, &Expr::var(0))
}

/// What a term computes whose polynomials are taken so near to their points that a function with a hole there, as `sin(x)/x` at
/// 0, has the value that the polynomial gives.
fn beside_holes(term: &Typed) -> Option<Vec<Expr>> {
    read(term, &(Expr::var(0) + two_to(-3 * i64::from(WORKING) / 4)))
}

/// What a term computes where polynomials are taken at a formula of their points.
fn read(term: &Typed, at: &Expr) -> Option<Vec<Expr>> {
    let meaning = |term: &Typed| read(term, at);
    Some(match (&term.node, &term.ty) {
        (Node::Polynomial(p), _) => {
            let f = substituted(p.target.function.formula.as_ref()?, std::slice::from_ref(at));
            vec![only_on(&f, &p.target.range)]
        }
        (Node::Reference(_), Type::Impl(one)) => vec![one.function.formula.clone()?],
        (Node::Reference(_), Type::Pair(_)) => return None,
        (Node::Pair(parts), _) => parts.iter().map(|p| meaning(p)?.pop()).collect::<Option<_>>()?,
        (Node::Part(n, pair), _) => vec![meaning(pair)?.get(*n)?.clone()],
        (Node::Combined(Combined { combinator, arguments, .. }), _) => {
            let parts: Option<Vec<Vec<Expr>>> = arguments.iter().map(meaning).collect();
            let Node::Combined(of) = &term.node else { return None };
            (combinator.meaning)(of, &parts?)
        }
    })
}

/// A function that has no value outside a range: who goes there is found out.
fn only_on(f: &Expr, range: &Range) -> Expr {
    let (x, none) = (Expr::var(0), Expr::from(f64::NAN));
    // A hair more: an end that is irrational is not known to be reached exactly.
    let hair = || two_to(-i64::from(WORKING) / 2);
    let below = match range.to.is_finite() {
        true => Expr::select(Cmp::Le, &x, range.to.expr() + hair(), f, &none),
        false => f.clone(),
    };
    if range.from.is_finite() {
        Expr::select(Cmp::Ge, x, range.from.expr() - hair(), below, none)
    } else {
        below
    }
}

fn two_to(power: i64) -> Expr {
    Expr::apply(Prim::Exp2, vec![Expr::ratio(power, 1)])
}

/// A point at which a term does not compute its function.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The point.
    pub x: f64,
    /// What the term computes.
    pub found: f64,
    /// The value of the function.
    pub wanted: f64,
}

/// Looks for a point at which a term with exact polynomials does not compute its function to [`BITS`] bits; of a term that is not
/// known exactly there is none.
pub fn refuted(term: &Typed) -> Option<Wrong> {
    let found = meaning(term)?.into_iter().zip(beside_holes(term)?);
    let types: Vec<&Impl> = match &term.ty {
        Type::Impl(one) => vec![one],
        Type::Pair(parts) => parts
            .iter()
            .filter_map(|t| match t {
                Type::Impl(one) => Some(one),
                Type::Pair(_) => None,
            })
            .collect(),
    };
    found.zip(types).find_map(|((found, beside), of)| differs(&found, &beside, of))
}

fn differs(found: &Expr, beside: &Expr, of: &Impl) -> Option<Wrong> {
    let wanted = Enclosed::new(of.function.formula.as_ref()?, WORKING);
    let (found, beside) = (Enclosed::new(found, WORKING), Enclosed::new(beside, WORKING));
    points(&of.range.inside(WORKING)).into_iter().find_map(|x| {
        // Points have few bits, as numbers of formats do, and meet the seams of reductions.
        [Float::with_val(24, &x), Float::with_val(8, &x), Float::with_val(WORKING, &x)].into_iter().find_map(
            |x| {
                let inside = of.range.inside(WORKING);
                let at = Enclosure::point(Float::with_val(WORKING, &x));
                if at.lo < inside.lo || at.hi > inside.hi {
                    return None;
                }
                let b = wanted.over(&at);
                let a = Some(found.over(&at)).filter(|a| !a.may_be_nan).unwrap_or_else(|| beside.over(&at));
                let unknown = b.may_be_nan || b.is_undefined();
                let size = b.lo.clone().abs().max(&b.hi.clone().abs());
                let slack = size >> BITS;
                let near = |p: &Float, q: &Float| Float::with_val(WORKING, p - q).abs() <= slack;
                let agree = !a.may_be_nan && near(&a.lo, &b.lo) && near(&a.hi, &b.hi);
                // At a seam an enclosure may hold both sides of it, of which each is right.
                let holds_both = !a.may_be_nan && a.lo <= b.hi && b.lo <= a.hi;
                (!unknown && !agree && !holds_both).then(|| Wrong {
                    x: x.to_f64(),
                    found: a.lo.to_f64(),
                    wanted: b.lo.to_f64(),
                })
            },
        )
    })
}
