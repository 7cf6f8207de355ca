//! Operations in generic form.

use pest::iterators::Pair;
use smallvec::SmallVec;

use super::Read;
use super::grammar::{self, Rule};
use super::op::{Operation, ResultNames, Types};
use super::region::BodyReader;
use crate::attributes::AttrDict;
use crate::body::{Block, Body, Op, OpState, Successor};
use crate::location::Loc;
use crate::op_def::OpDef;

impl<'r, 'a> BodyReader<'r, 'a> {
    /// `"dialect.op"(...)`, with its tail where there are no regions.
    pub fn generic(
        &mut self,
        block: Block,
        names: ResultNames<'a>,
        head: Pair<'a, Rule>,
        tail: Option<Pair<'a, Rule>>,
    ) -> Read<()> {
        let at = self.reader.offset(&head);
        let mut inner = head.into_inner();
        let literal = grammar::next(&mut inner)?.as_str();
        if literal.bytes().any(|b| b == b'\\' || !(b' '..=b'~').contains(&b)) {
            let message = "the name of an operation holds printable ASCII characters only, and no escapes";
            return Err(self.reader.error_at(at, message));
        }
        let (name, def) = self.reader.op_name(&literal[1..literal.len() - 1], true, at)?;
        let mut operands: SmallVec<[&'a str; 4]> = SmallVec::new();
        let mut successors = Vec::new();
        let mut properties = AttrDict::EMPTY;
        for part in inner {
            match part.as_rule() {
                Rule::value_list => operands = part.into_inner().map(|value| value.as_str()).collect(),
                Rule::successors => {
                    let region = self.body.block_region(block);
                    for target in part.into_inner() {
                        let block = self.block(region, target.as_str());
                        successors.push(Successor { block, operands: Vec::new() });
                    }
                }
                _ => properties = self.reader.dictionary(grammar::next(&mut part.into_inner())?)?,
            }
        }
        if tail.is_none() && self.reader.peek() != b'(' {
            // Without regions: the grammar says what the tail lacks.
            self.reader.parse(Rule::generic_tail, self.reader.pos)?;
        }
        let with_regions = match tail {
            Some(_) => None,
            None => {
                let op = self.body.create(OpState {
                    name,
                    def,
                    loc: Loc::Unknown,
                    operands: SmallVec::new(),
                    results: SmallVec::new(),
                    attrs: AttrDict::EMPTY,
                });
                self.regions(op, def, at)?;
                Some(op)
            }
        };
        let tail = match tail {
            Some(tail) => tail,
            None => grammar::next(&mut self.reader.take(Rule::region_tail)?.into_inner())?,
        };
        let mut attrs = AttrDict::EMPTY;
        let mut inner = tail.into_inner().peekable();
        if let Some(dict) = inner.next_if(|p| p.as_rule() == Rule::dictionary) {
            attrs = self.reader.dictionary(dict)?;
        }
        let Some(function) = inner.next() else { return Ok(()) };
        let types_at = self.reader.offset(&function);
        let mut lists = function.into_inner();
        let inputs: Types = self.reader.type_list(grammar::next(&mut lists)?)?.into();
        let outputs: Types = self.reader.type_list(grammar::next(&mut lists)?)?.into();
        let loc = self.reader.location_or(inner.next(), at)?;
        if inputs.len() != operands.len() {
            let message = format!(
                "'{name}' has {} operands, but {} operand types are written",
                operands.len(),
                inputs.len()
            );
            return Err(self.reader.error_at(types_at, message));
        }
        if def.is_some() {
            // Registered ops keep inherent and other attributes together.
            for (key, value) in properties.iter() {
                if attrs.get(key.as_str()).is_some() {
                    return Err(self.reader.error_at(at, format!("attribute '{key}' is given twice")));
                }
                attrs.set(*key, value.clone());
            }
            properties = AttrDict::EMPTY;
        }
        let op = match with_regions {
            None => {
                self.finish_op(block, Operation { names, name, def, loc, attrs, operands, inputs, outputs })?
            }
            Some(op) => {
                let data = self.body.op_mut(op);
                (data.loc, data.attrs) = (loc, attrs);
                self.finish_regions(block, op, &names, &operands, &inputs, &outputs)?;
                op
            }
        };
        if !successors.is_empty() {
            self.body.set_successors(op, successors);
        }
        if !properties.is_empty() {
            self.body.set_properties(op, properties);
        }
        Ok(())
    }

    /// `({ ... }, { ... }`, up to the closing parenthesis.
    fn regions(&mut self, op: Op, def: Option<&'static OpDef>, at: usize) -> Read<()> {
        let open = self.reader.pos;
        self.reader.expect(b'(')?;
        let isolated = def.filter(|def| def.traits.isolated);
        let mut count = 0;
        loop {
            if count == 0 && self.reader.peek() != b'{' {
                let message = "expected ':' and the type of the operation, or a region";
                return Err(self.reader.error_at(open, message));
            }
            self.reader.expect(b'{')?;
            count += 1;
            match isolated {
                Some(def) if count > 1 => {
                    return Err(self.reader.error_at(at, format!("'{}' has one region", def.name)));
                }
                Some(def) => self.isolated(op, def, Body::new(), Vec::new(), 2)?,
                None => {
                    let region = self.body.add_region(op);
                    self.depth += 1;
                    self.region(region)?;
                    self.depth -= 1;
                }
            }
            if self.reader.peek() != b',' {
                return Ok(());
            }
            self.reader.pos += 1;
        }
    }
}
