// Reading a packed group (groups/layout.h) in registers: the codes of 32 elements as eight vectors of bytes,
// and the scales that go with them.
#pragma once

#include "llm/backend/cpu/kernels/groups/layout.h"

namespace ingot::cpu {
namespace {

// What the kernels of a type on an instruction set have to know, on top of its layout.
template <typename V, QuantType kType>
struct Traits {
    static constexpr GroupLayout kLayout = group_layout(kType);
    static constexpr bool kHalves = kLayout.halves();
    static constexpr uint32_t kParts = kHalves ? 2 : 1;
    // 8-bit codes may be signed bytes in registers, which need no offset.
    static constexpr bool kSigned = V::kSignedBytes && kLayout.max_code > 127;
    static constexpr int kOffset = kSigned ? 0 : kLayout.offset;
};

// Codes of one slice (32 elements x 16 rows). pair(j) gives those of elements 4j..4j+3 and 16+4j..16+4j+3.
template <typename V, QuantType kType>
struct SliceCodes {
    using T = Traits<V, kType>;
    using I = typename V::I;
    const std::byte* bytes;
    I high[2];

    explicit SliceCodes(const std::byte* codes) : bytes(codes) {
        const std::byte* after = codes + T::kLayout.code_bytes();
        if constexpr (T::kLayout.high == HighBits::kOne) high[0] = V::load_bytes(after);
        if constexpr (T::kLayout.high == HighBits::kTwo) {
            high[0] = V::load_bytes(after);
            high[1] = V::load_bytes(after + 64);
        }
        if constexpr (T::kLayout.codes == Codes::kPairs) {
            pairs[0] = V::load_bytes(codes);
            pairs[1] = V::load_bytes(codes + 64);
        }
    }

    template <int j>
    void pair(I& first, I& second) const {
        if constexpr (T::kLayout.codes == Codes::kBytes) {
            first = V::load_bytes(bytes + 64 * j);
            second = V::load_bytes(bytes + 64 * (j + 4));
            if constexpr (T::kSigned) {
                first = V::bit_xor(first, V::set_bytes(-128));
                second = V::bit_xor(second, V::set_bytes(-128));
            }
        } else if constexpr (T::kLayout.codes == Codes::kNibbles) {
            const I both = V::load_bytes(bytes + 64 * j), low = V::set_bytes(15);
            first = V::bit_and(both, low);
            second = V::bit_and(V::template shift_down<4>(both), low);
        } else {
            first = two_bits<j>(pairs[0], 0);
            second = two_bits<j>(pairs[1], 0);
        }
        if constexpr (T::kLayout.high == HighBits::kTwo) {
            first = V::bit_or(first, two_bits<j>(high[0], 4));
            second = V::bit_or(second, two_bits<j>(high[1], 4));
        }
        if constexpr (T::kLayout.high == HighBits::kOne) {
            constexpr int kTo = T::kLayout.codes == Codes::kPairs ? 2 : 4;
            const I mask = V::set_bytes(1 << kTo);
            first = V::bit_or(first, V::bit_and(V::template shift_down<j - kTo>(high[0]), mask));
            second = V::bit_or(second, V::bit_and(V::template shift_down<j + 4 - kTo>(high[0]), mask));
        }
        if constexpr (kType == QuantType::kIQ4_NL || kType == QuantType::kMXFP4) {
            first = looked_up(first);
            second = looked_up(second);
        }
    }

  private:
    I pairs[2];

    // Bits 2j, 2j + 1 of each byte, moved to bits `to`, `to` + 1.
    template <int j>
    static I two_bits(I packed, int to) {
        if (to == 0) return V::bit_and(V::template shift_down<2 * j>(packed), V::set_bytes(3));
        return V::bit_and(V::template shift_down<2 * j - 4>(packed), V::set_bytes(3 << 4));
    }
    static I looked_up(I index) {
        static constexpr auto kValues = [] {
            struct {
                int8_t at[16];
            } values{};
            for (int i = 0; i < 16; ++i) {
                const int value = kType == QuantType::kIQ4_NL ? kIq4NlValues[i] : kMxfp4Values[i];
                values.at[i] = int8_t(value + T::kOffset);
            }
            return values;
        }();
        return V::look_up(kValues.at, index);
    }
};

// Scales of a unit: the header is read once, then slice(s, ...) gives those of 32 elements.
template <typename V, QuantType kType>
struct UnitScales {
    using T = Traits<V, kType>;
    using F = typename V::F;
    using I = typename V::I;
    static constexpr bool kPackedScales = kType == QuantType::kQ4_K || kType == QuantType::kQ5_K;

    F scale, min;          // of the unit
    I scales[2], mins[2];  // Q4_K, Q5_K: bytes of slices 0..3 and 4..7 in each row's word

    explicit UnitScales(const std::byte* header) {
        if constexpr (kType == QuantType::kMXFP4) {
            scale = V::load_exponents(header);
        } else {
            scale = V::load_halves(header);
        }
        if constexpr (T::kLayout.has_min) min = V::load_halves(header + 32);
        if constexpr (T::kLayout.block == 256 && T::kLayout.has_min) min = V::sub(V::zero(), min);
        if constexpr (kPackedScales) {
            // Words 0, 1, 2 of the 12 bytes: six-bit scales 0..3, minima 0..3, then the low four bits of
            // scales and minima 4..7, whose upper two bits are on top of the first eight.
            const I a = V::load_bytes(header + 64), b = V::load_bytes(header + 128),
                    c = V::load_bytes(header + 192);
            const I six = V::set_bytes(0x3F), four = V::set_bytes(0x0F), two = V::set_bytes(0x30);
            scales[0] = V::bit_and(a, six);
            mins[0] = V::bit_and(b, six);
            scales[1] = V::bit_or(V::bit_and(c, four), V::bit_and(V::template shift_down<2>(a), two));
            mins[1] = V::bit_or(V::bit_and(V::template shift_down<4>(c), four),
                                V::bit_and(V::template shift_down<2>(b), two));
        }
    }

    // d[parts] and, for types with minima, m[parts] of slice s, whose sub-scales (if any) are at `sub`.
    void slice(uint32_t s, const std::byte* sub, F* d, F* m) const {
        if constexpr (kPackedScales) {
            const I byte = V::set_ints(255);
            const int shift = int(8 * (s % 4));
            d[0] = V::mul(scale, V::from_int(V::bit_and(V::shift_ints_down(scales[s / 4], shift), byte)));
            m[0] = V::mul(min, V::from_int(V::bit_and(V::shift_ints_down(mins[s / 4], shift), byte)));
        } else if constexpr (T::kLayout.sub == SubScales::kSigned) {
            d[0] = V::mul(scale, V::load_s8(sub));
            d[1] = V::mul(scale, V::load_s8(sub + 16));
        } else if constexpr (T::kLayout.sub == SubScales::kScaleAndMin) {
            for (uint32_t h = 0; h < 2; ++h) {
                const I both = V::load_u8(sub + 16 * h);
                d[h] = V::mul(scale, V::from_int(V::bit_and(both, V::set_ints(15))));
                m[h] = V::mul(min, V::from_int(V::shift_ints_down(both, 4)));
            }
        } else {
            d[0] = scale;
            if constexpr (T::kLayout.has_min) m[0] = min;
        }
    }
};

}  // namespace
}  // namespace ingot::cpu
