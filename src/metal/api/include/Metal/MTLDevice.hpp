// The device, and where it comes from.
#pragma once

#include "MTLCommandBuffer.hpp"

namespace MTL {

Device* CreateSystemDefaultDevice();
NS::Array* CopyAllDevices();

class Architecture : public NS::Referencing<Architecture> {
  public:
    NS::String* name() const;
};

class Device : public NS::Referencing<Device> {
  public:
    NS::String* name() const;
    std::uint64_t registryID() const;
    Architecture* architecture() const;
    Size maxThreadsPerThreadgroup() const;
    bool hasUnifiedMemory() const;
    std::uint64_t recommendedMaxWorkingSetSize() const;
    NS::UInteger currentAllocatedSize() const;
    NS::UInteger maxThreadgroupMemoryLength() const;
    NS::UInteger maxBufferLength() const;
    bool supportsFamily(GPUFamily family);

    CommandQueue* newCommandQueue();
    CommandQueue* newCommandQueue(NS::UInteger maxCommandBufferCount);
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options);
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options);
    // Wraps memory of the caller's; pointer and length must be multiples of the page size.
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                      const std::function<void(void* pointer, NS::UInteger length)>& deallocator);
    SizeAndAlign heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions options);
    Heap* newHeap(const HeapDescriptor* descriptor);
    ResidencySet* newResidencySet(const ResidencySetDescriptor* descriptor, NS::Error** error);
    Fence* newFence();
    Event* newEvent();
    SharedEvent* newSharedEvent();

    Library* newLibrary(const NS::String* filepath, NS::Error** error);
    Library* newLibrary(const NS::URL* url, NS::Error** error);
    Library* newLibrary(const NS::String* source, const CompileOptions* options, NS::Error** error);
    ComputePipelineState* newComputePipelineState(const Function* function, NS::Error** error);
    ComputePipelineState* newComputePipelineState(const Function* function, PipelineOption options,
                                                  const AutoreleasedComputePipelineReflection* reflection,
                                                  NS::Error** error);
    ComputePipelineState* newComputePipelineState(const ComputePipelineDescriptor* descriptor,
                                                  PipelineOption options,
                                                  const AutoreleasedComputePipelineReflection* reflection,
                                                  NS::Error** error);
};

}  // namespace MTL
