//! ONNX: models and tensors (the standard is at <https://onnx.ai>).

pub mod proto;
pub mod tensor;
