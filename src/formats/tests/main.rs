//! The tests of ngc-formats: one program, because linking one for each file takes longer than most of the tests.

mod fpcore;
mod import;
mod inlining;
mod npy;
mod onnx_export;
mod onnx_hostile;
mod pt2;
mod pt2_parts;
mod pt2_steps;
mod sequences;
mod support;
mod tensor_pb;
mod weights;
