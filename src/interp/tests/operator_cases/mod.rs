//! The cases of testdata/operators.npz.

use std::collections::BTreeMap;

use ngc_formats::npz;
use ngc_numerics::Tensor;

/// A model, its inputs, and what ONNX Runtime gives.
#[derive(Default)]
pub struct Case {
    pub model: Vec<u8>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

pub fn cases() -> BTreeMap<String, Case> {
    let path = format!("{}/../../testdata/operators.npz", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    // Inputs and outputs are in the order of the archive.
    for (name, array) in npz::read(&bytes, None).unwrap() {
        let (case, part) = name.split_once('/').unwrap();
        let case = cases.entry(case.to_string()).or_default();
        match part.split('_').next().unwrap() {
            "model" => case.model = array.as_ints().unwrap().iter().map(|&b| b as u8).collect(),
            "in" => case.inputs.push(array),
            "out" => case.outputs.push(array),
            other => panic!("{name}: {other}"),
        }
    }
    cases
}
