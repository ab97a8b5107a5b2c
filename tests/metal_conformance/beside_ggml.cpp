// The engine's kernels beside ggml's: the same operation on the same numbers through both, run on fibers
// under the counter. Results agree within the class of the operation, and ours costs no more of what that
// operation is bound by. Each row prints its counts as a row of the table in docs/metal-backend.md.
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "llm/backend/metal/metal_backend.h"
#include "llm/graph/fixture.h"
#include "metal/api/extensions.h"
#include "metal_conformance/checked.h"
#include "metal_conformance/ggml_kernels.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using namespace graph;
using tests::expect_ok;
using tests::value_of;

// ggml's kernels for few rows multiply floats; those on matrix units multiply halves, and so do both of
// attention.
constexpr double kFloatClass = 2e-5, kHalfClass = 5e-3;

// What launches cost together.
struct Cost {
    uint64_t blocks = 0;       // of 32 bytes of device memory, each once a launch
    uint64_t device_read = 0;  // bytes, as often as threads read them
    uint64_t device_written = 0;
    uint64_t threadgroup = 0;  // bytes read and written, but for 8x8 matrices
    uint64_t matrices = 0;     // 8x8 loaded and stored
    uint64_t products = 0;     // of 8x8 matrices
    uint64_t barriers = 0;
};

Cost cost_of(std::span<const count::Counts> launches) {
    Cost cost;
    for (const count::Counts& c : launches) {
        for (const count::MemoryCounts& buffer : c.buffers) {
            cost.blocks += buffer.sectors;
            cost.device_read += buffer.bytes_read;
            cost.device_written += buffer.bytes_written;
        }
        cost.threadgroup += c.threadgroup_memory.bytes_read + c.threadgroup_memory.bytes_written;
        cost.matrices += c.matrix_loads_device + c.matrix_loads_threadgroup + c.matrix_stores_device +
                         c.matrix_stores_threadgroup;
        cost.products += c.matrix_products;
        cost.barriers += c.barriers;
    }
    return cost;
}

// What an operation is bound by: reading memory, or multiplying.
enum class Bound : uint8_t { kMemory, kProducts };

struct Ran {
    std::vector<float> values;
    Cost cost;
};

// The engine's backend on a device of the test's own, which counts.
class CountedEngine {
  public:
    CountedEngine() : device_(value_of(mtl::Device::with_sources(mtl::full_source))) {
        expect_ok(set_checks(device_->get(), "bounds"));
        set_counting(device_->get(), true);
        backend_ = mtl::MetalBackend::create_on(*device_, {});
    }

    WeightId weight(QuantRows& rows, uint32_t count) {
        const auto type = quant_type_from_name(rows.type).value();
        return value_of(weights_->add({"w", type, count, uint32_t(rows.values.size() / count),
                                       std::span(rows.blocks.data(), rows.blocks.num_bytes())}));
    }
    // Runs one graph a set of inputs, one after the other on the same cells; the last one's output and cost.
    Ran run(const std::function<void(GraphBuilder&)>& build, const std::vector<GraphParams>& params,
            const std::vector<std::vector<InputData>>& inputs) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_);
            build(b);
            return std::move(b).finish();
        };
        graph::Executor executor({backend_.get()}, make, {.kv_cells = 256});
        Ran last;
        for (size_t i = 0; i < params.size(); ++i) {
            take_counts(device_->get());
            expect_ok(executor.run(params[i], inputs[i]));
            const auto out = value_of(executor.output());
            last.values.assign(out.begin(), out.end());
        }
        std::vector<count::Counts> launches;
        for (DispatchCounts& dispatch : take_counts(device_->get())) {
            if (!dispatch.kernel.starts_with("kv_store")) launches.push_back(std::move(dispatch.counts));
        }
        last.cost = cost_of(launches);
        return last;
    }

  private:
    std::unique_ptr<mtl::Device> device_;
    std::unique_ptr<mtl::MetalBackend> backend_;
    std::shared_ptr<WeightTable> weights_ = std::make_shared<WeightTable>();
};

void compare(const std::string& row, Bound bound, double bar, const Ran& ours, const Array& theirs,
             const Cost& their_cost) {
    ASSERT_EQ(theirs.size(), ours.values.size());
    double difference = 0, largest = 1e-30;
    for (size_t i = 0; i < ours.values.size(); ++i) {
        difference = std::max(difference, std::fabs(ours.values[i] - theirs.get(i)));
        largest = std::max(largest, std::fabs(theirs.get(i)));
    }
    EXPECT_LE(difference / largest, bar);
    const auto& [a, b] = std::pair(ours.cost, their_cost);
    fmt::print("| {} | {} / {} | {} / {} | {} / {} | {} / {} | {} / {} | {} / {} |\n", row, a.blocks,
               b.blocks, a.device_read, b.device_read, a.threadgroup, b.threadgroup, a.matrices, b.matrices,
               a.products, b.products, a.barriers, b.barriers);
    if (bound == Bound::kMemory) {
        EXPECT_LE(a.blocks, b.blocks);
    } else {
        EXPECT_LE(a.products, b.products);
    }
}

std::vector<float> floats_of(const Array& array) {
    return {array.as<float>(), array.as<float>() + array.size()};
}

void beside_product(Session& session, const std::string& type, int tokens) {
    const ProductSize size{128, tokens, 512};
    QuantRows w(type, size.m, size.k, 1);
    Array x = random_array(Type::kF32, size_t(size.n) * size.k, 2);
    CountedRuns counted;
    const bool one = tokens == 1;
    const Array theirs =
        one ? run_vector_product(session, w, x, size) : run_matrix_product(session, w, x, size);
    const std::vector<float> values = floats_of(x);
    CountedEngine engine;
    const WeightId matrix = engine.weight(w, uint32_t(size.m));
    const Ran ours = engine.run(
        [&](GraphBuilder& b) {
            b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {uint32_t(size.n), uint32_t(size.k)})));
        },
        {{.tokens = uint32_t(tokens)}}, {{{"x", values}}});
    compare(fmt::format("product, {} [{}, {}], {} token{}", type, size.m, size.k, tokens, one ? "" : "s"),
            one ? Bound::kMemory : Bound::kProducts, one ? kFloatClass : kHalfClass, ours, theirs,
            cost_of(counted.launches()));
}

// [planes][rows][n] -> [rows][planes][n], rows from `first` on.
std::vector<float> interleave(const std::vector<double>& from, int planes, int rows, int n, int first,
                              int count) {
    std::vector<float> to;
    for (int row = first; row < first + count; ++row) {
        for (int plane = 0; plane < planes; ++plane) {
            for (int i = 0; i < n; ++i) to.push_back(float(from[(size_t(plane) * rows + row) * n + i]));
        }
    }
    return to;
}

void beside_attention(Session& session, const std::string& type, int head_size, int tokens, int cells) {
    const AttentionShape shape{type, head_size, tokens, cells, true};
    constexpr int kHeads = AttentionShape::kHeads, kKeyHeads = AttentionShape::kKeyHeads;
    AttentionData data(shape);
    CountedRuns counted;
    const bool one = tokens == 1;
    if (one) {
        run_vector_attention(session, shape, data, kWorkgroups);
    } else {
        run_matrix_attention(session, shape, data);
    }
    session.near(data.out, attention_reference(shape, data), kHalfClass);

    std::vector<double> q(data.q.size());
    for (size_t i = 0; i < q.size(); ++i) q[i] = data.q.get(i);
    const auto format = kv::format_from_name(type).value();
    std::vector<GraphParams> params;
    std::vector<std::vector<std::vector<float>>> floats;
    std::vector<std::vector<int32_t>> positions;
    for (const auto& [first, count] : {std::pair(0, cells - tokens), std::pair(cells - tokens, tokens)}) {
        params.push_back({.tokens = uint32_t(count), .kv_format = format});
        // Of the queries of cells before nothing is compared.
        floats.push_back({interleave(data.k.values, kKeyHeads, cells, head_size, first, count),
                          interleave(data.v.values, kKeyHeads, cells, head_size, first, count),
                          first == 0 ? std::vector<float>(size_t(count) * kHeads * head_size)
                                     : interleave(q, kHeads, tokens, head_size, 0, tokens)});
        positions.push_back(tests::iota(first, size_t(count)));
    }
    std::vector<std::vector<InputData>> inputs;
    for (size_t i = 0; i < params.size(); ++i) {
        inputs.push_back({{"k", floats[i][0]},
                          {"v", floats[i][1]},
                          {"q", floats[i][2]},
                          {"cells", positions[i]},
                          {"positions", positions[i]}});
    }
    CountedEngine engine;
    const Ran ours = engine.run(
        [&](GraphBuilder& b) {
            const uint32_t n = b.params().tokens, d = uint32_t(head_size);
            const Shape kv{n, kKeyHeads, d};
            b.kv_store(0, b.input("k", DType::kF32, kv), b.input("v", DType::kF32, kv));
            b.output(b.attention(b.input("q", DType::kF32, {n, kHeads, d}), 0,
                                 {kHeads, kKeyHeads, d, 1 / std::sqrt(float(d))}));
        },
        params, inputs);
    compare(fmt::format("attention, {} cells of {}, heads of {}, {} token{}", cells, type, head_size, tokens,
                        one ? "" : "s"),
            one ? Bound::kMemory : Bound::kProducts, kHalfClass, ours, data.out, cost_of(counted.launches()));
}

}  // namespace

Cases beside_ggml_cases() {
    Cases cases;
    for (const char* type :
         {"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_K", "q5_K", "q6_K"}) {
        for (const int tokens : {1, 32}) {
            cases.push_back({"product",
                             tokens == 1 ? vector_product_kernel(type) : matrix_product_kernel(type),
                             fmt::format("{}", tokens),
                             [=](Session& session) { beside_product(session, type, tokens); }});
        }
    }
    for (const char* type : {"f32", "f16", "q8_0"}) {
        for (const int head_size : {64, 128}) {
            for (const auto& [tokens, cells] : {std::pair(1, 96), std::pair(1, 224), std::pair(32, 128)}) {
                cases.push_back({"attention", fmt::format("{}, heads of {}", type, head_size),
                                 fmt::format("{} of {}", tokens, cells), [=](Session& session) {
                                     beside_attention(session, type, head_size, tokens, cells);
                                 }});
            }
        }
    }
    return cases;
}

}  // namespace ingot::metal::conformance
