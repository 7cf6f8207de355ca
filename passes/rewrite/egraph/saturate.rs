//! Grows the e-graph: every rule wherever its left side stands, round by round, until nothing is new or a limit is met.
//!
//! Limits count nodes, rounds and matches, never time. A rule that matches too often is banned for some rounds, twice as
//! long each time (egg's back-off), so that reassociation cannot drown the rest.

use std::cell::Cell;
use std::sync::Arc;

use egg::{Id, Language};
use ngc_dialects::facts::{Fact, Signs};
use ngc_ir::op_def::Arity;
use ngc_ir::{Attr, AttrDict, Context, OpDef, Signature, Type, Value};
use ngc_numerics::{Format, Range, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::language::{Data, Egraph, Facts, Kind, Node, accumulates, attribute, facts, has_no_value};
use super::partial::keeps_domain;
use super::proof::spelled;
use crate::rewrite::apply::{Refusal, Replacement, replace};
use crate::rewrite::compile::{CompiledRule, RuleSet};
use crate::rewrite::conditions::{Bindings, Bound, Env, unify};
use crate::rewrite::graph::{Term, Terms, elements, is_default, normalized};
use crate::rewrite::matcher::{ROUNDING, widens};
use crate::rewrite::proof::Line;
use crate::rewrite::rational::OPS;
use crate::rewrite::rule::{OpPattern, Pattern, is_rounding};

/// What ends the growth.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nodes, beside those of the region.
    pub nodes: usize,
    /// Rounds.
    pub rounds: usize,
    /// Matches of one rule in one round before it is banned.
    pub matches: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 4000, rounds: 8, matches: 256 }
    }
}

/// A rule applied to the e-graph.
pub struct Application {
    /// Its place in its set.
    pub rule: usize,
    /// Values of the body that the left side covers, its root first.
    pub values: SmallVec<[Value; 4]>,
    /// Whether a condition holds on ranges that are assumed alone.
    pub assumed: bool,
    /// The equality, written out for a proof if one is wanted.
    pub line: Option<Arc<Line>>,
}

/// A rule that matched values of the body, but whose conditions are not proven.
pub struct Near {
    /// Its place in its set.
    pub rule: usize,
    /// The value at the root.
    pub value: Value,
    /// What is not proven.
    pub why: String,
}

/// What happened.
#[derive(Default)]
pub struct Growth {
    /// Rules applied, in order; a proof names them by their place here.
    pub applied: Vec<Application>,
    /// Near matches.
    pub near: Vec<Near>,
    /// Whether applications are written out for proofs.
    pub lines: bool,
}

/// Ways in which one pattern is matched at one class.
const MAX_MATCHES: usize = 64;

/// Nodes that a rule is held against in one round. Where a class has very many of them, such as zero, patterns of several
/// levels would be tried on all of their combinations.
const MAX_STEPS: usize = 100_000;

/// Applies rules until nothing changes or a limit is met.
pub fn saturate(egraph: &mut Egraph<'_>, rules: &RuleSet, limits: Limits) -> Growth {
    grow(egraph, rules, limits, Growth::default())
}

/// As [`saturate`], on top of what was done before.
pub fn grow(egraph: &mut Egraph<'_>, rules: &RuleSet, limits: Limits, mut growth: Growth) -> Growth {
    let room = egraph.total_size() + limits.nodes;
    // By rule: rounds for which it is still banned, and how often it was.
    let mut bans = vec![(0usize, 0u32); rules.rules().len()];
    let mut tried: FxHashSet<(usize, Node, Vec<Id>)> = FxHashSet::default();
    for _ in 0..limits.rounds {
        let mut found = Vec::new();
        let mut banned = false;
        for rule in rules.rules() {
            let (left, times) = &mut bans[rule.id];
            if *left > 0 {
                (*left, banned) = (*left - 1, true);
                continue;
            }
            let steps = Cell::new(MAX_STEPS);
            let matches = search(egraph, rule, &steps);
            if matches.len() > limits.matches << *times || steps.get() == 0 {
                (*left, banned) = (2 << *times, true);
                *times += 1;
                continue;
            }
            found.extend(matches.into_iter().map(|m| (rule, m)));
        }
        let mut changed = false;
        for (rule, m) in found {
            if egraph.total_size() > room {
                break;
            }
            if tried.insert((rule.id, m.left.node().clone(), m.left.leaves())) {
                changed |= apply(egraph, rule, m, &mut growth);
            }
        }
        egraph.rebuild();
        if !changed && !banned || egraph.total_size() > room {
            break;
        }
    }
    growth
}

/// A match of a left side.
struct Match {
    class: Id,
    left: Left,
    bindings: Bindings,
    accumulate: Option<Format>,
}

/// The term that a left side stands for: the nodes that it covers, down to the classes of its variables.
#[derive(Clone)]
enum Left {
    Class(Id),
    Node(Id, Node, Vec<Left>),
}

impl Left {
    fn node(&self) -> &Node {
        const NONE: &Node = &Node::Attr(None);
        if let Left::Node(_, node, _) = self { node } else { NONE }
    }

    fn leaves(&self) -> Vec<Id> {
        match self {
            Left::Class(id) => vec![*id],
            Left::Node(_, node, children) => {
                let attrs = node.children()[children.len()..].iter().copied();
                children.iter().flat_map(Left::leaves).chain(attrs).collect()
            }
        }
    }

    /// The id of this very term, which a proof starts from.
    fn add(&self, egraph: &mut Egraph<'_>) -> Id {
        match self {
            Left::Class(id) => *id,
            Left::Node(_, node, children) => {
                let mut node = node.clone();
                for (place, child) in children.iter().enumerate() {
                    node.children_mut()[place] = child.add(egraph);
                }
                egraph.add_uncanonical(node)
            }
        }
    }

    fn values(&self, egraph: &Egraph<'_>, out: &mut SmallVec<[Value; 4]>) {
        if let Left::Node(class, _, children) = self {
            let known = facts(egraph, *class).map(|f| f.values.clone()).unwrap_or_default();
            out.extend(known.into_iter().filter(|v| !out.contains(v)).collect::<Vec<_>>());
            children.iter().for_each(|c| c.values(egraph, out));
        }
    }
}

fn search(egraph: &Egraph<'_>, rule: &CompiledRule, steps: &Cell<usize>) -> Vec<Match> {
    let mut out = Vec::new();
    for pattern in rule.spellings.iter() {
        let Some(kind) = kind(egraph, pattern) else { continue };
        let classes: Vec<Id> = egraph.classes_for_op(&kind).into_iter().flatten().collect();
        for class in classes {
            let found = op(egraph, pattern, class, (Bindings::default(), None), steps);
            out.extend(found.into_iter().map(|((bindings, accumulate), left)| Match {
                class,
                left,
                bindings,
                accumulate,
            }));
        }
    }
    out
}

fn kind(egraph: &Egraph<'_>, pattern: &OpPattern) -> Option<Kind> {
    let def = egraph.analysis.context.op(pattern.op.as_str())?;
    Some(Kind::Op(pattern.op, pattern.args.len() + def.attributes.len()))
}

type Partial = (Bindings, Option<Format>);

fn pattern(
    egraph: &Egraph<'_>,
    pattern: &Pattern,
    class: Id,
    so_far: &Partial,
    steps: &Cell<usize>,
) -> Vec<(Partial, Left)> {
    let uniform = || facts(egraph, class).and_then(|f| f.uniform);
    let bound = |name| {
        let mut so_far = so_far.clone();
        let fits = so_far.0.bind(name, Bound::Term(term(class)));
        if fits { vec![(so_far, Left::Class(class))] } else { Vec::new() }
    };
    match pattern {
        Pattern::Var(name, _) => bound(*name),
        Pattern::Const(name, _) if uniform().is_some() => bound(*name),
        Pattern::Number(n, _) if uniform() == Some(*n) => vec![(so_far.clone(), Left::Class(class))],
        Pattern::Rounded(n, ..) => {
            let format = facts(egraph, class).and_then(|f| f.ty.format());
            let fits = uniform().zip(format).is_some_and(|(c, f)| is_rounding(c, *n, f));
            if fits { vec![(so_far.clone(), Left::Class(class))] } else { Vec::new() }
        }
        Pattern::Op(inner) => op(egraph, inner, class, so_far.clone(), steps),
        _ => Vec::new(),
    }
}

fn op(
    egraph: &Egraph<'_>,
    wanted: &OpPattern,
    class: Id,
    so_far: Partial,
    steps: &Cell<usize>,
) -> Vec<(Partial, Left)> {
    let Some(def) = egraph.analysis.context.op(wanted.op.as_str()) else { return Vec::new() };
    let arity = wanted.args.len() + def.attributes.len();
    let mut out = Vec::new();
    for node in &egraph[class].nodes {
        let Node::Op(name, children) = node else { continue };
        let Some(left) = steps.get().checked_sub(1) else { break };
        steps.set(left);
        if *name != wanted.op || children.len() != arity {
            continue;
        }
        let (operands, leaves) = children.split_at(wanted.args.len());
        let mut partial = so_far.clone();
        if !attributes(egraph, wanted, def, leaves, &mut partial.0) {
            continue;
        }
        let types = || operands.iter().filter_map(|&id| facts(egraph, id).map(|f| f.ty)).collect();
        if widens(&wanted.args, types) {
            continue;
        }
        partial.1 = widest(partial.1, accumulates(egraph, node));
        let mut found = vec![(partial, Vec::new())];
        for (arg, &operand) in wanted.args.iter().zip(operands) {
            let longer = |(partial, lefts): &(Partial, Vec<Left>)| {
                let lefts = lefts.clone();
                pattern(egraph, arg, operand, partial, steps).into_iter().map(move |(partial, left)| {
                    let mut lefts = lefts.clone();
                    lefts.push(left);
                    (partial, lefts)
                })
            };
            found = found.iter().flat_map(longer).take(MAX_MATCHES).collect();
        }
        out.extend(
            found.into_iter().map(|(partial, lefts)| (partial, Left::Node(class, node.clone(), lefts))),
        );
        if out.len() >= MAX_MATCHES {
            break;
        }
    }
    if let Some(name) = wanted.bind {
        out.retain_mut(|((bindings, _), _)| bindings.bind(name, Bound::Term(term(class))));
    }
    out
}

/// Whether the attributes are what the pattern says; those that it does not mention must be at their defaults.
fn attributes(
    egraph: &Egraph<'_>,
    wanted: &OpPattern,
    def: &OpDef,
    leaves: &[Id],
    bindings: &mut Bindings,
) -> bool {
    def.attributes.iter().zip(leaves).all(|(declared, &leaf)| {
        let value = attribute(egraph, leaf);
        match wanted.attrs.iter().find(|(name, _)| name.as_str() == declared.name) {
            Some((_, e)) => unify(e, value, bindings),
            None => {
                ROUNDING.contains(&declared.name) || value.is_none_or(|v| is_default(v, declared.default))
            }
        }
    })
}

fn widest(a: Option<Format>, b: Option<Format>) -> Option<Format> {
    a.into_iter().chain(b).max_by_key(|f| f.precision())
}

/// Makes the right side and puts it into the class; whether that was new.
fn apply(egraph: &mut Egraph<'_>, rule: &CompiledRule, m: Match, growth: &mut Growth) -> bool {
    let with = Replacement { bindings: &m.bindings, accumulate: m.accumulate };
    let mut values = SmallVec::new();
    m.left.values(egraph, &mut values);
    let right = match replace(&mut Classes { egraph, proven: false }, rule, term(m.class), &with, false) {
        Ok(Term::Made(right)) => Id::from(right as usize),
        Err(Refusal::Unproven(why)) => {
            let root = facts(egraph, m.class).and_then(|f| f.values.first().copied());
            let known = |value| growth.near.iter().any(|n| n.value == value && n.rule == rule.id);
            if let Some(value) = root.filter(|&v| !rule.is_view() && !known(v)) {
                growth.near.push(Near { rule: rule.id, value, why });
            }
            return false;
        }
        _ => return false,
    };
    if egraph.find(right) == egraph.find(m.class) {
        return false;
    }
    let partial = egraph.analysis.partial;
    let kept = |terms: &Classes<'_, '_>| !partial || keeps_domain(terms, rule, m.class, &m.bindings);
    if !kept(&Classes { egraph, proven: false }) {
        return false;
    }
    let assumed = egraph.analysis.assumes && {
        let proven = Classes { egraph: &mut *egraph, proven: true };
        let env = Env::new(&proven, &m.bindings);
        !kept(&proven) || !rule.rule.conditions.iter().all(|c| env.holds(c))
    };
    let left = m.left.add(egraph);
    let reason = format!("{}", growth.applied.len());
    let line = growth.lines.then(|| {
        let terms = m.bindings.iter().filter_map(|(_, bound)| match bound {
            Bound::Term(Term::Made(n)) => Some((*n, spelled(egraph, Id::from(*n as usize), 0))),
            _ => None,
        });
        let made = usize::from(right) as u32;
        let terms: FxHashMap<u32, Pattern> = terms.chain([(made, spelled(egraph, right, 0))]).collect();
        let spell = |t: Term| match t {
            Term::Made(n) => terms[&n].clone(),
            Term::Value(v) => crate::rewrite::proof::value(v),
        };
        Line::new(rule, &Classes { egraph, proven: false }, &m.bindings, term(right), &spell)
    });
    growth.applied.push(Application { rule: rule.id, values, assumed, line });
    egraph.union_trusted(left, right, reason)
}

/// A class as a term.
pub fn term(id: Id) -> Term {
    Term::Made(usize::from(id) as u32)
}

/// The classes of an e-graph as terms.
pub struct Classes<'g, 'a> {
    /// The e-graph.
    pub egraph: &'g mut Egraph<'a>,
    /// Whether ranges are those that are proven, where some are assumed.
    pub proven: bool,
}

impl Classes<'_, '_> {
    fn data(&self, term: Term) -> Option<&Data> {
        match term {
            Term::Made(n) => Some(&self.egraph[Id::from(n as usize)].data),
            Term::Value(_) => None,
        }
    }

    fn facts(&self, term: Term) -> Option<&Facts> {
        match self.data(term)? {
            Data::Term(facts) => Some(facts),
            Data::Attr(_) => None,
        }
    }
}

impl Terms for Classes<'_, '_> {
    fn context(&self) -> &Context {
        self.egraph.analysis.context
    }

    fn ty(&self, term: Term) -> Type {
        self.facts(term).map_or(Type::float(Format::F64), |f| f.ty)
    }

    fn range(&self, term: Term) -> Range {
        self.facts(term).map_or(Range::WHOLE, |f| Range::both(if self.proven { f.proven } else { f.exact }))
    }

    fn uniform(&self, term: Term) -> Option<f64> {
        self.facts(term)?.uniform
    }

    fn elements(&self, term: Term) -> Option<Tensor> {
        let world = &self.egraph.analysis;
        self.facts(term)?.values.iter().find_map(|&v| elements(world.body, v))
    }

    fn is_fixed(&self, term: Term) -> bool {
        self.facts(term).is_some_and(|f| f.fixed)
    }

    fn used_once(&self, term: Term) -> bool {
        let uses = |v: &Value| self.egraph.analysis.uses.get(v.index()).copied().unwrap_or(0);
        self.facts(term).is_none_or(|f| f.values.iter().map(uses).sum::<u32>() <= 1)
    }

    fn signs(&self, term: Term) -> Signs {
        let range = Fact::of_range(self.range(term).exact);
        let signs = self.facts(term).map_or(Signs::ANY, |f| f.signs);
        range.and(Fact { signs, ..Fact::UNKNOWN }).signs
    }

    fn canonical(&self, term: Term) -> Term {
        match term {
            Term::Made(n) => self::term(self.egraph.find(Id::from(n as usize))),
            value => value,
        }
    }

    // Of several ops the one that divides least.
    fn parts(&self, term: Term) -> Option<(&'static str, SmallVec<[Term; 2]>)> {
        let Term::Made(n) = term else { return None };
        let rank = |node: &Node| match node {
            Node::Op(name, _) => OPS.iter().position(|op| *op == name.as_str()),
            _ => None,
        };
        let nodes = self.egraph[Id::from(n as usize)].nodes.iter();
        let (rank, node) = nodes.filter_map(|node| Some((rank(node)?, node))).min()?;
        Some((OPS[rank], node.children().iter().map(|&id| self::term(id)).collect()))
    }

    fn accumulates(&self, term: Term) -> Option<Format> {
        let Term::Made(n) = term else { return None };
        let class = &self.egraph[Id::from(n as usize)];
        class.nodes.iter().fold(None, |most, node| widest(most, accumulates(self.egraph, node)))
    }

    fn make(&mut self, def: &'static OpDef, operands: &[Term], attrs: AttrDict) -> Result<Term, String> {
        if def.traits.constant {
            let (value, ty) = match attrs.get("value") {
                Some(Attr::Float(value, ty)) => (*value, *ty),
                Some(Attr::Int(value, ty)) => (*value as f64, *ty),
                _ => return Err("only scalar constants are made".into()),
            };
            let node = self.egraph.analysis.number(value, ty);
            return Ok(term(self.egraph.add_uncanonical(node)));
        }
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&t| self.ty(t)).collect();
        let ids = operands.iter().map(|t| match t {
            Term::Made(n) => Ok(Id::from(*n as usize)),
            Term::Value(_) => Err("a value of the body is not in the e-graph".to_string()),
        });
        let ids = ids.collect::<Result<SmallVec<[Id; 4]>, _>>()?;
        add(self.egraph, def, &ids, &types, &attrs).map(term)
    }
}

/// Adds an op.
///
/// # Errors
/// A sentence that says why it does not fit its operands.
pub fn add(
    egraph: &mut Egraph<'_>,
    def: &'static OpDef,
    operands: &[Id],
    types: &[Type],
    attrs: &AttrDict,
) -> Result<Id, String> {
    let signature = Signature { def, operands: types, attrs };
    signature.check()?;
    let results = signature.infer()?;
    if results.len() != 1 || def.operands.iter().any(|o| o.arity == Arity::One) && operands.is_empty() {
        return Err(format!("'{}' has {} results", def.name, results.len()));
    }
    let known: Option<SmallVec<[&Facts; 4]>> = operands.iter().map(|&id| facts(egraph, id)).collect();
    if known.is_some_and(|known| has_no_value(&signature, &known, results[0])) {
        return Err(format!("'{}' has no value", def.name));
    }
    let mut children: SmallVec<[Id; 6]> = operands.into();
    for declared in def.attributes {
        let leaf = egraph.analysis.attr(normalized(&signature, declared.name));
        children.push(egraph.add(leaf));
    }
    Ok(egraph.add_uncanonical(Node::Op(def.name.into(), children)))
}
