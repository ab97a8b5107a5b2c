#include "tile/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tile/ir/build.h"
#include "tile/ir/verify.h"
#include "tile/passes/pipeline.h"
#include "tile/passes/rewrite.h"
#include "tile/plan/workload.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kLanes = 32, kMatrixAtom = 8, kTensorAtomM = 16, kTensorAtomN = 32;

// One number of threads: its facts and every legal realization of each product, by key.
struct Width {
    Kernel kernel;  // before the passes
    Workload facts;
    std::vector<std::map<uint64_t, Realization>> realizations;  // of each planned product
    std::vector<std::map<uint64_t, Priced>> prices;
    std::vector<size_t> planned;  // indices into facts.products
    GroupPrice group;
    uint64_t shared_bytes = 0;
    std::set<std::pair<size_t, uint64_t>> dropped;  // realizations that the passes didn't confirm
};

bool is_tensor_path(Path p) {
    return p == Path::kDirectCooperative || p == Path::kSharedCooperative;
}

// Products get numbers, which passes keep.
Kernel numbered(const Kernel& k) {
    Kernel out = k;
    uint32_t next = 0;
    out.body = rebuild(out, Block(out.body), [&](Kernel& now, StmtId id, Block& b) {
        if (now[id].op != StmtOp::kGemm) {
            b.push_back(id);
            return;
        }
        Stmt s = now[id];
        s.product = ++next;
        b.push_back(now.append(std::move(s)));
    });
    return out;
}

size_t barrier_sites(const Kernel& k) {
    size_t n = 0;
    walk(k, k.body, [&](StmtId id) { n += k[id].op == StmtOp::kBarrier; });
    return n;
}

// Orders equal scores: registers before shared memory, rectangles before turns, near squares first, as
// divide() has it.
uint64_t realization_key(const Realization& r) {
    const Partition& p = r.partition;
    const uint64_t place = r.accumulator == Accumulator::kDirect     ? 0
                           : r.accumulator == Accumulator::kResident ? 1
                                                                     : 2;
    const uint64_t lopsided = p.gm > p.gn ? p.gm - p.gn : p.gn - p.gm;
    return place << 48 | uint64_t{!p.rectangle} << 40 | lopsided << 24 | uint64_t{p.gm > p.gn} << 16 | p.gm;
}

class Planning {
  public:
    Planning(const Kernel& k, const PlanOptions& reference, const PlannerOptions& options, const Costs& costs)
        : kernel_(numbered(k)), reference_(reference), options_(options), costs_(costs) {}

    Result<PlannedKernel> run() {
        out_.plan.enabled = true;
        out_.kernel = kernel_;
        out_.options = base_options();
        INGOT_ASSIGN(const std::vector<uint32_t> threads, thread_counts());
        out_.plan.threads = threads.front();
        out_.kernel.threads = threads.front();
        for (const uint32_t t : threads) {
            const bool only = threads.size() == 1;
            if (auto read = read_width(t); !read && only) return keep_reference(read.error().describe());
        }
        if (widths_.empty()) return keep_reference("no number of threads serves this program");
        if (!options_.fixed.empty()) INGOT_TRY(keep_fixed());
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

    PlanOptions base_options() const {
        PlanOptions o = reference_;
        o.bypass_staging = options_.bypass_staging;
        o.pipeline_loops = options_.pipeline_loops;
        o.pad_shared_rows = options_.pad_shared_rows;
        o.coalesce_barriers = options_.coalesce_group_barriers;
        return o;
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
        for (uint32_t t = kLanes; t <= reference_.target->max_threads; t += kLanes) out.push_back(t);
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

    void refuse(std::string where, std::string realization, std::string why) {
        for (const RefusedRealization& r : out_.plan.refused)
            if (r.where == where && r.realization == realization && r.why == why) return;
        out_.plan.refused.push_back({std::move(where), std::move(realization), std::move(why)});
    }

    // --- what is legal at one number of threads

    Result<void> read_width(uint32_t threads) {
        Width w;
        w.kernel = kernel_;
        w.kernel.threads = threads;
        const PlanOptions options = base_options();
        Kernel selected, placed;
        Plan plan;
        const auto look = [&](std::string_view pass, const Kernel& k) {
            if (pass == "select-paths") selected = k;
        };
        INGOT_ASSIGN(placed, run_passes(w.kernel, options, plan, look));
        w.facts = workload_of(selected, options, costs_.assumed_dim);
        w.shared_bytes = uint64_t(plan.threadgroup_bytes);
        find_fragments(w, placed, plan);
        for (size_t i = 0; i < w.facts.products.size(); ++i) add_product(w, selected, i);
        const CostBasis basis = w.planned.empty() ? CostBasis::kSimdgroupReference
                                                  : basis_of(w.facts.products[w.planned.front()]);
        w.group = price_group(basis, w.facts.group, std::max(1u, threads / kLanes), costs_);
        widths_.emplace(threads, std::move(w));
        return {};
    }

    // Which fragments the reference way placed in matrices, and why not the others.
    void find_fragments(Width& w, const Kernel& placed, const Plan& plan) {
        std::map<uint32_t, bool> resident;
        walk(placed, placed.body, [&](StmtId id) {
            const Stmt& s = placed[id];
            if (s.op == StmtOp::kGemm) resident[s.product] = plan.fragments.contains(s.regions[0].buffer);
        });
        for (ProductFacts& p : w.facts.products) {
            if (p.path != Path::kSimdgroup || p.accumulator_bytes == 0) continue;
            if (resident[p.number]) {
                w.shared_bytes += p.accumulator_bytes;
                continue;
            }
            p.not_resident = p.not_direct =
                "the fragment isn't only used whole or element by element (its note says where)";
            p.released_resident = p.released_direct = 0;
        }
    }

    CostBasis basis_of(const ProductFacts& p) const {
        return is_tensor_path(p.path) ? options_.mpp_basis : CostBasis::kSimdgroupReference;
    }

    void add_product(Width& w, const Kernel& k, size_t index) {
        ProductFacts& p = w.facts.products[index];
        const std::string where = k.where(k[p.stmt].loc);
        if (!p.why_path.empty()) refuse(where, "a faster instruction", p.why_path);
        if (p.path == Path::kScalar) return;
        std::vector<Accumulator> places;
        if (is_tensor_path(p.path)) {
            places = {p.path == Path::kDirectCooperative ? Accumulator::kDirect : Accumulator::kShared};
            refuse(where, "one operation of the whole group", "operations of one simdgroup are emitted");
            if (!p.not_resident.empty()) refuse(where, "resident accumulator", p.not_resident);
        } else {
            places = places_of(p, where);
        }
        std::map<uint64_t, Realization> legal;
        std::map<uint64_t, Priced> prices;
        for (const Partition& partition : partitions(w, p)) {
            for (const Accumulator a : places) {
                const Realization r{partition, a};
                const uint32_t scalars = scalars_per_lane(basis_of(p), r);
                if (scalars > options_.fragment_budget && !is_reference(w, p, partition)) {
                    refuse(where, describe(r),
                           fmt::format("{} scalars a lane; the budget is {}", scalars,
                                       options_.fragment_budget));
                    continue;
                }
                auto priced = price(basis_of(p), p.work, r, costs_);
                if (!priced) {
                    refuse(where, describe(r), priced.error().message);
                    continue;
                }
                legal[realization_key(r)] = r;
                prices[realization_key(r)] = *priced;
            }
        }
        w.planned.push_back(index);
        w.realizations.push_back(std::move(legal));
        w.prices.push_back(std::move(prices));
    }

    std::vector<Accumulator> places_of(const ProductFacts& p, const std::string& where) {
        std::vector<Accumulator> out;
        const bool resident = p.not_resident.empty() && options_.residency;
        if (!p.not_resident.empty()) refuse(where, "resident accumulator", p.not_resident);
        if (p.not_resident.empty() && !options_.residency)
            refuse(where, "resident accumulator", "the option residency is off");
        if (resident && p.not_direct.empty()) {
            // A fragment that isn't stored anywhere needs nothing of the option.
            const bool stores = p.work.stores.value_or(1) != 0;
            if (options_.direct_accumulator_store || !stores)
                out.push_back(Accumulator::kDirect);
            else
                refuse(where, "direct accumulator", "the option direct_accumulator_store is off");
            if (stores) out.push_back(Accumulator::kResident);
        } else if (resident) {
            refuse(where, "direct accumulator", p.not_direct);
            out.push_back(Accumulator::kResident);
        }
        out.push_back(Accumulator::kShared);
        return out;
    }

    std::vector<Partition> partitions(const Width& w, const ProductFacts& p) const {
        const uint32_t simdgroups = w.kernel.threads / kLanes;
        const bool tensors = is_tensor_path(p.path);
        const uint32_t m = tensors ? kTensorAtomM : kMatrixAtom, n = tensors ? kTensorAtomN : kMatrixAtom;
        std::vector<Partition> out;
        for (const Partition& r : rectangles(p.work.m, p.work.n, m, n, simdgroups)) {
            if (p.policy == Policy::kFullRow && r.gn != 1) continue;
            if (p.policy == Policy::kFullCol && r.gm != 1) continue;
            out.push_back(r);
        }
        if (!tensors) out.push_back(in_turn(p.work.m, p.work.n, m, n, simdgroups));
        return out;
    }

    // The budget limits the search. Where every rectangle is past it, the reference way's stays in: what a
    // program was compiled to without a planner must not get slower by one.
    bool is_reference(const Width& w, const ProductFacts& p, const Partition& partition) const {
        if (!options_.admit_reference_division) return false;
        const std::vector<Partition> all = partitions(w, p);
        const bool some_fit = std::ranges::any_of(all, [&](const Partition& x) {
            return x.rectangle &&
                   scalars_per_lane(basis_of(p), {x, Accumulator::kDirect}) <= options_.fragment_budget;
        });
        return !some_fit && options_.fragment_budget >= least_scalars_per_lane(basis_of(p)) &&
               partition == divide(p.work.m, p.work.n, partition.atom_m, partition.atom_n,
                                   partition.simdgroups, p.policy);
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

    std::vector<ProductChoice> choices(const Width& w, const Solution& s) const {
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
        Width& w = widths_.at(s.threads);
        PlanOptions options = base_options();
        options.choices = choices(w, s);
        Plan plan;
        const auto done = run_passes(w.kernel, options, plan, {});
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
            refuse(where, describe(wanted), why);
            w.dropped.insert({i, s.chosen[i]});
            return false;
        }
        out_.plan.barrier_sites = barrier_sites(*done);
        out_.kernel = w.kernel;
        out_.options = options;
        return true;
    }

    SourceLoc location(const Width& w, size_t i) const {
        SourceLoc loc;
        walk(w.kernel, w.kernel.body, [&](StmtId id) {
            if (w.kernel[id].product == w.facts.products[w.planned[i]].number) loc = w.kernel[id].loc;
        });
        return loc;
    }

    // The one that takes most memory, as the solver counts it, has no smaller sibling to fall back on: the
    // number of threads goes.
    void drop(Width& w, const Solution& s, const std::string& why) {
        refuse(w.kernel.where(w.kernel.loc), fmt::format("{} threads", s.threads), why);
        for (size_t i = w.planned.size(); i-- > 0;) {
            if (w.realizations[i].size() - dropped_of(w, i) <= 1) continue;
            w.dropped.insert({i, s.chosen[i]});
            return;
        }
        widths_.erase(s.threads);
    }
    static size_t dropped_of(const Width& w, size_t i) {
        return size_t(std::ranges::count_if(w.dropped, [&](const auto& d) { return d.first == i; }));
    }

    // --- the report

    void report(const Solution& s, const Solved& solved) {
        const Width& w = widths_.at(s.threads);
        GroupPlan& plan = out_.plan;
        plan.applied = true;
        plan.threads = s.threads;
        plan.work = w.facts.group;
        plan.score = s.score;
        plan.shared_bytes = s.shared_bytes;
        plan.assumed = w.facts.assumed;
        for (size_t i = 0; i < w.planned.size(); ++i) {
            const ProductFacts& f = w.facts.products[w.planned[i]];
            plan.products.push_back({f.number, w.kernel.where(location(w, i)), f.path, basis_of(f), f.work,
                                     w.realizations[i].at(s.chosen[i]), w.prices[i].at(s.chosen[i]),
                                     f.not_resident, f.not_direct});
        }
        PlanOptions plain = base_options();
        plain.choices = out_.options.choices;
        plain.coalesce_barriers = false;
        Plan ignored;
        if (const auto fenced = run_passes(out_.kernel, plain, ignored, {}))
            plan.barrier_sites_reference = barrier_sites(*fenced);
        add_alternatives(s, solved);
    }

    // Plans that differ in one product's realization, and the best ones of other numbers of threads.
    void add_alternatives(const Solution& chosen, const Solved& solved) {
        std::vector<Solution> others(solved.best.begin() + 1, solved.best.end());
        const Width& w = widths_.at(chosen.threads);
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
    const PlannerOptions& options_;
    const Costs& costs_;
    std::map<uint32_t, Width> widths_;
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
