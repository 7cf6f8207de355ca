//! Additive reduction of the argument.

use ngc_ir::Diagnostic;
use ngc_numerics::Expr;
use rug::Rational;

use super::super::function::{Function, substituted};
use super::super::lower::{Emitter, Lowered, constant};
use super::super::real::{Range, Real};
use super::super::types::{Setting, Type, Typed};
use super::{Combinator, Kind, after, one_of, quarter, reduced};

/// `Periodic`.
pub static PERIODIC: Combinator = Combinator {
    name: "Periodic",
    ty: "Periodic<p> : Impl<f, -p/2, p/2> -> Impl<f, -inf, inf>, where f(x + p) = f(x) or f(x + p) = -f(x)",
    description: "The argument less the nearest multiple k p of the period, which is taken off in several words (Cody and Waite 1980); where \
        the function changes its sign, the value does with odd k.",
    example: "Periodic<pi>(HornerPolynomial<sin, -pi/2, pi/2>([1: 1, 3: ?, 5: ?, 7: ?]))",
    parameters: &[("p", Kind::Real)],
    arguments: 1,
    types: |site| {
        let periods = match site.real(0) {
            Some(p) => vec![p],
            None => vec![constant("pi"), constant("2*pi")],
        };
        let mut last = None;
        for p in periods {
            site.positive(&p)?;
            let half = p.times(&Rational::from((1, 2)));
            let around = Range::new(half.negated(), half);
            let wanted = site.want.function().cloned();
            let one = site.one(0, wanted, Some(around))?;
            let shifted = after(&one.function, &(Expr::var(0) + p.expr()));
            let Some((shifted, f)) = shifted.zip(one.function.formula.clone()) else {
                return Err(site.fail("knows nothing of the function but its name"));
            };
            let kept = site.prove(&shifted, &one.function, &Range::WHOLE);
            let turned = kept.is_err() && site.prove(&shifted, &Function::of(-&f), &Range::WHOLE).is_ok();
            if let (Err(why), false) = (kept, turned) {
                last = Some(site.fail(format!("needs {shifted} = {f} or {shifted} = -{f} for all x: {why}")));
                continue;
            }
            site.set(0, Setting::Real(p));
            site.set(1, Setting::Count(1 + u32::from(turned)));
            let range = site.want.range().cloned().unwrap_or(Range::WHOLE);
            return Ok(Type::of(one.function, range));
        }
        Err(last.unwrap_or_else(|| site.fail("knows no period")))
    },
    meaning: |of, arguments| {
        let (k, r) = reduced(&of.real(0).expr());
        let y = substituted(&arguments[0][0], &[r]);
        let half = ngc_numerics::expr::floor(&k / 2) * 2;
        vec![match of.count(1) {
            1 => y,
            _ => Expr::select(ngc_numerics::Cmp::Eq, k, half, &y, -&y),
        }]
    },
    lower: |e, of, term, x| {
        let Additive { places, r } = additive(e, of.real(0), term, x, 3)?;
        let y = e.value(&of.arguments[0], &r)?;
        Ok(Lowered::One(match of.count(1) {
            1 => y,
            _ => turned(e, &y, &places, 0),
        }))
    },
};

/// `Quadrant`.
pub static QUADRANT: Combinator = Combinator {
    name: "Quadrant",
    ty: "Quadrant<p> : Impl<f, -p/2, p/2> * Impl<g, -p/2, p/2> -> Impl<f, -inf, inf> * Impl<g, -inf, inf>, where f(x + p) = g(x) and g(x + p) = -f(x)",
    description: "Sine and cosine, by the nearest multiple of a quarter turn: which of the two, and its sign.",
    example: "fst(Quadrant(HornerPolynomial([1: 1, 3: ?, 5: ?]), HornerPolynomial([0: 1, 2: ?, 4: ?])))",
    parameters: &[("p", Kind::Real)],
    arguments: 2,
    types: |site| {
        let p = site.real(0).unwrap_or_else(|| constant("pi/2"));
        site.positive(&p)?;
        let half = p.times(&Rational::from((1, 2)));
        let around = Range::new(half.negated(), half);
        let shift = Expr::var(0) + p.expr();
        // Each follows from the other, so one that is wanted says both; sine and cosine where nothing does.
        let (mut f, mut g) = (site.want.part(0).function().cloned(), site.want.part(1).function().cloned());
        if f.is_none() && g.is_none() {
            f = Some(Function::of(ngc_numerics::expr::sin(Expr::var(0))));
        }
        let cos = || Function::of(ngc_numerics::expr::cos(Expr::var(0)));
        let sin = || Function::of(ngc_numerics::expr::sin(Expr::var(0)));
        let next = |f: &Function| after(f, &shift);
        let partner = |site: &mut crate::calculus::infer::Site<'_, '_>, f: &Function, sign: bool| {
            let shifted =
                if sign { next(f).and_then(|s| Some(Function::of(-&s.formula?))) } else { next(f) }?;
            [sin(), cos()]
                .into_iter()
                .find(|g| site.prove(&shifted, g, &Range::WHOLE).is_ok())
                .or(Some(shifted))
        };
        if g.is_none() {
            g = f.clone().and_then(|f| partner(site, &f, false));
        }
        if f.is_none() {
            f = g.clone().and_then(|g| partner(site, &g, true));
        }
        let first = site.one(0, f, Some(around.clone()))?;
        let second = site.one(1, g, Some(around))?;
        let (Some(next), Some(after_next), Some(back)) = (
            next(&first.function),
            next(&second.function),
            first.function.formula.as_ref().map(|f| Function::of(-f)),
        ) else {
            return Err(site.fail("knows nothing of the functions but their names"));
        };
        site.require(&next, &second.function, &Range::WHOLE)?;
        site.require(&after_next, &back, &Range::WHOLE)?;
        site.set(0, Setting::Real(p));
        let range = site.want.range().cloned().unwrap_or(Range::WHOLE);
        Ok(Type::pair(first.function, second.function, range))
    },
    meaning: |of, arguments| {
        let (k, r) = reduced(&of.real(0).expr());
        let q = quarter(&k);
        let (s, c) =
            (substituted(&arguments[0][0], std::slice::from_ref(&r)), substituted(&arguments[1][0], &[r]));
        vec![one_of(&q, [s.clone(), c.clone(), -&s, -&c]), one_of(&q, [c.clone(), -&s, -&c, s])]
    },
    lower: |e, of, term, x| {
        let Additive { places, r } = additive(e, of.real(0), term, x, 3)?;
        let (s, c) = (e.value(&of.arguments[0], &r)?, e.value(&of.arguments[1], &r)?);
        let odd = e.one("andi", &[&places, "1"], "odd");
        let swapped = e.one("compare[EQ]", &[&odd, "1"], "swapped");
        let first = e.one("where", &[&swapped, &c, &s], "y");
        let first = turned(e, &first, &places, 1);
        let second = e.one("where", &[&swapped, &s, &c], "y");
        let next = e.one("add", &[&places, "1"], "next");
        let second = turned(e, &second, &next, 1);
        Ok(Lowered::Two([first, second]))
    },
};

/// A value with the sign changed where a bit of a whole number is set.
fn turned(e: &mut Emitter, y: &str, places: &str, bit: u32) -> String {
    let last = e.format.width() - 1;
    let only = e.one("andi", &[places, &(1u32 << bit).to_string()], "half");
    let sign = e.one(format!("shli[{}]", last - bit), &[&only], "sign");
    let bits = e.one(format!("bitcast[{}]", e.integers()), &[y], "bits");
    let signed = e.one("xori", &[&bits, &sign], "bits");
    e.one(format!("bitcast[{}]", e.format.name()), &[&signed], "y")
}

/// An argument less the nearest multiple.
pub(super) struct Additive {
    /// An integer whose lowest bits are those of which multiple it is.
    pub places: String,
    /// The rest.
    pub r: String,
}

/// The number whose sum with a smaller one is rounded to an integer, which is then in its lowest bits.
pub(super) fn rounder(e: &Emitter) -> (&'static str, &'static str) {
    if e.format == ngc_numerics::Format::F64 {
        ("6755399441055744", "0x4338000000000000")
    } else {
        ("12582912", "0x4b400000")
    }
}

/// Takes off the nearest multiple of a number, in words, of which there are two where the format is wider than that of the result.
pub(super) fn additive(
    e: &mut Emitter,
    period: &Real,
    term: &Typed,
    x: &str,
    words: usize,
) -> Result<Additive, Diagnostic> {
    let range = match &term.ty {
        Type::Impl(one) => one.range.clone(),
        Type::Pair(parts) => match &parts[0] {
            Type::Impl(one) => one.range.clone(),
            Type::Pair(_) => Range::WHOLE,
        },
    };
    let most = (range.from.to_f64().abs().max(range.to.to_f64().abs()) / period.to_f64()).ceil() + 1.0;
    let room = e.precision() - 3;
    if most.is_nan() || most >= 2f64.powi(room as i32) {
        let message = format!(
            "reduces arguments of {range} by multiples of {period}, and in {} there are no more than 2^{room} of them; say a \
             narrower range in the type of the term, or compute in f64: `Cast<f64>(...)`",
            e.format
        );
        return Err(Diagnostic::error(term.loc.clone(), message));
    }
    let wider = e.precision() >= 2 * e.outer.precision();
    let (count, less) = if wider { (2, 0) } else { (words, most.log2().ceil() as u32 + 1) };
    let inverse = crate::fit::digits(&period.to_float(400).recip(), e.format);
    let (magic, _) = rounder(e);
    let shifted = if inverse.parse() == Ok(1.0) {
        e.one("add", &[x, magic], "shifted")
    } else {
        e.one("fma", &[x, &inverse, magic], "shifted")
    };
    let k = e.one("sub", &[&shifted, magic], "k");
    let mut r = x.to_string();
    for word in e.words(&period.negated(), count, less) {
        // A period that is a number of the format has no more words.
        if word.parse() != Ok(0.0) {
            r = e.one("fma", &[&k, &word, &r], "r");
        }
    }
    let places = e.one(format!("bitcast[{}]", e.integers()), &[&shifted], "places");
    Ok(Additive { places, r })
}
