//! Gathers, scatters and one_hot.

use crate::hooks::*;
use ngc_dialects::ng::index::*;
use ngc_dialects::ng::scatter::*;
use ngc_ir::{Attr, Type};
use ngc_numerics::{DType, Format, Tensor};

fn axis(axis: i64) -> [(&'static str, Attr); 1] {
    [("axis", Attr::int(axis))]
}

#[test]
fn gather() {
    infers(&GATHER, &["10x4xf32", "2x?xi64"], &[], "tensor<2x?x4xf32>");
    infers(&GATHER, &["10x4xf32", "i32"], &axis(-1), "tensor<10xf32>");
    infers(&GATHER, &["10xf32", "i64"], &[], "tensor<f32>");
    refuses(&GATHER, &["f32", "i64"], &[], "axis 0 is out of range for rank 0");
    refuses(&GATHER, &["3xf32", "2xf32"], &[], "operand 'indices' must be an integer value");
    refuses(&GATHER, &["2x4294967296xi8", "4294967296xi64"], &[], "too many elements");
    let x = counting(&[2, 3]);
    gives(&GATHER, &[&x, &longs(&[2], &[1, -2])], &[], &[3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
    gives(&GATHER, &[&x, &longs(&[1, 2], &[-1, 0])], &axis(1), &[2.0, 0.0, 5.0, 3.0]);
    gives(&GATHER, &[&x, &longs(&[0], &[])], &[], &[]);
    for bad in [2, -3, i64::MIN, i64::MAX] {
        fails(&GATHER, &[&x, &longs(&[], &[bad])], &[], "is out of range for dimension 0 of shape [2, 3]");
    }
}

#[test]
fn gather_elements() {
    let x = counting(&[2, 3]);
    let i = longs(&[2, 2], &[0, -1, 1, 1]);
    gives(&GATHER_ELEMENTS, &[&x, &i], &axis(1), &[0.0, 2.0, 4.0, 4.0]);
    gives(&GATHER_ELEMENTS, &[&x, &longs(&[1, 3], &[1, 0, -1])], &axis(0), &[3.0, 1.0, 5.0]);
    fails(
        &GATHER_ELEMENTS,
        &[&x, &longs(&[1, 1], &[3])],
        &axis(1),
        "index 3 is out of range for dimension 1",
    );
    fails(&GATHER_ELEMENTS, &[&counting(&[2, 0]), &longs(&[1, 1], &[0])], &axis(1), "out of range");
    infers(&GATHER_ELEMENTS, &["2x?xf32", "2x7xi64"], &axis(1), "tensor<2x7xf32>");
    refuses(
        &GATHER_ELEMENTS,
        &["2x3xf32", "3x1xi64"],
        &axis(1),
        "dimension 0 of indices tensor<3x1xi64> is 3, which exceeds 2",
    );
    refuses(&GATHER_ELEMENTS, &["2x3xf32", "3xi64"], &axis(0), "one rank");
}

#[test]
fn gather_nd() {
    let batch = |n: i64| [("batch_dims", Attr::int(n))];
    let x = counting(&[2, 2, 2]);
    gives(&GATHER_ND, &[&x, &longs(&[2, 2], &[0, 1, 1, 0])], &[], &[2.0, 3.0, 4.0, 5.0]);
    gives(&GATHER_ND, &[&x, &longs(&[1, 3], &[-1, -1, 0])], &[], &[6.0]);
    gives(&GATHER_ND, &[&x, &longs(&[2, 1], &[1, 0])], &batch(1), &[2.0, 3.0, 4.0, 5.0]);
    fails(
        &GATHER_ND,
        &[&x, &longs(&[1], &[2])],
        &[],
        "index 2 is out of range for dimension 0 of shape [2, 2, 2]",
    );
    infers(&GATHER_ND, &["?x5x6xf32", "?x7x1xi64"], &batch(1), "tensor<?x7x6xf32>");
    infers(&GATHER_ND, &["4xf32", "1xi64"], &[], "tensor<f32>");
    refuses(&GATHER_ND, &["4x5xf32", "7x3xi64"], &[], "index vectors have 3 entries, but must have 1 to 2");
    refuses(&GATHER_ND, &["4x5xf32", "7x?xi64"], &[], "the last dimension of indices must be known");
    refuses(&GATHER_ND, &["4x5xf32", "3x1xi64"], &batch(1), "batch dimension 0");
    refuses(&GATHER_ND, &["4x5xf32", "3x1xi64"], &batch(2), "batch_dims 2 must be");
    refuses(&GATHER_ND, &["4x5xf32", "i64"], &[], "at least one dimension");
}

#[test]
fn scatter_elements() {
    let with = |axis: i64, reduction: &str| [("axis", Attr::int(axis)), ("reduction", Attr::from(reduction))];
    let x = counting(&[2, 3]);
    let i = longs(&[2, 3], &[1, 1, -1, 0, 0, 0]);
    let u = floats(&[2, 3], &[10.0, 20.0, 30.0, 2.0, 3.0, 4.0]);
    // Rows [0, 1, 2] and [3, 4, 5].
    gives(&SCATTER_ELEMENTS, &[&x, &i, &u], &with(1, "none"), &[0.0, 20.0, 30.0, 4.0, 4.0, 5.0]);
    gives(&SCATTER_ELEMENTS, &[&x, &i, &u], &with(1, "add"), &[0.0, 31.0, 32.0, 12.0, 4.0, 5.0]);
    gives(&SCATTER_ELEMENTS, &[&x, &i, &u], &with(1, "mul"), &[0.0, 200.0, 60.0, 72.0, 4.0, 5.0]);
    gives(&SCATTER_ELEMENTS, &[&x, &i, &u], &with(1, "max"), &[0.0, 20.0, 30.0, 4.0, 4.0, 5.0]);
    gives(&SCATTER_ELEMENTS, &[&x, &i, &u], &with(1, "min"), &[0.0, 1.0, 2.0, 2.0, 4.0, 5.0]);
    gives(
        &SCATTER_ELEMENTS,
        &[&x, &longs(&[1, 1], &[1]), &floats(&[1, 1], &[9.0])],
        &with(0, "none"),
        &[0.0, 1.0, 2.0, 9.0, 4.0, 5.0],
    );
    gives(
        &SCATTER_ELEMENTS,
        &[&x, &longs(&[0, 3], &[]), &counting(&[0, 3])],
        &with(0, "add"),
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
    fails(
        &SCATTER_ELEMENTS,
        &[&x, &longs(&[1, 1], &[3]), &floats(&[1, 1], &[9.0])],
        &with(1, "add"),
        "index 3 is out of range",
    );

    infers(&SCATTER_ELEMENTS, &["?x3xf32", "2x3xi64", "2x?xf32"], &with(0, "add"), "tensor<?x3xf32>");
    refuses(
        &SCATTER_ELEMENTS,
        &["2x3xf32", "2x3xi64", "2x2xf32"],
        &with(0, "add"),
        "extents of dimension 1 must be equal, but are 3 and 2",
    );
    refuses(&SCATTER_ELEMENTS, &["2x3xf32", "2x3xi64", "2x3xf16"], &with(0, "add"), "one element type");
    refuses(&SCATTER_ELEMENTS, &["2xi1", "2xi64", "2xi1"], &with(0, "add"), "truth values have no reduction");
}

#[test]
fn scatter_rounds_every_step() {
    // 2048 + 1 is a tie in f16 and goes to even, so that adding one by one never leaves 2048.
    let f16 =
        |values: &[f64]| Tensor::floats(Format::F16, vec![values.len()], values.to_vec()).expect("a vector");
    let add = [("reduction", Attr::from("add"))];
    let inputs = (f16(&[2048.0]), longs(&[4], &[0; 4]), f16(&[1.0; 4]));
    let result = eval(&SCATTER_ELEMENTS, &[&inputs.0, &inputs.1, &inputs.2], &add).expect("adds");
    assert_eq!(result, [f16(&[2048.0])]);
    let bytes =
        |values: &[i64]| Tensor::ints(DType::Int(8), vec![values.len()], values.to_vec()).expect("a vector");
    let result =
        eval(&SCATTER_ELEMENTS, &[&bytes(&[127]), &longs(&[1], &[0]), &bytes(&[1])], &add).expect("adds");
    assert_eq!(result, [bytes(&[-128])]);
}

#[test]
fn scatter_nd() {
    let add = [("reduction", Attr::from("add"))];
    let x = counting(&[3, 2]);
    let u = floats(&[2, 2], &[10.0, 11.0, 12.0, 13.0]);
    gives(&SCATTER_ND, &[&x, &longs(&[2, 1], &[-1, 0]), &u], &[], &[12.0, 13.0, 2.0, 3.0, 10.0, 11.0]);
    gives(&SCATTER_ND, &[&x, &longs(&[2, 1], &[1, 1]), &u], &add, &[0.0, 1.0, 24.0, 27.0, 4.0, 5.0]);
    gives(
        &SCATTER_ND,
        &[&x, &longs(&[2], &[2, 0]), &floats(&[], &[9.0])],
        &[],
        &[0.0, 1.0, 2.0, 3.0, 9.0, 5.0],
    );
    fails(&SCATTER_ND, &[&x, &longs(&[2, 1], &[0, 3]), &u], &[], "index 3 is out of range");
    refuses(
        &SCATTER_ND,
        &["3x2xf32", "2x1xi64", "2x3xf32"],
        &[],
        "must have the shape [2, 2], but are tensor<2x3xf32>",
    );
    refuses(&SCATTER_ND, &["3x2xf32", "2x3xi64", "2xf32"], &[], "index vectors have 3 entries");
}

#[test]
fn one_hot() {
    let of = |depth: i64, axis: i64| {
        [
            ("depth", Attr::int(depth)),
            ("type", Attr::from(Type::float(Format::F32))),
            ("axis", Attr::int(axis)),
        ]
    };
    infers(&ONE_HOT, &["?x2xi64"], &of(5, 1), "tensor<?x5x2xf32>");
    infers(&ONE_HOT, &["i64"], &of(5, -1), "tensor<5xf32>");
    gives(&ONE_HOT, &[&longs(&[3], &[1, -1, 7])], &of(2, -1), &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    gives(&ONE_HOT, &[&longs(&[3], &[1, -1, 7])], &of(2, 0), &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    gives(&ONE_HOT, &[&longs(&[2], &[0, 1])], &of(0, 0), &[]);
    let mut smooth = of(2, -1).to_vec();
    smooth.extend([("on", Attr::float(0.75)), ("off", Attr::float(0.25))]);
    gives(&ONE_HOT, &[&longs(&[], &[1])], &smooth, &[0.25, 0.75]);
    refuses(&ONE_HOT, &["3xi64"], &of(-1, 0), "extent -1 is negative");
    refuses(&ONE_HOT, &["3xi64"], &of(2, 2), "axis 2 is out of range for rank 2");
    let bad = [("depth", Attr::int(2)), ("type", Attr::from(Type::int(8))), ("on", Attr::float(0.5))];
    refuses(&ONE_HOT, &["3xi64"], &bad, "attribute 'on': 0.5 is no value of i8");
}
