//! The readers of the table.

use ngc_formats::onnx::{ImportOptions, import_shared};
use ngc_formats::{fpcore, pt2, stablehlo as hlo};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Context, Diagnostics, Module, Sources};

use super::Binary;
use crate::load::Failure;

pub(super) fn ngir(
    context: &Context,
    sources: &Sources,
    file: u16,
    _: &mut Diagnostics,
) -> Result<Module, Failure> {
    Ok(parse_module(context, sources, file, &ParseOptions::default())?)
}

pub(super) fn fpcore(
    context: &Context,
    sources: &Sources,
    file: u16,
    remarks: &mut Diagnostics,
) -> Result<Module, Failure> {
    let Some(source) = sources.file(file) else { return Err(Failure::new("there is no text")) };
    let imported = fpcore::import(context, source, file)?;
    remarks.0.extend(imported.remarks.0);
    Ok(imported.module)
}

pub(super) fn onnx(context: &Context, file: &Binary<'_>, _: &mut Diagnostics) -> Result<Module, Failure> {
    let options =
        ImportOptions { name: file.name.into(), directory: file.folder(), ..ImportOptions::default() };
    Ok(import_shared(context, file.bytes()?, &options)?)
}

pub(super) fn pt2(context: &Context, file: &Binary<'_>, _: &mut Diagnostics) -> Result<Module, Failure> {
    let options = pt2::ImportOptions { name: file.name.into(), ..pt2::ImportOptions::default() };
    Ok(pt2::import(context, file.bytes()?, &options)?)
}

pub(super) fn stablehlo(
    _: &Context,
    sources: &Sources,
    file: u16,
    remarks: &mut Diagnostics,
) -> Result<Module, Failure> {
    let imported = hlo::import(sources, file)?;
    remarks.0.extend(imported.remarks.0);
    Ok(imported.module)
}
