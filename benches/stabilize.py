#!/usr/bin/env python3
"""Times ngc-opt --stabilize and --analyze on transformers in naive spellings, and how the time grows.

    benches/stabilize.py [--runs 5] [--ngc-opt target/release/ngc-opt]

A block is a layer norm, attention and a gated layer, spelt out: variance and quotient, exp over sum, x / (1 + exp(-x)).
Alike layers differ in nothing; unlike ones in what scores are multiplied by. Weights are arguments: constants that are one
number everywhere would make the terms behind layer norms 0. Figures are medians over the runs: wall and user seconds,
peak memory, and the rewrites that were applied. Needs `cargo build --release --workspace`.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROWS, WIDTH, HIDDEN = 64, 128, 256


def tensor(*shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf32>"


class Writer:
    """Lines of a function; every value has the number of its line."""

    def __init__(self):
        self.lines, self.arguments = [], []

    def op(self, name, operands, types, attrs=""):
        value = f"%v{len(self.lines)}"
        attrs = f" {{{attrs}}}" if attrs else ""
        self.lines.append(f"  {value} = ng.{name} {', '.join(operands)}{attrs} : {types}")
        return value

    def weights(self, *shape):
        self.arguments.append(f"%w{len(self.arguments)}: {tensor(*shape)}")
        return f"%w{len(self.arguments) - 1}"

    def number(self, number):
        return self.op("constant", [f"{number:.12f}"], "f32")

    def mean(self, x):
        return self.op("reduce_mean", [x], f"{tensor(ROWS, WIDTH)} -> {tensor(ROWS, 1)}", "axes = [1], keepdims = true")

    def layer_norm(self, x):
        full, column = tensor(ROWS, WIDTH), tensor(ROWS, 1)
        centred = self.op("sub", [x, self.mean(x)], f"{full}, {column} -> {full}")
        variance = self.mean(self.op("mul", [centred, centred], full))
        above = self.op("add", [variance, self.number(1.0e-5)], f"{column}, f32 -> {column}")
        return self.op("div", [centred, self.op("sqrt", [above], column)], f"{full}, {column} -> {full}")

    def matmul(self, a, b, m, k, n):
        return self.op("matmul", [a, b], f"{tensor(m, k)}, {tensor(k, n)} -> {tensor(m, n)}")

    def block(self, x, scale):
        full, square = tensor(ROWS, WIDTH), tensor(ROWS, ROWS)
        h = self.layer_norm(x)
        q, k, v = (self.matmul(h, self.weights(WIDTH, WIDTH), ROWS, WIDTH, WIDTH) for _ in range(3))
        keys = self.op("transpose", [k], f"{full} -> {tensor(WIDTH, ROWS)}", "permutation = [1, 0]")
        scores = self.matmul(q, keys, ROWS, WIDTH, ROWS)
        scores = self.op("mul", [scores, self.number(scale)], f"{square}, f32 -> {square}")
        e = self.op("exp", [scores], square)
        z = self.op("reduce_sum", [e], f"{square} -> {tensor(ROWS, 1)}", "axes = [1], keepdims = true")
        p = self.op("div", [e, z], f"{square}, {tensor(ROWS, 1)} -> {square}")
        o = self.matmul(p, v, ROWS, ROWS, WIDTH)
        x = self.op("add", [x, self.matmul(o, self.weights(WIDTH, WIDTH), ROWS, WIDTH, WIDTH)], full)
        wide = tensor(ROWS, HIDDEN)
        u = self.matmul(self.layer_norm(x), self.weights(WIDTH, HIDDEN), ROWS, WIDTH, HIDDEN)
        e = self.op("exp", [self.op("neg", [u], wide)], wide)
        d = self.op("add", [self.number(1.0), e], f"f32, {wide} -> {wide}")
        g = self.op("div", [u, d], wide)
        return self.op("add", [x, self.matmul(g, self.weights(HIDDEN, WIDTH), ROWS, HIDDEN, WIDTH)], full)


def transformer(layers, unlike):
    w, x = Writer(), "%x"
    for layer in range(layers):
        x = w.block(x, 0.08838834764 + (layer / 10000 if unlike else 0))
    full = tensor(ROWS, WIDTH)
    arguments = ", ".join([f"%x: {full} {{ng.range = [-8.0, 8.0]}}", *w.arguments])
    head = f"func.func @transformer({arguments}) -> {full} {{"
    return "\n".join([head, *w.lines, f"  func.return {x} : {full}", "}"]) + "\n", len(w.lines)


def run(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, usage.ru_utime - before, usage.ru_maxrss / 1024, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ngc-opt", default=os.path.join(ROOT, "target", "release", "ngc-opt"))
    args = parser.parse_args()
    print(f"{'model':24} {'ops':>6} {'pass':10} {'wall s':>8} {'user s':>8} {'peak MB':>8} {'rewrites':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, layers, unlike in [("12 layers", 12, False), ("50 layers", 50, False), ("100 layers", 100, False),
                                     ("12 unlike layers", 12, True), ("260 unlike layers", 260, True)]:
            path = os.path.join(folder, "model.ngir")
            text, ops = transformer(layers, unlike)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            for flag in ["--analyze", "--stabilize"]:
                runs = args.runs if ops < 5000 else 1
                command = [args.ngc_opt, path, flag, "-o", os.path.join(folder, "out.ngir")]
                figures = [run(command) for _ in range(runs)]
                wall, user, memory = (statistics.median(f[i] for f in figures) for i in range(3))
                stderr = run([*command, "--remarks=json", "--remarks-filter=^passed:"])[3]
                rewrites = sum(1 for line in stderr.splitlines() if line.startswith("{") and json.loads(line))
                print(f"{name:24} {ops:6} {flag[2:]:10} {wall:8.3f} {user:8.3f} {memory:8.0f} {rewrites:8}", flush=True)


if __name__ == "__main__":
    main()
