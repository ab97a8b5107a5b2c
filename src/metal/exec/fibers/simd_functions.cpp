#include "metal/exec/fibers/simd_functions.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/half.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/monitor.h"

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

template <typename T, typename A>
void reduce(Simdgroup* s, uint32_t mask, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        uint32_t members = mask & (block << first);
        if (members == 0) continue;
        A result = A(unpack<T>(s->in[std::countr_zero(members)]));
        for_each_lane(members & (members - 1), [&](uint32_t lane) {
            result = combine<A>(call.operation, result, A(unpack<T>(s->in[lane])));
        });
        for_each_lane(members, [&](uint32_t lane) { s->out[lane] = pack<T>(result); });
    }
}

template <typename T, typename A>
void scan(Simdgroup* s, uint32_t mask, const Call& call) {
    const bool product = call.operation == SimdOperation::kExclusiveProduct ||
                         call.operation == SimdOperation::kInclusiveProduct;
    const bool inclusive =
        call.operation == SimdOperation::kInclusiveSum || call.operation == SimdOperation::kInclusiveProduct;
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        A before = product ? A(1) : A(0);
        for_each_lane(mask & (block << first), [&](uint32_t lane) {
            const A with = combine<A>(call.operation, before, A(unpack<T>(s->in[lane])));
            s->out[lane] = pack<T>(inclusive ? with : before);
            before = with;
        });
    }
}

template <typename T, typename A>
void reduce_or_scan(Simdgroup* s, uint32_t mask, const Call& call) {
    if (call.operation >= SimdOperation::kExclusiveSum &&
        call.operation <= SimdOperation::kInclusiveProduct) {
        scan<T, A>(s, mask, call);
    } else {
        reduce<T, A>(s, mask, call);
    }
}

void reduce_bits(Simdgroup* s, uint32_t mask, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        const uint32_t members = mask & (block << first);
        uint64_t result = call.operation == SimdOperation::kAnd ? ~uint64_t{0} : 0;
        uint32_t voted = 0;
        for_each_lane(members, [&](uint32_t lane) {
            const uint64_t value = s->in[lane];
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
        for_each_lane(members, [&](uint32_t lane) { s->out[lane] = result; });
    }
}

void pick_first(Simdgroup* s, uint32_t mask, const Call& call) {
    const uint32_t block = call.width == kSimdWidth ? ~0u : (1u << call.width) - 1;
    for (uint32_t first = 0; first < kSimdWidth; first += call.width) {
        const uint32_t members = mask & (block << first);
        if (members == 0) continue;
        const uint32_t leader = uint32_t(std::countr_zero(members));
        for_each_lane(members, [&](uint32_t lane) {
            s->out[lane] = call.operation == SimdOperation::kIsFirst ? lane == leader : s->in[leader];
        });
    }
}

void run_collective(Simdgroup* s, uint32_t mask, const void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    switch (call.operation) {
        case SimdOperation::kBroadcastFirst:
        case SimdOperation::kIsFirst:
            return pick_first(s, mask, call);
        case SimdOperation::kAnd:
        case SimdOperation::kOr:
        case SimdOperation::kXor:
        case SimdOperation::kAll:
        case SimdOperation::kAny:
        case SimdOperation::kBallot:
        case SimdOperation::kActiveMask:
            return reduce_bits(s, mask, call);
        default:
            break;
    }
    switch (call.type) {
#define X(enumerator, suffix, type, accumulator) \
    case SimdType::enumerator:                   \
        return reduce_or_scan<type, accumulator>(s, mask, call);
        INGOT_METAL_SIMD_TYPES(X)
#undef X
    }
}

// Where a lane's result comes from: a lane, of the value or of what fills.
struct Source {
    uint32_t lane;
    bool fills = false;
    bool exists = true;  // false: the amount names none, and this is what it wraps around to
};

// Nothing: the lane keeps its own value.
std::optional<Source> source_of(const Simdgroup* s, const Call& call, uint32_t lane) {
    const uint32_t amount = s->amount[lane], modulo = s->modulo[lane];
    const uint32_t within = call.width - 1, base = lane & ~within, k = lane - base;
    const uint32_t block = modulo == 0 ? 0 : lane - lane % modulo, in_block = lane - block;
    const auto from = [&](uint32_t source, bool fills = false) {
        return Source{.lane = source, .fills = fills, .exists = true};
    };
    switch (call.operation) {
        case SimdOperation::kShuffle:
        case SimdOperation::kBroadcast:
            return Source{.lane = base + (amount & within), .exists = amount < call.width};
        case SimdOperation::kShuffleDown:
            return k + amount < call.width ? std::optional(from(lane + amount)) : std::nullopt;
        case SimdOperation::kShuffleUp:
            return k >= amount ? std::optional(from(lane - amount)) : std::nullopt;
        case SimdOperation::kShuffleXor:
            return Source{.lane = base + ((k ^ amount) & within), .exists = amount < call.width};
        case SimdOperation::kRotateDown:
            return from(base + ((k + amount) & within));
        case SimdOperation::kRotateUp:
            return from(base + ((k - amount) & within));
        case SimdOperation::kFillUp:
            return in_block >= amount ? from(lane - amount)
                                      : from((lane + modulo - amount) % kSimdWidth, true);
        case SimdOperation::kFillDown:
            return in_block + amount < modulo ? from((lane + amount) % kSimdWidth)
                                              : from((lane + amount - modulo) % kSimdWidth, true);
        default:
            return std::nullopt;
    }
}

// Undefined by Apple where a source lane takes no part; here the lane's own value.
void run_shuffle(Simdgroup* s, uint32_t mask, const void* argument) {
    const Call& call = *static_cast<const Call*>(argument);
    Monitor* monitor = s->group->monitor;
    for_each_lane(mask, [&](uint32_t lane) {
        const std::optional<Source> source = source_of(s, call, lane);
        const bool there = source && (mask >> source->lane & 1) != 0;
        s->out[lane] = !there ? s->in[lane] : source->fills ? s->in2[source->lane] : s->in[source->lane];
        if (monitor == nullptr || !source || (there && source->exists)) return;
        const Lane& reader = s->group->lanes[s->index * kSimdWidth + lane];
        monitor->stray_shuffle(reader, source->exists ? source->lane : s->amount[lane], source->exists);
    });
}

bool is_shuffle(SimdOperation operation) {
    return operation <= SimdOperation::kBroadcast;
}

}  // namespace
}  // namespace ingot::metal::fibers

extern "C" uint64_t ingot_simd(ingot::metal::fibers::Lane* me, uint32_t site, uint32_t operation,
                               uint32_t type, uint32_t width, uint64_t value, uint64_t fill, uint32_t amount,
                               uint32_t modulo) {
    using namespace ingot::metal::fibers;
    Simdgroup* s = me->simdgroup;
    const uint32_t lane = me->lane;
    const Call call{SimdOperation(operation), SimdType(type), width};
    s->in[lane] = value;
    if (is_shuffle(call.operation)) {
        s->in2[lane] = fill;
        s->amount[lane] = amount;
        s->modulo[lane] = modulo;
        meet(me, site, run_shuffle, &call);
    } else {
        meet(me, site, run_collective, &call);
    }
    return s->out[lane];
}
