#include "llm/backend/metal/kernel_options.h"

#include <algorithm>

namespace ingot::mtl {

namespace {

// Tokens from which a tile of 8 is worth its staging.
constexpr uint32_t kTileFromTokens = 8;

}  // namespace

std::span<const OptionTraits> kernel_options() {
    static const OptionTraits table[] = {
#define X(option, member, name, values, names, doc)                                          \
    OptionTraits{name, {INGOT_UNPACK names}, doc, [](KernelOptions& options, size_t value) { \
                     options.member = option##Choice(value);                                 \
                 }},
        INGOT_METAL_OPTIONS(X)
#undef X
    };
    return table;
}

Result<void> set_kernel_option(KernelOptions& options, std::string_view setting) {
    const size_t equals = setting.find('=');
    const std::string_view name = setting.substr(0, equals);
    const auto option = std::ranges::find(kernel_options(), name, &OptionTraits::name);
    if (option == kernel_options().end() || equals == std::string_view::npos) {
        std::string known;
        for (const OptionTraits& row : kernel_options())
            known += fmt::format("{}{}={}", known.empty() ? "" : ", ", row.name, fmt::join(row.values, "|"));
        return fail(ErrorKind::kInvalidArgument, "'{}' sets nothing; {} are accepted", setting, known);
    }
    const std::string_view value = setting.substr(equals + 1);
    const auto found = std::ranges::find(option->values, value);
    if (found == option->values.end()) {
        return fail(ErrorKind::kInvalidArgument, "{} is '{}'; {} are accepted", name, value,
                    fmt::join(option->values, ", "));
    }
    option->set(options, size_t(found - option->values.begin()));
    return {};
}

Result<KernelOptions> parse_kernel_options(const std::vector<std::string>& settings) {
    KernelOptions options;
    for (const std::string& setting : settings) INGOT_TRY(set_kernel_option(options, setting));
    return options;
}

AttentionRoute attention_route(uint32_t tokens, const KernelOptions& options) {
    if (tokens == 1) {
        switch (options.attn_decode) {
            case AttnDecodeChoice::kFlash:
            case AttnDecodeChoice::kSplit:
                return AttentionRoute::kDecode;
            case AttnDecodeChoice::kClassic:
                return AttentionRoute::kClassic;
            case AttnDecodeChoice::kTile:
                return AttentionRoute::kTile;
        }
    }
    switch (options.attn_prefill) {
        case AttnPrefillChoice::kAuto:
            return tokens >= kTileFromTokens ? AttentionRoute::kTile : AttentionRoute::kClassic;
        case AttnPrefillChoice::kFlash:
            return AttentionRoute::kTile;
        case AttnPrefillChoice::kClassic:
            return AttentionRoute::kClassic;
        case AttnPrefillChoice::kParallel:
            break;
    }
    return AttentionRoute::kPasses;
}

}  // namespace ingot::mtl
