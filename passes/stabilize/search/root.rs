//! A value of a window in the forms that were chosen, held against the given one.

use std::collections::VecDeque;

use ngc_ir::structure::Size;
use ngc_ir::{Builder, Loc, Value};
use ngc_numerics::Interval;
use ngc_reals::charts::{self, Chart, Joints};
use ngc_reals::read::Reading;
use ngc_reals::{Form, Id, Node, Store, Use};
use rug::Rational;
use rustc_hash::{FxHashMap, FxHashSet};

use super::evaluate::places;
use super::{Choice, DEEPEST, Search, Wanted};
use crate::analysis::range::Ranges;
use crate::stabilize::judge::Judge;
use crate::stabilize::ladder;
use crate::stabilize::numbers;
use crate::stabilize::order::Errors;
use crate::stabilize::plan::{Found, Plan};
use crate::stabilize::proof;
use crate::stabilize::steps::{FEW, apart, ops, steps, work};
use crate::stabilize::window::Window;

/// A form has no more ops than this, unless the given one has as many; and what has half as many does not grow: else one form is
/// put into the other without end.
const LONG: usize = 64;

/// So many forms of a value are checked.
const TRIES: usize = 6;

/// By so many ops a stable form of tensors may grow: no op that is one is taken apart.
const SOME: usize = 4;

/// By how many times the ops of a form that is stable on ordinary numbers may grow for the sake of others.
const MORE: usize = 3;

/// What came of a form of a value.
enum Trial {
    /// It takes the value's place.
    Better(Plan),
    /// It is too long, or trades what works for what does not.
    Refused,
    /// It is not better, and no other one will be.
    Worse,
}

impl Search<'_> {
    /// Whether a value of the window is right to its last places.
    pub fn is_right(&mut self, value: Value) -> bool {
        let Some(root) = self.readings.get(&value).cloned() else { return false };
        self.errors_of(&root, [value; 2]).is_some_and(|given| given.is_fine() && self.judge.sees_enough())
    }

    /// What is found for a value of the window, when those before it were looked at. What is settled is not looked at.
    pub fn at(&mut self, value: Value, settled: bool) -> Found {
        let Some(mut root) = self.readings.get(&value).cloned() else { return Found::Stays };
        if self.terms.store.as_rational(&root.element).is_some_and(|x| x.is_zero()) {
            return Found::Rounding;
        }
        if settled {
            return Found::Fine;
        }
        if self.window.apart {
            match charts::pieces(&mut self.terms.store, &root.element, &root.extents) {
                Some(joined) => root.element = joined,
                None => return Found::Stays,
            }
        }
        self.reach(value);
        let given = self.errors_of(&root, [value; 2]);
        let Some(given) = given else { return Found::Stays };
        // Of many operations a stable form gives way to what is far more exact on ordinary numbers alone.
        let many = steps(&self.window.body, value) > FEW;
        if given.is_fine() || many && given.is_stable() && !given.is_coarse_on(&self.judge.ordinary) {
            // Of few points most lie where everything is right; in a nearer window more are seen.
            return if self.judge.sees_enough() { Found::Fine } else { Found::Stays };
        }
        let id = root.element.id;
        let stable = many && given.is_stable_on(&self.judge.ordinary) && !given.is_often_lost();
        let wanted = |recentring, at_ends| {
            Some(Wanted { id, given: given.clone(), stable, recentring, at_ends, refused: Vec::new() })
        };
        let mut plan = None;
        let before = many.then(|| self.known.clone());
        if !stable {
            self.wanted = wanted(false, false);
            plan = self.better(value, &root, &given);
        }
        if let (None, Some(before)) = (&plan, before) {
            // What is looked for more thoroughly than usual is chosen for this value alone.
            let others = std::mem::replace(&mut self.known, before);
            self.wanted = wanted(true, false);
            plan = self.better(value, &root, &given);
            if plan.is_none() {
                self.known = others;
            }
        }
        // What is right but on a rung at the ends is scaled where nothing is to be gained before.
        if plan.is_none() && stable && given.is_lost_on_a_rung() {
            self.wanted = wanted(false, true);
            plan = self
                .better(value, &root, &given)
                .filter(|plan| takes(plan, Chart::Scaled) && !takes(plan, Chart::Centred));
        }
        self.wanted = None;
        let against = std::mem::take(&mut self.against);
        let Some(plan) = plan else {
            self.further.extend(against);
            return match () {
                () if many && given.is_stable() => Found::Fine,
                () if self.is_large(id) => Found::Large,
                () => Found::Stays,
            };
        };
        self.bettered.insert(root.element.id);
        Found::Better(plan)
    }

    /// The best form of a value that is not refused; nothing where the given one stays.
    fn better(&mut self, value: Value, root: &Reading, given: &Errors) -> Option<Plan> {
        let id = root.element.id;
        let deepest = if self.is_recentring() { 1 } else { DEEPEST };
        for _ in 0..TRIES {
            self.forget_refused(id);
            self.solve_pieces(id, deepest)?;
            let chosen = self.chosen(id);
            let evaluated = self.known.get(&id).map(|best| best.evaluated.clone());
            let other = evaluated.filter(|all| all.iter().any(|(id, choice)| chosen.get(id) != Some(choice)));
            let mut tried = self.tried_as(chosen, value, root, given);
            // What parts found later may not suit what it was evaluated with.
            if !matches!(tried, Trial::Better(_))
                && let Some(evaluated) = other
                && let better @ Trial::Better(_) = self.tried_as((*evaluated).clone(), value, root, given)
            {
                tried = better;
            }
            // What is put together anew from the same parts is not worth more than what the function has of them.
            if !matches!(tried, Trial::Better(_))
                && let Some(choices) = self.with_given(id)
                && let better @ Trial::Better(_) = self.tried_as(choices, value, root, given)
            {
                tried = better;
            }
            match tried {
                Trial::Better(plan) => return Some(plan),
                Trial::Worse => return None,
                Trial::Refused => {}
            }
            let refused = self.known.get(&id)?.value.as_ref()?.value;
            self.wanted.as_mut()?.refused.push(refused);
        }
        None
    }

    /// Finds the best way to compute a term, or each piece of one that asks for its place.
    fn solve_pieces(&mut self, id: Id, deepest: usize) -> Option<()> {
        if let Node::Where(_, yes, no) = self.terms.store.node(id)
            && self.is_plain(id)
        {
            for part in [yes.id, no.id] {
                self.solve_pieces(part, deepest)?;
            }
        }
        self.solve(id, deepest).map(|_| ())
    }

    /// The errors of what stands for a value of the window, held against the exact one; nothing where they cannot be known.
    pub(super) fn errors_of(&mut self, root: &Reading, [exact, computed]: [Value; 2]) -> Option<Errors> {
        let places = self.places(root);
        errors(&self.window, &mut self.judge, &places, [exact, computed])
    }

    fn places(&self, root: &Reading) -> Vec<Vec<i64>> {
        judged(&self.window, &self.terms.store, &root.element, &root.extents)
    }

    /// A value as choices say, held against the given one.
    fn tried_as(
        &mut self,
        choices: FxHashMap<Id, Choice>,
        value: Value,
        root: &Reading,
        given: &Errors,
    ) -> Trial {
        let id = root.element.id;
        let mut plan = Plan {
            root: root.element.clone(),
            extents: root.extents.clone(),
            ty: self.window.body.ty(value),
            laws: self.laws(id, &choices),
            given: self.terms.store.show(&root.element),
            itself: self.is_itself(id, &choices),
            grows: false,
            bits: None,
            choices,
        };
        // Another order of what is stable is as good by chance.
        let recentred = takes(&plan, Chart::Centred);
        if self.is_recentring() && given.is_stable() && !recentred {
            return Trial::Worse;
        }
        let Some(new) = self.written(&plan) else { return Trial::Worse };
        plan.grows = ops(&self.window.body, new) > ops(&self.window.body, value);
        let Some(found) = self.errors_of(root, [value, new]) else {
            return Trial::Worse;
        };
        plan.bits = Some(found.bits());
        if !found.betters(given) {
            return Trial::Worse;
        }
        if !self.wanted.as_ref().is_some_and(|wanted| wanted.keeps(&found, given, &self.judge.ordinary)) {
            return Trial::Refused;
        }
        // What is stable on ordinary numbers stays so, whatever is cured beyond.
        let ordinary = &self.judge.ordinary;
        if !self.judge.few && given.is_stable_on(ordinary) && !found.is_stable_on(ordinary) {
            return Trial::Refused;
        }
        let (body, one, all) = (&self.window.body, Rational::from(1), self.places(root));
        let mut same = |place: &Vec<i64>| self.judge.same(body, (value, place, &one), (new, place), &[]);
        if !all.iter().all(&mut same) {
            self.refuted.push(plan.given);
            return Trial::Worse;
        }
        let gains = found.bits() + 1.0 < given.bits();
        let taken =
            self.is_short((value, given), (new, &found), recentred) && self.keeps(&plan, value, root, gains);
        if taken { Trial::Better(plan) } else { Trial::Refused }
    }

    /// The choices for a term in which parts are the function's own values, where what was chosen in their place gains nothing;
    /// nothing where there are none.
    fn with_given(&mut self, id: Id) -> Option<FxHashMap<Id, Choice>> {
        let chosen = self.chosen(id);
        let is_new = |(part, choice): &(&Id, &Choice)| **part != id && matches!(choice, Choice::Form(_));
        let mut own = FxHashMap::default();
        for (&part, _) in chosen.iter().filter(is_new) {
            let Some(source) = self.sources.get(&part).cloned() else { continue };
            let (Some(errors), Some(best)) = (self.errors(part, &source), self.known.get(&part)) else {
                continue;
            };
            if !best.errors.betters(&errors) {
                own.insert(part, Choice::Source(source));
            }
        }
        if own.is_empty() {
            return None;
        }
        Some(self.closed(id, &|part| own.get(&part).or_else(|| chosen.get(&part)).cloned()))
    }

    /// Takes what was chosen for a term as not looked for if it is refused; of a sum that it is over the reals, too, as that has
    /// another form.
    fn forget_refused(&mut self, id: Id) {
        self.open.push(id);
        let refused = self.known.get(&id).is_some_and(|b| self.is_refused(&b.errors, b.value.as_ref()));
        self.open.pop();
        let forgotten = if refused { self.known.remove(&id) } else { None };
        if let Some(Choice::Form(Form::Equal(equal))) = forgotten.map(|best| best.choice)
            && self.terms.store.multiple_of_sum(equal.term.id).is_some()
        {
            self.known.remove(&equal.term.id);
        }
    }

    /// Whether what a form gains is worth the ops that it has more than the given one.
    fn is_short(
        &self,
        (value, given): (Value, &Errors),
        (new, found): (Value, &Errors),
        recentred: bool,
    ) -> bool {
        let (body, ordinary) = (&self.window.body, &self.judge.ordinary);
        let (before, after) = (ops(body, value), ops(body, new));
        let most = match self.is_recentring() && recentred {
            true => before + SOME,
            false if before > LONG / 2 => before,
            false => LONG,
        };
        if after > most {
            return false;
        }
        let (all, work) = (steps(body, new), work(body, new));
        let usual = !given.is_stable_where_finite() || found.gains_on(ordinary, given);
        let (before, work_before) = apart(body, value, new);
        let grows = !usual && after > MORE * before;
        let cured = self.is_lost(given) && !self.is_lost(found);
        let twice = cured || recentred && found.gains_on(ordinary, given);
        let most = if twice { 2 * work_before } else { work_before };
        !(given.is_stable_on(ordinary) && (grows || all > FEW && work > most))
    }

    /// A form at the end of the window's body.
    pub(super) fn written(&mut self, plan: &Plan) -> Option<Value> {
        let block = self.window.body.entry()?;
        let builder = Builder::at_end(self.context, &mut self.window.body, block, Loc::Unknown);
        plan.write(builder, &self.terms, &|v| v).ok()
    }

    /// Whether a form, written into the window as it was given, nowhere trades what works for what does not, at points that
    /// the search has not seen, and is proven finite where the given form is; what gains bits on points need not be, for
    /// bounds do not see all that keeps a quotient finite. What cannot be judged is not taken.
    pub(super) fn keeps(&mut self, plan: &Plan, value: Value, root: &Reading, gains: bool) -> bool {
        let mut window = self.given.clone();
        let Some(block) = window.body.entry() else { return false };
        let builder = Builder::at_end(self.context, &mut window.body, block, Loc::Unknown);
        let Ok(new) = plan.write(builder, &self.terms, &|v| v) else { return false };
        let arguments: Vec<Interval> = window.leaves.iter().map(|leaf| leaf.alike).collect();
        let fails = |ranges: &Ranges, value: Value| {
            window.body.ty(value).format().is_some_and(|f| ranges.of(value).may_overflow(f))
        };
        if !gains {
            let ranges = Ranges::of_body(&window.body, &arguments);
            if !fails(&ranges, value) && fails(&ranges, new) {
                return false;
            }
        }
        let near = numbers::of_term(&self.terms.store, root.element.id);
        let mut judges = [ladder::Use::Check, ladder::Use::Ends]
            .map(|to| Judge::new(self.context, self.resources, &window, value, (to, &near, &[])));
        let Some(ordinary) = judges[0].as_ref().map(|judge| judge.ordinary.clone()) else { return false };
        let places = self.places(root);
        let mut of = |new| {
            let mut of = |judge: &mut _| errors(&window, judge, &places, [value, new]);
            let mut all = judges.iter_mut().flatten().map(&mut of);
            all.next()?.map(|first| all.flatten().fold(first, |all, more| all.with(&more)))
        };
        let keeps = of(value).zip(of(new)).is_some_and(|(given, new)| match &self.wanted {
            Some(wanted) => wanted.keeps(&new, &given, &ordinary),
            None => new.keeps(&given, &ordinary),
        });
        if !keeps {
            for judge in judges.iter_mut().flatten() {
                for place in &places {
                    self.against.extend(judge.worse_at(&window, place, [value, new]).into_iter().flatten());
                }
            }
        }
        keeps
    }

    /// The choices for a term and all that it is computed from.
    fn chosen(&self, id: Id) -> FxHashMap<Id, Choice> {
        self.closed(id, &|id| Some(self.known.get(&id)?.choice.clone()))
    }

    /// The choices for a term and all that it is computed from, of some.
    fn closed(&self, id: Id, choice: &dyn Fn(Id) -> Option<Choice>) -> FxHashMap<Id, Choice> {
        let (mut found, mut stack) = (FxHashMap::default(), vec![id]);
        while let Some(id) = stack.pop() {
            let Some(choice) = choice(id).filter(|_| !found.contains_key(&id)) else { continue };
            if let Choice::Form(form) = &choice {
                stack.extend(self.terms.parts(id, form));
            }
            found.insert(id, choice);
        }
        found
    }

    /// What choices are owed to, from a term inwards.
    fn laws(&self, id: Id, choices: &FxHashMap<Id, Choice>) -> Vec<String> {
        let (mut laws, mut seen, mut queue) =
            (Vec::<String>::new(), FxHashSet::default(), VecDeque::from([id]));
        while let Some(id) = queue.pop_front() {
            let Some(Choice::Form(form)) = choices.get(&id).filter(|_| seen.insert(id)) else { continue };
            let name = match form {
                Form::Equal(equal) => Some(equal.law.as_str().to_string()),
                Form::Op(op) => Some(proof::op_name(op)),
                _ => None,
            };
            laws.extend(name.filter(|name| !laws.contains(name)));
            queue.extend(self.terms.parts(id, form));
        }
        laws
    }

    /// Whether a term is computed otherwise than by better ways to compute what it is made of.
    fn is_itself(&self, id: Id, choices: &FxHashMap<Id, Choice>) -> bool {
        let (mut seen, mut stack, mut reached) = (FxHashSet::default(), vec![id], false);
        while let Some(part) = stack.pop() {
            if part != id && self.bettered.contains(&part) {
                reached = true;
                continue;
            }
            let Some(Choice::Form(form)) = choices.get(&part) else { continue };
            if !matches!(form, Form::Plain) {
                return true;
            }
            stack.extend(self.terms.parts(part, form).into_iter().filter(|part| seen.insert(*part)));
        }
        !reached
    }
}

/// The places at which a value is judged; where it is computed piece by piece, one of each piece among them.
pub fn judged(window: &Window, store: &Store, root: &Use, extents: &[Size]) -> Vec<Vec<i64>> {
    let mut all = places(extents).unwrap_or_default();
    if let Some(middle) = all.first().cloned().filter(|_| window.apart)
        && let Some(joints) = Joints::of(store, root, extents)
    {
        all.extend(joints.places(&middle));
        all.sort();
        all.dedup();
    }
    all
}

/// The errors of what stands for a value, held against the exact one; nothing where they cannot be known.
pub fn errors(
    window: &Window,
    judge: &mut Judge<'_>,
    places: &[Vec<i64>],
    [exact, computed]: [Value; 2],
) -> Option<Errors> {
    let (body, held) = (&window.body, window.format(exact)?);
    let mut all = Errors::default();
    for place in places {
        all = all.with(&judge.errors(body, held, (exact, place, 1.0), (computed, place, 1.0), &[])?);
    }
    (all.points() > 0).then_some(all)
}

/// Whether a plan uses a chart.
fn takes(plan: &Plan, chart: Chart) -> bool {
    plan.laws.iter().any(|law| law == chart.name())
}
