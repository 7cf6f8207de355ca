//! The writers of the table.

use std::fs::File;
use std::io::BufWriter;

use bytes::Bytes;
use ngc_formats::fpcore::{Language, export};
use ngc_formats::onnx::{self, ExportOptions};
use ngc_formats::resources::outline_resources;
use ngc_formats::{pytorch, safetensors};
use ngc_ir::text::print_module;

use super::Output;
use crate::load::Failure;
use crate::progress::Progress;

pub(super) fn ngir(output: &mut Output<'_>) -> Result<String, Failure> {
    Ok(print_module(output.module, &output.print))
}

pub(super) fn fpcore(output: &mut Output<'_>) -> Result<String, Failure> {
    formula(output, Language::FpCore)
}

pub(super) fn c99(output: &mut Output<'_>) -> Result<String, Failure> {
    formula(output, Language::C99)
}

pub(super) fn dot(output: &mut Output<'_>) -> Result<String, Failure> {
    Ok(ngc_formats::dot::export(output.module))
}

fn formula(output: &mut Output<'_>, language: Language) -> Result<String, Failure> {
    let exported = export(output.module, language)?;
    if !exported.stepwise.is_empty() {
        let ops = exported.stepwise.join(", ");
        output.remarks.push(format!("written by their formulas, which round at each step: {ops}"));
    }
    Ok(exported.text)
}

/// Large weights go to a file of their own, `model.onnx.data` beside `model.onnx`.
pub(super) fn onnx(output: &mut Output<'_>) -> Result<Vec<Bytes>, Failure> {
    let data = format!("{}.data", output.file_name());
    let options = ExportOptions { external_name: &data, max_inline: onnx::export::MAX_INLINE };
    let exported = onnx::export(output.context, output.module, &options)?;
    output.remarks.extend(exported.remarks);
    if let Some(weights) = exported.external {
        let at = output.beside(&data)?;
        let progress = Progress::of_bytes("writing weights");
        File::create(&at)
            .and_then(|file| {
                weights.write(&mut BufWriter::new(file), |done, total| progress.update(done, total))
            })
            .map_err(|e| Failure::new(format!("cannot write '{data}': {e}")))?;
    }
    Ok(exported.model)
}

/// Weights go to a file of their own, `model.safetensors` beside `model.py`.
pub(super) fn pytorch(output: &mut Output<'_>) -> Result<String, Failure> {
    outline_resources(output.module, pytorch::MAX_ELEMENTS);
    let name = output.file_name();
    let weights = format!("{}.safetensors", name.strip_suffix(".py").unwrap_or(name));
    let exported = pytorch::export(output.context, output.module, &weights)?;
    output.remarks.extend(exported.remarks);
    if exported.loads_weights {
        let at = output.beside(&weights)?;
        safetensors::detach_weights(output.module, &at, &weights).map_err(|e| e.within(&weights))?;
    }
    Ok(exported.text)
}

pub(super) fn stablehlo(output: &mut Output<'_>) -> Result<String, Failure> {
    let exported = ngc_formats::stablehlo::export(output.module, output.print.sources)?;
    if !exported.stepwise.is_empty() {
        let ops = exported.stepwise.join(", ");
        output.remarks.push(format!("written by their formulas, which round at each step: {ops}"));
    }
    if exported.sums {
        output.remarks.push("the order and the compensation of sums are left to what runs the model".into());
    }
    Ok(exported.text)
}
