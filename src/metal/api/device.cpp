// The device itself, and the settings that Apple's API has no name for.
#include <unistd.h>

#include "base/check.h"
#include "metal/api/extensions.h"
#include "metal/api/watch.h"
#include "metal/exec/tensor_argument.h"

namespace ingot::metal::api {
namespace {

class ArchitectureImpl final : public MTL::Architecture {};

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

uint64_t physical_memory_bytes() {
    return uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGESIZE));
}

}  // namespace
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
