//! Values with first and second derivatives, enclosed: forward differentiation of a formula in interval arithmetic.
//!
//! Where a formula has a kink (`abs`, `min`, `max`, a branch), the slope is the hull of both sides, so it still bounds
//! every difference quotient; the curvature is that of the smooth pieces. Branches of formulas are continuous; a formula
//! that jumps has an unbounded slope.

use smallvec::SmallVec;

use crate::binary64::Binary64;
use crate::enclosure::{self, Enclosure};
use crate::expr::{Cmp, Prim};
use crate::figures::{Interval, WHOLE, intersect};
use crate::program::Step;
use crate::scalar::ScalarFn;

/// A value, its gradient and its Hessian (by rows, both triangles).
#[derive(Clone, Debug)]
pub struct Jet {
    /// Encloses the value.
    pub value: Interval,
    /// Encloses the partial derivatives.
    pub slope: SmallVec<[Interval; 3]>,
    /// Encloses the second partial derivatives.
    pub curve: SmallVec<[Interval; 4]>,
}

fn point(x: f64) -> Interval {
    Enclosure::point(x)
}

fn ap(prim: Prim, args: &[&Interval]) -> Interval {
    enclosure::apply(&Binary64, prim, args)
}

fn neg(x: Interval) -> Interval {
    ap(Prim::Neg, &[&x])
}

/// Whether an enclosure is this number and nothing else. Most slopes are 0 or 1, and need no arithmetic.
fn is(x: &Interval, number: f64) -> bool {
    x.lo == number && x.hi == number && !x.may_be_nan
}

fn add(x: Interval, y: Interval) -> Interval {
    match (is(&x, 0.0), is(&y, 0.0)) {
        (true, _) => y,
        (_, true) => x,
        _ => ap(Prim::Add, &[&x, &y]),
    }
}
fn sub(x: Interval, y: Interval) -> Interval {
    ap(Prim::Sub, &[&x, &y])
}
fn mul(x: Interval, y: Interval) -> Interval {
    if is(&x, 0.0) || is(&y, 0.0) {
        return point(0.0);
    }
    match (is(&x, 1.0), is(&y, 1.0)) {
        (true, _) => y,
        (_, true) => x,
        _ => ap(Prim::Mul, &[&x, &y]),
    }
}
fn div(x: Interval, y: Interval) -> Interval {
    ap(Prim::Div, &[&x, &y])
}
fn square(x: Interval) -> Interval {
    ap(Prim::Square, &[&x])
}
fn of(prim: Prim, x: Interval) -> Interval {
    ap(prim, &[&x])
}

impl Jet {
    fn constant(value: Interval, n: usize) -> Jet {
        Jet {
            value,
            slope: SmallVec::from_elem(point(0.0), n),
            curve: SmallVec::from_elem(point(0.0), n * n),
        }
    }

    fn variable(value: Interval, i: usize, n: usize) -> Jet {
        let mut jet = Jet::constant(value, n);
        jet.slope[i] = point(1.0);
        jet
    }

    fn is_constant(&self) -> bool {
        self.slope.iter().all(|d| d.lo == 0.0 && d.hi == 0.0 && !d.may_be_nan)
    }

    /// `f` of this, whose value, derivative and second derivative are given.
    fn chain(&self, value: Interval, d: Interval, dd: Interval) -> Jet {
        if self.is_constant() {
            return Jet::constant(value, self.slope.len());
        }
        let n = self.slope.len();
        let slope = self.slope.iter().map(|&g| mul(d, g)).collect();
        let curve = (0..n * n)
            .map(|k| {
                add(
                    mul(dd, product(self.slope[k / n], self.slope[k % n], k / n == k % n)),
                    mul(d, self.curve[k]),
                )
            })
            .collect();
        Jet { value, slope, curve }
    }

    /// A function of two, whose partial derivatives are given: by x, by y, by xx, xy, yy.
    fn join(x: &Jet, y: &Jet, value: Interval, d: [Interval; 2], dd: [Interval; 3]) -> Jet {
        let n = x.slope.len();
        let slope = (0..n).map(|i| add(mul(d[0], x.slope[i]), mul(d[1], y.slope[i]))).collect();
        let cross = |i: usize, j: usize| add(mul(x.slope[i], y.slope[j]), mul(x.slope[j], y.slope[i]));
        let curve = (0..n * n)
            .map(|k| {
                let (i, j) = (k / n, k % n);
                let mut sum = add(mul(d[0], x.curve[k]), mul(d[1], y.curve[k]));
                for (which, by) in dd.iter().enumerate().filter(|(_, by)| !is(by, 0.0)) {
                    let slopes = match which {
                        0 => product(x.slope[i], x.slope[j], i == j),
                        1 => cross(i, j),
                        _ => product(y.slope[i], y.slope[j], i == j),
                    };
                    sum = add(sum, mul(*by, slopes));
                }
                sum
            })
            .collect();
        Jet { value, slope, curve }
    }

    fn hull(&self, other: &Jet, value: Interval) -> Jet {
        let hulls = |a: &[Interval], b: &[Interval]| -> Vec<Interval> {
            a.iter().zip(b).map(|(x, y)| x.hull(*y)).collect()
        };
        Jet {
            value,
            slope: hulls(&self.slope, &other.slope).into(),
            curve: hulls(&self.curve, &other.curve).into(),
        }
    }
}

fn product(x: Interval, y: Interval, same: bool) -> Interval {
    if same { square(x) } else { mul(x, y) }
}

/// The function with its derivatives over enclosures of its parameters and arguments. Argument `i` is the same value as
/// argument `alias[i]` (its own number where it stands alone), and counts as that one.
pub fn differentiate(f: &ScalarFn, params: &[Interval], args: &[Interval], alias: &[usize]) -> Jet {
    let n = args.len();
    let program = f.program();
    let constants = program.enclose_constants(&Binary64);
    let same = |i: usize| alias.get(i).copied().unwrap_or(i);
    // The number of the first step with the same value.
    let steps = program.steps();
    let variable = |k: usize| match steps[k] {
        Step::Var(i) => Some(same(i)),
        _ => None,
    };
    let mut jets: Vec<Jet> = Vec::with_capacity(steps.len());
    for step in steps {
        let jet = match step {
            Step::Var(i) => match args.get(*i) {
                Some(x) => Jet::variable(*x, same(*i), n),
                None => Jet::constant(WHOLE, n),
            },
            Step::Param(i) => Jet::constant(params.get(*i).copied().unwrap_or(WHOLE), n),
            Step::Const(i) => Jet::constant(constants[*i], n),
            Step::Apply(Prim::Fma, [x, y, z]) => {
                let xy = if equal(*x, *y, &variable) {
                    apply(Prim::Square, &jets[*x])
                } else {
                    binary(Prim::Mul, &jets[*x], &jets[*y])
                };
                binary(Prim::Add, &xy, &jets[*z])
            }
            Step::Apply(prim, [x, y, _]) if prim.arity() == 2 => {
                let jet = &jets[*x];
                match (equal(*x, *y, &variable), prim) {
                    (true, Prim::Mul) => apply(Prim::Square, jet),
                    (true, Prim::Min | Prim::Max) => jet.clone(),
                    (true, Prim::Sub) => Jet::constant(sub_self(&jet.value, 0.0), n),
                    (true, Prim::Div) => Jet::constant(div_self(&jet.value), n),
                    _ => binary(*prim, jet, &jets[*y]),
                }
            }
            Step::Apply(prim, [x, ..]) => apply(*prim, &jets[*x]),
            Step::Select(cmp, [a, b, t, e]) => select(*cmp, &jets[*a], &jets[*b], &jets[*t], &jets[*e]),
        };
        jets.push(jet);
    }
    jets.pop().unwrap_or_else(|| Jet::constant(WHOLE, n))
}

fn equal(x: usize, y: usize, variable: &impl Fn(usize) -> Option<usize>) -> bool {
    x == y || variable(x).is_some_and(|v| variable(y) == Some(v))
}

fn sub_self(x: &Interval, value: f64) -> Interval {
    let unbounded = x.lo.is_infinite() || x.hi.is_infinite();
    Enclosure { lo: value, hi: value, may_be_nan: x.may_be_nan || unbounded }
}

fn div_self(x: &Interval) -> Interval {
    let one = sub_self(x, 1.0);
    Enclosure { may_be_nan: one.may_be_nan || (x.lo <= 0.0 && x.hi >= 0.0), ..one }
}

fn select(cmp: Cmp, a: &Jet, b: &Jet, t: &Jet, e: &Jet) -> Jet {
    match a.value.compare(cmp, &b.value) {
        Some(true) => t.clone(),
        Some(false) => e.clone(),
        None => t.hull(e, enclosure::select::<Binary64>(cmp, &a.value, &b.value, &t.value, &e.value)),
    }
}

/// Whether a step function is constant on an interval.
fn is_flat(value: &Interval) -> bool {
    value.lo == value.hi && !value.may_be_nan
}

fn apply(prim: Prim, x: &Jet) -> Jet {
    let v = of(prim, x.value);
    let (d, dd) = derivatives(prim, x.value, v);
    x.chain(v, d, dd)
}

/// First and second derivative of a unary primitive on `x`, where its value is `v`.
fn derivatives(prim: Prim, x: Interval, v: Interval) -> (Interval, Interval) {
    let (one, two) = (point(1.0), point(2.0));
    let ln2 = || of(Prim::Log, two);
    let ln10 = || of(Prim::Log, point(10.0));
    match prim {
        Prim::Neg => (point(-1.0), point(0.0)),
        Prim::Abs => {
            let d = match (x.lo >= 0.0, x.hi <= 0.0) {
                (true, _) => one,
                (_, true) => point(-1.0),
                _ => Enclosure::new(-1.0, 1.0),
            };
            (d, point(0.0))
        }
        Prim::Sign | Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc => {
            if is_flat(&v) {
                (point(0.0), point(0.0))
            } else {
                (WHOLE, WHOLE)
            }
        }
        Prim::Square => (mul(two, x), two),
        Prim::Sqrt => (div(point(0.5), v), div(point(-0.25), mul(x, v))),
        Prim::Cbrt => {
            let power = square(v);
            (div(one, mul(point(3.0), power)), div(point(-2.0), mul(point(9.0), mul(x, power))))
        }
        Prim::Exp => (v, v),
        Prim::Expm1 => (of(Prim::Exp, x), of(Prim::Exp, x)),
        Prim::Exp2 => (mul(ln2(), v), mul(square(ln2()), v)),
        Prim::Log => (div(one, x), neg(div(one, square(x)))),
        Prim::Log1p => {
            let y = add(one, x);
            (div(one, y), neg(div(one, square(y))))
        }
        Prim::Log2 => (div(one, mul(x, ln2())), neg(div(one, mul(square(x), ln2())))),
        Prim::Log10 => (div(one, mul(x, ln10())), neg(div(one, mul(square(x), ln10())))),
        Prim::Sin => (of(Prim::Cos, x), neg(v)),
        Prim::Cos => (neg(of(Prim::Sin, x)), neg(v)),
        Prim::Tan => {
            let d = add(one, square(v));
            (d, mul(two, mul(v, d)))
        }
        Prim::Asin | Prim::Acos => {
            // 1 - x² as (1 - x)(1 + x), which rounds less near the ends.
            let r = of(Prim::Sqrt, mul(sub(one, x), add(one, x)));
            let (d, dd) = (div(one, r), div(x, mul(r, square(r))));
            if prim == Prim::Asin { (d, dd) } else { (neg(d), neg(dd)) }
        }
        Prim::Atan => {
            let d = div(one, add(one, square(x)));
            (d, mul(point(-2.0), mul(x, square(d))))
        }
        Prim::Sinh => (of(Prim::Cosh, x), v),
        Prim::Cosh => (of(Prim::Sinh, x), v),
        Prim::Tanh => {
            let d = div(one, square(of(Prim::Cosh, x)));
            (d, mul(point(-2.0), mul(v, d)))
        }
        Prim::Asinh => {
            let r = of(Prim::Sqrt, add(one, square(x)));
            (div(one, r), neg(div(x, mul(r, square(r)))))
        }
        Prim::Acosh => {
            let r = of(Prim::Sqrt, mul(sub(x, one), add(x, one)));
            (div(one, r), neg(div(x, mul(r, square(r)))))
        }
        Prim::Atanh => {
            let d = div(one, mul(sub(one, x), add(one, x)));
            (d, mul(two, mul(x, square(d))))
        }
        Prim::Erf | Prim::Erfc => {
            let (lo, hi) = enclosure::Domain::pi(&Binary64);
            let scale = div(two, of(Prim::Sqrt, Enclosure::new(lo, hi)));
            let d = mul(scale, of(Prim::Exp, neg(square(x))));
            let d = if prim == Prim::Erf { d } else { neg(d) };
            (d, mul(point(-2.0), mul(x, d)))
        }
        Prim::Exprel => {
            let d = of(Prim::ExprelSlope, x);
            (d, exprel_moment(2, x, d))
        }
        Prim::ExprelSlope => {
            let d = exprel_moment(2, x, v);
            (d, exprel_moment(3, x, d))
        }
        Prim::Exprel2 => {
            let slope = of(Prim::ExprelSlope, x);
            let second = exprel_moment(2, x, slope);
            // Averages of t and of t² with the positive weights (1 - t) e^(t x), which are at most their whole.
            let least = |whole: Interval| Enclosure { lo: 0.0, hi: whole.hi, may_be_nan: false };
            let d = intersect(&least(v), &sub(slope, second));
            (d, intersect(&least(d), &sub(second, exprel_moment(3, x, second))))
        }
        Prim::Erfcx => {
            let (lo, hi) = enclosure::Domain::pi(&Binary64);
            let scale = div(two, of(Prim::Sqrt, Enclosure::new(lo, hi)));
            // x f(x) rises, so that a falling f falls by less than f / x where x > 0; and f is convex.
            let most = if x.lo > 0.0 { div(v, point(x.lo)).hi } else { f64::INFINITY };
            let falls = Enclosure::new(-most, 0.0);
            // At infinity the product of x and f has a limit, and no value.
            let d = if x.hi == f64::INFINITY {
                falls
            } else {
                intersect(&falls, &sub(mul(two, mul(x, v)), scale))
            };
            (d, intersect(&Enclosure::new(0.0, f64::INFINITY), &mul(two, add(v, mul(x, d)))))
        }
        // Derivatives of Stumpff's c_k(x²) = ∫ (1-t)^(k-1) cos(x t) dt / (k-1)!, so |c_k'| ≤ 1/(k+1)!, |c_k''| ≤ 2/(k+2)!.
        Prim::Sinc => {
            let difference = sub(of(Prim::Stumpff3, x), stumpff2(x));
            (within(mul(x, difference), 2.0), within(sub(neg(v), mul(two, difference)), 3.0))
        }
        Prim::Stumpff3 => {
            let (c4, c5) = (stumpff4(x), of(Prim::Stumpff5, x));
            // c₃ falls with |x|.
            let falls = sub(mul(point(3.0), c5), c4);
            let falls = Enclosure { hi: falls.hi.min(0.0), ..falls };
            let bend = sub(sub(mul(point(6.0), c4), v), mul(point(12.0), c5));
            (within(mul(x, falls), 24.0), within(bend, 60.0))
        }
        Prim::Stumpff5 => (within(WHOLE, 720.0), within(WHOLE, 2520.0)),
        Prim::Lgamma => (of(Prim::Digamma, x), of(Prim::Trigamma, x)),
        // There is none below 0.
        Prim::StirlingError if x.hi <= 0.0 => (WHOLE, WHOLE),
        // μ(x) = ∫ g(t) e^(-t x) dt over t ≥ 0, where 0 ≤ g ≤ 1/12 (Binet), so of each derivative t^n g(t) is the kernel.
        Prim::StirlingError => {
            let x = Enclosure { lo: x.lo.max(0.0), ..x };
            let (square, inverse) = (square(x), div(one, x));
            let first = sub(of(Prim::Digamma, x), sub(of(Prim::Log, x), div(inverse, two)));
            let second = sub(of(Prim::Trigamma, x), add(inverse, div(one, mul(two, square))));
            let least = Enclosure::new(-div(point(1.0 / 12.0), square).hi.next_up(), 0.0);
            let most = Enclosure::new(0.0, div(point(1.0 / 6.0), mul(x, square)).hi.next_up());
            (intersect(&least, &first), intersect(&most, &second))
        }
        Prim::Digamma => (of(Prim::Trigamma, x), of(Prim::Tetragamma, x)),
        Prim::Trigamma => (of(Prim::Tetragamma, x), polygamma(3, x)),
        Prim::Tetragamma => (polygamma(3, x), polygamma(4, x)),
        _ => (WHOLE, WHOLE),
    }
}

/// `∫ t^k e^(t x) dt` over [0, 1], from the same integral of `t^(k-1)`: positive, at most that, and `(e^x - k before) / x`.
fn exprel_moment(k: i32, x: Interval, before: Interval) -> Interval {
    let bound = Enclosure { lo: 0.0, hi: before.hi, may_be_nan: false };
    let rest = sub(of(Prim::Exp, x), mul(point(f64::from(k)), before));
    intersect(&bound, &div(rest, x))
}

/// `ψ⁽ᵏ⁾` on positive numbers: `k! Σ 1 / (x + j)^(k+1)` over j ≥ 0, of which the terms from the eighth on are above their
/// integral by between a half and the whole of the first of them; with the sign `(-1)^(k+1)`.
fn polygamma(k: u8, x: Interval) -> Interval {
    const APART: u8 = 8;
    if x.is_undefined() || x.may_be_nan || x.lo <= 0.0 {
        return WHOLE;
    }
    let number = |n: u8| point(f64::from(n));
    let factorial = number((1..=k).product());
    let power = |x: Interval, n: u8| (1..n).fold(x, |power, _| mul(power, x));
    let term = |x: Interval| div(factorial, power(x, k + 1));
    let size = |x: Interval| {
        let near = (0..APART).map(|j| term(add(x, number(j)))).reduce(add).unwrap_or(WHOLE);
        let rest = add(x, number(APART));
        let integral = div(factorial, mul(number(k), power(rest, k)));
        add(add(near, integral), mul(term(rest), Enclosure::new(0.5, 1.0)))
    };
    let value = Enclosure { lo: size(point(x.hi)).lo, hi: size(point(x.lo)).hi, may_be_nan: false };
    if value.lo.is_nan() || value.hi.is_nan() {
        return WHOLE;
    }
    if k % 2 == 1 { value } else { neg(value) }
}

fn stumpff2(x: Interval) -> Interval {
    div(square(of(Prim::Sinc, div(x, point(2.0)))), point(2.0))
}

fn stumpff4(x: Interval) -> Interval {
    let half = div(x, point(2.0));
    div(mul(of(Prim::Stumpff3, half), add(point(1.0), of(Prim::Sinc, half))), point(8.0))
}

/// What is known to lie between `-1/n` and `1/n`.
fn within(x: Interval, n: f64) -> Interval {
    let most = (1.0 / n).next_up();
    intersect(&Enclosure::new(-most, most), &x)
}

fn binary(prim: Prim, x: &Jet, y: &Jet) -> Jet {
    let (zero, one, two) = (point(0.0), point(1.0), point(2.0));
    let v = ap(prim, &[&x.value, &y.value]);
    let (a, b) = (x.value, y.value);
    let linear = [zero; 3];
    match prim {
        Prim::Add => Jet::join(x, y, v, [one, one], linear),
        Prim::Sub => Jet::join(x, y, v, [one, point(-1.0)], linear),
        Prim::Mul => Jet::join(x, y, v, [b, a], [zero, one, zero]),
        Prim::Div => {
            let r = div(one, b);
            let by_y = neg(mul(v, r));
            Jet::join(x, y, v, [r, by_y], [zero, neg(square(r)), mul(two, mul(v, square(r)))])
        }
        Prim::Min | Prim::Max => {
            let (below, above) = (a.hi <= b.lo, a.lo >= b.hi);
            let first = if prim == Prim::Min { below } else { above };
            let second = if prim == Prim::Min { above } else { below };
            match (first, second) {
                (true, _) => Jet { value: v, ..x.clone() },
                (_, true) => Jet { value: v, ..y.clone() },
                _ => x.hull(y, v),
            }
        }
        Prim::Rem => {
            let turns = of(Prim::Trunc, div(a, b));
            if is_flat(&turns) {
                Jet::join(x, y, v, [one, neg(turns)], linear)
            } else {
                Jet::join(x, y, v, [WHOLE, WHOLE], [WHOLE; 3])
            }
        }
        Prim::Pow => {
            let log = of(Prim::Log, a);
            let lower = |by: f64| ap(Prim::Pow, &[&a, &sub(b, point(by))]);
            // An integral power exists for negative bases too, but not as a function of the exponent.
            let by_y = if y.is_constant() { zero } else { mul(v, log) };
            let by_yy = if y.is_constant() { zero } else { mul(by_y, log) };
            let by_xy = if y.is_constant() { zero } else { mul(lower(1.0), add(one, mul(b, log))) };
            let by_x = mul(b, lower(1.0));
            let by_xx = mul(mul(b, sub(b, one)), lower(2.0));
            Jet::join(x, y, v, [by_x, by_y], [by_xx, by_xy, by_yy])
        }
        Prim::Hypot => {
            let unit = |d: Interval| {
                let bounded = Enclosure::new(-1.0, 1.0);
                if d.is_undefined() || d.may_be_nan {
                    return bounded;
                }
                Enclosure::new(d.lo.clamp(-1.0, 1.0), d.hi.clamp(-1.0, 1.0))
            };
            let (dx, dy) = (unit(div(a, v)), unit(div(b, v)));
            let second = [div(square(dy), v), neg(div(mul(dx, dy), v)), div(square(dx), v)];
            Jet::join(x, y, v, [dx, dy], second)
        }
        Prim::Atan2 => {
            // Arguments are the ordinate, then the abscissa. The branch cut is the negative abscissa.
            if b.lo <= 0.0 && a.lo <= 0.0 && a.hi >= 0.0 {
                return Jet::join(x, y, v, [WHOLE, WHOLE], [WHOLE; 3]);
            }
            let rr = add(square(a), square(b));
            let (by_a, by_b) = (div(b, rr), neg(div(a, rr)));
            let cross = div(sub(square(a), square(b)), square(rr));
            let twice = div(mul(two, mul(a, b)), square(rr));
            Jet::join(x, y, v, [by_a, by_b], [neg(twice), cross, twice])
        }
        _ => Jet::join(x, y, v, [WHOLE, WHOLE], [WHOLE; 3]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derivative::derivative;
    use crate::expr::Expr;
    use crate::program::Program;

    /// The symbolic derivative at a point.
    fn at(formula: &Expr, point: &[f64]) -> Interval {
        let program = Program::new(formula);
        let args: Vec<Interval> = point.iter().map(|&x| Enclosure::point(x)).collect();
        program.enclose(&Binary64, &program.enclose_constants(&Binary64), &[], &args)
    }

    /// Two tables of derivatives, made for different ends (intervals that are as narrow as they can be; formulas that share
    /// terms), say the same.
    #[test]
    fn derivatives_are_those_of_the_formulas() {
        for &prim in Prim::ALL {
            // In the domain of every primitive, away from kinks, ties and jumps.
            let base = if prim == Prim::Acosh { [1.625, 0.4375, 0.75] } else { [0.625, 0.4375, 0.75] };
            let n = prim.arity();
            let formula = Expr::apply(prim, (0..n).map(Expr::var).collect());
            let point = &base[..n];
            let args: Vec<Interval> = point.iter().map(|&x| Enclosure::new(x - 1e-3, x + 1e-3)).collect();
            let jets: Vec<Jet> = args.iter().enumerate().map(|(i, &x)| Jet::variable(x, i, n)).collect();
            let jet = match &jets[..] {
                [x] => apply(prim, x),
                [x, y] => binary(prim, x, y),
                [x, y, z] => binary(Prim::Add, &binary(Prim::Mul, x, y), z),
                _ => continue,
            };
            let meets = |known: &Interval, found: Interval| {
                let close = known.lo <= found.hi && found.lo <= known.hi;
                close && (known.hi - known.lo) <= 0.1 * (1.0 + found.hi.abs())
            };
            for i in 0..n {
                if prim == Prim::Tetragamma {
                    continue;
                }
                let slope = derivative(&formula, i);
                assert!(meets(&jet.slope[i], at(&slope, point)), "{} by {i}: {jet:?}", prim.name());
                // No formula is the derivative of ψ''.
                for k in (0..n).filter(|_| prim != Prim::Trigamma) {
                    let curve = at(&derivative(&slope, k), point);
                    assert!(meets(&jet.curve[i * n + k], curve), "{} by {i}, {k}: {jet:?}", prim.name());
                }
            }
        }
    }
}
