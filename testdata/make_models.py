#!/usr/bin/env python3
"""Makes testdata/models/expected: what ONNX Runtime computes for each model of testdata/models.

Needs numpy, onnx and onnxruntime. For MODEL.onnx the files are MODEL_input.npy and MODEL_output.npy; the digit
classifiers take real digits, the others random numbers from a fixed seed. The files are kept in the repository.
"""

import pathlib

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).parent / "models"
BATCH = 16


def input_for(name, spec, rng):
    shape = [d if isinstance(d, int) else BATCH for d in spec.shape]
    if name.startswith("digits_"):
        digits = np.load(HERE / "digits_x.npy")[: shape[0]]
        return digits.reshape(shape)
    if spec.type == "tensor(int64)":
        return rng.integers(0, 256, shape)
    return rng.standard_normal(shape).astype(np.float32)


def main():
    (HERE / "expected").mkdir(exist_ok=True)
    options = onnxruntime.SessionOptions()
    # The graph as it was written, without fusions.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for model in sorted(HERE.glob("*.onnx")):
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        (spec,) = session.get_inputs()
        x = input_for(model.stem, spec, np.random.default_rng(0))
        (y,) = session.run(None, {spec.name: x})
        np.save(HERE / "expected" / f"{model.stem}_input.npy", x)
        np.save(HERE / "expected" / f"{model.stem}_output.npy", y)
        print(model.stem, x.shape, y.shape, "non-finite:", np.count_nonzero(~np.isfinite(y)))


if __name__ == "__main__":
    main()
