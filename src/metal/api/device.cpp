// The device itself, fences and events.
#include <unistd.h>

#include "base/check.h"
#include "metal/api/extensions.h"
#include "metal/api/watch.h"
#include "metal/exec/deadline.h"
#include "metal/exec/tensor_argument.h"

namespace ingot::metal::api {
namespace {

class ArchitectureImpl final : public MTL::Architecture {};

class FenceImpl final : public MTL::Fence {
  public:
    ~FenceImpl() override { device->release(); }
    DeviceImpl* device = nullptr;
    std::string label;
};
FenceImpl& impl(const MTL::Fence* fence) {
    return *static_cast<FenceImpl*>(const_cast<MTL::Fence*>(fence));
}

// Watched if the environment says so.
DeviceImpl* make_device() {
    auto* device = new DeviceImpl;
    const char* checkers = std::getenv("INGOT_METAL_CHECK");
    const char* folder = std::getenv("INGOT_METAL_RECORD");
    if (folder != nullptr && *folder != '\0') set_recording(device, folder);
    if (checkers == nullptr || *checkers == '\0') return device;
    const auto done = set_checks(device, checkers);
    if (!done) fmt::print(stderr, "ingot: INGOT_METAL_CHECK: {}\n", done.error().describe());
    if (done) device->watch->prints = true;
    return device;
}

EventImpl* make_event(DeviceImpl& device) {
    auto* event = new EventImpl;
    event->device = &device;
    device.retain();
    return event;
}

class ListenerImpl final : public MTL::SharedEventListener {};

uint64_t physical_memory_bytes() {
    return uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void EventImpl::signal(uint64_t next) {
    std::vector<Listener> ready;
    {
        const std::scoped_lock lock(mutex);
        value = next;
        std::erase_if(listeners, [&](const Listener& listener) {
            if (listener.value > next) return false;
            ready.push_back(listener);
            return true;
        });
    }
    changed.notify_all();
    for (const Listener& listener : ready) listener.function(this, next);
}

bool EventImpl::wait(uint64_t wanted, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex);
    const auto reached = [&] { return value >= wanted; };
    if (deadline == std::chrono::steady_clock::time_point::max()) {
        changed.wait(lock, reached);
        return true;
    }
    return changed.wait_until(lock, deadline, reached);
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

Device* CreateSystemDefaultDevice() {
    static DeviceImpl* device = make_device();
    device->retain();
    return device;
}

NS::Array* CopyAllDevices() {
    const NS::Object* device = CreateSystemDefaultDevice();
    NS::Array* devices = NS::Array::alloc()->init(&device, 1);
    const_cast<NS::Object*>(device)->release();
    return devices;
}

NS::String* Architecture::name() const {
    return NS::MakeConstantString("ingot_virtual");
}

NS::String* Device::name() const {
    return NS::MakeConstantString("Ingot virtual Metal device");
}
std::uint64_t Device::registryID() const {
    return 1;
}
Architecture* Device::architecture() const {
    static ArchitectureImpl* architecture = new ArchitectureImpl;
    return architecture;
}
Size Device::maxThreadsPerThreadgroup() const {
    constexpr NS::UInteger most = ingot::metal::kMaxThreadsPerThreadgroup;
    return Size(most, most, most);
}
bool Device::hasUnifiedMemory() const {
    return true;
}
bool Device::isLowPower() const {
    return false;
}
bool Device::isHeadless() const {
    return true;
}
bool Device::isRemovable() const {
    return false;
}
std::uint64_t Device::recommendedMaxWorkingSetSize() const {
    return physical_memory_bytes() / 4 * 3;
}
NS::UInteger Device::currentAllocatedSize() const {
    return impl(this).allocated_bytes;
}
NS::UInteger Device::maxThreadgroupMemoryLength() const {
    return ingot::metal::kMaxThreadgroupBytes;
}
NS::UInteger Device::maxBufferLength() const {
    return physical_memory_bytes() / 4 * 3;
}

// What the compute features of these families need is there; their textures and graphics are not.
bool Device::supportsFamily(GPUFamily family) {
    switch (family) {
        case GPUFamilyMetal3:
        case GPUFamilyMetal4:
        case GPUFamilyCommon1:
        case GPUFamilyCommon2:
        case GPUFamilyCommon3:
        case GPUFamilyMac1:
        case GPUFamilyMac2:
            return true;
        default:
            return family >= GPUFamilyApple1 && family <= GPUFamilyApple10;
    }
}

Fence* Device::newFence() {
    auto* fence = new FenceImpl;
    fence->device = &impl(this);
    retain();
    return fence;
}
Event* Device::newEvent() {
    return make_event(impl(this));
}
SharedEvent* Device::newSharedEvent() {
    return make_event(impl(this));
}

Device* Fence::device() const {
    return impl(this).device;
}
NS::String* Fence::label() const {
    return make_string(impl(this).label);
}
void Fence::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}

Device* Event::device() const {
    return impl(this).device;
}
NS::String* Event::label() const {
    return make_string(impl(this).label);
}
void Event::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}

SharedEventListener* SharedEventListener::alloc() {
    return new ListenerImpl;
}
SharedEventListener* SharedEventListener::init() {
    return this;
}
SharedEventListener* SharedEventListener::sharedListener() {
    static ListenerImpl* listener = new ListenerImpl;
    return listener;
}

std::uint64_t SharedEvent::signaledValue() const {
    EventImpl& event = impl(this);
    const std::scoped_lock lock(event.mutex);
    return event.value;
}
void SharedEvent::setSignaledValue(std::uint64_t value) {
    impl(this).signal(value);
}
bool SharedEvent::waitUntilSignaledValue(std::uint64_t value, std::uint64_t milliseconds) {
    return impl(this).wait(value, ingot::metal::deadline_after(double(milliseconds) / 1000));
}
void SharedEvent::notifyListener(const SharedEventListener*, std::uint64_t value,
                                 const SharedEventNotificationFunction& function) {
    EventImpl& event = impl(this);
    {
        const std::scoped_lock lock(event.mutex);
        if (event.value < value) {
            event.listeners.push_back({value, function});
            return;
        }
    }
    function(this, value);
}

}  // namespace MTL

namespace ingot::metal {

void set_time_limit(MTL::Device* device, double seconds) {
    INGOT_CHECK(seconds > 0, "a time limit of {} seconds; more than 0 are accepted", seconds);
    api::impl(device).time_limit_seconds = seconds;
}
void set_cooperative_layout(MTL::Device* device, CooperativeLayout layout) {
    api::impl(device).layout = layout;
}
void set_reconvergence(MTL::Device* device, bool on) {
    api::impl(device).reconverge = on;
}
void set_strict(MTL::Device* device, bool on) {
    api::impl(device).strict = on;
}
void set_trusts_libraries(MTL::Device* device, bool on) {
    api::impl(device).trust_files = on;
}
void set_tensor(MTL::ComputeCommandEncoder* encoder, const MTL::Buffer* buffer, NS::UInteger offset_bytes,
                const std::vector<int32_t>& extents, const std::vector<int32_t>& strides, NS::UInteger slot) {
    const auto* elements = static_cast<const std::byte*>(const_cast<MTL::Buffer*>(buffer)->contents());
    const auto record =
        tensor_argument(elements + offset_bytes, extents, strides.empty() ? dense_strides(extents) : strides);
    encoder->setBytes(record.data(), record.size(), slot);
    encoder->useResource(buffer, MTL::ResourceUsage(MTL::ResourceUsageRead | MTL::ResourceUsageWrite));
}
CompileCounts compile_counts(MTL::Device*) {
    const auto loaded = compiler();
    return loaded ? (*loaded)->counts() : CompileCounts{};
}
void set_executor(MTL::Device* device, ExecutorKind kind) {
    api::impl(device).executor_kind = kind;
}

}  // namespace ingot::metal
