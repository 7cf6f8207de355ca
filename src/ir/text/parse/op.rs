//! Operations.

use smallvec::SmallVec;

use super::Read;
use super::function::Head;
use super::grammar::{self, Rule};
use super::region::{BodyReader, Job, Level};
use super::scope::Forward;
use crate::attributes::AttrDict;
use crate::body::{Block, Body, Op, OpState, Value};
use crate::ident::Ident;
use crate::location::Loc;
use crate::op_def::{OpDef, Syntax};
use crate::types::Type;

/// The names on the left of `=`, each with its number of values.
pub(super) type ResultNames<'a> = SmallVec<[(&'a str, u32); 1]>;
pub(super) type Types = SmallVec<[Type; 4]>;

/// An operation as it is written, its names not resolved yet.
pub(super) struct Operation<'a> {
    pub names: ResultNames<'a>,
    pub name: Ident,
    pub def: Option<&'static OpDef>,
    pub loc: Loc,
    pub attrs: AttrDict,
    pub operands: SmallVec<[&'a str; 4]>,
    /// As many types as operands.
    pub inputs: Types,
    pub outputs: Types,
}

impl<'r, 'a> BodyReader<'r, 'a> {
    /// Reads one operation and appends it to a block.
    pub fn statement(&mut self, block: Block) -> Read<()> {
        if let Some(forms) = self.reader.unit.forms
            && self.foreign_statement(block, forms)?
        {
            return Ok(());
        }
        let mut inner = self.reader.take(Rule::statement)?.into_inner();
        let mut pair = grammar::next(&mut inner)?;
        let mut names = ResultNames::new();
        if pair.as_rule() == Rule::results {
            for name in pair.into_inner() {
                names.push(self.result_name(name)?);
            }
            pair = grammar::next(&mut inner)?;
        }
        match pair.as_rule() {
            Rule::generic_head => self.generic(block, names, pair, inner.next())?,
            Rule::function_head => {
                let at = self.reader.offset(&pair);
                self.no_results(&names)?;
                let head = self.function_head(pair)?;
                self.symbol_op(block, "func.func", at, head)?;
            }
            Rule::module_head => {
                let at = self.reader.offset(&pair);
                self.no_results(&names)?;
                let head = self.module_head(pair)?;
                self.symbol_op(block, "builtin.module", at, head)?;
            }
            _ => self.custom(block, names, pair)?,
        }
        self.check_end()
    }

    fn no_results(&self, names: &ResultNames<'a>) -> Read<()> {
        match names.first() {
            Some((name, _)) => {
                Err(self.reader.error_at(self.reader.offset_of(name), "the operation has no results to name"))
            }
            None => Ok(()),
        }
    }

    /// Optional parts that did not parse were passed over by the grammar. What follows an operation tells.
    pub fn check_end(&mut self) -> Read<()> {
        let rule = match self.reader.peek() {
            b'{' if !self.reader.unit.text[self.reader.pos..].starts_with("{-#") => Rule::dictionary,
            b':' => Rule::signature,
            b'(' => Rule::type_list,
            b'<' => Rule::properties,
            b'l' if self.reader.unit.text[self.reader.pos..].starts_with("loc(") => Rule::location,
            b'@' => Rule::callee,
            b',' | b'-' | b'[' | b'=' => {
                return Err(self.reader.error_at(self.reader.pos, "expected an operation, a block or '}'"));
            }
            _ => return Ok(()),
        };
        self.reader.parse(rule, self.reader.pos)?;
        Err(self.reader.error_at(self.reader.pos, "this cannot stand here"))
    }

    /// The values of operands; those that are not defined yet are left in `forward`.
    pub fn operands(
        &mut self,
        names: &[&'a str],
        types: &[Type],
        forward: &mut Vec<Forward<'a>>,
    ) -> Read<SmallVec<[Value; 2]>> {
        let mut values = SmallVec::with_capacity(names.len());
        for (i, (name, ty)) in names.iter().zip(types).enumerate() {
            values.push(self.scope.operand(self.reader, &self.body, name, *ty, i, forward)?);
        }
        Ok(values)
    }

    /// Makes an operation and appends it.
    pub fn finish_op(&mut self, block: Block, written: Operation<'a>) -> Read<Op> {
        let mut forward = Vec::new();
        let operands = self.operands(&written.operands, &written.inputs, &mut forward)?;
        let op = self.body.create(OpState {
            name: written.name,
            def: written.def,
            loc: written.loc,
            operands,
            results: written.outputs.into_iter().collect(),
            attrs: written.attrs,
        });
        self.place(block, op, &written.names, forward)?;
        Ok(op)
    }

    /// Appends an operation, names its results and keeps uses of values that are not defined yet.
    pub fn place(
        &mut self,
        block: Block,
        op: Op,
        names: &ResultNames<'a>,
        forward: Vec<Forward<'a>>,
    ) -> Read<()> {
        if !forward.is_empty() {
            self.scope.defer(self.reader, op, forward)?;
        }
        self.body.append(block, op);
        let Some((first_name, _)) = names.first() else { return Ok(()) };
        let count = self.body.num_results(op);
        let named: u64 = names.iter().map(|(_, n)| u64::from(*n)).sum();
        if named != count as u64 {
            let at = self.reader.offset_of(first_name);
            let name = self.body.name(op);
            return Err(self
                .reader
                .error_at(at, format!("'{name}' has {count} results, but {named} are named")));
        }
        let mut next = 0;
        for &(name, count) in names {
            let first = self.body.result(op, next);
            self.scope.define(self.reader, &mut self.body, name, first, count, self.depth > 0)?;
            next += count as usize;
        }
        Ok(())
    }

    /// Reads the body of an isolated op from behind its opening brace, or puts it off; `brackets` were opened for it.
    pub fn isolated(
        &mut self,
        op: Op,
        def: &'static OpDef,
        body: Body,
        arguments: Vec<(&'a str, Value)>,
        brackets: usize,
    ) -> Read<()> {
        let start = self.reader.pos;
        let is_module = def.syntax == Syntax::Module;
        let level = match self.level {
            Level::File if is_module => Level::Module(brackets),
            _ => Level::Inner,
        };
        if level == Level::Inner
            && self.level != Level::Inner
            && let Some(end) = self.reader.unit.outline.region_end(start - 1)
        {
            self.jobs.push(Job { parent: self.parent, op, start, body, arguments, is_module });
            self.reader.pos = end + 1;
            return Ok(());
        }
        let mut inner = BodyReader::new(self.reader, body, level);
        inner.parent = Some(op);
        inner.define_arguments(&arguments)?;
        let (mut body, jobs) = inner.root()?;
        if is_module {
            ensure_block(&mut body);
        }
        self.jobs.extend(jobs);
        self.body.set_body(op, body);
        Ok(())
    }

    /// A function or module in custom form: its head is read, its body follows.
    fn symbol_op(&mut self, block: Block, name: &'static str, at: usize, head: Head<'a>) -> Read<()> {
        let Some(def) = self.reader.unit.ctx.op(name) else {
            return Err(self.reader.error_at(at, format!("operation '{name}' is not registered")));
        };
        let op = self.body.create(OpState { attrs: head.attrs, ..OpState::new(def, self.reader.source(at)) });
        self.body.append(block, op);
        if self.reader.peek() == b'{' {
            let mut body = Body::new();
            let root = body.root();
            let mut arguments = Vec::new();
            if def.syntax == Syntax::Func {
                let entry = body.add_block(root);
                for (name, ty, loc, at) in head.arguments {
                    let Some(name) = name else {
                        return Err(self
                            .reader
                            .error_at(at, "the arguments of a function with a body need names"));
                    };
                    arguments.push((name, body.add_argument(entry, ty, loc)));
                }
            }
            self.reader.pos += 1;
            self.isolated(op, def, body, arguments, 1)?;
        } else if def.syntax == Syntax::Module {
            return Err(self.reader.error_at(self.reader.pos, "expected '{' and the body of the module"));
        } else {
            self.body.set_body(op, Body::new());
        }
        // A rule does not skip the blanks before it.
        self.reader.peek();
        let tail = self.reader.take(Rule::location_tail)?;
        if let Some(location) = tail.into_inner().next() {
            self.body.op_mut(op).loc = self.reader.location(location)?;
        }
        Ok(())
    }
}

/// A module has a block even where nothing is in it.
pub(super) fn ensure_block(body: &mut Body) {
    if body.entry().is_none() {
        let root = body.root();
        body.add_block(root);
    }
}
