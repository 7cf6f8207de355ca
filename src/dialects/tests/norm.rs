//! Normalisation: shapes, messages, decompositions.

use crate::support::{f32_type, infer, steps};
use ngc_ir::Attr;

#[test]
fn the_result_has_the_type_of_the_operand() {
    let x = "tensor<?x4x6xf16>";
    assert_eq!(infer("ng.layer_norm", &[x], []).unwrap(), x);
    assert_eq!(infer("ng.layer_norm", &[x, "tensor<6xf16>", "tensor<6xf16>"], []).unwrap(), x);
    assert_eq!(infer("ng.layer_norm", &[x, "tensor<4x6xf16>"], [("axis", Attr::int(1))]).unwrap(), x);
    assert_eq!(infer("ng.rms_norm", &[x, "tensor<1xf16>"], []).unwrap(), x);
    assert_eq!(infer("ng.normalize", &[x], []).unwrap(), x);
    let channels = "tensor<4xf16>";
    assert_eq!(infer("ng.group_norm", &[x, channels, channels], [("num_groups", Attr::int(2))]).unwrap(), x);
    assert_eq!(infer("ng.batch_norm", &[x, channels, channels, channels, "tensor<?xf16>"], []).unwrap(), x);
}

#[test]
fn messages_name_the_dimensions() {
    let x = "tensor<2x4x6xf16>";
    assert_eq!(
        infer("ng.layer_norm", &[x, "tensor<4x6xf16>"], []).unwrap_err(),
        "scale [4, 6] does not broadcast to the normalised dimensions [6] of [2, 4, 6]"
    );
    assert_eq!(
        infer("ng.batch_norm", &[x, "tensor<4xf16>", "tensor<4xf16>", "tensor<5xf16>", "tensor<4xf16>"], [])
            .unwrap_err(),
        "dimension 1 of x and dimension 0 of mean must be equal, but are 4 and 5"
    );
    assert_eq!(
        infer("ng.group_norm", &[x], [("num_groups", Attr::int(3))]).unwrap_err(),
        "3 groups do not divide the 4 channels of [2, 4, 6]"
    );
    assert_eq!(
        infer("ng.group_norm", &[x], [("num_groups", Attr::int(0))]).unwrap_err(),
        "attribute 'num_groups' must be positive, but is 0"
    );
    assert_eq!(
        infer("ng.batch_norm", &["tensor<4xf32>"; 5], []).unwrap_err(),
        "operand 'x' must have rank 2 or more, [N, C, ...], but is tensor<4xf32>"
    );
    assert!(infer("ng.layer_norm", &[x, "tensor<6xf32>"], []).unwrap_err().contains("one element type"));
    assert!(infer("ng.normalize", &[x], [("p", Attr::float(0.0))]).is_err());
}

#[test]
fn decompositions_pass_unknown_extents() {
    let x = "tensor<?x4x?x?xf16>";
    let c = "tensor<4xf16>";
    let wide = || ("accumulate", f32_type());
    steps("ng.layer_norm", &[x, "tensor<?xf16>", "tensor<?xf16>"], [wide()]).unwrap();
    steps("ng.layer_norm", &[x], [wide(), ("axis", Attr::int(1))]).unwrap();
    steps("ng.rms_norm", &[x, "tensor<?xf16>"], [wide()]).unwrap();
    steps("ng.group_norm", &[x, c, c], [wide(), ("num_groups", Attr::int(2))]).unwrap();
    steps("ng.group_norm", &[x], [("num_groups", Attr::int(4))]).unwrap();
    steps("ng.batch_norm", &[x, c, c, c, c], [wide()]).unwrap();
    steps("ng.normalize", &[x], [wide()]).unwrap();
    assert_eq!(
        steps("ng.group_norm", &["tensor<2x?x3xf32>"], [("num_groups", Attr::int(2))]).unwrap_err(),
        "can be decomposed only if dimension 1 is known, but the type is tensor<2x?x3xf32>"
    );
}
