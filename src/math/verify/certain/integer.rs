//! What is known of an integer on a part of the arguments: its ends, and of which number it is the encoding.

use std::rc::Rc;

use ngc_numerics::{DType, Prim};

use super::number::{Number, exponent};
use super::term::Term;

/// An integer.
#[derive(Clone)]
pub struct Integer {
    /// The least.
    pub lo: i64,
    /// The greatest.
    pub hi: i64,
    /// Bits of its type.
    pub width: u8,
    /// The number whose encoding it is but for a summand, modulo the width.
    pub of: Option<(Number, i64)>,
    /// The number whose encoding it leaves of an integer.
    pub less: Option<Number>,
}

impl Integer {
    /// An integer itself.
    pub fn point(x: i64, width: u8) -> Integer {
        Integer { lo: x, hi: x, width, of: None, less: None }
    }

    /// Integers between two.
    pub fn between(lo: i64, hi: i64, width: u8) -> Integer {
        Integer { lo, hi, width, of: None, less: None }
    }

    /// Whether it is only one.
    pub fn is_point(&self) -> bool {
        self.lo == self.hi
    }

    /// The value modulo the width.
    pub fn wrapped(&self, x: i64) -> i64 {
        DType::Int(self.width).wrap(x)
    }

    /// The encoding of a number whose sign is known.
    pub fn encoding(x: &Number) -> Integer {
        let width = x.format.width() as u8;
        let of = |y: f64| DType::Int(width).wrap(x.format.to_bits(y) as i64);
        let (a, b) = (of(x.lo), of(x.hi));
        Integer { lo: a.min(b), hi: a.max(b), width, of: Some((x.clone(), 0)), less: None }
    }

    /// With a summand, modulo the width; nothing where some wrap and some do not.
    pub fn plus(&self, c: i64) -> Option<Integer> {
        let (lo, hi) = (self.wrapped(self.lo.wrapping_add(c)), self.wrapped(self.hi.wrapping_add(c)));
        let of = self.of.as_ref().map(|(x, by)| (x.clone(), self.wrapped(by.wrapping_add(c))));
        (hi.wrapping_sub(lo) == self.hi.wrapping_sub(self.lo) && lo <= hi).then_some(Integer {
            lo,
            hi,
            width: self.width,
            of,
            less: None,
        })
    }

    /// What it leaves of an integer; nothing where some wrap and some do not.
    pub fn taken_from(&self, c: i64) -> Option<Integer> {
        let (lo, hi) = (self.wrapped(c.wrapping_sub(self.hi)), self.wrapped(c.wrapping_sub(self.lo)));
        let less = self.of.as_ref().map(|(x, _)| x.clone());
        (lo <= hi && hi.wrapping_sub(lo) == self.hi.wrapping_sub(self.lo)).then_some(Integer {
            lo,
            hi,
            width: self.width,
            of: None,
            less,
        })
    }

    /// The number whose encoding is an integer less the encoding of a number, both positive and each in one binade, where encodings are
    /// linear in the numbers: nothing is rounded.
    pub fn decoded_less(&self) -> Option<Number> {
        let x = self.less.as_ref()?;
        let format = x.format;
        let mask = u64::MAX >> (64 - u32::from(self.width));
        let at = |bits: i64| format.from_bits(bits as u64 & mask);
        let (lo, hi) = (at(self.lo), at(self.hi));
        let normal = |x: f64| x >= format.min_normal() && x.is_finite();
        let one = |a: f64, b: f64| normal(a) && normal(b) && exponent(a) == exponent(b);
        if !one(lo, hi) || !one(x.lo, x.hi) {
            return None;
        }
        // The slope is that of the binades; the line goes through the ends.
        let k = exponent(lo) - exponent(x.lo);
        if k.abs() > 1000 {
            return None;
        }
        let number = |x: f64| Rc::new(Term::Number(x, None));
        let part = Rc::new(Term::Apply(Prim::Sub, vec![number(x.lo), x.term.clone()], None));
        let moved = Rc::new(Term::Apply(Prim::Mul, vec![part, number(2f64.powi(k))], None));
        let term = Rc::new(Term::Apply(Prim::Add, vec![number(hi), moved], None));
        Some(Number { term, lo, hi, may_be_nan: false, format, unrounded: None })
    }

    /// The number of this encoding, as an operation of the number that it was; nothing where it is none.
    pub fn decoded(&self) -> Option<Number> {
        let (x, by) = self.of.as_ref()?;
        let sign = DType::Int(self.width).int_range().0;
        // The sign turned.
        if *by == sign {
            return Some(x.negated());
        }
        let places = x.format.precision() - 1;
        let k = *by >> places;
        if *by != k << places {
            return None;
        }
        if k == 0 {
            return Some(x.clone());
        }
        let k = i32::try_from(k).ok()?;
        let normal = |y: &Number| y.least() >= x.format.min_normal() && y.lo.is_finite() && y.hi.is_finite();
        x.scaled(k).filter(|y| normal(x) && normal(y))
    }
}
