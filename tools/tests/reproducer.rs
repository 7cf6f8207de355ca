//! A pass that panics leaves a reproducer behind, and the tool alive.

use std::ffi::OsString;
use std::process::ExitCode;

use ngc_ir::Diagnostics;
use ngc_ir::pass::{Anchor, Changed, Function, Pass, PassContext, Registry};

struct Trap;

impl Pass for Trap {
    fn name(&self) -> &'static str {
        "trap"
    }
    fn summary(&self) -> &'static str {
        "Panics on functions that still hold an unused op"
    }
    fn anchor(&self) -> Anchor {
        Anchor::Function
    }
    fn run_on_function(
        &self,
        function: &mut Function,
        _: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        assert!(function.name() != "bad", "no rule for @bad");
        Ok(Changed::No)
    }
}

const REGISTRY: Registry = Registry { passes: &[&ngc_passes::transform::dce::Dce, &Trap], pipelines: &[] };

fn run(args: &[&str]) -> bool {
    let args = std::iter::once("ngc-opt").chain(args.iter().copied()).map(OsString::from);
    format!("{:?}", ngc_tools::opt::main(args, REGISTRY)) == format!("{:?}", ExitCode::SUCCESS)
}

#[test]
fn a_panic_becomes_a_reproducer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (input, output, reproducer) = (path("in.ngir"), path("out.ngir"), path("repro.ngir"));
    let text = "func.func @good(%x: f32) -> f32 {\n  func.return %x : f32\n}\n\
                func.func @bad(%x: f32) -> f32 {\n  %y = ng.exp %x : f32\n  func.return %x : f32\n}\n";
    std::fs::write(&input, text).unwrap();
    let flag = format!("--crash-reproducer={reproducer}");
    assert!(!run(&[&input, "--dce", "--trap", &flag, "-o", &output]));
    assert!(!std::path::Path::new(&output).exists(), "nothing is written after a failure");

    let written = std::fs::read_to_string(&reproducer).unwrap();
    let head: Vec<&str> = written.lines().take(3).collect();
    assert!(
        head[0].ends_with("pass 'trap' panicked: no rule for @bad (in @bad); this is a bug in the pass"),
        "{written}"
    );
    assert_eq!(head[1], "// pipeline: builtin.module(func.func(trap))");
    assert_eq!(head[2], "// flags: --verify-each=true");
    assert!(!written.contains("ng.exp"), "the module before the pass that failed, after dce:\n{written}");

    let again = path("again.ngir");
    let flag = format!("--crash-reproducer={again}");
    assert!(!run(&["--run-reproducer", &reproducer, &flag]));
    assert_eq!(std::fs::read_to_string(&again).unwrap().lines().nth(1), Some(head[1]));
}
