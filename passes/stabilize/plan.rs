//! What is found for the values of a window, and how it is written into a function.

use std::sync::Arc;

use ngc_ir::structure::Size;
use ngc_ir::{Builder, Context, Resources, Type, Value};
use ngc_numerics::{Format, Prim, Reduce};
use ngc_reals::write::{Known, Values, Writer};
use ngc_reals::{Form, Function, Id, Node, Store, Use};
use rustc_hash::FxHashMap;

use super::Equalities;
use super::catalogue::NORMAL_FORM;
use super::ladder::Point;
use super::search::{Choice, Search, slot};
use super::window::Group;

/// Stack that a search may need; where less is left it goes on with a new one.
const STACK: usize = 16 << 20;

/// The terms of a window, and what they are written with.
pub struct Terms {
    /// The terms.
    pub store: Store,
    /// The format in which forms are written.
    pub format: Format,
    /// The widest format in which an op of the window adds up.
    pub accumulate: Option<Format>,
    /// The values of the window that leaves are.
    pub leaves: FxHashMap<u32, Value>,
}

impl Terms {
    /// The terms that a form of a term is computed from.
    pub fn parts(&self, id: Id, form: &Form) -> Vec<Id> {
        match form {
            Form::Plain | Form::Ordered(_) => {
                let node = self.store.node(id);
                let inner = match node {
                    // What a matrix product sums is never there as a whole.
                    Node::Reduce(Reduce::Sum, _, body) if self.is_outer(body.id) => self.store.node(body.id),
                    _ => node,
                };
                inner.children().iter().map(|part| part.id).collect()
            }
            Form::Inside => match self.store.multiple_of_sum(id) {
                Some((_, sum)) => self.parts(sum.id, &Form::Plain),
                None => self.parts(id, &Form::Plain),
            },
            Form::Sum(parts) => parts.iter().map(|(_, part)| part.id).collect(),
            Form::Product(parts) => parts.iter().map(|(part, _)| part.id).collect(),
            Form::Equal(equal) => vec![equal.term.id],
            Form::Op(op) => op.operands.iter().map(|part| part.id).collect(),
        }
    }

    /// What writes terms, where leaves and terms are these values and `forms` says how the others are computed.
    pub fn writer<'a, 'b>(
        &'a self,
        builder: Builder<'b>,
        leaves: &'a FxHashMap<u32, Value>,
        forms: &'a dyn Fn(Id) -> Form,
        values: &'a Values,
    ) -> Writer<'a, 'b> {
        Writer::new(&self.store, builder, self.format, leaves, forms, values).accumulating(self.accumulate)
    }

    /// A term along its own slots.
    pub fn itself(&self, id: Id) -> Use {
        Use { id, map: (0..self.store.sizes(id).len()).map(slot).collect() }
    }

    /// Whether a term is a product of values of which none has as many dimensions.
    fn is_outer(&self, id: Id) -> bool {
        let slots = |id: Id| self.store.sizes(id).len();
        match self.store.node(id) {
            Node::Product(factors) => factors.iter().all(|(x, _)| slots(x.id) < slots(id)),
            _ => false,
        }
    }
}

/// A better way to compute a value of a window, and of all windows that look like it.
pub struct Plan {
    /// The value as a term.
    pub root: Use,
    /// Its extents.
    pub extents: Vec<Size>,
    /// Its type.
    pub ty: Type,
    /// How it and what it is made of are computed.
    pub choices: FxHashMap<Id, Choice>,
    /// The laws, charts and ops that the form is owed to, from the value inwards.
    pub laws: Vec<String>,
    /// The term in words.
    pub given: String,
    /// Whether it is more than the better ways to compute what it is made of.
    pub itself: bool,
    /// Whether it is more ops than the value was given by.
    pub grows: bool,
    /// Its mean bits of error, at the points that the search saw; nothing where that was not asked.
    pub bits: Option<f64>,
}

/// What is found for a value.
pub enum Found {
    /// The given form stays, as there is nothing to cure.
    Fine,
    /// The given form stays, as no other one is better.
    Stays,
    /// Nothing is looked for: with all the places that its parts are read at the term is larger than any value.
    Large,
    /// The value is no constant, but over the reals it is 0: the error that a compensated sum keeps. What it is made
    /// of is there for its rounding.
    Rounding,
    /// There is a better form.
    Better(Plan),
    /// There is one, but what reads the value is no better for it.
    Hidden(Plan),
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aim {
    /// A better form.
    Cure,
    /// One op for several.
    Cover,
}

/// What is found for the values of a group, and what was noticed on the way.
pub struct Looked {
    /// What is found for each value; nothing where the window cannot be judged as a whole.
    pub found: Option<(Terms, Vec<Found>)>,
    /// Laws whose result an evaluation holds for another function: each is a fault of ngc.
    pub refuted: Vec<String>,
}

impl Looked {
    /// What is found for a group, once more at the points at which what was found first was refused, where so many share what may be spent on one.
    pub fn at(
        context: &Context,
        resources: &Resources,
        equalities: Equalities<'_>,
        group: &Group,
        (aim, share): (Aim, usize),
    ) -> Arc<Looked> {
        let look = |further: &[Point]| {
            let (window, members) = (&group.window, &group.members);
            let mut search = Search::new(context, resources, equalities, window, share, further)?;
            let inner = members.iter().map(|member| member.inner);
            let found = match aim {
                Aim::Cover => inner.map(|value| search.covered(value)).collect(),
                Aim::Cure => {
                    let settled = group.settled(&mut |value| search.is_right(value));
                    let values: Vec<Value> = inner.collect();
                    let at = |value: &Value| search.at(*value, settled.contains(value));
                    let mut found: Vec<Found> = values.iter().map(at).collect();
                    search.hide_what_shows_nowhere(&values, &group.read, &mut found);
                    found
                }
            };
            let Search { terms, refuted, further, .. } = search;
            Some((Looked { found: Some((terms, found)), refuted }, further))
        };
        let all = || match look(&[]) {
            None => Looked { found: None, refuted: Vec::new() },
            Some((looked, further)) if further.is_empty() => looked,
            Some((looked, further)) => match look(&further) {
                Some((again, _)) if again.betters_all_of(&looked) => again,
                _ => looked,
            },
        };
        // A search nests deeply, and a thread may take it up while it waits for another one.
        Arc::new(stacker::maybe_grow(STACK / 2, STACK, all))
    }
}

impl Looked {
    /// Whether there is no better form for any value of a window that can be judged.
    pub fn is_nothing(&self) -> bool {
        let plans = |found: &Found| matches!(found, Found::Better(_) | Found::Hidden(_));
        self.refuted.is_empty() && self.found.as_ref().is_some_and(|(_, found)| !found.iter().any(plans))
    }

    /// Whether there is a better form for every value for which another search found one.
    fn betters_all_of(&self, other: &Looked) -> bool {
        let better = |looked: &Looked| -> Vec<bool> {
            let found = looked.found.iter().flat_map(|(_, found)| found);
            found.map(|found| matches!(found, Found::Better(_))).collect()
        };
        better(other).iter().zip(better(self)).all(|(before, now)| now || !before)
    }
}

impl Plan {
    /// Writes the form over values of the window, which are the function's `origin` of them.
    ///
    /// # Errors
    /// A sentence that says what cannot be written.
    pub fn write(
        &self,
        builder: Builder<'_>,
        terms: &Terms,
        origin: &dyn Fn(Value) -> Value,
    ) -> Result<Value, String> {
        let leaves = terms.leaves.iter().map(|(&leaf, &value)| (leaf, origin(value))).collect();
        let mut values = Values::default();
        for (&id, choice) in &self.choices {
            if let Choice::Source(known) = choice {
                values.insert(id, Known { value: origin(known.value), ..known.clone() });
            }
        }
        let forms = |id: Id| match self.choices.get(&id) {
            Some(Choice::Form(form)) => form.clone(),
            _ => Form::Plain,
        };
        let mut writer = terms.writer(builder, &leaves, &forms, &values);
        let value = writer.value(&self.root, &self.extents)?;
        writer.typed(value, self.ty)
    }

    /// The values of the window that the form is computed from.
    pub fn reads<'t>(&'t self, terms: &'t Terms) -> impl Iterator<Item = Value> + 't {
        let sources = self.choices.values().filter_map(|choice| match choice {
            Choice::Source(known) => Some(known.value),
            Choice::Form(_) => None,
        });
        sources.chain(terms.leaves.values().copied())
    }

    /// The values of the window of which the form takes the logarithm.
    pub fn logs<'t>(&'t self, terms: &'t Terms) -> impl Iterator<Item = Value> + 't {
        let of = |id: &Id| match terms.store.node(*id) {
            Node::Apply(Function::Prim(Prim::Log), parts) => Some(parts[0].id),
            _ => None,
        };
        let formed = move |(id, choice): (&Id, &Choice)| matches!(choice, Choice::Form(_)).then(|| of(id))?;
        self.choices.iter().filter_map(formed).filter_map(|id| {
            match (terms.store.node(id), self.choices.get(&id)) {
                (Node::Leaf(leaf), _) => terms.leaves.get(leaf).copied(),
                (_, Some(Choice::Source(known))) => Some(known.value),
                _ => None,
            }
        })
    }

    /// The law, chart or op that comes first.
    pub fn rule(&self) -> String {
        self.laws.first().cloned().unwrap_or_else(|| NORMAL_FORM.into())
    }

    /// What was computed, and by what it is computed now.
    pub fn message(&self) -> String {
        const LONGEST: usize = 160;
        let mut given: String = self.given.chars().take(LONGEST).collect();
        if given.len() < self.given.len() {
            given.push('…');
        }
        let names = if self.laws.is_empty() { self.rule() } else { self.laws.join(", ") };
        format!("{given}: by {names}")
    }
}
