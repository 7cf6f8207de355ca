//! The formulas of testdata/formulas.tsv, imported.

use ngc_formats::fpcore;
use ngc_ir::{Attr, Context, Module, Op, Sources};
use ngc_numerics::Format;

const TABLE: &str = include_str!("../../../testdata/formulas.tsv");

/// A formula with its precondition.
pub struct Formula {
    pub name: &'static str,
    pub suite: &'static str,
    pub text: &'static str,
    pub pre: &'static str,
    precision: &'static str,
    /// Herbie's mean bits of error before and after, on points of its own.
    pub herbie: [&'static str; 2],
}

impl Formula {
    /// Binary digits of its format.
    pub fn digits(&self) -> f64 {
        if self.precision == "binary32" { 24.0 } else { 53.0 }
    }
}

/// An argument: its name, its format, its range.
pub struct Argument {
    pub name: String,
    pub format: Format,
    pub lo: f64,
    pub hi: f64,
}

pub fn formulas() -> Vec<Formula> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let &[name, suite, precision, pre, text, start, end, _] = &fields[..] else {
            panic!("a row has eight fields: {row}")
        };
        Formula { name, suite, text, pre, precision, herbie: [start, end] }
    })
    .collect()
}

impl Formula {
    /// The formula and its precondition, `@formula` and `@holds`; the reason if ngc does not read it.
    pub fn import(&self, context: &Context) -> Result<Module, String> {
        let rest = self.text.strip_prefix("(FPCore").expect("a formula is an FPCore").trim_start();
        let (arguments, body) = rest.split_at(rest.find(')').expect("a list of arguments") + 1);
        let properties = format!(":precision {} :pre {}", self.precision, self.pre);
        let text = format!(
            "(FPCore formula {arguments} {properties} {body}\n(FPCore holds {arguments} :precision {} {})",
            self.precision, self.pre
        );
        let mut sources = Sources::new();
        let file = sources.add(self.name, text, 1);
        let source = sources.file(file).expect("it was added");
        match fpcore::import(context, source, file) {
            Ok(imported) => Ok(imported.module),
            Err(e) if e.unsupported => Err(e.diagnostic.message),
            Err(e) => panic!("{}: {}", self.name, e.diagnostic.message),
        }
    }
}

/// A function of the module.
pub fn function(module: &Module, name: &str) -> Op {
    module.symbol(name).unwrap_or_else(|| panic!("@{name} is there"))
}

/// The arguments of `@formula`.
pub fn arguments(module: &Module) -> Vec<Argument> {
    let op = function(module, "formula");
    let body = module.body.body(op).expect("a function has a body");
    let values = body.arguments(body.entry().expect("a body has a block"));
    let dicts = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    values
        .iter()
        .zip(dicts)
        .map(|(&value, dict)| {
            let Attr::Dict(dict) = dict else { panic!("argument attributes are a dictionary") };
            let format = body.ty(value).format().expect("an argument is a number");
            let range = dict.get("ng.range").and_then(Attr::as_array);
            let end = |n: usize| range.and_then(|r| r[n].as_float());
            Argument {
                name: dict.get("ng.name").and_then(Attr::as_str).unwrap_or_default().to_string(),
                format,
                lo: end(0).unwrap_or(-format.max_finite()),
                hi: end(1).unwrap_or(format.max_finite()),
            }
        })
        .collect()
}
