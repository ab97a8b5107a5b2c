// GraphParams: everything that the topology of a graph may depend on, and so the key under which a built
// graph is reused. Positions are deliberately not in it: they are input data, which is why every decode step
// runs one graph.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "llm/kv/format.h"

namespace ingot::graph {

// How an attention node learns which cells each query row may read; it shows in the size of its `window`
// input.
enum class WindowMode : uint8_t {
    kCausal,  // one sequence whose cells start at 0: a row reads cells [0, position]; input `positions`
              // [tokens]
    kSpan,    // one run of cells a row: input `span` [2 * tokens], first all lo, then all hi (exclusive)
    kMap,     // up to kMaxMapRuns runs a row: input `map` [tokens * kMaxMapRuns * 2] of (cell, length), 0 =
              // unused
};

inline constexpr uint32_t kMaxMapRuns = 4;

struct FuseFlags {
    bool glu = true;  // Mul(Silu(x), y) -> SwiGLU, Mul(Gelu(x), y) -> GeGLU
    bool qkv = true;  // three projections, head norms, RoPE and the KV store -> FusedQKV, FusedQkvNorm
    bool ffn = true;  // gate and up projections with their GLU -> FusedFFN
    auto operator<=>(const FuseFlags&) const = default;
};

inline constexpr std::array<std::string_view, 3> kFuseFlagNames = {"glu", "qkv", "ffn"};
inline constexpr std::array<bool FuseFlags::*, 3> kFuseFlags = {&FuseFlags::glu, &FuseFlags::qkv,
                                                                &FuseFlags::ffn};

struct GraphParams {
    uint32_t tokens = 1;
    uint32_t sequences = 1;
    uint32_t outputs = 1;  // rows whose logits are wanted; 0: the graph only fills the KV cache
    kv::Format kv_format = kv::Format::kF16;
    WindowMode window = WindowMode::kCausal;
    FuseFlags fuse = {};
    auto operator<=>(const GraphParams&) const = default;
};

}  // namespace ingot::graph
