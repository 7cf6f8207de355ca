//! `inline`: puts the ops of called functions in the place of calls.

use ngc_ir::op_def::Syntax;
use ngc_ir::pass::{Anchor, Changed, OptionDef, OptionKind, Pass, PassContext, RemarkKind, StatisticDef};
use ngc_ir::{Block, Body, Diagnostics, Loc, LocKind, Module, Op, OpState, Value};
use rustc_hash::FxHashMap;

use super::{CallGraph, Replacements, callee};

/// See the module.
pub struct Inline;

impl Pass for Inline {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn summary(&self) -> &'static str {
        "Replace calls by the body of the called function"
    }

    fn description(&self) -> &'static str {
        "Goes from callees to callers, so that a body is complete when it is copied. A function of several blocks, a \
         declaration and one that calls itself, directly or through others, are left alone, with a missed remark. Copied ops are \
         located at `callsite(callee at caller)`. `symbol-dce` erases private functions that are called no more."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn options(&self) -> &'static [OptionDef] {
        &[OptionDef {
            name: "max-ops",
            kind: OptionKind::Int { default: 1_000_000, min: 0 },
            doc: "a function does not grow beyond this many ops",
        }]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[StatisticDef { name: "inlined", doc: "calls replaced" }]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let max_ops = cx.options.int("max-ops") as usize;
        let inlined = inline_calls(module, max_ops, &mut |kind, loc, message| {
            cx.remark(kind, "inline", loc, message);
        });
        cx.count("inlined", inlined);
        Ok((inlined > 0).into())
    }
}

/// Puts the ops of called functions in the place of calls, and tells of each; no function grows beyond so many ops. The result
/// is the number of calls that were replaced.
pub(crate) fn inline_calls(
    module: &mut Module,
    max_ops: usize,
    tell: &mut dyn FnMut(RemarkKind, Loc, String),
) -> usize {
    let graph = CallGraph::new(module);
    let mut inlined = 0;
    for &caller in &graph.order {
        let Some(mut body) = module.body.take_body(caller) else { continue };
        let mut replaced: Vec<(Value, Value)> = Vec::new();
        let mut size = 0;
        for op in body.walk() {
            size += 1;
            let Some(name) = callee(&body, op).map(str::to_string) else { continue };
            let target = graph.by_name.get(&name).copied();
            let found = match target {
                Some(t) if graph.recursive.contains(&t) => Err("it calls itself, directly or through others"),
                Some(t) => inlinable(module, t),
                None => Err("it is not defined in this module"),
            };
            let loc = body.op(op).loc.clone();
            match found {
                Ok((from, _)) if size + from.num_ops() > max_ops => {
                    let why = format!("@{name} is not inlined: the function would exceed max-ops={max_ops}");
                    tell(RemarkKind::Missed, loc, why);
                }
                Ok((from, block)) => {
                    size += from.num_ops();
                    replaced.extend(inline_call(&mut body, op, from, block));
                    inlined += 1;
                    tell(RemarkKind::Passed, loc, format!("@{name} is inlined"));
                }
                Err(why) => tell(RemarkKind::Missed, loc, format!("@{name} is not inlined: {why}")),
            }
        }
        if !replaced.is_empty() {
            replace(&mut body, &replaced);
        }
        module.body.set_body(caller, body);
    }
    inlined
}

/// The functions that others call and that nobody outside of the module can.
pub(crate) fn helpers(module: &Module) -> Vec<Op> {
    let called: Vec<String> = module
        .functions()
        .into_iter()
        .filter_map(|f| module.body.body(f))
        .flat_map(|body| body.walk().into_iter().filter_map(|op| callee(body, op).map(str::to_string)))
        .collect();
    let is_helper = |f: &Op| {
        let text = |name: &str| module.body.attr(*f, name).and_then(|a| a.as_str().map(str::to_string));
        let private = text("sym_visibility").is_some_and(|v| v != "public");
        private && text("sym_name").is_some_and(|name| called.contains(&name))
    };
    module.functions().into_iter().filter(is_helper).collect()
}

/// The body and block of a function that may be inlined, or why not.
fn inlinable(module: &Module, function: Op) -> Result<(&Body, Block), &'static str> {
    let body = module.body.body(function).ok_or("it is a declaration")?;
    match *body.blocks(body.root()) {
        [] => Err("it is a declaration"),
        [block] => {
            let ends = body.last_op(block).and_then(|op| body.op(op).def);
            // Branches within regions would need their targets copied; nothing that ngc makes has them.
            let branches = |op: Op| body.regions(op).iter().any(|&r| body.blocks(r).len() > 1);
            if !ends.is_some_and(|d| d.syntax == Syntax::Return) {
                Err("it does not end in func.return")
            } else if body.walk().into_iter().any(branches) {
                Err("a region in it has several blocks")
            } else {
                Ok((body, block))
            }
        }
        _ => Err("it has several blocks"),
    }
}

/// Copies the ops of `block` before the call and erases it. The result says what stands for the call's results.
fn inline_call(body: &mut Body, call: Op, from: &Body, block: Block) -> Vec<(Value, Value)> {
    let mut copy = Copy { from, values: FxHashMap::default(), call_loc: body.op(call).loc.clone() };
    let operands = body.operands(call).to_vec();
    copy.values.extend(from.arguments(block).iter().copied().zip(operands));
    let mut returned = Vec::new();
    for op in from.ops(block) {
        if Some(op) == from.last_op(block) {
            returned = from.operands(op).iter().map(|&v| copy.value(v)).collect();
        } else {
            let new = copy.op(body, op);
            body.insert_before(call, new);
        }
    }
    let results: Vec<(Value, Value)> = body.results(call).zip(returned).collect();
    body.unlink(call);
    results
}

/// Rewrites all uses in a body. A value that stands for another may itself be replaced: the result of an earlier
/// call, returned by a later one.
fn replace(body: &mut Body, pairs: &[(Value, Value)]) {
    let mut replaced = Replacements::new(body);
    for &(old, new) in pairs {
        let new = replaced.get(new);
        replaced.insert(old, new);
    }
    for op in body.walk() {
        replaced.apply(body, op);
    }
}

/// A copy of ops from one body into another.
struct Copy<'a> {
    from: &'a Body,
    values: FxHashMap<Value, Value>,
    call_loc: Loc,
}

impl Copy<'_> {
    fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }

    fn loc(&self, callee: &Loc) -> Loc {
        match (callee, &self.call_loc) {
            (Loc::Unknown, _) => self.call_loc.clone(),
            (_, Loc::Unknown) => callee.clone(),
            (callee, call) => Loc::explicit(LocKind::CallSite(callee.clone(), call.clone())),
        }
    }

    /// A copy of `op` that is in no block yet.
    fn op(&mut self, body: &mut Body, op: Op) -> Op {
        let from = self.from;
        let data = from.op(op);
        let new = body.create(OpState {
            name: data.name,
            def: data.def,
            loc: self.loc(&data.loc),
            operands: from.operands(op).iter().map(|&v| self.value(v)).collect(),
            results: from.results(op).map(|v| from.ty(v)).collect(),
            attrs: data.attrs.clone(),
        });
        self.values.extend(from.results(op).zip(body.results(new)));
        if !from.properties(op).is_empty() {
            body.set_properties(new, from.properties(op).clone());
        }
        if let Some(owned) = from.body(op) {
            body.set_body(new, owned.clone());
        }
        for &region in from.regions(op) {
            let new_region = body.add_region(new);
            for &block in from.blocks(region) {
                let new_block = body.add_block(new_region);
                for (n, &argument) in from.arguments(block).iter().enumerate() {
                    let loc = self.loc(&from.argument_loc(block, n));
                    let new_argument = body.add_argument(new_block, from.ty(argument), loc);
                    self.values.insert(argument, new_argument);
                }
                for inner in from.ops(block) {
                    let copy = self.op(body, inner);
                    body.append(new_block, copy);
                }
            }
        }
        new
    }
}
