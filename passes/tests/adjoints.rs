//! What roundings become in results: random graphs over all ops, held against evaluation at 300 bits.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use crate::support::parse;
use ngc_interp::{Interpreter, Tape};
use ngc_ir::{Context, OpDef};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use rayon::prelude::*;
use rug::Float;

const GRAPHS: u64 = 2000;

#[derive(Default)]
struct Tally {
    checked: usize,
    refused: BTreeMap<String, usize>,
    violations: Vec<String>,
}

fn check(context: &Context, ops: &[&'static OpDef], number: u64) -> Tally {
    let mut r = Random::new(0xad70_0000 + number);
    let format = r.pick(&[Format::F32, Format::F64]);
    let graph = Graph::draw(&mut r, context, ops, format);
    let inputs = graph.inputs(&mut r);
    let mut tally = Tally::default();
    let run = |mode| Interpreter::new(context, &graph.module, Evaluator::new(mode)).call("f", &inputs);
    let (Ok(exact), Ok(computed)) = (run(Mode::Real { bits: BITS }), run(Mode::Rounded)) else {
        return tally;
    };
    let tape = match Tape::record(context, &graph.module, "f", &inputs, Mode::Real { bits: BITS }) {
        Ok(tape) => tape,
        Err(why) => {
            *tally.refused.entry(why).or_default() += 1;
            return tally;
        }
    };
    let terms = Tape::terms(context, &graph.module, "f", &inputs).expect("what is recorded is counted");
    assert!(tape.work() <= terms, "graph {number}: {} terms, of {terms} counted before", tape.work());
    for (i, &v) in graph.values.iter().enumerate() {
        let name = graph.body.defining_op(v).map_or("argument", |op| graph.body.name(op));
        if graph.body.ty(v).format().is_none() {
            continue;
        }
        let elements: Vec<usize> = (0..tape.elements(i).min(40)).collect();
        let parts = tape.shares(i, &elements, &|| {});
        for ((e, c), parts) in reals(&exact[i]).iter().zip(reals(&computed[i])).zip(&parts) {
            let bound: f64 = parts.iter().sum();
            if !e.is_finite() || !c.is_finite() || !bound.is_finite() {
                continue;
            }
            tally.checked += 1;
            let error = Float::with_val(BITS, &c - e).abs();
            // Products of bounds may vanish in `f64`.
            if error > bound + 1e-300 {
                tally.violations.push(format!(
                    "graph {number}, {name}: {} is computed as {}, the error is {:.3e}, the bound {bound:.3e}",
                    e.to_f64(),
                    c.to_f64(),
                    error.to_f64()
                ));
                return tally;
            }
        }
    }
    tally
}

#[test]
fn errors_stay_below_what_roundings_become() {
    let context = ngc_dialects::context();
    let ops = ops();
    let tallies: Vec<Tally> =
        (0..GRAPHS).into_par_iter().map(|number| check(&context, &ops, number)).collect();
    let checked: usize = tallies.iter().map(|t| t.checked).sum();
    let violations: Vec<&String> = tallies.iter().flat_map(|t| &t.violations).collect();
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for (why, count) in tallies.iter().flat_map(|t| &t.refused) {
        *refused.entry(why).or_default() += count;
    }
    println!("{checked} values; refused: {refused:#?}");
    assert!(violations.is_empty(), "{} violations: {violations:#?}", violations.len());
    assert!(checked > 50_000, "{checked}");
}

#[test]
fn what_cancels_has_no_part() {
    // The rounding of the square cancels in the difference, and that of the second square comes back with the opposite sign.
    let text = "func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %a = ng.square %x : tensor<4xf32>
        %b = ng.add %a, %x : tensor<4xf32>
        %c = ng.sub %b, %a : tensor<4xf32>
        func.return %b, %c : tensor<4xf32>, tensor<4xf32>
    }";
    let context = ngc_dialects::context();
    let module = parse(text);
    let x = Tensor::floats(
        Format::F32,
        vec![4],
        vec![0.1f32, 3.7, -250.3, 1.9e4].into_iter().map(f64::from).collect(),
    );
    let inputs = [x.expect("four numbers")];
    let tape = Tape::record(&context, &module, "f", &inputs, Mode::Real { bits: BITS }).expect("a tape");
    let (sums, differences) = (tape.shares(0, &[0, 1, 2, 3], &|| {}), tape.shares(1, &[0, 1, 2, 3], &|| {}));
    for (sum, difference) in sums.iter().zip(&differences) {
        assert!(sum[0] > 0.0 && difference[0] < 1e-4 * sum[0], "{sum:?} {difference:?}");
        assert!(
            (difference[1] - sum[1]).abs() <= 1e-6 * sum[1] && difference[2] > 0.0,
            "{sum:?} {difference:?}"
        );
    }
}
