#include "tile/ir/parse.h"

#include "tile/ir/parse_expressions.h"

namespace ingot::tile {
namespace {

class Parser : public ExpressionParser {
  public:
    using ExpressionParser::ExpressionParser;

    Result<Kernel> run() {
        skip_lines();
        k_.loc = peek().loc;
        INGOT_TRY(expect_name("kernel"));
        if (peek().kind != TokenKind::kName) return error("the name of a kernel");
        k_.name = next().text;  // nothing refers to it, so it may be any word
        INGOT_TRY(expect("{"));
        INGOT_TRY(declarations());
        INGOT_TRY(statements(k_.body, "kernel"));
        skip_lines();
        if (peek().kind != TokenKind::kEnd) return error("the end of the file");
        return std::move(k_);
    }

  private:
    // --- declarations
    Result<void> declarations() {
        while (true) {
            skip_lines();
            const Token t = peek();
            if (accept_name("dim")) {
                INGOT_TRY(dims());
            } else if (accept_name("scalar")) {
                INGOT_ASSIGN(std::string text, new_name("a scalar"));
                INGOT_TRY(expect(":"));
                INGOT_ASSIGN(const DType kind, type());
                declare(text, Meaning::kScalar, uint32_t(k_.scalars.size()));
                k_.scalars.push_back({std::move(text), kind});
            } else if (sees_name("in") || sees_name("out") || sees_name("inout")) {
                INGOT_ASSIGN(const size_t role, one_of(std::span(kRoleNames).first(3), "a role"));
                INGOT_TRY(buffer(Scope::kGlobal, Role(role), t.loc).map([](BufferId) {}));
            } else if (accept_name("grid")) {
                if (!k_.grid.empty()) return fail_at(t.loc, "a second grid; a kernel has one");
                INGOT_TRY(index_list(VarKind::kGrid, k_.grid, k_.grid_extents));
                for (const VarId v : k_.grid) declare(v);
            } else if (accept_name("threads")) {
                INGOT_ASSIGN(k_.threads, whole_number("the number of threads", 1, 1024));
            } else if (accept_name("swizzle")) {
                INGOT_ASSIGN(const size_t order, one_of(kSwizzleNames, "a block order"));
                INGOT_ASSIGN(k_.swizzle.panel, whole_number("the panel", 1, 1024));
                k_.swizzle.order = SwizzleOrder(order);
            } else {
                return {};
            }
            INGOT_TRY(line_end());
        }
    }
    Result<void> dims() {
        do {
            INGOT_ASSIGN(std::string text, new_name("a dim"));
            declare(text, Meaning::kDim, uint32_t(k_.dims.size()));
            k_.dims.push_back({std::move(text), 1});
            if (accept_name("multiple_of")) {
                INGOT_ASSIGN(k_.dims.back().multiple_of, whole_number("the divisor", 1, 1u << 30));
            }
        } while (accept(","));
        return {};
    }
    Result<BufferId> buffer(Scope scope, Role role, SourceLoc loc) {
        Buffer b{.name = {},
                 .type = {},
                 .scope = scope,
                 .role = role,
                 .shape = {},
                 .strides = {},
                 .offset = {},
                 .loc = loc};
        INGOT_ASSIGN(b.name, new_name("a tensor"));
        INGOT_TRY(expect(":"));
        INGOT_ASSIGN(b.type, type());
        INGOT_ASSIGN(b.shape, bracketed());
        if (scope == Scope::kGlobal && accept_name("strides")) {
            INGOT_ASSIGN(b.strides, bracketed());
        }
        if (scope == Scope::kGlobal && accept_name("offset")) {
            INGOT_ASSIGN(b.offset, expr());
        }
        const std::string text = b.name;
        const BufferId id = k_.append(std::move(b));
        declare(text, Meaning::kBuffer, id.index());
        return id;
    }
    // "i < 4, j < n": names are declared by the caller, after all extents are read.
    Result<void> index_list(VarKind kind, std::vector<VarId>& vars, std::vector<ExprId>& extents) {
        do {
            const SourceLoc loc = peek().loc;
            INGOT_ASSIGN(const VarId v, new_var("an index", kind));
            for (const VarId other : vars) {
                if (k_[other].name == k_[v].name)
                    return fail_at(loc,
                                   fmt::format("'{}' is already the name of something here", k_[v].name));
            }
            vars.push_back(v);
            INGOT_TRY(expect("<"));
            INGOT_ASSIGN(extents.emplace_back(), expr());
        } while (accept(","));
        return {};
    }

    // --- regions
    Result<Region> region() {
        const Token t = peek();
        if (t.kind != TokenKind::kName) return error("a tensor or a tile");
        const auto it = names_.find(t.text);
        if (it == names_.end()) return unknown(t);
        if (it->second.meaning != Meaning::kBuffer) return error("a tensor or a tile");
        next();
        const BufferId b(it->second.id);
        if (!accept("[")) return whole(k_, b);
        Region r{b, {}, {}};
        const std::vector<ExprId> shape = k_[b].shape;
        do {
            const size_t d = r.offsets.size();
            if (accept(":")) {
                r.offsets.push_back(constant(k_, 0));
                r.sizes.push_back(d < shape.size() ? shape[d] : ExprId());
                continue;
            }
            INGOT_ASSIGN(r.offsets.emplace_back(), expr());
            r.sizes.emplace_back();
            if (accept(":")) {
                INGOT_ASSIGN(r.sizes.back(), expr());
            }
        } while (accept(","));
        INGOT_TRY(expect("]"));
        if (r.offsets.size() != shape.size()) return wrong_rank(t, r.offsets.size(), shape.size());
        return r;
    }

    // --- statements
    Result<void> statements(Block& out, std::string_view what) {
        if (++depth_ > kMaxParseDepth)
            return fail_at(peek().loc, fmt::format("more than {} levels of nesting", kMaxParseDepth));
        const size_t mark = declared_.size();
        while (true) {
            skip_lines();
            if (accept("}")) break;
            if (peek().kind == TokenKind::kEnd) return error(fmt::format("'}}' of the {}", what));
            INGOT_TRY(statement(out));
            INGOT_TRY(line_end());
        }
        close_scope(mark);
        --depth_;
        return {};
    }
    Result<void> statement(Block& out) {
        const Token t = peek();
        if (t.kind != TokenKind::kName) return error("a statement");
        Stmt s;
        s.loc = t.loc;
        for (const Scope scope : {Scope::kShared, Scope::kFragment, Scope::kLocal}) {
            if (!accept_name(kScopeNames[size_t(scope)])) continue;
            s.op = StmtOp::kAlloc;
            INGOT_ASSIGN(s.buffer, buffer(scope, Role::kNone, t.loc));
            out.push_back(k_.append(std::move(s)));
            return {};
        }
        s.op = StmtOp::kStore;
        for (const StmtOpFacts& f : kStmtOps) {
            if (f.op != StmtOp::kAlloc && f.op != StmtOp::kStore && accept_name(f.keyword)) s.op = f.op;
            if (s.op != StmtOp::kStore) break;
        }
        INGOT_TRY(rest(s));
        // Names a statement gives to what follows it.
        if (s.op == StmtOp::kLet) declare(s.vars[0]);
        if (s.op == StmtOp::kFor) {
            const size_t carried = s.exprs.size() - 1;
            for (size_t i = 0; i < carried; ++i) declare(s.vars[1 + carried + i]);
        }
        out.push_back(k_.append(std::move(s)));
        return {};
    }
    Result<void> rest(Stmt& s) {
        switch (s.op) {
            case StmtOp::kCopy:
                INGOT_TRY(two_regions(s));
                if (accept_name("fill")) return add_expr(s);
                return {};
            case StmtOp::kFill:
                INGOT_TRY(add_region(s));
                INGOT_TRY(expect("="));
                return add_expr(s);
            case StmtOp::kGemm:
                return gemm(s);
            case StmtOp::kReduce:
                return reduce(s);
            case StmtOp::kCumSum: {
                INGOT_TRY(two_regions(s));
                INGOT_TRY(expect(","));
                INGOT_ASSIGN(s.axis, whole_number("the axis", 0, 7));
                return {};
            }
            case StmtOp::kStore:
                return store(s, "=");
            case StmtOp::kAtomicAdd:
                return store(s, "+=");
            case StmtOp::kFor:
                return loop(s);
            case StmtOp::kParallel:
                INGOT_TRY(index_list(VarKind::kLoop, s.vars, s.exprs));
                return body_of(s, s.vars);
            case StmtOp::kIf:
                return branch(s);
            case StmtOp::kLet: {
                INGOT_ASSIGN(const VarId v, new_var("a value", VarKind::kLet));
                s.vars.push_back(v);
                INGOT_TRY(expect("="));
                INGOT_TRY(add_expr(s));
                k_.vars[v.index()].type = k_[s.exprs[0]].type;
                return {};
            }
            case StmtOp::kYield:
                do {
                    INGOT_TRY(add_expr(s));
                } while (accept(","));
                return {};
            case StmtOp::kPrint:
                INGOT_TRY(text(s));
                while (accept(",")) INGOT_TRY(add_expr(s));
                return {};
            case StmtOp::kAssert:
                INGOT_TRY(add_expr(s));
                INGOT_TRY(expect(","));
                return text(s);
            case StmtOp::kBarrier:
            case StmtOp::kAlloc:
                return {};
        }
        return {};
    }
    Result<void> add_region(Stmt& s) {
        INGOT_ASSIGN(s.regions.emplace_back(), region());
        return {};
    }
    Result<void> add_expr(Stmt& s) {
        INGOT_ASSIGN(s.exprs.emplace_back(), expr());
        return {};
    }
    Result<void> two_regions(Stmt& s) {
        INGOT_TRY(add_region(s));
        INGOT_TRY(expect("="));
        return add_region(s);
    }
    Result<void> text(Stmt& s) {
        if (peek().kind != TokenKind::kText) return error("a text in \"\"");
        s.text = next().text;
        return {};
    }
    Result<void> store(Stmt& s, std::string_view sign) {
        const SourceLoc loc = peek().loc;
        INGOT_TRY(add_region(s));
        if (s.regions[0].rank() != 0) {
            return fail_at(loc, fmt::format("an element is wanted, one index for each dimension of {}; "
                                            "`copy` and `fill` write whole parts",
                                            k_[s.regions[0].buffer].name));
        }
        INGOT_TRY(expect(sign));
        INGOT_TRY(add_expr(s));
        convert_to_buffer(s);
        return {};
    }
    // A literal takes the type of what it is stored to; everything else must match (verify.h).
    void convert_to_buffer(Stmt& s) {
        const DType type = k_[s.regions[0].buffer].type;
        if (k_[s.exprs[0]].op == ExprOp::kConst) s.exprs[0] = cast(k_, s.exprs[0], type);
    }
    Result<void> gemm(Stmt& s) {
        INGOT_TRY(add_region(s));
        s.clear = sees("=");
        if (!accept("=") && !accept("+=")) return error("'=' or '+='");
        INGOT_TRY(add_region(s));
        s.transpose_a = accept("^T");
        INGOT_TRY(expect("@"));
        INGOT_TRY(add_region(s));
        s.transpose_b = accept("^T");
        if (!accept_name("policy")) return {};
        INGOT_TRY(expect("("));
        INGOT_ASSIGN(const size_t policy, one_of(kPolicyNames, "a policy"));
        s.policy = Policy(policy);
        return expect(")");
    }
    Result<void> reduce(Stmt& s) {
        INGOT_TRY(add_region(s));
        s.clear = sees("=");
        if (!accept("=") && !accept_name("with")) return error("'=' or 'with'");
        INGOT_ASSIGN(const size_t reduction, one_of(kReductionNames, "a reduction"));
        s.reduction = Reduction(reduction);
        INGOT_TRY(expect("("));
        INGOT_TRY(add_region(s));
        INGOT_TRY(expect(","));
        INGOT_ASSIGN(s.axis, whole_number("the axis", 0, 7));
        return expect(")");
    }
    Result<void> branch(Stmt& s) {
        INGOT_TRY(add_expr(s));
        INGOT_TRY(expect("{"));
        INGOT_TRY(statements(s.body, "if"));
        if (!accept_name("else")) return {};
        INGOT_TRY(expect("{"));
        return statements(s.otherwise, "else");
    }
    Result<void> body_of(Stmt& s, std::span<const VarId> visible) {
        INGOT_TRY(expect("{"));
        const size_t mark = declared_.size();
        for (const VarId v : visible) {
            if (names_.contains(k_[v].name)) {
                return fail_at(s.loc, fmt::format("'{}' is the name of two things here", k_[v].name));
            }
            declare(v);
        }
        INGOT_TRY(statements(s.body, facts(s.op).keyword));
        close_scope(mark);
        return {};
    }
    Result<void> loop(Stmt& s) {
        INGOT_ASSIGN(const VarId index, new_var("an index", VarKind::kLoop));
        s.vars.push_back(index);
        INGOT_TRY(expect("<"));
        INGOT_TRY(add_expr(s));
        if (accept_name("unroll")) s.loop = LoopKind::kUnroll;
        if (accept_name("pipelined")) {
            s.loop = LoopKind::kPipelined;
            INGOT_TRY(expect("("));
            INGOT_ASSIGN(s.stages, whole_number("the number of stages", 1, 8));
            INGOT_TRY(expect(")"));
        }
        std::vector<VarId> results;
        if (accept_name("carry")) INGOT_TRY(carried(s, results));
        std::vector<VarId> visible = s.vars;
        s.vars.insert(s.vars.end(), results.begin(), results.end());
        return body_of(s, visible);
    }
    Result<void> carried(Stmt& s, std::vector<VarId>& results) {
        // Names of this loop's carried values, to say what is wrong when one starts from another.
        std::vector<std::string> loop_names;
        for (size_t i = at_;
             i < tokens_.size() && tokens_[i].text != "{" && tokens_[i].kind != TokenKind::kLineEnd; ++i) {
            if (tokens_[i].kind == TokenKind::kName && tokens_[i + 1].text == ":")
                loop_names.push_back(tokens_[i].text);
        }
        do {
            INGOT_ASSIGN(const VarId v, new_var("a carried value", VarKind::kCarried));
            INGOT_TRY(expect(":"));
            INGOT_ASSIGN(k_.vars[v.index()].type, type());
            INGOT_TRY(expect("="));
            if (peek().kind == TokenKind::kName && !names_.contains(peek().text)) {
                for (const std::string& n : loop_names) {
                    if (n == peek().text) {
                        return fail_at(
                            peek().loc,
                            fmt::format(
                                "the carried value '{}' starts from '{}', a carried value of the same "
                                "loop; it must start from what is known before the loop",
                                k_[v].name, n));
                    }
                }
            }
            INGOT_TRY(add_expr(s));
            if (k_[s.exprs.back()].op == ExprOp::kConst)
                s.exprs.back() = cast(k_, s.exprs.back(), k_[v].type);
            INGOT_TRY(expect("->"));
            INGOT_ASSIGN(const VarId result, new_var("a result", VarKind::kResult, k_[v].type));
            s.vars.push_back(v);
            results.push_back(result);
        } while (accept(","));
        return {};
    }
};

}  // namespace

Result<Kernel> parse(std::string_view text, std::string_view file) {
    INGOT_ASSIGN(std::vector<Token> tokens, lex(text, file));
    return Parser(std::move(tokens), file).run();
}

}  // namespace ingot::tile
