//! Elements of tensor literals.

use std::fmt::Write;

use ngc_numerics::DType;

use super::float::write_float;
use super::op::Printer;
use crate::attributes::Dense;

/// Larger literals, unless all elements are equal, are printed as hexadecimal digits.
const MAX_DECIMAL: usize = 100;

impl Printer<'_> {
    /// `dense<...>` without its type.
    pub fn dense(&mut self, dense: &Dense) {
        self.out.push_str("dense<");
        let elem = dense.ty.elem().unwrap_or(DType::Index);
        let size = elem.storage_bytes();
        let shape = dense.ty.static_shape().unwrap_or_default();
        let first = dense.bytes.get(..size);
        let uniform =
            dense.splat || first.is_some_and(|first| dense.bytes.chunks_exact(size).all(|c| c == first));
        match first {
            None => {}
            Some(_) if shape.contains(&0) => {}
            Some(first) if uniform => self.element(first, elem),
            Some(_) if dense.bytes.len() / size > MAX_DECIMAL => self.blob(dense, elem),
            Some(_) => self.nested(&shape, &dense.bytes, elem),
        }
        self.out.push('>');
    }

    /// `array<i64: 1, 2>`.
    pub fn dense_array(&mut self, dense: &Dense) {
        self.out.push_str("array<");
        self.ty(dense.ty);
        let elem = dense.ty.elem().unwrap_or(DType::Index);
        if !dense.bytes.is_empty() {
            self.out.push_str(": ");
            self.list(dense.bytes.chunks_exact(elem.storage_bytes()), |p, item| p.element(item, elem));
        }
        self.out.push('>');
    }

    fn nested(&mut self, shape: &[usize], bytes: &[u8], elem: DType) {
        let Some((&extent, inner)) = shape.split_first() else { return self.element(bytes, elem) };
        self.out.push('[');
        self.list(bytes.chunks_exact(bytes.len() / extent.max(1)), |p, chunk| p.nested(inner, chunk, elem));
        self.out.push(']');
    }

    fn element(&mut self, bytes: &[u8], elem: DType) {
        let word = bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        match elem {
            DType::Float(format) => write_float(&mut self.out, format.from_bits(word), format),
            DType::Int(1) => self.out.push_str(if word != 0 { "true" } else { "false" }),
            _ => self.integer(elem.wrap(word as i64)),
        }
    }

    /// All elements as one string; truth values are packed eight to a byte.
    fn blob(&mut self, dense: &Dense, elem: DType) {
        self.out.push_str("\"0x");
        if elem == DType::BOOL {
            let packed: Vec<u8> = dense
                .bytes
                .chunks(8)
                .map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit != 0)))
                .collect();
            self.hex(&packed);
        } else {
            self.hex(&dense.bytes);
        }
        self.out.push('"');
    }

    /// Bytes as hexadecimal digits.
    pub fn hex(&mut self, bytes: &[u8]) {
        self.out.reserve(2 * bytes.len());
        for byte in bytes {
            let _ = write!(self.out, "{byte:02X}");
        }
    }
}
