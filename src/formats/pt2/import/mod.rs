//! Exported programs into modules: one function `@main`, one or a few `ng` ops for each node.
//!
//! An op group is a file here, and an operator of ATen is an entry in its table: its name without the overload, and the
//! function that emits it. Arguments have names, the same in all overloads; that function reads them through
//! [`Node`](node::Node), which afterwards refuses whatever was not read.

mod activation;
mod alias;
mod arithmetic;
mod calls;
mod compare;
mod complex;
mod conv;
mod create;
mod distance;
mod fourier;
mod in_place;
mod index;
mod join;
mod linear;
mod location;
mod loss;
mod node;
mod norm;
mod number;
mod opaque;
mod order;
mod pool;
mod program;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod resample;
mod shape;
mod single;
mod slice;
mod softmax;
mod special;
mod state;
mod steps;
mod views;
mod windows;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ngc_ir::{Context, Module, Value};
use prost::bytes::Bytes;

use super::archive::Archive;
use super::schema::{ExportedProgram, Head, MAJOR};
use super::weights::Tensors;
use crate::builder::Weights;
use crate::error::{FormatError, Result, invalid, unsupported};
use node::Node;

/// How a program is imported.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Name of the archive in messages, such as its file name.
    pub name: String,
    /// Where weights go.
    pub weights: Weights,
}

/// Emits the ops of a node and returns its results, in the order of the node's outputs.
type Import = fn(&mut Node<'_, '_>) -> Result<Vec<Value>>;

/// An op group: operators by name, without the overload; those of another namespace than `aten` with that.
type Table = &'static [(&'static str, Import)];

static OPERATORS: LazyLock<BTreeMap<&'static str, Import>> = LazyLock::new(|| {
    let groups: [Table; 24] = [
        activation::OPS,
        arithmetic::OPS,
        compare::OPS,
        conv::OPS,
        create::OPS,
        distance::OPS,
        index::OPS,
        join::OPS,
        linear::OPS,
        loss::OPS,
        norm::OPS,
        opaque::OPS,
        order::OPS,
        pool::OPS,
        quantize::OPS,
        recurrent::OPS,
        random::OPS,
        reduce::OPS,
        resample::OPS,
        shape::OPS,
        slice::OPS,
        softmax::OPS,
        special::OPS,
        windows::OPS,
    ];
    groups.into_iter().flatten().copied().collect()
});

/// The operators of ATen that are read, by name.
pub fn operators() -> Vec<&'static str> {
    OPERATORS.keys().copied().collect()
}

/// Reads an archive: its program becomes the function `@main`, parameters and buffers become constants, module paths and
/// source lines become locations, symbolic dimensions become `?` with the argument's attributes `ng.dims` and (where they
/// are bounded) `ng.dim_range`, names of inputs and outputs their attribute `ng.name`.
///
/// Programs are read as `torch.export.export(m, args)` gives them, with or without `.run_decompositions(...)`, where they
/// are free of effects. Operators that work in place on what the program made are functions of its values. Buffers and parameters that a
/// call changes and reads are arguments, after those of the user; what they become, and inputs that are changed in place, are results after
/// the outputs, as `NAME_next`. Complex numbers
/// are their real and imaginary parts, which inputs and outputs have along one more dimension, the last. Checks that the
/// program makes of its own inputs are not kept. Mutations of buffers that no output depends on are left out. Elements are computed in the formats of torch's CPU kernels (docs/pytorch-formats.md): sums of
/// f16, bf16 and 8-bit floats accumulate in f32, and kernels of several steps are rounded once.
///
/// # Errors
/// [`FormatError::Unsupported`] names the operator and the node; [`FormatError::Invalid`] the place of what is broken.
pub fn import(context: &Context, archive: Bytes, options: &ImportOptions) -> Result<Module> {
    read(context, archive, options)
        .map_err(|e| if options.name.is_empty() { e } else { e.within(&options.name) })
}

fn read(context: &Context, archive: Bytes, options: &ImportOptions) -> Result<Module> {
    let mut archive = Archive::open(archive)?;
    let models: Vec<String> =
        archive.folder("models/").into_iter().filter(|n| n.ends_with(".json")).collect();
    let file = match &models[..] {
        [one] => one,
        [] if !archive.folder("data/aotinductor/").is_empty() => {
            return unsupported(
                "compiled code of AOTInductor; save the program itself with torch.export.save",
            );
        }
        [] => return invalid("the archive has no program: 'models/' is empty"),
        many => return unsupported(format!("several programs in one archive: {}", many.join(", "))),
    };
    let place = format!("models/{file}");
    let json = archive.json(&place)?;
    let broken = |e: serde_json::Error| FormatError::Invalid(format!("{place}: {e}"));
    let head: Head = serde_json::from_slice(&json).map_err(broken)?;
    if head.schema_version.major != MAJOR {
        return unsupported(format!(
            "{place}: schema version {}.{} (torch {}); ngc reads {MAJOR}: export the model with a current torch",
            head.schema_version.major,
            head.schema_version.minor,
            head.torch_version.escape_debug()
        ));
    }
    let mut program: ExportedProgram = serde_json::from_slice(&json).map_err(broken)?;
    drop(json);
    calls::replace(&mut program)?;
    in_place::replace(&mut program)?;
    let tensors = Tensors::new(archive, file.trim_end_matches(".json"))?;
    program::import(context, &program, tensors, options)
}
