//! Ops whose elements are elements of their operands at places that data say: other operands, or the order of the elements.
//!
//! Where they come from is seen, not known by name: the op is evaluated on numbers in place of the elements. An op that does not
//! look at what it moves gives the same places for several numberings. One that looks at nothing but the order gives, for numbers in
//! the order of the elements, the places of the run. An op that computes does neither.

use std::sync::Arc;

use ngc_ir::{AttrDict, Context, OpDef};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};
use rustc_hash::FxHashMap;

use super::Known;
use crate::evaluate_op;

/// Numbers of the elements, by their places: means and sums of numbers are numbers of other places, and what is greatest is least.
const NUMBERINGS: [fn(u32) -> u32; 3] = [|k| k, scattered, |k| u32::MAX - scattered(k)];

/// A permutation of the numbers below `2^32` that no sum respects (`k (2 k + 1)`; R. Rivest, Permutation polynomials modulo 2^w, 2001).
fn scattered(k: u32) -> u32 {
    k.wrapping_mul(k.wrapping_mul(2).wrapping_add(1))
}

/// The operand and the element of it that each element of the n-th result of an op is. The integers among the results are taken to
/// be those of the exact run.
pub fn sources(
    context: &Context,
    def: &'static OpDef,
    attrs: &AttrDict,
    n: usize,
    results: &[Arc<Tensor>],
    operands: &[Known],
) -> Result<Vec<(usize, usize)>, String> {
    let refused = || "has no derivative by element that is known".to_string();
    let moved = Moved { context, def, attrs, n, results, operands };
    let count = u32::try_from(moved.elements().count()).map_err(|_| refused())?;
    let by_place = |number: fn(u32) -> u32| -> Result<Option<Places>, String> {
        let numbers: Vec<u32> = (0..count).map(number).collect();
        Ok(moved.places(&numbers, &moved.evaluated(&numbers)?))
    };
    let first = by_place(NUMBERINGS[0])?;
    let mut alike = first.is_some();
    for number in &NUMBERINGS[1..] {
        alike = alike && by_place(*number)? == first;
    }
    if alike {
        return first.and_then(|places| moved.checked(places)).ok_or_else(refused);
    }
    // Of equal elements the op takes the first or the last. Which ones it took, and that it takes the same ones in the exact run, its
    // integers alone tell.
    if results.iter().any(|result| result.as_ints().is_some()) {
        for last in [false, true] {
            let numbers = moved.ranks(last);
            let found = moved.evaluated(&numbers)?;
            if found.iter().zip(results).any(|(x, run)| x.as_ints() != run.as_ints()) {
                continue;
            }
            if let Some(found) = moved.places(&numbers, &found).and_then(|places| moved.checked(places)) {
                return Ok(found);
            }
        }
    }
    Err(refused())
}

/// By element of a result: the place of the one that it is, where it is one.
type Places = Vec<Option<u32>>;

struct Moved<'a> {
    context: &'a Context,
    def: &'static OpDef,
    attrs: &'a AttrDict,
    n: usize,
    results: &'a [Arc<Tensor>],
    operands: &'a [Known],
}

impl Moved<'_> {
    /// The elements that may be moved, with their operands and their numbers in these.
    fn elements(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let floats = self.operands.iter().enumerate().filter(|(_, x)| x.tensor.dtype.format().is_some());
        floats.flat_map(|(k, known)| known.data().0.iter().enumerate().map(move |(i, &x)| (k, i, x)))
    }

    /// The results of the op on numbers in place of the elements.
    fn evaluated(&self, numbers: &[u32]) -> Result<Vec<Tensor>, String> {
        let mut next = numbers.iter();
        let numbered = |known: &Known| {
            let tensor = &*known.tensor;
            if tensor.dtype.format().is_none() {
                let ints = known.data().0.iter().map(|&x| x as i64).collect();
                return Tensor { data: Data::Int(ints), ..tensor.clone() };
            }
            let data = Data::Float(next.by_ref().take(tensor.len()).map(|&k| f64::from(k)).collect());
            Tensor { dtype: DType::Float(Format::F64), shape: tensor.shape.clone(), data }
        };
        let numbered: Vec<Tensor> = self.operands.iter().map(numbered).collect();
        let evaluator = Evaluator::new(Mode::Rounded);
        evaluate_op(self.context, &evaluator, self.def, self.attrs, &numbered)
    }

    /// Where the elements of what the op makes of these numbers were.
    fn places(&self, numbers: &[u32], results: &[Tensor]) -> Option<Places> {
        let found = results.get(self.n)?.as_floats()?;
        let back: FxHashMap<u64, u32> =
            numbers.iter().zip(0..).map(|(&k, place)| (f64::from(k).to_bits(), place)).collect();
        Some(found.iter().map(|x| back.get(&x.to_bits()).copied()).collect())
    }

    /// Numbers in the order of the elements, NaN above all; of equal ones the first has the least, or the last.
    fn ranks(&self, last: bool) -> Vec<u32> {
        let elements: Vec<f64> = self.elements().map(|(_, _, x)| x).collect();
        let mut order: Vec<usize> = (0..elements.len()).collect();
        if last {
            order.reverse();
        }
        order.sort_by(|&i, &j| {
            let (x, y) = (elements[i], elements[j]);
            x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        });
        let mut ranks = vec![0; elements.len()];
        order.into_iter().zip(0..).for_each(|(place, rank)| ranks[place] = rank);
        ranks
    }

    /// The operands and elements at these places, where they are what the run gives.
    fn checked(&self, places: Places) -> Option<Vec<(usize, usize)>> {
        let elements: Vec<(usize, usize, f64)> = self.elements().collect();
        let values = self.results.get(self.n)?.as_floats()?;
        let source = |(place, value): (Option<u32>, &f64)| {
            let (operand, element, x) = *elements.get(place? as usize)?;
            (x.to_bits() == value.to_bits()).then_some((operand, element))
        };
        places.into_iter().zip(values).map(source).collect()
    }
}
