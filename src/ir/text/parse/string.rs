//! String literals and symbol names.

use super::Read;
use super::reader::Reader;

impl<'a> Reader<'a> {
    /// The text of a string literal, quotes included in `literal`.
    pub fn string(&self, literal: &'a str) -> Read<String> {
        let at = self.offset_of(literal);
        let body = &literal[1..literal.len() - 1];
        if !body.contains('\\') {
            return Ok(body.to_string());
        }
        let bytes = self.unescape(body)?;
        String::from_utf8(bytes).map_err(|_| self.error_at(at, "the escapes of the string do not make UTF-8"))
    }

    fn unescape(&self, body: &'a str) -> Read<Vec<u8>> {
        let mut out = Vec::with_capacity(body.len());
        let mut rest = body;
        while let Some(i) = rest.find('\\') {
            out.extend_from_slice(&rest.as_bytes()[..i]);
            let escape = &rest[i + 1..];
            let (byte, length) = match escape.as_bytes() {
                [b'n', ..] => (b'\n', 1),
                [b't', ..] => (b'\t', 1),
                [c @ (b'\\' | b'"'), ..] => (*c, 1),
                [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => (hex(*a) << 4 | hex(*b), 2),
                _ => {
                    let message =
                        "unknown escape in a string; known are \\n \\t \\\\ \\\" and two hexadecimal digits";
                    return Err(self.error_at(self.offset_of(rest) + i, message));
                }
            };
            out.push(byte);
            rest = &escape[length..];
        }
        out.extend_from_slice(rest.as_bytes());
        Ok(out)
    }

    /// A symbol reference without its first `@`, components in quotes exactly where they need them.
    pub fn symbol(&self, text: &'a str) -> Read<String> {
        let mut out = String::new();
        let mut rest = text;
        loop {
            rest = &rest[1..];
            let end = match rest.strip_prefix('"') {
                Some(quoted) => closing_quote(quoted) + 2,
                None => rest.find("::").unwrap_or(rest.len()),
            };
            let (component, tail) = rest.split_at(end);
            let name = match component.starts_with('"') {
                true => self.string(component)?,
                false => component.to_string(),
            };
            if name.is_empty() {
                return Err(self.error_at(self.offset_of(component), "a symbol has an empty name"));
            }
            out += &crate::text::print::symbol_component(&name);
            match tail.strip_prefix("::") {
                Some(next) => {
                    out += "::@";
                    rest = next;
                }
                None => return Ok(out),
            }
        }
    }

    /// The plain name of a symbol that is being defined: what `sym_name` holds.
    pub fn symbol_name(&self, text: &'a str) -> Read<String> {
        match &text[1..] {
            quoted if quoted.starts_with('"') => self.string(quoted),
            name => Ok(name.to_string()),
        }
    }
}

/// The length of a string's text up to its closing quote.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    text.bytes()
        .position(|b| match b {
            _ if escaped => {
                escaped = false;
                false
            }
            b'\\' => {
                escaped = true;
                false
            }
            b => b == b'"',
        })
        .unwrap_or(text.len().saturating_sub(1))
}

/// The value of a hexadecimal digit.
pub(super) fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}
