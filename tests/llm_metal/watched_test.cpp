// Kernels under the device's counters: how many bytes a token costs. The sweep of ops_test.cpp and
// window_test.cpp runs checked as a whole ("checked." in ctest).
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;

class MetalWatched : public ::testing::Test {
  protected:
    // A device of the test's own, whose dispatches are checked and counted.
    std::unique_ptr<mtl::Device> watched() {
        auto device = watched_device();
        metal::set_counting(device->get(), true);
        return device;
    }

    // One token of `heads` over `kv_heads`, whose row is stored behind `before` others.
    void attend(mtl::Device& device, uint32_t heads, uint32_t kv_heads, uint32_t before, kv::Format format) {
        constexpr uint32_t kDim = 64;
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const Shape kv{p.tokens, kv_heads, kDim};
            b.kv_store(0, b.input("k", DType::kF32, kv), b.input("v", DType::kF32, kv));
            const NodeId q = b.input("q", DType::kF32, {p.tokens, heads, kDim});
            const bool stores = p.tokens != 1;
            b.output(stores ? b.scale(q, 1.0f) : b.attention(q, 0, {heads, kv_heads, kDim, 0.125f}));
            return std::move(b).finish();
        };
        const auto backend = mtl::MetalBackend::create_on(device, {});
        Executor executor({backend.get()}, make, {.kv_cells = 640});
        for (const auto& [first, count] : {std::pair(0u, before), std::pair(before, 1u)}) {
            metal::take_counts(device.get());
            const size_t width = size_t(kv_heads) * kDim;
            const std::vector<float> k = random_values(count * width, 1), v = random_values(count * width, 2),
                                     q = random_values(count * size_t(heads) * kDim, 3);
            const std::vector<int32_t> cells = iota(int32_t(first), count);
            expect_ok(
                executor.run({.tokens = count, .kv_format = format},
                             std::vector<InputData>{
                                 {"k", k}, {"v", v}, {"q", q}, {"cells", cells}, {"positions", cells}}));
            (void)value_of(executor.output());
        }
    }

    Weights weights_;
};

// What the launches of a kernel must bring from memory and to it: 32-byte blocks, each once.
struct Traffic {
    uint64_t launches = 0, moved = 0;
    uint64_t cells_read = 0;  // bytes of keys and values, as often as they are read
};

Traffic traffic(const std::vector<metal::DispatchCounts>& dispatches, std::string_view kernels) {
    Traffic out;
    for (const metal::DispatchCounts& d : dispatches) {
        if (!d.kernel.starts_with(kernels)) continue;
        ++out.launches;
        for (const metal::count::MemoryCounts& buffer : d.counts.buffers) {
            out.moved += buffer.sectors * metal::count::kSectorBytes;
            const bool cells =
                d.kernel.starts_with("attention_decode") && (buffer.slot == 1 || buffer.slot == 2);
            if (cells) out.cells_read += buffer.bytes_read;
        }
    }
    return out;
}

TEST_F(MetalWatched, AProductOfOneTokenMovesItsWeightsAndLittleElse) {
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const std::string name(format.name);
        constexpr uint32_t kRows = 96, kCols = 768;
        SCOPED_TRACE(name);
        const WeightId matrix = weights_.add(name, kRows, kCols, format.type);
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, kCols})));
            return std::move(b).finish();
        };
        const auto device = watched();
        const auto backend = mtl::MetalBackend::create_on(*device, {});
        run_once({{backend.get()}}, {}, make, {{"x", random_values(kCols, 9)}});
        EXPECT_EQ("", findings(*device));
        const Traffic t = traffic(metal::take_counts(device->get()), "mat_mul_one_" + name);
        EXPECT_EQ(1u, t.launches);
        const uint64_t least =
            storage_size_bytes(format.type, kRows * kCols).value() + (kCols + kRows) * sizeof(float);
        EXPECT_GE(t.moved, least);
        EXPECT_LE(double(t.moved), 1.1 * double(least));
    }
}

TEST_F(MetalWatched, AttentionOfOneTokenMovesItsCellsAndLittleElse) {
    constexpr uint32_t kHeads = 6, kKvHeads = 2, kDim = 64;
    for (const kv::Format format : {kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0}) {
        for (const uint32_t before : {99u, 599u}) {
            SCOPED_TRACE(fmt::format("{} cells of {}", before + 1, kv::traits(format).name));
            const auto device = watched();
            attend(*device, kHeads, kKvHeads, before, format);
            EXPECT_EQ("", findings(*device));
            const Traffic t = traffic(metal::take_counts(device->get()), "attention_");
            EXPECT_EQ(before < 128 ? 1u : 2u, t.launches);  // groups share long caches and are joined
            const uint64_t cells = 2 * uint64_t{before + 1} * kv::row_bytes(format, kKvHeads * kDim);
            const uint64_t least = cells + 2 * kHeads * kDim * sizeof(float);
            EXPECT_GE(t.moved, least);
            EXPECT_LE(double(t.moved), 1.25 * double(least));
            // The heads of a KV head read each cell once together. Of q8_0, each read takes the scale along.
            if (format != kv::Format::kQ8_0) {
                EXPECT_LE(double(t.cells_read), 1.25 * double(cells));
            }
        }
    }
}

}  // namespace
}  // namespace ingot::tests
