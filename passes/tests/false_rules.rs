//! What looks like an identity and is none: the checker rejects each, and accepts it with the condition that it lacks.

use ngc_passes::rewrite::verify::Report;

use crate::support;

/// The report on a rule, which is tried without the bundled ones.
fn verify(text: &str) -> Report {
    support::verified(&format!("rule tried : mine, domain-restricted {text}"), false)
}

#[test]
fn identities_need_their_conditions() {
    // The rule, and the condition under which it holds.
    let rules = [
        ("log(mul(?a, ?b)) => add(log(?a), log(?b))", "lo(?a) > 0, lo(?b) > 0"),
        ("log(div(?a, ?b)) => sub(log(?a), log(?b))", "lo(?a) > 0, lo(?b) > 0"),
        ("log(pow(?a, ?b)) => mul(?b, log(?a))", "lo(?a) > 0, real(?a), real(?b)"),
        ("log(square(?a)) => mul(2, log(?a))", "lo(?a) > 0"),
        ("sqrt(square(?x)) => ?x", "lo(?x) >= 0"),
        ("sqrt(mul(?a, ?b)) => mul(sqrt(?a), sqrt(?b))", "lo(?a) >= 0, lo(?b) >= 0"),
        ("sqrt(mul(square(?a), ?b)) => mul(?a, sqrt(?b))", "lo(?a) >= 0, lo(?b) >= 0"),
        ("pow(pow(?x, ?a), ?b) => pow(?x, mul(?a, ?b))", "lo(?x) > 0, real(?a), real(?b)"),
        ("sub(pow(?x, ?a), 1) => expm1(mul(?a, log(?x)))", "lo(?x) > 0, real(?x), real(?a)"),
        (
            "sub(atan(?a), atan(?b)) => atan(div(sub(?a, ?b), add(1, mul(?a, ?b))))",
            "lo(?a) >= 0, lo(?b) >= 0, real(?a), real(?b)",
        ),
        ("acos(cos(?x)) => ?x", "lo(?x) >= 0, hi(?x) <= 3"),
    ];
    for (rule, condition) in rules {
        let report = verify(rule);
        assert!(report.failure.as_ref().is_some_and(|f| f.contains("left")), "{rule}: {report:?}");
        let report = verify(&format!("{rule} where {condition}"));
        assert!(report.passed(), "{rule} where {condition}: {report:?}");
    }
}

#[test]
fn no_condition_saves_a_falsehood() {
    let rules = [
        "div(?x, add(1, exp(neg(?x)))) => sigmoid(?x)",
        "exp(add(?a, ?b)) => add(exp(?a), exp(?b))",
        "sin(add(?a, ?b)) => add(sin(?a), sin(?b))",
        "sub(square(?a), square(?b)) => square(sub(?a, ?b))",
        "sub(1, cos(?x)) => square(sin(mul(0.5, ?x)))",
        "sub(cbrt(?a), cbrt(?b)) => cbrt(sub(?a, ?b))",
        // The constant is not 1/3.
        "pow(?x, 0.3333333333333333) => cbrt(?x)",
        "log(add(?x, sqrt(add(1, square(?x))))) => asinh(abs(?x))",
        "sub(tanh(?a), tanh(?b)) => tanh(sub(?a, ?b))",
    ];
    for rule in rules {
        let report = verify(rule);
        assert!(report.failure.as_ref().is_some_and(|f| f.contains("left")), "{rule}: {report:?}");
    }
}

/// The logarithm of 0 is a value, and so is what grows without bound with an input; a pole is none.
#[test]
fn limits_are_values() {
    let falsehoods = [
        "log(?x) => where(compare(?x, 0, direction = GT), log(?x), 0)",
        "neg(log(abs(?x))) => where(compare(?x, 0, direction = EQ), 0, neg(log(abs(?x))))",
        "abs(?x) => where(is_finite(?x), abs(?x), 0)",
        "exp(?x) => where(is_finite(?x), exp(?x), 0)",
    ];
    for rule in falsehoods {
        let report = verify(rule);
        assert!(
            report.refuted && report.failure.as_ref().is_some_and(|f| f.contains("left")),
            "{rule}: {report:?}"
        );
    }
    let pole = verify("div(1, ?x) => where(compare(?x, 0, direction = EQ), 0, div(1, ?x))");
    assert!(pole.passed() && pole.one_sided[0] > 0, "{pole:?}");
}

/// What decides of a value beside an undefined input is seen.
#[test]
fn infinities_beside_undefined_inputs_are_tried() {
    let report = verify("sqrt(add(square(?x), square(?y))) => hypot(?x, ?y)");
    assert!(report.passed() && report.one_sided[0] == 0 && report.one_sided[1] > 0, "{report:?}");
}

/// The left side has no value where the divisor is 0, so nothing is lost there.
#[test]
fn quotients_of_equals_are_one() {
    for rule in
        ["div(?x, ?x) => 1", "div(mul(?a, ?b), ?b) => ?a", "mul(div(?a, ?b), ?b) => ?a", "sub(?x, ?x) => 0"]
    {
        assert!(verify(rule).passed(), "{rule}: {:?}", verify(rule));
    }
}

/// The sides agree at 0, but a term of the right side has no value there, and in a search whatever meets in it is equal.
#[test]
fn no_term_of_the_right_side_lacks_a_value() {
    let rules = [
        ("div(?x, add(square(?x), ?c)) => div(1, add(?x, div(?c, ?x)))", "lo(?x) > 0"),
        ("square(sqrt(square(?x))) => pow(exp(mul(0.5, log(square(?x)))), 2)", ""),
        ("mul(?x, ?y) => div(?x, div(1, ?y))", "lo(?y) > 0"),
    ];
    for (rule, condition) in rules {
        let report = verify(rule);
        let lacks = |f: &String| f.contains("no value");
        // The logarithm of 0 is a limit.
        assert_eq!(report.failure.as_ref().is_some_and(lacks), !condition.is_empty(), "{rule}: {report:?}");
        let report =
            verify(&format!("{rule} {}{condition}", if condition.is_empty() { "" } else { "where " }));
        assert!(report.passed(), "{rule} where {condition}: {report:?}");
    }
}
