//! Terms of the calculus: which types they have, and which are refused, with which words at which place.

use ngc_ir::render::{RenderOptions, render};
use ngc_ir::{Diagnostic, Sources};
use ngc_math::calculus::combinators::{self, Combinator};
use ngc_math::calculus::infer::{infer, infer_of};
use ngc_math::calculus::meaning;
use ngc_math::calculus::prove::identities;
use ngc_math::text::parse_file;
use ngc_numerics::enclosure::{Enclosure, apply, constant, select};
use ngc_numerics::expr::Node;
use ngc_numerics::{Big, Expr};
use rug::Float;

/// The type of the last term of a file, or the message that it is refused with.
fn typed(text: &str) -> Result<String, String> {
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let number = sources.add("t.impl", text, 1);
    let read = |text: &str| -> Result<String, Diagnostic> {
        let file = parse_file(text, number)?;
        let last = file.definitions.last().expect("a term");
        Ok(infer(&context, last, &file.implementations)?.term.ty.to_string())
    };
    read(text).map_err(|d| render(&d, &sources, RenderOptions::default()))
}

fn has_type(term: &str, ty: &str) {
    let found = typed(&format!("term t(float) = {term}")).unwrap_or_else(|m| panic!("{term}\n{m}"));
    assert_eq!(found, ty, "{term}");
}

#[test]
fn types_of_terms() {
    has_type("GLibC.sinf", "Impl<sin, -inf, inf>");
    has_type("HornerPolynomial<exp, -1, log(2)/2>([1, 1, 0.5])", "Impl<exp, -1, log(2)/2>");
    has_type("HornerPolynomial<erf(x)/x, 0.5, 1>([1, 1, 0.5])", "Impl<erf(x) / x, 0.5, 1>");
    let sine = "let s = HornerPolynomial([1: 1, 3: -0.166]) in let c = HornerPolynomial([0: 1, 2: -0.5]) in \
                fst(DoubleAngle<0, pi/4>(s, c))";
    has_type(sine, "Impl<sin, 0, pi/2>");
    has_type("DoubleAngle(GLibC.sinf, GLibC.cosf)", "Impl<sin, -inf, inf> * Impl<cos, -inf, inf>");
    has_type("snd(HalfAngle<0, pi/2>(GLibC.cosf))", "Impl<cos, 0, pi/4>");
    has_type("AbsReduction(HornerPolynomial<tanh, 0, 4>([1: 1]))", "Impl<tanh, -4, 4>");
    has_type("AbsReduction(HornerPolynomial<cosh, 0, 4>([0: 1]))", "Impl<cosh, -4, 4>");
    has_type("Mirror(HornerPolynomial<atan, 0, 1>([1: 1]))", "Impl<atan, 0, inf>");
    has_type("Mirror(HornerPolynomial<sin, 0, pi/2>([1: 1]))", "Impl<sin, 0, pi>");
    has_type("Mirror<-x, 2 - y, 0>(HornerPolynomial<erfc, 0, 4>([0: 1]))", "Impl<erfc, -4, 4>");
    has_type("Mirror<-x, 1/y, 0>(HornerPolynomial<exp, 0, 4>([0: 1]))", "Impl<exp, -4, 4>");
    has_type("Periodic(HornerPolynomial<sin, -pi/2, pi/2>([1: 1]))", "Impl<sin, -inf, inf>");
    has_type("fst(Quadrant(HornerPolynomial([1: 1]), HornerPolynomial([0: 1])))", "Impl<sin, -inf, inf>");
    has_type("snd(Quadrant(HornerPolynomial([1: 1]), HornerPolynomial([0: 1])))", "Impl<cos, -inf, inf>");
    has_type("ExpBit(HornerPolynomial<exp, -1, 1>([0: 1]))", "Impl<exp, -inf, inf>");
    has_type("ExpBit<1, 16>(HornerPolynomial<exp2, -1, 1>([0: 1]))", "Impl<exp2, -inf, inf>");
    has_type("Logarithmic(HornerPolynomial<log2, 0.5, 2>([0: 1]))", "Impl<log2, 0, inf>");
    has_type("LogTable(HornerPolynomial<log1p, -0.1, 0.1>([1: 1]))", "Impl<log, 0, inf>");
    has_type("Recharacterise<sin, pi/2 - x>(HornerPolynomial<cos, 0, pi/2>([0: 1]))", "Impl<sin, 0, pi/2>");
    has_type("Recharacterise<sin>(HornerPolynomial<cos, 0, pi/2>([0: 1]))", "Impl<sin, 0, pi/2>");
    has_type(
        "Recharacterise<tanh, 2*x, y/(y + 2)>(HornerPolynomial<expm1, 0, 20>([1: 1]))",
        "Impl<tanh, 0, 10>",
    );
    has_type(
        "Recharacterise<sigmoid, -x, 1/(1 + y)>(HornerPolynomial<exp, -9, 9>([1: 1]))",
        "Impl<sigmoid, -9, 9>",
    );
    has_type(
        "Recharacterise<log, x - 1>(HornerPolynomial<log1p, -0.25, 0.5>([1: 1]))",
        "Impl<log, 0.75, 1.5>",
    );
    has_type(
        "SplitDomain(HornerPolynomial<exp, 0, 1>([1]), HornerPolynomial<exp, 1, 2>([1]))",
        "Impl<exp, 0, 2>",
    );
    has_type("Cast<f64>(GLibC.sin)", "Impl<sin, -inf, inf>");
    has_type("Compose(GLibC.expf, HornerPolynomial<sin, 0, 1>([1: 1]))", "Impl<exp(sin(x)), 0, 1>");
}

/// A wider range is one of a narrower one; equal functions are one function.
#[test]
fn subtypes_and_equal_types() {
    let signed = |ty: &str, term: &str| typed(&format!("term t(float) : {ty} = {term}"));
    for (ty, term) in [
        ("Impl<sin, 0, 1>", "GLibC.sinf"),
        ("Impl<cos(pi/2 - x), -1, 1>", "GLibC.sinf"),
        ("Impl<exp(x) - 1, -1, 1>", "GLibC.expm1f"),
        ("Impl<log(1 + x), -0.5, 1>", "GLibC.log1pf"),
        ("Impl<1 - erf(x), -3, 3>", "GLibC.erfcf"),
        ("Impl<sin, 0, 1> * Impl<cos, 0, 1>", "(GLibC.sinf, GLibC.cosf)"),
        ("Impl<sigmoid, -5, 5>", "HornerPolynomial<1/(1 + exp(-x)), -6, 6>([0: 0.5])"),
        ("Impl<exp, -104, 89>", "Cast<f64>(ExpBit(EstrinPolynomial([0: 1, 1: ?, 2: ?])))"),
        ("Impl<atan, -inf, inf>", "AbsReduction(Mirror<1/x, pi/2 - y, 1>(SplitPolynomial([1: 1, 3: ?])))"),
    ] {
        let found = signed(ty, term).unwrap_or_else(|m| panic!("{ty} {term}\n{m}"));
        assert!(!found.is_empty(), "{term}");
    }
}

/// Terms that are refused, each under what is wrong with it.
fn refusals(terms: &[(&str, &str)]) -> String {
    let show = |(what, term): &(&str, &str)| {
        let text =
            if term.contains("term ") { (*term).to_string() } else { format!("term t(float) =\n  {term}\n") };
        match typed(&text) {
            Err(message) => format!("{what}:\n{message}\n"),
            Ok(ty) => panic!("{what} is not refused: {ty}"),
        }
    };
    terms.iter().map(show).collect()
}

#[test]
fn what_does_not_fit_says_which_identity_it_would_need() {
    insta::assert_snapshot!(refusals(&[
        ("functions that are not sine and cosine", "fst(DoubleAngle<0, pi/4>(GLibC.expf, GLibC.y0))"),
        ("sine and cosine in the wrong order", "fst(DoubleAngle<0, pi/4>(GLibC.cosf, GLibC.sinf))"),
        ("a function of which nothing is known", "DoubleAngle<0, pi/4>(GLibC.sinf, GLibC.y0)"),
        ("a function that is neither odd nor even", "AbsReduction(HornerPolynomial<exp, 0, 1>([1, 1]))"),
        ("a function without the period", "Periodic<3>(HornerPolynomial<sin, -3, 3>([1: 1]))"),
        ("a function that does not double", "ExpBit<log(3)>(HornerPolynomial<exp, -1, 1>([1, 1]))"),
        ("a wrong mirror", "Mirror<pi - x, -y>(HornerPolynomial<sin, 0, pi/2>([1: 1]))"),
        ("a wrong formula", "Recharacterise<tanh, 2*x, y/(y + 1)>(HornerPolynomial<expm1, 0, 20>([1: 1]))"),
        ("angles of unknown sign", "HalfAngle<0, 4>(GLibC.cosf)"),
        ("a signature of another function", "term t(float) : Impl<cos, 0, 1> = GLibC.sinf"),
        (
            "a range that is too narrow",
            "term t(float) : Impl<exp, 0, 2> = HornerPolynomial<exp, 0, 1>([1, 1])"
        ),
        ("a gap", "SplitDomain(HornerPolynomial<exp, 0, 1>([1]), HornerPolynomial<exp, 1.5, 2>([1]))"),
        (
            "arguments outside",
            "Compose(HornerPolynomial<exp, 0, 0.5>([1]), HornerPolynomial<sin, 0, 1>([1: 1]))"
        ),
        ("negative logarithms", "term t(float) : Impl<log, -1, 1> = Logarithmic(HornerPolynomial([1]))"),
    ]));
}

#[test]
fn assembly_and_calls_are_no_terms() {
    let logarithm = "impl mine(float x) {\n  split_float x -> s e m\n  poly[0: -1.6, 1: 2.1, 2: -0.5] m -> p\n  \
                     convert[f32] e -> k\n  fma k 0.6931472 p -> r\n  ret r\n}\n";
    let offered = format!("{logarithm}term t(float) : Impl<sin, 0, 1> = mine\n");
    let applied = format!("{logarithm}term t(float) : Impl<sin, 0, 1> = mine(GLibC.sinf)\n");
    insta::assert_snapshot!(refusals(&[
        ("a logarithm in assembly that is offered as a sine", &offered),
        ("assembly that is applied", &applied),
        ("a body", "term t(float) : Impl<sin, 0, 1> = { mul x 0.5 -> r; ret r }"),
        ("a call out", "system(GLibC.sinf)"),
        ("a call out with text", "system(\"rm\")"),
        ("a pointer", "term t(float) : Impl<sin, 0, 1> = *x"),
        ("a library that there is not", "OpenLibm.sin"),
        ("a function that there is not", "GLibC.sinn"),
    ]));
}

#[test]
fn what_is_not_known_is_asked_for() {
    insta::assert_snapshot!(refusals(&[
        ("a polynomial of anything", "HornerPolynomial([1, 1])"),
        ("a polynomial of unknown range", "HornerPolynomial<exp>([1, 1])"),
        ("a name that there is not", "let s = GLibC.sinf in AbsReduction(c)"),
        ("a name twice", "let s = GLibC.sinf in let s = GLibC.cosf in s"),
        ("a combinator that is misspelt", "AbsReductoin(GLibC.sinf)"),
        ("too many terms", "AbsReduction(GLibC.sinf, GLibC.cosf)"),
        ("too many parameters", "Periodic<pi, 2>(GLibC.sinf)"),
        ("a parameter that is none", "Periodic<pie>(GLibC.sinf)"),
        ("a pair where one is wanted", "AbsReduction(DoubleAngle(GLibC.sinf, GLibC.cosf))"),
        ("one where a pair is wanted", "fst(GLibC.sinf)"),
        ("powers that fall", "HornerPolynomial<exp, 0, 1>([3: 1, 1: 1])"),
        ("no period", "Periodic<0>(GLibC.sinf)"),
        ("a range from above to below", "AbsReduction<sin, -1>(GLibC.sinf)"),
        ("a table of three", "ExpBit<log(2), 3>(GLibC.expf)"),
        ("a range that is none", "HornerPolynomial<exp, 1, 0>([1])"),
        ("no term", "term t(float) ="),
    ]));
}

/// What is written is read again, and then written as before.
#[test]
fn printed_terms_are_read_again() {
    let text = "/// A sine.\nterm sin(float) : Impl<sin, 0, pi/2> =\n let s = HornerPolynomial([1: 1,\n 3: ?]) in\n \
                let c = (let d = EstrinPolynomial([1, ?, -0.5e-3]) in d) in // why\n fst(DoubleAngle<0, _>((s, c)))\n\n\
                term p(double) = PiecewisePolynomial<exp, 0, 1, 2>([[1, ?], [1: 2, 3: 4]])\n";
    let print = |text: &str| {
        let file = parse_file(text, 0).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
        file.definitions.iter().map(|d| format!("{d}\n\n")).collect::<String>()
    };
    let once = print(text);
    assert_eq!(print(&once), once);
    assert!(once.contains("fst(DoubleAngle<0, _>((s, c)))") && once.contains("[1: 2, 3: 4]]"), "{once}");
}

/// Every combinator has an example, whose type is inferred and whose exact meaning is its function.
#[test]
fn examples_of_combinators_are_terms() {
    for combinator in combinators::ALL {
        let text = format!("term t(float) = {}", combinator.example);
        let context = ngc_dialects::context();
        let file = parse_file(&text, 0).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
        let found = infer(&context, &file.definitions[0], &[])
            .unwrap_or_else(|d| panic!("{}\n{:?}\n{text}", d.message, d.notes));
        assert!(meaning::meaning(&found.term).is_some_and(|m| !m.is_empty()), "{text}");
        assert_eq!(meaning::refuted(&found.term), None, "{text}");
    }
}

/// The terms of an example, in which the combinator of this name means something else.
fn refuted_with(wrong: &'static Combinator) -> bool {
    let text = format!("term t(float) = {}", wrong.example);
    let context = ngc_dialects::context();
    let file = parse_file(&text, 0).unwrap_or_else(|d| panic!("{}", d.message));
    let others = combinators::ALL.iter().copied().filter(|c| c.name != wrong.name);
    let all: Vec<&'static Combinator> = others.chain([wrong]).collect();
    let found =
        infer_of(&context, &file.definitions[0], &[], &all).unwrap_or_else(|d| panic!("{}", d.message));
    meaning::refuted(&found.term).is_some()
}

fn known(name: &str) -> &'static Combinator {
    combinators::ALL.iter().find(|c| c.name == name).expect("a combinator")
}

/// A combinator that makes something else of true functions is found out, however little it is off.
#[test]
fn a_wrong_combinator_is_refuted() {
    let leaked = |combinator: Combinator| -> &'static Combinator { Box::leak(Box::new(combinator)) };
    let of = |name: &str, meaning| leaked(Combinator { meaning, ..copied(known(name)) });
    assert!(!refuted_with(leaked(copied(known("DoubleAngle")))));
    assert!(refuted_with(of("DoubleAngle", |_, x| vec![x[0][0].clone() * &x[1][0], x[1][0].clone()])));
    assert!(refuted_with(of("AbsReduction", |_, x| vec![
        x[0][0].clone() + Expr::ratio(1, 1 << 60) / Expr::ratio(1 << 60, 1)
    ])));
    // Without the reduction a polynomial is taken where nothing is known of it.
    assert!(refuted_with(of("Periodic", |_, x| vec![x[0][0].clone()])));
    assert!(refuted_with(of("ExpBit", |_, x| vec![x[0][0].clone()])));
    assert!(refuted_with(of("Logarithmic", |_, x| vec![x[0][0].clone()])));
}

fn copied(of: &Combinator) -> Combinator {
    Combinator {
        name: of.name,
        ty: of.ty,
        description: of.description,
        example: of.example,
        parameters: of.parameters,
        arguments: of.arguments,
        types: of.types,
        meaning: of.meaning,
        lower: of.lower,
    }
}

/// Encloses a formula of variables.
fn enclosed(d: &Big, formula: &Expr, x: &[f64]) -> Enclosure<Float> {
    match &*formula.0 {
        Node::Var(n) => Enclosure::point(Float::with_val(400, x[*n])),
        Node::Param(_) => panic!("a parameter"),
        Node::Const(c) => constant(d, c),
        Node::Apply(prim, parts) => {
            let parts: Vec<Enclosure<Float>> = parts.iter().map(|p| enclosed(d, p, x)).collect();
            apply(d, *prim, &parts.iter().collect::<Vec<_>>())
        }
        Node::Select(cmp, parts) => {
            let [a, b, t, e] = parts.each_ref().map(|p| enclosed(d, p, x));
            select::<Big>(*cmp, &a, &b, &t, &e)
        }
    }
}

/// Wherever the left side of an identity has a value and its conditions are met, the right side has the same.
#[test]
fn identities_hold() {
    let d = Big::new(400);
    let zero = Enclosure::point(Float::new(400));
    let numbers = [
        0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.25, 0.1, -0.7, 1.5, 5.0, -6.0, 1e-3, -1e-3, 20.0, 0.96875,
        -0.96875,
    ];
    for identity in identities() {
        let mut met = 0;
        for n in 0..numbers.len().pow(identity.variables as u32) {
            let place = |v: u32| numbers[n / numbers.len().pow(v) % numbers.len()];
            let x: Vec<f64> = (0..identity.variables as u32).map(place).collect();
            let holds = |(cmp, difference): &(ngc_numerics::Cmp, Expr)| {
                enclosed(&d, difference, &x).compare(*cmp, &zero) == Some(true)
            };
            let left = enclosed(&d, &identity.left, &x);
            if left.may_be_nan
                || !left.lo.is_finite()
                || !identity.conditions.iter().all(|any| any.iter().any(holds))
            {
                continue;
            }
            let right = enclosed(&d, &identity.right, &x);
            met += 1;
            assert!(!right.may_be_nan, "{}: no right side at {x:?}", identity.name);
            assert!(
                left.lo <= right.hi && right.lo <= left.hi,
                "{}: at {x:?} {left:?} {right:?}",
                identity.name
            );
            let width = Float::with_val(400, &right.hi - &right.lo).to_f64();
            assert!(
                width < 1e-90 * (1.0 + right.hi.to_f64().abs()),
                "{}: nothing is seen at {x:?}",
                identity.name
            );
        }
        assert!(met > 1, "{} is met at {met} points", identity.name);
    }
}

const INTRODUCTION: &str = "\
# The numerical lambda calculus

Written from `src/math/calculus`; `NGC_BLESS=1 cargo test -p ngc-math` renews this page.

A term says how a function is implemented, its type which function on which range. `Impl<f, a, b>` denotes functions of real numbers
with `f` on `[a, b]` among them distinguished: an implementation may be as inaccurate as it likes, but it is one of `f`. Every
combinator makes of true functions a true function, so no term is an implementation of another function than its type says; how near
it is to it, verifiers say.

```
/// A power of two times a polynomial of the rest.
term exp(float) : Impl<exp, -104, 89> =
  let core = EstrinPolynomial([0: 1, 1: 1, 2: ?, 3: ?, 4: ?, 5: ?, 6: ?, 7: ?]) in
  Cast<f64>(ExpBit(core))
```

- `Impl<f, a, b>` is `Impl<f, c, d>` where `a <= c` and `d <= b`, and `Impl<g, a, b>` where `f(x) = g(x)` for all x in `[a, b]`.
  Equalities are proven by an e-graph over the identities in `src/math/calculus/identities.ngr`, inequalities by enclosures over the
  whole range; what is not proven is refused with the equality that it would need. Points refute, and never prove.
- A polynomial is an implementation of any function on any range, so of the two it is told by parameters or by what is wanted where it
  stands; a name (`let`) has a type of its own at each place of use. `?` stands for a coefficient that is fitted (Remez, rounded to the
  format) to the function on that range. `HornerPolynomial`, `EstrinPolynomial` and `SplitPolynomial` differ in their order of
  evaluation; `PiecewisePolynomial<f, a, b, n>` has one polynomial for each of n parts, in the distance from its middle.
- `GLibC.sinf` is a function of a library: it has its type, runs in the interpreter as the function itself, and is called in C; native
  code does not call it. `(s, c)` is a pair, `fst` and `snd` its parts.
- Assembly is no term: what it computes is not known from its text.

`ngc-math check` says the type of each term and what was proven, and holds it against its function at 300 bits with exact polynomials.
A term is lowered to numerical assembly (`ngc-math emit --language impl`), which the other commands take as well. Outside the range of
its type it says nothing: infinities and NaN are no numbers of it.

`ngc-math synthesize` searches terms: it asks for each combinator whether it fits, fills the open ends with polynomials as short as the
error allows, verifies what is cheap through compiled C99, measures it, and writes what no other term is better than in error, range
and time, for each of several processors where that is asked for; the function is a name, a formula of x, or a file that holds one.
`ngc-math select` takes from that what is needed. `ngc-math verify` looks at all inputs of the range of a term; with `--certain` it
bounds the error of the whole term: on parts on which integers, entries of tables and branches are decided, the roundings by Taylor
forms (`ngc-math emit --language fptaylor` writes these questions), the rest by Taylor series. `ngc-math bound` bounds the approximation
errors of polynomials alone, `ngc-math emit --language gappa` asks Gappa for their rounding errors.

## Combinators

";

/// The page of the calculus, from the declarations.
fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    for c in combinators::ALL {
        page += &format!("### {}\n\n`{}`\n\n{}\n\n    {}\n\n", c.name, c.ty, c.description, c.example);
    }
    page += &format!(
        "## Identities\n\n{} in all.\n\n| name | left | right |\n|---|---|---|\n",
        identities().len()
    );
    for i in identities() {
        page += &format!("| {} | `{}` | `{}` |\n", i.name, i.left, i.right);
    }
    page
}

#[test]
fn the_page_of_the_calculus_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/calculus.md");
    let page = page();
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/calculus.md can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/calculus.md is out of date; NGC_BLESS=1 cargo test -p ngc-math renews it");
}
