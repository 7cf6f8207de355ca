//! The best term of a class on points: a fixpoint over mean bits of error, where bounds do not decide.
//!
//! What a class is over the reals at each point is enclosed once, by any of its nodes; each node is computed in its
//! format over the best terms of its operands. A term may contain an earlier one of its own class, as one branch of a
//! choice, so terms are trees and not choices by class.

use std::collections::VecDeque;
use std::rc::Rc;

use egg::{Id, Language};
use ngc_interp::real::{Known, Meaning};
use ngc_ir::{Context, Type, Value};
use ngc_numerics::{Big, DType, Format, Tensor};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::extract::Choices;
use super::language::{Egraph, Node, Parts, facts, parts};
use crate::rewrite::cost::work;
use crate::rewrite::sample::{Figure, Sample, compute, lifted, meaning};

/// A term of a class: its root over terms of its operands' classes.
#[derive(Debug)]
pub struct Candidate {
    /// Its class.
    pub class: Id,
    /// The root.
    pub node: Node,
    /// The operands.
    pub parts: SmallVec<[Rc<Candidate>; 4]>,
    values: Tensor,
    figure: Figure,
    work: f64,
    /// Tells it from all others of a search.
    serial: usize,
}

/// What an operation on an element weighs beside a bit of error.
const WORK: f64 = 0.002;

/// Looks at no class more often than this.
const MAX_VISITS: usize = 16;

/// Classes that are looked at.
const MOST_CLASSES: usize = 600;

impl Candidate {
    fn score(&self) -> f64 {
        self.figure.total() + WORK * self.work
    }
}

/// A better term for an output.
pub struct Found {
    /// The output.
    pub value: Value,
    /// The term.
    pub term: Rc<Candidate>,
    /// Its figures before and after.
    pub figures: (Figure, Figure),
    /// Whether it is not finite at some point at which the output is.
    pub fails: bool,
}

/// How a class is defined over the reals.
struct Definition {
    class: Id,
    dtype: DType,
    meaning: Meaning,
    operands: SmallVec<[usize; 4]>,
}

/// The e-graph of a region with the points of its outputs.
pub struct Ranking<'g, 'a> {
    context: &'a Context,
    egraph: &'g Egraph<'a>,
    sample: &'g Sample,
    /// Classes of the outputs.
    roots: Vec<Id>,
    /// By class and point: the value over the reals, rounded to the format; NaN where it is not known.
    exact: FxHashMap<Id, Vec<f64>>,
}

impl<'g, 'a> Ranking<'g, 'a> {
    /// Encloses the classes that the outputs can be made of.
    pub fn new(egraph: &'g Egraph<'a>, sample: &'g Sample, roots: Vec<Id>) -> Ranking<'g, 'a> {
        let context = egraph.analysis.context;
        let mut ranking = Ranking { context, egraph, sample, roots, exact: FxHashMap::default() };
        ranking.enclose();
        ranking
    }

    /// Classes below the outputs, nearest first.
    fn classes(&self) -> Vec<Id> {
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        let mut queue: VecDeque<Id> = self.roots.iter().copied().collect();
        let mut out = Vec::new();
        while let Some(id) = queue.pop_front() {
            let id = self.egraph.find(id);
            if out.len() < MOST_CLASSES && facts(self.egraph, id).is_some() && seen.insert(id) {
                out.push(id);
                queue.extend(self.egraph[id].nodes.iter().flat_map(|n| n.children()).copied());
            }
        }
        out
    }

    fn dtype(&self, class: Id) -> Option<DType> {
        facts(self.egraph, class)?.ty.elem()
    }

    /// Values of leaves and constants at the points.
    fn leaf(&self, node: &Node) -> Option<Tensor> {
        match node {
            Node::Value(n) => self.sample.leaf(self.egraph.analysis.leaves[*n as usize].0),
            Node::Number(bits, ty) => match self.egraph.analysis.ty(*ty)?.elem()? {
                DType::Float(format) => Some(Tensor::scalar(format, f64::from_bits(*bits))),
                DType::BOOL => Some(Tensor::int_scalar(DType::BOOL, f64::from_bits(*bits) as i64)),
                _ => None,
            },
            _ => None,
        }
    }

    fn enclose(&mut self) {
        let classes = self.classes();
        let mut places: FxHashMap<Id, usize> = FxHashMap::default();
        let mut leaves: Vec<(DType, Vec<f64>)> = Vec::new();
        let mut ids: Vec<Id> = Vec::new();
        for &id in &classes {
            let found = self.egraph[id].nodes.iter().find_map(|n| self.leaf(n));
            if let (Some(values), Some(dtype)) = (found, self.dtype(id)) {
                places.insert(id, leaves.len());
                leaves.push((dtype, values.to_f64s()));
                ids.push(id);
            }
        }
        let mut definitions: Vec<Definition> = Vec::new();
        loop {
            let before = definitions.len();
            // Parts come after what is made of them.
            for &id in classes.iter().rev() {
                if places.contains_key(&id) {
                    continue;
                }
                let define = |node: &Node| {
                    let Parts { def, operands, attrs } = parts(self.egraph, node)?;
                    let places = operands.iter().map(|&o| places.get(&self.egraph.find(o)).copied());
                    let places = places.collect::<Option<SmallVec<[usize; 4]>>>()?;
                    let types: SmallVec<[Type; 4]> = self.types(&operands)?;
                    Some((meaning(self.context, def, &types, &attrs)?, places))
                };
                let found = self.egraph[id].nodes.iter().find_map(define);
                if let (Some((meaning, operands)), Some(dtype)) = (found, self.dtype(id)) {
                    places.insert(id, leaves.len() + definitions.len());
                    definitions.push(Definition { class: id, dtype, meaning, operands });
                }
            }
            if definitions.len() == before {
                break;
            }
        }
        let format = |dtype: DType| if let DType::Float(f) = dtype { f } else { Format::F64 };
        let at = |i: usize| -> Vec<f64> {
            let d = Big::new(self.sample.points[i].1);
            let mut known: Vec<Known> = Vec::with_capacity(leaves.len() + definitions.len());
            for (dtype, values) in &leaves {
                known.push(lifted(&d, *dtype, *values.get(i).unwrap_or(&values[0])));
            }
            for definition in &definitions {
                let x: SmallVec<[Known; 3]> = definition.operands.iter().map(|&p| known[p].clone()).collect();
                known.push(definition.meaning.enclose(&d, &x));
            }
            let dtypes = leaves.iter().map(|(dtype, _)| *dtype).chain(definitions.iter().map(|x| x.dtype));
            known.iter().zip(dtypes).map(|(x, t)| x.rounded(format(t)).unwrap_or(f64::NAN)).collect()
        };
        let rows: Vec<Vec<f64>> = (0..self.sample.points.len()).into_par_iter().map(at).collect();
        ids.extend(definitions.iter().map(|x| x.class));
        let column = |p: usize| rows.iter().map(|row| row[p]).collect();
        self.exact = ids.iter().enumerate().map(|(p, &id)| (id, column(p))).collect();
    }

    fn types(&self, classes: &[Id]) -> Option<SmallVec<[Type; 4]>> {
        classes.iter().map(|&id| facts(self.egraph, id).map(|f| f.ty)).collect()
    }

    /// Whether a node is a leaf, or an op of corresponding elements.
    fn is_elementwise(&self, node: &Node) -> bool {
        parts(self.egraph, node).is_none_or(|Parts { def, operands, attrs }| {
            let types = self.types(&operands);
            types.is_some_and(|types| meaning(self.context, def, &types, &attrs).is_some())
        })
    }

    /// What a node computes over terms of its operands.
    fn values(&self, node: &Node, operands: &[Tensor]) -> Option<(Tensor, f64)> {
        let Some(Parts { def, operands: classes, attrs }) = parts(self.egraph, node) else {
            return Some((self.leaf(node)?, 0.0));
        };
        let scalar = |ty: &Type| ty.elem().map(Type::scalar);
        let types = self.types(&classes)?.iter().map(scalar).collect::<Option<SmallVec<[Type; 4]>>>()?;
        let found = compute(self.context, def, &attrs, operands)?;
        Some((found.clone(), work(def, &types, Type::scalar(found.dtype))))
    }

    fn candidate(
        &self,
        class: Id,
        node: &Node,
        best: &FxHashMap<Id, Rc<Candidate>>,
        serial: usize,
    ) -> Option<Candidate> {
        let operands = parts(self.egraph, node).map(|p| p.operands).unwrap_or_default();
        let parts = operands.iter().map(|&o| best.get(&self.egraph.find(o)).cloned());
        let parts = parts.collect::<Option<SmallVec<[Rc<Candidate>; 4]>>>()?;
        let inputs: SmallVec<[Tensor; 3]> = parts.iter().map(|p| p.values.clone()).collect();
        let (values, own) = self.values(node, &inputs)?;
        let figure = match self.dtype(class)? {
            DType::Float(format) => self.sample.figure(format, &values, self.exact.get(&class)?),
            _ => Figure::default(),
        };
        let work = own + parts.iter().map(|p| p.work).sum::<f64>();
        Some(Candidate { class, node: node.clone(), parts, values, figure, work, serial })
    }

    /// Better terms of the outputs, given their figures as they are written.
    pub fn search(&self, originals: &[Figure]) -> Vec<Found> {
        let mut classes = self.classes();
        classes.retain(|id| self.exact.contains_key(id));
        classes.reverse();
        let mut parents: FxHashMap<Id, Vec<Id>> = FxHashMap::default();
        // Nodes of corresponding elements alone.
        let mut nodes: FxHashMap<Id, Vec<&Node>> = FxHashMap::default();
        for &id in &classes {
            for node in &self.egraph[id].nodes {
                let operands = parts(self.egraph, node).map(|p| p.operands).unwrap_or_default();
                let enclosed = operands.iter().all(|o| self.exact.contains_key(&self.egraph.find(*o)));
                let known = enclosed && self.is_elementwise(node);
                if known {
                    nodes.entry(id).or_default().push(node);
                    for child in node.children() {
                        parents.entry(self.egraph.find(*child)).or_default().push(id);
                    }
                }
            }
        }
        let mut best: FxHashMap<Id, Rc<Candidate>> = FxHashMap::default();
        // The terms over which a node was last computed.
        let mut tried: FxHashMap<(Id, usize), SmallVec<[usize; 4]>> = FxHashMap::default();
        let mut serial = 0;
        let mut queue: VecDeque<Id> = classes.iter().copied().collect();
        let mut queued: FxHashSet<Id> = queue.iter().copied().collect();
        let mut visits: FxHashMap<Id, usize> = FxHashMap::default();
        while let Some(id) = queue.pop_front() {
            queued.remove(&id);
            let visits = visits.entry(id).or_default();
            *visits += 1;
            if *visits > MAX_VISITS {
                continue;
            }
            let mut improved = false;
            for (n, node) in nodes.get(&id).into_iter().flatten().enumerate() {
                let over = node.children().iter().filter_map(|c| best.get(&self.egraph.find(*c)));
                let over: SmallVec<[usize; 4]> = over.map(|c| c.serial).collect();
                if tried.get(&(id, n)) == Some(&over) {
                    continue;
                }
                tried.insert((id, n), over);
                serial += 1;
                let Some(found) = self.candidate(id, node, &best, serial) else { continue };
                if best.get(&id).is_none_or(|old| found.score() < old.score()) {
                    best.insert(id, Rc::new(found));
                    improved = true;
                }
            }
            if improved {
                for &parent in parents.get(&id).into_iter().flatten() {
                    if queued.insert(parent) {
                        queue.push_back(parent);
                    }
                }
            }
        }
        let mut out = Vec::new();
        for (n, (&value, &root)) in self.sample.outputs.iter().zip(&self.roots).enumerate() {
            let (Some(term), Some(DType::Float(format))) =
                (best.get(&self.egraph.find(root)), self.dtype(root))
            else {
                continue;
            };
            let figure = self.sample.of_output(n, format, &term.values);
            if figure.betters(&originals[n]) {
                let fails = self.sample.fails(n, &term.values);
                out.push(Found { value, term: term.clone(), figures: (originals[n], figure), fails });
            }
        }
        out
    }
}

/// The figure of the term that is chosen by class for an output, by its place; nothing where it cannot be computed.
pub fn chosen(
    egraph: &Egraph<'_>,
    sample: &Sample,
    (n, root): (usize, Id),
    choices: &Choices,
) -> Option<Figure> {
    let ranking = Ranking {
        context: egraph.analysis.context,
        egraph,
        sample,
        roots: Vec::new(),
        exact: FxHashMap::default(),
    };
    let values = by_class(&ranking, egraph.find(root), choices, &mut FxHashMap::default())?;
    match ranking.dtype(root)? {
        DType::Float(format) => Some(sample.of_output(n, format, &values)),
        _ => None,
    }
}

fn by_class(
    ranking: &Ranking<'_, '_>,
    class: Id,
    choices: &Choices,
    done: &mut FxHashMap<Id, Tensor>,
) -> Option<Tensor> {
    if let Some(known) = done.get(&class) {
        return Some(known.clone());
    }
    let node = choices.get(&class).map(|c| &c.node).filter(|node| ranking.is_elementwise(node))?;
    let operands = parts(ranking.egraph, node).map(|p| p.operands).unwrap_or_default();
    let mut inputs: SmallVec<[Tensor; 3]> = SmallVec::new();
    for operand in operands {
        inputs.push(by_class(ranking, ranking.egraph.find(operand), choices, done)?);
    }
    let (values, _) = ranking.values(node, &inputs)?;
    done.insert(class, values.clone());
    Some(values)
}
