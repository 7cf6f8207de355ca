//! Products of powers.

use ngc_ir::structure::Size;
use ngc_ir::{AttrDict, Value};
use rug::Rational;

use super::Writer;
use super::laid::{Frame, Held, Laid, Layout, Scaled};
use crate::normal::product::power_of;
use crate::term::{Node, Use};

/// A base, its exponent, and whether it is proven not to be negative.
struct Power {
    base: Scaled,
    exponent: Rational,
    nonnegative: bool,
}

impl Writer<'_, '_> {
    /// A product of powers of terms, the smaller ones first unless the order is given.
    pub(super) fn product_of(
        &mut self,
        factors: &[(Use, Rational)],
        frame: &Frame,
        free: bool,
    ) -> Result<Scaled, String> {
        let (sizes, factors): (Vec<_>, Vec<_>) =
            factors.iter().cloned().partition(|(x, _)| matches!(self.store.node(x.id), Node::Size(_)));
        let uses: Vec<Use> = factors.iter().map(|(x, _)| x.clone()).collect();
        let (values, layout) = self.parts(&uses, frame)?;
        let power = |(base, (x, exponent)): (Scaled, (Use, Rational))| Power {
            base,
            exponent,
            nonnegative: self.store.is_nonnegative(x.id),
        };
        let mut powers: Vec<Power> = values.into_iter().zip(factors).map(power).collect();
        for (size, exponent) in sizes {
            self.divide_by_count(&mut powers, &size, &exponent)?;
        }
        self.product(powers, &layout, free)
    }

    /// A sum over a dimension of unknown extent divided by that extent is a mean.
    fn divide_by_count(&self, powers: &mut [Power], of: &Use, exponent: &Rational) -> Result<(), String> {
        let Node::Size(size) = self.store.node(of.id) else { return Err("no extent".into()) };
        let wanted = Rational::from(-exponent);
        let sum = powers.iter_mut().find(|power| {
            power.exponent == wanted && self.count(&power.base.of.held).is_some_and(|n: &Size| n == size)
        });
        match sum.map(|power| &mut power.base.of.held) {
            Some(Held::Reduced { mean, .. }) => {
                *mean = true;
                Ok(())
            }
            _ => Err("the number of an unknown extent has no op".into()),
        }
    }

    fn product(&mut self, powers: Vec<Power>, order: &Layout, free: bool) -> Result<Scaled, String> {
        let mut factor = Rational::from(1);
        // Numbers under a root, by its exponent: they go back under the root where they leave a plainer number there.
        let mut rooted: Vec<(Rational, Rational)> = Vec::new();
        let mut bases: Vec<Power> = Vec::new();
        for mut power in powers {
            let whole = *power.exponent.denom() == 1;
            let sign = if power.base.factor < 0 && !whole { -1 } else { 1 };
            let size = Rational::from(&power.base.factor * sign);
            match whole {
                true => match power_of(&size, &power.exponent) {
                    Some(known) => factor *= known,
                    None => {
                        bases.push(power);
                        continue;
                    }
                },
                false => match rooted.iter_mut().find(|(e, _)| *e == power.exponent) {
                    Some((_, known)) => *known *= size,
                    None => rooted.push((power.exponent.clone(), size)),
                },
            }
            power.base.factor = Rational::from(sign);
            match power.base.of.held {
                Held::One if sign > 0 => {}
                Held::Inverse(value) if sign > 0 => {
                    power.base.of.held = Held::Value(value);
                    power.exponent = -power.exponent;
                    bases.push(power);
                }
                _ => bases.push(power),
            }
        }
        for (exponent, number) in rooted {
            self.back_under_root(&exponent, number, &mut factor, &mut bases);
        }
        self.take_means(&mut factor, &mut bases);
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for power in bases {
            let side = if power.exponent > 0 { &mut above } else { &mut below };
            side.push(power);
        }
        if let [only] = &below[..]
            && only.exponent == Rational::from((-1, 2))
        {
            let (value, dims) = self.settled(&only.base, order)?;
            let base = Scaled::value((self.op("ng.rsqrt", &[value])?, dims));
            above.extend(below.drain(..).map(|power| Power {
                base: base.clone(),
                exponent: 1.into(),
                ..power
            }));
        }
        let above = self.powers(above, order, free)?;
        let below = self.powers(below, order, free)?;
        let value = match (above, below) {
            (None, None) => return Ok(Scaled::number(factor)),
            (Some(above), None) => above,
            (None, Some((value, dims))) => {
                return Ok(Scaled { factor, of: Laid { held: Held::Inverse(value), dims } });
            }
            (Some(above), Some(below)) => {
                self.pointwise("ng.div", AttrDict::EMPTY, &[above, below], order)?
            }
        };
        Ok(Scaled::value(value).times(&factor))
    }

    /// A number under a root joins a base under the same root, unless it is a power that is better taken out.
    fn back_under_root(
        &self,
        exponent: &Rational,
        number: Rational,
        factor: &mut Rational,
        bases: &mut Vec<Power>,
    ) {
        // What was taken out of the root before belongs to it, too.
        let outside = power_of(factor, &Rational::from(exponent.recip_ref())).filter(|_| *factor > 0);
        let all = outside.map_or(number.clone(), |outside| outside * &number);
        let base = bases.iter_mut().find(|power| power.exponent == *exponent);
        let absorbs = base.as_ref().is_some_and(|power| self.work(&power.base.of.held, &all) == 0);
        if all == 1 || absorbs {
            *factor = 1.into();
            if let Some(power) = base.filter(|_| all != 1) {
                power.base.factor *= all;
            }
            return;
        }
        match (power_of(&number, exponent), base) {
            (Some(known), _) => *factor *= known,
            (None, Some(power)) => power.base.factor *= number,
            (None, None) => bases.push(Power {
                base: Scaled::number(number),
                exponent: exponent.clone(),
                nonnegative: true,
            }),
        }
    }

    /// A factor that makes a mean of a sum goes there.
    fn take_means(&self, factor: &mut Rational, bases: &mut [Power]) {
        for power in bases.iter_mut().filter(|power| power.base.factor == 1) {
            let inner = power_of(factor, &Rational::from(power.exponent.recip_ref()));
            let mean = inner.filter(|c| *c > 0 && *c != 1 && self.work(&power.base.of.held, c) == 0);
            if let (Some(mean), Held::Reduced { .. }) = (mean, &power.base.of.held) {
                power.base.factor = mean;
                *factor = 1.into();
            }
        }
    }

    /// The product of powers with the sizes of their exponents.
    fn powers(
        &mut self,
        powers: Vec<Power>,
        order: &Layout,
        free: bool,
    ) -> Result<Option<(Value, Layout)>, String> {
        let mut values = Vec::new();
        for power in powers {
            let base = self.settled(&power.base, order)?;
            values.push(self.power(base, &power.exponent.abs(), power.nonnegative)?);
        }
        if free {
            // What is smaller is multiplied before it is spread.
            values.sort_by_key(|(_, dims)| dims.iter().flatten().count());
        }
        match values.is_empty() {
            true => Ok(None),
            false => self.chained("ng.mul", values, order).map(Some),
        }
    }

    fn power(
        &mut self,
        (base, dims): (Value, Layout),
        exponent: &Rational,
        nonnegative: bool,
    ) -> Result<(Value, Layout), String> {
        let value = match (exponent.numer().to_u32(), exponent.denom().to_u32()) {
            (Some(1), Some(1)) => base,
            (Some(2), Some(1)) => self.op("ng.square", &[base])?,
            (Some(3), Some(1)) => {
                let square = self.op("ng.square", &[base])?;
                self.op("ng.mul", &[square, base])?
            }
            (Some(4), Some(1)) => {
                let square = self.op("ng.square", &[base])?;
                self.op("ng.square", &[square])?
            }
            (Some(1), Some(2)) => self.op("ng.sqrt", &[base])?,
            (Some(3), Some(2)) => {
                let root = self.op("ng.sqrt", &[base])?;
                self.op("ng.mul", &[base, root])?
            }
            // Of a negative number the one has a value, the other none.
            (Some(1), Some(3)) if nonnegative => self.op("ng.cbrt", &[base])?,
            _ => {
                let exponent = self.rational(exponent)?;
                self.op("ng.pow", &[base, exponent])?
            }
        };
        Ok((value, dims))
    }
}
