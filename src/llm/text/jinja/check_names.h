// Finds, before anything is rendered, filters and tests that don't exist and loop controls outside of a loop.
// As in Jinja, a name that only an `if` could reach is left to be found when it is reached.
#pragma once

#include "base/result.h"
#include "llm/text/jinja/ast.h"

namespace ingot::jinja {

Result<void> check_names(const Body& body);

}  // namespace ingot::jinja
