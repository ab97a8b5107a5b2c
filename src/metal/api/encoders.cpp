// Compute and blit encoders: what each call records for the queue's thread.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "metal/api/watch.h"

namespace ingot::metal::api {
namespace {

using check::FindingKind;
using Clock = std::chrono::steady_clock;

constexpr NS::UInteger kMaxBytesLength = 4096;

struct BoundBuffer {
    const BufferImpl* buffer = nullptr;
    uint64_t offset = 0;
    std::shared_ptr<std::vector<std::byte>> bytes;  // of setBytes
    bool was_dispatched = false;                    // an earlier dispatch of the encoder had it too
};

struct ComputeState {
    const PipelineImpl* pipeline = nullptr;
    std::array<BoundBuffer, kNumBufferSlots> buffers{};
    std::array<uint32_t, kNumThreadgroupSlots> threadgroup_bytes{};

    void dispatched() {
        for (BoundBuffer& bound : buffers) bound.was_dispatched = true;
    }
};

// What both kinds of encoder have.
struct EncoderState {
    ~EncoderState() { command_buffer->release(); }
    // Records a command; `text` describes it in a capture.
    void add(Command command, const std::string& text);
    // What a command may write.
    void writes(const MTL::Buffer* buffer);
    const DeviceImpl& device() const { return *command_buffer->queue->device; }

    CommandBufferImpl* command_buffer = nullptr;
    std::string kind, label;
    std::vector<std::string> groups;  // of pushDebugGroup, innermost last
    bool ended = false;
    bool described = false;  // in the capture
};

class ComputeEncoderImpl final : public MTL::ComputeCommandEncoder {
  public:
    EncoderState encoder;
    MTL::DispatchType type = MTL::DispatchTypeSerial;
    ComputeState state;
    std::shared_ptr<Unordered> unordered;  // of a concurrent one that is watched
};
ComputeEncoderImpl& impl(const MTL::ComputeCommandEncoder* encoder) {
    return *static_cast<ComputeEncoderImpl*>(const_cast<MTL::ComputeCommandEncoder*>(encoder));
}

class BlitEncoderImpl final : public MTL::BlitCommandEncoder {
  public:
    EncoderState encoder;
};
BlitEncoderImpl& impl(const MTL::BlitCommandEncoder* encoder) {
    return *static_cast<BlitEncoderImpl*>(const_cast<MTL::BlitCommandEncoder*>(encoder));
}

EncoderState& state_of(const MTL::CommandEncoder* encoder) {
    auto* any = const_cast<MTL::CommandEncoder*>(encoder);
    if (auto* compute = dynamic_cast<ComputeEncoderImpl*>(any)) return compute->encoder;
    return static_cast<BlitEncoderImpl*>(any)->encoder;
}

// "encoder 'attention', group 'layer 3', group 'softmax': ", of what has a name.
std::string place(const EncoderState& encoder) {
    std::string text;
    if (!encoder.label.empty()) text += fmt::format("encoder '{}'", encoder.label);
    for (const std::string& group : encoder.groups) {
        text += fmt::format("{}group '{}'", text.empty() ? "" : ", ", group);
    }
    return text.empty() ? "" : text + ": ";
}

void EncoderState::writes(const MTL::Buffer* buffer) {
    if (watch_of(device()) != nullptr && buffer != nullptr)
        command_buffer->written.insert(&ingot::metal::api::impl(buffer));
}

void EncoderState::add(Command command, const std::string& text) {
    if (!obeys(device(), !ended, FindingKind::kOpenEncoder, "A command is encoded after endEncoding")) return;
    if (command_buffer->capture != nullptr) {
        if (!described) command_buffer->describe(fmt::format("  {} encoder '{}'", kind, label));
        described = true;
        std::string path;
        for (const std::string& group : groups) path += group + " / ";
        command_buffer->describe(fmt::format("    {}{}", path, text));
    }
    command_buffer->add([where = place(*this), command = std::move(command)](auto deadline) {
        CommandResult result = command(deadline);
        if (result.code != MTL::CommandBufferErrorNone) result.message = where + result.message;
        return result;
    });
}

CommandResult invalid(std::string message) {
    return {MTL::CommandBufferErrorInvalidResource, std::move(message)};
}

Result<LaunchReport> run_watched(Watch& watch, const ComputeState& state, const Launch& launch,
                                 Unordered* unordered) {
    WatchedDispatch dispatch{.pipeline = *state.pipeline, .launch = launch};
    for (uint32_t i = 0; i < kNumBufferSlots; ++i) {
        dispatch.buffers[i] = state.buffers[i].buffer;
        // Bindings last as long as their encoder: what is left of an earlier dispatch isn't meant for this
        // one.
        if (state.buffers[i].was_dispatched && !takes_buffer(state.pipeline->kernel->info, i)) {
            dispatch.buffers[i] = nullptr;
            dispatch.launch.buffers[i] = {};
        }
    }
    return watch.run(dispatch, unordered);
}

bool fits(const Size3& group, uint32_t most) {
    const uint64_t area = uint64_t{group.x} * group.y;
    return area <= most && area * group.z <= most;
}

CommandResult run_dispatch(const ComputeState& state, Launch launch, Clock::time_point deadline,
                           Unordered* unordered) {
    if (state.pipeline == nullptr) return invalid("a dispatch without a compute pipeline state");
    launch.deadline = deadline;
    launch.executor = state.pipeline->device->executor_kind;
    launch.threadgroup_bytes = state.threadgroup_bytes;
    for (uint32_t i = 0; i < kNumBufferSlots; ++i) {
        const BoundBuffer& bound = state.buffers[i];
        if (bound.bytes != nullptr) {
            launch.buffers[i] = {bound.bytes->data(), bound.bytes->size()};
        } else if (bound.buffer != nullptr) {
            launch.buffers[i] = {bound.buffer->address() + bound.offset, bound.buffer->length - bound.offset};
        }
    }
    Watch* watch = watch_of(*state.pipeline->device);
    if (watch == nullptr && !fits(launch.group_threads, state.pipeline->max_threads)) {
        return invalid(fmt::format("a threadgroup of {} x {} x {} threads, its pipeline takes at most {}",
                                   launch.group_threads.x, launch.group_threads.y, launch.group_threads.z,
                                   state.pipeline->max_threads));
    }
    const auto report = watch != nullptr
                            ? run_watched(*watch, state, launch, unordered)
                            : state.pipeline->device->executor->run(*state.pipeline->kernel, launch);
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

// Metal wants offsets at multiples of 4; this device doesn't mind.
void check_alignment(const DeviceImpl& device, const BufferImpl* buffer, uint64_t offset, const char* call) {
    Watch* watch = watch_of(device);
    if (watch == nullptr || buffer == nullptr || offset % 4 == 0) return;
    watch->report(
        FindingKind::kInvalidOffset,
        fmt::format("{} at offset {} of {}, which isn't a multiple of 4.", call, offset, describe(*buffer)),
        {}, describe(*buffer));
}

// Buffers that a dispatch's kernel may write.
void note_writes(EncoderState& encoder, const ComputeState& state) {
    if (state.pipeline == nullptr) return;
    for (const Argument& argument : state.pipeline->kernel->info.arguments) {
        if (argument.kind == ArgumentKind::kBuffer && argument.access != Access::kRead)
            encoder.writes(state.buffers[argument.slot].buffer);
    }
}

std::string check_offset(const BufferImpl& buffer, uint64_t offset, uint64_t size, const char* what) {
    if (offset <= buffer.length && size <= buffer.length - offset) return {};
    return fmt::format("{}: bytes {} to {} of a buffer of {}", what, offset, offset + size, buffer.length);
}

std::string to_string(const MTL::Size& size) {
    return fmt::format("{} x {} x {}", size.width, size.height, size.depth);
}

// The device counts in 32 bits.
Result<Size3> to_size3(const MTL::Size& size, const char* what) {
    if (std::max({size.width, size.height, size.depth}) > UINT32_MAX) {
        return fail(ErrorKind::kLimit, "{} of {} threads; at most {} in a direction are accepted", what,
                    to_string(size), UINT32_MAX);
    }
    return Size3{uint32_t(size.width), uint32_t(size.height), uint32_t(size.depth)};
}

// Of so many threadgroups. A product beyond 64 bits is as much beyond the device as the largest number.
MTL::Size threads_of(const MTL::Size& groups, const MTL::Size& threads) {
    const auto product = [](NS::UInteger a, NS::UInteger b) {
        NS::UInteger result = 0;
        return __builtin_mul_overflow(a, b, &result) ? ~NS::UInteger{0} : result;
    };
    return {product(groups.width, threads.width), product(groups.height, threads.height),
            product(groups.depth, threads.depth)};
}

CommandResult run_grid(const ComputeState& state, const MTL::Size& grid, const MTL::Size& threads,
                       Clock::time_point deadline, Unordered* unordered) {
    Launch launch;
    const auto grid_threads = to_size3(grid, "a grid"), group_threads = to_size3(threads, "a threadgroup");
    if (!grid_threads) return invalid(grid_threads.error().describe());
    if (!group_threads) return invalid(group_threads.error().describe());
    launch.grid_threads = *grid_threads;
    launch.group_threads = *group_threads;
    return run_dispatch(state, launch, deadline, unordered);
}

void start(EncoderState& encoder, CommandBufferImpl& buffer, const char* kind) {
    obeys(*buffer.queue->device, !buffer.encoding, FindingKind::kOpenEncoder,
          "A command buffer has one open encoder at a time: end the other one first");
    buffer.encoding = true;
    buffer.retain();
    encoder.command_buffer = &buffer;
    encoder.kind = kind;
}

// "buffer(0) 4000 bytes, bytes(2) 4 bytes, threadgroup(0) 256 bytes"
std::string describe_arguments(const ComputeState& state) {
    std::string text;
    const auto add = [&](const char* kind, uint32_t slot, uint64_t bytes, const std::string& label) {
        text +=
            fmt::format(", {}({}){} {} bytes", kind, slot, label.empty() ? "" : " '" + label + "'", bytes);
    };
    for (uint32_t i = 0; i < kNumBufferSlots; ++i) {
        const BoundBuffer& bound = state.buffers[i];
        if (bound.bytes != nullptr) {
            add("bytes", i, bound.bytes->size(), "");
        } else if (bound.buffer != nullptr) {
            add("buffer", i, bound.buffer->length - bound.offset, bound.buffer->label);
        }
    }
    for (uint32_t i = 0; i < kNumThreadgroupSlots; ++i) {
        if (state.threadgroup_bytes[i] != 0) add("threadgroup", i, state.threadgroup_bytes[i], "");
    }
    return text;
}

std::string describe_dispatch(const ComputeState& state, const std::string& grid, const MTL::Size& threads) {
    const std::string name = state.pipeline != nullptr ? state.pipeline->kernel->info.name : "no pipeline";
    return fmt::format("dispatch {}: {} in groups of {}{}", name, grid, to_string(threads),
                       describe_arguments(state));
}

}  // namespace

MTL::ComputeCommandEncoder* make_compute_encoder(CommandBufferImpl& buffer, MTL::DispatchType type) {
    auto* encoder = new ComputeEncoderImpl;
    encoder->type = type;
    if (type == MTL::DispatchTypeConcurrent && watch_of(*buffer.queue->device) != nullptr)
        encoder->unordered = std::make_shared<Unordered>();
    start(encoder->encoder, buffer, type == MTL::DispatchTypeSerial ? "compute" : "concurrent compute");
    encoder->autorelease();
    return encoder;
}

MTL::BlitCommandEncoder* make_blit_encoder(CommandBufferImpl& buffer) {
    auto* encoder = new BlitEncoderImpl;
    start(encoder->encoder, buffer, "blit");
    encoder->autorelease();
    return encoder;
}

}  // namespace ingot::metal::api

namespace MTL {

using namespace ingot::metal::api;

Device* CommandEncoder::device() const {
    return state_of(this).command_buffer->device();
}
NS::String* CommandEncoder::label() const {
    return make_string(state_of(this).label);
}
void CommandEncoder::setLabel(const NS::String* label) {
    state_of(this).label = to_std_string(label);
}
void CommandEncoder::endEncoding() {
    EncoderState& encoder = state_of(this);
    INGOT_CHECK(encoder.groups.empty(), "endEncoding inside debug group '{}'", encoder.groups.back());
    encoder.command_buffer->encoding = false;
    encoder.ended = true;
}
void CommandEncoder::insertDebugSignpost(const NS::String* text) {
    EncoderState& encoder = state_of(this);
    if (encoder.command_buffer->capture == nullptr) return;
    encoder.add([](auto) { return CommandResult{}; }, fmt::format("signpost '{}'", to_std_string(text)));
}
void CommandEncoder::pushDebugGroup(const NS::String* text) {
    state_of(this).groups.push_back(to_std_string(text));
}
void CommandEncoder::popDebugGroup() {
    INGOT_CHECK(!state_of(this).groups.empty(), "popDebugGroup without pushDebugGroup");
    state_of(this).groups.pop_back();
}

DispatchType ComputeCommandEncoder::dispatchType() const {
    return impl(this).type;
}
void ComputeCommandEncoder::setComputePipelineState(const ComputePipelineState* state) {
    impl(this).encoder.command_buffer->keep(state);
    impl(this).state.pipeline = static_cast<const PipelineImpl*>(state);
}
void ComputeCommandEncoder::setBytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
    const bool allowed =
        obeys(impl(this).encoder.device(), index < ingot::metal::kNumBufferSlots && length <= kMaxBytesLength,
              FindingKind::kInvalidArgument,
              fmt::format("setBytes of {} bytes in slot {}; at most {} bytes and slots 0 to {} are accepted",
                          length, index, kMaxBytesLength, ingot::metal::kNumBufferSlots - 1));
    if (!allowed) return;
    const auto* begin = static_cast<const std::byte*>(bytes);
    impl(this).state.buffers[index] = {nullptr, 0,
                                       std::make_shared<std::vector<std::byte>>(begin, begin + length)};
}
void ComputeCommandEncoder::setBuffer(const Buffer* buffer, NS::UInteger offset, NS::UInteger index) {
    const DeviceImpl& device = impl(this).encoder.device();
    const auto* bound = static_cast<const BufferImpl*>(buffer);
    const bool allowed =
        obeys(
            device, index < ingot::metal::kNumBufferSlots, FindingKind::kInvalidArgument,
            fmt::format("setBuffer in slot {}, the last is {}", index, ingot::metal::kNumBufferSlots - 1)) &&
        obeys(device, bound == nullptr || offset <= bound->length, FindingKind::kInvalidOffset,
              fmt::format("setBuffer at offset {} of a buffer of {} bytes", offset,
                          bound == nullptr ? 0 : bound->length));
    if (!allowed) return;
    check_alignment(device, bound, offset, "setBuffer");
    impl(this).encoder.command_buffer->keep(buffer);
    impl(this).state.buffers[index] = {bound, offset, nullptr};
}
void ComputeCommandEncoder::setBufferOffset(NS::UInteger offset, NS::UInteger index) {
    const BufferImpl* bound =
        index < ingot::metal::kNumBufferSlots ? impl(this).state.buffers[index].buffer : nullptr;
    const DeviceImpl& device = impl(this).encoder.device();
    if (!obeys(device, bound != nullptr && offset <= bound->length, FindingKind::kInvalidOffset,
               fmt::format("setBufferOffset {} in slot {}", offset, index)))
        return;
    check_alignment(device, bound, offset, "setBufferOffset");
    impl(this).state.buffers[index].offset = offset;
    impl(this).state.buffers[index].was_dispatched = false;
}
void ComputeCommandEncoder::setBuffers(const Buffer* const buffers[], const NS::UInteger offsets[],
                                       NS::Range range) {
    for (NS::UInteger i = 0; i < range.length; ++i) setBuffer(buffers[i], offsets[i], range.location + i);
}
void ComputeCommandEncoder::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
    const bool allowed =
        obeys(impl(this).encoder.device(), index < ingot::metal::kNumThreadgroupSlots && length % 16 == 0,
              FindingKind::kInvalidArgument,
              fmt::format(
                  "setThreadgroupMemoryLength {} in slot {}; a multiple of 16 and slots 0 to {} are accepted",
                  length, index, ingot::metal::kNumThreadgroupSlots - 1));
    if (!allowed) return;
    // A dispatch refuses more than the device has, be it this much.
    constexpr NS::UInteger kMost = UINT32_MAX / 16 * 16;
    impl(this).state.threadgroup_bytes[index] = uint32_t(std::min(length, kMost));
}
void ComputeCommandEncoder::dispatchThreadgroups(Size groups, Size threads) {
    dispatchThreads(threads_of(groups, threads), threads);
}
void ComputeCommandEncoder::dispatchThreadgroups(const Buffer* indirect, NS::UInteger offset, Size threads) {
    impl(this).encoder.command_buffer->keep(indirect);
    const auto& buffer = ingot::metal::api::impl(indirect);
    note_writes(impl(this).encoder, impl(this).state);
    const auto command = [state = impl(this).state, unordered = impl(this).unordered, &buffer, offset,
                          threads](auto deadline) {
        uint32_t groups[3];
        static_assert(sizeof groups == sizeof(DispatchThreadgroupsIndirectArguments));
        if (auto bad = check_offset(buffer, offset, sizeof groups, "indirect dispatch"); !bad.empty()) {
            return invalid(std::move(bad));
        }
        std::memcpy(groups, buffer.address() + offset, sizeof groups);
        if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return CommandResult{};
        const Size grid = threads_of({groups[0], groups[1], groups[2]}, threads);
        return run_grid(state, grid, threads, deadline, unordered.get());
    };
    impl(this).encoder.add(command, describe_dispatch(impl(this).state, "an indirect grid", threads));
    impl(this).state.dispatched();
}
void ComputeCommandEncoder::dispatchThreads(Size grid, Size threads) {
    note_writes(impl(this).encoder, impl(this).state);
    const auto command = [state = impl(this).state, unordered = impl(this).unordered, grid,
                          threads](auto deadline) {
        return run_grid(state, grid, threads, deadline, unordered.get());
    };
    impl(this).encoder.add(command,
                           describe_dispatch(impl(this).state, to_string(grid) + " threads", threads));
    impl(this).state.dispatched();
}
// Commands run in order: only who watches hears of barriers.
void ComputeCommandEncoder::memoryBarrier(BarrierScope scope) {
    if (impl(this).unordered == nullptr || (scope & BarrierScopeBuffers) == 0) return;
    impl(this).encoder.add(
        [unordered = impl(this).unordered](auto) {
            unordered->barrier();
            return CommandResult{};
        },
        "memory barrier");
}
void ComputeCommandEncoder::memoryBarrier(const Resource* const resources[], NS::UInteger count) {
    if (impl(this).unordered == nullptr) return;
    std::vector<const BufferImpl*> buffers;
    for (NS::UInteger i = 0; i < count; ++i) {
        impl(this).encoder.command_buffer->keep(resources[i]);
        buffers.push_back(static_cast<const BufferImpl*>(resources[i]));
    }
    impl(this).encoder.add(
        [unordered = impl(this).unordered, buffers](auto) {
            for (const BufferImpl* buffer : buffers) unordered->barrier(*buffer);
            return CommandResult{};
        },
        "memory barrier");
}
void ComputeCommandEncoder::useResource(const Resource* resource, ResourceUsage) {
    impl(this).encoder.command_buffer->keep(resource);
}
void ComputeCommandEncoder::useResources(const Resource* const resources[], NS::UInteger count,
                                         ResourceUsage usage) {
    for (NS::UInteger i = 0; i < count; ++i) useResource(resources[i], usage);
}
void ComputeCommandEncoder::useHeap(const Heap* heap) {
    impl(this).encoder.command_buffer->keep(heap);
}
void ComputeCommandEncoder::useHeaps(const Heap* const heaps[], NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) useHeap(heaps[i]);
}
void ComputeCommandEncoder::updateFence(const Fence*) {}
void ComputeCommandEncoder::waitForFence(const Fence*) {}

void BlitCommandEncoder::copyFromBuffer(const Buffer* source, NS::UInteger source_offset,
                                        const Buffer* destination, NS::UInteger destination_offset,
                                        NS::UInteger size) {
    EncoderState& encoder = impl(this).encoder;
    encoder.command_buffer->keep(source);
    encoder.command_buffer->keep(destination);
    encoder.writes(destination);
    const auto& from = ingot::metal::api::impl(source);
    const auto& to = ingot::metal::api::impl(destination);
    const auto copy = [&from, &to, source_offset, destination_offset, size](auto) -> CommandResult {
        std::string bad = check_offset(from, source_offset, size, "copy from");
        if (bad.empty()) bad = check_offset(to, destination_offset, size, "copy to");
        if (!bad.empty()) return invalid(std::move(bad));
        to.memory->has_contents = true;
        std::memmove(to.address() + destination_offset, from.address() + source_offset, size);
        return {};
    };
    encoder.add(copy, fmt::format("copy {} bytes", size));
}
void BlitCommandEncoder::fillBuffer(const Buffer* buffer, NS::Range range, std::uint8_t value) {
    impl(this).encoder.command_buffer->keep(buffer);
    impl(this).encoder.writes(buffer);
    const auto& to = ingot::metal::api::impl(buffer);
    const auto fill = [&to, range, value](auto) -> CommandResult {
        if (auto bad = check_offset(to, range.location, range.length, "fill"); !bad.empty()) {
            return invalid(std::move(bad));
        }
        to.memory->has_contents = true;
        std::memset(to.address() + range.location, value, range.length);
        return {};
    };
    impl(this).encoder.add(fill, fmt::format("fill {} bytes with {}", NS::UInteger(range.length), value));
}
void BlitCommandEncoder::synchronizeResource(const Resource*) {}
void BlitCommandEncoder::updateFence(const Fence*) {}
void BlitCommandEncoder::waitForFence(const Fence*) {}

}  // namespace MTL
