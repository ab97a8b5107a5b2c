#include "tile/tuner/metal_device.h"

#include <algorithm>
#include <cstring>

#include <Metal/Metal.hpp>

namespace ingot::tile {
namespace {

Failure metal_failure(std::string_view what, const NS::Error* error) {
    return fail(ErrorKind::kUnsupported, "{}: {}", what,
                error == nullptr ? "no reason given" : error->localizedDescription()->utf8String());
}

const NS::String* ns_text(const std::string& from) {
    return NS::String::string(from.c_str(), NS::UTF8StringEncoding);
}

MTL::LanguageVersion metal_version(Language language) {
    switch (language) {
        case Language::kMetal4_0:
            return MTL::LanguageVersion4_0;
        case Language::kMetal3_2:
            return MTL::LanguageVersion3_2;
        case Language::kMetal3_1:
            return MTL::LanguageVersion3_1;
        default:
            return MTL::LanguageVersion3_0;
    }
}

class MetalLaunch final : public TuningLaunch {
  public:
    MetalLaunch(MTL::Device* device, MTL::CommandQueue* queue, const CompiledKernel& c)
        : device_(device), queue_(queue), compiled_(c) {}

    Result<void> prepare(const Arguments& x) {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
        options->setLanguageVersion(metal_version(compiled_.language));
        NS::Error* error = nullptr;
        const auto library =
            NS::TransferPtr(device_->newLibrary(ns_text(compiled_.source), options.get(), &error));
        if (!library) return metal_failure("the source", error);
        const auto function = NS::TransferPtr(library->newFunction(ns_text(compiled_.entry)));
        if (!function) return fail(ErrorKind::kNotFound, "no function {}", compiled_.entry);
        state_ = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
        if (!state_) return metal_failure("the pipeline", error);
        if (state_->maxTotalThreadsPerThreadgroup() < compiled_.threads)
            return fail(ErrorKind::kLimit, "{} threads a group; the device offers {} for this kernel",
                        compiled_.threads, state_->maxTotalThreadsPerThreadgroup());
        INGOT_ASSIGN(launch_, compiled_.launch(x.dims));
        INGOT_ASSIGN(packed_, compiled_.pack(x.dims, x.scalars));
        for (const TensorArgument& t : compiled_.tensors) INGOT_TRY(add_buffer(t, x));
        return {};
    }

    Result<TuningOutputs> run() override {
        INGOT_TRY(measure());
        TuningOutputs out;
        for (size_t i = 0; i < buffers_.size(); ++i) {
            const TensorArgument& t = compiled_.tensors[i];
            if (t.role == Role::kIn) continue;
            std::vector<double>& values = out[t.name];
            const size_t size = size_bytes(t.type);
            for (size_t at = 0; at < initial_[i].size(); at += size) {
                uint32_t bits = 0;
                std::memcpy(&bits, static_cast<const std::byte*>(buffers_[i]->contents()) + at, size);
                values.push_back(from_bits(t.type, bits));
            }
        }
        return out;
    }

    Result<double> measure() override {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        for (size_t i = 0; i < buffers_.size(); ++i)
            if (!initial_[i].empty())
                std::memcpy(buffers_[i]->contents(), initial_[i].data(), initial_[i].size());
        if (std::ranges::count(launch_.groups, 0u) != 0) return 0;
        MTL::CommandBuffer* commands = queue_->commandBuffer();
        MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(state_.get());
        for (size_t i = 0; i < buffers_.size(); ++i)
            encoder->setBuffer(buffers_[i].get(), 0, compiled_.tensors[i].index);
        if (compiled_.fields_index)
            encoder->setBytes(packed_.data(), packed_.size(), *compiled_.fields_index);
        encoder->dispatchThreadgroups(MTL::Size(launch_.groups[0], launch_.groups[1], launch_.groups[2]),
                                      MTL::Size(launch_.threads[0], launch_.threads[1], launch_.threads[2]));
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
        if (commands->status() != MTL::CommandBufferStatusCompleted)
            return metal_failure("the launch", commands->error());
        return commands->GPUEndTime() - commands->GPUStartTime();
    }

  private:
    Result<void> add_buffer(const TensorArgument& t, const Arguments& x) {
        INGOT_ASSIGN(const size_t elements,
                     tensor_elements(compiled_.kernel, compiled_.kernel.tensors()[t.index], x.dims));
        const size_t size = size_bytes(t.type);
        std::vector<std::byte>& bytes = initial_.emplace_back(elements * size);
        if (const auto it = x.tensors.find(t.name); it != x.tensors.end()) {
            for (size_t i = 0; i < std::min(elements, it->second.size()); ++i) {
                const uint32_t bits = to_bits(t.type, it->second[i]);
                std::memcpy(bytes.data() + i * size, &bits, size);
            }
        }
        constexpr size_t kLeast = 16;  // of an empty tensor, whose address is bound, too
        buffers_.push_back(NS::TransferPtr(
            device_->newBuffer(std::max(bytes.size(), kLeast), MTL::ResourceStorageModeShared)));
        if (!buffers_.back())
            return fail(ErrorKind::kLimit, "no memory for {} bytes of {}", bytes.size(), t.name);
        return {};
    }

    MTL::Device* device_;
    MTL::CommandQueue* queue_;
    const CompiledKernel compiled_;
    Launch launch_{};
    std::vector<std::byte> packed_;
    NS::SharedPtr<MTL::ComputePipelineState> state_;
    std::vector<std::vector<std::byte>> initial_;
    std::vector<NS::SharedPtr<MTL::Buffer>> buffers_;
};

class MetalDevice final : public TuningDevice {
  public:
    MetalDevice(NS::SharedPtr<MTL::Device> device, const Arguments& arguments)
        : device_(std::move(device)),
          queue_(NS::TransferPtr(device_->newCommandQueue())),
          arguments_(arguments) {}

    std::string name() const override {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        return device_->name()->utf8String();
    }
    std::string compiler() const override { return "the system's"; }
    std::string ranking() const override {
#ifdef __APPLE__
        return "seconds on the device";
#else
        return "seconds of the virtual device on this processor; no GPU's";
#endif
    }
    Result<std::unique_ptr<TuningLaunch>> prepare(const CompiledKernel& c) override {
        auto launch = std::make_unique<MetalLaunch>(device_.get(), queue_.get(), c);
        INGOT_TRY(launch->prepare(arguments_));
        return launch;
    }

  private:
    NS::SharedPtr<MTL::Device> device_;
    NS::SharedPtr<MTL::CommandQueue> queue_;
    const Arguments& arguments_;
};

}  // namespace

Result<std::unique_ptr<TuningDevice>> metal_device(const Arguments& arguments) {
    auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device) return fail(ErrorKind::kNotFound, "this machine has no Metal device");
    return std::make_unique<MetalDevice>(std::move(device), arguments);
}

}  // namespace ingot::tile
