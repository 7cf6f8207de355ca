#!/usr/bin/env python3
"""Races kernels of one function, as ngc-compile makes them, against SLEEF's and Intel's vectors and the system's libm:
nanoseconds an element in the first cache, best of many slices that take turns, and ratios.

    python3 benches/math_functions.py [--format f64] [--ngc-compile target/debug/ngc-compile] [--cc cc] [--svml .../libsvml.so] [FUNCTION ...]

Needs a C compiler, the package libsleef-dev, and a machine with AVX-512. Intel's library is found where
`pip install intel-cmplr-lib-rt` has put it beside this Python, or by --svml; without it its columns are empty. Ratios of one
run mean something, times of different machines do not.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

# Function, the peers' name and SLEEF's accuracy, and the range of inputs.
FUNCTIONS = [
    ("exp", "exp", "u10", -10, 10), ("exp2", "exp2", "u10", -10, 10), ("expm1", "expm1", "u10", -5, 5),
    ("log", "log", "u10", 1e-3, 1e3), ("log2", "log2", "u10", 1e-3, 1e3), ("log10", "log10", "u10", 1e-3, 1e3),
    ("log1p", "log1p", "u10", -0.9, 10), ("sin", "sin", "u10", -10, 10), ("cos", "cos", "u10", -10, 10),
    ("tan", "tan", "u10", -10, 10), ("asin", "asin", "u10", -1, 1), ("acos", "acos", "u10", -1, 1),
    ("atan", "atan", "u10", -10, 10), ("sinh", "sinh", "u10", -5, 5), ("cosh", "cosh", "u10", -5, 5),
    ("tanh", "tanh", "u10", -5, 5), ("asinh", "asinh", "u10", -10, 10), ("acosh", "acosh", "u10", 1, 10),
    ("atanh", "atanh", "u10", -1, 1), ("erf", "erf", "u10", -4, 4), ("erfc", "erfc", "u15", -4, 9),
    ("cbrt", "cbrt", "u10", -1e3, 1e3), ("sigmoid", "", "", -10, 10), ("gelu", "", "", -5, 5), ("silu", "", "", -10, 10),
    ("softplus", "", "", -10, 10),
]

# Of two arguments, with the range of the second.
PAIRS = [
    ("pow", "pow", "u10", 0.1, 10, -10, 10), ("atan2", "atan2", "u10", -10, 10, -10, 10), ("hypot", "hypot", "u05", -10, 10, -10, 10),
    ("xlogy", "", "", 0, 10, 0.1, 10), ("logaddexp", "", "", -10, 10, -10, 10),
]

# Elements, and the accuracies of ours by format: of f64 there is one.
N = 1024
BOUNDS = {"f32": {"fast": 1.0, "near": 0.501}, "f64": {"fast": 1.0}}

MAIN = r"""
#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <sleef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
enum { REPEATS = 64, SLICES = 60, RIVALS = 6 };
#ifdef DOUBLE
typedef double number;
typedef __m512d numbers;
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#else
typedef float number;
typedef __m512 numbers;
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#endif
enum { LANES = sizeof(numbers) / sizeof(number) };
#ifdef LOW2
#define POINTERS x, z
#define VECTORS LOAD(x + i), LOAD(z + i)
#define SCALARS x[i], z[i]
int fast(const number *x, const number *z, number *y, void *workspace, int64_t size);
int near(const number *x, const number *z, number *y, void *workspace, int64_t size);
typedef numbers vector(numbers, numbers);
#else
#define LOW2 0
#define HIGH2 0
#define POINTERS x
#define VECTORS LOAD(x + i)
#define SCALARS x[i]
int fast(const number *x, number *y, void *workspace, int64_t size);
int near(const number *x, number *y, void *workspace, int64_t size);
typedef numbers vector(numbers);
#endif
static number x[N], y[N], z[N];
static vector *high, *low;
static void ours(void) { fast(POINTERS, y, 0, 0); }
#ifdef DOUBLE
#define nearest 0
#else
static void nearest(void) { near(POINTERS, y, 0, 0); }
#endif
static void each(vector *f) { for (int i = 0; i < N; i += LANES) STORE(y + i, f(VECTORS)); }
static void svml_high(void) { each(high); }
static void svml_low(void) { each(low); }
#ifdef SLEEF
static void sleef(void) { for (int i = 0; i < N; i += LANES) STORE(y + i, SLEEF(VECTORS)); }
static void libm(void) { for (int i = 0; i < N; i++) y[i] = LIBM(SCALARS); }
#else
#define sleef 0
#define libm 0
#endif
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(int argc, char **argv) {
  void *svml = argc > 3 ? dlopen(argv[1], RTLD_NOW) : 0;
  if (svml) high = (vector *)dlsym(svml, argv[2]), low = (vector *)dlsym(svml, argv[3]);
  void (*const rivals[RIVALS])(void) = {ours, nearest, sleef, high ? svml_high : 0, low ? svml_low : 0, libm};
  double best[RIVALS];
  unsigned seed = 1;
  for (int i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = LOW + (HIGH - LOW) * (number)(seed >> 8) / 16777216;
    seed = seed * 1664525u + 1013904223u;
    z[i] = LOW2 + (HIGH2 - LOW2) * (number)(seed >> 8) / 16777216;
  }
  for (int r = 0; r < RIVALS; r++) best[r] = rivals[r] ? 1e30 : 0;
  for (int s = 0; s < SLICES; s++)
    for (int r = 0; r < RIVALS; r++) {
      if (!rivals[r]) continue;
      const double start = now();
      for (int n = 0; n < REPEATS; n++) { rivals[r](); __asm__ volatile("" ::: "memory"); }
      const double took = (now() - start) / (REPEATS * (double)N);
      if (took < best[r]) best[r] = took;
    }
  for (int r = 0; r < RIVALS; r++) printf("%f ", best[r]);
}
"""


def race(arguments, folder, function, peer, accuracy, low, high, *second):
    objects = []
    names = ["%x", "%z"] if second else ["%x"]
    double = arguments.format == "f64"
    for name, bound in BOUNDS[arguments.format].items():
        ty = f"tensor<{N}x{arguments.format}>"
        (folder / "f.ngir").write_text(
            f"func.func @{name}({', '.join(f'{x}: {ty}' for x in names)}) -> {ty} {{\n"
            f"  %y = ng.{function} {', '.join(names)} : {ty}\n  func.return %y : {ty}\n}}\n")
        objects.append(str(folder / f"{name}.o"))
        command = [arguments.ngc_compile, str(folder / "f.ngir"), "-o", objects[-1], f"--max-ulp={bound}"]
        subprocess.run(command, check=True)
    (folder / "main.c").write_text(MAIN)
    suffix = "" if double else "f"
    defines = [f"-DN={N}", f"-DLOW=({float(low)}{suffix})", f"-DHIGH=({float(high)}{suffix})"] + double * ["-DDOUBLE"]
    if second:
        defines += [f"-DLOW2=({float(second[0])}{suffix})", f"-DHIGH2=({float(second[1])}{suffix})"]
    vectors = f"{peer}{'8' if double else 'f16'}"
    if peer:
        defines += [f"-DSLEEF=Sleef_{peer}{'d8' if double else 'f16'}_{accuracy}", f"-DLIBM={peer}{suffix}"]
    command = [arguments.cc, "-O2", "-march=native", *defines, "-o", str(folder / "race"),
               str(folder / "main.c"), *objects, "-lsleef", "-lm", "-ldl"]
    subprocess.run(command, check=True)
    svml = [arguments.svml, f"__svml_{vectors}_ha", f"__svml_{vectors}"] if arguments.svml and peer else []
    # What the library itself needs lies beside it.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(arguments.svml or ".").parent)}
    out = subprocess.run([str(folder / "race"), *svml], check=True, capture_output=True, text=True, env=environment).stdout
    return [float(t) for t in out.split()]


def cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    model = found.get("model name", platform.machine())
    return f"{model}, family {found.get('cpu family')} model {found.get('model')}"


def main():
    beside = pathlib.Path(sys.prefix) / "lib/libsvml.so"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ngc-compile", default="target/debug/ngc-compile")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--svml", default=str(beside) if beside.exists() else None)
    parser.add_argument("--format", choices=["f32", "f64"], default="f32")
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help="[default: all]")
    arguments = parser.parse_args()
    print(f"CPU: {cpu()}; ns an element, {arguments.format} in the first cache\n")
    print("| function | ngc, 1 ulp | ngc, 0.501 ulp | SLEEF | SVML high | SVML low | libm | ngc / SLEEF | ngc / SVML high |")
    print("|---|---|---|---|---|---|---|---|---|")
    shown = lambda t: f"{t:.3f}" if t else ""
    ratio = lambda a, b: f"{a / b:.2f}" if b else ""
    with tempfile.TemporaryDirectory() as folder:
        for function, *of in FUNCTIONS + PAIRS:
            if arguments.functions and function not in arguments.functions:
                continue
            times = race(arguments, pathlib.Path(folder), function, *of)
            ours, _, sleef, svml = times[:4]
            cells = [*map(shown, times), ratio(ours, sleef), ratio(ours, svml)]
            print(f"| {function} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
