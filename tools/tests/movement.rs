//! Programs of movement, running sums, masks, joins and exponentials, stabilised, compute the same function: random ones, at 400
//! bits. What is written back of a value that is read at places that it does not have would be another function.
//!
//! NGC_PROGRAMS and NGC_SEED draw more and others.

use std::fmt::Write;

use ngc_interp::Interpreter;
use ngc_ir::pass::{PassManager, Pipeline, RemarkKind};
use ngc_ir::text::{ParseOptions, parse_module};
use ngc_ir::{Context, Module, Sources};
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use ngc_passes::REGISTRY;

/// Bits of both evaluations, and the difference that rounded constants of a cure may make.
const BITS: u32 = 400;
const APART: f64 = 3e-6;

/// A value of a program: its name, its shape, and whether it is positive.
#[derive(Clone)]
struct Drawn {
    name: String,
    shape: [usize; 2],
    positive: bool,
}

/// A program while it is drawn.
struct Draft<'r> {
    r: &'r mut Random,
    text: String,
    values: Vec<Drawn>,
    named: usize,
}

fn ty([rows, columns]: [usize; 2], elem: &str) -> String {
    format!("tensor<{rows}x{columns}x{elem}>")
}

impl Draft<'_> {
    fn name(&mut self) -> String {
        self.named += 1;
        format!("%v{}", self.named)
    }

    fn constant(&mut self, value: f64, shape: [usize; 2]) -> Drawn {
        let name = self.name();
        let _ = writeln!(self.text, "  {name} = ng.constant dense<{value:?}> : {}", ty(shape, "f32"));
        Drawn { name, shape, positive: value > 0.0 }
    }

    fn op(&mut self, op: &str, of: &[&Drawn], attrs: &str, shape: [usize; 2], positive: bool) -> Drawn {
        let name = self.name();
        let names: Vec<&str> = of.iter().map(|x| x.name.as_str()).collect();
        let types: Vec<String> = of.iter().map(|x| ty(x.shape, "f32")).collect();
        let (names, types, attrs) = (
            names.join(", "),
            types.join(", "),
            if attrs.is_empty() { String::new() } else { format!(" {{{attrs}}}") },
        );
        let _ = writeln!(self.text, "  {name} = ng.{op} {names}{attrs} : {types} -> {}", ty(shape, "f32"));
        let drawn = Drawn { name, shape, positive };
        self.values.push(drawn.clone());
        drawn
    }

    /// A value of the same shape.
    fn like(&mut self, x: &Drawn) -> Drawn {
        let same: Vec<&Drawn> = self.values.iter().filter(|y| y.shape == x.shape).collect();
        self.r.pick(&same).clone()
    }

    /// One more value.
    fn step(&mut self) {
        let late = self.values.len().saturating_sub(4);
        let recent: Vec<&Drawn> = self.values[late..].iter().collect();
        let x = self.r.pick(&recent).clone();
        let (shape, axis) = (x.shape, self.r.below(2));
        let mut longer = shape;
        match self.r.below(12) {
            0..=3 => {
                let open = ["exp", "sigmoid", "softplus", "neg", "square", "tanh", "expm1", "log_sigmoid"];
                let ops = if x.positive {
                    ["log", "sqrt", "reciprocal", "log1p", "exp", "log", "neg", "log"]
                } else {
                    open
                };
                let op = self.r.pick(&ops);
                let positive = ["exp", "sigmoid", "softplus", "sqrt", "reciprocal", "log1p"].contains(&op)
                    || x.positive && ["tanh", "expm1"].contains(&op);
                self.op(op, &[&x], "", shape, positive);
            }
            4 | 5 => {
                let y = self.like(&x);
                match self.r.below(4) {
                    0 => self.op("sub", &[&x, &y], "", shape, false),
                    1 => {
                        let one = self.constant(1.0, shape);
                        self.op("sub", &[&one, &x], "", shape, false)
                    }
                    n => self.op(["add", "mul"][n - 2], &[&x, &y], "", shape, x.positive && y.positive),
                };
            }
            6 | 7 => {
                let (op, exclusive, reverse) =
                    (self.r.pick(&["cumsum", "cumprod"]), self.r.chance(50), self.r.chance(50));
                let attrs = format!("axis = {axis} : i64, exclusive = {exclusive}, reverse = {reverse}");
                let sums = self.op(op, &[&x], &attrs, shape, x.positive && !exclusive);
                // Often with what the sum of nothing is beside it.
                if self.r.chance(60) {
                    let mut own = shape;
                    (own[axis], longer[axis]) = (1, shape[axis] + 1);
                    let none = self.constant(if op == "cumsum" { 0.0 } else { 1.0 }, own);
                    let both = if reverse { [&sums, &none] } else { [&none, &sums] };
                    let positive = sums.positive && none.positive;
                    self.op("concat", &both, &format!("axis = {axis} : i64"), longer, positive);
                }
            }
            8 | 9 => {
                let mut own = shape;
                own[axis] = 1 + self.r.below(2);
                longer[axis] += own[axis];
                if longer[axis] < 9 {
                    let number = self.r.pick(&[0.0, 1.0, 1.0]);
                    let c = self.constant(number, own);
                    let both = if self.r.chance(50) { [&c, &x] } else { [&x, &c] };
                    self.op(
                        "concat",
                        &both,
                        &format!("axis = {axis} : i64"),
                        longer,
                        x.positive && c.positive,
                    );
                }
            }
            10 => match self.r.below(4) {
                0 if shape[axis] > 2 => {
                    let (start, stop) = (self.r.below(2), shape[axis] - self.r.below(2));
                    longer[axis] = stop - start;
                    let attrs = format!("axes = [{axis}], starts = [{start}], stops = [{stop}]");
                    self.op("slice", &[&x], &attrs, longer, x.positive);
                }
                1 => drop(self.op("reverse", &[&x], &format!("axes = [{axis}]"), shape, x.positive)),
                2 => drop(self.op(
                    "transpose",
                    &[&x],
                    "permutation = [1, 0]",
                    [shape[1], shape[0]],
                    x.positive,
                )),
                _ => self.masked(&x, axis),
            },
            _ => {
                let op =
                    self.r.pick(&["reduce_sum", "reduce_prod", "reduce_max", "reduce_mean", "logsumexp"]);
                longer[axis] = 1;
                let positive = x.positive && op != "logsumexp";
                let all = self.op(op, &[&x], &format!("axes = [{axis}], keepdims = true"), longer, positive);
                let (op, positive) = if positive { ("div", x.positive) } else { ("sub", false) };
                self.op(op, &[&x, &all], "", shape, positive);
            }
        }
    }

    /// A choice between two values by place.
    fn masked(&mut self, x: &Drawn, axis: usize) {
        let (y, way) = (self.like(x), self.r.below(3));
        let mut holds = |row: usize, column: usize| match way {
            0 => self.r.chance(50),
            1 => row >= column,
            _ => [row, column][axis] > 0,
        };
        let rows: Vec<Vec<bool>> =
            (0..x.shape[0]).map(|i| (0..x.shape[1]).map(|j| holds(i, j)).collect()).collect();
        let (mask, name) = (self.name(), self.name());
        let (bits, own) = (ty(x.shape, "i1"), ty(x.shape, "f32"));
        let _ = writeln!(self.text, "  {mask} = ng.constant dense<{rows:?}> : {bits}");
        let _ = writeln!(
            self.text,
            "  {name} = ng.where {mask}, {}, {} : {bits}, {own}, {own} -> {own}",
            x.name, y.name
        );
        self.values.push(Drawn { name, shape: x.shape, positive: x.positive && y.positive });
    }
}

fn drawn(r: &mut Random) -> (String, [usize; 2]) {
    let shape = r.pick(&[[3, 5], [3, 2], [2, 4]]);
    let argument = |name: &str| Drawn { name: name.into(), shape, positive: false };
    let values = vec![argument("%x"), argument("%y")];
    let mut draft = Draft { r, text: String::new(), values, named: 0 };
    for _ in 0..5 + draft.r.below(7) {
        draft.step();
    }
    let mut last = draft.values.last().expect("arguments").clone();
    if last.positive {
        last = draft.op("log", &[&last], "", last.shape, false);
    }
    let (own, result) = (ty(shape, "f32"), ty(last.shape, "f32"));
    let text = format!(
        "func.func @f(%x: {own}, %y: {own}) -> {result} {{\n{}  func.return {} : {result}\n}}\n",
        draft.text, last.name
    );
    (text, shape)
}

fn run(context: &Context, module: &Module, inputs: &[Tensor]) -> Vec<f64> {
    let evaluator = Evaluator::new(Mode::Real { bits: BITS });
    Interpreter::new(context, module, evaluator).call("f", inputs).expect("it runs")[0].to_f64s()
}

#[test]
fn what_is_written_is_the_function_that_was_given() {
    let number =
        |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().expect("a number"));
    let (context, seed) = (ngc_dialects::context(), number("NGC_SEED", 2));
    let pipeline = Pipeline::named(&REGISTRY, REGISTRY.pipeline("stabilize").expect("it is registered"), "");
    let pipeline = pipeline.unwrap_or_else(|e| panic!("{e}"));
    let (mut rewritten, mut compared) = (0, 0);
    for program in 0..number("NGC_PROGRAMS", 50) {
        let mut r = Random::new(0x307e_0000 + (seed << 20) + program);
        let (text, shape) = drawn(&mut r);
        let mut sources = Sources::new();
        let file = sources.add("f.ngir", text.as_str(), 1);
        let given = parse_module(&context, &sources, file, &ParseOptions::default());
        let given = given.unwrap_or_else(|e| panic!("{text}\n{e:?}"));
        let mut cured = given.clone();
        let done = PassManager::new(&context).run(&pipeline, &mut cured);
        assert!(done.failure.is_none(), "{text}");
        if done.report.remarks.iter().all(|remark| remark.kind != RemarkKind::Passed) {
            continue;
        }
        rewritten += 1;
        let size = r.pick(&[0.3, 1.0, 3.0]);
        let mut argument = || {
            let values = (0..shape.iter().product()).map(|_| Format::F32.round(size * r.uniform(-1.0, 1.0)));
            Tensor::floats(Format::F32, shape.to_vec(), values.collect()).expect("it fills the shape")
        };
        let inputs = [argument(), argument()];
        let (old, new) = (run(&context, &given, &inputs), run(&context, &cured, &inputs));
        assert_eq!(old.len(), new.len(), "{text}");
        for (a, b) in old.iter().zip(new).filter(|(a, _)| a.is_finite()) {
            assert!((a - b).abs() <= APART * (a.abs() + 1e-3), "program {program}: {a} is {b}\n{text}");
            compared += 1;
        }
    }
    println!("{rewritten} programs rewritten, {compared} elements compared");
    assert!(rewritten > 0 && compared > 0, "nothing was rewritten");
}
