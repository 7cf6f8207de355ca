//! Places as expressions: whatever normal form they are brought to, they have the values that they say.

use ngc_ir::structure::{Axis, Index, Size};

/// Numbers that look drawn at random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n) as i64
    }
}

/// A number over dimensions, as an index and as its values.
type Number = (Index, Box<dyn Fn(&[i64]) -> i64>);

fn number(draw: &mut Draw, space: &[Size], depth: u32) -> Number {
    let axis = draw.below(space.len() as u64) as usize;
    if depth == 0 {
        return (Index::axis(Axis(axis as u32)), Box::new(move |at| at[axis]));
    }
    let (a, f) = number(draw, space, depth - 1);
    match draw.below(3) {
        0 => {
            let (b, g) = number(draw, space, depth - 1);
            (a.plus(&b).unwrap(), Box::new(move |at| f(at) + g(at)))
        }
        1 => {
            let (c, d) = (draw.below(9) - 4, draw.below(15) - 7);
            let scaled = a.scaled(c).unwrap().plus(&Index::number(d)).unwrap();
            (scaled, Box::new(move |at| c * f(at) + d))
        }
        _ => {
            let (divisor, modulus) = (1 + draw.below(6), 1 + draw.below(6));
            let modulus = (draw.below(3) > 0).then_some(modulus);
            let size = |n: i64| Size::known(n as u64);
            let digit = a.digit(&size(divisor), modulus.map(size).as_ref(), space).unwrap();
            let value = move |at: &[i64]| {
                let quotient = f(at).div_euclid(divisor);
                modulus.map_or(quotient, |m| quotient.rem_euclid(m))
            };
            (digit, Box::new(value))
        }
    }
}

#[test]
fn digits_have_the_values_that_they_say() {
    let mut draw = Draw(7);
    for _ in 0..20_000 {
        let extents: Vec<i64> = (0..2).map(|_| 1 + draw.below(6)).collect();
        let space: Vec<Size> = extents.iter().map(|n| Size::known(*n as u64)).collect();
        let (index, value) = number(&mut draw, &space, 4);
        for i in 0..extents[0] {
            for j in 0..extents[1] {
                let found = index.value(&[i, j], &|_| None);
                assert_eq!(found, Some(value(&[i, j])), "{index} at {i}, {j} of {extents:?}");
            }
        }
    }
}

#[test]
fn what_is_one_place_is_one_index() {
    let (size, space) = (Size::known, [Size::known(4), Size::known(2)]);
    let [i, j] = [0, 1].map(|n| Index::axis(Axis(n)));
    let sum = |terms: &[(i64, &Index)], number: i64| {
        let add =
            |sum: Index, (factor, term): &(i64, &Index)| sum.plus(&term.scaled(*factor).unwrap()).unwrap();
        terms.iter().fold(Index::number(number), add)
    };
    let mod_of = |index: &Index, m: u64| index.digit(&size(1), Some(&size(m)), space.as_slice()).unwrap();
    let over = |index: &Index, d: u64| index.digit(&size(d), None, space.as_slice()).unwrap();
    // A remainder takes no factor that its modulus has.
    assert_eq!(mod_of(&sum(&[(2, &i), (1, &j)], 0), 4), sum(&[(2, &mod_of(&i, 2)), (1, &j)], 0));
    assert_eq!(mod_of(&sum(&[(2, &i)], 5), 4), sum(&[(2, &mod_of(&i, 2))], 1));
    // What divides leaves a bracket, of a number too.
    assert_eq!(over(&sum(&[(1, &j)], 4), 3), Index::number(1));
    // Reading backwards turns digits.
    assert_eq!(over(&sum(&[(-1, &i)], 3), 2), sum(&[(-1, &over(&i, 2))], 1));
    assert_eq!(mod_of(&sum(&[(-1, &i)], 3), 2), sum(&[(-1, &mod_of(&i, 2))], 1));
    // A number without its high digits is its low ones.
    assert_eq!(sum(&[(1, &i), (-3, &over(&i, 3))], 0), mod_of(&i, 3));
}
