// Element loops that touch a tile only at their own place: `parallel i < M, j < N` with T[i, j] alone, over
// all of T. Who owns an element of a tile can run such a loop's iteration.
#pragma once

#include <string>

#include "tile/ir/ir.h"

namespace ingot::tile {

// Does the loop touch the buffer at all?
bool touches(const Kernel& k, const Stmt& loop, BufferId b);
// Why the loop isn't such a one for tile `b`; empty if it is, or doesn't touch it.
std::string why_not_elementwise(const Kernel& k, const Stmt& loop, BufferId b);

}  // namespace ingot::tile
