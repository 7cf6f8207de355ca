//! Every ONNX operator that is read evaluates to what ONNX Runtime gives (testdata/make_operators.py).

use std::collections::BTreeSet;

use crate::operator_cases::{Case, cases};
use ngc_formats::onnx::import::operators;
use ngc_formats::onnx::proto::ModelProto;
use ngc_formats::onnx::{ImportOptions, import};
use ngc_interp::Interpreter;
use ngc_ir::verifier::verify;
use ngc_numerics::evaluator::Mode;
use ngc_numerics::{DType, Evaluator, Format};
use prost::Message;

fn check(case: &Case) -> Result<(), String> {
    let context = ngc_dialects::context();
    let module = import(&context, &case.model, &ImportOptions::default()).map_err(|e| e.to_string())?;
    verify(&context, &module).map_err(|d| d.0[0].message.clone())?;
    let interpreter = Interpreter::new(&context, &module, Evaluator::new(Mode::Rounded));
    let results = interpreter.call("main", &case.inputs).map_err(|d| d.message)?;
    if results.len() != case.outputs.len() {
        return Err(format!("{} results", results.len()));
    }
    for (n, (ours, theirs)) in results.iter().zip(&case.outputs).enumerate() {
        if (ours.dtype, &ours.shape) != (theirs.dtype, &theirs.shape) {
            return Err(format!(
                "output {n} is {} {:?}, expected {} {:?}",
                ours.dtype, ours.shape, theirs.dtype, theirs.shape
            ));
        }
        // A few units in the last place: ONNX Runtime does not round correctly, and sums in another order.
        let tolerance = match ours.dtype {
            DType::Float(Format::F16) => 1e-3,
            DType::Float(_) => 4e-6,
            _ => 0.0,
        };
        for (i, (x, y)) in ours.to_f64s().into_iter().zip(theirs.to_f64s()).enumerate() {
            let same = x == y || (x.is_nan() && y.is_nan());
            let close = (x - y).abs() <= tolerance * y.abs().max(1.0);
            if !same && !close {
                return Err(format!("output {n}, element {i}: {x:e}, expected {y:e}"));
            }
        }
    }
    Ok(())
}

#[test]
fn operators_agree_with_onnx_runtime() {
    let cases = cases();
    assert!(cases.len() > 200, "{} cases", cases.len());
    let failures: Vec<String> =
        cases.iter().filter_map(|(name, case)| check(case).err().map(|e| format!("{name}: {e}"))).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn every_operator_has_a_case() {
    let mut covered = BTreeSet::new();
    for case in cases().values() {
        let model = ModelProto::decode(&case.model[..]).unwrap();
        covered.extend(model.graph.unwrap().node.into_iter().filter_map(|n| n.op_type));
    }
    let missing: Vec<&str> = operators().into_iter().filter(|op| !covered.contains(*op)).collect();
    assert_eq!(missing, ["Scatter"], "Scatter is the old name of ScatterElements");
}
