//! Operators and constants of FPCore as `ng` ops.

use ngc_ir::{Attr, Loc, Type, Value};
use ngc_numerics::Format;

use super::function::Function;
use super::{Result, unsupported};

/// Operators that are one op, with as many operands.
pub const DIRECT: &[(&str, usize, &str)] = &[
    ("+", 2, "ng.add"),
    ("-", 2, "ng.sub"),
    ("-", 1, "ng.neg"),
    ("*", 2, "ng.mul"),
    ("/", 2, "ng.div"),
    ("fma", 3, "ng.fma"),
    ("fabs", 1, "ng.abs"),
    ("exp", 1, "ng.exp"),
    ("exp2", 1, "ng.exp2"),
    ("expm1", 1, "ng.expm1"),
    ("log", 1, "ng.log"),
    ("log10", 1, "ng.log10"),
    ("log2", 1, "ng.log2"),
    ("log1p", 1, "ng.log1p"),
    ("pow", 2, "ng.pow"),
    ("sqrt", 1, "ng.sqrt"),
    ("cbrt", 1, "ng.cbrt"),
    ("hypot", 2, "ng.hypot"),
    ("sin", 1, "ng.sin"),
    ("cos", 1, "ng.cos"),
    ("tan", 1, "ng.tan"),
    ("asin", 1, "ng.asin"),
    ("acos", 1, "ng.acos"),
    ("atan", 1, "ng.atan"),
    ("atan2", 2, "ng.atan2"),
    ("sinh", 1, "ng.sinh"),
    ("cosh", 1, "ng.cosh"),
    ("tanh", 1, "ng.tanh"),
    ("asinh", 1, "ng.asinh"),
    ("acosh", 1, "ng.acosh"),
    ("atanh", 1, "ng.atanh"),
    ("erf", 1, "ng.erf"),
    ("erfc", 1, "ng.erfc"),
    ("lgamma", 1, "ng.lgamma"),
    ("ceil", 1, "ng.ceil"),
    ("floor", 1, "ng.floor"),
    ("nearbyint", 1, "ng.round"),
    ("fmod", 2, "ng.rem"),
];

/// Emits an operator from operands of one format.
type Emit = fn(&mut Function<'_, '_>, &[Value], &Loc) -> Result<Value>;

/// Operators of several ops.
pub const COMPOSED: &[(&str, usize, Emit)] = &[
    ("fmin", 2, |f, x, loc| f.ignoring_nan("ng.min", x, loc)),
    ("fmax", 2, |f, x, loc| f.ignoring_nan("ng.max", x, loc)),
    ("fdim", 2, |f, x, loc| {
        let zero = f.number(0.0, x[0], loc)?;
        let (not_above, difference) = (f.compare("LE", x[0], x[1], loc)?, f.op("ng.sub", x, loc)?);
        f.op("ng.where", &[not_above, zero, difference], loc)
    }),
    ("copysign", 2, |f, x, loc| {
        let (size, negative) = (f.op("ng.abs", &x[..1], loc)?, f.sign_bit(x[1], loc)?);
        let opposite = f.op("ng.neg", &[size], loc)?;
        f.op("ng.where", &[negative, opposite, size], loc)
    }),
    ("trunc", 1, |f, x, loc| f.truncated(x[0], loc)),
    ("round", 1, |f, x, loc| {
        // Halves go away from zero; what truncation leaves is exact.
        let whole = f.truncated(x[0], loc)?;
        let rest = f.op("ng.sub", &[x[0], whole], loc)?;
        let (rest, half) = (f.op("ng.abs", &[rest], loc)?, f.number(0.5, x[0], loc)?);
        let (goes, sign) = (f.compare("GE", rest, half, loc)?, f.op("ng.sign", x, loc)?);
        let next = f.op("ng.add", &[whole, sign], loc)?;
        f.op("ng.where", &[goes, next, whole], loc)
    }),
];

/// Predicates of one number.
pub const PREDICATES: &[(&str, Emit)] = &[
    ("isnan", |f, x, loc| f.op("ng.is_nan", x, loc)),
    ("isfinite", |f, x, loc| f.op("ng.is_finite", x, loc)),
    ("isinf", |f, x, loc| f.op("ng.is_inf", x, loc)),
    ("isnormal", |f, x, loc| {
        let Some(format) = f.format(x[0]) else {
            return unsupported(loc.clone(), "isnormal of what is no number");
        };
        let (size, least) = (f.op("ng.abs", x, loc)?, f.number(format.min_normal(), x[0], loc)?);
        let (finite, normal) = (f.op("ng.is_finite", x, loc)?, f.compare("GE", size, least, loc)?);
        f.op("ng.and", &[finite, normal], loc)
    }),
    ("signbit", |f, x, loc| f.sign_bit(x[0], loc)),
];

/// Relations, with the directions of `ng.compare`.
pub const RELATIONS: &[(&str, &str)] =
    &[("<", "LT"), (">", "GT"), ("<=", "LE"), (">=", "GE"), ("==", "EQ"), ("!=", "NE")];

/// Constants as functions of a number: exact over the reals, correctly rounded in each format (those of several functions
/// are computed in f64 and then converted). Circle constants are multiples of `atan(1)`, where the arc tangent is smooth,
/// unlike `acos(-1)`.
pub const CONSTANTS: &[(&str, &[Part])] = &[
    ("E", &[Part::Of("ng.exp", 1.0)]),
    ("LOG2E", &[Part::Of("ng.log", 2.0), Part::Then("ng.reciprocal")]),
    ("LOG10E", &[Part::Of("ng.exp", 1.0), Part::Then("ng.log10")]),
    ("LN2", &[Part::Of("ng.log", 2.0)]),
    ("LN10", &[Part::Of("ng.log", 10.0)]),
    ("PI", &[Part::Of("ng.atan", 1.0), Part::Times(4.0)]),
    ("PI_2", &[Part::Of("ng.atan", 1.0), Part::Times(2.0)]),
    ("PI_4", &[Part::Of("ng.atan", 1.0)]),
    ("M_1_PI", &[Part::Of("ng.atan", 1.0), Part::Times(4.0), Part::Then("ng.reciprocal")]),
    ("1_PI", &[Part::Of("ng.atan", 1.0), Part::Times(4.0), Part::Then("ng.reciprocal")]),
    ("M_2_PI", &[Part::Of("ng.atan", 1.0), Part::Times(2.0), Part::Then("ng.reciprocal")]),
    ("2_PI", &[Part::Of("ng.atan", 1.0), Part::Times(2.0), Part::Then("ng.reciprocal")]),
    ("M_2_SQRTPI", &[Part::Of("ng.atan", 1.0), Part::Then("ng.sqrt"), Part::Then("ng.reciprocal")]),
    ("2_SQRTPI", &[Part::Of("ng.atan", 1.0), Part::Then("ng.sqrt"), Part::Then("ng.reciprocal")]),
    ("SQRT2", &[Part::Of("ng.sqrt", 2.0)]),
    ("SQRT1_2", &[Part::Of("ng.sqrt", 0.5)]),
    ("INFINITY", &[Part::Number(f64::INFINITY)]),
    ("NAN", &[Part::Number(f64::NAN)]),
];

/// A step towards a constant.
pub enum Part {
    /// A number itself.
    Number(f64),
    /// A function of a number.
    Of(&'static str, f64),
    /// A function of what came before.
    Then(&'static str),
    /// A multiple of what came before; exact, for a power of two.
    Times(f64),
}

impl Function<'_, '_> {
    /// A named constant in a format.
    pub fn named(&mut self, parts: &[Part], format: Format, loc: &Loc) -> Result<Value> {
        let several = parts.iter().any(|part| matches!(part, Part::Then(_)));
        let wide = if several { Format::F64 } else { format };
        let mut value = None;
        for part in parts {
            value = Some(match (part, value) {
                (Part::Of(name, x), _) => {
                    let x = self.float(*x, wide, loc)?;
                    self.op(name, &[x], loc)?
                }
                (Part::Then(name), Some(value)) => self.op(name, &[value], loc)?,
                (Part::Times(x), Some(value)) => {
                    let x = self.float(*x, wide, loc)?;
                    self.op("ng.mul", &[value, x], loc)?
                }
                (Part::Number(x) | Part::Times(x), _) => self.float(*x, wide, loc)?,
                (Part::Then(name), None) => return unsupported(loc.clone(), format!("{name} of nothing")),
            });
        }
        match value {
            Some(value) => self.converted(value, format, loc),
            None => unsupported(loc.clone(), "a constant without a value"),
        }
    }

    /// C's `fmin` and `fmax`: of a number and NaN the number.
    fn ignoring_nan(&mut self, name: &str, x: &[Value], loc: &Loc) -> Result<Value> {
        let mut value = self.op(name, x, loc)?;
        for (one, other) in [(x[0], x[1]), (x[1], x[0])] {
            if !self.is_constant(one) {
                let nan = self.op("ng.is_nan", &[one], loc)?;
                value = self.op("ng.where", &[nan, other, value], loc)?;
            }
        }
        Ok(value)
    }

    /// Whether a number is below zero or -0.
    fn sign_bit(&mut self, x: Value, loc: &Loc) -> Result<Value> {
        let zero = self.number(0.0, x, loc)?;
        let (below, inverse) = (self.compare("LT", x, zero, loc)?, self.op("ng.reciprocal", &[x], loc)?);
        let minus_zero = self.compare("LT", inverse, zero, loc)?;
        self.op("ng.or", &[below, minus_zero], loc)
    }

    /// The integer next to a number towards zero; zeros keep their sign.
    fn truncated(&mut self, x: Value, loc: &Loc) -> Result<Value> {
        let zero = self.number(0.0, x, loc)?;
        let below = self.compare("LT", x, zero, loc)?;
        let (up, down) = (self.op("ng.ceil", &[x], loc)?, self.op("ng.floor", &[x], loc)?);
        self.op("ng.where", &[below, up, down], loc)
    }

    /// A relation of two numbers of one format.
    pub fn compare(&mut self, direction: &str, x: Value, y: Value, loc: &Loc) -> Result<Value> {
        self.emit("ng.compare", &[x, y], [("direction", Attr::from(direction))], loc)
    }

    /// A number in the format of a value.
    fn number(&mut self, x: f64, like: Value, loc: &Loc) -> Result<Value> {
        match self.format(like) {
            Some(format) => self.float(x, format, loc),
            None => unsupported(loc.clone(), "a truth value stands where a number is needed"),
        }
    }

    /// A number of a format, which holds it.
    pub fn float(&mut self, x: f64, format: Format, loc: &Loc) -> Result<Value> {
        self.emit("ng.constant", &[], [("value", Attr::Float(format.round(x), Type::float(format)))], loc)
    }
}
