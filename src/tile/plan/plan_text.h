// A plan as text, to keep and to compile by later: the options that make the planner choose it again. JSON on
// one line; docs/tile-planner.md says what is in it.
#pragma once

#include "tile/plan/planner.h"

namespace ingot::tile {

// Threads, switches, copy batch, traversal and each product's realization. Not costs and limits of the
// search: what is fixed needs none.
std::string to_plan_text(const PlannerOptions& plan);
// Errors: kCorrupt, naming what is missing or no plan has.
Result<PlannerOptions> parse_plan_text(std::string_view text);

}  // namespace ingot::tile
