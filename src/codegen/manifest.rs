//! The manifest of compiled kernels: for programs what the header is for people.

use ngc_ir::Dim;
use serde_json::{Value, json};

use crate::abi::{Function, Parameter, Role};
use crate::header::c_type;
use crate::target::Target;

/// The manifest as JSON.
pub fn manifest(functions: &[Function], target: &Target) -> String {
    let functions: Vec<Value> = functions.iter().map(function).collect();
    let whole = json!({
        "version": 1,
        "target": { "triple": target.triple, "cpu": target.cpu, "features": target.features },
        "functions": functions,
    });
    format!("{whole:#}\n")
}

fn function(f: &Function) -> Value {
    let of = |role: Role| -> Vec<Value> {
        f.parameters.iter().filter(|p| p.role == role).map(parameter).collect()
    };
    let statuses: Vec<Value> =
        f.statuses.iter().map(|(status, message)| json!({ "status": status, "message": message })).collect();
    let inlined: Vec<Value> =
        f.functions.iter().map(|(name, error)| json!({ "name": name, "max_ulp": error })).collect();
    json!({
        "name": f.name,
        "workspace_size": f.workspace,
        "arguments": of(Role::Argument),
        "results": of(Role::Result),
        "functions": inlined,
        "statuses": statuses,
    })
}

/// A scalar has no shape; an open extent is null, and is passed behind the pointer.
fn parameter(p: &Parameter) -> Value {
    let shape = p.shape.as_ref().map(|dims| dims.iter().copied().map(Dim::known).collect::<Vec<_>>());
    json!({ "name": p.name, "format": p.elem.name(), "c_type": c_type(p.elem), "shape": shape })
}
