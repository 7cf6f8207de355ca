//! Objects for other machines: none needs a function of a system, or it is refused.

use ngc_codegen::{Emit, Options, Target, compile, object};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

use crate::support::{CONTEXT, messages, module};

/// What tempts LLVM to ask for a function: copies, conversions, rounding, remainders of vectors.
const TEMPTING: &str = "func.func @f(%x: tensor<4096xf32>, %h: tensor<4096xf16>, %b: tensor<4096xbf16>, %d: tensor<4096xf64>)
    -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf16>, tensor<4096xbf16>, tensor<4096xi64>, tensor<4096xf32>, tensor<4096xf32>) {
  %floor = ng.floor %x : tensor<4096xf32>
  %round = ng.round %floor : tensor<4096xf32>
  %sqrt = ng.sqrt %x : tensor<4096xf32>
  %max = ng.max %x, %sqrt : tensor<4096xf32>
  %hh = ng.mul %h, %h : tensor<4096xf16>
  %b1 = ng.convert %d {to = bf16} : tensor<4096xf64> -> tensor<4096xbf16>
  %bb = ng.add %b, %b1 : tensor<4096xbf16>
  %i = ng.convert %d {to = i64} : tensor<4096xf64> -> tensor<4096xi64>
  %s = ng.convert %i {to = f32} : tensor<4096xi64> -> tensor<4096xf32>
  func.return %x, %round, %max, %hh, %bb, %i, %s, %x : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf16>, tensor<4096xbf16>, tensor<4096xi64>, tensor<4096xf32>, tensor<4096xf32>
}
";

#[test]
fn objects_need_nothing() {
    let module = module(TEMPTING);
    let lowered = lower_module(&CONTEXT, &module, &Functions::default(), 256)
        .unwrap_or_else(|e| panic!("{}", messages(&e)))
        .0;
    for (triple, cpu, features) in [
        ("x86_64-unknown-linux-gnu", "x86-64", ""),
        ("x86_64-unknown-linux-gnu", "x86-64-v2", ""),
        ("x86_64-unknown-linux-gnu", "x86-64-v3", ""),
        ("x86_64-unknown-linux-gnu", "x86-64-v4", ""),
        ("x86_64-unknown-linux-gnu", "sapphirerapids", ""),
        ("aarch64-unknown-linux-gnu", "", ""),
        ("riscv64-unknown-linux-gnu", "", "+m,+f,+d"),
    ] {
        let target = Target::new(triple, cpu, features).expect("a target");
        let code = compile(&lowered, &target, Options::new(Emit::Object))
            .unwrap_or_else(|e| panic!("{triple} {cpu}: {}", messages(&e)));
        assert_eq!(object::undefined(&code).expect("an object"), Vec::<String>::new(), "{triple} {cpu}");
    }
}

#[test]
fn a_processor_without_floats_is_refused() {
    let module = module(TEMPTING);
    let lowered = lower_module(&CONTEXT, &module, &Functions::default(), 256)
        .unwrap_or_else(|e| panic!("{}", messages(&e)))
        .0;
    let target = Target::new("riscv64-unknown-linux-gnu", "", "").expect("a target");
    let refused = compile(&lowered, &target, Options::new(Emit::Object)).expect_err("it has no floats");
    assert!(
        messages(&refused)
            .contains("has no instruction for what the system's library would be asked for: __")
    );
    assert!(Target::new("pdp11-unknown-none", "", "").is_err());
}
