// Memory: buffers, heaps, residency sets.
#pragma once

#include "MTLTypes.hpp"

namespace MTL {

class Allocation : public NS::Referencing<Allocation> {
  public:
    NS::UInteger allocatedSize() const;
};

class Heap;

class Resource : public NS::Referencing<Resource, Allocation> {
  public:
    NS::String* label() const;
    void setLabel(const NS::String* label);
    Device* device() const;
    StorageMode storageMode() const;
    CPUCacheMode cpuCacheMode() const;
    HazardTrackingMode hazardTrackingMode() const;
    ResourceOptions resourceOptions() const;
    Heap* heap() const;
    NS::UInteger heapOffset() const;
    PurgeableState setPurgeableState(PurgeableState state);
};

class Buffer : public NS::Referencing<Buffer, Resource> {
  public:
    NS::UInteger length() const;
    void* contents();
    void didModifyRange(NS::Range range);
    std::uint64_t gpuAddress() const;
    void addDebugMarker(const NS::String* marker, NS::Range range);
    void removeAllDebugMarkers();
};

class HeapDescriptor : public NS::Copying<HeapDescriptor> {
  public:
    static HeapDescriptor* alloc();
    HeapDescriptor* init();
    NS::UInteger size() const;
    void setSize(NS::UInteger size);
    HeapType type() const;
    void setType(HeapType type);
    ResourceOptions resourceOptions() const;
    void setResourceOptions(ResourceOptions options);
    StorageMode storageMode() const;
    void setStorageMode(StorageMode mode);

  private:
    friend class NS::Copying<HeapDescriptor>;
    HeapDescriptor* copy_() const;
};

class Heap : public NS::Referencing<Heap, Allocation> {
  public:
    NS::String* label() const;
    void setLabel(const NS::String* label);
    Device* device() const;
    HeapType type() const;
    NS::UInteger size() const;
    NS::UInteger usedSize() const;
    NS::UInteger currentAllocatedSize() const;
    NS::UInteger maxAvailableSize(NS::UInteger alignment);
    // Null if the heap has no room.
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options);
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset);
};

class ResidencySetDescriptor : public NS::Copying<ResidencySetDescriptor> {
  public:
    static ResidencySetDescriptor* alloc();
    ResidencySetDescriptor* init();
    NS::UInteger initialCapacity() const;
    void setInitialCapacity(NS::UInteger capacity);
    NS::String* label() const;
    void setLabel(const NS::String* label);

  private:
    friend class NS::Copying<ResidencySetDescriptor>;
    ResidencySetDescriptor* copy_() const;
};

class ResidencySet : public NS::Referencing<ResidencySet> {
  public:
    NS::String* label() const;
    Device* device() const;
    void addAllocation(const Allocation* allocation);
    void addAllocations(const Allocation* const allocations[], NS::UInteger count);
    void removeAllocation(const Allocation* allocation);
    void removeAllocations(const Allocation* const allocations[], NS::UInteger count);
    void removeAllAllocations();
    bool containsAllocation(const Allocation* allocation);
    NS::UInteger allocationCount() const;
    NS::Array* allAllocations() const;
    std::uint64_t allocatedSize() const;
    void commit();
    void requestResidency();
    void endResidency();
};

}  // namespace MTL
