//! Pipelines: what runs, in which order, and their text.

use std::fmt;

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::{Anchor, Options, Pass};
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::location::Loc;
use crate::nearest::nearest;

#[derive(pest_derive::Parser)]
#[grammar = "../../grammar/pipeline.pest"]
struct PipelineParser;

/// The passes and named pipelines that texts may speak of.
#[derive(Clone, Copy)]
pub struct Registry {
    /// All passes.
    pub passes: &'static [&'static dyn Pass],
    /// All named pipelines.
    pub pipelines: &'static [NamedPipeline],
}

/// A pipeline known by a name.
pub struct NamedPipeline {
    /// Name on command lines, and in pipelines unless a pass has it too.
    pub name: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
    /// Its text, anchored on `builtin.module`.
    pub text: &'static str,
}

impl Registry {
    /// The pass of that name.
    pub fn pass(&self, name: &str) -> Option<&'static dyn Pass> {
        self.passes.iter().copied().find(|p| p.name() == name)
    }

    /// The named pipeline of that name.
    pub fn pipeline(&self, name: &str) -> Option<&'static NamedPipeline> {
        self.pipelines.iter().find(|p| p.name == name)
    }
}

/// One pass with its options.
#[derive(Clone)]
pub struct Step {
    /// The pass.
    pub pass: &'static dyn Pass,
    /// Its options.
    pub options: Options,
}

impl Step {
    /// A pass with options given as text: `max-iterations=3`, several separated by white space.
    pub fn new(pass: &'static dyn Pass, options: &str) -> Result<Step, String> {
        let mut step = Step { pass, options: Options::new(pass.options()) };
        let text = format!("{{{options}}}");
        let mut pairs = PipelineParser::parse(Rule::options, &text)
            .map_err(|e| format!("{} in the options of pass '{}'", expected(&e.variant), pass.name()))?;
        if let Some(pair) = pairs.next().filter(|p| p.as_str().len() == text.len()) {
            set_options(&mut step, pair).map_err(|e| e.message)?;
            Ok(step)
        } else {
            Err(format!("the options of pass '{}' are not of the form name=value", pass.name()))
        }
    }
}

/// Shown as in a pipeline: `canonicalize{max-iterations=3}`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.pass.name(), self.options)
    }
}

/// Passes in order. Function passes that follow each other print under one `func.func(...)`.
#[derive(Clone, Default)]
pub struct Pipeline {
    /// The passes.
    pub steps: Vec<Step>,
}

struct Error {
    offset: usize,
    message: String,
}

impl Pipeline {
    /// Parses pipeline text, a file of `sources`.
    pub fn parse(registry: &Registry, sources: &Sources, file: u16) -> Result<Pipeline, Diagnostics> {
        let text = sources.file(file).map_or("", |f| &f.text);
        Pipeline::parse_text(registry, text, 0).map_err(|e| {
            let offset = u32::try_from(e.offset).unwrap_or(u32::MAX);
            Diagnostics(vec![Diagnostic::error(Loc::Source { file, offset }, e.message)])
        })
    }

    /// The steps of a named pipeline. `options`, if not empty, go to the pass of the same name in it.
    pub fn named(registry: &Registry, pipeline: &NamedPipeline, options: &str) -> Result<Pipeline, String> {
        let mut parsed = Pipeline::parse_text(registry, pipeline.text, 0).map_err(|e| {
            format!("pipeline '{}' is broken at offset {}: {}", pipeline.name, e.offset, e.message)
        })?;
        if !options.is_empty() {
            let mut own = parsed.steps.iter_mut().filter(|s| s.pass.name() == pipeline.name).peekable();
            if own.peek().is_none() {
                return Err(format!("pipeline '{}' takes no options", pipeline.name));
            }
            for step in own {
                step.options.merge(&Step::new(step.pass, options)?.options);
            }
        }
        Ok(parsed)
    }

    /// Whether no pass undoes what one before it brought about.
    ///
    /// # Errors
    /// Which one does, and where it belongs.
    pub fn ordered(&self) -> Result<(), String> {
        for (n, later) in self.steps.iter().enumerate() {
            for property in later.pass.invalidates() {
                let made = self.steps[..n].iter().find(|step| step.pass.establishes().contains(property));
                if let Some(made) = made.map(|step| step.pass.name()) {
                    let (name, property) = (later.pass.name(), property.name());
                    return Err(format!(
                        "pass '{name}' does not keep {property} of '{made}': put '{name}' before '{made}'"
                    ));
                }
            }
        }
        Ok(())
    }

    /// `depth` counts named pipelines within named pipelines.
    fn parse_text(registry: &Registry, text: &str, depth: usize) -> Result<Pipeline, Error> {
        // pest recurses once a level; only two levels have a meaning.
        let (mut open, mut quoted, mut escaped) = (0, false, false);
        for (offset, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                '(' if !quoted => open += 1,
                ')' if !quoted => open -= 1,
                _ => {}
            }
            if open > 64 {
                return Err(Error { offset, message: "the pipeline is nested too deeply".into() });
            }
        }
        let mut pairs = PipelineParser::parse(Rule::pipeline, text).map_err(|e| Error {
            offset: match e.location {
                InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
            },
            message: expected(&e.variant),
        })?;
        let mut pipeline = Pipeline::default();
        let nest = pairs.next().and_then(|p| p.into_inner().next());
        if let Some(nest) = nest {
            pipeline.add_nest(registry, nest, None, depth)?;
        }
        Ok(pipeline)
    }

    fn add_nest(
        &mut self,
        registry: &Registry,
        nest: Pair<'_, Rule>,
        parent: Option<Anchor>,
        depth: usize,
    ) -> Result<(), Error> {
        let mut anchor = Anchor::Module;
        for pair in nest.into_inner() {
            let offset = pair.as_span().start();
            match pair.as_rule() {
                Rule::anchor => {
                    anchor = match (parent, pair.as_str()) {
                        (None, "builtin.module") => Anchor::Module,
                        (Some(Anchor::Module), "func.func") => Anchor::Function,
                        (None, other) => {
                            let message =
                                format!("a pipeline starts with builtin.module(...), not with {other}");
                            return Err(Error { offset, message });
                        }
                        (Some(parent), other) => {
                            let message = format!(
                                "{other} cannot be nested in {}; only func.func in builtin.module",
                                parent.name()
                            );
                            return Err(Error { offset, message });
                        }
                    }
                }
                Rule::nest => self.add_nest(registry, pair, Some(anchor), depth)?,
                _ => self.add_pass(registry, pair, anchor, depth)?,
            }
        }
        Ok(())
    }

    fn add_pass(
        &mut self,
        registry: &Registry,
        pair: Pair<'_, Rule>,
        anchor: Anchor,
        depth: usize,
    ) -> Result<(), Error> {
        let offset = pair.as_span().start();
        let mut inner = pair.into_inner();
        let name = inner.next().map_or("", |n| n.as_str());
        let Some(pass) = registry.pass(name) else {
            return self.add_named(registry, name, offset, anchor, depth);
        };
        if pass.anchor() != anchor {
            let message = match anchor {
                Anchor::Module => format!("pass '{name}' runs on func.func; write func.func({name})"),
                Anchor::Function => {
                    format!("pass '{name}' runs on builtin.module; move it out of func.func(...)")
                }
            };
            return Err(Error { offset, message });
        }
        let mut step = Step { pass, options: Options::new(pass.options()) };
        if let Some(options) = inner.next() {
            set_options(&mut step, options)?;
        }
        self.steps.push(step);
        self.ordered().map_err(|message| Error { offset, message })
    }

    fn add_named(
        &mut self,
        registry: &Registry,
        name: &str,
        offset: usize,
        anchor: Anchor,
        depth: usize,
    ) -> Result<(), Error> {
        let fail = |message| Err(Error { offset, message });
        let Some(named) = registry.pipeline(name) else {
            return fail(match near(registry, name) {
                Some(near) => format!("there is no pass '{name}'; did you mean '{near}'?"),
                None => format!("there is no pass '{name}'; --list-passes shows all"),
            });
        };
        if anchor != Anchor::Module {
            return fail(format!("pipeline '{name}' runs on builtin.module; move it out of func.func(...)"));
        }
        if depth >= 8 {
            return fail(format!("pipeline '{name}' contains itself"));
        }
        match Pipeline::parse_text(registry, named.text, depth + 1) {
            Ok(steps) => {
                self.steps.extend(steps.steps);
                self.ordered().or_else(fail)?;
            }
            // The outermost name is in the text; what it contains need not be retraced.
            Err(e) if depth > 0 => return fail(e.message),
            Err(e) => return fail(format!("in pipeline '{name}': {}", e.message)),
        }
        Ok(())
    }
}

fn set_options(step: &mut Step, options: Pair<'_, Rule>) -> Result<(), Error> {
    for option in options.into_inner() {
        let offset = option.as_span().start();
        let mut parts = option.into_inner();
        let name = parts.next().map_or("", |n| n.as_str());
        let value = parts.next().map(|v| match v.as_rule() {
            Rule::quoted => unescape(v.into_inner().as_str()),
            _ => v.as_str().to_string(),
        });
        step.options
            .set(name, value.as_deref())
            .map_err(|m| Error { offset, message: format!("pass '{}': {m}", step.pass.name()) })?;
    }
    Ok(())
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}

/// The registered name that differs least, if it is near.
fn near(registry: &Registry, name: &str) -> Option<&'static str> {
    let names = registry.passes.iter().map(|p| p.name()).chain(registry.pipelines.iter().map(|p| p.name));
    nearest(name, names)
}

/// What pest expected, in words.
fn expected(variant: &ErrorVariant<Rule>) -> String {
    let ErrorVariant::ParsingError { positives, .. } = variant else { return "malformed pipeline".into() };
    let mut words: Vec<&str> = positives
        .iter()
        .map(|rule| match rule {
            Rule::nest | Rule::anchor | Rule::pipeline => "an anchor such as builtin.module(...)",
            Rule::pass | Rule::name => "a pass name",
            Rule::options => "',', ')' or options in {...}",
            Rule::option => "an option name=value",
            Rule::bare | Rule::quoted | Rule::text => "a value",
            _ => "the end of the pipeline",
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    if words.is_empty() { "expected ',' or ')'".into() } else { format!("expected {}", words.join(" or ")) }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builtin.module(")?;
        let groups = self.steps.chunk_by(|a, b| a.pass.anchor() == b.pass.anchor());
        for (i, group) in groups.enumerate() {
            let text = group.iter().map(Step::to_string).collect::<Vec<_>>().join(",");
            let comma = if i > 0 { "," } else { "" };
            match group[0].pass.anchor() {
                Anchor::Module => write!(f, "{comma}{text}")?,
                Anchor::Function => write!(f, "{comma}func.func({text})")?,
            }
        }
        f.write_str(")")
    }
}
