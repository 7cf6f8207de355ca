//! (being written)

use ngc_ir::OpDef;

/// Ops of this family.
pub const OPS: &[&OpDef] = &[];
