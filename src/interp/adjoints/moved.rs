//! Ops whose elements are elements of their operands at places that other operands say.
//!
//! Where they come from is seen, not known by name: the op is evaluated on the numbers of the elements in place of the elements,
//! with several numberings. An op that computes, or that looks at what it moves, does not give the same places for all of them.

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

/// The operand and the element of it that each element of the n-th result is.
pub fn sources(
    context: &Context,
    def: &'static OpDef,
    attrs: &AttrDict,
    n: usize,
    result: &Tensor,
    operands: &[Known],
) -> Result<Vec<(usize, usize)>, String> {
    let refused = || "has no derivative by element that is known".to_string();
    let evaluator = Evaluator::new(Mode::Rounded);
    let elements: usize = operands.iter().map(|known| known.tensor.len()).sum();
    let mut found: Option<Vec<Option<u32>>> = None;
    if u32::try_from(elements).is_err() {
        return Err(refused());
    }
    for number in NUMBERINGS {
        let mut first = 0u32;
        let numbered: Vec<Tensor> = operands
            .iter()
            .map(|known| {
                let tensor = &*known.tensor;
                if tensor.dtype.format().is_none() {
                    let ints = known.data().0.iter().map(|&x| x as i64).collect();
                    return Tensor { data: Data::Int(ints), ..tensor.clone() };
                }
                let next = first + tensor.len() as u32;
                let numbers = (first..next).map(|k| f64::from(number(k))).collect();
                first = next;
                Tensor {
                    dtype: DType::Float(Format::F64),
                    shape: tensor.shape.clone(),
                    data: Data::Float(numbers),
                }
            })
            .collect();
        let results = evaluate_op(context, &evaluator, def, attrs, &numbered)?;
        let places = results.get(n).and_then(Tensor::as_floats).ok_or_else(refused)?;
        let back: FxHashMap<u64, u32> =
            (0..elements as u32).map(|k| (f64::from(number(k)).to_bits(), k)).collect();
        let places: Vec<Option<u32>> = places.iter().map(|x| back.get(&x.to_bits()).copied()).collect();
        match &found {
            Some(known) if *known != places => return Err(refused()),
            _ => found = Some(places),
        }
    }
    let data: Vec<(usize, &[f64])> = operands
        .iter()
        .enumerate()
        .filter(|(_, known)| known.tensor.dtype.format().is_some())
        .map(|(k, known)| (k, known.data().0))
        .collect();
    let source = |(place, value): (Option<u32>, f64)| {
        let mut place = place? as usize;
        for (operand, data) in &data {
            match data.get(place) {
                Some(x) => return (x.to_bits() == value.to_bits()).then_some((*operand, place)),
                None => place -= data.len(),
            }
        }
        None
    };
    let values = result.as_floats().ok_or_else(refused)?;
    let places = found.ok_or_else(refused)?;
    places.into_iter().zip(values.iter().copied()).map(source).collect::<Option<_>>().ok_or_else(refused)
}
