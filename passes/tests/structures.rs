//! The structure that an op declares is what it computes: over the reals, element by element, on random graphs over all
//! ops.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use ngc_dialects::structure::structures;
use ngc_interp::Interpreter;
use ngc_ir::structure::{Element, Function, Index, Size, Test};
use ngc_ir::{OpDef, Semantics};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Random, SumMethod, Tensor};
use rug::ops::RemRounding;
use rug::{Float, Integer};

/// Ops of which no structure is known, and why.
const OPAQUE: &[(&str, &str)] = &[
    ("ng.gather", "places depend on data"),
    ("ng.gather_elements", "places depend on data"),
    ("ng.gather_nd", "places depend on data"),
    ("ng.scatter_elements", "places depend on data"),
    ("ng.scatter_nd", "places depend on data"),
    ("ng.argmax", "a place that depends on data"),
    ("ng.argmin", "a place that depends on data"),
    ("ng.sort", "places depend on data"),
    ("ng.topk", "places depend on data"),
    ("num.andi", "bits of encodings"),
    ("num.ori", "bits of encodings"),
    ("num.xori", "bits of encodings"),
    ("num.shli", "bits of encodings"),
    ("num.shrui", "bits of encodings"),
    ("num.shrsi", "bits of encodings"),
];

struct Places<'a> {
    evaluator: &'a Evaluator,
    operands: &'a [&'a Tensor],
    at: Vec<i64>,
}

impl Places<'_> {
    fn value(&self, index: &Index) -> i64 {
        index.value(&self.at, &|_| None).expect("all extents are known")
    }

    fn holds(&self, test: &Test) -> bool {
        match test {
            Test::AtLeastZero(index) => self.value(index) >= 0,
            Test::Zero(index) => self.value(index) == 0,
        }
    }

    fn number(&self, x: f64) -> Tensor {
        self.evaluator.lift(&Tensor::scalar(Format::F64, x))
    }

    /// An expression at a place.
    fn element(&mut self, element: &Element) -> Tensor {
        match element {
            Element::Number(x) => self.number(*x),
            Element::Place(index) => self.number(self.value(index) as f64),
            Element::Read { operand, at } => {
                let x = self.operands[*operand];
                assert_eq!(at.len(), x.rank(), "a place along each dimension");
                let mut flat = 0;
                for (index, &n) in at.iter().zip(&x.shape) {
                    let place = self.value(index);
                    assert!(
                        (0..n as i64).contains(&place),
                        "place {place} of {n}, from {index} at {:?}",
                        self.at
                    );
                    flat = flat * n + place as usize;
                }
                real(self.evaluator, &x.select(Vec::new(), &[flat]))
            }
            Element::Where { tests, yes, no } => {
                let holds = tests.iter().all(|test| self.holds(test));
                self.element(if holds { yes } else { no })
            }
            Element::Apply(function, parts) => {
                let parts: Vec<Tensor> = parts.iter().map(|part| self.element(part)).collect();
                apply(self.evaluator, function, &parts)
            }
            Element::Reduce { kind, over, body } => {
                let (depth, mut all) = (self.at.len(), Vec::new());
                each_place(over, &mut |place| {
                    self.at.truncate(depth);
                    self.at.extend(place);
                    all.push(reals(&self.element(body)).remove(0));
                });
                self.at.truncate(depth);
                let all = Tensor {
                    dtype: DType::Float(Format::F64),
                    shape: vec![all.len()],
                    data: Data::Real(all),
                };
                self.evaluator
                    .reduce(*kind, &all, &[0], false, Format::F64, SumMethod::Naive)
                    .expect("numbers")
            }
        }
    }
}

/// Integers and truth values as reals.
fn real(evaluator: &Evaluator, x: &Tensor) -> Tensor {
    match x.dtype {
        DType::BOOL => x.clone(),
        DType::Float(_) => Tensor { dtype: DType::Float(Format::F64), ..x.clone() },
        _ => evaluator.convert(x, DType::Float(Format::F64)),
    }
}

fn apply(e: &Evaluator, function: &Function, x: &[Tensor]) -> Tensor {
    let all: Vec<&Tensor> = x.iter().collect();
    let f64 = DType::Float(Format::F64);
    match function {
        Function::Real(f, params) => e.map(f, params, &all, f64).expect("numbers"),
        Function::Compare(cmp) if x[0].dtype == DType::BOOL || x[1].dtype == DType::BOOL => {
            let number = |x: &Tensor| e.convert(x, f64);
            e.compare(*cmp, &number(&x[0]), &number(&x[1])).expect("numbers")
        }
        Function::Compare(cmp) => e.compare(*cmp, &x[0], &x[1]).expect("numbers"),
        Function::Logical(l) => e.logical(*l, &x[0], &x[1]).expect("truth values"),
        Function::Not => e.not(&x[0]).expect("a truth value"),
        Function::Choose => {
            let number = |x: &Tensor| if x.dtype == DType::BOOL { e.convert(x, f64) } else { x.clone() };
            e.choose(&x[0], &number(&x[1]), &number(&x[2])).expect("a choice")
        }
        Function::Classify(class) => e.classify(*class, &x[0]),
        Function::Convert(_, to) => e.convert(&e.convert(&x[0], *to), f64),
    }
}

fn each_place(extents: &[Size], f: &mut impl FnMut(Vec<i64>)) {
    let extents: Vec<i64> = extents.iter().map(|e| e.number().expect("a known extent") as i64).collect();
    let count: i64 = extents.iter().product();
    for flat in 0..count {
        let mut rest = flat;
        let mut place: Vec<i64> = extents.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
        place.reverse();
        f(place);
    }
}

/// A whole number modulo `2^width`.
fn modulo(x: &Tensor, to: DType) -> Tensor {
    let (least, greatest) = to.int_range();
    let count = Integer::from(greatest) - least + 1;
    let Some(whole) = reals(x).remove(0).to_integer() else {
        // The extremes of no elements.
        return Tensor::int_scalar(to, if reals(x)[0].is_sign_negative() { least } else { greatest });
    };
    let place: Integer = (whole - least).rem_euc(&count) + least;
    Tensor::int_scalar(to, place.to_i64().expect("it is in range"))
}

/// Whether two values are equal but for the rounding at so many bits.
fn equal(a: &Float, b: &Float, scale: &Float) -> bool {
    let close = || Float::with_val(BITS, a - b).abs() <= Float::with_val(64, scale >> 200u32);
    (a.is_nan() && b.is_nan()) || a == b || (a.is_finite() && b.is_finite() && close())
}

#[test]
fn a_structure_is_what_the_op_computes() {
    let (context, ops) = (ngc_dialects::context(), ops());
    let mut seen: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for number in 0..400 {
        let mut r = Random::new(0x57_2c_00 + number);
        let format = r.pick(&[Format::F32, Format::F64]);
        let graph = Graph::draw(&mut r, &context, &ops, format);
        let inputs = graph.inputs(&mut r);
        let interpreter =
            Interpreter::new(&context, &graph.module, Evaluator::new(Mode::Real { bits: BITS }));
        let Ok(exact) = interpreter.call("f", &inputs) else { continue };
        // Products of integers are taken modulo 2^width in the end, so no digit of them may be lost.
        let evaluator = Evaluator::new(Mode::Real { bits: 4 * BITS });
        let place = |v| graph.values.iter().position(|&w| w == v).map(|i| &exact[i]);
        for op in graph.body.walk() {
            let Some(operands) =
                graph.body.operands(op).iter().map(|&v| place(v)).collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            let Some(def) = graph.body.op(op).def else { continue };
            let extents: Vec<Vec<Size>> =
                operands.iter().map(|t| t.shape.iter().map(|&n| Size::from(n)).collect()).collect();
            let found = graph.body.with_signature(op, |s| structures(s, &extents)).flatten();
            let counts = seen.entry(def.name).or_default();
            counts[0] += 1;
            let Some(found) = found else { continue };
            counts[1] += 1;
            let scale = operands.iter().flat_map(|t| reals(t)).filter(Float::is_finite);
            let scale = scale.fold(Float::with_val(64, 1), |a, b| a.max(&b.abs()));
            for (n, result) in graph.body.results(op).enumerate() {
                let theirs = place(result).expect("all values are results");
                let wraps = !theirs.dtype.is_float() && theirs.dtype != DType::BOOL;
                let shape: Vec<Size> = theirs.shape.iter().map(|&n| Size::from(n)).collect();
                let own: Vec<Size> =
                    found[n].extents.iter().map(|e| e.clone().expect("all are known")).collect();
                assert_eq!(own, shape, "{} {:?}", def.name, graph.body.op(op).attrs);
                let all = reals(theirs);
                let mut flat = 0;
                each_place(&shape, &mut |at| {
                    let mut places = Places { evaluator: &evaluator, operands: &operands, at: at.clone() };
                    let mut ours = places.element(&found[n].element);
                    if wraps {
                        ours = modulo(&ours, theirs.dtype);
                    }
                    let (ours, theirs) = (reals(&ours).remove(0), &all[flat]);
                    let size = Float::with_val(64, theirs.abs_ref());
                    let scale = if size.is_finite() { size.max(&scale) } else { scale.clone() };
                    assert!(
                        equal(&ours, theirs, &scale),
                        "{} {:?} of {extents:?} at {at:?}: {ours:.20}, not {theirs:.20}\n{:?}",
                        def.name,
                        graph.body.op(op).attrs,
                        found[n].element
                    );
                    flat += 1;
                });
            }
        }
    }
    for (name, [drawn, known]) in &seen {
        println!("{name}: {known} of {drawn}");
    }
    for def in &ops {
        let opaque = OPAQUE.iter().any(|(name, _)| *name == def.name);
        let known = seen.get(def.name).is_some_and(|[_, known]| *known > 0);
        let derived = matches!(def.semantics, Semantics::Decomposition(_));
        assert!(opaque != known || derived, "{}: a structure is known of it: {known}", def.name);
    }
    assert!(OPAQUE.iter().all(|(name, _)| ops.iter().any(|def: &&OpDef| def.name == *name)));
}
