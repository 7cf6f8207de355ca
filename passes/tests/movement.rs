//! Elements that are moved and come back are what they were; what comes back elsewhere is not.

use ngc_ir::pass::{PassManager, Pipeline, Step};

use crate::support::{function, parse, search};

/// How many ops `canonicalize` leaves of a function beside its return.
fn left(signature: &str, ops: &str) -> usize {
    let context = ngc_dialects::context();
    let mut module = parse(&format!("func.func @f{signature} {{\n{ops}\n}}\n"));
    let pass = ngc_passes::REGISTRY.passes.iter().find(|p| p.name() == "canonicalize").expect("the pass");
    let pipeline = Pipeline { steps: vec![Step::new(*pass, "").expect("no options")] };
    let run = PassManager::new(&context).run(&pipeline, &mut module);
    assert!(run.failure.is_none(), "{ops}");
    assert!(ngc_ir::verifier::verify(&context, &module).is_ok(), "{ops}");
    function(&module).1.walk().len() - 1
}

const PLANE: &str = "(%x: tensor<4x6xf32>) -> tensor<4x6xf32>";

#[test]
fn what_comes_back_is_what_it_was() {
    let tiled = |start: usize, stop: usize| {
        format!(
            "%0 = ng.tile %x {{repeats = [2, 1]}} : tensor<4x6xf32> -> tensor<8x6xf32>
             %1 = ng.slice %0 {{axes = [0], starts = [{start}], stops = [{stop}]}} : tensor<8x6xf32> -> tensor<4x6xf32>
             func.return %1 : tensor<4x6xf32>"
        )
    };
    let padded = |start: usize| {
        format!(
            "%0 = ng.pad %x {{low = [0, 1], high = [0, 2], value = 1.0}} : tensor<4x6xf32> -> tensor<4x9xf32>
             %1 = ng.slice %0 {{axes = [1], starts = [{start}], stops = [{}]}} : tensor<4x9xf32> -> tensor<4x6xf32>
             func.return %1 : tensor<4x6xf32>",
            start + 6
        )
    };
    let joined = |first: usize, second: usize| {
        format!(
            "%0, %1 = ng.split %x {{axis = 1, sizes = [3, 3]}} : tensor<4x6xf32> -> tensor<4x3xf32>, tensor<4x3xf32>
             %2 = ng.concat %{first}, %{second} {{axis = 1}} : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x6xf32>
             func.return %2 : tensor<4x6xf32>"
        )
    };
    let turned = |last: &str| {
        format!(
            "%0 = ng.reshape %x {{shape = [24]}} : tensor<4x6xf32> -> tensor<24xf32>
             %1 = ng.reverse %0 {{axes = [0]}} : tensor<24xf32>
             %2 = ng.reshape %1 {{shape = [4, 6]}} : tensor<24xf32> -> tensor<4x6xf32>
             %3 = ng.reverse %2 {{axes = {last}}} : tensor<4x6xf32>
             func.return %3 : tensor<4x6xf32>"
        )
    };
    for (ops, stay) in [
        (tiled(0, 4), 0),
        (tiled(4, 8), 0),
        (tiled(3, 7), 2),
        (padded(1), 0),
        (padded(2), 2),
        (joined(0, 1), 0),
        (joined(1, 0), 2),
        (turned("[0, 1]"), 0),
        (turned("[1]"), 4),
    ] {
        assert_eq!(left(PLANE, &ops), stay, "{ops}");
    }
}

#[test]
fn what_rounds_does_not_only_move() {
    let ops = "%0 = ng.convert %x {to = tf32} : tensor<4x6xf32> -> tensor<4x6xtf32>
               %1 = ng.reverse %0 {axes = [0]} : tensor<4x6xtf32>
               %2 = ng.reverse %1 {axes = [0]} : tensor<4x6xtf32>
               %3 = ng.convert %2 {to = f32} : tensor<4x6xtf32> -> tensor<4x6xf32>
               func.return %3 : tensor<4x6xf32>";
    assert_eq!(left(PLANE, ops), 2);
}

#[test]
fn extents_that_are_open_may_differ() {
    let ops = |last: &str| {
        format!(
            "%0 = ng.reverse %x {{axes = [0]}} : tensor<?x3xf32>
             %1 = ng.transpose %0 {{permutation = [1, 0]}} : tensor<?x3xf32> -> tensor<3x?xf32>
             %2 = ng.reverse %1 {{axes = {last}}} : tensor<3x?xf32>
             %3 = ng.transpose %2 {{permutation = [1, 0]}} : tensor<3x?xf32> -> tensor<?x3xf32>
             func.return %3 : tensor<?x3xf32>"
        )
    };
    let signature = "(%x: tensor<?x3xf32>) -> tensor<?x3xf32>";
    assert_eq!([left(signature, &ops("[1]")), left(signature, &ops("[0]"))], [0, 4]);
}

/// A factor of what a greatest value is taken of stands before it, with its sign left inside: no exponent overflows that
/// only its shift keeps small.
#[test]
fn negative_multiples_are_shifted_before_they_grow() {
    let context = ngc_dialects::context();
    let mut module = parse(
        "func.func @f(%c: tensor<3x4xf32>) -> tensor<3x4xf32> {
           %0 = ng.neg %c : tensor<3x4xf32>
           %1 = ng.constant 0.5 : f32
           %2 = ng.div %0, %1 : tensor<3x4xf32>, f32 -> tensor<3x4xf32>
           %3 = ng.exp %2 : tensor<3x4xf32>
           %4 = ng.reduce_sum %3 {axes = [1], keepdims = true} : tensor<3x4xf32> -> tensor<3x1xf32>
           %5 = ng.div %3, %4 : tensor<3x4xf32>, tensor<3x1xf32> -> tensor<3x4xf32>
           func.return %5 : tensor<3x4xf32>
         }",
    );
    let op = module.symbol("f").expect("the function");
    search(&context, &mut module, op, false);
    let (_, body) = function(&module);
    let names: Vec<&str> = body.walk().into_iter().map(|op| body.name(op)).collect();
    assert!(names.contains(&"ng.softmax"), "{names:?}");
}
