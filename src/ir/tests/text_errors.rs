//! What is said about malformed text: the source and the messages side by side.

use std::fmt::Write;

use ngc_ir::Sources;
use ngc_ir::text::{ParseOptions, decode_source, parse_module};

/// The diagnostics of a text, one a line, each with its place.
fn errors(text: &str) -> String {
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let file = sources.add("f", text, 1);
    let mut out = String::new();
    match parse_module(&context, &sources, file, &ParseOptions::default()) {
        Ok(_) => out.push_str("no error"),
        Err(found) => {
            for d in found.0 {
                let place = |loc| {
                    sources.resolve(loc).map_or("?".into(), |(_, p)| format!("{}:{}", p.line, p.column))
                };
                let _ = writeln!(out, "{}: {}", place(&d.loc), d.message);
                for (loc, note) in &d.notes {
                    let _ = writeln!(out, "  {}: {note}", place(loc));
                }
            }
        }
    }
    out
}

/// Texts and what is said about them.
fn check(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{text}\n    {}\n", errors(text).replace('\n', "\n    "))).collect()
}

#[test]
fn long_names_and_numbers_are_cut() {
    let (name, number) = ("x".repeat(1000), "9".repeat(1000));
    for text in [
        format!("#y = #{name}"),
        format!("func.func @f() {{ %0 = ng.{name} }}"),
        format!("func.func @f() {{ %0 = ng.constant {number} : i32 }}"),
        format!("func.func @f() {{ %0 = ng.exp %{name} : f32 }}"),
        format!("func.func @f(%x: !{name}) {{ return }}"),
    ] {
        let found = errors(&text);
        assert!(found.contains("...") && found.len() < 200, "{found}");
    }
}

#[test]
fn an_exponent_needs_a_decimal_point() {
    for (text, message) in [
        (
            "%0 = ng.constant 1e-05 : f32",
            "2:18: a number with an exponent has a decimal point: write 1.0e-05\n",
        ),
        ("%0 = ng.constant dense<[-12E5]> : tensor<1xf32>", "write 12.0E5\n"),
        ("%0 = ng.constant 1en : f32", "expected ':', found 'en'\n"),
    ] {
        let found = errors(&format!("func.func @f(%x: f32) {{\n{text}\nreturn }}"));
        assert!(found.contains(message), "{text}: {found}");
    }
}

#[test]
fn a_byte_order_mark_is_no_text() {
    let text = decode_source("f", b"\xef\xbb\xbffunc.func".to_vec()).expect("text");
    assert_eq!(text, "func.func");
    let error = decode_source("f", b"\xef\xbb\xbfab\xff".to_vec()).expect_err("no text");
    assert!(format!("{:?}", error.loc).contains("column: 3"), "{:?}", error.loc);
}

/// As [`check`], for texts inside a function of `%x: f32`, on its second line.
fn check_ops(texts: &[&str]) -> String {
    let in_function = |text: &str| errors(&format!("func.func @f(%x: f32) {{\n{text}\nreturn }}"));
    texts.iter().map(|text| format!("{text}\n    {}\n", in_function(text).replace('\n', "\n    "))).collect()
}

#[test]
fn ops() {
    insta::assert_snapshot!(check_ops(&[
        "%0 = ng.ad %x, %x : f32",
        "%0 = ng.add %x, %y : f32",
        "%0 = ng.add %x, %x f32",
        "%0 = ng.add %x, %x {a = } : f32",
        "%0 = ng.add %x, %x : f33",
        "%0 = ng.add %x, %x : f64",
        "%0 = ng.add %x, %x : f32, f32",
        "%0:2 = ng.add %x, %x : f32",
        "%x = ng.exp %x : f32",
        "%0 = ng.exp %x#1 : f32",
        "%0 = ng.constant : f32",
        "%0 = ng.constant 1 : f32",
        "%0 = ng.constant true : f32",
        "call @g : () -> ()",
        "foo.bar %x",
        "\"foo.bar\"(%x) : (f32) -> ()",
        "\"ng.exp\"(%x) : (f32, f32) -> f32",
        "\"ng.exp\"(%x) (f32) -> f32",
        "nonsense",
        "ng.exp %x : f32 loc(callsite(\"a\" at))",
    ]));
}

#[test]
fn attributes() {
    insta::assert_snapshot!(check_ops(&[
        "ng.exp %x {a = [1, 2} : f32",
        "ng.exp %x {a = 1, a = 2} : f32",
        "ng.exp %x {a = #undefined} : f32",
        "ng.exp %x {a = #foo.bar} : f32",
        "ng.exp %x {a = 300 : i8} : f32",
        "ng.exp %x {a = 99999999999999999999999} : f32",
        "ng.exp %x {a = 0x1FFFF : f16} : f32",
        "ng.exp %x {a = \"\\q\"} : f32",
        "ng.exp %x {a = \"abc} : f32",
        "ng.exp %x {a = dense<[[1, 2], [3]]> : tensor<2x2xi8>} : f32",
        "ng.exp %x {a = dense<[1, 2]> : tensor<3xi8>} : f32",
        "ng.exp %x {a = dense<[1, 2]> : tensor<1x2xi8>} : f32",
        "ng.exp %x {a = dense<[1, x]> : tensor<2xi8>} : f32",
        "ng.exp %x {a = dense<1> : tensor<?xi8>} : f32",
        "ng.exp %x {a = dense<\"0x012\"> : tensor<2xi8>} : f32",
        "ng.exp %x {a = dense<\"0x01\"> : tensor<2xi16>} : f32",
        "ng.exp %x {a = dense<\"0xgg\"> : tensor<2xi16>} : f32",
        "ng.exp %x {a = array<i8: 1, 256>} : f32",
        "ng.exp %x {a = loc(\"f\":99999999999:1)} : f32",
    ]));
}

#[test]
fn types() {
    insta::assert_snapshot!(check(&[
        "func.func private @f(tensor<99999999999999999999999xf32>)",
        "func.func private @f(tensor<4294967296x4294967296xf32>)",
        "func.func private @f(tensor<2x3f32>)",
        "func.func private @f(tensor<2x?x>)",
        "func.func private @f(tensor<*xf32>)",
        "func.func private @f(!foo.bar)",
        "func.func private @f(!undefined)",
    ]));
}

#[test]
fn structure() {
    insta::assert_snapshot!(check(&[
        "module {",
        "module { } }",
        "module",
        "func.func @f(%x: f32 -> f32 { return %x : f32 }",
        "func.func @f(%x: f32, %x: f32) { return }",
        "func.func @f(f32) { return }",
        "func.func f() { return }",
        "func.func @f() { \"a.b\"()[^bb1] : () -> () }",
        "func.func @f() {\n^bb1: return\n^bb1: return }",
        "{-# dialect_resources: { builtin: { k: \"0x01\" } } #-}",
        "{-# dialect_resources: { builtin: { k: \"0x0300000001\" } } #-}",
        "{-# dialect_resources: { builtin: { k: \"0x0400000001\", k: \"0x0400000001\" } } #-}",
    ]));
}

#[test]
fn aliases() {
    insta::assert_snapshot!(check(&[
        "!a = !b\n!b = !a",
        "!a = f32\n!a = f64",
        "#a.b = 1",
        "#a",
        "#a = f32\nfunc.func @f() loc(#a)",
    ]));
}

/// Each function reports its first error, and those of several functions come in the order of the text.
#[test]
fn several_functions() {
    let padding = "  // a comment that makes the body long enough to be read on its own\n".repeat(4);
    let function =
        |name: &str, body: &str| format!("func.func @{name}(%x: f32) {{\n{padding}  {body}\n  return\n}}\n");
    let text = [
        function("a", "%0 = ng.exp %y : f32"),
        function("b", "%0 = ng.exp %x : f32"),
        function("c", "%0 = ng.ex %x : f32"),
        "func.func @d(%x: f33) { return }\n".to_string(),
        function("e", "%0 = ng.exp %x :"),
    ]
    .concat();
    insta::assert_snapshot!(errors(&text));
}

#[test]
fn nesting_is_bounded() {
    let deep = |open: &str, close: &str, n: usize| {
        format!("\"t.f\"() {{a = {}{}}} : () -> ()", open.repeat(n), close.repeat(n))
    };
    assert_eq!(errors(&deep("[", "]", 100_000)), "1:269: brackets are nested more than 256 levels deep\n");
    assert!(!errors(&deep("[", "]", 250)).contains("nested"));
    assert!(!errors(&deep("(", ")->()", 250)).contains("nested"));
    assert_eq!(errors(&"(".repeat(1_000_000)), "1:257: brackets are nested more than 256 levels deep\n");
    assert_eq!(errors(&format!("{}{}", "module {".repeat(200), "}".repeat(200))), "no error");

    let bomb: String = (0..100).map(|i| format!("#a{} = [#a{i}, #a{i}]\n", i + 1)).collect();
    assert_eq!(errors(&format!("#a0 = [1]\n{bomb}")), "17:1: alias '#a16' is too large when written out\n");
    let chain: String = (0..1000).map(|i| format!("#a{i} = [#a{}]\n", i + 1)).collect();
    assert_eq!(errors(&format!("{chain}#a1000 = 1")), "64:9: aliases are nested more than 256 levels deep\n");
}

#[test]
fn bytes_that_are_no_text() {
    let error = decode_source("f", b"module {\n  \xc3\xa9\xff }".to_vec()).unwrap_err();
    let (_, at) = Sources::new().resolve(&error.loc).unwrap();
    assert_eq!((at.line, at.column), (2, 4));
    assert_eq!(error.message, "the text is not UTF-8: byte 0xff is out of place");
}
