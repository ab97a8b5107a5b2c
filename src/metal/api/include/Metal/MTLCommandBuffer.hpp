// Work: queues, command buffers, encoders, fences and events.
#pragma once

#include "MTLLibrary.hpp"
#include "MTLResource.hpp"

namespace MTL {

class Fence : public NS::Referencing<Fence> {
  public:
    Device* device() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
};

class Event : public NS::Referencing<Event> {
  public:
    Device* device() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
};

class SharedEventListener : public NS::Referencing<SharedEventListener> {
  public:
    static SharedEventListener* alloc();
    SharedEventListener* init();
    static SharedEventListener* sharedListener();
};

class SharedEvent : public NS::Referencing<SharedEvent, Event> {
  public:
    std::uint64_t signaledValue() const;
    void setSignaledValue(std::uint64_t value);
    bool waitUntilSignaledValue(std::uint64_t value, std::uint64_t milliseconds);
    void notifyListener(const SharedEventListener* listener, std::uint64_t value,
                        const SharedEventNotificationFunction& function);
#if defined(__BLOCKS__)
    void notifyListener(const SharedEventListener* listener, std::uint64_t value,
                        SharedEventNotificationBlock block) {
        notifyListener(listener, value, Blocks::function_of(block));
    }
#endif
};

class CommandEncoder : public NS::Referencing<CommandEncoder> {
  public:
    Device* device() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
    void endEncoding();
    void insertDebugSignpost(const NS::String* text);
    void pushDebugGroup(const NS::String* text);
    void popDebugGroup();
};

struct DispatchThreadgroupsIndirectArguments {
    std::uint32_t threadgroupsPerGrid[3];
} __attribute__((packed));

class ComputeCommandEncoder : public NS::Referencing<ComputeCommandEncoder, CommandEncoder> {
  public:
    DispatchType dispatchType() const;
    void setComputePipelineState(const ComputePipelineState* state);
    void setBytes(const void* bytes, NS::UInteger length, NS::UInteger index);
    void setBuffer(const Buffer* buffer, NS::UInteger offset, NS::UInteger index);
    void setBufferOffset(NS::UInteger offset, NS::UInteger index);
    void setBuffers(const Buffer* const buffers[], const NS::UInteger offsets[], NS::Range range);
    void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);
    void dispatchThreadgroups(Size threadgroupsPerGrid, Size threadsPerThreadgroup);
    void dispatchThreadgroups(const Buffer* indirectBuffer, NS::UInteger indirectBufferOffset,
                              Size threadsPerThreadgroup);
    void dispatchThreads(Size threadsPerGrid, Size threadsPerThreadgroup);
    void memoryBarrier(BarrierScope scope);
    void memoryBarrier(const Resource* const resources[], NS::UInteger count);
    void useResource(const Resource* resource, ResourceUsage usage);
    void useResources(const Resource* const resources[], NS::UInteger count, ResourceUsage usage);
    void useHeap(const Heap* heap);
    void useHeaps(const Heap* const heaps[], NS::UInteger count);
    void updateFence(const Fence* fence);
    void waitForFence(const Fence* fence);
};

class BlitCommandEncoder : public NS::Referencing<BlitCommandEncoder, CommandEncoder> {
  public:
    void copyFromBuffer(const Buffer* source, NS::UInteger sourceOffset, const Buffer* destination,
                        NS::UInteger destinationOffset, NS::UInteger size);
    void fillBuffer(const Buffer* buffer, NS::Range range, std::uint8_t value);
    void synchronizeResource(const Resource* resource);
    void updateFence(const Fence* fence);
    void waitForFence(const Fence* fence);
};

class ComputePassDescriptor : public NS::Copying<ComputePassDescriptor> {
  public:
    static ComputePassDescriptor* computePassDescriptor();
    static ComputePassDescriptor* alloc();
    ComputePassDescriptor* init();
    DispatchType dispatchType() const;
    void setDispatchType(DispatchType dispatchType);

  private:
    friend class NS::Copying<ComputePassDescriptor>;
    ComputePassDescriptor* copy_() const;
};

class CommandQueue;

class CommandBuffer : public NS::Referencing<CommandBuffer> {
  public:
    Device* device() const;
    CommandQueue* commandQueue() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
    bool retainedReferences() const;
    ComputeCommandEncoder* computeCommandEncoder();
    ComputeCommandEncoder* computeCommandEncoder(DispatchType dispatchType);
    ComputeCommandEncoder* computeCommandEncoder(const ComputePassDescriptor* descriptor);
    BlitCommandEncoder* blitCommandEncoder();
    void enqueue();
    void commit();
    void waitUntilScheduled();
    void waitUntilCompleted();
    CommandBufferStatus status() const;
    NS::Error* error() const;
    void addScheduledHandler(const HandlerFunction& function);
    void addCompletedHandler(const HandlerFunction& function);
#if defined(__BLOCKS__)
    void addScheduledHandler(CommandBufferHandler block) { addScheduledHandler(Blocks::function_of(block)); }
    void addCompletedHandler(CommandBufferHandler block) { addCompletedHandler(Blocks::function_of(block)); }
#endif
    void encodeWait(const Event* event, std::uint64_t value);
    void encodeSignalEvent(const Event* event, std::uint64_t value);
    CFTimeInterval GPUStartTime() const;
    CFTimeInterval GPUEndTime() const;
    CFTimeInterval kernelStartTime() const;
    CFTimeInterval kernelEndTime() const;
    void pushDebugGroup(const NS::String* text);
    void popDebugGroup();
    void useResidencySet(const ResidencySet* set);
    void useResidencySets(const ResidencySet* const sets[], NS::UInteger count);
};

class CommandQueue : public NS::Referencing<CommandQueue> {
  public:
    Device* device() const;
    NS::String* label() const;
    void setLabel(const NS::String* label);
    CommandBuffer* commandBuffer();
    CommandBuffer* commandBufferWithUnretainedReferences();
    void insertDebugCaptureBoundary();
    void addResidencySet(const ResidencySet* set);
    void addResidencySets(const ResidencySet* const sets[], NS::UInteger count);
    void removeResidencySet(const ResidencySet* set);
    void removeResidencySets(const ResidencySet* const sets[], NS::UInteger count);
};

}  // namespace MTL
