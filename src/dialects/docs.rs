//! The op reference, `docs/ops.md`, written from the declarations.

use std::fmt::Write;

use ngc_ir::op_def::{Arity, AttrDef, AttrKind, Default, OpDef, OperandDef};
use ngc_ir::{Attr, AttrDict, Ident, Semantics};
use ngc_numerics::ScalarFn;

use crate::FAMILIES;
use crate::structure::function_of;

const INTRODUCTION: &str = "\
# Operations

Written from the declarations in `src/dialects`; `NGC_BLESS=1 cargo test -p ngc-dialects` renews this page.

Ops of the `ng` dialect work on scalars and tensors alike. Elementwise ops broadcast by NumPy's rule; their meaning is
one real function, the *formula*, rounded once to the format of the result, to nearest with ties to even. In a formula
`x`, `y`, `z` are the operands in order. Where an op is *defined by steps*, each step is rounded by itself.
";

/// The page.
pub fn ops_markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    for (family, ops) in FAMILIES.iter().filter(|(_, ops)| !ops.is_empty()) {
        let names: Vec<String> =
            ops.iter().map(|def| format!("[{}](#{})", def.name, anchor(def.name))).collect();
        let _ = write!(page, "\n## {}\n\n{}\n", capitalised(family), names.join(", "));
        for def in *ops {
            page.push_str(&op_markdown(def));
        }
    }
    page
}

/// The entry of one op.
pub fn op_markdown(def: &'static OpDef) -> String {
    let mut entry = format!("\n### {}\n\n{}.\n\n", def.name, capitalised(def.summary));
    if !def.description.is_empty() {
        let _ = write!(entry, "{}\n\n", def.description);
    }
    let _ = write!(entry, "```mlir\n{}\n```\n", def.example);
    let mut lines = formulas(def);
    if let Semantics::Decomposition(_) = def.semantics {
        lines.push("defined by steps".into());
    }
    if def.traits.commutative {
        lines.push("the first two operands may be exchanged".into());
    }
    if !lines.is_empty() {
        entry.push('\n');
    }
    for line in lines {
        let _ = writeln!(entry, "- {line}");
    }
    let operands: Vec<String> = def.operands.iter().map(operand).collect();
    list(&mut entry, "Operands", &operands);
    let attributes: Vec<String> = def.attributes.iter().map(attribute).collect();
    list(&mut entry, "Attributes", &attributes);
    let results: Vec<String> =
        def.results.iter().map(|r| format!("`{}`: {}", r.name, r.kind.describe())).collect();
    list(&mut entry, "Results", &results);
    entry
}

fn list(entry: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(entry, "\n{title}:\n");
    for line in lines {
        let _ = writeln!(entry, "- {line}");
    }
}

fn operand(def: &OperandDef) -> String {
    let arity = match def.arity {
        Arity::One => "",
        Arity::Optional => ", optional",
        Arity::Variadic => ", any number",
    };
    format!("`{}`: {}{arity}", def.name, def.kind.describe())
}

fn attribute(def: &AttrDef) -> String {
    let default = match def.default {
        Default::Required => "required".into(),
        Default::Absent => "optional".into(),
        Default::Int(v) => format!("default {v}"),
        Default::Float(v) => format!("default {v:?}"),
        Default::Bool(v) => format!("default {v}"),
        Default::Str(v) => format!("default \"{v}\""),
    };
    format!("`{}` ({}; {default}): {}", def.name, def.kind.describe(), def.doc)
}

/// The formulas of an elementwise op, one for each spelling of an attribute that chooses among several.
fn formulas(def: &'static OpDef) -> Vec<String> {
    let choices = def.attributes.iter().find_map(|a| match a.kind {
        AttrKind::Enum(names) => Some((a.name, names)),
        _ => None,
    });
    let Some((attribute, names)) = choices else {
        return function_of(def, &AttrDict::EMPTY)
            .map(|f| format!("formula: {}", formula(def, f)))
            .into_iter()
            .collect();
    };
    let spelt = names.iter().filter_map(|&name| {
        let attrs = AttrDict::new([(Ident::new(attribute), Attr::from(name))]);
        let function = function_of(def, &attrs)?;
        Some(format!("formula, `{attribute} = \"{name}\"`: {}", formula(def, function)))
    });
    spelt.collect()
}

/// A formula, and which attributes its parameters are: its numbers, in the order of their declaration.
fn formula(def: &OpDef, function: &ScalarFn) -> String {
    let numbers = def.attributes.iter().filter(|a| a.kind == AttrKind::Float);
    let params: Vec<String> =
        ["a", "b", "c"].iter().zip(numbers).map(|(letter, a)| format!("`{letter}` = `{}`", a.name)).collect();
    match params.is_empty() {
        true => format!("`{}`", function.expr()),
        false => format!("`{}` with {}", function.expr(), params.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if first.is_ascii_lowercase() && is_word(text) => {
            first.to_uppercase().chain(letters).collect()
        }
        _ => text.into(),
    }
}

/// Whether the text begins with a word rather than with a formula.
fn is_word(text: &str) -> bool {
    let word = text.split([' ', ',']).next().unwrap_or_default();
    word.chars().all(|c| c.is_ascii_alphabetic()) && (word.len() > 1 || word == "a")
}

fn anchor(name: &str) -> String {
    name.replace('.', "")
}
