//! Simplifications to a value that exists already change nothing, bit for bit.

use crate::common::{F16, F32, F64, evaluate, op, same, tensor};
use ngc_dialects::ng::convert::is_exact;
use ngc_ir::{Attr, AttrDict, Body, Builder, Loc, Type, Value};
use ngc_numerics::{DType, Format, Tensor};

/// An op on values by number: the arguments first, then the results of the ops before it.
struct Step {
    name: &'static str,
    operands: Vec<usize>,
    attrs: AttrDict,
}

fn step(name: &'static str, operands: &[usize], attrs: impl Into<AttrDict>) -> Step {
    Step { name, operands: operands.to_vec(), attrs: attrs.into() }
}

fn plain(name: &'static str, operands: &[usize]) -> Step {
    step(name, operands, AttrDict::EMPTY)
}

fn axes(name: &'static str, list: &[i64]) -> Step {
    step(name, &[0], [("axes", Attr::ints(list.iter().copied()))])
}

/// The number of the value that the last step is simplified to.
fn simplified(arguments: &[Type], steps: &[Step]) -> Option<usize> {
    let context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let mut values: Vec<Value> =
        arguments.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    let mut builder = Builder::at_end(&context, &mut body, block, Loc::Unknown);
    for step in steps {
        let operands: Vec<Value> = step.operands.iter().map(|&n| values[n]).collect();
        let name = format!("ng.{}", step.name);
        values.push(builder.emit(&name, &operands, step.attrs.clone()).unwrap_or_else(|e| panic!("{e}")));
    }
    let last = body.defining_op(*values.last()?)?;
    let found = op(steps.last()?.name).simplify?(&body, last)?;
    (body.ty(found) == body.ty(body.result(last, 0)))
        .then(|| values.iter().position(|&v| v == found).expect("a value that was there"))
}

/// The values of all steps.
fn values(arguments: &[Tensor], steps: &[Step]) -> Vec<Tensor> {
    let mut values = arguments.to_vec();
    for step in steps {
        let operands: Vec<Tensor> = step.operands.iter().map(|&n| values[n].clone()).collect();
        values.push(evaluate(step.name, &operands, step.attrs.clone()).unwrap_or_else(|e| panic!("{e}")));
    }
    values
}

/// The last step is simplified to value `n`, and has its elements on these arguments.
fn gives(arguments: &[Tensor], steps: &[Step], n: usize) {
    let label: Vec<&str> = steps.iter().map(|s| s.name).collect();
    let types: Vec<Type> = arguments
        .iter()
        .map(|t| tensor(&t.shape.iter().map(|&d| Some(d)).collect::<Vec<_>>(), t.dtype))
        .collect();
    assert_eq!(simplified(&types, steps), Some(n), "{label:?} on {types:?}");
    let values = values(arguments, steps);
    let (left, right) = (&values[n], values.last().expect("a step"));
    assert_eq!((left.dtype, &left.shape), (right.dtype, &right.shape), "{label:?}");
    for (x, y) in left.to_f64s().into_iter().zip(right.to_f64s()) {
        assert!(same(x, y), "{label:?} on {types:?}: {x:?} became {y:?}");
    }
}

/// Every value of a type of at most 16 bits.
fn every(elem: DType) -> Tensor {
    match elem {
        DType::Float(format) => {
            let values = (0..1u64 << format.width()).map(|bits| format.from_bits(bits)).collect::<Vec<_>>();
            Tensor::floats(format, vec![values.len()], values).expect("all of a format")
        }
        _ => {
            let (least, greatest) = elem.int_range();
            let values: Vec<i64> = (least..=greatest).collect();
            Tensor::ints(elem, vec![values.len()], values).expect("all of a type")
        }
    }
}

const SMALL: &[Format] = &[Format::F16, Format::Bf16, Format::F8E4M3FN, Format::F8E5M2];
const SPECIAL: &[f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 448.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

#[test]
fn unary_laws_hold_for_every_value() {
    const ROUNDINGS: [&str; 3] = ["floor", "ceil", "round"];
    for elem in SMALL.iter().map(|&f| DType::Float(f)) {
        let x = &[every(elem)];
        gives(x, &[plain("neg", &[0]), plain("neg", &[1])], 0);
        for name in ["abs", "sign", "relu"] {
            gives(x, &[plain(name, &[0]), plain(name, &[1])], 1);
        }
        for inner in ROUNDINGS {
            for outer in ROUNDINGS {
                gives(x, &[plain(inner, &[0]), plain(outer, &[1])], 1);
            }
        }
        gives(x, &[plain("max", &[0, 0])], 0);
        gives(x, &[plain("min", &[0, 0])], 0);
    }
    for elem in [DType::Int(8), DType::Int(16)] {
        let x = &[every(elem)];
        gives(x, &[plain("neg", &[0]), plain("neg", &[1])], 0);
        gives(x, &[plain("abs", &[0]), plain("abs", &[1])], 1);
        gives(x, &[plain("max", &[0, 0])], 0);
    }
    let bits = &[every(DType::BOOL)];
    gives(bits, &[plain("not", &[0]), plain("not", &[1])], 0);
    gives(bits, &[plain("and", &[0, 0])], 0);
    gives(bits, &[plain("or", &[0, 0])], 0);
}

#[test]
fn laws_of_several_operands() {
    for &format in SMALL {
        let values: Vec<f64> = SPECIAL.iter().map(|&v| format.round(v)).collect();
        let n = values.len();
        let along = |axis: usize| {
            let shape = (0..3).map(|a| if a == axis { n } else { 1 }).collect();
            Tensor::floats(format, shape, values.clone()).expect("special values")
        };
        // Every triple of special values.
        let all = along(0);
        let all = evaluate("broadcast_to", &[all], [("shape", Attr::ints([n as i64; 3]))]).expect("a cube");
        let (y, z) = (along(1), along(2));
        let three = [all.clone(), y.clone(), z];
        gives(&three, &[plain("clamp", &[0, 1, 2]), plain("clamp", &[3, 1, 2])], 3);
        for name in ["max", "min"] {
            let two = &three[..2];
            gives(two, &[plain(name, &[0, 1]), plain(name, &[2, 1])], 2);
            gives(two, &[plain(name, &[1, 0]), plain(name, &[1, 2])], 2);
            gives(two, &[plain(name, &[0, 1]), plain(name, &[0, 2])], 2);
        }
    }
    let x = Tensor::floats(Format::F16, vec![2], vec![f64::NAN, -0.0]).expect("two");
    let condition = Tensor::ints(DType::BOOL, vec![2], vec![1, 0]).expect("two");
    for name in ["where", "select"] {
        gives(&[condition.clone(), x.clone()], &[plain(name, &[0, 1, 1])], 1);
    }
}

#[test]
fn conversions_there_and_back() {
    let to =
        |operand: usize, elem: DType| step("convert", &[operand], [("to", Attr::Type(Type::scalar(elem)))]);
    let mut types: Vec<DType> = Format::ALL.iter().map(|&f| DType::Float(f)).collect();
    types.extend([1, 8, 16, 32, 64].map(DType::Int));
    types.push(DType::Index);
    for &from in types.iter().filter(|t| t.storage_bytes() <= 2) {
        for &between in types.iter().filter(|&&t| t != from) {
            let steps = [to(0, between), to(1, from)];
            if is_exact(from, between) {
                gives(&[every(from)], &steps, 0);
            } else {
                assert_eq!(simplified(&[Type::scalar(from)], &steps), None, "{from} to {between}");
            }
        }
    }
    // Back to another type than that of the beginning.
    assert_eq!(simplified(&[Type::scalar(F16)], &[to(0, F64), to(1, F32)]), None);
}

#[test]
fn arrangements_undone() {
    let x = &[Tensor::floats(Format::F32, vec![2, 1, 3, 1], (0..6).map(f64::from).collect()).expect("six")];
    let twice = |first: Step, second: Step| [first, Step { operands: vec![1], ..second }];
    let permuted =
        |list: &[i64]| step("transpose", &[0], [("permutation", Attr::ints(list.iter().copied()))]);
    let shaped = |list: &[i64]| step("reshape", &[0], [("shape", Attr::ints(list.iter().copied()))]);

    gives(x, &twice(permuted(&[2, 0, 3, 1]), permuted(&[1, 3, 0, 2])), 0);
    gives(x, &twice(axes("squeeze", &[1, 3]), axes("unsqueeze", &[-1, 1])), 0);
    gives(x, &twice(axes("unsqueeze", &[0, 5]), axes("squeeze", &[-1, 0])), 0);
    gives(x, &twice(axes("reverse", &[0, 2]), axes("reverse", &[-2, 0])), 0);
    gives(x, &twice(shaped(&[3, 2]), shaped(&[2, 1, 3, 1])), 0);
    gives(x, &twice(axes("squeeze", &[1]), shaped(&[2, 1, 3, 1])), 0);
    gives(x, &twice(step("flatten", &[0], AttrDict::EMPTY), shaped(&[2, 1, 3, 1])), 0);

    let ty = [tensor(&[Some(2), Some(2), Some(2), Some(1)], F32)];
    for steps in [
        // A rotation twice is not the identity, though the types agree.
        twice(permuted(&[1, 2, 0, 3]), permuted(&[1, 2, 0, 3])),
        twice(axes("reverse", &[0]), axes("reverse", &[1])),
        twice(axes("reverse", &[0]), permuted(&[1, 0, 2, 3])),
        // Another axis of extent 1.
        twice(axes("squeeze", &[3]), axes("unsqueeze", &[0])),
        twice(permuted(&[1, 0, 2, 3]), shaped(&[2, 2, 2, 1])),
    ] {
        assert_eq!(simplified(&ty, &steps), None, "{}, {}", steps[0].name, steps[1].name);
    }
}

#[test]
fn arrangements_of_unknown_extents() {
    let twice = |first: Step, second: Step| [first, Step { operands: vec![1], ..second }];
    let shaped = |list: &[i64]| step("reshape", &[0], [("shape", Attr::ints(list.iter().copied()))]);
    let open = |shape: &[Option<usize>]| [tensor(shape, F32)];
    let (any, two) = (None, Some(2));

    // The extents need not be known where the axes are the same.
    let steps = twice(axes("unsqueeze", &[1]), axes("squeeze", &[1]));
    assert_eq!(simplified(&open(&[any, any]), &steps), Some(0));
    // A squeezed `?` comes back as 1: another type.
    let steps = twice(axes("squeeze", &[0]), axes("unsqueeze", &[0]));
    assert_eq!(simplified(&open(&[any, two]), &steps), None);

    // One `?` is what the number of elements leaves.
    let steps = twice(shaped(&[-1]), shaped(&[-1, 2]));
    assert_eq!(simplified(&open(&[any, two]), &steps), Some(0));
    // Of two, neither is determined by their product.
    let copying = step("reshape", &[0], [("shape", Attr::ints([-1, 0])), ("copy_zeros", Attr::Bool(true))]);
    let steps = twice(axes("unsqueeze", &[2]), copying);
    assert_eq!(simplified(&open(&[any, any]), &steps), None);
}
