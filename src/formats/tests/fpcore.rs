//! FPCore: what is read, what is refused and where, and that nothing makes it panic.

use std::sync::LazyLock;

use ngc_formats::fpcore::{Imported, Language, export, import};
use ngc_ir::verifier::verify;
use ngc_ir::{Attr, Context, Module, Sources};
use proptest::prelude::*;

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

fn read(text: &str) -> Result<Imported, (String, bool)> {
    let mut sources = Sources::new();
    let file = sources.add("f.fpcore", text, 1);
    let source = sources.file(file).expect("it was added");
    let found = import(&CONTEXT, source, file).map_err(|e| {
        let place = sources
            .resolve(&e.diagnostic.loc)
            .map_or(String::new(), |(_, p)| format!("{}:{}: ", p.line, p.column));
        (format!("{place}{}", e.diagnostic.message), e.unsupported)
    })?;
    verify(&CONTEXT, &found.module).expect("an imported module verifies");
    Ok(found)
}

fn module(text: &str) -> Module {
    read(text).unwrap_or_else(|(e, _)| panic!("{e}")).module
}

fn ranges(text: &str) -> Vec<Option<(f64, f64)>> {
    let module = module(text);
    let op = module.functions()[0];
    let dicts = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).expect("there are arguments");
    dicts
        .iter()
        .map(|dict| {
            let Attr::Dict(dict) = dict else { panic!("a dictionary") };
            let range = dict.get("ng.range")?.as_array()?;
            Some((range[0].as_float()?, range[1].as_float()?))
        })
        .collect()
}

fn ops(text: &str) -> Vec<String> {
    let module = module(text);
    let body = module.body.body(module.functions()[0]).expect("it has a body");
    body.walk().into_iter().map(|op| body.name(op).to_string()).collect()
}

fn refused(text: &str, message: &str, unsupported: bool) {
    match read(text) {
        Ok(_) => panic!("{text} is read"),
        Err(found) => assert_eq!(found, (message.to_string(), unsupported), "{text}"),
    }
}

#[test]
fn preconditions_become_ranges() {
    let max = f64::MAX;
    for (pre, expected) in [
        ("(< 1 x)", Some((1.0f64.next_up(), max))),
        ("(>= x 1)", Some((1.0, max))),
        ("(<= -1 x 1/3)", Some((-1.0, 1.0 / 3.0))),
        ("(< x 1/10)", Some((-max, 0.1f64.next_down()))),
        ("(<= (fabs x) 710)", Some((-710.0, 710.0))),
        ("(> 5 (- x))", Some((-5.0f64.next_down(), max))),
        ("(== x 10864)", Some((10864.0, 10864.0))),
        ("(or (<= 1 x 2) (and (< 3 x) (< x 4)))", Some((1.0, 4.0f64.next_down()))),
        ("(!= x 0)", None),
        ("(or (< x 1) (> x 2))", None),
        ("TRUE", None),
        ("(and (< x 0) (> x 0))", None),
        ("(<= x 1e400)", None),
    ] {
        assert_eq!(ranges(&format!("(FPCore (x) :pre {pre} x)")), [expected], "{pre}");
    }
    assert_eq!(
        ranges("(FPCore (x e) :pre (and (< (* 2 (fabs x)) e) (< e 8) (<= 1 x)) (+ x e))"),
        [Some((1.0, max)), Some((2.0, 8.0f64.next_down()))]
    );
    assert_eq!(
        ranges("(FPCore (x) :precision binary32 :pre (< x 0.1) x)")[0].map(|r| r.1),
        Some(f64::from(0.1f32.next_down()))
    );
}

#[test]
fn what_ranges_do_not_say_is_kept() {
    let found = read("(FPCore (x y) :pre (and (<= 0 x 1) ; the unit interval\n  (< x y)) (+ x y))")
        .unwrap_or_else(|(e, _)| panic!("{e}"));
    assert_eq!(found.remarks.0.len(), 1);
    let op = found.module.functions()[0];
    let pre = found.module.body.attr(op, "fpcore.pre").and_then(Attr::as_str);
    assert_eq!(pre, Some("(and (<= 0 x 1) (< x y))"));
}

#[test]
fn literals_stay_what_they_are_over_the_reals() {
    let constant = ["ng.constant", "ng.constant", "ng.div", "func.return"];
    assert_eq!(ops("(FPCore () 0.1)"), constant);
    assert_eq!(ops("(FPCore () 13/500)"), constant);
    for exact in ["0.5", "-3", "0x1.8p-3", "(digits 3 -2 2)", "1e22", "6004799503160661e-1000", "1e400"] {
        let found = ops(&format!("(FPCore () {exact})"));
        assert_eq!(found, ["ng.constant", "func.return"], "{exact}");
    }
}

#[test]
fn names_are_symbols() {
    let module =
        module("(FPCore (x) :name \"2 a×b \\\"c\\\"\" x) (FPCore (x) :name \"2 a b c\" x) (FPCore g (x) x)");
    let names: Vec<&str> = module
        .functions()
        .into_iter()
        .filter_map(|op| module.body.attr(op, "sym_name").and_then(Attr::as_str))
        .collect();
    assert_eq!(names, ["f2_a_b_c", "f2_a_b_c_2", "g"]);
}

#[test]
fn errors_name_the_place() {
    for (text, message) in [
        ("", "1:1: no FPCore: the file is empty"),
        ("(FPCore (x) (+ x", "1:13: this bracket is never closed"),
        ("(FPCore (x)\n (+ x 1)))", "2:10: ')' closes nothing"),
        ("(FPCore (x] x)", "1:11: '(' is closed by ')'"),
        ("(FPCore (x) (+ x 1e))", "1:18: '1e' is no number"),
        ("(FPCore (x) (+ x 1/0))", "1:18: '1/0' divides by zero"),
        (
            "(FPCore (x) (+ x 1e99999999999999999999))",
            "1:18: a number with exponent 1099511627776 is out of reach: ngc reads up to 20000",
        ),
        ("(FPCore (x) \"", "1:13: this string has no end"),
        ("(FPCore (x) (+ x y))", "1:18: 'y' is neither an argument nor bound by a let"),
        ("(FPCore (x) (+ x))", "1:13: '+' takes 2 operands, here are 1"),
        ("(FPCore (x) (+ x (< x 1)))", "1:18: '+' takes numbers, this is a truth value"),
        ("(FPCore (x) (if x x x))", "1:17: the condition is a number, not a truth value"),
        ("(FPCore (x) (if TRUE x FALSE))", "1:13: one branch is a number, the other a truth value"),
        ("(FPCore (x) (let ((y)) y))", "1:19: a binding is (name value)"),
        ("(FPCore (x x) x)", "1:12: there are two arguments 'x'"),
        ("(FPCore (x) :pre x)", "1:1: each property has one value"),
        ("(FPCore)", "1:1: (FPCore name? (arguments) :property value ... expression) is the form"),
        ("x", "1:1: (FPCore name? (arguments) :property value ... expression) is the form"),
    ] {
        refused(text, message, false);
    }
    for (text, message) in [
        ("(FPCore (x) (tgamma x))", "1:13: ngc has no operator 'tgamma'"),
        ("(FPCore (x) (while (< x 1) ((x 0 x)) x))", "1:13: 'while': ngc does not read a loop in FPCore"),
        ("(FPCore (x) (tensor ((i 3)) i))", "1:13: 'tensor': ngc does not read a tensor in FPCore"),
        ("(FPCore (x) (ref x 0))", "1:13: 'ref': ngc does not read an element of an array in FPCore"),
        ("(FPCore ((x 3)) x)", "1:10: ngc does not read arrays in FPCore"),
        (
            "(FPCore (x) :precision binary128 x)",
            "1:24: precision 'binary128'; ngc has binary64, binary32, binary16, bfloat16",
        ),
        (
            "(FPCore (x) (! :round toZero (sqrt x)))",
            "1:23: ngc rounds to nearest, ties to even (:round nearestEven), only",
        ),
    ] {
        refused(text, message, true);
    }
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("(FPCore (x) {}x{})", "(- ".repeat(depth), ")".repeat(depth));
    assert!(read(&nested(255)).is_ok());
    refused(&nested(256), "1:778: brackets are nested deeper than 256 levels", false);
    let _ = read(&"(".repeat(1 << 20));
    let _ = read(&"(FPCore () (let* ((".repeat(1000));
}

#[test]
fn what_a_language_lacks_is_refused_by_name() {
    let module = module("(FPCore (x) :precision binary16 (sqrt x))");
    let e = export(&module, Language::C99).expect_err("C99 has no binary16");
    assert_eq!(e.to_string(), "@main: C99 has no format f16");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = read(&text);
    }

    /// What is read is written and read again.
    #[test]
    fn any_tokens_are_read_or_refused(tokens in prop::collection::vec(0..TOKENS.len(), 1..40)) {
        let inner: Vec<&str> = tokens.into_iter().map(|t| TOKENS[t]).collect();
        let text = format!("(FPCore (x y) {})", inner.join(" "));
        if let Ok(found) = read(&text)
            && let Ok(written) = export(&found.module, Language::FpCore)
        {
            prop_assert!(read(&written.text).is_ok(), "{}", written.text);
        }
    }
}

const TOKENS: &[&str] = &[
    "(",
    ")",
    "(",
    ")",
    "x",
    "y",
    "1",
    "0.1",
    "-0",
    "1e300",
    "+",
    "-",
    "*",
    "/",
    "if",
    "<",
    "==",
    "let",
    "let*",
    "!",
    ":precision",
    "binary32",
    ":pre",
    ":name",
    "\"a\"",
    "and",
    "not",
    "TRUE",
    "fmin",
    "round",
    "copysign",
    "PI",
    "NAN",
    "pow",
    "fma",
    "cast",
    "(- x)",
    "(+ x y)",
    "(< x y)",
    "((z 1))",
    "isnan",
    "while",
    "FPCore",
    "digits",
    "&",
    "λ",
];
