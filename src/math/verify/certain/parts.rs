//! Parts of the numbers of a format, and where they are cut.

use ngc_numerics::Format;

use super::follow::Steps;

/// A bound is less where it is less than so much of the one before.
const IMPROVED: f64 = 0.97;

/// Arguments between two numbers.
#[derive(Clone, Copy)]
pub struct Part {
    /// The least.
    pub lo: f64,
    /// The greatest.
    pub hi: f64,
    /// How often it was halved since all was decided.
    pub halvings: u32,
    /// The bound of the part that it is a half of.
    before: f64,
    /// How often in a row halving has not made it less.
    pub stale: u32,
}

impl Part {
    /// A part that is no half of another one.
    pub fn new((lo, hi): (f64, f64)) -> Part {
        Part { lo, hi, halvings: 0, before: f64::INFINITY, stale: 0 }
    }

    /// Both sides of a number, which belongs to the first; the first is the last to be put on a stack.
    pub fn cut(self, format: Format, at: f64) -> [Part; 2] {
        [Part { lo: format.next_up(at), ..self }, Part { hi: at, ..self }]
    }

    /// Both halves of a part that has this bound.
    pub fn halved(self, format: Format, bound: f64) -> [Part; 2] {
        let stale = if bound > IMPROVED * self.before { self.stale + 1 } else { 0 };
        let at = middle(format, self.lo, self.hi);
        Part { halvings: self.halvings + 1, before: bound, stale, ..self }.cut(format, at)
    }
}

/// Where a number stands among all of a format; both zeros stand at 0.
fn order_of(format: Format, x: f64) -> i64 {
    let sign = 1u64 << (format.width() - 1);
    let bits = format.to_bits(x);
    if bits & sign == 0 { bits as i64 } else { -((bits & !sign) as i64) }
}

fn place_of(format: Format, n: i64) -> f64 {
    let size = format.from_bits(n.unsigned_abs());
    if n < 0 { -size } else { size }
}

/// The binades of a range, but for zero; the subnormal numbers are one.
pub fn starts(format: Format, (from, to): (f64, f64)) -> Vec<(f64, f64)> {
    let binade = 1i64 << (format.precision() - 1);
    let (first, last) =
        (order_of(format, from.max(-format.max_finite())), order_of(format, to.min(format.max_finite())));
    let mut all = Vec::new();
    let mut at = first;
    while at <= last {
        let end = match at {
            0 => {
                at = 1;
                continue;
            }
            // The subnormal numbers, and others.
            at if at < 0 => -((-at) / binade * binade).max(1),
            at => (at / binade + 1) * binade - 1,
        };
        let end = end.min(last);
        all.push((place_of(format, at), place_of(format, end)));
        at = end + 1;
    }
    all
}

/// The number in the middle of a part.
pub fn middle(format: Format, lo: f64, hi: f64) -> f64 {
    let (a, b) = (order_of(format, lo), order_of(format, hi));
    place_of(format, a + (b - a) / 2)
}

impl Steps<'_> {
    /// Where a part is cut on which something is not decided: behind the last number, from its first on, at which as much is decided in
    /// the same way.
    pub fn cut(&self, lo: f64, hi: f64, decided: usize) -> f64 {
        let at = boundary(self.format, lo, hi, |x| {
            let mut all = self.follow(x, x, false).decided;
            all.truncate(decided + 1);
            all
        });
        // What changes from number to number says nothing of where to cut.
        if at == lo { middle(self.format, lo, hi) } else { at }
    }
}

/// The last number of a part, from its first on, of which the same holds; or its middle.
pub fn boundary<T: PartialEq>(format: Format, lo: f64, hi: f64, at: impl Fn(f64) -> T) -> f64 {
    let first = at(lo);
    let (mut a, mut b) = (order_of(format, lo), order_of(format, hi));
    if at(hi) == first {
        return middle(format, lo, hi);
    }
    while b - a > 1 {
        let middle = a + (b - a) / 2;
        if at(place_of(format, middle)) == first { a = middle } else { b = middle }
    }
    place_of(format, a)
}
