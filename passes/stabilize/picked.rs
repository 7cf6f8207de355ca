//! Elements that are picked by data, as the probability of a label is.
//!
//! Which element is picked is not known to the real program, so a picked value is a leaf of it. But a function of picked elements
//! is what is picked of the function of all elements. Where the latter has a better form, the function is taken first.

use ngc_dialects::facts;
use ngc_ir::pass::Function;
use ngc_ir::structure;
use ngc_ir::{Body, Context, Op, Rewriter, Value};
use rustc_hash::FxHashSet;

/// A function of picked elements.
pub struct Picked {
    /// What elements are picked of.
    source: Value,
    /// What is picked, as the first function takes it.
    picked: Value,
    /// The ops that pick and move with their results, in order.
    moves: Vec<(Op, Value)>,
    /// The functions with their results, in order.
    functions: Vec<(Op, Value)>,
}

/// The functions of picked elements in a body, the last of each chain.
pub fn all(body: &Body) -> Vec<Picked> {
    let Some(block) = body.entry() else { return Vec::new() };
    let found: Vec<Picked> = body.ops(block).filter_map(|op| Picked::of(body, op)).collect();
    let inner: FxHashSet<Op> =
        found.iter().flat_map(|picked| &picked.functions[..picked.len() - 1]).map(|f| f.0).collect();
    let is_inner = |picked: &Picked| picked.functions.last().is_some_and(|last| inner.contains(&last.0));
    found.into_iter().filter(|picked| !is_inner(picked)).collect()
}

impl Picked {
    fn of(body: &Body, last: Op) -> Option<Picked> {
        let (mut functions, mut moves, mut by_data) = (Vec::new(), Vec::new(), false);
        let mut op = last;
        while let Some(operand) = function_of(body, op) {
            functions.push((op, body.result(op, 0)));
            op = body.defining_op(operand)?;
        }
        let (picked, mut source) = (body.results(op).next()?, None);
        while let Some((operand, data)) = moved(body, op) {
            (by_data, source) = (by_data || data, Some(operand));
            moves.push((op, body.result(op, 0)));
            let Some(next) = body.defining_op(operand) else { break };
            op = next;
        }
        let source = source.filter(|_| by_data && !functions.is_empty())?;
        body.defining_op(source)?;
        moves.reverse();
        functions.reverse();
        Some(Picked { source, picked, moves, functions })
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Takes the first `count` functions before elements are picked; what each makes of all elements.
    ///
    /// # Errors
    /// A sentence that says which op cannot be written.
    pub fn swap(
        &self,
        context: &Context,
        function: &mut Function,
        count: usize,
    ) -> Result<Vec<Value>, String> {
        let (last, old) = self.functions[count - 1];
        let mut rewriter = Rewriter::new(context, &mut function.body);
        let (all, new) = rewriter.build_before(last, |builder| {
            let mut all = Vec::new();
            let mut again = |op: Op, given: Value, value: Value| {
                let operands: Vec<Value> =
                    builder.body.operands(op).iter().map(|&v| if v == given { value } else { v }).collect();
                let (name, attrs) = (builder.body.name(op), builder.body.op(op).attrs.clone());
                builder.emit(name, &operands, attrs)
            };
            let (mut given, mut value) = (self.picked, self.source);
            for &(op, result) in &self.functions[..count] {
                value = again(op, given, value)?;
                given = result;
                all.push(value);
            }
            given = self.source;
            for &(op, result) in &self.moves {
                value = again(op, given, value)?;
                given = result;
            }
            match builder.ty(value) == builder.ty(old) {
                true => Ok((all, value)),
                false => Err("picking gives another type".into()),
            }
        })?;
        rewriter.replace_value(old, new);
        rewriter.erase_if_dead(last);
        Ok(all)
    }
}

/// The operand of which an op is a function of corresponding elements, its others being single numbers.
fn function_of(body: &Body, op: Op) -> Option<Value> {
    let function = body.with_signature(op, facts::Pointwise::of).flatten()?;
    matches!(function, facts::Pointwise::Function(structure::Function::Real(..))).then_some(())?;
    let rank = |v: Value| body.ty(v).shape().map_or(0, <[_]>::len);
    let mut parts = body.operands(op).iter().copied().filter(|&v| rank(v) > 0);
    let operand = parts.next()?;
    (parts.next().is_none() && body.ty(operand).format().is_some()).then_some(operand)
}

/// The operand of which an op only moves elements, and whether data say which.
fn moved(body: &Body, op: Op) -> Option<(Value, bool)> {
    let def = body.op(op).def.filter(|def| def.traits.pure)?;
    (body.num_results(op) == 1).then_some(())?;
    let ty = body.ty(body.result(op, 0));
    let of = body.with_signature(op, |s| facts::moved(s, 0, ty)).flatten()?;
    let [operand] = of[..] else { return None };
    Some((body.operands(op)[operand], def.structure.is_none()))
}
