//! Shared libraries from object files, by the system's C compiler.

use std::path::Path;
use std::process::Command;

use crate::target::{Target, host_triple};

/// Links an object file into a shared library, which needs no other.
///
/// # Errors
/// When the target is not that of the host, there is no C compiler, or it refuses.
pub fn shared(object: &Path, library: &Path, target: &Target) -> Result<(), String> {
    let machine = |triple: &str| triple.split('-').next().unwrap_or_default().to_string();
    if machine(&target.triple) != machine(&host_triple()) {
        return Err(format!(
            "a shared library for '{}' is not linked here; use --emit=obj and the linker of that target",
            target.triple
        ));
    }
    let compiler = std::env::var("CC").ok().filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let run = Command::new(&compiler).args(["-shared", "-nostdlib", "-o"]).arg(library).arg(object).output();
    let output = run.map_err(|e| format!("cannot run the linker '{compiler}': {e}; CC names another"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the linker '{compiler}' fails: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
