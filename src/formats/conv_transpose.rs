//! Transposed convolution, which `ng` has no op for: a convolution of the input spread by the strides, with the kernel
//! mirrored and its channels exchanged. The spread places hold zeros, so finite weights give the same sums.

use ngc_ir::{Attr, AttrDict, Dim, Loc, Type, Value};
use ngc_numerics::{DType, Format};

use crate::builder::FunctionBuilder;
use crate::emit::{Emit, Emitter};
use crate::error::{Result, invalid, unsupported};

/// Extents and steps beyond this are refused, so that their arithmetic cannot overflow.
const LIMIT: i64 = 1 << 30;

/// How the windows lie; a number for each spatial dimension.
pub(crate) struct ConvTranspose {
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// What is cut off before the first dimension, the second ..., then after each of them.
    pub pads: Vec<i64>,
    /// What is added after each dimension.
    pub added: Vec<i64>,
    pub groups: i64,
}

impl ConvTranspose {
    fn check(&self, rank: usize) -> Result<()> {
        let lists = [
            ("strides", &self.strides, rank, 1),
            ("dilations", &self.dilations, rank, 1),
            ("pads", &self.pads, 2 * rank, 0),
            ("output padding", &self.added, rank, 0),
        ];
        for (name, values, count, least) in lists {
            if values.len() != count || !values.iter().all(|v| (least..LIMIT).contains(v)) {
                return invalid(format!("{name} {values:?} must be {count} numbers, at least {least}"));
            }
        }
        Ok(())
    }
}

/// The transposed convolution of `x` [N, C, ...] with `w` [C, M / groups, ...].
pub(crate) fn conv_transpose(
    function: &mut FunctionBuilder<'_>,
    loc: &Loc,
    x: Value,
    w: Value,
    bias: Option<Value>,
    geometry: ConvTranspose,
) -> Result<Value> {
    let mut b = Emitter { function, loc };
    let (extents, weights) = (b.extents(x, 1)?, b.extents(w, 0)?);
    let ([_, spatial @ ..], [inputs, outputs, kernel @ ..]) = (&extents[..], &weights[..]) else {
        return invalid("it needs an input [N, C, ...] and weights [C, M / groups, ...]");
    };
    let rank = kernel.len();
    if rank == 0 || spatial.len() != rank {
        return invalid(format!("the kernel {kernel:?} does not fit the input {}", b.ty(x)));
    }
    geometry.check(rank)?;
    let ConvTranspose { strides, dilations, pads, added, groups } = geometry;
    if groups < 1 || inputs % groups != 0 {
        return invalid(format!("{groups} groups do not divide the {inputs} channels"));
    }

    let spread = b.spread(x, &extents, &strides)?;
    let (mut low, mut high) = (vec![0; rank + 2], vec![0; rank + 2]);
    for i in 0..rank {
        let reach = (kernel[i] - 1) * dilations[i];
        low[i + 2] = reach - pads[i];
        // The zeros that spreading put after the last element go.
        high[i + 2] = reach - pads[rank + i] + added[i] - (strides[i] - 1);
    }
    let padded = b.emit("ng.pad", &[spread], [("low", Attr::from(low)), ("high", Attr::from(high))])?;

    let mirrored = b.emit("ng.reverse", &[w], [("axes", Attr::ints(2..rank as i64 + 2))])?;
    let split = b.reshape(mirrored, [&[groups, inputs / groups, *outputs][..], kernel].concat())?;
    let permutation = Attr::ints([0, 2, 1].into_iter().chain(3..rank as i64 + 3));
    let exchanged = b.emit("ng.transpose", &[split], [("permutation", permutation)])?;
    let Some(channels) = groups.checked_mul(*outputs) else { return invalid("too many channels") };
    let weights = b.reshape(exchanged, [&[channels, inputs / groups][..], kernel].concat())?;

    let mut attrs = AttrDict::EMPTY;
    if dilations.iter().any(|&d| d != 1) {
        attrs.set("dilations", dilations);
    }
    if groups != 1 {
        attrs.set("groups", groups);
    }
    // As all sums of these formats in the runtimes that models come from.
    if matches!(b.ty(x).elem(), Some(DType::Float(f)) if f.precision() < Format::F32.precision()) {
        attrs.set("accumulate", Type::float(Format::F32));
    }
    let mut operands = vec![padded, weights];
    operands.extend(bias);
    b.emit("ng.conv", &operands, attrs)
}

impl Emitter<'_, '_> {
    fn reshape(&mut self, value: Value, shape: Vec<i64>) -> Result<Value> {
        self.emit("ng.reshape", &[value], [("shape", Attr::from(shape))])
    }

    /// The extents of all dimensions from `first` on.
    fn extents(&self, value: Value, first: usize) -> Result<Vec<i64>> {
        let known = |d: &Dim| d.known().and_then(|e| i64::try_from(e).ok()).filter(|&e| e < LIMIT);
        match self.ty(value).shape().unwrap_or(&[]).iter().skip(first).map(known).collect() {
            Some(extents) => Ok(extents),
            None => unsupported(format!("unknown or enormous extents in {}", self.ty(value))),
        }
    }

    /// Puts `strides - 1` zeros behind every element.
    fn spread(&mut self, x: Value, extents: &[i64], strides: &[i64]) -> Result<Value> {
        if strides.iter().all(|&s| s == 1) {
            return Ok(x);
        }
        let rank = strides.len() as i64;
        // [N, C, a, b] to [N, C, a, 1, b, 1], padded to [N, C, a, s, b, t], to [N, C, a s, b t].
        let column = self.emit("ng.unsqueeze", &[x], [("axes", Attr::ints((0..rank).map(|i| 3 + 2 * i)))])?;
        let mut high = vec![0; 2 + 2 * strides.len()];
        for (i, stride) in strides.iter().enumerate() {
            high[3 + 2 * i] = stride - 1;
        }
        let low = vec![0; high.len()];
        let padded =
            self.emit("ng.pad", &[column], [("low", Attr::from(low)), ("high", Attr::from(high))])?;
        let joined = extents[1..].iter().zip(strides).map(|(e, s)| e * s);
        let shape: Vec<i64> = [-1, extents[0]].into_iter().chain(joined).collect();
        self.reshape(padded, shape)
    }
}
