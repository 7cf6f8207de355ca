//! Interval ranges of all values of a function: a driver over the transfer functions of the ops.
//!
//! Two enclosures a value, never mixed: `exact` encloses the value over the reals; `computed` encloses what the ops,
//! each rounded in its format, produce. Both start from `ng.range = [lo, hi]` on the arguments, or else from the whole
//! finite range of the argument's type, and both are bounds: every input in the stated ranges stays inside.

use ngc_dialects::transfer::{self, Flow};
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{Attr, Body, Context, Op, Resources, Signature, Type, Value, ValueDef};
use ngc_numerics::figures::WHOLE;
use ngc_numerics::{DType, Enclosure};
use smallvec::SmallVec;

pub use ngc_numerics::{Interval, Range};

/// Ranges of the values of one body.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    flow: Flow,
    /// By value: see [`is_real`](Ranges::is_real).
    real: Vec<bool>,
}

impl Ranges {
    /// Ranges of a function's body; `arg_attrs` is the function's attribute of that name, `resources` are those of its
    /// module.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>, resources: &Resources) -> Ranges {
        let flow = Flow::of_function(body, arg_attrs, resources);
        Ranges { flow, ..Ranges::default() }.flowing(body, &stated(body, arg_attrs))
    }

    /// As [`of_function`](Self::of_function), where arguments whose range is not stated lie in that of their samples: an
    /// assumption.
    pub fn assuming(
        body: &Body,
        arg_attrs: Option<&Attr>,
        resources: &Resources,
        sampled: &[(f64, f64)],
    ) -> Ranges {
        let (mut own, whole) = (stated(body, arg_attrs), stated(body, None));
        for ((own, whole), &(lo, hi)) in own.iter_mut().zip(whole).zip(sampled) {
            if *own == whole && lo <= hi {
                *own = Enclosure::new(lo, hi);
            }
        }
        let flow = Flow::of_function(body, arg_attrs, resources);
        Ranges { flow, ..Ranges::default() }.flowing(body, &own)
    }

    /// Ranges of a body whose entry block has arguments of the given ranges.
    pub fn of_body(body: &Body, arguments: &[Interval]) -> Ranges {
        Ranges::default().flowing(body, arguments)
    }

    fn flowing(mut self, body: &Body, arguments: &[Interval]) -> Ranges {
        for (n, interval) in arguments.iter().enumerate() {
            if let Some(&v) = body.entry().and_then(|b| body.arguments(b).get(n)) {
                self.flow.set(v, Range::both(*interval), 0.0);
            }
        }
        for op in body.walk() {
            self.update(body, op);
        }
        self
    }

    /// Computes the ranges of an op's results from those of its operands.
    pub fn update(&mut self, body: &Body, op: Op) {
        self.flow.step(body, op);
        let data = body.op(op);
        let operands = body.operands(op).iter();
        let types = body.operand_types(op);
        let from_reals = data.def.is_some_and(|def| {
            let s = Signature { def, operands: &types, attrs: &data.attrs };
            def.traits.pure && keeps_reals(&s, operands.map(|&v| (self.is_real(v), self.of(v).exact)))
        });
        for value in body.results(op) {
            if self.real.len() <= value.index() {
                self.real.resize(value.index() + 1, false);
            }
            self.real[value.index()] = from_reals;
        }
    }

    /// Whether a value is finite over the reals wherever it is defined: its range is bounded, or it is computed from such
    /// values alone. A bound that is lost on the way leaves it a number all the same.
    pub fn is_real(&self, value: Value) -> bool {
        is_bounded(&self.of(value).exact) || self.real.get(value.index()).is_some_and(|&real| real)
    }

    /// The ranges of a value.
    pub fn of(&self, value: Value) -> Range {
        self.flow.range(value)
    }

    /// Whether `value` is an argument whose range is not stated.
    pub fn is_unknown(&self, body: &Body, value: Value) -> bool {
        matches!(body.def(value), ValueDef::Argument(..)) && self.of(value).exact == finite(body.ty(value))
    }
}

/// Whether both ends are finite.
pub(crate) fn is_bounded(x: &Interval) -> bool {
    x.lo.is_finite() && x.hi.is_finite()
}

/// Whether an op makes of real numbers nothing but real numbers, wherever its result is defined, and has such operands:
/// of each, whether it is a real number and what encloses it. The logarithm of 0 and the greatest of no elements are
/// infinite; a quotient by 0 is not defined.
pub(crate) fn keeps_reals(
    s: &Signature<'_>,
    operands: impl ExactSizeIterator<Item = (bool, Interval)>,
) -> bool {
    let finite = |attr: &Attr| !matches!(attr, Attr::Float(x, _) if !x.is_finite());
    let operands: SmallVec<[(bool, Interval); 4]> = operands.collect();
    let at = |n: usize| operands.get(n).map_or(WHOLE, |(_, x)| *x);
    let beside_limits = match s.def.short_name() {
        "log" | "log2" | "log10" => at(0).lo > 0.0,
        "log1p" => at(0).lo > -1.0,
        "atanh" => at(0).lo > -1.0 && at(0).hi < 1.0,
        "xlogy" => at(1).lo > 0.0,
        // A window of padding alone has none either.
        "max_pool" => false,
        "reduce_max" | "reduce_min" | "logsumexp" => {
            let shape = s.operands.first().and_then(|ty| ty.shape()).unwrap_or_default();
            shape.iter().all(|d| d.known().is_some_and(|n| n > 0))
        }
        _ => true,
    };
    beside_limits
        && !operands.is_empty()
        && s.attrs.iter().all(|(_, attr)| finite(attr))
        && operands.iter().all(|(real, _)| *real)
}

impl Analysis for Ranges {
    fn compute(function: &Function, _: &Context) -> Ranges {
        Ranges::of_function(&function.body, function.attrs.get("arg_attrs"), &function.resources)
    }
}

/// The ranges of a function's arguments: as `ng.range` states them, else all that is finite.
pub(crate) fn stated(body: &Body, arg_attrs: Option<&Attr>) -> Vec<Interval> {
    let dicts = arg_attrs.and_then(Attr::as_array).unwrap_or_default();
    let given = |n: usize| match dicts.get(n) {
        Some(Attr::Dict(dict)) => stated_range(dict.get("ng.range")?),
        _ => None,
    };
    let arguments = body.entry().map_or(&[][..], |b| body.arguments(b));
    arguments.iter().enumerate().map(|(n, &v)| given(n).unwrap_or_else(|| finite(body.ty(v)))).collect()
}

fn stated_range(attr: &Attr) -> Option<Interval> {
    match attr.as_array()? {
        [lo, hi] => Some(Enclosure::new(lo.as_float()?, hi.as_float()?)),
        _ => None,
    }
}

/// All finite values of a type.
fn finite(ty: Type) -> Interval {
    match ty.elem() {
        Some(DType::Float(f)) => Enclosure::new(-f.max_finite(), f.max_finite()),
        Some(int) => {
            let (lo, hi) = int.int_range();
            Enclosure::new(lo as f64, hi as f64)
        }
        None => WHOLE,
    }
}

/// The range of an op's result of type `ty`, from the ranges of its operands.
pub fn transfer(s: &Signature<'_>, operands: &[Range], ty: Type) -> Range {
    transfer::transfer(s, operands, &[ty]).first().map_or(Range::WHOLE, |figures| figures.range)
}
