//! Numbers of FPCore, exactly: decimals, ratios, hexadecimal numbers, `(digits m e b)`.

use ngc_ir::diagnostics::excerpt;
use ngc_numerics::Format;
use rug::ops::Pow;
use rug::{Float, Integer, Rational};

/// Exponents beyond this are refused: no format comes near, and an exact number would fill the memory.
const MAX_EXPONENT: i64 = 20_000;
/// Longer numbers are refused.
const MAX_DIGITS: usize = 20_000;
/// Bits in which a ratio is held before it is rounded. One that lies nearer to the middle of two numbers of a format,
/// and not on it, has a denominator of thousands of digits.
const ROUNDING_BITS: u32 = 4096;

/// A number: `-1.5e3`, `13/500`, `0x1.8p-3`.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn read(text: &str) -> Result<Rational, String> {
    let broken = || format!("'{}' is no number", excerpt(text));
    if text.len() > MAX_DIGITS {
        return Err(format!("'{}' has more than {MAX_DIGITS} digits", excerpt(text)));
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = if let Some((a, b)) = rest.split_once('/') {
        let (a, b) = (digits(a, 10).ok_or_else(broken)?, digits(b, 10).ok_or_else(broken)?);
        if b.is_zero() {
            return Err(format!("'{}' divides by zero", excerpt(text)));
        }
        Rational::from((a, b))
    } else if let Some(rest) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let (mantissa, exponent) = split_exponent(rest, ['p', 'P']).ok_or_else(broken)?;
        let (whole, places) = mantissa_digits(mantissa, 16).ok_or_else(broken)?;
        scale(whole, 2, exponent - 4 * places)?
    } else {
        let (mantissa, exponent) = split_exponent(rest, ['e', 'E']).ok_or_else(broken)?;
        let (whole, places) = mantissa_digits(mantissa, 10).ok_or_else(broken)?;
        scale(whole, 10, exponent - places)?
    };
    Ok(if negative { -value } else { value })
}

/// `mantissa * base^exponent`.
///
/// # Errors
/// When the exponent is beyond reason.
pub fn scale(mantissa: Integer, base: u32, exponent: i64) -> Result<Rational, String> {
    if exponent.abs() > MAX_EXPONENT {
        return Err(format!(
            "a number with exponent {exponent} is out of reach: ngc reads up to {MAX_EXPONENT}"
        ));
    }
    let power = Integer::from(base).pow(exponent.unsigned_abs() as u32);
    Ok(if exponent < 0 { Rational::from((mantissa, power)) } else { Rational::from(mantissa * power) })
}

/// An exponent beyond reason becomes one that [`scale`] refuses.
fn split_exponent(text: &str, letters: [char; 2]) -> Option<(&str, i64)> {
    let Some((mantissa, exponent)) = text.split_once(letters) else { return Some((text, 0)) };
    let figures = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let valid = !figures.is_empty() && figures.bytes().all(|b| b.is_ascii_digit());
    valid.then(|| (mantissa, exponent.parse().unwrap_or(i64::MAX / 2).clamp(-(1 << 40), 1 << 40)))
}

/// The digits without their point, and how many stand behind it.
fn mantissa_digits(text: &str, radix: i32) -> Option<(Integer, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Some((digits(&format!("{whole}{fraction}"), radix)?, fraction.len() as i64))
}

fn digits(text: &str, radix: i32) -> Option<Integer> {
    let valid = !text.is_empty() && text.chars().all(|c| c.is_digit(radix.unsigned_abs()));
    if valid { Integer::from_str_radix(text, radix).ok() } else { None }
}

/// The nearest value of a format, ties to even.
pub fn round(value: &Rational, format: Format) -> f64 {
    format.round_real(&Float::with_val(ROUNDING_BITS, value))
}

/// The ratio of two numbers of `format` that a number is, so that its quotient in the format is the number rounded
/// once, and its quotient over the reals the number itself.
pub fn as_ratio(value: &Rational, format: Format) -> Option<(f64, f64)> {
    let held = |n: &Integer| {
        let rounded = round(&Rational::from(n), format);
        (rounded.is_finite() && Float::with_val(53, rounded) == *n).then_some(rounded)
    };
    Some((held(value.numer())?, held(value.denom())?))
}

/// Whether a value of a format is exactly the number.
pub fn is(value: &Rational, x: f64) -> bool {
    x.is_finite() && Float::with_val(53, x) == *value
}
