//! Every op is declared whole, and its documentation is current.

use std::path::Path;

use ngc_dialects::{FAMILIES, docs};
use ngc_ir::op_def::{AttrKind, Default, Semantics, Syntax};
use ngc_ir::{AttrDict, OpDef, Signature, Type};
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
