//! Ops on elements: what a formula's primitives are to the processor.

use inkwell::{FloatPredicate, IntPredicate};
use ngc_ir::op_def::Elementwise;
use ngc_ir::structure::{Element as Meaning, Function};
use ngc_ir::{Semantics, Signature, Type};
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::program::Step;
use ngc_numerics::{Cmp, DType, Format, Prim};
use ngc_passes::lowering::functions::{constant, rounds_once, wraps};

use crate::function::Emission;
use crate::registers::{Built, Element, Register, element};

impl<'c> Emission<'_, 'c> {
    /// An op of `ng` on scalars or vectors, whose results have this type.
    pub fn elementwise(&self, s: &Signature<'_>, operands: &[Register<'c>], result: Type) -> Built<'c> {
        let refused = || Err(format!("'{}' has no meaning in native code", s.def.name));
        if let Semantics::Elementwise(of) = s.def.semantics {
            let Elementwise { function, params } = of(s)?;
            let of_type = |ty: &Type| ty.elem();
            if s.operands.iter().any(|ty| of_type(ty) != result.elem()) {
                return refused();
            }
            return match result.elem() {
                Some(DType::Float(format @ (Format::F32 | Format::F64))) => {
                    if !rounds_once(function, &params, format) {
                        return refused();
                    }
                    self.formula(function, &params, operands, format)
                }
                Some(DType::Float(_)) | None => refused(),
                Some(DType::BOOL) => refused(),
                Some(elem @ DType::Unsigned(_)) if wraps(function) => {
                    let i64 = DType::Int(64);
                    let whole = operands.iter().map(|&x| self.convert(x, elem, i64));
                    let whole = whole.collect::<Result<Vec<_>, String>>()?;
                    self.convert(self.formula(function, &params, &whole, Format::F64)?, i64, elem)
                }
                Some(elem) if wraps(function) || self.is_place(function.as_primitive(), elem) => {
                    self.formula(function, &params, operands, Format::F64)
                }
                Some(_) => refused(),
            };
        }
        if std::ptr::eq(s.def, &ngc_dialects::ng::convert::CONVERT) {
            let (from, to) = (s.operands[0].elem(), result.elem());
            let (Some(from), Some(to)) = (from, to) else { return refused() };
            return self.convert(operands[0], from, to);
        }
        if let Some(made) = self.of_encodings(s, operands, result).or_else(|| self.of_exponents(s, operands))
        {
            return made;
        }
        // What else is pointwise says so in its structure.
        let scalars = vec![Vec::new(); s.operands.len()];
        let found = ngc_dialects::structure::structures(s, &scalars).unwrap_or_default();
        let Some(Meaning::Apply(function, _)) = found.first().map(|structure| &structure.element) else {
            return refused();
        };
        let float = s.operands[0].format();
        match (function, float) {
            (Function::Compare(cmp), Some(Format::F32 | Format::F64)) => {
                self.registers.fcmp(float_predicate(*cmp), operands[0], operands[1])
            }
            (Function::Compare(cmp), None) => {
                // A truth value is 0 or 1, which are not negative.
                let signed = !matches!(s.operands[0].elem(), Some(DType::BOOL | DType::Unsigned(_)));
                self.registers.icmp(int_predicate(*cmp, signed), operands[0], operands[1])
            }
            (Function::Logical(Logical::And), None) => self.registers.and(operands[0], operands[1]),
            (Function::Logical(Logical::Or), None) => self.registers.or(operands[0], operands[1]),
            (Function::Logical(Logical::Xor), None) => self.registers.xor(operands[0], operands[1]),
            (Function::Not, None) => {
                let ones = self.registers.int(u64::MAX, operands[0]);
                self.registers.xor(operands[0], ones)
            }
            (Function::Choose, _) => self.registers.select(operands[0], operands[1], operands[2]),
            (Function::Classify(class), Some(Format::F32 | Format::F64)) => {
                self.classify(*class, operands[0])
            }
            _ => refused(),
        }
    }

    /// Quotients and remainders are of places alone, whose divisors are extents.
    fn is_place(&self, prim: Option<Prim>, elem: DType) -> bool {
        elem == DType::Index && matches!(prim, Some(Prim::Div | Prim::Rem))
    }

    fn classify(&self, class: Class, x: Register<'c>) -> Built<'c> {
        let r = &self.registers;
        let infinity = r.float(f64::INFINITY, x);
        let magnitude = r.intrinsic(self.module, "llvm.fabs", &[x], None)?;
        match class {
            Class::Nan => r.fcmp(FloatPredicate::UNO, x, x),
            Class::Finite => r.fcmp(FloatPredicate::OLT, magnitude, infinity),
            Class::Infinite => r.fcmp(FloatPredicate::OEQ, magnitude, infinity),
        }
    }

    fn formula(
        &self,
        function: &ngc_numerics::ScalarFn,
        params: &[f64],
        operands: &[Register<'c>],
        format: Format,
    ) -> Built<'c> {
        let program = function.program();
        let mut values: Vec<Register<'c>> = Vec::new();
        let mut chooses = false;
        for step in program.steps() {
            let value = match step {
                Step::Var(n) => operands[*n],
                Step::Param(n) => self.registers.float(params[*n], operands[0]),
                Step::Const(n) => {
                    let value = constant(&program.constants()[*n], format);
                    let value =
                        value.ok_or_else(|| format!("a constant of {} is not in {format}", function.name))?;
                    self.registers.float(value, operands[0])
                }
                Step::Apply(prim, of) => {
                    let of: Vec<Register<'c>> = of[..prim.arity()].iter().map(|&n| values[n]).collect();
                    self.primitive(*prim, &of)?
                }
                Step::Select(cmp, [a, b, yes, no]) => {
                    chooses = true;
                    let holds = match element(values[*a]) {
                        Element::Float(_) => {
                            self.registers.fcmp(float_predicate(*cmp), values[*a], values[*b])?
                        }
                        Element::Int(_) => {
                            self.registers.icmp(int_predicate(*cmp, true), values[*a], values[*b])?
                        }
                    };
                    self.registers.select(holds, values[*yes], values[*no])?
                }
            };
            values.push(value);
        }
        let mut value = values.pop().ok_or("a formula without steps")?;
        // NaN in, NaN out, even where a choice does not take it.
        if chooses && let Element::Float(_) = element(value) {
            for &x in operands {
                let is_nan = self.registers.fcmp(FloatPredicate::UNO, x, x)?;
                value = self.registers.select(is_nan, x, value)?;
            }
        }
        Ok(value)
    }

    fn primitive(&self, prim: Prim, x: &[Register<'c>]) -> Built<'c> {
        match element(x[0]) {
            Element::Float(bits) => self.of_floats(prim, x, bits),
            Element::Int(_) => self.of_integers(prim, x),
        }
    }

    fn of_floats(&self, prim: Prim, x: &[Register<'c>], bits: u32) -> Built<'c> {
        let r = &self.registers;
        let call = |name: &str| r.intrinsic(self.module, name, x, None);
        match prim {
            Prim::Add => r.fadd(x[0], x[1]),
            Prim::Sub => r.fsub(x[0], x[1]),
            Prim::Mul => r.fmul(x[0], x[1]),
            Prim::Div => r.fdiv(x[0], x[1]),
            Prim::Square => r.fmul(x[0], x[0]),
            Prim::Neg => r.fneg(x[0]),
            Prim::Fma => call("llvm.fma"),
            Prim::Sqrt => call("llvm.sqrt"),
            Prim::Abs => call("llvm.fabs"),
            Prim::Min => call("llvm.minimum"),
            Prim::Max => call("llvm.maximum"),
            Prim::Floor if self.rounds => call("llvm.floor"),
            Prim::Ceil if self.rounds => call("llvm.ceil"),
            Prim::Trunc if self.rounds => call("llvm.trunc"),
            Prim::RoundEven if self.rounds => call("llvm.roundeven"),
            Prim::Floor | Prim::Ceil | Prim::Trunc | Prim::RoundEven => self.rounded(prim, x[0], bits),
            Prim::Sign => {
                let one = r.intrinsic(self.module, "llvm.copysign", &[r.float(1.0, x[0]), x[0]], None)?;
                let stays = r.fcmp(FloatPredicate::UEQ, x[0], r.float(0.0, x[0]))?;
                r.select(stays, x[0], one)
            }
            _ => Err(format!("{} has no instruction", prim.name())),
        }
    }

    /// To an integer by additions, where the processor has no instruction: beyond 2^52 (2^23 in f32) every number is one.
    fn rounded(&self, prim: Prim, x: Register<'c>, bits: u32) -> Built<'c> {
        let r = &self.registers;
        let large = r.float(if bits == 64 { 2f64.powi(52) } else { 2f64.powi(23) }, x);
        let one = r.float(1.0, x);
        let magnitude = r.intrinsic(self.module, "llvm.fabs", &[x], None)?;
        let near = r.fsub(r.fadd(magnitude, large)?, large)?;
        let small = r.fcmp(FloatPredicate::OLT, magnitude, large)?;
        let sign = |y: Register<'c>| r.intrinsic(self.module, "llvm.copysign", &[y, x], None);
        let correct = |y: Register<'c>, beside: FloatPredicate, of: Register<'c>, up: bool| {
            let other = if up { r.fadd(y, one)? } else { r.fsub(y, one)? };
            r.select(r.fcmp(beside, y, of)?, other, y)
        };
        let result = match prim {
            Prim::Trunc => correct(near, FloatPredicate::OGT, magnitude, false)?,
            Prim::Floor => correct(sign(near)?, FloatPredicate::OGT, x, false)?,
            Prim::Ceil => correct(sign(near)?, FloatPredicate::OLT, x, true)?,
            _ => near,
        };
        r.select(small, sign(result)?, x)
    }

    fn of_integers(&self, prim: Prim, x: &[Register<'c>]) -> Built<'c> {
        let r = &self.registers;
        let less = || r.icmp(IntPredicate::SLT, x[0], x[1]);
        let negative = || r.icmp(IntPredicate::SLT, x[0], r.int(0, x[0]));
        let negated = || r.sub(r.int(0, x[0]), x[0]);
        match prim {
            Prim::Add => r.add(x[0], x[1]),
            Prim::Sub => r.sub(x[0], x[1]),
            Prim::Mul => r.mul(x[0], x[1]),
            Prim::Square => r.mul(x[0], x[0]),
            Prim::Neg => negated(),
            Prim::Abs => r.select(negative()?, negated()?, x[0]),
            Prim::Min => r.select(less()?, x[0], x[1]),
            Prim::Max => r.select(less()?, x[1], x[0]),
            Prim::Sign => {
                let positive = r.icmp(IntPredicate::SGT, x[0], r.int(0, x[0]))?;
                let up = r.select(positive, r.int(1, x[0]), r.int(0, x[0]))?;
                r.select(negative()?, r.int(u64::MAX, x[0]), up)
            }
            Prim::Div | Prim::Rem => {
                // An extent of 0 divides no place: its loops do not run, but LLVM may divide before them.
                let none = r.icmp(IntPredicate::EQ, x[1], r.int(0, x[1]))?;
                let divisor = r.select(none, r.int(1, x[1]), x[1])?;
                if prim == Prim::Div { r.sdiv(x[0], divisor) } else { r.srem(x[0], divisor) }
            }
            _ => Err(format!("{} of integers has no instruction", prim.name())),
        }
    }
}

fn float_predicate(cmp: Cmp) -> FloatPredicate {
    match cmp {
        Cmp::Eq => FloatPredicate::OEQ,
        Cmp::Ne => FloatPredicate::UNE,
        Cmp::Lt => FloatPredicate::OLT,
        Cmp::Le => FloatPredicate::OLE,
        Cmp::Gt => FloatPredicate::OGT,
        Cmp::Ge => FloatPredicate::OGE,
    }
}

fn int_predicate(cmp: Cmp, signed: bool) -> IntPredicate {
    match (cmp, signed) {
        (Cmp::Eq, _) => IntPredicate::EQ,
        (Cmp::Ne, _) => IntPredicate::NE,
        (Cmp::Lt, true) => IntPredicate::SLT,
        (Cmp::Le, true) => IntPredicate::SLE,
        (Cmp::Gt, true) => IntPredicate::SGT,
        (Cmp::Ge, true) => IntPredicate::SGE,
        (Cmp::Lt, false) => IntPredicate::ULT,
        (Cmp::Le, false) => IntPredicate::ULE,
        (Cmp::Gt, false) => IntPredicate::UGT,
        (Cmp::Ge, false) => IntPredicate::UGE,
    }
}
