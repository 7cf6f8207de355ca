//! Writes an assignment: ops in their formats, with the conversions between them.

use ngc_ir::{Body, Context, Op, Rewriter, Value};
use ngc_numerics::{DType, Format};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::node::attrs;
use crate::precision::converted;
use crate::precision::widen::conversion;
use crate::transform::erase_dead;

/// Writes ops of a body in other formats than they are given in.
///
/// # Errors
/// What an op says against it: assignments are made of formats that ops take, so this is an error of ours.
pub fn apply(context: &Context, body: &mut Body, formats: &FxHashMap<Op, Format>) -> Result<(), String> {
    let given = body.clone();
    let Some(block) = given.entry() else { return Ok(()) };
    let ops: Vec<Op> = given.ops(block).filter(|op| formats.contains_key(op)).collect();
    let mut writer = Writer {
        rewriter: Rewriter::new(context, body),
        given: &given,
        stored: FxHashMap::default(),
        known: FxHashMap::default(),
    };
    for op in ops {
        writer.op(op, formats[&op])?;
    }
    erase_dead(body);
    Ok(())
}

struct Writer<'a> {
    rewriter: Rewriter<'a>,
    given: &'a Body,
    /// By value as given: the value that is computed in its place.
    stored: FxHashMap<Value, Value>,
    /// Values as given, in other formats.
    known: FxHashMap<(Value, Format), Value>,
}

impl Writer<'_> {
    fn op(&mut self, op: Op, format: Format) -> Result<(), String> {
        let old = self.given.result(op, 0);
        let operands: SmallVec<[Value; 4]> = self.given.operands(op).into();
        let mut new_operands = SmallVec::<[Value; 4]>::new();
        let converts = conversion(self.given, op).is_some();
        for v in operands {
            new_operands.push(if converts { self.stored_or_own(v) } else { self.read(op, v, format)? });
        }
        let own = self.rewriter.body().ty(new_operands[0]).format();
        let new = if converts && own == Some(format) {
            new_operands[0]
        } else {
            let (name, attrs) = (self.given.name(op), attrs(self.given, op, format));
            self.rewriter.build_before(op, |b| b.emit(name, &new_operands, attrs))?
        };
        if new != new_operands[0] || !converts {
            // The type may be looser than what is inferred.
            let ty = self.given.ty(old).with_elem(DType::Float(format));
            self.rewriter.body_mut().set_type(new, ty);
        }
        self.stored.insert(old, new);
        self.known.insert((old, format), new);
        // Ops that stay as they are read it in the format that it was given in.
        let narrow = match self.given.ty(old).format() {
            Some(declared) if declared != format => converted(&mut self.rewriter, op, new, declared)?,
            _ => new,
        };
        self.rewriter.replace_value(old, narrow);
        if let Some(declared) = self.given.ty(old).format() {
            self.known.insert((old, declared), narrow);
        }
        Ok(())
    }

    fn stored_or_own(&self, v: Value) -> Value {
        self.stored.get(&v).copied().unwrap_or(v)
    }

    /// A value as given, in a format, from what is stored of it.
    fn read(&mut self, before: Op, v: Value, format: Format) -> Result<Value, String> {
        let Some(own) = self.given.ty(v).format() else { return Ok(v) };
        if let Some(&known) = self.known.get(&(v, format)) {
            return Ok(known);
        }
        let stored = self.stored_or_own(v);
        if !self.stored.contains_key(&v) && own == format {
            return Ok(v);
        }
        let new = converted(&mut self.rewriter, before, stored, format)?;
        self.known.insert((v, format), new);
        Ok(new)
    }
}
