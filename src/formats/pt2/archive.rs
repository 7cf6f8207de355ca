//! The zip archive: which files it must have, and how much of them is read.

use std::io::Cursor;

use prost::bytes::Bytes;
use zip::read::{ArchiveOffset, Config};
use zip::{CompressionMethod, ZipArchive};

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::zip::{error, finish};

/// The greatest JSON file that is read.
const MAX_JSON: u64 = 256 << 20;

/// What all deflated files together may unfold to; torch writes none.
const MAX_INFLATED: u64 = 2 << 30;

/// The version of the layout that is read.
const VERSION: &str = "0";

/// An opened archive.
pub(super) struct Archive {
    /// The whole file.
    content: Bytes,
    zip: ZipArchive<Cursor<Bytes>>,
    /// The folder that holds everything, with its slash.
    root: String,
    names: Vec<String>,
    inflated: u64,
    /// Bytes of all files.
    pub total: u64,
}

impl Archive {
    /// Opens an archive and sees to it that its layout is the one that is read.
    ///
    /// # Errors
    /// Names the older or other kinds of files that PyTorch writes.
    pub fn open(content: Bytes) -> Result<Archive> {
        if content.len() >= 2 && content[0] == 0x80 && (2..=5).contains(&content[1]) {
            return unsupported(
                "a pickled file of torch.save, which ngc does not unpickle; in Python: torch.export.save(torch.export.export(model, args), 'model.pt2')",
            );
        }
        let length = content.len() as u64;
        // Archives hold archives (the sample inputs): a search for the start could find the wrong one.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let mut zip = ZipArchive::with_config(config, Cursor::new(content.clone()))
            .map_err(|e| FormatError::Invalid(format!("no PyTorch archive: {}", error(e))))?;
        let (mut names, mut packed, mut total) = (Vec::new(), 0u64, 0u64);
        for index in 0..zip.len() {
            let entry =
                zip.by_index_raw(index).map_err(|e| error(e).within(format_args!("entry {index}")))?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let escapes = name.starts_with('/') || name.contains('\\') || name.split('/').any(|p| p == "..");
            if escapes {
                return invalid(format!(
                    "entry '{}': the name leads out of the archive",
                    name.escape_debug()
                ));
            }
            packed = packed.saturating_add(entry.compressed_size());
            total = total.saturating_add(entry.size());
            drop(entry);
            names.push(name);
        }
        if packed > length {
            return invalid(format!(
                "zip archive: its entries take {packed} bytes, but the file has {length}: they overlap"
            ));
        }
        let root = names.first().and_then(|n| n.split_once('/'));
        let root = root.map_or(String::new(), |(root, _)| format!("{root}/"));
        let mut archive = Archive { content, zip, root, names, inflated: 0, total };
        archive.check_layout()?;
        Ok(archive)
    }

    fn check_layout(&mut self) -> Result<()> {
        let other_kind = [
            ("serialized_exported_program.json", "an exported program of a torch before 2.7"),
            ("constants.pkl", "a TorchScript archive"),
            ("data.pkl", "a pickled archive of torch.save, which ngc does not unpickle"),
        ];
        for (name, kind) in other_kind {
            if self.has(name) || self.zip.index_for_name(name).is_some() {
                return unsupported(format!(
                    "{kind} ('{name}'); export the model with torch.export.save of a current torch"
                ));
            }
        }
        if !self.has("archive_format") {
            return invalid("no PyTorch archive: it has no 'archive_format'");
        }
        match self.text("archive_format")?.trim() {
            "pt2" => {}
            other => return invalid(format!("archive_format: '{}' is not 'pt2'", other.escape_debug())),
        }
        match self.text("archive_version")?.trim() {
            VERSION => {}
            other => {
                return unsupported(format!(
                    "archive_version: '{}'; ngc reads {VERSION}, which torch 2.7 and later write",
                    other.escape_debug()
                ));
            }
        }
        if self.has("byteorder") {
            match self.text("byteorder")?.trim() {
                "little" => {}
                other => return unsupported(format!("byteorder: '{}'", other.escape_debug())),
            }
        }
        Ok(())
    }

    /// Whether there is a file.
    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{}{name}", self.root)).is_some()
    }

    /// The names of the files in a folder, which ends with a slash.
    pub fn folder(&self, folder: &str) -> Vec<String> {
        let prefix = format!("{}{folder}", self.root);
        let mut names: Vec<String> =
            self.names.iter().filter_map(|n| n.strip_prefix(&prefix)).map(str::to_string).collect();
        names.sort_unstable();
        names
    }

    /// The size that a file declares.
    pub fn size(&mut self, name: &str) -> Result<u64> {
        let full = format!("{}{name}", self.root);
        match self.zip.index_for_name(&full) {
            Some(index) => Ok(self.zip.by_index_raw(index).map_err(|e| error(e).within(name))?.size()),
            None => invalid(format!("there is no file '{}' in the archive", name.escape_debug())),
        }
    }

    fn text(&mut self, name: &str) -> Result<String> {
        let bytes = self.read(name, 64)?;
        String::from_utf8(bytes.into()).map_err(|_| FormatError::Invalid(format!("{name}: it is no text")))
    }

    /// A JSON file.
    pub fn json(&mut self, name: &str) -> Result<Bytes> {
        self.read(name, MAX_JSON)
    }

    /// A file of at most `limit` bytes. One that is stored as it is shares the memory of the archive.
    ///
    /// # Errors
    /// Names the file. No memory is taken for data that are not there.
    pub fn read(&mut self, name: &str, limit: u64) -> Result<Bytes> {
        let size = self.size(name)?;
        let place = |e: FormatError| e.within(format_args!("file '{}'", name.escape_debug()));
        if size > limit {
            return unsupported(format!("{size} bytes where at most {limit} are read")).map_err(place);
        }
        let mut entry = self.zip.by_name(&format!("{}{name}", self.root)).map_err(|e| place(error(e)))?;
        if entry.compression() != CompressionMethod::Stored {
            self.inflated = self.inflated.saturating_add(size);
            if self.inflated > MAX_INFLATED {
                return unsupported(format!(
                    "the packed files unfold to more than {} GiB; torch stores them as they are",
                    MAX_INFLATED >> 30
                ))
                .map_err(place);
            }
        }
        let stored = (entry.compression() == CompressionMethod::Stored).then(|| entry.data_start()).flatten();
        let part = stored.and_then(|start| {
            let start = usize::try_from(start).ok()?;
            Some(start..start.checked_add(usize::try_from(size).ok()?)?)
        });
        if let Some(part) = part.filter(|part| part.end <= self.content.len()) {
            // The checksum is that of the whole entry.
            std::io::copy(&mut entry, &mut std::io::sink())
                .map_err(|e| place(FormatError::Invalid(e.to_string())))?;
            return Ok(self.content.slice(part));
        }
        let mut bytes = Vec::new();
        finish(&mut entry, &mut bytes, size).map_err(place)?;
        Ok(bytes.into())
    }
}
