//! Both sides of a rule as a drawing in DOT, the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use ngc_ir::text::Drawing;

use crate::rewrite::rule::{Pattern, Rule};

/// A digraph with a cluster a side. Variables that both sides use are drawn once a side; data flows upwards.
pub fn dot(rule: &Rule) -> String {
    let mut out = Drawing::new(&rule.name, "BT");
    for (name, pattern) in [("left", &rule.left), ("right", &rule.right)] {
        out.begin(name, name);
        let mut side = Side { name, out: &mut out, nodes: 0, variables: BTreeMap::new() };
        let root = side.node(pattern);
        out.mark(&root, "penwidth", "2");
        out.end();
    }
    out.finish()
}

struct Side<'a> {
    name: &'static str,
    out: &'a mut Drawing,
    nodes: usize,
    /// Nodes of variables: one each, however often it is used.
    variables: BTreeMap<String, String>,
}

impl Side<'_> {
    fn draw(&mut self, label: &str, shape: &str) -> String {
        let id = format!("{}{}", self.name, self.nodes);
        self.nodes += 1;
        let shape = if shape.is_empty() { vec![] } else { vec![("shape", shape)] };
        self.out.node(&id, label, &shape);
        id
    }

    fn leaf(&mut self, label: String, shape: &str) -> String {
        if let Some(known) = self.variables.get(&label) {
            return known.clone();
        }
        let id = self.draw(&label, shape);
        self.variables.insert(label, id.clone());
        id
    }

    fn node(&mut self, pattern: &Pattern) -> String {
        let op = match pattern {
            Pattern::Var(name, _) => return self.leaf(format!("?{name}"), "ellipse"),
            Pattern::Const(name, _) => return self.leaf(format!("?{name} : const"), "ellipse"),
            Pattern::Number(n, _) => return self.draw(&n.to_string(), "plaintext"),
            Pattern::Rational(..) => return self.draw("one fraction", "plaintext"),
            Pattern::Computed(e, _) => return self.draw(&format!("const({e})"), "plaintext"),
            Pattern::Rounded(_, term, _) => return self.draw(&format!("rounded({term})"), "plaintext"),
            Pattern::Op(op) => op,
        };
        let name = op.op.as_str();
        let mut label = name.strip_prefix("ng.").unwrap_or(name).to_string();
        for (name, value) in &op.attrs {
            let _ = write!(label, "\n{name} = {value}");
        }
        if let Some(bind) = op.bind {
            let _ = write!(label, "\n?{bind}");
        }
        let id = self.draw(&label, "");
        let ends: Vec<String> = op.args.iter().map(|arg| self.node(arg)).collect();
        for (n, end) in ends.iter().enumerate() {
            let order = if ends.len() > 1 { (n + 1).to_string() } else { String::new() };
            self.out.edge(end, &id, &order);
        }
        id
    }
}
