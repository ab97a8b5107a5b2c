// Every kernel of the backend: one row a family, and the storage types that typed families come in. Names,
// sources, threadgroup sizes, the pipelines that can be made and the sweep of the tests derive from it. The
// kernels are Metal source (kernels/*.metal), part of the program as text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/kv/format.h"
#include "llm/quant/quant.h"

namespace ingot::mtl {

// What a family's kernels differ in.
enum class Typed : uint8_t { kNo, kWeight, kKv };

// X(Family, function name (less _TYPE), source file, typed by, threads per threadgroup, is the head size a
//   constant?, one line of documentation)
// clang-format off
#define INGOT_METAL_KERNELS(X)                                                                                            \
    X(MatMulOne,       "mat_mul_one",       "mat_mul",     kWeight, 64,  false, "One token: 8 rows a group, 4 a simdgroup")    \
    X(MatMulMulti,     "mat_mul_multi",     "mat_mul",     kWeight, 64,  false, "Several tokens: 4 rows by 4 tokens a group")  \
    X(MatMulTile,      "mat_mul_tile",      "mat_mul_tile", kWeight, 128, false, "Prompts: 64 rows by 32 tokens a group, on the matrix units") \
    X(QkvOne,          "qkv_one",           "mat_mul",     kWeight, 64,  false, "Three products of one token in one grid")     \
    X(FfnOne,          "ffn_one",           "mat_mul",     kWeight, 64,  false, "Gate, up and their activation for one token") \
    X(GetRows,         "get_rows",          "elementwise", kWeight, 128, false, "Decodes rows by index")                       \
    X(Add,             "add",               "elementwise", kNo,     256, false, "a + b")                                       \
    X(Mul,             "mul",               "elementwise", kNo,     256, false, "a * b")                                       \
    X(SwiGLU,          "swiglu",            "elementwise", kNo,     256, false, "silu(a) * b")                                 \
    X(GeGLU,           "geglu",             "elementwise", kNo,     256, false, "gelu(a) * b")                                 \
    X(Silu,            "silu",              "elementwise", kNo,     256, false, "x / (1 + exp(-x))")                           \
    X(Gelu,            "gelu",              "elementwise", kNo,     256, false, "tanh form")                                   \
    X(Scale,           "scale",             "elementwise", kNo,     256, false, "x * factor")                                  \
    X(Permute,         "permute",           "elementwise", kNo,     128, false, "Dimensions in another order")                 \
    X(RmsNorm,         "rms_norm",          "rows",        kNo,     32,  false, "A simdgroup a row: narrow rows, heads")       \
    X(RmsNormWide,     "rms_norm_wide",     "rows",        kNo,     256, false, "Eight simdgroups a row")                      \
    X(Softmax,         "softmax",           "rows",        kNo,     256, false, "Over a row")                                  \
    X(Rope,            "rope",              "kv",          kNo,     64,  false, "Rotates heads, both styles")                  \
    X(KvStore,         "kv_store",          "kv",          kKv,     128, false, "Rows of K and V into their cells")            \
    X(AttnDecode,      "attention_decode",  "attention",   kKv,     128, true,  "Online softmax, cells shared by four simdgroups and up to 16 groups") \
    X(AttnClassic,     "attention_classic", "attention",   kKv,     32,  true,  "Online softmax, a simdgroup a head and token") \
    X(AttnTile,        "attention_tile",    "attention_tile", kKv, 128,  true,  "Online softmax, 8 tokens by 64 cells a simdgroup, on the matrix units") \
    X(AttnCombine,     "attention_combine", "attention",   kNo,     64,  true,  "Joins what groups of AttnDecode found") \
    X(AttnScores,      "attention_scores",  "attention_passes", kKv, 32, true,  "First of three passes: 32 scores a simdgroup") \
    X(AttnWeights,     "attention_weights", "attention_passes", kNo, 32, true,  "Second: their softmax, a simdgroup a head and token") \
    X(AttnSums,        "attention_sums",    "attention_passes", kKv, 32, true,  "Third: weighted sums of values, a simdgroup a head and token")
// clang-format on

enum class Family : uint8_t {
#define X(name, ...) k##name,
    INGOT_METAL_KERNELS(X)
#undef X
};

struct FamilyTraits {
    Family family;
    std::string_view name;
    std::string_view source;
    Typed typed;
    uint32_t threads;
    bool head_sized;
    std::string_view doc;
};

inline constexpr std::array kFamilies = {
#define X(family, text, source, typed, threads, head_sized, doc) \
    FamilyTraits{Family::k##family, text, source, Typed::typed, threads, head_sized, doc},
    INGOT_METAL_KERNELS(X)
#undef X
};
constexpr const FamilyTraits& traits(Family family) {
    return kFamilies[size_t(family)];
}

// Types that weights may be stored in, with the elements that a row must be a multiple of.
struct WeightFormat {
    QuantType type;
    std::string_view name;  // in function names
    uint32_t row_multiple;
    uint32_t unit;             // elements that a thread decodes at once (Format::kVectors vectors)
    uint32_t alignment_bytes;  // of the first row; a row is a multiple of the loads in formats.metal
};
inline constexpr std::array kWeightFormats = {
    WeightFormat{QuantType::kF32, "f32", 4, 4, 16},     WeightFormat{QuantType::kF16, "f16", 4, 4, 16},
    WeightFormat{QuantType::kBF16, "bf16", 4, 4, 16},   WeightFormat{QuantType::kQ4_0, "q4_0", 32, 4, 2},
    WeightFormat{QuantType::kQ4_1, "q4_1", 32, 4, 2},   WeightFormat{QuantType::kQ5_0, "q5_0", 32, 4, 2},
    WeightFormat{QuantType::kQ5_1, "q5_1", 32, 4, 2},   WeightFormat{QuantType::kQ8_0, "q8_0", 32, 4, 2},
    WeightFormat{QuantType::kQ4_K, "q4_k", 256, 16, 2}, WeightFormat{QuantType::kQ5_K, "q5_k", 256, 16, 2},
    WeightFormat{QuantType::kQ6_K, "q6_k", 256, 16, 2},
};
// nullptr: no kernel reads the type.
const WeightFormat* weight_format(QuantType type);

// One kernel: a family and, for a typed one, the type; for a head-sized one the head size; for those that
// take several heads together how many.
struct KernelId {
    Family family;
    std::string_view type = {};  // as function names spell it
    uint32_t head_dim = 0;
    uint32_t heads = 0;
    auto operator<=>(const KernelId&) const = default;

    std::string function() const;  // "mat_mul_one_q4_0"
    // Made by the tile compiler (generated.h): tiles of products with weights of floats.
    bool is_generated() const;
    std::string source() const;  // a name for full_source(): of a file, or of a generated kernel its own
};
// All of them, head sizes left out.
std::vector<KernelId> all_kernels();

struct KernelSource {
    std::string_view name;  // "mat_mul"
    std::string_view text;
};
std::span<const KernelSource> kernel_sources();
// The text of a file. Aborts if there is none.
std::string_view source_named(std::string_view name);
// A source as the device gets it: a file with what all of them start with in front, or what the tile compiler
// made.
std::string full_source(std::string_view name);

}  // namespace ingot::mtl
