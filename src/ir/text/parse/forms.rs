//! Custom forms of ops of dialects that are not registered, read by whoever knows them (MLIR's `OpAsmParser`).

use smallvec::SmallVec;

use super::Read;
use super::grammar::{self, Rule};
use super::op::{Operation, ResultNames, Types};
use super::region::BodyReader;
use crate::attributes::{Attr, AttrDict};
use crate::body::{Block, Op, OpState};
use crate::diagnostics::Diagnostic;
use crate::ident::Ident;
use crate::location::Loc;
use crate::types::Type;

/// The custom forms of some dialects, which are not registered: their ops become unregistered ops, as if they were
/// written in generic form.
#[derive(Clone, Copy)]
pub struct CustomForms {
    /// The dialects.
    pub dialects: &'static [&'static str],
    /// Reads an op of that name from behind its name up to its location: operands, attributes, regions and types.
    pub read: fn(&str, &mut OpParser<'_, '_, '_>) -> Result<(), Diagnostic>,
}

/// The text of an operation behind its name, and what has been read of it.
pub struct OpParser<'p, 'r, 'a> {
    body: &'p mut BodyReader<'r, 'a>,
    at: usize,
    name: Ident,
    /// The op, made early if it has regions.
    op: Option<Op>,
    operands: SmallVec<[&'a str; 4]>,
    properties: AttrDict,
    attrs: AttrDict,
    inputs: Types,
    outputs: Types,
}

impl<'r, 'a> BodyReader<'r, 'a> {
    /// Reads an operation in a custom form of a dialect that is not registered; `false` leaves everything as it is.
    pub fn foreign_statement(&mut self, block: Block, forms: &CustomForms) -> Read<bool> {
        self.reader.peek();
        let start = self.reader.pos;
        let named = self.reader.unit.text.as_bytes().get(start) == Some(&b'%');
        let results = match named.then(|| self.reader.take(Rule::results)) {
            Some(Ok(pair)) => Some(pair),
            Some(Err(_)) => return Ok(false),
            None => None,
        };
        self.reader.peek();
        let at = self.reader.pos;
        let name = word_at(self.reader.unit.text, at);
        if !name.split_once('.').is_some_and(|(dialect, _)| forms.dialects.contains(&dialect)) {
            self.reader.pos = start;
            return Ok(false);
        }
        let mut names = ResultNames::new();
        for pair in results.into_iter().flat_map(|pair| pair.into_inner()) {
            names.push(self.result_name(pair)?);
        }
        self.reader.pos = at + name.len();
        let mut parser = OpParser {
            body: self,
            at,
            name: Ident::new(name),
            op: None,
            operands: SmallVec::new(),
            properties: AttrDict::EMPTY,
            attrs: AttrDict::EMPTY,
            inputs: Types::new(),
            outputs: Types::new(),
        };
        (forms.read)(name, &mut parser)?;
        parser.finish(block, names)?;
        self.check_end()?;
        Ok(true)
    }
}

fn word_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.')));
    &rest[..end.unwrap_or(rest.len())]
}

impl<'a> OpParser<'_, '_, 'a> {
    /// An error at the next symbol.
    pub fn error(&mut self, message: impl Into<String>) -> Diagnostic {
        self.body.reader.peek();
        self.body.reader.error_at(self.body.reader.pos, message)
    }

    /// An error at the name of the op.
    pub fn error_at_name(&self, message: impl Into<String>) -> Diagnostic {
        self.body.reader.error_at(self.at, message)
    }

    /// Whether the text goes on with `token`.
    pub fn at(&mut self, token: &str) -> bool {
        self.body.reader.peek();
        let rest = &self.body.reader.unit.text[self.body.reader.pos..];
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
        rest.strip_prefix(token).is_some_and(|after| !(token.ends_with(word) && after.starts_with(word)))
    }

    /// Moves over `token` if the text goes on with it.
    pub fn eat(&mut self, token: &str) -> bool {
        let found = self.at(token);
        if found {
            self.body.reader.pos += token.len();
        }
        found
    }

    /// Moves over `token`.
    ///
    /// # Errors
    /// When the text goes on otherwise.
    pub fn expect(&mut self, token: &str) -> Result<(), Diagnostic> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("expected '{token}'"))) }
    }

    /// A word: letters, digits, `_`, `$` and `.`.
    ///
    /// # Errors
    /// When there is none.
    pub fn word(&mut self) -> Result<&'a str, Diagnostic> {
        self.body.reader.peek();
        let word = word_at(self.body.reader.unit.text, self.body.reader.pos);
        if word.is_empty() {
            return Err(self.error("expected a word"));
        }
        self.body.reader.pos += word.len();
        Ok(word)
    }

    /// The inside of a pair of brackets, as it is written.
    ///
    /// # Errors
    /// When `open` does not come next.
    pub fn bracketed(&mut self, open: char, close: char) -> Result<&'a str, Diagnostic> {
        let mut buffer = [0; 4];
        self.expect(open.encode_utf8(&mut buffer))?;
        let start = self.body.reader.pos;
        let rest = &self.body.reader.unit.text[start..];
        let mut depth = 1usize;
        let end = rest.char_indices().find(|&(_, c)| {
            depth = if c == open { depth + 1 } else { depth - usize::from(c == close) };
            depth == 0
        });
        let Some((length, _)) = end else { return Err(self.error(format!("expected '{close}'"))) };
        self.body.reader.pos = start + length + close.len_utf8();
        Ok(&rest[..length])
    }

    /// Operands, separated by commas, as far as they go.
    ///
    /// # Errors
    /// When a name is broken.
    pub fn operands(&mut self) -> Result<(), Diagnostic> {
        while self.at("%") {
            self.operand()?;
            let before = self.body.reader.pos;
            if !(self.eat(",") && self.at("%")) {
                self.body.reader.pos = before;
                break;
            }
        }
        Ok(())
    }

    /// One operand.
    ///
    /// # Errors
    /// When there is none.
    pub fn operand(&mut self) -> Result<(), Diagnostic> {
        let text = self.delayed_operand()?;
        self.push_operand(text);
        Ok(())
    }

    /// One operand, to be given to [`push_operand`](Self::push_operand) where the order in the text is not that of the op.
    ///
    /// # Errors
    /// When there is none.
    pub fn delayed_operand(&mut self) -> Result<&'a str, Diagnostic> {
        self.body.reader.peek();
        Ok(self.body.reader.take(Rule::value_use)?.as_str())
    }

    /// Adds an operand.
    pub fn push_operand(&mut self, text: &'a str) {
        self.operands.push(text);
    }

    /// How many operands there are so far.
    pub fn num_operands(&self) -> usize {
        self.operands.len()
    }

    /// The name of a value that is defined here.
    ///
    /// # Errors
    /// When there is none.
    pub fn value_name(&mut self) -> Result<&'a str, Diagnostic> {
        self.body.reader.peek();
        Ok(self.body.reader.take(Rule::value_id)?.as_str())
    }

    /// An attribute.
    ///
    /// # Errors
    /// When there is none.
    pub fn attribute(&mut self) -> Result<Attr, Diagnostic> {
        self.body.reader.peek();
        let pair = self.body.reader.take(Rule::attribute)?;
        self.body.reader.attribute(pair)
    }

    /// A dictionary, if one comes next.
    ///
    /// # Errors
    /// When it is broken.
    pub fn dictionary(&mut self) -> Result<Option<AttrDict>, Diagnostic> {
        if !self.at("{") {
            return Ok(None);
        }
        let pair = self.body.reader.take(Rule::dictionary)?;
        self.body.reader.dictionary(pair).map(Some)
    }

    /// A type.
    ///
    /// # Errors
    /// When there is none.
    pub fn ty(&mut self) -> Result<Type, Diagnostic> {
        self.body.reader.peek();
        let rule = if self.at("(") { Rule::function_type } else { Rule::value_type };
        let pair = self.body.reader.take(rule)?;
        self.body.reader.any_type(pair)
    }

    /// Types in parentheses, or one without.
    ///
    /// # Errors
    /// When there are none.
    pub fn types(&mut self) -> Result<Vec<Type>, Diagnostic> {
        if !self.at("(") {
            return Ok(vec![self.ty()?]);
        }
        let pair = self.body.reader.take(Rule::type_list)?;
        self.body.reader.type_list(pair)
    }

    /// A region in braces, whose entry block has these arguments.
    ///
    /// # Errors
    /// The first one in it.
    pub fn region(&mut self, arguments: &[(&'a str, Type)]) -> Result<(), Diagnostic> {
        self.expect("{")?;
        let at = self.at;
        let body = &mut *self.body;
        let op = *self.op.get_or_insert_with(|| {
            body.body.create(OpState {
                name: self.name,
                def: None,
                loc: Loc::Unknown,
                operands: SmallVec::new(),
                results: SmallVec::new(),
                attrs: AttrDict::EMPTY,
            })
        });
        let region = body.body.add_region(op);
        let block = body.body.add_block(region);
        let mark = body.scope.enter();
        for &(name, ty) in arguments {
            let loc = body.reader.source(at);
            let value = body.body.add_argument(block, ty, loc);
            body.scope.define(body.reader, &mut body.body, name, value, 1, true)?;
        }
        body.depth += 1;
        body.region(region)?;
        body.depth -= 1;
        body.scope.leave(mark);
        Ok(())
    }

    /// Sets a property (`<{ }>` of the generic form).
    pub fn property(&mut self, name: &str, value: impl Into<Attr>) {
        self.properties.set(name, value);
    }

    /// Adds attributes (`{ }` of the generic form).
    pub fn attributes(&mut self, attrs: &AttrDict) {
        attrs.iter().for_each(|(name, value)| self.attrs.set(*name, value.clone()));
    }

    /// Sets the types of operands and results.
    ///
    /// # Errors
    /// When there are not as many types as operands.
    pub fn signature(&mut self, inputs: &[Type], outputs: &[Type]) -> Result<(), Diagnostic> {
        if inputs.len() != self.operands.len() {
            let (name, found) = (self.name, self.operands.len());
            let message =
                format!("'{name}' has {found} operands, but {} operand types are written", inputs.len());
            return Err(self.error_at_name(message));
        }
        (self.inputs, self.outputs) = (inputs.into(), outputs.into());
        Ok(())
    }

    fn finish(self, block: Block, names: ResultNames<'a>) -> Read<()> {
        let OpParser { body, at, name, op, operands, properties, attrs, inputs, outputs } = self;
        body.reader.peek();
        let has_location = body.reader.unit.text[body.reader.pos..].starts_with("loc(");
        let pair = has_location.then(|| body.reader.take(Rule::location)).transpose()?;
        let loc = body.reader.location_or(pair, at)?;
        let op = match op {
            None => {
                let def = None;
                body.finish_op(block, Operation { names, name, def, loc, attrs, operands, inputs, outputs })?
            }
            Some(op) => {
                let data = body.body.op_mut(op);
                (data.loc, data.attrs) = (loc, attrs);
                body.finish_regions(block, op, &names, &operands, &inputs, &outputs)?;
                op
            }
        };
        if !properties.is_empty() {
            body.body.set_properties(op, properties);
        }
        Ok(())
    }
}

impl<'r, 'a> BodyReader<'r, 'a> {
    /// Gives an op that was made for its regions its operands and results, and places it.
    pub fn finish_regions(
        &mut self,
        block: Block,
        op: Op,
        names: &ResultNames<'a>,
        operands: &[&'a str],
        inputs: &[Type],
        outputs: &[Type],
    ) -> Read<()> {
        let mut forward = Vec::new();
        let values = self.operands(operands, inputs, &mut forward)?;
        self.body.set_operands(op, &values);
        self.body.set_results(op, outputs);
        self.place(block, op, names, forward)
    }

    /// A name on the left of `=`, with its number of values.
    pub fn result_name(&mut self, pair: pest::iterators::Pair<'a, Rule>) -> Read<(&'a str, u32)> {
        let at = self.reader.offset(&pair);
        let mut parts = pair.into_inner();
        let id = grammar::next(&mut parts)?.as_str();
        let count = parts.next().map_or(Ok(1), |n| self.reader.small(n.as_str()))?;
        if count == 0 {
            return Err(self.reader.error_at(at, format!("{id} names no value")));
        }
        Ok((id, count))
    }
}

impl std::fmt::Debug for CustomForms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.dialects).finish()
    }
}
