//! What is known of the values of a program beside their errors: one product of lattices.
//!
//! A [`Fact`] says of a value over the reals what encloses it, at which places of the extended line it may lie and whether it
//! may be undefined ([`Signs`]), and whether it is an integer. [`of_results`] says it of the results of an op by what is known
//! of the operands, and asks nothing but the op's declaration: the formula of an elementwise op ([`formula`]), the structure of
//! an op that moves or reduces elements ([`element`]), the steps of a decomposition ([`steps`]). What the declaration does not
//! say is not known: [`Fact::UNKNOWN`] is the top of the product.
//!
//! These are facts of exact values. Whether a computed value overflows or becomes 0 is another question, which the transfer
//! functions answer for chosen terms.

mod element;
mod extents;
pub mod formula;
pub(crate) mod lengths;
mod primitives;
mod signs;
mod steps;
mod store;
mod strict;

use ngc_ir::op_def::Semantics;
use ngc_ir::{Signature, Type};
use ngc_numerics::figures::{WHOLE, intersect};
use ngc_numerics::{DType, Enclosure, Facts as ConstantFacts, Flags, Format, Interval, Operands};
use smallvec::SmallVec;

use crate::transfer::has_elements;

pub use element::{
    Pointwise, function, is_pointwise, lines, moved, only_chooses, places, reduction, together,
};
pub use formula::Traced;
pub use primitives::{apply, repeated};
pub use signs::Signs;
pub(crate) use store::Store;
pub use strict::Strict;

/// What is known of a value over the reals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// Encloses it.
    pub range: Interval,
    /// Where it may lie.
    pub signs: Signs,
    /// Whether all finite values, exact and computed, are integers.
    pub integer: bool,
}

impl Fact {
    /// Nothing known.
    pub const UNKNOWN: Fact = Fact { range: WHOLE, signs: Signs::ANY, integer: false };

    /// What a range says.
    pub fn of_range(range: Interval) -> Fact {
        Fact { range: signless(range), signs: Signs::of(&range), integer: Flags::of(&range).integer }
    }

    /// Of one number.
    pub fn of_number(x: f64) -> Fact {
        Fact::of_range(Enclosure::point(x))
    }

    /// What the elements of a constant say.
    pub fn of_constant(constant: &ConstantFacts) -> Fact {
        let ConstantFacts { interval, flags } = *constant;
        let zero = flags.positive_zero || flags.negative_zero;
        let signs = if zero { Signs::ANY } else { Signs::ANY.without(Signs::ZERO) };
        Fact { range: interval, signs, integer: flags.integer }.reduced()
    }

    /// What a type says.
    pub fn of_type(ty: Type) -> Fact {
        match ty.elem() {
            Some(DType::Float(_)) | None => Fact::UNKNOWN,
            Some(DType::Int(1)) => Fact { integer: true, ..Fact::of_range(Enclosure::new(0.0, 1.0)) },
            Some(int) => {
                let (lo, hi) = int.int_range();
                Fact { integer: true, ..Fact::of_range(Enclosure::new(lo as f64, hi as f64)) }
            }
        }
    }

    /// Of a value that is the one or the other.
    #[must_use]
    pub fn or(self, other: Fact) -> Fact {
        Fact {
            range: self.range.hull(other.range),
            signs: self.signs.or(other.signs),
            integer: self.integer && other.integer,
        }
    }

    /// Of a value of which both are known.
    #[must_use]
    pub fn and(self, other: Fact) -> Fact {
        Fact {
            range: intersect(&self.range, &other.range),
            signs: self.signs.and(other.signs),
            integer: self.integer || other.integer,
        }
        .reduced()
    }

    /// What its parts say of each other. Parts without a value in common say nothing: no value is there to speak of.
    #[must_use]
    pub fn reduced(self) -> Fact {
        let by_range = Signs::of(&self.range);
        let signs = match self.signs.and(by_range) {
            Signs::NONE => by_range,
            both => both,
        };
        let range = signless(self.range);
        let may_be_nan = range.may_be_nan && signs.may_be(Signs::UNDEFINED);
        Fact { range: Enclosure { may_be_nan: may_be_nan || range.is_undefined(), ..range }, signs, ..self }
    }

    /// Whether the value may be this number.
    pub fn may_be(&self, x: f64) -> bool {
        self.range.contains(&x) && self.signs.may_be(Signs::of(&Enclosure::point(x)))
    }
}

/// An interval does not know the sign of a zero.
fn signless(x: Interval) -> Interval {
    if x.lo == 0.0 && x.hi == 0.0 { Enclosure { lo: -0.0, hi: 0.0, ..x } } else { x }
}

/// A tensor without elements has no values: facts say of it what transfer functions say, that it is 0.
fn nothing() -> Fact {
    Fact { integer: true, ..Fact::of_range(Enclosure::point(0.0)) }
}

/// What is known of the results of an op, of types `results`, by what is known of its operands.
pub fn of_results(s: &Signature<'_>, operands: &[Fact], results: &[Type]) -> SmallVec<[Traced; 1]> {
    let arguments: SmallVec<[Traced; 4]> =
        operands.iter().enumerate().map(|(i, &fact)| Traced::argument(fact, i)).collect();
    traced(s, &arguments, results)
}

/// Whether all results of an elementwise op are integers, as computed too.
pub(crate) fn integral(s: &Signature<'_>, x: &Operands<'_>) -> bool {
    let fact = |i: usize| Fact { integer: x.flags(i).integer, ..Fact::of_range(x.ranges[i].exact) };
    let facts: SmallVec<[Fact; 3]> = (0..x.ranges.len()).map(fact).collect();
    matches!(s.def.semantics, Semantics::Elementwise(_)) && {
        let float = Type::float(Format::F64);
        of_results(s, &facts, &[float])[0].fact.integer
    }
}

/// As [`of_results`], where operands are made of arguments in turn.
fn traced(s: &Signature<'_>, operands: &[Traced], results: &[Type]) -> SmallVec<[Traced; 1]> {
    let empty = |i: usize| s.operands.get(i).is_some_and(|&ty| !has_elements(ty));
    let operands: SmallVec<[Traced; 4]> = operands
        .iter()
        .enumerate()
        .map(|(i, &operand)| if empty(i) { Traced { fact: nothing(), ..operand } } else { operand })
        .collect();
    let operands = &operands[..];
    let found: Option<SmallVec<[Traced; 1]>> = match s.def.semantics {
        Semantics::Elementwise(of) => of(s)
            .ok()
            .filter(|e| e.function.arity == operands.len())
            .map(|e| SmallVec::from_iter([formula::elementwise(&e, operands)])),
        Semantics::Decomposition(_) if s.def.structure.is_none() => steps::follow(s, operands),
        _ => element::follow(s, operands),
    };
    let mut found = found.unwrap_or_default();
    found.resize(results.len(), Traced::of(Fact::UNKNOWN));
    for (found, &ty) in found.iter_mut().zip(results) {
        if !has_elements(ty) {
            *found = Traced::of(nothing());
            continue;
        }
        // Integers wrap around.
        if ty.format().is_none() {
            *found = Traced::of(Fact::of_type(ty));
        }
    }
    found
}
