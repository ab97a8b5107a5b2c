#include "metal/simd_cases.h"

#include <algorithm>

#include "metal/msl/include/ingot_msl/builtins.h"

namespace ingot::metal::testing {

const std::vector<SimdListed>& simd_functions() {
    static const std::vector<SimdListed> functions{
#define X(enumerator, name, shape) {#name, SimdShape::shape},
        INGOT_SIMD_BUILTINS(X)
#undef X
    };
    return functions;
}

namespace {

// The lane that a shuffle reads, relative to the group; outside of it, nobody.
int source_lane(const std::string& name, int lane, int amount, int width) {
    if (name == "shuffle" || name == "broadcast") return amount;
    if (name == "shuffle_down" || name == "shuffle_and_fill_down") return lane + amount;
    if (name == "shuffle_up" || name == "shuffle_and_fill_up") return lane - amount;
    if (name == "shuffle_xor") return lane ^ amount;
    if (name == "shuffle_rotate_down") return (lane + amount) % width;
    if (name == "shuffle_rotate_up") return (lane + width - amount % width) % width;
    return -1;
}

double fold(const std::string& name, const std::vector<double>& values) {
    double result = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
        const double x = values[i];
        if (name == "sum") result += x;
        if (name == "product") result *= x;
        if (name == "min") result = std::min(result, x);
        if (name == "max") result = std::max(result, x);
        if (name == "and") result = double(int64_t(result) & int64_t(x));
        if (name == "or") result = double(int64_t(result) | int64_t(x));
        if (name == "xor") result = double(int64_t(result) ^ int64_t(x));
    }
    return result;
}

}  // namespace

bool reference_simd(const std::string& name, const std::vector<double>& values,
                    const std::vector<double>& fills, const std::vector<bool>& active, uint32_t width,
                    uint32_t lane, uint32_t amount, double& result) {
    const uint32_t first = lane / width * width;
    std::vector<double> members, before;
    uint32_t mask = 0, votes = 0, leader = width;
    for (uint32_t i = 0; i < width; ++i) {
        if (!active[first + i]) continue;
        leader = std::min(leader, i);
        mask |= 1u << i;
        if (values[first + i] != 0) votes |= 1u << i;
        members.push_back(values[first + i]);
        if (first + i < lane) before.push_back(values[first + i]);
    }
    if (name.starts_with("shuffle") || name == "broadcast") {
        const int from = source_lane(name, int(lane - first), int(amount), int(width));
        const bool fills_in = name.find("fill") != std::string::npos;
        const int source = fills_in ? (from + int(width)) % int(width) : from;
        if (source < 0 || source >= int(width) || !active[first + uint32_t(source)]) return false;
        result = (fills_in && source != from ? fills : values)[first + uint32_t(source)];
        return true;
    }
    if (name == "broadcast_first") {
        result = values[first + leader];
    } else if (name == "is_first") {
        result = lane - first == leader;
    } else if (name == "all") {
        result = votes == mask;
    } else if (name == "any") {
        result = votes != 0;
    } else if (name == "ballot") {
        result = votes;
    } else if (name == "active_threads_mask") {
        result = mask;
    } else if (name.starts_with("prefix_")) {
        if (name.find("inclusive") != std::string::npos) before.push_back(values[lane]);
        const std::string kind = name.substr(name.rfind('_') + 1);
        result = before.empty() ? (kind == "sum" ? 0 : 1) : fold(kind, before);
    } else {
        result = fold(name, members);
    }
    return true;
}

}  // namespace ingot::metal::testing
