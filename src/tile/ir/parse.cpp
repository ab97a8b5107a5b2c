#include "tile/ir/parse.h"

#include <cmath>
#include <limits>
#include <map>

#include "tile/ir/build.h"
#include "tile/ir/lexer.h"

namespace ingot::tile {
namespace {

constexpr int kMaxDepth = 100;  // of blocks and of parentheses
constexpr std::string_view kReserved[] = {
    "kernel",  "dim",        "scalar", "in",       "out",      "inout",     "grid",       "threads",
    "swizzle", "shared",     "local",  "fragment", "copy",     "fill",      "gemm",       "reduce",
    "cumsum",  "atomic_add", "for",    "if",       "parallel", "else",      "let",        "yield",
    "barrier", "print",      "assert", "unroll",   "carry",    "pipelined", "true",       "false",
    "inf",     "nan",        "with",   "policy",   "strides",  "offset",    "multiple_of"};

template <typename List>
std::string join(const List& names) {
    std::string out;
    for (const auto& n : names) out += fmt::format("{}{}", out.empty() ? "" : ", ", n);
    return out;
}

class Parser {
  public:
    Parser(std::vector<Token> tokens, std::string_view file) : tokens_(std::move(tokens)) {
        k_.files.emplace_back(file);
    }

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
    enum class Meaning { kDim, kScalar, kBuffer, kVar };
    struct Name {
        Meaning meaning;
        uint32_t id;
    };

    // --- tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool sees(std::string_view sign) const { return peek().kind == TokenKind::kSign && peek().text == sign; }
    bool sees_name(std::string_view word) const {
        return peek().kind == TokenKind::kName && peek().text == word;
    }
    bool accept(std::string_view sign) { return sees(sign) && (next(), true); }
    bool accept_name(std::string_view word) { return sees_name(word) && (next(), true); }
    void skip_lines() {
        while (peek().kind == TokenKind::kLineEnd) next();
    }

    Failure fail_at(SourceLoc loc, std::string message) const {
        return Failure(Error{ErrorKind::kInvalidArgument, std::move(message), k_.where(loc)});
    }
    std::string shown(const Token& t) const {
        if (t.kind == TokenKind::kEnd) return "the file ends";
        if (t.kind == TokenKind::kLineEnd) return "the line ends";
        return fmt::format("'{}'", t.text);
    }
    Failure error(std::string_view wanted) const {
        return fail_at(peek().loc, fmt::format("{} where {} is wanted", shown(peek()), wanted));
    }
    Result<void> expect(std::string_view sign) {
        if (!accept(sign)) return error(fmt::format("'{}'", sign));
        return {};
    }
    Result<void> expect_name(std::string_view word) {
        if (!accept_name(word)) return error(fmt::format("'{}'", word));
        return {};
    }
    Result<void> line_end() {
        if (sees("}")) return {};  // "{ x }" on one line
        if (peek().kind != TokenKind::kLineEnd) return error("the end of the line");
        next();
        return {};
    }

    // --- names
    Result<std::string> new_name(std::string_view of_what) {
        if (peek().kind != TokenKind::kName) return error(fmt::format("the name of {}", of_what));
        const Token t = peek();
        for (const std::string_view word : kReserved) {
            if (t.text == word)
                return fail_at(t.loc, fmt::format("'{}' is a word of the language, so it can't name {}",
                                                  t.text, of_what));
        }
        if (type_named(t.text))
            return fail_at(t.loc, fmt::format("'{}' is a type, so it can't name {}", t.text, of_what));
        if (names_.contains(t.text))
            return fail_at(t.loc, fmt::format("'{}' is already the name of something here", t.text));
        next();
        return t.text;
    }
    void declare(const std::string& text, Meaning meaning, uint32_t id) {
        names_[text] = {meaning, id};
        declared_.push_back(text);
    }
    void close_scope(size_t mark) {
        for (; declared_.size() > mark; declared_.pop_back()) names_.erase(declared_.back());
    }
    Failure unknown(const Token& t) const {
        std::vector<std::string_view> known;
        for (const auto& [text, meaning] : names_) known.push_back(text);
        return fail_at(t.loc, fmt::format("unknown name '{}'; known here: {}", t.text,
                                          known.empty() ? "none" : join(known)));
    }
    Result<VarId> new_var(std::string_view of_what, VarKind kind, DType type = DType::kI32) {
        INGOT_ASSIGN(std::string text, new_name(of_what));
        return k_.append(Var{std::move(text), type, kind});
    }
    void declare(VarId v) { declare(k_[v].name, Meaning::kVar, v.index()); }

    // --- numbers and types
    Result<uint32_t> whole_number(std::string_view of_what, uint32_t least, uint32_t most) {
        const Token t = peek();
        if (t.kind != TokenKind::kNumber || !t.is_whole)
            return error(fmt::format("{}, a whole number,", of_what));
        if (t.value < least || t.value > most) {
            return fail_at(t.loc,
                           fmt::format("{} is {}; {} to {} are accepted", of_what, t.text, least, most));
        }
        next();
        return uint32_t(t.value);
    }
    Result<DType> type() {
        const auto found = peek().kind == TokenKind::kName ? type_named(peek().text) : std::nullopt;
        if (!found) {
            std::vector<std::string_view> all;
            for (const TypeFacts& f : kTypes) all.push_back(f.name);
            return error(fmt::format("a type ({})", join(all)));
        }
        next();
        return *found;
    }
    template <typename Names>
    Result<size_t> one_of(const Names& names, std::string_view of_what) {
        for (size_t i = 0; i < std::size(names); ++i)
            if (accept_name(names[i])) return i;
        return error(fmt::format("{} ({})", of_what, join(names)));
    }

    // --- expressions
    Result<ExprId> expr(int least = 0) {
        if (++depth_ > kMaxDepth)
            return fail_at(peek().loc, fmt::format("more than {} levels of nesting", kMaxDepth));
        INGOT_ASSIGN(ExprId left, prefix());
        while (peek().kind == TokenKind::kSign) {
            const ExprOpFacts* f = infix(peek().text);
            if (f == nullptr || f->precedence < least) break;
            next();
            INGOT_ASSIGN(const ExprId right, expr(f->precedence + 1));
            left = apply(k_, f->op, std::array{left, right});
        }
        --depth_;
        return left;
    }
    static const ExprOpFacts* infix(std::string_view sign) {
        for (const ExprOpFacts& f : kExprOps)
            if (f.form == Form::kInfix && f.spelling == sign) return &f;
        return nullptr;
    }
    Result<ExprId> prefix() {
        for (const ExprOpFacts& f : kExprOps) {
            if (f.form != Form::kPrefix || !sees(f.spelling)) continue;
            next();
            INGOT_ASSIGN(const ExprId operand, expr(f.precedence));
            return apply(k_, f.op, std::array{operand});
        }
        return primary();
    }
    Result<ExprId> primary() {
        const Token t = peek();
        if (t.kind == TokenKind::kNumber) {
            next();
            return constant(k_, t.value, t.is_whole ? DType::kI32 : DType::kF32);
        }
        if (accept("(")) {
            INGOT_ASSIGN(const ExprId inner, expr());
            INGOT_TRY(expect(")"));
            return inner;
        }
        if (t.kind != TokenKind::kName) return error("an expression");
        if (accept_name("true")) return constant(k_, 1, DType::kBool);
        if (accept_name("false")) return constant(k_, 0, DType::kBool);
        if (accept_name("inf")) return constant(k_, std::numeric_limits<double>::infinity(), DType::kF32);
        if (accept_name("nan")) return constant(k_, std::numeric_limits<double>::quiet_NaN(), DType::kF32);
        if (peek(1).kind == TokenKind::kSign && peek(1).text == "(") return call(t);
        return named(t);
    }
    Result<ExprId> named(const Token& t) {
        const auto it = names_.find(t.text);
        if (it == names_.end()) return unknown(t);
        next();
        switch (it->second.meaning) {
            case Meaning::kDim:
                return dim(k_, DimId(it->second.id));
            case Meaning::kScalar:
                return scalar(k_, ScalarId(it->second.id));
            case Meaning::kVar:
                return var(k_, VarId(it->second.id));
            case Meaning::kBuffer:
                break;
        }
        if (!sees("[")) return error(fmt::format("'[' with the indices of {}'s element", t.text));
        INGOT_ASSIGN(const std::vector<ExprId> indices, bracketed());
        const BufferId b(it->second.id);
        if (indices.size() != k_[b].shape.size()) return wrong_rank(t, indices.size(), k_[b].shape.size());
        return load(k_, b, indices);
    }
    Failure wrong_rank(const Token& t, size_t given, size_t wanted) const {
        return fail_at(t.loc,
                       fmt::format("{} has {} dimensions, {} indices are given", t.text, wanted, given));
    }
    Result<std::vector<ExprId>> bracketed() {
        INGOT_TRY(expect("["));
        std::vector<ExprId> list;
        if (accept("]")) return list;
        do {
            INGOT_ASSIGN(list.emplace_back(), expr());
        } while (accept(","));
        INGOT_TRY(expect("]"));
        return list;
    }
    Result<ExprId> call(const Token& t) {
        next();
        INGOT_TRY(expect("("));
        std::vector<ExprId> args;
        if (!sees(")")) {
            do {
                INGOT_ASSIGN(args.emplace_back(), expr());
            } while (accept(","));
        }
        INGOT_TRY(expect(")"));
        const std::string_view text = t.text;
        const auto cast_type = type_named(text);
        const auto bits_type = text.starts_with("as_") ? type_named(text.substr(3)) : std::nullopt;
        if (cast_type || bits_type) {
            if (args.size() != 1)
                return fail_at(t.loc, fmt::format("{} takes 1 operand, {} are given", text, args.size()));
            return cast_type ? cast(k_, args[0], *cast_type) : bits(k_, args[0], *bits_type);
        }
        std::vector<std::string_view> known;
        for (const ExprOpFacts& f : kExprOps) {
            if (f.form != Form::kCall || f.spelling.empty()) continue;
            known.push_back(f.spelling);
            if (f.spelling != text) continue;
            if (args.size() != size_t(f.arity)) {
                return fail_at(t.loc,
                               fmt::format("{} takes {} operands, {} are given", text, f.arity, args.size()));
            }
            return apply(k_, f.op, args);
        }
        return fail_at(
            t.loc,
            fmt::format("unknown function '{}'; there are {}, a type's name, and as_ with a type's name",
                        text, join(known)));
    }

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
        if (++depth_ > kMaxDepth)
            return fail_at(peek().loc, fmt::format("more than {} levels of nesting", kMaxDepth));
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

    std::vector<Token> tokens_;
    Kernel k_;
    std::map<std::string, Name, std::less<>> names_;
    std::vector<std::string> declared_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

Result<Kernel> parse(std::string_view text, std::string_view file) {
    INGOT_ASSIGN(std::vector<Token> tokens, lex(text, file));
    return Parser(std::move(tokens), file).run();
}

}  // namespace ingot::tile
