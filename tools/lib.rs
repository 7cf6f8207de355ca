//! What the command-line tools share: reading input, writing output, showing diagnostics.
//!
//! Invariants: the tools are thin (flags in, library call, text out); messages go to the standard error stream,
//! results to files or the standard output; the exit code is 0 on success, 1 on bad input of any kind, 2 on
//! wrong use, 3 on input that ngc does not support.

pub mod formats;
pub mod io;
pub mod jit;
pub mod load;
pub mod math;
pub mod opt;
pub mod progress;

use std::io::{IsTerminal, Write};

use ngc_ir::render::{RenderOptions, render};
use ngc_ir::{Diagnostics, Severity, Sources};

/// Parses the command line. Wrong use is bad input like any other: a message and exit code 1.
pub fn parse_arguments<A: clap::Parser>() -> A {
    A::try_parse().unwrap_or_else(|e| {
        // Help and version go to the standard output, errors of use to the standard error stream.
        let _ = e.print();
        std::process::exit(i32::from(e.use_stderr()))
    })
}

/// Errors that are shown; of others there is a count.
const MOST_ERRORS: usize = 20;

/// Shows diagnostics on the standard error stream, in colour on a terminal unless `NO_COLOR` is set.
pub fn show(diagnostics: &Diagnostics, sources: &Sources) {
    let mut stderr = std::io::stderr().lock();
    let color = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let mut errors = 0;
    for diagnostic in &diagnostics.0 {
        errors += usize::from(diagnostic.severity == Severity::Error);
        if errors > MOST_ERRORS && diagnostic.severity == Severity::Error {
            continue;
        }
        // Nobody is left to tell when the error stream is closed.
        let _ = stderr.write_all(render(diagnostic, sources, RenderOptions { color }).as_bytes());
    }
    if errors > MOST_ERRORS {
        let _ = writeln!(stderr, "error: {} more errors are not shown", errors - MOST_ERRORS);
    }
}
