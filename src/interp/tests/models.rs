//! Imported models evaluate to what ONNX Runtime gives (testdata/make_models.py).

use ngc_formats::npy;
use ngc_formats::onnx::{ImportOptions, import};
use ngc_interp::Interpreter;
use ngc_numerics::evaluator::Mode;
use ngc_numerics::{Evaluator, Tensor};

fn folder() -> String {
    format!("{}/../../testdata/models", env!("CARGO_MANIFEST_DIR"))
}

fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn evaluate(model: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let context = ngc_dialects::context();
    let path = format!("{}/{model}.onnx", folder());
    let module = import(&context, &bytes(&path), &ImportOptions::default()).unwrap();
    let interpreter = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded));
    interpreter.call("main", inputs).unwrap_or_else(|d| panic!("{model}: {}", d.message))
}

fn array(path: &str) -> Tensor {
    npy::read(&bytes(path), None).unwrap()
}

/// Both runtimes round every step to f32 but sum in another order, so their results differ by a few units of f32
/// relative to the largest result.
fn agrees(model: &str) {
    agrees_with(model, &format!("expected/{model}"));
}

fn agrees_with(model: &str, arrays: &str) {
    let expected = array(&format!("{}/{arrays}_output.npy", folder()));
    let input = array(&format!("{}/{arrays}_input.npy", folder()));
    let results = evaluate(model, &[input]);
    assert_eq!(results.len(), 1, "{model}");
    assert_eq!((results[0].dtype, &results[0].shape), (expected.dtype, &expected.shape), "{model}");
    let (ours, theirs) = (results[0].to_f64s(), expected.to_f64s());
    let scale = theirs.iter().filter(|y| y.is_finite()).fold(0.0f64, |m, y| m.max(y.abs()));
    for (i, (x, y)) in ours.iter().zip(&theirs).enumerate() {
        let same = x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        assert!(
            same || (x - y).abs() <= 1e-5 * scale,
            "{model}: element {i} is {x:e}, ONNX Runtime gives {y:e}"
        );
    }
}

/// testdata/make_quantized.py: whole sums of products are exact, so only ties of a quantisation could differ.
#[test]
fn quantized() {
    let entries = std::fs::read_dir(format!("{}/quantized", folder())).unwrap();
    let names = entries
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".onnx")?.to_string()));
    let models: Vec<String> = names.collect();
    assert!(models.len() >= 8, "{models:?}");
    for model in models {
        let path = format!("quantized/{model}");
        agrees_with(&path, &path);
    }
}

#[test]
fn attention_naive() {
    agrees("attention_naive");
}

#[test]
fn digits_cnn_raw() {
    agrees("digits_cnn_raw");
}

#[test]
fn digits_mlp() {
    agrees("digits_mlp");
}

#[test]
fn digits_mlp_naive_head() {
    agrees("digits_mlp_naive_head");
}

#[test]
fn digits_vit() {
    agrees("digits_vit");
}

#[test]
fn hf_gpt2_eager() {
    agrees("hf_gpt2_eager");
}

#[test]
fn llama_block() {
    agrees("llama_block");
}

/// The README's tour: the naive head gives NaN on 442 of the 450 real digits, the model without it none, and that
/// one is right for 97.8 % of them.
#[test]
fn real_digits() {
    let digits = array(&format!("{}/digits_x.npy", folder()));
    let labels = array(&format!("{}/digits_y.npy", folder()));
    let naive = evaluate("digits_mlp_naive_head", std::slice::from_ref(&digits))[0].to_f64s();
    let bad = naive.chunks(10).filter(|row| row.iter().any(|x| x.is_nan())).count();
    assert_eq!(bad, 442);
    let scores = evaluate("digits_mlp", &[digits])[0].to_f64s();
    let guess = |row: &[f64]| (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0) as i64;
    let right =
        scores.chunks(10).zip(labels.as_ints().unwrap()).filter(|(row, label)| guess(row) == **label).count();
    assert_eq!(format!("{:.1}", right as f64 / 4.5), "97.8");
}
