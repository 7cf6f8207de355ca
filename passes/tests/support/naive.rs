//! Random functions of naive spellings.

use ngc_numerics::{Format, Random, Tensor};

pub const SHAPE: [usize; 2] = [2, 3];

/// Naive spellings, with `@` for the operand, `#` for the other one and a `$` before each value; `=` is the result.
pub const IDIOMS: &[&[&str]] = &[
    &["$e = ng.exp @", "$z = sum $e", "= ng.div $e, $z : tensor<2x3xf32>, tensor<2x1xf32> -> T"],
    &["$e = ng.exp @", "= ng.sub $e, %one : T, f32 -> T"],
    &["$o = ng.add @, %big : T, f32 -> T", "= ng.log $o"],
    &["$n = ng.neg @", "$e = ng.exp $n", "$d = ng.add $e, %one : T, f32 -> T", "= ng.reciprocal $d"],
    &["$s = ng.sub @, #", "$q = ng.mul $s, $s", "= ng.sqrt $q"],
    &[
        "$e = ng.exp @",
        "$z = sum $e",
        "$l = ng.log $z : tensor<2x1xf32>",
        "= ng.sub @, $l : T, tensor<2x1xf32> -> T",
    ],
    &["$q = ng.mul @, @", "$r = ng.mul #, #", "= ng.sub $q, $r"],
    &["= ng.mul @, #"],
    &["= ng.add @, #"],
    &["= ng.tanh @"],
];

/// A function of at most `most` idioms, each on values before it, of two arguments in the given ranges.
pub fn draw(r: &mut Random, ranges: [(f64, f64); 2], most: usize) -> String {
    draw_of(r, ranges, most, IDIOMS)
}

/// As [`draw`], of these idioms alone.
pub fn draw_of(r: &mut Random, ranges: [(f64, f64); 2], most: usize, idioms: &[&[&str]]) -> String {
    let tensor = format!("tensor<{}x{}xf32>", SHAPE[0], SHAPE[1]);
    let mut text = format!(
        "func.func @f(%x: {tensor} {{ng.range = [{:?}, {:?}]}}, %y: {tensor} {{ng.range = [{:?}, {:?}]}}) -> {tensor} {{\n\
         %one = ng.constant 1.0 : f32\n%big = ng.constant 30.0 : f32\n",
        ranges[0].0, ranges[0].1, ranges[1].0, ranges[1].1
    );
    let mut values = vec!["%x".to_string(), "%y".to_string()];
    for n in 0..1 + r.below(most) {
        let lines = idioms[r.below(idioms.len())];
        let (a, b) = (values[r.below(values.len())].clone(), values[r.below(values.len())].clone());
        for line in lines {
            let line = match line.strip_prefix("= ") {
                Some(end) => format!("%r{n} = {end}"),
                None => line.to_string(),
            };
            let line = line.replace('$', &format!("%v{n}")).replace('@', &a).replace('#', &b);
            let line = match line.split_once(" = sum ") {
                Some((to, from)) => format!(
                    "{to} = ng.reduce_sum {from} {{axes = [1], keepdims = true}} : {tensor} -> tensor<2x1xf32>"
                ),
                None if line.contains(" : ") => line.replace("T", &tensor).replace("Tensor", "tensor"),
                None => format!("{line} : {tensor}"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        values.push(format!("%r{n}"));
    }
    text.push_str(&format!("func.return {} : {tensor}\n}}\n", values[values.len() - 1]));
    text
}

/// An argument of such a function.
pub fn sample(r: &mut Random, (lo, hi): (f64, f64)) -> Tensor {
    let values = (0..SHAPE[0] * SHAPE[1]).map(|_| Format::F32.round(r.uniform(lo, hi))).collect();
    Tensor::floats(Format::F32, SHAPE.to_vec(), values).expect("the values fill the shape")
}
