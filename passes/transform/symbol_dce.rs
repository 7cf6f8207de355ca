//! `symbol-dce`: erases private functions that nobody refers to.

use ngc_ir::pass::{Anchor, Changed, Pass, PassContext, StatisticDef};
use ngc_ir::{Attr, AttrDict, Body, Diagnostics, Module, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module.
pub struct SymbolDce;

impl Pass for SymbolDce {
    fn name(&self) -> &'static str {
        "symbol-dce"
    }

    fn summary(&self) -> &'static str {
        "Erase private symbols that no public one needs"
    }

    fn description(&self) -> &'static str {
        "Keeps what is public, what other top-level ops refer to, and what these refer to in turn. References are \
         symbol attributes at any depth."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[StatisticDef { name: "erased", doc: "symbols erased" }]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let body = &module.body;
        let mut by_name: FxHashMap<&str, Op> = FxHashMap::default();
        let mut live: FxHashSet<Op> = FxHashSet::default();
        let mut work: Vec<Op> = Vec::new();
        for op in module.ops() {
            let name = body.attr(op, "sym_name").and_then(Attr::as_str);
            if let Some(name) = name {
                by_name.insert(name, op);
            }
            let private = body.attr(op, "sym_visibility").and_then(Attr::as_str) == Some("private");
            if name.is_none() || !private {
                live.insert(op);
                work.push(op);
            }
        }
        let mut refer = |name: &str, work: &mut Vec<Op>| {
            let root = name.split_once("::").map_or(name, |(root, _)| root);
            if let Some(&op) = by_name.get(root)
                && live.insert(op)
            {
                work.push(op);
            }
        };
        symbols_in(&module.attrs, &mut |name| refer(name, &mut work));
        while let Some(op) = work.pop() {
            symbols_of(body, op, &mut |name| refer(name, &mut work));
        }
        let dead: Vec<Op> = module.ops().filter(|op| !live.contains(op)).collect();
        for &op in &dead {
            module.body.unlink(op);
            module.body.take_body(op);
        }
        cx.count("erased", dead.len());
        Ok((!dead.is_empty()).into())
    }
}

/// Calls `f` with each symbol that an op, or an op within it, refers to.
fn symbols_of(body: &Body, op: Op, f: &mut impl FnMut(&str)) {
    symbols_in(&body.op(op).attrs, f);
    symbols_in(body.properties(op), f);
    let blocks = body.regions(op).iter().flat_map(|&r| body.blocks(r));
    blocks.flat_map(|&b| body.ops(b)).for_each(|inner| symbols_of(body, inner, f));
    if let Some(owned) = body.body(op) {
        for inner in owned.blocks(owned.root()).iter().flat_map(|&b| owned.ops(b)) {
            symbols_of(owned, inner, f);
        }
    }
}

fn symbols_in(attrs: &AttrDict, f: &mut impl FnMut(&str)) {
    attrs.iter().for_each(|(_, value)| symbols_in_attr(value, f));
}

fn symbols_in_attr(value: &Attr, f: &mut impl FnMut(&str)) {
    match value {
        Attr::Symbol(name) => f(name),
        Attr::Array(items) => items.iter().for_each(|i| symbols_in_attr(i, f)),
        Attr::Dict(dict) => symbols_in(dict, f),
        _ => {}
    }
}
