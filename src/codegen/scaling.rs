//! Ops of `num` on exponents that a processor has as instructions.

use inkwell::intrinsics::Intrinsic;
use inkwell::values::{BasicMetadataValueEnum, ValueKind};
use ngc_dialects::num::{choice, scale};
use ngc_ir::{OpDef, Signature};

use crate::function::{Emission, fault};
use crate::registers::{Built, Element, Register, element, lanes};

/// Bits of the registers of AVX-512, whose instructions these are.
pub(crate) const WIDTH: u32 = 512;

/// The ops that are instructions there, beside those of all processors.
pub(crate) const AVX512: &[&OpDef] = &[&choice::RARE, &scale::EXPONENT, &scale::SIGNIFICAND, &scale::SCALEB];

/// The ops of `num` that every processor has.
pub(crate) const ANYWHERE: &[&OpDef] = &[&choice::RARE];

/// What `vgetmant` is told: [3/4, 3/2), zeros without their sign, NaN for what is negative.
const SIGNIFICAND: u64 = 0b1111;
/// Roundings of an instruction as they are everywhere.
const CURRENT: u64 = 4;

impl<'c> Emission<'_, 'c> {
    /// An op on exponents; nothing for any other op.
    pub fn of_exponents(&self, s: &Signature<'_>, x: &[Register<'c>]) -> Option<Built<'c>> {
        let is = |def: &'static OpDef| std::ptr::eq(s.def, def);
        if !scale::OPS.iter().any(|def| is(def)) {
            return None;
        }
        if !self.instructions.iter().any(|def| is(def)) {
            return Some(Err("the processor has no such instruction".into()));
        }
        let integer = |n: u64| self.registers.context.i32_type().const_int(n, false).into();
        let Element::Float(bits) = element(x[0]) else { return Some(Err("takes numbers".into())) };
        Some(self.in_registers(x, bits, &|x| match () {
            () if is(&scale::SCALEB) => self.avx512("scalef", x, &[]),
            () if is(&scale::SIGNIFICAND) => self.avx512("getmant", x, &[integer(SIGNIFICAND)]),
            () => {
                let m = self.avx512("getmant", x, &[integer(SIGNIFICAND)])?;
                self.registers.fsub(self.avx512("getexp", x, &[])?, self.avx512("getexp", &[m], &[])?)
            }
        }))
    }

    /// An instruction on whole registers, all elements of which take part.
    fn avx512(&self, name: &str, x: &[Register<'c>], further: &[BasicMetadataValueEnum<'c>]) -> Built<'c> {
        let context = self.registers.context;
        let mask = if lanes(x[0]) == 16 { context.i16_type() } else { context.i8_type() };
        let rounding = context.i32_type().const_int(CURRENT, false);
        let mut operands: Vec<BasicMetadataValueEnum<'c>> = x.iter().map(|&x| x.into()).collect();
        operands.extend_from_slice(further);
        operands.extend_from_slice(&[x[0].into(), mask.const_all_ones().into(), rounding.into()]);
        let ty = if element(x[0]) == Element::Float(64) { "pd" } else { "ps" };
        self.instruction(&format!("llvm.x86.avx512.mask.{name}.{ty}.{WIDTH}"), &operands)
    }

    /// An intrinsic of a processor.
    pub fn instruction(&self, name: &str, operands: &[BasicMetadataValueEnum<'c>]) -> Built<'c> {
        let declared = Intrinsic::find(name).and_then(|i| i.get_declaration(self.module, &[]));
        let function = declared.ok_or_else(|| format!("internal error: LLVM has no intrinsic {name}"))?;
        match self.registers.builder.build_call(function, operands, "").map_err(fault)?.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => Err(format!("internal error: {name} gives no value")),
        }
    }

    /// Elements in whole registers: fewer than one has in the first places of it, more in several.
    pub fn in_registers(
        &self,
        x: &[Register<'c>],
        bits: u32,
        op: &dyn Fn(&[Register<'c>]) -> Built<'c>,
    ) -> Built<'c> {
        let (own, all) = (lanes(x[0]), WIDTH / bits);
        let part = |first: u32, count: u32| -> Result<Vec<Register<'c>>, String> {
            let places: Vec<u32> = (first..first + count).map(|n| n % own).collect();
            x.iter().map(|&x| self.registers.shuffle(x, x, &places)).collect()
        };
        if own == all {
            return op(x);
        }
        if own > all {
            let low = self.in_registers(&part(0, own / 2)?, bits, op)?;
            let high = self.in_registers(&part(own / 2, own / 2)?, bits, op)?;
            return self.registers.shuffle(low, high, &(0..own).collect::<Vec<_>>());
        }
        if own == 1 {
            let wide: Result<Vec<_>, _> = x.iter().map(|&x| self.registers.broadcast(x, all)).collect();
            return self.registers.extract(op(&wide?)?.into_vector_value(), 0);
        }
        let made = op(&part(0, all)?)?;
        self.registers.shuffle(made, made, &(0..own).collect::<Vec<_>>())
    }
}
