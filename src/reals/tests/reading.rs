//! Reading a program does not change what it computes: random graphs over all ops, held against the interpreter at 300
//! bits, element by element.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use ngc_interp::Interpreter;
use ngc_ir::{Resources, Value};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use ngc_reals::Store;
use ngc_reals::evaluate::Evaluation;
use ngc_reals::read::{Reader, Reading};
use ngc_reals::store::Leaf;
use rug::Float;
use rustc_hash::{FxHashMap, FxHashSet};

/// Graphs, and how many elements of how many values were compared.
#[derive(Default)]
struct Seen {
    values: BTreeMap<&'static str, usize>,
    elements: usize,
    nodes: usize,
}

/// Whether a number is finite, not so large that the exponents of big floats end, and not what 300 bits leave of a sum that is 0,
/// which may be the pole of another function.
fn plain(x: &Float) -> bool {
    x.is_zero() || (x.is_finite() && x.get_exp().is_some_and(|e| (-250..1 << 24).contains(&e)))
}

/// The values of which every element, and every element of what they are made of, is finite: over the reals an infinity
/// may be otherwise than in IEEE arithmetic.
fn finite(graph: &Graph, exact: &[Tensor]) -> Vec<bool> {
    let mut finite: Vec<bool> = Vec::new();
    for (i, &v) in graph.values.iter().enumerate() {
        let own = reals(&exact[i]).iter().all(plain);
        let of = |w: &Value| graph.values.iter().position(|x| x == w).is_some_and(|k| k >= i || finite[k]);
        let before = graph.body.defining_op(v).is_none_or(|op| graph.body.operands(op).iter().all(of));
        finite.push(own && before);
    }
    finite
}

/// The operands of the op that makes a value.
fn operands(graph: &Graph, value: Value, exact: &[Tensor]) -> Vec<Vec<f64>> {
    let of = |w: &Value| graph.values.iter().position(|x| x == w).map_or(Vec::new(), |k| exact[k].to_f64s());
    graph.body.defining_op(value).map_or(Vec::new(), |op| graph.body.operands(op).iter().map(of).collect())
}

fn check(number: u64, seen: &mut Seen) {
    let (context, ops) = (ngc_dialects::context(), ops());
    let mut r = Random::new(0x7ea1 + number);
    let format = r.pick(&[Format::F32, Format::F64]);
    let graph = Graph::draw(&mut r, &context, &ops, format);
    let inputs = graph.inputs(&mut r);
    let run = |bits| {
        Interpreter::new(&context, &graph.module, Evaluator::new(Mode::Real { bits })).call("f", &inputs)
    };
    let Ok(exact) = run(BITS) else { return };
    let mut store = Store::new();
    let resources = Resources::default();
    let readings: FxHashMap<Value, Reading> =
        Reader::new(&mut store, &context, &resources).body(&graph.body, &[]);
    seen.nodes += store.len();
    let finite = finite(&graph, &exact);
    // The tensor of a leaf is that of the value which is read as it.
    let mut leaves: FxHashMap<Leaf, Tensor> = FxHashMap::default();
    for (i, v) in graph.values.iter().enumerate() {
        let Some(reading) = readings.get(v) else { continue };
        if let ngc_reals::Node::Leaf(leaf) = store.node(reading.element.id)
            && reading.element.map.iter().all(|index| index.as_axis().is_some())
        {
            leaves.entry(store.leaf(*leaf).clone()).or_insert_with(|| exact[i].clone());
        }
    }
    for op in graph.body.walk() {
        // Constants that are operands are no results of the function.
        if let [v] = graph.body.results(op).collect::<Vec<_>>()[..]
            && let Some(reading) = readings.get(&v)
            && let ngc_reals::Node::Leaf(leaf) = store.node(reading.element.id)
            && let Some(value) = graph.body.attr(op, "value")
            && let Ok(tensor) = ngc_dialects::ng::constant::attr_to_tensor(value)
        {
            leaves.entry(store.leaf(*leaf).clone()).or_insert(tensor);
        }
    }
    let (unknown, leaf) = (|_| None, |leaf: &Leaf| leaves.get(leaf).cloned());
    let mut evaluation = Evaluation::new(&store, &context, BITS + 200, &unknown, &leaf);
    // Of log(1 + x) for a small x more bits are needed than of log1p(x).
    let mut precise = Evaluation::new(&store, &context, 4_000, &unknown, &leaf);
    let mut spilt: FxHashSet<Value> = FxHashSet::default();
    for (i, v) in graph.values.iter().enumerate().filter(|(i, _)| finite[*i]) {
        let Some(reading) = readings.get(v) else { continue };
        let name = graph.body.defining_op(*v).map_or("argument", |op| graph.body.name(op));
        let all = reals(&exact[i]);
        let scale = exact.iter().flat_map(reals).filter(Float::is_finite);
        let scale = scale.fold(Float::with_val(64, 1), |a, b| a.max(&b.abs()));
        for (flat, theirs) in all.iter().enumerate() {
            let mut rest = flat as i64;
            let shape = exact[i].shape.iter().rev();
            let mut at: Vec<i64> = shape.map(|&n| (rest % n as i64, rest /= n as i64).0).collect();
            at.reverse();
            let Some(ours) = evaluation.value(&reading.element, &at) else {
                panic!("graph {number}: {name} has no value at {at:?}: {:?}", store.node(reading.element.id));
            };
            let mut ours = reals(&ours).remove(0);
            let is_close = |ours: &Float| {
                Float::with_val(BITS, ours - theirs).abs() <= Float::with_val(64, &scale >> 180u32)
            };
            if !is_close(&ours) {
                ours = reals(&precise.value(&reading.element, &at).expect("it had a value")).remove(0);
            }
            // The exponential of such a number leaves even big floats.
            let own = ours.is_infinite() && theirs.get_exp() > Some(60);
            if own {
                spilt.insert(*v);
            }
            // Of such a value another function may have none.
            let op = graph.body.defining_op(*v);
            let of_spilt = || op.is_some_and(|op| graph.body.operands(op).iter().any(|w| spilt.contains(w)));
            let close = own || is_close(&ours) || ours.is_nan() && of_spilt();
            // At a jump what 300 bits lose may decide.
            let stable = || {
                run(BITS + 700).is_ok_and(|again| {
                    let apart = Float::with_val(BITS, &reals(&again[i])[flat] - theirs).abs();
                    apart <= Float::with_val(64, &scale >> 180u32)
                })
            };
            assert!(
                close || !stable(),
                "graph {number}: {name} at {at:?} is {ours:.20}, not {theirs:.20}\n{}\n{:?}\n{:?}",
                store.show(&reading.element),
                graph.body.defining_op(*v).map(|op| &graph.body.op(op).attrs),
                operands(&graph, *v, &exact),
            );
            seen.elements += 1;
        }
        *seen.values.entry(name).or_default() += 1;
    }
}

#[test]
fn reading_keeps_what_a_program_computes() {
    let mut seen = Seen::default();
    for number in 0..300 {
        check(number, &mut seen);
    }
    println!("{} elements, {} terms, {:?}", seen.elements, seen.nodes, seen.values);
    for def in ops() {
        assert!(seen.values.contains_key(def.name), "{} was never compared", def.name);
    }
}

/// Sums from the end, as running sums of what was reversed, have the extents of what they are sums of: forms of a term without
/// extents are not looked for.
#[test]
fn running_sums_from_the_end_have_extents() {
    let context = ngc_dialects::context();
    for (op, of) in ["cumsum", "cumprod"].iter().flat_map(|op| ["x", "e"].map(|of| (op, of))) {
        let ty = "tensor<3x5xf32>";
        let text = format!(
            "func.func @f(%x: {ty}) -> {ty} {{
               %e = ng.exp %x : {ty}
               %r = ng.reverse %{of} {{axes = [1]}} : {ty}
               %s = ng.{op} %r {{axis = 1 : i64}} : {ty}
               %a = ng.reverse %s {{axes = [1]}} : {ty}
               %l = ng.log %a : {ty}
               func.return %l : {ty}
             }}"
        );
        let module = crate::writing::parsed(&text);
        let body = module.body.body(module.symbol("f").expect("the function")).expect("a body");
        let mut store = Store::new();
        let readings = Reader::new(&mut store, &context, &module.resources).body(body, &[]);
        let last = body.walk().last().map(|&op| body.operands(op)[0]).expect("it returns");
        let sizes = store.sizes(readings[&last].element.id);
        let mut numbers: Vec<_> = sizes.iter().map(|size| size.number()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [Some(3), Some(5)], "{text}");
    }
}
