//! A form that takes the place of the given one nowhere trades what works for what does not: random scalar programs are
//! stabilized, and where one changed, both forms are held against the exact values, most often where a sum of the given
//! program cancels. Points of that kind are found by bisection here, and by other means in the search.
//!
//! An error counts together with those of points a last place away, so that no form is better by luck. What takes the place
//! of a form that is lost somewhere among ordinary numbers may elsewhere be as wrong as the last places of its arguments allow.
//!
//! `NGC_TRADES_PROGRAMS` sets how many programs are drawn (default 400), `NGC_TRADES_SEED` which.

use crate::support::values::reals;
use crate::support::{evaluate, evidence, function, parse, search};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::{Context, Module};
use ngc_numerics::{Format, Mode, Random, Tensor};
use rayon::prelude::*;

const FORMAT: Format = Format::F64;
const BITS: u32 = 400;
/// Points of each program that changed.
const POINTS: usize = 150;
/// Of what is as wrong hardly a digit is right.
const LOST: f64 = (1u64 << 40) as f64;
/// An error beside as many units may grow by so many times: by a few bits for what is cured far from ordinary numbers, and
/// the largest of a few errors varies.
const TIMES: f64 = 256.0;
const UNITS: f64 = 4.0;
/// What cures may be as wrong as so many moves of the arguments by a last place.
const REACH: f64 = 16.0;
/// Points beside each.
const BESIDE: usize = 6;
/// Operations; most programs draw of the first ones alone.
const OPS: [(&str, usize); 19] = [
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("mul", 2),
    ("square", 1),
    ("div", 2),
    ("sqrt", 1),
    ("exp", 1),
    ("log", 1),
    ("abs", 1),
    ("max", 2),
    ("log1p", 1),
    ("expm1", 1),
    ("tanh", 1),
    ("sigmoid", 1),
    ("softplus", 1),
    ("sin", 1),
    ("cos", 1),
    ("hypot", 2),
];
const NUMBERS: [f64; 4] = [1.0, 2.0, 0.5, 3.0];

/// A program: arguments, and lines that compute a value each.
struct Program {
    arguments: usize,
    lines: Vec<String>,
    sums: Vec<usize>,
}

impl Program {
    fn draw(r: &mut Random) -> Program {
        let arguments = 2 + r.below(3);
        let (steps, ops) = (3 + r.below(7), r.pick(&[5, 5, 6, 9, OPS.len()]));
        let mut program = Program { arguments, lines: Vec::new(), sums: Vec::new() };
        let mut unread: Vec<String> = (0..arguments).map(|n| format!("%a{n}")).collect();
        let mut all = unread.clone();
        for n in 0..steps {
            let (op, arity) = OPS[r.below(ops)];
            let mut operands = Vec::new();
            for at in 0..arity {
                // What is not read yet goes first: nothing is computed in vain.
                operands.push(match r.below(8) {
                    0 if at > 0 && op != "div" => {
                        program.lines.push(format!("%c{n} = ng.constant {:?} : f64", r.pick(&NUMBERS)));
                        format!("%c{n}")
                    }
                    1..6 if !unread.is_empty() => unread.swap_remove(r.below(unread.len())),
                    _ => all[r.below(all.len())].clone(),
                });
            }
            program.lines.push(format!("%v{n} = ng.{op} {} : f64", operands.join(", ")));
            if matches!(op, "add" | "sub") {
                program.sums.push(n);
            }
            unread.push(format!("%v{n}"));
            all.push(format!("%v{n}"));
        }
        program
    }

    /// The program that returns a value.
    fn text(&self, value: &str) -> String {
        let arguments: Vec<String> = (0..self.arguments).map(|n| format!("%a{n}: f64")).collect();
        let (arguments, lines) = (arguments.join(", "), self.lines.join("\n"));
        format!("func.func @f({arguments}) -> f64 {{\n{lines}\nfunc.return {value} : f64\n}}\n")
    }

    fn result(&self) -> String {
        let last = self.lines.iter().rev().find_map(|line| line.strip_prefix("%v"));
        format!("%v{}", last.and_then(|line| line.split(' ').next()).expect("a line"))
    }
}

fn tensors(x: &[f64]) -> Vec<Tensor> {
    x.iter().map(|&x| Tensor::scalar(FORMAT, x)).collect()
}

fn computed(context: &Context, module: &Module, x: &[f64]) -> f64 {
    evaluate(context, module, &tensors(x), Mode::Rounded).to_f64s()[0]
}

fn exact(context: &Context, module: &Module, x: &[f64]) -> rug::Float {
    reals(&evaluate(context, module, &tensors(x), Mode::Real { bits: BITS }), BITS).swap_remove(0)
}

fn ordinary(r: &mut Random) -> f64 {
    let size = r.uniform(-8.0, 8.0).exp2();
    if r.chance(50) { size } else { -size }
}

/// A point at which a sum nearly vanishes, where there is a change of sign as one argument goes.
fn cancelling(r: &mut Random, context: &Context, sum: &Module, mut x: Vec<f64>) -> Option<Vec<f64>> {
    let at = r.below(x.len());
    let mut of = |value: f64| {
        x[at] = value;
        computed(context, sum, &x)
    };
    let (mut a, mut b) = (ordinary(r), ordinary(r));
    let (mut fa, fb) = (of(a), of(b));
    if !(fa.is_finite() && fb.is_finite() && fa * fb < 0.0) {
        return None;
    }
    for _ in 0..70 {
        let middle = a / 2.0 + b / 2.0;
        let f = of(middle);
        if !f.is_finite() {
            return None;
        }
        if (f < 0.0) == (fa < 0.0) { (a, fa) = (middle, f) } else { b = middle }
    }
    let by = (-r.uniform(2.0, 53.0)).exp2();
    x[at] = a * if r.chance(50) { 1.0 + by } else { 1.0 - by };
    Some(x)
}

/// Errors of both forms at and around a point, in units in the last place of the exact result, and how many of these an
/// exact result moves there.
fn errors(r: &mut Random, context: &Context, [given, new]: [&Module; 2], x: &[f64]) -> Option<[f64; 3]> {
    let middle = exact(context, given, x);
    let unit = FORMAT.ulp(middle.to_f64());
    let mut worst = [0.0_f64; 3];
    for n in 0..=BESIDE {
        let mut near = |x: &f64| match n {
            0 => *x,
            _ => x + f64::from(r.below(3) as i32 - 1) * FORMAT.ulp(*x),
        };
        let at: Vec<f64> = x.iter().map(&mut near).collect();
        let exact = exact(context, given, &at);
        if !exact.is_finite() || exact.to_f64().abs() < 1e-290 || exact.to_f64().is_infinite() {
            return None;
        }
        for (worst, module) in worst.iter_mut().zip([given, new]) {
            let computed = computed(context, module, &at);
            let off = rug::Float::with_val(BITS, computed - &exact).abs().to_f64() / unit;
            *worst = if computed.is_finite() { worst.max(off) } else { f64::INFINITY };
        }
        worst[2] = worst[2].max(rug::Float::with_val(BITS, &exact - &middle).abs().to_f64() / unit);
    }
    Some(worst)
}

/// Whether a program changed, and where what it became trades.
fn trial(context: &Context, seed: u64) -> Option<Option<String>> {
    let mut r = Random::new(seed);
    let program = Program::draw(&mut r);
    let text = program.text(&program.result());
    let (given, mut new) = (parse(&text), parse(&text));
    let op = function(&new).0;
    if search(context, &mut new, op, false).applied.is_empty() {
        return None;
    }
    let sums: Vec<Module> = program.sums.iter().map(|n| parse(&program.text(&format!("%v{n}")))).collect();
    let mut all = Vec::new();
    for _ in 0..POINTS {
        let mut x: Vec<f64> = (0..program.arguments).map(|_| ordinary(&mut r)).collect();
        if !sums.is_empty() && r.chance(75) {
            let sum = &sums[r.below(sums.len())];
            match cancelling(&mut r, context, sum, x) {
                Some(found) => x = found,
                None => continue,
            }
        }
        if let Some(found) = errors(&mut r, context, [&given, &new], &x) {
            all.push((x, found));
        }
    }
    let is_lost = |[before, ..]: &[f64; 3]| *before >= LOST;
    let cures = all.iter().any(|(_, errors)| is_lost(errors));
    let mut trades = all.iter().filter(|(_, errors @ [before, after, reach])| {
        !is_lost(errors) && *after > TIMES * (before + UNITS) && !(cures && *after <= REACH * reach)
    });
    let trade = trades.next().map(|(x, [before, after, reach])| {
        let printed = print_module(&new, &PrintOptions::default());
        format!(
            "{before} units became {after} at {x:?}, where a last place moves {reach} in\n{text}\n{printed}"
        )
    });
    Some(trade)
}

#[test]
fn no_form_trades_what_works_for_what_does_not() {
    let context = ngc_dialects::context();
    let setting =
        |name: &str, default| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let first = setting("NGC_TRADES_SEED", 6) << 32;
    let programs = first..first + setting("NGC_TRADES_PROGRAMS", 400);
    let programs = evidence::sampled("searches", 50, programs);
    let changed: Vec<Option<String>> =
        programs.par_iter().filter_map(|seed| trial(&context, *seed)).collect();
    let trades: Vec<&String> = changed.iter().flatten().collect();
    for trade in &trades {
        println!("{trade}");
    }
    assert!(trades.is_empty(), "{} forms trade", trades.len());
    let few = 8 * changed.len() < programs.len() && evidence::whole("searches");
    assert!(!few, "{} programs changed", changed.len());
    println!("certificate: {} of {} random programs changed, and none trades", changed.len(), programs.len());
}
