// The check that every backend makes of index inputs (rows, cells) before it runs a program: what is out of
// range is an error that names the node, the value and what would be accepted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace ingot {

// Every value lies in [0, limit). `label` is the node's, `what` says what the values count.
Result<void> check_indices(std::span<const int32_t> values, uint32_t limit, std::string_view label,
                           std::string_view what);

}  // namespace ingot
