// The compiler that the device uses: LLVM, with compiled kernels kept on disk and child processes for modules
// that nobody vouches for.
#pragma once

#include <atomic>

#include "base/disk_cache.h"
#include "metal/exec/isolated_compiler.h"

namespace ingot::metal {

class DeviceCompiler final : public Compiler {
  public:
    DeviceCompiler(Compiler& local, std::string worker_program, std::string cache_folder);

    std::string version() const override { return local_.version(); }
    std::string identity() const override { return identity_; }
    std::vector<std::string> pass_names() const override { return local_.pass_names(); }
    CompileCounts counts() const override;
    Result<std::shared_ptr<const Kernel>> compile(std::span<const std::byte> module, std::string_view name,
                                                  const CompileOptions& options) override;
    std::shared_ptr<const Kernel> kept(std::span<const std::byte> module, std::string_view name,
                                       const CompileOptions& options) override;
    Result<std::vector<std::byte>> translate(std::span<const std::byte> module, std::string_view name,
                                             const CompileOptions& options) override;
    Result<std::shared_ptr<const Kernel>> load(std::span<const std::byte> translation) override {
        return local_.load(translation);
    }
    Result<KernelInfo> inspect(std::span<const std::byte> module, std::string_view name,
                               const CompileOptions& options) override;
    Result<std::string> disassemble(std::span<const std::byte> module, std::string_view name,
                                    const CompileOptions& options) override;
    Result<std::string> assembly(std::span<const std::byte> module, std::string_view name,
                                 const CompileOptions& options) override {
        return local_.assembly(module, name, options);
    }
    Result<std::string> apply_pass(std::string_view ir, std::string_view pass,
                                   const CompileOptions& options) override {
        return local_.apply_pass(ir, pass, options);
    }

  private:
    std::string key_of(std::span<const std::byte> module, std::string_view name,
                       const CompileOptions& options) const;
    std::shared_ptr<Kernel> find(const std::string& key);
    void add_lanes(Kernel& kernel, std::span<const std::byte> module, std::string_view name,
                   const CompileOptions& options);

    Compiler& local_;
    IsolatedCompiler isolated_, aside_;  // children of the one have this process's priority
    DiskCache cache_;
    const std::string identity_;
    std::atomic<uint64_t> num_from_cache_{0}, num_isolated_{0};
};

}  // namespace ingot::metal
