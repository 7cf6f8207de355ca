//! Interval ranges of all values of a function: a driver over the transfer functions of the ops.
//!
//! Two enclosures a value, never mixed: `exact` encloses the value over the reals; `computed` encloses what the ops,
//! each rounded in its format, produce. Both start from `ng.range = [lo, hi]` on the arguments, or else from the whole
//! finite range of the argument's type, and both are bounds: every input in the stated ranges stays inside.

use ngc_dialects::facts::{self, Fact, Signs};
use ngc_dialects::transfer::{self, Flow, representable};
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{Attr, Body, Context, Op, Resources, Signature, Type, Value, ValueDef};
use ngc_numerics::figures::{WHOLE, integer, magnitude};
use ngc_numerics::{DType, Enclosure};
pub use ngc_numerics::{Interval, Range};
use smallvec::SmallVec;

/// Ranges of the values of one body.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    flow: Flow,
}

impl Ranges {
    /// Ranges of a function's body; `arg_attrs` is the function's attribute of that name, `resources` are those of its
    /// module.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>, resources: &Resources) -> Ranges {
        let flow = Flow::of_function(body, arg_attrs, resources);
        Ranges { flow }.flowing(body, &stated(body, arg_attrs))
    }

    /// Ranges of a function that was changed since; what is the same is not computed again.
    pub fn renew(&mut self, function: &Function) {
        let (body, arg_attrs) = (&function.body, function.attrs.get("arg_attrs"));
        let before = std::mem::take(&mut self.flow);
        let flow = Flow::of_function(body, arg_attrs, &function.resources).remembering(before);
        *self = Ranges { flow }.flowing(body, &stated(body, arg_attrs));
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
        Ranges { flow }.flowing(body, &own)
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
    }

    /// Where a value lies over the reals. A bound that is lost on the way leaves it a number all the same.
    pub fn signs(&self, value: Value) -> Signs {
        self.flow.fact(value).signs
    }

    /// Whether a value is finite over the reals wherever it is defined.
    pub fn is_real(&self, value: Value) -> bool {
        self.signs(value).within(Signs::REAL)
    }

    /// A bound of the absolute error of a value.
    pub fn error(&self, value: Value) -> f64 {
        self.flow.error(value)
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
    let of = |(n, &v): (usize, &Value)| {
        let range = given(n).unwrap_or_else(|| finite(body.ty(v)));
        body.ty(v).format().map_or(range, |format| representable(format, Range::both(range)).exact)
    };
    arguments.iter().enumerate().map(of).collect()
}

fn stated_range(attr: &Attr) -> Option<Interval> {
    let end = |attr: &Attr| match attr {
        Attr::Int(n, _) => Some(integer(*n)),
        _ => attr.as_float().map(Enclosure::point),
    };
    match attr.as_array()? {
        [lo, hi] => Some(end(lo)?.hull(end(hi)?)),
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

/// The greatest absolute value where there is one: of an input at which the value is undefined nothing is promised.
pub(crate) fn reach(x: &Interval) -> f64 {
    magnitude(&Interval { may_be_nan: false, ..*x })
}

/// Where an op's result of type `ty` lies over the reals, if it lies in `range` and this is known of its operands.
pub fn signs(
    s: &Signature<'_>,
    operands: impl Iterator<Item = (Interval, Signs)>,
    ty: Type,
    range: &Interval,
) -> Signs {
    let fact = |(range, signs)| Fact::of_range(range).and(Fact { signs, ..Fact::UNKNOWN });
    let operands: SmallVec<[Fact; 4]> = operands.map(fact).collect();
    facts::of_results(s, &operands, &[ty])[0].fact.and(Fact::of_range(*range)).signs
}

/// The range of an op's result of type `ty`, from the ranges of its operands.
pub fn transfer(s: &Signature<'_>, operands: &[Range], ty: Type) -> Range {
    transfer::transfer(s, operands, &[ty]).first().map_or(Range::WHOLE, |figures| figures.range)
}
