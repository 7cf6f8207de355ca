//! The state of reading one piece of a file.

use pest::iterators::Pair;
use rustc_hash::FxHashMap;

use super::Read;
use super::alias::Aliases;
use super::forms::CustomForms;
use super::grammar::{self, Rule};
use crate::attributes::AttrDict;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Sources, excerpt};
use crate::ident::Ident;
use crate::location::Loc;
use crate::nearest::nearest;
use crate::op_def::OpDef;
use crate::text::scanner::{self, Outline};
use crate::types::Type;

/// One file, shared by the readers of its pieces.
pub(super) struct Unit<'a> {
    pub ctx: &'a Context,
    pub file: u16,
    pub text: &'a str,
    pub outline: Outline,
    pub aliases: Aliases<'a>,
    /// Custom forms of dialects that are not registered.
    pub forms: Option<&'static CustomForms>,
}

impl<'a> Unit<'a> {
    /// Scans a file.
    pub fn new(ctx: &'a Context, sources: &'a Sources, file: u16) -> Read<Unit<'a>> {
        let source = sources
            .file(file)
            .ok_or_else(|| Diagnostic::error(Loc::Unknown, format!("there is no source file {file}")))?;
        let text: &'a str = &source.text;
        let outline = scanner::scan(text, file)?;
        let aliases = Aliases::new(text, &outline);
        Ok(Unit { ctx, file, text, outline, aliases, forms: None })
    }
}

/// Reads a piece of a file. Repeated spellings of types, attributes and names are looked up by their text.
pub(super) struct Reader<'a> {
    pub unit: &'a Unit<'a>,
    /// Where the next statement starts.
    pub pos: usize,
    /// Errors that do not stop the reader.
    pub errors: Vec<Diagnostic>,
    pub types: FxHashMap<&'a str, Type>,
    pub dicts: FxHashMap<&'a str, AttrDict>,
    pub locs: FxHashMap<&'a str, Loc>,
    pub names: FxHashMap<&'a str, (Ident, Option<&'static OpDef>)>,
    /// Aliases whose definition is being read.
    pub resolving: Vec<&'a str>,
    /// Size of the aliases used so far, written out.
    pub expansion: u64,
    /// Nesting of the aliases used so far.
    pub alias_depth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(unit: &'a Unit<'a>) -> Reader<'a> {
        Reader {
            unit,
            pos: 0,
            errors: Vec::new(),
            types: FxHashMap::default(),
            dicts: FxHashMap::default(),
            locs: FxHashMap::default(),
            names: FxHashMap::default(),
            resolving: Vec::new(),
            expansion: 0,
            alias_depth: 0,
        }
    }

    /// Parses a rule at a position of the file.
    pub fn parse(&self, rule: Rule, pos: usize) -> Read<Pair<'a, Rule>> {
        grammar::parse(rule, self.unit.text, pos, self.unit.file)
    }

    /// Parses a rule at the reader's position and moves beyond it.
    pub fn take(&mut self, rule: Rule) -> Read<Pair<'a, Rule>> {
        let pair = self.parse(rule, self.pos)?;
        self.pos = self.end_of(&pair);
        Ok(pair)
    }

    /// Where a match starts in the file.
    pub fn offset(&self, pair: &Pair<'a, Rule>) -> usize {
        self.offset_of(pair.as_str())
    }

    /// Where a slice of the file's text starts.
    pub fn offset_of(&self, slice: &'a str) -> usize {
        slice.as_ptr() as usize - self.unit.text.as_ptr() as usize
    }

    /// Where a match ends in the file. The grammar skips blanks before it finds that an optional part is missing.
    pub fn end_of(&self, pair: &Pair<'a, Rule>) -> usize {
        self.offset(pair) + pair.as_str().trim_end().len()
    }

    /// The location of a byte offset.
    pub fn source(&self, offset: usize) -> Loc {
        Loc::Source { file: self.unit.file, offset: offset as u32 }
    }

    /// An error at a match.
    pub fn error(&self, at: &Pair<'a, Rule>, message: impl Into<String>) -> Diagnostic {
        self.error_at(self.offset(at), message)
    }

    /// An error at a byte offset.
    pub fn error_at(&self, offset: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.source(offset), message)
    }

    /// Moves over blanks and comments; the next byte, or 0 at the end of the text.
    pub fn peek(&mut self) -> u8 {
        let bytes = self.unit.text.as_bytes();
        loop {
            match bytes.get(self.pos) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.pos += 1,
                Some(b'/') if bytes.get(self.pos + 1) == Some(&b'/') => {
                    let rest = &self.unit.text[self.pos..];
                    self.pos += rest.find('\n').unwrap_or(rest.len());
                }
                Some(&byte) => return byte,
                None => return 0,
            }
        }
    }

    /// Parses a rule behind the blanks at a position, for the error that it gives.
    pub fn parse_after_blanks(&mut self, rule: Rule, pos: usize) -> Read<()> {
        self.pos = pos;
        self.peek();
        self.parse(rule, self.pos).map(|_| ())
    }

    /// Moves over an expected byte.
    pub fn expect(&mut self, byte: u8) -> Read<()> {
        if self.peek() == byte {
            self.pos += 1;
            return Ok(());
        }
        Err(self.error_at(self.pos, format!("expected '{}'", char::from(byte))))
    }

    /// The op of that name; `generic` where it stands in quotes.
    pub fn op_name(
        &mut self,
        text: &'a str,
        generic: bool,
        at: usize,
    ) -> Read<(Ident, Option<&'static OpDef>)> {
        if let Some(&known) = self.names.get(text) {
            return Ok(known);
        }
        let full = match text {
            "return" if !generic => "func.return",
            "call" if !generic => "func.call",
            "module" if !generic => "builtin.module",
            _ => text,
        };
        let def = self.unit.ctx.op(full);
        if def.is_none() {
            self.check_unregistered(full, generic, at)?;
        }
        let found = (Ident::new(full), def);
        // A short name in quotes is not the op that it is short for.
        if !matches!(text, "return" | "call" | "module") {
            self.names.insert(text, found);
        }
        Ok(found)
    }

    fn check_unregistered(&self, name: &str, generic: bool, at: usize) -> Read<()> {
        let ctx = self.unit.ctx;
        let Some((dialect, _)) =
            name.split_once('.').filter(|(dialect, op)| !dialect.is_empty() && !op.is_empty())
        else {
            return Err(self.error_at(
                at,
                format!("'{}' is not an operation; names have the form dialect.op", excerpt(name)),
            ));
        };
        let shown = excerpt(name);
        if ctx.has_dialect(dialect) {
            let mut message = format!("dialect '{dialect}' has no operation '{shown}'");
            if let Some(near) = nearest(name, ctx.ops().iter().map(|def| def.name)) {
                message += &format!("; did you mean '{near}'?");
            }
            return Err(self.error_at(at, message));
        }
        if !generic {
            return Err(self.error_at(
                at,
                format!("operation '{shown}' is not registered; operations of unregistered dialects are read in generic form only, \"{shown}\"(...)"),
            ));
        }
        self.check_dialect(dialect, at)
    }

    /// Refuses things of unregistered dialects unless they are allowed.
    pub fn check_dialect(&self, dialect: &str, at: usize) -> Read<()> {
        if self.unit.ctx.allow_unregistered {
            return Ok(());
        }
        Err(self.error_at(
            at,
            format!(
                "dialect '{}' is not registered; --allow-unregistered-dialect keeps what it holds as it is",
                excerpt(dialect)
            ),
        ))
    }
}
