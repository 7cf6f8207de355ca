//! Reductions: shapes, messages, decompositions.

use crate::support::{f32_type, infer, steps};
use ngc_ir::Attr;

#[test]
fn shapes_follow_axes_and_keepdims() {
    let x = ["tensor<2x?x4xf32>"];
    assert_eq!(infer("ng.reduce_sum", &x, []).unwrap(), "tensor<f32>");
    assert_eq!(infer("ng.reduce_sum", &x, [("axes", Attr::ints([-1]))]).unwrap(), "tensor<2x?xf32>");
    let keep = [("axes", Attr::ints([0, 2])), ("keepdims", true.into())];
    assert_eq!(infer("ng.reduce_max", &x, keep).unwrap(), "tensor<1x?x1xf32>");
    assert_eq!(infer("ng.reduce_prod", &x, [("axes", Attr::ints([]))]).unwrap(), "tensor<2x?x4xf32>");
    assert_eq!(infer("ng.reduce_sum", &["tensor<3xi32>"], []).unwrap(), "tensor<i32>");
    assert_eq!(infer("ng.reduce_sum", &["f32"], []).unwrap(), "f32");
    assert_eq!(infer("ng.argmax", &x, [("axis", Attr::int(1))]).unwrap(), "tensor<2x4xi64>");
    let keep = [("axis", Attr::int(-1)), ("keepdims", true.into())];
    assert_eq!(infer("ng.argmin", &x, keep).unwrap(), "tensor<2x?x1xi64>");
}

#[test]
fn messages_name_axis_and_type() {
    let x = ["tensor<2x3xf32>"];
    let message = |r: Result<String, String>| r.unwrap_err();
    assert_eq!(
        message(infer("ng.reduce_sum", &x, [("axes", Attr::ints([2]))])),
        "axis 2 is out of range for rank 2"
    );
    assert_eq!(message(infer("ng.reduce_sum", &x, [("axes", Attr::ints([1, -1]))])), "axis 1 appears twice");
    assert_eq!(
        message(infer("ng.argmax", &["tensor<2x0xf32>"], [])),
        "axis 1 of [2, 0] is empty and has no extreme element"
    );
    assert_eq!(
        message(infer("ng.reduce_sum", &["tensor<2xi32>"], [("accumulate", f32_type())])),
        "accumulates in a floating-point format, but the elements are i32"
    );
    assert_eq!(
        message(infer("ng.norm", &x, [("ord", Attr::float(-1.0))])),
        "attribute 'ord' must be positive, but is -1"
    );
    assert!(message(infer("ng.reduce_mean", &["tensor<2xi32>"], [])).contains("floating-point"));
    assert!(
        message(infer("ng.reduce_max", &x, [("sum", "kahan".into())])).contains("has no attribute 'sum'")
    );
}

#[test]
fn decompositions_have_the_inferred_types() {
    let dynamic = ["tensor<2x?xf16>"];
    let attrs = || [("axes", Attr::ints([1])), ("accumulate", f32_type()), ("sum", "kahan".into())];
    for (name, dims) in [
        ("ng.logsumexp", "tensor<2x?xf16>"),
        ("ng.norm", "tensor<2x?xf16>"),
        ("ng.variance", "tensor<2x5xf16>"),
    ] {
        for keepdims in [false, true] {
            let [a, b, c] = attrs();
            let names = steps(name, &[dims], [a, b, c, ("keepdims", keepdims.into())]).unwrap();
            assert_eq!(names.first(), Some(&"ng.convert"), "{name} widens");
            assert_eq!(names.last(), Some(&"ng.convert"), "{name} narrows");
            assert_eq!(names.contains(&"ng.squeeze"), !keepdims);
        }
    }
    assert_eq!(
        steps("ng.reduce_mean", &dynamic, attrs()).unwrap_err(),
        "can be decomposed only if dimension 1 is known, but the type is tensor<2x?xf32>"
    );
    assert!(steps("ng.reduce_mean", &dynamic, [("axes", Attr::ints([0]))]).is_ok());
    for ord in [1.0, 2.0, 3.5, f64::INFINITY] {
        assert!(steps("ng.norm", &["f32"], [("ord", Attr::float(ord))]).is_ok());
    }
}
