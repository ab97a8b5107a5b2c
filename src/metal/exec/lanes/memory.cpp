#include "metal/exec/lanes/memory.h"

#include <cstring>

#include "metal/exec/fibers/lane.h"

namespace {

constexpr uint32_t kLanes = ingot::metal::kSimdWidth, kFour = 4;

typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));

// Rows and columns of a 4x4 matrix trade places.
inline void transpose(Four (&m)[kFour]) {
    const Four a = __builtin_shufflevector(m[0], m[1], 0, 4, 1, 5);
    const Four b = __builtin_shufflevector(m[2], m[3], 0, 4, 1, 5);
    const Four c = __builtin_shufflevector(m[0], m[1], 2, 6, 3, 7);
    const Four d = __builtin_shufflevector(m[2], m[3], 2, 6, 3, 7);
    m[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    m[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    m[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    m[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

const char* at(uint64_t pointer) {
    return reinterpret_cast<const char*>(pointer);
}

// Elements [first, count) of each lane. Addresses needn't be aligned.
template <typename Element>
void load(Element* table, const uint64_t* pointers, uint32_t mask, uint32_t first, uint32_t count) {
    ingot::metal::fibers::for_each_lane(mask, [&](uint32_t lane) {
        for (uint32_t i = first; i < count; ++i) {
            std::memcpy(&table[kLanes * i + lane], at(pointers[lane]) + i * sizeof(Element), sizeof(Element));
        }
    });
}

template <typename Element>
void store(const Element* table, const uint64_t* pointers, uint32_t mask, uint32_t first, uint32_t count) {
    ingot::metal::fibers::for_each_lane(mask, [&](uint32_t lane) {
        auto* to = reinterpret_cast<char*>(pointers[lane]);
        for (uint32_t i = first; i < count; ++i) {
            std::memcpy(to + i * sizeof(Element), &table[kLanes * i + lane], sizeof(Element));
        }
    });
}

// All lanes' words, four by four: what one side writes in 16 bytes the other can read in 16 bytes, which a
// processor's store buffer hands over at once.
void load_fours(uint32_t* table, const uint64_t* pointers, uint32_t count) {
    for (uint32_t i = 0; i + kFour <= count; i += kFour) {
        for (uint32_t lane = 0; lane < kLanes; lane += kFour) {
            Four m[kFour];
            for (uint32_t k = 0; k < kFour; ++k)
                m[k] = *reinterpret_cast<const Four*>(at(pointers[lane + k]) + i * sizeof(uint32_t));
            transpose(m);
            for (uint32_t k = 0; k < kFour; ++k)
                *reinterpret_cast<Four*>(table + kLanes * (i + k) + lane) = m[k];
        }
    }
}

void store_fours(const uint32_t* table, const uint64_t* pointers, uint32_t count) {
    for (uint32_t i = 0; i + kFour <= count; i += kFour) {
        for (uint32_t lane = 0; lane < kLanes; lane += kFour) {
            Four m[kFour];
            for (uint32_t k = 0; k < kFour; ++k)
                m[k] = *reinterpret_cast<const Four*>(table + kLanes * (i + k) + lane);
            transpose(m);
            for (uint32_t k = 0; k < kFour; ++k) {
                auto* to = reinterpret_cast<char*>(pointers[lane + k]) + i * sizeof(uint32_t);
                *reinterpret_cast<Four*>(to) = m[k];
            }
        }
    }
}

}  // namespace

#define INGOT_LANES_MEMORY(bits)                                                                        \
    extern "C" void ingot_lanes_load##bits(void* table, const uint64_t* pointers, uint32_t mask,        \
                                           uint32_t count) {                                            \
        load(static_cast<uint##bits##_t*>(table), pointers, mask, 0, count);                            \
    }                                                                                                   \
    extern "C" void ingot_lanes_store##bits(const void* table, const uint64_t* pointers, uint32_t mask, \
                                            uint32_t count) {                                           \
        store(static_cast<const uint##bits##_t*>(table), pointers, mask, 0, count);                     \
    }
INGOT_LANES_MEMORY(8)
INGOT_LANES_MEMORY(16)
INGOT_LANES_MEMORY(64)
#undef INGOT_LANES_MEMORY

extern "C" void ingot_lanes_load32(void* table, const uint64_t* pointers, uint32_t mask, uint32_t count) {
    auto* words = static_cast<uint32_t*>(table);
    const uint32_t done = mask == ~0u ? count / kFour * kFour : 0;
    load_fours(words, pointers, done);
    if (done < count) load(words, pointers, mask, done, count);
}

extern "C" void ingot_lanes_store32(const void* table, const uint64_t* pointers, uint32_t mask,
                                    uint32_t count) {
    const auto* words = static_cast<const uint32_t*>(table);
    const uint32_t done = mask == ~0u ? count / kFour * kFour : 0;
    store_fours(words, pointers, done);
    if (done < count) store(words, pointers, mask, done, count);
}
