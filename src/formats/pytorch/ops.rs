//! Expressions of PyTorch that mean what an op means.

use ngc_ir::Attr;
use ngc_numerics::Format;

use super::{dtype, float};
use crate::error::{Result, unsupported};
use crate::step::{Step, is_narrow};

/// The expression of an op of these operands; of several results a tuple. Nothing: the op is written by its definition.
pub(super) fn expression(s: &Step, x: &[String]) -> Result<Option<String>> {
    let a = |i: usize| x.get(i).map_or("None", String::as_str);
    let sig = s.signature();
    let number = |name: &str| float(sig.float(name).unwrap_or_default());
    let axis = |name: &str| sig.int(name).unwrap_or(-1);
    let ints = |name: &str| sig.ints(name).unwrap_or_default();
    let integer = s.elem(0).is_some_and(|e| !e.is_float());
    if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == s.def.name) {
        return Ok(Some(format!("torch.{function}({})", x.join(", "))));
    }
    Ok(Some(match s.def.name {
        // Arithmetic.
        "ng.add" => format!("{} + {}", a(0), a(1)),
        "ng.sub" => format!("{} - {}", a(0), a(1)),
        "ng.mul" => format!("{} * {}", a(0), a(1)),
        "ng.div" if integer => format!("torch.div({}, {}, rounding_mode=\"trunc\")", a(0), a(1)),
        "ng.div" => format!("{} / {}", a(0), a(1)),
        "ng.neg" => format!("-{}", a(0)),
        "ng.clamp" => format!("torch.minimum(torch.maximum({}, {}), {})", a(0), a(1), a(2)),
        "ng.cbrt" => format!("torch.sign({0}) * torch.abs({0}).pow(1 / 3)", a(0)),
        "ng.fma" => match s.format() {
            Some(Format::F64) | None => return unsupported("PyTorch has no fused multiply-add of f64"),
            _ => format!(
                "({}.double() * {}.double() + {}.double()).to({})",
                a(0),
                a(1),
                a(2),
                dtype(s.result_types[0])?
            ),
        },
        "ng.convert" => {
            let wide = if s.format().is_some_and(is_narrow) { ".float()" } else { "" };
            let x = match s.ends {
                Some((low, high)) => format!("torch.clamp({}{wide}, {low:?}, {high:?})", a(0)),
                None => a(0).to_string(),
            };
            format!("{x}.to({})", dtype(s.result_types[0])?)
        }
        // Activations.
        "ng.softplus" => format!("torch.logaddexp({0}, torch.zeros_like({0}))", a(0)),
        "ng.log_sigmoid" => format!("F.logsigmoid({})", a(0)),
        "ng.leaky_relu" => format!("F.leaky_relu({}, {})", a(0), number("alpha")),
        "ng.prelu" => format!("torch.where({0} >= 0, {0}, {1} * {0})", a(0), a(1)),
        "ng.elu" => format!("F.elu({}, {})", a(0), number("alpha")),
        // One kernel, which rounds a narrow format once.
        "ng.selu" => format!("torch.ops.aten.elu({}, {}, {})", a(0), number("alpha"), number("gamma")),
        "ng.gelu" => {
            format!("F.gelu({}, approximate=\"{}\")", a(0), sig.string("approximate").unwrap_or("none"))
        }
        "ng.silu" => format!("F.silu({})", a(0)),
        "ng.mish" => format!("F.mish({})", a(0)),
        "ng.hardswish" => format!("F.hardswish({})", a(0)),
        "ng.hardsigmoid" => {
            format!("torch.clamp({} * {} + {}, 0, 1)", number("alpha"), a(0), number("beta"))
        }
        "ng.softsign" => format!("F.softsign({})", a(0)),
        "ng.compare" => {
            let relation = match sig.string("direction") {
                Some("EQ") => "==",
                Some("NE") => "!=",
                Some("LT") => "<",
                Some("LE") => "<=",
                Some("GT") => ">",
                _ => ">=",
            };
            format!("{} {relation} {}", a(0), a(1))
        }
        // Reductions.
        "ng.reduce_sum" | "ng.reduce_mean" | "ng.reduce_max" | "ng.reduce_min" | "ng.logsumexp"
        | "ng.reduce_prod" => reduction(s, a(0))?,
        "ng.variance" if axes(s).is_empty() => return Ok(None),
        "ng.variance" => format!(
            "torch.var({}, dim={:?}, correction={}, keepdim={})",
            a(0),
            axes(s),
            sig.int("correction").unwrap_or(0),
            truth(sig.flag("keepdims"))
        ),
        "ng.argmax" | "ng.argmin" => {
            let (function, keep) = (s.def.short_name(), truth(sig.flag("keepdims")));
            let axis = axis("axis");
            match sig.flag("select_last_index") {
                false => format!("torch.{function}({}, dim={axis}, keepdim={keep})", a(0)),
                true => format!(
                    "{0}.shape[{axis}] - 1 - torch.{function}(torch.flip({0}, [{axis}]), dim={axis}, keepdim={keep})",
                    a(0)
                ),
            }
        }
        "ng.softmax" | "ng.log_softmax" => {
            let (function, axis) = (s.def.short_name(), axis("axis"));
            let plain = format!("torch.{function}({}, dim={axis})", a(0));
            match (sig.string("masked_rows"), function) {
                (Some("zero"), "softmax") => masked(a(0), axis, "0.0", &plain),
                (Some("zero"), _) => masked(a(0), axis, "float(\"-inf\")", &plain),
                _ => plain,
            }
        }
        "ng.cross_entropy" | "ng.nll" => {
            let indices = s.elem(1).is_some_and(|e| !e.is_float());
            if !indices || s.axis(sig.int("axis").unwrap_or(1), s.rank(0)) != 1 {
                return Ok(None);
            }
            let function = if s.def.name == "ng.nll" { "nll_loss" } else { "cross_entropy" };
            format!(
                "F.{function}({}, {}.long(), weight={}, ignore_index={}, reduction=\"{}\")",
                a(0),
                a(1),
                a(2),
                sig.int("ignore_index").unwrap_or(-100),
                sig.string("reduction").unwrap_or("mean")
            )
        }
        // Normalisation.
        "ng.layer_norm" | "ng.rms_norm" => {
            let first = s.axis(axis("axis"), s.rank(0)) as usize;
            let normalised = s.shape(0).get(first..).unwrap_or(&[]);
            let shape: Option<Vec<usize>> = normalised.iter().map(|d| d.known()).collect();
            let fits = (1..x.len()).all(|i| s.shape(i) == normalised && s.elem(i) == s.elem(0));
            let Some(shape) = shape.filter(|_| fits) else { return Ok(None) };
            let weights =
                if s.def.name == "ng.layer_norm" { format!("{}, {}", a(1), a(2)) } else { a(1).into() };
            format!("F.{}({}, {shape:?}, {weights}, {})", s.def.short_name(), a(0), number("epsilon"))
        }
        "ng.group_norm" if s.rank(0) > 2 => format!(
            "F.group_norm({}, {}, {}, {}, {})",
            a(0),
            sig.int("num_groups").unwrap_or(1),
            a(1),
            a(2),
            number("epsilon")
        ),
        "ng.batch_norm" => format!(
            "F.batch_norm({}, {}, {}, {}, {}, eps={})",
            a(0),
            a(3),
            a(4),
            a(1),
            a(2),
            number("epsilon")
        ),
        // Contractions.
        "ng.affine" => {
            let plain = sig.float("alpha") == Some(1.0) && sig.float("beta") == Some(1.0);
            let weights = sig.flag("transpose_w") && !sig.flag("transpose_x") && s.rank(1) == 2;
            if !plain || !weights || (x.len() > 2 && s.rank(2) != 1) {
                return Ok(None);
            }
            format!("F.linear({}, {}, {})", a(0), a(1), a(2))
        }
        "ng.conv" => {
            let n = s.rank(0).saturating_sub(2);
            if !(1..=3).contains(&n) {
                return unsupported(format!("PyTorch has no convolution over {n} dimensions"));
            }
            let (input, padding) = padded(s, a(0), n, "0.0");
            format!(
                "F.conv{n}d({input}, {}, {}, stride={:?}, padding={padding:?}, dilation={:?}, groups={})",
                a(1),
                a(2),
                steps(s, "strides", n),
                steps(s, "dilations", n),
                sig.int("groups").unwrap_or(1)
            )
        }
        "ng.max_pool" | "ng.avg_pool" => return pool(s, a(0)),
        "ng.adaptive_max_pool" | "ng.adaptive_avg_pool" => {
            let sizes = ints("output_size");
            let n = sizes.len();
            if !(1..=3).contains(&n) || integer || !(n + 1..=n + 2).contains(&s.rank(0)) {
                return unsupported(format!("PyTorch has no such windows of {}", s.types[0]));
            }
            format!("F.{}{n}d({}, {sizes:?})", s.def.short_name(), a(0))
        }
        "ng.attention" => {
            let plain = (0..3).all(|i| s.rank(i) == 4) && sig.string("masked_rows") != Some("zero");
            if !plain || (sig.flag("causal") && x.len() > 3) {
                return Ok(None);
            }
            let scale = sig.attr("scale").map_or("None".into(), |_| number("scale"));
            format!(
                "F.scaled_dot_product_attention({}, {}, {}, {}, is_causal={}, scale={scale}, enable_gqa={})",
                a(0),
                a(1),
                a(2),
                a(3),
                truth(sig.flag("causal")),
                truth(s.shape(0).get(1) != s.shape(1).get(1))
            )
        }
        // Shape.
        "ng.reshape" => {
            let copies = sig.flag("copy_zeros");
            let extents = ints("shape").into_iter().enumerate().map(|(i, n)| match n {
                0 if copies => format!("{}.shape[{i}]", a(0)),
                n => n.to_string(),
            });
            format!("{}.reshape([{}])", a(0), extents.collect::<Vec<_>>().join(", "))
        }
        "ng.transpose" => format!("{}.permute({:?})", a(0), ints("permutation")),
        "ng.broadcast_to" => format!("{}.expand({:?})", a(0), ints("shape")),
        "ng.squeeze" => format!("torch.squeeze({}, {})", a(0), tuple(&ints("axes"))),
        "ng.unsqueeze" => {
            let rank = s.result_types[0].shape().map_or(0, <[_]>::len);
            let mut places: Vec<i64> = ints("axes").into_iter().map(|at| s.axis(at, rank)).collect();
            places.sort_unstable();
            places.iter().fold(a(0).to_string(), |value, at| format!("{value}.unsqueeze({at})"))
        }
        "ng.flatten" => {
            let at = s.axis(sig.int("axis").unwrap_or(1), s.rank(0)) as usize;
            let product = |range: std::ops::Range<usize>| match range.is_empty() {
                true => "1".to_string(),
                false => range.map(|i| format!("{}.shape[{i}]", a(0))).collect::<Vec<_>>().join(" * "),
            };
            format!("{}.reshape([{}, {}])", a(0), product(0..at), product(at..s.rank(0)))
        }
        "ng.shape_of" => format!("torch.tensor({}.shape, dtype=torch.int64)", a(0)),
        "ng.concat" => format!("torch.cat([{}], dim={})", x.join(", "), sig.int("axis").unwrap_or_default()),
        "ng.split" => {
            let unpack = if s.results.len() == 1 { "[0]" } else { "" };
            format!("torch.split({}, {:?}, dim={}){unpack}", a(0), ints("sizes"), axis("axis"))
        }
        "ng.slice" => return slice(s, a(0)),
        "ng.pad" => return pad(s, a(0)),
        "ng.reverse" => format!("torch.flip({}, {:?})", a(0), ints("axes")),
        "ng.tile" => format!("{}.repeat({:?})", a(0), ints("repeats")),
        "ng.tril" | "ng.triu" => {
            format!("torch.{}({}, {})", s.def.short_name(), a(0), sig.int("k").unwrap_or_default())
        }
        // Indexing.
        "ng.gather" => {
            let at = s.axis(sig.int("axis").unwrap_or_default(), s.rank(0));
            format!("{}[{}{}.long()]", a(0), ":, ".repeat(at as usize), a(1))
        }
        "ng.gather_elements" => {
            let at = sig.int("axis").unwrap_or_default();
            format!("torch.gather({}, {at}, {})", a(0), wrapped(a(1), &format!("{}.shape[{at}]", a(0))))
        }
        "ng.gather_nd" => {
            let batch = sig.int("batch_dims").unwrap_or_default() as usize;
            let rank = s.rank(1);
            let places = (0..batch).map(|i| {
                let shape: Vec<i64> = (0..rank - 1).map(|d| if d == i { -1 } else { 1 }).collect();
                format!("torch.arange({0}.shape[{i}], device={0}.device).reshape({shape:?}), ", a(0))
            });
            format!("{}[({}*{}.long().unbind(-1),)]", a(0), places.collect::<String>(), a(1))
        }
        "ng.one_hot" => {
            let Some(depth) = sig.int("depth") else { return Ok(None) };
            let ty = dtype(s.result_types[0])?;
            let rank = s.result_types[0].shape().map_or(0, <[_]>::len);
            let at = s.axis(axis("axis"), rank);
            let shape: Vec<i64> = (0..rank as i64).map(|d| if d == at { -1 } else { 1 }).collect();
            format!(
                "torch.where({}.unsqueeze({at}) == torch.arange({depth}, device={}.device).reshape({shape:?}), \
                 torch.tensor({}, dtype={ty}), torch.tensor({}, dtype={ty}))",
                wrapped(a(0), &depth.to_string()),
                a(0),
                number("on"),
                number("off")
            )
        }
        "ng.scatter_elements" => {
            let at = sig.int("axis").unwrap_or_default();
            let indices = wrapped(a(1), &format!("{}.shape[{at}]", a(0)));
            match sig.string("reduction") {
                Some("add") => scattered(a(0), at, &indices, a(2), "sum"),
                Some("mul") => scattered(a(0), at, &indices, a(2), "prod"),
                Some("max") => scattered(a(0), at, &indices, a(2), "amax"),
                Some("min") => scattered(a(0), at, &indices, a(2), "amin"),
                _ => format!("{}.scatter({at}, {indices}, {})", a(0), a(2)),
            }
        }
        "ng.scatter_nd" => {
            let accumulate = match sig.string("reduction") {
                Some("none") => "False",
                Some("add") => "True",
                Some(other) => {
                    return unsupported(format!("PyTorch has no scattering of slices by '{other}'"));
                }
                None => return Ok(None),
            };
            format!(
                "{}.index_put(tuple({}.long().unbind(-1)), {}, accumulate={accumulate})",
                a(0),
                a(1),
                a(2)
            )
        }
        "ng.cumsum" | "ng.cumprod" => scan(s, a(0)),
        "ng.iota" | "ng.range" => return counter(s),
        "ng.sort" => format!(
            "torch.sort({}, dim={}, descending={}, stable=True)",
            a(0),
            axis("axis"),
            truth(sig.flag("descending"))
        ),
        "ng.topk" => {
            // torch.topk promises nothing of the order of equal elements.
            let (at, k) = (axis("axis"), sig.int("k").unwrap_or_default());
            let largest = truth(sig.flag("largest"));
            let top = format!(
                "(t.narrow({at}, 0, {k}) for t in torch.sort({}, dim={at}, descending={largest}, stable=True))",
                a(0)
            );
            match sig.flag("sorted") {
                true => top,
                false => format!(
                    "(lambda i: (torch.gather({0}, {at}, i), i))(torch.sort([*{top}][1], dim={at})[0])",
                    a(0)
                ),
            }
        }
        _ => return Ok(None),
    }))
}

/// Ops that are functions of their operands alone.
const FUNCTIONS: &[(&str, &str)] = &[
    ("ng.abs", "abs"),
    ("ng.acos", "acos"),
    ("ng.acosh", "acosh"),
    ("ng.and", "logical_and"),
    ("ng.asin", "asin"),
    ("ng.asinh", "asinh"),
    ("ng.atan", "atan"),
    ("ng.atan2", "atan2"),
    ("ng.atanh", "atanh"),
    ("ng.ceil", "ceil"),
    ("ng.cos", "cos"),
    ("ng.cosh", "cosh"),
    ("ng.digamma", "digamma"),
    ("ng.erf", "erf"),
    ("ng.erfc", "erfc"),
    ("ng.exp", "exp"),
    ("ng.exp2", "exp2"),
    ("ng.expm1", "expm1"),
    ("ng.floor", "floor"),
    ("ng.hypot", "hypot"),
    ("ng.is_finite", "isfinite"),
    ("ng.is_inf", "isinf"),
    ("ng.is_nan", "isnan"),
    ("ng.lgamma", "lgamma"),
    ("ng.log", "log"),
    ("ng.log10", "log10"),
    ("ng.log1p", "log1p"),
    ("ng.log2", "log2"),
    ("ng.logaddexp", "logaddexp"),
    ("ng.matmul", "matmul"),
    ("ng.max", "maximum"),
    ("ng.min", "minimum"),
    ("ng.not", "logical_not"),
    ("ng.or", "logical_or"),
    ("ng.pow", "pow"),
    ("ng.reciprocal", "reciprocal"),
    ("ng.relu", "relu"),
    ("ng.rem", "fmod"),
    ("ng.round", "round"),
    ("ng.rsqrt", "rsqrt"),
    ("ng.select", "where"),
    ("ng.sigmoid", "sigmoid"),
    ("ng.sign", "sign"),
    ("ng.sin", "sin"),
    ("ng.sinh", "sinh"),
    ("ng.sqrt", "sqrt"),
    ("ng.square", "square"),
    ("ng.tan", "tan"),
    ("ng.tanh", "tanh"),
    ("ng.where", "where"),
    ("ng.xlogy", "xlogy"),
    ("ng.xor", "logical_xor"),
];

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn tuple(values: &[i64]) -> String {
    format!("({})", values.iter().map(|v| format!("{v},")).collect::<String>())
}

/// The axes of a reduction, all if none are given.
fn axes(s: &Step) -> Vec<i64> {
    s.signature().ints("axes").unwrap_or_else(|| (0..s.rank(0) as i64).collect())
}

fn reduction(s: &Step, x: &str) -> Result<String> {
    let (axes, keep) = (axes(s), truth(s.signature().flag("keepdims")));
    if axes.is_empty() {
        // Nothing to reduce; the logarithm of one exponential is its exponent.
        return Ok(x.to_string());
    }
    let ty = dtype(s.result_types[0])?;
    Ok(match s.def.name {
        "ng.reduce_sum" => format!("torch.sum({x}, dim={axes:?}, keepdim={keep}, dtype={ty})"),
        "ng.reduce_mean" => format!("torch.mean({x}, dim={axes:?}, keepdim={keep})"),
        "ng.reduce_max" => format!("torch.amax({x}, dim={axes:?}, keepdim={keep})"),
        "ng.reduce_min" => format!("torch.amin({x}, dim={axes:?}, keepdim={keep})"),
        "ng.logsumexp" => format!("torch.logsumexp({x}, dim={axes:?}, keepdim={keep})"),
        _ => {
            // One after the other, the last one first so that the others keep their places.
            let mut order: Vec<i64> = axes.iter().map(|&at| s.axis(at, s.rank(0))).collect();
            order.sort_unstable();
            order.iter().rev().fold(x.to_string(), |value, at| {
                format!("torch.prod({value}, dim={at}, keepdim={keep}, dtype={ty})")
            })
        }
    })
}

/// The value, or another in rows that are -inf throughout.
fn masked(x: &str, axis: i64, other: &str, plain: &str) -> String {
    format!("torch.where(torch.amax({x}, dim={axis}, keepdim=True) == float(\"-inf\"), {other}, {plain})")
}

fn steps(s: &Step, name: &str, n: usize) -> Vec<i64> {
    s.signature().ints(name).unwrap_or_else(|| vec![1; n])
}

fn pads(s: &Step, n: usize) -> Vec<Vec<i64>> {
    let pads = s.signature().attr("pads").and_then(Attr::as_array).unwrap_or(&[]);
    let pads: Vec<Vec<i64>> = pads.iter().filter_map(Attr::as_ints).collect();
    if pads.len() == n { pads } else { vec![vec![0, 0]; n] }
}

/// The input, padded itself where both ends differ, and the padding that is left to the function.
fn padded(s: &Step, x: &str, n: usize, value: &str) -> (String, Vec<i64>) {
    let pads = pads(s, n);
    if pads.iter().all(|p| p[0] == p[1] && p[0] >= 0) {
        return (x.to_string(), pads.iter().map(|p| p[0]).collect());
    }
    // PyTorch lists the last dimension first.
    let flat: Vec<i64> = pads.iter().rev().flatten().copied().collect();
    (format!("F.pad({x}, {flat:?}, value={value})"), vec![0; n])
}

fn pool(s: &Step, x: &str) -> Result<Option<String>> {
    let kernel = s.signature().ints("kernel").unwrap_or_default();
    let n = kernel.len();
    let ceil = s.signature().flag("ceil_mode");
    let even = pads(s, n).iter().zip(&kernel).all(|(p, k)| p[0] == p[1] && p[0] >= 0 && 2 * p[0] <= *k);
    let rank = (n + 1..=n + 2).contains(&s.rank(0));
    if !(1..=3).contains(&n) || !rank || s.format().is_none() || (ceil && !even) {
        return unsupported(format!("PyTorch has no such windows of {}", s.types[0]));
    }
    let strides = steps(s, "strides", n);
    if s.def.name == "ng.max_pool" {
        let (input, padding) = match even {
            true => (x.to_string(), pads(s, n).iter().map(|p| p[0]).collect()),
            false => (forced(s, x, n, "float(\"-inf\")"), vec![0; n]),
        };
        let dilations = steps(s, "dilations", n);
        return Ok(Some(format!(
            "F.max_pool{n}d({input}, {kernel:?}, {strides:?}, {padding:?}, {dilations:?}, ceil_mode={})",
            truth(ceil)
        )));
    }
    let included = s.signature().flag("count_include_pad");
    let (input, padding) = match (even, included) {
        (true, _) => (x.to_string(), pads(s, n).iter().map(|p| p[0]).collect()),
        (false, true) => (forced(s, x, n, "0.0"), vec![0; n]),
        (false, false) => {
            // The share of each window that is no padding divides its mean.
            let mean = |input: String| format!("F.avg_pool{n}d({input}, {kernel:?}, {strides:?})");
            let ones = forced(s, &format!("torch.ones_like({x})"), n, "0.0");
            return Ok(Some(format!("{} / {}", mean(forced(s, x, n, "0.0")), mean(ones))));
        }
    };
    let included = truth(included);
    Ok(Some(format!(
        "F.avg_pool{n}d({input}, {kernel:?}, {strides:?}, {padding:?}, ceil_mode={}, count_include_pad={included})",
        truth(ceil)
    )))
}

/// The input with its padding in place.
fn forced(s: &Step, x: &str, n: usize, value: &str) -> String {
    let flat: Vec<i64> = pads(s, n).iter().rev().flatten().copied().collect();
    format!("F.pad({x}, {flat:?}, value={value})")
}

/// PyTorch slices forwards only; backwards it picks by index.
fn slice(s: &Step, x: &str) -> Result<Option<String>> {
    let get = |name: &str| s.signature().ints(name);
    let (starts, stops) = (get("starts").unwrap_or_default(), get("stops").unwrap_or_default());
    let axes = get("axes").unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = get("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let mut ranges = vec![":".to_string(); s.rank(0)];
    let mut value = x.to_string();
    for (i, &axis) in axes.iter().enumerate() {
        let at = s.axis(axis, s.rank(0)) as usize;
        if steps[i] > 0 {
            ranges[at] = format!("{}:{}:{}", starts[i], stops[i], steps[i]);
        } else {
            let range = format!("range({x}.shape[{at}])[{}:{}:{}]", starts[i], stops[i], steps[i]);
            value = format!(
                "{value}.index_select({at}, torch.tensor([*{range}], dtype=torch.int64, device={x}.device))"
            );
        }
    }
    Ok(Some(if ranges.iter().all(|r| r == ":") { value } else { format!("{value}[{}]", ranges.join(", ")) }))
}

/// A constant around everything, or elements picked by index, dimension after dimension.
fn pad(s: &Step, x: &str) -> Result<Option<String>> {
    let get = |name: &str| s.signature().ints(name).unwrap_or_default();
    let (low, high) = (get("low"), get("high"));
    let mode = s.signature().string("mode").unwrap_or("constant");
    if mode == "constant" {
        let flat: Vec<i64> = low.iter().zip(&high).rev().flat_map(|(l, h)| [*l, *h]).collect();
        let value = float(s.signature().float("value").unwrap_or_default());
        return Ok(Some(format!("F.pad({x}, {flat:?}, value={value})")));
    }
    let mut value = x.to_string();
    for (at, (l, h)) in low.iter().zip(&high).enumerate().filter(|(_, (l, h))| **l != 0 || **h != 0) {
        let n = format!("{x}.shape[{at}]");
        let index = match mode {
            "edge" => format!("min(max(i, 0), {n} - 1)"),
            "wrap" => format!("i % {n}"),
            _ => format!("abs((i + {n} - 1) % max(2 * {n} - 2, 1) - {n} + 1)"),
        };
        let picked = format!("[{index} for i in range(-({l}), {n} + {h})]");
        value = format!("{value}.index_select({at}, torch.tensor({picked}, device={x}.device))");
    }
    Ok(Some(value))
}

/// Indices that count from the front.
fn wrapped(indices: &str, extent: &str) -> String {
    format!("torch.where({indices} < 0, {indices} + {extent}, {indices}).long()")
}

fn scattered(x: &str, axis: i64, indices: &str, updates: &str, reduce: &str) -> String {
    format!("{x}.scatter_reduce({axis}, {indices}, {updates}, reduce=\"{reduce}\")")
}

fn scan(s: &Step, x: &str) -> String {
    let (function, axis) =
        (s.def.short_name(), s.axis(s.signature().int("axis").unwrap_or_default(), s.rank(0)));
    let ty = format!("{x}.dtype");
    let reverse = s.signature().flag("reverse");
    let input = if reverse { format!("torch.flip({x}, [{axis}])") } else { x.to_string() };
    let mut value = format!("torch.{function}({input}, dim={axis}, dtype={ty})");
    if s.signature().flag("exclusive") {
        let first = if function == "cumsum" { "zeros_like" } else { "ones_like" };
        value = format!(
            "torch.cat([torch.{first}({x}.narrow({axis}, 0, 1)), {value}.narrow({axis}, 0, {x}.shape[{axis}] - 1)], dim={axis})"
        );
    }
    if reverse { format!("torch.flip({value}, [{axis}])") } else { value }
}

/// Numbers that only the op's attributes say.
fn counter(s: &Step) -> Result<Option<String>> {
    let ty = s.result_types[0];
    let (name, shape) = (dtype(ty)?, ty.static_shape().unwrap_or_default());
    if s.def.name == "ng.iota" {
        let axis = s.axis(s.signature().int("axis").unwrap_or_default(), shape.len()) as usize;
        let Some(&n) = shape.get(axis) else { return Ok(None) };
        let along: Vec<i64> = (0..shape.len()).map(|d| if d == axis { -1 } else { 1 }).collect();
        return Ok(Some(format!("torch.arange({n}).to({name}).reshape({along:?}).expand({shape:?})")));
    }
    let get = |name: &str| float(s.signature().float(name).unwrap_or_default());
    let n = shape.first().copied().unwrap_or_default();
    let whole = ty.elem().is_some_and(|elem| !elem.is_float());
    let start = if s.signature().attr("start").is_some() { get("start") } else { "0.0".into() };
    let delta = if s.signature().attr("delta").is_some() { get("delta") } else { "1.0".into() };
    let numbers = format!("torch.arange({n}, dtype=torch.float64) * {delta} + {start}");
    let rounded = if whole { format!("torch.round({numbers})") } else { format!("({numbers})") };
    Ok(Some(format!("{rounded}.to({name})")))
}
