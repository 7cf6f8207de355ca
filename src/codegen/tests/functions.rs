//! Implementations of functions take the place of ops, at the width of vectors.

use ngc_numerics::{Format, Random, Tensor};
use ngc_passes::lowering::functions::Functions;
use ngc_passes::lowering::lower_module;

use crate::support::{CONTEXT, interpreted, load, messages, module, shapes};

/// A stand-in for exp: its Taylor polynomial of degree 12 about 0, which is enough between -1 and 1.
fn stand_in(format: Format) -> Functions {
    let mut text = format!(
        "func.func @exp(%x: {format}) -> {format} attributes {{ng.implements = \"exp\"}} {{\n  %p12 = ng.constant {:?} : {format}\n",
        1.0 / 479_001_600.0
    );
    let mut factorial = 479_001_600.0;
    for degree in (0..12).rev() {
        factorial /= f64::from(degree + 1);
        text += &format!(
            "  %c{degree} = ng.constant {:?} : {format}\n  %p{degree} = ng.fma %p{}, %x, %c{degree} : {format}\n",
            format.round(1.0 / factorial),
            degree + 1
        );
    }
    text += &format!("  func.return %p0 : {format}\n}}\n");
    let mut functions = Functions::default();
    functions.insert_all(&module(&text)).expect("an implementation");
    functions
}

#[test]
fn an_implementation_is_inlined() {
    let text = "func.func @softmax(%x: tensor<?x19xf32>) -> tensor<?x19xf32> {\n  \
                %0 = ng.softmax %x : tensor<?x19xf32>\n  func.return %0 : tensor<?x19xf32>\n}\n";
    let module = module(text);
    let refused = lower_module(&CONTEXT, &module, &Functions::default(), 256).err().expect("it needs exp");
    assert_eq!(messages(&refused), "no implementation of exp in f32");
    let compiled = load(&module, &stand_in(Format::F32));
    let mut r = Random::new(5);
    let values: Vec<f64> = (0..4 * 19).map(|_| Format::F32.round(r.uniform(-0.5, 0.5))).collect();
    let input = Tensor::floats(Format::F32, vec![4, 19], values).expect("a tensor");
    let theirs = interpreted(&module, "softmax", std::slice::from_ref(&input)).expect("a result");
    let ours = compiled.call("softmax", &[input], &shapes(&theirs)).expect("a result");
    for (a, b) in ours[0].to_f64s().iter().zip(theirs[0].to_f64s()) {
        assert!((a - b).abs() <= 4.0 * Format::F32.ulp(b), "{a} where the interpreter has {b}");
    }
}
