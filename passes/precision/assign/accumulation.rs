//! How ops accumulate: the format and the method of summation of each, chosen beside the format of its operands and its result.
//!
//! An accumulator is a node of the minimum cut of its own, beside that of the op. Its levels are the methods, in the format that the op
//! accumulates in where it takes a narrow one, and at last the widest format of the chain, where that is wider: an op that takes that
//! format needs it. What an accumulation adds to the error is what the op adds with it, less what it adds with one that is nearly exact.
//! So a long sum in f32 may be summed by pairs or be compensated where f64 would otherwise be needed, and f16 may stay where a naive
//! sum in f32 would take all that is allowed.
//!
//! A method that the program states stays. For a runtime nothing is chosen, since it sums in an order of its own.

use ngc_ir::op_def::{ACCUMULATE, SUM};
use ngc_ir::{Attr, AttrDict, Body, Op, Type};
use ngc_numerics::{DType, Format, SumMethod};

use crate::precision::storage::Storage;

/// A format and a method of summation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulation {
    /// The format of every addition.
    pub format: Format,
    /// The method.
    pub method: SumMethod,
}

/// An accumulation that an op may take.
#[derive(Clone, Copy, Debug)]
pub struct Accumulates {
    /// The accumulation.
    pub how: Accumulation,
    /// The error of the function's results that it adds, in units of what is allowed.
    pub error: f64,
    /// Operations in f32 that it takes, beyond those of a naive sum there.
    pub work: f64,
}

/// What an op is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The format of its operands and its result.
    pub storage: Storage,
    /// How it accumulates, where that was chosen.
    pub accumulation: Option<Accumulation>,
}

impl Form {
    /// How it accumulates, where that is not one term after another in the format, or else in f32.
    pub fn told(self) -> Option<Accumulation> {
        let least = self.storage.word().precision().max(Format::F32.precision());
        self.accumulation.filter(|how| how.method != SumMethod::Naive || how.format.precision() > least)
    }
}

impl From<Storage> for Form {
    fn from(storage: Storage) -> Form {
        Form { storage, accumulation: None }
    }
}

impl Accumulation {
    /// Nearly exact, beside what other formats than f64 can tell apart.
    pub const FINEST: Accumulation = Accumulation { format: Format::F64, method: SumMethod::Neumaier };

    /// Those that are looked at, in the order of what they take: with the operations that each takes for one of a naive sum in f32,
    /// beyond that one. They are those of the loops that are written for them (`passes/lowering/sums.rs`); partial sums by pairs have to
    /// be kept, which counts as half an operation, and an operation in f64 takes as long as two.
    pub fn all(widest: Format) -> Vec<(Accumulation, f64)> {
        let narrow = |method| Accumulation { format: Format::F32, method };
        let mut all = vec![(narrow(SumMethod::Naive), 0.0), (narrow(SumMethod::Pairwise), 0.5)];
        if widest == Format::F64 {
            all.push((Accumulation { format: Format::F64, method: SumMethod::Naive }, 1.0));
        } else {
            all.push((narrow(SumMethod::Kahan), 3.0));
            all.push((narrow(SumMethod::Neumaier), 8.0));
        }
        all
    }

    /// Whether an op may choose how it accumulates: it is a sum, and the program states no method.
    pub fn is_open(body: &Body, op: Op) -> bool {
        let declared = |name| body.op(op).def.is_some_and(|def| def.attribute(name).is_some());
        declared(ACCUMULATE.name) && declared(SUM.name) && body.op(op).attrs.get(SUM.name).is_none()
    }

    /// Gives it to an op that computes in a format, by its attributes; nothing is narrower than that, nor than what the op has.
    pub fn give(self, attrs: &mut AttrDict, format: Format) {
        let own = attrs.get(ACCUMULATE.name).and_then(Attr::as_type).and_then(Type::format);
        let wide = own.filter(|own| own.precision() > self.format.precision()).unwrap_or(self.format);
        if wide.precision() > format.precision() {
            attrs.set(ACCUMULATE.name, Attr::Type(Type::scalar(DType::Float(wide))));
        } else {
            attrs.remove(ACCUMULATE.name);
        }
        if self.method != SumMethod::default() {
            attrs.set(SUM.name, Attr::from(self.method.name()));
        }
    }
}

impl std::fmt::Display for Accumulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.method {
            SumMethod::Naive => write!(f, "in {}", self.format),
            method => write!(f, "{} in {}", method.name(), self.format),
        }
    }
}
