//! What windows that look alike have in common: what is found for one of them holds for all.

use std::sync::Arc;

use ngc_dialects::facts::Signs;
use ngc_ir::{Attr, AttrDict, Dense, Dim, Ident, Type};
use ngc_numerics::{Format, Interval};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::ladder::ORDINARY;

/// Numbers up to this one count for themselves.
const SMALL: i64 = 8;

/// What groups that look alike have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Likeness(Vec<Item>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    Leaf(Type, [u64; 4], bool, Signs, Vec<Option<u32>>),
    Op(Ident, AttrDict, SmallVec<[u32; 4]>, Type),
    Member(u32, Option<Format>),
    Read(u32),
    Apart,
}

impl FromIterator<Item> for Likeness {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Likeness {
        Likeness(items.into_iter().collect())
    }
}

impl Extend<Item> for Likeness {
    fn extend<I: IntoIterator<Item = Item>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl Likeness {
    /// The same of the window alone, whatever is looked at in it.
    pub fn of_window(&self) -> Likeness {
        self.0.iter().filter(|item| !matches!(item, Item::Member(..))).cloned().collect()
    }

    /// Where the values that are looked at stand among those of another group of the same window; nothing where one is not
    /// looked at there.
    pub fn places_in(&self, other: &Likeness) -> Option<Vec<usize>> {
        let place = |member: &Item| other.members().position(|item| item == member);
        self.members().map(place).collect()
    }

    fn members(&self) -> impl Iterator<Item = &Item> {
        self.0.iter().filter(|item| matches!(item, Item::Member(..)))
    }

    /// The same of windows of other extents, that read other places, in another order: a large number counts by which others are
    /// equal to it, an extent by its magnitude as well, and neighbours that an op reads of leaves that are alike count as one.
    /// Where nothing is found for one such window, nothing is looked for in the others.
    pub fn of_any_size(&self) -> Likeness {
        let (mut sizes, mut numbers, mut all) = (Sizes::default(), FxHashMap::default(), Vec::new());
        let types: Vec<Type> = self.0.iter().filter_map(Item::ty).collect();
        for n in self.as_read() {
            let next = numbers.len() as u32;
            numbers.insert(n, next);
            all.push(match &self.0[n as usize] {
                Item::Leaf(ty, ends, stated, signs, names) => {
                    Item::Leaf(sizes.ty(*ty), *ends, *stated, *signs, names.clone())
                }
                Item::Op(name, attrs, operands, ty) => {
                    let read = operands.iter().filter_map(|&n| types[n as usize].shape()).flatten();
                    let extents: Vec<i64> = read.filter_map(|dim| i64::try_from(dim.known()?).ok()).collect();
                    let attrs = attrs.iter().map(|(name, attr)| (*name, sizes.attr(attr, &extents)));
                    let attrs = AttrDict::new(attrs.collect::<Vec<_>>());
                    let operands = operands.iter().filter_map(|n| numbers.get(n).copied());
                    Item::Op(*name, attrs, operands.collect(), sizes.ty(*ty))
                }
                other => other.clone(),
            });
        }
        let mut read = Vec::new();
        for item in &self.0[types.len()..] {
            match item {
                Item::Member(n, format) => all.push(Item::Member(numbers[n], *format)),
                Item::Read(n) => read.push(numbers[n]),
                other => all.push(other.clone()),
            }
        }
        read.sort_unstable();
        all.into_iter().chain(read.into_iter().map(Item::Read)).collect()
    }

    /// The values in the order in which the last one reads them, but for leaves for which a neighbour stands.
    fn as_read(&self) -> Vec<u32> {
        let (repeated, count) = (self.repeated(), self.0.iter().filter_map(Item::ty).count() as u32);
        let mut left: FxHashSet<u32> = (0..count).filter(|n| !repeated.contains(n)).collect();
        let (mut ordered, mut open) = (Vec::new(), (0..count).map(|n| (n, false)).collect::<Vec<_>>());
        while let Some((n, is_read)) = open.pop() {
            if is_read {
                ordered.push(n);
            } else if left.remove(&n) {
                open.push((n, true));
                let operands = self.0[n as usize].operands().unwrap_or_default();
                open.extend(operands.iter().rev().map(|&n| (n, false)));
            }
        }
        ordered
    }

    /// Leaves that are read behind one that is like them but for its extents, wherever that is read.
    fn repeated(&self) -> FxHashSet<u32> {
        let mut places: FxHashMap<u32, Vec<(usize, usize)>> = FxHashMap::default();
        let reads = || self.0.iter().filter_map(Item::operands);
        for (op, operands) in reads().enumerate() {
            for (at, &n) in operands.iter().enumerate() {
                places.entry(n).or_default().push((op, at));
            }
        }
        let mut repeated = FxHashSet::default();
        for pair in reads().flat_map(|operands| operands.windows(2)) {
            let alike = self.0[pair[0] as usize].is_leaf_like(&self.0[pair[1] as usize]);
            let behind = places[&pair[0]].iter().map(|&(op, at)| (op, at + 1));
            if alike && behind.eq(places[&pair[1]].iter().copied()) {
                repeated.insert(pair[1]);
            }
        }
        repeated
    }
}

impl Item {
    /// The type of a value.
    fn ty(&self) -> Option<Type> {
        match self {
            Item::Leaf(ty, ..) | Item::Op(.., ty) => Some(*ty),
            _ => None,
        }
    }

    fn operands(&self) -> Option<&[u32]> {
        match self {
            Item::Op(_, _, operands, _) => Some(operands),
            _ => None,
        }
    }

    /// Whether both are leaves that differ at most in their extents.
    fn is_leaf_like(&self, other: &Item) -> bool {
        let (Item::Leaf(a, ends, stated, signs, names), Item::Leaf(b, b_ends, b_stated, b_signs, b_names)) =
            (self, other)
        else {
            return false;
        };
        let rank = |ty: &Type| ty.as_tensor().map(|tensor| (tensor.shape.len(), tensor.elem));
        rank(a) == rank(b) && (ends, stated, signs, names) == (b_ends, b_stated, b_signs, b_names)
    }
}

/// What stands for the large numbers in a window: small ones count for themselves.
#[derive(Default)]
struct Sizes {
    extents: FxHashMap<i64, i64>,
    /// Numbers in attributes that are no extent.
    places: FxHashMap<i64, i64>,
}

impl Sizes {
    /// So many bits of what stands for an extent are left for its magnitude.
    const MAGNITUDES: u32 = 4;

    fn extent(&mut self, n: i64) -> i64 {
        let next = SMALL + ((self.extents.len() as i64 + 1) << Self::MAGNITUDES);
        let magnitude = i64::from(n.max(1).ilog2() / 5);
        if n <= SMALL { n } else { *self.extents.entry(n).or_insert(next + magnitude) }
    }

    /// A number in an attribute of an op that reads values of these extents: it may be one of them, or its last place.
    fn place(&mut self, n: i64, extents: &[i64]) -> i64 {
        if n <= SMALL || extents.contains(&n) {
            return self.extent(n);
        }
        if n.checked_add(1).is_some_and(|next| extents.contains(&next)) {
            return self.extent(n + 1) - 1;
        }
        let next = -(self.places.len() as i64 + 1) << Self::MAGNITUDES;
        *self.places.entry(n).or_insert(next)
    }

    fn ty(&mut self, ty: Type) -> Type {
        let Some(tensor) = ty.as_tensor() else { return ty };
        let dim = |dim: &Dim| match dim {
            Dim::Static(n) => i64::try_from(*n).map_or(*dim, |n| Dim::Static(self.extent(n) as usize)),
            Dim::Dynamic => Dim::Dynamic,
        };
        Type::tensor(tensor.shape.iter().map(dim).collect::<Vec<_>>(), tensor.elem)
    }

    fn attr(&mut self, attr: &Attr, extents: &[i64]) -> Attr {
        match attr {
            Attr::Int(n, ty) => Attr::Int(self.place(*n, extents), *ty),
            Attr::Array(all) => Attr::Array(all.iter().map(|attr| self.attr(attr, extents)).collect()),
            Attr::Dense(dense) if dense.splat => {
                Attr::Dense(Arc::new(Dense { ty: self.ty(dense.ty), ..(**dense).clone() }))
            }
            other => other.clone(),
        }
    }
}

/// A range with its ends moved outward to few numbers: layers that differ in them alone are alike. What is proven through many
/// layers is far beyond all that occurs: an end that is no ordinary number says nothing.
pub fn coarse(range: Interval) -> Interval {
    // Powers of two, and beyond 16 those whose exponents are powers of two.
    let beyond = |x: f64| match x.log2().ceil() {
        few if few <= 4.0 => few.exp2(),
        many if many > f64::from(ORDINARY) => f64::INFINITY,
        many => many.log2().ceil().exp2().exp2(),
    };
    let end = |x: f64, outward: bool| match x {
        x if x == 0.0 || x.is_infinite() => x,
        x if outward => beyond(x.abs()).copysign(x),
        x => x.abs().log2().floor().exp2().copysign(x),
    };
    Interval { lo: end(range.lo, range.lo < 0.0), hi: end(range.hi, range.hi > 0.0), ..range }
}

/// The same of weights, of which each layer has its own: outward to 1 or a power of 16, for both signs alike if both occur.
pub fn coarser(range: Interval) -> Interval {
    let power = |x: f64, round: fn(f64) -> f64| round(x.abs().log2() / 4.0).exp2().powi(4).copysign(x);
    let end = |x: f64, outward: bool| match x {
        x if x == 0.0 || x.is_infinite() => x,
        x if outward => power(x.abs().max(1.0).copysign(x), f64::ceil),
        x => power(x, f64::floor),
    };
    let (lo, hi) = (end(range.lo, range.lo < 0.0), end(range.hi, range.hi > 0.0));
    let both = lo < 0.0 && hi > 0.0;
    let (lo, hi) = if both { (lo.min(-hi), hi.max(-lo)) } else { (lo, hi) };
    Interval { lo, hi, ..range }
}
