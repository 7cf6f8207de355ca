//! Random programs: compiled code gives the interpreter's results, bit for bit.
//!
//! The graphs are those on which bounds are tested. What is not lowered yet is left out of them, op by op, so that each op
//! joins on the day when it is. `NGC_PROGRAMS` sets how many programs are drawn, `NGC_PROGRAMS_SEED` which.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::thread;

use ngc_ir::{Attr, AttrDict, Body, Builder, Loc, Module, OpDef, Type, Value};
use ngc_numerics::{Format, Random, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

use crate::evidence;
use crate::random_graphs::{self, Argument, Graph, numbers};
use crate::support::{CONTEXT, difference, interpreted, load, shapes};

/// Programs that are drawn, and how many of them where the certificate is fresh.
const PROGRAMS: u64 = 2000;
const SAMPLE: u64 = 150;
/// Programs in one library.
const BATCH: usize = 20;
/// Inputs for each program.
const INPUTS: usize = 3;
/// Formats of compiled code.
const FORMATS: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Which ops are lowered, by op, attributes and operand types.
type Lowered = HashMap<(&'static str, AttrDict, Vec<Type>), bool>;

/// A program of the ops of a graph that are lowered, and its arguments.
fn kept(graph: &Graph, known: &mut Lowered) -> (Body, Vec<Argument>) {
    let mut body = Body::new();
    let block = body.add_block(body.root());
    let mut places: HashMap<Value, Value> = HashMap::new();
    let entry = graph.body.entry().expect("a block");
    let mut arguments = Vec::new();
    for (&v, argument) in graph.body.arguments(entry).iter().zip(&graph.arguments) {
        if argument.elem.format().is_none_or(|f| FORMATS.contains(&f)) {
            places.insert(v, body.add_argument(block, graph.body.ty(v), Loc::Unknown));
            arguments.push(argument.clone());
        }
    }
    let mut results = Vec::new();
    for op in graph.body.ops(entry) {
        let (name, attrs) = (graph.body.name(op), graph.body.op(op).attrs.clone());
        let operands: Option<Vec<Value>> =
            graph.body.operands(op).iter().map(|v| places.get(v).copied()).collect();
        let Some(operands) = operands.filter(|_| name != "func.return") else { continue };
        let types: Vec<Type> = operands.iter().map(|&v| body.ty(v)).collect();
        let key = (name, attrs.clone(), types.clone());
        let lowers = *known.entry(key).or_insert_with(|| lowers(name, &attrs, &types));
        if lowers {
            let mut b = Builder::at_end(&CONTEXT, &mut body, block, Loc::Unknown);
            let made = b.op(name, &operands, attrs).expect("an op");
            for (old, new) in graph.body.results(op).zip(body.results(made)) {
                places.insert(old, new);
                results.push(new);
            }
        }
    }
    // Not all values: what nobody sees is fused.
    let keep = |n: usize| n % 3 == 2 || n + 1 == results.len();
    let returned: Vec<Value> = (0..results.len()).filter(|&n| keep(n)).map(|n| results[n]).collect();
    let mut b = Builder::at_end(&CONTEXT, &mut body, block, Loc::Unknown);
    b.op("func.return", &returned, AttrDict::EMPTY).expect("a return");
    (body, arguments)
}

/// Whether a function of this op alone is lowered.
fn lowers(name: &str, attrs: &AttrDict, types: &[Type]) -> bool {
    let mut body = Body::new();
    let block = body.add_block(body.root());
    let operands: Vec<Value> = types.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    let mut b = Builder::at_end(&CONTEXT, &mut body, block, Loc::Unknown);
    let Ok(op) = b.op(name, &operands, attrs.clone()) else { return false };
    let results: Vec<Value> = b.body.results(op).collect();
    b.op("func.return", &results, AttrDict::EMPTY).expect("a return");
    lower_module(&CONTEXT, &random_graphs::module(&CONTEXT, &body), &Functions::default(), 256).is_ok()
}

/// Puts a function of a module into another, under another name.
fn add(module: &mut Module, from: &Module, name: &str) {
    let op = from.ops().next().expect("a function");
    let data = from.body.op(op);
    let mut attrs = data.attrs.clone();
    attrs.set("sym_name", Attr::from(name));
    let state = ngc_ir::OpState { attrs, ..ngc_ir::OpState::new(data.def.expect("func"), Loc::Unknown) };
    let new = module.body.create(state);
    module.body.set_body(new, from.body.body(op).expect("a body").clone());
    let top = module.body.entry().expect("a block");
    module.body.append(top, new);
}

/// A function of a module as text.
fn text_of(module: &Module, name: &str) -> String {
    let text = ngc_ir::text::print_module(module, &ngc_ir::text::PrintOptions::default());
    let from = text.find(&format!("@{name}(")).unwrap_or(0);
    text[from..].split("\n  }").next().unwrap_or_default().to_string()
}

/// Numbers as arguments have them, and what is hard among them.
fn input(r: &mut Random, argument: &Argument) -> Tensor {
    let tensor = numbers::tensor(r, argument.elem, &argument.shape, argument.range);
    let Some(format) = argument.elem.format().filter(|_| r.chance(30)) else { return tensor };
    let hard = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        format.max_finite(),
        -format.max_finite(),
        format.min_normal(),
        format.min_subnormal(),
        -format.min_subnormal() * 3.0,
        1.0,
        0.5,
        -1.5,
    ];
    let values = tensor.to_f64s().into_iter().map(|x| if r.chance(25) { r.pick(&hard) } else { x }).collect();
    Tensor::floats(format, argument.shape.clone(), values).expect("a tensor")
}

/// What was compared of some programs.
#[derive(Default)]
struct Seen {
    ops: BTreeMap<&'static str, usize>,
    compared: usize,
    open: usize,
}

impl Seen {
    fn with(mut self, other: Seen) -> Seen {
        for (name, n) in other.ops {
            *self.ops.entry(name).or_default() += n;
        }
        Seen { ops: self.ops, compared: self.compared + other.compared, open: self.open + other.open }
    }
}

/// Compares programs of these numbers, which are compiled together.
fn compare(numbers: Range<u64>, seed: u64, ops: &[&'static OpDef], known: &mut Lowered, seen: &mut Seen) {
    let mut batch = Module::new();
    let mut programs = Vec::new();
    for number in numbers {
        let mut r = Random::new(seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number));
        let format = r.pick(&FORMATS);
        let mut graph = Graph::draw(&mut r, &CONTEXT, ops, format);
        if r.chance(30) {
            graph = graph.opened(&mut r, &CONTEXT);
            seen.open += 1;
        }
        let (body, arguments) = kept(&graph, known);
        for op in body.walk() {
            *seen.ops.entry(body.name(op)).or_default() += 1;
        }
        let own = random_graphs::module(&CONTEXT, &body);
        let name = format!("f{number}");
        add(&mut batch, &own, &name);
        programs.push((name, arguments, r));
    }
    let compiled = load(&batch, &Functions::default());
    for (name, arguments, mut r) in programs {
        for _ in 0..INPUTS {
            let inputs: Vec<Tensor> = arguments.iter().map(|a| input(&mut r, a)).collect();
            // What an op decides at run time may refuse the operands that it has then.
            let Ok(theirs) = interpreted(&batch, &name, &inputs) else { continue };
            let ours = compiled.call(&name, &inputs, &shapes(&theirs));
            let ours = ours.unwrap_or_else(|status| {
                let shapes: Vec<&[usize]> = inputs.iter().map(|t| &t.shape[..]).collect();
                panic!("seed {seed}, {name}: status {status} for {shapes:?}\n{}", text_of(&batch, &name))
            });
            for (n, (a, b)) in ours.iter().zip(&theirs).enumerate() {
                seen.compared += a.len();
                if let Some(difference) = difference(a, b) {
                    panic!("seed {seed}, {name}, result {n}: {difference}\n{}", text_of(&batch, &name));
                }
            }
        }
    }
}

#[test]
fn programs_give_what_the_interpreter_gives() {
    let count = if evidence::whole("programs") { PROGRAMS } else { SAMPLE };
    let (count, seed) = (setting("NGC_PROGRAMS", count), setting("NGC_PROGRAMS_SEED", 1));
    let ops = random_graphs::ops();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let work = |worker: usize| {
        let (mut known, mut seen) = (Lowered::new(), Seen::default());
        for first in (0..count).step_by(BATCH).skip(worker).step_by(workers) {
            compare(first..(first + BATCH as u64).min(count), seed, &ops, &mut known, &mut seen);
        }
        seen
    };
    let seen = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|n| scope.spawn(move || work(n))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Seen>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).fold(Seen::default(), Seen::with)
    });
    let list: Vec<String> = seen.ops.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let (open, compared) = (seen.open, seen.compared);
    println!(
        "certificate: {count} programs, {open} with open extents, {compared} elements compared; {}",
        list.join(", ")
    );
    assert!(
        list.len() > 40 && compared > 100 * count as usize,
        "too little is compared: {}",
        list.join(", ")
    );
}

/// Layers over extents that vectors do not divide, known and open, in all formats and methods of summation.
#[test]
fn odd_extents_give_what_the_interpreter_gives() {
    let (mut r, mut text, mut calls) = (Random::new(9), String::new(), Vec::new());
    for format in FORMATS {
        for (rows, columns) in [(0, 3), (1, 1), (3, 17), (17, 3), (2, 1023), (1023, 1), (5, 0)] {
            for open in [false, true] {
                let sum = r.pick(&["naive", "pairwise", "kahan", "neumaier"]);
                let accumulate = if matches!(format, Format::F64) { "f64" } else { "f32" };
                let (m, n) = (if open { "?".to_string() } else { rows.to_string() }, columns);
                let name = format!("f{}", calls.len());
                let (x, row) = (format!("tensor<{m}x{n}x{format}>"), format!("tensor<{n}x{format}>"));
                let (w, product) = (format!("tensor<{n}x19x{format}>"), format!("tensor<{m}x19x{format}>"));
                let column = format!("tensor<{m}x1x{format}>");
                text += &format!(
                    "func.func @{name}(%x: {x}, %g: {row}, %w: {w}) -> ({x}, {product}, {column}) {{\n  \
                     %0 = ng.layer_norm %x, %g {{sum = \"{sum}\", accumulate = {accumulate}}} : {x}, {row} -> {x}\n  \
                     %1 = ng.matmul %0, %w {{sum = \"{sum}\", accumulate = {accumulate}}} : {x}, {w} -> {product}\n  \
                     %2 = ng.reduce_max %x {{axes = [1], keepdims = true}} : {x} -> {column}\n  \
                     %3 = ng.sub %x, %2 : {x}, {column} -> {x}\n  \
                     func.return %3, %1, %2 : {x}, {product}, {column}\n}}\n"
                );
                calls.push((name, format, rows, columns));
            }
        }
    }
    let module = crate::support::module(&text);
    let compiled = load(&module, &Functions::default());
    for (name, format, rows, columns) in calls {
        let mut tensor = |shape: &[usize]| {
            let argument = Argument {
                elem: ngc_numerics::DType::Float(format),
                shape: shape.to_vec(),
                range: (-4.0, 4.0),
            };
            input(&mut r, &argument)
        };
        let inputs = [tensor(&[rows, columns]), tensor(&[columns]), tensor(&[columns, 19])];
        let theirs = interpreted(&module, &name, &inputs).expect("results");
        let ours = compiled.call(&name, &inputs, &shapes(&theirs)).expect("results");
        for (n, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            if let Some(difference) = difference(a, b) {
                panic!("{name}, {rows} rows of {columns} in {format}, result {n}: {difference}");
            }
        }
    }
}
