#include "tile/plan/shortlist.h"

#include <algorithm>

#include "tile/passes/rewrite.h"
#include "tile/plan/legal.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kLanesOfSimdgroup = 32;
// So many of the best plans come in the forms that the model doesn't tell apart.
constexpr size_t kVaried = 2;

class Shortlisting {
  public:
    Shortlisting(const Kernel& k, const PlanOptions& reference, const PlannerOptions& base,
                 const Costs& costs)
        : kernel_(number_products(k)), reference_(reference), base_(base), costs_(costs) {}

    Result<Shortlist> run(size_t size) {
        INGOT_TRY(add_own_choice());
        for (uint32_t t = kLanesOfSimdgroup; t <= reference_.target->max_threads; t += kLanesOfSimdgroup)
            add_width(t);
        for (auto& [basis, plans] : legal_) std::ranges::stable_sort(plans, {}, &PlanCandidate::score);
        take(size);
        return std::move(out_);
    }

  private:
    void refuse(std::string where, std::string what, std::string why) {
        out_.refused.push_back({std::move(where), std::move(what), std::move(why)});
    }

    Result<void> add_own_choice() {
        INGOT_ASSIGN(const PlannedKernel own, plan_group(kernel_, reference_, base_));
        PlanCandidate c{base_, "the planner's choice", own.plan.cost_basis(), own.plan.score};
        for (const PlannedProduct& p : own.plan.products) c.what += "; " + describe(p.chosen);
        own_threads_ = own.plan.threads;
        for (const PlannedProduct& p : own.plan.products) own_.push_back(p.chosen);
        out_.tried.push_back(std::move(c));
        return {};
    }

    // All plans at this number of threads that differ from its cheapest one in one product at most.
    void add_width(uint32_t threads) {
        const auto legal = legal_plans(kernel_, threads, reference_, base_, costs_, out_.refused);
        if (!legal)
            return refuse(kernel_.where(kernel_.loc), fmt::format("{} threads", threads),
                          legal.error().describe());
        if (legal->planned.empty()) return;
        const LegalPlans& w = *legal;
        std::vector<uint64_t> cheapest;
        for (const auto& prices : w.prices) {
            if (prices.empty())
                return refuse(kernel_.where(kernel_.loc), fmt::format("{} threads", threads),
                              "no realization of a product is within the budget");
            cheapest.push_back(
                std::ranges::min_element(prices, {}, [](const auto& p) { return p.second.score; })->first);
        }
        add(w, threads, cheapest);
        for (size_t i = 0; i < cheapest.size(); ++i) {
            for (const auto& [key, r] : w.realizations[i]) {
                if (key == cheapest[i]) continue;
                std::vector<uint64_t> other = cheapest;
                other[i] = key;
                add(w, threads, other);
            }
        }
    }

    void add(const LegalPlans& w, uint32_t threads, const std::vector<uint64_t>& keys) {
        PlanCandidate c{base_, fmt::format("{} threads", threads), {}, 0};
        c.planner.exact_threads = threads;
        uint64_t released = 0;
        double sum = 0;
        bool own = threads == own_threads_ && keys.size() == own_.size();
        for (size_t i = 0; i < keys.size(); ++i) {
            const ProductFacts& p = w.facts.products[w.planned[i]];
            const Realization& r = w.realizations[i].at(keys[i]);
            c.planner.fixed.push_back({r.partition, r.accumulator});
            c.what += "; " + describe(r);
            sum += w.prices[i].at(keys[i]).score;
            released += r.accumulator == Accumulator::kDirect     ? p.released_direct
                        : r.accumulator == Accumulator::kResident ? p.released_resident
                                                                  : 0;
            const std::string_view basis = kCostBasisNames[size_t(basis_of(p, base_))];
            if (c.basis.find(basis) == std::string::npos)
                c.basis += fmt::format("{}{}", c.basis.empty() ? "" : "+", basis);
            own = own && r.partition == own_[i].partition && r.accumulator == own_[i].accumulator;
        }
        if (own) return;
        const uint64_t bytes = w.shared_bytes - std::min(w.shared_bytes, released);
        if (bytes > reference_.target->threadgroup_bytes)
            return refuse(kernel_.where(kernel_.loc), c.what,
                          fmt::format("{} bytes of shared memory; {} has {}", bytes, reference_.target->name,
                                      reference_.target->threadgroup_bytes));
        c.score = (sum + w.group.common) * w.group.scale;
        legal_[c.basis].push_back(std::move(c));
    }

    // The bases take turns: their scores say nothing of each other.
    void take(size_t size) {
        std::vector<PlanCandidate> best = {out_.tried.front()};
        size_t longest = 0;
        for (const auto& [basis, plans] : legal_) longest = std::max(longest, plans.size());
        for (size_t i = 0; i < longest; ++i) {
            for (auto& [basis, plans] : legal_) {
                if (i >= plans.size()) continue;
                const bool tried = out_.tried.size() <= size;
                if (best.size() < kVaried) best.push_back(plans[i]);
                (tried ? out_.tried : out_.left).push_back(std::move(plans[i]));
            }
        }
        for (const PlanCandidate& c : best) vary(c);
    }

    void vary(const PlanCandidate& c) {
        const auto with = [&](const std::string& what, auto change) {
            PlanCandidate other = c;
            other.what += ", " + what;
            change(other.planner);
            out_.tried.push_back(std::move(other));
        };
        constexpr uint32_t kBatch = 4;
        if (base_.max_copy_batch == 1)
            with("copies in batches of 4", [](PlannerOptions& o) { o.max_copy_batch = kBatch; });
        if (base_.pipeline_loops)
            with("loops step by step", [](PlannerOptions& o) { o.pipeline_loops = false; });
        if (kernel_.grid.size() >= 2 && !base_.traversal && kernel_.swizzle.order == SwizzleOrder::kNone)
            with("groups in panels of 4",
                 [](PlannerOptions& o) { o.traversal = Swizzle{SwizzleOrder::kMlx, kBatch}; });
    }

    const Kernel kernel_;
    const PlanOptions& reference_;
    const PlannerOptions& base_;
    const Costs& costs_;
    uint32_t own_threads_ = 0;
    std::vector<Realization> own_;
    std::map<std::string, std::vector<PlanCandidate>> legal_;
    Shortlist out_;
};

}  // namespace

Result<Shortlist> shortlist(const Kernel& k, const PlanOptions& reference, const PlannerOptions& base,
                            size_t size) {
    if (base.costs) return Shortlisting(k, reference, base, *base.costs).run(size);
    INGOT_ASSIGN(const Costs costs, costs_of(reference.target->name));
    return Shortlisting(k, reference, base, costs).run(size);
}

}  // namespace ingot::tile
