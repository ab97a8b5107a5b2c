// Stores of infinities and NaNs into buffers. Off unless asked for: masks hold infinities on purpose.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/half.h"
#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Values final : public Listener {
  public:
    explicit Values(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject& object) const override { return object.space != MemorySpace::kDevice; }
    bool hears_calls() const override { return false; }
    void access(const Access& access) override;

  private:
    Findings& findings_;
};

float element_at(const unsigned char* bytes, ElementKind kind) {
    if (kind == ElementKind::kFloat) {
        float value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
    uint16_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return kind == ElementKind::kHalf ? half_to_float(bits) : bfloat16_to_float(bits);
}

// The first element that isn't finite, of those that the event shows.
std::optional<float> non_finite(const Access& access) {
    unsigned char bytes[16];
    std::memcpy(bytes, &access.value_low, 8);
    std::memcpy(bytes + 8, &access.value_high, 8);
    const size_t step = access.site->element == ElementKind::kFloat ? 4 : 2;
    for (size_t at = 0; at + step <= std::min<size_t>(access.size_bytes, sizeof bytes); at += step) {
        const float value = element_at(bytes + at, access.site->element);
        if (!std::isfinite(value)) return value;
    }
    return std::nullopt;
}

void Values::access(const Access& access) {
    const Site& site = *access.site;
    const bool stores = site.kind == SiteKind::kStore || site.kind == SiteKind::kMatrixStore;
    if (!stores || !access.inside || site.element == ElementKind::kOther ||
        site.space != MemorySpace::kDevice)
        return;
    const std::optional<float> value = non_finite(access);
    if (!value) return;
    Finding* finding = findings_.add(FindingKind::kNonFinite, access.site_number);
    if (finding == nullptr) return;
    set_access(*finding, access);
    finding->text =
        fmt::format("{} writes {} at {}.", describe(*access.thread), *value, describe_memory(access));
}

}  // namespace

std::unique_ptr<Listener> make_values(Findings& findings) {
    return std::make_unique<Values>(findings);
}

}  // namespace ingot::metal::check
