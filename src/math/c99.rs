//! Implementations as C99.

use std::fmt::Write;

use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_dialects::transfer::Flow;
use ngc_ir::{Attr, Body, Diagnostic, Module, Op, Value};
use ngc_numerics::{DType, Format, Tensor};

use crate::check::{Checked, ranges};
use crate::machine::{self, Operand, PRELUDE};

/// A function of C and what it is made from.
struct Function<'a> {
    name: String,
    /// The symbol in the module, which names the function that does the work.
    symbol: &'a str,
    body: &'a Body,
    ty: &'static str,
    arity: usize,
}

/// A file with, for each implementation, `float ngc_NAMEf(float)` and `void ngc_NAMEf_array(const float *, float *, size_t)`;
/// of numbers of f64 without the `f`.
///
/// # Errors
/// Names the op that C99 does not have, located.
pub fn source(checked: &Checked) -> Result<String, Diagnostic> {
    let mut text = String::from("/* Written by ngc-math from implementations of functions. */\n");
    text += PRELUDE;
    for function in functions(&checked.machine)? {
        text += "\n";
        write_core(&mut text, &function)?;
        let names = ["x", "y", "z"];
        let names = &names[..function.arity];
        let _ = writeln!(text, "\n{} {{", prototype(&function));
        let _ = writeln!(text, "  return {}({});\n}}", function.symbol, names.join(", "));
        let _ = writeln!(text, "\n{} {{", array_prototype(&function));
        let elements: Vec<String> = names.iter().map(|n| format!("{n}[i]")).collect();
        let _ = writeln!(
            text,
            "  for (size_t i = 0; i < n; i++) r[i] = {}({});\n}}",
            function.symbol,
            elements.join(", ")
        );
    }
    Ok(text)
}

/// A header for [`source`].
///
/// # Errors
/// As [`source`].
pub fn header(checked: &Checked) -> Result<String, Diagnostic> {
    let mut text = String::from(
        "/* Written by ngc-math from implementations of functions. */\n#ifndef NGCM_H\n#define NGCM_H\n\n\
         #include <stddef.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
    );
    for function in functions(&checked.machine)? {
        let _ = writeln!(
            text,
            "{};\n{};",
            prototype(&function),
            array_prototype(&function).replace("restrict ", "")
        );
    }
    text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    Ok(text)
}

/// The function that does the work of one implementation, as [`source`] writes it.
///
/// # Errors
/// As [`source`].
pub fn core(checked: &Checked, symbol: &str) -> Result<String, Diagnostic> {
    let mut text = String::new();
    for function in functions(&checked.machine)?.iter().filter(|f| f.symbol == symbol) {
        write_core(&mut text, function)?;
    }
    Ok(text)
}

/// The name of an implementation in C, by its symbol: `exp_f32` is `ngc_expf`.
pub fn c_name(symbol: &str) -> String {
    match symbol.rsplit_once('_') {
        Some((name, "f32")) => format!("ngc_{name}f"),
        Some((name, _)) => format!("ngc_{name}"),
        None => format!("ngc_{symbol}"),
    }
}

fn functions(module: &Module) -> Result<Vec<Function<'_>>, Diagnostic> {
    let mut found = Vec::new();
    for op in module.functions() {
        let fail = |message: &str| Diagnostic::error(module.body.op(op).loc.clone(), message);
        let symbol = module.body.attr(op, "sym_name").and_then(Attr::as_str);
        let (Some(symbol), Some(body)) = (symbol, module.body.body(op)) else { continue };
        let entry = body.entry().ok_or_else(|| fail("has no body"))?;
        let arguments = body.arguments(entry);
        let elem = arguments.first().and_then(|&v| body.ty(v).elem());
        let ty = elem.and_then(machine::type_name).ok_or_else(|| fail("C99 does not have this type"))?;
        if arguments.len() > 3 || arguments.iter().any(|&v| body.ty(v).elem() != elem) {
            return Err(fail("takes more than three arguments, or arguments of several formats"));
        }
        found.push(Function { name: c_name(symbol), symbol, body, ty, arity: arguments.len() });
    }
    Ok(found)
}

fn prototype(f: &Function<'_>) -> String {
    let arguments: Vec<String> = ["x", "y", "z"][..f.arity].iter().map(|n| format!("{} {n}", f.ty)).collect();
    format!("{} {}({})", f.ty, f.name, arguments.join(", "))
}

fn array_prototype(f: &Function<'_>) -> String {
    let inputs: Vec<String> =
        ["x", "y", "z"][..f.arity].iter().map(|n| format!("const {} *{n}", f.ty)).collect();
    format!("void {}_array({}, {} *restrict r, size_t n)", f.name, inputs.join(", "), f.ty)
}

/// The function that does the work.
fn write_core(text: &mut String, f: &Function<'_>) -> Result<(), Diagnostic> {
    let body = f.body;
    let Some(entry) = body.entry() else { return Ok(()) };
    let flow = ranges(body);
    let mut names: Vec<String> = vec![String::new(); body.num_values()];
    let mut arguments = Vec::new();
    for (&v, name) in body.arguments(entry).iter().zip(["x", "y", "z"]) {
        names[v.index()] = name.into();
        arguments.push(format!("{} {name}", f.ty));
    }
    let (mut lines, mut tables, mut count) = (String::new(), String::new(), 0);
    for op in body.ops(entry) {
        let fail = |message: String| Diagnostic::error(body.op(op).loc.clone(), message);
        if body.op(op).def.is_some_and(|d| d.traits.terminator) {
            let _ = writeln!(lines, "  return {};", names[body.operands(op)[0].index()]);
            continue;
        }
        let result = body.result(op, 0);
        if body.is_constant(op) {
            names[result.index()] = body
                .attr(op, "value")
                .and_then(literal)
                .ok_or_else(|| fail("C99 does not have this constant".into()))?;
            continue;
        }
        let elem = body.ty(result).elem();
        let ty = elem.and_then(machine::type_name);
        let (Some(elem), Some(ty)) = (elem, ty) else {
            return Err(fail(format!("C99 does not have the type {}", body.ty(result))));
        };
        let value = if body.name(op) == "num.table" {
            let table = format!("{}_t{count}", f.symbol);
            let entries = body.attr(op, "values").and_then(|v| attr_to_tensor(v).ok());
            let entries = entries.ok_or_else(|| fail("has no entries".into()))?;
            let _ = writeln!(
                tables,
                "static const {ty} {table}[{}] = {{\n{}}};",
                entries.len(),
                entries_text(&entries)
            );
            format!("{table}[{}]", names[body.operands(op)[0].index()])
        } else {
            spell(body, &flow, op, &names, elem)
                .ok_or_else(|| fail(format!("'{}' of {elem} is not written in C99", body.name(op))))?
        };
        names[result.index()] = format!("v{count}");
        let _ = writeln!(lines, "  const {ty} v{count} = {value};");
        count += 1;
    }
    let _ =
        write!(text, "{tables}static inline {} {}({}) {{\n{lines}}}\n", f.ty, f.symbol, arguments.join(", "));
    Ok(())
}

fn spell(body: &Body, flow: &Flow, op: Op, names: &[String], to: DType) -> Option<String> {
    let operands: Option<Vec<Operand<'_>>> =
        body.operands(op).iter().map(|&v| operand(body, flow, v, names)).collect();
    let operands = operands?;
    body.with_signature(op, |s| machine::spell(s, &operands, to)).flatten()
}

fn operand<'a>(body: &Body, flow: &Flow, v: Value, names: &'a [String]) -> Option<Operand<'a>> {
    let constant = body.defining_op(v).and_then(|op| body.attr(op, "value")).and_then(Attr::as_float);
    let range = flow.range(v).computed;
    // Integers on both sides of every end are numbers of the format.
    let ends = |bits: u8| {
        let (least, greatest) = DType::Int(bits).int_range();
        !range.may_be_nan && range.lo >= least as f64 && range.hi < greatest as f64
    };
    let fits = [32, 64].into_iter().find(|&bits| ends(bits)).map(DType::Int);
    Some(Operand {
        text: &names[v.index()],
        elem: body.ty(v).elem()?,
        is_plain_constant: constant.is_some_and(|c| c != 0.0 && !c.is_nan()),
        fits,
    })
}

/// Numbers a line in a table.
const LINE: usize = 4;

fn entries_text(entries: &Tensor) -> String {
    let texts: Vec<String> = match entries.as_ints() {
        Some(values) => values.iter().map(|&v| integer(v, entries.dtype)).collect(),
        None => entries.to_f64s().iter().map(|&v| number(v, entries.dtype)).collect(),
    };
    texts.chunks(LINE).map(|line| format!("  {},\n", line.join(", "))).collect()
}

fn literal(value: &Attr) -> Option<String> {
    match value {
        Attr::Float(v, ty) => Some(number(*v, ty.elem()?)),
        Attr::Int(v, ty) => Some(integer(*v, ty.elem()?)),
        Attr::Bool(v) => Some(u8::from(*v).to_string()),
        _ => None,
    }
}

fn integer(v: i64, elem: DType) -> String {
    let suffix = if elem == DType::Int(64) { "LL" } else { "" };
    match v {
        // Its absolute value is no number of the type.
        i64::MIN => "INT64_MIN".into(),
        _ if v == i64::from(i32::MIN) && suffix.is_empty() => "INT32_MIN".into(),
        _ if v < 0 => format!("({v}{suffix})"),
        _ => format!("{v}{suffix}"),
    }
}

/// The shortest decimal that is read as the number.
fn number(v: f64, elem: DType) -> String {
    let text = match elem {
        _ if v.is_nan() => "NAN".into(),
        _ if v.is_infinite() => if v > 0.0 { "INFINITY" } else { "-INFINITY" }.into(),
        DType::Float(Format::F32) => format!("{:?}f", v as f32),
        _ => format!("{v:?}"),
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}
