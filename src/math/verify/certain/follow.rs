//! Follows an implementation on a part of its arguments, from the result back to what it is made of: integers, tables, powers of two
//! and branches are decided, so that operations on numbers are left. Where the part is too large to decide something, it says so.

use ngc_dialects::ng::compare::direction;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::op_def::ErrorFree;
use ngc_ir::{Attr, Body, Op, Value};
use ngc_numerics::primitives::ADD;
use ngc_numerics::{Cmp, DType, Format, Prim, Tensor};
use rug::Float;

use super::integer::Integer;
use super::number::{Number, exponent};

/// What is known of a value.
#[derive(Clone)]
enum Known {
    Number(Number),
    Integer(Integer),
    Truth(bool),
}

/// Why a part is not followed to the end.
pub enum Stop {
    /// It must be cut: something is not the same on all of it.
    Undecided,
    /// It is to be cut: a value lies in several binades, so that less is known of its roundings.
    Straddles(Value),
    /// A step is none of these.
    Unable(String),
}

/// What happens on a part.
pub struct Followed {
    /// The result; nothing where the part must be cut.
    pub result: Result<Number, Stop>,
    /// What was decided, in order: truth values and integers.
    pub decided: Vec<i64>,
}

/// An implementation that is followed.
pub struct Steps<'b> {
    body: &'b Body,
    argument: Value,
    result: Value,
    /// The format of the argument.
    pub format: Format,
    tables: Vec<Option<Tensor>>,
}

impl<'b> Steps<'b> {
    /// The steps of a body of one argument.
    ///
    /// # Errors
    /// When it has none.
    pub fn new(body: &'b Body) -> Result<Steps<'b>, String> {
        let entry = body.entry().ok_or("has no steps")?;
        let [argument] = body.arguments(entry) else { return Err("has more than one argument".into()) };
        let end = body.ops(entry).find(|&op| body.op(op).def.is_some_and(|d| d.traits.terminator));
        let result = *end.and_then(|op| body.operands(op).first()).ok_or("gives no result")?;
        let format = body.ty(*argument).format().filter(|f| matches!(f, Format::F32 | Format::F64));
        let format = format.ok_or("is no function of numbers of f32 or f64")?;
        let mut tables = vec![None; body.num_values()];
        for op in body.ops(entry).filter(|&op| body.name(op) == "num.table") {
            let entries = body.attr(op, "values").ok_or("a table has no entries")?;
            tables[body.result(op, 0).index()] = Some(attr_to_tensor(entries)?);
        }
        Ok(Steps { body, argument: *argument, result, format, tables })
    }

    /// What happens where the argument lies between two numbers; with `strict`, where all values other than 0 lie in one binade.
    pub fn follow(&self, lo: f64, hi: f64, strict: bool) -> Followed {
        let mut follower = self.follower(lo, hi, strict);
        let result = follower.number(self.result);
        Followed { result, decided: follower.decided }
    }

    /// The exponent of a value at an argument.
    pub fn exponent(&self, x: f64, v: Value) -> Option<i32> {
        self.follower(x, x, false).number(v).ok().map(|y| exponent(y.lo))
    }

    fn follower(&self, lo: f64, hi: f64, strict: bool) -> Follower<'_, 'b> {
        let mut known = vec![None; self.body.num_values()];
        known[self.argument.index()] = Some(Known::Number(Number::argument(lo, hi, self.format)));
        Follower { steps: self, known, decided: Vec::new(), strict }
    }
}

struct Follower<'s, 'b> {
    steps: &'s Steps<'b>,
    known: Vec<Option<Known>>,
    decided: Vec<i64>,
    strict: bool,
}

/// What a step makes.
type Made<T> = Result<T, Stop>;

impl Follower<'_, '_> {
    fn value(&mut self, v: Value) -> Made<Known> {
        if let Some(known) = &self.known[v.index()] {
            return Ok(known.clone());
        }
        let body = self.steps.body;
        let Some(op) = body.defining_op(v) else { return self.unable("an unknown value") };
        if let Some(error_free) = body.op(op).def.and_then(|def| def.error_free.as_ref()) {
            let words = self.words(op, error_free)?.map(Known::Number);
            let wanted = words[usize::from(v != body.result(op, 0))].clone();
            for (n, word) in words.into_iter().enumerate() {
                self.known[body.result(op, n).index()] = Some(word);
            }
            return Ok(wanted);
        }
        let known = self.op(op)?;
        if let (true, Known::Number(x)) = (self.strict, &known)
            && exponent(x.lo) != exponent(x.hi)
            // What is left of a difference comes to other binades all the time.
            && x.size() < 2.0 * x.least()
        {
            return Err(Stop::Straddles(v));
        }
        self.known[v.index()] = Some(known.clone());
        Ok(known)
    }

    fn unable<T>(&self, what: &str) -> Made<T> {
        Err(Stop::Unable(what.into()))
    }

    fn number(&mut self, v: Value) -> Made<Number> {
        match self.value(v)? {
            Known::Number(x) => Ok(x),
            _ => self.unable("no floating-point value"),
        }
    }

    fn integer(&mut self, v: Value) -> Made<Integer> {
        match self.value(v)? {
            Known::Integer(x) => Ok(x),
            _ => self.unable("no integer"),
        }
    }

    fn truth(&mut self, v: Value) -> Made<bool> {
        match self.value(v)? {
            Known::Truth(x) => Ok(x),
            Known::Integer(x) if x.is_point() => Ok(x.lo != 0),
            _ => self.unable("no truth value"),
        }
    }

    /// Takes note of what is the same on all of the part.
    fn decide(&mut self, outcome: Option<i64>) -> Made<i64> {
        let outcome = outcome.ok_or(Stop::Undecided)?;
        self.decided.push(outcome);
        Ok(outcome)
    }

    fn decide_truth(&mut self, outcome: Option<bool>) -> Made<bool> {
        Ok(self.decide(outcome.map(i64::from))? != 0)
    }

    /// An integer that is one on all of the part.
    fn one(&mut self, x: &Integer) -> Made<i64> {
        self.decide(x.is_point().then_some(x.lo))
    }

    fn op(&mut self, op: Op) -> Made<Known> {
        let body = self.steps.body;
        let x = body.operands(op).to_vec();
        let elem = body.ty(body.result(op, 0)).elem();
        let name = body.name(op);
        if let Some(value) = constant(body, op) {
            return Ok(value);
        }
        match (name, elem) {
            ("ng.where" | "ng.select", _) => {
                return if self.truth(x[0])? { self.value(x[1]) } else { self.value(x[2]) };
            }
            ("ng.compare", _) => {
                let cmp = body.with_signature(op, direction).flatten();
                let Some(cmp) = cmp else { return self.unable(name) };
                return self.compare(cmp, x[0], x[1]).map(Known::Truth);
            }
            ("ng.is_nan", _) => {
                let x = self.number(x[0])?;
                let is_nan = if x.may_be_nan { x.lo.is_nan().then_some(true) } else { Some(false) };
                return self.decide_truth(is_nan).map(Known::Truth);
            }
            ("ng.not", Some(DType::BOOL)) => return Ok(Known::Truth(!self.truth(x[0])?)),
            ("ng.and", Some(DType::BOOL)) => return Ok(Known::Truth(self.truth(x[0])? && self.truth(x[1])?)),
            ("ng.or", Some(DType::BOOL)) => return Ok(Known::Truth(self.truth(x[0])? || self.truth(x[1])?)),
            ("ng.xor", Some(DType::BOOL)) => return Ok(Known::Truth(self.truth(x[0])? != self.truth(x[1])?)),
            ("num.table", _) => return self.entry(op, x[0]),
            ("ng.convert", Some(to)) => return self.converted(x[0], to),
            ("num.bitcast", Some(to)) => return self.bitcast(x[0], to),
            ("num.exponent" | "num.significand", _) => {
                let x = self.number(x[0])?;
                let k = self.exponent(&x)?;
                let part = if name == "num.exponent" {
                    Some(Number::point(f64::from(k), x.format))
                } else {
                    x.scaled(-k)
                };
                return part.map(Known::Number).ok_or(Stop::Undecided);
            }
            ("num.scaleb", _) => {
                let (y, k) = (self.number(x[0])?, self.number(x[1])?);
                let is_one = !k.may_be_nan && k.lo.floor() == k.hi.floor();
                let k = self.decide(is_one.then_some(k.lo.floor() as i64))?;
                let Some(scaled) = i32::try_from(k).ok().and_then(|k| y.scaled(k)) else {
                    return self.unable(name);
                };
                return Ok(Known::Number(scaled));
            }
            _ => {}
        }
        match elem {
            Some(DType::Float(format)) => self.arithmetic(name, &x, format).map(Known::Number),
            Some(DType::Int(width)) => {
                let bits = body.with_signature(op, |s| s.int("bits")).flatten();
                self.integers(name, &x, width, bits.and_then(|b| u32::try_from(b).ok())).map(Known::Integer)
            }
            _ => self.unable(name),
        }
    }

    /// A sum or product and what rounding took from it, which is exact where the operands are in order and nothing underflows.
    fn words(&mut self, op: Op, error_free: &ErrorFree) -> Made<[Number; 2]> {
        let body = self.steps.body;
        if matches!(body.attr(op, "split"), Some(Attr::Bool(true))) {
            return self.unable("a product by halves");
        }
        let (x, y) = (self.number(body.operands(op)[0])?, self.number(body.operands(op)[1])?);
        let is_sum = std::ptr::eq(error_free.of, &raw const ADD);
        let prim = if is_sum { Prim::Add } else { Prim::Mul };
        let format = x.format;
        let high = Number::rounded(prim, &[&x, &y], format);
        let exact = match is_sum {
            true => !error_free.ordered || x.least() >= y.size() || x.is_point() && x.lo == 0.0,
            // The last place of the product is that of both factors.
            false => {
                exponent(x.least()) + exponent(y.least()) - 2 * format.precision() as i32 + 2
                    >= exponent(format.min_subnormal())
            }
        };
        // No step of a sum overflows where one number does not count beside the greatest, or the sum is well below.
        let is_small = x.size().min(y.size()) <= format.max_finite() * format.unit_roundoff() / 1024.0;
        let is_far = high.size() > format.max_finite() / if is_sum && is_small { 1.0 } else { 4.0 };
        let low = if exact && !is_far {
            high.taken(prim, &x, &y)
        } else if is_sum && error_free.ordered {
            let from_y = Number::rounded(Prim::Sub, &[&high, &x], format);
            Number::rounded(Prim::Sub, &[&y, &from_y], format)
        } else if is_sum {
            return self.unable("a sum that may overflow");
        } else {
            Number::rounded(Prim::Fma, &[&x, &y, &high.negated()], format)
        };
        Ok([high, low])
    }

    fn arithmetic(&mut self, name: &str, x: &[Value], format: Format) -> Made<Number> {
        let mut numbers = Vec::new();
        for &v in x {
            numbers.push(self.number(v)?);
        }
        let numbers: Vec<&Number> = numbers.iter().collect();
        let prim = match name {
            "ng.add" => Prim::Add,
            "ng.sub" => Prim::Sub,
            "ng.mul" => Prim::Mul,
            "ng.div" => Prim::Div,
            "ng.sqrt" => Prim::Sqrt,
            "ng.fma" => Prim::Fma,
            "ng.square" => return Ok(Number::rounded(Prim::Mul, &[numbers[0], numbers[0]], format)),
            "ng.neg" => return Ok(numbers[0].negated()),
            "ng.abs" => {
                let negative = self.decide_truth(numbers[0].is_negative())?;
                return Ok(if negative { numbers[0].negated() } else { numbers[0].clone() });
            }
            "ng.floor" | "ng.ceil" | "ng.round" => {
                let to = match name {
                    "ng.floor" => f64::floor,
                    "ng.ceil" => f64::ceil,
                    _ => f64::round_ties_even,
                };
                let (lo, hi) = (to(numbers[0].lo), to(numbers[0].hi));
                let is_one = !numbers[0].may_be_nan && lo.to_bits() == hi.to_bits();
                self.decide(is_one.then_some(lo as i64))?;
                return Ok(Number::point(lo, format));
            }
            "ng.min" | "ng.max" => {
                let (a, b) = (numbers[0], numbers[1]);
                // Of zeros the sign decides.
                let is_less = match (a.least(), b.least()) {
                    (0.0, 0.0) if a.is_point() && b.is_point() => Some(a.lo.total_cmp(&b.lo).is_le()),
                    (0.0, 0.0) => None,
                    _ => order(Cmp::Le, a, b),
                };
                let is_less = self.decide_truth(is_less)?;
                return Ok(if is_less == (name == "ng.min") { a.clone() } else { b.clone() });
            }
            name => return self.unable(name),
        };
        Ok(Number::rounded(prim, &numbers, format))
    }

    fn compare(&mut self, cmp: Cmp, a: Value, b: Value) -> Made<bool> {
        match (self.value(a)?, self.value(b)?) {
            (Known::Number(a), Known::Number(b)) => self.decide_truth(order(cmp, &a, &b)),
            (Known::Integer(a), Known::Integer(b)) => {
                self.decide_truth(decided(cmp, (a.lo, a.hi), (b.lo, b.hi)))
            }
            _ => self.unable("a relation of truth values"),
        }
    }

    fn entry(&mut self, op: Op, place: Value) -> Made<Known> {
        let place = self.integer(place)?;
        let place = self.one(&place)?;
        let table = self.steps.tables[self.steps.body.result(op, 0).index()].as_ref();
        let found = table.zip(usize::try_from(place).ok()).and_then(|(table, n)| match table.dtype {
            DType::Float(format) => Some(Known::Number(Number::point(*table.to_f64s().get(n)?, format))),
            DType::Int(width) => Some(Known::Integer(Integer::point(*table.as_ints()?.get(n)?, width))),
            _ => None,
        });
        found.ok_or_else(|| Stop::Unable("num.table".into()))
    }

    fn converted(&mut self, x: Value, to: DType) -> Made<Known> {
        Ok(match (self.value(x)?, to) {
            (Known::Number(x), DType::Float(format @ (Format::F32 | Format::F64))) => {
                Known::Number(x.cast(format))
            }
            (Known::Number(x), DType::Int(width)) if width > 1 && !x.may_be_nan => {
                let (least, greatest) = to.int_range();
                let cut = |x: f64| (x.trunc() as i64).clamp(least, greatest);
                Known::Integer(Integer::between(cut(x.lo), cut(x.hi), width))
            }
            (Known::Integer(x), DType::Float(format)) => {
                let x = self.one(&x)?;
                let value = if x.unsigned_abs() <= 1 << 53 {
                    format.round(x as f64)
                } else {
                    return self.unable("a large integer");
                };
                Known::Number(Number::point(value, format))
            }
            (Known::Integer(x), DType::Int(width)) if width > 1 => {
                let (least, greatest) = to.int_range();
                if x.lo < least || x.hi > greatest {
                    return self.unable("an integer that does not fit");
                }
                Known::Integer(Integer::between(x.lo, x.hi, width))
            }
            (Known::Truth(x), DType::Float(format)) => {
                Known::Number(Number::point(f64::from(u8::from(x)), format))
            }
            (Known::Truth(x), DType::Int(width)) if width > 1 => {
                Known::Integer(Integer::point(x.into(), width))
            }
            _ => return self.unable("ng.convert"),
        })
    }

    fn bitcast(&mut self, x: Value, to: DType) -> Made<Known> {
        match (self.value(x)?, to) {
            (Known::Number(x), DType::Int(_)) => {
                self.decide_truth(x.is_negative())?;
                Ok(Known::Integer(Integer::encoding(&x)))
            }
            (Known::Integer(x), DType::Float(format)) => {
                if let Some(number) = x.decoded().filter(|number| number.format == format && !x.is_point()) {
                    return Ok(Known::Number(number));
                }
                if let Some(of) = x.less.as_ref().filter(|_| !x.is_point()) {
                    let places = format.precision() - 1;
                    self.decide((exponent(of.lo) == exponent(of.hi)).then_some(exponent(of.lo).into()))?;
                    self.decide((x.lo >> places == x.hi >> places).then_some(x.lo >> places))?;
                    if let Some(number) = x.decoded_less() {
                        return Ok(Known::Number(number));
                    }
                }
                let bits = self.one(&x)?;
                let mask = if x.width == 64 { u64::MAX } else { (1 << x.width) - 1 };
                Ok(Known::Number(Number::point(format.from_bits(bits as u64 & mask), format)))
            }
            _ => self.unable("num.bitcast"),
        }
    }

    /// `k` with `x = m 2^k` and 3/4 <= m < 3/2.
    fn exponent(&mut self, x: &Number) -> Made<i32> {
        let of = |x: f64| {
            let k = exponent(x);
            let significand = Float::with_val(53, x) >> k;
            k + i32::from(significand >= 1.5)
        };
        if self.decide_truth(x.is_negative())? || x.lo == 0.0 || x.hi.is_infinite() {
            return self.unable("the exponent of what is not positive");
        }
        let (lo, hi) = (of(x.lo), of(x.hi));
        self.decide((lo == hi).then_some(lo.into()))?;
        Ok(lo)
    }

    fn integers(&mut self, name: &str, x: &[Value], width: u8, bits: Option<u32>) -> Made<Integer> {
        let a = self.integer(x[0])?;
        let b = match x.get(1) {
            Some(&v) => Some(self.integer(v)?),
            None => None,
        };
        let point = |x: i64| Integer::point(x, width);
        match (name, b, bits) {
            ("num.shrsi", None, Some(bits)) => Ok(Integer::between(a.lo >> bits, a.hi >> bits, width)),
            ("num.shrui", None, Some(bits)) if a.lo >= 0 => {
                Ok(Integer::between(a.lo >> bits, a.hi >> bits, width))
            }
            ("num.shrui", None, Some(bits)) => {
                let a = self.one(&a)?;
                Ok(point(((a as u64) << (64 - u32::from(width)) >> (64 - u32::from(width)) >> bits) as i64))
            }
            ("num.shli", None, Some(bits)) => {
                let value = self.one(&a)?;
                Ok(point(a.wrapped(value.wrapping_shl(bits))))
            }
            ("ng.neg", None, _) => {
                let value = self.one(&a)?;
                Ok(point(a.wrapped(value.wrapping_neg())))
            }
            ("ng.add", Some(b), _) if b.is_point() => a.plus(b.lo).ok_or(Stop::Undecided),
            ("ng.add", Some(b), _) if a.is_point() => b.plus(a.lo).ok_or(Stop::Undecided),
            ("ng.sub", Some(b), _) if b.is_point() => a.plus(b.lo.wrapping_neg()).ok_or(Stop::Undecided),
            ("ng.sub", Some(b), _) if a.is_point() => b.taken_from(a.lo).ok_or(Stop::Undecided),
            ("ng.add" | "ng.sub" | "ng.mul", Some(b), _) => {
                let (x, y) = (self.one(&a)?, self.one(&b)?);
                let value = match name {
                    "ng.add" => x.wrapping_add(y),
                    "ng.sub" => x.wrapping_sub(y),
                    _ => x.wrapping_mul(y),
                };
                Ok(point(a.wrapped(value)))
            }
            ("ng.min" | "ng.max", Some(b), _) => {
                let less = self.decide_truth(decided(Cmp::Le, (a.lo, a.hi), (b.lo, b.hi)))?;
                Ok(if less == (name == "ng.min") { a } else { b })
            }
            ("num.andi", Some(b), _) if b.is_point() && !a.is_point() => self.masked(a, b.lo),
            ("num.andi", Some(b), _) if a.is_point() && !b.is_point() => self.masked(b, a.lo),
            ("num.ori" | "num.xori", Some(b), _) if b.is_point() && !a.is_point() => {
                self.merged(name, a, b.lo)
            }
            ("num.ori" | "num.xori", Some(b), _) if a.is_point() && !b.is_point() => {
                self.merged(name, b, a.lo)
            }
            ("num.andi" | "num.ori" | "num.xori", Some(b), _) => {
                let (x, y) = (self.one(&a)?, self.one(&b)?);
                Ok(point(match name {
                    "num.andi" => x & y,
                    "num.ori" => x | y,
                    _ => x ^ y,
                }))
            }
            _ => self.unable(name),
        }
    }

    /// The bits of a mask.
    fn masked(&mut self, x: Integer, mask: i64) -> Made<Integer> {
        let low_ones = mask.trailing_ones();
        // What the places above say must be one; where the mask has no others, they are taken off.
        let is_low = mask >= 0 && mask.count_ones() == low_ones;
        let places = if is_low { low_ones } else { mask.trailing_zeros() }.min(63);
        let above = self.decide((x.lo >> places == x.hi >> places).then_some(x.lo >> places))?;
        if is_low {
            return x.plus((above << places).wrapping_neg()).ok_or(Stop::Undecided);
        }
        Ok(Integer::point(x.lo & mask, x.width))
    }

    /// Bits that are set or turned.
    fn merged(&mut self, name: &str, x: Integer, bits: i64) -> Made<Integer> {
        let sign = DType::Int(x.width).int_range().0;
        let places = bits.trailing_zeros();
        // A sign that is there stays.
        if bits == 0 || bits == sign && name == "num.ori" && x.hi < 0 {
            return Ok(x);
        }
        // Where these places are free, both are a sum; a sign that is turned is one too.
        let free = x.lo >= 0 && (places >= 63 || x.hi >> places == 0);
        if free || bits == sign && name == "num.xori" {
            return x.plus(bits).ok_or(Stop::Undecided);
        }
        let x_bits = self.one(&x)?;
        Ok(Integer::point(if name == "num.ori" { x_bits | bits } else { x_bits ^ bits }, x.width))
    }
}

fn constant(body: &Body, op: Op) -> Option<Known> {
    if !body.is_constant(op) {
        return None;
    }
    Some(match body.attr(op, "value")? {
        Attr::Float(x, ty) => Known::Number(Number::point(*x, ty.format()?)),
        Attr::Int(x, ty) => match ty.elem()? {
            DType::Int(width) if width > 1 => Known::Integer(Integer::point(*x, width)),
            _ => Known::Truth(*x != 0),
        },
        Attr::Bool(x) => Known::Truth(*x),
        _ => return None,
    })
}

/// Whether a relation holds between numbers; nothing where that is open.
fn order(cmp: Cmp, a: &Number, b: &Number) -> Option<bool> {
    if a.may_be_nan || b.may_be_nan { None } else { decided(cmp, (a.lo, a.hi), (b.lo, b.hi)) }
}

/// Whether a relation holds between values of two ranges, none of which is NaN; nothing where that is open.
fn decided<T: PartialOrd>(cmp: Cmp, (a_lo, a_hi): (T, T), (b_lo, b_hi): (T, T)) -> Option<bool> {
    let (below, not_below) = (a_hi < b_lo, a_lo >= b_hi);
    let (above, not_above) = (a_lo > b_hi, a_hi <= b_lo);
    let (apart, equal) = (below || above, not_below && not_above);
    let (holds, fails) = match cmp {
        Cmp::Lt => (below, not_below),
        Cmp::Gt => (above, not_above),
        Cmp::Le => (not_above, above),
        Cmp::Ge => (not_below, below),
        Cmp::Eq => (equal, apart),
        Cmp::Ne => (apart, equal),
    };
    (holds || fails).then_some(holds)
}
