//! Two searches of `stabilize` on all programs that there are: what is finite, how accurate it is on hostile inputs, what a
//! second run changes, what is another function over the reals. `tools/differential` runs it and says how.

mod beside;
#[path = "../../../src/reals/tests/spellings/changes/mod.rs"]
mod changes;
mod compare;
mod corpora;
mod cures;
mod judge;
mod ladder;
mod modules;
#[path = "../../../src/reals/tests/spellings/original.rs"]
mod original;
mod page;
mod program;
#[path = "../../../src/reals/tests/spellings/programs.rs"]
#[allow(dead_code, reason = "not every test reads what is returned")]
mod programs;
#[path = "../../../src/reals/tests/spellings/site.rs"]
mod site;
#[path = "../../../tools/tests/formulas/suite.rs"]
#[allow(dead_code, reason = "points are drawn otherwise here")]
mod suite;

use std::path::Path;
use std::time::Duration;

use compare::{Compared, compare};
use rayon::prelude::*;

use crate::support::evidence;

/// A variable of the environment, or what it is by default.
fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_string())
}

/// The options of the searches that are compared.
fn searches() -> [String; 2] {
    [variable("NGC_FIRST", "rule-set=charts"), variable("NGC_SECOND", "rule-set=all")]
}

/// Prints a page, and writes it under `NGC_BLESS=1`.
fn state(file: &str, page: &str) {
    println!("{page}");
    if std::env::var_os("NGC_BLESS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(file);
        std::fs::write(path, page).expect("the page can be written");
    }
}

#[test]
#[ignore = "minutes; a command"]
fn two_searches() {
    let context = ngc_dialects::context();
    let wanted = variable("NGC_ONLY", "");
    let mut programs = corpora::all(&context);
    programs.retain(|p| p.name.contains(&wanted) || p.corpus.contains(&wanted));
    let options = searches();
    let one = |program| {
        let compared = compare(&context, program, &options);
        page::progress(program, &compared);
        compared
    };
    let compared: Vec<Compared> = programs.par_iter().map(one).collect();
    let took = |n: usize| compared.iter().map(|c| c.time[n]).sum::<Duration>();
    state("differential.md", &page::page(&programs, &compared, &options));
    let all: Duration = compared.iter().map(|c| c.measuring).sum();
    println!("{}: {:.1?}, {}: {:.1?}; measuring {all:.1?}", options[0], took(0), options[1], took(1));
    let mut slow: Vec<usize> = (0..compared.len()).collect();
    slow.sort_by_key(|&n| std::cmp::Reverse(compared[n].time[1].max(compared[n].time[0])));
    for &n in slow.iter().take(8) {
        println!("  {:40} {:.2?}", programs[n].name, compared[n].time);
    }
    slow.sort_by_key(|&n| std::cmp::Reverse(compared[n].measuring));
    for &n in slow.iter().take(8) {
        println!("  {:40} measured in {:.2?}", programs[n].name, compared[n].measuring);
    }
}

#[test]
fn spellings_stand_beside_each_other() {
    let usual = if evidence::whole("pages") { beside::PROGRAMS } else { beside::SAMPLE };
    let count = variable("NGC_PROGRAMS", usual).parse().expect("a number of programs");
    let seed = variable("NGC_SEED", &variable("PROPTEST_RNG_SEED", ""));
    beside::hold(&variable("NGC_ONLY", ""), &seed, count);
}

#[test]
#[ignore = "minutes; a command"]
fn spellings_are_cured() {
    let search = variable("NGC_SEARCH", "");
    let count = variable("NGC_SPELLINGS", "4").parse().expect("a number of spellings");
    println!("{}", cures::table(&search, count, &variable("NGC_ONLY", ""), &variable("NGC_SEED", "")));
}

#[test]
#[ignore = "a minute; a command"]
fn modules_against_the_truth() {
    let page = modules::page(&variable("NGC_SEARCH", ""), &variable("NGC_ONLY", ""));
    state("modules.md", &page);
}
