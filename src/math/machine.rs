//! The ops that machines have, and how C99 spells them. What is not here is expanded, or refused by name.

use ngc_dialects::ng::compare::direction;
use ngc_ir::{OpDef, Signature};
use ngc_numerics::{Cmp, DType, Format};

/// How an operand is written, its element type, and what is known of it.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its element type.
    pub elem: DType,
    /// Whether it is a number other than 0 and NaN.
    pub is_plain_constant: bool,
    /// Whether it is no NaN and lies within an integer type of the width, for sure.
    pub fits: Option<DType>,
}

/// Makes the text of an op.
type Spelling = fn(&Signature<'_>, &[Operand<'_>], DType) -> Option<String>;

/// Machine ops and their spellings; constants, tables and returns are written where statements are.
const OPS: &[(&str, Spelling)] = &[
    ("ng.constant", |_, _, _| None),
    ("num.table", |_, _, _| None),
    ("ng.add", |_, x, to| wrapping(x, to, '+')),
    ("ng.sub", |_, x, to| wrapping(x, to, '-')),
    ("ng.mul", |_, x, to| wrapping(x, to, '*')),
    ("ng.div", |_, x, to| to.is_float().then(|| infix(x, "/"))),
    ("ng.fma", |_, x, to| call("fma", x, to)),
    ("ng.sqrt", |_, x, to| call("sqrt", x, to)),
    ("ng.floor", |_, x, to| call("floor", x, to)),
    ("ng.ceil", |_, x, to| call("ceil", x, to)),
    ("ng.round", |_, x, to| call("rint", x, to)),
    ("ng.abs", |_, x, to| call("fabs", x, to)),
    ("ng.neg", |_, x, to| match to {
        DType::Float(_) => Some(format!("-{}", x[0].text)),
        _ => wrapping(&[Operand { text: "0", ..x[0] }, x[0]], to, '-'),
    }),
    ("ng.square", |_, x, to| wrapping(&[x[0], x[0]], to, '*')),
    ("ng.min", |_, x, to| Some(extreme(x, to, "min", "<"))),
    ("ng.max", |_, x, to| Some(extreme(x, to, "max", ">"))),
    ("ng.compare", |s, x, _| {
        let sign = match direction(s)? {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Lt => "<",
            Cmp::Le => "<=",
            Cmp::Gt => ">",
            Cmp::Ge => ">=",
        };
        Some(infix(x, sign))
    }),
    ("ng.where", |_, x, _| Some(choice(x))),
    ("ng.select", |_, x, _| Some(choice(x))),
    ("ng.and", |_, x, _| Some(infix(x, "&"))),
    ("ng.or", |_, x, _| Some(infix(x, "|"))),
    ("ng.xor", |_, x, _| Some(infix(x, "^"))),
    ("ng.not", |_, x, _| Some(format!("!{}", x[0].text))),
    ("ng.is_nan", |_, x, _| Some(format!("{0} != {0}", x[0].text))),
    ("ng.convert", |_, x, to| converted(&x[0], to)),
    ("num.bitcast", |_, x, to| Some(format!("ngc_{}_of_{}({})", to.name(), x[0].elem.name(), x[0].text))),
    ("num.andi", |_, x, _| Some(infix(x, "&"))),
    ("num.ori", |_, x, _| Some(infix(x, "|"))),
    ("num.xori", |_, x, _| Some(infix(x, "^"))),
    ("num.shli", |s, x, to| {
        let (signed, unsigned) = integers(to)?;
        Some(format!("({signed})(({unsigned}){} << {})", x[0].text, s.int("bits")?))
    }),
    ("num.shrui", |s, x, to| {
        let (signed, unsigned) = integers(to)?;
        Some(format!("({signed})(({unsigned}){} >> {})", x[0].text, s.int("bits")?))
    }),
    // C leaves the shift of a negative number to the compiler; all that are in use copy the sign.
    ("num.shrsi", |s, x, _| Some(format!("{} >> {}", x[0].text, s.int("bits")?))),
];

/// Whether an op is one that machines have.
pub fn is_machine(def: &OpDef) -> bool {
    OPS.iter().any(|(name, _)| *name == def.name)
}

/// Functions of <math.h> that are ops of `ng` of the same name; terms may refer to them.
pub const LIBRARY: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
];

/// Whether an op is a function of <math.h> that a term may refer to.
pub fn is_library(def: &OpDef) -> bool {
    def.name.strip_prefix("ng.").is_some_and(|name| LIBRARY.contains(&name))
}

/// The text of an op in C99; nothing for an op that is none of a machine, or not of these types.
pub fn spell(s: &Signature<'_>, operands: &[Operand<'_>], to: DType) -> Option<String> {
    if is_library(s.def) && !is_machine(s.def) {
        return call(s.def.short_name(), operands, to);
    }
    let (_, spelling) = OPS.iter().find(|(name, _)| *name == s.def.name)?;
    spelling(s, operands, to)
}

/// The name of a type in C99.
pub fn type_name(elem: DType) -> Option<&'static str> {
    Some(match elem {
        DType::Float(Format::F32) => "float",
        DType::Float(Format::F64) => "double",
        DType::BOOL => "int",
        _ => integers(elem)?.0,
    })
}

/// The signed and the unsigned type of an integer type.
fn integers(elem: DType) -> Option<(&'static str, &'static str)> {
    Some(match elem {
        DType::Int(32) => ("int32_t", "uint32_t"),
        DType::Int(64) => ("int64_t", "uint64_t"),
        _ => return None,
    })
}

fn infix(x: &[Operand<'_>], sign: &str) -> String {
    format!("{} {sign} {}", x[0].text, x[1].text)
}

fn choice(x: &[Operand<'_>]) -> String {
    format!("{} ? {} : {}", x[0].text, x[1].text, x[2].text)
}

/// A function of <math.h>.
fn call(name: &str, x: &[Operand<'_>], to: DType) -> Option<String> {
    let suffix = match to {
        DType::Float(Format::F32) => "f",
        DType::Float(Format::F64) => "",
        _ => return None,
    };
    let operands: Vec<&str> = x.iter().map(|x| x.text).collect();
    Some(format!("{name}{suffix}({})", operands.join(", ")))
}

/// Arithmetic; of integers modulo 2^width, which in C is that of unsigned ones.
fn wrapping(x: &[Operand<'_>], to: DType, sign: char) -> Option<String> {
    if to.is_float() {
        return Some(infix(x, &sign.to_string()));
    }
    let (signed, unsigned) = integers(to)?;
    Some(format!("({signed})(({unsigned}){} {sign} ({unsigned}){})", x[0].text, x[1].text))
}

/// The lesser or greater of two. NaN passes, and beside a constant other than 0 no zeros are to be told apart.
fn extreme(x: &[Operand<'_>], to: DType, name: &str, sign: &str) -> String {
    let (a, b) = (&x[0], &x[1]);
    match to {
        DType::Float(_) if b.is_plain_constant => format!("{1} {sign} {0} ? {1} : {0}", a.text, b.text),
        DType::Float(_) if a.is_plain_constant => format!("{0} {sign} {1} ? {0} : {1}", a.text, b.text),
        DType::Float(format) => format!("ngc_{name}_{}({}, {})", format.name(), a.text, b.text),
        _ => format!("{0} {sign} {1} ? {0} : {1}", a.text, b.text),
    }
}

fn converted(x: &Operand<'_>, to: DType) -> Option<String> {
    let name = type_name(to)?;
    match (x.elem, to) {
        (_, DType::BOOL) => Some(format!("{} != 0", x.text)),
        (DType::Float(from), DType::Int(_)) if x.fits != Some(to) => {
            Some(format!("ngc_{}_from_{}({})", to.name(), from.name(), x.text))
        }
        _ => Some(format!("({name}){}", x.text)),
    }
}

/// What spellings call, as C99.
pub const PRELUDE: &str = "\
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error \"these functions rely on IEEE 754 arithmetic: compile without -ffast-math\"
#endif
/* No product and sum become one operation that is not written as one. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize(\"fp-contract=off\")
#else
#pragma STDC FP_CONTRACT OFF
#endif

static inline int32_t ngc_i32_of_f32(float x) { int32_t i; memcpy(&i, &x, 4); return i; }
static inline float ngc_f32_of_i32(int32_t i) { float x; memcpy(&x, &i, 4); return x; }
static inline int64_t ngc_i64_of_f64(double x) { int64_t i; memcpy(&i, &x, 8); return i; }
static inline double ngc_f64_of_i64(int64_t i) { double x; memcpy(&x, &i, 8); return x; }
/* Cut towards zero, and the ends of the type beyond it; NaN gives 0. */
static inline int32_t ngc_i32_from_f32(float x) {
  return x >= 2147483648.0f ? INT32_MAX : x >= -2147483648.0f ? (int32_t)x : x != x ? 0 : INT32_MIN;
}
static inline int32_t ngc_i32_from_f64(double x) {
  return x >= 2147483648.0 ? INT32_MAX : x >= -2147483648.0 ? (int32_t)x : x != x ? 0 : INT32_MIN;
}
static inline int64_t ngc_i64_from_f32(float x) {
  return x >= 9223372036854775808.0f ? INT64_MAX : x >= -9223372036854775808.0f ? (int64_t)x : x != x ? 0 : INT64_MIN;
}
static inline int64_t ngc_i64_from_f64(double x) {
  return x >= 9223372036854775808.0 ? INT64_MAX : x >= -9223372036854775808.0 ? (int64_t)x : x != x ? 0 : INT64_MIN;
}
/* NaN if either is, and -0 below +0: minimum and maximum of IEEE 754-2019, 9.6. */
static inline float ngc_min_f32(float x, float y) {
  return x < y ? x : y < x ? y : x == y ? (signbit(x) ? x : y) : x + y;
}
static inline float ngc_max_f32(float x, float y) {
  return x > y ? x : y > x ? y : x == y ? (signbit(x) ? y : x) : x + y;
}
static inline double ngc_min_f64(double x, double y) {
  return x < y ? x : y < x ? y : x == y ? (signbit(x) ? x : y) : x + y;
}
static inline double ngc_max_f64(double x, double y) {
  return x > y ? x : y > x ? y : x == y ? (signbit(x) ? y : x) : x + y;
}
";
