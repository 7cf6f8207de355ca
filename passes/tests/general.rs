//! The general passes change no bit of any result, and running them twice changes nothing more.

use crate::support::evidence;
use ngc_interp::Interpreter;
use ngc_ir::pass::{PassManager, Pipeline};
use ngc_ir::text::{ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Module, Sources};
use ngc_numerics::evaluator::{Evaluator, Mode};
use ngc_numerics::{Format, Random, Tensor};
use proptest::prelude::*;
use rayon::prelude::*;

const BINARY: &[&str] = &["add", "sub", "mul", "div", "min", "max", "pow"];
const UNARY: &[&str] = &["neg", "abs", "exp", "relu", "sign", "floor", "ceil", "round"];
const CONSTANTS: &[&str] =
    &["0.0", "-0.0", "1.0", "-1.0", "2.0", "0x7F800000", "0xFF800000", "0x7FC00000", "1.0e-40"];
const INPUTS: &[f64] = &[0.0, -0.0, 1.0, -2.5, 1e-42, 3e38, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// One op: which, and which of the values before it; or a constant.
type Gene = (usize, usize, usize);

// Kinds of ops after those of the lists.
const CALL: usize = UNARY.len() + BINARY.len() + CONSTANTS.len();
const WAYS_BACK: usize = CALL + 1;
const SELECT: usize = CALL + 2;
const KINDS: usize = CALL + 4;

/// A function of a helper's and its own ops, with dead ones among them, that returns its last two values.
fn program(genes: &[Gene]) -> String {
    let mut out = String::from("func.func private @helper(%x: f32, %y: f32) -> f32 {\n");
    out.push_str("  %0 = ng.sub %x, %y : f32\n  %1 = ng.sub %x, %y : f32\n  %2 = ng.mul %0, %1 : f32\n");
    out.push_str("  func.return %2 : f32\n}\nfunc.func @f(%x: f32, %y: f32) -> (f32, f32) {\n");
    let mut names = vec!["x".to_string(), "y".to_string()];
    for (i, &(kind, a, b)) in genes.iter().enumerate() {
        let (a, b) = (&names[a % names.len()], &names[b % names.len()]);
        let text = match kind % KINDS {
            k if k < UNARY.len() => format!("ng.{} %{a} : f32", UNARY[k]),
            k if k < CALL - CONSTANTS.len() => format!("ng.{} %{a}, %{b} : f32", BINARY[k - UNARY.len()]),
            k if k < CALL => format!("ng.constant {} : f32", CONSTANTS[CALL - 1 - k]),
            CALL => format!("func.call @helper(%{a}, %{b}) : (f32, f32) -> f32"),
            WAYS_BACK => {
                let format = ["f64", "tf32", "bf16"][i % 3];
                out.push_str(&format!("  %to{i} = ng.convert %{a} {{to = {format}}} : f32 -> {format}\n"));
                format!("ng.convert %to{i} {{to = f32}} : {format} -> f32")
            }
            SELECT => {
                out.push_str(&format!(
                    "  %is{i} = ng.compare %{a}, %x {{direction = \"LT\"}} : f32, f32 -> i1\n"
                ));
                out.push_str(&format!("  %not{i} = ng.not %is{i} : i1\n  %yes{i} = ng.not %not{i} : i1\n"));
                format!("ng.select %yes{i}, %{a}, %{b} : i1, f32, f32 -> f32")
            }
            _ => format!("ng.clamp %{a}, %{b}, %y : f32"),
        };
        out.push_str(&format!("  %{i} = {text}\n"));
        names.push(i.to_string());
    }
    let [.., a, b] = &names[..] else { unreachable!("two arguments at least") };
    out.push_str(&format!("  func.return %{a}, %{b} : f32, f32\n}}\n"));
    out
}

fn parse(text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", text, 1);
    parse_module(&ngc_dialects::context(), &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

fn optimize(module: &mut Module, pipeline: &str) -> String {
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let file = sources.add("pipeline", pipeline, 1);
    let pipeline = Pipeline::parse(&ngc_passes::REGISTRY, &sources, file).unwrap();
    let run = PassManager::new(&context).run(&pipeline, module);
    assert!(run.failure.is_none(), "{:?}", run.failure.map(|f| f.diagnostics));
    print_module(module, &PrintOptions::default())
}

/// The bits of the results on every pair of inputs; all NaN are one.
fn results(module: &Module) -> Vec<u32> {
    let context = ngc_dialects::context();
    let interpreter = Interpreter::new(&context, module, Evaluator::new(Mode::Rounded));
    let mut out = Vec::new();
    for &x in INPUTS {
        for &y in INPUTS {
            let inputs = [Tensor::scalar(Format::F32, x), Tensor::scalar(Format::F32, y)];
            for tensor in interpreter.call("f", &inputs).unwrap_or_else(|e| panic!("{e:?}")) {
                let value = tensor.to_f64s()[0] as f32;
                out.push(if value.is_nan() { u32::MAX } else { value.to_bits() });
            }
        }
    }
    out
}

/// Streams of programs that are drawn beside those of proptest, others for each commit.
const STREAMS: u64 = 4;

const ALL: &str = "builtin.module(inline,symbol-dce,func.func(cse,canonicalize,cse,dce),infer-shapes)";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn results_keep_every_bit(genes in prop::collection::vec((0usize..100, 0usize..100, 0usize..100), 1..25)) {
        let text = program(&genes);
        let before = parse(&text);
        let mut after = before.clone();
        let once = optimize(&mut after, ALL);
        prop_assert_eq!(results(&before), results(&after), "{}\nbecame\n{}", text, once);
        prop_assert!(verify(&ngc_dialects::context(), &after).is_ok());
        let twice = optimize(&mut after, ALL);
        prop_assert_eq!(once, twice);
    }
}

/// What merging makes equal is simplified like what was equal before: the greatest of a number and of two infinities that
/// were folded apart. One program in thousands has it, so many are drawn.
#[test]
fn folded_constants_need_no_second_run() {
    let settled = |genes: &[Gene]| -> Result<(), String> {
        let text = program(genes);
        let mut module = parse(&text);
        let once = optimize(&mut module, ALL);
        let twice = optimize(&mut module, ALL);
        if once == twice { Ok(()) } else { Err(format!("{text}\nbecomes\n{once}\nand then\n{twice}")) }
    };
    let infinities = [(46, 25, 73), (24, 87, 87), (61, 78, 98), (12, 94, 72), (97, 24, 29), (97, 34, 65)];
    let found = settled(&infinities);
    assert!(found.is_ok(), "{found:?}");
    let stream = |seed: u64| {
        let mut r = Random::new(seed);
        let gene = |r: &mut Random| (r.below(100), r.below(100), r.below(100));
        (0..1500).find_map(|_| {
            let length = 1 + r.below(24);
            let genes: Vec<Gene> = (0..length).map(|_| gene(&mut r)).chain([(97, 34, 65)]).collect();
            settled(&genes).err()
        })
    };
    let seed = evidence::seed();
    let streams = (0..STREAMS).into_par_iter().map(|n| seed.wrapping_add(n));
    let found: Vec<String> = streams.filter_map(stream).collect();
    assert!(found.is_empty(), "{}", found[0]);
}

#[test]
fn all_named_pipelines_parse() {
    for pipeline in ngc_passes::REGISTRY.pipelines {
        let parsed = Pipeline::named(&ngc_passes::REGISTRY, pipeline, "").unwrap();
        assert_eq!(parsed.to_string(), pipeline.text, "the text is canonical");
    }
}

#[test]
fn passes_declare_what_they_count() {
    let add = UNARY.len();
    let text = program(&[(add, 0, 1), (add, 1, 0), (CALL, 0, 1), (CALL - 3, 0, 0), (add + 2, 3, 4)]);
    let context = ngc_dialects::context();
    for &pass in ngc_passes::REGISTRY.passes {
        let step = ngc_ir::pass::Step::new(pass, "").unwrap();
        let run = PassManager::new(&context).run(&Pipeline { steps: vec![step] }, &mut parse(&text));
        for name in run.report.steps[0].statistics.keys() {
            assert!(pass.statistics().iter().any(|s| s.name == *name), "{} counts {name}", pass.name());
        }
    }
}
