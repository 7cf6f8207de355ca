//! Functions that are known on one side of a point by what they are on the other.

use ngc_ir::Diagnostic;
use ngc_numerics::{Cmp, Expr};

use super::super::function::{Function, read_formula, substituted};
use super::super::lower::Lowered;
use super::super::prove;
use super::super::real::{INFINITY, MINUS_INFINITY, Range, Real};
use super::super::types::{Impl, Setting, Type};
use super::{Combinator, Kind, after};
use crate::calculus::infer::Site;

/// The sign of a function of an argument of the other sign.
const EVEN: u32 = 1;
const ODD: u32 = 2;

/// `AbsReduction`.
pub static ABS_REDUCTION: Combinator = Combinator {
    name: "AbsReduction",
    ty: "AbsReduction<f, b> : Impl<f, 0, b> -> Impl<f, -b, b>, where f(-x) = -f(x) or f(-x) = f(x) on [0, b]",
    description: "An even or odd function of the size of its argument; of an odd one the sign of the argument is that of the result.",
    example: "AbsReduction(HornerPolynomial<tan, 0, pi/4>([1: 1, 3: ?, 5: ?]))",
    parameters: &[("f", Kind::Function), ("b", Kind::Real)],
    arguments: 1,
    types: |site| {
        let f = site.function(0).or_else(|| site.want.function().cloned());
        let wanted = site.want.range().and_then(|r| r.from.negated().max(&r.to));
        let b = site.real(1).or(wanted);
        let one = site.one(0, f, b.map(|b| Range::new(Real::zero(), b)))?;
        let side = Range::new(Real::zero(), one.range.to.clone());
        if !one.range.contains(&side) {
            return Err(site.fail(format!("takes an implementation from 0 on, not on {}", one.range)));
        }
        let mirrored = after(&one.function, &-Expr::var(0));
        let negative = one.function.formula.as_ref().map(|f| Function::of(-f));
        let (Some(mirrored), Some(negative)) = (mirrored, negative) else {
            return Err(site.fail(format!("knows nothing of {} but its name", one.function)));
        };
        let parity = match site.prove(&mirrored, &negative, &side) {
            Ok(()) => ODD,
            Err(odd) => match site.prove(&mirrored, &one.function, &side) {
                Ok(()) => EVEN,
                Err(even) => {
                    let f = &one.function;
                    return Err(site
                        .fail(format!(
                            "does not fit {f}: it needs f(-x) = -f(x) or f(-x) = f(x) for all x in {side}"
                        ))
                        .note(site.loc().clone(), format!("{mirrored} = {negative}: {odd}"))
                        .note(site.loc().clone(), format!("{mirrored} = {f}: {even}")));
                }
            },
        };
        site.set(0, Setting::Function(one.function.clone()));
        site.set(1, Setting::Real(one.range.to.clone()));
        site.set(2, Setting::Count(parity));
        Ok(Type::of(one.function, Range::new(one.range.to.negated(), one.range.to)))
    },
    meaning: |of, arguments| {
        let x = Expr::var(0);
        let y = substituted(&arguments[0][0], &[ngc_numerics::expr::abs(x.clone())]);
        vec![if of.count(2) == ODD { Expr::select(Cmp::Lt, x, 0, -&y, y) } else { y }]
    },
    lower: |e, of, _, x| {
        let size = e.one("abs", &[x], "size");
        let y = e.value(&of.arguments[0], &size)?;
        if of.count(2) == EVEN {
            return Ok(Lowered::One(y));
        }
        let (to, back) = (format!("bitcast[{}]", e.integers()), format!("bitcast[{}]", e.format.name()));
        let bits = e.one(to.clone(), &[x], "bits");
        let sign = e.one("andi", &[&bits, e.sign_bit()], "sign");
        let value = e.one(to, &[&y], "bits");
        let signed = e.one("xori", &[&value, &sign], "bits");
        Ok(Lowered::One(e.one(back, &[&signed], "y")))
    },
};

/// Where an argument goes, and what becomes of the value there, where a term does not say.
const MIRRORS: &[(&str, &str)] = &[
    ("pi - x", "y"),
    ("pi - x", "-y"),
    ("1/x", "pi/2 - y"),
    ("-x", "1/y"),
    ("-x", "1 - y"),
    ("-x", "2 - y"),
    ("-x", "pi - y"),
    ("pi/2 - x", "1/y"),
];

/// `Mirror`.
pub static MIRROR: Combinator = Combinator {
    name: "Mirror",
    ty: "Mirror<m, r, p> : Impl<f, a, p> -> Impl<f, a, m(a)>, where f(x) = r(f(m(x))) and m(x) is in [a, p] on [p, m(a)]; or of Impl<f, p, b>, downwards",
    description: "A function on both sides of p, from what it is on one: beyond p the argument is m(x), and the value y becomes r(y). \
        Where m and r are not said, those are taken that can be proven.",
    example: "Mirror<1/x, pi/2 - y, 1>(HornerPolynomial<atan, 0, 1>([1: 1, 3: ?, 5: ?, 7: ?]))",
    parameters: &[("m", Kind::Formula(&["x"])), ("r", Kind::Formula(&["y"])), ("p", Kind::Real)],
    arguments: 1,
    types: |site| {
        let f = site.want.function().cloned();
        let p = site.real(2);
        // A term is taken to be the part below p of what is wanted, if it can be.
        let below = p.as_ref().zip(site.want.range()).map(|(p, r)| Range::new(r.from.clone(), p.clone()));
        let below = below.filter(|r| r.from.is_below(&r.to));
        let one = match below.map(|below| site.one(0, f.clone(), Some(below))) {
            Some(Ok(one)) => one,
            _ => site.one(0, f, None)?,
        };
        let p = p.unwrap_or_else(|| one.range.to.clone());
        let upwards = p == one.range.to;
        if !upwards && p != one.range.from {
            return Err(
                site.fail(format!("takes an implementation that ends at p = {p}, not on {}", one.range))
            );
        }
        let given = |n: usize| match site.setting(n) {
            Some(Setting::Formula(x)) => Some(x.clone()),
            _ => None,
        };
        let candidates: Vec<(Expr, Expr)> = match (given(0), given(1)) {
            (Some(m), Some(r)) => vec![(m, r)],
            (m, r) => {
                let read = |text: &str, name| read_formula(text, &[name]).ok();
                let all = MIRRORS.iter().filter_map(|(m, r)| Some((read(m, "x")?, read(r, "y")?)));
                all.filter(|c| m.as_ref().is_none_or(|m| *m == c.0) && r.as_ref().is_none_or(|r| *r == c.1))
                    .collect()
            }
        };
        let mut last = None;
        for (m, r) in candidates {
            match mirrored(site, &one, &m, &r, &p, upwards) {
                Ok(range) => {
                    site.set(0, Setting::Formula(m));
                    site.set(1, Setting::Formula(r));
                    site.set(2, Setting::Real(p));
                    site.set(3, Setting::Count(u32::from(upwards)));
                    return Ok(Type::of(one.function, range));
                }
                Err(why) => last = Some(why),
            }
        }
        Err(last.unwrap_or_else(|| site.fail("knows no such m and r: say both")))
    },
    meaning: |of, arguments| {
        let x = Expr::var(0);
        let y = &arguments[0][0];
        let beyond = substituted(of.formula(1), &[substituted(y, &[of.formula(0).clone()])]);
        let cmp = if of.count(3) == 1 { Cmp::Gt } else { Cmp::Lt };
        vec![Expr::select(cmp, x, of.real(2).expr(), beyond, y)]
    },
    lower: |e, of, term, x| {
        let direction = if of.count(3) == 1 { "GT" } else { "LT" };
        let p = e.number(of.real(2));
        let beyond = e.one(format!("compare[{direction}]"), &[x, &p], "beyond");
        let mirrored = e.formula(of.formula(0), &[x], &term.loc)?;
        let t = e.one("where", &[&beyond, &mirrored, x], "t");
        let y = e.value(&of.arguments[0], &t)?;
        let rest = e.formula(of.formula(1), &[&y], &term.loc)?;
        Ok(Lowered::One(e.one("where", &[&beyond, &rest, &y], "y")))
    },
};

/// The range on which a mirrored function is known, if all that must hold is proven.
fn mirrored(
    site: &mut Site<'_, '_>,
    one: &Impl,
    m: &Expr,
    r: &Expr,
    p: &Real,
    upwards: bool,
) -> Result<Range, Diagnostic> {
    let far = if upwards { &one.range.from } else { &one.range.to };
    let limit = if upwards { INFINITY } else { MINUS_INFINITY };
    // As far as is wanted, else as far as the mirror takes the other end.
    let wanted = site.want.range().map(|r| if upwards { r.to.clone() } else { r.from.clone() });
    let image =
        wanted.filter(|end| if upwards { p.is_below(end) } else { end.is_below(p) }).unwrap_or_else(|| {
            match far {
                Real::Finite(_) => Real::of(&substituted(m, &[far.expr()])).unwrap_or(limit),
                // `-x` takes an end that is none to the other.
                Real::Infinite { .. } => limit,
            }
        });
    let (beyond, whole) = match upwards {
        true => (Range::new(p.clone(), image.clone()), Range::new(one.range.from.clone(), image)),
        false => (Range::new(image.clone(), p.clone()), Range::new(image, one.range.to.clone())),
    };
    if !beyond.from.is_below(&beyond.to) {
        return Err(site.fail(format!("finds nothing beyond p = {p}: m({far}) is no farther")));
    }
    if !prove::maps_into(m, &beyond, &one.range) {
        return Err(site
            .fail(format!("needs m(x) = {m} in {} for all x in {beyond}, which is not proven", one.range)));
    }
    let at = one.function.at(m).ok_or_else(|| site.fail("knows nothing of the function but its name"))?;
    let value = Function::of(substituted(r, &[at]));
    site.require(&one.function, &value, &beyond)?;
    site.proven(format!("{m} is in {} for x in {beyond}", one.range));
    Ok(whole)
}
