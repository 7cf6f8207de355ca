//! Every op at its boundaries: operands whose ranges touch the ends of a domain or of a format, hold one value only, or
//! NaN, and tensors of the corner values of these ranges, empty and single-element axes among them. Enclosures and error
//! bounds hold against the op as rounded and at 300 bits.

use crate::random_graphs::values::{BITS, inside, reals};
use crate::random_graphs::{Graph, ops};
use crate::support::evidence;
use ngc_dialects::transfer::Flow;
use ngc_interp::Interpreter;
use ngc_ir::{Context, OpDef};
use ngc_numerics::{DType, Enclosure, Evaluator, Format, Mode, Random, Range, Tensor};
use rayon::prelude::*;
use rug::Float;

/// A range, and whether NaN is among its values.
type Boundary = (f64, f64, bool);

/// Boundaries of every op.
fn general(format: Format) -> Vec<Boundary> {
    let (tiny, normal, max) = (format.min_subnormal(), format.min_normal(), format.max_finite());
    let inf = if format.has_infinity() { f64::INFINITY } else { max };
    let ends = [
        (0.0, 0.0),
        (-tiny, tiny),
        (tiny, tiny),
        (-normal, normal),
        (normal, normal),
        (0.0, 1.0),
        (-1.0, 0.0),
        (-1.0, 1.0),
        (1.0, 1.0),
        (max, max),
        (-max, max),
        (max / 2.0, max),
        (-inf, inf),
        (0.0, inf),
        (-inf, -inf),
    ];
    let defined = ends.map(|(lo, hi)| (lo, hi, false));
    defined.into_iter().chain([(-1.0, 1.0, true), (-inf, inf, true)]).collect()
}

/// Boundaries of ops that have others: ends of domains, poles, jumps, and where the result leaves the format.
fn special(op: &str, format: Format) -> Vec<Boundary> {
    use std::f64::consts::{FRAC_PI_2, PI};
    let (max, normal) = (format.max_finite(), format.min_normal());
    let around = |x: f64| vec![(format.next_down(format.round(x)), format.next_up(format.round(x)))];
    let ends: Vec<(f64, f64)> = match op {
        "exp" | "expm1" | "sinh" | "cosh" | "softmax" | "logsumexp" | "log_softmax" | "softplus" => {
            [around(max.ln()), around(normal.ln()), vec![(-max.ln(), max.ln())]].concat()
        }
        "exp2" => [around(max.log2()), around(normal.log2())].concat(),
        "log" | "log2" | "log10" | "sqrt" | "rsqrt" | "reciprocal" | "div" | "pow" | "cbrt" => {
            vec![(-normal, 1.0), (0.0, format.min_subnormal()), (1.0, format.next_up(1.0))]
        }
        "log1p" => [around(-1.0), vec![(-1.0, 0.0), (-2.0, -1.0)]].concat(),
        "asin" | "acos" | "atanh" | "acosh" => {
            [around(1.0), around(-1.0), vec![(-2.0, 2.0), (1.0, max)]].concat()
        }
        "tan" | "sin" | "cos" => [around(FRAC_PI_2), around(PI), vec![(0.0, 7.0)]].concat(),
        "floor" | "ceil" | "round" | "trunc" | "convert" => {
            [around(0.5), around(1.5), around(-0.5), vec![(-2.5, 2.5)]].concat()
        }
        "square" | "mul" | "norm" | "variance" | "layer_norm" | "rms_norm" | "group_norm" | "normalize" => {
            [around(max.sqrt()), around(normal.sqrt()), vec![(-max.sqrt(), max.sqrt())]].concat()
        }
        "reduce_sum" | "reduce_mean" | "cumsum" | "add" | "avg_pool" => {
            vec![(max / 3.0, max / 2.0), (-max / 2.0, max / 2.0)]
        }
        "sigmoid" | "silu" | "gelu" | "mish" | "tanh" | "erf" | "erfc" | "elu" | "selu" => {
            vec![(-100.0, -80.0), (80.0, 100.0)]
        }
        "lgamma" | "digamma" => {
            [around(1.0), around(2.0), around(-1.0), vec![(0.0, 3.0), (-2.5, 0.5), (1.45, 1.47)]].concat()
        }
        _ => Vec::new(),
    };
    let numbers = |&(lo, hi): &(f64, f64)| lo.is_finite() && hi.is_finite() && lo <= hi;
    let of_format = |(lo, hi): (f64, f64)| (format.round(lo), format.round(hi), false);
    ends.into_iter().filter(numbers).map(of_format).collect()
}

/// Corner values throughout, one of them alone, or all in turn: the ends of the range, their neighbours, zeros, the
/// least numbers, NaN.
fn tensor(r: &mut Random, format: Format, shape: &[usize], (lo, hi, nan): Boundary) -> Tensor {
    let tiny = format.min_subnormal();
    let near = [lo, hi, 0.0, -0.0, tiny, -tiny, format.next_up(lo), format.next_down(hi)];
    let mut corners: Vec<f64> = near.into_iter().filter(|&x| lo <= x && x <= hi).collect();
    corners.extend(nan.then_some(f64::NAN));
    let (kind, first) = (r.below(3), r.below(corners.len()));
    let at = |i: usize| match kind {
        0 => corners[first],
        1 => corners[usize::from(i == 0) * first],
        _ => corners[(first + i) % corners.len()],
    };
    let count = shape.iter().product();
    Tensor::floats(format, shape.to_vec(), (0..count).map(at).collect()).expect("values of the format")
}

/// Checks the op on one boundary; gives the number of values, and what is wrong.
fn check(
    context: &Context,
    op: &'static OpDef,
    format: Format,
    boundary: Boundary,
    seed: u64,
) -> (usize, Option<String>) {
    let mut r = Random::new(seed);
    let graph = Graph::draw(&mut r, context, &[op], format);
    let body = &graph.body;
    let mut flow = Flow::default();
    let floating = |elem: DType| elem == DType::Float(format);
    for (&v, argument) in body.arguments(body.entry().expect("a block")).iter().zip(&graph.arguments) {
        let own = (argument.range.0, argument.range.1, false);
        let (lo, hi, may_be_nan) = if floating(argument.elem) { boundary } else { own };
        flow.set(v, Range::both(Enclosure { lo, hi, may_be_nan }), 0.0);
    }
    for step in body.walk() {
        flow.step(body, step);
    }
    let mut count = 0;
    for _ in 0..2 {
        let mut inputs = graph.inputs(&mut r);
        for (input, argument) in inputs.iter_mut().zip(&graph.arguments) {
            if floating(argument.elem) {
                *input = tensor(&mut r, format, &argument.shape, boundary);
            }
        }
        let run = |mode| Interpreter::new(context, &graph.module, Evaluator::new(mode)).call("f", &inputs);
        let (Ok(exact), Ok(computed)) = (run(Mode::Real { bits: BITS }), run(Mode::Rounded)) else {
            continue;
        };
        let mut largest = Float::new(64);
        for (i, &v) in graph.values.iter().enumerate() {
            let (range, error) = (flow.range(v), flow.error(v));
            let mine = body.defining_op(v).is_some_and(|step| body.name(step) == op.name);
            for (place, (e, c)) in reals(&exact[i]).iter().zip(reals(&computed[i])).enumerate() {
                if e.is_finite() {
                    largest = Float::with_val(64, e.abs_ref()).max(&largest);
                }
                let slack = Float::with_val(64, &largest >> 240u32);
                let near = match e.is_finite() {
                    true => {
                        let bound = Float::with_val(BITS, error + &slack);
                        c.is_finite() && Float::with_val(BITS, &c - e).abs() <= bound
                    }
                    false => c == *e,
                };
                let wrong = if !inside(e, &range.exact, &slack) {
                    "exact value outside"
                } else if !inside(&c, &range.computed, &Float::new(64)) {
                    "computed value outside"
                } else if error.is_finite() && !e.is_nan() && !near {
                    "error above its bound"
                } else {
                    count += usize::from(mine);
                    continue;
                };
                // At a jump what 300 bits lose may decide: then more bits give another value.
                let stable = [555, 1023].into_iter().all(|bits| {
                    run(Mode::Real { bits }).is_ok_and(|other| {
                        let x = reals(&other[i])[place].clone();
                        x.is_nan() == e.is_nan()
                            && Float::with_val(BITS, x - e).abs().partial_cmp(&slack)
                                != Some(std::cmp::Ordering::Greater)
                    })
                });
                if stable {
                    let step = body.defining_op(v);
                    let of: Vec<String> = step
                        .map_or(&[][..], |op| body.operands(op))
                        .iter()
                        .map(|&v| format!("{} {:?} ± {:e}", body.ty(v), flow.range(v), flow.error(v)))
                        .collect();
                    let what = format!(
                        "{} on {boundary:?}: {wrong}: exact {e:.20}, computed {c:.20}, {} {range:?} ± {error:e}\n{:?} {of:?}",
                        op.name,
                        body.ty(v),
                        step.map(|op| &body.op(op).attrs),
                    );
                    return (count, Some(what));
                }
            }
        }
    }
    (count, None)
}

#[test]
fn every_op_keeps_its_bounds_at_its_boundaries() {
    let context = ngc_dialects::context();
    let whole = evidence::whole("boundaries");
    let of_op = |(number, op): (usize, &'static OpDef)| {
        let (mut count, mut wrong) = (0, Vec::new());
        for (f, format) in Format::ALL.into_iter().enumerate() {
            // Where the certificate is fresh, each op has one format.
            if !whole && number % Format::ALL.len() != f {
                continue;
            }
            let (own, general) = (special(op.short_name(), format), general(format));
            // Each format has its own third of what is general, and all that is special.
            let third = general.iter().enumerate().filter(|(k, _)| k % 3 == f % 3).map(|(_, b)| b);
            for (k, &boundary) in third.chain(&own).enumerate() {
                let (values, failure) = check(&context, op, format, boundary, (f * 1000 + k) as u64);
                count += values;
                wrong.extend(failure);
            }
        }
        (op.name, count, wrong)
    };
    let found: Vec<(&str, usize, Vec<String>)> = ops().into_par_iter().enumerate().map(of_op).collect();
    for (name, count, _) in &found {
        println!("{name:28} {count:8}");
    }
    let wrong: Vec<String> = found.iter().flat_map(|(_, _, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{} violations, as\n{}", wrong.len(), wrong[..wrong.len().min(6)].join("\n"));
    let missing: Vec<&str> = found.iter().filter(|(_, n, _)| *n == 0).map(|(name, ..)| *name).collect();
    assert!(missing.is_empty(), "no case of {missing:?}");
    let values: usize = found.iter().map(|(_, n, _)| n).sum();
    println!("certificate: {values} values of {} ops lie within their bounds", found.len());
}
