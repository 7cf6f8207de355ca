//! Batched matrix products, the one contraction to which matmul, affine, convolution and attention reduce.

use rug::{Float, float};

use crate::evaluator::{Evaluator, Mode, fill, floats};
use crate::sum::{Accumulator, SumMethod, sum_lanes, with_accumulator};
use crate::tensor::{element_count, show};
use crate::{DType, Data, Format, Tensor};

/// Columns of the result that one pass accumulates side by side.
const BLOCK: usize = 256;

impl Evaluator {
    /// `out[b, m, n] = Σ_k x[b, m, k]·y[b, k, n]` for `x` of shape BxMxK and `y` of shape BxKxN.
    ///
    /// Operands wider than `acc` are first rounded to it; each product is rounded to `acc`; the products are summed in
    /// `acc` in order of `k` by the method; the sum is rounded to the element type. In big-float mode the sum of exact products is
    /// rounded once. Integers wrap.
    ///
    /// # Errors
    /// When the element types differ or the shapes do not fit each other; the message names the dimensions.
    pub fn contract(&self, x: &Tensor, y: &Tensor, acc: Format, method: SumMethod) -> Result<Tensor, String> {
        let (&[batch, rows, inner], &[batch_y, inner_y, columns]) = (&x.shape[..], &y.shape[..]) else {
            return Err(format!(
                "a batched product needs two 3-d tensors, not {} and {}",
                show(&x.shape),
                show(&y.shape)
            ));
        };
        if batch != batch_y {
            return Err(format!(
                "batches differ: {batch} in {} and {batch_y} in {}",
                show(&x.shape),
                show(&y.shape)
            ));
        }
        if inner != inner_y {
            return Err(format!(
                "inner dimensions differ: {inner} columns in {} and {inner_y} rows in {}",
                show(&x.shape),
                show(&y.shape)
            ));
        }
        if x.dtype != y.dtype {
            return Err(format!("element types differ: {} and {}", x.dtype, y.dtype));
        }
        let shape = vec![batch, rows, columns];
        let count = element_count(&shape)?;
        let product = Product { inner, rows, columns };
        let data = match (&x.data, &y.data, x.dtype) {
            (_, _, DType::Int(_) | DType::Unsigned(_) | DType::Index) => {
                let (Some(a), Some(b)) = (x.as_ints(), y.as_ints()) else {
                    return Err(format!("a tensor of {} holds floats", x.dtype));
                };
                Data::Int(fill(count, 1024, |i| {
                    let terms = product.pairs(i).map(|(p, q)| a[p].wrapping_mul(b[q]));
                    x.dtype.wrap(terms.fold(0, i64::wrapping_add))
                }))
            }
            (_, _, DType::Float(format)) => match self.mode {
                Mode::Real { bits } => {
                    let (a, b) = (self.reals(x, bits), self.reals(y, bits));
                    Data::Real(fill(count, 16, |i| dot(bits, product.pairs(i).map(|(p, q)| (&a[p], &b[q])))))
                }
                _ => {
                    let (a, b, format) = (floats(x), floats(y), self.format(format));
                    with_accumulator!(self.format(acc), acc => {
                        Data::Float(product.rounded(acc, method, &a, &b, batch, format))
                    })
                }
            },
        };
        Ok(Tensor { dtype: x.dtype, shape, data })
    }
}

/// A sum of products, rounded once.
fn dot<'a>(bits: u32, pairs: impl Iterator<Item = (&'a Float, &'a Float)> + Clone) -> Float {
    // MPFR aborts the process where a product leaves its range of exponents.
    let moderate = |x: &Float| x.get_exp().is_none_or(|e| e.abs() < float::exp_max() / 4);
    if pairs.clone().all(|(x, y)| moderate(x) && moderate(y)) {
        return Float::with_val(bits, Float::dot(pairs));
    }
    let products: Vec<Float> = pairs.map(|(x, y)| Float::with_val(x.prec() + y.prec(), x * y)).collect();
    Float::with_val(bits, Float::sum(products.iter()))
}

/// The extents of one matrix product.
struct Product {
    inner: usize,
    rows: usize,
    columns: usize,
}

impl Product {
    /// The positions of the factors of element `i` of the result.
    fn pairs(&self, i: usize) -> impl Iterator<Item = (usize, usize)> + Clone + use<> {
        let (inner, columns) = (self.inner, self.columns);
        let (row, column) = (i / columns, i % columns);
        let matrix = row / self.rows;
        (0..inner).map(move |k| (row * inner + k, (matrix * inner + k) * columns + column))
    }

    fn rounded<A: Accumulator>(
        &self,
        acc: A,
        method: SumMethod,
        a: &[f64],
        b: &[f64],
        batch: usize,
        format: Format,
    ) -> Vec<f64> {
        let prepare = |v: &[f64]| -> Vec<A::Value> { v.iter().map(|&x| acc.round(x)).collect() };
        let (a, b) = (prepare(a), prepare(b));
        let blocks = self.columns.div_ceil(BLOCK);
        let parts = fill(batch * self.rows * blocks, 1, |task| {
            let (row, first) = (task / blocks, task % blocks * BLOCK);
            let width = BLOCK.min(self.columns - first);
            let matrix = row / self.rows;
            let sums = sum_lanes(acc, method, self.inner, width, |k, terms| {
                let factor = a[row * self.inner + k];
                let line = &b[(matrix * self.inner + k) * self.columns + first..][..width];
                terms.iter_mut().zip(line).for_each(|(term, &y)| *term = acc.mul(factor, y));
            });
            sums.into_iter().map(|sum| format.round(acc.widen(sum))).collect::<Vec<f64>>()
        });
        parts.into_iter().flatten().collect()
    }
}
