// Matrix products as programs, from a row of options: staged through shared tiles, or one product of regions.
#pragma once

#include "tile/library.h"

namespace ingot::tile::testing {

struct GemmSpec {
    std::string name;
    int64_t M = 128, N = 128, K = 128;
    int tile_m = 64, tile_n = 64, tile_k = 32;
    int threads = 128;
    DType type = DType::kF16, accumulator = DType::kF32, out = DType::kF32;
    std::string c = "fragment";  // where the sum lives: fragment, shared, or global (one product of regions)
    bool metal4 = false, trans_a = false, trans_b = false;
    int stages = 0;
    std::string epilogue = "none";  // relu, bias_relu
    std::string policy = "square", swizzle = "none";
    bool via_shared = false;  // fragment -> shared tile -> epilogue there -> tensor
    bool sync = false;        // with via_shared: barriers of the author's around the copy
    bool dynamic = false;     // M, N and K are dims
    int64_t pad = 0;          // of each row of A, B and C
    int64_t inner = 1;        // stride between neighbours of a row
    int64_t offset = 0;       // of the first element
};

inline void PrintTo(const GemmSpec& g, std::ostream* out) {
    *out << g.name;
}

std::string gemm_text(const GemmSpec& g);
Kernel gemm_kernel(const GemmSpec& g);
Arguments gemm_arguments(const GemmSpec& g);
// By loops, C's padding left at 0.
std::vector<double> gemm_reference(const GemmSpec& g, const Arguments& x);
// By the table of types and K in gemm_program.cpp.
double gemm_tolerance(const GemmSpec& g);

// The products among the programs of the peer that the compiler is compared with.
std::vector<GemmSpec> peer_gemms();

}  // namespace ingot::tile::testing
