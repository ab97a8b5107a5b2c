#include "llm/model/weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/ranges.h>

namespace ingot::model {
namespace {

// Where the numbers that have exponents lie in a block.
struct ScaleRule {
    QuantType type;
    enum Kind : uint8_t { kHalf, kBFloat, kFloat, kE8M0 } kind;
    std::array<uint16_t, 2> offsets_bytes;
    uint8_t count;
};

// clang-format off
constexpr std::array kScaleRules = {
    ScaleRule{QuantType::kF32,    ScaleRule::kFloat,  {0, 0},     1},
    ScaleRule{QuantType::kF16,    ScaleRule::kHalf,   {0, 0},     1},
    ScaleRule{QuantType::kBF16,   ScaleRule::kBFloat, {0, 0},     1},
    ScaleRule{QuantType::kQ4_0,   ScaleRule::kHalf,   {0, 0},     1},
    ScaleRule{QuantType::kQ4_1,   ScaleRule::kHalf,   {0, 2},     2},
    ScaleRule{QuantType::kQ5_0,   ScaleRule::kHalf,   {0, 0},     1},
    ScaleRule{QuantType::kQ5_1,   ScaleRule::kHalf,   {0, 2},     2},
    ScaleRule{QuantType::kQ8_0,   ScaleRule::kHalf,   {0, 0},     1},
    ScaleRule{QuantType::kQ2_K,   ScaleRule::kHalf,   {80, 82},   2},
    ScaleRule{QuantType::kQ3_K,   ScaleRule::kHalf,   {108, 0},   1},
    ScaleRule{QuantType::kQ4_K,   ScaleRule::kHalf,   {0, 2},     2},
    ScaleRule{QuantType::kQ5_K,   ScaleRule::kHalf,   {0, 2},     2},
    ScaleRule{QuantType::kQ6_K,   ScaleRule::kHalf,   {208, 0},   1},
    ScaleRule{QuantType::kIQ4_NL, ScaleRule::kHalf,   {0, 0},     1},
    ScaleRule{QuantType::kMXFP4,  ScaleRule::kE8M0,   {0, 0},     1},
};
// clang-format on

template <typename Bits>
Bits load(const std::byte* at) {
    Bits bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

bool is_finite(ScaleRule::Kind kind, const std::byte* at) {
    switch (kind) {
        case ScaleRule::kHalf:
            return (load<uint16_t>(at) & 0x7C00u) != 0x7C00u;
        case ScaleRule::kBFloat:
            return (load<uint16_t>(at) & 0x7F80u) != 0x7F80u;
        case ScaleRule::kFloat:
            return (load<uint32_t>(at) & 0x7F800000u) != 0x7F800000u;
        case ScaleRule::kE8M0:
            return load<uint8_t>(at) != 0xFFu;
    }
    return false;
}

// Blocks [0, count) of `stride` bytes; the index of the first whose number at `offset` is not finite, or
// count.
template <ScaleRule::Kind kind>
size_t first_bad(const std::byte* at, size_t stride, size_t count) {
    constexpr size_t kRun = 4096;  // no branch within a run: the common case is that nothing is found
    for (size_t begin = 0; begin < count; begin += kRun) {
        const size_t end = std::min(count, begin + kRun);
        bool fine = true;
        for (size_t i = begin; i < end; ++i) fine &= is_finite(kind, at + i * stride);
        if (fine) continue;
        for (size_t i = begin; i < end; ++i) {
            if (!is_finite(kind, at + i * stride)) return i;
        }
    }
    return count;
}

size_t first_bad(ScaleRule::Kind kind, const std::byte* at, size_t stride, size_t count) {
    switch (kind) {
        case ScaleRule::kHalf:
            return first_bad<ScaleRule::kHalf>(at, stride, count);
        case ScaleRule::kBFloat:
            return first_bad<ScaleRule::kBFloat>(at, stride, count);
        case ScaleRule::kFloat:
            return first_bad<ScaleRule::kFloat>(at, stride, count);
        case ScaleRule::kE8M0:
            return first_bad<ScaleRule::kE8M0>(at, stride, count);
    }
    return 0;
}

std::string shape_text(std::span<const uint64_t> shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The file's tensor as a weight, or why it is refused.
Result<graph::Weight> checked_weight(const gguf::TensorInfo& tensor, const TensorRule& rule,
                                     const HyperParams& hyper, bool look_for_nans) {
    const uint32_t rows = extent(rule.rows, hyper), cols = extent(rule.cols, hyper);
    const bool vector = rule.rows == Extent::kOne;
    const std::vector<uint64_t> expected =
        vector ? std::vector<uint64_t>{cols} : std::vector<uint64_t>{cols, rows};
    if (!std::ranges::equal(tensor.shape, expected)) {
        return fail(ErrorKind::kUnsupported, "tensor '{}' has the shape {}; {} is accepted", tensor.name,
                    shape_text(tensor.shape), shape_text(expected));
    }
    const QuantTraits& type = traits(tensor.type);
    if (vector && tensor.type != QuantType::kF32) {
        return fail(ErrorKind::kUnsupported, "tensor '{}' is {}; a vector is accepted as F32", tensor.name,
                    type.name);
    }
    if (look_for_nans) INGOT_TRY(check_finite(tensor));
    return graph::Weight{std::string(tensor.name), tensor.type, rows, cols, tensor.data};
}

class Loader {
  public:
    Loader(const gguf::File& file, const HyperParams& hyper, const LoadOptions& options)
        : file_(file), hyper_(hyper), options_(options) {
        for (const gguf::TensorInfo& tensor : file.tensors()) total_bytes_ += tensor.data.size();
    }

    Result<void> load(std::span<const TensorRule> rules) {
        for (const TensorRule& rule : rules) {
            const size_t star = rule.name.find('*');
            if (star == rule.name.npos) {
                INGOT_TRY(load(rule, std::string(rule.name)));
                continue;
            }
            for (uint32_t layer = 0; layer < hyper_.layers; ++layer) {
                INGOT_TRY(load(rule, fmt::format("{}{}{}", rule.name.substr(0, star), layer,
                                                 rule.name.substr(star + 1))));
            }
        }
        return {};
    }

    Result<std::shared_ptr<const graph::WeightTable>> finish(std::string_view architecture) {
        for (const gguf::TensorInfo& tensor : file_.tensors()) {
            if (table_->find(tensor.name).valid()) continue;
            return fail(
                ErrorKind::kUnsupported,
                "{}: tensor '{}' is not one that architecture '{}' with {} layers has; leaving it out would "
                "change the results",
                file_.path(), tensor.name, architecture, hyper_.layers);
        }
        return std::shared_ptr<const graph::WeightTable>(std::move(table_));
    }

  private:
    Result<void> load(const TensorRule& rule, const std::string& name) {
        const gguf::TensorInfo* tensor = file_.find_tensor(name);
        if (!tensor && rule.optional) return {};
        if (!tensor) return fail(ErrorKind::kNotFound, "{}: tensor '{}' is missing", file_.path(), name);
        Result<graph::Weight> weight = checked_weight(*tensor, rule, hyper_, options_.look_for_nans);
        if (!weight) return Failure(with_context(weight.error(), file_.path()));
        file_.release(tensor->data);  // looked through once; whoever needs it next reads it then
        done_bytes_ += weight->data.size();
        INGOT_TRY(table_->add(*std::move(weight)));
        if (options_.progress && !options_.progress(done_bytes_, total_bytes_)) {
            return fail(ErrorKind::kCancelled, "loading was cancelled");
        }
        return {};
    }

    const gguf::File& file_;
    const HyperParams& hyper_;
    const LoadOptions& options_;
    uint64_t done_bytes_ = 0, total_bytes_ = 0;
    std::shared_ptr<graph::WeightTable> table_ = std::make_shared<graph::WeightTable>();
};

}  // namespace

Result<void> check_finite(const gguf::TensorInfo& tensor) {
    const auto rule = std::ranges::find(kScaleRules, tensor.type, &ScaleRule::type);
    const QuantTraits& type = traits(tensor.type);
    if (rule == kScaleRules.end()) {
        return fail(ErrorKind::kUnsupported, "tensor '{}' has the type {}, which models can't use",
                    tensor.name, type.name);
    }
    const size_t blocks = tensor.data.size() / type.block_size_bytes;
    for (uint8_t i = 0; i < rule->count; ++i) {
        const size_t bad =
            first_bad(rule->kind, tensor.data.data() + rule->offsets_bytes[i], type.block_size_bytes, blocks);
        if (bad == blocks) continue;
        return fail(ErrorKind::kCorrupt, "tensor '{}' ({}) holds a NaN or an infinity at element {}",
                    tensor.name, type.name, bad * type.block_size);
    }
    return {};
}

Result<std::shared_ptr<const graph::WeightTable>> load_weights(const gguf::File& file,
                                                               const Architecture& architecture,
                                                               const HyperParams& hyper,
                                                               const LoadOptions& options) {
    Loader loader(file, hyper, options);
    INGOT_TRY(loader.load(common_tensors()));
    INGOT_TRY(loader.load(architecture.tensors));
    return loader.finish(architecture.name);
}

}  // namespace ingot::model
