//! Random graphs of naive spellings under each search: the same function over the reals, within the printed bounds in its
//! format, and done at once.

use ngc_interp::Interpreter;
use ngc_ir::pass::Function;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use ngc_passes::analysis::error::Errors;
use ngc_passes::rewrite::drive::{Options, Search, stabilize};
use ngc_passes::rewrite::{bundled, compile::RuleSet};

const SHAPE: [usize; 2] = [2, 3];

/// Naive spellings, with `@` for the operand, `#` for the other one and a `$` before each value; `=` is the result.
const IDIOMS: &[&[&str]] = &[
    &["$e = ng.exp @", "$z = sum $e", "= ng.div $e, $z : tensor<2x3xf32>, tensor<2x1xf32> -> T"],
    &["$e = ng.exp @", "= ng.sub $e, %one : T, f32 -> T"],
    &["$o = ng.add @, %big : T, f32 -> T", "= ng.log $o"],
    &["$n = ng.neg @", "$e = ng.exp $n", "$d = ng.add $e, %one : T, f32 -> T", "= ng.reciprocal $d"],
    &["$s = ng.sub @, #", "$q = ng.mul $s, $s", "= ng.sqrt $q"],
    &[
        "$e = ng.exp @",
        "$z = sum $e",
        "$l = ng.log $z : tensor<2x1xf32>",
        "= ng.sub @, $l : T, tensor<2x1xf32> -> T",
    ],
    &["$q = ng.mul @, @", "$r = ng.mul #, #", "= ng.sub $q, $r"],
    &["= ng.mul @, #"],
    &["= ng.add @, #"],
    &["= ng.tanh @"],
];

/// A function of a few idioms, each on values before it.
fn draw(r: &mut Random) -> String {
    let tensor = format!("tensor<{}x{}xf32>", SHAPE[0], SHAPE[1]);
    let mut text = format!(
        "func.func @f(%x: {tensor} {{ng.range = [-20.0, 20.0]}}, %y: {tensor} {{ng.range = [0.5, 3.0]}}) -> {tensor} {{\n\
         %one = ng.constant 1.0 : f32\n%big = ng.constant 30.0 : f32\n"
    );
    let mut values = vec!["%x".to_string(), "%y".to_string()];
    for n in 0..1 + r.below(4) {
        let lines = IDIOMS[r.below(IDIOMS.len())];
        let (a, b) = (values[r.below(values.len())].clone(), values[r.below(values.len())].clone());
        for line in lines {
            let line = match line.strip_prefix("= ") {
                Some(end) => format!("%r{n} = {end}"),
                None => line.to_string(),
            };
            let line = line.replace('$', &format!("%v{n}")).replace('@', &a).replace('#', &b);
            let line = match line.split_once(" = sum ") {
                Some((to, from)) => format!(
                    "{to} = ng.reduce_sum {from} {{axes = [1], keepdims = true}} : {tensor} -> tensor<2x1xf32>"
                ),
                None if line.contains(" : ") => line.replace("T", &tensor).replace("Tensor", "tensor"),
                None => format!("{line} : {tensor}"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        values.push(format!("%r{n}"));
    }
    text.push_str(&format!("func.return {} : {tensor}\n}}\n", values[values.len() - 1]));
    text
}

fn parse(context: &Context, text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("random.ngir", text, 1);
    parse_module(context, &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

fn evaluate(context: &Context, module: &Module, inputs: &[Tensor], mode: Mode) -> Vec<f64> {
    let found = Interpreter::new(context, module, Evaluator { mode }).call("f", inputs);
    found.unwrap_or_else(|e| panic!("{}", e.message))[0].to_f64s()
}

fn rewritten(context: &Context, module: &mut Module, rules: &RuleSet, search: Search) -> usize {
    let mut function =
        Function::take(module, module.symbol("f").expect("it is there")).expect("it has a body");
    let options = Options { search, figures: true, ..Options::default() };
    let report = stabilize(context, &mut function, rules, &options);
    function.put_back(module);
    report.applied.len()
}

/// Bound of the absolute error of the result.
fn bound(module: &Module) -> f64 {
    let op = module.symbol("f").expect("it is there");
    let body = module.body.body(op).expect("it has a body");
    let errors = Errors::of_function(body, module.body.op(op).attrs.get("arg_attrs"), &module.resources, 1);
    errors.absolute(errors.results()[0])
}

#[test]
fn searches_keep_the_function_and_its_bounds() {
    let context = ngc_dialects::context();
    let rules = bundled().expect("bundled rules are well formed").select(&["stability", "precision"]);
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let graphs = number("NGC_SEARCHES_GRAPHS", 60);
    let mut r = Random::new(number("NGC_SEARCHES_SEED", 20));
    let (mut rewrites, mut bounded) = (0, 0);
    for _ in 0..graphs {
        let text = draw(&mut r);
        let before = parse(&context, &text);
        for search in [Search::Egraph, Search::Greedy, Search::Beam] {
            let mut after = parse(&context, &text);
            rewrites += rewritten(&context, &mut after, &rules, search);
            verify(&context, &after).unwrap_or_else(|e| panic!("{search:?} of\n{text}\n{e:?}"));
            let again = rewritten(&context, &mut after, &rules, search);
            assert_eq!(again, 0, "{search:?}: a second run changes\n{text}");
            let distance = bound(&before) + bound(&after);
            bounded += u64::from(distance.is_finite());
            for _ in 0..4 {
                let sample = |lo, hi, r: &mut Random| {
                    let values = (0..6).map(|_| Format::F32.round(r.uniform(lo, hi))).collect();
                    Tensor::floats(Format::F32, SHAPE.to_vec(), values).expect("six values")
                };
                let inputs = [sample(-20.0, 20.0, &mut r), sample(0.5, 3.0, &mut r)];
                let both = |mode| {
                    [&before, &after].map(|m| evaluate(&context, m, &inputs, mode)).map(Vec::into_iter)
                };
                // Bits enough for a difference of e^-400 beside 1.
                let ([x, y], [a, b]) = (both(Mode::Real { bits: 1500 }), both(Mode::Rounded));
                for ((x, y), (a, b)) in x.zip(y).zip(a.zip(b)) {
                    // What is not defined as written need not be.
                    if x.is_nan() {
                        continue;
                    }
                    assert!(
                        x == y || (x - y).abs() <= 1e-14 * x.abs(),
                        "{search:?}: {x} became {y} in\n{text}"
                    );
                    assert!(
                        (a - b).abs() <= distance || distance.is_infinite(),
                        "{search:?}: {a} and {b} are farther apart than {distance} in\n{text}"
                    );
                }
            }
        }
    }
    assert!(rewrites as u64 > graphs && 2 * bounded > graphs, "{rewrites} rewrites, {bounded} with bounds");
}
