//! Reads and writes other people's files: tensors (`.npy`, `.npz`, ONNX `.pb`, safetensors) and models (ONNX).
//!
//! Invariants: files are data from strangers, so every malformed input gives a [`FormatError`] that names the place,
//! never a panic, and memory is only taken for data that are present; nothing here runs a pass or prints.

mod builder;
pub mod error;
pub mod fpcore;
pub mod npy;
pub mod npz;
pub mod onnx;
pub mod resources;
pub mod safetensors;

pub use builder::Weights;
pub use error::FormatError;
