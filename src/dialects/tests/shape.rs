//! Reshape and kin; slices, padding, joining.

use crate::hooks::*;
use ngc_dialects::ng::concat::*;
use ngc_dialects::ng::shape::*;
use ngc_dialects::ng::slice::*;
use ngc_ir::Attr;
use ngc_ir::op_def::Fold;
use ngc_ir::{AttrDict, Signature};

#[test]
fn reshape() {
    let to = |shape: &[i64]| [("shape", ints(shape))];
    infers(&RESHAPE, &["2x6xf32"], &to(&[3, 4]), "tensor<3x4xf32>");
    infers(&RESHAPE, &["2x6xf16"], &to(&[-1]), "tensor<12xf16>");
    infers(&RESHAPE, &["?x64xf32"], &to(&[-1, 4, 16]), "tensor<?x4x16xf32>");
    infers(&RESHAPE, &["f32"], &to(&[1, 1]), "tensor<1x1xf32>");
    infers(&RESHAPE, &["f32"], &to(&[]), "f32");
    infers(&RESHAPE, &["1xf32"], &to(&[]), "tensor<f32>");
    infers(&RESHAPE, &["0x3xf32"], &to(&[0, 7]), "tensor<0x7xf32>");
    infers(&RESHAPE, &["0x3xf32"], &to(&[-1, 3]), "tensor<0x3xf32>");
    let copying = |shape: &[i64]| [("shape", ints(shape)), ("copy_zeros", Attr::Bool(true))];
    infers(&RESHAPE, &["?x?x64xf32"], &copying(&[0, 0, 4, 16]), "tensor<?x?x4x16xf32>");
    infers(&RESHAPE, &["?x3x64xf32"], &copying(&[0, -1, 16]), "tensor<?x12x16xf32>");
    infers(&RESHAPE, &["?x?xf32"], &copying(&[-1, 0]), "tensor<?x?xf32>");

    refuses(
        &RESHAPE,
        &["2x3xf32"],
        &to(&[4]),
        "cannot reshape tensor<2x3xf32> (6 elements) to [4] (4 elements)",
    );
    refuses(&RESHAPE, &["2x3xf32"], &to(&[-1, 4]), "(6 elements) to [-1, 4] (a multiple of 4 elements)");
    refuses(&RESHAPE, &["?x64xf32"], &to(&[4, 100]), "a multiple of 64 elements");
    refuses(&RESHAPE, &["2x3xf32"], &to(&[-1, -1]), "more than one -1");
    refuses(&RESHAPE, &["2x3xf32"], &to(&[-2, 3]), "extent -2 is negative");
    refuses(&RESHAPE, &["0x3xf32"], &to(&[-1, 0]), "cannot reshape");
    refuses(&RESHAPE, &["2xf32"], &copying(&[2, 0]), "copies dimension 1, which tensor<2xf32> does not have");
    refuses(&RESHAPE, &["?xf32"], &to(&[1 << 40, 1 << 40]), "has too many elements");
    refuses(&RESHAPE, &["2xf32"], &[], "requires attribute 'shape'");

    gives(&RESHAPE, &[&counting(&[2, 2])], &to(&[4, 1]), &[0.0, 1.0, 2.0, 3.0]);
    assert!(folds_away(&RESHAPE, &["?x4xf32"], &to(&[-1, 4])));
    assert!(!folds_away(&RESHAPE, &["?x4xf32"], &to(&[-1, 2])));
}

#[test]
fn transpose() {
    let by = |p: &[i64]| [("permutation", ints(p))];
    infers(&TRANSPOSE, &["2x?x4xf32"], &by(&[1, 2, 0]), "tensor<?x4x2xf32>");
    infers(&TRANSPOSE, &["f32"], &by(&[]), "f32");
    for wrong in [&[0, 0][..], &[0], &[0, 2], &[0, -1]] {
        refuses(&TRANSPOSE, &["2x3xf32"], &by(wrong), "does not permute the 2 dimensions of tensor<2x3xf32>");
    }
    gives(&TRANSPOSE, &[&counting(&[2, 3])], &by(&[1, 0]), &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    gives(&TRANSPOSE, &[&counting(&[0, 3])], &by(&[1, 0]), &[]);
    assert!(folds_away(&TRANSPOSE, &["?x?xf32"], &by(&[0, 1])));
    assert!(!folds_away(&TRANSPOSE, &["?x?xf32"], &by(&[1, 0])));
}

#[test]
fn broadcast_to() {
    let to = |shape: &[i64]| [("shape", ints(shape))];
    infers(&BROADCAST_TO, &["1x3xf32"], &to(&[4, 2, -1]), "tensor<4x2x3xf32>");
    infers(&BROADCAST_TO, &["?xf32"], &to(&[2, -1]), "tensor<2x?xf32>");
    infers(&BROADCAST_TO, &["?xf32"], &to(&[5]), "tensor<5xf32>");
    infers(&BROADCAST_TO, &["f32"], &to(&[0]), "tensor<0xf32>");
    refuses(
        &BROADCAST_TO,
        &["2x3xf32"],
        &to(&[2, 4]),
        "tensor<2x3xf32> to [2, 4]: dimension 1 is 3 against 4",
    );
    refuses(&BROADCAST_TO, &["3xf32"], &to(&[3, 1]), "dimension 1 is 3 against 1");
    refuses(&BROADCAST_TO, &["3xf32"], &to(&[-1, 3]), "dimension 0 is new");
    refuses(&BROADCAST_TO, &["2x3xf32"], &to(&[3]), "the operand has 2 dimensions, the result 1");
    refuses(&BROADCAST_TO, &["1xf32"], &to(&[-7]), "extent -7 is negative");
    gives(&BROADCAST_TO, &[&counting(&[2, 1])], &to(&[2, 2, 2]), &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    fails(&BROADCAST_TO, &[&counting(&[1])], &to(&[1 << 50]), "does not fit in memory");
    assert!(folds_away(&BROADCAST_TO, &["?x2xf32"], &to(&[-1, 2])));
}

#[test]
fn squeeze_unsqueeze_flatten() {
    let at = |axes: &[i64]| [("axes", ints(axes))];
    infers(&SQUEEZE, &["1x3x?xf32"], &at(&[0, -1]), "tensor<3xf32>");
    infers(&SQUEEZE, &["1xf32"], &at(&[0]), "tensor<f32>");
    refuses(
        &SQUEEZE,
        &["1x3xf32"],
        &at(&[1]),
        "cannot squeeze dimension 1 of tensor<1x3xf32>: its extent is 3, not 1",
    );
    refuses(&SQUEEZE, &["1x3xf32"], &at(&[0, -2]), "axis 0 appears twice");
    refuses(&SQUEEZE, &["1xf32"], &at(&[1]), "axis 1 is out of range for rank 1");
    infers(&UNSQUEEZE, &["3x?xf32"], &at(&[-1, 0]), "tensor<1x3x?x1xf32>");
    infers(&UNSQUEEZE, &["f32"], &at(&[0]), "tensor<1xf32>");
    refuses(&UNSQUEEZE, &["3xf32"], &at(&[3]), "axis 3 is out of range for rank 2");
    gives(&UNSQUEEZE, &[&counting(&[2])], &at(&[1]), &[0.0, 1.0]);
    gives(&SQUEEZE, &[&counting(&[1, 2])], &at(&[0]), &[0.0, 1.0]);
    assert!(folds_away(&SQUEEZE, &["?xf32"], &at(&[])));
    assert!(!folds_away(&SQUEEZE, &["1x1xf32"], &at(&[0])));

    let axis = |axis: i64| [("axis", Attr::int(axis))];
    infers(&FLATTEN, &["2x3x4xf32"], &[], "tensor<2x12xf32>");
    infers(&FLATTEN, &["2x3x4xf32"], &axis(0), "tensor<1x24xf32>");
    infers(&FLATTEN, &["2x3x4xf32"], &axis(3), "tensor<24x1xf32>");
    infers(&FLATTEN, &["?x3x4xf32"], &axis(-2), "tensor<?x12xf32>");
    infers(&FLATTEN, &["f32"], &axis(0), "tensor<1x1xf32>");
    refuses(&FLATTEN, &["2xf32"], &axis(2), "axis 2 is out of range for rank 1");
    assert!(folds_away(&FLATTEN, &["?x3xf32"], &axis(1)));
}

#[test]
fn shape_of() {
    infers(&SHAPE_OF, &["?x3xf32"], &[], "tensor<2xi64>");
    infers(&SHAPE_OF, &["f32"], &[], "tensor<0xi64>");
    gives(&SHAPE_OF, &[&counting(&[2, 3])], &[], &[2.0, 3.0]);
    let fold = |text: &str| {
        let s = Signature { def: &SHAPE_OF, operands: &[ty(text)], attrs: &AttrDict::EMPTY };
        SHAPE_OF.fold.and_then(|fold| fold(&s, &[None]))
    };
    assert!(fold("?x3xf32").is_none());
    let Some(Fold::Constant(value)) = fold("2x3xf32") else { panic!("a static shape is a constant") };
    let tensor = ngc_dialects::ng::constant::attr_to_tensor(&value).expect("a constant");
    assert_eq!(tensor, longs(&[2], &[2, 3]));
}

#[test]
fn concat_and_split() {
    let axis = |axis: i64| [("axis", Attr::int(axis))];
    infers(&CONCAT, &["2x3xf32", "2x?xf32"], &axis(1), "tensor<2x?xf32>");
    infers(&CONCAT, &["?x3xf32", "2x1xf32"], &axis(-1), "tensor<2x4xf32>");
    refuses(
        &CONCAT,
        &["2x3xf32", "4x3xf32"],
        &axis(1),
        "extents of dimension 0 of operand #0, tensor<2x3xf32>, and operand #1, tensor<4x3xf32>, must be equal, but are 2 and 4",
    );
    refuses(&CONCAT, &["2xf32", "2xf16"], &axis(0), "one element type");
    refuses(&CONCAT, &["2xf32", "2x1xf32"], &axis(0), "one rank");
    refuses(&CONCAT, &["f32", "f32"], &axis(0), "axis 0 is out of range for rank 0");
    refuses(&CONCAT, &[], &axis(0), "missing its operand 'inputs'");
    refuses(&CONCAT, &["4611686018427387904xi8", "4611686018427387904xi8"], &axis(0), "too many elements");
    let (a, b) = (counting(&[2, 2]), floats(&[2, 1], &[7.0, 8.0]));
    gives(&CONCAT, &[&a, &b, &a], &axis(1), &[0.0, 1.0, 7.0, 0.0, 1.0, 2.0, 3.0, 8.0, 2.0, 3.0]);
    gives(&CONCAT, &[&counting(&[0, 2]), &a], &axis(0), &[0.0, 1.0, 2.0, 3.0]);
    assert!(folds_away(&CONCAT, &["?xf32"], &axis(0)));

    let parts = |axis: i64, sizes: &[i64]| [("axis", Attr::int(axis)), ("sizes", ints(sizes))];
    infers(&SPLIT, &["2x?xf32"], &parts(1, &[1, 0, 2]), "tensor<2x1xf32>, tensor<2x0xf32>, tensor<2x2xf32>");
    refuses(
        &SPLIT,
        &["2x3xf32"],
        &parts(1, &[1, 1]),
        "[1, 1] add up to 2, but dimension 1 of tensor<2x3xf32> is 3",
    );
    refuses(&SPLIT, &["3xf32"], &parts(0, &[4, -1]), "extent -1 is negative");
    refuses(&SPLIT, &["3xf32"], &parts(0, &[]), "at least one part");
    let halves = eval(&SPLIT, &[&counting(&[2, 3])], &parts(-1, &[1, 2])).expect("splits");
    assert_eq!(halves, [floats(&[2, 1], &[0.0, 3.0]), floats(&[2, 2], &[1.0, 2.0, 4.0, 5.0])]);
    assert!(folds_away(&SPLIT, &["3xf32"], &parts(0, &[3])));
}

#[test]
fn slice() {
    let along = |start: i64, stop: i64, step: i64| {
        [
            ("axes", ints(&[-1])),
            ("starts", ints(&[start])),
            ("stops", ints(&[stop])),
            ("steps", ints(&[step])),
        ]
    };
    let x = counting(&[5]);
    let (least, greatest) = (i64::MIN, i64::MAX);
    // NumPy: arange(5)[start:stop:step].
    for (start, stop, step, expected) in [
        (1, 4, 1, &[1.0, 2.0, 3.0][..]),
        (-2, greatest, 1, &[3.0, 4.0]),
        (0, -1, 2, &[0.0, 2.0]),
        (3, 1, 1, &[]),
        (9, 10, 1, &[]),
        (-9, 2, 1, &[0.0, 1.0]),
        (greatest, least, -1, &[4.0, 3.0, 2.0, 1.0, 0.0]),
        (-1, 0, -2, &[4.0, 2.0]),
        (4, -1, -1, &[]),
        (3, -6, -3, &[3.0, 0.0]),
        (0, greatest, greatest, &[0.0]),
        (greatest, least, least, &[4.0]),
    ] {
        gives(&SLICE, &[&x], &along(start, stop, step), expected);
    }
    gives(&SLICE, &[&counting(&[2, 3])], &along(2, 0, -1), &[2.0, 1.0, 5.0, 4.0]);
    gives(&SLICE, &[&counting(&[0])], &along(0, 5, 1), &[]);
    infers(&SLICE, &["?x5xf32"], &along(1, 3, 1), "tensor<?x2xf32>");
    infers(&SLICE, &["5x?xf32"], &along(1, 3, 1), "tensor<5x?xf32>");
    refuses(&SLICE, &["5xf32"], &along(0, 5, 0), "must not be 0");
    refuses(&SLICE, &["f32"], &along(0, 5, 1), "axis -1 is out of range for rank 0");
    refuses(
        &SLICE,
        &["5xf32"],
        &[("starts", ints(&[0, 0])), ("stops", ints(&[1]))],
        "equally long, but have 2, 1, 2 and 2",
    );
    assert!(folds_away(&SLICE, &["5xf32"], &along(-5, 7, 1)));
    assert!(folds_away(&SLICE, &["?xf32"], &along(0, greatest, 1)));
    assert!(!folds_away(&SLICE, &["?xf32"], &along(0, 5, 1)));
    assert!(!folds_away(&SLICE, &["5xf32"], &along(greatest, least, -1)));
}

#[test]
fn pad() {
    let by = |low: i64, high: i64, mode: &str| {
        [("low", ints(&[low])), ("high", ints(&[high])), ("mode", Attr::from(mode))]
    };
    let x = counting(&[3]);
    gives(&PAD, &[&x], &by(1, 2, "constant"), &[0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    gives(&PAD, &[&x], &by(2, 1, "edge"), &[0.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    gives(&PAD, &[&x], &by(3, 3, "reflect"), &[1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0]);
    gives(&PAD, &[&x], &by(4, 1, "wrap"), &[2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0]);
    gives(&PAD, &[&x], &by(-1, 1, "constant"), &[1.0, 2.0, 0.0]);
    gives(&PAD, &[&x], &by(-2, -1, "edge"), &[]);
    gives(&PAD, &[&counting(&[1])], &by(1, 1, "reflect"), &[0.0, 0.0, 0.0]);
    let low_high = [("low", ints(&[1, 0])), ("high", ints(&[0, 1]))];
    let with = |value: Attr| [low_high[0].clone(), low_high[1].clone(), ("value", value)];
    let m = counting(&[1, 2]);
    let inf = f64::NEG_INFINITY;
    gives(&PAD, &[&m], &with(Attr::float(inf)), &[inf, inf, inf, 0.0, 1.0, inf]);
    gives(&PAD, &[&longs(&[1, 1], &[5])], &with(Attr::int(-3)), &[-3.0, -3.0, 5.0, -3.0]);
    infers(&PAD, &["?x3xf32"], &low_high, "tensor<?x4xf32>");
    refuses(&PAD, &["1x1xi8"], &with(Attr::int(128)), "attribute 'value': 128 is no value of i8");
    refuses(&PAD, &["1x1xi8"], &with(Attr::float(0.5)), "0.5 is no value of i8");
    refuses(
        &PAD,
        &["3xf32"],
        &by(-2, -2, "constant"),
        "by -2 before and -2 after dimension 0 of tensor<3xf32> leaves a negative extent",
    );
    refuses(&PAD, &["0xf32"], &by(1, 0, "wrap"), "has no elements to repeat");
    refuses(&PAD, &["3xf32"], &by(i64::MAX, i64::MAX, "edge"), "too large");
    refuses(&PAD, &["3xf32"], &low_high, "need 1 entries for tensor<3xf32>, but have 2 and 2");
    refuses(&PAD, &["3xf32"], &by(0, 0, "mirror"), "must be one of");
    assert!(folds_away(&PAD, &["?xf32"], &by(0, 0, "edge")));
}

#[test]
fn reverse_tile_triangles() {
    let axes = |axes: &[i64]| [("axes", ints(axes))];
    gives(&REVERSE, &[&counting(&[2, 2])], &axes(&[-1]), &[1.0, 0.0, 3.0, 2.0]);
    gives(&REVERSE, &[&counting(&[2, 2])], &axes(&[0, 1]), &[3.0, 2.0, 1.0, 0.0]);
    refuses(&REVERSE, &["2xf32"], &axes(&[1]), "out of range");
    assert!(folds_away(&REVERSE, &["1x?xf32"], &axes(&[0])));
    assert!(!folds_away(&REVERSE, &["1x?xf32"], &axes(&[1])));

    let repeats = |n: &[i64]| [("repeats", ints(n))];
    gives(&TILE, &[&counting(&[1, 2])], &repeats(&[2, 2]), &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    gives(&TILE, &[&counting(&[2])], &repeats(&[0]), &[]);
    infers(&TILE, &["?x3xf32"], &repeats(&[2, 2]), "tensor<?x6xf32>");
    refuses(&TILE, &["3xf32"], &repeats(&[-1]), "must not be negative");
    refuses(&TILE, &["3xf32"], &repeats(&[i64::MAX]), "too large");
    refuses(&TILE, &["3xf32"], &repeats(&[1, 1]), "repeats needs 1 entries for tensor<3xf32>, but has 2");
    assert!(folds_away(&TILE, &["?xf32"], &repeats(&[1])));
    assert!(!folds_away(&TILE, &["?xf32"], &repeats(&[2])));

    let k = |k: i64| [("k", Attr::int(k))];
    let ones = floats(&[2, 3], &[1.0; 6]);
    gives(&TRIL, &[&ones], &[], &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    gives(&TRIL, &[&ones], &k(1), &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    gives(&TRIU, &[&ones], &k(1), &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    gives(&TRIU, &[&ones], &k(i64::MIN), &[1.0; 6]);
    gives(&TRIL, &[&counting(&[3, 0])], &[], &[]);
    // Masking replaces infinities and NaN, which a multiplication by a mask would not.
    let scores = floats(&[1, 2], &[f64::INFINITY, f64::NAN]);
    gives(&TRIL, &[&scores], &k(-1), &[0.0, 0.0]);
    refuses(&TRIU, &["3xf32"], &[], "needs at least 2 dimensions, but the operand is tensor<3xf32>");
}
