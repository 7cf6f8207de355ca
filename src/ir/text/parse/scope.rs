//! Names of SSA values while a body is read.

use rustc_hash::FxHashMap;

use super::Read;
use super::reader::Reader;
use crate::body::{Body, Op, Value};
use crate::diagnostics::excerpt;
use crate::types::Type;

/// Values by name, and uses that come before the definition.
#[derive(Default)]
pub(super) struct Scope<'a> {
    names: FxHashMap<&'a str, Named>,
    /// Names defined inside regions of ops, to be forgotten at the end of their region.
    inner: Vec<&'a str>,
    pending: FxHashMap<&'a str, Vec<Pending>>,
}

#[derive(Clone, Copy)]
struct Named {
    first: Value,
    count: u32,
    offset: u32,
}

/// A use of a value that is not defined yet.
struct Pending {
    number: u32,
    op: Op,
    operand: usize,
    ty: Type,
    offset: u32,
}

/// A use that could not be resolved yet, to be kept with [`Scope::defer`] once its op exists.
pub(super) struct Forward<'a> {
    operand: usize,
    text: &'a str,
    ty: Type,
}

/// `%name#number` in parts.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once('#') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    }
}

impl<'a> Scope<'a> {
    /// The number of names to forget down to with [`leave`](Self::leave).
    pub fn enter(&self) -> usize {
        self.inner.len()
    }

    /// Forgets the names of a region that is not the root.
    pub fn leave(&mut self, mark: usize) {
        for name in self.inner.drain(mark..) {
            self.names.remove(name);
        }
    }

    /// Defines `count` values that follow each other from `first`.
    pub fn define(
        &mut self,
        reader: &Reader<'a>,
        body: &mut Body,
        name: &'a str,
        first: Value,
        count: u32,
        in_region: bool,
    ) -> Read<()> {
        let offset = reader.offset_of(name);
        let named = Named { first, count, offset: offset as u32 };
        if let Some(old) = self.names.insert(name, named) {
            return Err(reader
                .error_at(offset, format!("value {} is defined twice", excerpt(name)))
                .note(reader.source(old.offset as usize), "first defined here"));
        }
        if in_region {
            self.inner.push(name);
        }
        if !self.pending.is_empty()
            && let Some(uses) = self.pending.remove(name)
        {
            for u in uses {
                let value = named.get(reader, name, u.number, u.offset as usize)?;
                check_type(reader, body, value, u.ty, name, u.offset as usize, named)?;
                body.set_operand(u.op, u.operand, value);
            }
        }
        Ok(())
    }

    /// The value of a use, of type `ty`; a stand-in when it is not defined yet.
    pub fn operand(
        &self,
        reader: &Reader<'a>,
        body: &Body,
        text: &'a str,
        ty: Type,
        operand: usize,
        forward: &mut Vec<Forward<'a>>,
    ) -> Read<Value> {
        let (name, number) = split(text);
        let at = reader.offset_of(text);
        let Some(&named) = self.names.get(name) else {
            forward.push(Forward { operand, text, ty });
            return Ok(Value::from_index(0));
        };
        let number = number.map_or(Ok(0), |n| reader.small(n))?;
        let value = named.get(reader, name, number, at)?;
        check_type(reader, body, value, ty, text, at, named)?;
        Ok(value)
    }

    /// Keeps uses of `op` until their values are defined.
    pub fn defer(&mut self, reader: &Reader<'a>, op: Op, forward: Vec<Forward<'a>>) -> Read<()> {
        for Forward { operand, text, ty } in forward {
            let (name, number) = split(text);
            let number = number.map_or(Ok(0), |n| reader.small(n))?;
            let offset = reader.offset_of(text) as u32;
            self.pending.entry(name).or_default().push(Pending { number, op, operand, ty, offset });
        }
        Ok(())
    }

    /// Reports the uses that were never defined.
    pub fn finish(self, reader: &mut Reader<'a>) {
        for (name, uses) in self.pending {
            for u in uses {
                let error =
                    reader.error_at(u.offset as usize, format!("value {} is not defined", excerpt(name)));
                reader.errors.push(error);
            }
        }
    }
}

impl Named {
    fn get(self, reader: &Reader<'_>, name: &str, number: u32, at: usize) -> Read<Value> {
        if number < self.count {
            return Ok(Value::from_index(self.first.index() + number as usize));
        }
        Err(reader
            .error_at(
                at,
                format!("{0} has {1} values, so there is no {0}#{number}", excerpt(name), self.count),
            )
            .note(reader.source(self.offset as usize), "defined here"))
    }
}

fn check_type(
    reader: &Reader<'_>,
    body: &Body,
    value: Value,
    ty: Type,
    name: &str,
    at: usize,
    named: Named,
) -> Read<()> {
    let defined = body.ty(value);
    if defined == ty {
        return Ok(());
    }
    Err(reader
        .error_at(
            at,
            format!("value {} has type {defined}, but type {ty} is written for this use", excerpt(name)),
        )
        .note(reader.source(named.offset as usize), "defined here"))
}
