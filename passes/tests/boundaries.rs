//! Boundaries at which a bound once failed, found by random graphs.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_dialects::transfer::Flow;
use ngc_ir::{Attr, AttrDict, Body, Builder, Dim, Ident, Loc, Type};
use ngc_numerics::{DType, Enclosure, Format, Range, Tensor};

/// The range and the error bound of a result: ops one after the other, the first on arguments of the given types and
/// ranges, each further one on the result before.
fn bounds(ops: &[(&str, AttrDict)], arguments: &[(Type, f64, f64)]) -> (Range, f64) {
    let context = ngc_dialects::context();
    let (mut body, mut flow) = (Body::new(), Flow::default());
    let root = body.root();
    let block = body.add_block(root);
    let mut operands = Vec::new();
    for &(ty, lo, hi) in arguments {
        let v = body.add_argument(block, ty, Loc::Unknown);
        flow.set(v, Range::both(Enclosure::new(lo, hi)), 0.0);
        operands.push(v);
    }
    for (name, attrs) in ops {
        let mut b = Builder::at_end(&context, &mut body, block, Loc::Unknown);
        let op = b.op(name, &operands, attrs.clone()).expect("a valid op");
        flow.step(&body, op);
        operands = vec![body.result(op, 0)];
    }
    (flow.range(operands[0]), flow.error(operands[0]))
}

fn tensor<const N: usize>(shape: [usize; N], format: Format) -> Type {
    Type::tensor(shape.map(Dim::Static), DType::Float(format))
}

fn attrs<const N: usize>(entries: [(&str, Attr); N]) -> AttrDict {
    AttrDict::new(entries.map(|(name, value)| (Ident::from(name), value)))
}

fn holds(range: &Range, x: f64) -> bool {
    [range.exact, range.computed].iter().all(|r| r.lo <= x && x <= r.hi)
}

/// A sum of nothing is 0, whatever was found of elements that there are none of.
#[test]
fn sums_of_no_elements() {
    let empty = tensor([0], Format::F32);
    let (range, _) =
        bounds(&[("ng.acosh", AttrDict::EMPTY), ("ng.reduce_sum", AttrDict::EMPTY)], &[(empty, -3.0, -1.0)]);
    assert!(holds(&range, 0.0), "{range:?}");
    let (a, b) = (tensor([2, 0], Format::F32), tensor([0, 1], Format::F32));
    let (range, _) =
        bounds(&[("ng.matmul", AttrDict::EMPTY)], &[(a, f64::INFINITY, f64::INFINITY), (b, 0.0, 0.0)]);
    assert!(holds(&range, 0.0), "{range:?}");
}

/// 2^63 - 1 is no f64.
#[test]
fn integers_of_64_bits() {
    let to = attrs([("to", Attr::Type(Type::int(64)))]);
    let (range, _) = bounds(&[("ng.convert", to)], &[(Type::float(Format::F64), 1e300, 1e308)]);
    assert!(range.exact.lo as i128 <= i128::from(i64::MAX), "{range:?}");
    let odd = (1i64 << 61) + 1;
    let value = attrs([("value", tensor_to_attr(&Tensor::int_scalar(DType::Int(64), odd)))]);
    let (range, _) = bounds(&[("ng.constant", value)], &[]);
    assert!(
        range.exact.lo as i128 <= i128::from(odd) && range.exact.hi as i128 >= i128::from(odd),
        "{range:?}"
    );
}

/// Zero times a weight that is NaN in the format of accumulation is NaN.
#[test]
fn factors_that_overflow_beside_zeros() {
    let narrow = attrs([("accumulate", Attr::Type(Type::float(Format::F8E4M3FN)))]);
    let (x, w) = (tensor([1, 2], Format::F16), tensor([2, 1], Format::F16));
    let (_, error) = bounds(&[("ng.matmul", narrow.clone())], &[(x, 0.0, 0.0), (w, -65504.0, -65504.0)]);
    assert_eq!(error, f64::INFINITY);
    let (_, error) = bounds(&[("ng.matmul", narrow)], &[(x, 0.0, 0.0), (w, -448.0, 448.0)]);
    assert_eq!(error, 0.0);
}

/// A range knows no signs of zeros, and a pole has both infinities.
#[test]
fn poles_at_zeros_of_either_sign() {
    for op in ["ng.rsqrt", "ng.reciprocal"] {
        let (range, _) = bounds(&[(op, AttrDict::EMPTY)], &[(Type::float(Format::F32), 0.0, 0.0)]);
        assert!(holds(&range, f64::INFINITY) && holds(&range, f64::NEG_INFINITY), "{op}: {range:?}");
    }
}

/// A row that is masked throughout gives -inf where it is not NaN.
#[test]
fn rows_of_infinities() {
    let zero = attrs([("masked_rows", Attr::from("zero"))]);
    let masked = (tensor([3], Format::F32), f64::NEG_INFINITY, f64::NEG_INFINITY);
    let (range, _) = bounds(&[("ng.log_softmax", zero)], &[masked]);
    assert!(holds(&range, f64::NEG_INFINITY), "{range:?}");
}

/// An exact zero that is computed as something else, added to what is exact.
#[test]
fn sums_with_a_zero_that_moves() {
    let ty = tensor([3], Format::F8E5M2);
    let arguments = [(ty, 1.5, 1.5), (ty, -1.0, 1.0), (ty, -1.0, 1.0)];
    let (_, error) = bounds(&[("ng.layer_norm", attrs([("epsilon", Attr::float(1e-3))]))], &arguments);
    // The mean of three times 1.5 is 1.25 in the format, so the quotient is about 1 where it is exactly 0.
    assert!(error >= 0.9, "{error}");
}

/// A quotient beyond the largest value that a small scale would take back.
#[test]
fn quotients_that_overflow_before_they_are_scaled() {
    let (x, c) = (tensor([2, 3], Format::F32), tensor([3], Format::F32));
    let max = Format::F32.max_finite();
    let tiny = (c, 0.0, 1e-40);
    let arguments = [(x, max / 2.0, max), tiny, (c, 0.0, 1.0), (c, 0.0, 0.0), (c, 0.25, 0.5)];
    let (range, error) = bounds(&[("ng.batch_norm", AttrDict::EMPTY)], &arguments);
    assert!(error == f64::INFINITY && range.computed.hi == f64::INFINITY, "{range:?} {error}");
}
