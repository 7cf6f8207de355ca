//! The writers of the table.

use ngc_formats::fpcore::{Language, export};
use ngc_ir::text::print_module;

use super::Output;
use crate::load::Failure;

pub(super) fn ngir(output: &mut Output<'_>) -> Result<String, Failure> {
    Ok(print_module(output.module, &output.print))
}

pub(super) fn fpcore(output: &mut Output<'_>) -> Result<String, Failure> {
    formula(output, Language::FpCore)
}

pub(super) fn c99(output: &mut Output<'_>) -> Result<String, Failure> {
    formula(output, Language::C99)
}

fn formula(output: &mut Output<'_>, language: Language) -> Result<String, Failure> {
    let exported = export(output.module, language)?;
    if !exported.stepwise.is_empty() {
        let ops = exported.stepwise.join(", ");
        output.remarks.push(format!("written by their formulas, which round at each step: {ops}"));
    }
    Ok(exported.text)
}
