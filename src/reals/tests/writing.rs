//! What was read is written back as ops that compute the same: random graphs over all ops, at 300 bits.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use ngc_interp::Interpreter;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Body, Builder, Module, Resources, Sources, Value};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use ngc_reals::read::{Reader, Reading};
use ngc_reals::write::Writer;
use ngc_reals::{Form, Node, Store, Use, charts};
use rug::Float;
use rustc_hash::FxHashMap;

/// The values that leaves are: arguments, constants, and results of ops without index form.
fn leaves(store: &Store, body: &Body, readings: &FxHashMap<Value, Reading>) -> FxHashMap<u32, Value> {
    let mut leaves = FxHashMap::default();
    let block = body.entry().expect("a block");
    let results = body.ops(block).flat_map(|op| body.results(op).collect::<Vec<_>>());
    for value in body.arguments(block).iter().copied().chain(results) {
        let Some(reading) = readings.get(&value) else { continue };
        let Node::Leaf(leaf) = store.node(reading.element.id) else { continue };
        if reading.axes().is_some_and(|axes| axes.is_sorted()) {
            leaves.entry(*leaf).or_insert(value);
        }
    }
    leaves
}

/// The function with its results written anew, and of each whether it is exactly what was read; and how many of them are joined of
/// pieces that were read `apart`.
fn rewritten(given: &Module, body: &Body, apart: bool) -> Result<(Module, Vec<bool>, usize), String> {
    let context = ngc_dialects::context();
    let mut store = Store::new();
    let resources = Resources::default();
    let mut module = given.clone();
    let func = module.symbol("f").expect("the function");
    let mut body = body.clone();
    let readings = Reader::new(&mut store, &context, &resources).body(&body, &[]);
    let leaves = leaves(&store, &body, &readings);
    let values = Default::default();
    let block = body.entry().expect("a block");
    let end = body.ops(block).last().expect("a terminator");
    let results = body.operands(end).to_vec();
    let (mut written, mut exact, mut joined) = (Vec::new(), Vec::new(), 0);
    let mut elements: Vec<Use> = results.iter().map(|value| readings[value].element.clone()).collect();
    for (element, value) in elements.iter_mut().zip(&results).filter(|_| apart) {
        if let Some(pieces) = charts::pieces(&mut store, element, &readings[value].extents) {
            (*element, joined) = (pieces, joined + 1);
        }
    }
    let types: Vec<_> = results.iter().map(|&v| body.ty(v)).collect();
    for ((value, ty), element) in results.iter().zip(&types).zip(&elements) {
        let builder = Builder::before(&context, &mut body, end);
        let mut writer = Writer::new(&store, builder, Format::F64, &leaves, &|_| Form::Plain, &values);
        let new = writer.value(element, &readings[value].extents)?;
        written.push(writer.typed(new, *ty)?);
        exact.push(!writer.has_rounded());
    }
    body.set_operands(end, &written);
    module.body.set_body(func, body);
    Ok((module, exact, joined))
}

/// How a value was read, all the way down.
fn shown(graph: &Graph, value: Value) -> String {
    let (context, resources) = (ngc_dialects::context(), Resources::default());
    let mut store = Store::new();
    let readings = Reader::new(&mut store, &context, &resources).body(&graph.body, &[]);
    store.show(&readings[&value].element)
}

/// Whether a number is finite, and such that what 500 bits lose of it is nothing beside 1: a residue of a cancelled sum
/// may be the argument of an exponential.
fn plain(x: &Float) -> bool {
    x.is_zero() || (x.is_finite() && x.get_exp().is_some_and(|e| e.abs() < 250))
}

#[test]
fn what_is_written_back_computes_the_same() {
    let (context, ops) = (ngc_dialects::context(), ops());
    let (mut elements, mut rounded, mut refused) = (0, 0, BTreeMap::<String, usize>::new());
    let mut joined = 0;
    for number in 0..200 {
        let mut r = Random::new(0x3b17e + number);
        let graph = Graph::draw(&mut r, &context, &ops, Format::F64);
        let inputs = graph.inputs(&mut r);
        let run = |module: &Module, bits| {
            Interpreter::new(&context, module, Evaluator::new(Mode::Real { bits })).call("f", &inputs)
        };
        let Ok(exact) = run(&graph.module, BITS) else { continue };
        let (module, kept) = match rewritten(&graph.module, &graph.body, number % 2 == 1) {
            Ok((module, kept, pieces)) => {
                joined += pieces;
                (module, kept)
            }
            Err(why) => {
                *refused.entry(why).or_default() += 1;
                continue;
            }
        };
        let again = run(&module, BITS + 200).unwrap_or_else(|e| panic!("graph {number}: {e:?}"));
        let mut finite: Vec<bool> = Vec::new();
        for (i, (&v, (old, new))) in graph.values.iter().zip(exact.iter().zip(&again)).enumerate() {
            let of =
                |w: &Value| graph.values.iter().position(|x| x == w).is_some_and(|k| k >= i || finite[k]);
            let before = graph.body.defining_op(v).is_none_or(|op| graph.body.operands(op).iter().all(of));
            finite.push(before && reals(old).iter().all(plain));
            rounded += usize::from(!kept[i]);
            if !finite[i] || !kept[i] {
                continue;
            }
            let name = graph.body.defining_op(v).map_or("argument", |op| graph.body.name(op));
            assert_eq!(old.shape, new.shape, "graph {number}: {name}");
            let scale = exact.iter().flat_map(|t: &Tensor| reals(t)).filter(Float::is_finite);
            let scale = scale.fold(Float::with_val(64, 1), |a, b| a.max(&b.abs()));
            for (a, b) in reals(old).iter().zip(reals(new)) {
                let close = Float::with_val(BITS, a - &b).abs() <= Float::with_val(64, &scale >> 170u32);
                let stable = || {
                    let more = run(&graph.module, BITS + 700).expect("it ran before");
                    reals(&more[i]).iter().zip(reals(old)).all(|(x, y)| {
                        Float::with_val(BITS, x - &y).abs() <= Float::with_val(64, &scale >> 170u32)
                    })
                };
                // The exponential of what is so great is beyond all numbers that MPFR has.
                let beyond = b.is_infinite() && *a > 1e18;
                assert!(
                    close || beyond || !stable(),
                    "graph {number}: {name} is {b:.20}, not {a:.20}\n{}",
                    shown(&graph, v)
                );
                elements += 1;
            }
        }
    }
    println!(
        "{elements} elements; {rounded} values with rounded constants; {joined} joined; refused: {refused:?}"
    );
    assert!(joined > 15, "only {joined} values are joined of pieces");
    assert!(rounded < 300, "{rounded} values have constants that were rounded");
    assert!(elements > 20_000, "only {elements} elements were compared; refused: {refused:?}");
}

/// A program of one function `f`.
pub fn parsed(text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", text, 1);
    parse_module(&ngc_dialects::context(), &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// A place before the first element of a running sum, or behind the last one, is no place of it: what stands there is put
/// beside it, also where that is the sum of nothing.
#[test]
fn what_is_joined_to_running_sums_stays() {
    let context = ngc_dialects::context();
    let x = vec![0.5, -1.25, 3.0, 0.75, -2.0, 1.5, 0.25, 2.0];
    let x = Tensor::floats(Format::F64, vec![2, 4], x).expect("a tensor");
    let run = |module: &Module| {
        let evaluator = Evaluator::new(Mode::Real { bits: 200 });
        Interpreter::new(&context, module, evaluator).call("f", std::slice::from_ref(&x)).expect("it runs")
    };
    let mut seen = 0;
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    for (op, (reverse, exclusive)) in ["cumsum", "cumprod"].iter().flat_map(|op| flags.map(|f| (op, f))) {
        for (value, count, first) in (0..8).map(|n| (n & 1, 1 + (n >> 1 & 1), n >> 2 == 0)) {
            let (own, ty) = (format!("tensor<2x{count}xf64>"), "tensor<2x4xf64>");
            let all = format!("tensor<2x{}xf64>", 4 + count);
            let joined = match first {
                true => format!("%c, %s {{axis = 1 : i64}} : {own}, {ty}"),
                false => format!("%s, %c {{axis = 1 : i64}} : {ty}, {own}"),
            };
            let text = format!(
                "func.func @f(%x: {ty}) -> {all} {{
                   %s = ng.{op} %x {{axis = 1 : i64, exclusive = {exclusive}, reverse = {reverse}}} : {ty}
                   %c = ng.constant dense<{value}.0> : {own}
                   %j = ng.concat {joined} -> {all}
                   %r = ng.exp %j : {all}
                   func.return %r : {all}
                 }}"
            );
            let module = parsed(&text);
            let func = module.symbol("f").expect("the function");
            let body = module.body.body(func).expect("a body");
            let (again, ..) = rewritten(&module, body, false).expect("it is written");
            let (old, new) = (run(&module), run(&again));
            assert_eq!(old[0].shape, new[0].shape, "{text}");
            for (a, b) in reals(&old[0]).iter().zip(reals(&new[0])) {
                let apart = Float::with_val(200, a - &b).abs();
                assert!(apart <= Float::with_val(64, a.abs_ref()) >> 150u32, "{text}\n{a} is {b}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 8 * 4 * (2 * 5 + 2 * 6));
}
