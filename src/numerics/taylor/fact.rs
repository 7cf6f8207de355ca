//! What holds between values, exact and computed, that intervals forget.
//!
//! Comparisons are exact and rounded addition is monotone, so within one format these hold for computed values too.

use crate::expr::Prim;

use super::affine::Form;
use super::graph::{Node, Precision, RoundedGraph};

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
        }
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
