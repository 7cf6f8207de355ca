//! What holds between values, exact and computed, that intervals forget.
//!
//! Comparisons are exact and rounded addition is monotone, so within one format these hold for computed values too.

use crate::enclosure::Enclosure;
use crate::expr::Prim;

use super::affine::{Form, mignitude, upward};
use super::graph::{Node, Precision, RoundedConstant, RoundedGraph};

/// A bound of a value that follows from how it is made.
pub enum Fact {
    /// A value minus itself.
    Zero,
    /// The difference from a greatest value that takes the minuend into account.
    NotAboveZero,
    /// As before, the other way round.
    NotBelowZero,
    /// The quotient of a term and a sum with that term, if all of the sum's terms, given here, are at least zero: at most 1.
    Share(Vec<usize>),
    /// A sum of `exp(x_i - max x)` for all `i`, and of terms that are at least zero, given here: at least 1.
    HasOne(Vec<usize>),
    /// A value over the root of a mean of squares with its own, as of layer norm and RMS norm.
    Normalised(Normalised),
}

/// `|x / √(x²/n + ...)| ≤ √n`, as far as `x²` does not underflow.
pub struct Normalised {
    x: usize,
    root: usize,
    /// The other terms under the root; the fact holds where they are at least zero.
    terms: Vec<usize>,
    /// `√n`, and what rounding adds to it.
    most: f64,
    /// A magnitude of `x` from which on nothing underflows.
    normal: f64,
}

/// A product of constants and one square below a sum.
struct Square {
    terms: Vec<usize>,
    /// What the square is divided by.
    divisor: f64,
    /// The largest such on the way.
    largest: f64,
    roundings: i32,
}

impl Fact {
    /// What is known of a value.
    pub fn of(graph: &RoundedGraph, place: usize) -> Option<Fact> {
        let (Node::Apply(prim, [x, y, _]), format) = &graph.nodes[place] else { return None };
        let among = |prim: Prim, root: usize, leaf: usize| leaves(graph, prim, root, *format).contains(&leaf);
        match prim {
            Prim::Sub if x == y => Some(Fact::Zero),
            Prim::Sub if among(Prim::Max, *y, *x) || among(Prim::Min, *x, *y) => Some(Fact::NotAboveZero),
            Prim::Sub if among(Prim::Max, *x, *y) || among(Prim::Min, *y, *x) => Some(Fact::NotBelowZero),
            Prim::Div if among(Prim::Add, *y, *x) => Some(Fact::Share(leaves(graph, Prim::Add, *y, *format))),
            Prim::Div => Normalised::of(graph, *x, *y, *format).map(Fact::Normalised),
            Prim::Mul => [(x, y), (y, x)].into_iter().find_map(|(x, y)| {
                let (Node::Apply(Prim::Div, [one, root, _]), at) = &graph.nodes[*y] else { return None };
                let reciprocal = at == format && constant(graph, *one) == Some(Enclosure::point(1.0));
                Normalised::of(graph, *x, *root, *format).filter(|_| reciprocal).map(Fact::Normalised)
            }),
            Prim::Add => {
                let terms = leaves(graph, Prim::Add, place, *format);
                has_one(graph, &terms, *format).then_some(Fact::HasOne(terms))
            }
            _ => None,
        }
    }

    /// Least and greatest value, given the values before.
    pub fn bounds(&self, values: &[Form]) -> Option<(f64, f64)> {
        let none_negative = |terms: &[usize]| terms.iter().all(|&i| values[i].range.lo >= 0.0);
        match self {
            Fact::Zero => Some((0.0, 0.0)),
            Fact::NotAboveZero => Some((f64::NEG_INFINITY, 0.0)),
            Fact::NotBelowZero => Some((0.0, f64::INFINITY)),
            Fact::Share(terms) => none_negative(terms).then_some((0.0, 1.0)),
            Fact::HasOne(terms) => none_negative(terms).then_some((1.0, f64::INFINITY)),
            Fact::Normalised(of) if none_negative(&of.terms) => {
                let least = values[of.root].range.lo;
                let small = if of.normal <= mignitude(&values[of.x].range) { 0.0 } else { of.normal };
                let most = if small == 0.0 { of.most } else { of.most.max(upward(small / least)) };
                (least > 0.0 || small == 0.0).then_some((-most, most))
            }
            Fact::Normalised(_) => None,
        }
    }
}

impl Normalised {
    /// Of `x` over `root`, in one format.
    fn of(graph: &RoundedGraph, x: usize, root: usize, format: Precision) -> Option<Normalised> {
        let (Node::Apply(Prim::Sqrt, [sum, ..]), at) = &graph.nodes[root] else { return None };
        let square = Square::below(graph, *sum, x, format)?;
        let (unit, least) = format.map_or((0.0, 0.0), |f| (f.unit_roundoff(), f.min_normal()));
        let roundings = square.roundings + 3;
        // Roundings on the way take less than half of the square, so from `normal` on it stays above the least number.
        if !(at.is_none() || *at == format) || f64::from(roundings) * unit > 0.5 {
            return None;
        }
        let most = square.divisor.sqrt() * (1.0 + 2.0 * unit).powi(roundings);
        Some(Normalised {
            x,
            root,
            terms: square.terms,
            most: most * (1.0 + 1e-12),
            normal: (4.0 * least * square.largest).sqrt() * (1.0 + 1e-12),
        })
    }
}

impl Square {
    /// The square of `x` in a sum.
    fn below(graph: &RoundedGraph, place: usize, x: usize, format: Precision) -> Option<Square> {
        let (Node::Apply(prim, [a, b, _]), at) = &graph.nodes[place] else { return None };
        if *at != format {
            return None;
        }
        let within = |place: usize| Square::below(graph, place, x, format);
        let mut found = match prim {
            Prim::Square if *a == x => Square { terms: Vec::new(), divisor: 1.0, largest: 1.0, roundings: 0 },
            Prim::Add => {
                let (mut square, other) = within(*a).map(|s| (s, *b)).or_else(|| Some((within(*b)?, *a)))?;
                square.terms.push(other);
                square
            }
            Prim::Div => {
                let by = constant(graph, *b).filter(|by| by.lo > 0.0)?;
                let square = within(*a)?;
                Square { divisor: upward(square.divisor * by.hi), ..square }
            }
            Prim::Mul => {
                let (square, by) = within(*a).map(|s| (s, *b)).or_else(|| Some((within(*b)?, *a)))?;
                let by = constant(graph, by).filter(|by| by.lo > 0.0)?;
                Square { divisor: upward(square.divisor / by.lo), ..square }
            }
            _ => return None,
        };
        found.roundings += 1;
        found.largest = found.largest.max(found.divisor);
        Some(found)
    }
}

fn constant(graph: &RoundedGraph, place: usize) -> Option<Enclosure<f64>> {
    match graph.nodes[place].0 {
        Node::Constant(i) => Some(RoundedConstant::new(&graph.constants[i].0, graph.constants[i].1).range),
        _ => None,
    }
}

/// Whether among the terms is, for one greatest value, `exp(x - max)` of everything it is the greatest of.
fn has_one(graph: &RoundedGraph, terms: &[usize], format: Precision) -> bool {
    let shifted = |place: usize| match &graph.nodes[place] {
        (Node::Apply(Prim::Exp, [x, ..]), at) if *at == format => match &graph.nodes[*x] {
            (Node::Apply(Prim::Sub, [x, greatest, _]), at) if *at == format => Some((*x, *greatest)),
            _ => None,
        },
        _ => None,
    };
    let shifts: Vec<(usize, usize)> = terms.iter().filter_map(|&place| shifted(place)).collect();
    shifts.first().is_some_and(|&(_, greatest)| {
        let compared = leaves(graph, Prim::Max, greatest, format);
        !compared.is_empty() && compared.iter().all(|&x| shifts.contains(&(x, greatest)))
    })
}

/// The terms that a tree of one primitive joins; none where not all is in one format.
fn leaves(graph: &RoundedGraph, prim: Prim, root: usize, format: Precision) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(place) = open.pop() {
        match &graph.nodes[place] {
            (_, at) if *at != format => return Vec::new(),
            (Node::Apply(own, [x, y, _]), _) if *own == prim => open.extend([*x, *y]),
            _ => found.push(place),
        }
    }
    found
}
