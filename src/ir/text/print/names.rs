//! Names of values and blocks, numbered as MLIR numbers them: a region's own values first, then those of the regions
//! inside it.

use crate::body::{Block, Body, Op, Region, Value};

/// The next numbers to give.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counters {
    value: u32,
    argument: u32,
}

/// What a value is called.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Name {
    /// `%arg3`.
    Argument(u32),
    /// `%3`, or `%3#1` of an op with several results.
    Number(u32),
}

const ARGUMENT: u32 = 1 << 31;

/// The names in one body.
pub(super) struct Names {
    /// By value; arguments have the highest bit set.
    values: Vec<u32>,
    /// By block, in regions with several.
    blocks: Vec<u32>,
    /// Where the numbers of isolated ops start, sorted by op.
    starts: Vec<(Op, Counters)>,
}

impl Names {
    /// Numbers a body. In generic form upstream goes on counting from region to region, last region first; in custom
    /// form each region counts on from the region around it.
    pub fn number(body: &Body, start: Counters, generic: bool) -> (Names, Counters) {
        let mut names = Names { values: vec![0; body.num_values()], blocks: Vec::new(), starts: Vec::new() };
        let mut last = start;
        let mut stack = vec![(Place::Region(body.root()), start)];
        while let Some((place, around)) = stack.pop() {
            let mut counters = if generic { last } else { around };
            match place {
                Place::Region(region) => {
                    names.region(body, region, &mut counters);
                    last = counters;
                    for &block in body.blocks(region) {
                        for op in body.ops(block) {
                            if body.body(op).is_some() {
                                stack.push((Place::Isolated(op), counters));
                            }
                            stack.extend(
                                body.regions(op).iter().map(|&inner| (Place::Region(inner), counters)),
                            );
                        }
                    }
                }
                Place::Isolated(op) => {
                    names.starts.push((op, counters));
                    if generic && let Some(inner) = body.body(op) {
                        last = count(inner, counters);
                    }
                }
            }
        }
        names.starts.sort_by_key(|(op, _)| *op);
        (names, last)
    }

    fn region(&mut self, body: &Body, region: Region, counters: &mut Counters) {
        let blocks = body.blocks(region);
        for (i, &block) in blocks.iter().enumerate() {
            if blocks.len() > 1 {
                if self.blocks.len() <= block.index() {
                    self.blocks.resize(block.index() + 1, 0);
                }
                self.blocks[block.index()] = i as u32;
            }
            for &argument in body.arguments(block) {
                let slot = &mut self.values[argument.index()];
                if i == 0 {
                    *slot = counters.argument | ARGUMENT;
                    counters.argument += 1;
                } else {
                    *slot = counters.value;
                    counters.value += 1;
                }
            }
            for op in body.ops(block) {
                if body.num_results(op) > 0 {
                    for result in body.results(op) {
                        self.values[result.index()] = counters.value;
                    }
                    counters.value += 1;
                }
            }
        }
    }

    /// The name of a value.
    pub fn value(&self, value: Value) -> Name {
        match self.values.get(value.index()) {
            Some(n) if n & ARGUMENT != 0 => Name::Argument(n & !ARGUMENT),
            Some(n) => Name::Number(*n),
            None => Name::Number(u32::MAX),
        }
    }

    /// The number of a block in its region.
    pub fn block(&self, block: Block) -> u32 {
        self.blocks.get(block.index()).copied().unwrap_or(0)
    }

    /// Where the numbers of an isolated op start.
    pub fn start(&self, op: Op) -> Counters {
        self.starts.binary_search_by_key(&op, |(op, _)| *op).map(|i| self.starts[i].1).unwrap_or_default()
    }
}

enum Place {
    Region(Region),
    Isolated(Op),
}

/// The numbers after a body, everything in it included.
fn count(body: &Body, start: Counters) -> Counters {
    let mut counters = start;
    let mut stack = vec![body.root()];
    while let Some(region) = stack.pop() {
        for (i, &block) in body.blocks(region).iter().enumerate() {
            let arguments = body.arguments(block).len() as u32;
            if i == 0 {
                counters.argument += arguments;
            } else {
                counters.value += arguments;
            }
            for op in body.ops(block) {
                counters.value += u32::from(body.num_results(op) > 0);
                stack.extend(body.regions(op));
                if let Some(inner) = body.body(op) {
                    counters = count(inner, counters);
                }
            }
        }
    }
    counters
}
