//! The resource section, `{-# dialect_resources: { builtin: { key: "0x..." } } #-}`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bytes::Bytes;

use super::Read;
use super::grammar::{self, Rule};
use super::reader::Reader;
use crate::module::Blob;

impl<'a> Reader<'a> {
    /// Reads a section at the reader's position into `into`.
    pub fn resources(&mut self, into: &mut BTreeMap<String, Blob>) -> Read<()> {
        for section in self.take(Rule::resources)?.into_inner() {
            let mut inner = section.into_inner();
            let name = grammar::next(&mut inner)?;
            if name.as_str() != "dialect_resources" {
                let message =
                    format!("resources of kind '{}' are not known, only dialect_resources", name.as_str());
                return Err(self.error(&name, message));
            }
            for group in inner {
                let mut inner = group.into_inner();
                let dialect = grammar::next(&mut inner)?;
                if dialect.as_str() != "builtin" {
                    let message =
                        format!("dialect '{}' has no resources, only builtin has", dialect.as_str());
                    return Err(self.error(&dialect, message));
                }
                for entry in inner {
                    let mut inner = entry.into_inner();
                    let key = grammar::next(&mut inner)?;
                    let literal = grammar::next(&mut inner)?.as_str();
                    let blob = self.resource_blob(literal)?;
                    match into.entry(self.key(key.clone())?) {
                        Entry::Vacant(slot) => slot.insert(blob),
                        Entry::Occupied(slot) => {
                            return Err(
                                self.error(&key, format!("resource '{}' is defined twice", slot.key()))
                            );
                        }
                    };
                }
            }
        }
        Ok(())
    }

    /// Four little-endian bytes of alignment, then the data.
    fn resource_blob(&self, literal: &'a str) -> Read<Blob> {
        let bytes = self.hex_bytes(literal)?;
        let at = self.offset_of(literal);
        let Some((head, _)) = bytes.split_first_chunk::<4>() else {
            return Err(self.error_at(at, "a resource starts with four bytes of alignment"));
        };
        let alignment = u32::from_le_bytes(*head);
        if !alignment.is_power_of_two() {
            return Err(
                self.error_at(at, format!("the alignment of the resource, {alignment}, is no power of two"))
            );
        }
        Ok(Blob { alignment, bytes: Bytes::from(bytes).slice(4..).into() })
    }
}
