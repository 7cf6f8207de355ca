module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32> {jax.result_info = "result"}) {
    %0 = call @_roll_static(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func private @_roll_static(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.slice %arg0 [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.slice %arg0 [0:3, 0:8] : (tensor<4x8xf32>) -> tensor<3x8xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}
