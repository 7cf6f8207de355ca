//! Sums and other reductions, term by term as the graph says: see [`ngc_numerics::sum`], which this repeats in loops.

use ngc_dialects::ng::{arith, compare};
use ngc_ir::{Attr, OpDef, Type, Value};
use ngc_numerics::{DType, Reduce, SumMethod};

use super::emit::{Count, Emitted, Emitter};

/// How terms become one value.
#[derive(Clone, Copy)]
pub(super) struct Combination {
    pub kind: Reduce,
    pub method: SumMethod,
    /// The type of the running values.
    pub elem: DType,
    pub lanes: usize,
}

impl Combination {
    fn op(&self) -> &'static OpDef {
        match self.kind {
            Reduce::Sum => &arith::ADD,
            Reduce::Prod => &arith::MUL,
            Reduce::Max => &arith::MAX,
            Reduce::Min => &arith::MIN,
        }
    }

    fn number(&self, e: &mut Emitter<'_>, value: f64) -> Emitted<Value> {
        let number = e.number(value, self.elem)?;
        e.widened(number, self.lanes)
    }

    /// What stands before the first term. A sum begins with -0, to which adding a number gives that number, whatever its sign.
    pub fn start(&self, e: &mut Emitter<'_>) -> Emitted<Vec<Value>> {
        let first = match (self.kind, self.elem.format()) {
            (Reduce::Sum, Some(_)) => self.number(e, -0.0)?,
            (kind, Some(_)) => self.number(e, kind.of_nothing())?,
            (kind, None) => {
                let (least, greatest) = self.elem.int_range();
                let value = match kind {
                    Reduce::Sum => 0,
                    Reduce::Prod => 1,
                    Reduce::Max => least,
                    Reduce::Min => greatest,
                };
                let attr = match self.elem {
                    DType::BOOL => Attr::Bool(value != 0),
                    elem => Attr::Int(value, Type::scalar(elem)),
                };
                let first = e.constant(attr)?;
                e.widened(first, self.lanes)?
            }
        };
        match self.method {
            SumMethod::Kahan | SumMethod::Neumaier => Ok(vec![first, self.number(e, 0.0)?]),
            SumMethod::Naive | SumMethod::Pairwise => Ok(vec![first]),
        }
    }

    /// The running values with one more term.
    pub fn step(&self, e: &mut Emitter<'_>, running: &[Value], x: Value) -> Emitted<Vec<Value>> {
        let s = running[0];
        match self.method {
            SumMethod::Naive | SumMethod::Pairwise => Ok(vec![e.apply(self.op(), &[s, x])?]),
            SumMethod::Kahan => {
                let c = running[1];
                let y = e.apply(&arith::SUB, &[x, c])?;
                let t = e.apply(&arith::ADD, &[s, y])?;
                let gained = e.apply(&arith::SUB, &[t, s])?;
                let lost = e.apply(&arith::SUB, &[gained, y])?;
                Ok(vec![t, self.finite(e, lost)?])
            }
            SumMethod::Neumaier => {
                let c = running[1];
                let t = e.apply(&arith::ADD, &[s, x])?;
                let (sizes, sizex) = (e.apply(&arith::ABS, &[s])?, e.apply(&arith::ABS, &[x])?);
                let larger = e.compare("GE", sizes, sizex)?;
                let large = e.apply(&compare::WHERE, &[larger, s, x])?;
                let small = e.apply(&compare::WHERE, &[larger, x, s])?;
                let gained = e.apply(&arith::SUB, &[large, t])?;
                let lost = e.apply(&arith::ADD, &[gained, small])?;
                let c = e.apply(&arith::ADD, &[c, lost])?;
                Ok(vec![t, self.finite(e, c)?])
            }
        }
    }

    /// A compensation that is not finite counts as zero, so that an overflow stays an infinity.
    fn finite(&self, e: &mut Emitter<'_>, c: Value) -> Emitted<Value> {
        let finite = e.apply(&compare::IS_FINITE, &[c])?;
        let zero = self.number(e, 0.0)?;
        e.apply(&compare::WHERE, &[finite, c, zero])
    }

    /// The value of `count` terms.
    pub fn finish(&self, e: &mut Emitter<'_>, running: &[Value], count: Count) -> Emitted<Value> {
        let sum = match running {
            [s, c] if self.method == SumMethod::Neumaier => {
                // Without this a sum of -0 would lose its sign to a compensation of +0.
                let zero = self.number(e, 0.0)?;
                let corrects = e.compare("NE", *c, zero)?;
                let corrected = e.apply(&arith::ADD, &[*s, *c])?;
                e.apply(&compare::WHERE, &[corrects, corrected, *s])?
            }
            _ => running[0],
        };
        // The sum of nothing is +0.
        if self.kind != Reduce::Sum || !self.elem.is_float() {
            return Ok(sum);
        }
        match count {
            Count::Known(0) => self.number(e, 0.0),
            Count::Known(_) => Ok(sum),
            Count::Value(count) => {
                let none = e.value(Count::Known(0))?;
                let empty = e.compare("EQ", count, none)?;
                let empty = e.widened(empty, self.lanes)?;
                let zero = self.number(e, 0.0)?;
                e.apply(&compare::WHERE, &[empty, zero, sum])
            }
        }
    }

    /// Adds up the terms in a buffer in place, by the tree whose left halves are the greatest powers of two: on each level
    /// every second sum takes in its right neighbour.
    pub fn tree(&self, e: &mut Emitter<'_>, terms: Value, count: Count) -> Emitted<Value> {
        let lane = e.value(Count::Known(0))?;
        // With 2^47 terms an address space is full.
        let levels = match count {
            Count::Known(n) => i64::from(64 - (n.max(1) - 1).leading_zeros()),
            Count::Value(_) => 47,
        };
        let one = e.value(Count::Known(1))?;
        let this = *self;
        e.repeat(
            [Count::Known(0), Count::Known(levels), Count::Known(1)],
            &[one],
            &mut (),
            |e, (), _, span| {
                let span = Count::Value(span[0]);
                let double = e.plus(span, span)?;
                let end = e.minus(count, span)?;
                e.repeat([Count::Known(0), end, double], &[], &mut (), |e, (), left, _| {
                    let right = e.plus(left, span)?;
                    let (left, right) = (e.value(left)?, e.value(right)?);
                    let a = this.load(e, terms, &[left, lane])?;
                    let b = this.load(e, terms, &[right, lane])?;
                    let sum = e.apply(this.op(), &[a, b])?;
                    e.op("kernel.store", &[sum, terms, left, lane], ngc_ir::AttrDict::EMPTY)?;
                    Ok(Vec::new())
                })?;
                Ok(vec![e.value(double)?])
            },
        )?;
        match count {
            Count::Known(0) => self.number(e, 0.0),
            Count::Known(_) => self.load(e, terms, &[lane, lane]),
            Count::Value(count) => {
                let some = e.compare("GT", count, lane)?;
                let zero = self.number(e, 0.0)?;
                e.emit("kernel.masked_load", &[terms, some, zero, lane, lane], super::lanes(self.lanes))
            }
        }
    }

    fn load(&self, e: &mut Emitter<'_>, buffer: Value, place: &[Value]) -> Emitted<Value> {
        let operands: Vec<Value> = std::iter::once(buffer).chain(place.iter().copied()).collect();
        e.emit("kernel.load", &operands, super::lanes(self.lanes))
    }
}
