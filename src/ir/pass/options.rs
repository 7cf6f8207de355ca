//! Options of passes: declared once, they parse, check, print and document themselves.

use std::fmt;

/// A declared option of a pass.
pub struct OptionDef {
    /// Name, as in `max-iterations=3`.
    pub name: &'static str,
    /// Type and default.
    pub kind: OptionKind,
    /// One line: what it does.
    pub doc: &'static str,
}

/// Type and default of an option.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OptionKind {
    /// `true` or `false`; the name alone means `true`.
    Bool(bool),
    /// An integer, not less than `min`.
    Int {
        /// Value when not given.
        default: i64,
        /// Least value allowed.
        min: i64,
    },
    /// A finite number, not less than `min`.
    Float {
        /// Value when not given.
        default: f64,
        /// Least value allowed.
        min: f64,
    },
    /// Any text.
    Str(&'static str),
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
pub enum OptionValue {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// Text, or one of the words of a choice.
    Str(String),
}

impl OptionKind {
    /// The value when not given.
    pub fn default_value(self) -> OptionValue {
        match self {
            OptionKind::Bool(v) => OptionValue::Bool(v),
            OptionKind::Int { default, .. } => OptionValue::Int(default),
            OptionKind::Float { default, .. } => OptionValue::Float(default),
            OptionKind::Str(v) => OptionValue::Str(v.into()),
            OptionKind::Choice(words) => OptionValue::Str(words.first().copied().unwrap_or("").into()),
        }
    }

    /// What values are taken, in words.
    pub fn describe(self) -> String {
        match self {
            OptionKind::Bool(_) => "true or false".into(),
            OptionKind::Int { min: i64::MIN, .. } => "an integer".into(),
            OptionKind::Int { min, .. } => format!("an integer, at least {min}"),
            OptionKind::Float { min: f64::NEG_INFINITY, .. } => "a finite number".into(),
            OptionKind::Float { min, .. } => format!("a finite number, at least {min}"),
            OptionKind::Str(_) => "text".into(),
            OptionKind::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }

    fn parse(self, text: &str) -> Option<OptionValue> {
        match self {
            OptionKind::Bool(_) => text.parse().ok().map(OptionValue::Bool),
            OptionKind::Int { min, .. } => text.parse().ok().filter(|v| *v >= min).map(OptionValue::Int),
            OptionKind::Float { min, .. } => {
                text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= min).map(OptionValue::Float)
            }
            OptionKind::Str(_) => Some(OptionValue::Str(text.into())),
            OptionKind::Choice(words) => words.contains(&text).then(|| OptionValue::Str(text.into())),
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Bool(v) => write!(f, "{v}"),
            OptionValue::Int(v) => write!(f, "{v}"),
            OptionValue::Float(v) => write!(f, "{v:?}"),
            OptionValue::Str(v) if is_bare(v) => f.write_str(v),
            OptionValue::Str(v) => write!(f, "\"{}\"", v.replace('\\', "\\\\").replace('"', "\\\"")),
        }
    }
}

/// Whether text may stand in a pipeline without quotes.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '"' | '\\'))
}

/// Values of the options of a pass.
#[derive(Clone)]
pub struct Options {
    defs: &'static [OptionDef],
    values: Vec<Option<OptionValue>>,
}

impl Options {
    /// All options at their defaults.
    pub fn new(defs: &'static [OptionDef]) -> Options {
        Options { defs, values: vec![None; defs.len()] }
    }

    /// Sets one option from text; no text is the flag form. The error says what is expected.
    pub fn set(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        let Some(i) = self.defs.iter().position(|d| d.name == name) else {
            let known: Vec<&str> = self.defs.iter().map(|d| d.name).collect();
            return Err(if known.is_empty() {
                format!("no option '{name}': it takes no options")
            } else {
                format!("no option '{name}': its options are {}", known.join(", "))
            });
        };
        let kind = self.defs[i].kind;
        let value = match (text, kind) {
            (None, OptionKind::Bool(_)) => OptionValue::Bool(true),
            (None, _) => return Err(format!("option '{name}' needs a value: {}", kind.describe())),
            (Some(text), _) => kind
                .parse(text)
                .ok_or_else(|| format!("option '{name}' must be {}, but is '{text}'", kind.describe()))?,
        };
        if self.values[i].replace(value).is_some() {
            return Err(format!("option '{name}' is given twice"));
        }
        Ok(())
    }

    /// Takes over the options that `other`, of the same pass, sets.
    pub fn merge(&mut self, other: &Options) {
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
    }

    /// The value of a declared option. Panics if the pass has not declared it.
    pub fn get(&self, name: &str) -> OptionValue {
        let i = self.defs.iter().position(|d| d.name == name);
        let i = i.unwrap_or_else(|| panic!("option '{name}' is not declared"));
        self.values[i].clone().unwrap_or_else(|| self.defs[i].kind.default_value())
    }

    /// A truth value. Panics unless so declared.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            OptionValue::Bool(v) => v,
            other => panic!("option '{name}' is declared as {other:?}"),
        }
    }

    /// An integer. Panics unless so declared.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            OptionValue::Int(v) => v,
            other => panic!("option '{name}' is declared as {other:?}"),
        }
    }

    /// A number. Panics unless so declared.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            OptionValue::Float(v) => v,
            other => panic!("option '{name}' is declared as {other:?}"),
        }
    }

    /// Text or a choice. Panics unless so declared.
    pub fn string(&self, name: &str) -> String {
        match self.get(name) {
            OptionValue::Str(v) => v,
            other => panic!("option '{name}' is declared as {other:?}"),
        }
    }
}

/// The options that differ from their defaults: `{a=1 b=x}`, or nothing.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.defs.iter().zip(&self.values);
        let set: Vec<String> = set
            .filter_map(|(d, v)| v.as_ref().map(|v| (d, v)))
            .filter(|(d, v)| **v != d.kind.default_value())
            .map(|(d, v)| format!("{}={v}", d.name))
            .collect();
        if set.is_empty() { Ok(()) } else { write!(f, "{{{}}}", set.join(" ")) }
    }
}
