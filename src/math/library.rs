//! The implementations that ngc has, as functions of machine ops.

use ngc_ir::{Context, Diagnostic, Module};

use crate::expand::expand;
use crate::function::module_of;
use crate::text::parse;

/// Their texts.
pub const TEXTS: &[&str] = &[
    include_str!("library/acos.impl"),
    include_str!("library/asin.impl"),
    include_str!("library/atan.impl"),
    include_str!("library/cbrt.impl"),
    include_str!("library/cos.impl"),
    include_str!("library/cosh.impl"),
    include_str!("library/erf.impl"),
    include_str!("library/erfc.impl"),
    include_str!("library/exp.impl"),
    include_str!("library/exp2.impl"),
    include_str!("library/expm1.impl"),
    include_str!("library/log.impl"),
    include_str!("library/log1p.impl"),
    include_str!("library/log2.impl"),
    include_str!("library/rsqrt.impl"),
    include_str!("library/sigmoid.impl"),
    include_str!("library/sin.impl"),
    include_str!("library/sinh.impl"),
    include_str!("library/tan.impl"),
    include_str!("library/tanh.impl"),
];

/// A module with a function of scalars for each of them.
///
/// # Errors
/// A fault of ngc.
pub fn library(context: &Context) -> Result<Module, Diagnostic> {
    let mut all = Vec::new();
    for text in TEXTS {
        all.extend(parse(text, u16::MAX)?);
    }
    expand(context, &module_of(context, &all, None)?)
}
