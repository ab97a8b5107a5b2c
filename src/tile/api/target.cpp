#include "tile/api/target.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kGroupBytes = 32768, kGroupThreads = 1024, kSimdgroupLanes = 32;

// metal4 says what the family and its system can do: MPP runs from Apple7 on under Metal 4, and pays from
// Apple10 on, so that the older profiles leave it out.
constexpr Target kTargets[] = {
    {"metal-m1", 7, false, false, Language::kMetal3_2, kGroupBytes, kGroupThreads, kSimdgroupLanes},
    {"metal-m2", 8, false, false, Language::kMetal3_2, kGroupBytes, kGroupThreads, kSimdgroupLanes},
    {"metal-m3", 9, false, false, Language::kMetal3_2, kGroupBytes, kGroupThreads, kSimdgroupLanes},
    {"metal-m4", 9, false, false, Language::kMetal3_2, kGroupBytes, kGroupThreads, kSimdgroupLanes},
    {"metal-m4-metal4", 9, true, false, Language::kMetal4_0, kGroupBytes, kGroupThreads, kSimdgroupLanes},
    {"metal-m5", 10, true, false, Language::kMetal4_0, kGroupBytes, kGroupThreads, kSimdgroupLanes},
};

}  // namespace

std::span<const Target> targets() {
    return kTargets;
}

Result<const Target*> target_named(std::string_view name) {
    std::string names;
    for (const Target& t : kTargets) {
        if (t.name == name) return &t;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
    }
    return fail(ErrorKind::kInvalidArgument, "no target '{}'; there are {}", name, names);
}

Language language_for(const LanguageNeeds& needs) {
    if (needs.cooperative_tensors) return Language::kMetal4_0;
    if (needs.logging) return Language::kMetal3_2;
    if (needs.bfloat) return Language::kMetal3_1;
    return Language::kMetal2_3;
}

Result<Language> check_language(const Target& target, const LanguageNeeds& needs) {
    if (needs.cooperative_tensors && !target.metal4)
        return fail(ErrorKind::kUnsupported, "cooperative tensors on {}, which isn't a metal4 target; {} is",
                    target.name, "metal-m5");
    const Language language = language_for(needs);
    if (language > target.language)
        return fail(ErrorKind::kUnsupported, "the source needs {}, {} speaks {}", to_string(language),
                    target.name, to_string(target.language));
    return language;
}

std::string to_string(Language language) {
    return fmt::format("metal{}.{}", int(language) / 10, int(language) % 10);
}

}  // namespace ingot::tile
