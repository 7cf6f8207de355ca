//! Functions that double along a period of their argument.

use ngc_ir::Diagnostic;
use ngc_numerics::enclosure::Enclosure;
use ngc_numerics::{Expr, Format};
use rug::{Float, Rational};

use super::super::function::{Enclosed, Function, substituted};
use super::super::lower::{Emitter, Lowered, constant};
use super::super::real::Range;
use super::super::types::{Setting, Type, Typed};
use super::periodic::{Additive, additive, rounder};
use super::{Combinator, Kind, after, reduced};

/// The largest table.
const MOST: u32 = 256;
/// Bits of enclosures.
const BITS: u32 = 128;

/// `ExpBit`.
pub static EXP_BIT: Combinator = Combinator {
    name: "ExpBit",
    ty: "ExpBit<p, n> : Impl<f, -p/(2n), p/(2n)> -> Impl<f, -inf, inf>, where f(x + p/n) = 2^(1/n) f(x), or f(x + p) = 2 f(x) + 1 and n = 1",
    description: "x = (k + j/n) p + r: the value at r times 2^(j/n), from a table of n, times 2^k, by the bits of the exponent; plus 2^k - 1, \
        where 1 is added to the double.",
    example: "ExpBit<log(2), 16>(EstrinPolynomial<exp, -log(2)/32, log(2)/32>([0: 1, 1: 1, 2: ?, 3: ?]))",
    parameters: &[("p", Kind::Real), ("n", Kind::Count(MOST))],
    arguments: 1,
    types: |site| {
        let n = match site.setting(1) {
            Some(Setting::Count(n)) => *n,
            _ => 1,
        };
        if !n.is_power_of_two() {
            return Err(site.fail(format!("takes a table of a power of two of entries, not {n}")));
        }
        let periods = site.real(0).map_or_else(|| vec![constant("log(2)"), constant("1")], |p| vec![p]);
        let mut last = None;
        for p in periods {
            site.positive(&p)?;
            let half = p.times(&Rational::from((1, 2 * n)));
            let around = Range::new(half.negated(), half);
            let wanted = site.want.function().cloned();
            let one = site.one(0, wanted, Some(around))?;
            let step = p.times(&Rational::from((1, n)));
            let Some(shifted) = after(&one.function, &(Expr::var(0) + step.expr())) else {
                return Err(site.fail("knows nothing of the function but its name"));
            };
            let grown = one.function.formula.as_ref().map(|f| match n {
                1 => Function::of(f * 2),
                _ => Function::of(f * ngc_numerics::expr::exp2(Expr::ratio(1, n.into()))),
            });
            let Some(grown) = grown else {
                return Err(site.fail("knows nothing of the function but its name"));
            };
            let more = grown.formula.as_ref().filter(|_| n == 1).map(|f| Function::of(f + 1));
            let is_more = more.is_some_and(|more| site.prove(&shifted, &more, &Range::WHOLE).is_ok());
            match if is_more { Ok(()) } else { site.require(&shifted, &grown, &Range::WHOLE) } {
                Err(why) => last = last.or(Some(why)),
                Ok(()) => {
                    site.set(0, Setting::Real(p));
                    site.set(1, Setting::Count(n));
                    site.set(2, Setting::Count(1 + u32::from(is_more)));
                    let range = site.want.range().cloned().unwrap_or(Range::WHOLE);
                    return Ok(Type::of(one.function, range));
                }
            }
        }
        Err(last.unwrap_or_else(|| site.fail("knows no period")))
    },
    meaning: |of, arguments| {
        let n = of.count(1);
        let (k, r) = reduced(&of.real(0).times(&Rational::from((1, n))).expr());
        let power = ngc_numerics::expr::exp2(k / Expr::ratio(n.into(), 1));
        let y = substituted(&arguments[0][0], &[r]) * &power;
        vec![if of.count(2) == PLUS_ONE { y + (power - 1) } else { y }]
    },
    lower: |e, of, term, x| {
        let n = of.count(1);
        let step = of.real(0).times(&Rational::from((1, n)));
        let Additive { places, r } = additive(e, &step, term, x, 2)?;
        let mut y = e.value(&of.arguments[0], &r)?;
        if n > 1 {
            let j = e.one("andi", &[&places, &(n - 1).to_string()], "j");
            let entry = |j: u32| {
                let power = Float::with_val(400, Float::with_val(400, Rational::from((j, n))).exp2_ref());
                crate::fit::digits(&power, e.format)
            };
            let entries: Vec<String> = (0..n).map(entry).collect();
            let t = e.one(format!("table[{}, {}]", e.format.name(), entries.join(", ")), &[&j], "t");
            y = e.one("mul", &[&y, &t], "y");
        }
        let bits = n.ilog2();
        if of.count(2) == PLUS_ONE {
            return plus_one(e, term, &places, &y);
        }
        if stays_normal(term, e.format) {
            let k = if bits > 0 { e.one(format!("shrsi[{bits}]"), &[&places], "k") } else { places };
            let exponent = e.one(format!("shli[{}]", e.fraction()), &[&k], "exponent");
            let value = e.one(format!("bitcast[{}]", e.integers()), &[&y], "bits");
            let scaled = e.one("add", &[&value, &exponent], "bits");
            return Ok(Lowered::One(e.one(format!("bitcast[{}]", e.format.name()), &[&scaled], "y")));
        }
        let whole = e.one("sub", &[&places, rounder(e).1], "k");
        let k = if bits > 0 { e.one(format!("shrsi[{bits}]"), &[&whole], "k") } else { whole };
        Ok(Lowered::One(e.one("mk_float", &["1", &k, &y], "y")))
    },
};

/// A function of which the double and 1 is the value a period further.
const PLUS_ONE: u32 = 2;

/// `2^k y + (2^k - 1)`
fn plus_one(e: &mut Emitter, term: &Typed, places: &str, y: &str) -> Result<Lowered, Diagnostic> {
    let Type::Impl(one) = &term.ty else { return Err(Diagnostic::error(term.loc.clone(), "is a pair")) };
    // 2^k is about as large as the function, and where that tends to -1 no smaller than a number.
    let most =
        one.range.from.to_f64().abs().max(one.range.to.to_f64().abs()) * std::f64::consts::LOG2_E + 2.0;
    if most.is_nan() || most >= f64::from(e.format.emax()) {
        let message = format!("needs powers of two that are no numbers of {} on {}", e.format, one.range);
        return Err(Diagnostic::error(term.loc.clone(), message));
    }
    let exponent = e.one(format!("shli[{}]", e.fraction()), &[places], "exponent");
    let encoding = if e.format == Format::F64 { "0x3ff0000000000000" } else { "0x3f800000" };
    let power = e.one("add", &[&exponent, encoding], "power");
    let s = e.one(format!("bitcast[{}]", e.format.name()), &[&power], "s");
    let whole = e.one("sub", &[&s, "1"], "whole");
    Ok(Lowered::One(e.one("fma", &[&s, y, &whole], "y")))
}

/// Whether all values of a function, and twice and half of them, are normal numbers of a format.
fn stays_normal(term: &Typed, format: Format) -> bool {
    let Type::Impl(one) = &term.ty else { return false };
    let Some(formula) = &one.function.formula else { return false };
    let end = |x: &super::super::real::Real| Enclosure::point(x.to_float(BITS));
    let range = end(&one.range.from).hull(end(&one.range.to));
    let values = Enclosed::new(formula, BITS).over(&range);
    let least = Float::with_val(BITS, format.min_normal()) * 2u32;
    let greatest = Float::with_val(BITS, 1) << (format.emax() - 1);
    !values.may_be_nan && values.lo > least && values.hi < greatest
}
