//! Text into the IR.

mod alias;
mod attr;
mod custom;
mod dense;
mod fast;
mod forms;
mod function;
mod generic;
mod grammar;
mod loc;
mod module;
mod number;
mod op;
mod reader;
mod region;
mod resource;
mod scope;
mod string;
mod types;

pub use forms::{CustomForms, OpParser};
pub use module::{ParseOptions, parse_module};

use crate::attributes::Attr;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::types::Type;

use grammar::Rule;
use reader::{Reader, Unit};

/// What reading gives: a value, or the error that stopped it.
type Read<T> = Result<T, Diagnostic>;

/// Reads one attribute, such as `dense<1> : tensor<2xi8>`.
///
/// # Errors
/// When the file of `sources` is not one attribute.
pub fn parse_attribute(ctx: &Context, sources: &Sources, file: u16) -> Result<Attr, Diagnostics> {
    read_whole(ctx, sources, file, |reader| {
        let mut pairs = reader.parse(Rule::attribute_text, 0)?.into_inner();
        reader.attribute(grammar::next(&mut pairs)?)
    })
}

/// Reads one type, such as `tensor<2x?xf32>`.
///
/// # Errors
/// When the file of `sources` is not one type.
pub fn parse_type(ctx: &Context, sources: &Sources, file: u16) -> Result<Type, Diagnostics> {
    read_whole(ctx, sources, file, |reader| {
        let mut pairs = reader.parse(Rule::type_text, 0)?.into_inner();
        reader.any_type(grammar::next(&mut pairs)?)
    })
}

fn read_whole<T>(
    ctx: &Context,
    sources: &Sources,
    file: u16,
    read: impl FnOnce(&mut Reader<'_>) -> Read<T>,
) -> Result<T, Diagnostics> {
    let result = Unit::new(ctx, sources, file).and_then(|unit| read(&mut Reader::new(&unit)));
    result.map_err(|error| Diagnostics(vec![error]))
}
