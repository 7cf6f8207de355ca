//! Forms of terms at the end of a window's body, and which of them are not written.

use ngc_ir::structure::Size;
use ngc_ir::{Builder, Loc, Op};
use ngc_reals::store::ANYWHERE;
use ngc_reals::write::Known;
use ngc_reals::{Form, Id};

use super::Search;
use crate::stabilize::observed::asks;
use crate::stabilize::steps::elements;

impl Search<'_> {
    /// A term in a form, over its slots, at the end of the window's body.
    pub(super) fn write(&mut self, id: Id, form: &Form) -> Result<Known, String> {
        let sizes: Vec<Size> = self.terms.store.sizes(id).to_vec();
        let block = self.window.body.entry().ok_or("an empty body")?;
        let (values, before) = (self.values(Some(id)), self.window.body.num_ops());
        let builder = Builder::at_end(self.context, &mut self.window.body, block, Loc::Unknown);
        let forms = |part: Id| if part == id { form.clone() } else { Form::Plain };
        let mut writer = self.terms.writer(builder, &self.terms.leaves, &forms, &values);
        let whole = self.terms.itself(id);
        let (value, factor) = writer.scaled(&whole, &sizes)?;
        let new = || (before..self.window.body.num_ops()).map(Op::from_index);
        if new().any(|op| self.is_larger(op)) {
            return Err("larger than all that was given".into());
        }
        if !new().all(|op| self.may_be(op)) {
            return Err("an op that the target does not have".into());
        }
        Ok(Known { value, axes: (0..sizes.len()).collect(), factor })
    }

    /// Whether a term has far more elements than any value that was given.
    pub(super) fn is_large(&self, id: Id) -> bool {
        let counts =
            self.terms.store.sizes(id).iter().filter_map(|size| size.number()).filter(|&n| n != ANYWHERE);
        counts.fold(1, u64::saturating_mul) > self.largest as u64
    }

    /// Whether an op's result has far more elements than any value that was given: accuracy is not bought by an order of
    /// growth.
    fn is_larger(&self, op: Op) -> bool {
        let body = &self.window.body;
        body.results(op).any(|v| elements(body, v) > self.largest)
    }

    /// Whether an op is one that the window had, or one that the target has and that does not ask whether a value is a number:
    /// what it asks of would stay as it is from then on.
    fn may_be(&self, op: Op) -> bool {
        let body = &self.window.body;
        let new = || !asks(body, op) && self.equalities.allowed.brings(body, op);
        self.own.contains(&body.op(op).name) || new()
    }
}
