// A plan in words.
#include "tile/plan/planner.h"

namespace ingot::tile {

std::string GroupPlan::cost_basis() const {
    std::string out;
    for (const PlannedProduct& p : products) {
        const std::string_view name = kCostBasisNames[size_t(p.basis)];
        if (out.find(name) == std::string::npos) out += fmt::format("{}{}", out.empty() ? "" : "+", name);
    }
    return out;
}

std::string describe(const Realization& r) {
    const Partition& p = r.partition;
    const std::string_view place = kAccumulatorNames[size_t(r.accumulator)];
    if (!p.rectangle)
        return fmt::format("{} atoms of {} x {} in turn over {} simdgroups, {}", p.rows * p.columns, p.atom_m,
                           p.atom_n, p.simdgroups, place);
    return fmt::format("{} x {} simdgroups with {} x {} atoms of {} x {}, {}", p.gm, p.gn, p.rm, p.rn,
                       p.atom_m, p.atom_n, place);
}

std::string explain(const GroupPlan& plan) {
    if (!plan.enabled) return "planner: off\n";
    std::string out;
    if (!plan.applied) out += fmt::format("planner: the reference way, as {}\n", plan.why_reference);
    if (plan.applied) {
        out += fmt::format("planner: {} threads, score {:.6g} by {}, {} bytes of shared memory\n",
                           plan.threads, plan.score, plan.cost_basis(), plan.shared_bytes);
        for (const PlannedProduct& p : plan.products) {
            const Features& f = p.priced.features;
            out += fmt::format("  {}: {}\n", p.where, describe(p.chosen));
            out += fmt::format(
                "    {:.0f} products of 8x8x8, {:.0f} matrices of A and B in, {:.0f} of C through "
                "shared memory, {:.0f} stored to the device; {:.0f} scalars a lane\n",
                f.matrix_issues, f.input_transfers, f.accumulator_transfers, f.direct_stores,
                f.scalars_per_lane);
        }
        for (const PlanAlternative& a : plan.alternatives) {
            out += fmt::format("  instead: {} threads", a.threads);
            for (const Realization& r : a.products) out += "; " + describe(r);
            out += fmt::format(": score {:.6g} ({:+.1f}%), {} bytes\n", a.score,
                               100 * (a.score - plan.score) / std::max(1e-9, plan.score), a.shared_bytes);
        }
        out += fmt::format("  barriers: {} places, {} if none were left out\n", plan.barrier_sites,
                           plan.barrier_sites_reference);
        if (plan.forwarded_bytes > 0)
            out += fmt::format("  {} bytes of staging are read where they come from\n", plan.forwarded_bytes);
        if (plan.automatic_cooperative > 0)
            out += fmt::format("  products that were element loops: {}\n", plan.automatic_cooperative);
        if (plan.independent_subgroups) out += "  no simdgroup has to wait for another\n";
        out += fmt::format(
            "  searched: {} numbers of threads, {} realizations, {} partial plans, {} of them "
            "dominated\n",
            plan.counters.widths, plan.counters.candidates, plan.counters.states, plan.counters.dominated);
        for (const std::string& a : plan.assumed) out += fmt::format("  assumed: {}\n", a);
    }
    if (plan.max_copy_batch > 1)
        out += fmt::format("  copies: {} read up to {} values before they store them\n", plan.batched_copies,
                           plan.max_copy_batch);
    for (const RefusedRealization& r : plan.refused)
        out += fmt::format("  refused at {}: {}: {}\n", r.where, r.realization, r.why);
    return out;
}

}  // namespace ingot::tile
