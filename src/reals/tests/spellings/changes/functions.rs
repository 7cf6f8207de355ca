//! Functions by others, where the two are one by definition; those that want a law of functions are marked.

use ngc_ir::Value;

use super::super::site::Site;
use super::{Change, lawful, plain};

pub const CHANGES: &[Change] = &[
    plain("exp as expm1 + 1", |s| {
        let x = one(s, "exp")?;
        let value = s.plain("expm1", &[x])?;
        let one = s.number(1.0, x)?;
        s.plain("add", &[value, one])
    }),
    plain("expm1 as exp - 1", |s| {
        let x = one(s, "expm1")?;
        let value = s.plain("exp", &[x])?;
        let one = s.number(1.0, x)?;
        s.plain("sub", &[value, one])
    }),
    plain("log as log1p(x - 1)", |s| {
        let x = one(s, "log")?;
        let unit = s.number(1.0, x)?;
        let less = s.plain("sub", &[x, unit])?;
        s.plain("log1p", &[less])
    }),
    plain("log1p as log(1 + x)", |s| {
        let x = one(s, "log1p")?;
        let unit = s.number(1.0, x)?;
        let more = s.plain("add", &[unit, x])?;
        s.plain("log", &[more])
    }),
    plain("sigmoid by exp", |s| {
        let x = one(s, "sigmoid")?;
        let negative = s.plain("neg", &[x])?;
        let e = s.plain("exp", &[negative])?;
        let unit = s.number(1.0, x)?;
        let sum = s.plain("add", &[unit, e])?;
        s.plain("div", &[unit, sum])
    }),
    plain("1 / (1 + exp(-x)) as a sigmoid", |s| {
        s.is("div")?;
        let [unit, sum] = s.x[..].try_into().ok()?;
        (s.as_number(unit) == Some(1.0)).then_some(())?;
        let parts = s.made_by(sum, "add")?;
        let n = parts.iter().position(|&v| s.as_number(v) == Some(1.0))?;
        let exponent = s.made_by(parts[1 - n], "exp")?;
        let x = s.made_by(exponent[0], "neg")?;
        s.plain("sigmoid", &x)
    }),
    plain("odd function of -x", |s| {
        let odd = matches!(s.name(), "tanh" | "erf" | "sin" | "atan" | "sinh" | "cbrt" | "asinh");
        odd.then_some(())?;
        let negative = s.plain("neg", &[s.x[0]])?;
        let value = s.again(&[negative])?;
        s.plain("neg", &[value])
    }),
    plain("even function of -x", |s| {
        matches!(s.name(), "abs" | "cos" | "cosh").then_some(())?;
        let negative = s.plain("neg", &[s.x[0]])?;
        s.again(&[negative])
    }),
    plain("relu as max(x, 0)", |s| {
        let x = one(s, "relu")?;
        let zero = s.number(0.0, x)?;
        s.plain("max", &[zero, x])
    }),
    plain("max(x, 0) as relu", |s| {
        s.is("max")?;
        let n = s.x.iter().position(|&v| s.as_number(v) == Some(0.0))?;
        s.plain("relu", &[s.x[1 - n]])
    }),
    plain("bounds by clamp", |s| {
        s.is("min")?;
        let (inner, high) = s.pair()?;
        let (x, low) = s.made_by(inner, "max").map(|x| (x[0], x[1]))?;
        s.plain("clamp", &[x, low, high])
    }),
    plain("|x| as the root of a square", |s| {
        let x = one(s, "abs")?;
        let square = s.plain("square", &[x])?;
        s.plain("sqrt", &[square])
    }),
    lawful("|x| as max(x, -x)", "max(x, -x) = |x|", |s| {
        let x = one(s, "abs")?;
        let negative = s.plain("neg", &[x])?;
        s.plain("max", &[x, negative])
    }),
    lawful("exp of a sum as a product", "exp(a + b) = exp(a) exp(b)", |s| {
        let x = one(s, "exp")?;
        let of = s.made_by(x, "add")?;
        let (a, b) = (s.plain("exp", &[of[0]])?, s.plain("exp", &[of[1]])?);
        s.plain("mul", &[a, b])
    }),
    lawful("log of a quotient as a difference", "log(a / b) = log(a) - log(b)", |s| {
        let x = one(s, "log")?;
        let of = s.made_by(x, "div")?;
        let sure = |v: Value| matches!(s.maker(v), Some(("exp", ..)));
        of.iter().any(|&v| sure(v)).then_some(())?;
        let (a, b) = (s.plain("log", &[of[0]])?, s.plain("log", &[of[1]])?);
        s.plain("sub", &[a, b])
    }),
    lawful("log of an exponential", "log(exp(x)) = x", |s| {
        s.is_float(*s.x.first()?).then_some(())?;
        let mut x = s.x.clone();
        let n = s.r.below(x.len());
        let e = s.plain("exp", &[x[n]])?;
        x[n] = s.plain("log", &[e])?;
        s.again(&x)
    }),
    lawful("sigmoid by exp(x)", "exp(x) / (1 + exp(x)) = 1 / (1 + exp(-x))", |s| {
        let x = one(s, "sigmoid")?;
        let e = s.plain("exp", &[x])?;
        let unit = s.number(1.0, x)?;
        let sum = s.plain("add", &[e, unit])?;
        s.plain("div", &[e, sum])
    }),
    lawful("softmax with a shift", "a shift of all exponents cancels", |s| {
        let x = one(s, "exp")?;
        let axes = ngc_ir::Attr::ints([s.shape(x).len().checked_sub(1)? as i64]);
        let most = s.op("reduce_max", &[x], [("axes", axes), ("keepdims", true.into())])?;
        let less = s.plain("sub", &[x, most])?;
        let (e, back) = (s.plain("exp", &[less])?, s.plain("exp", &[most])?);
        s.plain("mul", &[e, back])
    }),
];

/// The operand of the op, if it has this name.
fn one(s: &Site<'_>, name: &str) -> Option<Value> {
    s.is(name)?;
    Some(s.x[0])
}
