// Fences, events, and the threads that listeners of shared events have.
#include <thread>

#include "metal/api/objects.h"
#include "metal/exec/deadline.h"

namespace ingot::metal::api {
namespace {

class FenceImpl final : public MTL::Fence {
  public:
    ~FenceImpl() override { device->release(); }
    DeviceImpl* device = nullptr;
    std::string label;
};
FenceImpl& impl(const MTL::Fence* fence) {
    return *static_cast<FenceImpl*>(const_cast<MTL::Fence*>(fence));
}

EventImpl* make_event(DeviceImpl& device) {
    auto* event = new EventImpl;
    event->device = &device;
    device.retain();
    return event;
}

class ListenerImpl final : public MTL::SharedEventListener {
  public:
    ~ListenerImpl() override { notifications->close(); }
    const std::shared_ptr<Notifications> notifications = std::make_shared<Notifications>();
};

void post(Notifications& notifications, EventImpl& event, MTL::SharedEventNotificationFunction function,
          uint64_t value) {
    event.retain();
    notifications.add([&event, function = std::move(function), value] {
        function(&event, value);
        event.release();
    });
}

}  // namespace

void Notifications::add(std::function<void()> call) {
    {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(call));
        if (!std::exchange(started_, true)) {
            std::thread([self = shared_from_this()] { self->serve(); }).detach();
        }
    }
    changed_.notify_one();
}

void Notifications::close() {
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
}

void Notifications::serve() {
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !waiting_.empty() || closed_; });
        if (waiting_.empty()) return;
        const auto call = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        call();
    }
}

void EventImpl::signal(uint64_t next) {
    std::vector<Listener> ready;
    {
        const std::scoped_lock lock(mutex);
        value = next;
        std::erase_if(listeners, [&](Listener& listener) {
            if (listener.value > next) return false;
            ready.push_back(std::move(listener));
            return true;
        });
    }
    changed.notify_all();
    for (Listener& listener : ready) post(*listener.notifications, *this, std::move(listener.function), next);
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
void SharedEvent::notifyListener(const SharedEventListener* listener, std::uint64_t value,
                                 const SharedEventNotificationFunction& function) {
    EventImpl& event = impl(this);
    if (listener == nullptr) listener = SharedEventListener::sharedListener();
    const auto& notifications = static_cast<const ListenerImpl*>(listener)->notifications;
    std::uint64_t reached = 0;
    {
        const std::scoped_lock lock(event.mutex);
        reached = event.value;
        if (reached < value) {
            event.listeners.push_back({value, function, notifications});
            return;
        }
    }
    post(*notifications, event, function, reached);
}

}  // namespace MTL
