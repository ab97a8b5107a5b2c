// Every kernel template of MLX's headers, instantiated as a host would: the list of what the front end has to
// compile. What of the headers is no entry here, and why:
// - fp_qmm_n_nax, fp_gather_qmm_n_nax and gated_delta_vjp_fused_nax0 call helpers with arguments that these
// don't
//   take: they are broken, and no compiled library has them.
// - hadamard_m calls radix functions that MLX's host code writes for each M.
// - indexing/gather.h, indexing/scatter.h: gather_impl and scatter_impl are called by kernels that the host
//   writes for each number of index arrays; slice_update_op_impl is a kernel and an entry.
// - reduction/ops.h, *_ops.h, atomic.h, bf16*.h, cexpf.h, complex.h, defines.h, erf.h, expm1f.h, fp4.h,
// fp8.h,
//   logging.h, reduce_utils.h, utils.h, quantized_utils.h, fft/*.h, steel's loaders, mma.h, nax.h, params.h,
//   transforms.h and utils: parts of the kernels of other headers, no kernels of their own.
#include "metal_conformance/mlx_source_list.h"

#include <cctype>

namespace ingot::metal::conformance {
namespace {

struct SourceGroup {
    const char* headers;
    std::vector<const char*> entries;
};

const std::vector<SourceGroup>& source_groups() {
    static const std::vector<SourceGroup> groups = {
        {"utils.h arange.h", {"arange<float>", "arange<int32_t>", "arange<bfloat16_t>"}},
        {"utils.h binary_ops.h binary.h",
         {"binary_ss<float, float, Add>", "binary_sv<half, half, Maximum>",
          "binary_vs<int32_t, int32_t, Multiply>", "binary_vv<bfloat16_t, bfloat16_t, Subtract>",
          "binary_vv<complex64_t, complex64_t, Power>", "binary_sv2<float, bool, Greater>",
          "binary_vs2<float, float, ArcTan2>", "binary_vv2<float, float, LogAddExp>",
          "binary_g_nd1<float, float, Divide, int>", "binary_g_nd2<uint8_t, uint8_t, BitwiseAnd, int>",
          "binary_g_nd3<float, float, Remainder>", "binary_g<int64_t, int64_t, Minimum, 4, int>"}},
        {"utils.h binary_ops.h binary_two.h",
         {"binary_ss<float, float, DivMod>", "binary_sv<half, half, DivMod>",
          "binary_vs<int32_t, int32_t, DivMod>", "binary_vv<int64_t, int64_t, DivMod>",
          "binary_sv2<float, float, DivMod>", "binary_vs2<float, float, DivMod>",
          "binary_vv2<bfloat16_t, bfloat16_t, DivMod>", "binary_g_nd1<float, float, DivMod, int>",
          "binary_g_nd2<float, float, DivMod, int>", "binary_g_nd3<float, float, DivMod>",
          "binary_g<float, float, DivMod, 2, int>"}},
        {"utils.h copy.h",
         {"copy_s<float, half>", "copy_v<half, bfloat16_t>", "copy_s2<int32_t, float>",
          "copy_v2<bool, int64_t>", "copy_v<complex64_t, complex64_t>", "copy_g_nd1<float, float, int>",
          "copy_g_nd2<float, uint8_t, int>", "copy_g_nd3<bfloat16_t, half>", "copy_g<float, float, 4, int>",
          "copy_gg_nd1<float, half, int>", "copy_gg_nd2<half, float, int>", "copy_gg_nd3<uint16_t, uint32_t>",
          "copy_gg<float, float, 2, int>", "copy_gg_dynamic_nd1<float, float, int>",
          "copy_gg_dynamic_nd2<float, float, int>", "copy_gg_dynamic_nd3<float, float>",
          "copy_gg_dynamic<float, float, 2, int>"}},
        {"defines.h utils.h cross_entropy.h", {"cross_entropy<float>", "cross_entropy_vjp<half>"}},
        {"utils.h dot.h", {"dot_product<float, 32, 512, 16>"}},
        {"utils.h fft.h",
         {"fft<256, float2, float2>", "fft<1024, float, float2>", "fft<512, float2, float>",
          "fft<256, complex32_t, complex32_t>", "rader_fft<256, float2, float2>",
          "bluestein_fft<256, float2, float2>", "four_step_fft<256, float2, float2, 0>",
          "four_step_fft<256, float2, float2, 1>", "four_step_fft<256, float, float2, 0, true>",
          "generate_bluestein_twiddles"}},
        {"utils.h steel/gemm/gemm.h quantized_utils.h fp_quantized.h",
         {"fp_qmv_quad<half, 32, 4, 64, false>", "fp_qmv_fast<float, 32, 8, false>",
          "fp_qmv<bfloat16_t, 16, 4, false>", "fp_qmv_wide<float, 32, 4, 2, 16, false>",
          "fp_qvm<float, 32, 4, false>", "fp_qvm_split_k<half, 32, 8, 8>",
          "fp_qmm_t<float, 32, 4, true, false>", "fp_qmm_n<half, 16, 4, false>",
          "fp_gather_qmv_fast<float, 32, 4>", "fp_gather_qmv<float, 32, 8>", "fp_gather_qvm<half, 32, 4>",
          "fp_gather_qmm_t<float, 32, 4, true>", "fp_qmm_t_splitk<float, 32, 4, true>",
          "fp_gather_qmm_n<float, 16, 4>", "fp_gather_qmm_rhs<half, 32, 4, 16, 32, 32, 1, 2, true>",
          "fp_quantize<float, 16, 4, false>", "fp_dequantize<float, 32, 8, false>",
          "fp_quantize_dequantize<half, 32, 4, false>"}},
        {"utils.h steel/gemm/gemm_nax.h quantized_utils.h fp_quantized_nax.h",
         {"fp_qmm_t_nax<float, 32, 4, true, false>", "fp_gather_qmm_t_nax<bfloat16_t, 16, 4, true>",
          "fp_gather_qmm_rhs_nax<bfloat16_t, 32, 4, 64, 64, 64, 2, 2, true>"}},
        {"utils.h steel/gemm/gemm.h quantized_utils.h quantized.h",
         {"affine_qmv_quad<half, 64, 4, 64, false>", "affine_qmv_fast<float, 64, 8, false>",
          "affine_qmv<bfloat16_t, 32, 6, false>", "affine_qmv_wide<float, 64, 4, 2, 8, false>",
          "affine_qvm<float, 64, 3, false>", "affine_qvm_split_k<half, 64, 5, 8>",
          "affine_qmm_t<float, 64, 2, true, false>", "affine_qmm_t_splitk<float, 64, 4, true>",
          "affine_qmm_n<half, 128, 4, false>", "affine_gather_qmv_fast<float, 64, 4>",
          "affine_gather_qmv<float, 64, 1>", "affine_gather_qvm<half, 64, 8>",
          "affine_gather_qmm_t<float, 64, 4, true>", "affine_gather_qmm_n<float, 32, 6>",
          "affine_gather_qmm_rhs<half, 64, 4, 16, 32, 32, 1, 2, true>", "affine_quantize<float, 64, 4>",
          "affine_dequantize<float, 64, 5>"}},
        {"utils.h steel/gemm/gemm_nax.h quantized_utils.h quantized_nax.h",
         {"affine_qmm_t_nax<float, 64, 4, true, false, 64, 64, 64>", "affine_qmm_n_nax<half, 64, 8, false>",
          "affine_gather_qmm_t_nax<bfloat16_t, 64, 4, true>", "affine_gather_qmm_n_nax<half, 64, 6>",
          "affine_gather_qmm_rhs_nax<bfloat16_t, 64, 4, 64, 64, 64, 2, 2, true>"}},
        {"gated_delta_update.h",
         {"gated_delta_fused_chunk<float, 128, 128, 24, 24, 8>",
          "gated_delta_seq<float, 128, 128, 24, 24, 1>", "gated_delta_seq<bfloat16_t, 128, 128, 16, 32, 1>"}},
        {"utils.h gated_delta_update_nax.h", {"gated_delta_fused_nax<float, 128, 128, 24, 24, 16, 1>"}},
        {"utils.h gated_delta_update_vjp.h", {"gated_delta_vjp_seq<float, 128, 128, 24, 24, 1>"}},
        {"utils.h gated_delta_update_nax_vjp.h",
         {"gated_delta_vjp_fused_nax<float, 128, 128, 24, 24, 16, 1>",
          "gated_delta_vjp_fused_nax1<float, 128, 128, 24, 24, 16>", "gated_delta_dgamma_to_dg<float, 16>"}},
        {"utils.h steel/utils.h gemv.h",
         {"gemv<float, 1, 1, 1, 32, 4, 4, false, false>", "gemv<bfloat16_t, 4, 1, 1, 32, 4, 4, true, true>",
          "gemv_gather<half, 4, 1, 1, 32, 1, 4>", "gemv_t<float, 1, 2, 8, 4, 4, 1, false, false>",
          "gemv_t_gather<float, 1, 2, 8, 4, 4, 1>", "gemv_wide<half, 2, 16>",
          "gemv_wide_gather<bfloat16_t, 2, 16>"}},
        {"defines.h utils.h steel/utils.h gemv_masked.h",
         {"gemv_masked<float, bool, bool, 2, 1, 4, 8, 1, 4, false>",
          "gemv_t_masked<half, bool, bool, 1, 1, 8, 4, 4, 1, false>"}},
        {"utils.h hadamard.h", {"hadamard_n<float, 512, 16, 4>", "hadamard_n<half, 1024, 16, 4, 2>"}},
        {"utils.h indexing/gather_axis.h", {"gather_axis<float, uint32_t, int, true, false>"}},
        {"utils.h indexing/gather_front.h", {"gather_front<half, int32_t, int, 4>"}},
        {"utils.h indexing/masked_scatter.h", {"masked_assign_impl<float, true>"}},
        {"utils.h atomic.h binary_ops.h reduction/ops.h indexing/scatter.h",
         {"slice_update_op_impl<float, int, Add, true, false, false, 2, 3>"}},
        {"utils.h atomic.h reduction/ops.h indexing/scatter_axis.h",
         {"scatter_axis<float, int32_t, int, Sum<float>, true, false>"}},
        {"utils.h logsumexp.h", {"logsumexp<float>", "logsumexp_looped<bfloat16_t>"}},
        {"utils.h softmax.h",
         {"softmax_single_row<float>", "softmax_looped<half>", "softmax_single_row<half, float>",
          "softmax_looped<bfloat16_t, float>"}},
        {"utils.h atomic.h reduction/ops.h reduce_utils.h reduce.h",
         {"init_reduce<float, Sum<float>>", "all_reduce<float, float, Sum<float>>",
          "all_reduce<bool, bool, And<bool>>", "row_reduce_small<int32_t, int32_t, Max<int32_t>, int, 2>",
          "row_reduce_simple<half, half, Prod<half>>", "row_reduce_looped<float, float, Min<float>, int, 3>",
          "col_reduce_small<float, float, Sum<float>, int, 1>",
          "col_reduce_longcolumn<bfloat16_t, bfloat16_t, Max<bfloat16_t>, int, 2>",
          "col_reduce_looped<float, float, Sum<float>, int, 1, 32, 32>",
          "col_reduce_2pass<float, float, Sum<float>, int, 1, 32, 32>"}},
        {"defines.h utils.h scan.h",
         {"contiguous_scan<float, float, CumSum<float>, 4, true, false>",
          "contiguous_scan<int32_t, int32_t, CumMax<int32_t>, 4, false, true>",
          "strided_scan<half, half, CumProd<half>, 4, true, false>"}},
        {"utils.h sdpa_blocked.h",
         {"sdpa_blocked_scale_copy<bfloat16_t>", "sdpa_blocked_causal_mask<bfloat16_t>"}},
        {"utils.h sdpa_vector.h",
         {"sdpa_vector<float, 64, 64>", "sdpa_vector<bfloat16_t, 128, 128>",
          "sdpa_vector_2pass_1<half, 64, 64>", "sdpa_vector_2pass_1_gqa<float, 64, 64, 8, 4>",
          "sdpa_vector_2pass_2<float, 64>"}},
        {"utils.h sort.h searchsorted.h", {"searchsorted<float, false>", "searchsorted<int32_t, true>"}},
        {"utils.h sort.h",
         {"block_sort<float, float, false, 128, 4>", "block_sort<half, uint32_t, true, 64, 4>",
          "block_sort_nc<int32_t, int32_t, false, 128, 4>", "mb_block_sort<float, uint32_t, true, 512, 4>",
          "mb_block_partition<float, uint32_t, true, 512, 4>",
          "mb_block_merge<float, uint32_t, true, 512, 4>"}},
        {"utils.h steel/attn/kernels/steel_attention.h",
         {"attention<half, 32, 32, 64, 64, 4, 1, bool>", "attention<float, 32, 16, 128, 128, 4, 1, float>"}},
        {"utils.h steel/attn/kernels/steel_attention_nax.h",
         {"attention_nax<half, 64, 32, 64, 64, 4, 1, half>",
          "attention_nax<bfloat16_t, 64, 32, 128, 128, 4, 1, bool>",
          "attention_nax_dsplit<half, 32, 32, 512, 2, 4, half>"}},
        {"utils.h steel/conv/conv.h steel/conv/kernels/steel_conv.h",
         {"implicit_gemm_conv_2d<float, 32, 8, 16, 4, 1, 0, true>",
          "implicit_gemm_conv_2d<half, 64, 32, 16, 2, 2, 0, false>",
          "implicit_gemm_conv_2d<float, 32, 8, 16, 4, 1, 3, false>"}},
        {"utils.h steel/conv/conv.h steel/conv/kernels/steel_conv_3d.h",
         {"implicit_gemm_conv_3d<float, 32, 8, 16, 4, 1, true>"}},
        {"utils.h steel/conv/conv.h steel/conv/kernels/steel_conv_general.h",
         {"implicit_gemm_conv_2d_general<float, 32, 8, 16, 4, 1>"}},
        {"utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_fused.h",
         {"gemm<half, 64, 64, 16, 2, 2, false, false>", "gemm<float, 32, 32, 16, 2, 2, true, true>"}},
        {"utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_fused_nax.h",
         {"gemm<half, 64, 64, 256, 2, 2, false, true>", "gemm<bfloat16_t, 128, 128, 64, 4, 4, true, false>"}},
        {"utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_gather.h",
         {"gather_mm_rhs<half, 16, 64, 16, 1, 2, false, false>",
          "gather_mm<float, 64, 64, 16, 2, 2, false, true>"}},
        {"utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_gather_nax.h",
         {"gather_mm_rhs_nax<half, 16, 128, 128, 1, 4, false, false>"}},
        {"utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_masked.h",
         {"block_masked_gemm<half, bool, bool, 32, 32, 16, 2, 2, false, false, true, false>"}},
        {"utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_segmented.h",
         {"segmented_mm<float, 64, 64, 16, 2, 2, false, true>"}},
        {"utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_segmented_nax.h",
         {"segmented_mm_nax<half, 64, 64, 64, 2, 2, false, false>"}},
        {"utils.h steel/gemm/gemm.h steel/gemm/kernels/steel_gemm_splitk.h",
         {"gemm_splitk<half, float, 16, 16, 16, 2, 2, false, false, true, true>",
          "gemm_splitk_accum<float, bfloat16_t>", "gemm_splitk_accum_axpby<float, half>"}},
        {"utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_splitk_nax.h",
         {"gemm_splitk_nax<half, 64, 64, 256, 2, 2, false, false>"}},
        {"utils.h steel/gemm/gemm_nax.h steel/gemm/kernels/steel_gemm_thin_nax.h",
         {"gemm_thin_nax<half, 2, 2, 1, 1, 4, false>"}},
        {"utils.h ternary_ops.h ternary.h",
         {"ternary_v<float, Select, false, false>", "ternary_v2<half, Select, false, true>",
          "ternary_g_nd1<int32_t, Select, int>", "ternary_g_nd2<float, Select, int>",
          "ternary_g_nd3<float, Select>", "ternary_g<bfloat16_t, Select, 2, int>"}},
        {"utils.h unary_ops.h unary.h",
         {"unary_v<float, float, Exp>", "unary_v<bfloat16_t, bfloat16_t, Tanh>",
          "unary_v<complex64_t, complex64_t, Sin>", "unary_v2<half, half, Erf>",
          "unary_g<float, float, Sqrt, 4, int>"}},
    };
    return groups;
}

}  // namespace

std::vector<SourceEntry> mlx_source_list() {
    std::vector<SourceEntry> list;
    for (const SourceGroup& group : source_groups()) {
        for (const std::string text : group.entries) {
            // The name is that of the template and its arguments: "copy_v_half_bfloat16_t".
            SourceEntry entry{.name = "", .headers = group.headers, .instantiation = ""};
            for (const char c : text) {
                if (std::isalnum(static_cast<unsigned char>(c)))
                    entry.name += c;
                else if (!entry.name.empty() && entry.name.back() != '_')
                    entry.name += '_';
            }
            while (entry.name.back() == '_') entry.name.pop_back();
            if (const size_t open = text.find('<'); open != std::string::npos) {
                entry.instantiation =
                    text.substr(0, open) + ", " + text.substr(open + 1, text.size() - open - 2);
            }
            list.push_back(std::move(entry));
        }
    }
    return list;
}

}  // namespace ingot::metal::conformance
