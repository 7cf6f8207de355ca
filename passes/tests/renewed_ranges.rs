//! Ranges that are renewed are those that are computed anew: random graphs over all ops, one after the other, share what is
//! remembered, some arguments made constants.

use crate::support;

use crate::random_graphs::{Graph, ops};
use ngc_dialects::ng::constant::tensor_to_attr_of;
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{AttrDict, Rewriter};
use ngc_numerics::{Format, Random};
use ngc_passes::analysis::range::Ranges;

#[test]
fn what_is_remembered_is_what_is_computed() {
    let (context, ops) = (ngc_dialects::context(), ops());
    let mut renewed = Ranges::default();
    let mut compared = 0;
    for number in 0..200 {
        let r = &mut Random::new(0x4E3 + number);
        let format = [Format::F64, Format::F32, Format::F16, Format::Bf16][number as usize % 4];
        let graph = Graph::draw(r, &context, &ops, format);
        let inputs = graph.inputs(r);
        let mut module = graph.module.clone();
        let op = module.symbol("f").expect("the function");
        let mut function = Function::take(&mut module, op).expect("it has a body");
        for _ in 0..2 {
            renewed.renew(&function);
            let fresh = Ranges::compute(&function, &context);
            for &value in &graph.values {
                let text = |ranges: &Ranges| format!("{:?} {:?}", ranges.of(value), ranges.signs(value));
                assert_eq!(text(&renewed), text(&fresh), "graph {number}, {value:?}");
                compared += 1;
            }
            let block = function.body.entry().expect("an entry");
            let arguments = function.body.arguments(block).to_vec();
            let first = function.body.ops(block).next().expect("an op");
            let mut rewriter = Rewriter::new(&context, &mut function.body);
            for (&argument, input) in arguments.iter().zip(&inputs) {
                let ty = rewriter.body().ty(argument);
                if !input.is_empty() && r.chance(50) {
                    let attrs = AttrDict::from([("value", tensor_to_attr_of(input, ty))]);
                    let made = rewriter.build_before(first, |b| b.emit("ng.constant", &[], attrs));
                    rewriter.replace_value(argument, made.expect("a constant"));
                }
            }
        }
    }
    assert!(compared > 10_000, "only {compared} compared");
}

/// Weights that a transpose rearranges live as long as the ranges of one body: others in their place have bounds of their own.
#[test]
fn rearranged_weights_are_told_apart() {
    let context = ngc_dialects::context();
    let mut renewed = Ranges::default();
    let mut bounds = std::collections::BTreeSet::new();
    for number in 0..64 {
        // Alike in type and range, and not in the sums of their columns.
        let row = |r: usize| (0..24).map(move |c| if (r * 24 + c) % 65 <= number { "1.0" } else { "-0.5" });
        let rows: Vec<String> = (0..24).map(|r| row(r).collect::<Vec<_>>().join(", ")).collect();
        let text = format!(
            "func.func @f(%x: tensor<4x24xf32> {{ng.range = [-1.0, 1.0]}}) -> tensor<4x24xf32> {{
               %w = ng.constant dense<[[{}]]> : tensor<24x24xf32>
               %t = ng.transpose %w {{permutation = [1, 0]}} : tensor<24x24xf32>
               %y = ng.matmul %x, %t : tensor<4x24xf32>, tensor<24x24xf32> -> tensor<4x24xf32>
               func.return %y : tensor<4x24xf32>
             }}",
            rows.join("], [")
        );
        let mut module = support::parse(&text);
        let op = module.symbol("f").expect("the function");
        let function = Function::take(&mut module, op).expect("it has a body");
        renewed.renew(&function);
        let fresh = Ranges::compute(&function, &context);
        for op in function.body.walk() {
            for value in function.body.results(op) {
                let text = |ranges: &Ranges| format!("{:?}", ranges.of(value));
                assert_eq!(text(&renewed), text(&fresh), "weights {number}, {value:?}");
                bounds.insert(text(&fresh));
            }
        }
    }
    assert!(bounds.len() > 10, "the weights differ in {} bounds only", bounds.len());
}
