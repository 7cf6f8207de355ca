//! Programs that are written back: they compute the same, with the ops that they had.

use std::collections::BTreeMap;

use ngc_ir::structure::Size;
use ngc_ir::{Body, Builder, Context, Resources, Value};
use ngc_numerics::{Format, Random};
use ngc_reals::read::{Reader, Reading};
use ngc_reals::recognise::Definitions;
use ngc_reals::write::Writer;
use ngc_reals::{Form, Id, Node, Store};
use rustc_hash::FxHashMap;

use super::programs::{agree, programs, returned};

/// The arguments and constants that leaves are.
pub fn leaves(store: &Store, body: &Body, readings: &FxHashMap<Value, Reading>) -> FxHashMap<u32, Value> {
    let mut leaves = FxHashMap::default();
    let block = body.entry().expect("a block");
    let results = body.ops(block).flat_map(|op| body.results(op).collect::<Vec<_>>());
    for value in body.arguments(block).iter().copied().chain(results) {
        let Some(reading) = readings.get(&value) else { continue };
        let Node::Leaf(leaf) = store.node(reading.element.id) else { continue };
        if reading.axes().is_some_and(|axes| axes.is_sorted()) {
            leaves.entry(*leaf).or_insert(value);
        }
    }
    leaves
}

/// A body with its result written anew, each term by the form that is chosen among those that it has, and whether a
/// number was rounded.
fn rewritten(
    context: &Context,
    body: &Body,
    forms: &dyn Fn(&mut Store) -> Vec<Form>,
) -> Result<(Body, bool), String> {
    let (mut store, resources, mut body) = (Store::new(), Resources::default(), body.clone());
    let readings = Reader::new(&mut store, context, &resources).body(&body, &[]);
    let (leaves, values) = (leaves(&store, &body, &readings), FxHashMap::default());
    let result = returned(&body);
    let (ty, reading) = (body.ty(result), readings[&result].clone());
    let end = body.last_op(body.entry().expect("a block")).expect("a return");
    let forms = forms(&mut store);
    let form = |id: Id| forms.get(id.number()).cloned().unwrap_or(Form::Plain);
    let builder = Builder::before(context, &mut body, end);
    let mut writer = Writer::new(&store, builder, Format::F32, &leaves, &form, &values);
    let extents: Vec<Size> = reading.extents;
    let value = writer.value(&reading.element, &extents)?;
    let value = writer.typed(value, ty)?;
    let rounded = writer.has_rounded();
    body.set_operands(end, &[value]);
    Ok((body, rounded))
}

/// The ops on which the result depends, by name; constants aside.
pub fn counted(body: &Body) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    let (mut open, mut seen) = (vec![returned(body)], Vec::new());
    while let Some(value) = open.pop() {
        let Some(op) = body.defining_op(value).filter(|op| !seen.contains(op)) else { continue };
        seen.push(op);
        open.extend(body.operands(op));
        let constant = |v: &Value| body.defining_op(*v).is_some_and(|op| body.is_constant(op));
        let folded = !body.operands(op).is_empty() && body.operands(op).iter().all(constant);
        if !folded && !body.is_constant(op) {
            *counts.entry(body.name(op)).or_default() += 1;
        }
    }
    counts
}

/// Ops that only move elements.
const MOVEMENT: [&str; 8] = [
    "ng.transpose",
    "ng.reshape",
    "ng.squeeze",
    "ng.unsqueeze",
    "ng.gather",
    "ng.slice",
    "ng.broadcast_to",
    "ng.convert",
];

#[test]
fn programs_are_written_back_as_they_are() {
    let context = ngc_dialects::context();
    let shown = std::env::var("NGC_SHOW").ok();
    let (mut longer, mut moved, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for program in programs(&context, "spellings") {
        let (body, rounded) = match rewritten(&context, &program.body, &|_| Vec::new()) {
            Ok(found) => found,
            Err(why) => {
                refused.push(format!("{}: {why}", program.name));
                continue;
            }
        };
        let inputs = program.inputs(&mut Random::seeded(&program.name));
        let exact = program.evaluate(&context, &program.body, &inputs).expect("a value");
        let again = program.evaluate(&context, &body, &inputs).expect("a value");
        assert!(rounded || agree(&exact, &again), "@{}\n{}", program.name, program.text(&body));
        let (before, after) = (counted(&program.body), counted(&body));
        let total = |counts: &BTreeMap<&str, usize>| counts.values().sum::<usize>();
        let movement = |counts: &BTreeMap<&str, usize>| -> usize {
            MOVEMENT.iter().map(|name| counts.get(name).copied().unwrap_or(0)).sum()
        };
        if shown.as_ref() == Some(&program.name) {
            println!("{}\n{}", program.text(&program.body), program.text(&body));
        }
        if total(&after) > total(&before) + 1 {
            longer.push(format!("{} {} -> {} {after:?}", program.name, total(&before), total(&after)));
        }
        if movement(&after) > movement(&before) {
            moved.push(format!("{} {} -> {} {after:?}", program.name, movement(&before), movement(&after)));
        }
    }
    println!("longer {}\n{}\n", longer.len(), longer.join("\n"));
    println!("moved {}\n{}\n", moved.len(), moved.join("\n"));
    assert!(refused.is_empty(), "{refused:#?}");
    // What is left are ops that are written by their steps, windows, and products that a normal form parted otherwise.
    assert!(longer.len() <= 32, "{} programs become longer", longer.len());
    assert!(moved.len() <= 23, "{} programs are moved more than before", moved.len());
}

/// Whichever of the ops and parts that are recognised in a term computes it, the program stays what it is.
#[test]
fn recognised_ops_compute_the_same() {
    let context = ngc_dialects::context();
    let definitions = Definitions::new(&context);
    let (mut written, mut ops, mut refused) = (0, 0, Vec::new());
    for program in programs(&context, "spellings") {
        let inputs = program.inputs(&mut Random::seeded(&program.name));
        let exact = program.evaluate(&context, &program.body, &inputs).expect("a value");
        for choice in 0..3 {
            let forms = |store: &mut Store| {
                let ids: Vec<Id> = store.ids().collect();
                let mut chosen = Vec::new();
                for id in ids {
                    let found = definitions.forms(store, id, &|_| true);
                    chosen.push(found.get(choice).cloned().unwrap_or(Form::Plain));
                }
                chosen
            };
            match rewritten(&context, &program.body, &forms) {
                Ok((body, rounded)) => {
                    let again = program.evaluate(&context, &body, &inputs).expect("a value");
                    assert!(rounded || agree(&exact, &again), "@{}\n{}", program.name, program.text(&body));
                    written += 1;
                    ops += counted(&body).values().sum::<usize>();
                }
                Err(why) => refused.push(format!("{}: {why}", program.name)),
            }
        }
    }
    println!("{written} programs, {ops} ops; refused {refused:#?}");
    assert!(written > 300, "{refused:#?}");
}
