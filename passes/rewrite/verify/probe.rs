//! The edges at which a rule is tried: of its conditions, of its constants, of shapes and of points.

use ngc_ir::{Context, Ident};
use ngc_numerics::Format;

use super::draw::{Aim, Extents, Held, Points, Variables};
use crate::rewrite::rule::{Expr, Infix, Rule};

/// An edge, and what is drawn there.
pub struct Probe {
    /// In words.
    pub at: String,
    /// What is drawn. The format is chosen later.
    pub aim: Aim,
}

/// All edges of a rule.
pub fn probes(context: &Context, rule: &Rule) -> Vec<Probe> {
    let any = Aim::at_random(Format::F64);
    let mut probes = Vec::new();
    let mut add = |at: String, aim: Aim| {
        if !probes.iter().any(|p: &Probe| p.at == at) {
            probes.push(Probe { at, aim });
        }
    };
    add("rank 0".into(), Aim { extents: Extents::Scalar, ..any });
    add("no elements along an axis".into(), Aim { extents: Extents::Empty, ..any });
    add("extents of 1".into(), Aim { extents: Extents::Ones, ..any });
    add("extents of 2, ranks that differ".into(), Aim { extents: Extents::Twos, ..any });
    add("shapes that differ in several ways".into(), Aim { extents: Extents::Uneven, ..any });
    for (at, points) in [
        ("inputs of 0, ±1/2, ±1 and 2", Points::Special),
        ("tiny inputs", Points::Tiny),
        ("large inputs", Points::Large),
        ("equal inputs", Points::Equal),
        ("inputs of 0, 1 and -1 alone", Points::Units),
        ("-inf and 0 among the inputs", Points::Masked),
        ("infinities among the inputs", Points::Infinite),
        ("inputs of different such kinds", Points::Mixed),
        ("undefined inputs", Points::Undefined),
        ("undefined inputs and infinities", Points::NonFinite),
    ] {
        add(at.into(), Aim { points, ..any });
    }
    let variables = Variables::of(context, &rule.left);
    for &name in &variables.constants {
        let mut held = |text: String, held| {
            add(format!("?{name} {text}"), Aim { held: Some((name, held)), ..any });
        };
        for value in [0.0, 1.0, -1.0, 2.0, 0.5, -2.0] {
            held(format!("= {value}"), Held::Constant(value, 0));
        }
        held("the least positive number".into(), Held::Constant(0.0, 1));
        held("= a number of elements".into(), Held::Count(0.0));
        held("= a number of elements - 1".into(), Held::Count(-1.0));
    }
    let mut borders = Vec::new();
    rule.conditions.iter().for_each(|c| collect(c, &mut borders));
    for Border { what, of, at } in borders {
        let is_input = variables.terms.iter().any(|(n, _)| *n == of);
        let is_constant = variables.constants.contains(&of);
        for (place, held) in edges(what, at) {
            if matches!(held, Held::Constant(..)) == is_constant && (is_constant || is_input) {
                add(format!("{}(?{of}) {place}", what.name()), Aim { held: Some((of, held)), ..any });
            }
        }
    }
    probes
}

/// A figure that a condition compares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Lo,
    Hi,
    Magnitude,
    Value,
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Figure::Lo => "lo",
            Figure::Hi => "hi",
            Figure::Magnitude => "magnitude",
            Figure::Value => "value",
        }
    }
}

/// Where a condition changes its truth: a figure of a variable is this number.
struct Border {
    what: Figure,
    of: Ident,
    at: f64,
}

/// On the border, beside it on either side, and far from it on either side.
fn edges(what: Figure, c: f64) -> Vec<(String, Held)> {
    let near = |n: i32| match n {
        0 => format!("at {c}"),
        1 => format!("just above {c}"),
        _ => format!("just below {c}"),
    };
    let far =
        [(-1.0, "far below"), (1.0, "far above")].map(|(sign, text)| (c + sign * 8.0, format!("{text} {c}")));
    let mut all = Vec::new();
    for n in [0, 1, -1] {
        all.push((
            near(n),
            match what {
                Figure::Lo => Held::Above(c, n, 3.0),
                Figure::Hi => Held::Below(c, n, 3.0),
                Figure::Magnitude => Held::Within(c, n),
                Figure::Value => Held::Constant(c, n),
            },
        ));
    }
    for (c, text) in far {
        all.push((
            text,
            match what {
                Figure::Lo => Held::Above(c, 0, 3.0),
                Figure::Hi => Held::Below(c, 0, 3.0),
                Figure::Magnitude => Held::Within(c, 0),
                Figure::Value => Held::Constant(c, 0),
            },
        ));
    }
    all
}

/// The borders that an expression speaks of.
fn collect(e: &Expr, borders: &mut Vec<Border>) {
    match e {
        Expr::Binary(Infix::Or, a, b) => {
            collect(a, borders);
            collect(b, borders);
        }
        Expr::Binary(_, a, b) => {
            for (side, other) in [(a, b), (b, a)] {
                let Some(c) = number(other) else { continue };
                match &**side {
                    Expr::Call(name, args, _) if name.as_str() == "abs" => {
                        if let Some((Figure::Value, of)) = args.first().and_then(figure) {
                            borders.push(Border { what: Figure::Value, of, at: c });
                            borders.push(Border { what: Figure::Value, of, at: -c });
                        }
                    }
                    side => {
                        if let Some((what, of)) = figure(side) {
                            borders.push(Border { what, of, at: c });
                        }
                    }
                }
            }
        }
        Expr::Not(e) | Expr::Neg(e) => collect(e, borders),
        _ => {}
    }
}

/// `lo(?x)`.
fn figure(e: &Expr) -> Option<(Figure, Ident)> {
    let Expr::Call(name, args, _) = e else { return None };
    let Some(Expr::Var(of, _)) = args.first() else { return None };
    let all = [Figure::Lo, Figure::Hi, Figure::Magnitude, Figure::Value];
    all.into_iter().find(|f| f.name() == name.as_str()).map(|f| (f, *of))
}

/// The value of an expression without variables.
pub fn number(e: &Expr) -> Option<f64> {
    Some(match e {
        Expr::Number(n) => *n,
        Expr::Neg(e) => -number(e)?,
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            match op {
                Infix::Add => a + b,
                Infix::Sub => a - b,
                Infix::Mul => a * b,
                Infix::Div => a / b,
                _ => return None,
            }
        }
        _ => return None,
    })
}
