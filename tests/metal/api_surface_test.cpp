// The API's semantics class by class, on kernels written as IR in libraries made in memory.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <Metal/Metal.hpp>
#include <gmock/gmock.h>
#include <unistd.h>

#include "metal/api/extensions.h"
#include "metal/ir_text.h"
#include "metal/library_bytes.h"
#include "metal/support.h"
#include "support/run_program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

NS::String* text(const std::string& value) {
    return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}

// b0[i] = b1[i] + 1
std::string add_one() {
    return kernel_ir(
        2, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n"
        "%p = getelementptr i32, ptr addrspace(1) %b1, i64 %i\n%v = load i32, ptr addrspace(1) %p\n"
        "%w = add i32 %v, 1\n%q = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
        "store i32 %w, ptr addrspace(1) %q\nret void");
}

// b0[0] = the function constant `size` (index 3), which has no default.
std::string store_constant() {
    return kernel_ir(
        1, {}, "%v = load i32, ptr addrspace(2) @size\nstore i32 %v, ptr addrspace(1) %b0\nret void",
        "@init_size = external addrspace(2) externally_initialized constant i32, section "
        "\"air.fc_initializer\"\n"
        "@size = internal addrspace(2) global i32 undef\n"
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr "
        "@init, "
        "ptr null }]\n"
        "define internal void @init() section \"air.static_init\" {\n"
        "%a = load i32, ptr addrspace(2) @init_size\nstore i32 %a, ptr addrspace(2) @size\nret void\n}\n"
        "!air.function_constants = !{!100}\n"
        "!100 = !{ptr addrspace(2) @init_size, !\"int\", !\"size\", i32 3, i1 true}\n");
}

// Never ends.
std::string endless() {
    return kernel_ir(1, {},
                     "br label %again\nagain:\n%v = load volatile i32, ptr addrspace(1) %b0\n"
                     "%go = icmp ne i32 %v, 0\nbr i1 %go, label %out, label %again\nout:\nret void");
}

class Surface : public ::testing::Test {
  protected:
    NS::SharedPtr<MTL::Library> library_of(const std::string& module) {
        const Bytes bytes = make_library({{"k", module}});
        const dispatch_data_t data = dispatch_data_create(bytes.bytes.data(), bytes.bytes.size(), nullptr,
                                                          DISPATCH_DATA_DESTRUCTOR_DEFAULT);
        auto library = NS::TransferPtr(device->newLibrary(data, &error));
        dispatch_release(data);
        return library;
    }
    NS::SharedPtr<MTL::ComputePipelineState> pipeline_of(const std::string& module) {
        const auto library = library_of(module);
        EXPECT_TRUE(library) << message();
        const auto function = NS::TransferPtr(library->newFunction(text("k")));
        auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
        EXPECT_TRUE(pipeline) << message();
        return pipeline;
    }
    std::string message() { return error != nullptr ? error->localizedDescription()->utf8String() : ""; }
    NS::SharedPtr<MTL::Buffer> ints(const std::vector<int>& values) {
        return NS::TransferPtr(
            device->newBuffer(values.data(), values.size() * sizeof(int), MTL::ResourceStorageModeShared));
    }
    static int* values(const NS::SharedPtr<MTL::Buffer>& buffer) {
        return static_cast<int*>(buffer->contents());
    }
    // to[i] = from[i] + 1 for four elements.
    static void encode_add(MTL::ComputeCommandEncoder* encoder, const MTL::Buffer* to,
                           const MTL::Buffer* from) {
        encoder->setBuffer(to, 0, 0);
        encoder->setBuffer(from, 0, 1);
        encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
    }
    static std::string error_of(MTL::CommandBuffer* commands) {
        return commands->error() != nullptr ? commands->error()->localizedDescription()->utf8String() : "";
    }

    NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    NS::Error* error = nullptr;
};

TEST_F(Surface, ALibraryOfDataInMemoryOutlivesTheData) {
    const auto pipeline = pipeline_of(add_one());
    const auto from = ints({1, 2, 3, 4}), to = ints({0, 0, 0, 0});
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encode_add(encoder, to.get(), from.get());
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, commands->status()) << error_of(commands);
    EXPECT_EQ(5, values(to)[3]);
}

TEST_F(Surface, BrokenDataIsALibraryErrorWithDomainAndCode) {
    const dispatch_data_t data = dispatch_data_create("MTLB", 4, nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    EXPECT_EQ(4u, dispatch_data_get_size(data));
    EXPECT_EQ(nullptr, device->newLibrary(data, &error));
    dispatch_release(data);
    ASSERT_NE(nullptr, error);
    EXPECT_STREQ("MTLLibraryErrorDomain", error->domain()->utf8String());
    EXPECT_EQ(NS::Integer(MTL::LibraryErrorCompileFailure), error->code());
}

TEST_F(Surface, ARequiredConstantWithoutAValueRefusesThePipelineByName) {
    const auto library = library_of(store_constant());
    const auto without = NS::TransferPtr(library->newFunction(text("k")));
    EXPECT_EQ(nullptr, device->newComputePipelineState(without.get(), &error));
    EXPECT_THAT(message(), HasSubstr("function constants without a value: int size (index 3)"));
    // The library states nothing of its functions: their modules do.
    const auto* size = without->functionConstantsDictionary()->object<MTL::FunctionConstant>(text("size"));
    ASSERT_NE(nullptr, size);
    EXPECT_EQ(3u, size->index());
    EXPECT_TRUE(size->required());
}

TEST_F(Surface, ConstantsAreSetByIndexNameAndRange) {
    const auto library = library_of(store_constant());
    const auto run_with = [&](MTL::FunctionConstantValues* constants) {
        const auto function = NS::TransferPtr(library->newFunction(text("k"), constants, &error));
        const auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
        EXPECT_TRUE(pipeline) << message();
        const auto out = ints({0});
        MTL::CommandBuffer* commands = queue->commandBuffer();
        MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(pipeline.get());
        encoder->setBuffer(out.get(), 0, 0);
        encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
        return values(out)[0];
    };
    const int seven = 7, list[] = {10, 11, 12};
    const auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    constants->setConstantValue(&seven, MTL::DataTypeInt, NS::UInteger{3});
    EXPECT_EQ(7, run_with(constants.get()));
    constants->reset();
    constants->setConstantValue(&seven, MTL::DataTypeInt, text("size"));
    EXPECT_EQ(7, run_with(constants.get()));
    constants->reset();
    constants->setConstantValues(list, MTL::DataTypeInt, NS::Range::Make(2, 3));
    EXPECT_EQ(11, run_with(constants.get()));
    const auto copy = NS::TransferPtr(constants->copy());
    constants->reset();
    EXPECT_EQ(11, run_with(copy.get()));
}

TEST_F(Surface, PassDescriptorsChooseTheKindOfEncoder) {
    auto* descriptor = MTL::ComputePassDescriptor::computePassDescriptor();
    EXPECT_EQ(MTL::DispatchTypeSerial, descriptor->dispatchType());
    descriptor->setDispatchType(MTL::DispatchTypeConcurrent);
    const auto copy = NS::TransferPtr(descriptor->copy());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(copy.get());
    EXPECT_EQ(MTL::DispatchTypeConcurrent, encoder->dispatchType());
    encoder->endEncoding();
    EXPECT_EQ(MTL::DispatchTypeSerial, commands->computeCommandEncoder()->dispatchType());
}

TEST_F(Surface, KernelsOfAConcurrentEncoderSeeEachOthersWritesAcrossABarrier) {
    const auto pipeline = pipeline_of(add_one());
    const auto a = ints({0, 0, 0, 0}), b = ints({0, 0, 0, 0});
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    encoder->setComputePipelineState(pipeline.get());
    for (int i = 0; i < 10; ++i) {
        encode_add(encoder, b.get(), a.get());
        encoder->memoryBarrier(MTL::BarrierScopeBuffers);
        encode_add(encoder, a.get(), b.get());
        const MTL::Resource* resources[] = {a.get()};
        encoder->memoryBarrier(resources, 1);
    }
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(20, values(a)[2]);
}

TEST_F(Surface, FencesOrderEncodersOfOneCommandBuffer) {
    const auto pipeline = pipeline_of(add_one());
    const auto a = ints({0, 0, 0, 0}), b = ints({0, 0, 0, 0});
    const auto fence = NS::TransferPtr(device->newFence());
    fence->setLabel(text("between"));
    EXPECT_STREQ("between", fence->label()->utf8String());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::BlitCommandEncoder* blit = commands->blitCommandEncoder();
    blit->fillBuffer(a.get(), NS::Range::Make(0, 16), 1);
    blit->updateFence(fence.get());
    blit->endEncoding();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->waitForFence(fence.get());
    encoder->setComputePipelineState(pipeline.get());
    encode_add(encoder, b.get(), a.get());
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(0x01010102, values(b)[0]);
}

TEST_F(Surface, BuffersAreBoundByRangeOffsetAndIndirectSizes) {
    const auto pipeline = pipeline_of(add_one());
    const auto from = ints({1, 2, 3, 4, 5, 6, 7, 8}), to = ints(std::vector<int>(8));
    const auto groups = ints({2, 1, 1});
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    const MTL::Buffer* buffers[] = {to.get(), from.get()};
    const NS::UInteger offsets[] = {0, 0};
    encoder->setBuffers(buffers, offsets, NS::Range::Make(0, 2));
    encoder->setBufferOffset(16, 1);
    encoder->dispatchThreadgroups(groups.get(), 0, MTL::Size(2, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(std::vector<int>({6, 7, 8, 9, 0, 0, 0, 0}), std::vector<int>(values(to), values(to) + 8));
}

TEST_F(Surface, ErrorsNameCommandBufferEncoderAndDebugGroups) {
    const auto pipeline = pipeline_of(add_one());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    commands->setLabel(text("token 5"));
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setLabel(text("layers"));
    encoder->pushDebugGroup(text("layer 3"));
    encoder->pushDebugGroup(text("attention"));
    encoder->setComputePipelineState(pipeline.get());
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));  // nothing bound
    encoder->popDebugGroup();
    encoder->popDebugGroup();
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(MTL::CommandBufferStatusError, commands->status());
    EXPECT_THAT(error_of(commands),
                HasSubstr("command buffer 'token 5': encoder 'layers', group 'layer 3', group "
                          "'attention': kernel 'k', thread (0, 0, 0)"));
}

TEST_F(Surface, DebugGroupsMustBalance) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    EXPECT_DEATH(encoder->popDebugGroup(), "popDebugGroup without pushDebugGroup");
    encoder->pushDebugGroup(text("open"));
    EXPECT_DEATH(encoder->endEncoding(), "inside debug group 'open'");
    EXPECT_DEATH(commands->popDebugGroup(), "popDebugGroup without pushDebugGroup");
}

TEST_F(Surface, AFaultEndsItsCommandBufferAndTheNextOneRuns) {
    const auto pipeline = pipeline_of(add_one());
    const auto target = ints({0, 0, 0, 0});
    MTL::CommandBuffer* bad = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = bad->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
    encoder->endEncoding();
    MTL::BlitCommandEncoder* blit = bad->blitCommandEncoder();
    blit->fillBuffer(target.get(), NS::Range::Make(0, 16), 1);
    blit->endEncoding();
    bad->commit();
    MTL::CommandBuffer* good = queue->commandBuffer();
    blit = good->blitCommandEncoder();
    blit->fillBuffer(target.get(), NS::Range::Make(0, 4), 2);
    blit->endEncoding();
    good->commit();
    good->waitUntilCompleted();
    EXPECT_EQ(MTL::CommandBufferStatusError, bad->status());
    EXPECT_STREQ("MTLCommandBufferErrorDomain", bad->error()->domain()->utf8String());
    EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorPageFault), bad->error()->code());
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, good->status());
    EXPECT_EQ(0x02020202, values(target)[0]);
    EXPECT_EQ(0, values(target)[1]) << "commands behind a fault don't run";
}

TEST_F(Surface, AnEndlessKernelIsStoppedAtTheDevicesTimeLimit) {
    const auto pipeline = pipeline_of(endless());
    const auto flag = ints({0});
    set_time_limit(device.get(), 0.2);
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBuffer(flag.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    set_time_limit(device.get(), 60);
    EXPECT_EQ(MTL::CommandBufferStatusError, commands->status());
    EXPECT_EQ(NS::Integer(MTL::CommandBufferErrorTimeout), commands->error()->code());
    EXPECT_THAT(error_of(commands), HasSubstr("'k' was stopped at its time limit"));
}

TEST_F(Surface, HandlersRunInOrderOnAnotherThread) {
    std::vector<std::string> calls;
    std::vector<std::thread::id> threads;
    MTL::CommandBuffer* commands = queue->commandBuffer();
    const auto note = [&](const char* what) {
        return [&, what](MTL::CommandBuffer*) {
            calls.emplace_back(what);
            threads.push_back(std::this_thread::get_id());
        };
    };
    commands->addCompletedHandler(note("completed 1"));
    commands->addScheduledHandler(note("scheduled"));
    commands->addCompletedHandler(note("completed 2"));
    commands->commit();
    commands->waitUntilScheduled();
    commands->waitUntilCompleted();
    EXPECT_EQ((std::vector<std::string>{"scheduled", "completed 1", "completed 2"}), calls);
    for (const auto& thread : threads) EXPECT_NE(std::this_thread::get_id(), thread);
}

// Waits for calls from other threads.
class Calls {
  public:
    void add() {
        const std::scoped_lock lock(mutex_);
        ++count_;
        changed_.notify_all();
    }
    void wait_for(int count) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(2), [&] { return count_ == count; }));
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

TEST_F(Surface, PipelinesAndFunctionsAreMadeInTheBackground) {
    Calls calls;
    const auto library = library_of(add_one());
    NS::SharedPtr<MTL::Function> function;
    library->newFunction(text("k"), nullptr, [&](MTL::Function* made, NS::Error*) {
        function = NS::RetainPtr(made);
        calls.add();
    });
    calls.wait_for(1);
    ASSERT_TRUE(function);
    NS::SharedPtr<MTL::ComputePipelineState> pipeline;
    std::thread::id thread;
    device->newComputePipelineState(function.get(), [&](MTL::ComputePipelineState* made, NS::Error*) {
        pipeline = NS::RetainPtr(made);
        thread = std::this_thread::get_id();
        calls.add();
    });
    calls.wait_for(2);
    EXPECT_TRUE(pipeline);
    EXPECT_NE(std::this_thread::get_id(), thread);
    NS::UInteger bindings = 0;
    device->newComputePipelineState(
        function.get(), MTL::PipelineOptionBindingInfo,
        [&](MTL::ComputePipelineState*, MTL::ComputePipelineReflection* reflection, NS::Error*) {
            bindings = reflection->bindings()->count();
            calls.add();
        });
    calls.wait_for(3);
    EXPECT_EQ(2u, bindings);
    std::string reason;
    library->newFunction(text("missing"), nullptr, [&](MTL::Function* made, NS::Error* why) {
        EXPECT_EQ(nullptr, made);
        reason = why->localizedDescription()->utf8String();
        calls.add();
    });
    calls.wait_for(4);
    EXPECT_THAT(reason, HasSubstr("no kernel 'missing'"));
}

TEST_F(Surface, DescriptorsLimitThePipelinesThreads) {
    const auto library = library_of(add_one());
    const auto function = NS::TransferPtr(library->newFunction(text("k")));
    const auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    descriptor->setComputeFunction(function.get());
    descriptor->setMaxTotalThreadsPerThreadgroup(64);
    descriptor->setLabel(text("limited"));
    const auto pipeline = NS::TransferPtr(
        device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
    ASSERT_TRUE(pipeline) << message();
    EXPECT_EQ(64u, pipeline->maxTotalThreadsPerThreadgroup());
    EXPECT_STREQ("limited", pipeline->label()->utf8String());
    for (const auto& [threads, status] :
         {std::pair{64u, MTL::CommandBufferStatusCompleted}, std::pair{65u, MTL::CommandBufferStatusError}}) {
        const auto in = ints(std::vector<int32_t>(65)), out = ints(std::vector<int32_t>(65));
        MTL::CommandBuffer* commands = queue->commandBuffer();
        MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(pipeline.get());
        encoder->setBuffer(out.get(), 0, 0);
        encoder->setBuffer(in.get(), 0, 1);
        encoder->dispatchThreads(MTL::Size(threads, 1, 1), MTL::Size(threads, 1, 1));
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
        EXPECT_EQ(status, commands->status()) << threads;
        EXPECT_GE(commands->GPUEndTime(), commands->GPUStartTime());
    }
    descriptor->reset();
    EXPECT_EQ(nullptr,
              device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
}

TEST_F(Surface, FunctionConstantsMayBeVectorsAndTablesHoldVisibleFunctions) {
    const auto library = NS::TransferPtr(device->newLibrary(
        text("#include <metal_stdlib>\nusing namespace metal;\n"
             "constant float3 weights [[function_constant(0)]];\nconstant short2 pairs "
             "[[function_constant(1)]];\n"
             "constant short2 more [[function_constant(2)]];\n"
             "[[visible]] float sum(float3 v) { return v.x + v.y + v.z; }\n"
             "[[visible]] float last(float3 v) { return v.z; }\n"
             "kernel void k(device float* out, visible_function_table<float(float3)> table,\n"
             "              uint i [[thread_position_in_grid]]) {\n"
             "    out[i] = table[i](weights) + pairs.y + 10 * more.x;\n}"),
        nullptr, &error));
    ASSERT_TRUE(library) << message();
    const auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    const float weights[4] = {1, 2, 4, 0};
    const int16_t pairs[4] = {7, -100, 3, 9};
    constants->setConstantValue(weights, MTL::DataTypeFloat3, NS::UInteger{0});
    constants->setConstantValues(pairs, MTL::DataTypeShort2, NS::Range::Make(1, 2));
    const auto function = NS::TransferPtr(library->newFunction(text("k"), constants.get(), &error));
    const auto* declared =
        function->functionConstantsDictionary()->object<MTL::FunctionConstant>(text("weights"));
    EXPECT_EQ(MTL::DataTypeFloat3, declared->type());
    const auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline) << message();
    const auto out = NS::TransferPtr(device->newBuffer(8, MTL::ResourceStorageModeShared));
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBuffer(out.get(), 0, 0);
    ASSERT_TRUE(set_function_table(encoder, library.get(), {"sum", "last"}, 1));
    EXPECT_FALSE(set_function_table(encoder, library.get(), {"first"}, 1));
    encoder->dispatchThreads(MTL::Size(2, 1, 1), MTL::Size(2, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    const auto* values = static_cast<const float*>(out->contents());
    EXPECT_EQ(7 - 100 + 30, values[0]);
    EXPECT_EQ(4 - 100 + 30, values[1]);
}

TEST_F(Surface, ArgumentBuffersHoldAddresses) {
    const auto library = NS::TransferPtr(device->newLibrary(
        text("#include <metal_stdlib>\nusing namespace metal;\n"
             "struct Arguments { device const int* in [[id(0)]]; device int* out [[id(1)]]; int factor "
             "[[id(2)]]; };\n"
             "kernel void k(constant Arguments& a [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
             "    a.out[i] = a.factor * a.in[i];\n}"),
        nullptr, &error));
    ASSERT_TRUE(library) << message();
    const auto function = NS::TransferPtr(library->newFunction(text("k")));
    const auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline) << message();
    const auto in = ints({1, 2, 3, 4}), out = ints({0, 0, 0, 0});
    struct {
        std::uint64_t in, out;
        std::int32_t factor;
    } const arguments{in->gpuAddress(), out->gpuAddress(), 10};
    const auto record =
        NS::TransferPtr(device->newBuffer(&arguments, sizeof arguments, MTL::ResourceStorageModeShared));
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBuffer(record.get(), 0, 0);
    encoder->useResource(in.get(), MTL::ResourceUsageRead);
    encoder->useResource(out.get(), MTL::ResourceUsageWrite);
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    const auto* values = static_cast<const std::int32_t*>(out->contents());
    EXPECT_EQ((std::vector<std::int32_t>{10, 20, 30, 40}), std::vector<std::int32_t>(values, values + 4));
}

TEST_F(Surface, NoCopyBuffersOfAnyPointerAreWarnedOfOnceAndRefusedInStrictMode) {
    alignas(16) int numbers[4] = {1, 2, 3, 4};
    set_strict(device.get(), true);
    EXPECT_EQ(nullptr, device->newBuffer(numbers, sizeof numbers, MTL::ResourceStorageModeShared, nullptr));
    set_strict(device.get(), false);
    ::testing::internal::CaptureStderr();
    const auto first =
        NS::TransferPtr(device->newBuffer(numbers, sizeof numbers, MTL::ResourceStorageModeShared, nullptr));
    const auto second =
        NS::TransferPtr(device->newBuffer(numbers, sizeof numbers, MTL::ResourceStorageModeShared, nullptr));
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(numbers, first->contents());
    EXPECT_EQ(1, std::count(warnings.begin(), warnings.end(), '\n')) << warnings;
    EXPECT_THAT(warnings, HasSubstr("whole pages"));
    EXPECT_EQ(nullptr, device->newBuffer(static_cast<const void*>(nullptr), 16,
                                         MTL::ResourceStorageModeShared, nullptr));
}

TEST_F(Surface, PlacementHeapsLetBuffersOverlap) {
    const auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
    descriptor->setSize(4096);
    descriptor->setType(MTL::HeapTypePlacement);
    const auto heap = NS::TransferPtr(device->newHeap(descriptor.get()));
    const auto whole = NS::TransferPtr(heap->newBuffer(1024, MTL::ResourceStorageModeShared, 0));
    const auto part = NS::TransferPtr(heap->newBuffer(256, MTL::ResourceStorageModeShared, 512));
    ASSERT_TRUE(whole && part);
    EXPECT_EQ(static_cast<char*>(whole->contents()) + 512, part->contents());
    EXPECT_EQ(nullptr, heap->newBuffer(256, MTL::ResourceStorageModeShared, 100)) << "an offset of no use";
    EXPECT_EQ(nullptr, heap->newBuffer(256, MTL::ResourceStorageModeShared, 4096)) << "beyond the end";
    EXPECT_EQ(1024u, heap->usedSize());
    auto beside = NS::TransferPtr(heap->newBuffer(2048, MTL::ResourceStorageModeShared, 0));
    EXPECT_EQ(2048u, heap->usedSize());
    beside.reset();
    EXPECT_EQ(1024u, heap->usedSize()) << "another buffer begins where one was released";
}

TEST_F(Surface, ResidencySetsKeepTheirBooks) {
    const auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
    descriptor->setLabel(text("weights"));
    const auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), &error));
    ASSERT_TRUE(set);
    EXPECT_STREQ("weights", set->label()->utf8String());
    auto a = ints({1}), b = ints({2});
    const MTL::Allocation* both[] = {a.get(), b.get()};
    set->addAllocations(both, 2);
    set->addAllocation(a.get());
    EXPECT_EQ(2u, set->allocationCount());
    EXPECT_TRUE(set->containsAllocation(b.get()));
    EXPECT_EQ(a->allocatedSize() + b->allocatedSize(), set->allocatedSize());
    EXPECT_EQ(2u, a->retainCount()) << "members live as long as the set";
    set->commit();
    set->requestResidency();
    queue->addResidencySet(set.get());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    commands->useResidencySet(set.get());
    set->removeAllocation(a.get());
    EXPECT_FALSE(set->containsAllocation(a.get()));
    set->removeAllAllocations();
    EXPECT_EQ(0u, set->allocationCount());
    set->endResidency();
    queue->removeResidencySet(set.get());
}

TEST_F(Surface, SharedEventsNotifyAtTheirValueAndOnlyOnce) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    std::vector<std::uint64_t> notified;
    Calls calls;
    const auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
    for (const std::uint64_t value : {2, 4}) {
        event->notifyListener(listener.get(), value, [&](MTL::SharedEvent*, std::uint64_t reached) {
            notified.push_back(reached);
            calls.add();
        });
    }
    for (const std::uint64_t value : {1, 3, 4, 5}) event->setSignaledValue(value);
    calls.wait_for(2);
    EXPECT_EQ((std::vector<std::uint64_t>{3, 4}), notified) << "one after the other, in order";
    EXPECT_TRUE(event->waitUntilSignaledValue(5, 0));
    EXPECT_FALSE(event->waitUntilSignaledValue(6, 1));
}

TEST_F(Surface, AListenerMayWaitForTheQueueThatSignals) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    Calls calls;
    MTL::CommandBufferStatus status = MTL::CommandBufferStatusNotEnqueued;
    event->notifyListener(listener.get(), 1, [&](MTL::SharedEvent*, std::uint64_t) {
        commands->waitUntilCompleted();
        status = commands->status();
        calls.add();
    });
    listener.reset();  // what it has still to call is called
    commands->encodeSignalEvent(event.get(), 1);
    commands->commit();
    calls.wait_for(1);
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, status);
}

class Capturing : public Surface {
  protected:
    NS::SharedPtr<MTL::CaptureDescriptor> descriptor_of(NS::Object* object) {
        auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
        descriptor->setCaptureObject(object);
        descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
        descriptor->setOutputURL(NS::URL::fileURLWithPath(text(file_)));
        return descriptor;
    }
    void run_labelled(const std::string& label) {
        MTL::CommandBuffer* commands = queue->commandBuffer();
        commands->setLabel(text(label));
        MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
        encoder->setLabel(text("work"));
        encoder->pushDebugGroup(text("group"));
        encoder->setComputePipelineState(pipeline_.get());
        encode_add(encoder, to_.get(), from_.get());
        encoder->popDebugGroup();
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
    }
    std::string captured() {
        std::ostringstream content;
        content << std::ifstream(file_).rdbuf();
        return content.str();
    }

    test::TemporaryFolder folder_;
    std::string file_ = folder_.file("trace.txt");
    MTL::CaptureManager* manager_ = MTL::CaptureManager::sharedCaptureManager();
    NS::SharedPtr<MTL::ComputePipelineState> pipeline_ = pipeline_of(add_one());
    NS::SharedPtr<MTL::Buffer> from_ = ints({1, 2, 3, 4}), to_ = ints({0, 0, 0, 0});
};

TEST_F(Capturing, ACaptureListsWhatWasEncodedWhileItWentOn) {
    run_labelled("before");
    ASSERT_TRUE(manager_->startCapture(descriptor_of(device.get()).get(), &error)) << message();
    EXPECT_TRUE(manager_->isCapturing());
    from_->setLabel(text("input"));
    run_labelled("during");
    manager_->stopCapture();
    EXPECT_FALSE(manager_->isCapturing());
    run_labelled("after");
    const std::string trace = captured();
    EXPECT_THAT(trace, HasSubstr("command buffer 'during'"));
    EXPECT_THAT(trace, HasSubstr("compute encoder 'work'"));
    EXPECT_THAT(trace,
                HasSubstr("group / dispatch k: 4 x 1 x 1 threads in groups of 4 x 1 x 1, buffer(0) 16 bytes, "
                          "buffer(1) 'input' 16 bytes"));
    EXPECT_THAT(trace, ::testing::Not(HasSubstr("before")));
    EXPECT_THAT(trace, ::testing::Not(HasSubstr("after")));
}

TEST_F(Capturing, OnlyOneGoesOnAndItsDestinationMustBeServed) {
    ASSERT_TRUE(manager_->startCapture(descriptor_of(queue.get()).get(), &error));
    EXPECT_FALSE(manager_->startCapture(descriptor_of(queue.get()).get(), &error));
    EXPECT_STREQ("MTLCaptureErrorDomain", error->domain()->utf8String());
    EXPECT_EQ(NS::Integer(MTL::CaptureErrorAlreadyCapturing), error->code());
    manager_->stopCapture();
    EXPECT_TRUE(manager_->supportsDestination(MTL::CaptureDestinationGPUTraceDocument));
    EXPECT_FALSE(manager_->supportsDestination(MTL::CaptureDestinationDeveloperTools));
    const auto tools = descriptor_of(queue.get());
    tools->setDestination(MTL::CaptureDestinationDeveloperTools);
    EXPECT_FALSE(manager_->startCapture(tools.get(), &error));
    EXPECT_EQ(NS::Integer(MTL::CaptureErrorNotSupported), error->code());
    EXPECT_FALSE(manager_->startCapture(descriptor_of(from_.get()).get(), &error));
    EXPECT_EQ(NS::Integer(MTL::CaptureErrorInvalidDescriptor), error->code());
}

TEST_F(Capturing, AScopeIsCapturedFromItsBeginToItsEnd) {
    const auto scope = NS::TransferPtr(manager_->newCaptureScope(queue.get()));
    scope->setLabel(text("step"));
    EXPECT_STREQ("step", scope->label()->utf8String());
    EXPECT_EQ(queue.get(), scope->commandQueue());
    EXPECT_EQ(device.get(), scope->device());
    manager_->setDefaultCaptureScope(scope.get());
    EXPECT_EQ(scope.get(), manager_->defaultCaptureScope());
    manager_->setDefaultCaptureScope(nullptr);
    ASSERT_TRUE(manager_->startCapture(descriptor_of(scope.get()).get(), &error)) << message();
    run_labelled("outside");
    scope->beginScope();
    run_labelled("inside");
    scope->endScope();
    EXPECT_FALSE(manager_->isCapturing());
    EXPECT_THAT(captured(), HasSubstr("'inside'"));
    EXPECT_THAT(captured(), ::testing::Not(HasSubstr("'outside'")));
}

TEST_F(Surface, AModuleThatBreaksTheReaderFailsItsPipelineOnly) {
    std::string module("BC\xC0\xDE", 4);
    for (int i = 0; i < 2000; ++i) module += char(i * 31 + i / 7);
    const auto library = library_of(module);
    ASSERT_TRUE(library) << message();
    const auto function = NS::TransferPtr(library->newFunction(text("k")));
    EXPECT_EQ(nullptr, device->newComputePipelineState(function.get(), &error));
    EXPECT_NE("", message());
    EXPECT_STREQ("MTLLibraryErrorDomain", error->domain()->utf8String());
    EXPECT_TRUE(pipeline_of(add_one()));
}

TEST_F(Surface, PipelinesAreCompiledInAChildUnlessTheLibraryIsTrusted) {
    const auto isolated_by = [&](bool trusted, int value) {
        set_trusts_libraries(device.get(), trusted);
        const uint64_t before = compile_counts(device.get()).isolated;
        pipeline_of(
            kernel_ir(1, {}, "store i32 " + std::to_string(value) + ", ptr addrspace(1) %b0\nret void"));
        set_trusts_libraries(device.get(), false);
        return compile_counts(device.get()).isolated - before;
    };
    EXPECT_EQ(0u, isolated_by(true, 1));
    EXPECT_EQ(1u, isolated_by(false, 2));
}

}  // namespace
}  // namespace ingot::metal::testing
