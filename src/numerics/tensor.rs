//! Dense row-major tensors, and index maps: every structural operation (transpose, slice, gather, pad ...) is one
//! [`Tensor::select`] with the right indices.

use rug::Float;

use crate::{DType, Format};

/// A dense row-major tensor. Rank 0 is a scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The element type.
    pub dtype: DType,
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Data,
}

/// The elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Values of the tensor's format, embedded in `f64`.
    Float(Vec<f64>),
    /// Integers; truth values are 0 and 1.
    Int(Vec<i64>),
    /// Big floats, in place of `Float` in high-precision evaluation.
    Real(Vec<Float>),
}

impl Data {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::Float(v) => v.len(),
            Data::Int(v) => v.len(),
            Data::Real(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Tensor {
    /// A tensor of the given parts.
    ///
    /// # Errors
    /// When the number of elements is not the shape's, or integers meet a float type or the reverse.
    pub fn new(dtype: DType, shape: Vec<usize>, data: Data) -> Result<Tensor, String> {
        let count = element_count(&shape)?;
        if data.len() != count {
            return Err(format!(
                "shape {} has {count} elements, but {} were given",
                show(&shape),
                data.len()
            ));
        }
        if dtype.is_float() == matches!(data, Data::Int(_)) {
            return Err(format!("elements do not match the element type {dtype}"));
        }
        Ok(Tensor { dtype, shape, data })
    }

    /// Values rounded to `format`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn floats(format: Format, shape: Vec<usize>, values: Vec<f64>) -> Result<Tensor, String> {
        let values = values.into_iter().map(|x| format.round(x)).collect();
        Tensor::new(DType::Float(format), shape, Data::Float(values))
    }

    /// Integers reduced to the range of `dtype`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn ints(dtype: DType, shape: Vec<usize>, values: Vec<i64>) -> Result<Tensor, String> {
        let values = values.into_iter().map(|x| dtype.wrap(x)).collect();
        Tensor::new(dtype, shape, Data::Int(values))
    }

    /// A scalar, `x` rounded to `format`.
    pub fn scalar(format: Format, x: f64) -> Tensor {
        Tensor { dtype: DType::Float(format), shape: vec![], data: Data::Float(vec![format.round(x)]) }
    }

    /// An integer scalar, reduced to the range of `dtype`.
    pub fn int_scalar(dtype: DType, x: i64) -> Tensor {
        Tensor { dtype, shape: vec![], data: Data::Int(vec![dtype.wrap(x)]) }
    }

    /// A truth value.
    pub fn bool_scalar(x: bool) -> Tensor {
        Tensor::int_scalar(DType::BOOL, x.into())
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The elements as `f64`: exact for formats, integers up to 2^53 and booleans, nearest for big floats.
    pub fn to_f64s(&self) -> Vec<f64> {
        match &self.data {
            Data::Float(v) => v.clone(),
            Data::Int(v) => v.iter().map(|&x| x as f64).collect(),
            Data::Real(v) => v.iter().map(Float::to_f64).collect(),
        }
    }

    /// The elements of an integer tensor.
    pub fn as_ints(&self) -> Option<&[i64]> {
        match &self.data {
            Data::Int(v) => Some(v),
            _ => None,
        }
    }

    /// The elements of a rounded floating-point tensor.
    pub fn as_floats(&self) -> Option<&[f64]> {
        match &self.data {
            Data::Float(v) => Some(v),
            _ => None,
        }
    }

    /// Reads little-endian elements: i1 takes one byte, tf32 three.
    ///
    /// # Errors
    /// When the length is not that of the shape.
    pub fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: &[u8]) -> Result<Tensor, String> {
        let count = element_count(&shape)?;
        let size = dtype.storage_bytes();
        if count.checked_mul(size) != Some(bytes.len()) {
            return Err(format!(
                "shape {} of {dtype} takes {count} elements of {size} bytes, but {} bytes were given",
                show(&shape),
                bytes.len()
            ));
        }
        if let DType::Float(Format::F32) = dtype {
            // By far the most common, and the processor's own.
            let numbers = bytes.as_chunks().0.iter().map(|&chunk| f64::from(f32::from_le_bytes(chunk)));
            return Ok(Tensor { dtype, shape, data: Data::Float(numbers.collect()) });
        }
        let words = bytes
            .chunks_exact(size)
            .map(|chunk| chunk.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte)));
        let data = match dtype {
            DType::Float(format) => Data::Float(words.map(|word| format.from_bits(word)).collect()),
            DType::Int(1) => Data::Int(words.map(|word| i64::from(word != 0)).collect()),
            _ => Data::Int(words.map(|word| dtype.wrap(word as i64)).collect()),
        };
        Ok(Tensor { dtype, shape, data })
    }

    /// The elements in little-endian order, as [`from_bytes`](Self::from_bytes) reads them; big floats are rounded to
    /// the element type.
    pub fn to_bytes(&self) -> Vec<u8> {
        let format = self.dtype.format().unwrap_or(Format::F64);
        let size = self.dtype.storage_bytes();
        let mut bytes = Vec::with_capacity(self.len() * size);
        let mut push = |word: u64| bytes.extend_from_slice(&word.to_le_bytes()[..size]);
        match &self.data {
            Data::Float(v) => v.iter().for_each(|&x| push(format.to_bits(x))),
            Data::Int(v) => v.iter().for_each(|&x| push(x as u64)),
            Data::Real(v) => v.iter().for_each(|x| push(format.to_bits(format.round_real(x)))),
        }
        bytes
    }

    /// The tensor of `shape` whose element `i` is this tensor's element `index[i]`.
    ///
    /// # Panics
    /// When an index is out of range or the number of indices is not the shape's: both are the caller's arithmetic.
    pub fn select(&self, shape: Vec<usize>, index: &[usize]) -> Tensor {
        assert_eq!(element_count(&shape), Ok(index.len()), "indices must fill the shape");
        let data = match &self.data {
            Data::Float(v) => Data::Float(index.iter().map(|&i| v[i]).collect()),
            Data::Int(v) => Data::Int(index.iter().map(|&i| v[i]).collect()),
            Data::Real(v) => Data::Real(index.iter().map(|&i| v[i].clone()).collect()),
        };
        Tensor { dtype: self.dtype, shape, data }
    }

    /// As [`select`](Self::select), with the scalar `fill` where there is no index.
    ///
    /// # Errors
    /// When `fill` is not a single element of the same kind.
    ///
    /// # Panics
    /// As [`select`](Self::select).
    pub fn select_or(
        &self,
        shape: Vec<usize>,
        index: &[Option<usize>],
        fill: &Tensor,
    ) -> Result<Tensor, String> {
        assert_eq!(element_count(&shape), Ok(index.len()), "indices must fill the shape");
        fn pick<T: Clone>(v: &[T], index: &[Option<usize>], fill: &T) -> Vec<T> {
            index.iter().map(|i| i.map_or(fill, |i| &v[i]).clone()).collect()
        }
        let data = match (&self.data, &fill.data) {
            (Data::Float(v), Data::Float(f)) if f.len() == 1 => Data::Float(pick(v, index, &f[0])),
            (Data::Int(v), Data::Int(f)) if f.len() == 1 => Data::Int(pick(v, index, &f[0])),
            (Data::Real(v), Data::Real(f)) if f.len() == 1 => Data::Real(pick(v, index, &f[0])),
            (Data::Real(v), Data::Float(f)) if f.len() == 1 => {
                let bits = v.iter().map(Float::prec).max().unwrap_or(53).max(53);
                Data::Real(pick(v, index, &Float::with_val(bits, f[0])))
            }
            _ => {
                return Err(format!(
                    "the fill value must be one {} element, but it is a {} of shape {}",
                    self.dtype,
                    fill.dtype,
                    show(&fill.shape)
                ));
            }
        };
        Ok(Tensor { dtype: self.dtype, shape, data })
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// When the numbers of elements differ.
    pub fn reshape(self, shape: Vec<usize>) -> Result<Tensor, String> {
        let from = show(&self.shape);
        let count = self.len();
        if element_count(&shape)? != count {
            return Err(format!("cannot reshape {from} ({count} elements) to {}", show(&shape)));
        }
        Ok(Tensor { shape, ..self })
    }

    /// The tensor repeated to `shape` by NumPy's rule.
    ///
    /// # Errors
    /// When the shapes do not broadcast; the message names the dimensions.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Tensor, String> {
        Ok(self.select(shape.to_vec(), &broadcast_index(&self.shape, shape)?))
    }

    /// Elements along other axes: dimension `i` of the result is dimension `permutation[i]` of the tensor.
    ///
    /// # Errors
    /// When `permutation` is none of the tensor's rank.
    pub fn transpose(&self, permutation: &[usize]) -> Result<Tensor, String> {
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.rank()) {
            return Err(format!("{permutation:?} does not permute the {} dimensions", self.rank()));
        }
        let strides = strides(&self.shape);
        let shape: Vec<usize> = permutation.iter().map(|&axis| self.shape[axis]).collect();
        let moved: Vec<isize> = permutation.iter().map(|&axis| strides[axis] as isize).collect();
        let index = strided_index(&shape, 0, &moved);
        Ok(self.select(shape, &index))
    }
}

/// The number of elements of a shape.
///
/// # Errors
/// When it does not fit in `isize`.
pub fn element_count(shape: &[usize]) -> Result<usize, String> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |count, &extent| count.checked_mul(extent))
        .filter(|&count| count <= isize::MAX as usize)
        .ok_or_else(|| format!("shape {} has too many elements", show(shape)))
}

/// Row-major strides, in elements.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
    }
    strides
}

/// The positions `offset + Σ i_k·strides[k]` for all multi-indices `i` of `shape` in row-major order. Transposition,
/// slicing, broadcasting (stride 0) and reversal (negative stride) are all of this form.
///
/// # Panics
/// When a position is negative or the shape is too large.
pub fn strided_index(shape: &[usize], offset: isize, strides: &[isize]) -> Vec<usize> {
    let count = element_count(shape).expect("the caller checked the shape");
    let mut index = Vec::with_capacity(count);
    let mut at = vec![0usize; shape.len()];
    let mut position = offset;
    while index.len() < count {
        index.push(usize::try_from(position).expect("positions are not negative"));
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            position += strides[axis];
            if at[axis] < shape[axis] {
                break;
            }
            position -= strides[axis] * shape[axis] as isize;
            at[axis] = 0;
        }
    }
    index
}

/// The common shape of two operands by NumPy's rule.
///
/// # Errors
/// Names the dimensions that differ with neither of them 1.
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let extent =
        |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    (0..rank)
        .map(|axis| match (extent(a, axis), extent(b, axis)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            (x, y) => Err(format!(
                "shapes {} and {} do not broadcast: dimension {axis} is {x} in one and {y} in the other",
                show(a),
                show(b)
            )),
        })
        .collect()
}

/// For each element of a tensor of shape `to`, the element of a tensor of shape `from` that is broadcast to it.
///
/// # Errors
/// When `from` does not broadcast to exactly `to`.
pub fn broadcast_index(from: &[usize], to: &[usize]) -> Result<Vec<usize>, String> {
    if broadcast_shapes(from, to)? != to {
        return Err(format!("shape {} does not broadcast to {}", show(from), show(to)));
    }
    element_count(to)?;
    let lead = to.len() - from.len();
    let own = strides(from);
    let repeated: Vec<isize> = (0..to.len())
        .map(|axis| match axis.checked_sub(lead) {
            Some(i) if from[i] != 1 => own[i] as isize,
            _ => 0,
        })
        .collect();
    Ok(strided_index(to, 0, &repeated))
}

/// A shape as the IR spells it: `2x3`, or `scalar`.
pub fn show(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}
