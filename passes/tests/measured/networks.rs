//! Networks with heads and norms in naive spellings: how they amplify errors before and after.

use std::fmt::Write;

use ngc_ir::{Attr, AttrDict, Value};
use ngc_numerics::Format;
use ngc_passes::rewrite::drive::Options;

use crate::PAGE;
use crate::support::networks::Net;
use crate::support::page::bound;
use crate::support::{default_rules, errors, function, search};

/// `exp(x) / sum(exp(x))` along the last axis.
fn softmax(net: &mut Net<'_>, x: Value, axis: i64) -> Value {
    let e = net.op("ng.exp", &[x], AttrDict::EMPTY);
    let z = mean(net, "ng.reduce_sum", e, &[axis]);
    net.op("ng.div", &[e, z], AttrDict::EMPTY)
}

/// A sum or a mean that keeps the extents.
fn mean(net: &mut Net<'_>, op: &str, x: Value, axes: &[i64]) -> Value {
    let attrs = [("axes", Attr::ints(axes.iter().copied())), ("keepdims", Attr::Bool(true))];
    net.op(op, &[x], attrs)
}

fn number(net: &mut Net<'_>, x: f64) -> Value {
    let ty = ngc_ir::Type::float(net.format);
    net.op("ng.constant", &[], [("value", Attr::Float(x, ty))])
}

/// `(x - mean(x)) / sqrt(mean(x^2) - mean(x)^2 + eps)` over some axes.
fn normalized(net: &mut Net<'_>, x: Value, axes: &[i64]) -> Value {
    let m = mean(net, "ng.reduce_mean", x, axes);
    let q = net.op("ng.mul", &[x, x], AttrDict::EMPTY);
    let (a, b) = (mean(net, "ng.reduce_mean", q, axes), net.op("ng.mul", &[m, m], AttrDict::EMPTY));
    let v = net.op("ng.sub", &[a, b], AttrDict::EMPTY);
    let eps = number(net, 1e-3);
    let w = net.op("ng.add", &[v, eps], AttrDict::EMPTY);
    let (s, c) = (net.op("ng.sqrt", &[w], AttrDict::EMPTY), net.op("ng.sub", &[x, m], AttrDict::EMPTY));
    net.op("ng.div", &[c, s], AttrDict::EMPTY)
}

/// `x / (1 + exp(-x))`.
fn silu(net: &mut Net<'_>, x: Value) -> Value {
    let (n, one) = (net.op("ng.neg", &[x], AttrDict::EMPTY), number(net, 1.0));
    let e = net.op("ng.exp", &[n], AttrDict::EMPTY);
    let d = net.op("ng.add", &[one, e], AttrDict::EMPTY);
    net.op("ng.div", &[x, d], AttrDict::EMPTY)
}

/// Linear layers of 32, silu between them, softmax behind them.
fn perceptron(net: &mut Net<'_>, x: Value, layers: usize) -> Value {
    let mut x = x;
    for n in 1..layers {
        let y = net.linear(x, if n == 1 { 16 } else { 32 }, 32);
        x = silu(net, y);
    }
    let y = net.linear(x, 32, 10);
    softmax(net, y, -1)
}

/// Convolutions of 4 channels with a norm over the batch, relu and, while there is room, pooling; a softmax at the end.
fn convolutional(net: &mut Net<'_>, x: Value, layers: usize) -> Value {
    let (mut x, mut from) = (x, 1);
    for n in 0..layers {
        let w = net.weights(&[4, from, 3, 3], (6.0 / (9 * (from + 4)) as f64).sqrt());
        let pads = Attr::Array([Attr::ints([1, 1]), Attr::ints([1, 1])].into_iter().collect());
        let y = net.op("ng.conv", &[x, w], [("pads", pads)]);
        let y = normalized(net, y, &[0, 2, 3]);
        x = net.op("ng.relu", &[y], AttrDict::EMPTY);
        if n < 2 {
            let window = [("kernel", Attr::ints([2, 2])), ("strides", Attr::ints([2, 2]))];
            x = net.op("ng.max_pool", &[x], window);
        }
        from = 4;
    }
    let x = net.op("ng.global_avg_pool", &[x], AttrDict::EMPTY);
    let x = net.op("ng.reshape", &[x], [("shape", Attr::ints([8, 4]))]);
    let y = net.linear(x, 4, 10);
    softmax(net, y, -1)
}

/// A block of a transformer: norm, attention, norm, gated layer, and the sums around them.
fn transformer(net: &mut Net<'_>, x: Value) -> Value {
    let h = normalized(net, x, &[1]);
    let [q, k, v] = [0; 3].map(|_| net.linear(h, 16, 16));
    let t = net.op("ng.transpose", &[k], [("permutation", Attr::ints([1, 0]))]);
    let s = net.op("ng.matmul", &[q, t], AttrDict::EMPTY);
    let four = number(net, 4.0);
    let s = net.op("ng.div", &[s, four], AttrDict::EMPTY);
    let p = softmax(net, s, -1);
    let o = net.op("ng.matmul", &[p, v], AttrDict::EMPTY);
    let o = net.linear(o, 16, 16);
    let x = net.op("ng.add", &[x, o], AttrDict::EMPTY);
    let h = normalized(net, x, &[1]);
    let wide = net.linear(h, 16, 32);
    let wide = silu(net, wide);
    let y = net.linear(wide, 32, 16);
    net.op("ng.add", &[x, y], AttrDict::EMPTY)
}

type Make = fn(&mut Net<'_>, Value) -> Value;

/// Name, shape of the input, and the network.
pub const NETWORKS: [(&str, &[usize], Make); 5] = [
    ("MLP-2", &[8, 16], |net, x| perceptron(net, x, 2)),
    ("MLP-4", &[8, 16], |net, x| perceptron(net, x, 4)),
    ("CNN-4", &[8, 1, 8, 8], |net, x| convolutional(net, x, 4)),
    ("CNN-6", &[8, 1, 8, 8], |net, x| convolutional(net, x, 6)),
    ("transformer block", &[8, 16], transformer),
];

#[test]
fn no_network_amplifies_more_than_before() {
    let (context, rules) = (ngc_dialects::context(), default_rules());
    let mut table = String::from(
        "Random weights by Glorot's rule, inputs in [-1, 1], f32. Norms, silu and softmax are spelt out as\n\
         [the test](../passes/tests/measured/networks.rs) has them. *Path* is the largest product of Lipschitz constants along a\n\
         path from an input to a result, *curvature* the sum of κ^curv over all ops, *bound* that of the absolute error of\n\
         the result: all bounds over the whole range of inputs.\n\n\
         | network | path before | after | curvature before | after | bound before | after |\n|---|---|---|---|---|---|---|\n",
    );
    for (name, shape, make) in NETWORKS {
        let (mut net, x) = Net::new(&context, Format::F32, 3003, shape);
        let y = make(&mut net, x);
        let mut module = net.module(y, (-1.0, 1.0));
        let op = function(&module).0;
        let figures = |m: &ngc_ir::Module| {
            let e = errors(m);
            [e.largest_path(), e.total_curvature(), e.absolute(e.results()[0])]
        };
        let before = figures(&module);
        search(&context, &mut module, op, &rules, &Options::default());
        let after = figures(&module);
        let cells: Vec<String> =
            before.iter().zip(&after).flat_map(|(b, a)| [bound(*b), bound(*a)]).collect();
        let _ = writeln!(table, "| {name} | {} |", cells.join(" | "));
    }
    println!("{table}");
    PAGE.state("Networks", &table);
}
