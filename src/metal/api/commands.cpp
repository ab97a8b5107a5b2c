// Queues, command buffers and encoders. Encoding records commands; the queue's thread runs them in order, one
// command at a time: serial and concurrent encoders, barriers and fences are all kept by that order.
#include <cstring>

#include "base/check.h"
#include "metal/api/objects.h"

namespace ingot::metal::api {
namespace {

using Clock = std::chrono::steady_clock;

constexpr NS::UInteger kMaxBytesLength = 4096;

double seconds_now() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

QueueImpl& impl(const MTL::CommandQueue* queue) {
    return *static_cast<QueueImpl*>(const_cast<MTL::CommandQueue*>(queue));
}

struct BoundBuffer {
    const BufferImpl* buffer = nullptr;
    uint64_t offset = 0;
    std::shared_ptr<std::vector<std::byte>> bytes;  // of setBytes
};

struct ComputeState {
    const PipelineImpl* pipeline = nullptr;
    std::array<BoundBuffer, kNumBufferSlots> buffers{};
    std::array<uint32_t, kNumThreadgroupSlots> threadgroup_bytes{};
};

class ComputeEncoderImpl final : public MTL::ComputeCommandEncoder {
  public:
    ~ComputeEncoderImpl() override { command_buffer->release(); }
    CommandBufferImpl* command_buffer = nullptr;
    MTL::DispatchType type = MTL::DispatchTypeSerial;
    std::string label;
    ComputeState state;
};
ComputeEncoderImpl& impl(const MTL::ComputeCommandEncoder* encoder) {
    return *static_cast<ComputeEncoderImpl*>(const_cast<MTL::ComputeCommandEncoder*>(encoder));
}

class BlitEncoderImpl final : public MTL::BlitCommandEncoder {
  public:
    ~BlitEncoderImpl() override { command_buffer->release(); }
    CommandBufferImpl* command_buffer = nullptr;
    std::string label;
};
BlitEncoderImpl& impl(const MTL::BlitCommandEncoder* encoder) {
    return *static_cast<BlitEncoderImpl*>(const_cast<MTL::BlitCommandEncoder*>(encoder));
}

struct EncoderView {
    CommandBufferImpl* command_buffer;
    std::string* label;
};
EncoderView view(const MTL::CommandEncoder* encoder) {
    auto* any = const_cast<MTL::CommandEncoder*>(encoder);
    if (auto* compute = dynamic_cast<ComputeEncoderImpl*>(any))
        return {compute->command_buffer, &compute->label};
    auto* blit = static_cast<BlitEncoderImpl*>(any);
    return {blit->command_buffer, &blit->label};
}

CommandResult invalid(std::string message) {
    return {MTL::CommandBufferErrorInvalidResource, std::move(message)};
}

CommandResult run_dispatch(const ComputeState& state, Launch launch, Clock::time_point deadline) {
    if (state.pipeline == nullptr) return invalid("a dispatch without a compute pipeline state");
    launch.deadline = deadline;
    launch.threadgroup_bytes = state.threadgroup_bytes;
    for (uint32_t i = 0; i < kNumBufferSlots; ++i) {
        const BoundBuffer& bound = state.buffers[i];
        if (bound.bytes != nullptr) {
            launch.buffers[i] = {bound.bytes->data(), bound.bytes->size()};
        } else if (bound.buffer != nullptr) {
            launch.buffers[i] = {bound.buffer->address() + bound.offset, bound.buffer->length - bound.offset};
        }
    }
    const auto report = state.pipeline->device->executor->run(*state.pipeline->kernel, launch);
    if (!report) return invalid(report.error().describe());
    switch (report->status) {
        case LaunchStatus::kDone:
            return {};
        case LaunchStatus::kTimeLimit:
            return {MTL::CommandBufferErrorTimeout, report->message};
        case LaunchStatus::kFault:
            return {MTL::CommandBufferErrorPageFault, report->message};
    }
    return {};
}

std::string check_offset(const BufferImpl& buffer, uint64_t offset, uint64_t size, const char* what) {
    if (offset <= buffer.length && size <= buffer.length - offset) return {};
    return fmt::format("{}: bytes {} to {} of a buffer of {}", what, offset, offset + size, buffer.length);
}

Size3 to_size3(const MTL::Size& size) {
    return {uint32_t(size.width), uint32_t(size.height), uint32_t(size.depth)};
}

template <typename Encoder, typename Impl>
Encoder* start_encoder(CommandBufferImpl& buffer, Impl* encoder) {
    INGOT_CHECK(!buffer.encoding, "a command buffer has one open encoder at a time: end the other one first");
    buffer.encoding = true;
    buffer.retain();
    encoder->command_buffer = &buffer;
    static_cast<NS::Object*>(encoder)->autorelease();
    return encoder;
}

}  // namespace

CommandBufferImpl::CommandBufferImpl(QueueImpl& owner, bool retains_references)
    : queue(&owner), retains(retains_references) {
    owner.retain();
}

CommandBufferImpl::~CommandBufferImpl() {
    for (NS::Object* object : kept) object->release();
    if (error != nullptr) error->release();
    queue->release();
}

void CommandBufferImpl::keep(const NS::Object* object) {
    if (!retains || object == nullptr) return;
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
    const auto limit = std::chrono::duration<double>(queue->device->time_limit_seconds);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
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
            error = make_error(MTL::CommandBufferErrorDomain, NS::Integer(result.code), result.message);
        }
    }
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
    return computeCommandEncoder(DispatchTypeSerial);
}
ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(DispatchType type) {
    auto* encoder = new ComputeEncoderImpl;
    encoder->type = type;
    return start_encoder<ComputeCommandEncoder>(impl(this), encoder);
}
BlitCommandEncoder* CommandBuffer::blitCommandEncoder() {
    return start_encoder<BlitCommandEncoder>(impl(this), new BlitEncoderImpl);
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
    INGOT_CHECK(!buffer.encoding, "commit of a command buffer whose encoder wasn't ended");
    enqueue();
    {
        const std::scoped_lock lock(buffer.mutex);
        INGOT_CHECK(buffer.status == CommandBufferStatusEnqueued, "a command buffer was committed twice");
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
}
CommandBufferStatus CommandBuffer::status() const {
    CommandBufferImpl& buffer = impl(this);
    const std::scoped_lock lock(buffer.mutex);
    return buffer.status;
}
NS::Error* CommandBuffer::error() const {
    CommandBufferImpl& buffer = impl(this);
    const std::scoped_lock lock(buffer.mutex);
    return buffer.error;
}
void CommandBuffer::addScheduledHandler(const HandlerFunction& function) {
    impl(this).scheduled_handlers.push_back(function);
}
void CommandBuffer::addCompletedHandler(const HandlerFunction& function) {
    impl(this).completed_handlers.push_back(function);
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
    impl(this).add([event, value](auto) -> CommandResult {
        impl(event).signal(value);
        return {};
    });
}
CFTimeInterval CommandBuffer::GPUStartTime() const {
    return impl(this).start_seconds;
}
CFTimeInterval CommandBuffer::GPUEndTime() const {
    return impl(this).end_seconds;
}
CFTimeInterval CommandBuffer::kernelStartTime() const {
    return impl(this).start_seconds;
}
CFTimeInterval CommandBuffer::kernelEndTime() const {
    return impl(this).end_seconds;
}
void CommandBuffer::pushDebugGroup(const NS::String*) {}
void CommandBuffer::popDebugGroup() {}
void CommandBuffer::useResidencySet(const ResidencySet* set) {
    impl(this).keep(set);
}
void CommandBuffer::useResidencySets(const ResidencySet* const sets[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) useResidencySet(sets[i]);
}

Device* CommandEncoder::device() const {
    return view(this).command_buffer->device();
}
NS::String* CommandEncoder::label() const {
    return make_string(*view(this).label);
}
void CommandEncoder::setLabel(const NS::String* label) {
    *view(this).label = to_std_string(label);
}
void CommandEncoder::endEncoding() {
    view(this).command_buffer->encoding = false;
}
void CommandEncoder::insertDebugSignpost(const NS::String*) {}
void CommandEncoder::pushDebugGroup(const NS::String*) {}
void CommandEncoder::popDebugGroup() {}

DispatchType ComputeCommandEncoder::dispatchType() const {
    return impl(this).type;
}
void ComputeCommandEncoder::setComputePipelineState(const ComputePipelineState* state) {
    impl(this).command_buffer->keep(state);
    impl(this).state.pipeline = static_cast<const PipelineImpl*>(state);
}
void ComputeCommandEncoder::setBytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
    INGOT_CHECK(index < ingot::metal::kNumBufferSlots && length <= kMaxBytesLength,
                "setBytes of {} bytes in slot {}; at most {} bytes and slots 0 to {} are accepted", length,
                index, kMaxBytesLength, ingot::metal::kNumBufferSlots - 1);
    const auto* begin = static_cast<const std::byte*>(bytes);
    impl(this).state.buffers[index] = {nullptr, 0,
                                       std::make_shared<std::vector<std::byte>>(begin, begin + length)};
}
void ComputeCommandEncoder::setBuffer(const Buffer* buffer, NS::UInteger offset, NS::UInteger index) {
    INGOT_CHECK(index < ingot::metal::kNumBufferSlots, "setBuffer in slot {}, the last is {}", index,
                ingot::metal::kNumBufferSlots - 1);
    const auto* bound = static_cast<const BufferImpl*>(buffer);
    INGOT_CHECK(bound == nullptr || offset <= bound->length, "setBuffer at offset {} of a buffer of {} bytes",
                offset, bound->length);
    impl(this).command_buffer->keep(buffer);
    impl(this).state.buffers[index] = {bound, offset, nullptr};
}
void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
    const BufferImpl* bound =
        index < ingot::metal::kNumBufferSlots ? impl(this).state.buffers[index].buffer : nullptr;
    INGOT_CHECK(bound != nullptr && offset <= bound->length, "setBufferOffset {} in slot {}", offset, index);
    impl(this).state.buffers[index].offset = offset;
}
void ComputeCommandEncoder::setBuffers(const Buffer* const buffers[], const NS::UInteger offsets[],
                                       NS::Range range) {
    for (NS::UInteger i = 0; i < range.length; ++i) setBuffer(buffers[i], offsets[i], range.location + i);
}
void ComputeCommandEncoder::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
    INGOT_CHECK(index < ingot::metal::kNumThreadgroupSlots && length % 16 == 0,
                "setThreadgroupMemoryLength {} in slot {}; a multiple of 16 and slots 0 to {} are accepted",
                length, index, ingot::metal::kNumThreadgroupSlots - 1);
    impl(this).state.threadgroup_bytes[index] = uint32_t(length);
}
void ComputeCommandEncoder::dispatchThreadgroups(Size groups, Size threads) {
    dispatchThreads(
        Size(groups.width * threads.width, groups.height * threads.height, groups.depth * threads.depth),
        threads);
}
void ComputeCommandEncoder::dispatchThreadgroups(const Buffer* indirect, NS::UInteger offset, Size threads) {
    impl(this).command_buffer->keep(indirect);
    const auto& buffer = ingot::metal::api::impl(indirect);
    impl(this).command_buffer->add([state = impl(this).state, &buffer, offset, threads](auto deadline) {
        uint32_t groups[3];
        static_assert(sizeof groups == sizeof(DispatchThreadgroupsIndirectArguments));
        if (auto bad = check_offset(buffer, offset, sizeof groups, "indirect dispatch"); !bad.empty()) {
            return invalid(std::move(bad));
        }
        std::memcpy(groups, buffer.address() + offset, sizeof groups);
        if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return CommandResult{};
        ingot::metal::Launch launch;
        launch.group_threads = to_size3(threads);
        launch.grid_threads = {groups[0] * launch.group_threads.x, groups[1] * launch.group_threads.y,
                               groups[2] * launch.group_threads.z};
        return run_dispatch(state, launch, deadline);
    });
}
void ComputeCommandEncoder::dispatchThreads(Size grid, Size threads) {
    ingot::metal::Launch launch;
    launch.grid_threads = to_size3(grid);
    launch.group_threads = to_size3(threads);
    impl(this).command_buffer->add(
        [state = impl(this).state, launch](auto deadline) { return run_dispatch(state, launch, deadline); });
}
void ComputeCommandEncoder::memoryBarrier(BarrierScope) {}
void ComputeCommandEncoder::memoryBarrier(const Resource* const[], NS::UInteger) {}
void ComputeCommandEncoder::useResource(const Resource* resource, ResourceUsage) {
    impl(this).command_buffer->keep(resource);
}
void ComputeCommandEncoder::useResources(const Resource* const resources[], NS::UInteger count,
                                         ResourceUsage usage) {
    for (NS::UInteger i = 0; i < count; ++i) useResource(resources[i], usage);
}
void ComputeCommandEncoder::useHeap(const Heap* heap) {
    impl(this).command_buffer->keep(heap);
}
void ComputeCommandEncoder::useHeaps(const Heap* const heaps[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) useHeap(heaps[i]);
}
void ComputeCommandEncoder::updateFence(const Fence*) {}
void ComputeCommandEncoder::waitForFence(const Fence*) {}

void BlitCommandEncoder::copyFromBuffer(const Buffer* source, NS::UInteger source_offset,
                                        const Buffer* destination, NS::UInteger destination_offset,
                                        NS::UInteger size) {
    CommandBufferImpl& buffer = *impl(this).command_buffer;
    buffer.keep(source);
    buffer.keep(destination);
    const auto& from = ingot::metal::api::impl(source);
    const auto& to = ingot::metal::api::impl(destination);
    buffer.add([&from, &to, source_offset, destination_offset, size](auto) -> CommandResult {
        std::string bad = check_offset(from, source_offset, size, "copy from");
        if (bad.empty()) bad = check_offset(to, destination_offset, size, "copy to");
        if (!bad.empty()) return invalid(std::move(bad));
        std::memmove(to.address() + destination_offset, from.address() + source_offset, size);
        return {};
    });
}
void BlitCommandEncoder::fillBuffer(const Buffer* buffer, NS::Range range, std::uint8_t value) {
    impl(this).command_buffer->keep(buffer);
    const auto& to = ingot::metal::api::impl(buffer);
    impl(this).command_buffer->add([&to, range, value](auto) -> CommandResult {
        if (auto bad = check_offset(to, range.location, range.length, "fill"); !bad.empty()) {
            return invalid(std::move(bad));
        }
        std::memset(to.address() + range.location, value, range.length);
        return {};
    });
}
void BlitCommandEncoder::synchronizeResource(const Resource*) {}
void BlitCommandEncoder::updateFence(const Fence*) {}
void BlitCommandEncoder::waitForFence(const Fence*) {}

}  // namespace MTL
