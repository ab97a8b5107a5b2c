// Types of the MSL library through Metal source: what the specification says of layouts, conversions,
// rounding and operators, each by name.
#include "metal/source_support.h"

namespace ingot::metal::testing {
namespace {

const char* const kPrelude = "#include <metal_stdlib>\nusing namespace metal;\n";

TEST(SourceTypes, FloatToIntegerTruncatesAndSaturatesAndNanIsZero) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device int* i32 [[buffer(0)]], device uchar* u8 [[buffer(1)]], device short4* s16 [[buffer(2)]],
              device ulong* u64 [[buffer(3)]], device int* halves [[buffer(4)]], const device float* in [[buffer(5)]],
              uint i [[thread_position_in_grid]]) {
    i32[i] = int(in[i]);
    u8[i] = uchar(in[i]);
    s16[i] = short4(float4(in[i]));
    u64[i] = ulong(in[i]);
    halves[i] = int(half(in[i]));
})");
    std::vector<float> in{1.9f, -1.9f, 3e9f, -3e9f, std::nanf(""), 0.49f, 1e30f, -0.0f};
    const uint32_t n = uint32_t(in.size());
    std::vector<int32_t> i32(n), halves(n);
    std::vector<uint8_t> u8(n);
    std::vector<int16_t> s16(4 * n);
    std::vector<uint64_t> u64(n);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, i32)
        .buffer(1, u8)
        .buffer(2, s16)
        .buffer(3, u64)
        .buffer(4, halves)
        .buffer(5, in)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    EXPECT_EQ((std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, 0, INT32_MAX, 0}), i32);
    EXPECT_EQ((std::vector<uint8_t>{1, 0, 255, 0, 0, 0, 255, 0}), u8);
    EXPECT_EQ((std::vector<uint64_t>{1, 0, 3000000000u, 0, 0, 0, UINT64_MAX, 0}), u64);
    EXPECT_EQ((std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, 0, INT32_MAX, 0}), halves);
    const int16_t expected[] = {1, -1, INT16_MAX, INT16_MIN, 0, 0, INT16_MAX, 0};
    for (uint32_t i = 0; i < 4 * n; ++i) EXPECT_EQ(expected[i / 4], s16[i]) << i;
}

TEST(SourceTypes, ShiftCountsAreMasked) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device uint* out [[buffer(0)]], const device uint* count [[buffer(1)]], device ulong* wide [[buffer(2)]],
              device ushort4* narrow [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    out[2 * i] = 0x80000001u << count[i];
    out[2 * i + 1] = uint(int(0x80000001u) >> count[i]);
    wide[i] = 0x8000000000000001ul >> ulong(count[i]);
    narrow[i] = ushort4(0x8001) << ushort4(count[i]);
})");
    std::vector<uint32_t> count{0, 1, 31, 32, 33, 63, 64, 65}, out(2 * count.size());
    std::vector<uint64_t> wide(count.size());
    std::vector<uint16_t> narrow(4 * count.size());
    const uint32_t n = uint32_t(count.size());
    Dispatch(source_kernel(library, "k"))
        .buffer(0, out)
        .buffer(1, count)
        .buffer(2, wide)
        .buffer(3, narrow)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    for (uint32_t i = 0; i < n; ++i) {
        EXPECT_EQ(0x80000001u << (count[i] % 32), out[2 * i]) << count[i];
        EXPECT_EQ(uint32_t(int32_t(0x80000001u) >> (count[i] % 32)), out[2 * i + 1]) << count[i];
        EXPECT_EQ(0x8000000000000001u >> (count[i] % 64), wide[i]) << count[i];
        EXPECT_EQ(uint16_t(0x8001u << (count[i] % 16)), narrow[4 * i + 3]) << count[i];
    }
}

TEST(SourceTypes, MinAndMaxReturnTheArgumentThatIsNoNan) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device float* out [[buffer(0)]], const device float* in [[buffer(1)]]) {
    const float nan = in[0], one = in[1];
    out[0] = fmin(nan, one); out[1] = fmin(one, nan); out[2] = fmax(nan, one); out[3] = fmax(one, nan);
    out[4] = min(nan, one); out[5] = max(one, nan); out[6] = precise::fmin(one, nan); out[7] = precise::max(nan, one);
    out[8] = clamp(nan, one, 2.0f); out[9] = float(max(half(nan), half(one))); out[10] = min(float2(nan), one).y;
})");
    std::vector<float> out(11), in{std::nanf(""), 1};
    Dispatch(source_kernel(library, "k")).buffer(0, out).buffer(1, in).threads_of_grid({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(std::vector<float>(11, 1), out);
}

TEST(SourceTypes, FloatToHalfAndBfloatRoundToNearestEvenAndThe16BitTypesConvertToEachOther) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device half* h [[buffer(0)]], device bfloat* b [[buffer(1)]], device bfloat* hb [[buffer(2)]],
              device half4* bh [[buffer(3)]], const device float* in [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    h[i] = half(in[i]);
    b[i] = bfloat(in[i]);
    hb[i] = static_cast<bfloat>(half(in[i]));
    bh[i] = half4(bfloat4(float4(in[i])));
})");
    const uint32_t n = 1024;
    auto in = normal_values<float>(n, 3, 100);
    std::vector<Half> h(n), bh(4 * n);
    std::vector<Bfloat> b(n), hb(n);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, h)
        .buffer(1, b)
        .buffer(2, hb)
        .buffer(3, bh)
        .buffer(4, in)
        .threads_of_grid({n, 1, 1}, {64, 1, 1});
    for (uint32_t i = 0; i < n; ++i) {
        EXPECT_EQ(float_to_half(in[i]), h[i].bits);
        EXPECT_EQ(float_to_bfloat16(in[i]), b[i].bits);
        EXPECT_EQ(float_to_bfloat16(half_to_float(float_to_half(in[i]))), hb[i].bits);
        EXPECT_EQ(float_to_half(bfloat16_to_float(float_to_bfloat16(in[i]))), bh[4 * i + i % 4].bits);
    }
}

TEST(SourceTypes, EachHalfOperationIsRounded) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device half* out [[buffer(0)]], device bfloat* bout [[buffer(1)]], const device half* in [[buffer(2)]],
              const device bfloat* bin [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    out[i] = (in[i] + in[i + 1]) - in[i];
    bout[i] = (bin[i] + bin[i + 1]) - bin[i];
})");
    const uint32_t n = 512;
    auto in = normal_values<Half>(n + 1, 5);
    auto bin = normal_values<Bfloat>(n + 1, 6);
    std::vector<Half> out(n);
    std::vector<Bfloat> bout(n);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, out)
        .buffer(1, bout)
        .buffer(2, in)
        .buffer(3, bin)
        .threads_of_grid({n, 1, 1}, {64, 1, 1});
    for (uint32_t i = 0; i < n; ++i) {
        const float sum = half_to_float(float_to_half(float(double(in[i]) + double(in[i + 1]))));
        EXPECT_EQ(float_to_half(float(double(sum) - double(in[i]))), out[i].bits);
        const float bsum = bfloat16_to_float(float_to_bfloat16(float(double(bin[i]) + double(bin[i + 1]))));
        EXPECT_EQ(float_to_bfloat16(float(double(bsum) - double(bin[i]))), bout[i].bits);
    }
}

// Layouts, constant expressions, type traits: what the compiler itself can check.
TEST(SourceTypes, LayoutsLimitsAndTraitsAreThoseOfTheSpecification) {
    const auto library = source_library(std::string(kPrelude) + R"(
static_assert(sizeof(float3) == 16 && alignof(float3) == 16 && sizeof(half3) == 8 && alignof(half3) == 8, "");
static_assert(sizeof(packed_float3) == 12 && alignof(packed_float3) == 4 && sizeof(packed_half3) == 6, "");
static_assert(sizeof(bool4) == 4 && sizeof(char2) == 2 && sizeof(ulong4) == 32 && sizeof(vec<float, 8>) == 32, "");
static_assert(sizeof(half) == 2 && sizeof(bfloat) == 2 && sizeof(long) == 8 && sizeof(size_t) == 8, "");
static_assert(numeric_limits<half>::max() == 65504.0h && numeric_limits<float>::infinity() == INFINITY, "");
static_assert(numeric_limits<int>::min() == INT_MIN && numeric_limits<uchar>::max() == 255, "");
static_assert(numeric_limits<bfloat>::lowest() < -3e38f && numeric_limits<float>::epsilon() == FLT_EPSILON, "");
static_assert(is_same_v<decltype(float4().x), float> && is_floating_point_v<half> && is_floating_point_v<bfloat>, "");
static_assert(is_same_v<decltype(2.0 * 1.0f), float> && is_same_v<decltype(half(1) * 1.0f), float>, "");
static_assert(is_same_v<decltype(half(1) * 2), half> && is_same_v<decltype(1.0h), half>, "");
static_assert(conditional_t<true, integral_constant<int, 3>, false_type>::value == 3, "");
static_assert(float4(float2(1, 2), 3, 4).w == 4 && (float3(1, 2, 3) * 2.0f).z == 6 && all(int2(3) == int2(3, 3)), "");
static_assert(short2{1, 2}.y == 2 && (uint4(1, 2, 3, 4) >> 1).w == 2 && max(3, 4) == 4, "");
constant float4 table[] = {float4(1, 2, 3, 4), {5, 6, 7, 8}};
kernel void k(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = table[i / 4][i % 4]; }
)");
    std::vector<float> out(8);
    Dispatch(source_kernel(library, "k")).buffer(0, out).threads_of_grid({8, 1, 1}, {8, 1, 1});
    EXPECT_EQ((std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}), out);
}

TEST(SourceTypes, VectorsConvertBetweenAllElementTypes) {
    const std::vector<std::string> types{"bool", "char", "uchar", "short", "ushort", "int",
                                         "uint", "long", "ulong", "half",  "bfloat", "float"};
    std::string body;
    int row = 0;
    for (const std::string& from : types) {
        for (const std::string& to : types) {
            // Three lanes of small numbers that every type holds, then packed ones.
            body += "  { " + from + "3 v = " + from + "3(float3(in[0], in[1], in[2])); float3 f = float3(" +
                    to + "3(v)); " + "packed_" + to + "3 p = packed_" + to +
                    "3(v); device float* o = out + 4 * " + std::to_string(row++) +
                    "; o[0] = f.x; o[1] = f.y; o[2] = f.z; o[3] = float(p[1]); }\n";
        }
    }
    const auto library = source_library(
        std::string(kPrelude) +
        "kernel void k(device float* out [[buffer(0)]], const device float* in [[buffer(1)]]) {\n" + body +
        "}\n");
    std::vector<float> out(4 * types.size() * types.size()), in{0, 1, 100};
    Dispatch(source_kernel(library, "k")).buffer(0, out).buffer(1, in).threads_of_grid({1, 1, 1}, {1, 1, 1});
    for (size_t from = 0; from < types.size(); ++from) {
        for (size_t to = 0; to < types.size(); ++to) {
            const float* o = &out[4 * (from * types.size() + to)];
            const float hundred = from == 0 || to == 0 ? 1 : 100;
            EXPECT_EQ((std::vector<float>{0, 1, hundred, 1}), std::vector<float>(o, o + 4))
                << types[from] << " to " << types[to];
        }
    }
}

TEST(SourceTypes, SwizzlesReadAndAreAssigned) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device float4* out [[buffer(0)]], device packed_float3* packed [[buffer(1)]],
              const device float4* in [[buffer(2)]]) {
    float4 v = in[0];
    out[0] = v.wzyx;
    out[1] = v.xxyy + v.rgba;
    float4 w(0);
    w.xz = v.yw;
    w.yw += v.xx;
    out[2] = w;
    out[3].zyx = in[0].xyz;
    out[3].w = v.w;
    out[4] = float4(v.zw, v.x, 0);
    packed[0].xy = v.xy;
    packed[0].z = v.zzz.y;
    out[5] = float4(packed[0].zyx, 1);
    w.xy = w.yx;
    out[6] = w;
})");
    std::vector<float> out(28), packed(3), in{1, 2, 3, 4};
    Dispatch(source_kernel(library, "k"))
        .buffer(0, out)
        .buffer(1, packed)
        .buffer(2, in)
        .threads_of_grid({1, 1, 1}, {1, 1, 1});
    const std::vector<float> expected{4, 3, 2, 1, 2, 3, 5, 6, 2, 1, 4, 1, 3, 2,
                                      1, 4, 3, 4, 1, 0, 3, 2, 1, 1, 1, 2, 4, 1};
    EXPECT_EQ(expected, out);
}

TEST(SourceTypes, VectorOperatorsBeatASourcesUnconstrainedTemplate) {
    const auto library = source_library(std::string(kPrelude) + R"(
struct State { float4 rows[2]; };
template <typename T> T operator*(const thread T& s, float f) { T r; r.rows[0] = s.rows[0] * f; r.rows[1] = s.rows[1] * f; return r; }
kernel void k(device float4* out [[buffer(0)]]) {
    State s{{float4(1), float4(2)}};
    s = s * 3.0f;
    out[0] = s.rows[0];
    out[1] = s.rows[1];
})");
    std::vector<float> out(8);
    Dispatch(source_kernel(library, "k")).buffer(0, out).threads_of_grid({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ((std::vector<float>{3, 3, 3, 3, 6, 6, 6, 6}), out);
}

TEST(SourceTypes, RelationalFunctionsKnowEveryKindOfNumber) {
    const auto library = source_library(std::string(kPrelude) + R"(
template <typename T> uint kinds(T x) {
    return uint(isnan(x)) | uint(isinf(x)) << 1 | uint(isfinite(x)) << 2 | uint(isnormal(x)) << 3 |
           uint(signbit(x)) << 4 | uint(isordered(x, T(1))) << 5 | uint(isunordered(T(1), x)) << 6;
}
kernel void k(device uint* out [[buffer(0)]], const device float* in [[buffer(1)]], device float4* chosen [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    out[4 * i] = kinds(in[i]);
    out[4 * i + 1] = kinds(half(in[i]));
    out[4 * i + 2] = kinds(bfloat(in[i]));
    out[4 * i + 3] = uint(any(isnan(float4(0, in[i], 0, 0)))) | uint(all(isfinite(float2(in[i])))) << 1;
    chosen[i] = select(float4(1, 2, 3, 4), float4(5), bool4(true, false, isnan(in[i]), !isnan(in[i])));
})");
    std::vector<float> in{0, -0.0f, 1, -1, INFINITY, -INFINITY, std::nanf(""), 1e-40f};
    const uint32_t n = uint32_t(in.size());
    std::vector<uint32_t> out(4 * n);
    std::vector<float> chosen(4 * n);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, out)
        .buffer(1, in)
        .buffer(2, chosen)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    const auto kinds = [](float x) {
        return uint32_t(std::isnan(x)) | uint32_t(std::isinf(x)) << 1 | uint32_t(std::isfinite(x)) << 2 |
               uint32_t(std::isnormal(x)) << 3 | uint32_t(std::signbit(x)) << 4 |
               uint32_t(!std::isnan(x)) << 5 | uint32_t(std::isnan(x)) << 6;
    };
    for (uint32_t i = 0; i < n; ++i) {
        EXPECT_EQ(kinds(in[i]), out[4 * i]) << in[i];
        // 1e-40 is 0 in half and a denormal in bfloat.
        EXPECT_EQ(kinds(i == 7 ? 0 : in[i]), out[4 * i + 1]) << in[i];
        EXPECT_EQ(kinds(in[i]), out[4 * i + 2]) << in[i];
        const bool is_nan = std::isnan(in[i]);
        EXPECT_EQ(uint32_t(is_nan) | uint32_t(std::isfinite(in[i])) << 1, out[4 * i + 3]) << in[i];
        EXPECT_EQ((std::vector<float>{5, 2, is_nan ? 5.f : 3.f, is_nan ? 4.f : 5.f}),
                  std::vector<float>(&chosen[4 * i], &chosen[4 * i] + 4));
    }
}

TEST(SourceTypes, GeometricFunctionsAgreeWithDoublePrecision) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device float* out [[buffer(0)]], const device packed_float3* in [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float3 a = in[2 * i], b = in[2 * i + 1];
    device float* o = out + 24 * i;
    o[0] = dot(a, b); o[1] = length(a); o[2] = distance(a, b); o[3] = length_squared(in[2 * i]); o[4] = distance_squared(a, b);
    *(device packed_float3*)(o + 5) = cross(a, b);
    *(device packed_float3*)(o + 8) = normalize(a);
    *(device packed_float3*)(o + 11) = reflect(a, normalize(b));
    *(device packed_float3*)(o + 14) = refract(normalize(a), normalize(b), 0.5f);
    *(device packed_float3*)(o + 17) = faceforward(a, b, a);
    o[20] = float(dot(half4(half3(a), 1), half4(half3(b), 0))); o[21] = fast::length(float2(a.x, a.y));
    o[22] = precise::distance(a.xy, b.xy); o[23] = float(length(half3(a)));
})");
    const uint32_t n = 64;
    auto in = normal_values<float>(6 * n, 8);
    std::vector<float> out(24 * n);
    Dispatch(source_kernel(library, "k")).buffer(0, out).buffer(1, in).threads_of_grid({n, 1, 1}, {n, 1, 1});
    using V = std::array<double, 3>;
    const auto dot = [](const V& x, const V& y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; };
    const auto blend = [](double p, const V& x, double q, const V& y) {
        return V{p * x[0] + q * y[0], p * x[1] + q * y[1], p * x[2] + q * y[2]};
    };
    for (uint32_t i = 0; i < n; ++i) {
        const float* v = &in[6 * i];
        const V a{v[0], v[1], v[2]}, b{v[3], v[4], v[5]}, difference = blend(1, a, -1, b);
        const V ua = blend(1 / std::sqrt(dot(a, a)), a, 0, a), ub = blend(1 / std::sqrt(dot(b, b)), b, 0, b);
        const double cosine = dot(ub, ua), k = 1 - 0.25 * (1 - cosine * cosine);
        const V crossed{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
        const V reflected = blend(1, a, -2 * dot(ub, a), ub);
        const V refracted = blend(0.5, ua, -(0.5 * cosine + std::sqrt(k)), ub);
        const double sign = dot(b, a) < 0 ? 1 : -1;
        std::vector<double> expected{dot(a, b), std::sqrt(dot(a, a)), std::sqrt(dot(difference, difference)),
                                     dot(a, a), dot(difference, difference)};
        for (const V& w : {crossed, ua, reflected, refracted, blend(sign, a, 0, a)}) {
            expected.insert(expected.end(), w.begin(), w.end());
        }
        expected.insert(expected.end(), {dot(a, b), std::hypot(a[0], a[1]),
                                         std::hypot(difference[0], difference[1]), std::sqrt(dot(a, a))});
        for (uint32_t e = 0; e < 24; ++e) {
            const double tolerance = e == 20 || e == 23 ? 2e-2 : 4e-6;
            EXPECT_NEAR(expected[e], out[24 * i + e], tolerance * std::max(1.0, std::fabs(expected[e]))) << e;
        }
    }
}

TEST(SourceTypes, AtomicsWorkOnDeviceAndThreadgroupMemoryAndOnCastPointers) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device atomic_int* sum [[buffer(0)]], device float* plain [[buffer(1)]], device atomic_ulong* largest [[buffer(2)]],
              device uint* out [[buffer(3)]], uint i [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint local;
    if (i == 0) atomic_store_explicit(&local, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&local, 2u, memory_order_relaxed);
    atomic_fetch_sub_explicit(sum, 3, memory_order_relaxed);
    atomic_fetch_add_explicit((device atomic_float*)plain, 0.5f, memory_order_relaxed);
    atomic_max_explicit(largest, ulong(i) << 33, memory_order_relaxed);
    atomic_min_explicit(largest + 1, ulong(i + 5) << 33, memory_order_relaxed);
    device atomic_uint* flags = reinterpret_cast<device atomic_uint*>(out + 256);
    atomic_fetch_or_explicit(flags, 1u << (i % 32), memory_order_relaxed);
    uint expected = atomic_load_explicit(flags + 1, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(flags + 1, &expected, expected + 7, memory_order_relaxed, memory_order_relaxed)) {}
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    out[i] = atomic_load_explicit(&local, memory_order_relaxed);
})");
    const uint32_t n = 256;
    std::vector<int32_t> sum{1000};
    std::vector<float> plain{1};
    std::vector<uint64_t> largest{3, UINT64_MAX};
    std::vector<uint32_t> out(n + 2);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, sum)
        .buffer(1, plain)
        .buffer(2, largest)
        .buffer(3, out)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    EXPECT_EQ(1000 - 3 * int(n), sum[0]);
    EXPECT_EQ(1 + n / 2.f, plain[0]);
    EXPECT_EQ(uint64_t{255} << 33, largest[0]);
    EXPECT_EQ(uint64_t{5} << 33, largest[1]);
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(2 * n, out[i]);
    EXPECT_EQ(~0u, out[n]);
    EXPECT_EQ(7 * n, out[n + 1]);
}

TEST(SourceTypes, SimdFunctionsInDivergentCodeCoverTheActiveLanes) {
    const auto library = source_library(std::string(kPrelude) + R"(
kernel void k(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint result = 0;
    if (lane % 3 == 1) {
        result = simd_sum(lane) * 1000 + uint(popcount(uint(ulong(simd_active_threads_mask()))));
        if (simd_is_first()) result += 500000000;
    } else {
        result = simd_max(lane) + 100 * simd_broadcast_first(lane);
    }
    out[i] = result;
})");
    std::vector<uint32_t> out(64);
    Dispatch(source_kernel(library, "k")).buffer(0, out).threads_of_grid({64, 1, 1}, {64, 1, 1});
    uint32_t sum = 0, count = 0;
    for (uint32_t lane = 1; lane < 32; lane += 3, ++count) sum += lane;
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t lane = i % 32;
        EXPECT_EQ(lane % 3 == 1 ? sum * 1000 + count + (lane == 1 ? 500000000 : 0) : 30 + 0, out[i]) << i;
    }
}

TEST(SourceTypes, KernelsLogToStandardError) {
    const auto library = source_library(std::string(kPrelude) + R"(
constant metal::os_log logger("tests", "logging");
kernel void k(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    logger.log_debug("thread %u of %s: %5.2f %d%% %ld", i, "this kernel", half(1.5h), short(-3), long(1) << 40);
    os_log_default.log_error("done");
})");
    std::vector<float> out(1);
    ::testing::internal::CaptureStderr();
    Dispatch(source_kernel(library, "k")).buffer(0, out).threads_of_grid({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(
        "metal debug tests:logging: thread 0 of this kernel:  1.50 -3% 1099511627776\nmetal error: done\n",
        ::testing::internal::GetCapturedStderr());
}

}  // namespace
}  // namespace ingot::metal::testing
