#!/usr/bin/env python3
"""Runs what ngc writes by XLA, and writes docs/stablehlo.md.

Needs jax (CPU), and ngc's tools in target/debug (or the folder given). Each sample of testdata/stablehlo is imported and exported
as it is, and stabilised; jaxlib parses, verifies, compiles and runs both, and the results are held against JAX's own.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import jax
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.extend import backend
from jaxlib.mlir import ir

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "target/debug")
SAMPLES = HERE / "stablehlo"
MODELS = [pathlib.Path(p) for p in sys.argv[2:]]
# XLA keeps f32 where the text says bf16.
UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SHOWN = "softmax log_softmax logsumexp layer_norm rms_norm group_norm norm normalize variance attention gelu silu softplus sigmoid logaddexp xlogy erfc expm1 log1p cross_entropy log_sigmoid reduce_mean".split()


def tool(name, *arguments):
    return subprocess.run([TOOLS / name, *map(str, arguments)], capture_output=True, text=True)


def run(path, inputs):
    client = backend.get_backend()
    with mlir.make_ir_context():
        module = ir.Module.parse(path.read_text())
        module.operation.verify()
        devices = xla_client.DeviceList(tuple(client.devices()[:1]))
        compiled = client.compile_and_load(module, devices, xla_client.CompileOptions())
    results = compiled.execute_sharded([jax.device_put(x) for x in inputs])
    return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]


def difference(found, wanted):
    """The largest difference, in units of the last place of the largest number."""
    worst = 0.0
    for x, y in zip(found, wanted, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype), (x.shape, x.dtype, y.shape, y.dtype)
        unit = UNITS.get(y.dtype.name, 2.0**-53)
        x, y = x.astype(np.float64), y.astype(np.float64)
        assert (np.isnan(x) == np.isnan(y)).all(), "NaN"
        with np.errstate(invalid="ignore"):
            apart = np.where((x == y) | np.isnan(x), 0.0, np.abs(x - y))
        size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        worst = max(worst, np.max(apart, initial=0.0) / (size * unit) if apart.any() else 0.0)
    return f"{worst:.1f}"


def arrays(name):
    path = SAMPLES / f"{name}.npz"
    if not path.exists():
        return None, None
    read = np.load(path)
    fix = lambda a: a.view(ml_dtypes.bfloat16) if a.dtype.kind == "V" else a
    count = lambda kind: sum(f.startswith(kind) for f in read.files)
    return tuple([fix(read[f"{kind}_{n}"]) for n in range(count(kind))] for kind in ["in", "out"])


def ops(text):
    return re.findall(r"ng\.([a-z_0-9]+) ", text)


def check(path, folder, bounds):
    name = path.name.removesuffix(".mlir").removesuffix(".stablehlo")
    plain, stable, cured = folder / "plain.mlir", folder / "stable.mlir", folder / "stable.ngir"
    done = tool("ngc-translate", "--import-stablehlo", path, "--export-stablehlo", "-o", plain)
    if done.returncode:
        reason = done.stderr.splitlines()[0].removeprefix("error: ")
        return f"| {name} | refused: {reason} | | | | |", done.returncode == 3
    for output in [stable, cured]:
        flags = ["--export-stablehlo"] if output == stable else []
        done = tool("ngc-opt", "--stabilize", "--import-stablehlo", path, *flags, "-o", output)
        assert done.returncode == 0, (name, done.stderr)
    found = [op for op in dict.fromkeys(ops(cured.read_text())) if op in SHOWN]
    inputs, outputs = arrays(name)
    if inputs is None:
        random = np.random.default_rng(7)
        with mlir.make_ir_context():
            main = ir.Module.parse(path.read_text()).body.operations[0]
            types = [ir.RankedTensorType(t) for t in main.type.inputs]
            shapes = [(t.shape, str(t.element_type)) for t in types]
        draw = lambda s, e: random.integers(0, 3, s).astype(np.int32) if e == "i32" else (random.normal(size=s) * 0.1).astype(np.float32)
        inputs = [draw(*s) for s in shapes]
        outputs = run(path, inputs)
    difference_of = lambda file: difference(run(file, inputs), outputs)
    apart = bounds.get(name, ["", ""])
    row = [name, ", ".join(found), *apart, difference_of(plain), difference_of(stable)]
    return f"| {' | '.join(row)} |", True


HEAD = """# StableHLO

Written by `testdata/check_stablehlo.py` and `NGC_BLESS=1 cargo test -p ngc-tools --test all stablehlo`. Samples are texts that JAX printed
(testdata/make_stablehlo.py says of what). *Difference* is the largest one between ngc's evaluation and JAX's; *bound* is the
error bound that the analysis states for these inputs. The last two columns are of what ngc writes, parsed, verified and run by
XLA: the text imported and exported as it is, and stabilised, their largest differences from JAX in half units of the last place
of the largest number. The formulas of ops that StableHLO lacks round at each step.

| sample | recognised by `--stabilize` | difference | bound | exported, by XLA | stabilised, by XLA |
|---|---|---|---|---|---|
"""


def main():
    jax.config.update("jax_enable_x64", True)
    rows = (line.split("\t") for line in (SAMPLES / "bounds.tsv").read_text().splitlines()[1:])
    bounds = {row[0]: row[1:] for row in rows if row[1] != "refused"}
    table, right = HEAD, True
    with tempfile.TemporaryDirectory() as folder:
        for path in [*sorted(SAMPLES.glob("*.mlir")), *MODELS]:
            row, fine = check(path, pathlib.Path(folder), bounds)
            print(row)
            table += row + "\n"
            right &= fine
    (HERE.parent / "docs/stablehlo.md").write_text(table)
    sys.exit(not right)


main()
