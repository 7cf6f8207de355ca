//! Matrix products and affine maps: shapes, messages, decompositions.

use crate::support::{f32_type, infer, steps};
use ngc_ir::Attr;

fn product(a: &str, b: &str) -> Result<String, String> {
    infer("ng.matmul", &[a, b], [])
}

#[test]
fn matmul_follows_numpy() {
    for (a, b, c) in [
        ("2x3", "3x4", "2x4"),
        ("?x3", "?x4", "?x4"),
        ("3", "3x4", "4"),
        ("2x3", "3", "2"),
        ("5x1x2x3", "7x3x4", "5x7x2x4"),
        ("?x2x3", "1x3x4", "?x2x4"),
        ("2x0", "0x4", "2x4"),
        ("6x2x3", "3", "6x2"),
    ] {
        let tensor = |shape: &str| format!("tensor<{shape}xf16>");
        assert_eq!(product(&tensor(a), &tensor(b)).unwrap(), tensor(c), "{a} by {b}");
    }
    assert_eq!(product("tensor<3xi32>", "tensor<3xi32>").unwrap(), "tensor<i32>");
}

#[test]
fn messages_name_the_dimensions() {
    assert_eq!(
        product("tensor<2x3xf32>", "tensor<4x5xf32>").unwrap_err(),
        "cannot multiply [2, 3] by [4, 5]: the contracted dimensions must be equal, but are 3 and 4 \
         (dimension 1 of the left, 0 of the right operand)"
    );
    assert_eq!(
        product("tensor<2x4x3xf32>", "tensor<5x3x4xf32>").unwrap_err(),
        "cannot multiply [2, 4, 3] by [5, 3, 4]: leading dimensions: cannot broadcast [2] with [5]: \
         dimension 0 is 2 against 5"
    );
    assert!(product("f32", "tensor<3xf32>").unwrap_err().contains("operand 'a' is f32"));
    assert!(product("tensor<3xf32>", "tensor<3xf16>").unwrap_err().contains("one element type"));
    assert!(infer("ng.matmul", &["tensor<3xi32>"; 2], [("accumulate", f32_type())]).is_err());
}

#[test]
fn affine_maps_gemm_and_linear_layers() {
    let linear = ["tensor<?x7x8xf16>", "tensor<16x8xf16>", "tensor<16xf16>"];
    assert_eq!(infer("ng.affine", &linear, [("transpose_w", true.into())]).unwrap(), "tensor<?x7x16xf16>");
    let attrs = [("transpose_w", true.into()), ("accumulate", f32_type()), ("alpha", Attr::float(0.1))];
    let names = steps("ng.affine", &linear, attrs).unwrap();
    assert_eq!(names.iter().filter(|n| **n == "ng.mul").count(), 1, "{names:?}");
    let gemm = ["tensor<8x2xf32>", "tensor<8x16xf32>"];
    assert_eq!(infer("ng.affine", &gemm, [("transpose_x", true.into())]).unwrap(), "tensor<2x16xf32>");
    assert_eq!(
        infer("ng.affine", &["tensor<2x8xf32>", "tensor<8x16xf32>", "tensor<8xf32>"], []).unwrap_err(),
        "offset [8] does not broadcast to the product [2, 16]"
    );
    assert_eq!(
        infer("ng.affine", &["tensor<8xf32>", "tensor<8x16xf32>"], [("transpose_x", true.into())])
            .unwrap_err(),
        "has 'transpose_x', but operand 'x' is tensor<8xf32>"
    );
}
