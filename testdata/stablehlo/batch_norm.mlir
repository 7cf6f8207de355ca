module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>, %arg4: tensor<4xf32>) -> (tensor<2x4x4x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3] : (tensor<4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<2x4x4x4xf32>
    %3 = stablehlo.subtract %arg0, %2 : tensor<2x4x4x4xf32>
    %4 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %cst = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x1x1xf32>
    %6 = stablehlo.add %4, %5 : tensor<4x1x1xf32>
    %7 = stablehlo.rsqrt %6 : tensor<4x1x1xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2, 3] : (tensor<4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<2x4x4x4xf32>
    %10 = stablehlo.multiply %3, %9 : tensor<2x4x4x4xf32>
    %11 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [1, 2, 3] : (tensor<4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<2x4x4x4xf32>
    %14 = stablehlo.multiply %10, %13 : tensor<2x4x4x4xf32>
    %15 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1, 2, 3] : (tensor<4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<2x4x4x4xf32>
    %18 = stablehlo.add %14, %17 : tensor<2x4x4x4xf32>
    return %18 : tensor<2x4x4x4xf32>
  }
}
