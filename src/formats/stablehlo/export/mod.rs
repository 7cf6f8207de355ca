//! Modules of `ng` ops into StableHLO.
//!
//! An op that StableHLO has is written as that; another one by its decomposition, an elementwise one by its formula, and
//! an index map by gathers. The result is a module of unregistered ops, which the generic printer writes.

mod emit;
mod formula;
mod index;
mod linear;
mod op;
mod reduce;
mod shape;
mod sort;
mod window;

use std::collections::{BTreeSet, HashMap};

use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{
    Attr, AttrDict, Block, Body, Builder, Loc, Module, Op, OpState, Semantics, Signature, Sources, Type,
    Value,
};

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::functions;
use emit::{Emitter, tensor_type};
use op::Node;

/// A text, and what there is to say about it.
#[derive(Debug)]
pub struct Exported {
    /// StableHLO in MLIR's generic form, with locations.
    pub text: String,
    /// Ops that StableHLO lacks, written by their formulas and rounded at each step of these: equal over the reals, but
    /// not bit by bit.
    pub stepwise: Vec<&'static str>,
    /// Whether sums ask for an order or a compensation (`sum`), which StableHLO leaves to the runtime.
    pub sums: bool,
}

/// What emits an op: its results.
type Emit = fn(&mut Node<'_, '_>) -> Result<Vec<Value>>;
/// Ops by name.
type Table = &'static [(&'static str, Emit)];

const TABLES: &[Table] =
    &[formula::OPS, shape::OPS, index::OPS, reduce::OPS, linear::OPS, window::OPS, sort::OPS];

/// Elementwise ops whose formula is one primitive, which StableHLO lacks.
const BY_STEPS: [&str; 8] = [
    "ng.erfcx",
    "ng.exprel",
    "ng.exprel2",
    "ng.exprel_slope",
    "ng.sinc",
    "ng.stirling_error",
    "ng.stumpff2",
    "ng.stumpff3",
];

/// Writes the functions of a module as StableHLO. Sums and products keep the format that they accumulate in: operands are
/// converted to it, and the result back. Products ask for the highest precision, which accelerators do not give else.
///
/// # Errors
/// Names the function and the op, type or attribute that StableHLO lacks; extents must be known.
pub fn export(module: &Module, sources: Option<&Sources>) -> Result<Exported> {
    let context = ngc_dialects::context();
    let mut out = Module::new();
    out.loc = module.loc.clone();
    if let Some(name) = module.attrs.get("sym_name") {
        out.attrs.set("sym_name", name.clone());
    }
    let (mut stepwise, mut sums) = (BTreeSet::new(), false);
    let functions = module.functions();
    if functions.is_empty() {
        return unsupported("the module has no function with a body");
    }
    let only = functions.len() == 1;
    for f in functions {
        let symbol = module.body.attr(f, "sym_name").and_then(Attr::as_str).unwrap_or("main");
        let (Some(body), Some(top)) = (module.body.body(f), out.body.entry()) else { continue };
        let mut emitter = Emitter::new(&context, module);
        let mut attrs = function(&mut emitter, body).map_err(|e| e.within(format_args!("@{symbol}")))?;
        // What runs StableHLO calls @main.
        attrs.set("sym_name", if only { "main" } else { symbol });
        let visibility = module.body.attr(f, "sym_visibility").cloned();
        attrs.set("sym_visibility", visibility.unwrap_or_else(|| Attr::from("public")));
        results_info(module, f, &mut attrs);
        stepwise.extend(emitter.stepwise);
        sums |= emitter.sums;
        let Some(def) = context.op("func.func") else {
            return invalid("the dialect 'func' is not registered");
        };
        let loc = module.body.op(f).loc.clone();
        let new = out.body.create(OpState { attrs, ..OpState::new(def, loc) });
        out.body.append(top, new);
        out.body.set_body(new, emitter.body);
    }
    let text = print_module(&out, &PrintOptions { generic: true, debuginfo: true, sources });
    Ok(Exported { text, stepwise: stepwise.into_iter().collect(), sums })
}

/// Names of results, as JAX writes them.
fn results_info(module: &Module, f: Op, attrs: &mut AttrDict) {
    let Some(dicts) = module.body.attr(f, "res_attrs").and_then(Attr::as_array) else { return };
    let info = |attr: &Attr| match attr {
        Attr::Dict(dict) => match dict.get("ng.name") {
            Some(name) => Attr::Dict([("jax.result_info", name.clone())].into()),
            None => Attr::Dict(AttrDict::EMPTY),
        },
        _ => Attr::Dict(AttrDict::EMPTY),
    };
    attrs.set("res_attrs", Attr::Array(dicts.iter().map(info).collect()));
}

/// Writes a function's body; the attributes with its type.
fn function(emitter: &mut Emitter<'_>, body: &Body) -> Result<AttrDict> {
    let Some(block) = body.entry() else { return invalid("the function has no body") };
    let (mut values, mut inputs) = (HashMap::new(), Vec::new());
    for (n, &argument) in body.arguments(block).iter().enumerate() {
        let ty = tensor_type(body.ty(argument))?;
        let value = emitter.body.add_argument(emitter.block, ty, body.argument_loc(block, n));
        values.insert(argument, value);
        inputs.push(ty);
    }
    ops(emitter, body, block, &mut values)?;
    let Some(last) = body.last_op(block) else { return invalid("the function is empty") };
    emitter.loc = body.op(last).loc.clone();
    let results = mapped(&values, body.operands(last))?;
    let outputs: Vec<Type> = results.iter().map(|&v| emitter.body.ty(v)).collect();
    let Some(def) = emitter.context.op("func.return") else {
        return invalid("the dialect 'func' is not registered");
    };
    let state = OpState { operands: results.as_slice().into(), ..OpState::new(def, emitter.loc.clone()) };
    let op = emitter.body.create(state);
    emitter.body.append(emitter.block, op);
    Ok([("function_type", Attr::Type(Type::function(&inputs, &outputs)))].into())
}

fn mapped(values: &HashMap<Value, Value>, operands: &[Value]) -> Result<Vec<Value>> {
    let known: Option<Vec<Value>> = operands.iter().map(|v| values.get(v).copied()).collect();
    known.map_or_else(|| invalid("a value from elsewhere"), Ok)
}

/// Writes the ops of a block but for its terminator.
fn ops(
    emitter: &mut Emitter<'_>,
    body: &Body,
    block: Block,
    values: &mut HashMap<Value, Value>,
) -> Result<()> {
    for op in body.ops(block) {
        let data = body.op(op);
        let Some(def) = data.def else { return unsupported(format!("'{}' is not registered", data.name)) };
        if def.traits.terminator {
            break;
        }
        if data.loc != Loc::Unknown {
            emitter.loc = data.loc.clone();
        }
        let (operands, types) = (mapped(values, body.operands(op))?, body.operand_types(op));
        let signature = Signature { def, operands: &types, attrs: &data.attrs };
        let results: Vec<Type> = body.results(op).map(|v| body.ty(v)).collect();
        let new = one(emitter, &signature, &operands, &results)
            .map_err(|e| e.within(format_args!("'{}'", def.name)))?;
        for ((old, new), ty) in body.results(op).zip(new).zip(&results) {
            debug_assert_eq!(Ok(emitter.body.ty(new)), tensor_type(*ty), "{}", def.name);
            values.insert(old, new);
        }
    }
    Ok(())
}

/// Writes the steps of an op.
fn steps(
    emitter: &mut Emitter<'_>,
    s: &Signature<'_>,
    operands: &[Value],
    emit: impl FnOnce(&mut Builder<'_>, &[Value]) -> std::result::Result<Vec<Value>, String>,
) -> Result<Vec<Value>> {
    let mut steps = Body::new();
    let root = steps.root();
    let block = steps.add_block(root);
    let arguments: Vec<Value> =
        s.operands.iter().map(|&ty| steps.add_argument(block, ty, Loc::Unknown)).collect();
    let mut builder = Builder::at_end(emitter.context, &mut steps, block, Loc::Unknown);
    let parts = emit(&mut builder, &arguments).map_err(FormatError::Invalid)?;
    let mut values: HashMap<Value, Value> = arguments.into_iter().zip(operands.iter().copied()).collect();
    ops(emitter, &steps, block, &mut values)?;
    mapped(&values, &parts)
}

/// Writes one op.
fn one(
    emitter: &mut Emitter<'_>,
    s: &Signature<'_>,
    operands: &[Value],
    results: &[Type],
) -> Result<Vec<Value>> {
    let types: Vec<Type> = results.iter().map(|&ty| tensor_type(ty)).collect::<Result<_>>()?;
    if s.def.name == "func.call" {
        return emitter.call(s.attr("callee"), operands, &types);
    }
    let find = |table: &Table| table.iter().find(|(name, _)| *name == s.def.name).map(|(_, emit)| *emit);
    if let Some(emit) = TABLES.iter().find_map(find) {
        return emit(&mut Node { emitter, s, operands, types: &types });
    }
    if BY_STEPS.contains(&s.def.name) {
        emitter.stepwise.insert(s.def.name);
        return steps(emitter, s, operands, |b, x| Ok(vec![functions::emit(b, s.def.name, x)?]));
    }
    match s.def.semantics {
        Semantics::Elementwise(function) => {
            let elementwise = function(s).map_err(FormatError::Invalid)?;
            Ok(vec![formula::elementwise(emitter, s.def.name, &elementwise, operands, types[0])?])
        }
        Semantics::Decomposition(decompose) => steps(emitter, s, operands, |b, x| decompose(b, s, x)),
        Semantics::Primitive(_) | Semantics::None => unsupported("StableHLO has no such operation"),
    }
}
