//! ONNX tensor files.

use ngc_formats::{FormatError, onnx};
use ngc_numerics::{DType, Data, Format, Tensor};
use proptest::prelude::*;

fn testdata(name: &str) -> Vec<u8> {
    let path = format!("{}/../../testdata/tensors/{name}.pb", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn reads_what_onnx_writes() {
    let signed = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0];
    let unsigned = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    for (name, dtype, values) in [
        ("float", DType::Float(Format::F32), signed),
        ("double", DType::Float(Format::F64), signed),
        ("float16", DType::Float(Format::F16), signed),
        ("bfloat16", DType::Float(Format::Bf16), signed),
        ("float8e4m3fn", DType::Float(Format::F8E4M3FN), signed),
        ("float8e5m2", DType::Float(Format::F8E5M2), signed),
        ("int8", DType::Int(8), signed),
        ("int16", DType::Int(16), signed),
        ("int32", DType::Int(32), signed),
        ("int64", DType::Int(64), signed),
        ("uint8", DType::Unsigned(8), unsigned),
        ("uint16", DType::Unsigned(16), unsigned),
        ("uint32", DType::Unsigned(32), unsigned),
        ("uint64", DType::Int(64), unsigned),
        ("bool", DType::BOOL, unsigned),
    ] {
        for field in ["raw", "typed"] {
            let (label, tensor) = onnx::tensor::read(&testdata(&format!("{name}_{field}"))).unwrap();
            assert_eq!(
                (label.as_str(), tensor.dtype, &tensor.shape[..]),
                ("t", dtype, &[2, 3][..]),
                "{name} {field}"
            );
            assert_eq!(tensor.to_f64s(), values, "{name} {field}");
        }
    }
}

#[test]
fn other_elements_are_refused_by_name() {
    for name in ["string", "int4"] {
        let error = onnx::tensor::read(&testdata(name)).unwrap_err();
        assert_eq!(error, FormatError::Unsupported(format!("data_type: elements of type {name}")));
    }
}

#[test]
fn every_truncation_is_an_error_or_loses_only_the_end() {
    for name in ["float_raw", "float_typed", "int64_typed", "uint8_typed"] {
        let whole = testdata(name);
        let tensor = onnx::tensor::read(&whole).unwrap().1;
        for end in 0..whole.len() {
            // A message may end between its fields; the name comes before the raw data, after the typed ones.
            if let Ok((label, read)) = onnx::tensor::read(&whole[..end]) {
                assert!(label.is_empty() && read == tensor, "{name} cut at {end}");
            }
        }
    }
}

#[test]
fn wrong_sizes_are_named() {
    use prost::Message;
    let message = |dims: Vec<i64>, raw: usize| {
        let proto = onnx::proto::TensorProto {
            dims,
            data_type: Some(1),
            raw_data: Some(vec![0; raw].into()),
            ..Default::default()
        };
        onnx::tensor::read(&proto.encode_to_vec()).unwrap_err().to_string()
    };
    assert_eq!(message(vec![2, 3], 20), "raw_data: dims [2, 3] take 6 elements, but 20 bytes are there");
    assert_eq!(message(vec![-1], 4), "dims: extent -1 is negative");
    assert!(message(vec![1 << 40, 1 << 40], 4).starts_with("dims: shape"));
}

proptest! {
    #[test]
    fn written_tensors_read_back(
        shape in prop::collection::vec(0usize..4, 0..4),
        seed in any::<u64>(),
        format in prop::sample::select(&[Format::F64, Format::F32, Format::F16, Format::Bf16, Format::F8E5M2][..]),
    ) {
        let count = shape.iter().product::<usize>();
        let values = (0..count as u64).map(|i| (seed.wrapping_mul(2 * i + 1) >> 32) as f64 / 65536.0).collect();
        let tensor = Tensor::floats(format, shape, values).unwrap();
        let bytes = onnx::tensor::write("x", &tensor).unwrap();
        prop_assert_eq!(onnx::tensor::read(&bytes).unwrap(), ("x".to_string(), tensor));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = onnx::tensor::read(&bytes);
    }

    #[test]
    fn integers_read_back(values in prop::collection::vec(any::<i64>(), 0..10), width in prop::sample::select(&[1u8, 8, 16, 32, 64][..])) {
        let tensor = Tensor::ints(DType::Int(width), vec![values.len()], values).unwrap();
        prop_assert!(matches!(tensor.data, Data::Int(_)));
        let bytes = onnx::tensor::write("", &tensor).unwrap();
        prop_assert_eq!(onnx::tensor::read(&bytes).unwrap().1, tensor);
    }
}
