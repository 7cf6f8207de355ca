//! Floating-point literals, spelt as MLIR spells them.
//!
//! MLIR tries six significant digits, then as many as the format may need, and falls back to the bits where the text
//! would have no point or the value is no finite number. Digits are rounded half up, after a division by a power of
//! ten that leaves about as many digits as are wanted; for some exponents exactly as many, so that they are cut off:
//! 0.7 prints as 0.69999999999999996.

use std::fmt::Write;

use ngc_numerics::Format;
use rug::Integer;
use rug::ops::Pow;

/// Appends the literal of `x`, a value of `format`.
pub(super) fn write_float(out: &mut String, x: f64, format: Format) {
    if x.is_finite() {
        let sign = if x.is_sign_negative() { "-" } else { "" };
        if x == 0.0 {
            let _ = write!(out, "{sign}0.000000e+00");
            return;
        }
        let start = out.len();
        out.push_str(sign);
        let six = digits(x, 6);
        scientific(out, &six, 6);
        if out[start..].parse().is_ok_and(|y| reads_back(y, x, format)) {
            return;
        }
        out.truncate(start);
        // Enough to tell the values of the format apart.
        let precision = 2 + format.precision() as usize * 59 / 196;
        let all = digits(x, precision);
        if let Some(text) = natural(&all, precision) {
            out.push_str(sign);
            out.push_str(&text);
            return;
        }
    }
    let width = (format.width() as usize).div_ceil(4);
    let bits = format.to_bits(x);
    // Leading zeros are not printed.
    let _ = width;
    let _ = write!(out, "0x{bits:X}");
}

fn reads_back(y: f64, x: f64, format: Format) -> bool {
    format.round(y).to_bits() == x.to_bits()
}

/// Decimal digits without trailing zeros, and the exponent of the last one.
struct Digits {
    text: String,
    exponent: i32,
}

/// At most `precision` significant digits of a finite non-zero number.
fn digits(x: f64, precision: usize) -> Digits {
    let bits = x.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, power) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    let zeros = significand.trailing_zeros();
    let (significand, power) = (significand >> zeros, power + zeros as i32);

    // x = value · 10^exponent
    let mut value = Integer::from(significand);
    let mut exponent = 0;
    if power >= 0 {
        value <<= power as u32;
    } else {
        value *= Integer::from(5).pow(power.unsigned_abs());
        exponent = power;
    }
    // 196/59 is a little more than the binary logarithm of 10.
    let wanted = (precision as u32 * 196).div_ceil(59);
    let surplus = value.significant_bits().saturating_sub(wanted) * 59 / 196;
    if surplus > 0 {
        value /= Integer::from(10).pow(surplus);
        exponent += surplus as i32;
    }
    let mut text = value.to_string();
    if text.len() > precision {
        exponent += (text.len() - precision) as i32;
        let up = text.as_bytes()[precision] >= b'5';
        text.truncate(precision);
        if up {
            let nines = text.len() - text.trim_end_matches('9').len();
            text.truncate(text.len() - nines);
            exponent += nines as i32;
            match text.pop() {
                Some(last) => text.push(char::from(last as u8 + 1)),
                None => text.push('1'),
            }
        }
    }
    let kept = text.trim_end_matches('0').len();
    exponent += (text.len() - kept) as i32;
    text.truncate(kept);
    Digits { text, exponent }
}

/// `d.dddddde+xx`, with `fraction` digits behind the point.
fn scientific(out: &mut String, digits: &Digits, fraction: usize) {
    let (first, rest) = digits.text.split_at(1);
    let exponent = digits.exponent + rest.len() as i32;
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{first}.{rest:0<fraction$}e{sign}{:02}", exponent.abs());
}

/// The shortest usual spelling of the digits, if it has a point.
fn natural(digits: &Digits, precision: usize) -> Option<String> {
    let Digits { text, exponent } = digits;
    let (exponent, count) = (*exponent, text.len() as i32);
    let most_significant = exponent + count - 1;
    if exponent >= 0 {
        // A whole number: without point where it is short.
        if exponent <= 3 && (count + exponent) as usize <= precision {
            return None;
        }
    } else if most_significant >= 0 {
        let (whole, fraction) = text.split_at((most_significant + 1) as usize);
        return Some(format!("{whole}.{fraction}"));
    } else if -most_significant <= 3 {
        return Some(format!("0.{}{text}", "0".repeat((-most_significant - 1) as usize)));
    }
    let (first, rest) = text.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    let sign = if most_significant < 0 { '-' } else { '+' };
    Some(format!("{first}.{rest}E{sign}{}", most_significant.abs()))
}
