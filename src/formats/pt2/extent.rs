//! Extents that are known, or expressions of symbols; torch writes them as sympy's `srepr` does.

use std::collections::BTreeMap;
use std::fmt;

use ngc_ir::Dim;

use super::schema::{RangeConstraint, SymInt};
use crate::error::{Result, invalid};

/// One extent. Equal ones are equal at run time.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Extent {
    /// A number.
    Known(usize),
    /// A symbol of the program, such as `s77`.
    Symbol(String),
    /// A sum or a product.
    Joined(char, Vec<Extent>),
    /// Any other expression, as it is written.
    Text(String),
}

/// Brackets that are followed into expressions.
const MAX_DEPTH: usize = 32;

impl Extent {
    /// Reads what the program says.
    ///
    /// # Errors
    /// A number that is no extent.
    pub fn new(size: &SymInt) -> Result<Extent> {
        match size {
            SymInt::AsInt(n) => match usize::try_from(*n) {
                Ok(n) => Ok(Extent::Known(n)),
                Err(_) => invalid(format!("an extent of {n}")),
            },
            SymInt::AsExpr(e) => Ok(Extent::parse(&e.expr_str)),
        }
    }

    /// Reads an expression; one that is not understood stays a text.
    pub fn parse(text: &str) -> Extent {
        let mut rest = text.trim();
        match parse(&mut rest, 0) {
            Some(extent) if rest.is_empty() => extent,
            _ => Extent::Text(text.trim().into()),
        }
    }

    /// The product of some.
    pub fn product(parts: &[Extent]) -> Extent {
        let known = || parts.iter().map(Extent::known).try_fold(1usize, |all, n| all.checked_mul(n?));
        known().map_or_else(|| Extent::Joined('*', parts.to_vec()), Extent::Known)
    }

    /// The number, if it is one.
    pub fn known(&self) -> Option<usize> {
        if let Extent::Known(n) = self { Some(*n) } else { None }
    }

    /// As a dimension of a type.
    pub fn dim(&self) -> Dim {
        self.known().map_or(Dim::Dynamic, Dim::Static)
    }

    /// Bounds that follow from those of the symbols.
    pub fn range(&self, constraints: &BTreeMap<String, RangeConstraint>) -> Option<(i64, i64)> {
        if let Some(RangeConstraint { min_val, max_val: Some(max) }) = constraints.get(&self.to_string()) {
            return Some((min_val.unwrap_or(0).max(0), *max));
        }
        match self {
            Extent::Known(n) => i64::try_from(*n).ok().map(|n| (n, n)),
            Extent::Symbol(_) | Extent::Text(_) => None,
            Extent::Joined(sign, parts) => {
                let ranges: Option<Vec<_>> = parts.iter().map(|p| p.range(constraints)).collect();
                let join = |a: i64, b: i64| if *sign == '+' { a.checked_add(b) } else { a.checked_mul(b) };
                ranges?.into_iter().map(Some).reduce(|a, b| {
                    let ((least, most), (low, high)) = (a?, b?);
                    join(least, low).zip(join(most, high))
                })?
            }
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Known(n) => write!(f, "{n}"),
            Extent::Symbol(text) | Extent::Text(text) => f.write_str(text),
            Extent::Joined(sign, parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        write!(f, "{sign}")?;
                    }
                    match part {
                        Extent::Joined('+', _) if *sign == '*' => write!(f, "({part})")?,
                        _ => write!(f, "{part}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// `Symbol('s0', positive=True)`, `Integer(2)`, `Mul(...)`, `Add(...)`, or a bare name or number.
fn parse(rest: &mut &str, depth: usize) -> Option<Extent> {
    if depth > MAX_DEPTH {
        return None;
    }
    let word = word(rest);
    if !rest.starts_with('(') {
        return match word.parse() {
            Ok(n) => Some(Extent::Known(n)),
            Err(_) if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Some(Extent::Symbol(word.into()))
            }
            Err(_) => None,
        };
    }
    *rest = rest[1..].trim_start();
    let extent = match word {
        "Integer" => Extent::Known(self::word(rest).parse().ok()?),
        "Symbol" => {
            let (name, after) = rest.strip_prefix('\'')?.split_once('\'')?;
            // What sympy assumes of a symbol says nothing that its range does not.
            let end = after.find(')')?;
            *rest = &after[end..];
            Extent::Symbol(name.into())
        }
        "Mul" | "Add" => {
            let mut parts = vec![parse(rest, depth + 1)?];
            while let Some(after) = rest.strip_prefix(',') {
                *rest = after.trim_start();
                parts.push(parse(rest, depth + 1)?);
            }
            Extent::Joined(if word == "Mul" { '*' } else { '+' }, parts)
        }
        _ => return None,
    };
    *rest = rest.strip_prefix(')')?.trim_start();
    Some(extent)
}

fn word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    word
}
