//! Bounds are attacked where they are least likely to hold: sums at inputs climbed to the worst order of roundings, around
//! powers of two of terms; enclosures at the extremes that a dense grid finds, refined.

use crate::evidence;
use ngc_numerics::enclosure::{Domain, apply};
use ngc_numerics::expr::Prim;
use ngc_numerics::summation::Summation;
use ngc_numerics::{
    Big, Binary64, DType, Data, Enclosure, Evaluator, Format, Mode, Random, Reduce, SumMethod, Tensor,
};
use rayon::prelude::*;
use rug::Float;

/// Where the certificate is fresh, one case in so many is looked at: no multiple of the number of formats or methods.
const STEP: usize = 11;

fn step() -> usize {
    if evidence::whole("sums") { 1 } else { STEP }
}

/// The sum of numbers as it is computed.
fn computed(x: &[f64], format: Format, method: SumMethod) -> f64 {
    let tensor = Tensor::new(DType::Float(format), vec![x.len()], Data::Float(x.to_vec())).expect("a vector");
    let sum = Evaluator::new(Mode::Rounded).reduce(Reduce::Sum, &tensor, &[0], false, format, method);
    sum.expect("a sum").to_f64s()[0]
}

/// What part of its bound the error of a sum takes.
fn share(x: &[f64], format: Format, method: SumMethod) -> f64 {
    let exact = Float::with_val(
        2200,
        Float::sum(x.iter().map(|&x| Float::with_val(53, x)).collect::<Vec<_>>().iter()),
    );
    let total: f64 = x.iter().fold(0.0, |sum, x| ngc_numerics::figures::add(sum, x.abs()));
    let bound = Summation { format, method, terms: x.len() as f64 }.error(total);
    let error = Float::with_val(2200, computed(x, format, method) - exact).abs();
    // Any excess is one, however little the bound.
    if error.is_zero() { 0.0 } else { (error / bound).to_f64_round(rug::float::Round::Up) }
}

/// Climbs from some inputs to worse ones, element by element.
fn worst(mut x: Vec<f64>, format: Format, method: SumMethod, r: &mut Random) -> (f64, Vec<f64>) {
    let u = format.unit_roundoff();
    let round = |x: f64| format.round(x);
    let mut best = share(&x, format, method);
    let steps = x.len().clamp(24, 160);
    for step in 0..2 * steps {
        let i = if step < x.len() { step } else { r.below(x.len()) };
        let old = x[i];
        for new in
            [u, -u, 0.0, 1.0, round(u * 1.5), round(1.0 + 2.0 * u), round(0.5 - u), -old, round(old * 1.25)]
        {
            let kept = x[i];
            x[i] = new;
            let found = share(&x, format, method);
            if found > best { best = found } else { x[i] = kept }
        }
    }
    (best, x)
}

/// Heights of trees, orders and compensations are those of the sums that are computed.
#[test]
fn no_order_of_roundings_is_worse_than_bounds_of_sums() {
    let counts = [2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 257];
    let formats = [Format::F16, Format::Bf16, Format::F8E5M2, Format::F8E4M3FN, Format::F32];
    let cases: Vec<(usize, Format, SumMethod)> = counts
        .iter()
        .flat_map(|&n| {
            formats.into_iter().flat_map(move |f| SumMethod::ALL.into_iter().map(move |m| (n, f, m)))
        })
        .step_by(step())
        .collect();
    let check = |(n, format, method): (usize, Format, SumMethod)| -> Result<(), String> {
        let mut r = Random::seeded(&format!("{n} {format} {method:?}"));
        let one_at = |at: usize| (0..n).map(|i| f64::from(u8::from(i == at))).collect::<Vec<f64>>();
        let drawn = (0..n).map(|_| format.round(r.uniform(-1.0, 1.0))).collect();
        let positive = (0..n).map(|_| format.round(r.uniform(0.5, 1.0))).collect();
        for start in [one_at(0), one_at(n - 1), one_at(n / 2), one_at(n.saturating_sub(2)), drawn, positive] {
            let (share, x) = worst(start, format, method, &mut r);
            if share > 1.0 {
                return Err(format!("{method:?} of {n} numbers of {format}: {share} of the bound at {x:?}"));
            }
        }
        Ok(())
    };
    let count = cases.len();
    let wrong: Vec<String> = cases.into_par_iter().filter_map(|case| check(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(5)].join("\n"));
    println!("certificate: {count} kinds of sums are within their bounds");
}

/// The climb is an attack: without the last level of its tree, the bound of a pairwise sum is exceeded.
#[test]
fn the_climb_reaches_bounds_of_sums() {
    let mut r = Random::new(1);
    for (n, height) in [(3, 2.0), (5, 3.0), (9, 4.0), (17, 5.0)] {
        let starts = (0..n).map(|at| (0..n).map(|i| f64::from(u8::from(i == at))).collect());
        let best = starts.map(|x| worst(x, Format::F16, SumMethod::Pairwise, &mut r).0).fold(0.0, f64::max);
        assert!(best > (height - 0.5) / height, "{best} of the bound of {n} terms");
    }
}

/// Points of an interval where a function may be extreme: its ends, a grid, and what ternary search finds from there.
fn extremes(prim: Prim, lo: f64, hi: f64) -> [f64; 2] {
    const GRID: usize = 24;
    let at = |x: f64| Binary64.unary(prim, &x);
    let grid: Vec<f64> =
        (0..=GRID).map(|i| (lo + (hi - lo) * i as f64 / GRID as f64).clamp(lo, hi)).collect();
    [-1.0, 1.0].map(|sign| {
        let height = |x: f64| {
            let (a, b) = at(x);
            if a.is_nan() || b.is_nan() { f64::NEG_INFINITY } else { sign * (a / 2.0 + b / 2.0) }
        };
        let mut best = lo;
        for i in 0..=GRID {
            let (mut a, mut b) = (grid[i.saturating_sub(1)], grid[(i + 1).min(GRID)]);
            if height(grid[i]) >= height(a).max(height(b)) {
                for _ in 0..40 {
                    let (c, d) = (a + (b - a) / 3.0, b - (b - a) / 3.0);
                    if height(c) < height(d) { a = c } else { b = d }
                }
            }
            let found = [best, grid[i], a, b].into_iter().max_by(|x, y| height(*x).total_cmp(&height(*y)));
            best = found.unwrap_or(best);
        }
        best
    })
}

/// Primitives whose enclosures are wide by intent beyond where they are monotone.
const WIDE: &[Prim] = &[Prim::Sinc, Prim::Stumpff3, Prim::Stumpff5];

/// Enclosures over intervals hold the greatest and the least value there, and are no wider than that needs.
#[test]
fn enclosures_end_where_functions_do() {
    let unary: Vec<Prim> = Prim::ALL.iter().copied().filter(|prim| prim.arity() == 1).collect();
    let from = (-400..=400).map(|i| f64::from(i) * 0.045 + 0.0003);
    let from: Vec<f64> = from.step_by(step()).collect();
    let (functions, starts) = (unary.len(), from.len());
    let check = |prim: Prim| -> Result<(), String> {
        for &lo in &from {
            for width in [0.003, 0.04, 0.3, 1.1, 4.0, 9.0] {
                let hi = lo + width;
                let found = apply(&Binary64, prim, &[&Enclosure::new(lo, hi)]);
                let [least, most] = extremes(prim, lo, hi);
                for x in [lo, hi, least, most] {
                    let (a, b) = Big::new(120).unary(prim, &Float::with_val(53, x));
                    let holds = if a.is_nan() { found.may_be_nan } else { found.lo <= b && found.hi >= a };
                    if !holds {
                        let name = prim.name();
                        return Err(format!("{name} at {x:?} in [{lo:?}, {hi:?}] is {a}, outside {found:?}"));
                    }
                }
                let loose = WIDE.contains(&prim) || found.may_be_nan || !(found.hi - found.lo).is_finite();
                let (bottom, top) = (Binary64.unary(prim, &least).0, Binary64.unary(prim, &most).1);
                let slack = 1e-6 * (1.0 + bottom.abs().max(top.abs()));
                if !loose && (found.lo < bottom - slack || found.hi > top + slack) {
                    let name = prim.name();
                    return Err(format!(
                        "{name} on [{lo:?}, {hi:?}] is in [{bottom:?}, {top:?}], not {found:?}"
                    ));
                }
            }
        }
        Ok(())
    };
    let wrong: Vec<String> = unary.into_par_iter().filter_map(|prim| check(prim).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("certificate: enclosures of {functions} functions end where they do, from {starts} numbers");
}

/// Compensated sums rarely come near their bounds, so these are held against the formulas of their proofs, evaluated at 300
/// bits: not below, and above by no more than rounding outward takes.
#[test]
fn bounds_of_sums_are_those_of_their_proofs() {
    let real = |x: f64| Float::with_val(300, x);
    let one = || real(1.0);
    for format in Format::ALL {
        for n in [2.0f64, 3.0, 4.0, 7.0, 9.0, 33.0, 1000.0] {
            let u = real(format.unit_roundoff());
            let up = one() + &u;
            // As the module documents them.
            let rho = Float::with_val(300, &u * &up) * &up;
            let kahan = |b: &Float| {
                let g = Float::with_val(300, b + &one()) * &rho / (one() - &rho);
                let square = Float::with_val(300, &up * &up) + 1u32;
                let r = square * &u * (Float::with_val(300, &g * n) + 1u32);
                r + Float::with_val(300, &u * &u) * n * (Float::with_val(300, &u) + 2u32) * b + g
            };
            let coarse = kahan(&real(4.0));
            let naive = Float::with_val(300, &u * (n - 1.0));
            let local = Float::with_val(300, &naive * (one() + &naive));
            let second = Float::with_val(300, &u * n) * &local;
            let height = Float::with_val(300, &u * n.log2().ceil());
            let wanted = [
                (SumMethod::Naive, Some(naive.clone())),
                (SumMethod::Pairwise, Some(naive.min(&(Float::with_val(300, &height) / (one() - &height))))),
                (SumMethod::Kahan, (coarse <= 1.0).then(|| kahan(&(coarse.clone() + 1u32)))),
                (SumMethod::Neumaier, Some(Float::with_val(300, &u * (one() + &second)) + &second)),
            ];
            for (method, wanted) in wanted {
                let found = Summation { format, method, terms: n }.relative();
                match wanted {
                    None => assert_eq!(found, f64::INFINITY, "{method:?} of {n} in {format}"),
                    Some(wanted) if wanted > 0.0 => {
                        let most = Float::with_val(300, &wanted * (1.0 + 1e-12));
                        assert!(
                            found >= wanted && found <= most,
                            "{method:?} of {n} in {format}: {found} {wanted}"
                        );
                    }
                    // A tree so high that its bound is lost leaves that of any order.
                    Some(_) => assert!(found.is_finite(), "{method:?} of {n} in {format}"),
                }
            }
        }
    }
}
