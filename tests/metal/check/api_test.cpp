// Programs that break a rule of the Metal API, or leave dispatches and the host's accesses without an order,
// and programs that don't. What is reported of the wrong ones is compared, word for word.
#include <filesystem>
#include <fstream>

#include <Metal/Metal.hpp>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "metal/api/extensions.h"
#include "metal/check/fixtures.h"
#include "metal/check/report.h"

namespace ingot::tests {
namespace {

constexpr const char* kApiKernels = R"(#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * in[i];
}
kernel void turn(device float* out, threadgroup float* shared, uint t [[thread_index_in_threadgroup]],
                 uint i [[thread_position_in_grid]]) {
    shared[t] = float(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[31 - t];
}
kernel void turn_in_slot_1(device float* out, threadgroup float* shared [[threadgroup(1)]],
                           uint t [[thread_index_in_threadgroup]]) {
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[31 - t];
}
kernel void doubled(device const float* __restrict in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * in[i];
}
)";

NS::String* ns(const char* text) {
    return NS::String::string(text, NS::UTF8StringEncoding);
}

// A device under all checkers, with two kernels and a buffer of 64 floats for each use.
class ApiProgram {
  public:
    ApiProgram() {
        const auto done = metal::set_checks(device.get(), "all");
        if (!done) throw std::runtime_error(done.error().describe());
        library = NS::TransferPtr(device->newLibrary(ns(kApiKernels), nullptr, nullptr));
        twice = pipeline("twice");
        turn = pipeline("turn");
        in->setLabel(ns("in"));
        out->setLabel(ns("out"));
    }
    ~ApiProgram() {
        (void)metal::set_checks(device.get(), "");
        (void)metal::take_findings(device.get());
    }

    NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char* name) {
        const auto function = NS::TransferPtr(library->newFunction(ns(name)));
        return NS::TransferPtr(device->newComputePipelineState(function.get(), nullptr));
    }
    MTL::ComputeCommandEncoder* encoder(MTL::DispatchType type = MTL::DispatchTypeSerial) {
        commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder(type);
        encoder->setComputePipelineState(twice.get());
        return encoder;
    }
    // 2 * from, for `count` floats.
    void dispatch(MTL::ComputeCommandEncoder* encoder, MTL::Buffer* from, MTL::Buffer* to,
                  uint32_t count = 64, uint32_t from_byte = 0) {
        encoder->setBuffer(from, from_byte, 0);
        encoder->setBuffer(to, from_byte, 1);
        encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(32, 1, 1));
    }
    void finish(MTL::ComputeCommandEncoder* encoder) {
        encoder->endEncoding();
        commands->commit();
        commands->waitUntilCompleted();
    }
    // threadgroups of `threads` that turn themselves around in `bytes` of threadgroup memory.
    void turn_around(uint32_t threads, uint32_t bytes) {
        auto* turning = encoder();
        turning->setComputePipelineState(turn.get());
        turning->setBuffer(out.get(), 0, 0);
        turning->setThreadgroupMemoryLength(bytes, 0);
        turning->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(threads, 1, 1));
        finish(turning);
    }

    NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
    NS::SharedPtr<MTL::Library> library;
    NS::SharedPtr<MTL::ComputePipelineState> twice, turn;
    std::vector<float> ones = std::vector<float>(64, 1.0f);
    NS::SharedPtr<MTL::Buffer> in = NS::TransferPtr(device->newBuffer(ones.data(), 256, 0)),
                               out = NS::TransferPtr(device->newBuffer(256, 0)),
                               more = NS::TransferPtr(device->newBuffer(256, 0));
    MTL::CommandBuffer* commands = nullptr;
};

// Frees a buffer before, or after, what a command buffer without references does with it.
void free_buffer(ApiProgram& program, bool early) {
    auto* buffer = program.device->newBuffer(256, 0);
    buffer->setLabel(ns("sums"));
    program.commands = program.queue->commandBufferWithUnretainedReferences();
    auto* encoder = program.commands->computeCommandEncoder();
    encoder->setComputePipelineState(program.twice.get());
    program.dispatch(encoder, program.in.get(), buffer);
    if (early) buffer->release();
    program.finish(encoder);
    if (!early) buffer->release();
}

// Two dispatches one after the other, in -> out -> more, with `between` in the middle.
template <typename Between>
void chain(ApiProgram& program, MTL::DispatchType type, Between between) {
    auto* encoder = program.encoder(type);
    program.dispatch(encoder, program.in.get(), program.out.get());
    between(encoder);
    program.dispatch(encoder, program.out.get(), program.more.get());
    program.finish(encoder);
}

void wrap_pages(ApiProgram& program, size_t offset) {
    const auto page = size_t(::sysconf(_SC_PAGESIZE));
    void* memory = std::aligned_alloc(page, 2 * page);
    NS::TransferPtr(
        program.device->newBuffer(static_cast<char*>(memory) + offset, page, 0, [](void*, NS::UInteger) {}));
    std::free(memory);
}

struct ApiCase {
    ApiFixture fixture;
    std::function<void(ApiProgram&)> run;
    std::string report;  // of a wrong one
};

void run_unordered(ApiProgram& p) {
    chain(p, MTL::DispatchTypeConcurrent, [](auto*) {});
}
void run_with_barrier(ApiProgram& p) {
    chain(p, MTL::DispatchTypeConcurrent,
          [](auto* encoder) { encoder->memoryBarrier(MTL::BarrierScopeBuffers); });
}
void run_with_resource_barrier(ApiProgram& p) {
    chain(p, MTL::DispatchTypeConcurrent, [&](auto* encoder) {
        const MTL::Resource* resources[] = {p.out.get()};
        encoder->memoryBarrier(resources, 1);
    });
}
void run_with_wrong_barrier(ApiProgram& p) {
    chain(p, MTL::DispatchTypeConcurrent, [&](auto* encoder) {
        const MTL::Resource* resources[] = {p.more.get()};
        encoder->memoryBarrier(resources, 1);
    });
}
void run_side_by_side(ApiProgram& p) {
    auto* encoder = p.encoder(MTL::DispatchTypeConcurrent);
    p.dispatch(encoder, p.in.get(), p.out.get(), 32, 0);
    p.dispatch(encoder, p.in.get(), p.out.get(), 32, 128);
    p.finish(encoder);
}
void run_over_each_other(ApiProgram& p) {
    auto* encoder = p.encoder(MTL::DispatchTypeConcurrent);
    p.dispatch(encoder, p.in.get(), p.out.get(), 40, 0);
    p.dispatch(encoder, p.in.get(), p.out.get(), 32, 128);
    p.finish(encoder);
}
void read_at_offset(ApiProgram& p, uint32_t offset) {
    auto* encoder = p.encoder();
    encoder->setBuffer(p.in.get(), offset, 0);
    encoder->setBuffer(p.out.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(32, 1, 1));
    p.finish(encoder);
}
void set_bytes(ApiProgram& p, uint32_t bytes) {
    const std::vector<float> values(2048);
    auto* encoder = p.encoder();
    encoder->setBytes(values.data(), 64, 0);
    encoder->setBytes(values.data(), bytes, 0);
    encoder->setBuffer(p.out.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(16, 1, 1), MTL::Size(16, 1, 1));
    p.finish(encoder);
}
void read_back(ApiProgram& p, bool waits) {
    auto* encoder = p.encoder();
    p.dispatch(encoder, p.in.get(), p.out.get());
    encoder->endEncoding();
    p.commands->setLabel(ns("step 1"));
    p.commands->commit();
    if (waits) p.commands->waitUntilCompleted();
    p.out->contents();
    p.commands->waitUntilCompleted();
}
// Bindings last: buffer 1 of the first dispatch is still there at the second, which takes buffer 0 alone.
void turn_after_doubling(ApiProgram& p, bool set_again, uint32_t threadgroup_slot = 0) {
    const auto turn = p.pipeline(threadgroup_slot == 0 ? "turn" : "turn_in_slot_1");
    auto* encoder = p.encoder();
    p.dispatch(encoder, p.in.get(), p.more.get());
    encoder->setComputePipelineState(turn.get());
    encoder->setBuffer(p.out.get(), 0, 0);
    if (set_again) encoder->setBuffer(p.more.get(), 0, 1);
    encoder->setThreadgroupMemoryLength(128, threadgroup_slot);
    encoder->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(32, 1, 1));
    p.finish(encoder);
}
void double_in_place(ApiProgram& p, const char* kernel) {
    const auto pipeline = p.pipeline(kernel);
    auto* encoder = p.encoder();
    encoder->setComputePipelineState(pipeline.get());
    p.dispatch(encoder, p.in.get(), p.in.get());
    p.finish(encoder);
}
void read_input_back(ApiProgram& p) {
    auto* encoder = p.encoder();
    p.dispatch(encoder, p.in.get(), p.out.get());
    encoder->endEncoding();
    p.commands->commit();
    p.in->contents();
    p.commands->waitUntilCompleted();
}
void wait_for_the_next(ApiProgram& p) {
    auto* encoder = p.encoder();
    p.dispatch(encoder, p.in.get(), p.out.get());
    encoder->endEncoding();
    p.commands->commit();
    p.finish(p.encoder());
    p.out->contents();
}
void forget_the_end(ApiProgram& p) {
    auto* encoder = p.encoder();
    p.dispatch(encoder, p.in.get(), p.out.get());
    p.commands->commit();
    p.commands->waitUntilCompleted();
}
void encode_after_the_end(ApiProgram& p) {
    auto* encoder = p.encoder();
    encoder->endEncoding();
    p.dispatch(encoder, p.in.get(), p.out.get());
    p.commands->commit();
    p.commands->waitUntilCompleted();
}
void open_two(ApiProgram& p) {
    auto* first = p.encoder();
    p.commands->blitCommandEncoder()->endEncoding();
    p.finish(first);
}
void open_one_after_the_other(ApiProgram& p) {
    p.encoder()->endEncoding();
    p.commands->blitCommandEncoder()->endEncoding();
    p.commands->commit();
    p.commands->waitUntilCompleted();
}
void read_before_a_write(ApiProgram& p, bool fills) {
    p.commands = p.queue->commandBuffer();
    if (fills) {
        auto* blit = p.commands->blitCommandEncoder();
        blit->fillBuffer(p.more.get(), NS::Range(0, 256), 0);
        blit->endEncoding();
    }
    auto* encoder = p.commands->computeCommandEncoder();
    encoder->setComputePipelineState(p.twice.get());
    p.dispatch(encoder, p.more.get(), p.out.get());
    p.finish(encoder);
}

const std::vector<ApiCase>& api_cases() {
    static const std::vector<ApiCase> cases{
        {{"invalid-offset", "past_the_end", true},
         [](auto& p) {
             auto* encoder = p.encoder();
             encoder->setBuffer(p.in.get(), 0, 0);
             encoder->setBuffer(p.in.get(), 260, 0);
             p.finish(encoder);
         },
         "program: invalid-offset: setBuffer at offset 260 of a buffer of 256 bytes.\n"},
        {{"invalid-offset", "not_at_a_word", true},
         [](auto& p) { read_at_offset(p, 6); },
         "program: invalid-offset: setBuffer at offset 6 of buffer 'in', which isn't a multiple of 4.\n"},
        {{"invalid-offset", "at_a_word", false}, [](auto& p) { read_at_offset(p, 8); }, ""},
        {{"invalid-argument", "too_many_bytes", true},
         [](auto& p) { set_bytes(p, 4100); },
         "program: invalid-argument: setBytes of 4100 bytes in slot 0; at most 4096 bytes and slots 0 to 30 "
         "are "
         "accepted.\n"},
        {{"invalid-argument", "no_such_slot", true},
         [](auto& p) {
             auto* encoder = p.encoder();
             encoder->setBuffer(p.in.get(), 0, 31);
             p.finish(encoder);
         },
         "program: invalid-argument: setBuffer in slot 31, the last is 30.\n"},
        {{"invalid-argument", "an_odd_length", true},
         [](auto& p) {
             auto* encoder = p.encoder();
             encoder->setThreadgroupMemoryLength(24, 0);
             p.finish(encoder);
         },
         "program: invalid-argument: setThreadgroupMemoryLength 24 in slot 0; a multiple of 16 and slots 0 "
         "to 30 "
         "are accepted.\n"},
        {{"invalid-argument", "as_many_bytes_as_allowed", false}, [](auto& p) { set_bytes(p, 4096); }, ""},
        {{"large-threadgroup", "of_2048", true},
         [](auto& p) { p.turn_around(2048, 128); },
         "kernel 'turn': large-threadgroup: It is dispatched in threadgroups of 2048 x 1 x 1 threads; its "
         "pipeline takes at most 1024.\n"},
        {{"large-threadgroup", "of_32", false}, [](auto& p) { p.turn_around(32, 128); }, ""},
        {{"large-threadgroup-memory", "by_16_bytes", true},
         [](auto& p) { p.turn_around(32, 32768 + 16); },
         "kernel 'turn': large-threadgroup-memory: It is dispatched with 32784 bytes of threadgroup memory, "
         "of "
         "which 0 are its own; there are 32768.\n"},
        {{"large-threadgroup-memory", "all_there_is", false}, [](auto& p) { p.turn_around(32, 32768); }, ""},
        {{"misaligned-no-copy", "inside_of_a_page", true},
         [](auto& p) { wrap_pages(p, 64); },
         "program: misaligned-no-copy: A no-copy buffer of 4096 bytes inside of a page isn't made of whole "
         "pages "
         "of 4096 bytes.\n"},
        {{"misaligned-no-copy", "a_whole_page", false}, [](auto& p) { wrap_pages(p, 0); }, ""},
        {{"open-encoder", "at_commit", true},
         forget_the_end,
         "program: open-encoder: A command buffer is committed whose encoder wasn't ended.\n"},
        {{"open-encoder", "after_its_end", true},
         encode_after_the_end,
         "program: open-encoder: A command is encoded after endEncoding.\n"},
        {{"open-encoder", "two_at_a_time", true},
         open_two,
         "program: open-encoder: A command buffer has one open encoder at a time: end the other one "
         "first.\n"},
        {{"open-encoder", "one_after_the_other", false}, open_one_after_the_other, ""},
        {{"buffer-in-use", "freed_before_the_commit", true},
         [](auto& p) { free_buffer(p, true); },
         "program: buffer-in-use: buffer 'sums' was released before a command buffer that uses it without a "
         "reference was completed.\n"},
        {{"buffer-in-use", "freed_in_the_end", false}, [](auto& p) { free_buffer(p, false); }, ""},
        {{"dispatch-race", "nothing_between", true},
         run_unordered,
         "kernel 'twice': dispatch-race: it reads byte 0 of buffer 0 ('out'), which a dispatch of 'twice' "
         "before "
         "it writes; no memoryBarrier stands between the two in their concurrent encoder.\n"},
        {{"dispatch-race", "barrier_of_another_buffer", true},
         run_with_wrong_barrier,
         "kernel 'twice': dispatch-race: it reads byte 0 of buffer 0 ('out'), which a dispatch of 'twice' "
         "before "
         "it writes; no memoryBarrier stands between the two in their concurrent encoder.\n"},
        {{"dispatch-race", "over_each_other", true},
         run_over_each_other,
         "kernel 'twice': dispatch-race: it writes byte 0 of buffer 1 ('out'), which a dispatch of 'twice' "
         "before "
         "it writes; no memoryBarrier stands between the two in their concurrent encoder.\n"},
        {{"dispatch-race", "barrier_of_all", false}, run_with_barrier, ""},
        {{"dispatch-race", "barrier_of_the_buffer", false}, run_with_resource_barrier, ""},
        {{"dispatch-race", "side_by_side", false}, run_side_by_side, ""},
        {{"dispatch-race", "serial", false},
         [](auto& p) { chain(p, MTL::DispatchTypeSerial, [](auto*) {}); },
         ""},
        {{"unused-binding", "left_of_an_earlier_dispatch", false},
         [](auto& p) { turn_after_doubling(p, false); },
         ""},
        {{"unused-binding", "left_in_a_slot_of_threadgroup_memory", false},
         [](auto& p) { turn_after_doubling(p, false, 1); },
         ""},
        {{"broken-restrict", "one_buffer_in_two_slots", true},
         [](auto& p) { double_in_place(p, "doubled"); },
         ""},
        {{"broken-restrict", "nothing_was_promised", false},
         [](auto& p) { double_in_place(p, "twice"); },
         ""},
        {{"unused-binding", "set_for_a_kernel_that_takes_less", true},
         [](auto& p) { turn_after_doubling(p, true); },
         "kernel 'turn': unused-binding: The launch binds buffer 1, which the kernel doesn't take.\n"},
        {{"host-access", "before_the_wait", true},
         [](auto& p) { read_back(p, false); },
         "program: host-access: contents() of buffer 'out' is asked for while command buffer 'step 1' that "
         "writes it may be running: wait until it is completed.\n"},
        {{"host-access", "after_the_wait", false}, [](auto& p) { read_back(p, true); }, ""},
        {{"host-access", "what_is_only_read", false}, read_input_back, ""},
        {{"host-access", "after_a_later_wait", false}, wait_for_the_next, ""},
        {{"uninitialised-buffer", "nobody_filled_it", true},
         [](auto& p) { read_before_a_write(p, false); },
         ""},
        {{"uninitialised-buffer", "a_blit_filled_it", false},
         [](auto& p) { read_before_a_write(p, true); },
         ""}};
    return cases;
}

class ApiChecks : public ::testing::TestWithParam<ApiCase> {};

TEST_P(ApiChecks, FindWhatIsWrongAndNothingElse) {
    const auto& [fixture, run, report] = GetParam();
    ApiProgram program;
    run(program);
    const auto findings = metal::take_findings(program.device.get());
    std::string text;
    for (const auto& finding : findings)
        text += metal::check::to_text(finding, metal::check::lines_of_files());
    if (!fixture.bad) {
        EXPECT_EQ("", text);
        return;
    }
    ASSERT_FALSE(findings.empty()) << "nothing was found";
    EXPECT_EQ(fixture.kind, metal::check::facts_of(findings[0].kind).name) << text;
    if (report.empty()) return;
    EXPECT_EQ(report, metal::check::to_text(findings[0], metal::check::lines_of_files()));
}

INSTANTIATE_TEST_SUITE_P(Programs, ApiChecks, ::testing::ValuesIn(api_cases()), [](const auto& one) {
    const ApiFixture& fixture = one.param.fixture;
    std::string name = fmt::format("{}_{}_{}", fixture.bad ? "bad" : "good", fixture.kind, fixture.name);
    std::ranges::replace(name, '-', '_');
    return name;
});

// A recorded dispatch says all that a launch file may say, and its buffers lie beside it.
TEST(ApiRecording, WritesALaunchFileForEachDispatch) {
    const auto folder = std::filesystem::path(::testing::TempDir()) / "ingot-recording";
    std::filesystem::remove_all(folder);
    ApiProgram program;
    metal::set_recording(program.device.get(), folder.string());
    program.turn_around(32, 128);
    auto* encoder = program.encoder();
    program.dispatch(encoder, program.in.get(), program.more.get());
    program.finish(encoder);
    metal::set_recording(program.device.get(), "");
    const auto launch = nlohmann::json::parse(std::ifstream(folder / "0002-twice.launch.json"));
    EXPECT_EQ("twice", launch["kernel"]);
    EXPECT_EQ((std::vector{64, 1, 1}), launch["grid_threads"].get<std::vector<int>>());
    EXPECT_EQ((std::vector{32, 1, 1}), launch["threads"].get<std::vector<int>>());
    EXPECT_EQ("0002-twice-0.npy", launch["buffers"]["0"]);
    EXPECT_EQ("out:u8[256]", launch["buffers"]["1"]);
    EXPECT_EQ(128 + 256u, std::filesystem::file_size(folder / "0002-twice-0.npy"));
    std::ifstream library(folder / launch["file"].get<std::string>());
    const std::string source{std::istreambuf_iterator<char>(library), {}};
    EXPECT_EQ(kApiKernels, source);
    const auto turn = nlohmann::json::parse(std::ifstream(folder / "0001-turn.launch.json"));
    EXPECT_EQ(128, turn["threadgroup"]["0"]);
    std::filesystem::remove_all(folder);
}

}  // namespace

const std::vector<ApiFixture>& api_fixtures() {
    static const std::vector<ApiFixture> fixtures = [] {
        std::vector<ApiFixture> all;
        for (const ApiCase& one : api_cases()) all.push_back(one.fixture);
        return all;
    }();
    return fixtures;
}

}  // namespace ingot::tests
