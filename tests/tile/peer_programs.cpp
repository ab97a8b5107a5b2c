#include "tile/peer_programs.h"

#include <algorithm>

#include "tile/peer_makers.h"

namespace ingot::tile::testing {
namespace {

constexpr std::string_view kPeerNames[] = {"gemm_f16_64x64x32_t128",
                                           "gemm_f16_128x64x32_t128",
                                           "gemm_f16_32x32x32_t64",
                                           "gemm_f16_64x128x64_t256",
                                           "gemm_bf16_64x64x32_t128",
                                           "gemm_f32_64x64x32_t128",
                                           "gemm_f16_outf16_64x64x32_t128",
                                           "gemm_f16_accf16_64x64x32_t128",
                                           "gemm_f16_nt_64x64x32_t128",
                                           "gemm_f16_tn_64x64x32_t128",
                                           "gemm_f16_stages2_64x64x32_t128",
                                           "gemm_f16_stages3_64x64x32_t128",
                                           "gemm_f16_relu_64x64x32_t128",
                                           "gemm_f16_biasrelu_64x64x32_t128",
                                           "gemm_f16_cshared_biasrelu_64x64x32_t128",
                                           "gemm_f16_cshared_64x64x32_t128",
                                           "gemm_f16_cshared_outf16_64x64x32_t128",
                                           "gemm_f16_fullrow_64x64x32_t128",
                                           "gemm_f16_fullcol_64x64x32_t128",
                                           "gemm_f16_edge_100x72x40",
                                           "gemm_f16_edge_cshared_100x72x40",
                                           "gemm_f16_edge_k_128x128x40",
                                           "gemm_f16_viashared_64x64x32_t128",
                                           "gemm_f16_viashared_biasrelu_64x64x32_t128",
                                           "gemm_f16_edge_viashared_100x72x40",
                                           "gemm_f16_viashared_sync_biasrelu_64x64x32_t128",
                                           "gemm_f16_edge_viashared_sync_100x72x40",
                                           "gemm_f16_edge_odd_sync_33x35x37",
                                           "gemm_f16_kstep12_64x64x48",
                                           "gemm_f16_swizzled_a_64x64x32_t128",
                                           "gemm_f16_edge_odd_33x35x37",
                                           "gemm_f16_t64_of_16x16x16",
                                           "gemm_f16_40x40x24_t128",
                                           "gemm_i8_64x64x32_novector",
                                           "gemm_i8_64x64x32_t128",
                                           "gemm_fp8_64x64x32_t128",
                                           "mpp_direct_f16_64x128_t128",
                                           "mpp_direct_f16_outf16_64x128_t128",
                                           "mpp_direct_bf16_64x128_t128",
                                           "mpp_direct_f32_64x128_t128",
                                           "mpp_direct_f16_64x128_t256",
                                           "mpp_direct_f16_nt_64x128_t128",
                                           "mpp_direct_f16_nt_square_64x64_t128",
                                           "mpp_direct_f16_mlx_64x128_t128",
                                           "mpp_direct_f16_row_64x128_t128",
                                           "mpp_direct_f16_edge_100x72x48",
                                           "mpp_direct_f16_edge_k_128x128x40",
                                           "mpp_cshared_f16_64x64x32_t128",
                                           "mpp_cshared_f16_nt_64x64x32_t128",
                                           "mpp_cshared_bf16_64x64x32_t128",
                                           "mpp_cshared_f16_edge_100x72x40",
                                           "mpp_cshared_static_f16_64x64x32_t128",
                                           "mpp_cshared_static_f16_64x64x64_t128",
                                           "mpp_cshared_static_f16_nt_64x64x32_t128",
                                           "mpp_cshared_static_bf16_64x64x32_t128",
                                           "mpp_cshared_static_biasrelu_64x64x32_t128",
                                           "mpp_cshared_static_edge_100x72x40",
                                           "mpp_direct_f16_32x32_t32",
                                           "mpp_direct_f16_128x128_t128",
                                           "metal4_cfragment_f16_64x64x32_t128",
                                           "direct_f16_64x128_t128_without_metal4",
                                           "add_100x72",
                                           "rms_norm",
                                           "softmax_serial",
                                           "gemm_int4",
                                           "gemm_int4_novector",
                                           "gemm_scalar_f32",
                                           "gemm_dynamic_m",
                                           "flash_attention",
                                           "attention_shared",
                                           "attention_shared_t32",
                                           "attention_shared_metal4",
                                           "histogram_int32",
                                           "transpose_f16"};

}  // namespace

std::vector<PeerCase> peer_cases() {
    using namespace peer;
    return {{"add_100x72", sum_of_two},
            {"rms_norm", root_mean_square},
            {"softmax_serial", softmax_by_loops},
            {"gemm_int4", [] { return packed_int4("gemm_int4"); }},
            {"gemm_int4_novector", [] { return packed_int4("gemm_int4_novector"); }},
            {"gemm_fp8_64x64x32_t128", eight_bit_floats},
            {"gemm_scalar_f32", product_by_elements},
            {"flash_attention", flash_attention},
            {"attention_shared", [] { return attention_in_shared_memory("attention_shared", 128, false); }},
            {"attention_shared_t32",
             [] { return attention_in_shared_memory("attention_shared_t32", 32, false); }},
            {"attention_shared_metal4",
             [] { return attention_in_shared_memory("attention_shared_metal4", 128, true); }},
            {"histogram_int32", counts_in_bins},
            {"transpose_f16", transposed},
            {"float_atomics", float_atomics},
            {"reductions", reductions},
            {"preloaded_accumulator", preloaded_accumulator},
            {"batched_outputs", batched_outputs},
            {"threads_that_are_no_multiple_of_32", part_of_a_simdgroup},
            {"tiles_that_take_turns", tiles_that_take_turns},
            {"simdgroup_shuffles", simdgroup_shuffles}};
}

PeerProgram peer_program(std::string_view name) {
    const std::vector<PeerCase> cases = peer_cases();
    const auto found = std::ranges::find(cases, name, &PeerCase::name);
    EXPECT_NE(found, cases.end()) << name;
    return found->make();
}

std::span<const std::string_view> peer_names() {
    return kPeerNames;
}

}  // namespace ingot::tile::testing
