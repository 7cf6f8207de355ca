//! Rules of networks: functions of conditions, and conditions without which a rule would be false.

use ngc_passes::rewrite::verify::Report;

use crate::support;

/// The report on the one rule of a text, beside the bundled ones.
fn verify(text: &str) -> Report {
    support::verified(text, true)
}

#[test]
fn defined_tells_a_value_from_nan() {
    // An exponential always is a number; the logarithm of a negative one never is.
    let exp = verify("rule r : mine, exact neg(?y @ exp(?x)) => sub(0, ?y) where defined(?y)");
    assert!(exp.passed(), "{exp:?}");
    let log = verify("rule r : mine, exact neg(?y @ log(neg(exp(?x)))) => sub(0, ?y) where defined(?y)");
    assert!(log.failure.is_some_and(|f| f.contains("no instance")));
}

#[test]
fn false_rules_are_caught() {
    let rules = [
        // A shift along the axis is none of the row.
        "softmax(add(?x, ?m), axis = ?a) => softmax(?x, axis = ?a) where within(?m, ?x)",
        // A factor changes the spread, unlike an offset.
        "variance(mul(?x, ?c : const), axes = ?A, keepdims = ?k) => variance(?x, axes = ?A, keepdims = ?k)",
        // The root mean square of a sample is not its deviation, unless the weights were centred.
        "layer_norm(matmul(?x, ?w), axis = ?a, epsilon = ?e) => rms_norm(matmul(?x, ?w), axis = ?a, epsilon = ?e)",
        // The derivative of the hyperbolic tangent in other units.
        "sub(1, square(tanh(?x))) => mul(4, mul(sigmoid(?x), sigmoid(neg(?x))))",
    ];
    for text in rules {
        let report = verify(&format!("rule wrong : stability, domain-restricted {text}"));
        assert!(report.failure.as_ref().is_some_and(|f| f.contains("left")), "{text}: {report:?}");
    }
}
