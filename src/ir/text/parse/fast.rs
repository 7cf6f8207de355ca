//! A short cut for the operations that make up large files: one result or none, operands, types and attributes that
//! were read before, nothing else.
//!
//! The grammar decides what the language is. This reader knows a small part of it, looks at the bytes directly, and
//! leaves everything that is new, rare or wrong to the grammar: it gives up before it has changed anything. Tests read
//! each file with and without it.

use smallvec::SmallVec;

use super::Read;
use super::op::{Operation, ResultNames, Types};
use super::reader::Reader;
use super::region::BodyReader;
use crate::attributes::AttrDict;
use crate::body::Block;
use crate::op_def::Syntax;
use crate::types::Type;

impl<'a> BodyReader<'_, 'a> {
    /// Reads the operation at the reader's position if it is a simple one; `false` leaves the position where it is.
    pub fn simple_statement(&mut self, block: Block) -> Read<bool> {
        let start = self.reader.pos;
        match Cursor::new(self.reader).operation() {
            Some((operation, end)) => {
                self.reader.pos = end;
                self.finish_op(block, operation)?;
                Ok(true)
            }
            None => {
                self.reader.pos = start;
                Ok(false)
            }
        }
    }
}

struct Cursor<'r, 'a> {
    reader: &'r Reader<'a>,
    text: &'a str,
    pos: usize,
}

fn is_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-')
}

impl<'r, 'a> Cursor<'r, 'a> {
    fn new(reader: &'r Reader<'a>) -> Cursor<'r, 'a> {
        Cursor { reader, text: reader.unit.text, pos: reader.pos }
    }

    fn operation(&mut self) -> Option<(Operation<'a>, usize)> {
        let mut names = ResultNames::new();
        if self.byte() == b'%' {
            names.push((self.name()?, 1));
            self.blanks();
            self.eat(b'=')?;
            self.blanks();
        }
        let at = self.pos;
        let generic = self.byte() == b'"';
        let name = if generic { self.quoted()? } else { self.while_(|b| is_id(b) && b != b'-') };
        let &(name, def) = self.reader.names.get(name)?;
        let mut operation = Operation {
            names,
            name,
            def,
            loc: self.reader.source(at),
            attrs: AttrDict::EMPTY,
            operands: SmallVec::new(),
            inputs: Types::new(),
            outputs: Types::new(),
        };
        self.blanks();
        if generic {
            self.eat(b'(')?;
            self.values(&mut operation)?;
            self.eat(b')')?;
            self.blanks();
            operation.attrs = self.dictionary()?;
            self.eat(b':')?;
            self.blanks();
            self.type_list(&mut operation.inputs)?;
            self.arrow()?;
            match self.byte() {
                b'(' => self.type_list(&mut operation.outputs)?,
                _ => operation.outputs.push(self.ty()?),
            }
        } else {
            let syntax = def?.syntax;
            if !matches!(syntax, Syntax::Uniform | Syntax::Return | Syntax::Yield) {
                return None;
            }
            self.values(&mut operation)?;
            operation.attrs = self.dictionary()?;
            self.eat(b':')?;
            self.blanks();
            self.types(&mut operation.inputs)?;
            let end = self.pos;
            self.blanks();
            match self.byte() {
                b'-' => {
                    self.arrow()?;
                    self.types(&mut operation.outputs)?;
                }
                _ if syntax != Syntax::Uniform => {}
                _ => {
                    let &[one] = operation.inputs.as_slice() else { return None };
                    operation.inputs = SmallVec::from_elem(one, operation.operands.len());
                    operation.outputs.push(one);
                    self.pos = end;
                }
            }
        }
        if operation.inputs.len() != operation.operands.len() {
            return None;
        }
        let end = self.pos;
        self.blanks();
        // Only what begins the next statement may follow, and no location.
        let ends = match self.byte() {
            b'%' | b'"' | b'}' | b'^' => true,
            b'l' => false,
            byte => byte.is_ascii_alphabetic(),
        };
        ends.then_some((operation, end))
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.pos).copied().unwrap_or(0)
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.byte() == byte).then(|| self.pos += 1)
    }

    /// Moves over blanks; comments are for the grammar.
    fn blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\n' | b'\t' | b'\r') {
            self.pos += 1;
        }
    }

    fn while_(&mut self, admit: impl Fn(u8) -> bool) -> &'a str {
        let start = self.pos;
        while admit(self.byte()) {
            self.pos += 1;
        }
        &self.text[start..self.pos]
    }

    /// `%name`.
    fn name(&mut self) -> Option<&'a str> {
        let start = self.pos;
        self.eat(b'%')?;
        let suffix = self.while_(is_id);
        let first = *suffix.as_bytes().first()?;
        let fine = !first.is_ascii_digit() || suffix.bytes().all(|b| b.is_ascii_digit());
        fine.then(|| &self.text[start..self.pos])
    }

    fn quoted(&mut self) -> Option<&'a str> {
        self.eat(b'"')?;
        let name = self.while_(is_id);
        self.eat(b'"')?;
        Some(name)
    }

    /// Operands, to the next byte behind them.
    fn values(&mut self, operation: &mut Operation<'a>) -> Option<()> {
        while self.byte() == b'%' {
            let start = self.pos;
            self.name()?;
            if self.byte() == b'#' {
                self.pos += 1;
                let digits = self.while_(|b| b.is_ascii_digit());
                if digits.is_empty() {
                    return None;
                }
            }
            operation.operands.push(&self.text[start..self.pos]);
            self.blanks();
            if self.byte() != b',' {
                return Some(());
            }
            self.pos += 1;
            self.blanks();
            if self.byte() != b'%' {
                return None;
            }
        }
        Some(())
    }

    /// A dictionary that was read before, or none.
    fn dictionary(&mut self) -> Option<AttrDict> {
        if self.byte() != b'{' {
            return Some(AttrDict::EMPTY);
        }
        let start = self.pos;
        let mut depth = 0;
        loop {
            match self.byte() {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'"' | b'/' | 0 => return None,
                _ => {}
            }
            self.pos += 1;
            if depth == 0 {
                break;
            }
        }
        let known = self.reader.dicts.get(&self.text[start..self.pos])?.clone();
        self.blanks();
        Some(known)
    }

    fn arrow(&mut self) -> Option<()> {
        self.blanks();
        self.eat(b'-')?;
        self.eat(b'>')?;
        self.blanks();
        Some(())
    }

    /// A type that was read before.
    fn ty(&mut self) -> Option<Type> {
        let start = self.pos;
        self.eat(b'!');
        self.while_(|b| is_id(b) && b != b'-');
        if self.byte() == b'<' {
            self.while_(|b| b.is_ascii_alphanumeric() || matches!(b, b'<' | b'?'));
            self.eat(b'>')?;
        }
        self.reader.types.get(&self.text[start..self.pos]).copied()
    }

    fn types(&mut self, into: &mut Types) -> Option<()> {
        loop {
            into.push(self.ty()?);
            let end = self.pos;
            self.blanks();
            if self.byte() != b',' {
                self.pos = end;
                return Some(());
            }
            self.pos += 1;
            self.blanks();
        }
    }

    /// `(types)`.
    fn type_list(&mut self, into: &mut Types) -> Option<()> {
        self.eat(b'(')?;
        self.blanks();
        if self.byte() != b')' {
            self.types(into)?;
            self.blanks();
        }
        self.eat(b')')
    }
}
