// A plan for machines and for the eye; explain() (planner.h) is for reading.
#pragma once

#include "tile/plan/planner.h"

namespace ingot::tile {

// What a report names besides the plan.
struct ReportTitle {
    std::string kernel, target;
};

// docs/tile-plan.schema.json says what is in it.
std::string to_json(const GroupPlan& plan, const ReportTitle& title);

// An SVG picture: for each product the tile with each simdgroup's atoms in its colour, numbered as its
// fragments, and a bar for each feature that costs something, of the chosen plan and of each alternative.
std::string to_svg(const GroupPlan& plan, const ReportTitle& title);

}  // namespace ingot::tile
