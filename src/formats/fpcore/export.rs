//! Functions of scalars as FPCore or C99.

use std::collections::HashMap;

use ngc_dialects::ng::compare::direction;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::{Attr, Body, Module, Op, Semantics, Type, Value};
use ngc_numerics::expr::Node;
use ngc_numerics::{Expr, Format};

use super::language::{Language, is_lacking, repeats, rounds_often};
use crate::error::{FormatError, Result, unsupported};

/// Values nested deeper than this get a name, so that every reader gets along.
const MAX_DEPTH: usize = 24;

/// A text, and what there is to say about it.
#[derive(Debug)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// Ops that the language lacks, written by their formulas and rounded at each step of these: equal over the reals,
    /// but not bit by bit.
    pub stepwise: Vec<&'static str>,
}

/// Writes the functions of a module, one after the other. Values that are used more than once get a name.
///
/// C99 code is right where `FLT_EVAL_METHOD` is 0, as on x86-64 and aarch64, and as accurate as the mathematics library.
///
/// # Errors
/// Names the function and the op, type or attribute that the language lacks.
pub fn export(module: &Module, language: Language) -> Result<Exported> {
    let mut exported = Exported { text: String::new(), stepwise: Vec::new() };
    if language == Language::C99 {
        exported.text.push_str("#include <math.h>\n#include <stdbool.h>\n\n#pragma STDC FP_CONTRACT OFF\n");
    }
    let (mut used, mut callees) = (Vec::new(), HashMap::new());
    let functions = module.functions();
    if functions.is_empty() {
        return unsupported("the module has no function with a body");
    }
    for op in functions {
        let symbol = module.body.attr(op, "sym_name").and_then(Attr::as_str).unwrap_or_default();
        let name = language.name(symbol, &mut used);
        let text = function(module, op, language, &name, &callees, &mut exported.stepwise)
            .map_err(|e| e.within(format_args!("@{symbol}")))?;
        if !exported.text.is_empty() {
            exported.text.push('\n');
        }
        exported.text.push_str(&text);
        callees.insert(symbol.to_string(), name);
    }
    exported.stepwise.sort_unstable();
    exported.stepwise.dedup();
    Ok(exported)
}

/// A value in the language.
#[derive(Clone)]
struct Written {
    text: String,
    depth: usize,
    /// The precision around which the text must be read; names and truth values stand anywhere.
    rounds_to: Option<Format>,
}

struct Writer<'m> {
    language: Language,
    /// Functions written before, by symbol.
    callees: &'m HashMap<String, String>,
    body: &'m Body,
    uses: Vec<usize>,
    values: Vec<Option<Written>>,
    used: Vec<String>,
    /// Names with types and texts.
    bound: Vec<(String, Type, Written)>,
}

fn function(
    module: &Module,
    op: Op,
    language: Language,
    name: &str,
    callees: &HashMap<String, String>,
    stepwise: &mut Vec<&'static str>,
) -> Result<String> {
    let attr = |name: &str| module.body.attr(op, name);
    let Some((body, block)) = module.body.body(op).and_then(|b| Some((b, b.entry()?))) else {
        return unsupported("it is a declaration");
    };
    let mut writer = Writer {
        language,
        callees,
        body,
        uses: uses(body)?,
        values: vec![None; body.num_values()],
        used: callees.values().cloned().chain([name.to_string()]).collect(),
        bound: Vec::new(),
    };
    let dicts = attr("arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let (mut arguments, mut renamed) = (Vec::new(), false);
    for (n, &value) in body.arguments(block).iter().enumerate() {
        let dict = match dicts.get(n) {
            Some(Attr::Dict(dict)) => Some(dict),
            _ => None,
        };
        let named = dict.and_then(|d| d.get("ng.name")).and_then(Attr::as_str);
        let text = language.name(named.unwrap_or(&format!("x{n}")), &mut writer.used);
        // The precondition speaks of the argument by its name.
        renamed |= named.is_some_and(|name| name != text);
        let range = dict.and_then(|d| d.get("ng.range")).and_then(Attr::as_array);
        let range = range.and_then(|r| Some((r.first()?.as_float()?, r.get(1)?.as_float()?)));
        writer.values[value.index()] = Some(Written { text: text.clone(), depth: 0, rounds_to: None });
        arguments.push((text, writer.spelled(body.ty(value))?, body.ty(value), range));
    }
    for op in body.ops(block) {
        if body.name(op) == "func.return" {
            let [value] = *body.operands(op) else { return unsupported("it has not one result") };
            let result = writer.value(value)?;
            let ty = body.ty(value);
            let pre = attr("fpcore.pre").and_then(Attr::as_str).filter(|_| !renamed);
            let title = attr("fpcore.name").and_then(Attr::as_str);
            return match language {
                Language::FpCore => writer.fpcore(name, &arguments, ty, &result, title, pre),
                Language::C99 => writer.c99(name, &arguments, ty, &result, title),
            };
        }
        writer.op(op, stepwise).map_err(|e| e.within(body.name(op)))?;
    }
    unsupported("it does not end in a return")
}

/// How often each value stands in the text.
fn uses(body: &Body) -> Result<Vec<usize>> {
    let mut uses = vec![0; body.num_values()];
    for op in body.walk() {
        let formula = formula(body, op)?;
        for (n, v) in body.operands(op).iter().enumerate() {
            uses[v.index()] += formula.as_ref().map_or(1, |(f, _)| occurrences(f, n));
        }
    }
    Ok(uses)
}

/// How often argument `n` stands in the spelling of a formula.
fn occurrences(formula: &Expr, n: usize) -> usize {
    match &*formula.0 {
        Node::Var(i) => usize::from(*i == n),
        Node::Param(_) | Node::Const(_) => 0,
        Node::Apply(prim, x) => {
            let factor = if repeats(*prim) { 2 } else { 1 };
            factor * x.iter().map(|x| occurrences(x, n)).sum::<usize>()
        }
        Node::Select(_, x) => x.iter().map(|x| occurrences(x, n)).sum(),
    }
}

/// The real formula of an elementwise op, and its parameters.
fn formula(body: &Body, op: Op) -> Result<Option<(Expr, Vec<f64>)>> {
    let found = body.with_signature(op, |s| match s.def.semantics {
        Semantics::Elementwise(function) => function(s).map(|e| Some((e.function.expr(), e.params))),
        _ => Ok(None),
    });
    found.unwrap_or(Ok(None)).map_err(FormatError::Invalid)
}

/// How many roundings a formula has, and whether it cannot be written: it has an operation inside whose spelling repeats
/// operands of several operations, or one that the language lacks.
fn operations(formula: &Expr, inner: bool) -> (usize, bool) {
    let (own, parts, refused): (usize, &[Expr], bool) = match &*formula.0 {
        Node::Apply(prim, x) => {
            let long = || x.iter().any(|x| operations(x, true).0 > 1);
            let own = if rounds_often(*prim) { 2 } else { 1 };
            (own, x, is_lacking(*prim) || inner && repeats(*prim) && long())
        }
        Node::Select(_, x) => (0, x, false),
        _ => (0, &[], false),
    };
    parts.iter().map(|x| operations(x, true)).fold((own, refused), |a, b| (a.0 + b.0, a.1 || b.1))
}

impl Writer<'_> {
    /// A scalar type in the language.
    fn spelled(&self, ty: Type) -> Result<&'static str> {
        if ty.as_tensor().is_some() {
            return unsupported(format!("a value of type {ty}; only scalars are written"));
        }
        match (ty.format(), self.language) {
            (Some(format), language) => language
                .format(format)
                .map_or_else(|| unsupported(format!("{language:?} has no format {format}")), Ok),
            (None, _) if ty.elem() == Some(ngc_numerics::DType::BOOL) => Ok("bool"),
            _ => {
                unsupported(format!("a value of type {ty}; only floating point and truth values are written"))
            }
        }
    }

    fn value(&self, value: Value) -> Result<Written> {
        self.values[value.index()].clone().map_or_else(|| unsupported("a value from elsewhere"), Ok)
    }

    /// The text of a value where operations round to `around`.
    fn read(&self, value: Value, around: Format) -> Result<(String, usize)> {
        let written = self.value(value)?;
        Ok((self.within(&written, around)?, written.depth))
    }

    fn within(&self, written: &Written, around: Format) -> Result<String> {
        match written.rounds_to {
            Some(own) if own != around && self.language == Language::FpCore => {
                let precision = self.spelled(Type::float(own))?;
                Ok(format!("(! :precision {precision} {})", written.text))
            }
            _ => Ok(written.text.clone()),
        }
    }

    fn op(&mut self, op: Op, stepwise: &mut Vec<&'static str>) -> Result<()> {
        let body = self.body;
        let name = body.name(op);
        let [result] = body.results(op).collect::<Vec<_>>()[..] else {
            return unsupported("an op without one result");
        };
        let ty = body.ty(result);
        self.spelled(ty)?;
        let operands = body.operands(op);
        // Comparisons and choices round nothing, but their operands do.
        let around =
            ty.format().or_else(|| operands.iter().find_map(|&v| body.ty(v).format())).unwrap_or(Format::F64);
        let mut depth = 0;
        let mut x = Vec::new();
        for &v in operands {
            let (text, nested) = self.read(v, around)?;
            depth = depth.max(nested + 1);
            x.push(text);
        }
        let mut rounds_to = Some(around);
        let short = name.strip_prefix("ng.").unwrap_or(name);
        let text = if name == "ng.constant" {
            rounds_to = ty.format();
            self.constant(body.attr(op, "value"), around)?
        } else if let Some((formula, params)) = formula(body, op)? {
            let (count, refused) = operations(&formula, false);
            if refused {
                return unsupported("the language has no such function");
            }
            if count > 1 {
                stepwise.push(name);
            }
            self.formula(&formula, &params, &x, around)
        } else {
            match (short, &x[..]) {
                ("convert", [x]) => self.conversion(operands[0], ty, x)?,
                ("compare", [x, y]) => {
                    let cmp = body.with_signature(op, direction).flatten();
                    let Some(cmp) = cmp else { return unsupported("a comparison without a direction") };
                    self.language.relation(cmp, x, y)
                }
                ("func.call", _) => {
                    let symbol = body.attr(op, "callee").and_then(Attr::as_symbol).unwrap_or_default();
                    match self.callees.get(symbol) {
                        Some(name) => self.language.invoke(name, &x),
                        None => return unsupported(format!("@{symbol} is not written before it is called")),
                    }
                }
                ("where" | "select", [c, x, y]) => self.language.choose(c, x, y),
                _ => match self.language.logic(short, &x) {
                    Some(text) => text,
                    None => return unsupported("the language has no such function"),
                },
            }
        };
        let mut written = Written { text, depth, rounds_to };
        let literal = name == "ng.constant";
        if !literal && (self.uses[result.index()] > 1 || depth > MAX_DEPTH) {
            let name = self.language.name(&format!("t{}", self.bound.len()), &mut self.used);
            self.bound.push((name.clone(), ty, written));
            written = Written { text: name, depth: 0, rounds_to: None };
        }
        self.values[result.index()] = Some(written);
        Ok(())
    }

    fn constant(&self, value: Option<&Attr>, format: Format) -> Result<String> {
        let tensor = value.map(attr_to_tensor).transpose().map_err(FormatError::Invalid)?;
        let Some(tensor) = tensor.filter(|t| t.len() == 1) else { return unsupported("several elements") };
        Ok(match tensor.as_ints() {
            Some(v) => self.language.truth(v[0] != 0),
            None => self.language.number(tensor.to_f64s()[0], format),
        })
    }

    fn conversion(&self, from: Value, to: Type, x: &str) -> Result<String> {
        if self.body.ty(from).format().is_none() || to.format().is_none() {
            return unsupported("a conversion that is not between floating-point formats");
        }
        Ok(match self.language {
            Language::FpCore => format!("(cast {x})"),
            Language::C99 => format!("(({}){x})", self.spelled(to)?),
        })
    }

    fn formula(&self, formula: &Expr, params: &[f64], x: &[String], format: Format) -> String {
        let inner = |e: &Expr| self.formula(e, params, x, format);
        match &*formula.0 {
            Node::Var(i) => x.get(*i).cloned().unwrap_or_default(),
            Node::Param(i) => self.language.number(params.get(*i).copied().unwrap_or(f64::NAN), format),
            Node::Const(constant) => self.language.constant(constant, format),
            Node::Apply(prim, parts) => {
                let parts: Vec<String> = parts.iter().map(inner).collect();
                self.language.primitive(*prim, &parts, format)
            }
            Node::Select(cmp, [a, b, yes, no]) => self.language.choose(
                &self.language.relation(*cmp, &inner(a), &inner(b)),
                &inner(yes),
                &inner(no),
            ),
        }
    }

    fn fpcore(
        &self,
        name: &str,
        arguments: &[Argument],
        result: Type,
        value: &Written,
        title: Option<&str>,
        pre: Option<&str>,
    ) -> Result<String> {
        let formats = arguments.iter().map(|a| a.2.format());
        let around = result.format().or(formats.flatten().next()).unwrap_or(Format::F64);
        let mut text = format!("(FPCore {name} (");
        for (n, (name, spelled, ty, _)) in arguments.iter().enumerate() {
            let space = if n > 0 { " " } else { "" };
            text += &match ty.format() {
                None => return unsupported("an argument that is a truth value"),
                Some(format) if format == around => format!("{space}{name}"),
                Some(_) => format!("{space}(! :precision {spelled} {name})"),
            };
        }
        text += ")\n";
        if let Some(title) = title {
            text += &format!(" :name \"{}\"\n", title.replace('\\', "\\\\").replace('"', "\\\""));
        }
        text += &format!(" :precision {}\n", self.spelled(Type::float(around))?);
        let ranges: Vec<String> = arguments
            .iter()
            .filter_map(|(name, _, ty, range)| {
                let ((lo, hi), greatest) = ((*range)?, ty.format()?.max_finite());
                let number = |x: f64| self.language.number(x, Format::F64);
                let (below, above) = (lo > -greatest, hi < greatest);
                let lo = if below { format!("{} ", number(lo)) } else { String::new() };
                let hi = if above { format!(" {}", number(hi)) } else { String::new() };
                (below || above).then(|| format!("(<= {lo}{name}{hi})"))
            })
            .collect();
        match (pre, &ranges[..]) {
            (Some(pre), _) => text += &format!(" :pre {pre}\n"),
            (None, []) => {}
            (None, [one]) => text += &format!(" :pre {one}\n"),
            (None, many) => text += &format!(" :pre (and {})\n", many.join(" ")),
        }
        let body = self.within(value, around)?;
        if self.bound.is_empty() {
            text += &format!(" {body})\n");
            return Ok(text);
        }
        for (n, (name, _, written)) in self.bound.iter().enumerate() {
            let lead = if n == 0 { " (let* (" } else { "        " };
            let end = if n + 1 == self.bound.len() { ")" } else { "" };
            text += &format!("{lead}({name} {}){end}\n", self.within(written, around)?);
        }
        text += &format!("  {body}))\n");
        Ok(text)
    }

    fn c99(
        &self,
        name: &str,
        arguments: &[Argument],
        result: Type,
        value: &Written,
        title: Option<&str>,
    ) -> Result<String> {
        let mut text = String::new();
        if let Some(title) = title {
            let plain: String = title.chars().filter(|c| !c.is_control()).collect();
            text += &format!("/* {} */\n", plain.replace("*/", "* /").replace("/*", "/ *"));
        }
        let list: Vec<String> = arguments.iter().map(|(name, ty, ..)| format!("{ty} {name}")).collect();
        let list = if list.is_empty() { "void".to_string() } else { list.join(", ") };
        text += &format!("{} {name}({list})\n{{\n", self.spelled(result)?);
        for (name, ty, written) in &self.bound {
            text += &format!("    {} {name} = {};\n", self.spelled(*ty)?, written.text);
        }
        text += &format!("    return {};\n}}\n", value.text);
        Ok(text)
    }
}

/// Name, spelled type, type, range.
type Argument = (String, &'static str, Type, Option<(f64, f64)>);
