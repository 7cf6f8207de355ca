//! Flags about laws over the reals: which ones there are, what they say, whether they hold.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_ir::{Context, Diagnostics, Loc, Sources};
use ngc_passes::stabilize::catalogue::library::{Library, has_laws};
use ngc_passes::stabilize::catalogue::verify::{errors, verify as verified};
use ngc_passes::stabilize::catalogue::{self, Entry, Laws};

use super::rules::checked;
use crate::progress::Progress;

/// The files of an option that have laws, by name and text.
pub fn files(
    option: &str,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let mut files = Vec::new();
    for name in ngc_passes::rewrite::library::files(option) {
        let text = read(name)?;
        if has_laws(&text) {
            files.push((name.to_string(), text));
        }
    }
    Ok(files)
}

/// Reads the laws of an option, and checks those of users, unless they shall be trusted.
///
/// # Errors
/// What is wrong with a file; laws that are not established. The sources hold the files.
pub fn add(
    library: &mut Library,
    context: &Context,
    option: &str,
    files: &[(String, String)],
    sources: &mut Sources,
    trust: bool,
) -> Result<(), Diagnostics> {
    library.add(option, files, sources)?;
    if trust {
        return Ok(());
    }
    checked(("checking laws", "laws"), |progress| library.check(context, option, progress))
}

/// The families of laws among the names of sets, and the other names.
pub fn families<'s>(laws: &Laws, sets: &'s [String]) -> (Vec<&'s str>, Vec<&'s str>) {
    let known = catalogue::families(laws);
    sets.iter().map(String::as_str).partition(|set| known.contains(set))
}

/// The text of `--list-rules`.
pub fn list(laws: &Laws, families: &[&str]) -> String {
    match families {
        [] => catalogue::list(laws, &catalogue::families(laws)),
        _ => catalogue::list(laws, families),
    }
}

/// The laws and charts of some families, or all of them.
pub fn of<'a>(laws: &'a Laws, families: &[&str]) -> Vec<Entry<'a>> {
    let all = catalogue::families(laws);
    let families = if families.is_empty() { &all[..] } else { families };
    families.iter().flat_map(|family| catalogue::members(laws, family)).collect()
}

/// The law or the chart of a name.
pub fn named<'a>(laws: &'a Laws, name: &str) -> Option<Entry<'a>> {
    of(laws, &[]).into_iter().find(|entry| entry.name() == name)
}

/// How laws stand, as text, and an error for each that does not.
pub fn verify(context: &Context, wanted: &[Entry<'_>]) -> (String, Diagnostics) {
    let (progress, done) = (Progress::new("verifying laws"), AtomicUsize::new(0));
    let reports = verified(context, wanted, &|| {
        progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, wanted.len());
    });
    drop(progress);
    let (mut text, mut failures) = (String::new(), errors(&reports));
    for report in &reports {
        // Writing to a string does not fail.
        let _ = writeln!(text, "law {}: {}", report.of.name(), report.text());
    }
    let failed = failures.0.len();
    let points: usize = reports.iter().map(|report| report.points()).sum();
    let _ = writeln!(text, "{} laws hold, {failed} do not; {points} points", reports.len() - failed);
    if failed > 0 {
        failures.error(Loc::Unknown, format!("{failed} of {} laws are not established", reports.len()));
    }
    (text, failures)
}
