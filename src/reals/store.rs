//! The interner of terms.

use std::hash::{DefaultHasher, Hash, Hasher};

use ngc_ir::structure::{Axis, Index, Size, Space};
use ngc_ir::{AttrDict, Ident, Type};
use ngc_numerics::{Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::slots::{self, Symmetry};
use crate::term::{Function, Id, Map, Node, Number, Use, at, is_even};

/// What a leaf is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Leaf {
    /// A value that the region does not define, by number.
    Value(u32),
    /// A constant that no formula gives, by the digest of its elements.
    Constant(u128),
    /// A result of an op that has no index form, by all that it depends on.
    Opaque {
        /// The op.
        name: Ident,
        /// Its attributes.
        attrs: AttrDict,
        /// Which of its results.
        result: u32,
        /// Its operands.
        operands: Vec<Operand>,
    },
}

/// An operand of an op that has no index form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its element, over its own dimensions.
    pub element: Use,
    /// The extents of these.
    pub extents: Vec<Size>,
    /// Its type.
    pub ty: Type,
}

/// A place that may be any integer: nothing is proven by its extent.
pub const ANYWHERE: u64 = i64::MAX as u64;

struct Entry {
    node: Node,
    sizes: SmallVec<[Size; 4]>,
    digest: u128,
    symmetries: Vec<Symmetry>,
    nonnegative: bool,
    positive: bool,
    /// The slots of whose places something is asked, in the term or in its parts: a bit each.
    asked: u64,
    /// The functions in the term: a bit for some of them each.
    functions: u64,
}

/// Extents.
type Sizes = SmallVec<[Size; 4]>;

/// A definition by its number, on operands, over dimensions of some extents.
type Defined = (usize, Vec<Use>, Sizes);

/// An op with its settings, on operands, over dimensions of some extents, of which it works along so many of the last.
type Along = (Ident, AttrDict, Vec<Use>, Sizes, usize);

/// Terms, each once.
#[derive(Default)]
pub struct Store {
    entries: Vec<Entry>,
    ids: FxHashMap<(Node, SmallVec<[Size; 4]>), Id>,
    leaves: Vec<Leaf>,
    leaf_numbers: FxHashMap<Leaf, u32>,
    /// What nodes over outer dimensions of some extents are: to give a node its slots costs more than to find it again.
    closed: FxHashMap<(Node, Sizes), Use>,
    /// What definitions of ops are on operands over dimensions of some extents, by the number of the definition.
    pub(crate) defined: FxHashMap<Defined, Use>,
    /// The same of ops that work along dimensions; nothing where they cannot take the operands.
    pub(crate) rows: FxHashMap<Along, Option<Use>>,
    /// What terms are without the shifts of their exponentials.
    pub(crate) unshifted: FxHashMap<Id, Use>,
    /// How many more terms may be made again for the one that is being read.
    pub(crate) left: Option<u32>,
    /// Whether the exponential of a logarithm stays one, and is no power.
    literal: bool,
}

/// What is hashed.
#[derive(Default)]
struct Bytes(SmallVec<[u8; 512]>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn finish(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.0);
        hasher.finish()
    }
}

/// A hash that is the same in every run.
pub(crate) fn digest(of: &impl Hash) -> u128 {
    let mut bytes = Bytes::default();
    bytes.write_u64(1);
    of.hash(&mut bytes);
    let first = bytes.finish();
    bytes.0[..8].copy_from_slice(&2u64.to_ne_bytes());
    (u128::from(first) << 64) | u128::from(bytes.finish())
}

impl Store {
    /// No terms.
    pub fn new() -> Store {
        Store::default()
    }

    /// What is made while the exponential of a multiple of a logarithm stays one: to compute it so is what a law is there for,
    /// and a normal form would make a power of it again.
    pub(crate) fn literally<T>(&mut self, make: impl FnOnce(&mut Store) -> T) -> T {
        let before = std::mem::replace(&mut self.literal, true);
        let made = make(self);
        self.literal = before;
        made
    }

    /// Whether the exponential of a logarithm stays one.
    pub(crate) fn is_literal(&self) -> bool {
        self.literal
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All terms, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..self.entries.len() as u32).map(Id)
    }

    /// What a term is made of.
    pub fn node(&self, id: Id) -> &Node {
        &self.entries[id.0 as usize].node
    }

    /// The extents of a term's slots.
    pub fn sizes(&self, id: Id) -> &[Size] {
        &self.entries[id.0 as usize].sizes
    }

    /// A number that says what a term is, whatever else the store holds.
    pub fn digest(&self, id: Id) -> u128 {
        self.entries[id.0 as usize].digest
    }

    /// The ways in which slots may be exchanged.
    pub(crate) fn symmetries(&self, id: Id) -> &[Symmetry] {
        &self.entries[id.0 as usize].symmetries
    }

    /// Whether a term has no negative value, wherever it has one.
    pub fn is_nonnegative(&self, id: Id) -> bool {
        self.entries[id.0 as usize].nonnegative
    }

    /// Whether a term has positive values alone, wherever it has one.
    pub fn is_positive(&self, id: Id) -> bool {
        self.entries[id.0 as usize].positive
    }

    /// What a leaf is.
    pub fn leaf(&self, leaf: u32) -> &Leaf {
        &self.leaves[leaf as usize]
    }

    /// A value that is read as it is, of these extents, at each place. Dimensions of extent 1 are no slots.
    pub fn leaf_use(&mut self, leaf: Leaf, extents: &[Size]) -> Use {
        let number = *self.leaf_numbers.entry(leaf).or_insert_with_key(|leaf| {
            self.leaves.push(leaf.clone());
            self.leaves.len() as u32 - 1
        });
        let long = extents.iter().enumerate().filter(|(_, extent)| !extent.is_one());
        let (map, sizes): (Map, SmallVec<[Size; 4]>) =
            long.map(|(n, extent)| (at(n), extent.clone())).unzip();
        Use { id: self.insert(Node::Leaf(number), sizes, Vec::new()), map }
    }

    /// The number of a place that is read as it is.
    pub(crate) fn bare_place(&mut self, index: Index) -> Use {
        let sizes = SmallVec::from_iter([Size::known(ANYWHERE)]);
        Use { id: self.insert(Node::Place, sizes, Vec::new()), map: Map::from_iter([index]) }
    }

    /// A number.
    pub fn number(&mut self, number: Number) -> Use {
        Use { id: self.insert(Node::Number(number), SmallVec::new(), Vec::new()), map: Map::new() }
    }

    /// A rational number.
    pub fn rational(&mut self, number: impl Into<Rational>) -> Use {
        self.number(Number::Finite(number.into()))
    }

    /// The number, if the term is a rational one.
    pub fn as_rational(&self, of: &Use) -> Option<&Rational> {
        match self.node(of.id) {
            Node::Number(Number::Finite(x)) => Some(x),
            _ => None,
        }
    }

    /// The number and the sum that a term is the product of.
    pub fn multiple_of_sum(&self, id: Id) -> Option<(&Rational, &Use)> {
        let Node::Linear(constant, terms) = self.node(id) else { return None };
        let [(by, sum)] = &terms[..] else { return None };
        let is_sum = matches!(self.node(sum.id), Node::Reduce(Reduce::Sum, ..));
        (constant.is_zero() && is_sum).then_some((by, sum))
    }

    /// Whether a term is a sum of several that is no greater than the greatest of them.
    pub fn is_mean(&self, id: Id) -> bool {
        let Node::Linear(constant, terms) = self.node(id) else { return false };
        let numbers = || terms.iter().map(|(c, _)| c).chain((!constant.is_zero()).then_some(constant));
        let greatest = numbers().map(|c| c.clone().abs()).max().unwrap_or_default();
        numbers().count() > 1 && greatest * numbers().count() <= 1
    }

    /// How a reduction puts together what, over which further dimensions: the body lies over those of the term's user and these.
    pub(crate) fn reduction(&self, of: &Use, space: &[Size]) -> Option<(Reduce, Vec<Size>, Use)> {
        let Node::Reduce(kind, over, body) = self.node(of.id) else { return None };
        let behind = (space.len()..space.len() + over.len()).map(at);
        let map: Map = of.map.iter().cloned().chain(behind).collect();
        Some((*kind, over.clone(), self.compose(body, &map, &within(space, over))?))
    }

    /// The dimensions that a value is summed over, and what is summed.
    pub(crate) fn summed(&self, of: &Use, space: &[Size]) -> Option<(Vec<Size>, Use)> {
        let (kind, over, body) = self.reduction(of, space)?;
        (kind == Reduce::Sum).then_some((over, body))
    }

    /// Takes the first of factors that is a sum from them: the dimensions that it is over, and what is summed.
    pub(crate) fn take_sum(
        &self,
        factors: &mut Vec<(Use, Rational)>,
        space: &[Size],
    ) -> Option<(Vec<Size>, Use)> {
        let is_sum = |(x, e): &(Use, Rational)| *e == 1 && self.summed(x, space).is_some();
        let n = factors.iter().position(is_sum)?;
        self.summed(&factors.remove(n).0, space)
    }

    /// A part of a term, read at the places at which the term is read.
    pub fn compose(&self, part: &Use, outer: &Map, space: &[Size]) -> Option<Use> {
        let by = |Axis(n)| outer.get(n as usize).cloned().unwrap_or(Index::ZERO);
        let map = part.map.iter().map(|index| index.substituted(&by, space)).collect::<Option<Map>>()?;
        Some(self.settle(Use { id: part.id, map }))
    }

    /// Of the ways to say the same, which exchanging slots leaves, the least.
    pub(crate) fn settle(&self, of: Use) -> Use {
        let even = self.symmetries(of.id).iter().filter(|s| !s.negative);
        let map = even.map(|s| s.apply(&of.map)).chain([of.map.clone()]).min().unwrap_or_default();
        Use { map, ..of }
    }

    /// The least of all ways to say the same or its negative, where the sign does not count.
    pub(crate) fn settle_even(&self, of: Use) -> Use {
        let all = self.symmetries(of.id).iter();
        let map = all.map(|s| s.apply(&of.map)).chain([of.map.clone()]).min().unwrap_or_default();
        Use { map, ..of }
    }

    /// Interns a node whose children are read at places along outer dimensions of these extents, which the dimensions
    /// that it binds follow.
    pub(crate) fn close(&mut self, node: Node, space: &[Size]) -> Use {
        let key = (node, SmallVec::from(space));
        if let Some(known) = self.closed.get(&key) {
            return known.clone();
        }
        let slots::Closed { node, map, sizes, symmetries } = slots::close(self, key.0.clone(), space);
        let id = self.insert(node, sizes, symmetries);
        let closed = self.settle(Use { id, map });
        self.closed.insert(key, closed.clone());
        closed
    }

    fn insert(&mut self, node: Node, sizes: SmallVec<[Size; 4]>, symmetries: Vec<Symmetry>) -> Id {
        let key = (node, sizes);
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let (node, sizes) = key.clone();
        let digest = slots::digest_of(self, &node, &sizes);
        let (nonnegative, positive) = (self.never_negative(&node), self.always_positive(&node));
        let asked = self.asked_of(&node, sizes.len());
        let functions = self.functions_of(&node);
        let id = Id(self.entries.len() as u32);
        self.entries.push(Entry { node, sizes, digest, symmetries, nonnegative, positive, asked, functions });
        self.ids.insert(key, id);
        id
    }

    fn asked_of(&self, node: &Node, slots: usize) -> u64 {
        let mut asked = 0;
        let mut note = |Axis(n): Axis| asked |= if (n as usize) < slots.min(64) { 1 << n } else { 0 };
        node.tests().iter().for_each(|test| test.index().each_axis(&mut note));
        for child in node.children() {
            for slot in self.asked_slots(child.id) {
                child.map[slot].each_axis(&mut note);
            }
        }
        asked
    }

    /// The slots of whose places something is asked, in the term or in its parts.
    pub(crate) fn asked_slots(&self, id: Id) -> impl Iterator<Item = usize> + use<> {
        let asked = self.entries[id.0 as usize].asked;
        (0..64).filter(move |n| asked >> n & 1 == 1)
    }

    /// The functions in a term, roots, extremes and reductions among them: a bit for some of them each.
    pub(crate) fn functions(&self, id: Id) -> u64 {
        self.entries[id.0 as usize].functions
    }

    fn functions_of(&self, node: &Node) -> u64 {
        let own = match node {
            Node::Apply(Function::Prim(prim), _) => function_bit(*prim),
            Node::Product(factors) if factors.iter().any(|(_, e)| *e.denom() != 1) => {
                function_bit(Prim::Sqrt)
            }
            Node::Max(_) | Node::Reduce(Reduce::Max | Reduce::Min, ..) => function_bit(Prim::Max),
            Node::Reduce(Reduce::Sum, ..) => function_bit(Prim::Add),
            Node::Reduce(Reduce::Prod, ..) => function_bit(Prim::Mul),
            _ => 0,
        };
        node.children().iter().fold(own, |all, part| all | self.functions(part.id))
    }

    fn never_negative(&self, node: &Node) -> bool {
        let all = |parts: &[&Use]| parts.iter().all(|x| self.is_nonnegative(x.id));
        match node {
            Node::Number(Number::Finite(x)) => *x >= 0,
            Node::Number(Number::Infinite { negative }) => !negative,
            Node::Number(Number::Pi | Number::E) | Node::Size(_) => true,
            Node::Linear(constant, terms) => {
                *constant >= 0 && terms.iter().all(|(c, x)| *c > 0 && self.is_nonnegative(x.id))
            }
            Node::Product(factors) => factors.iter().all(|(x, exponent)| {
                is_even(exponent) || *exponent.denom() != 1 || self.is_nonnegative(x.id)
            }),
            Node::Max(parts) => parts.iter().any(|x| self.is_nonnegative(x.id)),
            Node::Apply(Function::Prim(Prim::Exp | Prim::Abs | Prim::Cosh), _) => true,
            Node::Apply(Function::Prim(Prim::Log), _) => self.always_positive(node),
            Node::Apply(Function::Choose, parts) => all(&[&parts[1], &parts[2]]),
            Node::Reduce(Reduce::Sum | Reduce::Prod | Reduce::Max, _, body) => self.is_nonnegative(body.id),
            Node::Where(_, yes, no) => all(&[yes, no]),
            _ => false,
        }
    }

    fn always_positive(&self, node: &Node) -> bool {
        match node {
            Node::Number(Number::Finite(x)) => *x > 0,
            Node::Number(Number::Pi | Number::E) | Node::Size(_) => true,
            Node::Linear(constant, terms) => {
                let some = *constant > 0 || terms.iter().any(|(_, x)| self.is_positive(x.id));
                some && self.never_negative(node)
            }
            Node::Product(factors) => factors.iter().all(|(x, _)| self.is_positive(x.id)),
            Node::Max(parts) => parts.iter().any(|x| self.is_positive(x.id)),
            Node::Apply(Function::Prim(Prim::Exp | Prim::Cosh), _) => true,
            Node::Apply(Function::Prim(Prim::Log), x) => {
                matches!(self.node(x[0].id), Node::Number(Number::Finite(x)) if *x > 1)
            }
            Node::Apply(Function::Choose, parts) => parts[1..].iter().all(|x| self.is_positive(x.id)),
            // Unknown extents are positive.
            Node::Reduce(Reduce::Sum | Reduce::Prod | Reduce::Max, _, body) => self.is_positive(body.id),
            Node::Where(_, yes, no) => self.is_positive(yes.id) && self.is_positive(no.id),
            _ => false,
        }
    }
}

/// The bit of a function; none of those that signs settle.
pub(crate) fn function_bit(prim: Prim) -> u64 {
    match prim {
        Prim::Abs | Prim::Sign => 0,
        _ => 1 << (prim as u32 % u64::BITS),
    }
}

/// The extents of dimensions with those that a node binds behind them.
pub(crate) fn within(space: &[Size], bound: &[Size]) -> Vec<Size> {
    space.iter().chain(bound).cloned().collect()
}

/// The extent of a dimension, if it is one of these.
pub(crate) fn extent_of(space: &[Size], index: &Index) -> Option<Size> {
    index.as_axis().filter(|axis| (axis.0 as usize) < space.len()).map(|axis| space.extent(axis).clone())
}
