//! Chains: scalar functions and elementwise ops that follow each other, bounded as a whole.
//!
//! Op by op, an error is passed on as if the operands of an op had nothing to do with each other, and as if an op were as
//! steep everywhere as it is at its steepest. A chain is analysed by symbolic Taylor forms instead
//! ([`ngc_numerics::taylor`]), maximised over the box of its inputs, which bounds its result in absolute terms, relative to
//! itself, and in range. Every value that leaves the elementwise ops ends a chain: that of its elementwise ancestors, up to
//! [`MAX_OPS`] of them. Chains may overlap.

use ngc_dialects::facts::Pointwise;
use ngc_dialects::transfer::{Flow, has_elements};
use ngc_ir::op_def::Elementwise;
use ngc_ir::structure::Function;
use ngc_ir::{Body, Op, Semantics, Value};
use ngc_numerics::expr::Constant;
use ngc_numerics::figures::{div, magnitude, mignitude, mul};
use ngc_numerics::program::{Program, Step};
use ngc_numerics::taylor::{self, ErrorBound, Inexact, Options, Precision, RoundedGraph};
use ngc_numerics::{Cmp, Enclosure, Format, Interval, Mixed, Range};
use rug::Rational;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The most ops in a chain.
const MAX_OPS: usize = 40;
/// The most inputs of a chain that are no constants.
const MAX_INPUTS: usize = 8;
/// What a function may take in all, in chains; each takes at most an eighth of what is left, so the first ones get most.
const POOL: usize = 8;

/// How hard one chain is searched unless stated otherwise, in operations on Taylor forms: ten milliseconds or so.
pub const EFFORT: usize = 1 << 15;

/// The chains of one function, and what they say of its values.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    effort: usize,
    /// What is left to spend.
    pool: usize,
    /// By value: the chain that would end there.
    chains: Vec<Option<Chain>>,
    known: FxHashMap<Vec<u64>, ErrorBound>,
}

/// Elementwise ops, by their results in order, and the values that enter them.
#[derive(Clone, Debug, Default)]
struct Chain {
    members: SmallVec<[Value; 4]>,
    inputs: SmallVec<[Value; 4]>,
    bounded: bool,
}

impl Chains {
    /// Chains searched with `effort` each, in operations on Taylor forms; with none there are no chains.
    pub fn new(effort: usize) -> Chains {
        Chains { effort, pool: effort.saturating_mul(POOL), ..Chains::default() }
    }

    /// Before an op is bounded from what `flow` knows of its operands: the op joins the chains of its operands, or ends
    /// them, which narrows what is known.
    pub fn before(&mut self, body: &Body, op: Op, flow: &mut Flow) {
        if self.effort == 0 {
            return;
        }
        if let Some(joined) = self.joined(body, op, flow) {
            let result = body.result(op, 0);
            if self.chains.len() <= result.index() {
                self.chains.resize(result.index() + 1, None);
            }
            self.chains[result.index()] = Some(joined);
            return;
        }
        let returns = body.op(op).def.is_some_and(|d| d.traits.terminator);
        for &v in body.operands(op) {
            self.end(body, v, flow, returns);
        }
    }

    fn chain(&self, v: Value) -> Option<&Chain> {
        self.chains.get(v.index())?.as_ref()
    }

    /// The chain that an op continues; `None` if it is not elementwise.
    fn joined(&mut self, body: &Body, op: Op, flow: &mut Flow) -> Option<Chain> {
        let conditional = Member::of(body, op)?.is_selection();
        let operands = body.operands(op);
        let result = body.result(op, 0);
        let mut chain = Chain::default();
        for &v in operands {
            match self.chain(v) {
                Some(own) => {
                    chain.members.extend(own.members.iter().copied());
                    chain.inputs.extend(own.inputs.iter().copied());
                }
                None if body.ty(v).format().is_none() => return None,
                None if constant(flow.range(v)).is_none() => chain.inputs.push(v),
                None => {}
            }
        }
        let sort = |values: &mut SmallVec<[Value; 4]>| {
            values.sort_unstable();
            values.dedup();
        };
        sort(&mut chain.members);
        sort(&mut chain.inputs);
        if chain.members.len() >= MAX_OPS || chain.inputs.len() > MAX_INPUTS {
            // The truth value of a comparison cannot enter a chain.
            if conditional {
                return None;
            }
            operands.iter().for_each(|&v| self.end(body, v, flow, false));
            chain.members.clear();
            chain.inputs = operands.iter().copied().filter(|&v| constant(flow.range(v)).is_none()).collect();
            sort(&mut chain.inputs);
        }
        chain.members.push(result);
        Some(chain)
    }

    /// Bounds the chain that ends at a value; a single op only if it `returns`, for op by op it is bounded as well.
    fn end(&mut self, body: &Body, v: Value, flow: &mut Flow, returns: bool) {
        let Some(chain) = self.chains.get_mut(v.index()).and_then(Option::as_mut) else { return };
        let Some(format) = body.ty(v).format() else { return };
        if chain.bounded || chain.members.len() < 2 && !returns || !has_elements(body.ty(v)) {
            return;
        }
        chain.bounded = true;
        let chain = chain.clone();
        let Some(bound) = self.bound(body, &chain, flow) else { return };
        let values = Enclosure::new(bound.range.0, bound.range.1);
        if bound.absolute.is_finite() && magnitude(&values) <= format.max_finite() {
            // |error| ≤ r max(|exact|, floor) ≤ r |exact| + r floor
            let least = mignitude(&flow.range(v).exact).max(mignitude(&values));
            let eta = if least >= bound.floor { 0.0 } else { mul(bound.relative, bound.floor) };
            flow.narrow(v, &values, bound.absolute, Mixed { rho: bound.relative, eta });
        }
    }

    fn bound(&mut self, body: &Body, chain: &Chain, flow: &Flow) -> Option<ErrorBound> {
        let finite = |x: &Interval| !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite();
        let mut key: Vec<u64> = Vec::with_capacity(16 + 4 * chain.members.len());
        let (mut sides, mut inexact) = (Vec::new(), Vec::new());
        key.push(chain.inputs.len() as u64);
        for &v in &chain.inputs {
            let (Range { exact, computed }, error) = (flow.range(v), flow.error(v));
            if !finite(&exact) || !finite(&computed) || !error.is_finite() {
                return None;
            }
            key.extend([exact.lo, exact.hi, computed.lo, computed.hi, error].map(f64::to_bits));
            sides.push((computed.lo, computed.hi));
            inexact.push(Inexact { error, exact: (exact.lo, exact.hi) });
        }
        let graph =
            Builder { chain, flow, graph: RoundedGraph::new(), made: Vec::new() }.build(body, &mut key)?;
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        let end = *chain.members.last()?;
        let bound =
            self.search(&graph, &sides, inexact, flow.error(end), flow.relative(end), &flow.range(end).exact);
        if let Some(bound) = bound {
            self.known.insert(key, bound);
        }
        bound
    }

    /// A short search, and where it says more than what is known, a long one.
    fn search(
        &mut self,
        graph: &RoundedGraph,
        sides: &[(f64, f64)],
        inexact: Vec<Inexact>,
        error: f64,
        relative: Mixed,
        exact: &Interval,
    ) -> Option<ErrorBound> {
        let limit = self.effort.min(self.pool / POOL);
        let mut options = Options { effort: limit / 16, inexact, ..Options::default() };
        let mut run = |options: &Options| {
            let bound = taylor::analyze(graph, sides, options);
            // Making a graph ready costs as much as a few boxes.
            self.pool = self.pool.saturating_sub((bound.boxes + 16) * graph.len() * 4);
            bound
        };
        if limit < graph.len() {
            return None;
        }
        let first = run(&options);
        let least = mignitude(exact).max(first.floor);
        let relative = div(error, least).min(relative.from(least));
        let better = first.absolute < 0.95 * error || first.relative < 0.95 * relative;
        if !better || first.absolute == 0.0 {
            return Some(first);
        }
        options.effort = limit;
        Some(run(&options))
    }
}

/// The number that a value always is. Zeros are left out: they have signs.
fn constant(range: Range) -> Option<f64> {
    let Enclosure { lo, hi, may_be_nan } = range.exact;
    (range.computed == range.exact && lo == hi && !may_be_nan && lo.is_finite() && lo != 0.0).then_some(lo)
}

/// What an op does to corresponding elements.
enum Member {
    Function(Elementwise, Format),
    Cast(Format),
    Compare(Cmp),
    Select,
}

impl Member {
    fn of(body: &Body, op: Op) -> Option<Member> {
        if body.num_results(op) != 1 {
            return None;
        }
        let result = body.ty(body.result(op, 0));
        let operands = body.operands(op);
        let float = |v: &Value| body.ty(*v).format().is_some();
        body.with_signature(op, |s| match s.def.semantics {
            Semantics::Elementwise(of) => {
                let function = of(s).ok().filter(|e| e.function.arity == operands.len())?;
                let format = result.format().filter(|_| operands.iter().all(float))?;
                Some(Member::Function(function, format))
            }
            _ => match Pointwise::of(s)? {
                Pointwise::Same if operands.iter().all(float) && s.operands[0].elem() != result.elem() => {
                    Some(Member::Cast(result.format()?))
                }
                Pointwise::Function(Function::Compare(cmp)) if operands.iter().all(float) => {
                    Some(Member::Compare(cmp))
                }
                Pointwise::Function(Function::Choose) if operands[1..].iter().all(float) => {
                    result.format().map(|_| Member::Select)
                }
                _ => None,
            },
        })?
    }

    /// Appends what tells it from other members, operands aside; how much that is, the first two numbers say.
    fn identify(&self, key: &mut Vec<u64>) {
        match self {
            Member::Function(e, format) => {
                key.extend([std::ptr::from_ref(e.function) as u64, of_format(*format)]);
                key.extend(e.params.iter().map(|p| p.to_bits()));
            }
            Member::Cast(format) => key.extend([1, of_format(*format)]),
            Member::Compare(cmp) => key.extend([2, *cmp as u64]),
            Member::Select => key.extend([3, 0]),
        }
    }

    fn is_selection(&self) -> bool {
        matches!(self, Member::Select)
    }
}

/// Writes a chain as a graph of primitives.
struct Builder<'a> {
    chain: &'a Chain,
    flow: &'a Flow,
    graph: RoundedGraph,
    /// By member.
    made: Vec<Made>,
}

/// A member's value, or the comparison that it is.
#[derive(Clone, Copy)]
enum Made {
    Value(taylor::Value),
    Truth(Cmp, [taylor::Value; 2]),
}

impl Builder<'_> {
    /// The graph; what it is made of is appended to the key, in which chains that differ differ.
    fn build(mut self, body: &Body, key: &mut Vec<u64>) -> Option<RoundedGraph> {
        for &v in &self.chain.members {
            let op = body.defining_op(v)?;
            let member = Member::of(body, op)?;
            member.identify(key);
            let operands: SmallVec<[Made; 3]> =
                body.operands(op).iter().map(|&v| self.operand(body, v, key)).collect::<Option<_>>()?;
            let values = || -> Option<SmallVec<[taylor::Value; 3]>> {
                let value = |made: &Made| match made {
                    Made::Value(value) => Some(*value),
                    Made::Truth(..) => None,
                };
                operands.iter().map(value).collect()
            };
            let made = match member {
                Member::Function(e, format) => {
                    let args = values()?;
                    Made::Value(Formula::new(&mut self.graph, &e, &args, format).value()?)
                }
                Member::Cast(format) => Made::Value(self.graph.cast(values()?[0], format)),
                Member::Compare(cmp) => {
                    let args = values()?;
                    Made::Truth(cmp, [args[0], args[1]])
                }
                Member::Select => {
                    let [Made::Truth(cmp, [a, b]), Made::Value(t), Made::Value(e)] = operands[..] else {
                        return None;
                    };
                    Made::Value(self.graph.select(cmp, [a, b, t, e]))
                }
            };
            self.made.push(made);
        }
        Some(self.graph)
    }

    fn operand(&mut self, body: &Body, v: Value, key: &mut Vec<u64>) -> Option<Made> {
        if let Ok(member) = self.chain.members.binary_search(&v) {
            key.push(member as u64);
            return self.made.get(member).copied();
        }
        let format = body.ty(v).format()?;
        if let Ok(input) = self.chain.inputs.binary_search(&v) {
            key.extend([1 << 32 | input as u64, of_format(format)]);
            return Some(Made::Value(self.graph.input(input, format)));
        }
        let constant = constant(self.flow.range(v))?;
        key.extend([2 << 32, constant.to_bits(), of_format(format)]);
        Some(Made::Value(self.graph.constant(Constant::Rational(Rational::from_f64(constant)?), format)))
    }
}

fn of_format(format: Format) -> u64 {
    Format::ALL.iter().position(|f| *f == format).map_or(u64::MAX, |i| i as u64)
}

/// A function of the catalogue, written as primitives: rounded once, at its end.
struct Formula<'a> {
    graph: &'a mut RoundedGraph,
    program: &'a Program,
    params: &'a [f64],
    args: &'a [taylor::Value],
    format: Format,
}

impl<'a> Formula<'a> {
    fn new(
        graph: &'a mut RoundedGraph,
        e: &'a Elementwise,
        args: &'a [taylor::Value],
        format: Format,
    ) -> Formula<'a> {
        Formula { graph, program: e.function.program(), params: &e.params, args, format }
    }

    fn value(&mut self) -> Option<taylor::Value> {
        let steps = self.program.steps();
        let mut value = self.step(steps.len().checked_sub(1)?, Some(self.format))?;
        // NaN in, NaN out, even where a formula of several arguments does not look at it.
        if self.args.len() > 1 && steps.iter().any(|step| matches!(step, Step::Select(..))) {
            for &arg in self.args {
                value = self.graph.nan_with(value, arg);
            }
        }
        Some(value)
    }

    /// A step, rounded or not. Equal steps become one value of the graph.
    fn step(&mut self, k: usize, precision: Precision) -> Option<taylor::Value> {
        let program = self.program;
        let value = match &program.steps()[k] {
            Step::Var(i) => *self.args.get(*i)?,
            Step::Param(i) => {
                let exact = Constant::Rational(Rational::from_f64(*self.params.get(*i)?)?);
                self.constant(exact, precision)
            }
            Step::Const(i) => self.constant(program.constants()[*i].clone(), precision),
            Step::Apply(prim, operands) => {
                let args: SmallVec<[taylor::Value; 3]> =
                    operands[..prim.arity()].iter().map(|&i| self.step(i, None)).collect::<Option<_>>()?;
                self.graph.apply(*prim, &args, precision)
            }
            // What is rounded after the choice is rounded before it as well.
            Step::Select(cmp, [a, b, t, e]) => {
                let parts = [
                    self.step(*a, None)?,
                    self.step(*b, None)?,
                    self.step(*t, precision)?,
                    self.step(*e, precision)?,
                ];
                self.graph.select(*cmp, parts)
            }
        };
        Some(match precision {
            Some(format) => self.graph.cast(value, format),
            None => value,
        })
    }

    /// A constant that the format holds is one of its values, which makes exact operations show as such.
    fn constant(&mut self, constant: Constant, precision: Precision) -> taylor::Value {
        let held = match &constant {
            Constant::Rational(value) => {
                let nearest = value.to_f64();
                nearest == *value && self.format.contains(nearest)
            }
            _ => false,
        };
        let precision = if held { Some(self.format) } else { precision };
        self.graph.constant(constant, precision)
    }
}
