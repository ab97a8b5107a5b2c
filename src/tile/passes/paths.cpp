#include "tile/passes/paths.h"

#include "tile/ir/print.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kSimdWidth = 32, kAtom = 8, kOpM = 16, kOpN = 32;

// Why the path is illegal, or nothing.
std::string why_no_matrix(const Kernel& k, const Stmt& s) {
    const DType a = k[s.regions[1].buffer].type, c = k[s.regions[0].buffer].type;
    if (k.threads % kSimdWidth != 0)
        return fmt::format("{} threads are no whole simdgroups of 32", k.threads);
    if (!is_float(a) || !is_float(c)) return fmt::format("matrix instructions take no {}", name(a));
    return {};
}

std::string why_no_simdgroup(const Kernel& k, const Stmt& s) {
    if (std::string why = why_no_matrix(k, s); !why.empty()) return why;
    const GemmShape g = shape_of(k, s);
    // Operands in tensors are staged in whole steps, which their edge fills.
    const bool staged =
        k[s.regions[1].buffer].scope == Scope::kGlobal && k[s.regions[2].buffer].scope == Scope::kGlobal;
    if (g.m % kAtom != 0 || g.n % kAtom != 0 || (!staged && g.k % kAtom != 0))
        return fmt::format("{} x {} x {} isn't made of 8x8 matrices", g.m, g.n, g.k);
    return {};
}

// Dimension `da` of a is cut where dimension `db` of b is: both are inside, or both by the same edge.
bool cut_alike(const Kernel& k, const Domain& domain, const Region& a, size_t da, const Region& b,
               size_t db) {
    const auto inside = [&](const Region& r, size_t d) {
        const auto span = constant_int(k, r.sizes[d]);
        return domain.proves_non_negative(r.offsets[d]) && span &&
               domain.proves_within(r.offsets[d], *span, k[r.buffer].shape[d]);
    };
    if (inside(a, da) && inside(b, db)) return true;
    return a.offsets[da] == b.offsets[db] && k[a.buffer].shape[da] == k[b.buffer].shape[db] &&
           domain.proves_non_negative(a.offsets[da]);
}

// The whole depth of the product lies inside of the operand.
bool depth_inside(const Kernel& k, const Domain& domain, const Region& r, size_t d) {
    if (constant_int(k, r.offsets[d]) == 0 && r.sizes[d] == k[r.buffer].shape[d]) return true;
    const auto span = constant_int(k, r.sizes[d]);
    return span && domain.proves_non_negative(r.offsets[d]) &&
           domain.proves_within(r.offsets[d], *span, k[r.buffer].shape[d]);
}

std::string why_no_views(const Kernel& k, const Stmt& s) {
    Domain domain(k);
    domain.bound_grid();
    domain.bound_loops();
    const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
    const auto ck = c.kept(), ak = a.kept(), bk = b.kept();
    if (!cut_alike(k, domain, a, ak[s.transpose_a], c, ck[0])) return "A and C aren't cut alike in M";
    if (!cut_alike(k, domain, b, bk[!s.transpose_b], c, ck[1])) return "B and C aren't cut alike in N";
    if (!depth_inside(k, domain, a, ak[!s.transpose_a]) || !depth_inside(k, domain, b, bk[s.transpose_b]))
        return "K goes past an operand's end";
    return {};
}

std::string why_no_cooperative(const Kernel& k, const Stmt& s, const Target& target) {
    if (!target.metal4) return fmt::format("{} isn't a metal4 target", target.name);
    if (std::string why = why_no_matrix(k, s); !why.empty()) return why;
    const GemmShape g = shape_of(k, s);
    if (g.m % kOpM != 0 || g.n % kOpN != 0)
        return fmt::format("{} x {} isn't made of 16 x 32 operations", g.m, g.n);
    if (k[s.regions[0].buffer].scope == Scope::kFragment)
        return "C is a fragment, which simdgroup matrices hold";
    const Scope a = k[s.regions[1].buffer].scope, b = k[s.regions[2].buffer].scope;
    if (a != b) return fmt::format("A is {}, B is {}", kScopeNames[size_t(a)], kScopeNames[size_t(b)]);
    if (a == Scope::kFragment) return "the operands are fragments";
    for (const Region& r : s.regions)
        if (!has_unit_rows(k, r))
            return fmt::format("rows of {} have a stride other than 1", k[r.buffer].name);
    if (std::string why = why_no_views(k, s); !why.empty()) return why;
    const Partition p = divide(g.m, g.n, kOpM, kOpN, k.threads / kSimdWidth, s.policy);
    if (!p.rectangle)
        return fmt::format("{} simdgroups don't divide {} x {} into equal rectangles of 16 x 32",
                           k.threads / kSimdWidth, g.m, g.n);
    return {};
}

bool is_cooperative(Path p) {
    return p == Path::kDirectCooperative || p == Path::kSharedCooperative;
}

}  // namespace

GemmShape shape_of(const Kernel& k, const Stmt& s) {
    const auto size = [&](const Region& r, size_t i) {
        return uint32_t(constant_int(k, r.sizes[r.kept()[i]]).value_or(0));
    };
    return {size(s.regions[0], 0), size(s.regions[0], 1), size(s.regions[1], s.transpose_a ? 0 : 1)};
}

bool has_unit_rows(const Kernel& k, const Region& r) {
    const Buffer& b = k[r.buffer];
    const size_t last = r.kept().back();
    if (b.strides.empty()) return last + 1 == b.shape.size();
    return constant_int(k, b.strides[last]) == 1;
}

Result<GemmPlan> choose_path(const Kernel& k, const Stmt& s, const PlanOptions& options) {
    const GemmShape g = shape_of(k, s);
    const uint32_t simdgroups = std::max(1u, k.threads / kSimdWidth);
    const std::string no_cooperative = why_no_cooperative(k, s, *options.target),
                      no_simdgroup = why_no_simdgroup(k, s);
    const bool in_device = k[s.regions[1].buffer].scope == Scope::kGlobal;
    const Path cooperative = in_device ? Path::kDirectCooperative : Path::kSharedCooperative;
    GemmPlan plan;
    if (options.path && !is_cooperative(*options.path)) {
        plan.path = *options.path;
        plan.reason = "asked for";
    } else if (no_cooperative.empty()) {
        plan.path = cooperative;
    } else {
        plan.path = no_simdgroup.empty() ? Path::kSimdgroup : Path::kScalar;
        plan.reason = no_simdgroup.empty() ? no_cooperative : no_cooperative + "; " + no_simdgroup;
    }
    const auto refuse = [&](Path path, const std::string& why) {
        return Failure(Error{ErrorKind::kUnsupported,
                             fmt::format("the {} path can't serve {}: {}", kPathNames[size_t(path)],
                                         print(k, s.regions[0]), why),
                             k.where(s.loc)});
    };
    if (options.path && is_cooperative(*options.path)) {
        if (!no_cooperative.empty()) return refuse(*options.path, no_cooperative);
        if (*options.path != cooperative)
            return refuse(*options.path,
                          fmt::format("the operands are {}", in_device ? "in device memory" : "shared"));
    }
    if (plan.path == Path::kSimdgroup && !no_simdgroup.empty()) return refuse(plan.path, no_simdgroup);
    if (is_cooperative(plan.path)) plan.partition = divide(g.m, g.n, kOpM, kOpN, simdgroups, s.policy);
    if (plan.path == Path::kSimdgroup) plan.partition = divide(g.m, g.n, kAtom, kAtom, simdgroups, s.policy);
    const ProductChoice* choice = options.choice(s);
    if (choice != nullptr && choice->partition.atom_m == plan.partition.atom_m &&
        choice->partition.rows == plan.partition.rows &&
        choice->partition.columns == plan.partition.columns &&
        choice->partition.simdgroups == plan.partition.simdgroups)
        plan.partition = choice->partition;
    return plan;
}

}  // namespace ingot::tile
