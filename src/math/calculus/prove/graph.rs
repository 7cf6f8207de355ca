//! The e-graph.

use std::time::Duration;

use egg::{
    Analysis, ConditionalApplier, DidMerge, EGraph, ENodeOrVar, Id, Language, Pattern, PatternAst, RecExpr,
    Rewrite, Runner, Subst, Var,
};
use ngc_numerics::enclosure::{apply, constant};
use ngc_numerics::expr::{Constant, Node};
use ngc_numerics::{Big, Cmp, Enclosure, Expr, Prim};
use rug::{Float, Rational};

use super::identities::{self, plain};

/// Bits of enclosures.
const BITS: u32 = 128;
/// Steps after which nothing is proven.
const ROUNDS: usize = 14;
/// Nodes after which nothing is proven.
const NODES: usize = 30_000;
/// Bits of numbers that are computed.
const WIDEST: u32 = 256;

/// An operation; its operands are classes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Op {
    Number(Rational),
    Pi,
    X,
    Reciprocal,
    Apply(Prim),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Term {
    op: Op,
    operands: Vec<Id>,
}

impl Language for Term {
    type Discriminant = (Op, usize);

    fn discriminant(&self) -> (Op, usize) {
        (self.op.clone(), self.operands.len())
    }

    fn matches(&self, other: &Term) -> bool {
        self.op == other.op && self.operands.len() == other.operands.len()
    }

    fn children(&self) -> &[Id] {
        &self.operands
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.operands
    }
}

/// What is known of the members of a class where x is on a range.
struct Values {
    x: Enclosure<Float>,
}

#[derive(Clone, Debug)]
struct Known {
    number: Option<Rational>,
    values: Enclosure<Float>,
}

type Graph = EGraph<Term, Values>;

impl Analysis<Term> for Values {
    type Data = Known;

    fn make(graph: &mut Graph, node: &Term, _: Id) -> Known {
        let part = |n: usize| &graph[node.operands[n]].data;
        let number = match (&node.op, node.operands.len()) {
            (Op::Number(q), _) => Some(q.clone()),
            (Op::Reciprocal, _) => {
                part(0).number.as_ref().filter(|q| !q.is_zero()).map(|q| q.clone().recip())
            }
            (Op::Apply(Prim::Add), 2) => both(part(0), part(1), |a, b| Rational::from(a + b)),
            (Op::Apply(Prim::Mul), 2) => both(part(0), part(1), |a, b| Rational::from(a * b)),
            _ => None,
        };
        let number = number.filter(is_short);
        let parts: Vec<&Enclosure<Float>> = node.operands.iter().map(|&id| &graph[id].data.values).collect();
        let values = match &number {
            Some(q) => constant(&Big::new(BITS), &Constant::Rational(q.clone())),
            None => enclosed(&node.op, &parts, &graph.analysis.x),
        };
        // A value that is known exactly is that number, such as the logarithm of 1.
        let exact = (values.is_point() && !values.may_be_nan).then(|| values.lo.to_rational()).flatten();
        let number = number.or(exact.filter(is_short));
        Known { number, values }
    }

    fn merge(&mut self, a: &mut Known, b: Known) -> DidMerge {
        let (from_b, from_a) =
            (a.number.is_none() && b.number.is_some(), b.number.is_none() && a.number.is_some());
        if from_b {
            a.number = b.number;
        }
        let (better_b, better_a) = (is_tighter(&b.values, &a.values), is_tighter(&a.values, &b.values));
        if better_b {
            a.values = b.values;
        }
        DidMerge(from_b || better_b, from_a || better_a)
    }

    fn modify(graph: &mut Graph, id: Id) {
        let Some(number) = graph[id].data.number.clone() else { return };
        if graph[id].nodes.iter().any(|n| matches!(n.op, Op::Number(_))) {
            return;
        }
        let added = graph.add(Term { op: Op::Number(number), operands: Vec::new() });
        graph.union_trusted(id, added, "arithmetic");
    }
}

fn is_short(q: &Rational) -> bool {
    q.numer().significant_bits().max(q.denom().significant_bits()) <= WIDEST
}

fn both(a: &Known, b: &Known, of: impl Fn(&Rational, &Rational) -> Rational) -> Option<Rational> {
    Some(of(a.number.as_ref()?, b.number.as_ref()?))
}

/// Whether an enclosure says much more than another: what says a little more again and again would never end.
fn is_tighter(a: &Enclosure<Float>, b: &Enclosure<Float>) -> bool {
    if a.may_be_nan || a.is_undefined() {
        return false;
    }
    if b.may_be_nan || b.is_undefined() {
        return true;
    }
    let width = |x: &Enclosure<Float>| Float::with_val(BITS, &x.hi - &x.lo);
    Float::with_val(BITS, width(a) * 2u32) < width(b)
}

fn enclosed(op: &Op, parts: &[&Enclosure<Float>], x: &Enclosure<Float>) -> Enclosure<Float> {
    let domain = Big::new(BITS);
    match op {
        Op::Number(q) => constant(&domain, &Constant::Rational(q.clone())),
        Op::Pi => constant(&domain, &Constant::Pi),
        Op::X => x.clone(),
        Op::Reciprocal => apply(&domain, Prim::Div, &[&Enclosure::point(Float::with_val(BITS, 1)), parts[0]]),
        Op::Apply(prim) => apply(&domain, *prim, parts),
    }
}

/// The enclosure of a formula of variables, and whether all that it is made of has a value; nothing where that is not known.
fn certain(graph: &Graph, formula: &Expr, subst: &Subst) -> Option<Enclosure<Float>> {
    let value = match &*formula.0 {
        Node::Var(n) => graph[*subst.get(Var::from_u32(*n as u32))?].data.values.clone(),
        Node::Const(c) => constant(&Big::new(BITS), c),
        Node::Apply(prim, x) => {
            let x: Option<Vec<Enclosure<Float>>> = x.iter().map(|x| certain(graph, x, subst)).collect();
            apply(&Big::new(BITS), *prim, &x?.iter().collect::<Vec<_>>())
        }
        Node::Param(_) | Node::Select(..) => return None,
    };
    (!value.may_be_nan && !value.is_undefined()).then_some(value)
}

/// Whether one relation of each list holds for sure.
fn met(graph: &Graph, conditions: &[Vec<(Cmp, Expr)>], subst: &Subst) -> bool {
    let zero = Enclosure::point(Float::new(BITS));
    let holds = |(cmp, difference): &(Cmp, Expr)| {
        certain(graph, difference, subst).is_some_and(|value| value.compare(*cmp, &zero) == Some(true))
    };
    conditions.iter().all(|any| any.iter().any(holds))
}

/// Adds the nodes of a formula, whose variables `leaf` makes; nothing where it has a part that no node is.
fn nodes<L: Language>(
    formula: &Expr,
    all: &mut RecExpr<L>,
    leaf: &dyn Fn(usize) -> L,
    node: &dyn Fn(Term) -> L,
) -> Option<Id> {
    let mut plain = |op: Op, operands: Vec<Id>| all.add(node(Term { op, operands }));
    Some(match &*formula.0 {
        Node::Var(n) => all.add(leaf(*n)),
        Node::Const(Constant::Rational(q)) => plain(Op::Number(q.clone()), Vec::new()),
        Node::Const(Constant::Pi) => plain(Op::Pi, Vec::new()),
        Node::Apply(Prim::Div, x) => {
            let below = nodes(&x[1], all, leaf, node)?;
            all.add(node(Term { op: Op::Reciprocal, operands: vec![below] }))
        }
        Node::Apply(prim, x) => {
            let operands: Option<Vec<Id>> = x.iter().map(|x| nodes(x, all, leaf, node)).collect();
            all.add(node(Term { op: Op::Apply(*prim), operands: operands? }))
        }
        Node::Const(_) | Node::Param(_) | Node::Select(..) => return None,
    })
}

fn term(formula: &Expr) -> Option<RecExpr<Term>> {
    let mut all = RecExpr::default();
    nodes(&plain(formula), &mut all, &|_| Term { op: Op::X, operands: Vec::new() }, &|t| t)?;
    Some(all)
}

fn pattern(formula: &Expr) -> Option<Pattern<Term>> {
    let mut all: PatternAst<Term> = RecExpr::default();
    nodes(&plain(formula), &mut all, &|n| ENodeOrVar::Var(Var::from_u32(n as u32)), &ENodeOrVar::ENode)?;
    Some(Pattern::new(all))
}

/// Whether a pattern is made of parts: what is one number or one variable is found everywhere.
fn is_composite(formula: &Expr) -> bool {
    matches!(&*plain(formula).0, Node::Apply(..))
}

/// The identities as rewrites, where they can be used both ways.
fn rewrites() -> Vec<Rewrite<Term, Values>> {
    let mut all = Vec::new();
    for identity in identities::all() {
        let (Some(left), Some(right)) = (pattern(&identity.left), pattern(&identity.right)) else { continue };
        let condition =
            move |graph: &mut Graph, _: Id, subst: &Subst| met(graph, &identity.conditions, subst);
        let forward = ConditionalApplier { condition, applier: right.clone() };
        all.extend(Rewrite::new(identity.name.as_str(), left.clone(), forward));
        if !is_composite(&identity.right) || left.vars().iter().any(|v| !right.vars().contains(v)) {
            continue;
        }
        // An identity says nothing where its left side has no value.
        let condition = move |graph: &mut Graph, _: Id, subst: &Subst| {
            certain(graph, &identity.left, subst).is_some() && met(graph, &identity.conditions, subst)
        };
        let name = format!("{}, backwards", identity.name);
        all.extend(Rewrite::new(name, right, ConditionalApplier { condition, applier: left }));
    }
    all
}

/// The identities by which two formulas of x are equal on a range, on all of which both have values; nothing where that is not found.
pub(super) fn equal(left: &Expr, right: &Expr, range: Enclosure<Float>) -> Option<Vec<String>> {
    let (left, right) = (term(left)?, term(right)?);
    let found = |graph: &Graph, roots: &[Id]| graph.find(roots[0]) == graph.find(roots[1]);
    let runner: Runner<Term, Values> = Runner::new(Values { x: range })
        .with_explanations_enabled()
        .with_iter_limit(ROUNDS)
        .with_node_limit(NODES)
        .with_time_limit(Duration::from_secs(u32::MAX.into()))
        .with_hook(
            move |runner| if found(&runner.egraph, &runner.roots) { Err("proven".into()) } else { Ok(()) },
        )
        .with_expr(&left)
        .with_expr(&right);
    let mut runner = runner.run(&rewrites());
    if !found(&runner.egraph, &runner.roots) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    let mut explanation = runner.explain_equivalence(&left, &right);
    for step in explanation.make_flat_explanation() {
        note(step, &mut names);
    }
    Some(names)
}

/// The rules of a step and of its parts.
fn note(step: &egg::FlatTerm<Term>, names: &mut Vec<String>) {
    for rule in [step.forward_rule, step.backward_rule].into_iter().flatten() {
        let name = rule.as_str().trim_end_matches(", backwards").to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    step.children.iter().for_each(|child| note(child, names));
}
