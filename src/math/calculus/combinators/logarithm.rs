//! Functions that grow by a constant where their argument doubles.

use ngc_ir::Diagnostic;
use ngc_numerics::expr::{exp2, floor, log2, round_even};
use ngc_numerics::{Expr, Format};
use rug::{Float, Rational};

use super::super::function::{Function, substituted};
use super::super::infer::Site;
use super::super::lower::{Emitter, Lowered, constant};
use super::super::real::{INFINITY, Range, Real};
use super::super::types::{Setting, Type, Typed};
use super::{Combinator, Kind, after};

/// The largest table.
const MOST: u32 = 256;
/// What may be added where the argument doubles.
const STEPS: &[&str] = &["log(2)", "1", "log(2)/log(10)"];

/// The least number of the range [z, 2z) to which arguments are brought: 1 lies in the middle of one of n equal parts of the encodings
/// between them.
fn least(n: u32) -> Rational {
    // 19/32 of an octave lies below 1, near half of it.
    let below = Rational::from((2 * (19 * n / 32) + 1, 2 * n));
    let below = if n == 1 { Rational::from((19, 32)) } else { below };
    (Rational::from(2) - below) / 2u32
}

/// `Logarithmic`.
pub static LOGARITHMIC: Combinator = Combinator {
    name: "Logarithmic",
    ty: "Logarithmic<c> : Impl<f, 45/64, 45/32> -> Impl<f, 0, inf>, where f(2x) = f(x) + c for x > 0",
    description: "x = 2^e z: the value at z plus e times c.",
    example: "Logarithmic(Recharacterise<log, x - 1, y>(HornerPolynomial<log1p, -19/64, 13/32>([1: 1, 2: ?, 3: ?])))",
    parameters: &[("c", Kind::Real)],
    arguments: 1,
    types: |site| {
        let z = least(1);
        let around = Range::new(Real::rational(z.clone()), Real::rational(z * 2u32));
        let wanted = site.want.function().cloned();
        let one = site.one(0, wanted, Some(around))?;
        let c = step(site, &one.function)?;
        site.set(0, Setting::Real(c));
        let range = site.want.range().cloned().unwrap_or_else(positive);
        within(site, &range)?;
        Ok(Type::of(one.function, range))
    },
    meaning: |of, arguments| {
        let x = Expr::var(0);
        let z = Real::rational(least(1)).expr();
        let e = floor(log2(x.clone() / &z));
        vec![substituted(&arguments[0][0], &[x / exp2(&e)]) + e * of.real(0).expr()]
    },
    lower: |e, of, term, x| {
        let Split { k, z, .. } = split(e, term, x, 1)?;
        let p = e.value(&of.arguments[0], &z)?;
        let words = e.words(of.real(0), 2, 0);
        let tail = e.fma(&k, &words[1], &p);
        Ok(Lowered::One(e.fma(&k, &words[0], &tail)))
    },
};

/// `LogTable`.
pub static LOG_TABLE: Combinator = Combinator {
    name: "LogTable",
    ty: "LogTable<n, c> : Impl<f(1 + x), -w, w> -> Impl<f, 0, inf>, where f(2x) = f(x) + c and f(x t) = f(x) + f(t) for x > 0 and all t of a table",
    description: "x = 2^e z, and z lies in one of n parts, to each of which a number t near the reciprocal of its middle belongs: the value at \
        z t - 1, less f(t), from a table, plus e times c.",
    example: "LogTable<16>(HornerPolynomial<log1p, -0.04, 0.04>([1: 1, 2: ?, 3: ?, 4: ?]))",
    parameters: &[("n", Kind::Count(MOST)), ("c", Kind::Real)],
    arguments: 1,
    types: |site| {
        let n = match site.setting(0) {
            Some(Setting::Count(n)) => *n,
            _ => 16,
        };
        if !n.is_power_of_two() || n < 8 {
            return Err(site.fail(format!("takes a table of a power of two of entries from 8 on, not {n}")));
        }
        let around = rests(n);
        // The function itself is known from what is wanted, or the one of which the term has the rest.
        let f = site.want.function().cloned();
        let rest = f.as_ref().and_then(|f| after(f, &(1 + Expr::var(0))));
        let named = rest.as_ref().and_then(|rest| {
            let log1p = Function::of(ngc_numerics::expr::log1p(Expr::var(0)));
            site.prove(&log1p, rest, &around).is_ok().then_some(log1p)
        });
        let one = site.one(0, named.or(rest), Some(around))?;
        let f = match f {
            Some(f) => f,
            None => {
                let log = after(&one.function, &(Expr::var(0) - 1));
                let named = Function::of(ngc_numerics::expr::log(Expr::var(0)));
                let log = log.ok_or_else(|| site.fail("knows nothing of the function but its name"))?;
                if site.prove(&log, &named, &positive()).is_ok() { named } else { log }
            }
        };
        let rest =
            after(&f, &(1 + Expr::var(0))).ok_or_else(|| site.fail("knows nothing of the function"))?;
        site.require(&one.function, &rest, &one.range)?;
        let formula = f.formula.clone().ok_or_else(|| site.fail("knows nothing of the function"))?;
        for t in inverses(n) {
            let t = Real::rational(t).expr();
            let of_product = after(&f, &(Expr::var(0) * &t));
            let at = f.at(&t).ok_or_else(|| site.fail("knows nothing of the function"))?;
            if let Some(left) = of_product {
                site.require(&left, &Function::of(&formula + at), &positive())?;
            }
        }
        let c = step(site, &f)?;
        site.set(0, Setting::Count(n));
        site.set(1, Setting::Real(c));
        site.set(2, Setting::Function(f.clone()));
        let range = site.want.range().cloned().unwrap_or_else(positive);
        within(site, &range)?;
        Ok(Type::of(f, range))
    },
    meaning: |of, arguments| {
        let (n, x) = (of.count(0), Expr::var(0));
        let z0 = least(n);
        let e = floor(log2(x.clone() / Real::rational(z0.clone()).expr()));
        let z = x / exp2(&e);
        // The encoding of z, of which the parts are equal: linear between powers of two.
        let encoding = Expr::select(ngc_numerics::Cmp::Lt, &z, 1, &z * 2 - 2, &z - 1);
        let start = Real::rational(z0 * 2u32 - 2u32).expr();
        let i = floor((encoding - &start) * Expr::ratio(n.into(), 1));
        let middle = &start + (i + Expr::ratio(1, 2)) / Expr::ratio(n.into(), 1);
        let c = Expr::select(ngc_numerics::Cmp::Lt, &middle, 0, 1 + &middle / 2, 1 + &middle);
        let scale = Expr::ratio(SCALE, 1);
        let t = round_even(&scale / c) / &scale;
        let Setting::Function(f) = &of.settings[2] else { return Vec::new() };
        let at = f.at(&t).unwrap_or_else(|| t.clone());
        vec![substituted(&arguments[0][0], &[z * t - 1]) - at + e * of.real(1).expr()]
    },
    lower: |e, of, term, x| {
        let n = of.count(0);
        let Split { k, z, offset } = split(e, term, x, n)?;
        let part = e.one(format!("shrui[{}]", e.fraction() - n.ilog2()), &[&offset], "part");
        let i = e.one("andi", &[&part, &(n - 1).to_string()], "i");
        let Setting::Function(f) = &of.settings[2] else {
            return Err(Diagnostic::error(term.loc.clone(), "has no function"));
        };
        let all = inverses(n);
        let inverse: Vec<String> = all.iter().map(|t| e.number(&Real::rational(t.clone()))).collect();
        let value = |t: &Rational| {
            let at = f.at(&Real::rational(t.clone()).expr()).ok_or("has no value".to_string())?;
            let value = Real::of(&at)?.negated();
            Ok(if value.enclose(200).is_point() && value.to_f64() == 0.0 {
                "0".into()
            } else {
                e.number(&value)
            })
        };
        let logarithm: Result<Vec<String>, String> = all.iter().map(value).collect();
        let logarithm = logarithm.map_err(|m| Diagnostic::error(term.loc.clone(), m))?;
        let table = |entries: &[String]| format!("table[{}, {}]", e.format.name(), entries.join(", "));
        let (inverse, logarithm) = (table(&inverse), table(&logarithm));
        let t = e.one(inverse, &[&i], "inverse");
        let l = e.one(logarithm, &[&i], "logarithm");
        let r = e.one("fma", &[&z, &t, "-1"], "r");
        let p = e.value(&of.arguments[0], &r)?;
        let small = e.one("add", &[&l, &p], "small");
        let words = e.words(of.real(1), 2, 0);
        let tail = e.fma(&k, &words[1], &small);
        Ok(Lowered::One(e.fma(&k, &words[0], &tail)))
    },
};

fn positive() -> Range {
    Range::new(Real::zero(), INFINITY)
}

fn within(site: &Site<'_, '_>, range: &Range) -> Result<(), Diagnostic> {
    match Real::zero().is_at_most(&range.from) {
        true => Ok(()),
        false => Err(site.fail(format!("knows the function on [0, inf], and it is wanted on {range}"))),
    }
}

/// What is added where the argument doubles.
fn step(site: &mut Site<'_, '_>, f: &Function) -> Result<Real, Diagnostic> {
    let n = if site.setting(0).is_some_and(|s| matches!(s, Setting::Real(_))) { 0 } else { 1 };
    let steps = site.real(n).map_or_else(|| STEPS.iter().map(|c| constant(c)).collect(), |c| vec![c]);
    let (Some(doubled), Some(formula)) = (after(f, &(2 * Expr::var(0))), f.formula.clone()) else {
        return Err(site.fail("knows nothing of the function but its name"));
    };
    let mut last = None;
    for c in steps {
        match site.require(&doubled, &Function::of(&formula + c.expr()), &positive()) {
            Ok(()) => return Ok(c),
            Err(why) => last = last.or(Some(why)),
        }
    }
    Err(last.unwrap_or_else(|| site.fail("knows no c")))
}

/// Numbers of a table are multiples of the reciprocal of this, so that products with them are exact.
const SCALE: i64 = 1 << 10;

/// The middles of the parts.
fn middles(n: u32) -> Vec<Rational> {
    let start = least(n) * 2u32 - 2u32;
    let middle = |i: u32| {
        let v = start.clone() + Rational::from((2 * i + 1, 2 * n));
        if v < 0 { v / 2u32 + 1u32 } else { v + 1u32 }
    };
    (0..n).map(middle).collect()
}

/// Numbers near the reciprocals of the middles of the parts.
fn inverses(n: u32) -> Vec<Rational> {
    let near = |c: Rational| {
        let scaled = Float::with_val(128, Rational::from(SCALE) / c).round_even();
        Rational::from((scaled.to_integer().unwrap_or_default(), SCALE))
    };
    middles(n).into_iter().map(near).collect()
}

/// Where the rests `z t - 1` of all parts lie.
fn rests(n: u32) -> Range {
    let start = least(n) * 2u32 - 2u32;
    let z = |v: &Rational| if *v < 0 { Rational::from(v / 2u32) + 1u32 } else { Rational::from(v + 1u32) };
    let mut most = Rational::new();
    for (i, t) in inverses(n).into_iter().enumerate() {
        for end in [i as u32, i as u32 + 1] {
            let v = start.clone() + Rational::from((end, n));
            most = most.max((z(&v) * &t - 1u32).abs());
        }
    }
    // Of few places, and not below.
    let places = 1u32 << 16;
    let up = (most * places).ceil() / places;
    Range::new(Real::rational(-up.clone()), Real::rational(up))
}

/// A number in parts.
struct Split {
    /// The exponent, as a number.
    k: String,
    /// The rest, from [`least`] on to twice that.
    z: String,
    /// Its encoding less that of the least.
    offset: String,
}

fn split(e: &mut Emitter, term: &Typed, x: &str, n: u32) -> Result<Split, Diagnostic> {
    let Type::Impl(one) = &term.ty else { return Err(Diagnostic::error(term.loc.clone(), "is a pair")) };
    // The least number of the format of the arguments that is above the end of the range.
    let least_of_outer = e.outer.min_normal() * 2f64.powi(1 - e.outer.precision() as i32);
    if one.range.from.to_f64().max(least_of_outer) < e.format.min_normal() {
        let message = format!(
            "takes the exponent out of the bits of numbers, and some of {} are subnormal in {}; say a range from {:e} on in the \
             type of the term, or compute in f64: `Cast<f64>(...)`",
            one.range,
            e.format,
            e.format.min_normal()
        );
        return Err(Diagnostic::error(term.loc.clone(), message));
    }
    let z0 = least(n).to_f64();
    let start = match e.format {
        Format::F64 => format!("{:#x}", z0.to_bits()),
        _ => format!("{:#x}", (z0 as f32).to_bits()),
    };
    let (to, back) = (format!("bitcast[{}]", e.integers()), format!("bitcast[{}]", e.format.name()));
    let bits = e.one(to, &[x], "bits");
    let offset = e.one("sub", &[&bits, &start], "offset");
    let exponent = e.one(format!("shrsi[{}]", e.fraction()), &[&offset], "exponent");
    let scale = e.one(format!("shli[{}]", e.fraction()), &[&exponent], "scale");
    let rest = e.one("sub", &[&bits, &scale], "bits");
    let z = e.one(back, &[&rest], "z");
    let k = e.one(format!("convert[{}]", e.format.name()), &[&exponent], "k");
    Ok(Split { k, z, offset })
}
