//! The catalogue of laws and charts: every name that a remark or a proof prints has an entry, and every entry shows what it is
//! good for.

use ngc_ir::{Loc, Sources};
use ngc_passes::stabilize::Equalities;
use ngc_passes::stabilize::allowed::Allowed;
use ngc_passes::stabilize::catalogue::library::Library;
use ngc_passes::stabilize::catalogue::verify::verify;
use ngc_passes::stabilize::catalogue::{CHARTS, Entry, Laws, entries, example, members, without_entry};
use ngc_passes::stabilize::proof::Proof;
use ngc_passes::stabilize::telling::{Effect, Report, Rewrite};
use ngc_reals::recognise::Definitions;

/// Golden tests run the pass with debug assertions, which hold every name to this.
#[test]
fn a_name_without_an_entry_is_seen() {
    let (context, laws) = (ngc_dialects::context(), Laws::bundled());
    let report = |rule: &str, message: &str| {
        let (loc, effect) = (Loc::Unknown, Effect::Unknown);
        let step = Rewrite { rule: rule.into(), loc, message: message.into(), effect };
        Report { applied: vec![step], ..Report::default() }
    };
    let of = |rule, message| without_entry(&context, laws, &report(rule, message)).map(str::to_string);
    assert_eq!(of("sinc", "a -> b: by sinc, softmax; exp is unbounded, and more"), None);
    assert_eq!(of("nowhere", "a -> b").as_deref(), Some("nowhere"));
    assert_eq!(of("sinc", "a -> b: by sinc, nowhere; exp is unbounded").as_deref(), Some("nowhere"));
    let steps = vec![("nowhere".to_string(), Loc::Unknown, String::new())];
    let (function, value) = ("f".to_string(), "%0".to_string());
    let proof = Proof { function, round: 1, value, loc: Loc::Unknown, steps };
    let proven = Report { proofs: vec![proof], ..Report::default() };
    assert_eq!(without_entry(&context, laws, &proven), Some("nowhere"));
}

/// Charts help the terms that stand for them, and nearly all laws their own left sides.
#[test]
fn entries_show_what_they_are_good_for() {
    let (context, laws) = (ngc_dialects::context(), Laws::bundled());
    let definitions = Definitions::new(&context);
    let equalities = Equalities { definitions: &definitions, laws, allowed: &Allowed::ALL };
    let (mut charts, mut without) = (Vec::new(), Vec::new());
    for entry in entries(&context, laws) {
        let found = match entry {
            Entry::Law(law) => example::of_law(&context, equalities, law),
            Entry::Chart(chart) => example::of_chart(&context, equalities, chart),
            Entry::Op(_) | Entry::Word(..) => continue,
        };
        if found.is_none_or(|found| found.better.is_none()) {
            if matches!(entry, Entry::Chart(_)) { &mut charts } else { &mut without }.push(entry.name());
        }
    }
    println!("no point: {without:?}");
    assert!(charts.is_empty(), "{charts:?}");
    assert!(without.len() * 10 < laws.iter().count(), "{without:?}");
}

#[test]
fn charts_hold_for_their_examples() {
    let (context, laws) = (ngc_dialects::context(), Laws::bundled());
    let reports = verify(&context, &members(laws, CHARTS), &|| {});
    assert!(reports.len() >= 10);
    for report in reports {
        println!("{} {}", report.of.name(), report.text());
        assert!(report.holds(), "{} {}", report.of.name(), report.text());
    }
}

#[test]
fn names_are_told_apart() {
    let (context, laws) = (ngc_dialects::context(), Laws::bundled());
    let of = |law: bool| {
        let own =
            entries(&context, laws).filter(move |e| law == matches!(e, Entry::Law(_) | Entry::Chart(_)));
        let mut names: Vec<String> = own.map(|entry| entry.name().to_string()).collect();
        names.sort();
        names
    };
    for names in [of(true), of(false)] {
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }
}

#[test]
fn users_laws_are_checked() {
    let context = ngc_dialects::context();
    for (text, found) in [
        ("/// True.\nnew: cosh(a) - cos(b) = 2 * (sinh(a/2)^2 + sin(b/2)^2)", None),
        ("/// False.\nnew: cosh(a) - cos(b) = 2 * (sinh(a/2)^2 - sin(b/2)^2)", Some("does not hold")),
        ("/// False beyond a number.\nnew: exp(min(a, 1e6)) = exp(a)", Some("does not hold")),
        ("/// Idle.\nnew: exp(a) + exp(b) = 1 if a^2 < 0", Some("is not established")),
    ] {
        let (mut library, mut sources) = (Library::default(), Sources::new());
        library.add("new.ngr", &mut sources, |_| Ok(text.to_string())).expect("laws");
        let laws = library.get("new.ngr").expect("laws");
        assert!(laws.named("new").is_some_and(|law| !law.bundled && law.family.as_str() == "new"));
        assert!(laws.named("sinc").is_some());
        match (library.check(&context, "new.ngr", &|_| {}), found) {
            (Ok(()), None) => {}
            (Err(errors), Some(word)) => {
                assert!(errors.0.len() == 1 && errors.0[0].message.contains(word), "{text}: {errors:?}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}
