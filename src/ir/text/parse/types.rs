//! Types.

use ngc_numerics::DType;
use pest::iterators::Pair;

use super::Read;
use super::grammar::{self, Rule};
use super::reader::Reader;
use crate::attributes::Attr;
use crate::diagnostics::excerpt;
use crate::types::{Dim, Type, TypeKind};

impl<'a> Reader<'a> {
    /// A `value_type` or `function_type`.
    pub fn any_type(&mut self, pair: Pair<'a, Rule>) -> Read<Type> {
        match pair.as_rule() {
            Rule::function_type => self.function_type(pair),
            _ => self.value_type(pair.as_str()),
        }
    }

    /// A `function_type`.
    pub fn function_type(&mut self, pair: Pair<'a, Rule>) -> Read<Type> {
        if let Some(&known) = self.types.get(pair.as_str()) {
            return Ok(known);
        }
        let text = pair.as_str();
        let mut inner = pair.into_inner();
        let inputs = self.type_list(grammar::next(&mut inner)?)?;
        let results = self.type_list(grammar::next(&mut inner)?)?;
        let ty = Type::function(&inputs, &results);
        self.types.insert(text, ty);
        Ok(ty)
    }

    /// A `type_list`, or the one `value_type` that stands for it.
    pub fn type_list(&mut self, pair: Pair<'a, Rule>) -> Read<Vec<Type>> {
        match pair.as_rule() {
            Rule::type_list | Rule::types => {
                let mut out = Vec::new();
                for inner in pair.into_inner() {
                    match inner.as_rule() {
                        Rule::type_list => return self.type_list(inner),
                        _ => out.push(self.any_type(inner)?),
                    }
                }
                Ok(out)
            }
            _ => Ok(vec![self.any_type(pair)?]),
        }
    }

    /// A scalar, tensor, alias or opaque type by its text.
    pub fn value_type(&mut self, text: &'a str) -> Read<Type> {
        if let Some(&known) = self.types.get(text) {
            return Ok(known);
        }
        let at = self.offset_of(text);
        let ty = if let Some(name) = text.strip_prefix('!') {
            self.bang_type(text, name)?
        } else if let Some(inside) = text.strip_prefix("tensor<") {
            let (shape, elem) = self.shaped("tensor", inside.strip_suffix('>').unwrap_or(inside), at)?;
            Type::tensor(shape, elem)
        } else if let Some(inside) = text.strip_prefix("memref<") {
            let (shape, elem) = self.shaped("memref", inside.strip_suffix('>').unwrap_or(inside), at)?;
            Type::memref(shape, elem)
        } else if let Some(inside) = text.strip_prefix("vector<") {
            match self.shaped("vector", inside.strip_suffix('>').unwrap_or(inside), at)? {
                (shape, elem) if let [Dim::Static(lanes @ 1..)] = shape[..] => Type::vector(lanes, elem),
                _ => return Err(self.error_at(at, "a vector has one extent, a number from 1 on")),
            }
        } else if text == "none" {
            Type::new(TypeKind::None)
        } else if let Some(elem) = DType::from_name(text) {
            Type::scalar(elem)
        } else {
            return Err(self.error_at(at, format!("type '{}' is not known", excerpt(text))));
        };
        self.types.insert(text, ty);
        Ok(ty)
    }

    fn bang_type(&mut self, text: &'a str, name: &'a str) -> Read<Type> {
        let at = self.offset_of(text);
        let dialect = name.find(['.', '<']).map(|end| &name[..end]);
        let Some(dialect) = dialect else {
            return match self.alias(text, at)? {
                Attr::Type(ty) => Ok(ty),
                _ => Err(self.error_at(at, format!("'{}' is no type", excerpt(text)))),
            };
        };
        self.check_dialect(dialect, at)?;
        Ok(Type::new(TypeKind::Opaque(opaque('!', name).into())))
    }

    /// What stands between the brackets of a tensor, vector or memref type.
    fn shaped(&mut self, kind: &str, inside: &'a str, at: usize) -> Read<(Vec<Dim>, DType)> {
        let mut shape = Vec::new();
        let mut count = 1usize;
        let mut rest = inside.trim();
        let elem = loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (extent, tail) = match rest.strip_prefix('?') {
                Some(tail) => ("?", tail),
                None => rest.split_at(digits),
            };
            if extent.is_empty() {
                break rest;
            }
            let Some(tail) = tail.trim_start().strip_prefix('x') else {
                return Err(self.error_at(self.offset_of(rest), "expected 'x' after a dimension"));
            };
            if extent == "?" {
                shape.push(Dim::Dynamic);
            } else {
                let n: usize = extent.parse().map_err(|_| {
                    self.error_at(
                        self.offset_of(rest),
                        format!("dimension {} does not fit in 64 bits", excerpt(extent)),
                    )
                })?;
                count =
                    count.checked_mul(n.max(1)).filter(|&c| c <= isize::MAX as usize).ok_or_else(|| {
                        self.error_at(at, format!("'{kind}<{}>' has too many elements", excerpt(inside)))
                    })?;
                shape.push(Dim::Static(n));
            }
            rest = tail.trim_start();
        };
        let elem = match DType::from_name(elem) {
            Some(elem) => elem,
            None if elem.starts_with('!') => {
                let ty = self.value_type(elem)?;
                match *ty {
                    TypeKind::Scalar(elem) => elem,
                    _ => {
                        return Err(self.error_at(self.offset_of(elem), format!("a {kind} cannot hold {ty}")));
                    }
                }
            }
            None => {
                let message = format!("element type '{}' is not known", excerpt(elem));
                return Err(self.error_at(self.offset_of(elem), message));
            }
        };
        Ok((shape, elem))
    }
}

/// `dialect<name>` and `dialect.name` are one thing; the IR keeps the second spelling where it is possible.
pub(super) fn opaque(sigil: char, name: &str) -> String {
    if let Some((dialect, body)) = name.split_once('<')
        && !dialect.contains('.')
        && let Some(body) = body.strip_suffix('>')
    {
        let word =
            body.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(body.len());
        let (id, parameters) = body.split_at(word);
        let starts = id.starts_with(|c: char| c.is_ascii_alphabetic());
        if starts && (parameters.is_empty() || closes_at_end(parameters)) {
            return format!("{sigil}{dialect}.{body}");
        }
    }
    format!("{sigil}{name}")
}

/// Whether the text is one `< >` pair.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0usize;
    let mut previous = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '"' => return false,
            '<' => depth += 1,
            '>' if !matches!(previous, '-') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return i + 1 == text.len() && text.starts_with('<');
        }
        previous = c;
    }
    false
}
