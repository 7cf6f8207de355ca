//! Charts: values carried as other numbers (DESIGN section 4).
//!
//! What overflows, vanishes or cancels as itself may be harmless as its logarithm, as a multiple of an exponential, as its
//! distance from 1, or beside a mean. A chart is opened at a term and pushed through all that the term is made of by one
//! law for each kind of node, so that what it cures does not depend on how many terms there are or how deep they nest.

mod centred;
mod chart;
mod complement;
mod direction;
mod divergence;
mod exponent;
mod gram;
mod log;
mod origin;
mod pieces;
mod polynomial;
mod rational;
mod scaled;

use ngc_ir::Ident;
use ngc_ir::structure::Size;
use ngc_numerics::{Cmp, Prim};
use rug::Rational;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::Facts;
use crate::form::Equal;
use crate::store::Store;
use crate::term::{Function, Id, Map, Node, Use, at};

pub use self::chart::Chart;
use self::exponent::Multiple;
use self::log::Log;
pub use self::pieces::{Joints, pieces};

/// Terms that are nested deeper stay as they are.
const DEEPEST: usize = 48;

/// Terms over the slots of a term that equal it wherever it has a value, as the charts give them; each once.
pub fn alternatives(store: &mut Store, facts: &mut Facts, id: Id) -> Vec<Equal> {
    let mut found: Vec<Equal> = Vec::new();
    for (chart, term) in usual(store, facts, id) {
        if term.id != id && found.iter().all(|known| known.term != term) {
            found.push(Equal { term, law: Ident::new(chart.name()) });
        }
    }
    found
}

/// Deviations from a mean with what the mean was rounded by taken away: they gain where a form is as good already as arguments
/// that are rounded allow, and are no part of what is tried elsewhere.
pub fn recentred(store: &mut Store, facts: &mut Facts, id: Id) -> Vec<Equal> {
    let found = Charts::new(store, facts).recentred(id);
    let law = Ident::new(Chart::Centred.name());
    found.into_iter().filter(|term| term.id != id).map(|term| Equal { term, law }).collect()
}

/// A quotient over parts of the sums below its line, each no greater than the greatest of its terms: for sums that overflow.
pub fn over_parts(store: &mut Store, facts: &mut Facts, id: Id) -> Option<Equal> {
    let term = Charts::new(store, facts).parts_of_sums(id)?;
    Some(Equal { term, law: Ident::new(Chart::Scaled.name()) })
}

/// All that the charts give for a term: two may give the same.
pub fn given(store: &mut Store, facts: &mut Facts, id: Id) -> Vec<(Chart, Use)> {
    let mut all = usual(store, facts, id);
    all.extend(Charts::new(store, facts).parts_of_sums(id).map(|term| (Chart::Scaled, term)));
    all
}

fn usual(store: &mut Store, facts: &mut Facts, id: Id) -> Vec<(Chart, Use)> {
    let mut charts = Charts::new(store, facts);
    let mut laws: Vec<(Chart, Option<Use>)> = Vec::new();
    laws.extend(charts.logarithms(id));
    laws.extend(charts.multiples(id));
    laws.extend(charts.complements(id));
    laws.extend(charts.centred(id));
    laws.extend(charts.directions(id));
    laws.extend(charts.residuals(id));
    laws.extend(charts.quotients(id));
    laws.extend(charts.magnitudes(id));
    laws.extend(charts.origins(id));
    laws.extend(charts.divergences(id));
    laws.into_iter().filter_map(|(chart, term)| Some((chart, term?))).collect()
}

/// The logarithm of the magnitude of a value, read along dimensions of these extents, with the logarithm inside where
/// laws allow it.
pub fn log_of(store: &mut Store, facts: &mut Facts, of: &Use, space: &[Size]) -> Use {
    Charts::new(store, facts).log_of(of, space).term
}

/// A term with its factor.
type Term = (Rational, Use);
/// The terms of a sum.
type Addends = Vec<Term>;
/// Factors with their exponents.
type Factors = Vec<(Use, Rational)>;

/// Charts of the terms of one store.
struct Charts<'a> {
    store: &'a mut Store,
    facts: &'a mut Facts,
    logs: FxHashMap<Id, Log>,
    multiples: FxHashMap<Id, Multiple>,
    /// Weights of exponentials in a sum that is divided by: where one is 0 its exponential has no part in a scale.
    weights: FxHashSet<Id>,
    depth: usize,
}

impl<'a> Charts<'a> {
    fn new(store: &'a mut Store, facts: &'a mut Facts) -> Charts<'a> {
        Charts {
            store,
            facts,
            logs: FxHashMap::default(),
            multiples: FxHashMap::default(),
            weights: FxHashSet::default(),
            depth: 0,
        }
    }

    /// The extents of a term's slots.
    fn space(&self, id: Id) -> Vec<Size> {
        self.store.sizes(id).to_vec()
    }

    /// A term at the places of its own slots.
    fn itself(&self, id: Id) -> Use {
        let map: Map = (0..self.store.sizes(id).len()).map(at).collect();
        self.store.settle(Use { id, map })
    }

    /// A term that was made over the slots of another one, read as that is read.
    fn placed(&self, own: &Use, of: &Use, space: &[Size]) -> Option<Use> {
        self.store.compose(own, &of.map, space)
    }

    /// The constant and the terms of a sum.
    fn addends_of(&self, of: &Use, space: &[Size]) -> Option<(Rational, Addends)> {
        match self.node(of.id) {
            Node::Linear(constant, terms) => Some((constant, self.store.placed_terms(&terms, of, space)?)),
            _ => Some((Rational::new(), vec![(1.into(), of.clone())])),
        }
    }

    /// The content and the factors of a product.
    fn factors_of(&self, of: &Use, space: &[Size]) -> Option<(Rational, Factors)> {
        match self.node(of.id) {
            Node::Linear(constant, terms) if constant.is_zero() && terms.len() == 1 => {
                let (content, parts) = self.factors_of(&self.placed(&terms[0].1, of, space)?, space)?;
                Some((content * &terms[0].0, parts))
            }
            Node::Product(factors) => Some((1.into(), self.store.placed_factors(&factors, of, space)?)),
            _ => Some((1.into(), vec![(of.clone(), 1.into())])),
        }
    }

    fn exp(&mut self, x: Use, space: &[Size]) -> Use {
        self.store.apply(Function::Prim(Prim::Exp), vec![x], space)
    }

    /// `log1p(x)` as it is: its normal form is the logarithm of a sum, in which `x` may vanish.
    fn log1p(&mut self, x: Use, space: &[Size]) -> Use {
        self.store.close(Node::Apply(Function::Prim(Prim::Log1p), vec![x]), space)
    }

    /// `log1p(factor x)` where `x < 1`, and elsewhere, where nothing cancels and `x` may be anything, the same in another form.
    fn log1p_near(&mut self, factor: Rational, x: Use, far: Use, space: &[Size]) -> Use {
        let unit = self.store.rational(1);
        let near = self.store.compare(Cmp::Lt, x.clone(), unit, space);
        let x = self.store.scaled(factor, x, space);
        let log = self.log1p(x, space);
        self.store.apply(Function::Choose, vec![near, log, far], space)
    }

    fn sum(&mut self, terms: Vec<(Rational, Use)>, space: &[Size]) -> Use {
        self.store.linear(Rational::new(), terms, space)
    }

    /// `a - b`
    fn difference(&mut self, a: Use, b: Use, space: &[Size]) -> Use {
        self.sum(vec![(1.into(), a), ((-1).into(), b)], space)
    }

    fn times(&mut self, a: Use, b: Use, space: &[Size]) -> Use {
        self.store.product(1.into(), vec![(a, 1.into()), (b, 1.into())], space)
    }

    /// The greatest of several values: without those that are proven to be no greater than another, and with what all of
    /// them have in common added once. So a shift by the greatest is 0 where it is taken again.
    fn greatest(&mut self, mut parts: Vec<Use>, space: &[Size]) -> Use {
        let mut n = 0;
        while n < parts.len() {
            let lesser = (0..parts.len()).filter(|&m| m != n).any(|m| {
                let above = self.difference(parts[m].clone(), parts[n].clone(), space);
                self.nonnegative(&above)
            });
            if lesser { drop(parts.remove(n)) } else { n += 1 }
        }
        let addends = |of: &Use| self.addends_of(of, space).map_or(Vec::new(), |(_, terms)| terms);
        let mut common = addends(&parts[0]);
        for part in &parts[1..] {
            let own = addends(part);
            common.retain(|addend| own.contains(addend));
        }
        if common.is_empty() || parts.len() == 1 {
            return self.store.greatest(parts, space);
        }
        let common = self.sum(common, space);
        let rest = parts.into_iter().map(|part| self.difference(part, common.clone(), space)).collect();
        let rest = self.greatest(rest, space);
        self.sum(vec![(1.into(), rest), (1.into(), common)], space)
    }

    /// A value held between a bound and its opposite.
    fn held(&mut self, x: Use, bound: Rational, space: &[Size]) -> Use {
        let low = self.store.rational(-bound);
        let above = self.store.greatest(vec![x, low.clone()], space);
        let opposite = self.store.scaled(-1, above, space);
        let opposite = self.store.greatest(vec![opposite, low], space);
        self.store.scaled(-1, opposite, space)
    }

    fn is_zero(&self, of: &Use) -> bool {
        self.store.as_rational(of).is_some_and(|x| x.is_zero())
    }

    fn nonnegative(&mut self, of: &Use) -> bool {
        self.facts.is_nonnegative(self.store, of.id)
    }

    /// The node of a term, to be taken apart while terms are made.
    fn node(&self, id: Id) -> Node {
        self.store.node(id).clone()
    }
}
