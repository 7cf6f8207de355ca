//! The body of a kernel: loops become blocks, buffers pointers with extents.

use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::module::{Linkage, Module};
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{FunctionValue, GlobalValue, IntValue, PointerValue};
use ngc_dialects::kernel::{buffer, control, vector};
use ngc_dialects::{func, ng};
use ngc_ir::types::TensorType;
use ngc_ir::{Attr, Block, Body, Diagnostic, Dim, Loc, Op, OpDef, Type, Value};
use ngc_numerics::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::convert::held;
use crate::rare::{Choice, seldom};
use crate::registers::{Built, Element, Register, Registers};

/// What a value of a kernel is in LLVM.
#[derive(Clone)]
pub(crate) enum Known<'c> {
    /// A scalar or a vector.
    Register(Register<'c>),
    /// A buffer: its first element and all its extents.
    Buffer(PointerValue<'c>, Vec<IntValue<'c>>),
}

/// Writes one function.
pub(crate) struct Emission<'m, 'c> {
    pub module: &'m Module<'c>,
    pub registers: Registers<'c>,
    /// Whether the processor rounds to integers.
    pub rounds: bool,
    /// Ops of `num` that the processor has as instructions.
    pub instructions: &'static [&'static OpDef],
    function: FunctionValue<'c>,
    pub values: FxHashMap<Value, Known<'c>>,
}

pub(crate) fn fault(e: impl std::fmt::Display) -> String {
    format!("internal error: LLVM refuses an instruction: {e}")
}

/// What is wrong at an op.
fn failure(body: &Body, op: Op, message: String) -> Diagnostic {
    let data = body.op(op);
    let named = message.starts_with("internal error") || message.starts_with('\'');
    let message = if named { message } else { format!("'{}': {message}", data.name) };
    Diagnostic::error(data.loc.clone(), message)
}

/// The LLVM types of a parameter: a buffer is a pointer, with the extents that its type leaves open.
fn parameter_types<'c>(
    registers: &Registers<'c>,
    ty: Type,
) -> Result<Vec<BasicMetadataTypeEnum<'c>>, String> {
    let index = registers.context.i64_type();
    match (ty.as_memref(), ty.elem()) {
        (Some(memref), _) => {
            held(memref.elem)?;
            let pointer = registers.context.ptr_type(inkwell::AddressSpace::default());
            let open = memref.shape.iter().filter(|d| d.known().is_none()).map(|_| index.into());
            Ok(std::iter::once(pointer.into()).chain(open).collect())
        }
        (None, Some(DType::BOOL)) => Ok(vec![registers.context.i8_type().into()]),
        (None, Some(elem)) if ty.as_vector().is_none() => Ok(vec![registers.ty(held(elem)?, 1).into()]),
        _ => Err(format!("a kernel takes scalars and buffers, not a value of type {ty}")),
    }
}

impl<'m, 'c> Emission<'m, 'c> {
    /// Adds a function to the LLVM module: one without results is a kernel, which returns a status; another returns one extent.
    pub fn function(
        module: &'m Module<'c>,
        registers: Registers<'c>,
        (rounds, instructions): (bool, &'static [&'static OpDef]),
        name: &str,
        body: &Body,
        loc: &Loc,
    ) -> Result<(), Diagnostic> {
        let fail = |message: String| Diagnostic::error(loc.clone(), message);
        let entry = body.entry().ok_or_else(|| fail(format!("@{name} has no body")))?;
        if body.blocks(body.root()).len() != 1 {
            return Err(fail(format!("@{name} has several blocks, which are not compiled yet")));
        }
        let mut parameters = Vec::new();
        for &v in body.arguments(entry) {
            parameters.extend(parameter_types(&registers, body.ty(v)).map_err(fail)?);
        }
        let returned = body.last_op(entry).map_or(&[][..], |end| body.operands(end));
        let context = registers.context;
        let ty = match returned {
            [] => context.i32_type().fn_type(&parameters, false),
            [one] if body.ty(*one) == Type::scalar(DType::Index) => {
                context.i64_type().fn_type(&parameters, false)
            }
            _ => return Err(fail(format!("@{name} returns values; lower it with --lower-to-kernel first"))),
        };
        let function = module.add_function(name, ty, Some(Linkage::External));
        // A loop that copies stays a loop: the system's library may be absent.
        for attribute in ["no-builtins", "nounwind"] {
            let attribute = match attribute {
                "nounwind" => {
                    let kind = inkwell::attributes::Attribute::get_named_enum_kind_id("nounwind");
                    context.create_enum_attribute(kind, 0)
                }
                name => context.create_string_attribute(name, ""),
            };
            function.add_attribute(AttributeLoc::Function, attribute);
        }
        let block = context.append_basic_block(function, "entry");
        registers.builder.position_at_end(block);
        let values = FxHashMap::default();
        let mut emission = Emission { module, registers, rounds, instructions, function, values };
        emission.parameters(body, entry).map_err(fail)?;
        emission.block(body, entry)?;
        Ok(())
    }

    fn parameters(&mut self, body: &Body, entry: Block) -> Result<(), String> {
        let mut given = self.function.get_param_iter();
        let mut next = || given.next().ok_or_else(|| "internal error: a parameter is missing".to_string());
        for &v in body.arguments(entry) {
            let known = match (body.ty(v).as_memref(), body.ty(v).elem()) {
                (Some(memref), _) => {
                    let pointer = next()?.into_pointer_value();
                    let extents = extents(&self.registers, memref, || Ok(next()?.into_int_value()))?;
                    Known::Buffer(pointer, extents)
                }
                (None, Some(DType::BOOL)) => {
                    let byte = next()?;
                    let zero = self.registers.int(0, byte);
                    Known::Register(self.registers.icmp(IntPredicate::NE, byte, zero)?)
                }
                _ => Known::Register(next()?),
            };
            self.values.insert(v, known);
        }
        Ok(())
    }

    /// The ops of a block; what ends it yields these values.
    fn block(&mut self, body: &Body, block: Block) -> Result<Vec<Value>, Diagnostic> {
        let seldom = seldom(body, block);
        let other = |(last, choice): (&Op, &Choice)| {
            let choosers = choice.choosers.iter().filter(|&op| op != last);
            choice.steps.iter().chain(choosers).copied().collect::<Vec<Op>>()
        };
        let later: FxHashSet<Op> = seldom.iter().flat_map(other).collect();
        for op in body.ops(block).filter(|op| !later.contains(op)) {
            if body.is(op, &control::YIELD) {
                return Ok(body.operands(op).to_vec());
            }
            if body.is(op, &func::RETURN) {
                self.leave(body, op).map_err(|message| failure(body, op, message))?;
                return Ok(Vec::new());
            }
            match seldom.get(&op) {
                Some(choice) => self.rare(body, choice)?,
                None if body.is(op, &control::FOR) => self.repeat(body, op)?,
                None => self.step(body, op)?,
            }
        }
        Err(Diagnostic::error(Loc::Unknown, "a block does not end in an op that yields or returns"))
    }

    /// An op without regions.
    pub fn step(&mut self, body: &Body, op: Op) -> Result<(), Diagnostic> {
        let fail = |message: String| failure(body, op, message);
        if body.op(op).def.is_none() {
            return Err(fail("is not registered, so its meaning is unknown".into()));
        }
        let known = self.op(body, op).map_err(fail)?;
        for (v, known) in body.results(op).zip(known) {
            self.values.insert(v, known);
        }
        Ok(())
    }

    fn leave(&mut self, body: &Body, op: Op) -> Result<(), String> {
        let value: Register<'c> = match body.operands(op) {
            [] => self.registers.context.i32_type().const_zero().into(),
            [one] => self.register(*one)?,
            _ => return Err("returns several values".into()),
        };
        self.registers.builder.build_return(Some(&value)).map_err(fault)?;
        Ok(())
    }

    pub fn register(&self, v: Value) -> Built<'c> {
        match self.values.get(&v) {
            Some(Known::Register(x)) => Ok(*x),
            _ => Err("works on values, not on buffers".into()),
        }
    }

    fn index(&self, v: Value) -> Result<IntValue<'c>, String> {
        match self.register(v)? {
            Register::IntValue(x) => Ok(x),
            _ => Err("takes places and extents".into()),
        }
    }

    fn buffer(&self, v: Value) -> Result<(PointerValue<'c>, &[IntValue<'c>]), String> {
        match self.values.get(&v) {
            Some(Known::Buffer(pointer, extents)) => Ok((*pointer, extents)),
            _ => Err("works on buffers".into()),
        }
    }

    pub fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.registers.context.append_basic_block(self.function, name)
    }

    pub fn current(&self) -> Result<BasicBlock<'c>, String> {
        self.registers.builder.get_insert_block().ok_or_else(|| "internal error: no block".into())
    }

    /// `for`: the place and what is carried are phis of the block that decides whether the body runs.
    fn repeat(&mut self, body: &Body, op: Op) -> Result<(), Diagnostic> {
        let loc = body.op(op).loc.clone();
        let fail = |message: String| Diagnostic::error(loc.clone(), format!("'kernel.for': {message}"));
        let operands = body.operands(op).to_vec();
        let [block] = *body.blocks(body.regions(op)[0]) else {
            return Err(fail("its body is one block".into()));
        };
        let arguments = body.arguments(block).to_vec();
        let (first, end, step) = (self.index(operands[0]), self.index(operands[1]), self.index(operands[2]));
        let (first, end, step) = (first.map_err(fail)?, end.map_err(fail)?, step.map_err(fail)?);
        let before = self.current().map_err(fail)?;
        let (test, run, after) = (self.new_block("test"), self.new_block("body"), self.new_block("after"));
        let place;
        let mut carried = Vec::new();
        {
            let b = &self.registers.builder;
            b.build_unconditional_branch(test).map_err(|e| fail(fault(e)))?;
            b.position_at_end(test);
            place = b.build_phi(self.registers.context.i64_type(), "place").map_err(|e| fail(fault(e)))?;
            place.add_incoming(&[(&first, before)]);
            for &v in &operands[3..] {
                let start = self.register(v).map_err(fail)?;
                let phi = b.build_phi(start.get_type(), "carried").map_err(|e| fail(fault(e)))?;
                phi.add_incoming(&[(&start, before)]);
                carried.push(phi);
            }
            let at = place.as_basic_value().into_int_value();
            let runs = b.build_int_compare(IntPredicate::SLT, at, end, "").map_err(|e| fail(fault(e)))?;
            b.build_conditional_branch(runs, run, after).map_err(|e| fail(fault(e)))?;
            b.position_at_end(run);
        }
        self.values.insert(arguments[0], Known::Register(place.as_basic_value()));
        for (&v, phi) in arguments[1..].iter().zip(&carried) {
            self.values.insert(v, Known::Register(phi.as_basic_value()));
        }
        let yielded = self.block(body, block)?;
        let last = self.current().map_err(fail)?;
        let b = &self.registers.builder;
        let at = place.as_basic_value().into_int_value();
        // The end is an extent, and the next place at most an extent and a step: no overflow.
        let next = b.build_int_nsw_add(at, step, "").map_err(|e| fail(fault(e)))?;
        place.add_incoming(&[(&next, last)]);
        for (&v, phi) in yielded.iter().zip(&carried) {
            let value = self.register(v).map_err(fail)?;
            phi.add_incoming(&[(&value, last)]);
        }
        b.build_unconditional_branch(test).map_err(|e| fail(fault(e)))?;
        b.position_at_end(after);
        for (v, phi) in body.results(op).zip(&carried) {
            self.values.insert(v, Known::Register(phi.as_basic_value()));
        }
        Ok(())
    }

    fn op(&mut self, body: &Body, op: Op) -> Result<Vec<Known<'c>>, String> {
        let data = body.op(op);
        let operands = body.operands(op).to_vec();
        let is = |def: &'static ngc_ir::OpDef| data.def.is_some_and(|d| std::ptr::eq(d, def));
        let one = |x: Register<'c>| Ok(vec![Known::Register(x)]);
        let number = |name: &str| data.attrs.get(name).and_then(Attr::as_int).unwrap_or(0);
        if is(&ng::constant::CONSTANT) {
            let ty = body.ty(body.result(op, 0));
            return one(self.constant(data.attrs.get("value").ok_or("has no value")?, ty)?);
        }
        if is(&buffer::GLOBAL) {
            let ty = body.ty(body.result(op, 0));
            return Ok(vec![self.global(data.attrs.get("value").ok_or("has no value")?, ty)?]);
        }
        if is(&buffer::DIM) {
            let (_, extents) = self.buffer(operands[0])?;
            let extent = extents.get(number("axis") as usize).ok_or("has no such dimension")?;
            return one((*extent).into());
        }
        if is(&buffer::VIEW) {
            let (arena, _) = self.buffer(operands[0])?;
            let memref = body.ty(body.result(op, 0)).as_memref().ok_or("gives no buffer")?;
            let mut open = operands[2..].iter();
            let extents =
                extents(&self.registers, memref, || self.index(*open.next().ok_or("has too few extents")?))?;
            let pointer = self.advance(arena, self.index(operands[1])?, Element::Int(8))?;
            return Ok(vec![Known::Buffer(pointer, extents)]);
        }
        if is(&buffer::LOAD) {
            let pointer = self.place(body, operands[0], &operands[1..])?;
            return one(self.load(pointer, body.ty(body.result(op, 0)))?);
        }
        if is(&buffer::MASKED_LOAD) {
            return one(self.masked_load(body, op, &operands)?);
        }
        if is(&buffer::STORE) {
            let pointer = self.place(body, operands[1], &operands[2..])?;
            self.store(pointer, self.register(operands[0])?, body.ty(operands[0]))?;
            return Ok(Vec::new());
        }
        if is(&control::ASSERT) {
            self.assert(self.index(operands[0])?, number("status"))?;
            return Ok(Vec::new());
        }
        if is(&vector::BROADCAST) {
            let x = self.register(operands[0])?;
            let lanes = body.ty(body.result(op, 0)).as_vector().map_or(1, |v| v.lanes);
            let lanes = u32::try_from(lanes).map_err(|_| "a vector is too long")?;
            return one(if lanes == 1 { x } else { self.registers.broadcast(x, lanes)? });
        }
        if is(&vector::EXTRACT) {
            return match self.register(operands[0])? {
                Register::VectorValue(x) => one(self.registers.extract(x, number("lane") as u64)?),
                scalar => one(scalar),
            };
        }
        let mut registers = Vec::with_capacity(operands.len());
        for &v in &operands {
            registers.push(self.register(v)?);
        }
        if registers.is_empty() || body.num_results(op) != 1 {
            return Err(format!("'{}' has no meaning in native code", data.name));
        }
        let result = body.ty(body.result(op, 0));
        let made = body.with_signature(op, |s| self.elementwise(s, &registers, result));
        one(made.ok_or("is not registered")??)
    }

    fn constant(&self, value: &Attr, ty: Type) -> Built<'c> {
        let r = &self.registers;
        let elem = ty.elem().filter(|_| ty.as_tensor().is_none() && ty.as_vector().is_none());
        let elem = elem.ok_or_else(|| format!("a constant in a kernel is a number, not of type {ty}"))?;
        let like = |bits| r.ty(Element::Int(bits), 1).into_int_type();
        Ok(match (value, held(elem)?) {
            (Attr::Bool(v), _) => like(1).const_int((*v).into(), false).into(),
            (Attr::Int(v, _), Element::Int(bits)) => {
                let mask = if bits < 64 { (1u64 << bits) - 1 } else { u64::MAX };
                like(bits).const_int(*v as u64 & mask, false).into()
            }
            (Attr::Float(v, _), Element::Int(bits)) => {
                let format = elem.format().ok_or("a number of another type")?;
                like(bits).const_int(format.to_bits(*v), false).into()
            }
            (Attr::Float(v, _), Element::Float(bits)) => {
                // By its bits, so that a NaN stays what it is.
                let format = elem.format().ok_or("a number of another type")?;
                let stored: Register<'c> = like(bits).const_int(format.to_bits(*v), false).into();
                r.cast_bits(stored, Element::Float(bits))?
            }
            _ => return Err("its value is no number of its type".into()),
        })
    }

    fn global(&self, value: &Attr, ty: Type) -> Result<Known<'c>, String> {
        let memref = ty.as_memref().ok_or("gives no buffer")?;
        held(memref.elem)?;
        let tensor = ng::constant::attr_to_tensor(value)?;
        let extents = extents(&self.registers, memref, || Err("a constant has known extents".into()))?;
        Ok(Known::Buffer(self.constants(&tensor.to_bytes()), extents))
    }

    /// Bytes that the object holds.
    pub fn constants(&self, bytes: &[u8]) -> PointerValue<'c> {
        let data = self.registers.context.const_string(bytes, false);
        let global: GlobalValue<'c> = self.module.add_global(data.get_type(), None, "constants");
        global.set_initializer(&data);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.set_unnamed_address(inkwell::values::UnnamedAddress::Global);
        global.set_alignment(64);
        global.as_pointer_value()
    }

    /// The address of an element.
    fn place(&self, body: &Body, v: Value, at: &[Value]) -> Result<PointerValue<'c>, String> {
        let (pointer, extents) = self.buffer(v)?;
        let elem = body.ty(v).as_memref().ok_or("works on buffers")?.elem;
        let mut flat = self.registers.index(0);
        let b = &self.registers.builder;
        for (&place, &extent) in at.iter().zip(extents) {
            let place = self.index(place)?;
            flat = b.build_int_mul(flat, extent, "").map_err(fault)?;
            flat = b.build_int_add(flat, place, "").map_err(fault)?;
        }
        let element = if elem == DType::BOOL { Element::Int(8) } else { held(elem)? };
        self.advance(pointer, flat, element)
    }

    #[allow(unsafe_code)]
    pub fn advance(
        &self,
        pointer: PointerValue<'c>,
        by: IntValue<'c>,
        element: Element,
    ) -> Result<PointerValue<'c>, String> {
        let ty = self.registers.ty(element, 1);
        // SAFETY: the instruction is only built, and says nothing of bounds; the pointee type is one of LLVM's own.
        unsafe { self.registers.builder.build_gep(ty, pointer, &[by], "").map_err(fault) }
    }

    fn load(&self, pointer: PointerValue<'c>, ty: Type) -> Built<'c> {
        let r = &self.registers;
        let elem = ty.elem().ok_or("loads what has no elements")?;
        let lanes = ty.as_vector().map_or(1, |v| v.lanes as u32);
        // A truth value takes a byte.
        let stored = if elem == DType::BOOL { Element::Int(8) } else { held(elem)? };
        let value = r.builder.build_load(r.ty(stored, lanes), pointer, "").map_err(fault)?;
        self.align(value, elem)?;
        if elem == DType::BOOL { r.icmp(IntPredicate::NE, value, r.int(0, value)) } else { Ok(value) }
    }

    fn align(&self, value: Register<'c>, elem: DType) -> Result<(), String> {
        let instruction = match value {
            Register::VectorValue(v) => v.as_instruction(),
            Register::FloatValue(v) => v.as_instruction(),
            Register::IntValue(v) => v.as_instruction(),
            _ => None,
        };
        let instruction = instruction.ok_or("internal error: a load is no instruction")?;
        instruction.set_alignment(elem.storage_bytes() as u32).map_err(fault)
    }

    fn store(&self, pointer: PointerValue<'c>, value: Register<'c>, ty: Type) -> Result<(), String> {
        let elem = ty.elem().ok_or("stores what has no elements")?;
        let value = if elem == DType::BOOL { self.registers.zext(value, Element::Int(8))? } else { value };
        let store = self.registers.builder.build_store(pointer, value).map_err(fault)?;
        store.set_alignment(elem.storage_bytes() as u32).map_err(fault)
    }

    fn masked_load(&self, body: &Body, op: Op, operands: &[Value]) -> Built<'c> {
        let (holds, other) = (self.index(operands[1])?, self.register(operands[2])?);
        let (before, read, after) = (self.current()?, self.new_block("read"), self.new_block("joined"));
        let b = &self.registers.builder;
        b.build_conditional_branch(holds, read, after).map_err(fault)?;
        b.position_at_end(read);
        let pointer = self.place(body, operands[0], &operands[3..])?;
        let value = self.load(pointer, body.ty(body.result(op, 0)))?;
        let last = self.current()?;
        b.build_unconditional_branch(after).map_err(fault)?;
        b.position_at_end(after);
        let phi = b.build_phi(value.get_type(), "").map_err(fault)?;
        phi.add_incoming(&[(&other, before), (&value, last)]);
        Ok(phi.as_basic_value())
    }

    fn assert(&self, holds: IntValue<'c>, status: i64) -> Result<(), String> {
        let (fails, after) = (self.new_block("fails"), self.new_block("holds"));
        let b = &self.registers.builder;
        b.build_conditional_branch(holds, after, fails).map_err(fault)?;
        b.position_at_end(fails);
        let status = self.registers.context.i32_type().const_int(status as u64, false);
        b.build_return(Some(&status)).map_err(fault)?;
        b.position_at_end(after);
        Ok(())
    }
}

/// All extents of a buffer: known ones, and `open` for each other.
fn extents<'c>(
    registers: &Registers<'c>,
    memref: &TensorType,
    mut open: impl FnMut() -> Result<IntValue<'c>, String>,
) -> Result<Vec<IntValue<'c>>, String> {
    let extent = |dim: &Dim| match dim {
        Dim::Static(n) => Ok(registers.index(*n as i64)),
        Dim::Dynamic => open(),
    };
    memref.shape.iter().map(extent).collect()
}
