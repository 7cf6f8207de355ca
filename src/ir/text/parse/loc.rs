//! Locations.

use pest::iterators::Pair;

use super::Read;
use super::grammar::{self, Rule};
use super::reader::Reader;
use crate::attributes::Attr;
use crate::ident::Ident;
use crate::location::{Loc, LocKind};

/// The most parts of a fused location: finding repetitions takes time quadratic in their number.
const MAX_FUSED: usize = 4096;

impl<'a> Reader<'a> {
    /// `loc(...)`.
    pub fn location(&mut self, pair: Pair<'a, Rule>) -> Read<Loc> {
        let text = pair.as_str();
        if let Some(known) = self.locs.get(text) {
            return Ok(known.clone());
        }
        let body = grammar::next(&mut pair.into_inner())?;
        let loc = self.location_body(body)?;
        self.locs.insert(text, loc.clone());
        Ok(loc)
    }

    /// The location after an op, or where it stands in the text.
    pub fn location_or(&mut self, pair: Option<Pair<'a, Rule>>, offset: usize) -> Read<Loc> {
        match pair {
            Some(pair) => self.location(pair),
            None => Ok(self.source(offset)),
        }
    }

    fn nested(&mut self, pair: Pair<'a, Rule>) -> Read<Loc> {
        let inner = grammar::next(&mut pair.into_inner())?;
        match inner.as_rule() {
            Rule::location => self.location(inner),
            _ => self.location_body(inner),
        }
    }

    fn location_body(&mut self, pair: Pair<'a, Rule>) -> Read<Loc> {
        let text = pair.as_str();
        let at = self.offset(&pair);
        let rule = pair.as_rule();
        let mut inner = pair.into_inner();
        Ok(match rule {
            Rule::unknown => Loc::Unknown,
            Rule::hash_attribute => match self.hash_attribute(text)? {
                Attr::Loc(loc) => loc,
                _ => return Err(self.error_at(at, format!("'{text}' is no location"))),
            },
            Rule::call_site => {
                let callee = self.nested(grammar::next(&mut inner)?)?;
                let caller = self.nested(grammar::next(&mut inner)?)?;
                Loc::explicit(LocKind::CallSite(callee, caller))
            }
            Rule::fused => {
                let mut metadata = None;
                let mut parts = Vec::new();
                for pair in inner {
                    match pair.as_rule() {
                        Rule::attribute => metadata = Some(self.attribute(pair)?),
                        _ => parts.push(self.nested(pair)?),
                    }
                }
                if parts.len() > MAX_FUSED {
                    return Err(self.error_at(at, format!("more than {MAX_FUSED} locations are fused")));
                }
                fuse(metadata, parts)
            }
            Rule::file_line_col => {
                let file = Ident::new(&self.string(grammar::next(&mut inner)?.as_str())?);
                let numbers: Vec<u32> = inner.map(|n| self.small(n.as_str())).collect::<Read<_>>()?;
                let (line, column, end) = match numbers.as_slice() {
                    [line, column, end_line, end_column] => (*line, *column, Some((*end_line, *end_column))),
                    [line, column, end_column] => (*line, *column, Some((*line, *end_column))),
                    [line, column, ..] => (*line, *column, None),
                    _ => return Err(self.error_at(at, "a location in a file has a line and a column")),
                };
                Loc::explicit(LocKind::FileLineCol { file, line, column, end })
            }
            _ => {
                let name = self.string(grammar::next(&mut inner)?.as_str())?;
                let child = inner.next().map(|pair| self.nested(pair)).transpose()?;
                Loc::explicit(LocKind::Name(name.into(), child.unwrap_or_default()))
            }
        })
    }
}

/// Parts without repetitions and unknown ones, as upstream fuses them; one part alone needs no fusion.
fn fuse(metadata: Option<Attr>, parts: Vec<Loc>) -> Loc {
    if metadata.is_none() {
        return Loc::fused(parts);
    }
    let mut kept: Vec<Loc> = Vec::new();
    for part in parts {
        let inner = match &part {
            Loc::Explicit(kind) => match &**kind {
                LocKind::Fused(other, inner) if *other == metadata => inner.clone(),
                _ => vec![part],
            },
            _ => vec![part],
        };
        for loc in inner {
            if loc != Loc::Unknown && !kept.contains(&loc) {
                kept.push(loc);
            }
        }
    }
    if kept.is_empty() {
        kept.push(Loc::Unknown);
    }
    Loc::explicit(LocKind::Fused(metadata, kept))
}
