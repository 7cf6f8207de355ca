//! Reductions along axes.

use std::cmp::Ordering;

use rug::Float;

use crate::evaluator::{Evaluator, Mode, fill, floats};
use crate::primitives::{maximum, minimum};
use crate::sum::{Accumulator, SumMethod, sum_lanes, with_accumulator};
use crate::tensor::{element_count, show};
use crate::{DType, Data, Format, Tensor};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The sum; 0 of nothing.
    Sum,
    /// The product; 1 of nothing.
    Prod,
    /// The greatest; NaN if one is, the least value of the type of nothing (-inf).
    Max,
    /// The least; NaN if one is, the greatest value of the type of nothing (+inf).
    Min,
}

impl Reduce {
    /// The number that it gives of no numbers.
    pub fn of_nothing(self) -> f64 {
        match self {
            Reduce::Sum => 0.0,
            Reduce::Prod => 1.0,
            Reduce::Max => f64::NEG_INFINITY,
            Reduce::Min => f64::INFINITY,
        }
    }
}

/// Lanes that one task reduces side by side.
const BLOCK: usize = 256;

impl Evaluator {
    /// Reduces along `axes` (all of different axes; none reduces nothing), in row-major order of the reduced elements.
    ///
    /// Sums and products of floats: elements are rounded to `acc`, every operation rounds to `acc`, and the result is
    /// rounded to the element type; `method` says how a sum is added up, products go one after another. In big-float mode
    /// sums are exact and rounded once. Integers wrap.
    ///
    /// # Errors
    /// When an axis is out of range or named twice.
    pub fn reduce(
        &self,
        op: Reduce,
        tensor: &Tensor,
        axes: &[usize],
        keepdims: bool,
        acc: Format,
        method: SumMethod,
    ) -> Result<Tensor, String> {
        let layout = Layout::new(tensor, axes, keepdims)?;
        let Layout { count, lanes, .. } = layout;
        let reduced = layout.leading(tensor)?;
        let data = match (&reduced.data, tensor.dtype) {
            (Data::Int(v), dtype) => Data::Int(fill(lanes, BLOCK, |lane| {
                let terms = (0..count).map(|k| v[k * lanes + lane]);
                let (least, greatest) = dtype.int_range();
                dtype.wrap(match op {
                    Reduce::Sum => terms.fold(0, i64::wrapping_add),
                    Reduce::Prod => terms.fold(1, i64::wrapping_mul),
                    Reduce::Max => terms.fold(least, i64::max),
                    Reduce::Min => terms.fold(greatest, i64::min),
                })
            })),
            (_, DType::Float(format)) => match self.mode {
                Mode::Real { bits } => {
                    let v = self.reals(&reduced, bits);
                    Data::Real(fill(lanes, 16, |lane| {
                        reduce_reals(op, bits, (0..count).map(|k| &v[k * lanes + lane]))
                    }))
                }
                _ => {
                    let (acc, format) = (self.format(acc), self.format(format));
                    let v = floats(&reduced);
                    Data::Float(match op {
                        Reduce::Max => extreme(&v, count, lanes, op.of_nothing(), format, maximum),
                        Reduce::Min => extreme(&v, count, lanes, op.of_nothing(), format, minimum),
                        Reduce::Sum => with_accumulator!(acc, acc => blocks(lanes, |first, width| {
                            sum_lanes(acc, method, count, width, |k, row| {
                                let terms = &v[k * lanes + first..][..width];
                                row.iter_mut().zip(terms).for_each(|(x, &term)| *x = acc.round(term));
                            })
                            .into_iter()
                            .map(|sum| format.round(acc.widen(sum)))
                            .collect()
                        })),
                        Reduce::Prod => with_accumulator!(acc, acc => fill(lanes, BLOCK, |lane| {
                            let terms = (0..count).map(|k| acc.round(v[k * lanes + lane]));
                            format.round(acc.widen(terms.fold(acc.round(1.0), |product, x| acc.mul(product, x))))
                        })),
                    })
                }
            },
            (_, dtype) => return Err(format!("a tensor of {dtype} holds floats")),
        };
        Ok(Tensor { dtype: tensor.dtype, shape: layout.shape, data })
    }

    /// The position of the greatest element along an axis, as i64: the first, or the last if `select_last`, of equal
    /// ones. NaN counts as the greatest of all.
    ///
    /// # Errors
    /// When the axis is out of range or has no elements.
    pub fn argmax(
        &self,
        tensor: &Tensor,
        axis: usize,
        keepdims: bool,
        select_last: bool,
    ) -> Result<Tensor, String> {
        let layout = Layout::new(tensor, &[axis], keepdims)?;
        let Layout { count, lanes, .. } = layout;
        if count == 0 && lanes > 0 {
            return Err(format!(
                "argmax along dimension {axis} of {}, which has no elements",
                show(&tensor.shape)
            ));
        }
        let reduced = layout.leading(tensor)?;
        let best = |compare: &(dyn Fn(usize, usize) -> Ordering + Sync)| {
            fill(lanes, BLOCK, |lane| {
                (1..count).fold(0, |best, k| {
                    let wins = match compare(k * lanes + lane, best * lanes + lane) {
                        Ordering::Greater => true,
                        Ordering::Equal => select_last,
                        Ordering::Less => false,
                    };
                    if wins { k } else { best }
                }) as i64
            })
        };
        let nan_greatest = |order: Option<Ordering>, x_is_nan: bool, y_is_nan: bool| {
            order.unwrap_or_else(|| x_is_nan.cmp(&y_is_nan))
        };
        let positions = match &reduced.data {
            Data::Int(v) => best(&|i, j| v[i].cmp(&v[j])),
            Data::Float(v) => {
                best(&|i, j| nan_greatest(v[i].partial_cmp(&v[j]), v[i].is_nan(), v[j].is_nan()))
            }
            Data::Real(v) => {
                best(&|i, j| nan_greatest(v[i].partial_cmp(&v[j]), v[i].is_nan(), v[j].is_nan()))
            }
        };
        Ok(Tensor { dtype: DType::Int(64), shape: layout.shape, data: Data::Int(positions) })
    }
}

/// The reduced axes moved to the front: `count` terms in each of `lanes` lanes.
struct Layout {
    permutation: Vec<usize>,
    count: usize,
    lanes: usize,
    shape: Vec<usize>,
}

impl Layout {
    fn new(tensor: &Tensor, axes: &[usize], keepdims: bool) -> Result<Layout, String> {
        let rank = tensor.rank();
        for (i, &axis) in axes.iter().enumerate() {
            if axis >= rank {
                return Err(format!("axis {axis} is out of range for shape {}", show(&tensor.shape)));
            }
            if axes[..i].contains(&axis) {
                return Err(format!("axis {axis} is named twice"));
            }
        }
        let (mut permutation, kept): (Vec<usize>, Vec<usize>) =
            (0..rank).partition(|axis| axes.contains(axis));
        let extents =
            |axes: &[usize]| -> Vec<usize> { axes.iter().map(|&axis| tensor.shape[axis]).collect() };
        let (count, lanes) = (element_count(&extents(&permutation))?, element_count(&extents(&kept))?);
        let shape = if keepdims {
            (0..rank).map(|axis| if axes.contains(&axis) { 1 } else { tensor.shape[axis] }).collect()
        } else {
            extents(&kept)
        };
        permutation.extend(kept);
        Ok(Layout { permutation, count, lanes, shape })
    }

    fn leading<'a>(&self, tensor: &'a Tensor) -> Result<std::borrow::Cow<'a, Tensor>, String> {
        if self.permutation.iter().copied().eq(0..tensor.rank()) {
            return Ok(std::borrow::Cow::Borrowed(tensor));
        }
        tensor.transpose(&self.permutation).map(std::borrow::Cow::Owned)
    }
}

/// Computes the lanes in fixed blocks; `f` takes the first lane and the number of lanes.
pub(crate) fn blocks<T: Send>(lanes: usize, f: impl Fn(usize, usize) -> Vec<T> + Sync + Send) -> Vec<T> {
    fill(lanes.div_ceil(BLOCK), 1, |block| {
        let first = block * BLOCK;
        f(first, BLOCK.min(lanes - first))
    })
    .into_iter()
    .flatten()
    .collect()
}

fn extreme(
    v: &[f64],
    count: usize,
    lanes: usize,
    start: f64,
    format: Format,
    f: fn(f64, f64) -> f64,
) -> Vec<f64> {
    fill(lanes, BLOCK, |lane| format.round((0..count).map(|k| v[k * lanes + lane]).fold(start, f)))
}

fn reduce_reals<'a>(op: Reduce, bits: u32, mut terms: impl Iterator<Item = &'a Float> + Clone) -> Float {
    let extreme = |wanted: Ordering, terms: &mut dyn Iterator<Item = &'a Float>| {
        let mut best = Float::with_val(bits, op.of_nothing());
        for x in terms {
            if x.is_nan() {
                return x.clone();
            }
            if x.partial_cmp(&best) == Some(wanted) {
                best.clone_from(x);
            }
        }
        best
    };
    match op {
        Reduce::Sum => Float::with_val(bits, Float::sum(terms)),
        Reduce::Prod => {
            // Each factor adds at most one unit of the wider precision; 64 more bits leave the last place alone.
            let wide = bits.saturating_add(64);
            let product = terms.fold(Float::with_val(wide, 1), |product, x| product * x);
            Float::with_val(bits, product)
        }
        Reduce::Max => extreme(Ordering::Greater, &mut terms),
        Reduce::Min => extreme(Ordering::Less, &mut terms),
    }
}
