//! ONNX: models and tensors (the standard is at <https://onnx.ai>).

pub mod import;
pub mod proto;
pub mod tensor;

pub use import::{ImportOptions, Weights, import};
