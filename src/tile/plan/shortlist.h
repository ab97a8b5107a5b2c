// Plans that are worth trying on a device: what is legal at every number of threads, cheapest first by the
// work model, with a few choices that the model doesn't price. What isn't tried is listed, too, with the
// reason.
#pragma once

#include "tile/plan/planner.h"

namespace ingot::tile {

struct PlanCandidate {
    PlannerOptions planner;  // makes compile() choose exactly this
    std::string what;        // for people
    std::string basis;       // of the score; scores of different bases aren't compared
    double score = 0;
};

struct Shortlist {
    std::vector<PlanCandidate> tried;  // the planner's own choice first
    std::vector<PlanCandidate> left;   // legal, and behind those by their score
    std::vector<RefusedRealization> refused;
};

// `k` as compile() gives it to the planner; `size` plans beside the planner's own choice. Errors: as
// plan_group().
Result<Shortlist> shortlist(const Kernel& k, const PlanOptions& reference, const PlannerOptions& base,
                            size_t size);

}  // namespace ingot::tile
