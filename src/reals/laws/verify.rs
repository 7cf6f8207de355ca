//! Holds the two sides of a law against each other.
//!
//! Both sides are looked at twice. As they are written they are enclosed ([`super::enclosed`]), which proves that they differ
//! or agree. As the normal forms that are matched and made they are evaluated, at so many bits that what cancels is seen: the
//! more bits, the smaller the difference must become, or the sides differ. Points are drawn over all magnitudes of f64,
//! near and beyond the numbers of the law, and near each other. Where the left side has a value and the conditions hold, the
//! right side must have the same.

use std::fmt;

use ngc_ir::Context;
use ngc_ir::structure::{Index, Unknown};
use ngc_numerics::{Cmp, DType, Data, Format, Prim, Tensor};
use rug::Float;

use super::build::{Bindings, Build};
use super::draw::{Random, numbers};
use super::enclosed::{self, Seen};
use super::text::{Expr, Relation, Text};
use super::{Law, leaves, side};
use crate::charts::{self, Chart};
use crate::evaluate::Evaluation;
use crate::facts::Facts;
use crate::store::{Leaf, Store};
use crate::term::{Function, Node, Use, unflattened};

/// The precisions at which sides are evaluated, one after the other until they decide.
const BITS: [u32; 4] = [400, 2500, 6000, 250_000];

/// Exponentials of larger numbers take more bits than there are: what is seen there says nothing.
const LARGEST: f64 = 5e4;

/// The tail of an error function goes as the exponential of a square: of larger numbers it is looked at with fewer bits.
const LARGEST_OF_TAIL: f64 = 60.0;

/// So many of the precisions serve where the highest one takes too long: logarithms of the gamma function never need it.
const AFFORDABLE: usize = 3;

/// Differences below 2 to the negative of this are smaller than what numbers of f64 make.
const LEAST: u32 = 8000;

/// Two numbers that agree in so many bits are equal.
const AGREEMENT: u32 = 200;

/// At one point of so many, numbers must agree in all the bits that a sum of numbers of f64 may have.
const STRICTER: usize = 4;
const STRICT_AGREEMENT: u32 = 2200;

/// So many points of a law are enclosed at the highest precision, if they need it.
const FAR: usize = 4;

/// Points that tests and tools ask for.
pub const POINTS: usize = 1000;

/// A law is established by no fewer points than this part of those that are asked for.
pub const LEAST_PART: usize = 20;

/// So many times as many are drawn of a law whose conditions seldom hold.
const PATIENCE: usize = 16;

/// What a number of points say of a law.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The sides agree at so many of the points that were drawn; elsewhere the left side has no value or a condition does not hold.
    Holds {
        /// How many.
        points: usize,
        /// Of how many.
        drawn: usize,
    },
    /// The sides differ at a point.
    Differs(Point),
    /// A side cannot be evaluated.
    NoValue,
}

/// A point at which the sides of a law differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The elements of each variable, by name.
    pub values: Vec<(String, Vec<f64>)>,
    /// The value of the left side.
    pub left: f64,
    /// The value of the right side.
    pub right: f64,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "left {:e}, right {:e}", self.left, self.right)?;
        self.values.iter().try_for_each(|(name, values)| write!(f, ", {name} = {values:?}"))
    }
}

/// The sides and the conditions of a law as terms about leaves.
struct Terms {
    store: Store,
    left: Use,
    right: Use,
    conditions: Vec<Vec<(Cmp, Use, bool)>>,
}

/// Evaluates both sides of a law at so many points.
pub fn verify(law: &Law, context: &Context, points: usize) -> Verdict {
    let Some(Terms { store, left, right, conditions }) = terms(&law.text) else { return Verdict::NoValue };
    let [exponential, tail, gamma] = [EXPONENTIALS, TAILS, GAMMAS].map(|of| speaks_of(&law.text, of));
    let mut far = FAR;
    at_points(&law.text, points, |n, values, extent, leaf| {
        let agreement = if n % STRICTER == STRICTER - 1 { STRICT_AGREEMENT } else { AGREEMENT };
        let is_far = tail && size(values) > LARGEST_OF_TAIL;
        let all = !is_far && !gamma;
        let agrees = match enclosed::seen(&law.text, values, extent, agreement, far > 0 && all) {
            Seen::Agree => true,
            Seen::Beside => false,
            Seen::Differ(left, right) => return Compared::Differ(left, right),
            Seen::Open => {
                far = far.saturating_sub(1);
                false
            }
        };
        let bits = if all { &BITS } else { &BITS[..AFFORDABLE] };
        let sides =
            Sides { store: &store, left: &left, right: &right, conditions: &conditions, at: &[], bits };
        let found = compared(&sides, context, leaf, extent);
        match found {
            Compared::Differ(..) if !(is_far || exponential && size(values) > LARGEST) => found,
            Compared::Differ(..) | Compared::Beside if agrees => Compared::Agree,
            Compared::Differ(..) => Compared::Beside,
            _ => found,
        }
    })
}

/// Evaluates all that a chart gives for its own example, and the example, at so many points.
pub fn verify_chart(chart: Chart, context: &Context, points: usize) -> Verdict {
    let Some(text) = chart.text() else { return Verdict::NoValue };
    let mut store = Store::new();
    let Some(left) = side(&mut store, &text, &text.left) else { return Verdict::NoValue };
    let mut equal = charts::given(&mut store, &mut Facts::default(), left.id);
    equal.retain(|(of, term)| *of == chart && term.id != left.id);
    at_points(&text, points, |_, values, extent, leaf| {
        let mut found = Compared::Beside;
        for (_, right) in &equal {
            let sides = Sides { store: &store, left: &left, right, conditions: &[], at: &[], bits: &BITS };
            match compared(&sides, context, leaf, extent) {
                Compared::Differ(..) if size(values) > LARGEST => {}
                Compared::Beside => {}
                Compared::Agree => found = Compared::Agree,
                wrong => return wrong,
            }
        }
        found
    })
}

/// What so many points say, at each of which `check` holds sides against each other: it gets the number of the point, the
/// elements of all variables, the extent of the index, and what gives leaves their elements.
fn at_points(
    text: &Text,
    points: usize,
    mut check: impl FnMut(usize, &[Vec<f64>], usize, &Elements<'_>) -> Compared,
) -> Verdict {
    let mut random = Random::default();
    let numbers = numbers(text);
    let (mut met, mut drawn) = (0, 0);
    for n in 0..points * PATIENCE {
        if n >= points && met * LEAST_PART >= points {
            break;
        }
        drawn += 1;
        let extent = 1 + n % 5;
        let values = match numbers.get(n) {
            // All variables alike.
            Some(x) => {
                let count = |indexed| if indexed { extent } else { 1 };
                text.variables.iter().map(|variable| vec![*x; count(variable.indexed)]).collect()
            }
            None => random.point(text, &numbers, extent, n),
        };
        let leaf = |bits: u32, leaf: &Leaf| {
            let Leaf::Value(n) = leaf else { return None };
            let own: Vec<Float> =
                values.get(*n as usize)?.iter().map(|x| Float::with_val(bits, *x)).collect();
            let shape = if own.len() == 1 { Vec::new() } else { vec![own.len()] };
            Some(Tensor { dtype: DType::Float(Format::F64), shape, data: Data::Real(own) })
        };
        match check(n, &values, extent, &leaf) {
            Compared::Agree => met += 1,
            Compared::Beside => {}
            Compared::Differ(left, right) => {
                let names = text.variables.iter().map(|variable| variable.name.clone());
                return Verdict::Differs(Point { values: names.zip(values).collect(), left, right });
            }
            Compared::None => return Verdict::NoValue,
        }
    }
    Verdict::Holds { points: met, drawn }
}

/// The largest product that numbers may make.
fn size(values: &[Vec<f64>]) -> f64 {
    values.iter().flatten().map(|x| x.abs().max(1.0)).product()
}

/// Whether two terms are the same number wherever the first one has a value, at a place and at a point that gives the elements of
/// each leaf; nothing where the first one has no value.
pub fn agree(
    store: &Store,
    context: &Context,
    sides: [&Use; 2],
    at: &[i64],
    leaves: &[Tensor],
) -> Option<bool> {
    let leaf = |bits: u32, leaf: &Leaf| {
        let Leaf::Value(n) = leaf else { return None };
        let tensor = leaves.get(*n as usize)?;
        let values = tensor.to_f64s().iter().map(|x| Float::with_val(bits, *x)).collect();
        Some(Tensor { data: Data::Real(values), ..tensor.clone() })
    };
    let sides = Sides { store, left: sides[0], right: sides[1], conditions: &[], at, bits: &BITS };
    match compared(&sides, context, &leaf, 1) {
        Compared::Agree => Some(true),
        Compared::Differ(..) => Some(false),
        Compared::Beside | Compared::None => None,
    }
}

fn terms(text: &Text) -> Option<Terms> {
    let mut store = Store::new();
    let (left, right) = (side(&mut store, text, &text.left)?, side(&mut store, text, &text.right)?);
    let bindings: Bindings = leaves(&mut store, text);
    let over = bindings.over.clone()?;
    let mut conditions = Vec::new();
    for relations in &text.conditions {
        let mut any = Vec::new();
        for Relation { cmp, difference } in relations {
            let mut indexed = false;
            difference.each_variable(&mut |n| indexed |= text.variables[n].indexed);
            let space = if indexed { over.clone() } else { Vec::new() };
            let mut build =
                Build { store: &mut store, facts: &mut Facts::default(), bindings: &bindings, space };
            any.push((*cmp, build.expr(difference)?, indexed));
        }
        conditions.push(any);
    }
    Some(Terms { store, left, right, conditions })
}

enum Compared {
    Agree,
    /// The left side has no value, or a condition does not hold.
    Beside,
    Differ(f64, f64),
    None,
}

/// Two terms that are compared.
struct Sides<'a> {
    store: &'a Store,
    left: &'a Use,
    right: &'a Use,
    conditions: &'a [Vec<(Cmp, Use, bool)>],
    at: &'a [i64],
    /// The precisions at which they are evaluated.
    bits: &'a [u32],
}

/// Gives the elements of a leaf, at so many bits.
type Elements<'a> = dyn Fn(u32, &Leaf) -> Option<Tensor> + 'a;

fn compared(sides: &Sides<'_>, context: &Context, leaf: &Elements<'_>, extent: usize) -> Compared {
    let Sides { store, conditions, at, bits: precisions, .. } = *sides;
    let unknown = |_: Unknown| Some(extent as i64);
    let mut last: Option<(Float, Float)> = None;
    for (n, &bits) in precisions.iter().enumerate() {
        let leaf = |of: &Leaf| leaf(bits, of);
        let mut evaluation = Evaluation::new(store, context, bits, &unknown, &leaf);
        for any in conditions {
            match met(&mut evaluation, any, extent) {
                Some(true) => {}
                Some(false) => return Compared::Beside,
                None => return Compared::None,
            }
        }
        if !is_defined(&mut evaluation, store, sides.left, at, extent) {
            return Compared::Beside;
        }
        let left = number(&mut evaluation, sides.left, at);
        let (Some(left), Some(right)) = (left, number(&mut evaluation, sides.right, at)) else {
            return Compared::None;
        };
        let difference = Float::with_val(bits, &left - &right).abs();
        if difference.is_zero() || difference <= left.clone().abs() >> AGREEMENT {
            return Compared::Agree;
        }
        // Rounding goes away with more bits; a difference of the sides stays.
        if let Some((known, last)) = last.filter(|_| n + 1 == precisions.len()) {
            let more = bits - precisions[n - 1];
            let noise = !left.is_zero() && left.clone().abs() <= last >> (more / 4);
            let nothing = difference <= Float::with_val(bits, 1) >> LEAST;
            return match difference.is_finite() && difference <= known >> (more / 2) {
                true => Compared::Agree,
                false if noise || nothing => Compared::Beside,
                false => Compared::Differ(left.to_f64(), right.to_f64()),
            };
        }
        last = Some((difference, left.abs()));
    }
    Compared::None
}

/// Whether one of several relations holds, at all places of the index that it speaks of.
fn met(evaluation: &mut Evaluation<'_>, any: &[(Cmp, Use, bool)], extent: usize) -> Option<bool> {
    let mut holds = false;
    for (cmp, difference, indexed) in any {
        let mut all = true;
        for place in 0..if *indexed { extent } else { 1 } {
            all &= cmp.holds(number(evaluation, difference, &[place as i64])?.cmp0());
        }
        holds |= all;
    }
    Some(holds)
}

fn number(evaluation: &mut Evaluation<'_>, of: &Use, at: &[i64]) -> Option<Float> {
    match evaluation.value(of, at)?.data {
        Data::Real(mut values) => values.pop(),
        _ => None,
    }
}

/// Whether a term and all that it is made of are numbers: a quotient by 0 has no value, whatever is made of it.
fn is_defined(evaluation: &mut Evaluation<'_>, store: &Store, of: &Use, at: &[i64], extent: usize) -> bool {
    let unknown = |_: Unknown| Some(extent as i64);
    let node = store.node(of.id);
    let open = matches!(node, Node::Number(_) | Node::Where(..) | Node::Apply(Function::Choose, _));
    if !open && number(evaluation, of, at).is_some_and(|value| !value.is_finite()) {
        return false;
    }
    let places: Option<Vec<i64>> = of.map.iter().map(|index| index.value(at, &unknown)).collect();
    let Some(places) = places.filter(|_| !open) else { return open };
    let sizes = node.bound().iter().map(|size| Index::size(size).value(&[], &unknown));
    let sizes: Option<Vec<usize>> = sizes.map(|n| usize::try_from(n?).ok()).collect();
    let Some(sizes) = sizes else { return false };
    (0..sizes.iter().product()).all(|flat| {
        let place: Vec<i64> = places.iter().copied().chain(unflattened(flat, &sizes)).collect();
        node.children().iter().all(|part| is_defined(evaluation, store, part, &place, extent))
    })
}

const EXPONENTIALS: &[Prim] = &[
    Prim::Exp,
    Prim::Expm1,
    Prim::Exp2,
    Prim::Exprel,
    Prim::Exprel2,
    Prim::ExprelSlope,
    Prim::Sinh,
    Prim::Cosh,
    Prim::Tanh,
];

const TAILS: &[Prim] = &[Prim::Erf, Prim::Erfc, Prim::Erfcx];

const GAMMAS: &[Prim] = &[Prim::Lgamma, Prim::StirlingError];

/// Whether a law speaks of one of some functions; powers with variables in their exponents are exponentials.
fn speaks_of(text: &Text, functions: &[Prim]) -> bool {
    let mut found = false;
    let mut note = |part: &Expr| {
        found |= match part {
            Expr::Call(prim, _) => functions.contains(prim),
            Expr::Power(parts) => functions.contains(&Prim::Exp) && !matches!(parts.1, Expr::Number(_)),
            _ => false,
        };
    };
    text.left.each(&mut |part| note(part));
    text.right.each(&mut |part| note(part));
    found
}
