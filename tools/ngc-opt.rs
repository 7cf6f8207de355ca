//! `ngc-opt`: reads a module, runs passes over it, writes it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ngc_tools::opt::main(std::env::args_os(), ngc_passes::REGISTRY)
}
