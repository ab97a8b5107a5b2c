// The device, and where it comes from.
#pragma once

#include <dispatch/dispatch.h>

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
    bool isLowPower() const;
    bool isHeadless() const;
    bool isRemovable() const;
    std::uint64_t recommendedMaxWorkingSetSize() const;
    NS::UInteger currentAllocatedSize() const;
    NS::UInteger maxThreadgroupMemoryLength() const;
    NS::UInteger maxBufferLength() const;
    bool supportsFamily(GPUFamily family);

    CommandQueue* newCommandQueue();
    CommandQueue* newCommandQueue(NS::UInteger maxCommandBufferCount);
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options);
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options);
    // Wraps memory of the caller's. Apple's systems take whole pages only; here anything else is warned of,
    // once, and refused in strict mode (metal/api/extensions.h).
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                      const std::function<void(void* pointer, NS::UInteger length)>& deallocator);
#if defined(__BLOCKS__)
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                      void (^deallocator)(void*, NS::UInteger)) {
        return newBuffer(pointer, length, options, Blocks::function_of(deallocator));
    }
#endif
    SizeAndAlign heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions options);
    Heap* newHeap(const HeapDescriptor* descriptor);
    ResidencySet* newResidencySet(const ResidencySetDescriptor* descriptor, NS::Error** error);
    Fence* newFence();
    Event* newEvent();
    SharedEvent* newSharedEvent();

    Library* newLibrary(const NS::String* filepath, NS::Error** error);
    Library* newLibrary(const NS::URL* url, NS::Error** error);
    Library* newLibrary(const dispatch_data_t data, NS::Error** error);
    Library* newLibrary(const NS::String* source, const CompileOptions* options, NS::Error** error);
    ComputePipelineState* newComputePipelineState(const Function* function, NS::Error** error);
    ComputePipelineState* newComputePipelineState(const Function* function, PipelineOption options,
                                                  const AutoreleasedComputePipelineReflection* reflection,
                                                  NS::Error** error);
    ComputePipelineState* newComputePipelineState(const ComputePipelineDescriptor* descriptor,
                                                  PipelineOption options,
                                                  const AutoreleasedComputePipelineReflection* reflection,
                                                  NS::Error** error);

    // These return at once; the handler is called on another thread, where what it is given belongs to a
    // pool.
    void newLibrary(const NS::String* source, const CompileOptions* options,
                    const NewLibraryCompletionHandlerFunction& completionHandler);
    void newComputePipelineState(const Function* function,
                                 const NewComputePipelineStateCompletionHandlerFunction& completionHandler);
    void newComputePipelineState(
        const Function* function, PipelineOption options,
        const NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler);
    void newComputePipelineState(
        const ComputePipelineDescriptor* descriptor, PipelineOption options,
        const NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler);
#if defined(__BLOCKS__)
    void newLibrary(const NS::String* source, const CompileOptions* options,
                    NewLibraryCompletionHandler completionHandler) {
        newLibrary(source, options, Blocks::function_of(completionHandler));
    }
    void newComputePipelineState(const Function* function,
                                 NewComputePipelineStateCompletionHandler completionHandler) {
        newComputePipelineState(function, Blocks::function_of(completionHandler));
    }
    void newComputePipelineState(const Function* function, PipelineOption options,
                                 NewComputePipelineStateWithReflectionCompletionHandler completionHandler) {
        newComputePipelineState(function, options, Blocks::function_of(completionHandler));
    }
    void newComputePipelineState(const ComputePipelineDescriptor* descriptor, PipelineOption options,
                                 NewComputePipelineStateWithReflectionCompletionHandler completionHandler) {
        newComputePipelineState(descriptor, options, Blocks::function_of(completionHandler));
    }
#endif
};

}  // namespace MTL
