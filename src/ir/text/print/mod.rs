//! The IR into text.

mod attr;
mod dense;
mod float;
mod loc;
mod names;
mod op;

pub(super) use attr::symbol_component;

use crate::attributes::Attr;
use crate::diagnostics::Sources;
use crate::module::Module;

use loc::LocAliases;
use op::Printer;

/// How to print.
#[derive(Clone, Copy, Default, Debug)]
pub struct PrintOptions<'a> {
    /// All ops in MLIR's generic form.
    pub generic: bool,
    /// With locations.
    pub debuginfo: bool,
    /// The texts that locations point into; without them, such locations print as unknown.
    pub sources: Option<&'a Sources>,
}

/// Prints a module, with those of its resources that it uses. The text ends with a line break.
pub fn print_module(module: &Module, options: &PrintOptions<'_>) -> String {
    let mut printer = Printer::new(options, LocAliases::default());
    printer.module(module);
    // Aliases are numbered by the order of their definitions, which is known only now.
    let mut aliases = printer.finish_aliases();
    if aliases.is_empty() {
        return printer.out;
    }
    aliases.sort();
    let mut printer = Printer::new(options, aliases);
    printer.aliases_header();
    printer.module(module);
    printer.out
}

/// Prints an attribute.
pub fn print_attribute(attr: &Attr) -> String {
    let options = PrintOptions::default();
    let mut printer = Printer::new(&options, LocAliases::inline());
    printer.attr(attr);
    printer.out
}
