//! Programs that have a cure, spelled otherwise at random: how often the cure is found all the same.

use std::fmt::Write;

use ngc_ir::{Body, Context, Module};
use ngc_numerics::{Data, Format, Random, Tensor};
use rayon::prelude::*;
use rug::Float;

use super::changes::{Change, changes};
use super::judge::{Score, computed, error, exact_values, units};
use super::ladder::{Way, inputs, rungs};
use super::original::{Original, respelled};
use super::program::{Program, run, text};

/// Numbers of changes.
const LEVELS: [usize; 5] = [0, 1, 2, 4, 8];
/// Ways of the inputs on each rung.
const WAYS: [Way; 4] = [Way::Signs, Way::Near, Way::Mixed, Way::Lone];
/// What all programs are written in.
const FORMAT: Format = Format::F32;
/// Errors that are not looked into, in units in the last place.
const SLACK: f64 = 4.0;
/// Ways to move the arguments by a last place, and by how much more than they move it a result may be off: as the order of
/// forms has it.
const MOVES: usize = 6;
const SUMS: f64 = 16.0;
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

/// The errors of a module on each rung; one that `reach` explains counts as none.
fn scores(context: &Context, module: Option<&Module>, points: &[Point], reach: Option<&Reach<'_>>) -> Scores {
    let mut scores = vec![Score::default(); rungs(FORMAT).len()];
    for point in points {
        let found = computed(context, module?, "f", &point.inputs)?;
        let mut errors: Vec<Option<f64>> =
            found.iter().zip(&point.exact).map(|(&found, exact)| error(exact.as_ref(), found)).collect();
        if let Some(reach) = reach {
            let of = |error: &f64| error.is_finite() && *error > SLACK;
            let far = if errors.iter().flatten().any(of) { reach.of(context, point) } else { Vec::new() };
            for (error, far) in errors.iter_mut().zip(far) {
                *error = error.map(|error| if error <= SUMS * far { 0.0 } else { error });
            }
        }
        errors.into_iter().flatten().for_each(|error| scores[point.rung].add(error, FORMAT));
    }
    Some(scores)
}

/// How far exact results move where the arguments move by a last place: no computation is held to more.
struct Reach<'a> {
    plain: &'a Program,
    cured: &'a Module,
}

impl Reach<'_> {
    /// In units in the last place, element by element.
    fn of(&self, context: &Context, point: &Point) -> Vec<f64> {
        let mut r = Random::seeded(&format!("{} {}", self.plain.name, point.rung));
        let mut far = vec![0.0_f64; point.exact.len()];
        for _ in 0..MOVES {
            let inputs: Vec<Tensor> = point.inputs.iter().map(|x| moved(&mut r, x)).collect();
            let (function, formats) = (&self.plain.function, [FORMAT; 64]);
            let modules = [self.cured; 2];
            let found = exact_values(context, &self.plain.module, modules, function, &inputs, &formats);
            for (n, value) in found.map(|found| found.values).unwrap_or_default().into_iter().enumerate() {
                let apart = value.zip(point.exact[n].as_ref()).map(|(a, b)| units(b, &a, FORMAT));
                far[n] = far[n].max(apart.unwrap_or(0.0));
            }
        }
        far
    }
}

/// A tensor whose elements are moved by a last place, up or down.
fn moved(r: &mut Random, x: &Tensor) -> Tensor {
    let Data::Float(values) = &x.data else { return x.clone() };
    let next = |&x: &f64| if r.chance(50) { FORMAT.next_up(x) } else { FORMAT.next_down(x) };
    Tensor { dtype: x.dtype, shape: x.shape.clone(), data: Data::Float(values.iter().map(next).collect()) }
}

/// Whether one is as good as another: it loses no more on any rung, and errs by at most 4 times as much.
fn as_good(one: &Scores, other: &[Score]) -> bool {
    let good =
        |(a, b): (&Score, &Score)| a.lost <= b.lost && (a.lost < b.lost || a.worst <= 4.0 * b.worst + 4.0);
    one.as_ref().is_some_and(|one| one.iter().zip(other).all(good))
}

/// The errors on all rungs.
fn total(scores: &[Score]) -> Score {
    let mut total = Score::default();
    scores.iter().for_each(|score| total.merge(score));
    total
}

/// A program: the shares cured at each level.
struct Row {
    name: String,
    /// Whether it has no cure that anyone knows.
    left_out: bool,
    /// All errors of the program as given, and of the cure.
    errors: [Score; 2],
    cured: [usize; LEVELS.len()],
    /// The same, and those whose errors are what arguments that are rounded allow.
    stable: [usize; LEVELS.len()],
    /// Changes behind which the cure was lost.
    lost: Vec<Vec<&'static str>>,
}

fn row(
    context: &Context,
    original: &Original,
    among: &[&Change],
    search: &str,
    count: usize,
    seed: &str,
) -> Row {
    let plain = program(original, &original.program.body);
    let mut row = Row {
        name: plain.name.clone(),
        left_out: false,
        errors: Default::default(),
        cured: Default::default(),
        stable: Default::default(),
        lost: Vec::new(),
    };
    let found = [KNOWN, search].map(|search| searched(context, &plain, search));
    let Some(cured) = found[0].as_ref().or(found[1].as_ref()) else {
        return Row { left_out: true, ..row };
    };
    let points = points(context, &plain, cured);
    let given = scores(context, Some(&plain.module), &points, None);
    let [known, own] = found.each_ref().map(|module| scores(context, module.as_ref(), &points, None));
    // The better of both cures, rung by rung.
    let better = |(a, b): (Score, Score)| if (b.lost, b.worst) < (a.lost, a.worst) { b } else { a };
    let best: Vec<Score> = match (known, own) {
        (Some(a), Some(b)) => a.into_iter().zip(b).map(better).collect(),
        (a, b) => a.or(b).unwrap_or_default(),
    };
    row.errors = [given.as_deref().unwrap_or_default(), &best].map(total);
    if as_good(&given, &best) {
        return Row { left_out: true, ..row };
    }
    for (level, &changes) in LEVELS.iter().enumerate() {
        for n in 0..count {
            // Without a change all are alike.
            if changes == 0 && n > 0 {
                row.cured[level] += row.cured[level].min(1);
                row.stable[level] += row.stable[level].min(1);
                continue;
            }
            let mut r = Random::seeded(&format!("{} {changes} {n}{seed}", plain.name));
            let (body, made) = respelled(context, original, among, changes, &mut r);
            let spelling = program(original, &body);
            let after = searched(context, &spelling, search);
            let found = scores(context, after.as_ref(), &points, None);
            if as_good(&found, &best) {
                row.cured[level] += 1;
                row.stable[level] += 1;
            } else {
                let reach = Reach { plain: &plain, cured };
                let stable = as_good(&scores(context, after.as_ref(), &points, Some(&reach)), &best);
                row.stable[level] += usize::from(stable);
                if std::env::var_os("NGC_VERBOSE").is_some() {
                    let after = after.as_ref().map_or_else(String::new, text);
                    let stable = if stable { " (as arguments allow)" } else { "" };
                    let made = made.join(", ");
                    eprintln!("{}{stable}: {made}\n{}{after}", plain.name, text(&spelling.module));
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

/// What a program loses and how many bits of its results are wrong, as given and cured.
fn errors(row: &Row) -> String {
    let [given, best] = &row.errors;
    let lost = if given.lost > 0 { format!("lost {} to {}, ", given.lost, best.lost) } else { String::new() };
    format!("{lost}bits {:.1} to {:.1}", given.mean(), best.mean())
}

/// The share of cured spellings for each number of changes, in all and program by program. Another seed draws others.
pub fn table(search: &str, count: usize, wanted: &str, seed: &str) -> String {
    let context = ngc_dialects::context();
    let lawful = std::env::var_os("NGC_LAWFUL").is_some();
    let among: Vec<&Change> = changes().filter(|change| lawful || change.wants.is_none()).collect();
    let mut originals = Original::all(&context, "spellings");
    originals.retain(|o| wanted.split(',').any(|name| o.program.name.contains(name)));
    let rows: Vec<Row> =
        originals.par_iter().map(|original| row(&context, original, &among, search, count, seed)).collect();
    let (counted, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| !row.left_out);
    let mut page = format!(
        "Cured by `{search}`, in percent, of {count} spellings at each number of changes:\n\n| program |{}\n|---|{}\n",
        LEVELS.map(|n| format!(" {n} |")).concat(),
        "---|".repeat(LEVELS.len())
    );
    let share = |cured: usize, all: usize| format!(" {:.1} |", 100.0 * cured as f64 / all.max(1) as f64);
    let all: String = (0..LEVELS.len())
        .map(|n| share(counted.iter().map(|row| row.cured[n]).sum(), count * counted.len()))
        .collect();
    let stable: String = (0..LEVELS.len())
        .map(|n| share(counted.iter().map(|row| row.stable[n]).sum(), count * counted.len()))
        .collect();
    let _ = writeln!(page, "| all {} |{all}", counted.len());
    let _ = writeln!(page, "| all, or no further off than arguments that are rounded |{stable}");
    for row in &counted {
        let shares = row.cured.map(|cured| share(cured, count)).concat();
        let _ = writeln!(page, "| {}: {} |{shares}", row.name, errors(row));
    }
    let names: Vec<String> = others.iter().map(|row| format!("{} ({})", row.name, errors(row))).collect();
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
