//! Laws that a driver read for passes: passes do no IO.

use std::collections::BTreeMap;

use ngc_ir::{Context, Diagnostics, Sources};
use ngc_reals::laws::Laws;

use super::Entry;
use super::verify::{errors, verify};

/// Whether a text has laws over the reals, and not rules between ops, whose every rule begins with a word of its own.
pub fn has_laws(text: &str) -> bool {
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim().to_string();
    let mut words = text.lines().map(code).filter(|line| !line.is_empty());
    words.next().is_some_and(|line| !line.starts_with("rule ") && line != "rule")
}

/// The laws of the library together with those of users' files, by what the option `rules` says. A driver supplies it to
/// the pass manager.
#[derive(Default)]
pub struct Library {
    laws: BTreeMap<String, Laws>,
}

impl Library {
    /// Reads laws of files, given as name and text, for an option, once.
    ///
    /// # Errors
    /// What is wrong with the laws, located in `sources`, which gets the files.
    pub fn add(
        &mut self,
        option: &str,
        files: &[(String, String)],
        sources: &mut Sources,
    ) -> Result<(), Diagnostics> {
        if !self.laws.contains_key(option) {
            let add = |(name, text): &'_ (String, String)| sources.add(name.as_str(), text.as_str(), 1);
            let numbers: Vec<u16> = files.iter().map(add).collect();
            let files: Vec<(&str, &str, u16)> = files
                .iter()
                .zip(numbers)
                .map(|((name, text), number)| (name.as_str(), text.as_str(), number))
                .collect();
            self.laws.insert(option.into(), Laws::with(&files)?);
        }
        Ok(())
    }

    /// The laws for an option.
    pub fn get(&self, option: &str) -> Option<&Laws> {
        self.laws.get(option)
    }

    /// Checks the laws that were read for an option and do not come with the library: a false one would change what is
    /// computed. `done` hears of each that is finished, and how many there are.
    ///
    /// # Errors
    /// Each law that is not established, located as those of [`add`](Self::add).
    pub fn check(
        &self,
        context: &Context,
        option: &str,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Diagnostics> {
        let Some(laws) = self.laws.get(option) else { return Ok(()) };
        let unknown: Vec<Entry<'_>> = laws.iter().filter(|law| !law.bundled).map(Entry::Law).collect();
        let reports = verify(context, &unknown, &|| done(unknown.len()));
        let errors = errors(&reports);
        if errors.has_errors() { Err(errors) } else { Ok(()) }
    }
}
