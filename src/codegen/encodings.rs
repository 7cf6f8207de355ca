//! Ops on encodings, bit by bit, and look-ups in constant tables.

use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::IntValue;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_dialects::num::{bits, table};
use ngc_ir::{OpDef, Signature, Type};
use ngc_numerics::{DType, Format, Tensor};

use crate::convert::held;
use crate::function::{Emission, fault};
use crate::registers::{Built, Element, Register, element, lanes};
use crate::scaling::{AVX512, WIDTH};

/// Pairs of registers that a table may take.
const MOST_PAIRS: usize = 3;

impl<'c> Emission<'_, 'c> {
    /// An op of `num` that machines have; nothing for any other op.
    pub fn of_encodings(&self, s: &Signature<'_>, x: &[Register<'c>], result: Type) -> Option<Built<'c>> {
        let r = &self.registers;
        let is = |def: &'static OpDef| std::ptr::eq(s.def, def);
        let by = || {
            let bits = s.int("bits").and_then(|bits| u64::try_from(bits).ok());
            bits.map(|bits| r.int(bits, x[0])).ok_or_else(|| "requires attribute 'bits'".to_string())
        };
        Some(match () {
            () if is(&bits::BITCAST) => result
                .elem()
                .ok_or_else(|| "gives no elements".into())
                .and_then(held)
                .and_then(|to| r.cast_bits(x[0], to)),
            () if is(&bits::ANDI) => r.and(x[0], x[1]),
            () if is(&bits::ORI) => r.or(x[0], x[1]),
            () if is(&bits::XORI) => r.xor(x[0], x[1]),
            () if is(&bits::SHLI) => by().and_then(|by| r.shl(x[0], by)),
            () if is(&bits::SHRUI) => by().and_then(|by| r.shr(x[0], by, false)),
            () if is(&bits::SHRSI) => by().and_then(|by| r.shr(x[0], by, true)),
            () if is(&table::TABLE) => self.entry(s, x[0]),
            () => return None,
        })
    }

    /// Entries of a small table of numbers, which lies in registers where a processor chooses among the elements of two.
    fn permuted(&self, table: &Tensor, at: Register<'c>) -> Option<Built<'c>> {
        let bits = match table.dtype {
            DType::Float(format @ (Format::F32 | Format::F64)) => format.width(),
            _ => return None,
        };
        let (values, all) = (table.to_f64s(), WIDTH / bits);
        let pair = 2 * all as usize;
        let whole = self.instructions.len() == AVX512.len() && lanes(at) > 1;
        if !whole || values.len() > MOST_PAIRS * pair {
            return None;
        }
        let r = &self.registers;
        let index = Element::Int(bits);
        let at = match element(at) {
            own if own == index => Ok(at),
            Element::Int(own) if own < bits => r.sext(at, index),
            _ => r.trunc(at, index),
        };
        let register = |entries: &[f64]| {
            let entry = |n: usize| r.number(entries.get(n).copied().unwrap_or(0.0), bits);
            VectorType::const_vector(&(0..all as usize).map(entry).collect::<Vec<_>>())
        };
        let choose = |x: &[Register<'c>]| {
            let mut found: Option<Register<'c>> = None;
            for (n, entries) in values.chunks(pair).enumerate() {
                let (low, high) = entries.split_at(entries.len().min(all as usize));
                let name =
                    format!("llvm.x86.avx512.vpermi2var.{}.{WIDTH}", if bits == 64 { "pd" } else { "ps" });
                let made =
                    self.instruction(&name, &[register(low).into(), x[0].into(), register(high).into()])?;
                found = Some(match found {
                    None => made,
                    Some(before) => {
                        let from = r.int((n * pair) as u64, x[0]);
                        r.select(r.icmp(IntPredicate::SGE, x[0], from)?, made, before)?
                    }
                });
            }
            found.ok_or_else(|| "has no entries".into())
        };
        Some(at.and_then(|at| self.in_registers(&[at], bits, &choose)))
    }

    /// Entries of a constant table, at places that lie in it: implementations are refused where that is not proven.
    fn entry(&self, s: &Signature<'_>, at: Register<'c>) -> Built<'c> {
        let table = attr_to_tensor(s.attr("values").ok_or("requires attribute 'values'")?)?;
        let to = held(table.dtype)?;
        if let Some(made) = self.permuted(&table, at) {
            return made;
        }
        let first = self.constants(&table.to_bytes());
        let r = &self.registers;
        let wide = if element(at) == Element::Int(64) { at } else { r.sext(at, Element::Int(64))? };
        let one = |place: IntValue<'c>| {
            r.builder.build_load(r.ty(to, 1), self.advance(first, place, to)?, "").map_err(fault)
        };
        match wide {
            Register::IntValue(place) => one(place),
            Register::VectorValue(places) => {
                let mut all = r.ty(to, lanes(wide)).into_vector_type().get_poison();
                for lane in 0..lanes(wide) {
                    let entry = one(r.extract(places, lane.into())?.into_int_value())?;
                    let lane = r.context.i32_type().const_int(lane.into(), false);
                    all = r.builder.build_insert_element(all, entry, lane, "").map_err(fault)?;
                }
                Ok(all.into())
            }
            _ => Err("takes integer places".into()),
        }
    }
}
