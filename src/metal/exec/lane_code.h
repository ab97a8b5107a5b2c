// A kernel's vector form as the device has it: keeps the module and compiles a variant when it is asked for
// first, by the compiler that made the kernel, so that variants are kept on disk and strangers' modules stay
// in a child process.
#pragma once

#include <mutex>
#include <vector>

#include "metal/exec/compiler.h"

namespace ingot::metal {

class LaneCode final : public LaneForm {
  public:
    // `compiler` outlives the kernel.
    LaneCode(std::span<const std::byte> module, std::string_view name, const CompileOptions& options,
             Compiler& compiler);

    Result<LaneEntry> entry(LaneVariant variant) override;
    std::optional<Result<LaneEntry>> ready(LaneVariant variant) override;

  private:
    Result<LaneEntry> compile(LaneVariant variant);

    const std::string module_;  // ends in a zero, which text needs
    const std::string name_;
    CompileOptions options_;
    Compiler& compiler_;
    std::mutex compile_mutex_;
    std::vector<std::shared_ptr<const Kernel>> kernels_;  // keep the entries mapped
    std::mutex mutex_;                                    // never held for long
    std::map<LaneVariant, Result<LaneEntry>> entries_;
};

}  // namespace ingot::metal
