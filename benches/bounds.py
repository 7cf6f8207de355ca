#!/usr/bin/env python3
"""How far the bounds of networks are from their sampled errors.

    benches/models.py FOLDER --small --format pt2
    benches/bounds.py FOLDER [--ngc-opt target/release/ngc-opt] > docs/network-bounds.md

For each NAME.pt2 or NAME.onnx with its NAME.npz: the error of the first result that samples show; the bound given the samples
(`--calibrate NAME.npz --assume-calibrated`), its ratio to that, from how many elements; and the bounds without samples, for all
finite inputs and for inputs in [-5, 5]. Needs `cargo build --release --workspace`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# Bounds of networks

Twelve architectures, by the frameworks' own model code, with weights from a seed, two layers deep and an eighth as wide as
published. This page is written by

    benches/models.py FOLDER --small --format pt2
    benches/bounds.py FOLDER > docs/network-bounds.md

*Sampled* is the largest error of the result on four inputs, against evaluation with every op in f64. *Given samples* is the bound
of `--analyze --calibrate inputs.npz --assume-calibrated`: of all inputs at which the roundings of no op have a larger part in the
result than at the samples; *elements* says from how many elements of the result derivatives were taken. *For all* is the bound of
`--analyze` alone: of all finite inputs, and of all inputs in [-5, 5]; these multiply the worst cases of layers and are infinite
where one of them is.
"""


def analyze(options, model, *flags):
    command = [options.ngc_opt, "--analyze", *flags, "--analysis-report=json", str(model), "-o", "/dev/null"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return (*(next(line for line in lines if line["kind"] == kind) for kind in ("output", "totals")), seconds)


def number(x):
    return x if isinstance(x, str) else f"{x:.2e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ngc-opt", default=str(ROOT / "target/release/ngc-opt"))
    options = parser.parse_args()
    models = sorted(p for p in options.folder.iterdir() if p.suffix in (".onnx", ".pt2") and p.with_suffix(".npz").exists())
    if not models:
        sys.exit(f"no model with its .npz in '{options.folder}'")
    rows, ratios = [], []
    for model in models:
        given, totals, seconds = analyze(options, model, "--calibrate", str(model.with_suffix(".npz")), "--assume-calibrated")
        plain = analyze(options, model)[0]
        boxed = analyze(options, model, "--range", "*=[-5,5]")[0]
        sampled, bound = given["sampled"]["error"]["absolute"], given["error"]["absolute"]
        followed = given["followed"]
        elements = f"{followed['elements']} of {followed['of']}" if followed else totals.get("not_followed") or "by value"
        ratio = bound / sampled if isinstance(bound, float) and sampled else float("inf")
        ratios.append(ratio)
        cells = [model.stem, number(sampled), number(bound), f"{ratio:.0f}", elements, f"{seconds:.1f}",
                 number(plain["error"]["absolute"]), number(boxed["error"]["absolute"])]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    print(HEAD)
    print("| network | sampled | given samples | ratio | elements | s | for all | for all in [-5, 5] |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    print(f"\nThe median of the ratios is {statistics.median(ratios):.0f}.")


if __name__ == "__main__":
    main()
