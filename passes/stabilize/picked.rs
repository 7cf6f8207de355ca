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
    /// What the first function takes, which is picked alike, and what each is picked of.
    picked: Vec<(Value, Value)>,
    /// The ops that pick and move the first of them with their results, in order.
    moves: Vec<(Op, Value)>,
    /// The functions with their results, in order.
    functions: Vec<(Op, Value)>,
}

/// How a value is picked.
struct Chain {
    source: Value,
    moves: Vec<(Op, Value)>,
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
        let mut functions = Vec::new();
        let mut op = last;
        let mut taken = Vec::new();
        while let Some(operands) = function_of(body, op) {
            functions.push((op, body.result(op, 0)));
            let one = operands.len() == 1;
            taken = operands;
            match body.defining_op(taken[0]) {
                Some(next) if one => op = next,
                _ => break,
            }
        }
        let chains: Vec<Chain> = taken.iter().map(|&v| Chain::of(body, v)).collect::<Option<_>>()?;
        let first = chains.first()?;
        chains[1..].iter().all(|other| first.is_like(other, body)).then_some(())?;
        let picked = taken.iter().copied().zip(chains.iter().map(|chain| chain.source)).collect();
        functions.reverse();
        Some(Picked { picked, moves: chains.into_iter().next()?.moves, functions })
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
            let mut again = |op: Op, others: &[(Value, Value)]| {
                let other = |v: &Value| others.iter().find(|(given, _)| given == v).map_or(*v, |pair| pair.1);
                let operands: Vec<Value> = builder.body.operands(op).iter().map(other).collect();
                let (name, attrs) = (builder.body.name(op), builder.body.op(op).attrs.clone());
                builder.emit(name, &operands, attrs)
            };
            let mut others = self.picked.clone();
            for &(op, result) in &self.functions[..count] {
                let value = again(op, &others)?;
                others = vec![(result, value)];
                all.push(value);
            }
            let mut value = others[0].1;
            let mut given = self.picked[0].1;
            for &(op, result) in &self.moves {
                value = again(op, &[(given, value)])?;
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

impl Chain {
    fn of(body: &Body, picked: Value) -> Option<Chain> {
        let (mut moves, mut by_data, mut source) = (Vec::new(), false, None);
        let mut value = picked;
        while let Some(op) = body.defining_op(value)
            && let Some((operand, data)) = moved(body, op)
        {
            (by_data, source) = (by_data || data, Some(operand));
            moves.push((op, body.result(op, 0)));
            value = operand;
        }
        let source = source.filter(|&v| by_data && body.defining_op(v).is_some())?;
        moves.reverse();
        Some(Chain { source, moves })
    }

    /// Whether both pick the same places of values of one type.
    fn is_like(&self, other: &Chain, body: &Body) -> bool {
        let mut pairs = vec![(self.source, other.source)];
        let alike = |(&(a, result), &(b, other)): (&(Op, Value), &(Op, Value))| {
            let operands = body.operands(a).iter().zip(body.operands(b));
            let same = operands.clone().all(|(a, b)| a == b || pairs.last() == Some(&(*a, *b)));
            pairs.push((result, other));
            same && body.name(a) == body.name(b)
                && body.op(a).attrs == body.op(b).attrs
                && body.operands(a).len() == body.operands(b).len()
        };
        body.ty(self.source) == body.ty(other.source)
            && self.moves.len() == other.moves.len()
            && self.moves.iter().zip(&other.moves).all(alike)
    }
}

/// The operands of which an op is a function of corresponding elements, its others being single numbers.
fn function_of(body: &Body, op: Op) -> Option<Vec<Value>> {
    let function = body.with_signature(op, facts::Pointwise::of).flatten()?;
    matches!(function, facts::Pointwise::Function(structure::Function::Real(..))).then_some(())?;
    let rank = |v: Value| body.ty(v).shape().map_or(0, <[_]>::len);
    let parts: Vec<Value> = body.operands(op).iter().copied().filter(|&v| rank(v) > 0).collect();
    let alike = |&v: &Value| body.ty(v).format().is_some() && body.ty(v) == body.ty(parts[0]);
    (!parts.is_empty() && parts.iter().all(alike)).then_some(parts)
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
