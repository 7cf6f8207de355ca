//! The `ng` dialect: numerical graphs. Its ops work on scalars and tensors alike; elementwise ops broadcast by
//! NumPy's rule; names follow ONNX, StableHLO and PyTorch usage.

pub mod activation;
pub mod argmax;
pub mod arith;
pub mod attention;
pub mod compare;
pub mod concat;
pub mod constant;
pub mod conv;
pub mod convert;
mod elementwise;
pub mod exp_log;
pub mod index;
pub mod infer;
pub mod matmul;
pub mod norm;
pub mod pool;
pub mod reduce;
pub mod scan;
pub mod scatter;
pub mod shape;
pub mod slice;
pub mod softmax;
pub mod sort;
pub mod steps;
pub mod trig;
pub mod windows;
