//! Turns what was chosen in an e-graph into terms of the body.

use std::rc::Rc;
use std::sync::Arc;

use egg::Id;
use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::{Attr, Dense, Type, Value};
use ngc_numerics::{DType, Tensor};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Region;
use super::extract::Choices;
use super::language::{Node, facts, parts};
use super::sampled::Candidate;
use crate::rewrite::graph::{Graph, Plan, Term, Terms};

/// Turns choices into terms of the body.
pub(super) struct Emit<'r, 'a> {
    region: &'r Region<'a>,
    /// Where the new ops will stand: values from here on are not yet defined.
    place: usize,
    done: FxHashMap<Id, Option<Term>>,
    made: FxHashMap<*const Candidate, Option<Term>>,
    graph: Graph<'a>,
    /// What the very op computes in whose place the new ones will stand: as a whole it is that value, as a part it is computed
    /// again, for the value is not yet defined.
    itself: Option<(Term, Value)>,
}

impl<'r, 'a> Emit<'r, 'a> {
    /// In the place of a value.
    pub(super) fn new(region: &'r Region<'a>, value: Value) -> Emit<'r, 'a> {
        let scope = &region.scope;
        let graph = Graph::new(scope.context, &scope.function.body, scope.ranges);
        let (done, made) = (FxHashMap::default(), FxHashMap::default());
        Emit { region, place: scope.cut.place(value), done, made, graph, itself: None }
    }

    pub(super) fn emit(mut self, term: impl FnOnce(&mut Self) -> Option<Term>) -> Option<(Plan, Term)> {
        let found = term(&mut self)?;
        let term = self.itself.filter(|(term, _)| *term == found).map_or(found, |(_, v)| Term::Value(v));
        Some((self.graph.plan(term), term))
    }

    /// The chosen term of a class.
    pub(super) fn term(&mut self, class: Id, choices: &Choices) -> Option<Term> {
        let class = self.region.egraph.find(class);
        if let Some(&known) = self.done.get(&class) {
            return known;
        }
        let node = choices.get(&class).map(|c| &c.node);
        let term = node.and_then(|node| {
            let operands = parts(&self.region.egraph, node).map(|p| p.operands).unwrap_or_default();
            let operands = operands.iter().map(|&id| self.term(id, choices));
            let operands = operands.collect::<Option<SmallVec<[Term; 4]>>>()?;
            self.make(class, node, &operands)
        });
        self.done.insert(class, term);
        term
    }

    /// A term that points chose.
    pub(super) fn candidate(&mut self, of: &Rc<Candidate>) -> Option<Term> {
        if let Some(&known) = self.made.get(&Rc::as_ptr(of)) {
            return known;
        }
        let operands = of.parts.iter().map(|p| self.candidate(p)).collect::<Option<SmallVec<[Term; 4]>>>();
        let term = operands.and_then(|operands| self.make(of.class, &of.node, &operands));
        self.made.insert(Rc::as_ptr(of), term);
        term
    }

    fn make(&mut self, class: Id, node: &Node, operands: &[Term]) -> Option<Term> {
        let region = self.region;
        let facts = facts(&region.egraph, class)?;
        let defined = |v: &&Value| region.scope.cut.place(**v) < self.place;
        let operation = |v: &Value| region.scope.function.body.defining_op(*v);
        match node {
            Node::Attr(_) => None,
            Node::Value(n) => {
                let value = region.egraph.analysis.leaves[*n as usize].0;
                defined(&&value).then_some(Term::Value(value))
            }
            Node::Number(bits, ty) => {
                let constant = |v: &&Value| {
                    operation(v)
                        .and_then(|op| region.scope.function.body.op(op).def)
                        .is_some_and(|d| d.traits.constant)
                };
                if let Some(v) = facts.values.iter().filter(defined).find(constant) {
                    return Some(Term::Value(*v));
                }
                let ty = region.egraph.analysis.ty(*ty)?;
                let value = splat(f64::from_bits(*bits), ty)?;
                let def = region.scope.context.op("ng.constant")?;
                self.graph.make(def, &[], [("value", value)].into()).ok()
            }
            node @ Node::Op(..) => {
                let found = parts(&region.egraph, node)?;
                let same = |v: &&Value| {
                    let Some(op) = operation(v) else { return false };
                    let own = region.scope.function.body.operands(op).iter().map(|&v| Term::Value(v));
                    region.scope.function.body.op(op).def == Some(found.def)
                        && own.eq(operands.iter().copied())
                        && region.ids.get(v).is_some_and(|&id| {
                            parts(&region.egraph, region.egraph.id_to_node(id))
                                .is_some_and(|p| p.attrs == found.attrs)
                        })
                };
                if let Some(v) = facts.values.iter().filter(|v| defined(v)).find(same) {
                    return Some(Term::Value(*v));
                }
                let root = facts.values.iter().find(|v| region.scope.cut.place(**v) == self.place);
                let root = root.copied().filter(|v| same(&v));
                let term = self.graph.make(found.def, operands, found.attrs).ok()?;
                self.itself = self.itself.or(root.map(|v| (term, v)));
                Some(term)
            }
        }
    }
}

/// The value of a constant of that type, all of whose elements are the number.
pub(super) fn splat(number: f64, ty: Type) -> Option<Attr> {
    let number = match ty.elem()? {
        DType::Float(format) => Tensor::scalar(format, number),
        dtype => Tensor::int_scalar(dtype, number as i64),
    };
    Some(match ty.as_tensor() {
        None => tensor_to_attr(&number),
        Some(_) => Attr::Dense(Arc::new(Dense { ty, bytes: number.to_bytes().into(), splat: true })),
    })
}
