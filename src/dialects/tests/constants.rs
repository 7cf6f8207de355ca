//! What the analysis makes of constants: tensors and facts, channels of contractions, flags, and extents that are not
//! known.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::support::ty;
use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_dialects::transfer::Flow;
use ngc_ir::{Attr, AttrDict, Blob, Body, Builder, Loc, Resources, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, Enclosure, Evaluator, Figures, Flags, Format, Mode, Random, Range, Tensor};
use rug::Float;

/// A body of one block under construction, with what is known of its values.
struct Graph {
    body: Body,
    flow: Flow,
}

impl Graph {
    fn new(resources: &Resources) -> Graph {
        let mut body = Body::new();
        let root = body.root();
        body.add_block(root);
        let flow = Flow::of_function(&body, None, resources);
        Graph { body, flow }
    }

    fn argument(&mut self, text: &str, lo: f64, hi: f64) -> Value {
        let block = self.body.entry().unwrap();
        let v = self.body.add_argument(block, ty(text), Loc::Unknown);
        self.flow.set(v, Range::both(Enclosure::new(lo, hi)), 0.0);
        v
    }

    fn op(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> (Value, Figures) {
        let context = ngc_dialects::context();
        let block = self.body.entry().unwrap();
        let mut b = Builder::at_end(&context, &mut self.body, block, Loc::Unknown);
        let v = b.emit(name, operands, attrs).unwrap();
        let op = self.body.defining_op(v).unwrap();
        (v, self.flow.step(&self.body, op).unwrap().remove(0))
    }

    fn constant(&mut self, value: Attr) -> Value {
        self.op("ng.constant", &[], [("value", value)]).0
    }

    fn floats(&mut self, format: Format, shape: &[usize], values: &[f64]) -> Value {
        let tensor = Tensor::floats(format, shape.to_vec(), values.to_vec()).unwrap();
        self.constant(tensor_to_attr(&tensor))
    }
}

fn graph() -> Graph {
    Graph::new(&Resources::default())
}

#[test]
fn the_columns_of_a_matrix_bound_its_product() {
    let mut g = graph();
    let x = g.argument("tensor<4x2xf32>", -1.0, 2.0);
    // Columns (1, -3), (0.5, 0.25), (0, 4).
    let w = g.floats(Format::F32, &[2, 3], &[1.0, 0.5, 0.0, -3.0, 0.25, 4.0]);
    let (y, figures) = g.op("ng.matmul", &[x, w], []);
    assert_eq!(figures.sensitivity[0].lipschitz, 4.0);
    // -1 - 6, and 4 · 2.
    assert_eq!((figures.range.exact.lo, figures.range.exact.hi), (-7.0, 8.0));
    assert_eq!(figures.curvature, 0.0);
    // Two products of at most 8 in all, and one sum.
    assert!(g.flow.error(y) <= 8.00001 * 2f64.powi(-23), "{}", g.flow.error(y));
}

#[test]
fn a_permutation_rounds_nothing() {
    let mut g = graph();
    let x = g.argument("tensor<1x3xf16>", -100.0, 100.0);
    let w = g.floats(Format::F16, &[3, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0]);
    let (y, figures) = g.op("ng.matmul", &[x, w], []);
    assert_eq!((figures.delta, figures.sensitivity[0].lipschitz), (0.0, 1.0));
    assert_eq!((g.flow.range(y).computed.lo, g.flow.range(y).computed.hi), (-100.0, 100.0));
}

#[test]
fn transposes_and_shapes_of_constants_are_constants() {
    let mut g = graph();
    let w = g.floats(Format::F32, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (t, _) = g.op("ng.transpose", &[w], [("permutation", Attr::ints([1, 0]))]);
    assert_eq!(g.flow.constant(t).unwrap().tensor().to_f64s(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let (wide, _) = g.op("ng.convert", &[t], [("to", Attr::Type(Type::float(Format::F64)))]);
    assert_eq!(g.flow.constant(wide).unwrap().dtype, DType::Float(Format::F64));
    assert!(g.flow.flags(wide).integer);
    let x = g.argument("tensor<1x3xf32>", -1.0, 1.0);
    let (_, figures) = g.op("ng.matmul", &[x, t], []);
    assert_eq!(figures.sensitivity[0].lipschitz, 15.0);
    // f16 cannot hold all of these, so the exact and the computed constant differ.
    let third = g.floats(Format::F32, &[2], &[1.0 / 3.0, 1.0]);
    let (narrow, _) = g.op("ng.convert", &[third], [("to", Attr::Type(Type::float(Format::F16)))]);
    assert!(g.flow.constant(narrow).is_none());
}

#[test]
fn affine_maps_keep_each_channel_with_its_bias() {
    for transposed in [false, true] {
        let mut g = graph();
        let x = g.argument("tensor<4x1xf32>", 0.0, 1.0);
        let shape: &[usize] = if transposed { &[2, 1] } else { &[1, 2] };
        let w = g.floats(Format::F32, shape, &[1.0, -1.0]);
        let b = g.floats(Format::F32, &[2], &[-1.0, 1.0]);
        let (_, figures) = g.op("ng.affine", &[x, w, b], [("transpose_w", Attr::Bool(transposed))]);
        // [0, 1] - 1 and [-1, 0] + 1; without channels it would be [-2, 2].
        assert_eq!((figures.range.exact.lo, figures.range.exact.hi), (-1.0, 1.0));
        assert_eq!(figures.sensitivity[0].lipschitz, 1.0);
    }
}

#[test]
fn integers_add_up_without_rounding() {
    let mut g = graph();
    let x = g.argument("tensor<1x3xf32>", -20.4, 20.4);
    let (n, _) = g.op("ng.round", &[x], []);
    assert!(g.flow.flags(n).integer);
    let w = g.floats(Format::F32, &[3, 1], &[3.0, -5.0, 7.0]);
    let (y, figures) = g.op("ng.matmul", &[n, w], []);
    assert_eq!(figures.delta, 0.0);
    assert!(g.flow.flags(y).integer);
    let (sum, figures) = g.op("ng.add", &[y, n], []);
    assert_eq!(figures.delta, 0.0);
    assert!(g.flow.flags(sum).integer);
    let (half, _) = g.op("ng.sqrt", &[sum], []);
    assert!(!g.flow.flags(half).integer);
}

#[test]
fn flags_of_constants_follow_their_elements() {
    let mut g = graph();
    let w = g.floats(Format::F32, &[2, 2], &[-0.0, 1.0, 2.0, f64::INFINITY]);
    let flags = g.flow.constant(w).unwrap().facts().flags;
    assert!(flags.negative_zero && !flags.positive_zero && flags.positive_infinity);
    let (flat, _) = g.op("ng.reshape", &[w], [("shape", Attr::ints([4]))]);
    assert_eq!(g.flow.flags(flat), flags);
    let (taken, _) = g.op("ng.reverse", &[w], [("axes", Attr::ints([0]))]);
    assert_eq!(g.flow.flags(taken), Flags { integer: true, ..flags });
}

#[test]
fn resources_are_read_and_shared() {
    let values: Vec<u8> = [1.0f32, -2.0, 0.5, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let blob = Blob { alignment: 4, bytes: values.into() };
    let resources: Resources = Arc::new(BTreeMap::from([("w".to_string(), blob)]));
    let mut g = Graph::new(&resources);
    let w = g.constant(Attr::Resource("w".into(), ty("tensor<2x2xf32>")));
    assert_eq!(g.flow.range(w).exact, Enclosure::new(-2.0, 4.0));
    let estimate = g.flow.norm2_estimate(w, ty("tensor<2x2xf32>")).unwrap();
    // The square root of the largest eigenvalue of [[1.25, 0], [0, 20]].
    assert!((estimate - 20f64.sqrt()).abs() < 1e-6, "{estimate}");
    let missing = g.constant(Attr::Resource("v".into(), ty("tensor<2x2xf32>")));
    assert!(g.flow.constant(missing).is_none() && g.flow.range(missing).exact.lo == f64::NEG_INFINITY);
}

#[test]
fn a_large_splat_costs_nothing() {
    let mut g = graph();
    let small = Tensor::floats(Format::F32, vec![2], vec![0.5, 0.5]).unwrap();
    let Attr::Dense(dense) = tensor_to_attr(&small) else { panic!("two elements") };
    let mut dense = (*dense).clone();
    assert!(dense.splat);
    dense.ty = ty("tensor<1000000x1000000xf32>");
    let w = g.constant(Attr::Dense(Arc::new(dense)));
    assert_eq!(g.flow.constant(w).unwrap().len(), 1);
    assert_eq!(g.flow.norm2_estimate(w, ty("tensor<1000000x1000000xf32>")), Some(5e5));
    let x = g.argument("tensor<1x1000000xf32>", 0.0, 1.0);
    let (_, figures) = g.op("ng.matmul", &[x, w], []);
    assert_eq!(figures.sensitivity[0].lipschitz, 5e5);
    assert_eq!((figures.range.exact.lo, figures.range.exact.hi), (0.0, 5e5));
}

#[test]
fn open_extents_take_their_stated_range() {
    let stated = |range: Option<[i64; 2]>| {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        body.add_argument(block, ty("tensor<2x?xf32>"), Loc::Unknown);
        let dict = match range {
            Some(range) => {
                AttrDict::from([("ng.dim_range", Attr::Array([Attr::ints(range)].into_iter().collect()))])
            }
            None => AttrDict::EMPTY,
        };
        let attrs = Attr::Array([Attr::Dict(dict)].into_iter().collect());
        let flow = Flow::of_function(&body, Some(&attrs), &Resources::default());
        let mut g = Graph { body, flow };
        let x = g.body.arguments(block)[0];
        g.flow.set(x, Range::both(Enclosure::new(1.0, 2.0)), 0.0);
        let (t, _) = g.op("ng.transpose", &[x], [("permutation", Attr::ints([1, 0]))]);
        let (_, product) = g.op("ng.matmul", &[x, t], []);
        let (y, _) = g.op("ng.mul", &[x, x], []);
        let (_, sum) = g.op("ng.reduce_sum", &[y], [("axes", Attr::ints([1]))]);
        let (_, most) = g.op("ng.reduce_max", &[y], [("axes", Attr::ints([1]))]);
        (product, sum, most)
    };
    let (product, sum, most) = stated(Some([3, 10]));
    assert_eq!((product.range.exact.lo, product.range.exact.hi), (3.0, 40.0));
    assert_eq!((sum.range.exact.lo, sum.range.exact.hi), (3.0, 40.0));
    assert_eq!(sum.sensitivity[0].lipschitz, 10.0);
    assert!(product.delta.is_finite() && sum.delta.is_finite());
    assert_eq!((most.range.exact.lo, most.range.exact.hi), (1.0, 4.0));
    let (product, sum, _) = stated(None);
    assert!(product.delta.is_infinite() && sum.delta.is_infinite());
    assert_eq!(sum.range.exact.lo, 0.0);
}

/// Elements of many magnitudes, or all alike, zero, or powers of two.
fn elements(r: &mut Random, format: Format, count: usize) -> Vec<f64> {
    let (kind, scale) = (r.below(6), r.pick(&[1.0, 0.01, 30.0, format.min_subnormal() * 64.0]));
    let of = |r: &mut Random| match kind {
        0 => 0.25,
        1 => r.pick(&[0.0, 0.0, 1.0, -2.0, 0.5]),
        2 => r.below(9) as f64 - 4.0,
        3 => scale * r.unit(),
        _ => scale * (2.0 * r.unit() - 1.0),
    };
    (0..count).map(|_| format.round(of(r))).collect()
}

/// An op evaluated as rounded, and at 300 bits.
fn both(name: &str, inputs: &[Tensor], attrs: &AttrDict) -> (Tensor, Tensor) {
    let def = common::op(name);
    let types: Vec<Type> = inputs
        .iter()
        .map(|t| common::tensor(&t.shape.iter().map(|&n| Some(n)).collect::<Vec<_>>(), t.dtype))
        .collect();
    let signature = Signature { def, operands: &types, attrs };
    let Semantics::Primitive(run) = def.semantics else { panic!("{name} is no primitive") };
    let at = |mode| {
        let evaluator = Evaluator { mode };
        let lifted: Vec<Tensor> = inputs.iter().map(|t| evaluator.lift(t)).collect();
        run(&evaluator, &signature, &lifted.iter().collect::<Vec<_>>()).unwrap().remove(0)
    };
    (at(Mode::Rounded), at(Mode::Real { bits: 300 }))
}

#[test]
fn no_bound_of_a_product_with_constants_is_exceeded() {
    let mut r = Random::new(1001);
    let formats = [Format::F64, Format::F32, Format::F16, Format::Bf16, Format::F8E5M2];
    let mut bounded = 0;
    for round in 0..1500 {
        let format = r.pick(&formats);
        let elem = DType::Float(format);
        let (m, k, n) = (1 + r.below(3), 1 + r.below(7), 1 + r.below(4));
        let conv = r.chance(40);
        let left = !conv && r.chance(30);
        let [data, weights] = if conv {
            [vec![1, 1, k + 2], vec![n, 1, 1 + r.below(k)]]
        } else if left {
            [vec![k, n], vec![m, k]]
        } else {
            [vec![m, k], vec![k, n]]
        };
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let (lo, hi) = r.pick(&[(-3.0, 3.0), (0.0, 1.0), (-5.0, -0.5), (-1e-3, 2e-3)]);
        let (lo, hi) = (format.round(lo), format.round(hi));
        let integral = r.chance(20);
        let mut attrs = AttrDict::EMPTY;
        if r.chance(50) {
            let acc = r.pick(&[Format::F64, Format::F32, Format::F16]);
            attrs.set("accumulate", Attr::Type(Type::float(acc)));
        }
        attrs.set("sum", r.pick(&["naive", "pairwise", "kahan", "neumaier"]));
        if conv && r.chance(50) {
            attrs.set("pads", Attr::Array([Attr::ints([1, 2])].into_iter().collect()));
        }
        let mut g = graph();
        let text = |shape: &[usize]| {
            let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
            format!("tensor<{}x{}>", dims.join("x"), elem.name())
        };
        let argument = g.argument(&text(&data), lo, hi);
        let x = if integral { g.op("ng.round", &[argument], []).0 } else { argument };
        let w = Tensor::floats(format, weights.clone(), elements(&mut r, format, count(&weights))).unwrap();
        let b = Tensor::floats(format, vec![n], elements(&mut r, format, n)).unwrap();
        let constant = g.constant(tensor_to_attr(&w));
        let mut operands = if left { vec![constant, x] } else { vec![x, constant] };
        let biased = conv && r.chance(60);
        if biased {
            operands.push(g.constant(tensor_to_attr(&b)));
        }
        let name = if conv { "conv" } else { "matmul" };
        let (v, _) = g.op(&format!("ng.{name}"), &operands, attrs.clone());
        for _ in 0..4 {
            let sample = |r: &mut Random| {
                let between = lo + (hi - lo) * r.unit();
                let x = r.pick(&[lo, hi, between]);
                let x = format.round(x).clamp(lo, hi);
                if integral { x.round_ties_even() } else { x }
            };
            let values = (0..count(&data)).map(|_| sample(&mut r)).collect();
            let x = Tensor::floats(format, data.clone(), values).unwrap();
            let mut inputs = if left { vec![w.clone(), x] } else { vec![x, w.clone()] };
            if biased {
                inputs.push(b.clone());
            }
            let (computed, exact) = both(name, &inputs, &attrs);
            let ngc_numerics::Data::Real(exact) = &exact.data else { panic!("big floats") };
            let (range, error) = (g.flow.range(v), g.flow.error(v));
            for (&c, e) in computed.as_floats().unwrap().iter().zip(exact) {
                let place =
                    || format!("{round}: {name} {attrs:?} {format:?}: {c:e} {e}, {range:?} ± {error:e}");
                assert!(*e >= range.exact.lo && *e <= range.exact.hi, "{}", place());
                if error.is_finite() {
                    assert!(range.computed.contains(&c), "{}", place());
                    assert!(Float::with_val(300, e - c).abs() <= error, "{}", place());
                    bounded += 1;
                }
            }
        }
    }
    assert!(bounded > 20_000, "{bounded}");
}

/// Ten layers of a million weights each: no more than reading them takes.
#[test]
fn large_matrices_are_quick() {
    let n = 1000;
    let mut r = Random::new(5);
    let bytes: Vec<u8> = (0..n * n).flat_map(|_| (r.unit() as f32 - 0.5).to_le_bytes()).collect();
    let blob = Blob { alignment: 4, bytes: bytes.into() };
    let resources: Resources = Arc::new(BTreeMap::from([("w".to_string(), blob)]));
    let mut g = Graph::new(&resources);
    let mut x = g.argument("tensor<1x1000xf32>", -1.0, 1.0);
    let start = Instant::now();
    for _ in 0..5 {
        let w = g.constant(Attr::Resource("w".into(), ty("tensor<1000x1000xf32>")));
        x = g.op("ng.matmul", &[x, w], []).0;
    }
    println!("matmul {:?}", start.elapsed());
    for _ in 0..5 {
        let w = g.constant(Attr::Resource("w".into(), ty("tensor<1000x1000xf32>")));
        x = g.op("ng.affine", &[x, w], [("transpose_w", Attr::Bool(true))]).0;
    }
    let took = start.elapsed();
    println!("{took:?}");
    assert!(took.as_secs_f64() < 2.0, "{took:?}");
    assert!(g.flow.error(x).is_finite());
}
