#!/usr/bin/env python3
"""Makes testdata/models/quantized: the digit classifiers as onnxruntime.quantization writes them, with what ONNX Runtime
computes for them without fusions.

    pip install numpy onnx onnxruntime
    testdata/make_quantized.py

For MODEL.onnx the files are MODEL_input.npy and MODEL_output.npy: real digits. The files are kept in the repository.
"""

import pathlib

import numpy as np
import onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)

MODELS = pathlib.Path(__file__).parent / "models"
HERE = MODELS / "quantized"
QDQ, OPERATORS = QuantFormat.QDQ, QuantFormat.QOperator
U8, S8, U16 = QuantType.QUInt8, QuantType.QInt8, QuantType.QUInt16

# name: the model, how the nodes are written, the types of activations and of weights, one scale for each channel or not,
# which operators.
STATIC = {
    "qdq_u8_s8_channels": ("digits_cnn_raw", QDQ, U8, S8, True, None),
    "qdq_u8_u8": ("digits_cnn_raw", QDQ, U8, U8, False, None),
    "qdq_s8_s8": ("digits_mlp", QDQ, S8, S8, False, None),
    "qdq_u16_s8": ("digits_mlp", QDQ, U16, S8, False, None),
    "operators_u8_s8_channels": ("digits_cnn_raw", OPERATORS, U8, S8, True, ["Conv", "MatMul"]),
    "operators_s8_s8": ("digits_cnn_raw", OPERATORS, S8, S8, False, ["Conv", "MatMul"]),
}
DYNAMIC = {
    "dynamic_u8": ("digits_cnn_raw", U8),
    "dynamic_s8": ("digits_mlp", S8),
}


def digits(session):
    (spec,) = session.get_inputs()
    rows = np.load(MODELS / "digits_x.npy")
    extents = [d if isinstance(d, int) else 16 for d in spec.shape]
    batches = rows[: 4 * extents[0]].reshape([4, *extents])
    return spec.name, batches[0], batches[1:]


class Digits(CalibrationDataReader):
    def __init__(self, name, batches):
        self.batches = iter([{name: batch} for batch in batches])

    def get_next(self):
        return next(self.batches, None)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    HERE.mkdir(exist_ok=True)
    for name, (model, how, activations, weights, channels, operators) in STATIC.items():
        source = MODELS / f"{model}.onnx"
        argument, _, calibration = digits(session(source))
        quantize_static(
            source,
            HERE / f"{name}.onnx",
            Digits(argument, calibration),
            quant_format=how,
            activation_type=activations,
            weight_type=weights,
            per_channel=channels,
            op_types_to_quantize=operators,
        )
    for name, (model, weights) in DYNAMIC.items():
        quantize_dynamic(MODELS / f"{model}.onnx", HERE / f"{name}.onnx", weight_type=weights)
    for name in [*STATIC, *DYNAMIC]:
        found = session(HERE / f"{name}.onnx")
        argument, x, _ = digits(found)
        (y,) = found.run(None, {argument: x})
        np.save(HERE / f"{name}_input.npy", x)
        np.save(HERE / f"{name}_output.npy", y)
        print(name, x.shape, y.shape)


if __name__ == "__main__":
    main()
