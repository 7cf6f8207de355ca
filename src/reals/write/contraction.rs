//! Sums of products as matrix products.

use ngc_ir::structure::{Axis, Test};
use ngc_ir::{Attr, Value};
use rug::Rational;

use super::Writer;
use super::laid::{Frame, Laid, Layout, Scaled};
use super::number::extent;
use crate::form::Form;
use crate::term::{Node, Use, at};

/// Products of more factors are not parted in two.
const MOST_FACTORS: usize = 6;

/// How the operands of a matrix product lie, and its result.
struct Product {
    left: Layout,
    right: Layout,
    result: Layout,
}

impl Writer<'_, '_> {
    /// The sum of a product over the dimensions behind those of a frame, if it is a matrix product: each side must have a
    /// dimension that the other lacks, or one of them be a vector. One side is multiplied by a number first, if there is one.
    pub(super) fn contraction(
        &mut self,
        (body, by): (&Use, Option<&Rational>),
        frame: &Frame,
        inner: &Frame,
    ) -> Result<Option<Scaled>, String> {
        if self.values.contains_key(&body.id) || !matches!((self.forms)(body.id), Form::Plain) {
            return Ok(None);
        }
        // Where a mask is closed the product is 0, and so is the side that the mask speaks of.
        let (tests, body) = match self.store.parted(body, &inner.sizes) {
            Some((tests, yes, no)) if self.store.as_rational(&no).is_some_and(|x| x.is_zero()) => {
                (tests, yes)
            }
            Some(_) => return Ok(None),
            None => (Vec::new(), body.clone()),
        };
        let Node::Product(factors) = self.store.node(body.id) else { return Ok(None) };
        let place =
            |(x, e): &(Use, Rational)| Some((self.store.compose(x, &body.map, &inner.sizes)?, e.clone()));
        let Some(factors) = factors.iter().map(place).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let asked = |d: &usize| tests.iter().any(|test| test.index().mentions(Axis(*d as u32)));
        let mask: Vec<usize> = (0..inner.sizes.len()).filter(asked).collect();
        let Some((left, right)) = parted(&factors, &mask, frame.sizes.len(), inner) else {
            return Ok(None);
        };
        let masked = |side: &Factors| mask.iter().all(|d| dims(side, inner.sizes.len()).contains(d));
        let (first, second) = match masked(&left) {
            true => (&tests[..], &[][..]),
            false => (&[][..], &tests[..]),
        };
        let left = self.factors(&left, first, inner)?;
        let right = self.factors(&right, second, inner)?;
        let mut factor = Rational::from(&left.factor * &right.factor);
        let one = |x: Scaled| Scaled { factor: 1.into(), of: x.of };
        let mut left = one(left);
        if let Some(by) = by {
            left = left.times(&(std::mem::replace(&mut factor, Rational::from(1)) * by));
        }
        let a = self.settled(&left, &inner.order)?;
        let b = self.settled(&one(right), &inner.order)?;
        let bound: Vec<usize> = (frame.sizes.len()..inner.sizes.len()).collect();
        let ways = [(&a, &b), (&b, &a)].map(|(l, r)| (l, r, product(&l.1, &r.1, &bound)));
        let turns = |own: &Layout, wanted: &Layout| {
            let kept = |dims: &Layout| dims.iter().flatten().copied().collect::<Vec<_>>();
            usize::from(kept(own) != kept(wanted))
        };
        let cost = |(l, r, way): &&(&(Value, Layout), &(Value, Layout), Product)| {
            let wanted = super::laid::pattern(&way.result, &frame.order);
            turns(&l.1, &way.left) + turns(&r.1, &way.right) + turns(&way.result, &wanted)
        };
        let Some((l, r, way)) = ways.iter().min_by_key(cost) else { return Ok(None) };
        let left = self.side(l, &way.left, &bound, inner)?;
        let right = self.side(r, &way.right, &bound, inner)?;
        let value = self.op("ng.matmul", &[left, right])?;
        let rank = self.builder.ty(value).shape().unwrap_or_default().len();
        let dims = way.result[way.result.len() - rank..].iter().copied().collect();
        Ok(Some(Scaled { factor, of: Laid { held: super::Held::Value(value), dims } }))
    }

    /// The product of the factors of one side, 0 where a test fails; it lies without gaps for the dimensions of the other.
    fn factors(&mut self, side: &Factors, tests: &[Test], inner: &Frame) -> Result<Scaled, String> {
        let own = dims(side, inner.sizes.len());
        let named = inner.order.iter().copied().filter(|d| d.is_some_and(|d| own.contains(&d)));
        let frame = inner.like(&named.collect());
        let product = self.product_of(side, &frame, true)?;
        if tests.is_empty() {
            return Ok(product);
        }
        let places = (0..inner.sizes.len()).map(at).collect();
        let holds = self.tests(tests, &places, &frame)?;
        self.chosen(&[holds, product, Scaled::number(Rational::new())], &frame.order)
    }

    /// An operand of a matrix product: what is contracted is one dimension.
    fn side(
        &mut self,
        (value, dims): &(Value, Layout),
        wanted: &Layout,
        bound: &[usize],
        inner: &Frame,
    ) -> Result<Value, String> {
        let wanted: Layout = wanted.iter().copied().skip_while(Option::is_none).collect();
        let (value, dims) = self.arranged(*value, dims, &wanted, 0)?;
        if bound.len() < 2 {
            return Ok(value);
        }
        let mut shape: Vec<i64> = Vec::new();
        let mut inside = false;
        for d in &dims {
            let n = d.map_or(Ok(1), |d| extent(&inner.sizes[d]))?;
            let contracted = d.is_some_and(|d| bound.contains(&d));
            match shape.last_mut() {
                Some(last) if inside && contracted => *last *= n,
                _ => shape.push(n),
            }
            inside = contracted;
        }
        self.with("ng.reshape", &[value], [("shape", Attr::ints(shape))])
    }
}

type Factors = Vec<(Use, Rational)>;

/// The dimensions that factors speak of.
fn dims(side: &Factors, rank: usize) -> Vec<usize> {
    let mentions =
        |d: usize| side.iter().any(|(x, _)| x.map.iter().any(|index| index.mentions(Axis(d as u32))));
    (0..rank).filter(|&d| mentions(d)).collect()
}

/// The factors of each side, as few dimensions as there may be on both together, those of a mask on one of them.
fn parted(factors: &Factors, mask: &[usize], free: usize, inner: &Frame) -> Option<(Factors, Factors)> {
    if !(2..=MOST_FACTORS).contains(&factors.len()) {
        return None;
    }
    let dims = |side: &Factors| -> Vec<usize> {
        let mentions =
            |d: usize| side.iter().any(|(x, _)| x.map.iter().any(|index| index.mentions(Axis(d as u32))));
        (0..inner.sizes.len()).filter(|&d| mentions(d)).collect()
    };
    let bound = inner.sizes.len() - free;
    if bound > 1 && inner.sizes.iter().any(|size| size.number().is_none()) {
        return None;
    }
    let mut best: Option<((usize, usize), (Factors, Factors))> = None;
    for chosen in 1..1usize << (factors.len() - 1) {
        let (left, right): (Vec<_>, Vec<_>) =
            factors.iter().cloned().enumerate().partition(|(n, _)| chosen >> n & 1 == 1);
        let strip =
            |side: Vec<(usize, (Use, Rational))>| side.into_iter().map(|(_, x)| x).collect::<Factors>();
        let (left, right) = (strip(left), strip(right));
        let (a, b) = (dims(&left), dims(&right));
        let all = |side: &[usize]| side.iter().filter(|&&d| d >= free).count() == bound;
        let own = |side: &[usize], other: &[usize]| side.iter().filter(|d| !other.contains(d)).count();
        let vector = |side: &[usize]| bound == 1 && side.len() == 1;
        // Each side has a dimension of its own, or is a vector beside one that has.
        let (m, n) = (own(&a, &b), own(&b, &a));
        let product = m + n > 0 && (m > 0 || vector(&a)) && (n > 0 || vector(&b));
        let masked = |side: &[usize]| mask.iter().all(|d| side.contains(d));
        if !(all(&a) && all(&b) && product && (masked(&a) || masked(&b))) {
            continue;
        }
        // Of equal ways the one that multiplies what is smaller.
        let work = a.len() * (left.len() - 1) + b.len() * (right.len() - 1);
        let cost = (a.len() + b.len(), work);
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, (left, right)));
        }
    }
    best.map(|(_, sides)| sides)
}

/// How a matrix product of two operands that lie like this is made.
fn product(left: &Layout, right: &Layout, bound: &[usize]) -> Product {
    let is_bound = |d: &usize| bound.contains(d);
    let own = |side: &Layout, other: &Layout| -> Vec<usize> {
        side.iter().flatten().copied().filter(|d| !is_bound(d) && !other.contains(&Some(*d))).collect()
    };
    let (mut rows, mut columns) = (own(left, right), own(right, left));
    let batch: Vec<usize> =
        left.iter().flatten().copied().filter(|d| !is_bound(d) && right.contains(&Some(*d))).collect();
    let named = |dims: &[usize]| dims.iter().map(|&d| Some(d)).collect::<Vec<_>>();
    let gaps = |dims: &[usize]| vec![None; dims.len()];
    let contracted = named(bound);
    let (row, column) = (rows.pop(), columns.pop());
    let (last_row, last_column) = (named(row.as_slice()), named(column.as_slice()));
    let lead =
        |first: Vec<Option<usize>>, second: Vec<Option<usize>>| [named(&batch), first, second].concat();
    Product {
        left: [lead(named(&rows), gaps(&columns)), last_row.clone(), contracted.clone()].concat().into(),
        right: [lead(gaps(&rows), named(&columns)), contracted, last_column.clone()].concat().into(),
        result: [lead(named(&rows), named(&columns)), last_row, last_column].concat().into(),
    }
}
