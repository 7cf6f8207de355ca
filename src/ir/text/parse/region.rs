//! Regions and blocks.

use rustc_hash::FxHashMap;

use super::Read;
use super::grammar::{self, Rule};
use super::reader::Reader;
use super::scope::Scope;
use crate::body::{Block, Body, Op, Region, Value};
use crate::diagnostics::excerpt;

/// Where a body stands in the file: at the places where functions lie, large ones are put off to be read in parallel,
/// and an error does not end the reading.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Level {
    /// The file itself.
    File,
    /// A module of the file, with this many brackets around its ops.
    Module(usize),
    /// Anything else.
    Inner,
}

/// The body of an isolated op, to be read later.
pub(super) struct Job<'a> {
    /// The module of the file that holds the op, if it does not lie in the file itself.
    pub parent: Option<Op>,
    pub op: Op,
    /// What follows the opening brace.
    pub start: usize,
    pub body: Body,
    pub arguments: Vec<(&'a str, Value)>,
    pub is_module: bool,
}

/// Reads the body of an isolated op.
pub(super) struct BodyReader<'r, 'a> {
    pub reader: &'r mut Reader<'a>,
    pub body: Body,
    pub scope: Scope<'a>,
    pub level: Level,
    /// The op of the file that this is the body of, for the jobs.
    pub parent: Option<Op>,
    pub jobs: Vec<Job<'a>>,
    blocks: FxHashMap<&'a str, Label>,
    /// Number of regions around, the root not counted.
    pub depth: usize,
}

struct Label {
    block: Block,
    /// The first use, or the definition.
    offset: usize,
    defined: bool,
}

impl<'r, 'a> BodyReader<'r, 'a> {
    pub fn new(reader: &'r mut Reader<'a>, body: Body, level: Level) -> BodyReader<'r, 'a> {
        BodyReader {
            reader,
            body,
            scope: Scope::default(),
            level,
            parent: None,
            jobs: Vec::new(),
            blocks: FxHashMap::default(),
            depth: 0,
        }
    }

    /// Names the arguments of the entry block.
    pub fn define_arguments(&mut self, arguments: &[(&'a str, Value)]) -> Read<()> {
        for &(name, value) in arguments {
            self.scope.define(self.reader, &mut self.body, name, value, 1, false)?;
        }
        Ok(())
    }

    /// Reads the root region, from behind its opening brace to behind the closing one.
    pub fn root(mut self) -> Read<(Body, Vec<Job<'a>>)> {
        let root = self.body.root();
        self.region(root)?;
        Ok(self.finish())
    }

    /// Reports what is left undefined.
    pub fn finish(mut self) -> (Body, Vec<Job<'a>>) {
        self.scope.finish(self.reader);
        self.body.shrink_to_fit();
        (self.body, self.jobs)
    }

    /// Reads a region from behind its opening brace to behind the closing one.
    pub fn region(&mut self, region: Region) -> Read<()> {
        let outer = std::mem::take(&mut self.blocks);
        let mark = self.scope.enter();
        let mut current = self.body.blocks(region).first().copied();
        let mut order: Vec<Block> = current.into_iter().collect();
        loop {
            let start = self.reader.pos;
            match self.reader.peek() {
                b'}' => {
                    self.reader.pos += 1;
                    break;
                }
                b'^' => {
                    let block = self.label(region, current.filter(|_| order.len() == 1))?;
                    if current != Some(block) {
                        order.push(block);
                    }
                    current = Some(block);
                }
                _ => {
                    let block = *current.get_or_insert_with(|| {
                        let block = self.body.add_block(region);
                        order.push(block);
                        block
                    });
                    if let Err(error) = self.any_statement(block) {
                        self.recover(start, error)?;
                    }
                }
            }
        }
        let labels = std::mem::replace(&mut self.blocks, outer);
        let undefined =
            labels.iter().filter(|(_, label)| !label.defined).min_by_key(|(_, label)| label.offset);
        if let Some((name, label)) = undefined {
            return Err(self
                .reader
                .error_at(label.offset, format!("block {} is not defined in this region", excerpt(name))));
        }
        self.body.set_block_order(region, order);
        self.scope.leave(mark);
        Ok(())
    }

    fn any_statement(&mut self, block: Block) -> Read<()> {
        // Where functions lie there is nothing simple.
        if self.level == Level::Inner && self.simple_statement(block)? {
            Ok(())
        } else {
            self.statement(block)
        }
    }

    /// Where functions lie, an error is kept and reading goes on at the next function.
    pub fn recover(&mut self, start: usize, error: crate::Diagnostic) -> Read<()> {
        let depth = match self.level {
            Level::File => 0,
            Level::Module(depth) => depth,
            Level::Inner => return Err(error),
        };
        self.reader.pos = start;
        self.reader.peek();
        match self.reader.unit.outline.next_function(self.reader.pos, depth) {
            Some(next) => {
                self.reader.pos = next;
                self.reader.errors.push(error);
                Ok(())
            }
            None => Err(error),
        }
    }

    /// A block label. `entry` is the region's only block so far, which a label may still name while it is empty.
    fn label(&mut self, region: Region, entry: Option<Block>) -> Read<Block> {
        let pair = self.reader.take(Rule::block_label)?;
        let mut inner = pair.into_inner();
        let name = grammar::next(&mut inner)?;
        let (name, at) = (name.as_str(), self.reader.offset(&name));
        let entry = entry.filter(|&block| {
            self.body.first_op(block).is_none()
                && self.body.arguments(block).is_empty()
                && self.blocks.is_empty()
        });
        let block = match self.blocks.get_mut(name) {
            Some(label) if label.defined => {
                let first = label.offset;
                return Err(self
                    .reader
                    .error_at(at, format!("block {} is defined twice", excerpt(name)))
                    .note(self.reader.source(first), "first defined here"));
            }
            Some(label) => {
                label.defined = true;
                label.block
            }
            None => {
                let block = entry.unwrap_or_else(|| self.body.add_block(region));
                self.blocks.insert(name, Label { block, offset: at, defined: true });
                block
            }
        };
        for argument in inner {
            let at = self.reader.offset(&argument);
            let mut inner = argument.into_inner();
            let name = grammar::next(&mut inner)?.as_str();
            let ty = self.reader.any_type(grammar::next(&mut inner)?)?;
            let loc = self.reader.location_or(inner.next(), at)?;
            let value = self.body.add_argument(block, ty, loc);
            self.scope.define(self.reader, &mut self.body, name, value, 1, self.depth > 0)?;
        }
        Ok(block)
    }

    /// The block that a successor names, made now if its label comes later.
    pub fn block(&mut self, region: Region, name: &'a str) -> Block {
        let offset = self.reader.offset_of(name);
        let body = &mut self.body;
        let label = self.blocks.entry(name).or_insert_with(|| Label {
            block: body.add_block(region),
            offset,
            defined: false,
        });
        label.block
    }
}
