//! An assignment for others: for PyTorch, JSON and a Python file that applies it to an exported program; and a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::report::{Assigned, Row};
use crate::precision::storage::Storage;

/// What applies an assignment to an exported program, in Python; `CONFIG` stands before it.
const APPLY: &str = include_str!("apply.py");

impl Assigned {
    /// `formats` from the name of each op of the exported graph to its format, as `--amp-assignment` reads it; `sums` to how an op sums,
    /// where that is not one term after another; the bound of what was written; and names of modules that read their parameters in a wider format than the lowest, in the form of transformers'
    /// `_keep_in_fp32_modules`.
    pub fn json(&self) -> Json {
        let figures = |of: &Vec<f64>| -> Vec<Json> {
            of.iter().map(|e| if e.is_finite() { json!(e) } else { Json::Null }).collect()
        };
        json!({
            "function": self.function,
            "formats": self.formats().into_iter().map(|(name, f)| (name.to_string(), json!(f.name()))).collect::<serde_json::Map<_, _>>(),
            "sums": self.sums().into_iter().map(|(name, how)| (name.to_string(), json!(how))).collect::<serde_json::Map<_, _>>(),
            "keep_in_fp32_modules": self.kept(),
            "target": self.target,
            "error_bound": figures(&self.bound),
            "estimated_error": self.estimate.as_ref().map(figures),
            "given": self.given,
            "bytes": self.bytes(),
        })
    }

    /// A Python file with the assignment, and a function `apply` that inserts the casts.
    pub fn python(&self) -> String {
        let text = serde_json::to_string_pretty(&self.json()).unwrap_or_default();
        format!("CONFIG = r\"\"\"\n{text}\n\"\"\"\n\n{APPLY}")
    }

    /// A picture for Graphviz: ops in their formats, and the edges at which these change, with their gap in bits; red where the two
    /// ops have no format in common.
    pub fn dot(&self) -> String {
        let colors = ["#cfe8cf", "#f6e3b4", "#f3c6c0", "#dcc8ea"];
        let color = |row: &Row| colors[usize::from(self.chain.level(row.format).unwrap_or(0)) % colors.len()];
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text =
            format!("digraph \"{}\" {{\n  node [shape=box, style=filled];\n", escaped(&self.function));
        for (n, row) in self.rows.iter().enumerate() {
            let own = row.loc.name_in().map(|own| format!("\\n{}", escaped(own))).unwrap_or_default();
            let label = format!("{}{own}\\n{}", row.name, row.format);
            let _ = writeln!(text, "  n{n} [label=\"{label}\", fillcolor=\"{}\"];", color(row));
        }
        for (n, [from, to]) in self.edges.iter().enumerate() {
            let border = self.borders.iter().find(|border| border.edge == n);
            let marks = border.map(|border| {
                let color = if border.apart { ", color=red, fontcolor=red" } else { "" };
                format!(" [label=\"{} bits\", penwidth=2{color}]", border.gap)
            });
            let _ = writeln!(text, "  n{from} -> n{to}{};", marks.unwrap_or_default());
        }
        text.push_str("}\n");
        text
    }

    /// By name of the location: the widest format of the ops there.
    fn formats(&self) -> BTreeMap<&str, Storage> {
        let mut formats: BTreeMap<&str, Storage> = BTreeMap::new();
        for row in &self.rows {
            let Some(name) = row.loc.name_in() else { continue };
            let known = formats.entry(name).or_insert(row.format);
            if known.precision() < row.format.precision() {
                *known = row.format;
            }
        }
        formats
    }

    /// By name of the location: how sums are summed there.
    fn sums(&self) -> BTreeMap<&str, String> {
        let told = |row: &'_ Row| row.accumulation.as_ref().map(|(how, _)| how.to_string());
        self.rows.iter().filter_map(|row| Some((row.loc.name_in()?, told(row)?))).collect()
    }

    /// The last part, numbers aside, of the path of each module of which an op reads parameters in a wider format than the
    /// lowest.
    fn kept(&self) -> BTreeSet<&str> {
        let lowest = self.chain.format(0);
        let wide = self.rows.iter().filter(|row| row.parameters > 0.0 && row.format.width() > lowest.width());
        let module = |name: &'_ str| name.rsplit_once('/').map(|(module, _)| module.to_string());
        let modules: BTreeSet<String> = wide.filter_map(|row| module(row.loc.name_in()?)).collect();
        let all = self.rows.iter().filter_map(|row| row.loc.name_in()?.rsplit_once('/'));
        let last = |path| {
            let parts = str::rsplit(path, '.');
            parts.into_iter().find(|part| !part.is_empty() && !part.bytes().all(|b| b.is_ascii_digit()))
        };
        all.filter(|(path, _)| modules.contains(*path)).filter_map(|(path, _)| last(path)).collect()
    }
}
