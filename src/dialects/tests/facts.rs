//! Facts of primitives and of ops: what they say holds of values, an undeclared op has none, and open ends are known.

use crate::common;

use crate::common::F64;
use ngc_dialects::facts::{self, Fact, Signs, Traced};
use ngc_ir::op_def::{Semantics, operand, result};
use ngc_ir::{AttrDict, OpDef, Signature, Type};
use ngc_numerics::primitives::primitive;
use ngc_numerics::{Enclosure, Prim};
use rug::Float;

const INF: f64 = f64::INFINITY;
const POINTS: [f64; 15] =
    [f64::NAN, -INF, -1e3, -2.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 2.5, 1e3, INF];

fn signs(x: f64) -> Signs {
    Signs::of(&Enclosure::point(x))
}

/// Where a primitive lies at a point, at 300 bits. What is infinite although its arguments are not, a logarithm at 0 and what goes
/// to +inf on both sides aside, is a pole and no value.
fn at(prim: Prim, x: &[f64]) -> Signs {
    let args: Vec<Float> = x.iter().map(|&x| Float::with_val(300, x)).collect();
    let value = primitive(prim).eval_real(&[], &args, 300);
    use Prim::{Atanh, Lgamma, Log, Log1p, Log2, Log10, StirlingError, Trigamma};
    let limits = [Log, Log2, Log10, Log1p, Atanh, Lgamma, Trigamma, StirlingError];
    let divisor = matches!(prim, Prim::Div | Prim::Rem) && x[1] == 0.0;
    let pole = value.is_infinite() && x.iter().all(|x| x.is_finite()) && !limits.contains(&prim);
    if pole || divisor || value.is_nan() {
        return Signs::UNDEFINED;
    }
    let sign = if value.is_zero() { 0.0 } else { f64::copysign(1.0, value.to_f64()) };
    signs(if value.is_infinite() { sign * INF } else { sign })
}

#[test]
fn every_primitive_lies_where_its_signs_say() {
    for &prim in Prim::ALL {
        let mut points: Vec<Vec<f64>> = vec![Vec::new()];
        for _ in 0..prim.arity() {
            let longer = |p: &Vec<f64>| POINTS.map(|x| [&p[..], &[x]].concat());
            points = points.iter().flat_map(longer).collect();
        }
        for x in points {
            let operands: Vec<Signs> = x.iter().map(|&x| signs(x)).collect();
            let said = facts::apply(prim, &operands);
            assert!(said.may_be(at(prim, &x)), "{}{x:?} is {:?}, not {said:?}", prim.name(), at(prim, &x));
            // The product with intervals says no less, and still what is true.
            let arguments: Vec<Traced> = x.iter().map(|&x| Traced::of(Fact::of_number(x))).collect();
            let said = facts::formula::apply(prim, &arguments).fact.signs;
            assert!(said.may_be(at(prim, &x)), "{}{x:?} is {:?}, not {said:?}", prim.name(), at(prim, &x));
        }
    }
}

/// Where an op lies at operands that lie in these places.
fn of(name: &str, operands: &[Signs]) -> Signs {
    let facts: Vec<Fact> = operands.iter().map(|&signs| Fact { signs, ..Fact::UNKNOWN }.reduced()).collect();
    let types = vec![Type::scalar(F64); operands.len()];
    let s = Signature { def: common::op(name), operands: &types, attrs: &AttrDict::EMPTY };
    facts::of_results(&s, &facts, &[Type::scalar(F64)])[0].fact.signs
}

#[test]
fn open_ends_are_known() {
    let (numbers, positive) = (Signs::NUMBERS, Signs::POSITIVE);
    for name in
        ["exp", "exp2", "sigmoid", "softplus", "cosh", "erfc", "erfcx", "exprel", "exprel2", "exprel_slope"]
    {
        assert_eq!(of(name, &[numbers]), positive, "{name}");
    }
    assert_eq!(of("log_sigmoid", &[numbers]), Signs::NEGATIVE);
    assert_eq!(of("stirling_error", &[positive]), positive);
    let nonzero = Signs::POSITIVE.or(Signs::NEGATIVE);
    for name in ["square", "abs"] {
        assert_eq!(of(name, &[nonzero]), positive, "{name}");
    }
    assert_eq!(of("mul", &[nonzero, nonzero]), nonzero);
    for name in ["add", "mul", "div", "max", "hypot", "logaddexp"] {
        let of = of(name, &[positive, positive]);
        assert!(of.within(if name == "logaddexp" { numbers } else { positive }), "{name} {of:?}");
    }
    // The exponential of -inf is 0, and its logarithm -inf again.
    assert_eq!(of("exp", &[numbers.or(Signs::MINUS_INF)]), positive.or(Signs::ZERO));
    assert_eq!(of("log", &[positive.or(Signs::ZERO)]), numbers.or(Signs::MINUS_INF));
}

/// Each infinity passes by itself.
#[test]
fn infinities_pass_one_by_one() {
    let (numbers, masked) = (Signs::NUMBERS, Signs::NUMBERS.or(Signs::MINUS_INF));
    assert_eq!(of("add", &[numbers, masked]), masked);
    assert_eq!(of("sub", &[numbers, masked]), numbers.or(Signs::PLUS_INF));
    assert_eq!(of("neg", &[masked]), numbers.or(Signs::PLUS_INF));
    assert_eq!(of("max", &[masked, numbers]), numbers);
    assert_eq!(of("mul", &[masked, Signs::POSITIVE]), masked);
    assert_eq!(of("div", &[masked, Signs::POSITIVE]), masked);
    // A quotient by 0 has no value; one of numbers is a number wherever it has one.
    assert_eq!(of("div", &[numbers, numbers]), Signs::REAL);
    assert!(of("div", &[Signs::REAL, Signs::REAL]).within(Signs::REAL));
}

#[test]
fn strictness_follows_the_formula() {
    let strict = |name: &str, x: &[Fact]| {
        let types = vec![Type::scalar(F64); x.len()];
        let s = Signature { def: common::op(name), operands: &types, attrs: &AttrDict::EMPTY };
        let found = facts::of_results(&s, x, &[Type::scalar(F64)])[0].strict;
        (0..x.len()).map(|i| found.has(i)).collect::<Vec<_>>()
    };
    let any = Fact::UNKNOWN;
    let number = Fact::of_number;
    assert_eq!(strict("add", &[any, any]), [true, true]);
    assert_eq!(strict("max", &[any, any]), [true, true]);
    // x^0 and 1^y are 1.
    assert_eq!(strict("pow", &[any, any]), [false, false]);
    assert_eq!(strict("pow", &[any, number(2.0)]), [true, false]);
    assert_eq!(strict("pow", &[number(3.0), number(2.0)]), [true, true]);
    assert_eq!(strict("pow", &[number(2.0), any]), [false, true]);
    // An infinite leg decides.
    assert_eq!(strict("hypot", &[any, number(2.0)]), [true, false]);
    assert_eq!(strict("hypot", &[number(1.0), number(2.0)]), [true, true]);
    // The slope of what is not negative does not matter, nor what is multiplied by 0.
    assert_eq!(strict("prelu", &[any, any]), [true, false]);
    assert_eq!(strict("prelu", &[number(-1.0), any]), [true, true]);
    assert_eq!(strict("xlogy", &[any, any]), [true, false]);
    assert_eq!(strict("logaddexp", &[any, any]), [true, true]);
}

#[test]
fn nothing_is_known_of_an_op_that_declares_nothing() {
    static MYSTERY: OpDef = OpDef {
        name: "test.mystery",
        operands: &[operand("x", ngc_ir::op_def::ValueKind::Float)],
        results: &[result("y", ngc_ir::op_def::ValueKind::Float)],
        infer: |s| Ok(s.operands.to_vec()),
        semantics: Semantics::Primitive(|_, _, x| Ok(vec![x[0].clone()])),
        ..OpDef::BASE
    };
    let types = [Type::scalar(F64)];
    let s = Signature { def: &MYSTERY, operands: &types, attrs: &AttrDict::EMPTY };
    let found = facts::of_results(&s, &[Fact::of_number(2.0)], &types)[0];
    assert_eq!(found.fact, Fact::UNKNOWN);
    assert!(!found.strict.has(0), "it may have a value where its operand has none");
    assert!(!found.fact.signs.within(Signs::REAL) && !found.fact.integer);
    let end = found.fact.range;
    assert!(end.lo == -INF && end.hi == INF && end.may_be_nan);
    for place in Signs::ANY.each() {
        assert!(found.fact.signs.may_be(place));
    }
}
