//! Figures with few digits. A bound is rounded outward: what is printed is a bound, too.

/// `x` as `show` writes it, or the next greater number that it can write: what is shown is not below `x`. `show` keeps
/// trailing zeros, for the place of the last digit is what one step is.
pub fn up(x: f64, show: impl Fn(f64) -> String) -> String {
    outward(x, 1.0, show)
}

/// `x` as `show` writes it, or the next smaller number that it can write: what is shown is not above `x`.
pub fn down(x: f64, show: impl Fn(f64) -> String) -> String {
    outward(x, -1.0, show)
}

fn outward(x: f64, side: f64, show: impl Fn(f64) -> String) -> String {
    let text = show(x);
    let holds = |text: &String| text.parse().is_ok_and(|shown: f64| (shown - x) * side >= 0.0);
    if !x.is_finite() || holds(&text) {
        return text;
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let places = mantissa.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    // Of the last digit. Not by `powi`, which is 0 below the least normal number.
    let unit: f64 = format!("1e{}", exponent.parse().unwrap_or(0) - places).parse().unwrap_or(0.0);
    // `x` lies at most half a unit beyond what is shown, so three quarters more are nearest to the next number. Digits
    // below a power of ten are finer.
    let next = [0.075, 0.75].map(|units| show(x + side * units * unit));
    next.into_iter().find(holds).unwrap_or_else(|| x.to_string())
}

/// Without zeros after the point that say nothing.
pub fn trimmed(text: String) -> String {
    if text.contains('e') || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
