//! The IR as text, in and out: MLIR's generic form, and custom forms of builtin, func and ng.
//!
//! Reading takes three steps. A scanner checks strings and the nesting of brackets and finds the function bodies. The
//! grammar `grammar/ngir.pest` then parses one operation at a time, so that memory stays flat however large a function
//! is. Functions are independent, and read in parallel.
//!
//! Readers of other compilers' texts hand in the custom forms of their dialects ([`CustomForms`]); the rest of the text is
//! MLIR, which is read as ever.

mod dot;
mod parse;
mod print;
mod scanner;
mod source;

pub use dot::Drawing;
pub use parse::{CustomForms, OpParser, ParseOptions, parse_attribute, parse_module, parse_type};
pub use print::{PrintOptions, print_attribute, print_module};
pub use scanner::MAX_NESTING;
pub use source::decode_source;
