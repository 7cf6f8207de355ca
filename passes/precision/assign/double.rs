//! Ops on double words: what defines an op, with each sum, product, quotient and root taken of two words.

use std::sync::Arc;

use ngc_dialects::ng::convert::CONVERT;
use ngc_dialects::ng::reduce::REDUCE_SUM;
use ngc_dialects::{facts, transfer};
use ngc_ir::op_def::Elementwise;
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Dense, Loc, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Format, Prim};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::precision::convert;

/// Ops nested deeper than this have no double words.
const DEEPEST: usize = 32;
/// Sums are added up in pairs where they have at most so many terms.
const TERMS: usize = 1 << 24;

/// A value: its high word, or the value itself, and the low word, which may be nothing.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The sum of both, rounded.
    pub high: Value,
    /// What that leaves.
    pub low: Option<Value>,
}

impl From<Value> for Words {
    fn from(high: Value) -> Words {
        Words { high, low: None }
    }
}

/// Whether an op of these operand types is defined on double words of a format.
pub fn takes(context: &Context, def: &'static OpDef, types: &[Type], attrs: &AttrDict, word: Format) -> bool {
    let mut body = Body::new();
    let block = body.add_block(body.root());
    let mut words = Vec::new();
    for &ty in types {
        let high = body.add_argument(block, ty, Loc::Unknown);
        let low = (ty.format() == Some(word)).then(|| body.add_argument(block, ty, Loc::Unknown));
        words.push(Words { high, low });
    }
    let mut builder = Builder::at_end(context, &mut body, block, Loc::Unknown);
    let made = Double { builder: &mut builder, word }.op(def, attrs, &words, 0);
    made.is_ok_and(|made| made.len() == 1)
}

/// A value of a wider format as two words, written at the place of a builder.
///
/// # Errors
/// A fault of ours.
pub fn split(builder: &mut Builder<'_>, word: Format, value: Value, from: Format) -> Result<Words, String> {
    Double { builder, word }.split(value, from)
}

/// An op on double words of a format, written at the place of a builder.
///
/// # Errors
/// What of it is not defined on double words.
pub fn write(
    builder: &mut Builder<'_>,
    word: Format,
    def: &'static OpDef,
    attrs: &AttrDict,
    operands: &[Words],
) -> Result<Words, String> {
    let made = Double { builder, word }.op(def, attrs, operands, 0)?;
    made.first().copied().ok_or_else(|| format!("'{}' has no result", def.name))
}

struct Double<'a, 'b> {
    builder: &'a mut Builder<'b>,
    word: Format,
}

impl Double<'_, '_> {
    fn op(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: &[Words],
        depth: usize,
    ) -> Result<Vec<Words>, String> {
        let refused = || format!("'{}' is not defined on double words", def.name);
        if depth > DEEPEST {
            return Err(refused());
        }
        let types: SmallVec<[Type; 4]> = operands.iter().map(|x| self.builder.ty(x.high)).collect();
        let s = Signature { def, operands: &types, attrs };
        if let Some(to) = s.elem("to").filter(|_| std::ptr::eq(def, &CONVERT)) {
            return Ok(vec![self.converted(operands[0], to).ok_or_else(refused)??]);
        }
        if types.iter().all(|ty| ty.format() != Some(self.word)) && !def.traits.constant {
            // Places, truth values and other formats are as they are.
            return match s.infer()?.iter().all(|ty| ty.format().is_none()) {
                true => self.plain(def, attrs, operands),
                false => Err(refused()),
            };
        }
        if def.traits.constant {
            return self.plain(def, attrs, operands);
        }
        let results = s.infer()?;
        if let [ty] = results[..]
            && let Some(moved) = facts::moved(&s, 0, ty)
        {
            return self.moved(def, attrs, operands, &moved);
        }
        if std::ptr::eq(def, &REDUCE_SUM) {
            return Ok(vec![self.sum(&s, operands[0])?]);
        }
        match def.semantics {
            Semantics::Elementwise(of) => {
                let Elementwise { function, .. } = of(&s)?;
                let prim = function.as_primitive().ok_or_else(refused)?;
                Ok(vec![self.primitive(prim, operands).ok_or_else(refused)??])
            }
            Semantics::Decomposition(_) => {
                let steps = transfer::steps(&s).ok_or_else(refused)?;
                let (inner, block, ends) = &*steps;
                let arguments = inner.arguments(*block).iter().copied();
                let mut known: FxHashMap<Value, Words> = arguments.zip(operands.iter().copied()).collect();
                for op in inner.ops(*block) {
                    let own: Vec<Words> = inner.operands(op).iter().map(|v| known[v]).collect();
                    let step = inner.op(op).def.ok_or_else(refused)?;
                    let made = self.op(step, &inner.op(op).attrs, &own, depth + 1)?;
                    known.extend(inner.results(op).zip(made));
                }
                Ok(ends.iter().map(|v| known[v]).collect())
            }
            _ => Err(refused()),
        }
    }

    /// The op itself, of the high words, which are all that its operands have.
    fn plain(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: &[Words],
    ) -> Result<Vec<Words>, String> {
        let operands: Vec<Value> = operands.iter().map(|x| x.high).collect();
        let op = self.builder.op(def.name, &operands, attrs.clone())?;
        Ok(self.builder.body.results(op).map(Words::from).collect())
    }

    /// A value in another type.
    fn converted(&mut self, x: Words, to: DType) -> Option<Result<Words, String>> {
        let from = self.builder.ty(x.high).format();
        if to != DType::Float(self.word) {
            return from
                .filter(|from| *from == self.word)
                .is_none()
                .then(|| convert(self.builder, x.high, to).map(Words::from));
        }
        Some(match from {
            Some(from) if from == self.word => Ok(x),
            Some(from) if from.precision() > self.word.precision() => self.split(x.high, from),
            _ => convert(self.builder, x.high, to).map(Words::from),
        })
    }

    /// A number of a wider format as two words.
    fn split(&mut self, x: Value, from: Format) -> Result<Words, String> {
        let high = convert(self.builder, x, DType::Float(self.word))?;
        let back = convert(self.builder, high, DType::Float(from))?;
        let left = self.builder.emit("ng.sub", &[x, back], [])?;
        Ok(Words { high, low: Some(convert(self.builder, left, DType::Float(self.word))?) })
    }

    /// What only moves elements moves those of both words.
    fn moved(
        &mut self,
        def: &'static OpDef,
        attrs: &AttrDict,
        operands: &[Words],
        moved: &[usize],
    ) -> Result<Vec<Words>, String> {
        let highs: Vec<Value> = operands.iter().map(|x| x.high).collect();
        let high = self.builder.emit(def.name, &highs, attrs.clone())?;
        if moved.iter().all(|&n| operands[n].low.is_none()) {
            return Ok(vec![high.into()]);
        }
        let mut lows = highs;
        for &n in moved {
            lows[n] = match operands[n].low {
                Some(low) => low,
                None => self.zeros(operands[n].high)?,
            };
        }
        let low = self.builder.emit(def.name, &lows, attrs.clone())?;
        Ok(vec![Words { high, low: Some(low) }])
    }

    /// Zeros as many as there are elements of a value.
    fn zeros(&mut self, like: Value) -> Result<Value, String> {
        let ty = self.builder.ty(like);
        if ty.as_tensor().is_none() {
            return self.builder.scalar(0.0, like);
        }
        ty.static_shape().ok_or("the extents of a value of one word are not known")?;
        let bytes = vec![0; self.word.storage_bytes()];
        self.builder.constant(Attr::Dense(Arc::new(Dense { ty, bytes: bytes.into(), splat: true })))
    }

    fn primitive(&mut self, prim: Prim, x: &[Words]) -> Option<Result<Words, String>> {
        Some(match (prim, x) {
            (Prim::Add, [x, y]) => self.add(*x, *y),
            (Prim::Sub, [x, y]) => self.negated(*y).and_then(|y| self.add(*x, y)),
            (Prim::Neg, [x]) => self.negated(*x),
            (Prim::Mul, [x, y]) => self.joined("num.dw_mul", Some("num.two_product"), "ng.mul", &[*x, *y]),
            (Prim::Square, [x]) => self.joined("num.dw_mul", Some("num.two_product"), "ng.mul", &[*x, *x]),
            (Prim::Div, [x, y]) => self.joined("num.dw_div", None, "ng.div", &[*x, *y]),
            (Prim::Sqrt, [x]) => self.joined("num.dw_sqrt", None, "ng.sqrt", &[*x]),
            _ => return None,
        })
    }

    fn add(&mut self, x: Words, y: Words) -> Result<Words, String> {
        self.joined("num.dw_add", Some("num.two_sum"), "ng.add", &[x, y])
    }

    fn negated(&mut self, x: Words) -> Result<Words, String> {
        let high = self.builder.emit("ng.neg", &[x.high], [])?;
        let low = x.low.map(|low| self.builder.emit("ng.neg", &[low], [])).transpose()?;
        Ok(Words { high, low })
    }

    /// An op of double words. Of single ones there may be one whose result is exact. Where the `plain` op of the high words gives an
    /// infinity, or NaN, that is the result.
    fn joined(
        &mut self,
        double: &str,
        exact: Option<&str>,
        plain: &str,
        x: &[Words],
    ) -> Result<Words, String> {
        let highs: Vec<Value> = x.iter().map(|x| x.high).collect();
        if let Some(exact) = exact.filter(|_| x.iter().all(|x| x.low.is_none())) {
            let op = self.builder.op(exact, &highs, self.portable(exact))?;
            // Its first result is what the plain op gives.
            let [high, low] = [0, 1].map(|n| self.builder.body.result(op, n));
            let finite = self.builder.emit("ng.is_finite", &[high], [])?;
            return Ok(Words { high, low: Some(self.or_zero(finite, low)?) });
        }
        let mut words = Vec::with_capacity(2 * x.len());
        for x in x {
            words.push(x.high);
            words.push(match x.low {
                Some(low) => low,
                None => self.builder.scalar(0.0, x.high)?,
            });
        }
        let op = self.builder.op(double, &words, self.portable(double))?;
        let [high, low] = [0, 1].map(|n| self.builder.body.result(op, n));
        let rounded = self.builder.emit(plain, &highs, [])?;
        let finite = self.builder.emit("ng.is_finite", &[rounded], [])?;
        let high = self.builder.emit("ng.where", &[finite, high, rounded], [])?;
        Ok(Words { high, low: Some(self.or_zero(finite, low)?) })
    }

    /// The attributes with which an op is right where products and sums are not fused: what is written may run there.
    fn portable(&self, name: &str) -> AttrDict {
        match self.builder.context.op(name).is_some_and(|def| def.attribute("split").is_some()) {
            true => AttrDict::from([("split", Attr::Bool(true))]),
            false => AttrDict::EMPTY,
        }
    }

    fn or_zero(&mut self, condition: Value, value: Value) -> Result<Value, String> {
        let zero = self.builder.scalar(0.0, value)?;
        self.builder.emit("ng.where", &[condition, value, zero], [])
    }

    /// A sum of elements, in pairs.
    fn sum(&mut self, s: &Signature<'_>, x: Words) -> Result<Words, String> {
        let shape =
            s.operand(0)?.static_shape().ok_or("a sum of double words is one of a known number of terms")?;
        let given = s.ints("axes");
        let rank = shape.len() as i64;
        let mut axes: Vec<usize> = match given {
            Some(axes) => axes.iter().map(|&n| n.rem_euclid(rank.max(1)) as usize).collect(),
            None => (0..shape.len()).collect(),
        };
        axes.sort_unstable();
        let terms: usize = axes.iter().map(|&axis| shape[axis]).product();
        if terms == 0 || terms > TERMS {
            return Err(format!("a sum of {terms} terms is not defined on double words"));
        }
        let mut sum = x;
        for &axis in &axes {
            let mut n = shape[axis];
            while n > 1 {
                let half = n / 2;
                let (a, b) = (self.part(sum, axis, 0, half)?, self.part(sum, axis, half, 2 * half)?);
                let pairs = self.add(a, b)?;
                sum = match n % 2 {
                    0 => pairs,
                    _ => {
                        let last = self.part(sum, axis, n - 1, n)?;
                        self.each([pairs, last], |builder, words| {
                            builder.emit("ng.concat", words, [("axis", Attr::int(axis as i64))])
                        })?
                    }
                };
                n = n.div_ceil(2);
            }
        }
        if s.flag("keepdims") || axes.is_empty() {
            return Ok(sum);
        }
        let gone: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
        self.each([sum], |builder, words| {
            builder.emit("ng.squeeze", words, [("axes", Attr::ints(gone.clone()))])
        })
    }

    fn part(&mut self, x: Words, axis: usize, from: usize, to: usize) -> Result<Words, String> {
        let ints = |n: usize| Attr::ints([n as i64]);
        let attrs = [("axes", ints(axis)), ("starts", ints(from)), ("stops", ints(to))];
        self.each([x], |builder, words| builder.emit("ng.slice", words, attrs.clone()))
    }

    /// An op of the high words, and of the low ones.
    fn each<const N: usize>(
        &mut self,
        x: [Words; N],
        op: impl Fn(&mut Builder<'_>, &[Value]) -> Result<Value, String>,
    ) -> Result<Words, String> {
        let high = op(self.builder, &x.map(|x| x.high))?;
        if x.iter().all(|x| x.low.is_none()) {
            return Ok(high.into());
        }
        let mut lows = Vec::with_capacity(N);
        for x in x {
            lows.push(match x.low {
                Some(low) => low,
                None => self.zeros(x.high)?,
            });
        }
        Ok(Words { high, low: Some(op(self.builder, &lows)?) })
    }
}
