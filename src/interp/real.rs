//! Functions of scalars over the reals, at a point: enclosed op by op, at more and more bits until the value is certain.

use ngc_dialects::facts::Pointwise;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::structure::Function;
use ngc_ir::{Attr, Body, Builder, Context, Loc, Op, Semantics, Signature, Value};
use ngc_numerics::enclosure::Number;
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::{Big, Cmp, Domain, Enclosure, Format, ScalarFn, Tensor};
use rug::Float;

/// Bits of the enclosures, tried in this order; all values of binary64 and their sums are exact in the last two.
const BITS: [u32; 4] = [128, 512, 2304, 9216];
/// A value counts as known once its enclosure is narrower than this part of it.
const CERTAIN: i32 = -90;

/// What is known of a value at a point.
#[derive(Clone, Debug)]
pub enum Known {
    /// A number.
    Number(Enclosure<Float>),
    /// Whether it holds, if that is certain.
    Truth(Option<bool>),
}

impl Known {
    /// No value.
    pub fn nothing(d: &Big) -> Known {
        Known::Number(Enclosure::point(d.embed(f64::NAN)))
    }

    /// An exact number.
    pub fn number(d: &Big, x: f64) -> Known {
        Known::Number(Enclosure::point(d.embed(x)))
    }

    /// Whether it certainly has no value.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Known::Number(x) if x.is_undefined())
    }

    /// The value rounded to a format, infinite beyond its greatest one, a truth as 1 or 0; nothing while it is not certain.
    pub fn rounded(&self, format: Format) -> Option<f64> {
        match self {
            Known::Truth(holds) => holds.map(|h| if h { 1.0 } else { 0.0 }),
            Known::Number(x) if x.may_be_nan => None,
            Known::Number(x) => {
                let (lo, hi) = (format.round_real(&x.lo), format.round_real(&x.hi));
                (lo == hi).then_some(lo)
            }
        }
    }
}

/// What an op of scalars is over the reals.
pub struct Meaning(Kind);

enum Kind {
    Number(f64),
    Truth(bool),
    Identity,
    Function(&'static ScalarFn, Vec<f64>),
    Compare(Cmp),
    Choose,
    And,
    Or,
    Xor,
    Not,
    IsNan,
    Steps(Steps),
}

impl Meaning {
    /// Of an op of corresponding elements.
    ///
    /// # Errors
    /// A sentence that says why the op is none of corresponding elements, or cannot be enclosed.
    pub fn of(context: &Context, s: &Signature<'_>) -> Result<Meaning, String> {
        let kind = match s.def.semantics {
            _ if s.def.traits.constant => constant(s.attrs.get("value"))?,
            Semantics::Elementwise(function) => function(s).map(|e| Kind::Function(e.function, e.params))?,
            Semantics::Primitive(_) => Kind::of_structure(s)?,
            Semantics::Decomposition(decompose) => {
                let mut inner = Body::new();
                let root = inner.root();
                let block = inner.add_block(root);
                let arguments: Vec<Value> =
                    s.operands.iter().map(|&ty| inner.add_argument(block, ty, Loc::Unknown)).collect();
                let mut builder = Builder::at_end(context, &mut inner, block, Loc::Unknown);
                // Of what is not elementwise a step is not.
                let results = decompose(&mut builder, s, &arguments)?;
                Kind::Steps(Steps::new(context, &inner, &results)?)
            }
            Semantics::None => return Err(format!("'{}' has no meaning", s.def.name)),
        };
        Ok(Meaning(kind))
    }

    /// The value, of values of the operands.
    pub fn enclose(&self, d: &Big, x: &[Known]) -> Known {
        match (&self.0, x) {
            (Kind::Number(value), _) => Known::number(d, *value),
            (Kind::Truth(value), _) => Known::Truth(Some(*value)),
            (Kind::Identity, [x]) => x.clone(),
            (Kind::Compare(cmp), [Known::Number(x), Known::Number(y)]) => Known::Truth(x.compare(*cmp, y)),
            (Kind::Choose, [Known::Truth(condition), x, y]) => match (condition, x, y) {
                (Some(true), x, _) => x.clone(),
                (Some(false), _, y) => y.clone(),
                (None, Known::Number(x), Known::Number(y)) => Known::Number(x.clone().hull(y.clone())),
                _ => Known::Truth(None),
            },
            (Kind::And, [Known::Truth(x), Known::Truth(y)]) => Known::Truth(match (x, y) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (x, y) => x.zip(*y).map(|_| true),
            }),
            (Kind::Or, [Known::Truth(x), Known::Truth(y)]) => Known::Truth(match (x, y) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (x, y) => x.zip(*y).map(|_| false),
            }),
            (Kind::Xor, [Known::Truth(x), Known::Truth(y)]) => Known::Truth(x.zip(*y).map(|(x, y)| x != y)),
            (Kind::Not, [Known::Truth(x)]) => Known::Truth(x.map(|x| !x)),
            (Kind::IsNan, [Known::Number(x)]) => Known::Truth(match x {
                x if x.is_undefined() => Some(true),
                x if x.may_be_nan => None,
                _ => Some(false),
            }),
            (Kind::Function(function, params), _) => {
                let number = |x: &Known| match x {
                    Known::Number(x) => Some(x.clone()),
                    Known::Truth(_) => None,
                };
                let x: Option<Vec<_>> = x.iter().map(number).collect();
                let params: Vec<_> = params.iter().map(|&p| Enclosure::point(d.embed(p))).collect();
                x.map_or_else(|| Known::nothing(d), |x| Known::Number(enclose(d, function, &params, &x)))
            }
            (Kind::Steps(steps), x) => steps.run(d, x.to_vec()),
            _ => Known::nothing(d),
        }
    }
}

impl Kind {
    /// Of an op that is neither elementwise nor made of others, by its structure.
    fn of_structure(s: &Signature<'_>) -> Result<Kind, String> {
        let refused = || Err(format!("'{}' is not enclosed here", s.def.short_name()));
        let function = match Pointwise::of(s) {
            Some(Pointwise::Same) if s.operand(0)?.format().is_some() => return Ok(Kind::Identity),
            Some(Pointwise::Same) => return Err("an integer is not enclosed here".into()),
            Some(Pointwise::Function(function)) => function,
            None => return refused(),
        };
        Ok(match function {
            Function::Compare(cmp) => Kind::Compare(cmp),
            Function::Choose => Kind::Choose,
            Function::Logical(Logical::And) => Kind::And,
            Function::Logical(Logical::Or) => Kind::Or,
            Function::Logical(Logical::Xor) => Kind::Xor,
            Function::Not => Kind::Not,
            Function::Classify(Class::Nan) => Kind::IsNan,
            _ => return refused(),
        })
    }
}

fn constant(value: Option<&Attr>) -> Result<Kind, String> {
    let tensor: Tensor = attr_to_tensor(value.ok_or("a constant without a value")?)?;
    let all = tensor.to_f64s();
    let same = |x: &f64| all.iter().all(|y| x == y);
    match (tensor.as_ints(), all.first().filter(|x| same(x))) {
        (Some(_), Some(x)) => Ok(Kind::Truth(*x != 0.0)),
        (None, Some(x)) => Ok(Kind::Number(*x)),
        _ => Err("a constant of several values".into()),
    }
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

/// Ops in a row.
struct Steps {
    arguments: Vec<Value>,
    steps: Vec<(Vec<Value>, Value, Meaning)>,
    result: Value,
    values: usize,
}

impl Steps {
    fn new(context: &Context, body: &Body, results: &[Value]) -> Result<Steps, String> {
        let block = body.entry().ok_or("it is a declaration")?;
        let is_end = |op: &Op| body.op(*op).def.is_some_and(|d| d.traits.terminator);
        let step = |op: Op| {
            let meaning = body.with_signature(op, |s| Meaning::of(context, s));
            let meaning = meaning.ok_or_else(|| format!("'{}' is not registered", body.name(op)))??;
            let result = body.results(op).next().ok_or("an op without a result")?;
            Ok::<_, String>((body.operands(op).to_vec(), result, meaning))
        };
        let steps = body.ops(block).filter(|op| !is_end(op)).map(step).collect::<Result<_, _>>()?;
        let result = *results.first().ok_or("no result")?;
        Ok(Steps { arguments: body.arguments(block).to_vec(), steps, result, values: body.num_values() })
    }

    fn run(&self, d: &Big, arguments: Vec<Known>) -> Known {
        let mut known: Vec<Option<Known>> = vec![None; self.values];
        for (value, x) in self.arguments.iter().zip(arguments) {
            known[value.index()] = Some(x);
        }
        let get =
            |known: &[Option<Known>], v: Value| known[v.index()].clone().unwrap_or_else(|| Known::nothing(d));
        for (operands, result, meaning) in &self.steps {
            let x: Vec<Known> = operands.iter().map(|&v| get(&known, v)).collect();
            known[result.index()] = Some(meaning.enclose(d, &x));
        }
        get(&known, self.result)
    }
}

/// The value of a function at a point.
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

/// A function of scalars that is enclosed op by op: the first result of a body.
pub struct Real(Steps);

impl Real {
    /// The function of a body.
    ///
    /// # Errors
    /// A sentence that names an op that cannot be enclosed.
    pub fn new(context: &Context, body: &Body) -> Result<Real, String> {
        let end = body.entry().and_then(|b| body.last_op(b)).ok_or("it is a declaration")?;
        Steps::new(context, body, body.operands(end)).map(Real)
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
        self.0.run(d, args.iter().map(|&x| Known::number(d, x)).collect())
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
