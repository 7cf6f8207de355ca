//! The one evaluator over the product of lattices: what is known of the value of a formula, by what is known of its arguments.

use ngc_ir::op_def::Elementwise;
use ngc_numerics::figures::WHOLE;
use ngc_numerics::primitives::ieee_specials;
use ngc_numerics::program::Step;
use ngc_numerics::{Binary64, Cmp, Interval, Prim, Special, enclosure};
use smallvec::SmallVec;

use super::{Fact, Signs, Strict, primitives};

/// What is known of a term, and which arguments must have values for it to have one.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// What is known of the term.
    pub fact: Fact,
    /// The arguments without which it has no value.
    pub strict: Strict,
}

impl Traced {
    /// A term that is made of no argument.
    pub fn of(fact: Fact) -> Traced {
        Traced { fact, strict: Strict::NONE }
    }

    /// Argument `i` itself.
    pub fn argument(fact: Fact, i: usize) -> Traced {
        Traced { fact, strict: Strict::only(i) }
    }

    /// The one or the other.
    #[must_use]
    pub fn or(self, other: Traced) -> Traced {
        Traced { fact: self.fact.or(other.fact), strict: self.strict.and(other.strict) }
    }
}

/// What is known of the real function of an elementwise op, at arguments of which this is known.
pub fn elementwise(e: &Elementwise, arguments: &[Traced]) -> Traced {
    let mut value = match arguments {
        [x] => beside_limits(e, *x),
        _ => program(e, arguments),
    };
    // A primitive knows its own special values.
    let own = if e.function.as_primitive().is_some() { &[][..] } else { e.function.declared_specials() };
    value = special(value, own, arguments);
    // No value in, none out, even where the formula does not look at it.
    if arguments.iter().any(|x| x.fact.signs.may_be(Signs::UNDEFINED)) {
        value.fact = value.fact.or(Fact::of_number(f64::NAN));
    }
    value
}

/// At an infinity a limit that is declared goes before the formula.
fn beside_limits(e: &Elementwise, x: Traced) -> Traced {
    let mut inside = x;
    let mut limits: Option<Fact> = None;
    for (at, limit) in [Signs::MINUS_INF, Signs::PLUS_INF].into_iter().zip(e.function.declared_limits()) {
        let Some(limit) = limit.map(Fact::of_number).filter(|_| x.fact.signs.may_be(at)) else { continue };
        limits = Some(limits.map_or(limit, |other| other.or(limit)));
        inside.fact.signs = inside.fact.signs.without(at);
        match at {
            Signs::MINUS_INF => inside.fact.range.lo = inside.fact.range.lo.max(f64::MIN),
            _ => inside.fact.range.hi = inside.fact.range.hi.min(f64::MAX),
        }
    }
    match limits {
        // The argument is an infinity, and nothing else.
        Some(limit) if inside.fact.signs == Signs::NONE => Traced { fact: limit, ..x },
        Some(limit) => {
            let value = program(e, &[inside]);
            Traced { fact: value.fact.or(limit), ..value }
        }
        None => program(e, &[x]),
    }
}

/// With the values that are declared beside a function: there no other argument need have one.
fn special(mut value: Traced, specials: &[Special], arguments: &[Traced]) -> Traced {
    for special in specials {
        let decides = |i: usize| special.at.get(i).is_some_and(|at| at.is_some());
        let may_be = |(at, x): (&Option<f64>, &Traced)| at.is_none_or(|at| x.fact.may_be(at));
        if special.at.iter().zip(arguments).all(may_be) {
            value.fact = value.fact.or(Fact::of_number(special.value));
            // An argument that is one of these numbers has a value.
            let rest = (0..arguments.len()).filter(|&i| !decides(i));
            value.strict = rest.fold(value.strict, |strict, i| strict.without(arguments[i].strict));
        }
    }
    value
}

fn program(e: &Elementwise, arguments: &[Traced]) -> Traced {
    let program = e.function.program();
    let mut terms: SmallVec<[Traced; 16]> = SmallVec::new();
    for step in program.steps() {
        let next = match step {
            Step::Var(i) => arguments.get(*i).copied().unwrap_or(Traced::of(Fact::UNKNOWN)),
            Step::Param(i) => Traced::of(e.params.get(*i).map_or(Fact::UNKNOWN, |&x| Fact::of_number(x))),
            Step::Const(i) => {
                Traced::of(Fact::of_range(enclosure::constant(&Binary64, &program.constants()[*i])))
            }
            Step::Apply(prim, [x, y, z]) => apply(*prim, &[terms[*x], terms[*y], terms[*z]][..prim.arity()]),
            Step::Select(cmp, [a, b, t, e]) => select(*cmp, &terms[*a], &terms[*b], terms[*t], terms[*e]),
        };
        terms.push(next);
    }
    terms.pop().unwrap_or(Traced::of(Fact::UNKNOWN))
}

/// What is known of a primitive of terms.
pub fn apply(prim: Prim, x: &[Traced]) -> Traced {
    let ranges: SmallVec<[&Interval; 3]> = x.iter().map(|x| &x.fact.range).collect();
    let signs: SmallVec<[Signs; 3]> = x.iter().map(|x| x.fact.signs).collect();
    let fact = Fact {
        range: beside_poles(prim, enclosure::apply(&Binary64, prim, &ranges)),
        signs: primitives::apply(prim, &signs),
        integer: keeps_integers(prim, x),
    };
    let strict = x.iter().fold(Strict::NONE, |all, x| all.or(x.strict));
    special(Traced { fact: squared(prim, x, fact).reduced(), strict }, ieee_specials(prim), x)
}

/// At a pole the sign of a zero decides between the infinities, and an interval does not know it.
fn beside_poles(prim: Prim, x: Interval) -> Interval {
    let poles = [Prim::Div, Prim::Pow, Prim::Atan2, Prim::Digamma, Prim::Tetragamma];
    let pole = poles.contains(&prim) && x.may_be_nan;
    if x.is_undefined() || pole && (x.lo.is_infinite() || x.hi.is_infinite()) { WHOLE } else { x }
}

/// An even power is a square of a power, and no less than 0 where it is defined.
fn squared(prim: Prim, x: &[Traced], fact: Fact) -> Fact {
    match (prim, x) {
        (Prim::Pow, [x, y])
            if y.fact.range.lo == y.fact.range.hi && y.fact.range.lo.rem_euclid(2.0) == 0.0 =>
        {
            let positive = primitives::apply(Prim::Abs, &[x.fact.signs]);
            let exponent = y.fact.signs;
            Fact { signs: fact.signs.and(primitives::apply(prim, &[positive, exponent])), ..fact }
        }
        _ => fact,
    }
}

/// Whether the values are integers. Rounding does not change that: each format holds all integers that it rounds to.
fn keeps_integers(prim: Prim, x: &[Traced]) -> bool {
    use Prim::{Abs, Add, Ceil, Floor, Fma, Max, Min, Mul, Neg, Rem, RoundEven, Sign, Square, Sub, Trunc};
    match prim {
        Floor | Ceil | RoundEven | Trunc | Sign => true,
        Neg | Abs | Add | Sub | Mul | Square | Min | Max | Rem | Fma => x.iter().all(|x| x.fact.integer),
        _ => false,
    }
}

/// What is known of `if a cmp b then t else e`.
pub fn select(cmp: Cmp, a: &Traced, b: &Traced, t: Traced, e: Traced) -> Traced {
    let by_sign = a.fact.signs.compare(cmp, b.fact.signs);
    let mut chosen = match a.fact.range.compare(cmp, &b.fact.range).or(by_sign) {
        Some(true) => t,
        Some(false) => e,
        None => t.or(e),
    };
    // What has no value compares with nothing: then the other branch is taken, or the choice has none either.
    if a.fact.signs.or(b.fact.signs).may_be(Signs::UNDEFINED) {
        chosen = t.or(e);
        chosen.fact = chosen.fact.or(Fact::of_number(f64::NAN));
    }
    Traced { strict: chosen.strict.or(a.strict).or(b.strict), ..chosen }
}
