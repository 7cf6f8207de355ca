//! Derivatives of real functions and of reductions, enclosed between the values of the run and the exact ones.

use std::cmp::Ordering;

use ngc_numerics::binary64::Binary64;
use ngc_numerics::dual::differentiate;
use ngc_numerics::program::Step;
use ngc_numerics::{Enclosure, Format, Interval, Prim, Reduce, ScalarFn};
use smallvec::SmallVec;

/// A number in the run, and the exact one.
pub type Span = (f64, f64);

/// An enclosure of a derivative: a number, and how far the derivative is from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The number.
    pub mid: f64,
    /// How far the derivative may be from it.
    pub rad: f64,
}

/// Where a derivative varies by less than this part between the values of the run and the exact ones, it counts as its middle.
const SMOOTH: f64 = 1.0 / 1024.0;

/// Where a number of the run is farther than this part from the exact one, the difference of both is known to 23 bits.
const FAR: f64 = 1.0 / (1u64 << 30) as f64;

impl Slope {
    /// The derivative of what is moved or added.
    pub const ONE: Slope = Slope { mid: 1.0, rad: 0.0 };
    /// That of what does not depend on it.
    pub const NONE: Slope = Slope { mid: 0.0, rad: 0.0 };
    /// Of which nothing is known.
    const ANY: Slope = Slope { mid: 0.0, rad: f64::INFINITY };

    /// Of a product by one factor, between two values of the other: half-way, which is the mean value.
    fn between((x, y): Span) -> Slope {
        let mid = x / 2.0 + y / 2.0;
        if mid.is_finite() { Slope { mid, rad: 0.0 } } else { Slope::ANY }
    }

    fn of(x: &Interval) -> Slope {
        let mid = x.lo / 2.0 + x.hi / 2.0;
        let rad = (x.hi - mid).max(mid - x.lo);
        match () {
            () if x.may_be_nan || !rad.is_finite() => Slope::ANY,
            () if rad <= mid.abs() * SMOOTH => Slope { mid, rad: 0.0 },
            () => Slope { mid, rad },
        }
    }

    /// That through a value on the way: the product of both.
    pub fn times(self, other: Slope) -> Slope {
        if self == Slope::NONE || other == Slope::NONE {
            return Slope::NONE;
        }
        let reach = other.mid.abs() + other.rad;
        let mid = self.mid * other.mid;
        let rad = product(self.mid.abs(), other.rad) + product(self.rad, reach);
        if mid.is_finite() && !rad.is_nan() { Slope { mid, rad } } else { Slope::ANY }
    }
}

/// What is exactly 0 has no part in what is unbounded.
pub fn product(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

/// A real function with its parameters.
pub struct Scalar {
    function: &'static ScalarFn,
    params: Vec<f64>,
    /// Which primitive function it is, if it is one.
    pub primitive: Option<Prim>,
}

impl Scalar {
    /// A function with the values of its parameters.
    pub fn new(function: &'static ScalarFn, params: Vec<f64>) -> Scalar {
        Scalar { function, params, primitive: function.as_primitive() }
    }

    /// Its value.
    pub fn value(&self, x: &[f64]) -> f64 {
        match (self.primitive, x) {
            (Some(Prim::Add), [x, y]) => x + y,
            (Some(Prim::Sub), [x, y]) => x - y,
            (Some(Prim::Mul), [x, y]) => x * y,
            (Some(Prim::Div), [x, y]) => x / y,
            (Some(Prim::Neg), [x]) => -x,
            _ => {
                let point = |x: &f64| Enclosure::point(*x);
                let params: SmallVec<[Interval; 2]> = self.params.iter().map(point).collect();
                let args: SmallVec<[Interval; 3]> = x.iter().map(point).collect();
                let found = self.function.enclose(&Binary64, &params, &args);
                if found.lo == found.hi { found.lo } else { found.lo + (found.hi - found.lo) / 2.0 }
            }
        }
    }

    /// The derivatives by its arguments, between two points.
    pub fn slopes(&self, x: &[Span]) -> SmallVec<[Slope; 3]> {
        match (self.primitive, x) {
            (Some(Prim::Add), _) => [Slope::ONE, Slope::ONE].into_iter().collect(),
            (Some(Prim::Sub), _) => [Slope::ONE, Slope { mid: -1.0, rad: 0.0 }].into_iter().collect(),
            (Some(Prim::Mul), [x, y]) => [Slope::between(*y), Slope::between(*x)].into_iter().collect(),
            _ => {
                let params: SmallVec<[Interval; 2]> =
                    self.params.iter().map(|x| Enclosure::point(*x)).collect();
                let args: SmallVec<[Interval; 3]> =
                    x.iter().map(|(x, y)| Enclosure::new(x.min(*y), x.max(*y))).collect();
                let derivatives = differentiate(self.function, &params, &args, &[]).slope;
                let slope = |(i, derivative)| match Slope::of(derivative) {
                    // Nothing is known of jumps.
                    Slope { rad, .. } if rad.is_finite() && rad > 0.0 => {
                        self.secant(&params, x, i, derivative)
                    }
                    slope => slope,
                };
                derivatives.iter().enumerate().map(slope).collect()
            }
        }
    }

    /// The slope by an argument from the exact value to that of the run, of arguments before it exact, and of those behind it in the run:
    /// the differences by one argument after the other add up to that of the function.
    fn secant(&self, params: &[Interval], x: &[Span], i: usize, derivative: &Interval) -> Slope {
        let (run, exact) = x[i];
        // What is exact is known to 53 bits.
        if (run - exact).abs() < FAR * run.abs().max(exact.abs()) {
            return Slope::of(derivative);
        }
        // Within its last digit the function may vary by more than over the chord, as a sine of large numbers does.
        let known = |span: &Span| match span.0 == span.1 {
            true => Enclosure::point(span.1),
            false => Enclosure::new(span.1.next_down(), span.1.next_up()),
        };
        let value = |own: Interval| {
            let at = |(j, span): (usize, &Span)| match j.cmp(&i) {
                Ordering::Less => known(span),
                Ordering::Equal => own,
                Ordering::Greater => Enclosure::point(span.0),
            };
            let args: SmallVec<[Interval; 3]> = x.iter().enumerate().map(at).collect();
            self.function.enclose(&Binary64, params, &args)
        };
        let (a, b) = (value(Enclosure::point(run)), value(known(&x[i])));
        let ends = [(a.lo - b.hi) / (run - exact), (a.hi - b.lo) / (run - exact)];
        let (lo, hi) = (ends[0].min(ends[1]).next_down(), ends[0].max(ends[1]).next_up());
        if a.may_be_nan || b.may_be_nan || !lo.is_finite() || !hi.is_finite() {
            return Slope::of(derivative);
        }
        // It lies between the derivatives too.
        let (lo, hi) = (lo.max(derivative.lo), hi.min(derivative.hi));
        if lo <= hi { Slope::of(&Enclosure::new(lo, hi)) } else { Slope::of(derivative) }
    }

    /// Whether its value is one of its arguments, or has no more digits than these.
    pub fn is_exact(&self, format: Format) -> bool {
        use Prim::{Abs, Ceil, Floor, Max, Min, Neg, RoundEven, Sign, Trunc};
        let program = self.function.program();
        let constants = program.enclose_constants(&Binary64);
        let held = |x: f64| format.contains(x);
        program.steps().iter().all(|step| match step {
            Step::Var(_) | Step::Select(..) => true,
            Step::Param(n) => self.params.get(*n).is_some_and(|x| held(*x)),
            Step::Const(n) => constants[*n].lo == constants[*n].hi && held(constants[*n].lo),
            Step::Apply(prim, _) => {
                matches!(prim, Abs | Ceil | Floor | Max | Min | Neg | RoundEven | Sign | Trunc)
            }
        })
    }
}

/// Of a product by each factor: the product of all others.
pub fn of_product(x: &[Span]) -> Vec<Slope> {
    let factor = |(x, y): Span| Slope::of(&Enclosure::new(x.min(y), x.max(y)));
    let mut out = vec![Slope::ONE; x.len()];
    let (mut before, mut after) = (Slope::ONE, Slope::ONE);
    for i in 0..x.len() {
        let j = x.len() - 1 - i;
        out[i] = out[i].times(before);
        out[j] = out[j].times(after);
        before = before.times(factor(x[i]));
        after = after.times(factor(x[j]));
    }
    out
}

/// Of an extreme by each term: 1 at the extreme; shared between that of the run and the exact one where these are two. Exact terms
/// that differ may be one number in `f64`: then each of them may be the exact extreme.
pub fn of_extreme(kind: Reduce, x: &[Span]) -> Vec<Slope> {
    let best = |of: &dyn Fn(&Span) -> f64| x.iter().map(of).reduce(|a, b| joined(kind, a, b));
    let (run, exact) = (best(&|x| x.0), best(&|x| x.1));
    let first = |of: &dyn Fn(&Span) -> f64, best| x.iter().position(|x| Some(of(x)) == best);
    let (run, known) = (first(&|x| x.0, run), first(&|x| x.1, exact));
    let alike = |x: &Span| Some(x.1) == exact;
    let is_certain = x.iter().filter(|x| alike(x)).all(|x| x.0 == x.1);
    let may_be = |i: usize| if is_certain { known == Some(i) } else { alike(&x[i]) };
    let alone = (0..x.len()).filter(|&i| may_be(i) || run == Some(i)).count() <= 1;
    let slope = |i: usize| match may_be(i) || run == Some(i) {
        true if alone => Slope::ONE,
        true => Slope { mid: 0.5, rad: 0.5 },
        false => Slope::NONE,
    };
    (0..x.len()).map(slope).collect()
}

/// Two terms of a reduction as one.
pub fn joined(kind: Reduce, x: f64, y: f64) -> f64 {
    match kind {
        Reduce::Sum => x + y,
        Reduce::Prod => x * y,
        Reduce::Max if x >= y => x,
        Reduce::Min if x <= y => x,
        Reduce::Max | Reduce::Min => y,
    }
}
