// Counts of kernels.metal against closed forms, at five sizes each.
#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <set>

#include <gmock/gmock.h>

#include "metal/count/report.h"
#include "metal/ir_text.h"
#include "metal/msl/source_library.h"
#include "metal/support.h"

namespace ingot::tests {
namespace {

using metal::count::Counts;

std::filesystem::path counted_file(const std::string& name = "kernels.metal") {
    return std::filesystem::path(INGOT_TEST_DATA).parent_path() / "metal" / "count" / name;
}

const metal::msl::SourceLibrary& counted_library(const std::string& file) {
    static std::map<std::string, metal::msl::SourceLibrary> known;
    const auto found = known.find(file);
    if (found != known.end()) return found->second;
    auto library = metal::msl::SourceLibrary::open_file(counted_file(file).string(), {});
    if (!library) throw std::runtime_error(library.error().describe());
    return known.emplace(file, std::move(*library)).first->second;
}

std::shared_ptr<const metal::Kernel> counted_kernel(const std::string& name) {
    const auto module =
        counted_library(name.starts_with("multiply_") ? "tensors.metal" : "kernels.metal").compile(name);
    if (!module) throw std::runtime_error(module.error().describe());
    metal::CompileOptions options;
    options.instrument = true;
    auto kernel = metal::testing::the_compiler().compile(*module, name, options);
    if (!kernel) throw std::runtime_error(kernel.error().describe());
    return *kernel;
}

// Float buffers and numbers, bound from slot 0 on. No buffer is at a multiple of 128, which its blocks don't
// show.
class CountedLaunch {
  public:
    CountedLaunch(metal::Size3 groups, uint32_t threads) {
        launch_.group_threads = {threads, 1, 1};
        launch_.grid_threads = {groups.x * threads, groups.y, groups.z};
    }
    CountedLaunch& floats(size_t count) {
        memory_.emplace_back(count + 32, 0.5f);
        auto* begin = memory_.back().data();
        while (reinterpret_cast<uintptr_t>(begin) % 128 != 16) ++begin;
        return bind(begin, count * sizeof(float));
    }
    // From a multiple of 128, plus `shift`, on.
    CountedLaunch& bytes(size_t count, size_t shift) {
        memory_.emplace_back(count / sizeof(float) + 128);
        auto* begin = reinterpret_cast<std::byte*>(memory_.back().data());
        while (reinterpret_cast<uintptr_t>(begin) % 128 != shift) ++begin;
        return bind(begin, count);
    }
    // What the slot has, in the next one too.
    CountedLaunch& again(uint32_t slot) {
        const auto& [address, bytes] = launch_.buffers[slot];
        return bind(address, bytes);
    }
    CountedLaunch& number(uint32_t value) { return bind(&numbers_.emplace_back(value), sizeof value); }
    CountedLaunch& workers(unsigned count) {
        launch_.max_workers = count;
        return *this;
    }
    Counts run(const std::string& name) {
        const auto counts =
            metal::count::run_counted(metal::testing::the_executor(), *counted_kernel(name), launch_);
        if (!counts) throw std::runtime_error(counts.error().describe());
        return *counts;
    }

  private:
    CountedLaunch& bind(void* address, uint64_t bytes) {
        launch_.buffers[slot_++] = {address, bytes};
        return *this;
    }

    metal::Launch launch_;
    std::deque<std::vector<float>> memory_;
    std::deque<uint32_t> numbers_;
    uint32_t slot_ = 0;
};

TEST(Counter, CopyMovesEachByteOnce) {
    for (const uint32_t groups : {1u, 2u, 5u, 16u, 33u}) {
        const uint64_t bytes = uint64_t{groups} * 64 * 16;
        const Counts counts =
            CountedLaunch({groups, 1, 1}, 64).floats(bytes / 4).floats(bytes / 4).run("copy");
        EXPECT_EQ(groups, counts.threadgroups);
        EXPECT_EQ(groups * 64u, counts.threads);
        EXPECT_EQ(groups * 2u, counts.simdgroups);
        ASSERT_EQ(2u, counts.buffers.size());
        EXPECT_EQ("buffer 0 ('in')", counts.buffers[0].name);
        EXPECT_EQ(bytes, counts.buffers[0].bytes_read);
        EXPECT_EQ(0u, counts.buffers[0].bytes_written);
        EXPECT_EQ(bytes, counts.buffers[0].unique_bytes_read);
        EXPECT_EQ(bytes, counts.buffers[1].unique_bytes_written);
        EXPECT_EQ(bytes / 32, counts.buffers[1].sectors);
        EXPECT_EQ(bytes / 128, counts.buffers[1].lines);
        EXPECT_EQ(0u, counts.barriers + counts.simd_functions + counts.atomics + counts.matrix_products);
    }
}

// A simdgroup reads 32 floats `stride` apart: that many lines of 128 bytes, up to one a lane.
TEST(Counter, LinesShowHowFarLanesAreApart) {
    for (const uint32_t stride : {1u, 2u, 4u, 16u, 64u}) {
        const auto kernel = counted_kernel("copy_with_stride");
        const Counts counts = CountedLaunch({4, 1, 1}, 32)
                                  .floats(128 * stride)
                                  .floats(128)
                                  .number(stride)
                                  .run("copy_with_stride");
        uint64_t read = 0;
        for (size_t i = 0; i < counts.sites.size(); ++i) {
            const auto& site = kernel->instrumentation.sites[i];
            if (kernel->instrumentation.objects[site.object].slot == 0 && site.reads)
                read += counts.sites[i].lines;
        }
        EXPECT_EQ(4u * std::min(stride, 32u), read) << stride;
        EXPECT_EQ(512u, counts.buffers[0].unique_bytes_read);
    }
}

// Of the places that access a slot.
uint64_t lines_of_slot(const std::string& name, const Counts& counts, uint32_t slot) {
    const metal::Instrumentation table = counted_kernel(name)->instrumentation;
    uint64_t lines = 0;
    for (size_t i = 0; i < counts.sites.size(); ++i) {
        const auto& object = table.objects[table.sites[i].object];
        if (object.kind == metal::ObjectKind::kBuffer && object.slot == slot) lines += counts.sites[i].lines;
    }
    return lines;
}

// What stands in `name` counts by its code alone: as what is told does, access by access.
void expect_same_of_slot(const std::string& name, const Counts& seen, const std::string& told_name,
                         const Counts& told, uint32_t slot) {
    const auto of_slot = [slot](const Counts& counts) {
        std::vector<metal::count::MemoryCounts> found;
        std::ranges::copy_if(counts.buffers, std::back_inserter(found),
                             [slot](const auto& buffer) { return buffer.slot == slot; });
        return found;
    };
    EXPECT_EQ(of_slot(told), of_slot(seen)) << slot;
    EXPECT_EQ(lines_of_slot(told_name, told, slot), lines_of_slot(name, seen, slot)) << slot;
}

// 96 threads read four bytes at 6: of a buffer that has them, at a multiple of 4 or not, of one that ends
// before or within, and of one that is bound twice.
TEST(Counter, PlacesOfOneOffsetCountAsOthersDo) {
    struct Case {
        size_t bytes, shift;
        bool twice;
        uint64_t read, unique, lines;  // of a slot
    };
    const Case cases[] = {{64, 2, false, 384, 4, 3}, {64, 0, false, 384, 4, 3}, {8, 2, false, 0, 0, 0},
                          {4, 2, false, 0, 0, 0},    {10, 2, false, 384, 4, 3}, {64, 2, true, 768, 4, 3},
                          {64, 0, true, 768, 4, 3},  {8, 2, true, 0, 0, 0}};
    const auto has_fixed = [](const std::string& name) {
        const auto kernel = counted_kernel(name);
        return std::ranges::count_if(kernel->instrumentation.sites, [&](const metal::Site& site) {
            return site.is_fixed && kernel->instrumentation.objects[site.object].slot != 3;
        });
    };
    EXPECT_EQ(2, has_fixed("read_byte_6"));
    EXPECT_EQ(0, has_fixed("read_byte_at"));
    for (const Case& c : cases) {
        SCOPED_TRACE(fmt::format("{} bytes, {} past a multiple of 4, twice {}", c.bytes, c.shift, c.twice));
        const auto run = [&c](const std::string& name, bool takes_number) {
            CountedLaunch launch({3, 1, 1}, 32);
            launch.bytes(c.bytes, c.shift).floats(96);
            if (c.twice) {
                launch.again(0);
            } else {
                launch.bytes(c.bytes, c.shift);
            }
            if (takes_number) launch.number(6);
            return launch.run(name);
        };
        const Counts fixed = run("read_byte_6", false), told = run("read_byte_at", true);
        for (const uint32_t slot : {0u, 1u, 2u})
            expect_same_of_slot("read_byte_6", fixed, "read_byte_at", told, slot);
        for (const uint32_t slot : {0u, 2u}) EXPECT_EQ(c.lines, lines_of_slot("read_byte_6", fixed, slot));
        const auto found = std::ranges::find(fixed.buffers, 0u, &metal::count::MemoryCounts::slot);
        EXPECT_EQ(c.read, found == fixed.buffers.end() ? 0 : found->bytes_read);
        EXPECT_EQ(c.unique, found == fixed.buffers.end() ? 0 : found->unique_bytes_read);
    }
}

TEST(Counter, WritesAtOneOffsetCountAsOthersDo) {
    for (const uint32_t groups : {1u, 2u, 5u}) {
        for (const size_t bytes : {8u, 12u, 16u, 256u}) {
            SCOPED_TRACE(fmt::format("{} groups, {} bytes", groups, bytes));
            CountedLaunch launch({groups, 1, 1}, 64), other({groups, 1, 1}, 64);
            const Counts fixed = launch.bytes(bytes, 0).run("write_third");
            const Counts told = other.bytes(bytes, 0).number(2).run("write_at");
            expect_same_of_slot("write_third", fixed, "write_at", told, 0);
            const uint64_t simdgroups = 2 * groups, third = bytes >= 12, fourth = bytes >= 16;
            EXPECT_EQ(simdgroups * (third + fourth), lines_of_slot("write_third", fixed, 0));
            EXPECT_EQ(simdgroups * 4 * (32 * third + 3 * fourth),
                      third == 0 ? 0 : fixed.buffers[0].bytes_written);
        }
    }
}

// Of a buffer that starts at 16: rows of their own take up to a line a lane, one element for all takes one,
// and 32 elements in reverse one.
TEST(Counter, LinesAreThoseOfTheBufferInWhateverOrderLanesCome) {
    for (const uint32_t columns : {32u, 40u, 64u, 96u, 3200u}) {
        const Counts counts = CountedLaunch({2, 1, 1}, 64)
                                  .floats(128 * columns)
                                  .floats(128)
                                  .number(columns)
                                  .run("read_in_three_ways");
        // Lines of 32 floats from the buffer's beginning on.
        uint64_t lines = 0;
        for (uint32_t simdgroup = 0; simdgroup < 4; ++simdgroup) {
            for (uint32_t column = 0; column < columns; ++column) {
                std::set<uint64_t> touched;
                for (uint32_t lane = 0; lane < 32; ++lane)
                    touched.insert((uint64_t{simdgroup * 32 + lane} * columns + column) / 32);
                lines += touched.size() + 1;
            }
            ++lines;
        }
        EXPECT_EQ(lines, lines_of_slot("read_in_three_ways", counts, 0)) << columns;
        EXPECT_EQ(128u * 4 * (2 * columns + 1), counts.buffers[0].bytes_read);
        EXPECT_EQ(128u * 4 * columns, counts.buffers[0].unique_bytes_read);
        EXPECT_EQ(128u * columns / 32, counts.buffers[0].lines);
    }
}

// Such functions aren't inlined. fib(n) calls itself fib(n + 1) - 1 times in pairs, with two subtractions and
// an addition each time.
TEST(Counter, FunctionsThatCallThemselvesCount) {
    const std::string ir = metal::testing::kernel_ir(1, {"thread_position_in_grid"},
                                                     "%i = zext i32 %thread_position_in_grid to i64\n"
                                                     "%p = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
                                                     "%r = call i32 @fib(i32 %thread_position_in_grid)\n"
                                                     "store i32 %r, ptr addrspace(1) %p, align 4\nret void",
                                                     metal::testing::kFibonacci);
    metal::CompileOptions options;
    options.instrument = true;
    const auto kernel = metal::testing::text_kernel(ir, options);
    for (const uint32_t threads : {1u, 2u, 5u, 10u, 16u}) {
        std::vector<uint32_t> out(threads);
        metal::Launch launch;
        launch.grid_threads = launch.group_threads = {threads, 1, 1};
        launch.buffers[0] = {out.data(), out.size() * sizeof(uint32_t)};
        const auto counts = metal::count::run_counted(metal::testing::the_executor(), *kernel, launch);
        ASSERT_TRUE(counts) << counts.error().describe();
        std::vector<uint32_t> fib = {0, 1};
        while (fib.size() <= threads) fib.push_back(fib[fib.size() - 1] + fib[fib.size() - 2]);
        uint64_t additions = 0;
        for (uint32_t n = 0; n < threads; ++n) additions += n < 2 ? 0 : 3 * (fib[n + 1] - 1);
        EXPECT_EQ(additions, counts->arithmetic[size_t(metal::Arithmetic::kIntegerAdd)]) << threads;
        for (uint32_t n = 0; n < threads; ++n) EXPECT_EQ(fib[n], out[n]) << n;
    }
}

TEST(Counter, TreeReductionHasABarrierALevel) {
    for (const uint32_t groups : {1u, 2u, 3u, 8u, 20u}) {
        const Counts counts =
            CountedLaunch({groups, 1, 1}, 64).floats(groups * 64).floats(groups).run("reduce");
        EXPECT_EQ(groups * 7u, counts.barriers);
        EXPECT_EQ(groups * 256u, counts.buffers[0].bytes_read);
        EXPECT_EQ(groups * 4u, counts.buffers[1].bytes_written);
        // 64 stores, 63 sums of two that are read and written back, one read of the result.
        EXPECT_EQ(groups * 4u * (63 * 2 + 1), counts.threadgroup_memory.bytes_read);
        EXPECT_EQ(groups * 4u * (64 + 63), counts.threadgroup_memory.bytes_written);
    }
}

TEST(Counter, GemmIssuesAProductForEachTileAndStep) {
    const uint32_t sizes[][3] = {{8, 8, 8}, {16, 8, 24}, {32, 40, 16}, {24, 24, 64}, {64, 32, 8}};
    for (const auto& [rows, columns, depth] : sizes) {
        const Counts counts = CountedLaunch({columns / 8, rows / 8, 1}, 32)
                                  .floats(rows * depth)
                                  .floats(depth * columns)
                                  .floats(rows * columns)
                                  .number(columns)
                                  .number(depth)
                                  .run("gemm");
        const uint64_t tiles = uint64_t{rows / 8} * (columns / 8), products = tiles * (depth / 8);
        EXPECT_EQ(products, counts.matrix_products);
        EXPECT_EQ(2 * products, counts.matrix_loads_device);
        EXPECT_EQ(tiles, counts.matrix_stores_device);
        EXPECT_EQ(0u, counts.matrix_loads_threadgroup + counts.matrix_stores_threadgroup);
        EXPECT_EQ(products * 256, counts.buffers[0].bytes_read);
        EXPECT_EQ(uint64_t{rows} * depth * 4, counts.buffers[0].unique_bytes_read);
        EXPECT_EQ(uint64_t{depth} * columns * 4, counts.buffers[1].unique_bytes_read);
        EXPECT_EQ(uint64_t{rows} * columns * 4, counts.buffers[2].bytes_written);
    }
}

// A tile of 16 x 32 is multiplied once for 16 of the depth, however many simdgroups share it.
TEST(Counter, ProductsOnTensorsAreCountedByShapeAndType) {
    using metal::fibers::TensorType;
    const uint32_t sizes[][3] = {{16, 32, 16}, {32, 32, 48}, {16, 96, 32}, {64, 64, 16}, {48, 32, 80}};
    for (const auto& [rows, columns, depth] : sizes) {
        for (const bool halves : {true, false}) {
            const uint32_t threads = halves ? 32 : 64;
            const Counts counts = CountedLaunch({columns / 32, rows / 16, 1}, threads)
                                      .floats(rows * depth / 2)
                                      .floats(depth * columns / 2)
                                      .floats(rows * columns)
                                      .number(columns)
                                      .number(depth)
                                      .run(halves ? "multiply_halves" : "multiply_bfloats");
            ASSERT_EQ(1u, counts.tensor_products.size());
            const auto& product = counts.tensor_products[0];
            const TensorType type = halves ? TensorType::kF16 : TensorType::kBF16;
            EXPECT_EQ((metal::ProductShape{16, 32, 16, type, type, TensorType::kF32, threads}),
                      product.shape);
            EXPECT_EQ(uint64_t{rows / 16} * (columns / 32) * (depth / 16), product.operations());
            EXPECT_EQ(product.simdgroups, counts.tensor_operations);
            EXPECT_THAT(
                metal::count::to_text(counts),
                ::testing::HasSubstr(halves ? " matmul2d 16x32x16 of f16 and f16 to f32 by 32 threads\n"
                                            : "16x32x16 of bf16 and bf16 to f32 by 64 threads\n"));
        }
    }
}

TEST(Counter, TensorOperationsReadAndWriteWhatTheirViewsSpan) {
    const auto kernel = counted_kernel("multiply_by_way_of_threadgroup_memory");
    for (const auto& [groups, depth] : {std::pair<uint32_t, uint32_t>{1, 16}, {2, 48}, {5, 32}}) {
        const Counts counts = CountedLaunch({groups, 1, 1}, 32)
                                  .floats(groups * 16 * depth / 2)
                                  .floats(depth * 32 / 2)
                                  .floats(groups * 16 * 32)
                                  .number(depth)
                                  .run("multiply_by_way_of_threadgroup_memory");
        EXPECT_EQ(groups * depth / 16, counts.tensor_operations);
        ASSERT_EQ(4u, counts.buffers.size());
        EXPECT_EQ("buffer 0 ('a')", counts.buffers[0].name);
        EXPECT_EQ(uint64_t{groups} * 16 * depth * 2, counts.buffers[0].bytes_read);
        EXPECT_EQ(uint64_t{groups} * 16 * depth * 2, counts.buffers[0].unique_bytes_read);
        EXPECT_EQ(uint64_t{groups} * 32 * depth * 2, counts.buffers[1].bytes_read);
        EXPECT_EQ(uint64_t{32} * depth * 2, counts.buffers[1].unique_bytes_read);
        EXPECT_EQ(uint64_t{groups} * 16 * 32 * 4, counts.buffers[2].bytes_written);
        EXPECT_EQ(uint64_t{groups} * 16 * 32 * 2, counts.threadgroup_memory.bytes_written);
        EXPECT_EQ(uint64_t{groups} * 16 * 32 * 2, counts.threadgroup_memory.bytes_read);
        uint64_t of_lines = 0;
        for (const auto& line : metal::count::by_line(counts, kernel->instrumentation))
            of_lines += line.threadgroup_bytes;
        EXPECT_EQ(uint64_t{groups} * 16 * 32 * 4, of_lines);
    }
}

TEST(Counter, AttentionReadsEachKeyAndValueForEachQuery) {
    const uint32_t sizes[][2] = {{1, 1}, {1, 31}, {4, 32}, {3, 72}, {8, 100}};
    for (const auto& [rows, keys] : sizes) {
        const Counts counts = CountedLaunch({rows, 1, 1}, 32)
                                  .floats(rows * 32)
                                  .floats(keys * 32)
                                  .floats(keys * 32)
                                  .floats(rows * 32)
                                  .number(keys)
                                  .run("attend");
        EXPECT_EQ(uint64_t{rows} * keys, counts.simd_functions);
        EXPECT_EQ(0u, counts.shuffles);
        EXPECT_EQ(uint64_t{rows} * 128, counts.buffers[0].bytes_read);
        EXPECT_EQ(uint64_t{rows} * keys * 128, counts.buffers[1].bytes_read);
        EXPECT_EQ(uint64_t{rows} * keys * 128, counts.buffers[2].bytes_read);
        EXPECT_EQ(uint64_t{keys} * 128, counts.buffers[2].unique_bytes_read);
        EXPECT_EQ(uint64_t{rows} * 128, counts.buffers[3].bytes_written);
    }
}

TEST(Counter, ArithmeticIsCountedByClassAndElement) {
    using metal::Arithmetic;
    for (const uint32_t rounds : {0u, 1u, 2u, 7u, 100u}) {
        const Counts counts =
            CountedLaunch({3, 1, 1}, 32).floats(384).floats(384).number(rounds).run("iterate");
        const auto of = [&](Arithmetic kind) { return counts.arithmetic[size_t(kind)]; };
        EXPECT_EQ(384u * rounds, of(Arithmetic::kFloatMultiply));
        EXPECT_EQ(384u * rounds, of(Arithmetic::kFloatAdd));
        EXPECT_EQ(384u * rounds, of(Arithmetic::kFloatFunction));
        EXPECT_EQ(384u, of(Arithmetic::kFloatDivide));
        EXPECT_EQ(0u, of(Arithmetic::kFloatFma) + of(Arithmetic::kIntegerDivide));
    }
}

TEST(Counter, CountsAreTheSameForAnyNumberOfWorkersAndInEveryRun) {
    const auto count = [](unsigned workers) {
        return CountedLaunch({12, 1, 1}, 64).floats(12 * 64).floats(12).workers(workers).run("reduce");
    };
    const Counts once = count(1);
    EXPECT_EQ(once, count(1));
    EXPECT_EQ(once, count(2));
    EXPECT_EQ(once, count(0));
}

TEST(Counter, LinesOfTheSourceHaveTheirShare) {
    const auto kernel = counted_kernel("reduce");
    const Counts counts = CountedLaunch({2, 1, 1}, 64).floats(128).floats(2).run("reduce");
    const auto lines = metal::count::by_line(counts, kernel->instrumentation);
    uint64_t read = 0, written = 0, threadgroup = 0;
    for (const auto& line : lines) {
        EXPECT_EQ(counted_file().string(), line.file);
        read += line.bytes_read;
        written += line.bytes_written;
        threadgroup += line.threadgroup_bytes;
    }
    EXPECT_EQ(512u, read);
    EXPECT_EQ(8u, written);
    EXPECT_EQ(counts.threadgroup_memory.bytes_read + counts.threadgroup_memory.bytes_written, threadgroup);
    const std::string text = metal::count::to_text(lines, metal::check::lines_of_files());
    EXPECT_THAT(text, ::testing::ContainsRegex("512 .* \\| +shared\\[t\\] = in\\[i\\];"));
}

}  // namespace
}  // namespace ingot::tests
