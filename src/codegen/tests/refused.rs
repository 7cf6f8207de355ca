//! What is not compiled is refused by name; what a caller does wrong has a status.

use ngc_numerics::{Format, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

use crate::support::{CONTEXT, load, messages, module};

fn refusal(body: &str, ty: &str, result: &str) -> String {
    let text = format!("func.func @f(%x: {ty}) -> {result} {{\n  {body}\n  func.return %0 : {result}\n}}\n");
    match lower_module(&CONTEXT, &module(&text), &Functions::default(), 256) {
        Ok(_) => panic!("lowered: {body}"),
        Err(d) => messages(&d),
    }
}

#[test]
fn ops_are_refused_by_name() {
    let t = "tensor<4xf32>";
    let i = "tensor<4xi32>";
    for (body, ty, result, message) in [
        ("%0 = ng.tanh %x : tensor<4xf32>", t, t, "no implementation of tanh in f32 within --max-ulp=0.5"),
        ("%0 = ng.gelu %x : tensor<4xf32>", t, t, "no implementation of gelu in f32 within --max-ulp=0.5"),
        (
            "%0 = ng.hardswish %x : tensor<4xf32>",
            t,
            t,
            "no implementation of hardswish in f32 within --max-ulp=0.5; by its steps it is off by up to 0.5001",
        ),
        (
            "%0, %1 = ng.split %x {axis = 0 : i64, sizes = [4, 4]} : tensor<?xf32> -> tensor<4xf32>, tensor<4xf32>",
            "tensor<?xf32>",
            t,
            "'ng.split' is not lowered to kernels yet",
        ),
        ("%0 = ng.div %x, %x : tensor<4xi32>", i, i, "'ng.div' of integers is not lowered to kernels yet"),
        (
            "%0 = ng.fma %x, %x, %x : tensor<4xf16>",
            "tensor<4xf16>",
            "tensor<4xf16>",
            "no implementation of fma in f16 within --max-ulp=0.5; by its steps it is off by up to 0.5001",
        ),
    ] {
        assert_eq!(refusal(body, ty, result), message, "{body}");
    }
}

#[test]
fn extents_and_workspaces_are_checked() {
    let text = "func.func @f(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?xf32>) {\n  \
                %0 = ng.add %x, %y : tensor<?x3xf32>\n  \
                %1 = ng.reduce_sum %0 {axes = [1], sum = \"pairwise\"} : tensor<?x3xf32> -> tensor<?xf32>\n  \
                func.return %0, %1 : tensor<?x3xf32>, tensor<?xf32>\n}\n";
    let compiled = load(&module(text), &Functions::default());
    let tensor =
        |rows: usize| Tensor::floats(Format::F32, vec![rows, 3], vec![1.0; rows * 3]).expect("a tensor");
    let run = |x: usize, y: usize, a: usize, b: usize, less: i64| {
        compiled.call_with("f", &[tensor(x), tensor(y)], &[vec![a, 3], vec![b]], less).map(|r| r[1].to_f64s())
    };
    assert_eq!(run(2, 2, 2, 2, 0), Ok(vec![6.0, 6.0]));
    assert_eq!(run(0, 0, 0, 0, 0), Ok(vec![]));
    assert_eq!(run(2, 3, 2, 2, 0), Err(1));
    assert_eq!(run(2, 2, 3, 2, 0), Err(1));
    assert_eq!(run(2, 2, 2, 1, 0), Err(1));
    assert_eq!(run(2, 2, 2, 2, 1), Err(2));
}
