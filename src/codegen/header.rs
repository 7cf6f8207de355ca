//! The C header of compiled kernels.

use std::fmt::Write;

use ngc_numerics::{DType, Format};

use crate::abi::{Function, PACKED, Parameter, Role};

/// The header; its guard is made of `name`.
pub fn header(functions: &[Function], name: &str, packed: bool) -> String {
    let guard: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let mut text = format!(
        "/* Written by ngc-compile.\n\n   Tensors are passed as pointers to their elements in row-major order, each followed by the extents that are\n   \
         not fixed; results are written to the caller's buffers, which overlap no other. f16 and bf16 are passed as\n   \
         their bits. A kernel returns 0, or a status that says why it did nothing. It allocates nothing: intermediate\n   \
         values lie in a workspace of the caller, as large as the function beside the kernel says. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
    );
    for function in functions {
        let open: Vec<String> = arguments(function)
            .flat_map(|p| p.open().into_iter().map(|(_, name)| format!("int64_t {name}")))
            .collect();
        let open = if open.is_empty() { "void".to_string() } else { open.join(", ") };
        let _ =
            write!(text, "\n/* Bytes of the workspace. */\nint64_t {}({open});\n\n/*", function.workspace);
        for p in &function.parameters {
            let _ = write!(text, " {}: {};", p.name, described(p));
        }
        for (status, message) in &function.statuses {
            let _ = write!(text, "\n   {status}: {message}.");
        }
        let mut parameters: Vec<String> = Vec::new();
        for p in &function.parameters {
            parameters.push(declared(p));
            parameters.extend(p.open().into_iter().map(|(_, name)| format!("int64_t {name}")));
        }
        parameters.extend(["void *workspace".to_string(), "int64_t workspace_size".to_string()]);
        let _ = writeln!(text, " */\nint {}(\n    {});", function.name, parameters.join(",\n    "));
        if packed {
            let _ = writeln!(
                text,
                "\n/* The same, with pointers to all parameters but extents in one array, and extents in another. */\n\
                 int64_t {0}{PACKED}(const int64_t *extents);\n\
                 int {1}{PACKED}(void *const *parameters, const int64_t *extents, void *workspace, int64_t workspace_size);",
                function.workspace, function.name
            );
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

fn arguments(function: &Function) -> impl Iterator<Item = &Parameter> {
    function.parameters.iter().filter(|p| p.role == Role::Argument)
}

/// The type as ngc spells it.
pub(crate) fn described(p: &Parameter) -> String {
    match &p.shape {
        None => p.elem.name().to_string(),
        Some(shape) => {
            let extents: String = shape.iter().map(|d| format!("{d}x")).collect();
            format!("{extents}{}", p.elem.name())
        }
    }
}

fn declared(p: &Parameter) -> String {
    let ty = c_type(p.elem);
    match (&p.shape, p.role) {
        (None, _) => format!("{ty} {}", p.name),
        (Some(_), Role::Argument) => format!("const {ty} *{}", p.name),
        (Some(_), Role::Result) => format!("{ty} *{}", p.name),
    }
}

/// The type of an element in C.
pub fn c_type(elem: DType) -> &'static str {
    match elem {
        DType::Float(Format::F64) => "double",
        DType::Float(Format::F32) => "float",
        DType::Float(Format::F16 | Format::Bf16) => "uint16_t",
        DType::Float(Format::F8E4M3FN | Format::F8E5M2) => "uint8_t",
        DType::Float(Format::Tf32) => "uint32_t",
        DType::Int(1) => "bool",
        DType::Int(8) => "int8_t",
        DType::Int(16) => "int16_t",
        DType::Int(32) => "int32_t",
        DType::Int(_) | DType::Index => "int64_t",
        DType::Unsigned(8) => "uint8_t",
        DType::Unsigned(16) => "uint16_t",
        DType::Unsigned(_) => "uint32_t",
    }
}
