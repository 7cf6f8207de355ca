//! What the tests of the passes share: reading modules, searching their functions, evaluating them.

pub mod corpus;
pub mod evidence;
pub mod naive;
pub mod networks;
pub mod page;
pub mod patterns;
pub mod values;

use crate::random_graphs::ops;
use ngc_interp::Interpreter;
use ngc_ir::pass::Function;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Body, Context, Module, Op, OpDef, Sources};
use ngc_numerics::{Evaluator, Mode, Tensor};
use ngc_passes::analysis::error::Errors;
use ngc_passes::stabilize::telling::Report;
use ngc_passes::stabilize::{Wanted, stabilize};
use ngc_reals::laws::Laws;

/// A valid module.
pub fn parse(text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", text, 1);
    let context = ngc_dialects::context();
    let module = parse_module(&context, &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    ngc_ir::verifier::verify(&context, &module).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    module
}

/// The ops of random graphs that can be evaluated in many bits of any arguments: MPFR ends the process on some of erf.
pub fn evaluated_ops() -> Vec<&'static OpDef> {
    let ends = |op: &OpDef| ["erf", "erfc", "gelu"].iter().any(|name| op.short_name().starts_with(name));
    ops().into_iter().filter(|op| !ends(op)).collect()
}

/// Stabilizes a function of a module, with figures or without.
pub fn search(context: &Context, module: &mut Module, op: Op, figures: bool) -> Report {
    let mut function = Function::take(module, op).expect("it has a body");
    let wanted = Wanted { figures, ..Wanted::default() };
    let report = stabilize(context, &mut function, Laws::bundled(), wanted);
    function.put_back(module);
    report
}

/// The functions of a module that have a body.
pub fn functions(module: &Module) -> Vec<Op> {
    let top = module.body.entry().expect("a module has a block");
    module.body.ops(top).filter(|&op| module.body.body(op).is_some()).collect()
}

/// The function `@f`: its op and its body.
pub fn function(module: &Module) -> (Op, &Body) {
    let op = module.symbol("f").expect("the function is there");
    (op, module.body.body(op).expect("it has a body"))
}

/// Bounds of the function `@f` in its stated ranges.
pub fn errors(module: &Module) -> Errors {
    let (op, body) = function(module);
    Errors::of_function(body, module.body.op(op).attrs.get("arg_attrs"), &module.resources, 0)
}

/// The results of `@f`.
pub fn evaluate_all(context: &Context, module: &Module, inputs: &[Tensor], mode: Mode) -> Vec<Tensor> {
    let found = Interpreter::new(context, module, Evaluator { mode }).call("f", inputs);
    found.unwrap_or_else(|e| panic!("{}", e.message))
}

/// The first result of `@f`.
pub fn evaluate(context: &Context, module: &Module, inputs: &[Tensor], mode: Mode) -> Tensor {
    evaluate_all(context, module, inputs, mode).swap_remove(0)
}
