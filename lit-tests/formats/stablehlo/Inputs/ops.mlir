module @ops {
  func.func public @main(%x: tensor<4x8xf32> loc("x"), %w: tensor<8x3xf32>, %i: tensor<2xi32>, %p: tensor<i1>) -> (tensor<4x3xf32>, tensor<4xi32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<8xf32> {jax.result_info = "result[5]"}) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    // A contraction with a transposed operand, in f32.
    %wt = stablehlo.transpose %w, dims = [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %dot = stablehlo.dot_general %x, %wt, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
    // A reduction with a region: argmax.
    %places = stablehlo.iota dim = 1 : tensor<4x8xi32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %arg:2 = stablehlo.reduce(%x init: %least), (%places init: %none) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)  {
      %0 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
    // Rows by their indices, which are clamped.
    %rows = stablehlo.reshape %i : (tensor<2xi32>) -> tensor<2x1xi32>
    %taken = "stablehlo.gather"(%x, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
    // A loop of two trips around a call, then a branch.
    %loop:2 = stablehlo.while(%n = %none, %v = %x) : tensor<i32>, tensor<4x8xf32>
    cond {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %on = stablehlo.compare LT, %n, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %on : tensor<i1>
    } do {
      %sine = func.call @step(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %next, %sine : tensor<i32>, tensor<4x8xf32>
    }
    %branch = "stablehlo.if"(%p) ({
      stablehlo.return %loop#1 : tensor<4x8xf32>
    }, {
      %e = chlo.erf %x : tensor<4x8xf32> -> tensor<4x8xf32>
      stablehlo.return %e : tensor<4x8xf32>
    }) : (tensor<i1>) -> tensor<4x8xf32>
    // Windows, a running sum and a slice; a broadcast that needs no op.
    %pool = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x2xf32>
    %row = stablehlo.slice %x [1:2, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %flat = stablehlo.reshape %row : (tensor<1x8xf32>) -> tensor<8xf32>
    %half = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %halves = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %scaled = stablehlo.multiply %flat, %halves : tensor<8xf32>
    return %dot, %arg#1, %taken, %branch, %pool, %scaled : tensor<4x3xf32>, tensor<4xi32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<8xf32>
  }
  func.func private @step(%v: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.sine %v : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
