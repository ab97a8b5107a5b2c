// NEON's form of the vector operations that the templates in simd/ are written with: sixteen lanes as four q
// registers, bytes multiplied by the dot product instructions of Armv8.2. See avx2/vec.h for what each does
// and why linkage is internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include <arm_neon.h>

namespace ingot::cpu {
namespace {

struct Neon {
    static constexpr const char* kName = "neon-dotprod";
    // sdot wants signed bytes on both sides; codes of up to 7 bits are that as they are.
    static constexpr bool kSignedBytes = true;
    // 12 registers of sums, 12 of totals, 4 of codes.
    static constexpr uint32_t kTileTokens = 3, kDirectTileTokens = 3;
    static constexpr uint32_t kPanelGroups = 1;
    static constexpr uint32_t kPanelColumns = 1024;
    static constexpr uint32_t kFloatTileTokens = 6;

    struct F {
        float32x4_t v[4];
    };
    struct I {
        int8x16_t v[4];
    };
    using X = int8x16_t;  // four activation bytes in every lane

    static F zero() { return set(0); }
    static F set(float x) {
        const float32x4_t q = vdupq_n_f32(x);
        return {{q, q, q, q}};
    }
    static F load(const float* p) {
        return each([=](int i) { return vld1q_f32(p + 4 * i); });
    }
    static void store(float* p, F a) {
        for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.v[i]);
    }
    static F add(F a, F b) {
        return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
    }
    static F sub(F a, F b) {
        return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
    }
    static F mul(F a, F b) {
        return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
    }
    static F div(F a, F b) {
        return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
    }
    static F max(F a, F b) {
        return each([&](int i) { return vmaxq_f32(a.v[i], b.v[i]); });
    }
    static F min(F a, F b) {
        return each([&](int i) { return vminq_f32(a.v[i], b.v[i]); });
    }
    static F fma(F a, F b, F c) {
        return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
    }
    static F abs(F a) {
        return each([&](int i) { return vabsq_f32(a.v[i]); });
    }
    static F round(F a) {
        return each([&](int i) { return vrndnq_f32(a.v[i]); });
    }
    static float sum(F a) {  // in the order of Avx2::sum, so that both give the same bits
        float32x4_t q = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
        q = vaddq_f32(q, vextq_f32(q, q, 2));
        return vgetq_lane_f32(q, 0) + vgetq_lane_f32(q, 1);
    }
    static float largest(F a) {
        return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.v[0], a.v[1]), vmaxq_f32(a.v[2], a.v[3])));
    }
    static bool any_nan(F a, F b) {
        uint32x4_t numbers = vdupq_n_u32(~0u);
        for (int i = 0; i < 4; ++i) {
            numbers = vandq_u32(numbers, vceqq_f32(a.v[i], a.v[i]));
            numbers = vandq_u32(numbers, vceqq_f32(b.v[i], b.v[i]));
        }
        return vminvq_u32(numbers) == 0;
    }
    static F power_of_two(F n) {
        return each([&](int i) {
            const int32x4_t biased = vaddq_s32(vcvtnq_s32_f32(n.v[i]), vdupq_n_s32(127));
            return vreinterpretq_f32_s32(vshlq_n_s32(biased, 23));
        });
    }
    static F load_first(const float* p, size_t n) {
        float padded[16] = {};
        __builtin_memcpy(padded, p, n * sizeof(float));
        return load(padded);
    }
    static void store_first(float* p, size_t n, F a) {
        float all[16];
        store(all, a);
        __builtin_memcpy(p, all, n * sizeof(float));
    }
    static F first(size_t n, F a, F b) {
        const uint32_t numbers[4] = {0, 1, 2, 3};
        const uint32x4_t lanes = vld1q_u32(numbers);
        return each([&](int i) {
            const uint32x4_t in = vcltq_u32(vaddq_u32(lanes, vdupq_n_u32(4 * i)), vdupq_n_u32(uint32_t(n)));
            return vbslq_f32(in, a.v[i], b.v[i]);
        });
    }
    static void load_pairs(const float* p, F& even, F& odd) {
        for (int i = 0; i < 4; ++i) {
            const float32x4x2_t pairs = vld2q_f32(p + 8 * i);
            even.v[i] = pairs.val[0];
            odd.v[i] = pairs.val[1];
        }
    }
    static void store_pairs(float* p, F even, F odd) {
        for (int i = 0; i < 4; ++i) vst2q_f32(p + 8 * i, float32x4x2_t{{even.v[i], odd.v[i]}});
    }
    static void transpose(const F (&rows)[16], float* out) {
        for (int r = 0; r < 16; r += 4) {
            for (int c = 0; c < 4; ++c) {
                const auto ab = vtrnq_f32(rows[r].v[c], rows[r + 1].v[c]);
                const auto cd = vtrnq_f32(rows[r + 2].v[c], rows[r + 3].v[c]);
                float* to = out + 64 * c + r;
                vst1q_f32(to, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
                vst1q_f32(to + 16, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
                vst1q_f32(to + 32, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
                vst1q_f32(to + 48, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
            }
        }
    }
    static void store_halves(uint16_t* p, F a) {
        for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.v[i])));
    }

    static F load_halves(const void* p) {
        return each([=](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(load_u16(p, i))); });
    }
    static F load_bfloats(const void* p) {
        return each([=](int i) { return vreinterpretq_f32_u32(vshll_n_u16(load_u16(p, i), 16)); });
    }
    static F load_s8(const void* p) {
        const int8x16_t bytes = vld1q_s8(static_cast<const int8_t*>(p));
        const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
        return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
                 vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                 vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
    }
    static F load_exponents(const void* p) {
        const I exponents = load_u8(p);
        return each([&](int i) {
            const int32x4_t e = ints(exponents.v[i]), one = vdupq_n_s32(1);
            const int32x4_t normal = vshlq_n_s32(vsubq_s32(e, one), 23);
            const int32x4_t subnormal = vshlq_s32(vdupq_n_s32(0x00200000), e);
            return vreinterpretq_f32_s32(vbslq_s32(vcgtq_s32(e, one), normal, subnormal));
        });
    }
    static F from_int(I a) {
        return each([&](int i) { return vcvtq_f32_s32(ints(a.v[i])); });
    }

    static I load_bytes(const void* p) {
        const auto* bytes = static_cast<const int8_t*>(p);
        return each_byte([=](int i) { return vld1q_s8(bytes + 16 * i); });
    }
    static void store_bytes(void* p, I a) {
        for (int i = 0; i < 4; ++i) vst1q_s8(static_cast<int8_t*>(p) + 16 * i, a.v[i]);
    }
    static I load_u8(const void* p) {
        const uint8x16_t bytes = vld1q_u8(static_cast<const uint8_t*>(p));
        const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_u8(vget_high_u8(bytes));
        return {{vreinterpretq_s8_u32(vmovl_u16(vget_low_u16(low))),
                 vreinterpretq_s8_u32(vmovl_u16(vget_high_u16(low))),
                 vreinterpretq_s8_u32(vmovl_u16(vget_low_u16(high))),
                 vreinterpretq_s8_u32(vmovl_u16(vget_high_u16(high)))}};
    }
    static I set_bytes(int x) {
        return each_byte([=](int) { return vdupq_n_s8(int8_t(x)); });
    }
    static I set_ints(int x) {
        return each_byte([=](int) { return vreinterpretq_s8_s32(vdupq_n_s32(x)); });
    }
    static I bit_and(I a, I b) {
        return each_byte([&](int i) { return vandq_s8(a.v[i], b.v[i]); });
    }
    static I bit_or(I a, I b) {
        return each_byte([&](int i) { return vorrq_s8(a.v[i], b.v[i]); });
    }
    static I bit_xor(I a, I b) {
        return each_byte([&](int i) { return veorq_s8(a.v[i], b.v[i]); });
    }
    template <int n>
    static I shift_down(I a) {
        return each_byte([&](int i) {
            const uint8x16_t bytes = vreinterpretq_u8_s8(a.v[i]);
            if constexpr (n < 0) return vreinterpretq_s8_u8(vshlq_n_u8(bytes, -n));
            if constexpr (n > 0) return vreinterpretq_s8_u8(vshrq_n_u8(bytes, n));
            return a.v[i];
        });
    }
    static I shift_ints_down(I a, int n) {
        return each_byte([&](int i) {
            return vreinterpretq_s8_u32(vshlq_u32(vreinterpretq_u32_s8(a.v[i]), vdupq_n_s32(-n)));
        });
    }
    static I look_up(const int8_t (&table)[16], I index) {
        const int8x16_t t = vld1q_s8(table);
        return each_byte([&](int i) { return vqtbl1q_s8(t, vreinterpretq_u8_s8(index.v[i])); });
    }

    static X broadcast(const int8_t* four) {
        int32_t x;
        __builtin_memcpy(&x, four, 4);
        return vreinterpretq_s8_s32(vdupq_n_s32(x));
    }

    template <int kMaxCode>
    struct Dot {
        I sum;

        Dot() = default;
        explicit Dot(I initial) : sum(initial) {}
        void step(I codes, X x) {
            for (int i = 0; i < 4; ++i) {
                sum.v[i] = vreinterpretq_s8_s32(vdotq_s32(ints(sum.v[i]), codes.v[i], x));
            }
        }
        I total() const { return sum; }
    };

    static void quantize(F a, F b, float inverse, int8_t* codes, int& sum_first, int& sum_second) {
        sum_first = quantize_half(a, inverse, codes);
        sum_second = quantize_half(b, inverse, codes + 16);
    }

  private:
    template <typename Function>
    static F each(Function f) {
        return {{f(0), f(1), f(2), f(3)}};
    }
    template <typename Function>
    static I each_byte(Function f) {
        return {{f(0), f(1), f(2), f(3)}};
    }
    static int32x4_t ints(int8x16_t bytes) { return vreinterpretq_s32_s8(bytes); }
    // Elements 4i..4i+3 of 16-bit values that need no alignment.
    static uint16x4_t load_u16(const void* p, int i) {
        return vreinterpret_u16_u8(vld1_u8(static_cast<const uint8_t*>(p) + 8 * i));
    }
    static int quantize_half(F a, float inverse, int8_t* codes) {
        int16x4_t words[4];
        int32x4_t total = vdupq_n_s32(0);
        for (int i = 0; i < 4; ++i) {
            const int32x4_t rounded = vcvtnq_s32_f32(vmulq_n_f32(a.v[i], inverse));
            total = vaddq_s32(total, rounded);
            words[i] = vqmovn_s32(rounded);
        }
        const int8x8_t low = vqmovn_s16(vcombine_s16(words[0], words[1]));
        vst1q_s8(codes, vcombine_s8(low, vqmovn_s16(vcombine_s16(words[2], words[3]))));
        return vaddvq_s32(total);
    }
};

}  // namespace
}  // namespace ingot::cpu
