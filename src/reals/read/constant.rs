//! Constants that a formula of the place gives: counted sequences, and masks.
//!
//! A causal mask is a test of the place, however it was made: as a triangle of ones, as a triangle of infinities that is
//! added, or as truth values.

use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_numerics::{DType, StoredTensor};

use crate::store::Store;
use crate::term::{Number, Use, unflattened};

/// Constants of more elements are leaves.
const LARGEST: usize = 1 << 22;

/// The element of a constant at a place, if a formula gives it.
pub fn formula(store: &mut Store, tensor: &StoredTensor, extents: &[Size]) -> Option<Use> {
    if tensor.len() < 2 || tensor.len() > LARGEST {
        return None;
    }
    if is_irregular(tensor) {
        return None;
    }
    let values = Values::of(tensor)?;
    if let Some(index) = counted(&values, &tensor.shape(), extents) {
        return (tensor.dtype != DType::BOOL).then(|| store.place(&index, extents));
    }
    let (first, second) = values.two()?;
    let one_half = |yes, no| Some((half(&values, &tensor.shape(), yes)?, yes, no));
    let (test, yes, no) = one_half(first, second).or_else(|| one_half(second, first))?;
    let mut value = |x: f64| match tensor.dtype {
        DType::BOOL => store.truth(x != 0.0),
        _ => store.number(Number::of(x)),
    };
    let (yes, no) = (value(yes), value(no));
    Some(store.choose_by_place(vec![test], yes, no, extents))
}

/// Whether already the first row is neither whole numbers nor made of two values, as weights are not.
fn is_irregular(tensor: &StoredTensor) -> bool {
    let row = tensor.shape().into_iter().rev().find(|extent| *extent > 1).unwrap_or(1);
    let first: Option<Vec<f64>> = (0..row.min(64)).map(|n| tensor.number(n)).collect();
    let Some(first) = first else { return false };
    let other = first.iter().find(|x| **x != first[0]);
    let two = first.iter().all(|x| *x == first[0] || Some(x) == other);
    !two && first.into_iter().any(|x| whole(x).is_none())
}

fn whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < (1u64 << 53) as f64).then_some(x as i64)
}

/// The elements of a tensor as numbers that f64 holds.
struct Values(Vec<f64>);

impl Values {
    fn of(tensor: &StoredTensor) -> Option<Values> {
        (0..tensor.len()).map(|n| tensor.number(n)).collect::<Option<_>>().map(Values)
    }

    /// Both values, if there are two.
    fn two(&self) -> Option<(f64, f64)> {
        let first = *self.0.first()?;
        let second = *self.0.iter().find(|x| **x != first)?;
        self.0.iter().all(|&x| x == first || x == second).then_some((first, second))
    }
}

/// Whole numbers that go by equal steps along every dimension, or along the digits of its places, as what is repeated does.
fn counted(values: &Values, shape: &[usize], extents: &[Size]) -> Option<Index> {
    let start = whole(values.0[0])?;
    let mut index = Index::number(start);
    let mut stride = values.0.len();
    for (n, &extent) in shape.iter().enumerate() {
        stride /= extent;
        let far = |place: usize| whole(values.0[place * stride])?.checked_sub(start);
        let known = |n: usize| Size::known(n as u64);
        let mut divisor = 1;
        while divisor < extent {
            let step = far(divisor)?;
            let on = |k: &usize| far(k * divisor).is_some_and(|far| Some(far) == step.checked_mul(*k as i64));
            let run = 1 + (1..extent / divisor).take_while(on).count();
            let modulus = (divisor * run < extent).then(|| known(run));
            if extent % (divisor * run) != 0 {
                return None;
            }
            if step != 0 {
                let digit = Index::axis(Axis(n as u32)).digit(&known(divisor), modulus.as_ref(), extents)?;
                index = index.plus(&digit.scaled(step)?)?;
            }
            divisor *= run;
        }
    }
    let given = |(flat, &x): (usize, &f64)| {
        index.value(&unflattened(flat, shape), &|_| None).map(|v| v as f64) == Some(x)
    };
    values.0.iter().enumerate().all(given).then_some(index)
}

/// The test that holds just where a value stands: one dimension against another, or against a number.
fn half(values: &Values, shape: &[usize], value: f64) -> Option<Test> {
    let long: Vec<usize> = (0..shape.len()).filter(|&n| shape[n] > 1).collect();
    let axis = |n: usize| Index::axis(Axis(n as u32));
    let mut differences: Vec<Index> = long.iter().map(|&n| axis(n)).collect();
    for (i, &a) in long.iter().enumerate() {
        differences.extend(long[..i].iter().filter_map(|&b| axis(a).plus(&axis(b).scaled(-1)?)));
    }
    for difference in differences {
        let mut inside: Option<(i64, i64)> = None;
        let mut outside: Vec<i64> = Vec::new();
        for (flat, &x) in values.0.iter().enumerate() {
            let d = difference.value(&unflattened(flat, shape), &|_| None)?;
            match x == value {
                true => inside = Some(inside.map_or((d, d), |(low, high)| (low.min(d), high.max(d)))),
                false => outside.push(d),
            }
        }
        let (low, high) = inside?;
        if outside.iter().any(|d| (low..=high).contains(d)) {
            continue;
        }
        let above = outside.iter().all(|&d| d > high);
        let below = outside.iter().all(|&d| d < low);
        return match (above, below) {
            (true, _) => Some(Test::AtLeastZero(Index::number(high).plus(&difference.scaled(-1)?)?)),
            (_, true) => Some(Test::AtLeastZero(difference.plus(&Index::number(-low))?)),
            _ if low == high => Some(Test::Zero(difference.plus(&Index::number(-low))?)),
            _ => None,
        };
    }
    None
}
