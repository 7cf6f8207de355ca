//! The catalogue of laws and charts: every name that a remark or a proof prints has an entry, and every entry shows what it is
//! good for.

use std::path::Path;

use ngc_ir::Sources;
use ngc_ir::pass::Function;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_passes::stabilize::allowed::Allowed;
use ngc_passes::stabilize::catalogue::library::Library;
use ngc_passes::stabilize::catalogue::verify::verify;
use ngc_passes::stabilize::catalogue::{CHARTS, Entry, Laws, entries, example, members};
use ngc_passes::stabilize::{Equalities, Wanted, stabilize};
use ngc_reals::recognise::Definitions;

/// The names that rewrites of the golden files print.
#[test]
fn every_printed_name_has_an_entry() {
    let (context, laws) = (ngc_dialects::context(), Laws::bundled());
    let names: Vec<&str> = entries(&context, laws).map(|entry| entry.name()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lit-tests/passes/stabilize");
    let (mut printed, mut unknown) = (Vec::new(), Vec::new());
    let files = std::fs::read_dir(folder).expect("the folder is there").flatten();
    for file in files.filter(|file| file.path().extension().is_some_and(|e| e == "ngir")) {
        let text = std::fs::read_to_string(file.path()).expect("a text");
        let mut sources = Sources::new();
        let number = sources.add("golden.ngir", text.as_str(), 1);
        let module = parse_module(&context, &sources, number, &ParseOptions::default());
        let mut module = module.unwrap_or_else(|e| panic!("{}: {e:?}", file.path().display()));
        for op in module.functions() {
            let Some(mut function) = Function::take(&mut module, op) else { continue };
            let wanted = Wanted { proofs: true, ..Wanted::default() };
            let report = stabilize(&context, &mut function, laws, wanted);
            // Another format is no other function: there is nothing to prove.
            let rewritten = report.applied.iter().filter(|step| step.rule != "widen");
            assert_eq!(report.proofs.len(), rewritten.count());
            printed.extend(report.applied.iter().chain(&report.missed).map(|step| step.rule.clone()));
            let by = report.applied.iter().filter_map(|step| step.message.rsplit_once(": by "));
            let names = by.filter_map(|(_, rest)| rest.split("; ").next());
            printed.extend(names.flat_map(|names| names.split(", ").map(str::to_string)));
            printed.extend(report.proofs.iter().flat_map(|p| p.steps.iter().map(|(name, ..)| name.clone())));
        }
    }
    printed.sort();
    printed.dedup();
    unknown.extend(printed.iter().filter(|name| !names.contains(&name.as_str())));
    println!("{} names are printed", printed.len());
    assert!(printed.len() > 20 && unknown.is_empty(), "{unknown:?}");
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
