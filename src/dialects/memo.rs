//! What was found of an op, kept for ops of which the same is known: layers that are alike, and a body that was changed
//! elsewhere.

use std::sync::Arc;

use ngc_ir::{AttrDict, Ident, Signature, Type};
use ngc_numerics::{Facts, Figures, Flags, Mixed, Operands, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
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
}

impl Question {
    /// Of an op of signature `s`, of whose operands `terms` and `x` say the same ranges. Constants count by their place in
    /// memory, so a [`Memo`] must hold them: see [`Memo::holds`].
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
        for extents in x.extents {
            number(extents.len() as f64);
            extents.iter().flat_map(|e| [e.least, e.most]).for_each(&mut number);
        }
        words.extend(x.constants.iter().map(|c| c.map_or(0, |tensor| place(tensor) as u64)));
        words.extend(alias.iter().map(|&n| n as u64));
        let types = s.operands.iter().chain(results).copied().collect();
        let flags = x.flags.iter().copied().collect();
        Question { op: s.def.name.into(), attrs: s.attrs.clone(), types, words, flags }
    }
}

/// What was found: the figures of an op, and errors of its results along its decomposition, where it was followed.
pub(crate) type Answer = (Vec<Figures>, Option<SmallVec<[(f64, Mixed); 1]>>);

/// Answers to questions, and the tensors of constants by what is written of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    pub answers: FxHashMap<Question, Answer>,
    constants: FxHashMap<AttrDict, (Arc<Tensor>, Facts)>,
    /// Where those tensors are.
    places: FxHashSet<usize>,
}

impl Memo {
    /// The tensor of a constant op, and facts of it, by its attributes.
    pub fn constant(&self, attrs: &AttrDict) -> Option<(Arc<Tensor>, Facts)> {
        self.constants.get(attrs).cloned()
    }

    /// Keeps the tensor of a constant op.
    pub fn keep(&mut self, attrs: &AttrDict, constant: &(Arc<Tensor>, Facts)) {
        self.places.insert(place(&constant.0));
        self.constants.insert(attrs.clone(), constant.clone());
    }

    /// Whether all tensors among the operands are held. What an op has rearranged is not: once it is gone, another tensor
    /// may lie in its place, and a question of the one would be taken for a question of the other.
    pub fn holds(&self, x: &Operands<'_>) -> bool {
        x.constants.iter().flatten().all(|tensor| self.places.contains(&place(tensor)))
    }
}

fn place(tensor: &Arc<Tensor>) -> usize {
    Arc::as_ptr(tensor) as usize
}
