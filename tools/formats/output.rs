//! Modules into files of any format.

use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use ngc_formats::resources::inline_resources;
use ngc_formats::safetensors::{WEIGHTS, detach_weights};
use ngc_ir::text::PrintOptions;
use ngc_ir::{Context, Module};
use tempfile::TempDir;

use super::input::folder;
use super::{Flags, Format, Input, Writer};
use crate::io::{is_terminal, replace_file, write_parts};
use crate::load::Failure;

/// A file to write a module to.
pub struct Target {
    /// Its format.
    pub format: Format,
    /// The path; `-` is the standard output.
    pub path: String,
    /// The file for the larger constants, and what the module is to call it.
    weights: Option<(PathBuf, String)>,
    inline_weights: bool,
}

/// What a writer is given.
pub struct Output<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The module. A writer may change it: it is not used afterwards.
    pub module: &'a mut Module,
    /// How text is printed.
    pub print: PrintOptions<'a>,
    /// What there is to say about the file.
    pub remarks: Vec<String>,
    path: &'a Path,
    staged: Staged,
}

/// Files beside the output that are whole, but do not have their names yet.
#[derive(Default)]
struct Staged {
    folder: Option<TempDir>,
    /// Where each is, and where it is to be.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Output<'_> {
    /// The folder of the file; absent for the standard output, beside which no second file has a place.
    pub fn folder(&self) -> Option<PathBuf> {
        (self.path != Path::new("-")).then(|| folder(self.path))
    }

    /// The name of the file, without its folder.
    pub fn file_name(&self) -> &str {
        if self.path == Path::new("-") {
            return "model";
        }
        self.path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
    }

    /// A path to write a second file to, which is to appear in the folder of the output under this name. It appears when
    /// the output does, and not at all if there is an error.
    ///
    /// # Errors
    /// When the output is the standard output, or its folder takes no files.
    pub fn beside(&mut self, name: &str) -> Result<PathBuf, Failure> {
        let Some(folder) = self.folder() else {
            return Err(Failure::new(format!(
                "the output needs a second file '{name}' beside it: name a file with -o"
            )));
        };
        self.staged.add(&folder.join(name))
    }
}

impl Staged {
    /// A place for what is to be at `path` later.
    fn add(&mut self, path: &Path) -> Result<PathBuf, Failure> {
        let cannot =
            |e: std::io::Error| Failure::new(format!("cannot write '{}': {}", path.display(), e.kind()));
        let staging = match &self.folder {
            Some(staging) => staging,
            None => {
                let at = folder(path);
                let made = tempfile::Builder::new().prefix(".ngc-").tempdir_in(at).map_err(cannot)?;
                self.folder.insert(made)
            }
        };
        let at = staging.path().join(self.files.len().to_string());
        self.files.push((at.clone(), path.to_path_buf()));
        Ok(at)
    }

    /// Gives the files their names, and writes the output itself last; if that fails, none that is new remains.
    fn finish(self, write: impl FnOnce() -> Result<(), String>) -> Result<(), Failure> {
        let mut new = Vec::new();
        let all = || {
            for (at, path) in &self.files {
                if !path.exists() {
                    new.push(path);
                }
                replace_file(at, path)?;
            }
            write()
        };
        let result = all();
        if result.is_err() {
            // Weights without their module are of no use.
            new.into_iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
        Ok(result?)
    }
}

impl Target {
    /// What the command line asks for. The format is the one of the flags, else what the name says, else ngc's text.
    ///
    /// # Errors
    /// When ngc does not write the format, when it does not belong on a terminal, and when the module could not find its
    /// weights.
    pub fn new(path: &str, flags: &Flags) -> Result<Target, Failure> {
        let named = Format::of_path(path);
        let format = flags.export.or(named).unwrap_or(Format::Ngir);
        let ending = Path::new(path).extension().filter(|_| path != "-" && !is_device(path));
        if let (None, None, Some(ending)) = (flags.export, named, ending) {
            let flags = Format::flags("export", |row| row.writer.is_some());
            return Err(Failure::new(format!(
                "no format that ngc writes has files that end in .{}; say which one '{path}' is to have: {flags}",
                ending.to_string_lossy()
            )));
        }
        let row = format.row();
        if matches!(row.writer()?, Writer::Binary(_)) && path == "-" && is_terminal() {
            return Err(Failure::new(format!(
                "{} is no text for a terminal: name a file with -o, or send the output elsewhere",
                row.what
            )));
        }
        if format != Format::Ngir && (flags.weights.is_some() || flags.inline_weights) {
            let flag = if flags.weights.is_some() { "--weights" } else { "--inline-weights" };
            return Err(Failure::new(format!("{flag} is for ngc's text; {} has its own way", row.what)));
        }
        let weights = match &flags.weights {
            Some(weights) if path != "-" && same_file(Path::new(path), weights) => {
                return Err(Failure::new(format!("'{path}' cannot hold both the text and the weights")));
            }
            Some(weights) => Some((weights.clone(), from_output(weights, path)?)),
            None => None,
        };
        Ok(Target { format, path: path.into(), weights, inline_weights: flags.inline_weights })
    }

    /// Whether the module's weights must be in memory to be written.
    pub fn takes_weights(&self) -> bool {
        self.format != Format::Ngir || self.weights.is_some() || self.inline_weights
    }

    /// Sees to it that a module of the input names its weights rightly in the output's folder. Where one of both is a
    /// standard stream, nothing is known of its place, and the name stays what it is.
    ///
    /// # Errors
    /// When the output is to lie where its module could not find the weights.
    pub fn relocate(&self, module: &mut Module, input: &Input) -> Result<(), Failure> {
        let Some(name) = module.attrs.get(WEIGHTS).and_then(|a| a.as_str()) else { return Ok(()) };
        if self.takes_weights() || self.path == "-" || input.is_stream() || is_device(&self.path) {
            return Ok(());
        }
        let weights = input.folder().join(name);
        let found = from_output(&weights, &self.path).map_err(|e| match e {
            Failure::Message(message, code) => Failure::Message(
                format!("{message}; to write them anew, add --weights with a file there"),
                code,
            ),
            other => other,
        })?;
        module.attrs.set(WEIGHTS, found.as_str());
        Ok(())
    }

    /// Makes the content of the file: text, or bytes, with the files that it needs beside it.
    ///
    /// # Errors
    /// Names what the format lacks.
    pub fn content<'a>(
        &'a self,
        context: &'a Context,
        module: &'a mut Module,
        print: PrintOptions<'a>,
    ) -> Result<Content, Failure> {
        let mut staged = Staged::default();
        if self.takes_weights() {
            module.attrs.remove(WEIGHTS);
        }
        if self.inline_weights {
            inline_resources(module);
        }
        if let Some((path, name)) = &self.weights {
            let at = staged.add(path)?;
            detach_weights(module, &at, name).map_err(|e| e.within(path.display()))?;
        }
        let mut output =
            Output { context, module, print, remarks: Vec::new(), path: Path::new(&self.path), staged };
        let parts = match self.format.row().writer()? {
            Writer::Text(write) => vec![write(&mut output)?.into()],
            Writer::Binary(write) => write(&mut output)?,
        };
        Ok(Content { parts, remarks: output.remarks, staged: output.staged })
    }

    /// Writes the file and those beside it, all or none, and says what there is to say about them.
    ///
    /// # Errors
    /// Names the file.
    pub fn write(&self, content: Content) -> Result<(), Failure> {
        content.staged.finish(|| write_parts(&self.path, &content.parts))?;
        content.remarks.iter().for_each(|remark| eprintln!("remark: {remark}"));
        Ok(())
    }
}

/// What a file is to hold.
#[derive(Default)]
pub struct Content {
    /// The content of the file itself, one part after the other.
    pub parts: Vec<Bytes>,
    remarks: Vec<String>,
    staged: Staged,
}

impl Content {
    /// Adds a second module to a text.
    pub fn append(&mut self, other: Content) {
        if self.parts.is_empty() {
            *self = other;
        } else {
            self.parts.extend(other.parts);
            self.remarks.extend(other.remarks);
        }
    }
}

/// Whether two paths name one file, which need not exist.
pub fn same_file(a: &Path, b: &Path) -> bool {
    let known = |p: &Path| std::fs::canonicalize(p).or_else(|_| std::path::absolute(p)).ok();
    known(a).is_some_and(|a| Some(a) == known(b))
}

fn is_device(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The name of a weights file as a module in `output` must give it: relative to the folder of the module's file.
fn from_output(weights: &Path, output: &str) -> Result<String, Failure> {
    let base = if output == "-" { PathBuf::from(".") } else { folder(Path::new(output)) };
    // A link to weights elsewhere lies where the link is.
    let resolved = |folder: &Path| folder.canonicalize().or_else(|_| std::path::absolute(folder));
    let place = || {
        let name = weights.file_name().unwrap_or_default();
        Ok::<_, std::io::Error>((resolved(&folder(weights))?.join(name), resolved(&base)?))
    };
    let (weights_at, base) = place().map_err(|e| Failure::new(e.to_string()))?;
    let relative = weights_at.strip_prefix(&base).ok();
    let inside = |r: &&Path| r.components().all(|c| matches!(c, Component::Normal(_)));
    match relative.filter(inside).and_then(Path::to_str) {
        Some(name) if !name.is_empty() => Ok(name.replace(std::path::MAIN_SEPARATOR, "/")),
        _ => Err(Failure::new(format!(
            "the weights '{}' must lie in the folder of the output, '{}', or below it",
            weights.display(),
            base.display()
        ))),
    }
}
