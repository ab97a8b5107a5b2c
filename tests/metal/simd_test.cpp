// Simdgroup and quadgroup functions against loops over the lanes: every operation, each element type, full
// and partial simdgroups, all lanes active and some of them.
#include <functional>

#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

constexpr uint32_t kSimdTestThreads = 40;  // one full simdgroup, and one of eight lanes

using Active = std::function<bool(uint32_t thread)>;
bool all(uint32_t) {
    return true;
}
bool two_of_three(uint32_t thread) {
    return thread % 3 != 0;
}

// b0[t] = air.NAME(b1[t] EXTRA) in the threads whose b2[t] isn't 0; T is the LLVM type of the elements.
std::shared_ptr<const Kernel> collective(const std::string& name, const std::string& type,
                                         const std::string& extra = "", const std::string& extra_types = "") {
    return text_kernel(
        kernel_ir(3, {"thread_index_in_threadgroup"},
                  "%t = zext i32 %thread_index_in_threadgroup to i64\n"
                  "%fp = getelementptr i32, ptr addrspace(1) %b2, i64 %t\n"
                  "%f = load i32, ptr addrspace(1) %fp\n%on = icmp ne i32 %f, 0\n"
                  "%from = getelementptr " +
                      type +
                      ", ptr addrspace(1) %b1, i64 %t\n"
                      "%to = getelementptr " +
                      type +
                      ", ptr addrspace(1) %b0, i64 %t\n"
                      "br i1 %on, label %in, label %out\nin:\n"
                      "%v = load " +
                      type +
                      ", ptr addrspace(1) %from\n"
                      "%r = call " +
                      type + " @air." + name + "(" + type + " %v" + extra +
                      ")\n"
                      "store " +
                      type + " %r, ptr addrspace(1) %to\nbr label %out\nout:\nret void",
                  "declare " + type + " @air." + name + "(" + type + extra_types + ") convergent\n"));
}

// The lanes that take part with `thread`: the active ones of its simdgroup or quadgroup, in order.
std::vector<uint32_t> peers(uint32_t thread, uint32_t width, const Active& active) {
    std::vector<uint32_t> threads;
    const uint32_t first = thread / width * width;
    for (uint32_t t = first; t < std::min(first + width, kSimdTestThreads); ++t) {
        if (active(t)) threads.push_back(t);
    }
    return threads;
}

// What the thread gets, of the values of its peers (0 for `before`: those up to but without it).
using Reference = std::function<double(const std::vector<double>& values, size_t me)>;

template <typename T>
void expect_collective(const std::string& name, const std::string& suffix, const std::string& type,
                       uint32_t width, const std::function<double(uint32_t)>& input,
                       const Reference& reference) {
    const auto kernel = collective((width == 4 ? "quad_" : "simd_") + name + "." + suffix, type);
    for (const Active& active : {Active(all), Active(two_of_three)}) {
        std::vector<T> in(kSimdTestThreads), out(kSimdTestThreads);
        std::vector<uint32_t> on(kSimdTestThreads);
        for (uint32_t t = 0; t < kSimdTestThreads; ++t) in[t] = T(float(input(t))), on[t] = active(t);
        const auto report = Dispatch(kernel).buffer(0, out).buffer(1, in).buffer(2, on).groups(
            {1, 1, 1}, {kSimdTestThreads, 1, 1});
        ASSERT_EQ(LaunchStatus::kDone, report.status) << report.message;
        for (uint32_t t = 0; t < kSimdTestThreads; ++t) {
            if (!active(t)) continue;
            const auto threads = peers(t, width, active);
            std::vector<double> values;
            for (const uint32_t peer : threads) values.push_back(double(in[peer]));
            const size_t me = size_t(std::find(threads.begin(), threads.end(), t) - threads.begin());
            ASSERT_EQ(reference(values, me), double(out[t]))
                << name << "." << suffix << " width " << width << " thread " << t;
        }
    }
}

struct Operation {
    const char* name;
    std::function<double(uint32_t)> input;  // small, so that each type holds every result exactly
    Reference reference;
};

double fold(const std::vector<double>& values, size_t count, bool product) {
    double result = product ? 1 : 0;
    for (size_t i = 0; i < count; ++i) result = product ? result * values[i] : result + values[i];
    return result;
}

std::vector<Operation> operations() {
    const auto small = [](uint32_t t) { return double(t * 7 % 4); };
    const auto factor = [](uint32_t t) { return t % 9 == 4 ? 2.0 : 1.0; };
    return {
        {"sum", small, [](auto& v, size_t) { return fold(v, v.size(), false); }},
        {"product", factor, [](auto& v, size_t) { return fold(v, v.size(), true); }},
        {"min", small, [](auto& v, size_t) { return *std::min_element(v.begin(), v.end()); }},
        {"max", small, [](auto& v, size_t) { return *std::max_element(v.begin(), v.end()); }},
        {"prefix_exclusive_sum", small, [](auto& v, size_t me) { return fold(v, me, false); }},
        {"prefix_inclusive_sum", small, [](auto& v, size_t me) { return fold(v, me + 1, false); }},
        {"prefix_exclusive_product", factor, [](auto& v, size_t me) { return fold(v, me, true); }},
        {"prefix_inclusive_product", factor, [](auto& v, size_t me) { return fold(v, me + 1, true); }},
        {"broadcast_first", small, [](auto& v, size_t) { return v[0]; }},
    };
}

TEST(SimdFunctions, ReductionsAndScansOfEachType) {
    for (const Operation& op : operations()) {
        for (const uint32_t width : {32u, 4u}) {
            expect_collective<float>(op.name, "f32", "float", width, op.input, op.reference);
            expect_collective<Half>(op.name, "f16", "half", width, op.input, op.reference);
            expect_collective<int32_t>(op.name, "s.i32", "i32", width, op.input, op.reference);
            expect_collective<uint16_t>(op.name, "u.i16", "i16", width, op.input, op.reference);
            expect_collective<int8_t>(op.name, "s.i8", "i8", width, op.input, op.reference);
        }
    }
}

TEST(SimdFunctions, SignsAreKept) {
    const auto below = [](uint32_t t) { return double(int(t * 5 % 7) - 6); };
    const Reference least = [](auto& v, size_t) { return *std::min_element(v.begin(), v.end()); };
    const Reference most = [](auto& v, size_t) { return *std::max_element(v.begin(), v.end()); };
    expect_collective<int8_t>("min", "s.i8", "i8", 32, below, least);
    expect_collective<int16_t>("max", "s.i16", "i16", 32, below, most);
    expect_collective<int32_t>("max", "s.i32", "i32", 4, below, most);
    expect_collective<float>("min", "f32", "float", 4, below, least);
}

TEST(SimdFunctions, BitwiseReductions) {
    const auto bits = [](uint32_t t) { return double((t * 37 + 11) & 0xFF); };
    const auto fold_bits = [](auto combine) {
        return Reference([combine](const std::vector<double>& v, size_t) {
            uint32_t result = uint32_t(v[0]);
            for (size_t i = 1; i < v.size(); ++i) result = combine(result, uint32_t(v[i]));
            return double(result);
        });
    };
    for (const uint32_t width : {32u, 4u}) {
        expect_collective<uint32_t>("and", "u.i32", "i32", width, bits,
                                    fold_bits([](uint32_t a, uint32_t b) { return a & b; }));
        expect_collective<uint32_t>("or", "u.i32", "i32", width, bits,
                                    fold_bits([](uint32_t a, uint32_t b) { return a | b; }));
        expect_collective<uint32_t>("xor", "u.i32", "i32", width, bits,
                                    fold_bits([](uint32_t a, uint32_t b) { return a ^ b; }));
    }
}

// Lane -> source lane; a source outside is undefined, and not looked at.
void expect_shuffle(const std::string& name, const std::string& extra, const std::string& extra_types,
                    uint32_t width, const std::function<int(int lane)>& source) {
    const auto kernel =
        collective((width == 4 ? "quad_" : "simd_") + name + ".f32", "float", extra, extra_types);
    std::vector<float> in(32), out(32);
    std::vector<uint32_t> on(32, 1);
    for (int i = 0; i < 32; ++i) in[size_t(i)] = float(100 + i);
    Dispatch(kernel).buffer(0, out).buffer(1, in).buffer(2, on).groups({1, 1, 1}, {32, 1, 1});
    for (int i = 0; i < 32; ++i) {
        const int base = i / int(width) * int(width), from = source(i - base);
        if (from < 0) continue;
        EXPECT_EQ(float(100 + base + from), out[size_t(i)]) << name << " lane " << i << " width " << width;
    }
}

TEST(SimdFunctions, Shuffles) {
    for (const int width : {32, 4}) {
        const auto inside = [width](int lane) { return lane >= 0 && lane < width ? lane : -1; };
        const uint32_t w = uint32_t(width);
        expect_shuffle("shuffle", ", i16 3", ", i16", w, [](int) { return 3; });
        expect_shuffle("broadcast", ", i16 2", ", i16", w, [](int) { return 2; });
        expect_shuffle("shuffle_up", ", i16 1", ", i16", w, [&](int lane) { return inside(lane - 1); });
        expect_shuffle("shuffle_down", ", i16 2", ", i16", w, [&](int lane) { return inside(lane + 2); });
        expect_shuffle("shuffle_xor", ", i16 3", ", i16", w, [&](int lane) { return lane ^ 3; });
        expect_shuffle("shuffle_rotate_up", ", i16 1", ", i16", w,
                       [&](int lane) { return (lane + width - 1) % width; });
        expect_shuffle("shuffle_rotate_down", ", i16 3", ", i16", w,
                       [&](int lane) { return (lane + 3) % width; });
    }
}

TEST(SimdFunctions, FillsTakeFromTheOtherVectorAtTheEdgeOfABlock) {
    const auto run = [](const std::string& name) {
        const auto kernel = collective(name, "float", ", float 9.0, i16 3, i16 8", ", float, i16, i16");
        std::vector<float> in(32), out(32);
        std::vector<uint32_t> on(32, 1);
        for (size_t i = 0; i < 32; ++i) in[i] = float(100 + i);
        Dispatch(kernel).buffer(0, out).buffer(1, in).buffer(2, on).groups({1, 1, 1}, {32, 1, 1});
        return out;
    };
    const auto up = run("simd_shuffle_and_fill_up.f32"), down = run("simd_shuffle_and_fill_down.f32");
    for (size_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(lane % 8 >= 3 ? float(100 + lane - 3) : 9.0f, up[lane]) << lane;
        EXPECT_EQ(lane % 8 + 3 < 8 ? float(100 + lane + 3) : 9.0f, down[lane]) << lane;
    }
}

// Votes of lane % `period` == 0, as 64 bits.
std::vector<uint64_t> votes(const std::string& call, uint32_t period) {
    const auto kernel = text_kernel(
        kernel_ir(1, {"thread_index_in_threadgroup"},
                  "%t = zext i32 %thread_index_in_threadgroup to i64\n"
                  "%m = urem i32 %thread_index_in_threadgroup, " +
                      std::to_string(period) + "\n%yes = icmp eq i32 %m, 0\n" + call +
                      "%to = getelementptr i64, ptr addrspace(1) %b0, i64 %t\nstore i64 %r, ptr addrspace(1) "
                      "%to\nret void",
                  "declare i1 @air.simd_all(i1) convergent\ndeclare i1 @air.simd_any(i1) convergent\n"
                  "declare i1 @air.quad_all(i1) convergent\ndeclare i1 @air.quad_any(i1) convergent\n"
                  "declare i64 @air.simd_ballot.i64(i1) convergent\ndeclare i64 "
                  "@air.simd_active_threads_mask.i64() convergent\n"
                  "declare i1 @air.simd_is_first() convergent\n"));
    std::vector<uint64_t> out(kSimdTestThreads);
    Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {kSimdTestThreads, 1, 1});
    return out;
}

TEST(SimdFunctions, Votes) {
    const auto vote = [](const std::string& name) {
        return "%v = call i1 @air." + name + "(i1 %yes)\n%r = zext i1 %v to i64\n";
    };
    EXPECT_EQ(std::vector<uint64_t>(kSimdTestThreads, 1), votes(vote("simd_all"), 1));
    EXPECT_EQ(std::vector<uint64_t>(kSimdTestThreads, 0), votes(vote("simd_all"), 2));
    std::vector<uint64_t> any(kSimdTestThreads, 1);
    std::fill(any.begin() + 32, any.end(), 0);  // none of lanes 32 to 39 is a multiple of 31
    EXPECT_EQ(any, votes(vote("simd_any"), 31));
    const auto quad_any = votes(vote("quad_any"), 8), quad_all = votes(vote("quad_all"), 8);
    for (uint32_t t = 0; t < kSimdTestThreads; ++t) {
        EXPECT_EQ(t % 8 < 4, quad_any[t]) << t;
        EXPECT_EQ(0u, quad_all[t]) << t;
    }
    const auto ballot = votes("%r = call i64 @air.simd_ballot.i64(i1 %yes)\n", 3);
    EXPECT_EQ(0x49249249u, ballot[0]);
    EXPECT_EQ(0x92u, ballot[39]) << "lanes 33, 36 and 39 are lanes 1, 4 and 7 of their simdgroup";
    const auto mask = votes("%r = call i64 @air.simd_active_threads_mask.i64()\n", 1);
    EXPECT_EQ(0xFFFFFFFFu, mask[0]);
    EXPECT_EQ(0xFFu, mask[39]);
    const auto first = votes("%v = call i1 @air.simd_is_first()\n%r = zext i1 %v to i64\n", 1);
    EXPECT_EQ(1u, first[0]);
    EXPECT_EQ(0u, first[1]);
    EXPECT_EQ(1u, first[32]);
}

}  // namespace
}  // namespace ingot::metal::testing
