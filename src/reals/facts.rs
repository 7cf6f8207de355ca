//! What is known of terms: enclosures, signs and integrality, by the one evaluator over the product of lattices
//! ([`ngc_dialects::facts`]), and what the shape of a term says beside it.

use ngc_dialects::facts::{self, Fact, Signs, Traced, formula};
use ngc_ir::structure::{Axis, Function as Pointwise, Index, Size};
use ngc_numerics::expr::Constant;
use ngc_numerics::{Binary64, Enclosure, Extent, Interval, Prim, Reduce, enclosure};
use rug::Rational;
use rustc_hash::FxHashMap;

use crate::store::{Store, within};
use crate::term::{Function, Id, Map, Node, Number, Use};

/// What is known of the leaves of a store, by their numbers.
pub type Leaves = Box<dyn Fn(u32) -> Fact>;

/// Facts of the terms of one store, each found once.
pub struct Facts {
    leaf: Leaves,
    known: FxHashMap<Id, Fact>,
}

impl Default for Facts {
    fn default() -> Facts {
        Facts::new(Box::new(|_| Fact::UNKNOWN))
    }
}

impl Facts {
    /// Facts by those of the leaves. [`Fact::UNKNOWN`] says nothing of a leaf.
    pub fn new(leaf: Leaves) -> Facts {
        Facts { leaf, known: FxHashMap::default() }
    }

    /// What is known of a term, at every place.
    pub fn of(&mut self, store: &Store, id: Id) -> Fact {
        // Terms nest as deep as programs do: parts come first, without recursion.
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.known.contains_key(&next) {
                open.pop();
                continue;
            }
            let parts = store.node(next).children();
            let before = open.len();
            open.extend(parts.iter().map(|part| part.id).filter(|part| !self.known.contains_key(part)));
            if open.len() == before {
                let fact = self.node(store, next).reduced();
                self.known.insert(next, fact);
            }
        }
        self.known[&id]
    }

    /// Whether a term is above 0 wherever it has a value.
    pub fn is_positive(&mut self, store: &Store, id: Id) -> bool {
        self.signs(store, id).within(Signs::POSITIVE.or(Signs::PLUS_INF).or(Signs::UNDEFINED))
    }

    /// Whether a term is nowhere below 0.
    pub fn is_nonnegative(&mut self, store: &Store, id: Id) -> bool {
        store.is_nonnegative(id) || !self.signs(store, id).may_be(Signs::NEGATIVE.or(Signs::MINUS_INF))
    }

    /// Whether a term is nowhere above 0.
    pub fn is_nonpositive(&mut self, store: &Store, id: Id) -> bool {
        !self.signs(store, id).may_be(Signs::POSITIVE.or(Signs::PLUS_INF))
    }

    /// Whether a term is nowhere 0.
    pub fn is_nonzero(&mut self, store: &Store, id: Id) -> bool {
        !self.signs(store, id).may_be(Signs::ZERO)
    }

    /// Between which numbers a term lies.
    pub fn interval(&mut self, store: &Store, id: Id) -> Interval {
        self.of(store, id).range
    }

    /// At which places of the extended line a term may lie.
    pub fn signs(&mut self, store: &Store, id: Id) -> Signs {
        self.of(store, id).signs
    }

    fn part(&self, of: &Use) -> Traced {
        Traced::of(self.known.get(&of.id).copied().unwrap_or(Fact::UNKNOWN))
    }

    fn node(&self, store: &Store, id: Id) -> Fact {
        match store.node(id) {
            Node::Number(number) => of_number(number),
            Node::Size(size) => {
                let Extent { least, most } = extent(size);
                Fact { integer: true, ..Fact::of_range(Enclosure::new(least, most)) }
            }
            Node::Place => Fact { signs: Signs::NUMBERS, integer: true, ..Fact::UNKNOWN },
            Node::Leaf(leaf) => (self.leaf)(*leaf),
            Node::Linear(constant, terms) => self.linear(store, constant, terms, store.sizes(id)),
            Node::Product(factors) => self.product(store, factors, store.sizes(id)),
            Node::Max(parts) => joined(Prim::Max, parts.iter().map(|x| self.part(x))),
            Node::Apply(function, parts) => {
                let parts: Vec<Traced> = parts.iter().map(|x| self.part(x)).collect();
                applied(*function, &parts).fact
            }
            Node::Reduce(kind, over, body) => {
                let count = over.iter().fold(Extent::exactly(1.0), |all, size| all.times(extent(size)));
                facts::together(*kind, count, self.part(body).fact)
            }
            Node::Holds(_) => Fact { integer: true, ..Fact::of_range(Enclosure::new(0.0, 1.0)) },
            Node::Where(_, yes, no) => self.part(yes).fact.or(self.part(no).fact),
        }
    }

    fn linear(&self, store: &Store, constant: &Rational, terms: &[(Rational, Use)], space: &[Size]) -> Fact {
        let scaled = |(factor, x): &(Rational, Use)| {
            formula::apply(Prim::Mul, &[Traced::of(of_rational(factor)), self.part(x)])
        };
        let constant_term = (!constant.is_zero()).then(|| Traced::of(of_rational(constant)));
        let sum = joined(Prim::Add, constant_term.into_iter().chain(terms.iter().map(scaled)));
        // What is one of several values is no more than the greatest of them, and its negative no more than that of negatives.
        let below = |(c, x): &(Rational, Use), (d, y): &(Rational, Use)| {
            let turned = c == d && is_negative_among(store, x, y, space);
            let differs = turned || *c == Rational::from(-d) && is_among(store, Reduce::Max, x, y, space);
            differs.then_some((*c > 0) != turned)
        };
        if let ([a, b], true) = (terms, constant.is_zero())
            && let Some(falls) = below(a, b).or_else(|| below(b, a))
        {
            let half = if falls { (f64::NEG_INFINITY, 0.0) } else { (0.0, f64::INFINITY) };
            let undefined = sum.range.may_be_nan;
            let half = Enclosure { lo: half.0, hi: half.1, may_be_nan: undefined };
            return sum.and(Fact { integer: false, ..Fact::of_range(half) });
        }
        sum
    }

    fn product(&self, store: &Store, factors: &[(Use, Rational)], space: &[Size]) -> Fact {
        let product = joined(Prim::Mul, factors.iter().map(|(x, e)| Traced::of(self.power(x, e))));
        // A part of a sum of values that are nowhere negative is at most the sum.
        let whole = |(x, e): &(Use, Rational)| {
            let over = factors.iter().any(|(y, f)| {
                *f == Rational::from(-e)
                    && is_among(store, Reduce::Sum, x, y, space)
                    && self.adds_up(store, y)
            });
            *e > 0 && over
        };
        match factors {
            [a, b] if whole(a) || whole(b) => {
                let part = Enclosure { lo: 0.0, hi: 1.0, may_be_nan: product.range.may_be_nan };
                product.and(Fact { integer: false, ..Fact::of_range(part) })
            }
            _ => product,
        }
    }

    /// Whether a term is a sum of values that are nowhere negative.
    fn adds_up(&self, store: &Store, of: &Use) -> bool {
        let below = Signs::NEGATIVE.or(Signs::MINUS_INF);
        let fine = |x: &Use| !self.part(x).fact.signs.may_be(below);
        match store.node(of.id) {
            Node::Linear(constant, terms) => *constant >= 0 && terms.iter().all(|(c, x)| *c > 0 && fine(x)),
            Node::Reduce(Reduce::Sum, _, body) => fine(body),
            _ => false,
        }
    }

    fn power(&self, base: &Use, exponent: &Rational) -> Fact {
        let base = self.part(base);
        let negative = *exponent < 0;
        let size = exponent.clone().abs();
        let power = match (size.numer().to_u32(), size.denom().to_u32()) {
            (Some(1), Some(1)) => base,
            (Some(2), Some(1)) => formula::apply(Prim::Square, &[base]),
            (Some(1), Some(2)) => formula::apply(Prim::Sqrt, &[base]),
            _ => formula::apply(Prim::Pow, &[base, Traced::of(of_rational(&size))]),
        };
        let one = Traced::of(Fact::of_number(1.0));
        if negative { formula::apply(Prim::Div, &[one, power]).fact } else { power.fact }
    }
}

fn of_number(number: &Number) -> Fact {
    let constant = match number {
        Number::Finite(x) => return of_rational(x),
        Number::Infinite { negative } => Constant::Infinity { negative: *negative },
        Number::Nan => Constant::Nan,
        Number::Pi => Constant::Pi,
        Number::E => Constant::E,
    };
    Fact::of_range(enclosure::constant(&Binary64, &constant))
}

fn of_rational(x: &Rational) -> Fact {
    let signs = match x.cmp0() {
        std::cmp::Ordering::Less => Signs::NEGATIVE,
        std::cmp::Ordering::Equal => Signs::ZERO,
        std::cmp::Ordering::Greater => Signs::POSITIVE,
    };
    let range = enclosure::constant(&Binary64, &Constant::Rational(x.clone()));
    Fact { signs, integer: *x.denom() == 1, ..Fact::of_range(range) }
}

/// An extent that is not known is at least 1.
fn extent(size: &Size) -> Extent {
    let least = size.factor() as f64;
    Extent { least, most: size.number().map_or(f64::INFINITY, |n| n as f64) }
}

fn joined(prim: Prim, parts: impl Iterator<Item = Traced>) -> Fact {
    let all = parts.reduce(|a, b| formula::apply(prim, &[a, b]));
    all.map_or(Fact::UNKNOWN, |all| all.fact)
}

fn applied(function: Function, x: &[Traced]) -> Traced {
    let function = match function {
        Function::Prim(prim) => return formula::apply(prim, x),
        Function::Compare(cmp) => Pointwise::Compare(cmp),
        Function::Logical(logical) => Pointwise::Logical(logical),
        Function::Not => Pointwise::Not,
        Function::Choose => Pointwise::Choose,
        Function::Classify(class) => Pointwise::Classify(class),
        Function::Convert(from, to) => Pointwise::Convert(from, to),
    };
    facts::function(&function, x)
}

/// Whether a value is one of those that the other puts together, as read along dimensions of these extents: a term of a
/// sum, or an element of what is reduced.
fn is_among(store: &Store, kind: Reduce, one: &Use, all: &Use, space: &[Size]) -> bool {
    let is_one = |x: &Use| store.compose(x, &all.map, space).as_ref() == Some(one);
    match (store.node(all.id), kind) {
        (Node::Linear(_, terms), Reduce::Sum) => terms.iter().any(|(c, x)| *c >= 1 && is_one(x)),
        (Node::Max(parts), Reduce::Max) => parts.iter().any(is_one),
        (Node::Reduce(own, ..), _) if *own == kind => place_among(store, one, all, space).is_some(),
        _ => false,
    }
}

/// Whether the negative of a value is one of those of which the other is the greatest.
fn is_negative_among(store: &Store, one: &Use, all: &Use, space: &[Size]) -> bool {
    let negated = |x: &Use, space: &[Size]| match store.node(x.id) {
        Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 && terms[0].0 == -1 => {
            store.compose(&terms[0].1, &x.map, space)
        }
        _ => None,
    };
    let own = store.sizes(all.id);
    match store.node(all.id) {
        Node::Max(parts) => parts.iter().any(|x| {
            let of = negated(x, own).and_then(|of| store.compose(&of, &all.map, space));
            of.as_ref() == Some(one)
        }),
        Node::Reduce(Reduce::Max, over, body) => negated(body, &within(own, over))
            .is_some_and(|of| places_in(one, (over, &of), &all.map, space).is_some()),
        _ => false,
    }
}

/// The places along the bound dimensions of a reduction at which its body is a value. Along those that have no place it is
/// the value everywhere.
pub(crate) fn place_among(store: &Store, one: &Use, all: &Use, space: &[Size]) -> Option<Vec<Option<Index>>> {
    let Node::Reduce(_, over, body) = store.node(all.id) else { return None };
    places_in(one, (over, body), &all.map, space)
}

/// As [`place_among`], of a body over further dimensions, whose others are read at these places.
fn places_in(
    one: &Use,
    (over, body): (&[Size], &Use),
    at: &Map,
    space: &[Size],
) -> Option<Vec<Option<Index>>> {
    (body.id == one.id).then_some(())?;
    let free = at.len();
    let mut places: Vec<Option<Index>> = vec![None; over.len()];
    for (own, index) in body.map.iter().zip(&one.map) {
        match own.as_axis() {
            Some(Axis(n)) if n as usize >= free => {
                let bound = n as usize - free;
                let chosen = places[bound].get_or_insert_with(|| index.clone());
                (chosen == index && index.is_below(&over[bound], space)).then_some(())?;
            }
            _ => {
                let mut inner = false;
                own.each_axis(&mut |Axis(n)| inner |= n as usize >= free);
                let by = |Axis(n): Axis| at.get(n as usize).cloned().unwrap_or_default();
                (!inner && own.substituted(&by, space).as_ref() == Some(index)).then_some(())?;
            }
        }
    }
    Some(places)
}
