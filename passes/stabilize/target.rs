//! The machine that a function is to run on: which formats and ops it has, and what they cost there.
//!
//! A target file is TOML:
//!
//! ```toml
//! name = "core"
//! formats = ["f64", "f32"] # all, if it is not said
//! others = 4.0             # cycles of a simple operation of ops that are not named; without it there are no others
//!
//! [cycles]                 # for an element of the result, of contractions for a product that is added
//! add = 0.25
//! exp = 4.0
//! ```
//!
//! A form that needs an op or a format which the given ops do not have, and the machine neither, is not used. Between forms
//! that are equally good cycles decide.

use std::collections::HashMap;
use std::ops::Range;

use ngc_ir::nearest::nearest;
use ngc_ir::{Context, Diagnostics, Loc};
use ngc_numerics::Format;
use rustc_hash::FxBuildHasher;
use toml::de::{DeTable, DeValue};

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// What it is called.
    pub name: String,
    /// The formats that it computes in; nothing if it has all.
    formats: Option<Vec<Format>>,
    /// Cycles of an element, by the op's full name.
    cycles: HashMap<&'static str, f64, FxBuildHasher>,
    /// Cycles of a simple operation of an op that is not named; nothing if there is no other op.
    others: Option<f64>,
}

/// A value and where it stands.
type Spot<'t> = toml::Spanned<DeValue<'t>>;

impl Target {
    /// Reads the text of a target file, which is number `file` in the table of sources.
    ///
    /// # Errors
    /// Where it is no TOML, keys that there are not, formats and ops that nobody knows, prices that are no positive
    /// numbers; all of them, located.
    pub fn parse(context: &Context, text: &str, file: u16) -> Result<Target, Diagnostics> {
        let mut reader = Reader { file, errors: Diagnostics::default() };
        let found = match DeTable::parse(text) {
            Ok(table) => reader.target(context, table.get_ref()),
            Err(e) => {
                reader.error(e.span().unwrap_or(0..0), e.message().to_string());
                None
            }
        };
        // The reader goes by the names of keys, people by lines.
        reader.errors.0.sort_by_key(|d| match d.loc {
            Loc::Source { offset, .. } => offset,
            _ => 0,
        });
        match found.filter(|_| !reader.errors.has_errors()) {
            Some(target) => Ok(target),
            None => Err(reader.errors),
        }
    }

    /// Whether the machine has an op, by its full name.
    pub fn has(&self, op: &str) -> bool {
        self.others.is_some() || self.cycles.contains_key(op)
    }

    /// Whether the machine computes in a format.
    pub fn computes(&self, format: Format) -> bool {
        self.formats.as_ref().is_none_or(|all| all.contains(&format))
    }

    /// Cycles of an element, by the op's full name; as many for an op that only the function has as for one that is not named.
    pub fn cycles(&self, op: &str) -> f64 {
        self.cycles.get(op).copied().or(self.others).unwrap_or(1.0)
    }
}

struct Reader {
    file: u16,
    errors: Diagnostics,
}

impl Reader {
    fn error(&mut self, at: Range<usize>, message: String) {
        self.errors.error(Loc::Source { file: self.file, offset: at.start as u32 }, message);
    }

    fn target(&mut self, context: &Context, table: &DeTable<'_>) -> Option<Target> {
        let (mut name, mut formats, mut others) = (None, None, None);
        let mut cycles = HashMap::default();
        for (key, value) in table {
            match &**key.get_ref() {
                "name" => name = self.text(value),
                "formats" => formats = Some(self.formats(value)),
                "others" => others = self.price(value),
                "cycles" => self.cycles(context, value, &mut cycles),
                other => {
                    let message = format!("unknown key '{other}'; there are: name, formats, others, cycles");
                    self.error(key.span(), message);
                }
            }
        }
        if name.is_none() && !self.errors.has_errors() {
            self.error(0..0, "the target has no name: add a line such as name = \"core\"".into());
        }
        Some(Target { name: name?, formats, cycles, others })
    }

    fn text(&mut self, value: &Spot<'_>) -> Option<String> {
        let found = value.get_ref().as_str().map(str::to_string);
        if found.is_none() {
            self.error(value.span(), format!("expected a string, found {}", value.get_ref().type_str()));
        }
        found
    }

    fn price(&mut self, value: &Spot<'_>) -> Option<f64> {
        let text = match value.get_ref() {
            DeValue::Integer(n) if n.radix() == 10 => Some(n.as_str()),
            DeValue::Float(x) => Some(x.as_str()),
            _ => None,
        };
        let number = text.and_then(|t| t.parse::<f64>().ok()).filter(|x| x.is_finite() && *x >= 0.0);
        if number.is_none() {
            self.error(value.span(), "expected cycles: a number that is not negative, such as 0.25".into());
        }
        number
    }

    fn formats(&mut self, value: &Spot<'_>) -> Vec<Format> {
        let Some(list) = value.get_ref().as_array() else {
            self.error(value.span(), "expected a list of formats, such as [\"f64\", \"f32\"]".into());
            return Vec::new();
        };
        let mut out = Vec::new();
        for item in list {
            let Some(name) = self.text(item) else { continue };
            match Format::from_name(&name) {
                Some(format) => out.push(format),
                None => {
                    let near = nearest(&name, Format::ALL.iter().map(|f| f.name()));
                    let hint = near.map_or(String::new(), |n| format!("; did you mean '{n}'?"));
                    self.error(item.span(), format!("unknown format '{name}'{hint}"));
                }
            }
        }
        out
    }

    fn cycles(
        &mut self,
        context: &Context,
        value: &Spot<'_>,
        out: &mut HashMap<&'static str, f64, FxBuildHasher>,
    ) {
        let Some(table) = value.get_ref().as_table() else {
            self.error(value.span(), "expected a table of ops and their cycles, such as [cycles]".into());
            return;
        };
        for (key, value) in table {
            let name = format!("ng.{}", key.get_ref());
            let price = self.price(value);
            match (context.op(&name), price) {
                (Some(def), Some(price)) => drop(out.insert(def.name, price)),
                (None, _) => {
                    let known = ngc_dialects::FAMILIES.iter().flat_map(|(_, ops)| ops.iter());
                    let near = nearest(&name, known.map(|op| op.name));
                    let hint = near.and_then(|n| n.strip_prefix("ng."));
                    let hint = hint.map_or(String::new(), |n| format!("; did you mean '{n}'?"));
                    self.error(key.span(), format!("unknown op '{}'{hint}", key.get_ref()));
                }
                _ => {}
            }
        }
    }
}
