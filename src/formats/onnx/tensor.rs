//! ONNX tensors (`TensorProto`): initializers of models, and `.pb` files of test data.

use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Format, Tensor};
use prost::Message;
use prost::bytes::Bytes;

use super::proto::TensorProto;
use crate::error::{FormatError, Result, invalid, unsupported};

/// The names of `TensorProto.DataType`, by number.
const DATA_TYPES: [&str; 27] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
];

/// The element type of ONNX's number for it, for values of a graph.
///
/// # Errors
/// Names the type that ngc does not have; uint64 among them.
pub fn dtype(data_type: i32) -> Result<DType> {
    Ok(match data_type {
        1 => DType::Float(Format::F32),
        2 => DType::Unsigned(8),
        3 => DType::Int(8),
        4 => DType::Unsigned(16),
        5 => DType::Int(16),
        6 => DType::Int(32),
        7 => DType::Int(64),
        9 => DType::BOOL,
        10 => DType::Float(Format::F16),
        11 => DType::Float(Format::F64),
        12 => DType::Unsigned(32),
        16 => DType::Float(Format::Bf16),
        17 => DType::Float(Format::F8E4M3FN),
        19 => DType::Float(Format::F8E5M2),
        _ => match usize::try_from(data_type).ok().and_then(|i| DATA_TYPES.get(i)) {
            Some(&"undefined") => return invalid("the element type is undefined"),
            Some(name) => return unsupported(format!("elements of type {name}")),
            None => return invalid(format!("element type {data_type} is none of ONNX")),
        },
    })
}

/// The element type that an attribute says by ONNX's number.
///
/// # Errors
/// As [`dtype`], and names the attribute.
pub fn said(attribute: &str, code: i64) -> Result<DType> {
    let Ok(code) = i32::try_from(code) else {
        return invalid(format!("attribute '{attribute}' is no element type"));
    };
    dtype(code).map_err(|e| e.within(format!("attribute '{attribute}'")))
}

/// ONNX's number for an element type.
///
/// # Errors
/// tf32 has none.
pub fn data_type(dtype: DType) -> Result<i32> {
    Ok(match dtype {
        DType::Float(Format::F64) => 11,
        DType::Float(Format::F32) => 1,
        DType::Float(Format::F16) => 10,
        DType::Float(Format::Bf16) => 16,
        DType::Float(Format::F8E4M3FN) => 17,
        DType::Float(Format::F8E5M2) => 19,
        DType::Float(Format::Tf32) => return unsupported("ONNX has no element type tf32"),
        DType::Int(1) => 9,
        DType::Int(8) => 3,
        DType::Int(16) => 5,
        DType::Int(32) => 6,
        DType::Int(_) | DType::Index => 7,
        DType::Unsigned(8) => 2,
        DType::Unsigned(16) => 4,
        DType::Unsigned(_) => 12,
    })
}

/// The elements of a tensor, little endian as in [`Tensor::from_bytes`].
pub struct Elements {
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<usize>,
    /// The data, in the memory of the message where they lie in it as they are; their length is that of the shape.
    pub bytes: Bytes,
}

/// Reads a `.pb` file.
///
/// # Errors
/// Names the field that is wrong.
pub fn read(bytes: &[u8]) -> Result<(String, Tensor)> {
    let proto = TensorProto::decode(bytes)
        .map_err(|e| FormatError::Invalid(format!("no ONNX tensor (protobuf TensorProto): {e}")))?;
    let e = elements(&proto)?;
    let tensor = Tensor::from_bytes(e.dtype, e.shape, &e.bytes).map_err(FormatError::Invalid)?;
    Ok((proto.name.unwrap_or_default(), tensor))
}

/// Writes a `.pb` file; big floats are rounded to the element type.
///
/// # Errors
/// For tf32, which ONNX lacks.
pub fn write(name: &str, tensor: &Tensor) -> Result<Vec<u8>> {
    let proto = TensorProto {
        dims: tensor.shape.iter().map(|&n| n as i64).collect(),
        data_type: Some(data_type(tensor.dtype)?),
        name: (!name.is_empty()).then(|| name.to_string()),
        raw_data: Some(tensor.to_bytes().into()),
        ..TensorProto::default()
    };
    Ok(proto.encode_to_vec())
}

/// The elements of a message whose data lie within it. `uint64` becomes `i64`, which its values must fit.
///
/// # Errors
/// Names the field that is wrong.
pub fn elements(proto: &TensorProto) -> Result<Elements> {
    if proto.data_location == Some(1) {
        return unsupported("external_data: the elements lie in another file");
    }
    let code = proto.data_type.unwrap_or(0);
    let dtype = match code {
        13 => DType::Int(64),
        _ => dtype(code).map_err(|e| e.within("data_type"))?,
    };
    let shape = shape(proto)?;
    let count = element_count(&shape).map_err(|e| FormatError::Invalid(format!("dims: {e}")))?;
    let width = dtype.storage_bytes();
    let check = |field: &str, found: usize, unit: usize, what: &str| {
        if count.checked_mul(unit) == Some(found) {
            return Ok(());
        }
        invalid(format!("{field}: dims {:?} take {count} elements, but {found} {what} are there", proto.dims))
    };
    let bytes: Bytes = if let Some(raw) = &proto.raw_data {
        check("raw_data", raw.len(), width, "bytes")?;
        raw.clone()
    } else {
        match code {
            1 => {
                check("float_data", proto.float_data.len(), 1, "values")?;
                proto.float_data.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
            11 => {
                check("double_data", proto.double_data.len(), 1, "values")?;
                proto.double_data.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
            7 => {
                check("int64_data", proto.int64_data.len(), 1, "values")?;
                proto.int64_data.iter().flat_map(|x| x.to_le_bytes()).collect()
            }
            12 | 13 => {
                check("uint64_data", proto.uint64_data.len(), 1, "values")?;
                proto.uint64_data.iter().flat_map(|x| x.to_le_bytes().into_iter().take(width)).collect()
            }
            _ => {
                check("int32_data", proto.int32_data.len(), 1, "values")?;
                proto.int32_data.iter().flat_map(|x| x.to_le_bytes().into_iter().take(width)).collect()
            }
        }
    };
    if code == 13
        && let Some(i) = bytes.chunks_exact(width).position(|element| element[width - 1] > 0x7f)
    {
        return unsupported(format!("element {i} of uint64 does not fit i64"));
    }
    Ok(Elements { dtype, shape, bytes })
}

/// The extents of a message.
///
/// # Errors
/// For a negative extent.
pub fn shape(proto: &TensorProto) -> Result<Vec<usize>> {
    proto
        .dims
        .iter()
        .map(|&n| {
            usize::try_from(n).map_err(|_| FormatError::Invalid(format!("dims: extent {n} is negative")))
        })
        .collect()
}
