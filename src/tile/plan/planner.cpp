#include "tile/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tile/ir/build.h"
#include "tile/ir/verify.h"
#include "tile/passes/pipeline.h"
#include "tile/passes/rewrite.h"
#include "tile/plan/legal.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kSimdLanes = 32;

size_t barrier_sites(const Kernel& k) {
    size_t n = 0;
    walk(k, k.body, [&](StmtId id) { n += k[id].op == StmtOp::kBarrier; });
    return n;
}

class Planning {
  public:
    Planning(const Kernel& k, const PlanOptions& reference, const PlannerOptions& options, const Costs& costs)
        : kernel_(number_products(k)), reference_(reference), options_(options), costs_(costs) {}

    Result<PlannedKernel> run() {
        constexpr uint32_t kMostBatched = 16;
        if (options_.max_copy_batch < 1 || options_.max_copy_batch > kMostBatched)
            return fail(ErrorKind::kInvalidArgument, "max_copy_batch is {}; 1 to {} are accepted",
                        options_.max_copy_batch, kMostBatched);
        out_.plan.enabled = true;
        out_.plan.max_copy_batch = options_.max_copy_batch;
        out_.kernel = kernel_;
        out_.options = switched(reference_, options_);
        INGOT_ASSIGN(threads_, thread_counts());
        out_.plan.threads = threads_.front();
        out_.kernel.threads = threads_.front();
        if (auto read = read_widths(); !read) {
            if (!options_.fixed.empty()) return Failure(read.error());
            return keep_reference(read.error().describe());
        }
        if (widths_.begin()->second.planned.empty()) return keep_reference("it has no product to plan");
        return choose();
    }

    // Of the first number of threads.
    Result<std::vector<std::vector<Realization>>> legal() {
        INGOT_ASSIGN(const std::vector<uint32_t> threads, thread_counts());
        INGOT_TRY(read_width(threads.front()));
        std::vector<std::vector<Realization>> out;
        for (const auto& by_key : widths_.begin()->second.realizations) {
            out.emplace_back();
            for (const auto& [key, r] : by_key) out.back().push_back(r);
        }
        return out;
    }

  private:
    // Numbers of threads that the passes can't serve are left out, unless there is one alone.
    Result<void> read_widths() {
        widths_.clear();
        for (const uint32_t t : threads_)
            if (auto read = read_width(t); !read && threads_.size() == 1) return read;
        if (widths_.empty()) return fail(ErrorKind::kUnsupported, "no number of threads serves this program");
        if (!options_.fixed.empty()) return keep_fixed();
        return {};
    }

    Result<void> read_width(uint32_t threads) {
        INGOT_ASSIGN(LegalPlans w,
                     legal_plans(kernel_, threads, reference_, options_, costs_, out_.plan.refused));
        widths_.emplace(threads, std::move(w));
        return {};
    }

    Result<void> keep_fixed() {
        for (auto& [threads, w] : widths_) {
            if (options_.fixed.size() != w.planned.size())
                return fail(ErrorKind::kInvalidArgument, "{}: a plan of {} products for {}", kernel_.name,
                            options_.fixed.size(), w.planned.size());
            for (size_t i = 0; i < w.planned.size(); ++i) {
                const ProductChoice& wanted = options_.fixed[i];
                std::erase_if(w.realizations[i], [&](const auto& x) {
                    return x.second.partition != wanted.partition ||
                           x.second.accumulator != wanted.accumulator;
                });
                if (w.realizations[i].empty())
                    return fail(ErrorKind::kUnsupported, "{}: product {} can't be done as {} on {} threads",
                                kernel_.name, i + 1, describe({wanted.partition, wanted.accumulator}),
                                threads);
            }
        }
        return {};
    }

    Result<std::vector<uint32_t>> thread_counts() const {
        if (options_.exact_threads) {
            if (*options_.exact_threads < 1 || *options_.exact_threads > reference_.target->max_threads)
                return fail(ErrorKind::kInvalidArgument, "{} threads; {} takes 1 to {}",
                            *options_.exact_threads, reference_.target->name, reference_.target->max_threads);
            return std::vector<uint32_t>{*options_.exact_threads};
        }
        if (!options_.search_threads) return std::vector<uint32_t>{kernel_.threads};
        std::vector<uint32_t> out;
        for (uint32_t t = kSimdLanes; t <= reference_.target->max_threads; t += kSimdLanes) out.push_back(t);
        if (out.size() > options_.max_thread_candidates)
            return fail(
                ErrorKind::kLimit,
                "{} numbers of threads to choose from; at most {} are searched (max_thread_candidates)",
                out.size(), options_.max_thread_candidates);
        return out;
    }

    Result<PlannedKernel> keep_reference(std::string why) {
        out_.plan.why_reference = std::move(why);
        out_.options.choices.clear();
        return std::move(out_);
    }

    // --- the choice

    uint64_t released(const ProductFacts& p, Accumulator a) const {
        return a == Accumulator::kDirect     ? p.released_direct
               : a == Accumulator::kResident ? p.released_resident
                                             : 0;
    }

    std::vector<SolverWidth> instance() const {
        std::vector<SolverWidth> out;
        for (const auto& [threads, w] : widths_) {
            SolverWidth s{threads, w.group.common, w.group.scale, w.shared_bytes, {}};
            for (size_t i = 0; i < w.planned.size(); ++i) {
                SolverOperation op{i, {}};
                for (const auto& [key, r] : w.realizations[i])
                    if (!w.dropped.contains({i, key}))
                        op.candidates.push_back({key, w.prices[i].at(key).score,
                                                 released(w.facts.products[w.planned[i]], r.accumulator)});
                s.operations.push_back(std::move(op));
            }
            out.push_back(std::move(s));
        }
        return out;
    }

    Result<PlannedKernel> choose() {
        // Each round drops a realization or a number of threads, so this ends.
        while (!widths_.empty()) {
            const auto solved =
                solve(instance(), {reference_.target->threadgroup_bytes, options_.max_thread_candidates});
            if (!solved && solved.error().kind == ErrorKind::kLimit && options_.pipeline_loops) {
                if (auto read = plan_without_versions(solved.error().message); !read)
                    return keep_reference(read.error().describe());
                continue;
            }
            if (!solved) return keep_reference(solved.error().message);
            const Solution& best = solved->best.front();
            if (confirm(best)) {
                out_.plan.counters = solved->counters;
                report(best, *solved);
                return std::move(out_);
            }
        }
        return keep_reference("the passes confirm no plan");
    }

    // Loops may go step by step: no more versions of their tiles than the program has.
    Result<void> plan_without_versions(const std::string& why) {
        out_.plan.refused.push_back({kernel_.where(kernel_.loc), "pipelined loops", why});
        options_.pipeline_loops = false;
        return read_widths();
    }

    std::vector<ProductChoice> choices(const LegalPlans& w, const Solution& s) const {
        uint32_t count = 0;
        for (const ProductFacts& p : w.facts.products) count = std::max(count, p.number);
        // Products that aren't planned keep their own partition: no choice matches a scalar one.
        std::vector<ProductChoice> out(count);
        for (size_t i = 0; i < w.planned.size(); ++i) {
            const Realization& r = w.realizations[i].at(s.chosen[i]);
            out[w.facts.products[w.planned[i]].number - 1] = {r.partition, r.accumulator};
        }
        return out;
    }

    // The passes on the plan, on a copy. What they don't do as planned is dropped from the search.
    bool confirm(const Solution& s) {
        LegalPlans& w = widths_.at(s.threads);
        PlanOptions options = switched(reference_, options_);
        options.choices = choices(w, s);
        Plan plan;
        PlannedKernel::Passed without_barriers;
        const auto look = [&](std::string_view pass, const Kernel& k) {
            if (pass == "lay-out") without_barriers = {k, plan};
        };
        auto done = run_passes(w.kernel, options, plan, look);
        if (!done) {
            drop(w, s, done.error().describe());
            return false;
        }
        for (size_t i = 0; i < w.planned.size(); ++i) {
            const uint32_t number = w.facts.products[w.planned[i]].number;
            const Realization& wanted = w.realizations[i].at(s.chosen[i]);
            std::string why;
            walk(*done, done->body, [&](StmtId id) {
                const Stmt& g = (*done)[id];
                if (g.op != StmtOp::kGemm || g.product != number) return;
                const bool in_matrices = plan.fragments.contains(g.regions[0].buffer);
                const bool registers = wanted.accumulator != Accumulator::kShared;
                if (plan.gemms.at(id).partition != wanted.partition)
                    why = "what it meets is divided another way";
                else if (!is_tensor_path(plan.gemms.at(id).path) && in_matrices != registers)
                    why = "what it meets keeps its accumulator in shared memory";
            });
            if (why.empty()) continue;
            const std::string& where =
                w.kernel.where(w.facts.products[w.planned[i]].number == 0 ? SourceLoc{} : location(w, i));
            out_.plan.refused.push_back({where, describe(wanted), why});
            w.dropped.insert({i, s.chosen[i]});
            return false;
        }
        out_.plan.barrier_sites = barrier_sites(*done);
        out_.plan.forwarded_bytes = uint64_t(plan.forwarded_bytes);
        out_.plan.automatic_cooperative = plan.formed_products;
        out_.plan.independent_subgroups = plan.independent_simdgroups;
        if (!plan.independent_simdgroups && options.elide_independent_barriers)
            out_.plan.refused.push_back({kernel_.where(kernel_.loc), "barriers between simdgroups left out",
                                         "the group isn't products of one part of a tensor alone"});
        PlanOptions fencing = options;
        fencing.coalesce_barriers = fencing.elide_independent_barriers = false;
        if (const auto fenced = insert_barriers(without_barriers.kernel, fencing, without_barriers.plan))
            out_.plan.barrier_sites_reference = barrier_sites(*fenced);
        out_.kernel = w.kernel;
        out_.options = options;
        out_.passed = {std::move(*done), std::move(plan)};
        return true;
    }

    SourceLoc location(const LegalPlans& w, size_t i) const {
        SourceLoc loc;
        walk(w.kernel, w.kernel.body, [&](StmtId id) {
            if (w.kernel[id].product == w.facts.products[w.planned[i]].number) loc = w.kernel[id].loc;
        });
        return loc;
    }

    // The one that takes most memory, as the solver counts it, has no smaller sibling to fall back on: the
    // number of threads goes.
    void drop(LegalPlans& w, const Solution& s, const std::string& why) {
        out_.plan.refused.push_back(
            {w.kernel.where(w.kernel.loc), fmt::format("{} threads", s.threads), why});
        for (size_t i = w.planned.size(); i-- > 0;) {
            if (w.realizations[i].size() - dropped_of(w, i) <= 1) continue;
            w.dropped.insert({i, s.chosen[i]});
            return;
        }
        widths_.erase(s.threads);
    }
    static size_t dropped_of(const LegalPlans& w, size_t i) {
        return size_t(std::ranges::count_if(w.dropped, [&](const auto& d) { return d.first == i; }));
    }

    // --- the report

    void report(const Solution& s, const Solved& solved) {
        const LegalPlans& w = widths_.at(s.threads);
        GroupPlan& plan = out_.plan;
        plan.applied = true;
        plan.threads = s.threads;
        plan.work = w.facts.group;
        plan.score = s.score;
        plan.shared_bytes = s.shared_bytes;
        plan.assumed = w.facts.assumed;
        for (size_t i = 0; i < w.planned.size(); ++i) {
            const ProductFacts& f = w.facts.products[w.planned[i]];
            plan.products.push_back({f.number, w.kernel.where(location(w, i)), f.path, basis_of(f, options_),
                                     f.work, w.realizations[i].at(s.chosen[i]), w.prices[i].at(s.chosen[i]),
                                     f.not_resident, f.not_direct});
        }
        add_alternatives(s, solved);
    }

    // Plans that differ in one product's realization, and the best ones of other numbers of threads.
    void add_alternatives(const Solution& chosen, const Solved& solved) {
        std::vector<Solution> others(solved.best.begin() + 1, solved.best.end());
        const LegalPlans& w = widths_.at(chosen.threads);
        for (size_t i = 0; i < w.planned.size(); ++i) {
            for (const auto& [key, r] : w.realizations[i]) {
                if (key == chosen.chosen[i] || w.dropped.contains({i, key})) continue;
                Solution other = chosen;
                other.chosen[i] = key;
                double sum = 0;
                uint64_t free = 0;
                for (size_t j = 0; j < w.planned.size(); ++j) {
                    sum += w.prices[j].at(other.chosen[j]).score;
                    free += released(w.facts.products[w.planned[j]],
                                     w.realizations[j].at(other.chosen[j]).accumulator);
                }
                other.score = (sum + w.group.common) * w.group.scale;
                other.shared_bytes = w.shared_bytes - std::min(w.shared_bytes, free);
                if (other.shared_bytes <= reference_.target->threadgroup_bytes)
                    others.push_back(std::move(other));
            }
        }
        std::ranges::stable_sort(others, {}, &Solution::score);
        constexpr size_t kShown = 2;
        for (size_t n = 0; n < std::min(kShown, others.size()); ++n) {
            const Solution& o = others[n];
            PlanAlternative a{o.threads, {}, o.score, o.shared_bytes};
            for (size_t i = 0; i < o.chosen.size(); ++i)
                a.products.push_back(widths_.at(o.threads).realizations[i].at(o.chosen[i]));
            out_.plan.alternatives.push_back(std::move(a));
        }
    }

    const Kernel kernel_;
    const PlanOptions& reference_;
    PlannerOptions options_;
    const Costs& costs_;
    std::vector<uint32_t> threads_;
    std::map<uint32_t, LegalPlans> widths_;
    PlannedKernel out_;
};

}  // namespace

namespace {

Result<Costs> costs_for(const PlanOptions& reference, const PlannerOptions& options) {
    if (options.costs) return *options.costs;
    return costs_of(reference.target->name);
}

}  // namespace

Result<std::vector<std::vector<Realization>>> legal_realizations(const Kernel& k,
                                                                 const PlanOptions& reference,
                                                                 const PlannerOptions& options) {
    INGOT_ASSIGN(const Costs costs, costs_for(reference, options));
    return Planning(k, reference, options, costs).legal();
}

Result<PlannedKernel> plan_group(const Kernel& k, const PlanOptions& reference,
                                 const PlannerOptions& options) {
    if (!options.enabled) return PlannedKernel{k, reference, {}};
    Kernel ordered = k;
    if (options.traversal) {
        if (k.grid.size() < 2)
            return fail(ErrorKind::kInvalidArgument,
                        "{}: a traversal of a grid of {} axes; two or more are accepted", k.name,
                        k.grid.size());
        ordered.swizzle = *options.traversal;
        INGOT_TRY(verify(ordered));
    }
    INGOT_ASSIGN(const Costs costs, costs_for(reference, options));
    return Planning(ordered, reference, options, costs).run();
}

}  // namespace ingot::tile
