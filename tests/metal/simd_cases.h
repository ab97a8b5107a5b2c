// What simdgroup and quadgroup functions give, computed from the values of all lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::metal::testing {

enum class SimdShape { SHUFFLE, FILL, FIRST, REDUCE, BITS, VOTE, BALLOT, IS_FIRST, MASK };

struct SimdListed {
    std::string name;
    SimdShape shape;
};
const std::vector<SimdListed>& simd_functions();

// `values` and `fills` hold the lanes of one simdgroup, `active` says which take part; lane `lane` of a group
// of `width` lanes asks. Floating-point functions are exact in double for small whole numbers, which is what
// tests give them; integers wrap as int64. False if Metal leaves the result undefined.
bool reference_simd(const std::string& name, const std::vector<double>& values,
                    const std::vector<double>& fills, const std::vector<bool>& active, uint32_t width,
                    uint32_t lane, uint32_t amount, double& result);

}  // namespace ingot::metal::testing
