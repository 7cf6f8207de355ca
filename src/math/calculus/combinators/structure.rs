//! Parts of a range, and formats.

use ngc_numerics::{Cmp, Expr, Format};

use super::super::lower::Lowered;
use super::super::real::Range;
use super::super::types::{Setting, Type};
use super::{Combinator, Kind};

/// `SplitDomain`.
pub static SPLIT_DOMAIN: Combinator = Combinator {
    name: "SplitDomain",
    ty: "SplitDomain<p> : Impl<f, a, p> * Impl<f, p, b> -> Impl<f, a, b>",
    description: "The first up to p, the second beyond it.",
    example: "SplitDomain(HornerPolynomial<exp, 0, 1>([0: 1, 1: ?, 2: ?]), HornerPolynomial<exp, 1, 2>([?, ?, ?]))",
    parameters: &[("p", Kind::Real)],
    arguments: 2,
    types: |site| {
        let f = site.want.function().cloned();
        let (p, wanted) = (site.real(0), site.want.range().cloned());
        let below = p.as_ref().zip(wanted.as_ref()).map(|(p, r)| Range::new(r.from.clone(), p.clone()));
        let first = site.one(0, f.clone(), below)?;
        let p = p.unwrap_or_else(|| first.range.to.clone());
        let above = wanted.map(|r| Range::new(p.clone(), r.to));
        let second = site.one(1, f.or_else(|| Some(first.function.clone())), above)?;
        if !second.range.from.is_at_most(&p) || !p.is_at_most(&first.range.to) {
            return Err(site.fail(format!("leaves a gap between {} and {}", first.range, second.range)));
        }
        site.set(0, Setting::Real(p));
        Ok(Type::of(first.function, Range::new(first.range.from, second.range.to)))
    },
    meaning: |of, arguments| {
        vec![Expr::select(Cmp::Gt, Expr::var(0), of.real(0).expr(), &arguments[1][0], &arguments[0][0])]
    },
    lower: |e, of, _, x| {
        let p = e.number(of.real(0));
        let beyond = e.one("compare[GT]", &[x, &p], "beyond");
        let (below, above) = (e.value(&of.arguments[0], x)?, e.value(&of.arguments[1], x)?);
        Ok(Lowered::One(e.one("where", &[&beyond, &above, &below], "y")))
    },
};

/// `Cast`.
pub static CAST: Combinator = Combinator {
    name: "Cast",
    ty: "Cast<format> : T -> T, for implementations and pairs of them",
    description: "The term computed in another format, f32 or f64; what it is of does not change.",
    example: "Cast<f64>(HornerPolynomial<sin, 0, 1>([1: 1, 3: ?, 5: ?]))",
    parameters: &[("format", Kind::Format)],
    arguments: 1,
    types: |site| {
        let format = match site.setting(0) {
            Some(Setting::Format(format)) => *format,
            _ => Format::F64,
        };
        site.set(0, Setting::Format(format));
        let want = site.want.clone();
        site.argument(0, &want)
    },
    meaning: |_, arguments| arguments[0].clone(),
    lower: |e, of, _, x| {
        let Setting::Format(format) = of.settings[0] else {
            return Ok(Lowered::One(e.value(&of.arguments[0], x)?));
        };
        if format == e.format {
            return super::super::lower::term(e, &of.arguments[0], x);
        }
        let inside = e.one(format!("convert[{}]", format.name()), &[x], "d");
        let outside = std::mem::replace(&mut e.format, format);
        let lowered = super::super::lower::term(e, &of.arguments[0], &inside);
        e.format = outside;
        let mut back = |y: &str| e.one(format!("convert[{}]", outside.name()), &[y], "rounded");
        Ok(match lowered? {
            Lowered::One(y) => Lowered::One(back(&y)),
            Lowered::Two([a, b]) => Lowered::Two([back(&a), back(&b)]),
        })
    },
};
