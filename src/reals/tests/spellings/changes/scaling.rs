//! Where a constant factor stands: before or after sums, reductions and products of matrices. Factors are powers of two
//! or whole numbers, so that no constant is rounded.

use ngc_ir::Value;

use super::super::site::Site;
use super::{Change, plain};

pub const CHANGES: &[Change] = &[
    plain("value times c over c", |s| {
        super::movement::of_operand(s, |s, x| {
            s.is_float(x).then_some(())?;
            let c = s.r.pick(&[2.0, 0.5, 3.0, -1.0, -4.0]);
            let c = s.number(c, x)?;
            let scaled = s.plain("mul", &[x, c])?;
            s.plain("div", &[scaled, c])
        })
    }),
    plain("value as twice its half", |s| {
        super::movement::of_operand(s, |s, x| {
            s.is_float(x).then_some(())?;
            let half = s.number(0.5, x)?;
            let half = s.plain("mul", &[x, half])?;
            s.plain("add", &[half, half])
        })
    }),
    plain("c (a + b) as c a + c b", |s| {
        let (c, of) = factor(s)?;
        let (name, x, _) = s.maker(of).filter(|(name, ..)| matches!(*name, "add" | "sub"))?;
        let (a, b) = (s.plain("mul", &[c, x[0]])?, s.plain("mul", &[c, x[1]])?);
        s.plain(name, &[a, b])
    }),
    plain("c (a b) as (c a) b", |s| {
        let (c, of) = factor(s)?;
        let x = s.made_by(of, "mul")?;
        let n = s.r.below(2);
        let scaled = s.plain("mul", &[c, x[n]])?;
        s.plain("mul", &[scaled, x[1 - n]])
    }),
    plain("c (a / b) as (c a) / b", |s| {
        let (c, of) = factor(s)?;
        let x = s.made_by(of, "div")?;
        let scaled = s.plain("mul", &[c, x[0]])?;
        s.plain("div", &[scaled, x[1]])
    }),
    plain("c a as a / (1/c)", |s| {
        let (c, of) = factor(s)?;
        let c = exact_inverse(s, c)?;
        s.plain("div", &[of, c])
    }),
    plain("a / c as (1/c) a", |s| {
        s.is("div")?;
        let (of, c) = (s.x[0], s.x[1]);
        let c = exact_inverse(s, c)?;
        s.plain("mul", &[c, of])
    }),
    plain("c a b as a matrix product of c a", |s| {
        // c (A B) = (c A) B = A (c B)
        let (name, scale, of) = scaled(s)?;
        let (matmul, mut x, attrs) = s.maker(of).filter(|(name, ..)| *name == "matmul")?;
        let n = s.r.below(2);
        x[n] = s.plain(name, &[x[n], scale])?;
        s.op(matmul, &x, attrs)
    }),
    plain("matrix product of c a as c a b", |s| {
        s.is("matmul")?;
        let n = s.r.below(2);
        let mut x = s.x.clone();
        let (name, of, _) = s.maker(x[n]).filter(|(name, ..)| matches!(*name, "mul" | "div"))?;
        let k = if name == "div" { 1 } else { of.iter().position(|&v| is_scalar(s, v))? };
        is_scalar(s, of[k]).then_some(())?;
        x[n] = of[1 - k];
        let product = s.again(&x)?;
        s.plain(name, &[product, of[k]])
    }),
    plain("c times a sum as the sum of c a", |s| {
        let (name, scale, of) = scaled(s)?;
        let (reduce, x, attrs) =
            s.maker(of).filter(|(name, ..)| matches!(*name, "reduce_sum" | "reduce_mean"))?;
        let inner = s.plain(name, &[x[0], scale])?;
        s.op(reduce, &[inner], attrs)
    }),
    plain("sum of c a as c times a sum", |s| {
        matches!(s.name(), "reduce_sum" | "reduce_mean").then_some(())?;
        let (name, of, _) = s.maker(s.x[0]).filter(|(name, ..)| matches!(*name, "mul" | "div"))?;
        let k = if name == "div" { 1 } else { of.iter().position(|&v| is_scalar(s, v))? };
        (is_scalar(s, of[k]) && s.shape(of[1 - k]) == s.shape(s.x[0])).then_some(())?;
        let sum = s.again(&[of[1 - k]])?;
        s.plain(name, &[sum, of[k]])
    }),
    plain("minus before or after a sum", |s| {
        matches!(s.name(), "reduce_sum" | "reduce_mean" | "matmul").then_some(())?;
        let mut x = s.x.clone();
        x[0] = s.plain("neg", &[x[0]])?;
        let value = s.again(&x)?;
        s.plain("neg", &[value])
    }),
    plain("sum of a sum as a sum of sums", |s| {
        matches!(s.name(), "reduce_sum" | "reduce_mean").then_some(())?;
        let (name, of, _) = s.maker(s.x[0]).filter(|(name, ..)| matches!(*name, "add" | "sub"))?;
        let shape = s.shape(s.x[0]);
        of.iter().all(|&v| s.shape(v) == shape).then_some(())?;
        let (a, b) = (s.again(&[of[0]])?, s.again(&[of[1]])?);
        s.plain(name, &[a, b])
    }),
    plain("quotient by what a sum does not see, after it", |s| {
        // sum(a / b) = sum(a) / b, where b is as long as the result.
        s.is("reduce_sum")?;
        s.attrs.get("keepdims")?;
        let of = s.made_by(s.x[0], "div")?;
        (s.body.ty(of[1]) == s.ty && s.shape(of[0]) == s.shape(s.x[0])).then_some(())?;
        let sum = s.again(&[of[0]])?;
        s.plain("div", &[sum, of[1]])
    }),
    plain("product of a normalised matrix as a normalised product", |s| {
        // (A / r) B = (A B) / r, where r has one element a row.
        s.is("matmul")?;
        let of = s.made_by(s.x[0], "div")?;
        let (rows, shape) = (s.shape(of[1]), s.shape(of[0]));
        (rows.len() == shape.len() && rows.last() == Some(&1) && shape == s.shape(s.x[0])).then_some(())?;
        let product = s.again(&[of[0], s.x[1]])?;
        s.plain("div", &[product, of[1]])
    }),
];

fn is_scalar(s: &Site<'_>, v: Value) -> bool {
    s.as_number(v).is_some_and(f64::is_finite) && !s.is_tensor(v)
}

/// The factor and the rest of a product with a number.
fn factor(s: &Site<'_>) -> Option<(Value, Value)> {
    s.is("mul")?;
    let n = s.x.iter().position(|&v| is_scalar(s, v))?;
    Some((s.x[n], s.x[1 - n]))
}

/// A product with a number, or a quotient by one: the op, the number, the rest.
fn scaled(s: &Site<'_>) -> Option<(&'static str, Value, Value)> {
    match s.name() {
        "mul" => factor(s).map(|(c, of)| ("mul", c, of)),
        "div" if is_scalar(s, s.x[1]) => Some(("div", s.x[1], s.x[0])),
        _ => None,
    }
}

fn exact_inverse(s: &mut Site<'_>, c: Value) -> Option<Value> {
    let number = s.as_number(c).filter(|x| *x != 0.0 && x.abs().log2().fract() == 0.0)?;
    s.number(1.0 / number, c)
}
