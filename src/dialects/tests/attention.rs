//! Attention: shapes, messages, decompositions.

use crate::support::{f32_type, infer, steps};
use ngc_ir::{Attr, Type};
use ngc_numerics::Format;

const Q: &str = "tensor<?x4x8x16xf16>";
const K: &str = "tensor<?x2x9x16xf16>";
const V: &str = "tensor<?x2x9x5xf16>";

#[test]
fn shapes() {
    assert_eq!(infer("ng.attention", &[Q, K, V], []).unwrap(), "tensor<?x4x8x5xf16>");
    assert_eq!(infer("ng.attention", &[Q, K, V, "tensor<8x9xi1>"], []).unwrap(), "tensor<?x4x8x5xf16>");
    assert_eq!(infer("ng.attention", &[Q, K, V, "tensor<2x1x1x9xf16>"], []).unwrap(), "tensor<?x4x8x5xf16>");
    let flat = ["tensor<8x16xf32>", "tensor<?x16xf32>", "tensor<9x5xf32>"];
    assert_eq!(infer("ng.attention", &flat, []).unwrap(), "tensor<8x5xf32>");
    let batched = ["tensor<3x8x16xf32>", "tensor<?x9x16xf32>", "tensor<3x9x5xf32>"];
    assert_eq!(infer("ng.attention", &batched, []).unwrap(), "tensor<3x8x5xf32>");
}

#[test]
fn messages_name_the_dimensions() {
    let message = |operands: &[&str]| infer("ng.attention", operands, []).unwrap_err();
    assert_eq!(
        message(&[Q, "tensor<?x2x9x15xf16>", V]),
        "dimension 3 of q and of k must be equal, but are 16 and 15"
    );
    assert_eq!(
        message(&[Q, K, "tensor<?x2x8x5xf16>"]),
        "dimension 2 of k and of v must be equal, but are 9 and 8"
    );
    assert_eq!(
        message(&[Q, "tensor<?x3x9x16xf16>", "tensor<?x3x9x5xf16>"]),
        "the 4 heads of q [?, 4, 8, 16] are no multiple of the 3 of k [?, 3, 9, 16]"
    );
    assert_eq!(
        message(&[Q, K, V, "tensor<8x8xf16>"]),
        "mask [8, 8] does not broadcast to the scores [?, 4, 8, 9]: cannot broadcast [?, 4, 8, 9] with [8, 8]: \
         dimension 3 is 9 against 8"
    );
    assert_eq!(
        message(&[Q, K, V, "tensor<8x9xf32>"]),
        "mask must have elements of i1 or f16, but is tensor<8x9xf32>"
    );
    assert!(message(&["tensor<8xf32>"; 3]).contains("must have one rank of 2 to 4"));
    let f8 = ["tensor<8x16xf8E4M3FN>"; 3];
    assert_eq!(
        infer("ng.attention", &f8, [("causal", true.into())]).unwrap_err(),
        "cannot mask in f8E4M3FN, which has no infinity: give another 'accumulate'"
    );
    let wide = Attr::Type(Type::float(Format::F16));
    assert!(infer("ng.attention", &f8, [("causal", true.into()), ("accumulate", wide)]).is_ok());
}

#[test]
fn decompositions() {
    steps("ng.attention", &[Q, K, V], [("accumulate", f32_type()), ("causal", true.into())]).unwrap();
    steps("ng.attention", &[Q, K, V, "tensor<8x9xi1>"], [("masked_rows", "zero".into())]).unwrap();
    steps(
        "ng.attention",
        &["tensor<?x?xf32>", "tensor<?x?xf32>", "tensor<?x5xf32>"],
        [("scale", Attr::float(0.5))],
    )
    .unwrap();
    let unknown = ["tensor<3x?xf32>", "tensor<4x?xf32>", "tensor<4x5xf32>"];
    assert_eq!(
        steps("ng.attention", &unknown, []).unwrap_err(),
        "without 'scale' it can be decomposed only if dimension 1 is known, but the type is tensor<3x?xf32>"
    );
    let heads = ["tensor<2x?x3x6xf32>", "tensor<2x?x4x6xf32>", "tensor<2x?x4x6xf32>"];
    assert!(steps("ng.attention", &heads, []).unwrap_err().contains("dimension 1"), "they may be shared");
    let causal = ["tensor<?x16xf32>", "tensor<4x16xf32>", "tensor<4x5xf32>"];
    steps("ng.attention", &causal, [("causal", true.into())]).unwrap();
}
