//! Small ONNX models.

use ngc_formats::FormatError;
use ngc_formats::onnx::proto::*;
use ngc_formats::onnx::{ImportOptions, import};
use ngc_ir::verifier::verify;
use ngc_ir::{Body, Module};
use prost::Message;

/// A float tensor with these dimensions: a number, or a name.
pub fn value(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfoProto {
    let dim = dims
        .iter()
        .map(|d| DimensionProto {
            value: Some(match d.parse() {
                Ok(n) => DimensionValue::Value(n),
                Err(_) => DimensionValue::Param(d.to_string()),
            }),
        })
        .collect();
    let tensor = TensorTypeProto { elem_type: Some(elem_type), shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { value: Some(TypeValue::Tensor(tensor)) }),
        ..Default::default()
    }
}

pub fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        name: Some(format!("the_{op}")),
        input: inputs.iter().map(|s| s.to_string()).collect(),
        output: outputs.iter().map(|s| s.to_string()).collect(),
        ..Default::default()
    }
}

pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(2), i: Some(i), ..Default::default() }
}

pub fn ints(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(7),
        dims: vec![values.len() as i64],
        int64_data: values.to_vec(),
        ..Default::default()
    }
}

/// A model from x, `tensor<?x4xf32>`, to y.
pub fn model(nodes: Vec<NodeProto>) -> ModelProto {
    let output = ValueInfoProto { name: Some("y".into()), ..Default::default() };
    ModelProto {
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(20) }],
        graph: Some(GraphProto {
            node: nodes,
            input: vec![value("x", 1, &["batch", "4"])],
            output: vec![output],
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub fn with_graph(mut model: ModelProto, change: impl FnOnce(&mut GraphProto)) -> ModelProto {
    change(model.graph.as_mut().unwrap());
    model
}

pub fn read(model: &ModelProto) -> Result<Module, FormatError> {
    let context = ngc_dialects::context();
    let module = import(&context, &model.encode_to_vec(), &ImportOptions::default())?;
    verify(&context, &module).unwrap();
    Ok(module)
}

pub fn body(module: &Module) -> &Body {
    module.body.body(module.symbol("main").unwrap()).unwrap()
}

pub fn op_names(module: &Module) -> Vec<&'static str> {
    let body = body(module);
    body.walk().into_iter().map(|op| body.name(op)).collect()
}

pub fn unsupported(model: &ModelProto) -> String {
    match read(model) {
        Err(FormatError::Unsupported(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was read"),
    }
}

pub fn invalid(model: &ModelProto) -> String {
    match read(model) {
        Err(FormatError::Invalid(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was read"),
    }
}

pub fn graph(name: &str, value: GraphProto) -> AttributeProto {
    AttributeProto {
        name: Some(name.into()),
        r#type: Some(5),
        g: Some(Box::new(value)),
        ..Default::default()
    }
}

pub fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) }
}
