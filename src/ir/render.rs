//! Draws diagnostics: the source line, a caret under the place, notes.

use std::fmt::Write;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};

use crate::diagnostics::{Diagnostic, Severity, SourceFile, Sources};
use crate::location::{Loc, LocKind};

/// How diagnostics are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RenderOptions {
    /// ANSI colours, for terminals.
    pub color: bool,
}

/// Draws one diagnostic with its notes. A place within a loaded source is shown with its line; any other as
/// `file:line:col: error: ...`.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, options: RenderOptions) -> String {
    let mut out = String::new();
    let drawn = place(&diagnostic.loc, sources);
    if drawn.is_none() {
        plain(&mut out, diagnostic.severity, &diagnostic.loc, &diagnostic.message, sources);
    }
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Remark => Level::INFO.with_name("remark"),
        Severity::Note => Level::NOTE,
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    if let Some(place) = &drawn {
        groups.push(
            level.primary_title(diagnostic.message.as_str()).element(place.snippet(AnnotationKind::Primary)),
        );
    }
    let mut after = String::new();
    for (loc, message) in notes(diagnostic) {
        match place(&loc, sources) {
            Some(place) => {
                let element: Element<'_> = place.snippet(AnnotationKind::Context).into();
                groups.push(Level::NOTE.secondary_title(message).element(element));
            }
            None => plain(&mut after, Severity::Note, &loc, &message, sources),
        }
    }
    if !groups.is_empty() {
        let renderer = if options.color { Renderer::styled() } else { Renderer::plain() };
        out.push_str(&renderer.render(&groups));
        out.push('\n');
    }
    out.push_str(&after);
    out
}

/// The notes of a diagnostic, with one for the call site of an inlined op.
fn notes(diagnostic: &Diagnostic) -> Vec<(Loc, String)> {
    let mut notes = diagnostic.notes.clone();
    if let Loc::Explicit(kind) = &diagnostic.loc
        && let LocKind::CallSite(_, caller) = &**kind
    {
        notes.push((caller.clone(), "called from here".into()));
    }
    notes
}

fn plain(out: &mut String, severity: Severity, loc: &Loc, message: &str, sources: &Sources) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}{}: {message}", sources.prefix(loc), severity.name());
}

/// A place in a loaded source.
struct Place<'a> {
    file: &'a SourceFile,
    line: usize,
    text: &'a str,
    /// Byte range within `text`.
    span: std::ops::Range<usize>,
}

impl<'a> Place<'a> {
    fn snippet(&self, kind: AnnotationKind) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.text)
            .path(self.file.name.as_str())
            .line_start(self.line)
            .annotation(kind.span(self.span.clone()))
    }
}

/// The place of a location, if its source is loaded: a byte offset, or file, line and column of a loaded file.
fn place<'a>(loc: &Loc, sources: &'a Sources) -> Option<Place<'a>> {
    match loc {
        Loc::Unknown => None,
        Loc::Source { file, offset } => {
            let file = sources.file(*file)?;
            let at = (*offset as usize).min(file.text.len());
            let start = file.text.get(..at)?.rfind('\n').map_or(0, |i| i + 1);
            let end = file.text[at..].find('\n').map_or(file.text.len(), |i| at + i);
            let text = file.text[start..end].trim_end_matches('\r');
            let span = (at - start).min(text.len());
            let line = file.line_col(*offset).line as usize;
            Some(Place { file, line, text, span: span..span + token_len(&text[span..]) })
        }
        Loc::Explicit(kind) => match &**kind {
            LocKind::FileLineCol { .. } => None,
            LocKind::Name(_, child) => place(child, sources),
            LocKind::CallSite(callee, _) => place(callee, sources),
            LocKind::Fused(_, parts) => parts.iter().find_map(|p| place(p, sources)),
        },
    }
}

/// Length of the word at the start of `text`, for the line under it.
fn token_len(text: &str) -> usize {
    let rest = text.trim_start_matches(['%', '@', '^', '#', '!', '"']);
    let sigils = text.len() - rest.len();
    let word = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-')));
    let len = sigils + word.unwrap_or(rest.len());
    if len > 0 { len } else { text.chars().next().map_or(0, char::len_utf8) }
}
