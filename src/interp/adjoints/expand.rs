//! A function taken apart: primitive ops only, with the extents of one set of inputs.

use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Dim, Loc, Module, Op, OpState, Semantics, Type, Value};
use ngc_numerics::Tensor;
use rustc_hash::FxHashMap;

/// Calls nested deeper than this are refused: a function that calls itself has no end.
const DEEPEST: usize = 64;

/// A function of primitive ops alone.
pub struct Expanded {
    /// The module that holds it, and nothing else.
    pub module: Module,
    /// The ops of the given function, in order.
    pub origins: Vec<Op>,
    /// The number of the op that each op comes from.
    pub of: FxHashMap<Op, usize>,
    /// By op of the given function: what it reads and makes.
    pub ends: Vec<Ends>,
}

/// Values that stand for the operands and the results of an op of the given function.
pub struct Ends {
    /// The operands.
    pub read: Vec<Value>,
    /// The results.
    pub made: Vec<Value>,
}

/// The function `name`, with each op replaced by the ops that define it, and each call by those of its function.
///
/// # Errors
/// A sentence that says which op cannot be taken apart.
pub fn expand(context: &Context, module: &Module, name: &str, inputs: &[Tensor]) -> Result<Expanded, String> {
    let (op, from) = function(module, name)?;
    let mut body = Body::new();
    let block = body.add_block(body.root());
    let arguments = from.entry().map_or(&[][..], |entry| from.arguments(entry));
    let arguments: Vec<Value> = arguments
        .iter()
        .zip(inputs)
        .map(|(&v, input)| body.add_argument(block, concrete(from.ty(v), input), Loc::Unknown))
        .collect();
    let (mut origins, mut ends) = (Vec::new(), Vec::new());
    let mut of = FxHashMap::default();
    let mut expander =
        Expander { context, module, builder: Builder::at_end(context, &mut body, block, Loc::Unknown) };
    let mut before = None;
    let results = expander.body(from, &arguments, 0, &mut |builder, op, own| {
        let mut new = before.map_or_else(|| builder.body.first_op(block), |op| builder.body.next(op));
        while let Some(made) = new {
            of.insert(made, origins.len());
            new = builder.body.next(made);
        }
        before = builder.body.last_op(block);
        origins.push(op);
        ends.push(own);
    })?;
    let end = context.op("func.return").ok_or("there are no functions")?;
    let end = body.create(OpState { operands: results.into(), ..OpState::new(end, Loc::Unknown) });
    body.append(block, end);
    let def = context.op("func.func").ok_or("there are no functions")?;
    let attrs = AttrDict::from([("sym_name", Attr::from(name))]);
    let mut alone = Module::new();
    let own = OpState { attrs, ..OpState::new(def, module.body.op(op).loc.clone()) };
    let own = alone.body.create(own);
    alone.body.set_body(own, body);
    let top = alone.body.entry().ok_or("a module has a block")?;
    alone.body.append(top, own);
    alone.resources = module.resources.clone();
    Ok(Expanded { module: alone, origins, of, ends })
}

fn function<'m>(module: &'m Module, name: &str) -> Result<(Op, &'m Body), String> {
    let op = module.symbol(name).ok_or_else(|| format!("there is no function @{name}"))?;
    let body = module.body.body(op).filter(|body| body.entry().is_some());
    Ok((op, body.ok_or_else(|| format!("@{name} is a declaration"))?))
}

struct Expander<'a> {
    context: &'a Context,
    module: &'a Module,
    builder: Builder<'a>,
}

impl Expander<'_> {
    /// The results of a function's ops on these operands; `done` is told of each op after what it becomes is there.
    fn body(
        &mut self,
        from: &Body,
        operands: &[Value],
        depth: usize,
        done: &mut dyn FnMut(&Builder<'_>, Op, Ends),
    ) -> Result<Vec<Value>, String> {
        let entry = from.entry().ok_or("a function is a declaration")?;
        let arguments = from.arguments(entry).iter().copied();
        let mut values: FxHashMap<Value, Value> = arguments.zip(operands.iter().copied()).collect();
        for op in from.ops(entry) {
            let data = from.op(op);
            let operands: Vec<Value> = from.operands(op).iter().map(|v| values[v]).collect();
            let def = data.def.ok_or_else(|| format!("'{}' is not registered", from.name(op)))?;
            if def.traits.terminator {
                return Ok(operands);
            }
            let callee = data.attrs.get("callee").and_then(Attr::as_symbol);
            let made = match callee.filter(|_| def.name == "func.call") {
                Some(_) if depth == DEEPEST => return Err("calls are nested too deep".into()),
                Some(name) => {
                    let (_, body) = function(self.module, name)?;
                    self.body(body, &operands, depth + 1, &mut |_, _, _| {})?
                }
                None => self.op(def.name, data.attrs.clone(), &operands)?,
            };
            values.extend(from.results(op).zip(made.iter().copied()));
            done(&self.builder, op, Ends { read: operands, made });
        }
        Err("a function does not end in a return".into())
    }

    /// Emits an op, or those that define it.
    fn op(&mut self, name: &str, attrs: AttrDict, operands: &[Value]) -> Result<Vec<Value>, String> {
        let builder = &mut self.builder;
        let op = builder.op(name, operands, attrs)?;
        let semantics = builder.body.op(op).def.map_or(Semantics::None, |def| def.semantics);
        let decompose = match semantics {
            Semantics::None => return Err(format!("'{name}' has no meaning that can be evaluated")),
            // What rounding took is known of it as a whole.
            Semantics::Decomposition(decompose) if !is_error_free(builder.body, op) => decompose,
            _ => return Ok(builder.body.results(op).collect()),
        };
        // The definition is made in a body of its own, whose ops are then taken apart in their turn.
        let mut inner = Body::new();
        let block = inner.add_block(inner.root());
        let arguments: Vec<Value> =
            operands.iter().map(|&v| inner.add_argument(block, builder.ty(v), Loc::Unknown)).collect();
        let ends = builder.body.with_signature(op, |s| {
            let mut steps = Builder::at_end(self.context, &mut inner, block, Loc::Unknown);
            decompose(&mut steps, s, &arguments)
        });
        let ends = ends.ok_or("it is not registered")??;
        builder.body.unlink(op);
        let mut values: FxHashMap<Value, Value> =
            arguments.into_iter().zip(operands.iter().copied()).collect();
        for op in inner.ops(block) {
            let operands: Vec<Value> = inner.operands(op).iter().map(|v| values[v]).collect();
            let made = self.op(inner.name(op), inner.op(op).attrs.clone(), &operands)?;
            values.extend(inner.results(op).zip(made));
        }
        Ok(ends.iter().map(|v| values[v]).collect())
    }
}

fn is_error_free(body: &Body, op: Op) -> bool {
    body.op(op).def.is_some_and(|def| def.error_free.is_some())
}

/// The type of an input: a scalar where the declared type is one.
fn concrete(declared: Type, input: &Tensor) -> Type {
    match declared.as_tensor() {
        None => declared,
        Some(_) => Type::tensor(input.shape.iter().map(|&n| Dim::Static(n)), input.dtype),
    }
}
