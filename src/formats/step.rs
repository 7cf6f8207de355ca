//! Ops as exporters see them: one at a time, apart from their body, with the steps that may stand for them.

use ngc_ir::{Attr, AttrDict, Body, Builder, Dim, Loc, Module, Op, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Format, SumMethod, Tensor};
use std::collections::BTreeSet;

use crate::error::{Result as FormatResult, unsupported};

/// An op, apart from the body that it lies in.
pub(crate) struct Step {
    pub def: &'static OpDef,
    pub operands: Vec<Value>,
    pub types: Vec<Type>,
    pub attrs: AttrDict,
    pub results: Vec<Value>,
    pub result_types: Vec<Type>,
    pub loc: Loc,
    /// Of a conversion to narrow integers, which saturates, of numbers that may lie beyond them: the ends of the type.
    /// What runtimes convert must lie within.
    pub ends: Option<(f64, f64)>,
}

impl Step {
    /// The op.
    ///
    /// # Errors
    /// It is not registered.
    pub fn of(body: &Body, op: Op) -> FormatResult<Step> {
        let data = body.op(op);
        let Some(def) = data.def else { return unsupported(format!("op {}", body.name(op))) };
        Ok(Step {
            def,
            operands: body.operands(op).to_vec(),
            types: body.operand_types(op).to_vec(),
            attrs: data.attrs.clone(),
            results: body.results(op).collect(),
            result_types: body.result_types(op).to_vec(),
            loc: data.loc.clone(),
            ends: ends_to_keep(body, op),
        })
    }

    pub fn signature(&self) -> Signature<'_> {
        Signature { def: self.def, operands: &self.types, attrs: &self.attrs }
    }

    /// The shape of operand `i`; that of a scalar is empty.
    pub fn shape(&self, i: usize) -> &'static [Dim] {
        self.types.get(i).and_then(|ty| ty.shape()).unwrap_or(&[])
    }

    pub fn rank(&self, i: usize) -> usize {
        self.shape(i).len()
    }

    pub fn elem(&self, i: usize) -> Option<DType> {
        self.types.get(i)?.elem()
    }

    /// The format of the first operand.
    pub fn format(&self) -> Option<Format> {
        self.types.first()?.format()
    }

    pub fn is_float(&self) -> bool {
        self.format().is_some()
    }

    /// An axis counted from the front.
    pub fn axis(&self, axis: i64, rank: usize) -> i64 {
        if axis < 0 { axis + rank as i64 } else { axis }
    }

    /// Whether a runtime's sum is the op's, or better: it accumulates in the element type, or in f32 for narrower ones.
    pub fn sums_as_runtimes_do(&self) -> bool {
        let s = self.signature();
        let Some(format) = self.format() else { return true };
        let accumulate = s.accumulate(format);
        s.sum_method() == SumMethod::Naive
            && (accumulate == format || (is_narrow(format) && accumulate == Format::F32))
    }
}

/// The format in which runtimes compute with values of the format.
pub(crate) fn computed_in(format: Format) -> Format {
    if is_narrow(format) { Format::F32 } else { format }
}

/// The least and the greatest value of a type; of 64 bits the greatest is rounded up to 2^63, which saturates.
pub(crate) fn extremes(elem: DType) -> (f64, f64) {
    match elem {
        DType::Float(_) => (f64::NEG_INFINITY, f64::INFINITY),
        _ => (elem.int_range().0 as f64, elem.int_range().1 as f64),
    }
}

/// The ends of a narrow integer type, for a conversion to it of floating-point numbers.
pub(crate) fn ends(from: DType, to: DType) -> Option<(f64, f64)> {
    let narrow = matches!(to, DType::Int(8 | 16) | DType::Unsigned(8 | 16));
    (narrow && from.is_float()).then(|| extremes(to))
}

/// Whether the value is one that an op has limited to these ends.
pub(crate) fn is_limited(body: &Body, value: Value, ends: (f64, f64)) -> bool {
    let Some(by) = body.defining_op(value) else { return false };
    let bounds = match (body.name(by), body.operands(by)) {
        ("ng.clamp", &[_, low, high]) | ("stablehlo.clamp", &[low, _, high]) => {
            (number(body, low), number(body, high))
        }
        _ => return false,
    };
    matches!(bounds, (Some(low), Some(high)) if low >= ends.0 && high <= ends.1)
}

/// The element of a constant whose elements are all one.
fn number(body: &Body, value: Value) -> Option<f64> {
    let constant = body.defining_op(value)?;
    match body.attr(constant, "value").or_else(|| body.properties(constant).get("value"))? {
        Attr::Float(x, _) => Some(*x),
        Attr::Dense(dense) if dense.splat || dense.ty.static_shape()?.is_empty() => {
            Tensor::from_bytes(dense.ty.elem()?, Vec::new(), &dense.bytes).ok()?.to_f64s().first().copied()
        }
        _ => None,
    }
}

fn ends_to_keep(body: &Body, op: Op) -> Option<(f64, f64)> {
    let &[x] = body.operands(op) else { return None };
    let &[result] = &*body.result_types(op) else { return None };
    let ends = ends(body.ty(x).elem()?, result.elem()?)?;
    (body.name(op) == "ng.convert" && !is_limited(body, x, ends)).then_some(ends)
}

/// Whether runtimes compute in f32 with values of the format.
pub(crate) fn is_narrow(format: Format) -> bool {
    matches!(format, Format::F16 | Format::Bf16 | Format::F8E4M3FN | Format::F8E5M2)
}

type Result<T> = std::result::Result<T, String>;

/// Emits the steps of an op and returns its results.
pub(crate) type Steps = Box<dyn Fn(&mut Builder<'_>, &Step) -> Result<Vec<Value>>>;

/// The steps of a sum that runtimes do not take as the op says.
///
/// # Errors
/// Names what no format of ONNX expresses.
pub(crate) fn sums(step: &Step, format: Format) -> FormatResult<Steps> {
    if let Semantics::Decomposition(decompose) = step.def.semantics {
        return Ok(Box::new(move |b, s| decompose(b, &s.signature(), &s.operands)));
    }
    let (accumulate, method) = (step.signature().accumulate(format), step.signature().sum_method());
    let wide = |f: Format| matches!(f, Format::F32 | Format::F64) && f.precision() >= format.precision();
    match method {
        // What compensation keeps, f64 keeps for fewer than 2^28 terms.
        _ if method != SumMethod::Naive
            && wide(Format::F64)
            && accumulate != Format::F64
            && format != Format::F64 =>
        {
            Ok(widened(DType::Float(Format::F64)))
        }
        SumMethod::Naive if wide(accumulate) => Ok(widened(DType::Float(accumulate))),
        SumMethod::Naive => unsupported(format!("sums of {} in {}", format.name(), accumulate.name())),
        _ => unsupported(format!("sums of {} by the method '{}'", format.name(), method.name())),
    }
}

/// The same op of elements of a wider type, and its results in their own.
pub(crate) fn widened(to: DType) -> Steps {
    Box::new(move |b, s| {
        let mut operands = Vec::with_capacity(s.operands.len());
        for (&value, ty) in s.operands.iter().zip(&s.types) {
            let alike = ty.elem().is_some_and(|e| e.is_float() == to.is_float());
            let ours = alike && (to.is_float() || ty.elem() == s.elem(0));
            operands.push(if ours { convert(b, value, to)? } else { value });
        }
        let mut attrs = s.attrs.clone();
        attrs.remove("accumulate");
        attrs.remove("sum");
        let op = b.op(s.def.name, &operands, attrs)?;
        let results: Vec<Value> = b.body.results(op).collect();
        let types = results.into_iter().zip(&s.result_types);
        types.map(|(value, ty)| ty.elem().map_or(Ok(value), |elem| convert(b, value, elem))).collect()
    })
}

pub(crate) fn convert(b: &mut Builder<'_>, value: Value, to: DType) -> Result<Value> {
    if b.ty(value).elem() == Some(to) {
        return Ok(value);
    }
    b.emit("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
}

/// The function that a model is made of: the only one, else `@main`, else the only one that no other calls.
///
/// # Errors
/// Names the functions.
pub(crate) fn entry(module: &Module) -> FormatResult<Op> {
    let functions = module.functions();
    let name = |op: Op| module.body.attr(op, "sym_name").and_then(Attr::as_str).unwrap_or_default();
    if let [only] = functions[..] {
        return Ok(only);
    }
    if let Some(main) = functions.iter().find(|&&op| name(op) == "main") {
        return Ok(*main);
    }
    let mut called = BTreeSet::new();
    for body in functions.iter().filter_map(|&op| module.body.body(op)) {
        called.extend(
            body.walk().into_iter().filter_map(|op| Some(body.attr(op, "callee")?.as_symbol()?.to_string())),
        );
    }
    let roots: Vec<Op> = functions.iter().copied().filter(|&op| !called.contains(name(op))).collect();
    match roots[..] {
        [only] => Ok(only),
        [] if functions.is_empty() => unsupported("the module has no function with a body"),
        _ => {
            let names: Vec<String> = functions.iter().map(|&op| format!("@{}", name(op))).collect();
            unsupported(format!(
                "a model has one graph, but the module has {}; call one of them @main",
                names.join(", ")
            ))
        }
    }
}

/// The steps of the op's definition.
pub(crate) fn definition(step: &Step) -> Option<Steps> {
    match step.def.semantics {
        Semantics::Decomposition(decompose) => {
            Some(Box::new(move |b, s| decompose(b, &s.signature(), &s.operands)))
        }
        _ => None,
    }
}
