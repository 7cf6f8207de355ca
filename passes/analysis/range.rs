//! Interval ranges of all values of a function: a driver over the transfer functions of the ops.
//!
//! Two enclosures a value, never mixed: `exact` encloses the value over the reals; `computed` encloses what the ops,
//! each rounded in its format, produce. Both start from `ng.range = [lo, hi]` on the arguments, or else from the whole
//! finite range of the argument's type, and both are bounds: every input in the stated ranges stays inside.

use ngc_dialects::transfer::{self, Flow, representable};
use ngc_ir::pass::{Analysis, Function};
use ngc_ir::{Attr, Body, Context, Op, Resources, Signature, Type, Value, ValueDef};
use ngc_numerics::figures::{WHOLE, integer, magnitude};
use ngc_numerics::{DType, Enclosure};
use smallvec::SmallVec;

pub use ngc_numerics::{Interval, Range};

/// Ranges of the values of one body.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    flow: Flow,
    /// By value: see [`ends`](Ranges::ends).
    ends: Vec<Ends>,
}

impl Ranges {
    /// Ranges of a function's body; `arg_attrs` is the function's attribute of that name, `resources` are those of its
    /// module.
    pub fn of_function(body: &Body, arg_attrs: Option<&Attr>, resources: &Resources) -> Ranges {
        let flow = Flow::of_function(body, arg_attrs, resources);
        Ranges { flow, ..Ranges::default() }.flowing(body, &stated(body, arg_attrs))
    }

    /// Ranges of a function that was changed since; what is the same is not computed again.
    pub fn renew(&mut self, function: &Function) {
        let (body, arg_attrs) = (&function.body, function.attrs.get("arg_attrs"));
        let before = std::mem::take(&mut self.flow);
        let flow = Flow::of_function(body, arg_attrs, &function.resources).remembering(before);
        *self = Ranges { flow, ..Ranges::default() }.flowing(body, &stated(body, arg_attrs));
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
        let known = data.def.filter(|def| def.traits.pure).map_or(Ends::OPEN, |def| {
            let s = Signature { def, operands: &types, attrs: &data.attrs };
            inherited(&s, operands.map(|&v| (self.ends(v), self.of(v).exact)))
        });
        for value in body.results(op) {
            if self.ends.len() <= value.index() {
                self.ends.resize(value.index() + 1, Ends::OPEN);
            }
            self.ends[value.index()] = known;
        }
    }

    /// Which infinities a value is nowhere: by its range, or as it is computed from such values alone. A bound that is lost on
    /// the way leaves it a number all the same.
    pub fn ends(&self, value: Value) -> Ends {
        Ends::of(&self.of(value).exact).or(self.ends.get(value.index()).copied().unwrap_or_default())
    }

    /// Whether a value is finite over the reals wherever it is defined.
    pub fn is_real(&self, value: Value) -> bool {
        self.ends(value) == Ends::REAL
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

/// Which infinities a value over the reals is nowhere, wherever it is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ends {
    /// Nowhere +inf.
    pub above: bool,
    /// Nowhere -inf.
    pub below: bool,
}

impl Ends {
    /// Nothing known.
    pub const OPEN: Ends = Ends { above: false, below: false };
    /// Finite wherever it is defined.
    pub const REAL: Ends = Ends { above: true, below: true };

    /// What a range says.
    pub fn of(x: &Interval) -> Ends {
        Ends { above: x.hi < f64::INFINITY, below: x.lo > f64::NEG_INFINITY }
    }

    /// What holds by the one or by the other.
    pub fn or(self, other: Ends) -> Ends {
        Ends { above: self.above || other.above, below: self.below || other.below }
    }

    /// What holds of both.
    pub fn and(self, other: Ends) -> Ends {
        Ends { above: self.above && other.above, below: self.below && other.below }
    }

    fn negated(self) -> Ends {
        Ends { above: self.below, below: self.above }
    }
}

/// Which infinities the result of an op is nowhere, wherever it is defined, by what is known of its operands: of each, which
/// infinities it is nowhere and what encloses it. The logarithm of 0 and the greatest of no elements are infinite; a quotient
/// by 0 is not defined. A mask of -inf leaves numbers that are nowhere +inf.
pub(crate) fn inherited(
    s: &Signature<'_>,
    operands: impl ExactSizeIterator<Item = (Ends, Interval)>,
) -> Ends {
    let operands: SmallVec<[(Ends, Interval); 4]> = operands.collect();
    if keeps_reals(s, &operands) {
        return Ends::REAL;
    }
    let end = |n: usize| operands.get(n).map_or(Ends::OPEN, |(ends, _)| *ends);
    let real_and_not_negative =
        |n: usize| end(n) == Ends::REAL && operands.get(n).is_some_and(|(_, x)| x.lo >= 0.0);
    match s.def.short_name() {
        "transpose" | "reshape" | "squeeze" | "unsqueeze" | "flatten" | "broadcast_to" | "slice"
        | "reverse" | "tile" | "convert" | "reduce_sum" => end(0),
        "log" | "log2" | "log10" | "log1p" | "reduce_max" => Ends { below: false, ..end(0) },
        "add" | "max" | "min" => end(0).and(end(1)),
        "concat" => (0..operands.len()).map(end).fold(Ends::REAL, Ends::and),
        "sub" => end(0).and(end(1).negated()),
        "neg" => end(0).negated(),
        "where" | "select" => end(1).and(end(2)),
        "mul" if real_and_not_negative(0) => end(1),
        "mul" | "div" if real_and_not_negative(1) => end(0),
        _ => Ends::OPEN,
    }
}

/// Whether an op makes of real numbers nothing but real numbers, wherever its result is defined, and has such operands.
fn keeps_reals(s: &Signature<'_>, operands: &[(Ends, Interval)]) -> bool {
    let finite = |attr: &Attr| !matches!(attr, Attr::Float(x, _) if !x.is_finite());
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
        && operands.iter().all(|(ends, _)| *ends == Ends::REAL)
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

/// The range of an op's result of type `ty`, from the ranges of its operands.
pub fn transfer(s: &Signature<'_>, operands: &[Range], ty: Type) -> Range {
    transfer::transfer(s, operands, &[ty]).first().map_or(Range::WHOLE, |figures| figures.range)
}
