#include "llm/backend/metal/device.h"

#include <cstring>

#ifndef __APPLE__
#include "metal/api/extensions.h"
#endif

namespace ingot::mtl {
namespace {

Failure failure(ErrorKind kind, std::string_view what, const NS::Error* error) {
    return fail(kind, "{}: {}", what,
                error == nullptr ? "no reason given" : error->localizedDescription()->utf8String());
}

const NS::String* text(const std::string& from) {
    return NS::String::string(from.c_str(), NS::UTF8StringEncoding);
}

}  // namespace

Result<std::unique_ptr<Device>> Device::with_sources(SourceOf source_of) {
    auto found = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!found) return fail(ErrorKind::kNotFound, "this machine has no Metal device");
#ifndef __APPLE__
    // What would work on the virtual device alone is refused.
    metal::set_strict(found.get(), true);
#endif
    return std::unique_ptr<Device>(new Device(std::move(found), std::move(source_of)));
}

Result<Device*> Device::shared() {
    static const auto device = new auto(with_sources(full_source));  // outlives what uses it at exit
    if (!*device) return Failure(device->error());
    return device->value().get();
}

std::string Device::name() const {
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    return device_->name()->utf8String();
}

Result<MTL::Library*> Device::library(std::string_view source) {
    if (const auto found = libraries_.find(source); found != libraries_.end()) return found->second.get();
    NS::Error* error = nullptr;
    auto made = NS::TransferPtr(device_->newLibrary(text(source_of_(source)), nullptr, &error));
    if (!made) return failure(ErrorKind::kUnsupported, fmt::format("kernel source '{}'", source), error);
    return libraries_.emplace(source, std::move(made)).first->second.get();
}

Result<NS::SharedPtr<MTL::Function>> Device::function(const KernelId& kernel) {
    INGOT_ASSIGN(MTL::Library* const from, library(kernel.source()));
    const auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    if (traits(kernel.family).head_sized) {
        constants->setConstantValue(&kernel.head_dim, MTL::DataTypeUInt, NS::UInteger(0));
        constants->setConstantValue(&kernel.heads, MTL::DataTypeUInt, NS::UInteger(1));
    }
    NS::Error* error = nullptr;
    auto made = NS::TransferPtr(from->newFunction(text(kernel.function()), constants.get(), &error));
    if (!made) return failure(ErrorKind::kUnsupported, fmt::format("kernel '{}'", kernel.function()), error);
    return made;
}

Result<const Pipeline*> Device::pipeline(const KernelId& kernel) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = pipelines_.find(kernel); found != pipelines_.end()) return &found->second;
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    INGOT_ASSIGN(const auto entry, function(kernel));
    NS::Error* error = nullptr;
    auto state = NS::TransferPtr(device_->newComputePipelineState(entry.get(), &error));
    if (!state) return failure(ErrorKind::kUnsupported, fmt::format("kernel '{}'", kernel.function()), error);
    const uint32_t threads = traits(kernel.family).threads;
    if (state->maxTotalThreadsPerThreadgroup() < threads) {
        return fail(ErrorKind::kLimit, "kernel '{}' wants {} threads a group; the device offers {}",
                    kernel.function(), threads, state->maxTotalThreadsPerThreadgroup());
    }
    if (state->staticThreadgroupMemoryLength() > device_->maxThreadgroupMemoryLength()) {
        return fail(
            ErrorKind::kLimit, "kernel '{}' wants {} bytes of threadgroup memory; the device offers {}",
            kernel.function(), state->staticThreadgroupMemoryLength(), device_->maxThreadgroupMemoryLength());
    }
    Pipeline made{kernel, kernel.function(), std::move(state), threads};
    return &pipelines_.emplace(kernel, std::move(made)).first->second;
}

Result<NS::SharedPtr<MTL::Buffer>> Device::new_buffer(size_t size_bytes) const {
    auto buffer = NS::TransferPtr(device_->newBuffer(size_bytes, MTL::ResourceStorageModeShared));
    if (!buffer) {
        return fail(ErrorKind::kLimit, "the Metal device has no memory for {} bytes; {} are taken",
                    size_bytes, device_->currentAllocatedSize());
    }
    std::memset(buffer->contents(), 0, size_bytes);
    return buffer;
}

}  // namespace ingot::mtl
