#include "llm/model/architecture.h"

#include <array>

#include "base/quoted.h"
#include "llm/model/gemma3/gemma3.h"
#include "llm/model/llama/llama.h"
#include "llm/model/qwen2/qwen2.h"
#include "llm/model/qwen3/qwen3.h"

namespace ingot::model {
namespace {

using graph::RopeStyle;

// clang-format off
constexpr std::array kArchitectures = {
    //            name      rope                     tensors           keys          graph
    Architecture{"llama",  RopeStyle::kInterleaved, llama::kTensors,  nullptr,      llama::build},
    Architecture{"qwen2",  RopeStyle::kNeox,        qwen2::kTensors,  nullptr,      qwen2::build},
    Architecture{"qwen3",  RopeStyle::kNeox,        qwen3::kTensors,  nullptr,      qwen3::build},
    Architecture{"gemma3", RopeStyle::kNeox,        gemma3::kTensors, gemma3::read, gemma3::build},
};

constexpr std::array kCommonTensors = {
    TensorRule{"token_embd.weight",          Extent::kVocab,    Extent::kWidth},
    TensorRule{"output_norm.weight",         Extent::kOne,      Extent::kWidth},
    TensorRule{"output.weight",              Extent::kVocab,    Extent::kWidth, true},  // else the embedding is used
    TensorRule{"blk.*.attn_norm.weight",     Extent::kOne,      Extent::kWidth},
    TensorRule{"blk.*.attn_q.weight",        Extent::kQuery,    Extent::kWidth},
    TensorRule{"blk.*.attn_k.weight",        Extent::kKeyValue, Extent::kWidth},
    TensorRule{"blk.*.attn_v.weight",        Extent::kKeyValue, Extent::kWidth},
    TensorRule{"blk.*.attn_output.weight",   Extent::kWidth,    Extent::kQuery},
    TensorRule{"blk.*.ffn_norm.weight",      Extent::kOne,      Extent::kWidth},
    TensorRule{"blk.*.ffn_gate.weight",      Extent::kFfn,      Extent::kWidth},
    TensorRule{"blk.*.ffn_up.weight",        Extent::kFfn,      Extent::kWidth},
    TensorRule{"blk.*.ffn_down.weight",      Extent::kWidth,    Extent::kFfn},
};
// clang-format on

}  // namespace

std::span<const Architecture> all_architectures() {
    return kArchitectures;
}
std::span<const TensorRule> common_tensors() {
    return kCommonTensors;
}

Result<const Architecture*> find_architecture(std::string_view name) {
    std::string known;
    for (const Architecture& row : kArchitectures) {
        if (row.name == name) return &row;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    return fail(ErrorKind::kUnsupported, "architecture {} is unknown; {} are accepted", quoted(name), known);
}

uint32_t extent(Extent extent, const HyperParams& hyper) {
    switch (extent) {
        case Extent::kOne:
            return 1;
        case Extent::kVocab:
            return hyper.vocab;
        case Extent::kWidth:
            return hyper.width;
        case Extent::kFfn:
            return hyper.ffn;
        case Extent::kQuery:
            return hyper.query_width();
        case Extent::kKeyValue:
            return hyper.kv_width();
        case Extent::kHeadDim:
            return hyper.head_dim;
        case Extent::kRopePairs:
            return hyper.rope.dims / 2;
    }
    return 0;
}

}  // namespace ingot::model
