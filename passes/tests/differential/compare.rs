//! One program after two searches.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ngc_ir::{Context, Module, Op};
use ngc_numerics::{DType, Format, Mode, Random, Tensor};

use super::judge::{Score, computed, error, evaluate, exact_values};
use super::ladder::{Way, inputs, rungs};
use super::program::{Program, searched, text, tidied};

/// Elements of all values of a program over all points; of large programs some points are left out.
const ELEMENTS: usize = 150_000;
/// Elements of all values above which a program is not measured.
const LARGEST: usize = 400_000;
/// Products that take as long as one function.
const CHEAP: usize = 16;

/// The given program and the two that were searched for it.
pub const THREE: usize = 3;

/// A rung: its magnitude and the errors on it.
#[derive(Clone)]
pub struct Rung {
    pub size: f64,
    pub scores: [Score; THREE],
    /// Where the second is at its worst compared with the first: its errors there, and the inputs.
    pub place: Option<([f64; THREE], String)>,
}

/// A program after both searches.
#[derive(Default)]
pub struct Compared {
    pub rungs: Vec<Rung>,
    pub time: [Duration; 2],
    pub measuring: Duration,
    /// What went wrong in a search.
    pub failure: [Option<String>; 2],
    /// Whether a second run changes the result again.
    pub unsettled: [bool; 2],
    /// Inputs at which a result is another function over the reals.
    pub other: [Option<String>; 2],
    /// Points, and elements whose exact value is not known or overflows.
    pub points: usize,
    pub unknown: usize,
    /// Whether no search finds anything to better, so that there is nothing to measure.
    pub unchanged: bool,
    /// Why it was not measured.
    pub left_out: Option<&'static str>,
    /// Whether it is so large that not every rung has a point.
    pub large: bool,
}

impl Compared {
    /// Scores over all rungs.
    pub fn total(&self) -> [Score; THREE] {
        let mut total: [Score; THREE] = Default::default();
        for rung in &self.rungs {
            total.iter_mut().zip(&rung.scores).for_each(|(t, s)| t.merge(s));
        }
        total
    }

    /// Rungs on which one of the three is worse than another.
    pub fn worse(&self, one: usize, than: usize) -> impl Iterator<Item = &Rung> {
        self.rungs.iter().filter(move |rung| rung.scores[one].is_worse(&rung.scores[than]))
    }
}

/// Searches a program in both ways, and measures what is found on a ladder of magnitudes.
pub fn compare(context: &Context, program: &Program, options: &[String; 2]) -> Compared {
    let mut compared = Compared::default();
    let mut modules = [program.module.clone(), program.module.clone()];
    for (n, option) in options.iter().enumerate() {
        match searched(context, &program.module, option) {
            Ok(found) => {
                modules[n] = found.module;
                compared.time[n] = found.time;
                compared.unsettled[n] = found.unsettled;
            }
            Err(message) => compared.failure[n] = Some(message),
        }
    }
    if std::env::var_os("NGC_VERBOSE").is_some() {
        println!("// {}\n{}", program.name, text(&program.module));
        options.iter().zip(&modules).for_each(|(option, m)| println!("// {option}\n{}", text(m)));
    }
    let tidy = tidied(context, &program.module).map(|module| text(&module));
    if tidy.is_ok_and(|tidy| modules.iter().all(|module| text(module) == tidy)) {
        compared.unchanged = true;
        return compared;
    }
    let start = Instant::now();
    measure(context, program, &modules, &mut compared);
    compared.measuring = start.elapsed();
    compared
}

fn measure(context: &Context, program: &Program, modules: &[Module; 2], compared: &mut Compared) {
    let Some(format) = widest(program) else {
        compared.left_out = Some("it has no argument to vary");
        return;
    };
    let rungs = rungs(format);
    let mut r = Random::seeded(&program.name);
    let Some((unknown, size)) = extent(context, program, &mut r, &rungs) else {
        compared.left_out = Some("it cannot be evaluated");
        return;
    };
    if size > LARGEST {
        compared.left_out = Some("its tensors are too large");
        return;
    }
    let ways = Way::ALL.len();
    let mut points = Vec::new();
    for rung in 0..rungs.len() {
        for way in Way::ALL {
            let point = inputs(&mut r, &program.arguments, unknown, &rungs, rung, way);
            points.extend(point.map(|point| (rung, way, point)));
        }
    }
    // Odd, so that all ways have their turn.
    let stride = (points.len() * size / ELEMENTS) | 1;
    compared.large = stride > ways;
    for (rung, &size) in rungs.iter().enumerate() {
        let mut found = Rung { size, scores: Default::default(), place: None };
        for (_, way, point) in points.iter().step_by(stride).filter(|(n, ..)| *n == rung) {
            at(context, program, modules, point, *way, &mut found, compared);
        }
        if found.scores[0].count > 0 {
            compared.rungs.push(found);
        }
    }
}

/// The format of floating-point arguments with the widest range.
fn widest(program: &Program) -> Option<Format> {
    let formats = program.arguments.iter().filter_map(|a| match a.elem {
        DType::Float(format) => Some(format),
        _ => None,
    });
    formats.max_by(|a, b| a.max_finite().total_cmp(&b.max_finite()))
}

/// The first choice of unknown extents with which the program runs, and how many elements its values then have.
fn extent(context: &Context, program: &Program, r: &mut Random, rungs: &[f64]) -> Option<(usize, usize)> {
    let (module, name) = (&program.module, &program.function);
    program.extents().iter().find_map(|&unknown| {
        let (middle, ways) = (0..rungs.len(), [Way::Signs, Way::Mixed]);
        let point = middle
            .flat_map(|n| ways.map(|way| (n, way)))
            .find_map(|(n, way)| inputs(r, &program.arguments, unknown, rungs, n, way))?;
        let size = AtomicUsize::new(0);
        let body = module.symbol(name).and_then(|op| module.body.body(op))?;
        let count = |op: Op, x: &[&Tensor], y: &[Tensor]| {
            let (read, made): (usize, usize) =
                (x.iter().map(|t| t.len()).sum(), y.iter().map(Tensor::len).sum());
            let contraction = body.op(op).def.is_some_and(|def| def.traits.contraction);
            let contracts = contraction && made > 0 && x.len() > 1;
            // The extent that is summed over, of which a product is cheap beside a function.
            let summed = if contracts { (x[0].len() * x[1].len() / made).isqrt() / CHEAP } else { 0 };
            size.fetch_add(read + made * (1 + summed), Ordering::Relaxed);
        };
        let evaluator = ngc_numerics::Evaluator::new(Mode::Rounded);
        let interpreter = ngc_interp::Interpreter::new(context, module, evaluator).with_observer(&count);
        interpreter.call(name, &point).ok()?;
        evaluate(context, module, name, &point, Mode::Rounded)?;
        Some((unknown, size.into_inner()))
    })
}

/// Measures the three programs at a point.
fn at(
    context: &Context,
    program: &Program,
    modules: &[Module; 2],
    point: &[Tensor],
    way: Way,
    rung: &mut Rung,
    compared: &mut Compared,
) {
    let (given, name) = (&program.module, &program.function);
    let three = [given, &modules[0], &modules[1]];
    let [Some(a), Some(b), Some(c)] = three.map(|module| computed(context, module, name, point)) else {
        return;
    };
    if a.len() != b.len() || a.len() != c.len() {
        return;
    }
    let formats: Vec<Format> = a.iter().map(|(format, _)| *format).collect();
    let results = [&modules[0], &modules[1]];
    let Some(exact) = exact_values(context, given, results, name, point, &formats) else { return };
    compared.points += 1;
    for (kept, found) in compared.other.iter_mut().zip(exact.other) {
        if let (None, Some((n, exact, value))) = (&kept, found) {
            *kept = Some(format!("{} (element {n}): {value:e}, not {exact:e}", shown(point)));
        }
    }
    for (n, value) in exact.values.iter().enumerate() {
        let errors = [&a, &b, &c].map(|found| error(value.as_ref(), found[n]));
        let [Some(x), Some(y), Some(z)] = errors else {
            compared.unknown += 1;
            continue;
        };
        for (score, error) in rung.scores.iter_mut().zip([x, y, z]) {
            score.add(error, formats[n]);
        }
        let gap = |[_, y, z]: [f64; THREE]| if z == f64::INFINITY { z } else { z - 2.0 * y };
        let worse =
            z > 2.0 * y + 4.0 && rung.place.as_ref().is_none_or(|(old, _)| gap([x, y, z]) > gap(*old));
        if worse {
            rung.place = Some(([x, y, z], format!("{way:?}: {} (element {n})", shown(point))));
        }
    }
}

/// Inputs, shortened.
fn shown(point: &[Tensor]) -> String {
    const FEW: usize = 4;
    let mut text = String::new();
    for (n, tensor) in point.iter().enumerate() {
        let values = tensor.to_f64s();
        // The fewest digits that tell a number from its neighbours.
        let digits =
            |&x: &f64| if f64::from(x as f32) == x { format!("{:e}", x as f32) } else { format!("{x:e}") };
        let few: Vec<String> = values.iter().take(FEW).map(digits).collect();
        let dots = if values.len() > FEW { ", ..." } else { "" };
        let _ = write!(text, "{}[{}{dots}]", if n > 0 { " " } else { "" }, few.join(" "));
    }
    text
}
