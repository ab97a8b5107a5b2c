#include "metal/exec/fibers/simd_functions.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "metal/exec/fibers/scheduler.h"

namespace ingot::metal::fibers {
namespace {

struct Half {
    uint16_t bits;
    operator float() const { return half_to_float(bits); }
};
struct Bfloat {
    uint16_t bits;
    operator float() const { return bfloat16_to_float(bits); }
};

template <typename T>
T unpack(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T, typename Accumulator>
uint64_t pack(Accumulator value) {
    T stored;
    if constexpr (std::is_same_v<T, Half>) {
        stored = {float_to_half(value)};
    } else if constexpr (std::is_same_v<T, Bfloat>) {
        stored = {float_to_bfloat16(value)};
    } else {
        stored = T(value);
    }
    uint64_t bits = 0;
    std::memcpy(&bits, &stored, sizeof stored);
    return bits;
}

struct Call {
    SimdOperation operation;
    SimdType type;
    uint32_t width;
};

// Integers wrap: add and multiply as unsigned.
template <typename A>
A combine(SimdOperation operation, A a, A b) {
    using Wrapping =
        std::conditional_t<std::is_integral_v<A>, std::make_unsigned<A>, std::type_identity<A>>::type;
    switch (operation) {
        case SimdOperation::kSum:
        case SimdOperation::kExclusiveSum:
        case SimdOperation::kInclusiveSum:
            return A(Wrapping(a) + Wrapping(b));
        case SimdOperation::kProduct:
        case SimdOperation::kExclusiveProduct:
        case SimdOperation::kInclusiveProduct:
            return A(Wrapping(a) * Wrapping(b));
        // A NaN loses against a number, as fmin and fmax have it.
        case SimdOperation::kMin:
            return b < a || a != a ? b : a;
        case SimdOperation::kMax:
            return a < b || a != a ? b : a;
        default:
            return a;
    }
}

template <typename Visit>
void for_each_lane(uint32_t mask, Visit visit) {
    for (; mask != 0; mask &= mask - 1) visit(uint32_t(std::countr_zero(mask)));
}

template <typename T, typename A>
void reduce(Simdgroup* s, uint32_t mask, uint32_t parity, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        uint32_t members = mask & (block << first);
        if (members == 0) continue;
        A result = A(unpack<T>(s->in[parity][std::countr_zero(members)]));
        for_each_lane(members & (members - 1), [&](uint32_t lane) {
            result = combine<A>(call.operation, result, A(unpack<T>(s->in[parity][lane])));
        });
        for_each_lane(members, [&](uint32_t lane) { s->out[parity][lane] = pack<T>(result); });
    }
}

template <typename T, typename A>
void scan(Simdgroup* s, uint32_t mask, uint32_t parity, const Call& call) {
    const bool product = call.operation == SimdOperation::kExclusiveProduct ||
                         call.operation == SimdOperation::kInclusiveProduct;
    const bool inclusive =
        call.operation == SimdOperation::kInclusiveSum || call.operation == SimdOperation::kInclusiveProduct;
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        A before = product ? A(1) : A(0);
        for_each_lane(mask & (block << first), [&](uint32_t lane) {
            const A with = combine<A>(call.operation, before, A(unpack<T>(s->in[parity][lane])));
            s->out[parity][lane] = pack<T>(inclusive ? with : before);
            before = with;
        });
    }
}

template <typename T, typename A>
void reduce_or_scan(Simdgroup* s, uint32_t mask, uint32_t parity, const Call& call) {
    if (call.operation >= SimdOperation::kExclusiveSum &&
        call.operation <= SimdOperation::kInclusiveProduct) {
        scan<T, A>(s, mask, parity, call);
    } else {
        reduce<T, A>(s, mask, parity, call);
    }
}

void reduce_bits(Simdgroup* s, uint32_t mask, uint32_t parity, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        const uint32_t members = mask & (block << first);
        uint64_t result = call.operation == SimdOperation::kAnd ? ~uint64_t{0} : 0;
        uint32_t voted = 0;
        for_each_lane(members, [&](uint32_t lane) {
            const uint64_t value = s->in[parity][lane];
            if (value & 1) voted |= 1u << (lane - first);
            if (call.operation == SimdOperation::kAnd) result &= value;
            if (call.operation == SimdOperation::kOr) result |= value;
            if (call.operation == SimdOperation::kXor) result ^= value;
        });
        const uint32_t active = members >> first;
        if (call.operation == SimdOperation::kAll) result = voted == active;
        if (call.operation == SimdOperation::kAny) result = voted != 0;
        if (call.operation == SimdOperation::kBallot) result = voted;
        if (call.operation == SimdOperation::kActiveMask) result = active;
        for_each_lane(members, [&](uint32_t lane) { s->out[parity][lane] = result; });
    }
}

void pick_first(Simdgroup* s, uint32_t mask, uint32_t parity, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        const uint32_t members = mask & (block << first);
        if (members == 0) continue;
        const uint32_t leader = uint32_t(std::countr_zero(members));
        for_each_lane(members, [&](uint32_t lane) {
            s->out[parity][lane] =
                call.operation == SimdOperation::kIsFirst ? lane == leader : s->in[parity][leader];
        });
    }
}

void run_collective(Simdgroup* s, uint32_t mask, uint32_t parity, const void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    switch (call.operation) {
        case SimdOperation::kBroadcastFirst:
        case SimdOperation::kIsFirst:
            return pick_first(s, mask, parity, call);
        case SimdOperation::kAnd:
        case SimdOperation::kOr:
        case SimdOperation::kXor:
        case SimdOperation::kAll:
        case SimdOperation::kAny:
        case SimdOperation::kBallot:
        case SimdOperation::kActiveMask:
            return reduce_bits(s, mask, parity, call);
        default:
            break;
    }
    switch (call.type) {
#define X(enumerator, suffix, type, accumulator) \
    case SimdType::enumerator:                   \
        return reduce_or_scan<type, accumulator>(s, mask, parity, call);
        INGOT_METAL_SIMD_TYPES(X)
#undef X
    }
}

bool is_shuffle(SimdOperation operation) {
    return operation <= SimdOperation::kBroadcast;
}

}  // namespace
}  // namespace ingot::metal::fibers

extern "C" uint64_t ingot_simd(ingot::metal::fibers::Lane* me, uint32_t operation, uint32_t type,
                               uint32_t width, uint64_t value, uint64_t fill, uint32_t amount,
                               uint32_t modulo) {
    using namespace ingot::metal::fibers;
    Simdgroup* s = me->simdgroup;
    const uint32_t lane = me->lane;
    const uint32_t parity = s->epoch & 1;
    const auto op = SimdOperation(operation);
    s->in[parity][lane] = value;
    if (!is_shuffle(op)) {
        const Call call{op, SimdType(type), width};
        meet(me, run_collective, &call);
        return s->out[parity][lane];
    }
    s->in2[parity][lane] = fill;
    meet(me, nullptr, nullptr);
    const uint64_t* in = s->in[parity];
    const uint32_t base = lane & ~(width - 1), k = lane - base;
    const uint32_t block = modulo == 0 ? 0 : lane - lane % modulo, in_block = lane - block;
    switch (op) {
        case SimdOperation::kShuffle:
        case SimdOperation::kBroadcast:
            return in[base + (amount & (width - 1))];
        case SimdOperation::kShuffleDown:
            return k + amount < width ? in[lane + amount] : value;
        case SimdOperation::kShuffleUp:
            return k >= amount ? in[lane - amount] : value;
        case SimdOperation::kShuffleXor:
            return in[base + ((k ^ amount) & (width - 1))];
        case SimdOperation::kRotateDown:
            return in[base + ((k + amount) & (width - 1))];
        case SimdOperation::kRotateUp:
            return in[base + ((k - amount) & (width - 1))];
        case SimdOperation::kFillUp:
            return in_block >= amount ? in[lane - amount]
                                      : s->in2[parity][(block + in_block + modulo - amount) % 32];
        case SimdOperation::kFillDown:
            return in_block + amount < modulo ? in[lane + amount]
                                              : s->in2[parity][(block + in_block + amount - modulo) % 32];
        default:
            return value;
    }
}
