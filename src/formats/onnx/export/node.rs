//! Attributes of nodes.

use super::super::proto::{AttributeProto, TensorProto};

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
