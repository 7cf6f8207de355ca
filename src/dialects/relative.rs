//! The error functional in relative form: how bounds `|computed - exact| ≤ ρ |exact| + η` pass through ops.
//!
//! The error of an operand is taken in two parts. The relative part keeps the sign and moves the operand by a factor; what
//! it does to the result follows from the primitive (products of factors, sums of one sign, an exponential's absolute
//! error) or else from the condition number: in the metric `|ln(c/e)|` errors grow by κ at most, without a term of
//! second order, where κ bounds `Σ |x_i ∂f/∂x_i| / |f|` over a box that holds exact and computed operands. The absolute
//! part then passes by the Lipschitz constants of the same box. A formula is followed step by step over the reals and
//! rounded once; an op with a decomposition is followed through its steps.

use ngc_ir::op_def::Elementwise;
use ngc_ir::{Body, Op, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{add, div, magnitude, mignitude, mul};
use ngc_numerics::mixed::{condition, log_distance, of_log_distance};
use ngc_numerics::program::Step;
use ngc_numerics::{
    Binary64, Enclosure, Figures, Form, Format, Interval, Mixed, Prim, Range, Sensitivity, SumMethod, dual,
    enclosure, primitives,
};
use smallvec::SmallVec;

use crate::ng::infer;
use crate::transfer::count;

/// A value over the reals, what it is for computed operands, and how far these are apart.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// Over the reals.
    pub exact: Interval,
    /// For computed operands.
    pub moved: Interval,
    /// The error.
    pub absolute: f64,
    /// The same in two parts.
    pub mixed: Mixed,
}

impl Term {
    pub(crate) fn new(range: Range, absolute: f64, mixed: Mixed) -> Term {
        Term { exact: range.exact, moved: range.computed, absolute, mixed }
    }

    /// A value that is computed exactly.
    pub fn constant(value: Interval) -> Term {
        Term { exact: value, moved: value, absolute: 0.0, mixed: Mixed::NONE }
    }

    fn hull(&self) -> Interval {
        self.exact.hull(self.moved)
    }

    /// The value after a further error, which is relative to what it has come to.
    pub fn rounded(&self, error: &Mixed) -> Term {
        let mixed = self.mixed.then(error);
        Term {
            moved: reach(&self.exact, &mixed),
            absolute: mixed.at_most(magnitude(&self.exact)),
            mixed,
            ..*self
        }
    }

    /// Whether there is no error.
    pub fn is_exact(&self) -> bool {
        self.absolute == 0.0
    }

    fn is_defined(&self) -> bool {
        is_defined(&self.exact) && is_defined(&self.moved)
    }

    /// The whole error relative to the value.
    fn relative(&self) -> Mixed {
        let least = mignitude(&self.exact);
        let by_absolute = if least > 0.0 { div(self.absolute, least) } else { f64::INFINITY };
        Mixed::relative(self.mixed.from(least).min(by_absolute))
    }
}

/// Neither NaN nor infinite.
pub(crate) fn is_defined(x: &Interval) -> bool {
    !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite()
}

/// How a function of reals treats errors on a box that holds exact and computed arguments.
struct Local {
    slopes: SmallVec<[f64; 3]>,
    condition: f64,
}

impl Local {
    fn of_figures(figures: &Figures) -> Local {
        let slope = |s: &Sensitivity| if s.jump > 0.0 { f64::INFINITY } else { s.lipschitz };
        Local { slopes: figures.sensitivity.iter().map(slope).collect(), condition: figures.condition }
    }

    fn of_primitive(prim: Prim, x: &[Term]) -> Local {
        let hull: SmallVec<[Interval; 3]> = x.iter().map(Term::hull).collect();
        let alone: SmallVec<[usize; 3]> = (0..x.len()).collect();
        let jet = dual::differentiate(primitives::primitive(prim), &[], &hull, &alone);
        let slopes: SmallVec<[f64; 3]> = jet.slope.iter().map(magnitude).collect();
        let rise = hull.iter().zip(&slopes).fold(0.0, |sum, (x, &d)| add(sum, mul(magnitude(x), d)));
        let least = mignitude(&jet.value);
        let condition = if least > 0.0 { div(rise, least) } else { f64::INFINITY };
        Local { slopes, condition }
    }

    /// What errors become by the Lipschitz constants.
    fn pass(&self, errors: impl Iterator<Item = f64>) -> f64 {
        self.slopes.iter().zip(errors).fold(0.0, |sum, (&l, e)| add(sum, mul(l, e)))
    }
}

/// The error of a result of type `ty` of an op with these figures.
pub(crate) fn through(s: &Signature<'_>, figures: &Figures, x: &[Term], alias: &[usize], ty: Type) -> Mixed {
    let errors: SmallVec<[f64; 4]> = x.iter().map(|x| x.absolute).collect();
    let total = figures.error(&errors);
    let Some(format) = ty.format() else { return Mixed::absolute(total) };
    let image = &figures.range.exact;
    let floor = format.min_normal();
    let least = mignitude(image);
    let absolute = if least > 0.0 { Mixed::relative(div(total, least)) } else { Mixed::UNBOUNDED };
    let whole = absolute.better(Mixed::absolute(total), image, floor);
    let defined = x.iter().all(Term::is_defined) && is_defined(image) && is_defined(&figures.range.computed);
    if figures.delta.is_infinite() || !(defined || figures.form == Form::Selection) {
        return whole;
    }
    let carried = if x.iter().all(Term::is_exact) {
        Mixed::NONE
    } else {
        let passed = figures.sensitivity.iter().zip(&errors).fold(0.0, |sum, (w, &e)| add(sum, w.pass(e)));
        let mut best = by_figures(figures, x, image, floor).better(Mixed::absolute(passed), image, floor);
        if let Semantics::Elementwise(of) = s.def.semantics
            && let Ok(e) = of(s)
            && e.function.arity == x.len()
            && let Some(found) = by_formula(&e, figures, x, alias, floor)
        {
            best = best.better(found, image, floor);
        }
        best
    };
    carried.then(&own(figures, floor)).better(whole, image, floor)
}

/// The rounding of the op itself.
fn own(figures: &Figures, floor: f64) -> Mixed {
    let delta = Mixed::absolute(figures.delta);
    if figures.delta <= figures.relative.eta {
        delta
    } else {
        figures.relative.better(delta, &figures.range.computed, floor)
    }
}

/// By the condition number of the op, or better where its form allows.
fn by_figures(figures: &Figures, x: &[Term], image: &Interval, floor: f64) -> Mixed {
    // An error that decides has no relative form.
    if figures.sensitivity.iter().zip(x).any(|(way, x)| way.jump > 0.0 && !x.is_exact()) {
        return Mixed::UNBOUNDED;
    }
    let local = Local::of_figures(figures);
    let mattering: SmallVec<[&Term; 4]> = x
        .iter()
        .zip(&figures.sensitivity)
        .filter(|(_, way)| **way != Sensitivity::NONE)
        .map(|(x, _)| x)
        .collect();
    if figures.form == Form::Selection {
        let largest = |of: fn(&Mixed) -> f64| mattering.iter().map(|x| of(&x.mixed)).fold(0.0, f64::max);
        return ordered(Mixed { rho: largest(|m| m.rho), eta: largest(|m| m.eta) });
    }
    let of = |error: &dyn Fn(&Term) -> Mixed| {
        let rhos = || x.iter().map(|x| error(x).rho);
        let rho = match figures.form {
            Form::Multilinear => product(rhos()),
            _ if rhos().any(f64::is_infinite) => f64::INFINITY,
            _ => of_log_distance(mul(figures.condition, log_distance(rhos().fold(0.0, f64::max)))),
        };
        Mixed { rho, eta: local.pass(x.iter().map(|x| error(x).eta)) }
    };
    of(&|x| x.mixed).better(of(&Term::relative), image, floor)
}

/// `x ± (ρ |x| + η)` rise with x if ρ ≤ 1, so order statistics keep such a bound.
fn ordered(error: Mixed) -> Mixed {
    if error.rho <= 1.0 { error } else { Mixed::UNBOUNDED }
}

/// `Π (1 + ρ_i) - 1`
fn product(rhos: impl Iterator<Item = f64>) -> f64 {
    rhos.fold(0.0, |all, rho| add(add(all, rho), mul(all, rho)))
}

/// By the steps of the formula over the reals.
fn by_formula(e: &Elementwise, figures: &Figures, x: &[Term], alias: &[usize], floor: f64) -> Option<Mixed> {
    if let Some(prim) = e.function.as_primitive() {
        let repeated = alias.iter().enumerate().any(|(i, &a)| i != a);
        // Slopes of repeated operands stand together at the first; so do no condition numbers.
        let local = if repeated { Local::of_primitive(prim, x) } else { Local::of_figures(figures) };
        return Some(primitive(prim, x, &local, &figures.range.exact, floor));
    }
    let program = e.function.program();
    let constants = program.enclose_constants(&Binary64);
    let mut terms: SmallVec<[Term; 16]> = SmallVec::new();
    for step in program.steps() {
        let term = match step {
            Step::Var(i) => *x.get(*i)?,
            Step::Param(i) => Term::constant(Enclosure::point(*e.params.get(*i)?)),
            Step::Const(i) => Term::constant(constants[*i]),
            Step::Apply(prim, places) => {
                let x: SmallVec<[Term; 3]> = places[..prim.arity()].iter().map(|&k| terms[k]).collect();
                applied(*prim, &x, floor)
            }
            Step::Select(cmp, [a, b, yes, no]) => {
                let (a, b) = (terms[*a], terms[*b]);
                let verdict = a.exact.compare(*cmp, &b.exact)?;
                if a.moved.compare(*cmp, &b.moved) != Some(verdict) {
                    return None;
                }
                terms[if verdict { *yes } else { *no }]
            }
        };
        terms.push(term);
    }
    terms.pop().map(|term| term.mixed)
}

/// One step of a formula, over the reals; `floor` is the magnitude from which on errors are to be small.
pub fn applied(prim: Prim, x: &[Term], floor: f64) -> Term {
    let side = |of: fn(&Term) -> &Interval| {
        let args: SmallVec<[&Interval; 3]> = x.iter().map(of).collect();
        enclosure::apply(&Binary64, prim, &args)
    };
    let (exact, moved) = (side(|x| &x.exact), side(|x| &x.moved));
    if x.iter().all(Term::is_exact) {
        return Term { exact, moved, absolute: 0.0, mixed: Mixed::NONE };
    }
    let local = Local::of_primitive(prim, x);
    let straight = local.pass(x.iter().map(|x| x.absolute));
    let defined = x.iter().all(Term::is_defined) && is_defined(&exact) && is_defined(&moved);
    let found = if defined { primitive(prim, x, &local, &exact, floor) } else { Mixed::UNBOUNDED };
    let mixed = found.better(Mixed::absolute(straight), &exact, floor);
    Term { exact, moved, absolute: straight.min(found.at_most(magnitude(&exact))), mixed }
}

/// A primitive over the reals. The error of each operand counts in two parts, or all as relative to the least operand: none
/// of them, all of them, or those where that makes no difference.
fn primitive(prim: Prim, x: &[Term], local: &Local, image: &Interval, floor: f64) -> Mixed {
    let by = |of: &dyn Fn(&Term) -> Mixed| {
        let errors: SmallVec<[Mixed; 3]> = x.iter().map(of).collect();
        rule(prim, x, &errors, local, image)
    };
    let first = by(&|x| x.mixed).better(by(&Term::relative), image, floor);
    if x.len() < 2 {
        return first;
    }
    let alike = |x: &Term| {
        let relative = x.relative();
        if relative.rho <= mul(2.0, x.mixed.rho).max(f64::EPSILON) { relative } else { x.mixed }
    };
    first.better(by(&alike), image, floor)
}

fn rule(prim: Prim, x: &[Term], errors: &[Mixed], local: &Local, image: &Interval) -> Mixed {
    let rho = |i: usize| errors[i].rho;
    // What the absolute parts become by the slopes.
    let spill = local.pass(errors.iter().map(|e| e.eta));
    let spilt = |rho: f64| Mixed { rho, eta: spill };
    let grown = |distance: f64| spilt(of_log_distance(distance));
    match (prim, x) {
        (Prim::Neg | Prim::Abs, _) => errors[0],
        (Prim::Min | Prim::Max, _) => {
            let largest = |of: fn(&Mixed) -> f64| errors.iter().map(of).fold(0.0, f64::max);
            ordered(Mixed { rho: largest(|e| e.rho), eta: largest(|e| e.eta) })
        }
        (Prim::Add, [a, b]) => sum([a.exact, b.exact], [errors[0], errors[1]], image),
        (Prim::Sub, [a, b]) => sum([a.exact, negated(b.exact)], [errors[0], errors[1]], image),
        (Prim::Fma, [a, b, c]) => {
            let left = add(mul(local.slopes[0], errors[0].eta), mul(local.slopes[1], errors[1].eta));
            let both = Mixed { rho: product([rho(0), rho(1)].into_iter()), eta: left };
            let value = enclosure::apply(&Binary64, Prim::Mul, &[&a.exact, &b.exact]);
            sum([value, c.exact], [both, errors[2]], image)
        }
        (Prim::Mul, _) => spilt(product([rho(0), rho(1)].into_iter())),
        (Prim::Square, _) => spilt(product([rho(0), rho(0)].into_iter())),
        (Prim::Div, _) if rho(1) < 1.0 => spilt(div(add(rho(0), rho(1)), (1.0 - rho(1)).next_down())),
        (Prim::Hypot, _) => spilt(rho(0).max(rho(1))),
        (Prim::Exp, [a]) => Mixed::relative(of_log_distance(a.absolute)),
        (Prim::Exp2, [a]) => {
            Mixed::relative(of_log_distance(mul(a.absolute, std::f64::consts::LN_2.next_up())))
        }
        (Prim::Log, _) => Mixed::absolute(add(log_distance(rho(0)), spill)),
        (Prim::Log2, _) => {
            let distance = div(log_distance(rho(0)), std::f64::consts::LN_2.next_down());
            Mixed::absolute(add(distance, spill))
        }
        (Prim::Log10, _) => {
            let distance = div(log_distance(rho(0)), std::f64::consts::LN_10.next_down());
            Mixed::absolute(add(distance, spill))
        }
        // |√(x + d) - √x| ≤ √|d|, and ∛ at most ∛|4 d|.
        (Prim::Sqrt, _) => {
            let eta = spill.min(errors[0].eta.sqrt().next_up());
            Mixed {
                eta: if errors[0].eta == 0.0 { 0.0 } else { eta },
                ..grown(mul(0.5, log_distance(rho(0))))
            }
        }
        (Prim::Cbrt, [a]) => {
            let root = enclosure::apply(&Binary64, prim, &[&Enclosure::point(mul(4.0, errors[0].eta))]).hi;
            Mixed { eta: spill.min(root), ..grown(mul(condition(prim, &a.hull()), log_distance(rho(0)))) }
        }
        (Prim::Pow, [base, exponent]) => {
            let by_base = mul(magnitude(&exponent.hull()), log_distance(rho(0)));
            let by_exponent = if exponent.is_exact() {
                0.0
            } else {
                let log = enclosure::apply(&Binary64, Prim::Log, &[&base.hull()]);
                mul(magnitude(&log), exponent.absolute)
            };
            let eta = mul(local.slopes[0], errors[0].eta);
            Mixed { eta, ..grown(add(by_base, by_exponent)) }
        }
        (_, [a]) => grown(mul(condition(prim, &a.hull()).min(local.condition), log_distance(rho(0)))),
        _ => {
            let largest = errors.iter().map(|e| e.rho).fold(0.0, f64::max);
            grown(mul(local.condition, log_distance(largest)))
        }
    }
}

fn negated(x: Interval) -> Interval {
    Enclosure { lo: -x.hi, hi: -x.lo, may_be_nan: x.may_be_nan }
}

/// The error of `x + y`: a mean of both where they have one sign, else by their shares `|x| / |x + y|`.
fn sum(x: [Interval; 2], errors: [Mixed; 2], image: &Interval) -> Mixed {
    let one = Enclosure::point(1.0);
    let share = |a: &Interval, b: &Interval| {
        let apply = |prim, x: &Interval, y: &Interval| enclosure::apply(&Binary64, prim, &[x, y]);
        let inverse = |least: f64| if least > 0.0 { div(1.0, least) } else { f64::INFINITY };
        let whole = mul(magnitude(a), inverse(mignitude(image)));
        let ratio = if mignitude(a) > 0.0 {
            inverse(mignitude(&apply(Prim::Add, &one, &apply(Prim::Div, b, a))))
        } else {
            f64::INFINITY
        };
        whole.min(ratio)
    };
    let shares = [share(&x[0], &x[1]), share(&x[1], &x[0])];
    let same = x.iter().all(|x| x.lo >= 0.0) || x.iter().all(|x| x.hi <= 0.0);
    let largest = if same { errors[0].rho.max(errors[1].rho) } else { f64::INFINITY };
    // A term that is exactly zero has no share, and yet what moves it counts.
    let bounded = errors.iter().all(|e| e.rho.is_finite());
    let weighed = add(mul(shares[0], errors[0].rho), mul(shares[1], errors[1].rho));
    let weighed = if bounded { weighed } else { f64::INFINITY };
    Mixed { rho: largest.min(weighed), eta: add(errors[0].eta, errors[1].eta) }
}

/// The rounding of a formula to `format`, relative to its value; `least` bounds the magnitude of the rounded value.
pub(crate) fn rounding(s: &Signature<'_>, e: &Elementwise, format: Format, least: f64) -> Mixed {
    let alike = s.operands.iter().all(|t| t.format() == Some(format));
    // Sums of numbers of the format are exact below the normal range, and roots are never there.
    let prim = e.function.as_primitive();
    let normal = alike && matches!(prim, Some(Prim::Add | Prim::Sub | Prim::Sqrt | Prim::Cbrt));
    Mixed::rounding(format, normal || least > format.min_normal())
}

/// Where computed values lie if the exact ones lie in `x`: both ends moved by the error there.
pub(crate) fn reach(x: &Interval, error: &Mixed) -> Interval {
    if !error.is_finite() || error.rho > 1.0 || !is_defined(x) {
        return ngc_numerics::figures::WHOLE;
    }
    let by = |end: f64| error.at_most(end.abs());
    Enclosure { lo: -add(-x.lo, by(x.lo)), hi: add(x.hi, by(x.hi)), may_be_nan: false }
}

/// What intervals lose of a sum of exponentials of `x - max(x)`: the greatest gives 1, and no term is negative. Rounding
/// is monotone, so neither is a computed sum below 1, of an order without compensation.
pub(crate) fn shifted_sum(body: &Body, op: Op) -> Option<Interval> {
    let made =
        |op: Op, name: &str| (body.name(op) == name).then(|| body.operands(op)).filter(|x| !x.is_empty());
    let axes = |of: Op, value: Value| {
        body.with_signature(of, |s| infer::axes(s, body.ty(value).shape()?.len()).ok()).flatten()
    };
    let &[terms] = made(op, "ng.reduce_sum")? else { return None };
    let difference = made(body.defining_op(terms)?, "ng.exp")?[0];
    let &[x, greatest] = made(body.defining_op(difference)?, "ng.sub")? else { return None };
    let max = body.defining_op(greatest)?;
    let scalar = body.ty(greatest).shape().is_some_and(<[_]>::is_empty);
    let aligned = scalar || body.with_signature(max, |s| s.flag("keepdims")) == Some(true);
    if made(max, "ng.reduce_max")? != [x] || !aligned {
        return None;
    }
    let over = axes(op, terms)?;
    let holds_greatest = axes(max, x)?.iter().all(|axis| over.contains(axis));
    let plain = body.with_signature(op, |s| {
        count(s).is_some_and(|n| n > 0.0) && matches!(s.sum_method(), SumMethod::Naive | SumMethod::Pairwise)
    });
    let sum = Enclosure { lo: 1.0, hi: f64::INFINITY, may_be_nan: true };
    (holds_greatest && plain == Some(true)).then_some(sum)
}
