#include "tile/api/compile.h"

namespace ingot::tile {
namespace {

// Why the device can't run the variant; nothing if it can.
std::string why_not(const CompiledKernel& v, const Device& device) {
    const LanguageNeeds& needs = v.parts.needs;
    if (needs.cooperative_tensors && !device.metal4) return "it needs Metal 4";
    if (v.language > device.language)
        return fmt::format("it is written in {}, the device compiles {}", to_string(v.language),
                           to_string(device.language));
    const auto target = target_named(v.target);
    if (target && (*target)->apple_family > device.apple_family)
        return fmt::format("{} is of Apple family {}, the device of {}", v.target, (*target)->apple_family,
                           device.apple_family);
    return {};
}

}  // namespace

Result<const CompiledKernel*> CompiledModule::select(const Device& device,
                                                     const std::map<std::string, int64_t>& dims) const {
    std::string reasons;
    for (const CompiledKernel& v : variants) {
        std::string why = why_not(v, device);
        if (why.empty()) {
            const auto launch = v.launch(dims);
            if (launch) return &v;
            why = launch.error().message;
        }
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", v.entry, why);
    }
    return fail(ErrorKind::kUnsupported, "no variant fits: {}", reasons);
}

Result<CompiledModule> compile_module(const Kernel& k, std::span<const CompileOptions> variants) {
    CompiledModule out;
    std::vector<SourceParts> parts;
    for (const CompileOptions& options : variants) {
        INGOT_ASSIGN(CompiledKernel compiled, compile(k, options));
        for (const CompiledKernel& other : out.variants)
            if (other.entry == compiled.entry)
                return fail(ErrorKind::kInvalidArgument,
                            "two variants are named {}; give each its entry_suffix", compiled.entry);
        parts.push_back(compiled.parts);
        out.variants.push_back(std::move(compiled));
    }
    if (parts.empty()) return fail(ErrorKind::kInvalidArgument, "a module of {} without variants", k.name);
    out.source = source_text(parts);
    return out;
}

}  // namespace ingot::tile
