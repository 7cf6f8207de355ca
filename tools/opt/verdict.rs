//! What `--stabilize` came to, in a few words on the standard error stream.

use std::fmt::Write;

use ngc_ir::{Module, Sources};
use ngc_passes::stabilize::telling::verdict::{State, Verdict};

use super::ranges;

/// A line, and where something is left what to do about it.
pub fn text(before: State, module: &Module, rewrites: u64, sources: &Sources) -> String {
    let verdict = Verdict { before, after: State::of(module) };
    let mut text = format!("stabilize: {rewrites} rewrites; {verdict}\n");
    if verdict.after.any.lost == 0 {
        return text;
    }
    // Writing to a string does not fail.
    let _ = writeln!(text, "  which, and on which inputs: add --explain-nonfinite after --stabilize");
    if let [(function, n), rest @ ..] = &verdict.after.unstated[..] {
        let name = ranges::names(module, function, sources).get(*n).cloned().unwrap_or_default();
        let others = if rest.is_empty() { String::new() } else { format!(" and {} others", rest.len()) };
        let _ = writeln!(
            text,
            "  nothing is stated of argument '{name}'{others}: add --range '{name}=[LO,HI]', or --calibrate INPUTS.npz \
             --assume-calibrated"
        );
    }
    text
}
