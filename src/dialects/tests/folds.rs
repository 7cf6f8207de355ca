//! Folds change nothing, bit for bit, and constants pass between attributes and tensors unharmed.

use crate::common;

use crate::common::{F16, F32, evaluate, on, op, same, scalar, tensor};
use ngc_dialects::fold::{MAX_ELEMENTS, fold_constants};
use ngc_dialects::ng::constant::{attr_to_tensor, tensor_from_bytes, tensor_to_attr};
use ngc_ir::op_def::Fold;
use ngc_ir::{Attr, AttrDict, Signature, Type};
use ngc_numerics::{DType, Format, Tensor};

const INF: f64 = f64::INFINITY;

/// What folds to what: an operand's number, a constant, or nothing.
#[derive(PartialEq, Debug)]
enum Outcome {
    Operand(usize),
    Constant(Attr),
    Nothing,
}

fn fold(name: &str, operands: &[Type], constants: &[Option<Attr>], attrs: impl Into<AttrDict>) -> Outcome {
    let def = op(name);
    let constants: Vec<Option<&Attr>> = constants.iter().map(Option::as_ref).collect();
    let signature = Signature { def, operands, attrs: &attrs.into() };
    signature.check().expect("a valid op");
    match def.fold.and_then(|hook| hook(&signature, &constants)) {
        Some(Fold::Operand(n)) => Outcome::Operand(n),
        Some(Fold::Constant(value)) => Outcome::Constant(value),
        None => Outcome::Nothing,
    }
}

/// The fold of an op on scalars, `None` standing for an operand that is not constant.
fn fold_scalars(name: &str, elem: DType, args: &[Option<f64>]) -> Outcome {
    let constants: Vec<_> = args.iter().map(|x| x.map(|x| common::number(elem, x))).collect();
    fold(name, &vec![Type::scalar(elem); args.len()], &constants, AttrDict::EMPTY)
}

/// Folds to the operand that is not constant.
const IDENTITIES: &[(&str, &[Option<f64>])] = &[
    ("add", &[None, Some(-0.0)]),
    ("add", &[Some(-0.0), None]),
    ("sub", &[None, Some(0.0)]),
    ("mul", &[None, Some(1.0)]),
    ("mul", &[Some(1.0), None]),
    ("div", &[None, Some(1.0)]),
    ("pow", &[None, Some(1.0)]),
    ("min", &[None, Some(INF)]),
    ("min", &[Some(INF), None]),
    ("max", &[None, Some(-INF)]),
    ("max", &[Some(-INF), None]),
    ("clamp", &[None, Some(-INF), Some(INF)]),
];

#[test]
fn identities_hold_for_every_f16() {
    let values = (0..=u16::MAX).map(|bits| Format::F16.from_bits(bits.into())).collect();
    let all = Tensor::floats(Format::F16, vec![1 << 16], values).expect("all of f16");
    for &(name, args) in IDENTITIES {
        let place = args.iter().position(Option::is_none).expect("one operand is free");
        assert_eq!(fold_scalars(name, F16, args), Outcome::Operand(place), "{name}{args:?}");
        let inputs: Vec<Tensor> = args.iter().map(|a| a.map_or(all.clone(), |a| scalar(F16, a))).collect();
        let found = evaluate(name, &inputs, AttrDict::EMPTY).expect("scalars broadcast");
        for (x, y) in all.to_f64s().into_iter().zip(found.to_f64s()) {
            assert!(same(x, y), "{name}{args:?} of {x:?} is {y:?}");
        }
    }
}

#[test]
fn what_is_not_exact_is_left() {
    // Each of these differs for one operand at least: -0, inf or NaN.
    let wrong: &[(&str, &[Option<f64>], f64)] = &[
        ("add", &[None, Some(0.0)], -0.0),
        ("sub", &[None, Some(-0.0)], -0.0),
        ("mul", &[None, Some(0.0)], INF),
        ("max", &[None, Some(0.0)], -1.0),
        ("min", &[None, Some(65504.0)], INF),
        ("sub", &[Some(0.0), None], 1.0),
        ("div", &[Some(1.0), None], 2.0),
    ];
    for &(name, args, witness) in wrong {
        assert_eq!(fold_scalars(name, F16, args), Outcome::Nothing, "{name}{args:?}");
        let values: Vec<f64> = args.iter().map(|a| a.unwrap_or(witness)).collect();
        assert!(!same(on(name, F16, &values), witness), "{name}{values:?} is no counterexample");
    }
    assert_eq!(fold_scalars("pow", F16, &[None, Some(0.0)]), Outcome::Constant(common::number(F16, 1.0)));
}

#[test]
fn integer_identities() {
    let i32 = DType::Int(32);
    let zero = Outcome::Constant(Attr::Int(0, Type::int(32)));
    assert_eq!(fold_scalars("add", i32, &[None, Some(0.0)]), Outcome::Operand(0));
    assert_eq!(fold_scalars("sub", i32, &[None, Some(0.0)]), Outcome::Operand(0));
    assert_eq!(fold_scalars("mul", i32, &[Some(1.0), None]), Outcome::Operand(1));
    assert_eq!(fold_scalars("mul", i32, &[None, Some(0.0)]), zero);
    assert_eq!(fold_scalars("max", i32, &[None, Some(-2147483648.0)]), Outcome::Operand(0));
    assert_eq!(fold_scalars("div", i32, &[Some(1.0), Some(0.0)]), Outcome::Nothing);
}

#[test]
fn truth_values() {
    let bit = DType::BOOL;
    let (yes, no) = (Some(1.0), Some(0.0));
    assert_eq!(fold_scalars("and", bit, &[None, yes]), Outcome::Operand(0));
    assert_eq!(fold_scalars("and", bit, &[no, None]), Outcome::Constant(Attr::Bool(false)));
    assert_eq!(fold_scalars("or", bit, &[no, None]), Outcome::Operand(1));
    assert_eq!(fold_scalars("or", bit, &[None, yes]), Outcome::Constant(Attr::Bool(true)));
    assert_eq!(fold_scalars("xor", bit, &[None, no]), Outcome::Operand(0));
    assert_eq!(fold_scalars("xor", bit, &[None, yes]), Outcome::Nothing);
    assert_eq!(fold_scalars("not", bit, &[yes]), Outcome::Constant(Attr::Bool(false)));
}

#[test]
fn an_operand_stands_for_the_result_only_with_its_type() {
    let (row, table) = (tensor(&[Some(3)], F32), tensor(&[Some(2), Some(3)], F32));
    let ones = |ty: Type| {
        let shape = ty.static_shape().expect("static");
        let count = shape.iter().product();
        Some(tensor_to_attr(&Tensor::floats(Format::F32, shape, vec![1.0; count]).expect("ones")))
    };
    assert_eq!(fold("mul", &[table, row], &[None, ones(row)], AttrDict::EMPTY), Outcome::Operand(0));
    // Ones of a greater shape broadcast the row.
    assert_eq!(fold("mul", &[row, table], &[None, ones(table)], AttrDict::EMPTY), Outcome::Nothing);

    let condition = tensor(&[Some(3)], DType::BOOL);
    let yes = Some(tensor_to_attr(&Tensor::ints(DType::BOOL, vec![3], vec![1; 3]).expect("truths")));
    let types = [condition, row, row];
    assert_eq!(fold("where", &types, &[yes.clone(), None, None], AttrDict::EMPTY), Outcome::Operand(1));
    let types = [condition, Type::scalar(F32), row];
    assert_eq!(fold("where", &types, &[yes, None, None], AttrDict::EMPTY), Outcome::Nothing);

    // Branches that are one constant; the two zeros are not one.
    let (bit, number) = (Type::scalar(DType::BOOL), Type::scalar(F32));
    let zero = |sign: f64| Some(common::number(F32, 0.0 * sign));
    let types = [bit, number, number];
    let branches = |x, y| fold("where", &types, &[None, x, y], AttrDict::EMPTY);
    assert_eq!(branches(zero(1.0), zero(1.0)), Outcome::Operand(1));
    assert_eq!(branches(zero(1.0), zero(-1.0)), Outcome::Nothing);

    let to = |elem: DType| [("to", Attr::Type(Type::scalar(elem)))];
    assert_eq!(fold("convert", &[row], &[None], to(F32)), Outcome::Operand(0));
    assert_eq!(fold("convert", &[row], &[None], to(F16)), Outcome::Nothing);
}

#[test]
fn constants_are_evaluated_up_to_a_size() {
    assert_eq!(
        fold_scalars("add", F16, &[Some(65504.0), Some(-0.5)]),
        Outcome::Nothing,
        "65503.5 is no f16 number"
    );
    assert_eq!(
        fold_scalars("add", F16, &[Some(2048.0), Some(2.0)]),
        Outcome::Constant(common::number(F16, 2050.0))
    );
    assert_eq!(fold_scalars("exp", F16, &[Some(0.0)]), Outcome::Constant(common::number(F16, 1.0)));
    // What rounds, overflows or underflows is another value over the reals.
    assert_eq!(fold_scalars("exp", F16, &[Some(1.0)]), Outcome::Nothing);
    assert_eq!(fold_scalars("add", F16, &[Some(65504.0), Some(65504.0)]), Outcome::Nothing);
    assert_eq!(fold_scalars("exp", F32, &[Some(-1000.0)]), Outcome::Nothing);
    assert_eq!(fold_scalars("log", F32, &[Some(0.0)]), Outcome::Constant(common::number(F32, -INF)));
    assert_eq!(
        fold(
            "compare",
            &[Type::scalar(F32); 2],
            &[Some(common::number(F32, 1.0)), Some(common::number(F32, 2.0))],
            [("direction", Attr::from("LT"))]
        ),
        Outcome::Constant(Attr::Bool(true))
    );
    let ramp = |n: usize| {
        tensor_to_attr(
            &Tensor::floats(Format::F32, vec![n], (0..n).map(|i| i as f64).collect()).expect("a ramp"),
        )
    };
    for (n, folds) in [(MAX_ELEMENTS, true), (MAX_ELEMENTS + 1, false)] {
        let types = [tensor(&[Some(n)], F32)];
        let value = ramp(n);
        let signature = Signature { def: op("neg"), operands: &types, attrs: &AttrDict::EMPTY };
        assert_eq!(fold_constants(&signature, &[Some(&value)]).is_some(), folds, "{n} elements");
    }
    // A result that broadcasting makes too large.
    let (row, column) =
        (ramp(64), tensor_to_attr(&Tensor::floats(Format::F32, vec![64, 1], vec![1.0; 64]).expect("ones")));
    let types = [tensor(&[Some(64)], F32), tensor(&[Some(64), Some(1)], F32)];
    assert_eq!(fold("add", &types, &[Some(row), Some(column)], AttrDict::EMPTY), Outcome::Nothing);
}

#[test]
fn constants_and_tensors() {
    let tensors = [
        scalar(F16, -0.0),
        scalar(DType::BOOL, 1.0),
        scalar(DType::Index, -7.0),
        Tensor::floats(Format::F32, vec![2, 2], vec![1.5, -0.0, INF, 4.0]).expect("floats"),
        Tensor::floats(Format::Tf32, vec![3], vec![0.5; 3]).expect("a splat"),
        Tensor::ints(DType::BOOL, vec![4], vec![1, 0, 1, 1]).expect("truths"),
        Tensor::floats(Format::F64, vec![0, 3], vec![]).expect("nothing"),
    ];
    for tensor in tensors {
        let attr = tensor_to_attr(&tensor);
        assert_eq!(attr_to_tensor(&attr), Ok(tensor.clone()), "{attr:?}");
        let signature = Signature {
            def: op("constant"),
            operands: &[],
            attrs: &AttrDict::from([("value", attr.clone())]),
        };
        signature.check().expect("a constant");
        let ty = signature.infer().expect("a type")[0];
        assert_eq!(ty.static_shape(), Some(tensor.shape.clone()));
        (op("constant").verify.expect("a verifier"))(&signature, &[ty]).expect("valid");
    }
    let splat = |values: Vec<f64>| match tensor_to_attr(
        &Tensor::floats(Format::F32, vec![2], values).expect("two"),
    ) {
        Attr::Dense(dense) => dense.splat,
        other => panic!("{other:?}"),
    };
    assert!(splat(vec![2.0, 2.0]) && splat(vec![f64::NAN, f64::NAN]));
    assert!(!splat(vec![0.0, -0.0]) && !splat(vec![1.0, 2.0]));

    let error = tensor_from_bytes(tensor(&[Some(3)], F32), &[0; 8]).expect_err("too short");
    assert!(error.contains("12") || error.contains("3 elements"), "{error}");
    let error = tensor_from_bytes(tensor(&[None], F32), &[]).expect_err("no static shape");
    assert!(error.contains("tensor<?xf32>"), "{error}");
    let error =
        attr_to_tensor(&Attr::Resource("weights".into(), tensor(&[Some(3)], F32))).expect_err("elsewhere");
    assert!(error.contains("'weights'"), "{error}");
    let error = attr_to_tensor(&Attr::Int(300, Type::int(8))).expect_err("out of range");
    assert_eq!(error, "300 is not a value of i8");
}
