//! PyTorch's exported programs: `.pt2` archives as `torch.export.save` writes them.
//!
//! An archive is a zip of JSON and of raw weights (the layout of `torch.export.pt2_archive`, whose program is described
//! by `torch._export.serde.schema`). Parts that are pickled are refused by name: to read them is to run them.

mod archive;
#[doc(hidden)] // Open to the tests.
pub mod extent;
pub mod import;
#[doc(hidden)] // Open to the tests.
pub mod schema;
#[doc(hidden)] // Open to the tests.
pub mod weights;

pub use import::{ImportOptions, import};
