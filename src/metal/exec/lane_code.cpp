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

CompileOptions LaneCode::options_of(LaneVariant variant) const {
    CompileOptions options = options_;
    options.variant = variant;
    return options;
}

Result<LaneEntry> LaneCode::entry(LaneVariant variant) {
    const std::scoped_lock compiling(compile_mutex_);
    if (auto known = ready(variant); known && (*known || !failed_aside_.contains(variant))) return *known;
    failed_aside_.erase(variant);
    return keep(variant, compiler_.compile(std::as_bytes(std::span(module_)), name_, options_of(variant)));
}

std::optional<Result<LaneEntry>> LaneCode::ready(LaneVariant variant) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = entries_.find(variant); found != entries_.end()) return found->second;
        if (!missing_.insert(variant).second) return std::nullopt;
    }
    auto kernel = compiler_.kept(std::as_bytes(std::span(module_)), name_, options_of(variant));
    if (kernel == nullptr) return std::nullopt;
    return keep(variant, std::move(kernel));
}

void LaneCode::prepare(LaneVariant variant, std::stop_token stop) {
    CompileOptions options = options_of(variant);
    options.aside = true;
    options.stop = stop;
    auto made = compiler_.compile(std::as_bytes(std::span(module_)), name_, options);
    if (!made && stop.stop_requested()) return;
    if (!made) {
        const std::scoped_lock compiling(compile_mutex_);
        failed_aside_.insert(variant);
    }
    keep(variant, std::move(made));
}

Result<LaneEntry> LaneCode::keep(LaneVariant variant, Result<std::shared_ptr<const Kernel>> made) {
    Result<LaneEntry> entry = made.map([](const std::shared_ptr<const Kernel>& kernel) {
        return LaneEntry{.run = kernel->entry,
                         .has_barriers = kernel->meets,
                         .private_bytes = kSimdWidth * kernel->private_bytes};
    });
    const std::scoped_lock lock(mutex_);
    if (made) kernels_.push_back(std::move(*made));
    return entries_.insert_or_assign(variant, std::move(entry)).first->second;
}

}  // namespace ingot::metal
