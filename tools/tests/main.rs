//! The tests of ngc-tools: one program, because linking one for each file takes longer than most of the tests.

mod certificates;
mod formats;
mod formulas;
mod fpcore;
mod half;
mod pytorch;
mod reproducer;
mod stablehlo;
