//! What is found for a window, and how it is written into a function.

use std::sync::Arc;

use ngc_ir::structure::Size;
use ngc_ir::{Builder, Context, Resources, Type, Value};
use ngc_numerics::Format;
use ngc_reals::recognise::Definitions;
use ngc_reals::write::{Known, Values, Writer};
use ngc_reals::{Form, Id, Node, Store, Use};
use rustc_hash::FxHashMap;

use super::search::{Choice, Search};
use super::window::Window;

/// A better way to compute the value of a window, and of all windows that look like it.
pub struct Plan {
    store: Store,
    root: Use,
    extents: Vec<Size>,
    ty: Type,
    format: Format,
    leaves: FxHashMap<u32, Value>,
    choices: FxHashMap<Id, Choice>,
    /// The laws, charts and ops that the form is owed to, from the value inwards.
    laws: Vec<String>,
    given: String,
}

/// What is found for a window.
#[derive(Clone)]
pub enum Found {
    /// The given form stays.
    Stays,
    /// The value is no constant, but over the reals it is one number: the error that a compensated sum keeps. What it is made
    /// of is there for its rounding.
    Rounding,
    /// There is a better form.
    Better(Arc<Plan>),
}

/// What is found for a window, and what was noticed on the way.
#[derive(Clone)]
pub struct Looked {
    /// What is found.
    pub found: Found,
    /// Laws whose result an evaluation holds for another function: each is a fault of ngc.
    pub refuted: Vec<String>,
}

#[derive(Default)]
struct Seen {
    rounding: bool,
    refuted: Vec<String>,
}

impl Plan {
    /// What is found for a window.
    pub fn look(
        context: &Context,
        resources: &Resources,
        definitions: &Definitions<'_>,
        window: &Window,
    ) -> Looked {
        let mut seen = Seen::default();
        let found = match Plan::find(context, resources, definitions, window, &mut seen) {
            Some(plan) => Found::Better(Arc::new(plan)),
            None if seen.rounding => Found::Rounding,
            None => Found::Stays,
        };
        Looked { found, refuted: seen.refuted }
    }

    /// The best form of a window's value; nothing where the given one stays.
    fn find(
        context: &Context,
        resources: &Resources,
        definitions: &Definitions<'_>,
        window: &Window,
        seen: &mut Seen,
    ) -> Option<Plan> {
        let mut window = window.clone();
        let ty = window.body.ty(window.root);
        let (mut search, root) = Search::new(context, resources, definitions, &mut window)?;
        let given = search.of_root(&root, None)?;
        if given.is_fine() {
            return None;
        }
        if matches!(search.store.node(root.element.id), Node::Number(_)) {
            seen.rounding = true;
            return None;
        }
        search.solve(root.element.id)?;
        let choices = search.chosen(root.element.id);
        let laws = search.laws(root.element.id, &choices);
        let new = search.write_root(&root, ty).ok();
        seen.refuted.append(&mut search.refuted);
        let new = new?;
        let found = search.of_root(&root, Some(new))?;
        let gains = found.bits() + 1.0 < given.bits();
        if !found.betters(&given) || !search.holds(&root, new, gains) || !search.keeps(&root, new) {
            return None;
        }
        let given = search.store.show(&root.element);
        let (format, leaves) = (search.format, search.leaves.clone());
        let store = search.store;
        Some(Plan {
            store,
            root: root.element,
            extents: root.extents,
            ty,
            format,
            leaves,
            choices,
            laws,
            given,
        })
    }

    /// Writes the form in the place of the value of a window that looks like the one that was searched.
    ///
    /// # Errors
    /// A sentence that says what cannot be written.
    pub fn emit(&self, builder: &mut Builder<'_>, window: &Window) -> Result<Value, String> {
        let origin = |value: &Value| window.origin[value];
        let leaves: FxHashMap<u32, Value> = self.leaves.iter().map(|(&leaf, v)| (leaf, origin(v))).collect();
        let mut values = Values::default();
        for (&id, choice) in &self.choices {
            if let Choice::Source(known) = choice {
                values.insert(id, Known { value: origin(&known.value), ..known.clone() });
            }
        }
        let forms = |id: Id| match self.choices.get(&id) {
            Some(Choice::Form(form)) => form.clone(),
            _ => Form::Plain,
        };
        let at = Builder {
            context: builder.context,
            body: builder.body,
            at: builder.at,
            loc: builder.loc.clone(),
        };
        let mut writer = Writer::new(&self.store, at, self.format, &leaves, &forms, &values);
        let value = writer.value(&self.root, &self.extents)?;
        writer.typed(value, self.ty)
    }

    /// The law, chart or op that comes first.
    pub fn rule(&self) -> String {
        self.laws.first().cloned().unwrap_or_else(|| "reals".into())
    }

    /// What was computed, and by what it is computed now.
    pub fn message(&self) -> String {
        const LONGEST: usize = 160;
        let mut given: String = self.given.chars().take(LONGEST).collect();
        if given.len() < self.given.len() {
            given.push('…');
        }
        format!("{given}: by {}", self.laws.join(", "))
    }
}
