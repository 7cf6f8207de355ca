//! NumPy's `.npy` files: one array (NEP 1, format versions 1 to 3).

use ngc_ir::diagnostics::excerpt;
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Format, Tensor};

use crate::error::{FormatError, Result, invalid, unsupported};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read; NumPy itself refuses more than 10000 characters.
const MAX_HEADER: usize = 1 << 20;

/// Reads an array. `uint64` becomes `i64`, which its values must fit. NumPy has no name for bfloat16 and the 8-bit formats
/// and stores them as void (`<V2`, `|V1`): such elements are read as `void_as`, and refused without it.
///
/// # Errors
/// Names the byte or header field that is wrong; element types without numbers, and arrays that do not fit in memory,
/// are unsupported.
pub fn read(bytes: &[u8], void_as: Option<DType>) -> Result<Tensor> {
    let Preamble { header, element, start, count } = Preamble::read(bytes, void_as)?;
    let data = &bytes[start..];
    if count.checked_mul(element.size) != Some(data.len()) {
        return invalid(format!(
            "byte {start}: {count} elements of {} bytes were declared, but {} bytes follow",
            element.size,
            data.len()
        ));
    }
    fits_in_memory(count)?;
    let data = element.little_endian(data)?;
    if !header.fortran_order {
        return Tensor::from_bytes(element.dtype, header.shape, &data).map_err(FormatError::Invalid);
    }
    let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
    let axes: Vec<usize> = (0..reversed.len()).rev().collect();
    Tensor::from_bytes(element.dtype, reversed, &data)
        .and_then(|t| t.transpose(&axes))
        .map_err(FormatError::Invalid)
}

/// Running out of memory would end the process, so it is asked for first: elements take eight bytes each, and as much
/// again while they are brought in order.
fn fits_in_memory(count: usize) -> Result<()> {
    match Vec::<[u64; 2]>::new().try_reserve_exact(count) {
        Ok(()) => Ok(()),
        Err(_) => unsupported(format!("the {count} elements do not fit in memory")),
    }
}

/// Where the header of a file ends and its data begin, from the first [`PREFIX`] bytes.
pub(crate) fn data_start(bytes: &[u8]) -> Result<usize> {
    header_place(bytes).map(|(start, length)| start + length)
}

/// The number of bytes that say where the header ends.
pub(crate) const PREFIX: usize = 12;

/// Start and length of the header.
fn header_place(bytes: &[u8]) -> Result<(usize, usize)> {
    if !bytes.starts_with(MAGIC) {
        return invalid("byte 0: not an .npy file (it does not start with \\x93NUMPY)");
    }
    let (start, length) = match bytes.get(6..) {
        Some([1, _, a, b, ..]) => (10, u16::from_le_bytes([*a, *b]) as usize),
        Some([2 | 3, _, a, b, c, d, ..]) => (12, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        Some([1..=3, ..]) | Some([]) | None => return invalid("byte 6: the file ends within its header"),
        Some([version, ..]) => return unsupported(format!("byte 6: .npy format version {version}")),
    };
    if length > MAX_HEADER {
        return unsupported(format!("byte 8: a header of {length} bytes; at most {MAX_HEADER} are read"));
    }
    Ok((start, length))
}

/// All that precedes the data.
pub(crate) struct Preamble {
    header: Header,
    element: Element,
    /// Where the data begin.
    start: usize,
    /// The number of elements.
    pub(crate) count: usize,
}

impl Preamble {
    /// Reads it from the start of a file, which need not be there beyond the header.
    pub(crate) fn read(bytes: &[u8], void_as: Option<DType>) -> Result<Preamble> {
        let (start, length) = header_place(bytes)?;
        let Some(header) = bytes.get(start..).and_then(|rest| rest.get(..length)) else {
            return invalid(format!(
                "byte {start}: the header takes {length} bytes, but the file ends before"
            ));
        };
        let header = std::str::from_utf8(header).map_err(|e| {
            FormatError::Invalid(format!("byte {}: the header is no text", start + e.valid_up_to()))
        })?;
        let header = Header::parse(header).map_err(|e| e.within(format_args!("byte {start}")))?;
        let element = Element::parse(&header.descr, void_as)?;
        let count = element_count(&header.shape).map_err(FormatError::Invalid)?;
        Ok(Preamble { header, element, start: start + length, count })
    }

    /// The length of the whole file, if it can be told.
    pub(crate) fn file_length(&self) -> Option<u64> {
        self.count.checked_mul(self.element.size)?.checked_add(self.start)?.try_into().ok()
    }
}

/// Writes an array, little endian, in C order; big floats are rounded to the element type.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype {
        DType::Float(Format::F64) => "<f8",
        DType::Float(Format::F32) => "<f4",
        DType::Float(Format::F16) => "<f2",
        DType::Float(Format::Bf16) => "<V2",
        DType::Float(Format::Tf32) => "|V3",
        DType::Float(Format::F8E4M3FN | Format::F8E5M2) => "|V1",
        DType::Int(1) => "|b1",
        DType::Int(8) => "|i1",
        DType::Int(16) => "<i2",
        DType::Int(32) => "<i4",
        DType::Int(_) | DType::Index => "<i8",
        DType::Unsigned(8) => "|u1",
        DType::Unsigned(16) => "<u2",
        DType::Unsigned(_) => "<u4",
    };
    let extents: String = tensor.shape.iter().map(|n| format!("{n}, ")).collect();
    let extents = if tensor.rank() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    // The data start at a multiple of 64 bytes; the header ends with a line feed.
    let prefix = if header.len() + 11 > u16::MAX as usize { 12 } else { 10 };
    let padding = 63 - (prefix + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    if prefix == 10 {
        out.extend([1, 0]);
        out.extend((header.len() as u16).to_le_bytes());
    } else {
        out.extend([2, 0]);
        out.extend((header.len() as u32).to_le_bytes());
    }
    out.extend(header.as_bytes());
    out.extend(tensor.to_bytes());
    out
}

/// How the elements lie in the file.
struct Element {
    dtype: DType,
    /// Bytes in the file.
    size: usize,
    big_endian: bool,
    /// Of uint64, whose values must fit i64.
    huge: bool,
}

impl Element {
    fn parse(descr: &str, void_as: Option<DType>) -> Result<Element> {
        let (order, kind) = match descr.as_bytes() {
            [order @ (b'<' | b'>' | b'|' | b'='), ..] => (*order, &descr[1..]),
            _ => (b'<', descr),
        };
        let (dtype, size) = match kind {
            "f2" => (DType::Float(Format::F16), 2),
            "f4" => (DType::Float(Format::F32), 4),
            "f8" => (DType::Float(Format::F64), 8),
            "b1" => (DType::BOOL, 1),
            "i1" => (DType::Int(8), 1),
            "i2" => (DType::Int(16), 2),
            "i4" => (DType::Int(32), 4),
            "i8" => (DType::Int(64), 8),
            "u1" => (DType::Unsigned(8), 1),
            "u2" => (DType::Unsigned(16), 2),
            "u4" => (DType::Unsigned(32), 4),
            "u8" => (DType::Int(64), 8),
            "V1" | "V2" | "V3" => {
                let size = usize::from(kind.as_bytes()[1] - b'0');
                match void_as {
                    Some(dtype) if dtype.storage_bytes() == size => (dtype, size),
                    Some(dtype) => {
                        return invalid(format!("'descr': elements '{descr}' cannot be read as {dtype}"));
                    }
                    None => {
                        return unsupported(format!(
                            "'descr': element type '{descr}' is void (NumPy's spelling of bfloat16 and 8-bit floats); \
                             say which format is meant"
                        ));
                    }
                }
            }
            _ => return unsupported(format!("'descr': element type '{}'", excerpt(descr))),
        };
        Ok(Element { dtype, size, big_endian: order == b'>', huge: kind == "u8" })
    }

    /// The elements little endian.
    fn little_endian<'a>(&self, data: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>> {
        if !self.huge && (!self.big_endian || self.size == 1) {
            return Ok(data.into());
        }
        let mut out = Vec::with_capacity(data.len());
        for (i, chunk) in data.chunks_exact(self.size).enumerate() {
            let mut word = [0u8; 8];
            word[..self.size].copy_from_slice(chunk);
            if self.big_endian {
                word[..self.size].reverse();
            }
            if self.huge && word[7] > 0x7f {
                return unsupported(format!("element {i}: {} does not fit i64", u64::from_le_bytes(word)));
            }
            out.extend_from_slice(&word[..self.size]);
        }
        Ok(out.into())
    }
}

/// The Python dictionary before the data.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Result<Header> {
        let mut s = Scanner { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        s.expect('{')?;
        while !s.eat('}') {
            let key = s.string()?;
            s.expect(':')?;
            match key {
                "descr" if s.peek() == Some('[') => return unsupported("'descr': structured arrays"),
                "descr" => descr = Some(s.string()?.to_string()),
                "fortran_order" => match s.word() {
                    word @ ("True" | "False") => fortran_order = Some(word == "True"),
                    word => {
                        return invalid(format!(
                            "'fortran_order': '{}' is neither True nor False",
                            excerpt(word)
                        ));
                    }
                },
                "shape" => shape = Some(s.tuple()?),
                _ => return invalid(format!("header: unknown key '{}'", excerpt(key))),
            }
            if !s.eat(',') {
                s.expect('}')?;
                break;
            }
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Header { descr, fortran_order, shape }),
            _ => invalid("header: needs 'descr', 'fortran_order' and 'shape'"),
        }
    }
}

/// Reads the few Python literals that a header has.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.rest = &self.rest[c.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_string(), |c| format!("'{}'", c.escape_debug()));
        invalid(format!("header: expected '{c}', found {found}"))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.peek() == Some('"') { '"' } else { '\'' };
        self.expect(quote)?;
        let Some((text, rest)) = self.rest.split_once(quote) else {
            return invalid("header: a string does not end");
        };
        self.rest = rest;
        Ok(text)
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        self.rest = &text[end..];
        &text[..end]
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut items = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            let sign = if self.eat('-') { "-" } else { "" };
            let word = self.word();
            // Python 2 wrote long integers with an L.
            let extent = word.trim_end_matches('L').parse().ok().filter(|_| sign.is_empty());
            let Some(extent) = extent else {
                let item = excerpt(word);
                return invalid(format!("'shape': '{sign}{item}' is no extent, a whole number from 0 on"));
            };
            items.push(extent);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(items)
    }
}
