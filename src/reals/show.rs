//! Terms as text, for messages and for tests.

use std::fmt::Write;

use ngc_ir::structure::{Index, Test};
use rug::Rational;

use crate::store::Store;
use crate::term::{Function, Map, Node, Number, Use};

/// Terms nested deeper are cut off.
const DEEPEST: usize = 24;

impl Store {
    /// A term, with places as indices: `x0[i0, i1]`, `sum(j < 4) x0[i0, j]`.
    pub fn show(&self, of: &Use) -> String {
        self.show_named(of, &|leaf| format!("x{leaf}"))
    }

    /// A term, its leaves called by these names.
    pub fn show_named(&self, of: &Use, name: &dyn Fn(u32) -> String) -> String {
        let mut text = String::new();
        self.write(&mut text, of, name, 0);
        text
    }

    fn write(&self, out: &mut String, of: &Use, name: &dyn Fn(u32) -> String, depth: usize) {
        if depth > DEEPEST {
            out.push('…');
            return;
        }
        let part = |out: &mut String, part: &Use| {
            // Places of a part are shown as the user would read them; where that fails, as they are.
            let outer: Vec<_> = self.sizes(of.id).iter().chain(self.node(of.id).bound()).cloned().collect();
            let behind = (of.map.len()..outer.len()).map(crate::term::at);
            let map: Map = of.map.iter().cloned().chain(behind).collect();
            let placed = self.compose(part, &map, &outer).unwrap_or_else(|| part.clone());
            self.write(out, &placed, name, depth + 1);
        };
        let list = |out: &mut String, parts: &[Use], between: &str| {
            for (n, x) in parts.iter().enumerate() {
                out.push_str(if n > 0 { between } else { "" });
                part(out, x);
            }
        };
        match self.node(of.id) {
            Node::Number(Number::Finite(x)) => drop(write!(out, "{x}")),
            Node::Number(number) => out.push_str(match number {
                Number::Infinite { negative: true } => "-inf",
                Number::Infinite { negative: false } => "inf",
                Number::Pi => "pi",
                Number::E => "e",
                Number::Nan | Number::Finite(_) => "nan",
            }),
            Node::Size(size) => drop(write!(out, "{size}")),
            Node::Place => out.push_str(&of.map.first().map_or(String::new(), Index::to_string)),
            Node::Leaf(leaf) => drop(write!(out, "{}{}", name(*leaf), places(&of.map))),
            Node::Linear(constant, terms) => {
                out.push('(');
                for (n, (factor, term)) in terms.iter().enumerate() {
                    out.push_str(sign(n == 0, factor));
                    let factor = factor.clone().abs();
                    if factor != 1 {
                        let _ = write!(out, "{factor} ");
                    }
                    part(out, term);
                }
                if !constant.is_zero() {
                    let _ = write!(out, "{}{}", sign(terms.is_empty(), constant), constant.clone().abs());
                }
                out.push(')');
            }
            Node::Product(factors) => {
                for (n, (base, exponent)) in factors.iter().enumerate() {
                    out.push_str(if n > 0 { " " } else { "" });
                    // A reduction reaches as far as a product, and a product may stand in another one as it is.
                    let whole = matches!(self.node(base.id), Node::Reduce(..) | Node::Product(_));
                    let brackets = whole && (factors.len() > 1 || *exponent != 1);
                    out.push_str(if brackets { "(" } else { "" });
                    part(out, base);
                    out.push_str(if brackets { ")" } else { "" });
                    if *exponent != 1 {
                        let _ = write!(out, "^({exponent})");
                    }
                }
            }
            Node::Max(parts) => {
                out.push_str("max(");
                list(out, parts, ", ");
                out.push(')');
            }
            Node::Apply(function, parts) => {
                let (head, between) = match function {
                    Function::Prim(prim) => (prim.name().to_string(), ", ".to_string()),
                    Function::Choose => ("where".into(), ", ".into()),
                    Function::Not => ("not".into(), ", ".into()),
                    Function::Compare(cmp) => (String::new(), format!(" {} ", cmp.symbol())),
                    Function::Logical(logical) => (String::new(), format!(" {logical:?} ").to_lowercase()),
                    Function::Classify(_) | Function::Convert(..) => (format!("{function:?}"), ", ".into()),
                };
                out.push_str(&head);
                out.push('(');
                list(out, parts, &between);
                out.push(')');
            }
            Node::Reduce(kind, over, body) => {
                let _ = write!(out, "{}[", format!("{kind:?}").to_lowercase());
                for (n, size) in over.iter().enumerate() {
                    let _ = write!(out, "{}i{} < {size}", if n > 0 { ", " } else { "" }, of.map.len() + n);
                }
                out.push_str("] ");
                part(out, body);
            }
            Node::Holds(tests) => out.push_str(&shown(tests)),
            Node::Where(tests, yes, no) => {
                let _ = write!(out, "where({}, ", shown(tests));
                part(out, yes);
                out.push_str(", ");
                part(out, no);
                out.push(')');
            }
        }
    }
}

/// What stands before a summand.
fn sign(first: bool, factor: &Rational) -> &'static str {
    match (first, *factor < 0) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    }
}

fn places(map: &Map) -> String {
    let all: Vec<String> = map.iter().map(Index::to_string).collect();
    if all.is_empty() { String::new() } else { format!("[{}]", all.join(", ")) }
}

fn shown(tests: &[Test]) -> String {
    let all: Vec<String> = tests
        .iter()
        .map(|test| match test {
            Test::AtLeastZero(index) => format!("{index} >= 0"),
            Test::Zero(index) => format!("{index} == 0"),
        })
        .collect();
    all.join(" and ")
}
