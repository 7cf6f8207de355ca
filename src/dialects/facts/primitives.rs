//! The signs of every primitive, by those of its operands: how it passes each place of the extended line.

use ngc_numerics::Prim;

use super::Signs;

const U: Signs = Signs::UNDEFINED;
const MI: Signs = Signs::MINUS_INF;
const N: Signs = Signs::NEGATIVE;
const Z: Signs = Signs::ZERO;
const P: Signs = Signs::POSITIVE;
const PI: Signs = Signs::PLUS_INF;
/// Any number.
const NUM: Signs = Signs::NUMBERS;

/// The signs of a primitive of operands of these signs, as many as it takes.
pub fn apply(prim: Prim, x: &[Signs]) -> Signs {
    match *x {
        [x] => x.map(|x| if x == U { U } else { unary(prim, x) }),
        [x, y] => x.map(|x| y.map(|y| binary(prim, x, y))),
        [x, y, z] if prim == Prim::Fma => apply(Prim::Add, &[apply(Prim::Mul, &[x, y]), z]),
        _ => Signs::ANY,
    }
}

/// The signs of a sum, or a product, of one term of these signs or more.
pub fn repeated(prim: Prim, terms: Signs) -> Signs {
    let mut all = terms;
    loop {
        let next = all.or(apply(prim, &[all, terms]));
        if next == all {
            return all;
        }
        all = next;
    }
}

/// What a function with a value at every place makes of them: at -inf, below 0, at 0, above 0, at +inf.
fn by_place(x: Signs, values: [Signs; 5]) -> Signs {
    let [minus_inf, negative, zero, positive, plus_inf] = values;
    match x {
        MI => minus_inf,
        N => negative,
        Z => zero,
        P => positive,
        PI => plus_inf,
        _ => U,
    }
}

fn unary(prim: Prim, x: Signs) -> Signs {
    let values = match prim {
        Prim::Neg => return x.negated(),
        // Odd, and rising without bound.
        Prim::Cbrt | Prim::Sinh | Prim::Asinh => return x,
        Prim::Abs | Prim::Square => [PI, P, Z, P, PI],
        // Odd and bounded.
        Prim::Sign | Prim::Tanh | Prim::Atan | Prim::Erf => [N, N, Z, P, P],
        Prim::Floor => [MI, N, Z, Z.or(P), PI],
        Prim::Ceil => [MI, N.or(Z), Z, P, PI],
        Prim::RoundEven | Prim::Trunc => [MI, N.or(Z), Z, Z.or(P), PI],
        Prim::Sqrt => [U, U, Z, P, PI],
        Prim::Exp | Prim::Exp2 | Prim::Exprel | Prim::ExprelSlope | Prim::Exprel2 => [Z, P, P, P, PI],
        Prim::Expm1 => [N, N, Z, P, PI],
        Prim::Log | Prim::Log2 | Prim::Log10 => [U, U, MI, NUM, PI],
        Prim::Log1p => [U, U.or(MI).or(N), Z, P, PI],
        Prim::Sin => [U, NUM, Z, NUM, U],
        Prim::Cos => [U, NUM, P, NUM, U],
        Prim::Tan => [U, NUM.or(U), Z, NUM.or(U), U],
        Prim::Asin => [U, N.or(U), Z, P.or(U), U],
        Prim::Acos => [U, P.or(U), P, Z.or(P).or(U), U],
        Prim::Cosh => [PI, P, P, P, PI],
        Prim::Acosh => [U, U, U, U.or(Z).or(P), PI],
        Prim::Atanh => [U, U.or(MI).or(N), Z, P.or(PI).or(U), U],
        Prim::Erfc => [P, P, P, P, Z],
        Prim::Erfcx => [PI, P, P, P, Z],
        Prim::Sinc => [Z.or(U), NUM, P, NUM, Z.or(U)],
        // c₃ and c₅ are averages of cosines with positive weights that vanish nowhere together.
        Prim::Stumpff3 | Prim::Stumpff5 => [Z.or(U), P, P, P, Z.or(U)],
        Prim::StirlingError => [U, U, PI, P, Z],
        Prim::Lgamma => [PI, NUM.or(PI).or(U), PI.or(U), NUM, PI],
        Prim::Digamma => [U, NUM.or(U), U.or(MI).or(PI), NUM, PI],
        Prim::Trigamma => [U, P.or(PI).or(U), PI.or(U), P, Z],
        Prim::Tetragamma => [U, NUM.or(U), U.or(MI).or(PI), N, Z],
        _ => return Signs::ANY,
    };
    by_place(x, values)
}

fn binary(prim: Prim, x: Signs, y: Signs) -> Signs {
    match prim {
        Prim::Pow => return power(x, y),
        // An infinite leg decides, whatever the other is.
        Prim::Hypot if x.or(y).may_be(MI.or(PI)) => return if x.or(y).may_be(U) { U.or(PI) } else { PI },
        _ if x == U || y == U => return U,
        _ => {}
    }
    match prim {
        Prim::Add => sum(x, y),
        Prim::Sub => sum(x, y.negated()),
        Prim::Mul => product(x, y),
        Prim::Div => quotient(x, y),
        Prim::Rem => match (x, y) {
            (_, Z) | (MI | PI, _) => U,
            (_, MI | PI) => x,
            _ => x.or(Z),
        },
        Prim::Min => {
            if x.is_before(y) {
                x
            } else {
                y
            }
        }
        Prim::Max => {
            if x.is_before(y) {
                y
            } else {
                x
            }
        }
        Prim::Hypot => {
            if x.or(y) == Z {
                Z
            } else {
                P
            }
        }
        Prim::Atan2 => angle(x, y),
        _ => Signs::ANY,
    }
}

fn sum(x: Signs, y: Signs) -> Signs {
    match (x, y) {
        (MI, PI) | (PI, MI) => U,
        (MI | PI, _) | (_, Z) => x,
        (_, MI | PI) | (Z, _) => y,
        _ if x == y => x,
        _ => NUM,
    }
}

fn product(x: Signs, y: Signs) -> Signs {
    let infinite = x.or(y).may_be(MI.or(PI));
    match (x == Z || y == Z, x.may_be(MI.or(N)) != y.may_be(MI.or(N)), infinite) {
        (true, _, true) => U,
        (true, _, false) => Z,
        (false, true, true) => MI,
        (false, true, false) => N,
        (false, false, true) => PI,
        (false, false, false) => P,
    }
}

/// A quotient by 0 is no value: the sign of a zero is not a number's.
fn quotient(x: Signs, y: Signs) -> Signs {
    match y {
        Z => U,
        MI | PI if x.may_be(MI.or(PI)) => U,
        MI | PI => Z,
        _ => product(x, y),
    }
}

fn power(x: Signs, y: Signs) -> Signs {
    match (x, y) {
        (U, Z) => U.or(P),
        (_, Z) => P,
        // 1 to any power.
        (P, U) => P.or(U),
        (_, U) | (U, _) => U,
        (P, N | P) => P,
        (P, _) => Z.or(P).or(PI),
        (Z, P | PI) => Z,
        (Z, MI) => U.or(PI),
        (Z, _) => U,
        (N, N | P) => N.or(P).or(U),
        (N, _) => Z.or(P).or(PI).or(U),
        (PI, P | PI) => PI,
        (MI, PI) => PI.or(U),
        (MI, P) => MI.or(PI).or(U),
        _ => Z.or(U),
    }
}

/// The angle of the point `(x, y)`; beside the negative axis the sign of a zero decides.
fn angle(y: Signs, x: Signs) -> Signs {
    match (y, x) {
        (Z, Z) => U.or(Z).or(N).or(P),
        (Z, N | MI) => U.or(N).or(P),
        (Z, _) => Z,
        (N | P, PI) => Z,
        (N | MI, _) => N,
        _ => P,
    }
}
