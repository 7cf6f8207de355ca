//! Convolution and pooling: shapes and messages.

use crate::support::{f32_type, infer, steps};
use ngc_ir::Attr;

fn pairs(list: &[[i64; 2]]) -> Attr {
    Attr::Array(list.iter().map(|p| Attr::ints(*p)).collect())
}

#[test]
fn convolution_counts_windows() {
    let conv = |x: &str, w: &str| infer("ng.conv", &[x, w], []);
    assert_eq!(conv("tensor<1x3x8xf32>", "tensor<4x3x3xf32>").unwrap(), "tensor<1x4x6xf32>");
    assert_eq!(conv("tensor<?x3x8x?xf32>", "tensor<4x3x3x3xf32>").unwrap(), "tensor<?x4x6x?xf32>");
    assert_eq!(conv("tensor<1x1x4x5x6xf32>", "tensor<2x1x2x3x1xf32>").unwrap(), "tensor<1x2x3x3x6xf32>");
    let attrs = [
        ("strides", Attr::ints([2, 3])),
        ("pads", pairs(&[[1, 2], [0, 1]])),
        ("dilations", Attr::ints([2, 1])),
        ("groups", Attr::int(2)),
    ];
    let operands = ["tensor<2x4x9x10xf32>", "tensor<6x2x3x4xf32>", "tensor<6xf32>"];
    assert_eq!(infer("ng.conv", &operands, attrs).unwrap(), "tensor<2x6x4x3xf32>");
}

#[test]
fn convolution_messages_name_the_dimensions() {
    let (x, w) = ("tensor<1x3x8x8xf32>", "tensor<4x3x3x3xf32>");
    assert_eq!(
        infer("ng.conv", &[x, "tensor<4x2x3x3xf32>"], []).unwrap_err(),
        "dimension 1 of x [1, 3, 8, 8] must be groups (1) times dimension 1 of w [4, 2, 3, 3], but 3 is not 1 * 2"
    );
    assert_eq!(
        infer("ng.conv", &[x, "tensor<4x1x3x3xf32>"], [("groups", Attr::int(3))]).unwrap_err(),
        "3 groups do not divide dimension 0 of w [4, 1, 3, 3]"
    );
    assert_eq!(
        infer("ng.conv", &[x, "tensor<4x3x9x3xf32>"], []).unwrap_err(),
        "a window that spans 9 elements does not fit dimension 2 of extent 8 padded by 0 and 0"
    );
    assert_eq!(
        infer("ng.conv", &[x, w, "tensor<3xf32>"], []).unwrap_err(),
        "dimension 0 of w and of b must be equal, but are 4 and 3"
    );
    assert!(infer("ng.conv", &[x, "tensor<4x3x3xf32>"], []).unwrap_err().contains("must be as many"));
    for (name, value) in [
        ("strides", Attr::ints([1])),
        ("strides", Attr::ints([0, 1])),
        ("dilations", Attr::ints([1, -1])),
        ("pads", pairs(&[[1, 1]])),
        ("pads", pairs(&[[1, 1], [1, -1]])),
        ("pads", pairs(&[[i64::MAX, i64::MAX], [0, 0]])),
        ("groups", Attr::int(0)),
    ] {
        let message = infer("ng.conv", &[x, w], [(name, value)]).unwrap_err();
        assert!(message.contains(&format!("'{name}'")), "{message}");
    }
}

#[test]
fn pools_count_windows() {
    let kernel = || ("kernel", Attr::ints([3, 3]));
    let x = ["tensor<1x4x7x?xf16>"];
    assert_eq!(infer("ng.max_pool", &x, [kernel()]).unwrap(), "tensor<1x4x5x?xf16>");
    let strides = || ("strides", Attr::ints([2, 2]));
    let square = ["tensor<1x4x8x8xf16>"];
    assert_eq!(infer("ng.avg_pool", &square, [kernel(), strides()]).unwrap(), "tensor<1x4x3x3xf16>");
    let ceil = [kernel(), strides(), ("ceil_mode", true.into())];
    assert_eq!(infer("ng.max_pool", &square, ceil).unwrap(), "tensor<1x4x4x4xf16>");
    // A window that would start in the padding at the end is dropped: PyTorch's rule.
    let ceil = [
        ("kernel", Attr::ints([2])),
        ("strides", Attr::ints([3])),
        ("pads", pairs(&[[1, 1]])),
        ("ceil_mode", true.into()),
    ];
    assert_eq!(infer("ng.max_pool", &["tensor<5xf32>"], ceil).unwrap(), "tensor<2xf32>");
    assert_eq!(
        infer("ng.adaptive_avg_pool", &["tensor<2x?x?xf32>"], [("output_size", Attr::ints([3, 2]))]).unwrap(),
        "tensor<2x3x2xf32>"
    );
    for name in ["ng.global_avg_pool", "ng.global_max_pool"] {
        assert_eq!(infer(name, &["tensor<?x4x?x8xf32>"], []).unwrap(), "tensor<?x4x1x1xf32>");
    }
    steps("ng.global_avg_pool", &["tensor<?x4x5x8xf16>"], [("accumulate", f32_type())]).unwrap();
    steps("ng.global_max_pool", &["tensor<?x4x?x8xf16>"], []).unwrap();
}

#[test]
fn pool_messages() {
    let x = ["tensor<1x4x7x7xf16>"];
    assert_eq!(infer("ng.max_pool", &x, []).unwrap_err(), "requires attribute 'kernel'");
    assert_eq!(
        infer("ng.max_pool", &["tensor<3xf32>"], [("kernel", Attr::ints([2, 2]))]).unwrap_err(),
        "pools over 2 dimensions, but operand 'x' is [3]"
    );
    assert_eq!(
        infer("ng.avg_pool", &x, [("kernel", Attr::ints([8, 1]))]).unwrap_err(),
        "a window that spans 8 elements does not fit dimension 2 of extent 7 padded by 0 and 0"
    );
    assert!(infer("ng.max_pool", &x, [("kernel", Attr::ints([0, 1]))]).is_err());
    assert!(infer("ng.max_pool", &x, [("kernel", Attr::ints([]))]).is_err());
    assert_eq!(
        infer("ng.adaptive_max_pool", &["tensor<1x0xf32>"], [("output_size", Attr::ints([1]))]).unwrap_err(),
        "dimension 1 of operand 'x' is empty"
    );
    assert!(infer("ng.global_avg_pool", &["tensor<3xf32>"], []).unwrap_err().contains("rank 2 or more"));
}
