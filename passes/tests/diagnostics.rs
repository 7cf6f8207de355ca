//! What the verifier says of invalid modules: the source beside the message.

use ngc_ir::Sources;
use ngc_ir::render::{RenderOptions, render};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::verifier::verify;

fn drawn(text: &str) -> String {
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let file = sources.add("model.ngir", text, 1);
    let found = match parse_module(&context, &sources, file, &ParseOptions::default()) {
        Ok(module) => verify(&context, &module).expect_err(text),
        Err(found) => found,
    };
    let messages: String = found.0.iter().map(|d| render(d, &sources, RenderOptions::default())).collect();
    format!("{text}\n{messages}")
}

#[test]
fn invalid_modules() {
    let bodies = [
        // Shapes that do not fit.
        "func.func @f(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> tensor<2x3xf32> {\n  \
           %z = ng.add %x, %y : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x3xf32>\n  \
           func.return %z : tensor<2x3xf32>\n}",
        "func.func @f(%x: tensor<2x3xf16>, %y: tensor<4x5xf16>) -> tensor<2x5xf16> {\n  \
           %z = ng.matmul %x, %y : tensor<2x3xf16>, tensor<4x5xf16> -> tensor<2x5xf16>\n  \
           func.return %z : tensor<2x5xf16>\n}",
        // A result type that does not follow.
        "func.func @f(%x: tensor<2x3xf32>) -> tensor<2xf32> {\n  \
           %s = ng.reduce_sum %x {axes = [0]} : tensor<2x3xf32> -> tensor<2xf32>\n  \
           func.return %s : tensor<2xf32>\n}",
        // Attributes.
        "func.func @f(%x: tensor<2x3xf32>) -> tensor<2xf32> {\n  \
           %s = ng.reduce_sum %x {axis = 1} : tensor<2x3xf32> -> tensor<2xf32>\n  \
           func.return %s : tensor<2xf32>\n}",
        "func.func @f(%x: tensor<2x3xf32>) -> tensor<2xf32> {\n  \
           %s = ng.reduce_sum %x {axes = [1], sum = \"fast\"} : tensor<2x3xf32> -> tensor<2xf32>\n  \
           func.return %s : tensor<2xf32>\n}",
        // Element types.
        "func.func @f(%x: i32) -> i32 {\n  %y = ng.exp %x : i32\n  func.return %y : i32\n}",
        // Functions, calls and returns.
        "func.func @f(%x: f32) -> f64 {\n  func.return %x : f32\n}",
        "func.func @f(%x: f32) -> f32 {\n  %y = func.call @g(%x) : (f32) -> f32\n  func.return %y : f32\n}\n\
         func.func private @g(f64) -> f64",
        "func.func @f() {\n  func.return\n}\nfunc.func @g() {\n  func.return\n}\nfunc.func @f() {\n  func.return\n}",
        "func.func @f(%x: f32) -> f32 {\n  func.return %x : f32\n  %y = ng.exp %x : f32\n}",
        // Definitions after uses.
        "func.func @f(%x: f32) -> f32 {\n  %y = ng.exp %z : f32\n  %z = ng.log %x : f32\n  func.return %y : f32\n}",
        // One error a function, all reported.
        "func.func @f(%x: f32) -> f64 {\n  func.return %x : f32\n}\n\
         func.func @g(%x: f32) -> f64 {\n  func.return %x : f32\n}",
    ];
    let all: Vec<String> = bodies.iter().map(|b| drawn(b)).collect();
    insta::assert_snapshot!(all.join("\n--------\n\n"));
}
