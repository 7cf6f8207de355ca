//! The tests of ngc-dialects: one program, because linking one for each file takes longer than most of the tests.

mod attention;
mod common;
mod constants;
mod contract;
mod conv_pool;
mod declarations;
mod elementwise;
mod facts;
mod folds;
mod hooks;
mod index;
mod norm;
mod num;
mod reduce;
mod relative;
mod scan;
mod shape;
mod simplify;
mod softmax;
mod structural_robust;
mod support;
mod transfer;
