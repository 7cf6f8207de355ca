//! ONNX models that are wrong, hostile, or more than ngc reads; and what an import keeps.

use std::path::PathBuf;

use crate::support::*;
use ngc_formats::onnx::proto::*;
use ngc_formats::onnx::{ImportOptions, Weights, import};
use ngc_ir::text::{ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::verifier::verify;
use ngc_ir::{Attr, Sources};
use proptest::prelude::*;
use prost::Message;

fn model_file(name: &str) -> Vec<u8> {
    let path = format!("{}/../../testdata/models/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn all_models_are_read() {
    let context = ngc_dialects::context();
    for name in [
        "attention_naive",
        "digits_cnn_raw",
        "digits_mlp",
        "digits_mlp_naive_head",
        "digits_vit",
        "hf_gpt2_eager",
        "llama_block",
    ] {
        for weights in [Weights::Inline, Weights::Resource] {
            let options = ImportOptions { weights, ..ImportOptions::default() };
            let module = import(&context, &model_file(name), &options).unwrap();
            verify(&context, &module).unwrap_or_else(|d| panic!("{name}: {:?}", d.0));
            assert_eq!(module.resources.is_empty(), weights == Weights::Inline, "{name}");
            let options = PrintOptions { debuginfo: true, ..PrintOptions::default() };
            let text = print_module(&module, &options);
            let mut sources = Sources::new();
            let file = sources.add(name, text.as_str(), 1);
            let parsed = parse_module(&context, &sources, file, &ParseOptions::default())
                .unwrap_or_else(|d| panic!("{name}: {:?}", d.0));
            assert!(print_module(&parsed, &options) == text, "{name} reads back differently");
        }
    }
}

#[test]
fn names_of_dimensions_inputs_and_nodes_are_kept() {
    let module = read(&model(vec![node("Exp", &["x"], &["y"])])).unwrap();
    let function = module.symbol("main").unwrap();
    let Some([Attr::Dict(x)]) = module.body.attr(function, "arg_attrs").unwrap().as_array() else { panic!() };
    assert_eq!(x.get("ng.name").unwrap().as_str(), Some("x"));
    let dims: Vec<_> =
        x.get("ng.dims").unwrap().as_array().unwrap().iter().map(|d| d.as_str().unwrap()).collect();
    assert_eq!(dims, ["batch", ""]);
    let body = body(&module);
    let exp = body.ops(body.entry().unwrap()).next().unwrap();
    assert_eq!(body.op(exp).loc, ngc_ir::Loc::name("the_Exp"));
    assert_eq!(body.ty(body.result(exp, 0)).to_string(), "tensor<?x4xf32>");
}

#[test]
fn narrow_sums_accumulate_in_f32() {
    let m = with_graph(model(vec![node("MatMul", &["x", "w"], &["y"])]), |g| {
        g.input = vec![value("x", 10, &["2", "3"]), value("w", 10, &["3", "4"])];
    });
    let module = read(&m).unwrap();
    let body = body(&module);
    let matmul = body.ops(body.entry().unwrap()).next().unwrap();
    assert_eq!(body.attr(matmul, "accumulate").unwrap().as_type().unwrap().to_string(), "f32");
}

#[test]
fn shape_arithmetic_leaves_no_ops() {
    let nodes = vec![
        node("Shape", &["w"], &["s"]),
        node("Gather", &["s", "zero"], &["n"]),
        node("Concat", &["n", "rest"], &["target"]),
        node("Reshape", &["x", "target"], &["y"]),
    ];
    let m = with_graph(model(nodes), |g| {
        g.node[2].attribute = vec![int("axis", 0)];
        g.initializer = vec![ints("zero", &[0]), ints("rest", &[-1]), ints("w", &[7, 8])];
    });
    assert_eq!(op_names(&read(&m).unwrap()), ["ng.reshape", "func.return"]);
}

#[test]
fn unsupported_operators_are_named() {
    assert_eq!(
        unsupported(&model(vec![node("NonMaxSuppression", &["x"], &["y"])])),
        "node 0 'the_NonMaxSuppression': operator NonMaxSuppression of domain ai.onnx, operator set 20"
    );
    let mut custom = node("Exp", &["x"], &["y"]);
    custom.domain = Some("com.example".into());
    assert!(unsupported(&model(vec![custom])).contains("operator Exp of domain com.example"));
    for op in ["OptionalGetElement", "Unique", "StringConcat"] {
        assert!(unsupported(&model(vec![node(op, &["x"], &["y"])])).contains(&format!("operator {op} of")));
    }
}

#[test]
fn what_an_importer_does_not_read_is_refused() {
    let mut exp = node("Exp", &["x"], &["y"]);
    exp.attribute = vec![int("base", 2)];
    assert_eq!(unsupported(&model(vec![exp])), "node 0 'the_Exp' (Exp): attribute 'base' (operator set 20)");
    let extra = node("Exp", &["x", "x"], &["y"]);
    assert_eq!(unsupported(&model(vec![extra])), "node 0 'the_Exp' (Exp): input 1 'x' (operator set 20)");
    let mut pool = node("MaxPool", &["x4"], &["y", "where"]);
    pool.attribute = vec![AttributeProto {
        name: Some("kernel_shape".into()),
        r#type: Some(7),
        ints: vec![2, 2],
        ..Default::default()
    }];
    let m = with_graph(model(vec![pool]), |g| g.input = vec![value("x4", 1, &["1", "1", "4", "4"])]);
    assert_eq!(unsupported(&m), "node 0 'the_MaxPool' (MaxPool): its output 1 'where'");
}

#[test]
fn shapes_must_be_known() {
    let m = with_graph(model(vec![node("Reshape", &["x", "s"], &["y"])]), |g| {
        g.input.push(value("s", 7, &["n"]));
    });
    assert_eq!(
        unsupported(&m),
        "node 0 'the_Reshape' (Reshape): input 1 's' (shape) is neither constant nor made of shapes"
    );
    let m = with_graph(model(vec![node("Tile", &["x", "s"], &["y"])]), |g| {
        g.input.push(value("s", 7, &["2"]));
    });
    assert_eq!(unsupported(&m), "node 0 'the_Tile' (Tile): input 1 's' (repeats) is not a constant");
}

#[test]
fn types_that_ngc_lacks_are_named() {
    let with_type = |ty: TypeProto| {
        with_graph(model(vec![node("Identity", &["x"], &["y"])]), |g| g.input[0].r#type = Some(ty.clone()))
    };
    let kind = |value: TypeValue| unsupported(&with_type(TypeProto { value: Some(value) }));
    assert_eq!(kind(TypeValue::Sequence(Default::default())), "input 'x': a value of sequence type");
    assert_eq!(kind(TypeValue::Optional(Default::default())), "input 'x': a value of optional type");
    let tensor = |elem: i32| {
        let shape = Some(TensorShapeProto::default());
        TypeValue::Tensor(TensorTypeProto { elem_type: Some(elem), shape })
    };
    assert_eq!(kind(tensor(8)), "input 'x': elements of type string");
    assert_eq!(kind(tensor(13)), "input 'x': elements of type uint64");
    let unranked = TypeValue::Tensor(TensorTypeProto { elem_type: Some(1), shape: None });
    assert!(kind(unranked).starts_with("input 'x': a tensor of unknown rank"));
}

#[test]
fn broken_graphs_are_located() {
    assert_eq!(
        invalid(&model(vec![node("Add", &["x", "b"], &["a"]), node("Exp", &["a"], &["b"])])),
        "node 0 'the_Add' (Add): no earlier node defines 'b' (nodes must be sorted, without cycles)"
    );
    assert_eq!(
        invalid(&model(vec![node("Exp", &["x"], &["x"])])),
        "node 0 'the_Exp' (Exp): the name 'x' is defined twice"
    );
    assert!(invalid(&model(vec![])).starts_with("output 'y': no earlier node defines 'y'"));
    assert_eq!(invalid(&model(vec![node("Exp", &[], &["y"])])), "node 0 'the_Exp' (Exp): input 0 is missing");
    let mut transpose = node("Transpose", &["x"], &["y"]);
    transpose.attribute = vec![int("perm", 1)];
    assert_eq!(
        invalid(&model(vec![transpose])),
        "node 0 'the_Transpose' (Transpose): attribute 'perm' must be an array of integers"
    );
    let m = with_graph(model(vec![node("Add", &["x", "w"], &["y"])]), |g| {
        g.input.push(value("w", 1, &["3"]));
    });
    let text = invalid(&m);
    assert!(text.starts_with("node 0 'the_Add' (Add): 'ng.add' cannot broadcast"), "{text}");
    let m =
        with_graph(model(vec![node("Exp", &["x"], &["y"])]), |g| g.output = vec![value("y", 1, &["3", "5"])]);
    assert_eq!(invalid(&m), "output 'y': it is declared tensor<3x5xf32>, but its node gives tensor<?x4xf32>");
}

#[test]
fn operator_sets_have_limits() {
    let with_version = |version: Option<i64>| {
        let mut m = model(vec![node("Exp", &["x"], &["y"])]);
        m.opset_import[0].version = version;
        m
    };
    assert!(
        unsupported(&with_version(Some(99))).starts_with("operator set 99 of ai.onnx; ngc reads 6 to 26")
    );
    assert!(unsupported(&with_version(Some(1))).starts_with("operator set 1"));
    assert!(invalid(&with_version(None)).starts_with("opset_import"));
}

#[test]
fn huge_and_wrong_initializers() {
    let with = |change: fn(&mut TensorProto)| {
        let mut tensor = ints("w", &[1, 2]);
        change(&mut tensor);
        with_graph(model(vec![node("Exp", &["x"], &["y"])]), |g| g.initializer = vec![tensor])
    };
    assert!(
        invalid(&with(|t| t.dims = vec![i64::MAX, i64::MAX])).starts_with("initializer 'w': dims: shape")
    );
    assert!(
        invalid(&with(|t| t.dims = vec![1 << 40]))
            .starts_with("initializer 'w': int64_data: dims [1099511627776]")
    );
    assert_eq!(invalid(&with(|t| t.dims = vec![-2])), "initializer 'w': dims: extent -2 is negative");
    assert_eq!(unsupported(&with(|t| t.data_type = Some(8))), "initializer 'w': elements of type string");
    assert_eq!(
        invalid(&with(|t| t.data_type = Some(77))),
        "initializer 'w': element type 77 is none of ONNX"
    );
    assert_eq!(invalid(&with(|t| t.name = None)), "initializer '': it has no name");
}

/// A constant of enormous extents is small until it is evaluated, so it is not evaluated while importing.
#[test]
fn constants_of_enormous_shape_take_no_memory() {
    let nodes = vec![node("ConstantOfShape", &["s"], &["c"]), node("Add", &["c", "c"], &["y"])];
    let m = with_graph(model(nodes), |g| g.initializer = vec![ints("s", &[1 << 30, 1 << 20])]);
    assert!(op_names(&read(&m).unwrap()).contains(&"ng.broadcast_to"));
    let m = with_graph(m, |g| g.initializer = vec![ints("s", &[1 << 40, 1 << 40])]);
    assert!(invalid(&m).contains("too many elements"), "{}", invalid(&m));
}

#[test]
fn enormous_extents_do_not_overflow() {
    let huge = i64::MAX.to_string();
    let from = |nodes: Vec<NodeProto>, dims: &[&str]| {
        read(&with_graph(model(nodes), |g| g.input = vec![value("x", 1, dims)]))
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let with = |op: &str, attributes: Vec<AttributeProto>| NodeProto {
        attribute: attributes,
        ..node(op, &["x"], &["y"])
    };
    let block = || vec![int("blocksize", 2)];
    for op in ["DepthToSpace", "SpaceToDepth"] {
        let error = from(vec![with(op, block())], &["1", "4", &huge, &huge]).unwrap_err();
        assert!(error.contains("enormous extents"), "{error}");
    }
    let numbers = |name: &str, values: &[i64]| AttributeProto {
        name: Some(name.into()),
        r#type: Some(7),
        ints: values.to_vec(),
        ..Default::default()
    };
    let same = AttributeProto {
        name: Some("auto_pad".into()),
        r#type: Some(3),
        s: Some("SAME_UPPER".into()),
        ..Default::default()
    };
    let pool = vec![numbers("kernel_shape", &[i64::MAX]), numbers("dilations", &[(1 << 31) - 1]), same];
    let error = from(vec![with("MaxPool", pool)], &["1", "1", &huge]).unwrap_err();
    assert!(error.contains("the kernel is too large"), "{error}");
    for op in ["Flatten", "Size", "Shape", "Transpose", "ReduceSum", "GlobalAveragePool", "Softmax", "Exp"] {
        let _ = from(vec![with(op, vec![])], &[&huge, &huge, "0"]);
        let _ = from(vec![with(op, vec![])], &[&huge, &huge, &huge, &huge]);
    }
}

#[test]
fn deep_nesting_is_refused() {
    let mut graph = GraphProto::default();
    for _ in 0..200 {
        let attribute = AttributeProto { g: Some(Box::new(graph)), ..Default::default() };
        let nodes = vec![NodeProto { attribute: vec![attribute], ..Default::default() }];
        graph = GraphProto { node: nodes, ..Default::default() };
    }
    let m = ModelProto { graph: Some(graph), ..model(vec![]) };
    assert!(invalid(&m).starts_with("no ONNX model"));
}

fn external(location: &str, offset: &str, length: &str) -> ModelProto {
    let entry =
        |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    with_graph(model(vec![node("Mul", &["x", "w"], &["y"])]), |g| {
        g.initializer = vec![TensorProto {
            name: Some("w".into()),
            data_type: Some(1),
            dims: vec![4],
            data_location: Some(1),
            external_data: vec![
                entry("location", location),
                entry("offset", offset),
                entry("length", length),
            ],
            ..Default::default()
        }];
    })
}

#[test]
fn external_data_lie_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = [9.0f32, 1.0, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(folder.path().join("w.bin"), &data).unwrap();
    let context = ngc_dialects::context();
    let read = |m: &ModelProto, directory: Option<PathBuf>| {
        let options = ImportOptions { directory, ..ImportOptions::default() };
        import(&context, &m.encode_to_vec(), &options).map_err(|e| e.to_string())
    };
    let at = |m: &ModelProto| read(m, Some(folder.path().to_path_buf()));
    let module = at(&external("w.bin", "4", "16")).unwrap();
    let body = body(&module);
    let weights = body.ops(body.entry().unwrap()).next().unwrap();
    let Some(Attr::Dense(dense)) = body.attr(weights, "value") else { panic!() };
    assert_eq!(dense.bytes[..], data[4..]);

    let fails = |m: &ModelProto, message: &str| {
        let error = at(m).err().unwrap();
        assert!(error.starts_with("initializer 'w': external data") && error.contains(message), "{error}");
    };
    fails(&external("w.bin", "8", "16"), "16 bytes from 8 on, but the file has 20");
    fails(&external("w.bin", "18446744073709551615", "16"), "but the file has 20");
    fails(&external("w.bin", "4", "12"), "dims [4] take 16 bytes");
    fails(&external("../w.bin", "0", "16"), "it must lie beside the model");
    fails(&external("/etc/passwd", "0", "16"), "it must lie beside the model");
    fails(&external("", "0", "16"), "it must lie beside the model");
    fails(&external("missing.bin", "0", "16"), "'missing.bin'");
    assert!(at(&external("w.bin", "x", "16")).err().unwrap().contains("offset 'x' is no number"));
    assert!(read(&external("w.bin", "4", "16"), None).err().unwrap().contains("not read from a directory"));
}

#[test]
fn every_truncation_is_an_error() {
    let context = ngc_dialects::context();
    let nodes = vec![node("Mul", &["x", "w"], &["a"]), node("Exp", &["a"], &["y"])];
    let m = with_graph(model(nodes), |g| {
        g.initializer = vec![TensorProto { data_type: Some(1), ..ints("w", &[]) }];
        g.initializer[0].dims = vec![4];
        g.initializer[0].raw_data = Some(vec![0; 16].into());
        g.initializer[0].int64_data.clear();
    });
    let whole = m.encode_to_vec();
    assert!(import(&context, &whole, &ImportOptions::default()).is_ok());
    for end in 0..whole.len() {
        assert!(import(&context, &whole[..end], &ImportOptions::default()).is_err(), "cut at {end}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = import(&ngc_dialects::context(), &bytes, &ImportOptions::default());
    }

    #[test]
    fn no_damage_makes_the_reader_panic(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let context = ngc_dialects::context();
        let mut bytes = model_file("digits_cnn_raw");
        for (at, byte) in damage {
            // The weights make up most of the file; what is worth damaging stands before and after them.
            let at = at.index(8000);
            let at = if at < 4000 { at } else { bytes.len() - 8000 + at };
            bytes[at] = byte;
        }
        let _ = import(&context, &bytes, &ImportOptions::default());
    }
}
