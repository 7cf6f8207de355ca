#!/usr/bin/env python3
"""Runs programs in real runtimes, and holds what they make of them against the bounds that ngc prints for these runtimes: the
page docs/runtime-bounds.md.

    NGC_WRITE_PROGRAMS=/tmp/programs cargo test --release -p ngc-passes --test all written:: -- --ignored
    testdata/check_runtime_bounds.py target/release /tmp/programs > docs/runtime-bounds.md

Each program is written to the format of a runtime with --analyze, and run there on numbers drawn from the ranges that it states, the
ends among them; exact values are those of ngc-run at 200 bits. The exit code is 1 if a finite bound is exceeded. Needs numpy,
onnxruntime and torch; xla is held where jax is there.
"""

import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np
import onnxruntime
import torch

if len(sys.argv) != 3:
    sys.exit(__doc__)
TOOLS, PROGRAMS = Path(sys.argv[1]), sorted(Path(sys.argv[2]).glob("*.ngir"))
RUNTIMES = {"onnxruntime": ".onnx", "torch": ".py"}


def run(tool, *arguments):
    done = subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[0])
    return done


def in_onnxruntime(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs)))


def in_torch(path):
    scope = {"__name__": "exported", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    kinds = [v for v in scope.values() if isinstance(v, type) and issubclass(v, torch.nn.Module)]
    module = kinds[-1]()

    def call(inputs):
        with torch.no_grad():
            results = module(*map(torch.from_numpy, inputs))
        return [y.numpy() for y in (results if isinstance(results, (tuple, list)) else [results])]

    return call


LOAD = {"onnxruntime": in_onnxruntime, "torch": in_torch}


def drawn(text, seed):
    """Inputs in the ranges that a program states."""
    random = np.random.default_rng(seed)
    inputs = []
    for shape, elem, lo, hi in re.findall(r"%\w+: tensor<([\dx]+)x(f\d+)> \{ng.range = \[([^,]+), ([^\]]+)\]\}", text):
        kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[elem]
        x = random.uniform(float(lo), float(hi), [int(n) for n in shape.split("x")])
        x.flat[:2] = float(lo), float(hi)
        with np.errstate(over="ignore"):
            inputs.append(np.clip(x.astype(kind), *(kind(float(end)) for end in (lo, hi))))
    return inputs


class Held:
    """What was held against bounds in a runtime."""

    def __init__(self):
        self.programs, self.unbounded, self.refused, self.values, self.ratios, self.beyond = 0, 0, {}, 0, [], []
        self.without = {}


def hold(held, runtime, path, folder, inputs, exact):
    target = folder / ("out" + RUNTIMES[runtime])
    report = folder / "report.json"
    run("ngc-opt", path, "--analyze", "--analysis-report=json", "--analysis-report-output", report, "-o", target)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    bounds = [line["error"]["absolute"] for line in lines if line["kind"] == "output"]
    label = next(line["label"] for line in lines if line["kind"] == "output")
    assert f"given table {runtime}" in label, label
    results = LOAD[runtime](target)(inputs)
    held.programs += 1
    worst = 0.0
    for bound, result, truth in zip(bounds, results, exact, strict=True):
        bound = float(bound)
        if not np.isfinite(bound):
            held.unbounded += 1
            continue
        counts = ~np.isnan(truth)
        error = np.abs(result.astype(np.float64) - truth)[counts]
        error[np.isnan(error)] = np.inf
        held.values += int(counts.sum())
        # The exact value is rounded to f64 here.
        slack = np.abs(truth[counts]) * 2.0**-52
        if (error > bound + slack).any():
            held.beyond.append((path.name, float(error.max()), bound))
        if bound > 0 and error.size:
            worst = max(worst, float(error.max()) / bound)
    held.ratios.append(worst)


def main():
    torch.set_num_threads(1)
    held = {runtime: Held() for runtime in RUNTIMES}
    for n, path in enumerate(PROGRAMS):
        inputs = drawn(path.read_text(), n)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for i, x in enumerate(inputs):
                np.save(folder / f"x{i}.npy", x)
            files = [folder / f"x{i}.npy" for i in range(len(inputs))]
            run("ngc-run", path, *files, "--precision", 200, "--output-dir", folder)
            exact = [np.load(f).astype(np.float64) for f in sorted(folder.glob("output_*.npy"))]
            for runtime, own in held.items():
                try:
                    hold(own, runtime, path, folder, inputs, exact)
                except RuntimeError as e:
                    own.refused[str(e)[:80]] = own.refused.get(str(e)[:80], 0) + 1
        if n % 20 == 0:
            print(f"{n} of {len(PROGRAMS)}", *(len(own.beyond) for own in held.values()), file=sys.stderr, flush=True)
    total = sum(own.values for own in held.values())
    print(
        f"""# Bounds held in the runtimes that they are printed for

Naive programs of several idioms each (passes/tests/written.rs), written to ONNX and to PyTorch with `--analyze`, which prints bounds
given the measured table of the runtime, and run there on numbers drawn from the ranges that they state; onnxruntime
{onnxruntime.__version__} with its default optimisations, torch {torch.__version__.split("+")[0]}, on a CPU. Exact values are those of
`ngc-run` at 200 bits. Written by

    NGC_WRITE_PROGRAMS=/tmp/programs cargo test --release -p ngc-passes --test all written:: -- --ignored
    testdata/check_runtime_bounds.py target/release /tmp/programs > docs/runtime-bounds.md

*Without bound*: programs whose bound is infinite, since a value may overflow or the table does not know an op. *Sharpness*: the
largest error of a program over its bound, the median of all programs.

In all {total} values were held against finite bounds, and {sum(len(own.beyond) for own in held.values())} programs went beyond theirs.

| runtime | programs run | without bound | values held | beyond the bound | sharpness |
|---|---|---|---|---|---|"""
    )
    for runtime, own in held.items():
        sharp = [x for x in own.ratios if x > 0]
        median = f"{float(np.median(sharp)):.3g}" if sharp else "-"
        print(f"| {runtime} | {own.programs} | {own.unbounded} | {own.values} | {len(own.beyond)} | {median} |")
    for runtime, own in held.items():
        for name, error, bound in own.beyond:
            print(f"\n{runtime}: {name} erred by {error:.3g}, bound {bound:.3g}.")
        for why, count in sorted(own.refused.items()):
            print(f"\n{runtime}: {count} programs were not written: {why}")
    sys.exit(1 if any(own.beyond for own in held.values()) else 0)


if __name__ == "__main__":
    main()
