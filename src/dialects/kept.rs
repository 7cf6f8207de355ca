//! What follows from the signature of an op alone, such as the steps of its decomposition: found once on each thread.

use std::cell::RefCell;
use std::rc::Rc;

use ngc_ir::{AttrDict, OpDef, Signature, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// An op that is declared, by its place, with its attributes and the types of its operands.
type Key = (*const OpDef, AttrDict, SmallVec<[Type; 4]>);

/// After so many it is all forgotten, and found again.
const MOST: usize = 4096;

/// Answers by signature; nothing is an answer, too.
pub(crate) struct Kept<T>(RefCell<FxHashMap<Key, Option<Rc<T>>>>);

impl<T> Kept<T> {
    /// Without answers.
    pub fn new() -> Kept<T> {
        Kept(RefCell::default())
    }

    /// What is kept of a signature, or else is found now.
    pub fn of(&self, s: &Signature<'_>, find: impl FnOnce() -> Option<T>) -> Option<Rc<T>> {
        let key = (std::ptr::from_ref(s.def), s.attrs.clone(), s.operands.into());
        if let Some(known) = self.0.borrow().get(&key) {
            return known.clone();
        }
        let found = find().map(Rc::new);
        let mut all = self.0.borrow_mut();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, found.clone());
        found
    }
}
