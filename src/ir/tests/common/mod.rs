//! A small dialect for tests: the shape of `func` and `ng` without their meaning.

// Each test file uses a part of it.

use ngc_ir::op_def::{
    AttrKind, Default, Fold, Syntax, Traits, ValueKind, attribute, operand, required, variadic,
};
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Ident, Loc, Module, OpDef, OpState, Type, Value};
use ngc_numerics::Format;

pub static FUNC: OpDef = OpDef {
    name: "func.func",
    attributes: &[
        required("sym_name", AttrKind::Str, ""),
        required("function_type", AttrKind::FunctionType, ""),
    ],
    traits: Traits { isolated: true, symbol: true, ..Traits::NONE },
    syntax: Syntax::Func,
    ..OpDef::BASE
};
pub static CALL: OpDef = OpDef {
    name: "func.call",
    operands: &[variadic("operands", ValueKind::AnyType)],
    attributes: &[required("callee", AttrKind::Symbol, "")],
    syntax: Syntax::Call,
    ..OpDef::BASE
};
pub static RETURN: OpDef = OpDef {
    name: "func.return",
    operands: &[variadic("operands", ValueKind::AnyType)],
    traits: Traits { terminator: true, ..Traits::NONE },
    syntax: Syntax::Return,
    ..OpDef::BASE
};
pub static ADD: OpDef = OpDef {
    name: "t.add",
    operands: &[operand("lhs", ValueKind::Float), operand("rhs", ValueKind::Float)],
    attributes: &[attribute("mode", AttrKind::Enum(&["up", "down"]), Default::Absent, "")],
    traits: Traits::COMMUTATIVE,
    infer: |s| match s.operands {
        [a, b] if a == b => Ok(vec![*a]),
        _ => Err("operands differ".into()),
    },
    fold: Some(|_, _| None::<Fold>),
    ..OpDef::BASE
};

pub fn context() -> Context {
    let mut context = Context::new();
    context.register(&[&FUNC, &CALL, &RETURN, &ADD]);
    context
}

pub fn f32() -> Type {
    Type::float(Format::F32)
}

/// Adds a function to a module; `build` makes its body and returns what it returns.
pub fn function(
    module: &mut Module,
    context: &Context,
    name: &str,
    inputs: &[Type],
    results: &[Type],
    build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
) {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let arguments: Vec<Value> = inputs.iter().map(|&t| body.add_argument(block, t, Loc::Unknown)).collect();
    let mut builder = Builder::at_end(context, &mut body, block, Loc::Unknown);
    let returned = build(&mut builder, &arguments);
    let state = OpState { operands: returned.into(), ..OpState::new(&RETURN, Loc::Unknown) };
    let op = body.create(state);
    body.append(block, op);
    add_function(module, name, inputs, results, body);
}

/// Adds a function with a body made by hand.
pub fn add_function(module: &mut Module, name: &str, inputs: &[Type], results: &[Type], body: Body) {
    let attrs = AttrDict::from([
        ("sym_name", Attr::from(name)),
        ("function_type", Attr::from(Type::function(inputs, results))),
    ]);
    let loc = Loc::name(name);
    let op = module.body.create(OpState { attrs, ..OpState::new(&FUNC, loc) });
    module.body.set_body(op, body);
    let entry = module.body.entry().expect("a module has a block");
    module.body.append(entry, op);
}

/// A result without a declaration behind it.
pub fn unregistered(name: &str, operands: &[Value], results: &[Type]) -> OpState {
    OpState {
        name: Ident::new(name),
        def: None,
        loc: Loc::name(name),
        operands: operands.into(),
        results: results.into(),
        attrs: AttrDict::EMPTY,
    }
}
