//! Places along dimensions, as expressions of other places.
//!
//! An index is a sum of digits with integer factors: affine, and with quotients and remainders as joining and splitting
//! dimensions make them. It is kept in a normal form, so that what a reshape joins the next one splits again without a
//! trace: digits that stand side by side in one number are one digit, and a quotient is taken term by term wherever that
//! is proven.

mod digits;

use std::fmt;

use smallvec::SmallVec;

use super::size::{Size, Unknown};

/// A named dimension: of a result, or bound by a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Axis(pub u32);

/// `⌊of / divisor⌋ mod modulus`, without a modulus where there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digit {
    /// The number of which it is a digit.
    pub of: Whole,
    /// The weight of its place.
    pub divisor: Size,
    /// The number of values that it has.
    pub modulus: Option<Size>,
}

/// A number that digits are taken of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whole {
    /// A place along a dimension.
    Axis(Axis),
    /// A sum that does not fall apart.
    Sum(Box<Index>),
}

/// A factor, unknown extents that multiply it, and the digit that both multiply, or 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Term {
    digit: Option<Digit>,
    unknown: SmallVec<[Unknown; 2]>,
    factor: i64,
}

/// A sum of digits with integer factors, in normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index {
    /// In ascending order of digits, no factor 0.
    terms: Vec<Term>,
}

/// The factor of each dimension in a sum.
pub type Factors = SmallVec<[(Axis, i64); 4]>;

/// The extents of the dimensions that an index speaks of, by their numbers.
pub trait Space {
    /// The extent of a dimension.
    fn extent(&self, axis: Axis) -> &Size;
}

impl Space for [Size] {
    fn extent(&self, axis: Axis) -> &Size {
        &self[axis.0 as usize]
    }
}

impl Space for Vec<Size> {
    fn extent(&self, axis: Axis) -> &Size {
        self.as_slice().extent(axis)
    }
}

impl Digit {
    fn axis(axis: Axis) -> Digit {
        Digit { of: Whole::Axis(axis), divisor: Size::ONE, modulus: None }
    }

    /// How many values it has.
    fn count(&self, space: &(impl Space + ?Sized)) -> Option<Size> {
        match (&self.modulus, &self.of) {
            (Some(modulus), _) => Some(modulus.clone()),
            (None, &Whole::Axis(axis)) => {
                let extent = space.extent(axis);
                let rounded_up =
                    || Some(Size::known(extent.number()?.div_ceil(self.divisor.number()?.max(1))));
                extent.divided_by(&self.divisor).or_else(rounded_up)
            }
            (None, Whole::Sum(_)) => None,
        }
    }
}

impl Term {
    fn size(&self) -> Option<Size> {
        let number = Size::known(u64::try_from(self.factor).ok()?);
        self.unknown.iter().try_fold(number, |size, &u| size.times(&Size::unknown(u)))
    }

    fn of(digit: Option<Digit>, size: &Size, sign: i64) -> Term {
        let factor = sign * i64::try_from(size.factor()).unwrap_or(i64::MAX);
        Term { digit, unknown: SmallVec::from_slice(size.unknowns()), factor }
    }
}

impl Index {
    /// The place 0.
    pub const ZERO: Index = Index { terms: Vec::new() };

    /// The place along a dimension.
    pub fn axis(axis: Axis) -> Index {
        Index { terms: vec![Term::of(Some(Digit::axis(axis)), &Size::ONE, 1)] }
    }

    /// A number.
    pub fn number(number: i64) -> Index {
        let term = Term { digit: None, unknown: SmallVec::new(), factor: number };
        Index { terms: Some(term).filter(|t| t.factor != 0).into_iter().collect() }
    }

    /// A size as a number.
    pub fn size(size: &Size) -> Index {
        Index { terms: Some(Term::of(None, size, 1)).filter(|t| t.factor != 0).into_iter().collect() }
    }

    /// The dimension of which this is the place, if it is just that.
    pub fn as_axis(&self) -> Option<Axis> {
        match &self.terms[..] {
            [Term { digit: Some(digit), unknown, factor: 1 }]
                if unknown.is_empty() && digit.divisor.is_one() && digit.modulus.is_none() =>
            {
                match digit.of {
                    Whole::Axis(axis) => Some(axis),
                    Whole::Sum(_) => None,
                }
            }
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [Term { digit: None, unknown, factor }] if unknown.is_empty() => Some(*factor),
            _ => None,
        }
    }

    /// The number and the factor of each dimension of which this is the sum, if it is one.
    pub fn as_affine(&self) -> Option<(i64, Factors)> {
        let (mut constant, mut factors) = (0, SmallVec::new());
        for term in &self.terms {
            if !term.unknown.is_empty() {
                return None;
            }
            match &term.digit {
                None => constant = term.factor,
                Some(Digit { of: Whole::Axis(axis), divisor, modulus: None }) if divisor.is_one() => {
                    factors.push((*axis, term.factor));
                }
                Some(_) => return None,
            }
        }
        Some((constant, factors))
    }

    /// Calls `f` with each dimension that it speaks of, with repetitions.
    pub fn each_axis(&self, f: &mut impl FnMut(Axis)) {
        for term in &self.terms {
            match term.digit.as_ref().map(|digit| &digit.of) {
                Some(Whole::Axis(axis)) => f(*axis),
                Some(Whole::Sum(sum)) => sum.each_axis(f),
                None => {}
            }
        }
    }

    /// Calls `f` with each digit that it is a sum of.
    pub fn digits(&self) -> impl Iterator<Item = &Digit> {
        self.terms.iter().filter_map(|term| term.digit.as_ref())
    }

    /// Whether it speaks of a dimension.
    pub fn mentions(&self, axis: Axis) -> bool {
        let mut found = false;
        self.each_axis(&mut |other| found |= other == axis);
        found
    }

    /// Its summands: a factor, unknown extents that multiply it, and what both multiply (a digit, or 1).
    pub fn summands(&self) -> impl Iterator<Item = (i64, Size, Option<Index>)> {
        self.terms.iter().map(|term| {
            let unknown = term.unknown.iter().map(|&u| Size::unknown(u));
            let size = unknown.fold(Size::ONE, |a, b| a.times(&b).unwrap_or(a));
            (term.factor, size, term.digit.clone().map(Index::of_digit))
        })
    }

    /// The summands for which a condition holds, and the others.
    pub fn partition(&self, mut keep: impl FnMut(&Index) -> bool) -> (Index, Index) {
        let alone = |term: &Term| Index { terms: vec![term.clone()] };
        let (yes, no) = self.terms.iter().cloned().partition(|term| keep(&alone(term)));
        (Index { terms: yes }, Index { terms: no })
    }

    /// The index with its dimensions renamed.
    pub fn renamed(&self, by: &impl Fn(Axis) -> Axis) -> Index {
        let mut renamed = Index::ZERO;
        for term in &self.terms {
            let digit = term.digit.clone().map(|digit| Digit {
                of: match digit.of {
                    Whole::Axis(axis) => Whole::Axis(by(axis)),
                    Whole::Sum(sum) => Whole::Sum(Box::new(sum.renamed(by))),
                },
                ..digit
            });
            // Names do not change how large a factor is, but two dimensions may become one.
            let _ = renamed.add(Term { digit, ..term.clone() });
        }
        renamed
    }

    /// The sum; nothing where a factor is too large to be held.
    pub fn plus(&self, other: &Index) -> Option<Index> {
        let mut sum = self.clone();
        for term in &other.terms {
            sum.add(term.clone())?;
        }
        sum.join_digits();
        Some(sum)
    }

    /// The product with a number.
    pub fn scaled(&self, factor: i64) -> Option<Index> {
        let mut terms = self.terms.clone();
        for term in &mut terms {
            term.factor = term.factor.checked_mul(factor)?;
        }
        terms.retain(|term| term.factor != 0);
        Some(Index { terms })
    }

    /// The product with an extent.
    pub fn times(&self, extent: &Size) -> Option<Index> {
        let mut product = Index::ZERO;
        for term in &self.terms {
            let mut unknown = term.unknown.clone();
            unknown.extend_from_slice(extent.unknowns());
            unknown.sort_unstable();
            let factor = term.factor.checked_mul(i64::try_from(extent.factor()).ok()?)?;
            product.add(Term { unknown, factor, digit: term.digit.clone() })?;
        }
        Some(product)
    }

    fn add(&mut self, term: Term) -> Option<()> {
        let key = |t: &Term| (t.digit.clone(), t.unknown.clone());
        match self.terms.binary_search_by(|t| key(t).cmp(&key(&term))) {
            Ok(place) => {
                let known = &mut self.terms[place];
                known.factor = known.factor.checked_add(term.factor)?;
                if known.factor == 0 {
                    self.terms.remove(place);
                }
            }
            Err(_) if term.factor == 0 => {}
            Err(place) => self.terms.insert(place, term),
        }
        Some(())
    }

    /// The number that is added to its digits, where no unknown extent multiplies it.
    fn constant(&self) -> i64 {
        let alone = |term: &&Term| term.digit.is_none() && term.unknown.is_empty();
        self.terms.iter().find(alone).map_or(0, |term| term.factor)
    }

    /// With another number added to its digits.
    fn with_number(&self, f: impl Fn(i64) -> i64) -> Option<Index> {
        let number = self.constant();
        let mut other = self.clone();
        other.add(Term { digit: None, unknown: SmallVec::new(), factor: f(number).checked_sub(number)? })?;
        Some(other)
    }

    /// The factor and the digit that it is a multiple of, if it is just that.
    pub fn as_digit(&self) -> Option<(i64, &Digit)> {
        match &self.terms[..] {
            [Term { digit: Some(digit), unknown, factor }] if unknown.is_empty() => Some((*factor, digit)),
            _ => None,
        }
    }

    fn of_digit(digit: Digit) -> Index {
        Index { terms: vec![Term::of(Some(digit), &Size::ONE, 1)] }
    }

    /// Whether it is proven to lie in `0 .. limit`, wherever its dimensions have elements.
    pub fn is_below(&self, limit: &Size, space: &(impl Space + ?Sized)) -> bool {
        // c₁ x₁ + c₂ x₂ + ... with cᵢ nᵢ ≤ cᵢ₊₁ and the last cᵢ nᵢ ≤ limit: numbers in a mixed radix.
        let mut parts: SmallVec<[(Size, Size); 4]> = SmallVec::new();
        let mut numbers = Some((0i128, 0i128));
        for term in &self.terms {
            let Some(size) = term.size() else {
                // A negative factor: only numbers can say.
                let within = |(low, high)| low >= 0 && limit.number().is_some_and(|n| high < i128::from(n));
                return self.range(space).is_some_and(within);
            };
            let count = match &term.digit {
                Some(digit) => digit.count(space),
                None => Some(Size::known(2)),
            };
            let Some(count) = count else { return false };
            numbers = numbers.zip(size.number().zip(count.number())).map(|((low, high), (size, count))| {
                let top = i128::from(size) * i128::from(count.saturating_sub(1));
                (if term.digit.is_none() { low + top } else { low }, high + top)
            });
            parts.push((size, count));
        }
        if let (Some((_, high)), Some(limit)) = (numbers, limit.number()) {
            return high < i128::from(limit);
        }
        let mut reach = Size::ONE;
        while !parts.is_empty() {
            let Some(next) = parts.iter().position(|(size, _)| {
                reach.is_at_most(size) && parts.iter().all(|(other, _)| size.is_at_most(other))
            }) else {
                return false;
            };
            let (size, count) = parts.remove(next);
            let Some(end) = size.times(&count) else { return false };
            reach = end;
        }
        reach.is_at_most(limit)
    }

    /// The least and the greatest value, where all extents are known and have elements.
    pub fn range(&self, space: &(impl Space + ?Sized)) -> Option<(i128, i128)> {
        let (mut low, mut high) = (0i128, 0i128);
        for term in &self.terms {
            if !term.unknown.is_empty() {
                return None;
            }
            let factor = i128::from(term.factor);
            let (a, b) = match &term.digit {
                None => (factor, factor),
                Some(digit) => {
                    let (first, last) = match (digit.count(space), &digit.of) {
                        (Some(count), _) => (0, i128::from(count.number()?) - 1),
                        (None, &Whole::Axis(axis)) => {
                            let divisor = i128::from(digit.divisor.number()?);
                            (0, (i128::from(space.extent(axis).number()?) - 1).max(0) / divisor)
                        }
                        (None, Whole::Sum(sum)) => {
                            let (low, high) = sum.range(space)?;
                            let divisor = i128::from(digit.divisor.number()?);
                            (low.div_euclid(divisor), high.div_euclid(divisor))
                        }
                    };
                    let last = last.max(0).max(first);
                    ((factor * first).min(factor * last), (factor * first).max(factor * last))
                }
            };
            (low, high) = (low + a, high + b);
        }
        Some((low, high))
    }

    /// The index with every dimension replaced by an index over another space.
    pub fn substituted(&self, by: &impl Fn(Axis) -> Index, space: &(impl Space + ?Sized)) -> Option<Index> {
        let mut result = Index::ZERO;
        for term in &self.terms {
            let value = match &term.digit {
                None => Index::number(1),
                Some(digit) => {
                    let of = match &digit.of {
                        Whole::Axis(axis) => by(*axis),
                        Whole::Sum(sum) => sum.substituted(by, space)?,
                    };
                    match (digit.divisor.is_one(), &digit.modulus) {
                        (true, None) => of,
                        (_, modulus) => of.digit(&digit.divisor, modulus.as_ref(), space)?,
                    }
                }
            };
            let size = Size::known(1);
            let size = term.unknown.iter().try_fold(size, |size, &u| size.times(&Size::unknown(u)))?;
            result = result.plus(&value.times(&size)?.scaled(term.factor)?)?;
        }
        Some(result)
    }

    /// The value at given places; nothing where an unknown extent is asked for.
    pub fn value(&self, at: &[i64], unknown: &impl Fn(Unknown) -> Option<i64>) -> Option<i64> {
        let extent =
            |e: &Size| e.unknowns().iter().try_fold(e.factor() as i64, |n, &u| n.checked_mul(unknown(u)?));
        let mut sum = 0i64;
        for term in &self.terms {
            let mut value = match &term.digit {
                None => 1,
                Some(digit) => {
                    let of = match &digit.of {
                        Whole::Axis(axis) => *at.get(axis.0 as usize)?,
                        Whole::Sum(sum) => sum.value(at, unknown)?,
                    };
                    let quotient = of.div_euclid(extent(&digit.divisor)?);
                    match &digit.modulus {
                        Some(modulus) => quotient.rem_euclid(extent(modulus)?),
                        None => quotient,
                    }
                }
            };
            for &u in &term.unknown {
                value = value.checked_mul(unknown(u)?)?;
            }
            sum = sum.checked_add(value.checked_mul(term.factor)?)?;
        }
        Some(sum)
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (i, term) in self.terms.iter().enumerate() {
            let sign = if term.factor < 0 { "-" } else { "+" };
            match (i, sign) {
                (0, "+") => {}
                (0, _) => f.write_str("-")?,
                _ => write!(f, " {sign} ")?,
            }
            let number = term.factor.unsigned_abs();
            let mut parts: Vec<String> = Vec::new();
            if number != 1 || (term.digit.is_none() && term.unknown.is_empty()) {
                parts.push(number.to_string());
            }
            parts.extend(term.unknown.iter().map(|Unknown(n)| format!("n{n}")));
            if let Some(digit) = &term.digit {
                let of = match &digit.of {
                    Whole::Axis(Axis(n)) => format!("i{n}"),
                    Whole::Sum(sum) => format!("({sum})"),
                };
                let quotient =
                    if digit.divisor.is_one() { of } else { format!("⌊{of}/{}⌋", digit.divisor) };
                parts.push(match &digit.modulus {
                    Some(modulus) => format!("({quotient} mod {modulus})"),
                    None => quotient,
                });
            }
            f.write_str(&parts.join("*"))?;
        }
        Ok(())
    }
}
