//! Programs that have a cure, spelled otherwise at random: how often the cure is found all the same.

use std::fmt::Write;

use ngc_ir::{Body, Context, Module};
use ngc_numerics::{Format, Random, Tensor};
use rayon::prelude::*;
use rug::Float;

use super::changes::{Change, changes};
use super::judge::{Score, computed, error, exact_values};
use super::ladder::{Way, inputs, rungs};
use super::original::{Original, respelled};
use super::program::{Program, run, text};

/// Numbers of changes.
const LEVELS: [usize; 5] = [0, 1, 2, 4, 8];
/// Ways of the inputs on each rung.
const WAYS: [Way; 4] = [Way::Signs, Way::Near, Way::Mixed, Way::Lone];
/// What all programs are written in.
const FORMAT: Format = Format::F32;
/// The search whose cures count, besides those of the one that is measured.
const KNOWN: &str = "rule-set=all";

/// Inputs on a rung with the exact results there.
struct Point {
    rung: usize,
    inputs: Vec<Tensor>,
    exact: Vec<Option<Float>>,
}

/// Errors on each rung; nothing where the program does not run.
type Scores = Option<Vec<Score>>;

/// A spelling, ready for a search: the ranges of its arguments are forgotten.
fn program(original: &Original, body: &Body) -> Program {
    let module = original.program.with(body);
    let mut found = Program::of_module("spellings", &original.program.name, &module).swap_remove(0);
    found.forget_ranges();
    found
}

/// What a search makes of a spelling.
fn searched(context: &Context, program: &Program, search: &str) -> Option<Module> {
    let mut module = program.module.clone();
    run(context, &mut module, search).ok().map(|()| module)
}

fn points(context: &Context, plain: &Program, cured: &Module) -> Vec<Point> {
    let (rungs, mut r) = (rungs(FORMAT), Random::seeded(&plain.name));
    let mut points = Vec::new();
    for rung in 0..rungs.len() {
        for way in WAYS {
            let Some(inputs) = inputs(&mut r, &plain.arguments, 1, &rungs, rung, way) else { continue };
            let formats = [FORMAT; 64];
            let found =
                exact_values(context, &plain.module, [cured, cured], &plain.function, &inputs, &formats);
            points.extend(found.map(|found| Point { rung, inputs, exact: found.values }));
        }
    }
    points
}

/// The errors of a module on each rung.
fn scores(context: &Context, module: Option<&Module>, points: &[Point]) -> Scores {
    let mut scores = vec![Score::default(); rungs(FORMAT).len()];
    for point in points {
        let found = computed(context, module?, "f", &point.inputs)?;
        for (&found, exact) in found.iter().zip(&point.exact) {
            if let Some(error) = error(exact.as_ref(), found) {
                scores[point.rung].add(error, FORMAT);
            }
        }
    }
    Some(scores)
}

/// Whether one is as good as another: it loses no more on any rung, and errs by at most 4 times as much.
fn as_good(one: &Scores, other: &[Score]) -> bool {
    let good =
        |(a, b): (&Score, &Score)| a.lost <= b.lost && (a.lost < b.lost || a.worst <= 4.0 * b.worst + 4.0);
    one.as_ref().is_some_and(|one| one.iter().zip(other).all(good))
}

/// A program: the shares cured at each level.
struct Row {
    name: String,
    /// Whether it has no cure that anyone knows.
    left_out: bool,
    /// Elements that the cure loses.
    still_lost: usize,
    cured: [usize; LEVELS.len()],
    /// Changes behind which the cure was lost.
    lost: Vec<Vec<&'static str>>,
}

fn row(context: &Context, original: &Original, among: &[&Change], search: &str, count: usize) -> Row {
    let plain = program(original, &original.program.body);
    let mut row = Row {
        name: plain.name.clone(),
        left_out: false,
        still_lost: 0,
        cured: Default::default(),
        lost: Vec::new(),
    };
    let found = [KNOWN, search].map(|search| searched(context, &plain, search));
    let Some(cured) = found[0].as_ref().or(found[1].as_ref()) else {
        return Row { left_out: true, ..row };
    };
    let points = points(context, &plain, cured);
    let given = scores(context, Some(&plain.module), &points);
    let [known, own] = found.each_ref().map(|module| scores(context, module.as_ref(), &points));
    // The better of both cures, rung by rung.
    let better = |(a, b): (Score, Score)| if (b.lost, b.worst) < (a.lost, a.worst) { b } else { a };
    let best: Vec<Score> = match (known, own) {
        (Some(a), Some(b)) => a.into_iter().zip(b).map(better).collect(),
        (a, b) => a.or(b).unwrap_or_default(),
    };
    row.still_lost = best.iter().map(|score| score.lost).sum();
    if as_good(&given, &best) {
        return Row { left_out: true, ..row };
    }
    for (level, &changes) in LEVELS.iter().enumerate() {
        for n in 0..count {
            let mut r = Random::seeded(&format!("{} {changes} {n}", plain.name));
            let (body, made) = respelled(context, original, among, changes, &mut r);
            let spelling = program(original, &body);
            let after = searched(context, &spelling, search);
            let found = scores(context, after.as_ref(), &points);
            if as_good(&found, &best) {
                row.cured[level] += 1;
            } else {
                if std::env::var_os("NGC_VERBOSE").is_some() {
                    let after = after.as_ref().map_or_else(String::new, text);
                    eprintln!("{}: {}\n{}{after}", plain.name, made.join(", "), text(&spelling.module));
                    for (n, score) in found.iter().flatten().enumerate() {
                        let one = Some(vec![*score]);
                        if !as_good(&one, &best[n..=n]) {
                            eprintln!("rung {n}: {score:?} beside {:?}", best[n]);
                        }
                    }
                }
                row.lost.push(made);
            }
        }
    }
    row
}

/// The share of cured spellings for each number of changes, in all and program by program.
pub fn table(search: &str, count: usize, wanted: &str) -> String {
    let context = ngc_dialects::context();
    let lawful = std::env::var_os("NGC_LAWFUL").is_some();
    let among: Vec<&Change> = changes().filter(|change| lawful || change.wants.is_none()).collect();
    let mut originals = Original::all(&context, "spellings");
    originals.retain(|o| o.program.name.contains(wanted));
    let rows: Vec<Row> =
        originals.par_iter().map(|original| row(&context, original, &among, search, count)).collect();
    let (counted, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| !row.left_out);
    let mut page = format!(
        "Cured by `{search}`, in percent, of {count} spellings at each number of changes:\n\n| program |{}\n|---|{}\n",
        LEVELS.map(|n| format!(" {n} |")).concat(),
        "---|".repeat(LEVELS.len())
    );
    let share = |cured: usize, all: usize| format!(" {:.0} |", 100.0 * cured as f64 / all.max(1) as f64);
    let all: String = (0..LEVELS.len())
        .map(|n| share(counted.iter().map(|row| row.cured[n]).sum(), count * counted.len()))
        .collect();
    let _ = writeln!(page, "| all {} |{all}", counted.len());
    for row in &counted {
        let shares = row.cured.map(|cured| share(cured, count)).concat();
        let lost =
            if row.still_lost > 0 { format!(", {} still lost", row.still_lost) } else { String::new() };
        let _ = writeln!(page, "| {}{lost} |{shares}", row.name);
    }
    let names: Vec<&str> = others.iter().map(|row| row.name.as_str()).collect();
    let _ = writeln!(page, "\nNothing to cure, or no cure known: {}.", names.join(", "));
    let mut single: Vec<(&str, usize)> = Vec::new();
    for name in counted.iter().flat_map(|row| row.lost.iter()).filter(|made| made.len() == 1).map(|m| m[0]) {
        match single.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => single.push((name, 1)),
        }
    }
    single.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let _ = writeln!(page, "\nSingle changes behind which a cure is lost:\n");
    for (name, n) in single.iter().take(30) {
        let _ = writeln!(page, "- {name}: {n}");
    }
    page
}
