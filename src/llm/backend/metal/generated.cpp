#include "llm/backend/metal/generated.h"

#include <memory>
#include <mutex>

#include "base/check.h"

namespace ingot::mtl {
namespace {

// Runs on every device that the other kernels run on.
constexpr std::string_view kTarget = "metal-m4";

std::string program_of(const KernelId& kernel) {
    constexpr std::string_view kPlaceholder = "TYPE";
    std::string text(source_named("mat_mul_floats"));
    for (size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos; at += kernel.type.size())
        text.replace(at, kPlaceholder.size(), kernel.type);
    return text;
}

}  // namespace

const tile::CompiledKernel& generated_kernel(const KernelId& kernel) {
    INGOT_CHECK(kernel.is_generated(), "'{}' has a source of its own", kernel.function());
    static std::mutex mutex;
    static std::map<KernelId, std::unique_ptr<const tile::CompiledKernel>> known;
    const std::scoped_lock lock(mutex);
    auto& found = known[kernel];
    if (found == nullptr) {
        tile::CompileOptions options;
        options.target = kTarget;
        auto made = tile::compile_text(program_of(kernel), kernel.function() + ".tile", options);
        INGOT_CHECK(made.has_value(), "{}", made.error().describe());
        INGOT_CHECK(made->entry == kernel.function() && made->fields_index == made->tensors.size() &&
                        made->threads == traits(kernel.family).threads,
                    "'{}' isn't launched as its row says", kernel.function());
        found = std::make_unique<const tile::CompiledKernel>(*std::move(made));
    }
    return *found;
}

}  // namespace ingot::mtl
