// Every barrier is needed: with any one taken out of a kernel's source, or left out behind a dispatch, the
// checkers report what it ordered.
#include <algorithm>
#include <regex>
#include <set>

#include "metal/api/extensions.h"
#include "metal/check/report.h"
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;
using metal::check::Finding;
using metal::check::FindingKind;

// Where the barriers of a text are, and how long each is.
std::vector<std::pair<size_t, size_t>> barriers_of(const std::string& text) {
    static const std::regex barrier(R"((threadgroup|simdgroup)_barrier\(mem_flags::\w+\);)");
    std::vector<std::pair<size_t, size_t>> found;
    for (std::sregex_iterator it(text.begin(), text.end(), barrier), end; it != end; ++it)
        found.emplace_back(size_t(it->position()), size_t(it->length()));
    return found;
}

// A watched device of its own.
class Watched {
  public:
    explicit Watched(mtl::Device::SourceOf source_of, mtl::MetalBackend::Options options = {})
        : device_(watched_device(std::move(source_of))),
          backend_(mtl::MetalBackend::create_on(*device_, std::move(options))) {}
    const mtl::Device& device() const { return *device_; }
    Backend& backend() { return *backend_; }
    uint64_t dispatches() const {
        uint64_t sum = 0;
        for (const auto& [kernel, count] : backend_->kernel_counts()) sum += count;
        return sum;
    }
    std::vector<Finding> take() { return metal::take_findings(device_->get()); }

  private:
    std::unique_ptr<mtl::Device> device_;
    std::unique_ptr<mtl::MetalBackend> backend_;
};

class BarrierMutants : public MetalTest {
  protected:
    void run(Backend& backend, const GraphParams& params, const std::function<void(GraphBuilder&)>& build,
             const std::vector<InputData>& inputs) {
        run_once(
            {{&backend}}, params,
            [&](const GraphParams& p) {
                GraphBuilder b(p, weights_.table());
                build(b);
                return std::move(b).finish();
            },
            inputs);
    }
    void softmax(Backend& backend) {
        const std::vector<float> x = random_values(2 * 1500, 77, 3.0f);
        run(backend, {}, [](GraphBuilder& b) { b.output(b.softmax(b.input("x", DType::kF32, {2, 1500}))); },
            {{"x", x}});
    }
    void product(Backend& backend, WeightId matrix) {
        const std::vector<float> x = random_values(9 * 96, 9);
        run(backend, {.tokens = 9},
            [&](GraphBuilder& b) { b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {9, 96}))); },
            {{"x", x}});
    }
    // `tokens` that see `cells` others and themselves.
    void attention(Backend& backend, uint32_t cells, uint32_t tokens) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const Shape kv{p.tokens, 1, 64};
            b.kv_store(0, b.input("k", DType::kF32, kv), b.input("v", DType::kF32, kv));
            b.output(b.attention(b.input("q", DType::kF32, {p.tokens, 2, 64}), 0,
                                 {.heads = 2, .kv_heads = 1, .head_dim = 64, .scale = 0.125f}));
            return std::move(b).finish();
        };
        Executor executor({&backend}, make, {.kv_cells = cells + tokens});
        for (const auto& [first, count] : {std::pair(0u, cells), std::pair(cells, tokens)}) {
            const std::vector<float> k = random_values(count * 64, first + 1),
                                     v = random_values(count * 64, first + 2),
                                     q = random_values(count * 128, first + 3,
                                                       40.0f);  // scores that outgrow each other
            const std::vector<int32_t> positions = iota(int32_t(first), count);
            expect_ok(executor.run(
                {.tokens = count, .kv_format = kv::Format::kF32},
                std::vector<InputData>{
                    {"k", k}, {"v", v}, {"q", q}, {"cells", positions}, {"positions", positions}}));
        }
    }

    // Runs `graph` without the barrier behind each of its dispatches in turn. The checkers must report what
    // it ordered, but for those of `equivalent`.
    void expect_barriers_are_missed(const std::function<void(Backend&)>& graph, uint64_t dispatches,
                                    const std::set<uint64_t>& equivalent,
                                    const std::vector<std::string>& settings = {}) {
        mtl::MetalBackend::Options options{.kernels = value_of(mtl::parse_kernel_options(settings))};
        Watched right(mtl::full_source, options);
        graph(right.backend());
        EXPECT_EQ("", findings(right.device()));
        EXPECT_EQ(dispatches, right.dispatches());
        for (uint64_t i = 0; i < dispatches; ++i) {
            options.without_barrier = i;
            Watched mutant(mtl::full_source, options);
            graph(mutant.backend());
            const std::vector<Finding> found = mutant.take();
            EXPECT_EQ(equivalent.contains(i), found.empty()) << "dispatch " << i;
            for (const Finding& finding : found) EXPECT_EQ(FindingKind::kDispatchRace, finding.kind);
        }
    }

    const WeightId matrix_ = weights_.add("m", 65, 96), half_ = weights_.add("h", 65, 96, QuantType::kF16),
                   bfloat_ = weights_.add("b", 65, 96, QuantType::kBF16),
                   quantized_ = weights_.add("q", 65, 96, QuantType::kQ8_0);
};

TEST_F(BarrierMutants, EachBarrierOfEachKernelIsMissedByTheCheckers) {
    struct Case {
        const char* source;
        std::function<void(Backend&)> run;
        std::vector<std::string> settings = {};
    };
    const Case cases[] = {
        {"rows", [&](Backend& b) { softmax(b); }},
        {"mat_mul_tile", [&](Backend& b) { product(b, quantized_); }},
        {"mat_mul_tile_f32", [&](Backend& b) { product(b, matrix_); }},
        {"mat_mul_tile_f16", [&](Backend& b) { product(b, half_); }},
        {"mat_mul_tile_bf16", [&](Backend& b) { product(b, bfloat_); }},
        // One threadgroup for all cells, so that a simdgroup has several blocks of them.
        {"attention", [&](Backend& b) { attention(b, 300, 1); }, {"attn.decode=classic"}},
        {"attention_tile", [&](Backend& b) { attention(b, 96, 20); }},
    };
    std::vector<std::string> covered;
    for (const Case& c : cases) {
        covered.emplace_back(c.source);
        const mtl::MetalBackend::Options options{.kernels = value_of(mtl::parse_kernel_options(c.settings))};
        Watched right(mtl::full_source, options);
        c.run(right.backend());
        EXPECT_EQ("", findings(right.device())) << c.source;
        const size_t count = barriers_of(mtl::full_source(c.source)).size();
        EXPECT_GE(count, 2u) << c.source;
        for (size_t i = 0; i < count; ++i) {
            Watched mutant(
                [&](std::string_view name) {
                    std::string text = mtl::full_source(name);
                    if (name != c.source) return text;
                    const auto [at, length] = barriers_of(text).at(i);
                    return text.replace(at, length, ";");
                },
                options);
            c.run(mutant.backend());
            EXPECT_FALSE(mutant.take().empty()) << c.source << ": barrier " << i;
        }
    }
    for (const mtl::KernelSource& source : mtl::kernel_sources()) {
        if (barriers_of(std::string(source.text)).empty()) continue;
        EXPECT_THAT(covered, ::testing::Contains(std::string(source.name)));
    }
}

// Each dispatch of this graph reads what the one before it wrote; nothing follows the last one.
TEST_F(BarrierMutants, TheBarrierBehindEachDispatchIsMissedByTheCheckers) {
    const std::vector<float> x = random_values(96, 9);
    expect_barriers_are_missed(
        [&](Backend& backend) {
            run(backend, {},
                [&](GraphBuilder& b) {
                    NodeId node = b.mat_mul(matrix_, b.input("x", DType::kF32, {1, 96}));
                    node = b.softmax(b.silu(b.scale(node, 0.5f)));
                    b.output(b.add(node, node));
                },
                {{"x", x}});
        },
        5, {4});
}

// A token's way through a layer: fused projections, norms, rotations, store, attention of several groups.
TEST_F(BarrierMutants, TheBarriersOfALayerAreMissedByTheCheckers) {
    constexpr uint32_t kDim = 96;
    const WeightId wide = weights_.add("wide", kDim, kDim), gain = weights_.add("gain", 1, kDim);
    const std::vector<float> x = random_values(kDim, 9);
    const std::vector<int32_t> position = {40};
    const auto layer = [&](Backend& backend) {
        run(backend, {.kv_format = kv::Format::kF32},
            [&](GraphBuilder& b) {
                const NodeId in = b.input("x", DType::kF32, {1, kDim});
                const auto head = [&] { return b.split_heads(b.mat_mul(wide, in), 1, kDim); };
                const auto rotated = [&] {
                    return b.rope(b.qk_norm(head(), gain, 1e-5f), b.positions(), {.dims = kDim});
                };
                const NodeId q = rotated(), k = rotated();
                b.kv_store(0, k, head());
                const NodeId attended = b.attention(q, 0, {1, 1, kDim, 0.1f});
                b.output(b.add(b.mat_mul(wide, attended), in));
            },
            {{"x", x}, {"positions", position}, {"cells", position}});
    };
    // 0 qkv, 1 norm of q, 2 norm of k, 3 rotation of q, 4 rotation of k, 5 store, 6 attention, 7 combine, 8
    // product, 9 sum. q and k are worked on in turn, so behind 1, 2 and 3 two barriers lie between a write
    // and its reader.
    expect_barriers_are_missed(layer, 10, {1, 2, 3, 9}, {"attn.decode=split"});
}

}  // namespace
}  // namespace ingot::tests
