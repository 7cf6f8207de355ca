//! Computations to analyse: primitives, each correctly rounded to a format or not rounded at all.

use std::collections::HashMap;
use std::sync::Arc;

use rug::Float;
use rug::float::Round;

use crate::binary64::Binary64;
use crate::enclosure::{self, Enclosure};
use crate::expr::{self, Cmp, Constant, Expr, Prim};
use crate::format::Format;
use crate::primitives::primitive;

/// A value of a [`RoundedGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub(super) usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// An input, exact in its format.
    Input(usize),
    /// A constant, by its place in the graph.
    Constant(usize),
    /// A primitive; operands past its arity repeat the first.
    Apply(Prim, [usize; 3]),
    /// `if a cmp b then t else e`; not rounded.
    Select(Cmp, [usize; 4]),
    /// The identity, rounded.
    Cast(usize),
}

impl Node {
    pub(super) fn operands(&self) -> &[usize] {
        match self {
            Node::Input(_) | Node::Constant(_) => &[],
            Node::Apply(prim, operands) => &operands[..prim.arity()],
            Node::Select(_, operands) => operands,
            Node::Cast(operand) => std::slice::from_ref(operand),
        }
    }
}

/// The format to which a value is rounded; `None` is a real number, not rounded.
pub type Precision = Option<Format>;

/// A directed acyclic graph of primitives, each correctly rounded to a format; its output is the value asked for last.
/// Primitives that are not rounded make functions of several primitives that are rounded once.
///
/// Equal operations are one: rounding is deterministic, so they have equal errors.
#[derive(Clone, Debug, Default)]
pub struct RoundedGraph {
    pub(super) nodes: Vec<(Node, Precision)>,
    pub(super) constants: Vec<(Constant, Precision)>,
    pub(super) inputs: usize,
    pub(super) output: usize,
    known: HashMap<(Node, Precision), usize>,
}

impl RoundedGraph {
    /// A graph without values.
    pub fn new() -> RoundedGraph {
        RoundedGraph::default()
    }

    /// The graph of a formula all of whose constants and operations are rounded to one format. Terms that are equal are
    /// computed once.
    ///
    /// # Panics
    /// When the formula has parameters: put constants in their place.
    pub fn from_expr(formula: &Expr, format: Format) -> RoundedGraph {
        let mut graph = RoundedGraph::new();
        graph.add_expr(formula, format, &mut HashMap::new());
        graph
    }

    fn add_expr(
        &mut self,
        formula: &Expr,
        format: Format,
        known: &mut HashMap<*const expr::Node, Value>,
    ) -> Value {
        let address = Arc::as_ptr(&formula.0);
        if let Some(&value) = known.get(&address) {
            return value;
        }
        let value = match &*formula.0 {
            expr::Node::Var(i) => self.input(*i, format),
            expr::Node::Param(i) => panic!("the formula has a parameter {i}, which has no value"),
            expr::Node::Const(constant) => self.constant(constant.clone(), format),
            expr::Node::Apply(prim, args) => {
                let args: Vec<Value> = args.iter().map(|arg| self.add_expr(arg, format, known)).collect();
                self.apply(*prim, &args, format)
            }
            expr::Node::Select(cmp, parts) => {
                let parts = std::array::from_fn(|i| self.add_expr(&parts[i], format, known));
                self.select(*cmp, parts)
            }
        };
        known.insert(address, value);
        value
    }

    /// Input `i`, an exact value of `format`.
    pub fn input(&mut self, i: usize, format: Format) -> Value {
        self.inputs = self.inputs.max(i + 1);
        self.add(Node::Input(i), Some(format))
    }

    /// A constant, rounded to `precision`.
    pub fn constant(&mut self, constant: Constant, precision: impl Into<Precision>) -> Value {
        let precision = precision.into();
        let constant = (constant, precision);
        let place = self.constants.iter().position(|other| *other == constant).unwrap_or_else(|| {
            self.constants.push(constant);
            self.constants.len() - 1
        });
        self.add(Node::Constant(place), precision)
    }

    /// A primitive of earlier values, rounded to `precision`.
    ///
    /// # Panics
    /// When their number is not the primitive's arity.
    pub fn apply(&mut self, prim: Prim, args: &[Value], precision: impl Into<Precision>) -> Value {
        assert_eq!(args.len(), prim.arity(), "{} takes {} arguments", prim.name(), prim.arity());
        let mut operands = std::array::from_fn(|i| args.get(i).unwrap_or(&args[0]).0);
        if matches!(prim, Prim::Add | Prim::Mul | Prim::Fma | Prim::Min | Prim::Max | Prim::Hypot) {
            operands[..2].sort_unstable();
        }
        let prim = if prim == Prim::Mul && operands[0] == operands[1] { Prim::Square } else { prim };
        if prim == Prim::Square || prim.arity() == 2 {
            operands[2] = operands[0];
        }
        self.add(Node::Apply(prim, operands), precision.into())
    }

    /// `if a cmp b then t else e` of `[a, b, t, e]`; nothing is rounded. Branches of two formats make a real number.
    pub fn select(&mut self, cmp: Cmp, parts: [Value; 4]) -> Value {
        let [.., t, e] = parts.map(|part| self.nodes[part.0].1);
        self.add(Node::Select(cmp, parts.map(|part| part.0)), t.filter(|_| t == e))
    }

    /// An earlier value; NaN where another one is NaN.
    pub fn nan_with(&mut self, value: Value, other: Value) -> Value {
        let nan = self.constant(Constant::Nan, self.precision(value));
        self.select(Cmp::Eq, [other, other, value, nan])
    }

    /// An earlier value rounded to another format.
    pub fn cast(&mut self, value: Value, format: Format) -> Value {
        if self.nodes[value.0].1 == Some(format) {
            self.output = value.0;
            return value;
        }
        self.add(Node::Cast(value.0), Some(format))
    }

    /// The format of an earlier value.
    pub fn precision(&self, value: Value) -> Precision {
        self.nodes[value.0].1
    }

    fn add(&mut self, node: Node, precision: Precision) -> Value {
        let next = self.nodes.len();
        let place = *self.known.entry((node.clone(), precision)).or_insert(next);
        if place == next {
            self.nodes.push((node, precision));
        }
        self.output = place;
        Value(place)
    }

    /// The output's format.
    ///
    /// # Panics
    /// When the graph is empty.
    pub fn format(&self) -> Precision {
        self.nodes[self.output].1
    }

    /// The number of values.
    #[expect(clippy::len_without_is_empty, reason = "a graph without values computes nothing")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What the graph computes from inputs, step by step as it rounds.
    ///
    /// # Panics
    /// When the graph is empty, there are fewer inputs than it names, or a value is a real number that no `f64` holds.
    pub fn evaluate(&self, inputs: &[f64]) -> f64 {
        let mut values: Vec<f64> = Vec::with_capacity(self.nodes.len());
        for (node, precision) in &self.nodes {
            let rounded = || precision.expect("a value that is not rounded has no f64");
            let value = match node {
                Node::Input(i) => inputs[*i],
                Node::Constant(i) => round_constant(&self.constants[*i].0, rounded()),
                Node::Apply(prim, _) => {
                    let args: smallvec::SmallVec<[f64; 3]> =
                        node.operands().iter().map(|&i| values[i]).collect();
                    primitive(*prim).round_correctly(&[], &args, rounded())
                }
                Node::Select(cmp, [a, b, t, e]) => {
                    let holds = cmp.holds(values[*a].partial_cmp(&values[*b]));
                    values[if holds { *t } else { *e }]
                }
                Node::Cast(i) => rounded().round(values[*i]),
            };
            values.push(value);
        }
        values[self.output]
    }

    /// The formula without any rounding.
    ///
    /// # Panics
    /// When the graph is empty.
    pub fn formula(&self) -> Expr {
        let mut terms: Vec<Expr> = Vec::with_capacity(self.nodes.len());
        for (node, _) in &self.nodes {
            let term = match node {
                Node::Input(i) => Expr::var(*i),
                Node::Constant(i) => expr::Node::Const(self.constants[*i].0.clone()).into(),
                Node::Apply(prim, _) => {
                    Expr::apply(*prim, node.operands().iter().map(|&i| terms[i].clone()).collect())
                }
                Node::Select(cmp, [a, b, t, e]) => {
                    Expr::select(*cmp, &terms[*a], &terms[*b], &terms[*t], &terms[*e])
                }
                Node::Cast(i) => terms[*i].clone(),
            };
            terms.push(term);
        }
        terms.swap_remove(self.output)
    }
}

/// The constant to nearest in the format.
pub(super) fn round_constant(constant: &Constant, format: Format) -> f64 {
    let d = crate::big::Big::new(format.precision() + 200);
    format.round_real(&enclosure::constant(&d, constant).lo)
}

/// A constant as it is computed.
#[derive(Clone, Debug)]
pub(super) struct RoundedConstant {
    /// Contains the exact and the rounded value.
    pub range: Enclosure<f64>,
    /// Not below their difference.
    pub error: f64,
    /// Contains the rounded value.
    pub computed: Enclosure<f64>,
}

impl RoundedConstant {
    pub(super) fn new(constant: &Constant, precision: Precision) -> RoundedConstant {
        let exact = enclosure::constant(&Binary64, constant);
        let Some(format) = precision else {
            return RoundedConstant { range: exact, error: 0.0, computed: exact };
        };
        if *constant == Constant::Nan {
            return RoundedConstant { range: exact, error: 0.0, computed: exact };
        }
        let rounded = round_constant(constant, format);
        let range = exact.hull(Enclosure::point(rounded));
        let error = match constant {
            _ if exact.is_point() && exact.lo == rounded => 0.0,
            Constant::Rational(value) if rounded.is_finite() => {
                let rounded = rug::Rational::from_f64(rounded).unwrap_or_default();
                let difference = (value - rounded).abs();
                Float::with_val_round(53, difference, Round::Up).0.to_f64_round(Round::Up)
            }
            _ => (rounded - exact.lo).abs().max((rounded - exact.hi).abs()).next_up(),
        };
        RoundedConstant { range, error, computed: Enclosure::point(rounded) }
    }
}
