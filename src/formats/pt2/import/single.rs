//! Dimensions of single numbers, which count as vectors of one element.

use ngc_ir::Value;

use super::super::schema::{Argument, Node as Proto};
use super::node::Node;
use super::program::Program;
use crate::emit::Emit;
use crate::error::Result;

/// Operators with a dimension where none is given.
const ALONG_THE_LAST: &[&str] = &["argsort", "kthvalue", "sort", "topk"];

/// Whether a node is of a dimension of a single number.
pub(super) fn is_single(program: &Program<'_>, proto: &Proto) -> bool {
    let input = |name: &str| proto.inputs.iter().find(|i| i.name == name).map(|i| &i.arg);
    let operator = super::in_place::operator(&proto.target).map_or("", |(name, _)| name);
    let is_dimension = |name: &str| matches!(input(name), Some(Argument::AsInt(_)));
    let of_dimension = is_dimension("dim") || is_dimension("dimension") || ALONG_THE_LAST.contains(&operator);
    let rank = |arg: &Argument| match arg {
        Argument::AsTensor(t) => program.declared(&t.name).ok().map(|(_, extents)| extents.len()),
        _ => None,
    };
    // A new dimension is none of the number's.
    of_dimension && operator != "unsqueeze" && proto.inputs.iter().find_map(|i| rank(&i.arg)) == Some(0)
}

impl Node<'_, '_> {
    /// Results in the shapes that are declared, where single numbers counted as vectors.
    pub(super) fn as_single(&mut self, results: Vec<Value>) -> Result<Vec<Value>> {
        if !self.single {
            return Ok(results);
        }
        let mut each = Vec::with_capacity(results.len());
        for (i, value) in results.into_iter().enumerate() {
            each.push(match self.declared(i) {
                Ok((_, extents)) if extents.len() != self.rank(value) => self.reshape(value, &extents)?,
                _ => value,
            });
        }
        Ok(each)
    }
}
