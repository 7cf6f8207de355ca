//! Random functions over the ops of the dialect, with arguments of stated ranges and inputs in them.
//!
//! A function is a chain of about forty ops. Operands are earlier values, fresh arguments and constants; shapes are
//! small, with extents of 0 and 1 among them, up to 64 now and then, and thousands in a reduction of some graphs. Indices are
//! constants, arguments or computed. What an op refuses is left out. [`Graph::opened`] leaves extents unknown.

mod attributes;
mod masks;
pub mod numbers;
mod operands;
pub mod values;

use ngc_ir::{
    Attr, AttrDict, Block, Body, Builder, Context, Dim, Loc, Module, Op, OpDef, OpState, Semantics, Type,
    Value,
};
use ngc_numerics::{DType, Format, Random, Tensor};

/// Values of more elements are results, but no operands.
const LARGEST: usize = 72;
/// Ops drawn for a function.
const OPS: usize = 40;

/// Ops without a meaning over the reals, and one whose operand must be a place of its table: the tests of dialects have them.
const OF_ENCODINGS: [&str; 9] = [
    "num.bitcast",
    "num.split_float",
    "num.mk_float",
    "num.pow2",
    "num.table",
    "num.exponent",
    "num.significand",
    "num.scaleb",
    "num.payne_hanek",
];

/// All pure ops that have a meaning over the reals, but for constants, which are drawn as operands.
pub fn ops() -> Vec<&'static OpDef> {
    ngc_dialects::FAMILIES
        .iter()
        .flat_map(|(_, ops)| ops.iter().copied())
        .filter(|op| op.traits.pure && !op.traits.constant && !matches!(op.semantics, Semantics::None))
        .filter(|op| !OF_ENCODINGS.contains(&op.name))
        .collect()
}

/// A function `@f` that returns all its values.
pub struct Graph {
    /// A module with the function.
    pub module: Module,
    /// The function's body.
    pub body: Body,
    /// Arguments and results of ops, in order.
    pub values: Vec<Value>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// What is stated of the extents of the arguments.
    pub arg_attrs: Option<Attr>,
}

/// An argument: a tensor whose elements lie in a range.
#[derive(Clone)]
pub struct Argument {
    pub elem: DType,
    pub shape: Vec<usize>,
    pub range: (f64, f64),
}

impl Graph {
    /// A function over `ops` whose floating-point arguments are of one format.
    pub fn draw(r: &mut Random, context: &Context, ops: &[&'static OpDef], format: Format) -> Graph {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut sketch = Sketch { r, context, body, block, format, pool: Vec::new(), arguments: Vec::new() };
        for _ in 0..6 {
            let shape = sketch.shape();
            sketch.argument(DType::Float(format), &shape);
        }
        for _ in 0..OPS {
            match sketch.r.below(250) {
                0 => sketch.long(),
                1..9 => sketch.decided_integer(),
                9..12 => sketch.masked(),
                _ => {
                    let op = sketch.r.pick(ops);
                    sketch.grow(op);
                }
            }
        }
        sketch.finish()
    }

    /// The same graph with extents of some arguments left open, of some of them with stated bounds, and without the ops
    /// that do not take such operands.
    pub fn opened(&self, r: &mut Random, context: &Context) -> Graph {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let mut places: Vec<Option<Value>> = vec![None; self.body.num_values()];
        let mut stated = Vec::new();
        let entry = self.body.entry().expect("a block");
        for (&v, argument) in self.body.arguments(entry).iter().zip(&self.arguments) {
            let mut bounds = Vec::new();
            let bounded = r.chance(60);
            let dims: Vec<Dim> = argument
                .shape
                .iter()
                .map(|&n| {
                    // An extent of 1 is what broadcasts, which an open one does not.
                    if n == 1 || r.chance(50) {
                        return Dim::Static(n);
                    }
                    bounds.push(Attr::ints([n.saturating_sub(r.below(3)) as i64, (n + r.below(3)) as i64]));
                    Dim::Dynamic
                })
                .collect();
            let ty = match argument.shape[..] {
                [] => self.body.ty(v),
                _ => Type::tensor(dims, argument.elem),
            };
            let range = Attr::Array(bounds.into_iter().collect());
            let open = bounded && ty != self.body.ty(v);
            let dict = if open { AttrDict::from([("ng.dim_range", range)]) } else { AttrDict::EMPTY };
            stated.push(Attr::Dict(dict));
            places[v.index()] = Some(body.add_argument(block, ty, Loc::Unknown));
        }
        for op in self.body.walk() {
            let operands: Option<Vec<Value>> =
                self.body.operands(op).iter().map(|v| places[v.index()]).collect();
            let Some(operands) = operands.filter(|_| self.body.name(op) != "func.return") else { continue };
            let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
            if let Ok(new) = b.op(self.body.name(op), &operands, self.body.op(op).attrs.clone()) {
                for (old, new) in self.body.results(op).zip(body.results(new)) {
                    places[old.index()] = Some(new);
                }
            }
        }
        let values: Vec<Value> = self.values.iter().filter_map(|v| places[v.index()]).collect();
        let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
        b.op("func.return", &values, AttrDict::EMPTY).expect("a return");
        let module = module(context, &body);
        let arg_attrs = Some(Attr::Array(stated.into_iter().collect()));
        Graph { module, body, values, arguments: self.arguments.clone(), arg_attrs }
    }

    /// Inputs in the ranges of the arguments.
    pub fn inputs(&self, r: &mut Random) -> Vec<Tensor> {
        self.arguments.iter().map(|a| numbers::tensor(r, a.elem, &a.shape, a.range)).collect()
    }
}

/// A function in the making.
struct Sketch<'a> {
    r: &'a mut Random,
    context: &'a Context,
    body: Body,
    block: Block,
    format: Format,
    /// What may be an operand.
    pool: Vec<Value>,
    arguments: Vec<Argument>,
}

impl Sketch<'_> {
    fn op(&mut self, name: &str, operands: &[Value], attrs: AttrDict) -> Option<Op> {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        let op = b.op(name, operands, attrs).ok()?;
        for v in self.body.results(op) {
            let small = |shape: Vec<usize>| shape.iter().product::<usize>() <= LARGEST && shape.len() <= 4;
            if self.body.ty(v).static_shape().is_some_and(small) {
                self.pool.push(v);
            }
        }
        Some(op)
    }

    fn argument(&mut self, elem: DType, shape: &[usize]) -> Value {
        let range = numbers::range(self.r, elem);
        self.argument_in(elem, shape, range)
    }

    fn argument_in(&mut self, elem: DType, shape: &[usize], range: (f64, f64)) -> Value {
        let ty = match shape {
            [] if self.r.chance(70) => Type::scalar(elem),
            _ => Type::tensor(shape.iter().map(|&n| Dim::Static(n)), elem),
        };
        let v = self.body.add_argument(self.block, ty, Loc::Unknown);
        self.arguments.push(Argument { elem, shape: shape.to_vec(), range });
        if shape.iter().product::<usize>() <= LARGEST {
            self.pool.push(v);
        }
        v
    }

    fn constant(&mut self, elem: DType, shape: &[usize]) -> Value {
        let tensor = numbers::constant(self.r, elem, shape);
        self.constant_of(&tensor)
    }

    fn constant_of(&mut self, tensor: &Tensor) -> Value {
        let mut b = Builder::at_end(self.context, &mut self.body, self.block, Loc::Unknown);
        let v = b.constant(ngc_dialects::ng::constant::tensor_to_attr(tensor)).expect("a constant");
        if tensor.len() <= LARGEST {
            self.pool.push(v);
        }
        v
    }

    fn grow(&mut self, op: &'static OpDef) {
        let Some((operands, mut attrs)) = self.operands(op) else { return };
        let first = operands.first().map_or(Type::float(self.format), |&v| self.body.ty(v));
        for def in op.attributes {
            if attrs.get(def.name).is_none()
                && let Some(value) = attributes::draw(self.r, op, def, first, self.format)
            {
                attrs.set(def.name, value);
            }
        }
        self.op(op.name, &operands, attrs);
    }

    fn finish(mut self) -> Graph {
        let values: Vec<Value> = (0..self.body.num_values())
            .map(Value::from_index)
            .filter(|&v| self.body.defining_op(v).is_none_or(|op| self.body.block(op).is_some()))
            .collect();
        self.op("func.return", &values, AttrDict::EMPTY).expect("a return");
        let module = module(self.context, &self.body);
        Graph { module, body: self.body, values, arguments: self.arguments, arg_attrs: None }
    }
}

/// A module of one function `@f`, whose body ends in a return.
pub fn module(context: &Context, body: &Body) -> Module {
    let types = |values: &[Value]| values.iter().map(|&v| body.ty(v)).collect::<Vec<Type>>();
    let entry = body.entry().expect("a block");
    let results = body.last_op(entry).map_or(&[][..], |end| body.operands(end));
    let function = Type::function(&types(body.arguments(entry)), &types(results));
    let mut state = OpState::new(context.op("func.func").expect("func"), Loc::Unknown);
    state.attrs.set("sym_name", "f");
    state.attrs.set("function_type", Attr::Type(function));
    let mut module = Module::new();
    let op = module.body.create(state);
    module.body.set_body(op, body.clone());
    let top = module.body.entry().expect("a block");
    module.body.append(top, op);
    module
}
