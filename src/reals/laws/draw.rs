//! Points at which laws are looked at: all that has been seen to let a false one slip through.

use super::text::{Expr, Text};
use crate::term::Number;

/// The numbers that a law speaks of.
pub(super) fn numbers(text: &Text) -> Vec<f64> {
    let mut all = vec![0.0, 1.0, -1.0, 2.0, 0.5, std::f64::consts::PI, std::f64::consts::FRAC_PI_2];
    let mut note = |part: &Expr| {
        if let Expr::Number(Number::Finite(x)) = part {
            all.extend([x.to_f64(), -x.to_f64()]);
        }
    };
    text.left.each(&mut |part| note(part));
    text.right.each(&mut |part| note(part));
    for relation in text.conditions.iter().flatten() {
        relation.difference.each(&mut |part| note(part));
    }
    all
}

/// A small generator of numbers, the same in every run (xorshift64*).
pub(super) struct Random(u64);

impl Default for Random {
    fn default() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn sign(&mut self) -> f64 {
        if self.below(2) == 0 { 1.0 } else { -1.0 }
    }

    /// The elements of each variable.
    pub(super) fn point(&mut self, text: &Text, numbers: &[f64], extent: usize, n: usize) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        for variable in &text.variables {
            let count = if variable.indexed { extent } else { 1 };
            let mut values: Vec<f64> = Vec::new();
            for _ in 0..count {
                let known: Vec<f64> = all.iter().flatten().chain(&values).copied().collect();
                values.push(self.value(numbers, &known, n));
            }
            all.push(values);
        }
        all
    }

    /// Moderate numbers at half of the points, and at the others all that has been seen to slip through.
    fn value(&mut self, numbers: &[f64], known: &[f64], n: usize) -> f64 {
        let near = |random: &mut Random, x: f64| match random.below(8) {
            // Just beyond, and far beyond.
            6 => x * (1.0 + random.unit()),
            7 => x * 2f64.powi(random.below(80) as i32),
            0 => x,
            1 => x.next_up(),
            2 => x.next_down(),
            3 => -x,
            4 => x * (1.0 + random.sign() * 2f64.powi(-(random.below(50) as i32))),
            _ => x + random.sign() * 2f64.powi(-(random.below(1070) as i32)),
        };
        let finite = |x: f64| if x.is_finite() { x } else { f64::MAX.copysign(x) };
        match self.below(if n.is_multiple_of(2) { 4 } else { 11 }) {
            // Whole numbers, as exponents and counts are.
            9 => self.below(9) as f64 - 2.0,
            0 => self.sign() * self.unit(),
            1 => self.sign() * 8.0 * self.unit(),
            2 => 4.0 * self.unit(),
            3 | 4 if !known.is_empty() => {
                let x = known[self.below(known.len())];
                finite(near(self, x))
            }
            5 | 6 => {
                let x = numbers[self.below(numbers.len())];
                finite(near(self, x))
            }
            7 => self.sign() * 1000.0 * self.unit(),
            8 => self.sign() * 10f64.powf(3.0 + 1.6 * self.unit()),
            _ => {
                let exponent = self.unit() * 2090.0 - 1070.0;
                finite(
                    self.sign() * (1.0 + self.unit()) * 2f64.powf(exponent / 2.0) * 2f64.powf(exponent / 2.0),
                )
            }
        }
    }
}
