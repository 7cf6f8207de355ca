//! Every op with a definition is recognised in it.

use ngc_ir::op_def::ValueKind;
use ngc_ir::structure::Size;
use ngc_ir::{Body, Builder, Loc, Resources, Semantics, Signature, Type};
use ngc_numerics::{DType, Format};
use ngc_reals::read::Reader;
use ngc_reals::recognise::Definitions;
use ngc_reals::{Form, Store, Use};

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
    println!("{missed:?}");
    let _ = |s: &Signature<'_>| s.def.name;
}
