//! The `builtin` dialect: the module.

use ngc_ir::OpDef;
use ngc_ir::op_def::{AttrKind, Default, Syntax, Traits, attribute};

/// Ops of this family.
pub const OPS: &[&OpDef] = &[&MODULE];

/// `builtin.module`.
pub static MODULE: OpDef = OpDef {
    name: "builtin.module",
    summary: "holds functions",
    description: "The top of a file, or a module inside another one. It has one region of one block, whose ops are \
        functions and modules; they find each other by symbol. A file without a module at its top is read as if one \
        stood around it. As in MLIR's builtin dialect.",
    example: "module @model { func.func @id(%x: f32) -> f32 { func.return %x : f32 } }",
    attributes: &[
        attribute("sym_name", AttrKind::Str, Default::Absent, "its name; a module may have none"),
        attribute(
            "sym_visibility",
            AttrKind::Enum(super::func::VISIBILITY),
            Default::Absent,
            "absent: public",
        ),
    ],
    traits: Traits { isolated: true, symbol: true, ..Traits::NONE },
    syntax: Syntax::Module,
    ..OpDef::BASE
};
