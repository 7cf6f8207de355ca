//! Operators of a framework that ngc does not compute: calls of functions that are only declared.
//!
//! The declaration says what it stands for, in two attributes: `ng.operator`, the operator's full name, and `ng.arguments`, its
//! arguments as Python spells them, with `%N` for operand N of the call. As in MLIR's `func` dialect a declared function may
//! give anything: nothing is known of the results. A format that has the operator writes it again.

use ngc_dialects::func::OPERATOR;
use ngc_ir::{Attr, Module};

/// The attribute that spells its arguments.
pub const ARGUMENTS: &str = "ng.arguments";

/// The operator that a declared function stands for, and its arguments; nothing if it stands for none.
pub fn of<'m>(module: &'m Module, symbol: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let function =
        module.symbol(symbol).filter(|&f| module.body.body(f).is_none_or(|b| b.entry().is_none()))?;
    let attrs = &module.body.op(function).attrs;
    let arguments = attrs.get(ARGUMENTS)?.as_array()?.iter().map(Attr::as_str).collect::<Option<_>>()?;
    Some((attrs.get(OPERATOR)?.as_str()?, arguments))
}
