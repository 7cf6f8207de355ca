//! `lower-to-kernel`: functions of `ng` ops become loop nests over buffers.
//!
//! In order: ops make room for those that define them (expand), each value is read as an expression of others at places
//! (graph), it is decided what is stored and where (plan), and loops are written (nest, reduction, sums, pick, emit). What an op is comes from
//! its declaration; an op that says too little of itself is refused by name.

mod by_data;
mod emit;
mod expand;
mod formula;
pub mod functions;
mod graph;
mod nest;
mod order;
mod pick;
mod plan;
mod reduction;
mod scatter;
mod steps;
mod sums;

use std::sync::Arc;

use ngc_dialects::func;
use ngc_ir::pass::{Anchor, Changed, OptionDef, OptionKind, Pass, PassContext, StatisticDef};
use ngc_ir::structure::Size;
use ngc_ir::{
    Attr, AttrDict, Context, Dense, Diagnostic, Diagnostics, Dim, Loc, Module, Op, OpState, Type, Value,
};
use ngc_numerics::DType;

use emit::{Count, Emitted, Emitter};
use functions::Functions;
use graph::Graph;
use nest::Nests;
use plan::{ALIGNMENT, Plan};

/// What a kernel returns where an extent is not what it must be.
pub const BAD_EXTENT: i64 = 1;
/// What it returns where the workspace is too small.
pub const SMALL_WORKSPACE: i64 = 2;
/// What it returns where an index lies outside of what it picks from.
pub const BAD_INDEX: i64 = 3;
/// The attribute of a kernel that says how many of its arguments are results; they stand before the workspace.
pub const RESULTS: &str = "kernel.results";
/// The attribute of a kernel that says which functions are inlined, and how many units in the last place each is off at most.
pub const FUNCTIONS: &str = "kernel.functions";
/// What is put behind the name of a kernel to name the function that tells the size of its workspace.
pub const WORKSPACE: &str = "_workspace_size";

/// See the module.
pub struct LowerToKernel;

impl Pass for LowerToKernel {
    fn name(&self) -> &'static str {
        "lower-to-kernel"
    }

    fn summary(&self) -> &'static str {
        "Lower functions to loop nests over buffers"
    }

    fn description(&self) -> &'static str {
        "A function `f(x) -> y` becomes a kernel `f(x, y, workspace)`: tensors become buffers, results are written to \
         buffers of the caller, and intermediate values lie in a workspace of the caller whose size `f_workspace_size` \
         tells from the open extents. Chains of pointwise ops become one loop, and what stands before a reduction becomes part of \
         its terms. Sums are added up as their `sum` and `accumulate` say. A function is \
         that of the driver, or else the steps of its formula where a bound of their error is within what is allowed. A kernel demands that extents fit \
         (`kernel.assert`). Private functions are called by none and go. An op that is not lowered yet is an error."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn options(&self) -> &'static [OptionDef] {
        &[OptionDef {
            name: "vector-bits",
            kind: OptionKind::Int { default: 256, min: 8 },
            doc: "bits of a vector; 8 for none",
        }]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "kernels", doc: "functions lowered" },
            StatisticDef { name: "nests", doc: "loop nests written" },
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let none = Functions::default();
        let functions = cx.supply::<Functions>().unwrap_or(&none);
        let bits = cx.options.int("vector-bits") as usize;
        let (lowered, written) = lower_module(cx.context, module, functions, bits)?;
        *module = lowered;
        cx.count("kernels", written.kernels);
        cx.count("nests", written.nests);
        Ok(Changed::Yes)
    }
}

/// How much was written.
#[derive(Default)]
pub struct Written {
    /// Functions lowered.
    pub kernels: usize,
    /// Loop nests.
    pub nests: usize,
}

/// The kernels of the public functions of a module, for vectors of so many bits.
///
/// # Errors
/// Located at each first op of a function that is not lowered yet.
pub fn lower_module(
    context: &Context,
    module: &Module,
    functions: &Functions,
    vector_bits: usize,
) -> Result<(Module, Written), Diagnostics> {
    let mut lowered = Module { attrs: module.attrs.clone(), loc: module.loc.clone(), ..Module::new() };
    let (mut found, mut written) = (Diagnostics::default(), Written::default());
    for op in module.ops() {
        let visibility = module.body.attr(op, "sym_visibility").and_then(Attr::as_str);
        if !module.body.is(op, &func::FUNC) {
            let message = graph::refusal(module.body.name(op));
            found.error(module.body.op(op).loc.clone(), message);
            continue;
        }
        let declared = module.body.body(op).is_none_or(|b| b.entry().is_none());
        if declared || visibility.is_some_and(|v| v != "public") {
            continue;
        }
        match lower(context, functions, module, op, vector_bits) {
            Ok(kernels) => {
                written.kernels += 1;
                written.nests += kernels.nests;
                kernels.append(&mut lowered);
            }
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    if found.has_errors() { Err(found) } else { Ok((lowered, written)) }
}

/// The function `name` alone, taken apart into primitives for arguments of these types.
///
/// # Errors
/// Located at an op that is not defined for them.
pub fn specialise(
    context: &Context,
    module: &Module,
    name: &str,
    types: &[Type],
) -> Result<Module, Diagnostic> {
    let unknown = || Diagnostic::error(Loc::Unknown, format!("there is no function @{name}"));
    let op = module.symbol(name).ok_or_else(unknown)?;
    let loc = module.body.op(op).loc.clone();
    let expand::Expanded { mut body, results } = expand::expand(context, module, op, Some(types))?;
    let end = OpState { operands: results.into(), ..OpState::new(&func::RETURN, loc.clone()) };
    let (end, block) = (body.create(end), body.entry().expect("it has a block"));
    body.append(block, end);
    let attrs = function_attrs(name, &body);
    let mut alone = Module { resources: module.resources.clone(), ..Module::new() };
    Kernels { functions: vec![(attrs, body)], loc, nests: 0 }.append(&mut alone);
    Ok(alone)
}

/// A kernel and the function that tells the size of its workspace.
struct Kernels {
    functions: Vec<(AttrDict, ngc_ir::Body)>,
    loc: Loc,
    nests: usize,
}

impl Kernels {
    fn append(self, module: &mut Module) {
        for (attrs, body) in self.functions {
            let op = module.body.create(OpState { attrs, ..OpState::new(&func::FUNC, self.loc.clone()) });
            module.body.set_body(op, body);
            let top = module.body.entry().expect("a module has a block");
            module.body.append(top, op);
        }
    }
}

/// The attribute `lanes` of loads.
fn lanes(width: usize) -> AttrDict {
    match width {
        1 => AttrDict::EMPTY,
        n => AttrDict::from([("lanes", Attr::int(n as i64))]),
    }
}

fn lower(
    context: &Context,
    functions: &Functions,
    module: &Module,
    op: Op,
    vector_bits: usize,
) -> Result<Kernels, Diagnostic> {
    let loc = module.body.op(op).loc.clone();
    let attrs = &module.body.op(op).attrs;
    let expanded = expand::expand(context, module, op, None)?;
    let graph = Graph::new(expanded, &dimension_names(attrs))?;
    let fail = |loc: Loc, message: String| Diagnostic::error(loc, message);
    let plan = Plan::new(&graph, vector_bits).map_err(|m| fail(loc.clone(), m))?;
    let mut e = Emitter::new(context, functions, loc.clone());
    let resource = |attr: &Attr| match attr {
        Attr::Resource(key, ty) => match module.resources.get(key.as_str()) {
            Some(blob) => Attr::Dense(Arc::new(Dense { ty: *ty, bytes: blob.bytes.clone(), splat: false })),
            None => attr.clone(),
        },
        attr => attr.clone(),
    };
    e.body_of_kernel(&graph, &plan, &resource).map_err(|message| fail(e.loc.clone(), message))?;
    let name = attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("kernel").to_string();
    let mut kernel = function(&name, &e.body, attrs, &graph);
    if !e.inlined.is_empty() {
        kernel.set(FUNCTIONS, Attr::Dict(e.inlined));
    }
    let told = told(context, &graph, &plan).map_err(|m| fail(loc.clone(), m))?;
    let size = function_attrs(&format!("{name}{WORKSPACE}"), &told);
    Ok(Kernels { functions: vec![(kernel, e.body), (size, told)], loc, nests: plan.nests.len() })
}

/// What `ng.dims` says of each argument.
fn dimension_names(attrs: &AttrDict) -> Vec<Option<Vec<String>>> {
    let dicts = attrs.get("arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let names = |dict: &Attr| match dict {
        Attr::Dict(dict) => dict
            .get("ng.dims")
            .and_then(Attr::as_array)
            .map(|names| names.iter().map(|name| name.as_str().unwrap_or_default().to_string()).collect()),
        _ => None,
    };
    dicts.iter().map(names).collect()
}

fn function_attrs(name: &str, body: &ngc_ir::Body) -> AttrDict {
    let types = |values: &[Value]| values.iter().map(|&v| body.ty(v)).collect::<Vec<Type>>();
    let entry = body.entry().expect("a function has a block");
    let results = body.last_op(entry).map_or(&[][..], |end| body.operands(end));
    let ty = Type::function(&types(body.arguments(entry)), &types(results));
    AttrDict::from([("sym_name", Attr::from(name)), ("function_type", Attr::Type(ty))])
}

/// The attributes of a kernel: its type, and what was said of the arguments and results.
fn function(name: &str, body: &ngc_ir::Body, from: &AttrDict, graph: &Graph) -> AttrDict {
    let mut attrs = function_attrs(name, body);
    attrs.set(RESULTS, graph.results.len() as i64);
    let said = |list: &str, count: usize| -> Vec<Attr> {
        let given = from.get(list).and_then(Attr::as_array).unwrap_or_default();
        (0..count).map(|n| given.get(n).cloned().unwrap_or(Attr::Dict(AttrDict::EMPTY))).collect()
    };
    let mut all = said("arg_attrs", graph.arguments.len());
    all.extend(said("res_attrs", graph.results.len()));
    all.push(Attr::Dict(AttrDict::EMPTY));
    if all.iter().any(|attr| matches!(attr, Attr::Dict(dict) if !dict.is_empty())) {
        attrs.set("arg_attrs", Attr::Array(all.into_iter().collect()));
    }
    attrs
}

/// A scalar stays one; a tensor becomes a buffer.
fn buffer_type(ty: Type, scalar: bool) -> Emitted<Type> {
    if let Some(format) = ty.format().filter(|&format| !emit::is_held(format)) {
        return Err(format!("values in {format} are not lowered to kernels yet"));
    }
    match (ty.as_tensor(), ty.elem()) {
        (Some(tensor), _) => Ok(Type::memref(tensor.shape.iter().copied(), tensor.elem)),
        (None, Some(_)) if scalar => Ok(ty),
        (None, Some(elem)) => Ok(Type::memref([], elem)),
        _ => Err(format!("a value of type {ty} is not lowered to kernels yet")),
    }
}

impl Emitter<'_> {
    fn body_of_kernel(
        &mut self,
        graph: &Graph,
        plan: &Plan,
        resource: &dyn Fn(&Attr) -> Attr,
    ) -> Emitted<()> {
        let entry = self.block;
        let argument = |e: &mut Self, ty: Type| e.body.add_argument(entry, ty, Loc::Unknown);
        let (mut arguments, mut results) = (Vec::new(), Vec::new());
        for &v in &graph.arguments {
            let ty = buffer_type(graph.body.ty(v), true)?;
            arguments.push(argument(self, ty));
        }
        for &v in &graph.results {
            let ty = buffer_type(graph.body.ty(v), false)?;
            results.push(argument(self, ty));
        }
        let workspace = argument(self, Type::memref([Dim::Dynamic], DType::Int(8)));
        for &(n, axis) in &graph.unknowns {
            let extent = self.emit("kernel.dim", &[arguments[n]], axis_of(axis))?;
            self.unknowns.push(extent);
        }
        self.demand(graph, &results)?;
        let arena = self.arena(plan, workspace)?;
        let nests = Nests { graph, plan, arguments, results, arena, resource };
        for group in &plan.groups {
            nests.write(self, group)?;
        }
        self.op("func.return", &[], AttrDict::EMPTY)?;
        Ok(())
    }

    fn assert(&mut self, condition: Value, status: i64, message: &str) -> Emitted<()> {
        let attrs = AttrDict::from([("status", Attr::int(status)), ("message", Attr::from(message))]);
        self.op("kernel.assert", &[condition], attrs)?;
        Ok(())
    }

    /// What must hold of the extents that the caller gives.
    fn demand(&mut self, graph: &Graph, results: &[Value]) -> Emitted<()> {
        for n in 0..self.unknowns.len() {
            let zero = self.value(Count::Known(0))?;
            let holds = self.compare("GE", self.unknowns[n], zero)?;
            self.assert(holds, BAD_EXTENT, "an extent is negative")?;
        }
        for (a, b, why) in &graph.equal {
            self.equal(a, b, why)?;
        }
        for (size, why) in &graph.searched {
            let (size, one) = (self.size(size)?, self.value(Count::Known(1))?);
            let size = self.value(size)?;
            let holds = self.compare("GE", size, one)?;
            self.assert(holds, BAD_EXTENT, why)?;
        }
        for (n, &v) in graph.results.iter().enumerate() {
            let Some(memref) = self.body.ty(results[n]).as_memref() else { continue };
            for (axis, size) in graph.extents[v.index()].iter().enumerate() {
                if memref.shape[axis].known().is_some() {
                    continue;
                }
                let given = self.emit("kernel.dim", &[results[n]], axis_of(axis))?;
                let wanted = self.size(size)?;
                let wanted = self.value(wanted)?;
                let holds = self.compare("EQ", given, wanted)?;
                self.assert(
                    holds,
                    BAD_EXTENT,
                    &format!("dimension {axis} of result {n} has another extent"),
                )?;
            }
        }
        Ok(())
    }

    fn equal(&mut self, a: &Size, b: &Size, why: &str) -> Emitted<()> {
        let (a, b) = (self.size(a)?, self.size(b)?);
        let (a, b) = (self.value(a)?, self.value(b)?);
        let holds = self.compare("EQ", a, b)?;
        self.assert(holds, BAD_EXTENT, why)
    }

    /// Bytes of the arena, and where each buffer of unknown size begins.
    fn sizes(&mut self, plan: &Plan) -> Emitted<(Count, Vec<Count>)> {
        let mut end = Count::Known(plan.arena as i64);
        let mut offsets = Vec::with_capacity(plan.buffers.len());
        for buffer in &plan.buffers {
            if let Some(offset) = buffer.offset {
                offsets.push(Count::Known(offset as i64));
                continue;
            }
            offsets.push(end);
            let bytes = buffer.bytes().ok_or("an intermediate value is too large")?;
            let bytes = self.size(&bytes)?;
            // Rounded up to where the next one begins.
            let above = self.plus(bytes, Count::Known(ALIGNMENT as i64 - 1))?;
            let lines = self.quotient(above, Count::Known(ALIGNMENT as i64))?;
            let whole = self.times(lines, Count::Known(ALIGNMENT as i64))?;
            end = self.plus(end, whole)?;
        }
        Ok((end, offsets))
    }

    fn arena(&mut self, plan: &Plan, workspace: Value) -> Emitted<Vec<Value>> {
        let (total, offsets) = self.sizes(plan)?;
        if total != Count::Known(0) {
            let given = self.emit("kernel.dim", &[workspace], axis_of(0))?;
            let total = self.value(total)?;
            let holds = self.compare("GE", given, total)?;
            self.assert(holds, SMALL_WORKSPACE, "the workspace is too small")?;
        }
        let mut views = Vec::with_capacity(offsets.len());
        for (buffer, offset) in plan.buffers.iter().zip(offsets) {
            let mut operands = vec![workspace, self.value(offset)?];
            let mut shape = Vec::with_capacity(buffer.extents.len());
            for extent in &buffer.extents {
                shape.push(extent.number().map_or(Dim::Dynamic, |n| Dim::Static(n as usize)));
                if extent.number().is_none() {
                    let extent = self.size(extent)?;
                    operands.push(self.value(extent)?);
                }
            }
            let ty = Type::memref(shape, buffer.elem);
            views.push(self.emit("kernel.view", &operands, [("type", Attr::Type(ty))])?);
        }
        Ok(views)
    }
}

/// The function that tells the size of the workspace from the open extents.
fn told(context: &Context, graph: &Graph, plan: &Plan) -> Emitted<ngc_ir::Body> {
    let none = Functions::default();
    let mut e = Emitter::new(context, &none, Loc::Unknown);
    let entry = e.block;
    for _ in &graph.unknowns {
        let extent = e.body.add_argument(entry, Type::scalar(DType::Index), Loc::Unknown);
        e.unknowns.push(extent);
    }
    let (total, _) = e.sizes(plan)?;
    let total = e.value(total)?;
    e.op("func.return", &[total], AttrDict::EMPTY)?;
    Ok(e.body)
}

fn axis_of(axis: usize) -> AttrDict {
    AttrDict::from([("axis", Attr::int(axis as i64))])
}
