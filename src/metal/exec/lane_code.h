// A kernel's vector form as the device has it: keeps the module and compiles a variant when it is asked for
// first, by the compiler that made the kernel, so that variants are kept on disk and strangers' modules stay
// in a child process.
#pragma once

#include <map>
#include <mutex>
#include <set>
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
    void prepare(LaneVariant variant, std::stop_token stop) override;

  private:
    CompileOptions options_of(LaneVariant variant) const;
    Result<LaneEntry> keep(LaneVariant variant, Result<std::shared_ptr<const Kernel>> made);

    const std::string module_;  // ends in a zero, which text needs
    const std::string name_;
    CompileOptions options_;
    Compiler& compiler_;
    std::mutex compile_mutex_;
    std::mutex mutex_;                                    // never held for long
    std::vector<std::shared_ptr<const Kernel>> kernels_;  // keep the entries mapped
    std::map<LaneVariant, Result<LaneEntry>> entries_;
    std::set<LaneVariant> missing_;       // on disk
    std::set<LaneVariant> failed_aside_;  // their errors may be the child process'
};

}  // namespace ingot::metal
