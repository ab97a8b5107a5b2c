#include "tile/ir/verify.h"

#include <algorithm>
#include <set>

#include "tile/ir/print.h"
#include "tile/ir/verify_limits.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

constexpr size_t kMaxRank = 8;
constexpr int64_t kMaxElements = int64_t{1} << 31;

class Verifier {
  public:
    Verifier(const Kernel& k, TensorBounds bounds)
        : k_(k), bounds_(bounds), domain_(k), heights_(heights(k)) {}

    Result<void> run() {
        if (k_.grid.size() > 3)
            return error(k_.loc, "a grid of {} dimensions; 1 to 3 are accepted", k_.grid.size());
        if (k_.threads < 1 || k_.threads > 1024)
            return error(k_.loc, "{} threads; 1 to 1024 are accepted", k_.threads);
        for (const BufferId b : k_.tensors()) INGOT_TRY(tensor(b));
        INGOT_TRY(swizzle());
        for (size_t i = 0; i < k_.grid.size(); ++i) {
            INGOT_TRY(index(k_.grid_extents[i], "a grid extent", k_.loc));
        }
        for (const VarId v : k_.grid) known_.insert(v);
        domain_.bound_grid();
        return block(k_.body, Level::kGroup, nullptr);
    }

  private:
    enum class Level { kGroup, kElement };

    template <typename... Args>
    Failure error(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) const {
        return Failure(Error{ErrorKind::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...),
                             k_.where(loc)});
    }

    Result<void> swizzle() {
        if (k_.swizzle.order == SwizzleOrder::kNone) return {};
        if (k_.grid.size() != 2)
            return error(k_.loc, "a swizzle of a grid with {} dimensions; 2 are accepted", k_.grid.size());
        const uint32_t p = k_.swizzle.panel;
        if (p == 0 || (k_.swizzle.order == SwizzleOrder::kMlx && (p & (p - 1)) != 0))
            return error(k_.loc, "a swizzle panel of {}; a positive number is accepted, for mlx a power of 2",
                         p);
        return {};
    }

    Result<void> tensor(BufferId id) {
        const Buffer& b = k_[id];
        if (b.shape.empty() || b.shape.size() > kMaxRank)
            return error(b.loc, "{} has {} dimensions; 1 to {} are accepted", b.name, b.shape.size(),
                         kMaxRank);
        if (b.type == DType::kBool) return error(b.loc, "{} holds bool; use u8", b.name);
        for (const ExprId e : b.shape) INGOT_TRY(index(e, "a size", b.loc));
        if (!b.strides.empty() && b.strides.size() != b.shape.size())
            return error(b.loc, "{} has {} dimensions and {} strides; one stride for each is accepted",
                         b.name, b.shape.size(), b.strides.size());
        for (const ExprId e : b.strides) INGOT_TRY(index(e, "a stride", b.loc));
        if (b.offset.valid()) INGOT_TRY(index(b.offset, "an offset", b.loc));
        for (size_t d = 0; d < b.shape.size(); ++d) {
            if (constant_int(k_, b.shape[d]).value_or(0) < 0)
                return error(b.loc, "{} has size {}; sizes of 0 and more are accepted", b.name,
                             print(k_, b.shape[d]));
        }
        return {};
    }

    Result<void> allocation(BufferId id, Level level) {
        const Buffer& b = k_[id];
        const bool local = b.scope == Scope::kLocal;
        if (b.scope == Scope::kGlobal) return error(b.loc, "{} is a tensor, not an allocation", b.name);
        if (local != (level == Level::kElement))
            return error(
                b.loc,
                "{} memory {}: {}; shared and fragment are accepted at group level, local in `parallel`",
                kScopeNames[size_t(b.scope)], local ? "at group level" : "inside of `parallel`", b.name);
        if (b.shape.empty() || b.shape.size() > kMaxRank)
            return error(b.loc, "{} has {} dimensions; 1 to {} are accepted", b.name, b.shape.size(),
                         kMaxRank);
        int64_t count = 1;
        for (const ExprId e : b.shape) {
            const auto size = constant_int(k_, e);
            if (!size || *size < 1 || *size > kMaxElements / count)
                return error(b.loc,
                             "{} has size {}; a constant from 1 on, with at most 2^31 elements, is accepted",
                             b.name, print(k_, e));
            count *= *size;
        }
        return {};
    }

    // --- expressions
    Result<void> index(ExprId e, std::string_view what, SourceLoc loc) {
        INGOT_TRY(expr(e, loc));
        if (k_[e].type != DType::kI32)
            return error(loc, "{} is {} of type {}; i32 is accepted", what, print(k_, e), name(k_[e].type));
        return {};
    }
    Result<void> typed(ExprId e, DType type, std::string_view what, SourceLoc loc) {
        INGOT_TRY(expr(e, loc));
        if (k_[e].type != type)
            return error(loc, "{} is {} of type {}; {} is accepted", what, print(k_, e), name(k_[e].type),
                         name(type));
        return {};
    }
    Result<void> expr(ExprId id, SourceLoc loc) {
        const Expr& e = k_[id];
        if (heights_[id.index()] > kMaxHeight)
            return error(loc, "an expression of {} operators one inside of another; {} are accepted",
                         heights_[id.index()], kMaxHeight);
        const bool all_come = all_iterations_come_;
        for (const ExprId a : e.args) {
            INGOT_TRY(expr(a, loc));
            const bool chooses = e.op == ExprOp::kSelect || e.op == ExprOp::kAnd || e.op == ExprOp::kOr;
            if (chooses) all_iterations_come_ = false;  // what follows the condition
        }
        all_iterations_come_ = all_come;
        switch (e.op) {
            case ExprOp::kShuffle:
                return shuffle(id, loc);
            case ExprOp::kVar:
                if (!known_.contains(VarId(e.ref)))
                    return error(loc, "unknown symbol '{}': it isn't bound here", k_[VarId(e.ref)].name);
                return {};
            case ExprOp::kLoad:
                return load(e, loc);
            case ExprOp::kBits:
                if (size_bytes(k_[e.args[0]].type) != size_bytes(e.type))
                    return error(loc, "{}: {} has {} bytes, {} has {}; equal sizes are accepted",
                                 print(k_, id), name(k_[e.args[0]].type), size_bytes(k_[e.args[0]].type),
                                 name(e.type), size_bytes(e.type));
                return {};
            default:
                return operands(id, loc);
        }
    }
    Result<void> shuffle(ExprId id, SourceLoc loc) {
        const Expr& e = k_[id];
        const DType type = k_[e.args[0]].type;
        if (!all_iterations_come_)
            return error(loc,
                         "{}: not every iteration comes to this shuffle; it is accepted in a `let` directly "
                         "inside of `parallel`, outside of what select, && and || leave out",
                         print(k_, id));
        const auto last = constant_int(k_, parallel_->exprs.back());
        if (!last || *last % kShuffleLanes != 0)
            return error(
                loc, "{}: a shuffle among {} iterations; a last extent that is a multiple of {} is accepted",
                print(k_, id), print(k_, parallel_->exprs.back()), kShuffleLanes);
        if (k_.threads % kShuffleLanes != 0)
            return error(loc, "{}: a shuffle in a group of {} threads; a multiple of {} is accepted",
                         print(k_, id), k_.threads, kShuffleLanes);
        if (type == DType::kBool)
            return error(loc, "{}: a shuffle of bool; a number is accepted", print(k_, id));
        if (k_[e.args[1]].type != DType::kI32)
            return error(loc, "{}: iteration {} of type {}; i32 is accepted", print(k_, id),
                         print(k_, e.args[1]), name(k_[e.args[1]].type));
        const Interval from = domain_.interval(e.args[1]);
        if (from.hi < 0 || from.lo >= kShuffleLanes)
            return error(loc, "{}: {} goes from {} to {}; 0 to {} are accepted", print(k_, id),
                         print(k_, e.args[1]), from.lo, from.hi, kShuffleLanes - 1);
        return {};
    }
    Result<void> operands(ExprId id, SourceLoc loc) {
        const Expr& e = k_[id];
        const ExprOpFacts& f = facts(e.op);
        if (f.rule == TypeRule::kLeaf || f.rule == TypeRule::kCast) return {};
        const DType first = k_[e.args[0]].type, last = k_[e.args.back()].type;
        const auto accepts = [&](std::string_view accepted) {
            return error(loc, "{}: an operand of type {}; {} is accepted", print(k_, id), name(first),
                         accepted);
        };
        if (f.rule == TypeRule::kSelect) {
            if (first != DType::kBool) return accepts("a bool condition");
            if (k_[e.args[1]].type != last)
                return error(loc, "{}: operands of types {} and {}; equal types are accepted", print(k_, id),
                             name(k_[e.args[1]].type), name(last));
            return {};
        }
        if (first != last)
            return error(loc, "{}: operands of types {} and {}; equal types are accepted", print(k_, id),
                         name(first), name(last));
        if (f.rule == TypeRule::kNumber && first == DType::kBool) return accepts("a number");
        if (f.rule == TypeRule::kFloat && !is_float(first)) return accepts("a float");
        if (f.rule == TypeRule::kInteger && !is_integer(first)) return accepts("an integer");
        if (f.rule == TypeRule::kLogic && first != DType::kBool) return accepts("bool");
        return {};
    }
    Result<void> load(const Expr& e, SourceLoc loc) {
        const BufferId b(e.ref);
        INGOT_TRY(usable(b, loc));
        INGOT_TRY(readable(b, loc));
        if (e.args.size() != k_[b].shape.size())
            return error(loc, "{} has {} dimensions, {} indices are given", k_[b].name, k_[b].shape.size(),
                         e.args.size());
        for (size_t d = 0; d < e.args.size(); ++d) INGOT_TRY(in_range(b, d, e.args[d], 1, loc));
        return {};
    }

    // --- buffers
    Result<void> usable(BufferId b, SourceLoc loc) {
        if (k_[b].scope != Scope::kGlobal && !allocated_.contains(b))
            return error(loc, "unknown symbol '{}': it isn't allocated here", k_[b].name);
        return {};
    }
    Result<void> readable(BufferId b, SourceLoc loc) {
        if (k_[b].role == Role::kOut)
            return error(loc, "a read of the output {}; an input, or `inout`, is accepted", k_[b].name);
        return {};
    }
    Result<void> in_range(BufferId b, size_t d, ExprId at, int64_t span, SourceLoc loc) {
        INGOT_TRY(index(at, "an index", loc));
        if (domain_.is_empty()) return {};
        const ExprId limit = k_[b].shape[d];
        const Interval i = domain_.interval(at), n = domain_.interval(limit);
        const bool allocation = k_[b].scope != Scope::kGlobal;
        // Of an allocation nothing may be outside, of a tensor something must be inside (unless it is empty).
        const bool never = i.hi < 0 || i.lo >= n.hi;
        const bool sometimes = i.is_point() && (i.lo < 0 || i.hi + span > n.hi);
        if (!allocation && bounds_ == TensorBounds::kFree) return {};
        if ((never && n.hi > 0) || (allocation && sometimes))
            return error(loc, "{} is outside of {}: dimension {} goes from 0 to {}, {} goes from {} to {}",
                         print(k_, at), k_[b].name, d, n.hi - 1, print(k_, at), i.lo, i.hi + span - 1);
        return {};
    }
    Result<void> region(const Region& r, char access, SourceLoc loc) {
        INGOT_TRY(usable(r.buffer, loc));
        const Buffer& b = k_[r.buffer];
        if (r.offsets.size() != b.shape.size() || r.sizes.size() != b.shape.size())
            return error(loc, "{} has {} dimensions, {} are given", b.name, b.shape.size(), r.offsets.size());
        if (access != 'r' && b.role == Role::kIn)
            return error(loc, "a write to the input {}; an output, or `inout`, is accepted", b.name);
        if (access != 'w') INGOT_TRY(readable(r.buffer, loc));
        for (size_t d = 0; d < r.offsets.size(); ++d) {
            if (r.keeps(d)) INGOT_TRY(index(r.sizes[d], "a size", loc));
            const int64_t span = r.keeps(d) ? constant_int(k_, r.sizes[d]).value_or(1) : 1;
            if (span < 0) return error(loc, "a size of {}; 0 and more are accepted", span);
            INGOT_TRY(in_range(r.buffer, d, r.offsets[d], span, loc));
        }
        return {};
    }
    std::vector<ExprId> sizes(const Region& r) const {
        std::vector<ExprId> out;
        for (const size_t d : r.kept()) out.push_back(r.sizes[d]);
        return out;
    }
    std::string shown_sizes(const Region& r) const {
        std::string out;
        for (const ExprId e : sizes(r)) out += (out.empty() ? "" : ", ") + print(k_, e);
        return "[" + out + "]";
    }
    Result<void> constant_sizes(const Region& r, SourceLoc loc) {
        for (const ExprId e : sizes(r)) {
            if (!constant_int(k_, e))
                return error(loc, "{} has size {}; a constant is accepted here", print(k_, r), print(k_, e));
        }
        return {};
    }
    Result<void> same_sizes(const Region& a, const Region& b, SourceLoc loc) {
        if (sizes(a) != sizes(b))
            return error(loc, "{} is {}, {} is {}; equal sizes are accepted", print(k_, a), shown_sizes(a),
                         print(k_, b), shown_sizes(b));
        return {};
    }

    // --- statements
    Result<void> block(const Block& body, Level level, const Stmt* loop) {
        const std::set<VarId> vars = known_;
        const std::set<BufferId> buffers = allocated_;
        for (size_t i = 0; i < body.size(); ++i) {
            const Stmt& s = k_[body[i]];
            if (s.op == StmtOp::kYield && (loop == nullptr || i + 1 != body.size()))
                return error(
                    s.loc, "a yield {}; it is accepted as the last statement of a `for` that carries values",
                    loop == nullptr ? "outside of such a loop" : "before the end of its loop");
            INGOT_TRY(stmt(s, level, loop));
        }
        const size_t carried = loop == nullptr ? 0 : loop->exprs.size() - 1;
        if (carried != 0 && (body.empty() || k_[body.back()].op != StmtOp::kYield))
            return error(loop->loc,
                         "the loop carries {} values and yields none; a yield at its end is accepted",
                         carried);
        known_ = vars;
        allocated_ = buffers;
        return {};
    }
    Result<void> stmt(const Stmt& s, Level level, const Stmt* loop) {
        const StmtOpFacts& f = facts(s.op);
        const bool element = level == Level::kElement;
        if (f.place == Place::kGroup && element) {
            if (s.op == StmtOp::kBarrier)
                return error(
                    s.loc,
                    "a barrier in divergent flow: inside of `parallel` the threads of a group don't all "
                    "pass; at group level it is accepted");
            return error(s.loc, "`{}` inside of `parallel`; it is accepted at group level", f.keyword);
        }
        if (f.place == Place::kElement && !element)
            return error(s.loc, "`{}` at group level; it is accepted inside of `parallel`", f.keyword);
        if (s.regions.size() != f.regions.size())
            return error(s.loc, "`{}` has {} regions; {} are accepted", f.keyword, s.regions.size(),
                         f.regions.size());
        for (size_t i = 0; i < s.regions.size(); ++i) INGOT_TRY(region(s.regions[i], access(s, i), s.loc));
        // A copy is a snapshot, and a reduction reads all before it writes: within one buffer neither is.
        if ((s.op == StmtOp::kCopy || s.op == StmtOp::kReduce) && s.regions[0].buffer == s.regions[1].buffer)
            return error(s.loc, "`{}` within {}; two buffers are accepted", f.keyword,
                         k_[s.regions[0].buffer].name);
        return rules(s, level, loop);
    }
    Result<void> rules(const Stmt& s, Level level, const Stmt* loop) {
        switch (s.op) {
            case StmtOp::kAlloc:
                INGOT_TRY(allocation(s.buffer, level));
                allocated_.insert(s.buffer);
                return {};
            case StmtOp::kCopy:
                INGOT_TRY(constant_sizes(s.regions[0], s.loc));
                INGOT_TRY(same_sizes(s.regions[0], s.regions[1], s.loc));
                if (!s.exprs.empty()) return typed(s.exprs[0], k_[s.exprs[0]].type, "the fill value", s.loc);
                return {};
            case StmtOp::kFill:
                INGOT_TRY(constant_sizes(s.regions[0], s.loc));
                return stored(s);
            case StmtOp::kGemm:
                return gemm(s);
            case StmtOp::kReduce:
                return reduce(s);
            case StmtOp::kCumSum:
                INGOT_TRY(constant_sizes(s.regions[0], s.loc));
                INGOT_TRY(same_sizes(s.regions[0], s.regions[1], s.loc));
                return axis(s);
            case StmtOp::kStore:
            case StmtOp::kAtomicAdd:
                return element_write(s);
            case StmtOp::kFor:
                return loop_rules(s, level);
            case StmtOp::kParallel:
                for (const ExprId e : s.exprs) INGOT_TRY(index(e, "an extent", s.loc));
                parallel_ = &s;
                INGOT_TRY(nested(s, s.body, Level::kElement, nullptr, s.vars.size()));
                return check_local_memory(k_, s);
            case StmtOp::kIf: {
                INGOT_TRY(typed(s.exprs[0], DType::kBool, "the condition", s.loc));
                const Domain outside = domain_;
                domain_.assume(s.exprs[0]);
                INGOT_TRY(block(s.body, level, nullptr));
                domain_ = outside;
                return block(s.otherwise, level, nullptr);
            }
            case StmtOp::kLet:
                all_iterations_come_ =
                    level == Level::kElement &&
                    std::ranges::any_of(parallel_->body, [&](StmtId id) { return &k_[id] == &s; });
                INGOT_TRY(typed(s.exprs[0], k_[s.vars[0]].type, "the value", s.loc));
                all_iterations_come_ = false;
                known_.insert(s.vars[0]);
                return {};
            case StmtOp::kYield:
                if (s.exprs.size() != loop->exprs.size() - 1)
                    return error(s.loc, "a yield of {} values; the loop carries {}", s.exprs.size(),
                                 loop->exprs.size() - 1);
                for (size_t i = 0; i < s.exprs.size(); ++i)
                    INGOT_TRY(typed(s.exprs[i], k_[loop->vars[1 + i]].type, "a yielded value", s.loc));
                return {};
            case StmtOp::kPrint:
                for (const ExprId e : s.exprs) INGOT_TRY(expr(e, s.loc));
                return {};
            case StmtOp::kAssert:
                return typed(s.exprs[0], DType::kBool, "the condition", s.loc);
            case StmtOp::kBarrier:
                return {};
        }
        return {};
    }
    Result<void> nested(const Stmt& s, const Block& body, Level level, const Stmt* loop, size_t bounded) {
        const Domain outside = domain_;
        const std::set<VarId> vars = known_;
        for (size_t i = 0; i < s.vars.size(); ++i) {
            if (i < bounded) domain_.bound(s.vars[i], s.exprs[i]);
            known_.insert(s.vars[i]);
        }
        INGOT_TRY(block(body, level, loop));
        domain_ = outside;
        known_ = vars;
        return {};
    }
    Result<void> loop_rules(const Stmt& s, Level level) {
        INGOT_TRY(index(s.exprs[0], "an extent", s.loc));
        const size_t carried = s.exprs.size() - 1;
        if (s.vars.size() != 1 + 2 * carried)
            return error(s.loc, "a loop with {} start values and {} names", carried, s.vars.size() - 1);
        for (size_t i = 0; i < carried; ++i) {
            INGOT_TRY(typed(s.exprs[1 + i], k_[s.vars[1 + i]].type, "a start value", s.loc));
        }
        if (s.loop == LoopKind::kPipelined && level == Level::kElement)
            return error(s.loc, "a pipelined loop inside of `parallel`; it is accepted at group level");
        INGOT_TRY(nested(s, s.body, level, carried == 0 ? nullptr : &s, 1));
        for (size_t i = 0; i < carried; ++i) known_.insert(s.vars[1 + carried + i]);
        return {};
    }
    Result<void> stored(const Stmt& s) {
        return typed(s.exprs[0], k_[s.regions[0].buffer].type, "the value", s.loc);
    }
    Result<void> element_write(const Stmt& s) {
        if (s.regions[0].rank() != 0)
            return error(s.loc, "{} is a part of rank {}; an element is accepted", print(k_, s.regions[0]),
                         s.regions[0].rank());
        if (s.op == StmtOp::kAtomicAdd) {
            const Buffer& b = k_[s.regions[0].buffer];
            if (b.type != DType::kI32 && b.type != DType::kU32 && b.type != DType::kF32)
                return error(s.loc, "an atomic add to {} of type {}; i32, u32 and f32 are accepted", b.name,
                             name(b.type));
            if (b.scope == Scope::kLocal)
                return error(s.loc,
                             "an atomic add to {}, which is local; tensors and shared memory are accepted",
                             b.name);
        }
        return stored(s);
    }
    Result<void> axis(const Stmt& s) {
        const size_t rank = s.regions[1].rank();
        if (s.axis >= rank)
            return error(s.loc, "axis {} of {}, which has {} dimensions; 0 to {} are accepted", s.axis,
                         print(k_, s.regions[1]), rank, int64_t(rank) - 1);
        return {};
    }
    Result<void> reduce(const Stmt& s) {
        INGOT_TRY(constant_sizes(s.regions[0], s.loc));
        INGOT_TRY(constant_sizes(s.regions[1], s.loc));
        INGOT_TRY(axis(s));
        std::vector<ExprId> left = sizes(s.regions[1]);
        left.erase(left.begin() + s.axis);
        const DType from = k_[s.regions[1].buffer].type, to = k_[s.regions[0].buffer].type;
        if (is_float(from) != is_float(to))
            return error(s.loc, "a reduction of {} into {}; both floats or both integers are accepted",
                         name(from), name(to));
        // A full reduction of rank 1 leaves one element.
        const bool one =
            left.empty() && s.regions[0].rank() == 1 && constant_int(k_, sizes(s.regions[0])[0]) == 1;
        if (!one && left != sizes(s.regions[0]))
            return error(s.loc, "{} has sizes {}; {} without axis {} is accepted", print(k_, s.regions[0]),
                         shown_sizes(s.regions[0]), shown_sizes(s.regions[1]), s.axis);
        return {};
    }
    Result<void> gemm(const Stmt& s) {
        const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
        for (const Region* r : {&c, &a, &b}) {
            if (r->rank() != 2)
                return error(s.loc, "{} has rank {}; rank 2 is accepted by `gemm`", print(k_, *r), r->rank());
        }
        INGOT_TRY(constant_sizes(c, s.loc));
        const auto cs = sizes(c), as = sizes(a), bs = sizes(b);
        const ExprId am = as[s.transpose_a], ak = as[!s.transpose_a], bk = bs[s.transpose_b],
                     bn = bs[!s.transpose_b];
        if (am != cs[0] || bn != cs[1] || ak != bk)
            return error(
                s.loc,
                "{} x {} of A{} @ {} x {} of B{} into {} x {}; [M, K] @ [K, N] into [M, N] is accepted",
                print(k_, am), print(k_, ak), s.transpose_a ? "^T" : "", print(k_, bk), print(k_, bn),
                s.transpose_b ? "^T" : "", print(k_, cs[0]), print(k_, cs[1]));
        const DType at = k_[a.buffer].type, bt = k_[b.buffer].type, ct = k_[c.buffer].type;
        if (at != bt)
            return error(s.loc, "A holds {}, B holds {}; equal types are accepted", name(at), name(bt));
        const bool floats = is_float(at) && is_float(ct), integers = is_integer(at) && ct == DType::kI32;
        if (!floats && !integers)
            return error(s.loc, "{} @ {} into {}; floats into floats, or integers into i32, are accepted",
                         name(at), name(bt), name(ct));
        if (c.buffer == a.buffer || c.buffer == b.buffer)
            return error(s.loc, "C and an operand are both in {}; C must be apart", k_[c.buffer].name);
        return {};
    }

    const Kernel& k_;
    TensorBounds bounds_;
    Domain domain_;
    const std::vector<uint32_t> heights_;
    std::set<VarId> known_;
    std::set<BufferId> allocated_;
    const Stmt* parallel_ = nullptr;    // that encloses the statement at hand, or did last
    bool all_iterations_come_ = false;  // of parallel_, to the expression at hand
};

}  // namespace

Result<void> verify(const Kernel& k, TensorBounds bounds) {
    return Verifier(k, bounds).run();
}

}  // namespace ingot::tile
