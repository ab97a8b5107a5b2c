// Queues and command buffers. Encoding (encoders.cpp) records commands; the queue's thread runs them in
// order, one command at a time: serial and concurrent encoders, barriers and fences are all kept by that
// order.
#include "base/check.h"
#include "metal/api/capture.h"
#include "metal/api/watch.h"
#include "metal/exec/deadline.h"

namespace ingot::metal::api {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_now() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

QueueImpl& impl(const MTL::CommandQueue* queue) {
    return *static_cast<QueueImpl*>(const_cast<MTL::CommandQueue*>(queue));
}

}  // namespace

CommandBufferImpl::CommandBufferImpl(QueueImpl& owner, bool retains_references)
    : queue(&owner), retains(retains_references) {
    owner.retain();
    capture = active_capture(owner);
}

void CommandBufferImpl::describe(std::string line) {
    if (capture != nullptr) description.push_back(std::move(line));
}

CommandBufferImpl::~CommandBufferImpl() {
    for (NS::Object* object : kept) object->release();
    if (error != nullptr) error->release();
    queue->release();
}

void CommandBufferImpl::keep(const NS::Object* object) {
    // Where somebody watches, what is released too early is told, and lives on.
    if (object == nullptr || (!retains && watch_of(*queue->device) == nullptr)) return;
    kept.push_back(const_cast<NS::Object*>(object)->retain());
}

void CommandBufferImpl::execute() {
    const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    {
        const std::scoped_lock lock(mutex);
        status = MTL::CommandBufferStatusScheduled;
        start_seconds = seconds_now();
    }
    changed.notify_all();
    for (const auto& handler : scheduled_handlers) handler(this);
    const auto deadline = deadline_after(queue->device->time_limit_seconds);
    CommandResult result;
    for (const Command& command : commands) {
        result = command(deadline);
        if (result.code != MTL::CommandBufferErrorNone) break;
    }
    {
        const std::scoped_lock lock(mutex);
        end_seconds = seconds_now();
        status = MTL::CommandBufferStatusCompleted;
        if (result.code != MTL::CommandBufferErrorNone) {
            status = MTL::CommandBufferStatusError;
            if (!label.empty())
                result.message = fmt::format("command buffer '{}': {}", label, result.message);
            error = make_error(MTL::CommandBufferErrorDomain, NS::Integer(result.code), result.message);
        }
    }
    Watch* watch = watch_of(*queue->device);
    if (watch != nullptr && !retains) watch->check_released(*this);
    if (watch != nullptr && !completed_handlers.empty()) watch->host_knows(*this);
    for (const auto& handler : completed_handlers) handler(this);
    commands.clear();
    {
        const std::scoped_lock lock(mutex);
        handlers_done = true;
    }
    changed.notify_all();
}

QueueImpl::QueueImpl(DeviceImpl& owner) : device(&owner) {
    device->retain();
    thread_ = std::thread([line = line_] { serve(line); });
}

QueueImpl::~QueueImpl() {
    {
        const std::scoped_lock lock(line_->mutex);
        line_->ending = true;
    }
    line_->changed.notify_all();
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
    device->release();
}

void QueueImpl::enqueue(CommandBufferImpl& buffer) {
    const std::scoped_lock lock(line_->mutex);
    buffer.retain();
    line_->waiting.push_back(&buffer);
}

void QueueImpl::committed() {
    {
        const std::scoped_lock lock(line_->mutex);
    }
    line_->changed.notify_all();
}

void QueueImpl::serve(const std::shared_ptr<Line>& line) {
    for (;;) {
        CommandBufferImpl* next = nullptr;
        {
            std::unique_lock lock(line->mutex);
            line->changed.wait(lock, [&] {
                if (line->waiting.empty()) return line->ending;
                const std::scoped_lock buffer_lock(line->waiting.front()->mutex);
                return line->waiting.front()->status == MTL::CommandBufferStatusCommitted;
            });
            if (line->waiting.empty()) return;
            next = line->waiting.front();
            line->waiting.pop_front();
        }
        next->execute();
        next->release();
    }
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

const NS::ErrorDomain CommandBufferErrorDomain = NS::MakeConstantString("MTLCommandBufferErrorDomain");

CommandQueue* Device::newCommandQueue() {
    return new QueueImpl(impl(this));
}
CommandQueue* Device::newCommandQueue(NS::UInteger) {
    return newCommandQueue();
}

Device* CommandQueue::device() const {
    return impl(this).device;
}
NS::String* CommandQueue::label() const {
    return make_string(impl(this).label);
}
void CommandQueue::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
CommandBuffer* CommandQueue::commandBuffer() {
    CommandBuffer* buffer = new CommandBufferImpl(impl(this), true);
    buffer->autorelease();
    return buffer;
}
CommandBuffer* CommandQueue::commandBufferWithUnretainedReferences() {
    CommandBuffer* buffer = new CommandBufferImpl(impl(this), false);
    buffer->autorelease();
    return buffer;
}
void CommandQueue::insertDebugCaptureBoundary() {}
void CommandQueue::addResidencySet(const ResidencySet*) {}
void CommandQueue::addResidencySets(const ResidencySet* const[], NS::UInteger) {}
void CommandQueue::removeResidencySet(const ResidencySet*) {}
void CommandQueue::removeResidencySets(const ResidencySet* const[], NS::UInteger) {}

Device* CommandBuffer::device() const {
    return impl(this).queue->device;
}
CommandQueue* CommandBuffer::commandQueue() const {
    return impl(this).queue;
}
NS::String* CommandBuffer::label() const {
    return make_string(impl(this).label);
}
void CommandBuffer::setLabel(const NS::String* label) {
    impl(this).label = to_std_string(label);
}
bool CommandBuffer::retainedReferences() const {
    return impl(this).retains;
}

ComputeCommandEncoder* CommandBuffer::computeCommandEncoder() {
    return make_compute_encoder(impl(this), DispatchTypeSerial);
}
ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(DispatchType type) {
    return make_compute_encoder(impl(this), type);
}
ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(const ComputePassDescriptor* descriptor) {
    return make_compute_encoder(impl(this), descriptor->dispatchType());
}
BlitCommandEncoder* CommandBuffer::blitCommandEncoder() {
    return make_blit_encoder(impl(this));
}

void CommandBuffer::enqueue() {
    CommandBufferImpl& buffer = impl(this);
    {
        const std::scoped_lock lock(buffer.mutex);
        if (buffer.status != CommandBufferStatusNotEnqueued) return;
        buffer.status = CommandBufferStatusEnqueued;
    }
    buffer.queue->enqueue(buffer);
}
void CommandBuffer::commit() {
    CommandBufferImpl& buffer = impl(this);
    obeys(*buffer.queue->device, !buffer.encoding, ingot::metal::check::FindingKind::kOpenEncoder,
          "A command buffer is committed whose encoder wasn't ended");
    enqueue();
    {
        const std::scoped_lock lock(buffer.mutex);
        INGOT_CHECK(buffer.status == CommandBufferStatusEnqueued, "a command buffer was committed twice");
    }
    // Once it is committed the queue's thread may run it and clear what is read here.
    if (buffer.capture != nullptr) buffer.capture->record(buffer);
    if (Watch* watch = watch_of(*buffer.queue->device)) watch->committed(buffer, buffer.written);
    {
        const std::scoped_lock lock(buffer.mutex);
        buffer.status = CommandBufferStatusCommitted;
    }
    buffer.queue->committed();
}
void CommandBuffer::waitUntilScheduled() {
    CommandBufferImpl& buffer = impl(this);
    std::unique_lock lock(buffer.mutex);
    INGOT_CHECK(buffer.status >= CommandBufferStatusCommitted,
                "waiting for a command buffer that wasn't committed");
    buffer.changed.wait(lock, [&] { return buffer.status >= CommandBufferStatusScheduled; });
}
void CommandBuffer::waitUntilCompleted() {
    CommandBufferImpl& buffer = impl(this);
    std::unique_lock lock(buffer.mutex);
    INGOT_CHECK(buffer.status >= CommandBufferStatusCommitted,
                "waiting for a command buffer that wasn't committed");
    buffer.changed.wait(lock, [&] { return buffer.handlers_done; });
    if (Watch* watch = watch_of(*buffer.queue->device)) watch->host_knows(buffer);
}
CommandBufferStatus CommandBuffer::status() const {
    CommandBufferImpl& buffer = impl(this);
    const std::scoped_lock lock(buffer.mutex);
    Watch* watch = watch_of(*buffer.queue->device);
    if (watch != nullptr && buffer.status >= CommandBufferStatusCompleted) watch->host_knows(buffer);
    return buffer.status;
}
NS::Error* CommandBuffer::error() const {
    CommandBufferImpl& buffer = impl(this);
    const std::scoped_lock lock(buffer.mutex);
    return buffer.error;
}
// The queue's thread reads them without a lock.
static void add_handler(CommandBufferImpl& buffer, std::vector<HandlerFunction>& handlers,
                        const HandlerFunction& function) {
    const std::scoped_lock lock(buffer.mutex);
    INGOT_CHECK(buffer.status < CommandBufferStatusCommitted,
                "a handler is added to a committed command buffer");
    handlers.push_back(function);
}
static CFTimeInterval time_of(CommandBufferImpl& buffer, const double& seconds) {
    const std::scoped_lock lock(buffer.mutex);
    return seconds;
}
void CommandBuffer::addScheduledHandler(const HandlerFunction& function) {
    add_handler(impl(this), impl(this).scheduled_handlers, function);
}
void CommandBuffer::addCompletedHandler(const HandlerFunction& function) {
    add_handler(impl(this), impl(this).completed_handlers, function);
}
void CommandBuffer::encodeWait(const Event* event, std::uint64_t value) {
    impl(this).keep(event);
    impl(this).add([event, value](auto deadline) -> CommandResult {
        if (impl(event).wait(value, deadline)) return {};
        return {CommandBufferErrorTimeout,
                fmt::format("the event's value {} wasn't signaled in time", value)};
    });
}
void CommandBuffer::encodeSignalEvent(const Event* event, std::uint64_t value) {
    impl(this).keep(event);
    // Who waits for the event knows that what comes before it is done.
    impl(this).add([event, value, commands = &impl(this)](auto) -> CommandResult {
        if (Watch* watch = watch_of(*commands->queue->device)) watch->host_knows(*commands);
        impl(event).signal(value);
        return {};
    });
}
CFTimeInterval CommandBuffer::GPUStartTime() const {
    return time_of(impl(this), impl(this).start_seconds);
}
CFTimeInterval CommandBuffer::GPUEndTime() const {
    return time_of(impl(this), impl(this).end_seconds);
}
CFTimeInterval CommandBuffer::kernelStartTime() const {
    return time_of(impl(this), impl(this).start_seconds);
}
CFTimeInterval CommandBuffer::kernelEndTime() const {
    return time_of(impl(this), impl(this).end_seconds);
}
void CommandBuffer::pushDebugGroup(const NS::String* text) {
    CommandBufferImpl& buffer = impl(this);
    buffer.describe(fmt::format("  group '{}'", to_std_string(text)));
    ++buffer.open_groups;
}
void CommandBuffer::popDebugGroup() {
    INGOT_CHECK(impl(this).open_groups != 0, "popDebugGroup without pushDebugGroup");
    --impl(this).open_groups;
}
void CommandBuffer::useResidencySet(const ResidencySet* set) {
    impl(this).keep(set);
}
void CommandBuffer::useResidencySets(const ResidencySet* const sets[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) useResidencySet(sets[i]);
}

}  // namespace MTL
