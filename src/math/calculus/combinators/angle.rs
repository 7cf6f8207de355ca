//! Sine and cosine of other angles.

use ngc_ir::Diagnostic;
use ngc_numerics::Expr;
use ngc_numerics::expr::{cos, sin, sqrt};
use rug::Rational;

use super::super::function::{Function, substituted};
use super::super::infer::Site;
use super::super::lower::{Lowered, constant};
use super::super::real::{Range, Real};
use super::super::types::{Setting, Type};
use super::{Combinator, Kind};

fn sine() -> Function {
    Function::of(sin(Expr::var(0)))
}

fn cosine() -> Function {
    Function::of(cos(Expr::var(0)))
}

/// The range of the angles that are known: of the parameters, else as much of what is wanted.
fn known(site: &Site<'_, '_>, part: &Rational) -> Option<Range> {
    let wanted = site.want.range().map(|r| Range::new(r.from.times(part), r.to.times(part)));
    let (a, b) = (site.real(0), site.real(1));
    let from = a.or_else(|| wanted.as_ref().map(|r| r.from.clone()))?;
    let to = b.or_else(|| wanted.as_ref().map(|r| r.to.clone()))?;
    Some(Range::new(from, to))
}

/// `DoubleAngle`.
pub static DOUBLE_ANGLE: Combinator = Combinator {
    name: "DoubleAngle",
    ty: "DoubleAngle<a, b> : Impl<sin, a, b> * Impl<cos, a, b> -> Impl<sin, 2a, 2b> * Impl<cos, 2a, 2b>",
    description: "Of s and c at x/2 the sine is 2 s c, the cosine 1 - 2 s^2.",
    example: "fst(DoubleAngle<0, pi/4>(HornerPolynomial([1: 1, 3: ?, 5: ?]), HornerPolynomial([0: 1, 2: ?, 4: ?])))",
    parameters: &[("a", Kind::Real), ("b", Kind::Real)],
    arguments: 2,
    types: |site| {
        let range = known(site, &Rational::from((1, 2)));
        let s = site.one(0, Some(sine()), range.clone())?;
        let c = site.one(1, Some(cosine()), Some(range.unwrap_or_else(|| s.range.clone())))?;
        let range = c.range;
        site.set(0, Setting::Real(range.from.clone()));
        site.set(1, Setting::Real(range.to.clone()));
        let two = Rational::from(2);
        Ok(Type::pair(sine(), cosine(), Range::new(range.from.times(&two), range.to.times(&two))))
    },
    meaning: |_, arguments| {
        let half = Expr::var(0) / 2;
        let (s, c) = (
            substituted(&arguments[0][0], std::slice::from_ref(&half)),
            substituted(&arguments[1][0], &[half]),
        );
        vec![&s * c * 2, 1 - &s * &s * 2]
    },
    lower: |e, of, _, x| {
        let half = e.one("mul", &[x, "0.5"], "half");
        let (s, c) = (e.value(&of.arguments[0], &half)?, e.value(&of.arguments[1], &half)?);
        let twice = e.one("add", &[&s, &s], "twice");
        let negative = e.one("neg", &[&twice], "negative");
        let (sine, cosine) =
            (e.one("mul", &[&twice, &c], "sine"), e.one("fma", &[&negative, &s, "1"], "cosine"));
        Ok(Lowered::Two([sine, cosine]))
    },
};

/// `HalfAngle`.
pub static HALF_ANGLE: Combinator = Combinator {
    name: "HalfAngle",
    ty: "HalfAngle<a, b> : Impl<cos, a, b> -> Impl<sin, a/2, b/2> * Impl<cos, a/2, b/2>, where 0 <= a and b <= pi",
    description: "Of c at 2x the sine is sqrt((1 - c)/2), the cosine sqrt((1 + c)/2).",
    example: "snd(HalfAngle<0, pi/2>(HornerPolynomial([0: 1, 2: ?, 4: ?, 6: ?])))",
    parameters: &[("a", Kind::Real), ("b", Kind::Real)],
    arguments: 1,
    types: |site| {
        let range = known(site, &Rational::from(2));
        let range = site.one(0, Some(cosine()), range)?.range;
        let whole = Range::new(Real::zero(), constant("pi"));
        if !whole.contains(&range) {
            return Err(site.fail(format!(
                "knows the signs of sine and cosine of half an angle from 0 to pi, and the angles lie in {range}"
            )));
        }
        site.set(0, Setting::Real(range.from.clone()));
        site.set(1, Setting::Real(range.to.clone()));
        let half = Rational::from((1, 2));
        Ok(Type::pair(sine(), cosine(), Range::new(range.from.times(&half), range.to.times(&half))))
    },
    meaning: |_, arguments| {
        let c = substituted(&arguments[0][0], &[Expr::var(0) * 2]);
        vec![sqrt((1 - &c) / 2), sqrt((1 + c) / 2)]
    },
    lower: |e, of, _, x| {
        let double = e.one("add", &[x, x], "double");
        let c = e.value(&of.arguments[0], &double)?;
        let root = |e: &mut super::super::lower::Emitter, factor: &str| -> Result<String, Diagnostic> {
            let half = e.one("fma", &[&c, factor, "0.5"], "half");
            // Rounding must not take it below 0.
            let half = e.one("max", &[&half, "0"], "half");
            Ok(e.one("sqrt", &[&half], "root"))
        };
        Ok(Lowered::Two([root(e, "-0.5")?, root(e, "0.5")?]))
    },
};
