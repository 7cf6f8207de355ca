//! A program and another spelling of it in one function: each value is there where it is read, and both stay what they were.

use ngc_interp::Interpreter;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Body, Context, Module, Sources};
use ngc_numerics::{Evaluator, Mode, Random, Tensor};
use rayon::prelude::*;

use super::changes::{Change, changes};
use super::original::{Original, respelled};
use super::program::run;
use super::programs::BITS;

/// Programs that are looked at, of all that there are, where nobody says otherwise.
pub const PROGRAMS: &str = "8";
/// The same, where such programs were looked at since the sources changed.
pub const SAMPLE: &str = "1";
/// Changes of the other spelling.
const CHANGES: usize = 3;
/// What constants that are rounded to `f32` may take from a result, of its greatest element.
const APART: f64 = 1e-5;

/// Two spellings, of which `@f` gives the results.
fn both(context: &Context, original: &Original, other: &Body) -> Module {
    let program = &original.program;
    let named = |body: &Body, name: &str| {
        program.text(body).replacen("func.func @f(", &format!("func.func @{name}("), 1)
    };
    let inner = |text: String| text.trim().trim_start_matches("module {").trim_end_matches('}').to_string();
    let (plain, other) = (inner(named(&program.body, "plain")), inner(named(other, "other")));
    let head = plain.lines().find(|line| line.contains("func.func @plain")).expect("the function");
    let (arguments, result) = head.split_once(" -> ").expect("a result");
    let arguments = arguments.split_once('(').expect("arguments").1.trim_end_matches(')');
    let result = result.trim().trim_end_matches('{').trim();
    let names: Vec<String> = (0..program.arguments.len()).map(|n| format!("%arg{n}")).collect();
    let types: Vec<String> = program.arguments.iter().map(|(ty, _)| ty.to_string()).collect();
    let (names, types) = (names.join(", "), types.join(", "));
    let call = |value: &str, name: &str| {
        format!("    {value} = func.call @{name}({names}) : ({types}) -> {result}\n")
    };
    let text = format!(
        "module {{\n{plain}\n{other}\n  func.func @f({arguments}) -> ({result}, {result}) {{\n{}{}    func.return %a, %b : \
         {result}, {result}\n  }}\n}}\n",
        call("%a", "plain"),
        call("%b", "other")
    );
    let mut sources = Sources::new();
    let file = sources.add("both".to_string(), text.clone(), 1);
    parse_module(context, &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

fn results(context: &Context, module: &Module, inputs: &[Tensor]) -> Result<Vec<Vec<f64>>, String> {
    let interpreter = Interpreter::new(context, module, Evaluator::new(Mode::Real { bits: BITS }));
    let results = interpreter.call("f", inputs).map_err(|e| e.message)?;
    Ok(results.iter().map(Tensor::to_f64s).collect())
}

fn agree(a: &[f64], b: &[f64]) -> bool {
    let scale = b.iter().filter(|x| x.is_finite()).fold(0.0f64, |scale, x| scale.max(x.abs()));
    let near = |(x, y): (&f64, &f64)| x == y || (x - y).abs() <= APART * scale || x.is_nan() && y.is_nan();
    a.len() == b.len() && a.iter().zip(b).all(near)
}

fn fault(context: &Context, original: &Original, seed: &str) -> Option<String> {
    let among: Vec<&Change> = changes().filter(|change| change.wants.is_none()).collect();
    let mut r = Random::seeded(&format!("{}{seed}", original.program.name));
    let (other, made) = respelled(context, original, &among, CHANGES, &mut r);
    let given = both(context, original, &other);
    let mut after = given.clone();
    let inputs = original.program.inputs(&mut r);
    let fault = match run(context, &mut after, "") {
        Err(fault) => fault,
        Ok(()) => {
            let (before, after) = (results(context, &given, &inputs), results(context, &after, &inputs));
            match (before, after) {
                (Ok(before), Ok(after)) if before.iter().zip(&after).all(|(x, y)| agree(y, x)) => {
                    return None;
                }
                (before, after) => format!("{before:?}\nbecomes\n{after:?}"),
            }
        }
    };
    Some(format!(
        "@{} beside one with {made:?}:\n{}\n{fault}",
        original.program.name,
        original.program.text(&other)
    ))
}

pub fn hold(wanted: &str, seed: &str, count: usize) {
    let context = ngc_dialects::context();
    let mut originals: Vec<Original> = ["spellings", "spellings/modules"]
        .iter()
        .flat_map(|folder| Original::all(&context, folder))
        .collect();
    originals.retain(|original| original.program.name.contains(wanted));
    let mut r = Random::seeded(&format!("beside{seed}"));
    while originals.len() > count {
        originals.swap_remove(r.below(originals.len()));
    }
    let faults: Vec<String> =
        originals.par_iter().filter_map(|original| fault(&context, original, seed)).collect();
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), originals.len(), faults.join("\n\n"));
}
