//! The best way to compute a term, by dynamic programming over the terms that it is made of.
//!
//! A term is first computed as it was written and as its normal form says, its parts in their own best ways. Where that is
//! accurate at all points nothing else is tried. Else come the ops whose definition the term is, other orders, and the
//! terms that laws and charts prove equal, which are computed in their own best ways in turn. Forms are written into the
//! window's body and evaluated there; those that win are written into the function ([`super::plan`]).

pub mod cover;
mod evaluate;
mod forms;
mod inner;
mod root;
mod sources;
mod write;

use std::rc::Rc;

use ngc_dialects::facts::Fact;
use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::structure::{Axis, Index};
use ngc_ir::{Context, Ident, Op, Resources, Value};
use ngc_numerics::{DType, Format, Prim};
use ngc_reals::charts::{self, Joints};
use ngc_reals::facts::Facts;
use ngc_reals::read::{Reader, Reading};
use ngc_reals::write::{Known, Values};
use ngc_reals::{Form, Function, Id, Node, Store};
use rustc_hash::{FxHashMap, FxHashSet};

use self::evaluate::Voids;
pub use self::root::{errors, judged};
use self::sources::{Source, Sources};
use super::Equalities;
use super::judge::Judge;
use super::ladder::{self, Point};
use super::numbers;
use super::order::Errors;
use super::plan::Terms;
use super::steps::elements;
use super::window::{Window, primitive};

/// Laws that may be used one within the other's result.
const DEEPEST: usize = 3;

/// Ops of a window in which functions of joined values are computed piece by piece, at most.
const MOST_APART: usize = 16;

/// Forms that are evaluated for one window, at most, by how many laws may be used within each other.
const MOST: [usize; DEEPEST + 1] = [120, 240, 240, 240];

/// Bits of error that an operation must save where operations are many.
const PRICE: f64 = 1.0 / 16.0;

/// Ops of a window that may change their operands by their errors alone where more are looked for.
const COMPENSATED: usize = 1;

/// So many elements are few.
const SMALL: usize = 1024;

/// A sum that is put together is the value that is looked at, or a part of that.
const WITHIN: usize = 2;

/// Terms that are looked for one for the other, at most.
const NESTED: usize = 40;

/// How a term is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// By a value of the window, whose axes its slots are.
    Source(Known),
    /// In this way.
    Form(Form),
}

/// How terms are computed.
type Choices = FxHashMap<Id, Choice>;

/// What was chosen for a term.
#[derive(Clone, Debug)]
pub struct Best {
    /// How it is computed.
    pub choice: Choice,
    /// How it and all that it is made of were computed when it was evaluated: the parts may have found other forms since.
    evaluated: Rc<Choices>,
    /// The value in the window's body, and the axes of it that the slots are; nothing where the term is written anew
    /// wherever it is read.
    value: Option<Known>,
    errors: Errors,
    /// Whether it is an op that makes a number of an operand that overflows: where the op is computed in steps, it may not.
    exposed: bool,
    /// What it costs, its parts with it: steps, or cycles of the target.
    cost: f64,
    /// How many laws were allowed within each other to find it.
    effort: usize,
}

impl Best {
    /// Whether nothing better is looked for.
    fn is_fine(&self) -> bool {
        self.errors.is_fine() && !self.exposed
    }

    /// Whether nothing better is looked for where a stable form is enough, unless operations are few.
    fn is_done(&self, few: bool) -> bool {
        self.is_fine() || !few && self.errors.is_stable() && !self.exposed
    }
}

/// What takes the place of a value.
struct Wanted {
    id: Id,
    /// The errors of the value as it was given.
    given: Errors,
    /// Whether the given form of many operations is stable on ordinary numbers.
    stable: bool,
    /// Whether means that are taken away with what they were rounded by are all that is looked for.
    recentring: bool,
    /// Whether a cure of rungs at the ends of the format is.
    at_ends: bool,
    /// Values in its place that were refused when they were checked.
    refused: Vec<Value>,
}

impl Wanted {
    /// Whether a form of these errors trades nothing for what it gains.
    fn keeps(&self, errors: &Errors, given: &Errors, ordinary: &[bool]) -> bool {
        if self.stable { errors.keeps_but_at_ends(given, ordinary) } else { errors.keeps(given, ordinary) }
    }
}

/// A form that was written.
struct Tried {
    form: Form,
    parts: Vec<Option<Value>>,
    /// The value, and its errors where they can be known; nothing where the form cannot be written.
    written: Option<(Known, Option<Errors>)>,
}

/// A search in one window.
pub struct Search<'a> {
    context: &'a Context,
    resources: &'a Resources,
    /// The window as it was given.
    given: &'a Window,
    /// The window; forms are written at the end of its body.
    window: Window,
    judge: Judge<'a>,
    /// The terms.
    pub terms: Terms,
    facts: Facts,
    equalities: Equalities<'a>,
    /// What the values of the window are.
    readings: FxHashMap<Value, Reading>,
    /// Values of the window that are a term, by the term: those before the value that is looked at.
    sources: Values,
    /// Those that come later, the next one last.
    later: Vec<Source>,
    known: FxHashMap<Id, Best>,
    /// Forms that were written, over the values of their parts, and what came of each.
    tried: FxHashMap<Id, Vec<Tried>>,
    /// Values for which a better form was found, as terms.
    bettered: FxHashSet<Id>,
    /// So many windows of the function share what may be spent on one, if it is one of many operations.
    share: usize,
    /// The ops of the window as it was given.
    own: FxHashSet<Ident>,
    /// Whether ops enough of the window change their operands by their errors alone.
    compensated: bool,
    /// Whether a stable form is not enough: where operations are few, or a wider format has digits to spare.
    thorough: bool,
    /// Parts of a bit of error that matter: what is held in a wider format has them.
    parts: f64,
    /// Elements that a value of a form may have.
    largest: usize,
    /// The first value that was written for a term: over the reals all are the same.
    first: Values,
    /// Terms that are being looked for, each for the one before it.
    open: Vec<Id>,
    /// The value that a plan is looked for.
    wanted: Option<Wanted>,
    /// Points at which a term is not needed, as what it was first looked for has no value there or takes another one.
    voids: FxHashMap<Id, Voids>,
    /// Ops that terms are.
    ops: FxHashMap<Id, Vec<Form>>,
    /// Terms with their sums over the same dimensions as one.
    sums: FxHashMap<Id, Vec<Form>>,
    /// Laws whose results are being looked at: none is used within its own.
    laws: Vec<Ident>,
    /// How many laws may be used within each other.
    ceiling: usize,
    /// Forms that may still be evaluated.
    left: usize,
    /// Points at which forms of the value that a plan is looked for were refused when they were checked.
    against: Vec<Point>,
    /// Those of values for which there was no other form: a search that sees them may find one.
    pub further: Vec<Point>,
    /// Laws of which an evaluation says that they are false.
    pub refuted: Vec<String>,
}

impl<'a> Search<'a> {
    /// Reads a window, whose forms are judged at `further` points as well; nothing where its value cannot be judged.
    pub fn new(
        context: &'a Context,
        resources: &'a Resources,
        equalities: Equalities<'a>,
        given: &'a Window,
        share: usize,
        further: &[Point],
    ) -> Option<Search<'a>> {
        let window = given.clone();
        let format = window.format(window.root)?;
        let mut store = Store::new();
        let dims: Vec<_> = window.leaves.iter().map(|leaf| leaf.dims.clone()).collect();
        let readings = Reader::new(&mut store, context, resources).body(&window.body, &dims);
        let joined = |reading: &Reading| Joints::of(&store, &reading.element, &reading.extents).is_some();
        // Of many ops the pieces together cost more than they are worth.
        if window.apart && (window.body.walk().len() > MOST_APART || !readings.values().any(joined)) {
            return None;
        }
        let Sources { leaves, mut later } = Sources::of(&mut store, &window, &readings)?;
        later.reverse();
        let facts: FxHashMap<u32, Fact> = leaves
            .iter()
            .filter_map(|(&leaf, &value)| Some((leaf, window.leaves.iter().find(|l| l.value == value)?.fact)))
            .collect();
        let facts = Facts::new(Box::new(move |leaf| facts.get(&leaf).copied().unwrap_or(Fact::UNKNOWN)));
        // Below f32 the widest format is f32: what does not fit is held in it.
        let wide = format.width() < 32 && equalities.allowed.format(Format::F32);
        let held = if wide { Format::F32 } else { format };
        let near = readings.get(&window.root).map(|root| numbers::of_term(&store, root.element.id));
        let to = (ladder::Use::Search, &near.unwrap_or_default()[..], further);
        let judge = Judge::new(context, resources, given, given.root, to)?;
        let body = &window.body;
        let largest = (0..body.num_values()).map(|n| elements(body, Value::from_index(n))).max().unwrap_or(1);
        let largest = 2 * largest.max(SMALL);
        let wider = |op| body.with_signature(op, |s| s.format(ACCUMULATE.name)).flatten();
        let accumulate = body.walk().into_iter().filter_map(wider).max_by_key(|f| f.precision());
        let thorough = judge.few || wide;
        let read = |v: Value| readings.get(&v).map(|reading| &reading.element);
        let compensates = |op: &Op| {
            let own = read(body.result(*op, 0)).filter(|_| primitive(body, *op) == Some(Prim::Sub));
            own.is_some() && own == read(body.operands(*op)[0])
        };
        let compensated = body.walk().into_iter().filter(compensates).count() > COMPENSATED;
        let search = Search {
            context,
            resources,
            given,
            window,
            judge,
            terms: Terms { store, format: held, accumulate, leaves },
            facts,
            equalities,
            readings,
            sources: FxHashMap::default(),
            later,
            known: FxHashMap::default(),
            tried: FxHashMap::default(),
            bettered: FxHashSet::default(),
            share,
            own: given.body.walk().into_iter().map(|op| given.body.op(op).name).collect(),
            compensated,
            thorough,
            parts: if wide { 16.0 } else { 2.0 },
            largest,
            first: FxHashMap::default(),
            open: Vec::new(),
            wanted: None,
            voids: FxHashMap::default(),
            ops: FxHashMap::default(),
            sums: FxHashMap::default(),
            laws: Vec::new(),
            ceiling: 0,
            left: 0,
            against: Vec::new(),
            further: Vec::new(),
            refuted: Vec::new(),
        };
        Some(search)
    }

    /// Finds the best way to compute a term, with more laws within each other while it is not accurate, or so many.
    fn solve(&mut self, id: Id, deepest: usize) -> Option<Best> {
        let mut best = None;
        for (ceiling, most) in MOST.into_iter().enumerate().take(deepest + 1) {
            (self.ceiling, self.left) = (ceiling, if self.judge.few { most } else { most / self.share });
            best = self.best(id);
            if best.as_ref().is_none_or(|best| self.is_enough(best)) {
                break;
            }
        }
        best
    }

    /// Whether no more laws are tried within each other: where operations are few, not before nothing is left to cure.
    fn is_enough(&self, best: &Best) -> bool {
        let stable = || {
            let errors = &best.errors;
            errors.is_stable_on(&self.judge.ordinary) && !self.is_lost(errors) && !best.exposed
        };
        if self.is_thorough() { best.is_fine() } else { stable() }
    }

    /// Whether a form is lost at many points; where a cure at the ends is looked for, at most of those of a rung.
    fn is_lost(&self, errors: &Errors) -> bool {
        let at_ends = self.wanted.as_ref().is_some_and(|wanted| wanted.at_ends);
        errors.is_often_lost() || at_ends && errors.is_lost_on_a_rung()
    }

    /// How many more laws may be used within each other.
    fn effort(&self) -> usize {
        self.ceiling.saturating_sub(self.laws.len())
    }

    /// The best way to compute a term; nothing while it is being looked for, or where it cannot be written.
    fn best(&mut self, id: Id) -> Option<Best> {
        // What was looked for within the results of laws may be found better outside of them.
        if self.open.contains(&id) || self.open.len() > NESTED || self.is_large(id) {
            return None;
        }
        if let Some(known) = self.known.get(&id)
            && (known.is_done(self.is_thorough()) || known.effort >= self.effort())
        {
            return Some(known.clone());
        }
        self.open.push(id);
        let found = self.look(id);
        self.open.pop();
        if let Some(found) = &found {
            self.known.insert(id, found.clone());
        }
        found
    }

    fn look(&mut self, id: Id) -> Option<Best> {
        let effort = self.effort();
        if self.is_plain(id) {
            let (errors, choice) = (Errors::default(), Choice::Form(Form::Plain));
            return Some(Best {
                evaluated: self.together(id, &choice),
                choice,
                value: None,
                errors,
                exposed: false,
                cost: 0.0,
                effort,
            });
        }
        let thorough = self.is_thorough();
        let done = |best: &Option<Best>| best.as_ref().is_some_and(|best| best.is_done(thorough));
        let is_lost = |best: &Option<Best>| best.as_ref().is_some_and(|best| best.errors.failures() > 0);
        // What was found with less effort stands; but its parts may be computed better now.
        let known = self.known.get(&id).cloned();
        let again = known.is_some();
        let mut best = known.filter(|_| !self.is_circular(id)).map(|known| Best { effort, ..known });
        if let (None, Some(source)) = (&best, self.sources.get(&id).cloned()) {
            best = Some(self.given_as(id, source));
        }
        // What is rounded to a narrower format than values may be held in is computed once more without that.
        if done(&best) && !best.as_ref().is_some_and(|best| self.is_rounded(best)) {
            return best;
        }
        let is_asked = matches!(self.terms.store.node(id), Node::Apply(function, _) if is_truth(function));
        if is_asked {
            self.ask(id, &mut best);
            return best;
        }
        self.consider(id, Form::Plain, &mut best);
        // What nobody wrote may be one op as well.
        if !again && !self.sources.contains_key(&id) && best.as_ref().is_some_and(|best| best.cost > 1.0) {
            for form in self.ops(id) {
                self.consider(id, form, &mut best);
            }
        }
        if done(&best) {
            return best;
        }
        if !again {
            for form in self.ops(id) {
                self.consider(id, form, &mut best);
            }
            // A sum may overflow where one of what is multiplied before does not.
            let refused = best.as_ref().is_some_and(|b| self.is_refused(&b.errors, b.value.as_ref()));
            let multiple = self.terms.store.multiple_of_sum(id).is_some();
            if refused && multiple || is_lost(&best) && self.terms.store.is_mean(id) {
                self.consider(id, Form::Inside, &mut best);
            }
            for order in self.orders(id) {
                self.consider(id, Form::Ordered(order), &mut best);
            }
            // The square of a factor may overflow where the others bring the product back.
            for form in if is_lost(&best) { self.apart(id) } else { Vec::new() } {
                self.consider(id, form, &mut best);
            }
        }
        if done(&best) || effort == 0 {
            return best;
        }
        let mut equal = if self.is_recentring() && self.compensated {
            Vec::new()
        } else if self.is_recentring() {
            charts::recentred(&mut self.terms.store, &mut self.facts, id)
        } else {
            let mut equal = Vec::new();
            if is_lost(&best) && self.has_infinite_divisor(id) {
                equal.extend(charts::over_parts(&mut self.terms.store, &mut self.facts, id));
            }
            equal.extend(self.equalities.laws.alternatives(&mut self.terms.store, &mut self.facts, id));
            equal.extend(charts::alternatives(&mut self.terms.store, &mut self.facts, id));
            equal
        };
        equal.retain(|form| !self.laws.contains(&form.law) && self.equalities.allowed.law(form.law));
        // First what the laws give as it is, then with laws used within it.
        let deepest = self.ceiling;
        for ceiling in [self.laws.len() + 1, deepest] {
            for (n, form) in equal.iter().enumerate() {
                let deeper = ceiling > self.laws.len() + 1;
                if done(&best) || deeper && best.as_ref().is_some_and(|best| self.is_enough(best)) {
                    break;
                }
                let share = self.left / (equal.len() - n);
                let others = self.left - share;
                (self.ceiling, self.left) = (ceiling, share);
                self.laws.push(form.law);
                self.consider(id, Form::Equal(form.clone()), &mut best);
                self.laws.pop();
                self.left += others;
            }
        }
        self.ceiling = deepest;
        // Sums that cancel each other are one sum of what may cancel term by term. Within what laws give that is long.
        if !done(&best) && !self.is_recentring() && self.laws.is_empty() && self.open.len() <= WITHIN {
            for form in self.sums(id) {
                self.consider(id, form, &mut best);
            }
        }
        best
    }

    /// A truth value, of terms as they are: its answer alone matters, so that nothing is kept of how these were computed.
    fn ask(&mut self, id: Id, best: &mut Option<Best>) {
        let (known, voids) = (self.known.clone(), self.voids.clone());
        let (tried, deepest) = (std::mem::take(&mut self.tried), self.ceiling);
        self.ceiling = self.laws.len();
        self.consider(id, Form::Plain, best);
        (self.known, self.voids, self.tried, self.ceiling) = (known, voids, tried, deepest);
    }

    /// Whether means that are taken away with what they were rounded by are all that is looked for.
    fn is_recentring(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.recentring)
    }

    /// Whether a stable form is not enough: where means that are taken away are looked for, too.
    fn is_thorough(&self) -> bool {
        self.thorough || self.is_recentring()
    }

    /// Whether a value is of a narrower format than values may be held in, and not exact.
    fn is_rounded(&self, best: &Best) -> bool {
        let format = best.value.as_ref().and_then(|known| self.window.body.ty(known.value).format());
        format.is_some_and(|own| own.precision() < self.terms.format.precision()) && best.errors.bits() > 0.0
    }

    /// Writes a form and keeps it if it is better than what is known.
    fn consider(&mut self, id: Id, form: Form, best: &mut Option<Best>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if let Form::Equal(equal) = &form
            && let Some(first) = self.first.get(&id).cloned()
            && let Some(axes) =
                equal.term.map.iter().map(|index| Some(first.axes[index.as_axis()?.0 as usize])).collect()
        {
            // Over the reals both are the same, so one need not be evaluated.
            self.first.entry(equal.term.id).or_insert(Known { axes, ..first });
        }
        let parts = self.terms.parts(id, &form);
        for &part in &parts {
            if self.best(part).is_none() || self.leads_to(part, id) {
                return;
            }
        }
        let parts: Vec<Option<Value>> =
            parts.iter().map(|part| Some(self.known[part].value.as_ref()?.value)).collect();
        let tried =
            self.tried.get(&id).and_then(|tried| tried.iter().find(|t| t.form == form && t.parts == parts));
        let written = match tried {
            Some(tried) => tried.written.clone(),
            None => {
                let value = self.write(id, &form).ok();
                let written = value.map(|value| (value.clone(), self.errors(id, &value)));
                let new = Tried { form: form.clone(), parts, written: written.clone() };
                self.tried.entry(id).or_default().push(new);
                written
            }
        };
        let Some((value, errors)) = written else { return };
        let (effort, cost) = (self.effort(), self.cost(id, &form));
        let Some(errors) = errors else {
            // What cannot be judged is computed as it says.
            let choice = Choice::Form(form);
            best.get_or_insert(Best {
                evaluated: self.together(id, &choice),
                choice,
                value: Some(value),
                errors: Errors::default(),
                exposed: false,
                cost,
                effort,
            });
            return;
        };
        let exposed = self.is_exposed(id, &form, &value);
        let (ordinary, parts) = (&self.judge.ordinary, self.parts);
        let price = if self.is_thorough() { 0.0 } else { PRICE };
        let refused = |errors: &Errors, value: Option<&Known>| self.is_refused(errors, value);
        let better = best.as_ref().is_none_or(|best| {
            let order = refused(&errors, Some(&value)).cmp(&refused(&best.errors, best.value.as_ref()));
            let order = order.then(errors.compare(&best.errors, ordinary, parts, price * (cost - best.cost)));
            order.then(exposed.cmp(&best.exposed)).then(cost.total_cmp(&best.cost)).is_lt()
        });
        if !better {
            return;
        }
        if let Form::Equal(equal) = &form
            && !self.agrees(id, &value)
        {
            self.refuted.push(format!("{}: {}", equal.law, self.shown(id)));
            return;
        }
        let choice = Choice::Form(form);
        let evaluated = self.together(id, &choice);
        *best = Some(Best { choice, evaluated, value: Some(value), errors, exposed, cost, effort });
    }

    /// How a term and all that it is made of are computed now. Of what a condition asks, nothing is kept.
    fn together(&self, id: Id, choice: &Choice) -> Rc<Choices> {
        let mut all = Choices::from_iter([(id, choice.clone())]);
        let is_asked = matches!(self.terms.store.node(id), Node::Apply(function, _) if is_truth(function));
        if let Choice::Form(form) = choice
            && !is_asked
        {
            for part in self.terms.parts(id, form) {
                let known = self.known.get(&part).into_iter().flat_map(|best| best.evaluated.iter());
                known.for_each(|(part, choice)| {
                    all.entry(*part).or_insert_with(|| choice.clone());
                });
            }
        }
        Rc::new(all)
    }

    /// Whether a form would be refused in the place of the value that a plan is looked for, as a form of its term or of a sum that
    /// laws prove equal.
    fn is_refused(&self, errors: &Errors, value: Option<&Known>) -> bool {
        let is_own = |wanted: &&Wanted| match self.open[..] {
            [id] => id == wanted.id,
            [id, .., last] => {
                let equal = id == wanted.id && self.open.len() == self.laws.len() + 1;
                equal && self.terms.store.multiple_of_sum(last).is_some()
            }
            [] => false,
        };
        let Some(wanted) = self.wanted.as_ref().filter(is_own) else { return false };
        value.is_some_and(|known| wanted.refused.contains(&known.value))
            || !wanted.keeps(errors, &wanted.given, &self.judge.ordinary)
    }

    fn shown(&self, id: Id) -> String {
        self.terms.store.show(&self.terms.itself(id))
    }
}

/// The place along the n-th slot.
pub fn slot(n: usize) -> Index {
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
