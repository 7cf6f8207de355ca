//! Aliases: `!name = type`, `#name = attribute`. Locations may be used before their alias is defined, so all aliases
//! are known before anything else is read.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::Read;
use super::grammar::{self, Rule};
use super::reader::{Reader, Unit};
use crate::attributes::Attr;
use crate::diagnostics::excerpt;
use crate::text::scanner::Outline;

/// The deepest chain of aliases in aliases, and the largest size of one that is written out.
const MAX_DEPTH: usize = 256;
const MAX_EXPANSION: u64 = 1 << 20;

/// Definitions by name, with `!` or `#`.
pub(super) struct Aliases<'a>(FxHashMap<&'a str, Alias>);

struct Alias {
    offset: usize,
    /// Read at the first use.
    value: OnceLock<Resolved>,
}

#[derive(Clone)]
struct Resolved {
    attr: Attr,
    depth: usize,
    expansion: u64,
    /// Where the definition ends.
    end: usize,
}

impl<'a> Aliases<'a> {
    pub fn new(text: &'a str, outline: &Outline) -> Aliases<'a> {
        let mut map = FxHashMap::default();
        for &offset in &outline.aliases {
            let offset = offset as usize;
            map.entry(name_at(text, offset)).or_insert(Alias { offset, value: OnceLock::new() });
        }
        Aliases(map)
    }

    /// Where the definition that starts at `offset` ends, once it has been read.
    pub fn end(&self, text: &'a str, offset: usize) -> Option<usize> {
        let alias = self.0.get(name_at(text, offset)).filter(|alias| alias.offset == offset)?;
        alias.value.get().map(|resolved| resolved.end)
    }
}

fn name_at(text: &str, offset: usize) -> &str {
    let rest = &text[offset..];
    let end = rest[1..].find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')));
    &rest[..end.map_or(rest.len(), |e| e + 1)]
}

/// Reads all definitions, in the order of the text, up to the first error.
pub(super) fn read_all(unit: &Unit<'_>) -> Read<()> {
    for &offset in &unit.outline.aliases {
        let offset = offset as usize;
        let name = name_at(unit.text, offset);
        let mut reader = Reader::new(unit);
        if let Some(first) = unit.aliases.0.get(name).filter(|first| first.offset != offset) {
            let message = format!("alias '{}' is defined twice", excerpt(name));
            let error = reader.error_at(offset, message);
            return Err(error.note(reader.source(first.offset), "first defined here"));
        }
        if name.contains('.') {
            return Err(
                reader.error_at(offset, format!("the name of alias '{}' contains a dot", excerpt(name)))
            );
        }
        reader.alias(name, offset)?;
    }
    Ok(())
}

impl<'a> Reader<'a> {
    /// The value of the alias `name`, used at byte `at`. A type alias is a type attribute.
    pub fn alias(&mut self, name: &'a str, at: usize) -> Read<Attr> {
        let unit = self.unit;
        let Some(alias) = unit.aliases.0.get(name) else {
            return Err(self.error_at(at, format!("alias '{}' is not defined", excerpt(name))));
        };
        if alias.value.get().is_none() {
            let resolved = self.resolve(name, alias.offset, at)?;
            // Another thread may have been first, with the same value.
            let _ = alias.value.set(resolved);
        }
        let Some(resolved) = alias.value.get() else {
            return Err(self.error_at(at, format!("alias '{}' has no value", excerpt(name))));
        };
        self.alias_depth = self.alias_depth.max(resolved.depth);
        self.expansion = self.expansion.saturating_add(resolved.expansion);
        Ok(resolved.attr.clone())
    }

    fn resolve(&self, name: &'a str, offset: usize, at: usize) -> Read<Resolved> {
        if self.resolving.contains(&name) {
            return Err(self.error_at(at, format!("alias '{}' is defined by itself", excerpt(name))));
        }
        let too_deep = || self.error_at(at, format!("aliases are nested more than {MAX_DEPTH} levels deep"));
        // Each alias that is read on behalf of another takes stack.
        if self.resolving.len() >= MAX_DEPTH / 4 {
            return Err(too_deep());
        }
        let mut reader = Reader::new(self.unit);
        reader.resolving = self.resolving.clone();
        reader.resolving.push(name);
        let rule = if name.starts_with('!') { Rule::type_alias } else { Rule::attribute_alias };
        let pair = reader.parse(rule, offset)?;
        let size = pair.as_str().len() as u64;
        let end = reader.end_of(&pair);
        let mut inner = pair.into_inner();
        grammar::next(&mut inner)?;
        let value = grammar::next(&mut inner)?;
        let attr = match rule {
            Rule::type_alias => Attr::Type(reader.any_type(value)?),
            _ => reader.attribute(value)?,
        };
        let expansion = reader.expansion.saturating_add(size);
        let resolved = Resolved { attr, depth: reader.alias_depth + 1, expansion, end };
        if resolved.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if resolved.expansion > MAX_EXPANSION.max(size) {
            return Err(self.error_at(at, format!("alias '{}' is too large when written out", excerpt(name))));
        }
        Ok(resolved)
    }
}
