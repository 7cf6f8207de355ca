//! Files.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Read;
use super::alias;
use super::forms::CustomForms;
use super::op::ensure_block;
use super::reader::{Reader, Unit};
use super::region::{BodyReader, Job, Level};
use crate::body::Body;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::location::Loc;
use crate::module::{Blob, Module};
use crate::op_def::Syntax;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// Whether functions are read by several threads of the current rayon pool. The result is the same.
    pub parallel: bool,
    /// Custom forms of dialects that are not registered.
    pub forms: Option<&'static CustomForms>,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { parallel: true, forms: None }
    }
}

/// Reads a module from a file of `sources`. A file whose only op is a module is that module; otherwise its ops become
/// the ops of a module without name. Nothing but the syntax, and the definition and types of operands, is checked.
///
/// # Errors
/// What is wrong in the head of the file or, of each function, the first thing that is wrong; in the order of the text.
pub fn parse_module(
    ctx: &Context,
    sources: &Sources,
    file: u16,
    options: &ParseOptions,
) -> Result<Module, Diagnostics> {
    let stop = |error| Diagnostics(vec![error]);
    let mut unit = Unit::new(ctx, sources, file).map_err(stop)?;
    unit.forms = options.forms;
    alias::read_all(&unit).map_err(stop)?;
    let mut reader = Reader::new(&unit);
    let mut body = Body::new();
    ensure_block(&mut body);
    let mut top = BodyReader::new(&mut reader, body, Level::File);
    let mut resources = BTreeMap::new();
    let outcome = top.file(&mut resources);
    let (mut body, jobs) = top.finish();
    let mut errors = reader.errors;
    errors.extend(outcome.err());
    errors.extend(run(&unit, jobs, &mut body, options));
    if errors.is_empty() {
        return Ok(unwrap(body, resources, Loc::Source { file, offset: 0 }));
    }
    errors.sort_by_key(|error| match error.loc {
        Loc::Source { offset, .. } => offset,
        _ => 0,
    });
    Err(Diagnostics(errors))
}

impl<'a> BodyReader<'_, 'a> {
    /// Reads the ops and the resource sections of the file.
    fn file(&mut self, resources: &mut BTreeMap<String, Blob>) -> Read<()> {
        let unit = self.reader.unit;
        let Some(block) = self.body.entry() else { return Ok(()) };
        loop {
            let byte = self.reader.peek();
            let start = self.reader.pos;
            let outcome = match byte {
                0 if start == unit.text.len() => return Ok(()),
                b'!' | b'#' => match unit.aliases.end(unit.text, start) {
                    Some(end) => {
                        self.reader.pos = end;
                        Ok(())
                    }
                    None => Err(self.reader.error_at(start, "expected '=' and the definition of the alias")),
                },
                b'{' if unit.text[start..].starts_with("{-#") => self.reader.resources(resources),
                _ => self.statement(block),
            };
            if let Err(error) = outcome {
                self.recover(start, error)?;
            }
        }
    }
}

/// Reads the bodies that were put off, and gives them to their ops. The result is the errors.
fn run<'a>(unit: &Unit<'a>, jobs: Vec<Job<'a>>, body: &mut Body, options: &ParseOptions) -> Vec<Diagnostic> {
    let read = |job: Job<'a>| {
        let mut reader = Reader::new(unit);
        reader.pos = job.start;
        let (parent, op, is_module) = (job.parent, job.op, job.is_module);
        let mut inner = BodyReader::new(&mut reader, job.body, Level::Inner);
        let outcome = inner.define_arguments(&job.arguments).and_then(|()| inner.root());
        let mut errors = reader.errors;
        let body = match outcome {
            Ok((mut body, _)) => {
                if is_module {
                    ensure_block(&mut body);
                }
                Some(body)
            }
            Err(error) => {
                errors.push(error);
                None
            }
        };
        (parent, op, body, errors)
    };
    let done: Vec<_> = if options.parallel && jobs.len() > 1 {
        jobs.into_par_iter().map(read).collect()
    } else {
        jobs.into_iter().map(read).collect()
    };
    let mut all = Vec::new();
    for (parent, op, inner, errors) in done {
        all.extend(errors);
        let holder = match parent {
            Some(module) => body.body_mut(module),
            None => Some(&mut *body),
        };
        if let (Some(holder), Some(inner)) = (holder, inner) {
            holder.set_body(op, inner);
        }
    }
    all
}

/// The module that is all of the file, or a module around what is in the file.
fn unwrap(mut body: Body, resources: BTreeMap<String, Blob>, loc: Loc) -> Module {
    let only = body.entry().and_then(|block| {
        let first = body.first_op(block)?;
        let is_module = body.op(first).def.is_some_and(|def| def.syntax == Syntax::Module);
        (is_module && body.next(first).is_none()).then_some(first)
    });
    if let Some(op) = only
        && let Some(inner) = body.take_body(op)
    {
        let data = body.op_mut(op);
        let (attrs, loc) = (std::mem::take(&mut data.attrs), std::mem::take(&mut data.loc));
        return Module { attrs, loc, body: inner, resources: resources.into() };
    }
    Module { loc, body, resources: resources.into(), ..Module::default() }
}
