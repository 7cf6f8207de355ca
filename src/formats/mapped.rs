//! Files in memory without a copy: weights are looked at where the operating system keeps them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use prost::bytes::Bytes;

/// The content of a file: mapped into memory where it is a regular file, else read to its end.
///
/// # Errors
/// Those of the operating system.
pub fn content(path: &Path) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() == 0 {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(bytes.into());
    }
    // SAFETY: The map is only read. What another program writes to the file meanwhile is read as it is then, and a file
    // that it makes shorter ends this one, as with every reader that maps weights; ngc itself never writes to a file in
    // place: it renames a new one over it, which leaves the old one where it is mapped.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}
