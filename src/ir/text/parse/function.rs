//! The heads of functions and modules in custom form.

use pest::iterators::Pair;

use super::Read;
use super::grammar::{self, Rule};
use super::region::BodyReader;
use crate::attributes::{Attr, AttrDict};
use crate::location::Loc;
use crate::types::Type;

/// What stands before the body of a function or module.
#[derive(Default)]
pub(super) struct Head<'a> {
    pub attrs: AttrDict,
    /// Name, type, location and offset of each argument.
    pub arguments: Vec<(Option<&'a str>, Type, Loc, usize)>,
}

impl<'r, 'a> BodyReader<'r, 'a> {
    pub fn module_head(&mut self, pair: Pair<'a, Rule>) -> Read<Head<'a>> {
        let mut own = Vec::new();
        let mut given = AttrDict::EMPTY;
        let at = self.reader.offset(&pair);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::module_keyword => {}
                Rule::symbol_name => own.push(("sym_name", self.symbol_attr(part.as_str())?)),
                _ => given = self.reader.dictionary(part)?,
            }
        }
        Ok(Head { attrs: self.merge(given, own, at)?, arguments: Vec::new() })
    }

    pub fn function_head(&mut self, pair: Pair<'a, Rule>) -> Read<Head<'a>> {
        let at = self.reader.offset(&pair);
        let mut own = Vec::new();
        let mut given = AttrDict::EMPTY;
        let mut arguments = Vec::new();
        let (mut argument_attrs, mut results, mut result_attrs) = (Vec::new(), Vec::new(), Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::func_keyword => {}
                Rule::visibility if part.as_str() == "public" => {}
                Rule::visibility => own.push(("sym_visibility", Attr::from(part.as_str()))),
                Rule::symbol_name => own.push(("sym_name", self.symbol_attr(part.as_str())?)),
                Rule::function_argument => {
                    let at = self.reader.offset(&part);
                    let (mut name, mut loc) = (None, self.reader.source(at));
                    let (mut ty, mut attrs) = (None, AttrDict::EMPTY);
                    for piece in part.into_inner() {
                        match piece.as_rule() {
                            Rule::value_id => name = Some(piece.as_str()),
                            Rule::dictionary => attrs = self.reader.dictionary(piece)?,
                            Rule::location => loc = self.reader.location(piece)?,
                            _ => ty = Some(self.reader.any_type(piece)?),
                        }
                    }
                    argument_attrs.push(attrs);
                    arguments.extend(ty.map(|ty| (name, ty, loc, at)));
                }
                Rule::function_results => {
                    for result in part.into_inner() {
                        if result.as_rule() != Rule::function_result {
                            results.push(self.reader.any_type(result)?);
                            result_attrs.push(AttrDict::EMPTY);
                            continue;
                        }
                        let mut pieces = result.into_inner();
                        results.push(self.reader.any_type(grammar::next(&mut pieces)?)?);
                        let attrs = pieces.next().map(|dict| self.reader.dictionary(dict)).transpose()?;
                        result_attrs.push(attrs.unwrap_or_default());
                    }
                }
                _ => given = self.reader.dictionary(part)?,
            }
        }
        let inputs: Vec<Type> = arguments.iter().map(|(_, ty, _, _)| *ty).collect();
        own.push(("function_type", Attr::Type(Type::function(&inputs, &results))));
        for (name, dicts) in [("arg_attrs", argument_attrs), ("res_attrs", result_attrs)] {
            if dicts.iter().any(|dict| !dict.is_empty()) {
                own.push((name, Attr::Array(dicts.into_iter().map(Attr::Dict).collect())));
            }
        }
        Ok(Head { attrs: self.merge(given, own, at)?, arguments })
    }

    fn symbol_attr(&self, text: &'a str) -> Read<Attr> {
        let name = self.reader.symbol_name(text)?;
        if name.is_empty() {
            return Err(self.reader.error_at(self.reader.offset_of(text), "a symbol has an empty name"));
        }
        Ok(Attr::Str(name.into()))
    }

    /// The written attributes, with those that the custom form spells otherwise.
    fn merge(&self, mut given: AttrDict, own: Vec<(&'static str, Attr)>, at: usize) -> Read<AttrDict> {
        for (name, value) in own {
            if given.get(name).is_some() {
                let message = format!("attribute '{name}' is given twice: by the form and in 'attributes'");
                return Err(self.reader.error_at(at, message));
            }
            given.set(name, value);
        }
        Ok(given)
    }
}
