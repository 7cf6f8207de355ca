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
