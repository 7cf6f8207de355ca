//! How diagnostics look, the source beside the message.

use ngc_ir::render::{RenderOptions, render};
use ngc_ir::{Diagnostic, Loc, LocKind, Severity, Sources};

const SOURCE: &str =
    "func.func @f(%x: f32) -> f32 {\n  %y = ng.exp %x : f32\n\t%größe = ng.log %y : f32\r\n}";

/// The source, then each diagnostic as it is drawn.
fn drawn(diagnostics: impl FnOnce(&dyn Fn(&str) -> Loc) -> Vec<Diagnostic>) -> String {
    let mut sources = Sources::new();
    let file = sources.add("model.ngir", SOURCE, 1);
    let at = move |needle: &str| Loc::Source { file, offset: SOURCE.find(needle).unwrap() as u32 };
    let mut out = format!("{SOURCE}\n----\n");
    for d in diagnostics(&at) {
        out.push_str(&render(&d, &sources, RenderOptions::default()));
        out.push_str("----\n");
    }
    out
}

#[test]
fn places_in_the_source() {
    insta::assert_snapshot!(drawn(|at| vec![
        Diagnostic::error(at("ng.exp"), "'ng.exp' expects 2 operands, but has 1"),
        Diagnostic::error(at("%größe"), "a name after a tab"),
        Diagnostic::error(at("%x: f32"), "value %x is defined twice")
            .note(at("%y"), "second definition here"),
        Diagnostic::new(Severity::Warning, at("}"), "a place at the last character"),
        Diagnostic::new(Severity::Remark, at("ng.log"), "[log-shift] log(exp(x)) -> x"),
        Diagnostic::error(Loc::Source { file: 0, offset: u32::MAX }, "an offset beyond the end"),
    ]));
}

#[test]
fn places_elsewhere() {
    let line = |file: &str, line, column| {
        Loc::explicit(LocKind::FileLineCol { file: file.into(), line, column, end: None })
    };
    insta::assert_snapshot!(drawn(|at| vec![
        Diagnostic::error(line("model.py", 3, 4), "a place in another file")
            .note(line("model.py", 1, 1), "with a note in it")
            .note(at("ng.exp"), "and one here"),
        Diagnostic::error(at("ng.exp"), "a place here").note(line("model.py", 1, 1), "with a note elsewhere"),
        Diagnostic::error(Loc::Unknown, "no place at all").note(Loc::Unknown, "and a note"),
        Diagnostic::error(Loc::name("layer1.attn"), "only a name"),
        Diagnostic::error(Loc::explicit(LocKind::Name("layer1".into(), at("ng.exp"))), "a name with a place"),
        Diagnostic::error(Loc::explicit(LocKind::CallSite(at("ng.exp"), at("ng.log"))), "inlined"),
        Diagnostic::error(Loc::fused([Loc::name("a"), line("b.py", 7, 1)]), "made from several",),
    ]));
}

#[test]
fn a_piece_of_a_split_file_counts_lines_from_the_top() {
    let mut sources = Sources::new();
    let file = sources.add("tests.ngir", "a\nbad\n", 40);
    let text = render(
        &Diagnostic::error(Loc::Source { file, offset: 2 }, "bad"),
        &sources,
        RenderOptions::default(),
    );
    assert!(text.contains("tests.ngir:41:1"), "{text}");
}

#[test]
fn colours_on_request() {
    let sources = Sources::new();
    let mut with_place = Sources::new();
    let file = with_place.add("a", "b", 1);
    let d = Diagnostic::error(Loc::Source { file, offset: 0 }, "m");
    assert!(render(&d, &with_place, RenderOptions { color: true }).contains("\u{1b}["));
    assert!(!render(&d, &with_place, RenderOptions::default()).contains('\u{1b}'));
    assert_eq!(render(&d, &sources, RenderOptions::default()), "error: m\n");
}
