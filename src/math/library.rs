//! The implementations that ngc has, as functions of ops that the machine in hand has.

use ngc_dialects::num::MAX_ULP;
use ngc_ir::{Context, Diagnostic, Module, OpDef};

use crate::certificate::max_ulp;
use crate::expand::expand;
use crate::function::{module_of, symbol};
use crate::text::{Text, parse};

/// How many units in the last place functions may be off where nobody says otherwise.
pub const ULPS: f64 = 1.0;

/// An implementation and what was found of it.
pub struct Entry {
    /// Its text.
    pub text: &'static str,
    /// Its certificate.
    pub certificate: &'static str,
}

macro_rules! entries {
    ($($format:literal: $($name:literal)*;)*) => {
        &[$($(Entry {
            text: include_str!(concat!("library/", $name, ".impl")),
            certificate: include_str!(concat!("../../testdata/certificates/math/", $name, "_", $format, ".json")),
        }),*),*]
    };
}

/// All of them: correctly rounded but for few inputs, in double precision; `faithful`, less than 1 ulp off, for speed; and
/// `double`, of f64, less than 1 ulp off.
pub const ENTRIES: &[Entry] = entries!(
    "f32":
    "acos" "acosh" "asin" "asinh" "atan" "atan2" "atanh" "cbrt" "cos" "cosh" "digamma" "erf" "erfc" "exp" "exp2" "expm1" "gelu" "gelu_tanh"
    "hypot" "lgamma" "log" "log10" "log1p" "log2" "logaddexp" "log_sigmoid" "mish" "pow" "rsqrt" "sigmoid" "silu" "sin" "sinh" "softplus" "softsign" "tan" "tanh"
    "xlogy"
    "faithful/acos" "faithful/acosh" "faithful/asin" "faithful/asinh" "faithful/atan" "faithful/atan2" "faithful/atanh" "faithful/cbrt" "faithful/cos" "faithful/cosh"
    "faithful/erf" "faithful/erfc" "faithful/exp" "faithful/exp2" "faithful/expm1" "faithful/hypot" "faithful/log"
    "faithful/log10" "faithful/log1p" "faithful/log2" "faithful/log_sigmoid" "faithful/sigmoid" "faithful/silu" "faithful/sin" "faithful/sinh"
    "faithful/softplus" "faithful/tan" "faithful/tanh";
    "f64":
    "double/acos" "double/acosh" "double/asin" "double/asinh" "double/atan" "double/atan2" "double/atanh" "double/cbrt" "double/cos" "double/cosh" "double/erf" "double/erfc" "double/exp" "double/exp2"
    "double/expm1" "double/gelu" "double/gelu_tanh" "double/hardswish" "double/hypot" "double/log" "double/log10" "double/log1p" "double/log2" "double/logaddexp" "double/log_sigmoid" "double/mish" "double/pow" "double/rsqrt" "double/selu" "double/sigmoid"
    "double/silu" "double/sin" "double/sinh" "double/softplus" "double/softsign" "double/tan" "double/tanh" "double/xlogy";
);

/// For each function that has an implementation of at most so many ulp, the one with the largest error, which would not be there
/// if it were not the fastest; and that error.
///
/// # Errors
/// A fault of ngc.
pub fn chosen(ulps: f64) -> Result<Vec<(Text, f64)>, Diagnostic> {
    let mut chosen: Vec<(Text, f64)> = Vec::new();
    for entry in ENTRIES {
        let error = max_ulp(entry.certificate)?;
        for text in parse(entry.text, u16::MAX)?.into_iter().filter(|_| error <= ulps) {
            match chosen.iter_mut().find(|(known, _)| symbol(known) == symbol(&text)) {
                Some(known) if known.1 < error => *known = (text, error),
                Some(_) => {}
                None => chosen.push((text, error)),
            }
        }
    }
    Ok(chosen)
}

/// A module with a function of scalars for each that is [`chosen`]. `instructions` are ops that stay, where others make room for
/// the steps that define them. Each says how large its error is.
///
/// # Errors
/// A fault of ngc.
pub fn library(context: &Context, ulps: f64, instructions: &[&'static OpDef]) -> Result<Module, Diagnostic> {
    let (texts, errors): (Vec<Text>, Vec<f64>) = chosen(ulps)?.into_iter().unzip();
    let mut module = expand(context, &module_of(context, &texts, None)?, instructions)?;
    for (op, error) in module.functions().into_iter().zip(errors) {
        module.body.op_mut(op).attrs.set(MAX_ULP, error);
    }
    Ok(module)
}
