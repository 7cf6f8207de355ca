//! Implementations as programs: C99 through a compiler, results through a pipe, so that no code of outside runs in ngc.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ngc_ir::{Diagnostic, Loc};
use ngc_numerics::Format;
use tempfile::TempDir;

use crate::c99;
use crate::check::Checked;
use crate::function::{format_of, symbol};
use crate::text::Text;

/// A C compiler and its flags.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command.
    pub command: OsString,
    /// Flags, none of which may change a result.
    pub flags: Vec<String>,
    /// What runs programs of another machine, and its arguments; nothing where they run as they are.
    pub runner: Vec<OsString>,
}

impl Default for Compiler {
    /// `$CC`, else `cc`, for this machine.
    fn default() -> Compiler {
        // errno is not asked for: without it loops become vector code. Traps are: without them GCC 12 cuts a float that becomes an
        // integer and a float again by one instruction, which keeps the sign of a zero.
        let flags = ["-O2", "-ftree-vectorize", "-march=native", "-ffp-contract=off", "-fno-math-errno"];
        Compiler {
            command: std::env::var_os("CC").unwrap_or_else(|| "cc".into()),
            flags: flags.map(String::from).to_vec(),
            runner: Vec::new(),
        }
    }
}

/// A program that gives the results of an implementation of one number for a range of encodings, or of one of two for pairs.
pub struct Program {
    folder: TempDir,
    format: Format,
    compiler: Compiler,
}

/// Takes the name of a file of pairs and writes their results.
const PAIRS: &str = "
#include <stdio.h>

enum { BLOCK = 16384 };

int main(int argc, char **argv) {
  static NUMBER pairs[2 * BLOCK], x[BLOCK], y[BLOCK], r[BLOCK];
  FILE *file = argc == 2 ? fopen(argv[1], \"rb\") : 0;
  if (!file) return 1;
  for (size_t n; (n = fread(pairs, 2 * sizeof pairs[0], BLOCK, file)) > 0;) {
    for (size_t i = 0; i < n; i++) x[i] = pairs[2 * i], y[i] = pairs[2 * i + 1];
    FUNCTION(x, y, r, n);
    if (fwrite(r, sizeof r[0], n, stdout) != n) return 1;
  }
  return fflush(stdout) != 0;
}
";

/// Takes pairs `first count` and writes the results at so many encodings from the first on.
const MAIN: &str = "
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 16384 };

int main(int argc, char **argv) {
  static NUMBER x[BLOCK], y[BLOCK];
  for (int a = 1; a + 1 < argc; a += 2) {
    uint64_t first = strtoull(argv[a], 0, 10), count = strtoull(argv[a + 1], 0, 10);
    while (count > 0) {
      size_t n = count < BLOCK ? (size_t)count : BLOCK;
      for (size_t i = 0; i < n; i++) x[i] = OF_BITS((BITS)(first + i));
      FUNCTION(x, y, n);
      if (fwrite(y, sizeof y[0], n, stdout) != n) return 1;
      first += n;
      count -= n;
    }
  }
  return fflush(stdout) != 0;
}
";

/// What C calls the numbers of a format, and integers with their encodings.
fn types(format: Format) -> &'static str {
    match format {
        Format::F64 => "#define NUMBER double\n#define BITS int64_t\n#define OF_BITS ngc_f64_of_i64\n",
        _ => "#define NUMBER float\n#define BITS int32_t\n#define OF_BITS ngc_f32_of_i32\n",
    }
}

impl Compiler {
    /// Compiles an implementation of one or two numbers of f32 or f64.
    ///
    /// # Errors
    /// When there is no compiler, or it refuses the code.
    pub fn build(&self, checked: &Checked, text: &Text) -> Result<Program, Diagnostic> {
        let fail = |message: String| Diagnostic::error(Loc::Unknown, message);
        let io = |e: std::io::Error| fail(format!("cannot write a program: {e}"));
        let folder = tempfile::Builder::new().prefix("ngc-math-").tempdir().map_err(io)?;
        let source = folder.path().join("sweep.c");
        let names =
            format!("#define FUNCTION {}_array\n{}", c99::c_name(&symbol(text)), types(format_of(text)));
        let main = if text.arguments.len() == 2 { PAIRS } else { MAIN };
        std::fs::write(&source, c99::source(checked)? + &names + main).map_err(io)?;
        let mut command = Command::new(&self.command);
        command.args(&self.flags).arg("-o").arg(folder.path().join("sweep")).arg(&source).arg("-lm");
        let shown = self.command.to_string_lossy();
        let output = command
            .output()
            .map_err(|e| fail(format!("cannot run the C compiler '{shown}': {e}; name another with CC")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said: Vec<&str> = said.lines().take(5).collect();
            return Err(fail(format!("'{shown}' refuses what was written for it: {}", said.join("\n"))));
        }
        Ok(Program { folder, format: format_of(text), compiler: self.clone() })
    }

    /// What runs a program.
    pub fn command(&self, program: PathBuf) -> Command {
        match &self.runner[..] {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        }
    }
}

impl Program {
    fn command(&self) -> Command {
        self.compiler.command(self.folder.path().join("sweep"))
    }

    /// The results at ranges of encodings, each a first one and how many.
    ///
    /// # Errors
    /// When the program does not run to its end.
    pub fn results(&self, ranges: &[(u64, u64)]) -> Result<Results, String> {
        let mut command = self.command();
        command.args(ranges.iter().flat_map(|(first, count)| [first.to_string(), count.to_string()]));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Results::of(command)
    }

    /// The results at pairs.
    ///
    /// # Errors
    /// As [`Self::results`].
    pub fn results_at(&self, pairs: &[[f64; 2]]) -> Result<Vec<f64>, String> {
        let write = |e: std::io::Error| format!("cannot write inputs: {e}");
        let size = self.format.width() as usize / 8;
        let mut file = tempfile::NamedTempFile::new_in(self.folder.path()).map_err(write)?;
        let words = pairs.iter().flatten().map(|&x| self.format.to_bits(x).to_le_bytes());
        let bytes: Vec<u8> = words.flat_map(|word| word.into_iter().take(size)).collect();
        file.write_all(&bytes).map_err(write)?;
        let mut command = self.command();
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut bytes = vec![0; size * pairs.len()];
        Results::of(command)?.read(&mut bytes)?;
        let number = |word: &[u8]| {
            let mut bits = [0; 8];
            bits[..size].copy_from_slice(word);
            self.format.from_bits(u64::from_le_bytes(bits))
        };
        Ok(bytes.chunks_exact(size).map(number).collect())
    }
}

/// Results that a program writes.
pub struct Results {
    child: Child,
}

impl Results {
    fn of(mut command: Command) -> Result<Results, String> {
        let child = command.spawn().map_err(|e| format!("cannot run a compiled program: {e}"))?;
        Ok(Results { child })
    }

    /// The next results, as many as there is place for.
    ///
    /// # Errors
    /// When the program has ended before.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        let output = self.child.stdout.as_mut().ok_or("a compiled program has no output")?;
        output.read_exact(bytes).map_err(|e| format!("a compiled program stopped: {e}"))
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        // It has ended, or nobody reads it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
