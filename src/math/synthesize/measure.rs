//! The time that an implementation takes: compiled, on numbers of its range in the first cache, the best of many turns.

use std::process::Command;

use ngc_ir::{Diagnostic, Loc};

use crate::c99;
use crate::check::Checked;
use crate::verify::Compiler;

const MAIN: &str = r#"
#include <stdio.h>
#include <time.h>

enum { N = 1024, REPEATS = 64, TURNS = 40 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
  static float x[N], y[N];
  double best = 1e30;
  unsigned seed = 1;
  for (int i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = LOW + (HIGH - LOW) * ((float)(seed >> 8) / 16777216.0f);
  }
  for (int s = 0; s < TURNS; s++) {
    const double start = now();
    for (int n = 0; n < REPEATS; n++) {
      FUNCTION(x, y, N);
      __asm__ volatile("" ::: "memory");
    }
    const double took = (now() - start) / (REPEATS * (double)N);
    if (took < best) best = took;
  }
  printf("%f\n", best);
  return 0;
}
"#;

/// Nanoseconds an element.
///
/// # Errors
/// When there is no compiler, or the program does not run.
pub fn nanoseconds(
    compiler: &Compiler,
    checked: &Checked,
    symbol: &str,
    (low, high): (f32, f32),
) -> Result<f64, Diagnostic> {
    let fail = |message: String| Diagnostic::error(Loc::Unknown, message);
    let io = |e: std::io::Error| fail(format!("cannot measure: {e}"));
    // A quarter of the numbers of f32 are so large that their differences are infinite.
    let (low, high) = (low.max(-1e30), high.min(1e30));
    let defines = format!(
        "#define _POSIX_C_SOURCE 199309L\n#define FUNCTION {}_array\n#define LOW ({low:e}f)\n#define HIGH ({high:e}f)\n",
        c99::c_name(symbol)
    );
    let folder = tempfile::Builder::new().prefix("ngc-math-").tempdir().map_err(io)?;
    let (source, program) = (folder.path().join("time.c"), folder.path().join("time"));
    std::fs::write(&source, defines + &c99::source(checked)? + MAIN).map_err(io)?;
    let mut command = Command::new(&compiler.command);
    let output =
        command.args(&compiler.flags).arg("-o").arg(&program).arg(&source).arg("-lm").output().map_err(io)?;
    if !output.status.success() {
        return Err(fail(format!("the C compiler refuses: {}", String::from_utf8_lossy(&output.stderr))));
    }
    let output = compiler.command(program).output().map_err(io)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| fail(format!("a compiled program says '{text}' and no time")))
}
