//! Ways to bring a function on a range to simpler ones: trees of combinators whose conditions are proven, with open ends. No function is
//! named here: what fits is found by asking.

use ngc_ir::Context;
use ngc_numerics::Expr;
use rug::Rational;

use crate::calculus::function::{Function, read_formula, substituted};
use crate::calculus::lower::constant;
use crate::calculus::prove::{self, lines};
use crate::calculus::real::{INFINITY, Range, Real};

/// A term with open ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Sketch {
    /// An implementation of a function on a range, which a polynomial will be.
    Open(Function, Range),
    /// One polynomial for each of many parts of a range.
    Pieces(Function, Range),
    /// What stands before the brackets of a combinator, and what it combines; of a pair the first or the second part.
    Combined(String, Vec<Sketch>),
    /// One of a pair.
    Part(&'static str, Box<Sketch>),
}

/// Combinators inside each other.
const DEEPEST: usize = 3;
/// The widest range that polynomials are tried on.
const WIDEST: f64 = 32.0;
/// Sizes of tables of powers.
const POWERS: &[u32] = &[1, 16, 32];
/// Sizes of tables of logarithms.
const LOGARITHMS: &[u32] = &[16, 32];

/// Other functions, at which argument, and what becomes of their value: each is tried for every function.
const OTHERS: &[(&str, &str, &str)] = &[
    ("expm1", "2*x", "y/(y + 2)"),
    ("expm1", "x", "y + 1"),
    ("expm1", "x", "(y + y/(y + 1))/2"),
    ("exp", "x", "(y + 1/y)/2"),
    ("exp", "-x", "1/(1 + y)"),
    ("log1p", "x - 1", "y"),
    ("erf", "x", "1 - y"),
    ("cos", "pi/2 - x", "y"),
];

/// Points beyond which an argument is mirrored, the mirror, and what becomes of the value.
const MIRRORS: &[(&str, &str, &str)] = &[
    ("1", "1/x", "pi/2 - y"),
    ("pi/2", "pi - x", "y"),
    ("pi/2", "pi - x", "-y"),
    ("0", "-x", "1/y"),
    ("0", "-x", "1 - y"),
];

/// Ways to implement a function on a range.
pub fn sketches(context: &Context, f: &Function, range: &Range) -> Vec<Sketch> {
    let mut all = Vec::new();
    of(context, f, range, DEEPEST, true, &mut all);
    all
}

fn equal(f: Option<Function>, g: Option<Function>, on: &Range) -> bool {
    f.zip(g).is_some_and(|(f, g)| prove::equal(&f, &g, on).is_ok())
}

fn x() -> Expr {
    Expr::var(0)
}

fn at(f: &Function, u: &Expr) -> Option<Function> {
    f.at(u).map(Function::of)
}

/// What a formula of the value of a function is.
fn then(f: &Function, v: &Expr) -> Option<Function> {
    Some(Function::of(substituted(v, &[f.formula.clone()?, x()])))
}

fn around(p: &Real, parts: u32) -> Range {
    let half = p.times(&Rational::from((1, 2 * parts)));
    Range::new(half.negated(), half)
}

fn width(range: &Range) -> Real {
    range.to.minus(&range.from).unwrap_or(INFINITY)
}

fn of(context: &Context, f: &Function, range: &Range, depth: usize, outermost: bool, all: &mut Vec<Sketch>) {
    // On wide ranges no polynomial that is short enough is near anything.
    if width(range).to_f64() <= WIDEST {
        all.push(Sketch::Open(f.clone(), range.clone()));
        all.extend(pieces(f, range));
    }
    if depth == 0 {
        return;
    }
    let into = |all: &mut Vec<Sketch>, head: String, f: &Function, range: &Range, depth: usize| {
        let mut inner = Vec::new();
        of(context, f, range, depth, false, &mut inner);
        all.extend(inner.into_iter().map(|s| Sketch::Combined(head.clone(), vec![s])));
    };
    let zero = Real::zero();
    // The size of the argument, once.
    if outermost && range.from.is_below(&zero) && zero.is_below(&range.to) {
        let far = range.from.negated().max(&range.to);
        let side = far.map(|far| Range::new(zero.clone(), far));
        let negative = || then(f, &-x());
        if let Some(side) = side
            && (equal(at(f, &-x()), negative(), &side) || equal(at(f, &-x()), Some(f.clone()), &side))
        {
            into(all, "AbsReduction".into(), f, &side, depth - 1);
        }
    }
    for p in ["log(2)", "1"].map(constant) {
        let shifted = at(f, &(x() + p.expr()));
        let plus_one = || equal(shifted.clone(), then(f, &(x() * 2 + 1)), &Range::WHOLE);
        let doubled = equal(shifted.clone(), then(f, &(x() * 2)), &Range::WHOLE);
        if width(range).is_below(&p) || !(doubled || plus_one()) {
            continue;
        }
        for &n in POWERS.iter().filter(|n| doubled || **n == 1) {
            open(all, format!("ExpBit<{p}, {n}>"), f, &around(&p, n));
        }
    }
    let pi = constant("pi");
    if pi.is_below(&width(range)) {
        for p in [pi.clone(), pi.times(&Rational::from(2))] {
            let shifted = at(f, &(x() + p.expr()));
            if equal(shifted.clone(), Some(f.clone()), &Range::WHOLE)
                || equal(shifted, then(f, &-x()), &Range::WHOLE)
            {
                open(all, format!("Periodic<{p}>"), f, &around(&p, 1));
                break;
            }
        }
        all.extend(quadrant(f));
    }
    if zero.is_at_most(&range.from) {
        logarithms(context, f, range, all);
    }
    for (p, m, r) in MIRRORS {
        let p = constant(p);
        let (Ok(mirror), Ok(after)) = (read_formula(m, &["x"]), read_formula(r, &["y"])) else { continue };
        if !range.from.is_below(&p) || !p.is_below(&range.to) {
            continue;
        }
        let (below, beyond) =
            (Range::new(range.from.clone(), p.clone()), Range::new(p.clone(), range.to.clone()));
        let fits = prove::maps_into(&mirror, &beyond, &below);
        if fits && equal(Some(f.clone()), at(f, &mirror).and_then(|g| then(&g, &after)), &beyond) {
            into(all, format!("Mirror<{m}, {r}, {p}>"), f, &below, depth - 1);
        }
    }
    for (g, u, v) in OTHERS {
        let Some(g) = Function::named(context, g) else { continue };
        let (Ok(argument), Ok(after)) = (read_formula(u, &["x"]), read_formula(v, &["y", "x"])) else {
            continue;
        };
        let Some(image) = lines::image(&argument, range).filter(|_| g.name != f.name) else { continue };
        if equal(Some(f.clone()), at(&g, &argument).and_then(|g| then(&g, &after)), range) {
            into(
                all,
                format!("Recharacterise<{f}, {u}, {v}, {}, {}>", range.from, range.to),
                &g,
                &image,
                depth - 1,
            );
        }
    }
}

fn open(all: &mut Vec<Sketch>, head: String, f: &Function, range: &Range) {
    all.push(Sketch::Combined(head, vec![Sketch::Open(f.clone(), range.clone())]));
}

/// Polynomials of parts, of the function, or where it is 0 at an end that is 0, of its quotient by x.
fn pieces(f: &Function, range: &Range) -> Option<Sketch> {
    let zero = Real::zero();
    let vanishes = f.formula.as_ref().is_some_and(|f| {
        Real::of(&substituted(f, &[0.into()])).is_ok_and(|y| y.enclose(128).contains(&rug::Float::new(128)))
    });
    if !vanishes || zero.is_below(&range.from) || range.to.is_below(&zero) {
        return Some(Sketch::Pieces(f.clone(), range.clone()));
    }
    let quotient = then(f, &(x() / Expr::var(1)))?;
    let head = format!("Recharacterise<{f}, x, x*y, {}, {}>", range.from, range.to);
    (range.from == zero).then(|| Sketch::Combined(head, vec![Sketch::Pieces(quotient, range.clone())]))
}

/// Sine or cosine, by both of them.
fn quadrant(f: &Function) -> Option<Sketch> {
    let p = constant("pi/2");
    let range = around(&p, 1);
    let (sin, cos) = (Function::of(ngc_numerics::expr::sin(x())), Function::of(ngc_numerics::expr::cos(x())));
    let part = match () {
        () if equal(Some(f.clone()), Some(sin.clone()), &Range::WHOLE) => "fst",
        () if equal(Some(f.clone()), Some(cos.clone()), &Range::WHOLE) => "snd",
        () => return None,
    };
    let parts = vec![Sketch::Open(sin, range.clone()), Sketch::Open(cos, range)];
    Some(Sketch::Part(part, Box::new(Sketch::Combined("Quadrant".into(), parts))))
}

fn logarithms(context: &Context, f: &Function, range: &Range, all: &mut Vec<Sketch>) {
    let positive = Range::new(Real::zero(), INFINITY);
    let doubled = at(f, &(x() * 2));
    let grows = ["log(2)", "1"]
        .iter()
        .any(|c| equal(doubled.clone(), then(f, &(x() + constant(c).expr())), &positive));
    if !grows || width(range).is_below(&Real::from(1)) {
        return;
    }
    let ends = |a: i64, b: i64| {
        Range::new(Real::rational(Rational::from((a, 64))), Real::rational(Rational::from((b, 64))))
    };
    let rest = at(f, &(x() + 1));
    // A function with a name of its own is better known.
    let named =
        Function::named(context, "log1p").filter(|g| equal(Some(g.clone()), rest.clone(), &ends(-1, 1)));
    let Some(rest) = named.or(rest) else { return };
    let whole = Sketch::Open(rest.clone(), ends(-19, 26));
    let head = format!("Recharacterise<{f}, x - 1, y, 45/64, 45/32>");
    all.push(Sketch::Combined("Logarithmic".into(), vec![Sketch::Combined(head, vec![whole])]));
    for &n in LOGARITHMS {
        // A part is as wide as that of an octave, and a little more for the table.
        let half = Rational::from((3, 4 * n));
        let around = Range::new(Real::rational(-half.clone()), Real::rational(half));
        open(all, format!("LogTable<{n}>"), &rest, &around);
    }
}
