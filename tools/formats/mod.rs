//! File formats of modules: what each is called, and what reads and writes it.
//!
//! A row of [`FORMATS`] is all that the tools know of a format. From it follow the flags `--import-NAME` and
//! `--export-NAME` of ngc-translate and ngc-opt, the guess from a file's name, the help texts and the messages.
//!
//! To add a reader, write the module of the format in ngc-formats, give `readers.rs` a function of a few lines that calls
//! it, and name that function in the format's row: `reader: Some(Reader::Text(readers::stablehlo))`. A text reader finds its
//! text in the table of sources, so that its errors show lines; a binary reader gets the file itself ([`Binary`]), which
//! it may read whole ([`Binary::bytes`]) or open by its path. A writer is added alike, in `writers.rs`; what it returns is
//! the file's content, and a second file beside the first (weights) is asked for with [`Output::beside`].

mod flags;
mod input;
mod output;
mod readers;
mod writers;

use std::path::Path;

use bytes::Bytes;
use ngc_ir::{Context, Diagnostics, Module, Sources};

pub use flags::Flags;
pub use input::{Binary, Input};
pub use output::{Content, Output, Target, same_file};

use crate::load::Failure;

/// A format of files that hold modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// ngc's own text, which is MLIR's.
    Ngir,
    /// ONNX models.
    Onnx,
    /// PyTorch's exported programs.
    Pt2,
    /// StableHLO text, as JAX prints it.
    StableHlo,
    /// FPCore 2.0.
    FpCore,
    /// C99 source.
    C99,
    /// Drawings in the language of Graphviz.
    Dot,
    /// Python source with a `torch.nn.Module`.
    PyTorch,
}

/// What the tools know of a format.
pub struct Row {
    /// The format.
    pub format: Format,
    /// Its name in flags.
    pub name: &'static str,
    /// Its name in sentences, with an article.
    pub what: &'static str,
    /// How names of such files end, without the first dot, lower case. Longer ones count before shorter ones.
    pub extensions: &'static [&'static str],
    /// What makes a module of a file.
    pub reader: Option<Reader>,
    /// What makes a file of a module.
    pub writer: Option<Writer>,
}

/// Makes a module of a file; what there is to say about it goes to the remarks.
#[derive(Clone, Copy)]
pub enum Reader {
    /// Of a text that is in the table of sources.
    Text(fn(&Context, &Sources, u16, &mut Diagnostics) -> Result<Module, Failure>),
    /// Of bytes.
    Binary(fn(&Context, &Binary<'_>, &mut Diagnostics) -> Result<Module, Failure>),
}

/// Makes the content of a file of a verified module, whose weights are in memory except for [`Format::Ngir`].
#[derive(Clone, Copy)]
pub enum Writer {
    /// A text.
    Text(fn(&mut Output<'_>) -> Result<String, Failure>),
    /// Bytes, which do not belong on a terminal.
    Binary(fn(&mut Output<'_>) -> Result<Vec<Bytes>, Failure>),
}

/// All formats.
pub static FORMATS: &[Row] = &[
    Row {
        format: Format::Ngir,
        name: "ngir",
        what: "ngc's text",
        extensions: &["ngir", "mlir"],
        reader: Some(Reader::Text(readers::ngir)),
        writer: Some(Writer::Text(writers::ngir)),
    },
    Row {
        format: Format::Onnx,
        name: "onnx",
        what: "an ONNX model",
        extensions: &["onnx"],
        reader: Some(Reader::Binary(readers::onnx)),
        writer: Some(Writer::Binary(writers::onnx)),
    },
    Row {
        format: Format::Pt2,
        name: "pt2",
        what: "a PyTorch exported program",
        extensions: &["pt2"],
        reader: Some(Reader::Binary(readers::pt2)),
        writer: None,
    },
    Row {
        format: Format::StableHlo,
        name: "stablehlo",
        what: "StableHLO text",
        extensions: &["stablehlo", "stablehlo.mlir"],
        reader: Some(Reader::Text(readers::stablehlo)),
        writer: Some(Writer::Text(writers::stablehlo)),
    },
    Row {
        format: Format::FpCore,
        name: "fpcore",
        what: "FPCore text",
        extensions: &["fpcore"],
        reader: Some(Reader::Text(readers::fpcore)),
        writer: Some(Writer::Text(writers::fpcore)),
    },
    Row {
        format: Format::C99,
        name: "c99",
        what: "C99 source",
        extensions: &["c"],
        reader: None,
        writer: Some(Writer::Text(writers::c99)),
    },
    Row {
        format: Format::Dot,
        name: "dot",
        what: "a DOT drawing",
        extensions: &["dot", "gv"],
        reader: None,
        writer: Some(Writer::Text(writers::dot)),
    },
    Row {
        format: Format::PyTorch,
        name: "pytorch",
        what: "a Python file with a PyTorch module",
        extensions: &["py"],
        reader: None,
        writer: Some(Writer::Text(writers::pytorch)),
    },
];

impl Format {
    /// The format's row.
    pub fn row(self) -> &'static Row {
        // Each format has a row: a test looks.
        FORMATS.iter().find(|row| row.format == self).unwrap_or(&FORMATS[0])
    }

    /// What the file's name says, if it says anything.
    pub fn of_path(path: &str) -> Option<Format> {
        let name = Path::new(path).file_name()?.to_str()?.to_ascii_lowercase();
        let endings = FORMATS.iter().flat_map(|row| row.extensions.iter().map(move |e| (*e, row.format)));
        let matching = endings.filter(|(e, _)| name.strip_suffix(e).is_some_and(|stem| stem.ends_with('.')));
        matching.max_by_key(|(e, _)| e.len()).map(|(_, format)| format)
    }

    /// The formats for which `can` holds, as flags: `--import-onnx, --import-fpcore or --import-ngir`.
    fn flags(way: &str, can: impl Fn(&Row) -> bool) -> String {
        let names: Vec<String> =
            FORMATS.iter().filter(|row| can(row)).map(|row| format!("--{way}-{}", row.name)).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }
}

impl Row {
    /// The reader.
    ///
    /// # Errors
    /// Says which formats are read.
    pub fn reader(&self) -> Result<Reader, Failure> {
        self.reader.ok_or_else(|| {
            let readable = Format::flags("import", |row| row.reader.is_some());
            Failure::Message(format!("ngc does not read {}; there are {readable}", self.what), 3)
        })
    }

    /// The writer.
    ///
    /// # Errors
    /// Says which formats are written.
    pub fn writer(&self) -> Result<Writer, Failure> {
        self.writer.ok_or_else(|| {
            let writable = Format::flags("export", |row| row.writer.is_some());
            Failure::Message(format!("ngc does not write {}; there are {writable}", self.what), 3)
        })
    }
}
