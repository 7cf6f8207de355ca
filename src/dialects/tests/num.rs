//! Ranges of ops on encodings and of tables hold on all operands that are tried; what has no meaning over the reals is refused.

use ngc_dialects::transfer::transfer;
use ngc_ir::op_def::Semantics;
use ngc_ir::{Attr, AttrDict, Signature, Type};
use ngc_numerics::{DType, Enclosure, Evaluator, Mode, Random, Range, Tensor};

/// Whether results of an op on integers in ranges lie in the range that is known of them.
fn integers_hold(name: &str, operands: usize, attrs: &AttrDict) {
    let context = ngc_dialects::context();
    let def = context.op(name).expect("an op");
    let mut r = Random::new(7);
    for elem in [DType::Int(8), DType::Int(32), DType::Int(64)] {
        let types = vec![Type::scalar(elem); operands];
        let s = Signature { def, operands: &types, attrs };
        if s.infer().is_err() {
            continue;
        }
        let results = s.infer().expect("types");
        let (least, greatest) = elem.int_range();
        for _ in 0..300 {
            let mut draw = || {
                let ends =
                    [least, -5, -1, 0, 1, 6, 100, greatest, (r.below(256) as i64 - 128) << r.below(24)];
                elem.wrap(r.pick(&ends))
            };
            let ends: Vec<(i64, i64)> =
                (0..operands).map(|_| (draw(), draw())).map(|(a, b)| (a.min(b), a.max(b))).collect();
            let as_range = |&(a, b): &(i64, i64)| {
                Range::both(ngc_numerics::figures::integer(a).hull(ngc_numerics::figures::integer(b)))
            };
            let ranges: Vec<Range> = ends.iter().map(as_range).collect();
            let figures = transfer(&s, &ranges, &results);
            for _ in 0..20 {
                let x: Vec<Tensor> = ends
                    .iter()
                    .map(|&(a, b)| {
                        let middle =
                            a.saturating_add((b.wrapping_sub(a) as u64 / (1 + r.below(9) as u64)) as i64);
                        Tensor::int_scalar(elem, r.pick(&[a, b, middle.clamp(a, b)]))
                    })
                    .collect();
                let inputs: Vec<&Tensor> = x.iter().collect();
                let Semantics::Primitive(evaluate) = def.semantics else { panic!("{name} is no primitive") };
                let y = evaluate(&Evaluator::new(Mode::Rounded), &s, &inputs).expect("a result");
                let y = y[0].as_ints().expect("integers")[0];
                let known = figures[0].range.computed;
                let value = ngc_numerics::figures::integer(y);
                assert!(
                    known.lo <= value.hi && known.hi >= value.lo,
                    "{name} {elem} of {x:?} is {y}, not in {known:?}"
                );
            }
        }
    }
}

#[test]
fn ranges_of_bits_hold() {
    for name in ["num.andi", "num.ori", "num.xori"] {
        integers_hold(name, 2, &AttrDict::EMPTY);
    }
    for bits in [0, 1, 5, 7, 31, 63] {
        for name in ["num.shli", "num.shrui", "num.shrsi"] {
            integers_hold(name, 1, &AttrDict::from([("bits", Attr::int(bits))]));
        }
    }
}

#[test]
fn a_table_gives_its_entries_and_knows_no_place_outside() {
    let context = ngc_dialects::context();
    let def = context.op("num.table").expect("an op");
    let table = Tensor::floats(ngc_numerics::Format::F32, vec![3], vec![1.0, -2.0, 5.0]).expect("a tensor");
    let attrs = AttrDict::from([("values", ngc_dialects::ng::constant::tensor_to_attr(&table))]);
    let types = [Type::int(32)];
    let s = Signature { def, operands: &types, attrs: &attrs };
    let results = s.infer().expect("types");
    let range =
        |a: f64, b: f64| transfer(&s, &[Range::both(Enclosure::new(a, b))], &results)[0].range.computed;
    assert_eq!((range(0.0, 1.0).lo, range(0.0, 1.0).hi), (-2.0, 1.0));
    assert_eq!((range(1.0, 2.0).lo, range(1.0, 2.0).hi), (-2.0, 5.0));
    assert!(range(0.0, 3.0).may_be_nan && range(-1.0, 0.0).may_be_nan, "nothing is known outside the table");
    let Semantics::Primitive(evaluate) = def.semantics else { panic!("a primitive") };
    let at = |i: i64| evaluate(&Evaluator::new(Mode::Rounded), &s, &[&Tensor::int_scalar(DType::Int(32), i)]);
    assert_eq!(at(2).expect("an entry")[0].to_f64s(), [5.0]);
    assert_eq!(at(3).expect_err("no entry"), "looks at place 3 of a table of 3 entries");
    assert!(at(-1).is_err());
}

#[test]
fn encodings_have_no_meaning_over_the_reals() {
    let context = ngc_dialects::context();
    let def = context.op("num.bitcast").expect("an op");
    let attrs = AttrDict::from([("to", Attr::Type(Type::int(32)))]);
    let types = [Type::float(ngc_numerics::Format::F32)];
    let s = Signature { def, operands: &types, attrs: &attrs };
    let Semantics::Primitive(evaluate) = def.semantics else { panic!("a primitive") };
    let x = Tensor::scalar(ngc_numerics::Format::F32, -1.5);
    let bits = evaluate(&Evaluator::new(Mode::Rounded), &s, &[&x]).expect("bits");
    assert_eq!(bits[0].as_ints(), Some(&[i64::from((-1.5f32).to_bits() as i32)][..]));
    for mode in [Mode::Real { bits: 100 }, Mode::Uniform(ngc_numerics::Format::F64)] {
        assert!(evaluate(&Evaluator::new(mode), &s, &[&x]).is_err());
    }
}
