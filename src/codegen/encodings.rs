//! Ops on encodings, bit by bit, and look-ups in constant tables.

use inkwell::values::IntValue;
use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_dialects::num::{bits, table};
use ngc_ir::{OpDef, Signature, Type};

use crate::convert::held;
use crate::function::{Emission, fault};
use crate::registers::{Built, Element, Register, element, lanes};

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

    /// Entries of a constant table, at places that lie in it: implementations are refused where that is not proven.
    fn entry(&self, s: &Signature<'_>, at: Register<'c>) -> Built<'c> {
        let table = attr_to_tensor(s.attr("values").ok_or("requires attribute 'values'")?)?;
        let to = held(table.dtype)?;
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
