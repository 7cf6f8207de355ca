//! Writes an assignment: ops in their formats, with the conversions between them.

use ngc_ir::{Body, Context, Op, Rewriter, Value};
use ngc_numerics::Format;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::accumulation::{Accumulation, Form};
use super::double::{self, Words};
use super::node::{attrs, with};
use crate::precision::storage::Storage;
use crate::precision::{constant, conversion, converted};
use crate::transform::erase_dead;

/// A body with ops in other formats than they are given in.
///
/// # Errors
/// What an op says against it: assignments are made of formats that ops take, so this is an error of ours.
pub fn apply(context: &Context, given: &Body, formats: &FxHashMap<Op, Form>) -> Result<Body, String> {
    let mut body = given.clone();
    let Some(block) = given.entry() else { return Ok(body) };
    let ops: Vec<Op> = given.ops(block).filter(|op| formats.contains_key(op)).collect();
    let mut writer = Writer {
        rewriter: Rewriter::new(context, &mut body),
        given,
        stored: FxHashMap::default(),
        known: FxHashMap::default(),
    };
    for op in ops {
        writer.op(op, formats[&op])?;
    }
    erase_dead(&mut body);
    Ok(body)
}

struct Writer<'a> {
    rewriter: Rewriter<'a>,
    given: &'a Body,
    /// By value as given: what is computed in its place.
    stored: FxHashMap<Value, Words>,
    /// Values as given, in other formats.
    known: FxHashMap<(Value, Format), Value>,
}

impl Writer<'_> {
    fn op(&mut self, op: Op, form: Form) -> Result<(), String> {
        let (old, format) = (self.given.result(op, 0), form.storage.word());
        let new = match form.storage {
            Storage::Word(_) => self.again(op, format, form.accumulation)?.into(),
            Storage::DoubleWord(_) => self.doubled(op, format)?,
        };
        self.stored.insert(old, new);
        self.known.insert((old, format), new.high);
        // Ops that stay as they are read it in the format that it was given in.
        let narrow = match self.given.ty(old).format() {
            Some(declared) if declared != format => self.rounded(op, new, declared)?,
            _ => new.high,
        };
        self.rewriter.replace_value(old, narrow);
        if let Some(declared) = self.given.ty(old).format() {
            self.known.insert((old, declared), narrow);
        }
        Ok(())
    }

    /// An op on operands of a format.
    fn again(&mut self, op: Op, format: Format, how: Option<Accumulation>) -> Result<Value, String> {
        let operands: SmallVec<[Value; 4]> = self.given.operands(op).into();
        let converts = matches!(conversion(self.given, op), Some((_, Some(_))));
        let mut new_operands = SmallVec::<[Value; 4]>::new();
        for v in operands {
            new_operands.push(if converts {
                self.converts(op, v, format)?
            } else {
                self.read(op, v, format)?
            });
        }
        let own = self.rewriter.body().ty(new_operands[0]).format();
        if converts && own == Some(format) {
            return Ok(new_operands[0]);
        }
        let (name, attrs) = (self.given.name(op), attrs(self.given, op, format, how));
        let new = self.rewriter.build_before(op, |b| b.emit(name, &new_operands, attrs))?;
        self.typed(op, new, format);
        Ok(new)
    }

    /// An op on operands of two words.
    fn doubled(&mut self, op: Op, format: Format) -> Result<Words, String> {
        let operands: SmallVec<[Value; 4]> = self.given.operands(op).into();
        let mut words = SmallVec::<[Words; 4]>::new();
        for v in operands {
            words.push(self.words(op, v, format)?);
        }
        let def = self.given.op(op).def.ok_or("an op that is not registered")?;
        let attrs = attrs(self.given, op, format, None);
        let new = self.rewriter.build_before(op, |b| double::write(b, format, def, &attrs, &words))?;
        for word in [Some(new.high), new.low].into_iter().flatten() {
            self.typed(op, word, format);
        }
        Ok(new)
    }

    /// Gives a value the extents of the op's result: they may be looser than what is inferred.
    fn typed(&mut self, op: Op, new: Value, format: Format) {
        let ty = with(self.given.ty(self.given.result(op, 0)), format);
        self.rewriter.body_mut().set_type(new, ty);
    }

    /// What is stored of a value.
    fn own(&self, v: Value) -> Words {
        self.stored.get(&v).copied().unwrap_or(v.into())
    }

    /// What a conversion to a format reads: what is stored, in whatever format that is.
    fn converts(&mut self, before: Op, v: Value, format: Format) -> Result<Value, String> {
        let own = self.own(v);
        if own.low.is_some() { self.rounded(before, own, format) } else { Ok(own.high) }
    }

    /// Words as one number of a format.
    fn rounded(&mut self, before: Op, words: Words, format: Format) -> Result<Value, String> {
        let high = converted(&mut self.rewriter, before, words.high, format)?;
        let word = self.rewriter.body().ty(words.high).format();
        match words.low.filter(|_| word.is_some_and(|word| word.precision() < format.precision())) {
            Some(low) => {
                let low = converted(&mut self.rewriter, before, low, format)?;
                self.rewriter.build_before(before, |b| b.emit("ng.add", &[high, low], []))
            }
            None => Ok(high),
        }
    }

    /// A value as given, in two words of a format.
    fn words(&mut self, before: Op, v: Value, format: Format) -> Result<Words, String> {
        let own = self.own(v);
        let word = self.rewriter.body().ty(own.high).format();
        match word {
            Some(word) if word == format => Ok(own),
            // What is wider falls into two words.
            Some(word) if word.precision() > format.precision() => {
                self.rewriter.build_before(before, |b| double::split(b, format, own.high, word))
            }
            _ => Ok(self.read(before, v, format)?.into()),
        }
    }

    /// A value as given, in a format, from what is stored of it.
    fn read(&mut self, before: Op, v: Value, format: Format) -> Result<Value, String> {
        let Some(own) = self.given.ty(v).format() else { return Ok(self.own(v).high) };
        if let Some(&known) = self.known.get(&(v, format)) {
            return Ok(known);
        }
        if !self.stored.contains_key(&v) && own == format {
            return Ok(v);
        }
        let stored = self.own(v);
        let word = self.rewriter.body().ty(stored.high).format();
        // A constant that was converted is taken as it was before.
        let source = self.given.defining_op(v).and_then(|op| conversion(self.given, op));
        let source = source.map(|(from, _)| from).filter(|from| constant(self.given, *from));
        let source = source.filter(|_| word.is_some_and(|word| word.precision() < format.precision()));
        let new = self.rounded(before, source.map_or(stored, Words::from), format)?;
        self.known.insert((v, format), new);
        Ok(new)
    }
}
