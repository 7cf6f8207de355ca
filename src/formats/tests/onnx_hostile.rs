//! ONNX files from strangers: what would lead out of the folder, fill the memory or never end is refused, and no damage
//! makes the reader panic.

use std::path::Path;

use crate::support::*;
use ngc_formats::FormatError;
use ngc_formats::onnx::proto::*;
use ngc_formats::onnx::{ImportOptions, import};
use ngc_ir::verifier::verify;
use prost::Message;

/// A model with the initializers w0, w1 ... of 4 floats each in this file, at these offsets.
fn external(location: &str, offsets: &[u64]) -> ModelProto {
    let tensor = |(i, offset): (usize, &u64)| TensorProto {
        name: Some(format!("w{i}")),
        data_type: Some(1),
        dims: vec![4],
        data_location: Some(1),
        external_data: vec![entry("location", location), entry("offset", &offset.to_string())],
        ..Default::default()
    };
    with_graph(model(vec![node("Mul", &["x", "w0"], &["y"])]), |g| {
        g.initializer = offsets.iter().enumerate().map(tensor).collect();
    })
}

fn read_at(folder: &Path, m: &ModelProto) -> Result<(), String> {
    let options = ImportOptions { directory: Some(folder.to_path_buf()), ..ImportOptions::default() };
    match import(&ngc_dialects::context(), &m.encode_to_vec(), &options) {
        Ok(_) => Ok(()),
        Err(FormatError::Invalid(text)) => Err(text),
        Err(other) => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn external_data_do_not_lead_out_of_the_folder() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("secret"), [0; 64]).unwrap();
    std::fs::write(inside.path().join("w"), [0; 64]).unwrap();
    let link = |from: &Path, name: &str| std::os::unix::fs::symlink(from, inside.path().join(name)).unwrap();
    link(&outside.path().join("secret"), "link");
    link(outside.path(), "folder");
    link(&inside.path().join("w"), "own");
    link(Path::new("loop"), "loop");
    assert_eq!(read_at(inside.path(), &external("own", &[0])), Ok(()));
    for (location, message) in [
        ("link", "it is a link that leads out of the folder"),
        ("folder/secret", "it is a link that leads out of the folder"),
        ("loop", "external data 'loop'"),
        ("../x", "without '..'"),
        ("a/../../x", "without '..'"),
        ("/etc/passwd", "without '..'"),
        ("w/x", "external data 'w/x'"),
        (".", "it is no regular file"),
    ] {
        let error = read_at(inside.path(), &external(location, &[0])).unwrap_err();
        assert!(error.starts_with("initializer 'w0': external data") && error.contains(message), "{error}");
    }
    // Opening a pipe would wait for a writer for ever.
    let made = std::process::Command::new("mkfifo").arg(inside.path().join("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        let error = read_at(inside.path(), &external("pipe", &[0])).unwrap_err();
        assert!(error.contains("it is no regular file"), "{error}");
    }
}

#[test]
fn external_data_take_no_more_memory_than_their_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w"), [1; 32]).unwrap();
    // All that lie in a file share its memory, however they overlap.
    assert_eq!(read_at(folder.path(), &external("w", &[0, 4, 8, 0, 16])), Ok(()));
    let error = read_at(folder.path(), &external("w", &[0, 17])).unwrap_err();
    assert_eq!(error, "initializer 'w1': external data 'w': 16 bytes from 17 on, but the file has 32");
    let huge = with_graph(external("w", &[0]), |g| g.initializer[0].dims = vec![1 << 40]);
    assert!(read_at(folder.path(), &huge).unwrap_err().contains("4398046511104 bytes from 0 on"));
}

#[test]
fn small_files_do_not_make_large_constants() {
    let scales = |values: &[f32]| TensorProto {
        name: Some("s".into()),
        data_type: Some(1),
        dims: vec![values.len() as i64],
        float_data: values.to_vec(),
        ..Default::default()
    };
    let resized = |factor: f32, mode: &str, count: usize| {
        let nodes = (0..count).map(|i| {
            let mut resize =
                node("Resize", &["x", "", "s"], &[&if i == 0 { "y".into() } else { format!("y{i}") }]);
            resize.attribute = vec![AttributeProto {
                name: Some("mode".into()),
                r#type: Some(3),
                s: Some(mode.to_string().into()),
                ..Default::default()
            }];
            resize
        });
        with_graph(model(nodes.collect()), |g| {
            g.input = vec![value("x", 1, &["1", "8"])];
            g.initializer = vec![scales(&[1.0, factor])];
        })
    };
    assert!(read(&resized(2.0, "cubic", 1)).is_ok());
    for factor in [1e9, f32::INFINITY, f32::NAN, -1.0] {
        assert!(unsupported(&resized(factor, "linear", 1)).contains("a dimension resized to"), "{factor}");
    }
    assert!(unsupported(&resized(131072.0, "cubic", 1)).contains("each a sum of"));
    assert!(unsupported(&resized(32768.0, "linear", 100)).contains("lead to constants of more than"));
}

/// A model with all kinds of things in it.
fn varied() -> ModelProto {
    let constant = |name: &str, v: i64| TensorProto { dims: vec![], ..ints(name, &[v]) };
    let with = |mut node: NodeProto, attributes: Vec<AttributeProto>| {
        node.attribute = attributes;
        node
    };
    let info = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
    let inner = |nodes, inputs: &[&str], outputs: &[&str]| GraphProto {
        node: nodes,
        input: inputs.iter().map(|n| info(n)).collect(),
        output: outputs.iter().map(|n| info(n)).collect(),
        ..Default::default()
    };
    let text = |name: &str, s: &str| AttributeProto {
        name: Some(name.into()),
        r#type: Some(3),
        s: Some(s.to_string().into()),
        ..Default::default()
    };
    let body = inner(vec![node("Exp", &["v"], &["w"])], &["i", "go", "v"], &["go", "w", "w"]);
    let branch = |op: &str| inner(vec![node(op, &["l"], &["b"])], &[], &["b"]);
    let step = inner(vec![node("Add", &["s", "e"], &["t"])], &["s", "e"], &["t", "t"]);
    let mut local = node("local", &["k"], &["f"]);
    local.domain = Some("d".into());
    local.metadata_props = vec![entry("pkg.torch.onnx.stack_trace", "File \"a.py\", line 3, in f")];
    let nodes = vec![
        with(node("Loop", &["n", "", "x"], &["l", "rows"]), vec![graph("body", body)]),
        with(
            node("If", &["c"], &["k"]),
            vec![graph("then_branch", branch("Neg")), graph("else_branch", branch("Abs"))],
        ),
        local,
        with(
            node("Scan", &["s0", "f"], &["s1", "sums"]),
            vec![graph("body", step), int("num_scan_inputs", 1)],
        ),
        with(node("Einsum", &["sums", "f"], &["e"]), vec![text("equation", "ij,kj->ik")]),
        with(node("Resize", &["e", "", "scale"], &["r"]), vec![text("mode", "linear")]),
        with(node("LSTM", &["q", "lw", "lr"], &["o", "oh"]), vec![int("hidden_size", 2)]),
        node("Softmax", &["r"], &["y"]),
    ];
    let floats = |name: &str, dims: &[i64]| TensorProto {
        name: Some(name.into()),
        data_type: Some(1),
        dims: dims.to_vec(),
        float_data: vec![1.5; dims.iter().product::<i64>() as usize],
        ..Default::default()
    };
    let mut m = with_graph(model(nodes), |g| {
        g.input = vec![value("x", 1, &["3", "4"]), value("c", 9, &[]), value("q", 1, &["3", "1", "2"])];
        g.initializer = vec![
            constant("n", 2),
            floats("s0", &[4]),
            floats("scale", &[2]),
            floats("lw", &[1, 8, 2]),
            floats("lr", &[1, 8, 2]),
        ];
        g.output.push(ValueInfoProto { name: Some("o".into()), ..Default::default() });
    });
    m.functions = vec![FunctionProto {
        name: Some("local".into()),
        domain: Some("d".into()),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: vec![node("Tanh", &["a"], &["b"])],
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(20) }],
        ..Default::default()
    }];
    m
}

/// Numbers that follow from a seed: xorshift.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn no_mutation_of_a_model_makes_the_reader_panic() {
    let context = ngc_dialects::context();
    let options = ImportOptions::default();
    let whole = varied().encode_to_vec();
    let module = import(&context, &whole, &options).unwrap();
    verify(&context, &module).unwrap();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut refused) = (0, 0);
    // NGC_MUTATIONS asks for more.
    let rounds = std::env::var("NGC_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    for _ in 0..rounds {
        let mut bytes = whole.clone();
        for _ in 0..1 + numbers.below(3) {
            let at = numbers.below(bytes.len());
            match numbers.below(6) {
                0 => bytes[at] ^= 1 << numbers.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)],
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, bytes[at]),
                4 => bytes[at] = bytes[at].wrapping_add(1),
                // A piece of the file elsewhere in it.
                _ => {
                    let (from, n) = (numbers.below(bytes.len()), numbers.below(24));
                    let piece: Vec<u8> = bytes[from..].iter().copied().take(n).collect();
                    bytes.splice(at..at, piece);
                }
            }
        }
        match import(&context, &bytes, &options) {
            Ok(module) => {
                verify(&context, &module).unwrap();
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    // Both happen often, or the test would not reach what it is for.
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn what_made_the_reader_panic_once_is_refused() {
    let context = ngc_dialects::context();
    let mut count = 0;
    for entry in std::fs::read_dir(format!("{}/../../testdata/hostile", env!("CARGO_MANIFEST_DIR"))).unwrap()
    {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "onnx") {
            let bytes = std::fs::read(&path).unwrap();
            assert!(import(&context, &bytes, &ImportOptions::default()).is_err(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 0);
}
