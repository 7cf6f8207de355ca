//! Ops whose number of elements is known by its bounds only: what is found for all numbers holds for each.

use ngc_dialects::transfer::transfer_known;
use ngc_interp::evaluate_op;
use ngc_ir::{Attr, AttrDict, Dim, Signature, Type};
use ngc_numerics::{DType, Enclosure, Evaluator, Extent, Format, Mode, Operands, Random, Range, Tensor};

const ROWS: usize = 16;

#[test]
fn bounds_hold_for_every_extent() {
    let context = ngc_dialects::context();
    let mut r = Random::new(5005);
    let axis = || ("axis", Attr::int(-1));
    let axes = || ("axes", Attr::ints([-1]));
    let ops = [
        ("ng.reduce_mean", axes()),
        ("ng.softmax", axis()),
        ("ng.log_softmax", axis()),
        ("ng.logsumexp", axes()),
        ("ng.variance", axes()),
        ("ng.norm", axes()),
        ("ng.layer_norm", axis()),
        ("ng.rms_norm", axis()),
        ("ng.normalize", axis()),
    ];
    let mut tightest = vec![f64::INFINITY; ops.len()];
    for round in 0..40 * ops.len() {
        let place = round % ops.len();
        let (name, attr) = ops[place].clone();
        let format = r.pick(&[Format::F32, Format::F16, Format::Bf16]);
        let (least, most) = r.pick(&[(1, 12), (3, 9), (2, 300), (5, 5)]);
        let (lo, hi) = r.pick(&[(-4.0, 4.0), (0.5, 4.0), (0.0, 1.0)]);
        let mut attrs = AttrDict::from([attr]);
        if r.chance(30) {
            attrs.set("accumulate", Attr::Type(Type::float(Format::F32)));
        }
        attrs.set("sum", r.pick(&["naive", "pairwise", "neumaier"]));
        let def = context.op(name).expect("the op is declared");
        let of = |dim: Dim| [Type::tensor([Dim::Static(ROWS), dim], DType::Float(format))];
        let open = of(Dim::Dynamic);
        let s = Signature { def, operands: &open, attrs: &attrs };
        let extents = [Extent::exactly(ROWS as f64), Extent { least: least as f64, most: most as f64 }];
        let ranges = [Range::both(Enclosure::new(lo, hi))];
        let x = Operands { extents: &[&extents], ..Operands::of_ranges(&ranges) };
        let results = s.infer().expect("a type");
        let figures = transfer_known(&s, &x, &[0], &results).remove(0);
        assert!(figures.delta.is_finite() || format != Format::F32, "{name} {attrs:?} of {least} to {most}");
        let mut observed = 0.0f64;
        for n in [least, most, least + r.below(most - least + 1), (least + most) / 2] {
            let value = |r: &mut Random| {
                let between = r.uniform(lo, hi);
                format.round(r.pick(&[lo, hi, between]))
            };
            let data = (0..ROWS * n).map(|_| value(&mut r)).collect();
            let input = Tensor::floats(format, vec![ROWS, n], data).expect("fits");
            let run = |mode| {
                let inputs = std::slice::from_ref(&input);
                let found = evaluate_op(&context, &Evaluator::new(mode), def, &attrs, inputs);
                found.expect("evaluates")[0].to_f64s()
            };
            let (computed, exact) = (run(Mode::Rounded), run(Mode::Uniform(Format::F64)));
            for (c, e) in computed.iter().zip(&exact) {
                let place = || {
                    format!("{name} {attrs:?} {format:?} of {n} in [{lo}, {hi}]: {c:e}, {e:e}, {figures:?}")
                };
                let slack = 1e-12 * e.abs().max(1.0);
                assert!(
                    figures.range.exact.lo <= e + slack && *e <= figures.range.exact.hi + slack,
                    "{}",
                    place()
                );
                // Where an overflow or NaN is possible nothing is promised.
                if figures.delta.is_infinite() {
                    continue;
                }
                assert!(figures.range.computed.contains(c), "{}", place());
                assert!((c - e).abs() <= figures.delta + slack, "{}", place());
                observed = observed.max((c - e).abs());
            }
        }
        if least < most && observed > 0.0 {
            tightest[place] = tightest[place].min(figures.delta / observed);
        }
    }
    for ((name, _), ratio) in ops.iter().zip(&tightest) {
        println!("{name:20} {ratio:.1}");
        assert!(*ratio < 50.0, "{name}: {ratio} times the observed error at best");
    }
}
