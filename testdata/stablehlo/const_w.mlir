module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<4x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<[[0.000000e+00, 1.000000e-01, 2.000000e-01, 3.000000e-01], [4.000000e-01, 5.000000e-01, 6.000000e-01, 0.699999988], [8.000000e-01, 0.900000035, 1.000000e+00, 1.100000e+00], [1.200000e+00, 1.30000007, 1.400000e+00, 1.500000e+00], [1.600000e+00, 1.700000e+00, 1.80000007, 1.900000e+00], [2.000000e+00, 2.10000014, 2.200000e+00, 2.300000e+00], [2.400000e+00, 2.500000e+00, 2.60000014, 2.700000e+00], [2.800000e+00, 2.900000e+00, 3.000000e+00, 3.10000014]]> : tensor<8x4xf32>
    %0 = stablehlo.dot_general %arg0, %cst, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
