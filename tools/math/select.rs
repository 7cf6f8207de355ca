//! `ngc-math select`: what a user needs of a Pareto set.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ngc_ir::{Context, Sources};
use ngc_math::c99;
use ngc_math::check::check;
use ngc_math::text::parse;
use serde_json::Value;

use super::synthesize::{Target, range};
use crate::io::{read_text, write_output};
use crate::load::Failure;

/// What is needed.
#[derive(Args)]
pub struct Select {
    /// A folder that `ngc-math synthesize` has written
    folder: PathBuf,
    /// The processor, of a folder for several
    #[arg(long, value_enum)]
    target: Option<Target>,
    /// No error may be larger
    #[arg(long, value_name = "ULPS", default_value_t = 1.0)]
    max_ulp: f64,
    /// Where it is needed [default: anywhere]
    #[arg(long, value_name = "A,B", allow_hyphen_values = true)]
    range: Option<String>,
    /// Takes none whose error is an estimate
    #[arg(long)]
    exhaustive: bool,
    /// The language
    #[arg(long, value_enum, default_value = "impl")]
    language: Language,
    /// Where to [default: standard output]
    #[arg(short, value_name = "FILE", default_value = "-")]
    output: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// Assembly
    Impl,
    /// C99
    C,
}

/// Writes the fastest entry that is good enough.
///
/// # Errors
/// When the folder holds no Pareto set, or none of its entries is good enough.
pub fn run(context: &Context, sources: &mut Sources, asked: &Select) -> Result<(), Failure> {
    let folder = asked.target.map_or(asked.folder.clone(), |target| asked.folder.join(target.name()));
    let path = folder.join("pareto.json");
    let (name, text) = read_text(&path.to_string_lossy())?;
    let broken = |what: &str| Failure::new(format!("'{name}' is no Pareto set: {what}"));
    let set: Value = serde_json::from_str(&text).map_err(|e| broken(&e.to_string()))?;
    let entries = set["entries"].as_array().ok_or_else(|| broken("it has no entries"))?;
    let wanted = asked.range.as_deref().map(range).transpose()?;
    let wanted = wanted.map(|r| (r.from.to_f64(), r.to.to_f64()));
    let (mut best, mut nearest): (Option<(f64, &str)>, f64) = (None, f64::INFINITY);
    for entry in entries {
        let number =
            |key: &str| entry[key].as_f64().ok_or_else(|| broken(&format!("an entry has no number '{key}'")));
        let file = entry["file"].as_str().ok_or_else(|| broken("an entry has no file"))?;
        let (from, to, error, cost) = (number("from")?, number("to")?, number("max_ulp")?, number("cost")?);
        let slowness = entry["ns"].as_f64().unwrap_or(cost);
        let reaches = wanted.is_none_or(|(a, b)| from <= a && b <= to);
        if !reaches || asked.exhaustive && entry["established"] != "all inputs" {
            continue;
        }
        nearest = nearest.min(error);
        if error <= asked.max_ulp && best.is_none_or(|b| slowness < b.0) {
            best = Some((slowness, file));
        }
    }
    let Some((_, file)) = best else {
        let why = match nearest.is_finite() {
            true => format!("the nearest is within {nearest:.4} ulp"),
            false => "none reaches so far".into(),
        };
        return Err(Failure::new(format!("no entry of '{name}' is good enough: {why}")));
    };
    // A name in outside data is no path.
    if Path::new(file).components().count() != 1 || file.starts_with('.') {
        return Err(broken(&format!("'{file}' is no name of a file beside it")));
    }
    let (name, text) = read_text(&folder.join(file).to_string_lossy())?;
    let number = sources.add(name, text.as_str(), 1);
    let checked = check(context, &parse(&text, number)?)?;
    let written = match asked.language {
        Language::Impl => text,
        Language::C => c99::source(&checked)?,
    };
    Ok(write_output(&asked.output, written.as_bytes())?)
}
