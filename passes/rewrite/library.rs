//! Rule sets that a driver read for passes: passes do no IO.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compile::{CompiledRule, RuleSet};
use super::target::Target;
use super::verify::{self, Effort, verify_rules};
use super::{Context, Diagnostics, Sources};

/// The names of rule files in the option `rules` of `stabilize`.
pub fn files(option: &str) -> impl Iterator<Item = &str> {
    option.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The bundled rules together with those of users' files, by what the option `rules` says, and target files by their names.
/// A driver supplies it to the pass manager.
#[derive(Debug, Default)]
pub struct Library {
    rules: BTreeMap<String, RuleSet>,
    targets: BTreeMap<String, Arc<Target>>,
}

impl Library {
    /// Reads the files that an option names, once. `text` gives the text of a file.
    ///
    /// # Errors
    /// What is wrong with the rules, located in `sources`, which gets all files; or what `text` says.
    pub fn add(
        &mut self,
        context: &Context,
        option: &str,
        sources: &mut Sources,
        text: impl Fn(&str) -> Result<String, String>,
    ) -> Result<&RuleSet, Diagnostics> {
        if !self.rules.contains_key(option) {
            let mut texts = Vec::new();
            for name in files(option) {
                texts.push((name, text(name).map_err(failed)?));
            }
            let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
            self.rules.insert(option.into(), super::load(context, &files, sources)?);
        }
        self.get(option).ok_or_else(|| failed(format!("no rules were read for '{option}'")))
    }

    /// Checks the rules that were read for an option and are not bundled, once: a false one would change what is computed.
    /// `done` hears of each that is finished, and how many there are.
    ///
    /// # Errors
    /// Each rule that is not established, located as those of [`add`](Self::add).
    pub fn check(
        &mut self,
        context: &Context,
        option: &str,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Diagnostics> {
        let Some(set) = self.rules.get_mut(option) else { return Ok(()) };
        let unknown: Vec<&CompiledRule> = set.rules().iter().filter(|c| c.one_sided.is_none()).collect();
        let reports = verify_rules(context, set, &unknown, Effort::default(), &|| done(unknown.len()));
        let errors = verify::errors(&unknown, &reports);
        if errors.has_errors() {
            return Err(errors);
        }
        let domains = verify::domains(&unknown, &reports);
        set.note_domains(&domains);
        Ok(())
    }

    /// The rules for an option.
    pub fn get(&self, option: &str) -> Option<&RuleSet> {
        self.rules.get(option)
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
            self.targets.insert(name.into(), Arc::new(Target::parse(context, &text, file)?));
        }
        Ok(())
    }

    /// A target that was read.
    pub fn target(&self, name: &str) -> Option<Arc<Target>> {
        self.targets.get(name).cloned()
    }
}

/// The categories of a list such as `stability,precision`.
///
/// # Errors
/// A sentence that names one that no rule has, and those that there are.
pub fn categories<'t>(list: &'t str, rules: &RuleSet) -> Result<Vec<&'t str>, String> {
    let chosen: Vec<&str> = list.split(',').map(str::trim).collect();
    let known = rules.categories();
    match chosen.iter().find(|c| !known.contains(*c)) {
        None => Ok(chosen),
        Some(unknown) => {
            let known: Vec<&str> = known.into_iter().collect();
            Err(format!("there is no rule set '{unknown}'; there are: {}", known.join(", ")))
        }
    }
}

/// An error without a place.
pub fn failed(message: String) -> Diagnostics {
    let mut errors = Diagnostics::default();
    errors.error(ngc_ir::Loc::Unknown, message);
    errors
}
