// The instruction sets that have kernels here, which of them this machine can run, and the choice between
// them. Each ISA has one table of kernels (kernel_table.h).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::cpu {

enum class Isa {
    kPlain,       // portable C++, float arithmetic on dequantized weights: the reference
    kAvx2,        // AVX2, FMA, F16C
    kAvxVnni,     // AVX2 and the byte products of AVX-VNNI
    kAvx512Vnni,  // AVX-512 F/BW/DQ/VL and VNNI
    kNeonDot,     // Armv8.2 dot product
};

// As users write it: "plain", "avx2", "avx-vnni", "avx512-vnni", "neon-dotprod".
std::string_view to_string(Isa isa);

// Those that this build has kernels for and this machine can run, best last; kPlain is always first.
std::vector<Isa> available_isas();

// The best available one, or the one that the environment variable INGOT_ISA names ("avx512vnni" is
// accepted for "avx512-vnni"). kInvalidArgument for an unknown name, kUnsupported for one that isn't
// available.
Result<Isa> choose_isa();
Result<Isa> choose_isa(std::string_view name);

}  // namespace ingot::cpu
