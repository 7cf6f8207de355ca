//! LLVM values of one element or of several, alike: what inkwell keeps apart by type.

use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicValueEnum, FloatValue, IntValue, ValueKind, VectorValue};
use inkwell::{FloatPredicate, IntPredicate};

/// A value of one element or of several.
pub(crate) type Register<'c> = BasicValueEnum<'c>;
/// The error is a fault of ngc: LLVM refused what it was asked to build.
pub(crate) type Built<'c> = Result<Register<'c>, String>;

/// Builds instructions.
pub(crate) struct Registers<'c> {
    pub context: &'c Context,
    pub builder: Builder<'c>,
}

/// The element type of a register.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Element {
    Float(u32),
    Int(u32),
}

fn fault(e: BuilderError) -> String {
    format!("internal error: LLVM refuses an instruction: {e}")
}

fn mixed<'c>(what: &str) -> Built<'c> {
    Err(format!("internal error: operands of {what} are of different kinds"))
}

macro_rules! binary {
    ($($name:ident $kind:ident $build:ident;)*) => {$(
        pub fn $name(&self, x: Register<'c>, y: Register<'c>) -> Built<'c> {
            match (x, y) {
                (Register::$kind(x), Register::$kind(y)) => {
                    self.builder.$build(x, y, "").map(Into::into).map_err(fault)
                }
                (Register::VectorValue(x), Register::VectorValue(y)) => {
                    self.builder.$build(x, y, "").map(Into::into).map_err(fault)
                }
                _ => mixed(stringify!($name)),
            }
        }
    )*};
}

macro_rules! cast {
    ($($name:ident $from:ident $to:ident $build:ident;)*) => {$(
        pub fn $name(&self, x: Register<'c>, to: Element) -> Built<'c> {
            match (x, self.ty(to, lanes(x))) {
                (Register::$from(x), BasicTypeEnum::$to(ty)) => {
                    self.builder.$build(x, ty, "").map(Into::into).map_err(fault)
                }
                (Register::VectorValue(x), BasicTypeEnum::VectorType(ty)) => {
                    self.builder.$build(x, ty, "").map(Into::into).map_err(fault)
                }
                _ => mixed(stringify!($name)),
            }
        }
    )*};
}

/// How many elements a register has.
pub(crate) fn lanes(x: Register<'_>) -> u32 {
    match x {
        Register::VectorValue(v) => v.get_type().get_size(),
        _ => 1,
    }
}

/// The element type of a register.
pub(crate) fn element(x: Register<'_>) -> Element {
    let ty = match x {
        Register::VectorValue(v) => v.get_type().get_element_type(),
        x => x.get_type(),
    };
    match ty {
        BasicTypeEnum::IntType(ty) => Element::Int(ty.get_bit_width()),
        BasicTypeEnum::FloatType(ty) => Element::Float(ty.get_bit_width()),
        _ => Element::Int(0),
    }
}

impl<'c> Registers<'c> {
    binary! {
        fadd FloatValue build_float_add;
        fsub FloatValue build_float_sub;
        fmul FloatValue build_float_mul;
        fdiv FloatValue build_float_div;
        add IntValue build_int_add;
        sub IntValue build_int_sub;
        mul IntValue build_int_mul;
        sdiv IntValue build_int_signed_div;
        srem IntValue build_int_signed_rem;
        and IntValue build_and;
        or IntValue build_or;
        xor IntValue build_xor;
        shl IntValue build_left_shift;
    }

    cast! {
        fptrunc FloatValue FloatType build_float_trunc;
        fpext FloatValue FloatType build_float_ext;
        sitofp IntValue FloatType build_signed_int_to_float;
        uitofp IntValue FloatType build_unsigned_int_to_float;
        trunc IntValue IntType build_int_truncate;
        zext IntValue IntType build_int_z_extend;
        sext IntValue IntType build_int_s_extend;
    }

    /// The type of registers of so many elements.
    pub fn ty(&self, element: Element, lanes: u32) -> BasicTypeEnum<'c> {
        let one: BasicTypeEnum<'c> = match element {
            Element::Float(64) => self.context.f64_type().into(),
            Element::Float(_) => self.context.f32_type().into(),
            Element::Int(1) => self.context.bool_type().into(),
            Element::Int(8) => self.context.i8_type().into(),
            Element::Int(16) => self.context.i16_type().into(),
            Element::Int(32) => self.context.i32_type().into(),
            Element::Int(_) => self.context.i64_type().into(),
        };
        if lanes == 1 { one } else { vector(one, lanes).into() }
    }

    /// Shifts right, with copies of the sign bit or with zeros.
    pub fn shr(&self, x: Register<'c>, y: Register<'c>, signed: bool) -> Built<'c> {
        match (x, y) {
            (Register::IntValue(x), Register::IntValue(y)) => {
                self.builder.build_right_shift(x, y, signed, "").map(Into::into).map_err(fault)
            }
            (Register::VectorValue(x), Register::VectorValue(y)) => {
                self.builder.build_right_shift(x, y, signed, "").map(Into::into).map_err(fault)
            }
            _ => mixed("shr"),
        }
    }

    pub fn fneg(&self, x: Register<'c>) -> Built<'c> {
        match x {
            Register::FloatValue(x) => self.builder.build_float_neg(x, "").map(Into::into).map_err(fault),
            Register::VectorValue(x) => self.builder.build_float_neg(x, "").map(Into::into).map_err(fault),
            _ => mixed("fneg"),
        }
    }

    pub fn fcmp(&self, predicate: FloatPredicate, x: Register<'c>, y: Register<'c>) -> Built<'c> {
        match (x, y) {
            (Register::FloatValue(x), Register::FloatValue(y)) => {
                self.builder.build_float_compare(predicate, x, y, "").map(Into::into).map_err(fault)
            }
            (Register::VectorValue(x), Register::VectorValue(y)) => {
                self.builder.build_float_compare(predicate, x, y, "").map(Into::into).map_err(fault)
            }
            _ => mixed("fcmp"),
        }
    }

    pub fn icmp(&self, predicate: IntPredicate, x: Register<'c>, y: Register<'c>) -> Built<'c> {
        match (x, y) {
            (Register::IntValue(x), Register::IntValue(y)) => {
                self.builder.build_int_compare(predicate, x, y, "").map(Into::into).map_err(fault)
            }
            (Register::VectorValue(x), Register::VectorValue(y)) => {
                self.builder.build_int_compare(predicate, x, y, "").map(Into::into).map_err(fault)
            }
            _ => mixed("icmp"),
        }
    }

    /// `x` where the condition holds, else `y`, element by element.
    pub fn select(&self, condition: Register<'c>, x: Register<'c>, y: Register<'c>) -> Built<'c> {
        match condition {
            Register::IntValue(c) => self.builder.build_select(c, x, y, "").map_err(fault),
            Register::VectorValue(c) => self.builder.build_select(c, x, y, "").map_err(fault),
            _ => mixed("select"),
        }
    }

    /// The same bits as another type.
    pub fn cast_bits(&self, x: Register<'c>, to: Element) -> Built<'c> {
        self.builder.build_bit_cast(x, self.ty(to, lanes(x)), "").map_err(fault)
    }

    /// A constant in all elements.
    pub fn splat(&self, value: Register<'c>, lanes: u32) -> Register<'c> {
        if lanes == 1 { value } else { VectorType::const_vector(&vec![value; lanes as usize]).into() }
    }

    /// An integer constant, in as many elements as `like` has and of its element type.
    pub fn int(&self, value: u64, like: Register<'c>) -> Register<'c> {
        let bits = match element(like) {
            Element::Int(bits) | Element::Float(bits) => bits,
        };
        let BasicTypeEnum::IntType(ty) = self.ty(Element::Int(bits), 1) else {
            unreachable!("an integer type")
        };
        let value = if bits < 64 { value & ((1 << bits) - 1) } else { value };
        self.splat(ty.const_int(value, false).into(), lanes(like))
    }

    /// A number, in as many elements as `like` has and of its element type.
    pub fn float(&self, value: f64, like: Register<'c>) -> Register<'c> {
        let bits = if element(like) == Element::Float(64) { 64 } else { 32 };
        self.splat(self.number(value, bits).into(), lanes(like))
    }

    /// A number of so many bits.
    pub fn number(&self, value: f64, bits: u32) -> FloatValue<'c> {
        let ty = if bits == 64 { self.context.f64_type() } else { self.context.f32_type() };
        ty.const_float(value)
    }

    /// A scalar in all elements.
    pub fn broadcast(&self, x: Register<'c>, lanes: u32) -> Built<'c> {
        let ty = vector(x.get_type(), lanes);
        let zero = self.context.i32_type().const_zero();
        let one = self.builder.build_insert_element(ty.get_poison(), x, zero, "").map_err(fault)?;
        let mask = self.context.i32_type().vec_type(lanes).const_zero();
        self.builder.build_shuffle_vector(one, ty.get_poison(), mask, "").map(Into::into).map_err(fault)
    }

    /// Elements of two vectors at places, which count on from the first to the second.
    pub fn shuffle(&self, x: Register<'c>, y: Register<'c>, places: &[u32]) -> Built<'c> {
        let (Register::VectorValue(x), Register::VectorValue(y)) = (x, y) else { return mixed("shuffle") };
        let place = |&n: &u32| self.context.i32_type().const_int(n.into(), false);
        let mask = VectorType::const_vector(&places.iter().map(place).collect::<Vec<_>>());
        self.builder.build_shuffle_vector(x, y, mask, "").map(Into::into).map_err(fault)
    }

    /// An element of a vector.
    pub fn extract(&self, x: VectorValue<'c>, lane: u64) -> Built<'c> {
        let lane = self.context.i32_type().const_int(lane, false);
        self.builder.build_extract_element(x, lane, "").map_err(fault)
    }

    /// An intrinsic that gives a value of the type of its first operand, or of `result`.
    pub fn intrinsic(
        &self,
        module: &Module<'c>,
        name: &str,
        operands: &[Register<'c>],
        result: Option<BasicTypeEnum<'c>>,
    ) -> Built<'c> {
        let own = operands[0].get_type();
        let types: Vec<BasicTypeEnum<'c>> = result.into_iter().chain([own]).collect();
        let declared = Intrinsic::find(name).and_then(|i| i.get_declaration(module, &types));
        let function = declared.ok_or_else(|| format!("internal error: LLVM has no intrinsic {name}"))?;
        let operands: Vec<_> = operands.iter().map(|&x| x.into()).collect();
        match self.builder.build_call(function, &operands, "").map_err(fault)?.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => Err(format!("internal error: {name} gives no value")),
        }
    }

    /// A constant of type `i64`.
    pub fn index(&self, value: i64) -> IntValue<'c> {
        self.context.i64_type().const_int(value as u64, true)
    }
}

fn vector(one: BasicTypeEnum<'_>, lanes: u32) -> VectorType<'_> {
    match one {
        BasicTypeEnum::FloatType(ty) => ty.vec_type(lanes),
        BasicTypeEnum::IntType(ty) => ty.vec_type(lanes),
        other => unreachable!("no vector of {}", other.as_basic_type_enum()),
    }
}
