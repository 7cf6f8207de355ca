//! Running sums, counted sequences, sorting.

use crate::hooks::*;
use ngc_dialects::ng::scan::*;
use ngc_dialects::ng::sort::*;
use ngc_ir::{Attr, Type};
use ngc_numerics::{DType, Format, Tensor};

#[test]
fn running_sums_and_products() {
    let with = |axis: i64, exclusive: bool, reverse: bool| {
        [("axis", Attr::int(axis)), ("exclusive", Attr::Bool(exclusive)), ("reverse", Attr::Bool(reverse))]
    };
    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    gives(&CUMSUM, &[&x], &with(1, false, false), &[1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    gives(&CUMSUM, &[&x], &with(-1, true, false), &[0.0, 1.0, 3.0, 0.0, 4.0, 9.0]);
    gives(&CUMSUM, &[&x], &with(1, false, true), &[6.0, 5.0, 3.0, 15.0, 11.0, 6.0]);
    gives(&CUMSUM, &[&x], &with(1, true, true), &[5.0, 3.0, 0.0, 11.0, 6.0, 0.0]);
    gives(&CUMSUM, &[&x], &with(0, false, false), &[1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    gives(&CUMPROD, &[&x], &with(1, false, false), &[1.0, 2.0, 6.0, 4.0, 20.0, 120.0]);
    gives(&CUMPROD, &[&x], &with(1, true, true), &[6.0, 3.0, 1.0, 30.0, 6.0, 1.0]);
    gives(&CUMSUM, &[&counting(&[2, 0])], &with(1, true, false), &[]);
    gives(&CUMSUM, &[&counting(&[0, 2])], &with(1, false, false), &[]);
    refuses(&CUMSUM, &["f32"], &with(0, false, false), "axis 0 is out of range for rank 0");
    refuses(&CUMSUM, &["2xi1"], &with(0, false, false), "must be a numeric value");
    let wide = [("axis", Attr::int(0)), ("accumulate", Attr::from(Type::float(Format::F32)))];
    refuses(&CUMSUM, &["2xi8"], &wide, "accumulates in a floating-point format");

    let bytes = Tensor::ints(DType::Int(8), vec![2], vec![127, 1]).expect("a vector");
    let sums = eval(&CUMSUM, &[&bytes], &with(0, false, false)).expect("adds");
    assert_eq!(sums[0].as_ints(), Some(&[127, -128][..]));
}

#[test]
fn cumsum_accumulates_where_it_says() {
    let x = Tensor::floats(Format::F16, vec![4], vec![2048.0, 1.0, 1.0, 1.0]).expect("a vector");
    let sums = |entries: &[(&str, Attr)]| eval(&CUMSUM, &[&x], entries).expect("adds")[0].to_f64s();
    let axis = ("axis", Attr::int(0));
    assert_eq!(sums(std::slice::from_ref(&axis)), [2048.0; 4]);
    // In f32 the sums are 2049, 2050, 2051; each result is then rounded to f16, ties to even.
    let wide = [axis, ("accumulate", Attr::from(Type::float(Format::F32)))];
    assert_eq!(sums(&wide), [2048.0, 2048.0, 2050.0, 2052.0]);
}

#[test]
fn iota() {
    let of = |text: &str, axis: i64| [("type", Attr::from(ty(text))), ("axis", Attr::int(axis))];
    gives(&IOTA, &[], &of("2x3xf32", 1), &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    gives(&IOTA, &[], &of("2x3xi32", 0), &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    gives(&IOTA, &[], &of("0xi8", 0), &[]);
    infers(&IOTA, &[], &of("128xi8", 0), "tensor<128xi8>");
    refuses(&IOTA, &[], &of("129xi8", 0), "i8 does not hold the numbers below 129");
    refuses(&IOTA, &[], &of("f32", 0), "must be a tensor type of known extents, but is f32");
    refuses(&IOTA, &[], &of("?xf32", 0), "must be a tensor type of known extents");
    refuses(&IOTA, &[], &of("3xf32", 1), "axis 1 is out of range");
    refuses(&IOTA, &[], &of("4294967296x4294967296xf32", 0), "too many elements");
    let long = eval(&IOTA, &[], &of("2050xf16", 0)).expect("counts");
    assert_eq!(long[0].to_f64s()[2049], 2048.0);
}

#[test]
fn range() {
    let of = |start: f64, limit: f64, delta: f64, elem: DType| {
        [
            ("start", Attr::float(start)),
            ("limit", Attr::float(limit)),
            ("delta", Attr::float(delta)),
            ("type", Attr::from(Type::scalar(elem))),
        ]
    };
    let (f32, i8) = (DType::Float(Format::F32), DType::Int(8));
    gives(&RANGE, &[], &of(0.0, 5.0, 2.0, f32), &[0.0, 2.0, 4.0]);
    gives(&RANGE, &[], &of(3.0, 0.0, -1.0, i8), &[3.0, 2.0, 1.0]);
    gives(&RANGE, &[], &of(3.0, 3.0, 1.0, i8), &[]);
    gives(&RANGE, &[], &of(3.0, 0.0, 1.0, f32), &[]);
    // One rounding: 3 · 0.1 in f64 is 0.30000000000000004, but as a real nearer to 0.30000000000000001665.
    let tenths = eval(&RANGE, &[], &of(0.0, 0.45, 0.1, DType::Float(Format::F64))).expect("counts");
    assert_eq!(tenths[0].to_f64s(), [0.0, 0.1, 0.2, 0.1f64.mul_add(3.0, 0.0), 0.4]);
    refuses(&RANGE, &[], &of(0.0, 1.0, 0.0, f32), "delta not 0");
    refuses(&RANGE, &[], &of(0.0, f64::INFINITY, 1.0, f32), "must be finite");
    refuses(&RANGE, &[], &of(0.0, 1e300, 1e-300, f32), "too many");
    refuses(&RANGE, &[], &of(0.0, 300.0, 1.0, i8), "299 is no value of i8");
    refuses(&RANGE, &[], &of(0.5, 3.0, 1.0, i8), "0.5 is no value of i8");
    fails(&RANGE, &[], &of(0.0, 1e15, 1.0, f32), "does not fit in memory");
}

#[test]
fn topk() {
    let of = |k: i64| [("k", Attr::int(k))];
    let x = floats(&[2, 4], &[3.0, 1.0, 3.0, 2.0, -0.0, 0.0, f64::NAN, -1.0]);
    let top = |more: &[(&str, Attr)]| {
        let entries = [&of(2)[..], more].concat();
        let results = eval(&TOPK, &[&x], &entries).expect("has 4 elements");
        (results[0].to_f64s(), results[1].as_ints().expect("integers").to_vec())
    };
    let (values, indices) = top(&[]);
    assert_eq!(indices, [0, 2, 2, 0]);
    assert_eq!(values[..2], [3.0, 3.0]);
    assert!(values[2].is_nan() && values[3] == 0.0 && values[3].is_sign_negative());
    assert_eq!(top(&[("largest", Attr::Bool(false))]), (vec![1.0, 2.0, -1.0, -0.0], vec![1, 3, 3, 0]));
    assert_eq!(top(&[("sorted", Attr::Bool(false))]).1, [0, 2, 0, 2]);
    let down = [of(1)[0].clone(), ("axis", Attr::int(0))];
    gives(&TOPK, &[&counting(&[3, 2])], &down, &[4.0, 5.0]);
    gives(&TOPK, &[&counting(&[3, 2])], &of(0), &[]);
    infers(&TOPK, &["2x?xf16"], &of(3), "tensor<2x3xf16>, tensor<2x3xi64>");
    refuses(&TOPK, &["2x4xf32"], &of(5), "takes 5 elements of dimension 1 of tensor<2x4xf32>, which has 4");
    refuses(&TOPK, &["2x4xf32"], &of(-1), "extent -1 is negative");
    refuses(&TOPK, &["f32"], &of(0), "axis -1 is out of range for rank 0");
}

#[test]
fn sort() {
    let x = longs(&[4], &[2, 1, 2, 0]);
    let ordered = |descending: bool| {
        let results = eval(&SORT, &[&x], &[("descending", Attr::Bool(descending))]).expect("sorts");
        results.iter().map(|t| t.as_ints().expect("integers").to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(ordered(false), [[0, 1, 2, 2], [3, 1, 0, 2]]);
    assert_eq!(ordered(true), [[2, 2, 1, 0], [0, 2, 1, 3]]);
    gives(
        &SORT,
        &[&floats(&[2, 2], &[4.0, 3.0, 2.0, 1.0])],
        &[("axis", Attr::int(0))],
        &[2.0, 1.0, 4.0, 3.0],
    );
    let last = eval(&SORT, &[&floats(&[2], &[f64::NAN, f64::INFINITY])], &[]).expect("sorts");
    assert!(last[0].to_f64s()[1].is_nan());
    infers(&SORT, &["?xf32"], &[], "tensor<?xf32>, tensor<?xi64>");
}
