#!/usr/bin/env python3
"""Measures the errors of a real runtime by op and format, as the ops run there when ngc exports them: a table of
src/dialects/runtimes, by which the analysis multiplies its own rounding errors.

    testdata/measure_runtimes.py target/release onnxruntime > src/dialects/runtimes/onnxruntime.tsv

The runtimes are onnxruntime (its CPU provider with default optimisations), torch (the exported program, eager, on the
CPU) and xla (the exported StableHLO, compiled by XLA for the CPU, as jax does it). Each op becomes a function of its own,
which is exported and run there. What it computes is held against ngc-run at 200 bits: the exact result, less what the
runtime computed, both as numbers of f64. Progress goes to the standard error stream, and so do the worst inputs.

Needs numpy, ml_dtypes, and onnx with onnxruntime, torch, or jax. Further names after the runtime restrict the table to
these ops. Seeds are fixed, so a table changes with the runtime's version and the processor alone.
"""

import argparse
import ctypes
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import warnings
import zlib
from fractions import Fraction
from pathlib import Path

warnings.filterwarnings("ignore")

import ml_dtypes
import numpy as np

FORMATS = {
    # Type, digits of the significand, exponents of the least and of the greatest normal numbers.
    "bf16": (ml_dtypes.bfloat16, 8, -126, 127),
    "f16": (np.float16, 11, -14, 15),
    "f32": (np.float32, 24, -126, 127),
    "f64": (np.float64, 53, -1022, 1023),
}
# Measured errors are a maximum over a sample, of which another one may exceed it a little.
MARGIN = 1.25
# What IEEE 754 rounds correctly may be stated as such, even where the inputs are a sample.
IEEE = {f"ng.{op}" for op in "add convert div fma mul prelu reciprocal sqrt square sub".split()}
# Bits of the exact results: enough for differences of numbers of f64 that agree in all of their digits.
PRECISION = 200
# Short calls leave all of their elements to what vector loops do at their ends.
SHORT = 7
# ngc-run takes ten times as long for these.
SLOW = {"ng.digamma", "ng.lgamma", "ng.stirling_error"}
# Errors beyond this many units are stated as absolute ones too: where a function has a zero or a tail that the runtime gets
# wrong by no more than it gets other results wrong, units in the last place say too much.
FEW = 4.0


# ---------------------------------------------------------------------------------------------------------------------
# Runtimes: each loads a file that ngc wrote, and gives a function from arrays to arrays.


class OnnxRuntime:
    suffix = ".onnx"

    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx, self.module, self.version = onnx, onnxruntime, onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.log_severity_level, self.options.intra_op_num_threads = 4, 1

    def load(self, path):
        session = self.module.InferenceSession(str(path), self.options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        results = [o.name for o in session.get_outputs()]
        kinds = [v.type for v in [*session.get_inputs(), *session.get_outputs()]]
        if not any("bfloat16" in kind for kind in kinds):
            return lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))
        Value = self.module.OrtValue

        def value(x):
            if x.dtype != ml_dtypes.bfloat16:
                return Value.ortvalue_from_numpy(x)
            return Value.ortvalue_from_numpy_with_onnx_type(x.view(np.uint16), self.onnx.TensorProto.BFLOAT16)

        def given(y):
            if y.data_type() != "tensor(bfloat16)":
                return y.numpy()
            # numpy has no such format, so that only the bytes can be had.
            count = math.prod(y.shape())
            return np.frombuffer(ctypes.string_at(y.data_ptr(), 2 * count), ml_dtypes.bfloat16).reshape(y.shape())

        def call(inputs):
            found = session.run_with_ort_values(results, {n: value(x) for n, x in zip(names, inputs, strict=True)})
            return [given(y) for y in found]

        return call


class Torch:
    suffix = ".py"

    def __init__(self):
        import torch

        self.torch, self.version = torch, torch.__version__.split("+")[0]
        torch.set_num_threads(1)

    def load(self, path):
        torch = self.torch
        scope = {"__name__": "exported", "__file__": str(path)}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        kinds = [v for v in scope.values() if isinstance(v, type) and issubclass(v, torch.nn.Module)]
        model = kinds[-1]().eval()

        def taken(x):
            if x.dtype == ml_dtypes.bfloat16:
                return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
            return torch.from_numpy(x)

        def given(y):
            if y.dtype == torch.bfloat16:
                return y.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
            return y.numpy()

        def call(inputs):
            with torch.no_grad():
                found = model(*map(taken, inputs))
            return [given(y) for y in (found if isinstance(found, (tuple, list)) else [found])]

        return call


class Xla:
    suffix = ".mlir"

    def __init__(self):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.version = jax, f"{jax.__version__} (of jax)"

    def load(self, path):
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jax.extend import backend
        from jaxlib.mlir import ir

        client = backend.get_backend()
        with mlir.make_ir_context():
            module = ir.Module.parse(path.read_text())
            module.operation.verify()
            devices = xla_client.DeviceList(tuple(client.devices()[:1]))
            compiled = client.compile_and_load(module, devices, xla_client.CompileOptions())

        def call(inputs):
            results = compiled.execute_sharded([self.jax.device_put(x) for x in inputs])
            return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]

        return call


RUNTIMES = {"onnxruntime": OnnxRuntime, "torch": Torch, "xla": Xla}


# ---------------------------------------------------------------------------------------------------------------------
# ngc's tools.


class Refused(Exception):
    pass


class Ngc:
    def __init__(self, tools, folder):
        self.tools, self.folder, self.kept = Path(tools), Path(folder), {}

    def run(self, tool, *arguments):
        done = subprocess.run([self.tools / tool, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused((done.stderr.strip().splitlines() or ["no message"])[0])

    def exported(self, text, runtime):
        source, target = self.folder / "op.ngir", self.folder / f"op{runtime.suffix}"
        source.write_text(text)
        flags = ["--export-stablehlo"] if runtime.suffix == ".mlir" else []
        self.run("ngc-translate", source, *flags, "-o", target)
        return target

    def loaded(self, text, runtime):
        """The function, loaded by the runtime; the last ones are kept, since compilers take longer than what they compile."""
        if text not in self.kept:
            while len(self.kept) > 8:
                del self.kept[next(iter(self.kept))]
            self.kept[text] = runtime.load(self.exported(text, runtime))
        return self.kept[text]

    def exact(self, text, inputs):
        """The results of a function of f64 at high precision, rounded to f64 at the end."""
        source = self.folder / "exact.ngir"
        source.write_text(text)
        paths = []
        for i, x in enumerate(inputs):
            paths.append(self.folder / f"in_{i}.npy")
            np.save(paths[-1], x)
        for old in self.folder.glob("output_*.npy"):
            old.unlink()
        self.run("ngc-run", source, *paths, "--precision", PRECISION, "--output-dir", self.folder)
        found = sorted(self.folder.glob("output_*.npy"), key=lambda p: int(p.stem[7:]))
        return [np.load(p) for p in found]

    def bounds(self, text):
        """The bounds that the analysis prints for the errors of the results; infinite where it has none."""
        source, report = self.folder / "bound.ngir", self.folder / "report.json"
        source.write_text(text)
        self.run("ngc-opt", source, "--analyze", "--analysis-report=json", "--analysis-report-output", report, "-o", "/dev/null")
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        return [float(line["error"]["absolute"]) for line in lines if line["kind"] == "output"]


# ---------------------------------------------------------------------------------------------------------------------
# Functions of one op.


def tensor(shape, elem):
    return "tensor<" + "".join(f"{n}x" for n in shape) + elem + ">"


def is_float(elem):
    return elem == "F" or elem in FORMATS


class Case:
    """One op with its attributes. Operands and results are pairs of a shape and an element type, in which `F` stands for the
    format that is measured (`@` in attributes, and `^` for a wider one); a constant operand is an array in place of a pair."""

    def __init__(self, op, attributes, operands, results):
        self.op, self.attributes, self.operands, self.results = op, attributes, operands, results

    def body(self, elem, given, exact=False):
        names, types, lines = [], [], []
        arguments = iter(f"%x{i}" for i in range(len(given)))
        for i, operand in enumerate(self.operands):
            if isinstance(operand, np.ndarray):
                text = json.dumps(operand.astype(np.float64).tolist())
                lines.append(f"%k{i} = ng.constant dense<{text}> : {tensor(operand.shape, elem)}")
                names.append(f"%k{i}")
                types.append(tensor(operand.shape, elem))
            else:
                names.append(next(arguments))
                of = operand[1].replace("F", elem)
                types.append(tensor(operand[0], "f64" if exact and is_float(of) else of))
        results = [tensor(shape, of.replace("F", elem)) for shape, of in self.results]
        named = ", ".join(f"%r{i}" for i in range(len(results)))
        wider = "f32" if elem in ("f16", "bf16") else "f64"
        attributes = self.attributes.replace("@", elem).replace("^", wider)
        attributes = f" {{{attributes}}}" if attributes else ""
        sources = f" {', '.join(names)}" if names else ""
        joined = f"{', '.join(types)} -> " if types else ""
        lines.append(f"{named} = {self.op}{sources}{attributes} : {joined}{', '.join(results)}")
        return lines, results

    def arguments(self):
        return [x for x in self.operands if not isinstance(x, np.ndarray)]

    def text(self, elem, ranges=None):
        given = self.arguments()
        lines, results = self.body(elem, given)
        head = []
        for i, (shape, of) in enumerate(given):
            stated = ""
            if ranges and ranges[i]:
                stated = f" {{ng.range = [{ranges[i][0]!r}, {ranges[i][1]!r}]}}"
            head.append(f"%x{i}: {tensor(shape, of.replace('F', elem))}{stated}")
        back = ", ".join(f"%r{i}" for i in range(len(results)))
        arrow = results[0] if len(results) == 1 else f"({', '.join(results)})"
        end = f"func.return {back} : {', '.join(results)}"
        return f"func.func @main({', '.join(head)}) -> {arrow} {{\n{chr(10).join(lines)}\n{end}\n}}\n"

    def reference(self, scaled):
        """The exact results, those less the given ones, and on demand these differences times 2^1000, for where they are tiny."""
        given = self.arguments()
        lines, results = self.body("f64", given, exact=True)
        head = [f"%x{i}: {tensor(shape, 'f64' if is_float(of) else of)}" for i, (shape, of) in enumerate(given)]
        back, types = [], []
        for i, (of, kind) in enumerate(zip(results, self.results)):
            back.append(f"%r{i}")
            types.append(of)
            if kind[1] == "F":
                head.append(f"%c{i}: {of}")
                lines.append(f"%d{i} = ng.sub %r{i}, %c{i} : {of}")
                back.append(f"%d{i}")
                types.append(of)
                if scaled:
                    lines.append(f"%s{i} = ng.constant {2.0**1000!r} : f64")
                    lines.append(f"%e{i} = ng.mul %d{i}, %s{i} : {of}, f64 -> {of}")
                    back.append(f"%e{i}")
                    types.append(of)
        end = f"func.return {', '.join(back)} : {', '.join(types)}"
        return f"func.func @main({', '.join(head)}) -> ({', '.join(types)}) {{\n{chr(10).join(lines)}\n{end}\n}}\n"


def wide(x):
    return x.astype(np.float64) if x.dtype in (np.float16, np.float32, ml_dtypes.bfloat16) else x


class Errors:
    """Of one result: what is exact, and how far from it the runtime is, absolutely and in units in the last place."""

    def __init__(self, elem, exact, difference, scaled, computed):
        _, digits, least, greatest = FORMATS[elem]
        self.exact = exact
        largest = (2.0 - 2.0 ** (1 - digits)) * 2.0**greatest
        self.counts = np.isfinite(exact) & (np.abs(exact) <= largest)
        size = np.abs(np.where(self.counts, exact, 0.0))
        self.normal = self.counts & (size >= 2.0**least)
        unit = np.frexp(np.where(self.normal, size, 2.0**least))[1] - digits
        # A difference of a number that is near the end of f64 has digits only after it was scaled.
        tiny = (unit < -900) & (scaled is not difference)
        with np.errstate(all="ignore"):
            lost = np.isnan(difference) | ~np.isfinite(wide(computed))
            self.units = np.abs(np.where(tiny, np.ldexp(scaled, -unit - 1000), np.ldexp(difference, -unit)))
            self.units = np.where(lost, np.inf, self.units)
            # In units of the least subnormal number.
            under = least - digits + 1
            self.under = np.abs(np.ldexp(scaled, -under - 1000) if scaled is not difference else np.ldexp(difference, -under))
            self.under = np.where(lost, np.inf, self.under)
            self.absolute = np.where(lost, np.inf, np.abs(difference))
            beyond = np.where(self.normal, np.ldexp(self.units - FEW / MARGIN, unit), np.ldexp(self.under - FEW / MARGIN, under))
            self.beyond = np.maximum(beyond, 0.0)


def measured(ngc, case, elem, inputs, results, tiny=True):
    scaling = tiny and elem == "f64"
    given = [wide(x) for x in inputs]
    computed = [wide(y) for y, (_, of) in zip(results, case.results) if of == "F"]
    found = iter(ngc.exact(case.reference(scaling), [*given, *computed]))
    errors = []
    for y, (_, of) in zip(results, case.results):
        if of == "F":
            exact, difference = next(found), next(found)
            scaled = next(found) if scaling else difference
            if exact.shape != y.shape:
                raise Refused(f"shape {y.shape} instead of {exact.shape}")
            errors.append(Errors(elem, exact, difference, scaled, y))
        else:
            errors.append(np.asarray(next(found)).astype(np.int64) != np.asarray(y).astype(np.int64))
    return errors


def progress(*parts):
    print(*parts, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------------------
# Inputs of elementwise ops.


def seed(*parts):
    return np.random.default_rng(zlib.crc32(" ".join(map(str, parts)).encode()))


def rounded(x, elem):
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype=np.float64).astype(FORMATS[elem][0])


def ladder(elem, each, random):
    """Numbers of every exponent and both signs: `each` random significands, the least, the greatest; then subnormal ones."""
    _, digits, least, greatest = FORMATS[elem]
    exponents = np.arange(least, greatest + 1)
    significands = 1 + random.random((len(exponents), each))
    significands[:, 0] = 1.0
    significands[:, 1:2] = 2.0 - 2.0 ** (1 - digits)
    significands[:, 2:3] = 1.0 + 2.0 ** (1 - digits)
    normal = np.ldexp(significands, exponents[:, None]).ravel()
    below = np.ldexp(random.integers(1, 2 ** (digits - 1), 1024).astype(np.float64), least - digits + 1)
    small = np.ldexp(np.arange(1.0, 9.0), least - digits + 1)
    half = np.concatenate([normal, below, small, [0.0]])
    return np.concatenate([half, -half])


def around(points, elem):
    """The points with their neighbours in the format, three to each side."""
    x = rounded(points, elem)
    found, up, down = [x], x, x
    high, low = np.array(np.inf, x.dtype), np.array(-np.inf, x.dtype)
    for _ in range(3):
        up, down = np.nextafter(up, high), np.nextafter(down, low)
        found += [up, down]
    return np.concatenate(found).astype(np.float64)


# Where functions turn, have zeros, or leave the formats.
POINTS = [0.0, 0.5, 1.0, 1.4616321449683622, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 17.5, 20.0, 42.0, 6.9, 7.5]
POINTS += [-2.457024738220801, -2.7476826467274127, -3.143580888349980, 0.34657359, 0.69314718, math.e, math.pi, 11.09]
POINTS += [16.6355, 17.3287, 88.02969, 88.3762626647949, 88.72284, 87.33655, 103.972084, 127.0, 126.0, 128.0, 149.0, 150.0]
POINTS += [708.3964185322641, 709.782712893384, 745.1332191019412, 1022.0, 1023.0, 1024.0, 1074.0, 1075.0, 3.92, 9.19455]
POINTS += [10.05, 26.54, 27.226, 37.52, 13.6, 1.0e5, 65504.0, 39000.0, 2.0**24, 2.0**31, 2.0**53, 5.0e-4, 1.0e-2, 0.0625]


def unary(elem, random, op=""):
    kind = FORMATS[elem][0]
    if elem in ("f16", "bf16"):
        every = np.arange(2**16, dtype=np.uint16).view(kind)
        return [every[np.isfinite(every.astype(np.float32))]]
    if op in SLOW:
        return [unary(elem, random)[0][::4]]
    few = 60 if elem == "f64" else 300
    half_turns = np.concatenate([np.arange(0, 2000), random.integers(2000, 63662, 4000)]) * (math.pi / 2)
    integers = np.concatenate([np.arange(0, 300), np.arange(0, 300) + 0.5])
    near_one = 1 + np.ldexp(1 + random.random(8000), random.integers(-53, 0, 8000)) * random.choice([-1.0, 1.0], 8000)
    parts = [ladder(elem, few // 2, random), around(POINTS, elem), -around(POINTS, elem), near_one, -near_one]
    parts += [around(half_turns, elem)[:: 2 if elem == "f64" else 1], integers, -integers]
    for width in (1.0, 4.0, 20.0, 100.0, 1000.0, 1e5):
        parts.append(random.uniform(-width, width, 12000))
    parts.append(-np.exp2(random.uniform(-12, 4, 8000)))
    parts.append(np.exp2(random.uniform(-12, 4, 8000)))
    return [rounded(np.concatenate(parts), elem)]


def finite(arrays):
    keep = np.logical_and.reduce([np.isfinite(x.astype(np.float64)) for x in arrays])
    return [x[keep] for x in arrays]


def binary(elem, random, op):
    _, digits, least, greatest = FORMATS[elem]
    rungs = rounded(ladder(elem, 8, random), elem).astype(np.float64)
    n = 24000 if digits > 11 else 12000
    pick = lambda m=n: random.choice(rungs, m)
    signs = lambda m=n: random.choice([-1.0, 1.0], m)
    moderate = lambda m=n: signs(m) * np.exp2(random.uniform(-10, 10, m))
    pairs = [(pick(), pick()), (moderate(), moderate()), (random.normal(size=n), random.normal(size=n))]
    base = pick()
    with np.errstate(all="ignore"):
        # Nearly equal and opposite ones, and such as have a sum of a few digits or a quotient near 1.
        near = base * (1 + np.ldexp(random.normal(size=n), random.integers(-digits - 2, 2, n)))
        pairs += [(base, near), (base, -near), (near, base)]
        # Products and quotients at both ends of the format.
        for end in (least - digits / 2, least, greatest):
            a = signs() * np.exp2(random.uniform(least, greatest, n))
            b = signs() * np.exp2(end + random.uniform(-3, 3, n)) / a
            pairs += [(a, b), (a, 1 / b)]
    for fixed in (np.zeros(6000), np.ones(6000)):
        pairs += [(pick(6000), fixed), (fixed, pick(6000))]
    if op == "ng.pow":
        pairs = pairs[:3]
        for low, high in ((-4, 4), (least, greatest), (-0.01, 0.01), (-1e-4, 1e-4)):
            exponent = random.uniform(low, high, n)
            a = rounded(np.exp2(exponent), elem).astype(np.float64)
            with np.errstate(all="ignore"):
                pairs.append((a, random.uniform(least - digits, greatest, n) / np.log2(a)))
                pairs.append((a, random.uniform(-8, 8, n) / np.log2(a)))
        whole = random.integers(-40, 41, n).astype(np.float64)
        pairs += [(-np.exp2(random.uniform(-3, 3, n)), whole), (moderate(), np.round(random.uniform(-8, 8, n)))]
        pairs += [(np.exp2(random.uniform(-8, 8, n)), random.choice([0.5, -0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 0.0, 1 / 3], n))]
    if op == "ng.xlogy":
        pairs = [(x, np.abs(y)) for x, y in pairs]
        pairs.append((moderate(), 1 + np.ldexp(random.normal(size=n), random.integers(-digits, 0, n))))
    if op == "ng.logaddexp":
        pairs = pairs[1:6]
        p = random.random(n)
        pairs += [(np.log(p), np.log1p(-p)), (random.uniform(-100, 80, n), random.uniform(-100, 80, n))]
        pairs += [(random.uniform(-700, 700, n), random.uniform(-40, 40, n))]
    if op == "ng.rem":
        a = moderate()
        pairs.append((a * np.exp2(random.uniform(0, digits, n)), moderate()))
        pairs.append((np.round(a) * np.round(moderate()), np.round(a)))
    x, y = (np.concatenate([np.asarray(p[i], dtype=np.float64) for p in pairs]) for i in (0, 1))
    return finite([rounded(x, elem), rounded(y, elem)])


def ternary(elem, random, op):
    x, y = (a.astype(np.float64) for a in binary(elem, random, "ng.mul"))
    z = np.resize(rounded(ladder(elem, 8, random), elem).astype(np.float64), x.shape)
    random.shuffle(z)
    with np.errstate(all="ignore"):
        opposite = -x * y * (1 + np.ldexp(random.normal(size=x.shape), random.integers(-FORMATS[elem][1] * 2, 3, x.shape)))
    half = random.random(x.shape) < 0.5
    return finite([rounded(x, elem), rounded(y, elem), rounded(np.where(half, opposite, z), elem)])


UNARY = """abs acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma erf erfc erfcx exp exp2 expm1 exprel exprel2
exprel_slope floor hardswish lgamma log log10 log1p log2 log_sigmoid mish neg reciprocal relu round rsqrt sigmoid sign silu sin sinc sinh softplus
softsign sqrt square stirling_error stumpff2 stumpff3 tan tanh""".split()
UNARY = [(f"ng.{name}", "") for name in UNARY]
UNARY += [("ng.gelu", ""), ("ng.gelu", 'approximate = "tanh"'), ("ng.elu", ""), ("ng.selu", "")]
UNARY += [("ng.leaky_relu", ""), ("ng.leaky_relu", "alpha = 0.1"), ("ng.leaky_relu", "alpha = 0.3")]
UNARY += [("ng.elu", "alpha = 1.5"), ("ng.hardsigmoid", ""), ("ng.hardsigmoid", "alpha = 0.16666666666666666")]
BINARY = [(f"ng.{name}", "") for name in "add atan2 div hypot logaddexp max min mul pow prelu rem sub xlogy".split()]
TERNARY = [("ng.fma", "")]
# Quotients by a constant and powers with a constant exponent have kernels of their own.
DIVISORS = [3.0, 10.0]
POWERS = [0.5, 2.0, 3.0, -1.0, -0.5, 1.5]


# What runtimes make of subnormal inputs, the worst last.
FATES = ["kept", "flushed", "wrong"]


class Line:
    """What is measured of an op in a format, the largest over all of its cases."""

    def __init__(self):
        self.units, self.floor, self.within, self.beyond, self.times, self.kind = None, None, None, None, None, None
        self.inputs, self.every = "kept", True

    def take(self, name, value):
        old = getattr(self, name)
        setattr(self, name, value if old is None else max(old, value))


def zeroed(x, elem):
    least = 2.0 ** FORMATS[elem][2]
    return np.where(np.abs(x.astype(np.float64)) < least, np.copysign(np.zeros_like(x), x), x).astype(x.dtype)


def elementwise(ngc, runtime, op, attributes, elem, line, inputs, constants=()):
    """Runs one long call, whose elements are those of vector loops, and many short ones, which are left to the loops' ends."""
    n = len(inputs[0])
    of = lambda n: Case(op, attributes, [*(([n], "F") for _ in inputs), *constants], [([n], "F")])
    case, brief = of(n), of(SHORT)
    program = runtime.load(ngc.exported(case.text(elem), runtime))
    short = runtime.load(ngc.exported(brief.text(elem), runtime))
    [whole] = program(inputs)
    every = len(inputs) == 1 and elem in ("f16", "bf16")
    calls = -(-n // SHORT) if every and runtime.suffix != ".mlir" else 1200
    places = np.linspace(0, n - 1, SHORT * calls).astype(np.int64)
    ends = np.concatenate([short([x[p] for x in inputs])[0] for p in places.reshape(-1, SHORT)])
    # Only those are new that the short calls compute in another way.
    other = np.flatnonzero(ends.view(f"u{ends.itemsize}") != whole[places].view(f"u{ends.itemsize}"))
    found = np.concatenate([whole, ends[other]])
    xs = [np.concatenate([x, x[places[other]]]) for x in inputs]
    [errors] = measured(ngc, of(len(found)), elem, xs, [found])
    subnormal = np.logical_or.reduce([(zeroed(x, elem) == 0) & (x != 0) for x in xs])
    fate = subnormals(errors, subnormal, found[:n], program([zeroed(x, elem) for x in inputs])[0])
    line.inputs = max(line.inputs, fate, key=FATES.index)
    line.every &= every
    counts = errors.normal & ~(subnormal & (fate != "kept"))
    note, sizes = "", np.abs(xs[0].astype(np.float64))
    lost = counts & np.isinf(errors.units)
    if lost.any() and len(inputs) == 1:
        # The line then holds for the inputs below the first that is lost.
        note = f"LOST {int(lost.sum())} in |x| {sizes[lost].min()!r}..{sizes[lost].max()!r}; "
        below = counts & (sizes < sizes[lost].min())
        if below.any():
            counts = below
            reach = float(sizes[below].max())
            line.within = reach if line.within is None else min(line.within, reach)
    if counts.any():
        units = np.where(counts, errors.units, -1.0)
        at = int(np.argmax(units))
        line.take("units", float(units[at]))
        note += f"at {', '.join(repr(float(x[at])) for x in xs)}: {found[at]} for {errors.exact[at]!r}"
        note += spread(sizes, units)
    under = errors.counts & ~errors.normal & ~(subnormal & (fate == "wrong"))
    if under.any():
        line.take("floor", float(errors.under[under].max()))
    line.take("beyond", float(np.max(errors.beyond[counts | under], initial=0.0)))
    return f"{note}; beyond {FEW:g} ulp {line.beyond:.3g}"


def rowwise(ngc, runtime, op, elem, line, random):
    """Second operands that are one number a row, which compilers may turn into something cheaper, as by 1/y in place of y."""
    x, y = binary(elem, random, op)
    rows, columns = len(x) // 16, 16
    inputs = [x[: rows * columns].reshape(rows, columns), random.choice(y, rows).reshape(rows, 1)]
    case = Case(op, "", [([rows, columns], "F"), ([rows, 1], "F")], [([rows, columns], "F")])
    program = runtime.load(ngc.exported(case.text(elem), runtime))
    [found] = program(inputs)
    [errors] = measured(ngc, case, elem, inputs, [found])
    flat = [zeroed(v, elem) for v in inputs]
    subnormal = np.logical_or(*((z == 0) & (v != 0) for z, v in zip(flat, inputs)))
    fate = subnormals(errors, subnormal, found, program(flat)[0])
    line.inputs = max(line.inputs, fate, key=FATES.index)
    counts = errors.normal & ~(subnormal & (fate != "kept"))
    under = errors.counts & ~errors.normal & ~(subnormal & (fate == "wrong"))
    sizes = np.maximum(*(np.abs(v.astype(np.float64)) for v in inputs))
    lost = counts & (errors.units > 64)
    if lost.any():
        # The reciprocal of a large number may be one that is flushed.
        inside = sizes < sizes[lost].min()
        counts, under = counts & inside, under & inside
        reach = float(sizes[counts].max())
        line.within = reach if line.within is None else min(line.within, reach)
    for name, chosen, of in (("units", counts, errors.units), ("floor", under, errors.under)):
        if chosen.any():
            line.take(name, float(of[chosen].max()))
    line.take("beyond", float(np.max(errors.beyond[counts | under], initial=0.0)))
    line.every = False
    at = np.unravel_index(np.argmax(np.where(counts, errors.units, -1.0)), counts.shape)
    return f"a row each, at {float(inputs[0][at])!r}, {float(inputs[1][at[0], 0])!r}: {found[at]} for {errors.exact[at]!r}"


def subnormals(errors, subnormal, found, of_zeros):
    """What becomes of subnormal inputs: kept; flushed, where results are wrong for them alone and are what zeros give; or wrong
    in another way, as where a comparison flushes them and the product after it does not."""
    n = len(found)
    units, here, there = errors.units[:n], (errors.normal & subnormal)[:n], (errors.normal & ~subnormal)[:n]
    lost = errors.counts & ~errors.normal & np.isinf(errors.under)
    if (lost & subnormal).any() and not (lost & ~subnormal).any():
        return "wrong"
    if not (here.any() and there.any()):
        return "kept"
    same = (found == of_zeros) | (np.isnan(found.astype(np.float64)) & np.isnan(of_zeros.astype(np.float64)))
    bad = here & (units > 2 * max(1.0, min(float(np.max(units[there])), 64.0)))
    if bad.any() and same[bad].all():
        return "flushed"
    return "wrong" if (units[bad] > 64).any() else "kept"


def spread(sizes, units):
    """Where the larger errors lie, for the progress report."""
    parts = []
    for limit in (4, 64, 1e4):
        bad = units > limit
        if bad.any():
            parts.append(f">{limit:g} ulp: {int(bad.sum())} in |x| {sizes[bad].min():.3g}..{sizes[bad].max():.3g}")
    return "; " + ", ".join(parts) if parts else ""


def conversion(ngc, runtime, source, elem, line, random):
    """Conversions to the format, from another one or from integers."""
    if source == "i64":
        ends = np.ldexp(1.0, random.integers(1, 63, 60000))
        x = (random.uniform(-1, 1, 60000) * ends).astype(np.int64)
    else:
        x = unary(source, random)[0]
        # Ties and their neighbours in the narrower format, which a conversion in two steps gets wrong.
        digits, own = FORMATS[elem][1], FORMATS[source][1]
        if digits + 1 < own:
            y = rounded(ladder(elem, 20, random), elem).astype(np.float64)
            unit = np.ldexp(1.0, np.frexp(np.where(y == 0, 1.0, y))[1] - digits - 1)
            bits = np.ldexp(unit, -random.integers(0, own - digits, y.shape))
            x = np.concatenate([x.astype(np.float64), y + unit, y + unit + bits, y + unit - bits])
            x = rounded(x, source)
            x = x[np.isfinite(x.astype(np.float64))]
    case = Case("ng.convert", "to = @", [([len(x)], source)], [([len(x)], "F")])
    program = runtime.load(ngc.exported(case.text(elem), runtime))
    [whole] = program([x])
    [errors] = measured(ngc, case, elem, [x], [whole])
    counts = errors.normal
    if source in FORMATS:
        flat = zeroed(x, source)
        subnormal = (flat == 0) & (x != 0)
        fate = subnormals(errors, subnormal, whole, program([flat])[0])
        line.inputs = max(line.inputs, fate, key=FATES.index)
        counts = counts & ~(subnormal & (fate != "kept"))
    for name, chosen, of in (("units", counts, errors.units), ("floor", errors.counts & ~errors.normal, errors.under)):
        if chosen.any():
            line.take(name, float(of[chosen].max()))
    at = int(np.argmax(np.where(counts, errors.units, -1)))
    return f"from {source} at {x[at]!r}: {whole[at]} for {errors.exact[at]!r}"


# ---------------------------------------------------------------------------------------------------------------------
# Ops that sum or are composed: their errors over the bound that the analysis prints.

METHODS = ["accumulate = ^", 'sum = "pairwise"', 'sum = "neumaier"', 'sum = "kahan"']
KINDS = ["normal", "positive", "alternating", "exponents", "constant", "offset"]


def hostile(kind, shape, elem, random):
    """Inputs along the last axis that sums and scalings are bad at."""
    n = shape[-1] if shape else 1
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    if kind == "normal":
        x = random.normal(size=shape)
    elif kind == "positive":
        x = random.uniform(1, 2, size=shape)
    elif kind == "alternating":
        x = signs * random.uniform(1, 1.125, size=shape)
    elif kind == "exponents":
        x = random.normal(size=shape) * np.exp2(random.uniform(-12, 3, size=shape))
    elif kind == "constant":
        x = 1.7 * (1 + random.normal(size=shape) * 2.0 ** (-FORMATS[elem][1] + 1))
    else:
        x = 100 + random.uniform(-1, 1, size=shape)
    return rounded(x, elem)


def near_one(kind, shape, elem, random):
    """Factors of a product, whose size stays."""
    x = 1 + np.abs(hostile(kind, shape, elem, random).astype(np.float64)) * 2.0**-10
    signs = random.choice([-1.0, 1.0], shape) if kind in ("normal", "alternating") else 1.0
    return rounded(np.where(random.random(shape) < 0.5, x, 1 / x) * signs, elem)


def positive(kind, shape, elem, random):
    return rounded(np.exp2(random.uniform(-3, 3, size=shape)), elem)


def logarithms(kind, shape, elem, random):
    x = hostile(kind, shape, elem, random).astype(np.float64)
    return rounded(x - np.log(np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)) - x.max(), elem)


def distribution(kind, shape, elem, random):
    x = random.random(shape)
    return rounded(x / x.sum(axis=1, keepdims=True), elem)


def scales(kind, shape, elem, random):
    return rounded(random.uniform(-2, 2, size=shape), elem)


def whole(limit):
    return lambda kind, shape, elem, random: random.integers(0, limit, shape).astype(np.int64)


def flags(kind, shape, elem, random):
    mask = random.random(shape) < 0.6
    mask[..., 0] = True
    return mask


class Composed:
    def __init__(self, op, attributes, operands, results, constants=()):
        """Operands are triples of a shape, an element type and what makes the values; `constants` lists those that are constants
        of the function, as weights are."""
        self.op, self.attributes, self.operands, self.results, self.constants = op, attributes, operands, results, constants


def composed():
    x, g, i64 = hostile, scales, "i64"
    for n in (7, 64, 1000):
        rows = ([16, n], "F", x)
        for op in ("reduce_sum", "reduce_mean", "logsumexp", "variance"):
            yield Composed(f"ng.{op}", "axes = [1]", [rows], [([16], "F")])
        for op in ("reduce_sum", "reduce_mean", "logsumexp"):
            yield Composed(f"ng.{op}", "axes = [0], keepdims = true", [([n, 5], "F", x)], [([1, 5], "F")])
        yield Composed("ng.reduce_sum", "axes = [0, 2]", [([3, 2, n], "F", x)], [([2], "F")])
        yield Composed("ng.variance", "axes = [1], correction = 1 : i64", [rows], [([16], "F")])
        yield Composed("ng.reduce_prod", "axes = [1]", [([16, n], "F", near_one)], [([16], "F")])
        yield Composed("ng.reduce_prod", "axes = [0]", [([n, 5], "F", near_one)], [([5], "F")])
        for order in ("1.0", "2.0", "3.0", "0x7FF0000000000000")[: 2 if n == 1000 else 4]:
            yield Composed("ng.norm", f"axes = [1], ord = {order} : f64", [rows], [([16], "F")])
            yield Composed("ng.normalize", f"axis = 1 : i64, p = {order} : f64, epsilon = 1.0e-4 : f64", [rows], [([16, n], "F")])
        for op in ("softmax", "log_softmax"):
            yield Composed(f"ng.{op}", "axis = -1 : i64", [rows], [([16, n], "F")])
            yield Composed(f"ng.{op}", "axis = 0 : i64", [([n, 5], "F", x)], [([n, 5], "F")])
        classes = ([16], i64, whole(n))
        for reduction, result in (("none", [16]), ("mean", []), ("sum", []))[: 1 if n == 1000 else 3]:
            named = f'reduction = "{reduction}"'
            yield Composed("ng.cross_entropy", named, [rows, classes], [(result, "F")])
            yield Composed("ng.cross_entropy", named, [rows, ([16, n], "F", distribution)], [(result, "F")])
            yield Composed("ng.nll", named, [([16, n], "F", logarithms), classes], [(result, "F")])
        yield Composed("ng.cross_entropy", "", [rows, classes, ([n], "F", positive)], [([], "F")])
        yield Composed("ng.nll", "", [([16, n], "F", logarithms), classes, ([n], "F", positive)], [([], "F")])
        vector = ([n], "F", g)
        yield Composed("ng.layer_norm", "", [rows, vector, vector], [([16, n], "F")])
        yield Composed("ng.layer_norm", "", [rows, vector, vector], [([16, n], "F")], (1, 2))
        yield Composed("ng.layer_norm", "", [rows], [([16, n], "F")])
        yield Composed("ng.rms_norm", "", [rows, vector], [([16, n], "F")])
        yield Composed("ng.rms_norm", "", [rows], [([16, n], "F")])
        four = ([4], "F", g)
        for groups in (1, 2, 4):
            yield Composed("ng.group_norm", f"num_groups = {groups} : i64", [([2, 4, n], "F", x), four, four], [([2, 4, n], "F")])
        batch = [([2, 4, n], "F", x), four, four, four, ([4], "F", positive)]
        yield Composed("ng.batch_norm", "", batch, [([2, 4, n], "F")])
        yield Composed("ng.batch_norm", "", batch, [([2, 4, n], "F")], (1, 2, 3, 4))
        right, turned = ([n, 8], "F", x), ([8, n], "F", x)
        yield Composed("ng.matmul", "", [rows, right], [([16, 8], "F")])
        yield Composed("ng.matmul", "", [rows, right], [([16, 8], "F")], (1,))
        yield Composed("ng.matmul", "", [([n], "F", x), right], [([8], "F")])
        yield Composed("ng.matmul", "", [([1, n], "F", x), ([n, 1], "F", x)], [([1, 1], "F")])
        yield Composed("ng.matmul", "", [([2, 3, n], "F", x), ([2, n, 5], "F", x)], [([2, 3, 5], "F")])
        yield Composed("ng.affine", "transpose_w = true", [rows, turned, ([8], "F", x)], [([16, 8], "F")])
        yield Composed("ng.affine", "transpose_w = true", [rows, turned, ([8], "F", x)], [([16, 8], "F")], (1, 2))
        yield Composed("ng.affine", "", [rows, right, ([8], "F", x)], [([16, 8], "F")])
        turned_rows = [([n, 16], "F", x), right, ([8], "F", x)]
        yield Composed("ng.affine", "transpose_x = true, alpha = 0.5, beta = 2.0", turned_rows, [([16, 8], "F")])
        for op in ("reduce_sum", "reduce_mean", "variance"):
            for method in METHODS[: 3 if op.startswith("reduce") else 1]:
                yield Composed(f"ng.{op}", f"axes = [1], {method}", [rows], [([16], "F")])
        yield Composed("ng.softmax", METHODS[0], [rows], [([16, n], "F")])
        for method in METHODS:
            yield Composed("ng.matmul", method, [rows, right], [([16, 8], "F")])
        yield Composed("ng.layer_norm", "accumulate = ^", [rows, vector, vector], [([16, n], "F")])
        yield Composed("ng.cumsum", "axis = 1", [rows], [([16, n], "F")])
        yield Composed("ng.cumsum", "axis = 0, reverse = true, exclusive = true", [([n, 5], "F", x)], [([n, 5], "F")])
        yield Composed("ng.cumprod", "axis = 1", [([16, n], "F", near_one)], [([16, n], "F")])
        yield Composed("ng.global_avg_pool", "", [([2, 3, n, 2], "F", x)], [([2, 3, 1, 1], "F")])
        for reduction, of in (("add", x), ("mul", near_one)):
            data, updates, named = ([8], "F", of), ([n], "F", of), f'reduction = "{reduction}"'
            places = whole(8)
            yield Composed("ng.scatter_elements", f"axis = 0, {named}", [data, ([n], i64, places), updates], [([8], "F")])
            yield Composed("ng.scatter_nd", named, [data, ([n, 1], i64, places), updates], [([8], "F")])
    for channels, kernel in ((1, 7), (8, 8), (100, 10)):
        w, b = ([4, channels, kernel], "F", x), ([4], "F", x)
        for constants in ((), (1, 2)):
            yield Composed("ng.conv", "", [([2, channels, 24], "F", x), w, b], [([2, 4, 25 - kernel], "F")], constants)
    image = ([2, 8, 12, 12], "F", x)
    for constants in ((), (1,)):
        for attributes, kernel, result in (
            ("pads = [[1, 1], [1, 1]]", [8, 8, 3, 3], [2, 8, 12, 12]),
            ("strides = [2, 2], groups = 8 : i64", [8, 1, 3, 3], [2, 8, 5, 5]),
            ("dilations = [2, 2], groups = 2 : i64", [8, 4, 3, 3], [2, 8, 8, 8]),
            ("", [16, 8, 1, 1], [2, 16, 12, 12]),
        ):
            yield Composed("ng.conv", attributes, [image, (kernel, "F", x)], [(result, "F")], constants)
    yield Composed("ng.avg_pool", "kernel = [7]", [([2, 3, 64], "F", x)], [([2, 3, 58], "F")])
    yield Composed("ng.avg_pool", "kernel = [3, 3], pads = [[1, 1], [1, 1]], strides = [2, 2]", [image], [([2, 8, 6, 6], "F")])
    padded = "kernel = [3, 3], pads = [[1, 1], [1, 1]], count_include_pad = true"
    yield Composed("ng.avg_pool", padded, [image], [([2, 8, 12, 12], "F")])
    yield Composed("ng.avg_pool", "kernel = [8, 8], strides = [4, 4]", [([2, 3, 32, 32], "F", x)], [([2, 3, 7, 7], "F")])
    yield Composed("ng.adaptive_avg_pool", "output_size = [1, 1]", [([2, 3, 32, 32], "F", x)], [([2, 3, 1, 1], "F")])
    yield Composed("ng.adaptive_avg_pool", "output_size = [5, 3]", [image], [([2, 8, 5, 3], "F")])
    for s, t, d in ((5, 7, 8), (8, 64, 16), (4, 300, 64)):
        q, k, v = ([2, 4, s, d], "F", x), ([2, 4, t, d], "F", x), ([2, 4, t, d], "F", x)
        result = [([2, 4, s, d], "F")]
        yield Composed("ng.attention", "", [q, k, v], result)
        yield Composed("ng.attention", "", [q, k, v, ([s, t], "i1", flags)], result)
        yield Composed("ng.attention", "", [q, k, v, ([2, 4, s, t], "F", x)], result)
        yield Composed("ng.attention", "causal = true", [q, ([2, 2, s, d], "F", x), ([2, 2, s, d], "F", x)], result)
        keys = ([t, d], "F", x)
        yield Composed("ng.attention", "scale = 0.01 : f64", [([s, d], "F", x), keys, keys], [([s, d], "F")])


def ratio(ngc, runtime, item, kind, elem, random):
    """The largest error over the bound, and both; nothing where the analysis has no bound."""
    arrays = [make(kind, shape, elem, random) for shape, _, make in item.operands]
    operands = [x if i in item.constants else operand[:2] for i, (x, operand) in enumerate(zip(arrays, item.operands))]
    case = Case(item.op, item.attributes, operands, item.results)
    inputs = [x for i, x in enumerate(arrays) if i not in item.constants]
    ends = lambda x: (float(wide(x).min()), float(wide(x).max()))
    ranges = [ends(x) if of == "F" else None for x, (_, of) in zip(inputs, case.arguments())]
    program = ngc.loaded(case.text(elem), runtime)
    [bound] = ngc.bounds(case.text(elem, ranges))
    if not math.isfinite(bound):
        return None
    results = program(inputs)
    [errors] = measured(ngc, case, elem, inputs, results, tiny=False)
    error = float(errors.absolute[errors.counts].max()) if errors.counts.any() else 0.0
    return (0.0 if error == 0 else math.inf if bound == 0 else error / bound), error, bound


# ---------------------------------------------------------------------------------------------------------------------
# Ops that move or compare numbers.


def moving():
    x, i64 = ([4, 6], "F"), "i64"
    ints = lambda shape, limit: (shape, i64, limit)
    yield "reshape", "shape = [3, 8]", [x], [([3, 8], "F")]
    yield "transpose", "permutation = [1, 0]", [x], [([6, 4], "F")]
    yield "broadcast_to", "shape = [2, 4, 6]", [x], [([2, 4, 6], "F")]
    yield "squeeze", "axes = [1]", [([24, 1], "F")], [([24], "F")]
    yield "unsqueeze", "axes = [0]", [x], [([1, 4, 6], "F")]
    yield "flatten", "axis = 1", [([4, 3, 2], "F")], [([4, 6], "F")]
    yield "concat", "axis = 1", [x, x], [([4, 12], "F")]
    yield "split", "axis = 1, sizes = [1, 5]", [x], [([4, 1], "F"), ([4, 5], "F")]
    yield "slice", "axes = [1], starts = [-5], stops = [9], steps = [2]", [x], [([4, 3], "F")]
    for mode in ("constant", "edge", "reflect", "wrap"):
        yield "pad", f'low = [0, 1], high = [0, 1], mode = "{mode}"', [x], [([4, 8], "F")]
    yield "reverse", "axes = [1]", [x], [x]
    yield "tile", "repeats = [2, 1]", [x], [([8, 6], "F")]
    yield "tril", "", [x], [x]
    yield "triu", "", [x], [x]
    yield "gather", "axis = 0", [x, ints([5], 4)], [([5, 6], "F")]
    yield "gather_elements", "axis = 1", [x, ints([4, 3], 6)], [([4, 3], "F")]
    yield "gather_nd", "", [x, ints([7, 1], 4)], [([7, 6], "F")]
    yield "one_hot", "depth = 5, type = @", [ints([7], 5)], [([7, 5], "F")]
    for reduction in ("none", "max", "min"):
        yield "scatter_elements", f'axis = 1, reduction = "{reduction}"', [x, ("places", i64), ([4, 3], "F")], [x]
        yield "scatter_nd", f'reduction = "{reduction}"', [x, ("rows", i64), ([2, 6], "F")], [x]
    yield "topk", "axis = -1, k = 3", [x], [([4, 3], "F"), ([4, 3], i64)]
    yield "sort", "axis = -1", [x], [x, ([4, 6], i64)]
    for op in ("reduce_max", "reduce_min"):
        yield op, "axes = [1]", [x], [([4], "F")]
    for op in ("argmax", "argmin"):
        yield op, "axis = 1 : i64", [x], [([4], i64)]
    yield "max_pool", "kernel = [2, 2]", [([1, 2, 4, 6], "F")], [([1, 2, 3, 5], "F")]
    yield "adaptive_max_pool", "output_size = [2, 2]", [([1, 2, 4, 6], "F")], [([1, 2, 2, 2], "F")]
    yield "global_max_pool", "", [([1, 2, 4, 6], "F")], [([1, 2, 1, 1], "F")]
    yield "where", "", [([4, 6], "i1"), x, x], [x]
    yield "select", "", [([4, 6], "i1"), x, x], [x]
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        yield "compare", f'direction = "{direction}"', [x, x], [([4, 6], "i1")]
    for op in ("is_nan", "is_finite", "is_inf"):
        yield op, "", [x], [([4, 6], "i1")]
    yield "clamp", "", [x, ([], "F"), ([], "F")], [x]
    yield "iota", "axis = 1, type = tensor<2x200x@>", [], [([2, 200], "F")]
    yield "range", "start = 0.1, limit = 20.0, delta = 0.1, type = @", [], [([199], "F")]


def moved(ngc, runtime, item, elem, line, random):
    """Runs one of them on numbers of all sizes, subnormal ones and zeros among them."""
    op, attributes, operands, results = item
    case = Case(f"ng.{op}", attributes, [o[:2] if o[0] not in ("places", "rows") else (None, o[1]) for o in operands], results)
    inputs = []
    for i, operand in enumerate(operands):
        shape, of = operand[:2]
        if of == "i1":
            inputs.append(random.random(shape) < 0.5)
        elif shape == "places":
            inputs.append(np.argsort(random.random((4, 6)), axis=1)[:, :3].astype(np.int64))
            case.operands[i] = ([4, 3], of)
        elif shape == "rows":
            inputs.append(np.array([[2], [0]], dtype=np.int64))
            case.operands[i] = ([2, 1], of)
        elif of == "i64":
            inputs.append(random.integers(0, operand[2], shape).astype(np.int64))
        elif op == "clamp" and i:
            inputs.append(rounded([-1.5, 2.0][i - 1], elem))
        else:
            rungs = rounded(ladder(elem, 2, random), elem)
            rungs = np.concatenate([rungs, np.resize(zeroed(rungs, elem) - rungs, len(rungs))])
            rungs = rungs[np.isfinite(rungs.astype(np.float64))]
            inputs.append(random.choice(rungs, shape))
    if op == "compare":
        inputs[1] = np.where(random.random((4, 6)) < 0.4, inputs[0], inputs[1])
    found = runtime.load(ngc.exported(case.text(elem), runtime))(inputs)
    flat = lambda x: zeroed(x, elem) if x.dtype == FORMATS[elem][0] else x
    judged = measured(ngc, case, elem, inputs, found)
    if any(isinstance(e, np.ndarray) and e.any() for e in judged):
        # Choices that are wrong may be those of operands whose subnormal numbers were read as zeros.
        again = measured(ngc, case, elem, [flat(x) for x in inputs], found)
        if any(isinstance(e, np.ndarray) and e.any() for e in again):
            line.take("units", math.inf)
            return "a wrong choice"
        line.inputs = max(line.inputs, "flushed", key=FATES.index)
    for errors in judged:
        if isinstance(errors, np.ndarray):
            line.take("units", 0.0)
            line.take("floor", 0.0)
            continue
        for name, chosen, of in (("units", errors.normal, errors.units), ("floor", errors.counts & ~errors.normal, errors.under)):
            if chosen.any():
                line.take(name, float(of[chosen].max()))
    return ""


# ---------------------------------------------------------------------------------------------------------------------
# The table.


def up(x, places=2):
    """Rounded up to decimal places, of numbers that are not."""
    if not math.isfinite(x):
        return "inf"
    scaled = Fraction(x) * 10**places
    text = f"{math.ceil(scaled) / 10**places:.{places}f}"
    return text.rstrip("0").rstrip(".")


def stated_floor(measured, elem):
    """In units of the least subnormal number: correctly rounded, flushed to zero, or measured with the margin."""
    _, digits, least, _ = FORMATS[elem]
    flush = 2.0 ** (digits - 1)
    if measured == 0:
        return "0"
    if measured <= 0.5:
        units = Fraction(1, 2)
    elif flush / 4 < measured <= flush:
        units = Fraction(flush)
    elif not math.isfinite(measured):
        return "inf"
    else:
        units = Fraction(measured) * Fraction(MARGIN)
    value = units * Fraction(2) ** (least - digits + 1)
    # Half of the least subnormal number of f64 is no number of f64, which readers would take for 0.
    return repr(max(math.nextafter(float(value), math.inf) if Fraction(float(value)) < value else float(value), 5e-324))


def rows(op, elem, line):
    if line.times is not None:
        return [[op, elem, line.kind, "-", "-", "-", "-", up(max(2.0, 2.0 * line.times))]]
    flush = 2.0 ** (FORMATS[elem][1] - 1)
    exact = line.units in (0, None) and (not line.floor or flush / 4 < line.floor <= flush)
    if line.units in (0, None):
        units = "0"
    elif line.units <= 0.5 and (op in IEEE or line.every):
        units = "0.5"
    else:
        units = up(max(1.0, line.units * MARGIN))
    # A sample that had no error below the normal numbers proves nothing of a function.
    least = 0.0 if exact or op in IEEE else 0.5
    floor = "-" if line.floor is None else stated_floor(max(line.floor, least), elem)
    within = "-" if line.within is None else repr(line.within)
    found = [[op, elem, "exact" if exact else "function", units, floor, line.inputs, within, "-"]]
    if line.units is not None and line.units * MARGIN > 2 * FEW and line.beyond and line.beyond * MARGIN < 1:
        beyond = repr(math.nextafter(line.beyond * MARGIN, math.inf))
        found.append([op, elem, "absolute", up(FEW), beyond, line.inputs, within, "-"])
    return found


def work(runtime):
    """What is measured: an op, a kind, and a function of ngc, the format, the line and random numbers."""
    for op, attributes in UNARY:
        yield op, attributes, lambda n, e, l, r, o=op, a=attributes: elementwise(n, runtime, o, a, e, l, unary(e, r, o))
    for op, attributes in BINARY:
        yield op, attributes, lambda n, e, l, r, o=op, a=attributes: elementwise(n, runtime, o, a, e, l, binary(e, r, o))
    for op, attributes in TERNARY:
        yield op, attributes, lambda n, e, l, r, o=op, a=attributes: elementwise(n, runtime, o, a, e, l, ternary(e, r, o))
    for op in ("ng.add", "ng.div", "ng.mul", "ng.sub"):
        yield op, "rows", lambda n, e, l, r, o=op: rowwise(n, runtime, o, e, l, r)
    for divisor in DIVISORS:
        c = (np.array(divisor),)
        yield "ng.div", divisor, lambda n, e, l, r, c=c: elementwise(n, runtime, "ng.div", "", e, l, unary(e, r), c)
    for power in POWERS:
        exponent = (np.array(power),)
        yield "ng.pow", power, lambda n, e, l, r, c=exponent: elementwise(n, runtime, "ng.pow", "", e, l, unary(e, r), c)
    for source in [*FORMATS, "i64"]:
        yield "ng.convert", source, lambda n, e, l, r, s=source: "" if s == e else conversion(n, runtime, s, e, l, r)
    for item in moving():
        yield f"ng.{item[0]}", item[1], lambda n, e, l, r, i=item: [moved(n, runtime, i, e, l, r) for _ in range(4)][-1]
    for item in composed():
        for kind in KINDS:
            yield item.op, (item, kind), lambda n, e, l, r, i=item, k=kind: ratio(n, runtime, i, k, e, r)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", help="folder of ngc-opt, ngc-run and ngc-translate")
    parser.add_argument("runtime", choices=RUNTIMES)
    parser.add_argument("ops", nargs="*", help="the ops to measure, such as ng.exp; all if there are none")
    parser.add_argument("--formats", default=",".join(FORMATS), help="formats to measure, separated by commas")
    options = parser.parse_args()
    runtime = RUNTIMES[options.runtime]()
    lines, refused, above, unbounded = {}, {}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        ngc = Ngc(options.tools, folder)
        for op, attributes, measure in work(runtime):
            if options.ops and op not in options.ops:
                continue
            for elem in options.formats.split(","):
                label = attributes
                if isinstance(attributes, tuple):
                    item, kind = attributes
                    shapes = " ".join("x".join(map(str, s)) or "scalar" for s, _, _ in item.operands)
                    label = f"{{{item.attributes}}} {shapes} constants {item.constants} {kind}"
                random = seed(op, label, elem)
                sums = isinstance(attributes, tuple) and "sum = " in attributes[0].attributes
                key = (op, elem, sums)
                line = lines.get(key, Line())
                try:
                    note = measure(ngc, elem, line, random)
                except Exception as error:
                    reason = " ".join(str(error).split())[:160]
                    if reason not in refused.setdefault((op, elem), []):
                        refused[op, elem].append(reason)
                        progress(op, elem, label, "refused:", type(error).__name__, reason)
                    continue
                if isinstance(attributes, tuple):
                    if note is None:
                        unbounded += 1
                        continue
                    line.kind = "compensated" if sums else "composed"
                    if note[0] > 1 or line.times is None or note[0] > line.times:
                        mark = "ABOVE" if note[0] > 1 else "ratio"
                        progress(op, elem, label, mark, f"{note[0]:.3g}", f"error {note[1]:.3g} bound {note[2]:.3g}")
                        above += [(op, elem)] if note[0] > 1 else []
                    line.take("times", note[0])
                else:
                    small = "" if line.floor is None else f"{line.floor:.3g}"
                    progress(op, elem, label, "ulps", line.units, "floor", small, line.inputs, note)
                if line.units is not None or line.times is not None:
                    lines[key] = line
    table = [row for (op, elem, _), line in sorted(lines.items(), key=lambda item: item[0]) for row in rows(op, elem, line)]
    print(HEAD.format(name=options.runtime, version=runtime.version, margin=MARGIN, processor=processor()), end="")
    for row in table:
        print("\t".join(row))
    named = ", ".join(f"{op} {elem}" for op, elem in dict.fromkeys(above))
    progress(len(table), "lines;", unbounded, "cases without a bound; above 1:", named)


def processor():
    """The kind, with those of its instructions for which kernels differ."""
    name = platform.machine()
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return name
    shown = [f for f in ("fma", "avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "sve") if f in flags]
    return f"{name} with {', '.join(shown)}" if shown else name


HEAD = """# The errors of {name} {version} by op and format, on a CPU ({processor}), as the ops run there when ngc exports them.
# Measured, not proved: inputs are all numbers of f16 and bf16 for functions of one argument, and samples otherwise.
# ulps: the largest error over results in the normal range, in units in the last place of the exact result, times
# {margin}; 0.5 is said of what is correctly rounded. floor: the largest error of results below the least normal number.
# inputs: whether subnormal inputs are kept, flushed to zeros (ulps then leave them out), or give results that are wrong in
# other ways (then the line says nothing of them). within: the greatest size of an input for which the line holds. times:
# twice the largest ratio of an error to the bound that --analyze prints, at least 2.
# The kind compensated is of sums in pairs or with compensation, whose bounds are smaller, where composed leaves these out.
# A line of the kind absolute says the same otherwise, for functions whose zeros or tails have few right digits: each
# error is at most ulps units in the last place of the exact result (of the least normal number for those below it) and
# floor together.
# testdata/measure_runtimes.py target/release {name} > src/dialects/runtimes/{name}.tsv
op	format	kind	ulps	floor	inputs	within	times
"""


if __name__ == "__main__":
    main()
