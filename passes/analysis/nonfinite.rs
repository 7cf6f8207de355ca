//! Where a function can first make an infinity or a NaN, or divide an integer by zero.
//!
//! A value is proven where its `computed` enclosure is finite and free of NaN. Claims are for finite inputs. An infinity
//! that the program states, in a constant or in an `ng.range` (masks), flows on without a finding until it makes a NaN:
//! `finite` follows the values that no stated infinity reaches, `stated` all of them.

use ngc_dialects::transfer::{Flow, transfer_aliased};
use ngc_ir::{Attr, Body, Module, Op, Semantics, Value};
use ngc_numerics::{Enclosure, Interval, Prim, Range, StoredTensor};
use smallvec::SmallVec;

use super::cause::{self, Cause};

/// An op whose operands are proven and whose results are not.
#[derive(Clone, Debug)]
pub struct Root {
    /// The op.
    pub op: Op,
    /// What can go wrong, and by which operand.
    pub cause: Cause,
    /// How many later ops are not proven because of it.
    pub dependents: usize,
}

/// What is proven of a body.
#[derive(Clone, Debug, Default)]
pub struct Nonfinite {
    finite: Flow,
    stated: Flow,
    /// By value: whether it may be infinite or NaN because of some op.
    lost: Vec<bool>,
    /// In program order.
    pub roots: Vec<Root>,
    /// Ops all of whose results are proven.
    pub proven: usize,
    /// Ops that have results.
    pub ops: usize,
}

/// Whether nothing but finite numbers is possible.
pub fn is_finite(x: &Interval) -> bool {
    !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite()
}

impl Nonfinite {
    /// Of a function of `module` with the attribute `arg_attrs`, whose arguments lie in the given ranges.
    pub fn of_function(
        module: &Module,
        body: &Body,
        arg_attrs: Option<&Attr>,
        arguments: &[Interval],
    ) -> Nonfinite {
        let flow = Flow::of_function(body, arg_attrs, &module.resources);
        let lost = vec![false; body.num_values()];
        let mut found = Nonfinite { finite: flow.clone(), stated: flow, lost, ..Nonfinite::default() };
        for (&v, &range) in body.entry().map_or(&[][..], |b| body.arguments(b)).iter().zip(arguments) {
            found.state(body, v, range);
        }
        for op in body.walk() {
            if body.num_results(op) > 0 {
                found.step(body, op);
            }
        }
        found.count_dependents(body);
        found
    }

    /// The range of a value for inputs that are finite.
    pub fn range(&self, value: Value) -> Interval {
        self.finite.range(value).computed
    }

    /// Whether the value is a finite number for all inputs, as far as no stated infinity reaches it; never a NaN.
    pub fn is_proven(&self, value: Value) -> bool {
        !self.lost[value.index()]
    }

    fn set_lost(&mut self, value: Value) {
        self.lost[value.index()] = true;
    }

    /// A value that the program states: an argument or a constant.
    fn state(&mut self, body: &Body, value: Value, range: Interval) {
        self.stated.set(value, Range::both(range), 0.0);
        let max = body.ty(value).format().map_or(f64::INFINITY, |f| f.max_finite());
        let finite = Enclosure { lo: range.lo.clamp(-max, max), hi: range.hi.clamp(-max, max), ..range };
        self.finite.set(value, Range::both(finite), 0.0);
    }

    fn step(&mut self, body: &Body, op: Op) {
        self.ops += 1;
        let operands = body.operands(op);
        let is_lost = operands.iter().any(|v| self.lost[v.index()]);
        if body.is_constant(op) {
            self.stated.step(body, op);
            let value = body.result(op, 0);
            match self.stated.constant(value) {
                Some(tensor) if !is_finite(&self.stated.range(value).computed) => {
                    let range = finite_elements(tensor);
                    self.finite.set(value, Range::both(range), 0.0);
                }
                _ => {
                    self.finite.step(body, op);
                }
            }
        } else {
            let reached = operands.iter().any(|&v| !is_finite(&self.stated.range(v).computed));
            self.finite.step(body, op);
            if reached {
                self.stated.step(body, op);
                if !is_lost {
                    self.follow_infinities(body, op);
                }
            } else {
                for v in body.results(op) {
                    self.stated.set(v, self.finite.range(v), self.finite.error(v));
                }
            }
        }
        let unproven = |flow: &Flow| body.results(op).any(|v| !is_finite(&flow.range(v).computed));
        let nan = body.results(op).any(|v| self.stated.range(v).computed.may_be_nan);
        let refused = refused(body, op, &self.finite);
        let good = !unproven(&self.finite) && !nan && refused.is_none();
        self.proven += usize::from(good);
        if good {
            return;
        }
        if !is_lost {
            let cause = refused.unwrap_or_else(|| {
                let finite = !unproven(&self.finite);
                cause::of(body, op, if finite { &self.stated } else { &self.finite }, finite)
            });
            self.roots.push(Root { op, cause, dependents: 0 });
        }
        for v in body.results(op) {
            let range = self.finite.range(v).computed;
            if !is_finite(&range) || self.stated.range(v).computed.may_be_nan {
                self.set_lost(v);
            }
        }
    }

    /// The values of an op's results that no stated infinity reaches, where one reaches some of the operands.
    fn follow_infinities(&mut self, body: &Body, op: Op) {
        let mut combined: SmallVec<[Interval; 1]> = SmallVec::new();
        if let Some(Semantics::Elementwise(_)) = body.op(op).def.map(|d| d.semantics) {
            combined.extend(self.combinations(body, op));
        }
        let hull = body.operands(op).iter().map(|&v| self.range(v)).reduce(Enclosure::hull);
        for (i, v) in body.results(op).enumerate() {
            let (finite, all) = (self.finite.range(v), self.stated.range(v));
            let within = |x: &Interval| hull.is_some_and(|h| h.lo <= x.lo && x.hi <= h.hi);
            let range = if is_finite(&all.computed) {
                all.computed
            } else if let Some(range) = combined.get(i) {
                *range
            } else if self.finite.error(v) == 0.0 && within(&finite.computed) {
                // The op selects elements of its operands.
                finite.computed
            } else {
                let max = body.ty(v).format().map_or(f64::INFINITY, |f| f.max_finite());
                let clipped = Enclosure {
                    lo: all.computed.lo.clamp(-max, max),
                    hi: all.computed.hi.clamp(-max, max),
                    may_be_nan: false,
                };
                finite.computed.hull(clipped)
            };
            self.finite.set(v, Range::both(range), f64::INFINITY);
        }
    }

    /// An elementwise op meets finite and infinite elements in any combination; infinite values are left out.
    fn combinations(&self, body: &Body, op: Op) -> Option<Interval> {
        let operands = body.operands(op);
        let choices: Vec<SmallVec<[Interval; 3]>> = operands
            .iter()
            .map(|&v| {
                let all = self.stated.range(v).computed;
                let ends = [all.lo, all.hi].into_iter().filter(|x| x.is_infinite());
                let mut of: SmallVec<[Interval; 3]> = ends.map(Enclosure::point).collect();
                of.dedup();
                of.push(self.range(v));
                of
            })
            .collect();
        let alias: SmallVec<[usize; 4]> =
            operands.iter().map(|v| operands.iter().position(|w| w == v).unwrap_or(0)).collect();
        let results = body.result_types(op);
        let count: usize = choices.iter().map(|c| c.len()).product();
        let mut total: Option<Interval> = None;
        for n in 0..count {
            let mut rest = n;
            let mut picked: SmallVec<[Range; 4]> = SmallVec::new();
            let mut numbers: SmallVec<[usize; 4]> = SmallVec::new();
            for of in &choices {
                numbers.push(rest % of.len());
                picked.push(Range::both(of[rest % of.len()]));
                rest /= of.len();
            }
            if alias.iter().zip(&numbers).any(|(&a, &n)| numbers[a] != n) {
                continue;
            }
            let found = body.with_signature(op, |s| transfer_aliased(s, &picked, &alias, &results))?;
            let range = found.first()?.range.computed;
            // Where an operand is infinite, an infinite result is excused, and a NaN is for `stated` to see.
            let excused = picked.iter().any(|r| !is_finite(&r.computed)) && !is_finite(&range);
            if !excused {
                total = Some(total.map_or(range, |t| t.hull(range)));
            }
        }
        total
    }

    fn count_dependents(&mut self, body: &Body) {
        let ops = body.walk();
        for root in &mut self.roots {
            let mut reached = vec![false; body.num_values()];
            body.results(root.op).for_each(|v| reached[v.index()] = self.lost[v.index()]);
            for &op in &ops {
                if op != root.op && body.operands(op).iter().any(|v| reached[v.index()]) {
                    let lost = body.results(op).filter(|v| self.lost[v.index()]);
                    root.dependents += usize::from(lost.clone().next().is_some());
                    lost.for_each(|v| reached[v.index()] = true);
                }
            }
        }
    }
}

/// The finite elements of a constant. Where there is none any number stands for those that are not.
fn finite_elements(tensor: &StoredTensor) -> Interval {
    let finite = tensor.tensor().to_f64s().into_iter().filter(|x| x.is_finite());
    finite.map(Enclosure::point).reduce(Enclosure::hull).unwrap_or(Enclosure::point(0.0))
}

/// Integers have no quotient by zero and no negative powers: the op cannot be evaluated there.
fn refused(body: &Body, op: Op, flow: &Flow) -> Option<Cause> {
    let &[_, second] = body.operands(op) else { return None };
    if body.ty(second).format().is_some() || body.ty(second).elem().is_none() {
        return None;
    }
    let prim = body.with_signature(op, |s| match s.def.semantics {
        Semantics::Elementwise(of) => of(s).ok().and_then(|e| e.function.as_primitive()),
        _ => None,
    });
    let range = flow.range(second).computed;
    let shown = cause::show_range(&range);
    match prim.flatten()? {
        Prim::Div | Prim::Rem if range.lo <= 0.0 && range.hi >= 0.0 => Some(Cause {
            what: "divide by zero".into(),
            detail: format!("the divisor lies in {shown}"),
            ..Cause::new(cause::Kind::DivisionByZero, Some(1), cause::Goal::Zero(1))
        }),
        Prim::Pow if range.lo < 0.0 => Some(Cause {
            what: "take a negative power of an integer".into(),
            detail: format!("the exponent lies in {shown}"),
            ..Cause::new(cause::Kind::Invalid, Some(1), cause::Goal::Below(1, 0.0))
        }),
        _ => None,
    }
}
