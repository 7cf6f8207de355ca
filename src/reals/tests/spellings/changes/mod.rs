//! Changes of spelling: each leaves what is computed over the reals as it is.

mod arithmetic;
mod choices;
mod contraction;
mod functions;
mod movement;
mod reduction;
mod scaling;
mod written_out;

use ngc_ir::Value;

use super::site::Site;

/// A change of one op.
pub struct Change {
    pub name: &'static str,
    /// What in the place of the op gives the same; nothing where the change does not fit.
    pub make: fn(&mut Site<'_>) -> Option<Value>,
    /// The law that it wants, where normal forms alone are not meant to see through it.
    pub wants: Option<&'static str>,
}

/// A change that leaves the normal form as it is.
const fn plain(name: &'static str, make: fn(&mut Site<'_>) -> Option<Value>) -> Change {
    Change { name, make, wants: None }
}

/// A change that wants a law.
const fn lawful(name: &'static str, wants: &'static str, make: fn(&mut Site<'_>) -> Option<Value>) -> Change {
    Change { name, make, wants: Some(wants) }
}

/// All changes.
pub fn changes() -> impl Iterator<Item = &'static Change> {
    [
        movement::CHANGES,
        reduction::CHANGES,
        arithmetic::CHANGES,
        scaling::CHANGES,
        functions::CHANGES,
        contraction::CHANGES,
        choices::CHANGES,
        written_out::CHANGES,
    ]
    .into_iter()
    .flatten()
}
