//! Arithmetic on double words: relative errors are within the published bounds, with fused multiply-adds and with halves of factors.

use ngc_interp::Interpreter;
use ngc_ir::Sources;
use ngc_numerics::{Evaluator, Format, Mode, Random, Tensor};
use rug::Float;

const COUNT: usize = 20_000;
const BITS: u32 = 400;

/// An operation over the reals.
type Real = fn(Float, Float) -> Float;

/// Double words of any exponent in a range: a number, and one below half its last place.
fn draw(r: &mut Random, format: Format, exponents: (f64, f64)) -> [Vec<f64>; 2] {
    let one = |r: &mut Random| {
        let high = format.round(r.uniform(1.0, 2.0) * r.uniform(exponents.0, exponents.1).round().exp2());
        let high = if r.chance(50) { -high } else { high };
        let scale = if r.chance(20) { r.uniform(-60.0, 0.0).exp2() } else { 1.0 };
        let low = format.round(format.ulp(high) * r.uniform(-0.5, 0.5) * scale);
        (high, if high + low == high || format.round(high + low) == high { low } else { 0.0 })
    };
    let (high, low) = (0..COUNT).map(|_| one(r)).unzip();
    [high, low]
}

#[test]
fn errors_are_within_the_published_bounds() {
    let context = ngc_dialects::context();
    let exact = |x: f64, y: f64| Float::with_val(BITS, x) + y;
    // In units of u², with what follows in u³ and beyond.
    let ops: [(&str, usize, f64, Real); 4] = [
        ("add", 2, 3.01, |x, y| x + y),
        ("mul", 2, 5.01, |x, y| x * y),
        ("div", 2, 15.01, |x, y| x / y),
        ("sqrt", 1, 25.0 / 8.0 + 0.01, |x, _| x.sqrt()),
    ];
    for format in [Format::F32, Format::F64] {
        let mut r = Random::seeded("double words");
        let (x, y) = (draw(&mut r, format, (-20.0, 20.0)), draw(&mut r, format, (-20.0, 20.0)));
        for (name, operands, bound, f) in ops {
            for split in ["", " {split = true}"].into_iter().take(if name == "add" { 1 } else { 2 }) {
                let ty = format!("tensor<{COUNT}x{format}>");
                let types = vec![ty.clone(); 2 * operands].join(", ");
                let text = format!(
                    "func.func @f(%a: {ty}, %b: {ty}, %c: {ty}, %d: {ty}) -> ({ty}, {ty}) {{\n  %h, %l = num.dw_{name} {}{split} : \
                     {types} -> {ty}, {ty}\n  func.return %h, %l : {ty}, {ty}\n}}",
                    ["%a", "%b", "%c", "%d"][..2 * operands].join(", ")
                );
                let mut sources = Sources::default();
                let file = sources.add("double words", text, 1);
                let module = ngc_ir::text::parse_module(&context, &sources, file, &Default::default());
                let module = module.expect("it parses");
                let size = |v: &Vec<f64>| {
                    if name == "sqrt" { v.iter().map(|x| x.abs()).collect() } else { v.clone() }
                };
                // The low word follows the sign of the high one.
                let turned: Vec<f64> = x[1]
                    .iter()
                    .zip(&x[0])
                    .map(|(l, h)| if name == "sqrt" && *h < 0.0 { -l } else { *l })
                    .collect();
                let inputs = [size(&x[0]), turned, y[0].clone(), y[1].clone()];
                let tensors =
                    inputs.clone().map(|v| Tensor::floats(format, vec![COUNT], v).expect("numbers"));
                let run =
                    Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded)).call("f", &tensors);
                let run = run.expect("it runs");
                let (high, low) = (run[0].to_f64s(), run[1].to_f64s());
                let u = format.unit_roundoff();
                let mut worst = 0.0f64;
                for n in 0..COUNT {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|k| inputs[k][n]);
                    let wanted = f(exact(a, b), exact(c, d));
                    let off = (exact(high[n], low[n]) - &wanted).abs();
                    worst = worst.max((off / wanted.abs() / u / u).to_f64());
                    assert_eq!(format.round(high[n] + low[n]), high[n], "{name} is no double word");
                }
                println!("dw_{name}{split} in {format}: {worst:.2} u²");
                assert!(
                    worst <= bound && worst > 0.5,
                    "dw_{name}{split} in {format}: {worst} u², not {bound}"
                );
            }
        }
    }
}
