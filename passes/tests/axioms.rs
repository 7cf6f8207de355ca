//! The axioms hold, and known equalities follow from them.

use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Loc, Type, Value};
use ngc_numerics::Format;
use ngc_passes::rewrite::egraph::derive::{axioms, derive};
use ngc_passes::rewrite::verify::{Effort, verify_rule};

#[test]
fn axioms_hold_where_they_are_evaluated() {
    let context = ngc_dialects::context();
    let set = axioms().expect("the axioms are well formed");
    // Equalities of real numbers: what they give at infinities only matters for rules that are applied to programs.
    let effort = Effort { points: 300, instances: 60, probes: 0, ..Effort::default() };
    for rule in set.rules() {
        let report = verify_rule(&context, set, rule, effort);
        assert!(report.passed(), "{}: {:?}", report.rule, report.failure);
    }
}

fn op(b: &mut Builder<'_>, name: &str, operands: &[Value]) -> Value {
    b.emit(&format!("ng.{name}"), operands, AttrDict::EMPTY).unwrap_or_else(|e| panic!("{e}"))
}

/// Whether what `write` returns follows as an equality.
fn follows(
    context: &Context,
    arguments: usize,
    write: impl Fn(&mut Builder<'_>, &[Value]) -> [Value; 2],
) -> bool {
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let ty = Type::tensor([2usize.into(), 3usize.into()], ngc_numerics::DType::Float(Format::F64));
    let x: Vec<Value> = (0..arguments).map(|_| body.add_argument(block, ty, Loc::Unknown)).collect();
    let mut b = Builder::at_end(context, &mut body, block, Loc::Unknown);
    let [left, right] = write(&mut b, &x);
    derive(context, &body, left, right).is_some()
}

#[test]
fn equalities_follow_and_others_do_not() {
    let context = ngc_dialects::context();
    let one = |b: &mut Builder<'_>, like: Value| b.scalar(1.0, like).expect("a constant");
    let softmax_of = |b: &mut Builder<'_>, x: Value| {
        let e = op(b, "exp", &[x]);
        let sum = [("axes", Attr::ints([1])), ("keepdims", Attr::Bool(true))];
        let z = b.emit("ng.reduce_sum", &[e], AttrDict::from(sum)).expect("a sum");
        op(b, "div", &[e, z])
    };
    assert!(follows(&context, 1, |b, x| {
        let softmax =
            b.emit("ng.softmax", &[x[0]], AttrDict::from([("axis", Attr::int(1))])).expect("softmax");
        [softmax_of(b, x[0]), softmax]
    }));
    // 1 / (1 + exp(-x)) is the sigmoid; x / (1 + exp(-x)) is not, but silu.
    for (numerator, name, expected) in [(0, "sigmoid", true), (1, "sigmoid", false), (1, "silu", true)] {
        let found = follows(&context, 1, |b, x| {
            let one = one(b, x[0]);
            let n = op(b, "neg", &[x[0]]);
            let e = op(b, "exp", &[n]);
            let d = op(b, "add", &[e, one]);
            let q = op(b, "div", &[if numerator == 0 { one } else { x[0] }, d]);
            [q, op(b, name, &[x[0]])]
        });
        assert_eq!(found, expected, "{name} of numerator {numerator}");
    }
    // (a + b)² is not a² + b².
    assert!(!follows(&context, 2, |b, x| {
        let s = op(b, "add", &[x[0], x[1]]);
        let left = op(b, "square", &[s]);
        let (a, c) = (op(b, "square", &[x[0]]), op(b, "square", &[x[1]]));
        [left, op(b, "add", &[a, c])]
    }));
}
