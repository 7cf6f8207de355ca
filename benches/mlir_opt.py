#!/usr/bin/env python3
"""Races ngc-opt against mlir-opt 22 on equivalent modules, in the same run, and prints ratios.

    benches/mlir_opt.py [--ops 1000000] [--runs 5]

The modules hold the same functions of the same elementwise ops, as `ng` for ngc-opt and as `arith`/`math` for
mlir-opt, in custom form. Figures are the medians of user seconds, wall seconds and peak memory over alternating runs.
Needs `cargo build --release --workspace` and the package mlir-22-tools.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NGC = os.path.join(ROOT, "target", "release", "ngc-opt")
MLIR = "/usr/lib/llvm-22/bin/mlir-opt"

# (ngc, mlir, operands)
OPS = [
    ("ng.add", "arith.addf", 2),
    ("ng.mul", "arith.mulf", 2),
    ("ng.sub", "arith.subf", 2),
    ("ng.div", "arith.divf", 2),
    ("ng.exp", "math.exp", 1),
    ("ng.tanh", "math.tanh", 1),
]


def write_modules(paths, total, per_function=1000, seed=0):
    """Writes the two spellings of one random module; one op in eight repeats an earlier one.

    Functions go to the files one by one: a child's peak memory counts from its parent's.
    """
    rng = random.Random(seed)
    types = ["tensor<64x64xf32>", "tensor<?x128xf16>", "f32"]
    with open(paths[0], "w", encoding="utf-8") as ours, open(paths[1], "w", encoding="utf-8") as theirs:
        for f in range(max(1, total // per_function)):
            ty = types[f % len(types)]
            values, done = ["%arg0", "%arg1"], []
            lines = ([], [])
            for i in range(min(total, per_function) - 1):
                if done and rng.random() < 0.125:
                    op, operands = rng.choice(done)
                else:
                    op = rng.choice(OPS)
                    operands = ", ".join(rng.choice(values[-20:]) for _ in range(op[2]))
                    done = (done + [(op, operands)])[-20:]
                for dialect in (0, 1):
                    lines[dialect].append(f"  %{i} = {op[dialect]} {operands} : {ty}\n")
                values.append(f"%{i}")
            for file, body in ((ours, lines[0]), (theirs, lines[1])):
                file.write(f"func.func @f{f}(%arg0: {ty}, %arg1: {ty}) -> {ty} {{\n")
                file.writelines(body)
                file.write(f"  return {values[-1]} : {ty}\n}}\n")


def measure(command):
    """User seconds, wall seconds and peak MB of one run."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with {child.returncode}")
    return usage.ru_utime, time.monotonic() - start, usage.ru_maxrss / 1024


def race(name, ours, theirs, runs):
    """Alternating runs; the ratio is theirs over ours."""
    figures = ([], [])
    for _ in range(runs):
        figures[0].append(measure(ours))
        figures[1].append(measure(theirs))
    a, b = ([statistics.median(column) for column in zip(*rows)] for rows in figures)
    print(
        f"{name:34} user {a[0]:7.3f} s / {b[0]:7.3f} s = {b[0] / max(a[0], 1e-4):5.2f}x   "
        f"wall {a[1]:7.3f} s / {b[1]:7.3f} s = {b[1] / a[1]:5.2f}x   "
        f"memory {a[2]:6.1f} MB / {b[2]:6.1f} MB = {b[2] / a[2]:5.2f}x"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=1_000_000, help="size of the largest module")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command; medians are printed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("ngc-opt / mlir-opt 22, ratios say how many times less ngc-opt needs")
        paths = [os.path.join(folder, name) for name in ("ours.ngir", "theirs.mlir")]

        with open(paths[0], "w", encoding="utf-8") as file:
            file.write("module {\n}\n")
        race("start-up, empty module", [NGC, paths[0]], [MLIR, paths[0]], max(args.runs, 15))
        for count in [n for n in (10_000, 100_000, 1_000_000) if n <= args.ops] or [args.ops]:
            write_modules(paths, count)
            for threads in ("1", "2"):
                flags = [] if threads == "2" else ["--mlir-disable-threading"]
                race(
                    f"parse+verify+print {count} ops, {threads} thr",
                    [NGC, f"--threads={threads}", paths[0]],
                    [MLIR, *flags, paths[1]],
                    args.runs,
                )
        passes = "builtin.module(func.func(cse,canonicalize))"
        race(
            f"+ cse, canonicalize {count} ops, 1 thr",
            [NGC, "--threads=1", f"--pass-pipeline={passes}", paths[0]],
            [MLIR, "--mlir-disable-threading", f"--pass-pipeline={passes}", paths[1]],
            args.runs,
        )


if __name__ == "__main__":
    main()
