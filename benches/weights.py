#!/usr/bin/env python3
"""Times ngc-opt on networks at their published sizes, weights and all, against a plain read of the file.

    benches/models.py FOLDER
    benches/weights.py FOLDER [--runs 3] [--ngc-opt target/release/ngc-opt] [--flags=--stabilize]

For each .onnx and .pt2 file of the folder: seconds of `ngc-opt FLAGS FILE -o OUT.onnx` (wall and user, medians over the
runs; OUT lies in a folder for temporary files that is in memory where there is one), peak memory beyond the size of the
file, and the ratio of the wall time to that of reading the file once and writing it once with Python, in the same run.
Needs `cargo build --release --workspace`.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def plain_copy(source, target):
    start = time.monotonic()
    with open(source, "rb") as a, open(target, "wb") as b:
        while part := a.read(16 << 20):
            b.write(part)
    return time.monotonic() - start


def run(command):
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status != 0:
        sys.exit(f"{' '.join(command)}: {error.decode().strip()}")
    return wall, usage.ru_utime, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ngc-opt", default=str(ROOT / "target/release/ngc-opt"))
    parser.add_argument("--flags", default="--stabilize")
    options = parser.parse_args()
    models = sorted(p for p in options.folder.iterdir() if p.suffix in (".onnx", ".pt2"))
    if not models:
        sys.exit(f"no .onnx or .pt2 file in '{options.folder}'")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    print("| model | MB | wall s | user s | MB beyond the file | wall / plain copy |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        for model in models:
            target = os.path.join(folder, "out.onnx")
            copies, runs = [], []
            for _ in range(options.runs):
                copies.append(plain_copy(model, target))
                runs.append(run([options.ngc_opt, *options.flags.split(), str(model), "-o", target]))
            wall, user, peak = (statistics.median(column) for column in zip(*runs))
            size, copy = model.stat().st_size, statistics.median(copies)
            beyond = max(0, peak - size) / 1e6
            print(f"| {model.name} | {size / 1e6:.0f} | {wall:.2f} | {user:.2f} | {beyond:.0f} | {wall / copy:.1f} |", flush=True)


if __name__ == "__main__":
    main()
