//! Every op with a definition is recognised in it.

use ngc_ir::op_def::ValueKind;
use ngc_ir::structure::Size;
use ngc_ir::{Body, Builder, Loc, Resources, Semantics, Type};
use ngc_numerics::{DType, Format, Reduce};
use ngc_reals::read::Reader;
use ngc_reals::recognise::Definitions;
use ngc_reals::{Form, Store, Use, sums};

/// A program of scalars or tensors, as a term over its extents.
fn read(
    store: &mut Store,
    shapes: &[&[usize]],
    make: impl FnOnce(&mut Builder<'_>, &[ngc_ir::Value]) -> ngc_ir::Value,
) -> (Use, Vec<Size>) {
    let context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let ty = |shape: &[usize]| match shape {
        [] => Type::scalar(DType::Float(Format::F64)),
        _ => Type::tensor(shape.iter().map(|&n| ngc_ir::Dim::Static(n)), DType::Float(Format::F64)),
    };
    let x: Vec<_> = shapes.iter().map(|shape| body.add_argument(block, ty(shape), Loc::Unknown)).collect();
    let value = make(&mut Builder::at_end(&context, &mut body, block, Loc::Unknown), &x);
    let resources = Resources::default();
    let readings = Reader::new(store, &context, &resources).body(&body, &[]);
    let reading = readings[&value].clone();
    (reading.element, reading.extents)
}

fn shown(store: &Store, forms: &[Form]) -> Vec<String> {
    let one = |form: &Form| match form {
        Form::Op(op) => {
            let x: Vec<String> = op.operands.iter().map(|x| store.show(x)).collect();
            format!("{}({})", op.name.as_str(), x.join(", "))
        }
        Form::Sum(parts) => {
            let all: Vec<String> = parts.iter().map(|(c, x)| format!("{c} {}", store.show(x))).collect();
            format!("sum({})", all.join("; "))
        }
        Form::Product(parts) => {
            let all: Vec<String> = parts.iter().map(|(x, e)| format!("{} ^ {e}", store.show(x))).collect();
            format!("product({})", all.join("; "))
        }
        other => format!("{other:?}"),
    };
    forms.iter().map(one).collect()
}

/// Ops that a term names in one step, or in a sum or a product.
const ONE_STEP: [&str; 45] = [
    "ng.abs",
    "ng.acos",
    "ng.acosh",
    "ng.add",
    "ng.asin",
    "ng.asinh",
    "ng.atan",
    "ng.atan2",
    "ng.atanh",
    "ng.cbrt",
    "ng.ceil",
    "ng.cos",
    "ng.cosh",
    "ng.digamma",
    "ng.div",
    "ng.erf",
    "ng.erfcx",
    "ng.exp",
    "ng.exprel",
    "ng.exprel2",
    "ng.exprel_slope",
    "ng.floor",
    "ng.fma",
    "ng.lgamma",
    "ng.log",
    "ng.max",
    "ng.mul",
    "ng.neg",
    "ng.pow",
    "ng.reciprocal",
    "ng.relu",
    "ng.rem",
    "ng.round",
    "ng.rsqrt",
    "ng.sign",
    "ng.sin",
    "ng.sinc",
    "ng.sinh",
    "ng.sqrt",
    "ng.square",
    "ng.stirling_error",
    "ng.stumpff3",
    "ng.sub",
    "ng.tan",
    "ng.tanh",
];

#[test]
fn elementwise_ops_are_recognised() {
    let context = ngc_dialects::context();
    let definitions = Definitions::new(&context);
    let mut missed = Vec::new();
    for def in context.ops() {
        let Semantics::Elementwise(_) = def.semantics else { continue };
        if def.operands.iter().any(|x| !matches!(x.kind, ValueKind::Float | ValueKind::Number)) {
            continue;
        }
        let mut store = Store::new();
        let shapes = vec![&[][..]; def.operands.len()];
        let (term, _) =
            read(&mut store, &shapes, |b, x| b.emit(def.name, x, ngc_ir::AttrDict::EMPTY).expect("an op"));
        let forms = definitions.forms(&mut store, term.id, &|_| true);
        let found = forms.iter().any(|form| matches!(form, Form::Op(op) if op.name.as_str() == def.name));
        println!("{:20} {:60} {:?}", def.name, store.show(&term), shown(&store, &forms));
        if !found {
            missed.push(def.name);
        }
    }
    assert_eq!(missed, ONE_STEP);
}

/// Programs as people write them, and the op that each is.
const SPELLED: [(&str, &str); 38] = [
    ("exp x; sub %0 1", "ng.expm1"),
    ("exp x; neg x; exp %1; sub %0 %2; div %3 2", "ng.sinh"),
    ("exp x; neg x; exp %1; add %0 %2; div %3 2", "ng.cosh"),
    ("exp x; neg x; exp %1; sub %0 %2; add %0 %2; div %3 %4", "ng.tanh"),
    ("mul x x; add %0 1; sqrt %1; add x %2; log %3", "ng.asinh"),
    ("mul x x; sub %0 1; sqrt %1; add x %2; log %3", "ng.acosh"),
    ("add 1 x; sub 1 x; div %0 %1; log %2; mul %3 0.5", "ng.atanh"),
    ("exp x; sub %0 1; div %1 x", "ng.exprel"),
    ("exp x; sub %0 1; sub %1 x; mul x x; div %2 %3", "ng.exprel2"),
    ("sub x 1; exp x; mul %0 %1; add 1 %2; mul x x; div %3 %4", "ng.exprel_slope"),
    ("mul x x; exp %0; erf x; sub 1 %2; mul %1 %3", "ng.erfcx"),
    ("sin x; div %0 x", "ng.sinc"),
    ("cos x; sub 1 %0; div %1 x; div %2 x", "ng.stumpff2"),
    ("sin x; sub x %0; mul x x; mul %2 x; div %1 %3", "ng.stumpff3"),
    ("abs x; neg %0; exp %1; log1p %2; relu x; add %3 %4", "ng.softplus"),
    ("abs x; neg %0; exp %1; log1p %2; min x 0; sub %4 %3", "ng.log_sigmoid"),
    ("sub x y; abs %0; neg %1; exp %2; log1p %3; max x y; add %4 %5", "ng.logaddexp"),
    ("exp x; exp y; add %0 %1; log %2", "ng.logaddexp"),
    ("add x y; exp %0; add 1 %1; log %2", "ng.softplus"),
    ("exp x; sum %0; div %0 %1", "ng.softmax"),
    ("max_of x; sub x %0; exp %1; sum %2; div %2 %3", "ng.softmax"),
    ("exp x; sum %0; log %1", "ng.logsumexp"),
    ("max_of x; sub x %0; exp %1; sum %2; log %3; add %4 %0", "ng.logsumexp"),
    ("exp x; sum %0; log %1; sub x %2", "ng.log_softmax"),
    ("exp x; sum %0; div %0 %1; log %2", "ng.log_softmax"),
    ("mean x; sub x %0; square %1; mean %2", "ng.variance"),
    ("square x; sum %0; sqrt %1", "ng.norm"),
    ("square x; sum %0; sqrt %1; max %2 0.0009765625; div x %3", "ng.normalize"),
    ("square x; mean %0; add %1 0.0009765625; rsqrt %2; mul x %3", "ng.rms_norm"),
    ("mean x; sub x %0; square %1; mean %2; add %3 0.0009765625; sqrt %4; div %1 %5", "ng.layer_norm"),
    (
        "add x y; mean %0; sub %0 %1; square %2; mean %3; add %4 0.0009765625; sqrt %5; div %2 %6",
        "ng.layer_norm",
    ),
    ("add x y; exp %0; sum %1; log %2", "ng.logsumexp"),
    ("exp x; sum2 %0; log %1", "ng.logsumexp"),
    ("exp x; sum %0; exp y; add %1 %2; log %3", "ng.logaddexp"),
    ("exp x; sum %0; add %1 1; log %2", "ng.logaddexp"),
    ("add x mask; exp %0; sum %1; div %1 %2", "ng.softmax"),
    ("add x mask; exp %0; sum %1; log %2", "ng.logsumexp"),
    ("mul x 0.5; exp %0; sum %1; div %1 %2", "ng.softmax"),
];

/// Zeros and -inf above the diagonal.
fn mask(b: &mut Builder<'_>) -> ngc_ir::Value {
    let value = |n: usize| if n % 4 > n / 4 + 1 { f64::NEG_INFINITY } else { 0.0 };
    let table = ngc_numerics::Tensor {
        dtype: DType::Float(Format::F64),
        shape: vec![3, 4],
        data: ngc_numerics::Data::Float((0..12).map(value).collect()),
    };
    b.constant(ngc_dialects::ng::constant::tensor_to_attr(&table)).expect("a mask")
}

#[test]
fn spelled_ops_are_recognised() {
    let context = ngc_dialects::context();
    let definitions = Definitions::new(&context);
    let mut missed = Vec::new();
    for (program, op) in SPELLED {
        let mut store = Store::new();
        let (term, _) = read(&mut store, &[&[3, 4], &[3, 4]], |b, x| {
            let mut values: Vec<ngc_ir::Value> = Vec::new();
            for line in program.split("; ") {
                let mut words = line.split(' ');
                let name = words.next().expect("a name");
                let operands: Vec<_> = words
                    .map(|word| match word {
                        "x" => x[0],
                        "y" => x[1],
                        "mask" => mask(b),
                        word if word.starts_with('%') => {
                            values[word[1..].parse::<usize>().expect("a number")]
                        }
                        number => b
                            .constant(ngc_ir::Attr::float(number.parse().expect("a number")))
                            .expect("a constant"),
                    })
                    .collect();
                let rows = [("axes", ngc_ir::Attr::ints([1])), ("keepdims", ngc_ir::Attr::Bool(true))];
                let value = match name {
                    "sum" => b.emit("ng.reduce_sum", &operands, rows),
                    "sum2" => b.emit("ng.reduce_sum", &operands, ngc_ir::AttrDict::EMPTY),
                    "mean" => b.emit("ng.reduce_mean", &operands, rows),
                    "max_of" => b.emit("ng.reduce_max", &operands, rows),
                    name => b.emit(&format!("ng.{name}"), &operands, ngc_ir::AttrDict::EMPTY),
                };
                values.push(value.expect("an op"));
            }
            *values.last().expect("a value")
        });
        let start = std::time::Instant::now();
        let forms = definitions.forms(&mut store, term.id, &|_| true);
        let took = start.elapsed();
        let found = forms.iter().any(|form| matches!(form, Form::Op(known) if known.name.as_str() == op));
        println!("{op:18} {took:?} {} {:?}", if found { "found" } else { "MISSED" }, shown(&store, &forms));
        if !found {
            println!("   {program}\n   {}", store.show(&term));
            missed.push(program);
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn ops_along_dimensions_are_recognised() {
    let context = ngc_dialects::context();
    let definitions = Definitions::new(&context);
    for (name, attrs) in [
        ("ng.softmax", vec![]),
        ("ng.log_softmax", vec![("axis", ngc_ir::Attr::int(0))]),
        ("ng.logsumexp", vec![("axes", ngc_ir::Attr::ints([0, 1]))]),
        ("ng.logsumexp", vec![("axes", ngc_ir::Attr::ints([0]))]),
        ("ng.variance", vec![("axes", ngc_ir::Attr::ints([1]))]),
        ("ng.variance", vec![("axes", ngc_ir::Attr::ints([1])), ("correction", ngc_ir::Attr::int(1))]),
        ("ng.norm", vec![("axes", ngc_ir::Attr::ints([1]))]),
        ("ng.norm", vec![("axes", ngc_ir::Attr::ints([1])), ("ord", ngc_ir::Attr::float(1.0))]),
        ("ng.normalize", vec![]),
        ("ng.layer_norm", vec![]),
        ("ng.rms_norm", vec![]),
    ] {
        let mut store = Store::new();
        let (term, _) = read(&mut store, &[&[3, 4]], |b, x| {
            b.emit(
                name,
                x,
                ngc_ir::AttrDict::new(attrs.iter().map(|(n, a)| (ngc_ir::Ident::new(n), a.clone()))),
            )
            .expect("an op")
        });
        let forms = definitions.forms(&mut store, term.id, &|_| true);
        let found = forms.iter().any(|form| matches!(form, Form::Op(op) if op.name.as_str() == name));
        assert!(found, "{name} {attrs:?}: {} {:?}", store.show(&term), shown(&store, &forms));
    }
}

/// Sums along the rows of one tensor and along the columns of another one, multiplied by what the rows do not change, and beside
/// what is no sum: read again, each form is what it is a form of.
#[test]
fn sums_over_the_same_dimensions_are_one() {
    use ngc_ir::{Attr, AttrDict, Ident};
    let axes = |n: i64| AttrDict::new([(Ident::new("axes"), Attr::ints([n]))]);
    let mut together = 0;
    for which in 1..16u32 {
        let mut store = Store::new();
        let (term, space) = read(&mut store, &[&[3, 4], &[4, 3], &[3]], |b, x| {
            let mut one = |name, x: &[ngc_ir::Value], attrs| b.emit(name, x, attrs).expect("an op");
            let none = || AttrDict::EMPTY;
            let (exp, root) = (one("ng.exp", &x[..1], none()), one("ng.sqrt", &x[1..2], none()));
            let (exps, roots) =
                (one("ng.reduce_sum", &[exp], axes(1)), one("ng.reduce_sum", &[root], axes(0)));
            let plain = one("ng.reduce_sum", &x[..1], axes(1));
            let times = one("ng.mul", &[x[2], plain], none());
            let other = one("ng.reduce_max", &[exp], axes(1));
            let all = [exps, roots, times, other].into_iter().enumerate();
            let mut all = all.filter(|(n, _)| which >> n & 1 == 1).map(|(_, x)| x);
            let first = all.next().expect("at least one");
            let mut sign = ["ng.sub", "ng.add"].into_iter().cycle();
            all.fold(first, |sum, x| {
                b.emit(sign.next().expect("a sign"), &[sum, x], AttrDict::EMPTY).expect("an op")
            })
        });
        let forms = sums::forms(&mut store, term.id);
        assert_eq!(forms.is_empty(), (which & 7).count_ones() < 2, "{which:b}: {:?}", shown(&store, &forms));
        for form in forms {
            let own = match &form {
                Form::Op(op) => {
                    together += 1;
                    let sum = store.reduce(Reduce::Sum, op.over.clone(), op.operands[0].clone(), &space);
                    assert_eq!(op.name.as_str(), "ng.reduce_sum");
                    store.scaled(op.factor.clone(), sum, &space)
                }
                Form::Sum(parts) => {
                    assert_eq!(parts.len(), 2);
                    let inner = sums::forms(&mut store, parts[0].1.id);
                    assert!(matches!(inner[..], [Form::Op(_)]), "{:?}", shown(&store, &inner));
                    store.linear(0.into(), parts.clone(), &space)
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(own.id, term.id, "{which:b}: {} is {}", store.show(&own), store.show(&term));
        }
    }
    assert_eq!(together, 4);
}
