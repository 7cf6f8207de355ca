//! Laws that a driver read for passes: passes do no IO.

use std::collections::BTreeMap;

use ngc_ir::{Context, Diagnostics, Loc, Sources};
use ngc_reals::laws::Laws;

use super::Entry;
use super::verify::{errors, verify};
use crate::stabilize::target::Target;

/// The names of law files in the option `rules` of `stabilize`.
fn files(option: &str) -> impl Iterator<Item = &str> {
    option.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// An error without a place.
pub fn failed(message: String) -> Diagnostics {
    let mut errors = Diagnostics::default();
    errors.error(Loc::Unknown, message);
    errors
}

/// The laws that come with ngc together with those of users' files, by what the option `rules` says, and target files by
/// their names. A driver supplies it to the pass manager.
#[derive(Default)]
pub struct Library {
    laws: BTreeMap<String, Laws>,
    targets: BTreeMap<String, Target>,
}

impl Library {
    /// Reads the law files that an option names, once. `text` gives the text of a file.
    ///
    /// # Errors
    /// What is wrong with the laws, located in `sources`, which gets the files; or what `text` says.
    pub fn add(
        &mut self,
        option: &str,
        sources: &mut Sources,
        text: impl Fn(&str) -> Result<String, String>,
    ) -> Result<(), Diagnostics> {
        if !self.laws.contains_key(option) {
            let mut read = Vec::new();
            for name in files(option) {
                let text = text(name).map_err(failed)?;
                let number = sources.add(name, text.as_str(), 1);
                read.push((name, text, number));
            }
            let all: Vec<_> =
                read.iter().map(|(name, text, number)| (*name, text.as_str(), *number)).collect();
            self.laws.insert(option.into(), Laws::with(&all)?);
        }
        Ok(())
    }

    /// Reads a target file, once.
    ///
    /// # Errors
    /// What is wrong with it, located in `sources`, which gets the file; or what `text` says.
    pub fn add_target(
        &mut self,
        context: &Context,
        name: &str,
        sources: &mut Sources,
        text: impl Fn(&str) -> Result<String, String>,
    ) -> Result<(), Diagnostics> {
        if !self.targets.contains_key(name) {
            let text = text(name).map_err(failed)?;
            let file = sources.add(name, text.as_str(), 1);
            self.targets.insert(name.into(), Target::parse(context, &text, file)?);
        }
        Ok(())
    }

    /// A target that was read.
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.targets.get(name)
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
