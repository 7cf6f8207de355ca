//! Bounds are bounds: random graphs over all ops, formats and inputs, evaluated as rounded and at 300 bits. No value
//! leaves its enclosure, no error exceeds its bound.
//!
//! `NGC_HONESTY_VALUES` sets how many values are checked (default 200 000), `NGC_HONESTY_SEED` which graphs are drawn,
//! and `NGC_HONESTY_GRAPH` checks one graph of a seed alone. Results do not depend on the number of threads.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

use crate::random_graphs::values::{BITS, inside, reals};
use crate::random_graphs::{Graph, ops};
use ngc_dialects::transfer::Flow;
use ngc_interp::Interpreter;
use ngc_ir::{Body, Context, InternalError, OpDef, Resources, Value};
use ngc_numerics::{Enclosure, Evaluator, Format, Mode, Random, Range, Tensor};
use rayon::prelude::*;
use rug::Float;

/// A reference that differs at one of these is none.
const OTHER_BITS: [u32; 8] = [260, 333, 410, 555, 700, 801, 1023, 1500];
/// Inputs for each graph.
const INPUTS: usize = 3;
/// Graphs checked together: the number of values is looked at between two batches.
const BATCH: u64 = 32;

/// Ops that have no finite bound, and why; empty while there is none.
const NEVER_BOUNDED: &[(&str, &str)] = &[];

/// Elements of one tensor that count as values.
const COUNTED: usize = 72;
/// After so many violations it is enough.
const ENOUGH: usize = 10;

/// What was checked: graphs, runs refused, values without a reference, violations (one a graph), and for each op values
/// in all and with a finite bound.
#[derive(Default)]
struct Tally {
    graphs: usize,
    opened: usize,
    refused: usize,
    undecided: usize,
    violations: Vec<String>,
    ops: BTreeMap<&'static str, [usize; 2]>,
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.graphs += other.graphs;
        self.opened += other.opened;
        self.refused += other.refused;
        self.undecided += other.undecided;
        self.violations.extend(other.violations);
        for (name, counts) in other.ops {
            let own = self.ops.entry(name).or_default();
            own[0] += counts[0];
            own[1] += counts[1];
        }
        self
    }

    /// Values in all, and those with a finite bound.
    fn values(&self) -> [usize; 2] {
        self.ops.values().fold([0, 0], |sum, of| [sum[0] + of[0], sum[1] + of[1]])
    }
}

/// The magnitudes that the computation of each value goes through, which say what 300 bits lose.
fn scales(body: &Body, values: &[Value], exact: &[Tensor]) -> Vec<Float> {
    let mut scales = vec![Float::new(64); body.num_values()];
    for (&v, tensor) in values.iter().zip(exact) {
        let operands = body.defining_op(v).map_or(&[][..], |op| body.operands(op));
        let before = operands.iter().map(|w| scales[w.index()].clone());
        let own = reals(tensor).into_iter().filter(Float::is_finite).map(|x| Float::with_val(64, x.abs()));
        scales[v.index()] = before.chain(own).fold(Float::new(64), |a, b| a.max(&b));
    }
    scales
}

/// Checks one graph on some inputs.
fn check(context: &Context, ops: &[&'static OpDef], seed: u64, number: u64) -> Tally {
    let mut r = Random::new(seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number));
    let format = r.pick(&Format::ALL);
    let mut graph = Graph::draw(&mut r, context, ops, format);
    if r.chance(30) {
        let opened = graph.opened(&mut r, context);
        let inputs = opened.inputs(&mut r);
        // What an op decides at run time may refuse the operands that it has then.
        let run = Interpreter::new(context, &opened.module, Evaluator::new(Mode::Rounded)).call("f", &inputs);
        graph = if run.is_ok() { opened } else { graph };
    }
    let body = &graph.body;
    let mut flow = Flow::of_function(body, graph.arg_attrs.as_ref(), &Resources::default());
    let entry = body.entry().expect("a block");
    for (&v, argument) in body.arguments(entry).iter().zip(&graph.arguments) {
        flow.set(v, Range::both(Enclosure::new(argument.range.0, argument.range.1)), 0.0);
    }
    let mut tally = Tally { graphs: 1, opened: usize::from(graph.arg_attrs.is_some()), ..Tally::default() };
    for op in body.walk() {
        let step = catch_unwind(AssertUnwindSafe(|| flow.step(body, op).map(|_| ())));
        if let Err(payload) = step {
            let message = payload.downcast_ref::<InternalError>().map(|error| error.0.message.clone());
            tally.violations.push(format!("graph {number} of seed {seed}: {message:?}"));
            return tally;
        }
    }
    for _ in 0..INPUTS {
        let inputs = graph.inputs(&mut r);
        let run = |mode| Interpreter::new(context, &graph.module, Evaluator::new(mode)).call("f", &inputs);
        let (Ok(exact), Ok(computed)) = (run(Mode::Real { bits: BITS }), run(Mode::Rounded)) else {
            tally.refused += 1;
            continue;
        };
        let scales = scales(body, &graph.values, &exact);
        for (i, &v) in graph.values.iter().enumerate() {
            let name = body.defining_op(v).map_or("argument", |op| body.name(op));
            let counts = tally.ops.entry(name).or_default();
            let (range, error, mixed) = (flow.range(v), flow.error(v), flow.relative(v));
            let slack = Float::with_val(64, &scales[v.index()] >> 240u32);
            for (place, (e, c)) in reals(&exact[i]).iter().zip(reals(&computed[i])).enumerate() {
                let bounded = error.is_finite() && !e.is_nan();
                let near = |bound: Float| match e.is_finite() {
                    true => c.is_finite() && Float::with_val(BITS, &c - e).abs() <= bound + &slack,
                    false => c == *e,
                };
                let relative = || Float::with_val(BITS, e.abs_ref()) * mixed.rho + mixed.eta;
                let wrong = if !inside(e, &range.exact, &slack) {
                    "exact value outside"
                } else if !inside(&c, &range.computed, &Float::new(64)) {
                    "computed value outside"
                } else if bounded && !near(Float::with_val(BITS, error)) {
                    "error above its bound"
                } else if mixed.is_finite() && !e.is_nan() && !near(relative()) {
                    "error above its relative bound"
                } else {
                    // All elements are held against the bounds; few of a long tensor count.
                    counts[0] += usize::from(place < COUNTED);
                    counts[1] += usize::from(place < COUNTED && bounded);
                    continue;
                };
                // At a jump, such as that of `ceil`, what 300 bits lose may decide.
                let elsewhere = |bits| match run(Mode::Real { bits }) {
                    Ok(exact) => reals(&exact[i])[place].clone(),
                    Err(_) => Float::with_val(64, e),
                };
                let stable = |x: Float| {
                    // Infinities of one sign differ by NaN, which is no difference.
                    let apart = Float::with_val(BITS, &x - e).abs();
                    x.is_nan() == e.is_nan() && (apart.is_nan() || apart <= slack)
                };
                if !OTHER_BITS.into_iter().map(elsewhere).all(stable) {
                    tally.undecided += 1;
                    continue;
                }
                let report = explain(&graph, &flow, v, [&exact[..], &computed]);
                tally.violations.push(format!(
                    "{wrong} at {place}, graph {number} of seed {seed}: exact {e:.20}, computed {c:.20}\n{report}"
                ));
                return tally;
            }
        }
    }
    tally
}

/// An op with all that is known of its operands and results.
fn explain(graph: &Graph, flow: &Flow, v: Value, [exact, computed]: [&[Tensor]; 2]) -> String {
    let body = &graph.body;
    let known = |v: Value| {
        let i = graph.values.iter().position(|&w| w == v).expect("a value of the graph");
        let show =
            |t: &Tensor| reals(t).iter().map(|x| format!("{:e}", x.to_f64())).collect::<Vec<_>>().join(" ");
        format!(
            "  {} = {:?} ± {:e}, {:?}\n    exact    {}\n    computed {}\n",
            body.ty(v),
            flow.range(v),
            flow.error(v),
            flow.relative(v),
            show(&exact[i]),
            show(&computed[i])
        )
    };
    let Some(op) = body.defining_op(v) else { return format!("an argument\n{}", known(v)) };
    let operands: String = body.operands(op).iter().map(|&v| known(v)).collect();
    format!("{} {:?}\n{operands}->\n{}", body.name(op), body.op(op).attrs, known(v))
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn no_bound_is_ever_exceeded() {
    let wanted: usize = setting("NGC_HONESTY_VALUES").unwrap_or(200_000);
    let seed: u64 = setting("NGC_HONESTY_SEED").unwrap_or(1);
    let (context, ops, mut tally) = (ngc_dialects::context(), ops(), Tally::default());
    if let Some(number) = setting("NGC_HONESTY_GRAPH") {
        let found = check(&context, &ops, seed, number);
        assert!(found.violations.is_empty(), "{}", found.violations.join("\n"));
        return;
    }
    for batch in 0.. {
        if tally.values()[0] >= wanted || tally.violations.len() >= ENOUGH {
            break;
        }
        let numbers = (batch * BATCH..(batch + 1) * BATCH).into_par_iter();
        let parts: Vec<Tally> = numbers.map(|number| check(&context, &ops, seed, number)).collect();
        tally = parts.into_iter().fold(tally, Tally::add);
    }
    let [values, bounded] = tally.values();
    let Tally { graphs, opened, refused, undecided, .. } = tally;
    println!(
        "certificate: {values} values of {graphs} graphs of seed {seed}, {opened} of them with open extents, {bounded} with a finite bound, {undecided} \
         without a reference, {refused} runs refused"
    );
    for (name, [seen, bounded]) in &tally.ops {
        println!("{name:28} {seen:8} {bounded:8}");
    }
    let violations = &tally.violations;
    assert!(violations.is_empty(), "{} violations\n{}", violations.len(), violations.join("\n"));
    for op in &ops {
        let [seen, bounded] = tally.ops.get(op.name).copied().unwrap_or_default();
        assert!(seen > 0, "{} was never drawn", op.name);
        let excused = NEVER_BOUNDED.iter().any(|(name, _)| *name == op.name);
        assert!(excused || bounded > 0, "{} never had a finite bound", op.name);
    }
    assert!(opened * 8 > graphs, "too few graphs have open extents");
    assert!(bounded * 4 > values, "too few values have a bound to test it");
    assert!(refused * 10 < graphs * INPUTS, "too many graphs cannot be evaluated");
    assert!(undecided * 10_000 < values, "too many values have no reference");
}
