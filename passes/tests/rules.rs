//! No rule is believed: each one is compared with itself at 400 bits, and false ones must be caught.

use std::collections::BTreeMap;
use std::path::Path;

use ngc_ir::Sources;
use ngc_passes::rewrite;
use ngc_passes::rewrite::compile::{CompiledRule, OneSided, RuleSet};
use ngc_passes::rewrite::library::Library;
use ngc_passes::rewrite::verify::{Effort, Report, domains, verify_rule, verify_rules, verify_without};
use rayon::prelude::*;

use crate::support::evidence;

fn bundled() -> &'static RuleSet {
    match rewrite::bundled() {
        Ok(rules) => rules,
        Err(errors) => {
            let mut sources = Sources::new();
            let _ = rewrite::load(&ngc_dialects::context(), &[], &mut sources);
            let shown: Vec<String> =
                errors.0.iter().map(|e| format!("{:?}: {}", sources.resolve(&e.loc), e.message)).collect();
            panic!("{}", shown.join("\n"));
        }
    }
}

/// The report on the one rule of a text.
fn verify(text: &str) -> Report {
    let context = ngc_dialects::context();
    let rules =
        rewrite::load(&context, &[("test.ngr", text)], &mut Sources::new()).expect("the rule is well formed");
    let rule = rules.rules().last().expect("there is a rule");
    verify_rule(
        &context,
        &rules,
        rule,
        Effort { points: 100, instances: 20, shapes: 2, trials: 5000, ..Effort::default() },
    )
}

/// The messages for a text, each with line and column.
fn errors(text: &str) -> String {
    let mut sources = Sources::new();
    let errors =
        rewrite::load(&ngc_dialects::context(), &[("test.ngr", text)], &mut sources).expect_err("is refused");
    let lines = errors.0.iter().map(|e| {
        let (_, at) = sources.resolve(&e.loc).expect("errors are located");
        format!("{}:{}: {}\n", at.line, at.column, e.message)
    });
    lines.collect()
}

#[test]
fn every_rule_holds() {
    let context = ngc_dialects::context();
    let rules = bundled();
    let whole = evidence::whole("rules");
    let all: Vec<_> = if whole { rules.rules().iter().collect() } else { some(rules) };
    let reports = verify_rules(&context, rules, &all, Effort::default(), &|| {});
    let domains: BTreeMap<_, _> = domains(&all, &reports).into_iter().collect();
    let line = |(rule, at): (&String, &OneSided)| match at {
        OneSided::Nowhere => String::new(),
        OneSided::Infinite => format!("{rule} infinite\n"),
        OneSided::Somewhere => format!("{rule} somewhere\n"),
    };
    let lines: Vec<String> = domains.iter().map(line).collect();
    if whole {
        current("rewrite/rules/one_sided.txt", &lines.concat());
    } else {
        let listed = include_str!("../rewrite/rules/one_sided.txt");
        lines.iter().for_each(|line| assert!(listed.contains(line), "one_sided.txt does not have {line}"));
    }
    let failures: Vec<String> = reports
        .into_iter()
        .filter(|report| !report.passed())
        .map(|report| format!("{}: {}", report.rule, report.failure.unwrap_or_default()))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("certificate: {} rules hold", all.len());
}

/// A tenth of the rules of every category.
fn some(rules: &'static RuleSet) -> Vec<&'static CompiledRule> {
    let mut by_category: BTreeMap<&str, Vec<&CompiledRule>> = BTreeMap::new();
    for c in rules.rules() {
        by_category.entry(&c.rule.category).or_default().push(c);
    }
    by_category.into_values().flat_map(|rules| rules.into_iter().step_by(10)).collect()
}

#[test]
fn silu_is_not_sigmoid() {
    let report = verify("rule wrong : stability, exact div(?x, add(1, exp(neg(?x)))) => sigmoid(?x)");
    assert!(report.failure.is_some_and(|f| f.contains("left")));
}

#[test]
fn layer_norm_does_not_commute_with_affine_maps() {
    let report = verify(
        "rule wrong : stability, exact
             layer_norm(add(matmul(?x, ?w), ?b), axis = ?a) => add(matmul(layer_norm(?x, axis = ?a), ?w), ?b)",
    );
    assert!(report.failure.is_some_and(|f| f.contains("left")));
}

#[test]
fn a_sum_over_another_axis_is_not_softmax() {
    // On a square matrix the types agree, and only the values tell.
    let report = verify(
        "rule wrong : stability, exact
             div(exp(?x), reduce_sum(exp(?x), axes = [?a], keepdims = false)) => softmax(?x, axis = ?a)",
    );
    assert!(report.failure.is_some_and(|f| f.contains("left")));
}

/// A user's rules are checked before they are used, and what is seen of their domains is known then.
#[test]
fn rules_of_users_are_checked() {
    let context = ngc_dialects::context();
    let checked = |text: &str| {
        let mut library = Library::default();
        let read = |_: &str| Ok(text.to_string());
        library.add(&context, "mine.ngr", &mut Sources::new(), read).expect("the rules are well formed");
        library.check(&context, "mine.ngr", &|_| ()).map(|()| {
            let rules = library.get("mine.ngr").map(RuleSet::rules).unwrap_or_default();
            rules.last().and_then(|c| c.one_sided)
        })
    };
    let odd = checked("rule odd : mine, exact sin(neg(?x)) => neg(sin(?x))");
    assert_eq!(odd.ok().flatten(), Some(OneSided::Nowhere));
    let root = checked("rule root : mine, exact mul(sqrt(?x), sqrt(?x)) => ?x");
    assert_eq!(root.ok().flatten(), Some(OneSided::Somewhere));
    let wrong = checked("rule wrong : mine, exact div(?x, add(1, exp(neg(?x)))) => sigmoid(?x)");
    assert!(wrong.is_err_and(|e| e.0[0].message.starts_with("rule 'wrong' does not hold: element")));
}

/// Bundled rules without one of their conditions: each must be caught, or the condition is not tested.
#[test]
fn conditions_are_needed() {
    let rules = [
        "div(sub(?x, reduce_mean(?x, axes = ?A, keepdims = true)),
             sqrt(add(variance(?x, axes = ?A, keepdims = true, correction = 0), ?e : const)))
           => layer_norm(?x, axis = first(?A), epsilon = value(?e)) where value(?e) >= 0",
        "div(?x, sqrt(add(reduce_mean(square(?x), axes = ?A, keepdims = true), ?e : const)))
           => rms_norm(?x, axis = first(?A), epsilon = value(?e)) where value(?e) >= 0",
        "div(reduce_sum(?x, axes = ?A, keepdims = ?k), ?n : const) => reduce_mean(?x, axes = ?A, keepdims = ?k)",
        "matmul(softmax(?s @ matmul(?q, transpose(?k, permutation = ?p)), axis = ?a), ?v)
           => attention(?q, ?k, ?v, scale = 1) where swaps_last(?p), rank(?q) == rank(?k)",
        "sub(add(reduce_sum(square(?a), axes = ?A, keepdims = ?k), reduce_sum(square(?b), axes = ?A, keepdims = ?k)),
             mul(2, reduce_sum(mul(?a, ?b), axes = ?A, keepdims = ?k)))
           => reduce_sum(square(sub(?a, ?b)), axes = ?A, keepdims = ?k)",
        "div(?x, max(norm(?x, axes = [?a], keepdims = true, ord = 2), ?e : const))
           => normalize(?x, axis = ?a, p = 2, epsilon = abs(value(?e)))",
    ];
    for text in rules {
        let report = verify(&format!("rule wrong : stability, domain-restricted {text}"));
        assert!(report.failure.as_ref().is_some_and(|f| f.contains("left")), "{text}: {report:?}");
    }
}

#[test]
fn a_rule_that_never_applies_has_no_evidence() {
    let report = verify("rule idle : stability, exact exp(?x) => exp2(?x) where lo(?x) > 1e9");
    assert!(report.failure.is_some_and(|f| f.contains("no instance")));
}

#[test]
fn errors_are_located() {
    assert_eq!(
        errors("rule a : stability, exact\n  expp(?x) => exp(?y)\n"),
        "2:3: unknown op 'ng.expp'; did you mean 'ng.exp'?\n".to_string()
            + "2:19: variable ?y is not bound by the left side\n"
    );
    assert_eq!(
        errors("rule a : stability, exact\n  softmax(?x, axes = 1) => ?x\n"),
        "2:3: 'ng.softmax' has no attribute 'axes' (known: axis, masked_rows, accumulate, sum)\n"
    );
    assert_eq!(
        errors("rule a : stability, sound exp(?x) => ?x"),
        "1:21: 'sound' is not a label; write exact, error-bounded or domain-restricted\n"
    );
    assert_eq!(
        errors("rule a : stability, exact exp(?x) => ?x where low(?x) > 0"),
        "1:47: unknown function 'low'; did you mean 'lo'?\n"
    );
    assert_eq!(
        errors("rule a : stability, exact ?x => exp(?x)"),
        "1:6: the left side of a rule must be an op, or it would match everything\n"
    );
    let deep = format!("rule a : stability, exact {}", "exp(".repeat(300));
    assert_eq!(errors(&deep), "1:1054: brackets are nested more than 256 levels deep\n");
    for operator in ["not ", "- ", "1 + "] {
        let long =
            format!("rule a : stability, exact exp(?x) => log(?x) where {}1 > 0", operator.repeat(100_000));
        let message = errors(&long);
        assert!(message.ends_with("the expression has more than 1000 operators and operands\n"), "{message}");
    }
}

#[test]
fn bundled_rules_load_fast() {
    let context = ngc_dialects::context();
    let start = std::time::Instant::now();
    rewrite::load(&context, &[], &mut Sources::new()).expect("bundled rules are well formed");
    // 20 ms is the budget of an optimised build.
    assert!(start.elapsed().as_millis() < 200, "{:?}", start.elapsed());
}

#[test]
fn a_rule_that_holds_both_ways_is_two() {
    let context = ngc_dialects::context();
    let text = "rule both : mine, exact square(?x) <=> mul(?x, ?x)";
    let rules =
        rewrite::load(&context, &[("test.ngr", text)], &mut Sources::new()).expect("the rule is well formed");
    let both: Vec<_> = rules.rules().iter().filter(|c| c.rule.name == "both").collect();
    assert_eq!(both.len(), 2);
    assert_eq!(
        (both[0].rule.left.to_string(), both[1].rule.left.to_string()),
        ("square(x)".into(), "x * x".into())
    );
    for rule in both {
        let report = verify_rule(
            &context,
            &rules,
            rule,
            Effort { points: 100, instances: 20, shapes: 2, trials: 5000, ..Effort::default() },
        );
        assert!(report.passed(), "{report:?}");
    }
}

#[test]
fn commuted_spellings_are_derived() {
    let spellings = |text: &str| {
        let context = ngc_dialects::context();
        let text = format!("rule r : mine, exact {text} => ?x");
        let rules =
            rewrite::load(&context, &[("test.ngr", &text)], &mut Sources::new()).expect("well formed");
        rules.rules().last().map_or(0, |c| c.spellings.len())
    };
    assert_eq!(spellings("log(add(1, ?x))"), 2);
    assert_eq!(spellings("sub(?x, 1)"), 1);
    // Operands that are alike have one order.
    assert_eq!(spellings("mul(?x, ?x)"), 1);
    assert_eq!(spellings("add(mul(?x, ?y), mul(?y, 2))"), 8);
}

/// Every condition of every rule is negated once: either the checker refutes what is left, or the page says why it did
/// not.
#[test]
fn conditions_are_needed_or_listed() {
    let context = ngc_dialects::context();
    let rules = bundled();
    let effort =
        Effort { points: 100, instances: 60, shapes: 4, trials: 1000, bounded: 2, probes: 16, derive: false };
    let of = |rule: &'static CompiledRule| (0..rule.rule.conditions.len()).map(move |n| (rule, n));
    let whole = evidence::whole("rules");
    let all: Vec<_> = if whole {
        rules.rules().iter().flat_map(of).collect()
    } else {
        some(rules).into_iter().flat_map(of).collect()
    };
    let reports: Vec<Report> = all
        .par_iter()
        .with_max_len(1)
        .map(|(rule, n)| verify_without(&context, rules, rule, *n, effort))
        .collect();
    let caught = reports.iter().filter(|r| r.refuted).count();
    let mut lines: Vec<String> = Vec::new();
    for ((rule, n), report) in all.iter().zip(&reports).filter(|(_, r)| !r.refuted) {
        let why = match (report.instances, report.points) {
            (0, _) => "implied by the types, the pattern or the other conditions",
            (_, 0) => "the left side is undefined there",
            _ => "the sides agree there too",
        };
        lines.push(format!("| {} | `{}` | {why} |\n", rule.rule.name, rule.rule.conditions[*n]));
    }
    lines.sort();
    lines.dedup();
    if !whole {
        let listed = include_str!("../../docs/rule-conditions.md");
        lines
            .iter()
            .for_each(|line| assert!(listed.contains(line), "docs/rule-conditions.md does not have {line}"));
        return;
    }
    println!("certificate: {caught} of {} conditions were missed, the others are listed", all.len());
    let page = format!(
        "# Conditions that the checker does not need\n\nWritten by `NGC_BLESS=1 cargo test -p ngc-passes --test all conditions_are_needed`. Of \
         {} conditions of rules, {caught} were missed: where one of them fails and the rule would apply otherwise, the checker \
         found an instance at which the sides differ. Without those below it found none, for the reason beside it; they \
         guard against values that are not defined, or say more than the equality needs.\n\n| rule | condition | without it |\n|---|---|---|\n{}",
        all.len(),
        lines.concat()
    );
    current("../docs/rule-conditions.md", &page);
}

/// Writes a file below passes/ where that is asked for, and checks that it says this.
fn current(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("NGC_BLESS").is_some() {
        std::fs::write(&file, text).expect("it can be written");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == text, "passes/{path} is out of date; NGC_BLESS=1 cargo test -p ngc-passes renews it");
}
