//! Structural ops under arbitrary operands and attributes: inference and evaluation answer or refuse, and never panic;
//! what evaluation gives has the inferred shape (checked in the helper), and `?` only hides extents.

use crate::hooks::*;
use ngc_dialects::ng::{index, scan, scatter, shape, slice, sort};
use ngc_ir::op_def::{AttrKind, Default};
use ngc_ir::{Attr, AttrDict, Dim, OpDef, Semantics, Signature, Type};
use ngc_numerics::evaluator::Mode;
use ngc_numerics::{DType, Format, Tensor};
use proptest::prelude::*;

fn op() -> impl Strategy<Value = &'static OpDef> {
    let families = [shape::OPS, slice::OPS, index::OPS, scatter::OPS, scan::OPS, sort::OPS];
    proptest::sample::select(families.concat())
}

/// Mostly small, sometimes at the ends of the range, where arithmetic overflows.
fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => -3i64..6,
        1 => proptest::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX, 1 << 40, 1 << 62, -1 << 40]),
    ]
}

fn elem() -> impl Strategy<Value = DType> {
    proptest::sample::select(vec![
        DType::Float(Format::F32),
        DType::Float(Format::F16),
        DType::Float(Format::F8E4M3FN),
        DType::Int(1),
        DType::Int(8),
        DType::Int(64),
        DType::Index,
    ])
}

fn attr(kind: AttrKind) -> BoxedStrategy<Attr> {
    match kind {
        AttrKind::Int => int().prop_map(Attr::int).boxed(),
        AttrKind::Float => prop_oneof![
            int().prop_map(|v| Attr::float(v as f64)),
            proptest::sample::select(vec![0.5, -0.0, f64::NAN, f64::INFINITY, 1e300, 1e-300])
                .prop_map(Attr::float),
            int().prop_map(Attr::int),
        ]
        .boxed(),
        AttrKind::Bool => any::<bool>().prop_map(Attr::Bool).boxed(),
        AttrKind::Ints => prop_oneof![prop::collection::vec(int(), 0..4), prop::collection::vec(int(), 1)]
            .prop_map(Attr::ints)
            .boxed(),
        AttrKind::Enum(names) => proptest::sample::select(names.to_vec()).prop_map(Attr::from).boxed(),
        AttrKind::ElemType => elem().prop_map(|elem| Attr::from(Type::scalar(elem))).boxed(),
        AttrKind::Format => Just(Attr::from(Type::float(Format::F64))).boxed(),
        AttrKind::Type => (prop::collection::vec(0usize..4, 0..3), elem())
            .prop_map(|(shape, elem)| Attr::from(Type::tensor(shape.into_iter().map(Dim::Static), elem)))
            .boxed(),
        other => unreachable!("no structural op has an attribute that is {}", other.describe()),
    }
}

/// An op with attributes of the declared kinds, one in twenty of them missing.
fn application() -> impl Strategy<Value = (&'static OpDef, AttrDict)> {
    op().prop_flat_map(|def| {
        let entries: Vec<_> = def
            .attributes
            .iter()
            .map(|a| {
                let present = if a.default == Default::Required { 0.95 } else { 0.5 };
                prop::option::weighted(present, attr(a.kind))
                    .prop_map(|value| value.map(|v| (a.name.into(), v)))
            })
            .collect();
        (Just(def), entries.prop_map(|entries| AttrDict::new(entries.into_iter().flatten())))
    })
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let shape = prop_oneof![prop::collection::vec(0usize..4, 0..4), prop::collection::vec(0usize..4, 1)];
    (shape, elem()).prop_flat_map(|(shape, elem)| {
        let count: usize = shape.iter().product();
        prop::collection::vec(-3i64..4, count).prop_map(move |values| match elem {
            DType::Float(format) => {
                let values = values.into_iter().map(|v| if v == 3 { f64::NAN } else { v as f64 }).collect();
                Tensor::floats(format, shape.clone(), values).expect("as many values as the shape has")
            }
            _ => Tensor::ints(elem, shape.clone(), values).expect("as many values as the shape has"),
        })
    })
}

/// As many operands as the op takes, give or take none; often with indices second, and of shapes that fit.
fn operands() -> impl Strategy<Value = Vec<Tensor>> {
    prop_oneof![
        prop::collection::vec(tensor(), 0..4),
        (tensor(), 1usize..4).prop_map(|(t, n)| vec![t; n]),
        (tensor(), tensor()).prop_map(|(data, t)| vec![data.clone(), indices(&t), data]),
        tensor().prop_map(|t| vec![t.clone(), indices(&t), t]),
        tensor().prop_map(|t| {
            let vectors = indices(&t).reshape([t.shape.clone(), vec![1]].concat()).expect("as many elements");
            vec![floats(&[3], &[1.0, 2.0, 3.0]), vectors, counting(&t.shape)]
        }),
    ]
}

/// The elements as integers; NaN becomes 0.
fn indices(t: &Tensor) -> Tensor {
    longs(&t.shape, &t.to_f64s().iter().map(|&v| v as i64).collect::<Vec<_>>())
}

fn types(tensors: &[Tensor]) -> Vec<Type> {
    tensors.iter().map(|t| Type::tensor(t.shape.iter().map(|&n| Dim::Static(n)), t.dtype)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_or_refuses((def, attrs) in application(), mut inputs in operands(), hidden: u16, real: bool) {
        let variadic = def.operands.iter().any(|o| o.arity == ngc_ir::op_def::Arity::Variadic);
        if !variadic {
            inputs.truncate(def.operands.len());
        }
        let types = types(&inputs);
        let s = Signature { def, operands: &types, attrs: &attrs };
        // Hooks must stand on their own, so they are called whatever `check` says of the operands' number and kinds ...
        let inferred = s.infer();
        if let Some(fold) = def.fold {
            fold(&s, &vec![None; types.len()]);
        }
        // ... but evaluation only follows a valid op.
        if s.check().is_err() || inferred.is_err() {
            return Ok(());
        }
        let mode = if real { Mode::Real { bits: 96 } } else { Mode::Rounded };
        let refs: Vec<&Tensor> = inputs.iter().collect();
        let _ = eval_in(mode, def, &refs, &attrs);

        // With some extents unknown, inference gives a type that is compatible, or refuses for want of one that it needs.
        let mut bits = hidden;
        let vague: Vec<Type> = types.iter().map(|ty| {
            let shape = ty.shape().unwrap_or(&[]).iter().map(|&d| {
                bits = bits.rotate_right(1);
                if bits & 1 == 1 { Dim::Dynamic } else { d }
            });
            Type::tensor(shape.collect::<Vec<_>>(), ty.elem().unwrap_or(DType::Index))
        }).collect();
        let vaguely = Signature { def, operands: &vague, attrs: &attrs }.infer();
        if let (Ok(vague), Ok(known)) = (vaguely, inferred) {
            prop_assert_eq!(vague.len(), known.len());
            for (v, k) in vague.iter().zip(&known) {
                prop_assert!(v.is_compatible(*k), "{} gives {} for unknown extents, but {}", def.name, v, k);
            }
        }
    }
}

#[test]
fn every_structural_op_is_a_primitive_with_an_example() {
    for def in [shape::OPS, slice::OPS, index::OPS, scatter::OPS, scan::OPS, sort::OPS].concat() {
        assert!(matches!(def.semantics, Semantics::Primitive(_)), "{}", def.name);
        assert!(def.example.contains(def.name) && def.description.contains("Reference:"), "{}", def.name);
    }
}
