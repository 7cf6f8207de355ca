//! Values and the order in which their dimensions lie.
//!
//! A written value keeps its dimensions where its first leaf has them, and its user says what they are called: a transpose
//! of a whole program is no op inside it. What follows from the use alone is left open: whether a reduction keeps the
//! axes that it reduces, whether it is a sum or a mean, and the factor of a value.

use ngc_dialects::structure::product;
use ngc_ir::structure::{Axis, Size};
use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::Reduce;
use rug::Rational;
use smallvec::SmallVec;

use super::Writer;
use crate::form::op_of;
use crate::term::{Id, Map, Node, at};

/// Along each axis of a tensor the dimension that lies there; none where the extent is 1.
pub(super) type Layout = SmallVec<[Option<usize>; 4]>;

/// A value of which some is still open.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// The number 1.
    One,
    Value(Value),
    /// A reduction by number, or the mean in place of its sum.
    Reduced {
        number: usize,
        mean: bool,
    },
    /// One over a value.
    Inverse(Value),
}

/// A value that lies along dimensions. Of a reduction also the axes that it may keep are listed.
#[derive(Clone, Debug)]
pub(super) struct Laid {
    pub held: Held,
    pub dims: Layout,
}

/// A value times a factor.
#[derive(Clone, Debug)]
pub(super) struct Scaled {
    pub factor: Rational,
    pub of: Laid,
}

impl Scaled {
    pub fn number(factor: Rational) -> Scaled {
        Scaled { factor, of: Laid { held: Held::One, dims: Layout::new() } }
    }

    pub fn value((value, dims): (Value, Layout)) -> Scaled {
        Scaled { factor: 1.into(), of: Laid { held: Held::Value(value), dims } }
    }

    pub fn times(mut self, factor: &Rational) -> Scaled {
        self.factor *= factor;
        self
    }
}

/// A reduction that is made where it is used.
pub(super) struct Reduction {
    pub name: String,
    pub operand: Value,
    pub axes: Vec<usize>,
    pub attrs: AttrDict,
    /// The number of elements of a sum.
    pub count: Option<Size>,
    /// Whether as a mean, whether with the reduced axes, and the value.
    made: Vec<(bool, bool, Value)>,
}

/// Dimensions, and the order in which a user would have them.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub sizes: Vec<Size>,
    /// Every dimension once.
    pub order: Layout,
}

impl Frame {
    /// Dimensions in their own order.
    pub fn plain(sizes: &[Size]) -> Frame {
        let order = sizes.iter().enumerate().map(|(n, size)| (!size.is_one()).then_some(n)).collect();
        Frame { sizes: sizes.to_vec(), order }
    }

    /// The slots of a term that is read at places along these dimensions.
    pub fn inside(&self, map: &Map, sizes: &[Size]) -> Frame {
        let slot = |d: usize| map.iter().position(|index| *index == at(d));
        let mut order: Layout = self.order.iter().map(|d| d.and_then(slot)).collect();
        let rest: Vec<usize> = (0..sizes.len()).filter(|n| !order.contains(&Some(*n))).collect();
        order.extend(rest.into_iter().map(Some));
        Frame { sizes: sizes.to_vec(), order }
    }

    /// The dimensions with further ones behind them, which lie where the order has a gap for each, else last.
    pub fn within(&self, over: &[Size]) -> Frame {
        let (mut order, free) = (self.order.clone(), self.sizes.len());
        let bound: Vec<usize> = (free..free + over.len()).collect();
        let gaps: Vec<usize> = (0..order.len()).filter(|&n| order[n].is_none()).collect();
        match gaps.len() == bound.len() {
            true => gaps.into_iter().zip(bound).for_each(|(gap, d)| order[gap] = Some(d)),
            false => order.extend(bound.into_iter().map(Some)),
        }
        Frame { sizes: crate::store::within(&self.sizes, over), order }
    }

    /// The dimensions that places speak of, in a frame of their own, with the names that they have here.
    pub fn restricted(&self, map: &Map) -> (Vec<usize>, Frame) {
        let mentioned = |d: &usize| map.iter().any(|index| index.mentions(Axis(*d as u32)));
        let names: Vec<usize> = (0..self.sizes.len()).filter(mentioned).collect();
        let place = |d: usize| names.iter().position(|name| *name == d);
        let order = self.order.iter().map(|d| d.and_then(place)).collect();
        let sizes = names.iter().map(|&d| self.sizes[d].clone()).collect();
        (names, Frame { sizes, order })
    }

    /// The same dimensions, those of a layout as they lie there.
    pub fn like(&self, layout: &Layout) -> Frame {
        let missing = self.order.iter().flatten().filter(|d| !layout.contains(&Some(**d)));
        let order = missing.map(|d| Some(*d)).chain(layout.iter().copied()).collect();
        Frame { sizes: self.sizes.clone(), order }
    }
}

/// The dimensions of a layout in a given order, with the gaps that broadcasting needs behind the first of them.
pub(super) fn pattern(own: &[Option<usize>], order: &[Option<usize>]) -> Layout {
    let kept = order.iter().map(|d| d.filter(|_| own.contains(d)));
    kept.skip_while(Option::is_none).collect()
}

fn stripped(dims: &[Option<usize>]) -> &[Option<usize>] {
    let lead = dims.iter().take_while(|d| d.is_none()).count();
    &dims[lead..]
}

fn named(dims: &[Option<usize>]) -> Vec<usize> {
    dims.iter().flatten().copied().collect()
}

impl Writer<'_, '_> {
    /// A reduction that is made once somebody uses it.
    pub(super) fn reduced(
        &mut self,
        name: &str,
        attrs: AttrDict,
        operand: (Value, Layout),
        axes: Vec<usize>,
        count: Option<Size>,
    ) -> Laid {
        let (operand, mut dims) = operand;
        axes.iter().for_each(|&axis| dims[axis] = None);
        let made = Vec::new();
        self.reductions.push(Reduction { name: name.into(), operand, axes, attrs, count, made });
        Laid { held: Held::Reduced { number: self.reductions.len() - 1, mean: false }, dims }
    }

    /// A value that is there as the sum over dimensions of which the number of elements is unknown: divided by that number it
    /// is a mean, which has to be made of what is summed.
    pub(super) fn sum_of_open_extent(&mut self, id: Id, value: Value, dims: &Layout) -> Option<Laid> {
        let Node::Reduce(Reduce::Sum, over, _) = self.store.node(id) else { return None };
        let count = product(over).filter(|count| count.number().is_none())?;
        let body = &*self.builder.body;
        let op = body.defining_op(value).filter(|&op| body.name(op) == op_of(Reduce::Sum))?;
        let (operand, mut attrs) = (body.operands(op)[0], body.op(op).attrs.clone());
        let rank = body.ty(operand).shape()?.len();
        let axes = match attrs.get("axes") {
            Some(axes) => {
                axes.as_ints()?.into_iter().map(|axis| axis.rem_euclid(rank as i64) as usize).collect()
            }
            None => Vec::from_iter(0..rank),
        };
        let kept = attrs.get("keepdims").and_then(Attr::as_bool) == Some(true);
        let mut own = dims.iter().copied();
        let mut dim = |n: usize| if kept || !axes.contains(&n) { own.next().flatten() } else { None };
        let dims = (0..rank).map(&mut dim).collect();
        attrs.remove("axes");
        attrs.remove("keepdims");
        let sum = self.reduced(op_of(Reduce::Sum), attrs, (operand, dims), axes, Some(count));
        self.reductions.last_mut()?.made.push((false, kept, value));
        Some(sum)
    }

    /// The number of elements of a sum that may become a mean.
    pub(super) fn count(&self, held: &Held) -> Option<&Size> {
        match held {
            Held::Reduced { number, mean: false } => self.reductions[*number].count.as_ref(),
            _ => None,
        }
    }

    /// The ops that it takes to multiply what is held by a factor, up to its sign.
    pub(super) fn work(&self, held: &Held, factor: &Rational) -> usize {
        let size = factor.clone().abs();
        let is_mean = || Some(self.count(held)?.number()? * size.clone() == 1);
        match held {
            Held::One => 0,
            Held::Inverse(_) => usize::from(!self.holds(&size)),
            _ if size == 1 || is_mean() == Some(true) => 0,
            _ if self.holds(&size) || self.holds(&size.clone().recip()) => 1,
            _ => 2,
        }
    }

    /// A value times its factor; a reduction keeps its axes where they fit the order.
    pub(super) fn settled(&mut self, x: &Scaled, order: &[Option<usize>]) -> Result<(Value, Layout), String> {
        let dims = x.of.dims.clone();
        let factor = &x.factor;
        match x.of.held {
            Held::One => Ok((self.rational(factor)?, Layout::new())),
            Held::Inverse(of) if *factor == 1 => Ok((self.op("ng.reciprocal", &[of])?, dims)),
            Held::Inverse(of) => {
                let factor = self.rational(factor)?;
                Ok((self.op("ng.div", &[factor, of])?, dims))
            }
            Held::Value(value) => Ok((self.multiplied(value, factor)?, dims)),
            Held::Reduced { number, mean } => {
                let count = self.count(&x.of.held).and_then(Size::number);
                let whole = count.map(|n| Rational::from(factor * n));
                // A mean where that takes the factor, or leaves one that the format holds.
                let by_count =
                    whole.filter(|w| w.clone().abs() == 1 || (!self.holds(factor) && self.holds(w)));
                let factor = by_count.as_ref().unwrap_or(factor);
                let axes = &self.reductions[number].axes;
                let stays = |n: &usize| !axes.contains(n);
                let dropped: Layout = (0..dims.len()).filter(stays).map(|n| dims[n]).collect();
                let fits = |dims: &Layout| *stripped(dims) == pattern(dims, order)[..];
                let kept = dims[..] == *order || (fits(&dims) && !fits(&dropped));
                let value = self.reduction(number, mean || by_count.is_some(), kept)?;
                let dims = if kept { dims } else { dropped };
                Ok((self.multiplied(value, factor)?, dims))
            }
        }
    }

    fn reduction(&mut self, number: usize, mean: bool, kept: bool) -> Result<Value, String> {
        let Reduction { name, operand, axes, attrs, made, .. } = &self.reductions[number];
        let places = Attr::ints(axes.iter().map(|&axis| axis as i64));
        if let Some((_, own, value)) =
            made.iter().find(|m| (m.0, m.1) == (mean, kept)).or(made.iter().find(|m| m.0 == mean))
        {
            let value = *value;
            return match (*own, kept) {
                (true, false) => self.with("ng.squeeze", &[value], [("axes", places)]),
                (false, true) => self.with("ng.unsqueeze", &[value], [("axes", places)]),
                _ => Ok(value),
            };
        }
        let name = if mean { "ng.reduce_mean".to_string() } else { name.clone() };
        let mut attrs = attrs.clone();
        attrs.set("axes", places);
        if kept {
            attrs.set("keepdims", Attr::Bool(true));
        }
        let value = self.with(&name, &[*operand], attrs)?;
        self.reductions[number].made.push((mean, kept, value));
        Ok(value)
    }

    fn multiplied(&mut self, value: Value, factor: &Rational) -> Result<Value, String> {
        if *factor == 1 {
            return Ok(value);
        }
        if *factor == -1 {
            return self.op("ng.neg", &[value]);
        }
        let inverse = Rational::from(factor.recip_ref());
        if !self.holds(factor) && self.holds(&inverse) {
            let inverse = self.rational(&inverse)?;
            return self.op("ng.div", &[value, inverse]);
        }
        let factor = self.rational(factor)?;
        self.op("ng.mul", &[value, factor])
    }

    /// A function of corresponding elements.
    pub(super) fn pointwise(
        &mut self,
        name: &str,
        attrs: impl Into<AttrDict>,
        parts: &[(Value, Layout)],
        order: &[Option<usize>],
    ) -> Result<(Value, Layout), String> {
        if let [(value, dims)] = parts {
            return Ok((self.with(name, &[*value], attrs)?, dims.clone()));
        }
        let common = common(parts, order);
        let mut values = Vec::new();
        let mut dims = Layout::new();
        for (value, own) in parts {
            let (value, own) = self.fitted(*value, own, &common)?;
            values.push(value);
            let lead = own.len().saturating_sub(dims.len());
            dims.insert_many(0, std::iter::repeat_n(None, lead));
            let start = dims.len() - own.len();
            for (known, new) in dims[start..].iter_mut().zip(own) {
                *known = known.or(new);
            }
        }
        Ok((self.with(name, &values, attrs)?, dims))
    }

    /// A value whose dimensions lie so that broadcasting puts them where a layout has them.
    pub(super) fn fitted(
        &mut self,
        value: Value,
        dims: &Layout,
        layout: &[Option<usize>],
    ) -> Result<(Value, Layout), String> {
        let wanted = pattern(dims, layout);
        self.arranged(value, dims, &wanted, layout.len() - wanted.len())
    }

    /// A value with just these dimensions and gaps, and at most so many gaps in front.
    pub(super) fn arranged(
        &mut self,
        value: Value,
        dims: &Layout,
        wanted: &Layout,
        front: usize,
    ) -> Result<(Value, Layout), String> {
        let (value, dims) = self.turned(value, dims, wanted)?;
        let (mut dropped, mut inserted, mut kept) = (Vec::new(), Vec::new(), Layout::new());
        let mut have = dims.iter().copied().enumerate().peekable();
        let lead = stripped(wanted).len() == wanted.len();
        if lead {
            // Gaps in front do no harm where there is room.
            let gaps = dims.iter().take_while(|d| d.is_none()).count().min(front);
            (0..gaps).for_each(|_| _ = have.next());
            kept.extend(std::iter::repeat_n(None, gaps));
        }
        for want in wanted {
            if want.is_some() {
                while let Some((n, None)) = have.peek() {
                    dropped.push(*n as i64);
                    have.next();
                }
            }
            match (want, have.peek()) {
                (None, Some((_, None))) | (Some(_), Some(_)) => _ = have.next(),
                _ => inserted.push(kept.len() as i64),
            }
            kept.push(*want);
        }
        dropped.extend(have.map(|(n, _)| n as i64));
        let value = match dropped.is_empty() {
            true => value,
            false => self.with("ng.squeeze", &[value], [("axes", Attr::ints(dropped))])?,
        };
        let value = match inserted.is_empty() {
            true => value,
            false => self.with("ng.unsqueeze", &[value], [("axes", Attr::ints(inserted))])?,
        };
        Ok((value, kept))
    }

    /// A value with its dimensions in the order of a layout, gaps where that has some as far as there are any.
    fn turned(&mut self, value: Value, dims: &Layout, wanted: &Layout) -> Result<(Value, Layout), String> {
        if named(dims) == named(wanted) {
            return Ok((value, dims.clone()));
        }
        let mut gaps: Vec<usize> = (0..dims.len()).filter(|&n| dims[n].is_none()).collect();
        let mut permutation = Vec::new();
        for want in wanted.iter().rev() {
            let axis = match want {
                Some(_) => dims.iter().position(|d| d == want),
                None => gaps.pop(),
            };
            permutation.extend(axis);
        }
        permutation.extend(gaps.into_iter().rev());
        permutation.reverse();
        let dims = permutation.iter().map(|&n| dims[n]).collect();
        let permutation = Attr::ints(permutation.into_iter().map(|n| n as i64));
        Ok((self.with("ng.transpose", &[value], [("permutation", permutation)])?, dims))
    }
}

/// The layout that the fewest parts must be moved for: that of a part which has all dimensions, or else the given order.
pub(super) fn common(parts: &[(Value, Layout)], order: &[Option<usize>]) -> Layout {
    let all: Vec<Option<usize>> = parts.iter().flat_map(|(_, dims)| dims.iter().copied()).collect();
    let complete = |dims: &&Layout| all.iter().all(|d| d.is_none() || dims.contains(d));
    let moved = |layout: &Layout| {
        let fits = |dims: &Layout| {
            let wanted = pattern(dims, layout);
            stripped(dims) == &wanted[..] && dims.len() <= layout.len()
        };
        parts.iter().filter(|(_, dims)| !fits(dims)).count()
    };
    let whole = parts.iter().map(|(_, dims)| dims).filter(complete);
    let best = whole.min_by_key(|dims| (moved(dims), stripped(dims) != &pattern(dims, order)[..]));
    best.cloned().unwrap_or_else(|| pattern(&all, order))
}
