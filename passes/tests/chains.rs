//! Chains of elementwise ops are bounded as a whole: sharply, and never below what a value does. `NGC_HONESTY_VALUES` and
//! `NGC_HONESTY_SEED` set how many values of random graphs are checked.

use std::time::Instant;

use ngc_interp::Interpreter;
use ngc_ir::op_def::{AttrKind, Default};
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Dim, Loc, Module, OpDef, OpState, Semantics, Type, Value,
};
use ngc_numerics::{DType, Data, Enclosure, Evaluator, Format, Interval, Mode, Random, Range, Tensor};
use ngc_passes::analysis::chains::EFFORT;
use ngc_passes::analysis::error::Errors;
use rug::Float;

const BITS: u32 = 300;

/// A function under construction, in one block.
struct Sketch {
    context: Context,
    body: Body,
}

impl Sketch {
    fn new() -> Sketch {
        let mut body = Body::new();
        let root = body.root();
        body.add_block(root);
        Sketch { context: ngc_dialects::context(), body }
    }

    fn argument(&mut self, shape: &[usize], format: Format) -> Value {
        let block = self.body.entry().expect("a block");
        self.body.add_argument(block, tensor(shape, format), Loc::Unknown)
    }

    fn builder(&mut self) -> Builder<'_> {
        let block = self.body.entry().expect("a block");
        Builder::at_end(&self.context, &mut self.body, block, Loc::Unknown)
    }

    fn op(&mut self, name: &str, operands: &[Value]) -> Value {
        self.builder().emit(&format!("ng.{name}"), operands, AttrDict::EMPTY).expect(name)
    }

    fn constant(&mut self, value: f64, format: Format) -> Value {
        self.builder().constant(Attr::Float(value, Type::float(format))).expect("a constant")
    }

    fn returns(&mut self, values: &[Value]) {
        self.builder().op("func.return", values, AttrDict::EMPTY).expect("return");
    }

    fn errors(&self, ranges: &[(f64, f64)], effort: usize) -> Errors {
        let ranges: Vec<Interval> = ranges.iter().map(|&(lo, hi)| Enclosure::new(lo, hi)).collect();
        Errors::of_body(&self.body, &ranges, effort)
    }

    /// A module with the body as its only function, `f`.
    fn module(&self, results: &[Value]) -> Module {
        let entry = self.body.entry().expect("a block");
        let types = |values: &[Value]| -> Vec<Type> { values.iter().map(|&v| self.body.ty(v)).collect() };
        let ty = Type::function(&types(self.body.arguments(entry)), &types(results));
        let mut state = OpState::new(self.context.op("func.func").expect("func"), Loc::Unknown);
        state.attrs.set("sym_name", "f");
        state.attrs.set("function_type", Attr::Type(ty));
        let mut module = Module::new();
        let op = module.body.create(state);
        module.body.set_body(op, self.body.clone());
        let top = module.body.entry().expect("a block");
        module.body.append(top, op);
        module
    }
}

fn tensor(shape: &[usize], format: Format) -> Type {
    if shape.is_empty() {
        Type::float(format)
    } else {
        Type::tensor(shape.iter().map(|&n| Dim::Static(n)), DType::Float(format))
    }
}

/// `√(x + 1) - √x`, and the same as `1 / (√(x + 1) + √x)`.
fn difference_of_roots(format: Format) -> (Sketch, [Value; 2]) {
    let mut f = Sketch::new();
    let x = f.argument(&[], format);
    let one = f.constant(1.0, format);
    let shifted = f.op("add", &[x, one]);
    let roots = [f.op("sqrt", &[shifted]), f.op("sqrt", &[x])];
    let naive = f.op("sub", &roots);
    let sum = f.op("add", &roots);
    let cured = f.op("div", &[one, sum]);
    f.returns(&[naive, cured]);
    (f, [naive, cured])
}

#[test]
fn relative_bounds_rank_what_absolute_ones_do_not() {
    let (f, [naive, cured]) = difference_of_roots(Format::F64);
    let ranges = [(1.0, 1000.0)];
    let errors = f.errors(&ranges, EFFORT);
    // FPTaylor: 4.85e-15 and 1.17e-16.
    assert!(errors.absolute(naive) < 4.9e-15 && errors.absolute(cured) < 1.2e-16);
    assert!(errors.relative(naive, 0.0) > 1e-13 && errors.relative(naive, 0.0) < 3e-13);
    assert!(errors.relative(cured, 0.0) < 3e-16, "{}", errors.relative(cured, 0.0));
    let range = errors.range(naive).exact;
    assert!(range.lo > 0.01 && range.hi < 0.5, "{range:?}");
    // A floor above the value only lowers a relative bound, and one below the search's own floor is no way around it.
    assert!(errors.relative(naive, 1.0) <= 4.9e-15);
    let alone = f.errors(&ranges, 0);
    assert!(alone.relative(naive, 0.0) > 5.0 * errors.relative(naive, 0.0));
    assert!(alone.absolute(naive) >= errors.absolute(naive));
}

#[test]
fn what_follows_a_chain_profits_from_it() {
    let bound = |effort: usize| {
        let mut f = Sketch::new();
        let x = f.argument(&[8], Format::F32);
        // x (1 - x) over [0, 1], then its sum.
        let one = f.constant(1.0, Format::F32);
        let rest = f.op("sub", &[one, x]);
        let product = f.op("mul", &[x, rest]);
        let sum = f.op("reduce_sum", &[product]);
        f.returns(&[sum]);
        let errors = f.errors(&[(0.0, 1.0)], effort);
        (errors.absolute(sum), errors.range(sum).exact.hi)
    };
    let (with, without) = (bound(EFFORT), bound(0));
    assert!(with.0 < 0.5 * without.0, "{with:?} {without:?}");
    assert!(with.1 <= 8.0 * 0.26 && without.1 >= 8.0);
}

#[test]
fn equal_chains_are_searched_once_and_results_do_not_depend_on_it() {
    let mut f = Sketch::new();
    let (x, y) = (f.argument(&[4], Format::F16), f.argument(&[4], Format::F16));
    let ends = [x, y].map(|v| {
        let e = f.op("exp", &[v]);
        let s = f.op("sigmoid", &[v]);
        f.op("mul", &[e, s])
    });
    f.returns(&ends);
    let errors = f.errors(&[(-2.0, 2.0); 2], EFFORT);
    assert_eq!(errors.absolute(ends[0]), errors.absolute(ends[1]));
    assert!(errors.absolute(ends[0]) < f.errors(&[(-2.0, 2.0); 2], 0).absolute(ends[0]));
}

/// Elementwise ops on floats, and some that end chains.
fn ops() -> Vec<&'static OpDef> {
    let ends = ["ng.reduce_sum", "ng.reduce_max", "ng.transpose", "ng.softmax", "ng.convert", "ng.matmul"];
    let all = ngc_dialects::FAMILIES.iter().flat_map(|(_, ops)| ops.iter().copied());
    all.filter(|op| {
        matches!(op.semantics, Semantics::Elementwise(_))
            || ends.contains(&op.name)
            || matches!(op.name, "ng.compare" | "ng.where")
    })
    .collect()
}

fn attributes(r: &mut Random, op: &OpDef, format: Format, rank: usize) -> AttrDict {
    let mut attrs = AttrDict::EMPTY;
    for def in op.attributes {
        let value = match (def.name, def.kind) {
            ("to", _) => Attr::Type(Type::float(r.pick(&[format, Format::F32, Format::F16, Format::F64]))),
            ("axes", _) => Attr::ints([0]),
            ("permutation", _) => Attr::ints((0..rank as i64).rev()),
            (_, AttrKind::Enum(names)) if def.default == Default::Required || r.chance(30) => {
                Attr::from(r.pick(names))
            }
            (_, AttrKind::Float) if r.chance(30) => Attr::float(r.pick(&[0.5, 0.25, -1.0, 3.0])),
            _ => continue,
        };
        attrs.set(def.name, value);
    }
    attrs
}

fn random_range(r: &mut Random, format: Format) -> (f64, f64) {
    let (tiny, max) = (format.min_subnormal(), format.max_finite());
    let (lo, hi) = match r.below(10) {
        0 => r.pick(&[(-4.0 * tiny, 9.0 * tiny), (-max / 8.0, max / 16.0), (0.0, 0.0), (1.5, 1.5)]),
        1 => r.pick(&[(-200.0, -100.0), (0.0, 300.0), (-80.0, 80.0)]),
        2 => r.pick(&[(0.0, 1.0), (-1.0, 1.0), (1.0, 2.0), (-8.0, 8.0)]),
        _ => {
            let (at, width) = (r.uniform(-4.0, 4.0), r.unit() * r.pick(&[0.01, 1.0, 4.0]));
            (at, at + width)
        }
    };
    (format.round(lo).max(-max), format.round(hi).min(max))
}

const SHAPES: [&[usize]; 4] = [&[2, 3], &[3], &[], &[2, 1]];

fn grow(r: &mut Random, f: &mut Sketch, ops: &[&'static OpDef], format: Format) {
    if r.chance(10) {
        let value = format.round(r.pick(&[0.0, 1.0, 0.5, -2.0, 0.1, 3.0]));
        f.constant(value, format);
        return;
    }
    let op = r.pick(ops);
    let count = f.body.num_values();
    let mut operands: Vec<Value> = Vec::new();
    for def in op.operands {
        let fits: Vec<Value> = (0..count)
            .map(Value::from_index)
            .filter(|&v| def.kind.admits(f.body.ty(v)))
            .filter(|&v| {
                let first = operands.iter().find(|&&w| f.body.ty(w).format().is_some());
                f.body.ty(v).format().is_none()
                    || first.is_none_or(|&w| f.body.ty(v).elem() == f.body.ty(w).elem())
            })
            .collect();
        if fits.is_empty() {
            return;
        }
        // Recent values make long chains.
        let from = if r.chance(70) { fits.len().saturating_sub(4) } else { 0 };
        operands.push(fits[from + r.below(fits.len() - from)]);
    }
    let rank = f.body.ty(operands[0]).shape().map_or(0, <[Dim]>::len);
    let attrs = attributes(r, op, format, rank);
    // What does not fit is not made.
    let _ = f.builder().op(op.name, &operands, attrs);
}

fn sample(r: &mut Random, format: Format, (lo, hi): (f64, f64)) -> f64 {
    let x = match r.below(10) {
        0 => lo,
        1 => hi,
        2 => 0.0,
        _ => r.uniform(lo, hi),
    };
    format.round(x.clamp(lo, hi)).clamp(lo, hi)
}

fn reals(t: &Tensor) -> Vec<Float> {
    match &t.data {
        Data::Real(v) => v.clone(),
        Data::Float(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
        Data::Int(v) => v.iter().map(|&x| Float::with_val(BITS, x)).collect(),
    }
}

/// The ops before and at `v`, a line each, with what is known op by op.
fn listing(f: &Sketch, alone: &Errors, v: Value) -> String {
    let mut text = String::new();
    for w in (0..=v.index()).map(Value::from_index) {
        let Range { exact, computed } = alone.range(w);
        let of = f.body.defining_op(w).map_or(String::new(), |op| {
            format!("{} {:?} {:?}", f.body.name(op), f.body.operands(op), f.body.op(op).attrs)
        });
        text += &format!("{w:?} {} {of} {exact:?} {computed:?} ± {:e}\n", f.body.ty(w), alone.absolute(w));
    }
    text
}

#[derive(Default)]
struct Tally {
    values: usize,
    bounded: usize,
    /// Values whose chain says more than the ops one by one.
    sharper: usize,
}

fn check(r: &mut Random, ops: &[&'static OpDef], tally: &mut Tally) {
    let formats = [Format::F64, Format::F32, Format::F16, Format::Bf16, Format::F8E5M2, Format::F8E4M3FN];
    let format = r.pick(&formats);
    let mut f = Sketch::new();
    for shape in SHAPES {
        f.argument(shape, format);
    }
    for _ in 0..4 + r.below(24) {
        grow(r, &mut f, ops, format);
    }
    let live = |v: &Value| f.body.defining_op(*v).is_none_or(|op| f.body.block(op).is_some());
    let values: Vec<Value> = (0..f.body.num_values()).map(Value::from_index).filter(live).collect();
    // Chains end where values are returned; the others stay inside.
    let returned: Vec<Value> = values.iter().copied().filter(|_| r.chance(40)).collect();
    let all = values.iter().copied().filter(|v| f.body.ty(*v).format().is_some()).collect::<Vec<_>>();
    let mut whole = Sketch { context: ngc_dialects::context(), body: f.body.clone() };
    f.returns(&returned);
    whole.returns(&all);
    let module = whole.module(&all);
    let ranges: Vec<(f64, f64)> = SHAPES.iter().map(|_| random_range(r, format)).collect();
    let errors = f.errors(&ranges, r.pick(&[1 << 9, 1 << 12, 1 << 15]));
    let alone = f.errors(&ranges, 0);
    let floors = [0.0, format.min_normal(), 0.125];
    for _ in 0..6 {
        let inputs: Vec<Tensor> = SHAPES
            .iter()
            .zip(&ranges)
            .map(|(shape, &range)| {
                let data = (0..shape.iter().product()).map(|_| sample(r, format, range)).collect();
                Tensor::floats(format, shape.to_vec(), data).expect("fits")
            })
            .collect();
        let run = |mode| Interpreter::new(&f.context, &module, Evaluator { mode }).call("f", &inputs);
        let (Ok(exact), Ok(computed)) = (run(Mode::Real { bits: BITS }), run(Mode::Rounded)) else {
            continue;
        };
        let mut largest = Float::with_val(64, 0);
        for ((&v, exact), computed) in all.iter().zip(&exact).zip(&computed) {
            let (range, error) = (errors.range(v), errors.absolute(v));
            let relative = floors.map(|floor| errors.relative(v, floor));
            tally.sharper +=
                usize::from(error < alone.absolute(v) || relative[2] < alone.relative(v, floors[2]));
            for (e, c) in reals(exact).iter().zip(reals(computed)) {
                tally.values += 1;
                if e.is_finite() && e.clone().abs() > largest {
                    largest = e.clone().abs();
                }
                // What 300 bits lose.
                let slack = Float::with_val(64, &largest >> 240u32);
                let context = || {
                    let name = f.body.defining_op(v).map_or("argument", |op| f.body.name(op));
                    let graph = listing(&f, &alone, v);
                    format!(
                        "{graph}{name} {format:?}: exact {e:.20} computed {c:.20}, {range:?} ± {error:e} {relative:?}"
                    )
                };
                if e.is_nan() {
                    assert!(range.exact.may_be_nan, "{}", context());
                    continue;
                }
                let (above, below) = (Float::with_val(BITS, e + &slack), Float::with_val(BITS, e - &slack));
                assert!(above >= range.exact.lo && below <= range.exact.hi, "{}", context());
                let inside = if c.is_nan() {
                    range.computed.may_be_nan
                } else {
                    c >= range.computed.lo && c <= range.computed.hi
                };
                assert!(inside, "{}", context());
                if !error.is_finite() || !e.is_finite() {
                    continue;
                }
                tally.bounded += 1;
                let off = Float::with_val(BITS, &c - e).abs();
                assert!(off <= Float::with_val(BITS, error + &slack), "{}", context());
                for (bound, floor) in relative.iter().zip(floors) {
                    let size = e.clone().abs().max(&Float::with_val(BITS, floor));
                    let room = Float::with_val(BITS, size * bound) + &slack;
                    assert!(bound.is_infinite() || off <= room, "{}", context());
                }
            }
        }
    }
}

#[test]
fn no_bound_of_a_chain_is_ever_exceeded() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let wanted = setting("NGC_HONESTY_VALUES").unwrap_or(100_000);
    let mut r = Random::new(setting("NGC_HONESTY_SEED").unwrap_or(1) as u64);
    let (ops, mut tally) = (ops(), Tally::default());
    while tally.values < wanted {
        check(&mut r, &ops, &mut tally);
    }
    println!("{} values, {} bounded, {} tensors sharper", tally.values, tally.bounded, tally.sharper);
    assert!(tally.bounded * 3 > tally.values && tally.sharper * 100 > tally.values, "too little is tested");
}

/// A body of `count` elementwise ops in chains with ever other ranges.
fn long(count: usize, per_chain: usize) -> Sketch {
    let mut f = Sketch::new();
    let x = f.argument(&[8, 8], Format::F32);
    let mut v = x;
    let mut made = 0;
    while made < count {
        for k in 0..per_chain {
            v = match k % 3 {
                0 => f.op("tanh", &[v]),
                1 => f.op("add", &[v, x]),
                _ => f.op("mul", &[v, x]),
            };
            made += 1;
        }
        let permutation = AttrDict::from([("permutation", Attr::ints([1, 0]))]);
        v = f.builder().emit("ng.transpose", &[v], permutation).expect("transpose");
        made += 1;
    }
    f.returns(&[v]);
    f
}

/// Layers of a transformer: attention, and two products with a GELU written out between them, on 64 tokens.
fn transformer(layers: usize) -> Sketch {
    let mut f = Sketch::new();
    let (mut x, shift) = (f.argument(&[64, 64], Format::F32), f.argument(&[64], Format::F32));
    let weights = f.argument(&[64, 64], Format::F32);
    for _ in 0..layers {
        let normal = f.op("layer_norm", &[x]);
        let [q, k, v] = [0; 3].map(|_| f.op("matmul", &[normal, weights]));
        let attention = f.op("attention", &[q, k, v]);
        let mixed = f.op("matmul", &[attention, weights]);
        x = f.op("add", &[x, mixed]);
        let normal = f.op("layer_norm", &[x]);
        let wide = f.op("matmul", &[normal, weights]);
        let shifted = f.op("add", &[wide, shift]);
        // x Φ(x) by the hyperbolic tangent.
        let [half, one, c, k] =
            [0.5, 1.0, 0.044715, 0.7978845608].map(|c| f.constant(Format::F32.round(c), Format::F32));
        let square = f.op("mul", &[shifted, shifted]);
        let scaled = f.op("mul", &[square, c]);
        let grown = f.op("add", &[scaled, one]);
        let cubic = f.op("mul", &[grown, shifted]);
        let inner = f.op("mul", &[cubic, k]);
        let tanh = f.op("tanh", &[inner]);
        let risen = f.op("add", &[tanh, one]);
        let product = f.op("mul", &[shifted, risen]);
        let gelu = f.op("mul", &[product, half]);
        let narrow = f.op("matmul", &[gelu, weights]);
        x = f.op("add", &[x, narrow]);
    }
    f.returns(&[x]);
    f
}

#[test]
#[ignore = "a stopwatch, meaningful in release builds only"]
fn stopwatch() {
    for per_chain in [1, 2, 5, 30, 1000] {
        let f = long(100_000, per_chain);
        for effort in [0, EFFORT] {
            let start = Instant::now();
            let errors = f.errors(&[(-1.0, 1.0)], effort);
            println!("chains of {per_chain}, effort {effort}: {:?} {}", start.elapsed(), errors.ops().len());
        }
    }
    let f = transformer(12);
    for effort in [0, EFFORT] {
        let start = Instant::now();
        let errors = f.errors(&[(-4.0, 4.0), (-1.0, 1.0), (-0.1, 0.1)], effort);
        println!("12 layers, effort {effort}: {:?} {}", start.elapsed(), errors.ops().len());
    }
}
