//! What α says, and what it does not.

use ngc_ir::Module;
use ngc_passes::stabilize::telling::figures::Outcome;

use crate::support::{errors, function, parse, search};

/// The constants of `Φ(ε) = L ε + Δ` of the one result.
fn functional(module: &Module) -> (f64, f64) {
    let (errors, body) = (errors(module), function(module).1);
    let arguments = body.arguments(body.entry().expect("a block"));
    let steep = |&v| errors.amplification(v).map(|way| way.lipschitz).fold(0.0, f64::max);
    (arguments.iter().map(steep).sum(), errors.absolute(errors.results()[0]))
}

const ARGUMENTS: &str = "(%a: f32 {ng.range = [900.0, 1000.0]}, %b: f32 {ng.range = [800.0, 899.0]}) -> f32";

/// The difference of two squares, and what follows it.
fn difference(then: &str, result: &str) -> Module {
    parse(&format!(
        "func.func @f{ARGUMENTS} {{
  %x = ng.mul %a, %a : f32
  %y = ng.mul %b, %b : f32
  %z = ng.sub %x, %y : f32
  {then}
  func.return {result} : f32
}}
"
    ))
}

/// What all rewrites did to the result.
fn outcome(module: &mut Module) -> Outcome {
    let op = function(module).0;
    let report = search(&ngc_dialects::context(), module, op, true);
    report.totals.expect("it was rewritten").results[0]
}

/// `Φ_G* ≤ α Φ_G + O(ε²)` is false: the rewrite lowers what rounding adds, and cannot lower what the function does to
/// errors of its arguments.
#[test]
fn alpha_does_not_bound_the_functional() {
    let before = difference("", "%z");
    let mut after = before.clone();
    let alpha = outcome(&mut after).alpha().expect("both bounds are finite");
    let (old, new) = (functional(&before), functional(&after));
    assert!(alpha < 1.0 && new.1 < old.1, "α = {alpha}, Δ {} -> {}", old.1, new.1);
    assert!(new.0 >= old.0, "L {} -> {}", old.0, new.0);
    // At ε = 0 it may hold; where ε outweighs Δ it cannot.
    let phi = |(l, delta): (f64, f64), e: f64| l * e + delta;
    assert!(phi(new, 1.0) > 1.01 * alpha * phi(old, 1.0), "α = {alpha}");
}

#[test]
fn no_number_compares_a_bound_with_none() {
    let found = outcome(&mut difference("%e = ng.exp %z : f32\n  %l = ng.log %e : f32", "%l"));
    assert_eq!(found.alpha(), None);
    assert!(found.details().ends_with("α = inf -> finite"), "{}", found.details());
}
