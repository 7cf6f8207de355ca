//! Elements that are moved and come back: a value each of whose elements is that of another value at the same place is that
//! value, whatever ops lie between.

use ngc_dialects::facts;
use ngc_ir::dominance::definition_order;
use ngc_ir::{Body, Context, Op, Resources, Value};
use ngc_reals::read::Reader;
use ngc_reals::{Node, Store};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Replacements, can_replace};

/// Replaces values of the first block by those that they are. How many were.
pub(super) fn undo(context: &Context, body: &mut Body) -> usize {
    let Some(block) = body.entry() else { return 0 };
    let moves = |op: &Op| {
        let declares = body.op(*op).def.is_some_and(|def| def.structure.is_some());
        // Over the reals a conversion moves too, but it rounds.
        let mut elems =
            body.operands(*op).iter().copied().chain(body.results(*op)).map(|v| body.ty(v).elem());
        let first = elems.next();
        let alike = elems.all(|elem| Some(elem) == first);
        declares && alike && body.with_signature(*op, facts::only_chooses) == Some(true)
    };
    let moving: FxHashSet<Op> = body.ops(block).filter(moves).collect();
    // What is moved once is elsewhere.
    let again = |op: Op| {
        let inner = |v: &Value| body.defining_op(*v).is_some_and(|inner| moving.contains(&inner));
        moving.contains(&op) && body.operands(op).iter().any(inner)
    };
    if !body.ops(block).any(again) {
        return 0;
    }
    let (mut store, resources) = (Store::new(), Resources::default());
    let readings = Reader::new(&mut store, context, &resources).some(body, &[], |op| moving.contains(&op));
    let (mut leaves, mut replaced, mut found) = (FxHashMap::default(), Replacements::new(body), 0);
    for &argument in body.arguments(block) {
        leaves.insert(readings[&argument].element.id, argument);
    }
    for op in definition_order(body) {
        if found > 0 {
            replaced.apply(body, op);
        }
        for value in body.results(op).collect::<Vec<_>>() {
            let Some(reading) = readings.get(&value) else { continue };
            if !matches!(store.node(reading.element.id), Node::Leaf(_)) {
                continue;
            }
            // A leaf is first the value of which nothing else is known.
            let of = *leaves.entry(reading.element.id).or_insert(value);
            let own = &readings[&of];
            let stays = own.element == reading.element && own.extents == reading.extents;
            if stays && body.num_results(op) == 1 && can_replace(body, value, of) {
                replaced.insert(value, of);
                body.unlink(op);
                found += 1;
            }
        }
    }
    found
}
