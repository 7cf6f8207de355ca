//! Operations in custom form, but for functions and modules.

use pest::iterators::Pair;
use smallvec::SmallVec;

use super::Read;
use super::grammar::{self, Rule};
use super::op::{Operation, ResultNames, Types};
use super::region::BodyReader;
use crate::attributes::{Attr, AttrDict};
use crate::body::Block;
use crate::ident::Ident;
use crate::op_def::{OpDef, Syntax};
use crate::types::Type;

impl<'r, 'a> BodyReader<'r, 'a> {
    /// `dialect.op ...` in custom form.
    pub fn custom(&mut self, block: Block, names: ResultNames<'a>, pair: Pair<'a, Rule>) -> Read<()> {
        let at = self.reader.offset(&pair);
        let end = self.reader.end_of(&pair);
        let mut inner = pair.into_inner().peekable();
        let Some(name) = inner.next() else { return Ok(()) };
        let (name, def) = self.reader.op_name(name.as_str(), false, at)?;
        let Some(def) = def else {
            return Err(self
                .reader
                .error_at(at, format!("operation '{name}' is not registered; write it in generic form")));
        };
        let mut attrs = match inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            Some(dict) => self.reader.dictionary(dict)?,
            None => AttrDict::EMPTY,
        };
        let subject =
            inner.next_if(|p| matches!(p.as_rule(), Rule::value_list | Rule::callee | Rule::constant));
        if let Some(dict) = inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            if !attrs.is_empty() {
                return Err(self
                    .reader
                    .error(&dict, "the operation has attributes before its operands already"));
            }
            attrs = self.reader.dictionary(dict)?;
        }
        let signature = inner.next_if(|p| p.as_rule() == Rule::signature);
        let location = inner.next();

        let subject_rule = subject.as_ref().map(Pair::as_rule);
        let wanted = match def.syntax {
            Syntax::Uniform | Syntax::Return | Syntax::Yield => Rule::value_list,
            Syntax::Constant => Rule::constant,
            Syntax::Call => Rule::callee,
            Syntax::Func => Rule::function_head,
            Syntax::Module => Rule::module_head,
        };
        if subject_rule.is_some_and(|rule| rule != wanted)
            || (subject_rule.is_none() && wanted != Rule::value_list)
        {
            // The grammar says what is missing.
            let start = if matches!(wanted, Rule::function_head | Rule::module_head) {
                at
            } else {
                at + written(name, def, self.reader.unit.text, at)
            };
            self.reader.parse_after_blanks(wanted, start)?;
            return Err(self.reader.error_at(at, format!("'{name}' has another form: {}", def.example)));
        }

        let operand_names = |pair: Pair<'a, Rule>| -> SmallVec<[&'a str; 4]> {
            pair.into_inner().map(|value| value.as_str()).collect()
        };
        let mut operands: SmallVec<[&'a str; 4]> = SmallVec::new();
        let mut constant = None;
        match subject {
            Some(pair) if wanted == Rule::value_list => operands = operand_names(pair),
            Some(pair) if wanted == Rule::callee => {
                let mut inner = pair.into_inner();
                let callee = self.reader.symbol(grammar::next(&mut inner)?.as_str())?;
                if attrs.get("callee").is_some() {
                    return Err(self.reader.error_at(at, "attribute 'callee' is given twice"));
                }
                attrs.set("callee", Attr::Symbol(callee.into()));
                operands = inner.next().map(operand_names).unwrap_or_default();
            }
            Some(pair) => constant = Some(grammar::next(&mut pair.into_inner())?),
            None => {}
        }
        let Some(signature) = signature else {
            if operands.is_empty() && names.is_empty() && constant.is_none() && def.syntax != Syntax::Call {
                let loc = self.reader.location_or(location, at)?;
                let (inputs, outputs) = (Types::new(), Types::new());
                let def = Some(def);
                self.finish_op(block, Operation { names, name, def, loc, attrs, operands, inputs, outputs })?;
                return Ok(());
            }
            self.reader.pos = end;
            if self.reader.peek() == b'{' {
                self.reader.parse(Rule::dictionary, self.reader.pos)?;
            }
            self.reader.parse(Rule::signature, self.reader.pos)?;
            return Err(self.reader.error_at(end, "expected ':' and types"));
        };
        let types_at = self.reader.offset(&signature);
        let (inputs, outputs) = self.signature(signature, def, operands.len())?;
        if let Some(literal) = constant {
            let [ty] = outputs.as_slice() else {
                return Err(self.reader.error_at(types_at, format!("'{name}' has one type")));
            };
            if attrs.get("value").is_some() {
                return Err(self.reader.error_at(at, "attribute 'value' is given twice"));
            }
            attrs.set("value", self.constant(literal, *ty)?);
        }
        if inputs.len() != operands.len() {
            let message = format!(
                "'{name}' has {} operands, but {} operand types are written",
                operands.len(),
                inputs.len()
            );
            return Err(self.reader.error_at(types_at, message));
        }
        let loc = self.reader.location_or(location, at)?;
        let regions = def.regions.len();
        let def = Some(def);
        let op =
            self.finish_op(block, Operation { names, name, def, loc, attrs, operands, inputs, outputs })?;
        for _ in 0..regions {
            if self.reader.peek() != b'{' {
                return Err(self
                    .reader
                    .error_at(self.reader.pos, format!("expected '{{' and a region of '{name}'")));
            }
            self.reader.pos += 1;
            let region = self.body.add_region(op);
            self.depth += 1;
            self.region(region)?;
            self.depth -= 1;
        }
        Ok(())
    }

    /// Operand and result types of a custom form.
    fn signature(&mut self, pair: Pair<'a, Rule>, def: &OpDef, operands: usize) -> Read<(Types, Types)> {
        let end = self.reader.end_of(&pair);
        let mut inner = pair.into_inner();
        let first = self.types(grammar::next(&mut inner)?)?;
        if let Some(second) = inner.next() {
            return Ok((first, self.types(second)?));
        }
        match (def.syntax, first.as_slice()) {
            (Syntax::Return | Syntax::Yield, _) => Ok((first, Types::new())),
            (Syntax::Uniform | Syntax::Constant, [one]) => Ok((SmallVec::from_elem(*one, operands), first)),
            _ => Err(self.reader.error_at(end, "expected '->' and the types of the results")),
        }
    }

    fn types(&mut self, pair: Pair<'a, Rule>) -> Read<Types> {
        let mut out = Types::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::type_list => out.extend(self.reader.type_list(inner)?),
                _ => out.push(self.reader.value_type(inner.as_str())?),
            }
        }
        Ok(out)
    }

    fn constant(&mut self, literal: Pair<'a, Rule>, ty: Type) -> Read<Attr> {
        let at = self.reader.offset(&literal);
        match literal.as_rule() {
            Rule::boolean if ty == Type::int(1) => Ok(Attr::Bool(literal.as_str() == "true")),
            Rule::boolean => {
                Err(self.reader.error_at(at, format!("'{}' is no value of type {ty}", literal.as_str())))
            }
            Rule::number => self.reader.typed_number(literal.as_str(), ty),
            Rule::resource_literal => self.reader.resource(literal, ty),
            _ => self.reader.dense(literal, ty),
        }
    }
}

/// The length of the op's name as it is written at `at`.
fn written(name: Ident, def: &OpDef, text: &str, at: usize) -> usize {
    if text[at..].starts_with(name.as_str()) { name.as_str().len() } else { def.short_name().len() }
}
