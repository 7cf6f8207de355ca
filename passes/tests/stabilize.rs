//! `stabilize` on failures that were really reported: what fails before is right after, and a second run does nothing.

use ngc_interp::Interpreter;
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Loc, Module, Op, OpState, Type, Value};
use ngc_numerics::{DType, Evaluator, Format, Mode, Tensor};
use ngc_passes::stabilize::telling::Report;

use crate::support::search;

use Format::{Bf16, F16, F32};

/// Writes a function body tersely.
struct Writer<'b, 'a>(&'b mut Builder<'a>);

impl Writer<'_, '_> {
    fn with<const N: usize>(&mut self, op: &str, operands: &[Value], attrs: [(&str, Attr); N]) -> Value {
        self.0.emit(&format!("ng.{op}"), operands, AttrDict::from(attrs)).unwrap_or_else(|e| panic!("{e}"))
    }

    fn op(&mut self, op: &str, operands: &[Value]) -> Value {
        self.with(op, operands, [])
    }

    fn number(&mut self, value: f64, like: Value) -> Value {
        self.0.scalar(value, like).unwrap_or_else(|e| panic!("{e}"))
    }

    fn reduce(&mut self, op: &str, x: Value, axis: i64, keepdims: bool) -> Value {
        self.with(op, &[x], [("axes", Attr::ints([axis])), ("keepdims", Attr::Bool(keepdims))])
    }

    fn naive_softmax(&mut self, x: Value) -> Value {
        let e = self.op("exp", &[x]);
        let z = self.reduce("reduce_sum", e, 1, true);
        self.op("div", &[e, z])
    }
}

/// A module with one function of the given inputs, each with a range if it is stated.
fn module(
    context: &Context,
    inputs: &[Tensor],
    range: Option<[f64; 2]>,
    write: impl Fn(&mut Writer<'_, '_>, &[Value]) -> Value,
) -> Module {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let types: Vec<Type> = inputs
        .iter()
        .map(|t| match t.rank() {
            0 => Type::scalar(t.dtype),
            _ => Type::tensor(t.shape.iter().map(|&n| n.into()), t.dtype),
        })
        .collect();
    let arguments: Vec<Value> = types.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
    let result = write(&mut Writer(&mut b), &arguments);
    b.op("func.return", &[result], AttrDict::EMPTY).expect("return is registered");
    let mut state = OpState::new(context.op("func.func").expect("func is registered"), Loc::Unknown);
    state.attrs.set("sym_name", "f");
    state.attrs.set("function_type", Attr::Type(Type::function(&types, &[body.ty(result)])));
    if let Some([lo, hi]) = range {
        let dict =
            AttrDict::from([("ng.range", Attr::Array([lo, hi].map(Attr::float).into_iter().collect()))]);
        state.attrs.set("arg_attrs", Attr::Array(types.iter().map(|_| Attr::Dict(dict.clone())).collect()));
    }
    let mut module = Module::new();
    let op = module.body.create(state);
    module.body.set_body(op, body);
    let top = module.body.entry().expect("a module has a block");
    module.body.append(top, op);
    module
}

fn run(context: &Context, module: &mut Module) -> Report {
    let op: Op = module.symbol("f").expect("the function is there");
    search(context, module, op, true)
}

fn ops(module: &Module) -> Vec<String> {
    let body = module.symbol("f").and_then(|f| module.body.body(f)).expect("the function has a body");
    let names = body.walk().into_iter().map(|op| body.name(op).to_string());
    names.filter(|n| n.starts_with("ng.") && n != "ng.constant").map(|n| n[3..].to_string()).collect()
}

fn evaluate(context: &Context, module: &Module, inputs: &[Tensor]) -> Vec<f64> {
    let results = Interpreter::new(context, module, Evaluator { mode: Mode::Rounded }).call("f", inputs);
    results.unwrap_or_else(|e| panic!("{}", e.message))[0].to_f64s()
}

/// Before, the function is wrong by more than `tolerance` (relative); after, it is right, and a second run changes nothing.
fn cures(
    inputs: &[Tensor],
    range: Option<[f64; 2]>,
    exact: &[f64],
    tolerance: f64,
    write: impl Fn(&mut Writer<'_, '_>, &[Value]) -> Value,
) {
    let context = ngc_dialects::context();
    let wrong = |found: &[f64]| {
        // NaN is wrong too.
        !found.iter().zip(exact).all(|(f, e)| (f - e).abs() <= tolerance * e.abs())
    };
    let mut module = module(&context, inputs, range, &write);
    let before = evaluate(&context, &module, inputs);
    assert!(wrong(&before), "the naive form is right: {before:?}");
    let report = run(&context, &mut module);
    let after = evaluate(&context, &module, inputs);
    assert!(!wrong(&after), "after: {after:?}, exact: {exact:?}, {:?}: {report:#?}", ops(&module));
    let again = run(&context, &mut module);
    assert!(again.applied.is_empty(), "a second run changes {:#?}", again.applied);
}

fn floats(format: Format, shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::floats(format, shape.to_vec(), values.to_vec()).expect("the values fill the shape")
}

#[test]
fn r01_sample_variance() {
    let x = floats(F32, &[1, 2], &[2281.5, 2281.25]);
    cures(&[x], None, &[0.03125], 1e-6, |w, x| {
        let squares = w.op("mul", &[x[0], x[0]]);
        let (a, s) = (w.reduce("reduce_sum", squares, 1, false), w.reduce("reduce_sum", x[0], 1, false));
        let (s2, n, m) = (w.op("square", &[s]), w.number(2.0, s), w.number(1.0, s));
        let b = w.op("div", &[s2, n]);
        let d = w.op("sub", &[a, b]);
        w.op("div", &[d, m])
    });
}

#[test]
fn r02_layer_norm() {
    let x = floats(F32, &[1, 4], &[40000.0, 40001.0, 40002.0, 40003.0]);
    let exact = [-1.3416354, -0.4472118, 0.4472118, 1.3416354];
    cures(&[x], None, &exact, 1e-6, |w, x| {
        let mean = w.reduce("reduce_mean", x[0], 1, true);
        let two = w.number(2.0, x[0]);
        let squares = w.op("pow", &[x[0], two]);
        let (mean_of_squares, squared_mean) =
            (w.reduce("reduce_mean", squares, 1, true), w.op("mul", &[mean, mean]));
        let v = w.op("sub", &[mean_of_squares, squared_mean]);
        let eps = w.number(1e-5, v);
        let v = w.op("add", &[eps, v]);
        let (d, r) = (w.op("sub", &[x[0], mean]), w.op("rsqrt", &[v]));
        w.op("mul", &[d, r])
    });
}

#[test]
fn r07_attention_scores() {
    let q = floats(F16, &[1, 64], &[60.0; 64]);
    let k = floats(F16, &[2, 64], &[vec![60.0; 64], vec![59.0; 64]].concat());
    let v = floats(F16, &[2, 1], &[1.0, 3.0]);
    cures(&[q, k, v], Some([-60.0, 60.0]), &[1.0], 1e-3, |w, x| {
        let kt = w.with("transpose", &[x[1]], [("permutation", Attr::ints([1, 0]))]);
        let s = w.op("matmul", &[x[0], kt]);
        let root = w.number(8.0, s);
        let s = w.op("div", &[s, root]);
        let p = w.naive_softmax(s);
        w.op("matmul", &[p, x[2]])
    });
}

#[test]
fn unscaled_attention() {
    let q = floats(F16, &[1, 64], &[40.0; 64]);
    let k = floats(F16, &[2, 64], &[vec![40.0; 64], vec![39.0; 64]].concat());
    let v = floats(F16, &[2, 1], &[1.0, 3.0]);
    cures(&[q, k, v], Some([-40.0, 40.0]), &[1.0], 1e-3, |w, x| {
        let kt = w.with("transpose", &[x[1]], [("permutation", Attr::ints([1, 0]))]);
        let s = w.op("matmul", &[x[0], kt]);
        let p = w.naive_softmax(s);
        w.op("matmul", &[p, x[2]])
    });
}

#[test]
fn r08_added_masks() {
    let scores = floats(F16, &[1, 2], &[-20.0, -20.0]);
    let mask = floats(F16, &[1, 2], &[-65504.0; 2]);
    cures(&[scores, mask.clone(), mask], None, &[0.5, 0.5], 1e-3, |w, x| {
        let s = w.op("add", &[x[0], x[1]]);
        let s = w.op("add", &[s, x[2]]);
        w.with("softmax", &[s], [("axis", Attr::int(-1))])
    });
}

#[test]
fn r10_r30_mean_of_an_overflowing_sum() {
    let x = floats(F16, &[20000], &[9.6; 20000]);
    cures(&[x], None, &[9.6], 1e-3, |w, x| {
        let s = w.with("reduce_sum", &[x[0]], []);
        // 20000 is not exact in f16; the count is an integer.
        let n = w.0.constant(Attr::Int(20000, Type::int(64))).expect("constant");
        let n = w.with("convert", &[n], [("to", Attr::Type(Type::float(F16)))]);
        w.op("div", &[s, n])
    });
}

/// The roots of a quadratic are cured where there are any, and there are none where the discriminant is negative.
#[test]
fn negative_discriminants_have_no_root() {
    let context = ngc_dialects::context();
    let of = |values: [f64; 4]| floats(F32, &[4], &values);
    let inputs = [of([0.5, 1.0, 1.0, 1e-3]), of([0.5, 1.0, 9.0, 2e4]), of([1.0, 0.25, 1e-4, 1.0])];
    let mut module = module(&context, &inputs, None, |w, x| {
        let [four, two] = [4.0, 2.0].map(|n| w.number(n, x[0]));
        let square = w.op("mul", &[x[1], x[1]]);
        let product = w.op("mul", &[x[0], x[2]]);
        let product = w.op("mul", &[product, four]);
        let discriminant = w.op("sub", &[square, product]);
        let (root, opposite) = (w.op("sqrt", &[discriminant]), w.op("neg", &[x[1]]));
        let (sum, below) = (w.op("add", &[opposite, root]), w.op("mul", &[x[0], two]));
        w.op("div", &[sum, below])
    });
    let exact = |n: usize| {
        let [a, b, c] = [0, 1, 2].map(|i| inputs[i].to_f64s()[n]);
        -2.0 * c / (b + (b * b - 4.0 * a * c).sqrt())
    };
    assert!(evaluate(&context, &module, &inputs)[0].is_nan() && exact(0).is_nan());
    assert!(!run(&context, &mut module).applied.is_empty());
    let after = evaluate(&context, &module, &inputs);
    assert!(after[0].is_nan(), "{after:?} of {:?}", ops(&module));
    let wrong = |n: &usize| (after[*n] - exact(*n)).abs() > 1e-6 * exact(*n).abs();
    assert_eq!((1..4).find(wrong), None, "{after:?} of {:?}", ops(&module));
}

#[test]
fn r11_log_sigmoid() {
    let x = floats(F32, &[2], &[-300.0, -90.0]);
    cures(&[x], None, &[-300.0, -90.0], 1e-6, |w, x| {
        let one = w.number(1.0, x[0]);
        let n = w.op("neg", &[x[0]]);
        let e = w.op("exp", &[n]);
        let d = w.op("add", &[one, e]);
        let s = w.op("reciprocal", &[d]);
        w.op("log", &[s])
    });
}

#[test]
fn r12_binary_cross_entropy() {
    let x = floats(F32, &[2], &[-120.0, 40.0]);
    let t = floats(F32, &[2], &[1.0, 0.0]);
    cures(&[x, t], None, &[120.0, 40.0], 1e-6, |w, x| {
        let one = w.number(1.0, x[0]);
        let s = w.op("sigmoid", &[x[0]]);
        let (log_s, rest) = (w.op("log", &[s]), w.op("sub", &[one, s]));
        let log_rest = w.op("log", &[rest]);
        let a = w.op("mul", &[x[1], log_s]);
        let u = w.op("sub", &[one, x[1]]);
        let b = w.op("mul", &[u, log_rest]);
        let sum = w.op("add", &[a, b]);
        w.op("neg", &[sum])
    });
}

#[test]
fn r15_epsilon_that_vanishes() {
    let x = floats(F16, &[1, 2], &[0.0, 0.0]);
    cures(&[x], None, &[0.0, 0.0], 0.0, |w, x| {
        let squares = w.op("square", &[x[0]]);
        let s = w.reduce("reduce_sum", squares, 1, true);
        let norm = w.op("sqrt", &[s]);
        let eps = w.0.constant(Attr::float(1e-12)).expect("constant");
        let eps = w.with("convert", &[eps], [("to", Attr::Type(Type::float(F16)))]);
        let d = w.op("max", &[norm, eps]);
        w.op("div", &[x[0], d])
    });
}

#[test]
fn r17_rms_norm() {
    let x = floats(F16, &[1, 2], &[300.0, -400.0]);
    let root = (125000f64).sqrt();
    cures(&[x], None, &[300.0 / root, -400.0 / root], 1e-3, |w, x| {
        let squares = w.op("mul", &[x[0], x[0]]);
        let mean = w.reduce("reduce_mean", squares, 1, true);
        let eps = w.number(1e-5, mean);
        let v = w.op("add", &[mean, eps]);
        let r = w.op("rsqrt", &[v]);
        w.op("mul", &[x[0], r])
    });
}

#[test]
fn r06_residual_before_a_norm() {
    let a = floats(F16, &[1, 2], &[60000.0, -40000.0]);
    let root = ((120000f64.powi(2) + 80000f64.powi(2)) / 2.0).sqrt();
    cures(&[a.clone(), a], None, &[120000.0 / root, -80000.0 / root], 1e-3, |w, x| {
        let r = w.op("add", &[x[0], x[1]]);
        let squares = w.op("mul", &[r, r]);
        let mean = w.reduce("reduce_mean", squares, 1, true);
        let eps = w.number(1e-5, mean);
        let v = w.op("add", &[mean, eps]);
        let s = w.op("rsqrt", &[v]);
        w.op("mul", &[r, s])
    });
}

#[test]
fn r20_distance() {
    let (a, b) = (floats(F32, &[1], &[512695.0]), floats(F32, &[1], &[512804.0]));
    cures(&[a, b], None, &[109.0], 1e-6, |w, x| {
        let (a2, b2) = (w.op("mul", &[x[0], x[0]]), w.op("mul", &[x[1], x[1]]));
        let (ab, two) = (w.op("mul", &[x[0], x[1]]), w.number(2.0, x[0]));
        let (s, m) = (w.op("add", &[a2, b2]), w.op("mul", &[two, ab]));
        let d = w.op("sub", &[s, m]);
        w.op("sqrt", &[d])
    });
}

#[test]
fn r21_sigmoid_gradient() {
    let x = floats(F32, &[2], &[-80.0, -66.0]);
    let exact = [1.8048513878454153e-35, 2.1705220113036395e-29];
    cures(&[x], None, &exact, 1e-5, |w, x| {
        let one = w.number(1.0, x[0]);
        let n = w.op("neg", &[x[0]]);
        let e = w.op("exp", &[n]);
        let d = w.op("add", &[one, e]);
        let d = w.op("mul", &[d, d]);
        w.op("div", &[e, d])
    });
}

#[test]
fn r22_expm1() {
    let x = floats(F32, &[2], &[-1e-8, -1e-6]);
    cures(&[x], None, &[-1e-8, -1e-6], 1e-5, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let one = w.number(1.0, x[0]);
        w.op("sub", &[e, one])
    });
}

#[test]
fn r24_logsumexp() {
    let x = floats(F32, &[1, 3], &[100.0, 101.0, 99.0]);
    cures(&[x], None, &[101.4076059644444], 1e-6, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let s = w.reduce("reduce_sum", e, 1, false);
        w.op("log", &[s])
    });
}

/// The forward algorithm over the slices of one tensor: with every place of `x` a term of it is soon larger than any that is
/// looked at, so that it is taken apart at the slices.
#[test]
fn a_recursion_over_slices_of_any_length() {
    const STATES: usize = 4;
    for steps in [3usize, 5, 8] {
        let x = floats(F32, &[steps, STATES], &vec![-60.0; steps * STATES]);
        let a = floats(F32, &[STATES, STATES], &[-2.0; STATES * STATES]);
        let exact = -60.0 * steps as f64 - 2.0 * (steps - 1) as f64 + (STATES as f64).ln() * steps as f64;
        cures(&[x, a], None, &[exact], 1e-6, |w, arguments| {
            let slice = |w: &mut Writer<'_, '_>, t: usize| {
                let ints = |n: usize| Attr::ints([n as i64]);
                let ends = [("axes", ints(0)), ("starts", ints(t)), ("stops", ints(t + 1))];
                let row = w.with("slice", &arguments[..1], ends);
                let row = w.with("squeeze", &[row], [("axes", ints(0))]);
                w.op("exp", &[row])
            };
            let along = w.op("exp", &arguments[1..]);
            let first = slice(w, 0);
            let last = (1..steps).fold(first, |state, t| {
                let column = w.with("unsqueeze", &[state], [("axes", Attr::ints([1]))]);
                let paths = w.op("mul", &[column, along]);
                let (sum, row) = (w.reduce("reduce_sum", paths, 0, false), slice(w, t));
                w.op("mul", &[sum, row])
            });
            let all = w.reduce("reduce_sum", last, 0, false);
            w.op("log", &[all])
        });
    }
}

#[test]
fn r29_sum_that_saturates() {
    let x = floats(Bf16, &[10000], &[0.5; 10000]);
    cures(&[x], None, &[5000.0], 1e-2, |w, x| w.with("reduce_sum", &[x[0]], []));
}

#[test]
fn r31_rotary_phases() {
    let pos = Tensor::ints(DType::Int(64), vec![2], vec![15962, 257]).expect("positions");
    let freq = floats(Bf16, &[2], &[1.0, 1.0]);
    cures(&[pos, freq], None, &[15962f64.cos(), 257f64.cos()], 1e-2, |w, x| {
        let p = w.with("convert", &[x[0]], [("to", Attr::Type(Type::float(Bf16)))]);
        let phase = w.op("mul", &[p, x[1]]);
        w.op("cos", &[phase])
    });
}

#[test]
fn log_of_a_naive_softmax() {
    let x = floats(F32, &[1, 2], &[1000.0, 0.0]);
    cures(&[x], None, &[0.0, -1000.0], 1e-6, |w, x| {
        let p = w.naive_softmax(x[0]);
        w.op("log", &[p])
    });
}

#[test]
fn cross_entropy_of_a_naive_head() {
    let x = floats(F32, &[1, 2], &[1000.0, 0.0]);
    let t = floats(F32, &[1, 2], &[0.0, 1.0]);
    cures(&[x, t], None, &[1000.0], 1e-6, |w, x| {
        let p = w.naive_softmax(x[0]);
        let l = w.op("log", &[p]);
        let m = w.op("mul", &[x[1], l]);
        let s = w.reduce("reduce_sum", m, 1, false);
        w.op("neg", &[s])
    });
}

#[test]
fn spellings_of_softmax() {
    let exact = [0.7310585786300049, 0.2689414213699951];
    let x = || [floats(F32, &[1, 2], &[101.0, 100.0])];
    // Without the dimension, put back by unsqueeze, reshape and broadcast; and by the reciprocal.
    cures(&x(), None, &exact, 1e-6, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let z = w.reduce("reduce_sum", e, -1, false);
        let z = w.with("unsqueeze", &[z], [("axes", Attr::ints([-1]))]);
        w.op("div", &[e, z])
    });
    cures(&x(), None, &exact, 1e-6, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let z = w.reduce("reduce_sum", e, 1, false);
        let z = w.with("reshape", &[z], [("shape", Attr::ints([1, 1]))]);
        let z = w.with("broadcast_to", &[z], [("shape", Attr::ints([1, 2]))]);
        w.op("div", &[e, z])
    });
    cures(&x(), None, &exact, 1e-6, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let z = w.reduce("reduce_sum", e, 1, true);
        let one = w.number(1.0, z);
        let r = w.op("div", &[one, z]);
        w.op("mul", &[r, e])
    });
}

/// On a square matrix this divides by the sums of the wrong axis.
#[test]
fn what_is_not_softmax_is_no_softmax() {
    let x = floats(F32, &[2, 2], &[200.0, 199.0, 199.0, 200.0]);
    let (one, e) = (1.0 / (1.0 + 1f64.exp().recip()), 1.0 / (1.0 + 1f64.exp()));
    cures(&[x], None, &[one, e, e, one], 1e-5, |w, x| {
        let e = w.op("exp", &[x[0]]);
        let z = w.reduce("reduce_sum", e, 1, false);
        w.op("div", &[e, z])
    });
}

#[test]
fn r04_a_result_beyond_its_format() {
    let context = ngc_dialects::context();
    let (h, w) = (floats(F16, &[1, 64], &[32.0; 64]), floats(F16, &[64, 1], &[32.5; 64]));
    let mut module = module(&context, &[h, w], Some([-40.0, 40.0]), |w, x| {
        w.with("matmul", &[x[0], x[1]], [("accumulate", Attr::Type(Type::float(F32)))])
    });
    let report = run(&context, &mut module);
    // No algebra makes 66560 a number of f16.
    assert!(report.applied.is_empty());
    assert_eq!(report.missed.len(), 1);
    assert!(
        report.missed[0].message.contains("no equal form was found that does not"),
        "{}",
        report.missed[0].message
    );
}

#[test]
fn r09_a_shift_by_the_maximum_stays_as_it_was_written() {
    let x = floats(F32, &[1, 3], &[1000.0, 999.0, 998.0]);
    let context = ngc_dialects::context();
    let mut module = module(&context, &[x], None, |w, x| {
        let m = w.reduce("reduce_max", x[0], 1, true);
        let y = w.op("sub", &[x[0], m]);
        w.naive_softmax(y)
    });
    let given = ops(&module);
    run(&context, &mut module);
    assert_eq!(ops(&module), given);
}
