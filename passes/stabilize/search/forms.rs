//! Forms of a term that may be tried, and what they cost.

use ngc_ir::Ident;
use ngc_reals::store::ANYWHERE;
use ngc_reals::write::Values;
use ngc_reals::{Form, Id, Node, scans, sums};
use rug::Rational;
use rustc_hash::FxHashSet;

use super::{Best, Choice, Search};

impl Search<'_> {
    /// The ways to compute a term by an op.
    pub(super) fn ops(&mut self, id: Id) -> Vec<Form> {
        if let Some(known) = self.ops.get(&id) {
            return known.clone();
        }
        let brings = |name: &str| self.equalities.allowed.op(name) || self.own.contains(&Ident::new(name));
        let mut found = self.equalities.definitions.forms(&mut self.terms.store, id, &brings);
        let scans = scans::forms(&self.terms.store, id);
        found.extend(
            scans.into_iter().filter(|form| matches!(form, Form::Op(op) if brings(op.name.as_str()))),
        );
        self.ops.insert(id, found.clone());
        found
    }

    /// A term with its sums over the same dimensions as one.
    pub(super) fn sums(&mut self, id: Id) -> Vec<Form> {
        self.sums.entry(id).or_insert_with(|| sums::forms(&mut self.terms.store, id)).clone()
    }

    /// Whether a term is written anew wherever it is read: a leaf, a number, or one that depends on a bare place.
    pub(super) fn is_plain(&self, id: Id) -> bool {
        let bare = self.terms.store.sizes(id).iter().any(|size| size.number() == Some(ANYWHERE));
        let simple = |node: &Node| {
            matches!(node, Node::Number(_) | Node::Size(_) | Node::Place | Node::Leaf(_) | Node::Holds(_))
        };
        bare || simple(self.terms.store.node(id))
    }

    /// The values that are written for terms, but for one term.
    pub(super) fn values(&self, but: Option<Id>) -> Values {
        let others = self.known.iter().filter(|(id, _)| Some(**id) != but);
        others.filter_map(|(&id, best)| Some((id, best.value.clone()?))).collect()
    }

    /// Orders of the parts of a short sum or product: each pair first.
    pub(super) fn orders(&self, id: Id) -> Vec<Vec<usize>> {
        let count = match self.terms.store.node(id) {
            Node::Linear(_, terms) => terms.len(),
            Node::Product(factors) => factors.len(),
            _ => 0,
        };
        if !(3..=5).contains(&count) {
            return Vec::new();
        }
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
        pairs
            .map(|first| first.into_iter().chain((0..count).filter(|n| !first.contains(n))).collect())
            .collect()
    }

    /// A product of two factors of which one has a power, with that factor taken out once and multiplied last.
    pub(super) fn apart(&mut self, id: Id) -> Vec<Form> {
        let Node::Product(factors) = self.terms.store.node(id).clone() else { return Vec::new() };
        let (space, one) = (self.terms.store.sizes(id).to_vec(), Rational::from(1));
        let mut forms = Vec::new();
        for (n, (factor, exponent)) in factors.iter().enumerate().filter(|_| factors.len() == 2) {
            if exponent.is_integer() && exponent.clone().abs() >= 2 {
                let step = if *exponent > 0 { one.clone() } else { Rational::from(-1) };
                let mut rest = factors.clone();
                rest[n].1 -= &step;
                let rest = self.terms.store.product(one.clone(), rest, &space);
                forms.push(Form::Product(vec![(factor.clone(), step), (rest, one.clone())]));
            }
        }
        forms
    }

    /// What a form of a term costs, its parts with it.
    pub(super) fn cost(&self, id: Id, form: &Form) -> f64 {
        let own = match form {
            Form::Equal(_) => 0.0,
            Form::Op(op) => self.equalities.allowed.cost(op.name.as_str()),
            _ => self.terms.parts(id, form).len().max(1) as f64,
        };
        let parts = self.terms.parts(id, form).into_iter();
        let known = parts.filter_map(|part| self.known.get(&part)).map(|best| best.cost);
        own + known.sum::<f64>()
    }

    /// Whether a term is computed by way of another one.
    pub(super) fn leads_to(&self, id: Id, other: Id) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![id]);
        while let Some(id) = stack.pop() {
            if id == other {
                return true;
            }
            if let Some(Best { choice: Choice::Form(form), .. }) =
                self.known.get(&id).filter(|_| seen.insert(id))
            {
                stack.extend(self.terms.parts(id, form));
            }
        }
        false
    }

    /// Whether what is known of a term is computed by way of a term that is being looked for.
    pub(super) fn is_circular(&self, id: Id) -> bool {
        let mut others = self.open.iter().filter(|other| **other != id);
        let parts = match self.known.get(&id).map(|best| &best.choice) {
            Some(Choice::Form(form)) => self.terms.parts(id, form),
            _ => return false,
        };
        others.any(|&other| parts.iter().any(|&part| self.leads_to(part, other)))
    }
}
