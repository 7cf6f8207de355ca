//! Sums with factors.

use ngc_ir::{AttrDict, Value};
use rug::Rational;

use super::Writer;
use super::laid::{Frame, Held, Layout, Scaled};
use crate::term::Use;

/// Factors from here on are rather divided by.
const LARGE: u32 = 3;

impl Writer<'_, '_> {
    /// Terms with factors, and how they lie.
    pub(super) fn terms(
        &mut self,
        terms: &[(Rational, Use)],
        frame: &Frame,
    ) -> Result<(Vec<Scaled>, Layout), String> {
        let uses: Vec<Use> = terms.iter().map(|(_, x)| x.clone()).collect();
        let (values, layout) = self.parts(&uses, frame)?;
        Ok((values.into_iter().zip(terms).map(|(x, (c, _))| x.times(c)).collect(), layout))
    }

    /// `constant + Σ terms`. A common factor is left to the user where that saves work, and equal ones are taken together
    /// unless the order is given.
    pub(super) fn sum(
        &mut self,
        mut constant: Rational,
        terms: Vec<Scaled>,
        order: &Layout,
        free: bool,
    ) -> Result<Scaled, String> {
        let (numbers, mut terms): (Vec<Scaled>, Vec<Scaled>) =
            terms.into_iter().partition(|x| matches!(x.of.held, Held::One));
        numbers.iter().for_each(|x| constant += &x.factor);
        terms.retain(|x| !x.factor.is_zero());
        if terms.is_empty() {
            return Ok(Scaled::number(constant));
        }
        if terms.len() == 1 && constant.is_zero() {
            return Ok(terms.remove(0));
        }
        let mut scale = self.scale(&constant, &terms);
        if terms.iter().all(|x| x.factor < 0) && constant <= 0 {
            scale = -scale;
        }
        let inverse = Rational::from(scale.recip_ref());
        constant *= &inverse;
        let terms: Vec<Scaled> = terms.into_iter().map(|x| x.times(&inverse)).collect();
        let sum = match free {
            true => self.in_groups(constant, terms, order)?,
            false => {
                let (mut terms, mut so_far) = (terms, None);
                // The sum of two is rounded alike in either order.
                if terms.len() > 1 && terms[0].factor < 0 && terms[1].factor > 0 {
                    terms.swap(0, 1);
                }
                for x in terms {
                    so_far = Some(self.joined(so_far, &x, order)?);
                }
                self.joined(so_far, &Scaled::number(constant), order)?
            }
        };
        Ok(Scaled::value(sum).times(&scale))
    }

    /// The factor that is best taken out of a sum: fewer multiplications remain, numbers that the format holds, means
    /// instead of sums.
    fn scale(&self, constant: &Rational, terms: &[Scaled]) -> Rational {
        let one = Rational::from(1);
        let mut scales = vec![one.clone()];
        for x in terms {
            let size = x.factor.clone().abs();
            let count = self.count(&x.of.held).and_then(|n| n.number());
            scales.extend(count.map(|n| Rational::from(&size * n)));
            scales.push(size);
        }
        let cost = |scale: &Rational| {
            let by = |x: &Rational| Rational::from(x / scale);
            let mut groups: Vec<Rational> = Vec::new();
            let mut work = 0;
            for x in terms {
                let factor = by(&x.factor);
                let own = self.work(&x.of.held, &factor);
                if own > 0 && !groups.contains(&factor.clone().abs()) {
                    work += own;
                    groups.push(factor.abs());
                }
            }
            let rough = usize::from(!self.holds(&by(constant)) && self.holds(constant));
            let outside = usize::from(*scale != 1);
            // What is multiplied by a large number may overflow where the sum does not.
            let large = usize::from(terms.iter().any(|x| by(&x.factor).abs() >= LARGE));
            let mean = |x: &&Scaled| {
                let count = self.count(&x.of.held).and_then(|n| n.number());
                count.is_some_and(|n| by(&x.factor).abs() * n == 1)
            };
            let sums = terms.len() - terms.iter().filter(mean).count();
            (work + rough + 2 * large + outside, sums, outside)
        };
        scales.into_iter().min_by_key(cost).unwrap_or(one)
    }

    /// Terms of equal factors are added before they are multiplied; what is added comes before what is subtracted.
    fn in_groups(
        &mut self,
        constant: Rational,
        terms: Vec<Scaled>,
        order: &Layout,
    ) -> Result<(Value, Layout), String> {
        let mut groups: Vec<(Rational, Vec<Scaled>)> = Vec::new();
        for x in terms {
            let size = x.factor.clone().abs();
            let size = if self.work(&x.of.held, &size) == 0 { Rational::from(1) } else { size };
            match groups.iter_mut().find(|(known, _)| *known == size) {
                Some((_, group)) => group.push(x),
                None => groups.push((size, vec![x])),
            }
        }
        let mut all: Vec<Scaled> = Vec::new();
        for (size, group) in groups {
            if size == 1 || group.len() == 1 {
                all.extend(group);
                continue;
            }
            let inverse = Rational::from(size.recip_ref());
            let mut group: Vec<Scaled> = group.into_iter().map(|x| x.times(&inverse)).collect();
            let mut sign = size;
            if group.iter().all(|x| x.factor < 0) {
                sign = -sign;
                group = group.into_iter().map(|x| x.times(&Rational::from(-1))).collect();
            }
            let sum = self.in_turn(group, order)?;
            all.push(Scaled::value(sum).times(&sign));
        }
        if !constant.is_zero() {
            all.push(Scaled::number(constant));
        }
        self.in_turn(all, order)
    }

    /// Terms that are multiplied before they are added.
    pub(super) fn in_turn(
        &mut self,
        mut terms: Vec<Scaled>,
        order: &Layout,
    ) -> Result<(Value, Layout), String> {
        terms.sort_by_key(|x| x.factor < 0);
        let mut so_far = None;
        for x in terms {
            so_far = Some(self.joined(so_far, &x, order)?);
        }
        so_far.ok_or_else(|| "an empty sum".into())
    }

    fn joined(
        &mut self,
        so_far: Option<(Value, Layout)>,
        x: &Scaled,
        order: &Layout,
    ) -> Result<(Value, Layout), String> {
        let Some(so_far) = so_far else { return self.settled(x, order) };
        if x.factor.is_zero() {
            return Ok(so_far);
        }
        let name = if x.factor < 0 { "ng.sub" } else { "ng.add" };
        let size = Scaled { factor: x.factor.clone().abs(), of: x.of.clone() };
        let next = self.settled(&size, order)?;
        self.pointwise(name, AttrDict::EMPTY, &[so_far, next], order)
    }
}
