#!/usr/bin/env python3
"""Reads and writes ONNX models with ngc-opt, and holds what ONNX Runtime makes of them against the originals: the
table in docs/onnx-export.md.

    testdata/check_onnx_export.py target/release > docs/onnx-export.md

The models are those of testdata/models and every case of testdata/operators.npz. Each written model must pass
onnx.checker with full_check, and load in ONNX Runtime, without optimisation on both sides. Models are also written
after --stabilize, with the least range that holds the inputs; their outputs must be within the bound that --analyze prints
of the exact value of the original (ngc-run at 200 bits). Needs numpy, ml_dtypes, onnx and onnxruntime. The exit code is 1
if a model is refused by the checker or the runtime, or goes beyond its bound.
"""

import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(sys.argv[1])
failed = []


def run(tool, *arguments):
    done = subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[0])
    return done.stdout


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(path, inputs):
    s = session(path)
    return s.run(None, {i.name: x for i, x in zip(s.get_inputs(), inputs, strict=True)})


def distance(ours, theirs):
    """In words: equal bits, or the greatest distance in units of the last place of the greater of both."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        if a.tobytes() == b.tobytes():
            continue
        if a.dtype.kind != "f":
            worst = max(worst, float(np.max(np.abs(a.astype(np.int64) - b.astype(np.int64)))))
            continue
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            unit = np.spacing(np.maximum(np.abs(a), np.abs(b)))
            apart = np.where(same, 0, np.abs(a - b) / unit)
        worst = max(worst, float(np.max(np.where(np.isnan(apart), np.inf, apart), initial=0)))
    return "equal" if worst == 0 else f"{worst:.3g} ulp"


def written(source, target, *flags):
    """Writes a model, and has it checked."""
    run("ngc-opt", source, "-o", target, *flags)
    onnx.checker.check_model(str(target), full_check=True)


def operator_cases():
    cases = {}
    with zipfile.ZipFile(HERE / "operators.npz") as archive:
        for name in archive.namelist():
            case, part = name.removesuffix(".npy").split("/")
            array = np.load(io.BytesIO(archive.read(name)))
            model, inputs, expected = cases.get(case, (None, [], []))
            if part == "model":
                model = array.tobytes()
            elif part.startswith("in_"):
                inputs = inputs + [array]
            elif part.startswith("out_"):
                expected = expected + [array]
            cases[case] = (model, inputs, expected)
    return cases


def operators(folder):
    equal, other = [], []
    for case, (model, inputs, expected) in sorted(operator_cases().items()):
        source, target = folder / "in.onnx", folder / "out.onnx"
        source.write_bytes(model)
        try:
            written(source, target)
            try:
                expected = outputs(source, inputs)
            except Exception:
                # Kernels of old operator sets are gone; the expected outputs were made by hand.
                pass
            found = distance(outputs(target, inputs), expected)
        except Exception as error:
            failed.append(case)
            found = "refused: " + " ".join(str(error).split())[:200]
        (equal if found == "equal" else other).append((case, found))
    return equal, other


def models(folder):
    for path in sorted((HERE / "models").glob("*.onnx")):
        target, stable = folder / "out.onnx", folder / "stable.onnx"
        given = HERE / "models" / "expected" / f"{path.stem}_input.npy"
        x = np.load(given if given.exists() else HERE / "models" / "digits_x.npy")
        row = [path.stem]
        try:
            written(path, target)
            row.append(distance(outputs(target, [x]), outputs(path, [x])))
            text, report = folder / "in.ngir", folder / "report.json"
            run("ngc-translate", path, "-o", text)
            span = f"ng.range = [{float(x.min())!r}, {float(x.max())!r}], "
            text.write_text(re.sub(r"(%arg0: [^{]*{)", rf"\1{span}", text.read_text(), count=1))
            flags = ["--stabilize", "--analyze", "--analysis-report=json", "--analysis-report-output", report]
            written(text, stable, *flags)
            lines = [json.loads(line) for line in report.read_text().splitlines()]
            [bound] = [float(line["error"]["absolute"]) for line in lines if line["kind"] == "output"]
            np.save(folder / "x.npy", x)
            run("ngc-run", path, folder / "x.npy", "--precision", 200, "--output-dir", folder)
            exact = np.load(folder / "output_0.npy")
            for model in (path, stable):
                with np.errstate(invalid="ignore"):
                    error = np.max(np.abs(outputs(model, [x])[0].astype(np.float64) - exact))
                row.append(f"{error:.2e}")
            row.append(f"{bound:.2e}")
            if not error <= bound:
                failed.append(path.stem)
        except Exception as error:
            failed.append(path.stem)
            row.append("refused: " + " ".join(str(error).split())[:200])
        yield row


def main():
    print("# ONNX out: what ONNX Runtime makes of it\n")
    print("Written by `testdata/check_onnx_export.py`: models that were read and written, against the originals, both in")
    print(f"ONNX Runtime {onnxruntime.__version__} without its optimiser; all pass `onnx.checker` {onnx.__version__} with `full_check`.\n")
    print("## Models\n")
    print("| model | read and written | error of the original | after `--stabilize` | bound |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for row in models(folder):
            print("| " + " | ".join(row + [""] * (5 - len(row))) + " |")
        equal, other = operators(folder)
    print("\nErrors are absolute, against the original's exact mathematics (200 bits); the bound is that of `--analyze` for the stable\nmodel, on the least range that holds the inputs.\n")
    print("## Operators\n")
    print(f"{len(equal)} of {len(equal) + len(other)} cases of testdata/operators.npz give equal bits. The others:\n")
    print("| case | difference |\n|---|---|")
    for case, found in other:
        print(f"| {case} | {found} |")
    if failed:
        sys.exit(f"refused or wrong: {', '.join(failed)}")


main()
