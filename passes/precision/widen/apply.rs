//! Computes a region in wider formats, and rounds at its border.

use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::{Attr, Body, Context, Op, Rewriter, Type, Value};
use ngc_numerics::Format;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::need::{constant, conversion};
use crate::precision::{attributes, converted};

/// What is held in a wider format.
#[derive(Default)]
pub struct Region {
    /// Ops that compute in a wider format, and which.
    pub ops: FxHashMap<Op, Format>,
    /// Results of these ops that are not rounded.
    pub values: FxHashSet<Value>,
}

/// Writes a region.
pub fn apply(context: &Context, body: &mut Body, region: &Region) {
    let Some(block) = body.entry().filter(|_| !region.ops.is_empty()) else { return };
    let ops: Vec<Op> = body.ops(block).filter(|op| region.ops.contains_key(op)).collect();
    let mut writer = Writer { rewriter: Rewriter::new(context, body), region, wide: FxHashMap::default() };
    for op in ops {
        // What cannot be written stays: the region was made of ops that take the wider type.
        let written = writer.op(op, region.ops[&op]);
        debug_assert!(written.is_ok(), "{written:?}");
    }
}

struct Writer<'a> {
    rewriter: Rewriter<'a>,
    region: &'a Region,
    /// Values in a wider format, by what they are in the narrow one.
    wide: FxHashMap<Value, Value>,
}

impl Writer<'_> {
    /// Computes the result of an op in a format.
    fn op(&mut self, op: Op, format: Format) -> Result<(), String> {
        let old = self.rewriter.body().result(op, 0);
        let new = match conversion(self.rewriter.body(), op) {
            Some((from, _)) if self.region.values.contains(&old) => {
                converted(&mut self.rewriter, op, from, format)?
            }
            Some((from, Some(to))) => {
                let from = self.widened(op, from, format)?;
                converted(&mut self.rewriter, op, from, to)?
            }
            _ => self.again(op, format)?,
        };
        let ty = self.rewriter.body().ty(old);
        if self.region.values.contains(&old) {
            self.wide.insert(old, new);
            let users = self.rewriter.users(old);
            if users.iter().all(|user| self.region.ops.contains_key(user)) {
                return Ok(());
            }
        }
        let narrow = match (self.rewriter.body().ty(new).format(), ty.format()) {
            (Some(from), Some(to)) if from != to => converted(&mut self.rewriter, op, new, to)?,
            _ => new,
        };
        if self.region.values.contains(&old) {
            self.wide.insert(narrow, new);
        }
        self.rewriter.replace_value(old, narrow);
        Ok(())
    }

    /// An op on wider operands.
    fn again(&mut self, op: Op, format: Format) -> Result<Value, String> {
        let operands: SmallVec<[Value; 4]> = self.rewriter.body().operands(op).into();
        let operands = operands
            .into_iter()
            .map(|v| self.widened(op, v, format))
            .collect::<Result<SmallVec<[Value; 4]>, String>>()?;
        let body = self.rewriter.body();
        let mut attrs = attributes(body, op);
        let narrow = |attr: &Attr| {
            attr.as_type().and_then(Type::format).is_some_and(|f| f.precision() <= format.precision())
        };
        if attrs.get(ACCUMULATE.name).is_some_and(narrow) {
            attrs.remove(ACCUMULATE.name);
        }
        let (name, ty) = (body.name(op), body.ty(body.result(op, 0)));
        let new = self.rewriter.build_before(op, |b| b.emit(name, &operands, attrs))?;
        // The type may be looser than what is inferred.
        let elem = self.rewriter.body().ty(new).elem();
        if let Some(elem) = elem {
            self.rewriter.body_mut().set_type(new, ty.with_elem(elem));
        }
        Ok(new)
    }

    /// A value in a format, if its own is narrower. A constant that was converted is taken as it was before.
    fn widened(&mut self, before: Op, value: Value, format: Format) -> Result<Value, String> {
        if let Some(&wide) = self.wide.get(&value) {
            return Ok(wide);
        }
        let body = self.rewriter.body();
        if body.ty(value).format().is_none_or(|own| own.width() >= format.width()) {
            return Ok(value);
        }
        let source = body.defining_op(value).and_then(|op| conversion(body, op)).map(|(from, _)| from);
        let from = source.filter(|&from| constant(body, from)).unwrap_or(value);
        let wide = converted(&mut self.rewriter, before, from, format)?;
        self.wide.insert(value, wide);
        Ok(wide)
    }
}
