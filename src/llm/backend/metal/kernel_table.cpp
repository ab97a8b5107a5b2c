#include "llm/backend/metal/kernel_table.h"

#include <algorithm>

#include "base/check.h"
#include "llm/backend/metal/generated.h"

namespace ingot::mtl {

const WeightFormat* weight_format(QuantType type) {
    const auto found = std::ranges::find(kWeightFormats, type, &WeightFormat::type);
    return found == kWeightFormats.end() ? nullptr : &*found;
}

std::string KernelId::function() const {
    std::string name(traits(family).name);
    if (traits(family).typed != Typed::kNo) name += fmt::format("_{}", type);
    return name;
}

bool KernelId::is_generated() const {
    if (family != Family::kMatMulTile) return false;
    const auto format = std::ranges::find(kWeightFormats, type, &WeightFormat::name);
    return format != kWeightFormats.end() && ingot::traits(format->type).block_size == 1;
}

std::string KernelId::source() const {
    return is_generated() ? function() : std::string(traits(family).source);
}

std::vector<KernelId> all_kernels() {
    std::vector<KernelId> kernels;
    for (const FamilyTraits& row : kFamilies) {
        switch (row.typed) {
            case Typed::kNo:
                kernels.push_back({row.family});
                break;
            case Typed::kWeight:
                for (const WeightFormat& format : kWeightFormats)
                    kernels.push_back({row.family, format.name});
                break;
            case Typed::kKv:
                for (const kv::FormatTraits& format : kv::kFormats)
                    kernels.push_back({row.family, format.name});
                break;
        }
    }
    return kernels;
}

std::string_view source_named(std::string_view name) {
    const auto sources = kernel_sources();
    const auto found = std::ranges::find(sources, name, &KernelSource::name);
    INGOT_CHECK(found != sources.end(), "no kernel source '{}'", name);
    return found->text;
}

std::string full_source(std::string_view name) {
    for (const KernelId& kernel : all_kernels()) {
        if (kernel.is_generated() && kernel.function() == name) return generated_kernel(kernel).source;
    }
    return fmt::format("{}{}{}{}", source_named("prelude"), source_named("formats"),
                       source_named("kv_formats"), source_named(name));
}

}  // namespace ingot::mtl
