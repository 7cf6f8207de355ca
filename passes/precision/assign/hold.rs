//! The demand where nothing is asked of errors: nothing overflows and nothing is flushed to 0 inside.
//!
//! A value of f16 does not fit its format in two ways. Over the reals it may lie beyond the greatest number, or it was made
//! by rounding and may be so small that it becomes 0. Neither matters by itself: a product that is stored in f16 anyway is
//! infinite in any case, and what becomes 0 beside 1 is nothing. It matters where the op that reads the value, or one after
//! it, gives a number of the format again ([`need`](super::need)): of a square that overflows, a root; of a square that is
//! flushed to 0, a quotient.
//!
//! - Beyond: the op's result, on numbers beyond the format and infinity, may lie in the range of the format, and is not one
//!   number throughout (a sigmoid is 1 there, whatever it was given).
//! - Flushed: the op's result, on numbers up to the least of the format, is a normal number, and varies by more than three
//!   bits of its last digits, the other operands taken as ordinary, that is nearest to 1.
//!
//! The op that makes such a value may only take formats whose exponents reach further, f32, or f64 for f32 where the
//! function's own arguments or results are f64, and so may the ops that compute with it. What these read must not be rounded
//! before, if it may not fit; but factors of a contraction whose ranges nobody states are read as they are stored, since nearly
//! everything may overflow then, and a network of f16 would become one of f32. Ops between such ops may take either format:
//! the minimum cut decides, by bytes, operations and conversions. All others keep the formats that they are given in, and none
//! takes a narrower one. bf16 has the exponents of f32, so only its accumulators change.
//!
//! An accumulator holds more terms than its format can tell apart, and partial sums beyond the total, so that of a narrow
//! format is f32. It is no tensor, and costs nothing.
//!
//! What stays: arguments, results, what is asked whether it is a number, what a user converts an argument to, and sums whose
//! difference to one of their own terms is taken, which is there for its rounding.

use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::pass::Function;
use ngc_ir::{Attr, Body, Context, Loc, Op, Type, Value};
use ngc_numerics::{DType, Format};
use ngc_sheaf::Level;
use rustc_hash::{FxHashMap, FxHashSet};

use super::accumulation::Form;
use super::apply::apply;
use super::chain::Chain;
use super::need::{Needs, is_quantised};
use super::node::{Node, Nodes, takes};
use super::program::{network, program};
use super::wanted::Objective;
use crate::analysis::range::Ranges;
use crate::precision::conversion;
use crate::precision::storage::Storage;

/// How a function is held.
pub struct Hold<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The formats that may be brought in.
    pub allowed: &'a dyn Fn(Format) -> bool,
    /// What is to be the least.
    pub objective: Objective,
    /// Levels that one instruction converts across.
    pub levels: Level,
    /// Where the values of a function lie.
    pub ranges: &'a dyn Fn(&Function) -> Ranges,
}

/// What is held in another format, and why.
pub struct Held {
    /// The op that makes the value, or accumulates.
    pub loc: Loc,
    /// In words.
    pub message: String,
}

/// Times that a function is looked at again after something changed.
const MOST_ROUNDS: usize = 8;

impl Hold<'_> {
    /// Holds values and accumulators of a function whose values lie in these ranges.
    ///
    /// # Errors
    /// Which formats do not go together.
    pub fn function(&self, function: &mut Function, ranges: &Ranges) -> Result<Vec<Held>, String> {
        let (mut held, mut found) = (Vec::new(), self.once(function, ranges)?);
        // What reads a wider value may want more.
        for _ in 0..MOST_ROUNDS {
            if found.is_empty() {
                break;
            }
            held.append(&mut found);
            found = self.once(function, &(self.ranges)(function))?;
        }
        held.append(&mut found);
        Ok(held)
    }

    fn once(&self, function: &mut Function, ranges: &Ranges) -> Result<Vec<Held>, String> {
        let widest = widest(function);
        let body = &mut function.body;
        // Control flow is inlined or unrolled before it comes here.
        if body.blocks(body.root()).len() != 1 {
            return Ok(Vec::new());
        }
        let needs = Needs::of(body, ranges);
        let ops = Ops { hold: self, body, needs: &needs, widest };
        let (mut held, formats) = ops.choose()?;
        let stays = needs.stays;
        if !held.is_empty() {
            *body = apply(self.context, body, &formats)?;
        }
        held.extend(self.accumulators(body, &stays).into_iter().map(|(_, held)| held));
        Ok(held)
    }

    /// Lets ops on narrow formats that need not stay as they are accumulate in f32: it costs nothing.
    pub fn accumulators(&self, body: &mut Body, stays: &FxHashSet<Op>) -> Vec<(Op, Held)> {
        let mut held = Vec::new();
        for op in body.walk().into_iter().filter(|_| (self.allowed)(Format::F32)) {
            let narrow = |body: &Body| {
                body.op(op).def?.attribute(ACCUMULATE.name)?;
                let format = body.ty(*body.operands(op).first()?).format()?;
                let own = body.with_signature(op, |s| s.accumulate(format))?;
                (own.precision() < Format::F32.precision()).then_some(own)
            };
            let Some(own) = narrow(body).filter(|_| !stays.contains(&op)) else { continue };
            let wide = Attr::Type(Type::scalar(DType::Float(Format::F32)));
            body.op_mut(op).attrs.set(ACCUMULATE.name, wide);
            let message = format!("{} accumulates in f32, not in {own}", body.name(op));
            held.push((op, Held { loc: body.op(op).loc.clone(), message }));
        }
        held
    }
}

/// The ops of a function, which take levels: a narrow format, which is the op's own where that is one, f32, and f64.
struct Ops<'a> {
    hold: &'a Hold<'a>,
    body: &'a Body,
    needs: &'a Needs<'a>,
    widest: Format,
}

/// By op: the least level that it may take.
type Least = FxHashMap<Op, Level>;

impl Ops<'_> {
    /// Formats of the ops whose formats change, and what is said of them.
    fn choose(&self) -> Result<(Vec<Held>, FxHashMap<Op, Form>), String> {
        let (least, held) = self.raised();
        if held.is_empty() {
            return Ok((held, FxHashMap::default()));
        }
        let nodes = self.nodes(&least, &self.between(&least));
        let levels = self.hold.levels;
        let network = network(self.body, &nodes, levels);
        let program = program(self.body, &nodes, &network, self.hold.objective);
        let chosen = program.optimum().ok_or_else(|| {
            format!("no formats go together, where one instruction converts across {levels} levels")
        })?;
        let mut formats = FxHashMap::default();
        for (node, level) in nodes.nodes.iter().zip(chosen.levels) {
            let format = node.chain.format(level);
            // A conversion reads what is stored, in whatever format that is.
            let from = || self.body.defining_op(conversion(self.body, node.op)?.0);
            if format != node.given || from().is_some_and(|from| formats.contains_key(&from)) {
                formats.insert(node.op, format.into());
            }
        }
        Ok((held, formats))
    }

    /// The ops that may not take the formats that they are given in: those that make what does not fit where that matters, those that
    /// read it, and what makes the operands of both, where these may not fit.
    fn raised(&self) -> (Least, Vec<Held>) {
        let (mut least, mut held, mut open) = (Least::default(), Vec::new(), Vec::new());
        for &op in &self.needs.ops {
            let Some(v) = self.body.results(op).next() else { continue };
            let Some((format, wide)) = self.wider(v) else { continue };
            let Some(why) = self.needs.why(v, format).filter(|_| self.admits(op, wide)) else { continue };
            let message = format!("{} in {wide}: it {why}", self.body.name(op));
            held.push(Held { loc: self.body.op(op).loc.clone(), message });
            open.push((op, wide, true));
        }
        // What a wide op reads, and may not fit, is read as it is computed wherever it is read; what it makes may be rounded.
        let mut read = FxHashSet::default();
        while let Some((op, wide, is_read)) = open.pop() {
            let Some(level) = level_of(wide).filter(|_| self.admits(op, wide)) else { continue };
            let rises = least.get(&op).is_none_or(|own| *own < level);
            if rises {
                least.insert(op, level);
                let operands = self.misfits(op).filter(|(_, wide)| level_of(*wide) <= Some(level));
                open.extend(operands.map(|(maker, wide)| (maker, wide, true)));
            }
            if is_read && (read.insert(op) || rises) {
                let readers = self.body.results(op).flat_map(|v| self.needs.readers(v));
                open.extend(readers.map(|reader| (reader, wide, false)));
            }
        }
        (least, held)
    }

    /// The ops between raised ones, but for those that read what may not fit.
    fn between(&self, least: &Least) -> FxHashSet<Op> {
        let makers = |op: Op| self.body.operands(op).iter().filter_map(|v| self.body.defining_op(*v));
        let (mut after, mut before) = (FxHashSet::default(), FxHashSet::default());
        for &op in &self.needs.ops {
            if least.contains_key(&op) || makers(op).any(|maker| after.contains(&maker)) {
                after.insert(op);
            }
        }
        for &op in self.needs.ops.iter().rev() {
            if least.contains_key(&op) || before.contains(&op) {
                before.extend(makers(op));
            }
        }
        let reads = |op: &Op| self.misfits(*op).all(|(maker, _)| least.contains_key(&maker));
        after.into_iter().filter(|op| before.contains(op) && reads(op)).collect()
    }

    /// The ops as nodes; those that were not raised, and do not lie `between`, take the formats that they are given in.
    fn nodes(&self, least: &Least, between: &FxHashSet<Op>) -> Nodes {
        let mut nodes = Nodes::default();
        for &op in &self.needs.ops {
            let given = given(self.body, op).filter(|_| self.needs.is_open(op));
            let Some((given, own)) = given.and_then(|given| Some((given, level_of(given)?))) else {
                continue;
            };
            let narrow = if own == 0 { given } else { Format::F16 };
            let widest = self.widest.width().max(given.width());
            let formats = [narrow, Format::F32, Format::F64].into_iter().filter(|f| f.width() <= widest);
            let chain = Chain::of(formats.map(Storage::from));
            let raised = least.get(&op).copied();
            let free = raised.is_some() || between.contains(&op);
            let levels = own.max(raised.unwrap_or(own))..if free { chain.len() } else { own + 1 };
            let takes = |&level: &Level| level == own || self.admits(op, chain.format(level).word());
            let admissible = levels.filter(takes).collect();
            let range = self.needs.ranges.of(self.body.result(op, 0)).exact;
            nodes.extend(Node::of(self.body, op, (given.into(), range), chain, admissible));
        }
        nodes
    }

    /// The makers of operands of an op that may not fit their formats, and are not read as they are stored; and formats that would do.
    fn misfits(&self, op: Op) -> impl Iterator<Item = (Op, Format)> {
        let operands = self.body.operands(op).iter().filter(move |v| self.needs.misfits(**v, op));
        operands.filter_map(|v| {
            let wide = self.wider(*v)?.1;
            Some((self.body.defining_op(*v).filter(|maker| self.admits(*maker, wide))?, wide))
        })
    }

    /// The format of a value, and the next one whose exponents reach further.
    fn wider(&self, v: Value) -> Option<(Format, Format)> {
        let format = self.body.ty(v).format()?;
        let reaches = |format: Format| format.max_finite().log2().round();
        let further = |wide: &Format| {
            wide.width() <= self.widest.width()
                && reaches(*wide) > reaches(format)
                && (self.hold.allowed)(*wide)
        };
        let wide = [Format::F32, Format::F64].into_iter().find(further);
        wide.filter(|_| !is_quantised(format)).map(|wide| (format, wide))
    }

    /// Whether an op may be computed in a wider format. It reads nothing that has more digits.
    fn admits(&self, op: Op, wide: Format) -> bool {
        let (body, converts) = (self.body, conversion(self.body, op).is_some());
        let holds = |ty: Type| ty.format().is_none_or(|own| Storage::from(wide).holds(own.into()));
        self.needs.is_open(op)
            && (self.hold.allowed)(wide)
            && (converts || body.operand_types(op).into_iter().all(holds) && takes(body, op, wide))
    }
}

/// The format that an op is given in: that of its result, or else of what it reads.
fn given(body: &Body, op: Op) -> Option<Format> {
    let result = body.results(op).next()?;
    let read = || body.operand_types(op).into_iter().find_map(Type::format);
    body.ty(result).format().or_else(read)
}

/// The level of a format, if it is one that ops take.
fn level_of(format: Format) -> Option<Level> {
    match format {
        Format::F16 | Format::Bf16 => Some(0),
        Format::F32 => Some(1),
        Format::F64 => Some(2),
        _ => None,
    }
}

/// The greatest format that a function speaks of where it is called.
fn widest(function: &Function) -> Format {
    let ty = function.ty();
    let types = ty.iter().flat_map(|ty| ty.inputs.iter().chain(ty.results.iter()));
    let wide = types.copied().filter_map(Type::format).any(|format| format == Format::F64);
    if wide { Format::F64 } else { Format::F32 }
}
