//! One node: its arguments as the importers read them, and the ops they emit for it.

use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Body, Dim, Loc, Type, Value};
use ngc_numerics::{DType, Tensor};

use super::super::extent::Extent;
use super::super::schema::{Argument, Node as Proto, OptionalTensor, SymIntArgument};
use super::super::weights::dtype;
use super::number::{Number, Operand, fitting, rounded};
use super::program::Program;
use super::single;
use crate::builder::{FunctionBuilder, dense};
use crate::emit::Emit;
use crate::error::{FormatError, Result, invalid, unsupported};

/// A node while it is imported. It remembers what has been read of it.
pub(super) struct Node<'g, 'a> {
    pub(super) program: &'g mut Program<'a>,
    pub(super) proto: &'a Proto,
    pub(super) loc: Loc,
    pub(super) read: Vec<bool>,
    /// Set where the first result is the node's in another shape, whose extents these are: the program's shape comes later,
    /// if it is ever asked for.
    pub(super) reshaped: Option<Vec<Extent>>,
    /// The part of complex numbers that stands for each tensor among the arguments, in order; the last one also for those
    /// that follow.
    pub(super) parts: Vec<Part>,
    /// Whether the operand is a single number, of which a dimension is named: single numbers count as vectors of one element then.
    pub(super) single: bool,
}

/// A part of complex numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Part {
    Real,
    Imaginary,
    /// Real and imaginary part as the legs of a right triangle, of which this is the third side.
    Length,
}

impl<'g, 'a> Node<'g, 'a> {
    pub(super) fn new(program: &'g mut Program<'a>, proto: &'a Proto, loc: Loc) -> Node<'g, 'a> {
        let single = single::is_single(program, proto);
        let read = vec![false; proto.inputs.len()];
        Node { program, proto, loc, read, reshaped: None, parts: Vec::new(), single }
    }

    /// Refuses arguments that nobody has read: they may change what the node means.
    pub(super) fn finish(&self) -> Result<()> {
        let unread = self
            .read
            .iter()
            .zip(&self.proto.inputs)
            .find(|(read, input)| !**read && !matches!(input.arg, Argument::AsNone(_)));
        match unread {
            Some((_, input)) => unsupported(format!("argument '{}'", input.name.escape_debug())),
            None => Ok(()),
        }
    }

    // Arguments.

    /// Reads nothing: these arguments have no meaning for the values.
    pub(super) fn ignore(&mut self, names: &[&str]) {
        for (read, input) in self.read.iter_mut().zip(&self.proto.inputs) {
            *read |= names.contains(&input.name.as_str());
        }
    }

    /// Where new tensors would lie, which does not matter here.
    pub(super) fn ignore_place(&mut self) {
        self.ignore(&["device", "layout", "pin_memory", "memory_format", "non_blocking", "requires_grad"]);
    }

    /// Whether an argument is given; marks nothing as read.
    pub(super) fn has(&self, name: &str) -> bool {
        self.proto.inputs.iter().any(|i| i.name == name && !matches!(i.arg, Argument::AsNone(_)))
    }

    /// An argument that is not None.
    pub(super) fn argument(&mut self, name: &str) -> Option<&'a Argument> {
        let at = self.proto.inputs.iter().position(|i| i.name == name)?;
        self.read[at] = true;
        Some(&self.proto.inputs[at].arg).filter(|a| !matches!(a, Argument::AsNone(_)))
    }

    pub(super) fn given<T>(&mut self, name: &str, value: Result<Option<T>>) -> Result<T> {
        match value? {
            Some(value) => Ok(value),
            None => invalid(format!("argument '{name}' is missing")),
        }
    }

    pub(super) fn opt_tensor(&mut self, name: &str) -> Result<Option<Value>> {
        let Some(tensor) = self.tensor_name(name)? else { return Ok(None) };
        let part = self.part(name, 0);
        self.value(tensor, part).map(Some).map_err(|e| e.within(format_args!("argument '{name}'")))
    }

    /// The value of a tensor, or of the part of it that is asked for.
    fn value(&mut self, tensor: &str, part: Option<Part>) -> Result<Value> {
        let Some(part) = part else {
            let value = self.program.value(tensor)?;
            return if self.single && self.rank(value) == 0 { self.unsqueeze(value, [0]) } else { Ok(value) };
        };
        let z = self.program.parts(tensor)?;
        match (part, z.im) {
            (Part::Real, _) => Ok(z.re),
            (Part::Imaginary, Some(im)) => Ok(im),
            (Part::Length, Some(im)) => self.op("ng.hypot", &[z.re, im]),
            (Part::Length, None) => self.op("ng.abs", &[z.re]),
            (Part::Imaginary, None) => {
                let elem = self.elem(z.re)?;
                let zero = self.filled(Number::Int(0), elem)?;
                let extents = self.extents(z.re);
                self.broadcast(zero, &extents)
            }
        }
    }

    /// The part that stands for tensor `nth` of an argument.
    fn part(&self, name: &str, nth: usize) -> Option<Part> {
        let before = self.proto.inputs.iter().take_while(|input| input.name != name);
        let at = nth + before.map(|input| input.arg.names().len()).sum::<usize>();
        self.parts.get(at).or(self.parts.last()).copied()
    }

    pub(super) fn tensor(&mut self, name: &str) -> Result<Value> {
        let value = self.opt_tensor(name);
        self.given(name, value)
    }

    pub(super) fn tensor_name(&mut self, name: &str) -> Result<Option<&'a str>> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::AsTensor(t) | Argument::AsOptionalTensor(OptionalTensor::AsTensor(t))) => {
                Ok(Some(&t.name))
            }
            Some(Argument::AsOptionalTensor(OptionalTensor::AsNone(_))) => Ok(None),
            Some(_) => invalid(format!("argument '{name}' must be a tensor")),
        }
    }

    /// The value that a tensor argument is a view of: the same elements in another shape, or the argument itself; and
    /// the extents that the argument has.
    pub(super) fn viewed(&mut self, name: &str) -> Result<(Value, Vec<Extent>)> {
        let tensor = self.tensor_name(name);
        let tensor = self.given(name, tensor)?;
        let at = |e: FormatError| e.within(format_args!("argument '{name}'"));
        let base = match self.part(name, 0) {
            None => self.program.base(tensor).map_err(at)?,
            part => self.value(tensor, part).map_err(at)?,
        };
        Ok((base, self.program.declared(tensor)?.1))
    }

    /// A list of tensors, some of which may be None.
    pub(super) fn opt_tensors(&mut self, name: &str) -> Result<Vec<Option<Value>>> {
        let names: Vec<Option<&str>> = match self.argument(name) {
            Some(Argument::AsTensors(list)) => list.iter().map(|t| Some(t.name.as_str())).collect(),
            Some(Argument::AsOptionalTensors(list)) => list
                .iter()
                .map(|t| if let OptionalTensor::AsTensor(t) = t { Some(t.name.as_str()) } else { None })
                .collect(),
            _ => return invalid(format!("argument '{name}' must be a list of tensors")),
        };
        let at = |e: FormatError| e.within(format_args!("argument '{name}'"));
        let mut nth = 0;
        let mut of = |tensor: &str| {
            nth += 1;
            let part = self.part(name, nth - 1);
            self.value(tensor, part)
        };
        names.into_iter().map(|n| n.map(&mut of).transpose().map_err(at)).collect()
    }

    pub(super) fn tensors(&mut self, name: &str) -> Result<Vec<Value>> {
        match self.opt_tensors(name)?.into_iter().collect() {
            Some(tensors) => Ok(tensors),
            None => invalid(format!("argument '{name}' must be a list of tensors")),
        }
    }

    /// A tensor or a number.
    pub(super) fn operand(&mut self, name: &str) -> Result<Operand> {
        Ok(match self.argument(name) {
            None => return invalid(format!("argument '{name}' is missing")),
            Some(Argument::AsTensor(_)) => Operand::Tensor(self.tensor(name)?),
            Some(Argument::AsInt(n)) => Operand::Number(Number::Int(*n)),
            Some(Argument::AsFloat(x)) => Operand::Number(Number::Float(x.0)),
            Some(Argument::AsBool(b)) => Operand::Number(Number::Bool(*b)),
            Some(Argument::AsSymInt(SymIntArgument::AsInt(n))) => Operand::Number(Number::Int(*n)),
            Some(Argument::AsSymInt(SymIntArgument::AsName(symbol))) => match self.program.extent(symbol)? {
                Extent::Known(n) => Operand::Number(Number::Int(n as i64)),
                extent => {
                    let loc = self.loc.clone();
                    Operand::Tensor(self.program.number(&extent, &loc)?)
                }
            },
            Some(_) => {
                return unsupported(format!("argument '{name}', which is neither a tensor nor a number"));
            }
        })
    }

    pub(super) fn opt_number(&mut self, name: &str) -> Result<Option<Number>> {
        if !self.has(name) {
            self.argument(name);
            return Ok(None);
        }
        match self.operand(name)? {
            Operand::Number(number) => Ok(Some(number)),
            Operand::Tensor(_) => unsupported(format!("argument '{name}' must be a number that is known")),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Number> {
        let number = self.opt_number(name);
        self.given(name, number)
    }

    pub(super) fn float(&mut self, name: &str, default: f64) -> Result<f64> {
        Ok(self.opt_number(name)?.map_or(default, Number::to_f64))
    }

    pub(super) fn opt_floats(&mut self, name: &str) -> Result<Option<Vec<f64>>> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::AsFloats(list)) => Ok(Some(list.iter().map(|x| x.0).collect())),
            Some(_) => invalid(format!("argument '{name}' must be a list of numbers")),
        }
    }

    pub(super) fn opt_int(&mut self, name: &str) -> Result<Option<i64>> {
        match self.opt_number(name)? {
            None => Ok(None),
            Some(Number::Int(n)) => Ok(Some(n)),
            Some(_) => invalid(format!("argument '{name}' must be an integer")),
        }
    }

    pub(super) fn int(&mut self, name: &str, default: i64) -> Result<i64> {
        Ok(self.opt_int(name)?.unwrap_or(default))
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        match self.opt_number(name)? {
            None => Ok(default),
            Some(Number::Bool(b)) => Ok(b),
            Some(_) => invalid(format!("argument '{name}' must be true or false")),
        }
    }

    pub(super) fn string(&mut self, name: &str, default: &'static str) -> Result<&'a str> {
        match self.argument(name) {
            None => Ok(default),
            Some(Argument::AsString(text)) => Ok(text),
            Some(_) => invalid(format!("argument '{name}' must be a string")),
        }
    }

    /// An element type.
    pub(super) fn opt_dtype(&mut self, name: &str) -> Result<Option<DType>> {
        match self.argument(name) {
            None => Ok(None),
            Some(Argument::AsScalarType(code)) => dtype(*code).map(Some),
            Some(_) => invalid(format!("argument '{name}' must be an element type")),
        }
    }

    /// Numbers that are known; one alone stands for a list of one.
    pub(super) fn opt_ints(&mut self, name: &str) -> Result<Option<Vec<i64>>> {
        let Some(extents) = self.opt_extents(name)? else { return Ok(None) };
        let known = |e: Option<Extent>| match e {
            None => Some(-1),
            Some(e) => e.known().map(|n| n as i64),
        };
        match self.argument(name) {
            Some(Argument::AsInts(list)) => Ok(Some(list.clone())),
            Some(Argument::AsInt(n)) => Ok(Some(vec![*n])),
            _ => match extents.into_iter().map(known).collect() {
                Some(list) => Ok(Some(list)),
                None => unsupported(format!("argument '{name}' has numbers that are only known at run time")),
            },
        }
    }

    pub(super) fn ints(&mut self, name: &str) -> Result<Vec<i64>> {
        let ints = self.opt_ints(name);
        self.given(name, ints)
    }

    /// A shape; negative numbers are None.
    pub(super) fn opt_extents(&mut self, name: &str) -> Result<Option<Vec<Option<Extent>>>> {
        let of = |n: i64| usize::try_from(n).ok().map(Extent::Known);
        let list = match self.argument(name) {
            None => return Ok(None),
            Some(Argument::AsInts(list)) => list.iter().map(|&n| of(n)).collect(),
            Some(Argument::AsInt(n)) => vec![of(*n)],
            Some(Argument::AsSymInt(symbol)) => vec![self.symbol(symbol)?],
            Some(Argument::AsSymInts(list)) => list.iter().map(|s| self.symbol(s)).collect::<Result<_>>()?,
            Some(_) => return invalid(format!("argument '{name}' must be a list of integers")),
        };
        Ok(Some(list))
    }

    fn symbol(&self, symbol: &SymIntArgument) -> Result<Option<Extent>> {
        match symbol {
            SymIntArgument::AsInt(n) => Ok(usize::try_from(*n).ok().map(Extent::Known)),
            SymIntArgument::AsName(name) => self.program.extent(name).map(Some),
        }
    }

    /// An extent, or a number of elements.
    pub(super) fn opt_extent(&mut self, name: &str) -> Result<Option<Option<Extent>>> {
        Ok(self.opt_extents(name)?.and_then(|list| list.into_iter().next()))
    }

    /// The shape in an argument, which must be the one that the program declares for the result. A negative number in it
    /// stands for what is declared.
    pub(super) fn result_shape(&mut self, name: &str) -> Result<Vec<Extent>> {
        let (_, declared) = self.declared(0)?;
        let given = self.opt_extents(name);
        let given = self.given(name, given)?;
        let fits = given.len() == declared.len()
            && given.iter().zip(&declared).all(|(g, d)| match (g, d) {
                (Some(Extent::Known(g)), Extent::Known(d)) => g == d,
                _ => true,
            });
        if fits {
            return Ok(declared);
        }
        let show = |e: &Extent| e.to_string();
        invalid(format!(
            "argument '{name}' is [{}], but the result is declared as [{}]",
            given.iter().map(|e| e.as_ref().map_or("-1".into(), show)).collect::<Vec<_>>().join(", "),
            declared.iter().map(show).collect::<Vec<_>>().join(", ")
        ))
    }

    /// An argument that must have its usual value, since nothing else is read.
    pub(super) fn only_flag(&mut self, name: &str, value: bool) -> Result<()> {
        match self.flag(name, value)? {
            found if found == value => Ok(()),
            found => unsupported(format!("{name} = {found}")),
        }
    }

    /// Whether the operator's name contains this: operators that share an importer may spell one thing differently.
    pub(super) fn is_named(&self, part: &str) -> bool {
        self.proto.target.contains(part)
    }

    /// The name of the operator.
    pub(super) fn operator(&self) -> &'a str {
        super::in_place::operator(&self.proto.target).map_or(&self.proto.target, |(name, _)| name)
    }

    /// Whether an argument is a number; marks nothing as read.
    pub(super) fn has_number(&self, name: &str) -> bool {
        let is =
            |arg: &Argument| matches!(arg, Argument::AsInt(_) | Argument::AsFloat(_) | Argument::AsBool(_));
        self.proto.inputs.iter().any(|i| i.name == name && is(&i.arg))
    }

    /// Whether an argument is a string; marks nothing as read.
    pub(super) fn is_string(&self, name: &str) -> bool {
        self.proto.inputs.iter().any(|i| i.name == name && matches!(i.arg, Argument::AsString(_)))
    }

    /// The sizes and strides that the program declares for a tensor argument, where all are known.
    pub(super) fn layout(&mut self, name: &str) -> Result<Option<(Vec<i64>, Vec<i64>)>> {
        let tensor = self.tensor_name(name);
        let tensor = self.given(name, tensor)?;
        self.program.layout(tensor)
    }

    // Results.

    /// The names of the tensors that the node gives.
    pub(super) fn output_names(&self) -> Vec<&'a str> {
        let of = |o: &'a Argument| match o {
            Argument::AsTensor(t) => vec![t.name.as_str()],
            Argument::AsTensors(list) => list.iter().map(|t| t.name.as_str()).collect(),
            _ => Vec::new(),
        };
        self.proto.outputs.iter().flat_map(of).collect()
    }

    /// Whether something takes tensor `i` that the node gives.
    pub(super) fn is_asked_for(&self, i: usize) -> bool {
        self.output_names().get(i).is_some_and(|name| self.program.is_taken(name))
    }

    /// How many tensors the node gives.
    pub(super) fn num_outputs(&self) -> usize {
        self.output_names().len()
    }

    /// What the program declares for result `i`.
    /// A new argument of the function, whose range is stated if there is one.
    pub(super) fn fresh(
        &mut self,
        dtype: DType,
        extents: &[Extent],
        range: Option<[Attr; 2]>,
    ) -> Result<Value> {
        let name = self.output_names().first().copied().unwrap_or_default();
        let mut attrs = self.program.dims(extents);
        if let Some(range) = range {
            attrs.set("ng.range", Attr::Array(range.into_iter().collect()));
        }
        self.program.fresh(name, Type::tensor(extents.iter().map(Extent::dim), dtype), extents, attrs)
    }

    pub(super) fn declared(&self, i: usize) -> Result<(DType, Vec<Extent>)> {
        match self.output_names().get(i) {
            Some(name) => self.program.declared(name),
            None => invalid(format!("it has no output {i}")),
        }
    }

    // Values.

    pub(super) fn function(&mut self) -> &mut FunctionBuilder<'a> {
        &mut self.program.function
    }

    pub(super) fn extents(&self, value: Value) -> Vec<Extent> {
        self.program.extents(value)
    }

    /// The op that defines a value, if it is `op`: its first operand.
    pub(super) fn operand_of(&self, value: Value, op: &str) -> Option<(Value, &AttrDict)> {
        let body = &self.program.function.body;
        let defining = body.defining_op(value).filter(|&o| body.name(o) == op)?;
        Some((*body.operands(defining).first()?, &body.op(defining).attrs))
    }

    /// An axis counted from the front. A scalar counts as a vector of one element.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let rank = rank.max(1);
        let from_front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        match usize::try_from(from_front) {
            Ok(a) if a < rank => Ok(a),
            _ => invalid(format!("dimension {axis} is out of range for rank {rank}")),
        }
    }

    /// The axis in argument `name`.
    pub(super) fn dim(&mut self, name: &str, default: i64, rank: usize) -> Result<usize> {
        let axis = self.int(name, default)?;
        self.axis(axis, rank)
    }

    // Ops.

    /// Emits an op without attributes.
    pub(super) fn op(&mut self, op: &str, operands: &[Value]) -> Result<Value> {
        self.emit(op, operands, AttrDict::EMPTY)
    }

    /// Emits a constant tensor, of rank 0 too.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> Result<Value> {
        let ty = Type::tensor(tensor.shape.iter().map(|&n| Dim::Static(n)), tensor.dtype);
        let attr = Attr::Dense(Arc::new(dense(ty, &tensor.to_bytes())));
        self.emit("ng.constant", &[], [("value", attr)])
    }

    /// Emits a number as a tensor of rank 0.
    pub(super) fn filled(&mut self, number: Number, dtype: DType) -> Result<Value> {
        let tensor = match (dtype, number) {
            (DType::Float(format), x) => Tensor::scalar(format, rounded(x.to_f64(), format)),
            (DType::BOOL, x) => Tensor::bool_scalar(x.to_f64() != 0.0),
            (dtype, Number::Int(n)) => Tensor::int_scalar(dtype, dtype.wrap(n)),
            (dtype, x) => Tensor::int_scalar(dtype, dtype.wrap(x.to_f64() as i64)),
        };
        self.constant(&tensor)
    }

    /// Emits a number as a scalar of an element type, which elementwise ops broadcast.
    pub(super) fn scalar(&mut self, number: Number, dtype: DType) -> Result<Value> {
        let attr = match (dtype, number) {
            (DType::Float(format), x) => Attr::Float(rounded(x.to_f64(), format), Type::float(format)),
            (DType::BOOL, x) => Attr::Bool(x.to_f64() != 0.0),
            (dtype, Number::Int(n)) => Attr::Int(dtype.wrap(n), Type::scalar(dtype)),
            (dtype, x) => Attr::Int(dtype.wrap(x.to_f64() as i64), Type::scalar(dtype)),
        };
        self.emit("ng.constant", &[], [("value", attr)])
    }

    /// The operand in an element type.
    pub(super) fn in_type(&mut self, operand: Operand, dtype: DType) -> Result<Value> {
        match operand {
            Operand::Tensor(value) => self.convert(value, dtype),
            Operand::Number(number) => self.scalar(number, dtype),
        }
    }

    /// The operand in an element type; a number must be within its range.
    pub(super) fn fitted(&mut self, operand: Operand, dtype: DType) -> Result<Value> {
        if let Operand::Number(number) = operand {
            fitting(number, dtype)?;
        }
        self.in_type(operand, dtype)
    }

    /// The value in another element type, or itself.
    pub(super) fn convert(&mut self, x: Value, to: DType) -> Result<Value> {
        if self.elem(x)? == to {
            return Ok(x);
        }
        self.emit("ng.convert", &[x], [("to", Attr::from(Type::scalar(to)))])
    }

    /// The same elements in the shape of `to`.
    pub(super) fn reshape(&mut self, x: Value, to: &[Extent]) -> Result<Value> {
        let loc = self.loc.clone();
        self.program.reshape(x, to, &loc)
    }

    /// All elements in order, along one dimension.
    pub(super) fn flattened(&mut self, x: Value) -> Result<Value> {
        self.emit("ng.reshape", &[x], [("shape", Attr::ints([-1]))])
    }

    /// The dimension that argument `dim` names; that of all elements in order, where it names none.
    pub(super) fn along(&mut self, x: Value) -> Result<(Value, usize)> {
        match self.opt_int("dim")? {
            Some(dim) if self.rank(x) > 0 => Ok((x, self.axis(dim, self.rank(x))?)),
            _ => Ok((self.flattened(x)?, 0)),
        }
    }

    /// Permutes dimensions.
    pub(super) fn transpose(&mut self, x: Value, permutation: &[usize]) -> Result<Value> {
        let list = Attr::ints(permutation.iter().map(|&a| a as i64));
        self.emit("ng.transpose", &[x], [("permutation", list)])
    }

    /// Inserts dimensions of extent 1.
    pub(super) fn unsqueeze(&mut self, x: Value, axes: impl IntoIterator<Item = i64>) -> Result<Value> {
        let axes: Vec<i64> = axes.into_iter().collect();
        if axes.is_empty() {
            return Ok(x);
        }
        self.emit("ng.unsqueeze", &[x], [("axes", Attr::from(axes))])
    }

    /// A part of one dimension.
    pub(super) fn slice(&mut self, x: Value, axis: usize, start: i64, stop: i64, step: i64) -> Result<Value> {
        let mut attrs = AttrDict::EMPTY;
        attrs.set("axes", vec![axis as i64]);
        attrs.set("starts", vec![start]);
        attrs.set("stops", vec![stop]);
        if step != 1 {
            attrs.set("steps", vec![step]);
        }
        self.emit("ng.slice", &[x], attrs)
    }

    /// Repeats dimensions of extent 1, and adds dimensions before the first, to have this shape.
    pub(super) fn broadcast(&mut self, x: Value, to: &[Extent]) -> Result<Value> {
        let from = self.extents(x);
        let lead = to.len().saturating_sub(from.len());
        let own = |i: usize| i.checked_sub(lead).and_then(|k| from.get(k));
        let open = |i: usize| to[i].known().is_none() && own(i).is_none_or(|e| *e == Extent::Known(1));
        let shape: Vec<i64> = (0..to.len())
            .map(|i| match &to[i] {
                e if own(i) == Some(e) => -1,
                Extent::Known(n) => *n as i64,
                _ if own(i).is_some_and(|e| e.known().is_none()) => -1,
                // Repeated below.
                _ => 1,
            })
            .collect();
        let mut x = x;
        if lead > 0 || (0..to.len()).any(|i| shape[i] != -1 && !open(i)) {
            x = self.emit("ng.broadcast_to", &[x], [("shape", Attr::from(shape))])?;
        }
        // Extents that are not known come from a value that has them.
        for i in (0..to.len()).filter(|&i| open(i)) {
            let ones = self.program.ones(&to[i])?;
            let ones = self.unsqueeze(ones, (0..to.len()).filter(|&a| a != i).map(|a| a as i64))?;
            x = self.emit("ng.where", &[ones, x, x], AttrDict::EMPTY)?;
        }
        Ok(x)
    }

    /// Integers from 0 on, as many as an extent says.
    pub(super) fn count(&mut self, extent: &Extent, dtype: DType) -> Result<Value> {
        if let Extent::Known(n) = extent {
            let ty = Type::tensor([Dim::Static(*n)], dtype);
            return self.emit("ng.iota", &[], [("type", Attr::from(ty))]);
        }
        let ones = self.program.ones(extent)?;
        let ones = self.convert(ones, dtype)?;
        let mut attrs = AttrDict::EMPTY;
        attrs.set("axis", 0i64);
        attrs.set("exclusive", true);
        self.emit("ng.cumsum", &[ones], attrs)
    }
}

impl Emit for Node<'_, '_> {
    fn body(&self) -> &Body {
        &self.program.function.body
    }

    fn emit_many(
        &mut self,
        name: &str,
        operands: &[Value],
        attrs: impl Into<AttrDict>,
    ) -> Result<Vec<Value>> {
        self.program.function.emit(name, operands, attrs.into(), &self.loc)
    }
}
