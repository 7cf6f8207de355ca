//! Sliding windows over spatial dimensions: the index maps of convolution and pooling.

use ngc_ir::Signature;
use ngc_ir::op_def::{AttrDef, AttrKind, Default, attribute};
use ngc_ir::structure::{Index, Size, Test};
use ngc_numerics::tensor::element_count;

use crate::structure::inside;

/// Steps between windows.
pub const STRIDES: AttrDef = attribute(
    "strides",
    AttrKind::Ints,
    Default::Absent,
    "step between windows, a spatial dimension each; absent: 1",
);
/// Padding of the spatial dimensions.
pub const PADS: AttrDef = attribute(
    "pads",
    AttrKind::IntPairs,
    Default::Absent,
    "padding [before, after], a spatial dimension each; absent: none",
);
/// Steps within a window.
pub const DILATIONS: AttrDef = attribute(
    "dilations",
    AttrKind::Ints,
    Default::Absent,
    "step between the elements of a window, a spatial dimension each; absent: 1",
);

/// The windows along one spatial dimension.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    kernel: usize,
    stride: usize,
    before: usize,
    after: usize,
    dilation: usize,
}

/// What each window reads along one dimension: positions, or none in the padding.
pub type Reads = Vec<Vec<Option<usize>>>;

/// Extents and steps beyond this are refused, so that their arithmetic cannot overflow.
const LIMIT: i64 = 1 << 31;

impl Window {
    /// The windows of a kernel with the attributes `strides`, `pads` and `dilations`.
    ///
    /// # Errors
    /// When an attribute has not one entry a dimension, or one that is out of range.
    pub fn all(s: &Signature<'_>, kernel: &[usize]) -> Result<Vec<Window>, String> {
        let strides = counts(s, "strides", kernel.len(), 1)?;
        let dilations = counts(s, "dilations", kernel.len(), 1)?;
        let pads = pads(s, kernel.len())?;
        kernel
            .iter()
            .enumerate()
            .map(|(i, &kernel)| {
                if kernel == 0 || kernel as u64 > LIMIT as u64 {
                    return Err(format!("the kernel's extent {i} must be positive, but is {kernel}"));
                }
                let (before, after) = pads[i];
                Ok(Window { kernel, stride: strides[i], before, after, dilation: dilations[i] })
            })
            .collect()
    }

    /// How many windows fit dimension `axis` of extent `n`. With `ceil` one may hang over the end, if it starts before
    /// the padding there.
    ///
    /// # Errors
    /// When none fits.
    pub fn count(&self, n: usize, axis: usize, ceil: bool) -> Result<usize, String> {
        let span = (self.kernel - 1) as u64 * self.dilation as u64 + 1;
        let room = n as u64 + self.before as u64 + self.after as u64;
        let Some(rest) = room.checked_sub(span) else {
            return Err(format!(
                "a window that spans {span} elements does not fit dimension {axis} of extent {n} padded by {} and {}",
                self.before, self.after
            ));
        };
        let stride = self.stride as u64;
        if !ceil {
            return Ok((rest / stride + 1) as usize);
        }
        let steps = rest.div_ceil(stride);
        let beyond = steps * stride >= n as u64 + self.before as u64;
        Ok((if beyond && steps > 0 { steps } else { steps + 1 }) as usize)
    }

    /// What each of `count` windows reads of `n` elements.
    fn reads(&self, n: usize, count: usize) -> Reads {
        let position = |i: usize, k: usize| {
            (i * self.stride + k * self.dilation).checked_sub(self.before).filter(|&p| p < n)
        };
        (0..count).map(|i| (0..self.kernel).map(|k| position(i, k)).collect()).collect()
    }

    /// The position that the element at `k` of the window at `i` has, which may lie in the padding.
    pub fn position(&self, i: &Index, k: &Index) -> Option<Index> {
        let (i, k) = (i.scaled(self.stride as i64)?, k.scaled(self.dilation as i64)?);
        i.plus(&k)?.plus(&Index::number(-(self.before as i64)))
    }

    /// The tests that a position passes which lies in the `n` elements, and those of one in the padding too.
    pub fn inside(&self, at: &Index, n: &Size, space: &[Size]) -> Option<[Vec<Test>; 2]> {
        let padded = n.number()? + self.before as u64 + self.after as u64;
        let shifted = at.plus(&Index::number(self.before as i64))?;
        Some([inside(at, n, space)?, inside(&shifted, &Size::known(padded), space)?])
    }

    /// The number of elements of a window.
    pub fn size(&self) -> Size {
        Size::from(self.kernel)
    }

    /// For each window, how many of its elements lie in the `n` elements or their padding.
    pub fn padded_sizes(&self, n: usize, count: usize) -> Vec<usize> {
        let end = n + self.before + self.after;
        let inside =
            |i: usize| (0..self.kernel).filter(|k| i * self.stride + k * self.dilation < end).count();
        (0..count).map(inside).collect()
    }
}

/// What the windows over several dimensions read, `counts` of them along dimensions of the given extents.
///
/// # Errors
/// When that does not fit in memory.
pub fn all_reads(windows: &[Window], extents: &[usize], counts: &[usize]) -> Result<Reads, String> {
    let kernels = windows.iter().map(|window| window.kernel);
    index_for(&kernels.chain(counts.iter().copied()).collect::<Vec<usize>>())?;
    let dims: Vec<Reads> =
        windows.iter().zip(extents).zip(counts).map(|((w, &n), &count)| w.reads(n, count)).collect();
    Ok(product(extents, &dims))
}

/// The windows over several dimensions, row-major: what each reads of a row-major block of elements.
pub fn product(extents: &[usize], dims: &[Reads]) -> Reads {
    dims.iter().zip(extents).fold(vec![vec![Some(0)]], |outer, (inner, &n)| {
        let join = |a: &[Option<usize>], b: &[Option<usize>]| {
            a.iter().flat_map(|a| b.iter().map(move |b| Some((*a)? * n + (*b)?))).collect()
        };
        outer.iter().flat_map(|a| inner.iter().map(move |b| join(a, b))).collect()
    })
}

/// An empty index map with room for a shape; refused where memory is lacking.
pub fn index_for(shape: &[usize]) -> Result<Vec<Option<usize>>, String> {
    let count = element_count(shape)?;
    let mut index = Vec::new();
    index
        .try_reserve_exact(count)
        .map_err(|_| format!("the {count} elements of all windows do not fit in memory"))?;
    Ok(index)
}

/// An attribute with a positive integer for each of `rank` dimensions, or a default for all.
pub fn counts(s: &Signature<'_>, name: &str, rank: usize, default: usize) -> Result<Vec<usize>, String> {
    let Some(list) = s.ints(name) else { return Ok(vec![default; rank]) };
    if list.len() != rank {
        return Err(format!("attribute '{name}' must have {rank} entries, but has {}", list.len()));
    }
    match list.iter().find(|&&n| !(1..=LIMIT).contains(&n)) {
        Some(n) => Err(format!("attribute '{name}' must be positive (and at most {LIMIT}), but has {n}")),
        None => Ok(list.into_iter().map(|n| n as usize).collect()),
    }
}

fn pads(s: &Signature<'_>, rank: usize) -> Result<Vec<(usize, usize)>, String> {
    let Some(rows) = s.attr("pads").and_then(|a| a.as_array()) else { return Ok(vec![(0, 0); rank]) };
    let wrong =
        || format!("attribute 'pads' must have {rank} pairs [before, after] of integers from 0 to {LIMIT}");
    if rows.len() != rank {
        return Err(format!("{}, but has {}", wrong(), rows.len()));
    }
    rows.iter()
        .map(|row| match row.as_ints().as_deref() {
            Some(&[before, after]) if (0..=LIMIT).contains(&before) && (0..=LIMIT).contains(&after) => {
                Ok((before as usize, after as usize))
            }
            _ => Err(wrong()),
        })
        .collect()
}
