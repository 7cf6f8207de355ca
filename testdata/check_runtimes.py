#!/usr/bin/env python3
"""Holds what runtimes make of the modules of testdata/modules before and after --stabilize against what the modules are over
the reals: the table in docs/runtimes.md.

    testdata/check_runtimes.py target/release > docs/runtimes.md

Each module is written to ONNX and to PyTorch, as given and stabilised, and run there on its harmless and its hostile inputs:
in ONNX Runtime (with its default optimisations) and in PyTorch (what is given as it is written in cases.py). The exit
code is 1 if a stabilised module is worse than the given one in the same runtime. Needs numpy, onnx, onnxruntime and torch.
"""

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")

import numpy as np
import onnxruntime
import torch

MODULES = Path(__file__).resolve().parent / "modules"
sys.path.insert(0, str(MODULES))
import cases

TOOLS = Path(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(__doc__)
NAMES = sys.argv[2:] or sorted(path.stem for path in MODULES.glob("*.pt2"))
# The largest number and the least normal one of a format, and its unit in the last place of 1.
FORMATS = {np.float32: (3.4028235e38, 1.1754944e-38, 2.0**-23), np.float16: (65504.0, 6.1035156e-5, 2.0**-10)}
FORMATS[np.float64] = (np.finfo(np.float64).max, np.finfo(np.float64).tiny, 2.0**-52)


class Found:
    """Elements lost, and the largest errors in units in the last place: of the largest element, and of the element itself."""

    def __init__(self):
        self.lost, self.of_largest, self.of_element = 0, 0.0, 0.0

    def add(self, result, truth):
        if result.dtype.type not in FORMATS:
            return
        largest, least, ulp = FORMATS[result.dtype.type]
        result, truth = result.astype(np.float64), np.asarray(truth)
        counts = np.isfinite(truth) & (np.abs(truth) <= largest)
        self.lost += int((counts & ~np.isfinite(result)).sum())
        counts &= np.isfinite(result)
        if not counts.any():
            return
        error, size = np.abs(result - truth)[counts], np.maximum(np.abs(truth[counts]), least)
        self.of_largest = max(self.of_largest, error.max() / (size.max() * ulp))
        self.of_element = max(self.of_element, (error / (size * ulp)).max())

    def is_worse(self, than):
        """By more than twice and 4 units, as in docs/modules.md; small elements count where half of the digits are lost."""
        more = lambda a, b: a > 2 * b + 4
        if self.lost != than.lost:
            return self.lost > than.lost
        wrong = self.of_element > 4096 and more(self.of_element, than.of_element)
        return more(self.of_largest, than.of_largest) or wrong

    def cell(self):
        short = lambda x: f"{x:.1e}" if x >= 1000 else f"{x:.3g}"
        lost = f"{self.lost} lost, " if self.lost else ""
        return f"{lost}{short(self.of_largest)} \\| {short(self.of_element)}"


def run(tool, *arguments):
    done = subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])


def in_onnxruntime(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs, strict=True)))


def called(function):
    def call(inputs):
        with torch.no_grad():
            results = function(*map(torch.from_numpy, inputs))
        return [y.numpy() for y in (results if isinstance(results, (tuple, list)) else [results])]

    return call


def in_torch(path):
    scope = {"__name__": "exported", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    kinds = [v for v in scope.values() if isinstance(v, type) and issubclass(v, torch.nn.Module)]
    return called(kinds[-1]())


def judged(make, sets):
    """What a program makes of the inputs, or why there is none."""
    try:
        program, found = make(), Found()
        for inputs, truth in sets:
            for result, exact in zip(program(inputs), truth):
                found.add(np.asarray(result), exact)
        return found
    except Exception as e:
        kind = "" if isinstance(e, RuntimeError) else f"{type(e).__name__}: "
        return kind + (str(e).strip().splitlines() or [""])[0].removeprefix("error: @main: ")[:60]


def sets_of(name):
    with np.load(MODULES / f"{name}.npz") as arrays:
        of = lambda kind, s: [arrays[f"{kind}{s}_{n}"] for n in range(64) if f"{kind}{s}_{n}" in arrays]
        sets = [(of("in", s), of("truth", s)) for s in range(64)]
    return [(inputs, truth) for inputs, truth in sets if inputs and truth]


def row(name, folder):
    given = MODULES / f"{name}.pt2"
    stable = folder / "stable.ngir"
    run("ngc-opt", "--stabilize", given, "-o", stable)

    def written(source, target):
        run("ngc-translate", source, "-o", folder / target)
        return folder / target

    sets = sets_of(name)
    return [
        judged(lambda: in_onnxruntime(written(given, "given.onnx")), sets),
        judged(lambda: in_onnxruntime(written(stable, "stable.onnx")), sets),
        judged(lambda: called(cases.CASES[name][0]), sets),
        judged(lambda: in_torch(written(stable, "stable.py")), sets),
    ]


def main():
    torch.set_num_threads(1)
    rows, worse = [], []
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = row(name, Path(folder))
            except RuntimeError as e:
                found = [str(e)] * 4
        marks = []
        for before, after in (found[:2], found[2:]):
            if isinstance(after, str):
                marks.append("" if isinstance(before, str) else "not run")
            else:
                marks.append("worse" if isinstance(before, Found) and after.is_worse(before) else "")
        worse += [name] if any(marks) else []
        cells = [x.cell() if isinstance(x, Found) else x for x in found]
        rows.append(f"| {name} | {cells[0]} | {cells[1]} | {marks[0]} | {cells[2]} | {cells[3]} | {marks[1]} |")
        print(name, *marks, file=sys.stderr, flush=True)
    print(
        f"""# Cures in the runtimes that they are written for

The modules of testdata/modules, written to ONNX and to PyTorch as given and after `--stabilize` (no ranges stated), and run
there on harmless and hostile inputs, against what they are over the reals; onnxruntime {onnxruntime.__version__} with its
default optimisations, torch {torch.__version__.split("+")[0]}, on a CPU. Written by

    testdata/check_runtimes.py target/release > docs/runtimes.md

*Lost*: elements that are not finite although the exact value is a number of the format. Errors are the largest over all
inputs, in units in the last place of the largest element of the result \\| of the element itself. *Worse*: more is lost, or as much
and the first figure is more than twice that of the given module and 4 units, or the second is and is above 4096 units.

Of {len(NAMES)} modules {len(worse)} are worse than before in a runtime, or do not run there{": " + ", ".join(worse) if worse else ""}.

| module | onnxruntime, given | stabilized | | torch, given | stabilized | |
|---|---|---|---|---|---|---|"""
    )
    print("\n".join(rows))
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
