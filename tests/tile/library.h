// Kernels of examples/tile, and small arguments for each: what several tests run. The references are plain
// loops in double that share nothing with the compiler.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tile/ir/interpret.h"
#include "tile/ir/parse.h"
#include "tile/ir/verify.h"
#include "tile/library/library.h"

namespace ingot::tile::testing {

inline Kernel read_kernel(const std::string& name) {
    const auto found = library_kernel(name);
    EXPECT_TRUE(found) << (found ? "" : found.error().describe());
    auto k = parse((*found)->text, name + ".tile");
    EXPECT_TRUE(k) << (k ? "" : k.error().describe());
    const auto legal = verify(*k);
    EXPECT_TRUE(legal) << (legal ? "" : legal.error().describe());
    return *k;
}

// Numbers that `type` holds exactly, so that both sides start from the same.
inline std::vector<double> numbers(size_t count, DType type, uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> out(count);
    for (double& v : out)
        v = is_float(type) ? from_bits(type, to_bits(type, uniform(generator))) : double(generator() % 97);
    return out;
}

using Sizes = std::map<std::string, int64_t>;
using Results = std::map<std::string, std::vector<double>>;

struct LibraryCase {
    std::string name;
    std::vector<Sizes> sizes;
    std::map<std::string, double> scalars;
    double tolerance;
    // Fills tensors whose values aren't free (quantized blocks, indices).
    std::function<void(Arguments&)> prepare;
    std::function<Results(const Arguments&)> reference;
};

std::vector<LibraryCase> library_cases();

// Arguments of a case for one of its sizes.
Arguments arguments_for(const Kernel& k, const LibraryCase& c, const Sizes& sizes);

// Largest absolute difference; NaN in one alone counts as infinite.
double worst_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ingot::tile::testing
