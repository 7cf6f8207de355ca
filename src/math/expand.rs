//! Implementations as machine ops alone: every op is replaced by the steps that define it, until each is one that machines
//! have. Equal steps are made once, unused ones not at all.

use std::collections::HashMap;

use ngc_ir::op_def::DecomposeFn;
use ngc_ir::{
    AttrDict, Block, Body, Builder, Context, Diagnostic, Loc, Module, Op, OpDef, OpState, Semantics,
    Signature, Type, Value,
};
use rustc_hash::FxBuildHasher;

use crate::function::CALLS;
use crate::machine;

/// The functions of a module as machine ops, and those of `instructions`, which the machine in hand has.
///
/// # Errors
/// Names the first op that is none and is not made of them, located.
pub fn expand(
    context: &Context,
    module: &Module,
    instructions: &[&'static OpDef],
) -> Result<Module, Diagnostic> {
    let mut expanded = Module::new();
    for function in module.functions() {
        let data = module.body.op(function);
        let (Some(body), Some(def)) = (module.body.body(function), data.def) else { continue };
        let calls = data.attrs.get(CALLS).is_some();
        let body = expand_body(context, body, (instructions, calls))?;
        let state = OpState { attrs: data.attrs.clone(), ..OpState::new(def, data.loc.clone()) };
        let op = expanded.body.create(state);
        if let Some(top) = expanded.body.entry() {
            expanded.body.append(top, op);
        }
        expanded.body.set_body(op, body);
    }
    Ok(expanded)
}

fn expand_body(
    context: &Context,
    from: &Body,
    (instructions, calls): (&[&'static OpDef], bool),
) -> Result<Body, Diagnostic> {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let Some(entry) = from.entry() else { return Ok(body) };
    let mut values = vec![None; from.num_values()];
    for (n, &argument) in from.arguments(entry).iter().enumerate() {
        values[argument.index()] =
            Some(body.add_argument(block, from.ty(argument), from.argument_loc(entry, n)));
    }
    let mut expander = Expander { context, instructions, body, block, calls, made: HashMap::default() };
    expander.follow(from, entry, &mut values, None)?;
    let mut body = expander.body;
    erase_unused(&mut body);
    Ok(body)
}

struct Expander<'a> {
    context: &'a Context,
    instructions: &'a [&'static OpDef],
    body: Body,
    block: Block,
    /// Whether functions of a library are steps.
    calls: bool,
    /// Results of ops that were made, by op, attributes and operands.
    made: HashMap<(&'static str, AttrDict, Vec<Value>), Vec<Value>, FxBuildHasher>,
}

impl Expander<'_> {
    /// Makes the ops of a block, whose values are found in `values`; at `place`, where they are steps of another op.
    fn follow(
        &mut self,
        from: &Body,
        block: Block,
        values: &mut [Option<Value>],
        place: Option<&Loc>,
    ) -> Result<(), Diagnostic> {
        for op in from.ops(block) {
            let data = from.op(op);
            let loc = place.unwrap_or(&data.loc);
            let fail = |message: String| Diagnostic::error(loc.clone(), message);
            let def = data.def.ok_or_else(|| fail(format!("'{}' is not registered", from.name(op))))?;
            let operands: Option<Vec<Value>> = from.operands(op).iter().map(|v| values[v.index()]).collect();
            let operands = operands.ok_or_else(|| fail("uses a value that is not made".into()))?;
            let types: Vec<Type> = from.result_types(op).to_vec();
            let results = self.op(def, &data.attrs, operands, &types, loc)?;
            for (result, value) in from.results(op).zip(results) {
                values[result.index()] = Some(value);
            }
        }
        Ok(())
    }

    fn op(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: Vec<Value>,
        results: &[Type],
        loc: &Loc,
    ) -> Result<Vec<Value>, Diagnostic> {
        let is_instruction = self.instructions.iter().any(|i| std::ptr::eq(*i, def));
        let is_step = machine::is_machine(def) || is_instruction || self.calls && machine::is_library(def);
        if let (Semantics::Decomposition(decompose), false) = (def.semantics, is_step) {
            return self.steps(def, decompose, attrs, &operands, loc);
        }
        if !is_step && !def.traits.terminator {
            return Err(Diagnostic::error(loc.clone(), refusal(def)));
        }
        let key = (def.name, attrs.clone(), operands);
        if let (Some(known), true) = (self.made.get(&key), def.traits.pure) {
            return Ok(known.clone());
        }
        let op = self.body.create(OpState {
            operands: key.2[..].into(),
            results: results.into(),
            attrs: attrs.clone(),
            ..OpState::new(def, loc.clone())
        });
        self.body.append(self.block, op);
        let values: Vec<Value> = self.body.results(op).collect();
        self.made.insert(key, values.clone());
        Ok(values)
    }

    /// The steps that define an op, each made in turn.
    fn steps(
        &mut self,
        def: &'static OpDef,
        decompose: DecomposeFn,
        attrs: &AttrDict,
        operands: &[Value],
        loc: &Loc,
    ) -> Result<Vec<Value>, Diagnostic> {
        let fail = |message: String| Diagnostic::error(loc.clone(), format!("'{}': {message}", def.name));
        let types: Vec<Type> = operands.iter().map(|&v| self.body.ty(v)).collect();
        let signature = Signature { def, operands: &types, attrs };
        let Steps { body: steps, block, ends } =
            Steps::of(self.context, &signature, decompose, loc).map_err(fail)?;
        let mut values = vec![None; steps.num_values()];
        for (argument, &operand) in steps.arguments(block).iter().zip(operands) {
            values[argument.index()] = Some(operand);
        }
        self.follow(&steps, block, &mut values, Some(loc))?;
        let ends: Option<Vec<Value>> = ends.iter().map(|v| values[v.index()]).collect();
        ends.ok_or_else(|| fail("a step is missing".into()))
    }
}

/// The steps that define an op, whose operands are the arguments of a block, and its results among their values.
pub(crate) struct Steps {
    pub body: Body,
    pub block: Block,
    pub ends: Vec<Value>,
}

impl Steps {
    /// The steps of an op at a place.
    ///
    /// # Errors
    /// Why it has none.
    pub fn of(
        context: &Context,
        signature: &Signature<'_>,
        decompose: DecomposeFn,
        loc: &Loc,
    ) -> Result<Steps, String> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let operands = signature.operands.iter();
        let arguments: Vec<Value> = operands.map(|&ty| body.add_argument(block, ty, loc.clone())).collect();
        let mut builder = Builder::at_end(context, &mut body, block, loc.clone());
        let ends = decompose(&mut builder, signature, &arguments)?;
        Ok(Steps { body, block, ends })
    }
}

/// Why an op is none of an implementation.
fn refusal(def: &OpDef) -> String {
    let name = def.short_name();
    match def.semantics {
        Semantics::Elementwise(_) => format!(
            "'{name}' is itself a function that is implemented: an implementation is made of arithmetic, comparison, \
             selection and moves of bits; write its steps"
        ),
        _ => format!("'{name}' does not work element by element, so no implementation is made of it"),
    }
}

fn erase_unused(body: &mut Body) {
    let mut uses = vec![0usize; body.num_values()];
    let ops: Vec<Op> = body.walk();
    ops.iter().flat_map(|&op| body.operands(op)).for_each(|v| uses[v.index()] += 1);
    for &op in ops.iter().rev() {
        let pure = body.op(op).def.is_some_and(|d| d.traits.pure);
        if pure && body.results(op).all(|v| uses[v.index()] == 0) {
            body.operands(op).iter().for_each(|v| uses[v.index()] -= 1);
            body.unlink(op);
        }
    }
}
