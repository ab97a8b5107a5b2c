#include "metal/check/layouts.h"

#include <algorithm>

namespace ingot::metal::check {
namespace {

struct NamedLayout {
    CooperativeLayout layout;
    const char* name;
};
constexpr NamedLayout kLayouts[] = {{CooperativeLayout::kNax, "nax"},
                                    {CooperativeLayout::kRowMajor, "rowmajor"},
                                    {CooperativeLayout::kScrambled, "scrambled"}};

bool has_tensor_operations(const Kernel& kernel) {
    return std::ranges::any_of(kernel.instrumentation.sites,
                               [](const Site& site) { return site.kind == SiteKind::kTensorOperation; });
}

// The first byte that differs.
std::optional<std::pair<uint32_t, size_t>> difference(const BuffersAfter& a, const BuffersAfter& b) {
    for (const auto& [slot, bytes] : a) {
        const std::vector<std::byte>& others = b.at(slot);
        const auto [at, other] = std::ranges::mismatch(bytes, others);
        if (at != bytes.end()) return std::pair(slot, size_t(at - bytes.begin()));
    }
    return std::nullopt;
}

}  // namespace

Result<std::optional<Finding>> compare_layouts(
    const Kernel& kernel, const std::function<Result<BuffersAfter>(CooperativeLayout)>& run) {
    if (!has_tensor_operations(kernel)) return std::nullopt;
    std::optional<BuffersAfter> first;
    for (const auto& [layout, name] : kLayouts) {
        INGOT_ASSIGN(BuffersAfter after, run(layout));
        if (!first) {
            first = std::move(after);
            continue;
        }
        const auto found = difference(*first, after);
        if (!found) continue;
        Finding finding{.kind = FindingKind::kLayoutDependence, .kernel = kernel.info.name, .place = {}};
        finding.memory = fmt::format("buffer {}", found->first);
        finding.offset_bytes = int64_t(found->second);
        finding.text = fmt::format(
            "Byte {} of buffer {} isn't the same in the layouts nax and {}: it counts on where elements of "
            "cooperative tensors lie; ask get_multidimensional_index().",
            found->second, found->first, name);
        return finding;
    }
    return std::nullopt;
}

}  // namespace ingot::metal::check
