//! Sums, differences, products, quotients and powers in other words.

use ngc_ir::{Attr, Value};

use super::super::site::Site;
use super::{Change, plain};

pub const CHANGES: &[Change] = &[
    plain("operands exchanged", exchanged),
    plain("a - b as -(b - a)", |s| {
        let [a, b] = two(s, "sub")?;
        let turned = s.plain("sub", &[b, a])?;
        s.plain("neg", &[turned])
    }),
    plain("a - b as a + -b", |s| {
        let [a, b] = two(s, "sub")?;
        let negative = s.plain("neg", &[b])?;
        s.plain("add", &[a, negative])
    }),
    plain("a - b as a + -1 b", |s| {
        let [a, b] = two(s, "sub")?;
        let minus = s.number(-1.0, b)?;
        let negative = s.plain("mul", &[minus, b])?;
        s.plain("add", &[negative, a])
    }),
    plain("a + b as a - -b", |s| {
        s.is("add")?;
        let (a, b) = s.pair()?;
        let negative = s.plain("neg", &[b])?;
        s.plain("sub", &[a, negative])
    }),
    plain("-a as 0 - a", |s| {
        s.is("neg")?;
        let zero = s.number(0.0, s.x[0])?;
        s.plain("sub", &[zero, s.x[0]])
    }),
    plain("-a as -1 a", |s| {
        s.is("neg")?;
        let minus = s.number(-1.0, s.x[0])?;
        s.plain("mul", &[s.x[0], minus])
    }),
    plain("a / b as a reciprocal(b)", |s| {
        let [a, b] = two(s, "div")?;
        let inverse = s.plain("reciprocal", &[b])?;
        s.plain("mul", &[a, inverse])
    }),
    plain("a / b as a b^-1", |s| {
        let [a, b] = two(s, "div")?;
        let minus = s.number(-1.0, b)?;
        let inverse = s.plain("pow", &[b, minus])?;
        s.plain("mul", &[a, inverse])
    }),
    plain("a / b as (1 / b) a", |s| {
        let [a, b] = two(s, "div")?;
        let one = s.number(1.0, b)?;
        let inverse = s.plain("div", &[one, b])?;
        s.plain("mul", &[inverse, a])
    }),
    plain("a / b as -a / -b", |s| {
        let [a, b] = two(s, "div")?;
        let (a, b) = (s.plain("neg", &[a])?, s.plain("neg", &[b])?);
        s.plain("div", &[a, b])
    }),
    plain("a b as a / (1 / b)", |s| {
        s.is("mul")?;
        let (a, b) = s.pair()?;
        // A divisor that is nowhere 0.
        let safe = matches!(s.maker(b)?.0, "exp" | "sigmoid" | "cosh");
        let inverse = safe.then(|| s.plain("reciprocal", &[b])).flatten()?;
        s.plain("div", &[a, inverse])
    }),
    plain("reciprocal as a quotient or a power", |s| {
        s.is("reciprocal")?;
        match s.r.chance(50) {
            true => {
                let one = s.number(1.0, s.x[0])?;
                s.plain("div", &[one, s.x[0]])
            }
            false => {
                let minus = s.number(-1.0, s.x[0])?;
                s.plain("pow", &[s.x[0], minus])
            }
        }
    }),
    plain("a b as -a -b", |s| {
        let [a, b] = two(s, "mul")?;
        let (a, b) = (s.plain("neg", &[a])?, s.plain("neg", &[b])?);
        s.plain("mul", &[a, b])
    }),
    plain("square in other words", |s| {
        let x = squared(s)?;
        match s.r.below(4) {
            0 => s.plain("mul", &[x, x]),
            1 => s.plain("square", &[x]),
            2 => {
                let two = s.number(2.0, x)?;
                s.plain("pow", &[x, two])
            }
            _ => {
                let negative = s.plain("neg", &[x])?;
                s.plain("square", &[negative])
            }
        }
    }),
    plain("square of |a|", |s| {
        let x = squared(s)?;
        let x = s.plain("abs", &[x])?;
        s.plain("square", &[x])
    }),
    plain("power multiplied out", |s| {
        let [x, exponent] = two(s, "pow")?;
        let count = s.as_number(exponent).filter(|n| [2.0, 3.0, 4.0].contains(n))?;
        let mut product = x;
        for _ in 1..count as usize {
            product = s.plain("mul", &[product, x])?;
        }
        Some(product)
    }),
    plain("sqrt as a power", |s| {
        s.is("sqrt")?;
        let half = s.number(0.5, s.x[0])?;
        s.plain("pow", &[s.x[0], half])
    }),
    plain("sqrt as a quotient", |s| {
        s.is("sqrt")?;
        let inverse = s.plain("rsqrt", &[s.x[0]])?;
        s.plain("reciprocal", &[inverse])
    }),
    plain("rsqrt in other words", |s| {
        s.is("rsqrt")?;
        let x = s.x[0];
        match s.r.below(3) {
            0 => {
                let root = s.plain("sqrt", &[x])?;
                s.plain("reciprocal", &[root])
            }
            1 => {
                let inverse = s.plain("reciprocal", &[x])?;
                s.plain("sqrt", &[inverse])
            }
            _ => {
                let exponent = s.number(-0.5, x)?;
                s.plain("pow", &[x, exponent])
            }
        }
    }),
    plain("quotient by a root by rsqrt", |s| {
        let [a, b] = two(s, "div")?;
        let of = s.made_by(b, "sqrt")?;
        let inverse = s.plain("rsqrt", &of)?;
        s.plain("mul", &[a, inverse])
    }),
    plain("brackets of a sum", |s| brackets(s, "add")),
    plain("brackets of a product", |s| brackets(s, "mul")),
    plain("brackets of a difference", |s| {
        // a - (b + c) = (a - b) - c
        let [a, sum] = two(s, "sub")?;
        let of = s.made_by(sum, "add")?;
        let first = s.plain("sub", &[a, of[0]])?;
        s.plain("sub", &[first, of[1]])
    }),
    plain("a / (b c) as (a / b) / c", |s| {
        let [a, product] = two(s, "div")?;
        let of = s.made_by(product, "mul")?;
        let first = s.plain("div", &[a, of[0]])?;
        s.plain("div", &[first, of[1]])
    }),
    plain("a b + c by fma", |s| {
        s.is("add")?;
        let (sum, c) = s.pair()?;
        let of = s.made_by(sum, "mul")?;
        s.plain("fma", &[of[0], of[1], c])
    }),
    plain("max and min by sign", |s| {
        let other = match s.name() {
            "max" => "min",
            "min" => "max",
            _ => return None,
        };
        let (a, b) = s.pair()?;
        let (a, b) = (s.plain("neg", &[a])?, s.plain("neg", &[b])?);
        let value = s.plain(other, &[a, b])?;
        s.plain("neg", &[value])
    }),
    plain("hypot", |s| {
        // sqrt(a² + b²)
        s.is("sqrt")?;
        let sum = s.made_by(s.x[0], "add")?;
        let a = s.made_by(sum[0], "square")?;
        let b = s.made_by(sum[1], "square")?;
        s.plain("hypot", &[a[0], b[0]])
    }),
    plain("computed in f64", |s| {
        let mut x = Vec::new();
        for v in s.x.clone() {
            x.push(if s.is_float(v) { converted(s, v, "f64")? } else { v });
        }
        (!x.is_empty()).then_some(())?;
        let value = s.again(&x)?;
        if s.body.ty(value) == s.ty {
            return Some(value);
        }
        converted(s, value, s.ty.format()?.name())
    }),
    plain("operand converted up and back", |s| {
        super::movement::of_operand(s, |s, x| {
            let own = s.body.ty(x).format()?.name();
            let wide = converted(s, x, "f64")?;
            converted(s, wide, own)
        })
    }),
    plain("accumulated in f64", |s| {
        let mut attrs = s.attrs.clone();
        attrs.set("accumulate", Attr::Type(ngc_ir::Type::float(ngc_numerics::Format::F64)));
        s.op(s.name(), &s.x.clone(), attrs)
    }),
    plain("summed by another method", |s| {
        let mut attrs = s.attrs.clone();
        attrs.set("sum", s.r.pick(&["pairwise", "kahan", "neumaier"]));
        s.op(s.name(), &s.x.clone(), attrs)
    }),
];

/// The operands of the op, if it has this name.
fn two(s: &Site<'_>, name: &str) -> Option<[Value; 2]> {
    s.is(name)?;
    s.x[..].try_into().ok()
}

fn squared(s: &Site<'_>) -> Option<Value> {
    match (s.name(), &s.x[..]) {
        ("mul", &[a, b]) if a == b => Some(a),
        ("square", &[a]) => Some(a),
        ("pow", &[a, b]) if s.as_number(b) == Some(2.0) => Some(a),
        _ => None,
    }
}

fn exchanged(s: &mut Site<'_>) -> Option<Value> {
    s.def.traits.commutative.then_some(())?;
    let mut x = s.x.clone();
    (x.len() >= 2).then_some(())?;
    x.swap(0, 1);
    s.again(&x)
}

fn brackets(s: &mut Site<'_>, name: &str) -> Option<Value> {
    s.is(name)?;
    let (inner, c) = s.pair()?;
    let of = s.made_by(inner, name)?;
    let (a, b) = if s.r.chance(50) { (of[0], of[1]) } else { (of[1], of[0]) };
    let first = s.plain(name, &[c, a])?;
    s.plain(name, &[first, b])
}

fn converted(s: &mut Site<'_>, x: Value, to: &str) -> Option<Value> {
    let format =
        [ngc_numerics::Format::F64, ngc_numerics::Format::F32].into_iter().find(|f| f.name() == to)?;
    s.op("convert", &[x], [("to", Attr::Type(ngc_ir::Type::float(format)))])
}
