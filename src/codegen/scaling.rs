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
        Some(self.in_registers(x, |x| match () {
            () if is(&scale::SCALEB) => self.avx512("scalef", x, &[]),
            () if is(&scale::SIGNIFICAND) => self.avx512("getmant", x, &[integer(SIGNIFICAND)]),
            () => {
                let m = self.avx512("getmant", x, &[integer(SIGNIFICAND)])?;
                self.registers.fsub(self.avx512("getexp", x, &[])?, self.avx512("getexp", &[m], &[])?)
            }
        }))
    }

    /// An instruction on whole registers, all elements of which take part.
    fn avx512(
        &self,
        name: &str,
        x: &[Register<'c>],
        further: &[BasicMetadataValueEnum<'c>],
    ) -> Built<'c> {
        let r = &self.registers;
        let ty = if element(x[0]) == Element::Float(64) { "pd" } else { "ps" };
        let name = format!("llvm.x86.avx512.mask.{name}.{ty}.{WIDTH}");
        let declared = Intrinsic::find(&name).and_then(|i| i.get_declaration(self.module, &[]));
        let function = declared.ok_or_else(|| format!("internal error: LLVM has no intrinsic {name}"))?;
        let mask = if lanes(x[0]) == 16 { r.context.i16_type() } else { r.context.i8_type() };
        let all = mask.const_all_ones();
        let rounding = r.context.i32_type().const_int(CURRENT, false);
        let mut operands: Vec<BasicMetadataValueEnum<'c>> = x.iter().map(|&x| x.into()).collect();
        operands.extend_from_slice(further);
        operands.extend_from_slice(&[x[0].into(), all.into(), rounding.into()]);
        match r.builder.build_call(function, &operands, "").map_err(fault)?.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => Err(format!("internal error: {name} gives no value")),
        }
    }

    /// Fewer elements than a register has, in the first places of one.
    fn in_registers(
        &self,
        x: &[Register<'c>],
        op: impl Fn(&[Register<'c>]) -> Built<'c>,
    ) -> Built<'c> {
        let r = &self.registers;
        let Element::Float(bits) = element(x[0]) else { return Err("takes numbers".into()) };
        let (own, all) = (lanes(x[0]), WIDTH / bits);
        if own == all {
            return op(x);
        }
        let place = |n: u32| r.context.i32_type().const_int(n.into(), false);
        let places = |count: u32| -> Vec<_> { (0..count).map(|n| place(n % own)).collect() };
        let mut wide = Vec::new();
        for &x in x {
            wide.push(match x {
                Register::VectorValue(x) if own < all => {
                    let mask = inkwell::types::VectorType::const_vector(&places(all));
                    r.builder.build_shuffle_vector(x, x, mask, "").map_err(fault)?.into()
                }
                Register::VectorValue(_) => return Err("a vector is longer than a register".into()),
                x => r.broadcast(x, all)?,
            });
        }
        let made = op(&wide)?.into_vector_value();
        if own == 1 {
            return r.extract(made, 0);
        }
        let mask = inkwell::types::VectorType::const_vector(&places(own));
        r.builder.build_shuffle_vector(made, made, mask, "").map(Into::into).map_err(fault)
    }
}
