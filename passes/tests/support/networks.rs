//! Small networks of random weights.

use ngc_ir::{Attr, AttrDict, Block, Body, Builder, Context, Loc, Module, OpState, Type, Value};
use ngc_numerics::{DType, Format, Random, Tensor};

/// A body in the making, with random weights.
pub struct Net<'a> {
    pub context: &'a Context,
    pub body: Body,
    pub block: Block,
    pub format: Format,
    pub r: Random,
}

impl<'a> Net<'a> {
    /// A body with one argument.
    pub fn new(context: &'a Context, format: Format, seed: u64, shape: &[usize]) -> (Net<'a>, Value) {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let ty = Type::tensor(shape.iter().map(|&n| n.into()), DType::Float(format));
        let x = body.add_argument(block, ty, Loc::Unknown);
        (Net { context, body, block, format, r: Random::new(seed) }, x)
    }

    /// The function `@f` that returns a value, its argument in a stated range.
    pub fn module(mut self, y: Value, (lo, hi): (f64, f64)) -> Module {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        b.op("func.return", &[y], AttrDict::EMPTY).expect("a return");
        let types = self.body.arguments(self.block).iter().map(|&v| self.body.ty(v)).collect::<Vec<_>>();
        let range = Attr::Array([lo, hi].map(Attr::float).into_iter().collect());
        let mut state = OpState::new(self.context.op("func.func").expect("func"), Loc::Unknown);
        state.attrs.set("sym_name", "f");
        state.attrs.set("function_type", Attr::Type(Type::function(&types, &[self.body.ty(y)])));
        state
            .attrs
            .set("arg_attrs", Attr::Array([Attr::Dict([("ng.range", range)].into())].into_iter().collect()));
        let mut module = Module::new();
        let op = module.body.create(state);
        module.body.set_body(op, self.body);
        let top = module.body.entry().expect("a block");
        module.body.append(top, op);
        module
    }

    pub fn op(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Value {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        b.emit(name, operands, attrs).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A constant of numbers of a magnitude.
    pub fn weights(&mut self, shape: &[usize], size: f64) -> Value {
        let count = shape.iter().product();
        let data = (0..count).map(|_| self.format.round(self.r.uniform(-size, size))).collect();
        let tensor = Tensor::floats(self.format, shape.to_vec(), data).expect("fits");
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        b.constant(ngc_dialects::ng::constant::tensor_to_attr(&tensor)).expect("a constant")
    }

    /// `x W + b`, weights by Glorot's rule.
    pub fn linear(&mut self, x: Value, from: usize, to: usize) -> Value {
        let w = self.weights(&[from, to], (6.0 / (from + to) as f64).sqrt());
        let b = self.weights(&[to], 0.1);
        let product = self.op("ng.matmul", &[x, w], AttrDict::EMPTY);
        self.op("ng.add", &[product, b], AttrDict::EMPTY)
    }
}

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
    net.op("ng.constant", &[], [("value", Attr::Float(net.format.round(x), ty))])
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
