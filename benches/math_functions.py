#!/usr/bin/env python3
"""Races the functions of the library, as C99, against SLEEF's vectors and the system's libm: nanoseconds an element in the first
cache, best of many slices that take turns, and ratios to SLEEF.

    python3 benches/math_functions.py [--ngc-math target/debug/ngc-math] [--cc cc]

Needs a C compiler and the package libsleef-dev. Ratios of one run mean something, times of different machines do not.
"""

import argparse
import pathlib
import subprocess
import tempfile

# Function, SLEEF's name, and the range of inputs.
FUNCTIONS = [
    ("exp", "exp", "u10", -10, 10), ("exp2", "exp2", "u10", -10, 10),
    ("expm1", "expm1", "u10", -5, 5), ("log", "log", "u10", 1e-3, 1e3), ("log2", "log2", "u10", 1e-3, 1e3),
    ("log1p", "log1p", "u10", -0.9, 10), ("sin", "sin", "u10", -10, 10), ("cos", "cos", "u10", -10, 10),
    ("tan", "tan", "u10", -10, 10), ("tanh", "tanh", "u10", -5, 5), ("erf", "erf", "u10", -4, 4),
    ("erfc", "erfc", "u15", -4, 9), ("asin", "asin", "u10", -1, 1), ("acos", "acos", "u10", -1, 1),
    ("atan", "atan", "u10", -10, 10), ("sinh", "sinh", "u10", -5, 5), ("cosh", "cosh", "u10", -5, 5),
    ("cbrt", "cbrt", "u10", -1e3, 1e3),
]

MAIN = r"""
#include <immintrin.h>
#include <math.h>
#include <sleef.h>
#include <stdio.h>
#include <time.h>
#include "f.h"
#ifdef __AVX512F__
typedef __m512 vector;
enum { LANES = 16 };
#define PEER SLEEF16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#else
typedef __m256 vector;
enum { LANES = 8 };
#define PEER SLEEF8
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#endif
enum { N = 1024, REPEATS = 64, SLICES = 60 };
static float x[N], y[N];
static void ours(void) { OURS(x, y, N); }
static void sleef(void) { for (int i = 0; i < N; i += LANES) STORE(y + i, PEER(LOAD(x + i))); }
static void libm(void) { for (int i = 0; i < N; i++) y[i] = LIBM(x[i]); }
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(void) {
  void (*const rivals[])(void) = {ours, sleef, libm};
  double best[3] = {1e30, 1e30, 1e30};
  unsigned seed = 1;
  for (int i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = LOW + (HIGH - LOW) * (float)(seed >> 8) / 16777216.0f;
  }
  for (int s = 0; s < SLICES; s++)
    for (int r = 0; r < 3; r++) {
      const double start = now();
      for (int n = 0; n < REPEATS; n++) { rivals[r](); __asm__ volatile("" ::: "memory"); }
      const double took = (now() - start) / (REPEATS * (double)N);
      if (took < best[r]) best[r] = took;
    }
  printf("%f %f %f\n", best[0], best[1], best[2]);
}
"""


def race(arguments, folder, function, sleef, accuracy, low, high):
    root = pathlib.Path(__file__).parent.parent
    source = root / "src/math/library" / f"{function}.impl"
    emit = [arguments.ngc_math, "emit", str(source)]
    subprocess.run([*emit, "-o", str(folder / "f.c")], check=True)
    subprocess.run([*emit, "--language", "header", "-o", str(folder / "f.h")], check=True)
    (folder / "main.c").write_text(MAIN)
    name = function
    defines = [f"-DOURS=ngc_{name}f_array", f"-DSLEEF16=Sleef_{sleef}f16_{accuracy}", f"-DSLEEF8=Sleef_{sleef}f8_{accuracy}",
               f"-DLIBM={name}f", f"-DLOW=({float(low)}f)", f"-DHIGH=({float(high)}f)"]
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
    command = [arguments.cc, *flags, *defines, "-I", str(folder), "-o", str(folder / "race"), str(folder / "main.c"),
               str(folder / "f.c"), "-lsleef", "-lm"]
    subprocess.run(command, check=True)
    out = subprocess.run([str(folder / "race")], check=True, capture_output=True, text=True).stdout
    return [float(t) for t in out.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ngc-math", default="target/debug/ngc-math")
    parser.add_argument("--cc", default="cc")
    arguments = parser.parse_args()
    print("| function | ngc, ns | SLEEF, ns | libm, ns | ngc / SLEEF |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for function, sleef, accuracy, low, high in FUNCTIONS:
            ours, peer, libm = race(arguments, pathlib.Path(folder), function, sleef, accuracy, low, high)
            print(f"| {function} | {ours:.3f} | {peer:.3f} | {libm:.3f} | {ours / peer:.2f} |", flush=True)


if __name__ == "__main__":
    main()
