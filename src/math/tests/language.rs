//! What is an implementation, and what is refused, with which words at which place.

use ngc_ir::render::{RenderOptions, render};
use ngc_ir::{Diagnostic, Sources};
use ngc_math::check::check;
use ngc_math::text::parse;

/// The message that a text is refused with, as it is shown; nothing where it is right.
fn refusal(text: &str) -> String {
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let file = sources.add("f.impl", text, 1);
    let found: Result<(), Diagnostic> =
        parse(text, file).and_then(|texts| check(&context, &texts).map(|_| ()));
    found.err().map_or(String::new(), |d| render(&d, &sources, RenderOptions::default()))
}

/// Refusals of bodies of `impl exp(float x)`, each under what is wrong with it.
fn refusals(bodies: &[(&str, &str)]) -> String {
    let show = |(what, body): &(&str, &str)| {
        let text = if body.contains("impl") {
            (*body).to_string()
        } else {
            format!("impl exp(float x) {{\n{body}\n}}\n")
        };
        let message = refusal(&text);
        assert!(!message.is_empty(), "{what} is not refused");
        format!("{what}:\n{message}\n")
    };
    bodies.iter().map(show).collect()
}

#[test]
fn the_example_of_the_grammar_is_right() {
    let text = "impl sin(float x) {\n  split_float x -> s e m\n  mk_float 1 e m -> y\n  \
                poly[1: 1.0, 3: -0.1666] y -> z\n  mul z s -> r\n  ret r\n}\n";
    assert_eq!(refusal(text), "");
}

#[test]
fn an_implementation_calls_nothing_and_touches_no_memory() {
    insta::assert_snapshot!(refusals(&[
        ("a call out", "  system(\"rm\") -> r\n  ret r"),
        ("an op that there is not", "  system x -> r\n  ret r"),
        ("a pointer", "impl exp(float *x) { ret x }"),
        ("a pointer to data", "  load *x -> r\n  ret r"),
        ("another function", "  log x -> r\n  ret r"),
        ("a reduction", "  reduce_sum x -> r\n  ret r"),
    ]));
}

#[test]
fn names_stand_for_one_value() {
    insta::assert_snapshot!(refusals(&[
        ("a name twice", "  add x 1 -> r\n  mul r 2 -> r\n  ret r"),
        ("a name before its value", "  add x late -> r\n  ret r"),
        ("a name that is misspelt", "  add x 1 -> sum\n  ret sun"),
        ("too few names", "  two_sum x 1 -> s\n  ret s"),
        ("no return", "  add x 1 -> r"),
        ("a statement behind the return", "  ret x\n  add x 1 -> r"),
        ("a result of another type", "  bitcast[i32] x -> r\n  ret r"),
        ("a function twice", "impl exp(float x) { ret x }\nimpl exp(float x) { ret x }"),
    ]));
}

#[test]
fn places_in_tables_are_proven() {
    insta::assert_snapshot!(refusals(&[
        ("any place", "  bitcast[i32] x -> b\n  table[1, 2] b -> r\n  ret r"),
        ("one too far", "  bitcast[i32] x -> b\n  andi b 2 -> i\n  table[1, 2] i -> r\n  ret r"),
        ("a negative one", "  convert[i32] x -> k\n  min k 1 -> i\n  table[1, 2] i -> r\n  ret r"),
    ]));
    for bound in ["andi b 1 -> i", "shrui[31] b -> i", "min b 1 -> low\n max low 0 -> i"] {
        let body = format!("bitcast[i32] x -> b\n {bound}\n table[1, 2] i -> r\n ret r");
        assert_eq!(refusal(&format!("impl exp(float x) {{\n{body}\n}}")), "", "{bound}");
    }
}

#[test]
fn numbers_and_attributes_fit() {
    insta::assert_snapshot!(refusals(&[
        ("a coefficient too large", "  poly[0: 1, 1: 1e39] x -> r\n  ret r"),
        ("falling powers", "  poly[1: 1, 0: 1] x -> r\n  ret r"),
        ("an attribute that there is not", "  poly[0: 1, 1: 1, scheme = fast] x -> r\n  ret r"),
        ("a word that nothing takes", "  add[fast] x 1 -> r\n  ret r"),
        (
            "a shift beyond the width",
            "  bitcast[i32] x -> b\n  shli[32] b -> c\n  bitcast[f32] c -> r\n  ret r"
        ),
        ("a cast to another width", "  bitcast[i64] x -> b\n  convert[f32] b -> r\n  ret r"),
        (
            "a fraction for an integer",
            "  bitcast[i32] x -> b\n  add b 1.5 -> c\n  bitcast[f32] c -> r\n  ret r"
        ),
        ("mixed formats", "  convert[f64] x -> d\n  add d x -> r\n  ret r"),
        ("no file", "impl"),
    ]));
}

#[test]
fn exponents_are_proven_to_be_near() {
    insta::assert_snapshot!(refusals(&[
        ("any exponent", "  scaleb x x -> r\n  ret r"),
        (
            "an exponent that is too large",
            "  min x 1000 -> k\n  max k -1000 -> k2\n  scaleb x k2 -> r\n  ret r"
        ),
        ("any exponent of f64", "  convert[f64] x -> d\n  scaleb d d -> r\n  convert[f32] r -> y\n  ret y"),
    ]));
}
