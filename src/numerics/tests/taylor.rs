//! The round-off analysis against computations: the published kernels of testdata/error-bounds.tsv, kernels of machine
//! learning, and random formulas (ten million values where NGC_NIGHTLY is set). The table is docs/error-bounds.md;
//! `cargo test --release -p ngc-numerics --test all taylor -- --nocapture --test-threads=1` prints it with times.

use crate::evidence;
use crate::fpcore;

use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use crate::fpcore::Kernel;
use ngc_numerics::expr::{exp, log, max, sqrt, square};
use ngc_numerics::program::Program;
use ngc_numerics::taylor::{ErrorBound, Inexact, Options, RoundedGraph, analyze};
use ngc_numerics::{Big, Cmp, Domain, Enclosure, Expr, Format, Prim, Random};
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

/// A value of the format between two numbers; one in eight is at an end.
fn within(random: &mut Random, (lo, hi): (f64, f64), format: Format) -> f64 {
    let x = match random.below(16) {
        0 => lo,
        1 => hi,
        _ => random.uniform(lo, hi),
    };
    into(x, (lo, hi), format)
}

/// The number as a value of the format between two numbers.
fn into(x: f64, (lo, hi): (f64, f64), format: Format) -> f64 {
    let x = format.round(x);
    if x < lo {
        format.next_up(lo)
    } else if x > hi {
        format.next_down(hi)
    } else {
        x
    }
}

/// Errors of a graph at points.
struct Observer<'a> {
    graph: &'a RoundedGraph,
    sides: &'a [(f64, f64)],
    format: Format,
    floor: f64,
    reference: Reference,
    constraints: Vec<Reference>,
    /// The largest error, absolute, and relative to the greater of the value and the floor.
    largest: (f64, f64),
}

/// Points drawn at random, and steps of the climb from each of the worst.
const DRAWN: usize = 1000;
const CLIMBED: usize = 200;

impl Observer<'_> {
    fn at(&mut self, inputs: &[f64]) -> Option<(f64, f64)> {
        if self.constraints.iter().any(|constraint| constraint.at(inputs) < 0) {
            return None;
        }
        let exact = self.reference.at(inputs);
        let error = Float::with_val(300, &exact - self.graph.evaluate(inputs)).abs();
        let absolute = error.to_f64();
        let relative = (error / exact.abs().max(&Float::with_val(300, self.floor))).to_f64();
        self.largest = (self.largest.0.max(absolute), self.largest.1.max(relative));
        Some((absolute, relative))
    }

    /// Draws points, and climbs from those with the largest errors: a coordinate at a time is drawn anew, moved by a few
    /// units in its last places, or brought near another one, where differences cancel.
    fn search(&mut self) -> (f64, f64) {
        let mut random = Random::new(1);
        let mut drawn = Vec::with_capacity(DRAWN);
        for _ in 0..DRAWN {
            let inputs: Vec<f64> =
                self.sides.iter().map(|&side| within(&mut random, side, self.format)).collect();
            if let Some(errors) = self.at(&inputs) {
                drawn.push((errors, inputs));
            }
        }
        let figures: [fn((f64, f64)) -> f64; 2] = [|errors| errors.0, |errors| errors.1];
        for figure in figures {
            drawn.sort_by(|a, b| figure(b.0).total_cmp(&figure(a.0)));
            for (errors, mut best) in drawn.iter().take(4).cloned() {
                let mut most = figure(errors);
                for _ in 0..CLIMBED {
                    let mut inputs = best.clone();
                    let k = random.below(inputs.len());
                    inputs[k] = self.moved(&mut random, &inputs, k);
                    if let Some(errors) = self.at(&inputs)
                        && figure(errors) >= most
                    {
                        (most, best) = (figure(errors), inputs);
                    }
                }
            }
        }
        self.largest
    }

    fn moved(&self, random: &mut Random, inputs: &[f64], k: usize) -> f64 {
        let near = match random.below(4) {
            0 => return within(random, self.sides[k], self.format),
            1 => inputs[random.below(inputs.len())],
            _ => inputs[k],
        };
        let steps = 2f64.powi(random.below(self.format.precision() as usize) as i32);
        let by = self.format.ulp(near) * steps * if random.chance(50) { 1.0 } else { -1.0 };
        into(near + by, self.sides[k], self.format)
    }
}

/// The sides as the format has them: a side that is one number is what that is rounded to.
fn sides_in(kernel: &Kernel, format: Format) -> Vec<(f64, f64)> {
    let side =
        |&(lo, hi): &(f64, f64)| if lo == hi { (format.round(lo), format.round(hi)) } else { (lo, hi) };
    kernel.sides.iter().map(side).collect()
}

/// A row of the table.
struct Row {
    name: String,
    format: Format,
    bound: ErrorBound,
    observed: (f64, f64),
    fptaylor: Option<f64>,
    seconds: f64,
}

impl Row {
    /// Analyses and samples a kernel, and asserts that no sample exceeds the bounds.
    fn new(name: String, formula: &Expr, sides: &[(f64, f64)], options: &Options, format: Format) -> Row {
        let graph = RoundedGraph::from_expr(formula, format);
        let start = Instant::now();
        let bound = analyze(&graph, sides, options);
        let seconds = start.elapsed().as_secs_f64();
        let mut observer = Observer {
            graph: &graph,
            sides,
            format,
            floor: bound.floor,
            reference: Reference::new(&graph.formula()),
            constraints: options.constraints.iter().map(Reference::new).collect(),
            largest: (0.0, 0.0),
        };
        let observed = observer.search();
        assert!(observed.0 <= bound.absolute, "{name} {}: {} > {bound:?}", format.name(), observed.0);
        assert!(observed.1 <= bound.relative, "{name} {}: {} > {bound:?}", format.name(), observed.1);
        let row = Row { name, format, bound, observed, fptaylor: None, seconds };
        println!("{}, {:.3} s", row.cells(), row.seconds);
        row
    }

    /// The bound over FPTaylor's.
    fn ratio(&self) -> Option<f64> {
        self.fptaylor.map(|fptaylor| self.bound.absolute / fptaylor)
    }

    /// The bound over the largest error seen.
    fn slack(&self) -> f64 {
        self.bound.absolute / self.observed.0
    }

    fn cells(&self) -> String {
        let optional = |x: Option<f64>, digits: usize| x.map_or(String::new(), |x| format!("{x:.digits$e}"));
        format!(
            "| {} | {} | {:.4e} | {} | {} | {:.3e} | {:.2} | {:.3e} | {:.3e} | {} |",
            self.name,
            self.format.name(),
            self.bound.absolute,
            optional(self.fptaylor, 4),
            self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}")),
            self.observed.0,
            self.slack(),
            self.bound.relative,
            self.observed.1,
            self.bound.boxes,
        )
    }
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// The published kernels in a format.
fn published(format: Format) -> &'static [Row] {
    static ROWS: [OnceLock<Vec<Row>>; 2] = [OnceLock::new(), OnceLock::new()];
    let in_f64 = format == Format::F64;
    ROWS[usize::from(in_f64)].get_or_init(|| {
        let row = |kernel: &Kernel| {
            let sides = sides_in(kernel, format);
            let options = Options { constraints: kernel.constraints.clone(), ..Options::default() };
            let row = Row::new(kernel.name.clone(), &kernel.formula, &sides, &options, format);
            let known = if in_f64 { kernel.observed64 } else { kernel.observed32 };
            // The column is rounded to five places, and was sampled without regard to the constraints.
            if kernel.constraints.is_empty() {
                assert!(
                    row.bound.absolute >= known * (1.0 - 1e-4),
                    "{}: {known} > {:?}",
                    row.name,
                    row.bound
                );
            }
            Row { fptaylor: if in_f64 { kernel.fptaylor64 } else { kernel.fptaylor32 }, ..row }
        };
        fpcore::kernels().iter().map(row).collect()
    })
}

/// Of the bounds over those of FPTaylor: the geometric mean, and the worst.
fn against_fptaylor(rows: &[Row]) -> (f64, f64) {
    let ratios: Vec<f64> = rows.iter().filter_map(Row::ratio).collect();
    (geometric_mean(&ratios), ratios.iter().copied().fold(0.0, f64::max))
}

#[test]
fn published_kernels_in_f64() {
    let (mean, worst) = against_fptaylor(published(Format::F64));
    assert!(mean <= 1.2 && worst <= 2.0, "{mean} {worst}");
}

#[test]
fn published_kernels_in_f32() {
    let (mean, worst) = against_fptaylor(published(Format::F32));
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

/// A name, a formula and the inputs' sides.
type Case = (String, Expr, Vec<(f64, f64)>);

/// Where the certificate is fresh, one row in so many is looked at.
const STEP: usize = 8;

fn kernels_of_machine_learning() -> Vec<Case> {
    let (x, y) = (Expr::var(0), Expr::var(1));
    let sigmoid = 1 / (1 + exp(-&x));
    let mean = (&x + &y) / 2;
    let centred = [&x - &mean, &y - &mean];
    let variance = (square(&centred[0]) + square(&centred[1])) / 2;
    let logits = [
        ("sigmoid", sigmoid.clone(), 1),
        ("silu", &x * &sigmoid, 1),
        ("softmax of 2", softmax(2), 2),
        ("softmax of 3", softmax(3), 3),
        ("log-softmax of 2", &x - log_sum_exp(2), 2),
        ("log-softmax of 3", &x - log_sum_exp(3), 3),
        ("log-sum-exp of 2", log_sum_exp(2), 2),
        ("log-sum-exp of 3", log_sum_exp(3), 3),
        ("rms norm of 2", &x / sqrt((square(&x) + square(&y)) / 2 + Expr::ratio(1, 1000)), 2),
        ("layer norm of 2", &centred[0] / sqrt(variance + Expr::ratio(1, 1000)), 2),
    ];
    let mut kernels = Vec::new();
    for (name, formula, inputs) in logits {
        for reach in [8.0, 80.0] {
            let sides = vec![(-reach, reach); inputs];
            kernels.push((format!("{name}, [-{reach}, {reach}]"), formula.clone(), sides));
        }
    }
    let probabilities = [
        ("x log x", &x * log(&x), 1),
        ("p log(p/q)", &x * log(&x / &y), 2),
        ("p log p - p log q", &x * log(&x) - &x * log(&y), 2),
        ("p log(p/q) - p + q", &x * log(&x / &y) - &x + &y, 2),
    ];
    for (name, formula, inputs) in probabilities {
        for least in [10, 2] {
            let side = (2f64.powi(-least), 1.0);
            kernels.push((format!("{name}, [2^-{least}, 1]"), formula.clone(), vec![side; inputs]));
        }
    }
    kernels
}

fn machine_learning() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = Vec::new();
        let step = if evidence::whole("functions") { 1 } else { STEP };
        for (n, (name, formula, sides)) in kernels_of_machine_learning().into_iter().enumerate() {
            for (m, format) in [Format::F32, Format::F16, Format::Bf16].into_iter().enumerate() {
                if (3 * n + m) % step != 0 {
                    continue;
                }
                rows.push(Row::new(name.clone(), &formula, &sides, &Options::default(), format));
            }
        }
        rows
    })
}

#[test]
fn kernels_of_machine_learning_are_within_ten_times_of_the_observed_error() {
    for row in machine_learning() {
        assert!(row.slack() <= 10.0, "{}", row.cells());
    }
}

#[test]
fn a_normalised_value_is_bounded_where_its_square_underflows_too() {
    let (x, y) = (Expr::var(0), Expr::var(1));
    let squares = square(&x) + square(&y);
    let options = Options { effort: 1 << 13, ..Options::default() };
    for format in [Format::F32, Format::F16, Format::Bf16, Format::F8E5M2, Format::F8E4M3FN] {
        let tiny = format.min_subnormal();
        for epsilon in [0.0, tiny, 0.125] {
            let root = sqrt(&squares / 2 + epsilon);
            for formula in [&x / &root, &x * (1 / &root), &x / sqrt(&squares * 0.5 + epsilon)] {
                for side in [(-8.0, 8.0), (-9.0 * tiny, 15.0 * tiny), (tiny.sqrt() / 4.0, tiny.sqrt() * 8.0)]
                {
                    let side = (format.round(side.0), format.round(side.1));
                    Row::new(formula.to_string(), &formula, &[side; 2], &options, format);
                }
            }
        }
        let normal = &x / sqrt(&squares / 2 + Expr::ratio(1, 8));
        let row = Row::new("rms".into(), &normal, &[(-8.0, 8.0); 2], &options, format);
        assert!(row.bound.range.1 < 1.42 * (1.0 + 20.0 * format.unit_roundoff()), "{:?}", row.bound);
    }
}

/// The page of the table.
fn page() -> String {
    let mut page = String::from(
        "# Round-off bounds of scalar kernels\n\n\
         Written from the test; `NGC_BLESS=1 cargo test -p ngc-numerics --test all taylor` renews it. Inputs are exact values of \
         the format. Absolute and relative bounds hold for every input; the observed errors, each below the bound to its \
         left, are the largest of a thousand points drawn at random and of a climb from the worst of them. Relative errors \
         are relative to the exact value's magnitude, or, where the value may be zero, to at least its largest magnitude \
         times the square root of the unit roundoff. Boxes count the work of both searches.\n\n\
         ## Published kernels\n\n\
         Those of FPTaylor (testdata/error-bounds.tsv), beside its bounds with the improved rounding model and exact \
         optimisation.\n\n",
    );
    let header = "| kernel | format | bound | FPTaylor | ratio | observed | bound over observed | relative bound | observed | boxes |\n\
                  |---|---|---|---|---|---|---|---|---|---|\n";
    let listed = |rows: &[Row]| rows.iter().map(|row| row.cells() + "\n").collect::<String>();
    let mut all = Vec::new();
    for format in [Format::F64, Format::F32] {
        let rows = published(format);
        let (mean, worst) = against_fptaylor(rows);
        writeln!(
            page,
            "In {} the geometric mean of the ratios to FPTaylor is {mean:.3}, the greatest {worst:.3}.\n\n{header}{}",
            format.name(),
            listed(rows),
        )
        .expect("a String takes all");
        all.extend(rows.iter().map(Row::slack));
    }
    let rows = machine_learning();
    let slack: Vec<f64> = rows.iter().map(Row::slack).collect();
    writeln!(
        page,
        "The geometric mean of bound over observed error is {:.2}.\n\n\
         ## Kernels of machine learning\n\n\
         Each operation is rounded in the format, constants too. The geometric mean of bound over observed error is {:.2}, \
         the greatest {:.2}.\n\n{header}{}",
        geometric_mean(&all),
        geometric_mean(&slack),
        slack.iter().copied().fold(0.0, f64::max),
        listed(rows).trim_end(),
    )
    .expect("a String takes all");
    page
}

#[test]
fn the_table_in_the_documentation_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/error-bounds.md");
    if !evidence::whole("functions") {
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let stated = |row: &Row| found.lines().any(|line| line == row.cells());
        assert!(machine_learning().iter().all(stated), "docs/error-bounds.md is out of date");
        return;
    }
    let page = page();
    println!("certificate: docs/error-bounds.md is current");
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/error-bounds.md is out of date; NGC_BLESS=1 cargo test -p ngc-numerics --test all taylor renews it"
    );
}

/// A formula of random primitives over three inputs.
fn random_formula(random: &mut Random) -> Expr {
    let mut terms: Vec<Expr> = (0..3).map(Expr::var).collect();
    terms.push(Expr::ratio(random.below(50) as i64, 1 + random.below(9) as i64 * 5));
    for _ in 0..2 + random.below(6) {
        let pick = |random: &mut Random| {
            let recent = terms.len().min(4);
            let from = if random.chance(50) { terms.len() - recent } else { 0 };
            terms[from + random.below(terms.len() - from)].clone()
        };
        let term = if random.below(16) == 0 {
            let cmp = random.pick(&[Cmp::Lt, Cmp::Ge, Cmp::Eq]);
            Expr::select(cmp, pick(random), pick(random), pick(random), pick(random))
        } else {
            // Arithmetic makes half of the operations.
            let among = if random.chance(50) { 4 } else { Prim::ALL.len() };
            let prim = Prim::ALL[random.below(among)];
            Expr::apply(prim, (0..prim.arity()).map(|_| pick(random)).collect())
        };
        terms.push(term);
    }
    terms.pop().unwrap()
}

fn random_side(random: &mut Random, format: Format) -> (f64, f64) {
    let scale = 2f64.powi(random.below(12) as i32 - 4);
    let scale = match random.below(12) {
        0 => format.min_normal() * scale,
        1 => format.max_finite() / scale.max(1.0),
        _ => scale,
    };
    let (a, b) = (2.0 * random.unit() - 1.0, random.unit());
    let (lo, hi) = match random.below(4) {
        0 => (a, a),
        1 => (a, a + b / 64.0),
        2 => (0.0, b),
        _ => (a, a + b),
    };
    (format.round(lo * scale), format.round(hi * scale))
}

#[test]
fn no_sample_of_a_random_formula_exceeds_its_bounds() {
    let mut random = Random::new(3);
    let formulas = match std::env::var_os("NGC_NIGHTLY") {
        Some(_) => 800_000,
        None if !evidence::whole("functions") => 1000,
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
        let effort = random.pick(&[1, 1000, 10_000]);
        // In every fourth case the inputs stand for exact values nearby.
        let reach = if case % 4 == 0 { format.unit_roundoff() * random.unit() } else { 0.0 };
        let inexact: Vec<Inexact> = sides
            .iter()
            .map(|&(lo, hi)| {
                let error = reach * lo.abs().max(hi.abs());
                Inexact { error, exact: (lo - error, hi + error) }
            })
            .collect();
        let options = Options { effort, inexact: inexact.clone(), ..Options::default() };
        let bound = analyze(&graph, &sides, &options);
        if !bound.absolute.is_finite() {
            continue;
        }
        finite += 1;
        let reference = Reference::new(&graph.formula());
        for _ in 0..20 {
            let inputs: Vec<f64> = sides.iter().map(|&side| within(&mut random, side, format)).collect();
            if inputs.iter().zip(&sides).any(|(&x, &(lo, hi))| x < lo || x > hi) {
                continue;
            }
            let near = |(&x, inexact): (&f64, &Inexact)| {
                let moved = x + inexact.error * random.uniform(-0.999, 0.999);
                if (moved - x).abs() <= inexact.error { moved } else { x }
            };
            let exact_inputs: Vec<f64> = inputs.iter().zip(&inexact).map(near).collect();
            let Enclosure { lo: exact, hi, may_be_nan } = reference.enclose(&exact_inputs);
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
