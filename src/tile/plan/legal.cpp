#include "tile/plan/legal.h"

#include <algorithm>

#include "tile/passes/pipeline.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kLanes = 32, kMatrixAtom = 8, kTensorAtomM = 16, kTensorAtomN = 32;

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

class LegalReader {
  public:
    LegalReader(const Kernel& k, const PlanOptions& reference, const PlannerOptions& options,
                const Costs& costs, std::vector<RefusedRealization>& refused)
        : kernel_(k), reference_(reference), options_(options), costs_(costs), refused_(refused) {}

    Result<LegalPlans> read(uint32_t threads) {
        LegalPlans w;
        w.kernel = kernel_;
        w.kernel.threads = threads;
        const PlanOptions options = switched(reference_, options_);
        Kernel selected, placed;
        Plan plan;
        const auto look = [&](std::string_view pass, const Kernel& k) {
            if (pass == "select-paths") selected = k;
        };
        INGOT_ASSIGN(placed, run_passes(w.kernel, options, plan, look));
        for (const Refusal& r : plan.refusals) refuse(r.where, r.what, r.why);
        w.facts = workload_of(selected, options, costs_.assumed_dim);
        w.shared_bytes = uint64_t(plan.threadgroup_bytes);
        find_fragments(w, placed, plan);
        for (size_t i = 0; i < w.facts.products.size(); ++i) add_product(w, selected, i);
        const CostBasis basis = w.planned.empty() ? CostBasis::kSimdgroupReference
                                                  : basis_of(w.facts.products[w.planned.front()], options_);
        w.group = price_group(basis, w.facts.group, std::max(1u, threads / kLanes), costs_);
        return w;
    }

  private:
    void refuse(std::string where, std::string realization, std::string why) {
        for (const RefusedRealization& r : refused_)
            if (r.where == where && r.realization == realization && r.why == why) return;
        refused_.push_back({std::move(where), std::move(realization), std::move(why)});
    }

    // Which fragments the reference way placed in matrices, and why not the others.
    void find_fragments(LegalPlans& w, const Kernel& placed, const Plan& plan) {
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

    void add_product(LegalPlans& w, const Kernel& k, size_t index) {
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
                const uint32_t scalars = scalars_per_lane(basis_of(p, options_), r);
                if (scalars > options_.fragment_budget && !is_reference(w, p, partition)) {
                    refuse(where, describe(r),
                           fmt::format("{} scalars a lane; the budget is {}", scalars,
                                       options_.fragment_budget));
                    continue;
                }
                auto priced = price(basis_of(p, options_), p.work, r, costs_);
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

    std::vector<Partition> partitions(const LegalPlans& w, const ProductFacts& p) const {
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
    bool is_reference(const LegalPlans& w, const ProductFacts& p, const Partition& partition) const {
        if (!options_.admit_reference_division) return false;
        const std::vector<Partition> all = partitions(w, p);
        const bool some_fit = std::ranges::any_of(all, [&](const Partition& x) {
            return x.rectangle && scalars_per_lane(basis_of(p, options_), {x, Accumulator::kDirect}) <=
                                      options_.fragment_budget;
        });
        return !some_fit && options_.fragment_budget >= least_scalars_per_lane(basis_of(p, options_)) &&
               partition == divide(p.work.m, p.work.n, partition.atom_m, partition.atom_n,
                                   partition.simdgroups, p.policy);
    }

    const Kernel& kernel_;
    const PlanOptions& reference_;
    const PlannerOptions& options_;
    const Costs& costs_;
    std::vector<RefusedRealization>& refused_;
};

}  // namespace

Kernel number_products(const Kernel& k) {
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

bool is_tensor_path(Path p) {
    return p == Path::kDirectCooperative || p == Path::kSharedCooperative;
}

PlanOptions switched(const PlanOptions& reference, const PlannerOptions& options) {
    PlanOptions o = reference;
    o.form_products = options.map_gpu_cooperative_programs;
    o.bypass_staging = options.bypass_staging;
    o.bounded_views = options.bounded_views;
    o.bounded_stores = options.bounded_stores;
    o.overwrite_accumulators = options.overwrite_accumulators;
    o.fuse_epilogues = options.fuse_matrix_epilogues;
    o.elide_independent_barriers =
        options.elide_independent_subgroup_barriers && options.coalesce_group_barriers;
    o.pipeline_loops = options.pipeline_loops;
    o.pad_shared_rows = options.pad_shared_rows;
    o.coalesce_barriers = options.coalesce_group_barriers;
    o.max_copy_batch = options.max_copy_batch;
    return o;
}

CostBasis basis_of(const ProductFacts& p, const PlannerOptions& options) {
    return is_tensor_path(p.path) ? options.mpp_basis : CostBasis::kSimdgroupReference;
}

Result<LegalPlans> legal_plans(const Kernel& numbered, uint32_t threads, const PlanOptions& reference,
                               const PlannerOptions& options, const Costs& costs,
                               std::vector<RefusedRealization>& refused) {
    return LegalReader(numbered, reference, options, costs, refused).read(threads);
}

}  // namespace ingot::tile
