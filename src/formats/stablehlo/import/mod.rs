//! StableHLO modules into modules of `ng` ops.

mod control;
mod dot;
mod elementwise;
mod fold;
mod graph;
mod index;
mod node;
mod pattern;
mod reduce;
mod scatter;
mod select;
mod shape;
mod sort;
mod window;

use ngc_ir::diagnostics::SourceFile;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Attr, AttrDict, Diagnostic, Diagnostics, Loc, LocKind, Module, Op, Severity, Sources};

use super::syntax::FORMS;
use crate::error::FormatError;
use graph::Graph;

/// A module, and what there is to say about it.
pub struct Imported {
    /// The public function, called `@main`; private ones are inlined.
    pub module: Module,
    /// Remarks: what was left out.
    pub remarks: Diagnostics,
}

/// Why a text is not read.
#[derive(Clone, Debug)]
pub struct ImportError {
    /// The places, and what is wrong or not supported there.
    pub diagnostics: Diagnostics,
    /// Whether the text may be right, but holds something that ngc does not have: tools exit with 3.
    pub unsupported: bool,
}

impl ImportError {
    /// What is wrong, without its place.
    fn bare(self) -> FormatError {
        let text = self.diagnostics.0.into_iter().next().map(|d| d.message).unwrap_or_default();
        if self.unsupported { FormatError::Unsupported(text) } else { FormatError::Invalid(text) }
    }

    fn at(loc: Loc, error: FormatError) -> ImportError {
        let unsupported = matches!(error, FormatError::Unsupported(_));
        ImportError { diagnostics: Diagnostics(vec![Diagnostic::error(loc, error.to_string())]), unsupported }
    }
}

type Imports<T> = std::result::Result<T, ImportError>;

/// Reads StableHLO text, as `jax.jit(f).lower(x).as_text()` or `mlir-opt` prints it.
///
/// - The public function (of several, `@main`) is read; what it calls is inlined. `while` loops are unrolled, so their trip counts must
///   be constant; a `case` or `if` whose index is not constant evaluates all branches and selects.
/// - A broadcast becomes an op only where the op after it does not broadcast by itself.
/// - Indices are clamped, or updates left out, as StableHLO says of indices outside of a dimension.
/// - Products and sums of formats narrower than f32 accumulate in f32, as XLA does.
/// - Locations (`loc(...)`, JAX's names and lines) stay; names of arguments become `ng.name`.
///
/// `file` is the place of the text in `sources`.
///
/// # Errors
/// The places of what is broken, or of the op, type or form that ngc does not have.
pub fn import(sources: &Sources, file: u16) -> Imports<Imported> {
    let mut context = ngc_dialects::context();
    context.allow_unregistered = true;
    let options = ParseOptions { forms: Some(&FORMS), ..ParseOptions::default() };
    let source = parse_module(&context, sources, file, &options).map_err(|diagnostics| {
        let text = sources.file(file);
        let unsupported = diagnostics.0.iter().all(|d| text.is_some_and(|text| is_unsupported(text, &d.loc)));
        ImportError { diagnostics, unsupported }
    })?;
    let located = |op: Op, error| ImportError::at(source.body.op(op).loc.clone(), error);
    if let Some(other) = source.ops().find(|&op| source.body.name(op) != "func.func") {
        let name = source.body.name(other);
        return Err(located(other, FormatError::Unsupported(format!("'{name}' at the top of a module"))));
    }
    let attr = |f: Op, name| source.body.attr(f, name).and_then(Attr::as_str);
    let is_public = |f: &Op| attr(*f, "sym_visibility").is_none_or(|v| v == "public");
    let public: Vec<Op> = source.functions().into_iter().filter(is_public).collect();
    let main = match public[..] {
        [only] => only,
        [] => {
            let error = FormatError::Invalid("the module has no public function with a body".into());
            return Err(ImportError::at(Loc::Source { file, offset: 0 }, error));
        }
        [_, second, ..] => match public.iter().find(|&&f| attr(f, "sym_name") == Some("main")) {
            Some(&main) => main,
            None => return Err(located(second, FormatError::Unsupported("a second public function".into()))),
        },
    };
    let mut remarks = Diagnostics::default();
    let mut module = function(Graph::new(&context, &source, &mut remarks), &source, main)?;
    module.loc = source.loc.clone();
    if let Some(name) = source.attrs.get("sym_name") {
        module.attrs.set("sym_name", name.clone());
    }
    Ok(Imported { module, remarks })
}

/// A module of the function, with what it calls inlined.
fn function(mut graph: Graph<'_>, source: &Module, op: Op) -> Imports<Module> {
    let place = source.body.op(op).loc.clone();
    let broken = |text: &str| ImportError::at(place.clone(), FormatError::Invalid(text.into()));
    let Some((body, block)) = source.body.body(op).and_then(|b| Some((b, b.entry()?))) else {
        return Err(broken("the function has no body"));
    };
    let (mut arguments, mut dicts) = (Vec::new(), Vec::new());
    for (n, &value) in body.arguments(block).iter().enumerate() {
        let (ty, loc) = (body.ty(value), body.argument_loc(block, n));
        if ty.as_tensor().is_none() {
            return Err(ImportError::at(loc, FormatError::Unsupported(format!("an argument of type {ty}"))));
        }
        dicts.push(named(name_of(&loc)));
        arguments.push(graph.emitted.argument(ty, loc));
    }
    let results = graph.function(op, &arguments)?;
    let Some(last) = body.last_op(block) else { return Err(broken("the function is empty")) };
    let mut exact = Vec::new();
    for (&value, &declared) in results.iter().zip(body.operands(last)) {
        let loc = &body.op(last).loc;
        exact.push(graph.exact(value, body.ty(declared), loc).map_err(|e| ImportError::at(loc.clone(), e))?);
    }
    let info = source.body.attr(op, "res_attrs").and_then(Attr::as_array).unwrap_or_default();
    let result = |n: usize| match info.get(n) {
        Some(Attr::Dict(dict)) => named(dict.get("jax.result_info").and_then(Attr::as_str)),
        _ => AttrDict::EMPTY,
    };
    let result_attrs = (0..exact.len()).map(result).collect();
    graph.emitted.finish(place.clone(), dicts, &exact, result_attrs).map_err(|e| ImportError::at(place, e))
}

fn named(name: Option<&str>) -> AttrDict {
    name.filter(|n| !n.is_empty()).map_or(AttrDict::EMPTY, |name| [("ng.name", Attr::from(name))].into())
}

fn name_of(loc: &Loc) -> Option<&str> {
    match loc {
        Loc::Explicit(kind) => match &**kind {
            LocKind::Name(name, _) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether what stands at an error is a type or an op that ngc does not have, rather than a mistake.
fn is_unsupported(text: &SourceFile, loc: &Loc) -> bool {
    let Loc::Source { offset, .. } = loc else { return false };
    let rest = text.text.get(*offset as usize..).unwrap_or_default();
    let word_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let word = &rest[..rest.find(word_end).unwrap_or(rest.len())];
    let is_number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let types = ["complex", "f8E", "f4E", "f6E", "tuple", "vector", "memref"];
    types.iter().any(|t| word.starts_with(t))
        || ["ui", "i", "si"].iter().any(|t| word.strip_prefix(t).is_some_and(is_number))
        || rest.starts_with('!')
        || word
            .split_once('.')
            .is_some_and(|(dialect, op)| !dialect.is_empty() && !op.is_empty() && !is_number(dialect))
            && !graph::is_known(word)
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.diagnostics.0.first().map_or("", |d| &d.message))
    }
}

impl std::error::Error for ImportError {}

fn remark(loc: Loc, text: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Remark, loc, text)
}
