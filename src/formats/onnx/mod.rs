//! ONNX: models and tensors (the standard is at <https://onnx.ai>).

pub mod export;
pub mod import;
pub mod proto;
pub mod tensor;

pub use export::{ExportOptions, Exported, export};
pub use import::{ImportOptions, Weights, import, import_shared};
