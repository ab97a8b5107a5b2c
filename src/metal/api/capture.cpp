// The capture manager, its descriptors and scopes. One capture at a time, as on Apple's systems. A capture
// here is a text file: command buffers, encoders, debug groups, dispatches with what was bound, in the order
// of their commits.
#include "metal/api/capture.h"

#include <cstdio>

namespace ingot::metal::api {
namespace {

constexpr const char* kDefaultPath = "ingot-capture.txt";

class CaptureDescriptorImpl final : public MTL::CaptureDescriptor {
  public:
    ~CaptureDescriptorImpl() override {
        assign(object, static_cast<const NS::Object*>(nullptr));
        assign(url, static_cast<const NS::URL*>(nullptr));
    }
    NS::Object* object = nullptr;
    NS::URL* url = nullptr;
    MTL::CaptureDestination destination = MTL::CaptureDestinationDeveloperTools;
};
CaptureDescriptorImpl& impl(const MTL::CaptureDescriptor* descriptor) {
    return *static_cast<CaptureDescriptorImpl*>(const_cast<MTL::CaptureDescriptor*>(descriptor));
}

class CaptureScopeImpl final : public MTL::CaptureScope {
  public:
    ~CaptureScopeImpl() override {
        assign(queue, static_cast<const MTL::CommandQueue*>(nullptr));
        device->release();
    }
    MTL::Device* device = nullptr;
    MTL::CommandQueue* queue = nullptr;  // null: all of the device
    std::string label;
};
CaptureScopeImpl& impl(const MTL::CaptureScope* scope) {
    return *static_cast<CaptureScopeImpl*>(const_cast<MTL::CaptureScope*>(scope));
}

class CaptureManagerImpl final : public MTL::CaptureManager {
  public:
    // Null if one is going on already, or if `object` can't be captured; the code says which.
    MTL::CaptureError start(const NS::Object* object, std::string path);
    void stop();

    std::mutex mutex;
    std::shared_ptr<Capture> active;
    // A scope that is to be captured, and the file for it, until the scope begins.
    const MTL::CaptureScope* awaited = nullptr;
    std::string awaited_path;
    MTL::CaptureScope* default_scope = nullptr;
};
CaptureManagerImpl& impl(const MTL::CaptureManager* manager) {
    return *static_cast<CaptureManagerImpl*>(const_cast<MTL::CaptureManager*>(manager));
}

CaptureManagerImpl& the_manager() {
    static auto* manager = new CaptureManagerImpl;
    return *manager;
}

constexpr auto kNoError = MTL::CaptureError(0);

MTL::CaptureError CaptureManagerImpl::start(const NS::Object* object, std::string path) {
    const std::scoped_lock lock(mutex);
    if (active != nullptr || awaited != nullptr) return MTL::CaptureErrorAlreadyCapturing;
    if (const auto* scope = dynamic_cast<const CaptureScopeImpl*>(object)) {
        awaited = scope;
        awaited_path = std::move(path);
        return kNoError;
    }
    const auto* queue = dynamic_cast<const QueueImpl*>(object);
    if (queue == nullptr && dynamic_cast<const DeviceImpl*>(object) == nullptr) {
        return MTL::CaptureErrorInvalidDescriptor;
    }
    active = std::make_shared<Capture>(queue, std::move(path));
    return kNoError;
}

void CaptureManagerImpl::stop() {
    const std::scoped_lock lock(mutex);
    awaited = nullptr;
    if (active != nullptr) active->finish();
    active = nullptr;
}

const char* describe(MTL::CaptureError code) {
    return code == MTL::CaptureErrorAlreadyCapturing
               ? "a capture is going on already"
               : "a device, command queue or capture scope can be captured";
}

CaptureScopeImpl* make_scope(MTL::Device* device, const MTL::CommandQueue* queue) {
    auto* scope = new CaptureScopeImpl;
    scope->device = device->retain();
    assign(scope->queue, queue);
    return scope;
}

}  // namespace

void Capture::record(const CommandBufferImpl& buffer) {
    const std::scoped_lock lock(mutex_);
    text_ += fmt::format("command buffer '{}' of queue '{}'\n", buffer.label, buffer.queue->label);
    for (const std::string& line : buffer.description) text_ += line + "\n";
}

void Capture::finish() {
    const std::scoped_lock lock(mutex_);
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    bool written = file != nullptr && std::fwrite(text_.data(), 1, text_.size(), file) == text_.size();
    if (file != nullptr) written = std::fclose(file) == 0 && written;
    if (!written) fmt::print(stderr, "ingot: can't write the capture {}\n", path_);
}

std::shared_ptr<Capture> active_capture(const QueueImpl& queue) {
    CaptureManagerImpl& manager = the_manager();
    const std::scoped_lock lock(manager.mutex);
    return manager.active != nullptr && manager.active->covers(queue) ? manager.active : nullptr;
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

const NS::ErrorDomain CaptureErrorDomain = NS::MakeConstantString("MTLCaptureErrorDomain");

CaptureManager* CaptureManager::sharedCaptureManager() {
    return &the_manager();
}
CaptureScope* CaptureManager::newCaptureScope(const Device* device) {
    return make_scope(const_cast<Device*>(device), nullptr);
}
CaptureScope* CaptureManager::newCaptureScope(const CommandQueue* queue) {
    return make_scope(queue->device(), queue);
}
CaptureScope* CaptureManager::defaultCaptureScope() const {
    return impl(this).default_scope;
}
void CaptureManager::setDefaultCaptureScope(const CaptureScope* scope) {
    assign(impl(this).default_scope, scope);
}
bool CaptureManager::supportsDestination(CaptureDestination destination) {
    return destination == CaptureDestinationGPUTraceDocument;
}
bool CaptureManager::startCapture(const CaptureDescriptor* descriptor, NS::Error** error) {
    const CaptureDescriptorImpl& wanted = impl(descriptor);
    if (!supportsDestination(wanted.destination) || wanted.url == nullptr) {
        set_error(error, CaptureErrorDomain, CaptureErrorNotSupported,
                  "captures go to a GPU trace document: set that destination and an output URL");
        return false;
    }
    const CaptureError code = impl(this).start(wanted.object, wanted.url->fileSystemRepresentation());
    if (code == kNoError) return true;
    set_error(error, CaptureErrorDomain, code, describe(code));
    return false;
}
static void start_or_warn(CaptureManager* manager, const NS::Object* object) {
    const CaptureError code = impl(manager).start(object, kDefaultPath);
    if (code != kNoError) fmt::print(stderr, "ingot: no capture: {}\n", describe(code));
}
void CaptureManager::startCapture(const Device* device) {
    start_or_warn(this, device);
}
void CaptureManager::startCapture(const CommandQueue* queue) {
    start_or_warn(this, queue);
}
void CaptureManager::startCapture(const CaptureScope* scope) {
    start_or_warn(this, scope);
}
void CaptureManager::stopCapture() {
    impl(this).stop();
}
bool CaptureManager::isCapturing() const {
    CaptureManagerImpl& manager = impl(this);
    const std::scoped_lock lock(manager.mutex);
    return manager.active != nullptr || manager.awaited != nullptr;
}

Device* CaptureScope::device() const {
    return impl(this).device;
}
CommandQueue* CaptureScope::commandQueue() const {
    return impl(this).queue;
}
NS::String* CaptureScope::label() const {
    return make_string(impl(this).label);
}
void CaptureScope::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
void CaptureScope::beginScope() {
    CaptureManagerImpl& manager = the_manager();
    const std::scoped_lock lock(manager.mutex);
    if (manager.awaited != this || manager.active != nullptr) return;
    manager.active =
        std::make_shared<Capture>(static_cast<const QueueImpl*>(impl(this).queue), manager.awaited_path);
}
void CaptureScope::endScope() {
    CaptureManagerImpl& manager = the_manager();
    {
        const std::scoped_lock lock(manager.mutex);
        if (manager.awaited != this) return;
    }
    manager.stop();
}

CaptureDescriptor* CaptureDescriptor::alloc() {
    return new CaptureDescriptorImpl;
}
CaptureDescriptor* CaptureDescriptor::init() {
    return this;
}
NS::Object* CaptureDescriptor::captureObject() const {
    return impl(this).object;
}
void CaptureDescriptor::setCaptureObject(NS::Object* object) {
    assign(impl(this).object, static_cast<const NS::Object*>(object));
}
CaptureDestination CaptureDescriptor::destination() const {
    return impl(this).destination;
}
void CaptureDescriptor::setDestination(CaptureDestination destination) {
    impl(this).destination = destination;
}
NS::URL* CaptureDescriptor::outputURL() const {
    return impl(this).url;
}
void CaptureDescriptor::setOutputURL(const NS::URL* url) {
    assign(impl(this).url, url);
}
CaptureDescriptor* CaptureDescriptor::copy_() const {
    auto* copy = new CaptureDescriptorImpl;
    copy->destination = impl(this).destination;
    copy->setCaptureObject(impl(this).object);
    copy->setOutputURL(impl(this).url);
    return copy;
}

}  // namespace MTL
