// The simdgroup path takes C from a fragment or shared memory and A and B from shared memory. What a program
// has elsewhere is brought there.
#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

constexpr int64_t kStepK = 32;

bool needs_staging(const Kernel& k, const Stmt& s) {
    return k[s.regions[1].buffer].scope == Scope::kGlobal || k[s.regions[2].buffer].scope == Scope::kGlobal;
}

size_t k_dim(const Stmt& s, size_t operand) {
    const bool first = operand == 1 ? s.transpose_a : !s.transpose_b;
    return s.regions[operand].kept()[first ? 0 : 1];
}

int64_t step_for(const Kernel& k, ExprId depth) {
    const auto constant_depth = constant_int(k, depth);
    return constant_depth ? std::max<int64_t>(8, std::min(kStepK, (*constant_depth + 7) / 8 * 8)) : kStepK;
}

class Selection {
  public:
    Selection(Kernel& k, const PlanOptions& options, Plan& plan) : k_(k), options_(options), plan_(plan) {}

    Result<void> run() {
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
            if (k_[id].op != StmtOp::kGemm || error_) {
                out.push_back(id);
                return;
            }
            if (auto done = gemm(id, out); !done) error_ = done.error();
        });
        if (error_) return Failure(*error_);
        return {};
    }

  private:
    Result<void> gemm(StmtId id, Block& out) {
        const Stmt s = k_[id];
        INGOT_ASSIGN(GemmPlan p, choose_path(k_, s, options_));
        if (const std::string why = why_not_staged(k_, s); p.path == Path::kSimdgroup && !why.empty()) {
            if (options_.path)
                return Failure(Error{ErrorKind::kUnsupported,
                                     "the simdgroup path can't serve this product: its " + why,
                                     k_.where(s.loc)});
            p = {Path::kScalar, {}, why};
        }
        plan_.notes.push_back(fmt::format("{}: gemm takes the {} path{}", k_.where(s.loc),
                                          kPathNames[size_t(p.path)],
                                          p.reason.empty() ? "" : " (" + p.reason + ")"));
        if (p.path != Path::kSimdgroup) {
            out.push_back(id);
            return {};
        }
        Stmt product = s;
        Block before, after;
        if (k_[s.regions[0].buffer].scope == Scope::kGlobal) accumulate_in_fragment(product, before, after);
        for (const size_t operand : {size_t{1}, size_t{2}}) {
            if (k_[s.regions[operand].buffer].scope == Scope::kFragment)
                share_fragment(product, operand, before);
        }
        out.insert(out.end(), before.begin(), before.end());
        if (needs_staging(k_, product)) {
            stage(product, out);
        } else {
            out.push_back(product.regions == s.regions ? id : k_.append(product));
        }
        out.insert(out.end(), after.begin(), after.end());
        return {};
    }

    BufferId allocate(Scope scope, DType type, std::string_view base, std::vector<ExprId> shape,
                      SourceLoc loc, Block& out) {
        Stmt a;
        a.op = StmtOp::kAlloc;
        a.loc = loc;
        a.compiler_owned = true;
        a.buffer = k_.append(Buffer{.name = k_.fresh_name(base),
                                    .type = type,
                                    .scope = scope,
                                    .role = Role::kNone,
                                    .shape = std::move(shape),
                                    .strides = {},
                                    .offset = {},
                                    .loc = loc});
        out.push_back(k_.append(a));
        return a.buffer;
    }

    StmtId copy(const Region& dst, const Region& src, SourceLoc loc) {
        Stmt s;
        s.op = StmtOp::kCopy;
        s.loc = loc;
        s.regions = {dst, src};
        s.compiler_owned = true;
        return k_.append(std::move(s));
    }

    void accumulate_in_fragment(Stmt& s, Block& before, Block& after) {
        const Region c = s.regions[0];
        const auto kept = c.kept();
        const BufferId acc = allocate(Scope::kFragment, DType::kF32, k_[c.buffer].name + "_acc",
                                      {c.sizes[kept[0]], c.sizes[kept[1]]}, s.loc, before);
        s.regions[0] = whole(k_, acc);
        if (s.clear) {
            Stmt f;
            f.op = StmtOp::kFill;
            f.loc = s.loc;
            f.compiler_owned = true;
            f.regions = {s.regions[0]};
            f.exprs = {constant(k_, 0, DType::kF32)};
            before.push_back(k_.append(f));
        } else {
            before.push_back(copy(s.regions[0], c, s.loc));
        }
        s.clear = false;
        after.push_back(copy(c, s.regions[0], s.loc));
    }

    void share_fragment(Stmt& s, size_t operand, Block& before) {
        const Region r = s.regions[operand];
        std::vector<ExprId> shape;
        for (const size_t d : r.kept()) shape.push_back(r.sizes[d]);
        const BufferId tile =
            allocate(Scope::kShared, k_[r.buffer].type, k_[r.buffer].name + "_shared", shape, s.loc, before);
        s.regions[operand] = whole(k_, tile);
        before.push_back(copy(s.regions[operand], r, s.loc));
        plan_.notes.push_back(
            fmt::format("{}: {} is copied to shared memory: simdgroup matrices read their operands there",
                        k_.where(s.loc), k_[r.buffer].name));
    }

    // for step < ceildiv(K, 32) { copy As = A[...]; copy Bs = B[...]; gemm C += As @ Bs }
    void stage(Stmt s, Block& out) {
        const ExprId depth = s.regions[1].sizes[k_dim(s, 1)];
        const auto constant_depth = constant_int(k_, depth);
        const int64_t step = step_for(k_, depth);
        if (s.clear) {
            Stmt f;
            f.op = StmtOp::kFill;
            f.loc = s.loc;
            f.compiler_owned = true;
            f.regions = {s.regions[0]};
            f.exprs = {constant(k_, 0, k_[s.regions[0].buffer].type)};
            out.push_back(k_.append(f));
            s.clear = false;
        }
        if (constant_depth == 0) return;
        Stmt loop;
        loop.op = StmtOp::kFor;
        loop.loc = s.loc;
        loop.compiler_owned = true;
        loop.vars = {k_.append(Var{k_.fresh_name("step"), DType::kI32, VarKind::kLoop})};
        loop.loop = LoopKind::kPipelined;
        loop.stages = 2;
        const ExprId width = constant(k_, double(step));
        loop.exprs = {apply(k_, ExprOp::kCeilDiv, std::array{depth, width})};
        const ExprId at = mul(k_, var(k_, loop.vars[0]), width);
        for (const size_t operand : {size_t{1}, size_t{2}}) {
            Region r = s.regions[operand];
            const size_t d = k_dim(s, operand);
            r.offsets[d] = add(k_, r.offsets[d], at);
            r.sizes[d] = width;
            if (k_[r.buffer].scope != Scope::kGlobal) {
                s.regions[operand] = r;
                continue;
            }
            std::vector<ExprId> shape;
            for (const size_t kept : r.kept()) shape.push_back(r.sizes[kept]);
            const BufferId tile =
                allocate(Scope::kShared, k_[r.buffer].type, k_[r.buffer].name + "_tile", shape, s.loc, out);
            s.regions[operand] = whole(k_, tile);
            loop.body.push_back(copy(s.regions[operand], r, s.loc));
        }
        loop.body.push_back(k_.append(s));
        out.push_back(k_.append(std::move(loop)));
        plan_.notes.push_back(
            fmt::format("{}: operands are staged in shared memory, {} of K a step", k_.where(s.loc), step));
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
    std::optional<Error> error_;
};

}  // namespace

// Where K is no multiple of the step, the last step reads past it and must find zeros in both operands: K
// ends where both tensors end. (A zero on one side only would turn the other side's Inf into NaN.)
std::string why_not_staged(const Kernel& k, const Stmt& gemm) {
    const auto ends_with_tensor = [&](size_t operand) {
        const Region& r = gemm.regions[operand];
        const size_t d = k_dim(gemm, operand);
        const Buffer& b = k[r.buffer];
        return b.scope == Scope::kGlobal && constant_int(k, r.offsets[d]) == 0 && r.sizes[d] == b.shape[d];
    };
    if (!needs_staging(k, gemm)) return {};
    const ExprId depth = gemm.regions[1].sizes[k_dim(gemm, 1)];
    if (Domain(k).divisor(depth) % step_for(k, depth) == 0 || (ends_with_tensor(1) && ends_with_tensor(2)))
        return {};
    return "K ends inside of a tensor and isn't a whole number of steps";
}

Result<Kernel> select_paths(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    INGOT_TRY(Selection(out, options, plan).run());
    return out;
}

}  // namespace ingot::tile
