//! A function that has no implementation, as the steps of its formula.
//!
//! Each step is rounded to a working format: that of the result, or one with more than twice its digits, of which the result is
//! rounded once more. How far the result is off at finite arguments follows from what each step is off, and from how the steps
//! behind it pass that on; a formula in which something may cancel or overflow on the way has no bound, and is not taken.

use ngc_dialects::relative::{Term, applied};
use ngc_numerics::expr::Constant;
use ngc_numerics::figures::{add, magnitude, mul};
use ngc_numerics::program::{Program, Step};
use ngc_numerics::{Binary64, Cmp, Enclosure, Format, Interval, Mixed, Prim, ScalarFn, enclosure};

use super::functions::{Functions, Implementation, constant};

/// A formula with the values of its parameters, in a working format.
#[derive(Clone, Copy)]
pub(super) struct Formula<'a> {
    pub program: &'a Program,
    pub params: &'a [f64],
    /// The format of the arguments and of the result.
    pub storage: Format,
    /// The format of the steps.
    pub working: Format,
    functions: &'a Functions,
}

/// What is known of a step.
#[derive(Clone)]
struct Known {
    term: Term,
    /// Of a value without an error: how many digits it has at most, and the least magnitude but 0.
    digits: Option<(u32, f64)>,
    /// Whether it is a number of the format of the arguments.
    stored: bool,
    /// Units in the last place that it is off, where it is known so.
    units: Option<f64>,
}

/// What a step is done by.
pub(super) enum Means<'a> {
    /// An op of the processor.
    Op,
    /// `a b + c` of three steps, in one rounding.
    Fused([usize; 3]),
    /// An implementation in this format.
    Inlined(&'a Implementation, Format),
}

/// Where an argument lies.
type Ranges = Vec<Interval>;

impl<'a> Formula<'a> {
    /// The formula of a function in the first working format in which it is off by at most as much as functions may be, and by how
    /// many units in the last place; else by how many it is off at least.
    pub fn stable(
        function: &'static ScalarFn,
        params: &'a [f64],
        storage: Format,
        functions: &'a Functions,
    ) -> Result<(Formula<'a>, f64), f64> {
        let mut least = f64::INFINITY;
        for working in [Format::F32, Format::F64] {
            let wide = 2 * storage.precision() < working.precision();
            if working != storage && !wide {
                continue;
            }
            let formula = Formula { program: function.program(), params, storage, working, functions };
            match formula.units(function.arity) {
                Some(units) if units <= functions.most => return Ok((formula, units)),
                units => least = least.min(units.unwrap_or(f64::INFINITY)),
            }
        }
        Err(least)
    }

    /// How many units in the last place the result is off at most.
    fn units(&self, arity: usize) -> Option<f64> {
        let all = Enclosure::new(-self.storage.max_finite(), self.storage.max_finite());
        let last = self.program.steps().len().checked_sub(1)?;
        let known = self.known(last, &vec![all; arity])?;
        let Mixed { rho, eta } = known.term.mixed;
        let digits = 2f64.powi(self.storage.precision() as i32);
        let passed = add(mul(rho, digits), eta / self.storage.min_subnormal());
        let units = match known.units {
            Some(units) if self.working == self.storage => units,
            _ if self.working == self.storage => passed,
            _ => add(0.5, passed),
        };
        // Of what leaves the format or cancels there is no bound that means anything.
        (units < digits).then_some(units)
    }

    /// What a step is done by; nothing where it is none of the processor and has no implementation.
    pub fn means(&self, step: usize) -> Option<Means<'a>> {
        let Step::Apply(prim, operands) = &self.program.steps()[step] else { return Some(Means::Op) };
        match prim {
            Prim::Add => Some(self.fused(operands).map_or(Means::Op, Means::Fused)),
            _ if is_op(*prim) => Some(Means::Op),
            _ => [self.working, Format::F32].into_iter().find_map(|format| {
                self.functions.find(prim.name(), format).map(|own| Means::Inlined(own, format))
            }),
        }
    }

    /// A sum with a product of steps that are known before anything is rounded.
    fn fused(&self, summands: &[usize; 3]) -> Option<[usize; 3]> {
        let steps = self.program.steps();
        let plain = |n: usize| matches!(steps[n], Step::Var(_) | Step::Param(_) | Step::Const(_));
        let [a, b, _] = *summands;
        [(a, b), (b, a)].into_iter().find_map(|(product, other)| match steps[product] {
            Step::Apply(Prim::Mul, [x, y, _]) if [x, y, other].into_iter().all(plain) => Some([x, y, other]),
            _ => None,
        })
    }

    /// The number that a parameter or constant is in the working format.
    pub fn number(&self, step: usize) -> Option<f64> {
        match &self.program.steps()[step] {
            Step::Param(n) => self.params.get(*n).map(|&p| self.working.round(p)),
            Step::Const(n) => {
                let exact = &self.program.constants()[*n];
                let near = || enclosure::constant(&Binary64, exact).lo;
                Some(constant(exact, self.working).unwrap_or_else(|| self.working.round(near())))
            }
            _ => None,
        }
    }

    fn known(&self, step: usize, ranges: &Ranges) -> Option<Known> {
        let last = step + 1 == self.program.steps().len();
        match &self.program.steps()[step] {
            Step::Var(n) => {
                let digits = Some((self.storage.precision(), self.storage.min_subnormal()));
                let term = Term::constant(*ranges.get(*n)?);
                Some(Known { term, digits, stored: true, units: Some(0.0) })
            }
            Step::Param(n) => self.constant(step, Enclosure::point(*self.params.get(*n)?)),
            Step::Const(n) => {
                let exact: &Constant = &self.program.constants()[*n];
                self.constant(step, enclosure::constant(&Binary64, exact))
            }
            Step::Apply(prim, operands) => {
                let parts: Option<Vec<Known>> =
                    operands[..prim.arity()].iter().map(|&n| self.known(n, ranges)).collect();
                let parts = parts?;
                let known = match self.means(step)? {
                    Means::Op => self.op(*prim, &parts)?,
                    Means::Fused(of) => {
                        let of: Option<Vec<Known>> = of.iter().map(|&n| self.known(n, ranges)).collect();
                        self.op(Prim::Fma, &of?)?
                    }
                    Means::Inlined(own, format) => self.inlined(*prim, &parts, own, format)?,
                };
                // What leaves the format on the way might have come back.
                let most = magnitude(&known.term.exact).max(magnitude(&known.term.moved));
                let held = most <= 0.5 * self.working.max_finite();
                (held || last || !is_op(*prim)).then_some(known)
            }
            Step::Select(cmp, [a, b, yes, no]) => {
                let sides = [self.known(*a, ranges)?, self.known(*b, ranges)?];
                if !sides.iter().all(|side| side.term.is_exact()) {
                    return None;
                }
                let within = |holds: bool| self.narrowed(ranges, *cmp, [*a, *b], &sides[1], holds);
                let (yes, no) = (self.known(*yes, &within(true))?, self.known(*no, &within(false))?);
                Some(either(Prim::Max, &[yes, no]))
            }
        }
    }

    fn constant(&self, step: usize, value: Interval) -> Option<Known> {
        let number = self.number(step)?;
        if !number.is_finite() {
            return None;
        }
        let term = Term::constant(value);
        if value.is_point() && value.lo == number {
            let digits = Some((significant(number), number.abs()));
            let stored = self.storage.contains(number);
            return Some(Known { term, digits, stored, units: Some(0.0) });
        }
        // Of one end of the enclosure, which is nowhere near as wide as a unit in the last place.
        let term = term.rounded(&Mixed::relative(2.0 * self.working.unit_roundoff()));
        Some(Known { term, digits: None, stored: false, units: None })
    }

    /// An op that the processor rounds to the working format.
    fn op(&self, prim: Prim, parts: &[Known]) -> Option<Known> {
        let terms: Vec<Term> = parts.iter().map(|part| part.term).collect();
        let exact = terms.iter().all(Term::is_exact);
        let term = applied(prim, &terms, self.storage.min_normal());
        match (prim, parts) {
            (Prim::Neg | Prim::Abs, [x]) => return Some(Known { term, ..x.clone() }),
            (Prim::Min | Prim::Max, _) => {
                // From a unit on, of the wrong one of two negative numbers it may be more.
                let either = either(prim, parts);
                let units = either.units.filter(|&units| units <= 1.0);
                return Some(Known { term, units, ..either });
            }
            (Prim::Sign | Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc, [x]) => {
                let digits = x.digits.map(|(digits, _)| (digits, 1.0));
                return exact.then_some(Known { term, digits, ..x.clone() });
            }
            // One changes nothing.
            (Prim::Mul, [one, x] | [x, one]) if one.is_one() => return Some(Known { term, ..x.clone() }),
            _ => {}
        }
        if let (Prim::Mul | Prim::Square, Some(digits)) = (prim, self.of_product(parts)) {
            return Some(Known { term, digits: Some(digits), stored: false, units: Some(0.0) });
        }
        // Sums of numbers of a format are exact below its normal range, and roots are never there.
        let normal = matches!(prim, Prim::Add | Prim::Sub | Prim::Sqrt);
        let term = term.rounded(&Mixed::rounding(self.working, normal));
        Some(Known { term, digits: None, stored: false, units: exact.then_some(0.5) })
    }

    /// Of a product that needs no rounding: its digits.
    fn of_product(&self, parts: &[Known]) -> Option<(u32, f64)> {
        let (a, b) = (parts.first()?.digits?, parts.last()?.digits?);
        let (digits, least) = (a.0 + b.0, a.1 * b.1);
        (digits <= self.working.precision() && least >= self.working.min_normal()).then_some((digits, least))
    }

    fn inlined(&self, prim: Prim, parts: &[Known], own: &Implementation, format: Format) -> Option<Known> {
        let held = |x: &Known| x.term.is_exact() && (format == self.working || x.stored);
        if !parts.iter().all(held)
            || format != self.working && !Format::F32.contains(self.storage.max_finite())
        {
            return None;
        }
        let units = own.max_ulp?;
        let terms: Vec<Term> = parts.iter().map(|part| part.term).collect();
        let error =
            Mixed { rho: mul(units, 2.0 * format.unit_roundoff()), eta: mul(units, format.min_subnormal()) };
        let term = applied(prim, &terms, self.storage.min_normal()).rounded(&error);
        let units = (format == self.working).then_some(units);
        Some(Known { term, digits: None, stored: false, units })
    }

    /// Where arguments lie if a relation holds, or does not.
    fn narrowed(&self, ranges: &Ranges, cmp: Cmp, [a, b]: [usize; 2], other: &Known, holds: bool) -> Ranges {
        let mut narrowed = ranges.clone();
        let steps = self.program.steps();
        let (Step::Var(n), Step::Param(_) | Step::Const(_)) = (&steps[a], &steps[b]) else { return narrowed };
        let (x, bound) = (&mut narrowed[*n], other.term.exact);
        let (below, above) = match (cmp, holds) {
            (Cmp::Lt | Cmp::Le, true) | (Cmp::Gt | Cmp::Ge, false) => (true, false),
            (Cmp::Gt | Cmp::Ge, true) | (Cmp::Lt | Cmp::Le, false) => (false, true),
            (Cmp::Eq, true) | (Cmp::Ne, false) => (true, true),
            _ => (false, false),
        };
        if below {
            x.hi = x.hi.min(bound.hi).max(x.lo);
        }
        if above {
            x.lo = x.lo.max(bound.lo).min(x.hi);
        }
        narrowed
    }
}

impl Known {
    fn is_one(&self) -> bool {
        self.term.is_exact() && self.term.exact == Enclosure::point(1.0)
    }
}

/// One of several values.
fn either(prim: Prim, parts: &[Known]) -> Known {
    let mut all = parts.iter().cloned();
    let first = all.next().unwrap_or_else(|| unreachable!("{} has operands", prim.name()));
    all.fold(first, |a, b| {
        let largest = |of: fn(&Known) -> f64| of(&a).max(of(&b));
        let (x, y) = (&a.term, &b.term);
        let term = Term {
            exact: x.exact.hull(y.exact),
            moved: x.moved.hull(y.moved),
            absolute: largest(|k| k.term.absolute),
            mixed: Mixed { rho: largest(|k| k.term.mixed.rho), eta: largest(|k| k.term.mixed.eta) },
        };
        let digits = a.digits.zip(b.digits).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1)));
        let units = a.units.zip(b.units).map(|(a, b)| a.max(b));
        Known { term, digits, stored: a.stored && b.stored, units }
    })
}

/// What the processor rounds.
fn is_op(prim: Prim) -> bool {
    matches!(
        prim,
        Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Div
            | Prim::Min
            | Prim::Max
            | Prim::Fma
            | Prim::Neg
            | Prim::Abs
            | Prim::Sign
            | Prim::Floor
            | Prim::Ceil
            | Prim::RoundEven
            | Prim::Trunc
            | Prim::Square
            | Prim::Sqrt
    )
}

/// The digits of a number between its first and its last one.
fn significant(x: f64) -> u32 {
    let bits = x.to_bits() & ((1 << 52) - 1);
    if bits == 0 { 1 } else { 53 - bits.trailing_zeros() }
}
