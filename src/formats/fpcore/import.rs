//! FPCores into functions.

use std::collections::{HashMap, HashSet};

use ngc_ir::diagnostics::{SourceFile, excerpt};
use ngc_ir::{Attr, AttrDict, Context, Diagnostic, Diagnostics, Loc, Module, OpState, Severity, Type};
use ngc_numerics::Format;

use super::function::{Callee, Function};
use super::parse::{Kind, Node, parse};
use super::precondition::Ranges;
use super::{ImportError, Result, invalid, unsupported};

/// A module, and what there is to say about it.
pub struct Imported {
    /// One function for each FPCore.
    pub module: Module,
    /// Remarks: what of a precondition the ranges do not say.
    pub remarks: Diagnostics,
}

/// Reads FPCores; each becomes a function of scalars.
///
/// - The function has the FPCore's identifier, else its `:name`, made a symbol of letters, digits and `_` and unique in
///   the module; later FPCores call it by its identifier.
/// - Arguments keep their names as `ng.name`. What `:pre` says about single arguments becomes `ng.range`; the text of a
///   precondition that says more, too, is kept as the function's attribute `fpcore.pre`, with a remark: passes do not
///   see it.
/// - An operator rounds to the precision around it (`:precision`, binary64 without one). An operand of a wider format
///   widens the operator, and its result is rounded to the precision afterwards: a second rounding.
/// - Both branches of `if` are evaluated; the one not taken has no influence. `fmin` and `fmax` ignore a NaN, as C's do.
/// - Literals and constants: see the module.
///
/// `file` is the place of `source` in the table of sources that locations will be looked up in.
///
/// # Errors
/// The place of what is broken, or of the operator, precision or form that ngc does not have (loops, arrays, tensors).
pub fn import(context: &Context, source: &SourceFile, file: u16) -> Result<Imported> {
    let at = |offset: usize| Loc::Source { file, offset: u32::try_from(offset).unwrap_or(u32::MAX) };
    if u32::try_from(source.text.len()).is_err() {
        return invalid(at(0), "a file of more than 4 GB");
    }
    let nodes = parse(&source.text).or_else(|(offset, message)| invalid(at(offset), message))?;
    let mut importer = Importer {
        context,
        text: &source.text,
        file,
        callees: HashMap::new(),
        symbols: HashSet::new(),
        module: Module::new(),
        remarks: Diagnostics::default(),
    };
    for node in &nodes {
        importer.core(node, &at(node.offset))?;
    }
    if nodes.is_empty() {
        return invalid(at(0), "no FPCore: the file is empty");
    }
    Ok(Imported { module: importer.module, remarks: importer.remarks })
}

struct Importer<'c, 't> {
    context: &'c Context,
    text: &'t str,
    file: u16,
    callees: HashMap<&'t str, Callee>,
    symbols: HashSet<String>,
    module: Module,
    remarks: Diagnostics,
}

/// An FPCore taken apart.
struct Core<'n, 't> {
    identifier: Option<&'t str>,
    arguments: &'n [Node<'t>],
    properties: &'n [Node<'t>],
    body: &'n Node<'t>,
}

impl<'t> Importer<'_, 't> {
    fn core(&mut self, node: &Node<'t>, loc: &Loc) -> Result<()> {
        let Some(core) = take_apart(node) else {
            return invalid(
                loc.clone(),
                "(FPCore name? (arguments) :property value ... expression) is the form",
            );
        };
        let mut f = Function::new(self.context, self.file, &self.callees);
        let precision = f.precision(core.properties, Format::F64, loc)?;
        let mut ranges = Ranges(Vec::new());
        for argument in core.arguments {
            let (name, format) = declared(&f, argument, precision)?;
            if ranges.0.iter().any(|r| r.0 == name) {
                return invalid(f.loc(argument), format!("there are two arguments '{}'", excerpt(name)));
            }
            f.argument(name, format, f.loc(argument));
            ranges.0.push((name, format, -format.max_finite(), format.max_finite()));
        }
        let value = f.expression(core.body, precision)?;
        f.finish(value)?;
        let (body, block) = (f.body, f.block);

        let pre = property(core.properties, ":pre");
        let said = pre.is_none_or(|pre| self.narrow(&mut ranges, pre));
        let types: Vec<Type> = body.arguments(block).iter().map(|&v| body.ty(v)).collect();
        let result = body.ty(value);
        let arguments = ranges.0.iter().map(argument_attributes).map(Attr::Dict);
        let name = match property(core.properties, ":name").map(|n| &n.kind) {
            Some(Kind::Text(name)) => Some(unescape(name)),
            _ => None,
        };
        let symbol = self.symbol(core.identifier.or(name.as_deref()).unwrap_or("main"));
        let mut attrs = AttrDict::EMPTY;
        attrs.set("sym_name", symbol.as_str());
        attrs.set("function_type", Type::function(&types, &[result]));
        attrs.set("arg_attrs", Attr::Array(arguments.collect()));
        if let Some(name) = name {
            attrs.set("fpcore.name", name.as_str());
        }
        if let (Some(pre), false) = (pre, said) {
            attrs.set("fpcore.pre", pre.on_one_line(self.text).as_str());
        }
        let (Some(def), Some(top)) = (self.context.op("func.func"), self.module.body.entry()) else {
            return unsupported(loc.clone(), "the dialect 'func' is not registered");
        };
        let function = self.module.body.create(OpState { attrs, ..OpState::new(def, loc.clone()) });
        self.module.body.append(top, function);
        self.module.body.set_body(function, body);
        if let Some(identifier) = core.identifier {
            let arguments = ranges.0.iter().map(|r| r.1).collect();
            self.callees.insert(identifier, Callee { symbol, arguments, result });
        }
        Ok(())
    }

    /// Whether the ranges say all that the precondition says; a remark if not.
    fn narrow(&mut self, ranges: &mut Ranges<'t>, pre: &Node<'t>) -> bool {
        let whole = ranges.clone();
        let mut said = ranges.narrow(pre);
        if !said {
            // Relations of arguments say more once the ranges of these are known.
            ranges.narrow(pre);
        }
        let remark = if ranges.0.iter().any(|r| r.2 > r.3) {
            *ranges = whole;
            said = false;
            "no value satisfies this precondition"
        } else {
            "ranges of single arguments do not say all of this precondition; it is kept as the attribute fpcore.pre, which \
             passes do not see"
        };
        if !said {
            let loc = Loc::Source { file: self.file, offset: u32::try_from(pre.offset).unwrap_or(u32::MAX) };
            self.remarks.push(Diagnostic::new(Severity::Remark, loc, remark));
        }
        said
    }

    /// A symbol for a name: letters, digits and `_`, not used before.
    fn symbol(&mut self, name: &str) -> String {
        let mut symbol = String::new();
        for c in name.chars().take(80) {
            if c.is_ascii_alphanumeric() {
                symbol.push(c);
            } else if !symbol.ends_with('_') {
                symbol.push('_');
            }
        }
        let symbol = symbol.trim_matches('_');
        let first = if symbol.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "f" };
        let symbol = format!("{first}{symbol}");
        let unique = std::iter::once(symbol.clone())
            .chain((2u64..).map(|n| format!("{symbol}_{n}")))
            .find(|candidate| !self.symbols.contains(candidate))
            .unwrap_or(symbol);
        self.symbols.insert(unique.clone());
        unique
    }
}

fn take_apart<'n, 't>(node: &'n Node<'t>) -> Option<Core<'n, 't>> {
    let (head, rest) = node.list()?.split_first()?;
    if head.symbol() != Some("FPCore") {
        return None;
    }
    let identifier = rest.first().and_then(Node::symbol);
    let (arguments, rest) = rest.get(usize::from(identifier.is_some())..)?.split_first()?;
    let (body, properties) = rest.split_last()?;
    Some(Core { identifier, arguments: arguments.list()?, properties, body })
}

/// The name and the format of an argument: `x`, or `(! :precision binary32 x)`.
fn declared<'t>(f: &Function<'_, 't>, node: &Node<'t>, precision: Format) -> Result<(&'t str, Format)> {
    if let Some(name) = node.symbol() {
        return Ok((name, precision));
    }
    let loc = f.loc(node);
    match node.list().and_then(|parts| Some((parts.first()?.symbol()?, parts))) {
        Some(("!", [_, properties @ .., name])) => match name.symbol() {
            Some(name) => Ok((name, f.precision(properties, precision, &loc)?)),
            None => unsupported(f.loc(name), "ngc does not read arrays in FPCore"),
        },
        Some(_) => unsupported(loc, "ngc does not read arrays in FPCore"),
        None => invalid(loc, "an argument is a name, or (! :precision binary32 name)"),
    }
}

fn argument_attributes(&(name, format, lo, hi): &(&str, Format, f64, f64)) -> AttrDict {
    let mut attrs: AttrDict = [("ng.name", Attr::from(name))].into();
    if lo > -format.max_finite() || hi < format.max_finite() {
        attrs.set("ng.range", Attr::Array([lo, hi].map(Attr::float).into_iter().collect()));
    }
    attrs
}

fn property<'n, 't>(properties: &'n [Node<'t>], name: &str) -> Option<&'n Node<'t>> {
    properties.chunks_exact(2).find(|pair| pair[0].symbol() == Some(name)).map(|pair| &pair[1])
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for ImportError {}
