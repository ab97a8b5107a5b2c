// The backend's own promises: buffers, weights in place, its budget, and failures of the device.
#include <cstdlib>
#include <fstream>

#include <unistd.h>

#include "base/mapped_file.h"
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;
using ::testing::HasSubstr;

// Bit for bit what the host's conversions make, in the named cells alone.
TEST_F(MetalTest, TrapTheStoreTouchesItsRowsAloneAndMakesTheBytesOfTheHost) {
    const QuantType types[] = {QuantType::kF32, QuantType::kF16, QuantType::kQ8_0};
    constexpr uint32_t kWidth = 96;
    const KvLayer layer{0, 3, 32};
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        const NodeId k = b.input("k", DType::kF32, {p.tokens, 3, 32});
        b.kv_store(0, k, b.scale(k, 2.0f));
        b.output(b.scale(b.reshape(k, {p.tokens, kWidth}), 1.0f));
        return std::move(b).finish();
    };
    for (const kv::FormatTraits& format : kv::kFormats) {
        SCOPED_TRACE(format.name);
        const auto metal = make_metal();
        const size_t row_bytes = kv::row_bytes(format.format, kWidth);
        expect_ok(metal->ensure_kv({&layer, 1}, format.format, 8));
        const std::vector<std::byte> untouched(8 * row_bytes, std::byte{0xC2});
        for (const KvSide side : {KvSide::kKey, KvSide::kValue})
            expect_ok(metal->write_kv(0, side, 0, untouched));
        Executor executor({metal.get()}, make, {.kv_cells = 8});
        std::vector<float> k = random_values(3 * kWidth, 3);
        std::fill_n(k.begin(), 32, 0.0f);  // a block of zeros
        k[40] = 1e-30f, k[70] = 3e4f;
        const std::vector<int32_t> cells = {6, 1, 2};
        expect_ok(executor.run({.tokens = 3, .kv_format = format.format},
                               std::vector<InputData>{{"k", k}, {"cells", cells}}));
        std::vector<float> v = k;
        for (float& value : v) value *= 2.0f;
        for (const auto& [side, values] : {std::pair(KvSide::kKey, &k), {KvSide::kValue, &v}}) {
            std::vector<std::byte> expected = untouched, rows(untouched.size());
            for (size_t t = 0; t < 3; ++t) {
                traits(types[size_t(format.format)])
                    .quantize(&(*values)[t * kWidth], &expected[size_t(cells[t]) * row_bytes], kWidth);
            }
            expect_ok(metal->read_kv(0, side, 0, rows));
            EXPECT_EQ(rows, expected);
        }
        EXPECT_EQ(metal->kernel_counts().at(fmt::format("kv_store_{}", format.name)), 1u);
    }
}

TEST_F(MetalTest, TrapAHostReadWaitsForWhatIsPending) {
    const auto metal = make_metal();
    GraphBuilder b({}, weights_.table());
    const NodeId x = b.input("x", DType::kF32, {1, 4});
    b.output(b.scale(x, 3.0f));
    const Graph graph = value_of(std::move(b).finish());
    const BufferId in = value_of(metal->alloc_fresh(64)), out = value_of(metal->alloc_fresh(64));
    const std::vector<float> values = {1, 2, 3, 4};
    expect_ok(metal->write(in, 0, std::as_bytes(std::span(values))));
    const auto program = value_of(metal->prepare(graph, {{NodeId(1), {out, 0, 4}, {{in, 0, 4}}}}));
    expect_ok(metal->execute(*program, nullptr));
    std::vector<float> read(4);
    expect_ok(metal->read(out, 0, std::as_writable_bytes(std::span(read))));
    EXPECT_EQ(read, (std::vector<float>{3, 6, 9, 12}));
    EXPECT_EQ(metal->stream_stats().submissions, 1u);
}

TEST_F(MetalTest, BuffersAreReusedAtTheirExactSizeAloneAndFreshOnesNever) {
    const auto metal = make_metal();
    const BufferId first = value_of(metal->alloc_buffer(256));
    metal->free_buffer(first);
    EXPECT_NE(first, value_of(metal->alloc_fresh(256)));
    EXPECT_NE(first, value_of(metal->alloc_buffer(128)));
    EXPECT_EQ(first, value_of(metal->alloc_buffer(256)));
}

TEST_F(MetalTest, ARunThatDoesNotEndInTimeIsAnErrorWithTheLastDispatches) {
    const WeightId matrix = weights_.add("slow", 2048, 2048);
    const auto metal = make_metal({.wait_seconds = 0.0});
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        NodeId x = b.input("x", DType::kF32, {1, 2048});
        for (int i = 0; i < 20; ++i) x = b.mat_mul(matrix, x);
        b.output(x);
        return std::move(b).finish();
    };
    Executor executor({metal.get()}, make, {});
    const std::vector<float> x = random_values(2048, 1);
    const std::string error = error_of(executor.run({}, std::vector<InputData>{{"x", x}}));
    EXPECT_THAT(error,
                HasSubstr("didn't end within 0 s; the last 16 of 20 dispatches: mat_mul_one_f32 %5 mat_mul"));
    EXPECT_THAT(error_of(executor.run({}, std::vector<InputData>{{"x", x}})),
                HasSubstr("an earlier submission"));
}

// The failure is the run's alone: what comes after it is served.
TEST_F(MetalTest, ADeviceThatFailsIsAnErrorWithTheLastDispatches) {
    const auto device = value_of(mtl::Device::with_sources([](std::string_view name) {
        std::string text = mtl::full_source(name);
        constexpr std::string_view kScale = "x* parameter";
        if (const size_t at = text.find(kScale); at != std::string::npos)
            text.replace(at, kScale.size(), "*(x_values - (1L << 40))");
        return text;
    }));
    expect_ok(metal::set_checks(device->get(), ""));  // checkers would keep it from failing
    const auto metal = mtl::MetalBackend::create_on(*device, {});
    const auto run = [&](const std::function<NodeId(GraphBuilder&, NodeId)>& op) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            b.output(op(b, b.add(b.input("x", DType::kF32, {1, 4}), b.input("y", DType::kF32, {1, 4}))));
            return std::move(b).finish();
        };
        Executor executor({metal.get()}, make, {});
        const std::vector<float> x = {1, 2, 3, 4};
        return executor.run({}, std::vector<InputData>{{"x", x}, {"y", x}});
    };
    const auto outside = run([](GraphBuilder& b, NodeId x) { return b.scale(x, 2.0f); });
    EXPECT_THAT(error_of(outside),
                ::testing::AllOf(HasSubstr("the Metal device failed: "),
                                 HasSubstr("the last 2 of 2 dispatches: add %2 add, scale %3")));
    EXPECT_EQ(ErrorKind::kIo, outside.error().kind);
    expect_ok(run([](GraphBuilder& b, NodeId x) { return b.silu(x); }));
    const char* checks = std::getenv("INGOT_METAL_CHECK");
    expect_ok(metal::set_checks(device->get(), checks == nullptr ? "" : checks));
}

TEST_F(MetalTest, WhatIsPendingRunsWhenTheBackendGoes) {
    const auto device = watched_device();
    metal::set_counting(device->get(), true);
    {
        const auto metal = mtl::MetalBackend::create_on(*device, {});
        const Graph graph = value_of(parse(kGraphHeader + R"(%0 = input() {name="x"} : f32 [1, 4]
%1 = silu(x=%0) : f32 [1, 4])"));
        const auto program = value_of(metal->prepare(graph, bind(*metal, graph)));
        expect_ok(metal->execute(*program, nullptr));
        EXPECT_EQ(0u, metal->stream_stats().submissions);
        EXPECT_TRUE(metal::take_counts(device->get()).empty());
    }
    const auto ran = metal::take_counts(device->get());
    metal::set_counting(device->get(), false);  // one device serves all tests of a process
    ASSERT_EQ(1u, ran.size());
    EXPECT_EQ("silu", ran[0].kernel);
}

// Weights in a mapping are used where they are; others, and ones that lie badly, are copied. Results agree.
TEST_F(MetalTest, WeightsOfAMappedFileAreUsedInPlace) {
    const std::string path = ::testing::TempDir() + "ingot-metal-weights.bin";
    const std::vector<float> values = random_values(4 * 64 + 1, 3);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size() * 4));
    const MappedFile file = value_of(MappedFile::open(path));
    for (const bool mapped : {true, false}) {
        for (const size_t offset : {size_t(0), sizeof(float)}) {
            auto table = std::make_shared<WeightTable>();
            const WeightId matrix =
                value_of(table->add({"m", QuantType::kF32, 4, 64, file.bytes().subspan(offset, 1024)}));
            const auto make = [&](const GraphParams& p) {
                GraphBuilder b(p, table);
                b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 64})));
                return std::move(b).finish();
            };
            mtl::MetalBackend::Options options;
            if (mapped) options.mappings = {file.bytes()};
            const auto metal = make_metal(options);
            ReferenceBackend reference;
            const std::vector<float> x = random_values(64, 1);
            EXPECT_LE(relative_difference(run_once({{metal.get()}}, {}, make, {{"x", x}}),
                                          run_once({{&reference}}, {}, make, {{"x", x}})),
                      2e-5);
            EXPECT_EQ(metal->copied_weight_bytes(), mapped && offset == 0 ? 0u : 1024u);
            EXPECT_EQ(metal->memory().weight_bytes, 1024u);
        }
    }
}

TEST_F(MetalTest, WhatDoesNotFitTheBudgetIsAnErrorWithTheNumbers) {
    const auto metal = make_metal({.memory_bytes = 4096});
    EXPECT_EQ(4096u, metal->budget_bytes());
    value_of(metal->alloc_fresh(1024));
    const KvLayer layer{3, 1, 8};
    expect_ok(metal->ensure_kv({&layer, 1}, kv::Format::kF32, 32));  // 2 x 1024
    EXPECT_EQ(
        "1025 bytes for a buffer don't fit the Metal device's 4096: weights take 0, KV cells 2048, "
        "buffers 1024",
        error_of(metal->alloc_fresh(1025)));
    value_of(metal->alloc_fresh(1024));
    const KvLayer more{4, 1, 8};
    EXPECT_THAT(error_of(metal->ensure_kv({&more, 1}, kv::Format::kF32, 1)),
                HasSubstr("64 bytes for the KV cells of layer 4 don't fit"));
    const WeightId matrix = weights_.add("big", 64, 64);
    const auto small = make_metal({.memory_bytes = 16000});
    Executor executor({small.get()},
                      [&](const GraphParams& p) {
                          GraphBuilder b(p, weights_.table());
                          b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 64})));
                          return std::move(b).finish();
                      },
                      {});
    EXPECT_THAT(error_of(executor.prepare({})), HasSubstr("16384 bytes for 'big' don't fit"));
    EXPECT_GT(make_metal()->budget_bytes(), 0u) << "what the device recommends";
}

TEST_F(MetalTest, TablesOfAnglesCountForAsLongAsTheirProgramLives) {
    // 64 angles, as cosine and sine.
    const Graph graph = value_of(parse(kGraphHeader + R"(%0 = input() {name="x"} : f32 [1, 1, 128]
%1 = input() {name="positions"} : i32 [1]
%2 = rope(x=%0, positions=%1) {dims=128} : f32 [1, 1, 128])"));
    constexpr uint64_t kValues = 2 * 128 * 4 + 4, kTable = 128 * 4;
    for (const uint64_t missing : {0, 1}) {
        const auto metal = make_metal({.memory_bytes = kValues + kTable - missing});
        const std::vector<BoundNode> bound = bind(*metal, graph);
        EXPECT_EQ(kValues, metal->memory().buffer_bytes);
        if (missing == 0) {
            const auto program = value_of(metal->prepare(graph, bound));
            EXPECT_EQ(kValues + kTable, metal->memory().buffer_bytes);
        } else {
            EXPECT_THAT(
                error_of(metal->prepare(graph, bound)),
                HasSubstr("512 bytes for a table of angles or cells don't fit the Metal device's 1539"));
        }
        EXPECT_EQ(kValues, metal->memory().buffer_bytes);
    }
}

TEST_F(MetalTest, AProfileNamesTheKernelsAndWhatWasWaitedFor) {
    const std::vector<float> x = {1, 2, 3, 4};
    for (const bool profiled : {true, false}) {
        const auto metal = make_metal({.profile = profiled});
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            b.output(b.silu(b.scale(b.input("x", DType::kF32, {1, 4}), 2.0f)));
            return std::move(b).finish();
        };
        run_once({{metal.get()}}, {}, make, {{"x", x}});
        const std::string text = metal->profile();
        EXPECT_EQ(profiled, !text.empty());
        if (!profiled) continue;
        EXPECT_THAT(text, ::testing::StartsWith("metal: 2 dispatches in 1 submissions; "));
        EXPECT_THAT(text, HasSubstr("1 x silu\n"));
        EXPECT_THAT(text, HasSubstr("1 x scale\n"));
    }
}

TEST_F(MetalTest, TwoDevicesTakeTurnsWithinOneGraph) {
    // silu on the reference, everything else on Metal: values cross in both directions.
    const WeightId matrix = weights_.add("m", 64, 64);
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        const NodeId x = b.mat_mul(matrix, b.input("x", DType::kF32, {2, 64}));
        b.output(b.add(b.mat_mul(matrix, b.silu(x)), x));
        return std::move(b).finish();
    };
    const std::vector<float> x = random_values(2 * 64, 1);
    ReferenceBackend alone, host("host");
    const auto metal = make_metal();
    class OnlySilu;
    const std::vector<float> expected = run_once({{&alone}}, {.tokens = 2}, make, {{"x", x}});
    ReferenceBackend first("first", {Op::kMatMul, Op::kAdd});
    Executor executor({&first, metal.get()}, make, {});
    expect_ok(executor.run({.tokens = 2}, std::vector<InputData>{{"x", x}}));
    const auto out = value_of(executor.output());
    EXPECT_LE(relative_difference({out.begin(), out.end()}, expected), 2e-5);
    EXPECT_EQ(metal->kernel_counts(), (Counts{{"mat_mul_multi_f32", 2}, {"add", 1}}));
    EXPECT_EQ(executor.stats().splits, 3u);
}

}  // namespace
}  // namespace ingot::tests
