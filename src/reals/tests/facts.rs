//! What is known of terms: signs that intervals do not tell, and what the shape of a term says.

use ngc_dialects::facts::{Fact, Signs};
use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::{Prim, Reduce};
use ngc_reals::store::Leaf;
use ngc_reals::{Facts, Function, Store, Use};

fn leaf(store: &mut Store, number: u32, extents: &[usize]) -> Use {
    let sizes: Vec<Size> = extents.iter().map(|&n| Size::from(n)).collect();
    store.leaf_use(Leaf::Value(number), &sizes)
}

fn exp(store: &mut Store, x: &Use, space: &[Size]) -> Use {
    store.apply(Function::Prim(Prim::Exp), vec![x.clone()], space)
}

/// Leaves of which it is known that they are finite.
fn facts() -> Facts {
    Facts::new(Box::new(|_| Fact { signs: Signs::NUMBERS, ..Fact::UNKNOWN }))
}

#[test]
fn nothing_is_claimed_of_what_is_not_known() {
    let mut store = Store::new();
    let x = leaf(&mut store, 0, &[4]);
    let mut facts = Facts::default();
    assert_eq!(facts.of(&store, x.id), Fact::UNKNOWN);
    assert!(!facts.is_nonnegative(&store, x.id) && !facts.is_nonzero(&store, x.id));
}

#[test]
fn sums_of_exponentials_are_positive() {
    let mut store = Store::new();
    let x = leaf(&mut store, 0, &[4]);
    let space = [Size::from(4)];
    let e = exp(&mut store, &x, &space);
    let sum = store.reduce(Reduce::Sum, vec![Size::from(4)], e.clone(), &[]);
    let product = store.reduce(Reduce::Prod, vec![Size::from(4)], e, &[]);
    let both = store.linear(1.into(), vec![(1.into(), sum.clone()), (2.into(), product.clone())], &[]);
    let root = store.power(both.clone(), rug::Rational::from((-1, 2)), &[]);
    let mut facts = facts();
    for of in [sum, product, both, root] {
        assert!(facts.is_positive(&store, of.id), "{}: {:?}", store.show(&of), facts.of(&store, of.id));
    }
}

#[test]
fn squares_and_products_of_equal_signs_are_not_negative() {
    let mut store = Store::new();
    let (x, y) = (leaf(&mut store, 0, &[]), leaf(&mut store, 1, &[]));
    let square = store.power(x.clone(), 2, &[]);
    let magnitude = store.apply(Function::Prim(Prim::Abs), vec![y.clone()], &[]);
    let product = store.product(1.into(), vec![(square, 1.into()), (magnitude, 1.into())], &[]);
    let greatest = store.greatest(vec![x.clone(), product.clone()], &[]);
    let mut facts = facts();
    assert!(facts.is_nonnegative(&store, product.id) && facts.is_nonnegative(&store, greatest.id));
    assert!(!facts.is_nonnegative(&store, x.id) && !facts.is_nonzero(&store, product.id));
}

#[test]
fn parts_are_no_more_than_the_whole() {
    let mut store = Store::new();
    let x = leaf(&mut store, 0, &[4]);
    let space = [Size::from(4)];
    let inner = [Size::from(4), Size::from(4)];
    let other = Use { id: x.id, map: std::iter::once(Index::axis(Axis(1))).collect() };
    let e = exp(&mut store, &x, &space);
    let terms = exp(&mut store, &other, &inner);
    let sum = store.reduce(Reduce::Sum, vec![Size::from(4)], terms, &space);
    let part = store.product(1.into(), vec![(e, 1.into()), (sum, (-1).into())], &space);
    let greatest = store.reduce(Reduce::Max, vec![Size::from(4)], other.clone(), &space);
    let below = store.linear(0.into(), vec![(1.into(), x.clone()), ((-1).into(), greatest)], &space);
    let mut facts = facts();
    let interval = facts.interval(&store, part.id);
    assert_eq!((interval.lo, interval.hi), (0.0, 1.0));
    assert!(facts.is_nonpositive(&store, below.id));

    // -x - max(-x) and 2x + 2 max(-x)
    let negative = store.scaled(-1, other, &inner);
    let greatest = store.reduce(Reduce::Max, vec![Size::from(4)], negative, &space);
    let two = [(2, false), (-1, true)].map(|(c, falls): (i32, bool)| {
        let terms = vec![(c.into(), x.clone()), (c.into(), greatest.clone())];
        (store.linear(0.into(), terms, &space), falls)
    });
    for (sum, falls) in two {
        assert_eq!(facts.is_nonpositive(&store, sum.id), falls, "{}", store.show(&sum));
        assert_eq!(facts.is_nonnegative(&store, sum.id), !falls, "{}", store.show(&sum));
    }
}
