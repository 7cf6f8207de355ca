//! The dimensions of a term: which it has, and in which order.
//!
//! A node is made of parts that are read at places along the dimensions of whoever makes it. Every place that is read at
//! becomes a slot of the node, whatever it is called outside, so that a term knows nothing of how its values were moved.
//! The order of slots depends on how they are used: slots are told apart by colours that are refined until they stay
//! (as for isomorphism of graphs), and where that leaves a choice the least of all ways to write the node is taken. What
//! is then still equal is a symmetry of the node.

use std::collections::BTreeMap;

use ngc_ir::structure::{Axis, Index, Size, Test};
use rug::Rational;
use smallvec::SmallVec;

use crate::normal::choose::unsigned;
use crate::store::{ANYWHERE, Store, digest, extent_of};
use crate::term::{Map, Node, Use, at};

/// Ways to write a node that are compared; beyond, slots stay in the order in which they were met.
const MOST_WAYS: usize = 720;

/// An exchange of slots that leaves a node as it is, or makes it its negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// The slot whose place each slot takes.
    pub slots: SmallVec<[u32; 4]>,
    /// Whether the node becomes its negative.
    pub negative: bool,
}

impl Symmetry {
    /// The places along the slots, exchanged.
    pub fn apply(&self, map: &Map) -> Map {
        self.slots.iter().map(|&slot| map[slot as usize].clone()).collect()
    }
}

/// A node over slots of its own.
pub struct Closed {
    pub node: Node,
    /// The place along each slot.
    pub map: Map,
    pub sizes: SmallVec<[Size; 4]>,
    pub symmetries: Vec<Symmetry>,
}

/// What a node is, whatever its parts are called in the store.
pub fn digest_of(store: &Store, node: &Node, sizes: &[Size]) -> u128 {
    let children: Vec<(u128, &Map)> = node.children().iter().map(|x| (store.digest(x.id), &x.map)).collect();
    digest(&(head(node), sizes, children, coefficients(node), node.tests(), node.bound()))
}

/// What kind of node it is.
fn head(node: &Node) -> u128 {
    match node {
        Node::Number(number) => digest(&(0, number)),
        Node::Size(size) => digest(&(1, size)),
        Node::Place => 2,
        Node::Leaf(leaf) => digest(&(3, leaf)),
        Node::Linear(constant, _) => digest(&(4, constant)),
        Node::Product(_) => 5,
        Node::Max(_) => 6,
        Node::Apply(function, _) => digest(&(7, function)),
        Node::Reduce(kind, ..) => digest(&(8, kind)),
        Node::Holds(_) => 9,
        Node::Where(..) => 10,
    }
}

/// Whether two nodes differ in more than their children.
pub fn differ_in_head(a: &Node, b: &Node) -> bool {
    (head(a), a.bound(), a.children().len()) != (head(b), b.bound(), b.children().len())
}

/// A factor or an exponent beside each child.
pub fn coefficients(node: &Node) -> SmallVec<[Rational; 4]> {
    match node {
        Node::Linear(_, terms) => terms.iter().map(|(c, _)| c.clone()).collect(),
        Node::Product(factors) => factors.iter().map(|(_, e)| e.clone()).collect(),
        _ => SmallVec::new(),
    }
}

/// Gives a node slots for the places at which its children are read along dimensions of these extents.
pub fn close(store: &Store, mut node: Node, space: &[Size]) -> Closed {
    let mut atoms = Atoms::default();
    let (free, bound) = (space.len(), node.bound().to_vec());
    // While slots are collected, bound dimensions have numbers that no slot has.
    let in_node = |index: &Index, atoms: &mut Atoms| -> Index {
        let binds = |part: &Index| {
            let mut inner = false;
            part.each_axis(&mut |axis| inner |= axis.0 as usize >= free);
            inner
        };
        let (inner, outer) = index.partition(binds);
        let rename = |Axis(n)| Axis(if n as usize >= free { BOUND + n - free as u32 } else { n });
        let mut mixed = false;
        inner.each_axis(&mut |axis| mixed |= (axis.0 as usize) < free);
        if mixed {
            // A digit of a sum of both kinds: its own dimensions are slots.
            let mut names = BTreeMap::new();
            index.each_axis(&mut |axis| {
                let inner = axis.0 as usize >= free;
                let name = if inner { rename(axis) } else { Axis(atoms.slot(&Index::axis(axis)) as u32) };
                names.insert(axis, name);
            });
            return index.renamed(&|axis| names[&axis]);
        }
        let inner = inner.renamed(&rename);
        match inner == Index::ZERO || outer != Index::ZERO {
            true => at(atoms.slot(&outer)).plus(&inner).unwrap_or_else(|| at(atoms.slot(index))),
            false => inner,
        }
    };
    for child in node.children_mut() {
        for index in &mut child.map {
            *index = in_node(index, &mut atoms);
        }
    }
    let guarded = matches!(node, Node::Where(..));
    for test in node.tests_mut() {
        *test = test.of(split(test.index(), &mut atoms));
    }
    // A place is as far along as all that are read there reach. Behind a test nothing is read where it fails: there only
    // what is read everywhere counts.
    let mut sizes: Vec<Option<Size>> = vec![None; atoms.places.len()];
    let mut beyond = vec![false; atoms.places.len()];
    for child in node.children() {
        for (index, size) in child.map.iter().zip(store.sizes(child.id)) {
            let Some(Axis(slot)) = index.as_axis().filter(|axis| axis.0 < BOUND) else { continue };
            let (slot, known) = (slot as usize, &mut sizes[slot as usize]);
            beyond[slot] |= guarded && !is_inside(&atoms.places[slot], size, space);
            let lesser = known.as_ref().is_none_or(|known| size.is_at_most(known));
            if lesser {
                *known = Some(size.clone());
            }
        }
    }
    for (size, _) in sizes.iter_mut().zip(beyond).filter(|(_, beyond)| *beyond) {
        *size = None;
    }
    let sizes: SmallVec<[Size; 4]> = sizes
        .into_iter()
        .zip(&atoms.places)
        .map(|(size, place)| size.or_else(|| extent_of(space, place)).unwrap_or(Size::known(ANYWHERE)))
        .collect();
    order(store, node, atoms.places, sizes, bound)
}

/// Numbers of bound dimensions before slots are known.
const BOUND: u32 = 1 << 20;

/// The places that become slots.
#[derive(Default)]
struct Atoms {
    places: Vec<Index>,
}

impl Atoms {
    fn slot(&mut self, place: &Index) -> usize {
        self.places.iter().position(|known| known == place).unwrap_or_else(|| {
            self.places.push(place.clone());
            self.places.len() - 1
        })
    }

    /// A digit by the slot of itself, or else by that of the nearest place that is the digit and a number, or a number less the
    /// digit.
    fn shifted(&mut self, digit: &Index) -> Index {
        let apart = |(slot, place): (usize, &Index)| {
            let [forwards, turned] = [-1, 1].map(|sign| place.plus(&digit.scaled(sign)?)?.as_number());
            forwards.map(|number| (false, number, slot)).or_else(|| Some((true, turned?, slot)))
        };
        let found = self.places.iter().enumerate().filter_map(apart);
        let nearest = found.min_by_key(|(turned, n, _)| (*turned, *n != 0, *n));
        let by = nearest.and_then(|(turned, number, slot)| match turned {
            false => at(slot).plus(&Index::number(number.checked_neg()?)),
            true => at(slot).scaled(-1)?.plus(&Index::number(number)),
        });
        by.unwrap_or_else(|| at(self.slot(digit)))
    }
}

/// Whether every place is one of the first so many.
pub fn is_inside(place: &Index, size: &Size, space: &[Size]) -> bool {
    place.is_below(size, space) && place.range(space).is_some_and(|(low, _)| low >= 0)
}

/// A test's index over slots: those of the places that are read, and one for each of its summands that is none of them.
fn split(index: &Index, atoms: &mut Atoms) -> Index {
    let mut sum = Index::ZERO;
    for (factor, size, digit) in index.summands() {
        let part = digit.map_or(Index::number(1), |digit| atoms.shifted(&digit));
        let scaled = part.times(&size).and_then(|part| part.scaled(factor));
        let Some(total) = scaled.and_then(|part| sum.plus(&part)) else { return index.clone() };
        sum = total;
    }
    sum
}

/// The order of slots and of bound dimensions.
fn order(
    store: &Store,
    node: Node,
    places: Vec<Index>,
    sizes: SmallVec<[Size; 4]>,
    bound: Vec<Size>,
) -> Closed {
    let free = places.len();
    // From here on bound dimensions follow the slots.
    let mut node = node;
    let follow = |Axis(n)| Axis(if n >= BOUND { n - BOUND + free as u32 } else { n });
    for child in node.children_mut() {
        child.map.iter_mut().for_each(|index| *index = index.renamed(&follow));
    }
    let extents: Vec<Size> = sizes.iter().chain(&bound).cloned().collect();
    let colours = colours(store, &node, &extents, free);
    let mut classes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (dimension, &colour) in colours.iter().enumerate() {
        classes.entry(colour).or_default().push(dimension);
    }
    let classes: Vec<Vec<usize>> = classes.into_values().collect();
    let ways = orders(&classes);
    let written = |order: &[usize]| Written::new(store, &node, &extents, order, free);
    let mut best: Option<(Written, Vec<usize>)> = None;
    let mut alike: Vec<Vec<usize>> = Vec::new();
    for order in ways {
        let way = written(&order);
        match best.as_ref().map(|(known, _)| way.cmp(known)) {
            Some(std::cmp::Ordering::Greater) => {}
            Some(std::cmp::Ordering::Equal) => alike.push(order),
            _ => {
                alike.clear();
                best = Some((way, order));
            }
        }
    }
    let Some((best, order)) = best else { unreachable!("there is at least one order") };
    let mut symmetries: Vec<Symmetry> = Vec::new();
    let mut note = |other: &[usize], negative| {
        // The place that a slot of the chosen order has in the other one.
        let slots: SmallVec<[u32; 4]> = (0..free)
            .map(|slot| order.iter().position(|&d| d == other[slot]).unwrap_or(slot) as u32)
            .collect();
        let moves = slots.iter().enumerate().any(|(n, &slot)| n as u32 != slot);
        if moves && !symmetries.iter().any(|s| s.slots == slots) {
            symmetries.push(Symmetry { slots, negative });
        }
    };
    for other in &alike {
        note(other, false);
    }
    if let Node::Linear(constant, _) = &node
        && constant.is_zero()
        && classes.iter().any(|class| class.len() > 1)
    {
        let negative = negated(&node);
        for order in orders(&classes) {
            if Written::new(store, &negative, &extents, &order, free) == best {
                note(&order, true);
            }
        }
    }
    let map = order[..free].iter().map(|&slot| places[slot].clone()).collect();
    let sizes = order[..free].iter().map(|&slot| extents[slot].clone()).collect();
    Closed { node: best.into_node(&node), map, sizes, symmetries }
}

fn negated(node: &Node) -> Node {
    match node {
        Node::Linear(constant, terms) => Node::Linear(
            Rational::from(-constant),
            terms.iter().map(|(c, x)| (Rational::from(-c), x.clone())).collect(),
        ),
        other => other.clone(),
    }
}

/// Colours of dimensions: equal ones are used alike, as far as refinement can tell. Slots come before bound ones.
fn colours(store: &Store, node: &Node, extents: &[Size], free: usize) -> Vec<usize> {
    let mut colours: Vec<usize> =
        ranks(extents.iter().enumerate().map(|(n, e)| (n >= free, digest(e))).collect());
    let differ = |colours: &[usize]| (0..extents.len()).all(|n| colours.contains(&n));
    if differ(&colours) {
        return colours;
    }
    // A sum and its negative have the same colours: exchanging slots may make one of the other.
    let coefficients: Vec<Rational> = match node {
        Node::Linear(..) => coefficients(node).into_iter().map(Rational::abs).collect(),
        _ => coefficients(node).into_vec(),
    };
    let ordered = !node.is_commutative();
    for _ in 0..extents.len() {
        let seen: Vec<(usize, u128)> = (0..extents.len())
            .map(|dimension| {
                let mut uses: Vec<u128> = Vec::new();
                let painted = |index: &Index| {
                    index.renamed(&|Axis(n)| {
                        Axis(if n as usize == dimension { u32::MAX } else { colours[n as usize] as u32 })
                    })
                };
                let mine = Axis(dimension as u32);
                for (n, child) in node.children().iter().enumerate() {
                    let orbit = |slot: usize| {
                        let images = store.symmetries(child.id).iter().map(|s| s.slots[slot] as usize);
                        images.chain([slot]).min().unwrap_or(slot)
                    };
                    for (slot, index) in
                        child.map.iter().enumerate().filter(|(_, index)| index.mentions(mine))
                    {
                        let role = if ordered { n } else { 0 };
                        let beside = coefficients.get(n);
                        uses.push(digest(&(
                            store.digest(child.id),
                            beside,
                            role,
                            orbit(slot),
                            painted(index),
                        )));
                    }
                }
                for test in node.tests().iter().filter(|test| test.index().mentions(mine)) {
                    uses.push(digest(&unsigned(test.of(painted(test.index())))));
                }
                uses.sort_unstable();
                (colours[dimension], digest(&uses))
            })
            .collect();
        let finer = ranks(seen);
        if finer == colours || differ(&finer) {
            return finer;
        }
        colours = finer;
    }
    colours
}

fn ranks<T: Ord + Clone>(keys: Vec<T>) -> Vec<usize> {
    let mut sorted = keys.clone();
    sorted.sort();
    sorted.dedup();
    keys.iter().map(|key| sorted.binary_search(key).unwrap_or(0)).collect()
}

/// All orders that keep the order of classes; the given one alone where these are too many.
fn orders(classes: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let count = classes.iter().try_fold(1usize, |n, class| {
        let factorial = (1..=class.len()).try_fold(1usize, usize::checked_mul)?;
        n.checked_mul(factorial)
    });
    if count.is_none_or(|n| n > MOST_WAYS) {
        return vec![classes.concat()];
    }
    classes.iter().fold(vec![Vec::new()], |orders, class| {
        let ways = permutations(class);
        orders.iter().flat_map(|order| ways.iter().map(move |way| [&order[..], way].concat())).collect()
    })
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.len() < 2 {
        return vec![of.to_vec()];
    }
    let mut all = Vec::new();
    for (n, &first) in of.iter().enumerate() {
        let rest: Vec<usize> = of.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, &x)| x).collect();
        all.extend(permutations(&rest).into_iter().map(|order| [&[first][..], &order].concat()));
    }
    all
}

/// A node written in an order of dimensions, to be compared with other ways to write it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    children: Vec<(u128, Map, Option<Rational>, Use)>,
    tests: Vec<Test>,
    bound: Vec<Size>,
}

impl Written {
    fn new(store: &Store, node: &Node, extents: &[Size], order: &[usize], free: usize) -> Written {
        let mut places = vec![0u32; order.len()];
        for (place, &dimension) in order.iter().enumerate() {
            places[dimension] = place as u32;
        }
        let rename = |Axis(n)| Axis(places[n as usize]);
        let coefficients = coefficients(node);
        let child = |(n, x): (usize, &&Use)| {
            let map = x.map.iter().map(|index| index.renamed(&rename)).collect();
            let placed = Use { id: x.id, map };
            let settled = match node.is_even_in(n) {
                true => store.settle_even(placed),
                false => store.settle(placed),
            };
            (store.digest(x.id), settled.map.clone(), coefficients.get(n).cloned(), settled)
        };
        let mut children: Vec<_> = node.children().iter().enumerate().map(child).collect();
        if node.is_commutative() {
            children.sort();
        }
        let mut tests: Vec<Test> =
            node.tests().iter().map(|test| unsigned(test.of(test.index().renamed(&rename)))).collect();
        tests.sort();
        tests.dedup();
        let bound = order[free..].iter().map(|&dimension| extents[dimension].clone()).collect();
        Written { children, tests, bound }
    }

    fn into_node(self, like: &Node) -> Node {
        let Written { children, tests, bound } = self;
        let mut uses = children.iter().map(|(.., x)| x.clone());
        let pairs = || children.iter().map(|(_, _, c, x)| (c.clone().unwrap_or_default(), x.clone()));
        match like {
            Node::Linear(constant, _) => Node::Linear(constant.clone(), pairs().collect()),
            Node::Product(_) => Node::Product(pairs().map(|(e, x)| (x, e)).collect()),
            Node::Max(_) => Node::Max(uses.collect()),
            Node::Apply(function, _) => Node::Apply(*function, uses.collect()),
            Node::Reduce(kind, ..) => match uses.next() {
                Some(body) => Node::Reduce(*kind, bound, body),
                None => like.clone(),
            },
            Node::Holds(_) => Node::Holds(tests),
            Node::Where(..) => match (uses.next(), uses.next()) {
                (Some(yes), Some(no)) => Node::Where(tests, yes, no),
                _ => like.clone(),
            },
            other => other.clone(),
        }
    }
}
