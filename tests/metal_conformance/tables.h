// Every table of cases.
#pragma once

#include "metal_conformance/session.h"

namespace ingot::metal::conformance {

// MLX's kernels; one file each.
Cases mlx_elementwise_cases();
Cases mlx_reduce_cases();
Cases mlx_gemm_cases();
Cases mlx_gemv_cases();
Cases mlx_quantized_cases();
Cases mlx_model_cases();
// PyTorch's.
Cases torch_cases();
Cases torch_row_cases();
// ggml's, from source.
Cases ggml_matrix_cases();
Cases ggml_attention_cases();
Cases ggml_memory_cases();
Cases ggml_other_cases();
// The engine's kernels beside them.
Cases beside_ggml_cases();

}  // namespace ingot::metal::conformance
