//! Checks that a module is well formed: what every pass may rely on.
//!
//! MLIR's concept: the verifier. It runs after parsing and, by default, after each pass. Ops are checked against
//! their declaration and their inferred types; values against dominance; symbols against the table of their module.
//! Time is linear in the number of ops; the functions of a module are checked in parallel.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::attributes::Attr;
use crate::body::{Block, Body, Op, Region, Value, ValueDef};
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::dominance::{Dominators, Visit};
use crate::location::Loc;
use crate::module::Module;
use crate::op_def::{OpDef, Signature, Syntax};
use crate::types::{FunctionType, Type, comma};

/// Modules smaller than this many ops are not worth a second thread.
const PARALLEL_FROM: usize = 4096;

/// Verifies a module. The errors come in the order of the text, at most one an op.
pub fn verify(context: &Context, module: &Module) -> Result<(), Diagnostics> {
    let mut out = Diagnostics::default();
    verify_module_body(context, &module.body, &mut out);
    if out.0.is_empty() { Ok(()) } else { Err(out) }
}

/// Symbols of a module body.
type Symbols<'a> = FxHashMap<&'a str, Op>;

fn verify_module_body(context: &Context, body: &Body, out: &mut Diagnostics) {
    let blocks = body.blocks(body.root());
    if let [_, second, ..] = blocks {
        let loc = body.first_op(*second).map_or(Loc::Unknown, |op| body.op(op).loc.clone());
        out.error(loc, "a module has one block, but another one starts here");
    }
    let mut beside = FxHashMap::default();
    let symbols = collect_symbols(body, &mut beside);
    let owners: Vec<Op> = body.walk().into_iter().filter(|&op| body.body(op).is_some()).collect();
    let size: usize = owners.iter().filter_map(|&op| body.body(op)).map(Body::num_ops).sum();
    let check = |&op: &Op| (op, verify_owned_body(context, body, op, &symbols));
    let found: Vec<(Op, Diagnostics)> = if owners.len() > 1 && size >= PARALLEL_FROM {
        owners.par_iter().map(check).collect()
    } else {
        owners.iter().map(check).collect()
    };
    for (op, diagnostics) in found.into_iter().filter(|(_, d)| !d.0.is_empty()) {
        beside.entry(op).or_insert_with(Diagnostics::default).0.extend(diagnostics.0);
    }

    let mut checker = Checker::new(context, body, body, &symbols);
    // The body of a module is a graph: the order of its ops does not matter.
    checker.ordered = false;
    checker.beside = beside;
    checker.region(body.root());
    out.0.append(&mut checker.out.0);
}

/// The symbol table of a module; second definitions are reported.
fn collect_symbols<'a>(body: &'a Body, out: &mut FxHashMap<Op, Diagnostics>) -> Symbols<'a> {
    let mut symbols = Symbols::default();
    for op in body.entry().into_iter().flat_map(|b| body.ops(b)) {
        let Some(name) = body.attr(op, "sym_name").and_then(Attr::as_str) else { continue };
        if let Some(first) = symbols.insert(name, op) {
            symbols.insert(name, first);
            let error =
                Diagnostic::error(body.op(op).loc.clone(), format!("symbol @{name} is defined twice"))
                    .note(body.op(first).loc.clone(), "first defined here");
            out.entry(op).or_default().push(error);
        }
    }
    symbols
}

/// Checks the body of an op isolated from above: a function, or a module within the module.
fn verify_owned_body(context: &Context, outer: &Body, op: Op, symbols: &Symbols<'_>) -> Diagnostics {
    let mut out = Diagnostics::default();
    let Some(body) = outer.body(op) else { return out };
    match outer.op(op).def.map(|d| d.syntax) {
        Some(Syntax::Module) => verify_module_body(context, body, &mut out),
        Some(Syntax::Func) => {
            let mut checker = Checker::new(context, body, outer, symbols);
            checker.function = Some(op);
            if body.entry().is_some() {
                checker.entry_arguments(op);
                checker.region(body.root());
            }
            out = checker.out;
        }
        _ => {
            let mut checker = Checker::new(context, body, outer, symbols);
            checker.region(body.root());
            out = checker.out;
        }
    }
    out
}

/// The declared type of a function.
fn function_type(body: &Body, op: Op) -> Option<&'static FunctionType> {
    body.attr(op, "function_type").and_then(Attr::as_type).and_then(Type::as_function)
}

struct Checker<'a> {
    context: &'a Context,
    body: &'a Body,
    /// The body that holds the symbols.
    outer: &'a Body,
    symbols: &'a Symbols<'a>,
    /// The function whose body this is.
    function: Option<Op>,
    /// Whether definitions must come before uses.
    ordered: bool,
    /// Values that dominate the op in hand.
    visible: Vec<bool>,
    /// Visible values in the order of their definition, so that scopes can be left.
    scope: Vec<Value>,
    /// Declarations with operand and result types that were found to fit, of ops without attributes.
    fitting: FxHashSet<(&'static str, SmallVec<[Type; 4]>)>,
    /// What is known against an op already, to be reported in its turn.
    beside: FxHashMap<Op, Diagnostics>,
    out: Diagnostics,
}

impl<'a> Checker<'a> {
    fn new(context: &'a Context, body: &'a Body, outer: &'a Body, symbols: &'a Symbols<'a>) -> Checker<'a> {
        Checker {
            context,
            body,
            outer,
            symbols,
            function: None,
            ordered: true,
            visible: vec![false; body.num_values()],
            scope: Vec::new(),
            fitting: FxHashSet::default(),
            beside: FxHashMap::default(),
            out: Diagnostics::default(),
        }
    }

    fn define(&mut self, value: Value) {
        self.visible[value.index()] = true;
        self.scope.push(value);
    }

    fn leave(&mut self, depth: usize) {
        for value in self.scope.drain(depth..) {
            self.visible[value.index()] = false;
        }
    }

    fn region(&mut self, region: Region) {
        let depth = self.scope.len();
        match self.body.blocks(region) {
            [] => {}
            [block] => self.block(*block),
            blocks => {
                let dominators = Dominators::new(self.body, region);
                let mut depths = Vec::new();
                for visit in dominators.walk() {
                    match visit {
                        Visit::Enter(block) => {
                            depths.push(self.scope.len());
                            self.block(block);
                        }
                        Visit::Leave(_) => {
                            let depth = depths.pop().unwrap_or(depth);
                            self.leave(depth);
                        }
                    }
                }
                // Every block dominates one that control never reaches, so order says nothing there.
                let ordered = std::mem::replace(&mut self.ordered, false);
                for &block in blocks.iter().filter(|&&b| !dominators.is_reachable(b)) {
                    self.block(block);
                }
                self.ordered = ordered;
                self.successors(blocks);
            }
        }
        self.leave(depth);
    }

    fn block(&mut self, block: Block) {
        let body = self.body;
        for &argument in body.arguments(block) {
            self.define(argument);
        }
        for op in body.ops(block) {
            self.op(op);
            for &inner in body.regions(op) {
                self.region(inner);
            }
            for result in body.results(op) {
                self.define(result);
            }
        }
        self.terminator(block);
    }

    fn op(&mut self, op: Op) {
        let data = self.body.op(op);
        let problem = match data.def {
            Some(def) => self.declared(op, def),
            None if self.context.allow_unregistered => Ok(()),
            None => Err(format!(
                "'{}' is no registered op; pass --allow-unregistered-dialect to accept it in generic form",
                data.name
            )),
        };
        if let Err(message) = problem.and_then(|()| self.operands(op)) {
            self.report(op, message);
        }
        if !self.beside.is_empty()
            && let Some(more) = self.beside.remove(&op)
        {
            self.out.0.extend(more.0);
        }
    }

    fn report(&mut self, op: Op, message: String) {
        let loc = self.body.op(op).loc.clone();
        let mut diagnostic = Diagnostic::error(loc, message);
        let undefined = self.body.operands(op).iter().find(|v| !self.is_visible(**v));
        if let Some(&value) = undefined
            && let Some(loc) = self.definition_loc(value)
        {
            diagnostic = diagnostic.note(loc, "defined here");
        }
        self.out.push(diagnostic);
    }

    fn is_visible(&self, value: Value) -> bool {
        match self.visible.get(value.index()) {
            Some(&visible) => visible || (!self.ordered && self.is_placed(value)),
            None => false,
        }
    }

    fn is_placed(&self, value: Value) -> bool {
        self.body.defining_op(value).is_none_or(|op| self.body.block(op).is_some())
    }

    fn definition_loc(&self, value: Value) -> Option<Loc> {
        if value.index() >= self.body.num_values() {
            return None;
        }
        let loc = match self.body.def(value) {
            ValueDef::Result(op, _) => self.body.op(op).loc.clone(),
            ValueDef::Argument(block, n) => self.body.argument_loc(block, n as usize),
        };
        (loc != Loc::Unknown).then_some(loc)
    }

    fn operands(&self, op: Op) -> Result<(), String> {
        let successors = self.body.successors(op).iter().flat_map(|s| &s.operands);
        for (i, &value) in self.body.operands(op).iter().chain(successors).enumerate() {
            if self.is_visible(value) {
                continue;
            }
            let name = self.body.name(op);
            return Err(if value.index() >= self.body.num_values() {
                format!("'{name}' operand #{i} is no value of this function")
            } else if !self.is_placed(value) {
                format!("'{name}' operand #{i} is the result of an op that was erased")
            } else {
                format!("'{name}' operand #{i} does not dominate this use")
            });
        }
        Ok(())
    }

    fn declared(&mut self, op: Op, def: &'static OpDef) -> Result<(), String> {
        let body = self.body;
        let data = body.op(op);
        let operands = body.operands(op);
        if operands.iter().any(|v| v.index() >= body.num_values()) {
            return Ok(()); // reported with the operands
        }
        let mut types: SmallVec<[Type; 4]> = operands.iter().map(|&v| body.ty(v)).collect();
        let inputs = types.len();
        types.extend(body.results(op).map(|v| body.ty(v)));
        let name = def.name;

        let known = data.attrs.is_empty() && self.fitting.contains(&(name, types.clone()));
        if !known {
            let (operands, results) = types.split_at(inputs);
            let signature = Signature { def, operands, attrs: &data.attrs };
            signature.check().map_err(|m| format!("'{name}' {m}"))?;
            // The results of calls and the like are as their types say.
            if !matches!(
                def.syntax,
                Syntax::Call | Syntax::Return | Syntax::Yield | Syntax::Func | Syntax::Module
            ) {
                let inferred = signature.infer().map_err(|m| format!("'{name}' {m}"))?;
                check_results(&inferred, results).map_err(|m| format!("'{name}' {m}"))?;
            }
            if let Some(verify) = def.verify {
                verify(&signature, results).map_err(|m| format!("'{name}' {m}"))?;
            }
        }
        match def.syntax {
            Syntax::Call => self.call(op)?,
            Syntax::Return => self.function_return(op)?,
            Syntax::Yield if self.body.block(op).is_some_and(|b| body.block_region(b) == body.root()) => {
                return Err(format!("'{name}' stands outside of a region to end"));
            }
            _ => {}
        }
        if !def.traits.isolated {
            self.regions(op, def)?;
        }
        if !body.successors(op).is_empty() {
            return Err(format!("'{name}' takes no successors"));
        }
        if def.traits.terminator && body.next(op).is_some() {
            return Err(format!("'{name}' must be the last op of its block"));
        }
        if !known && data.attrs.is_empty() {
            self.fitting.insert((name, types));
        }
        Ok(())
    }

    /// Declared regions have one block each, with the declared arguments, that yields the op's results.
    fn regions(&self, op: Op, def: &'static OpDef) -> Result<(), String> {
        let (body, name, found) = (self.body, def.name, self.body.regions(op));
        if found.len() != def.regions.len() {
            let wanted = match def.regions.len() {
                0 => "no region".to_string(),
                1 => "one region".to_string(),
                n => format!("{n} regions"),
            };
            return Err(format!("'{name}' takes {wanted}"));
        }
        for (&region, declared) in found.iter().zip(def.regions) {
            let what = declared.name;
            let [block] = *body.blocks(region) else {
                return Err(format!("'{name}': its {what} must be one block"));
            };
            let arguments: Vec<Type> = body.arguments(block).iter().map(|&v| body.ty(v)).collect();
            let wanted = body.with_signature(op, declared.arguments).unwrap_or_default();
            if arguments != wanted {
                let (found, wanted) = (comma(&arguments), comma(&wanted));
                return Err(format!(
                    "'{name}': its {what} has arguments ({found}), but should have ({wanted})"
                ));
            }
            let yields = |&end: &Op| body.op(end).def.is_some_and(|d| d.syntax == Syntax::Yield);
            let Some(end) = body.last_op(block).filter(yields) else {
                return Err(format!("'{name}': its {what} must end in an op that yields its results"));
            };
            let (yielded, results) = (body.operand_types(end), body.result_types(op));
            if yielded != results {
                let (found, wanted) = (comma(&yielded), comma(&results));
                return Err(format!("'{name}': its {what} yields ({found}), but should yield ({wanted})"));
            }
        }
        Ok(())
    }

    fn call(&self, op: Op) -> Result<(), String> {
        let Some(callee) = self.body.attr(op, "callee").and_then(Attr::as_symbol) else { return Ok(()) };
        let Some(&target) = self.symbols.get(callee) else {
            return Err(format!("'func.call' calls @{callee}, which is not defined in this module"));
        };
        let Some(ty) = function_type(self.outer, target) else {
            return Err(format!("'func.call' calls @{callee}, which is no function"));
        };
        let (operands, results) = (self.body.operand_types(op), self.body.result_types(op));
        if *ty.inputs != *operands || *ty.results != *results {
            let found = Type::function(&operands, &results);
            let expected = Type::function(&ty.inputs, &ty.results);
            return Err(format!("'func.call' has type {found}, but @{callee} has type {expected}"));
        }
        Ok(())
    }

    fn function_return(&self, op: Op) -> Result<(), String> {
        let Some(ty) = self.function.and_then(|f| function_type(self.outer, f)) else {
            return Err("'func.return' stands outside of a function".into());
        };
        let found = self.body.operand_types(op);
        if *ty.results != *found {
            return Err(format!(
                "'func.return' returns ({}), but the function's results are ({})",
                comma(&found),
                comma(&ty.results)
            ));
        }
        Ok(())
    }

    fn entry_arguments(&mut self, function: Op) {
        let (Some(ty), Some(entry)) = (function_type(self.outer, function), self.body.entry()) else {
            return;
        };
        let found: Vec<Type> = self.body.arguments(entry).iter().map(|&v| self.body.ty(v)).collect();
        if *ty.inputs != *found {
            self.out.error(
                self.outer.op(function).loc.clone(),
                format!(
                    "the entry block's arguments ({}) differ from the function's ({})",
                    comma(&found),
                    comma(&ty.inputs)
                ),
            );
        }
    }

    /// A block of a function ends in a terminator; so does any block where there are several.
    fn terminator(&mut self, block: Block) {
        let body = self.body;
        let region = body.block_region(block);
        let in_function = self.function.is_some() && region == body.root();
        if !in_function && body.blocks(region).len() < 2 {
            return;
        }
        let last = body.last_op(block);
        let ends = last.is_some_and(|op| body.op(op).def.is_none_or(|d| d.traits.terminator));
        if !ends {
            let owner = self.function.map_or(Loc::Unknown, |f| self.outer.op(f).loc.clone());
            let loc = last.map_or(owner, |op| body.op(op).loc.clone());
            self.out.error(loc, "a block must end in a terminator such as func.return");
        }
    }

    /// Branches stay in their region and pass what the target's arguments take.
    fn successors(&mut self, blocks: &[Block]) {
        let members: FxHashSet<Block> = blocks.iter().copied().collect();
        for &block in blocks {
            let Some(op) = self.body.last_op(block) else { continue };
            for successor in self.body.successors(op) {
                let loc = self.body.op(op).loc.clone();
                if !members.contains(&successor.block) {
                    self.out.error(loc, "branches to a block of another region");
                } else if successor.block == blocks[0] {
                    self.out.error(loc, "branches to the entry block, which must have no predecessors");
                }
            }
        }
    }
}

fn check_results(inferred: &[Type], written: &[Type]) -> Result<(), String> {
    if inferred.len() != written.len() {
        return Err(format!("has {} results, but should have {}", written.len(), inferred.len()));
    }
    for (i, (&inferred, &written)) in inferred.iter().zip(written).enumerate() {
        if !written.is_compatible(inferred) {
            return Err(format!("result #{i} has type {written}, but its operands give {inferred}"));
        }
    }
    Ok(())
}
