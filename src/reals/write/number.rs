//! Numbers, and functions of places.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_ir::{Attr, Type, Value};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{DType, Format, Tensor};
use rug::Rational;

use super::Writer;
use super::laid::{Frame, Layout, Scaled, pattern};
use crate::term::{Map, Number, unflattened};

impl Writer<'_, '_> {
    pub(super) fn number(&mut self, number: &Number) -> Result<Scaled, String> {
        let value = match number {
            Number::Finite(x) => return Ok(Scaled::number(x.clone())),
            Number::Infinite { negative: true } => self.constant(f64::NEG_INFINITY)?,
            Number::Infinite { negative: false } => self.constant(f64::INFINITY)?,
            Number::Nan => self.constant(f64::NAN)?,
            Number::E => {
                let one = self.constant(1.0)?;
                self.op("ng.exp", &[one])?
            }
            // As 4 atan 1, of which high precision makes π.
            Number::Pi => {
                let (one, four) = (self.constant(1.0)?, self.constant(4.0)?);
                let quarter = self.op("ng.atan", &[one])?;
                self.op("ng.mul", &[four, quarter])?
            }
        };
        Ok(Scaled::value((value, Layout::new())))
    }

    /// Whether the format holds a number.
    pub(super) fn holds(&self, x: &Rational) -> bool {
        exact(x).is_some_and(|x| self.format.contains(x))
    }

    /// A rational number: as it is where f64 holds it, else as a quotient of two numbers that it holds, else rounded.
    pub(super) fn rational(&mut self, x: &Rational) -> Result<Value, String> {
        if let Some(value) = exact(x) {
            return self.constant(value);
        }
        let (numer, denom) = (Rational::from(x.numer()), Rational::from(x.denom()));
        match exact(&numer).zip(exact(&denom)) {
            Some((numer, denom)) => {
                let (numer, denom) = (self.constant(numer)?, self.constant(denom)?);
                self.op("ng.div", &[numer, denom])
            }
            None => {
                self.rounded = true;
                self.constant(x.to_f64())
            }
        }
    }

    fn constant(&mut self, value: f64) -> Result<Value, String> {
        let held = self.format.contains(value) || !value.is_finite();
        let format = if held { self.format } else { Format::F64 };
        let constant = self.literal(Attr::Float(value, Type::float(format)))?;
        self.converted(constant, DType::Float(self.format))
    }

    pub(super) fn literal(&mut self, value: Attr) -> Result<Value, String> {
        self.with("ng.constant", &[], [("value", value)])
    }

    /// The numbers of places.
    pub(super) fn places(&mut self, index: &Index, frame: &Frame) -> Result<Scaled, String> {
        let (values, shape, dims) = table(frame, &[index], |at| index.value(at, &|_| None))?;
        let table = Tensor::ints(DType::Int(64), shape, values)?;
        let table = self.literal(tensor_to_attr(&table))?;
        Ok(Scaled::value((self.as_number(table)?, dims)))
    }

    /// Whether all tests hold, at every place.
    pub(super) fn tests(&mut self, tests: &[Test], map: &Map, frame: &Frame) -> Result<Scaled, String> {
        let by = |axis: Axis| map.get(axis.0 as usize).cloned().unwrap_or(Index::ZERO);
        let placed = tests.iter().map(|test| Some(test.of(test.index().substituted(&by, &frame.sizes)?)));
        let placed: Vec<Test> = placed.collect::<Option<_>>().ok_or("its places are too large")?;
        let indices: Vec<&Index> = placed.iter().map(Test::index).collect();
        let holds = |at: &[i64]| {
            placed.iter().try_fold(1, |all, test| {
                let value = test.index().value(at, &|_| None)?;
                let holds = match test {
                    Test::AtLeastZero(_) => value >= 0,
                    Test::Zero(_) => value == 0,
                };
                Some(all & i64::from(holds))
            })
        };
        let (values, shape, dims) = table(frame, &indices, holds)?;
        let table = Tensor::ints(DType::BOOL, shape, values)?;
        Ok(Scaled::value((self.literal(tensor_to_attr(&table))?, dims)))
    }
}

/// The number as one of f64, if it is one.
fn exact(x: &Rational) -> Option<f64> {
    Some(x.to_f64()).filter(|v| v.is_finite() && Rational::from_f64(*v).as_ref() == Some(x))
}

/// Tables of more places than this have no more of them than what is read through them has elements.
const LARGE: usize = 1 << 16;

/// No table has more places.
const MOST: usize = 1 << 20;

/// The places in a value of so many elements that are read along the dimensions that one of the indices speaks of. What is
/// read many times over, as a convolution reads, has no table of all of its places: it would be larger than the program.
pub(super) fn places_in(
    elements: usize,
    frame: &Frame,
    indices: &[&Index],
    place: impl Fn(&[i64]) -> Option<i64>,
) -> Result<(Vec<i64>, Vec<usize>, Layout), String> {
    let (shape, _) = extents_of(frame, indices)?;
    if element_count(&shape)? > elements.clamp(LARGE, MOST) {
        return Err("a table of its places would be larger than what is read".into());
    }
    table(frame, indices, place)
}

/// The shape of what depends on the dimensions that one of the indices speaks of, and how it lies.
fn extents_of(frame: &Frame, indices: &[&Index]) -> Result<(Vec<usize>, Layout), String> {
    let speaks = |n: usize| indices.iter().any(|index| index.mentions(Axis(n as u32)));
    let own: Vec<Option<usize>> = (0..frame.sizes.len()).filter(|&n| speaks(n)).map(Some).collect();
    let dims = pattern(&own, &frame.order);
    let extent = |d: &Option<usize>| d.map_or(Some(1), |d| frame.sizes[d].number().map(|n| n as usize));
    let shape: Option<Vec<usize>> = dims.iter().map(extent).collect();
    Ok((shape.ok_or("places along a dimension of unknown extent are no constant")?, dims))
}

/// A function of places, along the dimensions that one of the indices speaks of: its values, its shape, and how it lies.
pub(super) fn table(
    frame: &Frame,
    indices: &[&Index],
    value: impl Fn(&[i64]) -> Option<i64>,
) -> Result<(Vec<i64>, Vec<usize>, Layout), String> {
    let (shape, dims) = extents_of(frame, indices)?;
    let mut values = Vec::with_capacity(element_count(&shape)?);
    let mut at = vec![0; frame.sizes.len()];
    for flat in 0..element_count(&shape)? {
        for (d, place) in dims.iter().zip(unflattened(flat, &shape)) {
            d.iter().for_each(|&d| at[d] = place);
        }
        values.push(value(&at).ok_or("a place is unknown")?);
    }
    Ok((values, shape, dims))
}

/// The extent of a dimension as a number.
pub(super) fn extent(size: &Size) -> Result<i64, String> {
    size.number().and_then(|n| i64::try_from(n).ok()).ok_or_else(|| "an extent is unknown".into())
}
