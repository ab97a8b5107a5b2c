#include "metal/exec/lane_code.h"

#include "metal/exec/launch.h"

namespace ingot::metal {

LaneCode::LaneCode(std::span<const std::byte> module, std::string_view name, const CompileOptions& options,
                   Compiler& compiler)
    : module_(reinterpret_cast<const char*>(module.data()), module.size()),
      name_(name),
      options_(options),
      compiler_(compiler) {
    options_.executor = ExecutorKind::kVector;
    options_.print_after.clear();
    options_.printed = nullptr;
}

Result<LaneEntry> LaneCode::entry(LaneVariant variant) {
    const std::scoped_lock compiling(compile_mutex_);
    if (auto known = ready(variant)) return *known;
    Result<LaneEntry> made = compile(variant);
    const std::scoped_lock lock(mutex_);
    return entries_.emplace(variant, std::move(made)).first->second;
}

std::optional<Result<LaneEntry>> LaneCode::ready(LaneVariant variant) {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(variant);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
}

Result<LaneEntry> LaneCode::compile(LaneVariant variant) {
    CompileOptions options = options_;
    options.variant = variant;
    INGOT_ASSIGN(auto kernel, compiler_.compile(std::as_bytes(std::span(module_)), name_, options));
    const LaneEntry entry{.run = kernel->entry,
                          .has_barriers = kernel->meets,
                          .private_bytes = kSimdWidth * kernel->private_bytes};
    kernels_.push_back(std::move(kernel));
    return entry;
}

}  // namespace ingot::metal
