//! Formulas before and after `stabilize`: bits of error on points uniform over bit patterns and over the reals, and
//! whether both programs are one function over the reals, by enclosures.
//!
//!     cargo test --release -p ngc-tools --test all formulas -- --ignored --nocapture
//!
//! prints the table. NGC_BLESS=1 writes docs/formulas.md as well. NGC_FORMULAS=quad takes the formulas whose suite or name
//! contains that text, NGC_POINTS=256 so many points, NGC_STABILIZE=rule-set=charts gives options to the pass,
//! NGC_VERBOSE=1 prints the programs after it.

mod points;
mod suite;
mod table;

use std::time::{Duration, Instant};

use ngc_interp::Interpreter;
use ngc_interp::real::{Real, Truth};
use ngc_ir::pass::{PassManager, Pipeline, RemarkKind};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{AttrDict, Body, Builder, Context, Loc, Module, OpState, Type, Value};
use ngc_numerics::spread::bits_of_error;
use ngc_numerics::{Evaluator, Format, Mode, Spread, Tensor};
use ngc_passes::REGISTRY;

use points::{Points, draw};
use suite::{Argument, Formula, arguments, formulas, function};

/// A formula measured.
pub struct Measured {
    /// What was measured.
    pub formula: Formula,
    /// Points uniform over bit patterns, and uniform over the reals.
    pub spreads: [Spreaded; 2],
    /// What rewrites were owed to, in order, each once.
    pub by: Vec<String>,
    /// The same of a second run of the pipeline.
    pub again: Vec<String>,
    /// What the pipeline took.
    pub time: Duration,
}

/// A formula measured on points of one spread.
#[derive(Default)]
pub struct Spreaded {
    /// How many points were found.
    pub points: usize,
    /// Mean bits of error before and after.
    pub bits: [f64; 2],
    /// The worst point after: bits of error before and after there, and where it is.
    pub worst: (f64, f64, String),
    /// Points at which the programs are not certainly one function: the program after is undefined, or its value
    /// differs.
    pub unequal: Vec<String>,
    /// Points left out because the true value could not be made certain.
    pub unknown: usize,
}

#[test]
#[ignore = "minutes; prints a table"]
fn bits_of_error_before_and_after() {
    let variable = |name: &str| std::env::var(name).ok();
    let wanted = variable("NGC_FORMULAS").unwrap_or_default();
    let count = variable("NGC_POINTS").and_then(|n| n.parse().ok()).unwrap_or(4096);
    let options = variable("NGC_STABILIZE").unwrap_or_default();
    let context = ngc_dialects::context();
    let (mut measured, mut refused) = (Vec::new(), Vec::new());
    for formula in formulas() {
        if !formula.name.contains(&wanted) && !formula.suite.contains(&wanted) {
            continue;
        }
        match formula.import(&context) {
            Err(reason) => refused.push((formula, reason)),
            Ok(module) => {
                let one = measure(&context, formula, module, &options, count);
                println!("{}", table::line(&one));
                measured.push(one);
            }
        }
    }
    let page = table::page(&measured, &refused, count);
    println!("\n{}", table::summary(&measured));
    println!("median time of a formula {:.1?}", table::median(measured.iter().map(|m| m.time)));
    if variable("NGC_BLESS").is_some() && wanted.is_empty() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formulas.md");
        std::fs::write(path, page).expect("the page can be written");
    }
    let unequal: Vec<&str> = measured
        .iter()
        .filter(|m| m.spreads.iter().any(|s| !s.unequal.is_empty()))
        .map(|m| m.formula.name)
        .collect();
    assert!(unequal.is_empty(), "another function over the reals: {unequal:#?}");
    let changed: Vec<String> = measured
        .iter()
        .filter(|m| !m.again.is_empty())
        .map(|m| format!("{}: {:?}", m.formula.name, m.again))
        .collect();
    assert!(changed.is_empty(), "a second run changes {changed:#?}");
    let worse: Vec<&str> = measured.iter().filter(|m| table::is_worse(m)).map(|m| m.formula.name).collect();
    assert!(worse.is_empty(), "worse by more than a bit: {worse:#?}");
}

fn measure(context: &Context, formula: Formula, module: Module, options: &str, count: usize) -> Measured {
    let known = arguments(&module);
    let mut after = module.clone();
    let start = Instant::now();
    let by = stabilize(context, &mut after, options, formula.name);
    let time = start.elapsed();
    let again = stabilize(context, &mut after.clone(), options, formula.name);
    if std::env::var_os("NGC_VERBOSE").is_some() {
        println!("{}", print_module(&after, &PrintOptions::default()));
    }
    let fail = |e: String| -> ! { panic!("{}: {e}", formula.name) };
    let real = |body| Real::new(context, body).unwrap_or_else(|e| fail(e));
    let (before_body, after_body) = (body(&module, "formula"), body(&after, "formula"));
    let (before_real, after_real, holds) =
        (real(before_body), real(after_body), real(body(&module, "holds")));
    let format = result_format(before_body);
    let programs =
        [before_body, after_body].map(|b| Batched::new(context, b, count).unwrap_or_else(|e| fail(e)));
    let spreads = Spread::ALL.map(|spread| {
        let points = draw(&before_real, &holds, &known, format, spread, formula.name, count);
        let found =
            programs.each_ref().map(|p| p.evaluate(context, &known, &points.at).unwrap_or_else(|e| fail(e)));
        compare(&known, format, &points, &found, &after_real)
    });
    Measured { formula, spreads, by, again, time }
}

fn body<'m>(module: &'m Module, name: &str) -> &'m Body {
    module.body.body(function(module, name)).expect("a function has a body")
}

fn result_format(body: &Body) -> Format {
    let end = body.last_op(body.entry().expect("a body has a block")).expect("a block has an end");
    body.ty(body.operands(end)[0]).format().expect("a formula is a number")
}

/// Runs the named pipeline; what its rewrites were owed to.
fn stabilize(context: &Context, module: &mut Module, options: &str, name: &str) -> Vec<String> {
    let named = REGISTRY.pipeline("stabilize").expect("it is registered");
    let mut pipeline = Pipeline::named(&REGISTRY, named, options).unwrap_or_else(|e| panic!("{e}"));
    // The precondition is not called by anything public.
    pipeline.steps.retain(|step| step.pass.name() != "symbol-dce");
    let run = PassManager::new(context).run(&pipeline, module);
    assert!(run.failure.is_none(), "{name}: {:?}", run.failure.map(|f| f.diagnostics));
    let mut by = Vec::new();
    for remark in run.report.remarks.iter().filter(|r| r.kind == RemarkKind::Passed && r.pass == "stabilize")
    {
        if !by.contains(&remark.rule) {
            by.push(remark.rule.clone());
        }
    }
    by
}

/// A function of scalars as one of as many points as it is evaluated at.
struct Batched {
    module: Module,
    count: usize,
}

impl Batched {
    fn new(context: &Context, scalar: &Body, count: usize) -> Result<Batched, String> {
        let entry = scalar.entry().ok_or("it is a declaration")?;
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut known: Vec<Option<Value>> = vec![None; scalar.num_values()];
        let mut types = Vec::new();
        for &argument in scalar.arguments(entry) {
            let elem = scalar.ty(argument).elem().ok_or("an argument is no number")?;
            let ty = Type::tensor([count.into()], elem);
            known[argument.index()] = Some(body.add_argument(block, ty, Loc::Unknown));
            types.push(ty);
        }
        let mut result = None;
        let mut builder = Builder::at_end(context, &mut body, block, Loc::Unknown);
        for op in scalar.ops(entry) {
            let operands: Vec<Value> = scalar
                .operands(op)
                .iter()
                .map(|v| known[v.index()].ok_or("no value"))
                .collect::<Result<_, _>>()?;
            let name = scalar.name(op);
            if name == "func.return" {
                result = operands.first().map(|&v| builder.ty(v));
            }
            // The branches of a select of scalars may have become different shapes.
            let name = if name == "ng.select" { "ng.where" } else { name };
            let made = builder.op(name, &operands, scalar.op(op).attrs.clone())?;
            for (old, new) in scalar.results(op).zip(builder.body.results(made)) {
                known[old.index()] = Some(new);
            }
        }
        let mut attrs = AttrDict::EMPTY;
        attrs.set("sym_name", "formula");
        attrs.set("function_type", Type::function(&types, &[result.ok_or("no result")?]));
        let def = context.op("func.func").ok_or("no functions")?;
        let mut module = Module::new();
        let top = module.body.entry().ok_or("no block")?;
        let function = module.body.create(OpState { attrs, ..OpState::new(def, Loc::Unknown) });
        module.body.append(top, function);
        module.body.set_body(function, body);
        Ok(Batched { module, count })
    }

    /// The values at points, in the formats.
    fn evaluate(
        &self,
        context: &Context,
        arguments: &[Argument],
        points: &[Vec<f64>],
    ) -> Result<Vec<f64>, String> {
        let column = |n: usize| {
            // Missing points repeat the first.
            let at = |i: usize| points.get(i).or(points.first()).map_or(0.0, |x| x[n]);
            Tensor::floats(arguments[n].format, vec![self.count], (0..self.count).map(at).collect())
        };
        let inputs: Vec<Tensor> = (0..arguments.len()).map(column).collect::<Result<_, _>>()?;
        let evaluator = Evaluator { mode: Mode::Rounded };
        let results = Interpreter::new(context, &self.module, evaluator)
            .call("formula", &inputs)
            .map_err(|e| e.message)?;
        let values = results.first().ok_or("no result")?.to_f64s();
        Ok((0..points.len()).map(|i| values.get(i).or(values.first()).copied().unwrap_or(f64::NAN)).collect())
    }
}

fn compare(
    arguments: &[Argument],
    format: Format,
    points: &Points,
    found: &[Vec<f64>; 2],
    after: &Real,
) -> Spreaded {
    use rayon::prelude::*;
    let place = |i: usize| {
        let named = arguments.iter().zip(&points.at[i]).map(|(a, x)| format!("{} = {x:e}", a.name));
        named.collect::<Vec<_>>().join(", ")
    };
    let values: Vec<Truth> = points.at.par_iter().map(|x| after.value(x, format)).collect();
    let mut spreaded = Spreaded { points: points.at.len(), unknown: points.unknown, ..Spreaded::default() };
    for (i, truth) in points.truths.iter().enumerate() {
        let exact = truth.rounded(format).unwrap_or(f64::NAN);
        let bits = [0, 1].map(|p| bits_of_error(format, found[p][i], exact));
        for (sum, bits) in spreaded.bits.iter_mut().zip(bits) {
            *sum += bits / points.at.len() as f64;
        }
        if spreaded.worst.2.is_empty() || bits[1] > spreaded.worst.1 {
            spreaded.worst = (bits[0], bits[1], place(i));
        }
        // What cannot be made certain after is not counted as unequal, unless before it was; nor is a unit in the last place,
        // as numbers of the program that are put together are rounded once.
        let beside = values[i].rounded(format).is_some_and(|x| bits_of_error(format, x, exact) <= 1.0);
        if !truth.meets(&values[i]) && !beside {
            spreaded.unequal.push(format!("{}: {:?}", place(i), values[i].rounded(format)));
        }
    }
    spreaded
}
