//! Attributes.

use std::fmt::Write;

use super::float::write_float;
use super::op::Printer;
use crate::attributes::{Attr, AttrDict};
use crate::ident::Ident;
use crate::types::{Type, TypeKind};

impl Printer<'_> {
    /// An attribute with its type.
    pub fn attr(&mut self, attr: &Attr) {
        self.attr_typed(attr, true);
    }

    /// An attribute; where `typed` is false, an `i64` or `f64` goes without its type, as in arrays.
    fn attr_typed(&mut self, attr: &Attr, typed: bool) {
        match attr {
            Attr::Unit => self.out.push_str("unit"),
            Attr::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Attr::Int(value, ty) => {
                self.integer(*value);
                if typed || *ty != Type::int(64) {
                    self.colon_type(*ty);
                }
            }
            Attr::Float(value, ty) => {
                let start = self.out.len();
                self.float(*value, *ty);
                // Bits without a type would be read as an integer. Upstream leaves the type out there, and reads its
                // own text wrongly.
                let bits = self.out[start..].starts_with("0x");
                if typed || bits || *ty != Type::float(ngc_numerics::Format::F64) {
                    self.colon_type(*ty);
                }
            }
            Attr::Str(text) => self.string(text),
            Attr::Type(ty) => self.ty(*ty),
            Attr::Array(items) => {
                self.out.push('[');
                self.list(items.iter(), |p, item| p.attr_typed(item, false));
                self.out.push(']');
            }
            Attr::Dict(dict) => self.dict(dict, |_| true),
            Attr::Symbol(path) => {
                self.out.push('@');
                self.out.push_str(path);
            }
            Attr::Dense(dense) => {
                self.dense(dense);
                self.colon_type(dense.ty);
            }
            Attr::DenseArray(dense) => self.dense_array(dense),
            Attr::Resource(key, ty) => {
                self.resource(*key);
                self.colon_type(*ty);
            }
            Attr::Loc(loc) => self.loc_attribute(loc),
            Attr::Opaque(text) => self.out.push_str(text),
        }
    }

    /// The value of `ng.constant`, whose type stands behind it.
    pub fn constant(&mut self, attr: &Attr) {
        match attr {
            Attr::Int(value, _) => self.integer(*value),
            Attr::Float(value, ty) => self.float(*value, *ty),
            Attr::Dense(dense) => self.dense(dense),
            Attr::Resource(key, _) => self.resource(*key),
            _ => self.attr(attr),
        }
    }

    fn colon_type(&mut self, ty: Type) {
        self.out.push_str(" : ");
        self.ty(ty);
    }

    fn float(&mut self, value: f64, ty: Type) {
        write_float(&mut self.out, value, ty.format().unwrap_or(ngc_numerics::Format::F64));
    }

    fn resource(&mut self, key: Ident) {
        if self.resources_seen.insert(key) {
            self.resources.push(key);
        }
        self.out.push_str("dense_resource<");
        self.keyword(key.as_str());
        self.out.push('>');
    }

    /// `{a = 1 : i64, b}` of the entries whose names are admitted, sorted by name.
    pub fn dict(&mut self, dict: &AttrDict, admit: impl Fn(&str) -> bool) {
        self.out.push('{');
        let entries = dict.iter().filter(|(name, _)| admit(name.as_str()));
        self.list(entries, |p, (name, value)| {
            p.keyword(name.as_str());
            if *value != Attr::Unit {
                p.out.push_str(" = ");
                p.attr(value);
            }
        });
        self.out.push('}');
    }

    /// Items separated by `, `.
    pub fn list<T>(&mut self, items: impl Iterator<Item = T>, mut print: impl FnMut(&mut Self, T)) {
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            print(self, item);
        }
    }

    /// A type. Texts are kept, since few types make up a module.
    pub fn ty(&mut self, ty: Type) {
        if let TypeKind::Scalar(elem) = *ty {
            self.out.push_str(elem.name());
            return;
        }
        let text = self.types.entry(ty).or_insert_with(|| ty.to_string().into());
        self.out.push_str(text);
    }

    /// A name, in quotes if it is no bare identifier.
    pub fn keyword(&mut self, name: &str) {
        let bare = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
        if bare { self.out.push_str(name) } else { self.string(name) }
    }

    /// A string literal.
    pub fn string(&mut self, text: &str) {
        quote(&mut self.out, text);
    }

    /// A decimal integer.
    pub fn integer(&mut self, value: i64) {
        if value < 0 {
            self.out.push('-');
        }
        self.number(value.unsigned_abs());
    }

    /// A decimal number.
    pub fn number(&mut self, mut value: u64) {
        let mut digits = [0u8; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.out.extend(digits[start..].iter().map(|&d| char::from(d)));
    }
}

/// Appends a string literal: printable ASCII as it is, other bytes as two hexadecimal digits.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'"' => out.push_str("\\22"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:02X}");
            }
        }
    }
    out.push('"');
}

/// A component of a symbol reference without its `@`, quoted if it needs it.
pub(in crate::text) fn symbol_component(name: &str) -> String {
    let bare = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
    if bare {
        return name.to_string();
    }
    let mut out = String::new();
    quote(&mut out, name);
    out
}
