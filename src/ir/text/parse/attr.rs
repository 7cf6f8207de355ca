//! Attributes.

use std::sync::Arc;

use ngc_numerics::DType;
use pest::iterators::Pair;

use super::Read;
use super::grammar::{self, Rule};
use super::number::Number;
use super::reader::Reader;
use super::types::opaque;
use crate::attributes::{Attr, AttrDict};
use crate::ident::Ident;
use crate::types::{Type, TypeKind};

impl<'a> Reader<'a> {
    /// An `attribute`.
    pub fn attribute(&mut self, pair: Pair<'a, Rule>) -> Read<Attr> {
        let mut inner = pair.into_inner().peekable();
        let Some(first) = inner.next() else { return Ok(Attr::Array(Arc::new([]))) };
        let ty = inner.peek().filter(|_| first.as_rule() != Rule::attribute).map(|pair| pair.as_str());
        let text = first.as_str();
        Ok(match first.as_rule() {
            Rule::attribute => {
                let mut items = vec![self.attribute(first)?];
                for item in inner {
                    items.push(self.attribute(item)?);
                }
                Attr::Array(items.into())
            }
            Rule::string => Attr::Str(self.string(text)?.into()),
            Rule::number => {
                let default = if text.contains('.') { "f64" } else { "i64" };
                let ty = match ty {
                    Some(ty) => self.value_type(ty)?,
                    None => Type::scalar(DType::from_name(default).unwrap_or(DType::Index)),
                };
                self.typed_number(text, ty)?
            }
            Rule::dense_literal => {
                let ty = self.value_type(ty.unwrap_or_default())?;
                self.dense(first, ty)?
            }
            Rule::resource_literal => {
                let ty = self.value_type(ty.unwrap_or_default())?;
                self.resource(first, ty)?
            }
            Rule::symbol_ref => Attr::Symbol(self.symbol(text)?.into()),
            Rule::dictionary => Attr::Dict(self.dictionary(first)?),
            Rule::hash_attribute => self.hash_attribute(text)?,
            Rule::boolean => Attr::Bool(text == "true"),
            Rule::unit => Attr::Unit,
            Rule::dense_array => self.dense_array(first)?,
            Rule::location => Attr::Loc(self.location(first)?),
            _ => Attr::Type(self.any_type(first)?),
        })
    }

    /// A number literal of a scalar type.
    pub fn typed_number(&mut self, text: &'a str, ty: Type) -> Read<Attr> {
        let TypeKind::Scalar(elem) = *ty else {
            return Err(self.error_at(self.offset_of(text), format!("a number cannot have type {ty}")));
        };
        Ok(match self.number(text, elem)? {
            Number::Int(value) if elem == DType::BOOL => Attr::Bool(value != 0),
            Number::Int(value) => Attr::Int(value, ty),
            Number::Float(value) => Attr::Float(value, ty),
        })
    }

    /// An alias, or an attribute of an unregistered dialect.
    pub fn hash_attribute(&mut self, text: &'a str) -> Read<Attr> {
        let at = self.offset_of(text);
        let name = &text[1..];
        match name.find(['.', '<']) {
            None => self.alias(text, at),
            Some(end) => {
                self.check_dialect(&name[..end], at)?;
                Ok(Attr::Opaque(opaque('#', name).into()))
            }
        }
    }

    /// A `dictionary`.
    pub fn dictionary(&mut self, pair: Pair<'a, Rule>) -> Read<AttrDict> {
        let text = pair.as_str();
        if let Some(known) = self.dicts.get(text) {
            return Ok(known.clone());
        }
        let mut entries: Vec<(Ident, Attr)> = Vec::new();
        for entry in pair.into_inner() {
            let at = self.offset(&entry);
            let mut inner = entry.into_inner();
            let name = grammar::next(&mut inner)?;
            let name = match name.as_rule() {
                Rule::string => Ident::new(&self.string(name.as_str())?),
                _ => Ident::new(name.as_str()),
            };
            if name.as_str().is_empty() {
                return Err(self.error_at(at, "an attribute has an empty name"));
            }
            let value = inner.next().map_or(Ok(Attr::Unit), |value| self.attribute(value))?;
            entries.push((name, value));
        }
        let count = entries.len();
        let dict = AttrDict::new(entries);
        if dict.len() != count {
            return Err(
                self.error_at(self.offset_of(text), "two attributes of the dictionary have the same name")
            );
        }
        // Large ones hardly repeat.
        if text.len() <= 256 {
            self.dicts.insert(text, dict.clone());
        }
        Ok(dict)
    }
}
