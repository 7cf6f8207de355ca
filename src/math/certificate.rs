//! Certificates: what a verifier has found of an implementation, and digests of what it was found of.

use std::fmt::Write;

use ngc_ir::{Diagnostic, Loc};
use sha2::{Digest, Sha256};

use crate::c99;
use crate::check::Checked;
use crate::function::symbol;
use crate::text::Text;
use crate::verify::Report;
use crate::verify::certain::{Asked, Certain};

/// The certificate of an implementation, as JSON.
///
/// # Errors
/// When the implementation is not written in C99, which was verified.
pub fn write(checked: &Checked, text: &Text, report: &Report) -> Result<String, Diagnostic> {
    let mut json = String::from("{\n");
    let (which, how) =
        if report.exhaustive { ("all", "exhaustive") } else { ("a sample of the", "estimate") };
    let format = crate::function::format_of(text);
    let within = text.domain.map_or(String::new(), |(from, to)| format!(" from {from:?} to {to:?}"));
    let _ = writeln!(json, "  \"what\": \"{} over {which} inputs of {format}{within}\",", text.name);
    let _ = writeln!(
        json,
        "  \"established\": \"{how}: {} inputs with errors measured with MPFR\",",
        report.inputs
    );
    let sample = if report.exhaustive { String::new() } else { format!(" --sample {}", report.inputs) };
    let _ = writeln!(json, "  \"command\": \"ngc-math verify {}.impl{sample} --certificate .\",", text.name);
    let _ = writeln!(json, "  \"code\": \"{}\",", digest(checked, text)?);
    let _ = writeln!(json, "  \"max_ulp\": {:?},", report.max_ulp);
    let _ = writeln!(json, "  \"at\": {:?},", report.at);
    if let Some(y) = report.beside {
        let _ = writeln!(json, "  \"beside\": {y:?},");
    }
    let _ = writeln!(json, "  \"misrounded\": {},", report.misrounded);
    let _ = writeln!(json, "  \"wrong_specials\": {},", report.wrong_specials.0);
    let _ = writeln!(json, "  \"not_monotone\": {}\n}}", report.not_monotone.0);
    Ok(json)
}

/// The certificate of what is certain of an implementation, as JSON.
///
/// # Errors
/// As [`write`].
pub fn write_certain(
    checked: &Checked,
    text: &Text,
    asked: &Asked,
    found: &Certain,
) -> Result<String, Diagnostic> {
    let mut json = String::from("{\n");
    let format = crate::function::format_of(text);
    let (from, to) = asked.range;
    let all = from <= -format.max_finite() && to >= format.max_finite();
    let (within, range) = match all {
        true => (String::new(), String::new()),
        false => (format!(" from {from:?} to {to:?}"), format!(" --range={from:?},{to:?}")),
    };
    let away =
        if asked.least > 0.0 { format!(", {:?} or more away from 0,", asked.least) } else { String::new() };
    let _ = writeln!(
        json,
        "  \"what\": \"{} over all inputs of {format}{within}{away} at which it is a number below the greatest and not 0\",",
        text.name
    );
    let _ = writeln!(
        json,
        "  \"established\": \"certain: roundings by Taylor forms and the distance from the function by Taylor series, of {} parts\",",
        found.parts
    );
    let (goal, flag) =
        (asked.goal, if asked.least > 0.0 { format!(" --least {:?}", asked.least) } else { String::new() });
    let _ = writeln!(
        json,
        "  \"command\": \"ngc-math verify {}.impl --certain{range}{flag} --goal {goal:?} --certificate .\",",
        text.name
    );
    let _ = writeln!(json, "  \"code\": \"{}\",", digest(checked, text)?);
    if !all {
        let _ = writeln!(json, "  \"from\": {from:?},\n  \"to\": {to:?},");
    }
    if asked.least > 0.0 {
        let _ = writeln!(json, "  \"least\": {:?},", asked.least);
    }
    let _ = writeln!(json, "  \"goal\": {goal:?},");
    let _ = writeln!(json, "  \"bound\": {:?},", found.bound);
    let _ = writeln!(json, "  \"worst\": {:?},", found.worst.0);
    let _ = writeln!(json, "  \"parts\": {}\n}}", found.parts);
    Ok(json)
}

/// A figure or word of a certificate.
pub fn field<'t>(certificate: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = certificate.split_once(&format!("\"{name}\": "))?;
    rest.split(['\n', ',']).next().map(|value| value.trim_matches('"'))
}

/// The largest error that a certificate says.
///
/// # Errors
/// When it says none.
pub fn max_ulp(certificate: &str) -> Result<f64, Diagnostic> {
    let said = field(certificate, "max_ulp").and_then(|value| value.parse().ok());
    said.ok_or_else(|| Diagnostic::error(Loc::Unknown, "a certificate says no largest error"))
}

/// The digest of the machine ops of an implementation, as they are in C99: what does not change it, comments and names, does
/// not change what was found.
///
/// # Errors
/// As [`write`].
pub fn digest(checked: &Checked, text: &Text) -> Result<String, Diagnostic> {
    let core = c99::core(checked, &symbol(text))?;
    Ok(Sha256::digest(core.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect())
}
