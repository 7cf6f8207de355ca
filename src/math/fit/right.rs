//! Coefficients with which results are the correctly rounded ones, at inputs whose exact value lies so near to a tie that the best
//! polynomial decides wrongly.
//!
//! Each such input leaves the polynomial an interval: the values with which the steps behind it give the right result, which are
//! searched bit by bit. A linear program finds the least largest error of all polynomials that keep to these intervals (J. P. Lim
//! and S. Nagarakatte, "High performance correctly rounded math libraries for 32-bit floating point representations", PLDI 2021).

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_interp::evaluate_op;
use ngc_ir::{AttrDict, Body, Context, Diagnostic, Op, Value};
use ngc_numerics::{Evaluator, Format, Mode, Tensor};
use rug::Float;

use super::linear::Demand;
use super::remez::{BITS, Fitted, Problem};
use super::{renew, written};
use crate::check::check;
use crate::reference::Reference;
use crate::text::{Statement, Text, parse};
use crate::verify::{Compiler, Inputs, Progress, verify};

/// What stands before the inputs in a directive.
pub const RIGHT_AT: &str = "right at ";

/// The farthest that an interval is looked for and followed, in numbers of the format: beyond it no polynomial lies that is any good.
const FARTHEST: i64 = 1 << 32;
/// How often intervals are narrowed because of what the steps of the polynomial round.
const ROUNDS: usize = 64;

/// The steps of an implementation, of which one is a polynomial with values that may be others.
pub struct Steps<'a> {
    context: &'a Context,
    reference: Reference,
    body: Body,
    /// The polynomial.
    poly: Option<Op>,
    evaluator: Evaluator,
}

/// What is seen on the way of an input.
struct Seen {
    /// The argument of the polynomial.
    argument: f64,
    /// Its value.
    value: f64,
    result: f64,
}

impl<'a> Steps<'a> {
    /// The steps of an implementation, and that of the statement among them.
    ///
    /// # Errors
    /// When the implementation is not right, or of a function that is not known.
    pub fn of(context: &'a Context, text: &Text, statement: Option<&Statement>) -> Result<Self, Diagnostic> {
        let fail = |message: &str| Diagnostic::error(text.loc.clone(), message.to_string());
        let module = check(context, std::slice::from_ref(text))?.module;
        let function = module.functions().first().copied().ok_or_else(|| fail("has no steps"))?;
        let body = module.body.body(function).ok_or_else(|| fail("has no steps"))?.clone();
        let is_meant = |op: &Op| statement.is_some_and(|s| body.op(*op).loc == s.op.loc);
        let poly = body.walk().into_iter().find(is_meant);
        let reference = Reference::of(context, text)?;
        Ok(Steps { context, reference, body, poly, evaluator: Evaluator::new(Mode::Rounded) })
    }

    /// Whether the result at an input is the correctly rounded one.
    ///
    /// # Errors
    /// When a step has no value.
    pub fn is_right(&self, x: f64) -> Result<bool, String> {
        let (wanted, result) = (self.reference.round(x), self.run(x, &Given::Nothing)?.result);
        Ok(wanted.to_bits() == result.to_bits() || wanted.is_nan() && result.is_nan())
    }

    fn run(&self, x: f64, given: &Given<'_>) -> Result<Seen, String> {
        let entry = self.body.entry().ok_or("has no steps")?;
        let mut values: Vec<Option<Tensor>> = vec![None; self.body.num_values()];
        for &v in self.body.arguments(entry) {
            let format = self.body.ty(v).format().ok_or("takes what is no number")?;
            values[v.index()] = Some(Tensor::scalar(format, x));
        }
        let number = |values: &[Option<Tensor>], v: Value| {
            values[v.index()].as_ref().and_then(|t| t.to_f64s().first().copied()).ok_or("a step has no value")
        };
        let mut seen = Seen { argument: f64::NAN, value: f64::NAN, result: f64::NAN };
        for op in self.body.ops(entry) {
            let (data, operands) = (self.body.op(op), self.body.operands(op));
            let def = data.def.ok_or("a step is no op")?;
            if def.traits.terminator {
                seen.result = number(&values, operands[0])?;
                break;
            }
            let is_poly = Some(op) == self.poly;
            let inputs: Option<Vec<Tensor>> = operands.iter().map(|v| values[v.index()].clone()).collect();
            let attrs = match given {
                Given::Coefficients(attrs) if is_poly => attrs,
                _ => &data.attrs,
            };
            let inputs = inputs.ok_or("a step has no value")?;
            let mut results = evaluate_op(self.context, &self.evaluator, def, attrs, &inputs)?;
            if let (Given::Value(value), true, [result]) = (given, is_poly, &mut results[..]) {
                let format = self.body.ty(operands[0]).format().ok_or("takes what is no number")?;
                *result = Tensor::scalar(format, *value);
            }
            for (v, result) in self.body.results(op).zip(results) {
                values[v.index()] = Some(result);
            }
            if let (true, Some(result)) = (is_poly, self.body.results(op).next()) {
                (seen.argument, seen.value) = (number(&values, operands[0])?, number(&values, result)?);
            }
        }
        Ok(seen)
    }

    /// What the polynomial must be so that the result at an input is right, beside a value of it that is exact.
    fn demand(&self, x: f64, format: Format, exact: impl Fn(f64) -> Option<f64>) -> Result<Interval, String> {
        let wanted = self.reference.round(x);
        let at = self.run(x, &Given::Nothing)?.argument;
        let value = exact(at).ok_or_else(|| format!("the function has no value where the input is {x:?}"))?;
        let number = |n: i64| neighbour(value, n, format);
        let is_right = |n: i64| {
            self.run(x, &Given::Value(number(n))).is_ok_and(|s| s.result.to_bits() == wanted.to_bits())
        };
        let doubled = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n <= FARTHEST);
        let mut beside = std::iter::once(0).chain(doubled.flat_map(|n| [n, -n]));
        let middle = beside.find(|&n| is_right(n)).ok_or_else(|| {
            format!(
                "with no value of the polynomial is the result at {x:?} the correctly rounded one, {wanted:?}"
            )
        })?;
        // As far as the results are right on one side, which are right for neighbours.
        let end = |sign: i64| {
            let (mut inside, mut step) = (middle, 1);
            while step < FARTHEST && is_right(middle + sign * step) {
                inside = middle + sign * step;
                step *= 2;
            }
            let mut outside = middle + sign * step;
            while (outside - inside).abs() > 1 && step < FARTHEST {
                let between = inside + (outside - inside) / 2;
                if is_right(between) { inside = between } else { outside = between }
            }
            number(inside)
        };
        let (least, most) = (end(-1).min(end(1)), end(-1).max(end(1)));
        Ok(Interval { x, at, least, most })
    }

    /// The best coefficients with which the results at inputs are right.
    ///
    /// # Errors
    /// When there are none, or none were found.
    pub(super) fn fit(
        &self,
        problem: &Problem<'_>,
        format: Format,
        given: &[Option<Float>],
        inputs: &[f64],
        exact: impl Fn(f64) -> Option<f64>,
    ) -> Result<Fitted, String> {
        if self.body.entry().is_none_or(|entry| self.body.arguments(entry).len() != 1) {
            return Err("results are right at inputs of functions of one number".into());
        }
        let intervals: Vec<Interval> = inputs
            .iter()
            .map(|&x| self.demand(self.reference.format.round(x), format, &exact))
            .collect::<Result<_, _>>()?;
        // What the steps of the polynomial round is held off from the ends.
        let mut margins = vec![(Float::new(BITS), Float::new(BITS)); intervals.len()];
        for _ in 0..ROUNDS {
            let demand = |(i, (low, high)): (&Interval, &(Float, Float))| Demand {
                at: Float::with_val(BITS, i.at),
                least: Float::with_val(BITS, i.least + low),
                most: Float::with_val(BITS, i.most - high),
            };
            let demands: Vec<Demand> = intervals.iter().zip(&margins).map(demand).collect();
            let fitted = problem.meeting(format, given, &demands)?;
            let attrs = self.with(&fitted.coefficients, format)?;
            let mut met = true;
            for (interval, (low, high)) in intervals.iter().zip(&mut margins) {
                let value = self.run(interval.x, &Given::Coefficients(&attrs))?.value;
                let exactly = problem.value(&fitted.coefficients, &Float::with_val(BITS, interval.at));
                if value < interval.least {
                    widen(low, interval.least - value, exactly - value);
                    met = false;
                } else if value > interval.most {
                    widen(high, value - interval.most, value - exactly);
                    met = false;
                }
            }
            if met {
                return Ok(fitted);
            }
        }
        Err("no coefficients were found with which all these results are right as the polynomial is evaluated".into())
    }

    /// The attributes of the polynomial with other coefficients.
    fn with(&self, coefficients: &[Float], format: Format) -> Result<AttrDict, String> {
        let poly = self.poly.ok_or("has no polynomial")?;
        let factors = coefficients.iter().map(|c| format.round_real(c)).collect();
        let mut attrs = self.body.op(poly).attrs.clone();
        attrs
            .set("coefficients", tensor_to_attr(&Tensor::floats(format, vec![coefficients.len()], factors)?));
        Ok(attrs)
    }
}

/// A margin that would have kept a value inside, which missed the end by so much, and the exact one by what was rounded.
fn widen(margin: &mut Float, missed: f64, rounded: Float) {
    let twice = Float::with_val(BITS, &*margin * 2u32);
    let enough = Float::with_val(BITS, &*margin + missed);
    *margin = rounded.max(&twice).max(&enough);
}

/// What a run is told.
enum Given<'a> {
    Nothing,
    /// The value of the polynomial.
    Value(f64),
    /// Its attributes.
    Coefficients(&'a AttrDict),
}

/// The values of a polynomial with which the result at an input is right.
struct Interval {
    x: f64,
    at: f64,
    least: f64,
    most: f64,
}

/// The number so many places above a number.
fn neighbour(x: f64, n: i64, format: Format) -> f64 {
    // Encodings in the order of the numbers; -0 and 0 are one place.
    let sign = 1u64 << (format.width() - 1);
    let size = (format.to_bits(x) & !sign) as i64;
    let place = if x.is_sign_negative() { n - size } else { n + size };
    let negative = if place < 0 { sign } else { 0 };
    format.from_bits(place.unsigned_abs() | negative)
}

/// How often an implementation is made again: each time at least one more input is right.
const TIMES: usize = 64;
/// How often all inputs are looked at.
const SWEEPS: usize = 4;
/// Results of more inputs are no matter of single ones.
const MOST: u64 = 256;

/// Makes the coefficients of an implementation of a function of one number of f32 again, until the result of every input is the
/// correctly rounded one. Gives its text, in which the directives above its polynomials name the inputs that decide.
///
/// # Errors
/// When no coefficients are found that do that, or no polynomial has a directive.
pub fn correctly_rounded(
    context: &Context,
    source: &str,
    file: u16,
    compiler: &Compiler,
    progress: Progress<'_>,
) -> Result<String, Diagnostic> {
    let mut source = source.to_string();
    for _ in 0..SWEEPS {
        let text = one(&source, file)?;
        let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
        let checked = check(context, std::slice::from_ref(&text))?;
        let report = verify(context, &checked, &text, Inputs::All, compiler, progress)?;
        if report.misrounded == 0 {
            return Ok(source);
        }
        if report.misrounded > MOST {
            return Err(fail(format!(
                "{} results are not the correctly rounded ones: the polynomial needs more terms, or a wider format",
                report.misrounded
            )));
        }
        let mut times = 0;
        loop {
            let text = one(&source, file)?;
            let steps = Steps::of(context, &text, None)?;
            let mut wrong = None;
            for &x in &report.ties {
                if !steps.is_right(x).map_err(fail)? {
                    wrong = Some(x);
                    break;
                }
            }
            let Some(wrong) = wrong else { break };
            times += 1;
            if times > TIMES {
                return Err(fail(format!(
                    "after {TIMES} inputs the result at {wrong:?} is not the correctly rounded one"
                )));
            }
            source = with_input(context, &source, &text, wrong, file)?;
        }
    }
    let message =
        format!("after {SWEEPS} looks at all inputs some results are still not the correctly rounded ones");
    Err(Diagnostic::error(one(&source, file)?.loc, message))
}

fn one(source: &str, file: u16) -> Result<Text, Diagnostic> {
    let mut all = parse(source, file)?;
    match (all.pop(), all.pop()) {
        (Some(only), None) => Ok(only),
        (Some(last), _) => Err(Diagnostic::error(
            last.loc,
            "stands in a file with others: one at a time is made correctly rounded",
        )),
        (None, _) => Err(Diagnostic::error(ngc_ir::Loc::Unknown, "there is no implementation")),
    }
}

/// The text of an implementation whose result is right at an input too: by the first polynomial that can make it so.
fn with_input(context: &Context, source: &str, text: &Text, x: f64, file: u16) -> Result<String, Diagnostic> {
    let fitted = |s: &&Statement| s.op.text == "poly" && s.fit.is_some();
    let message = format!(
        "the result at {x:?} is not the correctly rounded one, and no polynomial has a comment `//! fit ...`"
    );
    let mut failed = Diagnostic::error(text.loc.clone(), message);
    for statement in text.statements.iter().filter(fitted) {
        let Some((said, _)) = &statement.fit else { continue };
        let more = match said.contains(RIGHT_AT) {
            true => format!("{said} {:?}", x as f32),
            false => format!("{said}, {RIGHT_AT}{:?}", x as f32),
        };
        let place = source[..statement.span.0].rfind(said).unwrap_or_default();
        let mut changed = source.to_string();
        changed.replace_range(place..place + said.len(), &more);
        match renew(context, &one(&changed, file)?) {
            Ok(renewed) => return Ok(written(&changed, renewed)),
            Err(e) => failed = e,
        }
    }
    Err(failed)
}
