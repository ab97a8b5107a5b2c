#include "llm/gguf/quantize_plan.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/quoted.h"

namespace ingot::gguf {
namespace {

struct TypeRow {
    QuantType type;
    QuantType
        for_odd_rows;  // for rows that aren't whole blocks; F16 if they aren't whole blocks of this either
};

constexpr TypeRow kTypeRows[] = {
    {QuantType::kF32, QuantType::kF32},   {QuantType::kF16, QuantType::kF16},
    {QuantType::kBF16, QuantType::kBF16}, {QuantType::kQ4_0, QuantType::kF16},
    {QuantType::kQ4_1, QuantType::kF16},  {QuantType::kQ5_0, QuantType::kF16},
    {QuantType::kQ5_1, QuantType::kF16},  {QuantType::kQ8_0, QuantType::kF16},
    {QuantType::kQ2_K, QuantType::kQ4_0}, {QuantType::kQ3_K, QuantType::kQ4_0},
    {QuantType::kQ4_K, QuantType::kQ5_0}, {QuantType::kQ5_K, QuantType::kQ5_1},
    {QuantType::kQ6_K, QuantType::kQ8_0}, {QuantType::kIQ4_NL, QuantType::kF16},
    {QuantType::kMXFP4, QuantType::kF16},
};

const TypeRow& row_of(QuantType type) {
    const auto row = std::ranges::find(kTypeRows, type, &TypeRow::type);
    INGOT_CHECK(row != std::end(kTypeRows), "no plan for type {}", traits(type).name);
    return *row;
}

// Parts of the names of matrices that keep their type: small, or sensitive to rounding.
constexpr std::string_view kKeptParts[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",  // expert routing
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",  // short convolutions
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",  // relative positions
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};
constexpr std::string_view kKeptNames[] = {"position_embd.weight", "token_types.weight"};

bool is_matrix(const TensorInfo& tensor) {
    return std::ranges::any_of(tensor.shape.begin() + std::min<size_t>(1, tensor.shape.size()),
                               tensor.shape.end(), [](uint64_t extent) { return extent > 1; });
}

bool is_quantized_by_name(std::string_view name) {
    const auto contained = [&](std::string_view part) { return name.find(part) != name.npos; };
    return name.ends_with("weight") && std::ranges::find(kKeptNames, name) == std::end(kKeptNames) &&
           std::ranges::none_of(kKeptParts, contained);
}

QuantType type_for_rows(QuantType type, uint64_t row_length) {
    const auto divides = [&](QuantType candidate) { return row_length % traits(candidate).block_size == 0; };
    if (divides(type)) return type;
    const QuantType other = row_of(type).for_odd_rows;
    return divides(other) ? other : QuantType::kF16;
}

// -1 outside a layer.
int64_t layer_of(std::string_view name) {
    constexpr std::string_view kPrefix = "blk.";
    uint32_t layer = 0;
    if (!name.starts_with(kPrefix)) return -1;
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
    return parsed.ec == std::errc() ? int64_t(layer) : -1;
}

}  // namespace

Result<std::vector<PlannedTensor>> plan_quantization(const File& file, QuantType type) {
    std::vector<PlannedTensor> plan;
    for (const TensorInfo& tensor : file.tensors()) {
        if (!is_matrix(tensor) || !is_quantized_by_name(tensor.name)) {
            plan.push_back({&tensor, tensor.type, false});
            continue;
        }
        const QuantType target = type_for_rows(type, tensor.row_length());
        // Decoding to F32 loses nothing; another type would compound the rounding of both.
        if (traits(tensor.type).block_size != 1 && tensor.type != target && target != QuantType::kF32) {
            return fail(
                ErrorKind::kUnsupported,
                "{}: tensor {} is {} already, F32, F16 and BF16 can be quantized, and anything decoded "
                "to F32",
                file.path(), quoted(tensor.name), traits(tensor.type).name);
        }
        plan.push_back({&tensor, target, target != type});
    }
    std::ranges::sort(plan, {}, [](const PlannedTensor& planned) {
        return std::pair(layer_of(planned.source->name), planned.source->name);
    });
    return plan;
}

}  // namespace ingot::gguf
