//! `fold-constants` changes no bit: random graphs over all ops, most of whose arguments are made constants of the values
//! that the original is called with.

use crate::random_graphs::{Graph, ops};
use ngc_dialects::ng::constant::tensor_to_attr_of;
use ngc_interp::Interpreter;
use ngc_ir::pass::{Function, PassManager, Pipeline};
use ngc_ir::verifier::verify;
use ngc_ir::{AttrDict, Context, Module, Rewriter};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};

/// The module with some arguments made constants: they stay arguments, but nothing uses them.
fn with_constants(context: &Context, graph: &Graph, inputs: &[Tensor], r: &mut Random) -> Module {
    let mut module = graph.module.clone();
    let op = module.symbol("f").expect("the function");
    let mut function = Function::take(&mut module, op).expect("it has a body");
    let block = function.body.entry().expect("an entry");
    let arguments = function.body.arguments(block).to_vec();
    let first = function.body.ops(block).next().expect("an op");
    let mut rewriter = Rewriter::new(context, &mut function.body);
    for (&argument, input) in arguments.iter().zip(inputs) {
        let ty = rewriter.body().ty(argument);
        if !input.is_empty() && r.chance(80) {
            let attrs = AttrDict::from([("value", tensor_to_attr_of(input, ty))]);
            let made = rewriter.build_before(first, |b| b.emit("ng.constant", &[], attrs));
            rewriter.replace_value(argument, made.expect("a constant"));
        }
    }
    function.put_back(&mut module);
    module
}

/// The elements of the results by their bits; all NaN are one.
fn results(context: &Context, module: &Module, inputs: &[Tensor]) -> Option<Vec<(Vec<usize>, Vec<u64>)>> {
    let interpreter = Interpreter::new(context, module, Evaluator::new(Mode::Rounded));
    let bits = |t: &Tensor| match t.as_ints() {
        Some(ints) => ints.iter().map(|&n| n as u64).collect(),
        None => t
            .to_f64s()
            .into_iter()
            .map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() })
            .collect::<Vec<_>>(),
    };
    let found = interpreter.call("f", inputs).ok()?;
    Some(found.iter().map(|t| (t.shape.clone(), bits(t))).collect())
}

#[test]
fn no_bit_changes() {
    let (context, ops) = (ngc_dialects::context(), ops());
    let step = |name: &str| {
        let pass = ngc_passes::REGISTRY.passes.iter().find(|p| p.name() == name).expect("a pass");
        ngc_ir::pass::Step::new(*pass, "").expect("no options")
    };
    let (mut folded, mut compared) = (0, 0);
    for number in 0..150 {
        let r = &mut Random::new(0xF01D + number);
        let format = [Format::F64, Format::F32, Format::F16, Format::Bf16][number as usize % 4];
        let graph = Graph::draw(r, &context, &ops, format);
        let inputs = graph.inputs(r);
        let mut module = with_constants(&context, &graph, &inputs, r);
        let Some(before) = results(&context, &graph.module, &inputs) else { continue };
        let pipeline = Pipeline { steps: vec![step("fold-constants")] };
        let run = PassManager::new(&context).run(&pipeline, &mut module);
        assert!(run.failure.is_none(), "graph {number}: {:?}", run.failure.map(|f| f.diagnostics));
        assert!(verify(&context, &module).is_ok(), "graph {number}");
        let after = results(&context, &module, &inputs).expect("it can be evaluated");
        assert_eq!(before.len(), after.len());
        for (n, (before, after)) in before.iter().zip(&after).enumerate() {
            assert_eq!(before, after, "graph {number}, result {n}");
        }
        folded += run.report.steps[0].statistics.get("folded").copied().unwrap_or(0);
        compared += before.len();
    }
    assert!(folded > 500 && compared > 3000, "only {folded} folded, {compared} results compared");
}

#[test]
fn what_rounding_decides_without_an_argument_is_a_constant() {
    // Buckets of 64 x 64 positions, far more numbers than the program has constants.
    let text = "func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
        %p = ng.range {start = 1.0 : f64, limit = 4097.0 : f64, delta = 1.0 : f64, type = i64} : tensor<4096xi64>
        %q = ng.reshape %p {shape = [64, 64]} : tensor<4096xi64> -> tensor<64x64xi64>
        %f = ng.convert %q {to = f32} : tensor<64x64xi64> -> tensor<64x64xf32>
        %l = ng.log %f : tensor<64x64xf32>
        %b = ng.convert %l {to = i64} : tensor<64x64xf32> -> tensor<64x64xi64>
        %g = ng.convert %b {to = f32} : tensor<64x64xi64> -> tensor<64x64xf32>
        %y = ng.mul %x, %g : tensor<64x64xf32>
        func.return %y : tensor<64x64xf32>
    }";
    let context = ngc_dialects::context();
    let given = crate::support::parse(text);
    let mut module = given.clone();
    let pass = ngc_passes::REGISTRY.passes.iter().find(|p| p.name() == "fold-constants").expect("a pass");
    let pipeline = Pipeline { steps: vec![ngc_ir::pass::Step::new(*pass, "").expect("no options")] };
    assert!(PassManager::new(&context).run(&pipeline, &mut module).failure.is_none());
    let body = module.symbol("f").and_then(|f| module.body.body(f)).expect("a body");
    let names: Vec<&str> = body.walk().into_iter().map(|op| body.name(op)).collect();
    assert_eq!(names, ["ng.constant", "ng.mul", "func.return"]);
    let x = Tensor::floats(Format::F32, vec![64, 64], vec![1.0; 4096]).expect("numbers");
    let inputs = [x];
    assert_eq!(results(&context, &module, &inputs), results(&context, &given, &inputs));
}
