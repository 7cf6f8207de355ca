//! What roundings become in results: random graphs over all ops, held against evaluation at 300 bits.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use crate::support::{evidence, parse};
use ngc_interp::{Interpreter, Share, Tape};
use ngc_ir::{Context, OpDef};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use rayon::prelude::*;
use rug::Float;

const GRAPHS: u64 = 2000;
/// Where the certificate is fresh, one of so many.
const STEP: u64 = 4;

/// How many times less is looked at.
fn step() -> u64 {
    if evidence::whole("boundaries") { 1 } else { STEP }
}

#[derive(Default)]
struct Tally {
    checked: usize,
    /// By op: elements among these that roundings reach.
    reached: BTreeMap<&'static str, usize>,
    refused: BTreeMap<String, usize>,
    /// Errors, in standard deviations as the shares say.
    deviations: Vec<f64>,
    violations: Vec<String>,
}

impl Tally {
    /// Of random graphs over some ops. No bound is violated.
    fn of(ops: &[&'static OpDef], first: u64, graphs: u64) -> Tally {
        let context = ngc_dialects::context();
        let each = (first..first + graphs).into_par_iter().map(|number| check(&context, ops, number));
        let mut all = Tally::default();
        for tally in each.collect::<Vec<Tally>>() {
            all.checked += tally.checked;
            all.violations.extend(tally.violations);
            all.deviations.extend(tally.deviations);
            tally.reached.into_iter().for_each(|(op, n)| *all.reached.entry(op).or_default() += n);
            tally.refused.into_iter().for_each(|(why, n)| *all.refused.entry(why).or_default() += n);
        }
        let Tally { checked, refused, violations, .. } = &all;
        println!("{checked} values; refused: {refused:#?}");
        assert!(violations.is_empty(), "{} violations: {violations:#?}", violations.len());
        all
    }
}

fn check(context: &Context, ops: &[&'static OpDef], number: u64) -> Tally {
    let mut r = Random::new(number);
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
            let bound: f64 = parts.iter().map(|share| share.own.most).sum();
            if !e.is_finite() || !c.is_finite() || !bound.is_finite() {
                continue;
            }
            tally.checked += 1;
            *tally.reached.entry(name).or_default() += usize::from(bound > 0.0);
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
            let variance = parts.iter().map(|share| share.own.squares).sum::<f64>() / 3.0;
            if variance > 1e-300 {
                tally.deviations.push(error.to_f64() / variance.sqrt());
            }
        }
    }
    tally
}

#[test]
fn errors_stay_below_what_roundings_become() {
    let all = Tally::of(&ops(), 0xad70_0000, GRAPHS / step());
    let few = step() as usize;
    assert!(few * all.checked > 50_000, "{}", all.checked);
    // Were roundings independent and anywhere within their bounds, one of 16 000 errors would be beyond four standard deviations.
    // Here the same number is often rounded twice, or not at all.
    let beyond =
        |many: f64| all.deviations.iter().filter(|d| **d > many).count() as f64 / all.deviations.len() as f64;
    let rms = (all.deviations.iter().map(|d| d * d).sum::<f64>() / all.deviations.len() as f64).sqrt();
    println!("certificate: {} deviations, rms {rms}, beyond four {}", all.deviations.len(), beyond(4.0));
    assert!(
        few * all.deviations.len() > 10_000 && (0.3..1.1).contains(&rms) && beyond(4.0) < 1e-3,
        "{rms} {}",
        beyond(4.0)
    );
}

#[test]
fn what_is_put_in_order_is_followed() {
    // Clamped and narrowed elements are often equal: which of them stands where is a choice, too.
    let names =
        ["sort", "topk", "sort", "topk", "clamp", "relu", "exp", "mul", "sigmoid", "convert", "gather"];
    let of = |name: &&str| ops().into_iter().find(|op| op.short_name() == *name).expect("an op");
    let all = Tally::of(&names.iter().map(of).collect::<Vec<_>>(), 0x5027_0000, GRAPHS / 2 / step());
    for op in ["ng.sort", "ng.topk"] {
        assert!(all.reached.get(op).is_some_and(|n| *n > 1000 / step() as usize), "{:?}", all.reached);
        let why = format!("'{op}' has no derivative");
        assert!(!all.refused.keys().any(|refused| refused.starts_with(&why)), "{:?}", all.refused);
    }
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
    let most = |shares: &[Share]| shares.iter().map(|share| share.own.most).collect::<Vec<f64>>();
    for (sum, difference) in
        sums.iter().zip(&differences).map(|(sum, difference)| (most(sum), most(difference)))
    {
        assert!(sum[0] > 0.0 && difference[0] < 1e-4 * sum[0], "{sum:?} {difference:?}");
        assert!(
            (difference[1] - sum[1]).abs() <= 1e-6 * sum[1] && difference[2] > 0.0,
            "{sum:?} {difference:?}"
        );
    }
}

#[test]
fn what_is_put_in_order_comes_from_its_place() {
    // Elements that are equal in the run: of each pair one is exact, and less or greater than the other over the reals.
    let text = "func.func @f(%x: tensor<1x4xf32>, %c: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>) {
        %e = ng.exp %x : tensor<1x4xf32>
        %up = ng.concat %e, %c {axis = 0} : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
        %v, %i = ng.sort %up {axis = 0} : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2x4xi64>
        %down = ng.concat %c, %e {axis = 0} : tensor<1x4xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
        %w, %j = ng.sort %down {axis = 0, descending = true} : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2x4xi64>
        %t, %k = ng.topk %down {axis = 0, k = 1, sorted = false} : tensor<2x4xf32> -> tensor<1x4xf32>, tensor<1x4xi64>
        func.return %e, %v, %w, %t : tensor<1x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4xf32>
    }";
    let context = ngc_dialects::context();
    let module = parse(text);
    // Their exponentials are rounded up.
    let x = Tensor::floats(Format::F32, vec![1, 4], vec![-0.5, 0.25, 0.75, -1.0]).expect("four numbers");
    let inputs = [x.clone(), x];
    let run = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded)).call("f", &inputs);
    let [x, _] = inputs;
    let inputs = [x, run.expect("results").swap_remove(0)];
    let tape = Tape::record(&context, &module, "f", &inputs, Mode::Real { bits: BITS }).expect("a tape");
    let shares = |result: usize| -> Vec<f64> {
        let elements: Vec<usize> = (0..tape.elements(result)).collect();
        tape.shares(result, &elements, &|| {})
            .iter()
            .map(|parts| parts.iter().map(|share| share.own.most).sum())
            .collect()
    };
    let (own, none) = (shares(0), vec![0.0; 4]);
    assert!(own.iter().all(|share| *share > 0.0), "{own:?}");
    assert_eq!(shares(1), [&own[..], &none].concat());
    assert_eq!(shares(2), [&none[..], &own].concat());
    assert_eq!(shares(3), none);
}

#[test]
fn errors_of_results_are_followed_beside_roundings() {
    // What a runtime's gelu errs by is no rounding. A relu has none.
    let text = "func.func @f(%x: tensor<4xf32>, %w: tensor<4x1xf32>) -> (tensor<1xf32>, tensor<4xf32>) {
        %g = ng.gelu %x : tensor<4xf32>
        %y = ng.matmul %g, %w : tensor<4xf32>, tensor<4x1xf32> -> tensor<1xf32>
        %r = ng.relu %x : tensor<4xf32>
        func.return %y, %r : tensor<1xf32>, tensor<4xf32>
    }";
    let context = ngc_dialects::context();
    let module = parse(text);
    let floats =
        |shape: Vec<usize>, data: Vec<f64>| Tensor::floats(Format::F32, shape, data).expect("four numbers");
    let weights = vec![1.0, -2.0, 0.5, 3.0];
    let inputs = [floats(vec![4], vec![0.75, -0.25, 2.0, 1.5]), floats(vec![4, 1], weights.clone())];
    let run = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded)).call("f", &inputs);
    assert!(run.is_ok());
    let tape = Tape::record(&context, &module, "f", &inputs, Mode::Real { bits: BITS }).expect("a tape");
    assert_eq!(tape.reach()[0], 2.0);
    let near = |x: f64, y: f64| (x - y).abs() <= 0.02 * y;
    let [gelu, product, ..] = &tape.shares(0, &[0], &|| {})[0][..] else { panic!("two ops") };
    let sum: f64 = weights.iter().map(|w: &f64| w.abs()).sum();
    assert!(near(gelu.one.most, sum) && near(product.one.most, 1.0), "{gelu:?} {product:?}");
    assert!(near(gelu.one.squares, weights.iter().map(|w| w * w).sum()), "{gelu:?}");
    // Half a unit in the last place of 0.58, -0.1, 1.95, and 1.4.
    let units =
        weights.iter().zip([-25, -28, -24, -24]).map(|(w, e): (&f64, i32)| w.abs() * f64::from(e).exp2());
    assert!(near(gelu.unit.most, units.sum()) && near(gelu.own.most, gelu.unit.most), "{gelu:?}");
    let relu = tape.shares(1, &[1], &|| {})[0][2];
    assert!(relu.own.most == 0.0 && near(relu.one.most, 1.0), "{relu:?}");
}
