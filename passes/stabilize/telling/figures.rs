//! What a rewrite did to a function, in figures: the whole function is bounded before and after.

use std::sync::{Arc, Mutex, PoisonError};

use ngc_dialects::transfer::{Flow, has_elements};
use ngc_ir::pass::Function;
use ngc_ir::{AttrDict, Body, Context, InternalError, Loc, Resources, Type, Value};
use ngc_numerics::figures::{add, common, mignitude, mul};
use ngc_numerics::{DType, Figures, Format, Interval, Range};
use rustc_hash::{FxHashMap, FxHashSet};

use super::saved::{Saved, saved};
use super::{Effect, Replaced, Rewrite};
use crate::analysis::chains::Chains;
use crate::analysis::range::{reach, stated};
use crate::digits::{down, trimmed, up};

/// A nominal range in place of those that nobody stated; none for the stated ones.
pub type Side = Option<(f64, f64)>;

/// The nominal range.
pub(super) const LEAST: (f64, f64) = (-8.0, 8.0);

/// A nominal range for values of a type that lie in `exact`.
fn within((lo, hi): (f64, f64), ty: Type, exact: &Interval) -> Interval {
    match ty.elem() {
        Some(DType::Float(f)) => Interval::new(lo.max(-f.max_finite()), hi.min(f.max_finite())),
        _ => Interval::new(lo.max(exact.lo), hi.min(exact.hi)),
    }
}

/// `|x| <= 8`.
pub(super) fn spelled((lo, hi): (f64, f64)) -> String {
    if lo == -hi { format!("|x| <= {hi}") } else { format!("{lo} <= x <= {hi}") }
}

/// A function as it was.
pub struct Snapshot {
    /// Its ops.
    pub body: Body,
    /// Its attributes.
    pub attrs: AttrDict,
    /// The blobs of its module.
    pub resources: Resources,
    /// What was asked of it before.
    bounds: Mutex<Vec<(Side, Arc<Bounds>)>>,
}

/// How hard a chain of elementwise ops is searched, in operations on Taylor forms: half as hard as by `--analyze`, for it is
/// done before and after each round.
const EFFORT: usize = crate::analysis::chains::EFFORT / 2;

impl Snapshot {
    /// Of a function as it is.
    pub fn of(function: &Function) -> Snapshot {
        let (body, attrs) = (function.body.clone(), function.attrs.clone());
        Snapshot { body, attrs, resources: function.resources.clone(), bounds: Mutex::default() }
    }

    /// The bounds of every value, on a nominal range in place of those that nobody stated.
    fn bounds(&self, nominal: Side) -> Arc<Bounds> {
        let mut known = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(side, _)| *side == nominal).map(|(_, bounds)| bounds.clone());
        found.unwrap_or_else(|| {
            let bounds = Arc::new(Bounds::of(self, nominal));
            known.push((nominal, bounds.clone()));
            bounds
        })
    }

    /// The stated ranges of the arguments; if a nominal one is given, that in place of those that nobody stated.
    fn arguments(&self, nominal: Side) -> Vec<Interval> {
        let (arguments, whole) = (stated(&self.body, self.attrs.get("arg_attrs")), stated(&self.body, None));
        let (Some(side), Some(entry)) = (nominal, self.body.entry()) else { return arguments };
        let types = self.body.arguments(entry).iter().map(|&v| self.body.ty(v));
        let each = arguments.into_iter().zip(whole).zip(types);
        let floats = |ty: Type| ty.format().is_some();
        each.map(|((own, whole), ty)| if own == whole && floats(ty) { within(side, ty, &own) } else { own })
            .collect()
    }

    /// Values that the function returns.
    pub fn results(&self) -> &[Value] {
        let last = self.body.entry().and_then(|b| self.body.last_op(b));
        last.map_or(&[], |op| self.body.operands(op))
    }
}

/// The bounds of every value of a function.
struct Bounds {
    flow: Flow,
    /// Of the op of each value with one result, by the value's index.
    figures: Vec<Option<Figures>>,
}

impl Bounds {
    fn of(function: &Snapshot, nominal: Side) -> Bounds {
        let (body, arg_attrs) = (&function.body, function.attrs.get("arg_attrs"));
        let mut flow = Flow::of_function(body, arg_attrs, &function.resources);
        let entry = body.entry().map_or(&[][..], |b| body.arguments(b));
        for (&v, interval) in entry.iter().zip(function.arguments(nominal)) {
            flow.set(v, Range::both(interval), 0.0);
        }
        let mut figures = vec![None; body.num_values()];
        let mut chains = Chains::new(EFFORT);
        for op in body.walk() {
            chains.before(body, op, &mut flow);
            if let Some(found) = flow.step(body, op)
                && let [only] = &found[..]
            {
                figures[body.result(op, 0).index()] = Some(only.clone());
            }
        }
        Bounds { flow, figures }
    }

    fn exact(&self, value: Value) -> Interval {
        self.flow.range(value).exact
    }

    fn absolute(&self, value: Value) -> f64 {
        self.flow.error(value)
    }

    /// The error relative to the least magnitude of the value, or to a floor where that is less: the least normal number of
    /// its format, and for a value that may be 0 its greatest magnitude times the root of the unit roundoff.
    fn relative(&self, body: &Body, value: Value, exact: &Interval) -> f64 {
        let error = self.flow.error(value);
        let Some(format) = body.ty(value).format().filter(|_| error != 0.0) else { return error };
        let least = mignitude(exact);
        let reach = reach(exact).min(format.max_finite());
        let floor = if least > 0.0 { 0.0 } else { format.unit_roundoff().sqrt() * reach };
        let floor = least.max(floor).max(format.min_normal());
        self.flow.relative(value).from(floor).min(error / floor)
    }

    /// The functional of the ops between `inputs` and a value: its Lipschitz constant, all paths summed, the rounding that
    /// the ops add, and their total curvature. Ops before `first`, by the index of their value, count as inputs too.
    fn functional(&self, body: &Body, value: Value, inputs: &FxHashSet<Value>, first: usize) -> Functional {
        let mut known: FxHashMap<Value, (f64, f64)> = FxHashMap::default();
        let mut curvature = 0.0;
        let mut stack = vec![(value, false)];
        let inner =
            |v: Value| v.index() >= first && !inputs.contains(&v) && self.figures[v.index()].is_some();
        while let Some((v, done)) = stack.pop() {
            let operands = body.defining_op(v).map_or(&[][..], |op| body.operands(op));
            if known.contains_key(&v) {
                continue;
            }
            let Some(figures) = self.figures[v.index()].as_ref().filter(|_| inner(v) && known.len() < MOST)
            else {
                known.insert(v, (1.0, 0.0));
                continue;
            };
            if !done {
                stack.push((v, true));
                stack.extend(operands.iter().map(|&o| (o, false)));
                continue;
            }
            let (mut lipschitz, mut delta) = (0.0, figures.delta);
            for (way, operand) in figures.sensitivity.iter().zip(operands) {
                let (l, d) = known.get(operand).copied().unwrap_or((1.0, 0.0));
                let steep = if way.jump > 0.0 { f64::INFINITY } else { way.lipschitz };
                lipschitz = add(lipschitz, mul(steep, l));
                delta = add(delta, way.pass(d));
            }
            curvature = add(curvature, figures.curvature);
            known.insert(v, (lipschitz, delta));
        }
        let (lipschitz, delta) = known.get(&value).copied().unwrap_or((1.0, 0.0));
        Functional { lipschitz, delta, curvature }
    }
}

/// Ops that a functional follows at most.
const MOST: usize = 256;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Functional {
    lipschitz: f64,
    delta: f64,
    curvature: f64,
}

/// A figure before and after.
pub type Pair = (f64, f64);

/// What a rewrite did to the value that was replaced. All but the last are bounds, on the stated ranges or on a nominal one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The nominal range in place of those that nobody stated; none if the stated ones were enough.
    pub nominal: Side,
    /// Format of the value.
    pub format: Option<Format>,
    /// Bound of the absolute error.
    pub absolute: Pair,
    /// Bound of the error relative to the value, or to a floor, see `Bounds::relative`.
    pub relative: Pair,
    /// Lipschitz constant of the replaced ops in what they share, all paths summed.
    pub lipschitz: Pair,
    /// Rounding error that the replaced ops add.
    pub delta: Pair,
    /// Total curvature of the replaced ops.
    pub curvature: Pair,
}

impl Change {
    /// Bound of the difference of the computed values, `Φ_G + Φ_G'`.
    pub fn distance(&self) -> f64 {
        add(self.absolute.0, self.absolute.1)
    }

    /// The constant C in `|G - G'| ≤ C u`, u the unit roundoff of the value's format; none where a bound is infinite.
    pub fn constant(&self) -> Option<f64> {
        self.format.map(|f| self.distance() / f.unit_roundoff()).filter(|c| c.is_finite())
    }

    /// Names and values, for programs.
    pub fn args(&self) -> Vec<(&'static str, String)> {
        let pairs = [
            (["error-before", "error-after"], self.absolute),
            (["relative-error-before", "relative-error-after"], self.relative),
            (["lipschitz-before", "lipschitz-after"], self.lipschitz),
            (["delta-before", "delta-after"], self.delta),
            (["curvature-before", "curvature-after"], self.curvature),
        ];
        let pairs = pairs.into_iter().flat_map(|([b, a], (x, y))| [(b, bound(x)), (a, bound(y))]);
        let rest = [
            Some(("distance", bound(self.distance()))),
            self.constant().map(|c| ("constant", bound(c))),
            self.nominal.map(|side| ("nominal", spelled(side))),
        ];
        pairs.chain(rest.into_iter().flatten()).collect()
    }
}

/// A figure as it reads in a remark, rounded to nearest.
pub fn number(x: f64) -> String {
    trimmed(few(x))
}

/// A bound from above as it reads in a remark.
pub fn bound(x: f64) -> String {
    trimmed(up(x, few))
}

/// A bound from below as it reads in a remark.
pub fn least(x: f64) -> String {
    trimmed(down(x, few))
}

fn few(x: f64) -> String {
    if x == 0.0 || (0.1..1000.0).contains(&x.abs()) {
        format!("{x:.3}")
    } else if x.is_finite() {
        format!("{x:.1e}")
    } else {
        x.to_string()
    }
}

fn pair((before, after): Pair) -> String {
    format!("{} -> {}", bound(before), bound(after))
}

impl Change {
    /// What became of the bound.
    pub fn text(&self) -> String {
        let side = self.nominal.map_or(String::new(), |side| format!(", nominal {}", spelled(side)));
        format!("error bound {} (relative {}){side}", pair(self.absolute), pair(self.relative))
    }

    /// What became of the other figures.
    pub fn details(&self) -> String {
        let mut text =
            format!("κ^curv {}, L {}, Δ {}", pair(self.curvature), pair(self.lipschitz), pair(self.delta));
        if let (Some(c), Some(format)) = (self.constant(), self.format) {
            let exponent = format.unit_roundoff().log2();
            text += &format!(", |G - G'| <= C u with C = {}, u = 2^{exponent}", bound(c));
        } else if self.absolute.0.is_infinite() {
            text += ", |G - G'| unbounded as G was";
        }
        text
    }
}

/// Gives the rewrites of a round the figures of the values that they replaced.
pub fn explain(before: &Snapshot, after: &Snapshot, replaced: &[Replaced], applied: &mut [Rewrite]) {
    for r in replaced {
        let change = |nominal: Side| compare((before, r.old), (after, r.new), nominal);
        let mut found = change(None);
        if found.absolute.1.is_infinite() {
            // Bounds on the stated ranges say nothing.
            found = change(Some(LEAST));
        }
        applied[r.rewrite].effect = Effect::Change(Box::new(found));
    }
}

fn compare((before, x): (&Snapshot, Value), (after, y): (&Snapshot, Value), nominal: Side) -> Change {
    let (old, new) = rayon::join(|| before.bounds(nominal), || after.bounds(nominal));
    let exact = agreed(before, x, &old.exact(x), &new.exact(y));
    // What was made in this round lies behind all that was there before.
    let first = before.body.num_values();
    let made = new.functional(&after.body, y, &FxHashSet::default(), first);
    let shared = inputs(&after.body, y, first);
    let gone = old.functional(&before.body, x, &shared, 0);
    Change {
        nominal,
        format: before.body.ty(x).format(),
        absolute: (old.absolute(x), new.absolute(y)),
        relative: (old.relative(&before.body, x, &exact), new.relative(&after.body, y, &exact)),
        lipschitz: (gone.lipschitz, made.lipschitz),
        delta: (gone.delta, made.delta),
        curvature: (gone.curvature, made.curvature),
    }
}

/// The values with an index below `first` that a value is made of.
fn inputs(body: &Body, value: Value, first: usize) -> FxHashSet<Value> {
    let (mut out, mut seen, mut stack) = (FxHashSet::default(), FxHashSet::default(), vec![value]);
    while let Some(v) = stack.pop() {
        if v.index() < first {
            out.insert(v);
        } else if seen.insert(v) {
            stack.extend(body.defining_op(v).map_or(&[][..], |op| body.operands(op)));
        }
    }
    out
}

/// What all rewrites of a run did together.
#[derive(Debug)]
pub struct Totals {
    /// Of each result.
    pub results: Vec<Outcome>,
    /// Memory, work and formats.
    pub saved: Saved,
}

/// Bounds of a result before and after.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The nominal range in place of those that nobody stated; none if the stated ones were enough.
    pub nominal: Side,
    /// Bound of the absolute error.
    pub absolute: Pair,
    /// Bound of the error relative to the value, or to a floor, see `Bounds::relative`.
    pub relative: Pair,
}

impl Outcome {
    /// α = cost(G*) / cost(G): the ratio of the relative bounds, or of the absolute ones where no relative one was finite.
    /// None where there was no finite bound: no number says how much better a bound is than none.
    pub fn alpha(&self) -> Option<f64> {
        let ratio = |(before, after): Pair| match (before, after) {
            _ if before == after && before.is_finite() => Some(1.0),
            (b, a) if a.is_finite() && b.is_finite() && b > 0.0 => Some(a / b),
            _ => None,
        };
        ratio(self.relative).or_else(|| ratio(self.absolute))
    }

    /// α as it reads: a number, or what became of no bound.
    fn gain(&self) -> String {
        let (before, after) = self.absolute;
        match self.alpha() {
            Some(alpha) => number(alpha),
            None if before.is_infinite() && after.is_finite() => "inf -> finite".into(),
            None => "not known".into(),
        }
    }

    /// Names and values, for programs.
    pub fn args(&self, n: usize) -> Vec<(&'static str, String)> {
        let figures = [
            Some(("result", n.to_string())),
            Some(("error-before", bound(self.absolute.0))),
            Some(("error-after", bound(self.absolute.1))),
            Some(("relative-error-before", bound(self.relative.0))),
            Some(("relative-error-after", bound(self.relative.1))),
            Some(("distance", bound(add(self.absolute.0, self.absolute.1)))),
            Some(("alpha", self.gain())),
            self.nominal.map(|side| ("nominal", spelled(side))),
        ];
        figures.into_iter().flatten().collect()
    }

    /// What became of the bound of the n-th result.
    pub fn text(&self, n: usize) -> String {
        let side = self.nominal.map_or(String::new(), |side| format!(", nominal {}", spelled(side)));
        format!("result {n}: error bound {} (relative {}){side}", pair(self.absolute), pair(self.relative))
    }

    /// How far the results may be apart, and what was gained.
    pub fn details(&self) -> String {
        let distance = bound(add(self.absolute.0, self.absolute.1));
        format!("|G - G'| <= Φ_G + Φ_G' = {distance}, α = {}", self.gain())
    }
}

/// The values of a result by the bounds before and after: rewrites leave it the same over the reals.
fn agreed(before: &Snapshot, x: Value, old: &Interval, new: &Interval) -> Interval {
    if !has_elements(before.body.ty(x)) {
        return *old;
    }
    common(old, new).unwrap_or_else(|contradiction| {
        let made = before.body.defining_op(x);
        let loc = made.map_or(Loc::Unknown, |op| before.body.op(op).loc.clone());
        InternalError::raise(loc, format!("a rewrite changed a result: {contradiction}"))
    })
}

/// What all rewrites of a run did.
pub fn totals(context: &Context, before: &Snapshot, after: &Snapshot) -> Totals {
    let outcomes = |nominal| {
        let (old, new) = rayon::join(|| before.bounds(nominal), || after.bounds(nominal));
        let each = before.results().iter().zip(after.results());
        let outcome = |(&x, &y): (&Value, &Value)| {
            let exact = agreed(before, x, &old.exact(x), &new.exact(y));
            Outcome {
                nominal,
                absolute: (old.absolute(x), new.absolute(y)),
                relative: (old.relative(&before.body, x, &exact), new.relative(&after.body, y, &exact)),
            }
        };
        each.map(outcome).collect::<Vec<_>>()
    };
    let mut results = outcomes(None);
    if results.iter().any(|r| r.absolute.1.is_infinite()) {
        // Bounds on the stated ranges say nothing.
        let nominal = outcomes(Some(LEAST));
        for (own, nominal) in results.iter_mut().zip(nominal) {
            if own.absolute.1.is_infinite() {
                *own = nominal;
            }
        }
    }
    Totals { results, saved: saved(context, before, after) }
}
