//! Softmax and losses: shapes, messages, decompositions.

use crate::support::{f32_type, infer, steps};
use ngc_ir::Attr;

#[test]
fn softmax_keeps_its_type() {
    for name in ["ng.softmax", "ng.log_softmax"] {
        assert_eq!(infer(name, &["tensor<?x8xf16>"], []).unwrap(), "tensor<?x8xf16>");
        assert_eq!(
            infer(name, &["tensor<?x8xf16>"], [("axis", Attr::int(2))]).unwrap_err(),
            "axis 2 is out of range for rank 2"
        );
        assert_eq!(
            infer(name, &["tensor<8xf16>"], [("masked_rows", "one".into())]).unwrap_err(),
            "attribute 'masked_rows' must be one of \"nan\", \"zero\""
        );
        assert!(infer(name, &["f32"], []).is_err(), "a scalar has no axis");
        for masked in ["nan", "zero"] {
            let attrs = [("masked_rows", masked.into()), ("accumulate", f32_type()), ("axis", Attr::int(0))];
            let names = steps(name, &["tensor<?x?xf16>"], attrs).unwrap();
            assert_eq!(names.contains(&"ng.where"), masked == "zero");
        }
    }
}

#[test]
fn losses_have_the_shape_of_the_targets() {
    let none = || ("reduction", Attr::from("none"));
    let operands = ["tensor<2x5x?xf32>", "tensor<2x7xi64>"];
    for name in ["ng.cross_entropy", "ng.nll"] {
        assert_eq!(infer(name, &operands, []).unwrap(), "tensor<f32>");
        assert_eq!(infer(name, &operands, [none()]).unwrap(), "tensor<2x7xf32>");
        let weighted = ["tensor<2x5x?xf32>", "tensor<2x7xi64>", "tensor<5xf32>"];
        assert_eq!(infer(name, &weighted, [none()]).unwrap(), "tensor<2x7xf32>");
        let last = ["tensor<?x3x5xf16>", "tensor<?x3xi32>"];
        assert_eq!(infer(name, &last, [none(), ("axis", Attr::int(-1))]).unwrap(), "tensor<?x3xf16>");
        for reduction in ["none", "mean", "sum"] {
            for operands in [&weighted[..], &operands[..]] {
                let attrs = [("reduction", reduction.into()), ("ignore_index", Attr::int(-100))];
                steps(name, operands, attrs).unwrap();
            }
        }
    }
    let soft = ["tensor<2x5x?xf32>", "tensor<?x5x7xf32>"];
    assert_eq!(infer("ng.cross_entropy", &soft, [none()]).unwrap(), "tensor<2x7xf32>");
    steps("ng.cross_entropy", &soft, [("reduction", "sum".into()), ("accumulate", f32_type())]).unwrap();
    assert_eq!(
        infer("ng.cross_entropy", &["tensor<5xf32>", "i64"], [("axis", Attr::int(0))]).unwrap(),
        "tensor<f32>"
    );
}

#[test]
fn messages_name_the_dimensions() {
    let message = |operands: &[&str]| infer("ng.cross_entropy", operands, []).unwrap_err();
    assert_eq!(
        message(&["tensor<2x5x6xf32>", "tensor<2x7xi64>"]),
        "dimension 2 of the scores and dimension 1 of the target must be equal, but are 6 and 7"
    );
    assert_eq!(
        message(&["tensor<2x5x6xf32>", "tensor<2x4x6xf32>"]),
        "dimension 1 of the scores and dimension 1 of the target must be equal, but are 5 and 4"
    );
    assert_eq!(
        message(&["tensor<2x5xf32>", "tensor<2x5xi64>"]),
        "target of class indices for [2, 5] with class axis 1 must have rank 1, but is [2, 5]"
    );
    assert_eq!(
        message(&["tensor<2x5xf32>", "tensor<2xi64>", "tensor<4xf32>"]),
        "dimension 1 of the scores and the extent of the weight must be equal, but are 5 and 4"
    );
    let soft = ["tensor<2x5xf32>", "tensor<2x5xf32>"];
    assert_eq!(
        infer("ng.cross_entropy", &soft, [("ignore_index", Attr::int(0))]).unwrap_err(),
        "ignores a class index, but the target is a distribution"
    );
    assert!(infer("ng.nll", &soft, []).unwrap_err().contains("operand 'target'"));
}
