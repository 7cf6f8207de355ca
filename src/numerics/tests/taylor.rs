//! The round-off analysis against computations: the published kernels of testdata/error-bounds.tsv, kernels of machine
//! learning, and random formulas. `cargo test --release -p ngc-numerics --test taylor -- --nocapture` prints the tables.

mod fpcore;

use std::time::Instant;

use fpcore::Kernel;
use ngc_numerics::program::Program;
use ngc_numerics::taylor::{ErrorBound, Options, RoundedGraph, analyze};
use ngc_numerics::{Big, Domain, Enclosure, Expr, Format};
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

    fn at(&self, inputs: &[f64]) -> Float {
        let d = Big::new(300);
        let inputs: Vec<_> = inputs.iter().map(|&x| Enclosure::point(d.embed(x))).collect();
        self.program.enclose(&d, &self.constants, &[], &inputs).lo
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
