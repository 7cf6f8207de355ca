//! Why the result of an op may be infinite or NaN: the first step of its meaning that is not proven finite.

use ngc_dialects::transfer::Flow;
use ngc_ir::op_def::Elementwise;
use ngc_ir::{Attr, Body, Builder, Context, Loc, Op, Semantics, Value, ValueDef};
use ngc_numerics::program::Step;
use ngc_numerics::{Binary64, Enclosure, Format, Interval, Prim, enclosure};

use super::nonfinite::is_finite;
use crate::digits::{down, trimmed, up};

/// What can go wrong, in IEEE 754's terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A finite result is too large for the format.
    Overflow,
    /// An exact infinity of finite operands: division by zero, the logarithm of zero.
    DivisionByZero,
    /// No number: outside of the domain, inf - inf, 0 · inf.
    Invalid,
    /// Nothing is known of the op.
    Unknown,
}

impl Kind {
    /// Its name in remarks.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Overflow => "overflow",
            Kind::DivisionByZero => "division-by-zero",
            Kind::Invalid => "invalid",
            Kind::Unknown => "unknown",
        }
    }
}

/// What a search for a witness brings about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Goal {
    /// A result of large magnitude.
    Large,
    /// A zero in an operand.
    Zero(usize),
    /// An operand at or below a number.
    Below(usize, f64),
    /// An operand at or above a number.
    Above(usize, f64),
}

/// What can go wrong in an op.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// Its kind.
    pub kind: Kind,
    /// What the op may do: "overflow f32".
    pub what: String,
    /// The ranges that make it possible.
    pub detail: String,
    /// The number of the operand to blame, if one is.
    pub operand: Option<usize>,
    /// What a witness has.
    pub goal: Goal,
}

impl Cause {
    /// A cause without words.
    pub fn new(kind: Kind, operand: Option<usize>, goal: Goal) -> Cause {
        Cause { kind, what: String::new(), detail: String::new(), operand, goal }
    }
}

/// The cause in an op of which `flow` knows operands and results; with `nan`, operands may be infinite, and it is a NaN
/// that is explained.
pub fn of(body: &Body, op: Op, flow: &Flow, nan: bool) -> Cause {
    let operands: Vec<Interval> = body.operands(op).iter().map(|&v| flow.range(v).computed).collect();
    let format = body.results(op).find_map(|v| body.ty(v).format());
    let found = match body.op(op).def.map(|d| d.semantics) {
        None | Some(Semantics::None) => Some(Cause {
            what: "be anything".into(),
            detail: match body.name(op) {
                "func.call" => "this call cannot be followed".into(),
                _ => "its meaning is unknown".into(),
            },
            ..Cause::new(Kind::Unknown, None, Goal::Large)
        }),
        Some(Semantics::Elementwise(of)) => {
            body.with_signature(op, |s| of(s).ok()).flatten().and_then(|e| in_formula(&e, &operands, nan))
        }
        Some(Semantics::Decomposition(_)) => in_decomposition(body, op, &operands, nan),
        Some(Semantics::Primitive(_)) => None,
    };
    found.unwrap_or_else(|| by_range(body, op, flow, &operands, format, nan))
}

/// The first step of the formula that goes wrong on finite operands.
fn in_formula(e: &Elementwise, args: &[Interval], nan: bool) -> Option<Cause> {
    let program = e.function.program();
    let constants = program.enclose_constants(&Binary64);
    let mut values: Vec<Interval> = Vec::new();
    // By step: the argument that it stands for or leans on.
    let mut source: Vec<Option<usize>> = Vec::new();
    let bad = |x: &Interval| if nan { x.may_be_nan } else { !is_finite(x) };
    for step in program.steps() {
        let (value, from) = match step {
            Step::Var(i) => (*args.get(*i)?, Some(*i)),
            Step::Param(i) => (Enclosure::point(*e.params.get(*i)?), None),
            Step::Const(i) => (constants[*i], None),
            Step::Select(cmp, [a, b, t, f]) => (
                enclosure::select::<Binary64>(*cmp, &values[*a], &values[*b], &values[*t], &values[*f]),
                source[*t].or(source[*f]),
            ),
            Step::Apply(prim, steps) => {
                let steps = &steps[..prim.arity()];
                let operands: Vec<&Interval> = steps.iter().map(|&i| &values[i]).collect();
                let value = enclosure::apply(&Binary64, *prim, &operands);
                if bad(&value) && !operands.iter().any(|x| bad(x)) {
                    let sources: Vec<Option<usize>> = steps.iter().map(|&i| source[i]).collect();
                    let direct = program.as_primitive() == Some(*prim);
                    return primitive(*prim, &operands, &sources, &value, e.function.name, direct);
                }
                let widest = steps.iter().max_by(|&&a, &&b| reach(&values[a]).total_cmp(&reach(&values[b])));
                let from = widest.and_then(|&i| source[i]);
                (value, from.or_else(|| steps.iter().find_map(|&i| source[i])))
            }
        };
        values.push(value);
        source.push(from);
    }
    None
}

/// The largest magnitude, NaN aside.
fn reach(x: &Interval) -> f64 {
    if x.is_undefined() { f64::INFINITY } else { x.lo.abs().max(x.hi.abs()) }
}

/// What goes wrong in a primitive whose result is `value`; nothing where it is only too large.
fn primitive(
    prim: Prim,
    x: &[&Interval],
    sources: &[Option<usize>],
    value: &Interval,
    function: &str,
    direct: bool,
) -> Option<Cause> {
    use Prim::{Acos, Acosh, Asin, Atanh, Div, Log, Log1p, Log2, Log10, Pow, Rem, Sqrt};
    let has_zero = |x: &Interval| x.lo <= 0.0 && x.hi >= 0.0;
    let (kind, what, blamed, goal) = match (prim, x) {
        (Div, [_, b]) if has_zero(b) => (Kind::DivisionByZero, "divide by zero", 1, Goal::Zero(1)),
        (Rem, [_, b]) if has_zero(b) => (Kind::Invalid, "take the remainder by zero", 1, Goal::Zero(1)),
        (Log | Log2 | Log10, [x]) if x.lo < 0.0 => {
            (Kind::Invalid, "take the logarithm of a negative number", 0, Goal::Below(0, 0.0))
        }
        (Log | Log2 | Log10, [x]) if has_zero(x) => {
            (Kind::DivisionByZero, "take the logarithm of zero", 0, Goal::Zero(0))
        }
        (Log1p, [x]) if x.lo < -1.0 => {
            (Kind::Invalid, "take the logarithm of a negative number", 0, Goal::Below(0, -1.0))
        }
        (Log1p, [_]) => (Kind::DivisionByZero, "take the logarithm of zero", 0, Goal::Below(0, -1.0)),
        (Sqrt, [x]) if x.lo < 0.0 => {
            (Kind::Invalid, "take the square root of a negative number", 0, Goal::Below(0, 0.0))
        }
        (Acosh, [x]) if x.lo < 1.0 => (Kind::Invalid, "leave its domain", 0, Goal::Below(0, 1.0)),
        (Asin | Acos, [x]) if x.lo < -1.0 => (Kind::Invalid, "leave its domain", 0, Goal::Below(0, -1.0)),
        (Asin | Acos, [_]) => (Kind::Invalid, "leave its domain", 0, Goal::Above(0, 1.0)),
        (Atanh, [x]) if x.lo <= -1.0 => (Kind::Invalid, "leave its domain", 0, Goal::Below(0, -1.0)),
        (Atanh, [_]) => (Kind::Invalid, "leave its domain", 0, Goal::Above(0, 1.0)),
        (Pow, [x, y]) if x.lo < 0.0 && value.may_be_nan && !(y.lo == y.hi && y.lo.fract() == 0.0) => {
            (Kind::Invalid, "take a broken power of a negative number", 0, Goal::Below(0, 0.0))
        }
        (Pow, [x, y]) if has_zero(x) && y.lo < 0.0 => {
            (Kind::DivisionByZero, "take a negative power of zero", 0, Goal::Zero(0))
        }
        _ if value.may_be_nan => {
            let blamed = (0..x.len()).max_by(|&a, &b| reach(x[a]).total_cmp(&reach(x[b]))).unwrap_or(0);
            let infinite = x.iter().any(|x| reach(x).is_infinite());
            let what = match prim {
                Prim::Add | Prim::Sub if infinite => "make a NaN, inf - inf",
                Prim::Mul | Prim::Fma if infinite => "make a NaN, 0 * inf",
                Div if infinite => "make a NaN, inf / inf",
                _ => "make a NaN",
            };
            (Kind::Invalid, what, blamed, Goal::Large)
        }
        _ => return None,
    };
    let ranges: Vec<String> = x.iter().map(|x| show_range(x)).collect();
    let of = if direct { String::new() } else { format!("in '{}' of its formula {function}, ", prim.name()) };
    let detail = match (prim, ranges.as_slice()) {
        (Div | Rem, [_, divisor]) => format!("{of}the divisor lies in {divisor}"),
        (_, [one]) => format!("{of}the operand lies in {one}"),
        (_, all) => format!("{of}the operands lie in {}", all.join(" and ")),
    };
    let at = |i: usize| sources.get(i).copied().flatten();
    // A goal inside a formula is one of the op only where the step reads an operand as it is.
    let goal = match goal {
        Goal::Zero(i) if direct => Goal::Zero(i),
        Goal::Below(_, x) if direct => Goal::Below(0, x),
        Goal::Above(_, x) if direct => Goal::Above(0, x),
        _ => Goal::Large,
    };
    let operand = at(blamed).or_else(|| sources.iter().find_map(|s| *s));
    Some(Cause { what: what.into(), detail, ..Cause::new(kind, operand, goal) })
}

/// The first step of the decomposition that is not proven though its operands are.
fn in_decomposition(outer: &Body, op: Op, operands: &[Interval], nan: bool) -> Option<Cause> {
    let context: Context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let types = outer.operand_types(op);
    let arguments: Vec<Value> = types.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    let made = outer.with_signature(op, |s| {
        let Semantics::Decomposition(decompose) = s.def.semantics else { return None };
        decompose(&mut Builder::at_end(&context, &mut body, block, Loc::Unknown), s, &arguments).ok()
    });
    made.flatten()?;
    let mut flow = Flow::default();
    for (&v, &range) in arguments.iter().zip(operands) {
        flow.set(v, ngc_numerics::Range::both(range), 0.0);
    }
    let bad = |x: Interval| if nan { x.may_be_nan } else { !is_finite(&x) };
    for step in body.ops(block) {
        flow.step(&body, step)?;
        let range = |v: Value| flow.range(v).computed;
        if body.results(step).any(|v| bad(range(v))) && !body.operands(step).iter().any(|&v| bad(range(v))) {
            let inner = of(&body, step, &flow, nan);
            let blamed = inner.operand.and_then(|i| body.operands(step).get(i).copied());
            return Some(Cause {
                detail: format!("in its step '{}' {}", body.name(step), inner.detail),
                operand: blamed.and_then(|v| argument(&body, &flow, v)),
                goal: Goal::Large,
                ..inner
            });
        }
    }
    None
}

/// The argument from which a value of a decomposition mostly comes.
fn argument(body: &Body, flow: &Flow, mut value: Value) -> Option<usize> {
    loop {
        match body.def(value) {
            ValueDef::Argument(_, n) => return Some(n as usize),
            ValueDef::Result(op, _) => value = widest(body, &|v| flow.range(v).computed, op)?,
        }
    }
}

/// The operand of an op whose range most makes that of its result: of its kind, for an index is no part of what it picks, no
/// constant, and of the largest magnitude.
fn widest(body: &Body, range: &impl Fn(Value) -> Interval, op: Op) -> Option<Value> {
    let is_float = |v: Value| body.ty(v).format().is_some();
    let makes_floats = body.results(op).any(is_float);
    let rank = |v: Value| {
        let constant = body.defining_op(v).is_some_and(|d| body.operands(d).is_empty());
        ((is_float(v) == makes_floats, !constant), reach(&range(v)))
    };
    let by = |a: ((bool, bool), f64), b: ((bool, bool), f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    body.operands(op).iter().copied().reduce(|a, b| if by(rank(a), rank(b)).is_lt() { b } else { a })
}

/// What the range of the result alone says.
fn by_range(
    body: &Body,
    op: Op,
    flow: &Flow,
    operands: &[Interval],
    format: Option<Format>,
    nan: bool,
) -> Cause {
    let result = body.results(op).next().map(|v| flow.range(v));
    let max = format.map_or(f64::MAX, |f| f.max_finite());
    let name = format.map_or("its type", |f| f.name());
    let ranges: Vec<String> = operands.iter().map(show_range).collect();
    let given = match ranges.as_slice() {
        [] => "it takes no operands".into(),
        [one] => format!("the operand lies in {one}"),
        all => format!("the operands lie in {}", all.join(" and ")),
    };
    let operand = widest(body, &|v| flow.range(v).computed, op)
        .and_then(|v| body.operands(op).iter().position(|&w| w == v));
    if body.is_constant(op) {
        return if matches!(body.attr(op, "value"), Some(Attr::Resource(..))) {
            let detail = "a NaN is among its elements, or they are not in the module".into();
            Cause { what: "be anything".into(), detail, ..Cause::new(Kind::Unknown, None, Goal::Large) }
        } else {
            let detail = "a NaN is among its elements".into();
            Cause { what: "be a NaN".into(), detail, ..Cause::new(Kind::Invalid, None, Goal::Large) }
        };
    }
    if nan {
        let detail = format!("{given}, infinities included");
        return Cause {
            what: "make a NaN".into(),
            detail,
            ..Cause::new(Kind::Invalid, operand, Goal::Large)
        };
    }
    let exact = result.map_or(ngc_numerics::figures::WHOLE, |r| r.exact);
    let lost = format.is_some_and(|f| !f.has_infinity());
    let becomes = if lost { "NaN in place of infinity; " } else { "" };
    let largest = reach(&exact);
    let (what, reaches) = if exact.may_be_nan && largest <= max {
        ("make a NaN".into(), "no bound excludes it".to_string())
    } else if largest.is_finite() && largest > max {
        let reaches = format!(
            "the result may reach {}, the largest {name} is {}",
            trimmed(up(largest, few)),
            show(max)
        );
        (format!("overflow {name}"), reaches)
    } else if largest.is_finite() {
        let reaches =
            format!("with its rounding errors the result may pass {}, the largest {name}", show(max));
        (format!("overflow {name}"), reaches)
    } else {
        (format!("overflow {name}"), format!("the result has no bound, the largest {name} is {}", show(max)))
    };
    let kind = if what.starts_with("make") { Kind::Invalid } else { Kind::Overflow };
    Cause { what, detail: format!("{becomes}{given}, {reaches}"), ..Cause::new(kind, operand, Goal::Large) }
}

/// From the op back along the operands to blame: values, nearest first, down to an argument or constant.
pub fn chain(body: &Body, range: impl Fn(Value) -> Interval, root: Op, operand: Option<usize>) -> Vec<Value> {
    let mut chain = Vec::new();
    let mut next = operand.and_then(|i| body.operands(root).get(i).copied());
    while let Some(value) = next {
        chain.push(value);
        next = body.defining_op(value).and_then(|op| widest(body, &range, op));
    }
    chain
}

/// An interval as messages show it, rounded outward.
pub fn show_range(x: &Interval) -> String {
    if x.is_undefined() {
        return "NaN".into();
    }
    let nan = if x.may_be_nan { " or NaN" } else { "" };
    format!("[{}, {}]{nan}", trimmed(down(x.lo, few)), trimmed(up(x.hi, few)))
}

/// Three digits, or an integer of few.
fn show(x: f64) -> String {
    trimmed(few(x))
}

fn few(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if !x.is_finite() || (x.fract() == 0.0 && x.abs() < 1e7) {
        format!("{x}")
    } else if (1e-3..1e5).contains(&x.abs()) {
        format!("{x:.6}")
    } else {
        format!("{x:.2e}")
    }
}
