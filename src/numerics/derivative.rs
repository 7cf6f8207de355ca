//! Symbolic derivatives of formulas.
//!
//! Where a function is not differentiable the derivative is that of one side: `abs` has the derivative `sign(x)`, 0 at
//! zero; `min` and `max` that of the first argument at a tie; `floor`, `ceil`, `round_even`, `trunc` and `sign` have 0,
//! and `rem` that of `x - trunc(x/y) y` with the quotient fixed, also at their jumps; a selection is differentiated branch
//! by branch, as if its comparison never changed. Over an interval that contains a kink of `abs`, `min` or `max`, the
//! formulas here enclose every slope of a chord. Over one that contains a jump they do not: no derivative can.

use std::collections::HashMap;

use smallvec::{SmallVec, smallvec};

use crate::expr::{
    Cmp, Constant, Expr, Node, Prim, cosh, digamma, exp, exp2, exprel, exprel_slope, hypot, log, pow, sign,
    sinh, sqrt, square, stumpff2, stumpff3, stumpff4, stumpff5, tetragamma, trigamma,
};

/// The derivative of a formula with respect to argument `var`. Terms that the formula shares, its derivative shares.
pub fn derivative(formula: &Expr, var: usize) -> Expr {
    differentiate(formula, var, &mut HashMap::new()).unwrap_or_else(|| Expr::from(0))
}

/// As [`derivative`]; `None` is zero. Keys are the addresses of the formula's nodes, which it keeps alive.
fn differentiate(formula: &Expr, var: usize, known: &mut HashMap<*const Node, Option<Expr>>) -> Option<Expr> {
    let address = std::sync::Arc::as_ptr(&formula.0);
    if let Some(derivative) = known.get(&address) {
        return derivative.clone();
    }
    let derivative = match &*formula.0 {
        Node::Var(i) => (*i == var).then(|| Expr::from(1)),
        Node::Param(_) | Node::Const(_) => None,
        Node::Apply(prim, args) => {
            let inner: SmallVec<[_; 3]> = args.iter().map(|arg| differentiate(arg, var, known)).collect();
            if inner.iter().all(Option::is_none) {
                None
            } else {
                let terms = partials(*prim, args, formula).into_iter().zip(inner);
                let terms = terms.filter_map(|(partial, inner)| Some(product(partial, inner?)));
                terms.reduce(sum).filter(|total| !is(total, 0))
            }
        }
        Node::Select(cmp, [a, b, t, e]) => {
            match (differentiate(t, var, known), differentiate(e, var, known)) {
                (None, None) => None,
                (t, e) => {
                    let or_zero = |branch: Option<Expr>| branch.unwrap_or_else(|| Expr::from(0));
                    Some(Expr::select(*cmp, a, b, or_zero(t), or_zero(e)))
                }
            }
        }
    };
    known.insert(address, derivative.clone());
    derivative
}

/// The derivatives of a primitive with respect to each of its arguments, in terms of the arguments and of its own `value`
/// there, which many derivatives repeat.
pub fn partials(prim: Prim, args: &[Expr], value: &Expr) -> SmallVec<[Expr; 3]> {
    let constant = Expr::from;
    let (x, y) = (&args[0], args.get(1).unwrap_or(&args[0]));
    let of_log = |base: i32| 1 / product(x.clone(), log(base));
    match prim {
        Prim::Add => smallvec![constant(1), constant(1)],
        Prim::Sub => smallvec![constant(1), constant(-1)],
        Prim::Mul => smallvec![y.clone(), x.clone()],
        Prim::Div => smallvec![quotient(constant(1), y), negated(quotient(value.clone(), y))],
        Prim::Rem => smallvec![constant(1), negated(crate::expr::trunc(x / y))],
        Prim::Min => smallvec![Expr::select(Cmp::Le, x, y, 1, 0), Expr::select(Cmp::Le, x, y, 0, 1)],
        Prim::Max => smallvec![Expr::select(Cmp::Ge, x, y, 1, 0), Expr::select(Cmp::Ge, x, y, 0, 1)],
        Prim::Pow => smallvec![product(y.clone(), pow(x, decrement(y))), product(value.clone(), log(x))],
        Prim::Atan2 => {
            let norm = square(x) + square(y);
            smallvec![y / &norm, -(x / &norm)]
        }
        Prim::Hypot => smallvec![x / value, y / value],
        Prim::Fma => smallvec![y.clone(), x.clone(), constant(1)],
        Prim::Neg => smallvec![constant(-1)],
        Prim::Abs => smallvec![sign(x)],
        Prim::Sign | Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc => smallvec![constant(0)],
        Prim::Square => smallvec![2 * x],
        Prim::Sqrt => smallvec![1 / (2 * value)],
        Prim::Cbrt => smallvec![1 / (3 * square(value))],
        Prim::Exp => smallvec![value.clone()],
        Prim::Expm1 => smallvec![exp(x)],
        Prim::Exp2 => smallvec![exp2(x) * log(2)],
        Prim::Log => smallvec![quotient(constant(1), x)],
        Prim::Log1p => smallvec![1 / (1 + x)],
        Prim::Log2 => smallvec![of_log(2)],
        Prim::Log10 => smallvec![of_log(10)],
        Prim::Sin => smallvec![crate::expr::cos(x)],
        Prim::Cos => smallvec![-crate::expr::sin(x)],
        Prim::Tan => smallvec![1 + square(value)],
        Prim::Asin => smallvec![1 / (sqrt(1 - x) * sqrt(1 + x))],
        Prim::Acos => smallvec![-1 / (sqrt(1 - x) * sqrt(1 + x))],
        Prim::Atan => smallvec![1 / (1 + square(x))],
        Prim::Sinh => smallvec![cosh(x)],
        Prim::Cosh => smallvec![sinh(x)],
        Prim::Tanh => smallvec![(1 - value) * (1 + value)],
        Prim::Asinh => smallvec![1 / hypot(x, 1)],
        Prim::Acosh => smallvec![1 / (sqrt(x - 1) * sqrt(x + 1))],
        Prim::Atanh => smallvec![1 / ((1 - x) * (1 + x))],
        Prim::Erf => smallvec![2 / sqrt(Expr::pi()) * exp(-square(x))],
        Prim::Erfc => smallvec![-2 / sqrt(Expr::pi()) * exp(-square(x))],
        Prim::Exprel => smallvec![exprel_slope(x)],
        Prim::Erfcx => smallvec![2 * x * value - 2 / sqrt(Expr::pi())],
        Prim::ExprelSlope => smallvec![(exp(x) - 2 * value) / x],
        Prim::Exprel2 => smallvec![(exprel(x) - 2 * value) / x],
        // c_k' = x (k c_(k+2) - c_(k+1)) = (c_(k-1) - k c_k) / x, for c_k of x².
        Prim::Sinc => smallvec![x * (stumpff3(x) - stumpff2(x))],
        Prim::Stumpff3 => smallvec![x * (3 * stumpff5(x) - stumpff4(x))],
        Prim::Stumpff5 => smallvec![(stumpff4(x) - 5 * value) / x],
        Prim::Lgamma => smallvec![digamma(x)],
        Prim::StirlingError => smallvec![digamma(x) - log(x) + 1 / (2 * x)],
        Prim::Digamma => smallvec![trigamma(x)],
        Prim::Trigamma => smallvec![tetragamma(x)],
        // No primitive is the next derivative.
        Prim::Tetragamma => smallvec![Expr::from(f64::NAN)],
    }
}

fn rational(formula: &Expr) -> Option<&rug::Rational> {
    match &*formula.0 {
        Node::Const(Constant::Rational(value)) => Some(value),
        _ => None,
    }
}

fn is(formula: &Expr, value: i32) -> bool {
    rational(formula).is_some_and(|known| *known == value)
}

fn folded(value: rug::Rational) -> Expr {
    Node::Const(Constant::Rational(value)).into()
}

fn sum(a: Expr, b: Expr) -> Expr {
    match (rational(&a), rational(&b)) {
        (Some(x), Some(y)) => folded((x + y).into()),
        _ if is(&a, 0) => b,
        _ if is(&b, 0) => a,
        _ => a + b,
    }
}

fn product(a: Expr, b: Expr) -> Expr {
    match (rational(&a), rational(&b)) {
        (Some(x), Some(y)) => folded((x * y).into()),
        _ if is(&a, 0) || is(&b, 1) => a,
        _ if is(&b, 0) || is(&a, 1) => b,
        _ if is(&a, -1) => negated(b),
        _ if is(&b, -1) => negated(a),
        _ => a * b,
    }
}

fn quotient(a: Expr, b: &Expr) -> Expr {
    if is(b, 1) { a } else { a / b }
}

fn negated(a: Expr) -> Expr {
    match (&*a.0, rational(&a)) {
        (_, Some(value)) => folded((-value).into()),
        (Node::Apply(Prim::Neg, args), _) => args[0].clone(),
        _ => -a,
    }
}

fn decrement(a: &Expr) -> Expr {
    match rational(a) {
        Some(value) => folded(rug::Rational::from(value - 1)),
        None => a - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::big::Big;
    use crate::enclosure::{Domain, Enclosure};
    use crate::program::Program;

    fn at(formula: &Expr, args: &[f64]) -> rug::Float {
        let d = Big::new(400);
        let args: Vec<_> = args.iter().map(|&x| Enclosure::point(d.embed(x))).collect();
        let program = Program::new(formula);
        program.enclose(&d, &program.enclose_constants(&d), &[], &args).lo
    }

    #[test]
    fn every_primitive_has_the_slope_of_its_chords() {
        let step = 2f64.powi(-40);
        for &prim in Prim::ALL.iter().filter(|&&prim| prim != Prim::Tetragamma) {
            // In the domain of every primitive and away from kinks, ties and jumps.
            let base = if prim == Prim::Acosh { [1.625, 0.4375, 0.75] } else { [0.625, 0.4375, 0.75] };
            let args: Vec<Expr> = (0..prim.arity()).map(Expr::var).collect();
            let formula = Expr::apply(prim, args);
            for i in 0..prim.arity() {
                let (mut below, mut above) = (base, base);
                below[i] -= step;
                above[i] += step;
                let chord = (at(&formula, &above) - at(&formula, &below)).to_f64() / (2.0 * step);
                let slope = at(&derivative(&formula, i), &base).to_f64();
                assert!(
                    (chord - slope).abs() <= 1e-12 * (1.0 + slope.abs()),
                    "{}: {chord} {slope}",
                    prim.name()
                );
            }
        }
    }

    #[test]
    fn simplifies_and_differentiates_branchwise() {
        let x = Expr::var(0);
        assert_eq!(derivative(&(3 * &x + 4), 0).to_string(), "3");
        assert_eq!(derivative(&(&x * &x), 0).to_string(), "x + x");
        assert_eq!(derivative(&(&x * 2 - &x * 2), 1).to_string(), "0");
        assert_eq!(derivative(&pow(&x, 3), 0).to_string(), "3 * pow(x, 2)");
        let relu = Expr::select(Cmp::Gt, &x, 0, &x, 0);
        assert_eq!(derivative(&relu, 0).to_string(), "if x > 0 then 1 else 0");
    }

    #[test]
    fn a_tower_of_shared_squares_stays_small() {
        let mut tower = Expr::var(0);
        for _ in 0..64 {
            tower = &tower * &tower;
        }
        let mut seen = std::collections::HashSet::new();
        count(&derivative(&tower, 0), &mut seen);
        assert!(seen.len() < 64 * 6, "{} nodes", seen.len());
    }

    fn count(formula: &Expr, seen: &mut std::collections::HashSet<*const Node>) {
        if seen.insert(std::sync::Arc::as_ptr(&formula.0))
            && let Node::Apply(_, args) = &*formula.0
        {
            args.iter().for_each(|arg| count(arg, seen));
        }
    }
}
