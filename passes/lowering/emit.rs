//! Writing kernels: constants, arithmetic on places, loops, and ops on elements that are rounded as the graph says.

use ngc_dialects::ng;
use ngc_ir::op_def::Elementwise;
use ngc_ir::structure::{Axis, Digit, Index, Size, Space, Whole};
use ngc_ir::{
    Attr, AttrDict, Block, Body, Builder, Context, InsertPoint, Loc, Op, OpDef, Semantics, Type, Value,
};
use ngc_numerics::{DType, Format};
use rustc_hash::FxHashMap;

use super::functions::{Functions, as_declared, moves_bits, rounds_once, wraps};

/// A number of places: known, or a value when running.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Count {
    Known(i64),
    Value(Value),
}

/// Writes the body of one kernel.
pub(super) struct Emitter<'a> {
    pub context: &'a Context,
    pub functions: &'a Functions,
    pub body: Body,
    pub block: Block,
    pub loc: Loc,
    /// Unknown extents, by number.
    pub unknowns: Vec<Value>,
    /// Constants stand at the start of the function, before this op.
    first: Option<Op>,
    constants: FxHashMap<Attr, Value>,
    /// Functions whose implementations were inlined, and how far each is off.
    pub inlined: AttrDict,
}

pub(super) type Emitted<T> = Result<T, String>;

impl<'a> Emitter<'a> {
    pub fn new(context: &'a Context, functions: &'a Functions, loc: Loc) -> Emitter<'a> {
        let mut body = Body::new();
        let block = body.add_block(body.root());
        let (first, constants) = (None, FxHashMap::default());
        let (unknowns, inlined) = (Vec::new(), AttrDict::EMPTY);
        Emitter { context, functions, body, block, loc, unknowns, first, constants, inlined }
    }

    /// Any op, at the place in hand.
    pub fn op(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Emitted<Op> {
        let mut builder = Builder::at_end(self.context, &mut self.body, self.block, self.loc.clone());
        let op = builder.op(name, operands, attrs)?;
        if let Some(format) =
            self.body.results(op).find_map(|v| self.body.ty(v).format()).filter(|f| !is_held(*f))
        {
            return Err(format!("values in {format} are not lowered to kernels yet"));
        }
        let entry = self.body.entry() == Some(self.block);
        self.first = self.first.or(entry.then_some(op));
        Ok(op)
    }

    /// An op with one result.
    pub fn emit(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Emitted<Value> {
        let op = self.op(name, operands, attrs)?;
        Ok(self.body.result(op, 0))
    }

    /// An op without operands at the start of the function.
    fn early(&mut self, name: &str, value: Attr) -> Emitted<Value> {
        if let Some(&known) = self.constants.get(&value) {
            return Ok(known);
        }
        let entry = self.body.entry().expect("a kernel has a block");
        let mut builder = Builder::at_end(self.context, &mut self.body, entry, Loc::Unknown);
        if let Some(first) = self.first {
            builder.at = InsertPoint::Before(first);
        }
        let made = builder.emit(name, &[], [("value", value.clone())])?;
        let ty = self.body.ty(made);
        let format = ty.format().or(ty.as_memref().and_then(|m| m.elem.format()));
        if let Some(format) = format.filter(|&format| !is_held(format)) {
            return Err(format!("values in {format} are not lowered to kernels yet"));
        }
        self.constants.insert(value, made);
        Ok(made)
    }

    /// A scalar constant.
    pub fn constant(&mut self, value: Attr) -> Emitted<Value> {
        self.early("ng.constant", value)
    }

    /// A buffer of constants.
    pub fn global(&mut self, value: Attr) -> Emitted<Value> {
        self.early("kernel.global", value)
    }

    /// A number of an element type.
    pub fn number(&mut self, value: f64, elem: DType) -> Emitted<Value> {
        self.constant(match elem {
            DType::Float(format) => Attr::Float(format.round(value), Type::float(format)),
            DType::BOOL => Attr::Bool(value != 0.0),
            elem => {
                let (least, greatest) = elem.int_range();
                let value = match value.is_infinite() {
                    true if value < 0.0 => least,
                    true => greatest,
                    false => elem.wrap(value as i64),
                };
                Attr::Int(value, Type::scalar(elem))
            }
        })
    }

    /// A scalar repeated to the width of vectors; a vector as it is.
    pub fn widened(&mut self, value: Value, lanes: usize) -> Emitted<Value> {
        if lanes == 1 || self.body.ty(value).as_vector().is_some() {
            return Ok(value);
        }
        self.emit("kernel.broadcast", &[value], [("lanes", Attr::int(lanes as i64))])
    }

    // Places and extents.

    pub fn value(&mut self, count: Count) -> Emitted<Value> {
        match count {
            Count::Value(value) => Ok(value),
            Count::Known(n) => self.constant(Attr::Int(n, Type::scalar(DType::Index))),
        }
    }

    fn fold(&mut self, name: &str, a: Count, b: Count, known: fn(i64, i64) -> Option<i64>) -> Emitted<Count> {
        if let (Count::Known(x), Count::Known(y)) = (a, b)
            && let Some(result) = known(x, y)
        {
            return Ok(Count::Known(result));
        }
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.emit(name, &[a, b], AttrDict::EMPTY).map(Count::Value)
    }

    pub fn plus(&mut self, a: Count, b: Count) -> Emitted<Count> {
        match (a, b) {
            (Count::Known(0), x) | (x, Count::Known(0)) => Ok(x),
            _ => self.fold("ng.add", a, b, i64::checked_add),
        }
    }

    pub fn minus(&mut self, a: Count, b: Count) -> Emitted<Count> {
        if b == Count::Known(0) { Ok(a) } else { self.fold("ng.sub", a, b, i64::checked_sub) }
    }

    pub fn times(&mut self, a: Count, b: Count) -> Emitted<Count> {
        match (a, b) {
            (Count::Known(1), x) | (x, Count::Known(1)) => Ok(x),
            (Count::Known(0), _) | (_, Count::Known(0)) => Ok(Count::Known(0)),
            _ => self.fold("ng.mul", a, b, i64::checked_mul),
        }
    }

    /// `a / b` cut towards zero; of numbers that are known, `⌊a / b⌋`.
    pub fn quotient(&mut self, a: Count, b: Count) -> Emitted<Count> {
        if b == Count::Known(1) { Ok(a) } else { self.fold("ng.div", a, b, i64::checked_div_euclid) }
    }

    /// `a mod b` of what is not negative.
    pub fn remainder(&mut self, a: Count, b: Count) -> Emitted<Count> {
        if b == Count::Known(1) {
            Ok(Count::Known(0))
        } else {
            self.fold("ng.rem", a, b, i64::checked_rem_euclid)
        }
    }

    pub fn size(&mut self, size: &Size) -> Emitted<Count> {
        let number = i64::try_from(size.factor()).map_err(|_| "an extent does not fit in 64 bits")?;
        size.unknowns().iter().try_fold(Count::Known(number), |product, unknown| {
            let extent = Count::Value(self.unknowns[unknown.0 as usize]);
            self.times(product, extent)
        })
    }

    /// The place that an index says, where the places along dimensions are known.
    pub fn index(
        &mut self,
        index: &Index,
        at: &FxHashMap<Axis, Count>,
        space: &(impl Space + ?Sized),
    ) -> Emitted<Count> {
        let mut sum = Count::Known(0);
        let summands: Vec<_> = index.summands().collect();
        for (factor, size, digit) in summands {
            let digit = match digit {
                Some(digit) => match digit.digits().next() {
                    Some(digit) => self.digit(digit, at, space)?,
                    None => Count::Known(1),
                },
                None => Count::Known(1),
            };
            let size = self.size(&size)?;
            let scaled = self.times(size, digit)?;
            sum = if factor < 0 {
                let amount =
                    self.times(Count::Known(factor.checked_neg().ok_or("an index is too large")?), scaled)?;
                self.minus(sum, amount)?
            } else {
                let amount = self.times(Count::Known(factor), scaled)?;
                self.plus(sum, amount)?
            };
        }
        Ok(sum)
    }

    fn digit(
        &mut self,
        digit: &Digit,
        at: &FxHashMap<Axis, Count>,
        space: &(impl Space + ?Sized),
    ) -> Emitted<Count> {
        let (whole, negative) = match &digit.of {
            Whole::Axis(axis) => (at.get(axis).copied().ok_or("a place is not known")?, false),
            // Beside an operand, where a choice by the place reads something else.
            Whole::Sum(sum) => (self.index(sum, at, space)?, sum.range(space).is_none_or(|(low, _)| low < 0)),
        };
        let divisor = self.size(&digit.divisor)?;
        let quotient = self.quotient(whole, divisor)?;
        let quotient = match negative {
            true => self.floored(whole, divisor, quotient)?,
            false => quotient,
        };
        let Some(modulus) = &digit.modulus else { return Ok(quotient) };
        let modulus = self.size(modulus)?;
        if !negative {
            return self.remainder(quotient, modulus);
        }
        let times = self.quotient(quotient, modulus)?;
        let times = self.floored(quotient, modulus, times)?;
        let below = self.times(times, modulus)?;
        self.minus(quotient, below)
    }

    /// `⌊a / b⌋` of `a / b` cut towards zero.
    fn floored(&mut self, a: Count, b: Count, cut: Count) -> Emitted<Count> {
        if let Count::Known(_) = cut {
            return Ok(cut);
        }
        let below = self.times(cut, b)?;
        let rest = self.minus(a, below)?;
        let less = self.minus(cut, Count::Known(1))?;
        let (rest, zero) = (self.value(rest)?, self.value(Count::Known(0))?);
        let negative = self.compare("LT", rest, zero)?;
        let (less, cut) = (self.value(less)?, self.value(cut)?);
        self.apply(&ng::compare::WHERE, &[negative, less, cut]).map(Count::Value)
    }

    // Loops.

    /// A loop; `body` gets the place and what is carried, and gives what is carried on.
    pub fn repeat<T>(
        &mut self,
        bounds: [Count; 3],
        first: &[Value],
        context: &mut T,
        body: impl FnOnce(&mut Self, &mut T, Count, &[Value]) -> Emitted<Vec<Value>>,
    ) -> Emitted<Vec<Value>> {
        let mut operands = Vec::with_capacity(3 + first.len());
        for bound in bounds {
            operands.push(self.value(bound)?);
        }
        operands.extend_from_slice(first);
        let op = self.op("kernel.for", &operands, AttrDict::EMPTY)?;
        let region = self.body.add_region(op);
        let block = self.body.add_block(region);
        let place = self.body.add_argument(block, Type::scalar(DType::Index), Loc::Unknown);
        let types: Vec<Type> = first.iter().map(|&v| self.body.ty(v)).collect();
        let carried: Vec<Value> =
            types.into_iter().map(|ty| self.body.add_argument(block, ty, Loc::Unknown)).collect();
        let outer = std::mem::replace(&mut self.block, block);
        let next = body(self, context, Count::Value(place), &carried)?;
        self.op("kernel.yield", &next, AttrDict::EMPTY)?;
        self.block = outer;
        Ok(self.body.results(op).collect())
    }

    // Ops on elements.

    /// An op of scalars and vectors, rounded once to its format.
    pub fn element(&mut self, def: &'static OpDef, attrs: &AttrDict, operands: &[Value]) -> Emitted<Value> {
        let lanes = operands.iter().find_map(|&v| self.body.ty(v).as_vector()).map_or(1, |v| v.lanes);
        let mut wide = Vec::with_capacity(operands.len());
        for &v in operands {
            wide.push(self.widened(v, lanes)?);
        }
        if moves_bits(def) {
            // What chooses between vectors does so element by element.
            let name =
                if std::ptr::eq(def, &ng::compare::SELECT) { ng::compare::WHERE.name } else { def.name };
            return self.emit(name, &wide, attrs.clone());
        }
        let narrow = wide.iter().find_map(|&v| self.body.ty(v).format()).filter(|&f| is_narrow(f));
        if let Some(format) = narrow {
            for v in &mut wide {
                if self.body.ty(*v).format() == Some(format) {
                    *v = self.convert(*v, DType::Float(Format::F32))?;
                }
            }
        }
        let result = match def.semantics {
            Semantics::Elementwise(function) => {
                let types: Vec<Type> = wide.iter().map(|&v| self.body.ty(v)).collect();
                let signature = ngc_ir::Signature { def, operands: &types, attrs };
                let Elementwise { function, params } = function(&signature)?;
                self.rounded(def, attrs, &wide, function, &params, narrow)?
            }
            _ => self.emit(def.name, &wide, attrs.clone())?,
        };
        match narrow {
            Some(format) if self.body.ty(result).format().is_some() => {
                self.convert(result, DType::Float(format))
            }
            _ => Ok(result),
        }
    }

    fn rounded(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: &[Value],
        function: &'static ngc_numerics::ScalarFn,
        params: &[f64],
        narrow: Option<Format>,
    ) -> Emitted<Value> {
        let name = def.name;
        let Some(format) = self.body.ty(operands[0]).format() else {
            if wraps(function) {
                return self.emit(name, operands, attrs.clone());
            }
            return Err(format!("'{name}' of integers is not lowered to kernels yet"));
        };
        if !matches!(format, Format::F64 | Format::F32) {
            return Err(format!("'{name}' in {format} is not lowered to kernels yet"));
        }
        // A sum of a product and a number needs more bits than f32 has to be rounded once to a narrow format.
        let twice = narrow.is_some() && function.as_primitive() == Some(ngc_numerics::Prim::Fma);
        if rounds_once(function, params, format) && !twice {
            return self.emit(name, operands, attrs.clone());
        }
        let functions = self.functions;
        match functions.find(function.name, format).filter(|_| as_declared(def, params, format)) {
            Some(own) => {
                let error = own.max_ulp.map_or(Attr::Unit, Attr::from);
                self.inlined.set(format!("{}_{format}", function.name).as_str(), error);
                self.inline(&own.body, operands)
            }
            None => self.by_steps(operands, function, params, narrow.unwrap_or(format)),
        }
    }

    /// The ops of an implementation, on these operands.
    pub fn inline(&mut self, from: &Body, operands: &[Value]) -> Emitted<Value> {
        let entry = from.entry().ok_or("an implementation has no body")?;
        let lanes = operands.iter().find_map(|&v| self.body.ty(v).as_vector()).map_or(1, |v| v.lanes);
        let arguments = from.arguments(entry).iter().copied();
        let mut values: FxHashMap<Value, Value> = arguments.zip(operands.iter().copied()).collect();
        for op in from.ops(entry) {
            let def = from.op(op).def.ok_or("an implementation has an op that is not registered")?;
            let attrs = &from.op(op).attrs;
            let mut own = Vec::with_capacity(from.operands(op).len());
            for v in from.operands(op) {
                own.push(*values.get(v).ok_or("an implementation uses what it does not define")?);
            }
            if def.traits.terminator {
                return own.first().copied().ok_or_else(|| "an implementation returns nothing".into());
            }
            let made = match attrs.get("value").filter(|_| def.traits.constant) {
                Some(value) => vec![self.constant(value.clone())?],
                None => {
                    let vector = own.iter().any(|&v| self.body.ty(v).as_vector().is_some());
                    for v in &mut own {
                        *v = self.widened(*v, if vector { lanes } else { 1 })?;
                    }
                    let op = self.op(def.name, &own, attrs.clone())?;
                    self.body.results(op).collect()
                }
            };
            values.extend(from.results(op).zip(made));
        }
        Err("an implementation does not end in a return".into())
    }

    /// The value in another element type.
    pub fn convert(&mut self, value: Value, to: DType) -> Emitted<Value> {
        if self.body.ty(value).elem() == Some(to) {
            return Ok(value);
        }
        self.emit("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
    }

    /// An op by name, on elements.
    pub fn apply(&mut self, def: &'static OpDef, operands: &[Value]) -> Emitted<Value> {
        self.element(def, &AttrDict::EMPTY, operands)
    }

    /// A relation between elements.
    pub fn compare(&mut self, direction: &str, a: Value, b: Value) -> Emitted<Value> {
        self.element(&ng::compare::COMPARE, &AttrDict::from([("direction", Attr::from(direction))]), &[a, b])
    }
}

/// Whether kernels have values of the format.
pub(super) fn is_held(format: Format) -> bool {
    matches!(format, Format::F64 | Format::F32 | Format::F16 | Format::Bf16)
}

/// Whether values of the format are computed in f32 and rounded to it: f32 holds twice its digits and two more, so that the
/// second rounding does no harm (Figueroa 1995).
fn is_narrow(format: Format) -> bool {
    2 * format.precision() + 2 <= Format::F32.precision()
}
