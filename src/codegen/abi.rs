//! What a caller sees of compiled kernels: names, parameters, and what they must be.

use ngc_ir::{Attr, AttrDict, Dim, Module, Op, Type};
use ngc_numerics::DType;
use ngc_passes::lowering::{FUNCTIONS, RESULTS, WORKSPACE};

/// What is put behind the name of a kernel, and of the function that tells the size of its workspace, to name those that take
/// what they need from arrays.
pub const PACKED: &str = "_packed";

/// What a parameter is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Read.
    Argument,
    /// Written.
    Result,
}

/// A parameter of a kernel.
pub struct Parameter {
    /// Its name in C.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its elements.
    pub elem: DType,
    /// Extents of a buffer; absent for a scalar, which is passed by value.
    pub shape: Option<Vec<Dim>>,
}

impl Parameter {
    /// The names in C of the extents that the type leaves open, with their dimensions.
    pub fn open(&self) -> Vec<(usize, String)> {
        let dims = self.shape.iter().flatten().enumerate();
        dims.filter(|(_, d)| d.known().is_none()).map(|(n, _)| (n, format!("{}_{n}", self.name))).collect()
    }
}

/// A compiled kernel.
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// The symbol of the function that tells the size of its workspace.
    pub workspace: String,
    /// Its parameters, before the workspace.
    pub parameters: Vec<Parameter>,
    /// Functions that it computes by implementations, and how many units in the last place each is off at most, where known.
    pub functions: Vec<(String, Option<f64>)>,
    /// Why it may return which status.
    pub statuses: Vec<(i64, String)>,
}

/// The kernels of a module that lowering has made.
///
/// # Errors
/// When a function is no kernel, or its name is none in C.
pub fn functions(module: &Module) -> Result<Vec<Function>, String> {
    let mut found = Vec::new();
    for op in module.ops() {
        if let Some(count) = module.body.attr(op, RESULTS).and_then(Attr::as_int) {
            found.push(function(module, op, count as usize)?);
        }
    }
    Ok(found)
}

fn function(module: &Module, op: Op, results: usize) -> Result<Function, String> {
    let name = module.body.attr(op, "sym_name").and_then(Attr::as_str).unwrap_or_default().to_string();
    if !is_c_name(&name) {
        return Err(format!("@{name} is no name in C: rename the function to letters, digits and '_'"));
    }
    let ty = module.body.attr(op, "function_type").and_then(Attr::as_type).and_then(Type::as_function);
    let inputs = ty.map_or(&[][..], |ty| &ty.inputs);
    let buffers = inputs.split_last().map_or(&[][..], |(_, rest)| rest);
    let arguments =
        buffers.len().checked_sub(results).ok_or_else(|| format!("@{name} has too few parameters"))?;
    let said = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).unwrap_or_default();
    let mut parameters: Vec<Parameter> = Vec::with_capacity(buffers.len());
    for (n, &ty) in buffers.iter().enumerate() {
        let given = match said.get(n) {
            Some(Attr::Dict(dict)) => {
                dict.get("ng.name").and_then(Attr::as_str).filter(|name| is_c_name(name))
            }
            _ => None,
        };
        let (role, own) = match n.checked_sub(arguments) {
            None => (Role::Argument, format!("arg{n}")),
            Some(n) => (Role::Result, format!("result{n}")),
        };
        let taken = |name: &str| parameters.iter().any(|p| p.name == name);
        let given = given.filter(|name| !taken(name) && *name != "workspace" && *name != "workspace_size");
        let memref = ty.as_memref();
        let elem = memref
            .map(|m| m.elem)
            .or(ty.elem())
            .ok_or_else(|| format!("@{name} takes a value of type {ty}"))?;
        parameters.push(Parameter {
            name: given.map_or(own, str::to_string),
            role,
            elem,
            shape: memref.map(|m| m.shape.to_vec()),
        });
    }
    let workspace = format!("{name}{WORKSPACE}");
    let inlined = match module.body.attr(op, FUNCTIONS) {
        Some(Attr::Dict(inlined)) => inlined.clone(),
        _ => AttrDict::EMPTY,
    };
    let functions =
        inlined.iter().map(|(name, error)| (name.as_str().to_string(), error.as_float())).collect();
    Ok(Function { statuses: statuses(module, op), name, workspace, parameters, functions })
}

/// What a kernel demands, in its own order.
fn statuses(module: &Module, op: Op) -> Vec<(i64, String)> {
    let Some(body) = module.body.body(op) else { return Vec::new() };
    let mut found: Vec<(i64, String)> = Vec::new();
    for inner in body.walk().into_iter().filter(|&op| body.is(op, &ngc_dialects::kernel::control::ASSERT)) {
        let status = body.attr(inner, "status").and_then(Attr::as_int).unwrap_or(0);
        let message = body.attr(inner, "message").and_then(Attr::as_str).unwrap_or_default().to_string();
        if !found.contains(&(status, message.clone())) {
            found.push((status, message));
        }
    }
    found
}

const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "nullptr",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "typedef",
    "typeof",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

fn is_c_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(word)
        && !KEYWORDS.contains(&name)
}
