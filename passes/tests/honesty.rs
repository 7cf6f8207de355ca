//! Bounds are bounds: random graphs over all ops, formats and inputs, evaluated as rounded and at 300 bits. No value
//! leaves its enclosure, no error exceeds its bound. `NGC_HONESTY_VALUES` sets how many values are checked.

use std::collections::BTreeMap;

use ngc_dialects::transfer::Flow;
use ngc_interp::Interpreter;
use ngc_ir::op_def::{Arity, AttrDef, AttrKind, Default, ValueKind};
use ngc_ir::{Attr, AttrDict, Body, Builder, Dim, Loc, Module, OpDef, OpState, Semantics, Type, Value};
use ngc_numerics::{DType, Data, Enclosure, Evaluator, Format, Interval, Mode, Range, Tensor};
use rug::Float;

const BITS: u32 = 300;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64 (G. Steele, D. Lea, C. Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

const FORMATS: [Format; 7] =
    [Format::F64, Format::F32, Format::F32, Format::F16, Format::Bf16, Format::F8E5M2, Format::F8E4M3FN];

fn interval(r: &mut Random, format: Format) -> (f64, f64) {
    let (tiny, max) = (format.min_subnormal(), format.max_finite());
    let (lo, hi) = r.pick(&[
        (-3.0, 3.0),
        (0.5, 2.0),
        (0.0, 1.0),
        (-8.0, 8.0),
        (-80.0, 80.0),
        (-200.0, -100.0),
        (0.0, 300.0),
        (1.5, 1.5),
        (1.0, 1.0625),
        (-4.0 * tiny, 9.0 * tiny),
        (-max / 8.0, max / 16.0),
        (0.125, 14.0),
    ]);
    (format.round(lo).max(-max), format.round(hi).min(max))
}

fn sample(r: &mut Random, format: Format, (lo, hi): (f64, f64)) -> f64 {
    let x = match r.below(8) {
        0 => lo,
        1 => hi,
        2 => 0.0,
        3 => format.min_subnormal() * (r.below(9) as f64 - 4.0),
        4 => format.next_down(hi),
        _ => lo + (hi - lo) * r.unit(),
    };
    format.round(x.clamp(lo, hi)).clamp(lo, hi)
}

/// A valid value for an attribute of an op on a first operand of type `ty`, or nothing where it is to be left out.
fn attribute(r: &mut Random, op: &OpDef, def: &AttrDef, ty: Type, format: Format) -> Option<Attr> {
    let rank = ty.shape().map_or(0, <[Dim]>::len);
    let optional = def.default != Default::Required;
    if optional && r.chance(if def.name == "sum" || def.name == "axes" { 30 } else { 55 }) {
        return None;
    }
    let axis = if rank == 0 { 0 } else { r.below(rank) as i64 };
    Some(match (def.name, def.kind) {
        ("axes", _) => Attr::ints([axis]),
        ("permutation", _) => Attr::ints((0..rank as i64).rev()),
        ("accumulate", _) => {
            Attr::Type(Type::float(r.pick(&[Format::F32, Format::F64, Format::F16, Format::Bf16])))
        }
        ("epsilon", _) => Attr::float(r.pick(&[1e-5, 1e-3, 1.0])),
        ("to" | "type", AttrKind::ElemType) => {
            let elem = r.pick(&[
                DType::Float(Format::F32),
                DType::Float(format),
                DType::Float(Format::F64),
                DType::Float(Format::F16),
                DType::Int(32),
                DType::BOOL,
            ]);
            Attr::Type(Type::scalar(elem))
        }
        ("type", _) => Attr::Type(Type::tensor([3.into()], DType::Float(format))),
        ("kernel" | "output_size", _) => Attr::ints([2]),
        ("strides" | "dilations", _) => Attr::ints([r.below(2) as i64 + 1]),
        ("pads", _) => pads(r),
        ("low" | "high", _) => Attr::ints((0..rank).map(|_| r.below(2) as i64)),
        ("shape", _) if op.name == "ng.reshape" => Attr::ints([-1]),
        ("repeats", _) => Attr::ints((0..rank).map(|_| r.below(2) as i64 + 1)),
        ("starts", _) => Attr::ints([0]),
        ("stops", _) => Attr::ints([1]),
        ("limit", _) => Attr::float(2.0),
        ("ord" | "p", _) => Attr::float(r.pick(&[1.0, 2.0, 2.0, f64::INFINITY, 3.0])),
        ("k" | "axis" | "depth", _) => Attr::int(if def.name == "depth" { 3 } else { axis }),
        ("num_groups" | "groups", _) => Attr::int(1),
        ("correction", _) => Attr::int(r.below(2) as i64),
        ("ignore_index" | "weight" | "steps" | "copy_zeros" | "batch_dims" | "scale", _) if optional => {
            return None;
        }
        (_, AttrKind::Enum(names)) => Attr::from(r.pick(names)),
        (_, AttrKind::Bool) => Attr::Bool(r.chance(50)),
        (_, AttrKind::Float) if optional => Attr::float(r.pick(&[0.5, 1.0, -0.25, 2.0])),
        _ => return None,
    })
}

fn pads(r: &mut Random) -> Attr {
    Attr::Array([Attr::ints([r.below(2) as i64, r.below(2) as i64])].into_iter().collect())
}

/// Ops whose integer operands must fit their data get constants.
fn indices(b: &mut Builder<'_>, op: &OpDef, data: Type) -> Option<Value> {
    let shape = if op.name == "ng.gather" { vec![2] } else { data.static_shape()? };
    let count = shape.iter().product();
    let zeros = Tensor::ints(DType::Int(64), shape, vec![0; count]).ok()?;
    b.constant(ngc_dialects::ng::constant::tensor_to_attr(&zeros)).ok()
}

fn grow(r: &mut Random, b: &mut Builder<'_>, pool: &[Value], ops: &[&'static OpDef], format: Format) {
    let op = r.pick(ops);
    let mut operands: Vec<Value> = Vec::new();
    for def in op.operands {
        let fits: Vec<Value> = pool.iter().copied().filter(|&v| def.kind.admits(b.ty(v))).collect();
        let times = match def.arity {
            Arity::One => 1,
            Arity::Optional => r.below(2),
            Arity::Variadic => 1 + r.below(2),
        };
        for _ in 0..times {
            if def.name == "indices" && !operands.is_empty() {
                let data = b.ty(operands[0]);
                let Some(v) = indices(b, op, data) else { return };
                operands.push(v);
                continue;
            }
            let like: Vec<Value> = match operands.first() {
                Some(&first) => {
                    fits.iter().copied().filter(|&v| b.ty(v).elem() == b.ty(first).elem()).collect()
                }
                None => Vec::new(),
            };
            let from = if like.is_empty() || def.kind == ValueKind::Bool { &fits } else { &like };
            if from.is_empty() {
                return;
            }
            operands.push(if r.chance(12) && !operands.is_empty() && from.contains(&operands[0]) {
                operands[0]
            } else {
                r.pick(from)
            });
        }
        if times == 0 {
            break;
        }
    }
    let first = operands.first().map_or(Type::float(format), |&v| b.ty(v));
    // Division of integers by zero is an error, and targets of losses must be classes.
    let integers = first.elem().is_some_and(|e| !e.is_float());
    if integers && matches!(op.short_name(), "div" | "rem" | "pow") {
        return;
    }
    if op.short_name() == "cross_entropy" && b.ty(operands[1]).format().is_none() {
        return;
    }
    let mut attrs = AttrDict::EMPTY;
    for def in op.attributes {
        if let Some(value) = attribute(r, op, def, first, format) {
            attrs.set(def.name, value);
        }
    }
    // What does not fit is not made.
    let _ = b.op(op.name, &operands, attrs);
}

struct Graph {
    module: Module,
    body: Body,
    values: Vec<Value>,
}

const SHAPES: [&[usize]; 5] = [&[2, 3], &[3], &[1, 2, 4], &[], &[2, 2, 2]];

fn graph(r: &mut Random, ops: &[&'static OpDef], format: Format) -> Graph {
    let context = ngc_dialects::context();
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let types: Vec<Type> = SHAPES
        .iter()
        .chain(&SHAPES)
        .map(|shape| Type::tensor(shape.iter().map(|&n| Dim::Static(n)), DType::Float(format)))
        .collect();
    let mut values: Vec<Value> = types.iter().map(|&ty| body.add_argument(block, ty, Loc::Unknown)).collect();
    for _ in 0..40 {
        let mut b = Builder::at_end(&context, &mut body, block, Loc::Unknown);
        grow(r, &mut b, &values, ops, format);
        let small = |v: &Value| body.ty(*v).static_shape().is_some_and(|s| s.iter().product::<usize>() <= 48);
        values = (0..body.num_values()).map(Value::from_index).filter(small).collect();
    }
    // Only what is small, and defined by an op that stayed.
    let live: Vec<Value> = (0..body.num_values())
        .map(Value::from_index)
        .filter(|&v| body.defining_op(v).is_none_or(|op| body.block(op).is_some()))
        .collect();
    let mut b = Builder::at_end(&context, &mut body, block, Loc::Unknown);
    b.op("func.return", &live, AttrDict::EMPTY).expect("return");
    let results: Vec<Type> = live.iter().map(|&v| body.ty(v)).collect();
    let mut state = OpState::new(context.op("func.func").expect("func"), Loc::Unknown);
    state.attrs.set("sym_name", "f");
    state.attrs.set("function_type", Attr::Type(Type::function(&types, &results)));
    let mut module = Module::new();
    let op = module.body.create(state);
    module.body.set_body(op, body.clone());
    let top = module.body.entry().expect("a block");
    module.body.append(top, op);
    Graph { module, body, values: live }
}

fn reals(t: &Tensor) -> Vec<Float> {
    match &t.data {
        Data::Real(v) => v.clone(),
        Data::Float(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
        Data::Int(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
    }
}

fn inside(x: &Float, range: &Interval, slack: &Float) -> bool {
    if x.is_nan() {
        return range.may_be_nan;
    }
    if range.is_undefined() {
        return false;
    }
    let (above, below) = (Float::with_val(BITS, x + slack), Float::with_val(BITS, x - slack));
    above >= range.lo && below <= range.hi
}

#[derive(Default)]
struct Tally {
    values: usize,
    bounded: usize,
    failed: usize,
    graphs: usize,
    ops: BTreeMap<&'static str, [usize; 2]>,
}

fn check(r: &mut Random, ops: &[&'static OpDef], tally: &mut Tally) {
    let context = ngc_dialects::context();
    let format = r.pick(&FORMATS);
    let Graph { module, body, values } = graph(r, ops, format);
    let entry = body.entry().expect("a block");
    let arguments = body.arguments(entry);
    let intervals: Vec<(f64, f64)> = arguments.iter().map(|_| interval(r, format)).collect();
    let mut flow = Flow::default();
    for (&v, &(lo, hi)) in arguments.iter().zip(&intervals) {
        flow.set(v, Range::both(Enclosure::new(lo, hi)), 0.0);
    }
    for op in body.walk() {
        flow.step(&body, op);
    }
    tally.graphs += 1;
    for _ in 0..3 {
        let inputs: Vec<Tensor> = SHAPES
            .iter()
            .chain(&SHAPES)
            .zip(&intervals)
            .map(|(shape, &range)| {
                let data = (0..shape.iter().product()).map(|_| sample(r, format, range)).collect();
                Tensor::floats(format, shape.to_vec(), data).expect("fits")
            })
            .collect();
        let run = |mode| Interpreter::new(&context, &module, Evaluator { mode }).call("f", &inputs);
        let (Ok(exact), Ok(computed)) = (run(Mode::Real { bits: BITS }), run(Mode::Rounded)) else {
            tally.failed += 1;
            continue;
        };
        let mut largest = Float::with_val(64, 0);
        for ((&v, exact), computed) in values.iter().zip(&exact).zip(&computed) {
            let (range, error) = (flow.range(v), flow.error(v));
            let name = body.defining_op(v).map_or("argument", |op| body.name(op));
            let seen = tally.ops.entry(name).or_default();
            for (e, c) in reals(exact).iter().zip(reals(computed)) {
                if e.is_finite() && e.clone().abs() > largest {
                    largest = e.clone().abs();
                }
                // What 300 bits lose.
                let slack = Float::with_val(64, &largest >> 240u32);
                let context = || {
                    let op = body.defining_op(v);
                    let inputs: Vec<String> = op
                        .map_or(&[][..], |op| body.operands(op))
                        .iter()
                        .map(|&v| format!("{} {:?} ± {:e}", body.ty(v), flow.range(v), flow.error(v)))
                        .collect();
                    let attrs = op.map(|op| format!("{:?}", body.op(op).attrs));
                    format!(
                        "{name} {} of {inputs:#?}\n{attrs:?}: exact {e:.20} computed {c:.20}, {range:?} ± {error:e}",
                        body.ty(v)
                    )
                };
                assert!(inside(e, &range.exact, &slack), "exact value outside: {}", context());
                assert!(
                    inside(&c, &range.computed, &Float::new(64)),
                    "computed value outside: {}",
                    context()
                );
                if error.is_finite() && !e.is_nan() {
                    let near = if e.is_finite() {
                        c.is_finite()
                            && Float::with_val(BITS, &c - e).abs() <= Float::with_val(BITS, error + &slack)
                    } else {
                        c == *e
                    };
                    assert!(near, "error above its bound: {}", context());
                    tally.bounded += 1;
                    seen[1] += 1;
                }
                tally.values += 1;
                seen[0] += 1;
            }
        }
    }
}

/// All pure ops that have a meaning.
fn ops() -> Vec<&'static OpDef> {
    ngc_dialects::FAMILIES
        .iter()
        .flat_map(|(_, ops)| ops.iter().copied())
        .filter(|op| op.traits.pure && !op.traits.constant && !matches!(op.semantics, Semantics::None))
        // Their indices are vectors, or classes.
        .filter(|op| !matches!(op.short_name(), "gather_nd" | "scatter_nd" | "nll"))
        .collect()
}

#[test]
fn no_bound_is_ever_exceeded() {
    let wanted = std::env::var("NGC_HONESTY_VALUES").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let seed = std::env::var("NGC_HONESTY_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (ops, mut r, mut tally) = (ops(), Random(seed), Tally::default());
    while tally.values < wanted {
        check(&mut r, &ops, &mut tally);
    }
    println!(
        "{} values of {} graphs, {} with a finite bound, {} runs refused",
        tally.values, tally.graphs, tally.bounded, tally.failed
    );
    for (name, [seen, bounded]) in &tally.ops {
        println!("{name:28} {seen:8} {bounded:8}");
    }
    let missing: Vec<&str> =
        ops.iter().map(|op| op.name).filter(|name| !tally.ops.contains_key(name)).collect();
    println!("never drawn: {missing:?}");
    assert!(tally.bounded * 4 > tally.values, "too few values have a bound to test it");
    assert!(tally.failed * 4 < tally.graphs * 3, "too many graphs cannot be evaluated");
}
