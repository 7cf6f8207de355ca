//! The SSA graph: an arena of ops, values, blocks and regions.
//!
//! MLIR's concept: an op *isolated from above* (`func.func`, `builtin.module`). Here such an op owns a [`Body`]
//! of its own, and handles never cross from one body to another. That makes functions independent by
//! construction: they are parsed, verified and rewritten in parallel without locks.

use smallvec::SmallVec;

use crate::attributes::{Attr, AttrDict};
use crate::ident::Ident;
use crate::location::Loc;
use crate::op_def::{OpDef, Signature};
use crate::types::Type;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The handle of the arena's `index`-th entry. An arena holds less than 2^32 - 1 entries.
            pub fn from_index(index: usize) -> $name {
                let n = u32::try_from(index + 1).ok().and_then(std::num::NonZeroU32::new);
                $name(n.expect("an arena holds less than 2^32 - 1 entries"))
            }

            /// Position in the arena, for side tables.
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    };
}

handle! {
    /// An operation of a [`Body`].
    Op
}
handle! {
    /// An SSA value of a [`Body`]: the result of an op or an argument of a block.
    Value
}
handle! {
    /// A basic block of a [`Body`].
    Block
}
handle! {
    /// A region of a [`Body`]: a list of blocks.
    Region
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// The n-th result of an op.
    Result(Op, u32),
    /// The n-th argument of a block.
    Argument(Block, u32),
}

#[derive(Clone)]
struct ValueData {
    ty: Type,
    def: ValueDef,
}

/// One operation.
#[derive(Clone)]
pub struct OpData {
    /// Full name, `dialect.op`.
    pub name: Ident,
    /// The declaration, absent for an op of an unregistered dialect.
    pub def: Option<&'static OpDef>,
    /// Where it came from.
    pub loc: Loc,
    /// All attributes, inherent and discardable.
    pub attrs: AttrDict,
    operands: SmallVec<[Value; 2]>,
    first_result: u32,
    num_results: u32,
    block: Option<Block>,
    prev: Option<Op>,
    next: Option<Op>,
    extra: Option<Box<Extra>>,
}

/// What few ops have.
#[derive(Clone, Default)]
struct Extra {
    regions: Vec<Region>,
    successors: Vec<Successor>,
    /// `<{...}>` of an unregistered op.
    properties: AttrDict,
    body: Option<Box<Body>>,
}

/// A branch target with the values passed to its arguments.
#[derive(Clone, Debug)]
pub struct Successor {
    /// The block branched to.
    pub block: Block,
    /// Values for the block's arguments (only in custom spellings; generic ops pass them as operands).
    pub operands: Vec<Value>,
}

#[derive(Clone)]
struct BlockData {
    region: Region,
    args: SmallVec<[Value; 2]>,
    arg_locs: Vec<Loc>,
    first: Option<Op>,
    last: Option<Op>,
}

#[derive(Clone, Default)]
struct RegionData {
    blocks: Vec<Block>,
    parent: Option<Op>,
}

/// What is needed to make an op.
#[derive(Clone)]
pub struct OpState {
    /// Full name.
    pub name: Ident,
    /// Declaration, if registered.
    pub def: Option<&'static OpDef>,
    /// Location.
    pub loc: Loc,
    /// Operands.
    pub operands: SmallVec<[Value; 2]>,
    /// Types of the results.
    pub results: SmallVec<[Type; 1]>,
    /// Attributes.
    pub attrs: AttrDict,
}

impl OpState {
    /// An op of a declared kind, without operands, results or attributes yet.
    pub fn new(def: &'static OpDef, loc: Loc) -> OpState {
        OpState {
            name: Ident::new(def.name),
            def: Some(def),
            loc,
            operands: SmallVec::new(),
            results: SmallVec::new(),
            attrs: AttrDict::EMPTY,
        }
    }
}

/// An arena of SSA entities with one root region.
#[derive(Clone)]
pub struct Body {
    ops: Vec<OpData>,
    values: Vec<ValueData>,
    blocks: Vec<BlockData>,
    regions: Vec<RegionData>,
}

impl Default for Body {
    fn default() -> Body {
        Body::new()
    }
}

impl Body {
    /// A body whose root region has no block yet.
    pub fn new() -> Body {
        Body { ops: Vec::new(), values: Vec::new(), blocks: Vec::new(), regions: vec![RegionData::default()] }
    }

    /// The root region.
    pub fn root(&self) -> Region {
        Region::from_index(0)
    }

    /// The first block of the root region; a declaration has none.
    pub fn entry(&self) -> Option<Block> {
        self.regions[0].blocks.first().copied()
    }

    /// Gives memory reserved for growth back.
    pub fn shrink_to_fit(&mut self) {
        self.ops.shrink_to_fit();
        self.values.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.regions.shrink_to_fit();
    }

    // Sizes of the arenas, for side tables. Erased ops leave holes.

    /// Number of op handles ever given out.
    pub fn num_ops(&self) -> usize {
        self.ops.len()
    }

    /// Number of value handles ever given out.
    pub fn num_values(&self) -> usize {
        self.values.len()
    }

    // Regions and blocks.

    /// Blocks of a region in order.
    pub fn blocks(&self, region: Region) -> &[Block] {
        &self.regions[region.index()].blocks
    }

    /// The op that holds the region; none for the root.
    pub fn region_parent(&self, region: Region) -> Option<Op> {
        self.regions[region.index()].parent
    }

    /// The region that holds the block.
    pub fn block_region(&self, block: Block) -> Region {
        self.blocks[block.index()].region
    }

    /// Adds a region to an op.
    pub fn add_region(&mut self, op: Op) -> Region {
        let region = Region::from_index(self.regions.len());
        self.regions.push(RegionData { blocks: Vec::new(), parent: Some(op) });
        self.extra_mut(op).regions.push(region);
        region
    }

    /// Appends an empty block to a region.
    pub fn add_block(&mut self, region: Region) -> Block {
        let block = Block::from_index(self.blocks.len());
        self.blocks.push(BlockData {
            region,
            args: SmallVec::new(),
            arg_locs: Vec::new(),
            first: None,
            last: None,
        });
        self.regions[region.index()].blocks.push(block);
        block
    }

    /// Puts the blocks of a region in another order (the same blocks).
    pub fn set_block_order(&mut self, region: Region, order: Vec<Block>) {
        debug_assert_eq!(order.len(), self.blocks(region).len());
        self.regions[region.index()].blocks = order;
    }

    /// Appends an argument to a block.
    pub fn add_argument(&mut self, block: Block, ty: Type, loc: Loc) -> Value {
        let data = &mut self.blocks[block.index()];
        let value = Value::from_index(self.values.len());
        self.values.push(ValueData { ty, def: ValueDef::Argument(block, data.args.len() as u32) });
        data.args.push(value);
        if loc != Loc::Unknown || !data.arg_locs.is_empty() {
            data.arg_locs.resize(data.args.len() - 1, Loc::Unknown);
            data.arg_locs.push(loc);
        }
        value
    }

    /// Arguments of a block.
    pub fn arguments(&self, block: Block) -> &[Value] {
        &self.blocks[block.index()].args
    }

    /// Location of the n-th argument.
    pub fn argument_loc(&self, block: Block, n: usize) -> Loc {
        self.blocks[block.index()].arg_locs.get(n).cloned().unwrap_or_default()
    }

    /// Ops of a block in order.
    pub fn ops(&self, block: Block) -> BlockOps<'_> {
        BlockOps { body: self, next: self.blocks[block.index()].first }
    }

    /// The last op of a block: its terminator, if it has one.
    pub fn last_op(&self, block: Block) -> Option<Op> {
        self.blocks[block.index()].last
    }

    /// The first op of a block.
    pub fn first_op(&self, block: Block) -> Option<Op> {
        self.blocks[block.index()].first
    }

    /// All ops of the body in textual order, regions after the op that holds them.
    pub fn walk(&self) -> Vec<Op> {
        fn visit(body: &Body, region: Region, out: &mut Vec<Op>) {
            for &block in body.blocks(region) {
                for op in body.ops(block) {
                    out.push(op);
                    for &inner in body.regions(op) {
                        visit(body, inner, out);
                    }
                }
            }
        }
        let mut out = Vec::with_capacity(self.ops.len());
        visit(self, self.root(), &mut out);
        out
    }

    // Ops.

    /// Makes an op that is in no block yet.
    pub fn create(&mut self, state: OpState) -> Op {
        let op = Op::from_index(self.ops.len());
        let first_result = self.values.len() as u32;
        for (i, &ty) in state.results.iter().enumerate() {
            self.values.push(ValueData { ty, def: ValueDef::Result(op, i as u32) });
        }
        self.ops.push(OpData {
            name: state.name,
            def: state.def,
            loc: state.loc,
            attrs: state.attrs,
            operands: state.operands,
            first_result,
            num_results: state.results.len() as u32,
            block: None,
            prev: None,
            next: None,
            extra: None,
        });
        op
    }

    /// The op's data.
    pub fn op(&self, op: Op) -> &OpData {
        &self.ops[op.index()]
    }

    /// The op's data, to change name, attributes or location.
    pub fn op_mut(&mut self, op: Op) -> &mut OpData {
        &mut self.ops[op.index()]
    }

    /// Full name of the op.
    pub fn name(&self, op: Op) -> &'static str {
        self.ops[op.index()].name.as_str()
    }

    /// Whether the op is of the declared kind `def`.
    pub fn is(&self, op: Op, def: &'static OpDef) -> bool {
        self.ops[op.index()].def.is_some_and(|d| std::ptr::eq(d, def))
    }

    /// An attribute of the op.
    pub fn attr(&self, op: Op, name: &str) -> Option<&Attr> {
        self.ops[op.index()].attrs.get(name)
    }

    /// Gives an op that has no results its results, for readers that learn their types after the op's regions.
    pub fn set_results(&mut self, op: Op, types: &[Type]) {
        debug_assert_eq!(self.ops[op.index()].num_results, 0, "the op has results already");
        let first = self.values.len() as u32;
        let results = types.iter().enumerate();
        self.values.extend(results.map(|(i, &ty)| ValueData { ty, def: ValueDef::Result(op, i as u32) }));
        let data = &mut self.ops[op.index()];
        (data.first_result, data.num_results) = (first, types.len() as u32);
    }

    /// Operands of the op.
    pub fn operands(&self, op: Op) -> &[Value] {
        &self.ops[op.index()].operands
    }

    /// Replaces all operands of the op.
    pub fn set_operands(&mut self, op: Op, operands: &[Value]) {
        self.ops[op.index()].operands = operands.into();
    }

    /// Replaces one operand of the op.
    pub fn set_operand(&mut self, op: Op, n: usize, value: Value) {
        self.ops[op.index()].operands[n] = value;
    }

    /// Results of the op.
    pub fn results(&self, op: Op) -> impl ExactSizeIterator<Item = Value> + Clone + use<> {
        let data = &self.ops[op.index()];
        let first = data.first_result as usize;
        (first..first + data.num_results as usize).map(Value::from_index)
    }

    /// The n-th result of the op. Panics if there is none.
    pub fn result(&self, op: Op, n: usize) -> Value {
        let data = &self.ops[op.index()];
        assert!(n < data.num_results as usize, "{} has no result {n}", data.name);
        Value::from_index(data.first_result as usize + n)
    }

    /// Number of results.
    pub fn num_results(&self, op: Op) -> usize {
        self.ops[op.index()].num_results as usize
    }

    /// Whether an operation is declared to be a constant.
    pub fn is_constant(&self, op: Op) -> bool {
        self.op(op).def.is_some_and(|def| def.traits.constant)
    }

    /// Types of the operands.
    pub fn operand_types(&self, op: Op) -> SmallVec<[Type; 4]> {
        self.operands(op).iter().map(|&v| self.ty(v)).collect()
    }

    /// Types of the results.
    pub fn result_types(&self, op: Op) -> SmallVec<[Type; 4]> {
        self.results(op).map(|v| self.ty(v)).collect()
    }

    /// Calls `f` with the op's declaration, operand types and attributes; `None` for an unregistered op.
    pub fn with_signature<R>(&self, op: Op, f: impl FnOnce(&Signature<'_>) -> R) -> Option<R> {
        let data = self.op(op);
        let operands = self.operand_types(op);
        Some(f(&Signature { def: data.def?, operands: &operands, attrs: &data.attrs }))
    }

    /// Regions of the op that live in this body.
    pub fn regions(&self, op: Op) -> &[Region] {
        self.ops[op.index()].extra.as_ref().map_or(&[], |e| &e.regions)
    }

    /// Branch targets of the op.
    pub fn successors(&self, op: Op) -> &[Successor] {
        self.ops[op.index()].extra.as_ref().map_or(&[], |e| &e.successors)
    }

    /// Sets the branch targets of the op.
    pub fn set_successors(&mut self, op: Op, successors: Vec<Successor>) {
        self.extra_mut(op).successors = successors;
    }

    /// `<{...}>` of an unregistered op.
    pub fn properties(&self, op: Op) -> &AttrDict {
        static NONE: AttrDict = AttrDict::EMPTY;
        self.ops[op.index()].extra.as_ref().map_or(&NONE, |e| &e.properties)
    }

    /// Sets `<{...}>` of an unregistered op.
    pub fn set_properties(&mut self, op: Op, properties: AttrDict) {
        self.extra_mut(op).properties = properties;
    }

    /// The body that an isolated op owns.
    pub fn body(&self, op: Op) -> Option<&Body> {
        self.ops[op.index()].extra.as_ref()?.body.as_deref()
    }

    /// The body that an isolated op owns.
    pub fn body_mut(&mut self, op: Op) -> Option<&mut Body> {
        self.ops[op.index()].extra.as_mut()?.body.as_deref_mut()
    }

    /// Gives an isolated op its body.
    pub fn set_body(&mut self, op: Op, body: Body) {
        self.extra_mut(op).body = Some(Box::new(body));
    }

    /// Takes the body out of an isolated op, to work on it elsewhere; give it back with [`Body::set_body`].
    pub fn take_body(&mut self, op: Op) -> Option<Body> {
        self.ops[op.index()].extra.as_mut()?.body.take().map(|b| *b)
    }

    fn extra_mut(&mut self, op: Op) -> &mut Extra {
        self.ops[op.index()].extra.get_or_insert_default()
    }

    // Placement.

    /// The block that holds the op, if it is placed.
    pub fn block(&self, op: Op) -> Option<Block> {
        self.ops[op.index()].block
    }

    /// The op after this one in its block.
    pub fn next(&self, op: Op) -> Option<Op> {
        self.ops[op.index()].next
    }

    /// The op before this one in its block.
    pub fn prev(&self, op: Op) -> Option<Op> {
        self.ops[op.index()].prev
    }

    /// Places an unplaced op at the end of a block.
    pub fn append(&mut self, block: Block, op: Op) {
        let last = self.blocks[block.index()].last;
        self.link(block, last, op, None);
    }

    /// Places an unplaced op before another.
    pub fn insert_before(&mut self, anchor: Op, op: Op) {
        let block = self.block(anchor).expect("the anchor is placed");
        let prev = self.prev(anchor);
        self.link(block, prev, op, Some(anchor));
    }

    /// Takes an op out of its block. Its handle and results stay valid.
    pub fn unlink(&mut self, op: Op) {
        let data = &mut self.ops[op.index()];
        let (Some(block), prev, next) = (data.block.take(), data.prev.take(), data.next.take()) else {
            return;
        };
        match prev {
            Some(p) => self.ops[p.index()].next = next,
            None => self.blocks[block.index()].first = next,
        }
        match next {
            Some(n) => self.ops[n.index()].prev = prev,
            None => self.blocks[block.index()].last = prev,
        }
    }

    fn link(&mut self, block: Block, prev: Option<Op>, op: Op, next: Option<Op>) {
        let data = &mut self.ops[op.index()];
        debug_assert!(data.block.is_none(), "op is placed already");
        (data.block, data.prev, data.next) = (Some(block), prev, next);
        match prev {
            Some(p) => self.ops[p.index()].next = Some(op),
            None => self.blocks[block.index()].first = Some(op),
        }
        match next {
            Some(n) => self.ops[n.index()].prev = Some(op),
            None => self.blocks[block.index()].last = Some(op),
        }
    }

    // Values.

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Changes the type of a value.
    pub fn set_type(&mut self, value: Value, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// What defines a value.
    pub fn def(&self, value: Value) -> ValueDef {
        self.values[value.index()].def
    }

    /// The op whose result the value is.
    pub fn defining_op(&self, value: Value) -> Option<Op> {
        match self.def(value) {
            ValueDef::Result(op, _) => Some(op),
            ValueDef::Argument(..) => None,
        }
    }
}

/// Iterator over the ops of a block.
pub struct BlockOps<'a> {
    body: &'a Body,
    next: Option<Op>,
}

impl Iterator for BlockOps<'_> {
    type Item = Op;
    fn next(&mut self) -> Option<Op> {
        let op = self.next?;
        self.next = self.body.next(op);
        Some(op)
    }
}
