//! Sums in a given format, term by term as the method says.
//!
//! Many sums run side by side ("lanes"); each is the same as if it ran alone. Every operation is rounded to the
//! accumulation format.
//!
//! - naive: `((x0 + x1) + x2) + ...`
//! - pairwise: the tree whose left half holds the largest power of two below the count; height ⌈log2 n⌉.
//! - Kahan (1965): `y = x - c; t = s + y; c = (t - s) - y; s = t`.
//! - Neumaier (1974): the error of each `s + x`, from the larger of the two, is added up beside the sum and joins it at
//!   the end.
//!
//! The first term starts the sum without an addition, so a sum of -0 is -0; the sum of no terms is +0. A compensation that
//! is not finite (the sum overflowed) counts as zero, so an overflow stays an infinity.

use crate::Format;

/// How terms are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SumMethod {
    /// One after another.
    #[default]
    Naive,
    /// By a balanced tree.
    Pairwise,
    /// Kahan's compensation.
    Kahan,
    /// Neumaier's compensation.
    Neumaier,
}

impl SumMethod {
    /// All methods.
    pub const ALL: [SumMethod; 4] = [Self::Naive, Self::Pairwise, Self::Kahan, Self::Neumaier];

    /// The method's name.
    pub const fn name(self) -> &'static str {
        match self {
            SumMethod::Naive => "naive",
            SumMethod::Pairwise => "pairwise",
            SumMethod::Kahan => "kahan",
            SumMethod::Neumaier => "neumaier",
        }
    }

    /// The inverse of [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<SumMethod> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Arithmetic in an accumulation format.
pub trait Accumulator: Copy + Sync {
    /// What holds a value.
    type Value: Copy + Send + Sync + PartialOrd;
    /// Rounds to the format.
    fn round(self, x: f64) -> Self::Value;
    /// The value as `f64`.
    fn widen(self, x: Self::Value) -> f64;
    /// The rounded sum.
    fn add(self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// The rounded difference.
    fn sub(self, x: Self::Value, y: Self::Value) -> Self::Value;
    /// The rounded product.
    fn mul(self, x: Self::Value, y: Self::Value) -> Self::Value;
}

/// Accumulation in f32, by the processor.
#[derive(Clone, Copy)]
pub struct Single;

/// Accumulation in f64, by the processor.
#[derive(Clone, Copy)]
pub struct Double;

/// Accumulation in a format narrower than f32. Operations in `f64` rounded again are correctly rounded, as
/// 53 ≥ 2p + 2.
#[derive(Clone, Copy)]
pub struct Narrow(pub Format);

impl Accumulator for Single {
    type Value = f32;
    fn round(self, x: f64) -> f32 {
        x as f32
    }
    fn widen(self, x: f32) -> f64 {
        x.into()
    }
    fn add(self, x: f32, y: f32) -> f32 {
        x + y
    }
    fn sub(self, x: f32, y: f32) -> f32 {
        x - y
    }
    fn mul(self, x: f32, y: f32) -> f32 {
        x * y
    }
}

impl Accumulator for Double {
    type Value = f64;
    fn round(self, x: f64) -> f64 {
        x
    }
    fn widen(self, x: f64) -> f64 {
        x
    }
    fn add(self, x: f64, y: f64) -> f64 {
        x + y
    }
    fn sub(self, x: f64, y: f64) -> f64 {
        x - y
    }
    fn mul(self, x: f64, y: f64) -> f64 {
        x * y
    }
}

impl Accumulator for Narrow {
    type Value = f64;
    fn round(self, x: f64) -> f64 {
        self.0.round(x)
    }
    fn widen(self, x: f64) -> f64 {
        x
    }
    fn add(self, x: f64, y: f64) -> f64 {
        self.0.round(x + y)
    }
    fn sub(self, x: f64, y: f64) -> f64 {
        self.0.round(x - y)
    }
    fn mul(self, x: f64, y: f64) -> f64 {
        self.0.round(x * y)
    }
}

/// Evaluates `$body` with `$acc` bound to the accumulator of a format.
macro_rules! with_accumulator {
    ($format:expr, $acc:ident => $body:expr) => {
        match $format {
            $crate::Format::F64 => {
                let $acc = $crate::sum::Double;
                $body
            }
            $crate::Format::F32 => {
                let $acc = $crate::sum::Single;
                $body
            }
            narrow => {
                let $acc = $crate::sum::Narrow(narrow);
                $body
            }
        }
    };
}
pub(crate) use with_accumulator;

/// Sums of `count` terms in each of `lanes` lanes; `term(k, row)` writes term `k` of every lane.
pub fn sum_lanes<A: Accumulator>(
    acc: A,
    method: SumMethod,
    count: usize,
    lanes: usize,
    mut term: impl FnMut(usize, &mut [A::Value]),
) -> Vec<A::Value> {
    let zero = acc.round(0.0);
    let mut sum = vec![zero; lanes];
    if count == 0 {
        return sum;
    }
    let mut row = vec![zero; lanes];
    let finite = |c: A::Value| if acc.widen(c).is_finite() { c } else { zero };
    match method {
        SumMethod::Naive => {
            term(0, &mut sum);
            for k in 1..count {
                term(k, &mut row);
                for (s, &x) in sum.iter_mut().zip(&row) {
                    *s = acc.add(*s, x);
                }
            }
        }
        SumMethod::Pairwise => return pairwise(acc, count, lanes, term),
        SumMethod::Kahan => {
            term(0, &mut sum);
            let mut compensation = vec![zero; lanes];
            for k in 1..count {
                term(k, &mut row);
                for ((s, c), &x) in sum.iter_mut().zip(&mut compensation).zip(&row) {
                    let y = acc.sub(x, *c);
                    let t = acc.add(*s, y);
                    *c = finite(acc.sub(acc.sub(t, *s), y));
                    *s = t;
                }
            }
        }
        SumMethod::Neumaier => {
            term(0, &mut sum);
            let mut compensation = vec![zero; lanes];
            for k in 1..count {
                term(k, &mut row);
                for ((s, c), &x) in sum.iter_mut().zip(&mut compensation).zip(&row) {
                    let t = acc.add(*s, x);
                    let (large, small) =
                        if acc.widen(*s).abs() >= acc.widen(x).abs() { (*s, x) } else { (x, *s) };
                    let error = acc.add(acc.sub(large, t), small);
                    *c = finite(acc.add(*c, error));
                    *s = t;
                }
            }
            for (s, &c) in sum.iter_mut().zip(&compensation) {
                // Without this a sum of -0 would lose its sign to a compensation of +0.
                if c != zero {
                    *s = acc.add(*s, c);
                }
            }
        }
    }
    sum
}

/// The tree is built like a binary counter: level `i` holds a finished subtree of 2^i terms.
fn pairwise<A: Accumulator>(
    acc: A,
    count: usize,
    lanes: usize,
    mut term: impl FnMut(usize, &mut [A::Value]),
) -> Vec<A::Value> {
    let zero = acc.round(0.0);
    let mut levels: Vec<Vec<A::Value>> = vec![];
    let mut spare = vec![];
    let join = |mut left: Vec<A::Value>, right: Vec<A::Value>, spare: &mut Vec<Vec<A::Value>>| {
        left.iter_mut().zip(&right).for_each(|(x, &y)| *x = acc.add(*x, y));
        spare.push(right);
        left
    };
    for k in 0..count {
        let mut row = spare.pop().unwrap_or_else(|| vec![zero; lanes]);
        term(k, &mut row);
        for _ in 0..k.trailing_ones() {
            if let Some(left) = levels.pop() {
                row = join(left, row, &mut spare);
            }
        }
        levels.push(row);
    }
    let mut sum = levels.pop().unwrap_or_else(|| vec![zero; lanes]);
    while let Some(left) = levels.pop() {
        sum = join(left, sum, &mut spare);
    }
    sum
}

/// The sum of terms, each first rounded to the accumulation format; the result is a value of that format.
pub fn sum(format: Format, method: SumMethod, terms: &[f64]) -> f64 {
    with_accumulator!(format, acc => {
        acc.widen(sum_lanes(acc, method, terms.len(), 1, |k, row| row[0] = acc.round(terms[k]))[0])
    })
}
