//! Real numbers that types are made of: the ends of ranges, periods, exactly.

use std::cmp::Ordering;
use std::fmt;

use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::program::Program;
use ngc_numerics::{Big, Enclosure, Expr, Prim};
use rug::{Float, Integer, Rational};

/// Bits at which numbers are told apart, one after the other until they decide.
const BITS: [u32; 3] = [128, 512, 4096];

/// A number of the extended line.
#[derive(Clone, Debug, PartialEq)]
pub enum Real {
    /// A sum of multiples of constants, of which no two are the same.
    Finite(Vec<(Rational, Expr)>),
    /// An infinity.
    Infinite {
        /// Whether it is `-inf`.
        negative: bool,
    },
}

/// `+inf`.
pub const INFINITY: Real = Real::Infinite { negative: false };
/// `-inf`.
pub const MINUS_INFINITY: Real = Real::Infinite { negative: true };

fn one() -> Expr {
    1.into()
}

impl Real {
    /// The value of a formula without variables.
    ///
    /// # Errors
    /// When it has none.
    pub fn of(formula: &Expr) -> Result<Real, String> {
        let value = Real::Finite(linear(formula));
        let enclosed = value.enclose(BITS[0]);
        match enclosed.lo.is_finite() && enclosed.hi.is_finite() && !enclosed.may_be_nan {
            true => Ok(value),
            false => Err(format!("{formula} is no number")),
        }
    }

    /// A rational number.
    pub fn rational(value: Rational) -> Real {
        Real::Finite(if value.is_zero() { Vec::new() } else { vec![(value, one())] })
    }

    /// 0
    pub fn zero() -> Real {
        Real::Finite(Vec::new())
    }

    /// Whether it is no infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self, Real::Finite(_))
    }

    /// As a formula.
    pub fn expr(&self) -> Expr {
        let Real::Finite(terms) = self else {
            return f64::INFINITY.copysign(if *self == INFINITY { 1.0 } else { -1.0 }).into();
        };
        let number = |q: &Rational| Expr::from(Node::Const(Constant::Rational(q.clone())));
        let term = |(q, atom): &(Rational, Expr)| match (*atom == one(), *q == 1) {
            (true, _) => number(q),
            (_, true) => atom.clone(),
            _ => number(q) * atom,
        };
        terms.iter().map(term).reduce(|sum, x| sum + x).unwrap_or_else(|| 0.into())
    }

    /// An enclosure in so many bits.
    pub fn enclose(&self, bits: u32) -> Enclosure<Float> {
        let (program, domain) = (Program::new(&self.expr()), Big::new(bits));
        program.enclose(&domain, &program.enclose_constants(&domain), &[], &[])
    }

    /// The nearest `f64`.
    pub fn to_f64(&self) -> f64 {
        self.enclose(BITS[0]).lo.to_f64()
    }

    /// In so many bits.
    pub fn to_float(&self, bits: u32) -> Float {
        Float::with_val(bits, self.enclose(bits + 32).lo)
    }

    /// The rational number, if it is one by its form.
    pub fn as_rational(&self) -> Option<Rational> {
        match self {
            Real::Finite(terms) => match &terms[..] {
                [] => Some(Rational::new()),
                [(q, atom)] if *atom == one() => Some(q.clone()),
                _ => None,
            },
            Real::Infinite { .. } => None,
        }
    }

    /// A multiple.
    pub fn times(&self, by: &Rational) -> Real {
        match self {
            Real::Finite(terms) => Real::Finite(scaled(terms.clone(), by)).without_zeros(),
            Real::Infinite { negative } => match by.cmp0() {
                Ordering::Equal => Real::zero(),
                order => Real::Infinite { negative: *negative != order.is_lt() },
            },
        }
    }

    /// The sum; nothing of opposite infinities.
    pub fn plus(&self, other: &Real) -> Option<Real> {
        match (self, other) {
            (Real::Finite(a), Real::Finite(b)) => Some(Real::Finite(sum(a.clone(), b.clone()))),
            (Real::Finite(_), infinite) => Some(infinite.clone()),
            (infinite, Real::Finite(_)) => Some(infinite.clone()),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// The negative.
    pub fn negated(&self) -> Real {
        self.times(&Rational::from(-1))
    }

    /// The difference; nothing of the same infinities.
    pub fn minus(&self, other: &Real) -> Option<Real> {
        self.plus(&other.negated())
    }

    fn without_zeros(self) -> Real {
        match self {
            Real::Finite(terms) => Real::Finite(terms.into_iter().filter(|(q, _)| !q.is_zero()).collect()),
            infinite @ Real::Infinite { .. } => infinite,
        }
    }

    /// Which is less; nothing where that is not known.
    pub fn compare(&self, other: &Real) -> Option<Ordering> {
        let difference = match (self, other) {
            (Real::Finite(_), Real::Finite(_)) => self.minus(other)?,
            _ => return self.to_f64().partial_cmp(&other.to_f64()),
        };
        if let Some(q) = difference.as_rational() {
            return Some(q.cmp0());
        }
        BITS.into_iter().find_map(|bits| {
            let value = difference.enclose(bits);
            match () {
                () if value.may_be_nan => None,
                () if value.lo > 0.0 => Some(Ordering::Greater),
                () if value.hi < 0.0 => Some(Ordering::Less),
                () => None,
            }
        })
    }

    /// Whether it is at most another, for sure.
    pub fn is_at_most(&self, other: &Real) -> bool {
        self.compare(other).is_some_and(Ordering::is_le)
    }

    /// Whether it is below another, for sure.
    pub fn is_below(&self, other: &Real) -> bool {
        self.compare(other).is_some_and(Ordering::is_lt)
    }

    /// The lesser, where that is known.
    pub fn min(&self, other: &Real) -> Option<Real> {
        Some(if self.compare(other)?.is_le() { self } else { other }.clone())
    }

    /// The greater, where that is known.
    pub fn max(&self, other: &Real) -> Option<Real> {
        Some(if self.compare(other)?.is_ge() { self } else { other }.clone())
    }
}

impl From<i32> for Real {
    fn from(value: i32) -> Real {
        Real::rational(value.into())
    }
}

fn scaled(terms: Vec<(Rational, Expr)>, by: &Rational) -> Vec<(Rational, Expr)> {
    terms.into_iter().map(|(q, atom)| (q * by, atom)).collect()
}

fn sum(mut a: Vec<(Rational, Expr)>, b: Vec<(Rational, Expr)>) -> Vec<(Rational, Expr)> {
    for (q, atom) in b {
        match a.iter_mut().find(|(_, known)| *known == atom) {
            Some((known, _)) => *known += q,
            None => a.push((q, atom)),
        }
    }
    a.retain(|(q, _)| !q.is_zero());
    a
}

/// A formula as a sum of multiples of what is not one.
fn linear(formula: &Expr) -> Vec<(Rational, Expr)> {
    let plain = |terms: &[(Rational, Expr)]| Real::Finite(terms.to_vec()).as_rational();
    match &*formula.0 {
        Node::Const(Constant::Rational(q)) if q.is_zero() => Vec::new(),
        Node::Const(Constant::Rational(q)) => vec![(q.clone(), one())],
        Node::Apply(Prim::Add, x) => sum(linear(&x[0]), linear(&x[1])),
        Node::Apply(Prim::Sub, x) => sum(linear(&x[0]), scaled(linear(&x[1]), &Rational::from(-1))),
        Node::Apply(Prim::Neg, x) => scaled(linear(&x[0]), &Rational::from(-1)),
        Node::Apply(prim, x) => {
            let parts: Vec<Vec<(Rational, Expr)>> = x.iter().map(linear).collect();
            match (prim, &parts[..]) {
                (Prim::Mul, [a, b]) if plain(a).is_some() => scaled(b.clone(), &plain(a).unwrap_or_default()),
                (Prim::Mul, [a, b]) if plain(b).is_some() => scaled(a.clone(), &plain(b).unwrap_or_default()),
                (Prim::Div, [a, b]) if plain(b).is_some_and(|q| !q.is_zero()) => {
                    scaled(a.clone(), &plain(b).unwrap_or_default().recip())
                }
                _ => {
                    let args = parts.into_iter().map(|terms| Real::Finite(terms).expr()).collect();
                    vec![(Rational::from(1), Expr::apply(*prim, args))]
                }
            }
        }
        _ => vec![(Rational::from(1), formula.clone())],
    }
}

/// The most places of a number that is written as a decimal.
const PLACES: u32 = 20;

/// A rational number as a decimal where it is a short one, else as a quotient.
fn rational(q: &Rational) -> String {
    if q.is_integer() {
        let text = q.to_string();
        let digits = text.trim_end_matches('0');
        let zeros = text.len() - digits.len();
        return if zeros > PLACES as usize { format!("{digits}e{zeros}") } else { text };
    }
    let mut denominator = q.denom().clone();
    let twos = denominator.remove_factor_mut(&Integer::from(2));
    let fives = denominator.remove_factor_mut(&Integer::from(5));
    let places = twos.max(fives);
    if denominator != 1 {
        return q.to_string();
    }
    let scaled = Rational::from(q * Integer::from(Integer::u_pow_u(10, places)));
    if places > PLACES {
        return format!("{}e-{places}", scaled.numer());
    }
    let digits =
        format!("{:0>width$}", scaled.numer().clone().abs().to_string(), width = places as usize + 1);
    let (whole, rest) = digits.split_at(digits.len() - places as usize);
    format!("{}{whole}.{rest}", if q.is_negative() { "-" } else { "" })
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Real::Finite(terms) = self else {
            return f.write_str(if *self == INFINITY { "inf" } else { "-inf" });
        };
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (n, (q, atom)) in terms.iter().enumerate() {
            let sign = match (n, q.is_negative()) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            let size = q.clone().abs();
            f.write_str(sign)?;
            match (*atom == one(), *size.numer() == 1, *size.denom() == 1) {
                (true, ..) => f.write_str(&rational(&size))?,
                (_, true, true) => write!(f, "{atom}")?,
                (_, true, false) => write!(f, "{atom}/{}", size.denom())?,
                (_, false, true) => write!(f, "{}*{atom}", size.numer())?,
                _ => write!(f, "{}*{atom}/{}", size.numer(), size.denom())?,
            }
        }
        Ok(())
    }
}

/// The numbers between two, which are members where they are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub from: Real,
    /// The greatest.
    pub to: Real,
}

impl Range {
    /// All numbers.
    pub const WHOLE: Range = Range { from: MINUS_INFINITY, to: INFINITY };

    /// Those between two numbers.
    pub fn new(from: Real, to: Real) -> Range {
        Range { from, to }
    }

    /// Whether another range lies within, for sure.
    pub fn contains(&self, other: &Range) -> bool {
        self.from.is_at_most(&other.from) && other.to.is_at_most(&self.to)
    }

    /// An enclosure of the numbers of the inside that a program may meet: ends that are infinite lie beyond all numbers of f64, and
    /// 0 is approached nearer than any of them does. What holds there holds at finite ends by continuity.
    pub fn inside(&self, bits: u32) -> Enclosure<Float> {
        let far = Float::with_val(bits, 1) << 1100u32;
        let near = Float::with_val(bits, 1) >> 1200u32;
        let end = |end: &Real, sign: i32| match end {
            Real::Infinite { negative: true } => -far.clone(),
            Real::Infinite { negative: false } => far.clone(),
            finite if *finite == Real::zero() => near.clone() * sign,
            finite => {
                let value = finite.enclose(bits);
                if sign > 0 { value.lo } else { value.hi }
            }
        };
        Enclosure::new(end(&self.from, 1), end(&self.to, -1))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.from, self.to)
    }
}
