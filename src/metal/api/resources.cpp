// Buffers, heaps, residency sets.
#include <cstring>
#include <set>

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/round_up.h"
#include "metal/api/watch.h"

namespace ingot::metal::api {
namespace {

constexpr uint64_t kHeapAlignment = 256;

uint64_t page_bytes() {
    return uint64_t(::sysconf(_SC_PAGESIZE));
}
HeapImpl& impl(const MTL::Heap* heap) {
    return *static_cast<HeapImpl*>(const_cast<MTL::Heap*>(heap));
}

class HeapDescriptorImpl final : public MTL::HeapDescriptor {
  public:
    NS::UInteger size = 0;
    MTL::HeapType type = MTL::HeapTypeAutomatic;
    MTL::ResourceOptions options = 0;
};
HeapDescriptorImpl& impl(const MTL::HeapDescriptor* descriptor) {
    return *static_cast<HeapDescriptorImpl*>(const_cast<MTL::HeapDescriptor*>(descriptor));
}

class ResidencyDescriptorImpl final : public MTL::ResidencySetDescriptor {
  public:
    NS::UInteger capacity = 0;
    std::string label;
};
ResidencyDescriptorImpl& impl(const MTL::ResidencySetDescriptor* descriptor) {
    return *static_cast<ResidencyDescriptorImpl*>(const_cast<MTL::ResidencySetDescriptor*>(descriptor));
}

// Everything is resident here: a set only keeps the books.
class ResidencySetImpl final : public MTL::ResidencySet {
  public:
    ~ResidencySetImpl() override {
        for (MTL::Allocation* allocation : members) allocation->release();
        device->release();
    }
    DeviceImpl* device = nullptr;
    std::string label;
    std::set<MTL::Allocation*> members;
};
ResidencySetImpl& impl(const MTL::ResidencySet* set) {
    return *static_cast<ResidencySetImpl*>(const_cast<MTL::ResidencySet*>(set));
}

MTL::Buffer* buffer_in_heap(HeapImpl& heap, uint64_t length, MTL::ResourceOptions options, uint64_t offset) {
    auto* buffer = new BufferImpl;
    buffer->memory = heap.memory;
    buffer->offset = offset;
    buffer->length = length;
    buffer->options = options;
    buffer->heap = &heap;
    heap.retain();
    heap.taken.emplace(offset, ingot::round_up(length, kHeapAlignment));
    return buffer;
}

}  // namespace

std::shared_ptr<Memory> allocate(DeviceImpl& device, uint64_t size_bytes) {
    const uint64_t mapped = ingot::round_up(std::max<uint64_t>(size_bytes, 1), page_bytes());
    void* address =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    auto memory = std::make_shared<Memory>();
    memory->device = &device;
    memory->address = static_cast<std::byte*>(address);
    memory->size_bytes = mapped;
    device.retain();
    device.allocated_bytes += mapped;
    return memory;
}

Memory::~Memory() {
    if (owned) {
        ::munmap(address, size_bytes);
        device->allocated_bytes -= size_bytes;
    } else if (deallocator) {
        deallocator(address, size_bytes);
    }
    device->release();
}

BufferImpl::~BufferImpl() {
    if (heap == nullptr) return;
    heap->give_back(offset, length);
    heap->release();
}

void HeapImpl::give_back(uint64_t offset, uint64_t length) {
    const std::scoped_lock lock(mutex);
    const auto [begin, end] = taken.equal_range(offset);
    const uint64_t bytes = ingot::round_up(length, kHeapAlignment);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return entry.second == bytes; });
    if (found != end) taken.erase(found);
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

Buffer* Device::newBuffer(NS::UInteger length, ResourceOptions options) {
    if (length == 0 || length > maxBufferLength()) return nullptr;
    auto memory = allocate(impl(this), length);
    if (memory == nullptr) return nullptr;
    auto* buffer = new BufferImpl;
    buffer->memory = std::move(memory);
    buffer->length = length;
    buffer->options = options;
    buffer->memory->has_contents = false;
    return buffer;
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options) {
    Buffer* buffer = newBuffer(length, options);
    if (buffer != nullptr) std::memcpy(buffer->contents(), pointer, length);
    return buffer;
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                          const std::function<void(void*, NS::UInteger)>& deallocator) {
    DeviceImpl& device = impl(this);
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (pointer == nullptr || length == 0) return nullptr;
    if (address % page_bytes() != 0 || length % page_bytes() != 0) {
        if (device.strict) return nullptr;
        if (Watch* watch = watch_of(device)) {
            watch->report(
                ingot::metal::check::FindingKind::kMisalignedNoCopy,
                fmt::format("A no-copy buffer of {} bytes {} isn't made of whole pages of {} bytes.", length,
                            address % page_bytes() == 0 ? "at the beginning of a page" : "inside of a page",
                            page_bytes()));
        }
        if (!device.warned_of_pages.exchange(true)) {
            fmt::print(
                stderr,
                "ingot: a no-copy buffer of {} bytes at {} isn't made of whole pages of {} bytes; Apple's "
                "systems refuse it\n",
                length, pointer, page_bytes());
        }
    }
    auto memory = std::make_shared<Memory>();
    memory->device = &impl(this);
    retain();
    memory->address = static_cast<std::byte*>(const_cast<void*>(pointer));
    memory->size_bytes = length;
    memory->owned = false;
    memory->deallocator = deallocator;
    auto* buffer = new BufferImpl;
    buffer->memory = std::move(memory);
    buffer->length = length;
    buffer->options = options;
    return buffer;
}

SizeAndAlign Device::heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions) {
    return {ingot::round_up(length, kHeapAlignment), kHeapAlignment};
}

Heap* Device::newHeap(const HeapDescriptor* descriptor) {
    const HeapDescriptorImpl& wanted = impl(descriptor);
    if (wanted.size == 0 || wanted.type == HeapTypeSparse) return nullptr;
    auto memory = allocate(impl(this), wanted.size);
    if (memory == nullptr) return nullptr;
    auto* heap = new HeapImpl;
    heap->memory = std::move(memory);
    heap->type = wanted.type;
    return heap;
}

ResidencySet* Device::newResidencySet(const ResidencySetDescriptor* descriptor, NS::Error**) {
    auto* set = new ResidencySetImpl;
    set->device = &impl(this);
    retain();
    set->label = impl(descriptor).label;
    return set;
}

NS::UInteger Allocation::allocatedSize() const {
    if (const auto* buffer = dynamic_cast<const BufferImpl*>(this)) {
        return buffer->heap ? ingot::round_up(buffer->length, kHeapAlignment) : buffer->memory->size_bytes;
    }
    const auto* heap = dynamic_cast<const HeapImpl*>(this);
    return heap ? heap->memory->size_bytes : 0;
}

// Buffers are the only resources.
static BufferImpl& as_buffer(const Resource* resource) {
    return *static_cast<BufferImpl*>(const_cast<Resource*>(resource));
}
NS::String* Resource::label() const {
    return make_string(as_buffer(this).label);
}
void Resource::setLabel(const NS::String* label) {
    as_buffer(this).label = to_std_string(label);
}
Device* Resource::device() const {
    return as_buffer(this).memory->device;
}
StorageMode Resource::storageMode() const {
    return StorageMode((as_buffer(this).options >> 4) & 0xF);
}
CPUCacheMode Resource::cpuCacheMode() const {
    return CPUCacheMode(as_buffer(this).options & 0xF);
}
HazardTrackingMode Resource::hazardTrackingMode() const {
    return HazardTrackingMode((as_buffer(this).options >> 8) & 3);
}
ResourceOptions Resource::resourceOptions() const {
    return as_buffer(this).options;
}
Heap* Resource::heap() const {
    return as_buffer(this).heap;
}
NS::UInteger Resource::heapOffset() const {
    return as_buffer(this).heap ? as_buffer(this).offset : 0;
}
PurgeableState Resource::setPurgeableState(PurgeableState) {
    return PurgeableStateNonVolatile;
}

NS::UInteger Buffer::length() const {
    return impl(this).length;
}
void* Buffer::contents() {
    impl(this).memory->has_contents = true;
    if (Watch* watch = watch_of(*impl(this).memory->device)) watch->host_reads(impl(this));
    return impl(this).address();
}
void Buffer::didModifyRange(NS::Range) {}
std::uint64_t Buffer::gpuAddress() const {
    return reinterpret_cast<std::uint64_t>(impl(this).address());
}
void Buffer::addDebugMarker(const NS::String*, NS::Range) {}
void Buffer::removeAllDebugMarkers() {}

HeapDescriptor* HeapDescriptor::alloc() {
    return new HeapDescriptorImpl;
}
HeapDescriptor* HeapDescriptor::init() {
    return this;
}
NS::UInteger HeapDescriptor::size() const {
    return impl(this).size;
}
void HeapDescriptor::setSize(NS::UInteger size) {
    impl(this).size = size;
}
HeapType HeapDescriptor::type() const {
    return impl(this).type;
}
void HeapDescriptor::setType(HeapType type) {
    impl(this).type = type;
}
ResourceOptions HeapDescriptor::resourceOptions() const {
    return impl(this).options;
}
void HeapDescriptor::setResourceOptions(ResourceOptions options) {
    impl(this).options = options;
}
StorageMode HeapDescriptor::storageMode() const {
    return StorageMode((impl(this).options >> 4) & 0xF);
}
void HeapDescriptor::setStorageMode(StorageMode mode) {
    ResourceOptions& options = impl(this).options;
    options = (options & ~ResourceOptions{0xF0}) | (ResourceOptions(mode) << 4);
}
HeapDescriptor* HeapDescriptor::copy_() const {
    const HeapDescriptorImpl& from = impl(this);
    auto* copy = new HeapDescriptorImpl;
    copy->size = from.size;
    copy->type = from.type;
    copy->options = from.options;
    return copy;
}

NS::String* Heap::label() const {
    return make_string(impl(this).label);
}
void Heap::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
Device* Heap::device() const {
    return impl(this).memory->device;
}
HeapType Heap::type() const {
    return impl(this).type;
}
NS::UInteger Heap::size() const {
    return impl(this).memory->size_bytes;
}
NS::UInteger Heap::currentAllocatedSize() const {
    return size();
}
// Bytes that several buffers share count once.
NS::UInteger Heap::usedSize() const {
    HeapImpl& heap = impl(this);
    const std::scoped_lock lock(heap.mutex);
    uint64_t used = 0, end = 0;
    for (const auto& [offset, bytes] : heap.taken) {
        const uint64_t begin = std::max(offset, end);
        end = std::max(end, offset + bytes);
        used += end - std::min(begin, end);
    }
    return used;
}

// Gaps between what is taken, first to last: visit(offset, size) returns true to stop.
template <class Visit>
static void for_each_gap(const HeapImpl& heap, Visit visit) {
    uint64_t at = 0;
    for (const auto& [offset, bytes] : heap.taken) {
        if (offset > at && visit(at, offset - at)) return;
        at = std::max(at, offset + bytes);
    }
    if (at < heap.memory->size_bytes) visit(at, heap.memory->size_bytes - at);
}

NS::UInteger Heap::maxAvailableSize(NS::UInteger alignment) {
    HeapImpl& heap = impl(this);
    const std::scoped_lock lock(heap.mutex);
    NS::UInteger largest = 0;
    for_each_gap(heap, [&](uint64_t offset, uint64_t bytes) {
        const uint64_t skipped = ingot::round_up(offset, std::max<uint64_t>(alignment, 1)) - offset;
        if (bytes > skipped) largest = std::max<NS::UInteger>(largest, bytes - skipped);
        return false;
    });
    return largest;
}

Buffer* Heap::newBuffer(NS::UInteger length, ResourceOptions options) {
    HeapImpl& heap = impl(this);
    const std::scoped_lock lock(heap.mutex);
    const uint64_t wanted = ingot::round_up(std::max<uint64_t>(length, 1), kHeapAlignment);
    Buffer* buffer = nullptr;
    for_each_gap(heap, [&](uint64_t offset, uint64_t bytes) {
        if (bytes < wanted) return false;
        buffer = buffer_in_heap(heap, length, options, offset);
        return true;
    });
    return buffer;
}

// Placement heaps let buffers overlap: aliasing is their purpose.
Buffer* Heap::newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset) {
    HeapImpl& heap = impl(this);
    if (heap.type != HeapTypePlacement || offset % kHeapAlignment != 0 || length == 0) return nullptr;
    if (offset > heap.memory->size_bytes || length > heap.memory->size_bytes - offset) return nullptr;
    const std::scoped_lock lock(heap.mutex);
    return buffer_in_heap(heap, length, options, offset);
}

ResidencySetDescriptor* ResidencySetDescriptor::alloc() {
    return new ResidencyDescriptorImpl;
}
ResidencySetDescriptor* ResidencySetDescriptor::init() {
    return this;
}
NS::UInteger ResidencySetDescriptor::initialCapacity() const {
    return impl(this).capacity;
}
void ResidencySetDescriptor::setInitialCapacity(NS::UInteger capacity) {
    impl(this).capacity = capacity;
}
NS::String* ResidencySetDescriptor::label() const {
    return make_string(impl(this).label);
}
void ResidencySetDescriptor::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
ResidencySetDescriptor* ResidencySetDescriptor::copy_() const {
    auto* copy = new ResidencyDescriptorImpl;
    copy->capacity = impl(this).capacity;
    copy->label = impl(this).label;
    return copy;
}

NS::String* ResidencySet::label() const {
    return make_string(impl(this).label);
}
Device* ResidencySet::device() const {
    return impl(this).device;
}
void ResidencySet::addAllocation(const Allocation* allocation) {
    auto* member = const_cast<Allocation*>(allocation);
    if (impl(this).members.insert(member).second) member->retain();
}
void ResidencySet::addAllocations(const Allocation* const allocations[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) addAllocation(allocations[i]);
}
void ResidencySet::removeAllocation(const Allocation* allocation) {
    auto* member = const_cast<Allocation*>(allocation);
    if (impl(this).members.erase(member) != 0) member->release();
}
void ResidencySet::removeAllocations(const Allocation* const allocations[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) removeAllocation(allocations[i]);
}
void ResidencySet::removeAllAllocations() {
    while (!impl(this).members.empty()) {
        removeAllocation(*impl(this).members.begin());
    }
}
bool ResidencySet::containsAllocation(const Allocation* allocation) {
    return impl(this).members.contains(const_cast<Allocation*>(allocation));
}
NS::UInteger ResidencySet::allocationCount() const {
    return impl(this).members.size();
}
NS::Array* ResidencySet::allAllocations() const {
    const auto& members = impl(this).members;
    return make_array(std::vector<NS::Object*>(members.begin(), members.end()));
}
std::uint64_t ResidencySet::allocatedSize() const {
    std::uint64_t bytes = 0;
    for (const Allocation* member : impl(this).members) bytes += member->allocatedSize();
    return bytes;
}
void ResidencySet::commit() {}
void ResidencySet::requestResidency() {}
void ResidencySet::endResidency() {}

}  // namespace MTL
