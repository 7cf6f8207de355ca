//! The function that is imported: what StableHLO's values have become, and ops one after the other.
//!
//! A StableHLO value is kept as an `ng` value whose type broadcasts to the StableHLO type: `ng` ops broadcast, so most
//! broadcasts need no op.

use std::collections::HashMap;

use ngc_ir::{Attr, AttrDict, Block, Body, Context, Diagnostics, Dim, Loc, Module, Op, Type, Value};
use ngc_numerics::Tensor;
use ngc_numerics::tensor::element_count;

use super::node::Node;
use super::{
    ImportError, Imports, control, dot, elementwise, index, reduce, remark, scatter, select, shape, sort,
    window,
};
use crate::builder::{FunctionBuilder, Weights};
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

/// StableHLO ops that are read in all, those of unrolled loops and inlined calls counted each time.
const MAX_OPS: usize = 200_000;
/// Elements of a constant that is looked at.
const MAX_CONSTANT: usize = 1024;
/// Calls, loops and branches inside each other.
const MAX_DEPTH: usize = 100;

/// What emits an op: from its node, its results.
pub(super) type Reader = fn(&mut Node<'_, '_>) -> Result<Vec<Value>>;
/// Ops by name.
pub(super) type Table = &'static [(&'static str, Reader)];

const TABLES: &[Table] = &[
    elementwise::OPS,
    shape::OPS,
    dot::OPS,
    reduce::OPS,
    window::OPS,
    index::OPS,
    scatter::OPS,
    select::OPS,
    sort::OPS,
];

/// Ops that [`Graph`] reads by itself, since they hold or call other ops.
const NESTED: &[&str] = &[
    "stablehlo.while",
    "stablehlo.case",
    "stablehlo.if",
    "stablehlo.composite",
    "stablehlo.custom_call",
    "stablehlo.return",
];

/// Whether ngc reads the op.
pub(super) fn is_known(name: &str) -> bool {
    NESTED.contains(&name) || elementwise::same(name).is_some() || find(name).is_some()
}

fn find(name: &str) -> Option<Reader> {
    TABLES.iter().flat_map(|table| table.iter()).find(|(n, _)| *n == name).map(|(_, emit)| *emit)
}

/// What the values of a StableHLO function have become.
pub(super) type Values = Vec<Option<Value>>;

/// The function while it is imported.
pub(super) struct Graph<'a> {
    pub(super) source: &'a Module,
    pub(super) emitted: FunctionBuilder<'a>,
    pub(super) remarks: &'a mut Diagnostics,
    functions: HashMap<String, Op>,
    /// Reductions whose axes were put back, by the reduction without them.
    kept: HashMap<Value, Value>,
    ops: usize,
    depth: usize,
    /// Whether the block that is read is one on numbers, and its values here are tensors of such; see [`Graph::each`].
    lifted: bool,
}

impl<'a> Graph<'a> {
    pub(super) fn new(context: &'a Context, source: &'a Module, remarks: &'a mut Diagnostics) -> Graph<'a> {
        let name = |op: Op| Some((source.body.attr(op, "sym_name")?.as_str()?.to_string(), op));
        Graph {
            source,
            emitted: FunctionBuilder::new(context, Weights::Resource),
            remarks,
            functions: source.functions().into_iter().filter_map(name).collect(),
            kept: HashMap::new(),
            ops: 0,
            depth: 0,
            lifted: false,
        }
    }

    /// The results of a function on these arguments.
    pub(super) fn function(&mut self, function: Op, arguments: &[Value]) -> Imports<Vec<Value>> {
        let source = self.source;
        let loc = || source.body.op(function).loc.clone();
        let Some((body, block)) = source.body.body(function).and_then(|b| Some((b, b.entry()?))) else {
            return Err(ImportError::at(loc(), FormatError::Invalid("the function has no body".into())));
        };
        if body.blocks(body.root()).len() != 1 {
            let error = FormatError::Unsupported("a function of several blocks".into());
            return Err(ImportError::at(loc(), error));
        }
        let mut values: Values = vec![None; body.num_values()];
        self.block(body, block, &mut values, arguments)
    }

    /// The function of that name, called with these arguments.
    pub(super) fn call(&mut self, symbol: &str, arguments: &[Value], loc: &Loc) -> Imports<Vec<Value>> {
        match self.functions.get(symbol) {
            Some(&function) => self.function(function, arguments),
            None => {
                let error = FormatError::Invalid(format!("there is no function @{symbol} with a body"));
                Err(ImportError::at(loc.clone(), error))
            }
        }
    }

    /// Reads a block with these arguments; what its terminator returns.
    pub(super) fn block(
        &mut self,
        body: &Body,
        block: Block,
        values: &mut Values,
        arguments: &[Value],
    ) -> Imports<Vec<Value>> {
        let at = body.first_op(block).map_or(Loc::Unknown, |op| body.op(op).loc.clone());
        if self.depth == MAX_DEPTH {
            let text = format!("calls, loops and branches are nested more than {MAX_DEPTH} levels deep");
            return Err(ImportError::at(at, FormatError::Unsupported(text)));
        }
        if body.arguments(block).len() != arguments.len() {
            let (wanted, found) = (body.arguments(block).len(), arguments.len());
            let error =
                FormatError::Invalid(format!("{wanted} values are wanted here, but {found} are given"));
            return Err(ImportError::at(at, error));
        }
        for (&argument, &value) in body.arguments(block).iter().zip(arguments) {
            self.check(body.ty(argument), value).map_err(|e| ImportError::at(at.clone(), e))?;
            values[argument.index()] = Some(value);
        }
        self.depth += 1;
        for op in body.ops(block) {
            let loc = &body.op(op).loc;
            self.ops += 1;
            if self.ops > MAX_OPS {
                let text = format!("more than {MAX_OPS} operations, loops unrolled and calls inlined");
                return Err(ImportError::at(loc.clone(), FormatError::Unsupported(text)));
            }
            let operands: Option<Vec<Value>> = body.operands(op).iter().map(|v| values[v.index()]).collect();
            let Some(operands) = operands else {
                let error = match self.lifted {
                    true => FormatError::Unsupported("a region that takes values from outside".into()),
                    false => FormatError::Invalid("an operand is not defined before its use".into()),
                };
                return Err(ImportError::at(loc.clone(), error));
            };
            let name = body.name(op);
            if matches!(name, "func.return" | "stablehlo.return") {
                self.depth -= 1;
                return Ok(operands);
            }
            let results = self.op(body, op, values, &operands)?;
            if results.len() != body.num_results(op) {
                let error = FormatError::Invalid(format!(
                    "'{name}' has {} results, not {}",
                    results.len(),
                    body.num_results(op)
                ));
                return Err(ImportError::at(loc.clone(), error));
            }
            for (declared, value) in body.results(op).zip(results) {
                self.check(body.ty(declared), value)
                    .map_err(|e| ImportError::at(loc.clone(), e.within(format_args!("'{name}'"))))?;
                values[declared.index()] = Some(value);
            }
        }
        Err(ImportError::at(at, FormatError::Invalid("the block does not end in a return".into())))
    }

    /// Reads a block on numbers for tensors of such numbers, element by element; what its terminator returns.
    pub(super) fn each(&mut self, body: &Body, block: Block, arguments: &[Value]) -> Imports<Vec<Value>> {
        let outer = std::mem::replace(&mut self.lifted, true);
        let results = self.block(body, block, &mut vec![None; body.num_values()], arguments);
        self.lifted = outer;
        results
    }

    fn op(&mut self, body: &Body, op: Op, values: &mut Values, operands: &[Value]) -> Imports<Vec<Value>> {
        let (name, loc) = (body.name(op), &body.op(op).loc);
        let failed = |e: FormatError| ImportError::at(loc.clone(), e.within(format_args!("'{name}'")));
        match name {
            "func.call" => {
                let symbol = body.attr(op, "callee").and_then(Attr::as_symbol).unwrap_or_default();
                return self.call(symbol, operands, loc);
            }
            "stablehlo.while" => return control::while_loop(self, body, op, values, operands),
            "stablehlo.case" | "stablehlo.if" => return control::branches(self, body, op, values, operands),
            "stablehlo.composite" => {
                let symbol = Node::new(self, body, op, operands).symbol("decomposition");
                return self.call(&symbol.unwrap_or_default(), operands, loc);
            }
            _ if self.lifted && !elementwise::is_elementwise(name) => {
                return Err(failed(FormatError::Unsupported(
                    "in a region on the elements of tensors".into(),
                )));
            }
            _ => {}
        }
        let mut node = Node::new(self, body, op, operands);
        if let Some(ng) = elementwise::same(name) {
            return node.emit(ng, operands, AttrDict::EMPTY).map(|v| vec![v]).map_err(failed);
        }
        match (find(name), name) {
            (Some(emit), _) => emit(&mut node).map_err(failed),
            (None, "stablehlo.custom_call") => control::custom_call(&mut node).map_err(failed),
            (None, _) => {
                let text = format!("ngc has no equivalent of '{name}'");
                Err(ImportError::at(loc.clone(), FormatError::Unsupported(text)))
            }
        }
    }

    /// Whether the value may stand for one of the declared type: its element type is that, its shape broadcasts to it.
    fn check(&self, declared: Type, value: Value) -> Result<()> {
        let found = self.emitted.body.ty(value);
        let (Some(want), Some(have)) = (declared.shape(), found.shape()) else {
            return unsupported(format!("a value of type {declared}"));
        };
        let fits =
            |(w, h): (&Dim, &Dim)| w == h || *h == Dim::Static(1) || *w == Dim::Dynamic || *h == Dim::Dynamic;
        let fits = || have.len() <= want.len() && want[want.len() - have.len()..].iter().zip(have).all(fits);
        if declared.elem() == found.elem() && (self.lifted || fits()) {
            return Ok(());
        }
        invalid(format!("the type {declared} is written, but it is {found}"))
    }

    /// The value in the declared shape.
    pub(super) fn exact(&mut self, value: Value, declared: Type, loc: &Loc) -> Result<Value> {
        let found = self.emitted.body.ty(value);
        let (Some(want), Some(have)) = (declared.shape(), found.shape()) else {
            return unsupported(format!("a value of type {declared}"));
        };
        let lead = want.len().saturating_sub(have.len());
        if self.lifted {
            return Ok(value);
        }
        if want.len() == have.len() && want.iter().zip(have).all(|(w, h)| w == h || *h != Dim::Static(1)) {
            return Ok(value);
        }
        let mut shape = Vec::new();
        for (i, w) in want.iter().enumerate() {
            let h = i.checked_sub(lead).and_then(|j| have.get(j));
            shape.push(match (w, h) {
                (Dim::Static(n), _) => *n as i64,
                (Dim::Dynamic, Some(Dim::Dynamic)) => -1,
                (Dim::Dynamic, _) => {
                    return unsupported(format!(
                        "a broadcast to {declared}, whose extent is only known when running"
                    ));
                }
            });
        }
        Ok(self.emitted.emit("ng.broadcast_to", &[value], [("shape", Attr::ints(shape))].into(), loc)?[0])
    }

    /// The value with dimensions of extent 1 at these places of the result. A reduction that dropped just them keeps them.
    pub(super) fn unsqueeze(&mut self, value: Value, axes: &[i64], loc: &Loc) -> Result<Value> {
        if axes.is_empty() {
            return Ok(value);
        }
        if let Some(op) = self.reduction(value, axes) {
            if let Some(&kept) = self.kept.get(&value) {
                return Ok(kept);
            }
            let body = &self.emitted.body;
            let (name, operands) = (body.name(op), body.operands(op).to_vec());
            let (mut attrs, at) = (body.op(op).attrs.clone(), body.op(op).loc.clone());
            attrs.set("keepdims", true);
            let kept = self.emitted.emit(name, &operands, attrs, &at)?[0];
            self.kept.insert(value, kept);
            return Ok(kept);
        }
        Ok(self.emitted.emit(
            "ng.unsqueeze",
            &[value],
            [("axes", Attr::ints(axes.iter().copied()))].into(),
            loc,
        )?[0])
    }

    /// The reduction that the value is, if these are the axes that it dropped.
    pub(super) fn reduction(&self, value: Value, axes: &[i64]) -> Option<Op> {
        let body = &self.emitted.body;
        let op = body.defining_op(value).filter(|&op| body.name(op).starts_with("ng.reduce_"))?;
        let dropped = body.attr(op, "axes")?.as_ints()?;
        (body.attr(op, "keepdims").is_none() && dropped == axes).then_some(op)
    }

    /// The elements of a small value, if they are known.
    pub(super) fn constant_of(&self, value: Value) -> Option<Tensor> {
        let shape = self.emitted.body.ty(value).static_shape()?;
        let small = element_count(&shape).is_ok_and(|count| count <= MAX_CONSTANT);
        small.then(|| self.emitted.constant_of(value).ok().flatten())?
    }

    pub(super) fn remark(&mut self, loc: &Loc, text: impl Into<String>) {
        let remark = remark(loc.clone(), text);
        if !self.remarks.0.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}
