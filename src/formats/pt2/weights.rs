//! Parameters, buffers and lifted constants: raw storages, and the strided tensors in them.

use std::collections::HashMap;

use ngc_ir::{Attr, Dim, Type};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Format};
use prost::bytes::Bytes;

use super::archive::Archive;
use super::schema::{Payload, PayloadConfig, SymInt, TensorMeta};
use crate::builder::FunctionBuilder;
use crate::error::{FormatError, Result, invalid, unsupported};

/// A tensor that repeats elements of its storage may take this many bytes more than the storage has.
const MAX_REPEATED: u64 = 64 << 20;

/// The names of `torch._export.serde.schema.ScalarType`, by number.
const SCALAR_TYPES: [&str; 36] = [
    "unknown",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "?",
    "uint16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "uint32",
    "uint64",
];

/// The element type of torch's number for it.
///
/// # Errors
/// Names the type that ngc does not have.
pub(super) fn dtype(scalar_type: i64) -> Result<DType> {
    Ok(match scalar_type {
        1 => DType::Unsigned(8),
        2 => DType::Int(8),
        3 => DType::Int(16),
        4 => DType::Int(32),
        5 => DType::Int(64),
        6 => DType::Float(Format::F16),
        7 => DType::Float(Format::F32),
        8 => DType::Float(Format::F64),
        12 => DType::BOOL,
        13 => DType::Float(Format::Bf16),
        28 => DType::Unsigned(16),
        29 => DType::Float(Format::F8E4M3FN),
        30 => DType::Float(Format::F8E5M2),
        34 => DType::Unsigned(32),
        _ => match usize::try_from(scalar_type).ok().and_then(|i| SCALAR_TYPES.get(i)) {
            None | Some(&("unknown" | "?")) => {
                return invalid(format!("element type {scalar_type} is none of torch"));
            }
            Some(name) => return unsupported(format!("elements of type torch.{name}")),
        },
    })
}

/// The element type of the parts of torch's complex numbers.
pub(super) fn part_type(scalar_type: i64) -> Option<DType> {
    Some(DType::Float(match scalar_type {
        9 => Format::F16,
        10 => Format::F32,
        11 => Format::F64,
        _ => return None,
    }))
}

/// Which of the archive's folders holds a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Folder {
    Weights,
    Constants,
}

impl Folder {
    fn path(self) -> &'static str {
        if self == Folder::Weights { "data/weights/" } else { "data/constants/" }
    }
}

/// Where a tensor lies: its storage, and how it is strided in there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub file: String,
    pub dtype: DType,
    pub sizes: Vec<usize>,
    pub strides: Vec<usize>,
    pub offset: usize,
}

impl Place {
    pub fn ty(&self) -> Type {
        Type::tensor(self.sizes.iter().map(|&n| Dim::Static(n)), self.dtype)
    }
}

/// A tensor of the archive.
pub(super) enum Stored {
    Real(Place),
    /// Real and imaginary parts.
    Complex([Place; 2]),
}

/// The tensors of an archive, read when they are first asked for.
pub(super) struct Tensors {
    archive: Archive,
    weights: PayloadConfig,
    constants: PayloadConfig,
    /// Tensors that were read: tied weights are one.
    read: HashMap<Place, Attr>,
    /// Bytes read so far.
    copied: u64,
}

impl Tensors {
    /// Reads the tables of the archive's model.
    pub fn new(mut archive: Archive, model: &str) -> Result<Tensors> {
        let mut table = |folder: Folder, what: &str| -> Result<PayloadConfig> {
            let name = format!("{}{model}_{what}_config.json", folder.path());
            let legacy = format!("{}{model}.pt", folder.path());
            if archive.has(&legacy) {
                return unsupported(format!(
                    "'{legacy}' is pickled, which ngc does not read; save the model anew"
                ));
            }
            let bytes = archive.json(&name)?;
            serde_json::from_slice(&bytes).map_err(|e| FormatError::Invalid(format!("{name}: {e}")))
        };
        let weights = table(Folder::Weights, "weights")?;
        let constants = table(Folder::Constants, "constants")?;
        Ok(Tensors { archive, weights, constants, read: HashMap::new(), copied: 0 })
    }

    /// Finds a tensor by its name in the program. A buffer that is not persistent lies with the constants.
    ///
    /// # Errors
    /// When it is missing, pickled, or does not lie within its file.
    pub fn find(&mut self, name: &str) -> Result<Stored> {
        let (payload, folder) = match (self.weights.config.get(name), self.constants.config.get(name)) {
            (Some(payload), _) => (payload, Folder::Weights),
            (None, Some(payload)) => (payload, Folder::Constants),
            (None, None) => return invalid("the archive does not have it"),
        };
        stored(&mut self.archive, payload, folder)
    }

    /// The constant attribute of a tensor.
    pub fn attribute(
        &mut self,
        function: &mut FunctionBuilder<'_>,
        name: &str,
        place: &Place,
    ) -> Result<Attr> {
        if let Some(attr) = self.read.get(place) {
            return Ok(attr.clone());
        }
        let size = self.archive.size(&place.file)?;
        self.copied = self.copied.saturating_add(size.max(bytes_of(place)? as u64));
        // Views of one storage are copies: more than the archive holds are a trap.
        if self.copied > self.archive.total.saturating_mul(2).saturating_add(MAX_REPEATED) {
            return unsupported(
                "the tensors overlap so often in their files that they take many times their size",
            );
        }
        let storage = self.archive.read(&place.file, u64::MAX)?;
        let bytes = strided(place, storage)?;
        let attr = function.weight(name, place.ty(), bytes);
        self.read.insert(place.clone(), attr.clone());
        Ok(attr)
    }
}

fn bytes_of(place: &Place) -> Result<usize> {
    element_count(&place.sizes)
        .ok()
        .and_then(|count| count.checked_mul(place.dtype.storage_bytes()))
        .ok_or_else(|| FormatError::Invalid(format!("sizes {:?} take too many bytes", place.sizes)))
}

fn stored(archive: &mut Archive, payload: &Payload, folder: Folder) -> Result<Stored> {
    let file = &payload.path_name;
    if payload.use_pickle {
        return unsupported(format!("file '{}' is pickled, which ngc does not read", file.escape_debug()));
    }
    if file.is_empty() || file.contains(['/', '\\']) || file == ".." {
        return invalid(format!("path_name '{}' leads out of its folder", file.escape_debug()));
    }
    let Some(meta) = &payload.tensor_meta else {
        return unsupported(format!("file '{}' holds no tensor", file.escape_debug()));
    };
    let path = format!("{}{file}", folder.path());
    // Parts of complex numbers lie in turn.
    let part = part_type(meta.dtype);
    let mut place = Place {
        dtype: part.map_or_else(|| dtype(meta.dtype), Ok)?,
        sizes: numbers("size", &meta.sizes)?,
        strides: numbers("stride", &meta.strides)?,
        offset: numbers("storage_offset", std::slice::from_ref(&meta.storage_offset))?.into_iter().sum(),
        file: path,
    };
    check_layout(meta)?;
    let within = |text: String| FormatError::Invalid(format!("file '{}': {text}", file.escape_debug()));
    if place.sizes.len() != place.strides.len() {
        return Err(within(format!("sizes {:?} have the strides {:?}", place.sizes, place.strides)));
    }
    let mut parts = 1;
    if part.is_some() {
        parts = 2;
        let doubled = |n: usize| n.checked_mul(2);
        let all = place.strides.iter().map(|&n| doubled(n)).collect::<Option<_>>().zip(doubled(place.offset));
        let Some(all) = all else { return Err(within(format!("strides {:?}", place.strides))) };
        (place.strides, place.offset) = all;
    }
    let size = archive.size(&place.file)?;
    let bytes = bytes_of(&place)? as u64;
    // The place of the last element.
    let last = place.sizes.iter().zip(&place.strides).try_fold(place.offset, |at, (&size, &stride)| {
        at.checked_add(size.saturating_sub(1).checked_mul(stride)?)
    });
    let end = last.and_then(|last| last.checked_add(parts)?.checked_mul(place.dtype.storage_bytes()));
    if bytes > 0 && end.is_none_or(|end| end as u64 > size) {
        return Err(within(format!(
            "sizes {:?}, strides {:?} and offset {} of {} do not fit in {size} bytes",
            place.sizes,
            place.strides,
            place.offset,
            place.dtype.name()
        )));
    }
    if bytes > size.saturating_add(MAX_REPEATED) {
        return unsupported(format!(
            "file '{}': {bytes} bytes that repeat the {size} in the file",
            file.escape_debug()
        ));
    }
    Ok(match part {
        None => Stored::Real(place),
        Some(_) => Stored::Complex([0, 1].map(|n| Place { offset: place.offset + n, ..place.clone() })),
    })
}

/// Only strided tensors lie as their strides say.
pub(super) fn check_layout(meta: &TensorMeta) -> Result<()> {
    match meta.layout {
        7 => Ok(()),
        1..=5 => unsupported("a sparse tensor"),
        layout => unsupported(format!("a tensor of layout {layout}")),
    }
}

fn numbers(what: &str, list: &[SymInt]) -> Result<Vec<usize>> {
    let number = |n: &SymInt| match n {
        SymInt::AsInt(n) => usize::try_from(*n).map_err(|_| FormatError::Invalid(format!("a {what} of {n}"))),
        SymInt::AsExpr(e) => {
            invalid(format!("the {what} '{}' of a stored tensor", e.expr_str.escape_debug()))
        }
    };
    list.iter().map(number).collect()
}

/// The elements in row-major order. The place lies within the storage.
pub fn strided(place: &Place, storage: Bytes) -> Result<Bytes> {
    let element = place.dtype.storage_bytes();
    let bytes = bytes_of(place)?;
    let outside = || FormatError::Invalid("an element beyond the end of its file".into());
    let mut expected = 1usize;
    let contiguous = place.sizes.iter().zip(&place.strides).rev().all(|(&size, &stride)| {
        let fits = size <= 1 || stride == expected;
        expected = expected.saturating_mul(size.max(1));
        fits
    });
    if contiguous && place.offset == 0 && storage.len() == bytes {
        return Ok(storage);
    }
    if contiguous {
        let start = place.offset.saturating_mul(element);
        let part = if bytes == 0 { Some(&[][..]) } else { storage.get(start..start.saturating_add(bytes)) };
        return part.map(|part| storage.slice_ref(part)).ok_or_else(outside);
    }
    let mut out = Vec::with_capacity(bytes);
    let mut index = vec![0usize; place.sizes.len()];
    let mut at = place.offset;
    while out.len() < bytes {
        out.extend_from_slice(storage.get(at * element..(at + 1) * element).ok_or_else(outside)?);
        // The next index, the last dimension fastest.
        for axis in (0..index.len()).rev() {
            // The stride of a dimension of extent 1 may be any number, which comes and goes.
            index[axis] += 1;
            at = at.wrapping_add(place.strides[axis]);
            if index[axis] < place.sizes[axis] {
                break;
            }
            at = at.wrapping_sub(place.strides[axis].wrapping_mul(place.sizes[axis]));
            index[axis] = 0;
        }
    }
    Ok(out.into())
}
