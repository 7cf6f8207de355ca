//! How FPCore and C99 spell an expression.

use ngc_numerics::expr::Constant;
use ngc_numerics::{Cmp, Format, Prim};

use super::{PRECISIONS, number};

/// A language that functions are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// FPCore 2.0.
    FpCore,
    /// C99.
    C99,
}

use Language::{C99, FpCore};

impl Language {
    /// How the language calls a format; none that it lacks.
    pub fn format(self, format: Format) -> Option<&'static str> {
        match (self, format) {
            (FpCore, _) => PRECISIONS.iter().find(|p| p.1 == format).map(|p| p.0),
            (C99, Format::F64) => Some("double"),
            (C99, Format::F32) => Some("float"),
            (C99, _) => None,
        }
    }

    /// A name for something that is called `name` elsewhere and is not among `used`.
    pub fn name(self, name: &str, used: &mut Vec<String>) -> String {
        let kept = |c: char| match self {
            FpCore => c.is_ascii_graphic() && !"()[]\"';`,|\\".contains(c),
            C99 => c.is_ascii_alphanumeric() || c == '_',
        };
        let mut plain: String = name.chars().map(|c| if kept(c) { c } else { '_' }).collect();
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic() || (self == FpCore && c == '_')) {
            plain.insert(0, 'x');
        }
        let reserved = if self == FpCore { CONSTANTS } else { RESERVED };
        if reserved.contains(&plain.as_str()) {
            plain.push('_');
        }
        let unique = std::iter::once(plain.clone())
            .chain((2u64..).map(|n| format!("{plain}_{n}")))
            .find(|candidate| !used.contains(candidate))
            .unwrap_or(plain);
        used.push(unique.clone());
        unique
    }

    /// A function or operator applied to operands.
    fn call(self, name: &str, operands: &[String], format: Format) -> String {
        match (self, operands) {
            (FpCore, _) => format!("({name} {})", operands.join(" ")),
            (C99, [x, y]) if !name.starts_with(char::is_alphabetic) => format!("({x} {name} {y})"),
            (C99, [x]) if !name.starts_with(char::is_alphabetic) => format!("({name}{x})"),
            (C99, _) => {
                let suffix = if format == Format::F32 { "f" } else { "" };
                format!("{name}{suffix}({})", operands.join(", "))
            }
        }
    }

    /// A call of a function that was written.
    pub fn invoke(self, name: &str, operands: &[String]) -> String {
        match self {
            FpCore => format!("({})", [&[name.to_string()], operands].concat().join(" ")),
            C99 => format!("{name}({})", operands.join(", ")),
        }
    }

    /// One value or another.
    pub fn choose(self, condition: &str, yes: &str, no: &str) -> String {
        match self {
            FpCore => format!("(if {condition} {yes} {no})"),
            C99 => format!("({condition} ? {yes} : {no})"),
        }
    }

    /// A relation of two numbers.
    pub fn relation(self, cmp: Cmp, x: &str, y: &str) -> String {
        match self {
            FpCore => format!("({} {x} {y})", cmp.symbol()),
            C99 => format!("({x} {} {y})", cmp.symbol()),
        }
    }

    /// `and`, `or`, `xor` of two truth values, `not` of one; and the predicates `is_nan`, `is_inf`, `is_finite`.
    pub fn logic(self, name: &str, x: &[String]) -> Option<String> {
        Some(match (self, name, x) {
            (FpCore, "and" | "or" | "not", _) => format!("({name} {})", x.join(" ")),
            (FpCore, "xor", [x, y]) => format!("(if {x} (not {y}) {y})"),
            (C99, "and", [x, y]) => format!("({x} && {y})"),
            (C99, "or", [x, y]) => format!("({x} || {y})"),
            (C99, "xor", [x, y]) => format!("({x} != {y})"),
            (C99, "not", [x]) => format!("(!{x})"),
            (FpCore, "is_nan" | "is_inf" | "is_finite", [x]) => format!("({} {x})", name.replace('_', "")),
            (C99, "is_nan" | "is_inf" | "is_finite", [x]) => format!("{}({x})", name.replace('_', "")),
            _ => return None,
        })
    }

    /// A truth value.
    pub fn truth(self, value: bool) -> String {
        match self {
            FpCore => if value { "TRUE" } else { "FALSE" }.into(),
            C99 => value.to_string(),
        }
    }

    /// A number, exactly.
    pub fn number(self, x: f64, format: Format) -> String {
        match self {
            FpCore if x.is_nan() => "NAN".into(),
            FpCore if x.is_infinite() => if x > 0.0 { "INFINITY" } else { "(- INFINITY)" }.into(),
            FpCore => decimal(x).unwrap_or_else(|| hexadecimal(x)),
            C99 if x.is_nan() => "NAN".into(),
            C99 if x.is_infinite() => if x > 0.0 { "INFINITY" } else { "(-INFINITY)" }.into(),
            C99 => {
                let mut text = decimal(x).unwrap_or_else(|| hexadecimal(x));
                if !text.contains(['.', 'x', 'e']) {
                    text.push_str(".0");
                }
                if format == Format::F32 {
                    text.push('f');
                }
                if text.starts_with('-') { format!("({text})") } else { text }
            }
        }
    }

    /// A constant of a formula.
    pub fn constant(self, constant: &Constant, format: Format) -> String {
        match (self, constant) {
            (_, Constant::Infinity { negative }) => {
                self.number(if *negative { f64::NEG_INFINITY } else { f64::INFINITY }, format)
            }
            (_, Constant::Nan) => self.number(f64::NAN, format),
            (FpCore, Constant::Pi) => "PI".into(),
            (FpCore, Constant::E) => "E".into(),
            (FpCore, Constant::Rational(x)) => x.to_string(),
            (C99, Constant::Pi) => self.number(format.round(std::f64::consts::PI), format),
            (C99, Constant::E) => self.number(format.round(std::f64::consts::E), format),
            (C99, Constant::Rational(x)) => self.number(number::round(x, format), format),
        }
    }

    /// A primitive of operands that are names or numbers where they stand twice.
    pub fn primitive(self, prim: Prim, x: &[String], format: Format) -> String {
        let zero = || self.number(0.0, format);
        match (prim, x) {
            (Prim::Square, [x]) => self.call("*", &[x.clone(), x.clone()], format),
            (Prim::Min | Prim::Max, [x, y]) => {
                // fmin and fmax ignore NaN, and do not tell the zeros apart.
                let sign = if prim == Prim::Min { Cmp::Lt } else { Cmp::Gt };
                let (first, second) = (self.relation(sign, x, y), self.relation(sign, y, x));
                // Equal numbers are zeros of either sign, or alike: a sum or a product of signs decides.
                let sum = self.call("+", &[x.clone(), y.clone()], format);
                let equal = self.relation(Cmp::Eq, x, y);
                let zeros = self.relation(Cmp::Eq, x, &zero());
                let negated = |t: &String| self.call("-", std::slice::from_ref(t), format);
                let least_zero = negated(&self.call("-", &[negated(x), y.clone()], format));
                let of_zeros = if prim == Prim::Min { least_zero } else { sum.clone() };
                let of_equal = self.choose(&zeros, &of_zeros, x);
                let unordered = self.choose(&equal, &of_equal, &sum);
                self.choose(&first, x, &self.choose(&second, y, &unordered))
            }
            (Prim::Sign, [x]) => {
                let (one, minus) = (self.number(1.0, format), self.number(-1.0, format));
                let below = self.choose(&self.relation(Cmp::Lt, x, &zero()), &minus, x);
                self.choose(&self.relation(Cmp::Gt, x, &zero()), &one, &below)
            }
            (Prim::Exprel | Prim::Sinc, [t]) => {
                let numerator = self.call(if prim == Prim::Sinc { "sin" } else { "expm1" }, x, format);
                let quotient = self.call("/", &[numerator, t.clone()], format);
                self.choose(&self.relation(Cmp::Eq, t, &zero()), &self.number(1.0, format), &quotient)
            }
            _ => self.call(name(prim), x, format),
        }
    }
}

/// Whether a primitive's spelling repeats its operands.
pub fn repeats(prim: Prim) -> bool {
    matches!(prim, Prim::Square | Prim::Min | Prim::Max | Prim::Sign) || rounds_often(prim)
}

/// Whether a primitive's spelling rounds more than once.
pub fn rounds_often(prim: Prim) -> bool {
    matches!(prim, Prim::Exprel | Prim::Sinc)
}

/// Whether no formula of the language's functions keeps a primitive's digits.
pub fn is_lacking(prim: Prim) -> bool {
    matches!(
        prim,
        Prim::ExprelSlope
            | Prim::Exprel2
            | Prim::Erfcx
            | Prim::Stumpff3
            | Prim::Stumpff5
            | Prim::StirlingError
            | Prim::Digamma
            | Prim::Trigamma
            | Prim::Tetragamma
    )
}

fn name(prim: Prim) -> &'static str {
    match prim {
        Prim::Add => "+",
        Prim::Sub | Prim::Neg => "-",
        Prim::Mul => "*",
        Prim::Div => "/",
        Prim::Rem => "fmod",
        Prim::Abs => "fabs",
        Prim::RoundEven => "nearbyint",
        other => other.name(),
    }
}

/// The shortest decimal, if it is the number.
fn decimal(x: f64) -> Option<String> {
    let text = format!("{x:?}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let exact = number::read(text).is_ok_and(|value| number::is(&value, x));
    exact.then(|| text.to_string())
}

fn hexadecimal(x: f64) -> String {
    let bits = x.to_bits();
    let (sign, exponent, mantissa) = (bits >> 63, (bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (whole, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let (sign, point) = (if sign == 1 { "-" } else { "" }, if digits.is_empty() { "" } else { "." });
    format!("{sign}0x{whole}{point}{digits}p{exponent}")
}

/// Names of FPCore that stand for values.
const CONSTANTS: &[&str] = &["E", "PI", "INFINITY", "NAN", "TRUE", "FALSE"];

/// Words of C99 and of its headers.
const RESERVED: &[&str] = &[
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "true",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "main",
    "INFINITY",
    "NAN",
    "HUGE_VAL",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "logb",
    "pow",
    "sqrt",
    "cbrt",
    "hypot",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "lgamma",
    "tgamma",
    "gamma",
    "ceil",
    "floor",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "fmod",
    "remainder",
    "remquo",
    "fma",
    "fabs",
    "fmin",
    "fmax",
    "fdim",
    "copysign",
    "nan",
    "frexp",
    "ldexp",
    "modf",
    "ilogb",
    "scalbn",
    "scalbln",
    "nextafter",
    "nexttoward",
    "lrint",
    "llrint",
    "lround",
    "llround",
    "isnan",
    "isinf",
    "isfinite",
    "isnormal",
    "signbit",
    "fpclassify",
    "isgreater",
    "isless",
    "isunordered",
    "j0",
    "j1",
    "jn",
    "y0",
    "y1",
    "yn",
];
