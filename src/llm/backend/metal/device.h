// A Metal device with the backend's pipelines: compiles kernels of kernel_table.h on demand and keeps them.
// All engines of a process share one. Owns no memory of models and encodes nothing (command_stream.h does).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <Metal/Metal.hpp>

#include "base/result.h"
#include "llm/backend/metal/kernel_table.h"

namespace ingot::mtl {

struct Pipeline {
    KernelId kernel;
    std::string name;  // "mat_mul_one_q4_0"
    NS::SharedPtr<MTL::ComputePipelineState> state;
    uint32_t threads = 0;  // per threadgroup
};

class Device {
  public:
    // The system's default device; stays for the life of the process, because pipelines are dear to make.
    static Result<Device*> shared();
    // Another one on the same hardware whose kernels come from other texts: for tests of what a text is
    // worth.
    using SourceOf = std::function<std::string(std::string_view name)>;
    static Result<std::unique_ptr<Device>> with_sources(SourceOf source_of);

    MTL::Device* operator->() const { return device_.get(); }
    MTL::Device* get() const { return device_.get(); }
    std::string name() const;

    // Compiled when it is asked for first; safe to call from several threads. Limits of the device (threads,
    // threadgroup memory) are checked here.
    Result<const Pipeline*> pipeline(const KernelId& kernel);

    // Zeroed, in memory that the host shares.
    Result<NS::SharedPtr<MTL::Buffer>> new_buffer(size_t size_bytes) const;

  private:
    Device(NS::SharedPtr<MTL::Device> device, SourceOf source_of)
        : device_(std::move(device)), source_of_(std::move(source_of)) {}
    Result<MTL::Library*> library(std::string_view source);
    Result<NS::SharedPtr<MTL::Function>> function(const KernelId& kernel);

    NS::SharedPtr<MTL::Device> device_;
    const SourceOf source_of_;
    std::mutex mutex_;  // of what follows
    std::map<std::string, NS::SharedPtr<MTL::Library>, std::less<>> libraries_;
    std::map<KernelId, Pipeline> pipelines_;
};

}  // namespace ingot::mtl
