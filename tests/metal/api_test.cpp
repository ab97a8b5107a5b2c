// The Metal API's semantics: ownership, buffers, heaps, command buffers with their states, errors and
// handlers, blits, events, function constants, reflection. Kernels are MLX's.
#include <cstring>
#include <functional>
#include <future>
#include <thread>

#include <Metal/Metal.hpp>
#include <gmock/gmock.h>
#include <unistd.h>

#include "metal/api/extensions.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

NS::String* text(const char* value) {
    return NS::String::string(value, NS::UTF8StringEncoding);
}

class Api : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(library) << (error ? error->localizedDescription()->utf8String() : "");
    }

    NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char* name) {
        const auto function = NS::TransferPtr(library->newFunction(text(name)));
        if (!function) return nullptr;
        return NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    }
    NS::SharedPtr<MTL::Buffer> floats(const std::vector<float>& values) {
        return NS::TransferPtr(
            device->newBuffer(values.data(), values.size() * sizeof(float), MTL::ResourceStorageModeShared));
    }

    NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    NS::Error* error = nullptr;
    NS::SharedPtr<MTL::Library> library =
        NS::TransferPtr(device->newLibrary(text(mlx_library().label().c_str()), &error));
};

TEST_F(Api, NewGivesOwnershipAndTheRestBelongsToThePool) {
    const auto buffer = NS::TransferPtr(device->newBuffer(64, MTL::ResourceStorageModeShared));
    EXPECT_EQ(1u, buffer->retainCount());
    const NS::SharedPtr<MTL::Buffer> second = buffer;
    EXPECT_EQ(2u, buffer->retainCount());
    MTL::CommandBuffer* commands = nullptr;
    {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        commands = queue->commandBuffer();
        commands->retain();
        EXPECT_EQ(2u, commands->retainCount());
    }
    EXPECT_EQ(1u, commands->retainCount());
    commands->release();
}

TEST_F(Api, ExpOverABufferWithBytesAsConstant) {
    const auto exp = pipeline("v_Expfloat32float32");
    ASSERT_TRUE(exp);
    EXPECT_EQ(32u, exp->threadExecutionWidth());
    EXPECT_EQ(1024u, exp->maxTotalThreadsPerThreadgroup());
    const std::vector<float> values = normal_values<float>(1000, 1);
    const auto x = floats(values), y = floats(std::vector<float>(1000));
    MTL::CommandBuffer* commands = queue->commandBuffer();
    EXPECT_EQ(MTL::CommandBufferStatusNotEnqueued, commands->status());
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(exp.get());
    encoder->setBuffer(x.get(), 0, 0);
    encoder->setBuffer(y.get(), 0, 1);
    uint32_t count = 1000;
    encoder->setBytes(&count, sizeof count, 2);
    count = 0;  // setBytes copied
    encoder->dispatchThreads(MTL::Size(1000, 1, 1), MTL::Size(256, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(MTL::CommandBufferStatusCompleted, commands->status());
    EXPECT_EQ(nullptr, commands->error());
    EXPECT_GE(commands->GPUEndTime(), commands->GPUStartTime());
    const float* results = static_cast<const float*>(y->contents());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(std::exp(double(values[i])), results[i], 1e-5);
}

TEST_F(Api, FaultBecomesTheCommandBuffersError) {
    const auto exp = pipeline("v_Expfloat32float32");
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(exp.get());  // nothing bound: null pointers
    encoder->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(MTL::CommandBufferStatusError, commands->status());
    EXPECT_TRUE(commands->error()->domain()->isEqualToString(MTL::CommandBufferErrorDomain));
    EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorPageFault), commands->error()->code());
    EXPECT_THAT(commands->error()->localizedDescription()->utf8String(), HasSubstr("v_Expfloat32float32"));
}

TEST_F(Api, CompletionHandlersRunOnAnotherThreadBeforeTheWaitReturns) {
    MTL::CommandBuffer* commands = queue->commandBuffer();
    std::thread::id handler_thread;
    MTL::CommandBufferStatus seen = MTL::CommandBufferStatusNotEnqueued;
    commands->addCompletedHandler([&](MTL::CommandBuffer* done) {
        handler_thread = std::this_thread::get_id();
        seen = done->status();
    });
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_NE(std::this_thread::get_id(), handler_thread);
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, seen);
}

TEST_F(Api, CommandBuffersRunInTheOrderTheyWereEnqueued) {
    const auto target = NS::TransferPtr(device->newBuffer(16, MTL::ResourceStorageModeShared));
    MTL::CommandBuffer* first = queue->commandBuffer();
    MTL::CommandBuffer* second = queue->commandBuffer();
    first->enqueue();
    const auto fill = [&](MTL::CommandBuffer* commands, uint8_t value) {
        MTL::BlitCommandEncoder* encoder = commands->blitCommandEncoder();
        encoder->fillBuffer(target.get(), NS::Range::Make(0, 16), value);
        encoder->endEncoding();
    };
    fill(second, 2);
    second->commit();  // waits for the first, which isn't committed yet
    fill(first, 1);
    first->commit();
    second->waitUntilCompleted();
    EXPECT_EQ(2, static_cast<const uint8_t*>(target->contents())[0]);
}

TEST_F(Api, BlitsCopyRangesAndRefuseWhatLiesOutside) {
    const auto from = floats({1, 2, 3, 4}), to = floats({0, 0, 0, 0});
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::BlitCommandEncoder* encoder = commands->blitCommandEncoder();
    encoder->copyFromBuffer(from.get(), 4, to.get(), 8, 8);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    const float* values = static_cast<const float*>(to->contents());
    EXPECT_EQ(0.0f, values[1]);
    EXPECT_EQ(2.0f, values[2]);
    EXPECT_EQ(3.0f, values[3]);
    MTL::CommandBuffer* outside = queue->commandBuffer();
    encoder = outside->blitCommandEncoder();
    encoder->copyFromBuffer(from.get(), 8, to.get(), 0, 16);
    encoder->endEncoding();
    outside->commit();
    outside->waitUntilCompleted();
    ASSERT_EQ(MTL::CommandBufferStatusError, outside->status());
    EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorInvalidResource), outside->error()->code());
}

TEST_F(Api, NoCopyBuffersNeedWholePagesInStrictMode) {
    set_strict(device.get(), true);
    const size_t page = size_t(::sysconf(_SC_PAGESIZE));
    void* memory = std::aligned_alloc(page, 2 * page);
    bool freed = false;
    const auto deallocator = [&](void* pointer, NS::UInteger length) {
        freed = pointer == memory && length == 2 * page;
    };
    EXPECT_EQ(nullptr, device->newBuffer(memory, page + 1, MTL::ResourceStorageModeShared, deallocator));
    EXPECT_EQ(nullptr, device->newBuffer(static_cast<char*>(memory) + 16, page,
                                         MTL::ResourceStorageModeShared, deallocator));
    {
        const auto buffer =
            NS::TransferPtr(device->newBuffer(memory, 2 * page, MTL::ResourceStorageModeShared, deallocator));
        ASSERT_TRUE(buffer);
        EXPECT_EQ(memory, buffer->contents());
        EXPECT_FALSE(freed);
    }
    EXPECT_TRUE(freed);
    std::free(memory);
    set_strict(device.get(), false);
}

TEST_F(Api, HeapsHandOutAndTakeBackTheirMemory) {
    const auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
    descriptor->setSize(64 * 1024);
    const auto heap = NS::TransferPtr(device->newHeap(descriptor.get()));
    ASSERT_TRUE(heap);
    auto first = NS::TransferPtr(heap->newBuffer(1000, MTL::ResourceStorageModeShared));
    const auto second = NS::TransferPtr(heap->newBuffer(40000, MTL::ResourceStorageModeShared));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(1024u + 40192u, heap->usedSize());
    EXPECT_FALSE(NS::TransferPtr(heap->newBuffer(40000, MTL::ResourceStorageModeShared)));
    EXPECT_EQ(heap.get(), second->heap());
    EXPECT_EQ(1024u, second->heapOffset());
    first.reset();
    EXPECT_EQ(40192u, heap->usedSize());
    EXPECT_EQ(0u, NS::TransferPtr(heap->newBuffer(512, MTL::ResourceStorageModeShared))->heapOffset());
}

TEST_F(Api, SharedEventsOrderCommandBuffersAndTheHost) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    const auto other_queue = NS::TransferPtr(device->newCommandQueue());
    MTL::CommandBuffer* waits = queue->commandBuffer();
    waits->encodeWait(event.get(), 2);
    waits->commit();
    MTL::CommandBuffer* signals = other_queue->commandBuffer();
    signals->encodeSignalEvent(event.get(), 1);
    signals->commit();
    signals->waitUntilCompleted();
    EXPECT_EQ(1u, event->signaledValue());
    EXPECT_FALSE(event->waitUntilSignaledValue(2, 10));
    std::promise<std::uint64_t> notified;
    event->notifyListener(MTL::SharedEventListener::sharedListener(), 2,
                          [&](MTL::SharedEvent*, std::uint64_t value) { notified.set_value(value); });
    event->setSignaledValue(2);
    waits->waitUntilCompleted();
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, waits->status());
    EXPECT_EQ(2u, notified.get_future().get());
}

TEST_F(Api, WaitsOfAnyLengthAreWaits) {
    for (const std::uint64_t milliseconds :
         {std::uint64_t{60'000}, std::uint64_t{10'000'000'000'000}, std::uint64_t{INT64_MAX}, UINT64_MAX}) {
        const auto event = NS::TransferPtr(device->newSharedEvent());
        std::thread signals([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            event->setSignaledValue(1);
        });
        EXPECT_TRUE(event->waitUntilSignaledValue(1, milliseconds)) << milliseconds;
        signals.join();
        EXPECT_FALSE(event->waitUntilSignaledValue(2, 0));
    }
}

TEST_F(Api, EventThatNeverComesEndsInATimeout) {
    set_time_limit(device.get(), 0.1);
    const auto event = NS::TransferPtr(device->newEvent());
    MTL::CommandBuffer* waits = queue->commandBuffer();
    waits->encodeWait(event.get(), 1);
    waits->commit();
    waits->waitUntilCompleted();
    set_time_limit(device.get(), 60);
    ASSERT_EQ(MTL::CommandBufferStatusError, waits->status());
    EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorTimeout), waits->error()->code());
}

TEST_F(Api, FunctionsAreFoundByNameWithConstants) {
    EXPECT_EQ(18817u, library->functionNames()->count());
    EXPECT_EQ(nullptr, library->newFunction(text("no_such_kernel")));
    const auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    const bool off[7] = {};
    values->setConstantValues(off, MTL::DataTypeBool, NS::Range::Make(20, 7));
    const auto function =
        NS::TransferPtr(library->newFunction(text("sdpa_vector_float16_t_64_64"), values.get(), &error));
    ASSERT_TRUE(function);
    EXPECT_EQ(MTL::FunctionTypeKernel, function->functionType());
    NS::Dictionary* constants = function->functionConstantsDictionary();
    auto* causal = constants->object<MTL::FunctionConstant>(text("do_causal"));
    ASSERT_NE(nullptr, causal);
    EXPECT_EQ(22u, causal->index());
    EXPECT_EQ(MTL::DataTypeBool, causal->type());
    MTL::ComputePipelineReflection* reflection = nullptr;
    const auto state = NS::TransferPtr(
        device->newComputePipelineState(function.get(), MTL::PipelineOptionBindingInfo, &reflection, &error));
    ASSERT_TRUE(state);
    EXPECT_GT(state->staticThreadgroupMemoryLength(), 0u);
    ASSERT_EQ(18u, reflection->bindings()->count());
    auto* out = reflection->bindings()->object<MTL::Binding>(3);
    EXPECT_STREQ("out", out->name()->utf8String());
    EXPECT_EQ(3u, out->index());
    EXPECT_EQ(MTL::BindingAccessReadWrite, out->access());
}

TEST_F(Api, WhatCallsHandOutLivesInTheCallersPool) {
    const auto descriptor = NS::TransferPtr(MTL::FunctionDescriptor::alloc()->init());
    descriptor->setName(text("no_such_kernel"));
    EXPECT_EQ(nullptr, library->newFunction(descriptor.get(), &error));
    EXPECT_EQ(1u, error->retainCount());
    EXPECT_THAT(error->localizedDescription()->utf8String(), HasSubstr("'no_such_kernel'"));

    const auto empty = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    MTL::ComputePipelineReflection* reflection = nullptr;
    EXPECT_EQ(nullptr, device->newComputePipelineState(empty.get(), MTL::PipelineOptionBindingInfo,
                                                       &reflection, &error));
    EXPECT_EQ(1u, error->retainCount());
    EXPECT_THAT(error->localizedDescription()->utf8String(), HasSubstr("no compute function"));

    const auto exp = NS::TransferPtr(library->newFunction(text("v_Expfloat32float32")));
    empty->setComputeFunction(exp.get());
    const auto state = NS::TransferPtr(
        device->newComputePipelineState(empty.get(), MTL::PipelineOptionBindingInfo, &reflection, &error));
    ASSERT_TRUE(state);
    EXPECT_EQ(1u, reflection->retainCount());
    EXPECT_EQ(3u, reflection->bindings()->count());
}

// What a grid of the device can't count is refused, not cut down to 32 bits.
TEST_F(Api, GridsBeyond32BitsAreInvalid) {
    const auto exp = pipeline("v_Expfloat32float32");
    const auto indirect = NS::TransferPtr(device->newBuffer(12, MTL::ResourceStorageModeShared));
    const uint32_t groups[3] = {1u << 31, 1, 1};
    std::memcpy(indirect->contents(), groups, sizeof groups);
    constexpr NS::UInteger kOver = (NS::UInteger{1} << 32) + 1, kHalf = NS::UInteger{1} << 63;
    using Encode = std::function<void(MTL::ComputeCommandEncoder*)>;
    const MTL::Size one(1, 1, 1);
    const std::pair<const char*, Encode> dispatches[] = {
        {"threads", [&](auto* encoder) { encoder->dispatchThreads(MTL::Size(kOver, 1, 1), one); }},
        {"group", [&](auto* encoder) { encoder->dispatchThreads(one, MTL::Size(1, kOver, 1)); }},
        {"groups", [&](auto* encoder) { encoder->dispatchThreadgroups(MTL::Size(1, 1, kOver), one); }},
        {"beyond 64 bits",
         [&](auto* encoder) { encoder->dispatchThreadgroups(MTL::Size(kHalf, 1, 1), MTL::Size(2, 1, 1)); }},
        {"indirect",
         [&](auto* encoder) { encoder->dispatchThreadgroups(indirect.get(), 0, MTL::Size(2, 1, 1)); }},
        {"memory", [&](auto* encoder) {
             encoder->setThreadgroupMemoryLength(NS::UInteger{1} << 32, 0);
             encoder->dispatchThreads(one, one);
         }}};
    for (const auto& [name, encode] : dispatches) {
        MTL::CommandBuffer* commands = queue->commandBuffer();
        MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(exp.get());
        encode(encoder);
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
        ASSERT_EQ(MTL::CommandBufferStatusError, commands->status()) << name;
        EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorInvalidResource), commands->error()->code()) << name;
        EXPECT_THAT(commands->error()->localizedDescription()->utf8String(), HasSubstr("accepted")) << name;
    }
}

TEST_F(Api, LibraryErrorsCarryDomainCodeAndReason) {
    EXPECT_EQ(nullptr, device->newLibrary(text("/no/such.metallib"), &error));
    EXPECT_TRUE(error->domain()->isEqualToString(MTL::LibraryErrorDomain));
    EXPECT_EQ(NS::Integer(MTL::LibraryErrorFileNotFound), error->code());
    EXPECT_EQ(nullptr, device->newLibrary(text("kernel void k() { nonsense }"), nullptr, &error));
    EXPECT_EQ(NS::Integer(MTL::LibraryErrorCompileFailure), error->code());
    EXPECT_THAT(error->localizedDescription()->utf8String(), ::testing::HasSubstr("nonsense"));
}

TEST_F(Api, DeviceDescribesItself) {
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyMetal3));
    EXPECT_TRUE(device->hasUnifiedMemory());
    EXPECT_EQ(32u * 1024, device->maxThreadgroupMemoryLength());
    const NS::UInteger before = device->currentAllocatedSize();
    const auto buffer = NS::TransferPtr(device->newBuffer(1 << 20, MTL::ResourceStorageModePrivate));
    EXPECT_EQ(before + (1 << 20), device->currentAllocatedSize());
    EXPECT_EQ(MTL::StorageModePrivate, buffer->storageMode());
}

}  // namespace
}  // namespace ingot::metal::testing
