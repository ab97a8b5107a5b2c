// Random legal tile programs: loops, copies over edges, products, reductions and element loops over a pool of
// tiles. Every tile is filled before use and no two iterations of an element loop meet, so that the
// interpreter accepts all.
#pragma once

#include <functional>

#include "tile/ir/interpret.h"
#include "tile/lang/lang.h"

namespace ingot::tile::testing {

// `choose(n)` gives a number in [0, n).
using Choose = std::function<int(int)>;

struct RandomProgram {
    Kernel kernel;
    Arguments arguments;
};

RandomProgram random_program(const Choose& choose);

}  // namespace ingot::tile::testing
