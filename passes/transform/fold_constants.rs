//! `fold-constants`: computes beforehand what depends on no argument.

use ngc_dialects::ng::constant::{ERROR, all_elements, tensor_to_attr_of};
use ngc_dialects::transfer::Flow;
use ngc_interp::evaluate_op;
use ngc_ir::dominance::definition_order;
use ngc_ir::pass::{Anchor, Changed, Function, OptionDef, OptionKind, Pass, PassContext, StatisticDef};
use ngc_ir::{Attr, AttrDict, Body, Context, Diagnostics, Op, Resources, Rewriter, Type, Value};
use ngc_numerics::Tensor;
use ngc_numerics::evaluator::{Evaluator, Mode};
use rustc_hash::{FxHashMap, FxHashSet};

use super::erase_dead;
use crate::analysis::work::work;

/// See the module.
pub struct FoldConstants;

/// Results may have so many elements even where they are made of fewer.
const SMALL: f64 = 1024.0;
/// The same of integers that rounding has a part in.
const DECIDED: f64 = (1u64 << 24) as f64;

impl Pass for FoldConstants {
    fn name(&self) -> &'static str {
        "fold-constants"
    }

    fn summary(&self) -> &'static str {
        "Compute beforehand what depends on constants of several elements alone"
    }

    fn description(&self) -> &'static str {
        "Products of weights, a batch normalisation's factors in the weights of a convolution, and the like are replaced by \
         the constants that they are: those that would have been computed at run time, each op rounded in its own format, so \
         no result changes by a bit. A constant keeps the bound of the error that it was computed with (`error`), so that bounds \
         hold as before; but over the reals its elements are taken as they are: that is why it comes last, and why numbers that no tensor \
         is combined with (`1 / 3`) stay as they are written, as does what comes to one number in all elements. What may be off by any distance stays. What would make the program larger, an outer product, an expansion to more \
         elements than the constants have that it is made of, or another form of a weight that is read as it is, too, stays, \
         unless it is small (1024 elements). Integers and truth values that are made of rounded numbers, as the buckets of \
         positions are, are folded up to 2^24 elements: which side of a step they fall on is then settled."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[OptionDef {
            name: "max-work",
            kind: OptionKind::Int { default: 10_000_000_000, min: 0 },
            doc: "simple operations that one op may take; one that takes more stays",
        }]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "folded", doc: "values replaced by constants" },
            StatisticDef { name: "erased", doc: "unused ops erased" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let most = cx.options.int("max-work") as f64;
        let folded = fold(cx.context, function, |body, kept| worth(body, most, kept));
        if folded == 0 {
            return Ok(Changed::No);
        }
        cx.count("folded", folded);
        cx.count("erased", erase_dead(&mut function.body));
        Ok(Changed::Yes)
    }
}

/// Computes beforehand only the integers and truth values that depend on no argument and are made of rounded numbers: what follows from
/// them is what the program says, whatever numbers are rounded to otherwise. How many were.
pub(crate) fn decide(context: &Context, function: &mut Function) -> usize {
    let wanted = |body: &Body, kept: &FxHashSet<Op>| {
        let (order, decided) = (definition_order(body), decided(body));
        let mut last = FxHashSet::default();
        for &op in &order {
            if !body.results(op).any(|v| decided[v.index()]) {
                super::each_use(body, op, |v| {
                    last.insert(v);
                });
            }
        }
        let wanted = order.into_iter().filter(|op| !kept.contains(op) && body.num_results(*op) == 1);
        let wanted = wanted.map(|op| (op, body.result(op, 0)));
        wanted.filter(|(_, v)| decided[v.index()] && last.contains(v)).collect()
    };
    let folded = fold(context, function, wanted);
    if folded > 0 {
        erase_dead(&mut function.body);
    }
    folded
}

/// Replaces by constants the values that `wanted` gives, with ops that cannot be evaluated known to it; how many.
fn fold(
    context: &Context,
    function: &mut Function,
    wanted: impl Fn(&Body, &FxHashSet<Op>) -> Vec<(Op, Value)>,
) -> usize {
    let mut values = Values { resources: function.resources.clone(), known: FxHashMap::default() };
    let mut kept = FxHashSet::default();
    let found: Vec<(Op, Value, Attr)> = loop {
        let mut found = Vec::new();
        let before = kept.len();
        for (op, value) in wanted(&function.body, &kept) {
            match values.constant(context, &function.body, value) {
                Some(attr) => found.push((op, value, attr)),
                None => drop(kept.insert(op)),
            }
        }
        if kept.len() == before {
            break found;
        }
    };
    // Integers and truth values have no error.
    let is_float = |(_, value, _): &(Op, Value, Attr)| function.body.ty(*value).format().is_some();
    let flow = if found.iter().any(is_float) { bounds(function) } else { Flow::default() };
    let mut rewriter = Rewriter::new(context, &mut function.body);
    let mut folded = 0;
    for (op, value, attr) in found {
        let loc = rewriter.body().op(op).loc.clone();
        let mut attrs = AttrDict::from([("value", attr)]);
        if rewriter.body().ty(value).format().is_some() {
            match flow.error(value) {
                0.0 => {}
                error if error.is_finite() => attrs.set(ERROR, Attr::float(error)),
                _ => continue,
            }
        }
        let constant = rewriter.build_before(op, |b| {
            b.loc = loc;
            b.emit("ng.constant", &[], attrs)
        });
        if let Ok(constant) = constant {
            rewriter.replace_value(value, constant);
            folded += 1;
        }
    }
    folded
}

/// What the errors of values that depend on no argument are at most.
fn bounds(function: &Function) -> Flow {
    let (body, mut flow) = (&function.body, Flow::of_function(&function.body, None, &function.resources));
    let fixed = fixed(body);
    for op in definition_order(body) {
        if body.num_results(op) > 0 && body.results(op).all(|v| fixed[v.index()]) {
            flow.step(body, op);
        }
    }
    flow
}

/// Which values are integers or truth values that depend on no argument and that rounding has a part in, by index.
fn decided(body: &Body) -> Vec<bool> {
    let fixed = fixed(body);
    let mut rounded = vec![false; body.num_values()];
    for op in definition_order(body) {
        let inexact = body.operands(op).iter().any(|v| rounded[v.index()]);
        for v in body.results(op).filter(|v| fixed[v.index()]) {
            rounded[v.index()] = inexact || body.ty(v).format().is_some() && !body.is_constant(op);
        }
    }
    let few = |v: Value| {
        body.ty(v).static_shape().is_some_and(|s| s.iter().map(|&n| n as f64).product::<f64>() <= DECIDED)
    };
    let of = |n: usize| (rounded[n], Value::from_index(n));
    (0..rounded.len())
        .map(of)
        .map(|(rounded, v)| rounded && body.ty(v).format().is_none() && few(v))
        .collect()
}

/// Which values depend on no argument, by index: what ops without effects make of nothing, or of such values alone.
pub(crate) fn fixed(body: &Body) -> Vec<bool> {
    let mut fixed = vec![false; body.num_values()];
    for op in definition_order(body) {
        let Some(def) = body.op(op).def else { continue };
        if def.traits.pure && body.operands(op).iter().all(|v| fixed[v.index()]) {
            body.results(op).for_each(|v| fixed[v.index()] = true);
        }
    }
    fixed
}

/// Who reads a value in the end, if all is folded that can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// Nobody.
    None,
    /// What takes part in one value that is folded.
    Folded(Value),
    /// Several of these.
    Several,
    /// An op that stays.
    Op,
}

/// Which values are still needed, or needed more than once, when all is folded that can be, by index.
fn shared(body: &Body, order: &[Op], fixed: &[bool]) -> Vec<bool> {
    let mut readers = vec![Reader::None; body.num_values()];
    for &op in order.iter().rev() {
        let mut results = body.results(op);
        let own = match (results.next(), results.next()) {
            (Some(value), None) if fixed[value.index()] && !body.is_constant(op) => {
                match readers[value.index()] {
                    Reader::Op => Reader::Folded(value),
                    other => other,
                }
            }
            _ => Reader::Op,
        };
        super::each_use(body, op, |v| {
            let reader = &mut readers[v.index()];
            *reader = match (*reader, own) {
                (known, new) if known == new => known,
                (Reader::None, other) | (other, Reader::None) => other,
                (Reader::Op, _) | (_, Reader::Op) => Reader::Op,
                _ => Reader::Several,
            };
        });
    }
    readers.iter().map(|reader| matches!(reader, Reader::Several | Reader::Op)).collect()
}

/// What is known of a value that depends on no argument.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Elements of the largest constant that it is made of and nothing else needs.
    from: f64,
    /// Whether there is a constant among what it is made of.
    stored: bool,
    /// Whether an op on several elements takes part.
    several: bool,
    /// The work of the op that takes most.
    work: f64,
}

/// The ops that shall become constants, and their results: the last ones that depend on no argument, or, where one cannot be
/// folded, those before it.
fn worth(body: &Body, most: f64, kept: &FxHashSet<Op>) -> Vec<(Op, Value)> {
    let (order, fixed) = (definition_order(body), fixed(body));
    let elements = |v: Value| body.ty(v).static_shape().map(|s| s.iter().map(|&n| n as f64).product::<f64>());
    let mut extents = vec![Extent::default(); body.num_values()];
    let (shared, decided) = (shared(body, &order, &fixed), decided(body));
    for &op in &order {
        for v in body.results(op).filter(|v| fixed[v.index()]) {
            let parts = body.operands(op).iter().map(|&v| (elements(v).unwrap_or(0.0), extents[v.index()]));
            let own = elements(v).unwrap_or(0.0);
            let constant = body.is_constant(op);
            let stored = constant || decided[v.index()];
            let below = |of: fn(&Extent) -> f64| parts.clone().map(|(_, e)| of(&e)).fold(0.0, f64::max);
            let types: Vec<Type> = body.operands(op).iter().map(|&v| body.ty(v)).collect();
            let takes = body.op(op).def.map_or(0.0, |def| work(def, &types, body.ty(v)));
            extents[v.index()] = Extent {
                from: below(|e| e.from).max(if stored && !shared[v.index()] { own } else { 0.0 }),
                stored: stored || parts.clone().any(|(_, e)| e.stored),
                several: !constant && (own > 1.0 || parts.clone().any(|(n, e)| n > 1.0 || e.several)),
                work: below(|e| e.work).max(takes),
            };
        }
    }
    let folds = |value: Value| {
        let Extent { from, stored, several, work } = extents[value.index()];
        let fits = elements(value).is_some_and(|n| n <= from.max(SMALL));
        work <= most && (decided[value.index()] || several && stored && fits)
    };
    let (mut wanted, mut found) = (vec![false; body.num_values()], Vec::new());
    for &op in order.iter().rev() {
        let mut results = body.results(op);
        let stays = match (results.next(), results.next()) {
            (Some(value), None) if fixed[value.index()] && !body.is_constant(op) => {
                // What makes up a number that is kept stays with it, or a second run could compute the number from constants.
                if !wanted[value.index()] || kept.contains(&op) {
                    continue;
                }
                let folded = folds(value);
                found.extend(folded.then_some((op, value)));
                !folded
            }
            _ => true,
        };
        if stays {
            super::each_use(body, op, |v| wanted[v.index()] = true);
        }
    }
    found.reverse();
    found
}

fn is_uniform(tensor: &Tensor) -> bool {
    let elements = tensor.to_f64s();
    elements.first().is_some_and(|first| elements.iter().all(|x| x == first))
}

/// Tensors by the value that they are of.
struct Values {
    resources: Resources,
    known: FxHashMap<Value, Option<Tensor>>,
}

impl Values {
    /// The constant that a value is; nothing if an op has no value there, such as an integer division by zero, or if all of
    /// its elements are one number of a format: rules look for such numbers, and a second run would find one where the first had none.
    fn constant(&mut self, context: &Context, body: &Body, value: Value) -> Option<Attr> {
        // Operands first, without recursion: chains may be long.
        let mut stack = vec![value];
        while let Some(&next) = stack.last() {
            let op = body.defining_op(next)?;
            let before = stack.len();
            stack.extend(body.operands(op).iter().filter(|v| !self.known.contains_key(v)));
            if stack.len() == before {
                stack.pop();
                if !self.known.contains_key(&next) {
                    let tensor = self.evaluate(context, body, op);
                    self.known.insert(next, tensor);
                }
            }
        }
        let (tensor, ty) = (self.known.get(&value)?.as_ref()?, body.ty(value));
        let plain = ty.format().is_none() || !is_uniform(tensor);
        (ty.static_shape()? == tensor.shape && plain).then(|| tensor_to_attr_of(tensor, ty))
    }

    fn evaluate(&self, context: &Context, body: &Body, op: Op) -> Option<Tensor> {
        let data = body.op(op);
        let def = data.def?;
        if def.traits.constant {
            let payload = |key: &str| self.resources.get(key).map(|blob| &blob.bytes);
            return all_elements(data.attrs.get("value")?, payload).ok();
        }
        let inputs = body.operands(op).iter().map(|v| self.known.get(v)?.as_ref());
        let inputs = inputs.collect::<Option<Vec<&Tensor>>>()?;
        let evaluator = Evaluator::new(Mode::Rounded);
        let mut results = evaluate_op(context, &evaluator, def, &data.attrs, &inputs).ok()?;
        results.pop().filter(|_| results.is_empty())
    }
}
