//! The laws of error functionals: a category with products in parallel, and bounds however they are composed.

use ngc_numerics::functional::ErrorFunctional;
use ngc_numerics::{Figures, Mixed, Sensitivity};
use proptest::prelude::*;
use rug::Rational;

/// One output of a map: Lipschitz constants and jumps by input, and the error it adds.
type Row = (Vec<(f64, f64)>, f64);

fn functional(inputs: usize, rows: &[Row]) -> ErrorFunctional {
    let figures = |(ways, delta): &Row| Figures {
        sensitivity: ways.iter().map(|&(lipschitz, jump)| Sensitivity { lipschitz, jump }).collect(),
        delta: *delta,
        relative: Mixed::UNBOUNDED,
        ..Figures::unknown(inputs)
    };
    ErrorFunctional::of_figures(inputs, &rows.iter().map(figures).collect::<Vec<_>>())
}

/// Maps whose shapes fit one another: from `shape[i]` values to `shape[i + 1]`.
fn maps(
    shape: Vec<usize>,
    number: impl Strategy<Value = f64> + Clone + 'static,
    jump: impl Strategy<Value = f64> + Clone + 'static,
) -> impl Strategy<Value = Vec<ErrorFunctional>> {
    let maps: Vec<BoxedStrategy<ErrorFunctional>> = shape
        .windows(2)
        .map(|ends| {
            let (inputs, outputs) = (ends[0], ends[1]);
            let row = (prop::collection::vec((number.clone(), jump.clone()), inputs), number.clone());
            prop::collection::vec(row, outputs).prop_map(move |rows| functional(inputs, &rows)).boxed()
        })
        .collect();
    maps
}

fn sequence(
    n: usize,
    number: impl Strategy<Value = f64> + Clone + 'static,
    jump: impl Strategy<Value = f64> + Clone + 'static,
) -> impl Strategy<Value = Vec<ErrorFunctional>> {
    prop::collection::vec(0..4usize, n + 1)
        .prop_flat_map(move |shape| maps(shape, number.clone(), jump.clone()))
}

/// Numbers whose sums and products here need no rounding.
fn dyadic() -> impl Strategy<Value = f64> + Clone {
    (0..64u32, -8..8i32).prop_map(|(m, e)| f64::from(m) * f64::from(e).exp2())
}

fn any_size() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![Just(0.0), Just(1.0), 1e-30..1e-20, 0.0..4.0, 1e10..1e20]
}

fn no_jump() -> impl Strategy<Value = f64> + Clone {
    Just(0.0)
}

/// Each entry is a sum of at most 3 products, twice, all positive: a dozen roundings of at most an ulp on either side.
const ULPS: f64 = 16.0;

fn alike(a: &ErrorFunctional, b: &ErrorFunctional) -> bool {
    let near = |x: f64, y: f64| (x - y).abs() <= ULPS * f64::EPSILON * x.max(y);
    let same = |o: usize, i: usize| {
        let (x, y) = (a.way(o, i), b.way(o, i));
        near(x.lipschitz, y.lipschitz) && near(x.jump, y.jump)
    };
    (a.inputs(), a.outputs()) == (b.inputs(), b.outputs())
        && (0..a.outputs()).all(|o| near(a.delta(o), b.delta(o)) && (0..a.inputs()).all(|i| same(o, i)))
}

/// Both sides of associativity and of interchange.
fn grouped([f, g, h]: [&ErrorFunctional; 3]) -> [ErrorFunctional; 2] {
    [f.then(g).then(h), f.then(&g.then(h))]
}

fn interchanged([f, h]: [&ErrorFunctional; 2], [g, k]: [&ErrorFunctional; 2]) -> [ErrorFunctional; 2] {
    [f.beside(g).then(&h.beside(k)), f.then(h).beside(&g.then(k))]
}

/// `Φ` over the rationals.
fn exactly(map: &ErrorFunctional, errors: &[Rational]) -> Vec<Rational> {
    let rational = |x: f64| Rational::from_f64(x).expect("finite");
    let output = |o: usize| {
        errors.iter().enumerate().fold(rational(map.delta(o)), |sum, (i, e)| {
            let way = map.way(o, i);
            if *e == 0 { sum } else { sum + e * rational(way.lipschitz) + rational(way.jump) }
        })
    };
    (0..map.outputs()).map(output).collect()
}

proptest! {
    #[test]
    fn identities_change_nothing(maps in sequence(1, any_size(), any_size())) {
        let f = &maps[0];
        prop_assert_eq!(&ErrorFunctional::identity(f.inputs()).then(f), f);
        prop_assert_eq!(&f.then(&ErrorFunctional::identity(f.outputs())), f);
        // Nothing beside it, neither.
        prop_assert_eq!(&f.beside(&ErrorFunctional::identity(0)), f);
        prop_assert_eq!(&ErrorFunctional::identity(0).beside(f), f);
    }

    #[test]
    fn sequences_are_associative(
        small in sequence(3, dyadic(), no_jump()),
        any in sequence(3, any_size(), no_jump()),
    ) {
        let [a, b] = grouped([&small[0], &small[1], &small[2]]);
        prop_assert_eq!(a, b);
        let [a, b] = grouped([&any[0], &any[1], &any[2]]);
        prop_assert!(alike(&a, &b), "{:?}\n{:?}", a, b);
    }

    #[test]
    fn parallel_is_associative(a in sequence(1, any_size(), any_size()), b in sequence(1, any_size(), any_size()),
                               c in sequence(1, any_size(), any_size())) {
        let (a, b, c) = (&a[0], &b[0], &c[0]);
        prop_assert_eq!(a.beside(b).beside(c), a.beside(&b.beside(c)));
    }

    #[test]
    fn sequence_and_parallel_interchange(
        small in (sequence(2, dyadic(), dyadic()), sequence(2, dyadic(), dyadic())),
        any in (sequence(2, any_size(), any_size()), sequence(2, any_size(), any_size())),
    ) {
        let [a, b] = interchanged([&small.0[0], &small.0[1]], [&small.1[0], &small.1[1]]);
        prop_assert_eq!(a, b);
        // The same numbers in the same order: not even rounding differs.
        let [a, b] = interchanged([&any.0[0], &any.0[1]], [&any.1[0], &any.1[1]]);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn copies_pass_through(f in sequence(1, any_size(), any_size())) {
        let f = &f[0];
        let before = ErrorFunctional::copy(f.inputs()).then(&f.beside(f));
        prop_assert_eq!(f.then(&ErrorFunctional::copy(f.outputs())), before);
    }

    #[test]
    fn a_shared_input_counts_with_all_its_paths(f in sequence(1, dyadic(), no_jump()), e in dyadic()) {
        // (f(x), f(x)) added: twice the ways, and twice what f adds, which is one error that counts on both paths.
        let f = &f[0];
        let n = f.outputs();
        let add = functional(2 * n, &(0..n).map(|o| {
            ((0..2 * n).map(|i| (f64::from(u8::from(i % n.max(1) == o)), 0.0)).collect(), 0.0)
        }).collect::<Vec<Row>>());
        let both = ErrorFunctional::copy(f.inputs()).then(&f.beside(f)).then(&add);
        let errors = vec![e; f.inputs()];
        let twice: Vec<f64> = f.errors(&errors).iter().map(|x| 2.0 * x).collect();
        prop_assert_eq!(both.errors(&errors), twice);
    }

    #[test]
    fn compositions_are_never_below_their_steps(
        maps in sequence(3, any_size(), any_size()),
        aside in sequence(1, any_size(), any_size()),
        errors in prop::collection::vec(any_size(), 8),
    ) {
        let rational: Vec<Rational> = errors.iter().map(|&e| Rational::from_f64(e).expect("finite")).collect();
        let steps = maps.iter().fold(rational[..maps[0].inputs()].to_vec(), |e, map| exactly(map, &e));
        for whole in grouped([&maps[0], &maps[1], &maps[2]]) {
            for (bound, exact) in whole.errors(&errors[..maps[0].inputs()]).iter().zip(&steps) {
                prop_assert!(bound.is_infinite() || Rational::from_f64(*bound).expect("finite") >= *exact);
            }
        }
        let both = maps[0].beside(&aside[0]);
        let apart = exactly(&maps[0], &rational[..maps[0].inputs()]).into_iter()
            .chain(exactly(&aside[0], &rational[maps[0].inputs()..][..aside[0].inputs()]));
        for (bound, exact) in both.errors(&errors[..both.inputs()]).iter().zip(apart) {
            prop_assert!(Rational::from_f64(*bound).expect("finite") >= exact);
        }
    }
}
