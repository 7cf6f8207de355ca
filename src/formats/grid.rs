//! Samples of an image at places that are data (`grid_sample`, GridSample): each is a sum of the elements around its place, weighted
//! by how far they are.

use ngc_ir::{Attr, AttrDict, Dim, Type, Value};
use ngc_numerics::DType;

use crate::emit::Emit;
use crate::error::{Result, invalid, unsupported};

/// How elements between places are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    Nearest,
    Linear,
    /// Keys' cubic convolution with a = -0.75.
    Cubic,
}

/// What lies beyond the image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    Zeros,
    Border,
    Reflection,
}

/// How an image is sampled.
pub(crate) struct Sampling {
    pub between: Between,
    pub beyond: Beyond,
    /// Whether -1 and 1 are the centres of the first and the last element, and not the edges of the image.
    pub corners: bool,
}

/// The weight of an element so far away in cubic convolution (R. Keys, Cubic Convolution Interpolation, 1981).
pub(crate) fn keys(a: f64, distance: f64) -> f64 {
    match distance {
        d @ ..=1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        d @ ..2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        _ => 0.0,
    }
}

/// An element beside a place, along one dimension: its index, its weight, and whether it lies within the image, unless all do.
struct Tap {
    index: Value,
    weight: Option<Value>,
    inside: Option<Value>,
}

/// What is emitted, in the format of the places.
struct Sampler<'a, E> {
    n: &'a mut E,
    dtype: DType,
}

/// Samples of `x` [N, C, D...] at `grid` [N, P..., d], whose last dimension has the places along the `d` dimensions of the image, the last
/// of these first, from -1 to 1.
pub(crate) fn sample<E: Emit>(n: &mut E, x: Value, grid: Value, sampling: &Sampling) -> Result<Value> {
    let known = |dims: &[Dim]| dims.iter().map(|dim| dim.known()).collect::<Option<Vec<usize>>>();
    let (Some(image), Some(places)) = (known(n.shape(x)), known(n.shape(grid))) else {
        return unsupported(format!("samples of {} at {}: extents must be known", n.ty(x), n.ty(grid)));
    };
    let ([batch, channels, spatial @ ..], [.., rank]) = (&image[..], &places[..]) else {
        return invalid(format!("samples of {} at {}", n.ty(x), n.ty(grid)));
    };
    let fits = spatial.len() == *rank && places.len() == rank + 2 && places[0] == *batch;
    if !fits || *rank == 0 || spatial.contains(&0) {
        return invalid(format!("samples of {} at {}", n.ty(x), n.ty(grid)));
    }
    let dtype = n.elem(grid)?;
    if n.elem(x)? != dtype {
        return unsupported(format!("samples of {} at places {}", n.ty(x), n.ty(grid)));
    }
    let mut s = Sampler { n, dtype };
    let count: usize = places[1..=*rank].iter().product();
    let flat = s.reshape(grid, &[*batch, count, *rank])?;
    let mut along = Vec::new();
    for (axis, &extent) in spatial.iter().enumerate() {
        let at = s.part(flat, rank - 1 - axis)?;
        along.push(s.taps(at, extent, sampling)?);
    }
    let rows: usize = spatial.iter().product();
    let columns = s.reshape(x, &[*batch, *channels, rows])?;
    let elements = s.n.emit("ng.transpose", &[columns], [("permutation", Attr::ints([0, 2, 1]))])?;
    let mut sum = None;
    for chosen in combinations(&along) {
        let term = s.term(elements, &chosen, spatial)?;
        sum = Some(match sum {
            None => term,
            Some(sum) => s.op("ng.add", &[sum, term])?,
        });
    }
    let Some(sum) = sum else { return invalid("no element to sample") };
    let channels_first = s.n.emit("ng.transpose", &[sum], [("permutation", Attr::ints([0, 2, 1]))])?;
    let shape: Vec<usize> =
        [*batch, *channels].into_iter().chain(places[1..=*rank].iter().copied()).collect();
    s.reshape(channels_first, &shape)
}

/// One tap of each dimension, in all ways, the last dimension fastest.
fn combinations(along: &[Vec<Tap>]) -> Vec<Vec<&Tap>> {
    along.iter().fold(vec![Vec::new()], |found, taps| {
        let with = |chosen: &Vec<_>, tap| chosen.iter().copied().chain([tap]).collect();
        found.iter().flat_map(|chosen| taps.iter().map(move |tap| with(chosen, tap))).collect()
    })
}

impl<E: Emit> Sampler<'_, E> {
    fn op(&mut self, name: &str, operands: &[Value]) -> Result<Value> {
        self.n.emit(name, operands, AttrDict::EMPTY)
    }

    fn number(&mut self, value: f64) -> Result<Value> {
        let Some(format) = self.dtype.format() else { return unsupported("places that are integers") };
        self.n.emit("ng.constant", &[], [("value", Attr::Float(format.round(value), Type::float(format)))])
    }

    fn integer(&mut self, value: usize) -> Result<Value> {
        let ty = Type::scalar(DType::Int(64));
        self.n.emit("ng.constant", &[], [("value", Attr::Int(value as i64, ty))])
    }

    /// An op with a number as its second operand.
    fn by(&mut self, name: &str, x: Value, number: f64) -> Result<Value> {
        let number = self.number(number)?;
        self.op(name, &[x, number])
    }

    fn reshape(&mut self, x: Value, shape: &[usize]) -> Result<Value> {
        let shape = Attr::ints(shape.iter().map(|&extent| extent as i64));
        self.n.emit("ng.reshape", &[x], [("shape", shape)])
    }

    /// Places along one dimension: [N, P, 1].
    fn part(&mut self, flat: Value, which: usize) -> Result<Value> {
        let one = |number: usize| Attr::ints([number as i64]);
        let attrs = [("axes", one(2)), ("starts", one(which)), ("stops", one(which + 1))];
        self.n.emit("ng.slice", &[flat], attrs)
    }

    /// The elements beside places along a dimension of an extent.
    fn taps(&mut self, at: Value, extent: usize, sampling: &Sampling) -> Result<Vec<Tap>> {
        let size = extent as f64;
        let mut x = self.by("ng.add", at, 1.0)?;
        if sampling.corners {
            x = self.by("ng.mul", x, (size - 1.0) / 2.0)?;
        } else {
            x = self.by("ng.mul", x, size / 2.0)?;
            x = self.by("ng.sub", x, 0.5)?;
        }
        // Of a cubic each element is looked for beyond the image, and not the place.
        if sampling.between != Between::Cubic {
            x = self.within(x, size, sampling)?;
        }
        if sampling.between == Between::Nearest {
            let nearest = self.op("ng.round", &[x])?;
            return Ok(vec![self.tap(nearest, None, size, sampling)?]);
        }
        let floor = self.op("ng.floor", &[x])?;
        let t = self.op("ng.sub", &[x, floor])?;
        let one = self.number(1.0)?;
        let rest = self.op("ng.sub", &[one, t])?;
        let weights = match sampling.between {
            Between::Cubic => {
                let far = [self.by("ng.add", t, 1.0)?, self.by("ng.add", rest, 1.0)?];
                vec![
                    (-1.0, self.outer(far[0])?),
                    (0.0, self.inner(t)?),
                    (1.0, self.inner(rest)?),
                    (2.0, self.outer(far[1])?),
                ]
            }
            _ => vec![(0.0, rest), (1.0, t)],
        };
        let mut taps = Vec::new();
        for (step, weight) in weights {
            let mut place = if step == 0.0 { floor } else { self.by("ng.add", floor, step)? };
            if sampling.between == Between::Cubic {
                place = self.within(place, size, sampling)?;
            }
            taps.push(self.tap(place, Some(weight), size, sampling)?);
        }
        Ok(taps)
    }

    /// The weight of an element less than 1 away: `((a + 2) d - (a + 3)) d² + 1`.
    fn inner(&mut self, d: Value) -> Result<Value> {
        let mut y = self.by("ng.mul", d, 1.25)?;
        y = self.by("ng.sub", y, 2.25)?;
        for _ in 0..2 {
            y = self.op("ng.mul", &[y, d])?;
        }
        self.by("ng.add", y, 1.0)
    }

    /// The weight of an element between 1 and 2 away: `((a d - 5 a) d + 8 a) d - 4 a`.
    fn outer(&mut self, d: Value) -> Result<Value> {
        let mut y = self.by("ng.mul", d, -0.75)?;
        for number in [3.75, -6.0] {
            y = self.by("ng.add", y, number)?;
            y = self.op("ng.mul", &[y, d])?;
        }
        self.by("ng.add", y, 3.0)
    }

    /// A place as one within the image; zeros lie beyond it.
    fn within(&mut self, x: Value, size: f64, sampling: &Sampling) -> Result<Value> {
        match sampling.beyond {
            Beyond::Zeros => Ok(x),
            Beyond::Border => self.clamped(x, size),
            Beyond::Reflection => {
                // Mirrors stand at the centres of the outer elements, or at the edges.
                let (least, span) = if sampling.corners { (0.0, size - 1.0) } else { (-0.5, size) };
                if span == 0.0 {
                    return self.clamped(x, size);
                }
                let from = self.by("ng.sub", x, least)?;
                let mut turns = self.by("ng.div", from, 2.0 * span)?;
                turns = self.op("ng.floor", &[turns])?;
                turns = self.by("ng.mul", turns, 2.0 * span)?;
                let mut within = self.op("ng.sub", &[from, turns])?;
                let back = self.number(2.0 * span)?;
                let back = self.op("ng.sub", &[back, within])?;
                within = self.op("ng.min", &[within, back])?;
                within = self.by("ng.add", within, least)?;
                self.clamped(within, size)
            }
        }
    }

    fn clamped(&mut self, x: Value, size: f64) -> Result<Value> {
        let (low, high) = (self.number(0.0)?, self.number(size - 1.0)?);
        self.op("ng.clamp", &[x, low, high])
    }

    /// The element at a place that is an integer.
    fn tap(&mut self, place: Value, weight: Option<Value>, size: f64, sampling: &Sampling) -> Result<Tap> {
        let within = self.clamped(place, size)?;
        let to = Attr::from(Type::scalar(DType::Int(64)));
        let index = self.n.emit("ng.convert", &[within], [("to", to)])?;
        let mut inside = None;
        // Of a place at the end of the image the element behind it has weight 0, and does not count.
        if sampling.beyond == Beyond::Zeros || sampling.between == Between::Linear {
            inside = Some(self.n.emit("ng.compare", &[place, within], [("direction", Attr::from("EQ"))])?);
        }
        Ok(Tap { index, weight, inside })
    }

    /// Elements [N, P, C] of `elements` [N, D..., C] at one tap of each dimension, with their weights.
    fn term(&mut self, elements: Value, taps: &[&Tap], spatial: &[usize]) -> Result<Value> {
        let mut row = taps[0].index;
        for (tap, &extent) in taps.iter().zip(spatial).skip(1) {
            let extent = self.integer(extent)?;
            row = self.op("ng.mul", &[row, extent])?;
            row = self.op("ng.add", &[row, tap.index])?;
        }
        let mut term = self.n.emit("ng.gather_nd", &[elements, row], [("batch_dims", Attr::int(1))])?;
        let product = |s: &mut Self, name: &str, parts: Vec<Value>| {
            parts.into_iter().map(Ok).reduce(|a, b| s.op(name, &[a?, b?])).transpose()
        };
        let inside = product(self, "ng.and", taps.iter().filter_map(|tap| tap.inside).collect())?;
        if let Some(inside) = inside {
            let zero = self.number(0.0)?;
            term = self.op("ng.where", &[inside, term, zero])?;
        }
        match product(self, "ng.mul", taps.iter().filter_map(|tap| tap.weight).collect())? {
            Some(weight) => self.op("ng.mul", &[term, weight]),
            None => Ok(term),
        }
    }
}
