//! The value of a window in the forms that were chosen, held against the given one.

use std::collections::VecDeque;

use ngc_ir::{Builder, Loc, Type, Value};
use ngc_numerics::Interval;
use ngc_reals::read::Reading;
use ngc_reals::write::Writer;
use ngc_reals::{Form, Id};
use rug::Rational;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Choice, Search, places};
use crate::analysis::range::Ranges;
use crate::stabilize::judge::Judge;
use crate::stabilize::ladder;
use crate::stabilize::order::Errors;
use crate::stabilize::window::Window;

impl Search<'_> {
    /// The errors of the window's value, or of another one that stands for it; nothing where they cannot be known.
    pub fn of_root(&mut self, root: &Reading, other: Option<Value>) -> Option<Errors> {
        root_errors(self.window, &mut self.judge, root, other)
    }

    /// Whether a value that stands for the window's nowhere trades what works for what does not, at points that the search
    /// has not seen; what cannot be judged there is not taken.
    pub fn keeps(&mut self, root: &Reading, other: Value) -> bool {
        let Some(format) = self.window.body.ty(self.window.root).format() else { return false };
        let to = ladder::Use::Check;
        let Some(mut judge) = Judge::new(self.context, self.resources, self.window, format, to) else {
            return false;
        };
        let mut of = |other| root_errors(self.window, &mut judge, root, other);
        let (given, new) = (of(None), of(Some(other)));
        given.zip(new).is_some_and(|(given, new)| new.keeps(&given))
    }

    /// Whether a value that stands for the window's is the same over the reals, and proven finite where that is; what gains
    /// bits on points need not be, for bounds do not see all that keeps a quotient finite.
    pub fn holds(&mut self, root: &Reading, other: Value, gains: bool) -> bool {
        let Some(places) = places(&root.extents) else { return false };
        let (body, given) = (&self.window.body, self.window.root);
        if !places
            .into_iter()
            .all(|place| self.judge.same(body, (given, &place, &Rational::from(1)), (other, &place)))
        {
            self.refuted.push(self.store.show(&root.element));
            return false;
        }
        let arguments: Vec<Interval> = self.window.leaves.iter().map(|leaf| leaf.range).collect();
        let ranges = Ranges::of_body(body, &arguments);
        let fails = |value: Value| body.ty(value).format().is_some_and(|f| ranges.of(value).may_overflow(f));
        gains || fails(given) || !fails(other)
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
                Choice::Source(_) => {}
                Choice::Form(form) => stack.extend(self.parts(id, form)),
            }
            found.insert(id, best.choice.clone());
        }
        found
    }

    /// What choices are owed to, from a term inwards.
    pub fn laws(&self, id: Id, choices: &FxHashMap<Id, Choice>) -> Vec<String> {
        let (mut laws, mut seen, mut queue) =
            (Vec::<String>::new(), FxHashSet::default(), VecDeque::from([id]));
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
}

/// The errors of a window's value, or of another one that stands for it.
fn root_errors(
    window: &Window,
    judge: &mut Judge<'_>,
    root: &Reading,
    other: Option<Value>,
) -> Option<Errors> {
    let value = other.unwrap_or(window.root);
    let held = window.body.ty(window.root).format()?;
    let mut all = Errors::default();
    for place in places(&root.extents)? {
        let exact = judge.exact(&window.body, window.root, &place)?;
        let computed = judge.computed(&window.body, value, &place)?;
        all = all.with(&judge.errors(held, &exact, &computed));
    }
    (all.points() > 0).then_some(all)
}
