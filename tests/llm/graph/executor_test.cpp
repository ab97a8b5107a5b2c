// Running graphs on test doubles that do the work late, like a GPU: reuse, splits, copies, waiting, errors,
// traces.
#include "llm/graph/executor.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "llm/graph/fixture.h"
#include "llm/graph/reference_backend.h"

namespace ingot::tests {
namespace {

using namespace graph;

std::string file_text(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// silu(x) + softmax(silu(x)) + x, rows by params.tokens; softmax is what the tests put on another backend.
Result<Graph> mixed(const GraphParams& params) {
    GraphBuilder b(params, std::make_shared<WeightTable>());
    const NodeId x = b.input("x", DType::kF32, {params.tokens, 4});
    const NodeId s = b.silu(x);
    b.output(b.add(b.add(s, b.softmax(s)), b.softmax(x)));
    return std::move(b).finish();
}

std::vector<float> mixed_by_hand(const std::vector<float>& x) {
    std::vector<float> out(x.size());
    for (size_t row = 0; row < x.size(); row += 4) {
        double s[4], sum_s = 0, sum_x = 0;
        for (int i = 0; i < 4; ++i) {
            s[i] = x[row + i] / (1 + std::exp(-double(x[row + i])));
            sum_s += std::exp(s[i]);
            sum_x += std::exp(double(x[row + i]));
        }
        for (int i = 0; i < 4; ++i) {
            out[row + i] = float(s[i] + std::exp(s[i]) / sum_s + std::exp(double(x[row + i])) / sum_x);
        }
    }
    return out;
}

std::vector<float> run_mixed(Executor& executor, uint32_t tokens, uint32_t seed) {
    const std::vector<float> x = random_values(tokens * 4, seed);
    const std::vector<InputData> inputs = {{"x", x}};
    expect_ok(executor.run({.tokens = tokens}, inputs));
    const auto out = value_of(executor.output());
    EXPECT_LE(relative_difference({out.begin(), out.end()}, mixed_by_hand(x)), 1e-6) << "seed " << seed;
    return {out.begin(), out.end()};
}

TEST(Executor, EqualParametersReuseTheGraphAndOthersBuildTheirOwn) {
    ReferenceBackend cpu("cpu");
    int builds = 0;
    Executor executor({&cpu},
                      [&](const GraphParams& p) {
                          ++builds;
                          return mixed(p);
                      },
                      {});
    for (uint32_t seed = 0; seed < 5; ++seed) run_mixed(executor, 1, seed);
    EXPECT_EQ(1, builds);
    run_mixed(executor, 3, 9);
    run_mixed(executor, 1, 10);
    EXPECT_EQ(2, builds);
    EXPECT_EQ(2u, executor.stats().graphs_built);
    EXPECT_EQ(7u, executor.stats().runs);
}

TEST(Executor, AnInputThatFeedsTwoBackendsIsCopiedAgainInEveryRun) {
    ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    Executor executor({&gpu, &cpu}, mixed, {});
    const std::vector<float> first = run_mixed(executor, 2, 1), second = run_mixed(executor, 2, 2);
    EXPECT_NE(first, second);
    EXPECT_EQ(first, run_mixed(executor, 2, 1));
    // x and silu(x) to the cpu, both softmaxes back.
    EXPECT_EQ(3u * 4, executor.stats().copies);
    // Placement is what the test is about: both really worked.
    EXPECT_EQ(6, std::ranges::count(cpu.log, "execute softmax"));
    EXPECT_EQ(0, std::ranges::count(gpu.log, "execute softmax"));
    EXPECT_EQ(3, std::ranges::count(gpu.log, "execute silu"));
    EXPECT_GE(executor.stats().splits, 3u);
}

TEST(Executor, AHostReadWaitsForCommandsThatArePending) {
    // Reads that don't wait by themselves: only the executor's own waiting makes the results right.
    ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    gpu.forget_to_wait = cpu.forget_to_wait = true;
    Executor executor({&gpu, &cpu}, mixed, {});
    run_mixed(executor, 2, 1);
    run_mixed(executor, 2, 2);
}

TEST(Backend, AReadSeesWhatWasExecutedBeforeIt) {
    ReferenceBackend gpu("gpu");
    const Graph graph = value_of(mixed({.tokens = 1}));
    const BufferId x = value_of(gpu.alloc_buffer(64)), y = value_of(gpu.alloc_buffer(64));
    const std::vector<float> values = {1, 2, 3, 4};
    expect_ok(gpu.write(x, 0, std::as_bytes(std::span(values))));
    const auto program = value_of(gpu.prepare(graph, {{NodeId(1), {y, 0, 4}, {{x, 0, 4}}}}));
    expect_ok(gpu.execute(*program, nullptr));
    std::vector<float> out(4);
    expect_ok(gpu.read(y, 0, std::as_writable_bytes(std::span(out))));
    EXPECT_NEAR(1 / (1 + std::exp(-1.0)), out[0], 1e-7);
    EXPECT_EQ((std::vector<std::string>{"write 0", "execute silu", "wait", "read 1"}), gpu.log);
}

TEST(Executor, SmallGraphsRunInTheBuffersOfALargeOne) {
    ReferenceBackend cpu("cpu");
    Executor executor({&cpu}, mixed, {});
    expect_ok(executor.prepare({.tokens = 500}));
    const uint32_t next = value_of(cpu.alloc_buffer(1)).index();
    for (uint32_t tokens = 1; tokens < 300; tokens += 7) run_mixed(executor, tokens, tokens);
    EXPECT_EQ(next + 1, value_of(cpu.alloc_buffer(1)).index()) << "nothing was allocated in between";
}

TEST(Executor, InputsThatDontFitAreRefusedByName) {
    ReferenceBackend cpu("cpu");
    Executor executor({&cpu}, mixed, {});
    const std::vector<float> three = {1, 2, 3};
    const std::vector<int32_t> four = {1, 2, 3, 4};
    const std::vector<InputData> none, few = {{"x", three}}, ints = {{"x", four}};
    EXPECT_EQ("input 'x' has no data", error_of(executor.run({}, none)));
    EXPECT_EQ("input 'x' got 3 f32 elements; 4 f32 are accepted", error_of(executor.run({}, few)));
    EXPECT_EQ("input 'x' got 4 i32 elements; 4 f32 are accepted", error_of(executor.run({}, ints)));
    EXPECT_EQ("nothing has run", error_of(executor.output()));
}

TEST(Executor, ALayersCellsCantMoveToAnotherBackend) {
    ReferenceBackend gpu("gpu"), cpu("cpu");
    const auto build = [&](const GraphParams& params) -> Result<Graph> {
        GraphBuilder b(params, std::make_shared<WeightTable>());
        const NodeId k = b.input("k", DType::kF32, {params.tokens, 1, 4});
        b.kv_store(3, k, k);
        // Scores are capped in one of the graphs only, which one backend refuses below.
        b.output(b.attention(k, 3, {.heads = 1, .kv_heads = 1, .head_dim = 4, .scale = 1}));
        return std::move(b).finish();
    };
    class OneTokenOnly final : public Backend {
      public:
        explicit OneTokenOnly(ReferenceBackend& inner) : inner_(inner) {}
        std::string_view name() const override { return "one"; }
        std::string description() const override { return "one"; }
        Result<void> supports_op(const Graph& graph, const Node&) const override {
            if (graph.params().tokens > 1) return fail(ErrorKind::kUnsupported, "one token is accepted");
            return {};
        }
        Result<BufferId> alloc_buffer(size_t n) override { return inner_.alloc_buffer(n); }
        Result<BufferId> alloc_fresh(size_t n) override { return inner_.alloc_fresh(n); }
        void free_buffer(BufferId) override {}
        Result<void> write(BufferId b, size_t o, std::span<const std::byte> d) override {
            return inner_.write(b, o, d);
        }
        Result<void> read(BufferId b, size_t o, std::span<std::byte> d) override {
            return inner_.read(b, o, d);
        }
        Result<void> prepare_weights(const Graph&, BackendId, const Progress&) override { return {}; }
        Result<void> ensure_kv(std::span<const KvLayer> l, kv::Format f, uint32_t n) override {
            return inner_.ensure_kv(l, f, n);
        }
        Result<void> read_kv(uint32_t, KvSide, uint32_t, std::span<std::byte>) override { return {}; }
        Result<void> write_kv(uint32_t, KvSide, uint32_t, std::span<const std::byte>) override { return {}; }
        Result<std::unique_ptr<Program>> prepare(const Graph& g, std::vector<BoundNode> n) override {
            return inner_.prepare(g, std::move(n));
        }
        Result<void> execute(Program& p, const NodeObserver* o) override { return inner_.execute(p, o); }
        Result<void> synchronize() override { return inner_.synchronize(); }
        Memory memory() const override { return {}; }

      private:
        ReferenceBackend& inner_;
    } one(gpu);
    Executor executor({&one, &cpu}, build, {.kv_cells = 8});
    expect_ok(executor.prepare({.tokens = 1}));
    EXPECT_EQ("layer 3: its KV cells are on one, this graph wants them on cpu",
              error_of(executor.prepare({.tokens = 2})));
}

TEST(Executor, TheTraceHasEveryNodeWithShapeBackendTimeAndStatistics) {
    const std::string path = ::testing::TempDir() + "graph_trace.json";
    ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    Executor executor({&gpu, &cpu}, mixed, {.trace = path});
    const std::vector<float> x = {1, NAN, 3, -4};
    const std::vector<InputData> inputs = {{"x", x}};
    expect_ok(executor.run({}, inputs));
    expect_ok(executor.run({}, inputs));
    const nlohmann::json trace = nlohmann::json::parse(file_text(path));
    ASSERT_EQ(10u, trace["traceEvents"].size());  // twice: silu, two softmaxes, two adds
    const auto& silu = trace["traceEvents"][0];
    EXPECT_EQ("%1 silu", silu["name"]);
    EXPECT_EQ("[1, 4]", silu["args"]["shape"]);
    EXPECT_EQ("gpu", silu["args"]["backend"]);
    EXPECT_EQ(1, silu["args"]["nan"]);
    EXPECT_NEAR(-4 / (1 + std::exp(4.0)), silu["args"]["min"].get<double>(), 1e-6);
    EXPECT_NEAR(3 / (1 + std::exp(-3.0)), silu["args"]["max"].get<double>(), 1e-6);
    EXPECT_GT(silu["dur"].get<double>(), 0);
    EXPECT_EQ(0, silu["args"]["run"]);
    EXPECT_EQ(1, trace["traceEvents"][9]["args"]["run"]);
    std::remove(path.c_str());
}

TEST(Executor, AnUnknownPassToPrintAfterIsRefusedWithTheKnownOnes) {
    ReferenceBackend cpu("cpu");
    Executor executor({&cpu}, mixed, {.print_after = "fold"});
    EXPECT_EQ("no pass is called 'fold'; all, build, assign, fuse, split, allocate are accepted",
              error_of(executor.prepare({})));
}

TEST(Executor, EveryDistinctGraphIsDrawnOnce) {
    const std::string path = ::testing::TempDir() + "graph.dot";
    ReferenceBackend gpu("gpu", {Op::kSoftmax}), cpu("cpu");
    Executor executor({&gpu, &cpu}, mixed, {.dump_graph = path});
    run_mixed(executor, 1, 1);
    run_mixed(executor, 1, 2);
    run_mixed(executor, 2, 3);
    const std::string text = file_text(path);
    EXPECT_NE(std::string::npos, text.find("digraph \"tokens 1 sequences 1 outputs 1\""));
    EXPECT_NE(std::string::npos, text.find("label=\"split 0 @gpu\""));
    EXPECT_NE(std::string::npos, text.find("[label=\"x\" style=dashed]")) << "an edge between backends";
    size_t count = 0;
    for (size_t at = text.find("digraph"); at != std::string::npos; at = text.find("digraph", at + 1))
        ++count;
    EXPECT_EQ(2u, count);
    std::remove(path.c_str());
}

}  // namespace
}  // namespace ingot::tests
