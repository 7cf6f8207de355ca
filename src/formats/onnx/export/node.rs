//! An op as the tables see it, and the attributes of nodes.

use ngc_ir::{AttrDict, Body, Dim, Loc, Op, OpDef, Signature, Type, Value};
use ngc_numerics::{DType, Format, SumMethod};

use super::super::proto::{AttributeProto, TensorProto};

/// An op, apart from the body that it lies in.
pub(super) struct Step {
    pub def: &'static OpDef,
    pub operands: Vec<Value>,
    pub types: Vec<Type>,
    pub attrs: AttrDict,
    pub results: Vec<Value>,
    pub result_types: Vec<Type>,
    pub loc: Loc,
}

impl Step {
    /// The op; nothing if it is not registered.
    pub fn of(body: &Body, op: Op) -> Option<Step> {
        let data = body.op(op);
        Some(Step {
            def: data.def?,
            operands: body.operands(op).to_vec(),
            types: body.operand_types(op).to_vec(),
            attrs: data.attrs.clone(),
            results: body.results(op).collect(),
            result_types: body.result_types(op).to_vec(),
            loc: data.loc.clone(),
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

/// Whether runtimes compute in f32 with values of the format.
pub(super) fn is_narrow(format: Format) -> bool {
    matches!(format, Format::F16 | Format::Bf16 | Format::F8E4M3FN | Format::F8E5M2)
}

pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, 2) }
}

pub(super) fn flag(name: &str, value: bool) -> AttributeProto {
    int(name, value.into())
}

pub(super) fn float(name: &str, value: f64) -> AttributeProto {
    AttributeProto { f: Some(value as f32), ..attribute(name, 1) }
}

pub(super) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.as_bytes().to_vec().into()), ..attribute(name, 3) }
}

pub(super) fn ints(name: &str, values: impl Into<Vec<i64>>) -> AttributeProto {
    AttributeProto { ints: values.into(), ..attribute(name, 7) }
}

pub(super) fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(value)), ..attribute(name, 4) }
}

fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..AttributeProto::default() }
}
