//! Reductions: many elements as one.

use std::borrow::Cow;
use std::rc::Rc;

use ngc_ir::structure::{Element, Size};
use ngc_numerics::binary64::Binary64;
use ngc_numerics::enclosure;
use ngc_numerics::{
    DType, Data, Domain, Enclosure, Evaluator, Format, Prim, Reduce, SumMethod, Tensor, primitives,
};
use rug::Float;
use rug::float::Round;

use super::column::{Arithmetic, Column, at, joint};
use super::graph::Made;
use super::{Elements, Mode, Place, holds, place};

impl Elements<'_> {
    /// The terms in their order, as one.
    pub(super) fn reduce(
        &mut self,
        of: &Made,
        kind: Reduce,
        over: &[Size],
        body: &Element,
        here: &mut Place,
        elem: DType,
    ) -> Option<Rc<Column>> {
        // What is counted is counted exactly, whatever format divides by it.
        let mut reads = false;
        body.each(&mut |part| reads |= matches!(part, Element::Read { .. }));
        let elem = if reads || !elem.is_float() { elem } else { DType::Float(Format::F64) };
        let extents: Option<Vec<usize>> = over.iter().map(|n| usize::try_from(n.number()?).ok()).collect();
        let extents = extents?;
        let count = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent))?;
        self.work = self.work.saturating_add(count);
        if self.work > self.limit {
            return None;
        }
        let (depth, mut terms) = (here.len(), Vec::new());
        for n in 0..count {
            here.truncate(depth);
            here.extend(place(&extents, if of.backwards { count - 1 - n } else { n }));
            match body {
                Element::Where { tests, no, .. }
                    if of.sparse && matches!(**no, Element::Number(_)) && !holds(tests, here)? => {}
                _ => terms.push(self.element(of, body, here, elem)?),
            }
        }
        here.truncate(depth);
        self.work += terms.iter().map(|x| x.len()).sum::<usize>();
        self.arithmetic.reduce(kind, &terms, elem, of.method).map(Rc::new)
    }
}

impl Arithmetic {
    /// Values of a type as one.
    fn reduce(&self, kind: Reduce, terms: &[Rc<Column>], elem: DType, method: SumMethod) -> Option<Column> {
        let points = joint(terms.iter().map(|x| &**x));
        let DType::Float(format) = elem else { return integers(kind, terms, points, elem) };
        if self.mode == Mode::Formats {
            let mut all = Vec::with_capacity(terms.len() * points);
            for term in terms {
                let Column::Floats(v) = &**term else { return None };
                all.extend((0..points).map(|i| *at(v, i)));
            }
            let all = Tensor { dtype: elem, shape: vec![terms.len(), points], data: Data::Float(all) };
            let evaluator = Evaluator::new(ngc_numerics::Mode::Rounded);
            let found = evaluator.reduce(kind, &all, &[0], false, format, method).ok()?;
            return found.as_floats().map(|v| Column::Floats(v.to_vec()));
        }
        if self.mode == Mode::Near {
            let columns: Vec<Cow<'_, [Enclosure<f64>]>> = terms.iter().map(|x| self.near(x)).collect();
            let one = |i: usize| {
                let values: Vec<&Enclosure<f64>> = columns.iter().map(|v| at(v, i)).collect();
                folded(&Binary64, kind, &values)
            };
            return Some(Column::Near((0..points).map(one).collect()));
        }
        let columns: Vec<Cow<'_, [Enclosure<Float>]>> = terms.iter().map(|x| self.reals(x)).collect();
        let one = |i: usize| {
            let values: Vec<&Enclosure<Float>> = columns.iter().map(|v| at(v, i)).collect();
            match self.mode {
                Mode::WideRange => self.rounded(kind, &values, format, method),
                _ => self.enclosed(kind, &values),
            }
        };
        Some(Column::Reals((0..points).map(one).collect()))
    }

    /// Each step rounded to the precision of a format; a sum that is not naive, as if it were exact.
    fn rounded(
        &self,
        kind: Reduce,
        x: &[&Enclosure<Float>],
        format: Format,
        method: SumMethod,
    ) -> Enclosure<Float> {
        let bits = format.precision();
        let step = |f: &ngc_numerics::ScalarFn| {
            let mut all = x.iter().map(|x| x.lo.clone());
            let first = all.next();
            first.map(|first| all.fold(first, |a, b| f.eval_real(&[], &[a, b], bits)))
        };
        let found = match (kind, method) {
            (Reduce::Sum, SumMethod::Naive) => step(&primitives::ADD),
            (Reduce::Sum, _) => Some(Float::with_val(bits, Float::sum(x.iter().map(|x| &x.lo)))),
            (Reduce::Prod, _) => step(&primitives::MUL),
            (Reduce::Max, _) => step(&primitives::MAX),
            (Reduce::Min, _) => step(&primitives::MIN),
        };
        Enclosure::point(found.unwrap_or_else(|| Float::with_val(bits, kind.of_nothing())))
    }

    fn enclosed(&self, kind: Reduce, x: &[&Enclosure<Float>]) -> Enclosure<Float> {
        match kind {
            Reduce::Sum if x.len() > 1 && !x.iter().any(|x| x.is_undefined()) => self.sum(x),
            _ => folded(&self.big, kind, x),
        }
    }

    /// Ends of exact sums, rounded outward once.
    fn sum(&self, x: &[&Enclosure<Float>]) -> Enclosure<Float> {
        let Mode::Real { bits } = self.mode else { return self.unknown() };
        let bits = bits.max(64);
        let (lo, _) = Float::with_val_round(bits, Float::sum(x.iter().map(|x| &x.lo)), Round::Down);
        let (hi, _) = Float::with_val_round(bits, Float::sum(x.iter().map(|x| &x.hi)), Round::Up);
        let ends = |end: f64| x.iter().any(|x| x.lo == end || x.hi == end);
        if ends(f64::INFINITY) && ends(f64::NEG_INFINITY) {
            let certain = |end: f64| x.iter().any(|x| x.lo == end && x.hi == end && !x.may_be_nan);
            return match certain(f64::INFINITY) && certain(f64::NEG_INFINITY) {
                true => Enclosure::point(Float::with_val(bits, f64::NAN)),
                false => self.unknown(),
            };
        }
        let may_be_nan = x.iter().any(|x| x.may_be_nan);
        Enclosure { lo, hi, may_be_nan }
    }
}

/// One after the other.
fn folded<D: Domain>(domain: &D, kind: Reduce, x: &[&Enclosure<D::Number>]) -> Enclosure<D::Number> {
    if let Some(undefined) = x.iter().find(|x| x.is_undefined()) {
        return (*undefined).clone();
    }
    let prim = match kind {
        Reduce::Sum => Prim::Add,
        Reduce::Prod => Prim::Mul,
        Reduce::Max => Prim::Max,
        Reduce::Min => Prim::Min,
    };
    let mut all = x.iter();
    let Some(&first) = all.next() else {
        return Enclosure::point(domain.embed(kind.of_nothing()));
    };
    all.fold(first.clone(), |a, b| enclosure::apply(domain, prim, &[&a, b]))
}

fn integers(kind: Reduce, terms: &[Rc<Column>], points: usize, elem: DType) -> Option<Column> {
    let (least, greatest) = elem.int_range();
    let (start, step): (i64, fn(i64, i64) -> i64) = match kind {
        Reduce::Sum => (0, i64::wrapping_add),
        Reduce::Prod => (1, i64::wrapping_mul),
        Reduce::Max => (least, i64::max),
        Reduce::Min => (greatest, i64::min),
    };
    let mut all = vec![Some(start); points];
    for term in terms {
        let Column::Integers(v) = &**term else { return None };
        for (i, x) in all.iter_mut().enumerate() {
            *x = x.zip(*at(v, i)).map(|(x, y)| step(x, y));
        }
    }
    Some(Column::Integers(all.into_iter().map(|x| x.map(|x| elem.wrap(x))).collect()))
}
