//! The round-off analysis against computations: the published kernels of testdata/error-bounds.tsv, kernels of machine
//! learning, and random formulas (ten million values where NGC_NIGHTLY is set). `cargo test --release -p ngc-numerics --test taylor -- --nocapture` prints the tables.

mod fpcore;

use std::time::Instant;

use fpcore::Kernel;
use ngc_numerics::expr::{exp, log, max, sqrt, square};
use ngc_numerics::program::Program;
use ngc_numerics::taylor::{ErrorBound, Options, RoundedGraph, analyze};
use ngc_numerics::{Big, Cmp, Domain, Enclosure, Expr, Format, Prim};
use rug::Float;

/// A formula evaluated at 300 bits.
struct Reference {
    program: Program,
    constants: Vec<Enclosure<Float>>,
}

impl Reference {
    fn new(formula: &Expr) -> Reference {
        let program = Program::new(formula);
        let constants = program.enclose_constants(&Big::new(300));
        Reference { program, constants }
    }

    fn enclose(&self, inputs: &[f64]) -> Enclosure<Float> {
        let d = Big::new(300);
        let inputs: Vec<_> = inputs.iter().map(|&x| Enclosure::point(d.embed(x))).collect();
        self.program.enclose(&d, &self.constants, &[], &inputs)
    }

    fn at(&self, inputs: &[f64]) -> Float {
        self.enclose(inputs).lo
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of the format between two numbers; one in eight is at an end.
    fn within(&mut self, (lo, hi): (f64, f64), format: Format) -> f64 {
        let x = match self.next() % 16 {
            0 => lo,
            1 => hi,
            _ => lo + (hi - lo) * self.unit(),
        };
        let x = format.round(x);
        if x < lo {
            format.next_up(lo)
        } else if x > hi {
            format.next_down(hi)
        } else {
            x
        }
    }
}

/// The largest absolute error, and the largest relative to the greater of the value and the floor, in a sample.
fn observe(
    graph: &RoundedGraph,
    sides: &[(f64, f64)],
    constraints: &[Expr],
    format: Format,
    count: usize,
    floor: f64,
) -> (f64, f64) {
    let reference = Reference::new(&graph.formula());
    let constraints: Vec<Reference> = constraints.iter().map(Reference::new).collect();
    let mut random = Random(1);
    let (mut absolute, mut relative) = (0f64, 0f64);
    for _ in 0..count {
        let inputs: Vec<f64> = sides.iter().map(|&side| random.within(side, format)).collect();
        if constraints.iter().any(|constraint| constraint.at(&inputs) < 0) {
            continue;
        }
        let exact = reference.at(&inputs);
        let error = Float::with_val(300, &exact - graph.evaluate(&inputs)).abs();
        absolute = absolute.max(error.to_f64());
        relative = relative.max((error / exact.abs().max(&Float::with_val(300, floor))).to_f64());
    }
    (absolute, relative)
}

/// The sides as the format has them: a side that is one number is what that is rounded to.
fn sides_in(kernel: &Kernel, format: Format) -> Vec<(f64, f64)> {
    let side =
        |&(lo, hi): &(f64, f64)| if lo == hi { (format.round(lo), format.round(hi)) } else { (lo, hi) };
    kernel.sides.iter().map(side).collect()
}

fn samples() -> usize {
    if cfg!(debug_assertions) { 1000 } else { 4000 }
}

/// Analyses and samples a kernel, and asserts that no sample exceeds the bounds.
fn check(
    name: &str,
    graph: &RoundedGraph,
    sides: &[(f64, f64)],
    constraints: &[Expr],
    format: Format,
) -> (ErrorBound, (f64, f64), f64) {
    let options = Options { constraints: constraints.to_vec(), ..Options::default() };
    let start = Instant::now();
    let bound = analyze(graph, sides, &options);
    let seconds = start.elapsed().as_secs_f64();
    let observed = observe(graph, sides, constraints, format, samples(), bound.floor);
    assert!(observed.0 <= bound.absolute, "{name} {}: {} > {bound:?}", format.name(), observed.0);
    assert!(observed.1 <= bound.relative, "{name} {}: {} > {bound:?}", format.name(), observed.1);
    (bound, observed, seconds)
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// Of the bounds on the published kernels over those of FPTaylor: the geometric mean, and the worst.
fn published(format: Format) -> (f64, f64) {
    let mut ratios = Vec::new();
    println!(
        "{:14} {:>10} {:>10} {:>10} {:>7} {:>10} {:>10} {:>7} {:>6}",
        format.name(),
        "bound",
        "fptaylor",
        "observed",
        "ratio",
        "relative",
        "observed",
        "boxes",
        "s"
    );
    for kernel in fpcore::kernels() {
        let graph = RoundedGraph::from_expr(&kernel.formula, format);
        let sides = sides_in(&kernel, format);
        let (bound, observed, seconds) = check(&kernel.name, &graph, &sides, &kernel.constraints, format);
        let (known, fptaylor) = match format {
            Format::F64 => (kernel.observed64, kernel.fptaylor64),
            _ => (kernel.observed32, kernel.fptaylor32),
        };
        // The column is rounded to five places, and was sampled without regard to the constraints.
        let over_box = match kernel.constraints.is_empty() {
            true => bound,
            false => analyze(&graph, &sides, &Options::default()),
        };
        assert!(over_box.absolute >= known * (1.0 - 1e-4), "{}: {known} > {over_box:?}", kernel.name);
        let ratio = fptaylor.map(|fptaylor| bound.absolute / fptaylor);
        ratios.extend(ratio);
        println!(
            "{:14} {:10.4e} {:10.4e} {:10.4e} {:7.3} {:10.3e} {:10.3e} {:7} {:6.3}",
            kernel.name,
            bound.absolute,
            fptaylor.unwrap_or(f64::NAN),
            observed.0,
            ratio.unwrap_or(f64::NAN),
            bound.relative,
            observed.1,
            bound.boxes,
            seconds
        );
    }
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let mean = geometric_mean(&ratios);
    println!("geometric mean {mean:.3}, worst {worst:.3}, of {}\n", ratios.len());
    (mean, worst)
}

#[test]
fn published_kernels_in_f64() {
    let (mean, worst) = published(Format::F64);
    assert!(mean <= 1.2 && worst <= 2.0, "{mean} {worst}");
}

#[test]
fn published_kernels_in_f32() {
    let (mean, worst) = published(Format::F32);
    assert!(mean <= 1.2 && worst <= 2.0, "{mean} {worst}");
}

/// Kernels of machine learning, `count` logits at a time.
fn softmax(count: usize) -> Expr {
    let logits: Vec<Expr> = (0..count).map(Expr::var).collect();
    let greatest = logits.iter().cloned().reduce(max).unwrap();
    let weights: Vec<Expr> = logits.iter().map(|x| exp(x - &greatest)).collect();
    &weights[0] / weights.iter().cloned().reduce(|a, b| a + b).unwrap()
}

fn log_sum_exp(count: usize) -> Expr {
    let logits: Vec<Expr> = (0..count).map(Expr::var).collect();
    let greatest = logits.iter().cloned().reduce(max).unwrap();
    let weights = logits.iter().map(|x| exp(x - &greatest));
    &greatest + log(weights.reduce(|a, b| a + b).unwrap())
}

#[test]
fn kernels_of_machine_learning_are_within_ten_times_of_the_observed_error() {
    let x = Expr::var(0);
    let y = Expr::var(1);
    let sigmoid = 1 / (1 + exp(-&x));
    let mean = (&x + &y) / 2;
    let centred = [&x - &mean, &y - &mean];
    let variance = (square(&centred[0]) + square(&centred[1])) / 2;
    let layer_norm = &centred[0] / sqrt(variance + Expr::ratio(1, 1000));
    let rms_norm = &x / sqrt((square(&x) + square(&y)) / 2 + Expr::ratio(1, 1000));
    let kernels = [
        ("sigmoid", sigmoid.clone(), 1),
        ("silu", &x * &sigmoid, 1),
        ("softmax2", softmax(2), 2),
        ("softmax3", softmax(3), 3),
        ("logsoftmax2", &x - log_sum_exp(2), 2),
        ("logsoftmax3", &x - log_sum_exp(3), 3),
        ("logsumexp2", log_sum_exp(2), 2),
        ("logsumexp3", log_sum_exp(3), 3),
        ("rms norm", rms_norm, 2),
        ("layer norm", layer_norm, 2),
    ];
    println!("{:22} {:>10} {:>10} {:>7} {:>7} {:>6}", "", "bound", "observed", "ratio", "boxes", "s");
    for (name, formula, inputs) in kernels {
        for reach in [8.0, 80.0] {
            for format in [Format::F32, Format::F16, Format::Bf16] {
                let graph = RoundedGraph::from_expr(&formula, format);
                let sides = vec![(-reach, reach); inputs];
                let (bound, observed, seconds) = check(name, &graph, &sides, &[], format);
                let ratio = bound.absolute / observed.0;
                // Over [-80, 80] the two-pass variance may cancel altogether in 8 and 11 bits.
                let limit = if name == "layer norm" && reach == 80.0 { 40.0 } else { 10.0 };
                assert!(ratio <= limit, "{name} over {reach} in {}: {bound:?}, {observed:?}", format.name());
                let label = format!("{name} {reach} {}", format.name());
                println!(
                    "{label:22} {:10.3e} {:10.3e} {ratio:7.2} {:7} {seconds:6.3}",
                    bound.absolute, observed.0, bound.boxes
                );
            }
        }
    }
}

/// A formula of random primitives over three inputs.
fn random_formula(random: &mut Random) -> Expr {
    let mut terms: Vec<Expr> = (0..3).map(Expr::var).collect();
    terms.push(Expr::ratio(random.next() as i64 % 50, 1 + random.next() as i64 % 9 * 5));
    for _ in 0..2 + random.next() % 6 {
        let pick = |random: &mut Random| {
            let recent = terms.len().min(4);
            let from = if random.next().is_multiple_of(2) { terms.len() - recent } else { 0 };
            terms[from + random.next() as usize % (terms.len() - from)].clone()
        };
        let term = if random.next().is_multiple_of(16) {
            let cmp = [Cmp::Lt, Cmp::Ge, Cmp::Eq][random.next() as usize % 3];
            Expr::select(cmp, pick(random), pick(random), pick(random), pick(random))
        } else {
            // Arithmetic makes half of the operations.
            let among = if random.next().is_multiple_of(2) { 4 } else { Prim::ALL.len() };
            let prim = Prim::ALL[random.next() as usize % among];
            Expr::apply(prim, (0..prim.arity()).map(|_| pick(random)).collect())
        };
        terms.push(term);
    }
    terms.pop().unwrap()
}

fn random_side(random: &mut Random, format: Format) -> (f64, f64) {
    let scale = 2f64.powi(random.next() as i32 % 12 - 4);
    let scale = match random.next() % 12 {
        0 => format.min_normal() * scale,
        1 => format.max_finite() / scale.max(1.0),
        _ => scale,
    };
    let (a, b) = (2.0 * random.unit() - 1.0, random.unit());
    let (lo, hi) = match random.next() % 4 {
        0 => (a, a),
        1 => (a, a + b / 64.0),
        2 => (0.0, b),
        _ => (a, a + b),
    };
    (format.round(lo * scale), format.round(hi * scale))
}

#[test]
fn no_sample_of_a_random_formula_exceeds_its_bounds() {
    let mut random = Random(3);
    let formulas = match std::env::var_os("NGC_NIGHTLY") {
        Some(_) => 800_000,
        None if cfg!(debug_assertions) => 4000,
        None => 40_000,
    };
    let (mut finite, mut compared) = (0, 0);
    for case in 0..formulas {
        let format = Format::ALL[case % Format::ALL.len()];
        let formula = random_formula(&mut random);
        let sides: Vec<_> = (0..3).map(|_| random_side(&mut random, format)).collect();
        if sides.iter().any(|(lo, hi)| !lo.is_finite() || !hi.is_finite()) {
            continue;
        }
        let graph = RoundedGraph::from_expr(&formula, format);
        let effort = [1, 1000, 10_000][random.next() as usize % 3];
        let bound = analyze(&graph, &sides, &Options { effort, ..Options::default() });
        if !bound.absolute.is_finite() {
            continue;
        }
        finite += 1;
        let reference = Reference::new(&graph.formula());
        for _ in 0..20 {
            let inputs: Vec<f64> = sides.iter().map(|&side| random.within(side, format)).collect();
            if inputs.iter().zip(&sides).any(|(&x, &(lo, hi))| x < lo || x > hi) {
                continue;
            }
            let Enclosure { lo: exact, hi, may_be_nan } = reference.enclose(&inputs);
            let slack = Float::with_val(300, &hi - &exact);
            let wide = exact != hi && !slack.is_finite()
                || Float::with_val(300, slack.abs_ref()) > Float::with_val(300, exact.abs_ref()) >> 64;
            if may_be_nan || wide {
                // The reference decides a jump at a number that is not a float of 300 bits.
                continue;
            }
            let computed = graph.evaluate(&inputs);
            let error = Float::with_val(300, &exact - computed).abs();
            let slack = slack << 4;
            let size = Float::with_val(300, exact.abs_ref()).max(&Float::with_val(300, bound.floor));
            let context = || {
                format!(
                    "{formula} {} at {inputs:?} in {sides:?}: {computed} for {exact}, {bound:?}",
                    format.name()
                )
            };
            assert!(error <= Float::with_val(300, &slack + bound.absolute), "{}", context());
            assert!(error <= slack + size * bound.relative, "{}", context());
            assert!(bound.range.0 <= computed && computed <= bound.range.1, "{}", context());
            compared += 1;
        }
    }
    println!("{finite} finite bounds of {formulas}, {compared} values compared");
    assert!(finite * 4 > formulas, "{finite} finite bounds of {formulas}");
}

fn absolute(formula: &Expr, sides: &[(f64, f64)], format: Format) -> f64 {
    analyze(&RoundedGraph::from_expr(formula, format), sides, &Options::default()).absolute
}

#[test]
fn what_cannot_be_bounded_is_infinite_and_what_is_exact_is_zero() {
    let x = Expr::var(0);
    assert_eq!(absolute(&(1 / &x), &[(-1.0, 1.0)], Format::F64), f64::INFINITY);
    assert_eq!(absolute(&log(&x), &[(-1.0, 1.0)], Format::F64), f64::INFINITY);
    assert_eq!(absolute(&(&x * &x), &[(0.0, 1000.0)], Format::F16), f64::INFINITY);
    assert_eq!(absolute(&(2 * &x - 1), &[(0.5, 1.0)], Format::Bf16), 0.0);
    assert_eq!(absolute(&max(&x, -&x), &[(-3.0, 5.0)], Format::F8E4M3FN), 0.0);
    // The root's slope is unbounded at zero, its error is not.
    let diagonal = absolute(&sqrt(square(&x)), &[(-1.0, 1.0)], Format::F64);
    assert!(diagonal > 0.0 && diagonal < 3e-16, "{diagonal}");
}

#[test]
fn a_cast_is_rounded_and_accumulates_in_its_own_format() {
    let mut graph = RoundedGraph::new();
    let (x, y) = (graph.input(0, Format::F16), graph.input(1, Format::F16));
    // A product of two f16 is an f32, so only the cast rounds.
    let product = graph.apply(Prim::Mul, &[x, y], Format::F32);
    let sides = [(1.0, 2.0), (1.0, 2.0)];
    let options = Options::default();
    let wide = analyze(&graph, &sides, &options).absolute;
    graph.cast(product, Format::F16);
    let narrow = analyze(&graph, &sides, &options).absolute;
    assert_eq!((wide, narrow), (0.0, 2f64.powi(-10)));
}

#[test]
fn a_jump_that_rounding_may_cross_counts_in_full() {
    let (x, y) = (Expr::var(0), Expr::var(1));
    // The sum rounds up to 1 from below.
    let step = absolute(&ngc_numerics::expr::floor(&x + &y), &[(0.25, 0.75), (0.0, 0.25)], Format::F32);
    assert!(step >= 1.0, "{step}");
    let steady = absolute(&ngc_numerics::expr::floor(&x + &y), &[(0.25, 0.5), (0.0, 0.25)], Format::F32);
    assert_eq!(steady, 0.0);
}

/// Formulas for which an earlier analysis was wrong.
#[test]
fn signs_poles_and_cuts_are_not_taken_for_what_they_are_not() {
    let (x, y) = (Expr::var(0), Expr::var(1));
    // The sign of a large number is no multiple of its last place.
    let sign = absolute(&(ngc_numerics::expr::sign(&x) + &x), &[(-32768.0, -32768.0)], Format::F8E5M2);
    assert_eq!(sign, 1.0);
    // At the pole IEEE 754 decides the comparison, and an interval does not.
    let pole = &x / (&y - &y);
    let chosen = Expr::select(Cmp::Ge, pole, &y, &x, 0);
    let graph = RoundedGraph::from_expr(&chosen, Format::F16);
    let bound = analyze(&graph, &[(0.0, 1.0), (0.5, 1.0)], &Options::default());
    assert!(bound.absolute == f64::INFINITY || bound.range.1 >= 1.0, "{bound:?}");
    // The difference of the angles on both sides of the cut is 2π.
    let angle = ngc_numerics::expr::atan2(&x + &y - 1, -1);
    assert!(absolute(&angle, &[(0.1, 0.9), (0.1, 0.9)], Format::F32) >= 6.0);
}
