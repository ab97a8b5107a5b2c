// How checkers are made: each is a listener (event.h) in a file of its own that adds to the findings.
#pragma once

#include <memory>

#include "metal/check/finding.h"

namespace ingot::metal::check {

#define X(enumerator, name, by_default, text) std::unique_ptr<Listener> make_##name(Findings& findings);
INGOT_METAL_CHECKERS(X)
#undef X

std::unique_ptr<Listener> make_checker(CheckerId id, Findings& findings);

}  // namespace ingot::metal::check
