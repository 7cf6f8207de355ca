//! The tests of ngc-ir: one program, because linking one for each file takes longer than most of the tests.

mod common;
mod custom_forms;
mod index;
mod pass_manager;
mod render;
mod text_errors;
mod text_round_trip;
mod verifier;
