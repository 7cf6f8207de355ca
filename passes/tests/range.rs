//! Ranges are bounds: whatever the inputs, no value leaves them.

use ngc_interp::Interpreter;
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Attr, AttrDict, Body, Builder, Loc, Module, OpState, Sources, Type, Value};
use ngc_numerics::{DType, Enclosure, Evaluator, Format, Mode, Tensor};
use ngc_passes::analysis::range::Ranges;

/// A function of two `2x3` arguments that returns every intermediate value.
fn all_values(format: Format) -> (Module, Body, Vec<Value>) {
    let context = ngc_dialects::context();
    let ty = Type::tensor([2.into(), 3.into()], DType::Float(format));
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let (x, y) = (body.add_argument(block, ty, Loc::Unknown), body.add_argument(block, ty, Loc::Unknown));
    let mut b = Builder::at_end(&context, &mut body, block, Loc::Unknown);
    let mut values = vec![x, y];
    let axes = || AttrDict::from([("axes", Attr::ints([1])), ("keepdims", Attr::Bool(true))]);
    for op in
        ["exp", "log1p", "sigmoid", "softplus", "square", "abs", "sqrt", "sin", "tanh", "reciprocal", "neg"]
    {
        values.push(b.emit(&format!("ng.{op}"), &[x], AttrDict::EMPTY).expect("unary"));
    }
    for op in ["add", "sub", "mul", "div", "max", "min", "hypot"] {
        values.push(b.emit(&format!("ng.{op}"), &[x, y], AttrDict::EMPTY).expect("binary"));
    }
    for op in ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "logsumexp", "variance", "norm"] {
        values.push(b.emit(&format!("ng.{op}"), &[x], axes()).expect("reduction"));
    }
    let swap = AttrDict::from([("permutation", Attr::ints([1, 0]))]);
    let t = b.emit("ng.transpose", &[y], swap).expect("transpose");
    let s = b.emit("ng.matmul", &[x, t], AttrDict::EMPTY).expect("matmul");
    let p = b.emit("ng.softmax", &[s], AttrDict::EMPTY).expect("softmax");
    let l = b.emit("ng.log_softmax", &[s], AttrDict::EMPTY).expect("log_softmax");
    let a = b.emit("ng.attention", &[x, y, y], AttrDict::EMPTY).expect("attention");
    values.extend([t, s, p, l, a]);
    b.op("func.return", &values, AttrDict::EMPTY).expect("return");
    let results: Vec<Type> = values.iter().map(|&v| body.ty(v)).collect();
    let mut state = OpState::new(context.op("func.func").expect("func"), Loc::Unknown);
    state.attrs.set("sym_name", "f");
    state.attrs.set("function_type", Attr::Type(Type::function(&[ty, ty], &results)));
    let mut module = Module::new();
    let op = module.body.create(state);
    module.body.set_body(op, body.clone());
    let top = module.body.entry().expect("a block");
    module.body.append(top, op);
    (module, body, values)
}

#[test]
fn no_value_leaves_its_range() {
    let context = ngc_dialects::context();
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for format in [Format::F64, Format::F32, Format::F16, Format::Bf16] {
        let (module, body, values) = all_values(format);
        for (lo, hi) in [(-3.0, 3.0), (0.5, 2.0), (-200.0, -100.0), (0.0, 300.0), (1.5, 1.5)] {
            let ranges = Ranges::of_body(&body, &[Enclosure::new(lo, hi), Enclosure::new(lo, hi)]);
            for _ in 0..20 {
                let mut input = || {
                    let data = (0..6).map(|_| lo + (hi - lo) * random()).collect();
                    Tensor::floats(format, vec![2, 3], data).expect("six values")
                };
                let inputs = [input(), input()];
                let run = |mode| Interpreter::new(&context, &module, Evaluator { mode }).call("f", &inputs);
                let (exact, computed) = (run(Mode::Real { bits: 200 }), run(Mode::Rounded));
                let (exact, computed) = (exact.expect("evaluates"), computed.expect("evaluates"));
                for ((&v, exact), computed) in values.iter().zip(&exact).zip(&computed) {
                    let range = ranges.of(v);
                    let name = body.defining_op(v).map_or("argument", |op| body.name(op));
                    for x in exact.to_f64s() {
                        // The sample was rounded to f64 on the way out, by half an ulp at most.
                        let inside = range.exact.contains(&x)
                            || range.exact.contains(&x.next_up())
                            || range.exact.contains(&x.next_down());
                        assert!(
                            inside,
                            "exact {name} {x} of {format} is outside of {:?} on [{lo}, {hi}]",
                            range.exact
                        );
                    }
                    for x in computed.to_f64s() {
                        let inside = range.computed.contains(&x);
                        assert!(
                            inside,
                            "{name} {x} of {format} is outside of {:?} on [{lo}, {hi}]",
                            range.computed
                        );
                    }
                }
            }
        }
    }
}

/// Beyond 2^53 not every integer is an `f64`: stated ends, constants and what is computed of them are enclosed outward.
#[test]
fn integers_beyond_the_numbers_of_f64() {
    const N: i64 = (1 << 53) + 1;
    let text = format!(
        "func.func @f(%x: i64 {{ng.range = [{N}, {N}]}}, %y: i64 {{ng.range = [{}, {}]}}) -> (i64, i64, f64, i64, tensor<3xi64>) {{\n\
         %c = ng.constant {} : i64\n %s = ng.add %x, %c : i64\n %d = ng.sub %y, %c : i64\n\
         %f = ng.convert %x {{to = f64}} : i64 -> f64\n %n = ng.neg %y : i64\n\
         %r = ng.range {{delta = 3.0, limit = 9007199254741000.0, start = 9007199254740992.0, type = i64}} : tensor<3xi64>\n\
         func.return %s, %d, %f, %n, %r : i64, i64, f64, i64, tensor<3xi64>\n}}",
        i64::MIN,
        i64::MIN + 1,
        N + 2,
    );
    let context = ngc_dialects::context();
    let mut sources = Sources::new();
    let file = sources.add("test.ngir", &text[..], 1);
    let module = parse_module(&context, &sources, file, &ParseOptions::default()).expect("a module");
    let op = module.symbol("f").expect("a function");
    let body = module.body.body(op).expect("a body");
    let ranges = Ranges::of_function(body, module.body.attr(op, "arg_attrs"), &module.resources);
    for y in [i64::MIN, i64::MIN + 1] {
        let inputs = [Tensor::int_scalar(DType::Int(64), N), Tensor::int_scalar(DType::Int(64), y)];
        let found = Interpreter::new(&context, &module, Evaluator { mode: Mode::Rounded }).call("f", &inputs);
        let found = found.expect("evaluates");
        let entry = body.entry().expect("a block");
        let end = body.last_op(entry).expect("a return");
        let arguments = body.arguments(entry).iter().zip(&inputs);
        for (&v, tensor) in body.operands(end).iter().zip(&found).chain(arguments) {
            let range = ranges.of(v).computed;
            for x in tensor.as_ints().unwrap_or_default() {
                // Exactly: an integer of 64 bits and an end are both integers of 128.
                let inside = range.lo as i128 <= i128::from(*x) && i128::from(*x) <= range.hi as i128;
                assert!(inside, "{x} is outside of {range:?}");
            }
            for x in tensor.as_floats().unwrap_or_default() {
                assert!(range.contains(x), "{x} is outside of {range:?}");
            }
        }
    }
}
