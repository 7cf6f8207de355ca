//! Weights in a second file, and functions that no model can hold.

use ngc_formats::onnx::export::MAX_INLINE;
use ngc_formats::onnx::{ExportOptions, ImportOptions, export, import};
use ngc_ir::text::{ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::{Context, Module, Sources};

const USUAL: ExportOptions<'_> = ExportOptions { external_name: "m.onnx.data", max_inline: MAX_INLINE };

fn parse(context: &Context, text: &str) -> Module {
    let mut sources = Sources::new();
    let file = sources.add("m.ngir", text, 1);
    parse_module(context, &sources, file, &ParseOptions::default()).expect("the text is right")
}

fn refusal(text: &str) -> String {
    let context = ngc_dialects::context();
    export(&context, &parse(&context, text), &USUAL).expect_err("it is refused").to_string()
}

#[test]
fn large_weights_go_to_a_second_file() {
    let context = ngc_dialects::context();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/models/digits_mlp.onnx");
    let bytes = std::fs::read(path).expect("the model is there");
    let module = import(&context, &bytes, &ImportOptions::default()).expect("it is read");
    let total: usize = module.resources.values().map(|blob| blob.bytes.len()).sum();
    let exported =
        export(&context, &module, &ExportOptions { max_inline: 50_000, ..USUAL }).expect("it is written");
    let model = exported.model.concat();
    assert!(model.len() < 8_000, "{} bytes", model.len());
    let folder = tempfile::tempdir().expect("there is a folder");
    let mut data = Vec::new();
    let progress = std::cell::Cell::new(0);
    exported
        .external
        .expect("there is a second file")
        .write(&mut data, |done, total| {
            assert!(progress.get() < done && done <= total);
            progress.set(done);
        })
        .expect("memory takes it");
    assert!(data.len() == progress.get() && data.len() < total + 4096 * module.resources.len());
    std::fs::write(folder.path().join("m.onnx.data"), data).expect("the folder takes it");
    let options = ImportOptions { directory: Some(folder.path().into()), ..ImportOptions::default() };
    let again = import(&context, &model, &options).expect("it is read again");
    let text = |module: &Module| print_module(module, &PrintOptions::default());
    assert_eq!(text(&module), text(&again));
}

#[test]
fn what_no_model_holds_is_named() {
    let sums = "func.func @f(%x: tensor<8xf64>) -> tensor<f64> {
        %0 = ng.reduce_sum %x {sum = \"kahan\"} : tensor<8xf64> -> tensor<f64>
        func.return %0 : tensor<f64> }";
    assert_eq!(refusal(sums), "@f: ng.reduce_sum: sums of f64 by the method 'kahan'");
    let tf32 = "func.func @f(%x: tensor<8xtf32>) -> tensor<8xtf32> {
        %0 = ng.exp %x : tensor<8xtf32>
        func.return %0 : tensor<8xtf32> }";
    assert_eq!(refusal(tf32), "ONNX has no element type tf32");
    let endless =
        "func.func @f(%x: f32) -> f32 { %0 = func.call @f(%x) : (f32) -> f32 func.return %0 : f32 }";
    assert!(refusal(endless).ends_with("calls of @f that do not end"), "{}", refusal(endless));
    assert_eq!(refusal("module {}"), "the module has no function with a body");
}

/// A splat of many elements takes a node, not memory; dialect attributes and locations become named values.
#[test]
fn splats_and_properties() {
    let text = "func.func @f(%x: f32 {ng.range = [-1.0, 1.0]}) -> tensor<100000x100000xf32> {
        %0 = ng.constant dense<2.0> : tensor<100000x100000xf32> loc(\"twos\")
        %1 = ng.mul %x, %0 {ng.note = \"kept\"} : f32, tensor<100000x100000xf32> -> tensor<100000x100000xf32> loc(callsite(\"mul\" at \"layer1\"))
        func.return %1 : tensor<100000x100000xf32> }";
    let context = ngc_dialects::context();
    let exported = export(&context, &parse(&context, text), &USUAL).expect("it is written");
    let model = exported.model.concat();
    assert!(model.len() < 1000, "{} bytes", model.len());
    let model: ngc_formats::onnx::proto::ModelProto =
        prost::Message::decode(&model[..]).expect("it is a model");
    let graph = model.graph.expect("it has a graph");
    let props = |p: &[ngc_formats::onnx::proto::StringStringEntryProto]| -> Vec<(String, String)> {
        p.iter().map(|e| (e.key.clone().unwrap_or_default(), e.value.clone().unwrap_or_default())).collect()
    };
    assert_eq!(
        props(&graph.input[0].metadata_props),
        [("ng.range".into(), "[-1.000000e+00, 1.000000e+00]".into())]
    );
    let node = graph.node.iter().find(|n| n.op_type.as_deref() == Some("Mul")).expect("it multiplies");
    assert_eq!(node.name.as_deref(), Some("mul"));
    assert_eq!(
        props(&node.metadata_props),
        [
            ("ng.note".into(), "\"kept\"".into()),
            ("ngc.loc".into(), "loc(callsite(\"mul\" at \"layer1\"))".into()),
        ]
    );
    assert_eq!(node.input[1], "twos");
}
