//! Functions of libraries, by their names there.

use ngc_ir::nearest;
use ngc_numerics::Format;

use super::super::types::Reference;
use crate::machine;

/// Libraries, and functions of one number that they have in double beside those of <math.h> that are known; those in float end in
/// `f`.
const LIBRARIES: &[(&str, &[&str])] = &[("GLibC", &["exp10", "j0", "j1", "tgamma", "y0", "y1"])];

/// A function of a library.
///
/// # Errors
/// When there is none, a sentence that says so.
pub fn find(library: &str, symbol: &str) -> Result<Reference, String> {
    let Some((_, others)) = LIBRARIES.iter().find(|l| l.0 == library) else {
        let names: Vec<&str> = LIBRARIES.iter().map(|l| l.0).collect();
        return Err(format!("there is no library '{library}'; there are: {}", names.join(", ")));
    };
    let functions: Vec<&str> = machine::LIBRARY.iter().chain(*others).copied().collect();
    let found = |name: &str, format| Reference { symbol: symbol.into(), name: name.into(), format };
    if functions.contains(&symbol) {
        return Ok(found(symbol, Format::F64));
    }
    match symbol.strip_suffix('f').filter(|name| functions.contains(name)) {
        Some(name) => Ok(found(name, Format::F32)),
        None => {
            let near = nearest::nearest(symbol, functions.iter().copied());
            let hint = near.map_or(String::new(), |n| format!("; did you mean '{n}' or '{n}f'?"));
            Err(format!("{library} has no function '{symbol}' of one number{hint}"))
        }
    }
}
