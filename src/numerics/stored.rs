//! Constants as analyses ask about them: their elements stay in the bytes in which they are stored, however an op has
//! rearranged them, and what is found of them lies beside the bytes, so that it is found once.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use smallvec::SmallVec;

use crate::facts::Facts;
use crate::kinds::{self, Kinds};
use crate::tensor::{element_count, show};
use crate::weights::{self, Weights};
use crate::{DType, Data, Extent, Format, Tensor};

/// Little-endian elements, one byte for i1, three for tf32, and what has been found of them. Copies share both.
#[derive(Clone, Default)]
pub struct Payload {
    bytes: Bytes,
    found: Arc<Mutex<ByView>>,
}

/// What has been found, by view.
type ByView = Vec<(Key, Arc<Found>)>;

/// How bytes are read: the type in which they are stored, and the view.
type Key = (DType, View);

/// What has been found of the elements of a view.
#[derive(Debug, Default)]
struct Found {
    facts: OnceLock<Facts>,
    norm2: OnceLock<Option<f64>>,
    kinds: OnceLock<Option<Kinds>>,
    weights: Mutex<Vec<(Range<usize>, Channels)>>,
}

/// The weights of each channel, if there are any.
type Channels = Option<Arc<[Weights]>>;

/// Takes a run of elements, with the number of the first of them and their distance in numbers.
pub(crate) type Taker<'a> = &'a mut dyn FnMut(&[f64], (usize, usize));

impl<T: Into<Bytes>> From<T> for Payload {
    fn from(bytes: T) -> Payload {
        Payload { bytes: bytes.into(), found: Arc::default() }
    }
}

impl Deref for Payload {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        Arc::ptr_eq(&self.found, &other.found) || self.bytes == other.bytes
    }
}

impl Eq for Payload {}

impl Hash for Payload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes.fmt(f)
    }
}

/// Which elements a constant has, by their numbers in the store: `offset + Σ i_k stride_k` at place `i`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct View {
    offset: isize,
    /// Extent and stride of each dimension; the stride is 0 where there is one place.
    dims: SmallVec<[(usize, isize); 4]>,
}

impl View {
    fn new(shape: &[usize], offset: isize, strides: impl IntoIterator<Item = isize>) -> View {
        let dim = |(&n, stride): (&usize, isize)| (n, if n == 1 { 0 } else { stride });
        View { offset, dims: shape.iter().zip(strides).map(dim).collect() }
    }

    fn row_major(shape: &[usize]) -> View {
        View::new(shape, 0, crate::tensor::strides(shape).into_iter().map(|n| n as isize))
    }

    fn len(&self) -> usize {
        self.dims.iter().map(|&(n, _)| n).product()
    }

    /// Whether all places lie among so many stored elements.
    fn is_within(&self, stored: usize) -> bool {
        let end = |sign: isize| {
            self.dims.iter().try_fold(self.offset, |at, &(n, stride)| {
                let last = stride.checked_mul(isize::try_from(n).ok()?.checked_sub(1)?)?;
                if last * sign > 0 { at.checked_add(last) } else { Some(at) }
            })
        };
        let ends = || Some((end(-1)?, end(1)?));
        self.len() == 0 || ends().is_some_and(|(least, most)| least >= 0 && (most as usize) < stored)
    }

    /// Whether it has each of so many stored elements once.
    fn is_rearrangement(&self, stored: usize) -> bool {
        let mut dims: SmallVec<[(isize, usize); 4]> =
            self.dims.iter().filter(|(n, _)| *n > 1).map(|&(n, stride)| (stride, n)).collect();
        dims.sort_unstable();
        let mut next = 1isize;
        let packed = dims.iter().all(|&(stride, n)| {
            let fits = stride == next;
            next = next.saturating_mul(n as isize);
            fits
        });
        self.offset == 0 && packed && self.len() == stored
    }

    /// The number in the store of the element with this number in row-major order.
    fn at(&self, flat: usize) -> usize {
        let (mut rest, mut at) = (flat, self.offset);
        for &(n, stride) in self.dims.iter().rev() {
            at += (rest % n) as isize * stride;
            rest /= n;
        }
        at as usize
    }
}

/// A dimension of a walk: its extent, the stride in the store, and the stride in numbers that the walker counts by.
type Dim = (usize, isize, usize);

/// The elements of a constant. One whose elements are all the same may have a single one, with 1 for each extent.
#[derive(Clone, Debug)]
pub struct StoredTensor {
    /// The type of the elements.
    pub dtype: DType,
    /// The type in which they are stored; every element is a value of both.
    stored: DType,
    view: View,
    bytes: Payload,
    found: Arc<Found>,
}

impl StoredTensor {
    /// All elements of a store, in row-major order.
    ///
    /// # Errors
    /// When the length is not that of the shape.
    pub fn new(dtype: DType, shape: &[usize], bytes: Payload) -> Result<StoredTensor, String> {
        let (count, size) = (element_count(shape)?, dtype.storage_bytes());
        if count.checked_mul(size) != Some(bytes.len()) {
            return Err(format!(
                "shape {} of {dtype} takes {count} elements of {size} bytes, but {} bytes were given",
                show(shape),
                bytes.len()
            ));
        }
        Ok(StoredTensor::of_view(dtype, dtype, View::row_major(shape), bytes))
    }

    /// The elements of a tensor; big floats are rounded to the element type.
    pub fn of(tensor: &Tensor) -> StoredTensor {
        let view = View::row_major(&tensor.shape);
        StoredTensor::of_view(tensor.dtype, tensor.dtype, view, tensor.to_bytes().into())
    }

    /// The same store, seen as elements of another shape: at place `i` the stored one with the number `offset + Σ i_k
    /// strides_k`. Nothing where one of them does not exist.
    pub fn viewed(&self, shape: &[usize], offset: isize, strides: &[isize]) -> Option<StoredTensor> {
        let (stored, view) = (self.stored_len(), View::new(shape, offset, strides.iter().copied()));
        view.is_within(stored).then_some(())?;
        let same = self.view.is_rearrangement(stored) && view.is_rearrangement(stored);
        let viewed = StoredTensor::of_view(self.dtype, self.stored, view, self.bytes.clone());
        if let Some(facts) = self.found.facts.get().filter(|_| same) {
            viewed.found.facts.get_or_init(|| *facts);
        }
        Some(viewed)
    }

    /// The same elements in another type; nothing where one is no value of it.
    pub fn converted(&self, dtype: DType) -> Option<StoredTensor> {
        let fits = |x: f64| dtype.format().is_some_and(|format| format.contains(x));
        let (from, to) = (self.dtype.format()?, dtype.format()?);
        let widens = to.precision() >= from.precision()
            && to.max_finite() >= from.max_finite()
            && to.min_subnormal() <= from.min_subnormal();
        let mut fitting = true;
        if !widens {
            self.each_run(&mut |values, _| fitting = fitting && values.iter().all(|&x| fits(x)), None);
        }
        fitting.then(|| StoredTensor { dtype, ..self.clone() })
    }

    fn of_view(dtype: DType, stored: DType, view: View, bytes: Payload) -> StoredTensor {
        let key = (stored, view.clone());
        let mut known = bytes.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match known.iter().find(|(k, _)| *k == key) {
            Some((_, found)) => found.clone(),
            None => {
                let found = Arc::new(Found::default());
                known.push((key, found.clone()));
                found
            }
        };
        drop(known);
        StoredTensor { dtype, stored, view, bytes, found }
    }

    fn stored_len(&self) -> usize {
        self.bytes.len() / self.stored.storage_bytes()
    }

    /// The extents.
    pub fn shape(&self) -> SmallVec<[usize; 4]> {
        self.view.dims.iter().map(|&(n, _)| n).collect()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.view.dims.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where elements lie in the store, as [`viewed`](Self::viewed) takes it: offset and strides.
    pub fn layout(&self) -> (isize, SmallVec<[isize; 4]>) {
        (self.view.offset, self.view.dims.iter().map(|&(_, stride)| stride).collect())
    }

    /// A number that no other constant has that lives at the same time, unless it has the same elements.
    pub fn place(&self) -> usize {
        Arc::as_ptr(&self.found) as usize
    }

    /// The element with a number in row-major order, as `f64`; nothing for integers beyond 2^53.
    ///
    /// # Panics
    /// When there is no such element.
    pub fn number(&self, flat: usize) -> Option<f64> {
        match self.stored {
            DType::Float(format) => Some(format.from_bits(self.word(self.view.at(flat)))),
            _ => self.integer(flat).filter(|n| n.unsigned_abs() <= 1 << 53).map(|n| n as f64),
        }
    }

    /// The element with a number in row-major order, where it is an integer by its type.
    ///
    /// # Panics
    /// When there is no such element.
    pub fn integer(&self, flat: usize) -> Option<i64> {
        (!self.stored.is_float()).then(|| integer(self.stored, self.word(self.view.at(flat))))
    }

    fn word(&self, at: usize) -> u64 {
        let size = self.stored.storage_bytes();
        word(&self.bytes[at * size..(at + 1) * size])
    }

    /// The elements as a tensor.
    pub fn tensor(&self) -> Tensor {
        let data = match self.stored {
            DType::Float(_) => {
                let mut values = vec![0.0; self.len()];
                self.each_run(&mut |run, at| scatter(&mut values, run, at), None);
                Data::Float(values)
            }
            _ => Data::Int((0..self.len()).map(|n| self.integer(n).unwrap_or(0)).collect()),
        };
        Tensor { dtype: self.dtype, shape: self.shape().to_vec(), data }
    }

    /// What is known of all elements.
    pub fn facts(&self) -> Facts {
        *self.found.facts.get_or_init(|| Facts::of(self))
    }

    /// The weights of each channel: all places along the axes `contracted` together. A constant of one element stands for
    /// `terms` of them, at least and at most. Nothing where an element is not finite.
    pub fn weights(&self, contracted: Range<usize>, terms: Extent) -> Option<Arc<[Weights]>> {
        if self.len() == 1 {
            return Weights::repeated(self.number(0)?, terms).map(|one| Arc::from([one]));
        }
        let known = || self.found.weights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, weights)) = known().iter().find(|(axes, _)| *axes == contracted) {
            return weights.clone();
        }
        let weights = Weights::of(self, contracted.clone()).map(Arc::from);
        known().push((contracted, weights.clone()));
        weights
    }

    /// The kinds of the elements, where the constant looks like a mask.
    pub fn kinds(&self) -> Option<Kinds> {
        *self.found.kinds.get_or_init(|| kinds::of(self))
    }

    /// Estimate of the 2-norm of the matrices that the last two axes make, the largest of them; it comes from below.
    /// Nothing where the constant is no matrix, or an element is not finite.
    pub fn norm2_estimate(&self) -> Option<f64> {
        *self.found.norm2.get_or_init(|| weights::norm2_estimate(self))
    }

    /// The parts of a constant along the dimension whose places lie farthest apart, and where each begins along it: about as
    /// large as to be worth a thread, the same on every machine.
    pub(crate) fn parts(&self) -> (usize, Vec<(usize, StoredTensor)>) {
        /// Elements of a part.
        const PART: usize = 1 << 18;
        let farthest = (0..self.rank()).max_by_key(|&d| self.view.dims[d].1.unsigned_abs());
        let Some(d) = farthest.filter(|_| self.len() > PART) else { return (0, vec![(0, self.clone())]) };
        let (n, stride) = self.view.dims[d];
        let step = (n * PART).div_ceil(self.len()).max(1);
        let part = |from: usize| {
            let mut view = self.view.clone();
            view.offset += from as isize * stride;
            view.dims[d].0 = step.min(n - from);
            // Nothing is remembered of a part.
            (from, StoredTensor { view, found: Arc::default(), ..self.clone() })
        };
        (d, (0..n).step_by(step).map(part).collect())
    }

    /// Calls `f` with runs of elements as `f64`, all of them in the end, in the order of the store, and with the number of
    /// the first of them and their distance in numbers: those of row-major order, or those that come from `numbers`, one
    /// stride a dimension.
    pub(crate) fn each_run(&self, f: Taker<'_>, numbers: Option<&[usize]>) {
        /// Elements that are decoded at once.
        const RUN: usize = 4096;
        if self.is_empty() {
            return;
        }
        let row_major = crate::tensor::strides(&self.shape());
        let numbers = numbers.unwrap_or(&row_major);
        let dims = self.view.dims.iter().zip(numbers).map(|(&(n, stride), &number)| (n, stride, number));
        let mut dims: SmallVec<[Dim; 4]> = dims.filter(|d| d.0 > 1).collect();
        dims.sort_by_key(|d| std::cmp::Reverse(d.1.unsigned_abs()));
        // Dimensions that go on where the next one ends are one with it.
        let mut joined: SmallVec<[Dim; 4]> = SmallVec::new();
        for dim in dims {
            match joined.last_mut() {
                Some(outer) if outer.1 == dim.1 * dim.0 as isize && outer.2 == dim.2 * dim.0 => {
                    *outer = (outer.0 * dim.0, dim.1, dim.2);
                }
                _ => joined.push(dim),
            }
        }
        let (count, stride, number) = joined.pop().unwrap_or((1, 1, 1));
        let mut places: SmallVec<[usize; 4]> = SmallVec::from_elem(0, joined.len());
        let mut values = vec![0.0; count.min(RUN)];
        loop {
            let outer = || joined.iter().zip(&places);
            let at = self.view.offset + outer().map(|(d, &i)| d.1 * i as isize).sum::<isize>();
            let first = outer().map(|(d, &i)| d.2 * i).sum::<usize>();
            for from in (0..count).step_by(RUN) {
                let run = &mut values[..RUN.min(count - from)];
                self.decode((at + from as isize * stride) as usize, stride, run);
                f(run, (first + from * number, number));
            }
            let Some(next) = (0..joined.len()).rev().find(|&d| places[d] + 1 < joined[d].0) else { return };
            places[next] += 1;
            places[next + 1..].fill(0);
        }
    }

    /// The elements along the last axis, in the row with this number.
    pub(crate) fn row(&self, number: usize, to: &mut [f64]) {
        let at = self.view.at(number * to.len());
        self.decode(at, self.view.dims.last().map_or(0, |d| d.1), to);
    }

    /// The same, or with its last two axes exchanged, so that what lies closer together is the last.
    pub(crate) fn with_close_rows(&self) -> StoredTensor {
        let mut close = StoredTensor { found: Arc::default(), ..self.clone() };
        if let [.., a, b] = &mut close.view.dims[..]
            && a.1.unsigned_abs() < b.1.unsigned_abs()
            && a.0 > 1
        {
            std::mem::swap(a, b);
        }
        close
    }

    /// Elements of the store from `at` on, each `stride` after the one before.
    fn decode(&self, at: usize, stride: isize, to: &mut [f64]) {
        let size = self.stored.storage_bytes();
        if let (1, DType::Float(Format::F32)) = (stride, self.stored) {
            // By far the most common, and the processor's own.
            let words = self.bytes[at * size..].as_chunks().0;
            to.iter_mut().zip(words).for_each(|(x, &word)| *x = f64::from(f32::from_le_bytes(word)));
            return;
        }
        let values = Decoder::of(self.stored);
        for (n, x) in to.iter_mut().enumerate() {
            let at = (at as isize + n as isize * stride) as usize;
            *x = values.number(word(&self.bytes[at * size..(at + 1) * size]));
        }
    }
}

/// A run into its places.
fn scatter(values: &mut [f64], run: &[f64], (first, step): (usize, usize)) {
    match step {
        1 => values[first..first + run.len()].copy_from_slice(run),
        _ => run.iter().enumerate().for_each(|(n, &x)| values[first + n * step] = x),
    }
}

/// A number of so many bytes, little endian.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The integer of a type that is stored as a word.
fn integer(dtype: DType, word: u64) -> i64 {
    if dtype == DType::BOOL { i64::from(word != 0) } else { dtype.wrap(word as i64) }
}

/// How stored words become numbers.
enum Decoder {
    /// By a table of all words of two bytes.
    Table(&'static [f64]),
    Float(Format),
    Integer(DType),
}

impl Decoder {
    fn of(dtype: DType) -> Decoder {
        static F16: OnceLock<Vec<f64>> = OnceLock::new();
        static BF16: OnceLock<Vec<f64>> = OnceLock::new();
        let table = |format: Format| (0..=u64::from(u16::MAX)).map(|word| format.from_bits(word)).collect();
        match dtype {
            DType::Float(Format::F16) => Decoder::Table(F16.get_or_init(|| table(Format::F16))),
            DType::Float(Format::Bf16) => Decoder::Table(BF16.get_or_init(|| table(Format::Bf16))),
            DType::Float(format) => Decoder::Float(format),
            integer => Decoder::Integer(integer),
        }
    }

    fn number(&self, word: u64) -> f64 {
        match self {
            Decoder::Table(table) => table[word as usize],
            Decoder::Float(format) => format.from_bits(word),
            Decoder::Integer(dtype) => integer(*dtype, word) as f64,
        }
    }
}
