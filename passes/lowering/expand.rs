//! Taking a function apart: calls and ops that are defined by others make room for these, until primitives are left.

use ngc_dialects::func;
use ngc_dialects::ng::sort::{SORT, TOPK};
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Diagnostic, Loc, Module, Op, OpDef, Semantics, Signature, Type,
    Value,
};
use rustc_hash::FxHashMap;

/// Calls and definitions nested deeper than this are refused.
const DEEPEST: usize = 64;

/// A function of primitives, in one block, and its results.
pub(super) struct Expanded {
    pub body: Body,
    pub results: Vec<Value>,
}

/// The primitives of a function, whose arguments have these types, or those that it says.
pub(super) fn expand(
    context: &Context,
    module: &Module,
    function: Op,
    types: Option<&[Type]>,
) -> Result<Expanded, Diagnostic> {
    let (from, loc) = (module.body.body(function), &module.body.op(function).loc);
    let (Some(from), true) = (from, from.is_some_and(|b| b.blocks(b.root()).len() == 1)) else {
        return Err(Diagnostic::error(loc.clone(), "a function of several blocks is not lowered yet"));
    };
    let entry = from.entry().expect("it has a block");
    let mut body = Body::new();
    let block = body.add_block(body.root());
    let arguments: Vec<Value> = from
        .arguments(entry)
        .iter()
        .enumerate()
        .map(|(n, &v)| {
            let ty = types.and_then(|types| types.get(n)).copied().unwrap_or(from.ty(v));
            body.add_argument(block, ty, from.argument_loc(entry, n))
        })
        .collect();
    let builder = Builder::at_end(context, &mut body, block, loc.clone());
    let results = Expander { context, module, builder }.body(from, &arguments, 0)?;
    Ok(Expanded { body, results })
}

struct Expander<'a> {
    context: &'a Context,
    module: &'a Module,
    builder: Builder<'a>,
}

impl Expander<'_> {
    fn fail(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.builder.loc.clone(), message)
    }

    fn body(&mut self, from: &Body, operands: &[Value], depth: usize) -> Result<Vec<Value>, Diagnostic> {
        let entry = from.entry().ok_or_else(|| self.fail("calls a declaration, which has no body"))?;
        let arguments = from.arguments(entry).iter().copied();
        let mut values: FxHashMap<Value, Value> = arguments.zip(operands.iter().copied()).collect();
        let outside = self.builder.loc.clone();
        for op in from.ops(entry) {
            let data = from.op(op);
            // What stands in a definition is located at the op that it defines.
            self.builder.loc = if data.loc == Loc::Unknown { outside.clone() } else { data.loc.clone() };
            let operands: Vec<Value> = from.operands(op).iter().map(|v| values[v]).collect();
            let unknown =
                || self.fail(format!("'{}' is not registered, so its meaning is unknown", data.name));
            let def = data.def.ok_or_else(unknown)?;
            if std::ptr::eq(def, &func::RETURN) {
                self.builder.loc = outside;
                return Ok(operands);
            }
            if depth > DEEPEST {
                return Err(self.fail(format!("'{}' is nested more than {DEEPEST} levels deep", def.name)));
            }
            let made = match data.attrs.get("callee").and_then(Attr::as_symbol) {
                Some(name) if std::ptr::eq(def, &func::CALL) => {
                    let callee = self.module.symbol(name).and_then(|f| self.module.body.body(f));
                    let callee = callee.ok_or_else(|| self.fail(format!("there is no function @{name}")))?;
                    self.body(callee, &operands, depth + 1)?
                }
                _ => self.op(def, &data.attrs, &operands, depth)?,
            };
            values.extend(from.results(op).zip(made));
        }
        Err(self.fail("a function does not end in a return"))
    }

    /// Emits an op, or those that define it.
    fn op(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: &[Value],
        depth: usize,
    ) -> Result<Vec<Value>, Diagnostic> {
        let loc = self.builder.loc.clone();
        let fail = |message: String| Diagnostic::error(loc.clone(), message);
        let Semantics::Decomposition(decompose) = def.semantics else {
            if let Some(found) = ordered(&mut self.builder, def, attrs, operands) {
                return found.map_err(fail);
            }
            let op = self.builder.op(def.name, operands, attrs.clone()).map_err(fail)?;
            return Ok(self.builder.body.results(op).collect());
        };
        let mut inner = Body::new();
        let block = inner.add_block(inner.root());
        let types: Vec<Type> = operands.iter().map(|&v| self.builder.ty(v)).collect();
        let arguments: Vec<Value> =
            types.iter().map(|&ty| inner.add_argument(block, ty, Loc::Unknown)).collect();
        let mut steps = Builder::at_end(self.context, &mut inner, block, Loc::Unknown);
        let signature = Signature { def, operands: &types, attrs };
        let ends = decompose(&mut steps, &signature, &arguments)
            .map_err(|message| fail(format!("'{}' is not lowered yet where it {message}", def.name)))?;
        let mut values: FxHashMap<Value, Value> =
            arguments.into_iter().zip(operands.iter().copied()).collect();
        for op in inner.ops(block) {
            if depth > DEEPEST {
                return Err(fail(format!("'{}' is nested more than {DEEPEST} levels deep", def.name)));
            }
            let data = inner.op(op);
            let operands: Vec<Value> = inner.operands(op).iter().map(|v| values[v]).collect();
            let step = data.def.ok_or_else(|| fail(format!("'{}' is not registered", data.name)))?;
            let made = self.op(step, &data.attrs, &operands, depth + 1)?;
            values.extend(inner.results(op).zip(made));
        }
        Ok(ends.iter().map(|v| values[v]).collect())
    }
}

/// What is sorted is picked by the places where it is found, in their order.
fn ordered(
    b: &mut Builder<'_>,
    def: &'static OpDef,
    attrs: &AttrDict,
    operands: &[Value],
) -> Option<Result<Vec<Value>, String>> {
    let is = |other: &'static OpDef| std::ptr::eq(def, other);
    if !is(&SORT) && !is(&TOPK) {
        return None;
    }
    let types: Vec<Type> = operands.iter().map(|&v| b.ty(v)).collect();
    let s = Signature { def, operands: &types, attrs };
    let descending = s.flag(if is(&SORT) { "descending" } else { "largest" });
    let axis = s.int("axis").map_or(Attr::int(-1), Attr::int);
    let k = s.int("k");
    let unsorted = is(&TOPK) && !s.flag("sorted");
    let mut found = || {
        let places = |b: &mut Builder<'_>, x: Value, descending: bool| -> Result<Value, String> {
            let attrs = [("axis", axis.clone()), ("descending", Attr::Bool(descending))];
            let op = b.op(SORT.name, &[x], attrs)?;
            Ok(b.body.result(op, 1))
        };
        let picked = |b: &mut Builder<'_>, x: Value, at: Value| {
            b.emit("ng.gather_elements", &[x, at], [("axis", axis.clone())])
        };
        let mut at = places(b, operands[0], descending)?;
        if let Some(k) = k {
            let list = |n: i64| Attr::ints([n]);
            let axes = Attr::Array([axis.clone()].into_iter().collect());
            at = b.emit("ng.slice", &[at], [("starts", list(0)), ("stops", list(k)), ("axes", axes)])?;
        }
        if unsorted {
            let order = places(b, at, false)?;
            at = picked(b, at, order)?;
        }
        Ok(vec![picked(b, operands[0], at)?, at])
    };
    Some(found())
}
