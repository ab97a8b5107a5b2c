#include <algorithm>
#include <array>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

struct Rule {
    std::string_view word;
    std::string_view next;  // what must follow; empty: anything, "word": a name
    std::string_view message;
};

constexpr std::string_view kNoTextures = "textures are not supported: this device runs compute on buffers";
constexpr std::string_view kNoGraphics = "only kernel functions are supported";
constexpr std::string_view kNoAssembly = "inline assembly is not accepted";
constexpr std::string_view kNoRayTracing = "ray tracing is not supported";
constexpr std::string_view kNoExceptions = "exceptions are not part of the Metal language";

constexpr Rule kRules[] = {
    {"asm", "", kNoAssembly},
    {"__asm", "", kNoAssembly},
    {"__asm__", "", kNoAssembly},
    {"vertex", "word", kNoGraphics},
    {"fragment", "word", kNoGraphics},
    {"texture1d", "<", kNoTextures},
    {"texture1d_array", "<", kNoTextures},
    {"texture2d", "<", kNoTextures},
    {"texture2d_array", "<", kNoTextures},
    {"texture2d_ms", "<", kNoTextures},
    {"texture2d_ms_array", "<", kNoTextures},
    {"texture3d", "<", kNoTextures},
    {"texturecube", "<", kNoTextures},
    {"texturecube_array", "<", kNoTextures},
    {"texture_buffer", "<", kNoTextures},
    {"depth2d", "<", kNoTextures},
    {"depth2d_array", "<", kNoTextures},
    {"depthcube", "<", kNoTextures},
    {"depthcube_array", "<", kNoTextures},
    {"sampler", "word", "samplers are not supported: this device runs compute on buffers"},
    {"imageblock", "<", "imageblocks are not supported: this device runs compute on buffers"},
    {"threadgroup_imageblock", "", "imageblocks are not supported: this device runs compute on buffers"},
    {"intersection_function_table", "<", kNoRayTracing},
    {"acceleration_structure", "", kNoRayTracing},
    {"instance_acceleration_structure", "", kNoRayTracing},
    {"primitive_acceleration_structure", "", kNoRayTracing},
    {"intersector", "<", kNoRayTracing},
    {"ray_data", "", kNoRayTracing},
    {"object_data", "", kNoGraphics},
    {"throw", "", kNoExceptions},
    {"try", "", kNoExceptions},
    {"typeid", "", "run-time type information is not part of the Metal language"},
    {"dynamic_cast", "", "run-time type information is not part of the Metal language"},
    {"thread_local", "", "thread_local is not part of the Metal language"},
    {"double", "", "double is not a type of the Metal language"},
    {"virtual", "", "virtual functions are not part of the Metal language"},
    {"new", "word", "new is not part of the Metal language"},
    {"goto", "", "goto is not part of the Metal language"},
};

struct AttributeRule {
    std::string_view name, message;
};

constexpr AttributeRule kAttributeRules[] = {
    {"vertex", kNoGraphics},
    {"fragment", kNoGraphics},
    {"mesh", kNoGraphics},
    {"object", kNoGraphics},
    {"stitchable", "stitchable functions are not supported"},
    {"intersection", kNoRayTracing},
    {"texture", kNoTextures},
    {"sampler", "samplers are not supported: this device runs compute on buffers"},
    {"stage_in", kNoGraphics},
};

bool follows(const Rule& rule, const Token& next) {
    return rule.next.empty() || (rule.next == "word" ? next.is_word() : next.is(rule.next));
}

}  // namespace

Result<void> refuse_unsupported(const Source& source) {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        const Token& token = source.tokens[i];
        if (!token.is_word()) continue;
        for (const Rule& rule : kRules) {
            if (token.text != rule.word || !follows(rule, source.tokens[i + 1])) continue;
            return fail(ErrorKind::kUnsupported, "{}: error: {}", source.tokens.place(i), rule.message);
        }
    }
    for (const auto& [begin, list] : source.outline.attribute_lists()) {
        for (const Attribute& attribute : list.attributes) {
            for (const AttributeRule& rule : kAttributeRules) {
                if (attribute.name != rule.name) continue;
                return fail(ErrorKind::kUnsupported, "{}: error: {}", source.tokens.place(attribute.place),
                            rule.message);
            }
        }
    }
    return {};
}

}  // namespace ingot::metal::msl
