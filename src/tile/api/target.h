// What a kernel is compiled for, as data: one row for each profile. A new chip is a new row (docs/tile.md).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot::tile {

// Versions of the Metal Shading Language, as major * 10 + minor.
enum class Language : uint8_t {
    kMetal2_3 = 23,
    kMetal3_0 = 30,
    kMetal3_1 = 31,
    kMetal3_2 = 32,
    kMetal4_0 = 40
};

struct Target {
    std::string_view name;
    int apple_family;         // MTLGPUFamilyApple<N>
    bool metal4;              // Metal Performance Primitives may be used
    bool cooperative_inputs;  // operands may be cooperative tensors (SDK 26.2)
    Language language;
    uint32_t threadgroup_bytes, max_threads, simd_width;
};

std::span<const Target> targets();
Result<const Target*> target_named(std::string_view name);

// What a source needs decides the language it is compiled as: the least version that has it all.
struct LanguageNeeds {
    bool cooperative_tensors = false, bfloat = false, logging = false;
};
Language language_for(const LanguageNeeds& needs);
// The source needs a language that the target doesn't speak: an Error that names both.
Result<Language> check_language(const Target& target, const LanguageNeeds& needs);
std::string to_string(Language language);

}  // namespace ingot::tile
