//! Drawings in DOT, the language of Graphviz (<https://graphviz.org/doc/info/lang.html>).

use std::fmt::Write;

/// A directed graph, written node by node.
pub struct Drawing {
    out: String,
    depth: usize,
}

impl Drawing {
    /// An empty graph; `direction` is that of its edges: `TB` downwards, `BT` upwards.
    pub fn new(name: &str, direction: &str) -> Drawing {
        let out = format!(
            "digraph {} {{\n  rankdir = {direction};\n  node [shape = box, fontname = monospace];\n",
            quoted(name)
        );
        Drawing { out, depth: 1 }
    }

    fn line(&mut self, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.depth));
    }

    /// Begins a frame around what follows, up to [`end`](Drawing::end).
    pub fn begin(&mut self, id: &str, label: &str) {
        self.line(&format!("subgraph cluster_{id} {{"));
        self.depth += 1;
        self.line(&format!("label = {};", word(label)));
    }

    /// Ends a frame.
    pub fn end(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// A node, with attributes such as `shape = ellipse`.
    pub fn node(&mut self, id: &str, label: &str, attributes: &[(&str, &str)]) {
        let mut text = format!("{id} [label = {}", quoted(label));
        for (name, value) in attributes {
            let _ = write!(text, ", {name} = {}", word(value));
        }
        self.line(&(text + "];"));
    }

    /// Adds an attribute to a node that is there.
    pub fn mark(&mut self, id: &str, name: &str, value: &str) {
        self.line(&format!("{id} [{name} = {}];", word(value)));
    }

    /// An edge; without a label if that is empty.
    pub fn edge(&mut self, from: &str, to: &str, label: &str) {
        let label = if label.is_empty() { String::new() } else { format!(" [label = {}]", word(label)) };
        self.line(&format!("{from} -> {to}{label};"));
    }

    /// The text.
    pub fn finish(mut self) -> String {
        self.out.push_str("}\n");
        self.out
    }
}

/// A word as it is, anything else in quotes.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let number = text.chars().all(|c| c.is_ascii_digit());
    if !text.is_empty()
        && text.chars().all(plain)
        && (number || !text.starts_with(|c: char| c.is_ascii_digit()))
    {
        return text.into();
    }
    quoted(text)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
