//! A program that searches are compared on, and what a search makes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ngc_ir::pass::{PassManager, Pipeline};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Attr, AttrDict, Context, Module, Op, Sources, Type};
use ngc_numerics::DType;
use ngc_passes::REGISTRY;

/// Extents that unknown ones are tried with, in order.
const EXTENTS: [usize; 5] = [3, 4, 2, 1, 8];

/// A function of a module.
pub struct Program {
    /// Where it comes from.
    pub corpus: &'static str,
    pub name: String,
    pub module: Module,
    /// The symbol of the function.
    pub function: String,
    pub arguments: Vec<Argument>,
}

/// An argument of a program.
#[derive(Clone)]
pub struct Argument {
    pub elem: DType,
    ty: Type,
    /// The range that is stated of it.
    pub range: Option<(f64, f64)>,
}

impl Argument {
    /// The shape, where each unknown extent is the given one.
    pub fn shape(&self, unknown: usize) -> Vec<usize> {
        self.ty.shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(unknown)).collect()
    }

    /// Choices of unknown extents; one where all are known.
    fn extents(&self) -> &'static [usize] {
        let open = self.ty.shape().is_some_and(|s| s.iter().any(|d| d.known().is_none()));
        if open { &EXTENTS } else { &EXTENTS[..1] }
    }
}

impl Program {
    /// The functions of a module.
    pub fn of_module(corpus: &'static str, file: &str, module: &Module) -> Vec<Program> {
        let functions = module.functions();
        let single = functions.len() == 1;
        let each = functions.into_iter().filter_map(|op| {
            let function = module.body.attr(op, "sym_name")?.as_str()?.to_string();
            let name = if single && function == "f" { file.into() } else { format!("{file} @{function}") };
            let arguments = arguments(module, op)?;
            Some(Program { corpus, name, module: alone(module, op), function, arguments })
        });
        each.collect()
    }

    /// Choices of unknown extents.
    pub fn extents(&self) -> &'static [usize] {
        let each = self.arguments.iter().map(Argument::extents);
        each.max_by_key(|e| e.len()).unwrap_or(&EXTENTS[..1])
    }

    /// Takes the stated ranges of floating-point arguments away, but for the sign that they promise.
    pub fn forget_ranges(&mut self) {
        for (n, argument) in self.arguments.iter_mut().enumerate() {
            let DType::Float(format) = argument.elem else { continue };
            let open = argument.range.map(|(lo, hi)| match (lo, hi) {
                _ if lo > 0.0 && hi < 1.0 => (format.min_normal(), 1.0 - format.unit_roundoff()),
                _ if lo > 0.0 => (format.min_normal(), format.max_finite()),
                _ if lo == 0.0 => (0.0, if hi == 1.0 { 1.0 } else { format.max_finite() }),
                _ => (-format.max_finite(), format.max_finite()),
            });
            argument.range = open;
            if let Some(range) = open {
                state_range(&mut self.module, &self.function, n, range);
            }
        }
    }
}

/// The module with one of its functions, and with those that it may call.
fn alone(module: &Module, op: Op) -> Module {
    let calls = |op: &Op| {
        let body = module.body.body(*op);
        body.is_some_and(|body| body.walk().into_iter().any(|op| body.name(op) == "func.call"))
    };
    let mut alone = module.clone();
    if !calls(&op) {
        for other in module.functions().into_iter().filter(|&other| other != op) {
            alone.body.unlink(other);
        }
    }
    alone
}

/// The arguments of a function; nothing where one of them is no number or tensor.
fn arguments(module: &Module, op: Op) -> Option<Vec<Argument>> {
    let body = module.body.body(op)?;
    let dicts = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let argument = |(n, &value): (usize, &ngc_ir::Value)| {
        let ty = body.ty(value);
        let dict = dicts.get(n).and_then(|attr| if let Attr::Dict(dict) = attr { Some(dict) } else { None });
        Some(Argument { elem: ty.elem()?, ty, range: dict.and_then(range) })
    };
    body.arguments(body.entry()?).iter().enumerate().map(argument).collect()
}

fn range(dict: &AttrDict) -> Option<(f64, f64)> {
    let ends = dict.get("ng.range")?.as_array()?;
    let end = |n: usize| ends.get(n).and_then(|e| e.as_float().or(e.as_int().map(|x| x as f64)));
    Some((end(0)?, end(1)?))
}

/// States the range of an argument.
pub fn state_range(module: &mut Module, function: &str, n: usize, (lo, hi): (f64, f64)) {
    let Some(op) = module.symbol(function) else { return };
    let dicts = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let mut dicts = dicts.to_vec();
    if let Some(Attr::Dict(dict)) = dicts.get_mut(n) {
        dict.set("ng.range", Attr::Array([lo, hi].map(Attr::float).into_iter().collect()));
    }
    module.body.op_mut(op).attrs.set("arg_attrs", Attr::Array(dicts.into_iter().collect()));
}

/// A module as text.
pub fn text(module: &Module) -> String {
    print_module(module, &PrintOptions::default())
}

/// What a search made of a module.
pub struct Searched {
    pub module: Module,
    pub time: Duration,
    /// Whether a second run changes it again.
    pub unsettled: bool,
}

/// The pipeline `stabilize` with these options of the pass, or with these passes in its place.
///
/// # Errors
/// What the pass said, or the words of its panic.
pub fn searched(context: &Context, module: &Module, options: &str) -> Result<Searched, String> {
    let mut once = module.clone();
    let start = Instant::now();
    run(context, &mut once, options)?;
    let time = start.elapsed();
    let mut twice = once.clone();
    run(context, &mut twice, options).map_err(|e| format!("second run: {e}"))?;
    let unsettled = text(&once) != text(&twice);
    Ok(Searched { module: once, time, unsettled })
}

/// What the passes beside `stabilize` make of a module.
///
/// # Errors
/// As [`searched`].
pub fn tidied(context: &Context, module: &Module) -> Result<Module, String> {
    let mut module = module.clone();
    run_steps(context, &mut module, "", |pass| pass != "stabilize")?;
    Ok(module)
}

/// Runs the pipeline once.
///
/// # Errors
/// As [`searched`].
pub fn run(context: &Context, module: &mut Module, options: &str) -> Result<(), String> {
    run_steps(context, module, options, |_| true)
}

/// A pipeline with other passes where it has `stabilize`, as `stabilize{rule-set=roots},cse`.
fn in_place_of_search(text: &str, passes: &str) -> Result<Pipeline, String> {
    let mut sources = Sources::new();
    let file = sources.add("pipeline", text.replacen("stabilize", passes, 1), 1);
    Pipeline::parse(&REGISTRY, &sources, file).map_err(|e| format!("{e:?}"))
}

fn run_steps(
    context: &Context,
    module: &mut Module,
    options: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let named = REGISTRY.pipeline("stabilize").ok_or("there is no pipeline")?;
    let mut pipeline = match options.contains('{') {
        true => in_place_of_search(named.text, options)?,
        false => Pipeline::named(&REGISTRY, named, options)?,
    };
    // A function that nothing public calls is a program all the same.
    pipeline.steps.retain(|step| step.pass.name() != "symbol-dce" && wanted(step.pass.name()));
    let run = catch_unwind(AssertUnwindSafe(|| {
        let run = PassManager::new(context).run(&pipeline, module);
        run.failure.map(|failure| format!("{:?}", failure.diagnostics))
    }));
    match run {
        Ok(failure) => failure.map_or(Ok(()), Err),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("without words")))
        }
    }
}
