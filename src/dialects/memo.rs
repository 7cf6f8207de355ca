//! What was found of an op, kept for ops of which the same is known: layers that are alike, and a body that was changed
//! elsewhere.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ngc_ir::{AttrDict, Ident, Signature, Type};
use ngc_numerics::{DType, Figures, Flags, Kind, Mixed, Operands, Range, StoredTensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::relative::Term;

/// All that the figures of an op depend on, numbers by their bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Question {
    op: Ident,
    attrs: AttrDict,
    types: SmallVec<[Type; 4]>,
    words: SmallVec<[u64; 32]>,
    flags: SmallVec<[Flags; 4]>,
    constants: SmallVec<[Option<Held>; 3]>,
}

/// A constant, by its place in memory, which is its own as long as it is held.
#[derive(Clone, Debug)]
struct Held(Arc<StoredTensor>);

impl Held {
    fn place(&self) -> (usize, DType) {
        (self.0.place(), self.0.dtype)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Held {}

impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

impl Question {
    /// Of an op of signature `s`, of whose operands `terms` and `x` say the same ranges.
    pub fn new(
        s: &Signature<'_>,
        x: &Operands<'_>,
        alias: &[usize],
        terms: &[Term],
        results: &[Type],
    ) -> Question {
        let mut words = SmallVec::new();
        let mut number = |n: f64| words.push(n.to_bits());
        for Term { exact, moved, absolute, mixed: Mixed { rho, eta } } in terms {
            for interval in [exact, moved] {
                number(interval.lo);
                number(interval.hi);
                number(f64::from(u8::from(interval.may_be_nan)));
            }
            [*absolute, *rho, *eta].into_iter().for_each(&mut number);
        }
        for lengths in x.lengths {
            number(lengths.exact);
            number(lengths.computed);
        }
        for kind in x.kinds.iter().flat_map(|kinds| kinds.as_slice().as_flattened()) {
            let Kind { range: Range { exact, computed }, error, relative: Mixed { rho, eta }, lines } = *kind;
            for x in [exact, computed] {
                [x.lo, x.hi, f64::from(u8::from(x.may_be_nan))].into_iter().for_each(&mut number);
            }
            [error, rho, eta, f64::from(lines)].into_iter().for_each(&mut number);
        }
        for extents in x.extents {
            number(extents.len() as f64);
            extents.iter().flat_map(|e| [e.least, e.most]).for_each(&mut number);
        }
        words.extend(x.kinds.iter().map(|kinds| u64::from(kinds.is_some())));
        words.extend(alias.iter().map(|&n| n as u64));
        let types = s.operands.iter().chain(results).copied().collect();
        let flags = x.flags.iter().copied().collect();
        let constants = x.constants.iter().map(|c| c.map(|tensor| Held(tensor.clone()))).collect();
        Question { op: s.def.name.into(), attrs: s.attrs.clone(), types, words, flags, constants }
    }
}

/// What was found: the figures of an op, and errors of its results along its decomposition, where it was followed.
pub(crate) type Answer = (Vec<Figures>, Option<SmallVec<[(f64, Mixed); 1]>>);

/// Answers to questions, and the tensors of constants by what is written of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    pub answers: FxHashMap<Question, Answer>,
    pub constants: FxHashMap<AttrDict, Arc<StoredTensor>>,
}
