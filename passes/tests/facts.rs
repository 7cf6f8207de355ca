//! Facts hold: for every op, on random operands with infinities and NaN among them, what is said of a result by the tightest
//! facts of the operands is true of its elements at 300 bits; and where an op is said to need an operand, it has no value
//! without it.

use std::collections::BTreeMap;

use crate::random_graphs::values::{BITS, reals};
use crate::random_graphs::{Graph, ops};
use crate::support::evidence;
use ngc_dialects::facts::{self, Fact, Signs};
use ngc_interp::Interpreter;
use ngc_ir::{Body, Context, Op, OpDef, Semantics, Signature, Type};
use ngc_numerics::program::Step;
use ngc_numerics::{DType, Data, Enclosure, Evaluator, Format, Mode, Prim, Random, Tensor};
use rayon::prelude::*;
use rug::Float;
use rug::float::Round;

/// A reference that differs at one of these is none.
const OTHER_BITS: [u32; 3] = [410, 701, 1500];
/// Graphs of every op, and where the certificate is fresh, unless `NGC_FACTS_GRAPHS` says otherwise.
const GRAPHS: u64 = 12;
const SAMPLE: u64 = 3;
/// Numbers with exponents beyond these are left out: what is made of them may leave the range of big floats.
const EXPONENTS: std::ops::RangeInclusive<i32> = -2000..=14;

fn signs(x: &Float) -> Signs {
    let sign = if x.is_zero() { 0.0 } else { 1f64.copysign(x.to_f64()) };
    let point = if x.is_nan() {
        f64::NAN
    } else if x.is_infinite() {
        sign * f64::INFINITY
    } else {
        sign
    };
    Signs::of(&Enclosure::point(point))
}

/// The tightest fact of all elements of a value, exact and computed.
fn fact(exact: &Tensor, computed: &Tensor) -> Fact {
    let one = |x: &Float| {
        let range = Enclosure {
            lo: x.to_f64_round(Round::Down),
            hi: x.to_f64_round(Round::Up),
            may_be_nan: x.is_nan(),
        };
        Fact { signs: signs(x), ..Fact::of_range(range) }
    };
    let all = reals(exact);
    let known = all.iter().map(one).reduce(Fact::or).unwrap_or(Fact::of_number(0.0));
    let integer = all.iter().chain(&reals(computed)).all(|x| !x.is_finite() || x.is_integer());
    Fact { integer, ..known }
}

/// Whether an op may have poles, where evaluation gives an infinity and the reals have no value.
fn has_poles(s: &Signature<'_>) -> bool {
    match s.def.semantics {
        Semantics::Elementwise(of) => of(s).is_ok_and(|e| {
            let pole = |step: &Step| matches!(step, Step::Apply(Prim::Div | Prim::Rem | Prim::Pow, _));
            e.function.program().steps().iter().any(pole)
        }),
        Semantics::Decomposition(_) => true,
        _ => false,
    }
}

#[derive(Default)]
struct Tally {
    /// Of each op: elements held against facts, those known to be finite wherever defined, and strict operands tried.
    ops: BTreeMap<&'static str, [usize; 3]>,
    violations: Vec<String>,
}

struct Case<'a> {
    context: &'a Context,
    graph: &'a Graph,
    inputs: Vec<Tensor>,
}

impl Case<'_> {
    fn run(&self, mode: Mode) -> Option<Vec<Tensor>> {
        Interpreter::new(self.context, &self.graph.module, Evaluator::new(mode)).call("f", &self.inputs).ok()
    }

    fn check(&self, tally: &mut Tally) {
        let Some((exact, computed)) = self.run(Mode::Real { bits: BITS }).zip(self.run(Mode::Rounded)) else {
            return;
        };
        let body = &self.graph.body;
        let place = |v| self.graph.values.iter().position(|&w| w == v).expect("a value of the graph");
        for op in body.walk() {
            let Some(def) = body.op(op).def.filter(|def| def.traits.pure && !def.traits.constant) else {
                continue;
            };
            let places: Vec<usize> = body.operands(op).iter().map(|&v| place(v)).collect();
            let far = |x: &Float| x.get_exp().is_some_and(|exponent| !EXPONENTS.contains(&exponent));
            let large = |i: &usize| reals(&exact[*i]).iter().any(far);
            if places.iter().any(large) {
                continue;
            }
            let operands: Vec<Fact> = places.iter().map(|&i| fact(&exact[i], &computed[i])).collect();
            let results = body.result_types(op);
            let (found, poles) = body
                .with_signature(op, |s| (facts::of_results(s, &operands, &results), has_poles(s)))
                .expect("a declared op");
            // The steps of a decomposition may make a divisor of 0 out of other numbers.
            let zero = matches!(def.semantics, Semantics::Decomposition(_))
                || operands.iter().any(|x| x.signs.may_be(Signs::ZERO));
            for (n, value) in body.results(op).enumerate() {
                let (said, at) = (found[n].fact, place(value));
                let counts = tally.ops.entry(def.name).or_default();
                for (k, x) in reals(&exact[at]).iter().enumerate() {
                    counts[0] += 1;
                    counts[1] += usize::from(said.signs.within(Signs::REAL));
                    let pole = poles && zero && x.is_infinite() && said.signs.may_be(Signs::UNDEFINED);
                    let slack = |end: f64| Float::with_val(BITS, end.abs() * 1e-12 + 1e-60);
                    let inside = x.is_nan() && said.range.may_be_nan
                        || x.is_infinite() && said.range.contains(&x.to_f64())
                        || x.is_finite()
                            && Float::with_val(BITS, x + slack(said.range.lo)) >= said.range.lo
                            && Float::with_val(BITS, x - slack(said.range.hi)) <= said.range.hi;
                    if pole || said.signs.may_be(signs(x)) && inside {
                        continue;
                    }
                    let same = |bits: &u32| {
                        self.run(Mode::Real { bits: *bits })
                            .is_some_and(|all| signs(&reals(&all[at])[k]) == signs(x))
                    };
                    if OTHER_BITS.iter().all(same) {
                        let attrs = &body.op(op).attrs;
                        tally.violations.push(format!(
                            "{} {attrs:?} is {x:.20}, said {said:?} of {operands:?}",
                            def.name
                        ));
                        return;
                    }
                }
                let whole = |t: &Tensor| reals(t).iter().all(|x| !x.is_finite() || x.is_integer());
                if said.integer && !(whole(&exact[at]) && whole(&computed[at])) {
                    tally.violations.push(format!("{} is said to be an integer of {operands:?}", def.name));
                }
            }
            let tensors: Vec<&Tensor> = places.iter().map(|&i| &computed[i]).collect();
            self.strict(body, op, &tensors, tally);
        }
    }

    /// Takes the values of each operand away that the op is said to need.
    fn strict(&self, body: &Body, op: Op, tensors: &[&Tensor], tally: &mut Tally) {
        let results = body.result_types(op);
        let def = body.op(op).def.expect("declared");
        for (i, tensor) in tensors.iter().enumerate() {
            let (DType::Float(format), false) = (tensor.dtype, tensor.is_empty()) else { continue };
            let mut operands: Vec<Fact> = tensors.iter().map(|x| fact(x, x)).collect();
            operands[i] = Fact::UNKNOWN;
            let found =
                body.with_signature(op, |s| facts::of_results(s, &operands, &results)).expect("declared");
            if !found.iter().any(|found| found.strict.has(i)) {
                continue;
            }
            let none =
                Tensor::floats(format, tensor.shape.clone(), vec![f64::NAN; tensor.len()]).expect("fits");
            let mut given = tensors.to_vec();
            given[i] = &none;
            let Some(Ok(values)) = body.with_signature(op, |s| evaluate(s, &given, &results)) else {
                continue;
            };
            for (found, value) in found.iter().zip(&values).filter(|(found, _)| found.strict.has(i)) {
                tally.ops.entry(def.name).or_default()[2] += 1;
                if !value.to_f64s().iter().all(|x| x.is_nan()) {
                    let said = found.strict;
                    tally
                        .violations
                        .push(format!("{} has values without operand {i}, said {said:?}", def.name));
                }
            }
        }
    }
}

fn evaluate(s: &Signature<'_>, x: &[&Tensor], results: &[Type]) -> Result<Vec<Tensor>, String> {
    let types: Vec<Type> = x
        .iter()
        .map(|t| {
            if t.rank() == 0 {
                Type::scalar(t.dtype)
            } else {
                Type::tensor(t.shape.iter().map(|&n| n.into()), t.dtype)
            }
        })
        .collect();
    let s = &Signature { operands: &types, ..*s };
    let evaluator = Evaluator::new(Mode::Rounded);
    match s.def.semantics {
        Semantics::Elementwise(of) => {
            let e = of(s)?;
            let elem = results[0].elem().ok_or("no elements")?;
            Ok(vec![evaluator.map(e.function, &e.params, x, elem)?])
        }
        Semantics::Primitive(of) => of(&evaluator, s, x),
        _ => Err("made of others".into()),
    }
}

/// With NaN in place of some elements.
fn with_nan(r: &mut Random, mut tensor: Tensor) -> Tensor {
    if let Data::Float(values) = &mut tensor.data
        && r.chance(15)
    {
        for x in values.iter_mut() {
            *x = if r.chance(40) { f64::NAN } else { *x };
        }
    }
    tensor
}

fn check(context: &Context, def: &'static OpDef) -> Tally {
    let mut tally = Tally::default();
    let usual = if evidence::whole("boundaries") { GRAPHS } else { SAMPLE };
    let graphs = std::env::var("NGC_FACTS_GRAPHS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    for number in 0..graphs {
        let seed =
            def.name.bytes().fold(number, |seed, byte| seed.wrapping_mul(257).wrapping_add(u64::from(byte)));
        let mut r = Random::new(seed);
        // Wide formats, in which most numbers are not large.
        let format = r.pick(&[Format::F16, Format::F32, Format::F64]);
        let graph = Graph::draw(&mut r, context, &[def], format);
        for _ in 0..2 {
            let inputs = graph.inputs(&mut r).into_iter().map(|t| with_nan(&mut r, t)).collect();
            Case { context, graph: &graph, inputs }.check(&mut tally);
        }
    }
    tally
}

#[test]
fn what_is_said_of_every_op_holds() {
    let context = ngc_dialects::context();
    let tallies: Vec<Tally> = ops().par_iter().map(|def| check(&context, def)).collect();
    let violations: Vec<String> = tallies.iter().flat_map(|t| t.violations.iter().take(3)).cloned().collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    let mut all: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (name, counts) in tallies.iter().flat_map(|t| &t.ops) {
        let own = all.entry(name).or_default();
        (0..3).for_each(|k| own[k] += counts[k]);
    }
    // A test that holds nothing against anything proves nothing.
    let whole = evidence::whole("boundaries");
    for def in ops() {
        let [elements, real, strict] = all.get(def.name).copied().unwrap_or_default();
        assert!(elements > 0, "{} was not tried", def.name);
        let float = def.results.iter().any(|r| r.kind == ngc_ir::op_def::ValueKind::Float);
        assert!(real > 0 || !float || !whole, "{} is never known to be finite where it is defined", def.name);
        let elementwise = matches!(def.semantics, Semantics::Elementwise(_));
        assert!(strict > 0 || !elementwise || !whole, "{} is never known to need an operand", def.name);
    }
    println!("certificate: what is said of {} ops holds", all.len());
}
