//! What the verifier refuses, and that it says so at the right place.

use crate::common;

use crate::common::{ADD, RETURN, add_function, context, f32, function, unregistered};
use ngc_ir::render::{RenderOptions, render};
use ngc_ir::verifier::verify;
use ngc_ir::{Attr, AttrDict, Body, Loc, Module, OpState, Sources, Successor, Type, Value};
use ngc_numerics::Format;

/// The messages for a module, one a line, notes included.
fn messages(module: &Module) -> String {
    let mut context = context();
    context.allow_unregistered = true;
    let sources = Sources::new();
    match verify(&context, module) {
        Ok(()) => "valid".into(),
        Err(found) => found.0.iter().map(|d| render(d, &sources, RenderOptions::default())).collect(),
    }
}

fn body(inputs: &[Type]) -> (Body, Vec<Value>) {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let arguments = inputs.iter().map(|&t| body.add_argument(block, t, Loc::Unknown)).collect();
    (body, arguments)
}

fn add(body: &mut Body, operands: &[Value], result: Type) -> Value {
    let state = OpState {
        operands: operands.into(),
        results: [result].into_iter().collect(),
        ..OpState::new(&ADD, Loc::name("sum"))
    };
    let op = body.create(state);
    let entry = body.entry().unwrap();
    body.append(entry, op);
    body.result(op, 0)
}

fn ret(body: &mut Body, operands: &[Value]) {
    let op = body.create(OpState { operands: operands.into(), ..OpState::new(&RETURN, Loc::name("ret")) });
    let entry = body.entry().unwrap();
    body.append(entry, op);
}

fn one(body: Body, inputs: &[Type], results: &[Type]) -> String {
    let mut module = Module::new();
    add_function(&mut module, "f", inputs, results, body);
    messages(&module)
}

#[test]
fn a_valid_module() {
    let context = context();
    let mut module = Module::new();
    function(&mut module, &context, "f", &[f32()], &[f32()], |b, x| {
        vec![b.emit("t.add", &[x[0], x[0]], AttrDict::EMPTY).unwrap()]
    });
    function(&mut module, &context, "g", &[f32()], &[f32()], |b, x| {
        let state = OpState {
            operands: [x[0]].into_iter().collect(),
            results: [f32()].into_iter().collect(),
            attrs: [("callee", Attr::Symbol("f".into()))].into(),
            ..OpState::new(&common::CALL, Loc::Unknown)
        };
        let op = b.body.create(state);
        b.insert(op);
        vec![b.body.result(op, 0)]
    });
    assert_eq!(messages(&module), "valid");
}

#[test]
fn a_use_before_its_definition() {
    let (mut b, x) = body(&[f32()]);
    let first = add(&mut b, &[x[0], x[0]], f32());
    let second = add(&mut b, &[first, x[0]], f32());
    let op = b.defining_op(first).unwrap();
    b.set_operand(op, 1, second);
    ret(&mut b, &[second]);
    assert_eq!(
        one(b, &[f32()], &[f32()]),
        "\"sum\": error: 't.add' operand #1 does not dominate this use\n\"sum\": note: defined here\n"
    );
}

#[test]
fn a_use_of_an_erased_op_and_of_no_value() {
    let (mut b, x) = body(&[f32()]);
    let gone = add(&mut b, &[x[0], x[0]], f32());
    add(&mut b, &[gone, Value::from_index(99)], f32());
    let op = b.defining_op(gone).unwrap();
    b.unlink(op);
    ret(&mut b, &[x[0]]);
    let text = one(b, &[f32()], &[f32()]);
    assert!(text.contains("operand #0 is the result of an op that was erased"), "{text}");

    let (mut b, x) = body(&[f32()]);
    add(&mut b, &[x[0], Value::from_index(99)], f32());
    ret(&mut b, &[x[0]]);
    let text = one(b, &[f32()], &[f32()]);
    assert!(text.contains("operand #1 is no value of this function"), "{text}");
}

#[test]
fn types_that_do_not_follow_from_the_operands() {
    let f64 = Type::float(Format::F64);
    let (mut b, x) = body(&[f32(), f64]);
    add(&mut b, &[x[0], x[1]], f32());
    add(&mut b, &[x[0], x[0]], f64);
    let one_operand = add(&mut b, &[x[0]], f32());
    ret(&mut b, &[one_operand]);
    assert_eq!(
        one(b, &[f32(), f64], &[f32()]),
        "\"sum\": error: 't.add' operands differ\n\
         \"sum\": error: 't.add' result #0 has type f64, but its operands give f32\n\
         \"sum\": error: 't.add' expects 2 operands, but has 1\n"
    );
}

#[test]
fn declared_attributes() {
    let (mut b, x) = body(&[f32()]);
    let value = add(&mut b, &[x[0], x[0]], f32());
    let op = b.defining_op(value).unwrap();
    b.op_mut(op).attrs.set("mode", "sideways");
    ret(&mut b, &[value]);
    assert_eq!(
        one(b, &[f32()], &[f32()]),
        "\"sum\": error: 't.add' attribute 'mode' must be one of \"up\", \"down\"\n"
    );
}

#[test]
fn returns_and_terminators() {
    let (mut b, x) = body(&[f32()]);
    ret(&mut b, &[x[0], x[0]]);
    assert_eq!(
        one(b, &[f32()], &[f32()]),
        "\"ret\": error: 'func.return' returns (f32, f32), but the function's results are (f32)\n"
    );
    let (mut b, x) = body(&[f32()]);
    add(&mut b, &[x[0], x[0]], f32());
    let text = one(b, &[f32()], &[]);
    assert_eq!(text, "\"sum\": error: a block must end in a terminator such as func.return\n");
    let (mut b, x) = body(&[f32()]);
    ret(&mut b, &[x[0]]);
    ret(&mut b, &[x[0]]);
    assert_eq!(
        one(b, &[f32()], &[f32()]),
        "\"ret\": error: 'func.return' must be the last op of its block\n"
    );
}

#[test]
fn arguments_match_the_function_type() {
    let (mut b, x) = body(&[f32()]);
    ret(&mut b, &[x[0]]);
    assert_eq!(
        one(b, &[f32(), f32()], &[f32()]),
        "\"f\": error: the entry block's arguments (f32) differ from the function's (f32, f32)\n"
    );
}

#[test]
fn symbols_and_calls() {
    let context = context();
    let mut module = Module::new();
    let call = |callee: &'static str| {
        move |b: &mut ngc_ir::Builder<'_>, x: &[Value]| {
            let state = OpState {
                operands: x.into(),
                results: [f32()].into_iter().collect(),
                attrs: [("callee", Attr::Symbol(callee.into()))].into(),
                ..OpState::new(&common::CALL, Loc::name("call"))
            };
            let op = b.body.create(state);
            b.insert(op);
            vec![b.body.result(op, 0)]
        }
    };
    function(&mut module, &context, "f", &[f32()], &[f32()], |_, x| x.to_vec());
    function(&mut module, &context, "f", &[f32()], &[f32()], |_, x| x.to_vec());
    function(&mut module, &context, "g", &[], &[f32()], call("f"));
    function(&mut module, &context, "h", &[], &[f32()], call("nobody"));
    assert_eq!(
        messages(&module),
        "\"f\": error: symbol @f is defined twice\n\"f\": note: first defined here\n\
         \"call\": error: 'func.call' has type () -> f32, but @f has type (f32) -> f32\n\
         \"call\": error: 'func.call' calls @nobody, which is not defined in this module\n"
    );
}

/// entry -> left | right -> join, with a value of `left` used in `join`.
#[test]
fn dominance_between_blocks() {
    let (mut b, x) = body(&[f32()]);
    let root = b.root();
    let blocks: Vec<_> = (0..3).map(|_| b.add_block(root)).collect();
    let (left, right, join) = (blocks[0], blocks[1], blocks[2]);
    let branch = |b: &mut Body, from, to: &[ngc_ir::Block]| {
        let op = b.create(unregistered("t.br", &[], &[]));
        b.set_successors(op, to.iter().map(|&block| Successor { block, operands: vec![] }).collect());
        b.append(from, op);
    };
    let entry = b.entry().unwrap();
    branch(&mut b, entry, &[left, right]);
    let made = b.create(unregistered("t.make", &[x[0]], &[f32()]));
    b.append(left, made);
    branch(&mut b, left, &[join]);
    branch(&mut b, right, &[join]);
    let value = b.result(made, 0);
    let op = b.create(OpState {
        operands: [value].into_iter().collect(),
        ..OpState::new(&RETURN, Loc::name("ret"))
    });
    b.append(join, op);
    assert_eq!(
        one(b.clone(), &[f32()], &[f32()]),
        "\"ret\": error: 'func.return' operand #0 does not dominate this use\n\"t.make\": note: defined here\n"
    );
    // With right gone from the branch, left dominates join.
    let first = b.last_op(entry).unwrap();
    b.set_successors(first, vec![Successor { block: left, operands: vec![] }]);
    assert_eq!(one(b, &[f32()], &[f32()]), "valid");
}

#[test]
fn values_of_a_region_end_with_it() {
    let (mut b, x) = body(&[f32()]);
    let entry = b.entry().unwrap();
    let outer = b.create(unregistered("t.loop", &[], &[]));
    b.append(entry, outer);
    let region = b.add_region(outer);
    let inside = b.add_block(region);
    let made = b.create(unregistered("t.make", &[x[0]], &[f32()]));
    b.append(inside, made);
    let value = b.result(made, 0);
    ret(&mut b, &[value]);
    assert_eq!(
        one(b, &[f32()], &[f32()]),
        "\"ret\": error: 'func.return' operand #0 does not dominate this use\n\"t.make\": note: defined here\n"
    );
}

#[test]
fn unregistered_ops_need_the_flag() {
    let (mut b, x) = body(&[f32()]);
    let op = b.create(unregistered("t.make", &[x[0]], &[]));
    let entry = b.entry().unwrap();
    b.append(entry, op);
    ret(&mut b, &[x[0]]);
    let mut module = Module::new();
    add_function(&mut module, "f", &[f32()], &[f32()], b);
    let found = verify(&context(), &module).unwrap_err();
    assert_eq!(
        found.0[0].message,
        "'t.make' is no registered op; pass --allow-unregistered-dialect to accept it in generic form"
    );
}

#[test]
fn errors_of_many_functions_come_in_order() {
    let mut module = Module::new();
    for i in 0..50 {
        let (mut b, x) = body(&[f32()]);
        let mut v = x[0];
        for _ in 0..200 {
            v = add(&mut b, &[v, x[0]], f32());
        }
        ret(&mut b, &[v, v]);
        let op = b.last_op(b.entry().unwrap()).unwrap();
        b.op_mut(op).loc = Loc::name(&format!("ret{i}"));
        add_function(&mut module, &format!("f{i}"), &[f32()], &[f32()], b);
    }
    let text = messages(&module);
    let places: Vec<&str> = text.lines().map(|l| l.split(':').next().unwrap()).collect();
    let expected: Vec<String> = (0..50).map(|i| format!("\"ret{i}\"")).collect();
    assert_eq!(places, expected);
}
