#include <nlohmann/json.hpp>

#include "tile/plan/report.h"

namespace ingot::tile {
namespace {

using PlanJson = nlohmann::ordered_json;

PlanJson realization_json(const Realization& r) {
    const Partition& p = r.partition;
    PlanJson out{{"map", p.rectangle ? "rectangle" : "in_turn"},
                 {"accumulator", kAccumulatorNames[size_t(r.accumulator)]},
                 {"atom", {p.atom_m, p.atom_n}},
                 {"atoms", {p.rows, p.columns}},
                 {"simdgroups", p.simdgroups}};
    if (p.rectangle) out["grid"] = {p.gm, p.gn}, out["local"] = {p.rm, p.rn};
    return out;
}

PlanJson product_json(const PlannedProduct& p) {
    PlanJson features, parts;
#define X(name, meaning) features[#name] = p.priced.features.name;
    INGOT_TILE_FEATURES(X)
#undef X
    for (const PricedPart& x : p.priced.parts) parts[std::string(x.feature)] = x.cost;
    PlanJson out{{"where", p.where},
                 {"path", kPathNames[size_t(p.path)]},
                 {"cost_basis", kCostBasisNames[size_t(p.basis)]},
                 {"tile", {p.work.m, p.work.n, p.work.k}},
                 {"executions", p.work.executions},
                 {"mean_k", p.work.physical_k.total == 0 ? double(p.work.k) : p.work.physical_k.value()},
                 {"chosen", realization_json(p.chosen)},
                 {"features", features},
                 {"costs", parts},
                 {"score", p.priced.score},
                 {"resident", p.not_resident.empty()},
                 {"direct", p.not_direct.empty()}};
    return out;
}

}  // namespace

std::string to_json(const GroupPlan& plan, const ReportTitle& title) {
    PlanJson out{{"schema", 1},
                 {"kernel", title.kernel},
                 {"target", title.target},
                 {"planner", plan.enabled},
                 {"applied", plan.applied},
                 {"threads", plan.threads}};
    if (!plan.applied) out["reference_because"] = plan.why_reference;
    out["products"] = PlanJson::array();
    out["alternatives"] = PlanJson::array();
    out["refused"] = PlanJson::array();
    out["copy_batch"] = {{"requested", plan.max_copy_batch}, {"copies", plan.batched_copies}};
    out["assumed"] = plan.assumed;
    if (plan.applied) {
        out["cost_basis"] = plan.cost_basis();
        out["score"] = plan.score;
        out["shared_bytes"] = plan.shared_bytes;
        out["programs"] = plan.work.programs;
        out["independent_elements"] = plan.work.independent_elements;
        out["group_barrier_sites"] = {{"before", plan.barrier_sites_reference},
                                      {"after", plan.barrier_sites}};
        out["forwarded_bytes"] = plan.forwarded_bytes;
        out["automatic_cooperative"] = plan.automatic_cooperative;
        out["independent_subgroups"] = plan.independent_subgroups;
        out["search"] = {{"thread_counts", plan.counters.widths},
                         {"realizations", plan.counters.candidates},
                         {"partial_plans", plan.counters.states},
                         {"dominated", plan.counters.dominated},
                         {"over_capacity", plan.counters.over_capacity}};
    }
    for (const PlannedProduct& p : plan.products) out["products"].push_back(product_json(p));
    for (const PlanAlternative& a : plan.alternatives) {
        PlanJson one{{"threads", a.threads}, {"score", a.score}, {"shared_bytes", a.shared_bytes}};
        for (const Realization& r : a.products) one["products"].push_back(realization_json(r));
        out["alternatives"].push_back(std::move(one));
    }
    for (const RefusedRealization& r : plan.refused)
        out["refused"].push_back({{"where", r.where}, {"realization", r.realization}, {"why", r.why}});
    return out.dump(2);
}

}  // namespace ingot::tile
