#include "llm/gguf/split.h"

#include <algorithm>

#include "llm/gguf/value_types.h"

namespace ingot::gguf {
namespace {

// "00012" -> 12; nullopt unless five digits.
std::optional<uint32_t> parse_five_digits(std::string_view text) {
    if (text.size() != 5 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
        return std::nullopt;
    }
    uint32_t number = 0;
    for (const char c : text) number = number * 10 + uint32_t(c - '0');
    return number;
}

Result<std::optional<uint64_t>> optional_uint(const Part& part, std::string_view key) {
    const Value* value = part.find(key);
    if (value == nullptr) return std::nullopt;
    const std::optional<uint64_t> number = as_uint(*value);
    if (!number) {
        return fail(ErrorKind::kCorrupt, "key '{}' is of type {}, an integer from 0 on is accepted", key,
                    type_name(*value));
    }
    return number;
}

}  // namespace

std::string SplitName::path_of(uint32_t part_number) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part_number, count);
}

std::optional<SplitName> parse_split_name(std::string_view path) {
    constexpr std::string_view kExtension = ".gguf", kOf = "-of-";
    constexpr size_t kTail = 1 + 5 + kOf.size() + 5 + kExtension.size();
    if (path.size() < kTail || !path.ends_with(kExtension)) return std::nullopt;
    const std::string_view tail = path.substr(path.size() - kTail);
    const auto number = parse_five_digits(tail.substr(1, 5));
    const auto count = parse_five_digits(tail.substr(6 + kOf.size(), 5));
    if (tail[0] != '-' || tail.substr(6, kOf.size()) != kOf || !number || !count) return std::nullopt;
    return SplitName{std::string(path.substr(0, path.size() - kTail)), *number, *count};
}

Result<SplitKeys> read_split_keys(const Part& part) {
    SplitKeys keys;
    INGOT_ASSIGN(const std::optional<uint64_t> index, optional_uint(part, "split.no"));
    INGOT_ASSIGN(const std::optional<uint64_t> count, optional_uint(part, "split.count"));
    INGOT_ASSIGN(keys.num_tensors, optional_uint(part, "split.tensors.count"));
    keys.index = index.value_or(0);
    keys.count = std::max<uint64_t>(count.value_or(1), 1);
    if (keys.index >= keys.count) {
        return fail(ErrorKind::kCorrupt, "key 'split.no' is {}, below 'split.count' {} is accepted",
                    keys.index, keys.count);
    }
    return keys;
}

}  // namespace ingot::gguf
