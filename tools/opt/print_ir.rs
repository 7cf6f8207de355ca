//! Prints the module between passes.

use std::collections::HashSet;
use std::path::PathBuf;

use ngc_ir::Module;
use ngc_ir::pass::{Changed, Instrumentation, Step};
use ngc_ir::text::{PrintOptions, print_module};

use super::flags::Flags;
use crate::io::write_output;

/// Prints the module before and after the passes that flags name.
pub struct IrPrinter<'a> {
    before: HashSet<String>,
    after: HashSet<String>,
    before_all: bool,
    after_all: bool,
    after_change: bool,
    after_failure: bool,
    folder: Option<PathBuf>,
    options: PrintOptions<'a>,
}

impl<'a> IrPrinter<'a> {
    /// A printer, if the flags ask for one, for a module or the n-th of a split file, which gets a folder of its own.
    /// The error is a message about the folder.
    pub fn new(
        flags: &Flags,
        options: PrintOptions<'a>,
        piece: Option<usize>,
    ) -> Result<Option<IrPrinter<'a>>, String> {
        let any = !flags.print_ir_before.is_empty()
            || !flags.print_ir_after.is_empty()
            || flags.print_ir_before_all
            || flags.print_ir_after_all
            || flags.print_ir_after_change
            || flags.print_ir_after_failure;
        let folder =
            flags.print_ir_tree_dir.as_ref().map(|f| piece.map_or(f.clone(), |n| f.join(format!("{n:03}"))));
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder)
                .map_err(|e| format!("error: cannot make the folder '{}': {e}", folder.display()))?;
        }
        let printer = IrPrinter {
            before: flags.print_ir_before.iter().cloned().collect(),
            after: flags.print_ir_after.iter().cloned().collect(),
            before_all: flags.print_ir_before_all,
            // A folder without further wishes takes the module after each pass.
            after_all: flags.print_ir_after_all || !any,
            after_change: flags.print_ir_after_change,
            after_failure: flags.print_ir_after_failure,
            folder,
            options,
        };
        Ok((any || printer.folder.is_some()).then_some(printer))
    }

    fn print(&self, index: usize, step: &Step, when: &str, module: &Module) {
        let text = print_module(module, &self.options);
        let name = step.pass.name();
        match &self.folder {
            None => eprint!("// -----// IR dump {when} {name} //----- //\n{text}\n"),
            Some(folder) => {
                let file = folder.join(format!("{index:03}_{name}_{}.ngir", when.replace(' ', "_")));
                if let Err(message) = write_output(&file.display().to_string(), text.as_bytes()) {
                    eprintln!("{message}");
                }
            }
        }
    }
}

impl Instrumentation for IrPrinter<'_> {
    fn before_step(&mut self, index: usize, step: &Step, module: &Module) {
        if self.before_all || self.before.contains(step.pass.name()) {
            self.print(index, step, "before", module);
        }
    }

    fn after_step(&mut self, index: usize, step: &Step, module: &Module, changed: Changed) {
        let wanted = self.after_all || self.after.contains(step.pass.name());
        if wanted || (self.after_change && changed == Changed::Yes) {
            self.print(index, step, "after", module);
        }
    }

    fn after_failure(&mut self, index: usize, step: &Step, module: &Module) {
        if self.after_failure || self.after_all {
            self.print(index, step, "after failure of", module);
        }
    }
}
