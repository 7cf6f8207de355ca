//! The bound of whole graphs beside the largest error of many samples: a perceptron of four layers, a convolutional
//! network, a transformer block. The table is the second part of docs/sharpness.md.
//!
//! By default 2 000 samples, or 500 where the certificate is fresh, check that no error is above its bound, and that the page states today's bounds;
//! `NGC_GRAPH_SAMPLES=100000 NGC_BLESS=1` writes the page. Errors are those against evaluation in f64.

use std::fmt::Write;
use std::path::Path;

use crate::support::evidence;
use crate::support::networks::Net;
use ngc_interp::Interpreter;
use ngc_ir::{Attr, AttrDict, Context, Value};
use ngc_numerics::{Enclosure, Evaluator, Format, Mode, Tensor};
use ngc_passes::analysis::error::Errors;
use ngc_passes::digits::up;

/// Samples that are evaluated together.
const BATCH: usize = 500;
const SAMPLES: usize = 2_000;

fn perceptron(net: &mut Net<'_>, x: Value) -> Value {
    let mut x = x;
    for (from, to) in [(16, 32), (32, 32), (32, 32)] {
        let y = net.linear(x, from, to);
        x = net.op("ng.relu", &[y], AttrDict::EMPTY);
    }
    net.linear(x, 32, 8)
}

fn convolutional(net: &mut Net<'_>, x: Value) -> Value {
    let pads = || Attr::Array([Attr::ints([1, 1]), Attr::ints([1, 1])].into_iter().collect());
    let mut x = x;
    for (from, to) in [(1usize, 4usize), (4, 8)] {
        let w = net.weights(&[to, from, 3, 3], (6.0 / (9 * (from + to)) as f64).sqrt());
        let y = net.op("ng.conv", &[x, w], [("pads", pads())]);
        let y = net.op("ng.relu", &[y], AttrDict::EMPTY);
        let window = [("kernel", Attr::ints([2, 2])), ("strides", Attr::ints([2, 2]))];
        x = net.op("ng.max_pool", &[y], window);
    }
    let x = net.op("ng.global_avg_pool", &[x], AttrDict::EMPTY);
    let x = net.op("ng.reshape", &[x], [("shape", Attr::ints([BATCH as i64, 8]))]);
    net.linear(x, 8, 4)
}

fn transformer(net: &mut Net<'_>, x: Value) -> Value {
    let normal = net.op("ng.layer_norm", &[x], [("epsilon", Attr::float(1e-3))]);
    let [q, k, v] = [0; 3].map(|_| net.linear(normal, 16, 16));
    let attended = net.op("ng.attention", &[q, k, v], AttrDict::EMPTY);
    let projected = net.linear(attended, 16, 16);
    let x = net.op("ng.add", &[x, projected], AttrDict::EMPTY);
    let normal = net.op("ng.layer_norm", &[x], [("epsilon", Attr::float(1e-3))]);
    let wide = net.linear(normal, 16, 32);
    let wide = net.op("ng.gelu", &[wide], AttrDict::EMPTY);
    let narrow = net.linear(wide, 32, 16);
    net.op("ng.add", &[x, narrow], AttrDict::EMPTY)
}

type Make = fn(&mut Net<'_>, Value) -> Value;

/// Name, shape of the input, its range, and the graph.
type Named = (&'static str, &'static [usize], (f64, f64), Make);

const GRAPHS: [Named; 3] = [
    ("perceptron of 4 layers, 16 inputs in [-1, 1]", &[BATCH, 16], (-1.0, 1.0), perceptron),
    ("convolutional network, 8x8 inputs in [0, 1]", &[BATCH, 1, 8, 8], (0.0, 1.0), convolutional),
    ("transformer block, 8 tokens of 16 in [-1, 1]", &[BATCH, 8, 16], (-1.0, 1.0), transformer),
];

struct Row {
    name: String,
    bound: f64,
    observed: f64,
}

fn measure(context: &Context, samples: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, shape, (lo, hi), make) in GRAPHS {
        for format in [Format::F32, Format::F16] {
            let (mut net, x) = Net::new(context, format, 3003, shape);
            let y = make(&mut net, x);
            let mut r = net.r.clone();
            let bound = Errors::of_body(&net.body, &[Enclosure::new(lo, hi)], 0).absolute(y);
            let module = net.module(y, (lo, hi));
            let mut observed = 0.0f64;
            for batch in 0..samples.div_ceil(BATCH) {
                let count = shape.iter().product();
                // A quarter are corners of the box.
                let data = (0..count).map(|_| match batch % 4 {
                    0 => r.pick(&[lo, hi]),
                    _ => format.round(r.uniform(lo, hi)),
                });
                let input = Tensor::floats(format, shape.to_vec(), data.collect()).expect("fits");
                let run = |mode| {
                    let run = Interpreter::new(context, &module, Evaluator::new(mode));
                    run.call("f", std::slice::from_ref(&input)).expect("evaluates")[0].to_f64s()
                };
                let (computed, exact) = (run(Mode::Rounded), run(Mode::Uniform(Format::F64)));
                for (c, e) in computed.iter().zip(exact) {
                    assert!(c.is_finite(), "{name} leaves {}", format.name());
                    observed = observed.max((c - e).abs());
                }
            }
            rows.push(Row { name: format!("{name} | {}", format.name()), bound, observed });
        }
    }
    rows
}

fn shown(bound: f64) -> String {
    up(bound, |x| format!("{x:.2e}"))
}

const TITLE: &str = "\n## Whole graphs\n";
const COMMAND: &str = "NGC_GRAPH_SAMPLES=100000 NGC_BLESS=1 cargo test -p ngc-passes --test all graph_bounds";

#[test]
fn no_sample_of_a_graph_is_above_the_bound() {
    let asked = std::env::var("NGC_GRAPH_SAMPLES").ok().and_then(|n| n.parse().ok());
    let samples = asked.unwrap_or(if evidence::whole("boundaries") { SAMPLES } else { BATCH });
    let rows = measure(&ngc_dialects::context(), samples);
    for Row { name, bound, observed } in &rows {
        println!("{name} | {} | {observed:.2e} | {:.1}", shown(*bound), bound / observed);
        assert!(observed <= bound, "{name}: {observed:e} is above {bound:e}");
    }
    println!("certificate: {samples} samples of {} graphs are within their bounds", rows.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sharpness.md");
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("NGC_BLESS").is_some() {
        let mut table = format!(
            "{TITLE}\nRandom constant weights, biases in [-0.1, 0.1], every step in the format of the row. The largest error of \
             {samples} samples,\na quarter of them corners of the box of inputs, against f64. Renewed by `{COMMAND}`.\n\n\
             | graph | format | bound | observed | ratio |\n|---|---|---|---|---|\n"
        );
        for Row { name, bound, observed } in &rows {
            let _ =
                writeln!(table, "| {name} | {} | {observed:.2e} | {:.1} |", shown(*bound), bound / observed);
        }
        let first = page.split(TITLE).next().unwrap_or_default();
        std::fs::write(&path, format!("{first}{table}")).expect("the page can be written");
        return;
    }
    for Row { name, bound, .. } in &rows {
        let stated = format!("| {name} | {} |", shown(*bound));
        assert!(page.contains(&stated), "docs/sharpness.md does not have {stated}; `{COMMAND}` renews it");
    }
}
