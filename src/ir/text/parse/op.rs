//! Operations.

use pest::iterators::Pair;
use smallvec::SmallVec;

use super::Read;
use super::function::Head;
use super::grammar::{self, Rule};
use super::region::{BodyReader, Job, Level};
use super::scope::Forward;
use crate::attributes::{Attr, AttrDict};
use crate::body::{Block, Body, Op, OpState, Successor, Value};
use crate::ident::Ident;
use crate::op_def::{OpDef, Syntax};
use crate::types::Type;

/// The names on the left of `=`, each with its number of values.
type ResultNames<'a> = SmallVec<[(&'a str, u32); 1]>;
type Types = SmallVec<[Type; 4]>;

impl<'r, 'a> BodyReader<'r, 'a> {
    /// Reads one operation and appends it to a block.
    pub fn statement(&mut self, block: Block) -> Read<()> {
        let mut inner = self.reader.take(Rule::statement)?.into_inner();
        let mut pair = grammar::next(&mut inner)?;
        let mut names = ResultNames::new();
        if pair.as_rule() == Rule::results {
            for name in pair.into_inner() {
                let at = self.reader.offset(&name);
                let mut parts = name.into_inner();
                let id = grammar::next(&mut parts)?.as_str();
                let count = parts.next().map_or(Ok(1), |n| self.reader.small(n.as_str()))?;
                if count == 0 {
                    return Err(self.reader.error_at(at, format!("{id} names no value")));
                }
                names.push((id, count));
            }
            pair = grammar::next(&mut inner)?;
        }
        match pair.as_rule() {
            Rule::generic_head => self.generic(block, &names, pair, inner.next())?,
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
            _ => self.custom(block, &names, pair)?,
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
    fn check_end(&mut self) -> Read<()> {
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

    /// `dialect.op ...` in custom form.
    fn custom(&mut self, block: Block, names: &ResultNames<'a>, pair: Pair<'a, Rule>) -> Read<()> {
        let at = self.reader.offset(&pair);
        let end = self.reader.end_of(&pair);
        let mut inner = pair.into_inner().peekable();
        let Some(name) = inner.next() else { return Ok(()) };
        let (name, def) = self.reader.op_name(name.as_str(), false, at)?;
        let Some(def) = def else {
            return Err(self
                .reader
                .error_at(at, format!("operation '{name}' is not registered; write it in generic form")));
        };
        let mut attrs = match inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            Some(dict) => self.reader.dictionary(dict)?,
            None => AttrDict::EMPTY,
        };
        let subject =
            inner.next_if(|p| matches!(p.as_rule(), Rule::value_list | Rule::callee | Rule::constant));
        if let Some(dict) = inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            if !attrs.is_empty() {
                return Err(self
                    .reader
                    .error(&dict, "the operation has attributes before its operands already"));
            }
            attrs = self.reader.dictionary(dict)?;
        }
        let signature = inner.next_if(|p| p.as_rule() == Rule::signature);
        let location = inner.next();

        let subject_rule = subject.as_ref().map(Pair::as_rule);
        let wanted = match def.syntax {
            Syntax::Uniform | Syntax::Return => Rule::value_list,
            Syntax::Constant => Rule::constant,
            Syntax::Call => Rule::callee,
            Syntax::Func => Rule::function_head,
            Syntax::Module => Rule::module_head,
        };
        if subject_rule.is_some_and(|rule| rule != wanted)
            || (subject_rule.is_none() && wanted != Rule::value_list)
        {
            // The grammar says what is missing.
            let start = if matches!(wanted, Rule::function_head | Rule::module_head) {
                at
            } else {
                at + written(name, def, self.reader.unit.text, at)
            };
            self.reader.parse_after_blanks(wanted, start)?;
            return Err(self.reader.error_at(at, format!("'{name}' has another form: {}", def.example)));
        }

        let operand_names = |pair: Pair<'a, Rule>| -> SmallVec<[&'a str; 4]> {
            pair.into_inner().map(|value| value.as_str()).collect()
        };
        let mut operands: SmallVec<[&'a str; 4]> = SmallVec::new();
        let mut constant = None;
        match subject {
            Some(pair) if wanted == Rule::value_list => operands = operand_names(pair),
            Some(pair) if wanted == Rule::callee => {
                let mut inner = pair.into_inner();
                let callee = self.reader.symbol(grammar::next(&mut inner)?.as_str())?;
                if attrs.get("callee").is_some() {
                    return Err(self.reader.error_at(at, "attribute 'callee' is given twice"));
                }
                attrs.set("callee", Attr::Symbol(callee.into()));
                operands = inner.next().map(operand_names).unwrap_or_default();
            }
            Some(pair) => constant = Some(grammar::next(&mut pair.into_inner())?),
            None => {}
        }
        let Some(signature) = signature else {
            if operands.is_empty() && names.is_empty() && constant.is_none() && def.syntax != Syntax::Call {
                let loc = self.reader.location_or(location, at)?;
                let state = self.state(name, Some(def), loc, attrs);
                return self.finish_op(block, names, state, &operands, &[], Vec::new());
            }
            self.reader.parse_after_blanks(Rule::signature, end)?;
            return Err(self.reader.error_at(end, "expected ':' and types"));
        };
        let types_at = self.reader.offset(&signature);
        let (inputs, outputs) = self.signature(signature, def, operands.len())?;
        if let Some(literal) = constant {
            let [ty] = outputs.as_slice() else {
                return Err(self.reader.error_at(types_at, format!("'{name}' has one type")));
            };
            if attrs.get("value").is_some() {
                return Err(self.reader.error_at(at, "attribute 'value' is given twice"));
            }
            attrs.set("value", self.constant(literal, *ty)?);
        }
        if inputs.len() != operands.len() {
            let message = format!(
                "'{name}' has {} operands, but {} operand types are written",
                operands.len(),
                inputs.len()
            );
            return Err(self.reader.error_at(types_at, message));
        }
        let loc = self.reader.location_or(location, at)?;
        let mut state = self.state(name, Some(def), loc, attrs);
        state.results = outputs.into_iter().collect();
        self.finish_op(block, names, state, &operands, &inputs, Vec::new())
    }

    fn state(&self, name: Ident, def: Option<&'static OpDef>, loc: crate::Loc, attrs: AttrDict) -> OpState {
        OpState { name, def, loc, attrs, operands: SmallVec::new(), results: SmallVec::new() }
    }

    /// Operand and result types of a custom form.
    fn signature(&mut self, pair: Pair<'a, Rule>, def: &OpDef, operands: usize) -> Read<(Types, Types)> {
        let end = self.reader.end_of(&pair);
        let mut inner = pair.into_inner();
        let first = self.types(grammar::next(&mut inner)?)?;
        if let Some(second) = inner.next() {
            return Ok((first, self.types(second)?));
        }
        match (def.syntax, first.as_slice()) {
            (Syntax::Return, _) => Ok((first, Types::new())),
            (Syntax::Uniform | Syntax::Constant, [one]) => Ok((SmallVec::from_elem(*one, operands), first)),
            _ => Err(self.reader.error_at(end, "expected '->' and the types of the results")),
        }
    }

    fn types(&mut self, pair: Pair<'a, Rule>) -> Read<Types> {
        let mut out = Types::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::type_list => out.extend(self.reader.type_list(inner)?),
                _ => out.push(self.reader.value_type(inner.as_str())?),
            }
        }
        Ok(out)
    }

    fn constant(&mut self, literal: Pair<'a, Rule>, ty: Type) -> Read<Attr> {
        let at = self.reader.offset(&literal);
        match literal.as_rule() {
            Rule::boolean if ty == Type::int(1) => Ok(Attr::Bool(literal.as_str() == "true")),
            Rule::boolean => {
                Err(self.reader.error_at(at, format!("'{}' is no value of type {ty}", literal.as_str())))
            }
            Rule::number => self.reader.typed_number(literal.as_str(), ty),
            Rule::resource_literal => self.reader.resource(literal, ty),
            _ => self.reader.dense(literal, ty),
        }
    }

    /// `"dialect.op"(...)`, with its tail where there are no regions.
    fn generic(
        &mut self,
        block: Block,
        names: &ResultNames<'a>,
        head: Pair<'a, Rule>,
        tail: Option<Pair<'a, Rule>>,
    ) -> Read<()> {
        let at = self.reader.offset(&head);
        let mut inner = head.into_inner();
        let literal = grammar::next(&mut inner)?.as_str();
        if literal.contains('\\') {
            return Err(self.reader.error_at(at, "the name of an operation has no escapes"));
        }
        let (name, def) = self.reader.op_name(&literal[1..literal.len() - 1], true, at)?;
        let mut operands: SmallVec<[&'a str; 4]> = SmallVec::new();
        let mut successors = Vec::new();
        let mut properties = AttrDict::EMPTY;
        for part in inner {
            match part.as_rule() {
                Rule::value_list => operands = part.into_inner().map(|value| value.as_str()).collect(),
                Rule::successors => {
                    let region = self.body.block_region(block);
                    for target in part.into_inner() {
                        let block = self.block(region, target.as_str());
                        successors.push(Successor { block, operands: Vec::new() });
                    }
                }
                _ => properties = self.reader.dictionary(grammar::next(&mut part.into_inner())?)?,
            }
        }
        if tail.is_none() && self.reader.peek() != b'(' {
            // Without regions: the grammar says what the tail lacks.
            self.reader.parse(Rule::generic_tail, self.reader.pos)?;
        }
        let with_regions = match tail {
            Some(_) => None,
            None => {
                let state = self.state(name, def, self.reader.source(at), AttrDict::EMPTY);
                let op = self.body.create(state);
                self.regions(op, def, at)?;
                Some(op)
            }
        };
        let tail = match tail {
            Some(tail) => tail,
            None => grammar::next(&mut self.reader.take(Rule::region_tail)?.into_inner())?,
        };
        let mut attrs = AttrDict::EMPTY;
        let mut inner = tail.into_inner().peekable();
        if let Some(dict) = inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            attrs = self.reader.dictionary(dict)?;
        }
        let Some(function) = inner.next() else { return Ok(()) };
        let types_at = self.reader.offset(&function);
        let mut lists = function.into_inner();
        let inputs: Types = self.reader.type_list(grammar::next(&mut lists)?)?.into();
        let outputs: Types = self.reader.type_list(grammar::next(&mut lists)?)?.into();
        let loc = self.reader.location_or(inner.next(), at)?;
        if inputs.len() != operands.len() {
            let message = format!(
                "'{name}' has {} operands, but {} operand types are written",
                operands.len(),
                inputs.len()
            );
            return Err(self.reader.error_at(types_at, message));
        }
        if def.is_some() {
            // Registered ops keep inherent and other attributes together.
            for (key, value) in properties.iter() {
                if attrs.get(key.as_str()).is_some() {
                    return Err(self.reader.error_at(at, format!("attribute '{key}' is given twice")));
                }
                attrs.set(*key, value.clone());
            }
            properties = AttrDict::EMPTY;
        }
        let mut state = self.state(name, def, loc, attrs);
        state.results = outputs.into_iter().collect();
        let op = match with_regions {
            None => return self.finish_with(block, names, state, &operands, &inputs, successors, properties),
            Some(op) => op,
        };
        let data = self.body.op_mut(op);
        (data.loc, data.attrs) = (state.loc, state.attrs);
        let mut forward = Vec::new();
        let values = self.operands(&operands, &inputs, &mut forward)?;
        self.body.set_operands(op, &values);
        self.body.set_results(op, &state.results);
        self.place(block, op, names, forward, successors, properties)
    }

    fn operands(
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

    fn finish_op(
        &mut self,
        block: Block,
        names: &ResultNames<'a>,
        state: OpState,
        operands: &[&'a str],
        types: &[Type],
        successors: Vec<Successor>,
    ) -> Read<()> {
        self.finish_with(block, names, state, operands, types, successors, AttrDict::EMPTY)
    }

    #[allow(clippy::too_many_arguments)]
    fn finish_with(
        &mut self,
        block: Block,
        names: &ResultNames<'a>,
        mut state: OpState,
        operands: &[&'a str],
        types: &[Type],
        successors: Vec<Successor>,
        properties: AttrDict,
    ) -> Read<()> {
        let mut forward = Vec::new();
        state.operands = self.operands(operands, types, &mut forward)?;
        let op = self.body.create(state);
        self.place(block, op, names, forward, successors, properties)
    }

    fn place(
        &mut self,
        block: Block,
        op: Op,
        names: &ResultNames<'a>,
        forward: Vec<Forward<'a>>,
        successors: Vec<Successor>,
        properties: AttrDict,
    ) -> Read<()> {
        if !forward.is_empty() {
            self.scope.defer(self.reader, op, forward)?;
        }
        if !successors.is_empty() {
            self.body.set_successors(op, successors);
        }
        if !properties.is_empty() {
            self.body.set_properties(op, properties);
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

    /// `({ ... }, { ... }`, up to the closing parenthesis.
    fn regions(&mut self, op: Op, def: Option<&'static OpDef>, at: usize) -> Read<()> {
        self.reader.expect(b'(')?;
        let isolated = def.filter(|def| def.traits.isolated);
        let mut count = 0;
        loop {
            self.reader.expect(b'{')?;
            count += 1;
            match isolated {
                Some(def) if count > 1 => {
                    return Err(self.reader.error_at(at, format!("'{}' has one region", def.name)));
                }
                Some(def) => self.isolated(op, def, Body::new(), Vec::new(), 2)?,
                None => {
                    let region = self.body.add_region(op);
                    self.depth += 1;
                    self.region(region)?;
                    self.depth -= 1;
                }
            }
            if self.reader.peek() != b',' {
                return Ok(());
            }
            self.reader.pos += 1;
        }
    }

    /// Reads the body of an isolated op from behind its opening brace, or puts it off; `brackets` were opened for it.
    fn isolated(
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
        let state = self.state(Ident::new(name), Some(def), self.reader.source(at), head.attrs);
        let op = self.body.create(state);
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

/// The length of the op's name as it is written at `at`.
fn written(name: Ident, def: &OpDef, text: &str, at: usize) -> usize {
    if text[at..].starts_with(name.as_str()) { name.as_str().len() } else { def.short_name().len() }
}
