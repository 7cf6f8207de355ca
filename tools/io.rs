//! Files in and out.

use std::fs;
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::path::Path;

use ngc_ir::Sources;
use ngc_ir::render::{RenderOptions, render};
use ngc_ir::text::decode_source;

use crate::progress::Progress;

/// The name of the input `-` in messages.
const STDIN: &str = "<stdin>";

/// Reads a text file, or the standard input for `-`. The result is the name for messages and the text; the error
/// is a message that names the file.
pub fn read_text(path: &str) -> Result<(String, String), String> {
    let (name, bytes) = read_bytes(path)?;
    match decode_source(&name, bytes) {
        Ok(text) => Ok((name, text)),
        Err(d) => Err(render(&d, &Sources::new(), RenderOptions::default()).trim_end().to_string()),
    }
}

/// Reads a file, or the standard input for `-`.
pub fn read_bytes(path: &str) -> Result<(String, Vec<u8>), String> {
    if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|e| format!("error: cannot read {STDIN}: {e}"))?;
        return Ok((STDIN.into(), bytes));
    }
    let bytes = read_file(Path::new(path)).map_err(|e| format!("error: cannot read '{path}': {e}"))?;
    Ok((path.into(), bytes))
}

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let (mut bytes, progress) = (Vec::new(), Progress::of_bytes("reading"));
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(0))?;
    while Read::by_ref(&mut file).take(STEP).read_to_end(&mut bytes)? > 0 {
        progress.update(bytes.len(), bytes.len().max(length as usize));
    }
    Ok(bytes)
}

/// Bytes between two looks at the clock.
const STEP: u64 = 16 << 20;

/// Whether the standard output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether [`write_output`] may be expected to succeed, to be asked before long work whose result it is to write.
pub fn check_output(path: &str) -> Result<(), String> {
    let known = fs::metadata(path);
    if path == "-" || known.as_ref().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let error = |e: String| format!("error: cannot write '{path}': {e}");
    if known.is_ok_and(|found| found.is_dir()) {
        return Err(error("it is a folder".into()));
    }
    let folder = Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    takes_files(folder).map_err(error)
}

/// Whether files can be written to a folder, or to where it can be made.
pub fn check_folder(path: &Path) -> Result<(), String> {
    let above = path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("."));
    takes_files(above).map_err(|e| format!("error: cannot write to '{}': {e}", path.display()))
}

fn takes_files(folder: &Path) -> Result<(), String> {
    let found = fs::metadata(folder).map_err(|e| e.to_string())?;
    if !found.is_dir() {
        return Err(format!("'{}' is no folder", folder.display()));
    }
    // The kind alone: the whole text names the temporary file.
    tempfile::tempfile_in(folder).map(drop).map_err(|e| e.kind().to_string())
}

/// Writes a file whole or not at all: to a temporary file beside it, then renamed. `-` is the standard output.
/// What exists and is no regular file (a device, a pipe) is written to as it is.
pub fn write_output(path: &str, bytes: &[u8]) -> Result<(), String> {
    write_parts(path, &[bytes])
}

/// As [`write_output`], one part after the other.
pub fn write_parts(path: &str, parts: &[impl AsRef<[u8]>]) -> Result<(), String> {
    if path == "-" {
        let mut stdout = std::io::stdout().lock();
        return write_all(&mut stdout, parts)
            .map_err(|e| format!("error: cannot write to the standard output: {e}"));
    }
    write_file(Path::new(path), parts).map_err(|e| format!("error: cannot write '{path}': {e}"))
}

fn write_all(to: &mut impl Write, parts: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
    parts.iter().try_for_each(|part| to.write_all(part.as_ref()))?;
    to.flush()
}

fn write_file(path: &Path, parts: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return write_all(&mut fs::OpenOptions::new().write(true).open(path)?, parts);
        }
        _ => {}
    }
    // A link stays a link: its target is replaced.
    let target = followed(path);
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Said without the name of the temporary file.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ngc-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    let progress = Progress::of_bytes("writing");
    let total = parts.iter().map(|part| part.as_ref().len()).sum();
    let (mut done, mut buffered) = (0, BufWriter::new(&mut file));
    for part in parts.iter().flat_map(|part| part.as_ref().chunks(STEP as usize)) {
        progress.update(done, total);
        buffered.write_all(part)?;
        done += part.len();
    }
    buffered.flush()?;
    drop(buffered);
    if let Ok(found) = fs::metadata(&target) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.persist(&target)?;
    Ok(())
}

/// Gives a whole file its final name, in the place of what is there; permissions stay those of what is there.
pub fn replace_file(from: &Path, path: &Path) -> Result<(), String> {
    let target = followed(path);
    let rename = || {
        if let Ok(found) = fs::metadata(&target) {
            fs::set_permissions(from, found.permissions())?;
        }
        fs::rename(from, &target)
    };
    rename().map_err(|e| format!("error: cannot write '{}': {e}", path.display()))
}

fn followed(path: &Path) -> std::path::PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
