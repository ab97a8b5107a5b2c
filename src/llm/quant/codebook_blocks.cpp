// IQ4_NL and MXFP4: blocks of 32 four-bit indices into a fixed table of 16 values.
// Layouts: IQ4_NL half d, qs[16]; MXFP4 (OCP microscaling) one power-of-two exponent byte e, qs[16]. Nibbles
// as in small_blocks.cpp.
#include <algorithm>
#include <cmath>

#include "llm/quant/blocks.h"
#include "llm/quant/conversions.h"

namespace ingot::quant {
namespace {

// The sixteen levels of IQ4_NL, denser near zero (GGUF specification of the type).
constexpr int8_t kNonlinearLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of E2M1, which makes them whole numbers; the scale below is halved to match.
constexpr int8_t kDoubledE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of 2^(e - 127). The two smallest exponents give subnormal floats.
float half_of_e8m0(uint8_t e) {
    return std::bit_cast<float>(e < 2 ? uint32_t(0x00200000) << e : uint32_t(e - 1) << 23);
}

void look_up(const int8_t (&table)[16], float scale, const std::byte* nibbles, float* values) {
    for (size_t j = 0; j < kSmallBlock / 2; ++j) {
        const uint8_t byte = load_byte(nibbles + j);
        values[j] = scale * float(table[low_nibble(byte)]);
        values[j + kSmallBlock / 2] = scale * float(table[high_nibble(byte)]);
    }
}

constexpr size_t kNonlinearBytes = 18;
constexpr size_t kMxfp4Bytes = 17;

}  // namespace

void dequantize_iq4_nl(const std::byte* blocks, float* values, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kNonlinearBytes) {
        look_up(kNonlinearLevels, load_half(blocks), blocks + 2, values);
    }
}

void dequantize_mxfp4(const std::byte* blocks, float* values, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kMxfp4Bytes) {
        look_up(kDoubledE2M1, half_of_e8m0(load_byte(blocks)), blocks + 1, values);
    }
}

}  // namespace ingot::quant
