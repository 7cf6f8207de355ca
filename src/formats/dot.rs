//! Modules as drawings in DOT, the language of Graphviz: ops as boxes, values as arrows with their types, a frame around
//! each function. What analyses wrote to the ops stands in their boxes, and an unbounded error is red.

use std::fmt::Write;

use ngc_ir::text::{Drawing, print_attribute};
use ngc_ir::{Attr, AttrDict, Body, Module, Op, Type, Value};

/// Figures of analyses, and what they are called in a drawing.
const FIGURES: [(&str, &str); 7] = [
    ("ng.range", "range"),
    ("ng.error", "error"),
    ("ng.lipschitz", "L"),
    ("ng.delta", "delta"),
    ("ng.condition", "kappa"),
    ("ng.curvature", "curvature"),
    ("ng.amplification", "amplification"),
];

/// Attributes are cut off after this many characters.
const MAX_TEXT: usize = 40;

/// Draws all functions that have a body.
pub fn export(module: &Module) -> String {
    let name = module.attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("module");
    let mut out = Drawing::new(name, "TB");
    for (n, op) in module.functions().into_iter().enumerate() {
        if let Some(body) = module.body.body(op) {
            Function { n, body, attrs: &module.body.op(op).attrs, out: &mut out }.draw();
        }
    }
    out.finish()
}

struct Function<'a> {
    n: usize,
    body: &'a Body,
    attrs: &'a AttrDict,
    out: &'a mut Drawing,
}

impl Function<'_> {
    fn draw(&mut self) {
        let Some(entry) = self.body.entry() else { return };
        let symbol = self.attrs.get("sym_name").and_then(Attr::as_str).unwrap_or_default();
        self.out.begin(&format!("f{}", self.n), &format!("@{symbol}"));
        for (i, &value) in self.body.arguments(entry).iter().enumerate() {
            let own = self.attrs_of("arg_attrs", i);
            let named = own.get("ng.name").and_then(Attr::as_str).map_or(format!("arg{i}"), str::to_string);
            let mut label = named;
            figures(&mut label, &own);
            self.out.node(&self.id(value), &label, &[("shape", "ellipse")]);
        }
        for op in self.body.walk() {
            self.op(op);
        }
        self.out.end();
    }

    fn attrs_of(&self, name: &str, i: usize) -> AttrDict {
        match self.attrs.get(name).and_then(Attr::as_array).and_then(|all| all.get(i)) {
            Some(Attr::Dict(own)) => own.clone(),
            _ => AttrDict::EMPTY,
        }
    }

    /// The node that a value comes from.
    fn id(&self, value: Value) -> String {
        match self.body.defining_op(value) {
            Some(op) => self.op_id(op),
            None => format!("f{}_arg{}", self.n, value.index()),
        }
    }

    fn op_id(&self, op: Op) -> String {
        format!("f{}_op{}", self.n, op.index())
    }

    fn op(&mut self, op: Op) {
        let (name, operands) = (self.body.name(op), self.body.operands(op).to_vec());
        if name == "func.return" {
            for (i, &value) in operands.iter().enumerate() {
                let own = self.attrs_of("res_attrs", i);
                let named =
                    own.get("ng.name").and_then(Attr::as_str).map_or(format!("result{i}"), str::to_string);
                let id = format!("f{}_result{i}", self.n);
                self.out.node(&id, &named, &[("shape", "ellipse")]);
                self.out.edge(&self.id(value), &id, &type_text(self.body.ty(value)));
            }
            return;
        }
        let attrs = &self.body.op(op).attrs;
        let mut style = Vec::new();
        let mut label = match attrs.get("value") {
            Some(value) if name == "ng.constant" => {
                style.push(("shape", "plaintext"));
                constant(value)
            }
            _ => {
                let mut label = name.strip_prefix("ng.").unwrap_or(name).to_string();
                for (attribute, value) in attrs.iter().filter(|(n, _)| !n.as_str().contains('.')) {
                    let _ = write!(label, "\n{} = {}", attribute.as_str(), figure(value));
                }
                label
            }
        };
        // A constant is what it is.
        if name != "ng.constant" {
            figures(&mut label, attrs);
        }
        if attrs.get("ng.error").is_some_and(is_unbounded) {
            style.push(("color", "red"));
        }
        if let Some(origin) = self.body.op(op).loc.name_in() {
            style.push(("tooltip", origin));
        }
        self.out.node(&self.op_id(op), &label, &style);
        for (i, &value) in operands.iter().enumerate() {
            let ty = type_text(self.body.ty(value));
            let label = if operands.len() > 1 { format!("{}: {ty}", i + 1) } else { ty };
            self.out.edge(&self.id(value), &self.op_id(op), &label);
        }
    }
}

/// `4x8xf32`, without the word for a tensor.
fn type_text(ty: Type) -> String {
    let text = ty.to_string();
    text.strip_prefix("tensor<").and_then(|t| t.strip_suffix('>')).unwrap_or(&text).to_string()
}

/// A number, or the type of a tensor and where its elements lie.
fn constant(value: &Attr) -> String {
    match value {
        Attr::Resource(key, ty) => format!("{}\n{}", key.as_str(), type_text(*ty)),
        Attr::Dense(d) if !d.splat && d.bytes.len() > 8 => format!("dense\n{}", type_text(d.ty)),
        other => figure(other),
    }
}

fn figures(label: &mut String, attrs: &AttrDict) {
    for (name, shown) in FIGURES {
        if let Some(value) = attrs.get(name) {
            let _ = write!(label, "\n{shown} {}", figure(value));
        }
    }
}

/// An attribute in few characters; of a number four digits.
fn figure(value: &Attr) -> String {
    match value {
        Attr::Int(n, _) => n.to_string(),
        Attr::Float(x, _) if *x != 0.0 && !(1e-3..1e4).contains(&x.abs()) => format!("{x:.3e}"),
        Attr::Float(x, _) => format!("{}", (x * 1e4).round() / 1e4),
        Attr::Array(items) => format!("[{}]", items.iter().map(figure).collect::<Vec<_>>().join(", ")),
        other => short(&print_attribute(other)),
    }
}

fn is_unbounded(value: &Attr) -> bool {
    match value {
        Attr::Float(x, _) => !x.is_finite(),
        Attr::Array(items) => items.iter().any(is_unbounded),
        _ => false,
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_string(),
    }
}
