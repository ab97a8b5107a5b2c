// What users may choose about the Metal backend's kernels (`--set NAME=VALUE`): one table row an option;
// enum, names, help and parsing derive from it. And attention_route(), which says how an attention node is
// computed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/kv/format.h"

namespace ingot::mtl {

// X(option, member, name, value names; the first is the default, documentation)
// clang-format off
#define INGOT_METAL_OPTIONS(X)                                                                                   \
    X(AttnDecode,  attn_decode,  "attn.decode",   (kFlash, kSplit, kClassic, kTile), ("flash", "split", "classic", "tile"),        \
      "Attention of one token: groups share long caches, always share them, a simdgroup a head, or the prompts' tiles") \
    X(AttnChunks,  attn_chunks,  "attn.chunks",  (kAuto, k1, k2, k4, k8, k16), ("auto", "1", "2", "4", "8", "16"),                \
      "Groups that share one token's cells under flash and split: by their number, or so many")                  \
    X(AttnPrefill, attn_prefill, "attn.prefill", (kAuto, kFlash, kClassic, kParallel), ("auto", "flash", "classic", "parallel"),  \
      "Attention of several tokens: flash from 8 tokens on, tiles on the matrix units, a simdgroup a head and token, or scores in memory") \
    X(MatMul,      mat_mul,      "mat_mul",      (kAuto, kTile, kMulti), ("auto", "tile", "multi"),                               \
      "Products of several tokens: by their size, tiles on the matrix units, or dot products")                   \
    X(Weights,     weights,      "weights",      (kMapped, kCopied), ("mapped", "copied"),                                       \
      "Use weights where the file is mapped, or copy them")
// clang-format on

#define INGOT_UNPACK(...) __VA_ARGS__
#define X(option, member, name, values, names, doc) enum class option##Choice : uint8_t{INGOT_UNPACK values};
INGOT_METAL_OPTIONS(X)
#undef X

struct KernelOptions {
    AttnDecodeChoice attn_decode = {};
    AttnChunksChoice attn_chunks = {};
    AttnPrefillChoice attn_prefill = {};
    MatMulChoice mat_mul = {};
    WeightsChoice weights = {};
};

struct OptionTraits {
    std::string_view name;
    std::vector<std::string_view> values;  // by the enum's number
    std::string_view doc;
    void (*set)(KernelOptions&, size_t value);
};
std::span<const OptionTraits> kernel_options();

// Reads "NAME=VALUE"; the Error lists what is accepted.
Result<void> set_kernel_option(KernelOptions& options, std::string_view setting);
Result<KernelOptions> parse_kernel_options(const std::vector<std::string>& settings);

enum class AttentionRoute : uint8_t {
    kDecode,   // groups of four simdgroups share the cells
    kClassic,  // a simdgroup a head and token
    kTile,     // tiles on the matrix units
    kPasses,   // scores, weights and sums one after the other, through memory
};
AttentionRoute attention_route(uint32_t tokens, const KernelOptions& options);

}  // namespace ingot::mtl
