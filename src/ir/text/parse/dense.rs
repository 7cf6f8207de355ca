//! Tensor literals: nested decimals, hexadecimal blobs, splats, dense arrays, references to resources.

use std::sync::Arc;

use ngc_numerics::DType;
use ngc_numerics::tensor::element_count;
use pest::iterators::Pair;

use super::Read;
use super::grammar::{self, Rule};
use super::number::Number;
use super::reader::Reader;
use super::string::hex;
use crate::attributes::{Attr, Dense};
use crate::ident::Ident;
use crate::types::{Type, TypeKind};

impl<'a> Reader<'a> {
    /// A `dense_literal` of type `ty`.
    pub fn dense(&mut self, pair: Pair<'a, Rule>, ty: Type) -> Read<Attr> {
        let at = self.offset(&pair);
        let (Some(tensor), Some(shape)) = (ty.as_tensor(), ty.static_shape()) else {
            return Err(self.error_at(at, format!("dense elements need a tensor type without '?', not {ty}")));
        };
        let count = element_count(&shape).map_err(|message| self.error_at(at, message))?;
        let elem = tensor.elem;
        let (mut bytes, mut splat) = match pair.into_inner().next() {
            None if count == 0 => (Vec::new(), false),
            None => return Err(self.error_at(at, format!("no elements, but {ty} has {count}"))),
            Some(literal) if literal.as_rule() == Rule::string => self.blob(literal.as_str(), elem, count)?,
            Some(list) => self.elements(list.as_str(), elem, &shape)?,
        };
        let size = elem.storage_bytes();
        if count == 0 {
            (bytes, splat) = (Vec::new(), false);
        } else if !splat && bytes.chunks_exact(size).all(|chunk| chunk == &bytes[..size]) {
            bytes.truncate(size);
            splat = true;
        }
        Ok(Attr::Dense(Arc::new(Dense { ty, bytes: bytes.into(), splat })))
    }

    /// Elements as one element for all, or as lists nested as the shape says.
    fn elements(&self, text: &'a str, elem: DType, shape: &[usize]) -> Read<(Vec<u8>, bool)> {
        let mut bytes = Vec::new();
        if !text.starts_with('[') {
            self.push(&mut bytes, text, elem)?;
            return Ok((bytes, true));
        }
        // Number of items read at each depth of the open lists.
        let mut open: Vec<usize> = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let at = self.offset_of(rest);
            let mut length = 1;
            match c {
                '[' => {
                    if open.len() == shape.len() {
                        return Err(self.error_at(
                            at,
                            format!("lists are nested deeper than the {} dimensions", shape.len()),
                        ));
                    }
                    open.push(0);
                }
                ']' => {
                    let extent = open.len().checked_sub(1).and_then(|depth| shape.get(depth));
                    let items = open.pop().unwrap_or_default();
                    if extent != Some(&items) {
                        let message = format!(
                            "the list has {items} items, but dimension {} is {}",
                            open.len(),
                            extent.copied().unwrap_or_default()
                        );
                        return Err(self.error_at(at, message));
                    }
                    if let Some(outer) = open.last_mut() {
                        *outer += 1;
                    }
                }
                '/' => length = rest.find('\n').unwrap_or(rest.len()),
                ',' | ' ' | '\t' | '\n' | '\r' => {}
                _ => {
                    length = rest.find([',', ']', ' ', '\t', '\n', '\r', '/']).unwrap_or(rest.len());
                    if open.len() != shape.len() {
                        let message = format!(
                            "the element lies in {} lists, but the type has {} dimensions",
                            open.len(),
                            shape.len()
                        );
                        return Err(self.error_at(at, message));
                    }
                    self.push(&mut bytes, &rest[..length], elem)?;
                    if let Some(items) = open.last_mut() {
                        *items += 1;
                    }
                }
            }
            rest = &rest[length..];
        }
        Ok((bytes, false))
    }

    /// Appends the storage of one element.
    fn push(&self, bytes: &mut Vec<u8>, text: &'a str, elem: DType) -> Read<()> {
        let number = match text {
            "true" | "false" if elem == DType::BOOL => Number::Int(i64::from(text == "true")),
            "true" | "false" => {
                return Err(
                    self.error_at(self.offset_of(text), format!("'{text}' is no value of type {elem}"))
                );
            }
            _ => self.number(text, elem)?,
        };
        let word = match (number, elem) {
            (Number::Float(value), DType::Float(format)) => format.to_bits(value),
            (Number::Float(value), _) => value as u64,
            (Number::Int(value), _) => value as u64,
        };
        bytes.extend_from_slice(&word.to_le_bytes()[..elem.storage_bytes()]);
        Ok(())
    }

    /// Elements as hexadecimal digits: all of them, or one for all. Truth values are packed eight to a byte.
    fn blob(&self, literal: &'a str, elem: DType, count: usize) -> Read<(Vec<u8>, bool)> {
        let bytes = self.hex_bytes(literal)?;
        let (size, needed) = match elem {
            DType::Int(1) => (1, count.div_ceil(8)),
            _ => (elem.storage_bytes(), count.saturating_mul(elem.storage_bytes())),
        };
        if bytes.len() == needed && elem == DType::BOOL && !(count > 8 && bytes.len() == 1) {
            return Ok(((0..count).map(|i| bytes[i / 8] >> (i % 8) & 1).collect(), false));
        }
        if bytes.len() == needed {
            return Ok((self.clean(bytes, elem), false));
        }
        if bytes.len() == size && count > 0 {
            let one = if elem == DType::BOOL { vec![bytes[0] & 1] } else { self.clean(bytes, elem) };
            return Ok((one, true));
        }
        let message =
            format!("the blob has {} bytes, but {count} elements of {elem} take {needed}", bytes.len());
        Err(self.error_at(self.offset_of(literal), message))
    }

    /// Clears storage bits beyond an element's width.
    fn clean(&self, mut bytes: Vec<u8>, elem: DType) -> Vec<u8> {
        if let Some(format) = elem.format().filter(|format| format.width() % 8 != 0) {
            let mask = (1u8 << (format.width() % 8)) - 1;
            for chunk in bytes.chunks_exact_mut(elem.storage_bytes()) {
                if let Some(top) = chunk.last_mut() {
                    *top &= mask;
                }
            }
        }
        bytes
    }

    /// The bytes of a string literal `"0x..."`.
    pub fn hex_bytes(&self, literal: &'a str) -> Read<Vec<u8>> {
        let inside = &literal[1..literal.len() - 1];
        let at = self.offset_of(literal);
        let Some(digits) = inside.strip_prefix("0x") else {
            return Err(self.error_at(at, "a blob starts with 0x"));
        };
        if let Some(i) = digits.bytes().position(|b| !b.is_ascii_hexdigit()) {
            return Err(self.error_at(at + 3 + i, "this is not a hexadecimal digit"));
        }
        if digits.len() % 2 != 0 {
            return Err(self.error_at(at, "the blob has half a byte: its number of digits is odd"));
        }
        Ok(digits.as_bytes().chunks_exact(2).map(|pair| hex(pair[0]) << 4 | hex(pair[1])).collect())
    }

    /// `array<i64: 1, 2>`.
    pub fn dense_array(&mut self, pair: Pair<'a, Rule>) -> Read<Attr> {
        let mut inner = pair.into_inner();
        let ty_pair = grammar::next(&mut inner)?;
        let ty = self.any_type(ty_pair.clone())?;
        let TypeKind::Scalar(elem) = *ty else {
            return Err(self.error(&ty_pair, format!("an array cannot hold {ty}")));
        };
        let mut bytes = Vec::new();
        if let Some(list) = inner.next() {
            for item in list.as_str().split(',') {
                let item = item.trim();
                if item.starts_with('[') {
                    return Err(self.error_at(self.offset_of(item), "a dense array holds numbers, not lists"));
                }
                self.push(&mut bytes, item, elem)?;
            }
        }
        Ok(Attr::DenseArray(Arc::new(Dense { ty, bytes: bytes.into(), splat: false })))
    }

    /// `dense_resource<key>` of type `ty`.
    pub fn resource(&mut self, pair: Pair<'a, Rule>, ty: Type) -> Read<Attr> {
        let key = grammar::next(&mut pair.into_inner())?;
        Ok(Attr::Resource(Ident::new(&self.key(key)?), ty))
    }

    /// A resource key, quoted or not.
    pub fn key(&self, pair: Pair<'a, Rule>) -> Read<String> {
        let inner = grammar::next(&mut pair.into_inner())?;
        match inner.as_rule() {
            Rule::string => self.string(inner.as_str()),
            _ => Ok(inner.as_str().to_string()),
        }
    }
}
