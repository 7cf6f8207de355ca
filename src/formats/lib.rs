//! Reads and writes other people's files: tensors (`.npy`, `.npz`, ONNX `.pb`, safetensors) and models (ONNX, PyTorch).
//!
//! Invariants: files are data from strangers, so every malformed input gives a [`FormatError`] that names the place,
//! never a panic, and memory is only taken for data that are present; nothing here runs a pass or prints.

mod builder;
mod conv_transpose;
pub mod dot;
mod einsum;
mod emit;
pub mod error;
mod fourier;
pub mod fpcore;
mod functions;
mod grid;
pub mod mapped;
pub mod npy;
pub mod npz;
pub mod onnx;
mod opaque;
mod pools;
pub mod pt2;
pub mod pytorch;
pub mod resources;
pub mod safetensors;
pub mod stablehlo;
mod step;
mod zip;

pub use builder::Weights;
pub use error::FormatError;
