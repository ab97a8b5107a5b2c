// The backend's own promises: what it refuses and how, buffers, weights in place, and failures of the device.
#include <fstream>

#include <unistd.h>

#include "base/mapped_file.h"
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;
using ::testing::HasSubstr;

// What graphs as text begin with.
const std::string kHeader = "graph tokens=1 sequences=1 outputs=1 kv=f32 window=causal fuse=none\n";

TEST_F(MetalTest, TrapAnUnknownWeightTypeIsRefusedByName) {
    const auto metal = make_metal();
    for (const auto& [type, accepted] : {std::pair(QuantType::kQ2_K, false), {QuantType::kQ4_K, true}}) {
        const WeightId matrix = weights_.add(accepted ? "good" : "bad", 4, 256, type);
        GraphBuilder b({}, weights_.table());
        b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 256})));
        const Graph graph = value_of(std::move(b).finish());
        const auto answer = metal->supports_op(graph, graph[NodeId(1)]);
        if (accepted) {
            expect_ok(answer);
        } else {
            EXPECT_THAT(error_of(answer),
                        HasSubstr("'bad' is Q2_K; the Metal kernels accept F32 F16 BF16 Q4_0"));
        }
    }
}

TEST_F(MetalTest, ARowLengthThatNoKernelReadsIsRefusedByName) {
    const auto metal = make_metal();
    const WeightId matrix = weights_.add("ragged", 4, 6);
    GraphBuilder b({}, weights_.table());
    b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 6})));
    const Graph graph = value_of(std::move(b).finish());
    EXPECT_EQ("'ragged' has rows of 6 elements; the F32 kernels accept multiples of 4",
              error_of(metal->supports_op(graph, graph[NodeId(1)])));
}

// No kernel meets one: a table of weights, whatever the device, takes no row of part of a block.
TEST_F(MetalTest, TrapARowOfPartBlocksIsRefusedByName) {
    const std::vector<std::byte> zeros(4096);
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const QuantTraits& type = traits(format.type);
        if (type.block_size == 1) continue;
        for (const uint32_t cols : {type.block_size - 1, type.block_size + 16, 2 * type.block_size}) {
            const auto added = weights_.table()->add(
                {fmt::format("{} {}", type.name, cols), format.type, 4, cols,
                 std::span(zeros).first(4 * cols / type.block_size * type.block_size_bytes)});
            if (cols % type.block_size == 0) {
                EXPECT_TRUE(added) << added.error().describe();
            } else {
                EXPECT_EQ(fmt::format("weight '{} {}' has rows of {} elements; {} accepts multiples of {}",
                                      type.name, cols, cols, type.name, type.block_size),
                          error_of(added));
            }
        }
        EXPECT_EQ(0u, type.block_size % format.row_multiple) << "nor one that its kernels can't read";
    }
}

TEST_F(MetalTest, AFusedNodeOfSeveralTokensIsRefusedAndTheChainStays) {
    const WeightId gate = weights_.add("gate", 8, 32), up = weights_.add("up", 8, 32);
    const std::vector<float> x = random_values(2 * 32, 1);
    compare({.tokens = 2},
            [&](GraphBuilder& b) {
                const NodeId in = b.input("x", DType::kF32, {2, 32});
                b.output(b.mul(b.silu(b.mat_mul(gate, in)), b.mat_mul(up, in)));
            },
            {{"x", x}}, 2e-5, {"mat_mul_multi_f32", "mat_mul_multi_f32", "swiglu"});
}

TEST_F(MetalTest, FusedProductsOfTwoTypesAreRefusedAndTheChainStays) {
    const WeightId gate = weights_.add("gate", 8, 32), up = weights_.add("up", 8, 32, QuantType::kF16);
    const std::vector<float> x = random_values(32, 1);
    compare({},
            [&](GraphBuilder& b) {
                const NodeId in = b.input("x", DType::kF32, {1, 32});
                b.output(b.mul(b.silu(b.mat_mul(gate, in)), b.mat_mul(up, in)));
            },
            {{"x", x}}, 2e-5, {"mat_mul_one_f32", "mat_mul_one_f16", "swiglu"});
}

TEST_F(MetalTest, AnIndexOutsideItsTableIsAnErrorThatNamesIt) {
    const WeightId table = weights_.add("t", 4, 8);
    const auto metal = make_metal();
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        b.output(b.get_rows(table, b.tokens()));
        return std::move(b).finish();
    };
    Executor executor({metal.get()}, make, {});
    for (int32_t bad : {4, -1, 1 << 30}) {
        const std::vector<int32_t> rows = {bad};
        EXPECT_EQ(fmt::format("%1 get_rows 't': row {}; 0 to 3 are accepted", bad),
                  error_of(executor.run({}, std::vector<InputData>{{"tokens", rows}})));
    }
    EXPECT_TRUE(metal->kernel_counts().empty()) << "nothing may be dispatched";
}

TEST_F(MetalTest, ACellPastTheRegionIsRefusedBeforeAnythingIsStored) {
    const auto metal = make_metal();
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        const NodeId k = b.input("k", DType::kF32, {1, 1, 8});
        b.kv_store(0, k, k);
        b.output(b.scale(b.reshape(k, {1, 8}), 1.0f));
        return std::move(b).finish();
    };
    Executor executor({metal.get()}, make, {.kv_cells = 4});
    const std::vector<float> k = random_values(8, 1);
    const std::vector<int32_t> cells = {4};
    EXPECT_THAT(error_of(executor.run({}, std::vector<InputData>{{"k", k}, {"cells", cells}})),
                HasSubstr("KV cell 4; 0 to 3 are accepted"));
    EXPECT_TRUE(metal->kernel_counts().empty());
}

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

// Memory for each value of a graph.
std::vector<BoundNode> bind(Backend& backend, const Graph& graph) {
    std::vector<BufferRef> places(graph.size());
    std::vector<BoundNode> bound;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        const size_t count = node.shape.count();
        if (node.type != DType::kKv) places[i] = {value_of(backend.alloc_fresh(count * 4)), 0, count};
        if (node.op == Op::kInput) continue;
        bound.push_back({NodeId(i), places[i], {}});
        for (const NodeId in : node.inputs)
            bound.back().inputs.push_back(in.valid() ? places[in.index()] : BufferRef());
    }
    return bound;
}

// What passes leave to the backend: nodes that were never asked about, or whose memory is another.
TEST_F(MetalTest, WhatTheKernelsCannotDoIsRefusedWhenItIsBound) {
    constexpr std::string_view kInputs = R"(weight "q" F32 [64, 32]
weight "k" F32 [32, 32]
weight "gain" F32 [1, 32]
%0 = input() {{name="x"}} : f32 [{0}, 32]
%1 = input() {{name="cells"}} : i32 [{0}]
)";
    constexpr std::string_view kStore = R"(%2 = input() {{name="k"}} : f32 [1, {1}, {2}]
%3 = kvcache_store(k=%2, v=%2, cells=%1) {{{0}kv_heads={1} head_dim={2}}} : kv [{1}, {2}]
)";
    constexpr std::string_view kAttention =
        R"(%2 = kvcache_load() {{{0}kv_heads={1} head_dim={2}}} : kv [{1}, {2}]
%3 = input() {{name="q"}} : f32 [1, 2, {2}]
%4 = attn(q=%3, kv=%2, window=%1) {{heads=2 kv_heads={1} head_dim={2} scale=1}} : f32 [1, {3}]
)";
    constexpr std::string_view kQkv =
        R"(%2 = fused_qkv{3}(x=%0, positions=%1, cells=%1, wq="q", wk="k", wv="k"{4}) )"
        R"({{{1}heads={5} kv_heads={6} head_dim={2} dims=16}} : f32 [{0}, {5}, {2}]
)";
    const auto store = [&](std::string_view layer, int heads, int dim) {
        return fmt::format(kInputs, 1) + fmt::format(kStore, layer, heads, dim);
    };
    const auto attention = [&](std::string_view layer, int heads, int dim) {
        return fmt::format(kInputs, 1) + fmt::format(kAttention, layer, heads, dim, 2 * dim);
    };
    const auto qkv = [&](int tokens, std::string_view layer, int dim, bool norm) {
        return fmt::format(kInputs, tokens) + fmt::format(kQkv, tokens, layer, dim, norm ? "_norm" : "",
                                                          norm ? R"(, q_gain="gain", k_gain="gain")" : "",
                                                          64 / dim, 32 / dim);
    };
    const auto of_x = [&](int tokens, std::string_view line) {
        return fmt::format(kInputs, tokens) + fmt::format("{} : f32 [{}, ", line, tokens);
    };
    // Layer 0 has cells of 1 x 32.
    const std::pair<std::string, const char*> cases[] = {
        {store("", 1, 32), nullptr},
        {attention("", 1, 32), nullptr},
        {store("", 2, 16), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {store("", 1, 48), "layer 0 has KV cells of 1 x 32; 1 x 48 are accepted"},
        {store("layer=7 ", 1, 32), "layer 7 has no KV cells on metal"},
        {attention("", 2, 16), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {attention("", 1, 64), "layer 0 has KV cells of 1 x 32; 1 x 64 are accepted"},
        {attention("layer=7 ", 1, 32), "layer 7 has no KV cells on metal"},
        {qkv(2, "", 32, false), "2 tokens in a fused node; 1 is accepted"},
        {qkv(2, "", 32, true), "2 tokens in a fused node; 1 is accepted"},
        {qkv(1, "layer=7 ", 32, false), "layer 7 has no KV cells on metal"},
        {qkv(1, "", 16, false), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {qkv(1, "", 32, false), "the weight 'q' is not on the Metal device"},
        {qkv(1, "", 32, true), "the weight 'q' is not on the Metal device"},
        {of_x(2, R"(%2 = fused_ffn(x=%0, gate="k", up="k"))") + "32]",
         "2 tokens in a fused node; 1 is accepted"},
        {of_x(1, R"(%2 = fused_ffn(x=%0, gate="k", up="k"))") + "32]",
         "the weight 'k' is not on the Metal device"},
        {of_x(3, R"(%2 = mat_mul(x=%0, matrix="q"))") + "64]", "the weight 'q' is not on the Metal device"},
        {of_x(3, R"(%2 = rms_norm(x=%0, gain="gain"))") + "32]",
         "the weight 'gain' is not on the Metal device"},
        {of_x(1, R"(%2 = get_rows(rows=%1, table="k"))") + "32]",
         "the weight 'k' is not on the Metal device"},
    };
    for (const auto& [text, error] : cases) {
        SCOPED_TRACE(text);
        const auto metal = make_metal();
        const KvLayer layer{0, 1, 32};
        expect_ok(metal->ensure_kv({&layer, 1}, kv::Format::kF32, 8));
        const Graph graph = value_of(parse(kHeader + text));
        const auto program = metal->prepare(graph, bind(*metal, graph));
        if (error == nullptr) {
            EXPECT_TRUE(program) << program.error().describe();
        } else {
            EXPECT_THAT(error_of(program),
                        ::testing::AllOf(::testing::StartsWith("metal: %"), HasSubstr(error)));
        }
    }
}

// The fused nodes store cells, too.
TEST_F(MetalTest, ACellPastTheRegionIsRefusedByTheFusedNodesToo) {
    const WeightId matrix = weights_.add("w", 32, 32), gain = weights_.add("gain", 1, 32);
    for (const bool norms : {false, true}) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const NodeId x = b.input("x", DType::kF32, {1, 32});
            const auto rotated = [&] {
                NodeId head = b.split_heads(b.mat_mul(matrix, x), 1, 32);
                if (norms) head = b.qk_norm(head, gain, 1e-5f);
                return b.rope(head, b.positions(), {.dims = 32});
            };
            const NodeId q = rotated(), k = rotated();
            b.kv_store(0, k, b.split_heads(b.mat_mul(matrix, x), 1, 32));
            b.output(b.attention(q, 0, {1, 1, 32, 1.0f}));
            return std::move(b).finish();
        };
        const auto metal = make_metal();
        Executor executor({metal.get()}, make, {.kv_cells = 4});
        const std::vector<float> x = random_values(32, 1);
        for (const int32_t bad : {4, -1}) {
            const std::vector<int32_t> cells = {bad}, positions = {0};
            EXPECT_THAT(
                error_of(executor.run(
                    {}, std::vector<InputData>{{"x", x}, {"cells", cells}, {"positions", positions}})),
                ::testing::AllOf(HasSubstr(norms ? "fused_qkv_norm" : "fused_qkv"),
                                 HasSubstr(fmt::format("KV cell {}; 0 to 3 are accepted", bad))));
        }
        EXPECT_TRUE(metal->kernel_counts().empty()) << "nothing may be dispatched";
    }
}

TEST_F(MetalTest, CellsThatAreNoWholeBlocksAreRefused) {
    const auto metal = make_metal();
    const KvLayer layer{2, 1, 40};
    EXPECT_EQ("layer 2 has KV cells of 40 elements; q8_0 accepts multiples of 32",
              error_of(metal->ensure_kv({&layer, 1}, kv::Format::kQ8_0, 8)));
    expect_ok(metal->ensure_kv({&layer, 1}, kv::Format::kF16, 8));
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
}

TEST_F(MetalTest, WhatIsPendingRunsWhenTheBackendGoes) {
    const auto device = watched_device();
    metal::set_counting(device->get(), true);
    {
        const auto metal = mtl::MetalBackend::create_on(*device, {});
        const Graph graph = value_of(parse(kHeader + R"(%0 = input() {name="x"} : f32 [1, 4]
%1 = silu(x=%0) : f32 [1, 4])"));
        const auto program = value_of(metal->prepare(graph, bind(*metal, graph)));
        expect_ok(metal->execute(*program, nullptr));
        EXPECT_EQ(0u, metal->stream_stats().submissions);
        EXPECT_TRUE(metal::take_counts(device->get()).empty());
    }
    const auto ran = metal::take_counts(device->get());
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
