//! Contractions with a constant operand, by the values of its elements: for every channel of the result the signed sums of
//! its weights give the range, the sum of their magnitudes the Lipschitz constant and the rounding error.

use std::ops;

use ngc_ir::{Signature, Type};
use ngc_numerics::enclosure;
use ngc_numerics::figures::{add, half_ulp, intersect, magnitude, mul};
use ngc_numerics::summation::{Summation, narrowing};
use ngc_numerics::{
    Binary64, Enclosure, Extent, Figures, Format, Interval, Lengths, Operands, Prim, Range, Weights,
};

use crate::bounds::{self, ended, settled, summation, times};

/// Where a contraction has its weights, and where its bias.
pub(crate) struct Contraction {
    /// The number of terms of each sum.
    pub terms: Extent,
    /// Whether terms may be missing, as in the padding of a convolution.
    pub padded: bool,
    /// The contracted axes of the first two operands, counted from the first.
    pub axes: [ops::Range<usize>; 2],
    /// The axis of a constant bias, from the last, along which the channels of the second operand lie, if they do.
    pub bias_axis: Option<usize>,
    /// Which operand holds the weights where both are constants.
    pub weights: usize,
}

/// The figures of a contraction: those of its types and ranges, sharpened where an operand is a constant or all are
/// integers.
pub(crate) fn contraction(
    s: &Signature<'_>,
    x: &Operands<'_>,
    results: &[Type],
    of: &Contraction,
) -> Option<Vec<Figures>> {
    let mut found = bounds::contraction(s, x, results, of.terms, of.padded)?;
    let (Some(format), [figures]) = (results[0].format(), &mut found[..]) else { return Some(found) };
    let finite = |r: &Range| {
        let x = r.hull();
        !x.may_be_nan && x.lo.is_finite() && x.hi.is_finite()
    };
    if !x.ranges.iter().all(finite) {
        return Some(found);
    }
    let sum = summation(s, format, of.terms.most);
    let whole = (0..x.ranges.len()).all(|i| x.flags(i).integer);
    if whole && fits(figures, x, &sum, format) {
        figures.delta = 0.0;
    }
    for weights in [of.weights, 1 - of.weights] {
        let Some(tensor) = x.constant(weights) else { continue };
        let Some(channels) = tensor.weights(of.axes[weights].clone(), of.terms) else { continue };
        if channels.is_empty() {
            continue;
        }
        let data = 1 - weights;
        let rank = s.operands.get(data).and_then(|ty| ty.shape()).map_or(0, <[_]>::len);
        let rows = of.axes[data].end == rank && of.axes[data].len() == 1;
        let of = Channels {
            x,
            weights,
            padded: of.padded,
            bias: bias(x, of, weights, channels.len()),
            lengths: if rows { x.lengths(data) } else { Lengths::UNKNOWN },
        };
        of.sharpen(figures, &channels, &sum, format, whole);
        break;
    }
    Some(found)
}

/// Whether integers are added without rounding: no partial sum is beyond what the formats hold exactly.
fn fits(figures: &Figures, x: &Operands<'_>, sum: &Summation, format: Format) -> bool {
    let size = |i: usize| x.get(i).map_or(0.0, |r| magnitude(&r.hull()));
    let total = add(mul(sum.terms, mul(size(0), size(1))), size(2));
    let largest = [size(0), size(1), size(2), total].into_iter().fold(0.0, f64::max);
    holds_integers(sum.format, largest)
        && holds_integers(format, magnitude(&figures.range.computed).min(total))
}

/// Whether a format holds every integer of at most this magnitude.
pub(crate) fn holds_integers(format: Format, magnitude: f64) -> bool {
    magnitude <= 2f64.powi(format.precision() as i32) && magnitude <= format.max_finite()
}

/// The values of a constant bias that has one for each channel of the weights.
fn bias(x: &Operands<'_>, of: &Contraction, weights: usize, channels: usize) -> Option<Vec<f64>> {
    let (tensor, axis) = (x.constant(2)?, of.bias_axis.filter(|_| weights == 1)?);
    let along = tensor.rank().checked_sub(axis + 1)?;
    let n = tensor.shape()[along];
    // A stack of weights repeats its channels; other extents of a bias would differ between them.
    let fits = tensor.dtype.is_float() && n > 1 && tensor.len() == n && channels.is_multiple_of(n);
    (fits).then(|| tensor.tensor().to_f64s())
}

/// Channels of one operand, of which the others are known by their ranges.
struct Channels<'a> {
    x: &'a Operands<'a>,
    weights: usize,
    padded: bool,
    bias: Option<Vec<f64>>,
    /// Of the rows of data, where these are what is contracted.
    lengths: Lengths,
}

impl Channels<'_> {
    fn sharpen(
        &self,
        figures: &mut Figures,
        channels: &[Weights],
        sum: &Summation,
        format: Format,
        whole: bool,
    ) {
        let data = 1 - self.weights;
        let range = self.x.ranges[data];
        let (reach, integer) = (magnitude(&range.computed), self.x.flags(self.weights).integer);
        let mut image: Option<Range> = None;
        let (mut lipschitz, mut delta) = (0.0f64, 0.0f64);
        let mut one_sign = self.x.ranges.len() == 2;
        for (channel, w) in channels.iter().enumerate() {
            let bias = self.bias(channel);
            let exact = self.value(w, range.exact, self.lengths.exact, bias.map(|b| b.exact));
            let computed = self.value(w, range.computed, self.lengths.computed, bias.map(|b| b.computed));
            image = Some(image.map_or(Range { exact, computed }, |image| Range {
                exact: image.exact.hull(exact),
                computed: image.computed.hull(computed),
            }));
            lipschitz = lipschitz.max(w.absolute);
            let size = bias.map_or(0.0, |b| magnitude(&b.computed));
            let total = add(mul(w.absolute, reach), size);
            let own = if whole && holds_integers(sum.format, total.max(reach).max(w.largest)) {
                let narrow = narrowing(sum.format, format, magnitude(&computed));
                if holds_integers(format, magnitude(&computed)) { 0.0 } else { narrow }
            } else {
                let mut error = sum.of_weighted(format, reach, w, integer);
                if bias.is_some() {
                    error = add(error, narrowing(format, sum.format, size));
                    error = add(error, half_ulp(sum.format, add(magnitude(&computed), error)));
                }
                // The largest partial sum must not overflow, the last one is what is rounded.
                if total.is_finite() {
                    ended(sum.format, format, magnitude(&computed), error)
                } else {
                    f64::INFINITY
                }
            };
            delta = delta.max(own);
            let hull = range.hull();
            one_sign &= bounds::same_sign(&hull) && (w.positive.hi == 0.0 || w.negative.lo == 0.0);
        }
        let Some(image) = image else { return };
        figures.delta = figures.delta.min(delta);
        let sharp = settled(format, image, figures.delta, Default::default(), 0.0, 0.0);
        figures.range.exact = intersect(&figures.range.exact, &sharp.range.exact);
        figures.range.computed = intersect(&figures.range.computed, &sharp.range.computed);
        let way = &mut figures.sensitivity[data];
        way.lipschitz = way.lipschitz.min(lipschitz);
        if one_sign {
            figures.condition = figures.condition.min(2.0);
        }
        // The weights do not vary.
        figures.curvature = 0.0;
    }

    fn bias(&self, channel: usize) -> Option<Range> {
        let known =
            self.bias.as_ref().map(|values| Range::both(Enclosure::point(values[channel % values.len()])));
        known.or_else(|| self.x.get(2).copied())
    }

    /// The values of one channel where those of the data lie in `x`, in rows of `length` at most. By Cauchy and Schwarz no
    /// product is above that of the lengths, and `Σ w² ≤ max |w| Σ |w|`.
    fn value(&self, w: &Weights, x: Interval, length: f64, bias: Option<Interval>) -> Interval {
        let x = if self.padded { x.hull(Enclosure::point(0.0)) } else { x };
        let plus = |a: &Interval, b: &Interval| enclosure::apply(&Binary64, Prim::Add, &[a, b]);
        let sum = plus(&times(w.positive, x), &times(w.negative, x));
        let most = mul(bounds::sqrt_up(mul(w.absolute, w.largest)), length);
        let sum = intersect(&sum, &Enclosure { lo: -most, hi: most, may_be_nan: true });
        bias.map_or(sum, |bias| plus(&sum, &bias))
    }
}
