//! `canonicalize`: folds that change no bit, operands in canonical order.

use ngc_ir::dominance::definition_order;
use ngc_ir::op_def::{Fold, OpDef};
use ngc_ir::pass::{Anchor, Changed, Function, OptionDef, OptionKind, Pass, PassContext, StatisticDef};
use ngc_ir::{AttrDict, Block, Body, Context, Diagnostics, Op, OpState, Signature, Type, Value};
use rustc_hash::FxHashMap;

use super::{Replacements, can_replace, constant, constants, erase_dead, movement, simplified};

/// See the module.
pub struct Canonicalize;

impl Pass for Canonicalize {
    fn name(&self) -> &'static str {
        "canonicalize"
    }

    fn summary(&self) -> &'static str {
        "Simplify ops by folds that are exact in their format, and erase what is unused"
    }

    fn description(&self) -> &'static str {
        "Applies what each op's declaration knows: an op that equals a constant, one of its operands, or what the op \
         that made its operand was given, bit for bit and for every input, is replaced by it. So is a value whose elements were \
         moved and came back to their places. Equal constants of a \
         block become one. Constants go to the right of commutative ops. Ops without effects whose results are unused are erased. Nothing here is an \
         approximation: `x + 0` stays, because `-0 + 0` is `+0`; `x * 1` and `neg(neg(x))` go; constants fold only where \
         nothing is rounded, so `1 / 3` stays."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[OptionDef {
            name: "max-iterations",
            kind: OptionKind::Int { default: 10, min: 1 },
            doc: "sweeps over the function at most",
        }]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "folded", doc: "ops replaced by a constant or by another value" },
            StatisticDef { name: "swapped", doc: "commutative ops whose constant moved right" },
            StatisticDef { name: "erased", doc: "unused ops erased" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let sweep = Sweep::run_to_end(cx.context, &mut function.body, cx.options.int("max-iterations"));
        cx.count("folded", sweep.folded);
        cx.count("swapped", sweep.swapped);
        cx.count("erased", sweep.erased);
        Ok(sweep.changed().into())
    }
}

/// What was done to a body.
pub(super) struct Sweep {
    /// Declaration of the op that holds folded constants.
    constant: Option<&'static OpDef>,
    folded: usize,
    swapped: usize,
    erased: usize,
}

impl Sweep {
    /// Sweeps until nothing changes, or as often as may be.
    pub(super) fn run_to_end(context: &Context, body: &mut Body, most: i64) -> Sweep {
        let mut sweep = Sweep { constant: context.op("ng.constant"), folded: 0, swapped: 0, erased: 0 };
        for _ in 0..most {
            if !sweep.run(context, body) {
                break;
            }
        }
        sweep.erased = erase_dead(body);
        sweep
    }

    /// Whether anything changed.
    pub(super) fn changed(&self) -> bool {
        self.folded + self.swapped + self.erased > 0
    }

    /// One sweep from definitions to uses. Whether anything changed.
    fn run(&mut self, context: &Context, body: &mut Body) -> bool {
        let before = self.folded + self.swapped;
        self.folded += movement::undo(context, body);
        let mut replaced = Replacements::new(body);
        let mut constants = Constants::default();
        for op in definition_order(body) {
            if self.folded > 0 {
                replaced.apply(body, op);
            }
            let Some(def) = body.op(op).def else { continue };
            // Ops on equal constants are simplified like ops on one.
            if def.traits.constant
                && let Some(first) = constants.first(body, op)
            {
                replaced.insert(body.result(op, 0), first);
                body.unlink(op);
                self.folded += 1;
                continue;
            }
            if def.traits.commutative
                && let [a, b, ..] = *body.operands(op)
                && constant(body, a).is_some()
                && constant(body, b).is_none()
            {
                body.set_operand(op, 0, b);
                body.set_operand(op, 1, a);
                self.swapped += 1;
            }
            if let Some(new) = self.fold(body, op, def, &mut constants).or_else(|| simplified(body, op)) {
                replaced.insert(body.result(op, 0), new);
                body.unlink(op);
                self.folded += 1;
            }
        }
        self.folded + self.swapped > before
    }

    /// The operand or the constant that an op equals.
    fn fold(&self, body: &mut Body, op: Op, def: &'static OpDef, known: &mut Constants) -> Option<Value> {
        let fold = def.fold?;
        if body.num_results(op) != 1 {
            return None;
        }
        let result = body.result(op, 0);
        let ty = body.ty(result);
        let outcome = {
            let operands = body.operand_types(op);
            let signature = Signature { def, operands: &operands, attrs: &body.op(op).attrs };
            fold(&signature, &constants(body, body.operands(op)))?
        };
        match outcome {
            Fold::Operand(n) => body.operands(op).get(n).copied().filter(|&v| can_replace(body, result, v)),
            Fold::Constant(value) => {
                let def = self.constant?;
                let attrs = AttrDict::from([("value", value)]);
                let inferred = Signature { def, operands: &[], attrs: &attrs }.infer().ok()?;
                if *inferred != [ty] {
                    return None;
                }
                let loc = body.op(op).loc.clone();
                let state = OpState { results: [ty].into_iter().collect(), attrs, ..OpState::new(def, loc) };
                let new = body.create(state);
                body.insert_before(op, new);
                let first = known.first(body, new);
                if first.is_some() {
                    body.unlink(new);
                }
                Some(first.unwrap_or_else(|| body.result(new, 0)))
            }
        }
    }
}

/// The constants that a sweep has met, by block.
#[derive(Default)]
struct Constants(FxHashMap<(Option<Block>, AttrDict, Type), Value>);

impl Constants {
    /// The value of an equal constant before this one in its block; if there is none, this one is the first.
    fn first(&mut self, body: &Body, op: Op) -> Option<Value> {
        let value = body.result(op, 0);
        let key = (body.block(op), body.op(op).attrs.clone(), body.ty(value));
        let first = *self.0.entry(key).or_insert(value);
        (first != value).then_some(first)
    }
}
