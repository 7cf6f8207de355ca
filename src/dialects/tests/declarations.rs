//! Every op is declared whole, and its documentation is current.

use std::path::Path;

use ngc_dialects::{FAMILIES, docs};
use ngc_ir::op_def::{AttrKind, Default, Semantics, Syntax};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{AttrDict, OpDef, Signature, Sources, Type};
use ngc_numerics::Format;

fn ops() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.iter().flat_map(|(_, ops)| ops.iter().copied())
}

#[test]
fn declarations_are_whole() {
    for def in ops() {
        let name = def.name;
        assert!(!def.summary.is_empty() && !def.summary.ends_with('.'), "{name}: summary {:?}", def.summary);
        assert!(!def.description.is_empty(), "{name} has no description");
        let spelling = match def.syntax {
            Syntax::Module => "module",
            _ => name,
        };
        assert!(def.example.contains(spelling), "{name}: example {:?}", def.example);
        for attribute in def.attributes {
            assert!(!attribute.doc.is_empty(), "{name}: attribute {} is not described", attribute.name);
            if let (AttrKind::Enum(names), Default::Str(default)) = (attribute.kind, attribute.default) {
                assert!(names.contains(&default), "{name}: {} has default {default}", attribute.name);
            }
        }
        if name.starts_with("ng.") {
            assert!(!def.results.is_empty(), "{name} has no result");
            assert!(!matches!(def.semantics, Semantics::None), "{name} has no meaning");
        }
    }
}

/// The documentation takes an op's numeric attributes, in order, for the parameters of its formula.
#[test]
fn parameters_are_the_numeric_attributes() {
    for def in ops() {
        let Semantics::Elementwise(meaning) = def.semantics else { continue };
        let operands = vec![Type::float(Format::F32); def.operands.len()];
        let signature = Signature { def, operands: &operands, attrs: &AttrDict::EMPTY };
        let meaning = meaning(&signature).unwrap_or_else(|e| panic!("{}: {e}", def.name));
        let defaults: Vec<f64> = def
            .attributes
            .iter()
            .filter(|a| a.kind == AttrKind::Float)
            .map(|a| match a.default {
                Default::Float(v) => v,
                other => panic!("{}: {} has {other:?}", def.name, a.name),
            })
            .collect();
        assert_eq!(meaning.params, defaults, "{}", def.name);
        assert_eq!(meaning.function.arity, def.operands.len(), "{}", def.name);
    }
}

#[test]
fn the_op_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    let page = docs::ops_markdown();
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/ops.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/ops.md is out of date; NGC_BLESS=1 cargo test -p ngc-dialects renews it");
}

#[test]
fn examples_parse_and_verify() {
    let context = ngc_dialects::context();
    let mut wrong = String::new();
    for def in ops() {
        let text = around(def);
        let mut sources = Sources::new();
        let file = sources.add(def.name, text.as_str(), 1);
        let module = parse_module(&context, &sources, file, &ParseOptions::default());
        let verified = module.and_then(|module| {
            let found = module.ops().any(|top| {
                def.syntax == Syntax::Module
                    || module.body.is(top, def)
                    || module.body.body(top).is_some_and(|b| b.walk().into_iter().any(|op| b.is(op, def)))
            });
            assert!(found, "the example of {} is of another op", def.name);
            ngc_ir::verifier::verify(&context, &module)
        });
        if let Err(errors) = verified {
            let messages: Vec<&str> = errors.0.iter().map(|d| d.message.as_str()).collect();
            wrong += &format!("{}: {}\n{text}\n", def.name, messages.join("; "));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A module around an example: its free values become arguments of the types that the example names.
fn around(def: &OpDef) -> String {
    let (example, free) = (def.example, free_values(def.example));
    let arguments: Vec<String> = free.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let head = format!("func.func @example({})", arguments.join(", "));
    match def.syntax {
        Syntax::Module | Syntax::Func => example.into(),
        Syntax::Return => format!("{head} -> {} {{\n  {example}\n}}\n", free[0].1),
        Syntax::Call => {
            format!(
                "func.func private @f({0}) -> {0}\n{head} {{\n  {example}\n  func.return\n}}\n",
                free[0].1
            )
        }
        _ => format!("{head} {{\n  {example}\n  func.return\n}}\n"),
    }
}

/// The operands of an example, each with its type; regions see those that they need.
fn free_values(example: &str) -> Vec<(&str, &str)> {
    let head = example.lines().next().unwrap_or_default().trim_end_matches(" {");
    let (_, op) = head.split_once(" = ").filter(|(name, _)| name.starts_with('%')).unwrap_or(("", head));
    let Some((op, types)) = op.rsplit_once(" : ") else { return Vec::new() };
    let operands = op.split(" {").next().unwrap_or(op);
    let names: Vec<&str> =
        operands.split([' ', ',', '(', ')']).filter(|word| word.starts_with('%')).collect();
    let types = types.split(" -> ").next().unwrap_or(types).trim_matches(['(', ')']);
    let types: Vec<&str> = types.split(", ").collect();
    let ty = |i: usize| if types.len() == 1 { types[0] } else { types[i] };
    let mut free: Vec<(&str, &str)> = names.iter().enumerate().map(|(i, &name)| (name, ty(i))).collect();
    free.sort_by_key(|&(name, _)| name);
    free.dedup();
    free
}
