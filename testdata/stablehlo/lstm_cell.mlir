module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<2x4xf32>, %arg3: tensor<3x16xf32>, %arg4: tensor<4x16xf32>) -> (tensor<2x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x16xf32>) -> tensor<2x16xf32>
    %1 = stablehlo.dot_general %arg1, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x16xf32>
    %3 = stablehlo.slice %2 [0:2, 0:4] : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.slice %2 [0:2, 4:8] : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.slice %2 [0:2, 8:12] : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %6 = stablehlo.slice %2 [0:2, 12:16] : (tensor<2x16xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.negate %6 : tensor<2x4xf32>
    %8 = stablehlo.exponential %7 : tensor<2x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %10 = stablehlo.add %9, %8 : tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %12 = stablehlo.divide %11, %10 : tensor<2x4xf32>
    %13 = stablehlo.negate %4 : tensor<2x4xf32>
    %14 = stablehlo.exponential %13 : tensor<2x4xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %16 = stablehlo.add %15, %14 : tensor<2x4xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %18 = stablehlo.divide %17, %16 : tensor<2x4xf32>
    %19 = stablehlo.multiply %18, %arg2 : tensor<2x4xf32>
    %20 = stablehlo.negate %3 : tensor<2x4xf32>
    %21 = stablehlo.exponential %20 : tensor<2x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %23 = stablehlo.add %22, %21 : tensor<2x4xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %25 = stablehlo.divide %24, %23 : tensor<2x4xf32>
    %26 = stablehlo.tanh %5 : tensor<2x4xf32>
    %27 = stablehlo.multiply %25, %26 : tensor<2x4xf32>
    %28 = stablehlo.add %19, %27 : tensor<2x4xf32>
    %29 = stablehlo.tanh %28 : tensor<2x4xf32>
    %30 = stablehlo.multiply %12, %29 : tensor<2x4xf32>
    return %30 : tensor<2x4xf32>
  }
}
