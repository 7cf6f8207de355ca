//! Real formulas as data: what an operation means over the reals, before any rounding.
//!
//! A definition reads like mathematics:
//!
//! ```
//! use ngc_numerics::expr::*;
//! let x = Expr::var(0);
//! let gelu = &x * (1 + erf(&x / sqrt(2))) / 2;
//! assert_eq!(gelu.to_string(), "x * (1 + erf(x / sqrt(2))) / 2");
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

use rug::Rational;

macro_rules! prims {
    ($($(#[$doc:meta])* $prim:ident $name:ident $arity:literal,)*) => {
        /// The scalar primitives: real functions with a correctly rounded big-float implementation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Prim { $($(#[$doc])* $prim,)* }

        impl Prim {
            /// All primitives.
            pub const ALL: &[Prim] = &[$(Prim::$prim),*];

            /// The function's name.
            pub const fn name(self) -> &'static str {
                match self { $(Prim::$prim => stringify!($name),)* }
            }

            /// The number of arguments.
            pub const fn arity(self) -> usize {
                match self { $(Prim::$prim => $arity,)* }
            }
        }
    };
}

prims! {
    /// `x + y`
    Add add 2,
    /// `x - y`
    Sub sub 2,
    /// `x y`
    Mul mul 2,
    /// `x / y`
    Div div 2,
    /// Remainder of truncated division, with the sign of `x`.
    Rem rem 2,
    /// The lesser; NaN if either is.
    Min min 2,
    /// The greater; NaN if either is.
    Max max 2,
    /// `x^y`
    Pow pow 2,
    /// The angle of the point `(y, x)`.
    Atan2 atan2 2,
    /// `√(x² + y²)`
    Hypot hypot 2,
    /// `x y + z`
    Fma fma 3,
    /// `-x`
    Neg neg 1,
    /// `|x|`
    Abs abs 1,
    /// -1, 0 or 1.
    Sign sign 1,
    /// The greatest integer not above.
    Floor floor 1,
    /// The least integer not below.
    Ceil ceil 1,
    /// The nearest integer, ties to even.
    RoundEven round_even 1,
    /// The integer part.
    Trunc trunc 1,
    /// `x²`
    Square square 1,
    /// `√x`
    Sqrt sqrt 1,
    /// The cube root.
    Cbrt cbrt 1,
    /// `e^x`
    Exp exp 1,
    /// `e^x - 1`
    Expm1 expm1 1,
    /// `2^x`
    Exp2 exp2 1,
    /// The natural logarithm.
    Log log 1,
    /// `log(1 + x)`
    Log1p log1p 1,
    /// The logarithm to base 2.
    Log2 log2 1,
    /// The logarithm to base 10.
    Log10 log10 1,
    /// Sine, of radians.
    Sin sin 1,
    /// Cosine, of radians.
    Cos cos 1,
    /// Tangent, of radians.
    Tan tan 1,
    /// Arc sine.
    Asin asin 1,
    /// Arc cosine.
    Acos acos 1,
    /// Arc tangent.
    Atan atan 1,
    /// Hyperbolic sine.
    Sinh sinh 1,
    /// Hyperbolic cosine.
    Cosh cosh 1,
    /// Hyperbolic tangent.
    Tanh tanh 1,
    /// Inverse hyperbolic sine.
    Asinh asinh 1,
    /// Inverse hyperbolic cosine.
    Acosh acosh 1,
    /// Inverse hyperbolic tangent.
    Atanh atanh 1,
    /// The error function.
    Erf erf 1,
    /// `1 - erf(x)`
    Erfc erfc 1,
    /// `e^(x²) erfc(x)` (W. Gautschi, Efficient computation of the complex error function, 1970).
    Erfcx erfcx 1,
    /// `(e^x - 1) / x`, and 1 at 0: φ₁ of exponential integrators (Hochbruck and Ostermann 2010), `∫ e^(t x) dt` over [0, 1].
    Exprel exprel 1,
    /// The derivative of `exprel`: `∫ t e^(t x) dt` over [0, 1].
    ExprelSlope exprel_slope 1,
    /// `(e^x - 1 - x) / x²`, and 1/2 at 0: φ₂ of exponential integrators, `∫ (1 - t) e^(t x) dt` over [0, 1].
    Exprel2 exprel2 1,
    /// `sin(x) / x`, and 1 at 0.
    Sinc sinc 1,
    /// Stumpff's `c₃(x²) = (x - sin x) / x³`, and 1/6 at 0 (Stumpff 1947).
    Stumpff3 stumpff3 1,
    /// Stumpff's `c₅(x²) = (sin x - x + x³/6) / x⁵`, and 1/120 at 0.
    Stumpff5 stumpff5 1,
    /// `log|Γ(x)|`, with the pole `+inf` at 0, -1, -2 ...
    Lgamma lgamma 1,
    /// What Stirling's formula lacks, `log Γ(x) - ((x - 1/2) log x - x + log √(2π))`, for x ≥ 0: Binet's function (DLMF 5.11.1).
    StirlingError stirling_error 1,
    /// `ψ(x) = Γ'(x) / Γ(x)`, the derivative of `lgamma` (DLMF 5.2.2).
    Digamma digamma 1,
    /// `ψ'(x)`, the derivative of `digamma`, with the pole `+inf` at 0, -1, -2 ...
    Trigamma trigamma 1,
    /// `ψ''(x)`, the derivative of `trigamma`.
    Tetragamma tetragamma 1,
}

/// An order relation. Every relation with NaN is false, except `Ne`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cmp {
    /// `=`
    Eq,
    /// `≠`
    Ne,
    /// `<`
    Lt,
    /// `≤`
    Le,
    /// `>`
    Gt,
    /// `≥`
    Ge,
}

impl Cmp {
    /// Whether the relation holds for operands so ordered; `None` is unordered (a NaN).
    pub fn holds(self, ordering: Option<Ordering>) -> bool {
        match ordering {
            None => self == Cmp::Ne,
            Some(ordering) => match self {
                Cmp::Eq => ordering.is_eq(),
                Cmp::Ne => ordering.is_ne(),
                Cmp::Lt => ordering.is_lt(),
                Cmp::Le => ordering.is_le(),
                Cmp::Gt => ordering.is_gt(),
                Cmp::Ge => ordering.is_ge(),
            },
        }
    }

    /// The relation's sign.
    pub const fn symbol(self) -> &'static str {
        match self {
            Cmp::Eq => "==",
            Cmp::Ne => "!=",
            Cmp::Lt => "<",
            Cmp::Le => "<=",
            Cmp::Gt => ">",
            Cmp::Ge => ">=",
        }
    }
}

/// An exact real constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A rational number.
    Rational(Rational),
    /// π
    Pi,
    /// e
    E,
    /// An infinity.
    Infinity {
        /// Whether it is `-inf`.
        negative: bool,
    },
    /// Not a number.
    Nan,
}

/// A formula; cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(pub Arc<Node>);

/// The top of a formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// An argument.
    Var(usize),
    /// A parameter: an attribute of the operation rather than an operand.
    Param(usize),
    /// A constant.
    Const(Constant),
    /// A primitive applied to as many arguments as it takes.
    Apply(Prim, Vec<Expr>),
    /// `if a cmp b then t else e`, as `[a, b, t, e]`.
    Select(Cmp, [Expr; 4]),
}

impl Expr {
    /// Argument `i`, printed x, y, z, x3 ...
    pub fn var(i: usize) -> Expr {
        Node::Var(i).into()
    }

    /// Parameter `i`, printed a, b, c, a3 ...
    pub fn param(i: usize) -> Expr {
        Node::Param(i).into()
    }

    /// π
    pub fn pi() -> Expr {
        Node::Const(Constant::Pi).into()
    }

    /// e
    pub fn e() -> Expr {
        Node::Const(Constant::E).into()
    }

    /// The exact quotient of two integers.
    ///
    /// # Panics
    /// When the denominator is zero.
    pub fn ratio(numerator: i64, denominator: i64) -> Expr {
        Node::Const(Constant::Rational(Rational::from((numerator, denominator)))).into()
    }

    /// A primitive applied to its arguments.
    ///
    /// # Panics
    /// When their number is not the primitive's arity.
    pub fn apply(prim: Prim, args: Vec<Expr>) -> Expr {
        assert_eq!(args.len(), prim.arity(), "{} takes {} arguments", prim.name(), prim.arity());
        Node::Apply(prim, args).into()
    }

    /// `if a cmp b then t else e`.
    pub fn select(
        cmp: Cmp,
        a: impl Into<Expr>,
        b: impl Into<Expr>,
        t: impl Into<Expr>,
        e: impl Into<Expr>,
    ) -> Expr {
        Node::Select(cmp, [a.into(), b.into(), t.into(), e.into()]).into()
    }
}

impl From<Node> for Expr {
    fn from(node: Node) -> Expr {
        Expr(Arc::new(node))
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Node::Const(Constant::Rational(Rational::from(value))).into()
    }
}

/// The constant is exactly the `f64`: `0.1` is not one tenth; [`Expr::ratio`]`(1, 10)` is.
impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        let constant = match Rational::from_f64(value) {
            Some(rational) => Constant::Rational(rational),
            None if value.is_nan() => Constant::Nan,
            None => Constant::Infinity { negative: value < 0.0 },
        };
        Node::Const(constant).into()
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident),*) => {$(
        impl<T: Into<Expr>> $Trait<T> for Expr {
            type Output = Expr;
            fn $method(self, other: T) -> Expr {
                Expr::apply(Prim::$Trait, vec![self, other.into()])
            }
        }
        impl<T: Into<Expr>> $Trait<T> for &Expr {
            type Output = Expr;
            fn $method(self, other: T) -> Expr {
                Expr::apply(Prim::$Trait, vec![self.clone(), other.into()])
            }
        }
        operators!($Trait $method for i32 f64);
    )*};
    ($Trait:ident $method:ident for $($T:ty)*) => {$(
        impl $Trait<Expr> for $T {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                Expr::apply(Prim::$Trait, vec![self.into(), other])
            }
        }
        impl $Trait<&Expr> for $T {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                Expr::apply(Prim::$Trait, vec![self.into(), other.clone()])
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::apply(Prim::Neg, vec![self])
    }
}

impl Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        -self.clone()
    }
}

macro_rules! functions {
    ($($name:ident $prim:ident ($($arg:ident),*);)*) => {$(
        #[doc = concat!("[`Prim::", stringify!($prim), "`] of formulas.")]
        pub fn $name($($arg: impl Into<Expr>),*) -> Expr {
            Expr::apply(Prim::$prim, vec![$($arg.into()),*])
        }
    )*};
}

functions! {
    rem Rem(x, y); min Min(x, y); max Max(x, y); pow Pow(x, y); atan2 Atan2(y, x); hypot Hypot(x, y); fma Fma(x, y, z);
    abs Abs(x); sign Sign(x); floor Floor(x); ceil Ceil(x); round_even RoundEven(x); trunc Trunc(x); square Square(x);
    sqrt Sqrt(x); cbrt Cbrt(x); exp Exp(x); expm1 Expm1(x); exp2 Exp2(x); log Log(x); log1p Log1p(x); log2 Log2(x);
    log10 Log10(x); sin Sin(x); cos Cos(x); tan Tan(x); asin Asin(x); acos Acos(x); atan Atan(x); sinh Sinh(x);
    cosh Cosh(x); tanh Tanh(x); asinh Asinh(x); acosh Acosh(x); atanh Atanh(x); erf Erf(x); erfc Erfc(x);
    erfcx Erfcx(x); exprel Exprel(x); exprel_slope ExprelSlope(x); exprel2 Exprel2(x);
    sinc Sinc(x); stumpff3 Stumpff3(x); stumpff5 Stumpff5(x);
    lgamma Lgamma(x); stirling_error StirlingError(x); digamma Digamma(x); trigamma Trigamma(x); tetragamma Tetragamma(x);
}

/// Stumpff's `c₂(x²) = (1 - cos x) / x²`, and 1/2 at 0: by half the angle, where nothing cancels.
pub fn stumpff2(x: impl Into<Expr>) -> Expr {
    let root = sinc(x.into() / 2);
    &root * &root / 2
}

/// Stumpff's `c₄(x²) = (cos x - 1 + x²/2) / x⁴`, and 1/24 at 0: by half the angle, where nothing cancels.
pub fn stumpff4(x: impl Into<Expr>) -> Expr {
    let half = x.into() / 2;
    stumpff3(&half) * (1 + sinc(&half)) / 8
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, Tightness::Loose, f)
    }
}

/// How tightly a place in a formula binds, so that parentheses stand only where they are needed.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Tightness {
    Loose,
    Sum,
    Product,
    Factor,
}

fn show(expr: &Expr, place: Tightness, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    use Tightness::*;
    let infix =
        |own: Tightness, right: Tightness, symbol: &str, args: &[Expr], f: &mut fmt::Formatter<'_>| {
            let parenthesised = own < place;
            f.write_str(if parenthesised { "(" } else { "" })?;
            show(&args[0], own, f)?;
            write!(f, " {symbol} ")?;
            show(&args[1], right, f)?;
            f.write_str(if parenthesised { ")" } else { "" })
        };
    match &*expr.0 {
        Node::Var(i) => letter(f, *i, "xyz"),
        Node::Param(i) => letter(f, *i, "abc"),
        Node::Const(Constant::Pi) => f.write_str("pi"),
        Node::Const(Constant::E) => f.write_str("e"),
        Node::Const(Constant::Nan) => f.write_str("nan"),
        Node::Const(Constant::Infinity { negative }) => f.write_str(if *negative { "-inf" } else { "inf" }),
        Node::Const(Constant::Rational(value)) => {
            let compound = !value.is_integer() || value.is_negative();
            if compound && place > Sum { write!(f, "({value})") } else { write!(f, "{value}") }
        }
        Node::Apply(Prim::Add, args) => infix(Sum, Sum, "+", args, f),
        Node::Apply(Prim::Sub, args) => infix(Sum, Product, "-", args, f),
        Node::Apply(Prim::Mul, args) => infix(Product, Product, "*", args, f),
        Node::Apply(Prim::Div, args) => infix(Product, Factor, "/", args, f),
        Node::Apply(Prim::Neg, args) => {
            f.write_str(if place > Sum { "(-" } else { "-" })?;
            show(&args[0], Factor, f)?;
            f.write_str(if place > Sum { ")" } else { "" })
        }
        Node::Apply(prim, args) => {
            write!(f, "{}(", prim.name())?;
            for (i, arg) in args.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                show(arg, Loose, f)?;
            }
            f.write_str(")")
        }
        Node::Select(cmp, [a, b, t, e]) => {
            f.write_str(if place > Loose { "(if " } else { "if " })?;
            show(a, Sum, f)?;
            write!(f, " {} ", cmp.symbol())?;
            show(b, Sum, f)?;
            f.write_str(" then ")?;
            show(t, Sum, f)?;
            f.write_str(" else ")?;
            show(e, Loose, f)?;
            f.write_str(if place > Loose { ")" } else { "" })
        }
    }
}

fn letter(f: &mut fmt::Formatter<'_>, i: usize, letters: &str) -> fmt::Result {
    match letters.get(i..=i) {
        Some(letter) => f.write_str(letter),
        None => write!(f, "{}{i}", &letters[..1]),
    }
}
