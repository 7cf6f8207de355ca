//! The primitives as scalar functions, with the processor's evaluation where that is correctly rounded.

use crate::expr::{Expr, Prim};
use crate::scalar::Native::{Always, Binary64, None as Formula};
use crate::scalar::{ScalarFn, Special};

macro_rules! primitives {
    ($($NAME:ident $prim:ident $native:expr;)*) => {
        $(
            #[doc = concat!("[`Prim::", stringify!($prim), "`]")]
            pub static $NAME: ScalarFn = ScalarFn::new(Prim::$prim.name(), Prim::$prim.arity(), 0, |x, _| {
                Expr::apply(Prim::$prim, x.to_vec())
            })
            .native($native)
            .specials(ieee_specials(Prim::$prim));
        )*

        /// The scalar function of a primitive.
        pub fn primitive(prim: Prim) -> &'static ScalarFn {
            match prim { $(Prim::$prim => &$NAME,)* }
        }
    };
}

primitives! {
    ADD Add Always(|x| x[0] + x[1]);
    SUB Sub Always(|x| x[0] - x[1]);
    MUL Mul Always(|x| x[0] * x[1]);
    DIV Div Always(|x| x[0] / x[1]);
    REM Rem Always(|x| x[0] % x[1]);
    MIN Min Always(|x| minimum(x[0], x[1]));
    MAX Max Always(|x| maximum(x[0], x[1]));
    POW Pow Formula;
    ATAN2 Atan2 Formula;
    HYPOT Hypot Formula;
    FMA Fma Binary64(|x| x[0].mul_add(x[1], x[2]));
    NEG Neg Always(|x| -x[0]);
    ABS Abs Always(|x| x[0].abs());
    SIGN Sign Always(|x| if x[0] == 0.0 { x[0] } else { 1f64.copysign(x[0]) });
    FLOOR Floor Always(|x| x[0].floor());
    CEIL Ceil Always(|x| x[0].ceil());
    ROUND_EVEN RoundEven Always(|x| x[0].round_ties_even());
    TRUNC Trunc Always(|x| x[0].trunc());
    SQUARE Square Always(|x| x[0] * x[0]);
    SQRT Sqrt Always(|x| x[0].sqrt());
    CBRT Cbrt Formula;
    EXP Exp Formula;
    EXPM1 Expm1 Formula;
    EXP2 Exp2 Formula;
    LOG Log Formula;
    LOG1P Log1p Formula;
    LOG2 Log2 Formula;
    LOG10 Log10 Formula;
    SIN Sin Formula;
    COS Cos Formula;
    TAN Tan Formula;
    ASIN Asin Formula;
    ACOS Acos Formula;
    ATAN Atan Formula;
    SINH Sinh Formula;
    COSH Cosh Formula;
    TANH Tanh Formula;
    ASINH Asinh Formula;
    ACOSH Acosh Formula;
    ATANH Atanh Formula;
    ERF Erf Formula;
    ERFC Erfc Formula;
    ERFCX Erfcx Formula;
    EXPREL Exprel Formula;
    EXPREL_SLOPE ExprelSlope Formula;
    EXPREL2 Exprel2 Formula;
    SINC Sinc Formula;
    STUMPFF3 Stumpff3 Formula;
    STUMPFF5 Stumpff5 Formula;
    LGAMMA Lgamma Formula;
    STIRLING_ERROR StirlingError Formula;
    DIGAMMA Digamma Formula;
    TRIGAMMA Trigamma Formula;
    TETRAGAMMA Tetragamma Formula;
}

/// IEEE 754-2019 `minimum`: NaN if either is, and -0 below +0.
pub fn minimum(x: f64, y: f64) -> f64 {
    -maximum(-x, -y)
}

/// IEEE 754-2019 `maximum`: NaN if either is, and +0 above -0.
pub fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > y || (x == y && y.is_sign_negative()) {
        x
    } else {
        y
    }
}

/// Where IEEE 754-2019 (9.2.1) defines a value in spite of a NaN.
pub const fn ieee_specials(prim: Prim) -> &'static [Special] {
    const INF: f64 = f64::INFINITY;
    const POWERS: &[Special] = &[Special::at(Some(1.0), None, 1.0), Special::at(None, Some(0.0), 1.0)];
    const INFINITE_LEG: &[Special] = &[
        Special::at(Some(INF), None, INF),
        Special::at(Some(-INF), None, INF),
        Special::at(None, Some(INF), INF),
        Special::at(None, Some(-INF), INF),
    ];
    match prim {
        Prim::Pow => POWERS,
        Prim::Hypot => INFINITE_LEG,
        _ => &[],
    }
}
