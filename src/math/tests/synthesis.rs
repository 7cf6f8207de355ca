//! Sketches are well typed and mean their functions; a search finds what is near enough, and the same in every run.

use ngc_ir::text::parse_module;
use ngc_ir::{Context, Sources};
use ngc_math::calculus::function::Function;
use ngc_math::calculus::infer::infer;
use ngc_math::calculus::meaning;
use ngc_math::calculus::real::{Range, Real};
use ngc_math::synthesize::{Request, Sketch, Target, pareto, sketches, synthesize};
use ngc_math::text::parse_file;
use ngc_math::verify::Compiler;
use proptest::prelude::*;
use rug::Rational;

fn range(from: i64, to: i64, part: i64) -> Range {
    let real = |n: i64| Real::rational(Rational::from((n, part)));
    Range::new(real(from), real(to))
}

/// A sketch with the simplest polynomials there are: what a term means does not depend on coefficients.
fn with_polynomials(sketch: &Sketch) -> String {
    match sketch {
        Sketch::Open(f, range) => format!("HornerPolynomial<{f}, {}, {}>([0: 1])", range.from, range.to),
        Sketch::Pieces(f, range) => format!("PiecewisePolynomial<{f}, {}, {}, 4>([1])", range.from, range.to),
        Sketch::Combined(head, parts) => {
            let parts: Vec<String> = parts.iter().map(with_polynomials).collect();
            format!("{head}({})", parts.join(", "))
        }
        Sketch::Part(which, pair) => format!("{which}({})", with_polynomials(pair)),
    }
}

/// The combinators of a sketch.
fn heads(sketch: &Sketch, all: &mut Vec<String>) {
    match sketch {
        Sketch::Open(..) => {}
        Sketch::Pieces(..) => all.push("pieces".into()),
        Sketch::Combined(head, parts) => {
            all.push(head.split('<').next().unwrap_or(head).to_string());
            parts.iter().for_each(|p| heads(p, all));
        }
        Sketch::Part(_, pair) => heads(pair, all),
    }
}

fn is_true(context: &Context, name: &str, range: &Range, sketch: &Sketch) {
    let text = format!(
        "term t(float) : Impl<{name}, {}, {}> =\n {}\n",
        range.from,
        range.to,
        with_polynomials(sketch)
    );
    let file = parse_file(&text, 0).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
    let found = infer(context, &file.definitions[0], &[])
        .unwrap_or_else(|d| panic!("{}\n{:?}\n{text}", d.message, d.notes));
    assert!(meaning::meaning(&found.term).is_some());
    assert_eq!(meaning::refuted(&found.term), None, "{text}");
}

const FUNCTIONS: &[&str] = &[
    "exp", "exp2", "expm1", "log", "log2", "sin", "cos", "tanh", "sigmoid", "atan", "erf", "erfc", "sinh",
    "cosh", "asin",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of a random function on a random range every term that the search makes is well typed, and with exact polynomials it is
    /// the function.
    #[test]
    fn random_terms_mean_their_functions(f in 0..FUNCTIONS.len(), from in -40i64..40, width in 1i64..80, part in 1i64..9) {
        let context = ngc_dialects::context();
        let name = FUNCTIONS[f];
        let range = range(from, from + width, part);
        let function = Function::named(&context, name).expect("a function");
        let defined = !matches!(name, "log" | "log2") || from >= 0;
        for sketch in sketches(&context, &function, &range).iter().filter(|_| defined && name != "asin") {
            is_true(&context, name, &range, sketch);
        }
    }
}

/// A polynomial of a function with a hole has a value there: whose range is not even about 0, a point of the check may be 0.
#[test]
fn a_hole_of_a_polynomial_is_no_error() {
    let context = ngc_dialects::context();
    for name in ["tanh", "atan", "erf", "sin"] {
        let function = Function::named(&context, name).expect("a function");
        let range = range(-36, 28, 3);
        for sketch in sketches(&context, &function, &range) {
            is_true(&context, name, &range, &sketch);
        }
    }
}

/// The search finds the reductions that a person would: for each function these are among them.
#[test]
fn known_reductions_are_found() {
    let context = ngc_dialects::context();
    for (name, from, to, wanted) in [
        ("exp", -104, 89, &["ExpBit"][..]),
        ("exp2", -140, 120, &["ExpBit"]),
        ("log", 1, 1000, &["Logarithmic", "LogTable"]),
        ("log2", 1, 1000, &["Logarithmic", "LogTable"]),
        ("sin", -1000, 1000, &["Quadrant", "Periodic", "AbsReduction"]),
        ("cos", -1000, 1000, &["Quadrant", "Periodic"]),
        ("tanh", -10, 10, &["AbsReduction", "Recharacterise", "ExpBit", "pieces"]),
        ("sigmoid", -20, 20, &["Recharacterise", "ExpBit"]),
        ("atan", -1000, 1000, &["AbsReduction", "Mirror"]),
        ("erf", -4, 4, &["AbsReduction", "Recharacterise", "pieces"]),
    ] {
        let function = Function::named(&context, name).expect("a function");
        let range = range(from, to, 1);
        let mut found = Vec::new();
        for sketch in sketches(&context, &function, &range) {
            heads(&sketch, &mut found);
            is_true(&context, name, &range, &sketch);
        }
        for head in wanted {
            assert!(found.iter().any(|f| f == head), "{name}: {head} is not among {found:?}");
        }
    }
}

#[test]
fn a_search_gives_the_same_in_every_run() {
    let context = ngc_dialects::context();
    let once = || {
        let request = Request {
            function: Function::named(&context, "exp2").expect("a function"),
            name: "exp2".into(),
            ranges: vec![range(-8, 8, 1)],
            max_ulp: 1.0,
            candidates: 4,
            sample: Some(20_000),
            targets: vec![Target { compiler: Compiler::default(), measures: false }],
            progress: &|_, _| {},
        };
        synthesize(&context, &request).unwrap_or_else(|d| panic!("{}", d.message)).remove(0)
    };
    let (first, second) = (once(), once());
    assert_eq!(first, second);
    assert!(!first.is_empty() && first.iter().all(|e| e.max_ulp <= 1.0 && !e.exhaustive), "{first:?}");
    assert!(pareto::svg("exp2", &first).contains("<circle"));
    let faster = first.windows(2).all(|e| e[0].cost <= e[1].cost && e[0].max_ulp >= e[1].max_ulp);
    assert!(faster, "{first:?}");
}

/// Steps say which function of real numbers they are, whatever they round, and in whatever words.
#[test]
fn steps_are_functions() {
    let context = ngc_dialects::context();
    let of = |body: &str| {
        let text = format!("func.func @f(%x: f32) -> f32 {{\n{body}\n  func.return %y : f32\n}}\n");
        let mut sources = Sources::new();
        let file = sources.add("f.ngir", text.as_str(), 1);
        let module = parse_module(&context, &sources, file, &Default::default());
        let module = module.unwrap_or_else(|d| panic!("{d:?}"));
        Function::of_steps(&context, module.body.body(module.functions()[0]).expect("steps"))
    };
    let softplus = "  %one = ng.constant 1.0 : f32\n  %e = ng.exp %x : f32\n  %s = ng.add %e, %one : f32\n  %y = ng.log %s : f32";
    assert_eq!(of(softplus).expect("a function").to_string(), "log(exp(x) + 1)");
    assert_eq!(of("  %y = ng.exp %x : f32").expect("a function").name.as_deref(), Some("exp"));
    let cases = "  %y = ng.leaky_relu %x {alpha = 0.1} : f32";
    assert!(of(cases).is_err_and(|m| m.contains("cases")));
}

/// A function without a name is implemented, and each target has its own set.
#[test]
fn a_formula_is_implemented_for_several_targets() {
    let context = ngc_dialects::context();
    let function = Function::read(&context, "sin(x)/x").expect("a formula");
    let target = |march: &str| {
        let mut compiler = Compiler::default();
        compiler.flags.iter_mut().filter(|f| f.starts_with("-march=")).for_each(|f| *f = march.into());
        Target { compiler, measures: false }
    };
    let native = Compiler::default().flags.iter().find(|f| f.starts_with("-march=")).cloned();
    let request = Request {
        function,
        name: "sinc".into(),
        ranges: vec![range(1, 8, 4)],
        max_ulp: 1.0,
        candidates: 2,
        sample: Some(10_000),
        targets: vec![target(&native.expect("a flag")), target("-march=x86-64")],
        progress: &|_, _| {},
    };
    let sets = synthesize(&context, &request).unwrap_or_else(|d| panic!("{}", d.message));
    assert_eq!(sets.len(), 2);
    // Code for one processor gives what code for another gives, bit by bit.
    assert_eq!(sets[0], sets[1]);
    assert!(sets[0].iter().all(|e| e.max_ulp < 1.0 && e.max_ulp > 0.49), "{sets:?}");
}
