// A fragment lives in simdgroup matrices if a product accumulates in it and everything else that touches it
// works on whole matrices or element by element at the element's own place. Every other fragment becomes
// shared memory: slower, and right for any access.
#include <set>

#include "tile/ir/build.h"
#include "tile/passes/elementwise.h"
#include "tile/passes/passes.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

class Placement {
  public:
    Placement(Kernel& k, const PlanOptions& options, Plan& plan) : k_(k), options_(options), plan_(plan) {}

    Result<void> run() {
        std::vector<BufferId> fragments;
        walk(k_, k_.body, [&](StmtId id) {
            if (k_[id].op == StmtOp::kAlloc && k_[k_[id].buffer].scope == Scope::kFragment)
                fragments.push_back(k_[id].buffer);
        });
        for (const BufferId f : fragments) {
            std::string why;
            if (const auto partition = partition_of(f, why)) {
                plan_.fragments[f] = *partition;
            } else {
                to_shared_[f] = why;
            }
        }
        while (demote()) {
        }
        move_to_shared();
        store_through_shared();
        INGOT_TRY(plan_gemms());
        add_scratch();
        return {};
    }

  private:
    std::optional<Partition> partition_of(BufferId f, std::string& why) {
        const Buffer& b = k_[f];
        std::optional<Partition> found;
        if (b.shape.size() != 2 || extent(k_, f, 0) % 8 != 0 || extent(k_, f, 1) % 8 != 0) {
            why = "its sizes aren't two multiples of 8";
            return std::nullopt;
        }
        if (k_.threads % 32 != 0 || !is_float(b.type)) {
            why = k_.threads % 32 != 0 ? "the group has part of a simdgroup" : "matrices hold floats";
            return std::nullopt;
        }
        bool product = false;
        walk(k_, k_.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            if (s.op == StmtOp::kGemm && s.regions[0].buffer == f && !found) {
                product = true;
                const auto p = choose_path(k_, s, options_);
                if (p && p->path == Path::kSimdgroup) found = p->partition;
                const ProductChoice* choice = options_.choice(s);
                if (choice != nullptr && choice->accumulator == Accumulator::kShared)
                    why = "the plan keeps it there";
            }
            if (std::string use = why_not(s, f); why.empty() && !use.empty())
                why = fmt::format("{} ({})", use, k_.where(s.loc));
        });
        if (!product) why = "no product accumulates in it";
        if (product && !found && why.empty()) why = "its product takes no simdgroup matrices";
        return why.empty() ? found : std::nullopt;
    }

    // What this statement needs of f that matrices don't offer; nothing if it is fine.
    std::string why_not(const Stmt& s, BufferId f) const {
        for (size_t i = 0; i < s.regions.size(); ++i) {
            if (s.regions[i].buffer != f) continue;
            const bool element = s.op == StmtOp::kStore || s.op == StmtOp::kAtomicAdd;
            if (element) continue;  // seen with their parallel loop
            if (!is_whole(k_, s.regions[i])) return "a part of it is used alone";
            if (s.op == StmtOp::kGemm && i != 0) return "it is an operand";
            if (s.op == StmtOp::kGemm && !takes_matrices(s))
                return "a product of it takes no simdgroup matrices";
            if (s.op == StmtOp::kCumSum) return "prefix sums cross its matrices";
            if (s.op == StmtOp::kReduce && (i == 0 || s.axis != 1)) return "a reduction crosses its rows";
            if (s.op == StmtOp::kReduce && k_[s.regions[0].buffer].scope == Scope::kFragment &&
                plan_.fragments.contains(s.regions[0].buffer))
                return "a reduction of it goes to a fragment";
        }
        if (s.op == StmtOp::kParallel) return why_not_elementwise(k_, s, f);
        return {};
    }

    bool takes_matrices(const Stmt& s) const {
        const auto p = choose_path(k_, s, options_);
        return p && p->path == Path::kSimdgroup && has_shared_operands(s);
    }
    bool has_shared_operands(const Stmt& s) const {
        return k_[s.regions[1].buffer].scope == Scope::kShared &&
               k_[s.regions[2].buffer].scope == Scope::kShared;
    }

    // Fragments that meet in one statement must be divided alike, and a copy's other side must not be a
    // fragment of another shape. True if one more had to go.
    bool demote() {
        BufferId victim;
        std::string why;
        const auto meet = [&](BufferId a, BufferId b, SourceLoc loc) {
            if (a == b || !plan_.fragments.contains(a) || !plan_.fragments.contains(b) || victim.valid())
                return;
            if (plan_.fragments[a] == plan_.fragments[b]) return;
            victim = b;
            why = fmt::format("it meets {}, which is divided another way ({})", k_[a].name, k_.where(loc));
        };
        walk(k_, k_.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            if (s.op == StmtOp::kCopy) meet(s.regions[0].buffer, s.regions[1].buffer, s.loc);
            if (s.op == StmtOp::kReduce && plan_.fragments.contains(s.regions[0].buffer) && !victim.valid()) {
                victim = s.regions[0].buffer;
                why = fmt::format("a reduction goes to it ({})", k_.where(s.loc));
            }
            if (s.op != StmtOp::kParallel) return;
            std::vector<BufferId> touched;
            walk(k_, s.body, [&](StmtId inner) {
                for (const Region& r : k_[inner].regions) touched.push_back(r.buffer);
                for (const ExprId e : expressions(k_[inner]))
                    walk_loads(k_, e, [&](const Expr& l) { touched.emplace_back(l.ref); });
            });
            for (const BufferId a : touched)
                for (const BufferId b : touched) meet(a, b, s.loc);
        });
        if (!victim.valid()) return false;
        plan_.fragments.erase(victim);
        to_shared_[victim] = why;
        return true;
    }

    void move_to_shared() {
        for (const auto& [f, partition] : plan_.fragments) {
            plan_.notes.push_back(
                fmt::format("{}: fragment {} lives in simdgroup matrices, {} of 8x8 a simdgroup",
                            k_.where(k_[f].loc), k_[f].name, partition.atoms_each()));
        }
        for (const auto& [f, why] : to_shared_) {
            plan_.notes.push_back(fmt::format("{}: fragment {} lives in shared memory: {}",
                                              k_.where(k_[f].loc), k_[f].name, why));
            Buffer b = k_[f];
            b.scope = Scope::kShared;
            moved_.buffers[f] = k_.append(std::move(b));
        }
        if (!to_shared_.empty()) k_.body = moved_.apply(k_, k_.body);
    }

    // A resident accumulator that the plan doesn't store directly goes through a shared tile.
    void store_through_shared() {
        std::set<BufferId> through;
        walk(k_, k_.body, [&](StmtId id) {
            const ProductChoice* choice = options_.choice(k_[id]);
            if (choice != nullptr && choice->accumulator == Accumulator::kResident)
                through.insert(k_[id].regions[0].buffer);
        });
        if (through.empty()) return;
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel& k, StmtId id, Block& out) {
            const Stmt s = k[id];
            if (s.op != StmtOp::kCopy || k[s.regions[0].buffer].scope != Scope::kGlobal ||
                !through.contains(s.regions[1].buffer) || !plan_.fragments.contains(s.regions[1].buffer)) {
                out.push_back(id);
                return;
            }
            Buffer tile = k[s.regions[1].buffer];
            tile.name = k.fresh_name(tile.name + "_stored");
            tile.scope = Scope::kShared;
            Stmt a;
            a.op = StmtOp::kAlloc;
            a.loc = s.loc;
            a.compiler_owned = true;
            a.buffer = k.append(std::move(tile));
            Stmt in = s, onward = s;
            in.regions[0] = whole(k, a.buffer);
            in.compiler_owned = true;
            onward.regions[1] = in.regions[0];
            out.push_back(k.append(a));
            out.push_back(k.append(in));
            out.push_back(k.append(onward));
        });
    }

    Result<void> plan_gemms() {
        std::optional<Error> error;
        walk(k_, k_.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            if (s.op != StmtOp::kGemm || error) return;
            auto p = choose_path(k_, s, options_);
            if (!p) {
                error = p.error();
                return;
            }
            // A global operand is only left where the simdgroup path gave up on staging it.
            const bool staged = has_shared_operands(s);
            if (p->path == Path::kSimdgroup && (!staged || k_[s.regions[0].buffer].scope == Scope::kGlobal))
                p->path = Path::kScalar;
            if (const auto it = plan_.fragments.find(s.regions[0].buffer); it != plan_.fragments.end())
                p->partition = it->second;
            plan_.gemms[id] = *p;
        });
        if (error) return Failure(*error);
        return {};
    }

    // Where several simdgroups hold parts of one row, its reduction meets in shared memory: one number a row
    // and part.
    void add_scratch() {
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel& k, StmtId id, Block& out) {
            const Stmt s = k[id];
            if (s.op == StmtOp::kReduce) {
                const auto it = plan_.fragments.find(s.regions[1].buffer);
                if (it != plan_.fragments.end() && !(it->second.rectangle && it->second.gn == 1)) {
                    const uint32_t parts = it->second.rectangle ? it->second.gn : it->second.columns;
                    Stmt a;
                    a.op = StmtOp::kAlloc;
                    a.loc = s.loc;
                    a.compiler_owned = true;
                    a.buffer = k.append(Buffer{.name = k.fresh_name(k[s.regions[0].buffer].name + "_parts"),
                                               .type = DType::kF32,
                                               .scope = Scope::kShared,
                                               .role = Role::kNone,
                                               .shape = {constant(k, parts), k[s.regions[1].buffer].shape[0]},
                                               .strides = {},
                                               .offset = {},
                                               .loc = s.loc});
                    plan_.scratch[id] = a.buffer;
                    out.push_back(k.append(a));
                }
            }
            out.push_back(id);
        });
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
    std::map<BufferId, std::string> to_shared_;
    Substitution moved_;
};

}  // namespace

Result<Kernel> place_fragments(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    INGOT_TRY(Placement(out, options, plan).run());
    return out;
}

}  // namespace ingot::tile
