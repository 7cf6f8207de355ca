//! Single elements are what the interpreter computes: random graphs over all ops, element by element, in the formats bit
//! for bit and over the reals within the enclosure.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use ngc_interp::Interpreter;
use ngc_interp::elements::{Column, Elements, Mode};
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Dim, Loc, Resources, Type, Value};
use ngc_numerics::{DType, Evaluator, Format, Random, Tensor};

/// Inputs that are drawn for a graph.
const POINTS: usize = 3;

/// Ops of which no element is given: their places depend on data, or they work on bits, of which no structure is declared.
const OPAQUE: &[&str] = &[
    "ng.scatter_elements",
    "ng.scatter_nd",
    "ng.argmax",
    "ng.argmin",
    "ng.sort",
    "ng.topk",
    "num.andi",
    "num.ori",
    "num.xori",
    "num.shli",
    "num.shrui",
    "num.shrsi",
];

/// Results by point and value.
struct Drawn {
    graph: Graph,
    inputs: Vec<Vec<Tensor>>,
    results: Vec<Vec<Tensor>>,
}

impl Drawn {
    fn new(context: &Context, seed: u64, open: bool, mode: ngc_numerics::Mode) -> Option<Drawn> {
        let mut r = Random::new(seed);
        let format = r.pick(&[Format::F32, Format::F64, Format::F16, Format::Bf16]);
        let mut graph = Graph::draw(&mut r, context, &ops(), format);
        if open {
            graph = graph.opened(&mut r, context);
        }
        let inputs: Vec<Vec<Tensor>> = (0..POINTS).map(|_| graph.inputs(&mut r)).collect();
        // Elements are given as binary64.
        let exact = |x: &Tensor| x.as_ints().is_none_or(|v| v.iter().all(|x| x.unsigned_abs() < 1 << 53));
        if !inputs.iter().flatten().all(exact) {
            return None;
        }
        let interpreter = Interpreter::new(context, &graph.module, Evaluator::new(mode));
        let results: Result<Vec<_>, _> = inputs.iter().map(|x| interpreter.call("f", x)).collect();
        let results = results.ok()?;
        Some(Drawn { graph, inputs, results })
    }

    /// The number of an argument.
    fn argument(&self, value: Value) -> usize {
        let body = &self.graph.body;
        let arguments = body.arguments(body.entry().expect("a block"));
        arguments.iter().position(|&v| v == value).expect("an argument")
    }

    /// Calls `f` with the op, the element at all points and the computed values there; counts by op the elements that are
    /// given and those that are not.
    fn each(
        &self,
        context: &Context,
        mode: Mode,
        seen: &mut BTreeMap<&'static str, [usize; 2]>,
        mut f: impl FnMut(&str, &Column, Vec<Tensor>),
    ) {
        let body = &self.graph.body;
        let extents = |v: Value, n: usize| self.inputs[0][self.argument(v)].shape[n];
        let leaf = |v: Value, at: &[i64]| {
            let n = self.argument(v);
            let flat = at.iter().zip(&self.inputs[0][n].shape).fold(0, |flat, (&i, n)| flat * n + i as usize);
            self.inputs.iter().map(|x| x[n].to_f64s()[flat]).collect()
        };
        let resources = Resources::default();
        let mut elements =
            Elements::new(context, &resources, mode, POINTS, Box::new(extents), Box::new(leaf));
        for (n, &value) in self.graph.values.iter().enumerate() {
            let name = body.defining_op(value).map_or("argument", |op| body.name(op));
            let shape = &self.results[0][n].shape;
            let count: usize = shape.iter().product();
            for flat in 0..count.min(200) {
                let mut rest = flat;
                let mut at: Vec<i64> = shape.iter().rev().map(|n| (rest % n, rest /= n).0 as i64).collect();
                at.reverse();
                let found = elements.at(body, value, &at);
                seen.entry(name).or_default()[usize::from(found.is_none())] += 1;
                if let Some(found) = found {
                    let computed = self.results.iter().map(|x| x[n].select(Vec::new(), &[flat])).collect();
                    let attrs = body.defining_op(value).map(|op| &body.op(op).attrs);
                    f(&format!("{name} {attrs:?} at {at:?}"), &found, computed);
                }
            }
        }
    }
}

#[test]
fn in_formats_elements_are_those_of_the_interpreter() {
    let context = ngc_dialects::context();
    let mut seen = BTreeMap::new();
    let mut drawn = 0;
    for seed in 0..300 {
        let Some(graph) = Drawn::new(&context, 0xe1e0 + seed, seed % 3 == 2, ngc_numerics::Mode::Rounded)
        else {
            continue;
        };
        drawn += 1;
        graph.each(&context, Mode::Formats, &mut seen, |op, found, computed| {
            for (i, x) in computed.iter().enumerate() {
                let same = match found {
                    Column::Floats(v) => {
                        let x = x.to_f64s()[0];
                        v[i].to_bits() == x.to_bits() || (v[i].is_nan() && x.is_nan())
                    }
                    Column::Integers(v) => v[i] == x.as_ints().map(|x| x[0]),
                    Column::Truths(v) => v[i].map(i64::from) == x.as_ints().map(|x| x[0]),
                    Column::Reals(_) | Column::Near(_) => false,
                };
                assert!(same, "graph {seed}: {op}: {found:?}, not {computed:?}");
            }
        });
    }
    println!("{drawn} graphs; elements given and not given: {seen:#?}");
    for (name, [given, _]) in &seen {
        assert!(OPAQUE.contains(name) != (*given > 0), "{name}: {given} elements are given");
    }
}

#[test]
fn over_the_reals_elements_enclose_those_of_the_interpreter() {
    let context = ngc_dialects::context();
    let mut seen = BTreeMap::new();
    for way in [Mode::Real { bits: BITS }, Mode::Near] {
        let (mut known, mut unknown) = (0, 0);
        for seed in 0..120 {
            let mode = ngc_numerics::Mode::Real { bits: BITS };
            let Some(graph) = Drawn::new(&context, 0xe1e0 + seed, seed % 3 == 2, mode) else { continue };
            graph.each(&context, way, &mut seen, |op, found, computed| {
                for (i, x) in computed.iter().enumerate() {
                    let mut count = |unsure: bool| *if unsure { &mut unknown } else { &mut known } += 1;
                    let holds = match found {
                        Column::Reals(v) => {
                            count(v[i].may_be_nan && !v[i].is_undefined());
                            v[i].contains(&reals(x)[0])
                        }
                        Column::Near(v) => {
                            let (near, x) = (&v[i], &reals(x)[0]);
                            count(near.may_be_nan && !near.is_undefined());
                            if x.is_nan() {
                                near.may_be_nan || near.is_undefined()
                            } else {
                                near.lo <= *x && *x <= near.hi
                            }
                        }
                        Column::Integers(v) => v[i].is_none() || v[i] == x.as_ints().map(|x| x[0]),
                        Column::Truths(v) => {
                            v[i].is_none() || v[i].map(i64::from) == x.as_ints().map(|x| x[0])
                        }
                        Column::Floats(_) => false,
                    };
                    assert!(holds, "graph {seed}: {op}: {found:?}, not {computed:?}");
                }
            });
        }
        println!("{way:?}: {known} known, {unknown} not");
        assert!(unknown * 20 < known, "{way:?}: {known} known, {unknown} not");
    }
}

/// Ops in a row on a vector of binary32.
fn chain(
    context: &Context,
    extent: usize,
    ops: impl IntoIterator<Item = (&'static str, AttrDict)>,
) -> (Body, Value) {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let ty = Type::tensor([Dim::Static(extent)], DType::Float(Format::F32));
    let mut value = body.add_argument(block, ty, Loc::Unknown);
    for (name, attrs) in ops {
        let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
        value = b.emit(name, &[value], attrs).expect("an op");
    }
    (body, value)
}

fn leaf(_: Value, at: &[i64]) -> Vec<f64> {
    (0..64).map(|p| ((p * 37 + at[0] * 11) % 101) as f64 / 8.0).collect()
}

fn one(_: Value, _: usize) -> usize {
    1
}

#[test]
fn elements_are_shared_and_work_is_limited() {
    let context = ngc_dialects::context();
    let softmax = || ("ng.softmax", AttrDict::from([("axis", Attr::int(0))]));
    let (body, value) = chain(&context, 128, (0..10).map(|_| softmax()));
    let resources = Resources::default();
    for mode in [Mode::Formats, Mode::WideRange, Mode::Real { bits: 256 }] {
        let start = std::time::Instant::now();
        let mut elements = Elements::new(&context, &resources, mode, 64, Box::new(one), Box::new(leaf));
        for i in 0..128 {
            assert!(elements.at(&body, value, &[i]).is_some());
        }
        let work = elements.work();
        println!("{mode:?}: {work} operations in {:?}", start.elapsed());
        assert!(work < 64 * 128 * 10 * 10, "each element is evaluated once");
        let limited = Elements::new(&context, &resources, mode, 64, Box::new(one), Box::new(leaf));
        assert!(limited.with_limit(work / 2).at(&body, value, &[0]).is_none());
    }
}

#[test]
fn chains_of_any_length_are_read() {
    let context = ngc_dialects::context();
    let (body, value) = chain(&context, 3, (0..20_000).map(|_| ("ng.neg", AttrDict::EMPTY)));
    let resources = Resources::default();
    let mut elements = Elements::new(&context, &resources, Mode::Formats, 64, Box::new(one), Box::new(leaf));
    let Some(Column::Floats(found)) = elements.at(&body, value, &[1]).as_deref().cloned() else {
        panic!("no floats")
    };
    assert_eq!(found, leaf(value, &[1]));
    assert!(elements.at(&body, value, &[3]).is_none() && elements.at(&body, value, &[-1]).is_none());
    assert!(elements.at(&body, value, &[]).is_none());
}

#[test]
fn a_wide_range_rounds_as_formats_do_and_does_not_end() {
    let context = ngc_dialects::context();
    let resources = Resources::default();
    let sum = || AttrDict::from([("accumulate", Attr::Type(Type::float(Format::Bf16)))]);
    let (body, value) = chain(&context, 5, [("ng.sigmoid", AttrDict::EMPTY), ("ng.reduce_sum", sum())]);
    let value_in = |mode: Mode, body: &Body, value: Value, at: &[i64]| {
        let found =
            Elements::new(&context, &resources, mode, 64, Box::new(one), Box::new(leaf)).at(body, value, at);
        match found.as_deref() {
            Some(Column::Floats(v)) => v.clone(),
            Some(Column::Reals(v)) => v.iter().map(|x| x.lo.to_f64()).collect(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(value_in(Mode::WideRange, &body, value, &[]), value_in(Mode::Formats, &body, value, &[]));
    let exp = || ("ng.exp", AttrDict::EMPTY);
    let log = || ("ng.log", AttrDict::EMPTY);
    let (body, value) = chain(&context, 2, [exp(), exp(), log(), log()]);
    let (wide, given) = (value_in(Mode::WideRange, &body, value, &[1]), leaf(value, &[1]));
    assert!(wide.iter().zip(&given).all(|(x, y)| (x - y).abs() < 1e-6), "{wide:?}, not {given:?}");
    assert!(value_in(Mode::Formats, &body, value, &[1]).iter().any(|x| x.is_infinite()));
}
