//! The number of terms grows with the number of ops, and no faster: deep networks, chains that would explode if they were
//! expanded, pieces within pieces.

use std::fmt::Write;
use std::time::Instant;

use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Module, Resources, Sources};
use ngc_reals::Store;
use ngc_reals::read::Reader;

const ROWS: usize = 16;
const WIDTH: usize = 32;

/// Lines of a function; every value has the number of its line.
#[derive(Default)]
struct Text {
    arguments: String,
    lines: String,
    count: usize,
}

impl Text {
    fn argument(&mut self, ty: &str) -> String {
        let name = format!("%a{}", self.count);
        self.count += 1;
        let comma = if self.arguments.is_empty() { "" } else { ", " };
        let _ = write!(self.arguments, "{comma}{name}: {ty}");
        name
    }

    fn op(&mut self, name: &str, operands: &[&str], attrs: &str, types: &str) -> String {
        let value = format!("%v{}", self.count);
        self.count += 1;
        let _ = writeln!(self.lines, "  {value} = ng.{name} {} {{{attrs}}} : {types}", operands.join(", "));
        value
    }

    fn module(self, result: &str, ty: &str) -> Module {
        let Text { arguments, lines, .. } = self;
        let text =
            format!("func.func @f({arguments}) -> {ty} {{\n{lines}  func.return {result} : {ty}\n}}\n");
        let mut sources = Sources::new();
        let file = sources.add("test.ngir", text.as_str(), 1);
        let context = ngc_dialects::context();
        parse_module(&context, &sources, file, &ParseOptions::default())
            .unwrap_or_else(|e| panic!("{text}\n{e:?}"))
    }

    /// A layer norm, naive attention and a gated layer, with weights of their own.
    fn block(&mut self, x: &str) -> String {
        let (full, square, column) = (tensor(ROWS, WIDTH), tensor(ROWS, ROWS), tensor(ROWS, 1));
        let weights = tensor(WIDTH, WIDTH);
        let h = self.layer_norm(x);
        let matmul = format!("{full}, {weights} -> {full}");
        let linear = |t: &mut Text, x: &str| {
            let w = t.argument(&weights);
            t.op("matmul", &[x, &w], "", &matmul)
        };
        let (q, k, v) = (linear(self, &h), linear(self, &h), linear(self, &h));
        let turned = tensor(WIDTH, ROWS);
        let k = self.op("transpose", &[&k], "permutation = [1, 0]", &format!("{full} -> {turned}"));
        let s = self.op("matmul", &[&q, &k], "", &format!("{full}, {turned} -> {square}"));
        let e = self.op("exp", &[&s], "", &square);
        let z = self.op("reduce_sum", &[&e], "axes = [1], keepdims = true", &format!("{square} -> {column}"));
        let p = self.op("div", &[&e, &z], "", &format!("{square}, {column} -> {square}"));
        let o = self.op("matmul", &[&p, &v], "", &format!("{square}, {full} -> {full}"));
        let o = linear(self, &o);
        let x = self.op("add", &[x, &o], "", &full);
        let h = self.layer_norm(&x);
        let (a, b) = (linear(self, &h), linear(self, &h));
        let gate = self.op("sigmoid", &[&a], "", &full);
        let gated = self.op("mul", &[&gate, &b], "", &full);
        let down = linear(self, &gated);
        self.op("add", &[&x, &down], "", &full)
    }

    fn layer_norm(&mut self, x: &str) -> String {
        let (full, column) = (tensor(ROWS, WIDTH), tensor(ROWS, 1));
        let mean = |t: &mut Text, x: &str| {
            t.op("reduce_mean", &[x], "axes = [1], keepdims = true", &format!("{full} -> {column}"))
        };
        let m = mean(self, x);
        let d = self.op("sub", &[x, &m], "", &format!("{full}, {column} -> {full}"));
        let squares = self.op("mul", &[&d, &d], "", &full);
        let variance = mean(self, &squares);
        let root = self.op("sqrt", &[&variance], "", &column);
        self.op("div", &[&d, &root], "", &format!("{full}, {column} -> {full}"))
    }
}

fn tensor(rows: usize, columns: usize) -> String {
    format!("tensor<{rows}x{columns}xf32>")
}

/// The number of terms of a module's function, which is read.
fn terms(module: &Module) -> usize {
    let start = Instant::now();
    let func = module.symbol("f").expect("the function");
    let body = module.body.body(func).expect("it has a body");
    let (context, resources) = (ngc_dialects::context(), Resources::default());
    let mut store = Store::new();
    let readings = Reader::new(&mut store, &context, &resources).body(body, &[]);
    println!("{} values, {} terms, {:?}", readings.len(), store.len(), start.elapsed());
    store.len()
}

fn layers(count: usize) -> Module {
    let mut text = Text::default();
    let mut x = text.argument(&tensor(ROWS, WIDTH));
    for _ in 0..count {
        x = text.block(&x);
    }
    text.module(&x, &tensor(ROWS, WIDTH))
}

#[test]
fn layers_grow_in_proportion() {
    let (few, many) = (terms(&layers(12)), terms(&layers(100)));
    assert!(many < 10 * few, "{few} terms of 12 layers, {many} of 100");
}

#[test]
fn powers_of_sums_are_not_expanded() {
    let mut text = Text::default();
    let (mut x, c) = (text.argument("tensor<8xf32>"), text.argument("tensor<8xf32>"));
    for _ in 0..200 {
        let square = text.op("mul", &[&x, &x], "", "tensor<8xf32>");
        x = text.op("add", &[&square, &c], "", "tensor<8xf32>");
    }
    let found = terms(&text.module(&x, "tensor<8xf32>"));
    assert!(found < 1_000, "{found} terms");
}

/// Scores behind a causal mask, whose halves are exchanged and stand for the scores of the next layer: a piece of a masked
/// value answers its test, and is made again without it.
fn masked_halves(layers: usize) -> Module {
    let square = tensor(ROWS, ROWS);
    let mut text = Text::default();
    let mut x = text.argument(&square);
    for layer in 0..layers {
        let column = tensor(ROWS, 1);
        let low = text.op("tril", &[&x], "", &square);
        let e = text.op("exp", &[&low], "", &square);
        let z = text.op("reduce_sum", &[&e], "axes = [1], keepdims = true", &format!("{square} -> {column}"));
        let p = text.op("div", &[&e, &z], "", &format!("{square}, {column} -> {square}"));
        let half = tensor(ROWS / 2, ROWS);
        let (a, b) = (format!("%p{layer}"), format!("%q{layer}"));
        let sizes = format!("axis = 0, sizes = [{}, {}]", ROWS / 2, ROWS / 2);
        let _ = writeln!(text.lines, "  {a}, {b} = ng.split {p} {{{sizes}}} : {square} -> {half}, {half}");
        x = text.op("concat", &[&b, &a], "axis = 0", &format!("{half}, {half} -> {square}"));
    }
    text.module(&x, &square)
}

#[test]
fn masked_halves_grow_in_proportion() {
    let (few, many) = (terms(&masked_halves(24)), terms(&masked_halves(96)));
    assert!(many < 6 * few, "{few} terms of 24 layers, {many} of 96");
}

#[test]
fn pieces_within_pieces_stay_pieces() {
    let mut text = Text::default();
    let mut x = text.argument("tensor<16xf32>");
    for layer in 0..40 {
        let cut = layer % 15 + 1;
        let types = format!("tensor<16xf32> -> tensor<{cut}xf32>, tensor<{}xf32>", 16 - cut);
        let (a, b) = (format!("%p{layer}"), format!("%q{layer}"));
        let sizes = format!("axis = 0, sizes = [{cut}, {}]", 16 - cut);
        let _ = writeln!(text.lines, "  {a}, {b} = ng.split {x} {{{sizes}}} : {types}");
        let e = text.op("exp", &[&a], "", &format!("tensor<{cut}xf32>"));
        let t = text.op("tanh", &[&b], "", &format!("tensor<{}xf32>", 16 - cut));
        let types = format!("tensor<{cut}xf32>, tensor<{}xf32> -> tensor<16xf32>", 16 - cut);
        x = text.op("concat", &[&e, &t], "axis = 0", &types);
    }
    let found = terms(&text.module(&x, "tensor<16xf32>"));
    assert!(found < 2_000, "{found} terms");
}
