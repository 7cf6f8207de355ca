//! PyTorch archives that are wrong, hostile, or more than ngc reads; and what an import keeps.

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;

use ngc_formats::FormatError;
use ngc_formats::pt2::{ImportOptions, import};
use ngc_ir::text::{PrintOptions, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Body, Module};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The files of an archive by name, without its folder.
type Files = Vec<(String, Vec<u8>)>;

const MODEL: &str = "models/model.json";
const WEIGHTS: &str = "data/weights/model_weights_config.json";
/// Programs that hold mappings of several kinds.
const STORED: [&str; 10] = [
    "mlp",
    "attention",
    "image",
    "recurrent",
    "layers",
    "losses",
    "orders",
    "resampling",
    "places.high",
    "statistics.core",
];

const CONSTANTS: &str = "data/constants/model_constants_config.json";

fn stored(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/pt2/{name}.pt2"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn unpack(bytes: &[u8]) -> Files {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let name = String::from_utf8(entry.name_raw().to_vec()).unwrap();
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            (name.split_once('/').unwrap().1.to_string(), data)
        })
        .collect()
}

fn pack(files: &Files, method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in files {
        zip.start_file(format!("m/{name}"), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn read(bytes: &[u8]) -> Result<Module, FormatError> {
    let context = ngc_dialects::context();
    let module = import(&context, bytes.to_vec().into(), &ImportOptions::default())?;
    verify(&context, &module).unwrap();
    Ok(module)
}

/// The small classifier, changed.
fn changed(change: impl FnOnce(&mut Files)) -> Result<Module, FormatError> {
    changed_program("mlp", change)
}

fn changed_program(name: &str, change: impl FnOnce(&mut Files)) -> Result<Module, FormatError> {
    let mut files = unpack(&stored(name));
    change(&mut files);
    read(&pack(&files, CompressionMethod::Stored))
}

fn file<'a>(files: &'a mut Files, name: &str) -> &'a mut Vec<u8> {
    &mut files.iter_mut().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn with_json(name: &str, change: impl FnOnce(&mut Value)) -> Result<Module, FormatError> {
    changed(|files| change_json(files, name, change))
}

fn change_json(files: &mut Files, name: &str, change: impl FnOnce(&mut Value)) {
    let data = file(files, name);
    let mut json: Value = serde_json::from_slice(data).unwrap();
    change(&mut json);
    *data = serde_json::to_vec(&json).unwrap();
}

/// A program of `testdata/pt2` whose graph is changed.
pub(crate) fn with_graph_of(program: &str, change: impl FnOnce(&mut Value)) -> Result<Module, FormatError> {
    changed_program(program, |files| {
        change_json(files, MODEL, |json| change(&mut json["graph_module"]["graph"]))
    })
}

fn with_graph(change: impl FnOnce(&mut Value)) -> Result<Module, FormatError> {
    with_json(MODEL, |json| change(&mut json["graph_module"]["graph"]))
}

fn with_weight(change: impl FnOnce(&mut Value)) -> Result<Module, FormatError> {
    with_json(WEIGHTS, |json| change(&mut json["config"]["fc2.weight"]))
}

#[track_caller]
pub(crate) fn invalid(result: Result<Module, FormatError>, text: &str) {
    match result {
        Err(FormatError::Invalid(found)) => assert!(found.contains(text), "{found}"),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was read"),
    }
}

#[track_caller]
pub(crate) fn unsupported(result: Result<Module, FormatError>, text: &str) {
    match result {
        Err(FormatError::Unsupported(found)) => assert!(found.contains(text), "{found}"),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was read"),
    }
}

fn body(module: &Module) -> &Body {
    module.body.body(module.symbol("main").unwrap()).unwrap()
}

#[test]
fn an_import_keeps_names_places_and_extents() {
    let module = read(&stored("mlp")).unwrap();
    let options = PrintOptions { debuginfo: true, ..PrintOptions::default() };
    let text = print_module(&module, &options);
    for part in [
        "tensor<?x4xf32> {ng.dim_range = [[1, 64], [4, 4]]",
        "ng.dims = [\"s77\", \"\"]",
        "loc(\"fc1/linear\"(",
        "loc(\"make_pt2.py\":",
        "loc(\"fc2.weight\")",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn arguments_have_the_names_that_the_author_gave() {
    // The graph calls it `x`. Names of other inputs, or of another number of them, are not its own.
    for (names, own) in
        [(json!(["X"]), "X"), (json!(["y"]), "x"), (json!(["X", "y"]), "x"), (json!(null), "x")]
    {
        let name = |json: &mut Value| {
            json["graph_module"]["module_call_graph"][0]["signature"]["forward_arg_names"] = names.clone();
        };
        let text = print_module(&with_json(MODEL, name).unwrap(), &PrintOptions::default());
        assert!(text.contains(&format!("ng.name = \"{own}\"")), "{names}: {text}");
    }
}

#[test]
fn tied_weights_are_one_constant() {
    let module = read(&stored("mlp")).unwrap();
    let constants = |elements: usize| {
        let body = body(&module);
        let of = |op| {
            body.name(op) == "ng.constant"
                && body.ty(body.result(op, 0)).static_shape().unwrap().len() == elements
        };
        body.walk().into_iter().filter(|&op| of(op)).count()
    };
    // fc1.weight and fc2.weight; `tied` is the former.
    assert!(constants(2) <= 3);
    let image = read(&stored("image")).unwrap();
    let bytes: usize = image.resources.values().map(|b| b.bytes.len()).sum();
    assert!(bytes > 0 && bytes < stored("image").len());
}

#[test]
fn deflated_archives_are_read() {
    let packed = pack(&unpack(&stored("mlp")), CompressionMethod::Deflated);
    let text = |bytes: &[u8]| print_module(&read(bytes).unwrap(), &PrintOptions::default());
    assert_eq!(text(&packed), text(&stored("mlp")));
}

#[test]
fn other_files_are_named() {
    invalid(read(b""), "no PyTorch archive");
    invalid(read(b"module { }"), "no PyTorch archive");
    unsupported(read(b"\x80\x02}q\x00."), "pickled file of torch.save");
    let archive = |name: &str| read(&pack(&vec![(name.into(), b"{}".to_vec())], CompressionMethod::Stored));
    unsupported(archive("serialized_exported_program.json"), "before 2.7");
    unsupported(archive("data.pkl"), "does not unpickle");
    unsupported(archive("constants.pkl"), "TorchScript");
    invalid(archive("other"), "archive_format");
    unsupported(changed(|files| *file(files, "archive_version") = b"7".to_vec()), "archive_version: '7'");
    unsupported(changed(|files| *file(files, "byteorder") = b"big".to_vec()), "byteorder: 'big'");
    unsupported(with_json(MODEL, |json| json["schema_version"]["major"] = json!(7)), "schema version 7.");
    unsupported(
        changed(|files| files.push(("models/other.json".into(), b"{}".to_vec()))),
        "several programs",
    );
    invalid(changed(|files| files.retain(|(name, _)| name != MODEL)), "'models/' is empty");
    unsupported(
        changed(|files| {
            files.retain(|(name, _)| name != MODEL);
            files.push(("data/aotinductor/model/a.so".into(), vec![1]));
        }),
        "AOTInductor",
    );
    unsupported(changed(|files| files.push(("data/weights/model.pt".into(), vec![1]))), "pickled");
}

#[test]
fn truncated_archives_are_refused() {
    let bytes = stored("mlp");
    for length in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        assert!(matches!(read(&bytes[..length]), Err(FormatError::Invalid(_))), "{length} bytes");
    }
}

#[test]
fn damaged_data_are_noticed() {
    let mut bytes = stored("mlp");
    let files = unpack(&bytes);
    let weight = &files.iter().find(|(name, _)| name == "data/weights/weight_0").unwrap().1;
    let at = bytes.windows(weight.len()).position(|w| w == weight).unwrap();
    bytes[at] ^= 1;
    invalid(read(&bytes), "weight_0");
}

#[test]
fn names_do_not_leave_the_archive() {
    for name in ["../evil", "a/../../evil", "a\\b"] {
        invalid(changed(|files| files.push((name.into(), vec![0]))), "leads out of the archive");
    }
    for name in ["../../models/model.json", "/etc/passwd", "", ".."] {
        invalid(with_weight(|weight| weight["path_name"] = json!(name)), "leads out of its folder");
    }
}

#[test]
fn weights_must_be_there_and_fit() {
    invalid(changed(|files| files.retain(|(name, _)| name != "data/weights/weight_0")), "weight_0");
    invalid(changed(|files| files.retain(|(name, _)| name != WEIGHTS)), "model_weights_config.json");
    invalid(changed(|files| files.retain(|(name, _)| name != CONSTANTS)), "model_constants_config.json");
    invalid(
        with_json(WEIGHTS, |json| drop(json["config"].as_object_mut().unwrap().remove("fc2.weight"))),
        "'fc2.weight'",
    );
    unsupported(with_weight(|weight| weight["use_pickle"] = json!(true)), "pickled");
    let meta =
        |field: &'static str, value: Value| with_weight(move |weight| weight["tensor_meta"][field] = value);
    let int = |n: i64| json!({ "as_int": n });
    invalid(meta("storage_offset", int(1)), "do not fit in");
    invalid(meta("storage_offset", int(i64::MAX)), "do not fit in");
    invalid(meta("storage_offset", int(-1)), "a storage_offset of -1");
    invalid(meta("strides", json!([int(1 << 62), int(1)])), "do not fit in");
    invalid(meta("strides", json!([int(8)])), "have the strides");
    invalid(meta("sizes", json!([int(1 << 40), int(1 << 40)])), "too many bytes");
    invalid(meta("sizes", json!([int(2), int(8)])), "the program declares tensor<4x8xf32>");
    invalid(meta("sizes", json!([int(-4), int(8)])), "a size of -4");
    invalid(meta("dtype", json!(99)), "element type 99");
    unsupported(meta("dtype", json!(35)), "torch.uint64");
    invalid(meta("dtype", json!(10)), "of f32 do not fit in");
    unsupported(meta("layout", json!(1)), "a sparse tensor");
    // One element, repeated to a gigabyte.
    let huge = with_weight(|weight| {
        weight["tensor_meta"]["sizes"] = json!([int(1 << 28), int(1)]);
        weight["tensor_meta"]["strides"] = json!([int(0), int(0)]);
    });
    unsupported(huge, "repeat");
}

#[test]
fn bombs_do_not_unfold() {
    let zeros = |name: &str, size: usize| {
        let mut files = unpack(&stored("mlp"));
        *file(&mut files, name) = vec![b' '; size];
        read(&pack(&files, CompressionMethod::Deflated))
    };
    unsupported(zeros(MODEL, (256 << 20) + 1), "at most");
    unsupported(zeros("archive_format", 100), "at most");
    // A file that says it is longer than it is.
    let mut bytes = stored("mlp");
    let end = bytes.len();
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bytes[central + 24..central + 28].copy_from_slice(&(1u32 << 30).to_le_bytes());
    assert_eq!(bytes.len(), end);
    assert!(matches!(read(&bytes), Err(FormatError::Invalid(_))));
}

fn node<'a>(graph: &'a mut Value, target: &str) -> &'a mut Value {
    let nodes = graph["nodes"].as_array_mut().unwrap();
    nodes.iter_mut().find(|n| n["target"].as_str().unwrap().contains(target)).unwrap()
}

#[test]
fn what_is_drawn_at_random_is_an_argument() {
    let drawn = |target: &'static str| {
        let bytes = with_graph(move |g| node(g, "aten.relu")["target"] = json!(target));
        print_module(&bytes.unwrap(), &PrintOptions::default())
    };
    let uniform = drawn("torch.ops.aten.rand_like.default");
    assert!(uniform.contains("{ng.dim_range = [[1, 64], [8, 8]], ng.dims = [\"s77\", \"\"], ng.name = \"relu\", ng.range = [0.000000e+00, 0.99999994039535522]}"), "{uniform}");
    let normal = drawn("torch.ops.aten.randn_like.default");
    assert!(normal.contains("ng.name = \"relu\"}"), "{normal}");
    let bits = drawn("torch.ops.aten.bernoulli.default");
    assert!(bits.contains("direction = \"LT\""), "{bits}");
}

/// The first argument of a node.
fn operand(graph: &mut Value, target: &str, name: &str) {
    node(graph, target)["inputs"][0]["arg"] = json!({"as_tensor": {"name": name}});
}

#[test]
fn operators_in_place_are_functions_of_values() {
    let printed =
        |module: Result<Module, FormatError>| print_module(&module.unwrap(), &PrintOptions::default());
    let target = |g: &mut Value, of: &str, new: &str| {
        node(g, of)["target"] = json!(format!("torch.ops.aten.{new}"));
    };
    let given = printed(read(&stored("mlp")));
    // What was changed is read by its first name, or by that of the result.
    assert_eq!(printed(with_graph(|g| target(g, "aten.relu", "relu_.default"))), given);
    let by_first = |g: &mut Value| {
        target(g, "aten.relu", "relu_.default");
        operand(g, "aten.mul", "getitem");
    };
    assert_eq!(printed(with_graph(by_first)), given);
    // Nobody asks for the result by its name, and it is not lost.
    let twice = |g: &mut Value| {
        target(g, "aten.relu", "relu_.default");
        target(g, "aten.mul", "mul_.Tensor");
        operand(g, "aten.mul", "getitem");
        operand(g, "aten.add", "getitem");
    };
    assert_eq!(printed(with_graph(twice)), given);
    // What is a view of what was changed is taken again, and what the changed one is a view of has changed with it.
    let of_whole = |by: &'static str| {
        with_graph(move |g| {
            target(g, "aten.relu", by);
            target(g, "aten.mul", "mul_.Tensor");
            operand(g, "aten.mul", "getitem");
            operand(g, "aten.add", "relu");
        })
    };
    let of_view = |by: &'static str| {
        with_graph(move |g| {
            target(g, "aten.relu", by);
            target(g, "aten.mul", "mul_.Tensor");
            operand(g, "aten.add", "getitem");
        })
    };
    let named = printed(with_graph(|g| target(g, "aten.relu", "detach.default")));
    assert_eq!(printed(of_whole("detach.default")), named);
    assert_eq!(printed(of_view("detach.default")), named);
    // Of some operators it is not known whether the result is a view, nor of what elements.
    unsupported(of_whole("ravel.default"), "'relu' was changed in place under another name");
    unsupported(of_view("ravel.default"), "'getitem' was changed in place");
    unsupported(with_graph(|g| target(g, "aten.relu", "no_such_.default")), "this operator is not read");
    // Its effect is not lost where nobody asks for the result by its name.
    let unknown = |g: &mut Value| {
        target(g, "aten.relu", "no_such_.default");
        operand(g, "aten.mul", "getitem");
    };
    unsupported(with_graph(unknown), "this operator is not read, and works in place");
    let out = |g: &mut Value| target(g, "aten.relu", "relu.out");
    unsupported(with_graph(out), "this operator is not read, and works in place");
    // A buffer that nothing else reads may change, as a count of batches does; of others, and of inputs, the change is told.
    let counted = |name: &'static str| {
        with_graph(move |g| {
            let mut count = node(g, "aten.relu").clone();
            count["target"] = json!("torch.ops.aten.relu_.default");
            count["inputs"][0]["arg"] = json!({"as_tensor": {"name": name}});
            count["outputs"][0]["as_tensor"]["name"] = json!("count");
            g["tensor_values"]["count"] = g["tensor_values"][name].clone();
            g["nodes"].as_array_mut().unwrap().push(count);
        })
    };
    assert_eq!(printed(counted("b_norm_num_batches_tracked")), given);
    assert!(printed(counted("b_scale")).contains("ng.name = \"scale_next\""));
    assert!(printed(counted("x")).contains("ng.name = \"x_next\""));
}

#[test]
fn parts_that_are_called_are_part_of_the_program() {
    let printed =
        |module: Result<Module, FormatError>| print_module(&module.unwrap(), &PrintOptions::default());
    let called = |target: &'static str, before: Value, names: &'static [&'static str]| {
        with_graph(move |g| {
            let relu = node(g, "aten.relu").clone();
            let (given, result) = (relu["inputs"][0]["arg"].clone(), relu["outputs"][0].clone());
            let named = |names: &[&str]| -> Value {
                names.iter().map(|name| json!({"as_tensor": {"name": name}})).collect()
            };
            let mut inner = relu.clone();
            inner["inputs"][0]["arg"]["as_tensor"]["name"] = json!("relu");
            inner["outputs"][0]["as_tensor"]["name"] = json!("own");
            let graph = json!({
                "inputs": named(names), "outputs": named(&["own"]), "nodes": [inner],
                "tensor_values": {"own": g["tensor_values"]["relu"].clone()}, "sym_int_values": {},
            });
            let mut inputs = before.as_array().unwrap().clone();
            inputs.extend([json!({"as_graph": {"name": "part", "graph": graph}}), given]);
            let own = node(g, "aten.relu");
            own["target"] = json!(format!("torch.ops.higher_order.{target}"));
            own["inputs"] = inputs.iter().map(|arg| json!({"name": "", "arg": arg, "kind": 1})).collect();
            own["outputs"] = json!([result]);
        })
    };
    let given = printed(read(&stored("mlp")));
    let no_gradients = json!([{"as_bool": false}]);
    assert_eq!(printed(called("wrap_with_set_grad_enabled", no_gradients.clone(), &["relu"])), given);
    let autocast = |enabled: bool| {
        let flag = json!({"as_bool": enabled});
        json!([{"as_string": "cpu"}, {"as_scalar_type": 13}, flag.clone(), flag])
    };
    assert_eq!(printed(called("wrap_with_autocast", autocast(false), &["relu"])), given);
    unsupported(called("wrap_with_autocast", autocast(true), &["relu"]), "autocast that is enabled");
    invalid(called("wrap_with_set_grad_enabled", no_gradients, &["relu", "x"]), "1 values for 2");
    let of_caller = called("wrap_with_set_grad_enabled", json!([{"as_bool": false}]), &["own_input"]);
    invalid(of_caller, "no earlier node of the part defines 'relu'");
    let no_graph = with_graph(|g| {
        node(g, "aten.relu")["target"] = json!("torch.ops.higher_order.wrap_with_set_grad_enabled");
    });
    invalid(no_graph, "a call of no graph");
    unsupported(called("while_loop", json!([]), &["relu"]), "this operator is not read");
    invalid(called("cond", json!([]), &["relu"]), "a condition without a value and two graphs");
}

#[test]
fn broken_graphs_are_refused() {
    let target = |name: &'static str| with_graph(move |g| node(g, "aten.relu")["target"] = json!(name));
    unsupported(
        target("torch.ops.aten.fft_fft.default"),
        "node 2 'relu' (aten.fft_fft.default): this operator",
    );
    unsupported(target("torch.ops.mine.relu.default"), "(mine.relu.default): this operator");
    let input = |arg: Value| with_graph(move |g| node(g, "aten.relu")["inputs"][0]["arg"] = arg);
    invalid(input(json!({"as_tensor": {"name": "nobody"}})), "no earlier node defines 'nobody'");
    // Its own result, and a later one.
    invalid(input(json!({"as_tensor": {"name": "relu"}})), "no earlier node defines 'relu'");
    invalid(input(json!({"as_tensor": {"name": "log_softmax"}})), "no earlier node defines");
    invalid(input(json!({"as_int": 1})), "argument 'self' must be a tensor");
    invalid(input(json!({"as_what": 1})), "unknown variant");
    invalid(with_graph(|g| node(g, "aten.relu")["inputs"] = json!([])), "argument 'self' is missing");
    let more = |g: &mut Value| {
        let inputs = node(g, "aten.relu")["inputs"].as_array_mut().unwrap();
        inputs.push(json!({"name": "extra", "arg": {"as_int": 1}, "kind": 1}));
    };
    unsupported(with_graph(more), "argument 'extra'");
    let twice = |g: &mut Value| {
        let relu = node(g, "aten.relu").clone();
        g["nodes"].as_array_mut().unwrap().insert(0, relu);
    };
    invalid(with_graph(twice), "no earlier node defines");
    let declared = |sizes: Value| with_graph(move |g| g["tensor_values"]["relu"]["sizes"] = sizes);
    invalid(declared(json!([{"as_int": 3}])), "'relu' is declared tensor<3xf32>");
    invalid(declared(json!([{"as_int": -3}, {"as_int": 8}])), "an extent of -3");
    invalid(with_graph(|g| g["tensor_values"]["relu"]["dtype"] = json!(8)), "is declared tensor<?x8xf64>");
    invalid(
        with_graph(|g| drop(g["tensor_values"].as_object_mut().unwrap().remove("relu"))),
        "tensor_values does not have 'relu'",
    );
}

#[test]
fn numbers_beyond_the_format_are_refused_where_torch_stops() {
    // The stored program with the number of a node changed.
    let with_number = |target: &str, argument: &str, number: f64| {
        let mut files = unpack(&stored("half/arithmetic.f16.high"));
        let data = file(&mut files, MODEL);
        let mut json: Value = serde_json::from_slice(data).unwrap();
        let nodes = json["graph_module"]["graph"]["nodes"].as_array_mut().unwrap();
        let inputs = nodes.iter_mut().filter(|n| n["target"] == target);
        let mut inputs = inputs.flat_map(|n| n["inputs"].as_array_mut().unwrap());
        let input = inputs.find(|i| i["name"] == argument && i["arg"]["as_tensor"].is_null()).unwrap();
        input["arg"] = json!({ "as_float": number });
        *data = serde_json::to_vec(&json).unwrap();
        read(&pack(&files, CompressionMethod::Stored))
    };
    for (target, argument) in [
        ("torch.ops.aten.masked_fill.Scalar", "value"),
        ("torch.ops.aten.full_like.default", "fill_value"),
        ("torch.ops.aten.clamp.default", "min"),
        ("torch.ops.aten.hardtanh.default", "max_val"),
        ("torch.ops.aten.threshold.default", "value"),
        ("torch.ops.aten.rsub.Tensor", "alpha"),
    ] {
        unsupported(with_number(target, argument, 1e9), "beyond f16");
        with_number(target, argument, 65504.0).unwrap();
    }
    // These give an infinity, or are computed in f32.
    for (target, argument) in [
        ("torch.ops.aten.mul.Tensor", "other"),
        ("torch.ops.aten.where.ScalarOther", "other"),
        ("torch.ops.aten.lt.Scalar", "other"),
        ("torch.ops.aten.addcmul.default", "value"),
        ("torch.ops.aten.lerp.Scalar", "weight"),
    ] {
        with_number(target, argument, 1e9).unwrap();
    }
}

#[test]
fn complex_numbers_are_refused_where_they_are_not_read() {
    // The stored program with another operator in the place of one, or with another number.
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut files = unpack(&stored("complex_parts"));
        let data = file(&mut files, MODEL);
        let mut json: Value = serde_json::from_slice(data).unwrap();
        json["graph_module"]["graph"]["nodes"].as_array_mut().unwrap().iter_mut().for_each(change);
        *data = serde_json::to_vec(&json).unwrap();
        read(&pack(&files, CompressionMethod::Stored))
    };
    let instead = |from: &'static str, to: &'static str| {
        changed(&move |node| {
            if node["target"] == format!("torch.ops.aten.{from}") {
                node["target"] = json!(format!("torch.ops.aten.{to}"));
            }
        })
    };
    instead("exp.default", "exp.default").unwrap();
    unsupported(instead("exp.default", "sqrt.default"), "read of real numbers only");
    unsupported(instead("exp.default", "nothing.default"), "complex numbers in an operator that is not read");
    unsupported(instead("reciprocal.default", "sigmoid.default"), "read of real numbers only");
    let cubed = changed(&|node| {
        let target = node["target"].as_str().unwrap().to_string();
        let inputs = node["inputs"].as_array_mut().unwrap();
        let exponent = inputs.iter_mut().find(|input| input["name"] == "exponent");
        if target.contains("aten.pow") && exponent.as_ref().is_some_and(|e| e["arg"]["as_int"] == 2) {
            exponent.unwrap()["arg"] = json!({ "as_int": 3 });
        }
    });
    unsupported(cubed, "to the power of 3");
    // Bits of complex numbers are no real numbers.
    let complex = with_weight(|weight| {
        let int = |n: i64| json!({ "as_int": n });
        weight["tensor_meta"]["dtype"] = json!(10);
        weight["tensor_meta"]["sizes"] = json!([int(2), int(8)]);
    });
    invalid(complex, "the program declares");
}

#[test]
fn huge_extents_are_refused() {
    let sizes = json!([{"as_int": 1u64 << 62}, {"as_int": 1u64 << 62}]);
    let huge = with_graph(|g| {
        for value in g["tensor_values"].as_object_mut().unwrap().values_mut() {
            value["sizes"] = sizes.clone();
        }
    });
    assert!(huge.is_err());
}

#[test]
fn state_is_an_argument_and_a_result() {
    let outputs = |specs: Value| {
        with_json(MODEL, move |json| {
            let list = json["graph_module"]["signature"]["output_specs"].as_array_mut().unwrap();
            list.push(specs);
        })
    };
    let mutation =
        |name: &str| outputs(json!({"buffer_mutation": {"arg": {"name": "relu"}, "buffer_name": name}}));
    // Nothing reads the count of batches.
    mutation("norm.num_batches_tracked").unwrap();
    invalid(mutation("scale"), "'scale', which it changes: it has another type after the call");
    invalid(mutation("scales"), "it changes 'scales', which it does not have");
    let input = |after: &str, name: &str| {
        outputs(json!({"user_input_mutation": {"arg": {"name": after}, "user_input_name": name}}))
    };
    invalid(input("relu", "y"), "it changes 'y', which it does not have");
    invalid(input("nothing", "x"), "'x', which it changes");
    let gradient = json!({"gradient_to_parameter": {"arg": {"name": "relu"}, "parameter_name": "scale"}});
    unsupported(outputs(gradient), "it gives a gradient of 'scale'");
    unsupported(outputs(json!({"token": {}})), "effects");
}

#[test]
fn extents_that_nobody_has_are_refused() {
    // A view that takes two unknown extents apart.
    let view = |g: &mut Value| {
        let symbol = |name: &str| json!({"as_expr": {"expr_str": format!("Symbol('{name}')"), "hint": null}});
        let relu = node(g, "aten.relu");
        relu["target"] = json!("torch.ops.aten.view.default");
        g["tensor_values"]["relu"]["sizes"] = json!([symbol("s77"), symbol("a"), symbol("b")]);
    };
    assert!(matches!(with_graph(view), Err(FormatError::Unsupported(_))));
}

/// A doubled extent by another factor than 2 is not what all kernels of torch make of it.
#[test]
fn resampling_that_kernels_disagree_on_is_refused() {
    let mut files = unpack(&stored("resampling"));
    let mut json: Value = serde_json::from_slice(file(&mut files, MODEL)).unwrap();
    let g = &mut json["graph_module"]["graph"];
    let resampled = node(g, "upsample_nearest2d");
    let factors =
        resampled["inputs"].as_array_mut().unwrap().iter_mut().find(|a| a["name"] == "scale_factors");
    factors.unwrap()["arg"] = json!({"as_floats": [2.1, 1.6]});
    let name = resampled["outputs"][0]["as_tensor"]["name"].as_str().unwrap().to_string();
    g["tensor_values"][name.as_str()]["sizes"][2] = json!({"as_int": 8});
    *file(&mut files, MODEL) = serde_json::to_vec(&json).unwrap();
    unsupported(read(&pack(&files, CompressionMethod::Stored)), "from 4 to 8 elements");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(2015), ..ProptestConfig::default() })]

    /// Whatever stands in a file, it is read or refused.
    #[test]
    fn no_bytes_make_it_panic(which in 0..STORED.len(), cut in any::<prop::sample::Index>(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut bytes = stored(STORED[which]);
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if which == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = read(&bytes);
    }

    /// Numbers and words of the program exchanged for others.
    #[test]
    fn no_program_makes_it_panic(which in 0..STORED.len(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12), 1..6)) {
        let name = STORED[which];
        let mut files = unpack(&stored(name));
        let mut json: Value = serde_json::from_slice(file(&mut files, MODEL)).unwrap();
        let graph = &mut json["graph_module"]["graph"];
        let mut leaves = Vec::new();
        for part in ["nodes", "tensor_values"] {
            collect(&graph[part], format!("/graph_module/graph/{part}"), &mut leaves);
        }
        let values = [
            json!(0), json!(1), json!(-1), json!(7), json!(i64::MAX), json!(i64::MIN), json!(1e308), json!("x"),
            json!("Infinity"), json!(null), json!([]), json!(true),
        ];
        for (at, value) in edits {
            *json.pointer_mut(&leaves[at.index(leaves.len())]).unwrap() = values[value].clone();
        }
        *file(&mut files, MODEL) = serde_json::to_vec(&json).unwrap();
        let _ = read(&pack(&files, CompressionMethod::Stored));
    }
}

/// The places of all values that hold no others, but for what is only said for people.
fn collect(value: &Value, place: String, leaves: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let told = |k: &str| !matches!(k, "metadata" | "device" | "requires_grad" | "kind");
            map.iter().filter(|(k, _)| told(k)).for_each(|(k, v)| collect(v, format!("{place}/{k}"), leaves));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| collect(v, format!("{place}/{i}"), leaves));
        }
        _ => leaves.push(place),
    }
}
