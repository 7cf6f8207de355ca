#!/usr/bin/env python3
"""Writes ONNX models as PyTorch modules with ngc-opt, runs these, and holds the results against ngc-run's: the table in
docs/pytorch-export.md.

    testdata/check_pytorch_export.py target/release > docs/pytorch-export.md

The models are those of testdata/models and every case of testdata/operators.npz. Needs numpy, ml_dtypes, safetensors and
torch. The exit code is 1 if a module does not run, or is further away than sums in another order explain.
"""

import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(sys.argv[1])


def run(tool, *arguments):
    done = subprocess.run([TOOLS / tool, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(" ".join(done.stderr.split()))


def module(path):
    spec = importlib.util.spec_from_file_location("written", path)
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    return written.Model().eval()


def compare(model, inputs, folder):
    """The greatest distance, over 1 or the greatest size of the results."""
    target = folder / "written.py"
    run("ngc-opt", model, "-o", target)
    paths = [folder / f"in_{i}.npy" for i in range(len(inputs))]
    for path, x in zip(paths, inputs):
        np.save(path, x)
    for old in folder.glob("output_*.npy"):
        old.unlink()
    run("ngc-run", model, *paths, "--output-dir", folder)
    with torch.no_grad():
        found = module(target)(*(torch.from_numpy(np.array(x)) for x in inputs))
    found = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for i, value in enumerate(found):
        ours, theirs = value.numpy(), np.load(folder / f"output_{i}.npy")
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise RuntimeError(f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}")
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        with np.errstate(invalid="ignore"):
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        apart = np.where(np.isnan(apart), np.inf, apart)
        finite = np.abs(b[np.isfinite(b)])
        worst = max(worst, float(np.max(apart, initial=0) / max(1.0, np.max(finite, initial=0))))
    return worst


def operator_cases():
    cases = {}
    with zipfile.ZipFile(HERE / "operators.npz") as archive:
        for name in archive.namelist():
            case, part = name.removesuffix(".npy").split("/")
            array = np.load(io.BytesIO(archive.read(name)))
            model, inputs = cases.get(case, (None, []))
            if part == "model":
                model = array.tobytes()
            elif part.startswith("in_"):
                inputs = inputs + [array]
            cases[case] = (model, inputs)
    return cases


def main():
    failed, rows, worst = [], [], []

    def hold(name, model, inputs, folder, limit):
        try:
            distance = compare(model, inputs, folder)
            if not distance <= limit:
                failed.append(name)
            return distance
        except Exception as error:
            failed.append(name)
            return "refused: " + " ".join(str(error).split())[:300]

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for path in sorted((HERE / "models").glob("*.onnx")):
            given = HERE / "models" / "expected" / f"{path.stem}_input.npy"
            x = np.load(given if given.exists() else HERE / "models" / "digits_x.npy")
            rows.append((path.stem, hold(path.stem, path, [x], folder, 1e-5)))
        cases = operator_cases()
        for case, (model, inputs) in sorted(cases.items()):
            path = folder / "case.onnx"
            path.write_bytes(model)
            half = any(x.dtype == np.float16 for x in inputs)
            distance = hold(case, path, inputs, folder, 1e-3 if half else 2e-6)
            if isinstance(distance, str) or distance > 5e-7:
                worst.append((case, distance))
    print("# PyTorch out: what PyTorch makes of it\n")
    print("Written by `testdata/check_pytorch_export.py`: the modules that `--export-pytorch` writes, against ngc-run; distances")
    print(f"are relative to the greatest result, or to 1. PyTorch {torch.__version__}, on the CPU.\n")
    print("| model | distance |\n|---|---|")
    for name, distance in rows:
        print(f"| {name} | {distance if isinstance(distance, str) else format(distance, '.1e')} |")
    print(f"\n{len(cases) - len(worst)} of {len(cases)} cases of testdata/operators.npz are within 5e-7. The others:\n")
    print("| case | distance |\n|---|---|")
    for name, distance in worst:
        print(f"| {name} | {distance if isinstance(distance, str) else format(distance, '.1e')} |")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
