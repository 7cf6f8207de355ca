//! Ten spellings that are known to fail, on inputs on which they do.

/// A spelling with inputs on which it fails.
pub struct Pattern {
    pub name: &'static str,
    pub text: &'static str,
    pub inputs: &'static [&'static [f64]],
}

/// The patterns; a text is a function without its name and its last bracket.
pub const PATTERNS: [Pattern; 10] = [
    Pattern {
        name: "softmax, `exp(x) / sum(exp(x))`",
        inputs: &[&[1000.0, 999.0, -1000.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1x3xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1], keepdims = true} : tensor<1x3xf32> -> tensor<1x1xf32>
  %y = ng.div %e, %z : tensor<1x3xf32>, tensor<1x1xf32> -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>",
    },
    Pattern {
        name: "log-softmax, `log(exp(x) / sum(exp(x)))`",
        inputs: &[&[80.0, -60.0, 79.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1x3xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1], keepdims = true} : tensor<1x3xf32> -> tensor<1x1xf32>
  %p = ng.div %e, %z : tensor<1x3xf32>, tensor<1x1xf32> -> tensor<1x3xf32>
  %y = ng.log %p : tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>",
    },
    Pattern {
        name: "logsumexp, `log(sum(exp(x)))`",
        inputs: &[&[-200.0, -201.0, -199.0]],
        text: "(%x: tensor<1x3xf32> {ng.range = [-1000.0, 1000.0]}) -> tensor<1xf32> {
  %e = ng.exp %x : tensor<1x3xf32>
  %z = ng.reduce_sum %e {axes = [1]} : tensor<1x3xf32> -> tensor<1xf32>
  %y = ng.log %z : tensor<1xf32>
  func.return %y : tensor<1xf32>",
    },
    Pattern {
        name: "variance, `mean(x^2) - mean(x)^2`",
        inputs: &[&[40000.0, 40001.0, 40002.0, 40003.0]],
        text: "(%x: tensor<1x4xf32> {ng.range = [-50000.0, 50000.0]}) -> tensor<1xf32> {
  %q = ng.mul %x, %x : tensor<1x4xf32>
  %a = ng.reduce_mean %q {axes = [1]} : tensor<1x4xf32> -> tensor<1xf32>
  %m = ng.reduce_mean %x {axes = [1]} : tensor<1x4xf32> -> tensor<1xf32>
  %b = ng.mul %m, %m : tensor<1xf32>
  %y = ng.sub %a, %b : tensor<1xf32>
  func.return %y : tensor<1xf32>",
    },
    Pattern {
        name: "layer norm with that variance",
        inputs: &[&[40000.0, 40001.0, 40002.0, 40003.0]],
        text: "(%x: tensor<1x4xf32> {ng.range = [-50000.0, 50000.0]}) -> tensor<1x4xf32> {
  %eps = ng.constant 1.0e-5 : f32
  %m = ng.reduce_mean %x {axes = [1], keepdims = true} : tensor<1x4xf32> -> tensor<1x1xf32>
  %q = ng.mul %x, %x : tensor<1x4xf32>
  %a = ng.reduce_mean %q {axes = [1], keepdims = true} : tensor<1x4xf32> -> tensor<1x1xf32>
  %b = ng.mul %m, %m : tensor<1x1xf32>
  %v = ng.sub %a, %b : tensor<1x1xf32>
  %w = ng.add %v, %eps : tensor<1x1xf32>, f32 -> tensor<1x1xf32>
  %s = ng.sqrt %w : tensor<1x1xf32>
  %c = ng.sub %x, %m : tensor<1x4xf32>, tensor<1x1xf32> -> tensor<1x4xf32>
  %y = ng.div %c, %s : tensor<1x4xf32>, tensor<1x1xf32> -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>",
    },
    Pattern {
        name: "binary cross-entropy of `1 / (1 + exp(-x))`",
        inputs: &[&[-120.0, 40.0], &[1.0, 0.0]],
        text: "(%x: tensor<2xf32> {ng.range = [-200.0, 200.0]}, %t: tensor<2xf32> {ng.range = [0.0, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %n = ng.neg %x : tensor<2xf32>
  %e = ng.exp %n : tensor<2xf32>
  %d = ng.add %one, %e : f32, tensor<2xf32> -> tensor<2xf32>
  %s = ng.div %one, %d : f32, tensor<2xf32> -> tensor<2xf32>
  %l = ng.log %s : tensor<2xf32>
  %r = ng.sub %one, %s : f32, tensor<2xf32> -> tensor<2xf32>
  %k = ng.log %r : tensor<2xf32>
  %a = ng.mul %t, %l : tensor<2xf32>
  %u = ng.sub %one, %t : f32, tensor<2xf32> -> tensor<2xf32>
  %b = ng.mul %u, %k : tensor<2xf32>
  %c = ng.add %a, %b : tensor<2xf32>
  %y = ng.neg %c : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "`log(1 + x)`",
        inputs: &[&[1e-8, -3e-9]],
        text: "(%x: tensor<2xf32> {ng.range = [-0.5, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %s = ng.add %one, %x : f32, tensor<2xf32> -> tensor<2xf32>
  %y = ng.log %s : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "`exp(x) - 1`",
        inputs: &[&[1e-8, -2e-7]],
        text: "(%x: tensor<2xf32> {ng.range = [-1.0, 1.0]}) -> tensor<2xf32> {
  %one = ng.constant 1.0 : f32
  %e = ng.exp %x : tensor<2xf32>
  %y = ng.sub %e, %one : tensor<2xf32>, f32 -> tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "root of a quadratic, `-b + sqrt(b^2 - c)`",
        inputs: &[&[30000.0, 5000.0], &[1.0, 1.5]],
        text: "(%b: tensor<2xf32> {ng.range = [10.0, 1.0e6]}, %c: tensor<2xf32> {ng.range = [0.5, 2.0]}) -> tensor<2xf32> {
  %n = ng.neg %b : tensor<2xf32>
  %q = ng.mul %b, %b : tensor<2xf32>
  %d = ng.sub %q, %c : tensor<2xf32>
  %s = ng.sqrt %d : tensor<2xf32>
  %y = ng.add %n, %s : tensor<2xf32>
  func.return %y : tensor<2xf32>",
    },
    Pattern {
        name: "2-norm, `sqrt(x^2 + y^2)`",
        inputs: &[&[3e25, 3e-25], &[-4e25, 4e-25]],
        text: "(%x: tensor<2xf32> {ng.range = [-1.0e30, 1.0e30]}, %y: tensor<2xf32> {ng.range = [-1.0e30, 1.0e30]}) -> tensor<2xf32> {
  %a = ng.mul %x, %x : tensor<2xf32>
  %b = ng.mul %y, %y : tensor<2xf32>
  %s = ng.add %a, %b : tensor<2xf32>
  %r = ng.sqrt %s : tensor<2xf32>
  func.return %r : tensor<2xf32>",
    },
];
