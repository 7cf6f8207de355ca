#!/usr/bin/env python3
"""Makes testdata/operators.npz: a model of one or a few nodes for each ONNX operator that ngc reads, with inputs and
the outputs of ONNX Runtime.

An entry is CASE/model (the bytes of the model), CASE/in_N or CASE/out_N. Needs numpy, ml_dtypes, onnx and
onnxruntime. The file is kept in the repository.
"""

import io
import pathlib
import zipfile

import numpy as np
import onnx
import onnxruntime
from numpy.lib import format as npy
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
RNG = np.random.default_rng(1)
CASES = {}


def f(*shape, low=-3.0, high=3.0, dtype=np.float32):
    return RNG.uniform(low, high, shape).astype(dtype)


def i(*values, dtype=np.int64):
    return np.array(values, dtype)


def case(name, op, inputs, constants=None, outputs=1, opset=20, dims=None, nodes=None, expected=None, **attributes):
    """One node of `op`. `inputs` are run-time inputs; `constants` maps positions to initializers, which come between
    them; None leaves an input out. `nodes` gives the nodes themselves."""
    order, initializers, feeds = [], [], {}
    run_time = iter(inputs)
    constants = constants or {}
    count = len(inputs) + len(constants)
    for k in range(count):
        if k in constants:
            if constants[k] is None:
                order.append("")
                continue
            order.append(f"c{k}")
            initializers.append(numpy_helper.from_array(constants[k], f"c{k}"))
        else:
            feeds[f"x{k}"] = next(run_time)
            order.append(f"x{k}")
    names = [f"y{k}" for k in range(outputs)]
    if nodes is None:
        nodes = [helper.make_node(op, order, names, name=f"the_{op}", **attributes)]
    infos = []
    for k, (n, a) in enumerate(feeds.items()):
        shape = list(a.shape) if dims is None else [d or s for d, s in zip(dims[k], a.shape)]
        infos.append(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), shape))
    # The types of the outputs are inferred.
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=n) for n in names], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 23 else 10)
    model = onnx.shape_inference.infer_shapes(model)
    if expected is None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        expected = session.run(None, feeds)
    assert name not in CASES, name
    CASES[name] = (model.SerializeToString(deterministic=True), list(feeds.values()), expected)


def elementwise():
    for op in ["Abs", "Atan", "Asinh", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
               "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh",
               "Softplus", "Softsign", "Tan", "Tanh", "Celu", "ThresholdedRelu", "Shrink", "Identity"]:
        case(op, op, [f(2, 7)])
    case("Cosh", "Cosh", [f(2, 7)])
    for op in ["Acos", "Asin", "Atanh"]:
        case(op, op, [f(9, low=-0.95, high=0.95)])
    for op in ["Log", "Sqrt"]:
        case(op, op, [f(9, low=0.1, high=9)])
    case("Acosh", "Acosh", [f(9, low=1.1, high=9)])
    case("Elu_alpha", "Elu", [f(9)], alpha=0.5)
    case("Celu_alpha", "Celu", [f(9)], alpha=2.0)
    case("Selu_parameters", "Selu", [f(9)], alpha=1.5, gamma=2.0)
    case("HardSigmoid_parameters", "HardSigmoid", [f(9)], alpha=0.3, beta=0.4)
    case("LeakyRelu_alpha", "LeakyRelu", [f(9)], alpha=0.3)
    case("ThresholdedRelu_alpha", "ThresholdedRelu", [f(9)], alpha=0.7)
    case("Shrink_parameters", "Shrink", [f(9)], bias=0.5, lambd=1.5)
    case("Gelu_tanh", "Gelu", [f(9)], approximate="tanh")
    case("PRelu", "PRelu", [f(2, 3, 4)], {1: f(3, 1)})
    x = f(9)
    case("Swish", "Swish", [x], opset=24, expected=[x / (1 + np.exp(-x))])
    case("Swish_alpha", "Swish", [x], opset=24, alpha=1.5, expected=[x / (1 + np.exp(-1.5 * x))])
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min"]:
        case(op, op, [f(2, 3, 4), f(3, 1)])
    case("Div_int", "Div", [i(7, -7, 7, -7), i(2, 2, -2, -2)])
    case("Mod", "Mod", [i(7, -7, 7, -7, 6), i(3, 3, -3, -3, 3)])
    case("Mod_fmod", "Mod", [f(9), f(9)], fmod=1)
    case("Pow", "Pow", [f(9, low=0.1)], {1: np.float32(2.5)})
    case("Pow_int_exponent", "Pow", [f(9)], {1: i(3)})
    case("Max_variadic", "Max", [f(9), f(1), f(2, 9)])
    case("Sum", "Sum", [f(9), f(1), f(2, 9)])
    case("Mean", "Mean", [f(9), f(1), f(2, 9)])
    case("Clip", "Clip", [f(9)], {1: np.float32(-1), 2: np.float32(1.5)})
    case("Clip_max", "Clip", [f(9)], {1: None, 2: np.float32(1.5)})
    case("Clip_int", "Clip", [i(1, 5, 9)], {1: np.array(2), 2: np.array(6)})
    case("Clip_6", "Clip", [f(9)], opset=10, min=-1.0, max=1.0)
    case("Cast", "Cast", [f(9)], to=TensorProto.INT32)
    case("Cast_f16", "Cast", [f(9)], to=TensorProto.FLOAT16)
    case("Cast_bool", "Cast", [i(0, 1, 2)], to=TensorProto.BOOL)
    case("CastLike", "CastLike", [f(9)], {1: i(1)})
    for op in ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]:
        case(op, op, [i(1, 2, 3), i(2)])
    for op in ["And", "Or", "Xor"]:
        case(op, op, [np.array([True, True, False, False]), np.array([True, False, True, False])])
    case("Not", "Not", [np.array([True, False])])
    case("Where", "Where", [np.array([[True], [False]]), f(3), f(2, 3)])
    special = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    case("IsNaN", "IsNaN", [special])
    case("IsInf", "IsInf", [special])
    case("IsInf_negative", "IsInf", [special], detect_positive=0)
    case("IsInf_positive", "IsInf", [special], detect_negative=0)


def reductions():
    for op in ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]:
        x = f(2, 3, 4, low=0.5)
        case(f"Reduce{op}", f"Reduce{op}", [x], {1: i(1, -1)})
        case(f"Reduce{op}_all", f"Reduce{op}", [x], keepdims=0)
        case(f"Reduce{op}_attribute", f"Reduce{op}", [x], opset=11, axes=[0, 2], keepdims=0)
    case("ReduceSum_noop", "ReduceSum", [f(2, 3)], {1: i()}, noop_with_empty_axes=1)
    case("ReduceSumSquare_int", "ReduceSumSquare", [i(1, 2, 3, dtype=np.int32)])
    case("ReduceMean_f16", "ReduceMean", [f(3, 50, dtype=np.float16)], {1: i(1)})
    ties = np.array([[1, 3, 3], [2, 2, 1]], np.float32)
    for op in ["ArgMax", "ArgMin"]:
        case(op, op, [ties])
        case(f"{op}_last", op, [ties], axis=1, keepdims=0, select_last_index=1)
    case("CumSum", "CumSum", [f(2, 5)], {1: np.array(1)})
    case("CumSum_reverse", "CumSum", [f(2, 5)], {1: np.array(-1)}, exclusive=1, reverse=1)


def linear():
    case("MatMul", "MatMul", [f(2, 3, 4), f(4, 5)])
    case("MatMul_vector", "MatMul", [f(4), f(2, 4, 5)])
    case("Gemm", "Gemm", [f(4, 3), f(5, 4), f(5)], transA=1, transB=1, alpha=0.5, beta=2.0)
    case("Gemm_without_c", "Gemm", [f(3, 4), f(4, 5)])
    case("Conv", "Conv", [f(2, 4, 7, 6), f(6, 2, 3, 2), f(6)], group=2, strides=[2, 1], pads=[1, 0, 2, 1],
         dilations=[1, 2])
    case("Conv_1d", "Conv", [f(1, 3, 9), f(4, 3, 3)], kernel_shape=[3])
    case("Conv_3d", "Conv", [f(1, 2, 4, 5, 4), f(3, 2, 2, 2, 2)])
    for mode in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
        case(f"Conv_{mode}", "Conv", [f(1, 1, 6, 7), f(1, 1, 2, 3)], auto_pad=mode, strides=[1, 2])
    case("ConvTranspose", "ConvTranspose", [f(2, 4, 5, 3), f(4, 3, 3, 2), f(6)], group=2, strides=[2, 3],
         pads=[1, 0, 2, 1], output_padding=[1, 2], dilations=[1, 2])
    case("ConvTranspose_1d", "ConvTranspose", [f(2, 3, 5), f(3, 4, 3)])
    for op in ["MaxPool", "AveragePool"]:
        case(op, op, [f(2, 3, 7, 6)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
        case(f"{op}_ceil", op, [f(1, 1, 7, 8)], kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
        case(f"{op}_same", op, [f(1, 1, 7, 8)], kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    case("MaxPool_dilated", "MaxPool", [f(1, 1, 9)], kernel_shape=[3], dilations=[2])
    case("AveragePool_pad", "AveragePool", [f(1, 1, 5, 5)], kernel_shape=[3, 3], pads=[1, 1, 1, 1],
         count_include_pad=1)
    case("GlobalAveragePool", "GlobalAveragePool", [f(2, 3, 4, 5)])
    case("GlobalMaxPool", "GlobalMaxPool", [f(2, 3, 4, 5)])
    q, k, v = f(2, 4, 5, 8), f(2, 2, 6, 8), f(2, 2, 6, 3)
    case("Attention", "Attention", [q, k, v], opset=23)
    case("Attention_mask", "Attention", [q, k, v, f(5, 6)], opset=23, scale=0.3)
    case("Attention_causal_3d", "Attention", [f(2, 5, 12), f(2, 5, 6), f(2, 5, 4)], opset=23, is_causal=1,
         q_num_heads=4, kv_num_heads=2)


def norms():
    c = {1: f(3), 2: f(3), 3: f(3), 4: f(3, low=0.1)}
    case("BatchNormalization", "BatchNormalization", [f(2, 3, 4)], c, epsilon=1e-3)
    case("InstanceNormalization", "InstanceNormalization", [f(2, 3, 4, 5)], {1: f(3), 2: f(3)})
    case("LayerNormalization", "LayerNormalization", [f(2, 3, 4)], {1: f(3, 4), 2: f(3, 4)}, axis=1)
    case("LayerNormalization_scale", "LayerNormalization", [f(2, 3, 4)], {1: f(4)}, epsilon=1e-3)
    case("LpNormalization", "LpNormalization", [f(2, 3, 4)], axis=1, p=1)
    case("LpNormalization_2", "LpNormalization", [f(2, 3)])
    case("RMSNormalization", "RMSNormalization", [f(2, 3, 4)], {1: f(4)}, opset=23)
    case("GroupNormalization", "GroupNormalization", [f(2, 6, 4)], {1: f(6), 2: f(6)}, opset=21, num_groups=3)
    case("GroupNormalization_18", "GroupNormalization", [f(2, 6, 4)], {1: f(3), 2: f(3)}, opset=18, num_groups=3)
    for op in ["Softmax", "LogSoftmax"]:
        case(op, op, [f(2, 3, 4)])
        case(f"{op}_axis", op, [f(2, 3, 4)], axis=1)
        case(f"{op}_flat", op, [f(2, 3, 4)], opset=11)
        case(f"{op}_last_11", op, [f(2, 3, 4)], opset=11, axis=-1)
    scores, labels = f(4, 5), i(0, 4, 2, 1)
    for reduction in ["none", "mean", "sum"]:
        case(f"SoftmaxCrossEntropyLoss_{reduction}", "SoftmaxCrossEntropyLoss", [scores, labels], outputs=2,
             reduction=reduction)
        case(f"NegativeLogLikelihoodLoss_{reduction}", "NegativeLogLikelihoodLoss", [scores, labels],
             reduction=reduction)
    case("SoftmaxCrossEntropyLoss_weighted", "SoftmaxCrossEntropyLoss", [scores, labels], {2: f(5, low=0.1)},
         ignore_index=2)


def shapes():
    x = f(2, 3, 4)
    case("Reshape", "Reshape", [x], {1: i(0, -1, 2)})
    case("Reshape_allowzero", "Reshape", [f(0, 3)], {1: i(3, 0)}, allowzero=1)
    case("Transpose", "Transpose", [x])
    case("Transpose_perm", "Transpose", [x], perm=[1, 0, 2])
    case("Flatten", "Flatten", [x], axis=2)
    case("Flatten_0", "Flatten", [x], axis=0)
    case("Squeeze", "Squeeze", [f(1, 3, 1)], {1: i(-1)})
    case("Squeeze_all", "Squeeze", [f(1, 3, 1)])
    case("Squeeze_attribute", "Squeeze", [f(1, 3, 1)], opset=11, axes=[0])
    case("Unsqueeze", "Unsqueeze", [x], {1: i(0, -1)})
    case("Unsqueeze_attribute", "Unsqueeze", [x], opset=11, axes=[1])
    case("Expand", "Expand", [f(3, 1)], {1: i(2, 1, 4)})
    case("Expand_smaller", "Expand", [f(2, 3, 4)], {1: i(3, 1)})
    case("Shape", "Shape", [x])
    case("Shape_part", "Shape", [x], start=-2, end=9)
    case("Size", "Size", [x])
    case("Dropout", "Dropout", [x])
    case("DepthToSpace", "DepthToSpace", [f(2, 8, 2, 3)], blocksize=2)
    case("DepthToSpace_CRD", "DepthToSpace", [f(2, 8, 2, 3)], blocksize=2, mode="CRD")
    case("SpaceToDepth", "SpaceToDepth", [f(2, 2, 4, 6)], blocksize=2)
    case("Concat", "Concat", [f(2, 3), f(2, 1)], axis=-1)
    case("Split", "Split", [f(2, 6)], {1: i(2, 4)}, outputs=2, axis=1)
    case("Split_equal", "Split", [f(2, 7)], outputs=3, axis=1, num_outputs=3)
    case("Split_attribute", "Split", [f(2, 6)], opset=11, outputs=2, axis=1, split=[1, 5])
    case("Slice", "Slice", [f(5, 6)], {1: i(1, -1), 2: i(9, -99), 3: i(0, 1), 4: i(2, -1)})
    case("Slice_attribute", "Slice", [f(5, 6)], opset=9, starts=[1], ends=[-1], axes=[1])
    case("Pad", "Pad", [f(2, 3)], {1: i(1, 0, 0, 2), 2: np.float32(7)})
    case("Pad_axes", "Pad", [f(2, 3)], {1: i(1, 2), 2: None, 3: i(-1)}, mode="edge")
    case("Pad_reflect", "Pad", [f(2, 5)], {1: i(0, 2, 0, 3)}, mode="reflect")
    case("Pad_attribute", "Pad", [f(2, 3)], opset=10, pads=[0, 1, 1, 0], value=2.0)
    case("Tile", "Tile", [f(2, 3)], {1: i(2, 3)})
    case("Trilu", "Trilu", [f(4, 5)])
    case("Trilu_lower", "Trilu", [f(4, 5)], {1: np.array(-1)}, upper=0)
    case("Gather", "Gather", [f(5, 4)], {1: i([1, -1], [0, 2])}, axis=1)
    case("GatherElements", "GatherElements", [f(3, 3)], {1: i([1, -1, 0])}, axis=0)
    case("GatherND", "GatherND", [f(2, 3, 4)], {1: i([1], [0])}, batch_dims=1)
    case("ScatterElements", "ScatterElements", [f(3, 3)], {1: i([1, 0, 2]), 2: f(1, 3)}, axis=0)
    case("ScatterElements_add", "ScatterElements", [f(3, 3)], {1: i([1, 1, 2]), 2: f(1, 3)}, axis=1, reduction="add")
    case("ScatterND", "ScatterND", [f(4, 3)], {1: i([1], [3]), 2: f(2, 3)})
    case("OneHot", "OneHot", [i(1, -1, 9)], {1: np.array(4), 2: np.array([0.5, 2], np.float32)}, axis=0)
    case("TopK", "TopK", [f(3, 6)], {1: i(2)}, outputs=2, axis=1)
    case("TopK_smallest", "TopK", [f(3, 6)], {1: i(2)}, outputs=2, axis=0, largest=0)
    case("Constant", None, [f(2)], nodes=[
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(f(2))),
        helper.make_node("Constant", [], ["d"], value_float=2.5),
        helper.make_node("Constant", [], ["e"], value_floats=[2.5, 1.5]),
        helper.make_node("Sum", ["x0", "c", "d", "e"], ["y0"])])
    case("ConstantOfShape", None, [f(2)], nodes=[
        helper.make_node("Constant", [], ["s"], value_ints=[3, 2]),
        helper.make_node("ConstantOfShape", ["s"], ["c"], value=numpy_helper.from_array(np.array([1.5], np.float32))),
        helper.make_node("Add", ["x0", "c"], ["y0"])])
    case("Range", None, [i(5)], nodes=[
        helper.make_node("Constant", [], ["a"], value_int=3),
        helper.make_node("Constant", [], ["b"], value_int=10),
        helper.make_node("Constant", [], ["d"], value_int=2),
        helper.make_node("Range", ["a", "b", "d"], ["r"]),
        helper.make_node("Add", ["x0", "r"], ["y0"])])


def dynamic():
    """Shapes computed from inputs of unknown extents."""
    x = f(3, 5, 8)
    nodes = [
        helper.make_node("Shape", ["x0"], ["s"]),
        helper.make_node("Constant", [], ["zero"], value_ints=[0]),
        helper.make_node("Constant", [], ["one"], value_int=1),
        helper.make_node("Constant", [], ["tail"], value_ints=[2, 4]),
        helper.make_node("Constant", [], ["zeros"], value_ints=[0]),
        helper.make_node("Gather", ["s", "zero"], ["b"]),
        helper.make_node("Gather", ["s", "one"], ["t"]),
        helper.make_node("Unsqueeze", ["t", "zeros"], ["t1"]),
        helper.make_node("Concat", ["b", "t1", "tail"], ["target"], axis=0),
        helper.make_node("Reshape", ["x0", "target"], ["y0"])]
    case("Reshape_dynamic", None, [x], nodes=nodes, dims=[["batch", "time", None]])
    zero = nodes[:-1] + [helper.make_node("Reshape", ["x0", "target"], ["y0"], allowzero=1)]
    case("Reshape_dynamic_allowzero", None, [x], nodes=zero, dims=[["batch", "time", None]])
    # A derived value, whose dimensions are known to be the input's by their names alone.
    derived = [helper.make_node("Exp", ["x0"], ["e"])] + nodes[:-1] + [
        helper.make_node("Reshape", ["e", "target"], ["y0"])]
    case("Reshape_dynamic_derived", None, [x], nodes=derived, dims=[["batch", "time", None]])
    nodes = [
        helper.make_node("Shape", ["x0"], ["b"], end=1),
        helper.make_node("Constant", [], ["rest"], value_ints=[-1]),
        helper.make_node("Concat", ["b", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x0", "target"], ["y0"])]
    case("Reshape_dynamic_flat", None, [x], nodes=nodes, dims=[["batch", None, None]])
    case("MatMul_dynamic", "MatMul", [f(3, 4)], {1: f(4, 5)}, dims=[["batch", None]])


def old():
    """Operator set 6, which ONNX Runtime does not run."""
    x, y = f(2, 3, 4), f(3)
    case("Add_6", "Add", [x, y], opset=6, broadcast=1, axis=1, expected=[x + y[:, None]])
    case("Dropout_6", "Dropout", [x], opset=6, is_test=1, expected=[x])


def control():
    """Graphs within nodes, and functions of a model."""
    def info(name, dims, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, dims)

    x = f(3, 4)
    double = helper.make_graph([helper.make_node("Add", ["x0", "x0"], ["d"])], "double", [], [info("d", [3, 4])])
    negative = helper.make_graph([helper.make_node("Neg", ["x0"], ["m"])], "negative", [], [info("m", [3, 4])])
    choose = helper.make_node("If", ["c"], ["y0"], then_branch=double, else_branch=negative)
    sums = [helper.make_node("ReduceSum", ["x0"], ["t"], keepdims=0), helper.make_node("Constant", [], ["z"], value_float=0.0)]
    case("If", None, [x], nodes=[helper.make_node("Shape", ["x0"], ["s"]), helper.make_node("Size", ["s"], ["n"]),
                                 helper.make_node("Constant", [], ["two"], value_int=2),
                                 helper.make_node("Equal", ["n", "two"], ["c"]), choose])
    case("If_data", None, [x], nodes=sums + [helper.make_node("Less", ["t", "z"], ["c"]), choose])
    boolean, count = TensorProto.BOOL, TensorProto.INT64
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Mul", ["v", "x0"], ["w"]),
         helper.make_node("Identity", ["w"], ["row"])],
        "body", [info("i", [], count), info("go", [], boolean), info("v", [3, 4])],
        [info("on", [], boolean), info("w", [3, 4]), info("row", [3, 4])])
    case("Loop", None, [x], outputs=2, nodes=[
        helper.make_node("Constant", [], ["n"], value_int=3),
        helper.make_node("Loop", ["n", "", "x0"], ["y0", "y1"], body=body)])
    until = helper.make_graph(
        [helper.make_node("Constant", [], ["last"], value_int=4), helper.make_node("Less", ["i", "last"], ["on"]),
         helper.make_node("Add", ["v", "x0"], ["w"])],
        "until", [info("i", [], count), info("go", [], boolean), info("v", [3, 4])],
        [info("on", [], boolean), info("w", [3, 4])])
    case("Loop_condition", None, [x], nodes=[
        helper.make_node("Constant", [], ["go"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("Loop", ["", "go", "x0"], ["y0"], body=until)])
    step = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Mul", ["t", "e"], ["o"])],
        "step", [info("s", [4]), info("e", [4])], [info("t", [4]), info("o", [4])])
    case("Scan", "Scan", [f(4), x], outputs=2, body=step, num_scan_inputs=1, scan_input_directions=[1],
         scan_output_axes=[1])


def recurrent():
    x, batch, size, hidden = f(5, 2, 3), 2, 3, 4
    for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
        outputs = 3 if op == "LSTM" else 2
        for direction, d in [("forward", 1), ("reverse", 1), ("bidirectional", 2)]:
            weights = {1: f(d, gates * hidden, size, low=-1, high=1), 2: f(d, gates * hidden, hidden, low=-1, high=1),
                       3: f(d, 2 * gates * hidden, low=-1, high=1), 4: None, 5: f(d, batch, hidden)}
            if op == "LSTM":
                weights |= {6: f(d, batch, hidden), 7: f(d, 3 * hidden)}
            case(f"{op}_{direction}", op, [x], weights, outputs=outputs, hidden_size=hidden, direction=direction)
    weights = {1: f(1, 12, size), 2: f(1, 12, hidden), 3: f(1, 24)}
    case("GRU_linear", "GRU", [x], weights, outputs=2, hidden_size=hidden, linear_before_reset=1, clip=1.5)


def images():
    x = f(1, 2, 5, 6)
    for mode in ["nearest", "linear", "cubic"]:
        for coordinates in ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]:
            case(f"Resize_{mode}_{coordinates}", "Resize", [x], {1: None, 2: np.array([1, 1, 1.6, 0.5], np.float32)},
                 mode=mode, coordinate_transformation_mode=coordinates)
    case("Resize_sizes", "Resize", [x], {1: None, 2: None, 3: i(1, 2, 9, 4)}, mode="linear")
    case("Resize_10", "Resize", [x], {1: np.array([1, 1, 2, 3], np.float32)}, opset=10)
    case("Upsample", "Upsample", [x], {1: np.array([1, 1, 2, 3], np.float32)}, opset=9, mode="linear")
    case("LRN", "LRN", [x], size=3, alpha=0.3, beta=0.6, bias=1.5)
    case("MeanVarianceNormalization", "MeanVarianceNormalization", [x])
    case("CenterCropPad", "CenterCropPad", [x], {1: i(8, 3)}, axes=[2, 3])
    case("Hardmax", "Hardmax", [f(3, 4)], axis=0)
    case("Hardmax_flat", "Hardmax", [f(3, 4, 2)], opset=11)
    case("LpPool", "LpPool", [x], kernel_shape=[2, 3], p=3, strides=[2, 1], pads=[1, 0, 0, 2])
    case("GlobalLpPool", "GlobalLpPool", [x], p=3)
    case("ConvTranspose_same", "ConvTranspose", [f(1, 1, 3, 3), f(1, 2, 3, 3)], auto_pad="SAME_LOWER", strides=[2, 2])
    case("EyeLike", "EyeLike", [f(3, 4)], k=1)
    case("ReverseSequence", "ReverseSequence", [f(4, 3, 2)], {1: i(1, 4, 2)})
    case("Compress", "Compress", [f(3, 4)], {1: np.array([True, False, True])}, axis=1)
    case("Compress_flat", "Compress", [f(3, 4)], {1: np.array([False, True, True])})
    for equation, shapes in [("ij,jk->ik", [(3, 4), (4, 5)]), ("bij,bjk", [(2, 3, 4), (2, 4, 5)]),
                             ("bhsd,bhtd->bhst", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("ii->i", [(4, 4)]),
                             ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]), ("i,j,k->kij", [(2,), (3,), (4,)]),
                             ("ij->", [(3, 4)]), ("ij,kj->ik", [(3, 4), (5, 4)])]:
        case(f"Einsum_{equation}", "Einsum", [f(*shape) for shape in shapes], equation=equation)
    y = f(3, 4)
    case("CumProd", "CumProd", [y], {1: np.array(1)}, opset=26, expected=[np.cumprod(y, 1)])
    x, angles = f(2, 3, 5, 4), f(2, 5, 2)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., :2], x[..., 2:]
    c, s = cos[:, None], sin[:, None]
    case("RotaryEmbedding", "RotaryEmbedding", [x], {1: cos, 2: sin}, opset=23,
         expected=[np.concatenate([c * a - s * b, s * a + c * b], -1)])


def samples():
    """Samples of images at places that are data, and a resize to a length that is no integer."""
    image, places = f(2, 3, 4, 5), f(2, 3, 2, 2, low=-1.4, high=1.4)
    for mode, beyond, corners in [("linear", "zeros", 0), ("linear", "border", 1), ("linear", "reflection", 0),
                                  ("nearest", "zeros", 1), ("nearest", "reflection", 0), ("cubic", "zeros", 0),
                                  ("cubic", "border", 1), ("cubic", "reflection", 1)]:
        case(f"GridSample_{mode}_{beyond}_{corners}", "GridSample", [image, places],
             mode=mode, padding_mode=beyond, align_corners=corners)
    case("GridSample_16", "GridSample", [image, places], opset=16, mode="bilinear")
    case("Resize_fraction", "Resize", [image], {1: None, 2: np.array([1, 1, 1.6, 0.7], np.float32)},
         mode="linear", coordinate_transformation_mode="align_corners")


def sequences():
    """Sequences whose length is known."""
    node = helper.make_node
    x, y = f(2, 3), f(2, 3)
    built = [node("SequenceConstruct", ["x0", "x1"], ["s"])]
    case("SequenceConstruct", "", [x, y], nodes=[*built, node("ConcatFromSequence", ["s"], ["y0"], axis=-1)])
    case("ConcatFromSequence_new", "", [x, y], nodes=[*built, node("ConcatFromSequence", ["s"], ["y0"], axis=1, new_axis=1)])
    case("SequenceLength", "", [x, y], nodes=[*built, node("SequenceLength", ["s"], ["y0"])])
    empty = [node("SequenceEmpty", [], ["e"]), node("SequenceInsert", ["e", "x0"], ["s"])]
    for place in (-1, 0, 1):
        inserted = [*empty, node("SequenceInsert", ["s", "x1", "c2"], ["t"])]
        case(f"SequenceInsert_{place}", "", [x, y], {2: np.array(place)},
             nodes=[*inserted, node("SequenceAt", ["t", "c2"], ["y0"])])
    case("SequenceErase", "", [x, y], {2: np.array(-2)},
         nodes=[*built, node("SequenceErase", ["s", "c2"], ["t"]), node("ConcatFromSequence", ["t"], ["y0"], axis=0)])
    for name, size, keeps in [("", None, 1), ("_dropped", None, 0), ("_size", np.array(2), 1), ("_sizes", i(1, 2), 1)]:
        split = node("SplitToSequence", ["x0"] if size is None else ["x0", "c1"], ["s"], axis=1, keepdims=keeps)
        at = [node("SequenceLength", ["s"], ["n"]), node("Sub", ["n", "one"], ["k"]), node("SequenceAt", ["s", "k"], ["y0"])]
        one = node("Constant", [], ["one"], value=numpy_helper.from_array(np.array(1)))
        case(f"SplitToSequence{name}", "", [x], {} if size is None else {1: size}, nodes=[split, one, *at])
    tensor = helper.make_tensor_value_info
    body = helper.make_graph([node("Mul", ["a", "b"], ["c"])], "body",
                             [tensor(n, TensorProto.FLOAT, [2, 3]) for n in "ab"], [tensor("c", TensorProto.FLOAT, [2, 3])])
    case("SequenceMap", "", [x, y],
         nodes=[*built, node("SequenceMap", ["s", "x0"], ["t"], body=body), node("ConcatFromSequence", ["t"], ["y0"], axis=0)])


def quantized():
    """Numbers of 8 and 16 bits with a scale and a zero point, beyond the ends of their types too."""
    u8, s8, u16, s32 = np.uint8, np.int8, np.uint16, np.int32
    whole = lambda dtype, *shape: RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
    scale = lambda *values: np.array(values, np.float32) if len(values) > 1 else np.float32(values[0])
    case("DequantizeLinear", "DequantizeLinear", [whole(u8, 3, 4)], {1: scale(0.05), 2: u8(131)})
    case("DequantizeLinear_axis", "DequantizeLinear", [whole(s8, 3, 4)], {1: scale(0.1, 2, 3), 2: i(0, 5, -7, dtype=s8)}, axis=0)
    case("DequantizeLinear_bias", "DequantizeLinear", [whole(s32, 5)], {1: scale(1e-9)})
    case("QuantizeLinear", "QuantizeLinear", [f(4, 5, high=9)], {1: scale(0.03), 2: u8(100)})
    case("QuantizeLinear_ties", "QuantizeLinear", [np.array([0.5, 1.5, -2.5, 300, -300, np.inf], np.float32)], {1: scale(1), 2: s8(3)})
    case("QuantizeLinear_axis", "QuantizeLinear", [f(4, 3)], {1: scale(0.1, 0.01, 2), 2: i(9, 0, 255, dtype=u8)}, axis=-1)
    case("QuantizeLinear_wide", "QuantizeLinear", [f(4, 5)], {1: scale(1e-4), 2: u16(30000)}, opset=21)
    case("QuantizeLinear_alone", "QuantizeLinear", [f(7)], {1: scale(0.01)})
    case("DynamicQuantizeLinear", "DynamicQuantizeLinear", [f(3, 6)], outputs=3)
    case("DynamicQuantizeLinear_zeros", "DynamicQuantizeLinear", [np.zeros((2, 2), np.float32)], outputs=3)
    case("MatMulInteger", "MatMulInteger", [whole(u8, 3, 7), whole(s8, 7, 2)], {2: u8(127), 3: s8(-3)})
    case("MatMulInteger_columns", "MatMulInteger", [whole(u8, 3, 7), whole(u8, 7, 2)], {2: u8(0), 3: i(5, 200, dtype=u8)})
    image, kernel = whole(u8, 1, 4, 6, 5), whole(s8, 6, 2, 3, 3)
    case("ConvInteger", "ConvInteger", [image, kernel], {2: u8(120)}, group=2, pads=[1, 0, 1, 2])
    case("QLinearMatMul", "QLinearMatMul", [whole(u8, 3, 7)], {
        1: scale(0.01), 2: u8(110), 3: whole(s8, 7, 2), 4: scale(0.02), 5: s8(0), 6: scale(0.04), 7: u8(128)})
    case("QLinearConv", "QLinearConv", [image], {
        1: scale(0.01), 2: u8(120), 3: kernel, 4: scale(0.01, 0.02, 0.03, 0.04, 0.05, 0.06), 5: np.zeros(6, s8),
        6: scale(0.05), 7: u8(90), 8: RNG.integers(-5000, 5000, 6).astype(s32)}, group=2, strides=[2, 1])


def signals():
    """Fourier transforms and windows. Sums are those of numpy in float64: ONNX Runtime's are some 50 units off."""
    three = np.int64(3)

    def numbers(x):
        x = x.astype(np.float64)
        return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]

    def parts(z):
        return [np.stack([z.real, z.imag], -1).astype(np.float32)]

    x = f(2, 6, 5, 2)
    case("DFT", "DFT", [x], {1: None, 2: np.int64(1)}, expected=parts(np.fft.fft(numbers(x), axis=1)))
    x = f(2, 6, 1)
    case("DFT_real", "DFT", [x], expected=parts(np.fft.fft(numbers(x), axis=-1)))
    x = f(2, 7, 1)
    case("DFT_onesided", "DFT", [x], onesided=1, expected=parts(np.fft.rfft(numbers(x), axis=-1)))
    x = f(2, 6, 2)
    case("DFT_longer", "DFT", [x], {1: np.int64(60)}, expected=parts(np.fft.fft(numbers(x), n=60)))
    x = f(3, 6, 2)
    inverse = parts(np.fft.ifft(numbers(x), n=3, axis=0))
    case("DFT_inverse", "DFT", [x], {1: three, 2: np.int64(0)}, inverse=1, expected=inverse)
    x = f(2, 5, 4, 2)
    case("DFT_17", "DFT", [x], opset=17, axis=2, inverse=1, expected=parts(np.fft.ifft(numbers(x), axis=2)))
    x, w = f(2, 20, 1), f(8)
    windows = np.lib.stride_tricks.sliding_window_view(numbers(x), 8, axis=1)[:, ::3] * w
    case("STFT", "STFT", [x], {1: three, 2: w}, onesided=1, expected=parts(np.fft.rfft(windows)))
    windows = np.lib.stride_tricks.sliding_window_view(numbers(x), 6, axis=1)[:, ::3]
    case("STFT_length", "STFT", [x], {1: three, 2: None, 3: np.int64(6)}, onesided=0, expected=parts(np.fft.fft(windows)))
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        scaled = [helper.make_node(op, ["c1"], ["w"], periodic=op != "HannWindow"), helper.make_node("Mul", ["x0", "w"], ["y0"])]
        case(op, op, [f(9)], {1: np.int64(9)}, nodes=scaled)
    for op in ["MaxPool", "AveragePool"]:
        case(f"{op}_beyond", op, [f(1, 2, 3, 2)], kernel_shape=[5, 2], strides=[5, 1], ceil_mode=1)


def main():
    elementwise()
    reductions()
    linear()
    norms()
    shapes()
    dynamic()
    old()
    control()
    recurrent()
    images()
    samples()
    sequences()
    quantized()
    signals()
    with zipfile.ZipFile(HERE / "operators.npz", "w", zipfile.ZIP_DEFLATED) as z:
        def put(name, array):
            data = io.BytesIO()
            npy.write_array(data, np.asarray(array))
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(info, data.getvalue())

        for name, (model, inputs, outputs) in CASES.items():
            put(f"{name}/model", np.frombuffer(model, np.uint8))
            for k, a in enumerate(inputs):
                put(f"{name}/in_{k}", a)
            for k, a in enumerate(outputs):
                put(f"{name}/out_{k}", a)
    print(len(CASES), "cases")


if __name__ == "__main__":
    main()
