//! Functions by other functions.

use ngc_numerics::Expr;

use super::super::function::{Function, read_formula, substituted};
use super::super::infer::Site;
use super::super::lower::Lowered;
use super::super::prove::{self, lines};
use super::super::real::Range;
use super::super::types::{Setting, Type};
use super::{Combinator, Kind};

/// Arguments at which the other function may be taken, where a term does not say.
const ARGUMENTS: &[&str] = &["pi/2 - x", "x + pi/2", "x - pi/2", "pi - x", "-x", "x"];

/// `Recharacterise`.
pub static RECHARACTERISE: Combinator = Combinator {
    name: "Recharacterise",
    ty: "Recharacterise<f, u, v, a, b> : Impl<g, c, d> -> Impl<f, a, b>, where u(x) is in [c, d] and f(x) = v(g(u(x)), x) on [a, b]",
    description: "A function by another one, at a formula u of x; v is a formula of the value y of that, and of x. Where v is not said, it is y; \
        where u is not said, one that moves x or turns it over is taken that can be proven.",
    example: "Recharacterise<sin, pi/2 - x>(HornerPolynomial<cos, 0, pi/2>([0: 1, 2: ?, 4: ?, 6: ?]))",
    parameters: &[
        ("f", Kind::Function),
        ("u", Kind::Formula(&["x"])),
        ("v", Kind::Formula(&["y", "x"])),
        ("a", Kind::Real),
        ("b", Kind::Real),
    ],
    arguments: 1,
    types: |site| {
        let f = site.function(0).or_else(|| site.want.function().cloned());
        let f = f.ok_or_else(|| {
            site.fail("is not told which function it is to implement: `Recharacterise<sin>(...)`")
        })?;
        let formula = |site: &Site<'_, '_>, n: usize| match site.setting(n) {
            Some(Setting::Formula(x)) => Some(x.clone()),
            _ => None,
        };
        let given = match (site.real(3), site.real(4), site.want.range()) {
            (Some(a), Some(b), _) => Some(Range::new(a, b)),
            (_, _, Some(range)) => Some(range.clone()),
            _ => None,
        };
        let u = formula(site, 1);
        // Where it is known at which numbers the other function is taken, no more is asked of it.
        let own = u.as_ref().zip(given.as_ref()).and_then(|(u, range)| lines::image(u, range));
        let one = site.one(0, None, own)?;
        let v = formula(site, 2).unwrap_or_else(|| Expr::var(0));
        let candidates = match u {
            Some(u) => vec![u],
            None => ARGUMENTS.iter().filter_map(|u| read_formula(u, &["x"]).ok()).collect(),
        };
        let mut last = None;
        for u in candidates {
            let Some(range) = given.clone().or_else(|| lines::preimage(&u, &one.range)) else {
                last = Some(site.fail(format!(
                    "does not know where {u} is in {}: say the range, <f, u, v, a, b>",
                    one.range
                )));
                continue;
            };
            let fits = one.range == Range::WHOLE || prove::maps_into(&u, &range, &one.range);
            if !fits {
                last =
                    last.or(Some(site.fail(format!(
                        "needs {u} in {} for all x in {range}, which is not proven",
                        one.range
                    ))));
                continue;
            }
            let Some(at) = one.function.at(&u) else {
                return Err(site.fail(format!("knows nothing of {} but its name", one.function)));
            };
            let value = Function::of(substituted(&v, &[at, Expr::var(0)]));
            match site.require(&f, &value, &range) {
                Err(why) => last = last.or(Some(why)),
                Ok(()) => {
                    site.set(0, Setting::Function(f.clone()));
                    site.set(1, Setting::Formula(u));
                    site.set(2, Setting::Formula(v));
                    site.set(3, Setting::Real(range.from.clone()));
                    site.set(4, Setting::Real(range.to.clone()));
                    return Ok(Type::of(f, range));
                }
            }
        }
        Err(last.unwrap_or_else(|| site.fail("knows no such u: say it")))
    },
    meaning: |of, arguments| {
        let y = substituted(&arguments[0][0], &[of.formula(1).clone()]);
        vec![substituted(of.formula(2), &[y, Expr::var(0)])]
    },
    lower: |e, of, term, x| {
        let u = e.formula(of.formula(1), &[x], &term.loc)?;
        let y = e.value(&of.arguments[0], &u)?;
        Ok(Lowered::One(e.formula(of.formula(2), &[&y, x], &term.loc)?))
    },
};

/// `Compose`.
pub static COMPOSE: Combinator = Combinator {
    name: "Compose",
    ty: "Compose : Impl<f, c, d> * Impl<g, a, b> -> Impl<f(g), a, b>, where g(x) is in [c, d] on [a, b]",
    description: "The first function of the second.",
    example: "Compose(HornerPolynomial<exp, -1, 1>([0: 1, 1: ?, 2: ?]), HornerPolynomial<sin, 0, 1>([1: 1, 3: ?]))",
    parameters: &[],
    arguments: 2,
    types: |site| {
        let outer = site.one(0, None, None)?;
        let inner = site.one(1, None, site.want.range().cloned())?;
        let Some(g) = &inner.function.formula else {
            return Err(site.fail(format!("knows nothing of {} but its name", inner.function)));
        };
        if outer.range != Range::WHOLE && !prove::maps_into(g, &inner.range, &outer.range) {
            return Err(site.fail(format!(
                "needs {} in {} for all x in {}, which is not proven",
                inner.function, outer.range, inner.range
            )));
        }
        site.proven(format!("{} is in {} for x in {}", inner.function, outer.range, inner.range));
        let Some(f) = outer.function.at(g) else {
            return Err(site.fail(format!("knows nothing of {} but its name", outer.function)));
        };
        Ok(Type::of(Function::of(f), inner.range))
    },
    meaning: |_, arguments| vec![substituted(&arguments[0][0], std::slice::from_ref(&arguments[1][0]))],
    lower: |e, of, _, x| {
        let inner = e.value(&of.arguments[1], x)?;
        Ok(Lowered::One(e.value(&of.arguments[0], &inner)?))
    },
};
