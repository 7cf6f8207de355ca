//! The best way to compute a term, by dynamic programming over the terms that it is made of.
//!
//! A term is first computed as it was written and as its normal form says, its parts in their own best ways. Where that is
//! accurate at all points nothing else is tried. Else come the ops whose definition the term is, other orders, and the
//! terms that laws and charts prove equal, which are computed in their own best ways in turn. Forms are written into the
//! window's body and evaluated there; those that win are written into the function ([`super::emit`]).

use std::collections::VecDeque;

use ngc_dialects::facts::Fact;
use ngc_ir::structure::{Axis, Index, Size};
use ngc_ir::{Body, Builder, Context, Ident, Loc, Resources, Type, Value};
use ngc_numerics::{DType, Format, Interval};
use ngc_reals::charts;
use ngc_reals::facts::Facts;
use ngc_reals::laws::Laws;
use ngc_reals::read::{Reader, Reading};
use ngc_reals::recognise;
use ngc_reals::store::ANYWHERE;
use ngc_reals::write::Writer;
use ngc_reals::{Form, Function, Id, Node, Store, Use};
use rustc_hash::{FxHashMap, FxHashSet};

use super::judge::{Judge, OPEN};
use super::order::Errors;
use super::window::Window;
use crate::analysis::range::Ranges;

/// Laws that may be used one within the other's result.
const DEEPEST: usize = 3;

/// Forms that are evaluated for one window, at most.
const MOST: usize = 300;

/// How a term is computed.
#[derive(Clone, Debug)]
pub enum Choice {
    /// By a value of the window, whose axes its slots are.
    Source(Value, Vec<usize>),
    /// In this way.
    Form(Form),
}

/// What was chosen for a term.
#[derive(Clone, Debug)]
pub struct Best {
    /// How it is computed.
    pub choice: Choice,
    /// The value in the window's body, and the axes of it that the slots are; nothing where the term is written anew
    /// wherever it is read.
    value: Option<(Value, Vec<usize>)>,
    errors: Errors,
    /// How many laws were open when it was looked for: one within the other's result.
    depth: usize,
}

/// A search in one window.
pub struct Search<'a> {
    context: &'a Context,
    resources: &'a Resources,
    /// The window; forms are written at the end of its body.
    pub window: &'a mut Window,
    judge: Judge<'a>,
    /// The terms.
    pub store: Store,
    facts: Facts,
    /// The format in which forms are written.
    pub format: Format,
    /// The values that leaves are.
    pub leaves: FxHashMap<u32, Value>,
    /// Values of the window that are a term, by the term.
    sources: FxHashMap<Id, (Value, Vec<usize>)>,
    known: FxHashMap<Id, Best>,
    /// The first value that was written for a term: over the reals all are the same.
    first: FxHashMap<Id, (Value, Vec<usize>)>,
    open: FxHashSet<Id>,
    /// Laws whose results are being looked at: none is used within its own.
    laws: Vec<Ident>,
    left: usize,
    /// Laws of which an evaluation says that they are false.
    pub refuted: Vec<String>,
}

impl<'a> Search<'a> {
    /// Reads a window; nothing where its value cannot be judged.
    pub fn new(context: &'a Context, resources: &'a Resources, window: &'a mut Window) -> Option<(Search<'a>, Reading)> {
        let format = window.body.ty(window.root).format()?;
        let mut store = Store::new();
        let dims: Vec<_> = window.leaves.iter().map(|leaf| leaf.dims.clone()).collect();
        let readings = Reader::new(&mut store, context, resources).body(&window.body, &dims);
        let root = readings.get(&window.root)?.clone();
        let (mut leaves, mut sources) = (FxHashMap::default(), FxHashMap::default());
        let block = window.body.entry()?;
        let results = window.body.ops(block).map(|op| window.body.result(op, 0));
        for value in window.body.arguments(block).iter().copied().chain(results) {
            let Some(reading) = readings.get(&value) else { continue };
            let Some(axes) = plain_axes(reading) else { continue };
            match store.node(reading.element.id) {
                Node::Leaf(leaf) => drop(leaves.entry(*leaf).or_insert(value)),
                Node::Number(_) | Node::Size(_) | Node::Place | Node::Holds(_) => {}
                _ => drop(sources.entry(reading.element.id).or_insert((value, axes))),
            }
        }
        let facts: FxHashMap<u32, Fact> = leaves
            .iter()
            .filter_map(|(&leaf, &value)| Some((leaf, window.leaves.iter().find(|l| l.value == value)?.fact)))
            .collect();
        let facts = Facts::new(Box::new(move |leaf| facts.get(&leaf).copied().unwrap_or(Fact::UNKNOWN)));
        // Below f32 the widest format is f32: what does not fit is held in it.
        let held = if format.width() < 32 { Format::F32 } else { format };
        let judge = Judge::new(context, resources, window, format)?;
        let search = Search {
            context,
            resources,
            window,
            judge,
            store,
            facts,
            format: held,
            leaves,
            sources,
            known: FxHashMap::default(),
            first: FxHashMap::default(),
            open: FxHashSet::default(),
            laws: Vec::new(),
            left: MOST,
            refuted: Vec::new(),
        };
        Some((search, root))
    }

    /// The best way to compute a term; nothing while it is being looked for, or where it cannot be written.
    pub fn best(&mut self, id: Id) -> Option<Best> {
        // What was looked for within the results of laws may be found better outside of them.
        if let Some(known) = self.known.get(&id)
            && (known.errors.is_fine() || known.depth <= self.laws.len())
        {
            return Some(known.clone());
        }
        if !self.open.insert(id) {
            return None;
        }
        let found = self.look(id);
        self.open.remove(&id);
        if let Some(found) = &found {
            self.known.insert(id, found.clone());
        }
        found
    }

    fn look(&mut self, id: Id) -> Option<Best> {
        let (mut best, depth): (Option<Best>, usize) = (None, self.laws.len());
        if self.is_plain(id) {
            let errors = Errors::default();
            return Some(Best { choice: Choice::Form(Form::Plain), value: None, errors, depth });
        }
        if let Some(source) = self.sources.get(&id).cloned() {
            let errors = self.errors(id, &source).unwrap_or_default();
            best = Some(Best { choice: Choice::Source(source.0, source.1.clone()), value: Some(source), errors, depth });
        }
        let done = |best: &Option<Best>| best.as_ref().is_some_and(|best| best.errors.is_fine());
        if done(&best) {
            return best;
        }
        self.consider(id, Form::Plain, &mut best);
        if done(&best) || matches!(self.store.node(id), Node::Apply(function, _) if is_truth(function)) {
            return best;
        }
        for op in recognise::ops(&mut self.store, self.context, id, &|_| true) {
            self.consider(id, Form::Op(op), &mut best);
        }
        for order in self.orders(id) {
            self.consider(id, Form::Ordered(order), &mut best);
        }
        if done(&best) || depth >= DEEPEST {
            return best;
        }
        let mut equal = Laws::bundled().alternatives(&mut self.store, &mut self.facts, id);
        equal.extend(charts::alternatives(&mut self.store, &mut self.facts, id));
        for form in equal {
            if self.left == 0 || done(&best) {
                break;
            }
            if self.laws.contains(&form.law) {
                continue;
            }
            self.laws.push(form.law);
            self.consider(id, Form::Equal(form), &mut best);
            self.laws.pop();
        }
        best
    }

    /// Whether a term is written anew wherever it is read: a leaf, a number, or one that depends on a bare place.
    fn is_plain(&self, id: Id) -> bool {
        let bare = self.store.sizes(id).iter().any(|size| size.number() == Some(ANYWHERE));
        let simple = |node: &Node| {
            matches!(node, Node::Number(_) | Node::Size(_) | Node::Place | Node::Leaf(_) | Node::Holds(_))
        };
        bare || simple(self.store.node(id))
    }

    /// The values that are written for terms, but for one term.
    fn values(&self, but: Option<Id>) -> FxHashMap<Id, (Value, Vec<usize>)> {
        let others = self.known.iter().filter(|(id, _)| Some(**id) != but);
        others.filter_map(|(&id, best)| Some((id, best.value.clone()?))).collect()
    }

    /// Orders of the parts of a short sum or product: each pair first.
    fn orders(&self, id: Id) -> Vec<Vec<usize>> {
        let count = match self.store.node(id) {
            Node::Linear(_, terms) => terms.len(),
            Node::Product(factors) => factors.len(),
            _ => 0,
        };
        if !(3..=5).contains(&count) {
            return Vec::new();
        }
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
        pairs.map(|first| first.into_iter().chain((0..count).filter(|n| !first.contains(n))).collect()).collect()
    }

    /// Writes a form and keeps it if it is better than what is known.
    fn consider(&mut self, id: Id, form: Form, best: &mut Option<Best>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if let Form::Equal(equal) = &form
            && let Some(first) = self.first.get(&id).cloned()
            && let Some(axes) = equal.term.map.iter().map(|index| Some(first.1[index.as_axis()?.0 as usize])).collect()
        {
            // Over the reals both are the same, so one need not be evaluated.
            self.first.entry(equal.term.id).or_insert((first.0, axes));
        }
        let parts = self.parts(id, &form);
        if !parts.into_iter().all(|part| self.best(part).is_some()) {
            return;
        }
        let value = match self.write(id, &form) { Ok(v) => v, Err(e) => { if trace() { eprintln!("  unwritable {id:?} {form:?}: {e}"); } return } };
        let depth = self.laws.len();
        let Some(errors) = self.errors(id, &value) else {
            // What cannot be judged is computed as it says.
            best.get_or_insert(Best { choice: Choice::Form(form), value: Some(value), errors: Errors::default(), depth });
            return;
        };
        let better = best.as_ref().is_none_or(|best| errors.compare(&best.errors).is_lt());
        if trace() { eprintln!("  {} {} <- {}: failures {} bits {:.2} {}", depth, self.shown(id), match &form { Form::Equal(e) => format!("{} {}", e.law, self.store.show(&e.term)), Form::Op(op) => format!("{} {:?}", op.name, op.operands.iter().map(|x| self.store.show(x)).collect::<Vec<_>>()), other => format!("{other:?}") }, errors.failures(), errors.bits(), if better { "BETTER" } else { "" }); }
        if !better {
            return;
        }
        if let Form::Equal(equal) = &form
            && !self.agrees(id, &value)
        {
            self.refuted.push(format!("{}: {}", equal.law, self.shown(id)));
            return;
        }
        *best = Some(Best { choice: Choice::Form(form), value: Some(value), errors, depth });
    }

    /// A term in a form, over its slots, at the end of the window's body.
    fn write(&mut self, id: Id, form: &Form) -> Result<(Value, Vec<usize>), String> {
        let sizes: Vec<Size> = self.store.sizes(id).to_vec();
        let block = self.window.body.entry().ok_or("an empty body")?;
        let values = self.values(Some(id));
        let builder = Builder::at_end(self.context, &mut self.window.body, block, Loc::Unknown);
        let forms = |part: Id| if part == id { form.clone() } else { Form::Plain };
        let mut writer = Writer::new(&self.store, builder, self.format, &self.leaves, &forms, &values);
        let whole = Use { id, map: (0..sizes.len()).map(slot).collect() };
        let value = writer.value(&whole, &sizes)?;
        Ok((value, (0..sizes.len()).collect()))
    }

    /// The errors of a value that is a term, at a few places; nothing where they cannot be known.
    fn errors(&mut self, id: Id, (value, axes): &(Value, Vec<usize>)) -> Option<Errors> {
        let held = self.format;
        let (first, own) = self.first.entry(id).or_insert((*value, axes.clone())).clone();
        let mut all = Errors::default();
        for place in places(self.store.sizes(id))? {
            let exact = self.judge.exact(&self.window.body, first, &along(&self.window.body, first, &own, &place))?;
            let place = along(&self.window.body, *value, axes, &place);
            let computed = self.judge.computed(&self.window.body, *value, &place)?;
            all = all.with(&self.judge.errors(held, &exact, &computed));
        }
        Some(all)
    }

    /// Whether a value is the term over the reals, wherever both are known.
    fn agrees(&mut self, id: Id, (value, axes): &(Value, Vec<usize>)) -> bool {
        let (Some(places), Some((first, own))) = (places(self.store.sizes(id)), self.first.get(&id)) else { return true };
        let body = &self.window.body;
        places.into_iter().all(|place| {
            let (a, b) = (along(body, *first, own, &place), along(body, *value, axes, &place));
            self.judge.same(body, (*first, &a), (*value, &b))
        })
    }

    /// The errors of the window's value, or of another one that stands for it; nothing where they cannot be known.
    pub fn of_root(&mut self, root: &Reading, other: Option<Value>) -> Option<Errors> {
        let value = other.unwrap_or(self.window.root);
        let held = self.window.body.ty(self.window.root).format()?;
        let mut all = Errors::default();
        for place in places(&root.extents)? {
            let exact = self.judge.exact(&self.window.body, self.window.root, &place)?;
            let computed = self.judge.computed(&self.window.body, value, &place)?;
            all = all.with(&self.judge.errors(held, &exact, &computed));
        }
        (all.points() > 0).then_some(all)
    }

    /// Whether a value that stands for the window's is the same over the reals, and proven finite where that is.
    pub fn holds(&mut self, root: &Reading, other: Value) -> bool {
        let Some(places) = places(&root.extents) else { return false };
        let (body, given) = (&self.window.body, self.window.root);
        if !places.into_iter().all(|place| self.judge.same(body, (given, &place), (other, &place))) {
            self.refuted.push(self.store.show(&root.element));
            return false;
        }
        let arguments: Vec<Interval> = self.window.leaves.iter().map(|leaf| leaf.range).collect();
        let ranges = Ranges::of_body(body, &arguments);
        let fails = |value: Value| body.ty(value).format().is_some_and(|f| ranges.of(value).may_overflow(f));
        fails(given) || !fails(other)
    }

    /// The window's value in the forms that were chosen.
    ///
    /// # Errors
    /// A sentence that says what cannot be written.
    pub fn write_root(&mut self, root: &Reading, ty: Type) -> Result<Value, String> {
        let block = self.window.body.entry().ok_or("an empty body")?;
        let values = self.values(None);
        let builder = Builder::at_end(self.context, &mut self.window.body, block, Loc::Unknown);
        let forms = |_| Form::Plain;
        let mut writer = Writer::new(&self.store, builder, self.format, &self.leaves, &forms, &values);
        let value = writer.value(&root.element, &root.extents)?;
        writer.typed(value, ty)
    }

    /// The choices for a term and all that it is computed from.
    pub fn chosen(&self, id: Id) -> FxHashMap<Id, Choice> {
        let (mut found, mut stack) = (FxHashMap::default(), vec![id]);
        while let Some(id) = stack.pop() {
            let Some(best) = self.known.get(&id).filter(|_| !found.contains_key(&id)) else { continue };
            match &best.choice {
                Choice::Source(..) => {}
                Choice::Form(form) => stack.extend(self.parts(id, form)),
            }
            found.insert(id, best.choice.clone());
        }
        found
    }

    /// What choices are owed to, from a term inwards.
    pub fn laws(&self, id: Id, choices: &FxHashMap<Id, Choice>) -> Vec<String> {
        let (mut laws, mut seen, mut queue) = (Vec::<String>::new(), FxHashSet::default(), VecDeque::from([id]));
        while let Some(id) = queue.pop_front() {
            let Some(Choice::Form(form)) = choices.get(&id).filter(|_| seen.insert(id)) else { continue };
            let name = match form {
                Form::Equal(equal) => Some(equal.law.as_str().to_string()),
                Form::Op(op) => Some(op.name.as_str().trim_start_matches("ng.").to_string()),
                _ => None,
            };
            laws.extend(name.filter(|name| !laws.contains(name)));
            queue.extend(self.parts(id, form));
        }
        laws
    }

    /// The terms that a form of a term is computed from.
    fn parts(&self, id: Id, form: &Form) -> Vec<Id> {
        match form {
            Form::Plain | Form::Ordered(_) => self.store.node(id).children().iter().map(|part| part.id).collect(),
            Form::Parts(parts) => parts.iter().map(|(_, part)| part.id).collect(),
            Form::Equal(equal) => vec![equal.term.id],
            Form::Op(op) => op.operands.iter().map(|part| part.id).collect(),
        }
    }

    fn shown(&self, id: Id) -> String {
        let map = (0..self.store.sizes(id).len()).map(slot).collect();
        self.store.show(&Use { id, map })
    }
}

/// The axes of a value that the slots of its element are; nothing where places are no dimensions, or one is left out.
fn plain_axes(reading: &Reading) -> Option<Vec<usize>> {
    let axes: Vec<usize> =
        reading.element.map.iter().map(|index| Some(index.as_axis()?.0 as usize)).collect::<Option<_>>()?;
    let long = (0..reading.extents.len()).filter(|&n| !reading.extents[n].is_one());
    let complete = long.clone().all(|n| axes.contains(&n)) && axes.len() == long.count();
    complete.then_some(axes)
}

/// The place of a value that lies at a place along the slots of its term.
fn along(body: &Body, value: Value, axes: &[usize], place: &[i64]) -> Vec<i64> {
    let mut full = vec![0; body.ty(value).shape().map_or(0, <[_]>::len)];
    for (&axis, &at) in axes.iter().zip(place) {
        full[axis] = at;
    }
    full
}

/// The middle and the last of all places.
fn places(sizes: &[Size]) -> Option<Vec<Vec<i64>>> {
    let extents: Vec<u64> = sizes.iter().map(|size| size.number().unwrap_or(OPEN as u64)).collect();
    if extents.iter().any(|&n| n == 0 || n == ANYWHERE) {
        return None;
    }
    let middle: Vec<i64> = extents.iter().map(|&n| (n / 2) as i64).collect();
    let last: Vec<i64> = extents.iter().map(|&n| n as i64 - 1).collect();
    Some(if middle == last { vec![last] } else { vec![middle, last] })
}

/// The place along the n-th slot.
fn slot(n: usize) -> Index {
    Index::axis(Axis(n as u32))
}

/// Whether a function gives a truth value or an integer, which has no error to be judged.
fn is_truth(function: &Function) -> bool {
    match function {
        Function::Compare(_) | Function::Logical(_) | Function::Not | Function::Classify(_) => true,
        Function::Convert(_, to) => !matches!(to, DType::Float(_)),
        Function::Prim(_) | Function::Choose => false,
    }
}

fn trace() -> bool { std::env::var_os("NGC_TRACE").is_some() }
