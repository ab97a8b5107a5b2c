#include "metal/exec/lanes/memory.h"

#include <cstring>

#include "metal/exec/fibers/lane.h"
#include "metal/exec/lanes/vectors.h"

namespace {

using ingot::metal::lanes::kLanes;

constexpr uint32_t kFour = 4;

typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));

// A 4x4 matrix; names instead of an array, which would go through memory.
struct Rows {
    Four a, b, c, d;
};

inline Rows transposed(const Rows& m) {
    const Four ab = __builtin_shufflevector(m.a, m.b, 0, 4, 1, 5);
    const Four cd = __builtin_shufflevector(m.c, m.d, 0, 4, 1, 5);
    const Four ab_high = __builtin_shufflevector(m.a, m.b, 2, 6, 3, 7);
    const Four cd_high = __builtin_shufflevector(m.c, m.d, 2, 6, 3, 7);
    return {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
            __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
            __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
}

inline const Four& four(const void* memory) {
    return *static_cast<const Four*>(memory);
}

inline Four& four(void* memory) {
    return *static_cast<Four*>(memory);
}

inline char* at(uint64_t pointer) {
    return reinterpret_cast<char*>(pointer);
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
        char* to = at(pointers[lane]);
        for (uint32_t i = first; i < count; ++i) {
            std::memcpy(to + i * sizeof(Element), &table[kLanes * i + lane], sizeof(Element));
        }
    });
}

// All lanes' words, four by four: what one side writes in 16 bytes the other can read in 16 bytes, which a
// processor's store buffer hands over at once.
void load_fours(uint32_t* table, const uint64_t* pointers, uint32_t count) {
    for (uint32_t lane = 0; lane < kLanes; lane += kFour) {
        const char *p = at(pointers[lane]), *q = at(pointers[lane + 1]), *r = at(pointers[lane + 2]),
                   *s = at(pointers[lane + 3]);
        for (size_t i = 0; i + kFour <= count; i += kFour) {
            const size_t own = i * sizeof(uint32_t);
            const Rows m = transposed({four(p + own), four(q + own), four(r + own), four(s + own)});
            uint32_t* out = table + kLanes * i + lane;
            four(out) = m.a;
            four(out + kLanes) = m.b;
            four(out + 2 * kLanes) = m.c;
            four(out + 3 * kLanes) = m.d;
        }
    }
}

void store_fours(const uint32_t* table, const uint64_t* pointers, uint32_t count) {
    for (uint32_t lane = 0; lane < kLanes; lane += kFour) {
        char *p = at(pointers[lane]), *q = at(pointers[lane + 1]), *r = at(pointers[lane + 2]),
             *s = at(pointers[lane + 3]);
        for (size_t i = 0; i + kFour <= count; i += kFour) {
            const size_t own = i * sizeof(uint32_t);
            const uint32_t* in = table + kLanes * i + lane;
            const Rows m =
                transposed({four(in), four(in + kLanes), four(in + 2 * kLanes), four(in + 3 * kLanes)});
            four(p + own) = m.a;
            four(q + own) = m.b;
            four(r + own) = m.c;
            four(s + own) = m.d;
        }
    }
}

template <typename Element>
void load_all(Element* table, const uint64_t* pointers, uint32_t mask, uint32_t count) {
    uint32_t done = 0;
    if constexpr (sizeof(Element) == sizeof(uint32_t)) {
        if (mask == ~0u) done = count / kFour * kFour;
        load_fours(table, pointers, done);
    }
    if (done < count) load(table, pointers, mask, done, count);
}

template <typename Element>
void store_all(const Element* table, const uint64_t* pointers, uint32_t mask, uint32_t count) {
    uint32_t done = 0;
    if constexpr (sizeof(Element) == sizeof(uint32_t)) {
        if (mask == ~0u) done = count / kFour * kFour;
        store_fours(table, pointers, done);
    }
    if (done < count) store(table, pointers, mask, done, count);
}

struct Addresses {
    Addresses(const void* base, uint64_t stride) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            pointers[lane] = reinterpret_cast<uint64_t>(base) + lane * stride;
        }
    }
    uint64_t pointers[kLanes];
};

}  // namespace

#define X(bits)                                                                                              \
    extern "C" void ingot_lanes_load##bits(void* table, const uint64_t* pointers, uint32_t mask,             \
                                           uint32_t count) {                                                 \
        load_all(static_cast<uint##bits##_t*>(table), pointers, mask, count);                                \
    }                                                                                                        \
    extern "C" void ingot_lanes_store##bits(const void* table, const uint64_t* pointers, uint32_t mask,      \
                                            uint32_t count) {                                                \
        store_all(static_cast<const uint##bits##_t*>(table), pointers, mask, count);                         \
    }                                                                                                        \
    extern "C" void ingot_lanes_strided_load##bits(void* table, const void* base, uint64_t stride,           \
                                                   uint32_t mask, uint32_t count) {                          \
        load_all(static_cast<uint##bits##_t*>(table), Addresses(base, stride).pointers, mask, count);        \
    }                                                                                                        \
    extern "C" void ingot_lanes_strided_store##bits(const void* table, void* base, uint64_t stride,          \
                                                    uint32_t mask, uint32_t count) {                         \
        store_all(static_cast<const uint##bits##_t*>(table), Addresses(base, stride).pointers, mask, count); \
    }
INGOT_LANES_MEMORY(X)
#undef X
