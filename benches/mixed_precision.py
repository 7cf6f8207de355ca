#!/usr/bin/env python3
"""Measures `ngc-opt --assign-precision` beside other tools that choose formats, on the same networks in the same run.

    benches/models.py FOLDER --small --format pt2
    benches/mixed_precision.py FOLDER [--ngc target/release] > docs/mixed-precision.md

FOLDER holds NAME.pt2 with NAME.npz, four samples of its inputs. Of each network: bytes, and the largest error on inputs that no
tool was given, of ngc's assignments for several targets, of torch's lists, of onnxconverter-common's auto_mixed_precision and of
ModelOpt's AutoCast. Then two programs that leave f16. Needs `cargo build --release --workspace`, torch, transformers, torchvision,
onnx, onnxruntime, onnxconverter-common and nvidia-modelopt (`pip install --no-deps`, with lief, onnx-graphsurgeon, polygraphy,
onnxslim, omegaconf, pulp and nvidia-ml-py). What ngc wrote stays in the folder --work, and is not made again where it lies there.
"""

import argparse
import contextlib
import copy
import importlib.metadata
import importlib.util
import json
import logging
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benches"))

TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
SIZES = {TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2, TensorProto.FLOAT: 4, TensorProto.DOUBLE: 8}
HELD_OUT = range(100, 108)
# Targets are in units of the result, whose scale differs between networks.
TARGETS = {
    "bert": ["3e-2", "3e-4 deviation", "1e-2 deviation"],
    "gpt2": ["3e-2", "1e-3 deviation", "1.2e-3 deviation"],
    "vit": ["3e-2", "8e-4 deviation", "1e-3 deviation"],
    "resnet50": ["1e-1", "1.5e-3 deviation", "2e-3 deviation"],
    "t5_encoder": ["1e-1", "2e-3 deviation", "6e-3 deviation"],
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def figure(x):
    if x is None or isinstance(x, str):
        return x or "-"
    if x == 0 or not np.isfinite(x):
        return f"{x:g}"
    return f"{x:#.3g}".rstrip(".") if 0.01 <= abs(x) < 1000 else f"{x:.2e}"


# Programs of torch


def only(result):
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result


def floating(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def value(node):
    """The floating result of an op as torch.export noted it; None of what has several results or another type."""
    val = node.meta.get("val")
    return val if node.op == "call_function" and floating(val) else None


def is_cast(node):
    return node.op == "call_function" and node.target in (torch.ops.aten.to.dtype, torch.ops.aten._to_copy.default)


def module_of(program):
    """The program as a graph, without its assertions on formats and shapes, which a converted program need not meet."""
    module = program.module()
    without_checks(module)
    return module


def without_checks(module):
    for node in list(module.graph.nodes):
        if "_assert_tensor_metadata" in str(node.target) or node.name == "_guards_fn":
            unused = [n for n in node.all_input_nodes if is_cast(n) and len(n.users) == 1]
            module.graph.erase_node(node)
            for cast in unused:
                module.graph.erase_node(cast)
    module.recompile()


class Exact(torch.fx.Interpreter):
    """Evaluates in f64. What becomes an integer is computed as the program says, so that no choice falls otherwise."""

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
        args, kwargs = pytree.tree_map(widen, (args, kwargs))
        result = getattr(self, node.op)(node.target, args, kwargs)
        return pytree.tree_map(widen, result) if node.op in ("placeholder", "get_attr") else result


class Casts(TorchDispatchMode):
    """Conversions between formats that an op makes of its operands, as (address, format, bytes)."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default and floating(result) and floating(args[0]) and result.dtype != args[0].dtype:
            self.seen.append((args[0].data_ptr(), result.dtype, result.numel() * result.element_size()))
        return result


class Counted(torch.fx.Interpreter):
    """Bytes of the values of the ops called `names`, of parameters in the formats in which they are read, of converted copies."""

    def __init__(self, module, names):
        super().__init__(module)
        self.names, self.values, self.copies, self.read, self.results = names, 0, 0, {}, {}

    def run_node(self, node):
        given = {n.name: self.env[n] for n in node.all_input_nodes}
        with Casts() as casts:
            result = super().run_node(node)
        if node.op != "call_function":
            return result
        parameters = {n.name: given[n.name] for n in node.all_input_nodes if n.op == "get_attr" and floating(given[n.name])}
        if is_cast(node) and node.name not in self.names:
            if parameters:
                self.read.update({(name, result.dtype): result.numel() * result.element_size() for name in parameters})
            else:
                self.copies += result.numel() * result.element_size()
            return result
        address = {p.data_ptr(): name for name, p in parameters.items()}
        for pointer, dtype, size in casts.seen:
            if pointer in address:
                self.read[address[pointer], dtype] = size
                parameters.pop(address[pointer], None)
            elif node.name in self.names and not is_cast(node):
                self.copies += size
        self.read.update({(name, p.dtype): p.numel() * p.element_size() for name, p in parameters.items()})
        if node.name in self.names and floating(result):
            self.values += result.numel() * result.element_size()
            self.results[node.name] = result
        return result

    def counts(self):
        return self.values, sum(self.read.values()), self.copies


def with_formats(program, formats, forced):
    """The program with the operands of the ops `forced` converted to their formats; the others take what they are given."""
    module = module_of(program)
    graph, casts = module.graph, {}
    stored = {n: v.dtype for n in graph.nodes if floating(v := n.meta.get("val"))}
    stored.update({n: TORCH[formats[n.name]] for n in graph.nodes if n.name in formats})

    def cast(node, own):
        if stored.get(node, own) == own:
            return node
        if (node, own) not in casts:
            with graph.inserting_after(node):
                casts[node, own] = graph.call_function(torch.ops.aten.to.dtype, (node, own))
        return casts[node, own]

    for node in list(graph.nodes):
        if node.op == "output":
            node.args = torch.fx.map_arg(node.args, lambda v: cast(v, v.meta["val"].dtype) if v in stored else v)
        if node.name in forced:
            own = TORCH[formats[node.name]]
            of = lambda x: own if isinstance(x, torch.dtype) and x.is_floating_point else x
            node.args, node.kwargs = pytree.tree_map(of, (node.args, node.kwargs))
            node.args, node.kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda v: cast(v, own))
    module.recompile()
    return module


# The lists of torch.autocast("cuda"), as far as programs of torch.export have their operators.
LOW = set("linear addmm matmul mm bmm baddbmm conv1d conv2d conv3d convolution scaled_dot_product_attention".split())
HIGH = set("softmax log_softmax layer_norm group_norm exp expm1 log log2 log10 log1p pow rsqrt reciprocal sum norm prod cumsum".split())


def ops(program):
    """Ops with a floating result; those with several results by their first one, and getitem after them."""
    return [n for n in module_of(program).graph.nodes if n.op == "call_function" and floating(only(n.meta.get("val")))]


def followed(program, chosen):
    """The formats `chosen`, with those of all other ops, which take the widest of their operands, and the names of the former."""
    formats = {}
    for node in ops(program):
        operands = [formats.get(n.name, "f32") for n in node.all_input_nodes if floating(only(n.meta.get("val")))]
        formats[node.name] = chosen.get(node.name, "f16" if operands and "f32" not in operands else "f32")
    return formats, {n for n in formats if n in chosen}


def cuda_list(program):
    """The format of each op under autocast for CUDA, and the ops that its lists name; the others take the widest operand's."""
    formats, forced = {}, set()
    for node in ops(program):
        name = str(node.target).removeprefix("aten.").split(".")[0]
        operands = ["f32" if n.op in ("placeholder", "get_attr") else formats[n.name] for n in node.all_input_nodes
                    if n.name in formats or floating(n.meta.get("val")) and n.meta["val"].dim() > 0]
        if "batch_norm" in name:
            operands = operands[:1]
        if name in LOW or name in HIGH:
            forced.add(node.name)
        formats[node.name] = "f16" if name in LOW or name not in HIGH and operands and "f32" not in operands else "f32"
    return formats, forced


# Models of ONNX


REPEATING = [[name] for name in "view _unsafe_view reshape clone alias expand detach".split()]


def types_of(model):
    model = onnx.shape_inference.infer_shapes(model)
    graph = model.graph
    types = {i.name: i.data_type for i in graph.initializer}
    for v in [*graph.input, *graph.value_info, *graph.output]:
        types[v.name] = v.type.tensor_type.elem_type
    return types


def session(model, as_written):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not as_written:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def rounded(model):
    """The model over f32 that computes each op in f32 and rounds its result to the type that the model gives it.

    ONNX Runtime has no f16 kernels for most ops on a CPU: it computes neighbouring ops in f32 and leaves out the roundings between
    them. This form keeps them, for all models in the same way.
    """
    types = types_of(model)
    model = copy.deepcopy(model)
    graph, low = model.graph, (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    plain = lambda tensor: numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name)
    for tensor in graph.initializer:
        if tensor.data_type in low:
            tensor.CopyFrom(plain(tensor))
    for v in [*graph.input, *graph.output, *graph.value_info]:
        if v.type.tensor_type.elem_type in low:
            v.type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = []
    for node in graph.node:
        node = copy.deepcopy(node)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type in low:
                attribute.t.CopyFrom(plain(attribute.t))
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in low:
                attribute.i = TensorProto.FLOAT
        outputs = list(node.output)
        for n, name in enumerate(outputs):
            if types.get(name) in low:
                node.output[n] = f"{name}/exact"
        nodes.append(node)
        for name in outputs:
            if types.get(name) in low:
                nodes.append(helper.make_node("Cast", [f"{name}/exact"], [f"{name}/rounded"], to=types[name]))
                nodes.append(helper.make_node("Cast", [f"{name}/rounded"], [name], to=TensorProto.FLOAT))
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.value_info[:]
    return model


def run(model, samples, as_written=False):
    """The first result on each sample; the text of the error where it does not run."""
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    try:
        running = session(model if as_written else rounded(model), as_written)
        names = {i.name: i.type for i in running.get_inputs()}
        half = lambda name, a: a.astype(np.float16) if names[name] == "tensor(float16)" else a
        low = lambda name, a: a.astype(np.float16).astype(a.dtype) if types[name] == TensorProto.FLOAT16 else a
        feed = lambda args: {n: half(n, low(n, a)) for n, a in zip(names, args)}
        return [running.run(None, feed(args))[0].astype(np.float64) for args in samples]
    except Exception as error:
        return first_line(error)


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {lines[0] if lines else ''}")[:160]


def matched(program, results, model, args):
    """For each value of the program, the name of the value of the ONNX model that has the same numbers, in the same order."""
    whole = copy.deepcopy(model)
    types = types_of(model)
    names = [o for n in model.graph.node for o in n.output if types.get(o) == TensorProto.FLOAT]
    del whole.graph.output[:]
    whole.graph.output.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names)
    running = session(whole, False)
    numbers = running.run(names, {i.name: a for i, a in zip(running.get_inputs(), args)})
    same = lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b[np.isfinite(b)]).max(initial=0.0), equal_nan=True)
    found, start, used = {}, 0, set()
    for name, result in results.items():
        wanted = result.detach().numpy()
        for at in [*range(start, len(names)), *range(start)]:
            if at not in used and numbers[at].shape == wanted.shape and same(numbers[at], wanted):
                found[name], start = names[at], at + 1
                used.add(at)
                break
    # A product may have another number of dimensions there; what repeats its operand is counted only where it is an op there, too.
    computed = {n.name for n in module_of(program).graph.nodes if not str(n.target).split(".")[1:2] in REPEATING}
    for name in computed & (set(results) - set(found)):
        wanted = results[name].detach().numpy().ravel()
        alike = (o for o, x in zip(names, numbers) if wanted.any() and x.size == wanted.size and same(x.ravel(), wanted))
        if (other := next(alike, None)) is not None:
            found[name] = other
    return found


def counts(model, found, results):
    """Bytes as Counted has them: of the values `found`, of initialisers as they are read, of results of Cast."""
    types = types_of(model)
    sizes = lambda name: SIZES.get(types.get(name), 4)
    made = {o: n for n in model.graph.node for o in n.output}

    def before(name):
        """What a conversion that bears the name of the value was made of."""
        while name in made and made[name].op_type == "Cast" and types.get(made[name].input[0]) in SIZES:
            name = made[name].input[0]
        return name

    values = sum(result.numel() * sizes(before(found[name])) for name, result in results.items())
    numel = {i.name: int(np.prod(i.dims)) for i in model.graph.initializer if i.data_type in SIZES}
    elements = {}
    for v in onnx.shape_inference.infer_shapes(model).graph.value_info:
        elements[v.name] = int(np.prod([d.dim_value for d in v.type.tensor_type.shape.dim]))
    read, copies = {}, 0
    for node in model.graph.node:
        cast = node.op_type == "Cast" and types.get(node.input[0]) in SIZES and types.get(node.output[0]) in SIZES
        for name in node.input:
            if name in numel:
                own = types[node.output[0]] if cast else types[name]
                read[name, own] = numel[name] * SIZES[own]
        if cast and node.input[0] not in numel:
            copies += elements.get(node.output[0], 0) * sizes(node.output[0])
    return values, sum(read.values()), copies


# Tools


class Row:
    def __init__(self, network, tool, setting, seconds=None, counts=None, held=None, shown=None, bound=None, as_run=None, note=None):
        self.network, self.tool, self.setting, self.seconds, self.counts = network, tool, setting, seconds, counts
        self.held, self.shown, self.bound, self.as_run, self.note = held, shown, bound, as_run, note
        self.values = counts[0] if counts else None

    def total(self):
        return sum(self.counts[:2]) if self.counts else None


def error(results, truth):
    """The largest difference; text where there is none."""
    if results is None or isinstance(results, str):
        return results
    if not all(np.isfinite(r).all() for r in results):
        bad = ["NaN" if any(np.isnan(r).any() for r in results) else "infinite"]
        return bad[0]
    return max(float(np.abs(r - t).max()) for r, t in zip(results, truth))


def call(module, samples):
    try:
        with torch.no_grad():
            return [only(module(*map(torch.from_numpy, args))).double().numpy() for args in samples]
    except Exception as why:
        return first_line(why)


def ngc(options, name, target):
    """Runs --assign-precision, and gives seconds, what it told, and the Python file, or None where it has no assignment."""
    stem = options.work / f"{name}-{target.replace(' ', '-')}"
    amount, *criterion = target.split()
    asked = f"target={amount}" + "".join(f" criterion={c} objective=bytes" for c in criterion)
    log, written, seconds = (stem.with_name(stem.name + end) for end in (".log", ".py", ".seconds"))
    options.kept += seconds.exists()
    if not seconds.exists():
        command = [options.ngc / "ngc-opt", options.folder / f"{name}.pt2", "--calibrate", options.folder / f"{name}.npz",
                   "--assume-calibrated", "--runtime=reference", f"--assign-precision=formats=f16|f32 {asked}",
                   "--precision-output", written,
                   "-o", stem.with_name(stem.name + ".onnx")]
        say(f"{name}: ngc {target} ...")
        start = time.monotonic()
        try:
            text = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=options.patience).stderr
        except subprocess.TimeoutExpired:
            text = f"error: not done after {options.patience} s"
        took = time.monotonic() - start
        log.write_text(text)
        seconds.write_text(f"{took:.1f}\n")
    return float(seconds.read_text()), log.read_text(), written if written.exists() else None


def bound_of(options, name, formats):
    """What ngc bounds of an assignment that is not its own: the bound of the error, and its count of the bytes of values."""
    log = options.work / f"{name}-list.log"
    if not log.exists():
        known = options.work / f"{name}-names.json"
        asked = [options.ngc / "ngc-opt", options.folder / f"{name}.pt2", "--assign-precision=formats=f16|f32", "--precision-output", known, "-o", "/dev/null"]
        subprocess.run(list(map(str, asked)), capture_output=True, check=True)
        full = {k.rpartition("/")[2]: k for k in json.loads(known.read_text())["formats"]}
        listing = options.work / f"{name}-list.json"
        listing.write_text(json.dumps({"formats": {full[n]: f for n, f in formats.items() if n in full}}))
        command = [options.ngc / "ngc-opt", options.folder / f"{name}.pt2", "--calibrate", options.folder / f"{name}.npz",
                   "--assume-calibrated", "--debug-amp", "--amp-assignment", listing, "-o", "/dev/null"]
        say(f"{name}: bound of the list for CUDA ...")
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        log.write_text(done.stderr)
    return told(log.read_text(), r"error bound of the results: ([^ ,;\n]+)")


def told(text, pattern):
    found = re.search(pattern, text)
    return float(found[1]) if found else None


def python_of(path):
    spec = importlib.util.spec_from_file_location(re.sub(r"\W", "_", path.stem), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def quiet():
    """Keeps what tools print off the page."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def converter(model, args, rtol, atol):
    from onnxconverter_common import auto_mixed_precision

    feed = {i.name: a for i, a in zip(model.graph.input, args)}
    with quiet():
        return auto_mixed_precision.auto_convert_mixed_precision(copy.deepcopy(model), feed, rtol=rtol, atol=atol, keep_io_types=True)


def whole_f16(model):
    from onnxconverter_common import float16

    with quiet():
        return float16.convert_float_to_float16(onnx.shape_inference.infer_shapes(model), keep_io_types=True)


def autocast(model, samples, **flags):
    from modelopt.onnx.autocast import convert_to_mixed_precision

    with tempfile.TemporaryDirectory() as folder, quiet():
        path, data = Path(folder) / "model.onnx", Path(folder) / "samples"
        data.mkdir()
        onnx.save(model, path)
        for n, args in enumerate(samples):
            np.savez(data / f"{n}.npz", **{i.name: a for i, a in zip(model.graph.input, args)})
        return convert_to_mixed_precision(str(path), keep_io_types=True, calibration_data=str(data), **flags)


def peers_of_onnx(name, model, shown, held, truth_shown, truth_held, found, results):
    """Rows of the tools that convert ONNX models."""
    first = shown[0]
    tools = [
        ("onnxconverter-common", "rtol 1e-2, atol 1e-3", lambda: converter(model, first, 1e-2, 1e-3)),
        ("onnxconverter-common", "atol 1e-1", lambda: converter(model, first, 1e-5, 1e-1)),
        ("onnxconverter-common", "all in f16", lambda: whole_f16(model)),
        ("ModelOpt AutoCast", "fp16", lambda: autocast(model, shown)),
        ("ModelOpt AutoCast", "bf16", lambda: autocast(model, shown, low_precision_type="bf16")),
    ]
    rows = []
    for tool, setting, make in tools:
        start = time.monotonic()
        try:
            converted = make()
        except (Exception, SystemExit) as why:
            rows.append(Row(name, tool, setting, time.monotonic() - start, note=first_line(why)))
            say(f"{name}: {tool} {setting}: {rows[-1].note}")
            continue
        seconds = time.monotonic() - start
        bytes_of = counts(converted, found, results) if results else None
        row = Row(name, tool, setting, seconds, bytes_of, error(run(converted, held), truth_held),
                  error(run(converted, shown), truth_shown), as_run=error(run(converted, held, True), truth_held))
        rows.append(row)
        say(f"{name}: {tool} {setting}: {row.held}, as it stands {row.as_run}, bytes {row.counts}, {seconds:.1f} s")
    return rows


def network(options, name):
    import models

    program = torch.export.load(options.folder / f"{name}.pt2")
    stored = np.load(options.folder / f"{name}.npz")
    arrays = [stored[k] for k in stored.files]
    shown = [tuple(a[n] for a in arrays) for n in range(len(arrays[0]))]
    torch.manual_seed(0)
    draws = models.MODELS[name](True)[1].values()
    held = [tuple(draw(seed).numpy() for draw in draws) for seed in HELD_OUT]
    base = options.work / f"{name}.onnx"
    subprocess.run([str(options.ngc / "ngc-translate"), str(options.folder / f"{name}.pt2"), "-o", str(base)], check=True)
    rows, names, of_torch, truth = peers(options, name, program, onnx.load(base), shown, held)
    for target in options.targets or TARGETS[name]:
        seconds, text, written = ngc(options, name, target)
        if written is None:
            lines = [line for line in text.splitlines() if line.startswith("error")]
            rows.append(Row(name, "ngc", f"target {target}", seconds, note=lines[0] if lines else "failed"))
            say(f"{name}: ngc {target}: {rows[-1].note}")
            continue
        bound = max(map(float, json.loads(python_of(written).CONFIG)["error_bound"]))
        row = of_torch("ngc", f"target {target}", python_of(written).apply(program), seconds, bound)
        if not finite(row.held):
            # Where the file does not run: its formats, applied here.
            chosen = {k.rpartition("/")[2]: f for k, f in json.loads(python_of(written).CONFIG)["formats"].items()}
            row = of_torch("ngc", f"target {target}, applied here", with_formats(program, *followed(program, chosen)), seconds, bound)
        as_onnx = onnx.load(written.with_suffix(".onnx"))
        row.as_run = error(run(as_onnx, held, True), truth[1])
        say(f"{name}: as ONNX {row.as_run}, rounded {error(run(as_onnx, held), truth[1])}; "
            f"ngc counts {told(text, r'bytes of values: ([0-9]+)')} bytes of values")
        rows.append(row)
    listed = next(r for r in rows if "list for CUDA" in r.setting)
    listed.bound = bound_of(options, name, cuda_list(program)[0])
    say(f"{name}: bound of the list for CUDA: {listed.bound}")
    return max(float(np.abs(t).max()) for t in truth[1]), rows


def peers(options, name, program, model, shown, held):
    """Rows of all but ngc, names of the values that are counted, how a module of torch is measured, and the exact results."""
    with torch.no_grad():
        exact = Exact(module_of(program))
        truth = [[only(exact.run(*map(torch.from_numpy, args))).numpy() for args in samples] for samples in (shown, held)]
    names = {n.name for n in module_of(program).graph.nodes if value(n) is not None}
    plain = Counted(module_of(program), names)
    with torch.no_grad():
        plain.run(*map(torch.from_numpy, shown[0]))
    found = matched(program, plain.results, model, shown[0])
    say(f"{name}: not in the ONNX model: {sorted(set(plain.results) - set(found))}")
    names, results = set(found), {n: plain.results[n] for n in found}

    def of_torch(tool, setting, module, seconds=None, bound=None):
        without_checks(module)
        counted, bytes_of = Counted(module, names), None
        with torch.no_grad():
            try:
                counted.run(*map(torch.from_numpy, shown[0]))
                bytes_of = counted.counts()
            except Exception as why:
                say(f"{name}: {tool} {setting}: {first_line(why)}")
        row = Row(name, tool, setting, seconds, bytes_of, error(call(module, held), truth[1]), error(call(module, shown), truth[0]), bound)
        say(f"{name}: {tool} {setting}: {row.held}, on the samples {row.shown}, bound {bound}, bytes {row.counts}")
        return row

    rows = [of_torch("none", "all in f32", module_of(program))]
    every = {n.name: "f16" for n in ops(program)}
    rows.append(of_torch("none", "all in f16", with_formats(program, every, every)))
    rows.append(of_torch("torch autocast", "list for CUDA, f16", with_formats(program, *cuda_list(program))))
    for dtype, text in ((torch.float16, "on a CPU, f16"), (torch.bfloat16, "on a CPU, bf16")):
        with torch.autocast("cpu", dtype=dtype, cache_enabled=False):
            rows.append(of_torch("torch autocast", text, module_of(program)))
    rows += peers_of_onnx(name, model, shown, held, *truth, found, results)
    return rows, names, of_torch, truth


# Two programs that leave f16


class Attention(torch.nn.Module):
    def forward(self, q, k, v):
        scores = torch.matmul(q, k.transpose(0, 1)) * 0.125
        return torch.matmul(torch.softmax(scores, -1), v)


class Exponentials(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.full((4, 4), 1.09375))
        self.register_buffer("u", torch.full((4, 1), 1e-35))

    def forward(self, x):
        return torch.matmul(torch.exp(torch.exp(torch.relu(torch.matmul(x, self.w)))), self.u)


ATTENTION = """func.func @main(%q: tensor<32x64xf32> {ng.range = [24.0, 40.0]}, %k: tensor<32x64xf32> {ng.range = [24.0, 40.0]}, %v: tensor<32x64xf32> {ng.range = [-1.0, 1.0]}) -> tensor<32x64xf32> {
  %kt = ng.transpose %k {permutation = [1, 0]} : tensor<32x64xf32> -> tensor<64x32xf32>
  %s = ng.matmul %q, %kt : tensor<32x64xf32>, tensor<64x32xf32> -> tensor<32x32xf32>
  %c = ng.constant dense<0.125> : tensor<f32>
  %t = ng.mul %s, %c : tensor<32x32xf32>, tensor<f32> -> tensor<32x32xf32>
  %p = ng.softmax %t {axis = -1} : tensor<32x32xf32>
  %o = ng.matmul %p, %v : tensor<32x32xf32>, tensor<32x64xf32> -> tensor<32x64xf32>
  func.return %o : tensor<32x64xf32>
}
"""
EXPONENTIALS = """func.func @main(%x: tensor<1x4xf32> {ng.range = [0.0, 1.0]}) -> tensor<1x1xf32> {
  %w = ng.constant dense<1.09375> : tensor<4x4xf32>
  %h = ng.matmul %x, %w : tensor<1x4xf32>, tensor<4x4xf32> -> tensor<1x4xf32>
  %r = ng.relu %h : tensor<1x4xf32>
  %e = ng.exp %r : tensor<1x4xf32>
  %f = ng.exp %e : tensor<1x4xf32>
  %u = ng.constant dense<1.0e-35> : tensor<4x1xf32>
  %o = ng.matmul %f, %u : tensor<1x4xf32>, tensor<4x1xf32> -> tensor<1x1xf32>
  func.return %o : tensor<1x1xf32>
}
"""
# What the text is in f16: the weights of the last product are none of its numbers, and stay as they are.
HALVES = {
    "attention": ATTENTION.replace("f32", "f16"),
    "exponentials": EXPONENTIALS.replace("f32", "f16")
    .replace("dense<1.0e-35> : tensor<4x1xf16>", "dense<1.0e-35> : tensor<4x1xf32>")
    .replace("%o = ng.matmul %f, %u : tensor<1x4xf16>, tensor<4x1xf16> -> tensor<1x1xf16>",
             "%g = ng.convert %f {to = f32} : tensor<1x4xf16> -> tensor<1x4xf32>\n"
             "  %o = ng.matmul %g, %u : tensor<1x4xf32>, tensor<4x1xf32> -> tensor<1x1xf32>")
    .replace("func.return %o : tensor<1x1xf16>", "func.return %o : tensor<1x1xf32>")
    .replace("-> tensor<1x1xf16> {", "-> tensor<1x1xf32> {"),
}


def grid(generator, shape, low, high):
    """Numbers of f16: multiples of 1/32."""
    return (generator.integers(32 * low, 32 * high + 1, shape) / 32).astype(np.float32)


def leaving(options, name, module, text, draw, target):
    """A program that leaves f16: rows of all tools."""
    generator = np.random.default_rng(0)
    samples = [tuple(draw(generator)) for _ in range(12)]
    shown, held = samples[:4], samples[4:]
    program = torch.export.export(module, tuple(map(torch.from_numpy, shown[0]))).run_decompositions({})
    source = options.work / f"{name}.ngir"
    source.write_text(text)
    base = source.with_suffix(".onnx")
    subprocess.run([str(options.ngc / "ngc-translate"), str(source), "-o", str(base)], check=True)
    rows, _, _, truth = peers(options, name, program, onnx.load(base), shown, held)
    half = options.work / f"{name}-f16.ngir"
    half.write_text(HALVES[name])
    runs = [(source, f"of the program in f32, target {target}", f"=target={target}"),
            (half, f"of the program in f16, target {target}", f"=target={target}"), (half, "of the program in f16, no target", "=formats=f16|f32")]
    for file, setting, flags in runs:
        out = file.with_name(f"{file.stem}-assigned.onnx")
        start = time.monotonic()
        done = subprocess.run([str(options.ngc / "ngc-opt"), str(file), f"--assign-precision{flags}", "-o", str(out)],
                              capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode:
            rows.append(Row(name, "ngc", setting, seconds, note=first_line(RuntimeError(done.stderr))))
            continue
        model = onnx.load(out)
        row = Row(name, "ngc", setting, seconds, None, error(run(model, held), truth[1]), error(run(model, shown), truth[0]),
                  told(done.stderr, r"error bound of the results: ([^ ,;\n]+)"), error(run(model, held, True), truth[1]))
        row.values = told(done.stderr, r"bytes of values: (\d+)")
        say(f"{name}: ngc {setting}: {row.held} {row.as_run} bound {row.bound} values {row.values}")
        rows.append(row)
    return max(float(np.abs(t).max()) for t in truth[1]), rows


LEAVING = {
    "attention": (Attention, ATTENTION, lambda g: [grid(g, (32, 64), 24, 40), grid(g, (32, 64), 24, 40), grid(g, (32, 64), -1, 1)], "0.5"),
    "exponentials": (Exponentials, EXPONENTIALS, lambda g: [1 - grid(g, (1, 4), 0, 1) / 16], "1e-2"),
}


# The page


HEAD = """# Mixed precision

Formats that `ngc-opt --assign-precision` chooses, beside those of other tools, for the same networks in the same run: bytes, the
largest error, and the time that the choice takes. The networks are by the frameworks' own model code, with weights from a seed, two
layers deep and an eighth as wide as published. This page is written by

    benches/models.py FOLDER --small --format pt2
    benches/mixed_precision.py FOLDER > docs/mixed-precision.md

with {versions}.

*Error* is the largest difference of the result from evaluation in f64, on {held} inputs of the samples' distribution that no tool was
given. Programs of torch are run by torch on a CPU, where each op computes in f32 and rounds its result to its format. ONNX models are
run in ONNX Runtime in such a form that the same holds there: each op in f32, its result rounded to the type that the model gives
it. *As it stands* is the error of the model as the tool wrote it in ONNX Runtime on a CPU, which has few kernels of f16, computes
neighbouring ops in f32, and leaves out the roundings between them.

Bytes are counted in one way for all, in MB: *values* are the floating results of the ops of the exported program (the same ops for all
tools, views and transposes among them), each in the format that the tool gives it; *parameters* are the weights and constants, each in
the formats in which ops read it; *copies* are the values that a conversion between ops writes once more, and are in no sum. In a
program of torch formats are those of the tensors that were seen in a run; in an ONNX model they are the inferred types of the values
that have the same numbers as those of the program. *Relative* is values and parameters, relative to all in f32.

*onnxconverter-common* is `auto_convert_mixed_precision` with the first sample and the stated tolerances, and
`convert_float_to_float16` (all in f16). *ModelOpt AutoCast* is `convert_to_mixed_precision` with the four samples. Both convert the
ONNX model that `ngc-translate` makes of the program, and keep its types of inputs and outputs. *torch autocast* is the lists of
`torch.autocast`: that for CUDA applied op by op, that for a CPU as it runs; their *bound* is ngc's, of the same formats. *ngc* is
`--calibrate NAME.npz --assume-calibrated --runtime=reference --assign-precision='formats=f16|f32 target=T'`, as its Python file runs in
torch; with `deviation` also `criterion=deviation objective=bytes`. Targets
are bounds of the error, in units of the result; *target T deviation* adds `criterion=deviation objective=bytes`: four standard
deviations of the error are held against it, an estimate, and the bound is told beside it.
"""


def megabytes(x):
    return "-" if x is None else figure(x / 1e6)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for cells in rows:
        print("| " + " | ".join(map(str, cells)) + " |")
    print()


def name_of(row):
    return f"{row.tool}, {row.setting}" if row.tool != "none" else row.setting


def shortened(note):
    """The start of a message, whole where it is short, for a cell."""
    note = note.removeprefix("error: ").replace("|", "\\|")
    return note if len(note) <= 150 else note[:150].rsplit(" ", 1)[0] + " ..."


def finite(x):
    return isinstance(x, float)


def short(x):
    return "does not run" if isinstance(x, str) and "Error" in x or isinstance(x, str) and "NotImplemented" in x else figure(x)


def page(options, networks, left):
    held = len(HELD_OUT)
    packages = [("torch", "torch"), ("ONNX Runtime", "onnxruntime"), ("onnx", "onnx"), ("onnxconverter-common", "onnxconverter-common"),
                ("ModelOpt", "nvidia-modelopt"), ("transformers", "transformers"), ("torchvision", "torchvision")]
    versions = ", ".join(f"{title} {importlib.metadata.version(own)}" for title, own in packages)
    print(HEAD.format(versions=versions + f" and Python {platform.python_version()}", held=held))
    print("## Bytes and error\n")
    largest = ", ".join(f"{figure(size)} ({name})" for name, (size, _) in networks.items())
    print(f"The largest magnitude of the results is {largest}.\n")
    lines = []
    for name, (_, rows) in networks.items():
        full = rows[0].total()
        for r in rows:
            if r.note:
                lines.append([name, name_of(r), "no result: " + shortened(r.note), *["-"] * 6, f"{r.seconds:.1f}"])
                continue
            counted = [megabytes(x) for x in r.counts] if r.counts else ["-"] * 3
            relative = f"{100 * r.total() / full:.0f} %" if r.counts else "-"
            seconds = "-" if r.seconds is None else f"{r.seconds:.1f}"
            lines.append([name, name_of(r), short(r.held), short(r.as_run), figure(r.bound), *counted, relative, seconds])
    table(["network", "formats", "error", "as it stands", "bound", "values", "parameters", "copies", "relative", "s"], lines)
    beside(networks)
    bounds(networks)
    leave(left)
    last(options, networks)


def beside(networks):
    print("""## ngc beside each of the others

For each choice of another tool whose result is finite: ngc's assignment with the fewest bytes (values and parameters) among those
whose error is no larger, and ngc's with the least error among those with no more bytes. A dash says that none of the targets tried
gave one.
""")
    lines, fewer, closer, both, neither = [], 0, 0, 0, 0
    for name, (_, rows) in networks.items():
        own = [r for r in rows if r.tool == "ngc" and r.counts and finite(r.held)]
        for peer in rows:
            if peer.tool in ("ngc", "none") or not peer.counts or not finite(peer.held):
                continue
            a = min((r for r in own if r.held <= peer.held), key=Row.total, default=None)
            b = min((r for r in own if r.total() <= peer.total()), key=lambda r: r.held, default=None)
            by = a and 100 * (a.total() / peer.total() - 1)
            saves, nearer = a is not None and by <= -20, b is not None and b.held < peer.held
            fewer, closer, both, neither = fewer + saves, closer + nearer, both + 1, neither + (not saves and not nearer)
            lines.append([name, name_of(peer), figure(peer.held), megabytes(peer.total()),
                          f"{megabytes(a.total())} ({by:+.0f} %), {a.setting}" if a else "-",
                          f"{figure(b.held)} ({b.held / peer.held:.2g} times), {b.setting}" if b else "-"])
    table(["network", "other", "its error", "its bytes", "bytes of ngc at no larger error", "error of ngc at no more bytes"], lines)
    print(f"Of {both} choices, ngc has at least 20 % fewer bytes at no larger error beside {fewer}, less error at no more bytes beside "
          f"{closer}, and neither beside {neither}.\n")


def bounds(networks):
    print("""## Bounds and errors

The bound that ngc states is conditional: of inputs at which values lie where the samples showed them. Errors are those of ngc's Python
file in torch.
""")
    lines, over = [], []
    for name, (_, rows) in networks.items():
        for r in rows:
            if r.bound is not None:
                worst = max((x for x in (r.shown, r.held) if finite(x)), default=float("nan"))
                lines.append([name, name_of(r), figure(r.bound), figure(r.shown), figure(r.held), figure(r.bound / worst)])
                if not worst <= r.bound:
                    over.append(f"{name} {name_of(r)}")
    table(["network", "formats", "bound", "error on the samples", "error on other inputs", "ratio"], lines)
    print(f"Beyond its bound is {', '.join(over)}.\n" if over else "No error is beyond its bound.\n")


def leave(left):
    print("""## Programs that leave f16

*attention* is softmax(q k^T / 8) v of 32 x 64 matrices, q and k in [24, 40], v in [-1, 1], all of them numbers of f16: the products
before the factor reach 1.02e5. *exponentials* is a product with a matrix, relu, exp(exp(x)) for x up to 4.4, and a product with
weights of 1e-35. ngc is given the program as text with these ranges and no samples; its bound is of all inputs in them. The values
are counted in bytes.
""")
    for name, (size, rows) in left.items():
        lines = []
        for r in rows:
            if r.note:
                lines.append([name_of(r), "no result: " + shortened(r.note), "-", "-", "-"])
            else:
                lines.append([name_of(r), short(r.held), short(r.as_run), figure(r.bound), "-" if r.values is None else f"{r.values:.0f}"])
        print(f"### {name.capitalize()}\n\nThe largest magnitude of the result is {figure(size)}.\n")
        table(["formats", "error", "as it stands", "bound", "values"], lines)


LAST = """## What is not comparable, and where ngc is worse

Where the target is a bound, ngc allows f16 only where it can bound what that costs, and its bounds are {least} to {most} times what is
measured here: it takes more bytes than other tools at errors that may well do. Where the target is four standard deviations, an
estimate from the samples, it chooses as finely as the samples let it, and the bound beside the estimate says what is certain. The
others choose by lists of ops (torch), by magnitudes (AutoCast) or by a comparison at one input (onnxconverter-common), and none of them
states anything of other inputs. For the list for CUDA, which has errors of at most {worst} on all of these networks, ngc's bounds
are {lists}{beyond}

ngc took {slow} s for an assignment, or was stopped there, on two cores that other programs used too; the ONNX tools took at most {fast} s,
and lists take no time. {kept}

Bytes of values are of all values together and say nothing of how many live at a time. Copies are in no sum: a kernel that converts
what it reads needs none, and ngc's Python file writes them as ops. Parameters are counted as they are read; torch and ngc's Python
file keep those of f32 as well and convert them in each run, the ONNX tools store what is read. In ONNX, ngc writes a product whose
sums are in f32 as a product of f32 between conversions: a runtime saves no bytes within it.

That ONNX Runtime leaves out roundings on a CPU hides what an f16 kernel would show: onnxconverter-common compares there, and
lets f16 stand in both programs where they leave it. Each op rounded to its type gives NaN or an infinity. Without a target ngc keeps a
program of f16 finite and no more: the softmax of *attention* reads scores of 1e4 that are rounded to f16, and its bound says that
nothing is left of the result. With a target it keeps all of *attention* in f32, where AutoCast takes f16 for the transposed factor and
for the last product, at no larger error.

The networks are small and have weights from a seed. None of their activations comes near the end of f16, so that all in f16 serves; what
trained networks with large activations need is not measured here, nor are kernels of a GPU.
"""


def last(options, networks):
    rows = [r for _, own in networks.values() for r in own]
    ratios = [r.bound / max(r.held, r.shown) for r in rows if r.tool == "ngc" and r.bound is not None and finite(r.held) and r.held]
    if not ratios:
        return
    lists = [(name, r) for name, (_, own) in networks.items() for r in own if r.bound is not None and r.tool == "torch autocast"]
    took = [r.seconds for r in rows if r.tool == "ngc"]
    fast = [r.seconds for r in rows if r.tool not in ("ngc", "torch autocast") and r.seconds is not None]
    without = [f"{r.network} at {r.setting}" for r in rows if r.tool == "ngc" and r.note]
    print(LAST.format(least=f"{min(ratios):.0f}", most=f"{max(ratios):.0f}", worst=figure(max(r.held for _, r in lists)),
                      lists=", ".join(f"{figure(r.bound)} ({name})" for name, r in lists),
                      beyond=f". It has no assignment for {', '.join(without)}." if without else ".", slow=f"{min(took):.0f} to {max(took):.0f}",
                      fast=f"{max(fast):.0f}",
                      kept=f"Of ngc's {len(took)} runs {options.kept} were made earlier, by the same command." if options.kept else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ngc", type=Path, default=ROOT / "target/release", metavar="FOLDER", help="where ngc-opt and ngc-translate lie")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="for what ngc writes [default: FOLDER/mixed]")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(TARGETS))
    parser.add_argument("--targets", nargs="+", metavar="T", help="the same for all networks [default: two or three for each]")
    parser.add_argument("--patience", type=int, default=600, metavar="S", help="seconds that an assignment may take [default: 600]")
    options = parser.parse_args()
    options.work = options.work or options.folder / "mixed"
    options.kept = 0
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    left = {name: leaving(options, name, made(), *rest) for name, (made, *rest) in LEAVING.items()}
    networks = {name: network(options, name) for name in options.only}
    page(options, networks, left)


if __name__ == "__main__":
    main()
