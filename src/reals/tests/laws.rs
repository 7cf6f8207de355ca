//! Laws hold, false ones are refused, and each is found in disguise.

use std::time::Instant;

use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::{DType, Data, Format, Tensor};
use ngc_reals::laws::build::{Bindings, Build, nothing_known};
use ngc_reals::laws::verify::{Verdict, agree, verify};
use ngc_reals::laws::{BUNDLED, Laws};
use ngc_reals::store::Leaf;
use ngc_reals::{Node, Store, Use};

const POINTS: usize = 300;

#[test]
fn bundled_laws_hold() {
    let start = Instant::now();
    let laws = Laws::bundled();
    println!("{} laws read in {:?}", laws.iter().count(), start.elapsed());
    let context = ngc_dialects::context();
    let mut wrong = Vec::new();
    for law in laws.iter() {
        let start = Instant::now();
        match verify(law, &context, POINTS) {
            Verdict::Holds { points } if points >= POINTS / 20 => {
                println!("{} holds at {points} points, {:?}", law.name(), start.elapsed());
            }
            Verdict::Differs(point) => wrong.push(format!("{}: {point}", law.name())),
            other => wrong.push(format!("{}: {other:?}", law.name())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_are_read_again_alike() {
    for (file, (_, text)) in BUNDLED.iter().enumerate() {
        assert!(Laws::parse(text, file as u16).is_ok());
    }
}

/// How a variable stands in a disguise: a factor, a number that is added, and a power.
const DISGUISES: [(i32, i32, i32); 6] = [(1, 0, 1), (2, 0, 1), (-1, 0, 1), (1, 1, 1), (1, 0, -1), (-3, 2, 1)];

/// Values of three elements, or of three rows of two.
fn point(round: usize, variable: usize, indexed: bool) -> Tensor {
    let count = if indexed { 6 } else { 3 };
    let element = |n: usize| {
        let x = ((round * 31 + variable * 17 + n * 7) as f64 * 0.618_033_988).fract();
        match round % 4 {
            0 => x,
            1 => 4.0 * x - 2.0,
            2 => 0.5 + x * 1e-9,
            _ => 40.0 * x - 20.0,
        }
    };
    let shape = if indexed { vec![3, 2] } else { vec![3] };
    Tensor { dtype: DType::Float(Format::F64), shape, data: Data::Float((0..count).map(element).collect()) }
}

#[test]
fn laws_are_found_in_disguise() {
    let (laws, context) = (Laws::bundled(), ngc_dialects::context());
    let (mut found, mut tried, mut checked, mut errors) = (0, 0, 0, Vec::new());
    for law in laws.iter() {
        let variables = &law.text.variables;
        for disguise in DISGUISES {
            let mut store = Store::new();
            let space = [Size::known(3)];
            let over = vec![Size::known(2)];
            let inner = [Size::known(3), Size::known(2)];
            let mut values = Vec::new();
            for (n, variable) in variables.iter().enumerate() {
                let (extents, space) = if variable.indexed { (&inner[..], &inner[..]) } else { (&space[..], &space[..]) };
                let leaf = store.leaf_use(Leaf::Value(n as u32), extents);
                let (factor, shift, power) = if n == 0 { disguise } else { (1, 0, 1) };
                let power = store.power(leaf, power, space);
                values.push(Some(store.linear(shift.into(), vec![(factor.into(), power)], space)));
            }
            let bindings = Bindings { values, over: Some(over) };
            let beside = store.leaf_use(Leaf::Value(variables.len() as u32), &space);
            let mut build =
                Build { store: &mut store, facts: &mut nothing_known, bindings: &bindings, space: space.to_vec() };
            let left = build.expr(&law.text.left).expect("a term");
            let whole = match store.node(left.id) {
                Node::Linear(..) => store.linear(0.into(), vec![(3.into(), left), (1.into(), beside)], &space),
                Node::Product(_) => {
                    store.product((-2).into(), vec![(left, 1.into()), (beside, 1.into())], &space)
                }
                _ => left,
            };
            // What multiplies a product is no part of it.
            let (whole, scale) = match store.node(whole.id) {
                Node::Linear(c, terms) if c.is_zero() && terms.len() == 1 => (terms[0].1.clone(), 1),
                _ => (whole, 0),
            };
            tried += 1;
            let all = laws.alternatives(&mut store, &mut nothing_known, whole.id);
            let own = all.iter().any(|equal| equal.law == law.name());
            found += usize::from(own);
            if !own {
                let how = format!("{} in {disguise:?} ({scale}): {}", law.name(), store.show(&whole));
                if disguise == DISGUISES[0] { errors.push(how) } else { println!("not found: {how}") }
            }
            let itself = Use { id: whole.id, map: (0..store.sizes(whole.id).len()).map(axis).collect() };
            for equal in &all {
                for round in 0..8 {
                    let leaves: Vec<Tensor> =
                        (0..=variables.len()).map(|n| point(round, n, variables.get(n).is_some_and(|v| v.indexed))).collect();
                    checked += 1;
                    if agree(&store, &context, [&itself, &equal.term], &[1], &leaves) == Some(false) {
                        let (left, right) = (store.show(&itself), store.show(&equal.term));
                        errors.push(format!("{}: {left}\n    is not {right}\n    at {leaves:?}", equal.law));
                        break;
                    }
                }
            }
        }
    }
    println!("{found} of {tried} disguises are seen through; {checked} alternatives evaluated");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

fn axis(n: usize) -> Index {
    Index::axis(Axis(n as u32))
}
