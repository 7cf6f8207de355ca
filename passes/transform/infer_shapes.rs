//! `infer-shapes`: replaces `?` by the extents that follow from the operands.

use ngc_ir::dominance::definition_order;
use ngc_ir::op_def::Syntax;
use ngc_ir::pass::{Anchor, Changed, Function, Pass, PassContext, RemarkKind, StatisticDef};
use ngc_ir::{Attr, Diagnostic, Diagnostics, Dim, Module, Op, Type};
use rustc_hash::FxHashSet;

use super::{CallGraph, callee, dims};

/// See the module.
pub struct InferShapes;

impl Pass for InferShapes {
    fn name(&self) -> &'static str {
        "infer-shapes"
    }

    fn summary(&self) -> &'static str {
        "Refine `?` extents from operands forward, and name the dimensions of results"
    }

    fn description(&self) -> &'static str {
        "Infers the type of each op again and takes over the extents that the written type leaves open; function \
         types follow, callees first. A value that is passed to a call keeps its type, which is the callee's; inline \
         first to see through calls. Functions that call themselves are left alone.\n\n\
         Arguments may name their `?` dimensions: `ng.dims = [\"b\", \"s\"]`, one name for each `?`, or one for each \
         dimension; equal names are equal extents. `ng.dim_range = [[1, 8], [1, 2048]]` bounds them in the same \
         order. Results whose extents follow from the names get `ng.dims` and `ng.dim_range` in turn."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "refined", doc: "values whose type was refined" },
            StatisticDef { name: "named", doc: "function results whose dimensions were named" },
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let graph = CallGraph::new(module);
        let recursive: FxHashSet<Op> = graph.back_edges.iter().map(|&(_, callee)| callee).collect();
        let mut errors = Diagnostics::default();
        let (mut refined, mut named) = (0, 0);
        for &op in &graph.order {
            if recursive.contains(&op) {
                let loc = module.body.op(op).loc.clone();
                cx.remark(RemarkKind::Missed, "infer-shapes", loc, "the function calls itself");
                continue;
            }
            let Some(mut function) = Function::take(module, op) else { continue };
            match refine(&mut function, module, &graph) {
                Ok(n) => refined += n,
                Err(found) => errors.0.extend(found.0),
            }
            named += dims::name_results(&mut function);
            function.put_back(module);
        }
        cx.count("refined", refined);
        cx.count("named", named);
        if errors.has_errors() { Err(errors) } else { Ok((refined + named > 0).into()) }
    }
}

/// Refines the types in a function and its own. Returns how many values changed.
fn refine(function: &mut Function, module: &Module, graph: &CallGraph) -> Result<usize, Diagnostics> {
    let mut errors = Diagnostics::default();
    let body = &mut function.body;
    let order = definition_order(body);
    let returns: Vec<Op> = order
        .iter()
        .copied()
        .filter(|&op| body.op(op).def.is_some_and(|d| d.syntax == Syntax::Return))
        .collect();
    let mut fixed = vec![false; body.num_values()];
    let calls = order.iter().filter(|&&op| callee(body, op).is_some());
    // Several returns would have to agree; a call's operands have the types of the callee's arguments.
    let held = calls.chain(if returns.len() > 1 { returns.iter() } else { [].iter() });
    held.flat_map(|&op| body.operands(op)).for_each(|v| fixed[v.index()] = true);

    let mut refined = 0;
    for &op in &order {
        let data = body.op(op);
        let Some(def) = data.def else { continue };
        let inferred: Vec<Type> = match (callee(body, op), def.syntax) {
            (Some(name), _) => {
                let target = graph.by_name.get(name);
                let ty = target.and_then(|&t| module.body.attr(t, "function_type")).and_then(Attr::as_type);
                ty.and_then(Type::as_function).map_or_else(Vec::new, |f| f.results.to_vec())
            }
            (None, Syntax::Return | Syntax::Yield | Syntax::Func | Syntax::Module | Syntax::Call) => continue,
            (None, _) => match body.with_signature(op, |s| s.infer()) {
                Some(Ok(types)) => types,
                Some(Err(message)) => {
                    let message = format!("'{}' {message} (with the extents that are known here)", data.name);
                    errors.push(Diagnostic::error(data.loc.clone(), message));
                    continue;
                }
                None => continue,
            },
        };
        for (value, inferred) in body.results(op).zip(inferred) {
            let written = body.ty(value);
            let better = meet(written, inferred);
            if better != written && !fixed[value.index()] {
                body.set_type(value, better);
                refined += 1;
            }
        }
    }
    if let [only] = returns[..] {
        set_results(function, only);
    }
    if errors.has_errors() { Err(errors) } else { Ok(refined) }
}

/// The type with the extents that either type knows.
fn meet(written: Type, inferred: Type) -> Type {
    let (Some(a), Some(b)) = (written.as_tensor(), inferred.as_tensor()) else { return written };
    if written == inferred || !written.is_compatible(inferred) {
        return written;
    }
    let shape = a.shape.iter().zip(&b.shape).map(|(&x, &y)| if x == Dim::Dynamic { y } else { x });
    Type::tensor(shape, a.elem)
}

/// Makes the function's type say what its `func.return` returns.
fn set_results(function: &mut Function, returned: Op) {
    let Some(ty) = function.ty() else { return };
    let results = function.body.operand_types(returned);
    if *ty.results != *results {
        let ty = Type::function(&ty.inputs, &results);
        function.attrs.set("function_type", ty);
    }
}
