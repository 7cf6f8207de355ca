//! Modules from files of any format.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use ngc_formats::mapped;
use ngc_formats::safetensors::attach_weights;
use ngc_ir::{Context, Diagnostics, Module, Sources};

use super::{Format, Reader};
use crate::io::{read_bytes, read_text};
use crate::load::Failure;

/// A file to read a module from.
pub struct Input {
    /// Its format.
    pub format: Format,
    /// Its name in messages.
    pub name: String,
    /// The path that was given; `-` is the standard input.
    path: String,
    /// The text, for formats that are one.
    pub text: Option<Arc<str>>,
    /// The number of the text's first line: more than 1 for a piece of a file.
    first_line: u32,
}

/// A file that is no text.
pub struct Binary<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Where it lies; absent: it is the standard input.
    pub path: Option<&'a Path>,
}

impl Binary<'_> {
    /// The whole content; that of a regular file is mapped into memory.
    ///
    /// # Errors
    /// Names the file.
    pub fn bytes(&self) -> Result<Bytes, Failure> {
        match self.path {
            Some(path) => mapped::content(path)
                .map_err(|e| Failure::new(format!("cannot read '{}': {e}", path.display()))),
            None => Ok(read_bytes("-")?.1.into()),
        }
    }

    /// The folder of the file, where what belongs to it is looked for.
    pub fn folder(&self) -> Option<PathBuf> {
        self.path.map(folder)
    }
}

impl Input {
    /// Looks at a file; `-` is the standard input. The format is the one `wanted`, else what the name says (and where
    /// that leaves it open, the text), else the fallback.
    ///
    /// # Errors
    /// When the file cannot be read, or nothing says what it is.
    pub fn open(path: &str, wanted: Option<Format>, fallback: Option<Format>) -> Result<Input, Failure> {
        let guessed = wanted.or_else(|| Format::of_path(path)).or_else(|| is_of_torch(path)).or(fallback);
        let Some(mut format) = guessed else {
            let flags = Format::flags("import", |row| row.reader.is_some());
            return Err(Failure::new(format!("say what '{path}' is: {flags}")));
        };
        let (mut name, mut text) = (if path == "-" { "<stdin>" } else { path }.to_string(), None);
        if !matches!(format.row().reader, Some(Reader::Binary(_))) {
            let (read_name, read) = read_text(path)?;
            if wanted.is_none() && format == Format::Ngir && ends_with_mlir(path) && is_stablehlo(&read) {
                format = Format::StableHlo;
            }
            (name, text) = (read_name, Some(read.into()));
        }
        format.row().reader()?;
        Ok(Input { format, name, path: path.into(), text, first_line: 1 })
    }

    /// A part of the text as an input of its own.
    pub fn piece(&self, text: &str, first_line: u32) -> Input {
        Input {
            format: self.format,
            name: self.name.clone(),
            path: self.path.clone(),
            text: Some(text.into()),
            first_line,
        }
    }

    /// Makes a module of the file. A text is added to the sources.
    ///
    /// # Errors
    /// Names the place in the file.
    pub fn module(
        &self,
        context: &Context,
        sources: &mut Sources,
        remarks: &mut Diagnostics,
    ) -> Result<Module, Failure> {
        match self.format.row().reader()? {
            Reader::Binary(read) => {
                let path = (self.path != "-").then(|| Path::new(&self.path));
                read(context, &Binary { name: &self.name, path }, remarks)
            }
            Reader::Text(read) => {
                let file = sources.add(&self.name, self.text.clone().unwrap_or_default(), self.first_line);
                read(context, sources, file, remarks)
            }
        }
    }

    /// The folder of the file; for the standard input the current one.
    pub fn folder(&self) -> PathBuf {
        folder(Path::new(&self.path))
    }

    /// Whether the input is the standard stream.
    pub fn is_stream(&self) -> bool {
        self.path == "-"
    }

    /// Brings the weights into memory that a module of this file names beside itself; the result are their keys.
    ///
    /// # Errors
    /// Names the file.
    pub fn attach_weights(&self, module: &mut Module) -> Result<Vec<String>, Failure> {
        let before: Vec<String> = module.resources.keys().cloned().collect();
        attach_weights(module, &self.folder())
            .map_err(|e| e.within(format_args!("the weights of '{}'", self.path)))?;
        Ok(module.resources.keys().filter(|key| !before.contains(key)).cloned().collect())
    }
}

/// PyTorch's format, if the file begins as those do that torch writes, exported programs and pickled models: the reader of
/// the former says of the latter what they are.
fn is_of_torch(path: &str) -> Option<Format> {
    let mut magic = [0; 4];
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).ok()?;
    (magic == *b"PK\x03\x04" || magic[0] == 0x80 && (2..=5).contains(&magic[1])).then_some(Format::Pt2)
}

fn ends_with_mlir(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("mlir"))
}

/// Whether the text has an op of the dialect `stablehlo` (or of `chlo`, which comes with it) outside comments.
fn is_stablehlo(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    let is_op = |word: &str| word.starts_with("stablehlo.") || word.starts_with("chlo.");
    code.flat_map(|line| line.split([' ', '\t', '"', '=', '('])).any(is_op)
}

/// The folder of a file; a name alone lies in the current one.
pub(super) fn folder(path: &Path) -> PathBuf {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
}
