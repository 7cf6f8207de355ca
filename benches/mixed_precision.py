#!/usr/bin/env python3
"""Measures `ngc-opt --assign-precision` beside other tools that choose formats, on the same networks in the same run.

    benches/models.py FOLDER --small --format pt2
    benches/mixed_precision.py FOLDER [--ngc target/release] > docs/mixed-precision.md

FOLDER holds NAME.pt2 with NAME.npz, four samples of its inputs. Of each network: bytes, and the largest error on inputs that no
tool was given, of ngc's assignments for several targets, of torch's lists, of onnxconverter-common's auto_mixed_precision and of
ModelOpt's AutoCast. Then two programs that leave f16. Needs `cargo build --release --workspace`, torch, transformers, torchvision,
onnx, onnxruntime, onnxconverter-common and nvidia-modelopt (`pip install --no-deps`, with lief, onnx-graphsurgeon, polygraphy,
onnxslim, omegaconf, pulp and nvidia-ml-py). What ngc wrote stays in --work, and is not made again where it lies there.
"""

import argparse
import contextlib
import copy
import importlib.metadata
import importlib.util
import io
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))

TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
SIZES = {TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2, TensorProto.FLOAT: 4, TensorProto.DOUBLE: 8}
HELD_OUT = range(100, 108)
NETWORKS = ["bert", "gpt2", "vit", "resnet50", "t5_encoder"]


def say(text):
    print(text, file=sys.stderr, flush=True)


# Programs of torch.


def floating(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def is_cast(node):
    return node.op == "call_function" and node.target in (torch.ops.aten.to.dtype, torch.ops.aten._to_copy.default)


class Observed(torch.fx.Interpreter):
    """Runs a module node by node, and keeps what `look` makes of each result."""

    def __init__(self, module, look):
        super().__init__(module)
        self.look, self.seen = look, {}

    def run_node(self, node):
        result = super().run_node(node)
        self.seen[node.name] = self.look(node, result)
        return result


class Exact(torch.fx.Interpreter):
    """Evaluates a program in f64. What becomes an integer is computed as the program says, so that no choice falls otherwise."""

    def __init__(self, module):
        super().__init__(module)
        self.as_given = set()
        whole = lambda n: isinstance(n.meta.get("val"), torch.Tensor) and not n.meta["val"].is_floating_point()
        stack = [n for n in module.graph.nodes if is_cast(n) and whole(n)]
        while stack:
            node = stack.pop()
            if node not in self.as_given:
                self.as_given.add(node)
                stack.extend(node.all_input_nodes)

    def run_node(self, node):
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        if node in self.as_given:
            return getattr(self, node.op)(node.target, args, kwargs)
        widen = lambda x: x.double() if floating(x) else torch.float64 if x is torch.float32 else x
        if "_assert_tensor_metadata" in str(node.target):
            return None
        args, kwargs = torch.utils._pytree.tree_map(widen, (args, kwargs))
        result = getattr(self, node.op)(node.target, args, kwargs)
        return torch.utils._pytree.tree_map(widen, result) if node.op in ("placeholder", "get_attr") else result


def without_checks(module):
    """The graph without its assertions on formats, which a converted program need not meet."""
    for node in list(module.graph.nodes):
        if "_assert_tensor_metadata" in str(node.target) or node.name == "_guards_fn":
            module.graph.erase_node(node)
    module.recompile()
    return module


class Casts(TorchDispatchMode):
    """Conversions between formats that run within, as (from, format, elements)."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and floating(result) and floating(args[0]) and result.dtype != args[0].dtype:
            self.seen.append((args[0].data_ptr(), result.dtype, result.numel()))
        return result


def apply_formats(program, formats):
    """As ngc's own Python output has it: each op computes in its format, with conversions where operands have another one."""
    text = (ROOT / "benches/mixed_precision.py").parent  # the code that applies comes from a file that ngc wrote
    raise NotImplementedError(text)


def only(result):
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result


# The lists of torch.autocast("cuda"), by operator of a program of torch.export.
LOW = set("linear addmm matmul mm bmm baddbmm conv1d conv2d convolution conv_transpose2d einsum scaled_dot_product_attention".split())
HIGH = set("""softmax log_softmax layer_norm native_layer_norm group_norm exp expm1 log log2 log10 log1p pow rsqrt reciprocal sum mean
    norm prod cumsum cumprod tan acos asin cosh sinh erfinv softplus rms_norm cosine_similarity""".split())


def cuda_list(program):
    """A format for each op with a floating result as autocast for CUDA gives it; the widest operand's where it has no opinion."""
    formats = {}
    for node in program.module().graph.nodes:
        value = node.meta.get("val")
        value = only(value) if value is not None else None
        if node.op != "call_function" or not floating(value):
            continue
        name = str(node.target).removeprefix("aten.").split(".")[0]
        operands = [formats.get(n.name, "f32") for n in node.all_input_nodes if floating(only(n.meta.get("val")))]
        operands_of_steps = [f for n, f in zip(node.all_input_nodes, operands)]
        if name in LOW:
            formats[node.name] = "f16"
        elif name in HIGH:
            formats[node.name] = "f32"
        else:
            formats[node.name] = "f16" if operands_of_steps and all(f == "f16" for f in operands_of_steps) else "f32"
    return formats
