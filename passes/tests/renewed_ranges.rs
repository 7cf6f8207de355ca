//! Ranges that are renewed are those that are computed anew: random graphs over all ops, one after the other, share what is
//! remembered, some arguments made constants.

#[allow(dead_code, reason = "other tests look into the bodies")]
mod random_graphs;

use ngc_dialects::ng::constant::tensor_to_attr_of;
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{AttrDict, Rewriter};
use ngc_numerics::{Format, Random};
use ngc_passes::analysis::range::Ranges;
use random_graphs::{Graph, ops};

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
