//! What a function is over the reals, at a point: enclosed at more and more bits until its value is certain.

use std::sync::LazyLock;

use ngc_dialects::ng::compare::direction;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::{Attr, Block, Body, Builder, Context, Loc, Op, Semantics, Value};
use ngc_numerics::enclosure::Number;
use ngc_numerics::{Big, Domain, Enclosure, Format, ScalarFn, Tensor};
use rug::Float;

/// Bits of the enclosures, tried in this order; all values of binary64 and their sums are exact in the last two.
const BITS: [u32; 4] = [128, 512, 2304, 9216];
/// A value counts as known once its enclosure is narrower than this part of it.
const CERTAIN: i32 = -90;

static CONTEXT: LazyLock<Context> = LazyLock::new(ngc_dialects::context);

/// A function that is enclosed op by op.
pub struct Real<'m> {
    body: &'m Body,
    block: Block,
    steps: Vec<Step<'m>>,
}

struct Step<'m> {
    operands: &'m [Value],
    result: Option<Value>,
    meaning: Meaning,
}

enum Meaning {
    Number(f64),
    Truth(bool),
    Identity,
    Function(&'static ScalarFn, Vec<f64>),
    Compare(ngc_numerics::Cmp),
    Choose,
    And,
    Or,
    Xor,
    Not,
    IsNan,
    Steps(Box<Body>, Vec<Value>),
    Return,
}

#[derive(Clone)]
enum Known {
    Number(Enclosure<Float>),
    /// Whether it holds, if that is certain.
    Truth(Option<bool>),
}

/// The value at a point.
#[derive(Clone, Debug)]
pub enum Truth {
    /// There is none.
    Undefined,
    /// It could not be made certain.
    Unknown,
    /// Its enclosure.
    Value(Enclosure<Float>),
}

impl Truth {
    /// The value rounded to a format, infinite where it is beyond the greatest; none where there is none.
    pub fn rounded(&self, format: Format) -> Option<f64> {
        match self {
            Truth::Value(value) => Some(format.round_real(&value.lo)),
            _ => None,
        }
    }

    /// Whether two functions have one value here: their enclosures, both narrow, meet.
    pub fn meets(&self, other: &Truth) -> bool {
        match (self, other) {
            (Truth::Value(a), Truth::Value(b)) => a.lo <= b.hi && b.lo <= a.hi,
            _ => false,
        }
    }
}

impl<'m> Real<'m> {
    /// The function of a body; the error names an op that cannot be enclosed.
    pub fn new(body: &'m Body) -> Result<Real<'m>, String> {
        let block = body.entry().ok_or("it is a declaration")?;
        let steps = body.ops(block).map(|op| step(body, op)).collect::<Result<_, _>>()?;
        Ok(Real { body, block, steps })
    }

    /// Whether a predicate holds, if 128 bits make that certain.
    pub fn holds(&self, args: &[f64]) -> Option<bool> {
        match self.run(&Big::new(BITS[0]), args) {
            Known::Truth(known) => known,
            Known::Number(_) => None,
        }
    }

    /// The value at a point, certain to the last bit of a format.
    pub fn value(&self, args: &[f64], format: Format) -> Truth {
        for bits in BITS {
            let Known::Number(value) = self.run(&Big::new(bits), args) else { return Truth::Undefined };
            if value.is_undefined() {
                return Truth::Undefined;
            }
            let (lo, hi) = (format.round_real(&value.lo), format.round_real(&value.hi));
            // What rounds to zero or overflows is known well enough.
            let settled = lo == 0.0 || lo.is_infinite() || is_narrow(&value);
            if !value.may_be_nan && lo == hi && settled {
                return Truth::Value(value);
            }
        }
        Truth::Unknown
    }

    fn run(&self, d: &Big, args: &[f64]) -> Known {
        let mut known: Vec<Option<Known>> = vec![None; self.body.num_values()];
        for (value, &x) in self.body.arguments(self.block).iter().zip(args) {
            known[value.index()] = Some(Known::Number(Enclosure::point(d.embed(x))));
        }
        evaluate(d, &self.steps, known)
    }
}

/// Narrow beside its size; a point is.
fn is_narrow(value: &Enclosure<Float>) -> bool {
    let width = Float::with_val(64, &value.hi - &value.lo);
    match (width.get_exp(), value.lo.get_exp()) {
        (None, _) => width.is_zero(),
        (Some(width), Some(size)) => width - size <= CERTAIN,
        (Some(_), None) => false,
    }
}

fn evaluate(d: &Big, steps: &[Step<'_>], mut known: Vec<Option<Known>>) -> Known {
    let nothing = || Known::Number(Enclosure::point(d.embed(f64::NAN)));
    for step in steps {
        let x: Vec<Known> =
            step.operands.iter().map(|v| known[v.index()].clone().unwrap_or_else(nothing)).collect();
        let result = match (&step.meaning, &x[..]) {
            (Meaning::Return, [value, ..]) => return value.clone(),
            (Meaning::Number(value), _) => Known::Number(Enclosure::point(d.embed(*value))),
            (Meaning::Truth(value), _) => Known::Truth(Some(*value)),
            (Meaning::Identity, [x]) => x.clone(),
            (Meaning::Compare(cmp), [Known::Number(x), Known::Number(y)]) => Known::Truth(x.compare(*cmp, y)),
            (Meaning::Choose, [Known::Truth(condition), x, y]) => match (condition, x, y) {
                (Some(true), x, _) => x.clone(),
                (Some(false), _, y) => y.clone(),
                (None, Known::Number(x), Known::Number(y)) => Known::Number(x.clone().hull(y.clone())),
                _ => Known::Truth(None),
            },
            (Meaning::And, [Known::Truth(x), Known::Truth(y)]) => Known::Truth(match (x, y) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (x, y) => x.zip(*y).map(|_| true),
            }),
            (Meaning::Or, [Known::Truth(x), Known::Truth(y)]) => Known::Truth(match (x, y) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (x, y) => x.zip(*y).map(|_| false),
            }),
            (Meaning::Xor, [Known::Truth(x), Known::Truth(y)]) => {
                Known::Truth(x.zip(*y).map(|(x, y)| x != y))
            }
            (Meaning::Not, [Known::Truth(x)]) => Known::Truth(x.map(|x| !x)),
            (Meaning::IsNan, [Known::Number(x)]) => Known::Truth(match x {
                x if x.is_undefined() => Some(true),
                x if x.may_be_nan => None,
                _ => Some(false),
            }),
            (Meaning::Function(function, params), _) => {
                let x: Option<Vec<_>> = x
                    .iter()
                    .map(|x| match x {
                        Known::Number(x) => Some(x.clone()),
                        Known::Truth(_) => None,
                    })
                    .collect();
                let params: Vec<_> = params.iter().map(|&p| Enclosure::point(d.embed(p))).collect();
                x.map_or_else(nothing, |x| Known::Number(enclose(d, function, &params, &x)))
            }
            (Meaning::Steps(body, _), _) => inner(d, body, &step.meaning, x),
            _ => nothing(),
        };
        if let Some(value) = step.result {
            known[value.index()] = Some(result);
        }
    }
    nothing()
}

/// A pole has no value over the reals.
fn enclose(
    d: &Big,
    function: &ScalarFn,
    params: &[Enclosure<Float>],
    x: &[Enclosure<Float>],
) -> Enclosure<Float> {
    if x.iter().any(Enclosure::is_undefined) {
        return Enclosure::point(d.embed(f64::NAN));
    }
    let value = function.enclose(d, params, x);
    let pole = value.is_point() && Number::to_f64(&value.lo).is_infinite() && value.lo.is_infinite();
    if pole { Enclosure::point(d.embed(f64::NAN)) } else { value }
}

fn inner(d: &Big, body: &Body, meaning: &Meaning, x: Vec<Known>) -> Known {
    let nothing = || Known::Number(Enclosure::point(d.embed(f64::NAN)));
    let (Meaning::Steps(_, results), Some(block)) = (meaning, body.entry()) else { return nothing() };
    let steps: Result<Vec<Step<'_>>, String> = body.ops(block).map(|op| step(body, op)).collect();
    let Ok(mut steps) = steps else { return nothing() };
    steps.push(Step { operands: results, result: None, meaning: Meaning::Return });
    let mut known = vec![None; body.num_values()];
    for (value, x) in body.arguments(block).iter().zip(x) {
        known[value.index()] = Some(x);
    }
    evaluate(d, &steps, known)
}

fn step<'m>(body: &'m Body, op: Op) -> Result<Step<'m>, String> {
    let name = body.name(op);
    let meaning = match name {
        "func.return" => Meaning::Return,
        "ng.constant" => constant(body.attr(op, "value"))?,
        "ng.convert" => Meaning::Identity,
        "ng.compare" => Meaning::Compare(body.with_signature(op, direction).flatten().ok_or("no direction")?),
        "ng.where" | "ng.select" => Meaning::Choose,
        "ng.and" => Meaning::And,
        "ng.or" => Meaning::Or,
        "ng.xor" => Meaning::Xor,
        "ng.not" => Meaning::Not,
        "ng.is_nan" => Meaning::IsNan,
        _ => body
            .with_signature(op, |s| match s.def.semantics {
                Semantics::Elementwise(function) => {
                    function(s).map(|e| Meaning::Function(e.function, e.params))
                }
                Semantics::Decomposition(decompose) => {
                    let mut inner = Body::new();
                    let root = inner.root();
                    let block = inner.add_block(root);
                    let arguments: Vec<Value> =
                        s.operands.iter().map(|&ty| inner.add_argument(block, ty, Loc::Unknown)).collect();
                    let mut builder = Builder::at_end(&CONTEXT, &mut inner, block, Loc::Unknown);
                    let results = decompose(&mut builder, s, &arguments)?;
                    Ok(Meaning::Steps(Box::new(inner), results))
                }
                _ => Err(format!("'{name}' is not enclosed here")),
            })
            .unwrap_or_else(|| Err(format!("'{name}' is not registered")))?,
    };
    Ok(Step { operands: body.operands(op), result: body.results(op).next(), meaning })
}

fn constant(value: Option<&Attr>) -> Result<Meaning, String> {
    let tensor: Tensor = attr_to_tensor(value.ok_or("a constant without a value")?)?;
    match (tensor.as_ints(), &tensor.to_f64s()[..]) {
        (Some([x]), _) => Ok(Meaning::Truth(*x != 0)),
        (None, [x]) => Ok(Meaning::Number(*x)),
        _ => Err("a constant of several elements".into()),
    }
}
