//! Digits of sums, in normal form: whole multiples leave the bracket, digits side by side are one, and digits rise with the first
//! dimension that they speak of.

use super::{Digit, Index, Space, Term, Whole};
use crate::structure::size::Size;

impl Index {
    /// `⌊self / divisor⌋ mod modulus`.
    pub fn digit(
        &self,
        divisor: &Size,
        modulus: Option<&Size>,
        space: &(impl Space + ?Sized),
    ) -> Option<Index> {
        if modulus.is_some_and(Size::is_one) {
            return Some(Index::ZERO);
        }
        let (mut whole, mut rest) = self.parted(divisor);
        if let Some(d) = positive(divisor) {
            // Of a number that is added, too, what divides leaves the bracket.
            let left = rest.constant().rem_euclid(d);
            whole = whole.plus(&Index::number(rest.constant() - left))?;
            rest = rest.with_number(|_| left)?;
        }
        let quotient = match rest.is_below(divisor, space) {
            true => whole.divided(divisor)?,
            // What divides leaves the bracket: ⌊(a d + r) / d⌋ = a + ⌊r / d⌋.
            false if !whole.terms.is_empty() => {
                whole.divided(divisor)?.plus(&rest.digit(divisor, None, space)?)?
            }
            false => {
                // ⌊n / (a b)⌋ = ⌊⌊n / a⌋ / b⌋, where a takes something out of the bracket.
                let inner = self.terms.iter().filter_map(|term| {
                    let common = gcd(term.factor.unsigned_abs(), divisor.number()?);
                    (common > 1 && Some(common) != divisor.number()).then_some(Size::known(common))
                });
                for inner in inner {
                    let (whole, rest) = self.parted(&inner);
                    if !whole.terms.is_empty() && rest.is_below(&inner, space) {
                        return whole.divided(&inner)?.digit(&divisor.divided_by(&inner)?, modulus, space);
                    }
                }
                return self.turned_bracket(divisor, modulus, space);
            }
        };
        match modulus {
            Some(modulus) => quotient.remainder(modulus, space),
            None => Some(quotient),
        }
    }

    /// `self mod modulus`.
    fn remainder(&self, modulus: &Size, space: &(impl Space + ?Sized)) -> Option<Index> {
        let (_, rest) = self.parted(modulus);
        if rest.is_below(modulus, space) {
            return Some(rest);
        }
        let rest = match positive(modulus) {
            Some(m) => rest.with_number(|n| n.rem_euclid(m))?,
            None => rest,
        };
        if rest.is_below(modulus, space) {
            return Some(rest);
        }
        // (a n + r) mod (a b) = a (n mod b) + r, where r is below a.
        for term in rest.terms.iter().filter(|term| term.digit.is_some()) {
            let inner = modulus.number().map_or(1, |m| gcd(term.factor.unsigned_abs(), m));
            let Ok(a) = i64::try_from(inner) else { continue };
            let (number, low) = (rest.constant(), rest.constant().rem_euclid(a));
            let (high, low) = (rest.with_number(|_| number - low)?, Index::number(low));
            let (high, further) = high.parted(&Size::known(inner));
            let low = low.plus(&further)?;
            if a > 1 && !high.terms.is_empty() && low.is_below(&Size::known(inner), space) {
                let (high, left) =
                    (high.divided(&Size::known(inner))?, modulus.divided_by(&Size::known(inner))?);
                return high.digit(&Size::ONE, Some(&left), space)?.scaled(a)?.plus(&low);
            }
        }
        rest.turned_bracket(&Size::ONE, Some(modulus), space)
    }

    /// The digit of a number that does not fall apart, of one that rises with its first digit:
    /// ⌊n / d⌋ = -1 - ⌊(-n - 1) / d⌋, and of k mod m and (-1 - k) mod m the sum is m - 1.
    fn turned_bracket(
        &self,
        divisor: &Size,
        modulus: Option<&Size>,
        space: &(impl Space + ?Sized),
    ) -> Option<Index> {
        let first = self.terms.iter().find(|term| term.digit.is_some());
        if first.is_none_or(|term| term.factor > 0) {
            return Some(Index::of_digit(self.bracket(divisor, modulus, space)?));
        }
        let turned = self.scaled(-1)?.plus(&Index::number(-1))?.digit(divisor, modulus, space)?;
        let all = modulus.map_or(Index::ZERO, Index::size);
        all.plus(&Index::number(-1))?.plus(&turned.scaled(-1)?)
    }

    /// The digit of a number that does not fall apart; a digit of a digit is one.
    fn bracket(
        &self,
        divisor: &Size,
        modulus: Option<&Size>,
        space: &(impl Space + ?Sized),
    ) -> Option<Digit> {
        if let [Term { digit: Some(inner), unknown, factor: 1 }] = &self.terms[..]
            && unknown.is_empty()
        {
            let nested = match &inner.modulus {
                None => Some((inner.divisor.times(divisor)?, modulus.cloned())),
                Some(m) => m.divided_by(divisor).and_then(|left| match modulus {
                    None => Some((inner.divisor.times(divisor)?, Some(left))),
                    Some(n) if left.divided_by(n).is_some() => {
                        Some((inner.divisor.times(divisor)?, Some(n.clone())))
                    }
                    Some(n) if n.divided_by(&left).is_some() => {
                        Some((inner.divisor.times(divisor)?, Some(left)))
                    }
                    Some(_) => None,
                }),
            };
            if let Some((divisor, modulus)) = nested {
                let of = inner.of.clone();
                // The topmost digit needs no modulus.
                let top = |m: &Size| match &of {
                    Whole::Axis(axis) => divisor.times(m).is_some_and(|n| space.extent(*axis).is_at_most(&n)),
                    Whole::Sum(_) => false,
                };
                let modulus = modulus.filter(|m| !top(m));
                return Some(Digit { of, divisor, modulus });
            }
        }
        Some(Digit {
            of: Whole::Sum(Box::new(self.clone())),
            divisor: divisor.clone(),
            modulus: modulus.cloned(),
        })
    }

    /// Two digits of one number, side by side, are one digit: `b ⌊k / (d b)⌋ mod m + ⌊k / d⌋ mod b = ⌊k / d⌋ mod (b m)`.
    pub(super) fn join_digits(&mut self) {
        'again: loop {
            for low in 0..self.terms.len() {
                for high in 0..self.terms.len() {
                    let Some(joined) = self.terms[low].joined(&self.terms[high]) else { continue };
                    let (first, second) = (low.max(high), low.min(high));
                    self.terms.remove(first);
                    self.terms.remove(second);
                    if self.add(joined).is_some() {
                        continue 'again;
                    }
                }
            }
            return;
        }
    }

    /// The terms that a number divides, and the others.
    fn parted(&self, divisor: &Size) -> (Index, Index) {
        let divides = |term: &Term| {
            let positive = Term { factor: term.factor.checked_abs().unwrap_or(0), ..term.clone() };
            positive.factor != 0 && positive.size().is_some_and(|size| size.divided_by(divisor).is_some())
        };
        let (whole, rest) = self.terms.iter().cloned().partition(divides);
        (Index { terms: whole }, Index { terms: rest })
    }

    /// The quotient by a number that divides every term.
    fn divided(&self, divisor: &Size) -> Option<Index> {
        let mut quotient = Index::ZERO;
        for term in &self.terms {
            let positive = Term { factor: term.factor.checked_abs()?, ..term.clone() };
            let size = positive.size()?.divided_by(divisor)?;
            quotient.add(Term::of(term.digit.clone(), &size, term.factor.signum()))?;
        }
        Some(quotient)
    }
}

impl Term {
    /// The one term that a low digit and a high one make, or a number without its high digits: k - b ⌊k / b⌋ = k mod b.
    fn joined(&self, high: &Term) -> Option<Term> {
        let (low_digit, high_digit) = (self.digit.as_ref()?, high.digit.as_ref()?);
        if (&low_digit.modulus, &high_digit.modulus) == (&None, &None) && low_digit.of == high_digit.of {
            let base = high_digit.divisor.divided_by(&low_digit.divisor)?;
            let times = i64::try_from(base.number()?).ok().filter(|times| *times > 1)?;
            let without = self.unknown == high.unknown
                && self.factor.checked_mul(times)? == high.factor.checked_neg()?;
            let digit = Digit { modulus: Some(base), ..low_digit.clone() };
            return without.then(|| Term { digit: Some(digit), ..self.clone() });
        }
        let modulus = low_digit.modulus.as_ref()?;
        let above = low_digit.of == high_digit.of
            && low_digit.divisor.times(modulus)? == high_digit.divisor
            && self.factor.signum() == high.factor.signum();
        let absolute = |t: &Term| Term { factor: t.factor.abs(), ..t.clone() }.size();
        if !above || absolute(self)?.times(modulus)? != absolute(high)? {
            return None;
        }
        let joined = match &high_digit.modulus {
            Some(m) => Some(m.times(modulus)?),
            None => None,
        };
        let digit = Digit { modulus: joined, ..low_digit.clone() };
        Some(Term { digit: Some(digit), ..self.clone() })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// An extent that is known, as a number that divides.
fn positive(of: &Size) -> Option<i64> {
    i64::try_from(of.number()?).ok().filter(|of| *of > 0)
}
